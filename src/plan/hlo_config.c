/* hlo_config.c - the compiler's JSON annotations of instructions.
 *
 * Their format is not stable: missing or unexpected entries are ignored.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/hlo_work.h"

#include <jansson.h>
#include <stdio.h>

#include "base/text.h"
#include "input/json_file.h"

/* A number, or a string that contains one; -1 otherwise. */
static int64_t number(const json_t *value)
{
    int64_t result = -1;
    if (json_is_integer(value))
        return json_integer_value(value);
    if (json_is_string(value) && !fgi_parse_i64(fgi_str_of(json_string_value(value)), &result))
        return -1;
    return result;
}

static void read_algorithm(const json_t *config, fgi_hlo_config *out)
{
    const json_t *from = json_object_get(config, "collective_algorithm_config");
    const char *emitter = json_string_value(json_object_get(from, "emitter"));
    const char *strategy = json_string_value(json_object_get(from, "strategy"));
    (void)snprintf(out->algorithm, sizeof out->algorithm, "%s%s%s", emitter ? emitter : "",
                   emitter && strategy ? ", " : "", strategy ? strategy : "");
}

void fgi_hlo_config_read(const fgi_hlo_op *op, fgi_hlo_config *out)
{
    *out = (fgi_hlo_config){.cycles = -1, .trips = -1};
    if (op->config.len == 0)
        return;
    json_t *config = fgi_json_load((const char *)op->config.data, op->config.len, 0, NULL);
    const json_t *window = json_object_get(config, "window_config");
    const json_t *trips = json_object_get(config, "known_trip_count");
    const json_t *cycles = json_object_get(window, "estimated_cycles");
    out->cycles =
        (double)number(cycles != NULL ? cycles : json_object_get(config, "estimated_cycles"));
    out->trips = number(json_object_get(trips, "n"));
    out->is_beside = json_object_get(config, "async_collective_fusion_config") != NULL;
    read_algorithm(config, out);
    json_decref(config);
}
