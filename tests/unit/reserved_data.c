/* reserved_data.c - structs of datasets, catalogs and images that a user fills, for
 * test_reserved.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "reserved_rows.h"

#include <string.h>

static fg_dataset *dataset;
static uint8_t splits[1];

BY_STATUS(fg_dataset_spec, fg_dataset_from_arrays(&o, NULL, FG_COPY, &dataset, err))
BY_STATUS(fg_npy_options, fg_npy_load("nowhere", NULL, &o, &dataset, err))
BY_STATUS(fg_image, fg_image_reserve(&o, 1, 1, 3, err))
BY_STATUS(fg_image_decode_options, fg_image_decode(NULL, "none", NULL, 0, &o, &(fg_image){0}, err))
BY_STATUS(fg_image_presize, fg_image_presize_size(&o, &(int64_t){1}, &(int64_t){1}, err))
BY_STATUS(fg_image_bytes, fg_image_encode_png(&(fg_image){0}, NULL, &o, err))
BY_STATUS(fg_image_jpeg_options,
          fg_image_encode_jpeg(&(fg_image){0}, &o, &(fg_image_bytes){0}, err))
BY_STATUS(fg_image_png_options, fg_image_encode_png(&(fg_image){0}, &o, &(fg_image_bytes){0}, err))
BY_STATUS(fg_image_resize_options,
          fg_image_resize(NULL, &(fg_image){0}, 1, 1, &o, (uint8_t[3]){0}, err))

static void by_fg_image_encoding(fg_error *err)
{
    NEWER(fg_image_encoding, .coding = FG_IMAGE_DCT);
    const fg_field field = {"x", {.dtype = FG_S8, .rank = 1, .dim = {193}}};
    const fg_dataset_spec spec = {.fields = &field, .field_count = 1, .encoding = &o};
    assert_int_equal(
        fg_dataset_from_arrays(&spec, (const void *const[]){splits}, FG_COPY, &dataset, err),
        FG_EINVAL);
}

static fg_catalog *catalog;

BY_STATUS(fg_catalog_options, fg_catalog_open("nowhere", &o, &catalog, err))
BY_STATUS(fg_catalog_bytes, fg_catalog_read(catalog, 0, &o, err))
BY_STATUS(fg_catalog_split_options, fg_catalog_split(catalog, &o, splits, err))

BY_STATUS(fg_pack_build_options, fg_pack_build("nowhere", "p.pack", &o, NULL, err))

/* Refused before the pack is used. */
static void by_fg_pack_export_options(fg_error *err)
{
    fg_pack *pack = NULL;
    fg_pack_writer *writer = NULL;
    const char *path = fgt_path(fgt_temp_folder(), "r.pack");
    assert_int_equal(fg_pack_writer_create(path, NULL, &writer, NULL, err), FG_OK);
    assert_int_equal(fg_pack_writer_finish(writer, NULL, err), FG_OK);
    fg_pack_writer_destroy(writer);
    assert_int_equal(fg_pack_open(path, NULL, &pack, err), FG_OK);
    NEWER(fg_pack_export_options, 0);
    assert_int_equal(fg_pack_export(pack, "nowhere", &o, NULL, err), FG_EINVAL);
    fg_pack_close(pack);
}

static void by_fg_pack_select_options(fg_error *err)
{
    int64_t count;
    NEWER(fg_pack_select_options, 0);
    assert_int_equal(fg_pack_select(NULL, &o, NULL, 0, &count, err), FG_EINVAL);
}

static const fg_field pair_field = {"x", {.dtype = FG_F32}};
static const fg_dataset_spec pair = {.count = 2, .fields = &pair_field, .field_count = 1};

static void by_fg_sampling_options(fg_error *err)
{
    NEWER(fg_sampling_options, 0);
    const float x[2] = {0};
    const double weights[2] = {1, 1};
    fg_dataset *data = NULL, *drawn = NULL;
    assert_int_equal(fg_dataset_from_arrays(&pair, (const void *const[]){x}, FG_COPY, &data, err),
                     FG_OK);
    assert_int_equal(fg_dataset_weighted(data, weights, &o, &drawn, err), FG_EINVAL);
    assert_int_equal(fg_dataset_balanced(data, &o, &drawn, err), FG_EINVAL);
    fg_dataset_destroy(data);
}

static void by_fg_mix_options(fg_error *err)
{
    NEWER(fg_mix_options, 0);
    fg_dataset *mix = NULL;
    assert_int_equal(fg_dataset_mix(NULL, 0, &o, &mix, err), FG_EINVAL);
}

static void by_fg_split_options(fg_error *err)
{
    NEWER(fg_split_options, 0);
    const float x[2] = {0};
    fg_dataset *data = NULL, *train = NULL, *val = NULL;
    assert_int_equal(fg_dataset_from_arrays(&pair, (const void *const[]){x}, FG_COPY, &data, err),
                     FG_OK);
    assert_int_equal(fg_dataset_split(data, &o, &train, &val, err), FG_EINVAL);
    fg_dataset_destroy(data);
}

/* Also through what takes the options on behalf of a loader. */
static void by_fg_loader_options(fg_error *err)
{
    NEWER(fg_loader_options, 0);
    const float x[2] = {0};
    fg_dataset *data = NULL;
    fg_loader *loader = NULL;
    fg_input_rate rate;
    assert_int_equal(fg_dataset_from_arrays(&pair, (const void *const[]){x}, FG_COPY, &data, err),
                     FG_OK);
    assert_int_equal(fg_input_rate_measure(data, &o, 1, &rate, err), FG_EINVAL);
    assert_int_equal(fg_loader_create(data, &o, &loader, err), FG_EINVAL);
    fg_dataset_destroy(data);
}

const char *reserved_csv_file(void)
{
    const char *path = fgt_path(fgt_temp_folder(), "table.csv"), text[] = "a,b\n1,2\n2,4\n3,7\n";
    fgt_write(path, text, sizeof text - 1);
    return path;
}

static void by_fg_csv_options(fg_error *err)
{
    NEWER(fg_csv_options, 0);
    fg_csv_parts parts;
    fg_csv_schema *schema;
    assert_int_equal(fg_csv_schema_fit(reserved_csv_file(), &o, &schema, err), FG_EINVAL);
    assert_int_equal(fg_csv_load(reserved_csv_file(), &o, &parts, err), FG_EINVAL);
}

static void by_fg_csv_apply_options(fg_error *err)
{
    NEWER(fg_csv_apply_options, 0);
    fg_csv_parts parts;
    const char *path = reserved_csv_file();
    assert_int_equal(fg_csv_load(path, &(fg_csv_options){.target = "b"}, &parts, err), FG_OK);
    assert_int_equal(fg_csv_apply(parts.schema, path, &o, &dataset, err), FG_EINVAL);
    fg_csv_schema_destroy(parts.schema);
    fg_dataset_destroy(parts.train);
    fg_dataset_destroy(parts.val);
}

static void by_fg_images_options(fg_error *err)
{
    NEWER(fg_images_options, 0);
    assert_int_equal(fg_images_create(NULL, &o, &dataset, err), FG_EINVAL);
}

BY_STATUS(fg_pack_dataset_options, fg_pack_dataset_create(NULL, &o, &dataset, err))

const reserved_row reserved_data_rows[] = {
    ROW(fg_catalog_bytes),
    ROW(fg_catalog_options),
    ROW(fg_catalog_split_options),
    ROW(fg_csv_apply_options),
    ROW(fg_csv_options),
    ROW(fg_dataset_spec),
    ROW(fg_image),
    ROW(fg_image_decode_options),
    ROW(fg_image_encoding),
    ROW(fg_image_presize),
    ROW(fg_image_bytes),
    ROW(fg_image_jpeg_options),
    ROW(fg_image_png_options),
    ROW(fg_image_resize_options),
    ROW(fg_loader_options),
    ROW(fg_npy_options),
    ROW(fg_pack_build_options),
    ROW(fg_images_options),
    ROW(fg_pack_dataset_options),
    ROW(fg_pack_export_options),
    ROW(fg_pack_select_options),
    ROW(fg_sampling_options),
    ROW(fg_mix_options),
    ROW(fg_split_options),
};
const size_t reserved_data_row_count = sizeof reserved_data_rows / sizeof *reserved_data_rows;
