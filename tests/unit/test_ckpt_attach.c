/* test_ckpt_attach.c - files attached to a checkpoint, and checkpoints of runs and of several
 * processes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "ckpt/attach.h"
#include "ckpt/manifest.h"
#include "ckpt/series.h"
#include "ckpt_value.h"

/* ---- failures of the system ------------------------------------------------------------------ */

/* Four processes save one state in any order: exactly one checkpoint exists, by the first process,
 * and records that. */
static const fg_attachment two_texts[] = {{"config.yaml", "task: regression\n"},
                                          {"data.json", "{\"classes\": [\"\xc3\xa4\", \"\\\"\"]}"}};

static fg_status save_attached(const char *path, const fg_attachment *attachments, size_t count,
                               fg_error *err)
{
    const float value = 2;
    const fg_type f32 = {.dtype = FG_F32, .rank = 1, .dim = {1}};
    const fg_ckpt_tensor model = {"fc.weight", f32, &value};
    const char *const metadata[] = {"step", "7", NULL};
    const fg_ckpt_content content = {.model = &model,
                                     .model_count = 1,
                                     .attachments = attachments,
                                     .attachment_count = count,
                                     .metadata = metadata};
    return fg_ckpt_save(path, &content, err);
}

static void check_attached(const char *path)
{
    fg_error err = {0};
    fg_ckpt *ckpt;
    fgt_ok(fg_ckpt_open(path, NULL, &ckpt, &err));
    assert_string_equal(fg_ckpt_path(ckpt), path);
    assert_string_equal(fg_ckpt_attachment(ckpt, "config.yaml"), two_texts[0].text);
    assert_string_equal(fg_ckpt_attachment(ckpt, "data.json"), two_texts[1].text);
    assert_string_equal(fg_ckpt_metadata(ckpt, "step"), "7");
    assert_null(fg_ckpt_attachment(ckpt, "other"));
    assert_null(fg_ckpt_attachment(ckpt, "step"));
    fg_ckpt_close(ckpt);
}

/* In the folder they are files with checksums; a copy of the model file alone has them too. */
static void attachments_travel_with_the_model(void **state)
{
    fg_error err = {0};
    char *text;
    size_t size;
    const char *folder = fgt_path(fgt_temp_folder(), "run/checkpoints");
    const char *path = fgt_path(folder, "step-1"), *copy = fgt_path(fgt_temp_folder(), "copy");
    fgt_ok(save_attached(path, two_texts, 2, &err));
    check_attached(path);
    fgt_ok(fgi_file_read(fgt_path(path, "config.yaml"), 1 << 20, &text, &size, &err));
    assert_string_equal(text, two_texts[0].text);
    fgi_free(text);
    assert_int_equal(rename(fgt_path(path, "model.safetensors"), copy), 0);
    check_attached(copy);
    assert_int_equal(rename(copy, fgt_path(path, "model.safetensors")), 0);
    fgt_ok(fgi_file_write_atomic(fgt_path(path, "data.json"), "{}", 2, &err));
    fg_ckpt *ckpt;
    assert_int_equal(fg_ckpt_open(path, NULL, &ckpt, &err), FG_EFORMAT);
    fgt_message_is(err.message, "~/run/checkpoints/step-1/data.json has 2 bytes: expected 25");
    /* without attachments the file has none */
    value_save_ok(folder, "step-2", 1);
    fgt_ok(fg_ckpt_open(fgt_path(folder, "step-2"), NULL, &ckpt, &err));
    assert_null(fg_ckpt_attachment(ckpt, "config.yaml"));
    fg_ckpt_close(ckpt);
    (void)state;
}

static void bad_attachments_are_refused(void **state)
{
    static const fg_attachment bad[] = {{"", ""},
                                        {".hidden", ""},
                                        {"a/b", ""},
                                        {"\xc3\xa4", ""},
                                        {"model.safetensors", ""},
                                        {"manifest.json", ""},
                                        {NULL, ""},
                                        {"text", NULL},
                                        {"text", "\xff"}};
    const fg_attachment twice[] = {{"a", ""}, {"a", ""}};
    const char *path = fgt_path(fgt_temp_folder(), "step-1");
    fg_error err = {0};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(save_attached(path, &bad[i], 1, &err), FG_EINVAL);
        const char *reason = i < 7    ? "' is not a valid attachment name: expected a file name of "
                                        "letters, digits, '.', '_' and '-' that the checkpoint does "
                                        "not use itself"
                             : i == 7 ? ": attachment 'text' has no text, or its text is larger "
                                        "than 64 MiB"
                                      : ": the text of attachment 'text' is not UTF-8";
        const char *name = i < 6 ? bad[i].name : "";
        char message[256];
        (void)snprintf(message, sizeof message, "fg_ckpt_save: %s%s%s", i < 7 ? "'" : "", name,
                       i < 7 ? reason : reason + 2);
        assert_string_equal(err.message, message);
    }
    assert_int_equal(save_attached(path, twice, 2, &err), FG_EINVAL);
    fgt_message_is(err.message, "fg_ckpt_save: two attachments are named 'a'");
    assert_int_equal(save_attached(path, twice, 13, &err), FG_EINVAL);
    fgt_message_is(err.message, "fg_ckpt_save: 13 attachments: expected at most 12");
    assert_false(fgi_file_exists(path));
    (void)state;
}

/* Twelve attachments, whose names have 63 characters; one of 64 is refused. */
static void the_most_attachments(void **state)
{
    enum { MOST = 12, LONGEST = 63 };
    char names[MOST][LONGEST + 2], texts[MOST][8];
    fg_attachment attached[MOST];
    fg_error err = {0};
    fg_ckpt *ckpt = NULL;
    (void)state;
    const char *path = fgt_path(fgt_temp_folder(), "step-1");
    for (int i = 0; i < MOST; i++) {
        (void)snprintf(names[i], sizeof names[i], "%0*d", LONGEST, i);
        (void)snprintf(texts[i], sizeof texts[i], "text %d", i % 10);
        attached[i] = (fg_attachment){names[i], texts[i]};
    }
    fgt_ok(save_attached(path, attached, MOST, &err));
    fgt_ok(fg_ckpt_open(path, NULL, &ckpt, &err));
    for (int i = 0; i < MOST; i++)
        assert_string_equal(fg_ckpt_attachment(ckpt, names[i]), texts[i]);
    (void)snprintf(names[0], sizeof names[0], "%0*d", LONGEST + 1, 0);
    assert_null(fg_ckpt_attachment(ckpt, names[0]));
    fg_ckpt_close(ckpt);
    assert_int_equal(save_attached(path, attached, 1, &err), FG_EINVAL);
}

/* Up to 64 MiB: the first error is then that of the second attachment. */
static void large_attachments_are_refused(void **state)
{
    char *text = malloc(FGI_ATTACH_MAX_BYTES + 2);
    fg_error err = {0};
    (void)state;
    assert_non_null(text);
    memset(text, 'a', FGI_ATTACH_MAX_BYTES + 1);
    for (int more = 0; more < 2; more++) {
        const fg_attachment twice[] = {{"a", text}, {"a", ""}};
        text[FGI_ATTACH_MAX_BYTES + more] = '\0';
        assert_int_equal(fgi_attach_check("x", twice, 2, &err), FG_EINVAL);
        assert_string_equal(
            err.message, more == 0
                             ? "x: two attachments are named 'a'"
                             : "x: attachment 'a' has no text, or its text is larger than 64 MiB");
        text[FGI_ATTACH_MAX_BYTES + more] = 'a';
    }
    free(text);
}

/* Replaced, pruned and abandoned checkpoints leave no attachment files behind; other files are
 * kept. */
static void attachments_are_removed_with_their_checkpoint(void **state)
{
    fg_error err = {0};
    const char *folder = fgt_path(fgt_temp_folder(), "run/checkpoints");
    char name[64];
    temporary_name_by(name, sizeof(name), "step-9.tmp", NULL, 2147483647);
    const char *one = fgt_path(folder, "step-1"), *dead = fgt_path(folder, name);
    fgt_ok(save_attached(one, two_texts, 2, &err));
    fgt_ok(save_attached(one, two_texts, 1, &err));
    assert_false(fgi_file_exists(fgt_path(one, "data.json")));
    fgt_ok(save_attached(fgt_path(folder, "step-2"), two_texts, 2, &err));
    fgt_ok(fgi_ckpt_point(folder, "last", "step-2", &err));
    fgt_ok(fgi_ckpt_prune(folder, 1, NULL, 0, &err));
    assert_false(fgi_file_exists(one));
    /* killed before its manifest was written */
    fgt_ok(fgi_folder_make(dead, &err));
    fgt_ok(fgi_file_write_atomic(fgt_path(dead, "model.safetensors"), "x", 1, &err));
    fgt_ok(fgi_file_write_atomic(fgt_path(dead, "config.yaml"), "x", 1, &err));
    fgt_ok(fgi_ckpt_sweep(folder, &err));
    assert_false(fgi_file_exists(dead));
    assert_true(folder_has(folder, "step-2"));
    (void)state;
}

static void a_run_is_opened_by_its_folder(void **state)
{
    fg_error err = {0};
    fg_ckpt *ckpt;
    const char *run = fgt_path(fgt_temp_folder(), "run"), *folder = fgt_path(run, "checkpoints");
    static const char *const names[] = {"last", "best", "step-1", "step-2"};
    value_save_ok(folder, "step-1", 1);
    value_save_ok(folder, "step-2", 2);
    fgt_ok(fgi_ckpt_point(folder, "best", "step-1", &err));
    fgt_ok(fgi_ckpt_point(folder, "last", "step-2", &err));
    for (size_t i = 0; i < 4; i++) {
        fgt_ok(fg_ckpt_open_run(run, names[i], NULL, &ckpt, &err));
        assert_string_equal(fg_ckpt_path(ckpt), fgt_path(folder, i % 3 == 0 ? "step-2" : "step-1"));
        fg_ckpt_close(ckpt);
    }
    fgt_ok(fg_ckpt_open_run(NULL, fgt_path(folder, "step-1"), NULL, &ckpt, &err));
    fg_ckpt_close(ckpt);
    assert_int_equal(fg_ckpt_open_run(run, "step-3", NULL, &ckpt, &err), FG_ENOTFOUND);
    assert_null(ckpt);
    assert_int_equal(fg_ckpt_open_run(run, NULL, NULL, &ckpt, &err), FG_EINVAL);
    (void)state;
}

static void of_several_processes_the_first_writes(void **state)
{
    static const int order[] = {3, 1, 0, 2};
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    const char *path = fgt_path(folder, "step-1");
    fgi_manifest manifest;
    (void)state;
    for (int i = 0; i < 4; i++) {
        char json[64];
        (void)snprintf(json, sizeof(json), "{\"from\": %d}", order[i]);
        const fg_ckpt_content content = {
            .state_json = json, .process_index = order[i], .process_count = 4};
        fgt_ok(fg_ckpt_save(path, &content, &err));
        assert_int_equal(fgi_file_exists(path), i >= 2);
    }
    fgt_ok(fgi_manifest_read(path, &manifest, &err));
    assert_int_equal(manifest.processes, 4);
    assert_int_equal(manifest.writer, 0);
    assert_int_equal(manifest.sequence, 1);
    fg_ckpt *ckpt;
    fgt_ok(fg_ckpt_open(path, NULL, &ckpt, &err));
    assert_string_equal(fg_ckpt_state_json(ckpt), "{\"from\": 0}");
    fg_ckpt_close(ckpt);
    const fg_ckpt_content wrong = {.process_index = 2, .process_count = 2};
    assert_int_equal(fg_ckpt_save(path, &wrong, &err), FG_EINVAL);
    assert_string_equal(err.message,
                        "fg_ckpt_save: process 2 of 2: expected an index from 0 to the count - 1");
    for (int count = 1; count <= 2; count++) {
        const fg_ckpt_content content = {.process_count = count};
        fgt_ok(fg_ckpt_save(fgt_path(folder, "few"), &content, &err));
        fgt_ok(fgi_manifest_read(fgt_path(folder, "few"), &manifest, &err));
        assert_int_equal(manifest.processes, count);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(attachments_travel_with_the_model),
    cmocka_unit_test(bad_attachments_are_refused),
    cmocka_unit_test(the_most_attachments),
    cmocka_unit_test(large_attachments_are_refused),
    cmocka_unit_test(attachments_are_removed_with_their_checkpoint),
    cmocka_unit_test(a_run_is_opened_by_its_folder),
    cmocka_unit_test(of_several_processes_the_first_writes),
};

FGT_MAIN(tests)
