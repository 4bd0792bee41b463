/* loader_bench.c - measures the throughput of the data loader, on datasets in memory: batches per
 * second, the time that the consumer waits per batch, and the time that the workers need for it.
 * Usage: loader_bench [SECONDS per case, 1]
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <fulgurite/data.h>

enum { ROWS = 60000, BATCH = 128 };

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Time of this thread alone: a consumer that sleeps costs nothing. */
static double thread_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static fg_status open_rows(fg_dtype dtype, int64_t width, fg_dataset **out, void **out_memory,
                           fg_error *err)
{
    const fg_field fields[2] = {{"x", {dtype, 1, {width}}}, {"y", {.dtype = FG_S32}}};
    const fg_dataset_spec spec = {.count = ROWS, .fields = fields, .field_count = 2};
    const size_t x_bytes = ROWS * fg_type_bytes(&fields[0].type);
    unsigned char *memory = malloc(x_bytes + ROWS * sizeof(int32_t));
    if (memory == NULL)
        return FG_ENOMEM;
    for (size_t i = 0; i < x_bytes + ROWS * sizeof(int32_t); i++)
        memory[i] = (unsigned char)(i * 7);
    *out_memory = memory;
    return fg_dataset_from_arrays(&spec, (const void *const[]){memory, memory + x_bytes}, FG_BORROW,
                                  out, err);
}

/* Takes batches for `seconds`, with work_us of simulated work on each. */
static fg_status measure(fg_dataset *dataset, const char *name, int workers, double work_us,
                         double seconds, fg_error *err)
{
    fg_loader *loader = NULL;
    const fg_loader_options options = {.batch_size = BATCH,
                                       .shuffle = true,
                                       .run_ahead = true,
                                       .drop_last = true,
                                       .workers = workers == 0 ? FG_NONE : workers};
    fg_status status = fg_loader_create(dataset, &options, &loader, err);
    const fg_host_batch *batch = NULL;
    const double begin = now_s();
    double spent = 0;
    while (status == FG_OK && now_s() - begin < seconds) {
        const double before = thread_s();
        status = fg_loader_next(loader, &batch, err);
        fg_loader_recycle(loader, batch);
        spent += thread_s() - before;
        for (const double until = now_s() + work_us * 1e-6; now_s() < until;)
            ;
    }
    if (status == FG_OK) {
        const double wall = now_s() - begin;
        const fg_loader_stats s = fg_loader_stats_of(loader);
        const double n = (double)s.batches;
        printf("%-14s workers=%d work=%3.0fus  %9.0f batch/s %11.0f rows/s  taking %6.2f us"
               "  waiting %6.2f us  making %6.2f us\n",
               name, workers, work_us, n / wall, n / wall * BATCH, spent / n * 1e6,
               s.wait_s / n * 1e6, s.work_s / n * 1e6);
    }
    fg_loader_destroy(loader);
    return status;
}

int main(int argc, char **argv)
{
    const double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
    static const struct {
        const char *name;
        fg_dtype dtype;
        int64_t width;
    } cases[] = {{"u8[784]", FG_U8, 784}, {"f32[784]", FG_F32, 784}};
    fg_error err = {0};
    fg_status status = FG_OK;
    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]) && status == FG_OK; c++) {
        fg_dataset *dataset = NULL;
        void *memory = NULL;
        status = open_rows(cases[c].dtype, cases[c].width, &dataset, &memory, &err);
        for (int workers = 0; workers <= 2 && status == FG_OK; workers++)
            for (int work_us = 0; work_us <= 300 && status == FG_OK; work_us += 300)
                status = measure(dataset, cases[c].name, workers, work_us, seconds, &err);
        fg_dataset_destroy(dataset);
        free(memory);
    }
    return status == FG_OK ? 0 : fg_error_print(&err, argv[0]);
}
