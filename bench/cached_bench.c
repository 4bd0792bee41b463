/* cached_bench.c - images per second of a loader that reads packs: raw pixels, JPEGs with
 * segment tables and DCT coefficients, with crops that are copied and crops that are resized; the
 * time from opening a large pack to the first batch; and the memory that a loader needs beyond its
 * batches. Usage: cached_bench FOLDER [SECONDS per case, 2] [IMAGES, 2000] [RECORDS of the large
 * pack, 560000]
 *
 * FOLDER must have room for 196 KB per image and about 200 MB more. Batches are released at once;
 * files are read from the page cache.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <fulgurite/image.h>
#include <fulgurite/pack_dataset.h>
#include "image/jpeg_coefficients.h"
#include "image/jpeg_segment_record.h"
#include "image/jpeg_transcode.h"

enum { BATCH = 128, RAW_SIDE = 256, WIDTH = 500, HEIGHT = 375 };

static fg_error err;
static char root[512];

static double clock_s(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double now_s(void) { return clock_s(CLOCK_MONOTONIC); }

/* CPU time of all threads: what other processes use does not count. */
static double cpu_s(void) { return clock_s(CLOCK_PROCESS_CPUTIME_ID); }

static void check(fg_status status)
{
    if (status != FG_OK)
        exit(fg_error_print(&err, "cached_bench"));
}

static const char *in_root(const char *name)
{
    static char path[600];
    (void)snprintf(path, sizeof path, "%s/cached_bench.%s", root, name);
    return path;
}

/* Anonymous memory of the process: pages of mapped files do not count. */
static double memory_mb(void)
{
    char line[200];
    long kilobytes = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, "RssAnon:", 8) == 0)
            kilobytes = strtol(line + 8, NULL, 10);
    if (status != NULL)
        (void)fclose(status);
    return (double)kilobytes / 1024;
}

/* ---- packs ----------------------------------------------------------------------------------- */

static uint64_t state = 1;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

/* Waves of falling amplitude, and noise: about 4 bits per pixel as a JPEG. */
static void draw(fg_image *image, int64_t width, int64_t height)
{
    double kx[12], ky[12];
    check(fg_image_reserve(image, width, height, 3, &err));
    for (int i = 0; i < 12; i++) {
        kx[i] = uniform() * 0.02 * (i + 1);
        ky[i] = uniform() * 0.02 * (i + 1);
    }
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++) {
            double value = 128 + 26 * (uniform() + uniform() + uniform() - 1.5);
            for (int i = 0; i < 12; i++)
                value += 40.0 / (i + 1) * sin(kx[i] * (double)x + ky[i] * (double)y + i);
            for (int c = 0; c < 3; c++) {
                const double v = value + (c - 1) * 20 * sin(kx[c] * (double)(x + y));
                image->pixels[(y * width + x) * 3 + c] = (uint8_t)fmin(fmax(v, 0), 255);
            }
        }
}

static fg_pack_writer *start(const char *name)
{
    static const char *const classes[] = {"a", "b"};
    fg_pack_writer *writer;
    const fg_pack_writer_options options = {
        .class_names = classes, .class_count = 2, .replace = true};
    check(fg_pack_writer_create(in_root(name), &options, &writer, NULL, &err));
    return writer;
}

static void add(fg_pack_writer *writer, fg_pack_codec codec, int64_t width, int64_t height,
                const void *data, size_t size)
{
    char name[64];
    const int64_t number = fg_pack_writer_count(writer);
    (void)snprintf(name, sizeof name, "class_%03d/image_%08lld.jpg", (int)(number % 1000),
                   (long long)number);
    check(fg_pack_writer_add(writer,
                             &(fg_pack_entry){.name = name,
                                              .codec = codec,
                                              .width = (uint32_t)width,
                                              .height = (uint32_t)height,
                                              .label = (int32_t)(number % 2)},
                             data, size, &err));
}

static void finish(fg_pack_writer *writer)
{
    check(fg_pack_writer_finish(writer, NULL, &err));
    fg_pack_writer_destroy(writer);
}

static void write_raw(const char *name, int64_t count, int64_t side)
{
    fg_image image = {0};
    fg_pack_writer *writer = start(name);
    draw(&image, side, side);
    for (int64_t i = 0; i < count; i++) {
        image.pixels[i % (side * side * 3)]++;
        add(writer, FG_PACK_RAW_RGB, side, side, image.pixels, (size_t)(side * side * 3));
    }
    finish(writer);
    fg_image_fini(&image);
}

static void write_segments(const char *name, int count)
{
    fg_image image = {0};
    fg_image_bytes file = {0};
    fg_pack_writer *writer = start(name);
    size_t bytes = 0;
    for (int i = 0; i < count; i++) {
        fgi_buf record = {0}, table = {0};
        draw(&image, WIDTH, HEIGHT);
        check(fg_image_encode_jpeg(&image, NULL, &file, &err));
        check(fgi_jpeg_transcode_segments("image", file.data, file.size, FGI_JPEG_SEGMENTS_AUTO,
                                          &record, &table, &err));
        fgi_jpeg_record_append(&record, &table);
        bytes += record.size;
        add(writer, FG_PACK_JPEG_SEG, WIDTH, HEIGHT, record.data, record.size);
        fgi_buf_fini(&record);
        fgi_buf_fini(&table);
    }
    printf("jpeg-seg: %d images of %dx%d, %.1f KB on average\n", count, WIDTH, HEIGHT,
           (double)bytes / count / 1e3);
    finish(writer);
    fg_image_bytes_fini(&file);
    fg_image_fini(&image);
}

/* Quality 90, as `fulgurite pack` writes them. */
static void write_coefficients(const char *name, int count)
{
    fg_image image = {0};
    fg_pack_writer *writer = start(name);
    size_t bytes = 0;
    for (int i = 0; i < count; i++) {
        fgi_buf record = {0};
        draw(&image, RAW_SIDE, RAW_SIDE);
        check(fgi_jpeg_coefficients_encode("image", &image, 90, (fgi_jpeg_sampling){3, 2, 2},
                                           &record, &err));
        bytes += record.size;
        add(writer, FG_PACK_DCT, RAW_SIDE, RAW_SIDE, record.data, record.size);
        fgi_buf_fini(&record);
    }
    printf("dct: %d images of %dx%d, %.1f KB on average, %.3f of raw pixels\n", count, RAW_SIDE,
           RAW_SIDE, (double)bytes / count / 1e3,
           (double)bytes / count / (RAW_SIDE * RAW_SIDE * 3));
    finish(writer);
    fg_image_fini(&image);
}

/* ---- measurements ---------------------------------------------------------------------------- */

static fg_dataset *open_pack(const char *name, fg_image_crop crop, int64_t side)
{
    fg_pack *pack;
    fg_dataset *dataset;
    fg_pack_dataset_options options = {.images = {.height = side, .width = side, .crop = crop}};
    if (side == 0) /* the device decodes whole images */
        options = (fg_pack_dataset_options){0};
    check(fg_pack_open(in_root(name), NULL, &pack, &err));
    check(fg_pack_dataset_create(pack, &options, &dataset, &err));
    fg_pack_close(pack);
    return dataset;
}

static fg_loader *start_loader(fg_dataset *dataset, int workers)
{
    fg_loader *loader;
    const fg_loader_options options = {.batch_size = BATCH,
                                       .shuffle = true,
                                       .run_ahead = true,
                                       .drop_last = true,
                                       .workers = workers};
    check(fg_loader_create(dataset, &options, &loader, &err));
    return loader;
}

/* Images per second, and per second of CPU time. */
typedef struct rate {
    double wall, cpu;
} rate;

/* Takes at least `batches` batches, for at least `seconds`. */
static rate take(fg_loader *loader, int64_t batches, double seconds)
{
    const double begin = now_s(), cpu = cpu_s();
    int64_t taken = 0;
    while (taken < batches || now_s() - begin < seconds) {
        const fg_host_batch *batch;
        check(fg_loader_next(loader, &batch, &err));
        taken += batch != NULL;
        fg_loader_recycle(loader, batch);
    }
    const double images = (double)(taken * BATCH);
    return (rate){images / (now_s() - begin), images / (cpu_s() - cpu)};
}

static void measure(const char *title, const char *name, fg_image_crop crop, int workers,
                    double seconds)
{
    fg_dataset *dataset = open_pack(name, crop, strcmp(name, "dct.pack") == 0 ? 0 : 224);
    const double before = memory_mb();
    fg_loader *loader = start_loader(dataset, workers);
    const int64_t batches = fg_loader_batch_count(loader);
    const rate first = take(loader, batches, 0);
    const rate later = take(loader, 0, seconds);
    const double used = memory_mb() - before;
    const double slots = (double)fg_loader_stats_of(loader).memory_bytes / 1024 / 1024;
    printf("%-30s %d threads: %8.0f images/s, %8.0f per CPU-s; first epoch (verified) %8.0f, "
           "%8.0f; memory %.1f MB beyond %.1f MB of batches\n",
           title, workers, later.wall, later.cpu, first.wall, first.cpu, used - slots, slots);
    fg_loader_destroy(loader);
    fg_dataset_destroy(dataset);
}

static void measure_first(int64_t count)
{
    for (int i = 0; i < 3; i++) {
        const double begin = now_s();
        fg_dataset *dataset = open_pack("large.pack", FG_IMAGE_CROP_WINDOW, 8);
        const double opened = now_s();
        fg_loader *loader = start_loader(dataset, 2);
        (void)take(loader, 1, 0);
        printf("%lld records: dataset after %.1f ms, first batch after %.1f ms\n", (long long)count,
               (opened - begin) * 1e3, (now_s() - begin) * 1e3);
        fg_loader_destroy(loader);
        fg_dataset_destroy(dataset);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *title, *pack;
        fg_image_crop crop;
    } cases[] = {{"raw, window and flip", "raw.pack", FG_IMAGE_CROP_WINDOW},
                 {"raw, center", "raw.pack", FG_IMAGE_CROP_CENTER},
                 {"raw, random resized crop", "raw.pack", FG_IMAGE_CROP_RANDOM},
                 {"jpeg-seg, random resized crop", "seg.pack", FG_IMAGE_CROP_RANDOM},
                 {"dct", "dct.pack", FG_IMAGE_CROP_CENTER}};
    if (argc < 2 || argc > 5) {
        fprintf(stderr, "usage: cached_bench FOLDER [SECONDS] [IMAGES] [RECORDS]\n");
        return 2;
    }
    (void)snprintf(root, sizeof root, "%s", argv[1]);
    const double seconds = argc > 2 ? strtod(argv[2], NULL) : 2;
    const int64_t images = argc > 3 ? strtol(argv[3], NULL, 10) : 2000;
    const int64_t records = argc > 4 ? strtol(argv[4], NULL, 10) : 560000;
    write_raw("raw.pack", images, RAW_SIDE);
    write_segments("seg.pack", 256);
    write_coefficients("dct.pack", 256);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int workers = 1; workers <= 2; workers++)
            measure(cases[i].title, cases[i].pack, cases[i].crop, workers, seconds);
    write_raw("large.pack", records, 8);
    measure_first(records);
    static const char *const packs[] = {"raw.pack", "seg.pack", "dct.pack", "large.pack"};
    for (int i = 0; i < 4; i++)
        (void)unlink(in_root(packs[i]));
    return 0;
}
