/* csv_table.h - a CSV file as rows of text cells.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_INPUT_CSV_TABLE_H
#define FGI_INPUT_CSV_TABLE_H

#include "base/arena.h"
#include "base/text.h"
#include "input/block.h"

/* The text, validated once, and where its rows begin. Rows are split into cells when they are read,
 * so a table needs little more memory than its file. */
typedef struct fgi_csv {
    const char *name; /* name of the file, borrowed */
    fgi_block block;
    const char *text;
    size_t size;
    char delimiter;
    const char *delimiter_option; /* borrowed */
    bool has_header;
    const char **columns; /* names; "0", "1" ... without a header */
    size_t column_count;
    size_t *rows; /* byte offset of each data row */
    size_t row_count, row_capacity;
    size_t longest_row; /* bytes */
    fgi_arena arena;
} fgi_csv;

/* One row. `cells` are trimmed and unquoted; valid until the next row is read. */
typedef struct fgi_csv_row {
    fgi_str *cells; /* [column_count] */
    char *unquoted;
} fgi_csv_row;

/* How the text is split. */
typedef struct fgi_csv_layout {
    char delimiter;
    bool no_header;
    const char *delimiter_option; /* the option that sets the delimiter, for messages */
} fgi_csv_layout;

/* Checks the encoding, the quotes and the number of columns of every row. Takes ownership of the
 * block, also on failure; name must outlive the table. A byte order mark and empty lines are
 * skipped. */
fg_status fgi_csv_parse(const char *name, fgi_block *take_block, const fgi_csv_layout *layout,
                        fgi_csv *out, fg_error *err);
void fgi_csv_fini(fgi_csv *csv);

fg_status fgi_csv_row_init(const fgi_csv *csv, fgi_csv_row *out, fg_error *err);
void fgi_csv_row_fini(fgi_csv_row *row);
void fgi_csv_read(const fgi_csv *csv, size_t row, fgi_csv_row *out);

/* FG_EFORMAT "FILE:LINE: row R, column 'C': text". */
fg_status fgi_csv_fail(const fgi_csv *csv, size_t row, size_t column, fg_error *err,
                       const char *format, ...) FG_PRINTF(5, 6);

/* The line of the file in which a row begins, starting at 1. */
size_t fgi_csv_line(const fgi_csv *csv, size_t row);

/* The type of a cell. A number is finite; infinite is "inf" or "infinity" with or without a sign.
 */
typedef enum fgi_cell {
    FGI_CELL_NUMBER,
    FGI_CELL_INFINITE,
    FGI_CELL_TEXT,
    FGI_CELL_MISSING
} fgi_cell;
fgi_cell fgi_cell_number(fgi_str cell, double *out);

#endif
