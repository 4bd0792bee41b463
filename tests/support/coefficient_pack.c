/* coefficient_pack.c - packs of DCT coefficients of made JPEGs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "coefficient_pack.h"

#include <fulgurite/pack.h>
#include <stdio.h>
#include <stdlib.h>

#include "fgt.h"
#include "image/jpeg_coefficients.h"

static fg_error err;

static void add(fg_pack_writer *writer, const fgt_jpeg_spec *spec, int i, bool has_flags)
{
    char name[32];
    size_t size;
    fgi_buf bytes = {0};
    fgi_jpeg_coefficients record;
    uint8_t *jpeg = fgt_jpeg_make(spec, &size);
    (void)snprintf(name, sizeof name, "photo %d.jpg", i);
    fgt_ok(fgi_jpeg_coefficients_write(name, jpeg, size, &bytes, &err));
    fgt_ok(fgi_jpeg_coefficients_open(name, bytes.data, bytes.size, &record, &err));
    const fg_pack_entry entry = {
        .name = name,
        .codec = FG_PACK_DCT,
        .width = (uint32_t)record.width,
        .height = (uint32_t)record.height,
        .label = i % 2,
        .split = i % 3 == 2 ? FG_VAL : FG_TRAIN,
        .flags = (uint8_t)(has_flags ? fgi_jpeg_coefficients_high(&record) : 0)};
    fgt_ok(fg_pack_writer_add(writer, &entry, bytes.data, bytes.size, &err));
    fgi_buf_fini(&bytes);
    free(jpeg);
}

void coefficient_pack_write(const char *path, const fgt_jpeg_spec *specs, int count, bool has_flags)
{
    static const char *const names[] = {"a", "b"};
    fg_pack_writer *writer;
    fgt_ok(fg_pack_writer_create(
        path, &(fg_pack_writer_options){.class_names = names, .class_count = 2, .replace = true},
        &writer, NULL, &err));
    for (int i = 0; i < count; i++)
        add(writer, &specs[i], i, has_flags);
    fgt_ok(fg_pack_writer_finish(writer, NULL, &err));
    fg_pack_writer_destroy(writer);
}
