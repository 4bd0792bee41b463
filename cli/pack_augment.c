/* pack_augment.c - what augmentations do to the images of a pack: a contact sheet with an image and
 * its augmented versions in each row.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "pack_read.h"
#include "recipe/run/run.h"
#include "sheet.h"

#define KEY "data.augment"

enum { ROWS = 6, COLUMNS = 8, CELL = 128, LARGEST_NATIVE = 256 };

typedef struct view {
    fg_pack *pack;
    pack_sheet_options o;
    fgi_config *config;
    fgi_config_rows rows;
    contact_sheet sheet;
    fg_image *images; /* [o.rows] */
    int64_t *records; /* [o.rows] */
    int64_t count;    /* of them */
    int64_t height, width;
    uint8_t *batch; /* u8[B,height,width,3] */
    fg_client *client;
    fg_trace *trace;
    fgi_buf *text;
} view;

/* ---- the images ------------------------------------------------------------------------------ */

static fg_status read_images(view *v, fg_error *err)
{
    v->images = fgi_calloc((size_t)v->o.rows, sizeof *v->images);
    v->records = fgi_calloc((size_t)v->o.rows, sizeof *v->records);
    if (v->images == NULL || v->records == NULL)
        return fgi_no_memory(err);
    FGI_TRY(fg_pack_select(v->pack, &v->o.select, v->records, v->o.rows, &v->count, err));
    if (v->count == 0)
        return fgi_fail(err, FG_ENOTFOUND, "%s: no record is selected", fg_pack_path(v->pack, 0));
    bool is_native = true;
    for (int64_t i = 0; i < v->count; i++) {
        fg_image *image = &v->images[i];
        FGI_TRY(fg_pack_image(v->pack, v->records[i], v->sheet.decoder, image, err));
        is_native = is_native && image->width == v->images[0].width &&
                    image->height == v->images[0].height && image->width <= LARGEST_NATIVE &&
                    image->height <= LARGEST_NATIVE;
    }
    v->height = is_native ? v->images[0].height : v->o.cell;
    v->width = is_native ? v->images[0].width : v->o.cell;
    return FG_OK;
}

/* Writes an image as u8[height,width,3]: the square in its middle, resized, unless it has the size
 * already. */
static fg_status put_input(view *v, const fg_image *image, uint8_t *out, fg_error *err)
{
    const int64_t shorter = image->width < image->height ? image->width : image->height;
    const bool is_native = image->width == v->width && image->height == v->height;
    const fg_image_resize_options square = {.box = {(double)(image->width - shorter) / 2,
                                                    (double)(image->height - shorter) / 2,
                                                    (double)shorter, (double)shorter}};
    FGI_TRY(fg_image_resize(v->sheet.decoder, image, v->width, v->height,
                            is_native ? NULL : &square, out, err));
    if (image->channels == 1)
        for (int64_t i = v->width * v->height - 1; i >= 0; i--)
            memset(out + 3 * i, out[i], 3);
    return FG_OK;
}

/* ---- the program ----------------------------------------------------------------------------- */

/* u8[B,H,W,3] -> u8[B,h,w,3], as data.augment is applied in a training step. `numbers` has those of
 * the samples, then as many zeros. */
static fg_tensor apply(const view *v, fg_tensor x, int64_t batch, const uint32_t *numbers)
{
    fg_trace *trace = v->trace;
    const uint32_t seed[2] = {(uint32_t)v->o.select.seed, (uint32_t)(v->o.select.seed >> 32)};
    const fg_type two = {.dtype = FG_U32, .rank = 1, .dim = {2}};
    const fg_type many = {.dtype = FG_U32, .rank = 1, .dim = {batch}};
    fg_sample_key key = {.key = fg_constant(trace, &two, seed),
                         .sample = fg_constant(trace, &many, numbers)};
    const fg_type targets = {.dtype = FG_F32, .rank = 2, .dim = {batch, 1}};
    fg_tensor target = fg_constant(trace, &targets, numbers + batch); /* zeros: it is not shown */
    x = fg_mul_scalar(fg_cast(x, FG_F32), 1.0 / 255);
    x = fgi_run_augment_rows(&v->rows, x, &key, &target);
    const fg_tensor zero = fg_mul_scalar(x, 0), one = fg_add_scalar(zero, 1);
    x = fg_minimum(fg_maximum(x, zero), one);
    return fg_cast(fg_add_scalar(fg_mul_scalar(x, 255), 0.5), FG_U8);
}

static void say(void *self, const char *line)
{
    (void)self;
    (void)fprintf(stderr, "fulgurite pack: %s\n", line);
}

/* Replaces v->batch by the augmented images. */
static fg_status run(view *v, int64_t batch, fg_error *err)
{
    const fg_client_options cpu = {.accelerator = "cpu"};
    const fg_type type = {.dtype = FG_U8, .rank = 4, .dim = {batch, v->height, v->width, 3}};
    fg_array *input = NULL, *output = NULL;
    fg_status status;
    uint32_t *numbers = fgi_calloc(2 * (size_t)batch, sizeof *numbers);
    FGI_DONE(numbers != NULL ? FG_OK : fgi_no_memory(err));
    for (int64_t i = 0; i < batch; i++)
        numbers[i] = (uint32_t)i;
    FGI_DONE(fg_client_open(&cpu, &v->client, err));
    FGI_DONE(fg_client_check(v->client, &(fg_check_options){.say = say}, NULL, err));
    FGI_DONE(fg_trace_create(v->client, &v->trace, err));
    FGI_DONE(fg_array_create(v->client, &type, v->batch, &input, err));
    fg_trace_set_training(v->trace, true);
    const fg_tensor result = apply(v, fg_input(v->trace, input), batch, numbers);
    if (fg_trace_error(v->trace, NULL) == FG_OK) {
        v->height = fg_tensor_dim(result, 1);
        v->width = fg_tensor_dim(result, 2);
    }
    FGI_DONE(fg_run(v->trace, &result, 1, &output, err));
    const size_t size = 3 * (size_t)batch * (size_t)v->height * (size_t)v->width;
    fgi_free(v->batch);
    v->batch = fgi_alloc(size);
    FGI_DONE(v->batch != NULL ? FG_OK : fgi_no_memory(err));
    FGI_DONE(fg_array_read(output, v->batch, size, err));
done:
    fg_array_release(input);
    fg_array_release(output);
    fgi_free(numbers);
    return status;
}

/* ---- the sheet ------------------------------------------------------------------------------- */

static fg_status put_row(view *v, int row, fg_error *err)
{
    fg_pack_entry entry;
    const int versions = v->o.columns - 1;
    const size_t size = 3 * (size_t)v->height * (size_t)v->width;
    FGI_TRY(fg_pack_entry_at(v->pack, v->records[row], &entry, err));
    const char *label =
        fg_pack_class_name(v->pack, entry.label_count > 0 ? entry.labels[0] : entry.label);
    fgi_buf_printf(v->text, "%d\t%" PRId64 "\t%s\n", row + 1, v->records[row],
                   label != NULL ? label : "");
    FGI_TRY(sheet_put(&v->sheet, row, 0, &v->images[row], label, err));
    for (int i = 0; i < versions; i++) {
        const fg_image image = {.pixels = v->batch + (size_t)(row * versions + i) * size,
                                .width = v->width,
                                .height = v->height,
                                .channels = 3,
                                .region = {0, 0, (double)v->width, (double)v->height}};
        FGI_TRY(sheet_put(&v->sheet, row, 1 + i, &image, NULL, err));
    }
    return FG_OK;
}

static fg_status draw(view *v, const char *out_path, fg_error *err)
{
    v->o.rows = v->o.rows != 0 ? v->o.rows : ROWS;
    v->o.columns = v->o.columns != 0 ? v->o.columns : COLUMNS;
    v->o.cell = v->o.cell != 0 ? v->o.cell : CELL;
    if (v->o.columns == 1)
        return fgi_fail(err, FG_EINVAL,
                        "1 column: expected at least 2, the first of which shows "
                        "the images without augmentation");
    FGI_TRY(sheet_create(v->o.rows, v->o.columns, v->o.cell, &v->sheet, err));
    FGI_TRY(read_images(v, err));
    const int64_t versions = v->o.columns - 1, batch = v->count * versions;
    const size_t size = 3 * (size_t)v->height * (size_t)v->width;
    v->batch = fgi_alloc(size * (size_t)batch);
    if (v->batch == NULL)
        return fgi_no_memory(err);
    for (int64_t i = 0; i < batch; i++)
        FGI_TRY(put_input(v, &v->images[i / versions], v->batch + (size_t)i * size, err));
    FGI_TRY(run(v, batch, err));
    for (int row = 0; row < v->count; row++)
        FGI_TRY(put_row(v, row, err));
    FGI_TRY(fgi_buf_status(v->text, err));
    return sheet_write(&v->sheet, out_path, err);
}

static fg_status open_all(view *v, const char *path, const char *augment, fg_error *err)
{
    v->config = fgi_config_create(NULL, err);
    if (v->config == NULL)
        return fgi_no_memory(err);
    FGI_TRY(fgi_config_set(v->config, KEY, augment, "--augment", err));
    FGI_TRY(fgi_config_rows_make(v->config, KEY, &v->rows, err));
    if (v->rows.count == 0)
        return fgi_fail(err, FG_EINVAL,
                        "augment: expected at least one augmentation, such as "
                        "random_flip");
    return fg_pack_open(path, NULL, &v->pack, err);
}

static void fini(view *v)
{
    for (int64_t i = 0; v->images != NULL && i < v->o.rows; i++)
        fg_image_fini(&v->images[i]);
    fg_trace_destroy(v->trace);
    fg_client_close(v->client);
    sheet_fini(&v->sheet);
    fgi_config_rows_free(&v->rows);
    fgi_config_destroy(v->config);
    fg_pack_close(v->pack);
    fgi_free(v->images);
    fgi_free(v->records);
    fgi_free(v->batch);
}

fg_status pack_augment(const char *path, const char *augment, const pack_sheet_options *options,
                       const char *out_path, fgi_buf *out, fg_error *err)
{
    view v = {.o = *options, .text = out};
    fg_status status = open_all(&v, path, augment, err);
    if (status == FG_OK)
        status = draw(&v, out_path, err);
    fini(&v);
    return status;
}
