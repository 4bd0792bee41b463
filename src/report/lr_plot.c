/* lr_plot.c - see lr_plot.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/lr_plot.h"

#include <fulgurite/report.h>
#include <math.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "input/json_file.h"
#include "doc/chart.h"
#include "base/buf.h"

const char *const fgi_lr_suggestion_names[FGI_LR_SUGGESTIONS] = {"valley", "steep", "slide",
                                                                 "minimum"};

double fgi_lr_suggestion(const fg_lr_suggestions *s, size_t index)
{
    const double values[FGI_LR_SUGGESTIONS] = {s->valley, s->steep, s->slide, s->minimum};
    return values[index];
}

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

json_t *fgi_lr_suggestions_json(const fg_lr_suggestions *suggestions)
{
    json_t *object = json_object();
    for (size_t i = 0; i < FGI_LR_SUGGESTIONS; i++)
        if (json_object_set_new(object, fgi_lr_suggestion_names[i],
                                fgi_json_real(fgi_lr_suggestion(suggestions, i))) != 0) {
            json_decref(object);
            return NULL;
        }
    return object;
}

static json_t *losses(const fg_lr_curve *curve)
{
    json_t *array = json_array();
    for (int k = 0; k < fg_lr_curve_segments(curve); k++)
        (void)json_array_append_new(
            array, fgi_json_reals(fg_lr_curve_loss(curve, k), fg_lr_curve_count(curve)));
    return array;
}

bool fgi_lr_put_json(const void *self, fgi_buf *out)
{
    const fg_lr_curve *curve = self;
    const size_t count = fg_lr_curve_count(curve);
    const fg_lr_suggestions *s = fg_lr_curve_suggestions(curve);
    json_t *root = json_pack(
        "{s:o, s:[o, o], s:i, s:s, s:f, s:o, s:o, s:o}", "suggestions", fgi_lr_suggestions_json(s),
        "valley_range", fgi_json_real(s->valley_low), fgi_json_real(s->valley_high),
        "usable_segments", s->usable_segments, "note", s->note, "lr_factor",
        fg_lr_curve_factor(curve), "lr", fgi_json_reals(fg_lr_curve_lr(curve), count), "smoothed",
        fgi_json_reals(fg_lr_curve_smoothed(curve), count), "loss", losses(curve));
    const bool is_good =
        root != NULL && fgi_json_write(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9), out);
    json_decref(root);
    fgi_buf_putc(out, '\n');
    return is_good;
}

static void put_number(fgi_buf *out, double value)
{
    fgi_buf_putc(out, ',');
    if (isfinite(value))
        fgi_buf_printf(out, "%.9g", value);
}

/* The row of the learning rate that is nearest on a logarithmic axis. */
static size_t nearest_row(const fg_lr_curve *curve, double lr)
{
    const double *x = fg_lr_curve_lr(curve);
    size_t nearest = 0;
    for (size_t i = 1; i < fg_lr_curve_count(curve); i++)
        if (fabs(log(x[i] / lr)) < fabs(log(x[nearest] / lr)))
            nearest = i;
    return nearest;
}

/* The names of the suggestions that a row is nearest to: "valley slide". */
static void put_marks(const fg_lr_curve *curve, size_t row, fgi_buf *out)
{
    const char *separator = "";
    for (size_t i = 0; i < FGI_LR_SUGGESTIONS; i++) {
        const double lr = fgi_lr_suggestion(fg_lr_curve_suggestions(curve), i);
        if (!isfinite(lr) || nearest_row(curve, lr) != row)
            continue;
        fgi_buf_printf(out, "%s%s", separator, fgi_lr_suggestion_names[i]);
        separator = " ";
    }
}

static void put_csv(const void *self, fgi_buf *out)
{
    const fg_lr_curve *curve = self;
    const int segments = fg_lr_curve_segments(curve);
    fgi_buf_puts(out, "lr,smoothed");
    for (int k = 1; k <= segments; k++)
        fgi_buf_printf(out, ",loss_%d", k);
    fgi_buf_puts(out, ",suggestion\n");
    for (size_t i = 0; i < fg_lr_curve_count(curve); i++) {
        fgi_buf_printf(out, "%.9g", fg_lr_curve_lr(curve)[i]);
        put_number(out, fg_lr_curve_smoothed(curve)[i]);
        for (int k = 0; k < segments; k++)
            put_number(out, fg_lr_curve_loss(curve, k)[i]);
        fgi_buf_putc(out, ',');
        put_marks(curve, i, out);
        fgi_buf_putc(out, '\n');
    }
}

/* ---- plots ----------------------------------------------------------------------------------- */

/* The smoothed loss at a learning rate, interpolated over its logarithm; NaN outside the curve.
 */
static double loss_at(const fg_lr_curve *curve, double lr)
{
    const double *x = fg_lr_curve_lr(curve), *y = fg_lr_curve_smoothed(curve);
    for (size_t i = 1; i < fg_lr_curve_count(curve); i++)
        if (lr >= x[i - 1] && lr <= x[i])
            return y[i - 1] + (y[i] - y[i - 1]) * log(lr / x[i - 1]) / log(x[i] / x[i - 1]);
    return (double)NAN;
}

/* The smoothed curve and the suggestions as series. */
typedef struct picture {
    fgi_chart chart;
    fgi_series series[1 + FGI_LR_SUGGESTIONS];
    double x[FGI_LR_SUGGESTIONS], y[FGI_LR_SUGGESTIONS];
    char name[FGI_LR_SUGGESTIONS][40];
} picture;

static void fill(picture *p, const fg_lr_curve *curve)
{
    p->series[0] = (fgi_series){"loss", fg_lr_curve_lr(curve), fg_lr_curve_smoothed(curve),
                                fg_lr_curve_count(curve)};
    p->chart = (fgi_chart){.title = "smoothed loss by learning rate",
                           .x_label = "learning rate",
                           .series = p->series,
                           .count = 1,
                           .is_log_x = true,
                           .color = 3};
    for (size_t i = 0; i < FGI_LR_SUGGESTIONS; i++) {
        const double lr = fgi_lr_suggestion(fg_lr_curve_suggestions(curve), i);
        if (!isfinite(lr))
            continue;
        p->x[i] = lr;
        p->y[i] = loss_at(curve, lr);
        (void)fgi_snprintf(p->name[i], sizeof(p->name[i]), "%s %.3g", fgi_lr_suggestion_names[i],
                           lr);
        p->series[p->chart.count++] = (fgi_series){p->name[i], &p->x[i], &p->y[i], 1};
    }
}

void fgi_lr_draw(const fg_lr_curve *curve, int columns, bool is_ascii, fgi_buf *out)
{
    picture p;
    fill(&p, curve);
    fgi_chart_put_text(out, &p.chart, (fgi_chart_size){columns, 14, is_ascii});
}

/* ---- the public functions -------------------------------------------------------------------- */

fg_status fg_report_lr_draw(const fg_lr_curve *curve, int columns, bool is_ascii, char **out,
                            fg_error *err)
{
    fgi_buf text = {0};
    fgi_lr_draw(curve, columns, is_ascii, &text);
    *out = fgi_buf_take(&text);
    return *out != NULL ? FG_OK : fgi_no_memory(err);
}

fg_status fgi_lr_plot_check(const char *path, fg_error *err)
{
    return fgi_chart_file_check(path, err);
}

fg_status fg_report_lr_write(const fg_lr_curve *curve, const char *path, fg_error *err)
{
    picture p;
    fill(&p, curve);
    return fgi_chart_file_write(&(fgi_chart_file){&p.chart, 1, curve, put_csv, fgi_lr_put_json},
                                path, err);
}
