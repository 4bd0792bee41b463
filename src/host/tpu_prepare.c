/* tpu_prepare.c - what libtpu must find in the environment before it is loaded.
 *
 * While it is initialised libtpu asks Google Cloud's metadata server what machine this is.
 * Elsewhere that server does not answer, and libtpu tries each question thirty times, about ten
 * minutes in all. TPU_SKIP_MDS_QUERY stops that; JAX sets it by the same rule, no chip on the PCI
 * bus.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "host/tpu.h"

/* What was set here, so that later looks at the environment do not take it for the user's: static
 * names. Written before libtpu is loaded, which happens once or twice a process. */
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
        /* without these it says at length what it now does not know */
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
