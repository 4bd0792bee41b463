/* battery.c - the op battery of battery.h.
 *
 * A group of rows is one program, because compiling is expensive: the inputs of all rows are its
 * arguments, results and gradients of all rows its outputs. For finite differences, the program is
 * launched repeatedly with one element of each row perturbed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "battery.h"
#include "fgt.h"

#include <fulgurite/ckpt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"
#include "trace/program.h"

enum { MOST_INPUTS = 3, GROUP = 48, MOST_OUTPUTS = 2 + GROUP * (2 * MOST_INPUTS + 1) };

static int failures; /* reported one by one, so that a run shows all of them */

/* ---- the record ------------------------------------------------------------------------------ */

typedef struct recorded {
    fg_type type;
    size_t count;
    const void *data;
} recorded;

/* The open records, by family. */
static struct {
    const char *family;
    fg_ckpt *record;
} open_records[24];
enum { MOST_RECORDS = sizeof open_records / sizeof open_records[0] };

static fg_ckpt *record_of(const char *family)
{
    fg_error err = {0};
    char path[512];
    size_t i = 0;
    while (i < MOST_RECORDS && open_records[i].family != NULL &&
           strcmp(open_records[i].family, family) != 0)
        i++;
    assert_true(i < MOST_RECORDS);
    if (open_records[i].family == NULL) {
        (void)snprintf(path, sizeof path, "%s/tests/golden/ops/%s.safetensors", FGT_SOURCE_DIR,
                       family);
        fgt_ok(fg_ckpt_open(path, NULL, &open_records[i].record, &err));
        open_records[i].family = family;
    }
    return open_records[i].record;
}

void fgt_battery_close(void)
{
    for (size_t i = 0; i < MOST_RECORDS; i++) {
        fg_ckpt_close(open_records[i].record);
        open_records[i].record = NULL;
        open_records[i].family = NULL;
    }
}

static bool find(const fgt_row *row, const char *what, int number, recorded *out)
{
    char name[96];
    size_t at;
    const fg_ckpt *record = record_of(row->family);
    (void)snprintf(name, sizeof name, number < 0 ? "%s.%s" : "%s.%s%d", row->id, what, number);
    if (!fg_ckpt_find(record, FG_CKPT_MODEL, name, &at))
        return false;
    out->type = fg_ckpt_info(record, at)->type;
    out->count = (size_t)fg_type_count(&out->type);
    out->data = fg_ckpt_data(record, at);
    return true;
}

static recorded must_find(const fgt_row *row, const char *what, int number)
{
    recorded r = {0};
    if (!find(row, what, number, &r))
        fail_msg("no record of %s.%s%d: run tests/golden/ops/record.py %s", row->id, what, number,
                 row->family);
    return r;
}

/* The inputs of a row as arrays, floating-point inputs in dtype, with the element `moved` increased
 * by `by`. */
static fg_array *upload(fg_client *client, const recorded *r, fg_dtype dtype, size_t moved,
                        double by)
{
    fg_error err = {0};
    fg_array *array = NULL;
    fg_type type = r->type;
    if (!fg_dtype_is_float(type.dtype)) {
        fgt_ok(fg_array_create(client, &type, r->data, &array, &err));
        return array;
    }
    type.dtype = dtype;
    void *data = calloc(r->count + 1, sizeof(double));
    for (size_t i = 0; i < r->count; i++)
        fgi_number_put(dtype, data, i,
                       fgi_number_get(r->type.dtype, r->data, i) + (i == moved ? by : 0));
    fgt_ok(fg_array_create(client, &type, data, &array, &err));
    free(data);
    return array;
}

static double *read_all(fg_array *array)
{
    fg_error err = {0};
    const fg_type *type = fg_array_type(array);
    const size_t count = (size_t)fg_type_count(type), size = fg_type_bytes(type);
    char *raw = malloc(size + 1);
    double *values = calloc(count + 1, sizeof *values);
    fgt_ok(fg_array_read(array, raw, size, &err));
    for (size_t i = 0; i < count; i++)
        values[i] = fgi_number_get(type->dtype, raw, i);
    free(raw);
    return values;
}

/* ---- comparison ------------------------------------------------------------------------------ */

/* Rounding error of a few operations in that dtype, relative to the largest element. */
static double tolerance(fg_dtype dtype, int checks)
{
    const double cancelled = (checks & FGT_SHARP) != 0 ? 50 : 1;
    switch (dtype) {
    case FG_F64: return (checks & FGT_ROUGH) != 0 ? 2e-6 : cancelled * 2e-14;
    case FG_F32: return cancelled * 2e-6;
    case FG_F16: return 4e-3;
    case FG_BF16: return 3e-2;
    default: return 0;
    }
}

static double largest(const double *values, size_t count)
{
    double top = 1;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]) && fabs(values[i]) > top)
            top = fabs(values[i]);
    return top;
}

static bool is_near(double got, double expected, double allowed)
{
    return got == expected || (isnan(got) && isnan(expected)) || fabs(got - expected) <= allowed;
}

static void compare(const fgt_row *row, const char *what, int number, fg_array *array,
                    fg_dtype dtype)
{
    const recorded reference = must_find(row, what, number);
    const fg_type *type = fg_array_type(array);
    char name[96], have[96], shape[96];
    (void)snprintf(name, sizeof name, number < 0 ? "%s.%s" : "%s.%s%d", row->id, what, number);
    fg_type expected = reference.type;
    expected.dtype = type->dtype;
    if (memcmp(&expected, type, sizeof expected) != 0)
        fail_msg("%s is %s, recorded is %s", name, fg_type_format(type, have, sizeof have),
                 fg_type_format(&reference.type, shape, sizeof shape));
    if (fg_dtype_is_float(reference.type.dtype) != fg_dtype_is_float(type->dtype) ||
        (!fg_dtype_is_float(type->dtype) && type->dtype != reference.type.dtype))
        fail_msg("%s is %s, recorded is %s", name, fg_dtype_name(type->dtype),
                 fg_dtype_name(reference.type.dtype));
    double *got = read_all(array), *exact = calloc(reference.count + 1, sizeof *exact);
    for (size_t i = 0; i < reference.count; i++)
        exact[i] = fgi_number_get(reference.type.dtype, reference.data, i);
    const fg_dtype coarse = type->dtype < dtype ? type->dtype : dtype;
    const double allowed = fg_dtype_is_float(type->dtype)
                               ? tolerance(coarse, row->checks) * largest(exact, reference.count)
                               : 0;
    for (size_t i = 0; i < reference.count; i++)
        if (!is_near(got[i], exact[i], allowed)) {
            print_error("%s in %s: element %zu is %.17g, PyTorch has %.17g\n", name,
                        fg_dtype_name(dtype), i, got[i], exact[i]);
            failures++;
            break;
        }
    free(got);
    free(exact);
}

/* ---- a group of rows ------------------------------------------------------------------------- */

/* A row in a program. */
typedef struct traced {
    const fgt_row *row;
    int count;
    recorded from[MOST_INPUTS];
    fg_tensor in[MOST_INPUTS];
    fg_tensor open[MOST_INPUTS]; /* the floating ones, and which inputs they are */
    int open_at[MOST_INPUTS];
    int open_count;
    bool has_gradient, is_moved, is_twice;
    size_t out_at; /* the result among the outputs, then gradients, then second gradients */
    double *by_total[MOST_INPUTS], *by_slope[MOST_INPUTS];
} traced;

/* Outputs: the totals of all rows in one vector (a total is the sum of a result weighed by the
 * record's w), also the slopes (sums of the gradients along `direction`), then row by row what
 * out_at says. */
typedef struct group {
    fg_client *client;
    fg_dtype dtype;
    traced rows[GROUP];
    size_t count;
    fg_array *feeds[GROUP * (MOST_INPUTS + 1)]; /* the inputs of each row, then its w */
    size_t feed_count;
    fg_tensor outputs[MOST_OUTPUTS];
    size_t output_count;
    fg_array *arrays[MOST_OUTPUTS];
    fgi_step_program *program;
} group;

static bool has_t(const fgt_row *row) { return strstr(row->inputs, "T[") != NULL; }

static bool is_picked(const fgt_row *row, fg_dtype dtype)
{
    const char *pick = getenv("FGT_ROW");
    if (pick != NULL && strncmp(row->id, pick, strlen(pick)) != 0)
        return false;
    if (dtype == FG_BF16 || dtype == FG_F16)
        return (row->checks & (dtype == FG_BF16 ? FGT_BF16 : FGT_F16)) != 0;
    return dtype == FG_F32 || has_t(row);
}

static void add_row(group *g, const fgt_row *row)
{
    traced *t = &g->rows[g->count++];
    memset(t, 0, sizeof *t);
    t->row = row;
    while (t->count < MOST_INPUTS && find(row, "in", t->count, &t->from[t->count]))
        t->count++;
    if (t->count == 0)
        fail_msg("no record of %s: run tests/golden/ops/record.py %s", row->id, row->family);
    t->has_gradient = (row->checks & FGT_GRAD) != 0;
    t->is_moved = g->dtype == FG_F64 && (row->checks & FGT_DIFF) != 0;
    t->is_twice = g->dtype == FG_F64 && (row->checks & FGT_TWICE) != 0;
}

/* ---- tracing --------------------------------------------------------------------------------- */

static fg_tensor feed(group *g, fg_trace *trace, const recorded *r, fg_dtype dtype)
{
    fg_type type = r->type;
    if (fg_dtype_is_float(type.dtype))
        type.dtype = dtype;
    return fgi_trace_feed(trace, (int)g->feed_count++, &type);
}

static void call(fg_trace *trace, traced *t)
{
    fg_error err = {0};
    for (int i = t->count; i < MOST_INPUTS; i++)
        t->in[i] = t->in[0];
    for (int i = 0; i < t->count; i++)
        if (fg_dtype_is_float(fg_tensor_type(t->in[i])->dtype)) {
            t->open_at[t->open_count] = i;
            t->open[t->open_count++] = t->in[i];
        }
    const fg_tensor out = t->row->call(trace, t->in);
    if (fg_trace_error(trace, &err) != FG_OK)
        fail_msg("%s: %s", t->row->id, err.message);
    t->in[0] = out;
}

/* Values of mixed signs without symmetry: cos(1.7 i + 1). */
static fg_tensor direction(fg_trace *trace, const fg_type *type)
{
    const fg_tensor i = fg_iota(trace, type->dtype, 0, FG_DIMS(fg_type_count(type)));
    return fg_reshape(fg_cos(fg_add_scalar(fg_mul_scalar(i, 1.7), 1)), type->rank, type->dim);
}

static fg_tensor slope_of(fg_trace *trace, const traced *t, const fg_tensor *gradient)
{
    fg_tensor slope = fg_zeros(trace, FG_F64, FG_SCALAR);
    for (int i = 0; i < t->open_count; i++) {
        const fg_tensor along = direction(trace, fg_tensor_type(gradient[i]));
        slope = fg_add(slope, fg_sum(fg_mul(gradient[i], along), 0, NULL));
    }
    return slope;
}

/* The row's outputs from out_at on; its total and slope, 0 where they are not wanted. */
static void trace_row(group *g, fg_trace *trace, traced *t, fg_tensor *out_total,
                      fg_tensor *out_slope)
{
    for (int i = 0; i < t->count; i++)
        t->in[i] = feed(g, trace, &t->from[i], g->dtype);
    call(trace, t);
    t->out_at = g->output_count;
    g->outputs[g->output_count++] = t->in[0];
    *out_total = *out_slope = fg_zeros(trace, FG_F64, FG_SCALAR);
    if (!t->has_gradient)
        return;
    const recorded w = must_find(t->row, "w", -1);
    const fg_tensor weight = feed(g, trace, &w, fg_tensor_type(t->in[0])->dtype);
    const fg_tensor total = fg_sum(fg_mul(t->in[0], weight), 0, NULL);
    fg_tensor *gradient = &g->outputs[g->output_count];
    fg_grad(total, t->open, (size_t)t->open_count, gradient);
    g->output_count += (size_t)t->open_count;
    if (t->is_moved)
        *out_total = fg_cast(total, FG_F64);
    if (!t->is_twice)
        return;
    *out_slope = slope_of(trace, t, gradient);
    fg_grad(*out_slope, t->open, (size_t)t->open_count, &g->outputs[g->output_count]);
    g->output_count += (size_t)t->open_count;
}

static void compile(group *g, fg_trace *trace)
{
    fg_error err = {0};
    fg_tensor totals[GROUP], slopes[GROUP];
    g->output_count = 2;
    for (size_t r = 0; r < g->count; r++) {
        trace_row(g, trace, &g->rows[r], &totals[r], &slopes[r]);
        totals[r] = fg_reshape(totals[r], FG_DIMS(1));
        slopes[r] = fg_reshape(slopes[r], FG_DIMS(1));
    }
    g->outputs[0] = fg_concat(totals, (int)g->count, 0);
    g->outputs[1] = fg_concat(slopes, (int)g->count, 0);
    fgt_ok(fgi_step_program_create(trace, g->outputs, g->output_count, &g->program, &err));
}

/* ---- launching ------------------------------------------------------------------------------- */

enum { MOST_PROBES = 48 }; /* elements of a row that are moved, spread over all */

static const double step_size = 0x1p-16;

static size_t elements(const traced *t)
{
    size_t sum = 0;
    for (int i = 0; i < t->open_count; i++)
        sum += t->from[t->open_at[i]].count;
    return sum;
}

/* The element that probe n of a row perturbs: input (index into open) and position. */
static bool place_of(const traced *t, size_t n, int *out_input, size_t *out_at)
{
    const size_t all = elements(t), probes = all < MOST_PROBES ? all : MOST_PROBES;
    if (!t->is_moved || n >= probes)
        return false;
    size_t at = n * all / probes;
    int i = 0;
    while (at >= t->from[t->open_at[i]].count)
        at -= t->from[t->open_at[i++]].count;
    *out_input = i;
    *out_at = at;
    return true;
}

static void release(fg_array **arrays, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fg_array_release(arrays[i]);
        arrays[i] = NULL;
    }
}

/* Uploads every row's inputs, each with its probe n moved `by`, and launches. */
static void launch(group *g, size_t n, double by)
{
    fg_error err = {0};
    size_t feed_at = 0;
    release(g->feeds, g->feed_count);
    for (size_t r = 0; r < g->count; r++) {
        const traced *t = &g->rows[r];
        int input = 0;
        size_t at = SIZE_MAX;
        const bool moves = by != 0 && place_of(t, n, &input, &at);
        for (int i = 0; i < t->count; i++)
            g->feeds[feed_at++] = upload(g->client, &t->from[i], g->dtype,
                                         moves && t->open_at[input] == i ? at : SIZE_MAX, by);
        if (!t->has_gradient)
            continue;
        const recorded w = must_find(t->row, "w", -1);
        const fg_dtype dtype = fg_tensor_type(g->outputs[t->out_at])->dtype;
        g->feeds[feed_at++] = upload(g->client, &w, dtype, SIZE_MAX, 0);
    }
    fgt_ok(fgi_step_program_launch(g->program, g->feeds, g->feed_count, g->arrays, NULL, &err));
}

/* Compares with the record; keeps the values that the differences are compared with. */
static void check_record(group *g)
{
    for (size_t r = 0; r < g->count; r++) {
        traced *t = &g->rows[r];
        size_t at = t->out_at;
        compare(t->row, "out", -1, g->arrays[at++], g->dtype);
        for (int i = 0; i < t->open_count && t->has_gradient; i++) {
            t->by_total[i] = read_all(g->arrays[at]);
            compare(t->row, "d", t->open_at[i], g->arrays[at++], g->dtype);
        }
        for (int i = 0; i < t->open_count && t->is_twice; i++)
            t->by_slope[i] = read_all(g->arrays[at++]);
    }
}

static void check_difference(const traced *t, const char *what, int i, size_t at,
                             const double *gradient, double difference)
{
    const double allowed = 1e-6 * largest(gradient, t->from[t->open_at[i]].count);
    if (is_near(gradient[at], difference, allowed))
        return;
    print_error("%s: %s by element %zu of input %d is %.12g, the difference says %.12g\n",
                t->row->id, what, at, t->open_at[i], gradient[at], difference);
    failures++;
}

static void check_probe(group *g, size_t n)
{
    double *total[2], *slope[2];
    for (int side = 0; side < 2; side++) {
        launch(g, n, side == 0 ? -step_size : step_size);
        total[side] = read_all(g->arrays[0]);
        slope[side] = read_all(g->arrays[1]);
        release(g->arrays, g->output_count);
    }
    for (size_t r = 0; r < g->count; r++) {
        const traced *t = &g->rows[r];
        int i;
        size_t at;
        if (!place_of(t, n, &i, &at))
            continue;
        check_difference(t, "the gradient", i, at, t->by_total[i],
                         (total[1][r] - total[0][r]) / (2 * step_size));
        if (t->is_twice)
            check_difference(t, "the second gradient", i, at, t->by_slope[i],
                             (slope[1][r] - slope[0][r]) / (2 * step_size));
    }
    for (int side = 0; side < 2; side++) {
        free(total[side]);
        free(slope[side]);
    }
}

static void check_group(group *g)
{
    fg_error err = {0};
    fg_trace *trace;
    size_t probes = 0;
    fgt_ok(fg_trace_create(g->client, &trace, &err));
    compile(g, trace);
    launch(g, 0, 0);
    check_record(g);
    release(g->arrays, g->output_count);
    for (size_t r = 0; r < g->count; r++)
        if (g->rows[r].is_moved && elements(&g->rows[r]) > probes)
            probes = elements(&g->rows[r]);
    for (size_t n = 0; n < probes && n < MOST_PROBES; n++)
        check_probe(g, n);
    release(g->feeds, g->feed_count);
    for (size_t r = 0; r < g->count; r++)
        for (int i = 0; i < MOST_INPUTS; i++) {
            free(g->rows[r].by_total[i]);
            free(g->rows[r].by_slope[i]);
        }
    fgi_step_program_destroy(g->program);
    fg_trace_destroy(trace);
    g->count = g->feed_count = 0;
}

void fgt_battery(fg_client *client, const fgt_row *rows, size_t count, fg_dtype dtype)
{
    group *g = calloc(1, sizeof *g);
    g->client = client;
    g->dtype = dtype;
    for (size_t r = 0; r < count; r++) {
        if (is_picked(&rows[r], dtype))
            add_row(g, &rows[r]);
        if (g->count == GROUP || (r + 1 == count && g->count > 0))
            check_group(g);
    }
    free(g);
    const int found = failures;
    failures = 0;
    assert_int_equal(found, 0);
}
