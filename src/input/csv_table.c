/* csv_table.c - splits RFC 4180 text into cells: quotes, doubled quotes, line ends within quotes;
 * LF or CRLF, or CR only; UTF-8 or UTF-16. One pass when the file is opened detects every
 * syntax error and where rows begin. Source: RFC 4180; RFC 3629 for UTF-8; RFC 2781 for UTF-16.
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
    static const char *const texts[] = {"NA",  "N/A",  "n/a",  "#N/A", "#NA",  "<NA>", "NaN", "nan",
                                        "NAN", "-nan", "-NaN", "null", "NULL", "None", "?"};
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

/* ---- numbers of spreadsheets, dates ---------------------------------------------------------- */

static bool drop_mark(fgi_str *text, const char *mark, bool at_end)
{
    const size_t size = strlen(mark);
    if (text->size < size ||
        memcmp(at_end ? text->data + text->size - size : text->data, mark, size) != 0)
        return false;
    text->data += at_end ? 0 : size;
    text->size -= size;
    *text = fgi_str_trim(*text);
    return true;
}

/* Removes one sign of a currency or of percent. */
static fgi_str without_mark(fgi_str text)
{
    static const char *const marks[] = {
        "$",        "%",        "\xe2\x82\xac",
        "\xc2\xa3", "\xc2\xa5", "\xe2\x82\xb9", /* euro, pound, yen, rupee */
        "EUR",      "USD",      "GBP",
        "CHF"};
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if ((marks[i][0] != '%' && drop_mark(&text, marks[i], false)) ||
            drop_mark(&text, marks[i], true))
            break;
    return text;
}

static size_t digits(const char *text, size_t at, size_t size)
{
    size_t count = 0;
    while (at + count < size && text[at + count] >= '0' && text[at + count] <= '9')
        count++;
    return count;
}

/* Appends the integer part without its separators, all of them the same; returns where it ends. */
static size_t join_groups(fgi_str text, char decimal, char *out, size_t *out_size)
{
    size_t at = digits(text.data, 0, text.size);
    memcpy(out, text.data, at);
    *out_size = at;
    const char separator = at < text.size ? text.data[at] : '\0';
    const bool has_groups = at > 0 && at <= 3 && text.data[0] != '0' && separator != decimal &&
                            memchr(",.' ", separator, 4) != NULL;
    while (has_groups && at < text.size && text.data[at] == separator &&
           digits(text.data, at + 1, text.size) == 3) {
        memcpy(out + *out_size, text.data + at + 1, 3);
        *out_size += 3;
        at += 4;
    }
    return at;
}

/* Copies a cell; no-break spaces (U+00A0 and U+202F), as in French formats, become spaces. */
static fgi_str with_plain_spaces(fgi_str cell, char out[64])
{
    size_t size = 0;
    for (size_t at = 0; at < cell.size && size < 64; size++) {
        const char *c = cell.data + at;
        const size_t left = cell.size - at;
        const size_t width = left >= 2 && memcmp(c, "\xc2\xa0", 2) == 0       ? 2
                             : left >= 3 && memcmp(c, "\xe2\x80\xaf", 3) == 0 ? 3
                                                                              : 1;
        out[size] = width > 1 ? ' ' : *c;
        at += width;
    }
    return (fgi_str){out, size};
}

bool fgi_cell_spreadsheet(fgi_str cell, char decimal, double *out)
{
    char plain[64], spaced[64];
    size_t size = 0;
    fgi_str text = without_mark(fgi_str_trim(with_plain_spaces(cell, spaced)));
    const bool is_negative = text.size > 0 && text.data[0] == '-';
    if (is_negative || (text.size > 0 && text.data[0] == '+'))
        text = without_mark(fgi_str_trim((fgi_str){text.data + 1, text.size - 1}));
    if (text.size == 0 || text.size >= sizeof(plain) - 1 || text.data[0] == '-' ||
        text.data[0] == '+')
        return false;
    if (spaced[0] == '+' && memchr(text.data, ' ', text.size) != NULL)
        return false; /* a telephone number */
    const size_t at = join_groups(text, decimal, plain, &size);
    for (size_t i = at; i < text.size; i++) {
        const char c = text.data[i];
        if (c == '.' && decimal == ',')
            return false;
        plain[size++] = c == decimal ? '.' : c;
    }
    if (!fgi_parse_f64((fgi_str){plain, size}, out) || !isfinite(*out))
        return false;
    *out = is_negative ? -*out : *out;
    return true;
}

/* Reads up to 4 digits; returns how many. */
static size_t take_digits(fgi_str text, size_t *at, int *out)
{
    const size_t count = digits(text.data, *at, text.size);
    *out = 0;
    for (size_t i = 0; i < count && count <= 4; i++)
        *out = 10 * *out + (text.data[*at + i] - '0');
    *at += count;
    return count <= 4 ? count : 0;
}

/* Three numbers with one separator; *out_rest is what follows. */
static bool split_date(fgi_str text, int part[3], size_t width[3], fgi_str *out_rest)
{
    size_t at = 0;
    char separator = '\0';
    for (int i = 0; i < 3; i++) {
        if (i > 0 && (at >= text.size || strchr("-/.", text.data[at]) == NULL ||
                      (i == 2 && text.data[at] != separator)))
            return false;
        separator = i > 0 ? text.data[at++] : separator;
        width[i] = take_digits(text, &at, &part[i]);
        if (width[i] == 0)
            return false;
    }
    *out_rest = (fgi_str){text.data + at, text.size - at};
    return true;
}

/* "", or "T12:30", " 12:30:05.25", with or without a time zone, which is ignored. */
static bool take_time(fgi_str text, double *out_days)
{
    int hour = 0, minute = 0, second = 0;
    size_t at = 1;
    *out_days = 0;
    if (text.size == 0)
        return true;
    if ((text.data[0] != 'T' && text.data[0] != ' ') || take_digits(text, &at, &hour) == 0 ||
        at >= text.size || text.data[at++] != ':' || take_digits(text, &at, &minute) != 2)
        return false;
    if (at < text.size && text.data[at] == ':') {
        at++;
        if (take_digits(text, &at, &second) != 2)
            return false;
    }
    *out_days = (hour + (minute + second / 60.0) / 60) / 24;
    if (at < text.size && text.data[at] == '.')
        at += 1 + digits(text.data, at + 1, text.size);
    return hour < 24 && minute < 60 && second <= 60 &&
           (at == text.size || strchr("Z+- AP", text.data[at]) != NULL);
}

/* Days since 1970-01-01 in the Gregorian calendar. Source: Hinnant, "chrono-Compatible Low-Level
 * Date Algorithms", days_from_civil. */
static double days_since_1970(int year, int month, int day)
{
    const int y = month <= 2 ? year - 1 : year, era = y / 400, of_era = y - era * 400;
    const int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    const int leap_days = of_era / 4 - of_era / 100;
    return era * 146097.0 + of_era * 365 + leap_days + of_year - 719468;
}

static bool is_day(int month, int day)
{
    return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

bool fgi_cell_date(fgi_str cell, double *out)
{
    int part[3];
    size_t width[3];
    fgi_str rest;
    double time;
    if (!split_date(cell, part, width, &rest) || width[0] != 4 || !is_day(part[1], part[2]) ||
        !take_time(rest, &time))
        return false;
    *out = days_since_1970(part[0], part[1], part[2]) + time;
    return true;
}

bool fgi_cell_is_date(fgi_str cell)
{
    int part[3];
    size_t width[3];
    fgi_str rest;
    double time;
    if (!split_date(cell, part, width, &rest) || !take_time(rest, &time))
        return false;
    if (width[0] == 4)
        return is_day(part[1], part[2]);
    return (width[2] == 2 || width[2] == 4) &&
           (is_day(part[0], part[1]) || is_day(part[1], part[0]));
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
    if (csv->size >= 3 && memcmp(csv->text, "\xef\xbb\xbf", 3) == 0) {
        csv->text += 3;
        csv->size -= 3;
    }
    return convert_line_ends(csv, err);
}

/* Spreadsheets on Windows write CP1252 by default. */
static fg_status fail_encoding(const fgi_csv *csv, size_t at, fg_error *err)
{
    const char *slash = strrchr(csv->name, '/');
    const char *file = slash != NULL ? slash + 1 : csv->name;
    return fgi_fail(err, FG_EFORMAT,
                    "%s:%zu: byte %zu: invalid UTF-8\nexport the table as UTF-8, or convert it: "
                    "iconv -f CP1252 -t UTF-8 '%s' > 'utf8-%s'",
                    csv->name, line_of(csv, at), file_offset(csv, at), csv->name, file);
}

static fg_status check_encoding(const fgi_csv *csv, fg_error *err)
{
    const unsigned char *text = (const unsigned char *)csv->text;
    for (size_t at = 0; at < csv->size;) {
        const size_t length = fgi_utf8_length(text + at, csv->size - at);
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
    fg_status status = check_header(csv, &header, begin, err);
    if (status == FG_OK)
        status = name_columns(csv, &header, err);
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

static fg_status parse_rows(fgi_csv *csv, fg_error *err)
{
    FGI_TRY(check_encoding(csv, err));
    drop_empty_end(csv);
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
                     .header_option = layout->header_option,
                     .has_header = !layout->no_header};
    *take_block = (fgi_block){0};
    fg_status status = decode(out, err);
    if (status == FG_OK)
        status = parse_rows(out, err);
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

/* The number of columns of the first rows, 0 if it differs between them. */
static size_t even_columns(const fgi_csv *csv)
{
    enum { ROWS = 20 };
    scan s = {.csv = csv};
    size_t columns = 0;
    skip_empty_lines(&s);
    for (int row = 0; row < ROWS && s.at < csv->size; row++, skip_empty_lines(&s)) {
        scan_row(&s);
        if (s.fault != NULL || (row > 0 && s.cells != columns))
            return 0;
        columns = s.cells;
    }
    return columns;
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
static void detect_delimiter(fgi_csv *csv, fgi_csv_detected *out)
{
    int candidates = 0;
    for (const char *d = ";\t|,"; *d != '\0'; d++) {
        csv->delimiter = *d;
        const size_t columns = even_columns(csv);
        candidates += columns > 1;
        if (columns <= out->column_count)
            continue;
        csv->delimiter = out->delimiter;
        if (*d == ',' && out->column_count > 1 && has_decimal_comma(csv))
            continue;
        out->column_count = columns;
        out->delimiter = columns > 1 ? *d : ',';
    }
    out->is_certain = candidates == 1;
    csv->delimiter = out->delimiter;
}

static fg_status detect_header(fgi_csv *csv, fgi_csv_detected *out, fg_error *err)
{
    fgi_csv_row row;
    scan s = {.csv = csv};
    skip_empty_lines(&s);
    scan again = s;
    scan_row(&s);
    csv->column_count = out->column_count;
    csv->longest_row = s.at - again.at;
    FGI_TRY(fgi_csv_row_init(csv, &row, err));
    again.row = &row;
    scan_row(&again);
    out->has_header = !fgi_csv_row_is_data(row.cells, csv->column_count, NULL);
    fgi_csv_row_fini(&row);
    return FG_OK;
}

fg_status fgi_csv_detect(const char *name, fgi_block *take_block, fgi_csv_detected *out,
                         fg_error *err)
{
    *out = (fgi_csv_detected){.delimiter = ','};
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
    if (status == FG_OK && out->column_count > 0)
        status = detect_header(&csv, out, err);
    fgi_csv_fini(&csv);
    return status;
}
