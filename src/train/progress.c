/* progress.c - what a person sees of a run: the model's table, then a bar on a terminal, or plain
 * lines where the output is a file or a pipe. Writes to the stream it was given and nowhere else.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/thread.h"
#include "train/trainer.h"

enum { BAR_WIDTH = 24 };
static const int64_t BAR_NS = 100000000;      /* at least 0.1 s from one drawing to the next */
static const int64_t LINE_NS = 10000000000ll; /* 10 s from one plain line to the next */

typedef struct progress {
    FILE *out;
    const fg_trainer *trainer;
    bool is_terminal, has_bar;
    int64_t last_ns;
    char metrics[256]; /* the latest training metrics */
    double samples_per_s;
} progress;

fg_status fgi_progress_create(FILE *out, const fg_trainer *trainer, void **out_self, fg_error *err)
{
    progress *p = fgi_calloc(1, sizeof *p);
    *out_self = p;
    if (p == NULL)
        return fgi_no_memory(err);
    p->out = out;
    p->trainer = trainer;
    p->is_terminal = isatty(fileno(out)) == 1;
    return FG_OK;
}

static void put_metrics(const fg_progress *at, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < at->metric_count && used < size; i++) {
        const int n = snprintf(out + used, size - used, "  %s %.4g", at->metrics[i].name,
                               at->metrics[i].value);
        used += n > 0 ? (size_t)n : 0;
    }
}

/* Removes the bar, for a line that stays. */
static void clear_bar(progress *p)
{
    if (p->has_bar)
        (void)fputs("\r\033[K", p->out);
    p->has_bar = false;
}

/* ---- before the first step: the model's table, the plan
 * ----------------------------------------------------------------------- */

static void put_shape(const fg_type *type, char *out, size_t size)
{
    out[0] = '\0';
    if (type->dtype != FG_DTYPE_NONE)
        (void)fg_type_format(type, out, size);
}

/* Learning rate and steps, which decide whether what follows is worth its time. */
static void put_plan(const progress *p, const fg_progress *at)
{
    const fg_fit_plan *plan = fg_trainer_plan(p->trainer);
    (void)fprintf(p->out, "%s, lr %g (scaling rule: %s", fg_optimizer_name(p->trainer->optimizer),
                  plan->lr, plan->lr_scaling);
    if (plan->lr_factor != 1)
        (void)fprintf(p->out, ", %g x %g", plan->lr_given, plan->lr_factor);
    (void)fprintf(p->out, "), batches of %" PRId64, plan->global_batch_size);
    if (plan->batch_rows > 1)
        (void)fprintf(p->out, " (%d x %" PRId64 ")", plan->batch_rows, plan->batch_size);
    if (plan->accumulate_grad_batches > 1)
        (void)fprintf(p->out, ", %" PRId64 " a step", plan->accumulate_grad_batches);
    if (plan->total_steps < 0) {
        (void)fprintf(p->out, ", no limit of steps\n");
        return;
    }
    (void)fprintf(p->out, ", %" PRId64 " steps%s\nlr at 0, 25, 50, 75, 100 %%:", plan->total_steps,
                  at->step > 0 ? " in all" : "");
    for (int i = 0; i < 5; i++)
        (void)fprintf(p->out, " %.4g", plan->lr_at[i]);
    (void)fputc('\n', p->out);
}

/* "8 x TPU v3 (ddp)" */
static void put_devices(const progress *p)
{
    const fg_fit_plan *plan = fg_trainer_plan(p->trainer);
    const fg_client *client = fg_trainer_client(p->trainer);
    fg_error err;
    fg_device_info info;
    const char *kind = fg_client_get_info(client)->platform;
    const bool is_cpu = strcmp(kind, "cpu") == 0;
    if (fg_device_get_info(client, 0, &info, &err) == FG_OK)
        kind = info.kind;
    if (plan->device_count == 1)
        (void)fprintf(p->out, "%s\n", kind);
    else if (is_cpu)
        (void)fprintf(p->out, "%d virtual devices of the CPU, for development (%s)\n",
                      plan->device_count, plan->strategy);
    else
        (void)fprintf(p->out, "%d x %s (%s)\n", plan->device_count, kind, plan->strategy);
}

static fg_status on_fit_start(void *self, const fg_progress *at, fg_error *err)
{
    progress *p = self;
    fg_module *root = fg_trainer_module(p->trainer);
    fg_module_info info;
    char shape[96];
    (void)err;
    (void)fprintf(p->out, "%-24s %-12s %-28s %-20s %12s\n", "module", "kind", "detail", "output",
                  "parameters");
    for (size_t i = 0; fg_module_info_at(root, i, &info); i++) {
        if (info.kind[0] == '\0' && info.variable_count == 0)
            continue;
        put_shape(&info.output, shape, sizeof shape);
        (void)fprintf(p->out, "%-24s %-12s %-28s %-20s %12" PRId64 "\n", info.name, info.kind,
                      info.detail, shape, info.parameter_count);
    }
    (void)fprintf(p->out, "%" PRId64 " parameters in all; on ", fg_module_parameter_count(root));
    put_devices(p);
    put_plan(p, at);
    (void)fflush(p->out);
    return FG_OK;
}

/* ---- while it runs --------------------------------------------------------------------------- */

/* Columns of the terminal, as it is now. */
static size_t columns_of(FILE *out)
{
    struct winsize size = {0};
    return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* "3/12", or "3" where the source does not tell its length. */
static void put_count(const fg_progress *at, char *out, size_t size)
{
    if (at->batches < 0)
        (void)snprintf(out, size, "%" PRId64, at->batch);
    else
        (void)snprintf(out, size, "%" PRId64 "/%" PRId64, at->batch, at->batches);
}

/* One line, cut so that the terminal does not begin another one. */
static void draw_bar(progress *p, const fg_progress *at)
{
    const int64_t all = at->batches > 0 ? at->batches : INT64_MAX / BAR_WIDTH;
    const int64_t done = at->batch < all ? at->batch * BAR_WIDTH / all : BAR_WIDTH;
    char count[48], bar[BAR_WIDTH + 1], line[512], rate[48] = "";
    const size_t columns = columns_of(p->out);
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < done ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    if (p->samples_per_s > 0)
        (void)snprintf(rate, sizeof rate, "  %.0f samples/s", p->samples_per_s);
    put_count(at, count, sizeof count);
    (void)snprintf(line, sizeof line, "epoch %" PRId64 "  [%s] %s%s%s", at->epoch, bar, count,
                   p->metrics, rate);
    if (columns <= sizeof line)
        line[columns - 1] = '\0';
    (void)fprintf(p->out, "\r\033[K%s", line);
    (void)fflush(p->out);
    p->has_bar = true;
}

static fg_status on_batch_end(void *self, const fg_progress *at, fg_error *err)
{
    progress *p = self;
    const int64_t now = fgi_now_ns();
    (void)err;
    if (now - p->last_ns < (p->is_terminal ? BAR_NS : LINE_NS))
        return FG_OK;
    const bool is_first = p->last_ns == 0;
    p->last_ns = now;
    if (p->is_terminal) {
        draw_bar(p, at);
    } else if (!is_first) {
        char count[48];
        put_count(at, count, sizeof count);
        (void)fprintf(p->out, "epoch %" PRId64 "  %s%s\n", at->epoch, count, p->metrics);
        (void)fflush(p->out);
    }
    return FG_OK;
}

static fg_status on_log(void *self, const fg_progress *at, fg_error *err)
{
    progress *p = self;
    (void)err;
    put_metrics(at, p->metrics, sizeof p->metrics);
    p->samples_per_s = at->samples_per_s;
    return FG_OK;
}

static void put_line(progress *p, const fg_progress *at, const char *what)
{
    char metrics[256];
    put_metrics(at, metrics, sizeof metrics);
    clear_bar(p);
    (void)fprintf(p->out, "epoch %" PRId64 "  step %" PRId64 "  %s%s\n", at->epoch, at->step, what,
                  metrics);
    (void)fflush(p->out);
}

static fg_status on_val_end(void *self, const fg_progress *at, fg_error *err)
{
    (void)err;
    put_line(self, at, "validated");
    return FG_OK;
}

static fg_status on_epoch_end(void *self, const fg_progress *at, fg_error *err)
{
    (void)err;
    put_line(self, at, "trained  ");
    return FG_OK;
}

static fg_status on_fit_end(void *self, const fg_progress *at, fg_error *err)
{
    progress *p = self;
    (void)at, (void)err;
    clear_bar(p);
    (void)fflush(p->out);
    return FG_OK;
}

static fg_status on_eval_end(void *self, const fg_progress *at, fg_error *err)
{
    progress *p = self;
    (void)at, (void)err;
    clear_bar(p);
    return FG_OK;
}

const fg_callback_ops fgi_progress_ops = {.fit_start = on_fit_start,
                                          .batch_end = on_batch_end,
                                          .log = on_log,
                                          .val_end = on_val_end,
                                          .epoch_end = on_epoch_end,
                                          .fit_end = on_fit_end,
                                          .eval_end = on_eval_end,
                                          .destroy = fgi_free};
