/* check_run.c - runs the cases of a dtype as one program, and compares all results with what the
 * host computes.
 *
 * Operands are small integers, plus fractions where the dtype has digits for them, so that most
 * results are exact in every dtype, and on devices that round the operands of f32 matmuls to bf16
 * or TF32. Therefore bounds can be narrow: an element that is wrong by one percent is found.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/ops.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "pjrt/pjrt.h"
#include "trust/trust.h"

enum { CASES_MAX = 96, RESULTS = FGI_CASE_OPERANDS + 1 };

static const fgi_case *const tables[] = {fgi_cases_dot, fgi_cases_conv, fgi_cases_reduce,
                                         fgi_cases_pointwise, fgi_cases_move};

enum { TABLES = sizeof tables / sizeof tables[0] };

const fgi_check_program fgi_check_programs[FGI_CHECK_PROGRAMS] = {
    {FG_F32, 2, TABLES}, {FG_F32, 0, 2}, {FG_BF16, 0, TABLES}, {FG_F64, 0, TABLES}};

int fgi_case_rank(const fgi_case *c, int operand)
{
    int rank = 0;
    while (rank < FGI_CASE_RANK && c->dim[operand][rank] > 0)
        rank++;
    return rank;
}

int fgi_case_operands(const fgi_case *c)
{
    int count = 0;
    while (count < FGI_CASE_OPERANDS && c->dim[count][0] > 0)
        count++;
    return count;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* A device that rounds operands of matmuls (the TPU's default precision, TF32) is not wrong. */
static double bound_of(const fgi_case *c, fg_dtype dtype, bool rounds_operands)
{
    const bool rounds = (c->flags & FGI_CASE_ROUNDS) != 0;
    switch (dtype) {
    case FG_F64: return 1e-11;
    case FG_F32: return !rounds_operands ? 4e-5 : rounds ? 1e-2 : 1e-3;
    case FG_BF16: return rounds ? 1e-2 : 4e-3; /* 2^-8: one rounding, in any direction */
    default: return 0;                         /* indices */
    }
}

/* The absolute error of small elements depends on the large ones. */
static double scale_of(const double *expected, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += fabs(expected[i]);
    return sum / (double)count;
}

bool fgi_check_compare(const fgi_compared *about, const double *got, const double *expected,
                       int64_t count, fgi_check_report *report)
{
    const double scale = scale_of(expected, count);
    double worst = 0;
    int64_t at = 0;
    bool is_right = true;
    for (int64_t i = 0; i < count; i++) {
        const double error = fabs(got[i] - expected[i]);
        if (error <= about->bound * (fabs(expected[i]) + scale / 32))
            continue;
        is_right = false;
        double relative = error / fmax(fmax(fabs(expected[i]), scale), 1e-300);
        relative = isfinite(relative) ? relative : (double)INFINITY;
        at = relative > worst ? i : at;
        worst = fmax(worst, relative);
    }
    if (worst > report->worst_error) {
        const bool is_part = about->c && about->c->part && !about->what[0];
        report->worst_error = worst;
        (void)fgi_snprintf(report->worst, sizeof report->worst, "%s%s%s, %s",
                           is_part ? about->c->part(about->c, at) : about->name,
                           about->what[0] ? ", " : "", about->what, about->dtype);
    }
    return is_right;
}

static double of_bf16(uint16_t bits)
{
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return (double)value;
}

/* Element i of values of a dtype. */
static double element(const void *data, fg_dtype dtype, int64_t i)
{
    switch (dtype) {
    case FG_F64: return ((const double *)data)[i];
    case FG_F32: return (double)((const float *)data)[i];
    case FG_BF16: return of_bf16(((const uint16_t *)data)[i]);
    default: return ((const int32_t *)data)[i];
    }
}

fg_status fgi_check_read(const fg_array *array, double *out, fg_error *err)
{
    const fg_type *type = fg_array_type(array);
    const size_t size = fg_type_bytes(type);
    void *data = fgi_alloc(size + 1);
    if (!data)
        return fgi_no_memory(err);
    const fg_status status = fgi_array_read_as(array, data, size, "check", err);
    for (int64_t i = 0; status == FG_OK && i < fg_type_count(type); i++)
        out[i] = element(data, type->dtype, i);
    fgi_free(data);
    return status;
}

/* ---- operands -------------------------------------------------------------------------------- */

static uint32_t mix(int64_t i, int salt)
{
    uint32_t h = (uint32_t)i * 2654435761u + (uint32_t)salt * 2246822519u + 374761393u;
    h = (h ^ h >> 15) * 2246822519u;
    return h ^ h >> 13;
}

/* 7919 is a prime, so the elements are different if there are as many values. */
static double operand_at(const fgi_case *c, fg_dtype dtype, bool has_digits, int64_t i, int salt)
{
    const uint32_t h = mix(i, salt);
    if (c->flags & FGI_CASE_DISTINCT)
        return c->low + c->step * (double)(i * 7919 % c->steps);
    const double fraction = dtype == FG_F64 ? ((h >> 8) % 1024) * 0x1p-20
                            : has_digits    ? ((h >> 8) % 8) * 0x1p-6
                                            : 0;
    return c->steps ? c->low + c->step * ((h >> 20) % (uint32_t)c->steps) + fraction
                    : (double)((h >> 20) % 6) - 1 + fraction;
}

/* Element i of `data` becomes the value. */
static void put(void *data, fg_dtype dtype, int64_t i, double value)
{
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    switch (dtype) {
    case FG_F64: ((double *)data)[i] = value; break;
    case FG_F32: ((float *)data)[i] = narrow; break;
    case FG_BF16: ((uint16_t *)data)[i] = (uint16_t)(bits >> 16); break;
    default: ((int32_t *)data)[i] = (int32_t)value;
    }
}

static fg_status upload(fg_client *client, const fg_type *type, const double *values,
                        fg_array **out, fg_error *err)
{
    void *data = fgi_alloc(fg_type_bytes(type) + 1);
    if (!data)
        return fgi_no_memory(err);
    for (int64_t i = 0; i < fg_type_count(type); i++)
        put(data, type->dtype, i, values[i]);
    const fg_status status = fg_array_create(client, type, data, out, err);
    fgi_free(data);
    return status;
}

/* ---- the program ----------------------------------------------------------------------------- */

/* A case with its operands, and the numbers of its results among those of the program; -1: none. */
typedef struct entry {
    const fgi_case *c;
    fg_type type[RESULTS]; /* of the operands; the last one is that of the result */
    fg_array *array[RESULTS];
    double *in[RESULTS]; /* the operands, and dy */
    int result[RESULTS]; /* the gradients, and y */
} entry;

typedef struct run {
    fg_trace *trace;
    fg_client *client;
    fg_dtype dtype;
    bool rounds_operands; /* of matmuls in f32 */
    entry entries[CASES_MAX];
    int count;
    fg_tensor outputs[CASES_MAX * RESULTS];
    fg_array *results[CASES_MAX * RESULTS];
    int output_count;
} run;

static bool has_gradient(const run *r, const fgi_case *c)
{
    const int bit = r->dtype == FG_BF16 ? FGI_CASE_BF16_GRADIENT : FGI_CASE_F64_GRADIENT;
    return r->dtype == FG_F32 ? !(c->flags & FGI_CASE_NO_GRADIENT) : (c->flags & bit) != 0;
}

static bool has_case(const run *r, const fgi_case *c)
{
    const int bit = r->dtype == FG_BF16 ? FGI_CASE_BF16 : FGI_CASE_F64;
    return r->dtype == FG_F32 || (c->flags & bit) != 0;
}

/* Creates operand i, or dy, on the host and on the device. */
static fg_status make_operand(run *r, entry *e, int i, fg_error *err)
{
    const bool has_digits = !r->rounds_operands && r->dtype == FG_F32;
    const fgi_case plain = {.steps = 0};
    const bool is_index = i == 1 && (e->c->flags & FGI_CASE_INDEX);
    const int64_t count = fg_type_count(&e->type[i]);
    const int64_t places = is_index ? e->c->dim[0][e->type[1].rank - 1] : 1;
    e->in[i] = fgi_calloc((size_t)count + 1, sizeof(double));
    if (!e->in[i])
        return fgi_no_memory(err);
    for (int64_t k = 0; k < count; k++)
        e->in[i][k] = is_index ? (double)(mix(k, 9) % (uint32_t)places)
                               : operand_at(i == FGI_CASE_OPERANDS ? &plain : e->c, r->dtype,
                                            has_digits, k, i + 1 + r->count * RESULTS);
    return upload(r->client, &e->type[i], e->in[i], &e->array[i], err);
}

static fg_status make_operands(run *r, entry *e, fg_tensor *in, fg_error *err)
{
    const fgi_case *c = e->c;
    for (int i = 0; i < fgi_case_operands(c); i++) {
        const bool is_index = i == 1 && (c->flags & FGI_CASE_INDEX);
        e->type[i] = (fg_type){.dtype = is_index ? FG_S32 : r->dtype, .rank = fgi_case_rank(c, i)};
        for (int k = 0; k < e->type[i].rank; k++)
            e->type[i].dim[k] = c->dim[i][k];
        FGI_TRY(make_operand(r, e, i, err));
        in[i] = fg_input(r->trace, e->array[i]);
    }
    return FG_OK;
}

static int add_output(run *r, fg_tensor value)
{
    r->outputs[r->output_count] = value;
    return r->output_count++;
}

/* Traces a case: its result, and the gradients of the sum of its products with dy. */
static fg_status add_case(run *r, const fgi_case *c, fg_error *err)
{
    fg_tensor in[FGI_CASE_OPERANDS], gradient[FGI_CASE_OPERANDS];
    entry *e = &r->entries[r->count];
    *e = (entry){.c = c, .result = {-1, -1, -1, -1}};
    const int wanted = fgi_case_operands(c) - ((c->flags & FGI_CASE_INDEX) != 0);
    r->count++;
    FGI_TRY(make_operands(r, e, in, err));
    const fg_tensor y = c->trace(c, in);
    e->type[FGI_CASE_OPERANDS] = *fg_tensor_type(y);
    FGI_TRY(fg_trace_error(r->trace, err));
    e->result[FGI_CASE_OPERANDS] = add_output(r, y);
    FGI_TRY(make_operand(r, e, FGI_CASE_OPERANDS, err));
    if (!has_gradient(r, c))
        return FG_OK;
    const fg_tensor dy = fg_input(r->trace, e->array[FGI_CASE_OPERANDS]);
    fg_grad(fg_sum(fg_mul(y, dy), 0, NULL), in, (size_t)wanted, gradient);
    for (int i = 0; i < wanted; i++)
        e->result[i] = add_output(r, gradient[i]);
    return fg_trace_error(r->trace, err);
}

static fg_status add_cases(run *r, const fgi_check_program *program, fg_error *err)
{
    for (int t = program->first; t < program->end; t++)
        for (const fgi_case *c = tables[t]; c->name; c++)
            if (has_case(r, c))
                FGI_TRY_CTX(add_case(r, c, err), err, "%s", c->name);
    return FG_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Room for the results of the host: y and all gradients; they are released with `block`. */
static double *host_values(const entry *e, fgi_case_values *v)
{
    const fg_type *y = &e->type[FGI_CASE_OPERANDS];
    *v = (fgi_case_values){.dy = e->in[FGI_CASE_OPERANDS], .y_count = fg_type_count(y)};
    memcpy(v->y_dim, y->dim, sizeof v->y_dim);
    int64_t total = v->y_count;
    for (int i = 0; i < fgi_case_operands(e->c); i++) {
        v->in[i] = e->in[i];
        v->in_count[i] = fg_type_count(&e->type[i]);
        total += v->in_count[i];
    }
    double *block = fgi_calloc((size_t)total + 1, sizeof *block), *at = block;
    v->y = at;
    at += block ? v->y_count : 0;
    for (int i = 0; block && i < fgi_case_operands(e->c); i++) {
        v->gradient[i] = at;
        at += v->in_count[i];
    }
    return block;
}

static fg_status compare_result(const run *r, const entry *e, int which, const double *expected,
                                bool *is_right, fgi_check_report *report, fg_error *err)
{
    if (e->result[which] < 0)
        return FG_OK;
    const fg_array *array = r->results[e->result[which]];
    const int64_t count = fg_type_count(fg_array_type(array));
    const fg_dtype dtype = fg_array_type(array)->dtype;
    const fgi_compared about = {e->c->name, which < FGI_CASE_OPERANDS ? "gradient" : "",
                                fg_dtype_name(r->dtype), bound_of(e->c, dtype, r->rounds_operands),
                                e->c};
    double *got = fgi_calloc((size_t)count + 1, sizeof *got);
    if (!got)
        return fgi_no_memory(err);
    const fg_status status = fgi_check_read(array, got, err);
    if (status == FG_OK && !fgi_check_compare(&about, got, expected, count, report))
        *is_right = false;
    fgi_free(got);
    return status;
}

static fg_status compare_case(const run *r, const entry *e, fgi_check_report *report, fg_error *err)
{
    fgi_case_values v;
    fg_status status;
    bool is_right = true;
    double *block = host_values(e, &v);
    FGI_DONE(block && e->c->compute(e->c, &v) ? FG_OK : fgi_no_memory(err));
    FGI_DONE(compare_result(r, e, FGI_CASE_OPERANDS, v.y, &is_right, report, err));
    for (int i = 0; i < FGI_CASE_OPERANDS; i++)
        FGI_DONE(compare_result(r, e, i, v.gradient[i], &is_right, report, err));
    report->checked++;
    report->wrong += !is_right;
done:
    fgi_free(block);
    return status;
}

static void release(run *r)
{
    for (int i = 0; i < r->count; i++)
        for (int k = 0; k < RESULTS; k++) {
            fg_array_release(r->entries[i].array[k]);
            fgi_free(r->entries[i].in[k]);
        }
    for (int i = 0; i < r->output_count; i++)
        fg_array_release(r->results[i]);
    fg_trace_reset(r->trace);
    fgi_free(r);
}

/* A plugin that cannot compile the program is not wrong: programs that need this will fail. */
static fg_status leave_out(fg_dtype dtype, const fg_error *why, fgi_check_report *report)
{
    (void)fgi_snprintf(report->unchecked, sizeof report->unchecked, "%s: %.*s",
                       fg_dtype_name(dtype), (int)strcspn(why->message, "\n"), why->message);
    return FG_OK;
}

fg_status fgi_check_cases(fg_trace *trace, const fgi_check_program *program,
                          fgi_check_report *report, fg_error *err)
{
    fg_error why = {0};
    fg_status status;
    run *r = fgi_calloc(1, sizeof *r);
    if (!r)
        return fgi_no_memory(err);
    r->trace = trace;
    r->client = fg_trace_client(trace);
    r->dtype = program->dtype;
    r->rounds_operands = fgi_client_rounds_operands(r->client);
    FGI_DONE(add_cases(r, program, err));
    status = fg_run(trace, r->outputs, (size_t)r->output_count, r->results, &why);
    if (status == FG_ECOMPILE) {
        status = leave_out(program->dtype, &why, report);
        r->output_count = 0;
        goto done;
    }
    if (status != FG_OK && err)
        *err = why;
    FGI_DONE(status);
    for (int i = 0; i < r->count; i++)
        FGI_DONE(compare_case(r, &r->entries[i], report, err));
done:
    release(r);
    return status;
}
