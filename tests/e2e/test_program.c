/* test_program.c - the program's framework: help, invalid arguments, completion, man pages, show
 * and devices. Each run is a separate process.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_program.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <fulgurite/ckpt.h>

#define GOLDEN FGT_SOURCE_DIR "/tests/golden/ckpt/"

static void help_and_version(void **state)
{
    const outcome *o = program_gives(0, NULL, "--version");
    assert_string_equal(o->out, "fulgurite " FG_VERSION_STRING "\n");
    o = program_gives(0, NULL, "--help");
    contains(o->out, "usage: fulgurite COMMAND");
    assert_string_equal(o->err, "");
    o = program_gives(2, NULL, "");
    assert_string_equal(o->out, "");
    contains(o->err, "usage: fulgurite COMMAND");
    o = program_gives(0, NULL, "show --help");
    contains(o->out, "usage: fulgurite show [OPTION]... RUN|CKPT");
    contains(o->out, "-n, --names                   print the names only");
    assert_string_equal(program_gives(0, NULL, "help show")->out, o->out);
}

static void mistakes_on_the_command_line(void **state)
{
    static const char *const cases[][2] = {
        {"shwo",
         "fulgurite: unknown command 'shwo': did you mean 'show'? (see fulgurite --help)\n"},
        {"qqqqqq", "fulgurite: unknown command 'qqqqqq' (see fulgurite --help)\n"},
        {"show --nmaes x",
         "fulgurite show: unknown option '--nmaes': did you mean '--names'? (see fulgurite "
         "show --help)\n"},
        {"show -x x", "fulgurite show: unknown option '-x' (see fulgurite show --help)\n"},
        {"show --names=1 x", "fulgurite show: no value is expected for option '--names' (see "
                             "fulgurite show --help)\n"},
        {"show", "fulgurite show: expected RUN|CKPT (see fulgurite show --help)\n"},
        {"show a b", "fulgurite show: unexpected argument 'b' (see fulgurite show --help)\n"},
        {"devices --plugin", "fulgurite devices: a value is missing for option '--plugin' (see "
                             "fulgurite devices --help)\n"},
        {"completion fish", "fulgurite completion: unknown shell 'fish': expected bash or zsh\n"},
        {"help shwo",
         "fulgurite: unknown command 'shwo': did you mean 'show'? (see fulgurite --help)\n"},
        {"help config trainr",
         "fulgurite help: no key or section 'trainr': did you mean 'trainer'?\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const outcome *o = program_gives(2, NULL, cases[i][0]);
        assert_string_equal(o->err, cases[i][1]);
        assert_string_equal(o->out, "");
    }
}

/* Standard error is a file here, which has no colors unless that is requested. */
static void colors_are_requested(void **state)
{
    static const char *const plain[] = {"show nowhere", "show nowhere --color=auto",
                                        "show nowhere --color=never"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        assert_null(strchr(program_gives(1, NULL, plain[i])->err, '\033'));
    contains(program_gives(1, NULL, "show nowhere --color=always")->err,
             "\033[1;31mfulgurite show:\033[0m cannot open");
    contains(program_gives(2, NULL, "show nowhere --color=maybe")->err,
             "expected auto|always|never");
}

static void show_lists_tensors(void **state)
{
    const outcome *o = program_gives(0, NULL, "show " GOLDEN "names.safetensors");
    assert_string_equal(o->out, "empty\tf32[0,3]\nna\xc3\xafve.\xe6\xac\x8a\xe9\x87\x8d\tf32[2]\n"
                                "scalar\tf32[]\nquote\"back\\slash?tab?\tu8[1]\n");
    assert_string_equal(o->err, "checkpoint: " GOLDEN "names.safetensors\n"
                                "4 tensors, 13 B; 4 elements in the model\n");
    o = program_gives(0, NULL, "show " GOLDEN "names.safetensors -n");
    contains(o->out, "empty\nna");
    o = program_gives(1, NULL, "show /nowhere");
    assert_string_equal(o->err,
                        "fulgurite show: cannot open '/nowhere': No such file or directory\n");
    assert_string_equal(o->out, "");
}

/* DEL is a control character, too. */
static void show_escapes_what_deletes(void **state)
{
    static const char header[] =
        "{\"a\\u007f\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}";
    char file[128] = {sizeof header - 1};
    const char *folder = fgt_temp_folder();
    (void)state;
    memcpy(file + 8, header, sizeof header);
    fgt_write(fgt_path(folder, "d.safetensors"), file, 8 + sizeof header);
    assert_string_equal(program_gives(0, folder, "show d.safetensors")->out, "a?\tu8[1]\n");
}

static void show_prints_a_checkpoint_as_json(void **state)
{
    fg_error err = {0};
    const float value = 1;
    const fg_type f32 = {.dtype = FG_F32, .rank = 1, .dim = {1}};
    const fg_ckpt_tensor model = {"w", f32, &value}, moment = {"adam.m.w", f32, &value};
    const fg_ckpt_content content = {.model = &model,
                                     .model_count = 1,
                                     .state = &moment,
                                     .state_count = 1,
                                     .state_json = "{\"step\": 7}"};
    const char *folder = fgt_temp_folder();
    fgt_ok(fg_ckpt_save(fgt_path(folder, "last one"), &content, &err));
    const outcome *o = program_gives(0, folder, "show 'last one'");
    assert_string_equal(o->out, "w\tf32[1]\tmodel\nadam.m.w\tf32[1]\tstate\n");
    o = program_gives(0, folder, "show --json 'last one'");
    json_t *root = json_loads(o->out, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(root, "tensors")), 2);
    const json_t *second = json_array_get(json_object_get(root, "tensors"), 1);
    assert_string_equal(json_string_value(json_object_get(second, "name")), "adam.m.w");
    assert_string_equal(json_string_value(json_object_get(second, "dtype")), "f32");
    assert_string_equal(json_string_value(json_object_get(second, "part")), "state");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(second, "shape"), 0)), 1);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "state"), "step")),
                     7);
    json_decref(root);
    fgt_write(fgt_path(folder, "last one/state.json"), "{\"step\": 8}", 11);
    o = program_gives(1, folder, "show 'last one'");
    contains(o->err, "fulgurite show: last one/state.json is damaged: its checksum is ");
}

static void table_of_chips(void **state)
{
    const outcome *o = program_gives(0, NULL, "devices --table");
    contains(
        o->out,
        "TPU v5e                      1      -     -     -     -   197     -   393  17.18   819    "
        "400  4 of 128x128   1.5*  Cloud TPU documentation");
    o = program_gives(0, NULL, "devices --table --json");
    json_t *root = json_loads(o->out, 0, NULL);
    const json_t *v2 = json_array_get(json_object_get(root, "chips"), 0);
    assert_string_equal(json_string_value(json_object_get(v2, "name")), "TPU v2");
    assert_true(json_is_null(json_object_get(v2, "int8")));
    json_decref(root);
}

/* An empty search path, so that the output does not depend on the machine. */
static void devices_says_what_is_missing(void **state)
{
    assert_int_equal(setenv("FULGURITE_HOME", "/nowhere", 1), 0);
    assert_string_equal(program_gives(1, NULL, "setup abc")->err,
                        "fulgurite setup: unknown plugin 'abc': expected cpu, tpu, cuda12 or "
                        "cuda13\n");
    const outcome *o = program_gives(0, NULL, "devices --plugin=/nowhere/plugin.so --json");
    json_t *root = json_loads(o->out, 0, NULL);
    const json_t *list = json_object_get(root, "accelerators");
    assert_int_equal(json_array_size(list), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *one = json_array_get(list, i);
        assert_true(json_is_false(json_object_get(one, "usable")));
        contains(json_string_value(json_object_get(one, "reason")), "/nowhere/plugin.so");
        assert_int_equal(json_array_size(json_object_get(one, "devices")), 0);
    }
    json_decref(root);
    o = program_gives(0, NULL, "devices --plugin=/nowhere/plugin.so --places");
    contains(o->out, "cpu   no ");
    contains(o->out, "\n        -    option: /nowhere/plugin.so\n");
    o = program_gives(0, NULL, "devices --plugin=/nowhere/plugin.so");
    int lines = 0;
    for (const char *at = o->out; *at != '\0'; at++)
        lines += *at == '\n';
    assert_int_equal(lines, 3); /* one reason of a line for each accelerator, and none is used */
    assert_int_equal(unsetenv("FULGURITE_HOME"), 0);
}

/* On the fake plugin, which simulates eight cores of a TPU, and then none. */
static void devices_lists_what_it_finds(void **state)
{
    const char *look = "devices --plugin=" FGT_BINARY_DIR "/fakepjrt.so";
    char command[600];
    assert_int_equal(setenv("FAKEPJRT", "platform=2,kind=2,devices=8", 1), 0);
    const outcome *o = program_gives(0, NULL, look);
    contains(o->out, "tpu   yes  device 0: TPU v3; PJRT 0.");
    contains(o->out, "tpu   yes  device 7: TPU v3; PJRT 0.");
    contains(o->out, "cuda  no   plugin '" FGT_BINARY_DIR "/fakepjrt.so' is for 'tpu', but 'cuda'");
    contains(o->out, "\nauto       uses tpu\n");
    (void)snprintf(command, sizeof(command), "%s --places", look);
    contains(program_gives(0, NULL, command)->out,
             "\n      there  option: " FGT_BINARY_DIR "/fakepjrt.so\n");
    (void)snprintf(command, sizeof(command), "%s --json", look);
    json_t *root = json_loads(program_gives(0, NULL, command)->out, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(root, "auto")), "tpu");
    const json_t *tpu = json_array_get(json_object_get(root, "accelerators"), 0);
    const json_t *list = json_object_get(tpu, "devices");
    assert_int_equal(json_array_size(list), 8);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 3), "index")), 3);
    json_decref(root);
    assert_int_equal(setenv("FAKEPJRT", "platform=2,client_error=5", 1), 0);
    o = program_gives(0, NULL, look);
    contains(o->out, "No jellyfish device found.");
    assert_null(strstr(o->out, "yes"));
    assert_int_equal(unsetenv("FAKEPJRT"), 0);
}

static void man_pages_name_every_option(void **state)
{
    const outcome *o = program_gives(0, NULL, "help --man");
    contains(o->out, ".TH \"fulgurite\" 1");
    contains(o->out, "fulgurite\\-show");
    o = program_gives(0, NULL, "help --man show");
    contains(o->out, "\\-n, \\-\\-names");
    contains(o->out, "\\-\\-json");
    o = program_gives(0, NULL, "help --list");
    contains(o->out, "show\n");
    char *commands = strdup(o->out);
    for (char *name = strtok(commands, "\n"); name != NULL; name = strtok(NULL, "\n")) {
        char path[512];
        (void)snprintf(path, sizeof(path), FGT_BINARY_DIR "/man/fulgurite-%s.1", name);
        FILE *page = fopen(path, "rb"); /* cli/CMakeLists.txt knows each command */
        if (page == NULL)
            fail_msg("no man page %s", path);
        (void)fclose(page);
    }
    free(commands);
}

/* The completions that bash offers for a line, one per line. */
static void completed(const char *line, char *out, size_t size)
{
    char command[1024];
    (void)snprintf(command, sizeof(command),
                   "bash -c 'source <(" FGT_BINARY_DIR
                   "/fulgurite completion bash); COMP_LINE=\"%s\"; "
                   "COMP_POINT=${#COMP_LINE}; compopt() { :; }; _fulgurite; "
                   "printf \"%%s\\n\" \"${COMPREPLY[@]}\"'",
                   line);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    out[fread(out, 1, size - 1, pipe)] = '\0';
    assert_int_equal(pclose(pipe), 0);
}

static void bash_completes(void **state)
{
    char words[65536];
    if (system("bash -c true") != 0)
        skip();
    completed("fulgurite sh", words, sizeof(words));
    assert_string_equal(words, "show\n");
    completed("fulgurite ", words, sizeof(words));
    contains(words, "devices\n");
    completed("fulgurite show --na", words, sizeof(words));
    assert_string_equal(words, "--names\n");
    completed("fulgurite show " GOLDEN "nam", words, sizeof(words));
    assert_string_equal(words, GOLDEN "names.safetensors\n");
}

static void zsh_script_is_valid(void **state)
{
    contains(program_gives(0, NULL, "completion zsh")->out, "#compdef fulgurite\n");
    if (system("zsh -c true 2>/dev/null") != 0)
        skip();
    assert_int_equal(system(FGT_BINARY_DIR "/fulgurite completion zsh | zsh -n"), 0);
}

/* Results that cannot be written are a failure. */
static void a_full_output_is_a_failure(void **state)
{
    const int status = system(FGT_BINARY_DIR "/fulgurite --version >/dev/full 2>/dev/null");
    assert_int_equal(WEXITSTATUS(status), 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(help_and_version),
    cmocka_unit_test(mistakes_on_the_command_line),
    cmocka_unit_test(colors_are_requested),
    cmocka_unit_test(show_lists_tensors),
    cmocka_unit_test(show_escapes_what_deletes),
    cmocka_unit_test(show_prints_a_checkpoint_as_json),
    cmocka_unit_test(table_of_chips),
    cmocka_unit_test(devices_says_what_is_missing),
    cmocka_unit_test(devices_lists_what_it_finds),
    cmocka_unit_test(man_pages_name_every_option),
    cmocka_unit_test(bash_completes),
    cmocka_unit_test(zsh_script_is_valid),
    cmocka_unit_test(a_full_output_is_a_failure),
};
FGT_MAIN(tests)
