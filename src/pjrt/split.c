/* split.c - how an array is dealt to the devices of a client's mesh: which block of it each device
 * has, and where that block lies in the whole.
 *
 * The mesh has two axes, data and model; device number d stands at (d / model, d % model). A
 * dimension that is split along an axis is cut into as many equal blocks as the axis is long.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "pjrt/plugin.h"

static int axis_size(const fg_client *client, int axis)
{
    return axis == FGI_SPLIT_DATA    ? client->mesh_data
           : axis == FGI_SPLIT_MODEL ? client->mesh_model
                                     : 1;
}

static int axis_place(const fg_client *client, int axis, int device)
{
    return axis == FGI_SPLIT_DATA    ? device / client->mesh_model
           : axis == FGI_SPLIT_MODEL ? device % client->mesh_model
                                     : 0;
}

static const char *const axis_name[] = {"none", "data", "model"};

/* Cuts the text before the next comma off; false at the end. */
static bool next_word(const char **text, fgi_str *out)
{
    if (*text == NULL)
        return false;
    const char *comma = strchr(*text, ',');
    const size_t size = comma != NULL ? (size_t)(comma - *text) : strlen(*text);
    *out = fgi_str_trim((fgi_str){*text, size});
    *text = comma != NULL ? comma + 1 : NULL;
    return true;
}

fg_status fgi_split_parse(const char *text, fgi_split *out, int *out_count, fg_error *err)
{
    const char *rest = text != NULL && text[0] != '\0' ? text : NULL;
    unsigned used = 0;
    int count = 0;
    fgi_str word;
    *out = (fgi_split){{0}};
    while (next_word(&rest, &word)) {
        int axis = FGI_SPLIT_MODEL;
        while (axis >= 0 && !fgi_str_equal(word, axis_name[axis]))
            axis--;
        if (axis < 0)
            return fgi_fail(err, FG_EINVAL,
                            "split \"%s\": '%.*s' is not an axis: expected data, model or none for "
                            "each dimension",
                            text, (int)word.size, word.data);
        if (count == FG_MAX_RANK || (axis != FGI_SPLIT_NONE && (used & 1u << axis) != 0))
            return fgi_fail(err, FG_EINVAL, "split \"%s\": %s", text,
                            count == FG_MAX_RANK ? "has too many dimensions"
                                                 : "an axis splits one dimension only");
        used |= 1u << axis;
        out->axis[count++] = (unsigned char)axis;
    }
    if (out_count != NULL)
        *out_count = count;
    return FG_OK;
}

bool fgi_split_equal(const fgi_split *a, const fgi_split *b)
{
    return memcmp(a->axis, b->axis, sizeof a->axis) == 0;
}

bool fgi_split_is_whole(const fgi_split *split)
{
    for (int i = 0; split != NULL && i < FG_MAX_RANK; i++)
        if (split->axis[i] != FGI_SPLIT_NONE)
            return false;
    return true;
}

fg_status fgi_split_check(const fg_client *client, const fg_type *type, const fgi_split *split,
                          fg_error *err)
{
    char text[96];
    unsigned used = 0;
    for (int i = 0; split != NULL && i < FG_MAX_RANK; i++) {
        const int axis = (int)split->axis[i];
        if (axis == FGI_SPLIT_NONE)
            continue;
        const int parts = axis_size(client, axis);
        if (i >= type->rank || axis > FGI_SPLIT_MODEL || (used & 1u << axis) != 0)
            return fgi_fail(err, FG_EINVAL, "array %s cannot be split that way",
                            fg_type_format(type, text, sizeof text));
        used |= 1u << axis;
        if (type->dim[i] % parts != 0)
            return fgi_fail(err, FG_ESHAPE,
                            "dimension %d of array %s cannot be split evenly over %d devices", i,
                            fg_type_format(type, text, sizeof text), parts);
    }
    return FG_OK;
}

fgi_block fgi_split_block(const fg_client *client, const fg_type *type, const fgi_split *split,
                          int device)
{
    fgi_block block = {.type = *type, .is_dense = true, .is_first = true};
    int64_t stride = (int64_t)fg_dtype_size(type->dtype);
    bool inner_is_cut = false;
    for (int i = type->rank - 1; i >= 0; i--) {
        const int axis = split != NULL ? split->axis[i] : FGI_SPLIT_NONE;
        const int parts = axis_size(client, axis);
        const int64_t size = type->dim[i] / parts;
        block.type.dim[i] = size;
        block.stride[i] = stride;
        block.offset += axis_place(client, axis, device) * size * stride;
        /* rows of the block are apart from each other where something inside them was cut off */
        block.is_dense &= !inner_is_cut || size <= 1;
        inner_is_cut |= parts > 1;
        stride *= type->dim[i];
    }
    /* along an axis that splits nothing the devices have copies: the first one counts */
    for (int axis = FGI_SPLIT_DATA; axis <= FGI_SPLIT_MODEL; axis++) {
        bool splits = false;
        for (int i = 0; split != NULL && i < type->rank; i++)
            splits |= split->axis[i] == axis;
        block.is_first &= splits || axis_place(client, axis, device) == 0;
    }
    return block;
}

size_t fgi_split_bytes(const fg_client *client, const fg_type *type, const fgi_split *split)
{
    const fgi_block block = fgi_split_block(client, type, split, 0);
    return fg_type_bytes(&block.type);
}

void fgi_block_scatter(const fgi_block *block, const void *from, void *to_whole)
{
    const int rank = block->type.rank;
    const size_t row = rank > 0
                           ? (size_t)block->type.dim[rank - 1] * fg_dtype_size(block->type.dtype)
                           : fg_dtype_size(block->type.dtype);
    const int64_t rows = rank > 0 && block->type.dim[rank - 1] > 0
                             ? fg_type_count(&block->type) / block->type.dim[rank - 1]
                             : rank == 0;
    int64_t index[FG_MAX_RANK] = {0};
    const char *source = from;
    for (int64_t r = 0; r < rows; r++) {
        int64_t at = block->offset;
        for (int i = 0; i < rank - 1; i++)
            at += index[i] * block->stride[i];
        memcpy((char *)to_whole + at, source, row);
        source += row;
        for (int i = rank - 2; i >= 0; i--) {
            if (++index[i] < block->type.dim[i])
                break;
            index[i] = 0;
        }
    }
}
