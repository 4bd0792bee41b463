/* doctor.c - fg_host: open, collect, close. Properties are collected by machine_facts.c and
 * environment.c, findings by rules.c.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/reserved.h"
#include "host/doctor.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"

enum { ENVIRONMENT_BYTES = 1 << 17, VARIABLES_MAX = 1024 };

const char *fgi_doctor_keep(fg_host *host, const char *text)
{
    const char *copy = fgi_arena_strdup(&host->arena, text);
    host->has_failed |= copy == NULL;
    return copy ? copy : "";
}

void fgi_doctor_find(fg_host *host, fg_severity severity, const char *code, const char *command,
                     const char *format, ...)
{
    char text[640];
    va_list args;
    va_start(args, format);
    (void)fgi_vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (host->finding_count == FGI_FINDINGS_MAX)
        return;
    host->findings[host->finding_count++] =
        (fg_finding){.severity = severity,
                     .code = code,
                     .text = fgi_doctor_keep(host, text),
                     .command = command ? fgi_doctor_keep(host, command) : ""};
}

void fgi_doctor_fix(fg_host *host, const char *name, const char *value)
{
    for (size_t i = 0; i < host->fix_count; i++) {
        if (strcmp(host->fix[i].name, name) == 0)
            return;
    }
    if (host->fix_count < FGI_FIX_MAX)
        host->fix[host->fix_count++] = (fg_host_variable){
            fgi_doctor_keep(host, name), value ? fgi_doctor_keep(host, value) : NULL};
}

/* Environment variables of a machine in a folder: NAME=value, each ended by NUL or a newline, which
 * is easier to write. */
static void read_environment(fg_host *host)
{
    char *text = fgi_arena_alloc(&host->arena, ENVIRONMENT_BYTES);
    const char **list = fgi_arena_alloc(&host->arena, (VARIABLES_MAX + 1) * sizeof *list);
    size_t count = 0, size = 0;
    char path[FGI_HOST_PATH_MAX];
    if (!text || !list) {
        host->has_failed = true;
        return;
    }
    fgi_host_path(&host->source, "/proc/self/environ", path);
    FILE *in = fopen(path, "re");
    if (in) {
        size = fread(text, 1, ENVIRONMENT_BYTES - 1, in);
        (void)fclose(in);
    }
    for (size_t at = 0; at < size && count < VARIABLES_MAX;) {
        list[count++] = text + at;
        while (at < size && text[at] != '\0' && text[at] != '\n')
            at++;
        text[at++] = '\0';
    }
    host->source.environment = list;
}

static void set_source(fg_host *host, const fg_host_options *options)
{
    const bool is_fake = options->root && *options->root;
    const char *name = fgi_host_variable(NULL, "GCE_METADATA_HOST");
    if (is_fake) {
        host->source.root = fgi_doctor_keep(host, options->root);
        read_environment(host);
    }
    if (options->metadata)
        host->metadata = fgi_doctor_keep(host, options->metadata);
    else if (is_fake)
        host->metadata = "";
    else if (!options->no_network)
        host->metadata =
            fgi_arena_printf(&host->arena, "http://%s", name ? name : "metadata.google.internal");
}

fg_status fg_host_open(const fg_host_options *options, fg_host **out, fg_error *err)
{
    static const fg_host_options none;
    *out = NULL;
    FGI_TRY_RESERVED(fg_host_options, options, err);
    fg_host *host = fgi_calloc(1, sizeof *host);
    if (!host)
        return fgi_no_memory(err);
    fgi_arena_init(&host->arena);
    set_source(host, options ? options : &none);
    fgi_host_tpu_scan(&host->source, &host->scan);
    fgi_doctor_machine(host);
    fgi_doctor_environment(host);
    fgi_doctor_rules(host);
    if (host->has_failed) {
        fg_host_close(host);
        return fgi_no_memory(err);
    }
    *out = host;
    return FG_OK;
}

void fg_host_close(fg_host *host)
{
    if (!host)
        return;
    fgi_arena_fini(&host->arena);
    fgi_free(host);
}

const fg_host_info *fg_host_info_of(const fg_host *host) { return &host->info; }

size_t fg_host_finding_count(const fg_host *host) { return host->finding_count; }

const fg_finding *fg_host_finding_at(const fg_host *host, size_t index)
{
    return index < host->finding_count ? &host->findings[index] : NULL;
}

size_t fg_host_variable_count(const fg_host *host) { return host->fix_count; }

const fg_host_variable *fg_host_variable_at(const fg_host *host, size_t index)
{
    return index < host->fix_count ? &host->fix[index] : NULL;
}
