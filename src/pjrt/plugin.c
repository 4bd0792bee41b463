/* plugin.c - loads a plugin into the process: checks the file, suppresses its log, loads it, checks
 * its version and initializes it once; and converts its errors.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/resources.h"
#include "base/print.h"
#include "host/tpu.h"
#include "pjrt/plugin.h"

enum { PLUGINS_MAX = 16 };

/* XLA starts as many threads on the host as the affinity of the process allows, even if its cgroup
 * has a quota of fewer processors, unless this variable says how many. oneDNN (src/kernel) starts
 * OpenMP's, which would spin after each of its calls while XLA's work. */
static void limit_threads(void)
{
    char text[16];
    const int count = fgi_cpu_count();
    (void)fgi_snprintf(text, sizeof text, "%d", count);
    /* NOLINTBEGIN(concurrency-mt-unsafe): both read these only from the environment */
    if (count < fgi_cpu_affinity())
        (void)setenv("PJRT_NPROC", text, 0);
    (void)setenv("OMP_NUM_THREADS", text, 0);
    (void)setenv("OMP_WAIT_POLICY", "passive", 0);
    (void)setenv("GOMP_SPINCOUNT", "0", 0);
    /* NOLINTEND(concurrency-mt-unsafe) */
}

/* Environment variables that plugins read while they are loaded. */
static void set_environment(const fgi_plugin_use *use)
{
    if (!use->shows_log) {
        /* NOLINTBEGIN(concurrency-mt-unsafe): plugins read these only from the environment */
        setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);
        setenv("TPU_MIN_LOG_LEVEL", "3", 0);
        setenv("TPU_STDERR_LOG_LEVEL", "3", 0);
        setenv("TPU_LOG_DIR", "disabled", 0); /* otherwise each process writes a file */
        /* NOLINTEND(concurrency-mt-unsafe) */
    }
    limit_threads();
    if (use->accelerator && strcmp(use->accelerator, "tpu") == 0)
        fgi_host_tpu_prepare(use->is_compile_only);
}

static fg_status check_version(const fgi_plugin *p, fg_error *err)
{
    const PJRT_Api_Version *v = &p->api->pjrt_api_version;
    if (p->api->struct_size < offsetof(PJRT_Api, PJRT_Error_Destroy))
        return fgi_fail(err, FG_EPLUGIN, "plugin '%s' returned an invalid PJRT function table",
                        p->path);
    if (v->major_version != PJRT_API_MAJOR)
        return fgi_fail(err, FG_EPLUGIN,
                        "plugin '%s' implements PJRT %d.%d, this library uses PJRT %d", p->path,
                        v->major_version, v->minor_version, PJRT_API_MAJOR);
    if (v->minor_version < FGI_PJRT_MINOR_MIN ||
        p->api->struct_size < offsetof(PJRT_Api, PJRT_Executable_GetCompiledMemoryStats))
        return fgi_fail(err, FG_EPLUGIN,
                        "plugin '%s' is too old: it implements PJRT %d.%d: expected %d.%d or newer",
                        p->path, v->major_version, v->minor_version, PJRT_API_MAJOR,
                        FGI_PJRT_MINOR_MIN);
    return FG_OK;
}

/* Initializes a plugin the first time that this process loads it, as PJRT requires. The list is
 * process-wide because loaded libraries are. */
static fg_status initialize_once(fgi_plugin *p, fg_error *err)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static const PJRT_Api *done[PLUGINS_MAX];
    fg_status status = FG_OK;
    pthread_mutex_lock(&mutex);
    int i = 0;
    while (i < PLUGINS_MAX - 1 && done[i] && done[i] != p->api)
        i++;
    if (done[i] != p->api) {
        FGI_ARGS(PJRT_Plugin_Initialize_Args, args, .extension_start = NULL);
        PJRT_Error *error = p->api->PJRT_Plugin_Initialize(&args);
        const fgi_pjrt_call place = {.operation = "initializing", .status = FG_EPLUGIN};
        p->has_refused = error != NULL;
        if (error)
            status = fgi_plugin_fail(p, error, &place, err);
        else
            done[i] = p->api;
    }
    pthread_mutex_unlock(&mutex);
    return status;
}

static fg_status open_library(fgi_plugin *p, fg_error *err)
{
    /* RTLD_NODELETE: code that may have started threads must stay mapped, whatever happens. */
    void *library = dlopen(p->path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return fgi_fail(err, FG_EPLUGIN, "plugin '%s' cannot be loaded: %s", p->path, dlerror());
    const PJRT_Api *(*get_api)(void) = NULL;
    void *symbol = dlsym(library, "GetPjrtApi");
    memcpy(&get_api, &symbol, sizeof get_api);
    p->api = get_api ? get_api() : NULL;
    dlclose(library);
    if (!symbol)
        return fgi_fail(err, FG_EPLUGIN, "'%s' is not a PJRT plugin: it does not export GetPjrtApi",
                        p->path);
    if (!p->api)
        return fgi_fail(err, FG_EPLUGIN, "plugin '%s' returned no PJRT function table", p->path);
    return FG_OK;
}

fg_status fgi_plugin_load(const char *path, const fgi_plugin_use *use, fgi_plugin *out,
                          fg_error *err)
{
    *out = (fgi_plugin){.path = path, .name = fgi_after_last(path, '/')};
    FGI_TRY(fgi_plugin_check_file(path, err));
    struct stat st;
    if (stat(path, &st) == 0) {
        out->file_size = st.st_size;
        out->file_time_ns = st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec;
    }
    set_environment(use);
    FGI_TRY(open_library(out, err));
    FGI_TRY(check_version(out, err));
    return initialize_once(out, err);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static const char *code_name(PJRT_Error_Code code)
{
    static const char *const names[] = {
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    };
    if ((size_t)code < sizeof names / sizeof names[0])
        return names[code];
    return "UNKNOWN";
}

static fg_status status_of(PJRT_Error_Code code, fg_status otherwise)
{
    switch (code) {
    case PJRT_Error_Code_RESOURCE_EXHAUSTED: return FG_EDEVMEM;
    case PJRT_Error_Code_UNIMPLEMENTED: return FG_EUNSUPPORTED;
    default: return otherwise;
    }
}

static void destroy_error(const fgi_plugin *plugin, PJRT_Error *error)
{
    FGI_ARGS(PJRT_Error_Destroy_Args, args, .error = error);
    plugin->api->PJRT_Error_Destroy(&args);
}

static PJRT_Error_Code code_of(const fgi_plugin *plugin, const PJRT_Error *error)
{
    FGI_ARGS(PJRT_Error_GetCode_Args, args, .error = error);
    PJRT_Error *second = plugin->api->PJRT_Error_GetCode(&args);
    if (second)
        destroy_error(plugin, second);
    return second ? PJRT_Error_Code_UNKNOWN : args.code;
}

fg_status fgi_plugin_fail(const fgi_plugin *plugin, PJRT_Error *error, const fgi_pjrt_call *place,
                          fg_error *err)
{
    FGI_ARGS(PJRT_Error_Message_Args, message, .error = error);
    plugin->api->PJRT_Error_Message(&message);
    const PJRT_Error_Code code = code_of(plugin, error);
    const int size = message.message_size < 4096 ? (int)message.message_size : 4096;
    const fg_status status =
        fgi_fail(err, status_of(code, place->status), "%s%s%s (%s): %s: %.*s", place->operation,
                 place->label ? " on " : "", place->label ? place->label : "", plugin->name,
                 code_name(code), size, message.message ? message.message : "");
    destroy_error(plugin, error);
    return status;
}

fg_status fgi_check(PJRT_Error *error, const fgi_pjrt_call *place, fg_error *err)
{
    if (!error)
        return FG_OK;
    const fg_status status = fgi_plugin_fail(&place->client->plugin, error, place, err);
    if (err)
        fgi_call_explain(place->client, err);
    return status;
}

bool fgi_ignore(const fgi_plugin *plugin, PJRT_Error *error)
{
    if (error)
        destroy_error(plugin, error);
    return error == NULL;
}
