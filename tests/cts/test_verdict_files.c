/* test_verdict_files.c - the report of a fit on many small files: how many were opened, how long
 * that took, the verdict, and the processor time of each loader thread. This file overrides openat.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fcntl.h>
#include <fulgurite/chip.h>
#include <fulgurite/image.h>
#include <fulgurite/recipe.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "../fakepjrt/fake_control.h"
#include "input/json_file.h"

enum { IMAGES = 120, OPEN_US = 300, MOST_AHEAD = 4 * 64 };

/* Opening an image takes longer than reading it, as on a network file system. */
int openat(int folder, const char *name, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const int mode = (flags & O_CREAT) != 0 ? va_arg(args, int) : 0;
    va_end(args);
    if (strstr(name, ".png") != NULL) {
        const struct timespec time = {.tv_nsec = OPEN_US * 1000L};
        (void)nanosleep(&time, NULL);
    }
    return (int)syscall(SYS_openat, folder, name, flags, mode);
}

static const char yaml[] =
    "data: {format: images, train: photos, size: 8, val_fraction: 0}\n"
    "model: {name: mlp, hidden: [4]}\n"
    "trainer: {accelerator: cpu, batch_size: 4, max_epochs: 2, workers: 2, run_dir: run,\n"
    "          ckpt_every_epochs: 0}\n";

static void make_photos(void)
{
    fg_error err = {0};
    uint8_t pixels[8 * 8 * 3];
    fg_image_bytes png = {0};
    fgt_ok(fgi_folder_make("photos/a", &err));
    fgt_ok(fgi_folder_make("photos/b", &err));
    for (int i = 0; i < IMAGES; i++) {
        char path[64];
        memset(pixels, i, sizeof pixels);
        const fg_image image = {.pixels = pixels, .width = 8, .height = 8, .channels = 3};
        fgt_ok(fg_image_encode_png(&image, NULL, &png, &err));
        (void)snprintf(path, sizeof path, "photos/%c/%03d.png", i % 2 == 0 ? 'a' : 'b', i);
        fgt_write(path, (const char *)png.data, png.size);
    }
    fg_image_bytes_fini(&png);
}

static void run_once(const fg_recipe_options *o)
{
    const fg_recipe_command fit = {.fit.overwrite = true};
    fg_recipe *recipe = NULL;
    fg_error err = {0};
    fgt_ok(fg_recipe_open(o, &fit, &recipe, &err));
    fgt_ok(fg_recipe_run(recipe, &err));
    fg_recipe_close(recipe);
}

static json_t *report_of_a_fit(const fg_registry *registry, const char *model)
{
    fg_error err = {0};
    const fg_recipe_options options = {.config = "run.yaml",
                                       .registry = registry,
                                       .overrides = &model,
                                       .override_count = model != NULL};
    char *text = NULL;
    size_t size = 0;
    json_t *report = NULL;
    assert_int_equal(setenv("FULGURITE_PLUGIN", FAKE_PATH, 1), 0);
    run_once(&options);
    fgt_ok(fgi_file_read("run/report.json", 1 << 24, &text, &size, &err));
    fgt_ok(fgi_json_parse("report.json", 0, text, size, &report, &err));
    fgi_free(text);
    return report;
}

static const json_t *find(const json_t *report, const char *id)
{
    size_t i;
    const json_t *one;
    json_array_foreach(json_object_get(report, "verdicts"), i,
                       one) if (strcmp(json_string_value(json_object_get(one, "id")), id) ==
                                0) return one;
    return NULL;
}

static void opened_files_are_counted(void **state)
{
    (void)state;
    assert_int_equal(chdir(fgt_temp_folder()), 0);
    fgt_write("run.yaml", yaml, sizeof yaml - 1);
    make_photos();
    json_t *report = report_of_a_fit(NULL, NULL);
    const json_t *loader = json_object_get(report, "loader"), *verdict = find(report, "many_files");
    const json_t *stages = json_object_get(loader, "stages");
    const int64_t opens = json_integer_value(json_object_get(loader, "opens"));
    const double open_s = json_number_value(json_object_get(loader, "open_seconds"));
    assert_in_range(opens, 2 * IMAGES, 2 * IMAGES + MOST_AHEAD); /* of the next epochs, too */
    assert_true(open_s >= (double)opens * OPEN_US * 1e-6);
    assert_true(open_s <= json_number_value(json_object_get(stages, "read_s")));
    assert_non_null(verdict);
    const char *detail = json_string_value(json_object_get(verdict, "detail"));
    assert_non_null(strstr(detail, " files were opened, which took "));
    assert_non_null(strstr(detail, " on 2 threads: "));
    assert_non_null(
        strstr(json_string_value(json_object_get(verdict, "action")), "fulgurite pack"));
    const double gain = json_number_value(json_object_get(verdict, "gain"));
    assert_true(gain > 0 && gain < 1);
    json_decref(report);
}

static void threads_have_processor_times(void **state)
{
    (void)state;
    json_t *report = report_of_a_fit(NULL, NULL);
    const json_t *host = json_object_get(report, "host");
    const json_t *workers = json_object_get(host, "workers");
    double sum = 0;
    assert_int_equal(json_array_size(workers), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *one = json_array_get(workers, i);
        char name[32];
        (void)snprintf(name, sizeof name, "loader %zu", i);
        assert_string_equal(json_string_value(json_object_get(one, "name")), name);
        assert_true(json_number_value(json_object_get(one, "cpu_s")) > 0);
        sum += json_number_value(json_object_get(one, "cpu_s"));
    }
    assert_true(sum < json_number_value(json_object_get(host, "cpu_s")));
    json_decref(report);
}

static double use(const json_t *report, const char *key)
{
    return json_number_value(json_object_get(json_object_get(report, "utilization"), key));
}

/* 192 inputs, 4 hidden units, 2 classes, batches of 4: the gradient has two matmuls for each of the
 * forward pass, without that for the inputs. */
static void rates_and_the_roofline(void **state)
{
    (void)state;
    fake_control fake = {0};
    const double first = 2. * 4 * 192 * 4, second = 2. * 4 * 4 * 2, flops = 2 * first + 3 * second;
    assert_true(fake_open(&fake));
    fake.set("kind", 2);
    json_t *report = report_of_a_fit(NULL, NULL);
    const char *kind =
        json_string_value(json_object_get(json_object_get(report, "device"), "kind"));
    const fg_chip *chip = fg_chip_find(kind);
    const double steps_per_s = json_number_value(json_object_get(report, "samples_per_s")) / 4;
    const double bytes = use(report, "bytes_per_second") / steps_per_s;
    assert_non_null(chip);
    assert_true(bytes > 0);
    fgt_close("FLOP/s", use(report, "flops_per_second"), flops * steps_per_s, 0, 1e-6);
    fgt_close("peak", use(report, "peak_flops"), fg_chip_matmul_rate(chip, FG_F32), 0, 1e-6);
    fgt_close("bandwidth", use(report, "peak_bytes"), chip->memory_bandwidth, 0, 1e-6);
    fgt_close("intensity", use(report, "intensity"), flops / bytes, 0, 1e-6);
    fgt_close("roofline", use(report, "roofline"),
              flops * steps_per_s /
                  fmin(flops / bytes * chip->memory_bandwidth, fg_chip_matmul_rate(chip, FG_F32)),
              0, 1e-6);
    assert_true(use(report, "sixteen_bit") == 0 && use(report, "emulated") == 0);
    json_decref(report);
    report = report_of_a_fit(NULL, "trainer.precision=bf16-mixed");
    fgt_close("16 bits", use(report, "sixteen_bit"), 1, 0, 1e-9);
    json_decref(report);
    fake.reset();
}

typedef struct wide_model {
    fg_linear *fc;
} wide_model;

static void build_wide(void *self, fg_module *root, const fg_model_shape *shape)
{
    ((wide_model *)self)->fc = fg_linear_create(
        root, "fc",
        &(fg_linear_options){.in = fg_type_count(&shape->input), .out = shape->outputs});
}

/* A product in f64, as if written by mistake. */
static fg_tensor apply_wide(const void *self, fg_tensor x)
{
    const fg_tensor flat = fg_flatten(x, 1), wide = fg_cast(flat, FG_F64);
    const fg_tensor square = fg_matmul(fg_transpose(wide), wide);
    return fg_linear_apply(((const wide_model *)self)->fc,
                           fg_add(flat, fg_cast(fg_matmul(wide, square), FG_F32)));
}

/* On a device that says that it is a TPU. */
static void operations_that_the_device_does_not_support(void **state)
{
    (void)state;
    static const fg_model_entry wide = {
        .entry = {.name = "wide", .help = "f64", .size = sizeof(wide_model)},
        .build = build_wide,
        .apply = apply_wide};
    fg_error err = {0};
    fake_control fake = {0};
    fg_registry *registry = NULL;
    assert_true(fake_open(&fake));
    fgt_ok(fg_registry_create(&registry, &err));
    fgt_ok(fg_registry_add(registry, FG_REGISTRY_MODEL, &wide.entry, &err));
    for (int is_tpu = 0; is_tpu <= 1; is_tpu++) {
        if (is_tpu)
            fake.set("kind", 2);
        json_t *report = report_of_a_fit(registry, "model.name=wide");
        const json_t *verdict = find(report, "ops");
        assert_int_equal(verdict != NULL, is_tpu);
        if (is_tpu)
            assert_non_null(strstr(json_string_value(json_object_get(verdict, "detail")),
                                   " are in f64 or in integers of more than 8 bits, which the "
                                   "matrix units of TPU v"));
        json_decref(report);
    }
    fake.reset();
    fg_registry_destroy(registry);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(opened_files_are_counted),
    cmocka_unit_test(threads_have_processor_times),
    cmocka_unit_test(rates_and_the_roofline),
    cmocka_unit_test(operations_that_the_device_does_not_support),
};
FGT_MAIN(tests)
