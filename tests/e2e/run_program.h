/* run_program.h - runs build/fulgurite as a user would and captures its output.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>

#include "fgt.h"

/* The result of one run of the program. */
typedef struct outcome {
    int status;
    char out[65536], err[65536]; /* truncated to their sizes, NUL-terminated */
} outcome;

/* Runs `fulgurite ARGUMENTS` through the shell, in `folder` (NULL: here). The result is valid until
 * the next call. */
const outcome *program(const char *folder, const char *arguments);
/* The same, and fails the test unless the exit status is `status`. */
const outcome *program_gives(int status, const char *folder, const char *arguments);
/* The same on a terminal of that many columns, on which somebody has typed `answer`; returns the
 * exit status, and what the terminal shows in `out`. */
int program_on_terminal(const char *folder, unsigned short columns, const char *answer,
                        const char *arguments, char *out, size_t size);
/* Fails the test unless `text` is in `whole`. */
void contains(const char *whole, const char *text);

/* Runs a shell command in `folder`, with build/fulgurite as fulgurite; its exit status. */
int shell(const char *folder, const char *command);
/* Starts `fulgurite WORDS` (NULL-terminated) in `folder` with these descriptors as standard output
 * and standard error. */
pid_t program_start(const char *folder, int out, int err, const char *const *words);
/* Waits for it; its exit status, or minus the signal that ended it. */
int program_wait(pid_t child);
void sleep_ms(long ms);

/* The contents of a file, NUL-terminated; valid for the next fifteen calls. Fails the test if there
 * is no such file. */
char *file_text(const char *folder, const char *name);
bool is_there(const char *folder, const char *name);
/* The step of the last checkpoint in folder/run; fails the test if there is none. */
int last_step(const char *folder);

/* `data:` of a configuration: the digits that are in the tree, a fifth of them for validation. */
#define DIGITS                                                                                     \
    "data: {format: csv, path: " FGT_SOURCE_DIR                                                    \
    "/share/data/digits/digits.csv.gz, no_header: true,\n"                                         \
    "       image: [8, 8, 1], scale: 0.0625, val_fraction: 0.2}\n"

/* For the main of a test that trains: caches compiled programs in a separate folder. Returns 0, or
 * the exit status: 77 without the CPU plugin. */
int prepare_to_train(void);
#define TRAINING_MAIN(tests)                                                                       \
    int main(void)                                                                                 \
    {                                                                                              \
        const int status = prepare_to_train();                                                     \
        return status != 0 ? status : cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;      \
    }

#endif
