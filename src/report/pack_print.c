/* pack_print.c - the summary of a pack as lines.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/catalog.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "input/json_file.h"
#include "report/helpers.h"
#include "report/pack_summary.h"
#include "base/text.h"

/* Of more than MANY classes, the FEW largest and smallest are listed. */
enum { MANY = 20, FEW = 10, BAR = 30, NAME_LIMIT = 64, METADATA_LIMIT = 160, DIGITS = 6 };

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

static void print_codecs(fgi_buf *out, const fgi_pack_summary *s)
{
    const char *names[FGI_PACK_CODECS + 1];
    int64_t counts[FGI_PACK_CODECS + 1];
    for (int i = 0; i < FGI_PACK_CODECS; i++) {
        names[i] = fg_pack_codec_name((fg_pack_codec)i);
        counts[i] = s->codecs[i];
    }
    names[FGI_PACK_CODECS] = "unknown";
    counts[FGI_PACK_CODECS] = s->other_codecs;
    print_counts(out, "codecs", names, counts, FGI_PACK_CODECS + 1);
}

static void print_spread(fgi_buf *out, const char *title, const fgi_pack_spread *s,
                         const char *unit)
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
    const fgi_pack_summary *summary;
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

static table measure(const fgi_pack_summary *s, const ranked *rows)
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

static void print_classes(fgi_buf *out, const fgi_pack_summary *s)
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

/* ---- everything ------------------------------------------------------------------------------ */

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

void fgi_pack_summary_print(fgi_buf *out, const fgi_pack_summary *s)
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
    print_counts(out, "splits", fgi_pack_split_names, s->splits, FGI_PACK_SPLITS);
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
