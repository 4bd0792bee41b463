/* run_info.c - what the loggers of a fit show of its configuration: the text, and the settings that
 * have an effect.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "recipe/config_table.h"
#include "recipe/run.h"

/* Whether runs can differ in it in a way that is worth a column: not where and what they write. */
static bool is_setting(const fgi_config *c, const fgi_config_key *key)
{
    static const char *const others[] = {"trainer.run_dir", "trainer.resume", "trainer.loggers"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(key->path, others[i]) == 0)
            return false;
    return fgi_config_has_effect(c, key) && fgi_config_format(c, key->path)[0] != '\0';
}

static fg_status set(const fg_recipe *r, fgi_arena *texts, fgi_buf *config, fg_error *err)
{
    const fgi_config_table *table = r->c->table;
    fg_log_setting *settings = fgi_arena_alloc(texts, table->count * sizeof *settings);
    size_t count = 0;
    if (settings == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < table->count; i++) {
        const fgi_config_key *key = &table->keys[i];
        if (!is_setting(r->c, key))
            continue;
        const char *value = fgi_arena_strdup(texts, fgi_config_format(r->c, key->path));
        if (value == NULL)
            return fgi_no_memory(err);
        settings[count++] = (fg_log_setting){.name = key->path, .value = value};
    }
    fgi_config_print(r->c, config, false);
    FGI_TRY(fgi_buf_status(config, err));
    const fg_run_info info = {.config = config->data, .settings = settings, .setting_count = count};
    return fg_trainer_set_run_info(r->trainer, &info, err);
}

fg_status fgi_run_info_set(const fg_recipe *r, fg_error *err)
{
    fgi_arena texts = {0};
    fgi_buf config = {0};
    const fg_status status = set(r, &texts, &config, err);
    fgi_buf_fini(&config);
    fgi_arena_fini(&texts);
    return status;
}
