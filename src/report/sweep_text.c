/* sweep_text.c - the report of a sweep as lines: a table, and a plot of the monitored metric.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "report/run_page.h"
#include "report/sweep_view.h"

enum { BAR = 40, COLUMN_MAX = 40 };

static void put_spaces(fgi_buf *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fgi_buf_putc(out, ' ');
}

/* Numbers to the right, words to the left; no spaces at the end of a line. */
static void put_cell(fgi_buf *out, const char *text, size_t width, bool is_right, bool is_last)
{
    const size_t size = strlen(text), shown = size < COLUMN_MAX ? size : COLUMN_MAX;
    const size_t padding = width > shown ? width - shown : 0;
    if (is_right)
        put_spaces(out, padding);
    fgi_buf_add(out, text, shown);
    if (!is_right && !is_last)
        put_spaces(out, padding);
    fgi_buf_puts(out, is_last ? "\n" : "  ");
}

static size_t width_of(const fgi_sweep_view *view, const fgi_sweep_table *t, size_t column,
                       fgi_buf *cell)
{
    size_t width = strlen(t->names[column]);
    for (size_t run = 0; run < view->count; run++) {
        fgi_sweep_cell(view, t, run, column, cell);
        width = cell->size > width ? cell->size : width;
    }
    return width < COLUMN_MAX ? width : COLUMN_MAX;
}

static void put_table(fgi_buf *out, const fgi_sweep_view *view, fgi_buf *cell)
{
    fgi_sweep_table t;
    size_t width[sizeof t.names / sizeof *t.names];
    fgi_sweep_table_init(view, &t);
    for (size_t i = 0; i < t.columns; i++)
        width[i] = width_of(view, &t, i, cell);
    for (size_t i = 0; i < t.columns; i++)
        put_cell(out, t.names[i], width[i], t.is_number[i], i + 1 == t.columns);
    for (size_t run = 0; run < view->count; run++)
        for (size_t i = 0; i < t.columns; i++) {
            fgi_sweep_cell(view, &t, run, i, cell);
            put_cell(out, cell->data != NULL ? cell->data : "", width[i], t.is_number[i],
                     i + 1 == t.columns);
        }
}

/* The length of a bar: from zero, or from the smallest value if one is negative. */
static size_t bar_of(double value, double low, double high)
{
    const double part = high > low ? (value - low) / (high - low) : 1;
    return 1 + (size_t)((BAR - 1) * part + 0.5);
}

/* A bar per run that has a value, in the order of the table. */
static void put_plot(fgi_buf *out, const fgi_sweep_view *view)
{
    double low = 0, high = -HUGE_VAL;
    size_t width = 0;
    for (size_t run = 0; run < view->count; run++) {
        const double value = fgi_sweep_best(view, run);
        const size_t size = strlen(fgi_sweep_name(view, run));
        low = value < low ? value : low;
        high = value > high ? value : high;
        width = size > width ? size : width;
    }
    fgi_buf_puts(out, "\nbest ");
    fgi_run_put_plain(out, fgi_sweep_monitor(view));
    fgi_buf_printf(out, " (%s is better)\n", view->is_max ? "higher" : "lower");
    for (size_t run = 0; run < view->count; run++) {
        const double value = fgi_sweep_best(view, run);
        if (!isfinite(value))
            continue;
        fgi_run_put_plain(out, fgi_sweep_name(view, run));
        put_spaces(out, width - strlen(fgi_sweep_name(view, run)));
        fgi_buf_printf(out, "  %-10.6g  ", value);
        for (size_t i = 0; i < bar_of(value, low, high); i++)
            fgi_buf_putc(out, '#');
        fgi_buf_puts(out, run == view->order[0] ? " best\n" : "\n");
    }
}

/* Why runs have failed. */
static void put_errors(fgi_buf *out, const fgi_sweep_view *view)
{
    for (size_t run = 0; run < view->count; run++) {
        const char *error = fgi_json_words(fgi_sweep_run(view, run), "error");
        if (*error == '\0')
            continue;
        fgi_buf_putc(out, '\n');
        fgi_run_put_plain(out, fgi_sweep_name(view, run));
        fgi_buf_puts(out, ": ");
        fgi_run_put_plain(out, error);
        fgi_buf_putc(out, '\n');
    }
}

void fgi_sweep_text_put(fgi_buf *out, const fgi_sweep_view *view)
{
    fgi_buf cell = {0};
    fgi_sweep_words(out, view);
    fgi_buf_puts(out, "\n\n");
    put_table(out, view, &cell);
    if (view->ranked > 0)
        put_plot(out, view);
    put_errors(out, view);
    out->failed |= cell.failed;
    fgi_buf_fini(&cell);
}
