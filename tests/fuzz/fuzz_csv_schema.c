/* fuzz_csv_schema.c - any bytes as the JSON of a CSV schema: rejected, or a schema that round-trips
 * and can be applied.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <string.h>
#include <fulgurite/data.h>
#include "data/csv_schema.h"

static void apply(const fg_csv_schema *schema)
{
    static const char text[] = "a,b,y\n1,u,p\n2,v,q\n";
    fgi_block block = {.data = (const unsigned char *)text, .size = sizeof(text) - 1};
    fgi_csv csv;
    fg_dataset *dataset;
    fg_error err;
    const fgi_csv_layout layout = {.delimiter = ',', .no_header = !schema->has_header};
    if (fgi_csv_parse("table", &block, &layout, &csv, &err) != FG_OK)
        abort();
    (void)fgi_csv_convert(schema, &csv, NULL, &dataset, &err);
    fg_dataset_destroy(dataset);
    fgi_csv_fini(&csv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fg_csv_schema *first, *second;
    fg_error err = {0};
    if (fg_csv_schema_parse((const char *)data, size, &first, &err) != FG_OK)
        return 0;
    const char *json = fg_csv_schema_json(first);
    if (fg_csv_schema_parse(json, strlen(json), &second, &err) != FG_OK ||
        strcmp(fg_csv_schema_json(second), json) != 0)
        abort();
    apply(second);
    fg_csv_schema_destroy(first);
    fg_csv_schema_destroy(second);
    return 0;
}
