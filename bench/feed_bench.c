/* feed_bench.c - a data loader that feeds a simulated device, whose steps take a fixed time: how
 * much of the time the device is idle, the samples per second, what the loader's threads do, and
 * their memory. As in the Trainer, three steps are dispatched asynchronously, and the memory of a
 * batch is released when its step has ended. Usage: feed_bench [-b BATCH, 128] [-t MILLISECONDS per
 * step, 5] [-s SECONDS, 5] [-w WORKERS, 2] NAME=SOURCE... SOURCE is a pack (NAME.pack) or what
 * fg_catalog_open reads, such as a folder of images. Samples are random resized crops to 224x224,
 * or windows of this size if NAME ends with "window". Prints a row of a Markdown table for each;
 * without sources, the head of the table.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <fulgurite/catalog.h>
#include <fulgurite/images.h>
#include <fulgurite/pack_dataset.h>

enum { SIDE = 224, AHEAD = 3, SLOTS = AHEAD + 3 };

static int64_t batch_size = 128;
static double step_s = 5e-3, measured_s = 5;
static int workers = 2;

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void sleep_until(double time_s)
{
    const double left = time_s - now_s();
    if (left > 0)
        (void)nanosleep(&(struct timespec){.tv_sec = (time_t)left,
                                           .tv_nsec = (long)((left - (double)(long)left) * 1e9)},
                        NULL);
}

/* Memory of this process that is not part of a file, in bytes. */
static double own_memory(void)
{
    char line[256];
    long long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "RssAnon:", 8) == 0)
            kib = strtoll(line + 8, NULL, 10);
    if (file != NULL)
        (void)fclose(file);
    return (double)kib * 1024;
}

static fg_status open_source(const char *name, const char *path, fg_dataset **out, fg_error *err)
{
    const size_t length = strlen(path), name_length = strlen(name);
    const bool is_window = name_length > 6 && strcmp(name + name_length - 6, "window") == 0;
    const fg_images_options images = {.height = SIDE,
                                      .width = SIDE,
                                      .crop =
                                          is_window ? FG_IMAGE_CROP_WINDOW : FG_IMAGE_CROP_RANDOM};
    if (length > 5 && strcmp(path + length - 5, ".pack") == 0) {
        fg_pack *pack = NULL;
        fg_status status = fg_pack_open(path, NULL, &pack, err);
        if (status == FG_OK)
            status = fg_pack_dataset_create(pack, &(fg_pack_dataset_options){.images = images}, out,
                                            err);
        fg_pack_close(pack);
        return status;
    }
    fg_catalog *catalog = NULL;
    fg_status status = fg_catalog_open(path, NULL, &catalog, err);
    if (status == FG_OK)
        status = fg_images_create(catalog, &images, out, err);
    fg_catalog_close(catalog);
    return status;
}

/* The device: the ends of its last steps, and how long it was idle. */
typedef struct device {
    double end_s[AHEAD], idle_s, begin_s;
    const fg_host_batch *held[AHEAD];
    int64_t steps, samples;
} device;

/* Launches a step on the batch; first waits for the end of the step AHEAD launches ago. */
static void launch(device *d, fg_loader *loader, const fg_host_batch *batch)
{
    const int64_t place = d->steps % AHEAD;
    const double before_s = d->steps > 0 ? d->end_s[(d->steps + AHEAD - 1) % AHEAD] : now_s();
    const double ready_s = now_s();
    sleep_until(d->end_s[place]);
    fg_loader_recycle(loader, d->held[place]);
    const double start_s = ready_s > before_s ? ready_s : before_s;
    d->idle_s += start_s - before_s;
    d->end_s[place] = start_s + step_s;
    d->held[place] = batch;
    d->steps++;
    d->samples += batch->valid;
}

/* Runs for `seconds`. */
static fg_status run(device *d, fg_loader *loader, double seconds, fg_error *err)
{
    const fg_host_batch *batch;
    d->begin_s = d->steps > 0 ? d->end_s[(d->steps + AHEAD - 1) % AHEAD] : now_s();
    d->idle_s = 0;
    d->samples = 0;
    const int64_t first = d->steps;
    do {
        fg_status status = fg_loader_next(loader, &batch, err);
        if (status == FG_OK && batch == NULL) /* the next epoch */
            status = fg_loader_next(loader, &batch, err);
        if (status == FG_OK && batch == NULL) {
            status = FG_EINVAL;
            (void)snprintf(err->message, sizeof err->message,
                           "there are fewer images than %lld, a batch", (long long)batch_size);
        }
        if (status != FG_OK)
            return err->status = status;
        launch(d, loader, batch);
    } while (now_s() - d->begin_s < seconds || d->steps - first < 2 * SLOTS);
    return FG_OK;
}

static double part(double seconds, const fg_loader_stages *t)
{
    const double sum = t->read_s + t->entropy_s + t->decode_s + t->resize_s + t->copy_s;
    return sum > 0 ? 100 * seconds / sum : 0;
}

static void print_row(const char *name, const device *d, fg_loader *loader, double before_bytes)
{
    double fraction;
    const fg_loader_stats stats = fg_loader_stats_of(loader);
    const fg_loader_stages *t = &stats.stages;
    const double wall_s = d->end_s[(d->steps + AHEAD - 1) % AHEAD] - d->begin_s;
    const double idle = d->idle_s / wall_s;
    const double beyond = own_memory() - before_bytes - (double)stats.memory_bytes;
    const double delivered = (double)stats.rows * stats.workers / stats.work_s;
    (void)printf("| %s | %.0f | %.1f %% | %.2fx | %s | %.0f / %.0f / %.0f / %.0f / %.0f | %.0f |\n",
                 name, (double)d->samples / wall_s, 100 * idle,
                 delivered * step_s / (double)batch_size,
                 idle > 0.05 ? fg_loader_slowest_stage(t, &fraction) : "device", part(t->read_s, t),
                 part(t->entropy_s, t), part(t->decode_s, t), part(t->resize_s, t),
                 part(t->copy_s, t), beyond > 0 ? beyond / 1e6 : 0);
    (void)fflush(stdout);
}

static fg_status measure(const char *name, const char *path, fg_error *err)
{
    fg_dataset *dataset = NULL;
    fg_loader *loader = NULL;
    device d = {0};
    fg_status status = open_source(name, path, &dataset, err);
    if (status != FG_OK)
        return status;
    const double before_bytes = own_memory();
    const fg_loader_options options = {.batch_size = batch_size,
                                       .shuffle = true,
                                       .drop_last = true,
                                       .run_ahead = true,
                                       .workers = workers,
                                       .prefetch = SLOTS};
    status = fg_loader_create(dataset, &options, &loader, err);
    if (status == FG_OK)
        status = run(&d, loader, measured_s / 4, err); /* the first touch of memory */
    if (status == FG_OK)
        status = run(&d, loader, measured_s, err);
    if (status == FG_OK)
        print_row(name, &d, loader, before_bytes);
    fg_loader_destroy(loader);
    fg_dataset_destroy(dataset);
    return status;
}

/* In another process, so that memory is measured from the start. */
static int measure_apart(char *argument)
{
    char *path = strchr(argument, '=');
    fg_error err = {0};
    int result = 1;
    if (path == NULL) {
        (void)fprintf(stderr, "feed_bench: expected NAME=SOURCE, got '%s'\n", argument);
        return 2;
    }
    *path++ = '\0';
    const pid_t child = fork();
    if (child == 0)
        _exit(measure(argument, path, &err) == FG_OK ? 0 : fg_error_print(&err, "feed_bench"));
    return child > 0 && waitpid(child, &result, 0) == child && result == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    int result = 0, option;
    while ((option = getopt(argc, argv, "b:t:s:w:")) != -1) {
        if (option == '?')
            return 2;
        const double value = strtod(optarg, NULL);
        batch_size = option == 'b' ? (int64_t)value : batch_size;
        step_s = option == 't' ? value * 1e-3 : step_s;
        measured_s = option == 's' ? value : measured_s;
        workers = option == 'w' ? (int)value : workers;
    }
    if (optind == argc)
        (void)printf("| source | samples/s | device idle | loader's rate / required | bound by | "
                     "read / entropy / decode / resize / copy, %% | memory beyond the ring, MB |\n"
                     "|---|---|---|---|---|---|---|\n");
    for (int i = optind; i < argc; i++)
        result |= measure_apart(argv[i]);
    return result;
}
