/* watchdog.c - a thread that reports when a step, or anything else the Trainer waits for, does not
 * finish: once for each multiple of the limit.
 *
 * It cannot interrupt what hangs, because PJRT calls cannot be cancelled. It logs a warning and
 * calls the user's function.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/watch/watch.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/print.h"
#include "base/text.h"
#include "base/thread.h"

enum { COMPILE_LIMIT_S = 300 };
static const int64_t SECOND = INT64_C(1000000000);

/* Copied from a span, which the Trainer's thread may end at any time. */
typedef struct watched {
    bool is_busy; /* false: with nothing that is watched; callbacks, for example */
    int activity;
    fgi_stage_kind stage;
    int64_t step;     /* counted per stage, starting at 1; 0: not a single step */
    fgi_event *event; /* being waited for, or NULL */
    int64_t since_ns;
} watched;

struct fgi_watchdog {
    pthread_mutex_t mutex; /* protects all members below the limits */
    pthread_cond_t changed;
    fgi_thread thread;
    bool is_running;                    /* only the Trainer's thread uses it */
    int64_t limit_ns, compile_limit_ns; /* 0: no limit */
    fg_hang_fn *hang;
    void *hang_self;
    bool is_ending;
    const fg_client *client; /* NULL until one is open */
    watched now;
    int reports;       /* so far, of `now` */
    watched last_done; /* the last step that finished; since_ns: when */
    char checkpoint[512];
};

/* ---- the report ------------------------------------------------------------------------------ */

/* "training step 12" */
static const char *step_text(const watched *watch, char *out, size_t size)
{
    if (watch->step > 0)
        (void)snprintf(out, size, "%s step %lld", fgi_stage_noun(watch->stage),
                       (long long)watch->step);
    else
        (void)snprintf(out, size, "%s", fgi_stage_noun(watch->stage));
    return out;
}

static void describe(const watched *watch, const char *devices, char *out, size_t size)
{
    static const char *const words[] = {[FGI_INPUT] = " is waiting for the data loader",
                                        [FGI_UPLOAD] = ": uploading its batch",
                                        [FGI_LAUNCH] = ": launching its program",
                                        [FGI_STEP] = " has not finished on ",
                                        [FGI_READ] = ": reading metrics",
                                        [FGI_CHECKPOINT] = ": saving a checkpoint",
                                        [FGI_COMPILE] = ": compiling"};
    char step[64];
    (void)snprintf(out, size, "%s%s%s", step_text(watch, step, sizeof step), words[watch->activity],
                   watch->activity == FGI_STEP ? devices : "");
}

/* The devices being waited for, or all if that is unknown. The lock is held, which keeps the event
 * alive. */
static void name_devices(const fgi_watchdog *dog, char *out, size_t size)
{
    out[0] = '\0';
    if (dog->now.event != NULL)
        fgi_event_pending(dog->now.event, out, size);
    if (out[0] == '\0' && dog->client != NULL) {
        const fg_client_info *info = fg_client_info_of(dog->client);
        (void)snprintf(out, size, "%s, %d device%s", info->platform, info->device_count,
                       fgi_s(info->device_count));
    }
    if (out[0] == '\0')
        (void)snprintf(out, size, "no device yet");
}

static void last_event(const fgi_watchdog *dog, int64_t now_ns, char *out, size_t size)
{
    char step[64];
    if (dog->last_done.step == 0)
        (void)snprintf(out, size, "no step has finished yet");
    else
        (void)fgi_snprintf(out, size, "%s ended %.1f s ago",
                           step_text(&dog->last_done, step, sizeof step),
                           (double)(now_ns - dog->last_done.since_ns) * 1e-9);
}

/* Reports what has taken too long. The lock is held, and released while foreign code runs. */
static void report(fgi_watchdog *dog, int64_t now_ns)
{
    char doing[384], devices[256], last[128];
    const double seconds = (double)(now_ns - dog->now.since_ns) * 1e-9;
    const watched watch = dog->now;
    dog->reports++;
    if (watch.activity == FGI_COMPILE) {
        (void)pthread_mutex_unlock(&dog->mutex);
        fgi_log(FG_LOG_WARNING,
                "compiling the %s step has taken %.0f s so far; the program is kept in the compile "
                "cache, if one is set, so the next start will be faster",
                fgi_stage_noun(watch.stage), seconds);
        (void)pthread_mutex_lock(&dog->mutex);
        return;
    }
    name_devices(dog, devices, sizeof devices);
    last_event(dog, now_ns, last, sizeof last);
    describe(&watch, devices, doing, sizeof doing);
    char checkpoint[sizeof dog->checkpoint];
    memcpy(checkpoint, dog->checkpoint, sizeof checkpoint);
    (void)pthread_mutex_unlock(&dog->mutex);
    const fg_hang hang = {.doing = doing,
                          .stage = fgi_stage_noun(watch.stage),
                          .step = watch.step,
                          .devices = devices,
                          .last_event = last,
                          .checkpoint = checkpoint,
                          .seconds = seconds};
    fgi_log(FG_LOG_WARNING, "the run has made no progress for %.1f s: %s; %s; last checkpoint: %s",
            seconds, doing, last, checkpoint[0] != '\0' ? checkpoint : "none");
    if (dog->hang != NULL)
        dog->hang(dog->hang_self, &hang);
    (void)pthread_mutex_lock(&dog->mutex);
}

/* ---- watching -------------------------------------------------------------------------------- */

static int64_t limit_of(const fgi_watchdog *dog)
{
    if (!dog->now.is_busy)
        return 0;
    return dog->now.activity == FGI_COMPILE ? dog->compile_limit_ns : dog->limit_ns;
}

/* Nanoseconds until the next check: the Trainer's thread does not wake the watchdog. */
static int64_t pause_ns(const fgi_watchdog *dog)
{
    int64_t least = dog->compile_limit_ns;
    if (dog->limit_ns > 0 && dog->limit_ns < least)
        least = dog->limit_ns;
    least /= 4;
    return least < 10 * SECOND ? least : 10 * SECOND;
}

static void *run(void *self)
{
    fgi_watchdog *dog = self;
    (void)pthread_mutex_lock(&dog->mutex);
    while (!dog->is_ending) {
        const int64_t limit = limit_of(dog), now = fgi_now_ns();
        if (limit > 0 && now - dog->now.since_ns >= limit * (dog->reports + 1)) {
            report(dog, now);
            continue;
        }
        const int64_t at = now + pause_ns(dog);
        const struct timespec until = {.tv_sec = at / SECOND, .tv_nsec = at % SECOND};
        (void)pthread_cond_timedwait(&dog->changed, &dog->mutex, &until);
    }
    (void)pthread_mutex_unlock(&dog->mutex);
    return NULL;
}

fg_status fgi_watchdog_create(const fg_trainer_options *options, fgi_watchdog **out, fg_error *err)
{
    *out = NULL;
    fgi_watchdog *dog = fgi_calloc(1, sizeof *dog);
    if (dog == NULL)
        return fgi_no_memory(err);
    dog->limit_ns = (int64_t)(options->hang.watchdog_s * (double)SECOND);
    dog->compile_limit_ns = COMPILE_LIMIT_S * SECOND;
    dog->hang = options->hang.report;
    dog->hang_self = options->hang.report_self;
    const fg_status status = fgi_monitor_init(&dog->mutex, &dog->changed, err);
    if (status == FG_OK)
        *out = dog;
    else
        fgi_free(dog);
    return status;
}

void fgi_watchdog_destroy(fgi_watchdog *dog)
{
    if (dog == NULL)
        return;
    fgi_monitor_fini(&dog->mutex, &dog->changed);
    fgi_free(dog);
}

void fgi_watchdog_limit_compiling(fgi_watchdog *dog, int64_t limit_ns)
{
    dog->compile_limit_ns = limit_ns;
}

fg_status fgi_watchdog_start(fgi_watchdog *dog, fg_error *err)
{
    dog->is_ending = false;
    dog->client = NULL;
    dog->now = dog->last_done = (watched){0};
    dog->checkpoint[0] = '\0';
    FGI_TRY(fgi_thread_start(&dog->thread, run, dog, err));
    dog->is_running = true;
    return FG_OK;
}

void fgi_watchdog_stop(fgi_watchdog *dog)
{
    if (!dog->is_running)
        return;
    (void)pthread_mutex_lock(&dog->mutex);
    dog->is_ending = true;
    (void)pthread_cond_broadcast(&dog->changed);
    (void)pthread_mutex_unlock(&dog->mutex);
    fgi_thread_join(dog->thread);
    dog->is_running = false;
}

/* The Trainer's thread does that from now on; NULL: nothing that is watched. */
static void watch(fgi_watchdog *dog, const fgi_span *span, int64_t now_ns)
{
    if (!dog->is_running)
        return;
    watched next = {.since_ns = now_ns};
    if (span != NULL)
        next = (watched){.is_busy = true,
                         .activity = span->activity,
                         .stage = (fgi_stage_kind)span->kind,
                         .step = span->number > 0 ? span->number : 0,
                         .event = span->awaited,
                         .since_ns = now_ns};
    (void)pthread_mutex_lock(&dog->mutex);
    dog->now = next;
    dog->reports = 0;
    (void)pthread_mutex_unlock(&dog->mutex);
}

static void on_begun(void *self, const fgi_span *span) { watch(self, span, span->begin_ns); }

static void on_ended(void *self, const fgi_span *span, int64_t end_ns)
{
    watch(self, span->outer, end_ns);
}

fgi_span_listener fgi_watchdog_listener(fgi_watchdog *dog)
{
    return (fgi_span_listener){.self = dog, .begun = on_begun, .ended = on_ended};
}

void fgi_watch_done(fgi_watchdog *dog, fgi_stage_kind stage, int64_t step)
{
    if (!dog->is_running)
        return;
    (void)pthread_mutex_lock(&dog->mutex);
    dog->last_done = (watched){.stage = stage, .step = step, .since_ns = fgi_now_ns()};
    (void)pthread_mutex_unlock(&dog->mutex);
}

void fgi_watch_client(fgi_watchdog *dog, const fg_client *client)
{
    if (!dog->is_running)
        return;
    (void)pthread_mutex_lock(&dog->mutex);
    dog->client = client;
    (void)pthread_mutex_unlock(&dog->mutex);
}

void fgi_watch_checkpoint(fgi_watchdog *dog, const char *path)
{
    if (!dog->is_running)
        return;
    (void)pthread_mutex_lock(&dog->mutex);
    (void)snprintf(dog->checkpoint, sizeof dog->checkpoint, "%s", path);
    (void)pthread_mutex_unlock(&dog->mutex);
}
