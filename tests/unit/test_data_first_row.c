/* test_data_first_row.c - of several invalid rows the first is reported, regardless of which thread
 * finds one first: in batches, CSV files and NumPy targets.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <unistd.h>
#include <fulgurite/data.h>

/* ---- a batch that several threads read ------------------------------------------------------- */

enum { ROWS = 16, ROW_BYTES = 100000, SLOW = 3, FAST = 12 };

/* The later row fails immediately, the earlier one after a delay. */
static fg_status read_row(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    (void)self;
    memset(out_fields[0], (int)index, ROW_BYTES);
    if (index != SLOW && index != FAST)
        return FG_OK;
    if (index == SLOW)
        (void)usleep(20000);
    (void)snprintf(err->message, sizeof(err->message), "row %d is damaged", (int)index);
    return FG_EFORMAT;
}

static void of_a_batch_in_parts(void **state)
{
    (void)state;
    static const fg_dataset_ops ops = {.read = read_row};
    const fg_field field = {"image", {FG_U8, 1, {ROW_BYTES}}};
    const fg_dataset_spec spec = {.count = ROWS, .fields = &field, .field_count = 1};
    for (int workers = 0; workers <= 4; workers++)
        for (int round = 0; round < 3; round++) {
            fg_error err = {0};
            fg_dataset *dataset;
            fg_loader *loader;
            const fg_host_batch *batch;
            fgt_ok(fg_dataset_create(&ops, NULL, &spec, &dataset, &err));
            fgt_ok(
                fg_loader_create(dataset,
                                 &(fg_loader_options){.batch_size = ROWS,
                                                      .workers = workers == 0 ? FG_NONE : workers},
                                 &loader, &err));
            assert_int_equal(fg_loader_next(loader, &batch, &err), FG_EFORMAT);
            assert_string_equal(err.message, "row 3 is damaged");
            fg_loader_destroy(loader);
            fg_dataset_destroy(dataset);
        }
}

/* ---- files ----------------------------------------------------------------------------------- */

static void expect(const char *text, const fg_csv_options *options, const char *place)
{
    fg_error err = {0};
    fg_csv_parts parts;
    const char *path = fgt_path(fgt_temp_folder(), "t.csv");
    fgt_write(path, text, strlen(text));
    assert_int_equal(fg_csv_load(path, options, &parts, &err), FG_EFORMAT);
    fgt_message_is(err.message, place);
}

/* Missing cells and short rows: the first line is reported, whichever column is read first. */
static void of_a_csv_file(void **state)
{
    (void)state;
    expect("a,b,y\n1,2,0\n3,,1\n,4,0\n,5,1\n", NULL,
           "~/t.csv:3: row 2, column 'b': the value is missing\nset data.missing: mean to use the "
           "column's mean over the training rows, or remove the row");
    expect("a,b,y\n1,2,0\n3,4,1\n5,6\n7\n", NULL,
           "~/t.csv:4: row 3 has 2 columns, but the header has 3");
    expect("a,b,y\n1,2,0\n3,4,\n5,6,\n", NULL,
           "~/t.csv:3: row 2, column 'y': the target is missing\nremove the row: a missing target "
           "is always an error");
}

static void of_npy_targets(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_dataset *dataset;
    const char *folder = fgt_temp_folder();
    const int64_t y[4] = {1, INT64_C(3000000000), 2, INT64_C(-3000000000)};
    const float x[4] = {0};
    fgt_ok(fg_npy_write(fgt_path(folder, "x.npy"), &(fg_type){FG_F32, 1, {4}}, x, &err));
    fgt_ok(fg_npy_write(fgt_path(folder, "y.npy"), &(fg_type){FG_S64, 1, {4}}, y, &err));
    assert_int_equal(
        fg_npy_load(fgt_path(folder, "x.npy"), fgt_path(folder, "y.npy"), NULL, &dataset, &err),
        FG_EFORMAT);
    fgt_message_is(err.message, "~/y.npy: element 1 (index starting at 0, byte 136) does not fit "
                                "in s32; use smaller integers, or floats for a regression");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(of_a_batch_in_parts),
    cmocka_unit_test(of_a_csv_file),
    cmocka_unit_test(of_npy_targets),
};
FGT_MAIN(tests)
