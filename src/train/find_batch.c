/* find_batch.c - the largest batch whose step fits the memory of the devices, found by compiling
 * it for several sizes; nothing is executed. Also compiles steps without running them, for machines
 * that are not available.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "base/error.h"
#include "base/print.h"
#include "base/reserved.h"
#include "train/trainer.h"

/* Fraction of the memory that a proposed batch leaves free: a program that needs all of it does not
 * run, because transfers and other programs need memory too. */
static const double slack = 0.1;

/* The largest batch to try for data of unknown length. */
enum { LARGEST = 1 << 20 };

fg_status fgi_trainer_compile(fg_trainer *trainer, const fg_task *task, fgi_stage_kind kind,
                              const fg_fit_data *data, const fgi_executable **out, fg_error *err)
{
    fg_error first = {0};
    *out = NULL;
    FGI_TRY(fgi_trainer_enter(trainer, task, data, err));
    fg_status status = fgi_trainer_prepare(trainer, task, kind == FGI_TRAIN, &first);
    if (status == FG_OK)
        status = fgi_stage_compile(trainer, kind, data, &first);
    if (status == FG_OK)
        *out = fgi_step_program_executable(trainer->stage[kind]->program);
    return fgi_trainer_leave(trainer, status, &first, err);
}

fg_status fgi_trainer_memory(const fg_trainer *trainer, fgi_memory *out, fg_error *err)
{
    return fgi_memory_of(&trainer->model, trainer->stage[FGI_TRAIN], out, err);
}

/* ---- the batch that fits --------------------------------------------------------------------- */

/* A binary search between batch sizes that fit and do not fit, per row of the mesh. */
typedef struct search {
    fg_trainer *trainer;
    fg_fit_data data;
    int64_t rows, limit, most;
    int64_t parts;           /* the search ends within 1 / parts */
    int64_t fits, fits_need; /* the largest that fits, 0: none */
    int64_t too_large;       /* the smallest that does not fit, 0: none */
    fg_batch_find_options o;
} search;

/* Compiles the step for a batch size. If the compiler runs out of device memory, it does not fit.
 */
static fg_status try_batch(search *s, int64_t batch, fg_error *err)
{
    fgi_memory m = {.need = -1};
    fg_error local = {0};
    s->data.batch_size = batch;
    s->data.global_batch_size = 0;
    fg_status status = fgi_stage_compile(s->trainer, FGI_TRAIN, &s->data, &local);
    if (status == FG_OK)
        status = fgi_trainer_memory(s->trainer, &m, &local);
    if (status != FG_OK && status != FG_EDEVMEM) {
        if (err != NULL)
            *err = local;
        return status;
    }
    const bool does_fit = status == FG_OK && (double)m.need <= (double)s->limit * (1 - slack);
    if (does_fit && batch > s->fits) {
        s->fits = batch;
        s->fits_need = m.need;
    }
    if (!does_fit && (s->too_large == 0 || batch < s->too_large))
        s->too_large = batch;
    if (s->o.tried != NULL)
        s->o.tried(s->o.self, batch, m.need, does_fit);
    return FG_OK;
}

/* Above 16, batches are multiples of 8. */
static int64_t rounded(int64_t batch) { return batch > 16 ? batch / 8 * 8 : batch; }

/* The next size to try, or 0 when the search ends. */
static int64_t next_batch(const search *s)
{
    if (s->too_large == 0)
        return s->fits >= s->most ? 0 : s->fits > s->most / 2 ? s->most : 2 * s->fits;
    if (s->fits == 0)
        return s->too_large / 2;
    const int64_t middle = rounded(s->fits + (s->too_large - s->fits) / 2);
    const bool is_close = s->too_large - s->fits <= s->fits / s->parts;
    return is_close || middle <= s->fits || middle >= s->too_large ? 0 : middle;
}

static fg_status find(search *s, int64_t first, fg_error *err)
{
    for (int64_t batch = first; batch > 0; batch = next_batch(s))
        FGI_TRY(try_batch(s, batch, err));
    return FG_OK;
}

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* The memory of a device; for virtual devices of the CPU, an equal part of this machine's. */
static int64_t limit_of(const fg_client *client)
{
    const int64_t limit = fgi_memory_limit(client);
    if (limit > 0)
        return limit;
    const int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? pages * page / fg_client_info_of(client)->device_count : -1;
}

static fg_status begin(search *s, fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    const fg_dataset *train = data->train;
    *s = (search){.trainer = trainer,
                  .data = *data,
                  .rows = fgi_batch_shards(trainer),
                  .limit = limit_of(trainer->client),
                  .parts = 16};
    if (train == NULL)
        return fgi_fail(err, FG_EINVAL, "no training data were given");
    if (s->limit < 0)
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "neither the devices nor the machine report their memory");
    s->most =
        fg_dataset_count(train) == FG_UNKNOWN_COUNT ? LARGEST : fg_dataset_count(train) / s->rows;
    if (s->most < 1)
        return fgi_fail(err, FG_EINVAL, "%lld training %s fewer than the %lld devices",
                        (long long)fg_dataset_count(train),
                        fg_dataset_count(train) == 1 ? "sample is" : "samples are",
                        (long long)s->rows);
    return FG_OK;
}

fg_status fg_trainer_find_batch(fg_trainer *trainer, const fg_task *task, const fg_fit_data *data,
                                const fg_batch_find_options *options, fg_batch_fit *out,
                                fg_error *err)
{
    fg_error first = {0};
    search s;
    *out = (fg_batch_fit){0};
    FGI_TRY_RESERVED(fg_batch_find_options, options, err);
    FGI_TRY(fgi_trainer_enter(trainer, task, data, err));
    fg_status status = fgi_trainer_prepare(trainer, task, true, &first);
    if (status == FG_OK)
        status = begin(&s, trainer, data, &first);
    if (status == FG_OK) {
        if (options != NULL)
            s.o = *options;
        const int64_t start = data->batch_size > 0 ? data->batch_size : 32;
        status = find(&s, smaller(start, s.most), &first);
    }
    if (status == FG_OK)
        *out = (fg_batch_fit){.batch_size = s.fits,
                              .global_batch_size = s.fits * s.rows,
                              .need_bytes = s.fits > 0 ? s.fits_need : -1,
                              .limit_bytes = s.limit,
                              .all_fit = s.fits == s.most};
    return fgi_trainer_leave(trainer, status, &first, err);
}

void fgi_memory_explain(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    fgi_memory m;
    search s;
    int64_t size = 0;
    char parts[192] = "";
    if (begin(&s, trainer, data, NULL) != FG_OK || fgi_memory_limit(trainer->client) < 0 ||
        fgi_batch_size(trainer, data, &size, NULL) != FG_OK)
        return;
    const bool is_known = trainer->stage[FGI_TRAIN]->program != NULL &&
                          fgi_trainer_memory(trainer, &m, NULL) == FG_OK;
    if (is_known)
        fgi_memory_put(&m, parts, sizeof parts);
    s.too_large = size / s.rows;
    s.parts = 1; /* each compilation may take a minute: stop at the first that fits */
    if (find(&s, s.too_large / 2, NULL) != FG_OK)
        return;
    if (s.fits == 0)
        (void)fgi_fail(err, err->status, "%s\nnot even a batch of 1 per device fits in %s%s%s",
                       err->message, fgi_bytes_words((double)s.limit), is_known ? ": " : "", parts);
    else
        (void)fgi_fail(err, err->status,
                       "%s\nbatch_size %lld fits: it needs %s of %s per device%s%s", err->message,
                       (long long)s.fits, fgi_bytes_words((double)s.fits_need),
                       fgi_bytes_words((double)s.limit), is_known ? "; this one: " : "", parts);
}
