/* fit_settings.c - the effective settings of a fit: the batch on all devices, the number of steps,
 * and the learning rate and its schedule. They are determined before anything is compiled.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/reserved.h"
#include "mesh/mesh.h"
#include "option/option.h"
#include "optim/optimizer.h"
#include "train/trainer.h"

static const char *const rules[] = {"none", "linear", "sqrt"};
enum { NONE, LINEAR, SQRT, RULES };

/* More steps than any run has: no limit. */
static const int64_t ENDLESS = INT64_C(1000000000000);

static int rule_of(const fg_trainer_options *o)
{
    int rule = NONE;
    while (rule < RULES - 1 && strcmp(o->lr.lr_scaling, rules[rule]) != 0)
        rule++;
    return rule;
}

/* ---- the data -------------------------------------------------------------------------------- */

static const fg_option data_options[] = {
    FG_OPTION(fg_fit_data, batch_size, INT, "32", "1..16777216", "64",
              "Samples per device and batch."),
    FG_OPTION(fg_fit_data, global_batch_size, INT, "auto", "auto|1..16777216", "256",
              "Samples per batch on all devices together, instead of batch_size; must be divisible "
              "by the number of devices."),
    FG_OPTION(fg_fit_data, workers, INT, "auto", "auto|0..1024", "4",
              "Threads that load and prepare batches. auto: one per processor, within the CPU "
              "quota of a container, up to the number of batches that are prepared ahead. 0: "
              "batches are loaded between steps."),
};

static const fg_entry data_row = {
    .name = "fg_fit_data", .help = "batches", FG_OPTIONS(data_options, fg_fit_data)};

const fg_entry *fg_fit_data_row(void) { return &data_row; }

fg_status fgi_fit_data_complete(const fg_fit_data *given, fg_fit_data *out, fg_error *err)
{
    void *made = NULL;
    if (given->shuffle_buffer < 0 || given->shuffle_buffer > INT32_MAX)
        return fgi_fail(err, FG_EINVAL, "shuffle_buffer is %lld: expected at least 0",
                        (long long)given->shuffle_buffer);
    FGI_TRY(fgi_row_of(&data_row, given, &made, err));
    *out = *(const fg_fit_data *)made;
    fgi_free(made);
    return FG_OK;
}

/* ---- devices --------------------------------------------------------------------------------- */

/* All devices of the client, or of a preview. */
static int device_count(const fg_trainer *trainer)
{
    return trainer->client != NULL ? fg_client_info_of(trainer->client)->device_count
                                   : trainer->preview.device_count;
}

int fgi_batch_shards(const fg_trainer *trainer)
{
    return trainer->client != NULL ? fgi_client_mesh(trainer->client)->batch_shards
                                   : trainer->preview.batch_shards;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

int64_t fgi_limit(fg_amount limit, int64_t all)
{
    if (limit.fraction >= 1)
        return 0;
    return limit.fraction > 0 ? fg_amount_of(limit, all) : limit.count;
}

fg_status fgi_fraction_check(const char *name, fg_amount limit, const fg_dataset *dataset,
                             fg_error *err)
{
    if (limit.fraction <= 0 || limit.fraction >= 1 || fg_dataset_count(dataset) >= 0)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "%s is %g, but the source does not report its length: set a number of batches",
                    name, limit.fraction);
}

fg_status fgi_batch_size(const fg_trainer *trainer, const fg_fit_data *data, int64_t *out,
                         fg_error *err)
{
    fg_fit_data own;
    const int64_t shards = fgi_batch_shards(trainer);
    FGI_TRY(fgi_fit_data_complete(data, &own, err));
    const int64_t all = own.global_batch_size;
    if (data->batch_size != 0 && all != FG_AUTO)
        return fgi_fail(err, FG_EINVAL,
                        "batch_size %lld and global_batch_size %lld are both given: set only one",
                        (long long)own.batch_size, (long long)all);
    *out = all != FG_AUTO ? all : own.batch_size * shards;
    if (*out > INT32_MAX)
        return fgi_fail(err, FG_EINVAL, "batch_size times devices is %lld: expected at most %d",
                        (long long)*out, INT32_MAX);
    if (*out % shards == 0)
        return FG_OK;
    const int64_t below = *out / shards * shards;
    return fgi_fail(
        err, FG_EINVAL,
        "global_batch_size %lld cannot be divided evenly among %lld devices: use %lld or %lld",
        (long long)all, (long long)shards, (long long)(below > 0 ? below : shards),
        (long long)(below > 0 ? below + shards : 2 * shards));
}

static fg_status check_samples(const fg_trainer *trainer, int64_t count, fg_error *err)
{
    const int shards = fgi_batch_shards(trainer);
    if (count >= shards || count <= 0) /* 0 samples are another error: an epoch has no step */
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "%lld training %s fewer than the %d devices\n"
                    "use devices=%lld or fewer, or more data",
                    (long long)count, count == 1 ? "sample is" : "samples are", shards,
                    (long long)count);
}

/* ---- the learning rate ----------------------------------------------------------------------- */

/* Scales the optimizer's learning rate by the rule, where k is the number of samples in an update
 * divided by the number that the learning rate is meant for.
 * Sources: linear: Goyal et al. 2017, "Accurate, large minibatch SGD", section 2.1. sqrt:
 * Krizhevsky 2014, "One weird trick for parallelizing convolutional neural networks", section 5. */
static void scale_lr(fg_trainer *trainer)
{
    const int rule = rule_of(&trainer->options);
    fg_fit_settings *settings = &trainer->fit.settings;
    fg_optimizer *optimizer = trainer->model.optimizer;
    const double samples =
        (double)settings->global_batch_size * (double)settings->accumulate_grad_batches;
    const double k = samples / (double)settings->base_batch_size;
    const double factor = (rule == LINEAR ? k
                           : rule == SQRT ? sqrt(k)
                                          : 1) *
                          trainer->divergence.at.lr_factor;
    settings->lr_scaling = rules[rule];
    settings->lr_factor = factor;
    settings->lr_given = optimizer != NULL ? optimizer->base.hyper.lr : trainer->preview.lr;
    settings->lr = settings->lr_given * factor;
    if (optimizer != NULL)
        fgi_optimizer_scale_lr(optimizer, factor);
}

/* ---- the settings ---------------------------------------------------------------------------- */

static void describe(fg_trainer *trainer, int64_t size)
{
    const fg_trainer_options *o = &trainer->options;
    const int shards = fgi_batch_shards(trainer);
    trainer->fit.settings = (fg_fit_settings){
        .strategy = fgi_strategy_name(&o->devices, device_count(trainer)),
        .device_count = device_count(trainer),
        .batch_shards = shards,
        .batch_size = size / shards,
        .global_batch_size = size,
        .accumulate_grad_batches = fgi_accumulation_at(&trainer->accumulation, 0),
        .base_batch_size = o->lr.base_batch_size > 0 ? o->lr.base_batch_size : size / shards,
    };
}

/* Batches of an epoch without a limit; -1 for a source of unknown length. */
static int64_t count_batches(const fg_fit_data *data, int64_t size)
{
    const int64_t count = fg_dataset_count(data->train);
    if (count < 0)
        return -1;
    return data->drop_last ? count / size : count / size + (count % size != 0);
}

/* Sets the schedule; in a preview, only checks it. */
static fg_status set_schedule(fg_trainer *trainer, fg_error *err)
{
    fg_error why = {0};
    const fg_schedule *schedule = trainer->options.lr.schedule;
    const int64_t steps = trainer->fit.total_steps;
    const fg_status status =
        trainer->model.optimizer != NULL
            ? fg_optimizer_set_schedule(trainer->model.optimizer, schedule, steps, &why)
            : fgi_schedule_check_steps(schedule, steps, &why);
    if (status == FG_OK)
        return FG_OK;
    const char *advice = "";
    if (trainer->fit.total_steps < 0 && trainer->fit.batches_per_epoch < 0)
        advice = "\nthe training source does not report its length: set max_steps";
    else if (trainer->fit.total_steps < 0)
        advice = "\nthe run has no limit: set max_epochs or max_steps";
    return fgi_fail(err, status, "%s%s", why.message, advice);
}

/* Optimizer steps of the epochs [first, last), with this number of batches each. */
static int64_t steps_of(const fg_trainer *trainer, int64_t first, int64_t last, int64_t batches)
{
    return fgi_accumulation_steps(&trainer->accumulation, first, last, batches);
}

fg_status fgi_settings_make(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    const fg_trainer_options *o = &trainer->options;
    int64_t size = 0, all = INT64_MAX;
    if (data->train == NULL)
        return fgi_fail(err, FG_EINVAL, "no training data were given");
    FGI_TRY(fgi_batch_size(trainer, data, &size, err));
    const int64_t count = fg_dataset_count(data->train);
    FGI_TRY(check_samples(trainer, count, err));
    FGI_TRY(
        fgi_fraction_check("limit_train_batches", o->limits.limit_train_batches, data->train, err));
    int64_t batches = count_batches(data, size);
    if (batches == 0)
        return fgi_fail(err, FG_EINVAL, "an epoch has no step: %lld samples in batches of %lld%s",
                        (long long)count, (long long)size,
                        data->drop_last ? " (the incomplete one is dropped)" : "");
    trainer->fit.train_limit = fgi_limit(o->limits.limit_train_batches, batches);
    if (trainer->fit.train_limit > 0)
        batches =
            batches < 0 ? trainer->fit.train_limit : smaller(batches, trainer->fit.train_limit);
    if (batches < 0 || o->limits.max_epochs <= 0)
        all = o->limits.max_steps > 0 ? INT64_MAX : -1;
    else if (o->limits.max_epochs <= ENDLESS / batches)
        all = steps_of(trainer, 0, o->limits.max_epochs, batches);
    trainer->fit.batches_per_epoch = batches;
    trainer->fit.total_steps = o->limits.max_steps > 0 ? smaller(all, o->limits.max_steps) : all;
    describe(trainer, size);
    scale_lr(trainer);
    return set_schedule(trainer, err);
}

/* Remaining steps of this epoch. */
static int64_t left_of_epoch(const fg_trainer *trainer)
{
    const int64_t samples = trainer->cursor.sample_count < 0
                                ? INT64_MAX / 2
                                : trainer->cursor.sample_count - trainer->cursor.position;
    const int64_t size = trainer->cursor.batch_size, epoch = trainer->cursor.epoch;
    if (trainer->cursor.has_read_epoch)
        return 0;
    const int64_t left =
        trainer->fit.drop_last ? samples / size : samples / size + (samples % size != 0);
    if (trainer->fit.train_limit <= 0)
        return steps_of(trainer, epoch, epoch + 1, left);
    const int64_t allowed = trainer->fit.train_limit - trainer->cursor.epoch_batches;
    return steps_of(trainer, epoch, epoch + 1, smaller(left, allowed > 0 ? allowed : 0));
}

int64_t fg_fit_settings_epoch(const fg_fit_settings *settings, int64_t index)
{
    int i = settings->part_count - 1;
    while (i >= 0 && settings->part[i].step > index)
        i--;
    const fg_epoch_part *part = &settings->part[i >= 0 ? i : 0];
    return i >= 0 ? part->epoch + (index - part->step) / part->steps : -1;
}

void fgi_settings_compare(const fg_trainer *trainer)
{
    const fg_fit_settings *settings = &trainer->fit.settings;
    const fg_schedule *schedule = trainer->options.lr.schedule;
    const int64_t step = trainer->cursor.step, had = trainer->cursor.total_steps;
    const int64_t have = settings->total_steps;
    if (schedule == NULL || had <= 0 || have <= step || had == have)
        return;
    const double before = fg_schedule_lr(schedule, settings->lr, step, had);
    const double now = fg_schedule_lr(schedule, settings->lr, step, have);
    if (fabs(now - before) > 1e-6 * fabs(before))
        fgi_log(FG_LOG_WARNING,
                "the learning-rate schedule was planned for %lld steps and now has %lld: training "
                "continues with a learning rate of %.4g instead of %.4g; for a new cycle, start a "
                "run from these weights instead",
                (long long)had, (long long)have, now, before);
}

/* The steps after which an epoch is over. */
static int64_t end_of_epoch(const fg_fit_settings *settings, int64_t epoch)
{
    int i = settings->part_count - 1;
    while (i > 0 && settings->part[i].epoch > epoch)
        i--;
    const fg_epoch_part *part = &settings->part[i];
    return part->step + (epoch - part->epoch + 1) * part->steps;
}

int64_t fgi_settings_validations(const fg_trainer *trainer)
{
    enum { MANY = 1000000 }; /* epochs: the rest is not counted */
    const fg_fit_settings *settings = &trainer->fit.settings;
    const fg_trainer_validation *o = &trainer->options.validation;
    const int64_t all = settings->total_steps, first = trainer->cursor.epoch;
    const int64_t steps = o->val_every_steps > 0 ? o->val_every_steps : INT64_MAX;
    if (all < 0 || settings->part_count == 0)
        return -1;
    int64_t count = all / steps - trainer->cursor.step / steps;
    for (int64_t epoch = first; epoch < settings->total_epochs && epoch < first + MANY; epoch++) {
        const int64_t end = end_of_epoch(settings, epoch);
        count += o->val_every_epochs > 0 && (epoch + 1) % o->val_every_epochs == 0 && end < all &&
                 end % steps != 0;
    }
    return count + (all % steps != 0); /* the last weights are validated in any case */
}

static void add_part(fg_fit_settings *settings, fg_epoch_part part)
{
    const int count = settings->part_count;
    if (part.steps <= 0 || (count > 0 && settings->part[count - 1].steps == part.steps))
        return;
    settings->part[settings->part_count++] = part;
}

/* The steps of the epochs, starting with the rest of this one. */
static void describe_epochs(const fg_trainer *trainer, fg_fit_settings *settings)
{
    const fgi_accumulation *a = &trainer->accumulation;
    const int64_t batches = trainer->fit.batches_per_epoch, present = trainer->cursor.epoch;
    fg_epoch_part part = {present, trainer->cursor.step, 0};
    settings->part_count = 0;
    if (batches < 0)
        return;
    if (trainer->cursor.epoch_batches > 0) {
        part.steps = left_of_epoch(trainer);
        add_part(settings, part);
        part = (fg_epoch_part){present + 1, part.step + part.steps, 0};
    }
    for (int i = 0; i < a->count; i++) {
        const int64_t end = i + 1 < a->count ? a->epoch[i + 1] : part.epoch + 1;
        if (end <= part.epoch)
            continue;
        part.steps = steps_of(trainer, part.epoch, part.epoch + 1, batches);
        add_part(settings, part);
        if (end - part.epoch > ENDLESS / part.steps) /* no run has the next part */
            return;
        part.step += (end - part.epoch) * part.steps;
        part.epoch = end;
    }
}

/* All epochs of a run of this number of steps; -1: no limit, or unknown. */
static int64_t count_epochs(const fg_trainer *trainer, int64_t steps)
{
    const fgi_cursor *cursor = &trainer->cursor;
    const int64_t most = trainer->options.limits.max_epochs;
    if (trainer->fit.settings.part_count == 0 || steps < 0 || steps >= ENDLESS)
        return most > 0 ? most : -1;
    if (steps <= cursor->step) /* nothing is left */
        return cursor->epoch + (cursor->epoch_batches > 0);
    return fg_fit_settings_epoch(&trainer->fit.settings, steps - 1) + 1;
}

fg_status fgi_settings_settle(fg_trainer *trainer, fg_error *err)
{
    const fg_trainer_options *o = &trainer->options;
    fg_fit_settings *settings = &trainer->fit.settings;
    int64_t all = INT64_MAX;
    scale_lr(trainer); /* the checkpoint may have lowered it */
    const int64_t next = trainer->cursor.epoch + 1, epochs = o->limits.max_epochs - next;
    const int64_t batches = trainer->fit.batches_per_epoch;
    if (trainer->fit.batches_per_epoch < 0 || o->limits.max_epochs <= 0)
        all = o->limits.max_steps > 0 ? INT64_MAX : -1;
    else if (epochs < 0)
        all = trainer->cursor.step;
    else if (epochs <= ENDLESS / batches)
        all = trainer->cursor.step + left_of_epoch(trainer) +
              steps_of(trainer, next, o->limits.max_epochs, batches);
    if (o->limits.max_steps > 0)
        all = smaller(all, o->limits.max_steps > trainer->cursor.step ? o->limits.max_steps
                                                                      : trainer->cursor.step);
    settings->steps_per_epoch = batches < 0 ? -1 : steps_of(trainer, next - 1, next, batches);
    settings->total_steps = all < ENDLESS ? all : -1;
    describe_epochs(trainer, settings);
    settings->total_epochs = count_epochs(trainer, all);
    for (int i = 0; i < 5 && all < 0; i++) /* the schedule needs no length, or it was refused */
        settings->lr_at[i] = fg_schedule_lr(o->lr.schedule, settings->lr, 0, all);
    for (int i = 0; i < 5 && all > 0; i++)
        settings->lr_at[i] = fg_schedule_lr(o->lr.schedule, settings->lr,
                                            (all - 1) / 4 * i + (all - 1) % 4 * i / 4, all);
    if (all == 0 || trainer->model.optimizer == NULL)
        return FG_OK; /* nothing to do, or a preview */
    return fg_optimizer_set_schedule(trainer->model.optimizer, o->lr.schedule, all, err);
}

const fg_fit_settings *fg_trainer_settings(const fg_trainer *trainer)
{
    return &trainer->fit.settings;
}

/* ---- before anything is opened --------------------------------------------------------------- */

static bool is(const char *text, const char *word) { return text != NULL && !strcmp(text, word); }

/* The number of devices that the options give; 0: it depends on the machine. */
static int count_devices(const fg_trainer_options *o, const fgi_device_list *list)
{
    const fg_mesh_axis *axes = o->devices.mesh.axes;
    const int listed = fgi_device_list_size(list);
    int64_t product = 1;
    if (listed > 0)
        return listed;
    if (is(o->devices.strategy, "single"))
        return 1;
    for (int i = 0; i < FG_MAX_MESH_AXES && axes[i].name[0] != '\0'; i++)
        product = axes[i].size > 0 && product <= FGI_DEVICES_MAX ? product * axes[i].size : 0;
    if (axes[0].name[0] != '\0' && product > 0 && product <= FGI_DEVICES_MAX)
        return (int)product;
    return fgi_accelerator_devices(o->devices.accelerator);
}

/* The shards of a batch on `count` devices. */
static fg_status count_shards(fg_trainer *trainer, int count, fg_error *err)
{
    fgi_mesh mesh;
    fgi_mesh_device *devices = fgi_calloc((size_t)count, sizeof *devices);
    if (devices == NULL)
        return fgi_no_memory(err);
    for (int i = 0; i < count; i++)
        devices[i] = (fgi_mesh_device){.id = i, .local_index = i};
    const fg_status status =
        fgi_mesh_init(&mesh, &trainer->options.devices.mesh, devices, count, err);
    if (status == FG_OK) {
        trainer->preview.device_count = count;
        trainer->preview.batch_shards = mesh.batch_shards;
    }
    fgi_free(devices);
    return status;
}

static fg_status find_devices(fg_trainer *trainer, fg_error *err)
{
    const fg_trainer_options *o = &trainer->options;
    fgi_device_list list;
    FGI_TRY(fgi_device_list_parse(o->devices.devices, &list, err));
    const int count = o->devices.client == NULL ? count_devices(o, &list) : 0;
    return count > 0 ? count_shards(trainer, count, err) : fg_trainer_connect(trainer, err);
}

/* Computes the settings at the first step. */
static fg_status make_settings(fg_trainer *trainer, const fg_fit_data *data, fg_error *err)
{
    FGI_TRY_RESERVED(fg_fit_data, data, err);
    FGI_TRY(find_devices(trainer, err));
    FGI_TRY(fgi_settings_make(trainer, data, err));
    trainer->cursor.sample_count = fg_dataset_count(data->train);
    trainer->cursor.batch_size = trainer->fit.settings.global_batch_size;
    trainer->fit.drop_last = data->drop_last;
    return fgi_settings_settle(trainer, err);
}

fg_status fg_trainer_preview_fit(fg_trainer *trainer, const fg_fit_data *data, double lr,
                                 fg_fit_settings *out, fg_error *err)
{
    trainer->preview.lr = lr;
    const fg_status status = make_settings(trainer, data, err);
    *out = status == FG_OK ? trainer->fit.settings : (fg_fit_settings){0};
    return status;
}

fg_status fg_trainer_preview(const fg_trainer_options *options, const fg_fit_data *data, double lr,
                             fg_fit_settings *out, fg_error *err)
{
    fg_trainer *trainer = NULL;
    *out = (fg_fit_settings){0};
    FGI_TRY(fg_trainer_create(options, &trainer, err));
    const fg_status status = fg_trainer_preview_fit(trainer, data, lr, out, err);
    fg_trainer_destroy(trainer);
    return status;
}
