/* signals.c - SIGINT and SIGTERM while fits run: the first asks for a save and a stop, a second one
 * of its kind does what it did before the fit.
 *
 * Handlers belong to the process, so they are installed by the first fit that wants them and taken
 * away by the last; a signal stops all of these fits.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "train/trainer.h"

enum { SIGNALS = 2 };
_Static_assert(ATOMIC_BOOL_LOCK_FREE == 2, "a signal handler may only touch atomics without locks");

static const int numbers[SIGNALS] = {SIGINT, SIGTERM};
static atomic_bool caught;               /* set by a handler on any thread, read by all fits */
static struct sigaction before[SIGNALS]; /* written before a handler is installed */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int users;

static void on_signal(int number)
{
    atomic_store(&caught, true);
    for (int i = 0; i < SIGNALS; i++)
        if (numbers[i] == number)
            (void)sigaction(number, &before[i], NULL);
}

void fgi_signals_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    (void)pthread_mutex_lock(&lock);
    if (users++ == 0) {
        atomic_store(&caught, false);
        for (int i = 0; i < SIGNALS; i++)
            if (sigaction(numbers[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
                (void)sigaction(numbers[i], &action, NULL);
    }
    (void)pthread_mutex_unlock(&lock);
}

/* Puts back what was there, unless somebody has put a handler of theirs in the place of ours. */
static void restore(int i)
{
    struct sigaction now;
    if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == on_signal)
        (void)sigaction(numbers[i], &before[i], NULL);
}

void fgi_signals_release(void)
{
    (void)pthread_mutex_lock(&lock);
    if (--users == 0)
        for (int i = 0; i < SIGNALS; i++)
            restore(i);
    (void)pthread_mutex_unlock(&lock);
}

bool fgi_wants_stop(fg_trainer *trainer)
{
    if (trainer->is_running && trainer->options.handle_signals && atomic_load(&caught))
        trainer->is_stopping = true;
    return trainer->is_stopping;
}
