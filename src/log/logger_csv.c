/* logger_csv.c - the logger `csv`: metrics.csv in the run folder, a row per log line.
 *
 * The header grows when there is a new metric: the file is then rewritten, with an empty cell at
 * the end of each row before. A resumed run writes the same as an uninterrupted one: the file
 * continues with the rows that are valid, or is rebuilt from the lines of metrics.jsonl when that
 * is written too and has no fewer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "log/log_file.h"
#include "log/logger.h"

enum { MAX_COLUMNS = FGI_LOG_VALUES };

static const char first_columns[] = "step,epoch,lr";

typedef struct csv {
    fgi_log_file file;
    size_t file_columns; /* in the header of the file */
    size_t column_count; /* after the first columns */
    char column[MAX_COLUMNS][64];
    bool wall_time;
} csv;

/* ---- rows ------------------------------------------------------------------------------------ */

/* Adds the column if it is new and there is space. */
static void learn(csv *logger, const char *name, size_t size)
{
    size_t i = 0;
    while (i < logger->column_count &&
           (strlen(logger->column[i]) != size || memcmp(logger->column[i], name, size) != 0))
        i++;
    if (i < logger->column_count || i == MAX_COLUMNS || size >= sizeof logger->column[i])
        return;
    memcpy(logger->column[i], name, size);
    logger->column[i][size] = '\0';
    logger->column_count++;
}

static void put_header(const csv *logger, fgi_buf *out)
{
    fgi_buf_puts(out, first_columns);
    for (size_t i = 0; i < logger->column_count; i++)
        fgi_buf_printf(out, ",%s", logger->column[i]);
    fgi_buf_putc(out, '\n');
}

static size_t count_commas(const char *text, size_t size)
{
    size_t commas = 0;
    for (size_t i = 0; i < size; i++)
        commas += text[i] == ',';
    return commas;
}

/* Writes rows with an empty cell for each column that they lack, and without the empty cells of
 * columns that there no longer are. */
static void put_padded(const csv *logger, const char *rows, size_t size, fgi_buf *out)
{
    for (size_t at = 0; at < size;) {
        const char *end = memchr(rows + at, '\n', size - at);
        const size_t length = end != NULL ? (size_t)(end - rows) - at : size - at;
        const size_t commas = count_commas(rows + at, length), needed = logger->column_count + 2;
        fgi_buf_add(out, rows + at, commas > needed ? length - (commas - needed) : length);
        for (size_t i = commas; i < needed; i++)
            fgi_buf_putc(out, ',');
        fgi_buf_putc(out, '\n');
        at += length + 1;
    }
}

static const fg_metric *find_metric(const fg_log_line *line, const char *name)
{
    for (size_t i = 0; i < line->metric_count; i++)
        if (strcmp(line->metrics[i].name, name) == 0)
            return &line->metrics[i];
    return NULL;
}

/* The cell of a column, which is empty if the line lacks it. */
static void put_cell(const csv *logger, const fg_log_line *line, const char *name, fgi_buf *out)
{
    const fg_metric *metric = find_metric(line, name);
    if (logger->wall_time && strcmp(name, FGI_LOG_TIME) == 0 && isfinite(line->wall_time))
        fgi_log_put_time(out, line->wall_time);
    else if (metric != NULL)
        fgi_log_put_number(out, metric->value, "");
}

static void put_row(csv *logger, const fg_log_line *line, fgi_buf *out)
{
    if (logger->wall_time)
        learn(logger, FGI_LOG_TIME, strlen(FGI_LOG_TIME));
    for (size_t i = 0; i < line->metric_count; i++)
        learn(logger, line->metrics[i].name, strlen(line->metrics[i].name));
    fgi_buf_printf(out, "%" PRId64 ",%" PRId64 ",", line->step, line->epoch);
    if (!line->is_validation)
        fgi_log_put_number(out, line->lr, "");
    for (size_t i = 0; i < logger->column_count; i++) {
        fgi_buf_putc(out, ',');
        put_cell(logger, line, logger->column[i], out);
    }
    fgi_buf_putc(out, '\n');
}

/* ---- resuming -------------------------------------------------------------------------------- */

/* Learns the columns of a header, without its line end; false: it is not one. */
static bool learn_header(csv *logger, const char *text, size_t size)
{
    const size_t first = strlen(first_columns);
    if (size < first || memcmp(text, first_columns, first) != 0)
        return false;
    for (size_t at = first; at < size;) {
        if (text[at] != ',')
            return false;
        const char *end = memchr(text + at + 1, ',', size - at - 1);
        const size_t next = end != NULL ? (size_t)(end - text) : size;
        learn(logger, text + at + 1, next - at - 1);
        at = next;
    }
    return true;
}

static bool is_valid_row(const csv *logger, const char *row, size_t size, int64_t number,
                         const fg_log_start *start)
{
    const char *comma = memchr(row, ',', size);
    int64_t step = 0;
    return comma != NULL && count_commas(row, size) == logger->column_count + 2 &&
           fgi_parse_i64((fgi_str){row, (size_t)(comma - row)}, &step) &&
           fgi_log_is_valid(start, step, number);
}

/* Forgets the last columns if all their cells in these rows are empty: they are those of rows that
 * were dropped. */
static void forget_unused(csv *logger, const char *rows, size_t size)
{
    size_t used = 0;
    for (size_t at = 0, cell = 0; at < size; at++) {
        if (rows[at] == '\n')
            cell = 0;
        else if (rows[at] == ',')
            cell++;
        else if (cell > used)
            used = cell;
    }
    logger->column_count = used > 2 ? used - 2 : 0; /* step, epoch and lr are not in the list */
}

/* Learns the header of the file's text. Returns the number of valid rows at its beginning; their
 * size with the header in *out_size. */
static int64_t count_rows(csv *logger, const char *text, size_t size, const fg_log_start *start,
                          size_t *out_size)
{
    const char *end = size > 0 ? memchr(text, '\n', size) : NULL;
    int64_t rows = 0;
    *out_size = 0;
    if (end == NULL || !learn_header(logger, text, (size_t)(end - text))) {
        logger->column_count = 0;
        return 0;
    }
    const size_t header = (size_t)(end - text) + 1;
    size_t at = header;
    while (at < size) {
        end = memchr(text + at, '\n', size - at);
        if (end == NULL || !is_valid_row(logger, text + at, (size_t)(end - text) - at, rows, start))
            break;
        at = (size_t)(end - text) + 1;
        rows++;
    }
    forget_unused(logger, text + header, at - header);
    *out_size = at;
    return rows;
}

/* A line of the .jsonl as a row of logger->file.kept. */
static void take_line(void *self, json_t *line)
{
    csv *logger = self;
    fg_metric metrics[FGI_LOG_VALUES];
    const fg_log_line row = fgi_log_line_of(line, metrics);
    put_row(logger, &row, &logger->file.kept);
}

/* Replaces the file: header, the rows of its text, which has a header too, and those that are kept.
 */
static fg_status rewrite_rows(csv *logger, const char *before, size_t size, fg_error *err)
{
    fgi_buf text = {0};
    const char *end = size > 0 ? memchr(before, '\n', size) : NULL;
    put_header(logger, &text);
    if (end != NULL)
        put_padded(logger, end + 1, size - (size_t)(end + 1 - before), &text);
    put_padded(logger, logger->file.kept.data, logger->file.kept.size, &text);
    fg_status status = fgi_buf_status(&text, err);
    if (status == FG_OK)
        status = fgi_log_file_replace(&logger->file, text.data, text.size, err);
    if (status == FG_OK) {
        logger->file_columns = logger->column_count;
        fgi_buf_clear(&logger->file.kept);
    }
    fgi_buf_fini(&text);
    return status;
}

/* Takes the lines of metrics.jsonl if there are at least that many; if the rows have times, which
 * the lines may lack, only if there are more. */
static fg_status take_history(csv *logger, const fg_log_start *start, int64_t *rows, bool *out_took,
                              fg_error *err)
{
    int64_t lines;
    FGI_TRY(fgi_log_read_history(start, NULL, NULL, &lines, err));
    *out_took = start->history != NULL && lines >= *rows + logger->wall_time;
    if (!*out_took)
        return FG_OK;
    logger->column_count = 0;
    FGI_TRY(fgi_log_read_history(start, take_line, logger, rows, err));
    return fgi_buf_status(&logger->file.kept, err);
}

static fg_status open_file(void *self, const fg_log_start *start, int64_t *out_lines, fg_error *err)
{
    csv *logger = self;
    char *text;
    size_t size;
    bool is_taken = false;
    logger->column_count = 0;
    FGI_TRY(fgi_log_file_begin(&logger->file, start, "metrics.csv", &text, &size, err));
    *out_lines = count_rows(logger, text, size, start, &size);
    fg_status status = take_history(logger, start, out_lines, &is_taken, err);
    if (status == FG_OK)
        status = rewrite_rows(logger, text, is_taken ? 0 : size, err);
    fgi_free(text);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

static fg_status extend(csv *logger, fg_error *err)
{
    char *text;
    size_t size;
    FGI_TRY(fgi_log_file_read(&logger->file, &text, &size, err));
    const fg_status status = rewrite_rows(logger, text, size, err);
    fgi_free(text);
    return status;
}

static fg_status flush(void *self, fg_error *err)
{
    csv *logger = self;
    if (logger->file.kept.size == 0)
        return FG_OK;
    fg_status status = FG_OK;
    if (logger->column_count > logger->file_columns)
        status = extend(logger, err);
    else
        status = fgi_log_file_append(&logger->file, err);
    return fgi_log_kept(&logger->file, status, err);
}

static fg_status log_line(void *self, const fg_log_line *line, fg_error *err)
{
    csv *logger = self;
    const size_t before = logger->file.kept.size;
    put_row(logger, line, &logger->file.kept);
    FGI_TRY(fgi_log_keep(&logger->file, before, err));
    return flush(logger, err);
}

static const fg_logger_ops ops = {.name = "csv",
                                  .is_required = true,
                                  .has_thread = true,
                                  .open = open_file,
                                  .log = log_line,
                                  .flush = flush,
                                  .sync = fgi_log_file_sync,
                                  .destroy = fgi_log_file_destroy};

static const fg_option options[] = {FGI_OPTION_WALL_TIME(csv)};

const fg_logger_entry fgi_csv_logger_row = {
    .entry = {.name = "csv",
              .help = "metrics.csv in the run's folder, one row per log event",
              .spellings = "CSVLogger",
              FG_OPTIONS(options, csv)},
    .ops = &ops};
