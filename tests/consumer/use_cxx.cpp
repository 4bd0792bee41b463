/* use_cxx.cpp - the headers in a C++11 program, without a warning: macros of shapes and of places,
 * options, a task.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <cstring>
#include <fulgurite/fulgurite.h>

static int64_t product(int rank, const int64_t *dim)
{
    int64_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= dim[i];
    return count;
}

/* Compiled, not run: it needs a device. */
static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    fg_trace *trace = fg_step_trace(st);
    const fg_tensor x = fg_reshape(fg_batch_at(batch, 0), FG_DIMS(-1, 4));
    const fg_tensor w = fg_zeros(trace, FG_F32, FG_DIMS(4, 2));
    const fg_tensor bias = fg_full(trace, FG_F32, 0.5, FG_SCALAR);
    fg_step_log(st, "mean", fg_mean(fg_relu(fg_matmul(x, w)), 0, nullptr));
    (void)self;
    return fg_mse(fg_add(fg_matmul(x, w), bias), fg_batch_field(batch, "y"));
}

static fg_status train(fg_dataset *data, fg_error *err)
{
    fg_task_ops ops = fg_task_ops();
    fg_task task = fg_task();
    fg_trainer_options options = fg_trainer_options();
    fg_fit_data fit = fg_fit_data();
    fg_trainer *trainer = nullptr;
    ops.train_step = step;
    task.name = "task";
    task.ops = &ops;
    options.limits.max_epochs = 3;
    fit.train = data;
    fg_status status = fg_trainer_create(&options, &trainer, err);
    if (status == FG_OK)
        status = fg_trainer_fit(trainer, &task, &fit, err);
    fg_trainer_destroy(trainer);
    return status;
}

int main(int argc, char **argv)
{
    fg_error err = fg_error();
    const int two = 2;
    if (argc > 1 && std::strcmp(argv[1], "train") == 0)
        return train(nullptr, &err) == FG_OK ? 0 : 1;
    if (product(FG_DIMS(3, 4, two)) != 24 || product(FG_DIMS(7)) != 7 || product(FG_SCALAR) != 1)
        return 2;
    return std::strcmp(fg_dtype_name(FG_F32), "f32") == 0 ? 0 : 1;
}
