/* test_rows.c - which dimension of a value is the batch axis: what operations keep, what they
 * refuse and how, and that each has a rule. No plugin; test_padding_ops.c has the numbers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <dirent.h>
#include <stdio.h>

#include <fulgurite/fulgurite.h>
#include "base/alloc.h"
#include "base/file.h"
#include "op/op.h"
#include "trace/trace.h"

enum { BATCH = 4 };

typedef struct operands {
    fg_tensor x;     /* f32[B,3], a batch */
    fg_tensor seq;   /* f32[B,5,3], a batch */
    fg_tensor image; /* f32[B,6,6,2], a batch */
    fg_tensor w;     /* f32[3,2] */
    fg_tensor k;     /* f32[3,3,2,2] */
    fg_tensor table; /* f32[B,3], no batch */
} operands;

static fg_tensor feed(fg_trace *trace, int number, fg_type type)
{
    return fgi_trace_feed(trace, number, &type);
}

static fg_trace *trace_of(operands *o)
{
    fg_error err = {0};
    fg_trace *trace;
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    fg_trace_set_mask(trace, fg_ones(trace, FG_F32, FG_DIMS(BATCH)));
    o->x = fg_batch_axis(feed(trace, 0, (fg_type){FG_F32, 2, {BATCH, 3}}), 0);
    o->seq = fg_batch_axis(feed(trace, 1, (fg_type){FG_F32, 3, {BATCH, 5, 3}}), 0);
    o->image = fg_batch_axis(feed(trace, 2, (fg_type){FG_F32, 4, {BATCH, 6, 6, 2}}), 0);
    o->w = feed(trace, 3, (fg_type){FG_F32, 2, {3, 2}});
    o->k = feed(trace, 4, (fg_type){FG_F32, 4, {3, 3, 2, 2}});
    o->table = feed(trace, 5, (fg_type){FG_F32, 2, {BATCH, 3}});
    return trace;
}

/* "1,0": the step of each dimension; "" for a scalar. */
static void check_rows(fg_trace *trace, fg_tensor got, const char *what, const char *want)
{
    char text[64] = "";
    size_t used = 0;
    fg_error err = {0};
    if (fg_trace_error(trace, &err) != FG_OK)
        fail_msg("%s: %s", what, err.message);
    for (int i = 0; i < fg_tensor_type(got)->rank; i++)
        used += (size_t)snprintf(
            text + used, sizeof text - used, "%s%d", i > 0 ? "," : "",
            fgi_node_of(got)->rows != NULL ? (int)fgi_node_of(got)->rows->step[i] : 0);
    if (strcmp(text, want) != 0)
        fail_msg("%s: rows are %s, not %s", what, text, want);
    fg_trace_destroy(trace);
}

#define ROWS(expression, want)                                                                     \
    {                                                                                              \
        operands o;                                                                                \
        fg_trace *trace = trace_of(&o);                                                            \
        const fg_tensor got = (expression);                                                        \
        check_rows(trace, got, #expression, want);                                                 \
    }

static void operations_keep_the_batch_axis(void **state)
{
    (void)state;
    const int first[] = {0}, second[] = {1}, back[] = {1, 0}, time_first[] = {1, 0, 2};
    const int64_t zeros[] = {0, 0, 0}, two[] = {2 * BATCH, 3}, cut[] = {BATCH, 2};
    const int64_t last[] = {4}, all[] = {20}, five[] = {5}, half[] = {BATCH, 3};
    ROWS(fg_relu(o.x), "1,0")
    ROWS(fg_add(o.x, o.table), "1,0")
    ROWS(fg_where(fg_gt(o.table, o.x), o.table, fg_zeros(trace, FG_F32, FG_SCALAR)), "1,0")
    ROWS(fg_matmul(o.x, o.w), "1,0")
    ROWS(fg_matmul(o.x, fg_transpose(o.x)), "1,1")
    ROWS(fg_matmul(fg_transpose(o.x), o.x), "0,0")
    ROWS(fg_matmul(fg_transpose(o.x), o.table), "0,0")
    ROWS(fg_matmul(o.seq, fg_transpose(o.seq)), "1,0,0")
    ROWS(fg_permute(o.seq, time_first), "0,1,0")
    ROWS(fg_reshape(o.seq, FG_DIMS(-1, 3)), "5,0")
    ROWS(fg_reshape(fg_reshape(o.seq, FG_DIMS(-1, 3)), FG_DIMS(BATCH, 5, 3)), "1,0,0")
    ROWS(fg_reshape(fg_permute(o.seq, time_first), FG_DIMS(-1, 3)), "1,0")
    ROWS(fg_reshape(o.seq, FG_DIMS(1, BATCH, 15, 1)), "0,1,0,0")
    ROWS(fg_flatten(o.seq, 0), "15")
    ROWS(fg_broadcast_to(o.x, FG_DIMS(2, BATCH, 3)), "0,1,0")
    ROWS(fg_slice(o.x, zeros, cut, NULL), "1,0")
    ROWS(fg_slice(fg_reshape(fg_sum(o.seq, 1, (const int[]){2}), FG_DIMS(-1)), last, all, five),
         "1")
    ROWS(fg_concat((const fg_tensor[]){o.x, o.x}, 2, 0), "1,0")
    ROWS(fg_concat((const fg_tensor[]){o.x, o.table}, 2, 1), "1,0")
    ROWS(fg_slice(fg_concat((const fg_tensor[]){o.x, o.x}, 2, 0), half, two, NULL), "1,0")
    ROWS(fg_pad(o.x, 0, (const int64_t[]){0, 1}, (const int64_t[]){0, 2}, NULL), "1,0")
    ROWS(fg_reverse(o.seq, 1, second), "1,0,0")
    ROWS(fg_sum(o.x, 1, second), "1")
    ROWS(fg_sum(o.x, 1, first), "0")
    ROWS(fg_mean(o.x, 0, NULL), "")
    ROWS(fg_softmax(fg_permute(o.x, back)), "0,1")
    ROWS(fg_conv2d(o.image, o.k, NULL), "1,0,0,0")
    ROWS(fg_max_pool(o.image, NULL), "1,0,0,0")
    ROWS(fg_accuracy(o.seq, fg_zeros(trace, FG_S32, FG_DIMS(BATCH, 5))), "1,0")
    ROWS(fg_stop_gradient(fg_cast(o.x, FG_BF16)), "1,0")
    ROWS(fg_batch_axis(fg_batch_axis(fg_ones(trace, FG_F32, FG_DIMS(BATCH, BATCH)), 0), 1), "1,1")
    ROWS(fg_gather(o.x, fg_zeros(trace, FG_S32, FG_DIMS(2)), 1, 0), "1,0")
    ROWS(fg_batch_roll(o.seq), "1,0,0")
    ROWS(fg_pad(o.x, 0, (const int64_t[]){BATCH, 0}, (const int64_t[]){2 * BATCH, 0}, NULL), "1,0")
    ROWS(o.table, "0,0")
}

static void check_refusal(fg_trace *trace, const char *what, int line, const char *says,
                          const char *instead)
{
    fg_error err = {0};
    if (fg_trace_error(trace, &err) != FG_EINVAL || strstr(err.message, says) == NULL ||
        strstr(err.message, instead) == NULL)
        fail_msg("%s: %s: %s", what, fg_status_name(err.status), err.message);
    if (err.line != line || strcmp(err.file, __FILE__) != 0)
        fail_msg("%s: blames %s:%d, not line %d", what, err.file, err.line, line);
    fg_trace_destroy(trace);
}

#define REFUSED(expression, says, instead)                                                         \
    {                                                                                              \
        operands o;                                                                                \
        fg_trace *trace = trace_of(&o);                                                            \
        (void)(expression);                                                                        \
        check_refusal(trace, #expression, __LINE__, says, instead);                                \
    }

#define AXIS(n)                                                                                    \
    "axis " #n " is the batch axis, and the last batch of an epoch contains padding rows"

static void what_mixes_samples_is_refused(void **state)
{
    (void)state;
    const int first[] = {0}, back[] = {2, 1, 0}, time_first[] = {1, 0, 2};
    const int64_t zeros[] = {0, 0}, half[] = {2, 3}, one[] = {1, 0}, end[] = {BATCH, 3};
    REFUSED(fg_slice(o.x, zeros, half, NULL), "slice(f32[4,3]): " AXIS(0), "select with fg_where")
    REFUSED(fg_slice(o.x, zeros, end, (const int64_t[]){2, 1}), AXIS(0), "drop_last")
    REFUSED(fg_slice(o.x, one, end, NULL), AXIS(0), "drop_last")
    REFUSED(fg_pad(o.x, 0, one, zeros, NULL), AXIS(0), "pad other axes")
    REFUSED(fg_reverse(o.x, 1, first), AXIS(0), "reverse other axes")
    REFUSED(fg_reshape(o.x, FG_DIMS(2, 6)), AXIS(0), "keep the batch axis separate")
    REFUSED(fg_reshape(o.x, FG_DIMS(2, 2, 3)), AXIS(0), "keep the batch axis separate")
    REFUSED(fg_reshape(fg_matmul(o.x, fg_transpose(o.x)), FG_DIMS(16)), AXIS(1), "two batch axes")
    REFUSED(fg_concat((const fg_tensor[]){o.x, o.table}, 2, 0), AXIS(0), "concatenate only values")
    REFUSED(fg_add(fg_reshape(o.seq, FG_DIMS(20, 3)),
                   fg_reshape(fg_permute(o.seq, time_first), FG_DIMS(20, 3))),
            "the samples of the batch in different orders", "permute one of them")
    REFUSED(fg_matmul(fg_transpose(fg_reshape(o.seq, FG_DIMS(20, 3))),
                      fg_reshape(fg_permute(o.seq, time_first), FG_DIMS(20, 3))),
            "the samples of the batch in different orders", "inner axis 0")
    REFUSED(fg_conv2d(fg_reshape(fg_permute(o.seq, time_first), FG_DIMS(5, BATCH, 3, 1)),
                      fg_ones(trace, FG_F32, FG_DIMS(1, 1, 1, 1)), NULL),
            AXIS(1), "the batch the first dimension of the images")
    REFUSED(fg_conv2d(fg_ones(trace, FG_F32, FG_DIMS(1, 6, 6, 1)),
                      fg_reshape(o.x, FG_DIMS(BATCH, 3, 1, 1)), NULL),
            AXIS(0), "the kernel independent of the batch")
    REFUSED(fg_reshape(fg_matmul(o.x, fg_transpose(o.x)), FG_DIMS(BATCH, 2, 2)), AXIS(1),
            "keep the batch axis separate")
    REFUSED(fg_max_pool(fg_reshape(fg_permute(o.seq, back), FG_DIMS(3, 5, BATCH, 1)), NULL),
            AXIS(2), "[N,H,W,C]")
}

static void samples_are_not_gathered(void **state)
{
    (void)state;
    const int time_first[] = {1, 0, 2};
    REFUSED(fg_gather(o.x, fg_zeros(trace, FG_S32, FG_DIMS(2)), 0, 0), AXIS(0), "along other axes")
    REFUSED(fg_gather(fg_permute(o.seq, time_first), fg_zeros(trace, FG_S32, FG_DIMS(2)), 1, 0),
            AXIS(1), "along other axes")
}

/* Either operand may have the other order. */
static void orders_that_differ_are_refused(void **state)
{
    (void)state;
    const int time_first[] = {1, 0, 2};
    const int64_t zeros[] = {0, 0}, one[] = {1, 0}, later[] = {BATCH, 0}, end[] = {2 * BATCH, 3};
    REFUSED(fg_matmul(fg_transpose(fg_reshape(fg_permute(o.seq, time_first), FG_DIMS(20, 3))),
                      fg_reshape(o.seq, FG_DIMS(20, 3))),
            "the samples of the batch in different orders", "inner axis 0")
    REFUSED(fg_concat((const fg_tensor[]){o.table, o.x, o.x}, 3, 0), AXIS(0),
            "concatenate only values")
    REFUSED(fg_slice(fg_concat((const fg_tensor[]){o.x, o.x}, 2, 0), one, end, NULL), AXIS(0),
            "select with fg_where")
    REFUSED(fg_slice(fg_concat((const fg_tensor[]){o.x, o.x}, 2, 0), later,
                     (const int64_t[]){2 * BATCH - 1, 3}, NULL),
            AXIS(0), "select with fg_where")
    REFUSED(fg_slice(fg_reshape(o.seq, FG_DIMS(20, 3)), (const int64_t[]){5, 0},
                     (const int64_t[]){20, 3}, (const int64_t[]){5, 1}),
            AXIS(0), "select with fg_where")
    REFUSED(fg_pad(o.x, 0, later, one, NULL), AXIS(0), "pad other axes")
    REFUSED(fg_pad(o.x, 0, one, later, NULL), AXIS(0), "pad other axes")
    REFUSED(fg_pad(o.x, 0, zeros, zeros, one), AXIS(0), "pad other axes")
    REFUSED(fg_reverse(o.seq, 2, (const int[]){1, 0}), AXIS(0), "reverse other axes")
    REFUSED(fg_batch_roll(fg_permute(o.seq, time_first)), "batch_roll: got f32[5,4,3]",
            "whose first dimension is the only batch axis")
    REFUSED(fg_batch_roll(fg_matmul(o.x, fg_transpose(o.x))), "batch_roll: got f32[4,4]",
            "whose first dimension is the only batch axis")
    REFUSED(fg_batch_roll(fg_reshape(o.seq, FG_DIMS(20, 3))), "batch_roll: got f32[20,3]",
            "whose first dimension is the only batch axis")
    REFUSED(fg_flatten(fg_matmul(fg_reshape(o.seq, FG_DIMS(20, 3)), fg_transpose(o.x)), 0), AXIS(1),
            "two batch axes")
}

/* A state would carry padding into the next step. */
static void one_value_a_sample_is_not_kept(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_variable *v;
    fgt_ok(fg_variable_create("queue", &(fg_type){FG_F32, 2, {BATCH, 3}}, NULL, &v, &err));
    operands o;
    fg_trace *trace = trace_of(&o);
    fg_assign(v, o.x);
    check_refusal(trace, "assign", __LINE__ - 1,
                  "variable 'queue' would store one value per sample",
                  "reduce over the batch axis first");
    trace = trace_of(&o);
    fg_assign(v, fg_add(fg_mean(o.x, 1, (const int[]){0}), fg_variable_value(trace, v)));
    fgt_ok(fg_trace_error(trace, &err));
    fg_trace_destroy(trace);
    fg_variable_destroy(v);
}

static void the_mask_comes_first(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace;
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    const fg_tensor x = feed(trace, 0, (fg_type){FG_F32, 2, {BATCH, 3}});
    assert_true(fg_batch_axis(x, 0).handle == x.handle); /* no mask: there is nothing to track */
    fg_trace_set_mask(trace, fg_ones(trace, FG_F32, FG_DIMS(BATCH)));
    assert_int_equal(fg_trace_error(trace, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "set the mask before the first operation on the batch"));
    fg_trace_reset(trace);
    fg_trace_set_mask(trace, fg_ones(trace, FG_F32, FG_DIMS(BATCH)));
    (void)fg_batch_axis(feed(trace, 0, (fg_type){FG_F32, 2, {3, BATCH}}), 0);
    assert_int_equal(fg_trace_error(trace, &err), FG_ESHAPE);
    assert_string_equal(err.message, "batch_axis: dimension 0 has 3 elements, but the trace's mask "
                                     "has 4 rows");
    fg_trace_reset(trace);
    fg_trace_set_mask(trace, fg_ones(trace, FG_F32, FG_DIMS(BATCH)));
    (void)fg_batch_axis(feed(trace, 0, (fg_type){FG_F32, 2, {3, BATCH}}), 2);
    assert_int_equal(fg_trace_error(trace, &err), FG_EINVAL);
    fg_trace_destroy(trace);
}

/* Without an explicit mark, losses and layers take dimension 0 for the batch; with one, a value
 * that does not depend on the batch is taken as it is. */
static void losses_assume_the_batch_axis(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trace *trace;
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    fg_trace_set_mask(trace, fg_ones(trace, FG_F32, FG_DIMS(BATCH)));
    const fg_tensor x = feed(trace, 0, (fg_type){FG_F32, 2, {BATCH, 3}});
    assert_non_null(fgi_node_of(fg_mse(x, x))->denominator);
    fg_trace_destroy(trace);
    operands o;
    trace = trace_of(&o);
    assert_null(fgi_node_of(fg_mse(o.w, o.w))->denominator);
    fg_trace_reset(trace); /* the mark is of that iteration only */
    fg_trace_set_mask(trace, fg_ones(trace, FG_F32, FG_DIMS(BATCH)));
    const fg_tensor y = feed(trace, 0, (fg_type){FG_F32, 2, {BATCH, 3}});
    assert_non_null(fgi_node_of(fg_mse(y, y))->denominator);
    fgt_ok(fg_trace_error(trace, &err));
    fg_trace_destroy(trace);
}

/* Every constant fgi_op in the source that has operands names its row rule. */
static int check_file(const char *path)
{
    fg_error err = {0};
    char *text;
    size_t size;
    int count = 0;
    fgt_ok(fgi_file_read(path, 1 << 20, &text, &size, &err));
    for (char *at = text; (at = strstr(at, "const fgi_op ")) != NULL;) {
        at += strlen("const fgi_op ");
        char *open = strchr(at, '{'), *end = strchr(at, ';');
        if (end == NULL || open == NULL || open > end)
            continue; /* a declaration or a parameter */
        const char *arity = strstr(at, ".arity"), *rows = strstr(at, ".rows");
        const bool has_operands = arity != NULL && arity < end;
        if (has_operands && (rows == NULL || rows > end))
            fail_msg("%s: operation %.*s has no row rule", path, (int)strcspn(at, " "), at);
        count += has_operands;
        at = end;
    }
    fgi_free(text);
    return count;
}

static void every_operation_has_a_rule(void **state)
{
    (void)state;
    static const char *const folders[] = {"trace", "op", "grad", "nn", "optim", "train"};
    int count = 0;
    for (size_t f = 0; f < sizeof folders / sizeof folders[0]; f++) {
        char folder[512];
        (void)snprintf(folder, sizeof folder, FGT_SOURCE_DIR "/src/%s", folders[f]);
        DIR *dir = opendir(folder);
        assert_non_null(dir);
        for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
            if (strstr(entry->d_name, ".c") != NULL)
                count += check_file(fgt_path(folder, entry->d_name));
        (void)closedir(dir);
    }
    assert_true(count >= 25);
}

/* And one that has none is refused where it would matter. */
static bool same(fgi_infer *c)
{
    return fgi_infer_ok(c, c->in[0]->dtype, c->in[0]->rank, c->in[0]->dim);
}

static void an_operation_without_a_rule_is_refused(void **state)
{
    (void)state;
    static const fgi_op bare = {.name = "bare", .arity = 1, .infer = same};
    fg_error err = {0};
    operands o;
    fg_trace *trace = trace_of(&o);
    (void)FGI_APPLY1(bare, o.w);
    fgt_ok(fg_trace_error(trace, &err));
    (void)FGI_APPLY1(bare, o.x);
    assert_int_equal(fg_trace_error(trace, &err), FG_EUNSUPPORTED);
    assert_non_null(
        strstr(err.message, "bare(f32[4,3]): is not supported on batches with padding rows"));
    fg_trace_destroy(trace);
}

/* The effect of each operation on a mean: the losses of a step's batches are combined by their
 * denominators, as long as only these operations follow. */
static void linearity_of_operations(void **state)
{
    (void)state;
    operands o;
    fg_trace *trace = trace_of(&o);
    const fg_tensor a = o.table, b = fg_add_scalar(a, 2), n = fg_cast(a, FG_S32);
    const struct {
        fg_tensor value;
        fgi_linearity linearity;
    } rows[] = {
        {fg_add(a, b), FGI_LINEAR},
        {fg_sub(a, b), FGI_LINEAR},
        {fg_neg(a), FGI_LINEAR},
        {fg_cast(a, FG_F64), FGI_LINEAR},
        {fg_transpose(a), FGI_LINEAR},
        {fg_reshape(a, FG_DIMS(2, 6)), FGI_LINEAR},
        {fg_stop_gradient(a), FGI_LINEAR},
        {fg_mul(a, b), FGI_BILINEAR},
        {fg_div(a, b), FGI_LINEAR_IN_FIRST},
        {fg_maximum(a, b), FGI_NOT_LINEAR},
        {fg_minimum(a, b), FGI_NOT_LINEAR},
        {fg_pow(a, b), FGI_NOT_LINEAR},
        {fg_exp(a), FGI_NOT_LINEAR},
        {fg_log(a), FGI_NOT_LINEAR},
        {fg_sqrt(a), FGI_NOT_LINEAR},
        {fg_abs(a), FGI_NOT_LINEAR},
        {fg_matmul(a, o.w), FGI_NOT_LINEAR},
        {fg_and(n, n), FGI_NOT_LINEAR},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (fgi_linearity_of(fgi_node_of(rows[i].value)->op) != rows[i].linearity)
            fail_msg("%s: not %d", fgi_node_of(rows[i].value)->op->name, (int)rows[i].linearity);
    assert_int_equal(fg_trace_error(trace, NULL), FG_OK);
    fg_trace_destroy(trace);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(operations_keep_the_batch_axis),
    cmocka_unit_test(what_mixes_samples_is_refused),
    cmocka_unit_test(samples_are_not_gathered),
    cmocka_unit_test(orders_that_differ_are_refused),
    cmocka_unit_test(one_value_a_sample_is_not_kept),
    cmocka_unit_test(the_mask_comes_first),
    cmocka_unit_test(losses_assume_the_batch_axis),
    cmocka_unit_test(linearity_of_operations),
    cmocka_unit_test(every_operation_has_a_rule),
    cmocka_unit_test(an_operation_without_a_rule_is_refused),
};

FGT_MAIN(tests)
