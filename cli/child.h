/* child.h - a program in another process, whose output this one reads.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct child {
    pid_t pid;
    int from; /* its standard output */
} child;

/* Starts a program, which is searched on PATH unless it has a slash; false, and errno, if that
 * fails. It reads nothing, does not outlive the thread that started it, and only that thread stops
 * it: signals are blocked, because compilers answer them with a stack trace on the terminal.
 * with_errors: from `from`, its standard error is read too. */
bool child_start(const char *program, char *const *argv, bool with_errors, child *out);
/* Waits for its end; its state as of waitpid. */
int child_end(const child *c);

#endif
