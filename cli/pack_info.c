/* pack_info.c - what a pack contains: counts over all of its records, as lines and as JSON.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/catalog.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "input/json_file.h"
#include "pack_read.h"
#include "doc/doc.h"
#include "base/buf.h"

/* Of more than MANY classes, the FEW largest and smallest are listed. */
enum { MANY = 20, FEW = 10, NAME_LIMIT = 64, METADATA_LIMIT = 160, DIGITS = 6 };

enum { CODECS = 7, SPLITS = 4 };

/* The distribution of a number over the records that have it. */
typedef struct spread {
    int64_t count;
    uint32_t min, median, max; /* median: the lower of the two in the middle */
    uint64_t sum;
} spread;

typedef struct summary {
    const fg_pack *pack; /* borrowed */
    const fg_pack_info *info;
    int64_t codecs[CODECS];
    int64_t other_codecs;   /* that this version does not have */
    int64_t splits[SPLITS]; /* train, val, test, none */
    int64_t *classes;       /* records of each class; several labels count for each */
    int64_t unlabeled, lost, grouped;
    spread width, height, bytes; /* of records that were not lost */
} summary;

/* ---- counting -----------------------------------------------------------------------------------
 */

static const char *const split_names[SPLITS] = {"train", "val", "test", "none"};

/* The numbers of which distributions are computed: one block, a column each. */
typedef struct columns {
    uint32_t *width, *height, *bytes;
    size_t images, records;
} columns;

static int compare_numbers(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static spread spread_of(uint32_t *values, size_t count)
{
    spread s = {.count = (int64_t)count};
    if (count == 0)
        return s;
    qsort(values, count, sizeof *values, compare_numbers);
    for (size_t i = 0; i < count; i++)
        s.sum += values[i];
    s.min = values[0];
    s.median = values[(count - 1) / 2];
    s.max = values[count - 1];
    return s;
}

static void count_class(summary *s, int64_t label)
{
    if (label >= 0 && label < s->info->class_count)
        s->classes[label]++;
}

static void count_labels(summary *s, const fg_pack_entry *entry)
{
    for (uint32_t i = 0; i < entry->label_count; i++)
        count_class(s, entry->labels[i]);
    if (entry->label_count == 0)
        count_class(s, entry->label);
    s->unlabeled += entry->label_count == 0 && entry->label == FG_PACK_NO_LABEL;
}

static void count_entry(summary *s, const fg_pack_entry *entry, columns *c)
{
    if ((entry->flags & FG_PACK_LOST) != 0) {
        s->lost++;
        return;
    }
    const bool is_known = (int)entry->codec >= 0 && (int)entry->codec < CODECS;
    if (is_known)
        s->codecs[entry->codec]++;
    s->other_codecs += !is_known;
    s->splits[entry->split < SPLITS - 1 ? entry->split : SPLITS - 1]++;
    s->grouped += entry->group != 0;
    count_labels(s, entry);
    if (entry->width > 0 && entry->height > 0) {
        c->width[c->images] = entry->width;
        c->height[c->images++] = entry->height;
    }
    c->bytes[c->records++] = entry->size_bytes;
}

static fg_status summarize(fg_pack *pack, summary *out, fg_error *err)
{
    const fg_pack_info *info = fg_pack_info_of(pack);
    const size_t count = (size_t)info->count;
    *out = (summary){.pack = pack, .info = info};
    uint32_t *block = fgi_calloc(3 * count + 1, sizeof *block);
    out->classes = fgi_calloc((size_t)info->class_count + 1, sizeof *out->classes);
    columns c = {.width = block, .height = block + count, .bytes = block + 2 * count};
    fg_status status = block != NULL && out->classes != NULL ? FG_OK : fgi_no_memory(err);
    for (int64_t i = 0; status == FG_OK && i < info->count; i++) {
        fg_pack_entry entry;
        status = fg_pack_entry_at(pack, i, &entry, err);
        if (status == FG_OK)
            count_entry(out, &entry, &c);
    }
    if (status == FG_OK) {
        out->width = spread_of(c.width, c.images);
        out->height = spread_of(c.height, c.images);
        out->bytes = spread_of(c.bytes, c.records);
    }
    fgi_free(block);
    return status;
}

/* ---- lines ----------------------------------------------------------------------------------- */

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

static void put_codecs(fgi_doc *d, const summary *s)
{
    const char *names[CODECS + 1];
    int64_t counts[CODECS + 1];
    for (int i = 0; i < CODECS; i++) {
        names[i] = fg_pack_codec_name((fg_pack_codec)i);
        counts[i] = s->codecs[i];
    }
    names[CODECS] = "unknown";
    counts[CODECS] = s->other_codecs;
    put_counts(d, "codecs", names, counts, CODECS + 1);
}

static void put_spread(fgi_doc *d, const char *title, const spread *s, const char *unit)
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

static json_t *class_row(const summary *s, const ranked *row, int64_t total)
{
    char name[NAME_LIMIT];
    return json_pack("{s:s, s:I, s:I}", "name",
                     escaped(fg_pack_class_name(s->pack, row->index), name), "records",
                     (json_int_t)row->count, "all", (json_int_t)total);
}

static void put_classes(fgi_doc *d, const summary *s)
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
        fgi_doc_heading(d, 2, "metadata");
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

static void print_text(fgi_buf *out, const summary *s)
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
    put_counts(&d, "splits", split_names, s->splits, SPLITS);
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

/* ---- JSON ---------------------------------------------------------------------------------------
 */

static json_t *spread_json(const spread *s)
{
    if (s->count == 0)
        return json_null();
    return json_pack("{s:I, s:I, s:I, s:f}", "min", (json_int_t)s->min, "median",
                     (json_int_t)s->median, "max", (json_int_t)s->max, "mean",
                     (double)s->sum / (double)s->count);
}

static json_t *codecs_of(const summary *s)
{
    json_t *object = json_object();
    for (int i = 0; i < CODECS; i++)
        if (s->codecs[i] > 0)
            (void)json_object_set_new(object, fg_pack_codec_name((fg_pack_codec)i),
                                      json_integer(s->codecs[i]));
    if (s->other_codecs > 0)
        (void)json_object_set_new(object, "unknown", json_integer(s->other_codecs));
    return object;
}

static json_t *splits_of(const summary *s)
{
    json_t *object = json_object();
    for (int i = 0; i < SPLITS; i++)
        (void)json_object_set_new(object, split_names[i], json_integer(s->splits[i]));
    return object;
}

static json_t *files_of(const summary *s)
{
    json_t *array = json_array();
    for (int i = 0; i < s->info->shard_count; i++)
        (void)json_array_append_new(array, fgi_json_name(fg_pack_path(s->pack, i)));
    return array;
}

static json_t *fields_of(const fg_pack_info *info)
{
    json_t *array = json_array();
    for (int i = 0; i < info->field_count; i++) {
        char type[96];
        (void)json_array_append_new(
            array, json_pack("{s:o, s:s}", "name", fgi_json_name(info->fields[i].name), "type",
                             fg_type_format(&info->fields[i].type, type, sizeof type)));
    }
    return array;
}

static json_t *classes_of(const summary *s)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < s->info->class_count; i++)
        (void)json_array_append_new(array, json_pack("{s:o, s:I}", "name",
                                                     fgi_json_name(fg_pack_class_name(s->pack, i)),
                                                     "records", (json_int_t)s->classes[i]));
    return array;
}

static json_t *metadata_of(const fg_pack_info *info)
{
    if (info->metadata[0] == '\0')
        return json_null();
    json_t *value = fgi_json_load(info->metadata, strlen(info->metadata), JSON_DECODE_ANY, NULL);
    return value != NULL ? value : fgi_json_name(info->metadata);
}

static void print_json(fgi_buf *out, const summary *s)
{
    const fg_pack_info *info = s->info;
    char version[32];
    (void)fgi_snprintf(version, sizeof version, "%d.%d", info->version_major, info->version_minor);
    json_t *object = json_pack(
        "{s:s, s:s, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:o}",
        "format_version", version, "uuid", info->uuid, "files", files_of(s), "size_bytes",
        (json_int_t)info->size_bytes, "records", (json_int_t)info->count, "variants",
        (json_int_t)info->variant_count, "codecs", codecs_of(s), "width", spread_json(&s->width),
        "height", spread_json(&s->height), "record_bytes", spread_json(&s->bytes), "splits",
        splits_of(s), "unlabeled", (json_int_t)s->unlabeled, "lost", (json_int_t)s->lost, "grouped",
        (json_int_t)s->grouped, "fields", fields_of(info), "classes", classes_of(s), "metadata",
        metadata_of(info));
    fgi_json_put(out, object, JSON_COMPACT);
}

fg_status pack_info(const char *path, bool as_json, fgi_buf *out, fg_error *err)
{
    fg_pack *pack = NULL;
    summary s = {0};
    FGI_TRY(fg_pack_open(path, NULL, &pack, err));
    const fg_status status = summarize(pack, &s, err);
    if (status == FG_OK)
        (as_json ? print_json : print_text)(out, &s);
    fgi_free(s.classes);
    fg_pack_close(pack);
    return status;
}
