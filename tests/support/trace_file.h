/* trace_file.h - reads a Chrome trace that a profile has written.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_TRACE_FILE_H
#define FGT_TRACE_FILE_H

#include <jansson.h>

/* RUN/profile/host.trace.json, or fails the test. */
json_t *trace_read(const char *run);
/* The file with that name. */
json_t *trace_read_file(const char *path);
/* "3 4", the steps of the spans with that name on that track. */
const char *trace_steps(const json_t *root, const char *track, const char *name);
/* Fails the test unless they are these. */
void trace_expect_steps(const json_t *root, const char *track, const char *name,
                        const char *expected);
/* On each track, spans begin in order, and end before those that they are in. */
void trace_check_nesting(const json_t *root);
/* The devices "cpu:0" ... were busy as long as the ledger says, which leaves out the first step and
 * counts a moment as busy while any device is. */
void trace_check_busy(const json_t *root, int devices, double busy_s, double tolerance_s);

#endif
