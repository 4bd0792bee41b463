/* test_pack_for.c - options of a pack from the configuration that will train on it. Shell scripts
 * take the place of the program that plans.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/recipe.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plan_process.h"
#include "recipe/plan/run_plan.h"

#define YAML                                                                                       \
    "task: classification\nmodel: {name: resnet18}\noptimizer: {name: sgd, lr: 0.1}\n"             \
    "trainer: {accelerator: cpu}\n"

/* Of one machine, without a search for the largest batch or a comparison of several. */
#define PLAN(members)                                                                              \
    "#!/bin/sh\ncase \"$*\" in *--sweep*) exit 2;; *--no-search*) ;; *) exit 2;; esac\n"           \
    "echo '{\"topologies\": [{" members "}]}'\n"

#define GOOD_PLAN                                                                                  \
    PLAN("\"fits\": true, \"hosts\": 2, \"global_batch_size\": 256, \"estimated_step_s\": 0.025, " \
         "\"input_host_samples_per_s\": 5120, \"input_measured_samples_per_s\": 700")

static int go_there(void **state)
{
    static const char images[] = YAML "data: {format: images, train: p, size: 160}\n";
    static const char whole[] =
        YAML "data: {format: pack, train: p.pack, size: 224, center_fraction: 1}\n";
    static const char window[] = YAML "data: {format: images, train: p, size: 32, crop: window}\n";
    static const char table[] = YAML "data: {format: csv, path: a.csv}\n";
    (void)state;
    assert_int_equal(chdir(fgt_temp_folder()), 0);
    fgt_write("images.yaml", images, sizeof(images) - 1);
    fgt_write("whole.yaml", whole, sizeof(whole) - 1);
    fgt_write("window.yaml", window, sizeof(window) - 1);
    fgt_write("table.yaml", table, sizeof(table) - 1);
    return 0;
}

static void hear(void *self, fg_log_level level, const char *line)
{
    const size_t used = strlen(self);
    (void)level;
    (void)snprintf((char *)self + used, 1024 - used, "%s\n", line);
}

/* The program's planner, with ./program in its place. */
static fg_status plan(void *self, const char *topology, json_t **out, fg_error *err)
{
    const plan_process process = {
        .program = "./program", .config = self, .options.no_search = true};
    return plan_process_one(&process, topology, out, err);
}

/* The options for a configuration, and what is said; the program behaves as `script` says. */
static fg_status pack_for(const char *config, const char *topology, const char *script,
                          fg_pack_build_options *options, char out[1024], fg_error *err)
{
    const fg_recipe_options recipe = {.config = config, .message = hear, .message_self = out};
    const fgi_pack_planner planner = {
        .topology = topology, .plan = plan, .self = (void *)(uintptr_t)config};
    *out = '\0';
    fgt_write("program", script, strlen(script));
    assert_int_equal(chmod("program", 0700), 0);
    return fgi_pack_for(&recipe, &planner, options, err);
}

static void size_and_rate_are_those_of_training(void **state)
{
    (void)state;
    fg_error err = {0};
    char text[1024];
    fg_pack_build_options o = {0};
    fgt_ok(pack_for("images.yaml", "kaggle", GOOD_PLAN, &o, text, &err));
    assert_int_equal(o.presize.rule, FG_IMAGE_PRESIZE_SHORT);
    assert_int_equal(o.presize.size, 183); /* 160 / 0.875, rounded up */
    assert_true(o.rate == 5120);
    assert_string_equal(text, "'images.yaml' trains on 160x160 pixels: images are stored with a "
                              "shorter side of 183 pixels\n"
                              "compiling the training step of 'images.yaml' for kaggle\n"
                              "on kaggle, a step with 256 images takes 25 ms by the compiler's "
                              "estimate: each host needs 5120 images/s\n"
                              "without the pack, this host delivers 700 images/s\n");
}

/* A plan of one host, without what this host delivers or whether it fits. */
static void a_plan_of_one_host(void **state)
{
    (void)state;
    fg_error err = {0};
    char text[1024];
    fg_pack_build_options o = {.presize = {.rule = FG_IMAGE_PRESIZE_MAX, .size = 99}};
    fgt_ok(pack_for("images.yaml", "h100",
                    PLAN("\"hosts\": 1, \"global_batch_size\": 1, \"estimated_step_s\": 0.0015, "
                         "\"input_host_samples_per_s\": 0.5, \"input_measured_samples_per_s\": 0"),
                    &o, text, &err));
    assert_true(o.rate == 0.5);
    assert_string_equal(text, "compiling the training step of 'images.yaml' for h100\n"
                              "on h100, a step with 1 image takes 1.5 ms by the compiler's "
                              "estimate: the model needs 0 images/s\n");
}

/* What is given is kept, and no plan is made for it. */
static void given_options_are_kept(void **state)
{
    (void)state;
    static const char fails[] = "#!/bin/sh\nexit 2\n";
    fg_error err = {0};
    char text[1024];
    fg_pack_build_options o = {.rate = 10, .presize = {.rule = FG_IMAGE_PRESIZE_MAX, .size = 99}};
    fgt_ok(pack_for("images.yaml", NULL, fails, &o, text, &err));
    assert_true(o.rate == 10 && o.presize.rule == FG_IMAGE_PRESIZE_MAX && o.presize.size == 99);
    assert_string_equal(text, "");
    o = (fg_pack_build_options){.codec = FG_PACK_CHOICE_JPEG};
    fgt_ok(pack_for("whole.yaml", NULL, fails, &o, text, &err));
    assert_int_equal(o.presize.size, 224);
    assert_true(o.rate == 0);
    o = (fg_pack_build_options){.codec = FG_PACK_CHOICE_JPEG};
    fgt_ok(pack_for("window.yaml", NULL, fails, &o, text, &err));
    assert_int_equal(o.presize.rule, FG_IMAGE_PRESIZE_NONE);
    assert_non_null(strstr(text, "windows of images at their own size"));
}

static fg_status load_nothing(const void *own, const fg_format_request *request,
                              fg_format_data *out, fg_error *err)
{
    (void)own, (void)request, (void)out, (void)err;
    return FG_OK;
}

/* Any format with the options of crops takes part. */
static void a_custom_format_of_images_has_a_size_too(void **state)
{
    static const char yaml[] = YAML "data: {format: tiles, size: 224, center_fraction: 1}\n";
    fg_registry *registry = NULL;
    fg_error err = {0};
    char text[1024] = "";
    (void)state;
    fgt_write("tiles.yaml", yaml, sizeof(yaml) - 1);
    fgt_ok(fg_registry_create(&registry, &err));
    fg_format_entry tiles = {.entry =
                                 *fg_registry_find(registry, FG_REGISTRY_FORMAT, "images", &err),
                             .load = load_nothing};
    tiles.entry.name = "tiles";
    fgt_ok(fg_registry_add(registry, FG_REGISTRY_FORMAT, &tiles.entry, &err));
    fg_pack_build_options o = {.codec = FG_PACK_CHOICE_JPEG};
    const fg_recipe_options recipe = {
        .config = "tiles.yaml", .registry = registry, .message = hear, .message_self = text};
    fgt_ok(fgi_pack_for(&recipe, &(fgi_pack_planner){.plan = plan}, &o, &err));
    assert_int_equal(o.presize.size, 224);
    fg_registry_destroy(registry);
}

#define WITHOUT "\n--rate sets the images per second that the model needs without a plan"

static const struct {
    const char *config, *topology, *script;
    fg_status status;
    const char *message;
} unplanned[] = {
    {"images.yaml", NULL, GOOD_PLAN, FG_EINVAL,
     "'images.yaml' (trainer.accelerator cpu): the speed of the model can be estimated for "
     "TPUs and GPUs only: name one, such as --topology=kaggle or --topology=h100, or give the "
     "images per second that the model needs, such as --rate=500"},
    {"images.yaml", "v5e-8,v3-8", GOOD_PLAN, FG_EINVAL,
     "topology 'v5e-8,v3-8': expected one machine"},
    {"images.yaml", "toaster", GOOD_PLAN, FG_EINVAL,
     "topology 'toaster': unknown name\nexpected v2, v3, v4, v5e, v5p, v6e or 7x with a shape "
     "(v5e:2x4), a Google Cloud accelerator type (v3-8, v5litepod-8), kaggle, colab, or a100, "
     "h100, h200 or b200, optionally with a number (h100:8)"},
    {"images.yaml", "v5e-8", "#!/bin/sh\nexit 2\n", FG_EINVAL,
     "topology 'v5e-8': the planning process rejected the configuration or an option: see its "
     "message on standard error"},
    {"images.yaml", "v5e-8", PLAN("\"error\": \"p does not exist\""), FG_EUNSUPPORTED,
     "planning 'images.yaml' for v5e-8: p does not exist" WITHOUT},
    {"images.yaml", "v5e-8", PLAN("\"fits\": false, \"reason\": \"requires 58 GB\""),
     FG_EUNSUPPORTED, "planning 'images.yaml' for v5e-8: requires 58 GB" WITHOUT},
    {"images.yaml", "h100", PLAN("\"fits\": true, \"input_host_samples_per_s\": null"),
     FG_EUNSUPPORTED,
     "planning 'images.yaml' for h100: the compiler does not estimate the time of a step" WITHOUT},
    {"table.yaml", "v5e-8", GOOD_PLAN, FG_EINVAL,
     "'table.yaml' has data.format csv: expected a configuration that trains on images or on a "
     "pack of images"},
    {"none.yaml", "v5e-8", GOOD_PLAN, FG_EINVAL,
     "cannot open 'none.yaml': No such file or directory"},
    {NULL, "v5e-8", GOOD_PLAN, FG_EINVAL, "name the configuration that will train on the pack"},
};

/* The device decodes whole images of codec dct, so it is only chosen for a configuration without
 * the options of crops. */
static void codec_dct_is_only_for_images_that_the_host_does_not_crop(void **state)
{
    static const struct {
        const char *data;
        bool host_crops;
    } rows[] = {
        {"format: images, train: p, size: 224", true},
        {"format: pack, train: p.pack", false},
        {"format: pack, train: p.pack, size: 224, flip: 0.5", false}, /* the defaults */
        {"format: pack, train: p.pack, size: 32", true},
        {"format: pack, train: p.pack, crop: center", true},
        {"format: pack, train: p.pack, flip: 0", true},
        {"format: pack, train: p.pack, center_fraction: 1", true},
        {"format: pack, train: p.pack, crop_scale: [0.5, 1]", true},
        {"format: pack, train: p.pack, crop_ratio: [1, 1]", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fg_error err = {0};
        char text[1024], yaml[512];
        fg_pack_build_options o = {.rate = 1};
        (void)snprintf(yaml, sizeof(yaml), YAML "data: {%s}\n", rows[i].data);
        fgt_write("row.yaml", yaml, strlen(yaml));
        fgt_ok(pack_for("row.yaml", NULL, GOOD_PLAN, &o, text, &err));
        if (o.host_crops != rows[i].host_crops || strstr(text, "codec dct") != NULL)
            fail_msg("%s: %d %s", rows[i].data, (int)o.host_crops, text);
        o = (fg_pack_build_options){.codec = FG_PACK_CHOICE_DCT};
        fgt_ok(pack_for("row.yaml", NULL, GOOD_PLAN, &o, text, &err));
        assert_true((strstr(text, "those of codec dct are decoded whole") != NULL) ==
                    rows[i].host_crops);
    }
}

static void what_cannot_be_planned_is_an_error(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(unplanned) / sizeof(unplanned[0]); i++) {
        fg_error err = {0};
        char text[1024];
        fg_pack_build_options o = {0};
        const fg_status status = pack_for(unplanned[i].config, unplanned[i].topology,
                                          unplanned[i].script, &o, text, &err);
        assert_string_equal(err.message, unplanned[i].message);
        assert_int_equal(status, unplanned[i].status);
    }
}

/* The machine of this host, unless the configuration is for another kind of device. */
static void the_machine_of_this_host(void **state)
{
    static const struct {
        const char *accelerator;
        bool is_planned;
    } rows[] = {{"auto", true}, {"tpu", true}, {"cuda", false}, {"cpu", false}};
    (void)state;
    assert_int_equal(setenv("TPU_ACCELERATOR_TYPE", "v5litepod-8", 1), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        static const char yaml[] = "task: classification\ntrainer: {accelerator: %s}\n"
                                   "data: {format: images, train: p, size: 160}\n";
        fg_error err = {0};
        char text[1024], config[256];
        fg_pack_build_options o = {0};
        (void)snprintf(config, sizeof config, yaml, rows[i].accelerator);
        fgt_write("host.yaml", config, strlen(config));
        const fg_status status = pack_for("host.yaml", NULL, GOOD_PLAN, &o, text, &err);
        assert_int_equal(status, rows[i].is_planned ? FG_OK : FG_EINVAL);
        assert_true(o.rate == (rows[i].is_planned ? 5120 : 0));
    }
    assert_int_equal(unsetenv("TPU_ACCELERATOR_TYPE"), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_machine_of_this_host),
    cmocka_unit_test(size_and_rate_are_those_of_training),
    cmocka_unit_test(a_plan_of_one_host),
    cmocka_unit_test(given_options_are_kept),
    cmocka_unit_test(a_custom_format_of_images_has_a_size_too),
    cmocka_unit_test(codec_dct_is_only_for_images_that_the_host_does_not_crop),
    cmocka_unit_test(what_cannot_be_planned_is_an_error),
};
int main(void) { return cmocka_run_group_tests(tests, go_there, NULL); }
