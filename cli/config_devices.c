/* config_devices.c - which devices a configuration asks for: how that is written, and the old
 * spelling, tpu_cores.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <fulgurite/mesh.h>

#include "cli.h"
#include "config_value.h"

bool config_parse_devices(const config_key *key, const char *text, config_item *out, fg_error *err)
{
    const size_t size = 7 * strlen(text) + 8; /* ", " and a digit of each character at most */
    fg_error why = {0};
    char *formatted = cli_alloc(size, 1);
    if (fg_devices_format(text, formatted, size, &why) != FG_OK) {
        free(formatted);
        return cli_fail(err, "%s: %s", key->path, why.message);
    }
    out->text = formatted;
    return true;
}

bool config_modernize(config *c, bool *out_was_old, fg_error *err)
{
    static const char *const others[] = {"trainer.accelerator", "trainer.devices"};
    const config_key *old = config_find("trainer.tpu_cores");
    const char *place = config_place(c, old->path);
    *out_was_old = config_is_auto(c, old->path) || config_text(c, old->path) != NULL;
    if (!*out_was_old)
        return true;
    for (int i = 0; i < 2; i++) {
        const char *now = config_is_auto(c, others[i]) ? "auto" : config_text(c, others[i]);
        if (strcmp(now, "auto") != 0 && (i == 1 || strcmp(now, "tpu") != 0))
            return cli_fail(err,
                            "%s: %s is '%s' too: expected trainer.accelerator: tpu with "
                            "trainer.devices alone",
                            config_where(c, old->path), others[i], now);
    }
    char *cores = cli_strdup(config_format(c, old)), *at = cli_strdup(place);
    const bool is_good = config_set_text(c, config_find(others[0]), "tpu", at, err) &&
                         config_set_text(c, config_find(others[1]), cores, at, err);
    config_reset(c, old);
    free(cores);
    free(at);
    return is_good;
}
