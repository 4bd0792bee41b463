/* bench_doc.c - the time of a training step, and of its operations, as lines of a terminal.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/reports.h"

#include <math.h>

#include "doc/doc.h"

static const fgi_field step_cards[] = {FGI_FIELD("device", "device", FGI_WORDS),
                                       FGI_FIELD("devices", "devices", FGI_COUNT),
                                       FGI_FIELD("steps", "steps", FGI_COUNT),
                                       FGI_FIELD("ms per step", "step_ms", FGI_NUMBER),
                                       FGI_FIELD("samples/s", "samples_per_s", FGI_NUMBER),
                                       FGI_FIELD("GFLOP/s", "gflops", FGI_NUMBER),
                                       FGI_FIELDS_END};

/* "conv1", "train.c:31", or "conv1, train.c:31" */
static void put_place(fgi_buf *out, const fgi_field *field, const json_t *row)
{
    const char *layer = fgi_json_words(row, "layer"), *file = fgi_json_words(row, "file");
    fgi_buf place = {0};
    fgi_buf_printf(&place, *file != '\0' ? "%s:%.0f" : "%s", file, fgi_json_number(row, "line"));
    fgi_buf_puts(out, layer);
    if (place.data != NULL && strcmp(layer, place.data) != 0)
        fgi_buf_printf(out, "%s%s", *layer != '\0' && *file != '\0' ? ", " : "", place.data);
    fgi_buf_fini(&place);
}

#define TIMES                                                                                      \
    FGI_FIELD("of step", "fraction", FGI_PERCENT), FGI_FIELD("ms/step", "ms", FGI_NUMBER),         \
        FGI_FIELD("calls", "calls", FGI_NUMBER), FGI_FIELD("GFLOP/s", "gflops", FGI_NUMBER)

static const fgi_field kind_fields[] = {TIMES, FGI_FIELD("kind", "kind", FGI_WORDS),
                                        FGI_FIELDS_END};
static const fgi_field operation_fields[] = {TIMES, FGI_FIELD("operation", "operation", FGI_WORDS),
                                             FGI_FIELD_PUT("place", FGI_WORDS, put_place),
                                             FGI_FIELDS_END};

static void put_profile(fgi_doc *d, const json_t *p, size_t rows)
{
    const json_t *all = json_object_get(p, "operations");
    json_t *kinds = json_copy(json_object_get(p, "kinds")), *first = json_array();
    (void)json_array_append_new(kinds, json_pack("{s:s, s:f, s:f}", "kind", "between operations",
                                                 "fraction", fgi_json_number(p, "between_fraction"),
                                                 "ms", fgi_json_number(p, "between_ms")));
    for (size_t i = 0; i < rows && i < json_array_size(all); i++)
        (void)json_array_append(first, json_array_get(all, i));
    fgi_doc_heading(d, 2, "Kinds of operations, of %.4g ms on the devices",
                    fgi_json_number(p, "step_ms"));
    fgi_doc_rows(d, NULL, kind_fields, kinds);
    fgi_doc_heading(d, 2, "Operations");
    fgi_doc_rows(d, NULL, operation_fields, first);
    if (json_array_size(all) > rows)
        fgi_doc_say(d, NULL, "and %zu more: --rows=%zu", json_array_size(all) - rows,
                    json_array_size(all));
}

void fgi_bench_lines_put(fgi_buf *out, const json_t *bench, size_t rows)
{
    fgi_doc d;
    fgi_doc_begin(&d, out, false, "Training step");
    fgi_doc_cards(&d, step_cards, bench);
    if (json_is_object(json_object_get(bench, "profile")))
        put_profile(&d, json_object_get(bench, "profile"), rows);
    else
        fgi_doc_say(&d, NULL, "--profile shows the time of each operation");
    fgi_doc_end(&d);
}
