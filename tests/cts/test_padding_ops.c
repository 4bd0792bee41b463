/* test_padding_ops.c - padding rows affect no operation: each row of the battery
 * (support/op_cases.h) runs on a batch whose last row is padding. The results for the other rows,
 * and the gradients, equal those of the batch without that row, regardless of the padding's
 * contents. An operation may be rejected if the error names the batch axis as the reason.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/number.h"
#include "battery.h"
#include "op_calls.h"
#include "trace/program.h"

enum { VALUE = FGT_VALUE, GRAD = FGT_GRAD, DIFF = FGT_DIFF, TWICE = FGT_TWICE };
enum { BF16 = FGT_BF16, F16 = FGT_F16, ROUGH = FGT_ROUGH, SHARP = FGT_SHARP };
enum { ALL = VALUE + GRAD + DIFF };

#define FAILS(expression, code, text) /* test_trace.c */

#define CALL(id, expression)                                                                       \
    static fg_tensor id##_row(fg_trace *trace, const fg_tensor *in)                                \
    {                                                                                              \
        const fg_tensor a = in[0], b = in[1], c = in[2];                                           \
        (void)trace, (void)a, (void)b, (void)c;                                                    \
        return expression;                                                                         \
    }
#define ROW(id, checks, inputs, expression, reference) CALL(id, expression)
#include "op_cases.h"
#undef ROW
#define ROW(id, checks, inputs, ...) CALL(id, (__VA_ARGS__))
#include "masked_cases.h"
#undef ROW

static const fgt_row rows[] = {
#define ROW(id, checks, inputs, expression, reference) {#id, FAMILY, checks, inputs, id##_row},
#include "op_cases.h"
#undef ROW
#define ROW(id, checks, inputs, ...) {#id, NULL, checks, inputs, id##_row},
#include "masked_cases.h"
#undef ROW
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0], OWN_ROWS = 30 };

enum {
    MOST_INPUTS = 3,
    LARGEST_BATCH = 10,
    GROUP = 64,
    MOST_OUTPUTS = GROUP * (2 * MOST_INPUTS + 1)
};

static fg_client *client;

/* ---- inputs ---------------------------------------------------------------------------------- */

typedef struct input {
    fg_type type;
    char mark;
    int most; /* of "<5" */
} input;

static fg_dtype dtype_of(const char *name, size_t size)
{
    static const fg_dtype all[] = {FG_BOOL, FG_U8, FG_S32, FG_S64};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strlen(fg_dtype_name(all[i])) == size && memcmp(fg_dtype_name(all[i]), name, size) == 0)
            return all[i];
    assert_int_equal(size, 1); /* T */
    return FG_F32;
}

/* "T[2,3]+ s32[4]<5" */
static int parse(const char *text, input *out)
{
    int count = 0;
    while (*text != '\0') {
        input *in = &out[count++];
        const char *open = strchr(text, '[');
        *in = (input){.type.dtype = dtype_of(text, (size_t)(open - text))};
        char *at = (char *)(uintptr_t)open + 1;
        while (*at != ']') {
            in->type.dim[in->type.rank++] = strtol(at, &at, 10);
            at += *at == ',';
        }
        in->mark = *++at == ' ' ? '\0' : *at;
        in->most = in->mark == '<' ? (int)strtol(at + 1, &at, 10) : 0;
        while (*at != '\0' && *at != ' ')
            at++;
        text = at + (*at == ' ');
    }
    return count;
}

/* Element i of an input; different values for a different salt. Integers that are indices stay in
 * range. */
static double number(const input *in, size_t i, unsigned salt)
{
    const unsigned h = (unsigned)(i * 2654435761u + salt * 40503u + 12345u) >> 8;
    if (in->type.dtype == FG_BOOL)
        return h % 3 != 0;
    if (in->mark == '=')
        return (double)(h % 3) - 1;
    if (in->mark == '<')
        return h % (unsigned)in->most;
    const double x = (double)(h % 61 + 1) / 16;
    const double real = in->mark == '~' ? x / 4 : x;
    const double sign = in->mark == '+' || h % 2 == 0 || in->type.dtype == FG_U8 ? 1 : -1;
    return fg_dtype_is_float(in->type.dtype) ? sign * real : sign * (double)(h % 9);
}

typedef enum filling { WHOLE, SAMPLES, NANS, WITHOUT } filling;

static bool is_batch(const input *in, int64_t batch)
{
    return in->type.rank > 0 && in->type.dim[0] == batch;
}

/* The input's first rows; the last one is padding: other values, NaN (for integers the maximum), or
 * omitted. */
static fg_array *upload(const input *in, int64_t batch, unsigned salt, filling fill)
{
    fg_error err = {0};
    fg_array *array;
    fg_type type = in->type;
    const bool has_rows = is_batch(in, batch);
    const size_t count = (size_t)fg_type_count(&type);
    const size_t valid = has_rows ? count - count / (size_t)batch : count;
    double *data = calloc(count + 1, sizeof *data);
    if (has_rows && fill == WITHOUT)
        type.dim[0]--;
    const bool is_float = fg_dtype_is_float(type.dtype);
    for (size_t i = 0; i < (size_t)fg_type_count(&type); i++) {
        double value = number(in, i, i < valid ? salt : salt + 100);
        if (i >= valid && fill == NANS)
            value = is_float ? (double)NAN : type.dtype == FG_BOOL ? 1 : 127;
        fgi_number_put(type.dtype, data, i, value);
    }
    fgt_ok(fg_array_create(client, &type, data, &array, &err));
    free(data);
    return array;
}

/* ---- programs -------------------------------------------------------------------------------- */

typedef struct traced {
    const fgt_row *row;
    int count, open_count;
    input in[MOST_INPUTS];
    fg_tensor open[MOST_INPUTS];
    size_t out_at, out_count; /* the result, gradients, gradients of the gradients' squares */
} traced;

typedef struct group {
    int64_t batch;
    bool is_padded;
    traced rows[GROUP];
    size_t count, feed_count, output_count;
    fg_tensor outputs[MOST_OUTPUTS];
    fgi_rows row_of[MOST_OUTPUTS]; /* of each output: zero without padding */
    fgi_step_program *program;
} group;

static void set_mask(fg_trace *trace, int64_t batch)
{
    float mask[LARGEST_BATCH];
    const fg_type type = {FG_F32, 1, {batch}};
    for (int64_t i = 0; i < batch; i++)
        mask[i] = i + 1 < batch;
    fg_trace_set_mask(trace, fg_constant(trace, &type, mask));
}

static fg_tensor call(fg_trace *trace, group *g, traced *t)
{
    fg_tensor in[MOST_INPUTS];
    t->open_count = 0;
    for (int i = 0; i < t->count; i++) {
        fg_type type = t->in[i].type;
        const bool has_rows = is_batch(&t->in[i], g->batch);
        if (has_rows && !g->is_padded)
            type.dim[0]--;
        in[i] = fgi_trace_feed(trace, (int)g->feed_count++, &type);
        if (has_rows && g->is_padded)
            in[i] = fg_batch_axis(in[i], 0);
        if (fg_dtype_is_float(type.dtype))
            t->open[t->open_count++] = in[i];
    }
    for (int i = t->count; i < MOST_INPUTS; i++)
        in[i] = in[0];
    return t->row->call(trace, in);
}

/* Whether the row supports a padded batch, and the same without padding; an error must state the
 * reason. */
static bool is_possible(const fgt_row *row, int64_t batch, bool is_padded)
{
    fg_error err = {0};
    fg_trace *trace;
    group g = {.batch = batch, .is_padded = is_padded};
    traced t = {.row = row, .count = parse(row->inputs, t.in)};
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    if (is_padded)
        set_mask(trace, batch);
    const fg_tensor out = call(trace, &g, &t);
    if ((row->checks & GRAD) != 0 && fg_dtype_is_float(fg_tensor_type(out)->dtype)) {
        fg_tensor gradient[MOST_INPUTS];
        fg_grad(fg_sum(fg_square(out), 0, NULL), t.open, (size_t)t.open_count, gradient);
    }
    const fg_status status = fg_trace_error(trace, &err);
    const bool is_of_batch = strstr(err.message, "batch axis") || strstr(err.message, "the batch");
    if (status != FG_OK && is_padded && (status != FG_EINVAL || !is_of_batch))
        fail_msg("%s: %s", row->id, err.message);
    fg_trace_destroy(trace);
    return status == FG_OK;
}

static void add_gradients(group *g, const traced *t, fg_tensor total)
{
    fg_grad(total, t->open, (size_t)t->open_count, &g->outputs[g->output_count]);
    g->output_count += (size_t)t->open_count;
}

/* The sum of the squares of the last gradients. */
static fg_tensor slope(const group *g, const traced *t)
{
    const fg_tensor *d = &g->outputs[g->output_count - (size_t)t->open_count];
    fg_tensor sum = fg_sum(fg_square(d[0]), 0, NULL);
    for (int i = 1; i < t->open_count; i++)
        sum = fg_add(sum, fg_sum(fg_square(d[i]), 0, NULL));
    return sum;
}

static void trace_row(fg_trace *trace, group *g, traced *t)
{
    const fg_tensor out = call(trace, g, t);
    t->out_at = g->output_count;
    g->outputs[g->output_count++] = out;
    if ((t->row->checks & GRAD) != 0 && fg_dtype_is_float(fg_tensor_type(out)->dtype)) {
        add_gradients(g, t, fg_sum(fg_square(out), 0, NULL));
        if ((t->row->checks & TWICE) != 0)
            add_gradients(g, t, slope(g, t));
    }
    t->out_count = g->output_count - t->out_at;
}

static void compile(group *g)
{
    fg_error err = {0};
    fg_trace *trace;
    fgt_ok(fg_trace_create(client, &trace, &err));
    if (g->is_padded)
        set_mask(trace, g->batch);
    for (size_t r = 0; r < g->count; r++)
        trace_row(trace, g, &g->rows[r]);
    fgt_ok(fg_trace_error(trace, &err));
    for (size_t i = 0; i < g->output_count; i++)
        if (fgi_node_of(g->outputs[i])->rows != NULL)
            g->row_of[i] = *fgi_node_of(g->outputs[i])->rows;
    fgt_ok(fgi_step_program_create(trace, g->outputs, g->output_count, &g->program, &err));
    fg_trace_destroy(trace);
}

static void run(const group *g, filling fill, fg_array **out)
{
    fg_error err = {0};
    fg_array *feeds[GROUP * MOST_INPUTS] = {0};
    size_t at = 0;
    for (size_t r = 0; r < g->count; r++)
        for (int i = 0; i < g->rows[r].count; i++)
            feeds[at++] = upload(&g->rows[r].in[i], g->batch, (unsigned)i, fill);
    fgt_ok(fgi_step_program_launch(g->program, feeds, at, out, NULL, &err));
    for (size_t i = 0; i < at; i++)
        fg_array_release(feeds[i]);
}

/* ---- comparison ------------------------------------------------------------------------------ */

static bool is_valid(const fg_type *type, const fgi_rows *of, int64_t batch, size_t element)
{
    for (int d = type->rank - 1; d >= 0; d--) {
        const int64_t i = (int64_t)element % type->dim[d];
        element /= (size_t)type->dim[d];
        if (of->step[d] != 0 && i / of->step[d] % batch == batch - 1)
            return false;
    }
    return true;
}

/* The valid elements, in order; *out_rest is the largest magnitude of the others. */
static size_t read_valid(fg_array *array, const fgi_rows *of, int64_t batch, double *out,
                         double *out_rest)
{
    fg_error err = {0};
    const fg_type *type = fg_array_type(array);
    const size_t count = (size_t)fg_type_count(type), size = fg_type_bytes(type);
    char *raw = malloc(size + 1);
    size_t n = 0;
    *out_rest = 0;
    fgt_ok(fg_array_read(array, raw, size, &err));
    for (size_t i = 0; i < count; i++) {
        const double value = fgi_number_get(type->dtype, raw, i);
        if (is_valid(type, of, batch, i))
            out[n++] = value;
        else if (!(fabs(value) <= *out_rest))
            *out_rest = fabs(value);
    }
    free(raw);
    return n;
}

enum { MOST_ELEMENTS = 4096 };

static int failures; /* reported one by one, so that a run shows all of them */

static void compare(const char *id, const char *what, const double *got, size_t got_count,
                    const double *want, size_t want_count, double tolerance)
{
    size_t i = 0;
    while (i < want_count && got_count == want_count &&
           (got[i] == want[i] || (isnan(got[i]) && isnan(want[i])) ||
            fabs(got[i] - want[i]) <= tolerance * (1 + fabs(want[i]))))
        i++;
    if (got_count != want_count)
        print_error("%s %s: %zu valid elements, expected %zu\n", id, what, got_count, want_count);
    else if (i < want_count)
        print_error("%s %s: element %zu is %.9g, expected %.9g\n", id, what, i, got[i], want[i]);
    failures += got_count != want_count || i < want_count;
}

static double got[MOST_ELEMENTS], want[MOST_ELEMENTS];

/* Compares output i of the padded program with that of another run. */
static void compare_outputs(const group *g, const traced *t, size_t at, fg_array *array,
                            const fgi_rows *of, fg_array *other, const fgi_rows *other_of,
                            const char *what)
{
    double rest, other_rest;
    const size_t n = read_valid(array, of, g->batch, got, &rest);
    const size_t m = read_valid(other, other_of, g->batch, want, &other_rest);
    compare(t->row->id, what, got, n, want, m, 1e-5);
    if (at > t->out_at && rest != 0) {
        print_error("%s: the gradient by padding is %g\n", t->row->id, rest);
        failures++;
    }
}

/* Rows of the battery with this B as first dimension, all in one program with the padded batch and
 * one with the batch without padding. */
static void check_group(group *padded, group *plain)
{
    static const fgi_rows none;
    fg_array *samples[MOST_OUTPUTS], *nans[MOST_OUTPUTS], *whole[MOST_OUTPUTS];
    compile(padded);
    compile(plain);
    run(padded, SAMPLES, samples);
    run(padded, NANS, nans);
    run(plain, WITHOUT, whole);
    for (size_t r = 0; r < padded->count; r++) {
        const traced *t = &padded->rows[r];
        for (size_t i = t->out_at; i < t->out_at + t->out_count; i++)
            compare_outputs(padded, t, i, samples[i], &padded->row_of[i], whole[i], &none,
                            "against no padding");
        compare_outputs(padded, t, t->out_at, nans[t->out_at], &padded->row_of[t->out_at],
                        whole[t->out_at], &none, "padded with NaN");
    }
    for (size_t i = 0; i < padded->output_count; i++) {
        fg_array_release(samples[i]);
        fg_array_release(nans[i]);
        fg_array_release(whole[i]);
    }
    fgi_step_program_destroy(padded->program);
    fgi_step_program_destroy(plain->program);
}

/* All except "broadcast", which contains the batch size: with one sample less, it is a different
 * operation. */
static void padding_leaves_no_trace(void **state)
{
    (void)state;
    static group padded, plain;
    size_t checked = 0, own = 0;
    for (int64_t batch = 2; batch <= LARGEST_BATCH; batch++) {
        size_t r = 0;
        while (r < ROW_COUNT) {
            padded = (group){.batch = batch, .is_padded = true};
            plain = (group){.batch = batch};
            for (; r < ROW_COUNT && padded.count < GROUP; r++) {
                traced t = {.row = &rows[r]};
                t.count = parse(rows[r].inputs, t.in);
                if (!is_batch(&t.in[0], batch) || strcmp(rows[r].id, "broadcast") == 0 ||
                    !is_possible(&rows[r], batch, true) || !is_possible(&rows[r], batch, false))
                    continue;
                padded.rows[padded.count++] = t;
                plain.rows[plain.count++] = t;
                checked++;
                own += r + OWN_ROWS >= ROW_COUNT;
            }
            if (padded.count > 0)
                check_group(&padded, &plain);
        }
    }
    assert_int_equal(failures, 0);
    print_message("%zu of %d rows\n", checked, (int)ROW_COUNT);
    assert_true(checked > 180);
    assert_int_equal(own, OWN_ROWS);
}

static int open_client(void **state)
{
    (void)state;
    fg_error err = {0};
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = fgt_cache("")},
                          &client, &err));
    /* Padding may affect which values are stored (cpu.c), and so how sums are rounded; this makes
     * both programs fuse equally. */
    fgi_client_set_plain(client, "stored-values");
    return 0;
}

static int close_client(void **state)
{
    (void)state;
    fg_client_close(client);
    return fgi_alloc_live() == 0 ? 0 : 1;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(padding_leaves_no_trace),
};

int main(void) { return cmocka_run_group_tests(tests, open_client, close_client) == 0 ? 0 : 1; }
