/* safetensors_write.c - streams tensors to a file in the safetensors format.
 *
 * The header is built in memory; the tensors' data are written directly from the caller's memory,
 * and their checksum is computed on the way. Order and formatting are those of the safetensors
 * library, so equal tensors give identical bytes with any writer. Nothing is owned after the call.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "ckpt/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "this host is big-endian: tensor files require a little-endian host"
#endif

/* Bytes checksummed and written at a time: small enough to stay in the cache in between. */
enum { PIECE_BYTES = 1 << 20 };

/* The output. */
typedef struct sink {
    int fd;
    const char *path;
    fgi_checksum *checksum;
    uint64_t bytes;
    fg_error *err;
} sink;

static fg_status put(sink *s, const void *data, size_t size)
{
    const char *at = data;
    while (size > 0) {
        const size_t piece = size < PIECE_BYTES ? size : PIECE_BYTES;
        fgi_checksum_add(s->checksum, at, piece);
        FGI_TRY(fgi_write_all(s->fd, s->path, at, piece, s->err));
        s->bytes += piece;
        at += piece;
        size -= piece;
    }
    return FG_OK;
}

static void put_json_string(fgi_buf *out, const char *text)
{
    static const char named[] = "\bb\ff\nn\rr\tt\"\"\\\\";
    fgi_buf_putc(out, '"');
    for (; *text; text++) {
        const char *escape = named;
        while (*escape && *escape != *text)
            escape += 2;
        if (*escape)
            fgi_buf_printf(out, "\\%c", escape[1]);
        else if ((unsigned char)*text < 0x20)
            fgi_buf_printf(out, "\\u%04x", (unsigned char)*text);
        else
            fgi_buf_putc(out, *text);
    }
    fgi_buf_putc(out, '"');
}

static int by_storage(const void *left, const void *right)
{
    const fg_ckpt_tensor *a = *(const fg_ckpt_tensor *const *)left;
    const fg_ckpt_tensor *b = *(const fg_ckpt_tensor *const *)right;
    const int rank_a = fgi_safetensors_dtype_rank(a->type.dtype);
    const int rank_b = fgi_safetensors_dtype_rank(b->type.dtype);
    return rank_a != rank_b ? rank_b - rank_a : strcmp(a->name, b->name);
}

static int by_name(const void *left, const void *right)
{
    const fg_ckpt_tensor *a = *(const fg_ckpt_tensor *const *)left;
    const fg_ckpt_tensor *b = *(const fg_ckpt_tensor *const *)right;
    return strcmp(a->name, b->name);
}

static fg_status check_tensor(const fg_ckpt_tensor *t, const char *path, fg_error *err)
{
    if (!t->name || !*t->name || strcmp(t->name, "__metadata__") == 0 ||
        !fgi_text_is_utf8(fgi_str_of(t->name)))
        return fgi_fail(err, FG_EINVAL, "%s: '%s' is not a valid tensor name", path,
                        t->name ? t->name : "");
    bool is_valid = fgi_safetensors_dtype_name(t->type.dtype) != NULL && t->type.rank >= 0 &&
                    t->type.rank <= FG_MAX_RANK;
    for (int i = 0; is_valid && i < t->type.rank; i++)
        is_valid = t->type.dim[i] >= 0;
    if (!is_valid)
        return fgi_fail(err, FG_EINVAL, "%s: tensor '%s' has an invalid type", path, t->name);
    if (!t->data && fg_type_bytes(&t->type) > 0)
        return fgi_fail(err, FG_EINVAL, "%s: tensor '%s' has no data", path, t->name);
    return FG_OK;
}

/* Fills `order` with the tensors in file order. */
static fg_status sort_tensors(const fg_ckpt_tensor *tensors, size_t count, const char *path,
                              const fg_ckpt_tensor **order, fg_error *err)
{
    for (size_t i = 0; i < count; i++) {
        FGI_TRY(check_tensor(&tensors[i], path, err));
        order[i] = &tensors[i];
    }
    qsort(order, count, sizeof(*order), by_name);
    for (size_t i = 1; i < count; i++)
        if (strcmp(order[i - 1]->name, order[i]->name) == 0)
            return fgi_fail(err, FG_EINVAL, "%s: two tensors are named '%s'", path, order[i]->name);
    qsort(order, count, sizeof(*order), by_storage);
    return FG_OK;
}

static void put_metadata(fgi_buf *out, const char *const *metadata)
{
    fgi_buf_puts(out, "\"__metadata__\":{");
    for (size_t i = 0; metadata[i]; i += 2) {
        if (i > 0)
            fgi_buf_putc(out, ',');
        put_json_string(out, metadata[i]);
        fgi_buf_putc(out, ':');
        put_json_string(out, metadata[i + 1]);
    }
    fgi_buf_puts(out, "}");
}

static void put_entry(fgi_buf *out, const fg_ckpt_tensor *t, uint64_t offset)
{
    put_json_string(out, t->name);
    fgi_buf_printf(out, ":{\"dtype\":\"%s\",\"shape\":[",
                   fgi_safetensors_dtype_name(t->type.dtype));
    for (int i = 0; i < t->type.rank; i++)
        fgi_buf_printf(out, "%s%" PRId64, i > 0 ? "," : "", t->type.dim[i]);
    fgi_buf_printf(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", offset,
                   offset + fg_type_bytes(&t->type));
}

/* The eight bytes of length and the header, padded so that the data start at a multiple of 8. */
static fg_status build_header(const fg_ckpt_tensor *const *order, size_t count, const char *path,
                              const char *const *metadata, fgi_buf *out, fg_error *err)
{
    uint64_t offset = 0;
    fgi_buf_add(out, "\0\0\0\0\0\0\0\0", 8);
    fgi_buf_putc(out, '{');
    if (metadata && metadata[0])
        put_metadata(out, metadata);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 || (metadata && metadata[0]))
            fgi_buf_putc(out, ',');
        put_entry(out, order[i], offset);
        offset += fg_type_bytes(&order[i]->type);
    }
    fgi_buf_putc(out, '}');
    while (out->size % 8 != 0 && !out->failed)
        fgi_buf_putc(out, ' ');
    FGI_TRY(fgi_buf_status(out, err));
    const uint64_t length = out->size - 8;
    if (length > FGI_SAFETENSORS_MAX_HEADER)
        return fgi_fail(err, FG_EINVAL,
                        "%s: the header has %" PRIu64 " bytes: the format allows at most %u", path,
                        length, FGI_SAFETENSORS_MAX_HEADER);
    memcpy(out->data, &length, sizeof(length));
    return FG_OK;
}

static fg_status check_metadata(const char *const *metadata, const char *path, fg_error *err)
{
    for (size_t i = 0; metadata && metadata[i]; i++)
        if (!fgi_text_is_utf8(fgi_str_of(metadata[i])) || (i % 2 == 0 && !metadata[i + 1]))
            return fgi_fail(err, FG_EINVAL, "%s: metadata must be pairs of UTF-8 strings", path);
    return FG_OK;
}

fg_status fgi_safetensors_stream(int fd, const char *path, const fg_ckpt_tensor *tensors,
                                 size_t count, const char *const *metadata, uint64_t *out_bytes,
                                 uint64_t *out_checksum, fg_error *err)
{
    fg_status status;
    fgi_buf header = {0};
    sink s = {.fd = fd, .path = path, .checksum = fgi_checksum_create(), .err = err};
    const fg_ckpt_tensor **order = fgi_calloc(count + 1, sizeof(*order));
    FGI_DONE(s.checksum && order ? FG_OK : fgi_no_memory(err));
    FGI_DONE(check_metadata(metadata, path, err));
    FGI_DONE(sort_tensors(tensors, count, path, order, err));
    FGI_DONE(build_header(order, count, path, metadata, &header, err));
    FGI_DONE(put(&s, header.data, header.size));
    for (size_t i = 0; i < count; i++)
        FGI_DONE(put(&s, order[i]->data, fg_type_bytes(&order[i]->type)));
    *out_bytes = s.bytes;
    *out_checksum = fgi_checksum_value(s.checksum);
done:
    fgi_buf_fini(&header);
    fgi_free(order);
    fgi_checksum_destroy(s.checksum);
    return status;
}
