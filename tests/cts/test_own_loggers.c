/* test_own_loggers.c - a logger of a program, named in a configuration: its options, its lines,
 * a resume with the same and with other loggers, and what is required of the names. On the CPU
 * plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/recipe.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

/* ---- the logger ------------------------------------------------------------------------------ */

/* Keeps the steps of lines in memory: "4 8v" with a mark for validations. */
typedef struct board {
    const char *prefix;
    bool opens;
} board;

static char logged[256];  /* by all boards */
static int64_t opened_at; /* the step that the last one continued from; -1: not opened */
static bool had_history;  /* the last one was given metrics.jsonl */
static int boards;        /* how many exist */

/* Settings by which runs are compared: keys that have an effect, but not where the run is kept. */
static void check_settings(const fg_log_start *start)
{
    static const struct {
        const char *name;
        bool is_there;
    } rows[] = {{"optimizer.name", true},     {"optimizer.momentum", true},
                {"optimizer.betas", false}, /* of another optimizer */
                {"trainer.max_epochs", true}, {"trainer.run_dir", false},
                {"trainer.resume", false},    {"trainer.loggers", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool is_there = false;
        for (size_t k = 0; k < start->setting_count; k++)
            is_there = is_there || strcmp(start->settings[k].name, rows[i].name) == 0;
        if (is_there != rows[i].is_there)
            fail_msg("%s: %d", rows[i].name, is_there);
    }
}

static fg_status open_board(void *self, const fg_log_start *start, int64_t *out_lines,
                            fg_error *err)
{
    const board *b = self;
    (void)out_lines;
    check_settings(start);
    opened_at = start->step;
    had_history = start->history != NULL;
    (void)snprintf(err->message, sizeof err->message, "no board");
    return b->opens ? FG_OK : FG_EIO;
}

static fg_status log_line(void *self, const fg_log_line *line, fg_error *err)
{
    const board *b = self;
    const size_t used = strlen(logged);
    (void)err;
    (void)snprintf(logged + used, sizeof logged - used, "%s%d%s ", b->prefix, (int)line->step,
                   line->is_validation ? "v" : "");
    return FG_OK;
}

static void destroy_board(void *self)
{
    boards--;
    fg_free(self);
}

static fg_status init_board(void *self, const fg_option_values *values, fg_error *err)
{
    (void)self, (void)values, (void)err;
    boards++;
    return FG_OK;
}

static const fg_option options[] = {
    FG_OPTION(board, prefix, STRING, "", NULL, "a", "Written before each step."),
    FG_OPTION(board, opens, BOOL, "true", NULL, "false", "Whether it can be opened."),
};
static const fg_logger_ops ops = {
    .name = "board", .open = open_board, .log = log_line, .destroy = destroy_board};
static const fg_logger_entry board_row = {
    .entry = {.name = "board", .help = "a board", FG_OPTIONS(options, board)},
    .ops = &ops,
    .init = init_board};

/* ---- running --------------------------------------------------------------------------------- */

static fg_registry *registry;

static void write_file(const char *path, const char *text) { fgt_write(path, text, strlen(text)); }

static int go_there(void **state)
{
    char rows[2048] = "a,b,y\n";
    fg_error err = {0};
    (void)state;
    assert_int_equal(chdir(fgt_temp_folder()), 0);
    for (int i = 0; i < 64; i++)
        (void)snprintf(rows + strlen(rows), sizeof rows - strlen(rows), "%d,%d,%d\n", i, i % 7,
                       2 * i + i % 7);
    write_file("rows.csv", rows);
    fgt_ok(fg_registry_create(&registry, &err));
    fgt_ok(fg_registry_add(registry, FG_REGISTRY_LOGGER, &board_row.entry, &err));
    return 0;
}

static int leave(void **state)
{
    (void)state;
    fg_registry_destroy(registry);
    return boards != 0;
}

/* Two epochs of three steps, with a line each two steps. */
static void write_run(const char *folder, const char *loggers)
{
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "task: regression\ndata: {format: csv, path: rows.csv, val_fraction: 0.25}\n"
                   "model: {name: linear}\noptimizer: {name: sgd, lr: 0.001}\n"
                   "trainer:\n  accelerator: cpu\n  max_epochs: 2\n  batch_size: 16\n"
                   "  log_every: 2\n  watchdog_s: 0\n  run_dir: %s\n  loggers: %s\n",
                   folder, loggers);
    write_file("run.yaml", text);
}

/* Runs that many epochs; `resume`: of an earlier run in the folder. */
static void run(const char *folder, const char *loggers, const char *epochs, bool resume)
{
    char limit[64];
    const char *const overrides[] = {limit, "trainer.resume=last"};
    fg_recipe *recipe = NULL;
    fg_error err = {0};
    (void)snprintf(limit, sizeof limit, "trainer.max_epochs=%s", epochs);
    write_run(folder, loggers);
    logged[0] = '\0';
    opened_at = -1;
    fgt_ok(fg_recipe_open(&(fg_recipe_options){.config = "run.yaml",
                                               .registry = registry,
                                               .overrides = overrides,
                                               .override_count = resume ? 2 : 1},
                          NULL, &recipe, &err));
    fgt_ok(fg_recipe_run(recipe, &err));
    fg_recipe_close(recipe);
}

/* The steps of the lines of a file of metrics, as a board has them; "-": there is no file. */
static const char *steps_in(const char *folder, const char *name)
{
    static char steps[256];
    const char *path = fgt_path(folder, name);
    const bool is_csv = strstr(name, ".csv") != NULL;
    char line[512];
    FILE *file = fopen(path, "rb");
    (void)snprintf(steps, sizeof steps, "%s", file != NULL ? "" : "-");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const size_t used = strlen(steps);
        char *end = NULL;
        if (strncmp(line, "step,", 5) == 0)
            continue;
        const long step = strtol(line + (is_csv ? 0 : strlen("{\"step\": ")), &end, 10);
        const bool is_val = is_csv ? strstr(end + 1, ",,") == end + 2 : strstr(end, "lr") == NULL;
        (void)snprintf(steps + used, sizeof steps - used, "%ld%s ", step, is_val ? "v" : "");
    }
    if (file != NULL)
        (void)fclose(file);
    return steps;
}

/* ---- tests ----------------------------------------------------------------------------------- */

#define FIRST  "2 3 3v "
#define SECOND "4 6 6v "

static void options_reach_a_custom_logger(void **state)
{
    (void)state;
    run("both", "[csv, board(prefix=a), \"board(prefix=b)\"]", "1", false);
    assert_string_equal(logged, "a2 b2 a3 b3 a3v b3v ");
    assert_int_equal(opened_at, 0);
    assert_false(had_history);
    assert_string_equal(steps_in("both", "metrics.csv"), FIRST);
    assert_string_equal(steps_in("both", "metrics.jsonl"), "-");
    assert_int_equal(boards, 0);
}

static void a_resumed_run_continues_its_log(void **state)
{
    (void)state;
    run("resumed", "[board, csv, jsonl]", "1", false);
    assert_string_equal(logged, FIRST);
    assert_true(had_history);
    run("resumed", "[board, csv, jsonl]", "2", true);
    assert_string_equal(logged, SECOND);
    assert_int_equal(opened_at, 3);
    assert_string_equal(steps_in("resumed", "metrics.csv"), FIRST SECOND);
    assert_string_equal(steps_in("resumed", "metrics.jsonl"), FIRST SECOND);
}

/* Each file has the lines of the fits that it was listed in. */
static void a_resumed_run_may_have_other_loggers(void **state)
{
    (void)state;
    run("other", "[]", "1", false);
    assert_string_equal(steps_in("other", "metrics.csv"), "-");
    assert_string_equal(steps_in("other", "metrics.jsonl"), "-");
    run("other", "[csv]", "2", true);
    assert_string_equal(steps_in("other", "metrics.csv"), SECOND);
    run("other", "[jsonl]", "3", true);
    assert_string_equal(steps_in("other", "metrics.csv"), SECOND);
    assert_string_equal(steps_in("other", "metrics.jsonl"), "8 9 9v ");
    run("other", "[]", "4", true);
    run("other", "[csv, jsonl]", "5", true);
    assert_string_equal(steps_in("other", "metrics.jsonl"), "8 9 9v 14 15 15v ");
    run("gap", "[csv, jsonl]", "2", false);
    run("gap", "[]", "3", true);
    run("gap", "[csv]", "4", true);
    assert_string_equal(steps_in("gap", "metrics.csv"), FIRST SECOND "10 12 12v ");
    assert_string_equal(steps_in("gap", "metrics.jsonl"), FIRST SECOND);
    run("third", "[csv, jsonl]", "2", false);
    run("third", "[jsonl]", "3", true);
    run("third", "[csv, jsonl]", "4", true);
    assert_string_equal(steps_in("third", "metrics.jsonl"), FIRST SECOND "8 9 9v 10 12 12v ");
    assert_string_equal(steps_in("third", "metrics.csv"), FIRST SECOND "8 9 9v 10 12 12v ");
}

static void one_that_cannot_be_opened_is_not_used(void **state)
{
    (void)state;
    run("closed", "[board(opens=false), jsonl]", "1", false);
    assert_int_equal(opened_at, 0);
    assert_string_equal(logged, "");
    assert_string_equal(steps_in("closed", "metrics.jsonl"), FIRST);
}

static void the_run_records_its_loggers(void **state)
{
    fg_error err = {0};
    char *text = NULL;
    size_t size = 0;
    (void)state;
    run("recorded", "[board(prefix=x), csv]", "1", false);
    fgt_ok(fgi_file_read("recorded/config.yaml", 1 << 20, &text, &size, &err));
    assert_non_null(strstr(text, "  loggers: [\"board(prefix=x)\", csv]\n"));
    fgi_free(text);
    /* an evaluation does not need them */
    fg_recipe *recipe = NULL;
    fgt_ok(fg_recipe_open(&(fg_recipe_options){.config = "recorded"},
                          &(fg_recipe_command){.kind = FG_RECIPE_VALIDATE}, &recipe, &err));
    fgt_ok(fg_recipe_run(recipe, &err));
    fg_recipe_close(recipe);
}

static void mistakes_are_named(void **state)
{
    static const struct {
        const char *loggers, *message;
    } rows[] = {
        {"[bord]", "run.yaml:12:3: trainer.loggers: unknown logger 'bord': did you mean 'board'?"},
        {"board(prefx=a)", "run.yaml:12:12: trainer.loggers.board: unknown option 'prefx': did you "
                           "mean 'prefix'?"},
        {"[board(opens=maybe)]", "trainer.loggers.board.opens: expected true or false"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_recipe *recipe = NULL;
        fg_error err = {0};
        write_run("wrong", rows[i].loggers);
        assert_int_equal(
            fg_recipe_open(&(fg_recipe_options){.config = "run.yaml", .registry = registry}, NULL,
                           &recipe, &err),
            FG_EINVAL);
        if (strstr(err.message, rows[i].message) == NULL)
            fail_msg("'%s' is not in '%s'", rows[i].message, err.message);
    }
    assert_int_equal(access("wrong", F_OK), -1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(options_reach_a_custom_logger),
    cmocka_unit_test(a_resumed_run_continues_its_log),
    cmocka_unit_test(a_resumed_run_may_have_other_loggers),
    cmocka_unit_test(one_that_cannot_be_opened_is_not_used),
    cmocka_unit_test(the_run_records_its_loggers),
    cmocka_unit_test(mistakes_are_named),
};

int main(void) { return cmocka_run_group_tests(tests, go_there, leave); }
