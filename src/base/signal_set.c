/* signal_set.c - installs and restores signal handlers for all users of a set.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/signal_set.h"

_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a signal handler may only touch atomics without locks");

static bool install(const fgi_signal *s, struct sigaction *before)
{
    struct sigaction action = {.sa_handler = s->handler, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    return sigaction(s->number, NULL, before) == 0 && before->sa_handler != SIG_IGN &&
           (s->handler != SIG_IGN || before->sa_handler == SIG_DFL) &&
           sigaction(s->number, &action, NULL) == 0;
}

static void restore(const fgi_signal *s, const struct sigaction *before)
{
    struct sigaction now;
    if (sigaction(s->number, NULL, &now) == 0 && now.sa_handler == s->handler)
        (void)sigaction(s->number, before, NULL);
}

void fgi_signal_set_hold(fgi_signal_set *set, const void *user)
{
    (void)pthread_mutex_lock(&set->lock);
    if (set->users++ == 0) {
        atomic_store(&set->caught, 0); /* a handler may have run after the last release */
        if (set->prepare != NULL)
            set->prepare(user);
        for (int i = 0; set->at[i].number != 0; i++)
            set->is_ours[i] = install(&set->at[i], &set->before[i]);
    }
    (void)pthread_mutex_unlock(&set->lock);
}

void fgi_signal_set_release(fgi_signal_set *set)
{
    (void)pthread_mutex_lock(&set->lock);
    if (--set->users == 0) {
        for (int i = 0; set->at[i].number != 0; i++)
            if (set->is_ours[i])
                restore(&set->at[i], &set->before[i]);
        atomic_store(&set->caught, 0); /* what runs without the handlers is not stopped */
        if (set->prepare != NULL)
            set->prepare(NULL);
    }
    (void)pthread_mutex_unlock(&set->lock);
}

bool fgi_signal_set_catch(fgi_signal_set *set, int number)
{
    int none = 0;
    const bool is_first = atomic_compare_exchange_strong(&set->caught, &none, number);
    for (int i = 0; set->at[i].number != 0; i++)
        if (set->at[i].number == number)
            (void)sigaction(number, &set->before[i], NULL);
    return is_first;
}
