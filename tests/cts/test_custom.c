/* test_custom.c - operations of the user: own gradients, custom calls, rematerialization; loops on
 * a device beyond what the battery checks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/fulgurite.h>
#include <math.h>
#include <stdlib.h>

#include "kernel/kernel.h"
#include "trace/program.h"
#include "trace_values.h"

static const fg_type three = {.dtype = FG_F32, .rank = 1, .dim = {3}};

/* ---- own gradients --------------------------------------------------------------------------- */

/* x |x| and |x|, with a saved sign; the gradient is twice what it is, so that it shows. */
typedef struct signed_options {
    double factor;
} signed_options;

static void signed_forward(const void *options, const fg_tensor *in, int in_count, fg_tensor *out)
{
    (void)options, (void)in_count;
    out[1] = fg_abs(in[0]);
    out[0] = fg_mul(in[0], out[1]);
    out[2] = fg_div(in[0], out[1]);
}

static void signed_backward(const fg_backward *g)
{
    const signed_options *o = g->options;
    const fg_tensor by_square = fg_mul(g->dout[0], fg_mul_scalar(g->out[1], 2));
    g->din[0] = fg_mul_scalar(fg_add(by_square, fg_mul(g->dout[1], g->out[2])), o->factor);
}

static const fg_operation signed_square = {.name = "signed_square",
                                           .output_count = 2,
                                           .saved_count = 1,
                                           .options_size = sizeof(signed_options),
                                           .forward = signed_forward,
                                           .backward = signed_backward};

static void run_all(fg_trace *trace, const fg_tensor *outputs, size_t count, float got[][3])
{
    fg_error err = {0};
    fg_array *array[8] = {NULL};
    fgt_ok(fg_run(trace, outputs, count, array, &err));
    for (size_t i = 0; i < count; i++) {
        fgt_ok(fg_array_read(array[i], got[i], fg_type_bytes(fg_array_type(array[i])), &err));
        fg_array_release(array[i]);
    }
}

static void the_users_gradient_is_used(void **client)
{
    const float values[3] = {-2, 0.5F, 3};
    fg_trace *trace = values_trace(*client);
    fg_array *array = values_array(*client, &three, values);
    const fg_tensor x = fg_input(trace, array);
    fg_tensor out[2], d[2], second, all[4];
    float got[4][3];
    fg_apply(&signed_square, &x, 1, &(signed_options){2}, out);
    fg_grad(fg_sum(fg_add(out[0], fg_mul_scalar(out[1], 10)), 0, NULL), &x, 1, &d[0]);
    fg_grad(fg_sum(d[0], 0, NULL), &x, 1, &second);
    fg_apply(&signed_square, &x, 1, &(signed_options){1}, out);
    fg_grad(fg_sum(out[1], 0, NULL), &x, 1, &d[1]);
    all[0] = out[0], all[1] = d[0], all[2] = d[1], all[3] = second;
    run_all(trace, all, 4, got);
    for (int i = 0; i < 3; i++) {
        const float sign = values[i] < 0 ? -1.0F : 1.0F;
        assert_float_equal(got[0][i], values[i] * fabsf(values[i]), 1e-6);
        assert_float_equal(got[1][i], 2 * (2 * fabsf(values[i]) + 10 * sign), 1e-5);
        assert_float_equal(got[2][i], sign, 1e-6);
        assert_float_equal(got[3][i], 4 * sign, 1e-5); /* of the gradient as written */
    }
    fg_array_release(array);
    fg_trace_destroy(trace);
}

static void narrow_backward(const fg_backward *g) { g->din[0] = fg_sum(g->dout[0], 0, NULL); }

static void plain_forward(const void *options, const fg_tensor *in, int in_count, fg_tensor *out)
{
    (void)options, (void)in_count;
    out[0] = fg_tanh(in[0]);
}

static void derivatives_have_the_inputs_types(void **client)
{
    static const fg_operation narrow = {
        .name = "narrow", .output_count = 1, .forward = plain_forward, .backward = narrow_backward};
    static const fg_operation none = {.name = "none", .output_count = 1, .forward = plain_forward};
    static const fg_operation empty = {.name = "empty", .forward = plain_forward};
    fg_error err = {0};
    fg_trace *trace = values_trace(*client);
    const fg_tensor x = fgi_trace_feed(trace, 0, &three);
    fg_tensor y, d;
    fg_apply(&none, &x, 1, NULL, &y);
    fg_grad(fg_sum(y, 0, NULL), &x, 1, &d);
    fgt_ok(fg_trace_error(trace, &err));
    fg_apply(&narrow, &x, 1, NULL, &y);
    fg_grad(fg_sum(y, 0, NULL), &x, 1, &d);
    assert_int_equal(fg_trace_error(trace, &err), FG_ESHAPE);
    assert_string_equal(err.message,
                        "narrow: backward computes f32[] for input 0: expected f32[3]");
    fg_trace_reset(trace);
    const fg_tensor again = fgi_trace_feed(trace, 0, &three);
    fg_apply(&empty, &again, 1, NULL, &y);
    assert_int_equal(fg_trace_error(trace, &err), FG_EINVAL);
    fg_trace_destroy(trace);
}

/* ---- custom calls ---------------------------------------------------------------------------- */

static void *halve(fgi_ffi_call *call)
{
    if (fgi_ffi_is_question(call))
        return NULL;
    const fgi_ffi_buffer *in = call->in.buffer[0], *out = call->out.buffer[0];
    for (int64_t i = 0; i < in->dim[0]; i++)
        ((float *)out->data)[i] = ((const float *)in->data)[i] / 2;
    return NULL;
}

static void add_handler(fg_client *client, const char *name, void *(*function)(fgi_ffi_call *))
{
    fg_error err = {0};
    void *handler = NULL;
    memcpy(&handler, &function, sizeof handler);
    fgt_ok(fg_client_add_handler(client, name, handler, &err));
}

static void code_of_the_user_runs(void **client)
{
    const float values[3] = {-2, 0.5F, 3};
    fg_error err = {0};
    add_handler(*client, "fgt_halve", halve);
    fg_trace *trace = values_trace(*client);
    fg_array *array = values_array(*client, &three, values);
    const fg_tensor x = fg_input(trace, array);
    fg_tensor y;
    float got[1][3];
    fg_custom_call(&(fg_custom_call_options){.name = "fgt_halve", .types = &three, .count = 1}, &x,
                   1, &y);
    run_all(trace, &y, 1, got);
    for (int i = 0; i < 3; i++)
        assert_float_equal(got[0][i], values[i] / 2, 0);
    const fg_tensor again = fg_input(trace, array);
    fg_custom_call(&(fg_custom_call_options){.name = "fgt_unknown", .types = &three, .count = 1},
                   &again, 1, &y);
    fg_array *none = NULL;
    assert_int_not_equal(fg_run(trace, &y, 1, &none, &err), FG_OK);
    assert_non_null(strstr(err.message, "fgt_unknown"));
    const fg_tensor last = fg_input(trace, array);
    fg_custom_call(&(fg_custom_call_options){.name = "a\"b", .types = &three, .count = 1}, &last, 1,
                   &y);
    assert_int_equal(fg_trace_error(trace, &err), FG_EINVAL);
    fg_array_release(array);
    fg_trace_destroy(trace);
}

/* Two results in the memory of the operands. */
static void *double_and_negate(fgi_ffi_call *call)
{
    if (fgi_ffi_is_question(call))
        return NULL;
    for (int r = 0; r < 2; r++) {
        const fgi_ffi_buffer *in = call->in.buffer[r], *out = call->out.buffer[r];
        const float *from = in->data;
        float *to = out->data;
        for (int64_t i = 0; i < out->dim[0]; i++)
            to[i] = r == 0 ? 2 * from[i] : -from[i];
    }
    return NULL;
}

static void results_replace_operands(void **client)
{
    const float values[3] = {-2, 0.5F, 3};
    const fg_type types[2] = {three, three};
    fg_custom_call_options options = {
        .name = "fgt_double_and_negate", .types = types, .count = 2, .in_place = 2};
    fg_error err = {0};
    add_handler(*client, options.name, double_and_negate);
    fg_trace *trace = values_trace(*client);
    fg_array *array = values_array(*client, &three, values);
    const fg_tensor x = fg_input(trace, array);
    const fg_tensor in[2] = {fg_add_scalar(x, 1), x}; /* x is the user's, and stays as it is */
    fg_tensor all[3] = {{0}, {0}, x};
    float got[3][3];
    fg_custom_call(&options, in, 2, all);
    run_all(trace, all, 3, got);
    for (int i = 0; i < 3; i++) {
        assert_float_equal(got[0][i], 2 * (values[i] + 1), 0);
        assert_float_equal(got[1][i], -values[i], 0);
        assert_float_equal(got[2][i], values[i], 0);
    }
    options.in_place = 3;
    const fg_tensor again[2] = {fg_input(trace, array), fg_input(trace, array)};
    fg_custom_call(&options, again, 2, all);
    assert_int_equal(fg_trace_error(trace, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "in_place is 3, but only the first 2 results"));
    fg_array_release(array);
    fg_trace_destroy(trace);
}

/* ---- errors of custom calls ------------------------------------------------------------------ */

/* Its error says whether it has got the user's attribute. */
static void *refuse(fgi_ffi_call *call)
{
    char message[32];
    if (fgi_ffi_is_question(call))
        return NULL;
    const fgi_ffi_scalar *factor = call->attributes.value[0];
    fgi_ffi_error args = {.struct_size = sizeof args, .message = message, .code = 9};
    snprintf(message, sizeof message, "not %d times %g", (int)call->attributes.count,
             call->attributes.count == 1 ? (double)*(const float *)factor->value : 0);
    return call->api->error_create(&args);
}

/* The error of the second call, in this line. */
static void check_refusal(fg_client *client, int line)
{
    const fg_custom_call_options bad = {
        .name = "fgt_refuse", .config = "factor = 0.5 : f32", .types = &three, .count = 1};
    const fg_custom_call_options good = {.name = "fgt_halve", .types = &three, .count = 1};
    fg_error err = {0};
    fg_array *out = NULL;
    fg_trace *trace = values_trace(client);
    const fg_tensor x = fg_full(trace, FG_F32, 1, FG_DIMS(3));
    fg_tensor a, b, y;
    fg_custom_call(&good, &x, 1, &a);
    fg_scope_push(trace, "stem");
    fg_here("model.c", line);
    (fg_custom_call)(&bad, &a, 1, &b);
    fg_scope_pop(trace);
    fg_custom_call(&good, &b, 1, &y);
    if (fg_run(trace, &y, 1, &out, &err) == FG_OK) /* it may only have begun */
        assert_int_not_equal(fg_array_wait(out, &err), FG_OK);
    assert_string_equal(err.file != NULL ? err.file : "", "model.c");
    assert_int_equal(err.line, line);
    assert_non_null(strstr(err.message, "stem/custom_call(f32[3]): "));
    assert_non_null(strstr(err.message, ": not 1 times 0.5"));
    assert_null(strstr(err.message, "[call"));
    fg_array_release(out);
    fg_trace_destroy(trace);
}

/* The same program with another line is loaded from the cache, as it is in another process. */
static void errors_of_calls_are_those_of_the_users_line(void **state)
{
    (void)state;
    const fg_client_options options = {
        .accelerator = "cpu", .cpu_devices = 2, .cache_dir = fgt_temp_folder()};
    for (int i = 0; i < 2; i++) {
        fg_error err = {0};
        fg_client *client = NULL;
        fgt_ok(fg_client_open(&options, &client, &err));
        add_handler(client, "fgt_halve", halve);
        add_handler(client, "fgt_refuse", refuse);
        check_refusal(client, 31 + i);
        assert_int_equal(fg_client_stats_of(client).compile_cache_hits, i);
        fg_client_close(client);
    }
}

/* A model of one layer whose step calls it. */
typedef struct refused {
    fg_linear *fc;
    int line;
} refused;

static void refused_build(void *self, fg_module *root)
{
    ((refused *)self)->fc = fg_linear_create(root, "fc", &(fg_linear_options){.in = 3, .out = 3});
}

static fg_tensor refused_step(void *self, fg_step *step, const fg_batch *batch)
{
    const fg_custom_call_options bad = {
        .name = "fgt_refuse", .config = "factor = 0.5 : f32", .types = &three, .count = 1};
    refused *r = self;
    const fg_tensor y = fg_linear_apply(r->fc, fg_batch_field(batch, "x"));
    fg_tensor mean = fg_mean(fg_square(y), 1, (const int[]){0}), out;
    r->line = __LINE__ + 1;
    fg_custom_call(&bad, &mean, 1, &out);
    fg_step_log(step, "refused", fg_mean(out, 0, NULL));
    return fg_mean(mean, 0, NULL);
}

static fg_optimizer *refused_optimizer(void *self, fg_module *root)
{
    (void)self;
    return fg_sgd_create(root, NULL);
}

static void errors_of_steps_keep_the_line(void **client)
{
    static const fg_task_ops ops = {
        .build = refused_build, .train_step = refused_step, .optimizer = refused_optimizer};
    static const float x[8 * 3];
    const fg_field field = {"x", three};
    const fg_dataset_spec spec = {.count = 8, .fields = &field, .field_count = 1};
    fg_error err = {0};
    refused self = {0};
    fg_dataset *data = NULL;
    fg_trainer *trainer = NULL;
    add_handler(*client, "fgt_refuse", refuse);
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *const[]){x}, FG_BORROW, &data, &err));
    fgt_ok(fg_trainer_create(
        &(fg_trainer_options){.devices.client = *client, .limits.max_steps = 2}, &trainer, &err));
    const fg_task task = {.name = "refused", .self = &self, .ops = &ops};
    assert_int_not_equal(
        fg_trainer_fit(trainer, &task, &(fg_fit_data){.train = data, .batch_size = 4}, &err),
        FG_OK);
    if (strstr(err.message, "training step 1: custom_call(f32[3]): ") == NULL)
        fail_msg("%s", err.message);
    assert_non_null(err.file);
    assert_int_equal(err.line, self.line);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
}

/* ---- rematerialization ----------------------------------------------------------------------- */

enum { LAYERS = 8, ROWS = 256, WIDTH = 64 };
static const fg_type rows_type = {.dtype = FG_F32, .rank = 2, .dim = {ROWS, WIDTH}};
static const fg_type weight_type = {.dtype = FG_F32, .rank = 2, .dim = {WIDTH, WIDTH}};

static fg_tensor layer(fg_tensor x, fg_tensor w)
{
    const fg_tensor h = fg_tanh(fg_matmul(x, w));
    return fg_add(x, fg_mul(fg_sin(h), fg_dropout(fg_cos(fg_matmul(h, w)), 0.1)));
}

/* The gradient of LAYERS layers; each of them, and pairs, are parts that are computed again. */
static fg_tensor deep(fg_trace *trace, bool recomputes)
{
    fg_tensor x = fgi_trace_feed(trace, 0, &rows_type), d;
    const fg_tensor w = fgi_trace_feed(trace, 1, &weight_type);
    fg_trace_set_training(trace, true);
    for (int i = 0; i < LAYERS; i++) {
        if (recomputes && i % 2 == 0)
            fg_remat_begin(trace);
        if (recomputes)
            fg_remat_begin(trace);
        x = layer(x, w);
        if (recomputes)
            fg_remat_end(trace, &x, 1);
        if (recomputes && i % 2 == 1)
            fg_remat_end(trace, &x, 1);
    }
    fg_grad(fg_mean(fg_square(x), 0, NULL), &w, 1, &d);
    return d;
}

static float *gradient_of(fg_client *client, bool recomputes, int64_t *out_temporary)
{
    fg_error err = {0};
    fg_trace *trace = values_trace(client);
    static float rows[ROWS * WIDTH], weight[WIDTH * WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++)
        rows[i] = (float)sin(0.7 * i);
    for (int i = 0; i < WIDTH * WIDTH; i++)
        weight[i] = (float)(0.1 * cos(1.3 * i));
    const fg_tensor d = deep(trace, recomputes);
    fgi_step_program *program;
    fgt_ok(fgi_step_program_create(trace, &d, 1, &program, &err));
    *out_temporary = fgi_executable_cost(fgi_step_program_executable(program)).temp_bytes;
    float *got = malloc(sizeof weight);
    fg_array *feeds[2] = {values_array(client, &rows_type, rows),
                          values_array(client, &weight_type, weight)};
    fg_array *out = NULL;
    fgt_ok(fgi_step_program_launch(program, feeds, 2, &out, NULL, &err));
    fgt_ok(fg_array_read(out, got, sizeof weight, &err));
    fg_array_release(out);
    fg_array_release(feeds[0]);
    fg_array_release(feeds[1]);
    fgi_step_program_destroy(program);
    fg_trace_destroy(trace);
    return got;
}

static void the_same_numbers_with_less_memory(void **client)
{
    int64_t kept = 0, recomputed = 0;
    float *a = gradient_of(*client, false, &kept), *b = gradient_of(*client, true, &recomputed);
    for (int i = 0; i < WIDTH * WIDTH; i++)
        assert_float_equal(b[i], a[i], 1e-5 * (1 + fabsf(a[i])));
    print_message("temporary memory: %lld bytes, with rematerialization %lld\n", (long long)kept,
                  (long long)recomputed);
    assert_true(recomputed < kept * 6 / 10);
    free(a);
    free(b);
}

/* A client that compiles for a machine that is not present. Not with sanitizers: the compilers,
 * which are not instrumented, take most of the time. */
static fg_client *client_for(const char *accelerator, const char *topology)
{
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    fg_error err = {0};
    fg_client *client = NULL;
    const fg_status status = fg_client_open(&(fg_client_options){.accelerator = accelerator,
                                                                 .topology = topology,
                                                                 .cache_dir = fgt_cache("")},
                                            &client, &err);
    if (status == FG_ENOTFOUND) {
        print_message("no plugin for %s\n", accelerator);
        skip();
    }
    if (status != FG_OK)
        fail_msg("%s", err.message);
    return client;
}

static int64_t temporary_bytes(fg_trace *trace, const fg_tensor *out, size_t count)
{
    fg_error err = {0};
    fgi_step_program *program;
    fgt_ok(fgi_step_program_create(trace, out, count, &program, &err));
    const int64_t bytes = fgi_executable_cost(fgi_step_program_executable(program)).temp_bytes;
    fgi_step_program_destroy(program);
    fg_trace_destroy(trace);
    return bytes;
}

/* The temporary memory of the same programs. */
static void less_memory_on(const char *accelerator, const char *topology)
{
    fg_client *client = client_for(accelerator, topology);
    int64_t bytes[2];
    for (int i = 0; i < 2; i++) {
        fg_trace *trace = values_trace(client);
        const fg_tensor d = deep(trace, i == 1);
        bytes[i] = temporary_bytes(trace, &d, 1);
    }
    fg_client_close(client);
    print_message("temporary memory on %s: %lld bytes, with rematerialization %lld\n", topology,
                  (long long)bytes[0], (long long)bytes[1]);
    assert_true(bytes[1] < bytes[0]);
}

static void less_memory_on_a_tpu(void **client)
{
    (void)client;
    less_memory_on("tpu", "v5e-1");
}

static void less_memory_on_a_gpu(void **client)
{
    (void)client;
    less_memory_on("cuda", "h100");
}

/* With chunks of queries, attention and its gradient need less memory than the scores of one of the
 * two heads. */
static void scores_are_never_whole(fg_client *client)
{
    enum { LONG = 512, CHUNK = 32 };
    static const fg_type type = {.dtype = FG_F32, .rank = 4, .dim = {1, LONG, 2, 8}};
    fg_trace *trace = values_trace(client);
    fg_tensor in[3], d[3];
    for (int i = 0; i < 3; i++)
        in[i] = fgi_trace_feed(trace, i, &type);
    const fg_attention_options lean = {.causal = true, .query_chunk = CHUNK};
    fg_grad(fg_sum(fg_square(fg_attention(in[0], in[1], in[2], &lean)), 0, NULL), in, 3, d);
    const int64_t bytes = temporary_bytes(trace, d, 3);
    print_message("temporary memory of attention: %lld bytes\n", (long long)bytes);
    assert_in_range(bytes, 1, LONG * LONG * sizeof(float) - 1);
}

static void scores_in_chunks(void **client) { scores_are_never_whole(*client); }

static void scores_in_chunks_on_a_tpu(void **client)
{
    (void)client;
    fg_client *tpu = client_for("tpu", "v5e-1");
    scores_are_never_whole(tpu);
    fg_client_close(tpu);
}

/* ---- loops ----------------------------------------------------------------------------------- */

static void draw_body(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                      fg_tensor *y)
{
    (void)self, (void)x;
    y[0] = fg_random_uniform(fg_tensor_trace(carry[0]), FG_SCALAR);
    next[0] = carry[0];
}

static void each_iteration_draws_its_own_numbers(void **client)
{
    fg_trace *trace = values_trace(*client);
    const fg_tensor zero = fg_zeros(trace, FG_F32, FG_SCALAR);
    fg_tensor last, y;
    float got[1][3];
    fg_scan(&(fg_scan_options){.carry_count = 1, .y_count = 1, .length = 3, .body = draw_body},
            &zero, NULL, &last, &y);
    run_all(trace, &y, 1, got);
    assert_true(got[0][0] != got[0][1] && got[0][1] != got[0][2] && got[0][0] != got[0][2]);
    fg_trace_destroy(trace);
}

static void remat_body(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                       fg_tensor *y)
{
    const bool *recomputes = self;
    fg_trace *trace = fg_tensor_trace(carry[0]);
    if (*recomputes)
        fg_remat_begin(trace);
    next[0] = fg_mul(fg_tanh(fg_add(carry[0], x[0])), fg_sin(carry[0]));
    next[0] = fg_mul(next[0], fg_exp(next[0]));
    if (*recomputes)
        fg_remat_end(trace, next, 1);
    y[0] = next[0];
}

/* Parts in a loop, and a loop in a part, with second derivatives. */
static void loops_and_parts_nest(void **client)
{
    const float values[3] = {-0.2F, 0.5F, 1.3F};
    fg_trace *trace = values_trace(*client);
    fg_array *array = values_array(*client, &three, values);
    const fg_tensor x = fg_input(trace, array);
    fg_tensor all[6];
    float got[6][3];
    for (int i = 0; i < 3; i++) {
        bool recomputes = i == 1;
        const fg_tensor one = fg_ones(trace, FG_F32, FG_SCALAR);
        fg_tensor last, y;
        if (i == 2)
            fg_remat_begin(trace);
        fg_scan(&(fg_scan_options){.carry_count = 1,
                                   .x_count = 1,
                                   .y_count = 1,
                                   .body = remat_body,
                                   .self = &recomputes},
                &one, &x, &last, &y);
        y = fg_square(y);
        if (i == 2)
            fg_remat_end(trace, &y, 1);
        fg_grad(fg_sum(y, 0, NULL), &x, 1, &all[2 * i]);
        fg_grad(fg_sum(fg_square(all[2 * i]), 0, NULL), &x, 1, &all[2 * i + 1]);
    }
    run_all(trace, all, 6, got);
    for (int i = 2; i < 6; i++)
        values_assert(got[i], got[i % 2], 3);
    fg_array_release(array);
    fg_trace_destroy(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_users_gradient_is_used),
        cmocka_unit_test(derivatives_have_the_inputs_types),
        cmocka_unit_test(code_of_the_user_runs),
        cmocka_unit_test(results_replace_operands),
        cmocka_unit_test(errors_of_calls_are_those_of_the_users_line),
        cmocka_unit_test(errors_of_steps_keep_the_line),
        cmocka_unit_test(the_same_numbers_with_less_memory),
        cmocka_unit_test(less_memory_on_a_tpu),
        cmocka_unit_test(scores_in_chunks),
        cmocka_unit_test(scores_in_chunks_on_a_tpu),
        cmocka_unit_test(less_memory_on_a_gpu),
        cmocka_unit_test(each_iteration_draws_its_own_numbers),
        cmocka_unit_test(loops_and_parts_nest),
    };
    return cmocka_run_group_tests(tests, values_open_client, values_close_client);
}
