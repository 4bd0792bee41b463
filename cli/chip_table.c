/* chip_table.c - fulgurite devices --table: the peak performance of accelerators, with sources.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "devices.h"

#include <fulgurite/chip.h>
#include <math.h>

#include "doc/doc.h"

/* In units of 10^12 operations, or of 10^9 bytes or hertz. */
static void put_rate(fgi_buf *out, const fgi_field *field, const json_t *row)
{
    const double value = fgi_field_number(field, row);
    if (isfinite(value))
        fgi_buf_printf(out, "%.4g", value / (field->kind == FGI_NUMBER ? 1e9 : 1e12));
}

static void put_units(fgi_buf *out, const fgi_field *field, const json_t *row)
{
    const double count = fgi_json_number(row, "mxu_count"), size = fgi_json_number(row, "mxu_size");
    if (count > 0)
        fgi_buf_printf(out, "%.0f of %.0fx%.0f", count, size, size);
}

/* With a mark if it was derived. */
static void put_clock(fgi_buf *out, const fgi_field *field, const json_t *row)
{
    put_rate(out, field, row);
    fgi_buf_puts(out, json_is_true(json_object_get(row, "is_clock_derived")) ? "*" : "");
}

static const fgi_field fields[] = {FGI_FIELD("chip (dense peaks)", "name", FGI_WORDS),
                                   FGI_FIELD("devices", "devices", FGI_COUNT),
                                   {"f64", "f64", FGI_FIGURE, FGI_BOTH, put_rate},
                                   {"f32", "f32", FGI_FIGURE, FGI_BOTH, put_rate},
                                   {"tf32", "tf32", FGI_FIGURE, FGI_BOTH, put_rate},
                                   {"f16", "f16", FGI_FIGURE, FGI_BOTH, put_rate},
                                   {"bf16", "bf16", FGI_FIGURE, FGI_BOTH, put_rate},
                                   {"fp8", "fp8", FGI_FIGURE, FGI_BOTH, put_rate},
                                   {"int8", "int8", FGI_FIGURE, FGI_BOTH, put_rate},
                                   {"GB", "memory_bytes", FGI_NUMBER, FGI_BOTH, put_rate},
                                   {"GB/s", "memory_bandwidth", FGI_NUMBER, FGI_BOTH, put_rate},
                                   {"links", "ici_bandwidth", FGI_NUMBER, FGI_BOTH, put_rate},
                                   FGI_FIELD_PUT("matrix units", FGI_FIGURE, put_units),
                                   {"GHz", "clock_hz", FGI_NUMBER, FGI_BOTH, put_clock},
                                   FGI_FIELD("source", "source", FGI_WORDS),
                                   FGI_FIELDS_END};

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

void chip_table_print(fgi_buf *out, bool as_json)
{
    fgi_doc d;
    json_t *list = json_array();
    for (size_t i = 0; i < fg_chip_count(); i++)
        (void)json_array_append_new(list, row_object(fg_chip_at(i)));
    if (as_json) {
        fgi_json_put(out, json_pack("{s:O}", "chips", list),
                     JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    } else {
        fgi_doc_begin(&d, out, false, "");
        fgi_doc_table(&d, NULL, fields, list);
        fgi_doc_say(
            &d, NULL,
            "Rates are in TFLOPS (TOPS for integers) of a whole chip; links (ICI) in GB/s,");
        fgi_doc_say(&d, NULL,
                    "both directions together. -: not published or not present. *: derived from "
                    "peak and matrix units.");
        fgi_doc_end(&d);
    }
    json_decref(list);
}
