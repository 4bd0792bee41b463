/* csv_table.c - splits RFC 4180 text into cells: quotes, doubled quotes, line ends within quotes;
 * LF or CRLF. One pass when the file is opened detects every syntax error and where rows begin.
 * Source: RFC 4180; RFC 3629 for UTF-8.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "input/csv_table.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/map.h"
#include "base/print.h"

/* ---- errors ---------------------------------------------------------------------------------- */

static size_t line_of(const fgi_csv *csv, size_t offset)
{
    size_t line = 1;
    for (size_t i = 0; i < offset; i++)
        line += csv->text[i] == '\n';
    return line;
}

/* The byte offset in the file, including a byte order mark. */
static size_t file_offset(const fgi_csv *csv, size_t offset)
{
    return offset + (size_t)(csv->text - (const char *)csv->block.data);
}

static fg_status fail_at(const fgi_csv *csv, size_t offset, fg_error *err, const char *what)
{
    return fgi_fail(err, FG_EFORMAT, "%s:%zu: byte %zu: %s", csv->name, line_of(csv, offset),
                    file_offset(csv, offset), what);
}

fg_status fgi_csv_fail(const fgi_csv *csv, size_t row, size_t column, fg_error *err,
                       const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    (void)fgi_vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return fgi_fail(err, FG_EFORMAT, "%s:%zu: row %zu, column '%.64s': %s", csv->name,
                    line_of(csv, csv->rows[row]), row + 1, csv->columns[column], text);
}

size_t fgi_csv_line(const fgi_csv *csv, size_t row) { return line_of(csv, csv->rows[row]); }

/* ---- cells ----------------------------------------------------------------------------------- */

static bool is_missing(fgi_str cell)
{
    static const char *const texts[] = {"NA",   "N/A",  "NaN",  "nan",  "NAN",
                                        "-nan", "null", "NULL", "None", "?"};
    if (cell.size == 0)
        return true;
    if (cell.size > 4)
        return false;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (fgi_str_equal(cell, texts[i]))
            return true;
    return false;
}

fgi_cell fgi_cell_number(fgi_str cell, double *out)
{
    if (fgi_parse_f64(cell, out) && !isnan(*out))
        return isinf(*out) ? FGI_CELL_INFINITE : FGI_CELL_NUMBER;
    return is_missing(cell) ? FGI_CELL_MISSING : FGI_CELL_TEXT;
}

/* A scan of the text. `row` receives cells, or is NULL if they are only counted. */
typedef struct scan {
    const fgi_csv *csv;
    size_t at;
    size_t cells;
    fgi_csv_row *row;
    size_t unquoted; /* bytes used of row->unquoted */
    const char *fault;
    size_t fault_at;
} scan;

static void put_cell(scan *s, fgi_str cell)
{
    if (s->row != NULL && s->cells < s->csv->column_count)
        s->row->cells[s->cells] = fgi_str_trim(cell);
    s->cells++;
}

static bool is_end(const scan *s)
{
    return s->at == s->csv->size || s->csv->text[s->at] == '\n' ||
           s->csv->text[s->at] == s->csv->delimiter;
}

static void skip_blanks(scan *s)
{
    while (!is_end(s) && (s->csv->text[s->at] == ' ' || s->csv->text[s->at] == '\t' ||
                          s->csv->text[s->at] == '\r'))
        s->at++;
}

/* The text between quotes, with doubled quotes replaced by single ones. */
static fgi_str unquote(scan *s, fgi_str text)
{
    char *out = s->row->unquoted + s->unquoted;
    size_t size = 0;
    for (size_t i = 0; i < text.size; i++) {
        out[size++] = text.data[i];
        i += text.data[i] == '"';
    }
    s->unquoted += size;
    return (fgi_str){out, size};
}

static void scan_quoted(scan *s)
{
    const char *text = s->csv->text;
    const size_t open = s->at++, begin = s->at;
    bool has_doubled = false;
    for (;; s->at++) {
        const char *quote = memchr(text + s->at, '"', s->csv->size - s->at);
        if (quote == NULL) {
            s->fault = "unclosed quote";
            s->fault_at = open;
            s->at = s->csv->size;
            return;
        }
        s->at = (size_t)(quote - text) + 1;
        if (s->at == s->csv->size || text[s->at] != '"')
            break;
        has_doubled = true;
    }
    const fgi_str inside = {text + begin, s->at - 1 - begin};
    skip_blanks(s);
    if (!is_end(s)) {
        s->fault = "text after the closing quote";
        s->fault_at = s->at;
        return;
    }
    put_cell(s, has_doubled && s->row != NULL ? unquote(s, inside) : inside);
}

static void scan_cell(scan *s)
{
    const size_t begin = s->at;
    skip_blanks(s);
    if (s->at < s->csv->size && s->csv->text[s->at] == '"') {
        scan_quoted(s);
        return;
    }
    while (!is_end(s))
        s->at++;
    put_cell(s, (fgi_str){s->csv->text + begin, s->at - begin});
}

/* Scans one row starting at s->at, which is then set to the beginning of the next row. */
static void scan_row(scan *s)
{
    s->cells = 0;
    s->unquoted = 0;
    for (;;) {
        scan_cell(s);
        if (s->fault != NULL)
            return;
        if (s->at == s->csv->size)
            return;
        if (s->csv->text[s->at++] == '\n')
            return;
    }
}

static void skip_empty_lines(scan *s)
{
    const char *text = s->csv->text;
    for (;;) {
        const size_t left = s->csv->size - s->at;
        if (left >= 1 && text[s->at] == '\n')
            s->at += 1;
        else if (left >= 2 && text[s->at] == '\r' && text[s->at + 1] == '\n')
            s->at += 2;
        else
            return;
    }
}

/* ---- encoding -------------------------------------------------------------------------------- */

static fg_status check_encoding(const fgi_csv *csv, fg_error *err)
{
    const unsigned char *text = (const unsigned char *)csv->text;
    for (size_t at = 0; at < csv->size;) {
        const size_t length = fgi_utf8_length(text + at, csv->size - at);
        if (length == 0)
            return fail_at(
                csv, at, err,
                "invalid UTF-8\nconvert the file, for example with iconv -f latin1 -t utf-8");
        if (text[at] == '\0')
            return fail_at(csv, at, err, "a NUL byte");
        at += length;
    }
    return FG_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Rejects a duplicate name. */
static fg_status note_name(const fgi_csv *csv, fgi_map *seen, char *name, fg_error *err)
{
    const fgi_hash hash = fgi_hash_bytes(name, strlen(name));
    if (fgi_map_get(seen, hash) != NULL)
        return fgi_fail(err, FG_EFORMAT, "%s:1: two columns are named '%.64s'", csv->name, name);
    return fgi_map_put(seen, hash, name) ? FG_OK : fgi_no_memory(err);
}

static fg_status name_columns(fgi_csv *csv, const fgi_csv_row *header, fg_error *err)
{
    fgi_map seen = {0};
    fg_status status = FG_OK;
    for (size_t i = 0; i < csv->column_count && status == FG_OK; i++) {
        const fgi_str cell = header == NULL ? (fgi_str){0} : header->cells[i];
        char *name = cell.size == 0
                         ? fgi_arena_printf(&csv->arena, "%zu", i)
                         : fgi_arena_printf(&csv->arena, "%.*s", (int)cell.size, cell.data);
        csv->columns[i] = name;
        status = name == NULL ? fgi_no_memory(err) : note_name(csv, &seen, name, err);
    }
    fgi_map_fini(&seen);
    return status;
}

static size_t count_in(const char *text, size_t size, char c)
{
    size_t count = 0;
    for (size_t i = 0; i < size && text[i] != '\n'; i++)
        count += text[i] == c;
    return count;
}

/* Another delimiter that occurs equally often in the first two rows, or '\0'. */
static char likely_delimiter(const fgi_csv *csv, size_t begin)
{
    static const char candidates[] = ";\t|,";
    const char *first = csv->text + begin;
    const char *end = memchr(first, '\n', csv->size - begin);
    const char *second = end != NULL ? end + 1 : first;
    for (const char *c = candidates; *c != '\0'; c++) {
        const size_t count = count_in(first, csv->size - begin, *c);
        if (*c != csv->delimiter && count > 0 &&
            count == count_in(second, csv->size - (size_t)(second - csv->text), *c))
            return *c;
    }
    return '\0';
}

/* As written in a configuration. */
static const char *delimiter_text(char delimiter, char text[2])
{
    text[0] = delimiter;
    text[1] = '\0';
    return delimiter == '\t' ? "\\t" : text;
}

/* Detects a file that is split with the wrong delimiter. */
static fg_status wrong_delimiter(const fgi_csv *csv, size_t begin, char likely, fg_error *err)
{
    char given[2], other[2];
    const size_t count = count_in(csv->text + begin, csv->size - begin, likely);
    return fgi_fail(err, FG_EFORMAT,
                    "%s:%zu: with the delimiter '%s' there is only one column, but '%s' occurs %zu "
                    "time%s in each of the first rows\nset %s: \"%s\"",
                    csv->name, line_of(csv, begin), delimiter_text(csv->delimiter, given),
                    delimiter_text(likely, other), count, count == 1 ? "" : "s",
                    csv->delimiter_option, delimiter_text(likely, other));
}

/* The first row defines the number of columns and, with a header, their names. */
static fg_status read_columns(fgi_csv *csv, scan *s, fg_error *err)
{
    const size_t begin = s->at;
    if (begin == csv->size)
        return fgi_fail(err, FG_EFORMAT, "%s:1: the file is empty", csv->name);
    scan_row(s);
    if (s->fault != NULL)
        return fail_at(csv, s->fault_at, err, s->fault);
    const char likely = s->cells == 1 ? likely_delimiter(csv, begin) : '\0';
    if (likely != '\0')
        return wrong_delimiter(csv, begin, likely, err);
    csv->column_count = s->cells;
    csv->longest_row = s->at - begin;
    if (csv->longest_row > INT32_MAX)
        return fail_at(csv, begin, err, "a row is larger than 2 GiB");
    csv->columns = fgi_arena_alloc(&csv->arena, s->cells * sizeof(*csv->columns));
    if (csv->columns == NULL)
        return fgi_no_memory(err);
    if (!csv->has_header) {
        s->at = begin;
        return name_columns(csv, NULL, err);
    }
    fgi_csv_row header;
    FGI_TRY(fgi_csv_row_init(csv, &header, err));
    scan again = {.csv = csv, .at = begin, .row = &header};
    scan_row(&again);
    const fg_status status = name_columns(csv, &header, err);
    fgi_csv_row_fini(&header);
    return status;
}

static fg_status add_row(fgi_csv *csv, scan *s, fg_error *err)
{
    const size_t begin = s->at;
    scan_row(s);
    if (s->fault != NULL)
        return fail_at(csv, s->fault_at, err, s->fault);
    if (s->cells != csv->column_count)
        return fgi_fail(err, FG_EFORMAT, "%s:%zu: row %zu has %zu columns, but %s has %zu",
                        csv->name, line_of(csv, begin), csv->row_count + 1, s->cells,
                        csv->has_header ? "the header" : "the first row", csv->column_count);
    size_t *rows = fgi_grow(csv->rows, csv->row_count, &csv->row_capacity, sizeof(*rows));
    if (rows == NULL)
        return fgi_no_memory(err);
    csv->rows = rows;
    csv->rows[csv->row_count++] = begin;
    if (s->at - begin > csv->longest_row)
        csv->longest_row = s->at - begin;
    return FG_OK;
}

static fg_status parse_rows(fgi_csv *csv, fg_error *err)
{
    FGI_TRY(check_encoding(csv, err));
    scan s = {.csv = csv};
    skip_empty_lines(&s);
    FGI_TRY(read_columns(csv, &s, err));
    for (skip_empty_lines(&s); s.at < csv->size; skip_empty_lines(&s))
        FGI_TRY(add_row(csv, &s, err));
    if (csv->row_count == 0)
        return fgi_fail(err, FG_EFORMAT, "%s:1: the file has a header but no data rows", csv->name);
    return FG_OK;
}

fg_status fgi_csv_parse(const char *name, fgi_block *take_block, const fgi_csv_layout *layout,
                        fgi_csv *out, fg_error *err)
{
    *out = (fgi_csv){.name = name,
                     .block = *take_block,
                     .text = (const char *)take_block->data,
                     .size = take_block->size,
                     .delimiter = layout->delimiter,
                     .delimiter_option = layout->delimiter_option,
                     .has_header = !layout->no_header};
    *take_block = (fgi_block){0};
    if (out->size >= 3 && memcmp(out->text, "\xef\xbb\xbf", 3) == 0) {
        out->text += 3;
        out->size -= 3;
    }
    const fg_status status = parse_rows(out, err);
    if (status != FG_OK)
        fgi_csv_fini(out);
    return status;
}

void fgi_csv_fini(fgi_csv *csv)
{
    fgi_block_fini(&csv->block);
    fgi_free(csv->rows);
    fgi_arena_fini(&csv->arena);
    *csv = (fgi_csv){0};
}

fg_status fgi_csv_row_init(const fgi_csv *csv, fgi_csv_row *out, fg_error *err)
{
    out->cells = fgi_calloc(csv->column_count, sizeof(*out->cells));
    out->unquoted = fgi_alloc(csv->longest_row);
    if (out->cells != NULL && out->unquoted != NULL)
        return FG_OK;
    fgi_csv_row_fini(out);
    return fgi_no_memory(err);
}

void fgi_csv_row_fini(fgi_csv_row *row)
{
    fgi_free(row->cells);
    fgi_free(row->unquoted);
    *row = (fgi_csv_row){0};
}

void fgi_csv_read(const fgi_csv *csv, size_t row, fgi_csv_row *out)
{
    scan s = {.csv = csv, .at = csv->rows[row], .row = out};
    scan_row(&s);
}
