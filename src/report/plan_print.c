/* plan_print.c - a machine's plan as readable text.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "report/plan_page.h"
#include "report/run_view.h"

static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static bool has(const json_t *o, const char *key)
{
    return json_is_number(json_object_get(o, key));
}

static void print_memory(fgi_buf *out, const json_t *o)
{
    static const struct {
        const char *key, *name;
    } rows[] = {{"parameter_bytes", "parameters"},
                {"optimizer_bytes", "optimizer"},
                {"batch_bytes", "batch"},
                {"padding_bytes", "padding"},
                {"activation_bytes", "activations"},
                {"program_bytes", "program"}};
    fgi_buf_printf(out, "  memory per device: %s ",
                   has(o, "hbm_needed_bytes") ? fgi_bytes_words(number(o, "hbm_needed_bytes"))
                                              : "more than available");
    if (has(o, "hbm_available_bytes"))
        fgi_buf_printf(out, "of %s", fgi_bytes_words(number(o, "hbm_available_bytes")));
    const char *before = ": ";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (has(o, rows[i].key)) {
            fgi_buf_printf(out, "%s%s %s", before, rows[i].name,
                           fgi_bytes_words(number(o, rows[i].key)));
            before = ", ";
        }
    fgi_buf_putc(out, '\n');
    if (fgi_json_words(o, "reason")[0] != '\0')
        fgi_buf_printf(out, "  %s\n", fgi_json_words(o, "reason"));
}

static void print_batch(fgi_buf *out, const json_t *o)
{
    if (!has(o, "max_batch"))
        return;
    if (number(o, "max_batch") == 0) {
        fgi_buf_printf(out,
                       "  no batch leaves a tenth of the memory free, not even 1 per device\n");
        return;
    }
    fgi_buf_printf(
        out, "  largest batch that leaves a tenth free: %.0f per device%s\n",
        number(o, "max_batch"),
        json_is_true(json_object_get(o, "max_batch_is_all_data")) ? " (all training samples)" : "");
}

static void print_work(fgi_buf *out, const json_t *o)
{
    size_t i;
    json_t *one;
    if (!has(o, "matmuls") || number(o, "matmuls") == 0)
        return;
    fgi_buf_printf(out,
                   "  matrix multiplications and convolutions: %.0f, with 16-bit operands: %.0f\n",
                   number(o, "matmuls"), number(o, "matmuls_16bit"));
    json_array_foreach(json_object_get(o, "collectives"), i, one)
        fgi_buf_printf(out, "  %s: %.0f per step, %s\n", fgi_json_words(one, "kind"),
                       number(one, "count"), fgi_bytes_words(number(one, "bytes")));
}

static void print_time(fgi_buf *out, const json_t *o)
{
    char step[32], epoch[32];
    if (!has(o, "estimated_step_s"))
        return;
    fgi_buf_printf(out,
                   "  compiler estimate, not measured: %s per step, %s per epoch, %.4g samples/s\n",
                   fgi_duration_words(number(o, "estimated_step_s"), step),
                   fgi_duration_words(number(o, "estimated_epoch_s"), epoch),
                   number(o, "estimated_samples_per_s"));
    if (!has(o, "input_needed_samples_per_s"))
        return;
    fgi_buf_printf(out, "  input: all devices need %.4g samples/s, %s/s",
                   number(o, "input_needed_samples_per_s"),
                   fgi_bytes_words(number(o, "input_needed_bytes_per_s")));
    if (number(o, "hosts") > 1)
        fgi_buf_printf(out, ", each of the %.0f hosts %.4g samples/s, %s/s", number(o, "hosts"),
                       number(o, "input_host_samples_per_s"),
                       fgi_bytes_words(number(o, "input_host_bytes_per_s")));
    if (has(o, "input_measured_samples_per_s"))
        fgi_buf_printf(out, "; the loader here, measured: %.4g samples/s, %s/s",
                       number(o, "input_measured_samples_per_s"),
                       fgi_bytes_words(number(o, "input_measured_bytes_per_s")));
    fgi_buf_printf(out, "\n  %s\n", fgi_json_words(o, "input_verdict"));
}

static void print_sweep(fgi_buf *out, const json_t *o)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(o, "sweep"), i, one)
    {
        fgi_buf_printf(out, "  batch %6.0f: ", number(one, "batch_size"));
        if (!json_is_true(json_object_get(one, "fits")))
            fgi_buf_printf(out, "does not fit\n");
        else
            fgi_buf_printf(out, "%s per device, %.4g cycles per sample\n",
                           fgi_bytes_words(number(one, "hbm_needed_bytes")),
                           number(one, "cycles_per_sample"));
    }
    if (has(o, "saturation_batch"))
        fgi_buf_printf(out, "  the matrix units are saturated at batch sizes of %.0f or more\n",
                       number(o, "saturation_batch"));
}

/* The analysis of the program, line by line. */
static void print_report(fgi_buf *out, const json_t *o)
{
    for (const char *at = fgi_json_words(o, "report"); *at != '\0';) {
        const size_t size = strcspn(at, "\n");
        fgi_buf_printf(out, "  %.*s\n", (int)size, at);
        at += size + (at[size] != '\0');
    }
}

static const char *verdict(const json_t *o)
{
    const json_t *fits = json_object_get(o, "fits");
    return json_is_true(fits) ? "fits" : json_is_false(fits) ? "does not fit" : "no verdict";
}

void fgi_plan_print(fgi_buf *out, const json_t *o)
{
    if (fgi_json_words(o, "same_as")[0] != '\0') {
        fgi_buf_printf(out, "%s: the same machine as %s: %s\n", fgi_json_words(o, "name"),
                       fgi_json_words(o, "same_as"), verdict(o));
        return;
    }
    fgi_buf_printf(out, "%s", fgi_json_words(o, "name"));
    if (has(o, "devices")) {
        fgi_buf_printf(out, " (%.0f x %s", number(o, "devices"), fgi_json_words(o, "device_kind"));
        if (number(o, "hosts") > 1)
            fgi_buf_printf(out, " on %.0f hosts", number(o, "hosts"));
        fgi_buf_printf(out, "), batch %.0f per device", number(o, "batch_size"));
    }
    fgi_buf_printf(out, ": %s\n", verdict(o));
    if (json_is_boolean(json_object_get(o, "fits")))
        print_memory(out, o);
    print_batch(out, o);
    print_work(out, o);
    print_time(out, o);
    print_sweep(out, o);
    print_report(out, o);
    if (fgi_json_words(o, "error")[0] != '\0')
        fgi_buf_printf(out, "  %s\n", fgi_json_words(o, "error"));
}
