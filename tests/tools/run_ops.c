/* run_ops.c - runs programs of operations that it reads as text, for fuzz_ops.py: one line for each
 * input or operation. Values are numbered from 0, in order.
 *
 *   in DTYPE DIMS BYTES      an input: dimensions "2,3", or "-"; row-major elements as hexadecimal
 *   op NAME VALUES NUMBERS   an operation on values "0,2" with numbers "1,1", or "-"
 *   end WEIGHTS              a program: its result is the last value; the gradient is that of the
 *                            sum of the result times the value WEIGHTS
 *   run                      compiles the programs since the last "run" as one, runs it, and prints
 *                            for each result, followed by the gradients by the program's floating
 *                            inputs except WEIGHTS: "out DTYPE BYTES"
 *
 * usage: run_ops DEVICES [NAME], where NAME is an operation whose results are changed by 3 %.
 * Inputs whose first dimension is divisible by the number of devices are sharded along it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* getline */
#include <fulgurite/fulgurite.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 64, MOST_NUMBERS = 32, MOST_OUTPUTS = 2048, MOST_ARRAYS = 4096 };

typedef struct call {
    int count, number_count;
    fg_tensor in[MOST_NUMBERS];
    int64_t number[MOST_NUMBERS];
    int axis[MOST_NUMBERS];
} call;

static fg_tensor conv_transpose(const call *o,
                                fg_tensor (*of_rank)(fg_tensor, fg_tensor,
                                                     const fg_conv_transpose_options *))
{
    const int64_t *n = o->number;
    return of_rank(
        o->in[0], o->in[1],
        &(fg_conv_transpose_options){
            .stride = n[0], .pad = n[1], .dilation = n[2], .groups = n[3], .output_pad = n[4]});
}

#define CONV                                                                                       \
    {                                                                                              \
        .stride = n[0], .pad = n[1], .dilation = n[2], .groups = n[3]                              \
    }
#define POOL                                                                                       \
    {                                                                                              \
        .size = n[0], .stride = n[1], .pad = n[2]                                                  \
    }
/* clang-format off */
#define EACH_OPERATION(OP) \
    OP(neg, fg_neg(a)) OP(exp, fg_exp(a)) OP(log, fg_log(a)) OP(tanh, fg_tanh(a)) \
    OP(sigmoid, fg_sigmoid(a)) OP(relu, fg_relu(a)) OP(abs, fg_abs(a)) \
    OP(square, fg_square(a)) OP(sqrt, fg_sqrt(a)) OP(rsqrt, fg_rsqrt(a)) OP(sin, fg_sin(a)) \
    OP(cos, fg_cos(a)) OP(erf, fg_erf(a)) OP(gelu, fg_gelu(a)) OP(gelu_tanh, fg_gelu_tanh(a)) \
    OP(silu, fg_silu(a)) OP(softplus, fg_softplus(a)) OP(mish, fg_mish(a)) \
    OP(hardswish, fg_hardswish(a)) OP(elu, fg_elu(a, 1)) OP(expm1, fg_expm1(a)) \
    OP(add, fg_add(a, b)) OP(sub, fg_sub(a, b)) OP(mul, fg_mul(a, b)) OP(div, fg_div(a, b)) \
    OP(maximum, fg_maximum(a, b)) OP(minimum, fg_minimum(a, b)) \
    OP(where, fg_where(fg_gt(a, b), a, c)) OP(matmul, fg_matmul(a, b)) \
    OP(sum, fg_sum(a, o->number_count, o->axis)) \
    OP(mean, fg_mean(a, o->number_count, o->axis)) \
    OP(max, fg_max(a, o->number_count, o->axis)) OP(softmax, fg_softmax(a)) \
    OP(log_softmax, fg_log_softmax(a)) OP(logsumexp, fg_logsumexp(a)) \
    OP(reshape, fg_reshape(a, o->number_count, n)) OP(permute, fg_permute(a, o->axis)) \
    OP(broadcast_to, fg_broadcast_to(a, o->number_count, n)) \
    OP(reverse, fg_reverse(a, o->number_count, o->axis)) \
    OP(slice, fg_slice(a, n, n + third, n + 2 * third)) \
    OP(pad, fg_pad(a, 0.5, n, n + third, n + 2 * third)) \
    OP(concat, fg_concat(o->in, o->count, o->axis[0])) \
    OP(gather, fg_gather(a, b, o->axis[0], o->axis[1])) \
    OP(scatter_add, fg_scatter_add(a, b, c, o->axis[0], o->axis[1])) \
    OP(dynamic_slice, fg_dynamic_slice(a, b, n)) \
    OP(dynamic_update_slice, fg_dynamic_update_slice(a, b, c)) \
    OP(conv1d, fg_conv1d(a, b, &(fg_conv2d_options)CONV)) \
    OP(conv2d, fg_conv2d(a, b, &(fg_conv2d_options)CONV)) \
    OP(conv3d, fg_conv3d(a, b, &(fg_conv2d_options)CONV)) \
    OP(conv_transpose1d, conv_transpose(o, (fg_conv_transpose1d))) \
    OP(conv_transpose2d, conv_transpose(o, (fg_conv_transpose2d))) \
    OP(conv_transpose3d, conv_transpose(o, (fg_conv_transpose3d))) \
    OP(max_pool, fg_max_pool(a, &(fg_pool_options)POOL)) \
    OP(avg_pool, fg_avg_pool(a, &(fg_pool_options)POOL)) \
    OP(adaptive_avg_pool, fg_adaptive_avg_pool(a, n)) \
    OP(adaptive_max_pool, fg_adaptive_max_pool(a, n)) \
    OP(resize, fg_resize(a, n + 1, (fg_resize_mode)n[0]))
/* clang-format on */

#define FUNCTION(name, expression)                                                                 \
    static fg_tensor run_##name(const call *o)                                                     \
    {                                                                                              \
        const fg_tensor a = o->in[0], b = o->in[1], c = o->in[2];                                  \
        const int64_t *n = o->number, third = o->number_count / 3;                                 \
        (void)a, (void)b, (void)c, (void)n, (void)third;                                           \
        return expression;                                                                         \
    }
EACH_OPERATION(FUNCTION)

static const struct {
    const char *name;
    fg_tensor (*run)(const call *o);
} operations[] = {
#define OPERATION(name, expression) {#name, run_##name},
    EACH_OPERATION(OPERATION)};

static struct {
    fg_client *client;
    fg_trace *trace;
    int devices;
    const char *falsified;
    fg_tensor value[MOST_VALUES], open[MOST_VALUES], out[MOST_OUTPUTS];
    int open_at[MOST_VALUES], value_count, open_count, out_count;
    fg_array *array[MOST_ARRAYS];
    int array_count;
} state;

static void fail(const fg_error *err, const char *line)
{
    (void)fprintf(stderr, "run_ops: %s\nin: %.200s\n", err->message, line);
    exit(1);
}

static int numbers(const char *text, int64_t *out)
{
    int count = 0;
    char *end = NULL;
    if (text[0] == '-' && text[1] == '\0')
        return 0;
    for (const char *at = text; at == text || *end == ','; at = end + 1)
        out[count++] = strtoll(at, &end, 10);
    return count;
}

static fg_dtype dtype_of(const char *name)
{
    int dtype = FG_DTYPE_NONE + 1;
    while (fg_dtype_size((fg_dtype)dtype) != 0 && strcmp(fg_dtype_name((fg_dtype)dtype), name) != 0)
        dtype++;
    return (fg_dtype)dtype;
}

static fg_status add_input(const char *dtype, const char *dims, const char *bytes, fg_error *err)
{
    fg_type type = {.dtype = dtype_of(dtype)};
    type.rank = numbers(dims, type.dim);
    const size_t size = fg_type_bytes(&type);
    unsigned char *data = malloc(size + 1);
    const bool is_sharded =
        state.devices > 1 && type.rank > 0 && type.dim[0] > 0 && type.dim[0] % state.devices == 0;
    const fg_array_options options = {.spec = is_sharded ? "data" : ""};
    for (size_t i = 0; data != NULL && i < size; i++) {
        const char pair[3] = {bytes[2 * i], bytes[2 * i + 1], '\0'};
        data[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    fg_array **array = &state.array[state.array_count++];
    const fg_status status =
        fg_array_create_sharded(state.client, &type, data, &options, array, err);
    free(data);
    if (status != FG_OK)
        return status;
    const fg_tensor value = fg_input(state.trace, *array);
    if (fg_dtype_is_float(type.dtype)) {
        state.open_at[state.open_count] = state.value_count;
        state.open[state.open_count++] = value;
    }
    state.value[state.value_count++] = value;
    return FG_OK;
}

static fg_status add_operation(const char *name, const char *values, const char *attributes,
                               fg_error *err)
{
    call o = {0};
    int64_t at[MOST_NUMBERS] = {0};
    o.count = numbers(values, at);
    o.number_count = numbers(attributes, o.number);
    for (int i = 0; i < MOST_NUMBERS; i++) {
        o.in[i] = state.value[i < o.count ? at[i] : at[0]];
        o.axis[i] = (int)o.number[i];
    }
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        if (strcmp(operations[i].name, name) == 0) {
            fg_tensor y = operations[i].run(&o);
            if (state.falsified != NULL && strcmp(name, state.falsified) == 0)
                y = fg_mul_scalar(y, 1.03);
            state.value[state.value_count++] = y;
            return fg_trace_error(state.trace, err);
        }
    (void)snprintf(err->message, sizeof err->message, "no operation '%s'", name);
    return FG_ENOTFOUND;
}

static fg_status end_program(int weights, fg_error *err)
{
    int count = 0;
    const fg_tensor y = state.value[state.value_count - 1], w = state.value[weights];
    for (int i = 0; i < state.open_count; i++)
        if (state.open_at[i] != weights)
            state.open[count++] = state.open[i];
    state.out[state.out_count++] = y;
    fg_grad(fg_sum(fg_mul(fg_cast(y, fg_tensor_type(w)->dtype), w), 0, NULL), state.open,
            (size_t)count, &state.out[state.out_count]);
    state.out_count += count;
    state.value_count = state.open_count = 0;
    return fg_trace_error(state.trace, err);
}

static void print_array(const fg_array *array, const char *line)
{
    fg_error err = {0};
    const fg_type *type = fg_array_type(array);
    const size_t size = fg_type_bytes(type);
    unsigned char *data = malloc(size + 1);
    if (data == NULL || fg_array_read(array, data, size, &err) != FG_OK)
        fail(&err, line);
    (void)printf("out %s ", fg_dtype_name(type->dtype));
    for (size_t i = 0; data != NULL && i < size; i++)
        (void)printf("%02x", data[i]);
    (void)putchar('\n');
    free(data);
}

static fg_status run(const char *line, fg_error *err)
{
    static fg_array *result[MOST_OUTPUTS];
    const fg_status status = fg_run(state.trace, state.out, (size_t)state.out_count, result, err);
    if (status != FG_OK)
        return status;
    for (int i = 0; i < state.out_count; i++) {
        print_array(result[i], line);
        fg_array_release(result[i]);
    }
    for (int i = 0; i < state.array_count; i++)
        fg_array_release(state.array[i]);
    (void)fflush(stdout);
    state.out_count = state.array_count = 0;
    return FG_OK;
}

static fg_status read_line(char *line, fg_error *err)
{
    const char *word[4] = {"", "", "", ""};
    char *rest = NULL, *text = line;
    for (int i = 0; i < 4; i++, text = NULL) {
        const char *next = strtok_r(text, " \n", &rest);
        word[i] = next != NULL ? next : "";
    }
    if (strcmp(word[0], "in") == 0)
        return add_input(word[1], word[2], word[3], err);
    if (strcmp(word[0], "op") == 0)
        return add_operation(word[1], word[2], word[3], err);
    if (strcmp(word[0], "end") == 0)
        return end_program((int)strtol(word[1], NULL, 10), err);
    return run(line, err);
}

int main(int argc, char **argv)
{
    fg_error err = {0};
    char *line = NULL;
    size_t room = 0;
    state.devices = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1;
    state.falsified = argc > 2 ? argv[2] : NULL;
    char devices[16];
    (void)snprintf(devices, sizeof devices, "%d", state.devices);
    const fg_client_options options = {.accelerator = "cpu", .devices = devices, .cache_dir = ""};
    if (fg_client_open(&options, &state.client, &err) != FG_OK ||
        fg_trace_create(state.client, &state.trace, &err) != FG_OK)
        fail(&err, "-");
    while (getline(&line, &room, stdin) > 0)
        if (read_line(line, &err) != FG_OK)
            fail(&err, line);
    free(line);
    fg_trace_destroy(state.trace);
    fg_client_close(state.client);
    return 0;
}
