/* plan_page.c - a page of results: all machines in one table, then memory, batches, layers,
 * collectives and input of each.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/plan_page.h"

#include <math.h>

#include "report/doc.h"
#include "report/run_view.h"

enum { WORST_LAYERS = 12, SWEEP_MAX = 64, SMALL = 20 /* available / needed memory */ };

static const fgi_field machine_fields[] = {
    FGI_FIELD("machine", "name", FGI_WORDS),
    FGI_FIELD("devices", "devices", FGI_COUNT),
    FGI_FIELD("memory", "fits", FGI_FITS),
    FGI_FIELD("needed", "hbm_needed_bytes", FGI_BYTES),
    FGI_FIELD("of", "hbm_available_bytes", FGI_BYTES),
    FGI_FIELD("", "hbm_needed_bytes/hbm_available_bytes", FGI_BAR),
    FGI_FIELD("batch", "batch_size", FGI_COUNT),
    FGI_FIELD("largest", "max_batch", FGI_COUNT),
    FGI_FIELD("step", "estimated_step_s", FGI_TIME),
    FGI_FIELD("samples/s", "estimated_samples_per_s", FGI_NUMBER),
    FGI_FIELDS_END};

/* Writes a table and frees its rows. */
static void put_table(fgi_doc *d, const fgi_field *fields, json_t *rows)
{
    d->out->failed = d->out->failed || rows == NULL;
    fgi_doc_table(d, NULL, fields, rows);
    json_decref(rows);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static const struct memory_part {
    const char *key, *name;
    int color;
} memory_parts[] = {
    {"parameter_bytes", "parameters", 3},
    {"optimizer_bytes", "optimizer", 7},
    {"batch_bytes", "batch", 0},
    {"padding_bytes", "padding", 4},
    {"activation_bytes", "activations", 1},
    {"program_bytes", "program", 2},
};

static const fgi_field memory_fields[] = {
    FGI_FIELD("", "name", FGI_KEY), FGI_FIELD("bytes", "bytes", FGI_COUNT),
    FGI_FIELD("", "bytes", FGI_BYTES), FGI_FIELD("of a device", "bytes/limit", FGI_PERCENT),
    FGI_FIELDS_END};

static void put_memory(fgi_doc *d, const json_t *o)
{
    const double limit = fgi_json_number(o, "hbm_available_bytes");
    double sum = 0;
    json_t *rows = json_array();
    for (size_t i = 0; i < sizeof memory_parts / sizeof memory_parts[0]; i++) {
        const double bytes = fgi_json_number(o, memory_parts[i].key);
        if (!isfinite(bytes))
            continue;
        sum += fmax(0, bytes);
        (void)json_array_append_new(rows,
                                    json_pack("{s:s, s:i, s:f, s:f}", "name", memory_parts[i].name,
                                              "color", memory_parts[i].color, "bytes", bytes,
                                              "limit", limit > 0 ? limit : 0.0));
    }
    if (sum > 0) {
        const bool is_small = limit > SMALL * sum;
        fgi_doc_heading(d, 3, "Memory per device");
        if (limit > 0)
            fgi_doc_say(d, "note", "%s%s.",
                        is_small       ? "The bar shows what is needed; far more is available: "
                        : limit >= sum ? "The whole bar is "
                                       : "More than available: ",
                        fgi_bytes_words(limit));
        fgi_doc_stack(d, rows, "bytes", limit > sum && !is_small ? limit : sum);
        fgi_doc_table(d, NULL, memory_fields, rows);
    }
    json_decref(rows);
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Columns of the sweep, by batch. */
typedef struct sweep {
    double batch[SWEEP_MAX], bytes[SWEEP_MAX], cycles[SWEEP_MAX];
    size_t count;
} sweep;

static double cycles_per_sample(const json_t *point)
{
    const double reported = fgi_json_number(point, "cycles_per_sample");
    return isfinite(reported)
               ? reported
               : fgi_json_number(point, "estimated_cycles") / fgi_json_number(point, "batch_size");
}

static void read_sweep(const json_t *o, sweep *out)
{
    size_t i;
    json_t *point;
    out->count = 0;
    json_array_foreach(json_object_get(o, "sweep"), i, point)
    {
        const size_t n = out->count;
        const double batch = fgi_json_number(point, "batch_size");
        if (!(batch > 0) || n == SWEEP_MAX)
            continue;
        out->batch[n] = batch;
        out->bytes[n] = fgi_json_number(point, "hbm_needed_bytes");
        out->cycles[n] = cycles_per_sample(point);
        out->count++;
    }
}

static size_t known(const double *values, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += isfinite(values[i]) ? 1 : 0;
    return n;
}

static double largest(const double *values, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        most = isfinite(values[i]) ? fmax(most, values[i]) : most;
    return most;
}

/* The memory of a device and the cycles of a sample, of batches with at least two known values. */
static void put_curves(fgi_doc *d, const sweep *s, double limit)
{
    const fgi_series memory[] = {{"needed", s->batch, s->bytes, s->count},
                                 {"available per device", NULL, &limit, limit > 0 ? 1 : 0}};
    const fgi_series cycles = {"cycles", s->batch, s->cycles, s->count};
    const fgi_chart charts[] = {
        {.title = "Memory per device by batch",
         .x_label = "batch of a device",
         .y_unit = "B",
         .series = memory,
         .count = limit > 0 ? 2 : 1,
         .y = limit > SMALL * largest(s->bytes, s->count) ? FGI_SCALE_LOG : FGI_SCALE_LINEAR,
         .is_log_x = true,
         .color = 3},
        {.title = "Cycles per sample by batch (compiler estimate)",
         .x_label = "batch of a device",
         .series = &cycles,
         .count = 1,
         .y = FGI_SCALE_LOG,
         .is_log_x = true,
         .color = 3}};
    for (int i = 0; i < 2; i++)
        if (known(charts[i].series->y, s->count) > 1)
            fgi_doc_chart(d, &charts[i]);
}

static const fgi_field batch_fields[] = {FGI_FIELD("batch of a device", "batch_size", FGI_COUNT),
                                         FGI_FIELD("", "fits", FGI_FITS),
                                         FGI_FIELD("needed", "hbm_needed_bytes", FGI_BYTES),
                                         FGI_FIELD("cycles per sample", "cycles", FGI_NUMBER),
                                         FGI_FIELD("", "cycles", FGI_BAR),
                                         FGI_FIELDS_END};

/* Copies of the rows, with one more member: a number, unless it is not known. */
static json_t *with_number(const json_t *rows, size_t most, const char *key,
                           double (*number)(const json_t *row), double all)
{
    json_t *copies = json_array(), *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        json_t *copy = i < most ? json_copy(row) : NULL;
        const double value = number != NULL ? number(row) : all;
        if (copy != NULL && isfinite(value))
            (void)json_object_set_new(copy, key, json_real(value));
        if (copy != NULL)
            (void)json_array_append_new(copies, copy);
    }
    return copies;
}

static void put_sweep(fgi_doc *d, const json_t *o)
{
    sweep s;
    read_sweep(o, &s);
    if (s.count == 0)
        return;
    fgi_doc_heading(d, 3, "Batches");
    put_curves(d, &s, fgi_json_number(o, "hbm_available_bytes"));
    const json_t *rows = json_object_get(o, "sweep");
    put_table(d, batch_fields,
              with_number(rows, json_array_size(rows), "cycles", cycles_per_sample, 0));
    const double filled = fgi_json_number(o, "saturation_batch");
    if (filled > 0)
        fgi_doc_say(d, NULL,
                    "Starting at a batch of %.0f, cycles per sample are within a tenth of the "
                    "least.",
                    filled);
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* "a.c:31" */
static void put_place(fgi_buf *out, const fgi_field *field, const json_t *layer)
{
    const char *file = fgi_json_words(layer, "file");
    const double line = fgi_json_number(layer, "line");
    (void)field;
    fgi_buf_puts(out, file);
    if (*file != '\0' && line > 0)
        fgi_buf_printf(out, ":%.0f", line);
}

/* "129 is padded to 256"; the batch dimension is named. */
static void put_dimension(fgi_buf *out, const fgi_field *field, const json_t *layer)
{
    const json_t *dim = json_object_get(layer, "worst_dimension");
    const double size = fgi_json_number(dim, "size"), padded = fgi_json_number(dim, "padded");
    (void)field;
    if (padded > size)
        fgi_buf_printf(out, "%s %.0f is padded to %.0f",
                       json_is_true(json_object_get(dim, "is_batch")) ? "batch" : "dimension", size,
                       padded);
}

static const fgi_field layer_fields[] = {FGI_FIELD("layer", "name", FGI_WORDS),
                                         FGI_FIELD_PUT("place", FGI_WORDS, put_place),
                                         FGI_FIELD("cycles", "cycles", FGI_NUMBER),
                                         FGI_FIELD("", "cycles/all", FGI_BAR),
                                         FGI_FIELD("of the step", "cycles/all", FGI_PERCENT),
                                         FGI_FIELD("lost to padding", "lost_cycles", FGI_NUMBER),
                                         FGI_FIELD_PUT("", FGI_WORDS, put_dimension),
                                         FGI_FIELDS_END};

static void put_layers(fgi_doc *d, const json_t *analysis)
{
    const json_t *layers = json_object_get(analysis, "layers");
    const size_t count = json_array_size(layers);
    double all = fgi_json_number(analysis, "cycles");
    size_t i;
    json_t *layer;
    if (count == 0)
        return;
    if (!(all > 0)) {
        all = 0;
        json_array_foreach(layers, i, layer) all += fmax(0, fgi_json_number(layer, "cycles"));
    }
    fgi_doc_heading(d, 3, "Layers");
    fgi_doc_say(d, "note",
                "Cycles are the compiler's estimate. %zu of %zu layers, sorted by the cost of "
                "padding.",
                count < WORST_LAYERS ? count : WORST_LAYERS, count);
    put_table(d, layer_fields, with_number(layers, WORST_LAYERS, "all", NULL, all));
}

/* ---- collectives, slow operations, input ----------------------------------------------------- */

static const fgi_field collective_fields[] = {FGI_FIELD("collective", "kind", FGI_WORDS),
                                              FGI_FIELD("per step", "count", FGI_COUNT),
                                              FGI_FIELD("bytes", "bytes", FGI_COUNT),
                                              FGI_FIELD("", "bytes", FGI_BAR),
                                              FGI_FIELD("algorithm", "algorithm", FGI_WORDS),
                                              FGI_FIELD("time (estimate)", "seconds", FGI_TIME),
                                              FGI_FIELDS_END};

static const fgi_field input_fields[] = {
    FGI_FIELD("", "name", FGI_WORDS), FGI_FIELD("samples/s", "samples", FGI_NUMBER),
    FGI_FIELD("per second", "bytes", FGI_BYTES), FGI_FIELD("", "bar", FGI_BAR), FGI_FIELDS_END};

static const fgi_field fact_fields[] = {FGI_FIELD("", "name", FGI_WORDS),
                                        FGI_FIELD("", "value", FGI_WORDS), FGI_FIELDS_END};

static void put_slow(fgi_doc *d, const json_t *list)
{
    size_t i;
    const json_t *one;
    fgi_doc_heading(d, 3, "Slow operations");
    json_array_foreach(list, i, one)
    {
        const char *layer = fgi_json_words(one, "layer");
        fgi_doc_item(d, "%.0f x %s%s%s", fgi_json_number(one, "count"), fgi_json_words(one, "what"),
                     *layer != '\0' ? ", first in " : "", layer);
    }
}

/* Rates of the members "input_NAME_samples_per_s" and "input_NAME_bytes_per_s". */
static void add_input(json_t *rows, const json_t *o, const char *words, const char *name,
                      bool has_bar)
{
    fgi_buf key = {0};
    json_t *row = json_pack("{s:s}", "name", words);
    fgi_buf_printf(&key, "input_%s_samples_per_s", name);
    const json_t *samples = key.failed ? NULL : json_object_get(o, key.data);
    fgi_buf_clear(&key);
    fgi_buf_printf(&key, "input_%s_bytes_per_s", name);
    const json_t *bytes = key.failed ? NULL : json_object_get(o, key.data);
    fgi_buf_fini(&key);
    (void)json_object_set(row, "samples", (json_t *)samples);
    (void)json_object_set(row, "bytes", (json_t *)bytes);
    if (has_bar)
        (void)json_object_set(row, "bar", (json_t *)samples);
    (void)json_array_append_new(rows, row);
}

static void put_input(fgi_doc *d, const json_t *o)
{
    const double hosts = fgi_json_number(o, "hosts");
    fgi_buf words = {0};
    json_t *rows = json_array();
    if (isfinite(fgi_json_number(o, hosts > 1 ? "input_host_samples_per_s"
                                              : "input_needed_samples_per_s")) &&
        isfinite(fgi_json_number(o, "input_measured_samples_per_s"))) {
        fgi_buf_printf(&words, "of that, each of %.0f hosts", hosts);
        add_input(rows, o, "required by the step (estimate)", "needed", !(hosts > 1));
        if (hosts > 1 && !words.failed)
            add_input(rows, o, words.data, "host", true);
        add_input(rows, o, "delivered by the loader on this host (measured)", "measured", true);
        fgi_doc_heading(d, 3, "Input");
        fgi_doc_table(d, NULL, input_fields, rows);
        fgi_doc_say(d, NULL, "%s", fgi_json_words(o, "input_verdict"));
        fgi_buf_fini(&words);
    }
    json_decref(rows);
}

/* ---- page ------------------------------------------------------------------------------------ */

static void put_facts(fgi_doc *d, const json_t *o)
{
    static const char *const keys[][2] = {{"device_kind", "device"},
                                          {"precision", "precision"},
                                          {"compiler", "compiler"},
                                          {"fingerprint", "program"}};
    json_t *rows = json_array();
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (*fgi_json_words(o, keys[i][0]) != '\0')
            (void)json_array_append_new(rows, json_pack("{s:s, s:s}", "name", keys[i][1], "value",
                                                        fgi_json_words(o, keys[i][0])));
    put_table(d, fact_fields, rows);
}

static void put_machine(fgi_doc *d, const json_t *o)
{
    const json_t *analysis = json_object_get(o, "analysis"), *fits = json_object_get(o, "fits");
    if (analysis == NULL)
        analysis = o;
    const json_t *list = json_object_get(analysis, "collectives");
    fgi_doc_heading(d, 2, "%s: %s", fgi_json_words(o, "name"),
                    json_is_true(fits)    ? "\1good\1fits"
                    : json_is_false(fits) ? "\1bad\1does not fit"
                                          : "\1note\1no verdict");
    fgi_doc_say(d, NULL, "%s", fgi_json_words(o, "reason"));
    fgi_doc_say(d, NULL, "%s", fgi_json_words(o, "error"));
    put_memory(d, o);
    put_sweep(d, o);
    put_layers(d, analysis);
    fgi_doc_heading(d, 3, "Communication between devices");
    fgi_doc_table(d, NULL, collective_fields,
                  json_array_size(list) > 0 ? list : json_object_get(o, "collectives"));
    put_slow(d, json_object_get(analysis, "slow"));
    put_input(d, o);
    put_facts(d, o);
}

void fgi_plan_page_put(fgi_buf *out, const char *config_path, const json_t *root)
{
    const json_t *machines = json_object_get(root, "topologies"), *o;
    size_t i;
    fgi_doc d;
    fgi_doc_begin(&d, out, true, "Plan of a training step");
    if (config_path != NULL)
        fgi_doc_say(&d, NULL, "Configuration: %s", config_path);
    fgi_doc_say(
        &d, NULL,
        "Compiled for these machines and not run on them. Memory is what their compilers allocate; "
        "times and cycles are the compilers' estimates, not measurements. Batch sizes are samples "
        "per device; the largest one leaves a tenth of the memory free.");
    fgi_doc_table(&d, NULL, machine_fields, machines);
    json_array_foreach(machines, i, o) put_machine(&d, o);
    fgi_doc_end(&d);
}
