/* feed.c - uploads batches and launches steps ahead of the device.
 *
 * A launch returns at once; at most FGI_IN_FLIGHT are under way. Host memory of a batch goes back
 * to its loader when the devices are done with it, which a plugin's thread reports.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"
#include "train/trainer.h"

/* A batch whose fields are being read by devices. */
typedef struct upload {
    fgi_feed *feed;
    fg_loader *loader;
    const fg_host_batch *batch;
    atomic_int open; /* fields, and one for the launching thread */
} upload;

fg_status fgi_feed_init(fgi_feed *feed, fg_error *err)
{
    FGI_TRY(fgi_mutex_init(&feed->mutex, err));
    const fg_status status = fgi_cond_init(&feed->changed, err);
    if (status != FG_OK) {
        (void)pthread_mutex_destroy(&feed->mutex);
        return status;
    }
    for (int i = 0; i < FGI_IN_FLIGHT; i++)
        feed->flight[i].feed = feed;
    feed->is_init = true;
    return FG_OK;
}

void fgi_feed_fini(fgi_feed *feed)
{
    if (!feed->is_init)
        return;
    (void)pthread_cond_destroy(&feed->changed);
    (void)pthread_mutex_destroy(&feed->mutex);
    feed->is_init = false;
}

/* ---- host memory of batches ------------------------------------------------------------------ */

static void upload_part_done(upload *u)
{
    if (atomic_fetch_sub(&u->open, 1) > 1)
        return;
    fgi_feed *feed = u->feed;
    fg_loader_release(u->loader, u->batch);
    fgi_free(u);
    (void)pthread_mutex_lock(&feed->mutex);
    feed->uploads_open--;
    (void)pthread_cond_broadcast(&feed->changed);
    (void)pthread_mutex_unlock(&feed->mutex);
}

static void on_upload_done(void *self, fg_status status, const char *message)
{
    (void)status, (void)message; /* the program that reads the array reports it */
    upload_part_done(self);
}

static upload *upload_begin(fgi_feed *feed, fgi_stage *stage, const fg_host_batch *batch)
{
    upload *u = fgi_calloc(1, sizeof *u);
    if (u == NULL) {
        fg_loader_release(stage->loader, batch);
        return NULL;
    }
    *u = (upload){.feed = feed, .loader = stage->loader, .batch = batch};
    atomic_init(&u->open, 1);
    (void)pthread_mutex_lock(&feed->mutex);
    feed->uploads_open++;
    (void)pthread_mutex_unlock(&feed->mutex);
    return u;
}

static fg_status upload_field(fg_trainer *trainer, upload *u, int f, fg_array **out, fg_error *err)
{
    fgi_event *done = NULL;
    FGI_TRY(fgi_array_upload(trainer->client, &u->batch->types[f], u->batch->data[f],
                             FGI_UPLOAD_ASYNC, out, &done, err));
    atomic_fetch_add(&u->open, 1);
    const fg_status status = fgi_event_on_ready(done, on_upload_done, u, err);
    if (status != FG_OK)
        atomic_fetch_sub(&u->open, 1);
    fgi_event_destroy(done);
    return status;
}

/* ---- flights --------------------------------------------------------------------------------- */

static void on_step_done(void *self, fg_status status, const char *message)
{
    fgi_flight *flight = self;
    fgi_feed *feed = flight->feed;
    const int64_t now = fgi_now_ns();
    (void)pthread_mutex_lock(&feed->mutex);
    flight->done_ns = now;
    flight->is_done = true;
    if (status != FG_OK)
        (void)fgi_fail(&flight->error, status, "%s", message != NULL ? message : "");
    (void)pthread_cond_broadcast(&feed->changed);
    (void)pthread_mutex_unlock(&feed->mutex);
}

/* Takes finished flights off the list; waits until at most `keep` are under way. */
static fg_status retire(fg_trainer *trainer, int64_t keep, fg_error *err)
{
    fgi_feed *feed = &trainer->feed;
    fg_status status = FG_OK;
    (void)pthread_mutex_lock(&feed->mutex);
    while (feed->retired < feed->launched) {
        fgi_flight *flight = &feed->flight[feed->retired % FGI_IN_FLIGHT];
        if (!flight->is_done && feed->launched - feed->retired <= keep)
            break;
        const int64_t begin = flight->is_done ? 0 : fgi_now_ns();
        while (!flight->is_done)
            (void)pthread_cond_wait(&feed->changed, &feed->mutex);
        if (begin != 0)
            feed->wait_ns += fgi_now_ns() - begin;
        if (flight->error.status != FG_OK && status == FG_OK) {
            status = flight->error.status;
            if (err != NULL)
                *err = flight->error;
        }
        fgi_ledger_retired(&trainer->ledger, feed->retired, flight->launch_ns, flight->done_ns);
        feed->retired++;
    }
    (void)pthread_mutex_unlock(&feed->mutex);
    return status;
}

fg_status fgi_feed_drain(fg_trainer *trainer, fg_error *err)
{
    fgi_feed *feed = &trainer->feed;
    const fg_status status = retire(trainer, 0, err);
    const int64_t begin = fgi_now_ns();
    (void)pthread_mutex_lock(&feed->mutex);
    while (feed->uploads_open > 0)
        (void)pthread_cond_wait(&feed->changed, &feed->mutex);
    (void)pthread_mutex_unlock(&feed->mutex);
    feed->wait_ns += fgi_now_ns() - begin;
    return status;
}

fg_status fgi_feed_next(fg_trainer *trainer, fgi_stage *stage, const fg_host_batch **out,
                        fg_error *err)
{
    const int64_t begin = fgi_now_ns();
    const fg_status status = fg_loader_next(stage->loader, out, err);
    const int64_t end = fgi_now_ns();
    trainer->feed.wait_ns += end - begin;
    fgi_ledger_add(&trainer->ledger, FGI_INPUT, begin, end);
    return status;
}

/* ---- launching ------------------------------------------------------------------------------- */

/* Gives the step its numbers: rows that count, key of randomness, learning rate. */
static void set_scalars(fg_trainer *trainer, fgi_stage *stage, const fg_host_batch *batch)
{
    stage->valid.value.s32 = (int32_t)batch->valid;
    if (stage->kind != FGI_TRAIN)
        return;
    fg_trace_set_seed(stage->trace, trainer->options.seed, (uint64_t)trainer->step);
    fg_optimizer_begin_step(trainer->optimizer, trainer->step);
}

static fg_status launch(fg_trainer *trainer, fgi_stage *stage, fg_array *const *feeds,
                        fg_array **out_prediction, fg_error *err)
{
    fgi_feed *feed = &trainer->feed;
    fgi_flight *flight = &feed->flight[feed->launched % FGI_IN_FLIGHT];
    const size_t count = (size_t)stage->field_count + (stage->kind == FGI_PREDICT ? 0 : 1);
    fg_array *out = NULL;
    fgi_event *done = NULL;
    flight->launch_ns = fgi_now_ns();
    flight->is_done = false;
    flight->error = (fg_error){0};
    FGI_TRY(fgi_step_program_launch(stage->program, feeds, count, &out, &done, err));
    fgi_ledger_launched(&trainer->ledger, feed->launched);
    feed->launched++;
    const fg_status status = fgi_event_on_ready(done, on_step_done, flight, err);
    fgi_event_destroy(done);
    if (status != FG_OK) { /* nobody will report this flight's end: take it as ended */
        on_step_done(flight, status, err != NULL ? err->message : "");
        fg_array_release(out);
        return status;
    }
    if (stage->kind == FGI_PREDICT) {
        *out_prediction = out;
        return FG_OK;
    }
    fg_array_release(stage->sums);
    stage->sums = out;
    stage->fresh.value.u32 = 0;
    return FG_OK;
}

fg_status fgi_feed_launch(fg_trainer *trainer, fgi_stage *stage, const fg_host_batch *batch,
                          fg_array **out_prediction, fg_error *err)
{
    fg_array *feeds[FG_MAX_FIELDS + 1] = {NULL};
    upload *u = upload_begin(&trainer->feed, stage, batch);
    if (u == NULL)
        return fgi_no_memory(err);
    const int64_t valid = batch->valid;
    fg_status status = retire(trainer, FGI_IN_FLIGHT - 1, err);
    const int64_t begin = fgi_now_ns();
    for (int f = 0; status == FG_OK && f < stage->field_count; f++)
        status = upload_field(trainer, u, f, &feeds[f], err);
    fgi_ledger_add(&trainer->ledger, FGI_UPLOAD, begin, fgi_now_ns());
    if (status == FG_OK) {
        set_scalars(trainer, stage, batch);
        feeds[stage->field_count] = stage->sums;
        status = launch(trainer, stage, feeds, out_prediction, err);
    }
    for (int f = 0; f < stage->field_count; f++)
        fg_array_release(feeds[f]);
    upload_part_done(u);
    trainer->ledger.samples += valid;
    return status;
}
