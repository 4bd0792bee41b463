/* raw_pjrt.c - compiles and executes a StableHLO program written by hand, without graph and
 * gradients. It fits y = a x + b to noisy points by gradient descent; the two parameters stay on
 * the device and are updated in place.        usage: raw_pjrt [cpu|cuda|tpu|auto]
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/fulgurite.h>

enum { POINTS = 64, STEPS = 400 };

/* One step of gradient descent on the mean squared error. `p` is {a, b}; tf.aliasing_output = 0
 * donates its memory to output 0, the new {a, b}. Output 1 is the loss before the step. */
static const char step_text[] =
    "func.func public @main(%p: tensor<2xf32> {tf.aliasing_output = 0 : i32},\n"
    "                       %basis: tensor<64x2xf32>, %y: tensor<64xf32>)\n"
    "                      -> (tensor<2xf32>, tensor<f32>) {\n"
    "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
    "  %rate = stablehlo.constant dense<0.01> : tensor<2xf32>\n"
    "  %scale = stablehlo.constant dense<0.015625> : tensor<f32>\n"
    "  %fit = stablehlo.dot_general %basis, %p, contracting_dims = [1] x [0]\n"
    "      : (tensor<64x2xf32>, tensor<2xf32>) -> tensor<64xf32>\n"
    "  %off = stablehlo.subtract %fit, %y : tensor<64xf32>\n"
    "  %grad = stablehlo.dot_general %off, %basis, contracting_dims = [0] x [0]\n"
    "      : (tensor<64xf32>, tensor<64x2xf32>) -> tensor<2xf32>\n"
    "  %move = stablehlo.multiply %rate, %grad : tensor<2xf32>\n"
    "  %new = stablehlo.subtract %p, %move : tensor<2xf32>\n"
    "  %square = stablehlo.multiply %off, %off : tensor<64xf32>\n"
    "  %sum = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0]\n"
    "      : (tensor<64xf32>, tensor<f32>) -> tensor<f32>\n"
    "  %loss = stablehlo.multiply %sum, %scale : tensor<f32>\n"
    "  return %new, %loss : tensor<2xf32>, tensor<f32>\n"
    "}\n";

/* Uploads noisy points on y = 3 x - 2; the rows of basis are {x, 1}. */
static fg_status upload(fg_client *client, fg_array *args[3], fg_error *err)
{
    static const float start[2] = {0, 0};
    const fg_type type[3] = {{.dtype = FG_F32, .rank = 1, .dim = {2}},
                             {.dtype = FG_F32, .rank = 2, .dim = {POINTS, 2}},
                             {.dtype = FG_F32, .rank = 1, .dim = {POINTS}}};
    float basis[POINTS][2], y[POINTS];
    for (int i = 0; i < POINTS; i++) {
        basis[i][0] = (float)i / (POINTS / 2.0f) - 1;
        basis[i][1] = 1;
        y[i] = 3 * basis[i][0] - 2 + (i % 2 ? 0.1f : -0.1f);
    }
    const void *data[3] = {start, basis, y};
    fg_status status = FG_OK;
    for (int i = 0; i < 3 && status == FG_OK; i++)
        status = fg_array_create(client, &type[i], data[i], &args[i], err);
    return status;
}

/* Launches all steps asynchronously; each one replaces args[0] by the new parameters. */
static fg_status descend(fg_program *step, fg_array *args[3], fg_array **loss, fg_error *err)
{
    fg_status status = FG_OK;
    for (int i = 0; i < STEPS && status == FG_OK; i++) {
        fg_array *outs[2];
        status = fg_program_run(step, &(fg_program_arrays){args, 3, outs, 2}, err);
        fg_array_release(args[0]);
        fg_array_release(*loss);
        args[0] = outs[0];
        *loss = outs[1];
    }
    return status;
}

int main(int argc, char **argv)
{
    fg_error err = {0};
    fg_client *client = NULL;
    fg_program *step = NULL;
    fg_array *args[3] = {NULL}, *loss = NULL;
    float p[2], mean_square;
    const fg_client_options options = {.accelerator = argc > 1 ? argv[1] : "auto"};

    if (fg_client_open(&options, &client, &err) == FG_OK &&
        fg_program_compile(client, step_text, &step, &err) == FG_OK &&
        upload(client, args, &err) == FG_OK && descend(step, args, &loss, &err) == FG_OK &&
        fg_array_read(args[0], p, sizeof p, &err) == FG_OK &&
        fg_array_read(loss, &mean_square, sizeof mean_square, &err) == FG_OK)
        printf("y = %.3f x %+.3f, mean squared error %.4f\n", (double)p[0], (double)p[1],
               (double)mean_square);
    else
        fg_error_print(&err, argv[0]);

    for (int i = 0; i < 3; i++)
        fg_array_release(args[i]);
    fg_array_release(loss);
    fg_program_destroy(step);
    fg_client_close(client);
    return err.status == FG_OK ? 0 : 1;
}
