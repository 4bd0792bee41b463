/* test_config_effects.c - every key of the configuration has its effect: the rows of effects_*.c,
 * each with a small fit of the program. A key without a row fails. Needs the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "effects.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "recipe/config/config.h"

static const char *chosen; /* "all", a section or a key, whose rows are tried; NULL: none */

static bool has_row(const char *key)
{
    static const effect *const tables[] = {effects_model, effects_data,      effects_images,
                                           effects_pack,  effects_optimizer, effects_trainer,
                                           effects_tuner};
    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
        for (const effect *e = tables[t]; e->key != NULL; e++)
            if (strcmp(e->key, key) == 0)
                return true;
    return false;
}

/* Whether a test has the rows of the key's section: FGT_SECTIONS is " task model ... ". */
static bool is_run(const char *key)
{
    const size_t size = strcspn(key, ".");
    const char *at = FGT_SECTIONS;
    while (at != NULL && (strncmp(at + 1, key, size) != 0 || at[size + 1] != ' '))
        at = strchr(at + 1, ' ');
    return at != NULL;
}

static void every_key_has_a_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < fgi_config_table_built_in()->count && chosen == NULL; i++) {
        const char *key = fgi_config_table_built_in()->keys[i].path;
        if (!has_row(key))
            fail_msg("no row of effects_*.c shows what '%s' does", key);
        if (!is_run(key))
            fail_msg("CMakeLists.txt has no test of the section of '%s'", key);
    }
}

static bool is_chosen(const char *key)
{
    const size_t size = strlen(chosen);
    return strcmp(chosen, "all") == 0 ||
           (strncmp(key, chosen, size) == 0 && (key[size] == '\0' || key[size] == '.'));
}

static void all_rows(const effect *table)
{
    const char *parent = fgt_temp_folder();
    for (const effect *e = table; e->key != NULL; e++) {
        if (chosen == NULL || !is_chosen(e->key))
            continue;
        fg_error err = {0};
        char folder[256];
        (void)snprintf(folder, sizeof(folder), "%s/row", parent);
        fgt_ok(fgi_folder_make(folder, &err));
        assert_non_null(fgi_config_find(NULL, e->key));
        effects_write_files(folder);
        print_message("%s: %s\n", e->key, e->arguments);
        e->check(e, folder);
        fgt_ok(fgi_folder_remove(folder, &err));
    }
}

static void model(void **state) { all_rows(effects_model); }
static void data(void **state)
{
    all_rows(effects_data);
    all_rows(effects_images);
    all_rows(effects_pack);
}
static void optimizer_and_schedule(void **state) { all_rows(effects_optimizer); }
static void trainer(void **state) { all_rows(effects_trainer); }
static void tuner(void **state) { all_rows(effects_tuner); }

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_key_has_a_row),    cmocka_unit_test(model),   cmocka_unit_test(data),
    cmocka_unit_test(optimizer_and_schedule), cmocka_unit_test(trainer), cmocka_unit_test(tuner),
};

/* usage: test_config_effects [all|SECTION|KEY] */
int main(int argc, char **argv)
{
    chosen = argc > 1 ? argv[1] : NULL;
    const int status = prepare_to_train();
    return status != 0 ? status : cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
