/* run_report_history.c - the parts of a run that was resumed: each time that a fit of the run ends,
 * what it writes about itself follows what the earlier ones have written.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "recipe/run.h"
#include "report/run_view.h"
#include "input/json_file.h"

enum { PARTS_MAX = 1000 };

static json_t *part_of(const json_t *report)
{
    static const char *const keys[] = {"started_at", "state", "seconds", "steps"};
    json_t *part = json_object();
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        json_t *value = json_object_get(report, keys[i]);
        if (value != NULL)
            (void)json_object_set(part, keys[i], value);
    }
    return part;
}

/* Whether the fit continued a run of this folder. */
static bool is_resumed(const fg_recipe *r) { return r->origin.ckpt != NULL && !r->is_start; }

/* The report of the part before this fit, which soon overwrites it; NULL: there is none. */
static json_t *before_of(fg_recipe *r)
{
    fg_error unused;
    if (!r->has_read_report && is_resumed(r))
        (void)!fgi_run_view_read_report(r->folder, &r->report_before, &unused);
    r->has_read_report = true;
    return r->report_before;
}

/* A part that still is "running" although another one has followed it was killed. */
static void correct_state(json_t *part)
{
    if (strcmp(fgi_json_words(part, "state"), "running") == 0)
        (void)json_object_set_new(part, "state", json_string("killed"));
}

json_t *fgi_run_report_history(fg_recipe *r, const json_t *report)
{
    json_t *before = before_of(r);
    json_t *history = json_array();
    if (before != NULL) {
        json_t *parts = json_object_get(before, "history");
        if (!json_is_array(parts))
            (void)json_array_append_new(history, part_of(before));
        else if (json_array_size(parts) < PARTS_MAX)
            (void)json_array_extend(history, parts);
    }
    if (json_array_size(history) > 0)
        correct_state(json_array_get(history, json_array_size(history) - 1));
    (void)json_array_append_new(history, part_of(report));
    return history;
}
