/* test_cli_config.c - configurations: defaults, YAML and overrides; every kind of error and its
 * message; writing YAML.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/alloc.h"
#include "recipe/config/config.h"
#include "recipe/config/config_table.h"
#include "recipe/run/run.h"
#include "config_text.h"
#include "key_help.h"
#include "golden.h"
#include "row_names.h"
#include "base/text.h"

static void defaults(void **state)
{
    fgi_config *c = fgi_config_create(NULL, NULL);
    assert_string_equal(fg_option_string(c->values, "task"), "auto");
    assert_string_equal(fg_option_string(c->values, "model.name"), "mlp");
    assert_int_equal(fg_option_count(c->values, "model.hidden"), 2);
    assert_int_equal(fg_option_int_at(c->values, "model.hidden", 1), 512);
    assert_null(fg_option_string(c->values, "data.format"));
    assert_string_equal(fg_option_string(c->values, "data.delimiter"), ",");
    assert_int_equal(fg_option_count(c->values, "data.ignore"), 0);
    assert_true(fg_option_bool(c->values, "data.normalize"));
    assert_true(fg_option_is_auto(c->values, "optimizer.lr"));
    assert_true(fg_option_is_auto(c->values, "optimizer.betas"));
    assert_true(fg_option_is_auto(c->values, "optimizer.eps"));
    assert_int_equal(fg_option_int(c->values, "trainer.max_steps"), -1);
    assert_false(fg_option_is_given(c->values, "trainer.max_steps"));
    assert_string_equal(fgi_config_place(c, "trainer.max_steps"), "default");
    fgi_config_destroy(c);
    fgi_config_destroy(NULL);
}

/* A complete example, with a byte order mark. */
static void a_whole_file(void **state)
{
    fgi_config *c =
        config_read("\xef\xbb\xbf"
                    "task: classification\n"
                    "model: {name: mlp, hidden: [64, 32], activation: tanh, dropout: 0}\n"
                    "data: {format: csv, path: my file.csv, target: \"8\", val_fraction: 0.2,\n"
                    "       split_seed: 3, ignore: [id, \"a b\"], categorical: zip}\n"
                    "optimizer: {name: sgd, lr: 0.1, momentum: 0.9, weight_decay: 5e-4}\n"
                    "schedule: {name: onecycle, pct_start: 0.25}\n"
                    "trainer:\n"
                    "  accelerator: cpu # a comment\n"
                    "  devices: auto\n"
                    "  precision: 32-true\n"
                    "  batch_size: 128\n"
                    "  max_epochs: 30\n"
                    "  limit_train_batches: 0.5\n"
                    "  limit_val_batches: 7\n"
                    "  run_dir: \"auto\"\n"
                    "  seed: ~\n");
    assert_int_equal(fg_option_count(c->values, "model.hidden"), 2);
    assert_int_equal(fg_option_int_at(c->values, "model.hidden", 0), 64);
    assert_string_equal(fg_option_string(c->values, "data.path"), "my file.csv");
    assert_string_equal(fg_option_string(c->values, "data.target"), "8");
    assert_string_equal(fg_option_string_at(c->values, "data.ignore", 1), "a b");
    assert_null(fg_option_string_at(c->values, "data.ignore", 2));
    assert_string_equal(fg_option_string_at(c->values, "data.categorical", 0),
                        "zip"); /* a list of one */
    assert_true(fg_option_float(c->values, "data.val_fraction") == 0.2);
    assert_true(fg_option_float(c->values, "optimizer.weight_decay") == 5e-4);
    assert_false(fg_option_is_auto(c->values, "optimizer.lr"));
    assert_true(fg_option_is_auto(c->values, "trainer.devices"));
    assert_int_equal(fg_option_int(c->values, "trainer.batch_size"), 128);
    assert_string_equal(fgi_config_place(c, "trainer.batch_size"), "run.yaml:11:15");
    assert_int_equal(fg_amount_of(c->trainer.limits.limit_train_batches, 21), 10);
    assert_int_equal(fg_amount_of(c->trainer.limits.limit_train_batches, 1), 1);
    assert_int_equal(fg_amount_of(c->trainer.limits.limit_val_batches, 21), 7);
    assert_int_equal(fg_amount_of(c->trainer.limits.limit_val_batches, 3), 3);
    assert_false(fg_option_is_auto(c->values, "trainer.run_dir")); /* quoted: a name */
    assert_string_equal(fg_option_string(c->values, "trainer.run_dir"), "auto");
    assert_false(fg_option_is_given(c->values, "trainer.seed"));
    fgi_config_destroy(c);
}

static void nothing_is_all_defaults(void **state)
{
    static const char *const nothing[] = {"",   "\n", "# only this\n", "---\n", "model:\n",
                                          "{}", "~"};
    fgi_config *plain = fgi_config_create(NULL, NULL);
    char *expected = config_printed(plain, false);
    fgi_config_destroy(plain);
    for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++) {
        fgi_config *c = config_read(nothing[i]);
        char *text = config_printed(c, false);
        assert_string_equal(text, expected);
        fgi_free(text);
        fgi_config_destroy(c);
    }
    fgi_free(expected);
}

static void unknown_keys(void **state)
{
    config_refused(
        "trainer:\n  max_epoch: 3\n",
        "run.yaml:2:3: unknown key 'trainer.max_epoch': did you mean 'trainer.max_epochs'?");
    config_refused("max_epochs: 3\n",
                   "run.yaml:1:1: unknown key 'max_epochs': did you mean 'trainer.max_epochs'?");
    config_refused("trainer: {log_every_n_steps: 3}\n",
                   "run.yaml:1:11: unknown key 'trainer.log_every_n_steps': did you mean "
                   "'trainer.log_every'?");
    config_refused(
        "optimizer: {learning_rate: 3}\n",
        "run.yaml:1:13: unknown key 'optimizer.learning_rate': did you mean 'optimizer.lr'?");
    config_refused("trainer.seed: 3\n",
                   "run.yaml:1:1: unknown key 'trainer.seed': write 'seed' under 'trainer'");
    config_refused("tasks: regression\n",
                   "run.yaml:1:1: unknown key 'tasks': did you mean 'task'?");
    config_refused("qqqqqqqq: 1\n",
                   "run.yaml:1:1: unknown key 'qqqqqqqq' (`fulgurite help config` lists all keys)");
    config_refused("trainer: {epoch: 1}\n",
                   "run.yaml:1:11: unknown key 'trainer.epoch': did you mean "
                   "'trainer.max_epochs'?");
    config_refused("epochs: 1\n",
                   "run.yaml:1:1: unknown key 'epochs': did you mean 'trainer.max_epochs'?");
    config_refused("model: {batch_sise: 1}\n", /* of another section */
                   "run.yaml:1:9: unknown key 'model.batch_sise': did you mean "
                   "'trainer.batch_size'?");
    config_refused("trainr: {seed: 1}\n",
                   "run.yaml:1:1: unknown key 'trainr': did you mean 'trainer'?");
}

static const struct {
    const char *yaml, *message;
} wrong_number_rows[] = {
    {"trainer:\n  batch_size: 12.5\n",
     "run.yaml:2:15: trainer.batch_size: expected an integer from 1 to 16777216 (for "
     "example 64), got '12.5'"},
    {"trainer: {batch_size: 0}\n", "run.yaml:1:23: trainer.batch_size: expected an integer "
                                   "from 1 to 16777216 (for example 64), got '0'"},
    {"trainer: {batch_size: \"32\"}\n",
     "run.yaml:1:24: trainer.batch_size: expected an integer from 1 to 16777216 (for "
     "example 64), got the string "
     "'32': remove the quotes"},
    {"trainer: {batch_size: [32]}\n",
     "run.yaml:1:11: trainer.batch_size: expected an integer from 1 to 16777216 (for "
     "example 64), got a list"},
    {"trainer: {seed: 99999999999999999999}\n",
     "run.yaml:1:17: trainer.seed: expected an integer, 0 or greater (for example 42), got "
     "'99999999999999999999': the largest value is 9007199254740992"},
    {"optimizer: {lr: 1e37}\n",
     "run.yaml:1:17: optimizer.lr: expected a number, 0 or greater, or auto (for "
     "example 1e-3), got '1e37': the largest value is 1e+30"},
    {"optimizer: {lr: 1e-400}\n",
     "run.yaml:1:17: optimizer.lr: expected a number, 0 or greater, or auto (for "
     "example 1e-3), got '1e-400': too small for f32 (0, or at least 1.2e-38)"},
    {"optimizer: {lr: 0,01, name: sgd}\n",
     "run.yaml:1:17: '0,01' is a value and another key: use a decimal point, 0.01"},
    {"optimizer:\n  lr: 0,01\n",
     "run.yaml:2:7: optimizer.lr: expected a number, 0 or greater, or auto (for "
     "example 1e-3), got '0,01': did you mean '0.01'?"},
    {"data: {ignore: [a, ~]}\n",
     "run.yaml:1:8: data.ignore: expected a list of strings (for example [id, "
     "name]), got null in a list: put it in quotes if it is a word"},
    {"optimizer: {lr: fast}\n", "run.yaml:1:17: optimizer.lr: expected a number, 0 or "
                                "greater, or auto (for example 1e-3), got 'fast'"},
    {"optimizer: {lr: .nan}\n", "run.yaml:1:17: optimizer.lr: expected a number, 0 or "
                                "greater, or auto (for example 1e-3), got '.nan'"},
    {"model: {dropout: 1}\n", "run.yaml:1:18: model.dropout: expected a number from 0 to "
                              "less than 1 (for example 0.1), got '1'"},
    {"model: {hidden: [12, x]}\n",
     "run.yaml:1:9: model.hidden: expected a list of 1 to 16 integers "
     "from 1 to 1048576 (for example [256, 64]), got 'x'"},
    {"model: {hidden: [12, [1]]}\n",
     "run.yaml:1:9: model.hidden: expected a list of 1 to 16 integers from 1 to 1048576 (for "
     "example [256, 64]), got a list"},
};

static void wrong_numbers(void **state)
{
    for (size_t i = 0; i < sizeof wrong_number_rows / sizeof wrong_number_rows[0]; i++)
        config_refused(wrong_number_rows[i].yaml, wrong_number_rows[i].message);
}

static const char *expected(const char *place, fg_registry_kind kind, const char *got)
{
    static char message[1024];
    (void)snprintf(message, sizeof(message), "%s: expected %s, %s", place,
                   expected_names(kind, strrchr(place, ' ') + 1), got);
    return message;
}

static void wrong_words(void **state)
{
    config_refused("data: {no_header: maybe}\n",
                   "run.yaml:1:19: data.no_header: expected true or false, got 'maybe'");
    config_refused("model: {name: {a: 1}}\n",
                   expected("run.yaml:1:9: model.name", FG_REGISTRY_MODEL, "got a mapping"));
    config_refused("model: {name: transformer}\n",
                   expected("run.yaml:1:15: model.name", FG_REGISTRY_MODEL, "got 'transformer'"));
    config_refused("optimizer: {name: adamq}\n",
                   expected("run.yaml:1:19: optimizer.name", FG_REGISTRY_OPTIMIZER,
                            "got 'adamq': did you mean 'adam'?"));
    config_refused(
        "trainer: {precision: bf16-mix}\n",
        "run.yaml:1:22: trainer.precision: expected one of "
        "32-true|bf16-mixed|bf16-true|16-mixed|16-true|64-true, got 'bf16-mix': did you mean "
        "'bf16-mixed'?");
    config_refused(
        "trainer: {limit_val_batches: 1.5}\n",
        "run.yaml:1:30: trainer.limit_val_batches: expected a fraction (0.0 to 1.0) or a count "
        "(for example "
        "20), got '1.5'");
}

static void wrong_structures(void **state)
{
    config_refused("model: mlp\n",
                   "run.yaml:1:1: model: expected its keys (model: {key: value}), got a scalar");
    config_refused("- model\n", "run.yaml: expected a mapping of keys to values");
    config_refused(
        "data: {path: &x f.csv}\nmodel: {weights: *x}\n",
        "run.yaml:2:9: model.weights: expected a string (for example pretrained.safetensors), got "
        "an alias (*name), which is not supported here");
    config_refused(
        "data:\n  path: |\n    a\n    b\n",
        "run.yaml:2:3: data.path: expected a string (for example data/homes.csv), got a block "
        "scalar ('|' or '>'), which is not supported here");
}

/* Sharding rules, in their order. */
static void rules(void **state)
{
    static const char expected[] =
        "trainer.sharding: expected a map, {KEY: VALUE, ...} (for example {fc1.*: model, "
        "fc2.weight: [none, model]}), got ";
    static const char *const refused[][2] = {{"[fc1.*=model]", "a list"},
                                             {"[{match: fc1, split: [model]}]", "a list"},
                                             {"fc1=model", "'fc1=model': write {fc1: model}"},
                                             {"{fc1: {none: model}}", "a mapping"}};
    fg_trainer_devices devices = {0};
    fg_error err = {0};
    char yaml[128], message[300];
    (void)state;
    fgi_config *c = config_read("trainer:\n  sharding:\n"
                                "    'fc1.*': model\n"
                                "    fc2.weight: [none, model]\n"
                                "    blocks.*.w: [none, none,\n      data+model]\n"
                                "    whole: ''\n");
    const fgi_config_key *key = fgi_config_find(NULL, "trainer.sharding");
    assert_string_equal(
        fgi_config_format(c, key->path),
        "{\"fc1.*\": model, fc2.weight: [none, model], \"blocks.*.w\": [none, none, data+model], "
        "whole: \"\"}");
    fgt_ok(fgi_config_rules(c, &devices, &err));
    assert_int_equal(devices.sharding_rule_count, 4);
    assert_string_equal(devices.sharding_rules[0].spec, "model");
    assert_string_equal(devices.sharding_rules[1].match, "fc2.weight");
    assert_string_equal(devices.sharding_rules[1].spec, "none, model");
    assert_string_equal(devices.sharding_rules[3].spec, "");
    fgt_ok(fgi_config_read(c, "old.yaml", "trainer: {sharding: []}\n", 24, &err));
    assert_string_equal(fgi_config_format(c, key->path), "{}");
    fgt_ok(fgi_config_override(c, "trainer.sharding={*.0.weight: [model, none], b: data}", &err));
    assert_string_equal(fgi_config_format(c, key->path),
                        "{\"*.0.weight\": [model, none], b: data}");
    fgi_config_destroy(c);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        (void)snprintf(yaml, sizeof yaml, "trainer: {sharding: %s}\n", refused[i][0]);
        (void)snprintf(message, sizeof message, "run.yaml:1:%d: %s%s", i == 2 ? 21 : 11, expected,
                       refused[i][1]);
        config_refused(yaml, message);
    }
    config_refused("data: {source_options: 'path_column=file, delimiter=;'}\n",
                   "run.yaml:1:25: data.source_options: expected a map, {KEY: VALUE, ...} (for "
                   "example {path_column: file, label_column: class}), got 'path_column=file, "
                   "delimiter=;': write {path_column: file, delimiter: ;}");
}

#define AXES                                                                                       \
    ": expected at most 6 axes, each a name with a number of devices, or -1 for the remaining "    \
    "devices"
#define SPEC " or none for each dimension, such as [none, data]"

/* The mesh of trainer.mesh or trainer.model_devices, and rules that name its axes. */
static const struct {
    const char *yaml, *message; /* message: NULL: valid */
    fg_mesh_axis axes[4];
} mesh_rows[] = {
    {"model: {name: mlp}\n", NULL, {{"data", -1}, {"model", 1}}},
    {"trainer: {model_devices: 4}\n", NULL, {{"data", -1}, {"model", 4}}},
    {"trainer: {mesh: {data: 2, fsdp: -1, model: 2}, sharding: {a: [data+fsdp, model], "
     "b: none, c: [], d: [none, none, ]}}\n",
     NULL,
     {{"data", 2}, {"fsdp", -1}, {"model", 2}}},
    {"trainer: {mesh: {data: 2}, model_devices: 2}\n",
     "run.yaml:1:43: trainer.model_devices: trainer.mesh is given too: expected an axis "
     "'model' "
     "in trainer.mesh alone",
     {{"", 0}}},
    {"trainer: {mesh: {data: two}}\n", "run.yaml:1:11: trainer.mesh: 'data: two'" AXES, {{"", 0}}},
    {"trainer: {mesh: {data: 0}}\n", "run.yaml:1:11: trainer.mesh: 'data: 0'" AXES, {{"", 0}}},
    {"trainer: {mesh: {data: }}\n", "run.yaml:1:11: trainer.mesh: 'data: null'" AXES, {{"", 0}}},
    {"trainer: {mesh: {data: -2}}\n", "run.yaml:1:11: trainer.mesh: 'data: -2'" AXES, {{"", 0}}},
    {"trainer: {mesh: {data: 1025}}\n",
     "run.yaml:1:11: trainer.mesh: 'data: 1025'" AXES,
     {{"", 0}}},
    {"trainer: {mesh: {data: 1024, an_axis_of_23_letters_i: 1}}\n",
     NULL,
     {{"data", 1024}, {"an_axis_of_23_letters_i", 1}}},
    {"trainer: {mesh: {an_axis_of_24_letters_it: 1}}\n",
     "run.yaml:1:11: trainer.mesh: 'an_axis_of_24_letters_it: 1'" AXES,
     {{"", 0}}},
    {"trainer: {mesh: {a: 1, b: 1, c: 1, d: 1, e: 1, data: 2, g: 1}}\n",
     "run.yaml:1:11: trainer.mesh: 'g: 1'" AXES,
     {{"", 0}}},
    {"trainer: {sharding: {fc1: rows}}\n",
     "run.yaml:1:11: trainer.sharding: 'rows': expected an axis of the mesh (data, model)" SPEC,
     {{"", 0}}},
    {"trainer: {mesh: {data: 2, fsdp: 2}, sharding: {fc1: [fsdp, model]}}\n",
     "run.yaml:1:37: trainer.sharding: 'model': expected an axis of the mesh (data, fsdp)" SPEC,
     {{"", 0}}},
    {"trainer: {sharding: {fc1: none/model}}\n",
     "run.yaml:1:11: trainer.sharding: 'none/model': expected an axis of the mesh (data, "
     "model)" SPEC,
     {{"", 0}}},
};

static void groups_are_maps_of_maps(void **state)
{
    (void)state;
    fgi_config *c = config_read("optimizer:\n  groups:\n    \"*.bias\": {weight_decay: 0}\n"
                                "    head.*:\n      lr: 1e-2\n      betas: [0.9, 0.95]\n");
    const char *all = "{\"*.bias\": {weight_decay: 0}, \"head.*\": {lr: 1e-2, betas: [0.9, 0.95]}}";
    assert_string_equal(fgi_config_format(c, "optimizer.groups"), all);
    assert_int_equal(c->optimizer.groups.groups.count, 2);
    assert_string_equal(c->optimizer.groups.groups.at[1].value, "{lr: 1e-2, betas: [0.9, 0.95]}");
    fgi_config_destroy(c);
    config_refused("optimizer: {groups: {a: [1]}}",
                   "run.yaml:1:13: optimizer.groups: expected a map, {KEY: VALUE, ...} (for "
                   "example {head.*: {lr: 1e-2}, \"*.bias\": {weight_decay: 0}}), got a list");
}

static void meshes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mesh_rows / sizeof mesh_rows[0]; i++) {
        fg_error err = {0};
        fg_mesh_options mesh;
        fgi_config *c = config_read(mesh_rows[i].yaml);
        assert_int_equal(fgi_config_mesh(c, &mesh, &err) == FG_OK, mesh_rows[i].message == NULL);
        if (mesh_rows[i].message != NULL)
            assert_string_equal(err.message, mesh_rows[i].message);
        for (int k = 0; mesh_rows[i].message == NULL && k < 4; k++) {
            assert_string_equal(mesh.axes[k].name, mesh_rows[i].axes[k].name);
            assert_int_equal(mesh.axes[k].size, mesh_rows[i].axes[k].size);
        }
        fgi_config_destroy(c);
    }
}

static const struct {
    const char *yaml, *message; /* without its place */
} commas_and_nulls[] = {
    {"model: {hidden: [3, null]}",
     "model.hidden: expected a list of 1 to 16 integers from 1 to 1048576 (for example [256, 64]), "
     "got null in a list: put it in quotes if it is a word"},
    {"data: {ignore: [a, ~]}", "data.ignore: expected a list of strings (for example [id, name]), "
                               "got null in a list: put it in quotes if it is a word"},
    {"model: {dropout: 0,5, name: mlp}",
     "'0,5' is a value and another key: use a decimal point, 0.5"},
    {"optimizer: {eps: 1, lr: 1,5: }",
     "'1,5' is a value and another key: use a decimal point, 1.5"},
    {"optimizer: {lr: 0,9}", "'0,9' is a value and another key: use a decimal point, 0.9"},
    {"optimizer: {lr: 0,0}", "'0,0' is a value and another key: use a decimal point, 0.0"},
    {"optimizer: {lr: 0,x}", "unknown key 'optimizer.x': did you mean 'data.x'?"},
    {"optimizer: {name: sgd, 5}",
     "unknown key 'optimizer.5' (`fulgurite help config` lists all keys)"},
    {"optimizer: {lr: 0, 5: 3}",
     "unknown key 'optimizer.5' (`fulgurite help config` lists all keys)"},
    {"data: {path: x,5}", "unknown key 'data.5' (`fulgurite help config` lists all keys)"},
};

static void values_that_are_two(void **state)
{
    for (size_t i = 0; i < sizeof commas_and_nulls / sizeof commas_and_nulls[0]; i++) {
        fg_error err = {0};
        const char *yaml = commas_and_nulls[i].yaml;
        fgi_config *c = fgi_config_create(NULL, NULL);
        assert_int_not_equal(fgi_config_read(c, "run.yaml", yaml, strlen(yaml), &err), FG_OK);
        assert_string_equal(strstr(err.message, ": ") + 2, commas_and_nulls[i].message);
        fgi_config_destroy(c);
    }
}

/* Bytes after "task: #" and whether they are text: characters of one to four bytes. */
static const struct {
    const char *bytes;
    bool is_text;
} characters[] = {
    {"\x7e", true},
    {"\x7f", false},
    {"\x1f", false},
    {"\t", true},
    {"\r\n", true},
    {"\x0b", false},
    {"\xc1\xbf", false},
    {"\xc2\x80", true},
    {"\xdf\xbf", true},
    {"\xdf", false},
    {"\xdf\xc0", false},
    {"\xe0\xa0\x80", true},
    {"\xe2\x82", false},
    {"\xef\xbf\xbd", true},
    {"\xe2\x82\x7f", false},
    {"\xf0\x9f\x98", false},
    {"\xf0\x9f\x98\x80", true},
    {"\xf4\x8f\xbf\xbd", true},
    {"\xf5\x80\x80\x80", false},
    {"\x80", false},
};

static void characters_of_a_file(void **state)
{
    for (size_t i = 0; i < sizeof characters / sizeof characters[0]; i++) {
        char text[32], message[96];
        fg_error err = {0};
        fgi_config *c = fgi_config_create(NULL, NULL);
        (void)snprintf(text, sizeof text, "task: # %s", characters[i].bytes);
        (void)snprintf(message, sizeof message, "run.yaml:1:9: not YAML: byte 0x%02x is not text",
                       (unsigned char)characters[i].bytes[0]);
        if ((fgi_config_read(c, "run.yaml", text, strlen(text), &err) == FG_OK) !=
            characters[i].is_text)
            fail_msg("row %zu: %s", i, err.message);
        assert_string_equal(err.message, characters[i].is_text ? "" : message);
        fgi_config_destroy(c);
    }
}

/* A file of 1 MiB is read, a longer one is not. */
static void the_longest_file(void **state)
{
    const size_t most = 1 << 20;
    const char *path = fgt_path(fgt_temp_folder(), "long.yaml");
    char *text = fgi_alloc(most + 1), message[512];
    memset(text, '#', most + 1);
    memcpy(text, "task: regression\n", 17);
    for (size_t more = 0; more < 2; more++) {
        fg_error err = {0};
        fgi_config *c = fgi_config_create(NULL, NULL);
        fgt_write(path, text, most + more);
        assert_int_equal(fgi_config_read_file(c, path, &err) == FG_OK, more == 0);
        assert_string_equal(fg_option_string(c->values, "task"), more == 0 ? "regression" : "auto");
        (void)snprintf(message, sizeof message,
                       "'%s' is longer than 1 MiB, which is too long for a configuration", path);
        assert_string_equal(err.message, more == 0 ? "" : message);
        fgi_config_destroy(c);
    }
    fgi_free(text);
}

static void broken_yaml(void **state)
{
    static const char *const broken[] = {
        "model: {name: mlp\n",
        "model: [\n",
        "a: b: c\n",
        "\tmodel: x\n",
        "model: {name: mlp}\nmodel: {}\n",
        "task: \"regression\n",
        "task: *nowhere\n",
        "task: \x7f\n",
    };
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        fg_error err = {0};
        fgi_config *c = fgi_config_create(NULL, NULL);
        assert_int_not_equal(fgi_config_read(c, "run.yaml", broken[i], strlen(broken[i]), &err),
                             FG_OK);
        if (strncmp(err.message, "run.yaml:", 9) != 0)
            fail_msg("%s: %s", broken[i], err.message);
        fgi_config_destroy(c);
    }
    fg_error err = {0};
    fgi_config *c = fgi_config_create(NULL, NULL);
    assert_int_not_equal(fgi_config_read(c, "run.yaml", "task\0", 5, &err), FG_OK);
    assert_string_equal(err.message, "run.yaml:1:5: not YAML: byte 0x00 is not text");
    assert_int_not_equal(fgi_config_read(c, "run.yaml", "a: 1\n \xc3\xa9\xff", 9, &err), FG_OK);
    assert_string_equal(err.message, "run.yaml:2:3: not YAML: byte 0xff is not text");
    assert_int_not_equal(fgi_config_read(c, "run.yaml", "\n%YAML 1.2\n", 11, &err), FG_OK);
    assert_string_equal(err.message, "run.yaml:2:1: YAML directives (%) are not supported");
    assert_int_not_equal(fgi_config_read_file(c, "/nowhere/run.yaml", &err), FG_OK);
    assert_string_equal(err.message, "cannot open '/nowhere/run.yaml': No such file or directory");
    fgi_config_destroy(c);
}

static void keep_line(void *self, const char *line)
{
    (void)strncat(self, line, 400);
    (void)strncat(self, "\n", 2);
}

/* A key without effect, because of another key, causes a warning unless it has its default
 * value. Those of a task that is yet to be inferred may have an effect. */
static void keys_without_effect(void **state)
{
    char lines[2048] = "";
    fg_error err = {0};
    fgi_config *c = config_read("data: {format: npy, path: x, target: ~, no_header: false}\n"
                                "optimizer: {name: sgd, momentum: 0.9, betas: [0.9, 0.99]}\n"
                                "model: {classes: 3}\n");
    assert_int_equal(fgi_config_override(c, "schedule.pct_start=0.5", &err), FG_OK);
    fgi_config_warn(c, NULL, keep_line, lines);
    assert_string_equal(lines,
                        "run.yaml:1:27: data.path has no effect: data.format is npy\n"
                        "run.yaml:2:39: optimizer.betas has no effect: optimizer.name is sgd\n"
                        "--schedule.pct_start has no effect: schedule.name is constant\n");
    lines[0] = '\0';
    assert_int_equal(fgi_config_override(c, "task=regression", &err),
                     FG_OK); /* now that it is inferred */
    fgi_config_warn(c, "task", keep_line, lines);
    assert_string_equal(lines, "run.yaml:3:18: model.classes has no effect: task is regression\n");
    fgi_config_destroy(c);
}

static void overrides(void **state)
{
    fg_error err = {0};
    fgi_config *c = config_read("trainer: {batch_size: 8, seed: 3}\n");
    assert_int_equal(fgi_config_override(c, "trainer.batch_size=64", &err), FG_OK);
    assert_int_equal(fgi_config_override(c, "model.hidden=[10,20, 30]", &err), FG_OK);
    assert_int_equal(fgi_config_override(c, "optimizer.betas=0.5,0.6", &err), FG_OK);
    assert_int_equal(fgi_config_override(c, "data.path=a=b, c.csv", &err), FG_OK);
    assert_int_equal(fgi_config_override(c, "data.delimiter=;", &err), FG_OK);
    assert_int_equal(fgi_config_override(c, "task=regression", &err), FG_OK);
    assert_int_equal(fg_option_int(c->values, "trainer.batch_size"), 64);
    assert_string_equal(fgi_config_place(c, "trainer.batch_size"), "--trainer.batch_size");
    assert_int_equal(fg_option_int(c->values, "trainer.seed"), 3);
    assert_int_equal(fg_option_count(c->values, "model.hidden"), 3);
    assert_int_equal(fg_option_int_at(c->values, "model.hidden", 2), 30);
    assert_true(fg_option_float_at(c->values, "optimizer.betas", 1) == 0.6);
    assert_string_equal(fg_option_string(c->values, "data.path"), "a=b, c.csv");
    assert_string_equal(fg_option_string(c->values, "data.delimiter"), ";");
    assert_int_equal(fgi_config_override(c, "trainer.loggers=[]", &err), FG_OK);
    assert_int_equal(fg_option_count(c->values, "trainer.loggers"), 0);
    assert_int_not_equal(fgi_config_override(c, "trainer.batch_size=many", &err), FG_OK);
    assert_string_equal(err.message, "--trainer.batch_size: expected an integer from 1 to 16777216 "
                                     "(for example 64), got 'many'");
    assert_int_equal(fg_option_int(c->values, "trainer.batch_size"),
                     64); /* a rejected value changes nothing */
    assert_int_not_equal(fgi_config_override(c, "trainer.batchsize=1", &err), FG_OK);
    assert_string_equal(err.message,
                        "--trainer.batchsize: unknown key: did you mean 'trainer.batch_size'?");
    assert_int_not_equal(fgi_config_override(c, "trainer.seed", &err), FG_OK);
    assert_string_equal(err.message, "--trainer.seed: expected --trainer.seed=VALUE");
    fgi_config_destroy(c);
}

/* The file and the line of a key, also where the file's name has a colon. */
static void files_and_lines(void **state)
{
    static const char text[] = "\n\n\n\n\n\n\n\n\n\nmodel:\n  name: mlp\n";
    static const char *const files[] = {"run.yaml", "a:7/run.yaml"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        fg_error err = {0};
        int line = -1;
        fgi_config *c = fgi_config_create(NULL, &err);
        assert_int_equal(fgi_config_read(c, files[i], text, sizeof text - 1, &err), FG_OK);
        char *file = fgi_config_file(c, "model.name", &line);
        assert_string_equal(file, files[i]);
        assert_int_equal(line, 12);
        fgi_free(file);
        assert_null(fgi_config_file(c, "model.hidden", &line));
        assert_int_equal(line, 0);
        assert_int_equal(fgi_config_override(c, "model.name=lenet", &err), FG_OK);
        assert_null(fgi_config_file(c, "model.name", &line));
        fgi_config_destroy(c);
    }
}

static void whole_words_are_listed(void **state)
{
    static const struct {
        const char *list, *word;
        bool is_listed;
    } words[] = {{"adam|sgd|lion", "adam", true},   {"adam|sgd|lion", "sgd", true},
                 {"adam|sgd|lion", "lion", true},   {"adam|sgd|lion", "ada", false},
                 {"adam|sgd|lion", "lio", false},   {"adam|sgd|lion", "gd", false},
                 {"adam|sgd|lion", "adamw", false}, {"adamw|adam", "adam", true}};
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (fgi_is_one_of(words[i].word, words[i].list) != words[i].is_listed)
            fail_msg("%s in %s", words[i].word, words[i].list);
}

/* A key of 120 letters is named in full. */
static void long_keys_are_named(void **state)
{
    fg_error err = {0};
    char key[128] = "", expected[160];
    fgi_config *c = fgi_config_create(NULL, &err);
    (void)state;
    memset(key, 'q', 120);
    assert_int_not_equal(fgi_config_override(c, key, &err), FG_OK);
    (void)snprintf(expected, sizeof expected, "--%s: unknown key", key);
    assert_string_equal(err.message, expected);
    fgi_config_destroy(c);
}

static const char *const printed_texts[] = {
    "",      "auto",  "\"null\"",  "\"~\"", "true",      "3",
    "1e5",   " lead", "a: b",      "#x",    "say \"x\"", "back\\slash",
    "tab\t", "\x01",  "[a, b]",    "naïve", "-",         "plain/path-1.csv",
    "*x",    "a,b",   "line\nend", "'q'",   "@x",        "%x"};

/* Strings that YAML would read as another type if unquoted. */
static void what_is_printed_reads_back(void **state)
{
    fg_error err = {0};
    for (size_t i = 0; i < sizeof(printed_texts) / sizeof(printed_texts[0]); i++) {
        char assignment[64];
        fgi_config *c = fgi_config_create(NULL, NULL);
        (void)snprintf(assignment, sizeof(assignment), "data.path=%s", printed_texts[i]);
        assert_int_equal(fgi_config_override(c, assignment, &err), FG_OK);
        (void)snprintf(assignment, sizeof(assignment), "optimizer.lr=%.17g", 0.1 + (double)i / 7);
        assert_int_equal(fgi_config_override(c, assignment, &err), FG_OK);
        assert_int_equal(
            fgi_config_override(
                c, i % 2 ? "trainer.limit_val_batches=1.0" : "trainer.limit_val_batches=1", &err),
            FG_OK);
        char *plain = config_printed(c, false), *explained = config_printed(c, true);
        fgi_config *again = config_read(plain), *third = config_read(explained);
        char *twice = config_printed(again, false), *thrice = config_printed(third, false);
        assert_string_equal(fg_option_string(again->values, "data.path"),
                            fg_option_string(c->values, "data.path"));
        assert_true(fg_option_float(again->values, "optimizer.lr") ==
                    fg_option_float(c->values, "optimizer.lr"));
        assert_string_equal(twice, plain);
        assert_string_equal(thrice, plain);
        fgi_free(plain);
        fgi_free(explained);
        fgi_free(twice);
        fgi_free(thrice);
        fgi_config_destroy(c);
        fgi_config_destroy(again);
        fgi_config_destroy(third);
    }
}

/* What a checkpoint has of the configuration: the model and its inputs, and how it is trained. */
static void parts_for_a_checkpoint(void **state)
{
    static const char yaml[] =
        "task: classification\n"
        "model: {name: mlp, hidden: [3], dropout: 0.1, weights: w, weights_skip: [a]}\n"
        "data: {format: images, train: a, val: b, size: 20, augment: [random_flip], flip: 0.5}\n"
        "optimizer: {name: sgd, lr: 0.1, momentum: 0.9}\n"
        "schedule: {name: onecycle}\n"
        "loss: {label_smoothing: 0.1}\n"
        "trainer: {precision: bf16-mixed, accumulate_grad_batches: 2, gradient_clip_val: 1,\n"
        "  callbacks: [early_stop, ema: {decay: 0.5}, swa: {swa_lrs: 0.1}], lr_scaling: linear}\n";
    fg_error err = {0};
    fgi_buf text = {0};
    fgi_config *c = fgi_config_create(NULL, NULL);
    if (fgi_config_read(c, "run.yaml", yaml, sizeof yaml - 1, &err) != FG_OK)
        fail_msg("%s", err.message);
    fgi_buf_puts(&text, "# the model\n");
    fgi_config_print_model(c, &text);
    fgi_buf_puts(&text, "# the training\n");
    fgi_config_print_training(c, &text);
    fgt_golden("cli/print_parts.txt", text.data);
    fgi_buf_fini(&text);
    fgi_config_destroy(c);
}

/* All keys that a resumed run compares, and what is suggested for names of other programs. */
static void names_of_keys(void **state)
{
    fgi_buf text = {0};
    fgi_buf_puts(&text, "# of the training\n");
    for (size_t i = 0; i < fgi_config_table_built_in()->count; i++)
        if (fgi_config_is_of_training(&fgi_config_table_built_in()->keys[i]))
            fgi_buf_printf(&text, "%s\n", fgi_config_table_built_in()->keys[i].path);
    fgi_buf_puts(&text, "# of other programs\n");
    for (size_t i = 0; i < fgi_config_elsewhere_count; i++)
        fgi_buf_printf(&text, "%s: %s\n", fgi_config_names_elsewhere[i].theirs,
                       key_suggest(fgi_config_names_elsewhere[i].theirs));
    assert_non_null(text.data);
    fgt_golden("cli/key_names.txt", text.data);
    fgi_buf_fini(&text);
}

static const struct {
    const char *name;
    bool is_data;
} file_names[] = {
    {"t.csv", true},    {"t.CSV", true},      {"t.tsv", true},        {"t.csv.gz", true},
    {"t.tsv.gz", true}, {"t.npy", true},      {"t.npz", true},        {"t-idx1-ubyte.gz", true},
    {"t.bin", true},    {"t.pack", true},     {"t-idx1-ubyte", true}, {"t.jpg", true},
    {"t.jpeg", true},   {"t.jfif", true},     {"t.png", true},        {"t.webp", true},
    {"t.gif", true},    {"t.tif", true},      {"t.tiff", true},       {"t.bmp", true},
    {"t.ppm", true},    {"t.pgm", true},      {"t.tar", true},        {"t.tar.gz", true},
    {"t.tgz", true},    {"t.tfrecord", true}, {"t.jsonl", true},      {"t.zip", true},
    {"t.txt", false},   {"t.yaml", false},    {"t.csv.yaml", false},  {"t.json", false},
    {"csv", false},     {"t", false},         {"t.csv.bak", false},
};

/* Such a file is not read as a configuration, if it is there. */
static void data_are_no_configuration(void **state)
{
    const char *folder = fgt_temp_folder();
    for (size_t i = 0; i < sizeof file_names / sizeof file_names[0]; i++) {
        const char *path = fgt_path(folder, file_names[i].name);
        assert_false(fgi_config_is_data(path));
        fgt_write(path, "a", 1);
        if (fgi_config_is_data(path) != file_names[i].is_data)
            fail_msg("%s", file_names[i].name);
    }
    assert_true(fgi_config_is_data(folder));
    assert_false(fgi_ends_in_one_of(".a", ".a|.b"));
    assert_true(fgi_ends_in_one_of("x.B", ".a|.b"));
}

/* Lists of up to 256 elements, and lists of devices. */
static void lists_of_a_file(void **state)
{
    char yaml[4096];
    for (int count = 256; count <= 257; count++) {
        (void)snprintf(yaml, sizeof yaml, "data:\n  ignore:\n");
        for (int i = 0; i < count; i++)
            (void)snprintf(yaml + strlen(yaml), sizeof yaml - strlen(yaml), "    - c%d\n", i);
        if (count == 256) {
            fgi_config *c = config_read(yaml);
            assert_int_equal(fg_option_count(c->values, "data.ignore"), 256);
            assert_string_equal(fg_option_string_at(c->values, "data.ignore", 255), "c255");
            fgi_config_destroy(c);
        }
    }
    config_refused(yaml, "run.yaml:259:7: a list of more than 256 elements");
    fgi_config *c = config_read("trainer: {devices: [0, 2]}\n");
    assert_string_equal(fgi_config_format(c, "trainer.devices"), "[0, 2]");
    fgi_config_destroy(c);
    c = config_read("trainer: {precision: BF16 mixed, callbacks: [early-stop: {patience: 2}]}\n");
    assert_string_equal(fg_option_string(c->values, "trainer.precision"), "bf16-mixed");
    assert_int_equal(fgi_config_override(c, "data.ignore=a), b", &(fg_error){0}), FG_OK);
    assert_int_equal(fg_option_count(c->values, "data.ignore"), 2);
    fgi_config_destroy(c);
    config_refused(
        "data: {scale: 1234,5, name: x}\n",
        "run.yaml:1:15: '1234,5' is a value and another key: use a decimal point, 1234.5");
    config_refused("trainer: {devices: [0, [1]]}\n",
                   "run.yaml:1:11: trainer.devices: expected a number of devices, -1 (all), or a "
                   "list of them, counted from 0, or auto (for example 8), got a list");
}

static void comments_stay_within_the_line(void **state)
{
    fgi_config *c = fgi_config_create(NULL, NULL);
    char *text = config_printed(c, true);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        assert_true(strlen(line) <= 100);
    fgi_free(text);
    fgi_config_destroy(c);
}

static void the_reference_is_up_to_date(void **state)
{
    char kept[131072];
    fgi_buf text = {0};
    FILE *file = fopen(FGT_SOURCE_DIR "/docs/config.md", "rb");
    assert_non_null(file);
    key_help_put_reference(&text);
    char *made = fgi_buf_take(&text);
    kept[fread(kept, 1, sizeof(kept) - 1, file)] = '\0';
    (void)fclose(file);
    assert_string_equal(kept, made); /* build/fulgurite help --config-reference > docs/config.md */
    fgi_free(made);
}

/* Tables of the options of callbacks and the like: cells stay short. */
static void lists_refer_to_their_rows(void **state)
{
    const fgi_config_key *key = fgi_config_find(NULL, "trainer.callbacks");
    fgi_buf text = {0};
    key_help_put_reference(&text);
    char *made = fgi_buf_take(&text);
    assert_non_null(strstr(made, "See [trainer.callbacks](#trainercallbacks)."));
    assert_non_null(strstr(made, "\n## trainer.callbacks\n"));
    assert_non_null(strstr(made, "\n### swa\n"));
    assert_non_null(strstr(made, "\n| `swa_lrs` | "));
    for (char *line = strtok(made, "\n"); line != NULL; line = strtok(NULL, "\n"))
        assert_true(strlen(line) <= 1000);
    fgi_free(made);
    assert_non_null(strstr(fgi_config_explain(key), " swa, "));
    assert_null(strstr(fgi_config_explain(key), "swa_lrs"));
    static const char *const topics[] = {"trainer.callbacks", "swa"};
    for (size_t i = 0; i < 2; i++) {
        fgi_buf help = {0};
        assert_true(key_help_put(&help, topics[i]));
        assert_non_null(strstr(help.data, "\n      swa_lrs: Learning rate while"));
        fgi_buf_fini(&help);
    }
}

/* Each row of the table has help and a known section, and its name is unique. */
static void the_table_is_sound(void **state)
{
    for (size_t i = 0; i < fgi_config_table_built_in()->count; i++) {
        const fgi_config_key *key = &fgi_config_table_built_in()->keys[i];
        char section[64];
        const char *dot = strchr(key->path, '.');
        fg_error err = {0};
        char assignment[256];
        fgi_config *c = fgi_config_create(NULL, NULL);
        (void)snprintf(assignment, sizeof(assignment), "%s=%s", key->path, key->option->example);
        char *before = strdup(fgi_config_format(c, key->path));
        if (fgi_config_override(c, assignment, &err) != FG_OK)
            fail_msg("%s: %s", assignment, err.message);
        assert_string_not_equal(fgi_config_format(c, key->path),
                                before); /* an example shows a change */
        fgi_free(before);
        fgi_config_destroy(c);
        assert_true(strlen(key->option->help) > 10 &&
                    key->option->help[strlen(key->option->help) - 1] == '.');
        assert_ptr_equal(fgi_config_find(NULL, key->path), key);
        if (key->option->kind == FG_OPTION_CHOICE || key->has_entries)
            assert_non_null(key->option->range);
        if (key->only != NULL) { /* names an existing choice or switch */
            char chooser[64];
            (void)snprintf(chooser, sizeof(chooser), "%.*s",
                           (int)(strchr(key->only, '=') - key->only), key->only);
            const fg_option_kind kind = fgi_config_find(NULL, chooser)->option->kind;
            assert_true(kind == FG_OPTION_CHOICE || kind == FG_OPTION_BOOL);
        }
        if (dot == NULL)
            continue;
        (void)snprintf(section, sizeof(section), "%.*s", (int)(dot - key->path), key->path);
        assert_non_null(fgi_config_section_help(section));
    }
    assert_null(fgi_config_find(NULL, "trainer"));
    assert_null(fgi_config_section_help("trainers"));
}

static void a_second_document_is_refused(void **state)
{
    static const char *const single[] = {
        "---\ntask: regression\n", "# x\n---\ntask: regression\n...\n\n# end\n",
        "--- # x\ntask: regression\n", "task: regression\n...\n", "task: regression # ---\n"};
    for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++) {
        fgi_config *c = config_read(single[i]);
        assert_string_equal(fg_option_string(c->values, "task"), "regression");
        fgi_config_destroy(c);
    }
#define SECOND                                                                                     \
    ": a second YAML document: expected one document per file; remove the line '---', or split "   \
    "the file"
    config_refused("task: regression\n---\ntask: classification\n", "run.yaml:2:1" SECOND);
    config_refused("---\n---\ntask: regression\n", "run.yaml:2:1" SECOND);
    config_refused("task: regression\n...\n\ntask: regression\n", "run.yaml:4:1" SECOND);
    config_refused("task: regression\r\n--- {}\r\n", "run.yaml:2:1" SECOND);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(parts_for_a_checkpoint),
    cmocka_unit_test(lists_of_a_file),
    cmocka_unit_test(names_of_keys),
    cmocka_unit_test(data_are_no_configuration),
    cmocka_unit_test(a_second_document_is_refused),
    cmocka_unit_test(defaults),
    cmocka_unit_test(a_whole_file),
    cmocka_unit_test(nothing_is_all_defaults),
    cmocka_unit_test(unknown_keys),
    cmocka_unit_test(wrong_numbers),
    cmocka_unit_test(wrong_words),
    cmocka_unit_test(wrong_structures),
    cmocka_unit_test(rules),
    cmocka_unit_test(groups_are_maps_of_maps),
    cmocka_unit_test(meshes),
    cmocka_unit_test(values_that_are_two),
    cmocka_unit_test(broken_yaml),
    cmocka_unit_test(characters_of_a_file),
    cmocka_unit_test(the_longest_file),
    cmocka_unit_test(keys_without_effect),
    cmocka_unit_test(overrides),
    cmocka_unit_test(what_is_printed_reads_back),
    cmocka_unit_test(comments_stay_within_the_line),
    cmocka_unit_test(the_reference_is_up_to_date),
    cmocka_unit_test(lists_refer_to_their_rows),
    cmocka_unit_test(the_table_is_sound),
    cmocka_unit_test(files_and_lines),
    cmocka_unit_test(long_keys_are_named),
    cmocka_unit_test(whole_words_are_listed),
};
FGT_MAIN(tests)
