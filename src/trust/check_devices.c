/* check_devices.c - checks that are more than an operation: a weight that is updated in place, and
 * arrays that are sharded over several devices.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/ops.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "pjrt/pjrt.h"
#include "trace/trace.h"
#include "trust/trust.h"

enum { LAUNCHES = 3, ROWS = 48, SIDE = 64, AXIS_ROWS = 8, AXIS_COLUMNS = 4, OUTPUTS = 4 };

/* Small integers, exact in every dtype. */
static float small(int64_t i, int salt) { return (float)((i * 7 + i / 5 * 3 + salt) % 9 - 3); }

/* ---- updates --------------------------------------------------------------------------------- */

/* What launch number `launch` returns: x (w + launch 1). */
static void expect_matmul(int launch, const float *x, const float *w, double *out)
{
    for (int i = 0; i < ROWS * SIDE; i++) {
        out[i] = 0;
        for (int k = 0; k < SIDE; k++)
            out[i] += (double)x[i / SIDE * SIDE + k] * ((double)w[k * SIDE + i % SIDE] + launch);
    }
}

static fg_status launch_update(fg_trace *trace, fg_variable *w, fg_array *x, double *out,
                               fg_error *err)
{
    fg_array *result = NULL;
    const fg_tensor value = fg_variable_value(trace, w);
    const fg_tensor y = fg_matmul(fg_input(trace, x), value);
    fg_assign(w, fg_add_scalar(value, 1));
    FGI_TRY(fg_run(trace, &y, 1, &result, err));
    const fg_status status = fgi_check_read(result, out, err);
    fg_array_release(result);
    return status;
}

fg_status fgi_check_updates(fg_trace *trace, fgi_check_report *report, fg_error *err)
{
    static const fg_type matrix = {.dtype = FG_F32, .rank = 2, .dim = {SIDE, SIDE}};
    static const fg_type rows = {.dtype = FG_F32, .rank = 2, .dim = {ROWS, SIDE}};
    const fgi_compared about = {"matmul by a weight that is updated in place", "", "f32", 1e-4,
                                NULL};
    float x[ROWS * SIDE], w[SIDE * SIDE];
    double expected[ROWS * SIDE], got[ROWS * SIDE];
    fg_variable *variable = NULL;
    fg_array *array = NULL;
    fg_status status;
    bool is_right = true;
    for (int i = 0; i < ROWS * SIDE; i++)
        x[i] = small(i, 1);
    for (int i = 0; i < SIDE * SIDE; i++)
        w[i] = small(i, 4);
    FGI_DONE(fg_array_create(fg_trace_client(trace), &rows, x, &array, err));
    FGI_DONE(fg_variable_create("check.weight", &matrix, NULL, &variable, err));
    FGI_DONE(fg_variable_set(variable, w, sizeof w, err));
    for (int launch = 0; launch < LAUNCHES; launch++) {
        FGI_DONE(launch_update(trace, variable, array, got, err));
        expect_matmul(launch, x, w, expected);
        is_right &= fgi_check_compare(&about, got, expected, ROWS * SIDE, report);
    }
    report->checked++;
    report->wrong += !is_right;
done:
    fg_trace_reset(trace);
    fg_variable_destroy(variable);
    fg_array_release(array);
    return status;
}

/* ---- several devices ------------------------------------------------------------------------- */

/* An array x[rows,columns] whose rows are sharded along some axes of the mesh. All results are
 * sharded in the same way, so that the value of each device is read. */
typedef struct shards {
    fg_trace *trace;
    fgi_sharding sharding;
    int64_t rows, columns;
    float *x;
    double *gram; /* x' x */
    double *expected, *got;
} shards;

static const char *const names[OUTPUTS] = {"sum over the devices", "maximum over the devices",
                                           "matmul over the devices", "transpose over the devices"};

static void trace_shards(fg_tensor x, fg_tensor *out)
{
    const int rows[] = {0};
    out[0] = fg_add(x, fg_sum(x, 1, rows));
    out[1] = fg_add(x, fg_max(x, 1, rows));
    out[2] = fg_matmul(x, fg_matmul(fg_transpose(x), x));
    out[3] = fg_transpose(x);
}

static double x_at(const shards *s, int64_t row, int64_t column)
{
    return (double)s->x[row * s->columns + column];
}

static void multiply_by_transpose(shards *s)
{
    for (int64_t i = 0; i < s->columns * s->columns; i++)
        for (int64_t row = 0; row < s->rows; row++)
            s->gram[i] += x_at(s, row, i / s->columns) * x_at(s, row, i % s->columns);
}

/* Element (row, column) of result k. */
static double expect_shards(const shards *s, int k, int64_t row, int64_t column)
{
    double sum = 0, most = x_at(s, k == 3 ? column : 0, k == 3 ? row : column), product = 0;
    if (k == 3)
        return most;
    for (int64_t j = 0; k == 2 && j < s->columns; j++)
        product += x_at(s, row, j) * s->gram[j * s->columns + column];
    for (int64_t i = 0; i < s->rows; i++) {
        sum += x_at(s, i, column);
        most = x_at(s, i, column) > most ? x_at(s, i, column) : most;
    }
    return k == 2 ? product : x_at(s, row, column) + (k == 0 ? sum : most);
}

static fg_status compare_shards(const shards *s, int k, const fg_array *array,
                                fgi_check_report *report, fg_error *err)
{
    /* the second matmul's operand may be rounded to bf16 */
    const bool rounds = fgi_client_rounds_operands(fg_trace_client(s->trace));
    const fgi_compared about = {names[k], "", "f32", !rounds ? 4e-5 : k == 2 ? 1e-2 : 1e-3, NULL};
    const int64_t width = k == 3 ? s->rows : s->columns, count = s->rows * s->columns;
    FGI_TRY(fgi_check_read(array, s->got, err));
    for (int64_t i = 0; i < count; i++)
        s->expected[i] = expect_shards(s, k, i / width, i % width);
    report->checked++;
    report->wrong += !fgi_check_compare(&about, s->got, s->expected, count, report);
    return FG_OK;
}

static fg_status run_shards(shards *s, fgi_check_report *report, fg_error *err)
{
    fg_tensor outputs[OUTPUTS];
    fg_array *x = NULL, *results[OUTPUTS] = {0};
    const fg_type type = {.dtype = FG_F32, .rank = 2, .dim = {s->rows, s->columns}};
    fg_status status;
    for (int64_t i = 0; i < s->rows * s->columns; i++)
        s->x[i] = small(i, 2);
    multiply_by_transpose(s);
    FGI_DONE(fgi_array_upload(fg_trace_client(s->trace), &type, &s->sharding, s->x, FGI_UPLOAD_COPY,
                              &x, NULL, err));
    s->trace->result_sharding = s->sharding;
    trace_shards(fg_input(s->trace, x), outputs);
    FGI_DONE(fg_run(s->trace, outputs, OUTPUTS, results, err));
    for (int k = 0; k < OUTPUTS; k++)
        FGI_DONE(compare_shards(s, k, results[k], report, err));
done:
    s->trace->result_sharding = (fgi_sharding){{0}};
    for (int k = 0; k < OUTPUTS; k++)
        fg_array_release(results[k]);
    fg_array_release(x);
    fg_trace_reset(s->trace);
    return status;
}

/* Arrays that are sharded along these axes, on `devices` devices. */
static fg_status check_axes(fg_trace *trace, fgi_axis_set axes, int devices,
                            fgi_check_report *report, fg_error *err)
{
    shards s = {.trace = trace,
                .sharding = {{axes}},
                .rows = (int64_t)AXIS_ROWS * devices,
                .columns = (int64_t)(devices > 16 ? 1 : AXIS_COLUMNS) * devices};
    const size_t count = (size_t)(s.rows * s.columns);
    fg_status status;
    s.x = fgi_calloc(count, sizeof *s.x);
    s.gram = fgi_calloc((size_t)(s.columns * s.columns), sizeof *s.gram);
    s.expected = fgi_calloc(count, sizeof *s.expected);
    s.got = fgi_calloc(count, sizeof *s.got);
    FGI_DONE(s.x && s.gram && s.expected && s.got ? FG_OK : fgi_no_memory(err));
    FGI_DONE(run_shards(&s, report, err));
done:
    fgi_free(s.x);
    fgi_free(s.gram);
    fgi_free(s.expected);
    fgi_free(s.got);
    return status;
}

fg_status fgi_check_devices(fg_trace *trace, fgi_check_report *report, fg_error *err)
{
    const fgi_mesh *mesh = fgi_client_mesh(fg_trace_client(trace));
    int devices = 1, parts = 0;
    for (int i = 0; i < mesh->axis_count; i++) {
        devices *= mesh->axes[i].size;
        parts += mesh->axes[i].size > 1;
    }
    if (devices == 1)
        return FG_OK;
    FGI_TRY(check_axes(trace, (fgi_axis_set)((1u << mesh->axis_count) - 1), devices, report, err));
    for (int i = 0; parts > 1 && i < mesh->axis_count; i++)
        if (mesh->axes[i].size > 1)
            FGI_TRY(check_axes(trace, (fgi_axis_set)(1u << i), mesh->axes[i].size, report, err));
    return FG_OK;
}
