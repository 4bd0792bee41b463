/* callback_log_images.c - the callback log_images: the first images of the training data, in a
 * grid, for loggers that show images.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/logger.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "callback/callback_rows.h"
#include "train/watch/call.h"

enum { GAP = 2, SIDE_MAX = 16384 };

typedef struct log_images {
    int64_t count;
} log_images;

/* Images in rows of `columns`, with white gaps. */
typedef struct grid {
    int64_t count, columns, rows, image_height, image_width, channels, height, width;
    uint8_t *pixels;
} grid;

/* The first field that is T[height, width, channels]; -1: none. */
static int find_images(const fg_dataset *dataset)
{
    for (int i = 0; i < fg_dataset_field_count(dataset); i++) {
        const fg_type *type = &fg_dataset_field(dataset, i)->type;
        if (type->rank == 3 && (type->dim[2] == 1 || type->dim[2] == 3) &&
            (type->dtype == FG_U8 || type->dtype == FG_F32))
            return i;
    }
    return -1;
}

static fg_status make_grid(const fg_type *type, int64_t count, grid *out, fg_error *err)
{
    *out = (grid){.count = count,
                  .columns = (int64_t)ceil(sqrt((double)count)),
                  .image_height = type->dim[0],
                  .image_width = type->dim[1],
                  .channels = type->dim[2]};
    out->rows = (count + out->columns - 1) / out->columns;
    out->height = out->rows * (out->image_height + GAP) - GAP;
    out->width = out->columns * (out->image_width + GAP) - GAP;
    if (out->height > SIDE_MAX || out->width > SIDE_MAX)
        return fgi_fail(err, FG_EINVAL,
                        "log_images: %lld images of %lld x %lld pixels are too large "
                        "for one image: log fewer",
                        (long long)count, (long long)type->dim[1], (long long)type->dim[0]);
    const size_t size = (size_t)(out->height * out->width * out->channels);
    out->pixels = fgi_alloc(size);
    if (out->pixels == NULL)
        return fgi_no_memory(err);
    memset(out->pixels, 255, size);
    return FG_OK;
}

/* Floating-point images are scaled so that their smallest value is black and their largest white.
 */
static void scale(const float *from, size_t count, uint8_t *out)
{
    float low = HUGE_VALF, high = -HUGE_VALF;
    for (size_t i = 0; i < count; i++)
        if (isfinite(from[i])) {
            low = fminf(low, from[i]);
            high = fmaxf(high, from[i]);
        }
    for (size_t i = 0; i < count; i++) {
        const double part = ((double)from[i] - (double)low) / ((double)high - (double)low);
        out[i] = part > 0 ? (uint8_t)lround(255 * fmin(part, 1)) : 0; /* NaN: 0 */
    }
}

static void put_image(const grid *g, int64_t index, const uint8_t *image)
{
    const int64_t row_bytes = g->image_width * g->channels;
    const int64_t top = index / g->columns * (g->image_height + GAP);
    const int64_t left = index % g->columns * (g->image_width + GAP);
    for (int64_t y = 0; y < g->image_height; y++)
        memcpy(g->pixels + ((top + y) * g->width + left) * g->channels, image + y * row_bytes,
               (size_t)row_bytes);
}

/* Reads the samples; `fields` has room for one, `bytes` for its image. */
static fg_status fill(const fg_dataset *dataset, int field, const grid *g, void *const *fields,
                      uint8_t *bytes, fg_error *err)
{
    const fg_type *type = &fg_dataset_field(dataset, field)->type;
    for (int64_t i = 0; i < g->count; i++) {
        FGI_TRY(fg_dataset_read(dataset, i, fields, err));
        if (type->dtype == FG_F32)
            scale(fields[field], (size_t)fg_type_count(type), bytes);
        put_image(g, i, type->dtype == FG_F32 ? bytes : fields[field]);
    }
    return FG_OK;
}

static fg_status read_grid(const fg_dataset *dataset, int field, const grid *g, fg_error *err)
{
    void *fields[FG_MAX_FIELDS] = {NULL};
    fg_status status = FG_OK;
    const int count = fg_dataset_field_count(dataset);
    uint8_t *bytes = fgi_alloc((size_t)fg_type_count(&fg_dataset_field(dataset, field)->type) + 1);
    for (int i = 0; i < count && status == FG_OK; i++) {
        fields[i] = fgi_alloc(fg_type_bytes(&fg_dataset_field(dataset, i)->type) + 1);
        status = fields[i] != NULL && bytes != NULL ? FG_OK : fgi_no_memory(err);
    }
    if (status == FG_OK)
        status = fill(dataset, field, g, fields, bytes, err);
    for (int i = 0; i < count; i++)
        fgi_free(fields[i]);
    fgi_free(bytes);
    return status;
}

/* At the beginning of a run. */
static fg_status on_fit_start(void *self, const fg_progress *at, fg_error *err)
{
    const int64_t most = ((const log_images *)self)->count;
    const fg_dataset *dataset = at->step == 0 ? fgi_fit_facts_of(at->trainer).train : NULL;
    grid g;
    if (dataset == NULL)
        return FG_OK;
    const int field = find_images(dataset);
    const int64_t count = fg_dataset_count(dataset);
    if (field < 0 || fg_dataset_encoding(dataset) != NULL || count < 1) {
        fgi_log(FG_LOG_WARNING,
                "log_images: the training data have no field that can be shown as images: expected "
                "u8 or f32[height, width, 1 or 3], and a known number of samples");
        return FG_OK;
    }
    FGI_TRY(
        make_grid(&fg_dataset_field(dataset, field)->type, count < most ? count : most, &g, err));
    fg_status status = read_grid(dataset, field, &g, err);
    if (status == FG_OK)
        status = fg_trainer_log_image(at->trainer, "train/samples",
                                      &(fg_image){.pixels = g.pixels,
                                                  .width = g.width,
                                                  .height = g.height,
                                                  .channels = (int)g.channels},
                                      err);
    fgi_free(g.pixels);
    return status;
}

static const fg_option options[] = {
    FG_OPTION(log_images, count, INT, "16", "1..1024", "64", "How many images.")};

static const fg_callback_ops ops = {
    .name = "log_images", .fit_start = on_fit_start, .destroy = fg_free};

const fg_callback_entry fgi_log_images_row = {
    .entry = {.name = "log_images",
              .help = "log the first images of the training data, before augmentation, to loggers "
                      "that show images (tensorboard)",
              FG_OPTIONS(options, log_images)},
    .ops = &ops};
