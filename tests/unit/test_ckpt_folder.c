/* test_ckpt_folder.c - checkpoint folders: saving, damage, last and best, pruning.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/print.h"
#include "base/temporary.h"
#include "ckpt/series.h"
#include "ckpt_value.h"

/* The value in the checkpoint `which`; its three copies must agree. */
static float load(const char *folder, const char *which)
{
    fg_error err = {0};
    char *path, json[64];
    fg_ckpt *ckpt;
    float model, state;
    size_t at;
    fgt_ok(fgi_ckpt_resolve(folder, which, &path, &err));
    fgt_ok(fg_ckpt_open(path, NULL, &ckpt, &err));
    fgi_free(path);
    memcpy(&model, fg_ckpt_data(ckpt, 0), sizeof(model));
    assert_true(fg_ckpt_find(ckpt, FG_CKPT_STATE, "adam.m.fc.weight", &at));
    memcpy(&state, fg_ckpt_data(ckpt, at), sizeof(state));
    (void)fgi_snprintf(json, sizeof(json), "{\"value\": %g}", (double)model);
    assert_true(model == state);
    assert_string_equal(fg_ckpt_state_json(ckpt), json);
    fg_ckpt_close(ckpt);
    return model;
}

static void round_trip(void **state)
{
    fg_error err = {0};
    fg_ckpt *ckpt;
    size_t at = 9;
    const char *folder = fgt_path(fgt_temp_folder(), "run/checkpoints");
    value_save_ok(folder, "step-1", 1.5F);
    fgt_ok(fg_ckpt_open(fgt_path(folder, "step-1"), NULL, &ckpt, &err));
    assert_int_equal(fg_ckpt_count(ckpt), 3);
    assert_true(fg_ckpt_find(ckpt, FG_CKPT_MODEL, "fc.weight", &at));
    assert_int_equal(at, 0);
    assert_int_equal(fg_ckpt_info(ckpt, 0)->part, FG_CKPT_MODEL);
    assert_true(fg_ckpt_find(ckpt, FG_CKPT_STATE, "fc.weight", &at));
    assert_int_equal(at, 2);
    assert_int_equal(fg_ckpt_info(ckpt, 2)->part, FG_CKPT_STATE);
    assert_false(fg_ckpt_find(ckpt, FG_CKPT_MODEL, "adam.m.fc.weight", &at));
    assert_false(fg_ckpt_find(ckpt, (fg_ckpt_part)2, "fc.weight", &at));
    assert_null(fg_ckpt_info(ckpt, 3));
    assert_null(fg_ckpt_data(ckpt, 3));
    assert_string_equal(fg_ckpt_state_json(ckpt), "{\"value\": 1.5}");
    fg_ckpt_close(ckpt);
    fg_ckpt_close(NULL);
}

static void saving_again_replaces(void **state)
{
    const char *folder = fgt_temp_folder();
    value_save_ok(folder, "a", 1);
    value_save_ok(folder, "a", 2);
    assert_true(load(folder, "a") == 2);
    value_save_ok(folder, "a/", 3); /* a slash at the end changes nothing */
    assert_true(load(folder, "a") == 3);
    value_save_ok(folder, "a//", 4);
    assert_true(load(folder, "a") == 4);
}

static void only_checkpoints_are_replaced(void **state)
{
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    fgt_write(fgt_path(folder, "notes"), "x", 1);
    assert_int_equal(value_save(folder, "notes", 1, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "exists and is not a checkpoint: it is not replaced"));
    fgt_ok(fgi_folder_make(fgt_path(folder, "photos"), &err));
    assert_int_equal(value_save(folder, "photos", 1, &err), FG_EINVAL);
}

static void bad_content_is_refused(void **state)
{
    fg_error err = {0};
    const char *path = fgt_path(fgt_temp_folder(), "x");
    fg_ckpt_content content = {.state_json = "[1]"};
    assert_int_equal(fg_ckpt_save(path, &content, &err), FG_EINVAL);
    assert_string_equal(err.message, "fg_ckpt_save: state_json is not a JSON object");
    content.state_json = "{\"a\": }";
    assert_int_equal(fg_ckpt_save(path, &content, &err), FG_EINVAL);
    assert_int_equal(err.status, FG_EINVAL);
    assert_memory_equal(err.message, "fg_ckpt_save: state_json: byte 7: invalid JSON: ", 48);
    assert_int_equal(fg_ckpt_save(path, NULL, &err), FG_EINVAL);
    content.state_json = NULL;
    assert_int_equal(fg_ckpt_save("", &content, &err), FG_EINVAL);
    assert_false(fgi_file_exists(path));
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Opens `folder/a` and expects FG_EFORMAT with this text in it. */
static void damaged(const char *folder, const char *text)
{
    fg_error err = {0};
    fg_ckpt *ckpt;
    assert_int_equal(fg_ckpt_open(fgt_path(folder, "a"), NULL, &ckpt, &err), FG_EFORMAT);
    assert_null(ckpt);
    if (!strstr(err.message, text))
        fail_msg("'%s' does not say: %s", err.message, text);
}

static void each_damage_names_the_file(void **state)
{
    static const char *const files[] = {"a/model.safetensors", "a/state.safetensors",
                                        "a/state.json"};
    const char *folder = fgt_temp_folder();
    for (size_t i = 0; i < 3; i++) {
        char *data, expected[128];
        size_t size;
        fg_error err = {0};
        value_save_ok(folder, "a", 1);
        fgt_ok(fgi_file_read(fgt_path(folder, files[i]), 1 << 20, &data, &size, &err));
        data[size / 2] ^= 4;
        fgt_write(fgt_path(folder, files[i]), data, size);
        (void)snprintf(expected, sizeof(expected),
                       "%s is damaged: its checksum is %016" PRIx64 ": expected ", files[i],
                       fgi_checksum64(data, size));
        damaged(folder, expected);
        fgt_write(fgt_path(folder, files[i]), data, size - 1);
        (void)snprintf(expected, sizeof(expected), "%s has %zu bytes: expected %zu", files[i],
                       size - 1, size);
        damaged(folder, expected);
        assert_int_equal(unlink(fgt_path(folder, files[i])), 0);
        (void)snprintf(expected, sizeof(expected), "%s is missing, but listed in manifest.json",
                       files[i]);
        damaged(folder, expected);
        fgi_free(data);
    }
}

static void checksums_can_be_left_out(void **state)
{
    char *data;
    size_t size;
    fg_error err = {0};
    fg_ckpt *ckpt;
    const char *folder = fgt_temp_folder(), *path = fgt_path(folder, "a/model.safetensors");
    value_save_ok(folder, "a", 1);
    fgt_ok(fgi_file_read(path, 1 << 20, &data, &size, &err));
    data[size - 1] ^= 1; /* in the weight itself */
    fgt_write(path, data, size);
    fgi_free(data);
    damaged(folder, "is damaged");
    const fg_ckpt_options trusting = {.no_checksums = true};
    fgt_ok(fg_ckpt_open(fgt_path(folder, "a"), &trusting, &ckpt, &err));
    fg_ckpt_close(ckpt);
    fgt_write(fgt_path(folder, "a/state.json"), "[\"value\", 1]", 12); /* as long as the object */
    assert_int_equal(fg_ckpt_open(fgt_path(folder, "a"), &trusting, &ckpt, &err), FG_EFORMAT);
    assert_non_null(strstr(err.message, "a/state.json: expected a JSON object"));
}

static void damaged_manifests(void **state)
{
#define HEAD          "{\"format\":\"fulgurite-checkpoint\",\"format_version\":1,\"library_version\":\"0\","
#define FILE_A(name)  "{\"name\":\"" name "\",\"bytes\":1,\"xxh3_64\":\"00000000000000ff\"}"
#define FILE_SUM(sum) "{\"name\":\"a\",\"bytes\":1,\"xxh3_64\":\"" sum "\"}"
#define FOUR(a)       FILE_A(a "0") "," FILE_A(a "1") "," FILE_A(a "2") "," FILE_A(a "3")
#define SIXTEEN       FOUR("a") "," FOUR("b") "," FOUR("c") "," FOUR("d")
#define BAD_SUM       "files[0]: expected bytes and xxh3_64 (16 hexadecimal digits)"
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "manifest.json: byte 0: invalid JSON: "},
        {"{}", "manifest.json is not the manifest of a fulgurite checkpoint"},
        {"[]", "manifest.json is not the manifest of a fulgurite checkpoint"},
        {HEAD "\"files\":[]}", "manifest.json: expected 'sequence' to be a nonnegative integer"},
        {HEAD "\"sequence\":-1,\"files\":[]}",
         "manifest.json: expected 'sequence' to be a nonnegative integer"},
        {HEAD "\"sequence\":1}",
         "manifest.json: expected 'files' to be a list of at most 16 entries"},
        {HEAD "\"sequence\":1,\"files\":[]}", "'model.safetensors' is missing in 'files'"},
        {HEAD "\"sequence\":1,\"files\":[1]}", "files[0]: expected a plain file name"},
        {HEAD "\"sequence\":1,\"processes\":2,\"writer\":2,\"files\":[]}",
         "expected 'writer' to be an integer from 0 to 'processes' - 1"},
        {HEAD "\"sequence\":1,\"files\":[" FILE_A("../x") "]}",
         "files[0]: expected a plain file name"},
        {HEAD "\"sequence\":1,\"files\":[" FILE_A("a") "," FILE_A("a") "]}", "'a' is listed twice"},
        {HEAD "\"sequence\":1,\"files\":[{\"name\":\"a\",\"bytes\":1,\"xxh3_64\":\"F\"}]}",
         "files[0]: expected bytes and xxh3_64 (16 hexadecimal digits)"},
        {HEAD "\"sequence\":1,\"files\":[" FILE_SUM("00000000000000fg") "]}", BAD_SUM},
        {HEAD "\"sequence\":1,\"files\":[" FILE_SUM("00000000000000FF") "]}", BAD_SUM},
        {HEAD "\"sequence\":1,\"files\":[" FILE_SUM("00000000000000f:") "]}", BAD_SUM},
        {HEAD "\"sequence\":1,\"files\":[" FILE_SUM("0000000000000ff") "]}", BAD_SUM},
        {HEAD "\"sequence\":1,\"files\":[" FILE_SUM("000000000000000ff") "]}", BAD_SUM},
        {HEAD "\"sequence\":1,\"files\":[{\"name\":\"a\",\"bytes\":-1,\"xxh3_64\":"
              "\"00000000000000ff\"}]}",
         BAD_SUM},
        {HEAD "\"sequence\":1,\"files\":[" FILE_A(".x") "]}",
         "files[0]: expected a plain file name"},
        {HEAD "\"sequence\":1,\"files\":[" SIXTEEN "]}",
         "'model.safetensors' is missing in 'files'"},
        {HEAD "\"sequence\":1,\"files\":[" SIXTEEN "," FILE_A("e") "]}",
         "manifest.json: expected 'files' to be a list of at most 16 entries"},
        {HEAD "\"sequence\":1,\"processes\":2,\"writer\":1,\"files\":[]}",
         "'model.safetensors' is missing in 'files'"},
        {HEAD "\"sequence\":1,\"processes\":2,\"writer\":-1,\"files\":[]}",
         "expected 'writer' to be an integer from 0 to 'processes' - 1"},
        {HEAD "\"sequence\":0,\"files\":[]}", "'model.safetensors' is missing in 'files'"},
    };
    const char *folder = fgt_temp_folder();
    value_save_ok(folder, "a", 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fgt_write(fgt_path(folder, "a/manifest.json"), cases[i].text, strlen(cases[i].text));
        damaged(folder, cases[i].message);
    }
    assert_int_equal(unlink(fgt_path(folder, "a/manifest.json")), 0);
    damaged(folder, "is not a checkpoint: it has no manifest.json");
}

static void other_formats_are_named(void **state)
{
    static const int versions[] = {0, 2};
    fg_error err = {0};
    fg_ckpt *ckpt;
    const char *folder = fgt_temp_folder();
    value_save_ok(folder, "a", 1);
    for (int i = 0; i < 2; i++) {
        char text[128], expected[128];
        const int size = snprintf(text, sizeof(text),
                                  "{\"format\":\"fulgurite-checkpoint\",\"format_version\":%d,"
                                  "\"library_version\":\"9.1.0\"}",
                                  versions[i]);
        fgt_write(fgt_path(folder, "a/manifest.json"), text, (size_t)size);
        assert_int_equal(fg_ckpt_open(fgt_path(folder, "a"), NULL, &ckpt, &err), FG_EUNSUPPORTED);
        (void)snprintf(
            expected, sizeof(expected),
            "checkpoint format version %d, written by fulgurite 9.1.0: expected version 1",
            versions[i]);
        assert_non_null(strstr(err.message, expected));
    }
}

static void what_is_not_there(void **state)
{
    fg_error err = {0};
    fg_ckpt *ckpt;
    assert_int_equal(fg_ckpt_open("/nowhere/at/all", NULL, &ckpt, &err), FG_ENOTFOUND);
    fgt_message_is(err.message, "cannot open '/nowhere/at/all': No such file or directory");
    assert_int_equal(fg_ckpt_open("", NULL, &ckpt, &err), FG_EINVAL);
    assert_int_equal(fg_ckpt_open("x", NULL, NULL, &err), FG_EINVAL);
}

/* ---- last, best, pruning --------------------------------------------------------------------- */

/* A path in the working directory precedes the checkpoint with that name in the folder. */
static void a_path_precedes_a_name(void **state)
{
    char here[512];
    const char *folder = fgt_temp_folder(), *elsewhere = fgt_temp_folder();
    (void)state;
    value_save_ok(folder, "one", 1);
    value_save_ok(elsewhere, "one", 2);
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(elsewhere), 0);
    const float value = load(folder, "one");
    assert_int_equal(chdir(here), 0);
    assert_true(value == 2);
    assert_true(load(folder, "one") == 1);
}

static void pointers_and_paths(void **state)
{
    fg_error err = {0};
    char *path;
    const char *folder = fgt_temp_folder();
    value_save_ok(folder, "one", 1);
    value_save_ok(folder, "two", 2);
    assert_int_equal(fgi_ckpt_resolve(folder, "best", &path, &err), FG_ENOTFOUND);
    fgt_ok(fgi_ckpt_point(folder, "last", "two", &err));
    fgt_ok(fgi_ckpt_point(folder, "best", "one", &err));
    assert_true(load(folder, "last") == 2);
    assert_true(load(folder, "best") == 1);
    assert_true(load(folder, "one") == 1);
    assert_true(load(NULL, fgt_path(folder, "two")) == 2);
    fgt_write(fgt_path(folder, "last"), "one \n\n", 6); /* edited by hand */
    assert_true(load(folder, "last") == 1);
    assert_int_equal(fgi_ckpt_resolve(folder, "three", &path, &err), FG_ENOTFOUND);
    assert_non_null(strstr(err.message, "no checkpoint 'three', neither as a path nor in '"));
    assert_int_equal(fgi_ckpt_resolve("/nowhere", "last", &path, &err), FG_ENOTFOUND);
    assert_null(path);
    assert_int_equal(fgi_ckpt_point(folder, "last", "../two", &err), FG_EINVAL);
    static const char *const wrong[] = {"", ".one", ".", "..", "a/b"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(fgi_ckpt_point(folder, "best", wrong[i], &err), FG_EINVAL);
        fgt_write(fgt_path(folder, "best"), wrong[i], strlen(wrong[i]));
        assert_int_equal(fgi_ckpt_resolve(folder, "best", &path, &err), FG_EFORMAT);
        assert_non_null(strstr(err.message, "/best does not contain the name of a checkpoint"));
    }
}

static void count_warnings(void *self, fg_log_level level, const char *line)
{
    *(int *)self += level >= FG_LOG_WARNING;
}

static char said[4096];

static void keep_lines(void *self, fg_log_level level, const char *line)
{
    (void)self;
    if (level >= FG_LOG_ERROR) /* also with --quiet: steps are lost */
        (void)snprintf(said + strlen(said), sizeof said - strlen(said), "%s\n", line);
}

/* What damages the checkpoint "two", and what is said about it. */
typedef struct damage {
    const char *file;    /* in it, or "last" */
    const char *content; /* NULL: removes the file; "": empties it; "flip", "cut" */
    const char *says;
} damage;

static void do_damage(const char *folder, const damage *d)
{
    char path[600], *data;
    size_t size;
    fg_error err = {0};
    (void)snprintf(path, sizeof path, "%s/%s%s", folder, strcmp(d->file, "last") == 0 ? "" : "two/",
                   d->file);
    fgt_ok(fgi_file_read(path, 1 << 20, &data, &size, &err));
    if (d->content == NULL)
        assert_int_equal(unlink(path), 0);
    else if (strcmp(d->content, "flip") == 0)
        data[size / 2] ^= 4;
    if (d->content != NULL && (strcmp(d->content, "flip") == 0 || strcmp(d->content, "cut") == 0))
        fgt_write(path, data, strcmp(d->content, "cut") == 0 ? size / 2 : size);
    else if (d->content != NULL)
        fgt_write(path, d->content, strlen(d->content));
    fgi_free(data);
}

/* `last` is the newest intact checkpoint, and what is wrong with the newest one is said once. */
static void each_damage_is_explained(void **state)
{
    static const damage rows[] = {
        {"model.safetensors", "flip", "two/model.safetensors is damaged: its checksum is "},
        {"state.safetensors", "flip", "two/state.safetensors is damaged: its checksum is "},
        {"state.json", "flip", "two/state.json is damaged: its checksum is "},
        {"model.safetensors", "cut", " bytes: expected "},
        {"model.safetensors", "", "two/model.safetensors has 0 bytes: expected "},
        {"model.safetensors", NULL,
         "two/model.safetensors is missing, but listed in manifest.json"},
        {"state.json", NULL, "two/state.json is missing, but listed in manifest.json"},
        {"manifest.json", NULL, "two' is not a checkpoint: it has no manifest.json"},
        {"manifest.json", "cut", "two/manifest.json: byte "},
        {"manifest.json", "", "two/manifest.json: byte 0: invalid JSON: "},
        {"last", "three\n", "'"}, /* no such checkpoint */
        {"last", "../x\n", "/last does not contain the name of a checkpoint"},
        {"last", NULL, "there is no 'last' checkpoint in '"},
    };
    (void)state;
    fg_log_set(keep_lines, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        const char *folder = fgt_temp_folder();
        const float expected = strcmp(rows[i].file, "last") == 0 ? 2 : 1;
        value_save_ok(folder, "one", 1);
        value_save_ok(folder, "two", 2);
        fgt_ok(fgi_ckpt_point(folder, "last", "two", &err));
        do_damage(folder, &rows[i]);
        said[0] = '\0';
        assert_true(load(folder, "last") == expected);
        if (strstr(said, rows[i].says) == NULL || strstr(said, "; using '") == NULL ||
            strchr(said, '\n') != said + strlen(said) - 1)
            fail_msg("row %zu: '%s' is not said once: %s", i, rows[i].says, said);
    }
    fg_log_set(NULL, NULL);
}

/* Checkpoints that are all damaged are not the same as none. */
static void all_damaged_is_an_error(void **state)
{
    fg_error err = {0};
    char *path;
    const char *folder = fgt_temp_folder();
    (void)state;
    assert_int_equal(fgi_ckpt_resolve(folder, "last", &path, &err), FG_ENOTFOUND);
    fgt_ok(fgi_folder_make(fgt_path(folder, "photos"), &err));
    assert_int_equal(fgi_ckpt_resolve(folder, "last", &path, &err), FG_ENOTFOUND);
    fgt_ok(fgi_ckpt_point(folder, "last", "gone", &err));
    assert_int_equal(fgi_ckpt_resolve(folder, "last", &path, &err), FG_EFORMAT);
    fgt_message_is(
        err.message,
        "'~/last' names a checkpoint, but there is none: cannot open '~/gone': No such file or "
        "directory\nrestore the checkpoint, or start a new run with overwrite instead of resume");
    assert_int_equal(unlink(fgt_path(folder, "last")), 0);
    value_save_ok(folder, "one", 1);
    fgt_write(fgt_path(folder, "one/manifest.json"), "{", 1);
    assert_int_equal(fgi_ckpt_resolve(folder, "last", &path, &err), FG_EFORMAT);
    fgt_message_is(err.message,
                   "no checkpoint in '~' is intact: ~/one/manifest.json: byte 1: invalid JSON: @");
    assert_int_equal(unlink(fgt_path(folder, "one/manifest.json")), 0);
    assert_int_equal(fgi_ckpt_resolve(folder, "last", &path, &err), FG_EFORMAT);
    fgt_message_is(
        err.message,
        "no checkpoint in '~' is intact: '~/one' is not a checkpoint: it has no manifest.json");
    fgt_ok(fgi_ckpt_point(folder, "last", "one", &err));
    assert_int_equal(fgi_ckpt_resolve(folder, "last", &path, &err), FG_EFORMAT);
}

static void last_survives_damage(void **state)
{
    fg_error err = {0};
    char *path;
    int warnings = 0;
    const char *folder = fgt_temp_folder();
    value_save_ok(folder, "b", 1);
    value_save_ok(folder, "a", 2); /* newer, though its name sorts first */
    value_save_ok(folder, "c", 3);
    fg_log_set(count_warnings, &warnings);
    assert_true(load(folder, "last") == 3); /* no pointer at all */
    fgt_ok(fgi_ckpt_point(folder, "last", "c", &err));
    fgt_write(fgt_path(folder, "c/model.safetensors"), "x", 1);
    assert_true(load(folder, "last") == 2); /* the checkpoint it names is damaged */
    fgt_write(fgt_path(folder, "last"), "\0\1/", 3);
    assert_true(load(folder, "last") == 2); /* and so is the pointer */
    assert_int_equal(warnings, 4);
    fgt_ok(fgi_ckpt_point(folder, "best", "c", &err));
    assert_int_equal(fgi_ckpt_resolve(folder, "best", &path, &err), FG_EFORMAT); /* never another */
    fgt_write(fgt_path(folder, "a/state.json"), "", 0);
    fgt_write(fgt_path(folder, "b/manifest.json"), "", 0);
    assert_int_equal(fgi_ckpt_resolve(folder, "last", &path, &err), FG_EFORMAT);
    fg_log_set(NULL, NULL);
}

static void pruning_keeps_the_newest_and_the_best(void **state)
{
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    const char *const names[] = {"e", "d", "c", "b", "a"};
    for (int i = 0; i < 5; i++)
        value_save_ok(folder, names[i], (float)i);
    fgt_ok(fgi_folder_make(fgt_path(folder, "photos"), &err));
    fgt_ok(fgi_ckpt_point(folder, "best", "d", &err));
    fgt_ok(fgi_ckpt_point(folder, "last", "a", &err));
    fgt_ok(fgi_ckpt_prune(folder, 0, NULL, 0, &err));
    assert_true(folder_has(folder, "e"));
    fgt_ok(fgi_ckpt_prune(folder, 2, NULL, 0, &err));
    assert_true(folder_has(folder, "a") && folder_has(folder, "b") && folder_has(folder, "d") &&
                folder_has(folder, "photos"));
    assert_false(folder_has(folder, "c") || folder_has(folder, "e"));
    fgt_ok(fgi_ckpt_point(folder, "last", "b", &err)); /* no longer the newest */
    fgt_ok(fgi_ckpt_prune(folder, 1, NULL, 0, &err));
    assert_true(load(folder, "last") == 3);
    fgt_ok(fgi_ckpt_point(folder, "last", "a", &err));
    fgt_ok(fgi_ckpt_prune(folder, 1, NULL, 0, &err));
    assert_true(load(folder, "last") == 4);
    assert_true(load(folder, "best") == 1);
    assert_false(folder_has(folder, "b"));
}

/* A process id that no process has. */
static long dead_pid(void)
{
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return child;
}

static void leftovers_are_ignored_and_swept(void **state)
{
    fg_error err = {0};
    char dead[64], alive[64], last[64], old[64];
    const long pid = dead_pid();
    const char *folder = fgt_temp_folder();
    temporary_name_by(dead, sizeof(dead), "z.tmp", NULL, pid);
    temporary_name_by(last, sizeof(last), "last.tmp", NULL, pid);
    temporary_name_by(old, sizeof(old), "b.old", NULL, pid);
    temporary_name_by(alive, sizeof(alive), "y.tmp", NULL, (long)getppid());
    value_save_ok(folder, "a", 1);
    value_save_ok(folder, "old", 2);
    value_save_ok(folder, "dead", 3);
    value_save_ok(folder, "alive", 4);
    assert_int_equal(rename(fgt_path(folder, "old"), fgt_path(folder, old)), 0);
    assert_int_equal(rename(fgt_path(folder, "dead"), fgt_path(folder, dead)), 0);
    assert_int_equal(rename(fgt_path(folder, "alive"), fgt_path(folder, alive)), 0);
    fgt_write(fgt_path(folder, last), "z", 1);
    fgt_write(fgt_path(folder, "x.tmp.notes"), "mine", 4);
    assert_true(load(folder, "last") == 2); /* b was being replaced: the old version is valid */
    fgt_ok(fgi_ckpt_sweep(folder, &err));
    assert_false(folder_has(folder, dead) || folder_has(folder, last));
    assert_true(folder_has(folder, alive) && folder_has(folder, old) &&
                folder_has(folder, "x.tmp.notes"));
    value_save_ok(folder, "b", 5);
    value_save_ok(folder, "c", 6); /* b is complete again, so the old version is removed */
    assert_false(folder_has(folder, old));
    assert_true(load(folder, "last") == 6);
}

/* Of a process that has ended: temporary pointers and other files of a run, not those of others. */
static void temporary_files_are_swept(void **state)
{
    static const struct {
        const char *base;
        bool is_swept;
    } rows[] = {{"last.tmp", true},         {"best.tmp", true},   {"kept.tmp", true},
                {"clock.tmp", true},        {"notes.tmp", false}, {"lasts.tmp", false},
                {"best-val_acc.tmp", true}, {"best-.tmp", true},  {"bestval.tmp", false}};
    enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
    fg_error err = {0};
    char names[ROWS][64];
    const char *folder = fgt_temp_folder();
    (void)state;
    for (int i = 0; i < ROWS; i++) {
        temporary_name_by(names[i], sizeof(names[i]), rows[i].base, NULL, dead_pid());
        fgt_write(fgt_path(folder, names[i]), "z", 1);
    }
    fgt_ok(fgi_ckpt_sweep(folder, &err));
    for (int i = 0; i < ROWS; i++)
        if (folder_has(folder, names[i]) == rows[i].is_swept)
            fail_msg("%s", rows[i].base);
}

/* Of checkpoints with the same number, the last one by name. */
static void the_newest_of_equal_numbers(void **state)
{
    static const char *const names[] = {"b", "c", "a"};
    (void)state;
    const char *folder = fgt_temp_folder();
    for (int i = 0; i < 3; i++) {
        char *text;
        size_t size;
        fg_error err = {0};
        char path[512];
        value_save_ok(folder, names[i], (float)i);
        (void)snprintf(path, sizeof(path), "%s/%s/manifest.json", folder, names[i]);
        fgt_ok(fgi_file_read(path, 1 << 20, &text, &size, &err));
        char *number = strstr(text, "\"sequence\": ");
        assert_non_null(number);
        number[strlen("\"sequence\": ")] = '1';
        fgt_write(path, text, size);
        fgi_free(text);
    }
    assert_true(load(folder, "last") == 1);
}

/* Sets the modification time of a checkpoint and of its files. */
static void set_age(const char *folder, const char *name, long seconds)
{
    static const char *const inside[] = {"manifest.json", "model.safetensors", "state.safetensors",
                                         "state.json", ""};
    char path[512];
    const struct timespec then = {.tv_sec = time(NULL) - seconds};
    for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s/%s", folder, name, inside[i]);
        assert_int_equal(utimensat(AT_FDCWD, path, (const struct timespec[]){then, then}, 0), 0);
    }
}

/* The PID of another container or host cannot be checked here: only the age of the last write
 * counts. */
static void what_other_machines_write_is_left_alone(void **state)
{
    fg_error err = {0};
    static const char other[] = "0123456789abcdef";
    char fresh[64], stale[64], one_file[64], older[64];
    const long pid = dead_pid();
    const char *folder = fgt_temp_folder();
    temporary_name_by(fresh, sizeof(fresh), "fresh.tmp", other, pid);
    temporary_name_by(stale, sizeof(stale), "stale.tmp", other, (long)getppid());
    temporary_name_by(one_file, sizeof(one_file), "one.tmp", other, pid);
    (void)snprintf(older, sizeof(older), "older.tmp.%ld", pid); /* by an earlier version */
    const char *const names[] = {fresh, stale, one_file, older};
    for (int i = 0; i < 4; i++) {
        value_save_ok(folder, "x", (float)i + 1);
        assert_int_equal(rename(fgt_path(folder, "x"), fgt_path(folder, names[i])), 0);
    }
    set_age(folder, stale, FGI_ABANDONED_AFTER_S + 60);
    set_age(folder, one_file, FGI_ABANDONED_AFTER_S + 60);
    fgt_write(fgt_path(fgt_path(folder, one_file), "state.json"), "{}", 2); /* it still writes */
    fgt_ok(fgi_ckpt_sweep(folder, &err));
    assert_true(folder_has(folder, fresh) && folder_has(folder, one_file) &&
                folder_has(folder, older));
    assert_false(folder_has(folder, stale));
    set_age(folder, older, FGI_ABANDONED_AFTER_S + 60);
    fgt_ok(fgi_ckpt_sweep(folder, &err));
    assert_false(folder_has(folder, older));
    assert_int_equal(fgt_count_entries(folder), 2); /* may be alive, and there is no timestamp */
}

/* ---- failures of the system ------------------------------------------------------------------ */

/* In a separate process with a file size limit. */
static int save_under_limit(const char *folder, rlim_t bytes)
{
    const pid_t child = fork();
    if (child == 0) {
        fg_error err = {0};
        const struct rlimit limit = {bytes, bytes};
        (void)signal(SIGXFSZ, SIG_IGN);
        if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
            _exit(77);
        const fg_status status = value_save(folder, "a", 2, &err);
        _exit(status == FG_EIO && strstr(err.message, "File too large") ? 1 : (int)status);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_failed_write_leaves_the_old_checkpoint(void **state)
{
    const char *folder = fgt_temp_folder();
    value_save_ok(folder, "a", 1);
    for (rlim_t limit = 0; limit < 340; limit += 13) { /* within each of the four files */
        assert_int_equal(save_under_limit(folder, limit), 1);
        assert_true(load(folder, "a") == 1);
        assert_true(load(folder, "last") == 1);
        struct stat info;
        assert_int_equal(stat(folder, &info), 0);
        assert_int_equal(info.st_nlink, 3); /* itself, its parent's entry, "a": no leftover */
    }
    assert_int_equal(save_under_limit(folder, 4096), FG_OK);
    assert_true(load(folder, "a") == 2);
}

static fg_status a_run(void *self, fg_error *err)
{
    char *path = NULL;
    fg_status status = value_save(self, "one", 1, err);
    if (status == FG_OK)
        status = value_save(self, "two", 2, err);
    if (status == FG_OK)
        status = fgi_ckpt_point(self, "last", "two", err);
    if (status == FG_OK)
        status = fgi_ckpt_resolve(self, "last", &path, err);
    fgi_free(path);
    int64_t newest[2] = {0, 0};
    for (int i = 0; i < 2 && status == FG_OK; i++)
        status = fgi_ckpt_newest_sequence(self, &newest[i], err);
    if (status == FG_OK)
        assert_true(newest[0] == newest[1]); /* none is overlooked */
    if (status == FG_OK)
        status = fgi_ckpt_prune(self, 1, NULL, 0, err);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    char folder[512];
    (void)snprintf(folder, sizeof(folder), "%s", fgt_temp_folder());
    fgt_fault_loop(a_run, folder);
}

static ino_t inode_of(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_ino;
}

/* A pointer that is right already is not written again. */
static void a_pointer_is_written_if_it_changes(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = fgt_temp_folder(), *best = fgt_path(folder, "best");
    fgt_ok(fgi_ckpt_repoint(folder, "best", "step-1", &err));
    const ino_t first = inode_of(best);
    fgt_ok(fgi_ckpt_repoint(folder, "best", "step-1", &err));
    assert_true(inode_of(best) == first);
    fgt_ok(fgi_ckpt_repoint(folder, "best", "step-2", &err));
    assert_true(inode_of(best) != first);
    fgt_ok(fgi_ckpt_repoint(folder, "best", NULL, &err));
    assert_false(fgi_file_exists(best));
}

/* Changes of one list: the lines of an owner are replaced by these names; those without an owner
 * are added, or with `is_for_good`, added once. Then the whole file; NULL: none. */
static const struct {
    const char *owner, *names[2];
    bool is_for_good;
    const char *file;
} changes[] = {
    {"a", {"x", NULL}, false, "x a\n"},
    {"a", {NULL, NULL}, false, NULL},
    {"a", {NULL, NULL}, false, NULL},
    {"a", {"x", "y"}, false, "x a\ny a\n"},
    {"", {"x", NULL}, true, "x a\ny a\nx\n"},
    {"", {"x", NULL}, true, "x a\ny a\nx\n"},
    {"b", {"x", NULL}, false, "x a\ny a\nx\nx b\n"},
    {"", {"x", NULL}, true, "x a\ny a\nx\nx b\n"},
    {"a", {"z", "y"}, false, "x\nx b\nz a\ny a\n"},
    {"", {"w", NULL}, false, "x\nx b\nz a\ny a\nw\n"},
    {"", {"w", NULL}, false, "x\nx b\nz a\ny a\nw\nw\n"},
    {"a", {"z", "v"}, false, "x\nx b\nw\nw\nz a\nv a\n"},
    {"a", {"v", "z"}, false, "x\nx b\nw\nw\nv a\nz a\n"},
};

static void a_list_of_what_is_kept(void **state)
{
    (void)state;
    fg_error err = {0};
    const char *folder = fgt_temp_folder(), *path = fgt_path(folder, "kept");
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        char *text = NULL;
        size_t size;
        const size_t count = !changes[i].names[0] ? 0 : changes[i].names[1] ? 2 : 1;
        if (changes[i].is_for_good)
            fgt_ok(fgi_ckpt_keep_for_good(folder, changes[i].names[0], &err));
        else
            fgt_ok(fgi_ckpt_keep(folder, changes[i].owner, changes[i].names, count, &err));
        assert_int_equal(fgi_file_exists(path), changes[i].file != NULL);
        if (changes[i].file == NULL)
            continue;
        fgt_ok(fgi_file_read(path, 100, &text, &size, &err));
        assert_string_equal(text, changes[i].file);
        fgi_free(text);
    }
    for (const char *name = "zyxan"; *name != '\0'; name++)
        value_save_ok(folder, (const char[]){*name, '\0'}, 1);
    fgt_ok(fgi_ckpt_prune(folder, 1, NULL, 0, &err)); /* n is the newest */
    assert_true(folder_has(folder, "z") && folder_has(folder, "x") && folder_has(folder, "n"));
    assert_false(folder_has(folder, "y") || folder_has(folder, "a"));
}

/* With checkpoints, what points to them is deleted, and nothing else. */
static void clearing_a_folder(void **state)
{
    static const char *const names[] = {"last", "best", "best-val_acc", "kept", "notes", "bestest"};
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    (void)state;
    value_save_ok(folder, "a", 1);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        fgt_write(fgt_path(folder, names[i]), "a\n", 2);
    fgt_ok(fgi_ckpt_clear(folder, &err));
    assert_false(folder_has(folder, "a"));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_int_equal(folder_has(folder, names[i]), i >= 4);
}

/* ---- published weights ----------------------------------------------------------------------- */

static void write_text(const char *path, const char *text) { fgt_write(path, text, strlen(text)); }

/* A folder with two shards: a is in the first, b and c are in the second. */
static const char *shards(const char *index)
{
    fg_error err = {0};
    static const float values[] = {1, 2, 3};
    const fg_type f32 = {.dtype = FG_F32, .rank = 1, .dim = {1}};
    const fg_ckpt_tensor tensors[] = {
        {"a", f32, values}, {"b", f32, values + 1}, {"c", f32, values + 2}};
    const char *folder = fgt_temp_folder();
    fgt_ok(fg_safetensors_write(fgt_path(folder, "1.safetensors"), tensors, 1, NULL, &err));
    fgt_ok(fg_safetensors_write(fgt_path(folder, "2.safetensors"), tensors + 1, 2, NULL, &err));
    write_text(fgt_path(folder, "model.safetensors.index.json"), index);
    return folder;
}

static void shards_are_one_model(void **state)
{
    fg_error err = {0};
    fg_ckpt *ckpt = NULL;
    size_t index = 0;
    const char *folder = shards("{\"weight_map\": {\"c\": \"2.safetensors\", \"a\": "
                                "\"1.safetensors\", \"b\": \"2.safetensors\"}}");
    fgt_ok(fg_ckpt_open(folder, NULL, &ckpt, &err));
    assert_int_equal(fg_ckpt_count(ckpt), 3);
    for (int i = 0; i < 3; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        assert_true(fg_ckpt_find(ckpt, FG_CKPT_MODEL, name, &index));
        assert_string_equal(fg_ckpt_info(ckpt, index)->name, name);
        assert_true(*(const float *)fg_ckpt_data(ckpt, index) == (float)(i + 1));
    }
    assert_false(fg_ckpt_find(ckpt, FG_CKPT_STATE, "a", &index));
    assert_null(fg_ckpt_info(ckpt, 3));
    assert_null(fg_ckpt_data(ckpt, 3));
    fg_ckpt_close(ckpt);
}

static void wrong_indexes(void **state)
{
    static const struct {
        const char *index, *message;
        fg_status status;
    } rows[] = {
        {"{\"weight_map\": {}}", "expected \"weight_map\": {TENSOR: FILE, ...}", FG_EFORMAT},
        {"[]", "expected \"weight_map\"", FG_EFORMAT},
        {"{\"weight_map\": {\"a\": \"../1.safetensors\"}}",
         "weight_map: 'a': expected the name of a file in this folder", FG_EFORMAT},
        {"{\"weight_map\": {\"a\": 1}}", "expected the name of a file", FG_EFORMAT},
        {"{\"weight_map\": {\"a\": \"3.safetensors\"}}", "3.safetensors", FG_ENOTFOUND},
        {"{\"weight_map\": {\"d\": \"1.safetensors\"}}",
         "weight_map: '1.safetensors' has no tensor 'd'", FG_EFORMAT},
        {"{\"weight_map\": {\"c\": \"2.safetensors\"}}",
         "weight_map lists 1 tensors, but its files have 2", FG_EFORMAT},
    };
    fg_error err = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_ckpt *ckpt = NULL;
        assert_int_equal(fg_ckpt_open(shards(rows[i].index), NULL, &ckpt, &err), rows[i].status);
        if (strstr(err.message, rows[i].message) == NULL)
            fail_msg("%s", err.message);
        assert_null(ckpt);
    }
    const char *folder = fgt_path(fgt_temp_folder(), "pickle");
    fgt_ok(fgi_folder_make(folder, &err));
    write_text(fgt_path(folder, "pytorch_model.bin"), "x");
    fg_ckpt *ckpt = NULL;
    assert_int_equal(fg_ckpt_open(folder, NULL, &ckpt, &err), FG_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "expected model.safetensors"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(shards_are_one_model),
    cmocka_unit_test(wrong_indexes),
    cmocka_unit_test(clearing_a_folder),
    cmocka_unit_test(a_list_of_what_is_kept),
    cmocka_unit_test(a_pointer_is_written_if_it_changes),
    cmocka_unit_test(round_trip),
    cmocka_unit_test(saving_again_replaces),
    cmocka_unit_test(only_checkpoints_are_replaced),
    cmocka_unit_test(bad_content_is_refused),
    cmocka_unit_test(each_damage_names_the_file),
    cmocka_unit_test(checksums_can_be_left_out),
    cmocka_unit_test(damaged_manifests),
    cmocka_unit_test(other_formats_are_named),
    cmocka_unit_test(what_is_not_there),
    cmocka_unit_test(pointers_and_paths),
    cmocka_unit_test(a_path_precedes_a_name),
    cmocka_unit_test(last_survives_damage),
    cmocka_unit_test(each_damage_is_explained),
    cmocka_unit_test(all_damaged_is_an_error),
    cmocka_unit_test(pruning_keeps_the_newest_and_the_best),
    cmocka_unit_test(leftovers_are_ignored_and_swept),
    cmocka_unit_test(temporary_files_are_swept),
    cmocka_unit_test(the_newest_of_equal_numbers),
    cmocka_unit_test(what_other_machines_write_is_left_alone),
    cmocka_unit_test(a_failed_write_leaves_the_old_checkpoint),
    cmocka_unit_test(every_allocation_may_fail),
};

FGT_MAIN(tests)
