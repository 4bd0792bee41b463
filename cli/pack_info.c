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
    int64_t codecs[CODECS + 1]; /* the last: that this version does not have */
    int64_t splits[SPLITS];     /* train, val, test, none */
    int64_t *classes;           /* records of each class; several labels count for each */
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
    s->codecs[is_known ? (int)entry->codec : CODECS]++;
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
    for (int i = 0; i <= CODECS; i++)
        if (s->codecs[i] > 0)
            (void)json_object_set_new(object,
                                      i < CODECS ? fg_pack_codec_name((fg_pack_codec)i) : "unknown",
                                      json_integer(s->codecs[i]));
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

/* What the lines are written from. */
static json_t *object_of(const summary *s)
{
    const fg_pack_info *info = s->info;
    char version[32];
    (void)fgi_snprintf(version, sizeof version, "%d.%d", info->version_major, info->version_minor);
    return json_pack(
        "{s:s, s:s, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o, s:o}",
        "format_version", version, "uuid", info->uuid, "files", files_of(s), "size_bytes",
        (json_int_t)info->size_bytes, "records", (json_int_t)info->count, "variants",
        (json_int_t)info->variant_count, "codecs", codecs_of(s), "width", spread_json(&s->width),
        "height", spread_json(&s->height), "record_bytes", spread_json(&s->bytes), "splits",
        splits_of(s), "unlabeled", (json_int_t)s->unlabeled, "lost", (json_int_t)s->lost, "grouped",
        (json_int_t)s->grouped, "fields", fields_of(info), "classes", classes_of(s), "metadata",
        metadata_of(info));
}

/* ---- lines ----------------------------------------------------------------------------------- */

static int64_t count_of(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static const char *escaped(const char *name, char out[NAME_LIMIT])
{
    (void)fg_catalog_escape(name, out, NAME_LIMIT);
    return out;
}

/* "jpeg 12, raw 3": those that are not 0. */
static void put_counts(fgi_doc *d, const char *title, const json_t *counts)
{
    fgi_buf words = {0};
    const char *name;
    json_t *count;
    json_object_foreach((json_t *)counts, name, count)
    {
        if (json_integer_value(count) != 0)
            fgi_buf_printf(&words, "%s%s %" JSON_INTEGER_FORMAT, words.size > 0 ? ", " : "", name,
                           json_integer_value(count));
    }
    fgi_doc_fact(d, title, "%s", words.size > 0 ? words.data : "none");
    fgi_buf_fini_part(&words, d->out);
}

static void put_spread(fgi_doc *d, const char *title, const json_t *s, const char *unit)
{
    if (json_is_object(s))
        fgi_doc_fact(d, title, "%" PRId64 " to %" PRId64 " %s, median %" PRId64, count_of(s, "min"),
                     count_of(s, "max"), unit, count_of(s, "median"));
}

static json_t *class_row(const fg_pack *pack, const json_t *classes, size_t i, int64_t total)
{
    char name[NAME_LIMIT];
    return json_pack("{s:s, s:I, s:I}", "name", escaped(fg_pack_class_name(pack, (int64_t)i), name),
                     "records", count_of(json_array_get(classes, i), "records"), "all", total);
}

/* The largest first, if only some are listed. */
static void put_classes(fgi_doc *d, const fg_pack *pack, const json_t *classes)
{
    static const fgi_field fields[] = {FGI_FIELD("", "name", FGI_WORDS),
                                       FGI_FIELD("", "records", FGI_COUNT),
                                       FGI_FIELD("", "records/all", FGI_PERCENT),
                                       FGI_FIELD("", "records", FGI_BAR), FGI_FIELDS_END};
    const size_t count = json_array_size(classes);
    json_t *rows = json_array(), *smallest = json_array(), *one;
    int64_t total = 0;
    size_t i;
    json_array_foreach(classes, i, one) total += count_of(one, "records");
    json_array_foreach(classes, i, one)
        fgi_rows_insert(rows, class_row(pack, classes, i, total), count > MANY ? "records" : "",
                        false, count > MANY ? FEW : MANY);
    if (count > MANY)
        (void)json_array_append_new(
            rows, json_sprintf("... %zu more; --json lists all ...", count - 2 * FEW));
    for (i = count; count > MANY && i > 0; i--)
        fgi_rows_insert(smallest, class_row(pack, classes, i - 1, total), "records", true, FEW);
    for (i = json_array_size(smallest); i > 0; i--)
        (void)json_array_append(rows, json_array_get(smallest, i - 1));
    json_decref(smallest);
    d->indent = 2;
    fgi_doc_rows(d, NULL, fields, rows);
    d->indent = 0;
}

static void put_fields(fgi_doc *d, const json_t *fields)
{
    fgi_buf words = {0};
    size_t i;
    const json_t *one;
    json_array_foreach(fields, i, one)
        fgi_buf_printf(&words, "%s%s %s", i > 0 ? ", " : "", fgi_json_words(one, "name"),
                       fgi_json_words(one, "type"));
    fgi_doc_fact(d, "fields", "%s", fgi_buf_text(&words));
    fgi_buf_fini_part(&words, d->out);
}

/* Each member of the metadata on a separate line; fractions, such as mean and std, are rounded. */
static void put_metadata(fgi_doc *d, json_t *metadata, const char *text)
{
    char line[METADATA_LIMIT], name[NAME_LIMIT];
    json_t *value;
    const char *key;
    if (json_is_object(metadata)) {
        fgi_doc_heading(d, 2, "metadata");
    } else if (*text != '\0') {
        (void)fg_catalog_escape(text, line, sizeof line);
        fgi_doc_fact(d, "metadata", "%s", line);
    }
    json_object_foreach(metadata, key, value)
    {
        char *words =
            fgi_json_text(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(DIGITS));
        d->out->failed = d->out->failed || words == NULL;
        (void)fg_catalog_escape(words != NULL ? words : "", line, sizeof line);
        fgi_doc_item(d, "%s: %s", escaped(key, name), line);
        fgi_free(words);
    }
}

static void print_text(fgi_buf *out, const fg_pack *pack, const json_t *o)
{
    const int64_t records = count_of(o, "records"), variants = count_of(o, "variants");
    const int64_t grouped = count_of(o, "grouped"), unlabeled = count_of(o, "unlabeled");
    const int64_t lost = count_of(o, "lost"), samples = variants > 0 ? records / variants : 0;
    const size_t classes = json_array_size(json_object_get(o, "classes"));
    fgi_doc d;
    fgi_doc_begin(&d, out, false, "");
    fgi_doc_fact(&d, "format", "%s", fgi_json_words(o, "format_version"));
    fgi_doc_fact(&d, "uuid", "%s", fgi_json_words(o, "uuid"));
    fgi_doc_fact(&d, "files", "%zu, %s", json_array_size(json_object_get(o, "files")),
                 fgi_bytes_words((double)count_of(o, "size_bytes")));
    if (variants > 1)
        fgi_doc_fact(&d, "records",
                     "%" PRId64 ": %" PRId64 " sample%s, %" PRId64 " variants of each", records,
                     samples, fgi_s(samples), variants);
    else
        fgi_doc_fact(&d, "records", "%" PRId64, records);
    put_counts(&d, "codecs", json_object_get(o, "codecs"));
    put_spread(&d, "width", json_object_get(o, "width"), "pixels");
    put_spread(&d, "height", json_object_get(o, "height"), "pixels");
    put_spread(&d, "size", json_object_get(o, "record_bytes"), "bytes");
    put_counts(&d, "splits", json_object_get(o, "splits"));
    put_fields(&d, json_object_get(o, "fields"));
    if (grouped > 0)
        fgi_doc_fact(&d, "groups", "%" PRId64 " record%s", grouped, fgi_s(grouped));
    if (unlabeled > 0)
        fgi_doc_fact(&d, "no label", "%" PRId64 " record%s", unlabeled, fgi_s(unlabeled));
    if (lost > 0)
        fgi_doc_fact(&d, "lost", "%" PRId64 " record%s empty since the pack was rebuilt", lost,
                     lost == 1 ? " is" : "s are");
    if (classes > 0) {
        fgi_doc_fact(&d, "classes", "%zu", classes);
        put_classes(&d, pack, json_object_get(o, "classes"));
    }
    put_metadata(&d, json_object_get(o, "metadata"), fg_pack_info_of(pack)->metadata);
    fgi_doc_end(&d);
}

/* ---- both ------------------------------------------------------------------------------------ */

fg_status pack_info(const char *path, bool as_json, fgi_buf *out, fg_error *err)
{
    fg_pack *pack = NULL;
    summary s = {0};
    FGI_TRY(fg_pack_open(path, NULL, &pack, err));
    const fg_status status = summarize(pack, &s, err);
    json_t *object = status == FG_OK ? object_of(&s) : NULL;
    out->failed = out->failed || (status == FG_OK && object == NULL);
    if (object != NULL && !as_json)
        print_text(out, pack, object);
    if (object != NULL && as_json)
        fgi_json_put(out, json_incref(object), JSON_COMPACT);
    json_decref(object);
    fgi_free(s.classes);
    fg_pack_close(pack);
    return status;
}
