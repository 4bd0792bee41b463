/* operation.c - an operation of your own with its own gradient, checked by finite differences.
 *                                                                       usage: operation
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/fulgurite.h>
#include <math.h>
#include <stdio.h>

/* squareplus(x) = (x + sqrt(x^2 + b)) / 2, a smooth ReLU. Source: Barron 2021, "Squareplus". */
struct squareplus {
    double b; /* > 0 */
};

/* Computes the output, and saves the root for the gradient. */
static void forward(const void *options, const fg_tensor *in, int in_count, fg_tensor *out)
{
    const struct squareplus *o = options;
    out[1] = fg_sqrt(fg_add_scalar(fg_square(in[0]), o->b));
    out[0] = fg_mul_scalar(fg_add(in[0], out[1]), 0.5);
}

/* The derivative of (x + root) / 2 is (1 + x / root) / 2 = y / root. */
static void backward(const fg_backward *g)
{
    const fg_tensor y = g->out[0], root = g->out[1];
    g->din[0] = fg_mul(g->dout[0], fg_div(y, root));
}

static const fg_operation operation = {.name = "squareplus",
                                       .output_count = 1,
                                       .saved_count = 1,
                                       .options_size = sizeof(struct squareplus),
                                       .forward = forward,
                                       .backward = backward};

static fg_tensor squareplus(fg_tensor x, double b)
{
    fg_tensor y[1];
    fg_apply(&operation, &x, 1, &(struct squareplus){.b = b}, y);
    return y[0];
}

enum { COUNT = 7 };
static const double POINTS[COUNT] = {-30, -2, -0.5, 0, 0.1, 1, 20}, B = 4, H = 1e-4;

/* derivative(x) and (f(x + h) - f(x - h)) / 2h, for f and for its derivative: f64[4, COUNT]. */
static fg_tensor compare(fg_trace *trace)
{
    fg_tensor x[3], first[3], rows[4], second;
    for (int i = 0; i < 3; i++) { /* x - h, x, x + h */
        const fg_type type = {FG_F64, 1, {COUNT}};
        x[i] = fg_add_scalar(fg_constant(trace, &type, POINTS), (i - 1) * H);
        fg_grad(fg_sum(squareplus(x[i], B), 0, NULL), &x[i], 1, &first[i]);
    }
    fg_grad(fg_sum(first[1], 0, NULL), &x[1], 1, &second);
    rows[0] = first[1];
    rows[1] = fg_mul_scalar(fg_sub(squareplus(x[2], B), squareplus(x[0], B)), 0.5 / H);
    rows[2] = second;
    rows[3] = fg_mul_scalar(fg_sub(first[2], first[0]), 0.5 / H);
    return fg_stack(rows, 4, 0);
}

int main(void)
{
    fg_error err = {0};
    fg_client *client = NULL;
    fg_trace *trace = NULL;
    fg_array *array = NULL;
    double d[4][COUNT], worst = 0;
    bool ok = fg_client_open(&(fg_client_options){.accelerator = "cpu"}, &client, &err) == FG_OK &&
              fg_trace_create(client, &trace, &err) == FG_OK;
    if (ok) {
        const fg_tensor derivatives = compare(trace);
        ok = fg_run(trace, &derivatives, 1, &array, &err) == FG_OK &&
             fg_array_read(array, d, sizeof d, &err) == FG_OK;
    }
    for (int i = 0; i < COUNT && ok; i++) {
        printf("x %5.1f: first derivative %.6f, second %.6f\n", POINTS[i], d[0][i], d[2][i]);
        worst = fmax(worst, fmax(fabs(d[0][i] - d[1][i]), fabs(d[2][i] - d[3][i])));
    }
    if (ok)
        printf("largest difference from finite differences: %.1e\n", worst);
    else
        fg_error_print(&err, "operation");
    fg_array_release(array);
    fg_trace_destroy(trace);
    fg_client_close(client);
    return ok && worst < 1e-8 ? 0 : 1;
}
