/* test_trace_fake.c - runs that fail, on the fake plugin: what becomes of variables, and that
 * nothing leaks wherever an allocation fails.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/fulgurite.h>

#include "base/alloc.h"
#include "base/error.h"
#include "fakepjrt/fake_control.h"
#include "trace/program.h"

static fake_control fake;
static const fg_type vec3 = {.dtype = FG_F32, .rank = 1, .dim = {3}};
static const float numbers[3] = {1, 2, 3};

typedef struct fixture {
    fg_client *client;
    fg_trace *trace;
    fg_variable *v;
    fg_scalar rate;
} fixture;

static fg_status begin(fixture *f, fg_error *err)
{
    *f = (fixture){.rate = {.dtype = FG_F32}};
    FGI_TRY(fg_client_open(
        &(fg_client_options){.accelerator = "cpu", .plugin_path = FAKE_PATH, .cache_dir = ""},
        &f->client, err));
    FGI_TRY(fg_trace_create(f->client, &f->trace, err));
    FGI_TRY(fg_variable_create("fc.weight", &vec3, NULL, &f->v, err));
    return fg_variable_set(f->v, numbers, sizeof numbers, err);
}

static void end(fixture *f)
{
    fg_variable_destroy(f->v);
    fg_trace_destroy(f->trace);
    fg_client_close(f->client);
}

static const int line_of_sum = __LINE__ + 5;
/* One iteration: v += rate, and the old value's sum. */
static fg_status update(fixture *f, fg_array **out, fg_error *err)
{
    const fg_tensor old = fg_variable_value(f->trace, f->v);
    const fg_tensor sum = fg_sum(old, 0, NULL);
    fg_assign(f->v, fg_add(old, fg_scalar_value(f->trace, &f->rate)));
    return fg_run(f->trace, &sum, 1, out, err);
}

static int before_each(void **state)
{
    static fixture f;
    fg_error err = {0};
    fake.reset();
    fgt_ok(begin(&f, &err));
    *state = &f;
    return 0;
}

static int after_each(void **state)
{
    end(*state);
    const bool is_clean = fake.get("buffers") == 0 && fake.get("programs") == 0 &&
                          fake.get("events") == 0 && fake.get("errors") == 0;
    return is_clean && fgi_alloc_live() == 0 ? 0 : 1;
}

/* A program that fails has taken its donated arguments with it: the variable says so until it is
 * set again. */
static void failed_run_loses_what_it_updates(void **state)
{
    fixture *f = *state;
    fg_error err = {0};
    float got[3];
    fg_array *out;
    fake.set("execute_error", 13);
    assert_int_equal(update(f, &out, &err), FG_EDEVICE);
    assert_null(out);
    assert_int_equal(fg_variable_read(f->v, got, sizeof got, &err), FG_EDEVICE);
    assert_string_equal(err.message, "the value of variable 'fc.weight' was lost in a program that "
                                     "failed: set it again, for example from a checkpoint");
    fake.set("execute_error", 0);
    assert_int_equal(update(f, &out, &err), FG_EDEVICE); /* still lost */
    assert_null(out);
    fgt_ok(fg_variable_set(f->v, numbers, sizeof numbers, &err));
    fgt_ok(update(f, &out, &err));
    fg_array_release(out);
    fgt_ok(fg_variable_read(f->v, got, sizeof got, &err));
    assert_memory_equal(got, numbers, sizeof got); /* the fake gives back what it was given */
}

static void failing_before_the_launch_loses_nothing(void **state)
{
    fixture *f = *state;
    fg_error err = {0};
    float got[3];
    fg_array *out;
    fake.set("compile_error", 13);
    assert_int_equal(update(f, &out, &err), FG_ECOMPILE);
    fake.set("compile_error", 8);
    assert_int_equal(update(f, &out, &err), FG_EDEVMEM);
    fake.set("compile_error", 0);
    fake.set("upload_error", 8);
    assert_int_equal(update(f, &out, &err), FG_EDEVMEM);
    fgt_message_is(err.message, "uploading variable 'fc.weight': uploading an array on cpu:0 "
                                "(fakepjrt.so): RESOURCE_EXHAUSTED: the bus is on strike");
    fake.set("upload_error", 0);
    fgt_ok(update(f, &out, &err));
    fg_array_release(out);
    fake.set("upload_error", 8);
    fgt_ok(update(f, &out, &err)); /* the scalars are there already and the same */
    fg_array_release(out);
    f->rate.value.f32 = 2; /* now they are uploaded, and nothing else */
    assert_int_equal(update(f, &out, &err), FG_EDEVMEM);
    fgt_message_is(err.message, "uploading the step's scalars: uploading an array on cpu:0 "
                                "(fakepjrt.so): RESOURCE_EXHAUSTED: the bus is on strike");
    fake.set("upload_error", 0);
    fgt_ok(update(f, &out, &err)); /* and again after the failure */
    fg_array_release(out);
    fgt_ok(fg_variable_read(f->v, got, sizeof got, &err));
    assert_memory_equal(got, numbers, sizeof got);
    assert_int_equal(fg_client_stats_of(f->client).compiles, 1);
}

/* The user's line and operation, found in what the compiler says. */
static void an_operation_that_is_not_supported_is_named(void **state)
{
    fixture *f = *state;
    for (int form = 1; form <= 2; form++) {
        fg_error err = {0};
        fg_array *out;
        fake.set("unsupported_op", form);
        assert_int_equal(update(f, &out, &err), FG_EUNSUPPORTED);
        assert_non_null(
            strstr(err.message, "sum(f32[3]) is not supported by the device's compiler: "));
        assert_string_equal(err.file, __FILE__);
        assert_int_equal(err.line, line_of_sum);
    }
    fake.set("unsupported_op", 0);
}

/* What a compiler may say of the operations of a program that multiplies a and b, where another
 * operation, on line `unused`, is not part of it. */
static void operations_are_found_by_their_location(void **state)
{
    fixture *f = *state;
    fg_error err = {0};
    const fg_tensor a = fg_ones(f->trace, FG_F32, FG_DIMS(2, 3));
    const int unused = __LINE__ + 1;
    const fg_tensor b = fg_ones(f->trace, FG_F32, FG_DIMS(3, 4)), dead = fg_exp(a);
    const int line = __LINE__ + 1;
    const fg_tensor y = fg_matmul(a, b);
    const struct {
        int line;
        const char *digits; /* that follow in the message */
        bool is_second;     /* after another location */
        const char *name;
        bool is_found;
    } rows[] = {{line, "", false, "matmul", true},       {line, "5", false, "matmul", false},
                {line, "9", false, "matmul", false},     {line, "", true, "matmul", true},
                {line, "", false, "multiply", false},    {unused, "", false, "exp", false},
                {line + 100, "", false, "matmul", false}};
    fgi_layout layout;
    fgt_ok(fg_trace_error(f->trace, &err));
    assert_ptr_equal(fg_tensor_trace(dead), f->trace);
    fgt_ok(fgi_layout_make(f->trace, &y, 1, &layout, &err));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char before[300] = "";
        if (rows[i].is_second)
            (void)snprintf(before, sizeof before, "loc(\"a\"(\"%s\":%d7:0)) ", __FILE__, line);
        err = (fg_error){.status = FG_ECOMPILE};
        (void)snprintf(err.message, sizeof err.message, "no: %sloc(\"l/%s\"(\"%s\":%d%s:0))",
                       before, rows[i].name, __FILE__, rows[i].line, rows[i].digits);
        assert_int_equal(fgi_compile_explain(f->trace, &layout, &err), FG_ECOMPILE);
        if (err.line != (rows[i].is_found ? line : 0))
            fail_msg("row %zu: line %d: %s", i, err.line, err.message);
        if (rows[i].is_found)
            assert_non_null(strstr(err.message, "matmul(f32[2,3], f32[3,4]) is not supported by "));
    }
    fgi_layout_fini(&layout);
    fg_trace_reset(f->trace);
}

/* XNNPACK would multiply by weights that were updated in place since. */
static void a_cpu_compiles_without_xnnpack(void **state)
{
    const fixture *f = *state;
    size_t count;
    int found = 0;
    const fgi_flag *flags = fgi_cpu_flags(f->client, &count);
    for (size_t i = 0; i < count; i++)
        found += strcmp(flags[i].name, "xla_cpu_use_xnnpack") == 0 &&
                 strcmp(flags[i].value, "False") == 0;
    assert_int_equal(found, 1);
}

static void flags_that_a_plugin_does_not_know_are_left_out(void **state)
{
    fixture *f = *state;
    fg_error err = {0};
    fg_array *out;
    fake.set("unknown_flags", 1);
    fgt_ok(update(f, &out, &err));
    fg_array_release(out);
}

static void run_without_updates_loses_nothing(void **state)
{
    fixture *f = *state;
    fg_error err = {0};
    float got[3];
    fg_array *out;
    fake.set("execute_error", 13);
    const fg_tensor twice = fg_mul_scalar(fg_variable_value(f->trace, f->v), 2);
    assert_int_equal(fg_run(f->trace, &twice, 1, &out, &err), FG_EDEVICE);
    assert_null(out);
    fgt_ok(fg_variable_read(f->v, got, sizeof got, &err));
    assert_memory_equal(got, numbers, sizeof got);
}

static void late_failures_come_out_when_read(void **state)
{
    fixture *f = *state;
    fg_error err = {0};
    float got;
    fg_array *out;
    fake.set("execute_late_error", 13);
    fgt_ok(update(f, &out, &err)); /* launched well */
    assert_int_equal(fg_array_read(out, &got, sizeof got, &err), FG_EDEVICE);
    fg_array_release(out);
    assert_int_equal(
        fg_run_f32(f->trace, fg_sum(fg_variable_value(f->trace, f->v), 0, NULL), &got, &err),
        FG_EDEVICE);
}

/* ---- programs that are kept ------------------------------------------------------------------ */

static char warning[1024];
static int warning_count;

static void keep_warning(void *self, fg_log_level level, const char *line)
{
    (void)self;
    if (level != FG_LOG_WARNING)
        return;
    warning_count++;
    (void)snprintf(warning, sizeof warning, "%s", line);
}

/* A number of the host's in each iteration: a program each, of which few are kept. */
static void changing_numbers_compile_and_are_reported_once(void **state)
{
    fixture *f = *state;
    fg_error err = {0};
    int line = 0;
    char want[256];
    warning_count = 0;
    fg_log_set(keep_warning, NULL);
    for (int i = 0; i < 200; i++) {
        const fg_tensor v = fg_variable_value(f->trace, f->v);
        line = __LINE__ + 1;
        fg_assign(f->v, fg_mul_scalar(v, 0.5 + i));
        fgt_ok(fg_run(f->trace, NULL, 0, NULL, &err));
        assert_true(fake.get("programs") <= 64);
        assert_int_equal(warning_count, i >= 2);
    }
    for (int i = 0; i < 4; i++) { /* once for each trace */
        const fg_tensor v = fg_variable_value(f->trace, f->v);
        fg_assign(f->v, fg_tanh(fg_add_scalar(v, 0.25 + i)));
        fgt_ok(fg_run(f->trace, NULL, 0, NULL, &err));
    }
    assert_int_equal(warning_count, 1);
    fg_log_set(NULL, NULL);
    assert_int_equal(fake.get("programs"), 64);
    (void)snprintf(want, sizeof want,
                   "test_trace_fake.c:%d: a constant changed from 1.5 to 2.5: 3 programs were "
                   "compiled that differ only in this value",
                   line);
    assert_non_null(strstr(warning, want));
    assert_non_null(strstr(warning, "fg_scalar"));
}

static const struct {
    int others; /* that change too; -1: a slice changes, and no number */
    const char *says;
} changes[] = {{-1, "an argument of slice changed: 3"},
               {1, "a constant changed from 1.5 to 2.5 (and 1 other operation): 3"},
               {2, "a constant changed from 1.5 to 2.5 (and 2 other operations): 3"}};

/* What the warning says of the first operation that changes, and of the others. */
static void changes_are_counted(void **state)
{
    fixture *f = *state;
    fg_error err = {0};
    for (size_t k = 0; k < sizeof changes / sizeof changes[0]; k++) {
        fg_trace *trace;
        fgt_ok(fg_trace_create(f->client, &trace, &err));
        fg_log_set(keep_warning, NULL);
        for (int64_t i = 0; i < 3; i++) {
            const int64_t limit = i + 1;
            fg_tensor v = fg_variable_value(trace, f->v);
            assert_ptr_equal(fg_tensor_trace(fg_exp(v)), trace); /* not part of the program */
            v = changes[k].others < 0 ? fg_slice(v, &i, &limit, NULL)
                                      : fg_mul_scalar(v, 0.5 + (double)i);
            for (int other = 0; other < changes[k].others; other++)
                v = fg_add_scalar(v, (double)(7 + i + other));
            fg_array *out;
            fgt_ok(fg_run(trace, &v, 1, &out, &err));
            fg_array_release(out);
        }
        fg_log_set(NULL, NULL);
        assert_non_null(strstr(warning, changes[k].says));
        fg_trace_destroy(trace);
    }
}

/* Programs that take turns are each compared with the last of their kind. */
static void programs_that_take_turns_are_compared(void **state)
{
    fixture *f = *state;
    fg_error err = {0};
    warning_count = 0;
    fg_log_set(keep_warning, NULL);
    for (int i = 0; i < 3; i++)
        for (int kind = 0; kind < 2; kind++) {
            const fg_tensor v = fg_variable_value(f->trace, f->v);
            const fg_tensor y = fg_mul_scalar(kind == 0 ? fg_exp(v) : fg_tanh(v), 0.5 + i);
            fg_array *out;
            fgt_ok(fg_run(f->trace, &y, 1, &out, &err));
            fg_array_release(out);
            assert_int_equal(warning_count, i == 2);
        }
    fg_log_set(NULL, NULL);
}

static void random_numbers_need_one_program(void **state)
{
    fixture *f = *state;
    fg_error err = {0};
    for (uint64_t step = 0; step < 3; step++) {
        fg_array *out;
        fg_trace_set_seed(f->trace, 7, step);
        const fg_tensor y = fg_random_uniform(f->trace, FG_DIMS(3));
        fgt_ok(fg_run(f->trace, &y, 1, &out, &err));
        fg_array_release(out);
    }
    assert_int_equal(fg_client_stats_of(f->client).compiles, 1);
}

static void variables_move_to_the_client_that_uses_them(void **state)
{
    fixture *f = *state;
    fg_error err = {0};
    fixture other;
    fg_array *out;
    fgt_ok(begin(&other, &err));
    fgt_ok(update(f, &out, &err));
    fg_array_release(out);
    assert_ptr_equal(fgi_variable_client(f->v), f->client);
    const fg_tensor sum = fg_sum(fg_variable_value(other.trace, f->v), 0, NULL);
    fgt_ok(fg_run(other.trace, &sum, 1, &out, &err));
    fg_array_release(out);
    assert_ptr_equal(fgi_variable_client(f->v), other.client);
    end(&other);
}

/* The same value assigned to one variable or to another. */
static void programs_differ_in_what_they_assign(void **state)
{
    fixture *f = *state;
    fg_error err = {0};
    fg_variable *w;
    fgt_ok(fg_variable_create("fc.bias", &vec3, NULL, &w, &err));
    for (int i = 0; i < 4; i++) {
        const fg_tensor a = fg_variable_value(f->trace, f->v);
        const fg_tensor sum = fg_add(a, fg_variable_value(f->trace, w));
        fg_assign(i % 2 == 0 ? f->v : w, sum);
        fgt_ok(fg_run(f->trace, NULL, 0, NULL, &err));
    }
    assert_int_equal(fg_client_stats_of(f->client).compiles, 2);
    fg_variable_destroy(w);
}

/* A number with all its digits, or the operation with another attribute; an operation that the
 * program does not contain is recorded before it. */
static void the_cause_of_a_compilation_is_recorded(void **state)
{
    fixture *f = *state;
    fg_error err = {0};
    char at[80];
    fg_compile_event all[4];
    for (int64_t i = 0; i < 4; i++) {
        const fg_tensor v = fg_variable_value(f->trace, f->v), dead = fg_exp(v);
        const int64_t limit = i;
        fg_array *out;
        const fg_tensor y = i < 2 ? fg_add_scalar(v, 16777217.0 + 2 * (double)i)
                                  : fg_slice(v, &(int64_t){0}, &limit, NULL);
        (void)snprintf(at, sizeof at, "%s:%d", __FILE__, __LINE__ - 1);
        assert_ptr_equal(fg_tensor_trace(dead), f->trace);
        fgt_ok(fg_run(f->trace, &y, 1, &out, &err));
        fg_array_release(out);
    }
    assert_int_equal(fg_client_compiles(f->client, all, 4), 4);
    assert_string_equal(all[1].what, "constant");
    assert_string_equal(all[1].old_value, "16777217");
    assert_string_equal(all[1].new_value, "16777219");
    assert_string_equal(all[2].what, "");
    assert_string_equal(all[3].what, "attribute");
    assert_string_equal(all[3].name, "slice");
    assert_string_equal(all[3].old_value, "");
    assert_string_equal(all[3].at, at);
}

/* The one used longest ago goes, not the one made first. */
static void programs_in_use_are_kept(void **state)
{
    fixture *f = *state;
    fg_error err = {0};
    fg_array *out;
    for (int i = 0; i < 100; i++) {
        const int64_t before = fg_client_stats_of(f->client).compiles;
        fgt_ok(update(f, &out, &err));
        fg_array_release(out);
        assert_int_equal(fg_client_stats_of(f->client).compiles, before + (i == 0));
        fg_assign(f->v, fg_add_scalar(fg_variable_value(f->trace, f->v), i + 0.5));
        fgt_ok(fg_run(f->trace, NULL, 0, NULL, &err));
    }
}

/* A constant changes with i, and with it the dtype, the last dimension, or a second operand. */
static fg_tensor other_program(const fixture *f, int kind, int i)
{
    static const fg_dtype dtypes[] = {FG_F32, FG_F64, FG_BF16, FG_F16};
    const double number = 0.5 + i;
    if (kind == 0)
        return fg_exp(fg_full(f->trace, dtypes[i], number, FG_DIMS(2)));
    if (kind == 1)
        return fg_log(fg_full(f->trace, FG_F32, number, FG_DIMS(2, 3 + i)));
    const fg_tensor v = fg_variable_value(f->trace, f->v), exp = fg_exp(v);
    const fg_tensor operands[] = {v, exp, fg_tanh(v), fg_log(v)};
    const fg_tensor both = fg_add(operands[2], operands[3]); /* in each of the programs */
    return fg_mul(fg_mul_scalar(fg_sub(exp, operands[i]), number), both);
}

/* Other shapes, other graphs, and two values: nothing is amiss. */
static void other_programs_are_not_reported(void **state)
{
    fixture *f = *state;
    fg_error err = {0};
    warning_count = 0;
    fg_log_set(keep_warning, NULL);
    for (int i = 1; i < 6; i++) {
        const fg_tensor some = fg_full(f->trace, FG_F32, 0.5, FG_DIMS(i));
        fg_array *out;
        fgt_ok(fg_run(f->trace, &some, 1, &out, &err));
        fg_array_release(out);
    }
    for (int i = 0; i < 4; i++)
        for (int kind = 0; kind < 3; kind++) {
            const fg_tensor out = other_program(f, kind, i);
            fg_array *array;
            fgt_ok(fg_run(f->trace, &out, 1, &array, &err));
            fg_array_release(array);
        }
    fg_log_set(NULL, NULL);
    assert_int_equal(warning_count, 0);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static fg_status iterate(void *self, fg_error *err)
{
    (void)self;
    fixture f;
    fg_array *out = NULL;
    fgi_step_program *step = NULL;
    float loss, got[3];
    fg_status status = begin(&f, err);
    for (int i = 0; i < 2 && status == FG_OK; i++) {
        status = update(&f, &out, err);
        fg_array_release(out);
    }
    if (status == FG_OK)
        status = fg_run_f32(f.trace, fg_sum(fg_variable_value(f.trace, f.v), 0, NULL), &loss, err);
    if (status == FG_OK)
        status = fg_variable_read(f.v, got, sizeof got, err);
    if (status == FG_OK) {
        const fg_tensor x = fgi_trace_feed(f.trace, 0, &vec3);
        fg_assign(f.v, fg_add(fg_variable_value(f.trace, f.v), x));
        status = fgi_step_program_create(f.trace, &x, 1, &step, err);
    }
    fgi_step_program_destroy(step);
    end(&f);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fake.reset();
    fgt_fault_loop(iterate, NULL);
    assert_int_equal(fake.get("buffers"), 0);
    assert_int_equal(fake.get("programs"), 0);
}

/* Everything that was made with a client may go after it, and the plugin's client goes last. */
static void clients_close_before_what_was_made_with_them(void **state)
{
    fixture *f = *state;
    fg_error err = {0};
    float value[3];
    fg_array *sum = NULL, *array = NULL;
    fg_module *root;
    fgt_ok(fg_array_create(f->client, &vec3, numbers, &array, &err));
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    fg_variable *w = fg_module_variable(root, "w", &vec3, NULL);
    fg_assign(f->v, fg_variable_value(f->trace, w));
    fgt_ok(update(f, &sum, &err)); /* v's old memory is donated */
    const long clients = fake.get("clients");
    fg_client_close(f->client);
    f->client = NULL;
    assert_int_equal(fake.get("clients"), clients);
    fgt_ok(fg_array_read(array, value, sizeof value, &err));
    assert_memory_equal(value, numbers, sizeof value);
    fg_array_release(sum);
    fg_module_destroy(root);
    fg_array_release(array);
    fg_variable_destroy(f->v);
    f->v = NULL;
    assert_int_equal(fake.get("clients"), clients); /* the trace has one more */
    fg_trace_destroy(f->trace);
    f->trace = NULL;
    assert_int_equal(fake.get("clients"), clients - 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(clients_close_before_what_was_made_with_them, before_each,
                                    after_each),
    cmocka_unit_test_setup_teardown(failed_run_loses_what_it_updates, before_each, after_each),
    cmocka_unit_test_setup_teardown(failing_before_the_launch_loses_nothing, before_each,
                                    after_each),
    cmocka_unit_test_setup_teardown(an_operation_that_is_not_supported_is_named, before_each,
                                    after_each),
    cmocka_unit_test_setup_teardown(operations_are_found_by_their_location, before_each,
                                    after_each),
    cmocka_unit_test_setup_teardown(a_cpu_compiles_without_xnnpack, before_each, after_each),
    cmocka_unit_test_setup_teardown(flags_that_a_plugin_does_not_know_are_left_out, before_each,
                                    after_each),
    cmocka_unit_test_setup_teardown(run_without_updates_loses_nothing, before_each, after_each),
    cmocka_unit_test_setup_teardown(late_failures_come_out_when_read, before_each, after_each),
    cmocka_unit_test_setup_teardown(changing_numbers_compile_and_are_reported_once, before_each,
                                    after_each),
    cmocka_unit_test_setup_teardown(changes_are_counted, before_each, after_each),
    cmocka_unit_test_setup_teardown(programs_that_take_turns_are_compared, before_each, after_each),
    cmocka_unit_test_setup_teardown(random_numbers_need_one_program, before_each, after_each),
    cmocka_unit_test_setup_teardown(variables_move_to_the_client_that_uses_them, before_each,
                                    after_each),
    cmocka_unit_test_setup_teardown(programs_differ_in_what_they_assign, before_each, after_each),
    cmocka_unit_test_setup_teardown(the_cause_of_a_compilation_is_recorded, before_each,
                                    after_each),
    cmocka_unit_test_setup_teardown(programs_in_use_are_kept, before_each, after_each),
    cmocka_unit_test_setup_teardown(other_programs_are_not_reported, before_each, after_each),
    cmocka_unit_test(every_allocation_may_fail),
};

int main(void)
{
    if (!fake_open(&fake))
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
