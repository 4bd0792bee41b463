/* reference.c - see reference.h.
 *
 * Sources: the formulas of SGD with momentum (Sutskever et al. 2013), Adam (Kingma and Ba 2015),
 * AdamW (Loshchilov and Hutter 2019) and one-cycle (Smith and Topin 2018) as PyTorch documents
 * them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include <math.h>
#include <fulgurite/ckpt.h>
#include "fgt.h"

enum { CLASSES = REFERENCE_CLASSES, FEATURES = REFERENCE_MAX_FEATURES };

/* The parameters in a row: weights, then biases. */
enum { COUNT = CLASSES * FEATURES + CLASSES };
typedef union parameters {
    reference_model model;
    double at[COUNT];
} parameters;

reference_model reference_start(int features)
{
    reference_model m = {0};
    for (int k = 0; k < CLASSES; k++) {
        m.bias[k] = 0.25 * (double)((3 * k) % 4) - 0.25;
        for (int f = 0; f < features; f++)
            m.weight[k][f] = 0.125 * (double)((5 * k + 3 * f) % 7) - 0.375;
    }
    return m;
}

void reference_predict(const reference_model *m, const reference_data *data, int row,
                       double out[CLASSES])
{
    double sum = 0;
    for (int k = 0; k < CLASSES; k++) {
        double z = m->bias[k];
        for (int f = 0; f < data->features; f++)
            z += m->weight[k][f] * data->x[row][f];
        out[k] = exp(z);
        sum += out[k];
    }
    for (int k = 0; k < CLASSES; k++)
        out[k] /= sum;
}

double reference_loss(const reference_model *model, const reference_data *data, int first, int rows)
{
    double sum = 0, p[CLASSES];
    for (int i = first; i < first + rows; i++) {
        reference_predict(model, data, i, p);
        sum -= log(p[data->label[i]]);
    }
    return sum / rows;
}

static parameters gradient(const reference_model *model, const reference_data *data)
{
    parameters g = {.at = {0}};
    double p[CLASSES];
    for (int i = 0; i < data->rows; i++) {
        reference_predict(model, data, i, p);
        for (int k = 0; k < CLASSES; k++) {
            const double d = (p[k] - (data->label[i] == k)) / data->rows;
            g.model.bias[k] += d;
            for (int f = 0; f < data->features; f++)
                g.model.weight[k][f] += d * data->x[i][f];
        }
    }
    return g;
}

static double or_default(double value, double otherwise) { return value != 0 ? value : otherwise; }

/* From `a` to `b`, at `share` of the way. */
static double between(const reference_cycle *c, double a, double b, double share)
{
    return c->is_linear ? a + (b - a) * share : b + (a - b) * (1 + cos(acos(-1) * share)) / 2;
}

/* The value at a step of `steps`: from start over top to last. */
static double cycled(const reference_cycle *c, double start, double top, double last, int step,
                     int steps)
{
    const double up = or_default(c->pct_start, 0.3) * steps - 1, end = steps - 1;
    const double down = c->is_three_phase ? 2 * up : end;
    if (step <= up)
        return between(c, start, top, up > 0 ? step / up : 1);
    if (step <= down)
        return between(c, top, c->is_three_phase ? start : last, (step - up) / (down - up));
    return between(c, start, last, (step - down) / (end - down));
}

static void sgd(const reference_optimizer *o, double lr, double momentum, bool is_first, double *p,
                double g, double *velocity)
{
    g += o->decay * *p;
    *velocity = is_first ? g : momentum * *velocity + (1 - o->dampening) * g;
    if (momentum == 0)
        *p -= lr * g;
    else
        *p -= lr * (o->nesterov ? g + momentum * *velocity : *velocity);
}

static void adam(const reference_optimizer *o, double lr, double beta1, int step, double *p,
                 double g, double moments[2])
{
    const double beta2 = or_default(o->beta2, 0.999), eps = or_default(o->eps, 1e-8);
    if (o->rule == RULE_ADAMW)
        *p *= 1 - lr * o->decay;
    else
        g += o->decay * *p;
    moments[0] = beta1 * moments[0] + (1 - beta1) * g;
    moments[1] = beta2 * moments[1] + (1 - beta2) * g * g;
    const double mean = moments[0] / (1 - pow(beta1, step + 1));
    *p -= lr * mean / (sqrt(moments[1] / (1 - pow(beta2, step + 1))) + eps);
}

/* Limits the gradient as PyTorch's clip_grad_norm_ and clip_grad_value_ do. */
static void clip(const reference_optimizer *o, parameters *g)
{
    double sum = 0;
    for (int i = 0; i < COUNT; i++)
        if (!(i < CLASSES * FEATURES ? o->keeps_weight : o->keeps_bias))
            sum += g->at[i] * g->at[i];
    const double factor = o->clip_norm > 0 ? fmin(1, o->clip_norm / (sqrt(sum) + 1e-6)) : 1;
    for (int i = 0; i < COUNT; i++)
        g->at[i] = o->clip_value > 0 ? fmax(-o->clip_value, fmin(g->at[i], o->clip_value))
                                     : g->at[i] * factor;
}

void reference_train(reference_model *model, const reference_data *data,
                     const reference_optimizer *optimizer, int steps)
{
    const reference_cycle *c = &optimizer->cycle;
    const bool is_sgd = optimizer->rule == RULE_SGD;
    const double start = optimizer->lr / or_default(c->div_factor, 25);
    const double least = or_default(c->base_momentum, 0.85),
                 most = or_default(c->max_momentum, 0.95);
    double moments[COUNT][2] = {{0}};
    parameters all = {.model = *model};
    for (int step = 0; step < steps; step++) {
        double lr = optimizer->lr, momentum = or_default(optimizer->momentum, is_sgd ? 0 : 0.9);
        if (c->is_on)
            lr = cycled(c, start, lr, start / or_default(c->final_div_factor, 1e4), step, steps);
        if (c->is_on && !c->keeps_momentum)
            momentum = cycled(c, most, least, most, step, steps);
        parameters g = gradient(&all.model, data);
        clip(optimizer, &g);
        for (int i = 0; i < COUNT; i++)
            if (i < CLASSES * FEATURES ? optimizer->keeps_weight : optimizer->keeps_bias)
                continue;
            else if (is_sgd)
                sgd(optimizer, lr, momentum, step == 0, &all.at[i], g.at[i], moments[i]);
            else
                adam(optimizer, lr, momentum, step, &all.at[i], g.at[i], moments[i]);
    }
    *model = all.model;
}

void reference_save(const reference_model *model, int features, const char *path)
{
    fg_error err = {0};
    float weight[CLASSES * FEATURES], bias[CLASSES];
    for (int k = 0; k < CLASSES; k++) {
        bias[k] = (float)model->bias[k];
        for (int f = 0; f < features; f++)
            weight[k * features + f] = (float)model->weight[k][f];
    }
    const fg_ckpt_tensor tensors[] = {
        {.name = "fc.weight", .type = {FG_F32, 2, {CLASSES, features}}, .data = weight},
        {.name = "fc.bias", .type = {FG_F32, 1, {CLASSES}}, .data = bias},
    };
    fgt_ok(fg_safetensors_write(path, tensors, 2, NULL, &err));
}
