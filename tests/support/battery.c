/* battery.c - the op battery of battery.h.
 *
 * A group of rows is one program, because compiling is what costs: the inputs of all rows are its
 * arguments, results and gradients of all rows its outputs. For differences the program is
 * launched again and again with one element of each row moved.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "battery.h"
#include "fgt.h"

#include <fulgurite/ckpt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "trace/program.h"

enum { MOST_INPUTS = 3, GROUP = 48, MOST_OUTPUTS = GROUP * (2 * MOST_INPUTS + 1) };

static fg_ckpt *record;
static int failures; /* told one by one, so that a run shows them all */

static void fail_if_any(void)
{
    const int count = failures;
    failures = 0;
    assert_int_equal(count, 0);
}

void fgt_battery_close(void)
{
    fg_ckpt_close(record);
    record = NULL;
}

/* ---- numbers of any format as doubles -------------------------------------------------------- */

static double of_half(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    if (exponent == 31)
        return fraction == 0 ? sign * (double)INFINITY : (double)NAN;
    return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25));
}

static double of_bf16(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return (double)value;
}

static double element(fg_dtype dtype, const void *data, size_t i)
{
    switch (dtype) {
    case FG_BOOL:
    case FG_U8: return ((const uint8_t *)data)[i];
    case FG_S32: return ((const int32_t *)data)[i];
    case FG_S64: return (double)((const int64_t *)data)[i];
    case FG_BF16: return of_bf16(((const uint16_t *)data)[i]);
    case FG_F16: return of_half(((const uint16_t *)data)[i]);
    case FG_F32: return (double)((const float *)data)[i];
    case FG_F64: return ((const double *)data)[i];
    default: fail_msg("no battery for %s", fg_dtype_name(dtype)); return 0;
    }
}

/* Numbers of the battery's inputs fit every format exactly, so plain truncation will do. */
static void put_element(fg_dtype dtype, void *data, size_t i, double value)
{
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    if (dtype == FG_F64)
        ((double *)data)[i] = value;
    else if (dtype == FG_F32)
        ((float *)data)[i] = narrow;
    else if (dtype == FG_BF16)
        ((uint16_t *)data)[i] = (uint16_t)(bits >> 16);
    else /* f16: sign, exponent with another bias, upper bits of the fraction; 0 stays 0 */
        ((uint16_t *)data)[i] =
            (uint16_t)((bits >> 16 & 0x8000) |
                       (value == 0 ? 0 : (((bits >> 23 & 255) - 112) << 10 | (bits >> 13 & 1023))));
}

/* ---- the record ------------------------------------------------------------------------------ */

typedef struct recorded {
    fg_type type;
    size_t count;
    const void *data;
} recorded;

static bool find(const char *id, const char *what, int number, recorded *out)
{
    fg_error err = {0};
    char name[96];
    size_t at;
    if (record == NULL)
        fgt_ok(fg_ckpt_open(FGT_SOURCE_DIR "/tests/golden/ops/battery.safetensors", &record, &err));
    (void)snprintf(name, sizeof name, number < 0 ? "%s.%s" : "%s.%s%d", id, what, number);
    if (!fg_ckpt_find(record, FG_CKPT_MODEL, name, &at))
        return false;
    out->type = fg_ckpt_info(record, at)->type;
    out->count = (size_t)fg_type_count(&out->type);
    out->data = fg_ckpt_data(record, at);
    return true;
}

static recorded must_find(const char *id, const char *what, int number)
{
    recorded r = {0};
    if (!find(id, what, number, &r))
        fail_msg("no record of %s.%s%d: run tests/golden/ops/record.py", id, what, number);
    return r;
}

/* The inputs of a row as arrays, floating ones in dtype; `moved` elements of `by` more. */
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
        put_element(dtype, data, i, element(r->type.dtype, r->data, i) + (i == moved ? by : 0));
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
        values[i] = element(type->dtype, raw, i);
    free(raw);
    return values;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Rounding of a few operations in that format, relative to the largest number there is. */
static double tolerance(fg_dtype dtype, int checks)
{
    switch (dtype) {
    case FG_F64: return (checks & FGT_ROUGH) != 0 ? 2e-6 : 1e-13;
    case FG_F32: return 2e-6;
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

static bool is_near(double got, double want, double allowed)
{
    return got == want || (isnan(got) && isnan(want)) || fabs(got - want) <= allowed;
}

static void compare(const fgt_row *row, const char *what, int number, fg_array *array,
                    fg_dtype dtype)
{
    const recorded want = must_find(row->id, what, number);
    const fg_type *type = fg_array_type(array);
    char name[96], have[96], shape[96];
    (void)snprintf(name, sizeof name, number < 0 ? "%s.%s" : "%s.%s%d", row->id, what, number);
    fg_type expected = want.type;
    expected.dtype = type->dtype;
    if (memcmp(&expected, type, sizeof expected) != 0)
        fail_msg("%s is %s, recorded is %s", name, fg_type_format(type, have, sizeof have),
                 fg_type_format(&want.type, shape, sizeof shape));
    if (fg_dtype_is_float(want.type.dtype) != fg_dtype_is_float(type->dtype) ||
        (!fg_dtype_is_float(type->dtype) && type->dtype != want.type.dtype))
        fail_msg("%s is %s, recorded is %s", name, fg_dtype_name(type->dtype),
                 fg_dtype_name(want.type.dtype));
    double *got = read_all(array), *exact = calloc(want.count + 1, sizeof *exact);
    for (size_t i = 0; i < want.count; i++)
        exact[i] = element(want.type.dtype, want.data, i);
    const fg_dtype coarse = type->dtype < dtype ? type->dtype : dtype;
    const double allowed = fg_dtype_is_float(type->dtype)
                               ? tolerance(coarse, row->checks) * largest(exact, want.count)
                               : 0;
    for (size_t i = 0; i < want.count; i++)
        if (!is_near(got[i], exact[i], allowed)) {
            print_error("%s in %s: element %zu is %.17g, PyTorch has %.17g\n", name,
                        fg_dtype_name(dtype), i, got[i], exact[i]);
            failures++;
            break;
        }
    free(got);
    free(exact);
}

/* ---- tracing a row --------------------------------------------------------------------------- */

typedef struct traced {
    const fgt_row *row;
    int count;
    recorded from[MOST_INPUTS];
    fg_tensor in[MOST_INPUTS];
    fg_tensor open[MOST_INPUTS]; /* the floating ones, and which they are */
    int open_at[MOST_INPUTS];
    int open_count;
    fg_tensor out, total; /* the result, and its sum weighed by the record's w */
} traced;

/* FGT_ROW in the environment picks the rows whose names begin so. */
static bool is_picked(const fgt_row *row)
{
    const char *pick = getenv("FGT_ROW");
    return pick == NULL || strncmp(row->id, pick, strlen(pick)) == 0;
}

static bool has_t(const fgt_row *row) { return strstr(row->inputs, "T[") != NULL; }

static void find_inputs(traced *t, const fgt_row *row)
{
    memset(t, 0, sizeof *t);
    t->row = row;
    while (t->count < MOST_INPUTS && find(row->id, "in", t->count, &t->from[t->count]))
        t->count++;
    if (t->count == 0)
        fail_msg("no record of %s: run tests/golden/ops/record.py", row->id);
}

static void call(fg_trace *trace, traced *t)
{
    for (int i = t->count; i < MOST_INPUTS; i++)
        t->in[i] = t->in[0];
    for (int i = 0; i < t->count; i++)
        if (fg_dtype_is_float(fg_tensor_type(t->in[i])->dtype)) {
            t->open_at[t->open_count] = i;
            t->open[t->open_count++] = t->in[i];
        }
    t->out = t->row->call(trace, t->in);
    fg_error err = {0};
    if (fg_trace_error(trace, &err) != FG_OK)
        fail_msg("%s: %s", t->row->id, err.message);
}

static fg_tensor weighed(fg_tensor out, fg_tensor weight)
{
    return fg_sum(fg_mul(out, fg_cast(weight, fg_tensor_type(out)->dtype)), 0, NULL);
}

/* ---- values and gradients beside the record -------------------------------------------------- */

typedef struct group {
    traced rows[GROUP];
    size_t count;
    fg_tensor outputs[MOST_OUTPUTS];
    size_t output_count;
    fg_array *arrays[MOST_OUTPUTS];
} group;

static void values_of_group(fg_client *client, group *g, fg_dtype dtype)
{
    fg_error err = {0};
    fg_trace *trace;
    fgt_ok(fg_trace_create(client, &trace, &err));
    for (size_t r = 0; r < g->count; r++) {
        traced *t = &g->rows[r];
        for (int i = 0; i < t->count; i++) {
            fg_array *array = upload(client, &t->from[i], dtype, SIZE_MAX, 0);
            t->in[i] = fg_input(trace, array);
            fg_array_release(array);
        }
        call(trace, t);
        g->outputs[g->output_count++] = t->out;
        if ((t->row->checks & FGT_GRAD) == 0)
            continue;
        const recorded w = must_find(t->row->id, "w", -1);
        fg_array *array = upload(client, &w, FG_F32, SIZE_MAX, 0);
        const fg_tensor total = weighed(t->out, fg_input(trace, array));
        fg_array_release(array);
        fg_grad(total, t->open, (size_t)t->open_count, &g->outputs[g->output_count]);
        g->output_count += (size_t)t->open_count;
    }
    fgt_ok(fg_run(trace, g->outputs, g->output_count, g->arrays, &err));
    fg_trace_destroy(trace);
    size_t at = 0;
    for (size_t r = 0; r < g->count; r++) {
        const traced *t = &g->rows[r];
        compare(t->row, "out", -1, g->arrays[at++], dtype);
        for (int i = 0; i < t->open_count && (t->row->checks & FGT_GRAD) != 0; i++)
            compare(t->row, "d", t->open_at[i], g->arrays[at++], dtype);
    }
    for (size_t i = 0; i < g->output_count; i++)
        fg_array_release(g->arrays[i]);
}

void fgt_battery_values(fg_client *client, const fgt_row *rows, size_t count, fg_dtype dtype)
{
    const bool is_half = dtype == FG_BF16 || dtype == FG_F16;
    group *g = calloc(1, sizeof *g);
    for (size_t r = 0; r < count; r++) {
        const fgt_row *row = &rows[r];
        if (is_picked(row) && (has_t(row) || dtype == FG_F32) &&
            (!is_half || (row->checks & FGT_HALF) != 0))
            find_inputs(&g->rows[g->count++], row);
        if (g->count == GROUP || (r + 1 == count && g->count > 0)) {
            values_of_group(client, g, dtype);
            memset(g, 0, sizeof *g);
        }
    }
    free(g);
    fail_if_any();
}

/* ---- gradients beside differences ------------------------------------------------------------ */

enum { MOST_PROBES = 48 }; /* elements of a row that are moved, spread over all */

static const double step_size = 0x1p-16;

/* Numbers of mixed signs that nothing is symmetric in: cos(1.7 i + 1). */
static fg_tensor direction(fg_trace *trace, const fg_type *type)
{
    const int64_t count = fg_type_count(type);
    const fg_tensor i = fg_iota(trace, type->dtype, 0, FG_DIMS(count));
    return fg_reshape(fg_cos(fg_shift(fg_scale(i, 1.7), 1)), type->rank, type->dim);
}

/* A feed for each input; outputs: the totals of all rows in one vector, likewise the slopes (sums
 * of the gradients along `direction`), then the gradients of total and slope by each input. */
typedef struct probe {
    group rows;
    fg_array *feeds[GROUP * MOST_INPUTS];
    size_t feed_count;
    fgi_step_program *program;
    double *by_total[GROUP][MOST_INPUTS], *by_slope[GROUP][MOST_INPUTS];
} probe;

static fg_tensor slope_of(fg_trace *trace, traced *t, const fg_tensor *gradient)
{
    fg_tensor slope = fg_zeros(trace, FG_F64, FG_SCALAR);
    for (int i = 0; i < t->open_count; i++)
        slope =
            fg_add(slope, fg_sum(fg_mul(gradient[i], direction(trace, fg_tensor_type(gradient[i]))),
                                 0, NULL));
    return slope;
}

static void trace_probe(probe *p, fg_trace *trace)
{
    group *g = &p->rows;
    fg_tensor totals[GROUP], slopes[GROUP];
    g->output_count = 2;
    for (size_t r = 0; r < g->count; r++) {
        traced *t = &g->rows[r];
        for (int i = 0; i < t->count; i++) {
            fg_type type = t->from[i].type;
            if (fg_dtype_is_float(type.dtype))
                type.dtype = FG_F64;
            t->in[i] = fgi_trace_feed(trace, (int)p->feed_count++, &type);
        }
        call(trace, t);
        const fg_tensor total = weighed(t->out, direction(trace, fg_tensor_type(t->out)));
        fg_tensor *gradient = &g->outputs[g->output_count];
        fg_grad(total, t->open, (size_t)t->open_count, gradient);
        g->output_count += (size_t)t->open_count;
        totals[r] = fg_reshape(total, FG_DIMS(1));
        slopes[r] = fg_zeros(trace, FG_F64, FG_DIMS(1));
        if ((t->row->checks & FGT_TWICE) == 0)
            continue;
        const fg_tensor slope = slope_of(trace, t, gradient);
        fg_grad(slope, t->open, (size_t)t->open_count, &g->outputs[g->output_count]);
        g->output_count += (size_t)t->open_count;
        slopes[r] = fg_reshape(slope, FG_DIMS(1));
    }
    g->outputs[0] = fg_concat(totals, (int)g->count, 0);
    g->outputs[1] = fg_concat(slopes, (int)g->count, 0);
}

static void read_gradients(probe *p)
{
    group *g = &p->rows;
    size_t at = 2;
    for (size_t r = 0; r < g->count; r++) {
        const traced *t = &g->rows[r];
        for (int i = 0; i < t->open_count; i++)
            p->by_total[r][i] = read_all(g->arrays[at++]);
        for (int i = 0; i < t->open_count && (t->row->checks & FGT_TWICE) != 0; i++)
            p->by_slope[r][i] = read_all(g->arrays[at++]);
    }
}

static void launch(probe *p)
{
    fg_error err = {0};
    fgt_ok(
        fgi_step_program_launch(p->program, p->feeds, p->feed_count, p->rows.arrays, NULL, &err));
}

static void release_outputs(probe *p)
{
    for (size_t i = 0; i < p->rows.output_count; i++)
        fg_array_release(p->rows.arrays[i]);
}

static size_t elements(const traced *t)
{
    size_t sum = 0;
    for (int i = 0; i < t->open_count; i++)
        sum += t->from[t->open_at[i]].count;
    return sum;
}

/* Which element probe number n of a row moves: input (index into open) and place in it. */
static bool place_of(const traced *t, size_t n, int *out_input, size_t *out_at)
{
    const size_t all = elements(t), probes = all < MOST_PROBES ? all : MOST_PROBES;
    if (n >= probes)
        return false;
    size_t at = n * all / probes;
    int i = 0;
    while (at >= t->from[t->open_at[i]].count)
        at -= t->from[t->open_at[i++]].count;
    *out_input = i;
    *out_at = at;
    return true;
}

/* Uploads every row's inputs with probe n moved `by`, launches, reads totals and slopes. */
static void evaluate(probe *p, fg_client *client, size_t n, double by, double **out_totals,
                     double **out_slopes)
{
    size_t feed = 0;
    for (size_t r = 0; r < p->rows.count; r++) {
        const traced *t = &p->rows.rows[r];
        int input = -1;
        size_t at = SIZE_MAX;
        const bool moves = by != 0 && place_of(t, n, &input, &at);
        for (int i = 0; i < t->count; i++, feed++) {
            const bool is_moved = moves && t->open_at[input] == i;
            fg_array_release(p->feeds[feed]);
            p->feeds[feed] = upload(client, &t->from[i], FG_F64, is_moved ? at : SIZE_MAX, by);
        }
    }
    launch(p);
    *out_totals = read_all(p->rows.arrays[0]);
    *out_slopes = read_all(p->rows.arrays[1]);
}

static void check_difference(const fgt_row *row, const char *what, int input, size_t at,
                             const double *gradient, size_t count, double difference)
{
    const double allowed = 1e-6 * largest(gradient, count);
    if (is_near(gradient[at], difference, allowed))
        return;
    print_error("%s: %s by element %zu of input %d is %.12g, the difference says %.12g\n", row->id,
                what, at, input, gradient[at], difference);
    failures++;
}

static void check_probe(probe *p, fg_client *client, size_t n)
{
    double *total[2], *slope[2];
    for (int side = 0; side < 2; side++) {
        evaluate(p, client, n, side == 0 ? -step_size : step_size, &total[side], &slope[side]);
        release_outputs(p);
    }
    for (size_t r = 0; r < p->rows.count; r++) {
        const traced *t = &p->rows.rows[r];
        int i;
        size_t at;
        if (!place_of(t, n, &i, &at))
            continue;
        const size_t count = t->from[t->open_at[i]].count;
        check_difference(t->row, "the gradient", t->open_at[i], at, p->by_total[r][i], count,
                         (total[1][r] - total[0][r]) / (2 * step_size));
        if ((t->row->checks & FGT_TWICE) != 0)
            check_difference(t->row, "the second gradient", t->open_at[i], at, p->by_slope[r][i],
                             count, (slope[1][r] - slope[0][r]) / (2 * step_size));
    }
    for (int side = 0; side < 2; side++) {
        free(total[side]);
        free(slope[side]);
    }
}

static void differences_of_group(probe *p, fg_client *client)
{
    fg_error err = {0};
    fg_trace *trace;
    double *totals, *slopes;
    fgt_ok(fg_trace_create(client, &trace, &err));
    trace_probe(p, trace);
    fgt_ok(
        fgi_step_program_create(trace, p->rows.outputs, p->rows.output_count, &p->program, &err));
    evaluate(p, client, 0, 0, &totals, &slopes);
    read_gradients(p);
    release_outputs(p);
    for (size_t n = 0; n < MOST_PROBES; n++)
        check_probe(p, client, n);
    free(totals);
    free(slopes);
    for (size_t i = 0; i < p->feed_count; i++)
        fg_array_release(p->feeds[i]);
    for (size_t r = 0; r < p->rows.count; r++)
        for (int i = 0; i < MOST_INPUTS; i++) {
            free(p->by_total[r][i]);
            free(p->by_slope[r][i]);
        }
    fgi_step_program_destroy(p->program);
    fg_trace_destroy(trace);
}

void fgt_battery_differences(fg_client *client, const fgt_row *rows, size_t count)
{
    probe *p = calloc(1, sizeof *p);
    for (size_t r = 0; r < count; r++) {
        if (is_picked(&rows[r]) && (rows[r].checks & FGT_DIFF) != 0)
            find_inputs(&p->rows.rows[p->rows.count++], &rows[r]);
        if (p->rows.count == GROUP || (r + 1 == count && p->rows.count > 0)) {
            differences_of_group(p, client);
            memset(p, 0, sizeof *p);
        }
    }
    free(p);
    fail_if_any();
}
