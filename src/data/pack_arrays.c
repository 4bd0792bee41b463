/* pack_arrays.c - samples of records that are arrays: the fields of the pack, one after the other.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "data/pack_samples.h"

static bool can_read(fg_pack_codec codec) { return codec == FG_PACK_ARRAYS; }

static fg_status describe(const fgi_pack_samples *s, fg_field out[FG_MAX_FIELDS], int *out_count,
                          fg_error *err)
{
    const fg_pack_info *info = fg_pack_info_of(s->pack);
    for (int f = 0; f < info->field_count; f++)
        out[f] = info->fields[f];
    *out_count = info->field_count;
    if (info->field_count > 0)
        return FG_OK;
    return fgi_fail(err, FG_EFORMAT, "%s: the pack has arrays, but no description of their fields",
                    fg_pack_path(s->pack, 0));
}

static fg_status read_fields(const fgi_pack_samples *s, fgi_image_worker *worker,
                             const fgi_pack_sample *sample, void *const *out_fields, fg_error *err)
{
    const fg_pack_info *info = fg_pack_info_of(s->pack);
    size_t size = 0;
    for (int f = 0; f < info->field_count; f++)
        size += s->row_bytes[f];
    if (size != sample->entry.size_bytes) {
        char name[FGI_PACK_SAMPLE_NAME];
        return fgi_fail(err, FG_EFORMAT, "%s has %u bytes, but its fields have %zu",
                        fgi_pack_sample_name(s, sample, name), (unsigned)sample->entry.size_bytes,
                        size);
    }
    const uint8_t *from = sample->data;
    for (int f = 0; f < info->field_count; f++) {
        memcpy(out_fields[f], from, s->row_bytes[f]);
        from += s->row_bytes[f];
    }
    return FG_OK;
}

const fgi_sample_kind fgi_array_samples = {
    .can_read = can_read, .describe = describe, .read = read_fields};
