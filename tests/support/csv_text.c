/* csv_text.c - CSV files written from text and opened, for the tests of src/data/csv*.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "csv_text.h"

#include <math.h>
#include "data/csv_schema.h"

fg_error err;

fg_status csv_open_text(const char *text, const fg_csv_options *options, fg_csv_parts *out)
{
    fgi_block block = {.data = (const unsigned char *)text, .size = strlen(text)};
    return fgi_csv_open_block("t.csv", &block, options, out, &err);
}

void csv_destroy(fg_csv_parts *parts)
{
    fg_dataset_destroy(parts->train);
    fg_dataset_destroy(parts->val);
    fg_csv_schema_destroy(parts->schema);
}

csv_sample csv_read_row(const fg_dataset *dataset, int64_t row)
{
    csv_sample s = {.x = {0}};
    fgt_ok(fg_dataset_read(dataset, row, (void *const[]){s.x, &s.y}, &err));
    return s;
}

void csv_expect_row(const fg_dataset *dataset, int64_t row, int count, const double *x)
{
    const csv_sample s = csv_read_row(dataset, row);
    for (int i = 0; i < count; i++)
        if (fabs((double)s.x[i] - x[i]) > 1e-6)
            fail_msg("row %d, feature %d: %g: expected %g", (int)row, i, (double)s.x[i], x[i]);
}

void csv_expect_error(const char *text, const fg_csv_options *options, fg_status status,
                      const char *message)
{
    fg_csv_parts parts;
    assert_int_equal(csv_open_text(text, options, &parts), status);
    assert_string_equal(err.message, message);
    assert_null(parts.train);
    assert_null(parts.schema);
}

void csv_write_text(const char *path, const char *text) { fgt_write(path, text, strlen(text)); }
