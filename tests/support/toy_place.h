/* toy_place.h - what a unit test of the Trainer works with: the fake plugin and a client of it, toy
 * data for training and validation, the toy task. Included by one file of a program.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_TOY_PLACE_H
#define FGT_TOY_PLACE_H

#include <signal.h>

#include "base/alloc.h"
#include "fakepjrt/fake_control.h"
#include "toy.h"

static fake_control fake;
static fg_client *client;
static fg_dataset *train_data, *val_data;
static toy model;
static const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};

/* For a group's set-up: that many samples; 0, or 1 when that fails. */
static int open_place(int64_t train_count, int64_t val_count)
{
    fg_error err = {0};
    const fg_client_options options = {
        .accelerator = "cpu", .plugin_path = FAKE_PATH, .cache_dir = ""};
    if (!fake_open(&fake))
        return 1;
    train_data = toy_data(train_count, 1);
    val_data = toy_data(val_count, 2);
    return fg_client_open(&options, &client, &err) != FG_OK;
}

/* For its teardown: fails when something is still allocated. */
static int close_all(void **state)
{
    (void)state;
    fg_dataset_destroy(train_data);
    fg_dataset_destroy(val_data);
    fg_client_close(client);
    return fgi_alloc_live() != 0;
}

/* For the set-up of tests that raise signals, which background jobs ignore: the default actions,
 * and 10 and 5 samples. */
static inline int open_with_signals(void **state)
{
    (void)state;
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (sigaction(signals[i], &(struct sigaction){.sa_handler = SIG_DFL}, NULL) != 0)
            return -1;
    return open_place(10, 5);
}

/* Batches of 4. */
static inline fg_fit_data the_data(void)
{
    return (fg_fit_data){.train = train_data,
                         .val = val_data,
                         .test = val_data,
                         .predict = val_data,
                         .batch_size = 4,
                         .workers = FG_NONE};
}

/* Of these data: 6 steps, a validation every 2, a checkpoint at step 4 and at each end of an epoch.
 */
static const fg_trainer_options two_epochs = {.checkpoints.wait_for_saves = true,
                                              .limits.max_epochs = 2,
                                              .output.log_every = 2,
                                              .validation.val_every_steps = 2,
                                              .checkpoints.ckpt_every_steps = 4};

/* A Trainer with these options on the fake plugin's client, and a recorder. */
static inline fg_trainer *create_recorded(const fg_trainer_options *options, recorder *r)
{
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    fg_trainer_options o = *options;
    o.devices.client = client;
    fgt_ok(toy_create(&o, &trainer, &err));
    fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, r, &err));
    return trainer;
}

#endif
