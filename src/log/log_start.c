/* log_start.c - copies of what loggers receive when their log is opened.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "log/log_start.h"

/* NULL stays NULL. */
static const char *copy_text(fgi_arena *arena, const char *text, bool *is_good)
{
    const char *copy = text != NULL ? fgi_arena_strdup(arena, text) : NULL;
    *is_good &= text == NULL || copy != NULL;
    return copy;
}

bool fgi_log_start_copy(const fg_log_start *from, fgi_arena *arena, fg_log_start *out)
{
    bool is_good = true;
    fg_log_setting *settings = fgi_arena_alloc(arena, (from->setting_count + 1) * sizeof *settings);
    *out = (fg_log_start){0};
    for (size_t i = 0; settings != NULL && i < from->setting_count; i++)
        settings[i] =
            (fg_log_setting){.name = copy_text(arena, from->settings[i].name, &is_good),
                             .value = copy_text(arena, from->settings[i].value, &is_good)};
    fg_log_start copy = *from;
    copy.run_dir = copy_text(arena, from->run_dir, &is_good);
    copy.history = copy_text(arena, from->history, &is_good);
    copy.config = copy_text(arena, from->config, &is_good);
    copy.settings = settings;
    if (settings == NULL || !is_good)
        return false;
    *out = copy;
    return true;
}
