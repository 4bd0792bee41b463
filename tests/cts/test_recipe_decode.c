/* test_recipe_decode.c - runs configured for packs of DCT coefficients or planes: the step decodes
 * them before it augments them, in training, evaluation and prediction. On the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/recipe.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coefficient_pack.h"
#include "photo_pack.h"
#include "show.h"

enum { H = 19, W = 22, SAMPLES = 12, CROP = 16 };

static const char yaml[] =
    "task: classification\n"
    "model: {name: linear}\n"
    "data: {format: pack, train: dct.pack, val: dct.pack, augment: [center_crop: {height: "
    "16, width: 16}]}\n"
    "optimizer: {name: sgd, lr: 0.01}\n"
    "trainer: {accelerator: cpu, max_epochs: 2, batch_size: 4, run_dir: run, watchdog_s: 0}\n";

/* The JPEG of validation sample `i` as the file files/I.jpg. */
static void write_file(const fgt_jpeg_spec *spec, int i)
{
    char name[32];
    size_t size;
    uint8_t *jpeg = fgt_jpeg_make(spec, &size);
    (void)snprintf(name, sizeof name, "files/%d.jpg", i);
    fgt_write(name, jpeg, size);
    free(jpeg);
}

static int go_there(void **state)
{
    static fgt_jpeg_spec specs[SAMPLES];
    (void)state;
    assert_int_equal(chdir(fgt_temp_folder()), 0);
    assert_int_equal(mkdir("files", 0755), 0);
    for (int i = 0; i < SAMPLES; i++)
        specs[i] = (fgt_jpeg_spec){.width = W, .height = H, .quality = 40 + 5 * i};
    for (int i = 2; i < SAMPLES; i += 3)
        write_file(&specs[i], i / 3);
    coefficient_pack_write("dct.pack", specs, SAMPLES, true);
    specs[5].width = W + 1;
    coefficient_pack_write("sizes.pack", specs, SAMPLES, true);
    fgt_write("dct.yaml", yaml, strlen(yaml));
    return 0;
}

static fg_recipe *run_as(const fg_recipe_options *o, fg_recipe_kind kind)
{
    fg_recipe *recipe = NULL;
    fg_error err = {0};
    fgt_ok(fg_recipe_open(o, &(fg_recipe_command){.kind = kind}, &recipe, &err));
    fgt_ok(fg_recipe_run(recipe, &err));
    return recipe;
}

static fg_recipe *run(const fg_recipe_options *o) { return run_as(o, FG_RECIPE_FIT); }

static void a_run_decodes_its_images(void **state)
{
    fg_recipe *fit = run(&(fg_recipe_options){.config = "dct.yaml"});
    (void)state;
    assert_int_equal(fg_recipe_result_of(fit)->train.epochs, 2);
    fg_recipe_close(fit);
    for (int kind = FG_RECIPE_VALIDATE; kind <= FG_RECIPE_PREDICT; kind++) {
        fg_recipe *recipe = run_as(&(fg_recipe_options){.config = "run"}, (fg_recipe_kind)kind);
        const int64_t rows = fg_recipe_result_of(recipe)->predictions_type.dim[0];
        assert_int_equal(rows, kind == FG_RECIPE_PREDICT ? SAMPLES / 3 : 0);
        fg_recipe_close(recipe);
    }
}

/* Image files get the size that the decoded images had, although no option of the run says it. */
static void it_predicts_on_image_files(void **state)
{
    static const char *const files[] = {"data.format=images", "data.predict=files",
                                        "data.center_fraction=1"};
    fg_recipe_options o = {.config = "run"};
    (void)state;
    fg_recipe *packed = run_as(&o, FG_RECIPE_PREDICT);
    o.overrides = files;
    o.override_count = 3;
    fg_recipe *unpacked = run_as(&o, FG_RECIPE_PREDICT);
    const fg_recipe_result *a = fg_recipe_result_of(packed), *b = fg_recipe_result_of(unpacked);
    assert_true(fg_type_equal(&a->predictions_type, &b->predictions_type));
    double spread = 0;
    for (size_t i = 0; i < (size_t)fg_type_count(&a->predictions_type); i++) {
        fgt_close("probability", (double)a->predictions[i], (double)b->predictions[i], 5e-4, 0);
        spread = fmax(spread, fabs((double)a->predictions[i] - (double)a->predictions[i % 2]));
    }
    assert_true(spread > 5e-3); /* else any order of the samples would do */
    fg_recipe_close(packed);
    fg_recipe_close(unpacked);
}

/* The description of the data in a checkpoint is that of the decoded images. */
static void checkpoints_describe_pixels(void **state)
{
    fgi_run_origin origin;
    fgi_buf about = {0};
    fg_error err = {0};
    (void)state;
    fgt_ok(show_open("run", NULL, &origin, &about, &err));
    assert_non_null(strstr(about.data, "classification of u8[19,22,3]"));
    fgi_buf_fini(&about);
    fgi_run_origin_close(&origin);
}

static void images_of_two_sizes_are_refused(void **state)
{
    static const char *const more[] = {"data.train=sizes.pack", "data.val=sizes.pack"};
    fg_recipe *recipe = NULL;
    fg_error err = {0};
    (void)state;
    fgt_ok(fg_recipe_open(
        &(fg_recipe_options){.config = "dct.yaml", .overrides = more, .override_count = 2}, NULL,
        &recipe, &err));
    assert_int_equal(fg_recipe_run(recipe, &err), FG_EINVAL);
    if (strstr(err.message, "record 5 ('photo 5.jpg') has 23 x 19 pixels") == NULL)
        fail_msg("%s", err.message);
    fg_recipe_close(recipe);
}

static void the_host_cannot_crop_them(void **state)
{
    static const char *const crop[] = {"data.crop=center"}, *const size[] = {"data.size=16"};
    static const char *const same[] = {"data.crop=random", "trainer.run_dir=again"};
    fg_recipe_options o = {.config = "dct.yaml", .override_count = 1};
    (void)state;
    for (int i = 0; i < 2; i++) {
        fg_recipe *recipe = NULL;
        fg_error err = {0};
        o.overrides = i == 0 ? crop : size;
        fgt_ok(fg_recipe_open(&o, NULL, &recipe, &err));
        assert_int_equal(fg_recipe_run(recipe, &err), FG_EINVAL);
        if (strstr(err.message, "the pack has DCT coefficients") == NULL ||
            strstr(err.message, i == 0 ? "data.crop" : "data.size") == NULL)
            fail_msg("%s", err.message);
        fg_recipe_close(recipe);
    }
    o.overrides = same;
    o.override_count = 2;
    fg_recipe_close(run(&o));
}

/* Planes that the device converts, or the host because it might mirror one. */
static double loss_of_planes(const char *crop, const char *flip)
{
    char options[3][64];
    (void)snprintf(options[0], sizeof options[0], "data.crop=%s", crop);
    (void)snprintf(options[1], sizeof options[1], "data.flip=%s", flip);
    (void)snprintf(options[2], sizeof options[2], "trainer.run_dir=%s", crop);
    const char *const more[] = {
        options[0],       options[1],           "data.train=ycc.pack", "data.val=ycc.pack",
        "data.size=16",   options[2],           "data.augment=[]",     "data.center_fraction=1",
        "trainer.seed=3", "optimizer.lr=0.001",
    };
    const char *summary;
    fg_error err = {0};
    fg_recipe *recipe = run(&(fg_recipe_options){
        .config = "dct.yaml", .overrides = more, .override_count = sizeof more / sizeof more[0]});
    fgt_ok(fg_recipe_text_of(recipe, FG_RECIPE_SUMMARY, &summary, &err));
    const char *at = strstr(summary, "\"train_loss\":");
    assert_non_null(at);
    const double loss = strtod(at + strlen("\"train_loss\":"), NULL);
    fg_recipe_close(recipe);
    return loss;
}

static void planes_train_like_pixels(void **state)
{
    const photo_spec spec = {.codec = FG_PACK_RAW_YCC420,
                             .is_equal = true,
                             .count = SAMPLES,
                             .width = 16,
                             .height = 16,
                             .classes = 2};
    (void)state;
    photo_pack_write("ycc.pack", &spec);
    const double loss = loss_of_planes("center", "0.5");
    fgt_close("loss", loss, loss_of_planes("window", "1e-12"), 0, 1e-3);
    assert_true(loss > 0.1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_run_decodes_its_images),
    cmocka_unit_test(it_predicts_on_image_files),
    cmocka_unit_test(checkpoints_describe_pixels),
    cmocka_unit_test(images_of_two_sizes_are_refused),
    cmocka_unit_test(the_host_cannot_crop_them),
    cmocka_unit_test(planes_train_like_pixels),
};

int main(void) { return cmocka_run_group_tests(tests, go_there, NULL) == 0 ? 0 : 1; }
