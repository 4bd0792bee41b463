/* tpu_prepare.c - sets environment variables that libtpu needs before it is loaded.
 *
 * During initialization libtpu queries Google Cloud's metadata server for the type of the machine.
 * Elsewhere that server does not respond, and libtpu retries each query thirty times, which takes
 * about ten minutes. TPU_SKIP_MDS_QUERY disables that; JAX sets it by the same rule, when no chip
 * is on the PCI bus.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "host/tpu.h"

/* Variables set here, so that later checks of the environment do not mistake them for the user's:
 * static names. Written before libtpu is loaded, which happens once or twice per process. */
static const char *_Atomic prepared[2 * FGI_TPU_VARIABLES_MAX];

static void add(const fgi_host *host, const char *name, const char *value, size_t *count,
                fgi_variable *out)
{
    if (!fgi_host_variable(host, name))
        out[(*count)++] = (fgi_variable){name, value};
}

size_t fgi_host_tpu_variables(const fgi_host *host, bool compile_only,
                              fgi_variable out[FGI_TPU_VARIABLES_MAX])
{
    size_t count = 0;
    if (!fgi_host_has_tpu(host) || compile_only) {
        add(host, "TPU_SKIP_MDS_QUERY", "1", &count, out);
        /* without these it logs at length what is missing */
        add(host, "TPU_ACCELERATOR_TYPE", "v5litepod-1", &count, out);
        add(host, "TPU_WORKER_HOSTNAMES", "localhost", &count, out);
        add(host, "TPU_WORKER_ID", "0", &count, out);
    }
    if (compile_only) {
        add(host, "ALLOW_MULTIPLE_LIBTPU_LOAD", "1", &count, out);
        add(host, "TPU_LOG_DIR", "disabled", &count, out);
    }
    return count;
}

bool fgi_host_is_prepared(const char *name)
{
    for (size_t i = 0; i < sizeof prepared / sizeof prepared[0]; i++) {
        const char *known = prepared[i];
        if (!known)
            return false;
        if (strcmp(known, name) == 0)
            return true;
    }
    return false;
}

static void remember(const char *name)
{
    size_t i = 0;
    while (i < sizeof prepared / sizeof prepared[0] - 1 && prepared[i])
        i++;
    if (!fgi_host_is_prepared(name))
        prepared[i] = name;
}

void fgi_host_tpu_prepare(bool compile_only)
{
    fgi_variable variables[FGI_TPU_VARIABLES_MAX];
    const size_t count = fgi_host_tpu_variables(NULL, compile_only, variables);
    for (size_t i = 0; i < count; i++) {
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): libtpu reads it from the environment only */
        (void)setenv(variables[i].name, variables[i].value, 1);
        remember(variables[i].name);
    }
}
