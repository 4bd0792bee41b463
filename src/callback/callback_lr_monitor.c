/* callback_lr_monitor.c - the callback lr_monitor: adds the momentum (Adam: beta1) and the weight
 * decay of the step to log lines, next to the learning rate that each line has.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "callback/callback_rows.h"

typedef struct lr_monitor {
    bool is_by_epoch, logs_momentum, logs_weight_decay;
    int64_t epoch; /* of the last line with values, -1: none; in checkpoints */
} lr_monitor;

static fg_status on_measure(void *self, const fg_progress *at, fg_log_values *values, fg_error *err)
{
    lr_monitor *m = self;
    (void)err;
    if (m->is_by_epoch && at->epoch == m->epoch)
        return FG_OK;
    m->epoch = at->epoch;
    if (m->logs_momentum)
        fg_log_values_add(values, "momentum", at->momentum);
    if (m->logs_weight_decay)
        fg_log_values_add(values, "weight_decay", at->weight_decay);
    return FG_OK;
}

static size_t save(void *self, void *bytes, size_t size)
{
    const lr_monitor *m = self;
    if (size >= sizeof m->epoch)
        memcpy(bytes, &m->epoch, sizeof m->epoch);
    return sizeof m->epoch;
}

static fg_status load(void *self, const void *bytes, size_t size, fg_error *err)
{
    lr_monitor *m = self;
    if (size != sizeof m->epoch)
        return fgi_fail(err, FG_EFORMAT, "expected %zu bytes, got %zu", sizeof m->epoch, size);
    memcpy(&m->epoch, bytes, sizeof m->epoch);
    return FG_OK;
}

static fg_status create(const fg_option_values *values, void **out_self, fg_error *err)
{
    lr_monitor *m = fgi_calloc(1, sizeof *m);
    if (m == NULL)
        return fgi_no_memory(err);
    m->is_by_epoch = strcmp(fg_option_string(values, "interval"), "epoch") == 0;
    m->logs_momentum = fg_option_bool(values, "momentum");
    m->logs_weight_decay = fg_option_bool(values, "weight_decay");
    m->epoch = -1;
    *out_self = m;
    return FG_OK;
}

static const fg_option options[] = {
    {.name = "interval",
     .kind = FG_OPTION_CHOICE,
     .initial = "step",
     .range = "step|epoch",
     .example = "epoch",
     .help = "Which log lines contain the values. step: all; epoch: the first of each epoch."},
    {.name = "momentum",
     .kind = FG_OPTION_BOOL,
     .initial = "true",
     .example = "false",
     .help = "Log the momentum; for Adam and AdamW, beta1."},
    {.name = "weight_decay",
     .kind = FG_OPTION_BOOL,
     .initial = "true",
     .example = "false",
     .help = "Log the weight decay."},
};

static const fg_callback_ops ops = {
    .name = "lr_monitor", .measure = on_measure, .save = save, .load = load, .destroy = fgi_free};

const fg_callback_entry fgi_lr_monitor_row = {
    .entry = {.name = "lr_monitor",
              .help = "log momentum and weight decay, in addition to the learning rate",
              .spellings = "LearningRateMonitor",
              .options = options,
              .option_count = sizeof options / sizeof options[0]},
    .ops = &ops,
    .create = create};
