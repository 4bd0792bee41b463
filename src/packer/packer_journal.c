/* packer_journal.c - NAME.pack.partial.jsonl, which exists as long as the pack is unfinished. Its
 * first line is the codec, so that an automatic choice is not made again. A line for each run says
 * when it began, to find files that have changed since. Then each bad sample is a line, written
 * before any later sample is added to the pack. The pack has no trace of bad samples, and a resumed
 * build must give the same list and the same metadata.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "base/thread.h"
#include "catalog/draft.h"
#include "input/json_file.h"
#include "packer/packer.h"

enum { MOST_BYTES = 1 << 30 };

static char *path_with(const char *path, const char *suffix)
{
    const size_t size = strlen(path) + strlen(suffix) + 1;
    char *joined = fgi_alloc(size);
    if (joined != NULL)
        (void)fgi_snprintf(joined, size, "%s%s", path, suffix);
    return joined;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void put(fgi_buf *out, json_t *take_line)
{
    out->failed |= take_line == NULL || !fgi_json_write(take_line, JSON_COMPACT, out);
    fgi_buf_putc(out, '\n');
    json_decref(take_line);
}

/* Appends {"name": ..., "reason": ...} (UTF-8 as it is, so that programs find the file), with
 * "sample" if it is not negative. */
static void put_line(fgi_buf *out, int64_t sample, const char *name, const char *reason)
{
    put(out, json_pack("{s:o*, s:o, s:o}", "sample", sample >= 0 ? json_integer(sample) : NULL,
                       "name", fgi_json_name(name), "reason", fgi_json_name(reason)));
}

static void put_head(fgi_buf *out, const fgi_packer_journal *j)
{
    put(out, json_pack("{s:s, s:o}", "codec", fgi_packer_codec_name(j->codec), "reason",
                       fgi_json_name(j->reason)));
}

static void put_run(fgi_buf *out, const fgi_packer_run *run)
{
    put(out, json_pack("{s:I, s:f}", "start", (json_int_t)run->sample, "begun", run->begun_s));
}

/* ---- runs ------------------------------------------------------------------------------------ */

static fg_status add_run(fgi_packer_journal *j, int64_t sample, double begun_s, fg_error *err)
{
    FGI_TRY_GROW(j->runs, j->run_count, j->run_capacity, err);
    j->runs[j->run_count++] = (fgi_packer_run){sample, begun_s};
    return FG_OK;
}

double fgi_packer_journal_begun(const fgi_packer_journal *j, int64_t sample)
{
    double begun_s = 0;
    for (size_t i = 0; i < j->run_count && j->runs[i].sample <= sample; i++)
        begun_s = j->runs[i].begun_s;
    return begun_s;
}

/* ---- samples --------------------------------------------------------------------------------- */

static fg_status remember(fgi_packer_journal *j, int64_t sample, const char *name,
                          const char *reason, fg_error *err)
{
    fg_pack_reject *bad = fgi_grow(j->bad, j->count, &j->bad_capacity, sizeof(*bad));
    j->bad = bad != NULL ? bad : j->bad;
    int64_t *samples = fgi_grow(j->samples, j->count, &j->sample_capacity, sizeof(*samples));
    j->samples = samples != NULL ? samples : j->samples;
    char *own_name = fgi_strdup(name), *own_reason = fgi_strdup(reason);
    if (bad == NULL || samples == NULL || own_name == NULL || own_reason == NULL) {
        fgi_free(own_name);
        fgi_free(own_reason);
        return fgi_no_memory(err);
    }
    j->samples[j->count] = sample;
    j->bad[j->count++] = (fg_pack_reject){own_name, own_reason};
    return FG_OK;
}

static void forget_from(fgi_packer_journal *j, size_t count)
{
    while (j->count > count) {
        j->count--;
        fgi_free((void *)j->bad[j->count].name);
        fgi_free((void *)j->bad[j->count].reason);
    }
}

int64_t fgi_packer_journal_before(const fgi_packer_journal *j, int64_t start)
{
    int64_t count = 0;
    while (count < (int64_t)j->count && j->samples[count] < start)
        count++;
    return count;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Takes what one line says. Lines after one that is damaged are not used. */
static fg_status read_line(fgi_packer_journal *j, const char *line, size_t size, bool *is_good,
                           fg_error *err)
{
    json_t *root = fgi_json_load(line, size, 0, NULL);
    const char *codec = json_string_value(json_object_get(root, "codec"));
    const char *name = json_string_value(json_object_get(root, "name"));
    const char *reason = json_string_value(json_object_get(root, "reason"));
    const json_t *sample = json_object_get(root, "sample");
    const json_t *start = json_object_get(root, "start"), *begun = json_object_get(root, "begun");
    fg_status status = FG_OK;
    if (json_is_integer(start) && json_is_real(begun)) {
        status = add_run(j, json_integer_value(start), json_real_value(begun), err);
        json_decref(root);
        return status;
    }
    *is_good = reason != NULL && ((codec != NULL && fgi_packer_codec_of(codec, &j->codec)) ||
                                  (name != NULL && json_is_integer(sample)));
    if (*is_good && codec != NULL)
        (void)fgi_snprintf(j->reason, sizeof(j->reason), "%s", reason);
    else if (*is_good)
        status = remember(j, json_integer_value(sample), name, reason, err);
    json_decref(root);
    return status;
}

static fg_status read_lines(fgi_packer_journal *j, const char *data, size_t size, fg_error *err)
{
    bool is_good = true;
    for (const char *end; is_good && (end = memchr(data, '\n', size)) != NULL;) {
        FGI_TRY(read_line(j, data, (size_t)(end - data), &is_good, err));
        size -= (size_t)(end - data) + 1;
        data = end + 1;
    }
    return FG_OK;
}

fg_status fgi_packer_journal_open(const char *out_path, fgi_packer_journal *j, fg_error *err)
{
    char *data = NULL;
    size_t size;
    *j = (fgi_packer_journal){.fd = -1};
    j->path = path_with(out_path, ".partial.jsonl");
    j->list_path = path_with(out_path, ".bad.jsonl");
    if (j->path == NULL || j->list_path == NULL)
        return fgi_no_memory(err);
    if (!fgi_file_exists(j->path))
        return FG_OK;
    FGI_TRY(fgi_file_read(j->path, MOST_BYTES, &data, &size, err));
    const fg_status status = read_lines(j, data, size, err);
    fgi_free(data);
    return status;
}

void fgi_packer_journal_close(fgi_packer_journal *j)
{
    if (j->fd >= 0)
        (void)close(j->fd);
    forget_from(j, 0);
    fgi_free(j->bad);
    fgi_free(j->samples);
    fgi_free(j->runs);
    fgi_free(j->path);
    fgi_free(j->list_path);
    *j = (fgi_packer_journal){.fd = -1};
}

/* ---- writing --------------------------------------------------------------------------------- */

fg_status fgi_packer_journal_start(fgi_packer_journal *j, int64_t start, fg_error *err)
{
    fgi_buf text = {0};
    forget_from(j, (size_t)fgi_packer_journal_before(j, start));
    while (j->run_count > 0 && j->runs[j->run_count - 1].sample >= start)
        j->run_count--;
    FGI_TRY(add_run(j, start, fgi_wall_time(), err));
    put_head(&text, j);
    for (size_t i = 0; i < j->run_count; i++)
        put_run(&text, &j->runs[i]);
    for (size_t i = 0; i < j->count; i++)
        put_line(&text, j->samples[i], j->bad[i].name, j->bad[i].reason);
    fg_status status = fgi_buf_status(&text, err);
    if (status == FG_OK)
        status = fgi_file_write_atomic(j->path, text.data, text.size, err);
    fgi_buf_fini(&text);
    FGI_TRY(status);
    j->fd = open(j->path, O_WRONLY | O_APPEND | O_CLOEXEC);
    return j->fd >= 0 ? FG_OK : fgi_fail_errno(err, "open", j->path);
}

fg_status fgi_packer_journal_add(fgi_packer_journal *j, int64_t sample, const char *name,
                                 const char *reason, fg_error *err)
{
    fgi_buf text = {0};
    FGI_TRY(remember(j, sample, name, reason, err));
    if (j->fd < 0)
        return FG_OK;
    put_line(&text, sample, name, reason);
    fg_status status = fgi_buf_status(&text, err);
    if (status == FG_OK)
        status = fgi_write_all(j->fd, j->path, text.data, text.size, err);
    fgi_buf_fini(&text);
    return status;
}

fg_status fgi_packer_journal_list(const fgi_packer_journal *j, const fg_catalog *catalog,
                                  fg_error *err)
{
    fgi_buf text = {0};
    const char *name, *reason;
    for (int64_t i = 0; (name = fg_catalog_skip(catalog, i, &reason)) != NULL; i++)
        put_line(&text, -1, name, reason);
    for (size_t i = 0; i < j->count; i++)
        put_line(&text, -1, j->bad[i].name, j->bad[i].reason);
    fg_status status = fgi_buf_status(&text, err);
    if (status == FG_OK && text.size > 0)
        status = fgi_file_write_atomic(j->list_path, text.data, text.size, err);
    else if (status == FG_OK)
        (void)unlink(j->list_path); /* of a pack that is replaced */
    fgi_buf_fini(&text);
    return status;
}

void fgi_packer_journal_remove(fgi_packer_journal *j) { (void)unlink(j->path); }
