/* schedule_plot.c - see schedule_plot.h.
 *
 * Steps are numbered as in the log: step 1 is the first. Of a run with more steps than POINTS, the
 * files and plots contain evenly spaced ones, with the first, the last and the highest.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/schedule_plot.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "input/json_file.h"
#include "doc/doc.h"

enum { POINTS = 10000, TABLE = 5, CLOSE = 100000 };

/* ---- the values ------------------------------------------------------------------------------ */

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
    double *step, *lr, *momentum; /* step: index + 1 */
    size_t count;
} points;

static void free_points(points *p)
{
    fgi_free(p->index);
    fgi_free(p->step);
    fgi_free(p->lr);
    fgi_free(p->momentum);
}

static bool make_points(const fgi_schedule_view *v, points *out)
{
    const int64_t steps = step_count(v), count = steps < POINTS ? steps : POINTS;
    const int64_t highest = find_highest(v);
    const size_t most = (size_t)count + 1;
    *out = (points){.view = v,
                    .index = fgi_calloc(most, sizeof(int64_t)),
                    .step = fgi_calloc(most, sizeof(double)),
                    .lr = fgi_calloc(most, sizeof(double)),
                    .momentum = fgi_calloc(most, sizeof(double))};
    if (!out->index || !out->step || !out->lr || !out->momentum)
        return false;
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

/* ---- the settings ---------------------------------------------------------------------------- */

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

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

static void put_csv(const void *self, fgi_buf *out)
{
    const points *p = self;
    const fgi_schedule_view *v = p->view;
    fgi_buf_puts(out, "step,epoch,lr,momentum\n");
    for (size_t i = 0; i < p->count; i++) {
        fgi_buf_printf(out, "%" PRId64 ",", p->index[i] + 1);
        if (epoch_of(v, p->index[i]) >= 0)
            fgi_buf_printf(out, "%" PRId64, epoch_of(v, p->index[i]));
        fgi_buf_printf(out, ",%.9g,", p->lr[i]);
        if (!isnan(p->momentum[i]))
            fgi_buf_printf(out, "%.9g", p->momentum[i]);
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

/* ---- the table ------------------------------------------------------------------------------- */

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

/* ---- the object ------------------------------------------------------------------------------ */

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

static bool put_json(const void *self, fgi_buf *out)
{
    const points *p = self;
    const fgi_schedule_view *v = p->view;
    json_t *root = settings_of(v), *steps = json_array();
    for (size_t i = 0; i < p->count; i++)
        (void)json_array_append_new(steps, json_integer((json_int_t)p->index[i] + 1));
    const bool is_good =
        json_object_set_new(root, "at", table_of(v)) == 0 &&
        json_object_set_new(root, "highest", row_of(v, -1, find_highest(v))) == 0 &&
        json_object_set_new(root, "step", steps) == 0 &&
        json_object_set_new(root, "lr_at", fgi_json_reals(p->lr, p->count)) == 0 &&
        json_object_set_new(root, "momentum_at", fgi_json_reals(p->momentum, p->count)) == 0 &&
        fgi_json_write(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9), out);
    json_decref(root);
    fgi_buf_putc(out, '\n');
    return is_good;
}

bool fgi_schedule_put_json(const fgi_schedule_view *view, fgi_buf *out)
{
    points p;
    const bool is_good = make_points(view, &p) && put_json(&p, out);
    free_points(&p);
    return is_good;
}

/* ---- plots ----------------------------------------------------------------------------------- */

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
            &(fgi_chart_file){drawn.charts, drawn.count, &p, put_csv, put_json}, path, err);
    }
    free_points(&p);
    return status;
}
