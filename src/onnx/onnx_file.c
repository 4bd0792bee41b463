/* onnx_file.c - writes the message of a model, piece by piece, because its tensors are borrowed.
 * Those that protobuf's limit does not allow in it are written to a second file next to it. Source:
 * ONNX, "External Data".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/output.h"
#include "base/text.h"
#include "onnx/onnx_graph.h"

typedef Fulgurite__Onnx__Graph message;

/* ---- the message ----------------------------------------------------------------------------- */

typedef struct writer {
    ProtobufCBuffer base;
    int fd;
    const char *path;
    fg_status status;
    fg_error *err;
    size_t kept_size;
    uint8_t kept[1 << 14]; /* small pieces, not written yet */
} writer;

static void put(writer *w, const void *data, size_t size)
{
    if (w->status == FG_OK)
        w->status = fgi_write_all(w->fd, w->path, data, size, w->err);
}

static void flush(writer *w)
{
    put(w, w->kept, w->kept_size);
    w->kept_size = 0;
}

static void take(ProtobufCBuffer *base, size_t size, const uint8_t *data)
{
    writer *w = (writer *)(void *)base;
    if (size > sizeof w->kept - w->kept_size)
        flush(w);
    if (size > sizeof w->kept) {
        put(w, data, size);
        return;
    }
    memcpy(w->kept + w->kept_size, data, size);
    w->kept_size += size;
}

static fg_status put_model(int fd, const char *path, const Fulgurite__Onnx__Model *model,
                           fg_error *err)
{
    writer w = {.base.append = take, .fd = fd, .path = path, .err = err};
    (void)fulgurite__onnx__model__pack_to_buffer(model, &w.base);
    flush(&w);
    return w.status;
}

/* ---- the second file ------------------------------------------------------------------------- */

/* Bytes; tensors below SMALL, such as shapes, remain in the model. */
enum { LIMIT = 2000000000, ALIGNMENT = 4096, SMALL = 1024 };

static size_t size_of_tensors(const message *graph)
{
    size_t size = 0;
    for (size_t i = 0; i < graph->n_initializer; i++)
        size += graph->initializer[i]->raw_data.len;
    return size;
}

static Fulgurite__Onnx__Entry *entry(fgi_arena *arena, const char *key, const char *value)
{
    Fulgurite__Onnx__Entry *e = fgi_arena_alloc(arena, sizeof *e);
    if (e == NULL || value == NULL)
        return NULL;
    fulgurite__onnx__entry__init(e);
    e->key = (char *)key;
    e->value = (char *)value;
    return e;
}

/* Says where the data are, instead of having them. */
static bool refer(fgi_arena *arena, Fulgurite__Onnx__Tensor *t, const char *location, size_t offset)
{
    enum { ENTRIES = 3 };
    t->external_data = fgi_arena_alloc(arena, ENTRIES * sizeof *t->external_data);
    if (t->external_data == NULL)
        return false;
    t->external_data[0] = entry(arena, "location", location);
    t->external_data[1] = entry(arena, "offset", fgi_arena_printf(arena, "%zu", offset));
    t->external_data[2] = entry(arena, "length", fgi_arena_printf(arena, "%zu", t->raw_data.len));
    for (int i = 0; i < ENTRIES; i++)
        if (t->external_data[i] == NULL)
            return false;
    t->n_external_data = ENTRIES;
    t->has_data_location = true;
    t->data_location = 1;
    t->has_raw_data = false;
    return true;
}

static fg_status put_tensors(int fd, const char *path, fgi_arena *arena, message *graph,
                             size_t *out_size, fg_error *err)
{
    static const char gap[ALIGNMENT];
    const char *location = fgi_after_last(path, '/');
    size_t at = 0;
    for (size_t i = 0; i < graph->n_initializer; i++) {
        Fulgurite__Onnx__Tensor *t = graph->initializer[i];
        const size_t filler = (ALIGNMENT - at % ALIGNMENT) % ALIGNMENT;
        if (t->raw_data.len < SMALL)
            continue;
        FGI_TRY(fgi_write_all(fd, path, gap, filler, err));
        FGI_TRY(fgi_write_all(fd, path, t->raw_data.data, t->raw_data.len, err));
        if (!refer(arena, t, location, at + filler))
            return fgi_no_memory(err);
        at += filler + t->raw_data.len;
    }
    *out_size = at;
    return FG_OK;
}

/* Both are complete before one of them gets its name. */
fg_status fgi_onnx_write_files(fgi_arena *arena, Fulgurite__Onnx__Model *model, const char *path,
                               size_t limit_bytes, size_t *out_data_bytes, fg_error *err)
{
    const size_t size = size_of_tensors(model->graph);
    const char *second = fgi_arena_printf(arena, "%s.data", path);
    fgi_output file = {.fd = -1}, data = {.fd = -1};
    fg_status status;
    FGI_DONE(second != NULL ? FG_OK : fgi_no_memory(err));
    FGI_DONE(fgi_output_open(path, &file, err));
    *out_data_bytes = 0;
    if (size > (limit_bytes != 0 ? limit_bytes : LIMIT)) {
        if (file.temporary == NULL)
            FGI_DONE(
                fgi_fail(err, FG_EINVAL,
                         "the tensors have %.1f GB, and more than 2 need a second file next to "
                         "'%s'\nexpected the path of a regular file",
                         (double)size / 1e9, path));
        FGI_DONE(fgi_output_open(second, &data, err));
        FGI_DONE(put_tensors(data.fd, second, arena, model->graph, out_data_bytes, err));
    }
    status = put_model(file.fd, path, model, err);
done:
    status = fgi_output_close(&data, status, err);
    return fgi_output_close(&file, status, err);
}
