/* packer_build.c - builds a pack: opens the source, chooses what was left open, continues an
 * interrupted build, and writes what the threads make.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/pack_arrays.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/print.h"
#include "base/text.h"
#include "base/thread.h"
#include "catalog/class_counts.h"
#include "catalog/draft.h"
#include "packer/packer.h"

enum { MOST_MISSING = 64 /* samples in a row that cannot be read */, TRIAL_RECORDS = 64 };

static const double CLOCK_S = 2; /* file systems round times, and clocks differ */

/* Zero-initialize it and set plan and journal, which are borrowed. */
typedef struct kept_check {
    const fgi_packer_plan *plan;
    const fgi_packer_journal *journal;
    int64_t sample, next; /* of the record; the first that the next record can be of */
    bool is_made;         /* the sample is in `output` */
    bool has_tools;
    fgi_packer_tools tools;
    fgi_packer_output output;
} kept_check;

/* A build and everything that it owns. */
typedef struct build {
    const char *source, *out_path;
    fgi_packer_plan plan;
    fg_catalog *catalog;
    fg_pack_writer *writer;
    fgi_packer_journal journal;
    fgi_packer_crew *crew;
    kept_check kept_samples;
    fgi_packer_sums sums;
    int64_t start, written; /* first sample; of its records, those that the pack has */
    int64_t kept;           /* records of an interrupted build */
    int64_t encoded;        /* samples that are encoded again */
    int64_t flawed;         /* samples with a warning of the decoder */
    int64_t missing;        /* samples in a row that could not be read */
    uint32_t width, height; /* of the first record */
    uint64_t size_bytes;
    fgi_packer_meter meter;
} build;

/* ---- the plan -------------------------------------------------------------------------------- */

int64_t fgi_packer_index(const fgi_packer_plan *plan, int64_t i)
{
    const int64_t all = fg_catalog_count(plan->catalog);
    return plan->count == all ? i : (int64_t)((double)i * ((double)all / (double)plan->count));
}

fg_status fgi_packer_item(const fgi_packer_plan *plan, int64_t i, fg_catalog_item *out,
                          fg_error *err)
{
    const int64_t index = fgi_packer_index(plan, i);
    FGI_TRY(fg_catalog_item_at(plan->catalog, index, out, err));
    if (plan->splits != NULL)
        out->split = plan->splits[index];
    return FG_OK;
}

int64_t fgi_packer_stride(const fgi_packer_plan *plan)
{
    return (plan->count + FGI_PACKER_MEASURED - 1) / FGI_PACKER_MEASURED;
}

static fg_status divide(fgi_packer_plan *plan, fg_error *err)
{
    const fg_pack_build_options *o = &plan->o;
    const fg_catalog_split_options options = {
        o->val_fraction, o->test_fraction, o->seed, o->stratify, {0}};
    if (o->val_fraction == 0 && o->test_fraction == 0)
        return FG_OK;
    plan->splits = fgi_alloc((size_t)fg_catalog_count(plan->catalog));
    if (plan->splits == NULL)
        return fgi_no_memory(err);
    return fg_catalog_split(plan->catalog, &options, plan->splits, err);
}

static fg_status open_catalog(build *b, fg_error *err)
{
    const fg_pack_build_options *o = &b->plan.o;
    fg_catalog_options options = o->catalog != NULL ? *o->catalog : (fg_catalog_options){0};
    options.skip_missing |= o->skip_bad;
    const fg_status status = fg_catalog_open(b->source, &options, &b->catalog, err);
    if (status == FG_OK || err == NULL || !fgi_packer_is_tokens(b->source))
        return status;
    const fg_error cause = *err;
    return fgi_fail(err, status, "%.380s\nto pack tokens or text, set sequence (--sequence)",
                    cause.message);
}

static void log_line(void *self, fg_log_level level, const char *line)
{
    (void)self;
    fgi_log(level, "%s", line);
}

/* Logs what was skipped, and classes that a split lacks. */
static fg_status describe(const fgi_packer_plan *plan, fg_error *err)
{
    fgi_class_counts counts;
    FGI_TRY(fg_catalog_describe(plan->catalog, log_line, NULL, err));
    FGI_TRY(fgi_class_counts_of(plan->catalog, plan->splits, &counts, err));
    fgi_class_counts_warn(&counts, log_line, NULL);
    fgi_class_counts_fini(&counts);
    return FG_OK;
}

static fg_status make_plan(build *b, fg_error *err)
{
    fgi_packer_plan *plan = &b->plan;
    FGI_TRY(open_catalog(b, err));
    b->meter = (fgi_packer_meter){.progress = plan->o.progress,
                                  .self = plan->o.progress_self,
                                  .unit = "images",
                                  .every_s = plan->o.progress_s};
    plan->catalog = b->catalog;
    plan->count = fg_catalog_count(b->catalog);
    FGI_TRY(divide(plan, err));
    FGI_TRY(describe(plan, err));
    for (int64_t i = 0; i < plan->count && !plan->has_lists; i++) {
        fg_catalog_item item;
        FGI_TRY(fg_catalog_item_at(b->catalog, i, &item, err));
        plan->has_lists = item.label_count > 1;
    }
    if (plan->o.limit > 0 && plan->o.limit < plan->count)
        plan->count = plan->o.limit;
    plan->key = fgi_key_fold_text(fgi_key_from_seed(plan->o.seed), "packer.variants");
    return FG_OK;
}

/* ---- the records of an interrupted build ------------------------------------------------------
 * Whether they are still those of the source. A sample whose file has changed since it was packed
 * is made again, and its records are compared: they only depend on the sample and the options. */

static void kept_fini(kept_check *k)
{
    if (k->has_tools)
        fgi_packer_tools_fini(&k->tools);
    fgi_packer_output_fini(&k->output);
    *k = (kept_check){0};
}

static bool has_changed(const kept_check *k, int64_t sample)
{
    const double changed_s =
        fgi_catalog_changed_s(k->plan->catalog, fgi_packer_index(k->plan, sample));
    return changed_s > fgi_packer_journal_begun(k->journal, sample) - CLOCK_S;
}

/* Makes the sample; *out_is_good is false if it cannot be packed. */
static fg_status make_again(kept_check *k, int64_t sample, bool *out_is_good, fg_error *err)
{
    if (!k->has_tools) {
        FGI_TRY(fgi_packer_tools_init(&k->tools, err));
        k->has_tools = true;
        FGI_TRY(fgi_packer_output_init(&k->output, k->plan, err));
    }
    fgi_packer_sample(k->plan, &k->tools, sample, &k->output);
    *out_is_good = k->output.status == FG_OK;
    return k->output.status == FG_ENOMEM ? fgi_no_memory(err) : FG_OK;
}

static fg_status fail_changed(const char *name, fg_error *err)
{
    char shown[FGI_SHOWN_BYTES];
    return fgi_fail(
        err, FG_EINVAL,
        "'%s' has changed since packing was interrupted: start over (restart, --restart)",
        fgi_shown(name, shown));
}

/* Finds the sample of the record after that of k->sample: by name, as bad samples have no record.
 * There is none if the journal is lost; the build then starts again. */
static fg_status find_sample(kept_check *k, const char *name, fg_error *err)
{
    for (k->sample = k->next; k->sample < k->plan->count; k->sample++) {
        fg_catalog_item item;
        FGI_TRY(fgi_packer_item(k->plan, k->sample, &item, err));
        if (strcmp(item.name, name) == 0)
            break;
    }
    k->next = k->sample + 1;
    return FG_OK;
}

/* fg_pack_writer_options.kept: FG_EINVAL if the sample of the record has changed. */
static fg_status check_kept(void *self, int64_t record, const fg_pack_entry *entry,
                            const void *data, size_t size, fg_error *err)
{
    kept_check *k = self;
    const int64_t variant = record % k->plan->o.variant_count;
    bool is_good = true;
    if (variant == 0) {
        FGI_TRY(find_sample(k, entry->name, err));
        k->is_made = k->sample < k->plan->count && has_changed(k, k->sample);
        if (k->is_made)
            FGI_TRY(make_again(k, k->sample, &is_good, err));
    }
    if (!k->is_made)
        return FG_OK;
    const fgi_packer_record *now = &k->output.records[variant];
    const size_t begin = variant > 0 ? now[-1].end : 0;
    is_good = is_good && now->end - begin == size && now->width == entry->width &&
              now->height == entry->height && memcmp(k->output.bytes.data + begin, data, size) == 0;
    return is_good ? FG_OK : fail_changed(entry->name, err);
}

/* FG_EINVAL if a sample before `start` that was left out could be packed now. */
static fg_status check_left_out(kept_check *k, int64_t start, fg_error *err)
{
    const fgi_packer_journal *j = k->journal;
    for (size_t i = 0; i < j->count && j->samples[i] < start; i++) {
        bool is_good = false;
        if (has_changed(k, j->samples[i]))
            FGI_TRY(make_again(k, j->samples[i], &is_good, err));
        if (is_good)
            return fail_changed(j->bad[i].name, err);
    }
    return FG_OK;
}

/* ---- the writer ------------------------------------------------------------------------------ */

/* Creates the writer; it resumes an interrupted build unless `restart`. */
static fg_status create_writer(build *b, bool restart, fg_error *err)
{
    const fg_pack_build_options *o = &b->plan.o;
    fgi_buf fingerprint = {0};
    fg_status status = fgi_packer_fingerprint(&b->plan, &fingerprint, err);
    const fg_pack_writer_options options = {.shard_bytes = o->shard_bytes,
                                            .variant_count = o->variant_count,
                                            .class_names = b->catalog->class_names,
                                            .class_count = b->catalog->class_count,
                                            .fingerprint = fingerprint.data,
                                            .resume = !restart,
                                            .replace = o->replace,
                                            .kept = check_kept,
                                            .kept_self = &b->kept_samples};
    kept_fini(&b->kept_samples);
    b->kept_samples = (kept_check){.plan = &b->plan, .journal = &b->journal};
    if (status == FG_OK)
        status = fg_pack_writer_create(b->out_path, &options, &b->writer, &b->kept, err);
    fgi_buf_fini(&fingerprint);
    return status;
}

/* Finds where an interrupted build continues. *out_is_known is false if samples were left out that
 * the journal does not have. */
static fg_status find_start(build *b, bool *out_is_known, fg_error *err)
{
    const int64_t variants = b->plan.o.variant_count;
    const char *last = fg_pack_writer_last_name(b->writer);
    *out_is_known = true;
    b->start = b->written = 0;
    if (b->kept == 0 || last == NULL)
        return FG_OK;
    int64_t i = (b->kept - 1) / variants;
    for (; i < b->plan.count; i++) {
        fg_catalog_item item;
        FGI_TRY(fgi_packer_item(&b->plan, i, &item, err));
        if (strcmp(item.name, last) == 0)
            break;
    }
    b->written = b->kept % variants;
    b->start = b->written > 0 ? i : i + 1;
    *out_is_known = i < b->plan.count && b->start - b->kept / variants ==
                                             fgi_packer_journal_before(&b->journal, b->start);
    return FG_OK;
}

static fg_status open_writer(build *b, fg_error *err)
{
    bool is_known = false;
    fgi_packer_find_sampling(&b->plan);
    FGI_TRY(create_writer(b, b->plan.o.restart, err));
    FGI_TRY(find_start(b, &is_known, err));
    if (!is_known) { /* the journal was lost, in a power failure: start again */
        fg_pack_writer_destroy(b->writer);
        b->writer = NULL;
        FGI_TRY(create_writer(b, true, err));
        FGI_TRY(find_start(b, &is_known, err));
    }
    const fg_status status = check_left_out(&b->kept_samples, b->start, err);
    kept_fini(&b->kept_samples);
    FGI_TRY(status);
    b->journal.codec = b->plan.o.codec;
    return fgi_packer_journal_start(&b->journal, b->start, err);
}

/* ---- samples --------------------------------------------------------------------------------- */

static fg_status check_size(build *b, const char *name, const fgi_packer_record *record,
                            fg_error *err)
{
    char shown[FGI_SHOWN_BYTES];
    const fg_pack_choice codec = b->plan.o.codec;
    if (b->width == 0) {
        b->width = record->width;
        b->height = record->height;
    }
    if ((codec != FG_PACK_CHOICE_YCC && codec != FG_PACK_CHOICE_DCT) ||
        (record->width == b->width && record->height == b->height))
        return FG_OK;
    fg_pack_writer_discard(b->writer); /* it cannot be completed with these options */
    fgi_packer_journal_remove(&b->journal);
    return fgi_fail(err, FG_EINVAL,
                    "%s: %" PRIu32 "x%" PRIu32 " pixels, others %" PRIu32 "x%" PRIu32
                    ": codec %s requires images of equal size\n"
                    "set presize, such as square=256,upscale",
                    fgi_shown(name, shown), record->width, record->height, b->width, b->height,
                    fgi_packer_codec_name(codec));
}

static fg_status add_records(build *b, const fg_catalog_item *item, int64_t first,
                             const fgi_packer_output *output, fg_error *err)
{
    fg_pack_entry entry = {.name = item->name,
                           .codec = fgi_packer_codec(b->plan.o.codec),
                           .label = item->label,
                           .labels = b->plan.has_lists ? item->labels : NULL,
                           .label_count = b->plan.has_lists ? item->label_count : 0,
                           .split = item->split,
                           .group = item->group};
    for (int64_t v = first; v < b->plan.o.variant_count; v++) {
        const fgi_packer_record *record = &output->records[v];
        const size_t begin = v > 0 ? record[-1].end : 0, size = record->end - begin;
        entry.width = record->width;
        entry.height = record->height;
        entry.flags = record->flags;
        FGI_TRY(fg_pack_writer_add(b->writer, &entry, output->bytes.data + begin, size, err));
        b->size_bytes += size;
    }
    return FG_OK;
}

/* A sample that cannot be packed. */
static fg_status leave_out(build *b, int64_t i, const fg_catalog_item *item,
                           const fgi_packer_output *output, fg_error *err)
{
    const char *reason = output->err.message;
    const bool is_missing = output->status == FG_EIO || output->status == FG_ENOTFOUND;
    b->missing = is_missing ? b->missing + 1 : 0;
    if (output->status == FG_ENOMEM)
        return fgi_no_memory(err);
    if (!b->plan.o.skip_bad)
        return fgi_fail(err, output->status,
                        "%s\nsample %" PRId64 " of %" PRId64
                        "; to skip bad images, use bad=skip (fulgurite pack --bad skip)",
                        reason, i + 1, b->plan.count);
    if (b->missing == MOST_MISSING)
        return fgi_fail(err, output->status,
                        "%s\n%d samples in a row cannot be read: is the disk still connected?",
                        reason, MOST_MISSING);
    return fgi_packer_journal_add(&b->journal, i, item->name, reason, err);
}

static void add_sums(build *b, const fgi_packer_output *output)
{
    for (size_t c = 0; c < 3; c++) {
        b->sums.mean[c] += output->mean[c];
        b->sums.square[c] += output->square[c];
    }
    b->sums.count++;
}

/* Writes one sample; those before `start` are only measured. */
static fg_status add_sample(build *b, int64_t i, const fgi_packer_output *output, fg_error *err)
{
    fg_catalog_item item;
    FGI_TRY(fgi_packer_item(&b->plan, i, &item, err));
    if (output->status == FG_OK && i % fgi_packer_stride(&b->plan) == 0)
        add_sums(b, output);
    if (output->status == FG_OK)
        FGI_TRY(check_size(b, item.name, &output->records[0], err));
    if (i < b->start)
        return FG_OK;
    if (output->status != FG_OK)
        return leave_out(b, i, &item, output, err);
    b->missing = 0;
    b->encoded += output->is_encoded;
    b->flawed += output->is_flawed;
    return add_records(b, &item, i == b->start ? b->written : 0, output, err);
}

static fg_status add_samples(build *b, fg_error *err)
{
    int64_t i;
    const fgi_packer_output *output;
    fgi_packer_meter_start(&b->meter, b->start, b->plan.count);
    FGI_TRY(fgi_packer_crew_create(&b->plan, b->start, &b->crew, err));
    while ((output = fgi_packer_crew_next(b->crew, &i)) != NULL) {
        FGI_TRY(add_sample(b, i, output, err));
        if (!fgi_packer_meter_report(&b->meter, i < b->start ? b->start : i + 1,
                                     (int64_t)b->journal.count, b->size_bytes))
            return fgi_fail(err, FG_ESTOPPED,
                            "stopped after %" PRId64 " of %" PRId64
                            " sample%s: start again to continue",
                            i + 1, b->plan.count, fgi_s(b->plan.count));
    }
    return FG_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* An error of the disk says what is left to do. */
static fg_status explain(const build *b, fg_status status, fg_error *err)
{
    fg_error cause;
    if (status != FG_EIO || b->writer == NULL || err == NULL)
        return status;
    cause = *err;
    return fgi_fail(err, status,
                    "%.380s\nwhat was written is in the partial pack: free some space if the disk "
                    "is full, and start again to continue",
                    cause.message);
}

static fg_status finish(build *b, fg_error *err)
{
    fgi_buf metadata = {0};
    if (fg_pack_writer_count(b->writer) == 0) {
        fg_pack_writer_discard(b->writer);
        fgi_packer_journal_remove(&b->journal);
        return fgi_fail(err, FG_EFORMAT, "'%s': no sample is an image that can be packed\n%s",
                        b->source, b->journal.count > 0 ? b->journal.bad[0].reason : "");
    }
    fg_status status =
        fgi_packer_metadata(&b->plan, b->source, &b->journal, &b->sums, &metadata, err);
    if (status == FG_OK)
        status = fgi_packer_journal_list(&b->journal, b->catalog, err);
    if (status == FG_OK)
        status = fg_pack_writer_finish(b->writer, metadata.data, err);
    if (status == FG_OK)
        fgi_packer_journal_remove(&b->journal);
    fgi_buf_fini(&metadata);
    return status;
}

static void end(build *b)
{
    fgi_packer_crew_destroy(b->crew);
    kept_fini(&b->kept_samples);
    fg_pack_writer_destroy(b->writer);
    fgi_packer_journal_close(&b->journal);
    fg_catalog_close(b->catalog);
    fgi_free(b->plan.splits);
}

/* The plan of a small pack. */
static fgi_packer_plan trial_plan(const fgi_packer_plan *plan, fg_pack_choice codec)
{
    fgi_packer_plan small = *plan;
    const int64_t most = (TRIAL_RECORDS + plan->o.variant_count - 1) / plan->o.variant_count;
    small.count = plan->count < most ? plan->count : most;
    small.o.codec = codec;
    small.o.skip_bad = small.o.restart = small.o.replace = true;
    small.o.shard_bytes = 0;
    return small;
}

fg_status fgi_packer_trial(const fgi_packer_plan *plan, fg_pack_choice codec, const char *path,
                           fg_error *err)
{
    build b = {.source = "",
               .out_path = path,
               .plan = trial_plan(plan, codec),
               .catalog = (fg_catalog *)plan->catalog,
               .journal = {.fd = -1}};
    b.plan.splits = fgi_calloc((size_t)fg_catalog_count(plan->catalog), 1);
    if (b.plan.splits == NULL)
        return fgi_no_memory(err);
    fg_status status = fgi_packer_journal_open(path, &b.journal, err);
    if (status == FG_OK)
        status = open_writer(&b, err);
    if (status == FG_OK)
        status = add_samples(&b, err);
    if (status == FG_OK)
        status = finish(&b, err);
    b.catalog = NULL; /* of the whole build */
    end(&b);
    return status;
}

/* Whether there is a partial pack. */
static bool is_started(const build *b)
{
    const int stem = (int)strlen(b->out_path) - 5; /* without .pack */
    const char *number = b->plan.o.shard_bytes > 0 ? "-00000" : "";
    const size_t size = strlen(b->out_path) + 24;
    char *path = stem > 0 ? fgi_alloc(size) : NULL;
    if (path != NULL)
        (void)fgi_snprintf(path, size, "%.*s%s.pack.partial", stem, b->out_path, number);
    const bool is_there = path != NULL && fgi_file_exists(path);
    fgi_free(path);
    return is_there;
}

/* The codec: as given, as an interrupted build has chosen it, or chosen now. */
static fg_status choose_codec(build *b, fg_error *err)
{
    fg_pack_build_options *o = &b->plan.o;
    fgi_packer_journal *j = &b->journal;
    const bool is_resumed = !o->restart && is_started(b);
    if (o->codec == FG_PACK_CHOICE_AUTO && is_resumed && j->codec != FG_PACK_CHOICE_AUTO)
        o->codec = j->codec;
    else if (o->codec == FG_PACK_CHOICE_AUTO)
        return fgi_packer_choose(&b->plan, b->out_path, j->reason, err);
    else
        j->reason[0] = '\0';
    return FG_OK;
}

static fg_status run(build *b, fg_error *err)
{
    FGI_TRY(fgi_packer_journal_open(b->out_path, &b->journal, err));
    FGI_TRY(make_plan(b, err));
    FGI_TRY(choose_codec(b, err));
    FGI_TRY(open_writer(b, err));
    FGI_TRY(fgi_packer_check_space(&b->plan, b->out_path, b->start, err));
    fg_status status = add_samples(b, err);
    if (status == FG_OK)
        status = finish(b, err);
    return explain(b, status, err);
}

static void fill_result(build *b, fg_pack_built *out)
{
    *out = (fg_pack_built){.sample_count = b->plan.count - (int64_t)b->journal.count,
                           .record_count = b->writer != NULL ? fg_pack_writer_count(b->writer) : 0,
                           .resumed_count = b->kept,
                           .size_bytes = b->size_bytes,
                           .codec = b->plan.o.codec,
                           .bad = b->journal.bad,
                           .bad_count = b->journal.count,
                           .encoded_count = b->encoded,
                           .flawed_count = b->flawed,
                           .skip_count = fg_catalog_skip_count(b->catalog),
                           .is_set = b->plan.o.shard_bytes > 0};
    memcpy(out->reason, b->journal.reason, sizeof(out->reason));
    b->journal.bad = NULL; /* belongs to the result now */
    b->journal.count = 0;
}

/* A partial pack without records would only prevent another start with other options. */
static void discard_empty(build *b, fg_status status)
{
    if (status == FG_OK || b->writer == NULL || fg_pack_writer_count(b->writer) > 0)
        return;
    fg_pack_writer_discard(b->writer);
    fgi_packer_journal_remove(&b->journal);
}

/* A source of arrays, without the options of images. */
static fg_status build_arrays(const build *b, fg_pack_built *out, fg_error *err)
{
    const fg_pack_build_options *o = &b->plan.o;
    const fg_pack_arrays_options options = {.sequence = o->sequence,
                                            .val_fraction = o->val_fraction,
                                            .seed = o->seed,
                                            .limit = o->limit,
                                            .shard_bytes = o->shard_bytes,
                                            .restart = o->restart,
                                            .replace = o->replace,
                                            .progress_s =
                                                o->progress_s > 0 ? o->progress_s : FG_ZERO,
                                            .progress = o->progress,
                                            .progress_self = o->progress_self};
    int64_t count = 0;
    if (o->codec != FG_PACK_CHOICE_AUTO || o->presize.rule != FG_IMAGE_PRESIZE_NONE ||
        o->variant_count > 1 || o->test_fraction > 0 || o->stratify)
        return fgi_fail(err, FG_EINVAL,
                        "'%s' has arrays: codec, presize, variants, a test split and stratify are "
                        "for images",
                        b->source);
    FGI_TRY(fg_pack_arrays(b->source, b->out_path, &options, &count, err));
    if (out != NULL)
        *out = (fg_pack_built){
            .sample_count = count, .record_count = count, .is_set = o->shard_bytes > 0};
    return FG_OK;
}

static fg_status build_any(build *b, fg_pack_built *out, fg_error *err)
{
    if (b->plan.o.sequence != 0 || fg_pack_arrays_accepts(b->source))
        return build_arrays(b, out, err);
    const fg_status status = run(b, err);
    if (status == FG_OK && out != NULL)
        fill_result(b, out);
    discard_empty(b, status);
    end(b);
    return status;
}

fg_status fg_pack_build(const char *source, const char *out_path,
                        const fg_pack_build_options *options, fg_pack_built *out, fg_error *err)
{
    build b = {.source = source, .out_path = out_path, .journal = {.fd = -1}};
    if (out != NULL)
        *out = (fg_pack_built){0};
    if (source == NULL || out_path == NULL)
        return fgi_fail(err, FG_EINVAL, "fg_pack_build: source or out_path is NULL");
    FGI_TRY(fgi_packer_options(options, &b.plan.o, err));
    if (b.plan.o.handle_signals)
        fgi_signal_set_hold(&fgi_packer_signals, NULL);
    const fg_status status = build_any(&b, out, err);
    if (b.plan.o.handle_signals)
        fgi_signal_set_release(&fgi_packer_signals);
    return status;
}

/* ---- checking -------------------------------------------------------------------------------- */

static fg_status check_samples(build *b, fg_error *err)
{
    int64_t i;
    const fgi_packer_output *output;
    fgi_packer_meter_start(&b->meter, 0, b->plan.count);
    FGI_TRY(fgi_packer_crew_create(&b->plan, 0, &b->crew, err));
    while ((output = fgi_packer_crew_next(b->crew, &i)) != NULL) {
        fg_catalog_item item;
        FGI_TRY(fgi_packer_item(&b->plan, i, &item, err));
        b->flawed += output->status == FG_OK && output->is_flawed;
        b->size_bytes += output->bytes.size;
        if (output->status != FG_OK)
            FGI_TRY(leave_out(b, i, &item, output, err));
        else
            b->missing = 0;
        if (!fgi_packer_meter_report(&b->meter, i + 1, (int64_t)b->journal.count, b->size_bytes))
            return fgi_fail(err, FG_ESTOPPED, "stopped after %" PRId64 " of %" PRId64 " image%s",
                            i + 1, b->plan.count, fgi_s(b->plan.count));
    }
    return FG_OK;
}

/* The rows of a list whose file does not exist are bad images, too; what else a source skips is not
 * an image. */
static fg_status add_missing(build *b, fg_error *err)
{
    const char *kind = fg_catalog_kind_of(b->catalog), *name, *reason;
    char text[2 * FGI_SHOWN_BYTES], shown[FGI_SHOWN_BYTES];
    if (strcmp(kind, "csv") != 0 && strcmp(kind, "jsonl") != 0)
        return FG_OK;
    for (int64_t i = 0; (name = fg_catalog_skip(b->catalog, i, &reason)) != NULL; i++) {
        (void)fgi_snprintf(text, sizeof(text), "%s: %s", fgi_shown(name, shown), reason);
        FGI_TRY(fgi_packer_journal_add(&b->journal, b->plan.count++, name, text, err));
    }
    return FG_OK;
}

static fg_status check_source(build *b, fg_pack_built *out, fg_error *err)
{
    if (b->plan.o.sequence != 0 || fg_pack_arrays_accepts(b->source))
        return fgi_fail(err, FG_EINVAL, "'%s' has no image files to check", b->source);
    fg_status status = make_plan(b, err);
    if (status == FG_OK)
        status = check_samples(b, err);
    if (status == FG_OK)
        status = add_missing(b, err);
    if (status == FG_OK)
        fill_result(b, out);
    end(b);
    return status;
}

fg_status fg_pack_check_source(const char *source, const fg_pack_build_options *options,
                               fg_pack_built *out, fg_error *err)
{
    build b = {.source = source, .journal = {.fd = -1}};
    *out = (fg_pack_built){0};
    fg_pack_build_options *o = &b.plan.o;
    FGI_TRY(fgi_packer_options(options, o, err));
    o->codec = FG_PACK_CHOICE_FILE;
    o->variant_count = 1;
    o->val_fraction = o->test_fraction = 0;
    o->skip_bad = true;
    if (o->handle_signals)
        fgi_signal_set_hold(&fgi_packer_signals, NULL);
    const fg_status status = check_source(&b, out, err);
    if (o->handle_signals)
        fgi_signal_set_release(&fgi_packer_signals);
    return status;
}
