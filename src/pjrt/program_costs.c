/* program_costs.c - information from the compiler about a program: its requirements and cost, the
 * optimized program, and its fingerprint.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "pjrt/plugin.h"

/* ---- cost ------------------------------------------------------------------------------------ */

static void read_memory(const fgi_executable *e, fgi_program_cost *out)
{
    const fgi_plugin *plugin = &e->client->plugin;
    FGI_ARGS(PJRT_Executable_GetCompiledMemoryStats_Args, args, .executable = e->executable);
    if (!FGI_HAS(plugin->api, PJRT_Executable_GetCompiledMemoryStats) ||
        !fgi_ignore(plugin, plugin->api->PJRT_Executable_GetCompiledMemoryStats(&args)))
        return;
    out->argument_bytes = args.argument_size_in_bytes;
    out->output_bytes = args.output_size_in_bytes;
    out->alias_bytes = args.alias_size_in_bytes;
    out->temp_bytes = args.temp_size_in_bytes;
    out->code_bytes = args.generated_code_size_in_bytes;
    /* Plugins that predate this field leave it 0. */
    if (args.peak_memory_in_bytes > 0)
        out->peak_bytes = args.peak_memory_in_bytes;
}

static bool is_property(const PJRT_NamedValue *value, const char *name)
{
    return value->type == PJRT_NamedValue_kFloat && value->name_size == strlen(name) &&
           memcmp(value->name, name, value->name_size) == 0;
}

static void read_work(const fgi_executable *e, fgi_program_cost *out)
{
    const fgi_plugin *plugin = &e->client->plugin;
    FGI_ARGS(PJRT_Executable_GetCostAnalysis_Args, args, .executable = e->executable);
    if (!fgi_ignore(plugin, plugin->api->PJRT_Executable_GetCostAnalysis(&args)))
        return;
    for (size_t i = 0; i < args.num_properties; i++) {
        const PJRT_NamedValue *value = &args.properties[i];
        if (is_property(value, "flops"))
            out->flops = (double)value->float_value;
        else if (is_property(value, "bytes accessed"))
            out->bytes_accessed = (double)value->float_value;
    }
}

fgi_program_cost fgi_executable_cost(const fgi_executable *executable)
{
    fgi_program_cost out = {-1, -1, -1, -1, -1, -1, -1, -1};
    read_memory(executable, &out);
    read_work(executable, &out);
    return out;
}

/* ---- the compiled program itself ------------------------------------------------------------- */

fg_status fgi_executable_counts(const fgi_executable *executable, int64_t *out_replicas,
                                int64_t *out_partitions, fg_error *err)
{
    const fg_client *c = executable->client;
    const PJRT_Api *api = c->plugin.api;
    const fgi_pjrt_call place = {c, c->label, "querying the number of devices of a program",
                                 FG_EUNSUPPORTED};
    FGI_ARGS(PJRT_Executable_NumReplicas_Args, replicas, .executable = executable->executable);
    FGI_ARGS(PJRT_Executable_NumPartitions_Args, partitions, .executable = executable->executable);
    *out_replicas = *out_partitions = -1;
    if (!FGI_HAS(api, PJRT_Executable_NumReplicas) || !FGI_HAS(api, PJRT_Executable_NumPartitions))
        return FG_OK;
    FGI_TRY(fgi_check(api->PJRT_Executable_NumReplicas(&replicas), &place, err));
    FGI_TRY(fgi_check(api->PJRT_Executable_NumPartitions(&partitions), &place, err));
    *out_replicas = (int64_t)replicas.num_replicas;
    *out_partitions = (int64_t)partitions.num_partitions;
    return FG_OK;
}

fg_status fgi_executable_optimized(const fgi_executable *executable, char **out_data,
                                   size_t *out_size, fg_error *err)
{
    static const char requested[] = "hlo_with_config";
    const fg_client *c = executable->client;
    const PJRT_Api *api = c->plugin.api;
    const fgi_pjrt_call place = {c, c->label, "querying the optimized program", FG_EUNSUPPORTED};
    FGI_ARGS(PJRT_Program, program, .format = requested, .format_size = sizeof requested - 1);
    FGI_ARGS(PJRT_Executable_OptimizedProgram_Args, args, .executable = executable->executable,
             .program = &program);
    *out_data = NULL;
    *out_size = 0;
    if (!FGI_HAS(api, PJRT_Executable_OptimizedProgram))
        return fgi_fail(err, FG_EUNSUPPORTED, "%s does not provide optimized programs",
                        c->plugin.name);
    FGI_TRY(fgi_check(api->PJRT_Executable_OptimizedProgram(&args), &place, err));
    if (program.format_size != sizeof requested - 1 ||
        memcmp(program.format, requested, sizeof requested - 1) != 0)
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "%s provides optimized programs as '%.*s': expected '%s'", c->plugin.name,
                        (int)program.format_size, program.format, requested);
    char *data = fgi_alloc(program.code_size + 1);
    if (!data)
        return fgi_no_memory(err);
    program.code = data;
    const fg_status status = fgi_check(api->PJRT_Executable_OptimizedProgram(&args), &place, err);
    if (status != FG_OK) {
        fgi_free(data);
        return status;
    }
    *out_data = data;
    *out_size = program.code_size;
    return FG_OK;
}

bool fgi_executable_fingerprint(const fgi_executable *executable, char out[FGI_FINGERPRINT_MAX])
{
    const fgi_plugin *plugin = &executable->client->plugin;
    FGI_ARGS(PJRT_Executable_Fingerprint_Args, args, .executable = executable->executable);
    out[0] = '\0';
    if (!FGI_HAS(plugin->api, PJRT_Executable_Fingerprint) ||
        !fgi_ignore(plugin, plugin->api->PJRT_Executable_Fingerprint(&args)))
        return false;
    const unsigned char *bytes = (const unsigned char *)args.executable_fingerprint;
    const size_t room = (FGI_FINGERPRINT_MAX - 1) / 2;
    const size_t size =
        args.executable_fingerprint_size < room ? args.executable_fingerprint_size : room;
    for (size_t i = 0; i < size; i++) {
        static const char digit[] = "0123456789abcdef";
        out[2 * i] = digit[bytes[i] >> 4];
        out[2 * i + 1] = digit[bytes[i] & 15];
    }
    out[2 * size] = '\0';
    return size > 0;
}
