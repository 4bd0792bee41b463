/* run_augment.c - the augmentations that a configuration lists.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "recipe/run.h"

#define KEY "data.augment"

static const fg_augmentation_entry *row_at(const fgi_run_task *task, size_t i)
{
    return (const fg_augmentation_entry *)task->augment.at[i].entry;
}

fg_status fgi_run_augment_init(const fgi_config *c, fgi_run_task *out, fg_error *err)
{
    FGI_TRY(fgi_config_rows_make(c, KEY, &out->augment, err));
    if (out->augment.count == 0)
        return FG_OK;
    if (out->input.rank != 3) {
        char type[96];
        (void)fgi_refuse(err, "%s: the samples are %s: expected images T[height,width,channels]",
                         fgi_config_where(c, KEY), fg_type_format(&out->input, type, sizeof(type)));
        return FG_EINVAL;
    }
    for (size_t i = 0; i < out->augment.count; i++)
        if (row_at(out, i)->size != NULL)
            row_at(out, i)->size(out->augment.at[i].values, &out->input.dim[0], &out->input.dim[1]);
    return FG_OK;
}

/* How many of the rows before row i are the same one: it draws other numbers each time. */
static int64_t repeats(const fgi_run_task *task, size_t i)
{
    int64_t count = 0;
    for (size_t k = 0; k < i; k++)
        count += row_at(task, k) == row_at(task, i);
    return count;
}

fg_tensor fgi_run_augment(const fgi_run_task *task, fg_tensor image, const fg_batch *batch)
{
    fg_sample_key key = {0};
    if (task->augment.count == 0)
        return image;
    const bool is_training = fg_trace_training(fg_tensor_trace(image));
    if (is_training)
        key = fg_batch_key(batch);
    for (size_t i = 0; i < task->augment.count; i++) {
        key.repeat = repeats(task, i);
        image =
            row_at(task, i)->apply(image, is_training ? &key : NULL, task->augment.at[i].values);
    }
    return image;
}
