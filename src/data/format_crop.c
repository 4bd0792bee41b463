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

bool fgi_crop_is_multilabel(const fg_format_request *request, const char *path, bool is_given,
                            int64_t count)
{
    char shown[FGI_SHOWN_BYTES], line[FGI_SHOWN_BYTES + 160];
    const bool is_auto = request->task == NULL || strcmp(request->task, "auto") == 0;
    if (is_auto ? is_given || count > 0 : strcmp(request->task, "multilabel") == 0)
        return true;
    if (count == 0)
        return false;
    (void)fgi_snprintf(line, sizeof line,
                       "'%s': %" PRId64 " sample%s several labels: only the first label of each "
                       "is used; to predict all, set task: multilabel",
                       fgi_shown(path, shown), count, count == 1 ? " has" : "s have");
    fgi_format_say(request, FG_LOG_WARNING, line);
    return false;
}

fg_status fgi_crop_hint(fg_status status, bool applies, const char *hint, fg_error *err)
{
    if (status == FG_OK || err == NULL || !applies)
        return status;
    return fgi_fail(err, status, "%.380s\n%s", err->message, hint);
}

/* ---- parts ----------------------------------------------------------------------------------- */

fg_status fgi_crop_hold_out(const fg_format_request *request, fg_dataset *varied,
                            fg_dataset *middle, fg_format_data *out, fg_error *err)
{
    const bool by_class = request->stratify && strcmp(request->task, "regression") != 0 &&
                          middle->class_count > 0 && middle->field_count > 1 &&
                          middle->fields[1].type.rank == 0;
    const fg_split_options options = {
        .val_fraction = request->val_fraction, .seed = request->split_seed, .stratify = by_class};
    fgi_split split;
    fg_status status = fgi_dataset_split_rows(middle, &options, &split, err);
    if (status == FG_OK && varied->limit_spares != NULL)
        status = varied->limit_spares(varied->self, split.rows + split.val_count,
                                      (size_t)varied->count - split.val_count, err);
    if (status == FG_OK)
        status = fgi_split_datasets(&split, varied, middle, &out->samples, &out->val, err);
    fgi_free(split.rows);
    return status;
}

/* A source and its object. */
typedef struct part {
    const fgi_crop_source *source;
    const fgi_crop *own;
    void *self;
    bool has_val; /* of its samples, some are of the split val */
} part;

static fg_status part_open(part *p, const fg_format_request *request, fg_error *err)
{
    p->self = fgi_calloc(1, p->source->size);
    return p->self != NULL ? p->source->open(p->self, p->own, request, &p->has_val, err)
                           : fgi_no_memory(err);
}

static void part_close(part *p)
{
    if (p->self != NULL)
        p->source->close(p->self);
    fgi_free(p->self);
}

static fg_status split_train(const part *p, const fg_format_request *request, fg_format_data *out,
                             fg_error *err)
{
    fg_dataset *varied = NULL, *middle = NULL;
    fg_status status = p->source->create(p->self, true, true, &varied, err);
    if (status == FG_OK)
        status = p->source->create(p->self, false, false, &middle, err);
    if (status == FG_OK)
        status = fgi_crop_hold_out(request, varied, middle, out, err);
    fg_dataset_destroy(varied);
    fg_dataset_destroy(middle);
    return status;
}

/* Validation samples in another place have the classes of the training samples. */
static fg_status open_val(const part *train, fg_format_request request, fg_format_data *out,
                          fg_error *err)
{
    part val = {.source = train->source, .own = train->own};
    request.part = FG_PART_VAL;
    request.class_names = out->samples->class_names;
    request.class_count = request.class_names != NULL ? out->samples->class_count : 0;
    if (request.task == NULL || strcmp(request.task, "auto") == 0)
        request.task = fg_dataset_is_multilabel(out->samples) ? "multilabel" : "classification";
    fg_status status = part_open(&val, &request, err);
    if (status == FG_OK)
        status = val.source->create(val.self, false, true, &out->val, err);
    part_close(&val);
    return status;
}

/* Validation samples among the training samples that nothing uses are probably a mistake. */
static fg_status open_train(const part *p, const fg_format_request *request, fg_format_data *out,
                            fg_error *err)
{
    const char *val = p->own->paths[FG_PART_VAL];
    const bool is_given = val != NULL && *val != '\0', is_fit = request->is_training;
    if (!is_given && p->has_val)
        return fg_option_fail(request->values, "train", FG_EINVAL, err,
                              "'%s' also contains validation samples\nset data.val to the same "
                              "path to use them",
                              p->own->paths[FG_PART_TRAIN]);
    if (is_fit && request->val_fraction > 0)
        return split_train(p, request, out, err);
    FGI_TRY(p->source->create(p->self, is_fit, is_fit, &out->samples, err));
    return is_fit && is_given ? open_val(p, *request, out, err) : FG_OK;
}

fg_status fgi_crop_open(const fgi_crop_source *source, const fgi_crop *own,
                        const fg_format_request *request, fg_format_data *out, fg_error *err)
{
    part p = {.source = source, .own = own};
    FGI_TRY(fgi_crop_check(own, request->values, err));
    fg_status status = part_open(&p, request, err);
    if (status == FG_OK && request->part == FG_PART_TRAIN)
        status = open_train(&p, request, out, err);
    else if (status == FG_OK)
        status = source->create(p.self, false, false, &out->samples, err);
    part_close(&p);
    return status;
}
