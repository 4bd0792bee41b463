/* fuzz_csv.c - any bytes as a CSV file, with options selected by the first byte. An accepted file
 * has a schema whose JSON round-trips, and readable rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <string.h>
#include <fulgurite/data.h>
#include "base/alloc.h"
#include "data/csv_schema.h"

static void check_schema(const fg_csv_schema *schema)
{
    fg_csv_schema *again;
    fg_error err;
    const char *json = fg_csv_schema_json(schema);
    if (fg_csv_schema_parse(json, strlen(json), &again, &err) != FG_OK ||
        strcmp(fg_csv_schema_json(again), json) != 0)
        abort();
    fg_csv_schema_destroy(again);
}

static void check_rows(const fg_dataset *dataset)
{
    void *rows[FG_MAX_FIELDS] = {NULL};
    fg_error err;
    for (int f = 0; f < fg_dataset_field_count(dataset); f++)
        if ((rows[f] = fgi_alloc(fg_type_bytes(&fg_dataset_field(dataset, f)->type))) == NULL)
            abort();
    const int64_t count = fg_dataset_count(dataset);
    if (count < 1 || fg_dataset_read(dataset, 0, rows, &err) != FG_OK ||
        fg_dataset_read(dataset, count - 1, rows, &err) != FG_OK)
        abort();
    for (int f = 0; f < fg_dataset_field_count(dataset); f++)
        fgi_free(rows[f]);
}

static void detect(const uint8_t *data, size_t size)
{
    fgi_block block = {.data = data, .size = size};
    fg_csv_layout detected;
    fg_error err = {0};
    if (fgi_csv_detect("input", &block, &detected, &err) != FG_OK && err.message[0] == '\0')
        abort();
}

/* Rows without a fault can be read. */
static void keep_faults(const uint8_t *data, size_t size, unsigned bits)
{
    const fgi_csv_layout layout = {.delimiter = bits & 2 ? ';' : ',',
                                   .no_header = bits & 1,
                                   .delimiter_option = "delimiter",
                                   .keeps_faults = true,
                                   .column_count = bits >> 6};
    fgi_block block = {.data = data, .size = size};
    fgi_csv csv;
    fgi_csv_row row;
    fg_error err = {0};
    size_t fault = 0;
    if (fgi_csv_parse("input", &block, &layout, &csv, &err) != FG_OK) {
        if (err.message[0] == '\0')
            abort();
        return;
    }
    if (fgi_csv_row_init(&csv, &row, &err) != FG_OK)
        abort();
    for (size_t i = 0; i < csv.row_count; i++)
        if (fault < csv.fault_count && csv.faults[fault].row == i)
            fault++;
        else
            fgi_csv_read(&csv, i, &row);
    if (fault != csv.fault_count)
        abort();
    fgi_csv_row_fini(&row);
    fgi_csv_fini(&csv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    const unsigned bits = data[0];
    const fg_csv_options options = {.header = bits & 1 ? FG_CSV_HEADER_NO : FG_CSV_HEADER_CHECKED,
                                    .delimiter = bits & 2 ? ';' : ',',
                                    .missing = bits & 4 ? "mean" : NULL,
                                    .unknown = bits & 8 ? "zero" : NULL,
                                    .val_fraction = bits & 16 ? 0.4 : 0,
                                    .target = bits & 32 ? "" : NULL,
                                    .image = {bits & 64 ? 2 : 0, bits & 64 ? 1 : 0, bits >> 6 & 1},
                                    .image_scale = bits & 128 ? 0.5 : 0};
    fgi_block block = {.data = data + 1, .size = size - 1};
    fg_csv_parts parts;
    fg_error err = {0};
    detect(data + 1, size - 1);
    keep_faults(data + 1, size - 1, bits);
    if (fgi_csv_open_block("input", &block, &options, &parts, &err) != FG_OK) {
        if (err.status == FG_OK || err.message[0] == '\0')
            abort();
        return 0;
    }
    check_schema(parts.schema);
    check_rows(parts.train);
    if (parts.val != NULL)
        check_rows(parts.val);
    fg_dataset_destroy(parts.train);
    fg_dataset_destroy(parts.val);
    fg_csv_schema_destroy(parts.schema);
    return 0;
}
