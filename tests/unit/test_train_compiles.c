/* test_train_compiles.c - why a program is compiled: each cause is provoked once. On the fake
 * plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>

#include "toy_place.h"

static int open_all(void **state)
{
    (void)state;
    return open_place(8, 8);
}

static const fg_client_options own_options = {
    .accelerator = "cpu", .plugin_path = FAKE_PATH, .cache_dir = ""};

/* The last compilation, of that many. */
static fg_compile_event last(const fg_client *of, size_t count)
{
    static fg_compile_event all[FG_MAX_COMPILE_EVENTS];
    const size_t have = fg_client_compiles(of, all, FG_MAX_COMPILE_EVENTS);
    if (have != count)
        fail_msg("%zu compilations, expected %zu", have, count);
    return all[count - 1];
}

static void is(const fg_compile_event *e, const char *program, const char *what, const char *name,
               const char *old_value, const char *new_value, int line)
{
    char at[120] = "";
    if (line > 0)
        (void)snprintf(at, sizeof at, "%s:%d", __FILE__, line);
    assert_string_equal(e->program, program);
    assert_string_equal(e->what, what);
    assert_string_equal(e->name, name);
    assert_string_equal(e->old_value, old_value);
    assert_string_equal(e->new_value, new_value);
    assert_string_equal(e->at, at);
    assert_true(e->seconds > 0 && !e->is_cached);
}

/* ---- custom loops ---------------------------------------------------------------------------- */

/* sum(x * factor) for x of this type; returns the line that feeds x. */
static int run(fg_client *on, fg_trace *trace, fg_dtype dtype, int64_t rows, double factor)
{
    fg_error err = {0};
    fg_array *x = NULL, *out = NULL;
    const fg_type type = {.dtype = dtype, .rank = 2, .dim = {rows, 3}};
    static const double zeros[64];
    fgt_ok(fg_array_create(on, &type, zeros, &x, &err));
    const fg_tensor value = fg_input(trace, x);
    const int line = __LINE__ - 1;
    const fg_tensor sum = fg_sum(fg_mul_scalar(value, factor), 0, NULL);
    fgt_ok(fg_run(trace, &sum, 1, &out, &err));
    fg_array_release(out);
    fg_array_release(x);
    return line;
}

static void causes_in_a_custom_loop(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *own = NULL;
    fg_trace *trace = NULL;
    fgt_ok(fg_client_open(&own_options, &own, &err));
    assert_int_equal(fg_client_compiles(own, NULL, 0), 0);
    fgt_ok(fg_trace_create(own, &trace, &err));
    const int line = run(own, trace, FG_F32, 4, 2);
    fg_compile_event e = last(own, 1);
    is(&e, "run", "", "", "", "", 0);
    assert_int_equal(e.step, -1);
    (void)run(own, trace, FG_F32, 4, 2); /* found */
    (void)run(own, trace, FG_F32, 5, 2);
    e = last(own, 2);
    is(&e, "run", "shape", "input 1", "f32[4,3]", "f32[5,3]", line);
    (void)run(own, trace, FG_F64, 5, 2);
    e = last(own, 3);
    is(&e, "run", "dtype", "input 1", "f32[5,3]", "f64[5,3]", line);
    (void)run(own, trace, FG_F64, 5, 0.1);
    e = last(own, 4);
    assert_string_equal(e.what, "constant");
    assert_string_equal(e.old_value, "2");
    assert_string_equal(e.new_value, "0.1");
    assert_non_null(strstr(e.at, "test_train_compiles.c:"));
    fg_array *one = NULL, *out = NULL;
    const fg_type scalar = {.dtype = FG_F32};
    fgt_ok(fg_array_create(own, &scalar, &(float){1}, &one, &err));
    const fg_tensor other = fg_exp(fg_input(trace, one)); /* not like the others */
    fgt_ok(fg_run(trace, &other, 1, &out, &err));
    e = last(own, 5);
    is(&e, "run", "", "", "", "", 0);
    fg_array_release(one);
    fg_array_release(out);
    fg_trace_destroy(trace);
    fg_client_close(own);
}

/* The list is limited: the first half and the latest compilations. */
static void the_first_and_the_latest_are_listed(void **state)
{
    (void)state;
    enum { RUNS = FG_MAX_COMPILE_EVENTS + 10 };
    fg_error err = {0};
    fg_client *own = NULL;
    fg_trace *trace = NULL;
    static fg_compile_event all[FG_MAX_COMPILE_EVENTS];
    char text[32];
    fgt_ok(fg_client_open(&own_options, &own, &err));
    fgt_ok(fg_trace_create(own, &trace, &err));
    for (int i = 0; i < RUNS; i++)
        (void)run(own, trace, FG_F32, 4, i + 0.5);
    assert_int_equal(fg_client_compiles(own, all, FG_MAX_COMPILE_EVENTS), FG_MAX_COMPILE_EVENTS);
    assert_string_equal(all[0].what, "");
    assert_string_equal(all[31].new_value, "31.5");
    assert_string_equal(all[32].new_value, "42.5");
    (void)snprintf(text, sizeof text, "%g", RUNS - 0.5);
    assert_string_equal(all[FG_MAX_COMPILE_EVENTS - 1].new_value, text);
    fg_trace_destroy(trace);
    fg_client_close(own);
}

/* ---- the Trainer ----------------------------------------------------------------------------- */

typedef struct freezer {
    fg_trainer *trainer;
    int line;
} freezer;

static fg_status freeze(void *self, const fg_progress *at, fg_error *err)
{
    freezer *f = self;
    if (at->step != 2)
        return FG_OK;
    f->line = __LINE__ + 1;
    return fg_module_freeze(fg_trainer_module(f->trainer), "fc1.weight", NULL, err);
}

static void causes_in_the_trainer(void **state)
{
    (void)state;
    static const fg_callback_ops ops = {.epoch_end = freeze};
    fg_error err = {0};
    fg_client *own = NULL;
    fgt_ok(fg_client_open(&own_options, &own, &err));
    fg_trainer *trainer = toy_trainer(own, &(fg_trainer_options){.limits.max_epochs = 2});
    freezer f = {.trainer = trainer};
    fgt_ok(fg_trainer_add_callback(trainer, &ops, &f, &err));
    fg_fit_data data = {.train = train_data, .val = val_data, .batch_size = 4, .workers = FG_NONE};
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    static fg_compile_event all[FG_MAX_COMPILE_EVENTS];
    assert_int_equal(fg_client_compiles(own, all, FG_MAX_COMPILE_EVENTS), 3);
    is(&all[0], "train_step", "", "", "", "", 0);
    is(&all[1], "val_step", "", "", "", "", 0);
    is(&all[2], "train_step", "trainable", "fc1.weight", "trained", "frozen", f.line);
    assert_true(all[0].step == 0 && all[2].step == 2);
    data.batch_size = 8;
    const int line = __LINE__ + 1;
    fgt_ok(fg_trainer_validate(trainer, &task, &data, &err));
    const fg_compile_event e = last(own, 4);
    is(&e, "val_step", "shape", "x", "f32[4,6]", "f32[8,6]", line);
    fg_trainer_destroy(trainer);
    fg_client_close(own);
}

static fg_status read_zeros(void *self, int64_t index, void *const *out, fg_error *err)
{
    (void)self, (void)index, (void)err;
    memset(out[0], 0, TOY_FEATURES * sizeof(float));
    *(int32_t *)out[1] = 0;
    return FG_OK;
}

#define X(n)                                                                                       \
    {                                                                                              \
        "x",                                                                                       \
        {                                                                                          \
            .dtype = FG_F32, .rank = 1, .dim = { n }                                               \
        }                                                                                          \
    }
#define Y                                                                                          \
    {                                                                                              \
        "y", { .dtype = FG_S32 }                                                                   \
    }

/* Data that differ from those before in one thing: an error, or the program is compiled again. */
static const struct {
    fg_field fields[3];
    int field_count;
    const char *says;
    int64_t count;
} others[] = {
    {{X(TOY_FEATURES), Y}, 2, NULL, 7}, /* the last batch is not full */
    {{X(TOY_FEATURES), Y, {"z", {.dtype = FG_S32}}}, 3, NULL, 8},
    {{X(TOY_FEATURES - 1), Y}, 2, "fc1", 8},
    {{{"a", {.dtype = FG_F32, .rank = 1, .dim = {TOY_FEATURES}}}, Y},
     2,
     "batch: no field 'x'; there are 'a', 'y'",
     8},
    {{X(TOY_FEATURES), {"b", {.dtype = FG_S32}}}, 2, "batch: no field 'y'; there are 'x', 'b'", 8},
};

static void other_fields_are_another_program(void **state)
{
    static const fg_dataset_ops ops = {.read = read_zeros};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        fg_error err = {0};
        fg_dataset *other = NULL;
        fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){0});
        const fg_dataset_spec spec = {.count = others[i].count,
                                      .fields = others[i].fields,
                                      .field_count = others[i].field_count,
                                      .class_count = TOY_CLASSES};
        fgt_ok(fg_dataset_create(&ops, NULL, &spec, &other, &err));
        const fg_fit_data data = {.val = val_data, .batch_size = 4, .workers = FG_NONE};
        const fg_fit_data later = {.val = other, .batch_size = 4, .workers = FG_NONE};
        fgt_ok(fg_trainer_validate(trainer, &task, &data, &err));
        assert_int_equal(fg_trainer_validate(trainer, &task, &later, &err) == FG_OK,
                         others[i].says == NULL);
        if (others[i].says == NULL)
            assert_int_equal(fg_trainer_result(trainer)->compiles, 1);
        else if (strstr(err.message, others[i].says) == NULL)
            fail_msg("%zu: %s", i, err.message);
        fg_trainer_destroy(trainer);
        fg_dataset_destroy(other);
    }
}

/* Ends a fit after its epoch. */
static fg_status end_fit(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)at;
    return fg_error_set(err, FG_ESTOPPED, "one epoch");
}

/* Between two fits, of which the second one has other data. */
static void a_parameter_frozen_between_fits(void **state)
{
    static const fg_callback_ops ops = {.epoch_end = end_fit};
    (void)state;
    fg_error err = {0};
    fg_trainer *trainer = toy_trainer(client, &(fg_trainer_options){.limits.max_epochs = 9});
    fgt_ok(fg_trainer_add_callback(trainer, &ops, NULL, &err));
    for (int i = 0; i < 3; i++) {
        const fg_fit_data data = {
            .train = i == 1 ? val_data : train_data, .batch_size = 4, .workers = FG_NONE};
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        assert_int_equal(fg_trainer_result(trainer)->compiles, i < 2);
        if (i == 0)
            fgt_ok(fg_module_freeze(fg_trainer_module(trainer), "fc2.bias", NULL, &err));
    }
    fg_trainer_destroy(trainer);
}

/* Gradients that are accumulated are applied by a separate program. */
static void the_update_is_a_program(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *own = NULL;
    static fg_compile_event all[FG_MAX_COMPILE_EVENTS];
    fgt_ok(fg_client_open(&own_options, &own, &err));
    fg_trainer *trainer = toy_trainer(
        own, &(fg_trainer_options){.numerics.accumulate_grad_batches = 2, .limits.max_epochs = 1});
    const fg_fit_data data = {.train = train_data, .batch_size = 4, .workers = FG_NONE};
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(fg_client_compiles(own, all, FG_MAX_COMPILE_EVENTS), 2);
    is(&all[0], "train_step", "", "", "", "", 0);
    is(&all[1], "update", "", "", "", "", 0);
    fg_trainer_destroy(trainer);
    fg_client_close(own);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(causes_in_a_custom_loop),
    cmocka_unit_test(the_first_and_the_latest_are_listed),
    cmocka_unit_test(causes_in_the_trainer),
    cmocka_unit_test(other_fields_are_another_program),
    cmocka_unit_test(a_parameter_frozen_between_fits),
    cmocka_unit_test(the_update_is_a_program),
};
int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
