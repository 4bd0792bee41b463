/* toy_place.h - what a unit test of the Trainer works with: the fake plugin and a client of it, toy
 * data for training and validation, the toy task. Included by one file of a program.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_TOY_PLACE_H
#define FGT_TOY_PLACE_H

#include "base/alloc.h"
#include "fakepjrt/fake_control.h"
#include "toy.h"

static fake_control fake;
static fg_client *client;
static fg_dataset *train_data, *val_data;
static toy model;
static const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};

/* For a group's set-up: so many samples; 0, or 1 when that fails. */
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

/* Batches of 4. */
static inline fg_fit_data the_data(void)
{
    return (fg_fit_data){.train = train_data,
                         .val = val_data,
                         .test = val_data,
                         .predict = val_data,
                         .batch_size = 4,
                         .workers = -1};
}

#endif
