/* jpeg_blocks.c - arrays of coefficient blocks for libjpeg, instead of those of its memory manager.
 * Its other modules only use an array through the three functions that are replaced here, and the
 * struct behind jvirt_barray_ptr is private to the memory manager.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/jpeg_blocks.h"

#include <string.h>
#include "image/jpeg_common.h"

struct jvirt_barray_control {
    JBLOCKROW *rows; /* [row_count], of blocks_per_row blocks each */
    size_t row_count, blocks_per_row;
    jvirt_barray_ptr next;
};

static fgi_jpeg_client *client_of(j_common_ptr info) { return info->client_data; }

/* Both structs are freed with the image. libjpeg asks for zeros when it decodes. */
static jvirt_barray_ptr request(j_common_ptr info, int pool, boolean is_zero,
                                JDIMENSION blocks_per_row, JDIMENSION row_count,
                                JDIMENSION most_rows)
{
    fgi_jpeg_client *client = client_of(info);
    jvirt_barray_ptr array = info->mem->alloc_small(info, pool, sizeof *array);
    *array = (struct jvirt_barray_control){
        .rows = info->mem->alloc_large(info, pool, row_count * sizeof(JBLOCKROW)),
        .row_count = row_count,
        .blocks_per_row = blocks_per_row,
        .next = client->arrays};
    client->arrays = array;
    return array;
}

static void realize(j_common_ptr info)
{
    fgi_jpeg_client *client = client_of(info);
    fgi_jpeg_errors *errors = (fgi_jpeg_errors *)info->err;
    size_t blocks = 0;
    client->realize(info);
    for (jvirt_barray_ptr a = client->arrays; a != NULL; a = a->next)
        blocks += a->row_count * a->blocks_per_row;
    if (blocks == 0)
        return;
    const fg_status status =
        fgi_pixel_block_reserve(client->memory, blocks * sizeof(JBLOCK), errors->err);
    if (status != FG_OK)
        fgi_jpeg_leave(errors, status);
    JBLOCKROW at = (JBLOCKROW)(void *)client->memory->data;
    memset(at, 0, blocks * sizeof(JBLOCK));
    for (jvirt_barray_ptr a = client->arrays; a != NULL; a = a->next)
        for (size_t row = 0; row < a->row_count; row++, at += a->blocks_per_row)
            a->rows[row] = at;
}

static JBLOCKARRAY access_rows(j_common_ptr info, jvirt_barray_ptr array, JDIMENSION first,
                               JDIMENSION count, boolean is_written)
{
    return array->rows + first;
}

void fgi_jpeg_blocks_use(j_decompress_ptr info, fgi_jpeg_client *client)
{
    client->realize = info->mem->realize_virt_arrays;
    info->mem->request_virt_barray = request;
    info->mem->realize_virt_arrays = realize;
    info->mem->access_virt_barray = access_rows;
}
