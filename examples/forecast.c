/* forecast.c - forecasts a series: an LSTM reads 32 values and predicts the next one. The series is
 * the sum of two waves and noise; the error of repeating the last value is printed next to that of
 * the forecast.                    usage: forecast
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/fulgurite.h>
#include <math.h>
#include <string.h>

enum { LENGTH = 1200, TRAIN = 1000, WINDOW = 32, HIDDEN = 24 };

struct forecast {
    fg_recurrent *lstm;
    fg_linear *head;
};

static void build(void *self, fg_module *root)
{
    struct forecast *f = self;
    f->lstm = fg_recurrent_create(root, "lstm", &(fg_recurrent_options){.in = 1, .hidden = HIDDEN});
    f->head = fg_linear_create(root, "head", &(fg_linear_options){.in = HIDDEN, .out = 1});
}

/* past f32[B, WINDOW, 1] -> f32[B], computed from the last state */
static fg_tensor predict(const struct forecast *f, fg_tensor past)
{
    fg_recurrent_state state = {.reserved = {0}};
    (void)fg_recurrent_apply(f->lstm, past, &state);
    return fg_reshape(fg_linear_apply(f->head, state.h), FG_DIMS(-1));
}

static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    const fg_tensor next = fg_batch_field(batch, "next");
    const fg_tensor y = predict(self, fg_batch_field(batch, "past"));
    fg_step_log_regression(st, y, next, NULL);
    return fg_mse(y, next);
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    (void)self;
    return fg_adam_create(root, &(fg_adam_options){.lr = 1e-2});
}

/* Each window of the values from `first` on, and the value after it. */
static fg_status windows(const float *series, int first, int end, fg_dataset **out, fg_error *err)
{
    static float past[LENGTH][WINDOW], next[LENGTH];
    const fg_field fields[] = {{.name = "past", .type = {FG_F32, 2, {WINDOW, 1}}},
                               {.name = "next", .type = {FG_F32, 0, {0}}}};
    const fg_dataset_spec spec = {
        .fields = fields, .field_count = 2, .count = end - first - WINDOW};
    for (int i = 0; i < end - first - WINDOW; i++) {
        for (int t = 0; t < WINDOW; t++)
            past[i][t] = series[first + i + t];
        next[i] = series[first + i + WINDOW];
    }
    return fg_dataset_from_arrays(&spec, (const void *const[]){past, next}, FG_COPY, out, err);
}

static double metric(const fg_result *result, const char *name)
{
    for (size_t i = 0; i < result->metric_count; i++)
        if (strcmp(result->metrics[i].name, name) == 0)
            return result->metrics[i].value;
    return NAN;
}

/* Returns the error of repeating the last value, in the part for validation. */
static double make_series(float *series)
{
    uint32_t noise = 1;
    double sum = 0;
    for (int t = 0; t < LENGTH; t++) {
        noise = noise * 1664525 + 1013904223; /* Numerical Recipes */
        series[t] = (float)(sin(0.3 * t) + 0.5 * sin(0.071 * t) + 0.2 * noise / UINT32_MAX);
    }
    for (int t = TRAIN + WINDOW; t < LENGTH; t++)
        sum += pow((double)series[t] - (double)series[t - 1], 2);
    return sqrt(sum / (LENGTH - TRAIN - WINDOW));
}

int main(int argc, char **argv)
{
    static float series[LENGTH];
    const double naive = make_series(series);
    const fg_task_ops ops = {
        .build = build, .train_step = step, .val_step = step, .optimizer = optimizer};
    struct forecast forecast;
    const fg_task task = {.name = "series", .self = &forecast, .ops = &ops};
    fg_fit_data data = {.batch_size = 32};
    fg_trainer *trainer = NULL;
    fg_error err = {0};
    (void)argc;
    bool ok = windows(series, 0, TRAIN, &data.train, &err) == FG_OK &&
              windows(series, TRAIN, LENGTH, &data.val, &err) == FG_OK &&
              fg_trainer_create(&(fg_trainer_options){.limits.max_epochs = 20}, &trainer, &err) ==
                  FG_OK &&
              fg_trainer_fit(trainer, &task, &data, &err) == FG_OK;
    if (ok)
        printf("rmse of the forecast %.3f, of the last value %.3f\n",
               metric(fg_trainer_result(trainer), "val_rmse"), naive);
    else
        fg_error_print(&err, argv[0]);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data.val);
    fg_dataset_destroy(data.train);
    return ok ? 0 : 1;
}
