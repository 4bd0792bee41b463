/* test_sweep_grid.c - the values of a sweep, their combinations, the names of the runs, and the
 * record of a sweep that is continued.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "input/json_file.h"
#include "recipe/sweep/sweep.h"

static fg_error err;

static void refuses(const char *first, const char *second, const char *message)
{
    fgi_sweep_grid grid;
    const char *const keys[] = {first, second};
    assert_int_equal(fgi_sweep_grid_init(keys, second != NULL ? 2 : 1, &grid, &err), FG_EINVAL);
    assert_memory_equal(err.message, "--sweep", 7);
    assert_string_equal(err.message + 7, message);
    fgi_sweep_grid_fini(&grid);
}

static void the_last_key_changes_first(void **state)
{
    (void)state;
    fgi_sweep_grid grid;
    const char *const keys[] = {"optimizer.lr=1e-3, 3e-3", "optimizer.momentum=0,0.9,0.99"};
    static const char *const names[] = {"lr=1e-3,momentum=0",    "lr=1e-3,momentum=0.9",
                                        "lr=1e-3,momentum=0.99", "lr=3e-3,momentum=0",
                                        "lr=3e-3,momentum=0.9",  "lr=3e-3,momentum=0.99"};
    fgt_ok(fgi_sweep_grid_init(keys, 2, &grid, &err));
    assert_int_equal(grid.run_count, 6);
    for (size_t run = 0; run < 6; run++) {
        fgi_buf name = {0};
        fgi_sweep_grid_name(&grid, run, &name);
        assert_string_equal(name.data, names[run]);
        fgi_buf_fini(&name);
    }
    assert_string_equal(fgi_sweep_grid_value(&grid, 4, 0), "3e-3");
    assert_string_equal(fgi_sweep_grid_value(&grid, 4, 1), "0.9");
    fgi_sweep_grid_fini(&grid);
}

static void lists_are_one_value(void **state)
{
    (void)state;
    fgi_sweep_grid grid;
    const char *const keys[] = {
        "trainer.callbacks=[],[ema(decay=0.9, "
        "every_n_steps=2)],[\"freeze(parameters=[a])\", 'a,b'],{a: 1, b: 2}"};
    fgt_ok(fgi_sweep_grid_init(keys, 1, &grid, &err));
    assert_int_equal(grid.run_count, 4);
    assert_string_equal(fgi_sweep_grid_value(&grid, 0, 0), "[]");
    assert_string_equal(fgi_sweep_grid_value(&grid, 1, 0), "[ema(decay=0.9, every_n_steps=2)]");
    assert_string_equal(fgi_sweep_grid_value(&grid, 2, 0), "[\"freeze(parameters=[a])\", 'a,b']");
    assert_string_equal(fgi_sweep_grid_value(&grid, 3, 0), "{a: 1, b: 2}");
    fgi_sweep_grid_fini(&grid);
}

/* Names are valid in a file system, and differ where values differ. */
static void names_are_safe_and_unique(void **state)
{
    (void)state;
    fgi_sweep_grid grid;
    char text[800], first[256] = "";
    (void)snprintf(text, sizeof text, "data.path=a/b,a b,../x,%0300d,%0301d", 1, 2);
    const char *const keys[] = {text, "data.val=x", "model.path=y"};
    fgt_ok(fgi_sweep_grid_init(keys, 3, &grid, &err));
    for (size_t run = 0; run < grid.run_count; run++) {
        fgi_buf name = {0};
        fgi_sweep_grid_name(&grid, run, &name);
        assert_null(strchr(name.data, '/'));
        assert_null(strchr(name.data, ' '));
        assert_true(name.size < 200);
        assert_string_not_equal(name.data, first);
        (void)snprintf(first, sizeof first, "%s", name.data);
        if (run == 0) /* two keys end in the same word; the checksum is that of the values */
            assert_memory_equal(name.data, "data.path=a_b,val=x,model.path=y,", 33);
        fgi_buf_fini(&name);
    }
    fgi_sweep_grid_fini(&grid);
}

static const struct {
    const char *keys[2], *name;
} named[] = {
    {{"optimizer.lr=1e+2", "model.name=a_b-c.d"}, "lr=1e+2,name=a_b-c.d"}, /* as they are */
    {{"task=regression", "model.task=x"}, "task=regression,model.task=x"},
    {{"data.path=a:b", "optimizer.lr=1"}, "path=a_b,lr=1,822db8a1"},
    {{"data.path=a/b", "optimizer.lr=1"}, "path=a_b,lr=1,d55b086e"}, /* another checksum */
    {{"data.path=a", "optimizer.lr=b/1"}, "path=a,lr=b_1,0e071954"},
    {{"data.path='a,b'", "x.y=[1, 2]"}, "path=_a_b_,y=_1__2_,1eb5ed3a"},
    {{"data.path='a\"b,c'", "x.y={a: (1, 2)}"}, "path=_a_b_c_,y=_a___1__2__,4eb16a93"},
};

static void names_of_runs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        fgi_sweep_grid grid;
        fgi_buf name = {0};
        fgt_ok(fgi_sweep_grid_init(named[i].keys, 2, &grid, &err));
        assert_int_equal(grid.run_count, 1);
        fgi_sweep_grid_name(&grid, 0, &name);
        assert_string_equal(name.data, named[i].name);
        fgi_buf_fini(&name);
        fgi_sweep_grid_fini(&grid);
    }
}

/* A name of 120 bytes remains, a longer one is cut to them; what is before it does not count. */
static void long_names_are_cut(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        char text[200], expected[200] = "before k=";
        fgi_sweep_grid grid;
        fgi_buf name = {0};
        (void)snprintf(text, sizeof text, "a.k=%0*d", 118 + more, 1);
        const char *const keys[] = {text};
        fgt_ok(fgi_sweep_grid_init(keys, 1, &grid, &err));
        fgi_buf_puts(&name, "before ");
        fgi_sweep_grid_name(&grid, 0, &name);
        (void)snprintf(expected + 9, sizeof expected - 9, "%.118s%s", text + 4,
                       more ? ",b01ef120" : "");
        assert_string_equal(name.data, expected);
        fgi_buf_fini(&name);
        fgi_sweep_grid_fini(&grid);
    }
}

#define FORM ": expected KEY=VALUE,VALUE..., such as optimizer.lr=1e-3,3e-3"
#define NONE ": expected values separated by commas, got an empty one"
#define OWN  ": this key cannot be swept: the sweep sets it for each run"

static const struct {
    const char *first, *second, *message; /* the latter after "--sweep" */
} mistakes[] = {
    {"optimizer.lr", NULL, "=optimizer.lr" FORM},
    {"=1", NULL, "==1" FORM},
    {"optimizer.lr=", NULL, "=optimizer.lr" NONE},
    {"optimizer.lr=1,,2", NULL, "=optimizer.lr" NONE},
    {"optimizer.lr=1, ", NULL, "=optimizer.lr" NONE},
    {"optimizer.lr=1,2,1", NULL, "=optimizer.lr: the value 1 is listed twice"},
    {"optimizer.lr=1e-3,0.001", NULL, "=optimizer.lr: the value 1e-3 is listed twice"},
    {"a=x,y,x", NULL, "=a: the value x is listed twice"},
    {"a=1", "a=2", "=a: the key is swept twice: list all of its values in one --sweep"},
    {"trainer.run_dir=a,b", NULL, "=trainer.run_dir" OWN},
    {"trainer.resume=last", NULL, "=trainer.resume" OWN},
};

static void mistakes_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++)
        refuses(mistakes[i].first, mistakes[i].second, mistakes[i].message);
    fgi_sweep_grid grid;
    assert_int_equal(fgi_sweep_grid_init(NULL, 0, &grid, &err), FG_EINVAL);
    assert_string_equal(err.message, "a sweep needs at least one key with values");
}

static void a_thousand_combinations_are_the_most(void **state)
{
    (void)state;
    fgi_sweep_grid grid;
    char forty[200] = "a=0", more[200] = "b=0";
    for (int i = 1; i < 40; i++)
        (void)snprintf(forty + strlen(forty), sizeof forty - strlen(forty), ",%d", i);
    for (int i = 1; i < 25; i++)
        (void)snprintf(more + strlen(more), sizeof more - strlen(more), ",%d", i);
    const char *const most[] = {forty, more};
    fgt_ok(fgi_sweep_grid_init(most, 2, &grid, &err));
    assert_int_equal(grid.run_count, 1000);
    assert_string_equal(fgi_sweep_grid_value(&grid, 999, 0), "39");
    fgi_sweep_grid_fini(&grid);
    assert_int_equal(grid.axis_count, 0);
    (void)snprintf(more + strlen(more), sizeof more - strlen(more), ",x");
    refuses(forty, more, ": expected at most 1000 combinations of values");
}

static void eight_keys_are_the_most(void **state)
{
    static const char *const nine[] = {"a=1", "b=1", "c=1", "d=1", "e=1",
                                       "f=1", "g=1", "h=1", "i=1"};
    fgi_sweep_grid grid;
    (void)state;
    fgt_ok(fgi_sweep_grid_init(nine, 8, &grid, &err));
    fgi_sweep_grid_fini(&grid);
    assert_int_equal(fgi_sweep_grid_init(nine, 9, &grid, &err), FG_EINVAL);
    assert_string_equal(err.message, "--sweep: expected at most 8 keys");
    fgi_sweep_grid_fini(&grid);
}

/* ---- the record ------------------------------------------------------------------------------ */

#define PENDING(value)                                                                             \
    "{\"name\": \"lr=" value                                                                       \
    "\", \"state\": \"pending\", \"settings\": {\"optimizer.lr\": \"" value "\"}}"
#define FRESH                                                                                      \
    "{\"version\": 1, \"state\": \"running\", \"config\": null, \"monitor\": null, \"mode\": "     \
    "null, "                                                                                       \
    "\"best\": null, \"keys\": [\"optimizer.lr\"], \"runs\": [" PENDING("1") ", " PENDING(         \
        "2") "]}"
#define OF_BEST "\"monitor\": \"m\", \"mode\": \"max\", \"best\": \"old\", "
#define OLD     "{\"name\": \"old\", \"state\": \"finished\", \"settings\": {\"x.y\": \"3\"}}"
#define CUT(state)                                                                                 \
    "{\"name\": \"lr=2\", \"state\": \"" state                                                     \
    "\", \"settings\": {\"optimizer.lr\": \"2\"}, \"best\": 5}"

/* The records of the folder before, and of the sweep of two values that continues there. */
static const struct {
    const char *earlier, *whole; /* earlier: NULL: none */
} records[] = {
    {NULL, FRESH},
    {"{\"version\": 1, \"state\": \"stopped\", " OF_BEST
     "\"keys\": [\"x.y\", \"optimizer.lr\"], \"runs\": [" OLD ", " CUT("running") "]}",
     "{\"version\": 1, \"state\": \"running\", \"config\": null, " OF_BEST
     "\"keys\": [\"optimizer.lr\", \"x.y\"], \"runs\": [" PENDING("1") ", " CUT("killed") ", " OLD
                                                                                          "]}"},
    {"{\"version\": 1, \"state\": \"finished\", \"keys\": [], \"runs\": []}", FRESH},
};

static void earlier_runs_are_kept(void **state)
{
    static const char *const keys[] = {"optimizer.lr=1,2"};
    (void)state;
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++) {
        const char *folder = fgt_temp_folder();
        char *text = NULL;
        size_t size;
        fgi_sweep_grid grid;
        fgt_ok(fgi_sweep_grid_init(keys, 1, &grid, &err));
        if (records[i].earlier != NULL)
            fgt_write(fgt_path(folder, "sweep.json"), records[i].earlier,
                      strlen(records[i].earlier));
        json_t *record = fgi_sweep_record(&grid, NULL);
        fgt_ok(fgi_sweep_record_add_earlier(record, folder, &err));
        json_t *whole = fgi_json_load(records[i].whole, strlen(records[i].whole), 0, NULL);
        if (!json_equal(record, whole))
            fail_msg("row %zu", i);
        fgi_sweep_record_begin(record, 1);
        fgt_ok(fgi_sweep_record_write(record, "failed", folder, &err));
        fgt_ok(fgi_file_read(fgt_path(folder, "sweep.json"), 4096, &text, &size, &err));
        json_decref(whole);
        whole = fgi_json_load(text, size, 0, NULL);
        json_t *run = json_array_get(json_object_get(whole, "runs"), 1);
        assert_string_equal(json_string_value(json_object_get(run, "state")), "running");
        assert_string_equal(json_string_value(json_object_get(whole, "state")), "failed");
        assert_true(json_equal(record, whole) && text[size - 1] == '\n');
        json_decref(record);
        json_decref(whole);
        fgi_free(text);
        fgi_sweep_grid_fini(&grid);
    }
}

static fg_status read_and_name(void *unused, fg_error *error)
{
    fgi_sweep_grid grid;
    const char *const keys[] = {"optimizer.lr=1e-3,3e-3", "model.hidden=[1],[2]"};
    const fg_status status = fgi_sweep_grid_init(keys, 2, &grid, error);
    (void)unused;
    fgi_sweep_grid_fini(&grid);
    return status;
}

static void failing_allocations(void **state)
{
    (void)state;
    fgt_fault_loop(read_and_name, NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_last_key_changes_first),
    cmocka_unit_test(lists_are_one_value),
    cmocka_unit_test(names_are_safe_and_unique),
    cmocka_unit_test(names_of_runs),
    cmocka_unit_test(long_names_are_cut),
    cmocka_unit_test(mistakes_are_named),
    cmocka_unit_test(a_thousand_combinations_are_the_most),
    cmocka_unit_test(eight_keys_are_the_most),
    cmocka_unit_test(failing_allocations),
    cmocka_unit_test(earlier_runs_are_kept),
};
FGT_MAIN(tests)
