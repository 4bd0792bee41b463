/* callback_lr_monitor.c - the callback lr_monitor: adds the momentum (Adam: beta1) and the weight
 * decay of the step to log lines, next to the learning rate that each line has.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "callback/callback_rows.h"

typedef struct lr_monitor {
    enum { STEP, EPOCH } interval;
    bool momentum, weight_decay; /* which are logged */
    int64_t epoch;               /* of the last line with values, -1: none; in checkpoints */
} lr_monitor;

static fg_status on_measure(void *self, const fg_progress *at, fg_log_values *values, fg_error *err)
{
    lr_monitor *m = self;
    if (m->interval == EPOCH && at->epoch == m->epoch)
        return FG_OK;
    m->epoch = at->epoch;
    if (m->momentum)
        fg_log_values_add(values, "momentum", at->momentum);
    if (m->weight_decay)
        fg_log_values_add(values, "weight_decay", at->weight_decay);
    return FG_OK;
}

static size_t save(void *self, void *bytes, size_t size)
{
    const lr_monitor *m = self;
    return fgi_state_save(&m->epoch, sizeof m->epoch, bytes, size);
}

static fg_status load(void *self, const void *bytes, size_t size, fg_error *err)
{
    lr_monitor *m = self;
    return fgi_state_load(&m->epoch, sizeof m->epoch, bytes, size, err);
}

static fg_status init(void *self, const fg_option_values *values, fg_error *err)
{
    lr_monitor *m = self;
    m->epoch = -1;
    return FG_OK;
}

static const fg_option options[] = {
    FG_OPTION_ENUM(
        lr_monitor, interval, "step", "step|epoch", "epoch",
        "Which log lines contain the values. step: all; epoch: the first of each epoch."),
    FG_OPTION(lr_monitor, momentum, BOOL, "true", NULL, "false",
              "Log the momentum; for Adam and AdamW, beta1."),
    FG_OPTION(lr_monitor, weight_decay, BOOL, "true", NULL, "false", "Log the weight decay."),
};

static const fg_callback_ops ops = {
    .name = "lr_monitor", .measure = on_measure, .save = save, .load = load, .destroy = fg_free};

const fg_callback_entry fgi_lr_monitor_row = {
    .entry = {.name = "lr_monitor",
              .help = "log momentum and weight decay, in addition to the learning rate",
              .spellings = "LearningRateMonitor",
              FG_OPTIONS(options, lr_monitor)},
    .ops = &ops,
    .init = init};
