/* file_order.c - variables in the layout of files: dimension i of the file's tensor is dimension
 * axis[i] of the variable.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/number.h"
#include "train/weights/weight_files.h"

fg_type fgi_file_type(const fg_variable *variable)
{
    fg_type type = *fg_variable_type(variable);
    const int *axis = fg_variable_file_axis(variable);
    for (int i = 0; axis != NULL && i < type.rank; i++)
        type.dim[i] = fg_variable_type(variable)->dim[axis[i]];
    return type;
}

/* Copies all elements from row-major `from`, of type `type`, so that dimension i of the result is
 * dimension axis[i]. */
static void permute(const fg_type *type, const int *axis, const unsigned char *from,
                    unsigned char *to)
{
    const size_t size = fg_dtype_size(type->dtype);
    int64_t stride[FG_MAX_RANK] = {0}, index[FG_MAX_RANK] = {0};
    int64_t step = 1;
    for (int i = type->rank - 1; i >= 0; i--) {
        stride[i] = step;
        step *= type->dim[i];
    }
    const int64_t count = fg_type_count(type);
    for (int64_t n = 0; n < count; n++) {
        int64_t at = 0;
        for (int i = 0; i < type->rank; i++)
            at += index[i] * stride[axis[i]];
        memcpy(to + (size_t)n * size, from + (size_t)at * size, size);
        for (int i = type->rank - 1; i >= 0; i--) {
            if (++index[i] < type->dim[axis[i]])
                break;
            index[i] = 0;
        }
    }
}

fg_status fgi_to_file_order(const fg_variable *variable, void **block, fg_error *err)
{
    const int *axis = fg_variable_file_axis(variable);
    if (axis == NULL)
        return FG_OK;
    void *turned = fgi_alloc(fg_type_bytes(fg_variable_type(variable)) + 1);
    if (turned == NULL)
        return fgi_no_memory(err);
    permute(fg_variable_type(variable), axis, *block, turned);
    fgi_free(*block);
    *block = turned;
    return FG_OK;
}

/* The file's elements in the variable's dtype: fgi_free it. NULL: out of memory. */
static void *converted(const fg_variable *variable, fg_dtype from, const void *data)
{
    const fg_type *type = fg_variable_type(variable);
    const size_t count = (size_t)fg_type_count(type), size = fg_dtype_size(from);
    void *out = fgi_alloc(fg_type_bytes(type) + 1);
    for (size_t i = 0; out != NULL && i < count; i++) {
        double element[1]; /* aligned, unlike the file's bytes */
        memcpy(element, (const char *)data + i * size, size);
        fgi_number_put(type->dtype, out, i, fgi_number_get(from, element, 0));
    }
    return out;
}

static fg_status set_in_order(fg_variable *variable, const void *data, fg_error *err)
{
    const size_t size = fg_type_bytes(fg_variable_type(variable));
    const int *axis = fg_variable_file_axis(variable);
    if (axis == NULL)
        return fg_variable_set(variable, data, size, err);
    int back[FG_MAX_RANK] = {0};
    const fg_type type = fgi_file_type(variable);
    for (int i = 0; i < type.rank; i++)
        back[axis[i]] = i;
    void *turned = fgi_alloc(size + 1);
    if (turned == NULL)
        return fgi_no_memory(err);
    permute(&type, back, data, turned);
    const fg_status status = fg_variable_set(variable, turned, size, err);
    fgi_free(turned);
    return status;
}

fg_status fgi_set_from_file(fg_variable *variable, fg_dtype dtype, const void *data, fg_error *err)
{
    if (dtype == fg_variable_type(variable)->dtype)
        return set_in_order(variable, data, err);
    void *own = converted(variable, dtype, data);
    if (own == NULL)
        return fgi_no_memory(err);
    const fg_status status = set_in_order(variable, own, err);
    fgi_free(own);
    return status;
}
