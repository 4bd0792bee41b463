/* recipe.c - runs a YAML file from C, with two settings overridden, and prints the summary, which
 * `fulgurite fit --summary=FILE` writes too.          usage: recipe [CONFIG.yaml] [RUN-FOLDER]
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/recipe.h>

int main(int argc, char **argv)
{
    char folder[512] = "";
    const char *overrides[] = {"trainer.max_epochs=10", folder}, *summary = "";
    (void)snprintf(folder, sizeof folder, "trainer.run_dir=%s", argc > 2 ? argv[2] : "auto");
    const fg_recipe_options options = {.config = argc > 1 ? argv[1] : "examples/digits_mlp.yaml",
                                       .overrides = overrides,
                                       .override_count = 2};
    fg_recipe *recipe = NULL;
    fg_error err = {0};
    if (fg_recipe_open(&options, NULL, &recipe, &err) == FG_OK &&
        fg_recipe_run(recipe, &err) == FG_OK &&
        fg_recipe_text_of(recipe, FG_RECIPE_SUMMARY, &summary, &err) == FG_OK)
        (void)puts(summary);
    fg_recipe_close(recipe);
    return err.status == FG_OK ? 0 : fg_error_print(&err, argv[0]);
}
