/* packer_signals.c - Ctrl-C and SIGTERM end a build after the current sample, so that the message
 * can say what remains. A second signal has its former effect.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "packer/packer.h"

enum { SIGNALS = 3 };

static const int signals[SIGNALS] = {SIGINT, SIGTERM, SIGHUP};
static struct sigaction before[SIGNALS]; /* written before a handler is installed */
static atomic_bool is_caught;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int users;

static void on_signal(int number)
{
    atomic_store(&is_caught, true);
    for (int i = 0; i < SIGNALS; i++)
        if (signals[i] == number)
            (void)sigaction(number, &before[i], NULL);
}

bool fgi_packer_signals_caught(void) { return atomic_load(&is_caught); }

void fgi_packer_signals_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    (void)pthread_mutex_lock(&lock);
    for (int i = 0; users == 0 && i < SIGNALS; i++)
        if (sigaction(signals[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
            (void)sigaction(signals[i], &action, NULL);
    users++;
    (void)pthread_mutex_unlock(&lock);
}

void fgi_packer_signals_release(void)
{
    (void)pthread_mutex_lock(&lock);
    users--;
    for (int i = 0; users == 0 && i < SIGNALS; i++) {
        struct sigaction now;
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler == on_signal)
            (void)sigaction(signals[i], &before[i], NULL);
    }
    if (users == 0)
        atomic_store(&is_caught, false);
    (void)pthread_mutex_unlock(&lock);
}
