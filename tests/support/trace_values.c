/* trace_values.c - a client, traces on it and values from host memory, for tests that run traces.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace_values.h"

#include "base/alloc.h"

int values_open_client(void **state)
{
    static fg_client *client;
    fg_error err = {0};
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = fgt_cache("")},
                          &client, &err));
    *state = client;
    return 0;
}

int values_close_client(void **state)
{
    fg_client_close(*state);
    return fgi_alloc_live() == 0 ? 0 : 1;
}

fg_trace *values_trace(fg_client *client)
{
    fg_error err = {0};
    fg_trace *trace;
    fgt_ok(fg_trace_create(client, &trace, &err));
    return trace;
}

fg_array *values_array(fg_client *client, const fg_type *type, const void *data)
{
    fg_error err = {0};
    fg_array *array;
    fgt_ok(fg_array_create(client, type, data, &array, &err));
    return array;
}

fg_variable *values_variable(const char *name, const fg_type *type, const void *data)
{
    fg_error err = {0};
    fg_variable *variable;
    fgt_ok(fg_variable_create(name, type, NULL, &variable, &err));
    if (data != NULL)
        fgt_ok(fg_variable_set(variable, data, fg_type_bytes(type), &err));
    return variable;
}

void values_run(fg_trace *trace, fg_tensor output, void *data, size_t size_bytes)
{
    fg_error err = {0};
    fg_array *array;
    fgt_ok(fg_run(trace, &output, 1, &array, &err));
    fgt_ok(fg_array_read(array, data, size_bytes, &err));
    fg_array_release(array);
}

void values_assert(const float *got, const float *want, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(&got[i], &want[i], sizeof *got) != 0)
            fail_msg("element %zu is %.9g, not %.9g", i, (double)got[i], (double)want[i]);
}

int64_t values_programs(fg_client *client)
{
    const fg_client_stats stats = fg_client_stats_of(client);
    return stats.compiles + stats.compile_cache_hits;
}
