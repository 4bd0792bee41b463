/* run_augment.c - the augmentations that a configuration lists.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "recipe/run/run.h"
#include "recipe/run/run_format.h"

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
        return fgi_fail(err, FG_EINVAL,
                        "%s: the samples are %s: expected images T[height,width,channels]",
                        fgi_config_where(c, KEY), fg_type_format(&out->input, type, sizeof(type)));
    }
    for (size_t i = 0; i < out->augment.count; i++)
        if (row_at(out, i)->size != NULL)
            row_at(out, i)->size(out->augment.at[i].own, &out->input.dim[0], &out->input.dim[1]);
    return FG_OK;
}

static bool lists(const fgi_run_task *task, const char *name)
{
    for (size_t i = 0; i < task->augment.count; i++)
        if (strcmp(task->augment.at[i].entry->name, name) == 0)
            return true;
    return false;
}

/* Whether the samples were decoded whole by the device: the host neither crops nor mirrors them. */
static bool is_whole(const fgi_run_task *task)
{
    for (int i = 0; i < task->encoding_count; i++)
        if (task->encodings[i].coding == FG_IMAGE_DCT)
            return true;
    return false;
}

void fgi_run_augment_note(const fg_recipe *r)
{
    const fg_format_entry *format = NULL;
    if (fgi_run_format_find(r->c, &format, &(fg_error){0}) != FG_OK ||
        !fgi_run_format_offers(format, "crop") || is_whole(&r->task))
        return;
    const char *crop = fg_option_string(r->c->values, "data.crop");
    const double flip = fg_option_float(r->c->values, "data.flip");
    const char *box = lists(&r->task, "random_resized_crop") ? "random_resized_crop"
                      : lists(&r->task, "random_crop")       ? "random_crop"
                                                             : NULL;
    if (strcmp(crop, "center") == 0)
        return;
    if (box != NULL)
        fgi_run_say(r, FG_LOG_WARNING,
                    KEY ": %s crops images that data.crop (%s) has already cropped at random; to "
                        "crop once, set data.crop=center and data.center_fraction=1",
                    box, crop);
    else if (flip > 0 && lists(&r->task, "random_flip"))
        fgi_run_say(r, FG_LOG_WARNING,
                    KEY ": random_flip mirrors images that data.flip (%g) may already have "
                        "mirrored; to mirror once, set data.flip=0",
                    flip);
}

/* Whether a row mixes samples. */
static bool has_mix(const fgi_run_task *task)
{
    for (size_t i = 0; i < task->augment.count; i++)
        if (row_at(task, i)->mix != NULL)
            return true;
    return false;
}

/* Labels as probabilities: NaN for one that is not a class, as the loss requires. */
static fg_tensor probabilities(fg_tensor label, int64_t classes)
{
    fg_trace *trace = fg_tensor_trace(label);
    const fg_tensor hot = fg_one_hot(label, classes, FG_F32);
    const fg_tensor below = fg_lt(label, fg_zeros(trace, FG_S32, FG_SCALAR));
    const fg_tensor above = fg_ge(label, fg_full(trace, FG_S32, (double)classes, FG_SCALAR));
    const fg_tensor bad = fg_reshape(fg_or(below, above), FG_DIMS(-1, 1));
    return fg_where(bad, fg_full(trace, FG_F32, (double)NAN, FG_SCALAR), hot);
}

fg_tensor fgi_run_augment_target(const fgi_run_task *task, const fg_batch *batch)
{
    const fg_tensor target = fg_batch_at(batch, 1);
    if (!fg_trace_training(fg_tensor_trace(target)) || !has_mix(task))
        return target;
    return task->is_classification ? probabilities(target, task->outputs) : fg_cast(target, FG_F32);
}

/* How many of the rows before row i are the same one: it draws other numbers each time. */
static int64_t repeats(const fgi_config_rows *rows, size_t i)
{
    int64_t count = 0;
    for (size_t k = 0; k < i; k++)
        count += rows->at[k].entry == rows->at[i].entry;
    return count;
}

fg_tensor fgi_run_augment_rows(const fgi_config_rows *rows, fg_tensor image, fg_sample_key *key,
                               fg_tensor *target)
{
    const fg_trace *trace = fg_tensor_trace(image);
    for (size_t i = 0; i < rows->count && fg_trace_error(trace, NULL) == FG_OK; i++) {
        const fg_augmentation_entry *row = (const fg_augmentation_entry *)rows->at[i].entry;
        if (key != NULL)
            key->repeat = repeats(rows, i);
        if (row->apply != NULL)
            image = row->apply(image, key, rows->at[i].own);
        else if (key != NULL && target != NULL)
            image = row->mix(image, target, key, rows->at[i].own);
    }
    return image;
}

fg_tensor fgi_run_augment(const fgi_run_task *task, fg_tensor image, const fg_batch *batch,
                          fg_tensor *target)
{
    if (task->augment.count == 0 || !fg_trace_training(fg_tensor_trace(image)))
        return fgi_run_augment_rows(&task->augment, image, NULL, NULL);
    fg_sample_key key = fg_batch_key(batch);
    return fgi_run_augment_rows(&task->augment, image, &key, target);
}
