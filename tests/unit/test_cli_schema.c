/* test_cli_schema.c - the description of a model's data: round trip of every field through
 * data.json, invalid descriptions, and differences between two descriptions; the learning rate that
 * a resumed run reads from its folder; and what an evaluation says about classes and samples.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "golden.h"
#include "input/json_file.h"
#include "recipe/run/run.h"
#include "recipe/run/run_compare.h"
#include "report/run_view.h"
#include "train/step/stage.h"
#include "train/trainer.h"

static char cat[] = "cat", dog[] = "dog", owl[] = "owl", *names[] = {cat, dog, owl};
static const float means[] = {0.5f, 0.25f, 0.125f}, deviations[] = {2, 3, 4};

static json_t *describe(const fgi_run_schema *schema, const char *task)
{
    const fgi_run_preparation preparation = {.task = task,
                                             .outputs = 3,
                                             .scale = 0.5,
                                             .mean = means,
                                             .std = deviations,
                                             .mean_count = 3,
                                             .std_count = 2,
                                             .image = {4, 5, 1}};
    json_t *object = fgi_run_schema_describe(schema, &preparation);
    assert_non_null(object);
    return object;
}

static void assert_type(const fg_type *a, const fg_type *b)
{
    assert_int_equal(a->dtype, b->dtype);
    assert_int_equal(a->rank, b->rank);
    for (int i = 0; i < a->rank; i++)
        assert_int_equal(a->dim[i], b->dim[i]);
}

/* For each dtype, as the input's and as the target's. */
static void descriptions_are_read_back(void **state)
{
    (void)state;
    for (int d = FG_BOOL; d <= (int)FG_F64; d++) {
        fg_error err = {0};
        fgi_run_schema read;
        double mean, deviation;
        const fgi_run_schema made = {.format = "npy",
                                     .input = {(fg_dtype)d, 3, {4, 5, 1}},
                                     .target = {(fg_dtype)d, d % 3, {2, 7}},
                                     .class_count = 3,
                                     .class_names = d % 2 == 0 ? names : NULL,
                                     .target_mean = 1.5,
                                     .target_deviation = d};
        json_t *object = describe(&made, "classification");
        fgt_ok(fgi_run_schema_of_json("ckpt", object, &read, &err));
        assert_string_equal(read.format, "npy");
        assert_type(&read.input, &made.input);
        assert_type(&read.target, &made.target);
        assert_int_equal(read.class_count, 3);
        for (int i = 0; i < 3 && d % 2 == 0; i++)
            assert_string_equal(read.class_names[i], names[i]);
        assert_int_equal(read.class_names != NULL, d % 2 == 0);
        assert_true(read.target_mean == 1.5 && read.target_deviation == d);
        fgi_run_schema_target_scale(&read, &mean, &deviation);
        assert_true(mean == 1.5 && deviation == d);
        assert_string_equal(fgi_run_schema_target(&read), "");
        fgi_run_schema_fini(&read);
        json_decref(object);
    }
}

/* What a checkpoint's file says of the samples and of what was done to them. */
static void the_file_has_every_number(void **state)
{
    const fgi_run_schema made = {.format = "npy",
                                 .input = {FG_U8, 3, {4, 5, 1}},
                                 .target = {FG_F32, 2, {2, 7}},
                                 .class_count = 3,
                                 .class_names = names,
                                 .target_mean = 1.5,
                                 .target_deviation = 0.5};
    (void)state;
    json_t *object = describe(&made, "regression");
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(6));
    assert_string_equal(text,
                        "{\"format\":\"fulgurite-data\",\"version\":1,\"task\":\"regression\","
                        "\"data_format\":\"npy\","
                        "\"input\":{\"dtype\":\"u8\",\"shape\":[4,5,1],\"layout\":\"HWC\"},"
                        "\"target\":{\"dtype\":\"f32\",\"shape\":[2,7]},\"outputs\":3,"
                        "\"class_names\":null,\"preprocessing\":{\"image\":[4,5,1],\"scale\":0.5,"
                        "\"mean\":[0.5,0.25,0.125],\"std\":[2.0,3.0],\"target_mean\":1.5,"
                        "\"target_deviation\":0.5}}");
    free(text);
    json_decref(object);
}

/* Training samples, and validation samples of `others` classes: encoded images, 8 high. */
static fgi_run_schema schema_of(int64_t classes, int64_t others)
{
    static const char *const words[] = {"cat", "dog", "owl"};
    static const fg_image_encoding encoding = {.coding = FG_IMAGE_DCT, .height = 8, .width = 16};
    const fg_field fields[] = {{"x", fg_image_encoding_type(&encoding)}, {"y", {.dtype = FG_S32}}};
    static const void *const none[] = {words, words}; /* no sample is read */
    fg_dataset *data[2];
    fg_error err = {0};
    fgi_run_schema schema;
    for (int i = 0; i < 2; i++) {
        const fg_dataset_spec spec = {.fields = fields,
                                      .field_count = 2,
                                      .class_count = i == 0 ? classes : others,
                                      .class_names = i == 0 && classes > 0 ? words : NULL,
                                      .encoding = &encoding};
        fgt_ok(fg_dataset_from_arrays(&spec, none, FG_BORROW, &data[i], &err));
    }
    fgt_ok(fgi_run_schema_of_data("npy", data[0], data[1], NULL, &schema, &err));
    fg_dataset_destroy(data[0]);
    fg_dataset_destroy(data[1]);
    return schema;
}

/* The classes are those of both parts, with names only if the training samples have all of them. */
static void classes_of_both_parts(void **state)
{
    static const int64_t rows[][3] = {{2, 3, 3}, {3, 2, 3}, {3, 3, 3}, {0, 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fgi_run_schema schema = schema_of(rows[i][0], rows[i][1]);
        assert_int_equal(schema.class_count, rows[i][2]);
        assert_int_equal(schema.class_names != NULL, rows[i][0] == 3);
        if (schema.class_names != NULL)
            assert_string_equal(schema.class_names[2], "owl");
        assert_type(&schema.input, &(fg_type){FG_U8, 3, {8, 16, 3}});
        assert_int_equal(schema.target.dtype, FG_S32);
        fgi_run_schema_fini(&schema);
    }
}

/* A regression has no classes, and a target without standardization has no scale. */
static void a_plain_regression(void **state)
{
    (void)state;
    fg_error err = {0};
    fgi_run_schema read;
    double mean, deviation;
    const fgi_run_schema made = {.format = "idx",
                                 .input = {FG_U8, 1, {4}},
                                 .target = {FG_F32, 0, {0}},
                                 .class_count = 3,
                                 .class_names = names};
    json_t *object = describe(&made, "regression");
    assert_null(json_object_get(json_object_get(object, "preprocessing"), "target_mean"));
    fgt_ok(fgi_run_schema_of_json("ckpt", object, &read, &err));
    assert_int_equal(read.class_count, 0);
    assert_null(read.class_names);
    assert_true(read.target_deviation == 0);
    fgi_run_schema_target_scale(&read, &mean, &deviation);
    assert_true(mean == 0 && deviation == 1);
    fgi_run_schema_fini(&read);
    assert_int_equal(json_object_set_new(object, "outputs", json_integer(0)), 0);
    assert_int_equal(fgi_run_schema_of_json("ckpt", object, &read, &err), FG_EFORMAT);
    json_decref(object);
}

/* The schema of a CSV is included, with the target's name and scale. */
static void columns_of_a_csv(void **state)
{
    (void)state;
    fg_error err = {0};
    fgi_run_schema read;
    double mean, deviation;
    json_t *csv = json_loads("{\"columns\": [{\"name\": \"a\", \"kind\": \"numeric\", \"mean\": 9, "
                             "\"deviation\": 8}, {\"name\": \"price\", \"kind\": \"target\", "
                             "\"mean\": 3.5, \"deviation\": 2.5}]}",
                             0, NULL);
    const fgi_run_schema made = {
        .format = "csv", .input = {FG_F32, 1, {4}}, .target = {FG_F32, 0, {0}}, .csv = csv};
    json_t *object = describe(&made, "regression");
    fgt_ok(fgi_run_schema_of_json("ckpt", object, &read, &err));
    assert_string_equal(fgi_run_schema_target(&read), "price");
    fgi_run_schema_target_scale(&read, &mean, &deviation);
    assert_true(mean == 3.5 && deviation == 2.5);
    json_t *column = json_array_get(json_object_get(read.csv, "columns"), 1);
    assert_int_equal(json_object_del(column, "deviation"), 0);
    fgi_run_schema_target_scale(&read, &mean, &deviation);
    assert_true(mean == 3.5 && deviation == 1);
    fgi_run_schema_fini(&read);
    json_decref(object);
    json_decref(csv);
}

/* Checkpoints that do not say so were split without regard to classes: resuming one with another
 * split would train on its validation samples. */
static void a_stratified_split(void **state)
{
    (void)state;
    fg_error err = {0};
    fgi_run_schema read;
    fgi_run_differences differences = {.text = ""};
    fgi_run_schema made = {
        .format = "npy", .input = {FG_F32, 1, {4}}, .target = {FG_S32, 0, {0}}, .class_count = 3};
    json_t *plain = describe(&made, "classification");
    made.is_stratified = true;
    json_t *stratified = describe(&made, "classification");
    fgt_ok(fgi_run_schema_of_json("ckpt", plain, &read, &err));
    assert_false(read.is_stratified);
    fgi_run_schema_fini(&read);
    fgt_ok(fgi_run_schema_of_json("ckpt", stratified, &read, &err));
    assert_true(read.is_stratified);
    fgi_run_schema_fini(&read);
    fgi_run_compare_data(stratified, plain, &differences); /* with other validation files */
    assert_int_equal(differences.count, 0);
    fgi_run_compare_data(plain, stratified, &differences);
    assert_string_equal(differences.text,
                        "\n  data.stratify: nothing in the checkpoint, true here");
    json_decref(plain);
    json_decref(stratified);
}

/* ---- invalid descriptions -------------------------------------------------------------------- */

static json_t *usual(void)
{
    const fgi_run_schema made = {.format = "npy",
                                 .input = {FG_F32, 2, {4, 5}},
                                 .target = {FG_S32, 0, {0}},
                                 .class_count = 3,
                                 .class_names = names};
    return describe(&made, "classification");
}

static void others_are_refused(void **state)
{
    (void)state;
    static const char all[] = "ckpt: data.json: expected task, data_format, input, target, outputs "
                              "and class_names";
    static const struct {
        const char *key, *value; /* NULL: the key is missing */
        fg_status status;
        const char *message;
    } rows[] = {
        {"format", NULL, FG_EFORMAT, "ckpt: data.json does not describe data"},
        {"format", "\"other\"", FG_EFORMAT, "ckpt: data.json does not describe data"},
        {"version", "2", FG_EUNSUPPORTED, "ckpt: data.json has version 2: expected 1"},
        {"version", "0", FG_EUNSUPPORTED, "ckpt: data.json has version 0: expected 1"},
        {"version", NULL, FG_EUNSUPPORTED, "ckpt: data.json has version 0: expected 1"},
        {"task", NULL, FG_EFORMAT, all},
        {"data_format", NULL, FG_EFORMAT, all},
        {"data_format", "7", FG_EFORMAT, all},
        {"outputs", "0", FG_EFORMAT, all},
        {"outputs", "16777217", FG_EFORMAT, all},
        {"outputs", "2", FG_EFORMAT, all}, /* fewer than names */
        {"class_names", "[\"a\", 1, \"c\"]", FG_EFORMAT, all},
        {"class_names", "3", FG_EFORMAT, all},
        {"input", NULL, FG_EFORMAT, all},
        {"input", "{\"dtype\": \"f31\", \"shape\": [1]}", FG_EFORMAT, all},
        {"input", "{\"dtype\": \"none\", \"shape\": [1]}", FG_EFORMAT, all},
        {"input", "{\"dtype\": \"f32\"}", FG_EFORMAT, all},
        {"input", "{\"shape\": []}", FG_EFORMAT, all},
        {"input", "{\"dtype\": \"f32\", \"shape\": [0]}", FG_EFORMAT, all},
        {"input", "{\"dtype\": \"f32\", \"shape\": [1,1,1,1,1,1,1,1]}", FG_EFORMAT, all},
        {"target", "{\"dtype\": \"f32\", \"shape\": [-1]}", FG_EFORMAT, all},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        fgi_run_schema read;
        json_t *object = usual();
        if (rows[i].value == NULL)
            assert_int_equal(json_object_del(object, rows[i].key), 0);
        else
            assert_int_equal(json_object_set_new(object, rows[i].key,
                                                 json_loads(rows[i].value, JSON_DECODE_ANY, NULL)),
                             0);
        if (fgi_run_schema_of_json("ckpt", object, &read, &err) != rows[i].status)
            fail_msg("%s %s: status", rows[i].key, rows[i].value != NULL ? rows[i].value : "");
        assert_string_equal(err.message, rows[i].message);
        fgi_run_schema_fini(&read);
        json_decref(object);
    }
}

static void what_is_just_allowed(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"data_format", "\"a name of more than sixteen letters\""},
        {"outputs", "16777216"},
        {"class_names", "null"},
        {"input", "{\"dtype\": \"f32\", \"shape\": [1,1,1,1,1,1,1]}"},
        {"input", "{\"dtype\": \"bool\", \"shape\": []}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        fgi_run_schema read;
        json_t *object = usual();
        assert_int_equal(
            json_object_set_new(object, rows[i][0], json_loads(rows[i][1], JSON_DECODE_ANY, NULL)),
            0);
        fgt_ok(fgi_run_schema_of_json("ckpt", object, &read, &err));
        assert_string_equal(read.format, json_string_value(json_object_get(object, "data_format")));
        fgi_run_schema_fini(&read);
        json_decref(object);
    }
}

/* ---- differences ----------------------------------------------------------------------------- */

static void differences_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *had, *have, *text;
    } rows[] = {
        {"{\"a\": 1}", "{\"a\": 1.0}", ""},
        {"{\"a\": 1}", "{\"a\": 2}", "\n  a: 1 in the checkpoint, 2 here"},
        {"{\"a\": 0.1}", "{\"a\": 0.10000001}",
         "\n  a: 0.10000000000000001 in the checkpoint, 0.10000001 here"},
        {"{\"a\": [0.1, 0.25, 3]}", "{\"a\": [0.1, 0.25, 4]}",
         "\n  a: [0.1,0.25,3] in the checkpoint, [0.1,0.25,4] here"},
        {"{\"a\": [0.1, 11111111111, 22222222222, 33333333333, 1, 44]}",
         "{\"a\": [0.1, 11111111111, 22222222222, 33333333333, 1, 45]}",
         "\n  a: [0.10000000000000001,11111111111,22222222222... in the checkpoint, "
         "[0.10000000000000001,11111111111,22222222222... here"},
        {"{\"a\": 1}", "{}", "\n  a: 1 in the checkpoint, nothing here"},
        {"{}", "{\"a\": {\"b\": 1}}", "\n  a: nothing in the checkpoint, {\"b\":1} here"},
        {"{\"preprocessing\": {\"mean\": [1]}}", "{\"preprocessing\": {\"mean\": []}}",
         "\n  data.mean: [1] in the checkpoint, [] here"},
        {"{\"csv\": {\"missing\": \"mean\", \"unknown\": \"zero\", \"delimiter\": \";\"}}",
         "{\"csv\": {\"missing\": \"error\", \"header\": true}}", ""},
        {"{\"csv\": {\"columns\": [{\"name\": \"a\", \"mean\": 1}, {\"name\": \"b\"}]}}",
         "{\"csv\": {\"columns\": [{\"name\": \"b\"}, {\"name\": \"a\", \"mean\": 1}]}}",
         "\n  csv.columns: one order in the checkpoint, another here"},
        {"{\"csv\": {\"columns\": [{\"name\": \"a\", \"mean\": 1}, {\"name\": \"b\"}]}}",
         "{\"csv\": {\"columns\": [{\"name\": \"a\", \"mean\": 2}, {\"name\": \"c\"}]}}",
         "\n  csv.columns.a.mean: 1 in the checkpoint, 2 here"
         "\n  csv.columns.b: {\"name\":\"b\"} in the checkpoint, nothing here"
         "\n  csv.columns.c: nothing in the checkpoint, a column here"},
        {"{\"csv\": {\"missing\": \"error\", \"normalize\": false, \"columns\": "
         "[{\"name\": \"a\", \"mean\": 1, \"deviation\": 4}]}}",
         "{\"csv\": {\"columns\": [{\"name\": \"a\", \"mean\": 2, \"deviation\": 5}], "
         "\"normalize\": false}}",
         ""},
        {"{\"csv\": {\"missing\": \"mean\", \"normalize\": false, \"columns\": "
         "[{\"name\": \"a\", \"mean\": 1}]}}",
         "{\"csv\": {\"columns\": [{\"name\": \"a\", \"mean\": 2}], \"normalize\": false}}",
         "\n  csv.columns.a.mean: 1 in the checkpoint, 2 here"}, /* of missing values */
        {"{\"csv\": {\"image\": [1], \"columns\": [{\"name\": \"a\", \"mean\": 1}]}}",
         "{\"csv\": {\"image\": [1], \"columns\": [{\"name\": \"a\", \"mean\": 2}]}}", ""},
        {"{\"a\": \"012345678901234567890123456789012345678901234\"}", "{\"a\": 1}",
         "\n  a: \"012345678901234567890123456789012345678901234\" in the checkpoint, 1 here"},
        {"{\"a\": \"0123456789012345678901234567890123456789012345\"}", "{\"a\": 1}",
         "\n  a: \"0123456789012345678901234567890123456789012... in the checkpoint, 1 here"},
        {"{\"a\": \"0123456789012345678901234567890123456789012345678901234567\"}", "{\"a\": 1}",
         "\n  a: \"0123456789012345678901234567890123456789012... in the checkpoint, 1 here"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fgi_run_differences found = {.text = ""};
        json_t *had = json_loads(rows[i].had, 0, NULL), *have = json_loads(rows[i].have, 0, NULL);
        assert_true(had != NULL && have != NULL);
        fgi_run_compare_data(had, have, &found);
        assert_string_equal(found.text, rows[i].text);
        assert_int_equal(found.count == 0, rows[i].text[0] == '\0');
        json_decref(had);
        json_decref(have);
    }
}

/* More differences than fit in the message. */
static void many_differences_are_counted(void **state)
{
    (void)state;
    fg_error err = {0};
    fgi_run_differences none = {.text = ""}, found = {.text = ""};
    json_t *had = json_object(), *have = json_object();
    for (int i = 0; i < 20; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "key number %02d", i);
        assert_int_equal(json_object_set_new(had, key, json_integer(i)), 0);
        assert_int_equal(json_object_set_new(have, key, json_integer(i + 1)), 0);
    }
    fgi_run_compare_data(had, have, &found);
    assert_int_equal(found.count, 20);
    fgt_ok(fgi_run_compare_fail(&none, "ckpt", "hint", &err));
    assert_int_equal(fgi_run_compare_fail(&found, "ckpt", "a hint", &err), FG_EINVAL);
    static const char begin[] = "'ckpt' was trained with different settings:\n"
                                "  key number 00: 0 in the checkpoint, 1 here\n"
                                "  key number 01: 1 in the checkpoint, 2 here\n";
    assert_memory_equal(err.message, begin, strlen(begin));
    const char *end = strstr(err.message, "\n  and ");
    assert_non_null(end);
    int shown = 0;
    for (const char *line = err.message; line < end; line++)
        shown += strncmp(line, "\n  key", 6) == 0;
    char text[64];
    (void)snprintf(text, sizeof text, "\n  and %d more\na hint", 20 - shown);
    assert_string_equal(end, text);
    fgi_run_differences wide = {.limit = sizeof wide.text}; /* of a warning */
    fgi_run_compare_data(had, have, &wide);
    assert_int_equal(wide.count, 20);
    assert_non_null(strstr(wide.text, "\n  key number 19: 19 in the checkpoint, 20 here"));
    assert_string_equal(fgi_run_compare_more(&wide, (char[48]){""}), "");
    wide.count++;
    assert_string_equal(fgi_run_compare_more(&wide, (char[48]){""}), "\n  and 1 more");
    assert_string_equal(fgi_run_compare_more(&none, (char[48]){"?"}), "");
    json_decref(had);
    json_decref(have);
}

/* Keys that have an effect now, with the place of those that are given. */
static void training_differences(void **state)
{
    (void)state;
    fg_error err = {0};
    fgi_run_differences found = {.text = ""};
    static const char *const had_keys[] = {"optimizer.name=sgd", "optimizer.momentum=0.9",
                                           "schedule.name=onecycle", "trainer.max_epochs=3"};
    static const char *const have_keys[] = {"optimizer.name=adam", "optimizer.betas=[0.5,0.6]",
                                            "model.dropout=0.5", "trainer.max_epochs=4"};
    fgi_config *had = fgi_config_create(NULL, &err), *have = fgi_config_create(NULL, &err);
    assert_true(had != NULL && have != NULL);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(fgi_config_override(had, had_keys[i], &err), FG_OK);
        assert_int_equal(fgi_config_override(have, have_keys[i], &err), FG_OK);
    }
    fgi_run_compare_training(had, have, &found);
    assert_string_equal(
        found.text, "\n  model.dropout: 0 in the checkpoint, 0.5 by --model.dropout"
                    "\n  optimizer.name: sgd in the checkpoint, adam by --optimizer.name"
                    "\n  optimizer.betas: auto in the checkpoint, [0.5, 0.6] by --optimizer.betas"
                    "\n  schedule.name: onecycle in the checkpoint, constant here");
    fgi_config_destroy(had);
    fgi_config_destroy(have);
}

/* Only what changes what the model computes, and has an effect in both. */
static void model_differences(void **state)
{
    (void)state;
    fg_error err = {0};
    fgi_run_differences found = {.text = ""};
    static const char *const keys[] = {"model.weights=a",      "model.weights_prefix=b",
                                       "model.weights_skip=c", "model.weights_partial=true",
                                       "model.dropout=0.5",    "model.freeze=[d]",
                                       "model.classes=7",      "model.name=mlp",
                                       "model.hidden=[3]",     "trainer.seed=5"};
    fgi_config *had = fgi_config_create(NULL, &err), *have = fgi_config_create(NULL, &err);
    assert_int_equal(fgi_config_override(had, "model.name=mlp", &err), FG_OK);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        assert_int_equal(fgi_config_override(have, keys[i], &err), FG_OK);
    fgi_run_compare_model(had, have, &found);
    assert_int_equal(found.count, 1);
    assert_memory_equal(found.text, "\n  model.hidden: ", 17);
    assert_int_equal(fgi_config_override(had, "model.name=linear", &err), FG_OK);
    found = (fgi_run_differences){.text = ""};
    fgi_run_compare_model(had, have, &found);
    assert_string_equal(found.text,
                        "\n  model.name: linear in the checkpoint, mlp by --model.name");
    fgi_config_destroy(had);
    fgi_config_destroy(have);
}

/* Keys of the columns that an evaluation gives, where "price" is the target. */
static void column_differences(void **state)
{
    static const struct {
        const char *key, *text;
    } rows[] = {
        {"data.target=price", ""},
        {"data.target=null", ""},
        {"data.target=cost", "\n  data.target: \"2\" in the checkpoint, cost by --data.target"},
        {"data.ignore=[b]", "\n  data.ignore: [a] in the checkpoint, [b] by --data.ignore"},
        {"data.ignore=[a]", ""},
        {"data.delimiter=;", ""},
        {"data.format=npy", ""},
        {"trainer.seed=3", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        fgi_run_differences found = {.text = ""};
        fgi_config *had = fgi_config_create(NULL, &err), *have = fgi_config_create(NULL, &err);
        assert_int_equal(fgi_config_override(had, "data.format=csv", &err), FG_OK);
        assert_int_equal(fgi_config_override(had, "data.target=2", &err), FG_OK);
        assert_int_equal(fgi_config_override(had, "data.ignore=[a]", &err), FG_OK);
        assert_int_equal(fgi_config_override(had, "data.numeric=[c]", &err), FG_OK);
        assert_int_equal(fgi_config_override(have, "data.format=csv", &err), FG_OK);
        assert_int_equal(fgi_config_override(have, rows[i].key, &err), FG_OK);
        fgi_run_compare_columns(had, have, "price", &found);
        assert_string_equal(found.text, rows[i].text);
        fgi_config_destroy(had);
        fgi_config_destroy(have);
    }
}

/* ---- a resumed run --------------------------------------------------------------------------- */

#define EXPECTED "@/lr_find.json: expected \"optimizer_lr\", a number greater than 0"
#define ADVICE                                                                                     \
    "\nthe resumed run did not begin with a search: set tuner.lr_find to false, and optimizer.lr " \
    "to its learning rate"

static const struct {
    const char *text, *message; /* of lr_find.json; message: NULL: read */
    double lr;
} results[] = {
    {NULL, "cannot open '@/lr_find.json': No such file or directory" ADVICE, 0},
    {"{\"optimizer_lr\": 0.00123456}", NULL, 0.001235}, /* as config.yaml has it */
    {"{\"optimizer_lr\": 2}", NULL, 2},
    {"{\"optimizer_lr\": 0}", EXPECTED ADVICE, 0},
    {"{\"optimizer_lr\": null}", EXPECTED ADVICE, 0},
    {"{\"lr\": 1}", EXPECTED ADVICE, 0},
};

static void the_rate_of_a_resumed_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
        fg_error err = {0};
        fg_recipe r = {.fit.fast_dev_run = true, .folder = (char *)fgt_temp_folder()};
        r.origin.ckpt = (void *)&r; /* is not read */
        r.c = fgi_config_create(NULL, &err);
        assert_int_equal(fgi_config_override(r.c, "optimizer.lr=9", &err), FG_OK);
        if (results[i].text != NULL)
            fgt_write(fgt_path(r.folder, "lr_find.json"), results[i].text, strlen(results[i].text));
        fgt_ok(fgi_run_lr_apply(&r, &err)); /* without a search */
        assert_int_equal(fgi_config_override(r.c, "tuner.lr_find=true", &err), FG_OK);
        fgt_ok(fgi_run_lr_apply(&r, &err));
        r.fit.fast_dev_run = false;
        const fg_status status = fgi_run_lr_apply(&r, &err);
        assert_int_equal(status == FG_OK, results[i].message == NULL);
        if (results[i].message != NULL)
            fgt_message_is(err.message, results[i].message);
        else
            assert_true(r.task.found_lr == results[i].lr);
        assert_true(fg_option_float(r.c->values, "optimizer.lr") == (status ? 9 : results[i].lr));
        fgi_config_destroy(r.c);
    }
}

static void the_limits_of_a_search(void **state)
{
    static const char *const keys[] = {"tuner.max_lr=0.25", "tuner.max_lr=0.2", "tuner.max_lr=0.3"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        fg_error err = {0};
        char message[128];
        fgi_config *c = fgi_config_create(NULL, &err);
        assert_int_equal(fgi_config_override(c, "tuner.min_lr=0.25", &err), FG_OK);
        assert_int_equal(fgi_config_override(c, keys[i], &err), FG_OK);
        (void)snprintf(message, sizeof message,
                       "--tuner.max_lr: expected a number greater than tuner.min_lr, got %s",
                       strchr(keys[i], '=') + 1);
        assert_int_equal(fgi_run_lr_check(c, &err), i < 2 ? FG_EINVAL : FG_OK);
        assert_string_equal(err.message, i < 2 ? message : "");
        fgi_config_destroy(c);
    }
}

/* ---- evaluations ----------------------------------------------------------------------------- */

enum { MOST_CLASSES = 4 };

static const struct {
    fg_recipe_kind kind;
    fg_status status;
    int classes; /* 0: a regression */
    int64_t samples, confusion[MOST_CLASSES * MOST_CLASSES];
    const char *key; /* NULL: none */
    bool is_named, is_dev, has_none;
} evaluations[] = {
    {FG_RECIPE_FIT, FG_OK, 3, 6, {4, 0, 0, 1, 0, 0, 0, 0, 1}, NULL, true, false, false},
    {FG_RECIPE_FIT, FG_OK, 3, 5, {3, 0, 0, 1, 0, 0, 0, 0, 1}, NULL, false, false, false},
    {FG_RECIPE_TEST, FG_OK, 3, 11, {9, 0, 0, 1, 0, 0, 1, 0, 0}, NULL, false, false, false},
    {FG_RECIPE_VALIDATE,
     FG_ESTOPPED,
     4,
     12,
     {9, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0},
     NULL,
     true,
     false,
     false},
    {FG_RECIPE_FIT, FG_OK, 3, 5, {4, 0, 0, 0, 0, 0, 0, 0, 1}, NULL, false, false, false},
    {FG_RECIPE_FIT, FG_OK, 2, 5, {4, 0, 1, 0}, "loss.class_weight=balanced", false, false, false},
    {FG_RECIPE_FIT, FG_OK, 2, 5, {4, 0, 1, 0}, "data.sampling=balanced", false, false, false},
    {FG_RECIPE_FIT, FG_OK, 2, 5, {4, 0, 1, 0}, NULL, false, true, false},
    {FG_RECIPE_FIT, FG_OK, 0, 2, {0}, NULL, false, false, false},
    {FG_RECIPE_FIT, FG_OK, 0, 0, {0}, NULL, false, false, true},
    {FG_RECIPE_FIT, FG_ENUMERIC, 0, 2, {0}, NULL, false, false, true},
    {FG_RECIPE_PREDICT, FG_OK, 0, 2, {0}, NULL, false, false, true},
};

static void put_line(void *self, fg_log_level level, const char *text)
{
    fgi_buf_printf(self, "%d %s\n", (int)level, text);
}

/* A stage that was never prepared. */
static fgi_stage *a_stage(void)
{
    static fgi_stage *stage;
    fg_error err = {0};
    if (stage == NULL)
        fgt_ok(fgi_stage_create(FGI_TRAIN, &stage, &err));
    return stage;
}

static fgi_stage *counted(size_t i)
{
    fgi_sample_rows *rows = &a_stage()->rows;
    *rows = (fgi_sample_rows){.step = 7,
                              .samples = evaluations[i].samples,
                              .class_count = evaluations[i].classes,
                              .worst_count = 2,
                              .worst = {{.index = 1, .target = 1, .loss = 0.25f},
                                        {.index = 0, .prediction = 1, .loss = INFINITY}}};
    if (evaluations[i].classes > 0)
        rows->confusion = (int64_t *)evaluations[i].confusion;
    return a_stage();
}

/* The notes, the table and the object of a row, with the two worst samples. */
static void put_evaluation(fgi_buf *out, size_t i, fg_dataset *val)
{
    static fg_trainer trainer;
    static const char *words[] = {"cat", "dog", "owl", NULL};
    fg_error err = {0};
    const fg_recipe_options options = {.message = put_line, .message_self = out};
    fg_recipe r = {.options = options,
                   .kind = evaluations[i].kind,
                   .fit.fast_dev_run = evaluations[i].is_dev,
                   .trainer = &trainer,
                   .fit_data.val = val};
    r.c = fgi_config_create(NULL, &err);
    if (evaluations[i].key != NULL)
        assert_int_equal(fgi_config_override(r.c, evaluations[i].key, &err), FG_OK);
    r.task.c = r.c;
    r.task.is_classification = evaluations[i].classes > 0;
    r.task.outputs = evaluations[i].classes > 0 ? evaluations[i].classes : 1;
    r.task.class_names = evaluations[i].is_named ? words : NULL;
    r.task.target_mean = 1;
    r.task.target_deviation = 2;
    trainer = (fg_trainer){0};
    trainer.stage[evaluations[i].kind == FG_RECIPE_TEST ? FGI_TEST : FGI_VAL] = counted(i);
    fgt_ok(fgi_run_evaluation_make(&r, evaluations[i].status, &err));
    assert_int_equal(r.evaluation == NULL, evaluations[i].has_none);
    fgi_run_put_classes(&r, out);
    if (r.evaluation != NULL)
        assert_true(fgi_json_write(r.evaluation, JSON_REAL_PRECISION(6), out));
    fgi_buf_puts(out, "\n\n");
    json_decref(r.evaluation);
    fgi_config_destroy(r.c);
}

static void evaluations_have_every_number(void **state)
{
    static const float x[2] = {0};
    static const fg_field field = {"x", {.dtype = FG_F32}};
    const fg_dataset_spec spec = {.count = 2, .fields = &field, .field_count = 1};
    fg_dataset *val = NULL;
    fgi_buf out = {0};
    fg_error err = {0};
    (void)state;
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *const[]){x}, FG_BORROW, &val, &err));
    for (size_t i = 0; i < sizeof evaluations / sizeof evaluations[0]; i++)
        put_evaluation(&out, i, val);
    assert_non_null(out.data);
    fgt_golden("recipe/evaluations.txt", out.data);
    fg_dataset_destroy(val);
    fgi_buf_fini(&out);
}

/* Evaluates images for a kind of run with a folder; the model may have outputs without a class. */
static json_t *evaluated(fg_recipe_kind kind, int64_t outputs, int64_t classes, fgi_buf *out)
{
    static fg_trainer trainer;
    static int64_t confusion[65 * 65];
    static const char *words[66] = {"none"}; /* the name of class -1, which is none */
    static const uint8_t x[2 * 8 * 8 * 3] = {0};
    static const fg_field field = {"x", {.dtype = FG_U8, .rank = 3, .dim = {8, 8, 3}}};
    const fg_dataset_spec spec = {.count = 2, .fields = &field, .field_count = 1};
    fg_error err = {0};
    fg_recipe r = {.kind = kind, .trainer = &trainer, .folder = (char[]){"run"}};
    fgt_ok(
        fg_dataset_from_arrays(&spec, (const void *const[]){x}, FG_BORROW, &r.fit_data.val, &err));
    r.c = fgi_config_create(NULL, &err);
    r.task.c = r.c;
    r.task.is_classification = true;
    r.task.outputs = outputs;
    r.task.class_names = words + 1;
    a_stage()->rows = (fgi_sample_rows){.samples = 1,
                                        .class_count = classes,
                                        .confusion = confusion,
                                        .worst_count = 1,
                                        .worst = {{.index = 1, .prediction = -1}}};
    trainer.stage[FGI_VAL] = a_stage();
    fgt_ok(fgi_run_evaluation_make(&r, FG_OK, &err));
    fgi_run_put_classes(&r, out);
    fg_dataset_destroy(r.fit_data.val);
    fgi_config_destroy(r.c);
    return r.evaluation;
}

static const struct {
    fg_recipe_kind kind;
    int64_t outputs, classes;
    bool has_image, has_classes, has_matrix, is_cut;
} pages[] = {
    {FG_RECIPE_FIT, 10, 10, true, true, true, false},
    {FG_RECIPE_VALIDATE, 11, 11, false, true, true, true},
    {FG_RECIPE_FIT, 64, 64, true, true, true, true},
    {FG_RECIPE_FIT, 65, 65, true, true, false, true},
    {FG_RECIPE_FIT, 5, 4, true, false, false, false},
};

static void large_tables_are_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        fgi_buf out = {0};
        json_t *e = evaluated(pages[i].kind, pages[i].outputs, pages[i].classes, &out);
        const json_t *worst = json_array_get(json_object_get(e, "worst"), 0);
        assert_int_equal(json_is_string(json_object_get(worst, "image")), pages[i].has_image);
        assert_string_equal(fgi_json_words(worst, "prediction"), "-1");
        assert_int_equal(json_object_get(e, "classes") != NULL, pages[i].has_classes);
        assert_int_equal(json_object_get(e, "confusion") != NULL, pages[i].has_matrix);
        const char *text = out.data != NULL ? out.data : "";
        assert_int_equal(strstr(text, " classes with the lowest F1; --summary=FILE") != NULL,
                         pages[i].is_cut);
        json_decref(e);
        fgi_buf_fini(&out);
    }
}

/* Memory in bytes, and the part of all processors that was used. */
static void check_host(const json_t *report)
{
    const json_t *host = json_object_get(report, "host");
    const double used = fgi_json_number(host, "cpu_s"), cpus = fgi_json_number(host, "cpus");
    const double part = fgi_json_number(host, "cpu_fraction");
    fgt_close("part", part * cpus * fgi_json_number(report, "seconds"), used, 0, 1e-3 * used);
    assert_true(fgi_json_number(host, "peak_rss_bytes") > 1e6);
}

/* The file that remains says how the fit ended. */
static void reports_have_an_end(void **state)
{
    static const struct {
        fg_status status;
        const char *word;
    } all[] = {{FG_OK, "finished"}, {FG_ESTOPPED, "stopped"}, {FG_ENUMERIC, "failed"}};
    static fg_trainer trainer;
    fg_recipe r = {.kind = FG_RECIPE_FIT,
                   .command = "fit",
                   .trainer = &trainer,
                   .folder = (char *)fgt_temp_folder()};
    (void)state;
    trainer.stage[FGI_TRAIN] = a_stage();
    trainer.fit.settings = (fg_fit_settings){.strategy = "ddp", .lr_scaling = "sqrt"};
    r.c = fgi_config_create(NULL, NULL);
    assert_int_equal(fgi_config_override(r.c, "data.format=npy", NULL), FG_OK);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        fg_error err = {0};
        json_t *report = NULL;
        fgt_ok(fgi_run_report_keep(&r, all[i].status, &err));
        fgt_ok(fgi_run_view_read_report(r.folder, &report, &err));
        assert_string_equal(fgi_json_words(report, "state"), all[i].word);
        check_host(report);
        json_decref(report);
    }
    json_decref(r.report_before);
    fgi_config_destroy(r.c);
}

/* Evaluated data may have fewer classes than those of the training, but not more. */
static void fewer_classes_are_evaluated(void **state)
{
    static const float x[4] = {0};
    static const int32_t y[2] = {0, 1};
    static const fg_type rows = {FG_F32, 2, {2, 2}}, labels = {FG_S32, 1, {2}};
    char keys[2][512];
    const char *folder = fgt_temp_folder();
    (void)state;
    (void)snprintf(keys[0], sizeof keys[0], "data.val_x=%s/x.npy", folder);
    (void)snprintf(keys[1], sizeof keys[1], "data.val_y=%s/y.npy", folder);
    for (int classes = 1; classes < 4; classes++) {
        fg_error err = {0};
        fgi_run_data data;
        fg_recipe r = {.kind = FG_RECIPE_VALIDATE,
                       .c = fgi_config_create(NULL, &err),
                       .schema = {.format = "npy",
                                  .input = {FG_F32, 1, {2}},
                                  .target = {FG_S32, 0, {0}},
                                  .class_count = classes}};
        fgt_ok(fg_npy_write(fgt_path(folder, "x.npy"), &rows, x, &err));
        fgt_ok(fg_npy_write(fgt_path(folder, "y.npy"), &labels, y, &err));
        assert_true(fgi_config_override(r.c, "data.format=npy", &err) == FG_OK &&
                    fgi_config_override(r.c, "task=classification", &err) == FG_OK &&
                    fgi_config_override(r.c, keys[0], &err) == FG_OK &&
                    fgi_config_override(r.c, keys[1], &err) == FG_OK);
        const fg_status status = fgi_run_data_open_eval(&r, &data, &err);
        assert_int_equal(status, classes < 2 ? FG_EFORMAT : FG_OK);
        if (classes < 2)
            assert_non_null(
                strstr(err.message, "the data have 2 classes: the checkpoint was trained with 1"));
        fgi_run_data_close(&data);
        fgi_config_destroy(r.c);
    }
}

/* The center of the targets of up to 64 samples, if they are not standardized. */
static const struct {
    int64_t count;
    bool is_classification, standardizes;
    double center;
} centers[] = {
    {1, false, false, 1},    {2, false, false, 1.5},  {3, false, false, 1}, /* the third is NaN */
    {64, false, false, 123}, {65, false, false, 123}, {2, true, false, 0},  {2, false, true, 0},
};

static void centers_of_targets(void **state)
{
    static float x[65], y[65];
    static const fg_field fields[] = {{"x", {.dtype = FG_F32}}, {"y", {.dtype = FG_F32}}};
    (void)state;
    y[0] = 1;
    y[1] = 2;
    y[2] = (float)NAN;
    y[63] = 123 * 64 - 3;
    y[64] = 6400;
    for (size_t i = 0; i < sizeof centers / sizeof centers[0]; i++) {
        fg_error err = {0};
        fg_dataset *dataset = NULL;
        fgi_run_task task = {.is_classification = centers[i].is_classification,
                             .standardises = centers[i].standardizes,
                             .target = {.dtype = FG_F32}};
        const fg_dataset_spec spec = {
            .count = centers[i].count, .fields = fields, .field_count = 2};
        fgt_ok(
            fg_dataset_from_arrays(&spec, (const void *const[]){x, y}, FG_BORROW, &dataset, &err));
        fgt_ok(fgi_run_task_find_center(&task, dataset, &err));
        fgt_close("center", task.target_center, centers[i].center, 0, 1e-9);
        fg_dataset_destroy(dataset);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(descriptions_are_read_back), cmocka_unit_test(a_plain_regression),
    cmocka_unit_test(columns_of_a_csv),           cmocka_unit_test(a_stratified_split),
    cmocka_unit_test(others_are_refused),         cmocka_unit_test(what_is_just_allowed),
    cmocka_unit_test(differences_are_named),      cmocka_unit_test(many_differences_are_counted),
    cmocka_unit_test(training_differences),       cmocka_unit_test(the_rate_of_a_resumed_run),
    cmocka_unit_test(the_limits_of_a_search),     cmocka_unit_test(evaluations_have_every_number),
    cmocka_unit_test(centers_of_targets),         cmocka_unit_test(the_file_has_every_number),
    cmocka_unit_test(classes_of_both_parts),      cmocka_unit_test(large_tables_are_cut),
    cmocka_unit_test(reports_have_an_end),        cmocka_unit_test(model_differences),
    cmocka_unit_test(column_differences),         cmocka_unit_test(fewer_classes_are_evaluated),
};
FGT_MAIN(tests)
