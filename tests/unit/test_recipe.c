/* test_recipe.c - recipes through their public interface: texts, mistakes, and each allocation
 * failing.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/recipe.h>
#include <fcntl.h>
#include <fulgurite/report.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "devices.h"
#include "golden.h"
#include "init.h"
#include "key_help.h"
#include "input/json_file.h"
#include "recipe/config/config.h"
#include "recipe/folder/run_dir.h"
#include "recipe/run/run.h"
#include "recipe/folder/run_origin.h"
#include "report/reports.h"
#include "show.h"

static const char yaml[] = "task: classification\n"
                           "model: {name: mlp, hidden: [4], freeze: [\"fc1.*\"]}\n"
                           "data: {format: csv, path: rows.csv, target: c, val_fraction: 0.25}\n"
                           "optimizer: {name: sgd, lr: 0.5}\n"
                           "trainer: {accelerator: GPU, sharding: {fc1.*: data}}\n";
static const char rows[] = "a,b,c\n1,2,x\n2,3,y\n3,4,x\n4,5,y\n5,6,x\n6,7,y\n7,8,x\n8,9,y\n";

/* Everything happens in a folder with data and a configuration. */
static int go_there(void **state)
{
    fg_error err;
    (void)state;
    assert_int_equal(chdir(fgt_temp_folder()), 0);
    fgt_ok(fg_file_write("run.yaml", yaml, sizeof(yaml) - 1, &err));
    fgt_ok(fg_file_write("rows.csv", rows, sizeof(rows) - 1, &err));
    return 0;
}

static void overrides_win(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_recipe *recipe;
    const char *text, *const overrides[] = {"optimizer.lr=0.25", "model.hidden=[8, 9]",
                                            "trainer.global_batch_size=6"};
    fgt_ok(fg_recipe_open(
        &(fg_recipe_options){.config = "run.yaml", .overrides = overrides, .override_count = 3},
        NULL, &recipe, &err));
    fgt_ok(fg_recipe_text_of(recipe, FG_RECIPE_CONFIG, &text, &err));
    assert_non_null(strstr(text, "  hidden: [8, 9]\n"));
    assert_non_null(strstr(text, "  lr: 0.25\n"));
    assert_non_null(strstr(text, "  accelerator: cuda\n"));
    assert_string_equal(fg_recipe_result_of(recipe)->command, "fit");
    assert_false(fg_recipe_result_of(recipe)->was_set_up);
    assert_int_equal(fg_recipe_text_of(recipe, FG_RECIPE_PREDICTIONS, &text, &err), FG_EINVAL);
    assert_null(text);
    assert_string_equal(err.message, "this recipe has no predictions: run one of kind "
                                     "FG_RECIPE_PREDICT first");
    assert_int_equal(fg_recipe_text_of(recipe, (fg_recipe_text)9, &text, &err), FG_EINVAL);
    assert_string_equal(err.message, "fg_recipe_text_of: 9 is not an fg_recipe_text");
    assert_int_equal(fg_recipe_text_of(recipe, FG_RECIPE_PLAN_JSON, &text, &err), FG_EINVAL);
    assert_int_equal(fg_recipe_write_predictions(recipe, "p.csv", &err), FG_EINVAL);
    assert_string_equal(err.message, "this recipe has no predictions: run one of kind "
                                     "FG_RECIPE_PREDICT first");
    assert_string_equal(fg_recipe_result_of(recipe)->error, err.message);
    assert_int_equal(access("p.csv", F_OK), -1);
    assert_int_equal(fg_recipe_draw(recipe, 0, true, &text, &err), FG_EINVAL);
    assert_int_equal(fg_recipe_write_curve(recipe, "c.csv", &err), FG_EINVAL);
    assert_string_equal(err.message, "this recipe has no curve: run one of kind FG_RECIPE_FIND_LR "
                                     "or FG_RECIPE_SCHEDULE first");
    fg_recipe_close(recipe);
}

static void refuses_command(fg_recipe_options options, fg_recipe_command command, fg_status status,
                            const char *part)
{
    fg_error err = {0};
    fg_recipe *recipe = (fg_recipe *)&err;
    assert_int_equal(fg_recipe_open(&options, &command, &recipe, &err), status);
    assert_null(recipe);
    assert_int_equal(err.status, status);
    if (strstr(err.message, part) == NULL)
        fail_msg("'%s' is not in '%s'", part, err.message);
}

static void refuses(fg_recipe_options options, const char *part)
{
    refuses_command(options, (fg_recipe_command){.kind = FG_RECIPE_FIT}, FG_EINVAL, part);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    const fg_recipe_options none = {.config = NULL};
    const char *const unknown[] = {"optimizer.lrr=1"}, *const resume[] = {"trainer.resume=last"};
    refuses((fg_recipe_options){.config = "no.yaml"}, "no.yaml");
    refuses((fg_recipe_options){.overrides = unknown, .override_count = 1},
            "--optimizer.lrr: unknown key: did you mean 'optimizer.lr'?");
    refuses((fg_recipe_options){.reserved = {0, 1}}, "fg_recipe_options");
    const struct {
        fg_recipe_command command;
        const char *part;
    } commands[] = {
        {{.kind = (fg_recipe_kind)9}, "fg_recipe_command.kind is 9: expected at most 8"},
        {{.kind = FG_RECIPE_PLAN}, "topology"},
        {{.reserved = {0, 1}}, "fg_recipe_command"},
        {{.fit.reserved = {0, 1}}, "fg_fit_options"},
        {{.kind = FG_RECIPE_TEST, .evaluate.reserved = {0, 1}}, "fg_evaluate_options"},
        {{.kind = FG_RECIPE_PREDICT, .evaluate.reserved = {0, 1}}, "fg_evaluate_options"},
        {{.kind = FG_RECIPE_PLAN, .plan.reserved = {0, 1}}, "fg_plan_options"},
        {{.kind = FG_RECIPE_BENCH, .bench.reserved = {0, 1}}, "fg_bench_options"},
    };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        refuses_command(none, commands[i].command, FG_EINVAL, commands[i].part);
    refuses_command((fg_recipe_options){.overrides = resume, .override_count = 1},
                    (fg_recipe_command){.fit.overwrite = true}, FG_EINVAL, "--overwrite");
}

static void remember(void *self, fg_log_level level, const char *text)
{
    char *all = self;
    const size_t used = strlen(all);
    (void)snprintf(all + used, 2048 - used, "%d %s\n", (int)level, text);
}

/* Messages go to the callback and nowhere else; the summary reports what ended the run. */
static void a_failed_run_is_reported(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_recipe *recipe;
    const char *text;
    char said[2048] = "";
    fgt_ok(fg_recipe_open(
        &(fg_recipe_options){.config = "run.yaml", .message = remember, .message_self = said}, NULL,
        &recipe, &err));
    assert_string_equal(said, "");
    assert_int_not_equal(fg_recipe_run(recipe, &err), FG_OK); /* no such accelerator here */
    assert_int_equal(fg_recipe_result_of(recipe)->status, err.status);
    assert_string_equal(fg_recipe_result_of(recipe)->error, err.message);
    assert_non_null(strstr(said, "1 note: "));
    fgt_ok(fg_recipe_text_of(recipe, FG_RECIPE_SUMMARY, &text, &err));
    assert_non_null(strstr(text, "\"status\": \"failed\""));
    assert_non_null(strstr(text, "\"command\": \"fit\""));
    assert_int_equal(fg_recipe_run(recipe, &err), FG_EINVAL); /* once only */
    fg_recipe_close(recipe);
    assert_int_equal(access("runs/run-1", F_OK), -1); /* nothing began in it */
}

/* A file of one tensor or of two, the names of which may contain anything. */
static void tensors_are_listed(void **state)
{
    static const struct {
        const char *header;
        size_t data;
        const char *lines, *names, *totals;
    } files[] = {{"{\"w\\u007f\\u001b\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]}}",
                  12, "w??\tf32[3]\n", "w??\n", "1 tensor, 12 B; 3 elements in the model\n"},
                 {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                  "\"b\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[1,1]}}",
                  1, "a\tu8[1]\nb\tu8[0]\n", "a\nb\n", "2 tensors, 1 B; 1 element in the model\n"}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char bytes[256] = {0}, text[256] = "";
        const size_t size = strlen(files[i].header);
        fg_error err = {0};
        fgi_run_origin origin;
        fgi_buf about = {0};
        FILE *out = fmemopen(text, sizeof text, "w");
        bytes[0] = (char)size;
        memcpy(bytes + 8, files[i].header, size);
        fgt_ok(fg_file_write("few.safetensors", bytes, 8 + size + files[i].data, &err));
        fgt_ok(show_open("few.safetensors", NULL, &origin, &about, &err));
        assert_string_equal(about.data, "checkpoint: few.safetensors\n");
        show_lines(origin.ckpt, false, out, out);
        (void)fputs("names:\n", out);
        show_lines(origin.ckpt, true, out, out);
        assert_int_equal(fclose(out), 0);
        (void)snprintf(bytes, sizeof bytes, "%s%snames:\n%s%s", files[i].lines, files[i].totals,
                       files[i].names, files[i].totals);
        assert_string_equal(text, bytes);
        fgi_buf_fini(&about);
        fgi_run_origin_close(&origin);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static fg_status open_and_run(fg_error *err)
{
    fg_recipe *recipe = NULL;
    const char *text, *const overrides[] = {"model.hidden=[8, 9]", "trainer.devices=0,2",
                                            "data.ignore=[b]", "trainer.precision=fp32"};
    fg_status status = fg_recipe_open(
        &(fg_recipe_options){.config = "run.yaml", .overrides = overrides, .override_count = 4},
        NULL, &recipe, err);
    if (status == FG_OK)
        status = fg_recipe_text_of(recipe, FG_RECIPE_CONFIG_COMMENTED, &text, err);
    if (status == FG_OK)
        status = fg_recipe_run(recipe, err);
    fg_recipe_close(recipe);
    return status;
}

static fg_status look_at_data(fg_error *err)
{
    fgi_buf text = {0};
    fg_status status = init_config(&text, "rows.csv", &(init_options){0}, err);
    if (status == FG_OK) {
        (void)key_help_put(&text, "trainer");
        status = fgi_buf_status(&text, err);
    }
    fgi_buf_fini(&text);
    return status;
}

static fg_status show_plan(fg_error *err)
{
    static const char json[] = "{\"name\": \"v5e-8\", \"fits\": true, \"hbm_needed_bytes\": 1000}";
    fgi_buf lines = {0}, page = {0}, chips = {0};
    json_t *plan = NULL;
    fg_status status = fgi_json_parse("plan", 0, json, sizeof json - 1, &plan, err);
    if (status == FG_OK) {
        fgi_plan_lines_put(&lines, plan);
        fgi_plan_page_put(&page, "run.yaml", plan);
        chip_table_print(&chips, true);
        lines.failed |= page.failed || chips.failed;
        status = fgi_buf_status(&lines, err);
    }
    fgi_buf_fini(&lines);
    fgi_buf_fini(&page);
    fgi_buf_fini(&chips);
    json_decref(plan);
    return status;
}

/* Each allocation fails once: the call ends with FG_ENOMEM, or as it does otherwise where nothing
 * was lost with it; nothing leaks. */
static void out_of_memory_is_an_error(void **state)
{
    (void)state;
    fg_status (*const calls[])(fg_error *) = {open_and_run, look_at_data, show_plan};
    for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++) {
        fg_error err = {0};
        long failures = 0;
        const fg_status usual = calls[c](&err);
        bool has_failed = true;
        for (long n = 0; has_failed; n++) {
            const long live = fgi_alloc_live();
            fgi_alloc_fail_after(n);
            err = (fg_error){0};
            const fg_status status = calls[c](&err);
            has_failed = fgi_alloc_has_failed();
            fgi_alloc_fail_after(-1);
            if (status != usual && status != FG_ENOMEM)
                fail_msg("call %zu, allocation %ld: %s: %s", c, n, fg_status_name(status),
                         err.message);
            failures += status == FG_ENOMEM;
            if (fgi_alloc_live() != live)
                fail_msg("call %zu, allocation %ld: %ld blocks leak", c, n,
                         fgi_alloc_live() - live);
        }
        assert_true(failures > 10);
    }
}

/* ---- the task that the data imply ------------------------------------------------------------ */

static const struct {
    const char *csv; /* NULL: the arrays of x.npy and y.npy */
    const char *keys[3];
} inferences[] = {
    {"a,c\n1,x\n2,y\n3,x\n", {NULL}},
    {"a,c\n1,1\n2,2\n3,x\n4,1\n", {NULL}},
    {"a,c\n1,5\n2,6\n3,5\n4,7\n5,6\n6,7\n", {NULL}},
    {"a,c\n1,5\n2,6.5\n3,7\n", {NULL}},
    {"a,c\n1,5\n2,6\n3,5\n4,6\n", {"loss.name=mse"}},
    {"a,c\n1,x\n2,y\n3,x\n4,y\n", {"loss.name=cross_entropy"}},
    {"a,c\n1,5\n2,6\n3,5\n4,6\n", {"loss.name=auto", "model.classes=auto"}},
    {"a,c\n1,5\n2,6\n3,5\n4,6\n", {"model.classes=2"}},
    {"a,c\n1,5\n2,6\n3,5\n4,6\n", {"task=regression"}},
    {"a,c\n1,5\n2,6\n3,5\n4,6\n", {"task=classification"}},
    {"a,a name of a column that is longer than the sixty-four bytes that are shown of it\n"
     "1,a text of a cell that is longer than the forty bytes\n2,b\n3,b\n",
     {NULL}},
    {"a,c\n1,p\n2,q\n3,r\n4,s\n5,t\n6,t\n", {NULL}},
    {"a,c\n1,p\n2,q\n3,r\n4,s\n5,t\n6,t\n7,s\n8,r\n", {NULL}},
    {"a,c\n1,p\n2,q\n3,r\n4,s\n5,t\n6,t\n7,s\n8,r\n", {"data.val_fraction=0.5"}},
    {"a,c\n1,p\n2,q\n3,r\n4,s\n5,t\n", {"model.classes=5"}},
    {"a,c\n1,1\n2,2\n3,3\n4,4\n5,5\n6,6\n", {"task=classification"}},
    {NULL, {"data.y=int.npy"}},
    {NULL, {"data.y=float.npy"}},
    {NULL, {"data.y=rows.npy"}},
    {NULL, {"data.y=many.npy"}},
    {NULL, {"data.y=pairs.npy"}},
    {NULL, {"data.y=int.npy", "task=regression"}},
};

static void write_arrays(void)
{
    static const float x[12] = {0}, reals[6] = {0.5F, 1, 2, 3, 4, 5};
    static const int32_t few[6] = {0, 1, 2, 0, 1, 2}, many[6] = {0, 1, 2, 3, 4, 5};
    fg_error err;
    fgt_ok(fg_npy_write("x.npy", &(fg_type){.dtype = FG_F32, .rank = 2, .dim = {6, 2}}, x, &err));
    fgt_ok(fg_npy_write("pairs.npy", &(fg_type){.dtype = FG_S32, .rank = 2, .dim = {6, 1}}, few,
                        &err));
    fgt_ok(fg_npy_write("int.npy", &(fg_type){.dtype = FG_S32, .rank = 1, .dim = {6}}, few, &err));
    fgt_ok(
        fg_npy_write("many.npy", &(fg_type){.dtype = FG_S32, .rank = 1, .dim = {6}}, many, &err));
    fgt_ok(
        fg_npy_write("float.npy", &(fg_type){.dtype = FG_F32, .rank = 1, .dim = {6}}, reals, &err));
    fgt_ok(
        fg_npy_write("rows.npy", &(fg_type){.dtype = FG_F32, .rank = 2, .dim = {6, 2}}, x, &err));
}

/* The task, and why; or why there is none. */
static void put_inference(fgi_buf *out, size_t i)
{
    fg_error err = {0};
    fgi_run_data data = {0};
    fgi_config *c = fgi_config_create(NULL, &err);
    assert_non_null(c);
    if (inferences[i].csv != NULL)
        fgt_ok(fg_file_write("task.csv", inferences[i].csv, strlen(inferences[i].csv), &err));
    assert_int_equal(
        fgi_config_override(c, inferences[i].csv != NULL ? "data.format=csv" : "data.format=npy",
                            &err),
        FG_OK);
    assert_int_equal(
        fgi_config_override(c, inferences[i].csv != NULL ? "data.path=task.csv" : "data.x=x.npy",
                            &err),
        FG_OK);
    fgi_buf_puts(out, inferences[i].csv != NULL ? inferences[i].csv : "arrays\n");
    for (int k = 0; k < 3 && inferences[i].keys[k] != NULL; k++) {
        assert_int_equal(fgi_config_override(c, inferences[i].keys[k], &err), FG_OK);
        fgi_buf_printf(out, "--%s\n", inferences[i].keys[k]);
    }
    const fg_status status = fgi_run_data_open(c, NULL, &data, &err);
    if (status == FG_OK)
        fgi_buf_printf(out, "= %s%s%s\n\n", fg_option_string(c->values, "task"),
                       *data.inferred != '\0' ? "\n= " : "", data.inferred);
    else
        fgi_buf_printf(out, "! %s\n\n", err.message);
    fgi_run_data_close(&data);
    fgi_config_destroy(c);
}

/* Numbers of classes, samples of each, and classes that have only one. */
static const struct {
    int64_t classes, each, singles;
    bool is_plausible;
} tallies[] = {{100, 2, 0, true},    {101, 9, 0, false}, {101, 10, 0, true}, {1000, 10, 0, true},
               {1001, 10, 0, false}, {8, 2, 4, true},    {8, 2, 5, false},   {5, 2, 3, false},
               {5, 2, 2, true},      {4, 1, 4, true}};

static void most_classes_have_samples(void **state)
{
    static int32_t labels[1001 * 10];
    static const fg_field fields[] = {{"x", {.dtype = FG_S32}}, {"y", {.dtype = FG_S32}}};
    (void)state;
    for (size_t i = 0; i < sizeof tallies / sizeof tallies[0]; i++) {
        fg_error err = {0};
        fgi_run_data data = {0};
        int64_t count = 0;
        for (int64_t k = 0; k < tallies[i].classes * tallies[i].each; k++)
            if (k < tallies[i].classes || k % tallies[i].classes >= tallies[i].singles)
                labels[count++] = (int32_t)(k % tallies[i].classes);
        const fg_dataset_spec spec = {.count = count,
                                      .fields = fields,
                                      .field_count = 2,
                                      .class_count = tallies[i].classes + 1}; /* one is rare */
        fgt_ok(fg_dataset_from_arrays(&spec, (const void *const[]){labels, labels}, FG_BORROW,
                                      &data.train, &err));
        fgi_config *c = fgi_config_create(NULL, &err);
        assert_int_equal(fgi_config_override(c, "task=classification", &err), FG_OK);
        const fg_status status = fgi_run_task_check(c, &data, &err);
        if ((status == FG_OK) != tallies[i].is_plausible)
            fail_msg("%d classes: %s", (int)tallies[i].classes, err.message);
        fg_dataset_destroy(data.train);
        fgi_config_destroy(c);
    }
}

static void the_data_imply_the_task(void **state)
{
    fgi_buf out = {0};
    (void)state;
    write_arrays();
    for (size_t i = 0; i < sizeof inferences / sizeof inferences[0]; i++)
        put_inference(&out, i);
    assert_non_null(out.data);
    fgt_golden("recipe/inferred_tasks.txt", out.data);
    fgi_buf_fini(&out);
}

/* ---- names of runs --------------------------------------------------------------------------- */

/* Each row adds a file with a time to those of the rows before; the newest folder of all. */
static const struct {
    const char *file;
    long seconds, nanoseconds;
    const char *newest; /* NULL: there is none */
} written[] = {
    {"runs/a-1/other.json", 99, 0, NULL},
    {"runs/a-1/metrics.jsonl", 10, 0, "runs/a-1"},
    {"runs/a-2/report.json", 9, 0, "runs/a-1"},
    {"runs/a-2/checkpoints/last", 11, 0, "runs/a-2"},
    {"runs/a-3/report.json", 11, 1, "runs/a-3"},
    {"runs/a-2/sweep.json", 12, 0, "runs/a-2"},
    {"runs/a-10/report.json", 12, 0, "runs/a-10"}, /* of the same time: the greater number */
    {"runs/a-9/report.json", 12, 0, "runs/a-10"},
    {"runs/.hidden/report.json", 50, 0, "runs/a-10"},
    {"runs/a-1/sweep.json", 13, 0, "runs/a-1"},
    {"runs/a-1/report.json", 5, 0, "runs/a-1"}, /* the last file of a folder counts */
};

/* Writes the file of a row, and the folders that it is in. */
static void write_row(size_t i)
{
    char folder[64];
    fg_error err = {0};
    const struct timespec time = {written[i].seconds, written[i].nanoseconds};
    for (const char *slash = strchr(written[i].file, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        (void)snprintf(folder, sizeof folder, "%.*s", (int)(slash - written[i].file),
                       written[i].file);
        (void)mkdir(folder, 0700);
    }
    fgt_ok(fg_file_write(written[i].file, "", 0, &err));
    assert_int_equal(utimensat(AT_FDCWD, written[i].file, (const struct timespec[]){time, time}, 0),
                     0);
}

static void the_newest_run_is_the_last(void **state)
{
    (void)state;
    fg_error err = {0};
    char *found = NULL;
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++) {
        write_row(i);
        if (written[i].newest == NULL) {
            assert_int_equal(fgi_run_find("last", &found, &err), FG_ENOTFOUND);
            assert_string_equal(
                err.message, "last: there is no run with a report or metrics in the folder 'runs'");
            continue;
        }
        fgt_ok(fgi_run_find("last", &found, &err));
        if (strcmp(found, written[i].newest) != 0)
            fail_msg("row %zu: %s", i, found);
        fg_free(found);
    }
}

/* The folders of runs that exist, those of rows before included. */
static const struct {
    const char *config_path, *key, *made; /* made: before; NULL: none */
    const char *existing, *created;       /* existing: NULL: none */
} numbered[] = {
    {"n.yaml", NULL, "runs/n-07", NULL, "runs/n-1"},
    {"n.yaml", NULL, "runs/n-0", "runs/n-1", "runs/n-2"},
    {"n.yaml", NULL, "runs/n-9x", "runs/n-2", "runs/n-3"},
    {"n.yaml", NULL, "runs/n--9", "runs/n-3", "runs/n-4"},
    {"n.yaml", NULL, "runs/nn-9", "runs/n-4", "runs/n-5"},
    {"n.yaml", NULL, "runs/n99", "runs/n-5", "runs/n-6"},
    {"n.yaml", NULL, "runs/n-9", "runs/n-9", "runs/n-10"},
    {"/x.y/n.yaml", NULL, NULL, "runs/n-10", "runs/n-11"}, /* wherever the file is */
    {"x/n", NULL, NULL, "runs/n-11", "runs/n-12"},
    {"x/n.b.yaml", NULL, NULL, NULL, "runs/n.b-1"},
    {"x/.yaml", NULL, NULL, NULL, "runs/.yaml-1"},
    {"n.yaml", "trainer.run_dir=given", NULL, "given", "given"},
};

static void folders_of_runs_are_numbered(void **state)
{
    (void)state;
    (void)mkdir("runs", 0700);
    for (size_t i = 0; i < sizeof numbered / sizeof numbered[0]; i++) {
        fg_error err = {0};
        bool is_claimed;
        char *existing, *created;
        fgi_config *c = fgi_config_create(NULL, &err);
        if (numbered[i].key != NULL)
            assert_int_equal(fgi_config_override(c, numbered[i].key, &err), FG_OK);
        if (numbered[i].made != NULL)
            assert_int_equal(mkdir(numbered[i].made, 0700), 0);
        fgt_ok(fgi_run_dir_existing(c, numbered[i].config_path, &existing, &err));
        fgt_ok(fgi_run_dir_new(c, numbered[i].config_path, &is_claimed, &created, &err));
        assert_string_equal(existing != NULL ? existing : "none",
                            numbered[i].existing != NULL ? numbered[i].existing : "none");
        assert_string_equal(created, numbered[i].created);
        assert_int_equal(is_claimed, numbered[i].key == NULL);
        assert_int_equal(fgi_file_exists(created), is_claimed);
        fgi_free(existing);
        fgi_free(created);
        fgi_config_destroy(c);
    }
}

/* Of a run that has not begun, only what it made itself. */
static void folders_are_given_back(void **state)
{
    static const char *const files[] = {NULL, "back/config.yaml", "back/other"};
    fg_error err = {0};
    (void)state;
    for (int i = 0; i < 3; i++) {
        (void)mkdir("back", 0700);
        fgt_ok(fg_file_write("back/lock", "", 0, &err));
        if (files[i] != NULL)
            fgt_ok(fg_file_write(files[i], "", 0, &err));
        fgi_run_dir_give_back("back");
        assert_int_equal(fgi_file_exists("back"), i > 0);
        assert_int_equal(fgi_file_exists("back/lock"), i == 1);
        if (files[i] != NULL)
            assert_int_equal(remove(files[i]), 0);
    }
}

/* Together with the folder of all runs, if there are no others. */
static void the_only_run_leaves_no_folder(void **state)
{
    fg_error err = {0};
    (void)state;
    fgt_ok(fgi_folder_make("only/runs/run-1", &err));
    fgt_ok(fgi_folder_make("only/runs/run-2", &err));
    assert_int_equal(chdir("only"), 0);
    fgi_run_dir_give_back("runs/run-2");
    assert_true(fgi_file_exists("runs/run-1"));
    fgi_run_dir_give_back("runs/run-1");
    assert_false(fgi_file_exists("runs"));
    assert_int_equal(chdir(".."), 0);
}

#define PART "{\"started_at\": 1, \"state\": \"running\", \"seconds\": 3, \"steps\": 4}"

static const struct {
    bool is_resumed, is_start;
    const char *before, *history;
} parts[] = {
    {false, false, ", \"state\": \"stopped\"", "[" PART "]"},
    {true, true, ", \"state\": \"stopped\"", "[" PART "]"}, /* from the weights of another run */
    {true, false, "", "[{}, " PART "]"},
    {true, false, ", \"state\": \"stopped\", \"steps\": 2, \"epochs\": 1",
     "[{\"state\": \"stopped\", \"steps\": 2}, " PART "]"},
    {true, false, ", \"state\": \"running\"", "[{\"state\": \"killed\"}, " PART "]"},
    {true, false, ", \"state\": \"failed\", \"history\": []", "[" PART "]"},
    {true, false, ", \"history\": [{\"state\": \"running\"}, {\"state\": \"running\"}]",
     "[{\"state\": \"running\"}, {\"state\": \"killed\"}, " PART "]"},
};

/* The parts of a run that was resumed, those of older reports too; the file is read once. */
static void parts_of_a_run(void **state)
{
    static const char now[] = "{\"started_at\": 1, \"state\": \"running\", \"seconds\": 3, "
                              "\"steps\": 4, \"epochs\": 5}";
    json_t *report = fgi_json_load(now, strlen(now), 0, NULL);
    (void)state;
    (void)mkdir("parts", 0700);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char text[160];
        fg_recipe r = {.folder = (char[]){"parts"},
                       .is_start = parts[i].is_start,
                       .origin.ckpt = parts[i].is_resumed ? (void *)&report : NULL};
        const int size = snprintf(text, sizeof text, "{\"version\": 1%s}", parts[i].before);
        fgt_write("parts/report.json", text, (size_t)size);
        json_t *wanted = fgi_json_load(parts[i].history, strlen(parts[i].history), 0, NULL);
        for (int k = 0; k < 2; k++) {
            json_t *history = fgi_run_report_history(&r, report);
            if (!json_equal(history, wanted))
                fail_msg("row %zu, call %d", i, k);
            json_decref(history);
            fgt_write("parts/report.json", now, sizeof now - 1);
        }
        json_decref(wanted);
        json_decref(r.report_before);
    }
    json_decref(report);
}

/* What an evaluation does not read as a configuration. */
static const struct {
    const char *name;
    bool is_named;
} checkpoints[] = {
    {"last", true},
    {"best", true},
    {"Last", false},
    {"best-val_acc", false},
    {".", true},
    {"none.safetensors", true},
    {"none.yaml", false},
    {"checkpoints/none", true},
    {"a/checkpoints/none", true},
    {"a/checkpoints/", true},
    {"a/checkpoints/none.yaml", false},
    {"a/checkpoints/none.yml", false},
    {"a/old-checkpoints/none", false},
    {"old-checkpoints/none", false},
    {"old-checkpoints/checkpoints/none", true},
    {"checkpoints", false},
};

static void names_of_checkpoints(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof checkpoints / sizeof checkpoints[0]; i++)
        if (fgi_run_origin_is_named(checkpoints[i].name) != checkpoints[i].is_named)
            fail_msg("%s", checkpoints[i].name);
}

/* ---- init ----------------------------------------------------------------------------------- */

static void init_names_a_file(void **state)
{
    static const char *const names[][2] = {
        {"photos", "photos"}, {"photos/", "photos"}, {"a/b//", "b"},        {"a/b.csv.gz", "b"},
        {".", "run"},         {"..", "run"},         {"/", "run"},          {"", "run"},
        {"/x", "x"},          {"x/.npy", "run"},     {"my data", "my data"}};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char expected[32], *out = init_name(names[i][0], ".yaml");
        (void)snprintf(expected, sizeof expected, "%s.yaml", names[i][1]);
        assert_string_equal(out, expected);
        free(out);
    }
}

/* ---- batch-find ------------------------------------------------------------------------------ */

#define FIT(lr)                                                                                    \
    "{\"batch_size\": 3, \"global_batch_size\": 6, \"need_bytes\": 5, \"limit_bytes\": 7, "        \
    "\"all_fit\": false, \"was_run\": true, \"lr\": " lr "}"
#define METRICS "batch_size\t3\nglobal_batch_size\t6\nneed_bytes\t5\nlimit_bytes\t7\n"

static const struct {
    int64_t base;
    const char *json, *metrics;
} found_batches[] = {
    {0, FIT("null"), METRICS},
    {11,
     FIT("{\"given\": 0.5, \"factor\": 1.5, \"used\": 0.75, \"base_batch_size\": 11, \"linear\": "
         "2.5, "
         "\"sqrt\": 3.5}"),
     METRICS "lr_given\t0.5\nlr_factor\t1.5\nlr\t0.75\nlr_linear\t2.5\nlr_sqrt\t3.5\n"},
};

static void results_of_batch_find(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof found_batches / sizeof found_batches[0]; i++) {
        fgi_buf metrics = {0};
        const fg_recipe r = {.outcome.batch = {.batch_size = 3,
                                               .global_batch_size = 6,
                                               .need_bytes = 5,
                                               .limit_bytes = 7,
                                               .was_run = true},
                             .batch_lr = {.given = 0.5,
                                          .factor = 1.5,
                                          .used = 0.75,
                                          .base_batch_size = found_batches[i].base,
                                          .linear = 2.5,
                                          .sqrt = 3.5}};
        const char *text = found_batches[i].json;
        json_t *found = fgi_run_batch_json(&r),
               *wanted = fgi_json_load(text, strlen(text), 0, NULL);
        assert_true(wanted != NULL && json_equal(found, wanted));
        fgi_run_batch_put_metrics(&r, &metrics);
        assert_string_equal(metrics.data, found_batches[i].metrics);
        json_decref(found);
        json_decref(wanted);
        fgi_buf_fini(&metrics);
    }
    assert_true(json_is_null(fgi_run_batch_json(&(fg_recipe){.batch_lr.base_batch_size = 1})));
    json_t *least = fgi_run_batch_json(&(fg_recipe){.outcome.batch.batch_size = 1});
    assert_true(json_is_object(least));
    json_decref(least);
}

/* ---- plausible classes ----------------------------------------------------------------------- */

enum { MOST_LABELS = 10100 };

/* Samples of classes 0 to classes - 1: `more` of each, and of the first `singles` just one. */
static fg_dataset *labels_of(int classes, int singles, int more, bool is_named,
                             int32_t labels[MOST_LABELS])
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    static float x[MOST_LABELS];
    static const fg_field fields[] = {{"x", {.dtype = FG_F32}}, {"y", {.dtype = FG_S32}}};
    fg_dataset *dataset = NULL;
    fg_error err;
    int count = 0;
    for (int k = 0; k < classes; k++)
        for (int i = 0; i < (k < singles ? 1 : more); i++)
            labels[count++] = k;
    fgt_ok(fg_dataset_from_arrays(&(fg_dataset_spec){.count = count,
                                                     .fields = fields,
                                                     .field_count = 2,
                                                     .class_names = is_named ? names : NULL,
                                                     .class_count = classes},
                                  (const void *const[]){x, labels}, FG_BORROW, &dataset, &err));
    return dataset;
}

static const struct {
    int classes, singles, more;
    bool has_val;          /* with the same samples again */
    bool is_named;         /* the classes */
    const char *more_keys; /* NULL: none */
    bool is_refused;
} classes_of[] = {
    {.classes = 4, .singles = 4, .is_refused = false},
    {.classes = 5, .singles = 5, .is_refused = true},
    {.classes = 5, .singles = 5, .is_named = true, .is_refused = true},
    {.classes = 5, .singles = 5, .has_val = true, .is_refused = false}, /* two of each */
    {.classes = 5, .singles = 5, .more_keys = "model.classes=5", .is_refused = false},
    {.classes = 5, .singles = 5, .more_keys = "task=regression", .is_refused = false},
    {.classes = 6, .singles = 3, .more = 2, .is_refused = false}, /* a half is not most */
    {.classes = 7, .singles = 4, .more = 2, .is_refused = true},
    {.classes = 100, .more = 2, .is_refused = false},
    {.classes = 101, .more = 9, .is_refused = true},
    {.classes = 101, .more = 10, .is_refused = false},
    {.classes = 1000, .more = 10, .is_refused = false},
    {.classes = 1001, .more = 10, .is_refused = true},
};

static void classes_that_are_none_are_refused(void **state)
{
    static int32_t labels[2][MOST_LABELS];
    (void)state;
    for (size_t i = 0; i < sizeof classes_of / sizeof classes_of[0]; i++) {
        fg_error err = {0};
        char text[256];
        fgi_config *c = fgi_config_create(NULL, &err);
        const int classes = classes_of[i].classes, singles = classes_of[i].singles,
                  more = classes_of[i].more, is_named = classes_of[i].is_named;
        fgi_run_data data = {.train = labels_of(classes, singles, more, is_named, labels[0])};
        if (classes_of[i].has_val)
            data.val = labels_of(classes, singles, more, is_named, labels[1]);
        assert_int_equal(fgi_config_override(c, "task=classification", &err), FG_OK);
        if (classes_of[i].more_keys != NULL)
            assert_int_equal(fgi_config_override(c, classes_of[i].more_keys, &err), FG_OK);
        const fg_status status = fgi_run_task_check(c, &data, &err);
        if (status != (classes_of[i].is_refused ? FG_EINVAL : FG_OK))
            fail_msg("row %zu: %s", i, err.message);
        (void)snprintf(text, sizeof text,
                       "--task is classification, but the targets have %d classes in %d samples, "
                       "%d of them with a single sample\n%s; to train a classifier anyway, set "
                       "model.classes: %d",
                       classes, singles + (classes - singles) * more, singles,
                       is_named ? "check that the labels are classes"
                                : "to predict numbers, set task: regression",
                       classes);
        assert_string_equal(err.message, status != FG_OK ? text : "");
        fgi_run_data_close(&data);
        fgi_config_destroy(c);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(init_names_a_file),
    cmocka_unit_test(overrides_win),
    cmocka_unit_test(mistakes_are_named),
    cmocka_unit_test(classes_that_are_none_are_refused),
    cmocka_unit_test(the_data_imply_the_task),
    cmocka_unit_test(most_classes_have_samples),
    cmocka_unit_test(tensors_are_listed),
    cmocka_unit_test(the_newest_run_is_the_last),
    cmocka_unit_test(folders_are_given_back),
    cmocka_unit_test(the_only_run_leaves_no_folder),
    cmocka_unit_test(parts_of_a_run),
    cmocka_unit_test(results_of_batch_find),
    cmocka_unit_test(names_of_checkpoints),
    cmocka_unit_test(a_failed_run_is_reported),
    cmocka_unit_test(out_of_memory_is_an_error),
    cmocka_unit_test(folders_of_runs_are_numbered),
};

int main(void) { return cmocka_run_group_tests(tests, go_there, NULL); }
