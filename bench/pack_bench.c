/* pack_bench.c - measures packs: opening one with many records, reading records in order and at
 * random, and small records against small files, both not in the page cache.
 * Usage: pack_bench FOLDER [RECORDS to open, 560000]
 *
 * FOLDER must be on the disk to measure; about 400 MB are written there and removed again. Files
 * leave the page cache by posix_fadvise, so the folder entries of the small files stay cached: what
 * is measured is in their favor.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <fulgurite/pack.h>

enum {
    SMALL_COUNT = 50000,
    SMALL_BYTES = 2048,
    PER_FOLDER = 500,
    RAW_COUNT = 1000,
    RAW_BYTES = 196608
};

static char root[512];
static fg_error err;

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void check(fg_status status)
{
    if (status != FG_OK)
        exit(fg_error_print(&err, "pack_bench"));
}

static const char *in_root(const char *name)
{
    static _Thread_local char path[700];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void small_path(int i, char out[700])
{
    (void)snprintf(out, 700, "%s/files/%03d/%05d.bin", root, i / PER_FOLDER, i);
}

static void fill(unsigned char *data, size_t size, int seed)
{
    for (size_t i = 0; i < size; i++)
        data[i] = (unsigned char)((i + (size_t)seed * 31) * 2654435761U >> 13);
}

static void write_pack(const char *name, int count, size_t size, fg_pack_codec codec)
{
    static unsigned char data[RAW_BYTES];
    fg_pack_writer *writer;
    check(fg_pack_writer_create(in_root(name), &(fg_pack_writer_options){.replace = true}, &writer,
                                NULL, &err));
    for (int i = 0; i < count; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "class_%03d/image_%08d.jpg", i % 1000, i);
        fill(data, size, i);
        check(fg_pack_writer_add(writer,
                                 &(fg_pack_entry){.name = text, .codec = codec, .label = i % 1000},
                                 data, size, &err));
    }
    check(fg_pack_writer_finish(writer, NULL, &err));
    fg_pack_writer_destroy(writer);
}

static void drop(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    (void)close(fd);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void measure_open(int count)
{
    write_pack("open.pack", count, 16, FG_PACK_JPEG);
    for (int warm = 0; warm < 3; warm++) {
        if (warm == 0)
            drop(in_root("open.pack"));
        fg_pack *pack;
        fg_pack_entry entry;
        const double begin = now_s();
        check(fg_pack_open(in_root("open.pack"), NULL, &pack, &err));
        const double opened = now_s();
        check(fg_pack_entry_at(pack, count / 2, &entry, &err)); /* verifies the index */
        const double first = now_s();
        const void *data;
        size_t size;
        check(fg_pack_record(pack, count / 2, &data, &size, &err));
        printf("open %d records, %s: open %.3f ms, index verified %.3f ms, first record %.3f ms\n",
               count, warm == 0 ? "cold" : "warm", (opened - begin) * 1e3, (first - begin) * 1e3,
               (now_s() - begin) * 1e3);
        fg_pack_close(pack);
    }
    (void)unlink(in_root("open.pack"));
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct job {
    fg_pack *pack; /* NULL: the small files */
    const int64_t *order;
    int count, step;
    size_t size;
    bool is_mapped, prefetch;
    atomic_int next;
    atomic_ulong sum;
} job;

static void read_file(int64_t record, unsigned char *buffer, size_t size)
{
    char path[700];
    small_path((int)record, path);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, buffer, size) != (ssize_t)size)
        perror(path);
    (void)close(fd);
}

static void read_record(job *j, int64_t record, unsigned char *buffer)
{
    const void *data = buffer;
    size_t size = j->size;
    if (j->pack == NULL)
        read_file(record, buffer, j->size);
    else if (j->is_mapped)
        check(fg_pack_record(j->pack, record, &data, &size, &err));
    else
        check(fg_pack_read(j->pack, record, buffer, &size, &err));
    if (data != buffer)
        memcpy(buffer, data, size);
    (void)atomic_fetch_add(&j->sum, buffer[size - 1]);
}

static void *run(void *self)
{
    job *j = self;
    unsigned char *buffer = malloc(j->size);
    for (int i; buffer != NULL && (i = atomic_fetch_add(&j->next, j->step)) < j->count;) {
        const int end = i + j->step < j->count ? i + j->step : j->count;
        if (j->prefetch)
            fg_pack_prefetch(j->pack, j->order + i, (size_t)(end - i));
        for (; i < end; i++)
            read_record(j, j->order[i], buffer);
    }
    free(buffer);
    return NULL;
}

static void measure(const char *name, job *j, int threads)
{
    pthread_t ids[64];
    atomic_store(&j->next, 0);
    const double begin = now_s();
    for (int i = 0; i < threads; i++)
        (void)pthread_create(&ids[i], NULL, run, j);
    for (int i = 0; i < threads; i++)
        (void)pthread_join(ids[i], NULL);
    const double s = now_s() - begin;
    printf("%-44s %d threads: %8.4f s %10.0f records/s %8.2f GB/s\n", name, threads, s,
           j->count / s, (double)j->count * (double)j->size / s / 1e9);
}

static void make_order(int64_t *order, int count, bool is_random)
{
    uint64_t state = 7;
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int i = count - 1; is_random && i > 0; i--) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        const int k = (int)((state >> 33) % (uint64_t)(i + 1));
        const int64_t kept = order[i];
        order[i] = order[k];
        order[k] = kept;
    }
}

static void measure_raw(void)
{
    static int64_t order[RAW_COUNT];
    static const char *const names[2][2] = {
        {"raw 192 KiB, in order, pread", "raw 192 KiB, in order, mapped"},
        {"raw 192 KiB, random, pread", "raw 192 KiB, random, mapped"}};
    write_pack("raw.pack", RAW_COUNT, RAW_BYTES, FG_PACK_RAW_RGB);
    for (int k = 0; k < 8; k++) {
        fg_pack *pack;
        const bool is_random = k % 4 >= 2;
        make_order(order, RAW_COUNT, is_random);
        check(fg_pack_open(in_root("raw.pack"), NULL, &pack, &err));
        (void)fg_pack_populate(pack, UINT64_MAX);
        job j = {.pack = pack,
                 .order = order,
                 .count = RAW_COUNT,
                 .step = 8,
                 .size = RAW_BYTES,
                 .is_mapped = k % 2 == 1};
        char name[64];
        for (int again = 0; again < 2; again++) {
            (void)snprintf(name, sizeof name, "%s%s", names[is_random][k % 2],
                           again == 0 ? " (verified)" : "");
            measure(name, &j, k < 4 ? 1 : 2);
        }
        fg_pack_close(pack);
    }
    (void)unlink(in_root("raw.pack"));
}

/* ---- small records --------------------------------------------------------------------------- */

static void write_files(void)
{
    static unsigned char data[SMALL_BYTES];
    char path[700];
    (void)mkdir(in_root("files"), 0755);
    for (int i = 0; i < SMALL_COUNT; i++) {
        (void)snprintf(path, sizeof path, "%s/files/%03d", root, i / PER_FOLDER);
        if (i % PER_FOLDER == 0)
            (void)mkdir(path, 0755);
        small_path(i, path);
        fill(data, sizeof data, i);
        const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (fd < 0 || write(fd, data, sizeof data) != (ssize_t)sizeof data)
            perror(path);
        (void)close(fd);
    }
    sync();
}

static void remove_files(void)
{
    char path[700];
    for (int i = SMALL_COUNT - 1; i >= 0; i--) {
        small_path(i, path);
        (void)unlink(path);
        (void)snprintf(path, sizeof path, "%s/files/%03d", root, i / PER_FOLDER);
        if (i % PER_FOLDER == 0)
            (void)rmdir(path);
    }
    (void)rmdir(in_root("files"));
}

static void drop_files(void)
{
    char path[700];
    for (int i = 0; i < SMALL_COUNT; i++) {
        small_path(i, path);
        drop(path);
    }
}

static void measure_small(int threads)
{
    static int64_t order[SMALL_COUNT];
    static const char *const names[3] = {"small, cold: files", "small, cold: pack in order",
                                         "small, cold: pack at random"};
    for (int k = 0; k < 3; k++) {
        fg_pack *pack = NULL;
        make_order(order, SMALL_COUNT, k == 2);
        if (k == 0)
            drop_files();
        drop(in_root("small.pack"));
        const double begin = now_s();
        if (k > 0)
            check(fg_pack_open(in_root("small.pack"), NULL, &pack, &err));
        job j = {.pack = pack,
                 .order = order,
                 .count = SMALL_COUNT,
                 .step = k == 1 ? 2000 : 64,
                 .size = SMALL_BYTES,
                 .is_mapped = k == 2,
                 .prefetch = k == 1};
        measure(names[k], &j, threads);
        if (k > 0)
            printf("  with opening: %.4f s\n", now_s() - begin);
        fg_pack_close(pack);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: pack_bench FOLDER [RECORDS]\n");
        return 2;
    }
    (void)snprintf(root, sizeof root, "%s/pack_bench.%ld", argv[1], (long)getpid());
    if (mkdir(root, 0755) != 0) {
        perror(root);
        return 1;
    }
    measure_open(argc > 2 ? (int)strtol(argv[2], NULL, 10) : 560000);
    measure_raw();
    write_files();
    write_pack("small.pack", SMALL_COUNT, SMALL_BYTES, FG_PACK_FILE);
    for (int threads = 1; threads <= 2; threads++)
        measure_small(threads);
    (void)unlink(in_root("small.pack"));
    remove_files();
    (void)rmdir(root);
    return 0;
}
