/* config_devices.c - the devices of a configuration: sharding rules, the mesh, and an old spelling,
 * tpu_cores.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "recipe/config/config.h"
#include "base/error.h"
#include "base/text.h"
#include "base/print.h"
#include "mesh/mesh.h"
#include "option/option.h"

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

/* Checks that the axes of a rule, "[none, data+fsdp]" or "model", exist in the mesh. */
static fg_status check_axes(const fgi_config *c, const char *word, const fg_mesh_options *mesh,
                            fg_error *err)
{
    char names[256] = "";
    for (int i = 0; i < FG_MAX_MESH_AXES && mesh->axes[i].name[0] != '\0'; i++)
        (void)fgi_snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
                           i > 0 ? ", " : "", mesh->axes[i].name);
    for (word += strspn(word, "[ ]"); *word != '\0'; word += strspn(word, ",+] ")) {
        const size_t size = strcspn(word, ",+] ");
        if (!is_axis(mesh, word, size))
            return fgi_fail(err, FG_EINVAL,
                            "%s: '%.*s': expected an axis of the mesh (%s) or none for each "
                            "dimension, such as [none, %s]",
                            fgi_config_where(c, "trainer.sharding"), (int)(size < 80 ? size : 80),
                            word, names, mesh->axes[0].name);
        word += size;
    }
    return FG_OK;
}

/* {data: 2, fsdp: -1} */
static fg_status read_mesh(const fgi_config *c, fg_mesh_options *out, fg_error *err)
{
    const fg_string_map *map = &c->run.mesh;
    *out = (fg_mesh_options){.batch_axes = 0};
    for (size_t i = 0; i < map->count; i++) {
        const char *name = map->at[i].key, *text = map->at[i].value;
        int64_t size;
        if (i == FG_MAX_MESH_AXES || strlen(name) >= FG_MAX_AXIS_NAME ||
            !fgi_parse_i64(fgi_str_of(text), &size) || size < -1 || size == 0 ||
            size > FGI_DEVICES_MAX)
            return fgi_fail(err, FG_EINVAL,
                            "%s: '%.80s: %.80s': expected at most %d axes, each a name with a "
                            "number of devices, or -1 for the remaining devices",
                            fgi_config_where(c, "trainer.mesh"), name, text, FG_MAX_MESH_AXES);
        out->axes[i].size = (int)size;
        (void)fgi_snprintf(out->axes[i].name, FG_MAX_AXIS_NAME, "%s", name);
    }
    return FG_OK;
}

fg_status fgi_config_mesh(const fgi_config *c, fg_mesh_options *out, fg_error *err)
{
    const bool is_given = c->run.mesh.count > 0;
    if (is_given && fg_option_is_given(c->values, "trainer.model_devices"))
        return fgi_fail(
            err, FG_EINVAL,
            "%s: trainer.mesh is given too: expected an axis 'model' in trainer.mesh alone",
            fgi_config_where(c, "trainer.model_devices"));
    *out = (fg_mesh_options){.axes = {{"data", -1}, {"model", (int)c->run.model_devices}}};
    if (is_given)
        FGI_TRY(read_mesh(c, out, err));
    for (size_t i = 0; i < c->run.sharding.count; i++)
        FGI_TRY(check_axes(c, c->run.sharding.at[i].value, out, err));
    return FG_OK;
}

fg_status fgi_config_rules(const fgi_config *c, fg_trainer_devices *out, fg_error *err)
{
    fgi_arena *arena = &c->values->arena;
    const fg_string_map *map = &c->run.sharding;
    fg_sharding_rule *rules = fgi_arena_alloc(arena, (map->count + 1) * sizeof *rules);
    bool is_good = rules != NULL;
    for (size_t i = 0; is_good && i < map->count; i++) {
        char *spec = fgi_arena_strdup(arena, map->at[i].value + (map->at[i].value[0] == '['));
        if (spec != NULL)
            spec[strcspn(spec, "]")] = '\0';
        rules[i] = (fg_sharding_rule){.match = map->at[i].key, .spec = spec};
        is_good = spec != NULL;
    }
    out->sharding_rules = rules;
    out->sharding_rule_count = map->count;
    return is_good ? FG_OK : fgi_no_memory(err);
}
