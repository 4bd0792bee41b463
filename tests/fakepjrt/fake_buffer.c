/* fake_buffer.c - the fake plugin's device memory: ordinary memory, counted and limited.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

#include <stdlib.h>
#include <string.h>

bytes *bytes_create(size_t size)
{
    bytes *b = calloc(1, sizeof *b);
    if (!b || !(b->at = calloc(1, size + 1)))
        abort();
    atomic_init(&b->references, 1);
    b->size = size;
    fake_count("bytes", (long)size);
    return b;
}

bytes *bytes_retain(bytes *b)
{
    atomic_fetch_add(&b->references, 1);
    return b;
}

void bytes_release(bytes *b)
{
    if (!b || atomic_fetch_sub(&b->references, 1) != 1)
        return;
    if (!b->is_external) {
        free(b->at);
        fake_count("bytes", -(long)b->size);
    }
    if (b->freed) {
        state_complete(b->freed, 0, "");
        state_release(b->freed);
    }
    free(b);
}

size_t shape_bytes(const shape *s)
{
    static const unsigned char sizes[] = {0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2};
    size_t size = (size_t)s->type < sizeof sizes ? sizes[s->type] : 0;
    for (size_t i = 0; i < s->rank; i++)
        size *= (size_t)s->dim[i];
    return size;
}

PJRT_Error *fake_reserve(size_t more)
{
    const long limit = fake_get("memory_limit_bytes");
    if (limit > 0 && fake_get("bytes") + (long)more > limit)
        return fake_error(PJRT_Error_Code_RESOURCE_EXHAUSTED, "Out of memory allocating %zu bytes.",
                          more);
    return NULL;
}

PJRT_Buffer *buffer_create(PJRT_Client *client, PJRT_Device *device, const shape *s, bytes *data,
                           state *ready)
{
    PJRT_Buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer || pthread_mutex_init(&buffer->mutex, NULL) != 0)
        abort();
    buffer->client = client;
    buffer->device = device;
    buffer->shape = *s;
    buffer->data = data;
    buffer->ready = state_retain(ready);
    fake_count("buffers", 1);
    return buffer;
}

bytes *buffer_donate(PJRT_Buffer *buffer)
{
    pthread_mutex_lock(&buffer->mutex);
    bytes *data = buffer->data;
    buffer->data = NULL;
    pthread_mutex_unlock(&buffer->mutex);
    return data;
}

/* The bytes with a reference for the caller, or NULL. */
bytes *buffer_data(PJRT_Buffer *buffer)
{
    pthread_mutex_lock(&buffer->mutex);
    bytes *data = buffer->data ? bytes_retain(buffer->data) : NULL;
    pthread_mutex_unlock(&buffer->mutex);
    return data;
}

PJRT_Error *fake_buffer_destroy(PJRT_Buffer_Destroy_Args *args)
{
    FAKE_CHECK(args, PJRT_Buffer_Destroy_Args);
    if (!args->buffer)
        return NULL;
    if (args->buffer->taken_by) { /* as XLA's CPU plugin does */
        state_wait(args->buffer->taken_by);
        state_release(args->buffer->taken_by);
    }
    bytes_release(args->buffer->data);
    state_release(args->buffer->ready);
    pthread_mutex_destroy(&args->buffer->mutex);
    free(args->buffer);
    fake_count("buffers", -1);
    return NULL;
}

PJRT_Error *fake_buffer_is_deleted(PJRT_Buffer_IsDeleted_Args *args)
{
    FAKE_CHECK(args, PJRT_Buffer_IsDeleted_Args);
    pthread_mutex_lock(&args->buffer->mutex);
    args->is_deleted = args->buffer->data == NULL;
    pthread_mutex_unlock(&args->buffer->mutex);
    return NULL;
}

PJRT_Error *fake_buffer_ready_event(PJRT_Buffer_ReadyEvent_Args *args)
{
    FAKE_CHECK(args, PJRT_Buffer_ReadyEvent_Args);
    const int code = fake_fault("ready");
    if (code)
        return fake_error(code, "no event for this buffer");
    args->event = event_create(args->buffer->ready);
    return NULL;
}

/* Sets up the bytes, the copy if there is one, and the end of the plugin's use of the data. */
static bytes *place_data(const PJRT_Client_BufferFromHostBuffer_Args *args, size_t size, task *t,
                         state *done)
{
    const bool is_aliased =
        args->host_buffer_semantics == PJRT_HostBufferSemantics_kImmutableZeroCopy ||
        args->host_buffer_semantics == PJRT_HostBufferSemantics_kMutableZeroCopy;
    if (is_aliased) {
        bytes *b = calloc(1, sizeof *b);
        if (!b)
            abort();
        atomic_init(&b->references, 1);
        memcpy(&b->at, &args->data, sizeof b->at);
        b->size = size;
        b->is_external = true;
        b->freed = state_retain(done);
        return b;
    }
    bytes *b = bytes_create(size);
    if (args->host_buffer_semantics == PJRT_HostBufferSemantics_kImmutableOnlyDuringCall) {
        memcpy(b->at, args->data, size);
        state_complete(done, 0, "");
    } else {
        t->to = b->at;
        t->from = args->data;
        t->size = size;
        t->hold[0] = bytes_retain(b);
        task_output(t, done);
    }
    return b;
}

PJRT_Error *fake_buffer_from_host(PJRT_Client_BufferFromHostBuffer_Args *args)
{
    FAKE_CHECK(args, PJRT_Client_BufferFromHostBuffer_Args);
    shape s = {.type = args->type, .rank = args->num_dims};
    if (args->num_dims > RANK_MAX || args->num_byte_strides != 0)
        return fake_error(PJRT_Error_Code_UNIMPLEMENTED, "rank or strides of the upload");
    if (args->num_dims > 0)
        memcpy(s.dim, args->dims, args->num_dims * sizeof s.dim[0]);
    const size_t size = shape_bytes(&s);
    int code = fake_fault("upload");
    PJRT_Error *error = code ? fake_error(code, "the bus is on strike") : fake_reserve(size);
    if (error)
        return error;
    state *ready = state_create(), *done = state_create();
    task *t = task_create(0, 2);
    t->more_ms = s.rank >= 2 ? fake_get("upload_ms") : 0;
    code = fake_fault("upload_late");
    if (code) {
        t->code = code;
        strcpy(t->message, "the bus broke down on the way");
    }
    task_output(t, ready);
    bytes *data = place_data(args, size, t, done);
    args->buffer = buffer_create(args->client, args->device, &s, data, ready);
    args->done_with_host_buffer = event_create(done);
    task_submit(args->client, t);
    state_release(ready);
    state_release(done);
    return NULL;
}

static bool is_row_major(const PJRT_Buffer_MemoryLayout *layout, size_t rank)
{
    if (!layout || layout->type != PJRT_Buffer_MemoryLayout_Type_Tiled ||
        layout->tiled.minor_to_major_size != rank || layout->tiled.num_tiles != 0)
        return false;
    for (size_t i = 0; i < rank; i++) {
        if (layout->tiled.minor_to_major[i] != (int64_t)(rank - 1 - i))
            return false;
    }
    return true;
}

PJRT_Error *fake_buffer_to_host(PJRT_Buffer_ToHostBuffer_Args *args)
{
    FAKE_CHECK(args, PJRT_Buffer_ToHostBuffer_Args);
    const size_t size = shape_bytes(&args->src->shape);
    int code = fake_fault("download");
    if (code)
        return fake_error(code, "the bus is on strike");
    if (!is_row_major(args->host_layout, args->src->shape.rank))
        return fake_error(PJRT_Error_Code_UNIMPLEMENTED, "a layout other than row-major");
    if (args->dst_size < size)
        return fake_error(PJRT_Error_Code_INVALID_ARGUMENT, "room for %zu bytes, %zu needed",
                          args->dst_size, size);
    bytes *data = buffer_data(args->src);
    if (!data)
        return fake_error(PJRT_Error_Code_INVALID_ARGUMENT, "buffer has been deleted or donated");
    state *done = state_create();
    task *t = task_create(1, 1);
    t->more_ms = fake_get("download_ms");
    task_input(t, args->src->ready);
    task_output(t, done);
    t->to = args->dst;
    t->from = data->at;
    t->size = size;
    t->hold[0] = data;
    code = fake_fault("download_late");
    if (code) {
        t->code = code;
        strcpy(t->message, "the bus broke down on the way");
    }
    args->event = event_create(done);
    task_submit(args->src->client, t);
    state_release(done);
    return NULL;
}
