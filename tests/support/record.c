/* record.c - reads files written by record scripts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "record.h"
#include "fgt.h"

#include <stdio.h>

fg_ckpt *fgt_record_open(const char *path)
{
    fg_error err = {0};
    fg_ckpt *record = NULL;
    fgt_ok(fg_ckpt_open(fgt_path(FGT_SOURCE_DIR "/tests/golden", path), NULL, &record, &err));
    return record;
}

int fgt_record_begin(const char *path, fg_client **out_client, fg_ckpt **out_record)
{
    fg_error err = {0};
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu", .cache_dir = fgt_cache("")},
                          out_client, &err));
    *out_record = fgt_record_open(path);
    return 0;
}

int fgt_record_end(fg_client *client, fg_ckpt *record)
{
    fg_ckpt_close(record);
    fg_client_close(client);
    return 0;
}

__attribute__((format(printf, 5, 0))) static bool
find(const fg_ckpt *record, size_t *out, char *name, size_t size, const char *format, va_list args)
{
    assert_true(vsnprintf(name, size, format, args) < (int)size);
    return fg_ckpt_find(record, FG_CKPT_MODEL, name, out);
}

const void *fgt_record_get(const fg_ckpt *record, fg_type *out_type, const char *format, ...)
{
    char name[160];
    size_t index = 0;
    va_list args;
    va_start(args, format);
    const bool found = find(record, &index, name, sizeof name, format, args);
    va_end(args);
    if (!found)
        fail_msg("nothing is recorded as '%s'", name);
    if (out_type != NULL)
        *out_type = fg_ckpt_info(record, index)->type;
    return fg_ckpt_data(record, index);
}

bool fgt_record_has(const fg_ckpt *record, const char *format, ...)
{
    char name[160];
    size_t index = 0;
    va_list args;
    va_start(args, format);
    const bool found = find(record, &index, name, sizeof name, format, args);
    va_end(args);
    return found;
}

/* Goes through the file's elements in order; calls have the place in the variable's own order. */
static void reorder(const fg_variable *variable, const float *data, float *out, bool to_file)
{
    const fg_type *type = fg_variable_type(variable);
    const int *axis = fg_variable_file_axis(variable);
    const int64_t count = fg_type_count(type);
    int64_t stride[FG_MAX_RANK], index[FG_MAX_RANK] = {0};
    for (int i = type->rank - 1; i >= 0; i--)
        stride[i] = i == type->rank - 1 ? 1 : stride[i + 1] * type->dim[i + 1];
    for (int64_t n = 0; n < count; n++) {
        int64_t place = 0;
        for (int i = 0; i < type->rank; i++)
            place += index[i] * stride[axis != NULL ? axis[i] : i];
        if (to_file)
            out[n] = data[place];
        else
            out[place] = data[n];
        for (int i = type->rank - 1; i >= 0; i--) {
            if (++index[i] < type->dim[axis != NULL ? axis[i] : i])
                break;
            index[i] = 0;
        }
    }
}

void fgt_from_file_order(const fg_variable *variable, const float *data, float *out)
{
    reorder(variable, data, out, false);
}

void fgt_to_file_order(const fg_variable *variable, const float *data, float *out)
{
    reorder(variable, data, out, true);
}
