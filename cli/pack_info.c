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
#include "report/helpers.h"

/* Of more than MANY classes, the FEW largest and smallest are listed. */
enum { MANY = 20, FEW = 10, BAR = 30, NAME_LIMIT = 64, METADATA_LIMIT = 160, DIGITS = 6 };

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
    const fg_pack_info *info = fg_pack_get_info(pack);
    const size_t count = (size_t)info->count;
    *out = (summary){.pack = pack, .info = info};
    uint32_t *block = fgi_calloc(3 * count + 1, sizeof *block);
    out->classes = fgi_calloc((size_t)info->class_count + 1, sizeof *out->classes);
    columns c = {.width = block, .height = block + count, .bytes = block + 2 * count};
    fg_status status = block != NULL && out->classes != NULL ? FG_OK : fgi_no_memory(err);
    for (int64_t i = 0; status == FG_OK && i < info->count; i++) {
        fg_pack_entry entry;
        status = fg_pack_get_entry(pack, i, &entry, err);
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

/* ---- lines --------------------------------------------------------------------------------------
 */

static const char *escaped(const char *name, char out[NAME_LIMIT])
{
    (void)fg_catalog_escape(name, out, NAME_LIMIT);
    return out;
}

/* "jpeg 12, raw 3": those that are not 0. */
static void print_counts(fgi_buf *out, const char *title, const char *const *names,
                         const int64_t *counts, size_t count)
{
    const char *before = "";
    fgi_buf_printf(out, "%-10s", title);
    for (size_t i = 0; i < count; i++)
        if (counts[i] != 0) {
            fgi_buf_printf(out, "%s%s %" PRId64, before, names[i], counts[i]);
            before = ", ";
        }
    fgi_buf_puts(out, before[0] == '\0' ? "none\n" : "\n");
}

static void print_codecs(fgi_buf *out, const summary *s)
{
    const char *names[CODECS + 1];
    int64_t counts[CODECS + 1];
    for (int i = 0; i < CODECS; i++) {
        names[i] = fg_pack_codec_name((fg_pack_codec)i);
        counts[i] = s->codecs[i];
    }
    names[CODECS] = "unknown";
    counts[CODECS] = s->other_codecs;
    print_counts(out, "codecs", names, counts, CODECS + 1);
}

static void print_spread(fgi_buf *out, const char *title, const spread *s, const char *unit)
{
    if (s->count == 0)
        return;
    fgi_buf_printf(out, "%-10s%" PRIu32 " to %" PRIu32 " %s, median %" PRIu32 "\n", title, s->min,
                   s->max, unit, s->median);
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

typedef struct table {
    const summary *summary;
    int64_t largest, total;
    int width; /* of names */
} table;

static void print_class(fgi_buf *out, const table *t, const ranked *row)
{
    static const char bar[BAR + 1] = "##############################";
    char name[NAME_LIMIT];
    const char *text = escaped(fg_pack_class_name(t->summary->pack, row->index), name);
    const double share = t->total > 0 ? (double)row->count / (double)t->total : 0;
    const int64_t length = t->largest > 0 ? (row->count * BAR + t->largest - 1) / t->largest : 0;
    fgi_buf_printf(out, "  %s%*s %9" PRId64 " %5.1f %%%s%.*s\n", text,
                   t->width - (int)fgi_text_columns(text), "", row->count, 100 * share,
                   length > 0 ? "  " : "", (int)length, bar);
}

static table measure(const summary *s, const ranked *rows)
{
    char name[NAME_LIMIT];
    table t = {.summary = s};
    for (int64_t i = 0; i < s->info->class_count; i++) {
        const bool is_listed =
            s->info->class_count <= MANY || i < FEW || i >= s->info->class_count - FEW;
        const int width =
            (int)fgi_text_columns(escaped(fg_pack_class_name(s->pack, rows[i].index), name));
        t.total += rows[i].count;
        if (rows[i].count > t.largest)
            t.largest = rows[i].count;
        if (is_listed && width > t.width)
            t.width = width;
    }
    return t;
}

static void print_classes(fgi_buf *out, const summary *s)
{
    const int64_t count = s->info->class_count;
    ranked *rows = fgi_calloc((size_t)count, sizeof *rows);
    if (rows == NULL) {
        out->failed = true;
        return;
    }
    for (int64_t i = 0; i < count; i++)
        rows[i] = (ranked){i, s->classes[i]};
    if (count > MANY)
        qsort(rows, (size_t)count, sizeof *rows, compare);
    const table t = measure(s, rows);
    for (int64_t i = 0; i < count; i++) {
        if (count > MANY && i == FEW) {
            fgi_buf_printf(out, "  ... %" PRId64 " more; --json lists all ...\n", count - 2 * FEW);
            i = count - FEW;
        }
        print_class(out, &t, &rows[i]);
    }
    fgi_free(rows);
}

static void print_fields(fgi_buf *out, const fg_pack_info *info)
{
    fgi_buf_puts(out, "fields    ");
    for (int i = 0; i < info->field_count; i++) {
        char type[96];
        fgi_buf_printf(out, "%s%s %s", i > 0 ? ", " : "", info->fields[i].name,
                       fg_type_format(&info->fields[i].type, type, sizeof type));
    }
    fgi_buf_putc(out, '\n');
}

static void print_short(fgi_buf *out, const char *text)
{
    char line[METADATA_LIMIT];
    (void)fg_catalog_escape(text, line, sizeof line);
    fgi_buf_printf(out, "%s\n", line);
}

/* Each member of the metadata on a separate line; fractions, such as mean and std, are rounded. */
static void print_metadata(fgi_buf *out, const char *metadata)
{
    json_t *object = fgi_json_load(metadata, strlen(metadata), JSON_DECODE_ANY, NULL);
    const char *key;
    json_t *value;
    fgi_buf_puts(out, json_is_object(object) ? "metadata\n" : "metadata  ");
    if (!json_is_object(object))
        print_short(out, metadata);
    json_object_foreach(object, key, value)
    {
        char name[NAME_LIMIT];
        char *text =
            fgi_json_text(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(DIGITS));
        out->failed |= text == NULL;
        fgi_buf_printf(out, "  %s: ", escaped(key, name));
        print_short(out, text != NULL ? text : "");
        fgi_free(text);
    }
    json_decref(object);
}

static void print_records(fgi_buf *out, const fg_pack_info *info)
{
    fgi_buf_printf(out, "records   %" PRId64, info->count);
    if (info->variant_count > 1)
        fgi_buf_printf(out, ": %" PRId64 " sample%s, %" PRId64 " variants of each",
                       info->count / info->variant_count, fgi_s(info->count / info->variant_count),
                       info->variant_count);
    fgi_buf_putc(out, '\n');
}

static void print_text(fgi_buf *out, const summary *s)
{
    const fg_pack_info *info = s->info;
    fgi_buf_printf(out, "%-10s%d.%d\n", "format", info->version_major, info->version_minor);
    fgi_buf_printf(out, "%-10s%s\n", "uuid", info->uuid);
    fgi_buf_printf(out, "%-10s%d, %s\n", "files", info->shard_count,
                   fgi_bytes_words((double)info->size_bytes));
    print_records(out, info);
    print_codecs(out, s);
    print_spread(out, "width", &s->width, "pixels");
    print_spread(out, "height", &s->height, "pixels");
    print_spread(out, "size", &s->bytes, "bytes");
    print_counts(out, "splits", split_names, s->splits, SPLITS);
    if (info->field_count > 0)
        print_fields(out, info);
    if (s->grouped > 0)
        fgi_buf_printf(out, "%-10s%" PRId64 " record%s\n", "groups", s->grouped, fgi_s(s->grouped));
    if (s->unlabeled > 0)
        fgi_buf_printf(out, "%-10s%" PRId64 " record%s\n", "no label", s->unlabeled,
                       fgi_s(s->unlabeled));
    if (s->lost > 0)
        fgi_buf_printf(out, "%-10s%" PRId64 " record%s empty since the pack was rebuilt\n", "lost",
                       s->lost, s->lost == 1 ? " is" : "s are");
    if (info->class_count > 0) {
        fgi_buf_printf(out, "%-10s%" PRId64 "\n", "classes", info->class_count);
        print_classes(out, s);
    }
    if (info->metadata[0] != '\0')
        print_metadata(out, info->metadata);
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
    if (object != NULL)
        fgi_json_print(out, object, JSON_COMPACT);
    out->failed |= object == NULL;
    fgi_buf_putc(out, '\n');
    json_decref(object);
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
