/* init_table.c - inspects the first rows of a CSV file: delimiter, header, types of columns, and
 * which column is probably the target.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "recipe/init_look.h"
#include "base/print.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"

enum { MOST_BYTES = 4 << 20, MOST_COLUMNS = 16384 };
static const char delimiters[] = ",;\t|";

/* ---- text ------------------------------------------------------------------------------------ */

/* The beginning of the file, decompressed and NUL-terminated; *out_is_all: it is the whole file.
 * NULL after an error. */
static char *read_start(const char *path, size_t *out_size, bool *out_is_all, fg_error *err)
{
    gzFile file = gzopen(path, "rb");
    if (file == NULL) {
        (void)fgi_refuse_errno(err, "open", path);
        return NULL;
    }
    char *text = fgi_calloc(MOST_BYTES + 1, 1);
    const int size = text != NULL ? gzread(file, text, MOST_BYTES) : 0;
    (void)gzclose(file);
    if (text == NULL) {
        (void)fgi_no_memory(err);
        return NULL;
    }
    if (size > 0 && fgi_file_refuse(path, text, (size_t)size, (size_t)size, err) != FG_OK) {
        fgi_free(text);
        return NULL;
    }
    if (size <= 0 || memchr(text, '\0', (size_t)size) != NULL) {
        (void)fgi_refuse(err,
                         size < 0    ? "cannot read '%s'"
                         : size == 0 ? "'%s' is empty"
                                     : "'%s' is not text: expected a CSV file",
                         path);
        fgi_free(text);
        return NULL;
    }
    *out_size = (size_t)size;
    *out_is_all = size < MOST_BYTES;
    return text;
}

/* The next cell of a row at *at, stripped in place of surrounding quotes and spaces; *out_ends: the
 * row ends after it. */
static char *next_cell(char **at, char delimiter, bool *out_ends)
{
    char *from = *at, *to, *start;
    while (*from == ' ')
        from++;
    start = to = from;
    const bool is_quoted = *from == '"';
    if (is_quoted)
        for (from++; *from != '\0' && (*from != '"' || from[1] == '"'); from++) {
            from += *from == '"'; /* skip the second of two quotes */
            *to++ = *from;
        }
    from += is_quoted && *from == '"';
    while (*from != delimiter && *from != '\n' && *from != '\0')
        *to++ = *from++;
    *out_ends = *from != delimiter;
    *at = *from != '\0' ? from + 1 : from;
    while (!is_quoted && to > start && strchr(" \r", to[-1]) != NULL)
        to--;
    if (is_quoted && to > start && to[-1] == '\r')
        to--;
    *to = '\0';
    return start;
}

/* The number of cells in the row at `at`, and where the next row begins. The text is not
 * modified. */
static size_t count_cells(const char **at, char delimiter)
{
    size_t count = 1;
    bool is_quoted = false;
    const char *c = *at;
    for (; *c != '\0' && (is_quoted || *c != '\n'); c++) {
        is_quoted ^= *c == '"';
        count += !is_quoted && *c == delimiter;
    }
    *at = *c != '\0' ? c + 1 : c;
    return count;
}

/* ---- delimiter and header -------------------------------------------------------------------- */

/* The number of columns of the first rows with this delimiter, 0 if it differs between rows. */
static size_t even_columns(const char *text, char delimiter)
{
    const char *at = text;
    size_t columns = 0;
    for (int row = 0; row < 20 && *at != '\0'; row++) {
        const char *start = at;
        const size_t count = count_cells(&at, delimiter);
        if (*at == '\0' && row > 0)
            break; /* may be incomplete */
        if (*start == '\n' || *start == '\r')
            continue;
        if (columns != 0 && count != columns)
            return 0;
        columns = count;
    }
    return columns;
}

static void choose_delimiter(const char *text, fgi_look_table *t)
{
    size_t candidates = 0;
    t->delimiter = ',';
    for (const char *d = delimiters; *d != '\0'; d++) {
        const size_t columns = even_columns(text, *d);
        candidates += columns > 1;
        if (columns > t->column_count) {
            t->column_count = columns;
            t->delimiter = *d;
        }
    }
    t->delimiter_is_sure = candidates == 1;
}

static bool is_number(const char *cell, double *out)
{
    char *end;
    if (strspn(cell, "+-.0123456789eE") != strlen(cell))
        return false;
    *out = fgi_strtod(cell, &end);
    return end != cell && *end == '\0' && isfinite(*out);
}

static bool is_missing(const char *cell)
{
    static const char *const words[] = {"", "na", "n/a", "nan", "null", "none", "?"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (fgi_compare_nocase(cell, words[i]) == 0)
            return true;
    return false;
}

/* ---- columns --------------------------------------------------------------------------------- */

static void note_distinct(fgi_look_column *c, const char *cell)
{
    for (size_t i = 0; i < c->distinct_count; i++)
        if (strcmp(c->distinct[i], cell) == 0)
            return;
    if (c->distinct_count < FGI_LOOK_DISTINCT &&
        (c->distinct[c->distinct_count] = fgi_strdup(cell)) != NULL)
        c->distinct_count++;
}

static void note_cell(fgi_look_column *c, const char *cell)
{
    double value;
    if (is_missing(cell)) {
        c->missing++;
        return;
    }
    note_distinct(c, cell);
    if (!is_number(cell, &value)) {
        if (c->texts++ == 0)
            (void)fgi_snprintf(c->first_text, sizeof(c->first_text), "%s", cell);
        return;
    }
    c->min = c->numbers == 0 || value < c->min ? value : c->min;
    c->max = c->numbers == 0 || value > c->max ? value : c->max;
    c->numbers++;
    c->integers += value == floor(value) && strpbrk(cell, ".eE") == NULL;
}

/* Adds a row's cells to the columns, or uses them as names. */
static void take_row(fgi_look_table *t, char **at, bool as_names)
{
    bool ends = false;
    for (size_t i = 0; !ends; i++) {
        char *cell = next_cell(at, t->delimiter, &ends);
        if (i >= t->column_count)
            continue;
        if (as_names)
            t->columns[i].name = fgi_strdup(cell);
        else
            note_cell(&t->columns[i], cell);
    }
    t->rows += !as_names;
}

/* Whether the first row is a header: it has no number, but some columns have numbers below it; or
 * all its cells look like names. */
static void choose_header(fgi_look_table *t)
{
    size_t names = 0, numeric = 0;
    double value;
    for (size_t i = 0; i < t->column_count; i++) {
        const fgi_look_column *c = &t->columns[i];
        names += c->name != NULL && !is_number(c->name, &value) && !is_missing(c->name);
        numeric += c->numbers > c->texts;
    }
    t->has_header = names == t->column_count;
    t->header_is_sure = !t->has_header || numeric > 0;
    for (size_t i = 0; i < t->column_count && !t->has_header; i++) {
        fgi_look_column *c = &t->columns[i];
        if (c->name != NULL)
            note_cell(c, c->name);
        fgi_free(c->name);
        c->name = NULL;
    }
    t->rows += !t->has_header;
}

static void choose_target(fgi_look_table *t)
{
    static const char *const names[] = {"target", "label", "class", "y", "outcome", "species"};
    t->target = t->column_count - 1;
    t->target_reason = "the last column";
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
        for (size_t i = 0; i < t->column_count; i++)
            if (t->columns[i].name != NULL &&
                fgi_compare_nocase(t->columns[i].name, names[n]) == 0) {
                t->target = i;
                t->target_reason = "a common name of targets";
                t->target_is_sure = true;
                return;
            }
}

bool fgi_look_table_read(const char *path, fgi_look_table *out, fg_error *err)
{
    size_t size = 0;
    *out = (fgi_look_table){0};
    char *text = read_start(path, &size, &out->is_all, err);
    if (text == NULL)
        return false;
    char *at = strncmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text;
    choose_delimiter(at, out);
    if (out->column_count < 2 || out->column_count > MOST_COLUMNS) {
        fgi_free(text);
        return fgi_refuse(
            err,
            "'%s' does not look like a CSV file: expected rows with the same number of "
            "cells, two or more, separated by a comma, semicolon, tab or vertical bar",
            path);
    }
    out->columns = fgi_calloc(out->column_count, sizeof(*out->columns));
    if (out->columns == NULL) {
        fgi_free(text);
        return fgi_refuse_memory(err);
    }
    take_row(out, &at, true);
    while (out->rows < FGI_LOOK_ROWS && *at != '\0') {
        if (!out->is_all && strchr(at, '\n') == NULL)
            break; /* incomplete */
        if (*at == '\n' || (*at == '\r' && at[1] == '\n'))
            at += *at == '\r' ? 2 : 1;
        else
            take_row(out, &at, false);
    }
    out->is_all = out->is_all && *at == '\0';
    fgi_free(text);
    choose_header(out);
    if (out->rows == 0) {
        fgi_look_table_free(out);
        return fgi_refuse(err, "'%s' has a header but no rows: expected at least one sample", path);
    }
    choose_target(out);
    return true;
}

void fgi_look_table_free(fgi_look_table *table)
{
    for (size_t i = 0; i < table->column_count && table->columns != NULL; i++) {
        fgi_free(table->columns[i].name);
        for (size_t k = 0; k < table->columns[i].distinct_count; k++)
            fgi_free(table->columns[i].distinct[k]);
    }
    fgi_free(table->columns);
    *table = (fgi_look_table){0};
}

/* ---- classification or regression ------------------------------------------------------------ */

bool fgi_look_is_classification(const fgi_look_table *table, bool *out_is_sure, char *reason,
                                size_t size)
{
    const fgi_look_column *c = &table->columns[table->target];
    const char *more = c->distinct_count == FGI_LOOK_DISTINCT ? " or more" : "";
    const size_t few = table->rows / 5 > 20 ? 20 : table->rows / 5;
    *out_is_sure = true;
    if (c->texts > 0) {
        (void)fgi_snprintf(reason, size, "its values are strings, %zu%s different ones",
                           c->distinct_count, more);
        *out_is_sure = c->numbers == 0;
        return true;
    }
    (void)fgi_snprintf(reason, size, "its values are %s, %zu%s different ones",
                       c->integers == c->numbers ? "integers" : "numbers", c->distinct_count, more);
    if (c->integers < c->numbers)
        return false;
    const bool is_few = c->distinct_count == 2 || c->distinct_count <= few;
    *out_is_sure = c->distinct_count == 2 || c->distinct_count == FGI_LOOK_DISTINCT;
    return is_few;
}

size_t fgi_look_image_side(const fgi_look_table *table)
{
    const size_t pixels = table->column_count - 1;
    const size_t side = (size_t)(sqrt((double)pixels) + 0.5);
    if (side < 8 || side * side != pixels)
        return 0;
    for (size_t i = 0; i < table->column_count; i++) {
        const fgi_look_column *c = &table->columns[i];
        if (i != table->target &&
            (c->texts > 0 || c->integers < c->numbers || c->min < 0 || c->max > 255))
            return 0;
    }
    return table->target == table->column_count - 1 || table->target == 0 ? side : 0;
}

bool fgi_look_is_id(const fgi_look_table *table, size_t column)
{
    const fgi_look_column *c = &table->columns[column];
    const size_t most = table->rows < FGI_LOOK_DISTINCT ? table->rows : FGI_LOOK_DISTINCT;
    if (c->name == NULL || column == table->target || c->distinct_count < most)
        return false;
    const size_t size = strlen(c->name);
    return size == 0 || fgi_compare_nocase(c->name, "id") == 0 ||
           fgi_compare_nocase(c->name, "index") == 0 ||
           fgi_compare_nocase(c->name, "Unnamed: 0") == 0 ||
           (size > 3 && fgi_compare_nocase(c->name + size - 3, "_id") == 0);
}

static bool is_image_name(const char *cell)
{
    static const char *const ends[] = {".jpg", ".jpeg", ".png", ".webp", ".gif", ".tif", ".tiff"};
    const size_t size = strlen(cell);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        const size_t tail = strlen(ends[i]);
        if (size > tail && fgi_compare_nocase(cell + size - tail, ends[i]) == 0)
            return true;
    }
    return false;
}

const fgi_look_column *fgi_look_image_column(const fgi_look_table *table)
{
    for (size_t i = 0; i < table->column_count; i++) {
        const fgi_look_column *c = &table->columns[i];
        size_t images = 0;
        for (size_t k = 0; k < c->distinct_count; k++)
            images += is_image_name(c->distinct[k]);
        if (c->distinct_count > 0 && images == c->distinct_count)
            return c;
    }
    return NULL;
}
