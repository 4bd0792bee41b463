/* test_optim_run.c - optimizers compared with PyTorch's over 20 updates of a least-squares problem,
 * in a custom loop and as a program traced once; exact resume. Recorded by
 * tests/golden/nn/record.py.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/fulgurite.h>
#include <math.h>
#include <stdio.h>

#include "optim/optimizer.h"
#include "record.h"
#include "trace_values.h"

enum { STEPS = 20, WEIGHTS = 20, BIASES = 4, ALL = WEIGHTS + BIASES };

static fg_client *client;
static fg_trace *trace; /* one for all tests: a program is compiled once */
static fg_ckpt *record;

typedef struct row {
    const char *name, *kind;
    fg_sgd_options sgd;
    fg_adam_options adam;
    fg_adamw_options adamw;
    bool cycle;
    fg_clip clip;
    double limit;
} row;

static const row rows[] = {
    {"sgd", "sgd", .sgd = {.lr = 0.1}},
    {"sgd_decay", "sgd", .sgd = {.lr = 0.1, .weight_decay = 0.05}},
    {"sgd_momentum", "sgd", .sgd = {.lr = 0.1, .momentum = 0.9}},
    {"sgd_momentum_decay", "sgd", .sgd = {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.05}},
    {"sgd_nesterov", "sgd",
     .sgd = {.lr = 0.1, .momentum = 0.9, .weight_decay = 0.05, .nesterov = true}},
    {"sgd_dampening", "sgd", .sgd = {.lr = 0.1, .momentum = 0.9, .dampening = 0.3}},
    {"adam", "adam", .adam = {.lr = 0.05}},
    {"adam_decay", "adam", .adam = {.lr = 0.05, .weight_decay = 0.1}},
    {"adam_options", "adam", .adam = {.lr = 0.02, .betas = {0.8, 0.95}, .eps = 1e-3}},
    {"adamw", "adamw", .adamw = {.lr = 0.05}},
    {"adamw_decay", "adamw", .adamw = {.lr = 0.05, .weight_decay = 0.5}},
    {"adamw_plain", "adamw", .adamw = {.lr = 0.05, .weight_decay = FG_ZERO}},
    {"sgd_cycle", "sgd", .sgd = {.lr = 0.1, .momentum = 0.9}, .cycle = true},
    {"sgd_bare_cycle", "sgd", .sgd = {.lr = 0.1}, .cycle = true},
    {"adam_cycle", "adam", .adam = {.lr = 0.1}, .cycle = true},
    {"sgd_clip_norm", "sgd", .sgd = {.lr = 0.1, .momentum = 0.9}, .clip = FG_CLIP_NORM,
     .limit = 0.3},
    {"sgd_clip_value", "sgd", .sgd = {.lr = 0.1, .momentum = 0.9}, .clip = FG_CLIP_VALUE,
     .limit = 0.05},
    {"adamw_clip_norm", "adamw", .adamw = {.lr = 0.05}, .clip = FG_CLIP_NORM, .limit = 0.3},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* The problem, its model and the optimizer of one row. */
typedef struct problem {
    fg_module *root;
    fg_linear *layer;
    fg_optimizer *optimizer;
    fg_array *x, *y;
} problem;

static fg_array *upload(const char *what)
{
    fg_error err = {0};
    fg_type type;
    fg_array *array = NULL;
    const void *data = fgt_record_get(record, &type, "problem/%s", what);
    fgt_ok(fg_array_create(client, &type, data, &array, &err));
    return array;
}

static void begin(problem *p, const row *r)
{
    fg_error err = {0};
    fgt_ok(fg_module_create(NULL, 0, &p->root, &err));
    p->layer = fg_linear_create(p->root, "l", &(fg_linear_options){.in = 5, .out = 4});
    p->optimizer = r->kind[0] == 's'              ? fg_sgd_create(p->root, &r->sgd)
                   : strcmp(r->kind, "adam") == 0 ? fg_adam_create(p->root, &r->adam)
                                                  : fg_adamw_create(p->root, &r->adamw);
    fgt_ok(fg_module_error(p->root, &err));
    assert_string_equal(fg_optimizer_name(p->optimizer), r->kind);
    const fg_schedule onecycle = fg_onecycle(NULL);
    if (r->cycle)
        fgt_ok(fg_optimizer_set_schedule(p->optimizer, &onecycle, STEPS + 1, &err));
    fgt_ok(fg_optimizer_set_clip(p->optimizer, r->clip, r->limit, &err));
    static const char *const names[] = {"weight", "bias"};
    for (size_t i = 0; i < 2; i++) {
        fg_variable *v = fg_module_variable_at(p->root, i);
        float values[WEIGHTS];
        fgt_from_file_order(v, fgt_record_get(record, NULL, "problem/%s", names[i]), values);
        fgt_ok(fg_variable_set(v, values, fg_type_bytes(fg_variable_type(v)), &err));
    }
    p->x = upload("x");
    p->y = upload("y");
}

static void end(problem *p)
{
    fg_array_release(p->x);
    fg_array_release(p->y);
    fg_module_destroy(p->root);
}

static void write_step(problem *p)
{
    const fg_tensor y = fg_linear_apply(p->layer, fg_input(trace, p->x));
    fg_optimizer_minimize(p->optimizer, fg_mse(y, fg_input(trace, p->y)));
}

/* In the order of files: the elements of the weight, then those of the bias. */
static void read_parameters(const problem *p, float out[ALL])
{
    fg_error err = {0};
    float values[WEIGHTS];
    for (size_t i = 0, done = 0; i < 2; i++) {
        const fg_variable *v = fg_module_variable_at(p->root, i);
        const size_t size = fg_type_bytes(fg_variable_type(v));
        fgt_ok(fg_variable_read(v, values, size, &err));
        fgt_to_file_order(v, values, out + done);
        done += size / sizeof *out;
    }
}

static void check_parameters(const problem *p, const char *name, int step)
{
    float got[ALL];
    char text[96];
    const float *weight = fgt_record_get(record, NULL, "%s/weight", name);
    const float *bias = fgt_record_get(record, NULL, "%s/bias", name);
    read_parameters(p, got);
    for (int i = 0; i < ALL; i++) {
        const float want =
            i < WEIGHTS ? weight[step * WEIGHTS + i] : bias[step * BIASES + i - WEIGHTS];
        (void)snprintf(text, sizeof text, "%s: parameter %d after step %d", name, i, step);
        fgt_close(text, (double)got[i], (double)want, 2e-6, 1e-5);
    }
}

static void own_loops_follow_pytorch(void **state)
{
    fg_error err = {0};
    for (size_t k = 0; k < ROWS; k++) {
        problem p;
        begin(&p, &rows[k]);
        const int64_t programs = values_programs(client);
        for (int step = 0; step < STEPS; step++) {
            write_step(&p);
            fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
            check_parameters(&p, rows[k].name, step);
        }
        assert_true(values_programs(client) <= programs + 1);
        int32_t made = 0;
        fgt_ok(
            fg_variable_read(fg_optimizer_variable_at(p.optimizer, 0), &made, sizeof made, &err));
        assert_int_equal(made, STEPS);
        end(&p);
    }
}

static void steps_traced_once_follow_pytorch(void **state)
{
    fg_error err = {0};
    for (size_t k = 0; k < ROWS; k++) {
        if (!rows[k].cycle && strcmp(rows[k].name, "adam_decay") != 0)
            continue; /* this tests the values that change between launches */
        problem p;
        fgi_step_program *program = NULL;
        begin(&p, &rows[k]);
        write_step(&p);
        fgt_ok(fgi_step_program_create(trace, NULL, 0, &program, &err));
        fg_trace_reset(trace);
        for (int step = 0; step < STEPS; step++) {
            fg_optimizer_begin_step(p.optimizer, step);
            fgt_ok(fgi_step_program_launch(program, NULL, 0, NULL, NULL, &err));
            check_parameters(&p, rows[k].name, step);
        }
        fgi_step_program_destroy(program);
        end(&p);
    }
}

static void copy_variable(fg_variable *to, const fg_variable *from)
{
    fg_error err = {0};
    float values[ALL];
    const size_t size = fg_type_bytes(fg_variable_type(from));
    assert_string_equal(fg_variable_name(to), fg_variable_name(from));
    fgt_ok(fg_variable_read(from, values, size, &err));
    fgt_ok(fg_variable_set(to, values, size, &err));
}

static void run_steps(problem *p, int count)
{
    fg_error err = {0};
    for (int i = 0; i < count; i++) {
        write_step(p);
        fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
    }
}

static void state_moved_to_another_optimizer_goes_on_exactly(void **state)
{
    for (size_t k = 0; k < ROWS; k += 2) {
        problem one, two;
        float end_one[ALL], end_two[ALL];
        begin(&one, &rows[k]);
        begin(&two, &rows[k]);
        run_steps(&one, 7);
        for (size_t i = 0; i < fg_module_variable_count(one.root); i++)
            copy_variable(fg_module_variable_at(two.root, i), fg_module_variable_at(one.root, i));
        for (size_t i = 0; i < fg_optimizer_variable_count(one.optimizer); i++)
            copy_variable(fg_optimizer_variable_at(two.optimizer, i),
                          fg_optimizer_variable_at(one.optimizer, i));
        fg_optimizer_begin_step(two.optimizer, 7);
        run_steps(&one, 5);
        run_steps(&two, 5);
        read_parameters(&one, end_one);
        read_parameters(&two, end_two);
        assert_memory_equal(end_one, end_two, sizeof end_one);
        end(&one);
        end(&two);
    }
}

static void learning_rates_compile_nothing(void **state)
{
    fg_error err = {0};
    problem p;
    float before[ALL], after[ALL];
    begin(&p, &rows[6]);
    run_steps(&p, 1);
    const int64_t programs = values_programs(client);
    read_parameters(&p, before);
    fg_optimizer_set_lr(p.optimizer, 0);
    run_steps(&p, 1);
    read_parameters(&p, after);
    assert_memory_equal(before, after, sizeof before); /* a learning rate of 0 changes nothing */
    fg_optimizer_set_lr(p.optimizer, 1);
    fgt_ok(fg_optimizer_set_momentum(p.optimizer, 0.5, &err));
    run_steps(&p, 1);
    read_parameters(&p, after);
    assert_memory_not_equal(before, after, sizeof before);
    assert_int_equal(values_programs(client), programs);
    end(&p);
}

/* Updates on sum(v) starting at v = 1 and, for another parameter, on sum(v * 1e-6): gradients of 1
 * and 1e-6. */
static void small_and_large(fg_optimizer *(*create)(fg_module *root), int updates, float out[2])
{
    fg_error err = {0};
    fg_module *root = NULL;
    const float one[2] = {1, 1};
    fg_variable *v[2];
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    for (int i = 0; i < 2; i++) {
        v[i] = fg_module_variable(root, i == 0 ? "v" : "w", &(fg_type){.dtype = FG_F32}, NULL);
        fgt_ok(fg_variable_set(v[i], &one[i], sizeof one[i], &err));
    }
    fg_optimizer *o = create(root);
    fgt_ok(fg_module_error(root, &err));
    for (int i = 0; i < updates; i++) {
        const fg_tensor small = fg_mul_scalar(fg_variable_value(trace, v[1]), 1e-6);
        fg_optimizer_minimize(o, fg_add(fg_variable_value(trace, v[0]), small));
        fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
    }
    for (int i = 0; i < 2; i++)
        fgt_ok(fg_variable_read(v[i], &out[i], sizeof out[i], &err));
    fg_module_destroy(root);
}

static fg_optimizer *still_sgd(fg_module *root)
{
    return fg_sgd_create(root,
                         &(fg_sgd_options){.lr = FG_ZERO, .momentum = 0.9, .weight_decay = 0.1});
}

static fg_optimizer *still_adamw(fg_module *root)
{
    return fg_adamw_create(root, &(fg_adamw_options){.lr = FG_ZERO});
}

static fg_optimizer *signs(fg_module *root)
{
    return fg_adamw_create(root, &(fg_adamw_options){.lr = 0.125,
                                                     .betas = {FG_ZERO, FG_ZERO},
                                                     .eps = FG_ZERO,
                                                     .weight_decay = FG_ZERO});
}

static fg_optimizer *cycled(fg_module *root)
{
    fg_error err = {0};
    const fg_schedule schedule = fg_onecycle(
        &(fg_onecycle_options){.base_momentum = FG_ZERO, .max_momentum = FG_ZERO, .div_factor = 1});
    fg_optimizer *o = fg_sgd_create(root, &(fg_sgd_options){.lr = 0.125, .momentum = 0.9});
    fgt_ok(fg_optimizer_set_schedule(o, &schedule, 1000, &err));
    return o;
}

/* FG_ZERO is 0, whereas an unset member is the default. */
static void a_zero_that_is_meant_computes_as_zero(void **state)
{
    float v[2];
    small_and_large(still_sgd, 3, v);
    assert_true(v[0] == 1 && v[1] == 1); /* exactly */
    small_and_large(still_adamw, 3, v);
    assert_true(v[0] == 1 && v[1] == 1);
    small_and_large(signs, 3, v); /* each update is lr times the sign, however small the gradient */
    fgt_close("large", (double)v[0], 1 - 3 * 0.125, 1e-6, 0);
    fgt_close("small", (double)v[1], 1 - 3 * 0.125, 1e-6, 0);
    small_and_large(cycled, 2, v); /* momentum 0: the second update is no larger than the first */
    fgt_close("cycled", (double)v[0], 1 - 2 * 0.125, 1e-4, 0);
}

/* Adam's bias correction by 1 - beta^t, for many t: if all gradients are 1, each update is lr for
 * every t. */
static void bias_correction_keeps_its_digits(void **state)
{
    fg_error err = {0};
    fg_module *root = NULL;
    float value = 0;
    for (int32_t t = 0; t < 100000; t = t * 3 + 1) {
        fgt_ok(fg_module_create(NULL, 0, &root, &err));
        fg_variable *v = fg_module_variable(root, "v", &(fg_type){.dtype = FG_F32}, NULL);
        fg_optimizer *o = fg_adam_create(root, &(fg_adam_options){.lr = 1, .eps = 1e-12});
        /* The moments after t gradients of 1. */
        const double m = 1 - __builtin_pow(0.9, t), s = 1 - __builtin_pow(0.999, t);
        const float moment[2] = {(float)m, (float)s};
        fgt_ok(fg_variable_set(fg_optimizer_variable_at(o, 0), &t, sizeof t, &err));
        for (size_t i = 0; i < 2; i++)
            fgt_ok(fg_variable_set(fg_optimizer_variable_at(o, i + 1), &moment[i], sizeof(float),
                                   &err));
        fg_optimizer_minimize(o, fg_variable_value(trace, v));
        fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
        fgt_ok(fg_variable_read(v, &value, sizeof value, &err));
        fgt_close("first update", (double)value, -1, 2e-6, 0);
        fg_module_destroy(root);
    }
}

/* 3 updates on sum(v^2) starting at v = 1, in one dtype. */
static double shrunk(fg_dtype dtype, const char *kind)
{
    fg_error err = {0};
    fg_module *root = NULL;
    const uint16_t one_bf16 = 0x3F80;
    const double one_f64 = 1;
    double f64 = 0;
    uint16_t bf16 = 0;
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    fg_variable *v = fg_module_variable(root, "v", &(fg_type){.dtype = dtype}, NULL);
    const fg_sgd_options sgd = {.lr = 0.1, .momentum = 0.5, .dampening = 0.5, .weight_decay = 0.1};
    fg_optimizer *o = kind[0] == 's' ? fg_sgd_create(root, &sgd)
                                     : fg_adamw_create(root, &(fg_adamw_options){.lr = 0.1});
    fgt_ok(fg_module_error(root, &err));
    /* moments in bf16 would stop changing */
    assert_int_equal(fg_variable_type(fg_optimizer_variable_at(o, 1))->dtype,
                     dtype == FG_F64 ? FG_F64 : FG_F32);
    if (dtype == FG_F64)
        fgt_ok(fg_variable_set(v, &one_f64, sizeof one_f64, &err));
    else
        fgt_ok(fg_variable_set(v, &one_bf16, sizeof one_bf16, &err));
    for (int i = 0; i < 3; i++) {
        fg_optimizer_minimize(o, fg_square(fg_variable_value(trace, v)));
        fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
    }
    if (dtype == FG_F64) {
        fgt_ok(fg_variable_read(v, &f64, sizeof f64, &err));
    } else {
        fgt_ok(fg_variable_read(v, &bf16, sizeof bf16, &err));
        const uint32_t bits = (uint32_t)bf16 << 16;
        float wide;
        memcpy(&wide, &bits, sizeof wide);
        f64 = (double)wide;
    }
    fg_module_destroy(root);
    return f64;
}

static void parameters_keep_their_format(void **state)
{
    /* By hand: g = 2.1 p; v = g, then v/2 + g/2; p = p - 0.1 v. */
    double p = 1, v = 0;
    for (int i = 0; i < 3; i++) {
        v = i == 0 ? 2.1 * p : 0.5 * v + 0.5 * 2.1 * p;
        p -= 0.1 * v;
    }
    fgt_close("sgd f64", shrunk(FG_F64, "sgd"), p, 1e-14, 0); /* an update in f32 is not */
    fgt_close("sgd bf16", shrunk(FG_BF16, "sgd"), p, 0.01, 0);
    const double adam = shrunk(FG_F64, "adamw"); /* each update is about lr */
    fgt_close("adamw f64", adam, 1 - 3 * 0.101, 0.005, 0);
    fgt_close("adamw bf16", shrunk(FG_BF16, "adamw"), adam, 0.02, 0);
}

/* A limited element of an infinite gradient would be finite. */
static void infinite_gradients_are_found_before_clipping(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_module *root = NULL;
    float value = 1;
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    fg_variable *v = fg_module_variable(root, "v", &(fg_type){.dtype = FG_F32}, NULL);
    fg_optimizer *o = fg_sgd_create(root, &(fg_sgd_options){.lr = 0.1});
    fgt_ok(fg_optimizer_set_loss_scale(o, &(fg_loss_scale_options){.init = 1}, &err));
    fgt_ok(fg_optimizer_set_clip(o, FG_CLIP_VALUE, 0.5, &err));
    fgt_ok(fg_variable_set(v, &value, sizeof value, &err));
    for (int i = 0; i < 2; i++) {
        const double slope = i == 0 ? (double)INFINITY : 3;
        fg_optimizer_minimize(o, fg_mul_scalar(fg_variable_value(trace, v), slope));
        fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
        fgt_ok(fg_variable_read(v, &value, sizeof value, &err));
        fgt_close("v", (double)value, i == 0 ? 1 : 0.95, 1e-6, 0);
    }
    fg_module_destroy(root);
}

/* The base rate is without the factor of the batch size; a new one is scaled by it too. */
static void rates_are_scaled_once(void **state)
{
    fg_error err = {0};
    fg_module *root = NULL;
    const fg_schedule cycle = fg_onecycle(NULL);
    (void)state;
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    (void)fg_linear_create(root, "l", &(fg_linear_options){.in = 3, .out = 2});
    fg_optimizer *o = fg_sgd_create(root, &(fg_sgd_options){.lr = 0.5, .momentum = 0.9});
    fgt_ok(fg_optimizer_set_schedule(o, &cycle, 50, &err)); /* from 1/25 of the rate */
    fgi_optimizer_scale_lr(o, 4);
    assert_true(fg_optimizer_lr(o) == 2.0 / 25);
    assert_true(fgi_optimizer_unscaled_lr(o) == 0.5 / 25);
    fg_optimizer_set_lr(o, 0.25);
    assert_true(fg_optimizer_lr(o) == 1.0 / 25);
    assert_true(fgi_optimizer_unscaled_lr(o) == 0.25 / 25);
    assert_true(o->base.hyper.lr == 0.25);
    fg_optimizer_begin_step(o, 14); /* the peak: 0.3 * 50 - 1 */
    assert_true(fg_optimizer_lr(o) == 1);
    fg_module_destroy(root);
}

/* A gradient of 3 and a rate of 0.1: each update subtracts a tenth of the limit, or 0.3. */
static void limits_compile_nothing(void **state)
{
    static const double limits[] = {0.5, 2, 4}, values[] = {0.95, 0.75, 0.45};
    static const fg_clip clips[] = {FG_CLIP_NORM, FG_CLIP_VALUE};
    fg_error err = {0};
    (void)state;
    for (int c = 0; c < 2; c++) {
        fg_module *root = NULL;
        float value = 1;
        int64_t programs = 0;
        fgt_ok(fg_module_create(NULL, 0, &root, &err));
        fg_variable *v = fg_module_variable(root, "v", &(fg_type){.dtype = FG_F32}, NULL);
        fg_optimizer *o = fg_sgd_create(root, &(fg_sgd_options){.lr = 0.1});
        fgt_ok(fg_variable_set(v, &value, sizeof value, &err));
        for (int i = 0; i < 3; i++) {
            fgt_ok(fg_optimizer_set_clip(o, clips[c], limits[i], &err));
            fg_optimizer_minimize(o, fg_mul_scalar(fg_variable_value(trace, v), 3));
            fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
            fgt_ok(fg_variable_read(v, &value, sizeof value, &err));
            fgt_close("v", (double)value, values[i], 1e-6, 0);
            programs = i == 0 ? values_programs(client) : programs;
        }
        assert_int_equal(values_programs(client), programs);
        fg_module_destroy(root);
    }
}

/* d(slope v)/dv is slope; whether the update was skipped. */
static bool update_by(fg_optimizer *o, fg_variable *v, double slope)
{
    fg_error err = {0};
    uint8_t skipped = 2;
    fg_array *array = NULL;
    fg_optimizer_minimize(o, fg_mul_scalar(fg_variable_value(trace, v), slope));
    const fg_tensor out = fg_optimizer_skipped(o, trace);
    fgt_ok(fg_run(trace, &out, 1, &array, &err));
    fgt_ok(fg_array_read(array, &skipped, sizeof skipped, &err));
    fg_array_release(array);
    assert_in_range(skipped, 0, 1);
    return skipped != 0;
}

static void skipped_updates_are_reported(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_module *root = NULL;
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    fg_variable *v = fg_module_variable(root, "v", &(fg_type){.dtype = FG_F32}, NULL);
    fg_optimizer *plain = fg_sgd_create(root, NULL), *scaled = fg_sgd_create(root, NULL);
    fgt_ok(fg_optimizer_set_loss_scale(scaled, NULL, &err));
    assert_false(update_by(plain, v, 1));
    assert_false(update_by(scaled, v, 1));
    assert_true(update_by(scaled, v, (double)INFINITY));
    assert_true(update_by(scaled, v, (double)NAN));
    assert_false(update_by(scaled, v, 1));
    assert_false(update_by(plain, v, (double)INFINITY)); /* nothing is skipped without a scale */
    int32_t updates = 0;
    fgt_ok(fg_variable_read(fg_optimizer_variable_at(scaled, 0), &updates, sizeof updates, &err));
    assert_int_equal(updates, 2); /* without those that were skipped */
    fg_trace *other = NULL;
    fgt_ok(fg_trace_create(client, &other, &err));
    fg_optimizer_minimize(scaled, fg_variable_value(trace, v));
    assert_ptr_equal(fg_tensor_trace(fg_optimizer_skipped(scaled, other)), other);
    fg_trace_destroy(other);
    fg_trace_reset(trace);
    fg_module_destroy(root);
}

static void health_is(const fg_optimizer *o, float bad, float step, float culprit, float kind)
{
    fg_error err = {0};
    float got[FGI_HEALTH];
    fgt_ok(fg_variable_read(o->guard.health, got, sizeof got, &err));
    assert_true(got[FGI_HEALTH_BAD] == bad && got[FGI_HEALTH_STEP] == step);
    assert_true(got[FGI_HEALTH_CULPRIT] == culprit && got[FGI_HEALTH_KIND] == kind);
}

/* The number of the parameter, also if others have no gradient; 1: NaN, 2: infinite. */
static void the_first_anomaly_is_kept(void **state)
{
    (void)state;
    fg_error err = {0};
    for (int is_nan = 0; is_nan < 2; is_nan++) {
        fg_module *root = NULL;
        fgt_ok(fg_module_create(NULL, 0, &root, &err));
        fg_variable *v = fg_module_variable(root, "v", &(fg_type){.dtype = FG_F32}, NULL);
        fg_variable *w = fg_module_variable(root, "w", &(fg_type){.dtype = FG_F32}, NULL);
        fg_optimizer *o = fg_sgd_create(root, NULL);
        fgt_ok(fgi_optimizer_watch(o, true, &err));
        assert_false(update_by(o, w, 1));
        health_is(o, 0, 0, 0, 0);
        assert_true(update_by(o, w, is_nan ? (double)NAN : (double)INFINITY));
        health_is(o, 1, 2, 2, is_nan ? 1 : 2);
        assert_true(update_by(o, v, is_nan ? (double)INFINITY : (double)NAN));
        health_is(o, 2, 2, 2, is_nan ? 1 : 2);
        fg_module_destroy(root);
    }
}

/* With loss scaling, overflow is an anomaly only at a scale of 1. */
static void overflow_is_an_anomaly_at_a_scale_of_one(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_module *root = NULL;
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    fg_variable *v = fg_module_variable(root, "v", &(fg_type){.dtype = FG_F32}, NULL);
    fg_optimizer *o = fg_sgd_create(root, NULL);
    fgt_ok(fg_optimizer_set_loss_scale(o, &(fg_loss_scale_options){.init = 2}, &err));
    fgt_ok(fgi_optimizer_watch(o, true, &err));
    assert_true(update_by(o, v, (double)INFINITY));
    health_is(o, 1, 0, 0, 0);
    assert_true(update_by(o, v, (double)INFINITY));
    health_is(o, 2, 2, 1, 2);
    fg_module_destroy(root);
}

/* In bf16, 1 - 1e-4 is 1; a learning rate of 0 changes nothing, and loses nothing. */
static void updates_below_the_precision_are_lost(void **state)
{
    static const double rates[] = {FG_ZERO, 1e-4, 0.5};
    (void)state;
    fg_error err = {0};
    for (int i = 0; i < 3; i++) {
        fg_module *root = NULL;
        float health[FGI_HEALTH];
        const fg_variable_options one = {.init = {FG_INIT_CONSTANT, 1}};
        fgt_ok(fg_module_create(NULL, 0, &root, &err));
        (void)fg_module_variable(root, "v", &(fg_type){.dtype = FG_BF16}, &one);
        fg_optimizer *o = fg_sgd_create(root, &(fg_sgd_options){.lr = rates[i]});
        fgt_ok(fgi_optimizer_watch(o, false, &err));
        const fg_tensor g = fg_ones(trace, FG_F32, FG_SCALAR);
        fg_optimizer_apply(o, &g, 1);
        fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
        fgt_ok(fg_variable_read(o->guard.health, health, sizeof health, &err));
        assert_true(health[FGI_HEALTH_LOST] == (i == 1 ? 1 : 0));
        fg_module_destroy(root);
    }
}

/* After every second good step, unless it would be infinite. */
static void scales_grow_as_far_as_they_are_finite(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_module *root = NULL;
    float scale = 0;
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    fg_variable *v = fg_module_variable(root, "v", &(fg_type){.dtype = FG_F32}, NULL);
    fg_optimizer *o = fg_sgd_create(root, NULL);
    const fg_loss_scale_options options = {.init = 0x1p124, .growth = 4, .growth_interval = 2};
    fgt_ok(fg_optimizer_set_loss_scale(o, &options, &err));
    static const float expected[] = {0x1p124F, 0x1p126F, 0x1p126F, 0x1p126F};
    for (int i = 0; i < 4; i++) {
        assert_false(update_by(o, v, 1e-3));
        fgt_ok(fg_variable_read(fg_optimizer_variable_at(o, 1), &scale, sizeof scale, &err));
        assert_true(scale == expected[i]);
    }
    fg_module_destroy(root);
}

/* The update is f64 if any of the parameters is, not only the first. */
static void updates_are_as_precise_as_the_most_precise_parameter(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_module *root = NULL;
    const double start = 1;
    double value = 0;
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    (void)fg_module_variable(root, "v", &(fg_type){.dtype = FG_F32}, NULL);
    fg_variable *w = fg_module_variable(root, "w", &(fg_type){.dtype = FG_F64}, NULL);
    fg_optimizer *o = fg_sgd_create(root, &(fg_sgd_options){.lr = 0.1});
    fgt_ok(fg_variable_set(w, &start, sizeof start, &err));
    const fg_tensor g[] = {fg_ones(trace, FG_F32, FG_SCALAR), fg_ones(trace, FG_F64, FG_SCALAR)};
    fg_optimizer_apply(o, g, 2);
    fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
    fgt_ok(fg_variable_read(w, &value, sizeof value, &err));
    fgt_close("w", value, 0.9, 1e-14, 0);
    fg_module_destroy(root);
}

/* It is for bf16 only: 1 - 0.5 in the nearest f16, 0x3800. */
static void stochastic_rounding_leaves_f16_alone(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_module *root = NULL;
    uint16_t value = 0x3C00;
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    fg_variable *v = fg_module_variable(root, "v", &(fg_type){.dtype = FG_F16}, NULL);
    fg_optimizer *o = fg_sgd_create(root, &(fg_sgd_options){.lr = 0.5});
    fg_optimizer_set_stochastic_rounding(o, true);
    fgt_ok(fg_variable_set(v, &value, sizeof value, &err));
    const fg_tensor g = fg_ones(trace, FG_F16, FG_SCALAR);
    fg_optimizer_apply(o, &g, 1);
    fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
    fgt_ok(fg_variable_read(v, &value, sizeof value, &err));
    assert_int_equal(value, 0x3800);
    fg_module_destroy(root);
}

static int open_all(void **state)
{
    fg_error err = {0};
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = fgt_cache("")},
                          &client, &err));
    fgt_ok(fg_trace_create(client, &trace, &err));
    record = fgt_record_open("nn/optimizers.safetensors");
    return 0;
}

static int close_all(void **state)
{
    fg_ckpt_close(record);
    fg_trace_destroy(trace);
    fg_client_close(client);
    return 0;
}

/* ---- several updates in one trace ------------------------------------------------------------ */

typedef struct square {
    fg_module *root;
    fg_variable *p;
    fg_optimizer *first, *second;
} square;

static square square_of(double lr)
{
    fg_error err = {0};
    square s;
    const fg_variable_options one = {.init = {FG_INIT_CONSTANT, 1}};
    fgt_ok(fg_module_create(NULL, 0, &s.root, &err));
    s.p = fg_module_variable(s.root, "p", &(fg_type){.dtype = FG_F32}, &one);
    s.first = fg_sgd_create(s.root, &(fg_sgd_options){.lr = lr});
    s.second = fg_sgd_create(s.root, &(fg_sgd_options){.lr = lr});
    fgt_ok(fg_module_error(s.root, &err));
    return s;
}

static float value_of(const square *s)
{
    fg_error err = {0};
    float value;
    fgt_ok(fg_variable_read(s->p, &value, sizeof value, &err));
    return value;
}

static void minimize_square(fg_trace *tr, const square *s, fg_optimizer *optimizer)
{
    fg_optimizer_minimize(optimizer, fg_square(fg_variable_value(tr, s->p)));
}

/* p -= 0.1 d(p^2)/dp is p *= 0.8: two of them in a trace, by one optimizer or by two. */
static void each_update_of_a_trace_takes_the_value_in_force(void **state)
{
    (void)state;
    fg_error err = {0};
    for (int two = 0; two < 2; two++) {
        const square s = square_of(0.1);
        for (int i = 0; i < 2; i++) {
            minimize_square(trace, &s, s.first);
            minimize_square(trace, &s, two ? s.second : s.first);
            fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
        }
        assert_float_equal(value_of(&s), 0.4096, 1e-6);
        fg_module_destroy(s.root);
    }
}

static void a_loss_from_before_an_update_is_refused(void **state)
{
    (void)state;
    fg_error err = {0};
    const square s = square_of(0.1);
    const fg_tensor loss = fg_square(fg_variable_value(trace, s.p));
    fg_optimizer_minimize(s.first, loss);
    const int line = __LINE__ + 1;
    fg_optimizer_minimize(s.second, loss);
    assert_int_equal(fg_run(trace, NULL, 0, NULL, &err), FG_EINVAL);
    assert_int_equal(err.line, line);
    assert_non_null(strstr(err.message, "the loss was computed before parameter 'p' was assigned"));
    assert_float_equal(value_of(&s), 1, 0); /* nothing was run */
    fg_module_destroy(s.root);
}

/* Gradients computed before both updates may be applied successively: 1 - 0.1 * 2 - 0.1 * 2. */
static void gradients_from_before_may_be_applied(void **state)
{
    (void)state;
    fg_error err = {0};
    const square s = square_of(0.1);
    fg_tensor d;
    fg_grad_variables(fg_square(fg_variable_value(trace, s.p)), &s.p, 1, &d);
    fg_optimizer_apply(s.first, &d, 1);
    fg_optimizer_apply(s.second, &d, 1);
    fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
    assert_float_equal(value_of(&s), 0.6, 1e-6);
    fg_module_destroy(s.root);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_update_of_a_trace_takes_the_value_in_force),
    cmocka_unit_test(a_loss_from_before_an_update_is_refused),
    cmocka_unit_test(gradients_from_before_may_be_applied),
    cmocka_unit_test(own_loops_follow_pytorch),
    cmocka_unit_test(steps_traced_once_follow_pytorch),
    cmocka_unit_test(state_moved_to_another_optimizer_goes_on_exactly),
    cmocka_unit_test(learning_rates_compile_nothing),
    cmocka_unit_test(a_zero_that_is_meant_computes_as_zero),
    cmocka_unit_test(bias_correction_keeps_its_digits),
    cmocka_unit_test(parameters_keep_their_format),
    cmocka_unit_test(infinite_gradients_are_found_before_clipping),
    cmocka_unit_test(limits_compile_nothing),
    cmocka_unit_test(rates_are_scaled_once),
    cmocka_unit_test(skipped_updates_are_reported),
    cmocka_unit_test(the_first_anomaly_is_kept),
    cmocka_unit_test(overflow_is_an_anomaly_at_a_scale_of_one),
    cmocka_unit_test(updates_below_the_precision_are_lost),
    cmocka_unit_test(scales_grow_as_far_as_they_are_finite),
    cmocka_unit_test(updates_are_as_precise_as_the_most_precise_parameter),
    cmocka_unit_test(stochastic_rounding_leaves_f16_alone),
};

int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
