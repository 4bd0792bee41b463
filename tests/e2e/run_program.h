/* run_program.h - runs build/fulgurite as a user would and keeps what it says.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "fgt.h"

/* What became of one run of the program. */
typedef struct outcome {
    int status;
    char out[65536], err[65536]; /* cut at their sizes, terminated */
} outcome;

/* Runs `fulgurite ARGUMENTS` through the shell, in `folder` (NULL: here). The result is valid until
 * the next call. */
const outcome *program(const char *folder, const char *arguments);
/* The same, and fails the test unless the exit status is `status`. */
const outcome *program_gives(int status, const char *folder, const char *arguments);
/* Fails the test unless `text` stands in `whole`. */
void contains(const char *whole, const char *text);

#endif
