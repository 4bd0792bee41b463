/* signals.c - SIGINT and SIGTERM while a fit runs: the first asks for a save and a stop, the second
 * is what it was before the fit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>

#include "train/trainer.h"

static volatile sig_atomic_t caught;
static struct sigaction before[2];
static const int numbers[2] = {SIGINT, SIGTERM};

static void on_signal(int number)
{
    caught = 1;
    for (int i = 0; i < 2; i++)
        if (numbers[i] == number)
            (void)sigaction(number, &before[i], NULL);
}

void fgi_signals_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    (void)sigemptyset(&action.sa_mask);
    caught = 0;
    for (int i = 0; i < 2; i++)
        (void)sigaction(numbers[i], &action, &before[i]);
}

void fgi_signals_release(void)
{
    for (int i = 0; i < 2; i++)
        (void)sigaction(numbers[i], &before[i], NULL);
}

bool fgi_signals_caught(void) { return caught != 0; }
