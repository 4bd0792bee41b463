/* feed.c - uploads batches and dispatches steps asynchronously.
 *
 * A launch returns at once; at most FGI_IN_FLIGHT are under way. The host memory of a batch is
 * returned to its loader when the devices have read it, which a thread of the plugin reports.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"
#include "train/step/stage.h"
#include "train/step/feed.h"
#include "train/watch/call.h"

struct fgi_feed {
    fgi_feed_uses of;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int64_t launched, retired;        /* steps */
    int64_t uploads_open;             /* batches whose host memory devices still read */
    fgi_flight flight[FGI_IN_FLIGHT]; /* by number modulo FGI_IN_FLIGHT */
    atomic_int under_way[4];          /* batches of each stage */
};

/* A batch, or a stack of batches, whose fields are being read by devices. */
typedef struct upload {
    fgi_feed *feed;
    fg_loader *loader;
    const fg_host_batch *batch; /* of the loader; NULL: */
    fgi_stack *stack;
    const fg_type *types;
    void *const *data;
    atomic_int open; /* fields still being read, plus one for the launching thread */
} upload;

fg_status fgi_feed_create(const fgi_feed_uses *uses, fgi_feed **out, fg_error *err)
{
    *out = NULL;
    fgi_feed *feed = fgi_calloc(1, sizeof *feed);
    if (feed == NULL)
        return fgi_no_memory(err);
    feed->of = *uses;
    const fg_status status = fgi_monitor_init(&feed->mutex, &feed->changed, err);
    if (status == FG_OK)
        *out = feed;
    else
        fgi_free(feed);
    return status;
}

void fgi_feed_destroy(fgi_feed *feed)
{
    if (feed == NULL)
        return;
    fgi_monitor_fini(&feed->mutex, &feed->changed);
    fgi_free(feed);
}

int fgi_feed_under_way(const fgi_feed *feed, fgi_stage_kind kind)
{
    return feed != NULL ? atomic_load(&feed->under_way[kind]) : 0;
}

/* ---- host memory of batches ------------------------------------------------------------------ */

static void upload_part_done(upload *u)
{
    if (atomic_fetch_sub(&u->open, 1) > 1)
        return;
    fgi_feed *feed = u->feed;
    fgi_stack *stack = u->stack;
    fg_loader_recycle(u->loader, u->batch);
    fgi_free(u);
    (void)pthread_mutex_lock(&feed->mutex);
    feed->uploads_open--;
    if (stack != NULL)
        stack->is_read = false;
    (void)pthread_cond_broadcast(&feed->changed);
    (void)pthread_mutex_unlock(&feed->mutex);
}

static void on_upload_done(void *self, const fg_error *failed)
{
    (void)failed; /* the program that reads the array reports it */
    upload_part_done(self);
}

/* Of the batch or, if it is NULL, the stack that is being filled. */
static upload *upload_begin(fgi_feed *feed, fgi_stage *stage, const fg_host_batch *batch)
{
    upload *u = fgi_calloc(1, sizeof *u);
    fgi_stack *stack = batch == NULL ? stage->filling : NULL;
    if (u == NULL) {
        fg_loader_recycle(stage->loader, batch);
        return NULL;
    }
    *u = (upload){.feed = feed,
                  .loader = stage->loader,
                  .batch = batch,
                  .stack = stack,
                  .types = batch != NULL ? batch->types : stack->type,
                  .data = batch != NULL ? (void *const *)batch->data : stack->data};
    atomic_init(&u->open, 1);
    (void)pthread_mutex_lock(&feed->mutex);
    feed->uploads_open++;
    if (stack != NULL)
        stack->is_read = true;
    (void)pthread_mutex_unlock(&feed->mutex);
    return u;
}

static fg_status upload_field(const fgi_stage *stage, upload *u, int f, fg_array **out,
                              fg_error *err)
{
    fgi_event *done = NULL;
    const fgi_sharding sharding = fgi_stage_input_sharding(stage);
    FGI_TRY(fgi_array_upload(stage->client, &u->types[f], &sharding, u->data[f], FGI_UPLOAD_ASYNC,
                             out, &done, err));
    (void)atomic_fetch_add(&u->open, 1);
    const fg_status status = fgi_event_on_ready(done, NULL, on_upload_done, u, err);
    if (status != FG_OK) { /* there will be no callback when the device has read the memory: wait */
        fg_array_release(*out);
        *out = NULL;
        const fg_status late = fgi_event_wait(done, NULL);
        (void)late; /* the upload has failed already */
        (void)atomic_fetch_sub(&u->open, 1);
    }
    fgi_event_destroy(done);
    return status;
}

/* Waits until the devices read fewer batches than a loader has, so that it can fill one. */
static void await_slot(fgi_feed *feed)
{
    (void)pthread_mutex_lock(&feed->mutex);
    while (feed->uploads_open >= FGI_SLOTS)
        (void)pthread_cond_wait(&feed->changed, &feed->mutex);
    (void)pthread_mutex_unlock(&feed->mutex);
}

fg_status fgi_feed_next(fgi_feed *feed, fgi_stage *stage, const fg_host_batch **out, fg_error *err)
{
    const fgi_stage_kind kind = stage->kind;
    fgi_span span = {FGI_INPUT, (int)kind, kind == FGI_TRAIN ? feed->of.cursor->step + 1 : -1,
                     "trainer", .name = "wait for input"};
    fgi_span_begin(feed->of.spans, &span);
    await_slot(feed);
    const fg_status status = fg_loader_next(stage->loader, out, err);
    fgi_span_end(&span);
    return status;
}

/* ---- flights --------------------------------------------------------------------------------- */

/* One event of the flight has happened. */
static void flight_part_done(fgi_flight *flight)
{
    flight->open--;
    (void)pthread_cond_broadcast(&flight->feed->changed);
}

static void on_input_ready(void *self, const fg_error *failed)
{
    fgi_flight *flight = self;
    (void)failed; /* as above */
    const int64_t now = fgi_now_ns();
    (void)pthread_mutex_lock(&flight->feed->mutex);
    flight->inputs_ns = now > flight->inputs_ns ? now : flight->inputs_ns;
    flight_part_done(flight);
    (void)pthread_mutex_unlock(&flight->feed->mutex);
}

static void on_step_done(void *self, const fg_error *failed)
{
    fgi_flight *flight = self;
    const int64_t now = fgi_now_ns();
    if (flight->is_batch)
        (void)atomic_fetch_sub(&flight->feed->under_way[flight->kind], 1);
    if (flight->is_step && flight->kind == FGI_TRAIN)
        fgi_signals_steps(-(int)flight->steps);
    (void)pthread_mutex_lock(&flight->feed->mutex);
    flight->done_ns = now;
    if (failed != NULL)
        flight->error = *failed;
    flight_part_done(flight);
    (void)pthread_mutex_unlock(&flight->feed->mutex);
}

/* During a profile: the step has ended on one device. */
static void on_part_done(void *self, int part)
{
    const fgi_flight *flight = self;
    flight->part_done_ns[part] = fgi_now_ns();
}

/* Another event that the flight waits for: `done` is called when it happens, and part_done, which
 * may be NULL, for each device before. */
static void flight_watch(fgi_flight *flight, fgi_event *event, fgi_event_part_fn *part_done,
                         fgi_event_fn *done)
{
    fgi_feed *feed = flight->feed;
    fg_error late = {0};
    (void)pthread_mutex_lock(&feed->mutex);
    flight->open++;
    (void)pthread_mutex_unlock(&feed->mutex);
    if (fgi_event_on_ready(event, part_done, done, flight, NULL) == FG_OK)
        return;
    const fg_status status = fgi_event_wait(event, &late); /* there will be no callback: wait */
    done(flight, status != FG_OK ? &late : NULL);
}

/* Adds which step it was. */
static fg_status name_step(const fgi_flight *flight, fg_status status, fg_error *err)
{
    return fgi_context(err, status, "%s step %lld", fgi_stage_noun(flight->kind),
                       (long long)flight->number);
}

/* A step failed after its launch; in training, the weights were donated to it and are lost. */
static fg_status flight_failed(fgi_feed *feed, const fgi_flight *flight, fg_error *err)
{
    int64_t *lost_step = feed->of.lost_step;
    if (flight->kind == FGI_TRAIN && *lost_step == 0)
        *lost_step = flight->number;
    if (err != NULL)
        *err = flight->error;
    return name_step(flight, flight->error.status, err);
}

/* Waits for all events of the flight. The feed's lock is held. */
static void await_flight(fgi_feed *feed, const fgi_flight *flight)
{
    fgi_span span = {FGI_STEP,  (int)flight->kind,       flight->number,
                     "trainer", .name = "wait for step", .awaited = flight->done};
    fgi_span_begin(feed->of.spans, &span);
    while (flight->open > 0)
        (void)pthread_cond_wait(&feed->changed, &feed->mutex);
    fgi_span_end(&span);
}

/* Removes finished flights; waits until at most `keep` are under way. */
static fg_status retire(fgi_feed *feed, int64_t keep, fg_error *err)
{
    fg_status status = FG_OK;
    (void)pthread_mutex_lock(&feed->mutex);
    while (feed->retired < feed->launched) {
        fgi_flight *flight = &feed->flight[feed->retired % FGI_IN_FLIGHT];
        if (flight->open > 0 && feed->launched - feed->retired <= keep)
            break;
        if (flight->open > 0)
            await_flight(feed, flight);
        fgi_step_profile_retired(feed->of.profile, flight);
        fgi_event_destroy(flight->done);
        flight->done = NULL;
        fgi_watch_done(feed->of.watchdog, flight->kind, flight->number);
        if (flight->error.status != FG_OK && status == FG_OK)
            status = flight_failed(feed, flight, err);
        fgi_ledger_retired(feed->of.ledger, feed->retired, flight);
        feed->retired++;
    }
    (void)pthread_mutex_unlock(&feed->mutex);
    return status;
}

fg_status fgi_feed_drain(fgi_feed *feed, fg_error *err)
{
    const fg_status status = retire(feed, 0, err);
    fgi_span span = {FGI_UPLOAD, .number = -1};
    fgi_span_begin(feed->of.spans, &span);
    (void)pthread_mutex_lock(&feed->mutex);
    while (feed->uploads_open > 0)
        (void)pthread_cond_wait(&feed->changed, &feed->mutex);
    (void)pthread_mutex_unlock(&feed->mutex);
    fgi_span_end(&span);
    return status;
}

void fgi_feed_close_window(fgi_feed *feed, int64_t step)
{
    fgi_ledger_close_window(feed->of.ledger, feed->launched - 1, step);
}

/* ---- launching ------------------------------------------------------------------------------- */

/* Initializes the flight of the next launch; u NULL: an update. */
static fgi_flight *next_flight(fgi_feed *feed, const fgi_stage *stage, const upload *u)
{
    fgi_flight *flight = &feed->flight[feed->launched % FGI_IN_FLIGHT];
    const fgi_stage_kind kind = stage->kind;
    const bool is_part = stage->accumulator != NULL && u != NULL;
    const fgi_stack *stack = u != NULL ? u->stack : NULL;
    /* the cursor is after the steps of a stack */
    const int64_t next = feed->of.cursor->step + (stack != NULL && !is_part ? 0 : 1);
    *flight = (fgi_flight){
        .feed = feed,
        .kind = kind,
        .is_step = !is_part && (kind == FGI_TRAIN || !feed->of.call->is_running),
        .is_part = is_part,
        .is_batch = u != NULL,
        .number = u == NULL || kind == FGI_TRAIN ? next : u->batch->index + 1,
        .steps = is_part         ? 0
                 : stack != NULL ? stack->count
                                 : 1,
        .samples = stack != NULL ? stack->samples
                   : u != NULL   ? u->batch->valid
                                 : 0,
    };
    return flight;
}

/* Starts uploading the batch. */
static fg_status send(fgi_feed *feed, fgi_stage *stage, fgi_flight *flight, upload *u,
                      fg_array **out_fields, fg_error *err)
{
    fg_status status = FG_OK;
    fgi_span span = {FGI_UPLOAD, (int)flight->kind, flight->number, "trainer", .name = "upload"};
    fgi_span_begin(feed->of.spans, &span);
    for (int f = 0; status == FG_OK && f < stage->spec.field_count; f++) {
        fgi_event *ready = NULL;
        status = upload_field(stage, u, f, &out_fields[f], err);
        if (status == FG_OK)
            status = fgi_array_ready(out_fields[f], &ready, err);
        if (status == FG_OK && !fgi_event_is_ready(ready))
            flight_watch(flight, ready, NULL, on_input_ready);
        fgi_event_destroy(ready);
    }
    fgi_span_end(&span);
    return status;
}

/* A program was launched: retire waits for its end. */
static void launched(fgi_feed *feed, fgi_flight *flight, fgi_event *take_done)
{
    fgi_ledger_launched(feed->of.ledger, feed->launched);
    flight->done = take_done;
    flight->part_done_ns = fgi_step_profile_times(feed->of.profile, feed->launched, take_done);
    feed->launched++;
    if (flight->is_batch)
        (void)atomic_fetch_add(&feed->under_way[flight->kind], 1);
    flight_watch(flight, take_done, flight->part_done_ns != NULL ? on_part_done : NULL,
                 on_step_done);
}

/* Launches the stage's program on a batch or, if the flight is one, the update. */
static fg_status launch(fgi_feed *feed, fgi_stage *stage, fgi_flight *flight,
                        fg_array *const *fields, fg_array *samples, fg_array **out_prediction,
                        fg_error *err)
{
    fgi_event *done = NULL;
    fgi_span span = {FGI_LAUNCH, (int)flight->kind, flight->number, "trainer",
                     .name = flight->is_batch ? "launch" : "launch update"};
    fgi_span_begin(feed->of.spans, &span);
    flight->launch_ns = span.begin_ns;
    const fg_status status =
        flight->is_batch
            ? fgi_stage_launch(stage, fields, samples, out_prediction, &done, err)
            : fgi_step_program_launch(stage->accumulator->update, NULL, 0, NULL, &done, err);
    fgi_span_end(&span);
    if (status == FG_OK)
        launched(feed, flight, done);
    return status;
}

/* A flight was not launched: waits until nothing writes to it. */
static void cancel(fgi_flight *flight)
{
    fgi_feed *feed = flight->feed;
    (void)pthread_mutex_lock(&feed->mutex);
    while (flight->open > 0)
        (void)pthread_cond_wait(&feed->changed, &feed->mutex);
    (void)pthread_mutex_unlock(&feed->mutex);
}

/* Uploads a batch, or the stack (NULL), and launches the program. */
static fg_status launch_input(fgi_feed *feed, fgi_stage *stage, const fg_host_batch *batch,
                              fg_array **out_prediction, fg_error *err)
{
    fg_array *fields[FG_MAX_FIELDS] = {NULL}, *samples = NULL;
    upload *u = upload_begin(feed, stage, batch);
    if (u == NULL)
        return fgi_no_memory(err);
    fg_status status = retire(feed, FGI_IN_FLIGHT - 1, err);
    if (status == FG_OK) {
        fgi_flight *flight = next_flight(feed, stage, u);
        status = send(feed, stage, flight, u, fields, err);
        if (status == FG_OK && batch != NULL)
            fgi_stage_set_samples(stage, 0, batch);
        if (status == FG_OK)
            status = fgi_stage_upload_samples(stage, &samples, err);
        if (status == FG_OK) {
            if (batch != NULL)
                feed->of.begin(feed->of.self, stage, batch);
            status = launch(feed, stage, flight, fields, samples, out_prediction, err);
        }
        if (status != FG_OK) {
            cancel(flight);
            (void)name_step(flight, status, err);
        }
    }
    for (int f = 0; f < stage->spec.field_count; f++)
        fg_array_release(fields[f]);
    fg_array_release(samples);
    upload_part_done(u);
    return status;
}

fg_status fgi_feed_launch(fgi_feed *feed, fgi_stage *stage, const fg_host_batch *batch,
                          fg_array **out_prediction, fg_error *err)
{
    return launch_input(feed, stage, batch, out_prediction, err);
}

/* Waits for a stack that can be filled: the devices read those of earlier launches. */
static fgi_stack *await_stack(fgi_feed *feed, fgi_stage *stage)
{
    fgi_stack *stack = NULL;
    (void)pthread_mutex_lock(&feed->mutex);
    while ((stack = fgi_stage_free_stack(stage)) == NULL)
        (void)pthread_cond_wait(&feed->changed, &feed->mutex);
    (void)pthread_mutex_unlock(&feed->mutex);
    stack->count = stack->samples = 0;
    return stack;
}

fg_status fgi_feed_add(fgi_feed *feed, fgi_stage *stage, const fg_host_batch *batch, fg_error *err)
{
    if (stage->stacks == NULL)
        return launch_input(feed, stage, batch, NULL, err);
    if (stage->filling == NULL)
        stage->filling = await_stack(feed, stage);
    feed->of.begin(feed->of.self, stage, batch);
    fgi_stage_add_to_stack(stage, stage->filling, batch);
    fg_loader_recycle(stage->loader, batch);
    return FG_OK;
}

fg_status fgi_feed_launch_added(fgi_feed *feed, fgi_stage *stage, fg_error *err)
{
    if (stage->stacks == NULL)
        return FG_OK;
    FGI_TRY(launch_input(feed, stage, NULL, NULL, err));
    stage->filling = NULL;
    return FG_OK;
}

fg_status fgi_feed_update(fgi_feed *feed, fgi_stage *stage, fg_error *err)
{
    FGI_TRY(retire(feed, FGI_IN_FLIGHT - 1, err));
    fgi_flight *flight = next_flight(feed, stage, NULL);
    feed->of.begin(feed->of.self, stage, NULL);
    const fg_status status = launch(feed, stage, flight, NULL, NULL, NULL, err);
    return status == FG_OK ? FG_OK : name_step(flight, status, err);
}
