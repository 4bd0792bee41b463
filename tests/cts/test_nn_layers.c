/* test_nn_layers.c - layers compared with PyTorch: results, gradients, statistics, layout in files.
 * Recorded by tests/golden/nn/record.py.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/nn.h>
#include <math.h>
#include <stdio.h>

#include "pjrt/pjrt.h"
#include "record.h"
#include "trace/graph.h"

enum { MOST = 4096, MOST_VARIABLES = 8 };

static fg_client *client;
static fg_ckpt *record;

typedef fg_tensor apply_fn(const void *layer, fg_tensor x);

/* The layer to compare, which is alone in its module "l". */
typedef struct subject {
    const char *name;
    fg_module *root;
    fg_trace *trace;
    const void *layer;
    apply_fn *apply;
} subject;

static fg_tensor apply_linear(const void *layer, fg_tensor x) { return fg_linear_apply(layer, x); }
static fg_tensor apply_conv(const void *layer, fg_tensor x) { return fg_conv_apply(layer, x); }
static fg_tensor apply_norm(const void *layer, fg_tensor x)
{
    return fg_batch_norm_apply(layer, x);
}

static void begin(subject *s, const char *name)
{
    fg_error err = {0};
    *s = (subject){.name = name};
    fgt_ok(fg_module_create(NULL, 0, &s->root, &err));
    fgt_ok(fg_trace_create(client, &s->trace, &err));
}

static void end(subject *s)
{
    fg_trace_destroy(s->trace);
    fg_module_destroy(s->root);
}

/* "weight" of "l.weight". */
static const char *last_name(const fg_variable *variable) { return fg_variable_name(variable) + 2; }

static void set_parameters(subject *s)
{
    fg_error err = {0};
    static float values[MOST];
    fgt_ok(fg_module_error(s->root, &err));
    for (size_t i = 0; i < fg_module_variable_count(s->root); i++) {
        fg_variable *v = fg_module_variable_at(s->root, i);
        if (fg_variable_kind_of(v) != FG_PARAMETER)
            continue;
        fg_type type;
        const float *file = fgt_record_get(record, &type, "%s/%s", s->name, last_name(v));
        assert_int_equal(fg_type_count(&type), fg_type_count(fg_variable_type(v)));
        for (int d = 0; d < type.rank; d++) { /* the file's dimension order is that of the record */
            const int *axis = fg_variable_file_axis(v);
            assert_int_equal(type.dim[d], fg_variable_type(v)->dim[axis != NULL ? axis[d] : d]);
        }
        fgt_from_file_order(v, file, values);
        fgt_ok(fg_variable_set(v, values, fg_type_bytes(&type), &err));
    }
}

static fg_array *upload(const char *name, const char *what)
{
    fg_error err = {0};
    fg_type type;
    fg_array *array = NULL;
    const void *data = fgt_record_get(record, &type, "%s/%s", name, what);
    fgt_ok(fg_array_create(client, &type, data, &array, &err));
    return array;
}

static void compare(const char *name, const char *what, const float *got, size_t skip_from)
{
    fg_type type;
    char text[128];
    const float *want = fgt_record_get(record, &type, "%s/%s", name, what);
    for (int64_t i = 0; i < fg_type_count(&type) && (size_t)i < skip_from; i++) {
        (void)snprintf(text, sizeof text, "%s/%s[%d]", name, what, (int)i);
        fgt_close(text, (double)got[i], (double)want[i], 2e-5, 2e-5);
    }
}

static void read_array(fg_array *array, float *out)
{
    fg_error err = {0};
    assert_true(fg_type_count(fg_array_type(array)) <= MOST);
    fgt_ok(fg_array_read(array, out, fg_type_bytes(fg_array_type(array)), &err));
    fg_array_release(array);
}

/* Results and gradients of sum(y r) with respect to x and all parameters, recorded under `at`; y
 * has only the `real` samples of x. */
static void check_application(subject *s, const char *at)
{
    fg_error err = {0};
    static float values[MOST], ordered[MOST];
    fg_variable *parameters[MOST_VARIABLES];
    size_t count = 0;
    for (size_t i = 0; i < fg_module_variable_count(s->root); i++)
        if (fg_variable_kind_of(fg_module_variable_at(s->root, i)) == FG_PARAMETER)
            parameters[count++] = fg_module_variable_at(s->root, i);

    fg_array *in_x = upload(at, "x"), *in_r = upload(at, "r");
    const fg_tensor x = fg_input(s->trace, in_x), r = fg_input(s->trace, in_r);
    fg_tensor out[2 + MOST_VARIABLES] = {s->apply(s->layer, x)};
    const fg_tensor loss = fg_sum(fg_mul(out[0], r), 0, NULL);
    fg_grad(loss, &x, 1, &out[1]);
    fg_grad_variables(loss, parameters, count, &out[2]);
    fg_array *arrays[2 + MOST_VARIABLES];
    fgt_ok(fg_run(s->trace, out, 2 + count, arrays, &err));
    fg_array_release(in_x);
    fg_array_release(in_r);

    fg_type type; /* fewer samples than x if a mask excludes the others */
    (void)fgt_record_get(record, &type, "%s/y", at);
    read_array(arrays[0], values);
    compare(at, "y", values, (size_t)fg_type_count(&type));
    read_array(arrays[1], values);
    compare(at, "x.grad", values, MOST);
    for (size_t i = 0; i < count; i++) {
        char what[64];
        (void)snprintf(what, sizeof what, "%s.grad", last_name(parameters[i]));
        read_array(arrays[2 + i], values);
        fgt_to_file_order(parameters[i], values, ordered);
        compare(at, what, ordered, MOST);
    }
}

static void linear_is_pytorchs(void **state)
{
    static const char *const names[] = {"linear", "linear_deep", "linear_plain"};
    for (int i = 0; i < 3; i++) {
        subject s;
        begin(&s, names[i]);
        s.apply = apply_linear;
        s.layer = fg_linear_create(s.root, "l",
                                   &(fg_linear_options){.in = 5, .out = 3, .no_bias = i == 2});
        assert_int_equal(fg_module_variable_count(s.root), i == 2 ? 1 : 2);
        set_parameters(&s);
        check_application(&s, s.name);
        end(&s);
    }
}

static void conv_is_pytorchs(void **state)
{
    static const struct {
        const char *name;
        fg_conv_options options;
    } rows[] = {
        {"conv", {.in = 3, .out = 4}},
        {"conv_stride", {.in = 3, .out = 4, .stride = 2, .pad = 1}},
        {"conv_dilation", {.in = 3, .out = 4, .dilation = 2, .pad = 2}},
        {"conv_groups", {.in = 4, .out = 6, .groups = 2}},
        {"conv_wide", {.in = 1, .out = 6, .kernel = 5, .pad = 2}},
        {"conv_plain", {.in = 3, .out = 4, .kernel = 1, .no_bias = true}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        subject s;
        begin(&s, rows[i].name);
        s.apply = apply_conv;
        s.layer = fg_conv_create(s.root, "l", &rows[i].options);
        set_parameters(&s);
        check_application(&s, s.name);
        end(&s);
    }
}

static void check_statistics(const subject *s, const char *at)
{
    fg_error err = {0};
    float values[8];
    int64_t batches = -1;
    static const char *const names[] = {"running_mean", "running_var"};
    for (int i = 0; i < 2; i++) {
        char full[64];
        (void)snprintf(full, sizeof full, "l.%s", names[i]);
        fgt_ok(fg_variable_read(fg_module_find(s->root, full), values, 3 * sizeof(float), &err));
        compare(at, names[i], values, MOST);
    }
    fgt_ok(fg_variable_read(fg_module_find(s->root, "l.num_batches_tracked"), &batches,
                            sizeof batches, &err));
    assert_int_equal(batches,
                     *(const int64_t *)fgt_record_get(record, NULL, "%s/num_batches_tracked", at));
}

static void norms_are_pytorchs(void)
{
    static const struct {
        const char *name;
        fg_batch_norm_options options;
        int samples, real; /* 0: no mask */
    } rows[] = {
        {"norm", {.channels = 3}, 6, 0},
        {"norm_image", {.channels = 3}, 4, 0},
        {"norm_options", {.channels = 3, .momentum = 0.3, .eps = 1e-2}, 6, 0},
        {"norm_masked", {.channels = 3}, 6, 4},
        {"norm_image_masked", {.channels = 3}, 4, 3},
        {"norm", {.channels = 3}, 6, 6}, /* a mask that excludes nothing changes nothing */
    };
    static const char *const modes[] = {"train1", "train2", "eval"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        subject s;
        begin(&s, rows[i].name);
        s.apply = apply_norm;
        s.layer = fg_batch_norm_create(s.root, "l", &rows[i].options);
        set_parameters(&s);
        for (int m = 0; m < 3; m++) {
            char at[64];
            float mask[8];
            (void)snprintf(at, sizeof at, "%s/%s", rows[i].name, modes[m]);
            for (int k = 0; k < rows[i].samples; k++)
                mask[k] = k < rows[i].real ? 1 : 0;
            fg_trace_set_training(s.trace, m < 2);
            if (rows[i].real > 0)
                fg_trace_set_mask(
                    s.trace, fg_constant(s.trace, &(fg_type){FG_F32, 1, {rows[i].samples}}, mask));
            check_application(&s, at);
            check_statistics(&s, at);
        }
        end(&s);
    }
}

/* Both methods to compute statistics: that of the CPU and, run on the CPU, that of accelerators. */
static void batch_norm_is_pytorchs(void **state)
{
    norms_are_pytorchs();
    fgi_client_set_plain(client, "two-pass-variance");
    norms_are_pytorchs();
    fgi_client_set_plain(client, NULL);
}

/* Far from zero, the squares of x would lose the variance (0.25) to rounding (0.0625); subtracting
 * the running mean avoids this. A non-finite running mean is replaced by 0. */
static void statistics_are_taken_near_the_running_mean(void **state)
{
    static const struct {
        float running_mean, x[2];
    } rows[] = {{1000.25f, {1000.5f, 1001.5f}}, {(float)INFINITY, {0.5f, 1.5f}}};
    enum { SAMPLES = 8 };
    fgi_client_set_plain(client, "two-pass-variance");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        subject s;
        fg_error err = {0};
        float x[SAMPLES], var;
        for (int k = 0; k < SAMPLES; k++)
            x[k] = rows[i].x[k % 2];
        begin(&s, "near");
        const fg_batch_norm *bn = fg_batch_norm_create(
            s.root, "l", &(fg_batch_norm_options){.channels = 1, .momentum = 1});
        fgt_ok(fg_variable_set(fg_module_find(s.root, "l.running_mean"), &rows[i].running_mean,
                               sizeof(float), &err));
        fg_trace_set_training(s.trace, true);
        (void)fg_batch_norm_apply(bn, fg_constant(s.trace, &(fg_type){FG_F32, 2, {SAMPLES, 1}}, x));
        fgt_ok(fg_run(s.trace, NULL, 0, NULL, &err));
        fgt_ok(fg_variable_read(fg_module_find(s.root, "l.running_var"), &var, sizeof var, &err));
        fgt_close("running_var", (double)var, 0.25 * SAMPLES / (SAMPLES - 1), 1e-6, 0);
        end(&s);
    }
    fgi_client_set_plain(client, NULL);
}

static void one_sample_does_not_divide_by_zero(void **state)
{
    subject s;
    fg_error err = {0};
    float var[3];
    begin(&s, "single");
    const fg_batch_norm *bn =
        fg_batch_norm_create(s.root, "l", &(fg_batch_norm_options){.channels = 3});
    fg_trace_set_training(s.trace, true);
    (void)fg_batch_norm_apply(bn, fg_ones(s.trace, FG_F32, FG_DIMS(1, 3)));
    fgt_ok(fg_run(s.trace, NULL, 0, NULL, &err));
    fgt_ok(fg_variable_read(fg_module_find(s.root, "l.running_var"), var, sizeof var, &err));
    for (int i = 0; i < 3; i++)
        fgt_close("running_var", (double)var[i], 0.9, 1e-6, 0); /* 0.9 * 1 + 0.1 * 0 */
    end(&s);
}

static void batch_norm_of_f64_is_exact(void **state)
{
    subject s;
    fg_error err = {0};
    fg_array *array = NULL;
    const double x[] = {0, 1.0 / 3, 2.0 / 3, 1};
    double y[4], var = 0;
    (void)state;
    begin(&s, "f64");
    const fg_batch_norm *bn =
        fg_batch_norm_create(s.root, "l", &(fg_batch_norm_options){.channels = 1});
    fg_trace_set_training(s.trace, true);
    const fg_tensor out =
        fg_batch_norm_apply(bn, fg_constant(s.trace, &(fg_type){FG_F64, 2, {4, 1}}, x));
    fgt_ok(fg_run(s.trace, &out, 1, &array, &err));
    fgt_ok(fg_array_read(array, y, sizeof y, &err));
    for (int i = 0; i < 4; i++)
        var += (x[i] - 0.5) * (x[i] - 0.5) / 4;
    for (int i = 0; i < 4; i++)
        fgt_close("y", y[i], (x[i] - 0.5) / sqrt(var + 1e-5), 1e-12, 0);
    fg_array_release(array);
    end(&s);
}

/* FG_ZERO is the number 0, where 0 is the default. */
static void batch_norm_takes_zero(void **state)
{
    subject s;
    fg_error err = {0};
    fg_array *array = NULL;
    const float x[] = {0, 2e-3f}; /* variance 1e-6: the default eps would make y smaller */
    float y[2], mean, var;
    (void)state;
    begin(&s, "zero");
    const fg_batch_norm *bn = fg_batch_norm_create(
        s.root, "l", &(fg_batch_norm_options){.channels = 1, .momentum = FG_ZERO, .eps = FG_ZERO});
    fg_trace_set_training(s.trace, true);
    const fg_tensor out =
        fg_batch_norm_apply(bn, fg_constant(s.trace, &(fg_type){FG_F32, 2, {2, 1}}, x));
    fgt_ok(fg_run(s.trace, &out, 1, &array, &err));
    read_array(array, y);
    fgt_close("y[0]", (double)y[0], -1, 1e-4, 0);
    fgt_close("y[1]", (double)y[1], 1, 1e-4, 0);
    fgt_ok(fg_variable_read(fg_module_find(s.root, "l.running_mean"), &mean, sizeof mean, &err));
    fgt_ok(fg_variable_read(fg_module_find(s.root, "l.running_var"), &var, sizeof var, &err));
    assert_true(mean == 0 && var == 1); /* what they began with */
    end(&s);
}

static void a_model_takes_a_scale_of_zero(void **state)
{
    const double scales[] = {FG_ZERO, 0};
    (void)state;
    for (int i = 0; i < 2; i++) {
        subject s;
        fg_error err = {0};
        fg_array *array = NULL;
        const uint8_t x[] = {10, 200};
        float y[2];
        begin(&s, "scale");
        const fg_model *model = fg_model_create(
            s.root,
            &(fg_model_options){
                .name = "linear", .input = {FG_U8, 1, {1}}, .outputs = 1, .scale = scales[i]});
        const fg_tensor out =
            fg_model_apply(model, fg_constant(s.trace, &(fg_type){FG_U8, 2, {2, 1}}, x));
        fgt_ok(fg_run(s.trace, &out, 1, &array, &err));
        read_array(array, y);
        assert_int_equal(y[0] == y[1], i == 0); /* the bias alone, or 1/255 */
        end(&s);
    }
}

static void images_flatten_channels_first(void **state)
{
    fg_error err = {0};
    fg_trace *trace = NULL;
    float value[12];
    fgt_ok(fg_trace_create(client, &trace, &err));
    /* 1 x 2 rows x 3 columns x 2 channels; elements are 10 times their index in C, H, W order. */
    const float image[12] = {0, 60, 10, 70, 20, 80, 30, 90, 40, 100, 50, 110};
    const fg_tensor x = fg_constant(trace, &(fg_type){FG_F32, 4, {1, 2, 3, 2}}, image);
    const fg_tensor flat = fg_flatten_images(x);
    fg_array *array = NULL;
    fgt_ok(fg_run(trace, &flat, 1, &array, &err));
    assert_int_equal(fg_array_type(array)->rank, 2);
    assert_int_equal(fg_array_type(array)->dim[1], 12);
    read_array(array, value);
    for (int i = 0; i < 12; i++)
        fgt_close("element", (double)value[i], 10 * i, 0, 0);
    /* One row or one column of pixels. */
    const float line[6] = {0, 30, 10, 40, 20, 50};
    for (int i = 0; i < 2; i++) {
        const fg_type type = {FG_F32, 4, {1, i == 0 ? 1 : 3, i == 0 ? 3 : 1, 2}};
        const fg_tensor y = fg_flatten_images(fg_constant(trace, &type, line));
        fgt_ok(fg_run(trace, &y, 1, &array, &err));
        read_array(array, value);
        for (int k = 0; k < 6; k++)
            fgt_close("element", (double)value[k], 10 * k, 0, 0);
    }
    fg_trace_destroy(trace);
}

static void layers_compute_in_their_inputs_format(void **state)
{
    fg_error err = {0};
    subject s;
    char text[64];
    begin(&s, "linear");
    const fg_linear *fc = fg_linear_create(s.root, "l", &(fg_linear_options){.in = 5, .out = 3});
    set_parameters(&s);
    fg_array *in = upload("linear", "x");
    fg_tensor y = fg_linear_apply(fc, fg_cast(fg_input(s.trace, in), FG_BF16));
    assert_string_equal(fg_type_format(fg_tensor_type(y), text, sizeof text), "bf16[4,3]");
    y = fg_cast(y, FG_F32);
    fg_array *out = NULL;
    fgt_ok(fg_run(s.trace, &y, 1, &out, &err));
    float got[12];
    read_array(out, got);
    const float *want = fgt_record_get(record, NULL, "linear/y");
    for (int i = 0; i < 12; i++)
        fgt_close("bf16", (double)got[i], (double)want[i], 0.03, 0.02);
    fg_array_release(in);
    end(&s);
}

static int open_all(void **state)
{
    (void)state;
    return fgt_record_begin("nn/layers.safetensors", &client, &record);
}

static int close_all(void **state)
{
    (void)state;
    return fgt_record_end(client, record);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(linear_is_pytorchs),
    cmocka_unit_test(conv_is_pytorchs),
    cmocka_unit_test(batch_norm_is_pytorchs),
    cmocka_unit_test(batch_norm_of_f64_is_exact),
    cmocka_unit_test(batch_norm_takes_zero),
    cmocka_unit_test(a_model_takes_a_scale_of_zero),
    cmocka_unit_test(statistics_are_taken_near_the_running_mean),
    cmocka_unit_test(one_sample_does_not_divide_by_zero),
    cmocka_unit_test(images_flatten_channels_first),
    cmocka_unit_test(layers_compute_in_their_inputs_format),
};

int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
