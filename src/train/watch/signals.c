/* signals.c - SIGINT, SIGTERM and SIGHUP during fits: the first requests a save and a stop, and
 * prints a note; a second one has its effect from before the fit. SIGUSR1 requests a save only.
 * SIGPIPE is ignored, so that a closed pipe does not end the fit: progress is then no longer
 * written. A signal stops all fits that handle signals.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/print.h"
#include "base/signal_set.h"
#include "base/text.h"
#include "base/thread.h"
#include "train/watch/call.h"

static atomic_int saves; /* requests, by SIGUSR1 */

/* What the first signal prints, by the number of steps that have begun and not finished, and during
 * compilation; formatted before a handler is installed. The descriptor to write to; -1: none. */
enum { SIGNALS = 3, MOST_STEPS = 8, COMPILING, NOTES };
static char notes[NOTES][SIGNALS][512];
static const char *const names[SIGNALS] = {"Ctrl-C", "SIGTERM", "SIGHUP"};
static atomic_int note_fd = -1;
static atomic_int compiling;  /* fits that are compiling a program */
static atomic_int unfinished; /* training steps */

static void on_signal(int number);
static void on_save(int number) { (void)atomic_fetch_add(&saves, 1); }
static void prepare_notes(const void *options);

/* The first ones have names. */
static fgi_signal_set set = {.lock = PTHREAD_MUTEX_INITIALIZER,
                             .prepare = prepare_notes,
                             .at = {{SIGINT, on_signal},
                                    {SIGTERM, on_signal},
                                    {SIGHUP, on_signal},
                                    {SIGUSR1, on_save},
                                    {SIGPIPE, SIG_IGN}}};

static void on_signal(int number)
{
    const int kept = errno, fd = atomic_load(&note_fd);
    const bool is_first = fgi_signal_set_catch(&set, number);
    const int steps = atomic_load(&unfinished);
    char(*note)[512] = notes[atomic_load(&compiling) > 0 ? COMPILING
                             : steps < 0                 ? 0
                             : steps > MOST_STEPS        ? MOST_STEPS
                                                         : steps];
    for (int i = 0; i < SIGNALS; i++)
        if (set.at[i].number == number && is_first && fd >= 0 &&
            write(fd, note[i], strlen(note[i])) < 0)
            errno = kept; /* the note cannot be written */
    errno = kept;
}

/* "finishing 3 steps, then " */
static void put_work(int note, bool is_saved, char *out, size_t size)
{
    const char *after = is_saved ? ", then saving" : "";
    if (note == COMPILING)
        (void)snprintf(out, size, "finishing the current compilation%s", after);
    else if (note == 0)
        (void)snprintf(out, size, "%s", is_saved ? "saving" : "stopping");
    else
        (void)snprintf(out, size, "finishing %d step%s%s", note, fgi_s(note), after);
}

static void prepare_notes(const void *options)
{
    const fg_trainer_options *o = options;
    const bool is_saved = o != NULL && o->checkpoints.run_dir != NULL;
    char work[80];
    atomic_store(&note_fd, -1);
    if (o == NULL)
        return;
    for (int k = 0; k < NOTES; k++)
        for (int i = 0; i < SIGNALS; i++) {
            const char *name = names[i];
            char *note = notes[k][i];
            put_work(k, is_saved, work, sizeof work);
            if (is_saved)
                (void)snprintf(note, sizeof notes[k][i],
                               "\n%s: %s to %.256s/checkpoints (%s again: quit at once)\n", name,
                               work, o->checkpoints.run_dir, name);
            else
                (void)snprintf(note, sizeof notes[k][i],
                               "\n%s: %s; without a run_dir nothing is saved (%s again: quit at "
                               "once)\n",
                               name, work, name);
        }
    atomic_store(&note_fd, o->output.progress != NULL ? fileno(o->output.progress) : -1);
    atomic_store(&unfinished, 0);
}

void fgi_signals_catch(const fg_trainer_options *o, fgi_call *call)
{
    call->saves_seen = atomic_load(&saves);
    fgi_signal_set_hold(&set, o);
}

void fgi_signals_release(void) { fgi_signal_set_release(&set); }

static void on_begun(void *self, const fgi_span *span)
{
    (void)atomic_fetch_add(&compiling, span->activity == FGI_COMPILE ? 1 : 0);
}

static void on_ended(void *self, const fgi_span *span, int64_t end_ns)
{
    (void)atomic_fetch_sub(&compiling, span->activity == FGI_COMPILE ? 1 : 0);
}

fgi_span_listener fgi_signals_listener(void)
{
    return (fgi_span_listener){.begun = on_begun, .ended = on_ended};
}

void fgi_signals_steps(int more) { (void)atomic_fetch_add(&unfinished, more); }

bool fgi_save_requested(const fg_trainer_options *o, fgi_call *call)
{
    const int now = atomic_load(&saves);
    if (o->stops_on_usr1)
        return false; /* it stops the fit, which saves */
    const bool is_new = o->handle_signals && now != call->saves_seen;
    call->saves_seen = now;
    return is_new;
}

/* Ends the fit if its time is over; also in a long validation. */
static void check_time(const fg_trainer_options *o, fgi_call *call)
{
    char *reason = call->result.stop_reason;
    if (call->deadline_ns == 0 || fgi_now_ns() < call->deadline_ns)
        return;
    call->is_stopping = true;
    if (reason[0] == '\0')
        (void)fgi_snprintf(reason, sizeof call->result.stop_reason,
                           "max_time: the time limit of %.6g s is reached", o->limits.max_time);
}

static void check_signals(const fg_trainer_options *o, fgi_call *call)
{
    int number = atomic_load(&set.caught);
    if (number == 0 && o->stops_on_usr1 && atomic_load(&saves) != call->saves_seen)
        number = SIGUSR1;
    if (number == 0)
        return;
    call->is_stopping = true;
    call->result.stop_signal = number;
}

/* A request in the run's folder (fulgurite stop). */
static void check_request(const fg_trainer_options *o, fgi_call *call, fgi_run *run)
{
    FILE *out = o->output.progress;
    if (!fgi_run_is_asked_to_stop(run))
        return;
    call->is_stopping = call->is_asked_to_stop = true;
    if (out != NULL &&
        fprintf(out, "\nstop requested: saving to %s/checkpoints\n", o->checkpoints.run_dir) > 0)
        (void)fflush(out);
}

bool fgi_stop_requested(const fg_trainer_options *o, fgi_call *call, fgi_run *run)
{
    if (call->is_running && !call->is_stopping)
        check_request(o, call, run);
    if (call->is_running && !call->is_stopping)
        check_time(o, call);
    if (call->is_running && o->handle_signals)
        check_signals(o, call);
    return call->is_stopping;
}
