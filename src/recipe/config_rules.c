/* config_rules.c - sharding rules and the mesh: their syntax, and their conversion to the library's
 * types.
 *
 * A rule is the string PATTERN=AXIS/AXIS..., "fc2.weight=none/model"; a YAML mapping {match:
 * PATTERN, split: [AXIS, ...]} is converted to that string (config_yaml.c).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "recipe/config.h"
#include "recipe/run.h"
#include "base/print.h"
#include "base/alloc.h"
#include "base/error.h"

/* Whether word[0..size) is "none" or the name of an axis. */
static bool is_axis(const fg_mesh_options *mesh, const char *word, size_t size)
{
    bool is_known = size == 4 && strncmp(word, "none", size) == 0;
    for (int i = 0; i < FG_MAX_MESH_AXES && mesh->axes[i].name[0] != '\0'; i++)
        is_known |=
            strlen(mesh->axes[i].name) == size && strncmp(mesh->axes[i].name, word, size) == 0;
    return is_known;
}

/* Reports `message` with the key's location: its line, or the option on the command line, which
 * names the key. */
static fg_status fail_at(const fgi_config *c, const char *path, const char *message, fg_error *err)
{
    const char *place = fgi_config_place(c, path);
    const bool is_option = strncmp(place, "--", 2) == 0;
    return fgi_fail(err, FG_EINVAL, "%s: %s%s%s", place, is_option ? "" : path,
                    is_option ? "" : ": ", message);
}

/* Checks that the axes of a rule, "fc2.weight=none/data+fsdp", exist in the mesh. */
static fg_status check_axes(const fgi_config *c, const char *rule, const fg_mesh_options *mesh,
                            fg_error *err)
{
    char names[256] = "", message[448];
    const char *word = strchr(rule, '=') + 1;
    for (int i = 0; i < FG_MAX_MESH_AXES && mesh->axes[i].name[0] != '\0'; i++)
        (void)fgi_snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s, ",
                           mesh->axes[i].name);
    while (*word != '\0') {
        const size_t size = strcspn(word, "/+");
        if (!is_axis(mesh, word, size)) {
            (void)fgi_snprintf(
                message, sizeof(message),
                "'%.*s': expected an axis of the mesh, %sor none, for each dimension",
                (int)(size < 80 ? size : 80), word, names);
            return fail_at(c, "trainer.sharding", message, err);
        }
        word += size + (word[size] != '\0');
    }
    return FG_OK;
}

fg_status fgi_config_mesh(const fgi_config *c, fg_mesh_options *out, fg_error *err)
{
    const char *text = fgi_config_text(c, "trainer.mesh");
    const int model = (int)fgi_config_int(c, "trainer.model_devices");
    fg_error why = {0};
    *out = (fg_mesh_options){.axes = {{"data", -1}, {"model", model}}};
    if (text != NULL && fgi_config_is_given(c, "trainer.model_devices"))
        return fail_at(c, "trainer.model_devices",
                       "trainer.mesh is given too: expected an axis 'model' in trainer.mesh alone",
                       err);
    if (text != NULL && fg_mesh_parse(text, out, &why) != FG_OK)
        return fail_at(c, "trainer.mesh", why.message, err);
    for (size_t i = 0; i < fgi_config_count(c, "trainer.sharding"); i++)
        FGI_TRY(check_axes(c, fgi_config_text_at(c, "trainer.sharding", i), out, err));
    return FG_OK;
}

fg_status fgi_config_rules(const fgi_config *c, const char *path, fg_sharding_rule **out,
                           size_t *out_count, fg_error *err)
{
    const size_t count = fgi_config_count(c, path);
    fg_sharding_rule *rules = fgi_calloc(count + 1, sizeof(*rules));
    bool is_good = rules != NULL;
    for (size_t i = 0; is_good && i < count; i++) {
        const char *text = fgi_config_text_at(c, path, i);
        const size_t size = strcspn(text, "=");
        char *spec = fgi_strdup(text + size + 1);
        for (char *at = spec; at != NULL && *at != '\0'; at++)
            *at = *at == '/' ? ',' : *at;
        rules[i] = (fg_sharding_rule){.match = fgi_strndup(text, size), .spec = spec};
        is_good = rules[i].match != NULL && spec != NULL;
    }
    *out = rules;
    *out_count = rules != NULL ? count : 0;
    return is_good ? FG_OK : fgi_no_memory(err);
}

void fgi_config_rules_free(fg_sharding_rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fgi_free((char *)rules[i].match);
        fgi_free((char *)rules[i].spec);
    }
    fgi_free(rules);
}
