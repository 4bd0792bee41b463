/* test_sweep_grid.c - the values of a sweep, their combinations, and the names of the runs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <string.h>

#include "recipe/sweep_grid.h"

static fg_error err;

static void refuses(const char *first, const char *second, const char *message)
{
    fgi_sweep_grid grid;
    const char *const keys[] = {first, second};
    assert_int_equal(fgi_sweep_grid_init(keys, second != NULL ? 2 : 1, &grid, &err), FG_EINVAL);
    if (strstr(err.message, message) == NULL)
        fail_msg("expected '%s' in '%s'", message, err.message);
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
    const char *const keys[] = {"trainer.callbacks=[],[ema(decay=0.9, "
                                "every_n_steps=2)],[\"freeze(parameters=[a])\", 'a,b']"};
    fgt_ok(fgi_sweep_grid_init(keys, 1, &grid, &err));
    assert_int_equal(grid.run_count, 3);
    assert_string_equal(fgi_sweep_grid_value(&grid, 0, 0), "[]");
    assert_string_equal(fgi_sweep_grid_value(&grid, 1, 0), "[ema(decay=0.9, every_n_steps=2)]");
    assert_string_equal(fgi_sweep_grid_value(&grid, 2, 0), "[\"freeze(parameters=[a])\", 'a,b']");
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

/* Numbers and words remain as they are. */
static void plain_values_are_their_names(void **state)
{
    (void)state;
    fgi_sweep_grid grid;
    fgi_buf name = {0};
    const char *const keys[] = {"optimizer.lr=1e+2", "model.name=a_b-c.d"};
    fgt_ok(fgi_sweep_grid_init(keys, 2, &grid, &err));
    fgi_sweep_grid_name(&grid, 0, &name);
    assert_string_equal(name.data, "lr=1e+2,name=a_b-c.d");
    fgi_buf_fini(&name);
    fgi_sweep_grid_fini(&grid);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    char many[8000] = "a=0", wide[8000] = "b=0";
    for (int i = 1; i < 40; i++) {
        (void)snprintf(many + strlen(many), sizeof many - strlen(many), ",%d", i);
        (void)snprintf(wide + strlen(wide), sizeof wide - strlen(wide), ",%d", i);
    }
    refuses("optimizer.lr", NULL, "--sweep=optimizer.lr: expected KEY=VALUE,VALUE...");
    refuses("=1", NULL, "expected KEY=VALUE,VALUE...");
    refuses("optimizer.lr=", NULL, "got an empty one");
    refuses("optimizer.lr=1,,2", NULL, "got an empty one");
    refuses("optimizer.lr=1,2,1", NULL, "the value 1 is listed twice");
    refuses("optimizer.lr=1e-3,0.001", NULL, "the value 1e-3 is listed twice");
    refuses("optimizer.lr=1", "optimizer.lr=2", "the key is swept twice");
    refuses("trainer.run_dir=a,b", NULL, "this key cannot be swept");
    refuses("trainer.resume=last", NULL, "this key cannot be swept");
    refuses(many, wide, "at most 1000 combinations");
    fgi_sweep_grid grid;
    assert_int_equal(fgi_sweep_grid_init(NULL, 0, &grid, &err), FG_EINVAL);
    const char *const nine[] = {"a=1", "b=1", "c=1", "d=1", "e=1", "f=1", "g=1", "h=1", "i=1"};
    assert_int_equal(fgi_sweep_grid_init(nine, 9, &grid, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "at most 8 keys"));
    fgi_sweep_grid_fini(&grid);
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
    cmocka_unit_test(the_last_key_changes_first), cmocka_unit_test(lists_are_one_value),
    cmocka_unit_test(names_are_safe_and_unique),  cmocka_unit_test(plain_values_are_their_names),
    cmocka_unit_test(mistakes_are_named),         cmocka_unit_test(failing_allocations),
};
FGT_MAIN(tests)
