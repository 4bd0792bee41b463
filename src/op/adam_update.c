/* adam_update.c - Adam's update of one parameter. Source: Kingma and Ba 2015, "Adam: a method for
 * stochastic optimization", with the bias corrections as factors.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "op/composite.h"
#include "trace/lowering.h"

void fgi_adam_moments(const fgi_adam_operands *on, fg_tensor g, fg_tensor *out_m, fg_tensor *out_s)
{
    *out_m = fg_add(on->m, fg_mul(fg_sub(g, on->m), on->rest));
    *out_s = fg_add(fg_mul(on->s, on->beta2), fg_mul(fg_square(g), on->rest2));
}

fg_tensor fgi_adam_size(const fgi_adam_operands *on, fg_tensor s)
{
    return fg_add(fg_mul(fg_sqrt(s), on->widen), on->eps);
}

static fgi_adam_results update(const fgi_adam_operands *on)
{
    const fg_tensor p = on->keep.handle != 0 ? fg_mul(on->p, on->keep) : on->p;
    const fg_tensor g = on->penalty.handle != 0 ? fg_add(on->g, fg_mul(on->p, on->penalty)) : on->g;
    fg_tensor m, s;
    fgi_adam_moments(on, g, &m, &s);
    const fg_tensor step = fg_mul(fg_div(m, fgi_adam_size(on, s)), on->rate);
    return (fgi_adam_results){fg_sub(p, step), m, s};
}

static void in_operations(const fg_tensor *in, int count, fg_tensor *out)
{
    for (int i = 0; i < count / FGI_ADAM_IN; i++)
        ((fgi_adam_results *)out)[i] = update((const fgi_adam_operands *)in + i);
}

const fgi_op fgi_adam_op = {.name = "adam", .compose = in_operations};

void fgi_adam_update(const fgi_adam_operands *list, int count, fgi_adam_results *out)
{
    fgi_compose(&fgi_adam_op, &list->p, count * FGI_ADAM_IN, &out->p);
}
