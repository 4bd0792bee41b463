/* optimizer_cpu.c - parts of an optimizer's step by kernels (src/kernel), where these are faster
 * than XLA's CPU backend, which computes a full sum on one thread, element by element, and updates
 * a parameter and its moments in three loops. The limits are those of bench/kernel_bench.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernel/kernel.h"
#include "op/composite.h"
#include "op/lowerings.h"
#include "trace/trace.h"

/* For the check of gradients, which waits for the last one. */
enum { MOST_ELEMENTS = 1 << 17 };

/* Of one device: operands would be gathered from several. */
static bool has_kernels(const fg_client *client)
{
    return fgi_client_has_kernels(client) && fg_client_info_of(client)->device_count == 1;
}

static const fg_type number = {.dtype = FG_F32};

/* Whether they are few f32 numbers, at most MOST_ELEMENTS. */
static bool are_small(const fg_tensor *in, int count)
{
    double elements = 0;
    for (int i = 0; i < count; i++) {
        if (fg_tensor_type(in[i])->dtype != FG_F32)
            return false;
        elements += (double)fg_type_count(fg_tensor_type(in[i]));
    }
    return elements <= MOST_ELEMENTS && has_kernels(fg_tensor_trace(in[0])->client);
}

static void call_nonfinite(const fg_tensor *in, int count, fg_tensor *out)
{
    fg_custom_call(
        &(fg_custom_call_options){.name = FGI_KERNEL_NONFINITE, .types = &number, .count = 1}, in,
        count, out);
}

const fgi_lowering fgi_nonfinite_small_cpu = {.op = &fgi_nonfinite_op,
                                              .platform = FGI_CPU,
                                              .rule = "nonfinite-kernel",
                                              .composes = are_small,
                                              .compose = call_nonfinite};

static fg_tensor number_or(fg_tensor given, fg_tensor like, double otherwise)
{
    return given.handle != 0 ? given : fgi_full_like(like, otherwise);
}

static fg_tensor numbers_of(const fgi_adam_operands *on)
{
    const fg_tensor numbers[] = {
        [FGI_KERNEL_ADAM_PENALTY] = number_or(on->penalty, on->rest, 0),
        [FGI_KERNEL_ADAM_KEEP] = number_or(on->keep, on->rest, 1),
        [FGI_KERNEL_ADAM_REST] = on->rest,
        [FGI_KERNEL_ADAM_BETA2] = on->beta2,
        [FGI_KERNEL_ADAM_REST2] = on->rest2,
        [FGI_KERNEL_ADAM_WIDEN] = on->widen,
        [FGI_KERNEL_ADAM_EPS] = on->eps,
        [FGI_KERNEL_ADAM_RATE] = on->rate,
        [FGI_KERNEL_ADAM_AFTER] = number_or(on->after, on->rest, 0),
    };
    return fg_stack(numbers, FGI_KERNEL_ADAM_NUMBERS, 0);
}

/* Parameters with the same numbers, which one call updates. */
typedef struct calls {
    const fgi_adam_operands *of[FGI_KERNEL_ADAM_MOST];
    fgi_adam_results *out[FGI_KERNEL_ADAM_MOST];
    int count;
    fg_tensor numbers;
} calls;

static void call(calls *c)
{
    fg_type types[3 * FGI_KERNEL_ADAM_MOST];
    fg_tensor in[4 * FGI_KERNEL_ADAM_MOST + 1], out[3 * FGI_KERNEL_ADAM_MOST];
    const int n = c->count;
    for (int i = 0; i < n; i++) {
        const fgi_adam_operands *on = c->of[i];
        in[3 * i] = on->p, in[3 * i + 1] = on->m, in[3 * i + 2] = on->s;
        in[3 * n + i] = on->g;
        types[3 * i] = types[3 * i + 1] = types[3 * i + 2] = *fg_tensor_type(on->p);
    }
    in[4 * n] = c->numbers;
    if (n > 0)
        fg_custom_call(
            &(fg_custom_call_options){
                .name = FGI_KERNEL_ADAM, .types = types, .count = 3 * n, .in_place = 3 * n},
            in, 4 * n + 1, out);
    for (int i = 0; i < n; i++)
        *c->out[i] = (fgi_adam_results){out[3 * i], out[3 * i + 1], out[3 * i + 2]};
    c->count = 0;
}

static bool is_f32(const fgi_adam_operands *on)
{
    return fg_tensor_type(on->p)->dtype == FG_F32 && fg_tensor_type(on->m)->dtype == FG_F32 &&
           fg_tensor_type(on->s)->dtype == FG_F32 && fg_tensor_type(on->g)->dtype == FG_F32;
}

static bool any_is_f32(const fg_tensor *in, int count)
{
    if (!has_kernels(fg_tensor_trace(*in)->client))
        return false;
    for (int i = 0; i < count; i += FGI_ADAM_IN)
        if (is_f32((const fgi_adam_operands *)(in + i)))
            return true;
    return false;
}

static void call_adam(const fg_tensor *in, int count, fg_tensor *out)
{
    calls c = {0};
    for (int i = 0; i < count / FGI_ADAM_IN; i++) {
        const fgi_adam_operands *on = (const fgi_adam_operands *)in + i;
        fgi_adam_results *result = (fgi_adam_results *)out + i;
        if (!is_f32(on)) {
            fgi_adam_op.compose(&on->p, FGI_ADAM_IN, &result->p);
            continue;
        }
        const fg_tensor numbers = numbers_of(on);
        if (c.count == FGI_KERNEL_ADAM_MOST ||
            (c.count > 0 && fgi_node_of(numbers)->first != fgi_node_of(c.numbers)->first))
            call(&c);
        c.of[c.count] = on;
        c.out[c.count++] = result;
        c.numbers = numbers;
    }
    call(&c);
}

const fgi_lowering fgi_adam_kernel_cpu = {.op = &fgi_adam_op,
                                          .platform = FGI_CPU,
                                          .rule = "adam-kernel",
                                          .composes = any_is_f32,
                                          .compose = call_adam};
