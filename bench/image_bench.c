/* image_bench.c - images per second and CPU-second of one thread: decoding, random resized crops to
 * 224x224 with flips, and presizing to a short side of 256 with encoding at quality 90. The images
 * are the given JPEG files, or photo-like noise of 500x375 pixels (about 4 bits per pixel).
 * Usage: image_bench [SECONDS per case, 2] [FILE...]
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <fulgurite/image.h>

enum { MADE = 64, SIDE = 224 };

typedef struct set {
    fg_image_bytes *files;
    size_t count;
    fg_image_decoder *decoder;
    fg_image image, scaled;
    fg_image_bytes encoded;
    uint64_t random;
    uint8_t crop[SIDE * SIDE * 3];
} set;

static double clock_s(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double uniform(set *s)
{
    s->random = s->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(s->random >> 11) / 9007199254740992.0;
}

/* ---- images ---------------------------------------------------------------------------------- */

/* Waves of falling amplitude, and noise. */
static fg_status make(set *s, fg_image_bytes *out, fg_error *err)
{
    fg_status status = fg_image_reserve(&s->image, 500, 375, 3, err);
    if (status != FG_OK)
        return status;
    double kx[12], ky[12];
    for (int i = 0; i < 12; i++) {
        kx[i] = uniform(s) * 0.02 * (i + 1);
        ky[i] = uniform(s) * 0.02 * (i + 1);
    }
    for (int64_t y = 0; y < 375; y++)
        for (int64_t x = 0; x < 500; x++) {
            double value = 128 + 26 * (uniform(s) + uniform(s) + uniform(s) - 1.5);
            for (int i = 0; i < 12; i++)
                value += 40.0 / (i + 1) * sin(kx[i] * (double)x + ky[i] * (double)y + i);
            for (int c = 0; c < 3; c++) {
                const double v =
                    value + (c - 1) * 20 * sin(kx[c] * (double)(x + y)) + 8 * uniform(s);
                s->image.pixels[(y * 500 + x) * 3 + c] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
            }
        }
    return fg_image_encode_jpeg(&s->image, NULL, out, err);
}

static fg_status read_whole(const char *path, fg_image_bytes *out)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return FG_EIO;
    (void)fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    out->data = malloc(size > 0 ? (size_t)size : 1);
    out->size = out->data == NULL ? 0 : fread(out->data, 1, (size_t)size, file);
    (void)fclose(file);
    return out->size == (size_t)size ? FG_OK : FG_EIO;
}

/* ---- cases ----------------------------------------------------------------------------------- */

typedef fg_status work(set *s, const fg_image_bytes *file, fg_error *err);

static fg_status probe(set *s, const fg_image_bytes *file, fg_error *err)
{
    fg_image_info info;
    return fg_image_probe("image", file->data, file->size, &info, err);
}

static fg_status decode(set *s, const fg_image_bytes *file, fg_error *err)
{
    return fg_image_decode(s->decoder, "image", file->data, file->size, NULL, &s->image, err);
}

/* torchvision's RandomResizedCrop: 8 to 100 % of the area, aspect ratio 3/4 to 4/3. */
static fg_image_box random_box(set *s, double width, double height)
{
    for (int i = 0; i < 10; i++) {
        const double area = width * height * (0.08 + 0.92 * uniform(s));
        const double ratio = exp(log(0.75) + (log(4.0 / 3) - log(0.75)) * uniform(s));
        const double w = round(sqrt(area * ratio)), h = round(sqrt(area / ratio));
        if (w <= width && h <= height)
            return (fg_image_box){floor(uniform(s) * (width - w + 1)),
                                  floor(uniform(s) * (height - h + 1)), w, h};
    }
    return (fg_image_box){0, 0, width, height};
}

static fg_status random_crop(set *s, const fg_image_bytes *file, fg_error *err)
{
    fg_image_info info;
    fg_status status = fg_image_probe("image", file->data, file->size, &info, err);
    if (status != FG_OK)
        return status;
    const fg_image_decode_options options = {
        .crop = random_box(s, (double)info.width, (double)info.height),
        .min_width = SIDE,
        .min_height = SIDE};
    status = fg_image_decode(s->decoder, "image", file->data, file->size, &options, &s->image, err);
    const fg_image_resize_options flip = {.flip = uniform(s) < 0.5};
    return status != FG_OK
               ? status
               : fg_image_resize(s->decoder, &s->image, SIDE, SIDE, &flip, s->crop, err);
}

/* Of the image that was decoded last. */
static fg_status resize(set *s, const fg_image_bytes *file, fg_error *err)
{
    return fg_image_resize(s->decoder, &s->image, SIDE, SIDE, NULL, s->crop, err);
}

static fg_status presize(set *s, const fg_image_bytes *file, fg_error *err)
{
    const fg_image_decode_options options = {
        .presize = {.rule = FG_IMAGE_PRESIZE_SHORT, .size = 256}};
    const fg_status status =
        fg_image_decode(s->decoder, "image", file->data, file->size, &options, &s->scaled, err);
    return status != FG_OK ? status : fg_image_encode_jpeg(&s->scaled, NULL, &s->encoded, err);
}

static fg_status measure(set *s, const char *name, work *run, double seconds, fg_error *err)
{
    const double begin = clock_s(CLOCK_MONOTONIC), cpu = clock_s(CLOCK_THREAD_CPUTIME_ID);
    size_t done = 0;
    fg_status status = FG_OK;
    while (status == FG_OK && clock_s(CLOCK_MONOTONIC) - begin < seconds)
        status = run(s, &s->files[done++ % s->count], err);
    const double wall = clock_s(CLOCK_MONOTONIC) - begin;
    const double used = clock_s(CLOCK_THREAD_CPUTIME_ID) - cpu;
    (void)printf("%-22s %10.1f images/s %10.1f images/CPU-s\n", name, (double)done / wall,
                 (double)done / used);
    return status;
}

static fg_status measure_all(set *s, double seconds, fg_error *err)
{
    static const struct {
        const char *name;
        work *run;
    } cases[] = {{"probe", probe},
                 {"decode", decode},
                 {"resize to 224x224", resize},
                 {"random resized crop", random_crop},
                 {"presize and encode", presize}};
    fg_status status = FG_OK;
    for (size_t i = 0; i < sizeof cases / sizeof *cases && status == FG_OK; i++)
        status = measure(s, cases[i].name, cases[i].run, seconds, err);
    return status;
}

int main(int argc, char **argv)
{
    set *s = calloc(1, sizeof *s);
    fg_error err = {0};
    const double seconds = argc > 1 ? strtod(argv[1], NULL) : 2;
    const size_t count = argc > 2 ? (size_t)argc - 2 : MADE;
    if (s == NULL || (s->files = calloc(count, sizeof *s->files)) == NULL)
        return 1;
    s->count = count;
    fg_status status = fg_image_decoder_create(&s->decoder, &err);
    size_t bytes = 0;
    for (size_t i = 0; i < count && status == FG_OK; i++) {
        status = argc > 2 ? read_whole(argv[i + 2], &s->files[i]) : make(s, &s->files[i], &err);
        bytes += s->files[i].size;
    }
    (void)printf("%zu files, %.1f KB on average\n", count, (double)bytes / (double)count / 1e3);
    if (status == FG_OK)
        status = measure_all(s, seconds, &err);
    if (status != FG_OK)
        (void)fg_error_print(&err, argv[0]);
    for (size_t i = 0; i < count; i++)
        argc > 2 ? free(s->files[i].data) : fg_image_bytes_fini(&s->files[i]);
    fg_image_decoder_destroy(s->decoder);
    fg_image_fini(&s->image);
    fg_image_fini(&s->scaled);
    fg_image_bytes_fini(&s->encoded);
    free(s->files);
    free(s);
    return status == FG_OK ? 0 : 1;
}
