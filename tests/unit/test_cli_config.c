/* test_cli_config.c - configurations: defaults, YAML and overrides; every kind of error and its
 * message; writing YAML.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/alloc.h"
#include "recipe/config.h"
#include "recipe/run.h"

/* The defaults overridden by a YAML text; fails the test if it is rejected. */
static fgi_config *read_ok(const char *yaml)
{
    fg_error err = {0};
    fgi_config *c = fgi_config_create(NULL);
    if (!fgi_config_read(c, "run.yaml", yaml, strlen(yaml), &err))
        fail_msg("%s", err.message);
    return c;
}

static void refused(const char *yaml, const char *message)
{
    fg_error err = {0};
    fgi_config *c = fgi_config_create(NULL);
    assert_false(fgi_config_read(c, "run.yaml", yaml, strlen(yaml), &err));
    assert_string_equal(err.message, message);
    fgi_config_destroy(c);
}

static char *printed(const fgi_config *c, bool with_comments)
{
    fgi_buf text = {0};
    fgi_config_print(c, &text, with_comments);
    return fgi_buf_take(&text);
}

static void defaults(void **state)
{
    fgi_config *c = fgi_config_create(NULL);
    assert_string_equal(fgi_config_text(c, "task"), "classification");
    assert_string_equal(fgi_config_text(c, "model.name"), "mlp");
    assert_int_equal(fgi_config_count(c, "model.hidden"), 2);
    assert_int_equal(fgi_config_int_at(c, "model.hidden", 1), 512);
    assert_null(fgi_config_text(c, "data.format"));
    assert_string_equal(fgi_config_text(c, "data.delimiter"), ",");
    assert_int_equal(fgi_config_count(c, "data.ignore"), 0);
    assert_true(fgi_config_bool(c, "data.normalize"));
    assert_true(fgi_config_is_auto(c, "optimizer.lr"));
    assert_true(fgi_config_float_at(c, "optimizer.betas", 1) == 0.999);
    assert_true(fgi_config_float(c, "optimizer.eps") == 1e-8);
    assert_int_equal(fgi_config_int(c, "trainer.max_steps"), -1);
    assert_false(fgi_config_is_given(c, "trainer.max_steps"));
    assert_string_equal(fgi_config_place(c, "trainer.max_steps"), "default");
    fgi_config_destroy(c);
    fgi_config_destroy(NULL);
}

/* A complete example. */
static void a_whole_file(void **state)
{
    fgi_config *c =
        read_ok("task: classification\n"
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
    assert_int_equal(fgi_config_count(c, "model.hidden"), 2);
    assert_int_equal(fgi_config_int_at(c, "model.hidden", 0), 64);
    assert_string_equal(fgi_config_text(c, "data.path"), "my file.csv");
    assert_string_equal(fgi_config_text(c, "data.target"), "8");
    assert_string_equal(fgi_config_text_at(c, "data.ignore", 1), "a b");
    assert_null(fgi_config_text_at(c, "data.ignore", 2));
    assert_string_equal(fgi_config_text_at(c, "data.categorical", 0), "zip"); /* a list of one */
    assert_true(fgi_config_float(c, "data.val_fraction") == 0.2);
    assert_true(fgi_config_float(c, "optimizer.weight_decay") == 5e-4);
    assert_false(fgi_config_is_auto(c, "optimizer.lr"));
    assert_true(fgi_config_is_auto(c, "trainer.devices"));
    assert_int_equal(fgi_config_int(c, "trainer.batch_size"), 128);
    assert_string_equal(fgi_config_place(c, "trainer.batch_size"), "run.yaml:11:15");
    assert_int_equal(fgi_config_amount(c, "trainer.limit_train_batches", 21), 10);
    assert_int_equal(fgi_config_amount(c, "trainer.limit_train_batches", 1), 1);
    assert_int_equal(fgi_config_amount(c, "trainer.limit_val_batches", 21), 7);
    assert_int_equal(fgi_config_amount(c, "trainer.limit_val_batches", 3), 3);
    assert_false(fgi_config_is_auto(c, "trainer.run_dir")); /* quoted: a name */
    assert_string_equal(fgi_config_text(c, "trainer.run_dir"), "auto");
    assert_false(fgi_config_is_given(c, "trainer.seed"));
    fgi_config_destroy(c);
}

static void nothing_is_all_defaults(void **state)
{
    static const char *const nothing[] = {"",   "\n", "# only this\n", "---\n", "model:\n",
                                          "{}", "~"};
    fgi_config *plain = fgi_config_create(NULL);
    char *expected = printed(plain, false);
    fgi_config_destroy(plain);
    for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++) {
        fgi_config *c = read_ok(nothing[i]);
        char *text = printed(c, false);
        assert_string_equal(text, expected);
        fgi_free(text);
        fgi_config_destroy(c);
    }
    fgi_free(expected);
}

static void unknown_keys(void **state)
{
    refused("trainer:\n  max_epoch: 3\n",
            "run.yaml:2:3: unknown key 'trainer.max_epoch': did you mean 'trainer.max_epochs'?");
    refused("max_epochs: 3\n",
            "run.yaml:1:1: unknown key 'max_epochs': did you mean 'trainer.max_epochs'?");
    refused("trainer: {log_every_n_steps: 3}\n",
            "run.yaml:1:11: unknown key 'trainer.log_every_n_steps': did you mean "
            "'trainer.log_every'?");
    refused("optimizer: {learning_rate: 3}\n",
            "run.yaml:1:13: unknown key 'optimizer.learning_rate': did you mean 'optimizer.lr'?");
    refused("trainer.seed: 3\n",
            "run.yaml:1:1: unknown key 'trainer.seed': write 'seed' under 'trainer'");
    refused("tasks: regression\n", "run.yaml:1:1: unknown key 'tasks': did you mean 'task'?");
    refused("qqqqqqqq: 1\n",
            "run.yaml:1:1: unknown key 'qqqqqqqq' (`fulgurite help config` lists all keys)");
    refused("trainr: {seed: 1}\n", "run.yaml:1:1: unknown key 'trainr': did you mean 'trainer'?");
}

static void wrong_values(void **state)
{
    refused("trainer:\n  batch_size: 12.5\n",
            "run.yaml:2:15: trainer.batch_size: expected an integer from 1 to 16777216 (for "
            "example 64), got '12.5'");
    refused("trainer: {batch_size: 0}\n", "run.yaml:1:23: trainer.batch_size: expected an integer "
                                          "from 1 to 16777216 (for example 64), got '0'");
    refused("trainer: {batch_size: \"32\"}\n",
            "run.yaml:1:24: trainer.batch_size: expected an integer from 1 to 16777216 (for "
            "example 64), got the string "
            "'32': remove the quotes");
    refused("trainer: {batch_size: [32]}\n",
            "run.yaml:1:11: trainer.batch_size: expected an integer from 1 to 16777216 (for "
            "example 64), got a list");
    refused("trainer: {seed: 99999999999999999999}\n",
            "run.yaml:1:17: trainer.seed: expected an integer, 0 or greater (for example 42), got "
            "'99999999999999999999'");
    refused("optimizer: {lr: fast}\n", "run.yaml:1:17: optimizer.lr: expected a number, 0 or "
                                       "greater, or auto (for example 1e-3), got 'fast'");
    refused("optimizer: {lr: .nan}\n", "run.yaml:1:17: optimizer.lr: expected a number, 0 or "
                                       "greater, or auto (for example 1e-3), got '.nan'");
    refused("model: {dropout: 1}\n", "run.yaml:1:18: model.dropout: expected a number from 0 to "
                                     "less than 1 (for example 0.1), got '1'");
    refused("data: {no_header: maybe}\n",
            "run.yaml:1:19: data.no_header: expected true or false, got 'maybe'");
    refused("model: {hidden: [12, x]}\n", "run.yaml:1:9: model.hidden: expected a list of integers "
                                          "from 1 to 1048576 (for example [256, 64]), got 'x'");
    refused("model: {hidden: [12, [1]]}\n",
            "run.yaml:1:9: model.hidden: expected a list of integers from 1 to 1048576 (for "
            "example [256, 64]), got a list");
    refused("model: {name: {a: 1}}\n",
            "run.yaml:1:9: model.name: expected one of mlp|linear|lenet|resnet18|"
            "resnet34|resnet50, got a mapping");
    refused("model: {name: transformer}\n",
            "run.yaml:1:15: model.name: expected one of mlp|linear|lenet|resnet18|"
            "resnet34|resnet50, got 'transformer'");
    refused("optimizer: {name: adamq}\n",
            "run.yaml:1:19: optimizer.name: expected one of sgd|adam|adamw, "
            "got 'adamq': did you mean 'adam'?");
    refused("trainer: {precision: bf16-mix}\n",
            "run.yaml:1:22: trainer.precision: expected one of "
            "32-true|bf16-mixed|bf16-true|16-mixed|16-true|64-true, got 'bf16-mix': did you mean "
            "'bf16-mixed'?");
    refused("trainer: {limit_val_batches: 1.5}\n",
            "run.yaml:1:30: trainer.limit_val_batches: expected a fraction (0.0 to 1.0) or a count "
            "(for example "
            "20), got '1.5'");
    refused("model: mlp\n",
            "run.yaml:1:1: model: expected its keys (model: {key: value}), got a scalar");
    refused("- model\n", "run.yaml: expected a mapping of keys to values");
    refused(
        "data: {path: &x f.csv}\nmodel: {weights: *x}\n",
        "run.yaml:2:9: model.weights: expected a string (for example pretrained.safetensors), got "
        "an alias (*name), which is not supported here");
    refused("data:\n  path: |\n    a\n    b\n",
            "run.yaml:2:3: data.path: expected a string (for example data/homes.csv), got a block "
            "scalar ('|' or '>'), which is not supported here");
}

/* Sharding rules: mappings in a file, strings on the command line. */
static void rules(void **state)
{
    fg_error err = {0};
    (void)state;
    fgi_config *c = read_ok("trainer:\n  sharding:\n"
                            "    - {match: 'fc1.*', split: [model]}\n"
                            "    - {match: fc2.weight, split: [none, model]}\n"
                            "    - {split: [~, ~, data], match: 'blocks.*.w'}\n"
                            "    - {match: whole, split: []}\n");
    const fgi_config_key *key = fgi_config_find("trainer.sharding");
    assert_string_equal(
        fgi_config_format(c, key),
        "[\"fc1.*=model\", \"fc2.weight=none/model\", \"blocks.*.w=none/none/data\", \"whole=\"]");
    size_t count = 0;
    fg_sharding_rule *list = NULL;
    fgt_ok(fgi_config_rules(c, "trainer.sharding", &list, &count, &err));
    assert_int_equal(count, 4);
    assert_string_equal(list[1].match, "fc2.weight");
    assert_string_equal(list[1].spec, "none,model");
    assert_string_equal(list[3].spec, "");
    fgi_config_rules_free(list, count);
    assert_true(fgi_config_override(c, "trainer.sharding=*.0.weight=model/none, b=data", &err));
    assert_string_equal(fgi_config_format(c, key), "[\"*.0.weight=model/none\", \"b=data\"]");
    fgi_config_destroy(c);
    refused("trainer: {sharding: [fc1]}\n",
            "run.yaml:1:11: trainer.sharding: expected {match: PATTERN, split: [AXIS, ...]} or "
            "PATTERN=AXIS/AXIS, got 'fc1'");
    refused(
        "trainer: {sharding: [{match: fc1, axis: model}]}\n",
        "run.yaml:1:35: trainer.sharding: expected the keys match and split of a rule, got 'axis'");
    refused("trainer: {sharding: [{split: [model]}]}\n",
            "run.yaml:1:11: trainer.sharding: expected a rule with match (a pattern) and split "
            "(its axes)");
    refused("trainer: {sharding: [{match: fc1, split: [[model]]}]}\n",
            "run.yaml:1:11: trainer.sharding: expected a list of {match: PATTERN, split: [AXIS, "
            "...]} (for example [fc1.*=model, fc2.weight=none/model]), got a list");
}

/* The mesh of trainer.mesh or trainer.model_devices, and rules that name its axes. */
static void meshes(void **state)
{
    static const struct {
        const char *yaml, *message; /* message: NULL: valid */
        fg_mesh_axis axes[4];
    } rows[] = {
        {"model: {name: mlp}\n", NULL, {{"data", -1}, {"model", 1}}},
        {"trainer: {model_devices: 4}\n", NULL, {{"data", -1}, {"model", 4}}},
        {"trainer: {mesh: 'data=2,fsdp=-1,model=2', sharding: [a=data+fsdp/model, b=none]}\n",
         NULL,
         {{"data", 2}, {"fsdp", -1}, {"model", 2}}},
        {"trainer: {mesh: data=2, model_devices: 2}\n",
         "run.yaml:1:40: trainer.model_devices: trainer.mesh is given too: expected an axis "
         "'model' "
         "in trainer.mesh alone",
         {{"", 0}}},
        {"trainer: {mesh: data=two}\n",
         "run.yaml:1:17: trainer.mesh: mesh 'data=two': 'data=two' is not an axis with a size: "
         "expected NAME=SIZE for each axis, as in data=2,fsdp=2,model=2 (-1: the remaining "
         "devices)",
         {{"", 0}}},
        {"trainer: {sharding: [{match: fc1, split: [rows]}]}\n",
         "run.yaml:1:11: trainer.sharding: 'rows': expected an axis of the mesh, data, model, or "
         "none, for each dimension",
         {{"", 0}}},
        {"trainer: {mesh: 'data=2,fsdp=2', sharding: [fc1=fsdp/model]}\n",
         "run.yaml:1:34: trainer.sharding: 'model': expected an axis of the mesh, data, fsdp, or "
         "none, for each dimension",
         {{"", 0}}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        fg_mesh_options mesh;
        fgi_config *c = read_ok(rows[i].yaml);
        assert_int_equal(fgi_config_mesh(c, &mesh, &err), rows[i].message == NULL);
        if (rows[i].message != NULL)
            assert_string_equal(err.message, rows[i].message);
        for (int k = 0; rows[i].message == NULL && k < 4; k++) {
            assert_string_equal(mesh.axes[k].name, rows[i].axes[k].name);
            assert_int_equal(mesh.axes[k].size, rows[i].axes[k].size);
        }
        fgi_config_destroy(c);
    }
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
    };
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        fg_error err = {0};
        fgi_config *c = fgi_config_create(NULL);
        assert_false(fgi_config_read(c, "run.yaml", broken[i], strlen(broken[i]), &err));
        if (strncmp(err.message, "run.yaml:", 9) != 0)
            fail_msg("%s: %s", broken[i], err.message);
        fgi_config_destroy(c);
    }
    fg_error err = {0};
    fgi_config *c = fgi_config_create(NULL);
    assert_false(fgi_config_read(c, "run.yaml", "task\0", 5, &err));
    assert_string_equal(err.message, "run.yaml:1:5: not YAML: byte 0x00 is not text");
    assert_false(fgi_config_read(c, "run.yaml", "a: 1\n \xc3\xa9\xff", 9, &err));
    assert_string_equal(err.message, "run.yaml:2:3: not YAML: byte 0xff is not text");
    assert_false(fgi_config_read(c, "run.yaml", "\n%YAML 1.2\n", 11, &err));
    assert_string_equal(err.message, "run.yaml:2:1: YAML directives (%) are not supported");
    assert_false(fgi_config_read_file(c, "/nowhere/run.yaml", &err));
    assert_string_equal(err.message, "cannot open '/nowhere/run.yaml': No such file or directory");
    fgi_config_destroy(c);
}

static void keep_line(void *self, const char *line)
{
    (void)strncat(self, line, 400);
    (void)strncat(self, "\n", 2);
}

/* A key without effect, because of another key, causes a warning unless it has its default
 * value. */
static void keys_without_effect(void **state)
{
    char lines[2048] = "";
    fg_error err = {0};
    fgi_config *c = read_ok("data: {format: npy, path: x, target: ~, no_header: false}\n"
                            "optimizer: {name: sgd, momentum: 0.9, betas: [0.9, 0.99]}\n");
    assert_true(fgi_config_override(c, "schedule.pct_start=0.5", &err));
    fgi_config_warn(c, keep_line, lines);
    assert_string_equal(lines,
                        "run.yaml:1:27: data.path has no effect: data.format is npy\n"
                        "run.yaml:2:39: optimizer.betas has no effect: optimizer.name is sgd\n"
                        "--schedule.pct_start has no effect: schedule.name is constant\n");
    fgi_config_destroy(c);
}

static void overrides(void **state)
{
    fg_error err = {0};
    fgi_config *c = read_ok("trainer: {batch_size: 8, seed: 3}\n");
    assert_true(fgi_config_override(c, "trainer.batch_size=64", &err));
    assert_true(fgi_config_override(c, "model.hidden=[10,20, 30]", &err));
    assert_true(fgi_config_override(c, "optimizer.betas=0.5,0.6", &err));
    assert_true(fgi_config_override(c, "data.path=a=b, c.csv", &err));
    assert_true(fgi_config_override(c, "data.delimiter=;", &err));
    assert_true(fgi_config_override(c, "task=regression", &err));
    assert_int_equal(fgi_config_int(c, "trainer.batch_size"), 64);
    assert_string_equal(fgi_config_place(c, "trainer.batch_size"), "--trainer.batch_size");
    assert_int_equal(fgi_config_int(c, "trainer.seed"), 3);
    assert_int_equal(fgi_config_count(c, "model.hidden"), 3);
    assert_int_equal(fgi_config_int_at(c, "model.hidden", 2), 30);
    assert_true(fgi_config_float_at(c, "optimizer.betas", 1) == 0.6);
    assert_string_equal(fgi_config_text(c, "data.path"), "a=b, c.csv");
    assert_string_equal(fgi_config_text(c, "data.delimiter"), ";");
    assert_true(fgi_config_override(c, "model.hidden=[]", &err));
    assert_int_equal(fgi_config_count(c, "model.hidden"), 0);
    assert_false(fgi_config_override(c, "trainer.batch_size=many", &err));
    assert_string_equal(err.message, "--trainer.batch_size: expected an integer from 1 to 16777216 "
                                     "(for example 64), got 'many'");
    assert_int_equal(fgi_config_int(c, "trainer.batch_size"),
                     64); /* a rejected value changes nothing */
    assert_false(fgi_config_override(c, "trainer.batchsize=1", &err));
    assert_string_equal(err.message,
                        "--trainer.batchsize: unknown key: did you mean 'trainer.batch_size'?");
    assert_false(fgi_config_override(c, "trainer.seed", &err));
    assert_string_equal(err.message, "--trainer.seed: expected --trainer.seed=VALUE");
    fgi_config_destroy(c);
}

/* All ways to write devices, in a file or on the command line, and how they are printed. */
static void devices_in_every_spelling(void **state)
{
    static const struct {
        const char *written, *printed; /* NULL: rejected */
    } rows[] = {
        {"auto", "auto"},
        {"8", "8"},
        {"-1", "-1"},
        {"[1]", "[1]"},
        {"[ 0, 2 ]", "[0, 2]"},
        {"\"0,2\"", "[0, 2]"},
        {"\"3\"", "3"},
        {"[]", NULL},
        {"0", NULL},
        {"-2", NULL},
        {"1.5", NULL},
        {"two", NULL},
        {"[1, 1]", NULL},
        {"[-1]", NULL},
        {"[1, x]", NULL},
        {"\"1,\"", NULL},
        {"[1, [2]]", NULL},
        {"{a: 1}", NULL},
        {"1025", NULL},
        {"[1024]", NULL},
        {"99999999999999999999", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char yaml[128];
        fg_error err = {0};
        fgi_config *c = fgi_config_create(NULL);
        (void)snprintf(yaml, sizeof(yaml), "trainer: {devices: %s}\n", rows[i].written);
        const bool is_read = fgi_config_read(c, "run.yaml", yaml, strlen(yaml), &err);
        assert_int_equal(is_read, rows[i].printed != NULL);
        if (is_read) {
            const fgi_config_key *key = fgi_config_find("trainer.devices");
            assert_string_equal(fgi_config_format(c, key), rows[i].printed);
            (void)snprintf(yaml, sizeof(yaml), "trainer.devices=%s", rows[i].written);
            assert_true(fgi_config_override(c, yaml, &err));
            assert_string_equal(fgi_config_format(c, key), rows[i].printed);
            char *once = printed(c, false);
            fgi_config *again = read_ok(once);
            assert_string_equal(fgi_config_format(again, key), rows[i].printed);
            fgi_config_destroy(again);
            fgi_free(once);
        } else if (strncmp(err.message, "run.yaml:1:", 11) != 0) {
            fail_msg("%s: %s", rows[i].written, err.message);
        }
        fgi_config_destroy(c);
    }
    fg_error err = {0};
    fgi_config *c = fgi_config_create(NULL);
    assert_true(fgi_config_override(c, "trainer.devices=0,2", &err));
    assert_string_equal(fgi_config_text(c, "trainer.devices"), "[0, 2]");
    assert_false(fgi_config_override(c, "trainer.devices=0", &err));
    assert_string_equal(err.message,
                        "--trainer.devices: devices '0' selects no device\n"
                        "\"auto\" or \"-1\" selects all, \"4\" the first four, \"[1]\" only the "
                        "second, \"0,2\" those two; `fulgurite devices` lists them");
    fgi_config_destroy(c);
    refused(
        "trainer: {devices: [2, 2]}\n",
        "run.yaml:1:11: trainer.devices: devices '[2,2]' names a device twice\n"
        "\"auto\" or \"-1\" selects all, \"4\" the first four, \"[1]\" only the second, \"0,2\" "
        "those two; `fulgurite devices` lists them");
    refused("trainer: {gpus: 2}\n",
            "run.yaml:1:11: unknown key 'trainer.gpus': did you mean 'trainer.devices'?");
}

static void tpu_cores_is_the_old_spelling(void **state)
{
    static const struct {
        const char *yaml, *devices, *message; /* message: NULL: valid */
    } rows[] = {
        {"trainer: {tpu_cores: 8}\n", "8", NULL},
        {"trainer: {tpu_cores: [1]}\n", "[1]", NULL},
        {"trainer: {tpu_cores: auto, accelerator: tpu}\n", "auto", NULL},
        {"trainer: {tpu_cores: 8, devices: 4}\n", NULL,
         "run.yaml:1:22: trainer.tpu_cores: trainer.devices is '4' too: expected "
         "trainer.accelerator: tpu with trainer.devices alone"},
        {"trainer: {tpu_cores: 8, accelerator: cpu}\n", NULL,
         "run.yaml:1:22: trainer.tpu_cores: trainer.accelerator is 'cpu' too: expected "
         "trainer.accelerator: tpu with trainer.devices alone"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool was_old = false;
        fg_error err = {0};
        fgi_config *c = read_ok(rows[i].yaml);
        assert_int_equal(fgi_config_modernize(c, &was_old, &err), rows[i].message == NULL);
        assert_true(was_old);
        if (rows[i].message != NULL) {
            assert_string_equal(err.message, rows[i].message);
        } else {
            assert_string_equal(fgi_config_text(c, "trainer.accelerator"), "tpu");
            assert_string_equal(fgi_config_format(c, fgi_config_find("trainer.devices")),
                                rows[i].devices);
            assert_null(fgi_config_text(c, "trainer.tpu_cores"));
            assert_int_equal(strncmp(fgi_config_place(c, "trainer.devices"), "run.yaml:1:", 11), 0);
        }
        fgi_config_destroy(c);
    }
    bool was_old = true;
    fg_error err = {0};
    fgi_config *c = read_ok("trainer: {devices: 4}\n");
    assert_true(fgi_config_modernize(c, &was_old, &err));
    assert_false(was_old);
    fgi_config_destroy(c);
}

/* Strings that YAML would read as another type if unquoted. */
static void what_is_printed_reads_back(void **state)
{
    static const char *const texts[] = {
        "",      "auto",  "\"null\"",  "\"~\"", "true",      "3",
        "1e5",   " lead", "a: b",      "#x",    "say \"x\"", "back\\slash",
        "tab\t", "\x01",  "[a, b]",    "naïve", "-",         "plain/path-1.csv",
        "*x",    "a,b",   "line\nend", "'q'",   "@x",        "%x"};
    fg_error err = {0};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char assignment[64];
        fgi_config *c = fgi_config_create(NULL);
        (void)snprintf(assignment, sizeof(assignment), "data.path=%s", texts[i]);
        assert_true(fgi_config_override(c, assignment, &err));
        (void)snprintf(assignment, sizeof(assignment), "optimizer.lr=%.17g", 0.1 + (double)i / 7);
        assert_true(fgi_config_override(c, assignment, &err));
        assert_true(fgi_config_override(
            c, i % 2 ? "trainer.limit_val_batches=1.0" : "trainer.limit_val_batches=1", &err));
        char *plain = printed(c, false), *explained = printed(c, true);
        fgi_config *again = read_ok(plain), *third = read_ok(explained);
        char *twice = printed(again, false), *thrice = printed(third, false);
        assert_string_equal(fgi_config_text(again, "data.path"), fgi_config_text(c, "data.path"));
        assert_true(fgi_config_float(again, "optimizer.lr") == fgi_config_float(c, "optimizer.lr"));
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

static void comments_stay_within_the_line(void **state)
{
    fgi_config *c = fgi_config_create(NULL);
    char *text = printed(c, true);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        assert_true(strlen(line) <= 100);
    fgi_free(text);
    fgi_config_destroy(c);
}

static void the_reference_is_up_to_date(void **state)
{
    char kept[65536];
    fgi_buf text = {0};
    FILE *file = fopen(FGT_SOURCE_DIR "/docs/config.md", "rb");
    assert_non_null(file);
    fgi_config_print_markdown(&text);
    char *made = fgi_buf_take(&text);
    kept[fread(kept, 1, sizeof(kept) - 1, file)] = '\0';
    (void)fclose(file);
    assert_string_equal(kept, made); /* build/fulgurite help --config-reference > docs/config.md */
    fgi_free(made);
}

/* Each row of the table has help and a known section, and its name is unique. */
static void the_table_is_sound(void **state)
{
    for (size_t i = 0; i < fgi_config_key_count(); i++) {
        const fgi_config_key *key = fgi_config_key_at(i);
        char section[64];
        const char *dot = strchr(key->path, '.');
        fg_error err = {0};
        char assignment[256];
        fgi_config *c = fgi_config_create(NULL);
        (void)snprintf(assignment, sizeof(assignment), "%s=%s", key->path, key->option->example);
        char *before = strdup(fgi_config_format(c, key));
        if (!fgi_config_override(c, assignment, &err))
            fail_msg("%s: %s", assignment, err.message);
        assert_string_not_equal(fgi_config_format(c, key), before); /* an example shows a change */
        fgi_free(before);
        fgi_config_destroy(c);
        assert_true(strlen(key->option->help) > 10 &&
                    key->option->help[strlen(key->option->help) - 1] == '.');
        assert_ptr_equal(fgi_config_find(key->path), key);
        assert_int_equal(key->option->kind == FG_OPTION_CHOICE, key->option->choices != NULL);
        if (key->only != NULL) { /* names an existing choice */
            char chooser[64];
            (void)snprintf(chooser, sizeof(chooser), "%.*s",
                           (int)(strchr(key->only, '=') - key->only), key->only);
            assert_int_equal(fgi_config_find(chooser)->option->kind, FG_OPTION_CHOICE);
        }
        if (dot == NULL)
            continue;
        (void)snprintf(section, sizeof(section), "%.*s", (int)(dot - key->path), key->path);
        assert_non_null(fgi_config_section_help(section));
    }
    assert_null(fgi_config_find("trainer"));
    assert_null(fgi_config_section_help("trainers"));
}

static void keep_note(void *self, const char *line) { (void)snprintf(self, 512, "%s", line); }

/* Choices in any case, and other programs' spellings, which are reported. */
static void choices_in_other_spellings(void **state)
{
    static const struct {
        const char *path, *written, *meant;
        bool is_noted;
    } rows[] = {
        {"trainer.accelerator", "gpu", "cuda", true},
        {"trainer.accelerator", "GPU", "cuda", true},
        {"trainer.accelerator", "CPU", "cpu", false},
        {"trainer.precision", "bf16", "bf16-mixed", true},
        {"trainer.precision", "BF16_Mixed", "bf16-mixed", false},
        {"trainer.precision", "16", "16-mixed", true},
        {"trainer.precision", "fp16", "16-mixed", true},
        {"trainer.precision", "fp32", "32-true", true},
        {"trainer.precision", "32", "32-true", true},
        {"trainer.precision", "64", "64-true", true},
        {"optimizer.name", "adamW", "adamw", false},
        {"optimizer.name", "SGD", "sgd", false},
        {"model.name", "ResNet-18", "resnet18", false},
        {"schedule.name", "OneCycleLR", "onecycle", true},
        {"schedule.anneal", "cosine", "cos", true},
        {"data.format", "mnist", "idx", true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[128], note[512] = "", expected[256] = "";
        fg_error err = {0};
        fgi_config *c = fgi_config_create(NULL);
        (void)snprintf(text, sizeof(text), "%s=%s", rows[i].path, rows[i].written);
        if (!fgi_config_override(c, text, &err))
            fail_msg("%s: %s", text, err.message);
        assert_string_equal(fgi_config_text(c, rows[i].path), rows[i].meant);
        fgi_config_notes(c, keep_note, note);
        if (rows[i].is_noted)
            (void)snprintf(expected, sizeof(expected), "--%s: '%s' is read as '%s'", rows[i].path,
                           rows[i].written, rows[i].meant);
        assert_string_equal(note, expected);
        fgi_config_destroy(c);
    }
    char note[512] = "";
    fgi_config *c = read_ok("trainer: {precision: 16, accelerator: Auto, devices: AUTO}\n"
                            "data: {no_header: Yes, normalize: off}\n");
    fgi_config_notes(c, keep_note, note);
    assert_string_equal(note, "run.yaml:1:22: trainer.precision: '16' is read as '16-mixed'");
    assert_true(fgi_config_is_auto(c, "trainer.devices"));
    assert_true(fgi_config_bool(c, "data.no_header"));
    assert_false(fgi_config_bool(c, "data.normalize"));
    fgi_config_destroy(c);
    refused("model: {name: resnet}\n",
            "run.yaml:1:15: model.name: expected one of mlp|linear|lenet|resnet18|"
            "resnet34|resnet50, got 'resnet': did you mean 'resnet18'?");
}

/* null on the command line resets a key to not given. */
static void a_key_can_be_unset(void **state)
{
    fg_error err = {0};
    fgi_config *c = read_ok("trainer: {batch_size: 8, seed: 3, resume: last}\n");
    assert_true(fgi_config_override(c, "trainer.batch_size=null", &err));
    assert_int_equal(fgi_config_int(c, "trainer.batch_size"), 32);
    assert_false(fgi_config_is_given(c, "trainer.batch_size"));
    assert_true(fgi_config_override(c, "trainer.seed=~", &err));
    assert_int_equal(fgi_config_int(c, "trainer.seed"), 0);
    assert_true(fgi_config_override(c, "trainer.resume=null", &err));
    assert_null(fgi_config_text(c, "trainer.resume"));
    assert_true(fgi_config_override(c, "model.hidden=NULL", &err));
    assert_int_equal(fgi_config_count(c, "model.hidden"), 2);
    assert_true(fgi_config_override(c, "data.path=\"null\"", &err));
    assert_string_equal(fgi_config_text(c, "data.path"), "null");
    fgi_config_destroy(c);
}

static void a_second_document_is_refused(void **state)
{
    static const char *const single[] = {
        "---\ntask: regression\n", "# x\n---\ntask: regression\n...\n\n# end\n",
        "--- # x\ntask: regression\n", "task: regression\n...\n", "task: regression # ---\n"};
    for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++) {
        fgi_config *c = read_ok(single[i]);
        assert_string_equal(fgi_config_text(c, "task"), "regression");
        fgi_config_destroy(c);
    }
#define SECOND                                                                                     \
    ": a second YAML document: expected one document per file; remove the line '---', or split "   \
    "the file"
    refused("task: regression\n---\ntask: classification\n", "run.yaml:2:1" SECOND);
    refused("---\n---\ntask: regression\n", "run.yaml:2:1" SECOND);
    refused("task: regression\n...\n\ntask: regression\n", "run.yaml:4:1" SECOND);
    refused("task: regression\r\n--- {}\r\n", "run.yaml:2:1" SECOND);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(choices_in_other_spellings),
    cmocka_unit_test(a_key_can_be_unset),
    cmocka_unit_test(a_second_document_is_refused),
    cmocka_unit_test(defaults),
    cmocka_unit_test(a_whole_file),
    cmocka_unit_test(nothing_is_all_defaults),
    cmocka_unit_test(unknown_keys),
    cmocka_unit_test(wrong_values),
    cmocka_unit_test(rules),
    cmocka_unit_test(meshes),
    cmocka_unit_test(broken_yaml),
    cmocka_unit_test(keys_without_effect),
    cmocka_unit_test(overrides),
    cmocka_unit_test(devices_in_every_spelling),
    cmocka_unit_test(tpu_cores_is_the_old_spelling),
    cmocka_unit_test(what_is_printed_reads_back),
    cmocka_unit_test(comments_stay_within_the_line),
    cmocka_unit_test(the_reference_is_up_to_date),
    cmocka_unit_test(the_table_is_sound),
};
FGT_MAIN(tests)
