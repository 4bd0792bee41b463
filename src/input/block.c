/* block.c - file contents, plain or gzip. Plain files are memory-mapped; gzip files are
 * decompressed into memory that grows with the actual output, regardless of the size in a header.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "input/block.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>
#define ZLIB_CONST /* zlib does not modify its input */
#include <zlib.h>
#include "base/alloc.h"
#include "base/error.h"

/* Deflate's maximum compression ratio is 1,032 to 1. */
enum { LARGEST_RATIO = 1032, SMALLEST_ESTIMATE = 4096 };

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

/* A gzip file being decompressed into one growing block. */
typedef struct inflater {
    z_stream stream;
    const char *name;
    const unsigned char *data;
    size_t size, taken; /* input */
    unsigned char *out;
    size_t made, capacity, limit;
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

static fg_status make_room(inflater *in, fg_error *err)
{
    if (in->made < in->capacity)
        return FG_OK;
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

fg_status fgi_block_inflate(const char *name, const unsigned char *data, size_t size,
                            size_t limit_bytes, fgi_block *out, fg_error *err)
{
    *out = (fgi_block){0};
    inflater in = {.name = name, .data = data, .size = size, .limit = limit_bytes};
    in.stream.zalloc = zlib_alloc;
    in.stream.zfree = zlib_free;
    if (inflateInit2(&in.stream, 16 + MAX_WBITS) != Z_OK) /* 16: gzip, not zlib */
        return fgi_no_memory(err);
    const fg_status status = inflate_all(&in, err);
    (void)inflateEnd(&in.stream);
    if (status != FG_OK) {
        fgi_free_aligned(in.out);
        return status;
    }
    *out = (fgi_block){.data = in.out, .size = in.made, .owned = in.out};
    return FG_OK;
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

/* ---- files ----------------------------------------------------------------------------------- */

/* A gzip file being decompressed to another one, a buffer at a time. */
typedef struct file_inflater {
    z_stream stream;
    int from, to;
    const char *path;
    uint64_t taken, made;
    unsigned char in[1 << 16], out[1 << 18];
} file_inflater;

/* More input; *out_end: there is none. */
static fg_status refill(file_inflater *f, bool *out_end, fg_error *err)
{
    ssize_t got;
    do
        got = read(f->from, f->in, sizeof(f->in));
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return fgi_fail_errno(err, "read", f->path);
    *out_end = got == 0;
    f->taken += (uint64_t)got;
    f->stream.next_in = f->in;
    f->stream.avail_in = (unsigned)got;
    return FG_OK;
}

/* One call of inflate, whose output is written. If it fills the buffer, there may be more. */
static fg_status inflate_part(file_inflater *f, int *out_result, fg_error *err)
{
    z_stream *z = &f->stream;
    z->next_out = f->out;
    z->avail_out = sizeof(f->out);
    *out_result = inflate(z, Z_NO_FLUSH);
    if (*out_result == Z_MEM_ERROR)
        return fgi_no_memory(err);
    if (*out_result != Z_OK && *out_result != Z_STREAM_END && *out_result != Z_BUF_ERROR)
        return fgi_fail(err, FG_EFORMAT, "%s: byte %" PRIu64 ": %s", f->path,
                        f->taken - z->avail_in, z->msg != NULL ? z->msg : "corrupt gzip data");
    const size_t size = sizeof(f->out) - z->avail_out;
    f->made += size;
    return fgi_write_all(f->to, "the temporary file of its content", f->out, size, err);
}

static fg_status inflate_members(file_inflater *f, fg_error *err)
{
    bool is_end = false, is_inside = true;
    int result = Z_OK;
    for (;;) {
        if (f->stream.avail_in == 0)
            FGI_TRY(refill(f, &is_end, err));
        if (is_end)
            break;
        if (!is_inside && inflateReset(&f->stream) != Z_OK) /* another member follows */
            return fgi_fail(err, FG_EINTERNAL, "%s: inflateReset failed", f->path);
        do
            FGI_TRY(inflate_part(f, &result, err));
        while (result == Z_OK && f->stream.avail_out == 0);
        is_inside = result != Z_STREAM_END;
    }
    return is_inside ? fgi_fail(err, FG_EFORMAT, "%s: byte %" PRIu64 ": the gzip file is truncated",
                                f->path, f->taken)
                     : FG_OK;
}

fg_status fgi_inflate_file(int from, const char *path, int to, uint64_t *out_size, fg_error *err)
{
    *out_size = 0;
    file_inflater *f = fgi_calloc(1, sizeof(*f));
    if (f == NULL)
        return fgi_no_memory(err);
    f->from = from;
    f->to = to;
    f->path = path;
    f->stream.zalloc = zlib_alloc;
    f->stream.zfree = zlib_free;
    fg_status status = FG_ENOMEM;
    if (inflateInit2(&f->stream, 16 + MAX_WBITS) != Z_OK)
        status = fgi_no_memory(err);
    else
        status = inflate_members(f, err);
    (void)inflateEnd(&f->stream);
    *out_size = f->made;
    fgi_free(f);
    return status;
}
