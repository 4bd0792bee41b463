/* block.c - file contents, plain or gzip. Plain files are memory-mapped; gzip files are
 * decompressed into memory that grows with the actual output, regardless of the size in a header.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "input/block.h"

#include <limits.h>
#include <string.h>
#define ZLIB_CONST /* zlib does not modify its input */
#include <zlib.h>
#include "base/alloc.h"
#include "base/error.h"

/* Deflate's maximum compression ratio is 1,032 to 1. */
enum { LARGEST_RATIO = 1032, SMALLEST_ESTIMATE = 4096, BUFFER_BYTES = 1 << 18 };

fg_status fgi_block_alloc(size_t size, fgi_block *out, fg_error *err)
{
    *out = (fgi_block){0};
    if ((out->owned = fgi_alloc_aligned(size)) == NULL)
        return fgi_no_memory(err);
    out->data = out->owned;
    out->size = size;
    return FG_OK;
}

void fgi_block_fini(fgi_block *block)
{
    fgi_free_aligned(block->owned);
    fgi_file_unmap(&block->mapping);
    *block = (fgi_block){0};
}

static void *zlib_alloc(void *self, unsigned count, unsigned size)
{
    return fgi_calloc(count, size);
}

static void zlib_free(void *self, void *block) { fgi_free(block); }

/* A gzip file being decompressed into one growing block, or through a buffer to a file. */
typedef struct inflater {
    z_stream stream;
    const char *name;
    const unsigned char *data;
    size_t size, taken; /* input */
    unsigned char *out;
    size_t made, capacity, limit;
    int to;           /* the file, or -1 */
    uint64_t written; /* to it */
} inflater;

static fg_status fail_at(const inflater *in, const char *what, fg_error *err)
{
    return fgi_fail(err, FG_EFORMAT, "%s: byte %zu: %s", in->name, in->taken, what);
}

/* The last four bytes contain the size: used as the initial guess if deflate can reach it. */
static size_t estimate_size(const unsigned char *data, size_t size, size_t limit)
{
    size_t estimate = SMALLEST_ESTIMATE;
    if (size >= 18) {
        const unsigned char *tail = data + size - 4;
        const size_t claim =
            tail[0] | (size_t)tail[1] << 8 | (size_t)tail[2] << 16 | (size_t)tail[3] << 24;
        if (claim >= size / 2 && claim / LARGEST_RATIO <= size)
            estimate = claim + 1;
    }
    return estimate < limit ? estimate : limit;
}

/* Writes the buffer to the file. */
static fg_status flush(inflater *in, fg_error *err)
{
    const size_t size = in->made;
    in->written += size;
    in->made = 0;
    return fgi_write_all(in->to, "the temporary file of its content", in->out, size, err);
}

static fg_status make_room(inflater *in, fg_error *err)
{
    if (in->made < in->capacity)
        return FG_OK;
    if (in->to >= 0)
        return flush(in, err);
    if (in->capacity >= in->limit)
        return fgi_fail(err, FG_EFORMAT, "%s: byte %zu: decompresses to more than %zu bytes",
                        in->name, in->taken, in->limit);
    size_t requested = in->capacity * 2;
    if (in->capacity == 0)
        requested = estimate_size(in->data, in->size, in->limit);
    if (requested > in->limit)
        requested = in->limit;
    unsigned char *larger = fgi_alloc_aligned(requested);
    if (larger == NULL)
        return fgi_no_memory(err);
    if (in->made > 0)
        memcpy(larger, in->out, in->made);
    fgi_free_aligned(in->out);
    in->out = larger;
    in->capacity = requested;
    return FG_OK;
}

/* One call of inflate with as much data as its 32-bit counters allow. */
static int inflate_some(inflater *in)
{
    const size_t input = in->size - in->taken, room = in->capacity - in->made;
    z_stream *z = &in->stream;
    z->next_in = in->data + in->taken;
    z->avail_in = input > UINT_MAX ? UINT_MAX : (unsigned)input;
    z->next_out = in->out + in->made;
    z->avail_out = room > UINT_MAX ? UINT_MAX : (unsigned)room;
    const int result = inflate(z, Z_NO_FLUSH);
    in->taken = (size_t)(z->next_in - in->data);
    in->made = (size_t)(z->next_out - in->out);
    return result;
}

static fg_status inflate_all(inflater *in, fg_error *err)
{
    for (;;) {
        FGI_TRY(make_room(in, err));
        const int result = inflate_some(in);
        if (result == Z_STREAM_END) {
            if (in->taken == in->size)
                return FG_OK;
            if (inflateReset(&in->stream) != Z_OK) /* another member follows */
                return fgi_fail(err, FG_EINTERNAL, "%s: inflateReset failed", in->name);
        } else if (result == Z_MEM_ERROR) {
            return fgi_no_memory(err);
        } else if (result != Z_OK && result != Z_BUF_ERROR) {
            return fail_at(in, in->stream.msg != NULL ? in->stream.msg : "corrupt gzip data", err);
        } else if (in->taken == in->size && in->made < in->capacity) {
            return fail_at(in, "the gzip file is truncated", err);
        }
    }
}

static fg_status run(inflater *in, fg_error *err)
{
    in->stream.zalloc = zlib_alloc;
    in->stream.zfree = zlib_free;
    if (inflateInit2(&in->stream, 16 + MAX_WBITS) != Z_OK) /* 16: gzip, not zlib */
        return fgi_no_memory(err);
    const fg_status status = inflate_all(in, err);
    (void)inflateEnd(&in->stream);
    return status;
}

fg_status fgi_block_inflate(const char *name, const unsigned char *data, size_t size,
                            size_t limit_bytes, fgi_block *out, fg_error *err)
{
    *out = (fgi_block){0};
    inflater in = {.name = name, .data = data, .size = size, .limit = limit_bytes, .to = -1};
    const fg_status status = run(&in, err);
    if (status == FG_OK)
        *out = (fgi_block){.data = in.out, .size = in.made, .owned = in.out};
    else
        fgi_free_aligned(in.out);
    return status;
}

fg_status fgi_block_open(const char *path, size_t limit_bytes, fgi_block *out, fg_error *err)
{
    *out = (fgi_block){0};
    fgi_mapping mapping;
    FGI_TRY(fgi_file_map(path, &mapping, err));
    if (mapping.size < 2 || mapping.data[0] != 0x1f || mapping.data[1] != 0x8b) {
        *out = (fgi_block){.data = mapping.data, .size = mapping.size, .mapping = mapping};
        return FG_OK;
    }
    const fg_status status =
        fgi_block_inflate(path, mapping.data, mapping.size, limit_bytes, out, err);
    fgi_file_unmap(&mapping);
    return status;
}

fg_status fgi_inflate_file(const char *path, int to, uint64_t *out_size, fg_error *err)
{
    fgi_mapping mapping;
    *out_size = 0;
    FGI_TRY(fgi_file_map(path, &mapping, err));
    inflater in = {.name = path,
                   .data = mapping.data,
                   .size = mapping.size,
                   .out = fgi_alloc_aligned(BUFFER_BYTES),
                   .capacity = BUFFER_BYTES,
                   .to = to};
    fg_status status = in.out != NULL ? run(&in, err) : fgi_no_memory(err);
    if (status == FG_OK)
        status = flush(&in, err);
    *out_size = in.written;
    fgi_free_aligned(in.out);
    fgi_file_unmap(&mapping);
    return status;
}
