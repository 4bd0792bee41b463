/* array.c - arrays on devices: uploading, reading back, reference counts.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdint.h>

#include "base/reserved.h"
#include "base/thread.h"
#include "pjrt/plugin.h"

/* ---- dtypes ---------------------------------------------------------------------------------- */

static const struct {
    fg_dtype ours;
    PJRT_Buffer_Type theirs;
} dtypes[] = {
    {FG_BOOL, PJRT_Buffer_Type_PRED}, {FG_U8, PJRT_Buffer_Type_U8},
    {FG_S8, PJRT_Buffer_Type_S8},     {FG_U16, PJRT_Buffer_Type_U16},
    {FG_S16, PJRT_Buffer_Type_S16},   {FG_U32, PJRT_Buffer_Type_U32},
    {FG_S32, PJRT_Buffer_Type_S32},   {FG_U64, PJRT_Buffer_Type_U64},
    {FG_S64, PJRT_Buffer_Type_S64},   {FG_BF16, PJRT_Buffer_Type_BF16},
    {FG_F16, PJRT_Buffer_Type_F16},   {FG_F32, PJRT_Buffer_Type_F32},
    {FG_F64, PJRT_Buffer_Type_F64},
};
enum { DTYPES = sizeof dtypes / sizeof dtypes[0] };

PJRT_Buffer_Type fgi_dtype_to_pjrt(fg_dtype dtype)
{
    for (int i = 0; i < DTYPES; i++) {
        if (dtypes[i].ours == dtype)
            return dtypes[i].theirs;
    }
    return PJRT_Buffer_Type_INVALID;
}

fg_dtype fgi_dtype_from_pjrt(PJRT_Buffer_Type type)
{
    for (int i = 0; i < DTYPES; i++) {
        if (dtypes[i].theirs == type)
            return dtypes[i].ours;
    }
    return FG_DTYPE_NONE;
}

/* ---- handles --------------------------------------------------------------------------------- */

fg_array *fgi_array_new(fg_client *client, const fg_type *type, const fgi_sharding *sharding)
{
    const size_t count = (size_t)client->info.device_count;
    fg_array *a = fgi_calloc(1, sizeof *a + count * sizeof a->buffer[0]);
    if (!a)
        return NULL;
    a->client = fgi_client_retain(client);
    a->type = *type;
    if (sharding)
        a->sharding = *sharding;
    a->buffer_count = client->info.device_count;
    atomic_init(&a->references, 1);
    return a;
}

fg_array *fg_array_retain(fg_array *array)
{
    (void)atomic_fetch_add_explicit(&array->references, 1, memory_order_relaxed);
    return array;
}

static void array_free(fg_array *array)
{
    const fgi_plugin *plugin = &array->client->plugin;
    for (int i = 0; i < array->buffer_count; i++) {
        if (!array->buffer[i])
            continue;
        FGI_ARGS(PJRT_Buffer_Destroy_Args, args, .buffer = array->buffer[i]);
        (void)fgi_ignore(plugin, plugin->api->PJRT_Buffer_Destroy(&args));
    }
    fgi_client_release(array->client);
    fgi_free(array);
}

/* Destroying a donated buffer waits for the program that consumed it (measured on the CPU plugin:
 * it made every launch wait for the previous one). Such arrays have no device memory, so they are
 * kept until some launches later, in a ring with one list per launch: a launch then visits only one
 * list, regardless of the number of arrays. */
static _Atomic(fg_array *) *donated_list(fg_client *client, int64_t launch)
{
    return &client->donated[launch % FGI_LAUNCHES_KEPT];
}

static void keep_donated(fg_client *client, fg_array *array)
{
    _Atomic(fg_array *) *list = donated_list(client, array->donated_at);
    (void)fgi_client_retain(client);
    array->next = atomic_load(list);
    while (!atomic_compare_exchange_weak(list, &array->next, array))
        ;
    if (atomic_load(&client->is_closed)) /* no other thread still accesses the lists */
        fgi_donated_free(client, true);
    fgi_client_release(client);
}

static void free_list(_Atomic(fg_array *) *list)
{
    const int64_t begin = fgi_plugin_enter();
    fg_array *array = atomic_exchange(list, NULL);
    while (array) {
        fg_array *next = array->next;
        array_free(array);
        array = next;
    }
    fgi_plugin_leave(begin);
}

void fgi_donated_free(fg_client *client, bool all)
{
    /* The list that the next launch will fill contains the arrays of the oldest launch. */
    const int64_t launch = atomic_load_explicit(&client->stats.executions, memory_order_relaxed);
    for (int64_t i = 0; i < (all ? FGI_LAUNCHES_KEPT : 1); i++)
        free_list(donated_list(client, launch + i));
}

void fg_array_release(fg_array *array)
{
    if (!array || atomic_fetch_sub_explicit(&array->references, 1, memory_order_acq_rel) != 1)
        return;
    if (atomic_load(&array->is_donated)) {
        keep_donated(array->client, array);
        return;
    }
    const int64_t begin = fgi_plugin_enter();
    array_free(array);
    fgi_plugin_leave(begin);
}

const fgi_sharding *fgi_array_sharding(const fg_array *array) { return &array->sharding; }

const fg_type *fg_array_type(const fg_array *array) { return &array->type; }

fg_client *fg_array_client(const fg_array *array) { return array->client; }

bool fgi_array_is_donated(const fg_array *array) { return atomic_load(&array->is_donated); }

/* The shard of the array on a device. */
static fgi_shard shard_of(const fg_array *array, int device)
{
    const fgi_mesh *mesh = &array->client->mesh;
    return fgi_sharding_shard(mesh, &array->type, &array->sharding,
                              fgi_mesh_device_number(mesh, device));
}

/* The first device that has the array; -1 if there is none, which is a bug. */
static int first_device(const fg_array *array)
{
    for (int i = 0; i < array->buffer_count; i++) {
        if (array->buffer[i])
            return i;
    }
    return -1;
}

/* Checks whether an array can be read. */
static fg_status check_readable(const fg_array *array, fg_error *err)
{
    char type[96];
    if (array->client->topology)
        return fgi_topology_refuse(array->client, "reading an array", err);
    if (fgi_array_is_donated(array))
        return fgi_fail(err, FG_EINVAL, "array %s was donated to a program and no longer has data",
                        fg_type_format(&array->type, type, sizeof type));
    if (first_device(array) < 0)
        return fgi_fail(err, FG_EINTERNAL, "array %s is not on a device",
                        fg_type_format(&array->type, type, sizeof type));
    return FG_OK;
}

/* ---- uploading ------------------------------------------------------------------------------- */

static fg_status check_type(const fg_type *type, const void *data, fg_error *err)
{
    if (fg_dtype_size(type->dtype) == 0 || type->rank < 0 || type->rank > FG_MAX_RANK)
        return fgi_fail(err, FG_EINVAL, "an array requires a dtype and 0 to %d dimensions",
                        FG_MAX_RANK);
    int64_t bytes = (int64_t)fg_dtype_size(type->dtype);
    bool is_empty = false;
    for (int i = 0; i < type->rank; i++) {
        if (type->dim[i] < 0)
            return fgi_fail(err, FG_EINVAL,
                            "dimension %d of an array is %" PRId64 ": expected 0 or more", i,
                            type->dim[i]);
        is_empty = is_empty || type->dim[i] == 0;
        if (!is_empty && __builtin_mul_overflow(bytes, type->dim[i], &bytes))
            return fgi_fail(err, FG_EINVAL, "an array of this shape has too many bytes");
    }
    if (!data && !is_empty)
        return fgi_fail(err, FG_EINVAL, "the data of the array is NULL");
    return FG_OK;
}

static PJRT_HostBufferSemantics semantics(const fg_client *client, fgi_upload_mode mode,
                                          const void *data)
{
    if (mode == FGI_UPLOAD_COPY)
        return PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
    if (client->platform == FGI_CPU && (uintptr_t)data % 64 == 0)
        return PJRT_HostBufferSemantics_kImmutableZeroCopy;
    return PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes;
}

/* Uploads the shard of a device; the event for when the plugin no longer uses `data` is added to
 * `events`. */
static fg_status upload_to(fg_array *array, int device, const void *data, fgi_upload_mode mode,
                           fgi_event *events, fg_error *err)
{
    static const char nothing[64] = {0};
    fg_client *c = array->client;
    const PJRT_Api *api = c->plugin.api;
    const fgi_shard shard = shard_of(array, device);
    const char *from = data ? (const char *)data + shard.offset : nothing;
    FGI_ARGS(PJRT_Client_BufferFromHostBuffer_Args, args, .client = c->client, .data = from,
             .type = fgi_dtype_to_pjrt(array->type.dtype), .dims = shard.type.dim,
             .num_dims = (size_t)array->type.rank,
             .byte_strides = shard.is_dense ? NULL : shard.stride,
             .num_byte_strides = shard.is_dense ? 0 : (size_t)array->type.rank,
             .host_buffer_semantics = semantics(c, shard.is_dense ? mode : FGI_UPLOAD_COPY, from),
             .device = c->devices[device].device);
    const char *label = c->devices[device].label;
    const fgi_pjrt_call place = {c, label, "uploading an array", FG_EDEVICE};
    const int64_t begin = fgi_plugin_enter();
    PJRT_Error *error = api->PJRT_Client_BufferFromHostBuffer(&args);
    fgi_plugin_leave(begin);
    FGI_TRY(fgi_check(error, &place, err));
    array->buffer[device] = args.buffer;
    const int64_t bytes = (int64_t)fg_type_bytes(&shard.type);
    (void)atomic_fetch_add(&c->stats.uploaded_bytes, bytes);
    if (args.host_buffer_semantics == PJRT_HostBufferSemantics_kImmutableZeroCopy)
        (void)atomic_fetch_add(&c->stats.in_place_bytes, bytes);
    if (events) {
        fgi_event_add(events, args.done_with_host_buffer, label);
        return FG_OK;
    }
    FGI_ARGS(PJRT_Event_Destroy_Args, destroy, .event = args.done_with_host_buffer);
    return fgi_check(api->PJRT_Event_Destroy(&destroy), &place, err);
}

fg_status fgi_array_upload(fg_client *client, const fg_type *type, const fgi_sharding *sharding,
                           const void *data, fgi_upload_mode mode, fg_array **out,
                           fgi_event **out_host_done, fg_error *err)
{
    *out = NULL;
    if (out_host_done)
        *out_host_done = NULL;
    if ((mode == FGI_UPLOAD_ASYNC) != (out_host_done != NULL))
        return fgi_fail(err, FG_EINVAL, "the upload must be asynchronous to return an event");
    FGI_TRY(check_type(type, data, err));
    FGI_TRY(fgi_sharding_check(&client->mesh, type, sharding, err));
    fgi_event *events = NULL;
    fg_status status = FG_OK;
    fg_array *array = fgi_array_new(client, type, sharding);
    if (mode == FGI_UPLOAD_ASYNC)
        events = fgi_event_create(client, "uploading an array", client->info.device_count);
    if (!array || (mode == FGI_UPLOAD_ASYNC && !events))
        status = fgi_no_memory(err);
    /* without devices an array has only a type and a sharding */
    const int copies = client->topology ? 0 : client->info.device_count;
    for (int i = 0; i < copies && status == FG_OK; i++)
        status = upload_to(array, i, data, mode, events, err);
    if (status != FG_OK) {
        fg_array_release(array);
        if (events) /* the caller may free `data` after returning */
            (void)fgi_event_wait(events, NULL);
        fgi_event_destroy(events);
        return status;
    }
    *out = array;
    if (out_host_done)
        *out_host_done = events;
    return FG_OK;
}

fg_status fg_array_create(fg_client *client, const fg_type *type, const void *data, fg_array **out,
                          fg_error *err)
{
    return fgi_array_upload(client, type, NULL, data, FGI_UPLOAD_COPY, out, NULL, err);
}

fg_status fg_array_create_sharded(fg_client *client, const fg_type *type, const void *data,
                                  const fg_array_options *options, fg_array **out, fg_error *err)
{
    fgi_sharding parsed;
    *out = NULL;
    FGI_TRY_RESERVED(fg_array_options, options, err);
    const char *spec = options ? options->spec : NULL;
    FGI_TRY(fgi_sharding_parse(&client->mesh, spec, &parsed, NULL, err));
    return fgi_array_upload(client, type, &parsed, data, FGI_UPLOAD_COPY, out, NULL, err);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Starts the copy of one device's shard; row-major regardless of the device's layout. */
static fg_status start_download(const fg_array *array, int device, const fg_type *shard,
                                void *out_data, PJRT_Event **out_event, fg_error *err)
{
    int64_t minor_to_major[FG_MAX_RANK];
    for (int i = 0; i < array->type.rank; i++)
        minor_to_major[i] = array->type.rank - 1 - i;
    FGI_ARGS(PJRT_Buffer_MemoryLayout, layout, .type = PJRT_Buffer_MemoryLayout_Type_Tiled);
    layout.tiled.struct_size = PJRT_Buffer_MemoryLayout_Tiled_STRUCT_SIZE;
    layout.tiled.minor_to_major = minor_to_major;
    layout.tiled.minor_to_major_size = (size_t)array->type.rank;
    FGI_ARGS(PJRT_Buffer_ToHostBuffer_Args, args, .src = array->buffer[device],
             .host_layout = &layout, .dst = out_data, .dst_size = fg_type_bytes(shard));
    const fg_client *c = array->client;
    const fgi_pjrt_call place = {c, c->devices[device].label, "reading an array", FG_EDEVICE};
    FGI_TRY(fgi_check(c->plugin.api->PJRT_Buffer_ToHostBuffer(&args), &place, err));
    *out_event = args.event;
    return FG_OK;
}

/* A shard that is not contiguous in the whole array is copied through a temporary buffer, and
 * waited for. */
static fg_status download_pieces(const fg_array *array, int device, const fgi_shard *shard,
                                 void *out_data, fg_error *err)
{
    PJRT_Event *event = NULL;
    const size_t size = fg_type_bytes(&shard->type);
    fgi_event *done = fgi_event_create(array->client, "reading an array", 1);
    void *dense = fgi_alloc(size + 1);
    fg_status status = done && dense ? FG_OK : fgi_no_memory(err);
    if (status == FG_OK)
        status = start_download(array, device, &shard->type, dense, &event, err);
    if (status == FG_OK) {
        fgi_event_add(done, event, array->client->devices[device].label);
        status = fgi_event_wait(done, err);
    }
    if (status == FG_OK)
        fgi_shard_scatter(shard, dense, out_data);
    fgi_event_destroy(done);
    fgi_free(dense);
    return status;
}

static fg_status download_shard(const fg_array *array, int device, void *out_data, fgi_event *done,
                                fg_error *err)
{
    PJRT_Event *event = NULL;
    const fgi_shard shard = shard_of(array, device);
    /* a replicated array is read from the first device that has it, which need not be the first of
     * the mesh */
    const bool is_whole = fgi_sharding_is_replicated(&array->sharding);
    if (is_whole ? device != first_device(array) : !shard.is_first)
        return FG_OK;
    if (!shard.is_dense)
        return download_pieces(array, device, &shard, out_data, err);
    FGI_TRY(
        start_download(array, device, &shard.type, (char *)out_data + shard.offset, &event, err));
    fgi_event_add(done, event, array->client->devices[device].label);
    return FG_OK;
}

fg_status fgi_array_download(const fg_array *array, void *out_data, size_t size_bytes,
                             fgi_event **out_done, fg_error *err)
{
    char type[96];
    *out_done = NULL;
    FGI_TRY(check_readable(array, err));
    if (size_bytes != fg_type_bytes(&array->type))
        return fgi_fail(err, FG_EINVAL, "array %s has %zu bytes, but the buffer has %zu",
                        fg_type_format(&array->type, type, sizeof type),
                        fg_type_bytes(&array->type), size_bytes);
    fgi_event *done = fgi_event_create(array->client, "reading an array", array->buffer_count);
    if (!done)
        return fgi_no_memory(err);
    fg_status status = FG_OK;
    for (int d = 0; d < array->buffer_count && status == FG_OK; d++)
        status = download_shard(array, d, out_data, done, err);
    if (status != FG_OK) {
        (void)fgi_event_wait(done, NULL);
        fgi_event_destroy(done);
        return status;
    }
    *out_done = done;
    return FG_OK;
}

fg_status fgi_array_read_as(const fg_array *array, void *out_data, size_t size_bytes,
                            const char *name, fg_error *err)
{
    fgi_event *done;
    const int64_t begin = fgi_now_ns();
    FGI_TRY(fgi_array_download(array, out_data, size_bytes, &done, err));
    (void)atomic_fetch_add(&array->client->stats.host_reads, 1);
    const fg_status status = fgi_event_wait(done, err);
    fgi_event_destroy(done);
    fgi_client_waited(array->client, name, (int64_t)size_bytes, begin);
    return status;
}

fg_status fg_array_read(const fg_array *array, void *out_data, size_t size_bytes, fg_error *err)
{
    return fgi_array_read_as(array, out_data, size_bytes, NULL, err);
}

fg_status fgi_array_ready(const fg_array *array, fgi_event **out, fg_error *err)
{
    *out = NULL;
    FGI_TRY(check_readable(array, err));
    const fg_client *c = array->client;
    fgi_event *event = fgi_event_create(c, "computing an array", array->buffer_count);
    if (!event)
        return fgi_no_memory(err);
    for (int i = 0; i < array->buffer_count; i++) {
        if (!array->buffer[i])
            continue;
        FGI_ARGS(PJRT_Buffer_ReadyEvent_Args, args, .buffer = array->buffer[i]);
        const fgi_pjrt_call place = {c, c->devices[i].label, "computing an array", FG_EDEVICE};
        const fg_status status =
            fgi_check(c->plugin.api->PJRT_Buffer_ReadyEvent(&args), &place, err);
        if (status != FG_OK) {
            fgi_event_destroy(event);
            return status;
        }
        fgi_event_add(event, args.event, c->devices[i].label);
    }
    *out = event;
    return FG_OK;
}

fg_status fg_array_wait(const fg_array *array, fg_error *err)
{
    fgi_event *event;
    const int64_t begin = fgi_now_ns();
    FGI_TRY(fgi_array_ready(array, &event, err));
    const fg_status status = fgi_event_wait(event, err);
    fgi_event_destroy(event);
    fgi_client_waited(array->client, NULL, 0, begin);
    return status;
}
