/* step_profile.c - takes a profile of some steps of a fit, and records when each device was busy.
 *
 * A device is busy with a step from when it can start (it is launched, its batch has arrived, the
 * previous step has ended on this device) to its end, as in ledger.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/watch/watch.h"

#include <string.h>
#include <fulgurite/profile.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/print.h"

struct fgi_step_profile {
    const char *run_dir;
    const fgi_cursor *cursor;
    fg_client *client;
    fgi_profile_steps wanted, steps; /* by the options; of this fit */
    fg_profile *profile;             /* in progress, or NULL */
    int64_t begun;                   /* its first step */
    bool is_done;                    /* in this fit */
    bool is_written;                 /* this one: */
    fg_profile_info info;
    int part_count; /* of a flight's event: devices */
    int64_t *times; /* when flights ended: FGI_IN_FLIGHT of part_count */
    int64_t *last;  /* when the last flight ended on each device */
};

fg_status fgi_step_profile_create(const int64_t steps[2], const char *run_dir,
                                  const fgi_cursor *cursor, fgi_step_profile **out, fg_error *err)
{
    *out = fgi_calloc(1, sizeof **out);
    if (*out == NULL)
        return fgi_no_memory(err);
    (*out)->run_dir = run_dir;
    (*out)->cursor = cursor;
    (*out)->wanted = fgi_profile_steps_of(steps);
    return FG_OK;
}

void fgi_step_profile_destroy(fgi_step_profile *self)
{
    if (self == NULL)
        return;
    fg_profile_drop(self->profile);
    fgi_free(self->times);
    fgi_free(self->last);
    fgi_free(self);
}

/* ---- starting and stopping ------------------------------------------------------------------- */

static void start(fgi_step_profile *self)
{
    fg_error why = {0};
    char name[48], folder[FGI_PATH_BYTES];
    (void)fgi_snprintf(name, sizeof name, "step-%lld", (long long)self->cursor->step + 1);
    fgi_timeline_name_thread("trainer");
    fg_status status = fgi_path_put(self->run_dir, "profile", folder, &why);
    if (status == FG_OK)
        status =
            fg_profile_start(self->client, &(fg_profile_options){.folder = folder, .name = name},
                             &self->profile, &why);
    self->is_done = true;
    self->begun = self->cursor->step + 1;
    if (status != FG_OK)
        fgi_log(FG_LOG_WARNING, "no profile is taken: %s", why.message);
}

void fgi_step_profile_stop(fgi_step_profile *self)
{
    fg_profile *profile = self->profile;
    fg_error why = {0};
    self->profile = NULL;
    self->is_written = fg_profile_stop(profile, &self->info, &why) == FG_OK;
    self->info.first_step = self->begun;
    self->info.last_step = self->cursor->step;
    if (!self->is_written)
        fgi_log(FG_LOG_WARNING, "the profile could not be written: %s", why.message);
    if (self->info.lost > 0)
        fgi_log(FG_LOG_WARNING,
                "the profile is incomplete, %lld span%s not recorded: profile fewer steps",
                (long long)self->info.lost, self->info.lost == 1 ? " was" : "s were");
}

const fg_profile_info *fgi_step_profile_info(const fgi_step_profile *self)
{
    return self->is_written ? &self->info : NULL;
}

static bool is_wanted(const fgi_step_profile *self)
{
    return self->wanted.is_auto || self->wanted.first > 0;
}

void fgi_step_profile_begin(fgi_step_profile *self, fg_client *client, int64_t total_steps,
                            bool is_over)
{
    const int64_t done = self->cursor->step;
    self->client = client;
    self->is_written = false;
    self->is_done = !is_wanted(self) || is_over;
    if (self->is_done)
        return;
    self->steps = self->wanted.is_auto ? fgi_profile_steps_choose(done, total_steps) : self->wanted;
    if (self->steps.last <= done) {
        fgi_log(FG_LOG_WARNING,
                "no profile is taken: steps %lld to %lld are done, training continues with step "
                "%lld",
                (long long)self->steps.first, (long long)self->steps.last, (long long)done + 1);
        self->is_done = true;
    }
    fgi_step_profile_before(self);
}

void fgi_step_profile_before(fgi_step_profile *self)
{
    if (!self->is_done && self->cursor->step + 1 >= self->steps.first)
        start(self);
}

int64_t fgi_step_profile_next(const fgi_step_profile *self)
{
    if (self->profile != NULL)
        return self->steps.last;
    return self->is_done ? INT64_MAX : self->steps.first - 1;
}

bool fgi_step_profile_is_due(const fgi_step_profile *self)
{
    return self->profile != NULL && self->cursor->step >= self->steps.last;
}

void fgi_step_profile_end(fgi_step_profile *self, bool has_started)
{
    const bool was_due = self->profile != NULL || !self->is_done;
    if (self->profile != NULL && self->cursor->step >= self->begun)
        fgi_step_profile_stop(self);
    else if (was_due && has_started)
        fgi_log(FG_LOG_WARNING,
                "no profile was taken: training ended at step %lld, before the end of step %lld",
                (long long)self->cursor->step, (long long)self->steps.first);
    fg_profile_drop(self->profile);
    self->profile = NULL;
    self->is_done = true;
    fgi_free(self->times);
    fgi_free(self->last);
    self->times = self->last = NULL;
}

/* ---- what the devices did -------------------------------------------------------------------- */

/* Makes room for the times of that many devices; false: out of memory, or another number before. */
static bool make_room(fgi_step_profile *self, int count)
{
    if (self->times == NULL) {
        self->part_count = count;
        self->times = fgi_calloc((size_t)(FGI_IN_FLIGHT * count) + 1, sizeof *self->times);
    }
    if (self->last == NULL)
        self->last = fgi_calloc((size_t)count + 1, sizeof *self->last);
    return self->times != NULL && self->last != NULL && count == self->part_count;
}

int64_t *fgi_step_profile_times(fgi_step_profile *self, int64_t number, const fgi_event *done)
{
    const int count = fgi_event_parts(done);
    if (self->profile == NULL || !make_room(self, count))
        return NULL;
    int64_t *times = self->times + number % FGI_IN_FLIGHT * count;
    memset(times, 0, (size_t)count * sizeof *times);
    return times;
}

static const char *name_of(const fgi_flight *flight)
{
    static const char *const name[] = {"train step", "validation step", "test step",
                                       "prediction step"};
    if (flight->is_part)
        return "train batch";
    return flight->is_batch ? name[flight->kind] : "update";
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* Flights that were launched before the profile have no times of each device. */
void fgi_step_profile_retired(fgi_step_profile *self, const fgi_flight *flight)
{
    if (self->profile == NULL || flight->done == NULL ||
        !make_room(self, fgi_event_parts(flight->done)))
        return;
    for (int i = 0; i < fgi_event_parts(flight->done); i++) {
        const char *label = fgi_event_label(flight->done, i);
        const bool has_times = flight->part_done_ns != NULL && flight->part_done_ns[i] != 0;
        const int64_t end = has_times ? flight->part_done_ns[i] : flight->done_ns;
        const int64_t begin = larger(larger(flight->launch_ns, flight->inputs_ns), self->last[i]);
        self->last[i] = larger(end, self->last[i]);
        if (label != NULL && begin < end)
            fgi_timeline_add_to(label, "device", name_of(flight), flight->number, begin, end);
    }
}
