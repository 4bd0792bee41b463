/* config_devices.c - the devices of a configuration: their syntax, and the old spelling, tpu_cores.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <fulgurite/mesh.h>

#include "recipe/config.h"
#include "base/alloc.h"
#include "base/error.h"

fg_status fgi_config_modernize(fgi_config *c, bool *out_was_old, fg_error *err)
{
    static const char *const others[] = {"trainer.accelerator", "trainer.devices"};
    const fgi_config_key *old = fgi_config_find("trainer.tpu_cores");
    const char *place = fgi_config_place(c, old->path);
    *out_was_old = fgi_config_is_auto(c, old->path) || fgi_config_text(c, old->path) != NULL;
    if (!*out_was_old)
        return FG_OK;
    for (int i = 0; i < 2; i++) {
        const char *now = fgi_config_is_auto(c, others[i]) ? "auto" : fgi_config_text(c, others[i]);
        if (strcmp(now, "auto") != 0 && strcmp(now, "tpu") != 0)
            return fgi_fail(err, FG_EINVAL,
                            "%s: %s is '%s' too: expected trainer.accelerator: tpu with "
                            "trainer.devices alone",
                            fgi_config_where(c, old->path), others[i], now);
    }
    char *cores = fgi_strdup(fgi_config_format(c, old)), *at = fgi_strdup(place);
    fg_status status = cores != NULL && at != NULL ? FG_OK : fgi_no_memory(err);
    FGI_DONE(status);
    FGI_DONE(fgi_config_set_text(c, fgi_config_find(others[0]), "tpu", at, err));
    FGI_DONE(fgi_config_set_text(c, fgi_config_find(others[1]), cores, at, err));
    status = fgi_config_reset(c, old, err);
done:
    fgi_free(cores);
    fgi_free(at);
    return status;
}
