/* test_cli_spelling.c - the ways in which a value of the configuration can be written: devices,
 * terms of other programs, old keys, null.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include "base/alloc.h"
#include "config_text.h"
#include "row_names.h"

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
        fgi_config *c = fgi_config_create(NULL, NULL);
        (void)snprintf(yaml, sizeof(yaml), "trainer: {devices: %s}\n", rows[i].written);
        const bool is_read = fgi_config_read(c, "run.yaml", yaml, strlen(yaml), &err) == FG_OK;
        assert_int_equal(is_read, rows[i].printed != NULL);
        if (is_read) {
            const fgi_config_key *key = fgi_config_find(NULL, "trainer.devices");
            assert_string_equal(fgi_config_format(c, key->path), rows[i].printed);
            (void)snprintf(yaml, sizeof(yaml), "trainer.devices=%s", rows[i].written);
            assert_int_equal(fgi_config_override(c, yaml, &err), FG_OK);
            assert_string_equal(fgi_config_format(c, key->path), rows[i].printed);
            char *once = config_printed(c, false);
            fgi_config *again = config_read(once);
            assert_string_equal(fgi_config_format(again, key->path), rows[i].printed);
            fgi_config_destroy(again);
            fgi_free(once);
        } else if (strncmp(err.message, "run.yaml:1:", 11) != 0) {
            fail_msg("%s: %s", rows[i].written, err.message);
        }
        fgi_config_destroy(c);
    }
}

static void devices_of_a_command_line(void **state)
{
    fg_error err = {0};
    fgi_config *c = fgi_config_create(NULL, NULL);
    assert_int_equal(fgi_config_override(c, "trainer.devices=0,2", &err), FG_OK);
    assert_string_equal(fg_option_string(c->values, "trainer.devices"), "[0, 2]");
    assert_int_not_equal(fgi_config_override(c, "trainer.devices=0", &err), FG_OK);
    assert_string_equal(err.message,
                        "--trainer.devices: devices '0' selects no device\n"
                        "\"auto\" or \"-1\" selects all, \"4\" the first four, \"[1]\" only the "
                        "second, \"0,2\" those two; `fulgurite devices` lists them");
    fgi_config_destroy(c);
    config_refused(
        "trainer: {devices: [2, 2]}\n",
        "run.yaml:1:11: trainer.devices: devices '[2,2]' names a device twice\n"
        "\"auto\" or \"-1\" selects all, \"4\" the first four, \"[1]\" only the second, \"0,2\" "
        "those two; `fulgurite devices` lists them");
    config_refused("trainer: {gpus: 2}\n",
                   "run.yaml:1:11: unknown key 'trainer.gpus': did you mean 'trainer.devices'?");
}

static const struct {
    const char *yaml, *devices, *message; /* message: NULL: valid */
} old_spellings[] = {
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

static void tpu_cores_is_the_old_spelling(void **state)
{
    for (size_t i = 0; i < sizeof(old_spellings) / sizeof(old_spellings[0]); i++) {
        bool was_old = false;
        fg_error err = {0};
        fgi_config *c = config_read(old_spellings[i].yaml);
        assert_int_equal(fgi_config_modernize(c, &was_old, &err) == FG_OK,
                         old_spellings[i].message == NULL);
        assert_true(was_old);
        if (old_spellings[i].message != NULL) {
            assert_string_equal(err.message, old_spellings[i].message);
        } else {
            assert_string_equal(fg_option_string(c->values, "trainer.accelerator"), "tpu");
            assert_string_equal(fgi_config_format(c, "trainer.devices"), old_spellings[i].devices);
            assert_null(fg_option_string(c->values, "trainer.tpu_cores"));
            assert_int_equal(strncmp(fgi_config_place(c, "trainer.devices"), "run.yaml:1:", 11), 0);
        }
        fgi_config_destroy(c);
    }
    bool was_old = true;
    fg_error err = {0};
    fgi_config *c = config_read("trainer: {devices: 4}\n");
    assert_int_equal(fgi_config_modernize(c, &was_old, &err), FG_OK);
    assert_false(was_old);
    fgi_config_destroy(c);
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
        fgi_config *c = fgi_config_create(NULL, NULL);
        (void)snprintf(text, sizeof(text), "%s=%s", rows[i].path, rows[i].written);
        if (fgi_config_override(c, text, &err) != FG_OK)
            fail_msg("%s: %s", text, err.message);
        assert_string_equal(fg_option_string(c->values, rows[i].path), rows[i].meant);
        fgi_config_notes(c, keep_note, note);
        if (rows[i].is_noted)
            (void)snprintf(expected, sizeof(expected), "--%s: '%s' is read as '%s'", rows[i].path,
                           rows[i].written, rows[i].meant);
        assert_string_equal(note, expected);
        fgi_config_destroy(c);
    }
    char note[512] = "";
    fgi_config *c = config_read("trainer: {precision: 16, accelerator: Auto, devices: AUTO}\n"
                                "data: {no_header: Yes, normalize: off}\n");
    fgi_config_notes(c, keep_note, note);
    assert_string_equal(note, "run.yaml:1:22: trainer.precision: '16' is read as '16-mixed'");
    assert_true(fg_option_is_auto(c->values, "trainer.devices"));
    assert_true(fg_option_bool(c->values, "data.no_header"));
    assert_false(fg_option_bool(c->values, "data.normalize"));
    fgi_config_destroy(c);
    char message[1024];
    (void)snprintf(message, sizeof(message),
                   "run.yaml:1:15: model.name: expected %s, got 'resnet': did you mean "
                   "'resnet18'?",
                   expected_names(FG_REGISTRY_MODEL, "model.name"));
    config_refused("model: {name: resnet}\n", message);
}

/* null on the command line resets a key to not given. */
static void a_key_can_be_unset(void **state)
{
    fg_error err = {0};
    fgi_config *c = config_read("trainer: {batch_size: 8, seed: 3, resume: last}\n");
    assert_int_equal(fgi_config_override(c, "trainer.batch_size=null", &err), FG_OK);
    assert_int_equal(fg_option_int(c->values, "trainer.batch_size"), 32);
    assert_false(fg_option_is_given(c->values, "trainer.batch_size"));
    assert_int_equal(fgi_config_override(c, "trainer.seed=~", &err), FG_OK);
    assert_int_equal(fg_option_int(c->values, "trainer.seed"), 0);
    assert_int_equal(fgi_config_override(c, "trainer.resume=null", &err), FG_OK);
    assert_null(fg_option_string(c->values, "trainer.resume"));
    assert_int_equal(fgi_config_override(c, "model.hidden=NULL", &err), FG_OK);
    assert_int_equal(fg_option_count(c->values, "model.hidden"), 2);
    assert_int_equal(fgi_config_override(c, "data.path=\"null\"", &err), FG_OK);
    assert_string_equal(fg_option_string(c->values, "data.path"), "null");
    fgi_config_destroy(c);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(devices_in_every_spelling),
    cmocka_unit_test(devices_of_a_command_line),
    cmocka_unit_test(tpu_cores_is_the_old_spelling),
    cmocka_unit_test(choices_in_other_spellings),
    cmocka_unit_test(a_key_can_be_unset),
};
FGT_MAIN(tests)
