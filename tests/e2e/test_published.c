/* test_published.c - models and weights as other libraries publish them: folders that transformers
 * has written (tests/golden/published/record_*.py), and files that do not fit. Requires the
 * CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_program.h"

#include <math.h>
#include <stdio.h>
#include <fulgurite/fulgurite.h>
#include <jansson.h>

#include "base/file.h"
#include "base/number.h"
#include "recipe/run/run.h"

enum { ROWS = 4, CLASSES = 5 };

#define RECORDED FGT_SOURCE_DIR "/tests/golden/published"
#define PREDICT  "predict run.yaml "

static const char config[] = "task: classification\n"
                             "model: {hf: " RECORDED "/resnet18, classes: 5}\n"
                             "data: {format: npy, x: x.npy, y: y.npy, val_x: x.npy, val_y: y.npy}\n"
                             "trainer: {batch_size: 4}\n";

/* A folder with the configuration and the recorded images. */
static const char *made_folder(void)
{
    static const int32_t labels[ROWS] = {0, 1, 2, 3};
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    fgt_ok(fg_npy_write(fgt_path(folder, "y.npy"), &(fg_type){FG_S32, 1, {ROWS}}, labels, &err));
    fgt_write(fgt_path(folder, "run.yaml"), config, sizeof config - 1);
    assert_int_equal(shell(folder, "cp " RECORDED "/x.npy ."), 0);
    return folder;
}

/* Rows whose probabilities follow after `before` columns. */
static void check_rows(const char *csv, const char *file, int before)
{
    const char *at = strchr(csv, '\n');
    char *text = file_text(RECORDED, file);
    for (int i = 0; i < ROWS; i++) {
        at = strchr(at, '\n');
        for (int k = 0; k < before; k++)
            at = strchr(at + 1, ',');
        for (int k = 0; k < CLASSES; k++) {
            char *end;
            const double got = strtod(at + 1, &end), expected = strtod(text, &text);
            if (!(fabs(got - expected) < 1e-5))
                fail_msg("row %d, class %d: got %g, expected %g", i, k, got, expected);
            at = end;
        }
    }
}

static void check_predictions(const char *csv) { check_rows(csv, "y.txt", 2); }

/* Names, shards, f16, options, and normalization are those of the folder. */
static void a_folder_of_transformers_predicts_the_same(void **state)
{
    const char *folder = made_folder();
    const outcome *o = program_gives(0, folder, PREDICT);
    contains(o->err, "resnet18/config.json: model resnet18, width 2\n");
    contains(o->err, "preprocessor_config.json: data.mean [0.485, 0.456, 0.406], data.std "
                     "[0.229, 0.224, 0.225]");
    check_predictions(o->out);
    (void)state;
}

/* Each changes a copy of config.json by sed. */
static void what_does_not_fit_is_named(void **state)
{
    static const struct {
        const char *change, *arguments, *message;
    } rows[] = {
        {"s/\"resnet\"/\"resnext\"/", "",
         "model_type 'resnext' is not supported: did you mean 'resnet'?"},
        {"s/\"relu\"/\"gelu\"/", "",
         "copy/config.json: 'hidden_act' is \"gelu\": expected \"relu\" for model resnet18"},
        {"s/\"embedding_size\": 2/\"embedding_size\": 3/", "",
         "'hidden_sizes' is [2,4,8,16]: expected [3,6,12,24] for model resnet18"},
        {"s/\"basic\"/7/", "", "'layer_type' is 7: expected "},
        {"s/\"embedding_size\": 2/\"embedding_size\": \"x\"/", "", "'hidden_sizes' is "},
        {"s/0.229/0/", "", "copy/preprocessor_config.json: data.std: expected a list of numbers "},
        {"s/\"model_type\"/\"type\"/", "", "expected the key model_type (transformers) or "},
        {"1d", "", "config.json: byte "},
        {"", "--model.name=resnet50", "--model.name: model.hf sets it, from copy/config.json"},
        {"", "--model.width=4", "--model.width: model.hf sets it"},
        {"", "--model.hf=/nowhere", "'/nowhere' has no config.json"},
        {"", "--model.hf=copy/config.json", "'copy/config.json' is a file: expected the folder "},
        {"", "--model.hf=acme/net", "'acme/net'\na model of a hub is written hf:acme/net\n"},
        {"", "--model.hf=https://huggingface.co/acme/net", "is written hf:acme/net\n"},
        {"", "--model.classes=7", "is f16[5,16], but f32[7,16] in the model"},
        {"s/\"model_type\".*/\"architecture\": \"resnet19.a1\",/", "",
         "architecture 'resnet19' is not supported: did you mean 'resnet1"},
        {"s/\"model_type\".*/\"architecture\": \"resnet18\", \"model_args\": {\"stem\": 1},/", "",
         "'model_args.stem': model resnet18 does not have this argument"},
    };
    const char *folder = made_folder();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char command[512];
        (void)snprintf(command, sizeof command,
                       "rm -rf copy && cp -r " RECORDED "/resnet18 copy && sed -i '%s' "
                       "copy/*config.json",
                       rows[i].change);
        assert_int_equal(shell(folder, command), 0);
        (void)snprintf(command, sizeof command, PREDICT "%s %s",
                       strstr(rows[i].arguments, "model.hf") ? "" : "--model.hf=copy",
                       rows[i].arguments);
        const outcome *o = program(folder, command);
        assert_true(o->status == 1 || o->status == 2);
        contains(o->err, rows[i].message);
    }
    (void)state;
}

#define SAFETENSORS "copy/model-00001-of-00002.safetensors"

/* Each changes the weights of a copy by a command. */
static void weights_that_do_not_fit_are_named(void **state)
{
    static const struct {
        const char *change, *message;
    } rows[] = {
        {"rm " SAFETENSORS, "copy/model.safetensors.index.json lists "
                            "'model-00001-of-00002.safetensors' for "},
        {"truncate -s 5 " SAFETENSORS, "byte 5: unexpected end of file"},
        {"truncate -s -9 " SAFETENSORS, "the file may be truncated"},
        {"printf 'PK\\3\\4 archive/data.pkl' > " SAFETENSORS, "a pickle of PyTorch, which can run"},
        {"mv copy/model.safetensors.index.json copy/other.json",
         "-of-00002.safetensors', but no model.safetensors or model.safetensors.index.json\n"},
        {"cp " RECORDED "/vit/model.safetensors copy && rm copy/model.safetensors.index.json",
         "has no 'conv1.weight', which is f32[2,3,7,7] in the model\n"
         "its tensors have the names of model vit"},
    };
    const char *folder = made_folder();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char command[512];
        (void)snprintf(command, sizeof command,
                       "rm -rf copy && cp -r " RECORDED "/resnet18 copy && %s", rows[i].change);
        assert_int_equal(shell(folder, command), 0);
        contains(program_gives(1, folder, PREDICT "--model.hf=copy")->err, rows[i].message);
    }
}

/* hf:OWNER/NAME is the snapshot in the cache; none of these needs a device. */
static void names_of_a_hub_are_folders_of_its_cache(void **state)
{
    static const struct {
        const char *arguments, *message;
    } rows[] = {
        {"--model.hf=hf:acme/net --model.width=4",
         "sets it, from ./models--acme--net/snapshots/c1/"},
        {"--model.hf=hf:acme/net@v2", "hf:acme/net@v2: revision 'v2' is not in the cache ."},
        {"--data.format=text --data.path=run.yaml --data.tokenizer=hf:acme/net "
         "--data.val_fraction=0.5",
         "models--acme--net/snapshots/c1"},
        {"--model.hf=hf:acme", "hf:acme: revision 'main' is not in the cache ."},
        {"--model.hf=hf:a/b/c", "expected hf:OWNER/NAME or hf:OWNER/NAME@REVISION"},
    };
    const char *folder = made_folder();
    assert_int_equal(shell(folder, "mkdir -p models--acme--net/snapshots models--acme--net/refs && "
                                   "ln -s " RECORDED "/resnet18 models--acme--net/snapshots/c1 && "
                                   "printf c1 > models--acme--net/refs/main"),
                     0);
    assert_int_equal(setenv("HF_HUB_CACHE", ".", 1) | setenv("HF_HUB_OFFLINE", "1", 1), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char command[512];
        (void)snprintf(command, sizeof command, PREDICT "%s", rows[i].arguments);
        contains(program(folder, command)->err, rows[i].message);
    }
    assert_int_equal(unsetenv("HF_HUB_CACHE") | unsetenv("HF_HUB_OFFLINE"), 0);
    (void)state;
}

/* ---- export ---------------------------------------------------------------------------------- */

/* A checkpoint of a recorded model, as a fit would write it; `written`: options in its
 * configuration, `built`: those of the model. */
static void save_recorded(const char *folder, const char *name, const char *built,
                          const char *written)
{
    static const char data[] =
        "{\"format\": \"fulgurite-data\", \"version\": 1, \"task\": \"classification\", "
        "\"data_format\": \"images\", \"input\": {\"dtype\": \"u8\", \"shape\": [16, 16, 3]}, "
        "\"target\": {\"dtype\": \"s32\", \"shape\": []}, \"outputs\": 5, \"class_names\": "
        "[\"LABEL_0\", \"LABEL_1\", \"LABEL_2\", \"LABEL_3\", \"LABEL_4\"], \"preprocessing\": "
        "{\"image\": [], \"scale\": 0.00392156862745098, \"mean\": [], \"std\": []}}";
    char yaml[512];
    fg_error err = {0};
    fg_module *root = NULL;
    fg_registry *registry = NULL;
    (void)snprintf(yaml, sizeof yaml,
                   "task: classification\nmodel: {name: %s, %s}\ndata: {format: images, "
                   "size: 16, mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225]}\n",
                   name, written);
    const fg_attachment texts[] = {{"config.yaml", yaml}, {"data.json", data}};
    fgt_ok(fg_registry_create(&registry, &err));
    const fg_model_options o = {
        .entry = (const fg_model_entry *)fg_registry_find(registry, FG_REGISTRY_MODEL, name, &err),
        .input = {FG_U8, 3, {16, 16, 3}},
        .outputs = CLASSES,
        .options = built};
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    assert_non_null(fg_model_create(root, &o));
    const fg_load_options load = {.model = o.entry};
    fgt_ok(fg_module_load(root, fgt_path(RECORDED, name), &load, NULL, &err));
    const fg_training_options how = {.attachments = texts, .attachment_count = 2};
    fgt_ok(fg_training_save(fgt_path(folder, "step"), root, NULL, &how, &err));
    fg_module_destroy(root);
    fg_registry_destroy(registry);
}

/* All keys of `ours` have the same value in a file of transformers. */
static void check_json(const char *folder, const char *name, const char *const *skip)
{
    const char *key;
    json_t *value, *ours = json_load_file(fgt_path(folder, name), 0, NULL),
                   *theirs = json_load_file(fgt_path(RECORDED "/resnet18", name), 0, NULL);
    assert_true(ours != NULL && theirs != NULL);
    json_object_foreach(ours, key, value)
    {
        bool is_skipped = false;
        for (const char *const *s = skip; *s != NULL; s++)
            is_skipped |= strcmp(*s, key) == 0;
        if (!is_skipped && !json_equal(value, json_object_get(theirs, key)))
            fail_msg("%s: '%s' differs", name, key);
    }
    json_decref(ours);
    json_decref(theirs);
}

/* The folder has the names and sizes of the recorded tensors. */
static void check_tensors(const char *folder)
{
    fg_ckpt *ours = NULL, *theirs = NULL;
    fg_error err = {0};
    fgt_ok(fg_ckpt_open(folder, NULL, &ours, &err));
    fgt_ok(fg_ckpt_open(RECORDED "/resnet18", NULL, &theirs, &err));
    assert_int_equal(fg_ckpt_count(ours), fg_ckpt_count(theirs));
    for (size_t i = 0, k = 0; i < fg_ckpt_count(ours); i++) {
        const fg_tensor_info *info = fg_ckpt_info(ours, i);
        if (!fg_ckpt_find(theirs, FG_CKPT_MODEL, info->name, &k))
            fail_msg("transformers has no '%s'", info->name);
        assert_int_equal(fg_type_count(&info->type), fg_type_count(&fg_ckpt_info(theirs, k)->type));
    }
    fg_ckpt_close(ours);
    fg_ckpt_close(theirs);
}

/* Configuration and tensors; what the program predicts with the values is the same. */
static void an_export_is_what_transformers_writes(void **state)
{
    static const char *const of_dtype[] = {"torch_dtype", NULL}, *const of_filter[] = {"resample",
                                                                                       NULL};
    char command[512];
    const char *folder = fgt_temp_folder();
    save_recorded(folder, "resnet18", "{width: 2}", "width: 2");
    assert_string_equal(program_gives(0, folder, "export step --format=hf --output=out")->out,
                        "out\n");
    check_json(fgt_path(folder, "out"), "config.json", of_dtype);
    check_json(fgt_path(folder, "out"), "preprocessor_config.json", of_filter);
    check_tensors(fgt_path(folder, "out"));
    (void)snprintf(command, sizeof command, PREDICT "--model.hf=%s/out", folder);
    check_predictions(program_gives(0, made_folder(), command)->out);
    (void)state;
}

static void keep_last(void *self, const char *line) { (void)snprintf(self, 256, "%s", line); }

/* As for a model of more than 2 GB. */
static void a_second_onnx_file_is_announced(void **state)
{
    char line[256] = "", expected[256];
    const fgi_published_say say = {keep_last, line};
    const char *folder = fgt_temp_folder(), *path = fgt_path(folder, "model.onnx");
    fgi_run_origin origin = {0};
    fg_error err = {0};
    save_recorded(folder, "resnet18", "{width: 2}", "width: 2");
    fgt_ok(fgi_run_origin_open(fgt_path(folder, "step"), NULL, NULL, NULL, &origin, &err));
    fgt_ok(fgi_run_export_onnx(&origin, path, 1, &say, &err));
    fgi_run_origin_close(&origin);
    (void)snprintf(expected, sizeof expected, " are in %s.data, because an ONNX file has at most 2",
                   path);
    contains(line, expected);
    assert_true(fgi_file_exists(fgt_path(folder, "model.onnx.data")));
    (void)state;
}

/* The tensors alone are under their own names; what a library cannot express is refused. */
static void other_exports(void **state)
{
    static const struct {
        int status;
        const char *arguments, *message;
    } rows[] = {
        {1, "step --format=timm",
         "model.width is 2: expected 64, the only value that resnet18 of timm has"},
        {1, "stem --format=hf", "model.stem is small: expected imagenet"},
        {1, "export.safetensors --format=hf", "contains no configuration"},
        {1, "export.safetensors --format=onnx", "contains no configuration"},
        {0, "step --format=onnx",
         "input pixel_values f32[3,16,16] with a batch dimension in front"},
        {0, "step --format=onnx", "\"mean\": [0.485, 0.456, 0.406], \"std\""},
        {2, "step --format=keras", "--format is 'keras': expected hf|timm|onnx|safetensors"},
    };
    const char *folder = fgt_temp_folder();
    save_recorded(folder, "resnet18", "{width: 2}", "width: 2, stem: small");
    assert_int_equal(shell(folder, "mv step stem"), 0);
    save_recorded(folder, "resnet18", "{width: 2}", "width: 2");
    (void)program_gives(0, folder, "export step");
    contains(program_gives(0, folder, "show export.safetensors -n")->out,
             "layer1.0.conv1.weight\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char command[128];
        (void)snprintf(command, sizeof command, "export %s", rows[i].arguments);
        contains(program_gives(rows[i].status, folder, command)->err, rows[i].message);
    }
    (void)state;
}

#define TOKENIZER FGT_SOURCE_DIR "/tests/golden/tokenizer/gpt2.json"
#define ONE_STEP                                                                                   \
    "fit --data.format=text --data.path=" TOKENIZER " --data.tokenizer=" TOKENIZER                 \
    " --data.length=8 --data.val_fraction=0 --trainer.max_steps=1 --trainer.batch_size=1 "

/* Of a language model, the tokenizer is exported too; other libraries have no LSTM. */
static void texts_are_exported_with_their_tokenizer(void **state)
{
    const char *folder = fgt_temp_folder();
    (void)state;
    (void)program_gives(0, folder,
                        ONE_STEP "--model.name=gpt2 --model.layers=1 --model.width=2 "
                                 "--model.heads=1 --model.length=8 --trainer.run_dir=gpt2");
    (void)program_gives(0, folder, "export gpt2 --format=hf --output=out");
    assert_int_equal(shell(folder, "cmp out/tokenizer.json " TOKENIZER), 0);
    contains(program_gives(0, folder,
                           "fit --data.format=text --data.path=" TOKENIZER
                           " --data.length=8 --data.val_fraction=0 --trainer.max_steps=1 "
                           "--trainer.batch_size=1 --model.hf=out --trainer.run_dir=again")
                 ->err,
             "out/tokenizer.json: data.tokenizer");
    (void)program_gives(0, folder,
                        ONE_STEP "--model.name=lstm --model.width=2 --trainer.run_dir=lstm");
    contains(program_gives(1, folder, "export lstm --format=hf")->err,
             "transformers has no model like lstm\n--format=safetensors or onnx");
    contains(program_gives(0, folder, "export lstm --format=onnx")->err,
             "input input_ids s64[length] with a batch dimension in front; sequences may have any "
             "length\n");
    (void)program_gives(0, folder,
                        ONE_STEP "--model.name=gpt2 --model.layers=1 --model.width=2 "
                                 "--model.heads=1 --model.document_end=3 --trainer.run_dir=end");
    contains(program_gives(0, folder, "export end --format=onnx")->err,
             "input input_ids s64[8] with a batch dimension in front; its length is fixed\n");
}

#define PROMPT "--prompt='It was a' --max-tokens=6 --temperature=0"

/* The continuation is that of transformers; the tokens of its padded vocabulary have no text. */
static void a_language_model_continues_a_text(void **state)
{
    static const struct {
        int status;
        const char *arguments, *message;
    } rows[] = {
        {2, "--model.hf=" RECORDED "/gpt2 --prompt=x",
         "data.tokenizer: the tokenizer has 256 tokens, but the model has 503 (vocab_size)\n"
         "set data.tokenizer to the tokenizer.json of the model\n"},
        {2, "gpt2 --prompt=x", "'gpt2' is a published model: "},
        {2, "hf:acme/gpt2 --prompt=x", "\nto use it: fulgurite predict --model.hf=hf:acme/gpt2\n"},
        {2, "--model.hf=gpt2", "expected --prompt=TEXT, which a language model continues, or "},
        {2, "--model.hf=" RECORDED "/resnet18 --prompt=x", "'resnet18' does not take tokens"},
        {1, "--model.hf=gpt2 --prompt=x --data.length=33", "the model has 32 positions\n"},
        {0, "--model.hf=" RECORDED "/gpt2 --data.tokenizer=" TOKENIZER " --prompt=x", ""},
    };
    const char *folder = fgt_temp_folder();
    (void)state;
    assert_int_equal(
        shell(folder, "cp -r " RECORDED "/gpt2 . && cp " TOKENIZER " gpt2/tokenizer.json"), 0);
    assert_string_equal(program_gives(0, folder, "predict --model.hf=gpt2 " PROMPT)->out,
                        file_text(RECORDED, "gpt2_text.txt"));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char command[512];
        (void)snprintf(command, sizeof command, "predict %s --max-tokens=1", rows[i].arguments);
        contains(program_gives(rows[i].status, folder, command)->err, rows[i].message);
    }
}

/* transformers has separate tensors for queries, keys and values. Predictions of new images need no
 * other data: the names of the classes are those of config.json. */
static void a_vit_of_transformers_names_its_classes(void **state)
{
    static const char header[] = "P6 16 16 255\n";
    char image[sizeof header - 1 + 16 * 16 * 3], *x = file_text(RECORDED, "x.npy");
    const char *folder = fgt_temp_folder();
    (void)state;
    memcpy(image, header, sizeof header - 1);
    for (int i = 0; i < ROWS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%d.ppm", i);
        memcpy(image + sizeof header - 1, x + 128 + i * 16 * 16 * 3, 16 * 16 * 3);
        fgt_write(fgt_path(folder, name), image, sizeof image);
    }
    const outcome *o = program_gives(0, folder,
                                     "predict --model.hf=" RECORDED "/vit --data.format=images "
                                     "--data.predict=. --trainer.batch_size=4");
    contains(o->out, "index,name,prediction,p_LABEL_0,p_LABEL_1,");
    check_rows(o->out, "vit_y.txt", 3);
}

/* The tensors of an export have the values of the file that the model was loaded from. */
static void a_vit_is_exported_as_transformers_has_it(void **state)
{
    static const char options[] = "patch: 8, layers: 2, width: 8, heads: 2, norm_eps: 1e-12";
    char built[128];
    fg_ckpt *ours = NULL, *theirs = NULL;
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    (void)state;
    (void)snprintf(built, sizeof built, "{%s}", options);
    save_recorded(folder, "vit", built, options);
    (void)program_gives(0, folder, "export step --format=hf --output=out");
    fgt_ok(fg_ckpt_open(fgt_path(folder, "out"), NULL, &ours, &err));
    fgt_ok(fg_ckpt_open(RECORDED "/vit", NULL, &theirs, &err));
    assert_int_equal(fg_ckpt_count(ours), fg_ckpt_count(theirs));
    for (size_t i = 0, k = 0; i < fg_ckpt_count(theirs); i++) {
        const fg_tensor_info *info = fg_ckpt_info(theirs, i);
        if (!fg_ckpt_find(ours, FG_CKPT_MODEL, info->name, &k))
            fail_msg("the export has no '%s'", info->name);
        assert_int_equal(fg_type_count(&info->type), fg_type_count(&fg_ckpt_info(ours, k)->type));
        for (size_t n = 0; n < (size_t)fg_type_count(&info->type); n++)
            assert_true(fgi_number_get(FG_F16, fg_ckpt_data(theirs, i), n) ==
                        fgi_number_get(FG_F32, fg_ckpt_data(ours, k), n));
    }
    fg_ckpt_close(ours);
    fg_ckpt_close(theirs);
}

/* Files of a model that predicts masked words lack the pooler, which starts at random then. */
static void a_bert_without_a_pooler_can_be_trained(void **state)
{
    fg_error err = {0};
    fg_module *root = NULL;
    fg_registry *registry = NULL;
    fg_ckpt *all = NULL;
    fg_ckpt_tensor some[64];
    fg_load_report report = {0};
    size_t count = 0;
    const char *folder = fgt_temp_folder(), *path = fgt_path(folder, "bert.safetensors");
    (void)state;
    fgt_ok(fg_registry_create(&registry, &err));
    const fg_model_options o = {.entry = (const fg_model_entry *)fg_registry_find(
                                    registry, FG_REGISTRY_MODEL, "bert", &err),
                                .input = {FG_S32, 1, {4}},
                                .outputs = CLASSES,
                                .options = "{layers: 1, width: 4, heads: 1, vocabulary: 8}"};
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    assert_non_null(fg_model_create(root, &o));
    fgt_ok(fg_module_save(root, fgt_path(folder, "all.safetensors"), &err));
    fgt_ok(fg_ckpt_open(fgt_path(folder, "all.safetensors"), NULL, &all, &err));
    for (size_t i = 0; i < fg_ckpt_count(all); i++) {
        const fg_tensor_info *info = fg_ckpt_info(all, i);
        if (strstr(info->name, "pooler") == NULL && strstr(info->name, "classifier") == NULL)
            some[count++] = (fg_ckpt_tensor){
                .name = info->name, .type = info->type, .data = fg_ckpt_data(all, i)};
    }
    fgt_ok(fg_safetensors_write(path, some, count, NULL, &err));
    const fg_load_options load = {.model = o.entry, .new_head = true};
    fgt_ok(fg_module_load(root, path, &load, &report, &err));
    assert_int_equal(report.counts[FG_LOAD_DONE], count);
    assert_int_equal(report.counts[FG_LOAD_MISSING], 4);
    assert_int_equal(fg_module_load(root, path, &(fg_load_options){.model = o.entry}, NULL, &err),
                     FG_EFORMAT);
    fg_load_report_fini(&report);
    fg_ckpt_close(all);
    fg_module_destroy(root);
    fg_registry_destroy(registry);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_folder_of_transformers_predicts_the_same),
    cmocka_unit_test(what_does_not_fit_is_named),
    cmocka_unit_test(weights_that_do_not_fit_are_named),
    cmocka_unit_test(names_of_a_hub_are_folders_of_its_cache),
    cmocka_unit_test(an_export_is_what_transformers_writes),
    cmocka_unit_test(a_second_onnx_file_is_announced),
    cmocka_unit_test(other_exports),
    cmocka_unit_test(texts_are_exported_with_their_tokenizer),
    cmocka_unit_test(a_language_model_continues_a_text),
    cmocka_unit_test(a_vit_of_transformers_names_its_classes),
    cmocka_unit_test(a_vit_is_exported_as_transformers_has_it),
    cmocka_unit_test(a_bert_without_a_pooler_can_be_trained),
};
TRAINING_MAIN(tests)
