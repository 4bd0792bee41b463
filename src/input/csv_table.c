/* csv_table.c - splits RFC 4180 text into cells: quotes, doubled quotes, line ends within quotes;
 * LF or CRLF, or CR only; UTF-8 or UTF-16. One pass when the file is opened detects every
 * syntax error and where rows begin; a table to predict keeps faulty rows as such. Source: RFC
 * 4180; RFC 3629 for UTF-8; RFC 2781 for UTF-16.
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
#include "base/text.h"

/* ---- errors ---------------------------------------------------------------------------------- */

enum { COUNTED_BYTES = 4096 };

static size_t line_of(const fgi_csv *csv, size_t offset)
{
    const size_t block = csv->lines != NULL ? offset / COUNTED_BYTES : 0;
    size_t line = 1 + (csv->lines != NULL ? csv->lines[block] : 0);
    for (size_t i = block * COUNTED_BYTES; i < offset; i++)
        line += csv->text[i] == '\n';
    return line;
}

/* Any number of rows may have a fault, whose message has the line. */
static fg_status count_lines(fgi_csv *csv, fg_error *err)
{
    const size_t blocks = csv->size / COUNTED_BYTES + 1;
    size_t *lines = fgi_calloc(blocks, sizeof(*lines));
    if (lines == NULL)
        return fgi_no_memory(err);
    for (size_t i = 1; i < blocks; i++) {
        lines[i] = lines[i - 1];
        for (size_t k = (i - 1) * COUNTED_BYTES; k < i * COUNTED_BYTES; k++)
            lines[i] += csv->text[k] == '\n';
    }
    csv->lines = lines;
    return FG_OK;
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

/* ---- rows ---------------------------------------------------------------------------------- */

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

static void put_cell(scan *s, fgi_str cell, bool is_quoted)
{
    if (s->row != NULL && s->cells < s->csv->column_count) {
        s->row->cells[s->cells] = fgi_str_trim(cell);
        s->row->is_quoted[s->cells] = is_quoted;
    }
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
    put_cell(s, has_doubled && s->row != NULL ? unquote(s, inside) : inside, true);
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
    put_cell(s, (fgi_str){s->csv->text + begin, s->at - begin}, false);
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

/* Replaces the text by another, of `size` bytes in `made`, which is then the table's. */
static void replace_text(fgi_csv *csv, fgi_block *take_made, size_t size)
{
    fgi_block_fini(&csv->block);
    csv->block = *take_made;
    csv->block.size = size;
    csv->text = csv->block.owned;
    csv->size = size;
}

static unsigned unit_at(const unsigned char *text, bool is_big)
{
    return is_big ? (unsigned)text[0] << 8 | text[1] : (unsigned)text[1] << 8 | text[0];
}

/* Writes a character as UTF-8; returns its length. */
static size_t put_utf8(unsigned c, char *out)
{
    const size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(size == 1 ? c : (0xf00u >> size & 0xff) | c);
    return size;
}

/* From UTF-16, without its byte order mark. An unpaired surrogate becomes invalid UTF-8, which is
 * reported like other invalid text. */
static fg_status decode_utf16(fgi_csv *csv, bool is_big, fg_error *err)
{
    const unsigned char *text = (const unsigned char *)csv->text;
    fgi_block made;
    size_t size = 0;
    if (csv->size % 2 != 0)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: the file is UTF-16 with an odd number of bytes: it "
                        "is truncated",
                        csv->name);
    FGI_TRY(fgi_block_alloc(csv->size / 2 * 3 + 1, &made, err));
    for (size_t i = 2; i < csv->size; i += 2) {
        unsigned c = unit_at(text + i, is_big);
        const unsigned next = i + 2 < csv->size ? unit_at(text + i + 2, is_big) : 0;
        if (c >> 10 == 0xd800 >> 10 && next >> 10 == 0xdc00 >> 10) {
            c = 0x10000 + ((c & 0x3ff) << 10 | (next & 0x3ff));
            i += 2;
        }
        size += put_utf8(c, (char *)made.owned + size);
    }
    replace_text(csv, &made, size);
    return FG_OK;
}

/* The line ends of old Macintosh programs. */
static fg_status convert_line_ends(fgi_csv *csv, fg_error *err)
{
    fgi_block made;
    const size_t size = csv->size;
    if (size == 0 || memchr(csv->text, '\n', size) != NULL || memchr(csv->text, '\r', size) == NULL)
        return FG_OK;
    FGI_TRY(fgi_block_alloc(size, &made, err));
    for (size_t i = 0; i < size; i++)
        ((char *)made.owned)[i] = (char)(csv->text[i] == '\r' ? '\n' : csv->text[i]);
    replace_text(csv, &made, size);
    return FG_OK;
}

static fg_status decode(fgi_csv *csv, fg_error *err)
{
    if (csv->size >= 2 &&
        (memcmp(csv->text, "\xff\xfe", 2) == 0 || memcmp(csv->text, "\xfe\xff", 2) == 0))
        FGI_TRY(decode_utf16(csv, csv->text[0] == '\xfe', err));
    const size_t mark = fgi_utf8_mark(csv->text, csv->size);
    csv->text += mark;
    csv->size -= mark;
    return convert_line_ends(csv, err);
}

/* Spreadsheets on Windows write CP1252 by default. */
static fg_status fail_encoding(const fgi_csv *csv, size_t at, fg_error *err)
{
    const char *file = fgi_after_last(csv->name, '/');
    return fgi_fail(err, FG_EFORMAT,
                    "%s:%zu: byte %zu: invalid UTF-8\nexport the table as UTF-8, or convert it: "
                    "iconv -f CP1252 -t UTF-8 '%s' > 'utf8-%s'",
                    csv->name, line_of(csv, at), file_offset(csv, at), csv->name, file);
}

static fg_status check_encoding(const fgi_csv *csv, size_t begin, size_t end, fg_error *err)
{
    const unsigned char *text = (const unsigned char *)csv->text;
    for (size_t at = begin; at < end;) {
        const size_t length = fgi_utf8_length(text + at, end - at);
        if (length == 0)
            return fail_encoding(csv, at, err);
        if (text[at] == '\0')
            return fail_at(csv, at, err,
                           "a NUL byte\nif the file is UTF-16, convert it, for example with iconv "
                           "-f utf-16le -t utf-8");
        at += length;
    }
    return FG_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Rejects a duplicate name. */
static fg_status note_name(const fgi_csv *csv, fgi_map *seen, char *name, fg_error *err)
{
    const fgi_hash hash = fgi_hash_text(name);
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
                    delimiter_text(likely, other), count, fgi_s(count), csv->delimiter_option,
                    delimiter_text(likely, other));
}

bool fgi_csv_row_is_data(const fgi_str *cells, size_t count, fgi_str *out_first)
{
    size_t numbers = 0;
    double first = 0, last = 0;
    bool counts_up = true;
    for (size_t i = 0; i < count; i++) {
        double value;
        if (fgi_cell_number(cells[i], &value) != FGI_CELL_NUMBER &&
            !fgi_cell_spreadsheet(cells[i], '.', &value) &&
            !fgi_cell_spreadsheet(cells[i], ',', &value))
            continue;
        if (numbers == 0 && out_first != NULL)
            *out_first = cells[i];
        counts_up = counts_up && value == floor(value) && (numbers == 0 || value - last == 1);
        first = numbers == 0 ? value : first;
        last = value;
        numbers++;
    }
    const bool is_named = counts_up && numbers >= 2 && (numbers < count || first == 0);
    return numbers > 0 && !is_named;
}

static fg_status check_header(const fgi_csv *csv, const fgi_csv_row *header, size_t begin,
                              fg_error *err)
{
    fgi_str number = {0};
    if (csv->header_option == NULL ||
        !fgi_csv_row_is_data(header->cells, csv->column_count, &number))
        return FG_OK;
    return fgi_fail(err, FG_EFORMAT,
                    "%s:%zu: the first row has the number '%.*s', so it is probably data and not a "
                    "header\nset %s: true if the file has no header, or false if these are names "
                    "of columns",
                    csv->name, line_of(csv, begin), number.size > 32 ? 32 : (int)number.size,
                    number.data, csv->header_option);
}

/* Continues with the line after `offset`. */
static void skip_line(scan *s, size_t offset)
{
    const fgi_csv *csv = s->csv;
    const char *end = memchr(csv->text + offset, '\n', csv->size - offset);
    *s = (scan){.csv = csv, .at = end != NULL ? (size_t)(end + 1 - csv->text) : csv->size};
}

/* Moves to the first row with this many cells, or one less, if there is one. */
static void find_row(scan *s, size_t cells)
{
    for (scan at = *s; at.at < s->csv->size; skip_empty_lines(&at)) {
        const size_t begin = at.at;
        scan_row(&at);
        if (at.fault == NULL && (at.cells == cells || at.cells + 1 == cells)) {
            s->at = begin;
            return;
        }
        skip_line(&at, begin);
    }
}

/* Scans the row that defines the number of columns. */
static fg_status scan_first(fgi_csv *csv, scan *s, fg_error *err)
{
    const size_t begin = s->at;
    scan_row(s);
    if (!csv->is_valid)
        FGI_TRY(check_encoding(csv, begin, s->at, err));
    if (s->fault != NULL)
        return fail_at(csv, s->fault_at, err, s->fault);
    const char likely = s->cells == 1 ? likely_delimiter(csv, begin) : '\0';
    if (likely != '\0')
        return wrong_delimiter(csv, begin, likely, err);
    csv->column_count = s->cells;
    csv->longest_row = s->at - begin;
    return csv->longest_row <= INT32_MAX ? FG_OK
                                         : fail_at(csv, begin, err, "a row is larger than 2 GiB");
}

static size_t count_filled(const fgi_csv_row *row, size_t count)
{
    size_t filled = 0;
    for (size_t i = 0; i < count; i++)
        filled += row->cells[i].size > 0;
    return filled;
}

/* Detects a title above the header, as spreadsheets export it: a row whose first cell is the only
 * one with text, above a row of names. */
static fg_status check_title(fgi_csv *csv, size_t begin, fg_error *err)
{
    fgi_csv_row row;
    scan s = {.csv = csv, .at = begin};
    scan_row(&s);
    skip_empty_lines(&s);
    scan_row(&s);
    if (csv->column_count < 2 || s.fault != NULL || s.cells != csv->column_count)
        return FG_OK;
    csv->longest_row = s.at - begin;
    FGI_TRY(fgi_csv_row_init(csv, &row, err));
    s = (scan){.csv = csv, .at = begin, .row = &row};
    scan_row(&s);
    bool is_title = row.cells[0].size > 0 && count_filled(&row, csv->column_count) == 1;
    skip_empty_lines(&s);
    scan_row(&s);
    is_title = is_title && count_filled(&row, csv->column_count) == csv->column_count &&
               !fgi_csv_row_is_data(row.cells, csv->column_count, NULL);
    fgi_csv_row_fini(&row);
    return is_title ? fgi_fail(err, FG_EFORMAT,
                               "%s:%zu: only the first cell of the row has text, so it is probably "
                               "a title above the header\ndelete this line",
                               csv->name, line_of(csv, begin))
                    : FG_OK;
}

/* The first row defines the number of columns and, with a header, their names. */
static fg_status read_columns(fgi_csv *csv, scan *s, size_t expected, fg_error *err)
{
    const size_t begin = s->at;
    if (begin == csv->size)
        return fgi_fail(err, FG_EFORMAT, "%s:1: the file is empty", csv->name);
    if (!csv->has_header && expected > 0)
        find_row(s, expected);
    FGI_TRY(scan_first(csv, s, err));
    csv->columns = fgi_arena_alloc(&csv->arena, s->cells * sizeof(*csv->columns));
    if (csv->columns == NULL)
        return fgi_no_memory(err);
    if (!csv->has_header) {
        s->at = begin;
        return name_columns(csv, NULL, err);
    }
    fgi_csv_row header;
    FGI_TRY(check_title(csv, begin, err));
    FGI_TRY(fgi_csv_row_init(csv, &header, err));
    scan again = {.csv = csv, .at = begin, .row = &header};
    scan_row(&again);
    fg_status status = check_header(csv, &header, begin, err);
    if (status == FG_OK)
        status = name_columns(csv, &header, err);
    fgi_csv_row_fini(&header);
    return status;
}

/* Whether what was scanned from `begin` is a row of the table. */
static fg_status check_row(const fgi_csv *csv, const scan *s, size_t begin, fg_error *err)
{
    if (s->fault != NULL)
        return fail_at(csv, s->fault_at, err, s->fault);
    if (s->cells != csv->column_count)
        return fgi_fail(err, FG_EFORMAT, "%s:%zu: row %zu has %zu column%s, but %s has %zu%s",
                        csv->name, line_of(csv, begin), csv->row_count + 1, s->cells,
                        fgi_s(s->cells), csv->has_header ? "the header" : "the first row",
                        csv->column_count,
                        csv->row_count == 0 && csv->column_count == 1
                            ? "\nif the first line is a title, delete it"
                            : "");
    return csv->is_valid ? FG_OK : check_encoding(csv, begin, s->at, err);
}

/* Notes the error of the next row. */
static fg_status add_fault(fgi_csv *csv, fg_error *err)
{
    fgi_csv_fault *faults =
        fgi_grow(csv->faults, csv->fault_count, &csv->fault_capacity, sizeof(*faults));
    const char *message = fgi_error_line(&csv->arena, err);
    csv->faults = faults != NULL ? faults : csv->faults;
    if (faults == NULL || message == NULL)
        return fgi_no_memory(err);
    faults[csv->fault_count++] = (fgi_csv_fault){csv->row_count, message};
    *err = (fg_error){0};
    return FG_OK;
}

static fg_status add_row(fgi_csv *csv, scan *s, fg_error *err)
{
    const size_t begin = s->at;
    scan_row(s);
    fg_status status = check_row(csv, s, begin, err);
    if (status != FG_OK && csv->keeps_faults) {
        if (s->fault != NULL || s->cells != csv->column_count)
            skip_line(s, begin);
        status = add_fault(csv, err);
    }
    FGI_TRY(status);
    FGI_TRY_GROW(csv->rows, csv->row_count, csv->row_capacity, err);
    csv->rows[csv->row_count++] = begin;
    if (s->at - begin > csv->longest_row)
        csv->longest_row = s->at - begin;
    return FG_OK;
}

/* Spreadsheets write rows of empty cells after the last one that had content. */
static void drop_empty_end(fgi_csv *csv)
{
    for (size_t size = csv->size; size > 0; size--) {
        const char c = csv->text[size - 1];
        if (c == '\n')
            csv->size = size;
        else if (c != '\r' && c != ' ' && c != csv->delimiter)
            return;
    }
}

static fg_status parse_rows(fgi_csv *csv, const fgi_csv_layout *layout, fg_error *err)
{
    const fg_status encoding = check_encoding(csv, 0, csv->size, err);
    csv->keeps_faults = layout->keeps_faults;
    csv->is_valid = encoding == FG_OK;
    if (!csv->keeps_faults)
        FGI_TRY(encoding);
    *err = (fg_error){0};
    if (csv->keeps_faults)
        FGI_TRY(count_lines(csv, err));
    drop_empty_end(csv);
    scan s = {.csv = csv};
    skip_empty_lines(&s);
    FGI_TRY(read_columns(csv, &s, csv->keeps_faults ? layout->column_count : 0, err));
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
                     .header_option = layout->header_option,
                     .has_header = !layout->no_header};
    fg_error local;
    *take_block = (fgi_block){0};
    err = err != NULL ? err : &local;
    fg_status status = decode(out, err);
    if (status == FG_OK)
        status = parse_rows(out, layout, err);
    if (status != FG_OK)
        fgi_csv_fini(out);
    return status;
}

void fgi_csv_fini(fgi_csv *csv)
{
    fgi_block_fini(&csv->block);
    fgi_free(csv->rows);
    fgi_free(csv->faults);
    fgi_free(csv->lines);
    fgi_arena_fini(&csv->arena);
    *csv = (fgi_csv){0};
}

fg_status fgi_csv_row_init(const fgi_csv *csv, fgi_csv_row *out, fg_error *err)
{
    out->cells = fgi_calloc(csv->column_count, sizeof(*out->cells));
    out->is_quoted = fgi_calloc(csv->column_count, sizeof(*out->is_quoted));
    out->unquoted = fgi_alloc(csv->longest_row);
    if (out->cells != NULL && out->is_quoted != NULL && out->unquoted != NULL)
        return FG_OK;
    fgi_csv_row_fini(out);
    return fgi_no_memory(err);
}

void fgi_csv_row_fini(fgi_csv_row *row)
{
    fgi_free(row->cells);
    fgi_free(row->is_quoted);
    fgi_free(row->unquoted);
    *row = (fgi_csv_row){0};
}

void fgi_csv_read(const fgi_csv *csv, size_t row, fgi_csv_row *out)
{
    scan s = {.csv = csv, .at = csv->rows[row], .row = out};
    scan_row(&s);
}

/* ---- detection ------------------------------------------------------------------------------- */

/* The number of columns of the first rows, 0 if it differs between them; or of those below `above`
 * lines, which have fewer cells. *out_begin: where the first of these rows begins. */
static size_t even_columns(const fgi_csv *csv, int above, size_t *out_begin)
{
    enum { ROWS = 20, FEWEST = 3 };
    scan s = {.csv = csv};
    size_t columns = 0, most = 0;
    skip_empty_lines(&s);
    for (int line = 0; line < above && s.at < csv->size; line++, skip_empty_lines(&s)) {
        scan_row(&s);
        most = s.cells > most ? s.cells : most;
    }
    *out_begin = s.at;
    int rows = 0;
    for (; rows < ROWS && s.at < csv->size; rows++, skip_empty_lines(&s)) {
        scan_row(&s);
        if (s.fault != NULL || (rows > 0 && s.cells != columns))
            return 0;
        columns = s.cells;
    }
    const bool is_title = rows >= FEWEST && (most == 1 || most + 1 < columns);
    return above == 0 || is_title ? columns : 0;
}

/* Whether the first or the second row has a number with a decimal comma. */
static bool has_decimal_comma(const fgi_csv *csv)
{
    scan s = {.csv = csv};
    skip_empty_lines(&s);
    for (int row = 0; row < 2 && s.at < csv->size; row++, skip_empty_lines(&s))
        for (bool is_end = false; !is_end; s.at += s.at < csv->size) {
            double value;
            const size_t begin = s.at;
            scan_cell(&s);
            const fgi_str cell = {csv->text + begin, s.at - begin};
            if (memchr(cell.data, ',', cell.size) != NULL &&
                fgi_cell_spreadsheet(cell, ',', &value))
                return true;
            is_end = s.at >= csv->size || csv->text[s.at] == '\n';
        }
    return false;
}

/* The delimiter with the most columns; but commas are decimal ones if another says so. */
static void detect_delimiter(fgi_csv *csv, fg_csv_layout *out)
{
    int candidates = 0;
    size_t begin;
    for (const char *d = ";\t|,"; *d != '\0'; d++) {
        csv->delimiter = *d;
        const int64_t columns = (int64_t)even_columns(csv, 0, &begin);
        candidates += columns > 1;
        if (columns <= out->column_count)
            continue;
        csv->delimiter = out->delimiter;
        if (*d == ',' && has_decimal_comma(csv))
            continue;
        out->column_count = columns;
        out->delimiter = columns > 1 ? *d : ',';
    }
    out->delimiter_is_certain = candidates == 1;
    csv->delimiter = out->delimiter;
}

/* An error if a table begins below a title. */
static fg_status check_lines_above(fgi_csv *csv, fg_error *err)
{
    enum { MOST_LINES = 5 };
    size_t begin;
    for (int above = 1; above <= MOST_LINES; above++)
        for (const char *d = ";\t|,"; *d != '\0'; d++) {
            csv->delimiter = *d;
            const size_t columns = even_columns(csv, above, &begin);
            if (columns > 1)
                return fgi_fail(err, FG_EFORMAT,
                                "%s:%zu: the table probably begins in this line, with %zu columns"
                                "\ndelete the lines above it, such as a title",
                                csv->name, line_of(csv, begin), columns);
        }
    return FG_OK;
}

static fg_status detect_header(fgi_csv *csv, fg_csv_layout *out, fg_error *err)
{
    fgi_csv_row row;
    scan s = {.csv = csv};
    skip_empty_lines(&s);
    scan again = s;
    scan_row(&s);
    csv->column_count = (size_t)out->column_count;
    csv->longest_row = s.at - again.at;
    FGI_TRY(fgi_csv_row_init(csv, &row, err));
    again.row = &row;
    scan_row(&again);
    const bool is_data = fgi_csv_row_is_data(row.cells, csv->column_count, NULL);
    out->header = is_data ? FG_CSV_HEADER_NO : FG_CSV_HEADER_YES;
    fgi_csv_row_fini(&row);
    return FG_OK;
}

fg_status fgi_csv_detect(const char *name, fgi_block *take_block, fg_csv_layout *out, fg_error *err)
{
    *out = (fg_csv_layout){.delimiter = ','};
    fgi_csv csv = {.name = name,
                   .block = *take_block,
                   .text = (const char *)take_block->data,
                   .size = take_block->size};
    *take_block = (fgi_block){0};
    fg_status status = decode(&csv, err);
    if (status == FG_OK && csv.size == 0)
        status = fgi_fail(err, FG_EFORMAT, "%s:1: the file is empty", name);
    if (status == FG_OK)
        detect_delimiter(&csv, out);
    if (status == FG_OK && out->column_count < 2)
        status = check_lines_above(&csv, err);
    if (status == FG_OK && out->column_count > 0)
        status = detect_header(&csv, out, err);
    fgi_csv_fini(&csv);
    return status;
}
