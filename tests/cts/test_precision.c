/* test_precision.c - precisions: the compiled program uses the dtypes that the precision promises,
 * and its results are those of PyTorch's autocast and of PyTorch in float64.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/optim.h>
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "counted.h"
#include "kernel/kernel.h"
#include "plan/hlo_counts.h"
#include "record.h"
#include "trace/program.h"

enum { BATCH = 32, SIDE = 28, CLASSES = FGT_COUNTED_CLASSES };

static fg_client *client;
static fg_ckpt *record;

/* A model in one precision, and its training loop. */
typedef struct loop {
    fg_module *root;
    fg_model *model;
    fg_optimizer *optimizer;
    fg_trace *trace;
    fg_tensor logits;
} loop;

typedef struct plan {
    const char *precision, *model;
    fg_sgd_options sgd; /* or, if its lr is 0: */
    fg_adam_options adam;
    bool scales; /* the loss */
} plan;

static void begin(loop *l, const plan *p)
{
    fg_error err = {0};
    fgt_ok(fg_module_create(NULL, 0, &l->root, &err));
    fgt_ok(fg_trace_create(client, &l->trace, &err));
    fg_module_set_precision(l->root, p->precision);
    fgt_ok(fg_trace_set_precision(l->trace, p->precision, &err));
    fg_trace_set_training(l->trace, true);
    l->model = fg_model_create(l->root, &(fg_model_options){.name = p->model,
                                                            .input = {FG_U8, 3, {SIDE, SIDE, 1}},
                                                            .outputs = CLASSES});
    l->optimizer =
        p->sgd.lr > 0 ? fg_sgd_create(l->root, &p->sgd) : fg_adam_create(l->root, &p->adam);
    fgt_ok(fg_module_error(l->root, &err));
    if (p->scales)
        fgt_ok(fg_optimizer_set_loss_scale(l->optimizer, NULL, &err));
}

static void end(loop *l)
{
    fg_trace_destroy(l->trace);
    fg_module_destroy(l->root);
}

static fg_tensor input(fg_trace *trace, const fg_type *type, const void *data)
{
    fg_error err = {0};
    fg_array *array = NULL;
    fgt_ok(fg_array_create(client, type, data, &array, &err));
    const fg_tensor x = fg_input(trace, array);
    fg_array_release(array);
    return x;
}

/* Traces the update of one batch; returns its loss. */
static fg_tensor trace_update(loop *l, int step)
{
    static uint8_t image[BATCH * SIDE * SIDE];
    static int32_t label[BATCH];
    fgt_counted_batch(step, BATCH, SIDE * SIDE, image, label);
    const fg_tensor x = input(l->trace, &(fg_type){FG_U8, 4, {BATCH, SIDE, SIDE, 1}}, image);
    const fg_tensor y = input(l->trace, &(fg_type){FG_S32, 1, {BATCH}}, label);
    l->logits = fg_model_apply(l->model, x);
    const fg_tensor loss = fg_cross_entropy(l->logits, y, NULL);
    fg_optimizer_minimize(l->optimizer, loss);
    return loss;
}

static double update(loop *l, int step)
{
    fg_error err = {0};
    fg_array *array = NULL;
    const fg_tensor loss = trace_update(l, step);
    const bool is_wide = fg_tensor_type(loss)->dtype == FG_F64;
    double wide = 0;
    float narrow = 0;
    fgt_ok(fg_run(l->trace, &loss, 1, &array, &err));
    if (is_wide)
        fgt_ok(fg_array_read(array, &wide, sizeof wide, &err));
    else
        fgt_ok(fg_array_read(array, &narrow, sizeof narrow, &err));
    fg_array_release(array);
    return is_wide ? wide : (double)narrow;
}

/* ---- dtypes in programs ---------------------------------------------------------------------- */

typedef struct promise {
    const char *precision;
    fg_dtype matmul, parameter, activation, loss;
} promise;

/* The program before optimization: all matmuls and convolutions have operands in the expected
 * dtype, and none is missing. */
static void check_text(loop *l, fg_tensor loss, fg_dtype matmul)
{
    fg_error err = {0};
    char *text = NULL, wanted[16];
    int matmuls = 0;
    static const char *const element[] = {
        [FG_BF16] = "bf16", [FG_F16] = "f16", [FG_F32] = "f32", [FG_F64] = "f64"};
    (void)snprintf(wanted, sizeof wanted, "x%s>", element[matmul]);
    fgt_ok(fg_trace_text(l->trace, &loss, 1, &text, &err));
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strstr(line, "stablehlo.dot_general") == NULL &&
            strstr(line, "stablehlo.convolution") == NULL &&
            strstr(line, FGI_KERNEL_MATMUL_PREFIX) == NULL)
            continue;
        const char *types = strstr(line, " : (");
        const char *first = strstr(types, "tensor<"), *second = strstr(first + 1, "tensor<");
        assert_memory_equal(strchr(first, '>') - strlen(wanted) + 1, wanted, strlen(wanted));
        assert_memory_equal(strchr(second, '>') - strlen(wanted) + 1, wanted, strlen(wanted));
        matmuls++;
    }
    assert_in_range(matmuls, 8, 32); /* on the CPU a convolution may be written as several */
    fg_free(text);
}

static int sum_of(const int *by_dtype)
{
    int sum = 0;
    for (int d = 0; d < FGI_DTYPES; d++)
        sum += by_dtype[d];
    return sum;
}

/* The optimized program. XLA's CPU backend computes f16, bf16 convolutions and, without kernels,
 * the three weight gradients in f32, from rounded operands. */
static void check_compiled(const promise *want, const fgi_executable *executable)
{
    fg_error err = {0};
    char *data = NULL;
    size_t size = 0;
    fgi_hlo *hlo = NULL;
    fgi_hlo_counts count;
    fgt_ok(fgi_executable_optimized(executable, &data, &size, &err));
    fgt_ok(fgi_hlo_read(data, size, &hlo, &err));
    fgi_hlo_count(hlo, &count);
    fgi_hlo_free(hlo);
    fgi_free(data);
    const int dots = sum_of(count.dots), convs = sum_of(count.convs);
    print_message("%s: %d of %d products, %d of %d convolutions in %s\n", want->precision,
                  count.dots[want->matmul], dots, count.convs[want->matmul], convs,
                  fg_dtype_name(want->matmul));
    assert_true(dots >= 8);
    if (want->matmul == FG_F32 || want->matmul == FG_F64) {
        assert_int_equal(count.dots[want->matmul], dots);
        assert_int_equal(count.convs[want->matmul], convs);
    } else if (want->matmul == FG_BF16) {
        assert_in_range(count.dots[FG_BF16], dots - 3, dots);
    }
}

/* Every matmul and convolution, forward and backward, has operands in the expected dtype. */
static void check_program(const plan *p, const promise *want)
{
    fg_error err = {0};
    loop l = {0};
    fgi_program *program = NULL;
    begin(&l, p);
    const fg_tensor loss = trace_update(&l, 0);
    assert_int_equal(fg_tensor_type(l.logits)->dtype, want->activation);
    assert_int_equal(fg_tensor_type(loss)->dtype, want->loss);
    for (size_t i = 0; i < fg_module_variable_count(l.root); i++)
        assert_int_equal(fg_variable_type(fg_module_variable_at(l.root, i))->dtype,
                         want->parameter);
    check_text(&l, loss, want->matmul);
    fgt_ok(fgi_program_get(l.trace, &loss, 1, &program, &err));
    check_compiled(want, fgi_program_executable(program));
    end(&l);
}

static void programs_compute_in_the_promised_format(void **state)
{
    static const promise promises[] = {
        {"32-true", FG_F32, FG_F32, FG_F32, FG_F32},
        {"bf16-mixed", FG_BF16, FG_F32, FG_BF16, FG_F32},
        {"bf16-true", FG_BF16, FG_BF16, FG_BF16, FG_F32},
        {"16-mixed", FG_F16, FG_F32, FG_F16, FG_F32},
        {"16-true", FG_F16, FG_F16, FG_F16, FG_F32},
        {"64-true", FG_F64, FG_F64, FG_F64, FG_F64},
    };
    for (size_t i = 0; i < sizeof promises / sizeof promises[0]; i++) {
        check_program(&(plan){promises[i].precision, "mlp", .sgd = {.lr = 0.1}}, &promises[i]);
        check_program(&(plan){promises[i].precision, "lenet", .sgd = {.lr = 0.1}}, &promises[i]);
    }
}

/* ---- PyTorch's curves ------------------------------------------------------------------------ */

static void follows(const char *name, const plan *p, double tolerance)
{
    fg_type type;
    loop l = {0};
    double worst = 0;
    const double *want = fgt_record_get(record, &type, "%s", name);
    begin(&l, p);
    fgt_counted_weights(l.root);
    for (int step = 0; step < type.dim[0]; step++) {
        char text[64];
        const double loss = update(&l, step);
        worst = fmax(worst, fabs(loss / want[step] - 1));
        (void)snprintf(text, sizeof text, "%s: loss of step %d", name, step);
        fgt_close(text, loss, want[step], 0, tolerance);
    }
    print_message("%s: %d losses within %.2g of PyTorch's\n", name, (int)type.dim[0], worst);
    end(&l);
}

static double spread(const char *name)
{
    return *(const double *)fgt_record_get(record, NULL, "%s/spread", name);
}

static const fg_sgd_options sgd = {.lr = 0.01, .momentum = 0.9};

/* Twice the distance between PyTorch's curves when initial weights differ by half a unit in bf16's
 * last place: half of it for rounding, half for the order of summation in matmuls. */
static void bf16_mixed_follows_autocast(void **state)
{
    follows("mlp_bf16", &(plan){"bf16-mixed", "mlp", .sgd = sgd}, 2 * spread("mlp_bf16"));
    follows("lenet_bf16", &(plan){"bf16-mixed", "lenet", .adam = {.lr = 4e-4}},
            2 * spread("lenet_bf16"));
}

static void float64_follows_float64(void **state)
{
    follows("mlp_f64_sgd", &(plan){"64-true", "mlp", .sgd = sgd}, 1e-10);
    follows("mlp_f64_adam", &(plan){"64-true", "mlp", .adam = {.lr = 2e-4}}, 1e-10);
    follows("lenet_f64_adam", &(plan){"64-true", "lenet", .adam = {.lr = 1e-3}}, 1e-10);
}

/* ---- loss scaling ---------------------------------------------------------------------------- */

static const float *recorded(const char *name)
{
    return fgt_record_get(record, NULL, "scaler/%s", name);
}

/* The number of programs, compiled or loaded from disk. */
static int64_t programs(void)
{
    const fg_client_stats stats = fg_client_stats_of(client);
    return stats.compiles + stats.compile_cache_hits;
}

/* A factor on the loss causes overflow; scale and weights must follow PyTorch's GradScaler, in one
 * program, with no host reads except those of this test. */
static void scale_goes_as_in_pytorch(void **state)
{
    enum { STEPS = 24, IN = 5, OUT = 4, ROWS = 16 };
    fg_error err = {0};
    fg_module *root = NULL;
    fg_trace *trace = NULL;
    float own[IN * OUT], weight[IN * OUT], scale = 0;
    fg_scalar factor = {.dtype = FG_F32};
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    fgt_ok(fg_trace_create(client, &trace, &err));
    fg_linear *layer = fg_linear_create(root, "fc", &(fg_linear_options){.in = IN, .out = OUT});
    fg_optimizer *optimizer = fg_adam_create(root, &(fg_adam_options){.lr = 0.05});
    const fg_loss_scale_options options = {
        .init = 1024, .growth = 2, .backoff = 0.25, .growth_interval = 4};
    fgt_ok(fg_optimizer_set_loss_scale(optimizer, &options, &err));
    fg_variable *w = fg_module_find(root, "fc.weight"), *b = fg_module_find(root, "fc.bias");
    fgt_from_file_order(w, recorded("weight"), own);
    fgt_ok(fg_variable_set(w, own, sizeof own, &err));
    fgt_ok(fg_variable_set(b, recorded("bias"), OUT * sizeof(float), &err));
    const size_t count = fg_optimizer_variable_count(optimizer);
    const fg_variable *scale_now = fg_optimizer_variable_at(optimizer, count - 2);
    assert_string_equal(fg_variable_name(scale_now), "optimizer.loss_scale");
    const int64_t before = programs();
    for (int step = 0; step < STEPS; step++) {
        factor.value.f32 = recorded("factor")[step];
        const fg_tensor x = input(trace, &(fg_type){FG_F32, 2, {ROWS, IN}}, recorded("x"));
        const fg_tensor y = input(trace, &(fg_type){FG_F32, 2, {ROWS, OUT}}, recorded("y"));
        const fg_tensor loss = fg_mse(fg_linear_apply(layer, x), y);
        fg_optimizer_minimize(optimizer, fg_mul(loss, fg_scalar_value(trace, &factor)));
        fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
        fgt_ok(fg_variable_read(scale_now, &scale, sizeof scale, &err));
        fgt_close("scale", (double)scale, (double)recorded("scale")[step], 0, 0);
        fgt_ok(fg_variable_read(w, own, sizeof own, &err));
        fgt_to_file_order(w, own, weight);
        for (int i = 0; i < IN * OUT; i++)
            fgt_close("weight", (double)weight[i], (double)recorded("weights")[step * IN * OUT + i],
                      2e-5, 0);
    }
    assert_int_equal(programs(), before + 1);
    fg_trace_destroy(trace);
    fg_module_destroy(root);
}

static void loss_scales_out_of_range_are_refused(void **state)
{
    static const fg_loss_scale_options wrong[] = {
        {.init = -1},      {.growth = 0.5},         {.backoff = 1},
        {.backoff = -0.5}, {.growth_interval = -1}, {.init = (double)INFINITY}};
    fg_error err = {0};
    fg_module *root = NULL;
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    (void)fg_linear_create(root, "fc", &(fg_linear_options){.in = 2, .out = 2});
    fg_optimizer *optimizer = fg_sgd_create(root, NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(fg_optimizer_set_loss_scale(optimizer, &wrong[i], &err), FG_EINVAL);
        assert_non_null(strstr(err.message, "loss scale: init"));
    }
    fgt_ok(fg_optimizer_set_loss_scale(optimizer, NULL, &err));
    assert_int_equal(fg_optimizer_set_loss_scale(optimizer, NULL, &err), FG_EINVAL);
    fg_module_destroy(root);
}

static void f16_mixed_follows_autocast(void **state)
{
    follows("mlp_f16", &(plan){"16-mixed", "mlp", .sgd = sgd, .scales = true},
            2 * spread("mlp_f16"));
}

/* ---- stochastic rounding --------------------------------------------------------------------- */

enum { ELEMENTS = 1 << 16 };

static float of_bf16(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Elements of 1 in bf16 after `steps` updates of -0.001, a quarter of a unit in the last place. */
static void nudge(fg_client *on, bool stochastic, int steps, uint64_t seed, uint16_t *out)
{
    fg_error err = {0};
    fg_module *root = NULL;
    fg_trace *trace = NULL;
    const fg_variable_options ones = {.init = {FG_INIT_CONSTANT, 1}};
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    fgt_ok(fg_trace_create(on, &trace, &err));
    fg_module_set_precision(root, "bf16-true");
    fg_variable *v =
        fg_module_variable(root, "v", &(fg_type){FG_F32, 2, {256, ELEMENTS / 256}}, &ones);
    fg_optimizer *optimizer = fg_sgd_create(root, &(fg_sgd_options){.lr = 1e-3});
    fg_optimizer_set_stochastic_rounding(optimizer, stochastic);
    assert_int_equal(fg_variable_type(v)->dtype, FG_BF16);
    for (int step = 0; step < steps; step++) {
        fg_trace_set_seed(trace, seed, (uint64_t)step);
        const fg_tensor wide = fg_cast(fg_variable_value(trace, v), FG_F32);
        fg_optimizer_minimize(optimizer, fg_sum(wide, 0, NULL));
        fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
    }
    fgt_ok(fg_variable_read(v, out, ELEMENTS * sizeof *out, &err));
    fg_trace_destroy(trace);
    fg_module_destroy(root);
}

static double mean_of(const uint16_t *half)
{
    double sum = 0;
    for (int i = 0; i < ELEMENTS; i++)
        sum += (double)of_bf16(half[i]);
    return sum / ELEMENTS;
}

/* Just below 1, bf16 numbers are 2^-8 apart: rounding to nearest never moves them; with stochastic
 * rounding, the mean moves by 0.001 per step. After k steps, the number of units by which an
 * element has decreased is binomial with k draws of probability q = 0.001 * 256, so the mean's
 * deviation is sqrt(k q (1 - q) / n) / 256. */
static void stochastic_rounding_is_right_in_the_mean(void **state)
{
    static uint16_t nearest[ELEMENTS], one[ELEMENTS], ten[ELEMENTS], other[ELEMENTS];
    const double q = 0.001 * 256, deviation = sqrt(q * (1 - q) / ELEMENTS) / 256;
    int same = 0, down = 0;
    nudge(client, false, 10, 1, nearest);
    assert_true(mean_of(nearest) == 1);
    nudge(client, true, 1, 1, one);
    fgt_close("mean after one step", mean_of(one), 1 - 0.001, 4 * deviation, 0);
    nudge(client, true, 10, 1, ten);
    fgt_close("mean after ten steps", mean_of(ten), 1 - 0.010, 4 * sqrt(10) * deviation, 0);
    nudge(client, true, 1, 2, other);
    for (int i = 0; i < ELEMENTS; i++) {
        assert_true(one[i] == 0x3F80 || one[i] == 0x3F7F); /* a neighbor, never further */
        down += one[i] != 0x3F80;
        same += one[i] != 0x3F80 && other[i] != 0x3F80;
    }
    /* another seed gives other random bits: both go down with probability q^2 */
    fgt_close("both", same, q * q * ELEMENTS, 4 * sqrt(q * q * ELEMENTS), 0);
    assert_true(down > 0);
}

static void stochastic_rounding_is_the_same_on_any_devices(void **state)
{
    static uint16_t on_one[ELEMENTS], on_four[ELEMENTS];
    fg_error err = {0};
    fg_client *four = NULL;
    const fg_client_options options = {
        .accelerator = "cpu", .cpu_devices = 4, .cache_dir = fgt_cache("")};
    nudge(client, true, 3, 7, on_one);
    fg_client_close(client); /* one at a time */
    fgt_ok(fg_client_open(&options, &four, &err));
    nudge(four, true, 3, 7, on_four);
    fg_client_close(four);
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = fgt_cache("")},
                          &client, &err));
    assert_memory_equal(on_one, on_four, sizeof on_one);
}

static int open_all(void **state)
{
    (void)state;
    return fgt_record_begin("nn/precision.safetensors", &client, &record);
}

static int close_all(void **state)
{
    (void)state;
    return fgt_record_end(client, record);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(programs_compute_in_the_promised_format),
    cmocka_unit_test(bf16_mixed_follows_autocast),
    cmocka_unit_test(float64_follows_float64),
    cmocka_unit_test(f16_mixed_follows_autocast),
    cmocka_unit_test(scale_goes_as_in_pytorch),
    cmocka_unit_test(loss_scales_out_of_range_are_refused),
    cmocka_unit_test(stochastic_rounding_is_right_in_the_mean),
    cmocka_unit_test(stochastic_rounding_is_the_same_on_any_devices),
};

int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
