/* plots.c - see plots.h.
 *
 * Steps are numbered as in the log: step 1 is the first. Of a run with more steps than POINTS, the
 * files and plots of a schedule contain evenly spaced ones, with the first, the last and the
 * highest.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/reports.h"

#include <fulgurite/report.h>
#include <inttypes.h>
#include <math.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "doc/doc.h"

enum { POINTS = 10000, TABLE = 5, CLOSE = 100000 };

static void put_number(fgi_buf *out, double value)
{
    fgi_buf_putc(out, ',');
    if (isfinite(value))
        fgi_buf_printf(out, "%.9g", value);
}

/* ---- the search for a learning rate ---------------------------------------------------------- */

const char *const fgi_lr_suggestion_names[FGI_LR_SUGGESTIONS] = {"valley", "steep", "slide",
                                                                 "minimum"};

double fgi_lr_suggestion(const fg_lr_suggestions *s, size_t index)
{
    const double values[FGI_LR_SUGGESTIONS] = {s->valley, s->steep, s->slide, s->minimum};
    return values[index];
}

json_t *fgi_lr_suggestions_json(const fg_lr_suggestions *suggestions)
{
    json_t *object = json_object();
    for (size_t i = 0; i < FGI_LR_SUGGESTIONS; i++)
        (void)json_object_set_new(object, fgi_lr_suggestion_names[i],
                                  fgi_json_real(fgi_lr_suggestion(suggestions, i)));
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

json_t *fgi_lr_json(const void *self)
{
    const fg_lr_curve *curve = self;
    const size_t count = fg_lr_curve_count(curve);
    const fg_lr_suggestions *s = fg_lr_curve_suggestions(curve);
    return json_pack("{s:o, s:[o, o], s:i, s:s, s:f, s:o, s:o, s:o}", "suggestions",
                     fgi_lr_suggestions_json(s), "valley_range", fgi_json_real(s->valley_low),
                     fgi_json_real(s->valley_high), "usable_segments", s->usable_segments, "note",
                     s->note, "lr_factor", fg_lr_curve_factor(curve), "lr",
                     fgi_json_reals(fg_lr_curve_lr(curve), count), "smoothed",
                     fgi_json_reals(fg_lr_curve_smoothed(curve), count), "loss", losses(curve));
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

static void put_lr_csv(const void *self, fgi_buf *out)
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
typedef struct lr_picture {
    fgi_chart chart;
    fgi_series series[1 + FGI_LR_SUGGESTIONS];
    double x[FGI_LR_SUGGESTIONS], y[FGI_LR_SUGGESTIONS];
    char name[FGI_LR_SUGGESTIONS][40];
} lr_picture;

static void fill_lr(lr_picture *p, const fg_lr_curve *curve)
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
    lr_picture p;
    fill_lr(&p, curve);
    fgi_chart_put_text(out, &p.chart, (fgi_chart_size){columns, 14, is_ascii});
}

fg_status fg_report_lr_write(const fg_lr_curve *curve, const char *path, fg_error *err)
{
    lr_picture p;
    fill_lr(&p, curve);
    return fgi_chart_file_write(&(fgi_chart_file){&p.chart, 1, curve, put_lr_csv, fgi_lr_json},
                                path, err);
}

/* ---- schedules ------------------------------------------------------------------------------- */

/* Steps that the schedule is shown for: a run without a limit, whose rates are constant, has one.
 */
static int64_t step_count(const fgi_schedule_view *v)
{
    return v->settings.total_steps > 0 ? v->settings.total_steps : 1;
}

static double lr_of(const fgi_schedule_view *v, int64_t index)
{
    return fg_schedule_lr(v->schedule, v->settings.lr, index, step_count(v));
}

static double momentum_of(const fgi_schedule_view *v, int64_t index)
{
    return fg_schedule_momentum(v->schedule, v->momentum, index, step_count(v));
}

/* The index of point `i` of `count`, evenly spaced, from the first to the last step. */
static int64_t index_of(int64_t steps, int64_t count, int64_t i)
{
    return count > 1 ? (int64_t)((double)i / (double)(count - 1) * (double)(steps - 1) + 0.5) : 0;
}

/* The first step with the highest learning rate; of a very long run, close to it. */
static int64_t find_highest(const fgi_schedule_view *v)
{
    const int64_t steps = step_count(v), count = steps < POINTS ? steps : POINTS;
    int64_t best = 0, from = 0, to = 0;
    for (int64_t i = 0; i < count; i++)
        if (lr_of(v, index_of(steps, count, i)) > lr_of(v, best)) {
            best = index_of(steps, count, i);
            from = index_of(steps, count, i - 1);
            to = i + 1 < count ? index_of(steps, count, i + 1) : best;
        }
    for (int64_t k = from; k <= to && to - from <= CLOSE; k++)
        if (lr_of(v, k) > lr_of(v, best) || (lr_of(v, k) >= lr_of(v, best) && k < best))
            best = k;
    return best;
}

/* The steps to write, in ascending order, and their values. */
typedef struct points {
    const fgi_schedule_view *view;
    int64_t *index;
    double *step, *lr, *momentum; /* step: index + 1; one block */
    size_t count;
} points;

static void free_points(points *p)
{
    fgi_free(p->index);
    fgi_free(p->step);
}

static bool make_points(const fgi_schedule_view *v, points *out)
{
    const int64_t steps = step_count(v), count = steps < POINTS ? steps : POINTS;
    const int64_t highest = find_highest(v);
    const size_t most = (size_t)count + 1;
    *out = (points){.view = v,
                    .index = fgi_calloc(most, sizeof(int64_t)),
                    .step = fgi_calloc(3 * most, sizeof(double))};
    if (out->index == NULL || out->step == NULL)
        return false;
    out->lr = out->step + most;
    out->momentum = out->lr + most;
    for (int64_t i = 0; i < count; i++) {
        const int64_t index = index_of(steps, count, i);
        const int64_t before = out->count > 0 ? out->index[out->count - 1] : -1;
        if (highest > before && highest < index)
            out->index[out->count++] = highest;
        out->index[out->count++] = index;
    }
    for (size_t i = 0; i < out->count; i++) {
        out->step[i] = (double)out->index[i] + 1;
        out->lr[i] = lr_of(v, out->index[i]);
        out->momentum[i] = momentum_of(v, out->index[i]);
    }
    return true;
}

static int64_t epoch_of(const fgi_schedule_view *v, int64_t index)
{
    return fg_fit_settings_epoch(&v->settings, index);
}

static void put_settings(const fgi_schedule_view *v, fgi_buf *out)
{
    const fg_fit_settings *s = &v->settings;
    const int64_t samples = s->global_batch_size * s->accumulate_grad_batches;
    fgi_buf_printf(out, "schedule: %s", v->name);
    if (s->total_steps > 0)
        fgi_buf_printf(out, " over %" PRId64 " step%s", s->total_steps, fgi_s(s->total_steps));
    else
        fgi_buf_puts(out, ", no limit of steps");
    for (int i = 0; i < s->part_count && (i == 0 || s->part[i].epoch < s->total_epochs); i++)
        fgi_buf_printf(
            out, i == 0 ? ", %" PRId64 " per epoch" : ", %" PRId64 " starting at epoch %" PRId64,
            s->part[i].steps, s->part[i].epoch);
    fgi_buf_printf(out, "\nsamples per step: %" PRId64 " (%d shard%s of %" PRId64, samples,
                   s->batch_shards, fgi_s(s->batch_shards), s->batch_size);
    if (s->accumulate_grad_batches > 1)
        fgi_buf_printf(out, ", %" PRId64 " batches accumulated", s->accumulate_grad_batches);
    fgi_buf_printf(out, ")\nlr: %.6g", s->lr_given);
    if (s->lr_factor != 1)
        fgi_buf_printf(out, " times %.6g (%s scaling) is %.6g", s->lr_factor, s->lr_scaling, s->lr);
    fgi_buf_puts(out, "\n\n");
}

static void put_schedule_csv(const void *self, fgi_buf *out)
{
    const points *p = self;
    fgi_buf_puts(out, "step,epoch,lr,momentum\n");
    for (size_t i = 0; i < p->count; i++) {
        fgi_buf_printf(out, "%" PRId64 ",", p->index[i] + 1);
        if (epoch_of(p->view, p->index[i]) >= 0)
            fgi_buf_printf(out, "%" PRId64, epoch_of(p->view, p->index[i]));
        put_number(out, p->lr[i]);
        put_number(out, p->momentum[i]);
        fgi_buf_putc(out, '\n');
    }
}

static json_t *row_of(const fgi_schedule_view *v, int percent, int64_t index)
{
    json_t *row = json_pack("{s:I, s:o, s:f, s:o}", "step", (json_int_t)index + 1, "epoch",
                            fgi_json_count(epoch_of(v, index)), "lr", lr_of(v, index), "momentum",
                            fgi_json_real(momentum_of(v, index)));
    if (percent >= 0)
        (void)json_object_set_new(row, "percent", json_integer(percent));
    return row;
}

static json_t *table_of(const fgi_schedule_view *v)
{
    json_t *rows = json_array();
    const int64_t last = step_count(v) - 1;
    for (int i = 0; i < TABLE; i++)
        (void)json_array_append_new(rows, row_of(v, 25 * i, last / 4 * i + last % 4 * i / 4));
    return rows;
}

/* "25 %", "highest" */
static void put_name(fgi_buf *out, const fgi_field *field, const json_t *row)
{
    const double percent = fgi_field_number(field, row);
    if (isfinite(percent))
        fgi_buf_printf(out, "%.0f %%", percent);
    else
        fgi_buf_puts(out, "highest");
}

void fgi_schedule_put_table(const fgi_schedule_view *view, fgi_buf *out)
{
    static const fgi_field fields[] = {
        {"", "percent", FGI_WORDS, FGI_BOTH, put_name}, FGI_FIELD("step", "step", FGI_COUNT),
        FGI_FIELD("epoch", "epoch", FGI_COUNT),         FGI_FIELD("lr", "lr", FGI_FIGURE),
        FGI_FIELD("momentum", "momentum", FGI_FIGURE),  FGI_FIELDS_END};
    json_t *rows = table_of(view);
    fgi_doc d;
    (void)json_array_append_new(rows, row_of(view, -1, find_highest(view)));
    put_settings(view, out);
    fgi_doc_begin(&d, out, false, "");
    fgi_doc_table(&d, NULL, fields, rows);
    fgi_doc_end(&d);
    json_decref(rows);
}

static json_t *settings_of(const fgi_schedule_view *v)
{
    const fg_fit_settings *s = &v->settings;
    return json_pack("{s:s, s:o, s:o, s:o, s:i, s:i, s:I, s:I, s:I, s:s, s:f, s:f, s:f}",
                     "schedule", v->name, "total_steps", fgi_json_count(s->total_steps),
                     "total_epochs", fgi_json_count(s->total_epochs), "steps_per_epoch",
                     fgi_json_count(s->steps_per_epoch), "devices", s->device_count, "batch_shards",
                     s->batch_shards, "batch_size", (json_int_t)s->batch_size, "global_batch_size",
                     (json_int_t)s->global_batch_size, "accumulate_grad_batches",
                     (json_int_t)s->accumulate_grad_batches, "lr_scaling", s->lr_scaling,
                     "lr_given", s->lr_given, "lr_factor", s->lr_factor, "lr", s->lr);
}

static json_t *points_json(const void *self)
{
    const points *p = self;
    const fgi_schedule_view *v = p->view;
    json_t *root = settings_of(v), *steps = json_array();
    for (size_t i = 0; i < p->count; i++)
        (void)json_array_append_new(steps, json_integer((json_int_t)p->index[i] + 1));
    (void)json_object_update_new(root,
                                 json_pack("{s:o, s:o, s:o, s:o, s:o}", "at", table_of(v),
                                           "highest", row_of(v, -1, find_highest(v)), "step", steps,
                                           "lr_at", fgi_json_reals(p->lr, p->count), "momentum_at",
                                           fgi_json_reals(p->momentum, p->count)));
    return root;
}

json_t *fgi_schedule_json(const fgi_schedule_view *view)
{
    points p;
    json_t *root = make_points(view, &p) ? points_json(&p) : NULL;
    free_points(&p);
    return root;
}

/* Whether there is something to draw: not if no value is known. */
static bool is_changing(const double *values, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (fabs(values[i] - values[0]) > 0)
            return true;
    return false;
}

/* The learning rate, and the momentum if it changes. */
typedef struct picture {
    fgi_series series[2];
    fgi_chart charts[2];
    size_t count;
} picture;

static void fill(picture *out, const points *p)
{
    static const char *const names[] = {"learning rate", "momentum"};
    const double *const y[] = {p->lr, p->momentum};
    out->count = is_changing(p->momentum, p->count) ? 2 : 1;
    for (int i = 0; i < 2; i++) {
        out->series[i] = (fgi_series){names[i], p->step, y[i], p->count};
        out->charts[i] = (fgi_chart){.title = names[i],
                                     .x_label = "steps",
                                     .series = &out->series[i],
                                     .count = 1,
                                     .y = FGI_SCALE_LINEAR,
                                     .color = 3 + i};
    }
}

void fgi_schedule_draw(const fgi_schedule_view *view, int columns, bool is_ascii, fgi_buf *out)
{
    points p;
    picture drawn;
    if (!make_points(view, &p)) {
        out->failed = true;
    } else if (p.count > 1) {
        fill(&drawn, &p);
        for (size_t i = 0; i < drawn.count; i++)
            fgi_chart_put_text(out, &drawn.charts[i], (fgi_chart_size){columns, 12, is_ascii});
    }
    free_points(&p);
}

fg_status fgi_schedule_write(const fgi_schedule_view *view, const char *path, fg_error *err)
{
    points p;
    picture drawn;
    fg_status status = make_points(view, &p) ? FG_OK : fgi_no_memory(err);
    if (status == FG_OK) {
        fill(&drawn, &p);
        status = fgi_chart_file_write(
            &(fgi_chart_file){drawn.charts, drawn.count, &p, put_schedule_csv, points_json}, path,
            err);
    }
    free_points(&p);
    return status;
}
