/* chip_table.c - fulgurite devices --table: the peak performance of accelerators, with sources.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "devices.h"

#include "report/helpers.h"
#include "base/print.h"

#include <fulgurite/chip.h>
#include <jansson.h>

/* A value in its unit, or "-" if unknown. */
static void put(fgi_buf *out, int width, double value, double unit)
{
    if (value > 0)
        fgi_buf_printf(out, " %*.4g", width, value / unit);
    else
        fgi_buf_printf(out, " %*s", width, "-");
}

static void print_row(fgi_buf *out, const fg_chip *c)
{
    char mxu[24] = "-";
    if (c->mxu_count > 0)
        (void)fgi_snprintf(mxu, sizeof(mxu), "%d of %dx%d", c->mxu_count, c->mxu_size, c->mxu_size);
    fgi_buf_printf(out, "%-22s %7d", c->name, c->devices);
    const double rates[] = {c->f64, c->f32, c->tf32, c->f16, c->bf16, c->fp8, c->int8};
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
        put(out, 6, rates[i], 1e12);
    put(out, 6, c->memory_bytes, 1e9);
    put(out, 6, c->memory_bandwidth, 1e9);
    put(out, 6, c->ici_bandwidth, 1e9);
    fgi_buf_printf(out, " %13s", mxu);
    put(out, 5, c->clock_hz, 1e9);
    fgi_buf_printf(out, "%s %s\n", c->is_clock_derived ? "*" : " ", c->source);
}

static json_t *known(double value) { return value > 0 ? json_real(value) : json_null(); }

static json_t *row_object(const fg_chip *c)
{
    return json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:o, "
                     "s:b, s:s}",
                     "name", c->name, "devices", c->devices, "f64", known(c->f64), "f32",
                     known(c->f32), "tf32", known(c->tf32), "f16", known(c->f16), "bf16",
                     known(c->bf16), "fp8", known(c->fp8), "int8", known(c->int8), "memory_bytes",
                     known(c->memory_bytes), "memory_bandwidth", known(c->memory_bandwidth),
                     "ici_bandwidth", known(c->ici_bandwidth), "mxu_count", c->mxu_count,
                     "mxu_size", c->mxu_size, "clock_hz", known(c->clock_hz), "is_clock_derived",
                     (int)c->is_clock_derived, "source", c->source);
}

static void print_json(fgi_buf *out)
{
    json_t *list = json_array();
    for (size_t i = 0; i < fg_chip_count(); i++)
        (void)json_array_append_new(list, row_object(fg_chip_at(i)));
    json_t *root = json_pack("{s:o}", "chips", list);
    fgi_json_print(out, root, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    fgi_buf_putc(out, '\n');
    json_decref(root);
}

void chip_table_print(fgi_buf *out, bool as_json)
{
    if (as_json) {
        print_json(out);
        return;
    }
    fgi_buf_printf(out, "%-22s %7s %6s %6s %6s %6s %6s %6s %6s %6s %6s %6s %13s %5s  %s\n",
                   "chip (dense peaks)", "devices", "f64", "f32", "tf32", "f16", "bf16", "fp8",
                   "int8", "GB", "GB/s", "links", "matrix units", "GHz", "source");
    for (size_t i = 0; i < fg_chip_count(); i++)
        print_row(out, fg_chip_at(i));
    fgi_buf_printf(out, "Rates are in TFLOPS (TOPS for integers) of a whole chip; links (ICI) in "
                        "GB/s,\nboth directions together. -: not published or not present. *: "
                        "derived from peak and matrix units.\n");
}
