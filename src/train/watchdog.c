/* watchdog.c - a thread that tells when a step, or anything else the Trainer waits for, does not
 * end: once each time that the limit has passed.
 *
 * It cannot end what hangs: a plugin's call has no way to be broken off. It tells the function that
 * the user gave, and logs a warning.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/watchdog.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/print.h"

enum { COMPILE_LIMIT_S = 300 };
static const int64_t SECOND = INT64_C(1000000000);

static const char *stage_name(int stage)
{
    static const char *const name[] = {"training", "validation", "test", "prediction"};
    return name[stage];
}

/* ---- what is said ---------------------------------------------------------------------------- */

/* "training step 12" */
static const char *step_text(const fgi_watch *watch, char *out, size_t size)
{
    if (watch->step > 0)
        (void)snprintf(out, size, "%s step %lld", stage_name(watch->stage), (long long)watch->step);
    else
        (void)snprintf(out, size, "%s", stage_name(watch->stage));
    return out;
}

static void describe(const fgi_watch *watch, const char *devices, char *out, size_t size)
{
    char step[64];
    (void)step_text(watch, step, sizeof step);
    switch (watch->doing) {
    case FGI_DOING_NOTHING: break;
    case FGI_DOING_INPUT:
        (void)snprintf(out, size, "%s is waiting for the data loader", step);
        return;
    case FGI_DOING_UPLOAD: (void)snprintf(out, size, "%s: uploading its batch", step); return;
    case FGI_DOING_LAUNCH: (void)snprintf(out, size, "%s: launching its program", step); return;
    case FGI_DOING_STEP:
        (void)snprintf(out, size, "%s has not finished on %s", step, devices);
        return;
    case FGI_DOING_READ: (void)snprintf(out, size, "%s: reading metrics", step); return;
    case FGI_DOING_CHECKPOINT: (void)snprintf(out, size, "%s: saving a checkpoint", step); return;
    case FGI_DOING_COMPILE: (void)snprintf(out, size, "%s: compiling", step); return;
    }
    (void)snprintf(out, size, "%s", step);
}

/* The devices that are waited for; of an unknown wait, all. Called with the lock held, which keeps
 * the event. */
static void name_devices(const fgi_watchdog *dog, char *out, size_t size)
{
    out[0] = '\0';
    if (dog->now.event != NULL)
        fgi_event_pending(dog->now.event, out, size);
    if (out[0] == '\0' && dog->client != NULL) {
        const fg_client_info *info = fg_client_get_info(dog->client);
        (void)snprintf(out, size, "%s, %d device%s", info->platform, info->device_count,
                       info->device_count == 1 ? "" : "s");
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

/* Tells of what has lasted too long. The lock is held, and let go while others' code runs. */
static void tell(fgi_watchdog *dog, int64_t now_ns)
{
    char doing[384], devices[256], last[128];
    const double seconds = (double)(now_ns - dog->now.since_ns) * 1e-9;
    const fgi_watch watch = dog->now;
    dog->told++;
    if (watch.doing == FGI_DOING_COMPILE) {
        (void)pthread_mutex_unlock(&dog->mutex);
        fgi_log(
            FG_LOG_WARNING,
            "compiling the %s step has taken %.0f s so far; once done it is kept in the compile "
            "cache, if there is one, for the next start",
            stage_name(watch.stage), seconds);
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
                          .stage = stage_name(watch.stage),
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
    if (dog->now.doing == FGI_DOING_NOTHING)
        return 0;
    return dog->now.doing == FGI_DOING_COMPILE ? dog->compile_limit_ns : dog->limit_ns;
}

/* Nanoseconds until the next look: the Trainer's thread does not wake the watchdog. */
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
        if (limit > 0 && now - dog->now.since_ns >= limit * (dog->told + 1)) {
            tell(dog, now);
            continue;
        }
        const int64_t at = now + pause_ns(dog);
        const struct timespec until = {.tv_sec = at / SECOND, .tv_nsec = at % SECOND};
        (void)pthread_cond_timedwait(&dog->changed, &dog->mutex, &until);
    }
    (void)pthread_mutex_unlock(&dog->mutex);
    return NULL;
}

fg_status fgi_watchdog_start(fgi_watchdog *dog, const fg_trainer_options *options, fg_error *err)
{
    const int64_t compile_limit = dog->compile_limit_ns;
    *dog = (fgi_watchdog){.limit_ns = (int64_t)(options->hang.watchdog_s * (double)SECOND),
                          .compile_limit_ns =
                              compile_limit > 0 ? compile_limit : COMPILE_LIMIT_S * SECOND,
                          .hang = options->hang.report,
                          .hang_self = options->hang.report_self};
    FGI_TRY(fgi_mutex_init(&dog->mutex, err));
    fg_status status = fgi_cond_init(&dog->changed, err);
    if (status != FG_OK)
        goto no_cond;
    dog->is_running = true;
    status = fgi_thread_start(&dog->thread, run, dog, err);
    if (status == FG_OK)
        return FG_OK;
    dog->is_running = false;
    (void)pthread_cond_destroy(&dog->changed);
no_cond:
    (void)pthread_mutex_destroy(&dog->mutex);
    return status;
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
    (void)pthread_cond_destroy(&dog->changed);
    (void)pthread_mutex_destroy(&dog->mutex);
}

fgi_watch fgi_watch_set(fgi_watchdog *dog, fgi_watch next)
{
    if (!dog->is_running)
        return (fgi_watch){0};
    next.since_ns = fgi_now_ns();
    (void)pthread_mutex_lock(&dog->mutex);
    const fgi_watch before = dog->now;
    dog->now = next;
    dog->told = 0;
    (void)pthread_mutex_unlock(&dog->mutex);
    return before;
}

void fgi_watch_done(fgi_watchdog *dog, int stage, int64_t step)
{
    if (!dog->is_running)
        return;
    (void)pthread_mutex_lock(&dog->mutex);
    dog->last_done = (fgi_watch){.stage = stage, .step = step, .since_ns = fgi_now_ns()};
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
