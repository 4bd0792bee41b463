/* format_crop.c - see format_crop.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/format_crop.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "catalog/draft.h"
#include "data/dataset.h"

static fg_status check_pair(const double pair[2], const fg_option_values *values, const char *name,
                            fg_error *err)
{
    if (pair[0] <= pair[1])
        return FG_OK;
    return fg_option_fail(values, name, FG_EINVAL, err, "expected two ascending numbers");
}

fg_status fgi_crop_check(const fgi_crop *o, const fg_option_values *values, fg_error *err)
{
    FGI_TRY(check_pair(o->crop_scale, values, "crop_scale", err));
    return check_pair(o->crop_ratio, values, "crop_ratio", err);
}

static bool is_image(const fg_type *type)
{
    return type->dtype == FG_U8 && type->rank == 3 && (type->dim[2] == 1 || type->dim[2] == 3);
}

fg_images_options fgi_crop_options(const fgi_crop *o, const fg_type *input, bool is_training)
{
    static const fg_image_crop crops[] = {[FGI_CROP_RANDOM] = FG_IMAGE_CROP_RANDOM,
                                          [FGI_CROP_WINDOW] = FG_IMAGE_CROP_WINDOW,
                                          [FGI_CROP_CENTER] = FG_IMAGE_CROP_CENTER};
    const bool is_known = input != NULL && is_image(input);
    const int channels = o->channels == FGI_CHANNELS_GRAY ? 1 : 3;
    return (fg_images_options){
        .height = is_known ? input->dim[0] : o->size,
        .width = is_known ? input->dim[1] : o->size,
        .channels = is_known ? (int)input->dim[2] : channels,
        .crop = is_training ? crops[o->crop] : FG_IMAGE_CROP_CENTER,
        .center_fraction = o->center_fraction,
        .scale_min = o->crop_scale[0],
        .scale_max = o->crop_scale[1],
        .ratio_min = o->crop_ratio[0],
        .ratio_max = o->crop_ratio[1],
        .flip_probability = o->flip == 0 ? FG_ZERO : o->flip,
        .seed = (uint64_t)o->crop_seed,
        .tolerate_corruption = o->tolerate_corruption,
        .decode_bytes = o->decode_memory == FG_AUTO ? 0 : (uint64_t)o->decode_memory << 20,
    };
}

fg_status fgi_crop_check_count(const char *path, fg_data_part part, int64_t count, fg_error *err)
{
    static const char *const names[] = {
        [FG_PART_TRAIN] = "train", [FG_PART_VAL] = "val", [FG_PART_TEST] = "test"};
    if (count > 0 || part == FG_PART_PREDICT)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL, "'%.300s' has samples of other splits, but none of split %s",
                    path, names[part]);
}

void fgi_crop_warn_labels(const fg_format_request *request, const char *path, int64_t count)
{
    char shown[FGI_SHOWN_BYTES], line[FGI_SHOWN_BYTES + 160];
    if (count == 0)
        return;
    (void)fgi_snprintf(line, sizeof line,
                       "'%s': %" PRId64 " sample%s several labels: only the first label of each "
                       "is used, because the classes of a model exclude each other",
                       fgi_shown(path, shown), count, count == 1 ? " has" : "s have");
    fgi_format_say(request, FG_LOG_WARNING, line);
}

fg_status fgi_crop_hint(fg_status status, bool applies, const char *hint, fg_error *err)
{
    if (status == FG_OK || err == NULL || !applies)
        return status;
    return fgi_fail(err, status, "%.380s\n%s", err->message, hint);
}

fg_format_request fgi_crop_val_request(const fg_format_request *request, const fg_dataset *train)
{
    fg_format_request out = *request;
    out.part = FG_PART_VAL;
    out.class_names = train->class_names;
    out.class_count = train->class_names != NULL ? train->class_count : 0;
    return out;
}

fg_status fgi_crop_hold_out(const fg_format_request *request, fg_dataset *varied,
                            fg_dataset *middle, fg_format_data *out, fg_error *err)
{
    const int64_t count = fg_dataset_count(varied);
    int64_t *rows;
    size_t val_count;
    const bool by_class =
        request->stratify && strcmp(request->task, "regression") != 0 && middle->class_count > 0;
    fg_status status = fgi_dataset_split_rows(middle, request->val_fraction, request->split_seed,
                                              by_class, &rows, &val_count, err);
    if (status != FG_OK)
        return status;
    if (varied->limit_spares != NULL)
        status =
            varied->limit_spares(varied->self, rows + val_count, (size_t)count - val_count, err);
    if (status == FG_OK)
        status = fg_dataset_subset(middle, rows, val_count, &out->val, err);
    if (status == FG_OK)
        status = fg_dataset_subset(varied, rows + val_count, (size_t)count - val_count,
                                   &out->samples, err);
    fgi_free(rows);
    return status;
}
