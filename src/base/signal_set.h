/* signal_set.h - signals that a part of the library handles while it runs. Handlers belong to the
 * process, so the first user of a set installs them, and the last one restores what was before. A
 * set may be held while another one is: the later one has the signals until it is released.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_SIGNAL_SET_H
#define FGI_BASE_SIGNAL_SET_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { FGI_SIGNALS = 6 };

typedef struct fgi_signal {
    int number;                  /* 0: no more signals */
    void (*handler)(int number); /* SIG_IGN: only in place of the default action */
} fgi_signal;

/* A static object: `lock` (PTHREAD_MUTEX_INITIALIZER), `at` and `prepare` are set, the rest is 0.
 * Thread-safe. */
typedef struct fgi_signal_set {
    pthread_mutex_t lock;
    /* May be NULL: called with the first user's argument before the handlers are installed, and
     * with NULL after the last user's release; with the lock. */
    void (*prepare)(const void *user);
    int users;
    atomic_int caught; /* the first signal that came since the first user; 0: none, no user */
    fgi_signal at[FGI_SIGNALS];
    struct sigaction before[FGI_SIGNALS]; /* written before the handler is installed */
    bool is_ours[FGI_SIGNALS];
} fgi_signal_set;

/* Installs the handlers, except for signals that the program ignores. */
void fgi_signal_set_hold(fgi_signal_set *set, const void *user);
/* Restores the previous handlers, unless ours were replaced meanwhile. Once for each hold. */
void fgi_signal_set_release(fgi_signal_set *set);
/* For handlers; async-signal-safe. Restores the signal's previous handler, so that a second one has
 * its effect from before. Returns whether this is the first signal, which `caught` then is. */
bool fgi_signal_set_catch(fgi_signal_set *set, int number);

#endif
