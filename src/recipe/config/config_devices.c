/* config_devices.c - the devices of a configuration: sharding rules, the mesh, and an old spelling,
 * tpu_cores.
 *
 * A rule is the string PATTERN=AXIS/AXIS..., "fc2.weight=none/model"; a YAML mapping {match:
 * PATTERN, split: [AXIS, ...]} is converted to that string (config_yaml.c).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "recipe/config/config.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "base/print.h"

static fg_status refuse_both(const fgi_config *c, const char *other, const char *now, fg_error *err)
{
    if (now == NULL || strcmp(now, "auto") == 0 || strcmp(now, "tpu") == 0)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "%s: %s is '%s' too: expected trainer.accelerator: tpu with trainer.devices "
                    "alone",
                    fgi_config_where(c, "trainer.tpu_cores"), other, now);
}

fg_status fgi_config_modernize(fgi_config *c, bool *out_was_old, fg_error *err)
{
    static const char old[] = "trainer.tpu_cores";
    char place[512];
    *out_was_old = c->run.tpu_cores != NULL || fg_option_is_auto(c->values, old);
    if (!*out_was_old)
        return FG_OK;
    FGI_TRY(refuse_both(c, "trainer.accelerator", c->trainer.devices.accelerator, err));
    FGI_TRY(refuse_both(c, "trainer.devices", c->trainer.devices.devices, err));
    (void)fgi_snprintf(place, sizeof place, "%s", fgi_config_place(c, old));
    FGI_TRY(fgi_config_set(c, "trainer.accelerator", "tpu", place, err));
    FGI_TRY(fgi_config_set(c, "trainer.devices", fgi_config_format(c, old), place, err));
    return fgi_config_reset(c, old, err);
}

/* Whether word[0..size) is "none" or the name of an axis. */
static bool is_axis(const fg_mesh_options *mesh, const char *word, size_t size)
{
    bool is_known = size == 4 && strncmp(word, "none", size) == 0;
    for (int i = 0; i < FG_MAX_MESH_AXES && mesh->axes[i].name[0] != '\0'; i++)
        is_known |=
            strlen(mesh->axes[i].name) == size && strncmp(mesh->axes[i].name, word, size) == 0;
    return is_known;
}

/* Checks that the axes of a rule, "fc2.weight=none/data+fsdp", exist in the mesh. */
static fg_status check_axes(const fgi_config *c, const char *rule, const fg_mesh_options *mesh,
                            fg_error *err)
{
    char names[256] = "";
    const char *word = strchr(rule, '=') + 1;
    for (int i = 0; i < FG_MAX_MESH_AXES && mesh->axes[i].name[0] != '\0'; i++)
        (void)fgi_snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s, ",
                           mesh->axes[i].name);
    while (*word != '\0') {
        const size_t size = strcspn(word, "/+");
        if (!is_axis(mesh, word, size))
            return fgi_fail(err, FG_EINVAL,
                            "%s: '%.*s': expected an axis of the mesh, %sor none, for each "
                            "dimension",
                            fgi_config_where(c, "trainer.sharding"), (int)(size < 80 ? size : 80),
                            word, names);
        word += size + (word[size] != '\0');
    }
    return FG_OK;
}

fg_status fgi_config_mesh(const fgi_config *c, fg_mesh_options *out, fg_error *err)
{
    const char *text = c->run.mesh;
    fg_error why = {0};
    *out = (fg_mesh_options){.axes = {{"data", -1}, {"model", (int)c->run.model_devices}}};
    if (text != NULL && fg_option_is_given(c->values, "trainer.model_devices"))
        return fgi_fail(
            err, FG_EINVAL,
            "%s: trainer.mesh is given too: expected an axis 'model' in trainer.mesh alone",
            fgi_config_where(c, "trainer.model_devices"));
    if (text != NULL && fg_mesh_parse(text, out, &why) != FG_OK)
        return fgi_fail(err, FG_EINVAL, "%s: %s", fgi_config_where(c, "trainer.mesh"), why.message);
    for (size_t i = 0; i < c->run.sharding.count; i++)
        FGI_TRY(check_axes(c, c->run.sharding.at[i], out, err));
    return FG_OK;
}

fg_status fgi_config_rules(const fgi_config *c, fg_sharding_rule **out, size_t *out_count,
                           fg_error *err)
{
    const fg_strings *texts = &c->run.sharding;
    fg_sharding_rule *rules = fgi_calloc(texts->count + 1, sizeof(*rules));
    bool is_good = rules != NULL;
    for (size_t i = 0; is_good && i < texts->count; i++) {
        const char *text = texts->at[i];
        const size_t size = strcspn(text, "=");
        char *spec = fgi_strdup(text + size + 1);
        for (char *at = spec; at != NULL && *at != '\0'; at++)
            *at = *at == '/' ? ',' : *at;
        rules[i] = (fg_sharding_rule){.match = fgi_strndup(text, size), .spec = spec};
        is_good = rules[i].match != NULL && spec != NULL;
    }
    *out = rules;
    *out_count = rules != NULL ? texts->count : 0;
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
