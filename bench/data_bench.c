/* data_bench.c - samples per second that a loader delivers from one source, and the time from
 * opening the source to the first batch. Prints one JSON object.
 * Usage: data_bench [-b BATCH, 128] [-s SECONDS, 3] [-w WORKERS, 2] CASE SOURCE
 *
 * SOURCE is a pack (NAME.pack) or what fg_catalog_open reads, such as a folder of images. CASE:
 *   rrc      random resized crops to 224x224 with flips, u8
 *   window   windows of 224x224 with flips, u8
 *   dense    samples as stored, such as DCT coefficients, which the device decodes
 *   rrc-f32, window-f32   the same, normalized, f32 in the order channels, height, width. The
 *            library leaves this to the device; here a loop in the loader's threads does it
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <fulgurite/catalog.h>
#include <fulgurite/images.h>
#include <fulgurite/pack_dataset.h>

enum { SIDE = 224, PIXELS = SIDE * SIDE };

static int64_t batch_size = 128;
static double measured_s = 3;
static int workers = 2;

static double clock_s(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double now_s(void) { return clock_s(CLOCK_MONOTONIC); }

/* ---- datasets -------------------------------------------------------------------------------- */

static fg_status open_source(const char *path, fg_image_crop crop, fg_dataset **out, fg_error *err)
{
    const size_t length = strlen(path);
    const fg_images_options images = {.height = SIDE, .width = SIDE, .crop = crop};
    fg_status status;
    if (length > 5 && strcmp(path + length - 5, ".pack") == 0) {
        fg_pack *pack = NULL;
        const fg_pack_dataset_options options = {.images = images};
        status = fg_pack_open(path, NULL, &pack, err);
        if (status == FG_OK)
            status = fg_pack_dataset_create(pack, &options, out, err);
        fg_pack_close(pack);
        return status;
    }
    fg_catalog *catalog = NULL;
    status = fg_catalog_open(path, NULL, &catalog, err);
    if (status == FG_OK)
        status = fg_images_create(catalog, &images, out, err);
    fg_catalog_close(catalog);
    return status;
}

/* Mean and standard deviation of ImageNet, times 255. */
#ifdef __x86_64__
__attribute__((target_clones("avx2", "default")))
#endif
static void
normalize(const uint8_t *restrict in, float *restrict out)
{
    static const float mean[3] = {123.675F, 116.28F, 103.53F};
    static const float factor[3] = {1 / 58.395F, 1 / 57.12F, 1 / 57.375F};
    for (int i = 0; i < PIXELS; i++)
        for (int c = 0; c < 3; c++)
            out[c * PIXELS + i] = ((float)in[3 * i + c] - mean[c]) * factor[c];
}

/* The crops are those of epoch 0 in every epoch. */
static fg_status read_float(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    static _Thread_local uint8_t pixels[PIXELS * 3];
    void *const fields[] = {pixels, out_fields[1]};
    const fg_status status = fg_dataset_read(self, index, fields, err);
    if (status == FG_OK)
        normalize(pixels, out_fields[0]);
    return status;
}

static void destroy_inner(void *self) { fg_dataset_destroy(self); }

/* Takes `inner`, whose samples are an image u8[SIDE,SIDE,3] and a label. */
static fg_status as_float(fg_dataset *inner, fg_dataset **out, fg_error *err)
{
    static const fg_dataset_ops ops = {.read = read_float, .destroy = destroy_inner};
    fg_type type = fg_dataset_field(inner, 0)->type;
    type.dtype = FG_F32;
    type.dim[0] = 3;
    type.dim[2] = SIDE;
    const fg_field fields[] = {{"image", type}, *fg_dataset_field(inner, 1)};
    const fg_dataset_spec spec = {
        .count = fg_dataset_count(inner), .fields = fields, .field_count = 2};
    return fg_dataset_create(&ops, inner, &spec, out, err);
}

static fg_status open_case(const char *name, const char *path, fg_dataset **out, fg_error *err)
{
    fg_dataset *inner = NULL;
    const fg_image_crop crop =
        strncmp(name, "window", 6) == 0 ? FG_IMAGE_CROP_WINDOW : FG_IMAGE_CROP_RANDOM;
    const fg_status status = open_source(path, crop, &inner, err);
    if (status == FG_OK && strstr(name, "-f32") != NULL)
        return as_float(inner, out, err);
    *out = inner;
    return status;
}

/* ---- measurement ----------------------------------------------------------------------------- */

static fg_status take(fg_loader *loader, double seconds, int64_t *samples, fg_error *err)
{
    const double begin = now_s();
    *samples = 0;
    do {
        const fg_host_batch *batch;
        const fg_status status = fg_loader_next(loader, &batch, err);
        if (status != FG_OK)
            return status;
        *samples += batch != NULL ? batch->valid : 0; /* NULL: the next epoch follows */
        fg_loader_recycle(loader, batch);
    } while (*samples == 0 || now_s() - begin < seconds);
    return FG_OK;
}

static fg_status run(const char *name, const char *path, fg_error *err)
{
    fg_dataset *dataset = NULL;
    fg_loader *loader = NULL;
    int64_t samples = 0;
    const fg_loader_options options = {.batch_size = batch_size,
                                       .shuffle = true,
                                       .drop_last = true,
                                       .run_ahead = true,
                                       .workers = workers};
    const double begin = now_s();
    fg_status status = open_case(name, path, &dataset, err);
    if (status == FG_OK && fg_dataset_count(dataset) < batch_size) {
        (void)snprintf(err->message, sizeof err->message,
                       "'%.300s' has fewer samples than a batch of %lld", path,
                       (long long)batch_size);
        status = err->status = FG_EINVAL;
    }
    if (status == FG_OK)
        status = fg_loader_create(dataset, &options, &loader, err);
    if (status == FG_OK)
        status = take(loader, 0, &samples, err);
    const double first_s = now_s() - begin;
    if (status == FG_OK)
        status = take(loader, measured_s / 3, &samples, err); /* first touch, checksums */
    const double start_s = now_s(), start_cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID);
    if (status == FG_OK)
        status = take(loader, measured_s, &samples, err);
    const double cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID) - start_cpu_s;
    if (status == FG_OK)
        (void)printf("{\"rate\": %.1f, \"cpu_rate\": %.1f, \"first_s\": %.4f, "
                     "\"sample_bytes\": %lld}\n",
                     (double)samples / (now_s() - start_s), (double)samples / cpu_s, first_s,
                     (long long)fg_type_bytes(&fg_dataset_field(dataset, 0)->type));
    fg_loader_destroy(loader);
    fg_dataset_destroy(dataset);
    return status;
}

static bool is_case(const char *name)
{
    static const char *const names[] = {"rrc", "window", "dense", "rrc-f32", "window-f32"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    fg_error err = {0};
    int option;
    while ((option = getopt(argc, argv, "b:s:w:")) != -1) {
        if (option == '?')
            return 2;
        const double value = strtod(optarg, NULL);
        batch_size = option == 'b' ? (int64_t)value : batch_size;
        measured_s = option == 's' ? value : measured_s;
        workers = option == 'w' ? (int)value : workers;
    }
    if (argc - optind != 2 || !is_case(argv[optind])) {
        (void)fputs("usage: data_bench [-b BATCH] [-s SECONDS] [-w WORKERS] "
                    "rrc|window|dense|rrc-f32|window-f32 SOURCE\n",
                    stderr);
        return 2;
    }
    return run(argv[optind], argv[optind + 1], &err) == FG_OK ? 0
                                                              : fg_error_print(&err, "data_bench");
}
