/* fake_run.c - compiled programs of the fake plugin: queries, serialization and execution.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <time.h>

/* ---- making ---------------------------------------------------------------------------------- */

static PJRT_LoadedExecutable *loaded_create(program *take_p)
{
    PJRT_LoadedExecutable *loaded = calloc(1, sizeof *loaded);
    if (!loaded)
        abort();
    loaded->program = take_p;
    return loaded;
}

PJRT_Error *fake_compile(PJRT_Client_Compile_Args *args)
{
    FAKE_CHECK(args, PJRT_Client_Compile_Args);
    FAKE_CHECK(args->program, PJRT_Program);
    const int code = fake_fault("compile");
    const struct timespec takes = {.tv_sec = fake_get("compile_ms") / 1000,
                                   .tv_nsec = fake_get("compile_ms") % 1000 * 1000000};
    (void)nanosleep(&takes, NULL);
    if (code)
        return fake_error(code, "the compiler %s", code == 8 ? "ran out of memory" : "gave up");
    PJRT_Error *error;
    program *p = program_create(args->client, args->program->code, args->program->code_size,
                                args->compile_options, args->compile_options_size, &error);
    if (!p)
        return error;
    fake_count("compiles", 1);
    args->executable = loaded_create(p);
    return NULL;
}

PJRT_Error *fake_compile_only(PJRT_Compile_Args *args)
{
    FAKE_CHECK(args, PJRT_Compile_Args);
    FAKE_CHECK(args->program, PJRT_Program);
    if (fake_get("compile_signal"))
        raise((int)fake_get("compile_signal"));
    usleep((useconds_t)fake_get("compile_wait_ms") * 1000);
    const int code = fake_fault("compile");
    if (code)
        return fake_error(code, "the compiler %s", code == 8 ? "ran out of memory" : "gave up");
    PJRT_Error *error;
    program *p = program_create(NULL, args->program->code, args->program->code_size,
                                args->compile_options, args->compile_options_size, &error);
    if (!p)
        return error;
    fake_count("compiles", 1);
    args->executable = calloc(1, sizeof *args->executable);
    if (!args->executable)
        abort();
    args->executable->program = p;
    return NULL;
}

PJRT_Error *fake_replica_count(PJRT_Executable_NumReplicas_Args *args)
{
    FAKE_CHECK(args, PJRT_Executable_NumReplicas_Args);
    args->num_replicas = 1;
    return NULL;
}

PJRT_Error *fake_partition_count(PJRT_Executable_NumPartitions_Args *args)
{
    FAKE_CHECK(args, PJRT_Executable_NumPartitions_Args);
    args->num_partitions = (size_t)args->executable->program->partition_count;
    return NULL;
}

/* Its own text, under the name of XLA's format. */
/* The program's text; if $FAKEPJRT_HLO is set, the bytes of that file: a program optimized by
 * another compiler. */
PJRT_Error *fake_optimized(PJRT_Executable_OptimizedProgram_Args *args)
{
    static const char format[] = "hlo_with_config";
    static char recorded[1 << 20];
    FAKE_CHECK(args, PJRT_Executable_OptimizedProgram_Args);
    const program *p = args->executable->program;
    const char *code = p->text, *path = getenv("FAKEPJRT_HLO");
    size_t size = p->text_size;
    FILE *file = path && *path ? fopen(path, "rb") : NULL;
    if (file) {
        size = fread(recorded, 1, sizeof recorded, file);
        code = recorded;
        fclose(file);
    }
    args->program->format = format;
    args->program->format_size = sizeof format - 1;
    args->program->code_size = size;
    if (args->program->code)
        memcpy(args->program->code, code, size);
    return NULL;
}

PJRT_Error *fake_fingerprint(PJRT_Executable_Fingerprint_Args *args)
{
    FAKE_CHECK(args, PJRT_Executable_Fingerprint_Args);
    args->executable_fingerprint = "\x01\xab";
    args->executable_fingerprint_size = 2;
    return NULL;
}

PJRT_Error *fake_get_executable(PJRT_LoadedExecutable_GetExecutable_Args *args)
{
    FAKE_CHECK(args, PJRT_LoadedExecutable_GetExecutable_Args);
    args->executable = calloc(1, sizeof *args->executable);
    if (!args->executable)
        abort();
    args->executable->program = program_retain(args->loaded_executable->program);
    return NULL;
}

PJRT_Error *fake_loaded_destroy(PJRT_LoadedExecutable_Destroy_Args *args)
{
    FAKE_CHECK(args, PJRT_LoadedExecutable_Destroy_Args);
    if (args->executable)
        program_release(args->executable->program);
    free(args->executable);
    return NULL;
}

PJRT_Error *fake_executable_destroy(PJRT_Executable_Destroy_Args *args)
{
    FAKE_CHECK(args, PJRT_Executable_Destroy_Args);
    if (args->executable)
        program_release(args->executable->program);
    free(args->executable);
    return NULL;
}

/* ---- queries --------------------------------------------------------------------------------- */

PJRT_Error *fake_program_devices(PJRT_LoadedExecutable_AddressableDevices_Args *args)
{
    FAKE_CHECK(args, PJRT_LoadedExecutable_AddressableDevices_Args);
    args->addressable_devices = args->executable->program->device;
    args->num_addressable_devices = (size_t)args->executable->program->device_count;
    return NULL;
}

PJRT_Error *fake_output_count(PJRT_Executable_NumOutputs_Args *args)
{
    FAKE_CHECK(args, PJRT_Executable_NumOutputs_Args);
    args->num_outputs = args->executable->program->output_count;
    return NULL;
}

PJRT_Error *fake_output_types(PJRT_Executable_OutputElementTypes_Args *args)
{
    FAKE_CHECK(args, PJRT_Executable_OutputElementTypes_Args);
    const int code = (int)fake_get("output_types_error");
    if (code)
        return fake_error(code, "the types are secret");
    args->output_types = args->executable->program->output_types;
    args->num_output_types = args->executable->program->output_count;
    return NULL;
}

PJRT_Error *fake_output_dims(PJRT_Executable_OutputDimensions_Args *args)
{
    FAKE_CHECK(args, PJRT_Executable_OutputDimensions_Args);
    args->num_outputs = args->executable->program->output_count;
    args->dims = args->executable->program->output_dims;
    args->dim_sizes = args->executable->program->output_ranks;
    return NULL;
}

PJRT_Error *fake_memory_of_program(PJRT_Executable_GetCompiledMemoryStats_Args *args)
{
    FAKE_CHECK(args, PJRT_Executable_GetCompiledMemoryStats_Args);
    if (fake_get("cost_error"))
        return fake_error((int)fake_get("cost_error"), "nobody counted");
    const program *p = args->executable->program;
    for (size_t i = 0; i < p->argument_count; i++) {
        const int64_t size = (int64_t)shape_bytes(&p->arguments[i].shape);
        args->argument_size_in_bytes += size;
        if (p->arguments[i].alias >= 0)
            args->alias_size_in_bytes += size;
    }
    for (size_t i = 0; i < p->output_count; i++)
        args->output_size_in_bytes += (int64_t)shape_bytes(&p->outputs[i]);
    args->peak_memory_in_bytes =
        args->argument_size_in_bytes + args->output_size_in_bytes - args->alias_size_in_bytes;
    return NULL;
}

PJRT_Error *fake_cost(PJRT_Executable_GetCostAnalysis_Args *args)
{
    FAKE_CHECK(args, PJRT_Executable_GetCostAnalysis_Args);
    if (fake_get("cost_error"))
        return fake_error((int)fake_get("cost_error"), "nobody counted");
    args->num_properties = 2;
    args->properties = args->executable->program->cost;
    return NULL;
}

/* ---- serialized form: "FAKE N id id ...\n" and the text -------------------------------------- */

struct PJRT_SerializedExecutable {
    char *data;
};

static void serialized_free(PJRT_SerializedExecutable *serialized)
{
    free(serialized->data);
    free(serialized);
}

PJRT_Error *fake_serialize(PJRT_Executable_Serialize_Args *args)
{
    FAKE_CHECK(args, PJRT_Executable_Serialize_Args);
    const program *p = args->executable->program;
    if (fake_get("serialize_error"))
        return fake_error((int)fake_get("serialize_error"), "this program cannot be written down");
    PJRT_SerializedExecutable *serialized = calloc(1, sizeof *serialized);
    const size_t room = p->text_size + 32 + (size_t)p->partition_count * 8;
    if (!serialized || !(serialized->data = calloc(1, room)))
        abort();
    size_t used = (size_t)snprintf(serialized->data, room, "FAKE %d", p->partition_count);
    for (int i = 0; i < p->partition_count; i++)
        used += (size_t)snprintf(serialized->data + used, room - used, " %d", p->partition_id[i]);
    used += (size_t)snprintf(serialized->data + used, room - used, "\n%s", p->text);
    args->serialized_bytes = serialized->data;
    args->serialized_bytes_size = used;
    args->serialized_executable = serialized;
    args->serialized_executable_deleter = serialized_free;
    return NULL;
}

/* Reads the first line; false if it is not ours or names a device that does not exist. */
static bool read_devices(program *p, const char *line)
{
    int count = 0, used = 0;
    if (sscanf(line, "FAKE %d%n", &count, &used) != 1)
        return false;
    for (int i = 0; i < count; i++) {
        int id = -1, more = 0;
        if (sscanf(line + used, " %d%n", &id, &more) != 1 || !program_assign(p, id))
            return false;
        used += more;
    }
    return p->device_count > 0;
}

PJRT_Error *fake_deserialize(PJRT_Executable_DeserializeAndLoad_Args *args)
{
    FAKE_CHECK(args, PJRT_Executable_DeserializeAndLoad_Args);
    if (fake_get("deserialize_error"))
        return fake_error((int)fake_get("deserialize_error"), "from another world");
    const char *data = args->serialized_executable;
    const char *end = memchr(data, '\n', args->serialized_executable_size);
    if (!end)
        return fake_error(PJRT_Error_Code_INTERNAL, "not a program of this plugin");
    PJRT_Error *error;
    program *p = program_create(args->client, end + 1,
                                args->serialized_executable_size - (size_t)(end + 1 - data), NULL,
                                0, &error);
    if (!p)
        return error;
    if (!read_devices(p, data)) {
        program_release(p);
        return fake_error(PJRT_Error_Code_INTERNAL, "for devices that are not here");
    }
    args->loaded_executable = loaded_create(p);
    return NULL;
}

/* ---- running --------------------------------------------------------------------------------- */

static PJRT_Error *check_arguments(const program *p, const PJRT_LoadedExecutable_Execute_Args *args)
{
    if (args->num_devices != (size_t)p->device_count || args->num_args != p->argument_count)
        return fake_error(PJRT_Error_Code_INVALID_ARGUMENT, "%zu devices, %zu arguments; %d, %zu",
                          args->num_devices, args->num_args, p->device_count, p->argument_count);
    for (size_t d = 0; d < args->num_devices; d++) {
        for (size_t i = 0; i < args->num_args; i++) {
            PJRT_Buffer *b = args->argument_lists[d][i];
            if (b->device != p->device[d])
                return fake_error(PJRT_Error_Code_INVALID_ARGUMENT, "argument %zu: device", i);
            bytes *data = buffer_data(b);
            bytes_release(data);
            if (!data)
                return fake_error(PJRT_Error_Code_INVALID_ARGUMENT,
                                  "buffer has been deleted or donated");
            if (shape_bytes(&b->shape) != shape_bytes(&p->arguments[i].shape))
                return fake_error(PJRT_Error_Code_INVALID_ARGUMENT, "argument %zu: size", i);
            for (size_t k = 0; k < i; k++) {
                if (args->argument_lists[d][k] == b &&
                    (p->arguments[k].is_donated || p->arguments[i].is_donated))
                    return fake_error(PJRT_Error_Code_INVALID_ARGUMENT, "f(donate(a), a)");
            }
        }
    }
    return NULL;
}

static size_t new_bytes(const program *p)
{
    size_t size = 0;
    for (size_t i = 0; i < p->output_count; i++)
        size += shape_bytes(&p->outputs[i]);
    for (size_t i = 0; i < p->argument_count; i++) {
        if (p->arguments[i].alias >= 0)
            size -= shape_bytes(&p->arguments[i].shape);
    }
    return size * (size_t)p->device_count;
}

/* `by` is the run that they go to; NULL when there is none. */
static void consume(const program *p, PJRT_Buffer *const *arguments, state *by)
{
    for (size_t i = 0; i < p->argument_count; i++) {
        if (!p->arguments[i].is_donated)
            continue;
        bytes_release(buffer_donate(arguments[i]));
        arguments[i]->taken_by = by ? state_retain(by) : NULL;
    }
}

/* The output's memory: an argument's that it aliases, or zeros. */
static bytes *output_data(const program *p, PJRT_Buffer *const *arguments, size_t output)
{
    for (size_t i = 0; i < p->argument_count; i++) {
        if (p->arguments[i].alias == (int)output) {
            bytes *data = buffer_donate(arguments[i]);
            if (data && !data->is_external)
                return data;
            bytes *copy = bytes_create(shape_bytes(&p->outputs[output]));
            if (data)
                memcpy(copy->at, data->at, copy->size);
            bytes_release(data); /* memory that is not ours is never written */
            return copy;
        }
    }
    return bytes_create(shape_bytes(&p->outputs[output]));
}

/* Arguments that are memory of the host stay in use until the run has ended, as on a CPU. */
static void keep_host_memory(task *t, const program *p, PJRT_Buffer *const *arguments)
{
    t->kept = calloc(p->argument_count + 1, sizeof(bytes *));
    if (!t->kept)
        abort();
    for (size_t i = 0; i < p->argument_count; i++) {
        bytes *data = buffer_data(arguments[i]);
        if (data && data->is_external)
            t->kept[t->kept_count++] = data;
        else
            bytes_release(data);
    }
}

/* One device's run: all outputs and the event of its end share one state. */
static void run_on(const program *p, const PJRT_LoadedExecutable_Execute_Args *args, size_t d,
                   int late_code)
{
    PJRT_Buffer *const *arguments = args->argument_lists[d];
    state *done = state_create();
    task *t = task_create(p->argument_count, 1);
    for (size_t i = 0; i < p->argument_count; i++)
        task_input(t, arguments[i]->ready);
    task_output(t, done);
    t->busy_ms = d == 0 ? fake_get("device_ms") : 0;
    keep_host_memory(t, p, arguments);
    if (late_code) {
        t->code = late_code;
        strcpy(t->message, "a cosmic ray");
    }
    for (size_t i = 0; i < p->output_count; i++)
        args->output_lists[d][i] = buffer_create(p->client, p->device[d], &p->outputs[i],
                                                 output_data(p, arguments, i), done);
    consume(p, arguments, done);
    if (args->device_complete_events)
        args->device_complete_events[d] = event_create(done);
    task_submit(p->client, t);
    state_release(done);
}

PJRT_Error *fake_execute(PJRT_LoadedExecutable_Execute_Args *args)
{
    FAKE_CHECK(args, PJRT_LoadedExecutable_Execute_Args);
    FAKE_CHECK(args->options, PJRT_ExecuteOptions);
    const program *p = args->executable->program;
    PJRT_Error *error = check_arguments(p, args);
    if (!error)
        error = fake_reserve(new_bytes(p));
    if (error)
        return error;
    fake_count("executions", 1);
    const int code = fake_fault("execute");
    if (code) { /* as with a real plugin, what was donated is lost */
        for (size_t d = 0; d < args->num_devices; d++)
            consume(p, args->argument_lists[d], NULL);
        return fake_error(code, "the device caught fire");
    }
    const int late_code = fake_fault("execute_late");
    for (size_t d = 0; d < args->num_devices; d++)
        run_on(p, args, d, late_code);
    return NULL;
}
