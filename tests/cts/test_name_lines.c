/* test_name_lines.c - the lines of docs/reference/names.md run, and there is one for every name
 * that a configuration can have. On the fake plugin: nothing is compiled, and the numbers mean
 * nothing.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/recipe.h>
#include <fulgurite/transformer.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "fake_tpu.h"
#include "trace/trace.h"
#include "train/state/metrics.h"

enum { MOST_WORDS = 16, LINE_SIZE = 512, ROWS = 12, SIDE = 16 };

static char *page;

/* ---- data ------------------------------------------------------------------------------------ */

static void link_there(const char *name)
{
    char target[LINE_SIZE];
    (void)snprintf(target, sizeof target, FGT_SOURCE_DIR "/%s", name);
    assert_int_equal(symlink(target, name), 0);
}

static void write_npy(const char *path, const char *shape, size_t count, float value)
{
    static char file[128 + ROWS * SIDE * SIDE * 3 * sizeof(float)];
    char header[119];
    memset(file, ' ', 128);
    const int n = snprintf(header, sizeof header,
                           "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }", shape);
    memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(file + 10, header, (size_t)n);
    file[127] = '\n';
    for (size_t i = 0; i < count; i++)
        memcpy(file + 128 + i * sizeof value, &value, sizeof value);
    fgt_write(path, file, 128 + count * sizeof value);
}

static int go_there(void **state)
{
    static const char texts[] = "text,label\ngood,yes\nbad,no\nfine,yes\npoor,no\n";
    fg_error err = {0};
    size_t size;
    (void)state;
    assert_int_equal(chdir(fgt_temp_folder()), 0);
    link_there("examples");
    link_there("share");
    link_there("README.md");
    fgt_write("texts.csv", texts, strlen(texts));
    write_npy("x.npy", "12, 8", ROWS * 8, 0.5F);
    write_npy("probabilities.npy", "12, 4", ROWS * 4, 0.25F);
    write_npy("images.npy", "12, 16, 16, 3", ROWS * SIDE * SIDE * 3, 0.5F);
    write_npy("masks.npy", "12, 16, 16", ROWS * SIDE * SIDE, 1);
    fgt_ok(fgi_file_read(FGT_SOURCE_DIR "/docs/reference/names.md", 1 << 20, &page, &size, &err));
    return fake_tpu_begin();
}

static int leave(void **state)
{
    (void)state;
    fgi_free(page);
    return fake_tpu_end();
}

/* ---- lines of the program -------------------------------------------------------------------- */

/* Splits a command line at spaces that are not within quotation marks, in place. */
static size_t split(char *line, const char *words[MOST_WORDS])
{
    size_t count = 0;
    for (char *at = line; *at != '\0' && count < MOST_WORDS;) {
        const bool is_quoted = *at == '\'';
        at += is_quoted;
        words[count++] = at;
        at += strcspn(at, is_quoted ? "'" : " ");
        if (*at != '\0')
            *at++ = '\0';
        at += strspn(at, " ");
    }
    return count;
}

/* Runs one batch of "fulgurite fit [CONFIG] --KEY=VALUE..."; of a model, only builds and compiles
 * its step, because large ones have many initial values. */
static void run_line(const char *line, bool is_model)
{
    char text[LINE_SIZE];
    const char *words[MOST_WORDS], *overrides[MOST_WORDS] = {"trainer.on_divergence=ignore"};
    fg_error err = {0};
    fg_recipe_options options = {.overrides = overrides, .override_count = 1};
    fg_recipe *recipe = NULL;
    (void)snprintf(text, sizeof text, "%s", line);
    const size_t count = split(text, words);
    assert_string_equal(words[1], "fit");
    for (size_t i = 2; i < count; i++) {
        if (strncmp(words[i], "--", 2) == 0)
            overrides[options.override_count++] = words[i] + 2;
        else
            options.config = words[i];
    }
    const fg_recipe_command command = {.kind = is_model ? FG_RECIPE_PLAN : FG_RECIPE_FIT,
                                       .fit.fast_dev_run = !is_model,
                                       .plan = {.topology = is_model ? "v5e-1" : NULL,
                                                .no_search = true,
                                                .loader.samples_per_s = 1000}};
    fg_status status = fg_recipe_open(&options, &command, &recipe, &err);
    if (status == FG_OK)
        status = fg_recipe_run(recipe, &err);
    fg_recipe_close(recipe);
    if (status != FG_OK)
        fail_msg("%s\n%s", line, err.message);
}

/* Runs the line of a name in the table under the title. */
static void run_name(const char *title, const char *name)
{
    char row[96], line[LINE_SIZE];
    (void)snprintf(row, sizeof row, "\n## %s\n", title);
    const char *at = strstr(page, row);
    assert_non_null(at);
    (void)snprintf(row, sizeof row, "\n| `%s` | `", name);
    at = strstr(at + 1, row);
    if (at == NULL)
        fail_msg("docs/reference/names.md: no line for %s '%s': add it to tests/docs/lines.txt",
                 title, name);
    at += strlen(row);
    (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "`"), at);
    run_line(line, strcmp(title, "Models") == 0);
}

static void each_name_has_a_line_that_runs(void **state)
{
    static const struct {
        fg_registry_kind kind;
        const char *title;
    } kinds[] = {{FG_REGISTRY_MODEL, "Models"},
                 {FG_REGISTRY_LOSS, "Losses"},
                 {FG_REGISTRY_OPTIMIZER, "Optimizers"},
                 {FG_REGISTRY_SCHEDULE, "Schedules"}};
    fg_registry *registry = NULL;
    fg_error err = {0};
    (void)state;
    fgt_ok(fg_registry_create(&registry, &err));
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (size_t i = 0; i < fg_registry_count(registry, kinds[k].kind); i++)
            run_name(kinds[k].title, fg_registry_at(registry, kinds[k].kind, i)->name);
    fg_registry_destroy(registry);
    for (size_t i = 0; i < fgi_metric_row_count; i++)
        run_name("Metrics", strcmp(fgi_metric_rows[i].name, "topK_acc") == 0
                                ? "top5_acc"
                                : fgi_metric_rows[i].name);
}

/* ---- lines of C ------------------------------------------------------------------------------ */

static void each_layer_has_a_line_that_runs(void **state)
{
    static const fg_type type[] = {{.dtype = FG_F32, .rank = 2, .dim = {4, 8}},
                                   {.dtype = FG_F32, .rank = 4, .dim = {2, 8, 8, 3}},
                                   {.dtype = FG_F32, .rank = 3, .dim = {2, 5, 8}},
                                   {.dtype = FG_S32, .rank = 2, .dim = {2, 5}},
                                   {.dtype = FG_F32, .rank = 4, .dim = {2, 5, 2, 4}}};
    fg_module *root = NULL;
    fg_trace *trace = NULL;
    fg_error err = {0};
    (void)state;
    fgt_ok(fg_module_create("", 0, &root, &err));
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    fg_trace_set_training(trace, true);
    const fg_tensor x = fgi_trace_feed(trace, 0, &type[0]),
                    image = fgi_trace_feed(trace, 1, &type[1]),
                    series = fgi_trace_feed(trace, 2, &type[2]),
                    token = fgi_trace_feed(trace, 3, &type[3]),
                    q = fgi_trace_feed(trace, 4, &type[4]);
#define LINE(...)                                                                                  \
    assert_true(fg_tensor_type(__VA_ARGS__)->rank >= 0);                                           \
    if (fg_trace_error(trace, &err) != FG_OK)                                                      \
        fail_msg("%s\n%s", #__VA_ARGS__, err.message);
#include "line_cases.h"
#undef LINE
    fg_trace_destroy(trace);
    fg_module_destroy(root);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_layer_has_a_line_that_runs),
    cmocka_unit_test_setup_teardown(each_name_has_a_line_that_runs, go_there, leave),
};
FGT_MAIN(tests)
