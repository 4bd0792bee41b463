/* pack_print.c - the summary of a pack as lines.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/catalog.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "input/json_file.h"
#include "report/doc.h"
#include "report/pack_summary.h"
#include "base/text.h"

/* Of more than MANY classes, the FEW largest and smallest are listed. */
enum { MANY = 20, FEW = 10, NAME_LIMIT = 64, METADATA_LIMIT = 160, DIGITS = 6 };

static const char *escaped(const char *name, char out[NAME_LIMIT])
{
    (void)fg_catalog_escape(name, out, NAME_LIMIT);
    return out;
}

/* "jpeg 12, raw 3": those that are not 0. */
static void put_counts(fgi_doc *d, const char *title, const char *const *names,
                       const int64_t *counts, size_t count)
{
    fgi_buf words = {0};
    for (size_t i = 0; i < count; i++)
        if (counts[i] != 0)
            fgi_buf_printf(&words, "%s%s %" PRId64, words.size > 0 ? ", " : "", names[i],
                           counts[i]);
    fgi_doc_fact(d, title, "%s", words.size > 0 ? words.data : "none");
    d->out->failed = d->out->failed || words.failed;
    fgi_buf_fini(&words);
}

static void put_codecs(fgi_doc *d, const fgi_pack_summary *s)
{
    const char *names[FGI_PACK_CODECS + 1];
    int64_t counts[FGI_PACK_CODECS + 1];
    for (int i = 0; i < FGI_PACK_CODECS; i++) {
        names[i] = fg_pack_codec_name((fg_pack_codec)i);
        counts[i] = s->codecs[i];
    }
    names[FGI_PACK_CODECS] = "unknown";
    counts[FGI_PACK_CODECS] = s->other_codecs;
    put_counts(d, "codecs", names, counts, FGI_PACK_CODECS + 1);
}

static void put_spread(fgi_doc *d, const char *title, const fgi_pack_spread *s, const char *unit)
{
    if (s->count > 0)
        fgi_doc_fact(d, title, "%" PRIu32 " to %" PRIu32 " %s, median %" PRIu32, s->min, s->max,
                     unit, s->median);
}

/* ---- classes --------------------------------------------------------------------------------- */

typedef struct ranked {
    int64_t index, count;
} ranked;

/* The largest first, then by index. */
static int compare(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (x->index > y->index) - (x->index < y->index);
}

static json_t *class_row(const fgi_pack_summary *s, const ranked *row, int64_t total)
{
    char name[NAME_LIMIT];
    return json_pack("{s:s, s:I, s:I}", "name",
                     escaped(fg_pack_class_name(s->pack, row->index), name), "records",
                     (json_int_t)row->count, "all", (json_int_t)total);
}

static void put_classes(fgi_doc *d, const fgi_pack_summary *s)
{
    static const fgi_field fields[] = {FGI_FIELD("", "name", FGI_WORDS),
                                       FGI_FIELD("", "records", FGI_COUNT),
                                       FGI_FIELD("", "records/all", FGI_PERCENT),
                                       FGI_FIELD("", "records", FGI_BAR), FGI_FIELDS_END};
    const int64_t count = s->info->class_count;
    ranked *ranks = fgi_calloc((size_t)count, sizeof *ranks);
    json_t *rows = json_array();
    int64_t total = 0;
    d->out->failed = d->out->failed || ranks == NULL || rows == NULL;
    for (int64_t i = 0; ranks != NULL && i < count; i++) {
        ranks[i] = (ranked){i, s->classes[i]};
        total += s->classes[i];
    }
    if (ranks != NULL && count > MANY)
        qsort(ranks, (size_t)count, sizeof *ranks, compare);
    for (int64_t i = 0; ranks != NULL && i < count; i++) {
        if (count > MANY && i == FEW) {
            (void)json_array_append_new(
                rows, json_sprintf("... %" PRId64 " more; --json lists all ...", count - 2 * FEW));
            i = count - FEW;
        }
        (void)json_array_append_new(rows, class_row(s, &ranks[i], total));
    }
    d->indent = 2;
    fgi_doc_table(d, NULL, fields, rows);
    d->indent = 0;
    json_decref(rows);
    fgi_free(ranks);
}

/* ---- everything ------------------------------------------------------------------------------ */

static void put_fields(fgi_doc *d, const fg_pack_info *info)
{
    fgi_buf words = {0};
    for (int i = 0; i < info->field_count; i++) {
        char type[96];
        fgi_buf_printf(&words, "%s%s %s", i > 0 ? ", " : "", info->fields[i].name,
                       fg_type_format(&info->fields[i].type, type, sizeof type));
    }
    fgi_doc_fact(d, "fields", "%s", words.data != NULL ? words.data : "");
    d->out->failed = d->out->failed || words.failed;
    fgi_buf_fini(&words);
}

/* Each member of the metadata on a separate line; fractions, such as mean and std, are rounded. */
static void put_metadata(fgi_doc *d, const char *metadata)
{
    char line[METADATA_LIMIT], name[NAME_LIMIT];
    json_t *object = fgi_json_load(metadata, strlen(metadata), JSON_DECODE_ANY, NULL), *value;
    const char *key;
    if (json_is_object(object)) {
        fgi_doc_heading(d, 3, "metadata");
    } else {
        (void)fg_catalog_escape(metadata, line, sizeof line);
        fgi_doc_fact(d, "metadata", "%s", line);
    }
    json_object_foreach(object, key, value)
    {
        char *text =
            fgi_json_text(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(DIGITS));
        d->out->failed = d->out->failed || text == NULL;
        (void)fg_catalog_escape(text != NULL ? text : "", line, sizeof line);
        fgi_doc_item(d, "%s: %s", escaped(key, name), line);
        fgi_free(text);
    }
    json_decref(object);
}

static void put_records(fgi_doc *d, const fg_pack_info *info)
{
    const int64_t samples = info->variant_count > 0 ? info->count / info->variant_count : 0;
    if (info->variant_count > 1)
        fgi_doc_fact(d, "records",
                     "%" PRId64 ": %" PRId64 " sample%s, %" PRId64 " variants of each", info->count,
                     samples, fgi_s(samples), info->variant_count);
    else
        fgi_doc_fact(d, "records", "%" PRId64, info->count);
}

void fgi_pack_summary_print(fgi_buf *out, const fgi_pack_summary *s)
{
    const fg_pack_info *info = s->info;
    fgi_doc d;
    fgi_doc_begin(&d, out, false, "");
    fgi_doc_fact(&d, "format", "%d.%d", info->version_major, info->version_minor);
    fgi_doc_fact(&d, "uuid", "%s", info->uuid);
    fgi_doc_fact(&d, "files", "%d, %s", info->shard_count,
                 fgi_bytes_words((double)info->size_bytes));
    put_records(&d, info);
    put_codecs(&d, s);
    put_spread(&d, "width", &s->width, "pixels");
    put_spread(&d, "height", &s->height, "pixels");
    put_spread(&d, "size", &s->bytes, "bytes");
    put_counts(&d, "splits", fgi_pack_split_names, s->splits, FGI_PACK_SPLITS);
    if (info->field_count > 0)
        put_fields(&d, info);
    if (s->grouped > 0)
        fgi_doc_fact(&d, "groups", "%" PRId64 " record%s", s->grouped, fgi_s(s->grouped));
    if (s->unlabeled > 0)
        fgi_doc_fact(&d, "no label", "%" PRId64 " record%s", s->unlabeled, fgi_s(s->unlabeled));
    if (s->lost > 0)
        fgi_doc_fact(&d, "lost", "%" PRId64 " record%s empty since the pack was rebuilt", s->lost,
                     s->lost == 1 ? " is" : "s are");
    if (info->class_count > 0) {
        fgi_doc_fact(&d, "classes", "%" PRId64, info->class_count);
        put_classes(&d, s);
    }
    if (info->metadata[0] != '\0')
        put_metadata(&d, info->metadata);
    fgi_doc_end(&d);
}
