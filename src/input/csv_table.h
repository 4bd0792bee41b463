/* csv_table.h - a CSV file as rows of text cells.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_INPUT_CSV_TABLE_H
#define FGI_INPUT_CSV_TABLE_H

#include <fulgurite/data.h>
#include "base/arena.h"
#include "base/text.h"
#include "input/block.h"

/* A row that cannot be used: it has the wrong number of cells, quotes that do not match, or invalid
 * UTF-8. */
typedef struct fgi_csv_fault {
    size_t row;
    const char *message; /* in one line */
} fgi_csv_fault;

/* The text, validated once, and where its rows begin. Rows are split into cells when they are read,
 * so a table needs little more memory than its file. */
typedef struct fgi_csv {
    const char *name; /* name of the file, borrowed */
    fgi_block block;
    const char *text;
    size_t size;
    char delimiter;
    const char *delimiter_option; /* borrowed */
    const char *header_option;    /* borrowed; NULL: the header is not in doubt */
    bool has_header;
    const char **columns; /* names; "0", "1" ... without a header */
    size_t column_count;
    size_t *rows; /* byte offset of each data row */
    size_t row_count, row_capacity;
    size_t longest_row;    /* bytes */
    bool keeps_faults;     /* such rows are not errors */
    bool is_valid;         /* all of the text is valid UTF-8 */
    fgi_csv_fault *faults; /* by row; these must not be read */
    size_t fault_count, fault_capacity;
    size_t *lines; /* line ends before each 4 KiB of the text; NULL: not counted */
    fgi_arena arena;
} fgi_csv;

/* One row. `cells` are trimmed and unquoted; valid until the next row is read. */
typedef struct fgi_csv_row {
    fgi_str *cells;  /* [column_count] */
    bool *is_quoted; /* [column_count] */
    char *unquoted;
} fgi_csv_row;

/* How the text is split. */
typedef struct fgi_csv_layout {
    char delimiter;
    bool no_header;
    const char *delimiter_option; /* the option that sets the delimiter, for messages */
    const char *header_option;    /* the option that says whether there is a header, "no_header": a
                                     first row that is probably data is an error. NULL: it is not */
    bool keeps_faults;   /* a row that cannot be used is not an error, but a fault of the table. It
                            ends with its line: an unclosed quote does not take others */
    size_t column_count; /* with keeps_faults, of a table without a header: that its rows probably
                            have, or one less; 0: those of the first row */
} fgi_csv_layout;

/* Checks the encoding, the quotes and the number of columns of every row. Takes ownership of the
 * block, also on failure; name must outlive the table. A byte order mark and empty lines are
 * skipped. UTF-16 with a byte order mark is converted to UTF-8; if no line ends with LF, CR ends
 * one. */
fg_status fgi_csv_parse(const char *name, fgi_block *take_block, const fgi_csv_layout *layout,
                        fgi_csv *out, fg_error *err);
void fgi_csv_fini(fgi_csv *csv);

/* The layout of a table, from its first rows. Takes ownership of the block, also on failure. */
fg_status fgi_csv_detect(const char *name, fgi_block *take_block, fg_csv_layout *out,
                         fg_error *err);

fg_status fgi_csv_row_init(const fgi_csv *csv, fgi_csv_row *out, fg_error *err);
void fgi_csv_row_fini(fgi_csv_row *row);
void fgi_csv_read(const fgi_csv *csv, size_t row, fgi_csv_row *out);

/* FG_EFORMAT "FILE:LINE: row R, column 'C': text". */
fg_status fgi_csv_fail(const fgi_csv *csv, size_t row, size_t column, fg_error *err,
                       const char *format, ...) FG_PRINTF(5, 6);

/* The line of the file in which a row begins, starting at 1. */
size_t fgi_csv_line(const fgi_csv *csv, size_t row);

/* Whether the first row is data rather than names: it has numbers, and these do not count up as
 * names such as 0, 1, 2 or 1990, 1991 do. *out_first (may be NULL): the first number. */
bool fgi_csv_row_is_data(const fgi_str *cells, size_t count, fgi_str *out_first);

/* The type of a cell. A number is finite; infinite is "inf" or "infinity" with or without a sign;
 * missing is an empty cell or one of the words that mean so (NA, NaN, null ...). */
typedef enum fgi_cell {
    FGI_CELL_NUMBER,
    FGI_CELL_INFINITE,
    FGI_CELL_TEXT,
    FGI_CELL_MISSING
} fgi_cell;
fgi_cell fgi_cell_number(fgi_str cell, double *out);
/* A number as spreadsheets write it, with `decimal` '.' or ',': a currency (a sign, EUR, USD, GBP
 * or CHF) or a percent sign is dropped, and the other of the two characters, an apostrophe or a
 * space may separate groups of three digits. "$1,234.50" is 1234.5, "5 %" is 5, and with a decimal
 * comma "1.234,5" is 1234.5. */
bool fgi_cell_spreadsheet(fgi_str cell, char decimal, double *out);
/* A date "2024-01-31", optionally with a time, "2024-01-31T12:30" or "2024-01-31 12:30:05", as days
 * since 1970-01-01. */
bool fgi_cell_date(fgi_str cell, double *out);
/* Whether it looks like a date of any common form: also "31.01.2024" and "1/31/24". */
bool fgi_cell_is_date(fgi_str cell);

#endif
