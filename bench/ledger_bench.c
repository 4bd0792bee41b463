/* ledger_bench.c - what the Trainer's record of times and its progress display cost: steps with and
 * without the record, in alternating fits.   usage: ledger_bench [ROUNDS [WIDTH [STEPS]]]
 *
 * A 784-WIDTH-WIDTH-10 MLP, batch size 128, Adam, f32, on the CPU. Prints one JSON object: the
 * medians of the fits' mean step times, in microseconds, their difference, the median of the
 * differences of neighboring fits, the time of the record alone in a loop, and that of the clock
 * reads that both have; then the time of the progress display in a step, and of drawing its line on
 * a terminal, at most ten times a second.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <fulgurite/fulgurite.h>

#include "base/thread.h"
#include "train/watch/watch.h"
#include "train/progress/progress.h"
#include "train/trainer.h"

enum { PIXELS = 784, CLASSES = 10, BATCH = 128, WARM_UP = 20, ROUNDS_MAX = 200, CLOCKS = 8 };

typedef struct bench {
    int64_t width, steps, begin_ns, end_ns;
} bench;

static void build(void *self, fg_module *root)
{
    const bench *b = self;
    (void)fg_linear_create(root, "fc1", &(fg_linear_options){.in = PIXELS, .out = b->width});
    (void)fg_linear_create(root, "fc2", &(fg_linear_options){.in = b->width, .out = b->width});
    (void)fg_linear_create(root, "fc3", &(fg_linear_options){.in = b->width, .out = CLASSES});
}

static fg_tensor parameter(const fg_batch *batch, const fg_module *root, size_t i)
{
    const fg_tensor x = fg_batch_at(batch, 0);
    return fg_variable_value(fg_tensor_trace(x), fg_module_variable_at(root, i));
}

static fg_module *the_root; /* of the Trainer that is traced */

static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    fg_tensor x = fg_batch_field(batch, "x");
    (void)self, (void)st;
    for (size_t i = 0; i < 3; i++) {
        x = fg_matmul(x, parameter(batch, the_root, 2 * i));
        x = i < 2 ? fg_relu(x) : x;
    }
    return fg_cross_entropy(x, fg_batch_field(batch, "y"), NULL);
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    (void)self;
    the_root = root;
    return fg_adam_create(root, &(fg_adam_options){.lr = 1e-3});
}

static fg_status on_batch_end(void *self, const fg_progress *at, fg_error *err)
{
    bench *b = self;
    (void)err;
    if (at->step == WARM_UP)
        b->begin_ns = fgi_now_ns();
    if (at->step == WARM_UP + b->steps)
        b->end_ns = fgi_now_ns();
    return FG_OK;
}

/* Mean microseconds of a step; negative after an error. */
static double fit(bench *b, fg_client *client, fg_dataset *data, bool is_off, fg_error *err)
{
    static const fg_task_ops ops = {.build = build, .train_step = step, .optimizer = optimizer};
    static const fg_callback_ops callback = {.batch_end = on_batch_end};
    const fg_task task = {.name = "mlp", .self = b, .ops = &ops};
    const fg_trainer_options options = {.devices.client = client,
                                        .limits.max_steps = WARM_UP + b->steps};
    const fg_fit_data what = {.train = data, .batch_size = BATCH};
    fg_trainer *trainer = NULL;
    bool ok = fg_trainer_create(&options, &trainer, err) == FG_OK;
    if (ok)
        trainer->ledger.is_off = is_off;
    ok = ok && fg_trainer_add_callback(trainer, &callback, b, err) == FG_OK &&
         fg_trainer_fit(trainer, &task, &what, err) == FG_OK;
    fg_trainer_destroy(trainer);
    return ok ? (double)(b->end_ns - b->begin_ns) * 1e-3 / (double)b->steps : -1;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

static double clock_us(void)
{
    enum { READS = 100000 };
    const int64_t begin = fgi_now_ns();
    for (int i = 0; i < READS; i++)
        (void)fgi_now_ns();
    return (double)(fgi_now_ns() - begin) * 1e-3 / READS;
}

/* The ledger's own time for a step: two spans, a launch and its end; every 50th closes a window. */
static double ledger_us(void)
{
    enum { STEPS = 1000000 };
    static fgi_ledger ledger;
    const int64_t begin = fgi_now_ns();
    fgi_ledger_start(&ledger, begin);
    for (int64_t i = 0; i < STEPS; i++) {
        const int64_t at = i * 1000;
        const fgi_flight flight = {
            .is_step = true, .steps = 1, .launch_ns = at + 300, .done_ns = at + 900};
        fgi_ledger_add(&ledger, FGI_INPUT, at, at + 100);
        fgi_ledger_add(&ledger, FGI_UPLOAD, at + 100, at + 200);
        fgi_ledger_launched(&ledger, i);
        fgi_ledger_retired(&ledger, i, &flight);
        if (i % 50 == 49)
            fgi_ledger_close_window(&ledger, i, i + 1);
    }
    return (double)(fgi_now_ns() - begin) * 1e-3 / STEPS;
}

static int64_t later; /* the clock of the display that draws in each step */
static int64_t later_ns(void) { return later += 1000000000; }

/* The display's own time for a step of an epoch, which draws or not; negative after an error. */
static double progress_us(bool draws)
{
    enum { STEPS = 20000, READ = 4096 };
    static fg_trainer trainer = {.fit.settings.total_epochs = 30, .fit.batches_per_epoch = STEPS};
    const fg_metric metrics[] = {{"train_loss", 0.1234}, {"train_acc", 0.9876}};
    fg_progress at = {.batches = STEPS, .metrics = metrics, .metric_count = 2};
    fgi_progress *progress = NULL;
    fg_error err;
    char text[READ];
    int64_t sum = 0;
    const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    const bool is_open = terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0;
    FILE *out = is_open ? fopen(ptsname(terminal), "w") : NULL;
    const fg_trainer_output output = {.progress = out, .progress_style = "bar"};
    const fgi_progress_sources sources = {.trainer = &trainer,
                                          .cursor = &trainer.cursor,
                                          .checkpoints = &trainer.options.checkpoints};
    if (out == NULL || fgi_progress_create(&output, &sources, &progress, &err) != FG_OK)
        return -1;
    if (draws)
        fgi_progress_set_clock(progress, later_ns);
    (void)fgi_progress_ops.epoch_start(progress, &at, &err);
    (void)fgi_progress_ops.log(progress, &at, &err);
    for (at.batch = 1; at.batch <= STEPS; at.batch++) {
        trainer.cursor.position = 128 * at.batch;
        const int64_t begin = fgi_now_ns();
        (void)fgi_progress_ops.batch_end(progress, &at, &err);
        sum += fgi_now_ns() - begin;
        while (draws && read(terminal, text, READ) > 0)
            ;
    }
    fgi_progress_ops.destroy(progress);
    (void)fclose(out);
    (void)close(terminal);
    return (double)sum * 1e-3 / STEPS;
}

static fg_dataset *make_data(fg_error *err)
{
    enum { SAMPLES = 20 * BATCH };
    static float x[SAMPLES][PIXELS];
    static int32_t y[SAMPLES];
    const fg_field fields[] = {{"x", {.dtype = FG_F32, .rank = 1, .dim = {PIXELS}}},
                               {"y", {.dtype = FG_S32}}};
    const fg_dataset_spec spec = {.count = SAMPLES, .fields = fields, .field_count = 2};
    fg_dataset *out = NULL;
    for (int i = 0; i < SAMPLES; i++)
        y[i] = i % CLASSES;
    const fg_status status =
        fg_dataset_from_arrays(&spec, (const void *const[]){x, y}, FG_BORROW, &out, err);
    return status == FG_OK ? out : NULL;
}

int main(int argc, char **argv)
{
    static double with[ROUNDS_MAX], without[ROUNDS_MAX], more[ROUNDS_MAX];
    const long asked = argc > 1 ? strtol(argv[1], NULL, 10) : 20;
    const int rounds = (int)(asked < 1 ? 1 : asked > ROUNDS_MAX ? ROUNDS_MAX : asked);
    bench b = {.width = argc > 2 ? strtol(argv[2], NULL, 10) : 512,
               .steps = argc > 3 ? strtol(argv[3], NULL, 10) : 300};
    fg_error err = {0};
    fg_client *client = NULL;
    fg_dataset *data = make_data(&err);
    bool ok = data != NULL &&
              fg_client_open(&(fg_client_options){.accelerator = "cpu"}, &client, &err) == FG_OK;
    for (int i = 0; ok && i < rounds; i++) {
        const bool is_first = i % 2 == 0; /* they alternate, and so does their order */
        const double first = fit(&b, client, data, is_first, &err);
        const double second = fit(&b, client, data, !is_first, &err);
        without[i] = is_first ? first : second;
        with[i] = is_first ? second : first;
        more[i] = with[i] - without[i];
        ok = first >= 0 && second >= 0;
    }
    if (!ok)
        return fg_error_print(&err, argv[0]);
    const double on = median(with, rounds), off = median(without, rounds);
    printf("{\"width\": %d, \"with_us\": %.3f, \"without_us\": %.3f, \"difference_us\": %.3f, "
           "\"paired_us\": %.3f, \"percent\": %.3f, \"ledger_us\": %.3f, \"clocks_us\": %.3f, "
           "\"progress_us\": %.3f, \"drawing_us\": %.3f}\n",
           (int)b.width, on, off, on - off, median(more, rounds), 100 * (on - off) / off,
           ledger_us(), CLOCKS * clock_us(), progress_us(false), progress_us(true));
    fg_dataset_destroy(data);
    fg_client_close(client);
    return 0;
}
