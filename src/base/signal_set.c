/* signal_set.c - installs and restores signal handlers for all users of a set.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/signal_set.h"

_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a signal handler may only touch atomics without locks");

static void install(fgi_signal *s)
{
    struct sigaction action = {.sa_handler = s->handler, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    s->is_ours = sigaction(s->number, NULL, &s->before) == 0 && s->before.sa_handler != SIG_IGN &&
                 (s->handler != SIG_IGN || s->before.sa_handler == SIG_DFL) &&
                 sigaction(s->number, &action, NULL) == 0;
}

void fgi_signal_set_hold(fgi_signal_set *set, const void *user)
{
    (void)pthread_mutex_lock(&set->lock);
    if (set->users++ == 0) {
        atomic_store(&set->caught, 0);
        if (set->prepare != NULL)
            set->prepare(user);
        for (fgi_signal *s = set->at; s->number != 0; s++)
            install(s);
    }
    (void)pthread_mutex_unlock(&set->lock);
}

void fgi_signal_set_release(fgi_signal_set *set)
{
    struct sigaction now;
    (void)pthread_mutex_lock(&set->lock);
    if (--set->users == 0) {
        for (fgi_signal *s = set->at; s->number != 0; s++)
            if (s->is_ours && sigaction(s->number, NULL, &now) == 0 && now.sa_handler == s->handler)
                (void)sigaction(s->number, &s->before, NULL);
        if (set->prepare != NULL)
            set->prepare(NULL);
    }
    (void)pthread_mutex_unlock(&set->lock);
}

bool fgi_signal_set_catch(fgi_signal_set *set, int number)
{
    int none = 0;
    const bool is_first = atomic_compare_exchange_strong(&set->caught, &none, number);
    for (fgi_signal *s = set->at; s->number != 0; s++)
        if (s->number == number)
            (void)sigaction(number, &s->before, NULL);
    return is_first;
}
