/* plan_doc.c - the plan of a training step: memory, batches, layers, collectives and input of each
 * machine; in the page, a table of all machines comes first.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/reports.h"

#include <math.h>
#include <string.h>

#include "base/duration.h"
#include "doc/doc.h"
#include "base/print.h"

enum {
    PAGE_LAYERS = 12,
    LINES_LAYERS = 5,
    SWEEP_MAX = 64,
    SMALL = 20 /* available / needed memory */
};

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

/* ---- memory ---------------------------------------------------------------------------------- */

static const fgi_field memory_fields[] = {
    FGI_FIELD("", "name", FGI_KEY), FGI_FIELD("bytes", "bytes", FGI_COUNT),
    FGI_FIELD("", "bytes", FGI_BYTES), FGI_FIELD("of a device", "bytes/limit", FGI_PERCENT),
    FGI_FIELDS_END};

/* "12.3 GB of 16.9 GB"; "more than 16.9 GB" if the compiler does not say how much. */
static void put_need(fgi_buf *out, const fgi_field *field, const json_t *o)
{
    const double need = fgi_json_number(o, "hbm_needed_bytes");
    const double limit = fgi_json_number(o, "hbm_available_bytes");
    fgi_kind_put(out, FGI_BYTES, need);
    if (limit > 0 && (isfinite(need) || json_is_false(json_object_get(o, "fits"))))
        fgi_buf_printf(out, isfinite(need) ? " of %s" : "more than %s", fgi_bytes_words(limit));
}

static const fgi_field memory_cards[] = {FGI_FIELD_PUT("memory per device", FGI_WORDS, put_need),
                                         FGI_FIELD("parameters", "parameter_bytes", FGI_BYTES),
                                         FGI_FIELD("optimizer", "optimizer_bytes", FGI_BYTES),
                                         FGI_FIELD("batch", "batch_bytes", FGI_BYTES),
                                         FGI_FIELD("padding", "padding_bytes", FGI_BYTES),
                                         FGI_FIELD("activations", "activation_bytes", FGI_BYTES),
                                         FGI_FIELD("program", "program_bytes", FGI_BYTES),
                                         FGI_FIELDS_END};
static const int memory_colors[] = {0, 3, 7, 0, 4, 1, 2};

static void put_parts(fgi_doc *d, const json_t *o)
{
    const double limit = fgi_json_number(o, "hbm_available_bytes");
    double sum = 0;
    json_t *rows = json_array();
    for (size_t i = 1; memory_cards[i].name != NULL; i++) {
        const double bytes = fgi_json_number(o, memory_cards[i].key);
        if (!isfinite(bytes))
            continue;
        sum += fmax(0, bytes);
        (void)json_array_append_new(
            rows, json_pack("{s:s, s:i, s:f, s:f}", "name", memory_cards[i].name, "color",
                            memory_colors[i], "bytes", bytes, "limit", limit > 0 ? limit : 0.0));
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

/* ---- the step as a whole --------------------------------------------------------------------- */

static void put_batch(fgi_doc *d, const json_t *o)
{
    const double most = fgi_json_number(o, "max_batch");
    if (most > 0)
        fgi_doc_item(d, "largest batch that leaves a tenth free: %.0f per device%s", most,
                     json_is_true(json_object_get(o, "max_batch_is_all_data"))
                         ? " (all training samples)"
                         : "");
    else if (isfinite(most))
        fgi_doc_item(d, "no batch leaves a tenth of the memory free, not even 1 per device");
}

static void put_totals(fgi_doc *d, const json_t *o)
{
    char step[32], epoch[32];
    const double seconds = fgi_json_number(o, "estimated_step_s");
    fgi_duration_words(fgi_json_number(o, "estimated_epoch_s"), epoch);
    put_batch(d, o);
    if (fgi_json_number(o, "matmuls") > 0)
        fgi_doc_item(d, "matrix multiplications and convolutions: %.0f, with 16-bit operands: %.0f",
                     fgi_json_number(o, "matmuls"), fgi_json_number(o, "matmuls_16bit"));
    if (isfinite(seconds))
        fgi_doc_item(d, "compiler estimate, not measured: %s per step%s%s%s, %.4g samples/s",
                     fgi_duration_words(seconds, step), *epoch != '\0' ? ", " : "", epoch,
                     *epoch != '\0' ? " per epoch" : "",
                     fgi_json_number(o, "estimated_samples_per_s"));
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Columns of the sweep, by batch. */
typedef struct sweep {
    double batch[SWEEP_MAX], bytes[SWEEP_MAX], cycles[SWEEP_MAX];
    size_t count;
} sweep;

static void read_sweep(const json_t *rows, sweep *out)
{
    size_t i;
    json_t *point;
    out->count = 0;
    json_array_foreach(rows, i, point)
    {
        const size_t n = out->count;
        const double batch = fgi_json_number(point, "batch_size");
        if (!(batch > 0) || n == SWEEP_MAX)
            continue;
        out->batch[n] = batch;
        out->bytes[n] = fgi_json_number(point, "hbm_needed_bytes");
        out->cycles[n] = fgi_json_number(point, "cycles_per_sample");
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

static const fgi_field batch_fields[] = {
    FGI_FIELD("batch of a device", "batch_size", FGI_COUNT),
    FGI_FIELD("", "fits", FGI_FITS),
    FGI_FIELD("needed", "hbm_needed_bytes", FGI_BYTES),
    FGI_FIELD("cycles per sample", "cycles_per_sample", FGI_NUMBER),
    FGI_FIELD("", "cycles_per_sample", FGI_BAR),
    FGI_FIELDS_END};

static void put_sweep(fgi_doc *d, const json_t *o)
{
    sweep s;
    const json_t *rows = json_object_get(o, "sweep");
    const double filled = fgi_json_number(o, "saturation_batch");
    read_sweep(rows, &s);
    if (s.count == 0)
        return;
    fgi_doc_heading(d, 3, "Batches");
    put_curves(d, &s, fgi_json_number(o, "hbm_available_bytes"));
    fgi_doc_table(d, NULL, batch_fields, rows);
    if (filled > 0)
        fgi_doc_item(d,
                     "the matrix units are saturated at batch sizes of %.0f or more: cycles per "
                     "sample are within a tenth of the least",
                     filled);
}

/* ---- layers ---------------------------------------------------------------------------------- */

/* "a.c:31" */
static void put_place(fgi_buf *out, const fgi_field *field, const json_t *layer)
{
    const char *file = fgi_json_words(layer, "file");
    const double line = fgi_json_number(layer, "line");
    fgi_buf_puts(out, file);
    if (*file != '\0' && line > 0)
        fgi_buf_printf(out, ":%.0f", line);
}

/* "width 129 to 256, none at 128" */
static void put_padding(fgi_buf *out, const fgi_field *field, const json_t *layer)
{
    const json_t *dim = json_object_get(layer, "worst_dimension");
    const double size = fgi_json_number(dim, "size"), padded = fgi_json_number(dim, "padded");
    const double below = padded - fgi_json_number(dim, "unit");
    if (!(padded > size))
        return;
    fgi_buf_printf(out, "%s %.0f to %.0f", fgi_json_words(dim, "kind"), size, padded);
    if (below > 0)
        fgi_buf_printf(out, ", none at %.0f", below);
}

static const fgi_field layer_fields[] = {FGI_FIELD("layer", "name", FGI_WORDS),
                                         FGI_FIELD_PUT("place", FGI_WORDS, put_place),
                                         FGI_FIELD("useful work", "useful_fraction", FGI_PERCENT),
                                         FGI_FIELD("flops", "flops_fraction", FGI_PERCENT),
                                         FGI_FIELD_IN(FGI_PAGE, "cycles", "cycles", FGI_NUMBER),
                                         FGI_FIELD_IN(FGI_PAGE, "", "cycles_fraction", FGI_BAR),
                                         FGI_FIELD("of all cycles", "cycles_fraction", FGI_PERCENT),
                                         FGI_FIELD("lost to padding", "lost_cycles", FGI_NUMBER),
                                         FGI_FIELD_PUT("padding", FGI_WORDS, put_padding),
                                         FGI_FIELDS_END};

static void put_layers(fgi_doc *d, const json_t *layers)
{
    const size_t count = json_array_size(layers), most = d->is_page ? PAGE_LAYERS : LINES_LAYERS;
    json_t *rows = json_array();
    for (size_t i = 0; i < count && i < most; i++)
        (void)json_array_append(rows, json_array_get(layers, i));
    fgi_doc_heading(d, 3, "Layers");
    if (count > 0)
        fgi_doc_say(d, "note", "%zu of %zu layers, sorted by the cost of padding",
                    json_array_size(rows), count);
    fgi_doc_rows(d, NULL, layer_fields, rows);
}

/* ---- cycles, collectives, slow operations, input --------------------------------------------- */

static const fgi_field analysis_cards[] = {
    FGI_FIELD("step", "step_s", FGI_TIME),
    FGI_FIELD("compute", "compute_s", FGI_TIME),
    FGI_FIELD("memory", "memory_s", FGI_TIME),
    FGI_FIELD("communication", "collective_s", FGI_TIME),
    FGI_FIELD("epoch", "epoch_s", FGI_TIME),
    FGI_FIELD("cycles", "cycles", FGI_NUMBER),
    FGI_FIELD("cycles per sample", "cycles_per_sample", FGI_NUMBER),
    FGI_FIELD("of the matrix units' peak", "mxu_fraction", FGI_PERCENT),
    FGI_FIELD("flops of matmuls", "flops", FGI_NUMBER),
    FGI_FIELD("of them useful", "useful_fraction", FGI_PERCENT),
    FGI_FIELD("with 16 bits or less", "fraction_16bit", FGI_PERCENT),
    FGI_FIELD("main memory traffic", "padded_hbm_bytes", FGI_BYTES),
    FGI_FIELD("of it useful", "useful_bytes_fraction", FGI_PERCENT),
    FGI_FIELDS_END};

static const fgi_field collective_fields[] = {FGI_FIELD("collective", "kind", FGI_WORDS),
                                              FGI_FIELD("per step", "count", FGI_COUNT),
                                              FGI_FIELD("devices", "devices", FGI_COUNT),
                                              FGI_FIELD("bytes", "bytes", FGI_COUNT),
                                              FGI_FIELD_IN(FGI_PAGE, "", "bytes", FGI_BAR),
                                              FGI_FIELD("time (estimate)", "seconds", FGI_TIME),
                                              FGI_FIELD("algorithm", "algorithm", FGI_WORDS),
                                              FGI_FIELDS_END};

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

static void put_analysis(fgi_doc *d, const json_t *o)
{
    const json_t *a = json_object_get(o, "analysis"), *list = json_object_get(a, "collectives");
    const double loops = fgi_json_number(a, "unknown_loops");
    fgi_doc_heading(d, 3, "Step of one device (compiler estimate, not measured)");
    fgi_doc_cards(d, analysis_cards, a);
    if (loops > 0)
        fgi_doc_item(d, "loops of unknown length, counted as one iteration: %.0f", loops);
    fgi_doc_heading(d, 3, "Communication between devices");
    fgi_doc_table(d, NULL, collective_fields,
                  json_array_size(list) > 0 ? list : json_object_get(o, "collectives"));
    put_slow(d, json_object_get(a, "slow"));
    put_layers(d, json_object_get(a, "layers"));
}

static const fgi_field input_fields[] = {
    FGI_FIELD("", "name", FGI_WORDS), FGI_FIELD("samples/s", "samples", FGI_NUMBER),
    FGI_FIELD("per second", "bytes", FGI_BYTES), FGI_FIELD_IN(FGI_PAGE, "", "bar", FGI_BAR),
    FGI_FIELDS_END};

/* What the step requires, what that is for each of several hosts, and what the loader delivers;
 * bars compare the last two. */
static void put_input(fgi_doc *d, const json_t *o)
{
    static const char *const keys[][2] = {
        {"input_needed_samples_per_s", "input_needed_bytes_per_s"},
        {"input_host_samples_per_s", "input_host_bytes_per_s"},
        {"input_measured_samples_per_s", "input_measured_bytes_per_s"}};
    const double hosts = fgi_json_number(o, "hosts");
    json_t *rows = json_array();
    for (int i = 0; i < 3; i++) {
        json_t *samples = json_object_get(o, keys[i][0]);
        json_t *name = i == 0   ? json_string("required by the step (estimate)")
                       : i == 1 ? json_sprintf("of that, each of %.0f hosts", hosts)
                                : json_string("delivered by the loader on this host (measured)");
        if (json_is_number(samples) && (i != 1 || hosts > 1))
            (void)json_array_append_new(rows,
                                        json_pack("{s:O, s:O, s:O?, s:O?}", "name", name, "samples",
                                                  samples, "bytes", json_object_get(o, keys[i][1]),
                                                  "bar", i == 0 && hosts > 1 ? NULL : samples));
        json_decref(name);
    }
    fgi_doc_heading(d, 3, "Input");
    fgi_doc_table(d, NULL, input_fields, rows);
    fgi_doc_say(d, NULL, "%s", fgi_json_words(o, "input_verdict"));
    json_decref(rows);
}

/* ---- machines -------------------------------------------------------------------------------- */

static const char *verdict(const json_t *o)
{
    const json_t *fits = json_object_get(o, "fits");
    return json_is_true(fits)    ? "\1good\1fits"
           : json_is_false(fits) ? "\1bad\1does not fit"
                                 : "\1note\1no verdict";
}

/* An error may have several lines. */
static void put_error(fgi_doc *d, const char *words)
{
    for (; *words != '\0'; words += *words == '\n') {
        const size_t size = strcspn(words, "\n");
        fgi_doc_say(d, NULL, "%.*s", (int)size, words);
        words += size;
    }
}

static void put_machine(fgi_doc *d, const json_t *o)
{
    if (!d->is_page)
        fgi_doc_cards(d, memory_cards, o);
    fgi_doc_say(d, NULL, "%s", fgi_json_words(o, "reason"));
    put_error(d, fgi_json_words(o, "error"));
    put_totals(d, o);
    if (d->is_page)
        put_parts(d, o);
    put_sweep(d, o);
    put_analysis(d, o);
    put_input(d, o);
    if (!d->is_page)
        return;
    fgi_doc_fact(d, "device", "%s", fgi_json_words(o, "device_kind"));
    fgi_doc_fact(d, "precision", "%s", fgi_json_words(o, "precision"));
    fgi_doc_fact(d, "compiler", "%s", fgi_json_words(o, "compiler"));
    fgi_doc_fact(d, "program", "%s", fgi_json_words(o, "fingerprint"));
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
    json_array_foreach(machines, i, o)
    {
        fgi_doc_heading(&d, 2, "%s: %s", fgi_json_words(o, "name"), verdict(o));
        put_machine(&d, o);
    }
    fgi_doc_end(&d);
}

/* "v5e:2x4 (8 x TPU v5 lite on 2 hosts), batch 128 per device: fits" */
static void put_name(fgi_buf *out, const json_t *o)
{
    const double hosts = fgi_json_number(o, "hosts");
    const char *same = fgi_json_words(o, "same_as");
    fgi_buf_puts(out, fgi_json_words(o, "name"));
    if (*same != '\0') {
        fgi_buf_printf(out, ": the same machine as %s", same);
    } else if (json_is_number(json_object_get(o, "devices"))) {
        fgi_buf_printf(out, " (%.0f x %s", fgi_json_number(o, "devices"),
                       fgi_json_words(o, "device_kind"));
        if (hosts > 1)
            fgi_buf_printf(out, " on %.0f hosts", hosts);
        fgi_buf_puts(out, ")");
        if (json_is_number(json_object_get(o, "batch_size")))
            fgi_buf_printf(out, ", batch %.0f per device", fgi_json_number(o, "batch_size"));
    }
    fgi_buf_printf(out, ": %s", fgi_after_last(verdict(o), '\1'));
}

void fgi_plan_lines_put(fgi_buf *out, const json_t *machine)
{
    fgi_doc d;
    fgi_buf name = {0};
    put_name(&name, machine);
    fgi_doc_begin(&d, out, false, name.failed ? "" : name.data);
    d.indent = 2;
    if (*fgi_json_words(machine, "same_as") == '\0')
        put_machine(&d, machine);
    fgi_doc_end(&d);
    fgi_buf_fini_part(&name, out);
}
