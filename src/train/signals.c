/* signals.c - SIGINT, SIGTERM and SIGHUP during fits: the first requests a save and a stop, and
 * prints a note; a second one has its effect from before the fit. SIGPIPE is ignored, so that a
 * closed pipe does not end the fit: progress is then no longer written.
 *
 * Handlers belong to the process, so the first fit that needs them installs them and the last one
 * removes them; a signal stops all of these fits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "train/signals.h"
#include "train/trainer.h"

enum { SIGNALS = 3 };
_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "a signal handler may only touch atomics without locks");
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a signal handler may only touch atomics without locks");

static const struct {
    int number;
    const char *name; /* for messages */
} signals[SIGNALS] = {{SIGINT, "Ctrl-C"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}};
static atomic_bool caught;               /* set by a handler on any thread, read by all fits */
static struct sigaction before[SIGNALS]; /* written before a handler is installed */
static struct sigaction before_pipe;
static bool ignores_pipe; /* SIGPIPE is ignored in place of before_pipe */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int users;

/* What the first signal prints between steps and during compilation, formatted before a handler is
 * installed, and the descriptor to write to; -1: none. */
static char notes[2][SIGNALS][512];
static atomic_int note_fd = -1;
static atomic_int compiling; /* fits that are compiling a program */

static void on_signal(int number)
{
    const int kept = errno, fd = atomic_load(&note_fd);
    const bool is_first = !atomic_exchange(&caught, true);
    char(*note)[512] = notes[atomic_load(&compiling) > 0];
    for (int i = 0; i < SIGNALS; i++)
        if (signals[i].number == number) {
            (void)sigaction(number, &before[i], NULL);
            if (is_first && fd >= 0 && write(fd, note[i], strlen(note[i])) < 0)
                errno = kept; /* the note cannot be written */
        }
    errno = kept;
}

static void prepare_notes(const fg_trainer *trainer)
{
    static const char *const first[] = {"finishing the current step",
                                        "finishing the current compilation"};
    static const char *const stop[] = {"stopping after the current step",
                                       "stopping after the current compilation"};
    const fg_trainer_options *o = &trainer->options;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < SIGNALS; i++) {
            const char *name = signals[i].name;
            char *note = notes[k][i];
            if (o->checkpoints.run_dir != NULL)
                (void)snprintf(note, sizeof notes[k][i],
                               "\n%s: %s, then saving to %.256s/checkpoints (%s again: quit at "
                               "once)\n",
                               name, first[k], o->checkpoints.run_dir, name);
            else
                (void)snprintf(note, sizeof notes[k][i],
                               "\n%s: %s; without a run_dir nothing is saved (%s again: quit at "
                               "once)\n",
                               name, stop[k], name);
        }
    atomic_store(&note_fd, o->output.progress != NULL ? fileno(o->output.progress) : -1);
}

static void install(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigemptyset(&action.sa_mask);
    atomic_store(&caught, false);
    for (int i = 0; i < SIGNALS; i++)
        if (sigaction(signals[i].number, NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
            (void)sigaction(signals[i].number, &action, NULL);
    ignores_pipe = sigaction(SIGPIPE, NULL, &before_pipe) == 0 &&
                   before_pipe.sa_handler == SIG_DFL && sigaction(SIGPIPE, &ignore, NULL) == 0;
}

void fgi_signals_catch(const fg_trainer *trainer)
{
    (void)pthread_mutex_lock(&lock);
    if (users++ == 0) {
        prepare_notes(trainer);
        install();
    }
    (void)pthread_mutex_unlock(&lock);
}

/* Restores the previous handler, unless ours was replaced meanwhile. */
static void restore(int number, void (*ours)(int), const struct sigaction *old)
{
    struct sigaction now;
    if (sigaction(number, NULL, &now) == 0 && now.sa_handler == ours)
        (void)sigaction(number, old, NULL);
}

void fgi_signals_release(void)
{
    (void)pthread_mutex_lock(&lock);
    if (--users == 0) {
        for (int i = 0; i < SIGNALS; i++)
            restore(signals[i].number, on_signal, &before[i]);
        if (ignores_pipe)
            restore(SIGPIPE, SIG_IGN, &before_pipe);
        ignores_pipe = false;
        atomic_store(&note_fd, -1);
    }
    (void)pthread_mutex_unlock(&lock);
}

void fgi_signals_compiling(bool is_begin) { (void)atomic_fetch_add(&compiling, is_begin ? 1 : -1); }

bool fgi_stop_requested(fg_trainer *trainer)
{
    if (trainer->call.is_running && trainer->options.handle_signals && atomic_load(&caught))
        trainer->call.is_stopping = true;
    return trainer->call.is_stopping;
}
