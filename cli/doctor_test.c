/* doctor_test.c - tests the devices: a matmul on each, and a sum over all; then checks the plugin.
 *
 * The rows of one batch are sharded across the devices, eight rows each, and multiplied by a
 * replicated matrix; the mean over the whole batch requires an all-reduce. All values are small
 * integers, so results are exact in every dtype.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/fulgurite.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checkup.h"
#include "base/error.h"
#include "base/print.h"
#include "base/alloc.h"
#include "base/thread.h"

enum { ROWS = 8, SIDE = 16, DEVICES = 1024 };

/* x[i][k] of row i; the matrix is w[k][j] = k - j. */
static float entry(int64_t row, int k) { return (float)((row * 7 + k * 3) % 11 - 5); }

static double matmul_at(int64_t row, int j)
{
    double sum = 0;
    for (int k = 0; k < SIDE; k++)
        sum += (double)entry(row, k) * (k - j);
    return sum;
}

static fg_tensor product(fg_step *step, const fg_batch *batch)
{
    fg_trace *trace = fg_step_trace(step);
    const fg_tensor w = fg_sub(fg_iota(trace, FG_F32, 0, FG_DIMS(SIDE, SIDE)),
                               fg_iota(trace, FG_F32, 1, FG_DIMS(SIDE, SIDE)));
    return fg_matmul(fg_batch_at(batch, 0), w);
}

static fg_tensor predict_step(void *self, fg_step *step, const fg_batch *batch)
{
    (void)self;
    return product(step, batch);
}

/* The mean of all elements. */
static fg_tensor val_step(void *self, fg_step *step, const fg_batch *batch)
{
    (void)self;
    return fg_mean(product(step, batch), 0, NULL);
}

static void build(void *self, fg_module *module)
{
    (void)self;
    (void)module;
}

static const fg_task_ops ops = {.build = build, .val_step = val_step, .predict_step = predict_step};

static fg_status check_rows(void *self, const fg_type *type, const void *rows, int64_t first,
                            fg_error *err)
{
    checkup_test *test = self;
    const float *value = rows;
    (void)err;
    for (int64_t i = 0; i < type->dim[0]; i++)
        for (int j = 0; j < SIDE; j++)
            if (fabs((double)value[i * SIDE + j] - matmul_at(first + i, j)) > 1e-3 &&
                test->bad_device < 0)
                test->bad_device = (int)((first + i) / ROWS);
    return FG_OK;
}

static double mean_of_all(int64_t rows)
{
    double sum = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int j = 0; j < SIDE; j++)
            sum += matmul_at(i, j);
    return sum / (double)(rows * SIDE);
}

static fg_status make_data(int64_t rows, fg_dataset **out, fg_error *err)
{
    float *x = fgi_calloc((size_t)rows * SIDE, sizeof(*x));
    if (x == NULL)
        return fgi_no_memory(err);
    for (int64_t i = 0; i < rows * SIDE; i++)
        x[i] = entry(i / SIDE, (int)(i % SIDE));
    const fg_field field = {"x", {.dtype = FG_F32, .rank = 1, .dim = {SIDE}}};
    const fg_dataset_spec spec = {.count = rows, .fields = &field, .field_count = 1};
    const void *const arrays[] = {x};
    const fg_status status = fg_dataset_from_arrays(&spec, arrays, FG_COPY, out, err);
    fgi_free(x);
    return status;
}

/* Prints the results so far and exits: a call on a device that hangs does not return. */
static void give_up(void *self, const fg_hang *hang)
{
    checkup *d = self;
    d->test.seconds = hang->seconds;
    checkup_find(d, FG_WRONG, "test-hangs", "fulgurite devices", "%.300s for %.0f s", hang->doing,
                 hang->seconds);
    fgi_buf text = {0};
    d->report(&text, d);
    (void)fputs(text.data != NULL ? text.data : "", stdout);
    (void)fflush(stdout);
    _exit(CLI_FAILED);
}

static fg_status compute(checkup *d, fg_client *client, fg_dataset *set, double timeout_s,
                         fg_error *err)
{
    checkup_test *test = &d->test;
    fg_trainer *trainer = NULL;
    const fg_task task = {.name = "doctor", .ops = &ops};
    const fg_fit_data what = {.val = set, .predict = set, .batch_size = ROWS, .workers = FG_NONE};
    const fg_trainer_options options = {.devices.client = client,
                                        .hang.watchdog_s = timeout_s,
                                        .hang.report = give_up,
                                        .hang.report_self = d};
    fg_status status = fg_trainer_create(&options, &trainer, err);
    if (status == FG_OK)
        status = fg_trainer_validate(trainer, &task, &what, err);
    const fg_result *r = status == FG_OK ? fg_trainer_result(trainer) : NULL;
    const double want = mean_of_all(fg_dataset_count(set));
    const double got = r != NULL && r->metric_count > 0 ? r->metrics[0].value : (double)NAN;
    if (status == FG_OK)
        status = fg_trainer_predict(trainer, &task, &what, check_rows, test, err);
    test->is_good =
        status == FG_OK && test->bad_device < 0 && fabs(got - want) <= 1e-3 * (1 + fabs(want));
    fg_trainer_destroy(trainer);
    return status;
}

static void describe(checkup_test *test, const fg_client *client)
{
    const fg_client_info *info = fg_client_info_of(client);
    fg_device_info device = {0};
    fg_error err;
    (void)fgi_snprintf(test->platform, sizeof(test->platform), "%s", info->platform);
    (void)fgi_snprintf(test->version, sizeof(test->version), "%s", info->platform_version);
    test->version[strcspn(test->version, "\n")] = '\0';
    if (info->kernels != NULL)
        (void)fgi_snprintf(test->kernels, sizeof(test->kernels), "%s", info->kernels);
    test->devices = info->device_count;
    test->api_major = info->api_major;
    test->api_minor = info->api_minor;
    if (fg_device_info_at(client, 0, &device, &err) == FG_OK)
        (void)fgi_snprintf(test->kind, sizeof(test->kind), "%s", device.kind);
}

/* Lines of a message become parts of one line. */
static void keep_one_line(fg_error *err)
{
    for (char *end = strchr(err->message, '\n'); end != NULL; end = strchr(end, '\n'))
        *end = ';';
}

/* Whether the plugin computes correctly, now, even if it did before. */
static void check_plugin(checkup *d, fg_client *client)
{
    checkup_test *test = &d->test;
    fg_error err = {0};
    if (fg_client_check(client, &(fg_check_options){.repeat = true}, &test->check, &err) == FG_OK)
        return;
    if (test->check.wrong == 0)
        keep_one_line(&err);
    err.message[strcspn(err.message, "\n")] = '\0';
    (void)fgi_snprintf(test->command, sizeof(test->command), "export XLA_FLAGS=\"$XLA_FLAGS %s\"",
                       test->check.flags);
    checkup_find(d, FG_WRONG, test->check.wrong > 0 ? "wrong-results" : "check-failed",
                 test->check.flags[0] != '\0' ? test->command
                 : test->check.wrong > 0      ? "export FULGURITE_PLUGIN=FILE.so"
                                              : NULL,
                 "%.380s", err.message);
}

void checkup_run_test(checkup *d, const checkup_options *o)
{
    checkup_test *test = &d->test;
    fg_client *client = NULL;
    fg_dataset *set = NULL;
    const double begin = fgi_now_s();
    fg_status status;
    test->was_run = true;
    test->bad_device = -1;
    const fg_client_options opening = {
        .accelerator = o->accelerator, .devices = o->devices, .cache_dir = ""};
    FGI_DONE(fg_client_open(&opening, &client, &test->err));
    describe(test, client);
    FGI_DONE(make_data((int64_t)ROWS * test->devices, &set, &test->err));
    FGI_DONE(compute(d, client, set, o->timeout_s, &test->err));
done:
    fg_dataset_destroy(set);
    test->seconds = fgi_now_s() - begin;
    if (test->is_good)
        check_plugin(d, client);
    fg_client_close(client);
    keep_one_line(&test->err);
    if (status != FG_OK)
        checkup_find(d, FG_WRONG, "test-failed", "fulgurite devices", "%.380s", test->err.message);
    else if (test->bad_device >= 0)
        checkup_find(d, FG_WRONG, "bad-matmul", NULL,
                     "device %d of %s computes a matmul incorrectly", test->bad_device, test->kind);
    else if (!test->is_good)
        checkup_find(d, FG_WRONG, "bad-sum", NULL,
                     "the all-reduce over %d devices of %s gives a wrong result", test->devices,
                     test->kind);
}
