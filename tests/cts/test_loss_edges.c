/* test_loss_edges.c - edge cases of losses on the CPU plugin, with gradients: labels that are not
 * class indices, rows with all logits excluded.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/fulgurite.h>
#include <math.h>
#include "base/alloc.h"

static int open_client(void **state)
{
    static fg_client *client;
    fg_error err = {0};
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = fgt_cache("")},
                          &client, &err));
    *state = client;
    return 0;
}

static int close_client(void **state)
{
    fg_client_close(*state);
    return fgi_alloc_live() == 0 ? 0 : 1;
}

enum { ROWS = 3, CLASSES = 4, COUNT = ROWS * CLASSES };

typedef fg_tensor loss_fn(fg_tensor x, fg_tensor label);

/* The loss and its gradient with respect to x; label may be NULL. */
static float loss_of(fg_client *client, loss_fn *fn, const float *x, const int32_t *label,
                     float *gradient)
{
    static const int32_t none[ROWS];
    fg_error err = {0};
    fg_array *in[2], *out[2];
    fg_trace *trace;
    float loss;
    fgt_ok(fg_array_create(client, &(fg_type){.dtype = FG_F32, .rank = 2, .dim = {ROWS, CLASSES}},
                           x, &in[0], &err));
    fgt_ok(fg_array_create(client, &(fg_type){.dtype = FG_S32, .rank = 1, .dim = {ROWS}},
                           label != NULL ? label : none, &in[1], &err));
    fgt_ok(fg_trace_create(client, &trace, &err));
    const fg_tensor at = fg_input(trace, in[0]);
    fg_tensor outputs[2] = {fn(at, fg_input(trace, in[1]))};
    fg_grad(outputs[0], &at, 1, &outputs[1]);
    fgt_ok(fg_run(trace, outputs, 2, out, &err));
    fgt_ok(fg_array_read(out[0], &loss, sizeof loss, &err));
    fgt_ok(fg_array_read(out[1], gradient, COUNT * sizeof *gradient, &err));
    for (int i = 0; i < 2; i++) {
        fg_array_release(in[i]);
        fg_array_release(out[i]);
    }
    fg_trace_destroy(trace);
    return loss;
}

static fg_tensor plain(fg_tensor x, fg_tensor label) { return fg_cross_entropy(x, label, NULL); }

static fg_tensor smooth(fg_tensor x, fg_tensor label)
{
    return fg_cross_entropy(x, label, &(fg_cross_entropy_options){.label_smoothing = 0.1});
}

static fg_tensor ignoring(fg_tensor x, fg_tensor label)
{
    return fg_cross_entropy(x, label, &(fg_cross_entropy_options){.ignore_index = -100});
}

static fg_tensor weighted(fg_tensor x, fg_tensor label)
{
    const fg_tensor weight = fg_ones(fg_tensor_trace(x), FG_F32, FG_DIMS(CLASSES));
    return fg_cross_entropy(x, label, &(fg_cross_entropy_options){.class_weight = weight});
}

static fg_tensor lse(fg_tensor x, fg_tensor label)
{
    (void)label;
    const fg_tensor each = fg_logsumexp(x);
    return fg_sum(fg_where(fg_eq(each, each), each, fg_mul_scalar(each, 0)), 0, NULL);
}

static const float logits[COUNT] = {1, 2, 3, 4, -1, 0, 2, 1, 5, 4, 3, 2};

/* A batch with such a label makes all gradients NaN. */
static void a_label_outside_the_classes_has_a_nan_gradient(void **client)
{
    static const int32_t wrong[] = {CLASSES, -1, 1000000, INT32_MIN, INT32_MAX};
    static loss_fn *const losses[] = {plain, smooth, ignoring, weighted};
    float gradient[COUNT];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        for (size_t k = 0; k < sizeof losses / sizeof losses[0]; k++) {
            const int32_t label[ROWS] = {1, wrong[i], 0};
            assert_true(isnan(loss_of(*client, losses[k], logits, label, gradient)));
            for (int c = CLASSES; c < 2 * CLASSES; c++)
                assert_true(isnan(gradient[c]));
        }
}

/* An ignored position has no gradient, regardless of its label and logits. */
static void an_ignored_position_has_no_gradient(void **client)
{
    static const int32_t label[ROWS] = {1, -100, 0};
    float x[COUNT], gradient[COUNT];
    for (int c = 0; c < COUNT; c++)
        x[c] = c / CLASSES == 1 ? NAN : logits[c];
    assert_true(isfinite(loss_of(*client, ignoring, x, label, gradient)));
    for (int c = 0; c < COUNT; c++)
        assert_true(c / CLASSES == 1 ? gradient[c] == 0
                                     : isfinite(gradient[c]) && gradient[c] != 0);
}

/* A fully masked row: -inf, with gradient 0; other rows keep their gradients. */
static void logsumexp_of_nothing_has_gradient_zero(void **client)
{
    float x[COUNT], gradient[COUNT];
    for (int c = 0; c < COUNT; c++)
        x[c] = c / CLASSES == 1 ? -INFINITY : logits[c];
    assert_true(loss_of(*client, lse, x, NULL, gradient) == -INFINITY);
    for (int c = 0; c < COUNT; c++) {
        double sum = 0;
        for (int k = c / CLASSES * CLASSES; k < (c / CLASSES + 1) * CLASSES; k++)
            sum += exp((double)x[k]);
        const double wanted = c / CLASSES == 1 ? 0 : exp((double)x[c]) / sum;
        fgt_close("gradient", (double)gradient[c], wanted, 1e-6, 0);
    }
}

static const float class_weights[CLASSES] = {2, 1, 0.5F, 3}, position_weights[ROWS] = {1, 4, 0.25F};

static fg_tensor weighted_twice(fg_tensor x, fg_tensor label)
{
    const fg_type classes = {FG_F32, 1, {CLASSES}}, positions = {FG_F32, 1, {ROWS}};
    return fg_cross_entropy(
        x, label,
        &(fg_cross_entropy_options){
            .class_weight = fg_constant(fg_tensor_trace(x), &classes, class_weights),
            .weight = fg_constant(fg_tensor_trace(x), &positions, position_weights)});
}

/* Also in the sum that the loss is divided by. */
static void weights_of_classes_and_positions_are_multiplied(void **client)
{
    static const int32_t label[ROWS] = {3, 0, 2};
    float gradient[COUNT];
    double losses = 0, weights = 0;
    for (int r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int c = 0; c < CLASSES; c++)
            sum += exp((double)logits[r * CLASSES + c]);
        const double w = (double)(class_weights[label[r]] * position_weights[r]);
        losses += w * (log(sum) - (double)logits[r * CLASSES + label[r]]);
        weights += w;
    }
    const float loss = loss_of(*client, weighted_twice, logits, label, gradient);
    fgt_close("loss", (double)loss, losses / weights, 1e-6, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_label_outside_the_classes_has_a_nan_gradient),
    cmocka_unit_test(an_ignored_position_has_no_gradient),
    cmocka_unit_test(logsumexp_of_nothing_has_gradient_zero),
    cmocka_unit_test(weights_of_classes_and_positions_are_multiplied),
};
int main(void) { return cmocka_run_group_tests(tests, open_client, close_client) == 0 ? 0 : 1; }
