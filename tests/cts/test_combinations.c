/* test_combinations.c - every model with every task and kind of data either runs, or is refused
 * with a message that names a key of the configuration. On the fake plugin: training steps are
 * traced, but not compiled.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/packer.h>
#include <fulgurite/recipe.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_tpu.h"
#include "recipe/config/config.h"

enum { ROWS = 8, SIDE = 32, LENGTH = 8, MOST_BYTES = ROWS * SIDE * SIDE * 3 * 4 };

/* ---- data ------------------------------------------------------------------------------------ */

/* Row i has the values (i + k) % most, as f32, s32 or u8. */
static void write_npy(const char *name, const fg_type *type, int64_t most)
{
    static char data[MOST_BYTES];
    fg_error err = {0};
    const int64_t count = fg_type_count(type), width = count / type->dim[0];
    assert_true((size_t)count * fg_dtype_size(type->dtype) <= sizeof data);
    for (int64_t i = 0; i < count; i++) {
        const int32_t value = (int32_t)((i / width + i % width) % most);
        if (type->dtype == FG_F32)
            ((float *)data)[i] = (float)value;
        else if (type->dtype == FG_S32)
            ((int32_t *)data)[i] = value;
        else
            ((uint8_t *)data)[i] = (uint8_t)value;
    }
    fgt_ok(fg_npy_write(name, type, data, &err));
}

static void write_text(const char *name, const char *text) { fgt_write(name, text, strlen(text)); }

static void write_photos(void)
{
    static char image[64 + SIDE * SIDE * 3];
    fg_error err = {0};
    const size_t size = (size_t)snprintf(image, sizeof image, "P6 %d %d 255\n", SIDE, SIDE);
    assert_int_equal(mkdir("photos", 0777) | mkdir("photos/cat", 0777) | mkdir("photos/dog", 0777),
                     0);
    for (int i = 0; i < ROWS; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "photos/%s/%d.ppm", i % 2 == 0 ? "cat" : "dog", i);
        memset(image + size, i, SIDE * SIDE * 3);
        fgt_write(name, image, size + SIDE * SIDE * 3);
    }
    fgt_ok(fg_pack_build("photos", "photos.pack",
                         &(fg_pack_build_options){.codec = FG_PACK_CHOICE_FILE}, NULL, &err));
}

static const struct {
    const char *name;
    fg_type type;
} arrays[] = {
    {"vectors.npy", {FG_F32, 2, {ROWS, 6}}},
    {"series.npy", {FG_F32, 3, {ROWS, LENGTH, 2}}},
    {"images.npy", {FG_U8, 4, {ROWS, SIDE, SIDE, 3}}},
    {"volumes.npy", {FG_F32, 5, {ROWS, 4, 4, 4, 2}}},
    {"tokens.npy", {FG_S32, 2, {ROWS, LENGTH}}},
    {"scalars.npy", {FG_F32, 1, {ROWS}}},
    {"classes.npy", {FG_S32, 1, {ROWS}}},
    {"labels.npy", {FG_U8, 2, {ROWS, 3}}},
    {"masks.npy", {FG_S32, 3, {ROWS, SIDE, SIDE}}},
    {"pictures.npy", {FG_F32, 4, {ROWS, SIDE, SIDE, 1}}},
};

static int go_there(void **state)
{
    fg_error err = {0};
    (void)state;
    assert_int_equal(chdir(fgt_temp_folder()), 0);
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        write_npy(arrays[i].name, &arrays[i].type, 2);
    write_text("classes.csv", "a,b,y\n1,2,yes\n2,3,no\n3,4,yes\n4,5,no\n");
    write_text("numbers.csv", "a,b,y\n1,2,0.5\n2,3,1.5\n3,4,2.5\n4,5,3.5\n");
    write_text("labels.csv", "a,b,x,y\n1,2,1,0\n2,3,0,1\n3,4,1,1\n4,5,0,0\n");
    write_text("texts.csv", "text,y\ngood,yes\nbad,no\nfine,yes\npoor,no\n");
    write_text("book.txt",
               "It was the best of times, it was the worst of times, it was the age of");
    write_photos();
    write_npy("stream.npy", &(fg_type){FG_S32, 1, {ROWS * LENGTH + 1}}, 2);
    write_npy("scores.npy", &(fg_type){FG_S32, 2, {ROWS, 3}}, 4);
    fgt_ok(fg_pack_build("stream.npy", "tokens.pack", &(fg_pack_build_options){.sequence = LENGTH},
                         NULL, &err));
    return fake_tpu_begin();
}

static int leave(void **state)
{
    (void)state;
    return fake_tpu_end();
}

#define ARRAYS(x, y) "data.format=npy", "data.x=" #x ".npy", "data.y=" #y ".npy"
enum { MOST_KEYS = 5 };

static const char *const kinds[][MOST_KEYS] = {
    {"data.format=csv", "data.path=classes.csv"},
    {"data.format=csv", "data.path=numbers.csv"},
    {"data.format=csv", "data.path=labels.csv", "data.label_columns=[x,y]"},
    {"data.format=images", "data.train=photos", "data.size=32"},
    {"data.format=pack", "data.train=photos.pack", "data.size=32"},
    {"data.format=pack", "data.train=tokens.pack"},
    {"data.format=text", "data.path=book.txt", "data.length=8"},
    {"data.format=text", "data.path=texts.csv", "data.length=8", "data.text=text", "data.target=y"},
    {ARRAYS(vectors, classes)},
    {ARRAYS(vectors, scalars)},
    {ARRAYS(vectors, labels)},
    {ARRAYS(vectors, vectors)},
    {ARRAYS(vectors, masks)},
    {ARRAYS(series, classes)},
    {ARRAYS(series, scalars)},
    {ARRAYS(series, labels)},
    {ARRAYS(series, series)},
    {ARRAYS(images, classes)},
    {ARRAYS(images, scalars)},
    {ARRAYS(images, labels)},
    {ARRAYS(images, masks)},
    {ARRAYS(images, pictures)},
    {ARRAYS(images, images)},
    {ARRAYS(volumes, classes)},
    {ARRAYS(tokens, classes)},
    {ARRAYS(tokens, scalars)},
    {ARRAYS(tokens, labels)},
    {ARRAYS(tokens, tokens)},
    {ARRAYS(tokens, masks)},
    {ARRAYS(scalars, scalars)},
    {ARRAYS(scalars, classes)},
};

/* ---- combinations ---------------------------------------------------------------------------- */

/* Options that make models small; those that a model does not have are not used. */
static const char *const small[] = {
    "model.hidden=[4]",     "model.layers=1",       "model.width=16",     "model.heads=2",
    "model.vocabulary=512", "model.patch=16",       "model.depth=2",      "model.intermediate=8",
    "model.length=16",      "trainer.batch_size=2", "data.val_fraction=0"};
enum { SMALL = sizeof small / sizeof small[0] };

/* Whether a word of the message is a key, or the name of the task. */
static bool names_a_key(const char *message)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_0123456789.";
    for (const char *at = message; *at != '\0'; at += strspn(at, letters), at += *at != '\0') {
        char word[64];
        const size_t size = strspn(at, letters);
        (void)snprintf(word, sizeof word, "%.*s", (int)size, at);
        if (strchr(word, '.') != NULL && fgi_config_find(fgi_config_table_built_in(), word) != NULL)
            return true;
        if (strncmp(at, "task: ", 6) == 0 || strncmp(at, "task ", 5) == 0)
            return true;
    }
    return false;
}

/* Traces the step of the model. */
static fg_status run_one(const char *model, const char *task, const char *const kind[MOST_KEYS],
                         fg_error *err)
{
    char name[64], of[64];
    const char *overrides[SMALL + MOST_KEYS + 2] = {name, of};
    fg_recipe *recipe = NULL;
    fg_recipe_options options = {.overrides = overrides, .override_count = 2};
    const fg_recipe_command command = {
        .kind = FG_RECIPE_PLAN,
        .plan = {.topology = "v5e-1", .no_search = true, .loader.samples_per_s = 1000}};
    (void)snprintf(name, sizeof name, "model.name=%s", model);
    (void)snprintf(of, sizeof of, "task=%s", task);
    for (size_t i = 0; i < SMALL; i++)
        overrides[options.override_count++] = small[i];
    for (size_t i = 0; i < MOST_KEYS && kind[i] != NULL; i++)
        overrides[options.override_count++] = kind[i];
    fg_status status = fg_recipe_open(&options, &command, &recipe, err);
    if (status == FG_OK)
        status = fg_recipe_run(recipe, err);
    fg_recipe_close(recipe);
    return status;
}

/* Otherwise, a key is named. */
static bool runs(const char *model, const char *task, const char *const kind[MOST_KEYS])
{
    fg_error err = {0};
    const fg_status status = run_one(model, task, kind, &err);
    if (status != FG_OK && !names_a_key(err.message))
        fail_msg("--model.name=%s --task=%s --%s --%s ...\n%s", model, task, kind[0], kind[1],
                 err.message);
    return status == FG_OK;
}

static const fg_model_entry *model_at(const fg_registry *registry, size_t i)
{
    return (const fg_model_entry *)fg_registry_at(registry, FG_REGISTRY_MODEL, i);
}

/* Of models that differ in their sizes only, such as resnet18 and resnet34, the first one has all
 * tasks. */
static void each_one_runs_or_is_refused(void **state)
{
    static const char *const tasks[] = {"auto", "classification", "multilabel", "regression",
                                        "language"};
    fg_registry *registry = NULL;
    fg_error err = {0};
    (void)state;
    fgt_ok(fg_registry_create(&registry, &err));
    for (size_t i = 0; i < fg_registry_count(registry, FG_REGISTRY_MODEL); i++) {
        const fg_model_entry *m = model_at(registry, i);
        const bool is_variant = i > 0 && m->apply == model_at(registry, i - 1)->apply;
        int count = 0;
        for (size_t t = 0; t < (is_variant ? 1 : sizeof tasks / sizeof tasks[0]); t++)
            for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
                count += runs(m->entry.name, tasks[t], kinds[k]);
        if (count == 0)
            fail_msg("model %s does not run with any data", m->entry.name);
    }
    fg_registry_destroy(registry);
}

static const struct {
    const char *model, *task, *const kind[MOST_KEYS], *message;
} refused[] = {
    {"gpt2",
     "regression",
     {ARRAYS(tokens, tokens)},
     "--model.name: 'gpt2' predicts the next token, but the task is regression: expected one "
     "of bert, lstm\nfor task: language, pass data.format text, or a pack of tokens "
     "(fulgurite pack FILE.npy tokens.pack --sequence=LENGTH)"},
    {"bert",
     "language",
     {"data.format=text", "data.path=book.txt", "data.length=8"},
     "bert reads all tokens of a text, also those that a language model predicts\n"
     "set model.name: gpt2, llama or lstm"},
    {"gpt2",
     "language",
     {ARRAYS(tokens, classes)},
     "--task: the samples are s32[8] with targets s32[]: expected tokens and the next token of "
     "each, as data.format text and packs of tokens have"},
    {"mlp",
     "regression",
     {"data.format=text", "data.path=book.txt", "data.length=8"},
     "--task is regression, but the targets are the tokens that follow each token: expected "
     "language\nfor classes or values of texts, set data.target"},
    {"unet",
     "classification",
     {ARRAYS(images, classes)},
     "unet: 2 outputs for images of 32x32 pixels: expected values for each pixel, as targets "
     "of the same height and width have\nfor a class or values of each image, set model.name: "
     "resnet18, for example"},
    {"vit",
     "auto",
     {"data.format=csv", "data.path=classes.csv"},
     "vit on f32[2]: expected images [H,W] or [H,W,C], or flat ones with their height, width "
     "and channels given\nset data.image, or, for samples that are not images, model.name: "
     "mlp"},
    {"lstm",
     "auto",
     {ARRAYS(images, classes)},
     "lstm on f32[32,32,3]: expected tokens s32[T], or numbers [T] or [T, F]\n"
     "for images, set model.name: resnet18, for example"},
    {"mlp",
     "auto",
     {ARRAYS(scalars, classes)},
     "model 'mlp': inputs of type f32[] are not supported: expected at least one dimension\n"
     "reshape a vector data.x to [N, 1]"},
    {"mlp",
     "regression",
     {"data.format=csv", "data.path=classes.csv"},
     "classes.csv:2: row 1, column 'y': 'yes' is not a number\ncorrect it, or remove the row; "
     "to predict classes, set task: classification"},
    {"mlp",
     "multilabel",
     {ARRAYS(vectors, scores)},
     "task multilabel: --data.y: sample 0: label 2 is 2: expected 0, or 1 if the sample has "
     "it"},
};

static void what_is_refused_says_what_to_set(void **state)
{
    fg_error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        assert_int_not_equal(run_one(refused[i].model, refused[i].task, refused[i].kind, &err),
                             FG_OK);
        assert_string_equal(err.message, refused[i].message);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(each_one_runs_or_is_refused, go_there, leave),
    cmocka_unit_test_setup_teardown(what_is_refused_says_what_to_set, go_there, leave),
};
FGT_MAIN(tests)
