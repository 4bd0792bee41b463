/* config_rules.c - rules of splitting parameters: how they are written in one line, and turned into
 * the library's.
 *
 * A rule is the text PATTERN=AXIS/AXIS..., "fc2.weight=none/model"; in YAML a mapping {match:
 * PATTERN, split: [AXIS, ...]} becomes that text (config_yaml.c).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "config_value.h"
#include "run.h"

/* Whether text[0..size) is the name of an axis. */
static bool is_axis(const char *text, size_t size)
{
    static const char *const names[] = {"none", "data", "model"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == size && strncmp(names[i], text, size) == 0)
            return true;
    return false;
}

bool config_parse_rule(const config_key *key, const char *text, config_item *out, fg_error *err)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text)
        return cli_fail(err,
                        "%s: expected {match: PATTERN, split: [AXIS, ...]} or PATTERN=AXIS/AXIS, "
                        "got '%.80s'",
                        key->path, text);
    for (const char *axis = equals[1] != '\0' ? equals + 1 : NULL; axis != NULL;) {
        const size_t size = strcspn(axis, "/");
        if (!is_axis(axis, size))
            return cli_fail(
                err,
                "%s: '%.*s': expected an axis of the mesh, data, model or none, for each "
                "dimension",
                key->path, (int)(size < 80 ? size : 80), axis);
        axis = axis[size] == '/' ? axis + size + 1 : NULL;
    }
    out->text = cli_strdup(text);
    return true;
}

fg_split_rule *config_rules(const config *c, const char *path, size_t *out_count)
{
    const size_t count = config_count(c, path);
    fg_split_rule *rules = cli_alloc(count, sizeof(*rules));
    for (size_t i = 0; i < count; i++) {
        const char *text = config_text_at(c, path, i);
        const size_t size = strcspn(text, "=");
        char *split = cli_strdup(text + size + 1);
        for (char *at = split; *at != '\0'; at++)
            *at = *at == '/' ? ',' : *at;
        rules[i] = (fg_split_rule){.match = cli_strndup(text, size), .split = split};
    }
    *out_count = count;
    return rules;
}

void config_rules_free(fg_split_rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free((char *)rules[i].match);
        free((char *)rules[i].split);
    }
    free(rules);
}
