/* setup_missing.c - the compilers that plans for other machines need and that are not installed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/device.h>
#include <string.h>

#include "base/error.h"
#include "setup.h"

enum { PLACES_MAX = 64, NAMES_MAX = 64, NAME_SIZE = 128 };

/* Plugins that compile for machines that are not present. */
static const struct compiler {
    const char *accelerator;
    setup_missing row;
} compilers[SETUP_COMPILERS] = {
    {"tpu",
     {.what = "The compiler for TPUs (libtpu)", .name = "tpu", .command = "fulgurite setup tpu"}},
    {"cuda",
     {.what = "The compiler for NVIDIA GPUs (XLA's CUDA plugin)",
      .name = "cuda13",
      .command = "fulgurite setup --compile-only cuda13",
      .compiler_only = true}},
};

/* Whether a plugin for the accelerator is installed. A plugin given by its path is used even if it
 * does not exist, which opening it reports, as it does errors of the search. */
static bool is_installed(const char *accelerator)
{
    fg_error ignored;
    size_t count = 0;
    static fg_plugin_candidate places[PLACES_MAX];
    const fg_client_options options = {.accelerator = accelerator};
    bool found = fg_plugin_search(&options, places, PLACES_MAX, &count, &ignored) != FG_OK;
    for (size_t i = 0; i < count && i < PLACES_MAX; i++)
        found = found || places[i].exists || strcmp(places[i].source, "FULGURITE_PLUGIN") == 0;
    return found;
}

/* Sets needs[i] for the compiler of each machine in "a,b". */
static fg_status find_needed(const char *machines, bool needs[SETUP_COMPILERS], fg_error *err)
{
    fg_topology_info info;
    int count = 0;
    for (const char *at = machines;; at++) {
        char name[NAME_SIZE];
        const size_t size = strcspn(at, ",");
        if (size == 0 || size >= sizeof name || ++count > NAMES_MAX)
            return fgi_fail(err, FG_EINVAL, "expected 1 to %d names separated by commas",
                            NAMES_MAX);
        memcpy(name, at, size);
        name[size] = '\0';
        FGI_TRY(fg_topology_describe(name, &info, err));
        for (size_t i = 0; i < SETUP_COMPILERS; i++)
            if (strcmp(info.accelerator, compilers[i].accelerator) == 0)
                needs[i] = true;
        at += size;
        if (*at == '\0')
            return FG_OK;
    }
}

fg_status setup_find_missing(const char *machines, setup_missing out[SETUP_COMPILERS],
                             size_t *out_count, fg_error *err)
{
    bool needs[SETUP_COMPILERS] = {false};
    *out_count = 0;
    FGI_TRY(find_needed(machines, needs, err));
    for (size_t i = 0; i < SETUP_COMPILERS; i++)
        if (needs[i] && !is_installed(compilers[i].accelerator))
            out[(*out_count)++] = compilers[i].row;
    return FG_OK;
}
