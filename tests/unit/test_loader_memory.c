/* The memory of loaders beyond the batches. Ordinary images: at most 64 MiB with 16 threads, as no
 * thread needs more than 4 MiB. Large images, such as progressive JPEGs: the limit that is set, and
 * the small buffers of each thread; by default, as many at once as the machine's memory allows.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/image.h>
#include <fulgurite/images.h>
#include <fulgurite/pack_dataset.h>
#include <fulgurite/packer.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/resources.h"
#include "made_jpeg.h"

enum { WIDTH = 3000, HEIGHT = 2000, FILES = 16, ORDINARY_MB = 64, SET_MB = 52, THREAD_MB = 2 };

static fg_error err;

/* ---- measuring ------------------------------------------------------------------------------- */

/* Anonymous memory of the process in MiB: pages of mapped files do not count. */
static double memory_mb(void)
{
    char line[200];
    long kilobytes = 0;
    FILE *status = fopen("/proc/self/status", "re");
    assert_non_null(status);
    while (fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, "RssAnon:", 8) == 0)
            kilobytes = strtol(line + 8, NULL, 10);
    (void)fclose(status);
    assert_true(kilobytes > 0);
    return (double)kilobytes / 1024;
}

/* Decoding a large image takes tens of milliseconds, so its memory is seen. */
typedef struct watch {
    atomic_bool stop;
    double peak_mb;
} watch;

static void *watch_memory(void *self)
{
    watch *w = self;
    while (!atomic_load(&w->stop)) {
        const double now = memory_mb();
        w->peak_mb = now > w->peak_mb ? now : w->peak_mb;
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return NULL;
}

/* Loads an epoch. The peak of memory beyond that of before, and of the batches. */
static double load(fg_dataset *dataset, int workers)
{
    watch w = {0};
    pthread_t thread;
    fg_loader *loader;
    const fg_host_batch *batch;
    const double before = memory_mb();
    const bool is_many = workers > 4;
    const int64_t rows = is_many ? workers : 6;
    const fg_loader_options options = {
        .batch_size = rows, .workers = workers, .prefetch = is_many ? 1 : 2};
    assert_int_equal(pthread_create(&thread, NULL, watch_memory, &w), 0);
    fgt_ok(fg_loader_create(dataset, &options, &loader, &err));
    fgt_ok(fg_loader_next(loader, &batch, &err));
    assert_int_equal(batch->valid, rows);
    fg_loader_recycle(loader, batch);
    const int64_t slots = fg_loader_stats_of(loader).memory_bytes;
    atomic_store(&w.stop, true);
    (void)pthread_join(thread, NULL);
    fg_loader_destroy(loader);
    return w.peak_mb - before - (double)slots / (1 << 20);
}

/* ---- images ---------------------------------------------------------------------------------- */

/* Links to one file, which is `bytes`. */
static void make_folder(const char *folder, const char *name, const void *bytes, size_t size)
{
    char first[300], other[300];
    (void)snprintf(first, sizeof first, "%s/0.%s", folder, name);
    assert_int_equal(mkdir(folder, 0777), 0);
    fgt_write(first, bytes, size);
    for (int i = 1; i < FILES; i++) {
        (void)snprintf(other, sizeof other, "%s/%d.%s", folder, i, name);
        assert_int_equal(link(first, other), 0);
    }
}

static void make_jpegs(const char *folder, bool is_progressive)
{
    size_t size;
    const fgt_jpeg_spec spec = {
        .width = WIDTH, .height = HEIGHT, .progressive = is_progressive, .smooth = true};
    uint8_t *jpeg = fgt_jpeg_make(&spec, &size);
    make_folder(folder, "jpg", jpeg, size);
    free(jpeg);
}

/* The lowest bit is noise. */
static void make_pngs(const char *folder)
{
    fg_image image = {0};
    fg_image_bytes file = {0};
    uint32_t state = 1;
    fgt_ok(fg_image_reserve(&image, WIDTH, HEIGHT, 3, &err));
    for (int64_t i = 0; i < (int64_t)WIDTH * HEIGHT * 3; i++) {
        state = state * 1664525 + 1013904223;
        image.pixels[i] = (uint8_t)(i / 3 % WIDTH / 16 + (state >> 31));
    }
    fgt_ok(fg_image_encode_png(&image, &(fg_image_png_options){.compression = 1}, &file, &err));
    make_folder(folder, "png", file.data, file.size);
    fg_image_bytes_fini(&file);
    fg_image_fini(&image);
}
/* ---- limits ---------------------------------------------------------------------------------- */

/* One measurement, and the memory in MiB that is expected. */
typedef struct row {
    int folder, workers;
    bool is_pack;
    int limit_mb; /* that is set; 0: the default */
    int least_mb, most_mb;
} row;

static fg_dataset *open_source(const char *path, bool is_pack, int limit_mb)
{
    const fg_images_options options = {
        .crop = FG_IMAGE_CROP_RANDOM, .scale_min = 0.9, .decode_bytes = (uint64_t)limit_mb << 20};
    fg_dataset *dataset;
    if (is_pack) {
        fg_pack *pack;
        fgt_ok(fg_pack_open(path, NULL, &pack, &err));
        fgt_ok(fg_pack_dataset_create(pack, NULL, &dataset, &err));
        fg_pack_close(pack);
        return dataset;
    }
    fg_catalog *catalog;
    fgt_ok(fg_catalog_open(path, NULL, &catalog, &err));
    fgt_ok(fg_images_create(catalog, &options, &dataset, &err));
    fg_catalog_close(catalog);
    return dataset;
}

/* In a separate process, so that malloc has no free memory from other cases. Returns MiB. */
static int measure(const char *path, const row *r)
{
    int status = -1;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        fg_dataset *dataset = open_source(path, r->is_pack, r->limit_mb);
        const double used = load(dataset, r->workers);
        fg_dataset_destroy(dataset);
        _exit(used < 0 ? 0 : used > 254 ? 254 : (int)used + 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* On a busy machine, threads may decode one after the other: then it is measured again. */
static void check(const char *path, const row *r)
{
    int used = measure(path, r);
    for (int tries = 0; tries < 50 && used < r->least_mb; tries++)
        used = measure(path, r);
    if (used > r->most_mb || used < r->least_mb)
        fail_msg("%s: %d threads need %d MiB, expected %d to %d", path, r->workers, used,
                 r->least_mb, r->most_mb);
}

static void pack(const char *from, const char *to, const fg_pack_build_options *options)
{
    fgt_ok(fg_pack_build(from, to, options, NULL, &err));
}

/* A progressive JPEG needs 17 MiB, so with a limit, not all threads decode them at once. */
static void loaders_keep_to_their_memory(void **state)
{
#ifdef __SANITIZE_ADDRESS__
    skip(); /* the sanitizer keeps what is freed */
#endif
    static char folder[5][256];
    static const char *const names[] = {"baseline", "progressive", "png", "seg.pack", "dct.pack"};
    for (int i = 0; i < 5; i++)
        (void)snprintf(folder[i], sizeof folder[i], "%s", fgt_path(fgt_temp_folder(), names[i]));
    make_jpegs(folder[0], false);
    make_jpegs(folder[1], true);
    make_pngs(folder[2]);
    static const row rows[] = {
        {0, 4, false, 0, 1, ORDINARY_MB},
        {0, 16, false, 0, 1, ORDINARY_MB},
        {1, 2, false, SET_MB, 30, SET_MB + 2 * THREAD_MB},
        {1, 16, false, SET_MB, 30, SET_MB + 16 * THREAD_MB},
        {2, 8, false, SET_MB, 20, SET_MB + 8 * THREAD_MB},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check(folder[rows[i].folder], &rows[i]);
    /* eight progressive JPEGs of 18 MiB at once */
    if (fgi_memory_bytes("") / 8 > (uint64_t)8 * 24 << 20)
        check(folder[1], &(row){1, 8, false, 0, 100, 8 * 24});
    /* last, because memory that packing has freed would not be measured */
    pack(folder[0], folder[3], &(fg_pack_build_options){.codec = FG_PACK_CHOICE_SEG});
    check(folder[3], &(row){3, 4, true, 0, 0, ORDINARY_MB});
    pack(folder[0], folder[4],
         &(fg_pack_build_options){.codec = FG_PACK_CHOICE_DCT,
                                  .presize = {.rule = FG_IMAGE_PRESIZE_SQUARE, .size = 256}});
    check(folder[4], &(row){4, 4, true, 0, 0, ORDINARY_MB});
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(loaders_keep_to_their_memory),
};
FGT_MAIN(tests)
