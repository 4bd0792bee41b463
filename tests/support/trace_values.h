/* trace_values.h - a client, traces on it and values from host memory, for tests that run traces.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRACE_VALUES_H
#define TRACE_VALUES_H

#include "fgt.h"

#include "trace/program.h"

static const fg_type vec3 = {.dtype = FG_F32, .rank = 1, .dim = {3}};
static const fg_type scalar = {.dtype = FG_F32};

/* Group setup: *state is a client with one CPU device. Its programs are cached in $FGT_CACHE. */
int values_open_client(void **state);

int values_close_client(void **state);

fg_trace *values_trace(fg_client *client);

fg_array *values_array(fg_client *client, const fg_type *type, const void *data);

fg_variable *values_variable(const char *name, const fg_type *type, const void *data);

/* Runs for one output and reads it. */
void values_run(fg_trace *trace, fg_tensor output, void *data, size_t size_bytes);

void values_assert(const float *got, const float *want, size_t count);

/* The programs that the client has compiled or loaded from the cache of compiled programs. */
int64_t values_programs(fg_client *client);

#endif
