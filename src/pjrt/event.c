/* event.c - waits for operations on devices. One fgi_event covers one operation on several devices.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "pjrt/plugin.h"
#include "base/text.h"

fgi_event *fgi_event_create(const fg_client *client, const char *operation, int count)
{
    fgi_event *self = fgi_calloc(1, sizeof *self + (size_t)count * sizeof self->part[0]);
    if (self) {
        self->client = client;
        self->operation = operation;
    }
    return self;
}

void fgi_event_add(fgi_event *self, PJRT_Event *event, const char *label)
{
    self->part[self->count++] = (struct fgi_event_part){event, label};
}

static fgi_pjrt_call place_of(const fgi_event *self, int i)
{
    return (fgi_pjrt_call){self->client, self->part[i].label, self->operation, FG_EDEVICE};
}

fg_status fgi_event_wait(fgi_event *event, fg_error *err)
{
    fg_status status = FG_OK;
    for (int i = 0; i < event->count; i++) {
        if (!event->part[i].event)
            continue;
        FGI_ARGS(PJRT_Event_Await_Args, args, .event = event->part[i].event);
        PJRT_Error *error = event->client->plugin.api->PJRT_Event_Await(&args);
        const fgi_pjrt_call place = place_of(event, i);
        if (status == FG_OK)
            status = fgi_check(error, &place, err);
        else
            (void)fgi_ignore(&event->client->plugin, error);
    }
    return status;
}

static bool part_is_open(const fgi_event *event, int i)
{
    if (!event->part[i].event)
        return false;
    FGI_ARGS(PJRT_Event_IsReady_Args, args, .event = event->part[i].event);
    /* If querying the event fails, it counts as ready: waiting for it returns the error. */
    return fgi_ignore(&event->client->plugin,
                      event->client->plugin.api->PJRT_Event_IsReady(&args)) &&
           !args.is_ready;
}

bool fgi_event_is_ready(fgi_event *event)
{
    for (int i = 0; i < event->count; i++)
        if (part_is_open(event, i))
            return false;
    return true;
}

void fgi_event_pending(fgi_event *event, char *out, size_t size)
{
    size_t used = 0;
    int open = 0;
    out[0] = '\0';
    for (int i = 0; i < event->count; i++) {
        if (!part_is_open(event, i))
            continue;
        const char *label = event->part[i].label != NULL ? event->part[i].label : "a device";
        const int n = snprintf(out + used, size - used, "%s%s", open++ == 0 ? "" : ", ", label);
        used = n > 0 && (size_t)n < size - used ? used + (size_t)n : size - 1;
    }
    if (open > 0)
        (void)snprintf(out + used, size - used, " (%d of %d device%s)", open, event->count,
                       fgi_s(event->count));
}

/* ---- callbacks ------------------------------------------------------------------------------- */

/* One call of fgi_event_on_ready; it lives until the last part is complete, possibly longer than
 * the event. */
typedef struct listener {
    fgi_event_part_fn *part_done;
    fgi_event_fn *done;
    void *self;
    _Atomic int missing; /* incomplete parts, plus one for the caller */
    _Atomic bool has_failed;
    fg_error error; /* written by the thread that sets has_failed */
    struct listener_part {
        struct listener *listener;
        fgi_pjrt_call place;
    } part[];
} listener;

/* Decrements the number of parts; the last one calls `done`. */
static void count_down(listener *l)
{
    if (atomic_fetch_sub(&l->missing, 1) != 1)
        return;
    l->done(l->self, atomic_load(&l->has_failed) ? &l->error : NULL);
    fgi_free(l);
}

static void note(struct listener_part *part, PJRT_Error *error)
{
    listener *l = part->listener;
    if (error && !atomic_exchange(&l->has_failed, true))
        (void)fgi_check(error, &part->place, &l->error);
    else
        (void)fgi_ignore(&part->place.client->plugin, error);
}

static void part_is_ready(PJRT_Error *error, void *user)
{
    struct listener_part *part = user;
    listener *l = part->listener;
    if (l->part_done)
        l->part_done(l->self, (int)(part - l->part));
    note(part, error);
    count_down(l);
}

fg_status fgi_event_on_ready(fgi_event *event, fgi_event_part_fn *part_done, fgi_event_fn *done,
                             void *self, fg_error *err)
{
    const size_t count = (size_t)event->count;
    listener *l = fgi_calloc(1, sizeof *l + count * sizeof l->part[0]);
    if (!l)
        return fgi_no_memory(err);
    l->part_done = part_done;
    l->done = done;
    l->self = self;
    atomic_init(&l->missing, event->count + 1);
    for (int i = 0; i < event->count; i++) {
        l->part[i] = (struct listener_part){l, place_of(event, i)};
        if (!event->part[i].event) {
            (void)atomic_fetch_sub(&l->missing, 1);
            continue;
        }
        FGI_ARGS(PJRT_Event_OnReady_Args, args, .event = event->part[i].event,
                 .callback = part_is_ready, .user_arg = &l->part[i]);
        PJRT_Error *error = event->client->plugin.api->PJRT_Event_OnReady(&args);
        if (error) { /* the callback of this part will never be called: use this error instead */
            note(&l->part[i], error);
            (void)atomic_fetch_sub(&l->missing, 1);
        }
    }
    count_down(l);
    return FG_OK;
}

int fgi_event_parts(const fgi_event *event) { return event->count; }

const char *fgi_event_label(const fgi_event *event, int part) { return event->part[part].label; }

void fgi_event_destroy(fgi_event *event)
{
    if (!event)
        return;
    for (int i = 0; i < event->count; i++) {
        if (!event->part[i].event)
            continue;
        FGI_ARGS(PJRT_Event_Destroy_Args, args, .event = event->part[i].event);
        (void)fgi_ignore(&event->client->plugin,
                         event->client->plugin.api->PJRT_Event_Destroy(&args));
    }
    fgi_free(event);
}
