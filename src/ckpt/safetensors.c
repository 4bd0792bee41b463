/* safetensors.c - maps a tensor file and verifies its header; streams tensors to a file.
 *
 * Nothing in the file is trusted: the length of the header, its JSON, and every dtype, shape and
 * pair of offsets are checked before a pointer into the mapping is returned. The tensors must cover
 * the data exactly, without gaps or overlaps. The fgi_safetensors owns the mapping, names and
 * table.
 *
 * To write, the header is built in memory; the tensors' data are written directly from the caller's
 * memory, and their checksum is computed on the way. Order and formatting are those of the
 * safetensors library, so equal tensors give identical bytes with any writer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "ckpt/safetensors.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "input/json_file.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "this host is big-endian: tensor files require a little-endian host"
#endif

/* ---- dtypes ---------------------------------------------------------------------------------- */

static const struct {
    fg_dtype dtype;
    char name[8];
} formats[] = {
    /* in the storage order of the safetensors library, first to last in a file */
    {FG_U64, "U64"}, {FG_S64, "I64"},   {FG_F64, "F64"},   {FG_F32, "F32"}, {FG_U32, "U32"},
    {FG_S32, "I32"}, {FG_BF16, "BF16"}, {FG_F16, "F16"},   {FG_U16, "U16"}, {FG_S16, "I16"},
    {FG_S8, "I8"},   {FG_U8, "U8"},     {FG_BOOL, "BOOL"},
};
enum { FORMAT_COUNT = sizeof(formats) / sizeof(formats[0]) };

static const char *dtype_name(fg_dtype dtype)
{
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (formats[i].dtype == dtype)
            return formats[i].name;
    return NULL;
}

static fg_dtype dtype_of(const char *name)
{
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(formats[i].name, name) == 0)
            return formats[i].dtype;
    return FG_DTYPE_NONE;
}

/* The position in the format's storage order: higher ones are first in a file. */
static int dtype_rank(fg_dtype dtype)
{
    for (int i = 0; i < FORMAT_COUNT; i++)
        if (formats[i].dtype == dtype)
            return FORMAT_COUNT - i;
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct reader {
    const char *path;
    const unsigned char *data;
    size_t size;
    size_t header_size;
    fg_ckpt_part part;
    fgi_safetensors *out;
    fg_error *err;
} reader;

/* An error at a byte of the file. */
#define BAD_AT(r, status, offset, ...)                                                             \
    (fgi_fail((r)->err, (status), __VA_ARGS__),                                                    \
     fgi_context((r)->err, (status), "%s: byte %zu", (r)->path, (size_t)(offset)))
#define BAD(r, offset, ...) BAD_AT(r, FG_EFORMAT, offset, __VA_ARGS__)

/* Position of a key in the header, for messages; the first byte of the header if the key is written
 * with escapes and therefore not found. */
static size_t key_offset(const reader *r, const char *key)
{
    const size_t length = strlen(key);
    const unsigned char *at = r->data + 8, *end = at + r->header_size;
    while (length > 0 && (at = memmem(at, (size_t)(end - at), key, length)) != NULL) {
        if (at[-1] == '"' && at + length < end && at[length] == '"')
            return (size_t)(at - r->data) - 1;
        at++;
    }
    return 8;
}

/* The length of the header, from the first eight bytes of the file. */
static fg_status read_length(reader *r)
{
    if (r->size < 8)
        return BAD(r, r->size, "unexpected end of file: expected 8 bytes of header length");
    uint64_t length = 0;
    for (int i = 7; i >= 0; i--)
        length = length << 8 | r->data[i];
    const bool is_pickle = memcmp(r->data, "PK\3\4", 4) == 0 || r->data[0] == 0x80;
    if (length > r->size - 8 && is_pickle)
        return BAD(r, 0,
                   "a pickle of PyTorch, which can run any code when it is read: expected a "
                   "safetensors file\nif you trust it, convert it in Python: "
                   "safetensors.torch.save_file(torch.load(FILE, weights_only=True), OUT)");
    if (length > FGI_SAFETENSORS_MAX_HEADER)
        return BAD(
            r, 0, "header length is %" PRIu64 ": expected at most %u (is this a safetensors file?)",
            length, FGI_SAFETENSORS_MAX_HEADER);
    if (length > r->size - 8)
        return BAD(r, 0,
                   "header length is %" PRIu64
                   ", but only %zu bytes follow: the file may be truncated",
                   length, r->size - 8);
    if (length == 0 || r->data[8] != '{')
        return BAD(r, 8, "expected '{' at the start of the header");
    r->header_size = (size_t)length;
    r->out->data_start = 8 + r->header_size;
    return FG_OK;
}

/* A dimension or offset: an integer of 0 or more. */
static bool read_size(const json_t *value, uint64_t *out)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *out = (uint64_t)json_integer_value(value);
    return true;
}

/* dtypes of the format that fg_dtype does not have, and their bits. */
static const struct {
    char name[12];
    unsigned bits;
} others[] = {
    {"C64", 64},        {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"F6_E3M2", 6}, {"F6_E2M3", 6}, {"F4", 4},
};

/* Sets the dtype and its bits: FG_DTYPE_NONE if it is not supported, 0 bits if it is unknown. */
static fg_status read_dtype(reader *r, const char *name, const json_t *value, fg_type *out,
                            unsigned *out_bits)
{
    if (!json_is_string(value))
        return BAD(r, key_offset(r, name), "tensor '%s': dtype is not a string", name);
    out->dtype = dtype_of(json_string_value(value));
    *out_bits = 8 * (unsigned)fg_dtype_size(out->dtype);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(others[i].name, json_string_value(value)) == 0)
            *out_bits = others[i].bits;
    return FG_OK;
}

/* Sets the shape, and the number of elements. */
static fg_status read_shape(reader *r, const char *name, const json_t *value, fg_type *out,
                            uint64_t *out_count)
{
    const size_t at = key_offset(r, name), rank = json_array_size(value);
    if (!json_is_array(value))
        return BAD(r, at, "tensor '%s': shape is not a list", name);
    uint64_t count = 1;
    bool is_huge = false;
    for (size_t i = 0; i < rank; i++) {
        uint64_t dim;
        if (!read_size(json_array_get(value, i), &dim))
            return BAD(r, at, "tensor '%s': dimension %zu is not a nonnegative integer", name, i);
        is_huge = is_huge || __builtin_mul_overflow(count, dim, &count) || count > INT64_MAX / 64;
        if (i < FG_MAX_RANK)
            out->dim[i] = (int64_t)dim;
    }
    if (is_huge)
        return BAD(r, at, "tensor '%s': its shape overflows 64 bits", name);
    out->rank = (int)rank;
    if (rank > FG_MAX_RANK)
        *out = (fg_type){.rank = 1, .dim = {(int64_t)count}};
    *out_count = count;
    return FG_OK;
}

/* The dtype and shape as the file has them. */
static fg_status describe(reader *r, const json_t *dtype, const json_t *shape, fg_tensor_info *out)
{
    fgi_buf text = {0};
    fgi_buf_printf(&text, "%s[", json_string_value(dtype));
    for (size_t i = 0; i < json_array_size(shape); i++)
        fgi_buf_printf(&text, "%s%" JSON_INTEGER_FORMAT, i > 0 ? "," : "",
                       json_integer_value(json_array_get(shape, i)));
    fgi_buf_puts(&text, "]");
    fg_status status = fgi_buf_status(&text, r->err);
    if (status == FG_OK && (out->stored = fgi_arena_strdup(&r->out->arena, text.data)) == NULL)
        status = fgi_no_memory(r->err);
    fgi_buf_fini(&text);
    return status;
}

static fg_status read_offsets(reader *r, const char *name, const json_t *value, fg_tensor_info *out)
{
    const size_t at = key_offset(r, name), available = r->size - r->out->data_start;
    uint64_t begin, end;
    if (!json_is_array(value) || json_array_size(value) != 2 ||
        !read_size(json_array_get(value, 0), &begin) || !read_size(json_array_get(value, 1), &end))
        return BAD(r, at, "tensor '%s': data_offsets are not two nonnegative integers", name);
    if (begin > end)
        return BAD(r, at,
                   "tensor '%s': data_offsets are in descending order: %" PRIu64 ", %" PRIu64, name,
                   begin, end);
    if (end > available)
        return BAD(
            r, at,
            "tensor '%s' ends at byte %" PRIu64
            " of the data, but the file has only %zu bytes of data: the file may be truncated",
            name, end, available);
    out->offset_bytes = r->out->data_start + begin;
    out->size_bytes = (size_t)(end - begin);
    return FG_OK;
}

static fg_status read_tensor(reader *r, const char *name, const json_t *entry, fg_tensor_info *out)
{
    const json_t *dtype = json_object_get(entry, "dtype"), *shape = json_object_get(entry, "shape");
    const json_t *offsets = json_object_get(entry, "data_offsets");
    if (!dtype || !shape || !offsets || json_object_size(entry) != 3)
        return BAD(r, key_offset(r, name),
                   "tensor '%s': expected exactly dtype, shape and data_offsets", name);
    uint64_t count = 0;
    unsigned bits = 0;
    out->part = r->part;
    FGI_TRY(read_dtype(r, name, dtype, &out->type, &bits));
    FGI_TRY(read_shape(r, name, shape, &out->type, &count));
    FGI_TRY(read_offsets(r, name, offsets, out));
    if (out->type.dtype == FG_DTYPE_NONE)
        FGI_TRY(describe(r, dtype, shape, out));
    const bool is_whole = count * bits % 8 == 0;
    if (bits > 0 && (!is_whole || out->size_bytes != count * bits / 8)) {
        char type[128];
        return BAD(r, key_offset(r, name),
                   "tensor '%s': %s requires %" PRIu64 " b%s, but its data_offsets span %zu", name,
                   out->stored ? out->stored : fg_type_format(&out->type, type, sizeof(type)),
                   is_whole ? count * bits / 8 : count * bits, is_whole ? "ytes" : "its",
                   out->size_bytes);
    }
    out->name = fgi_arena_strdup(&r->out->arena, name);
    return out->name ? FG_OK : fgi_no_memory(r->err);
}

static fg_status read_metadata(reader *r, json_t *metadata)
{
    const char *key;
    json_t *value;
    if (json_is_null(metadata)) /* the safetensors library reads it as if it were absent */
        return FG_OK;
    if (!json_is_object(metadata))
        return BAD(r, key_offset(r, "__metadata__"), "__metadata__ is not an object");
    json_object_foreach(metadata, key, value)
    {
        if (!json_is_string(value))
            return BAD(r, key_offset(r, key), "__metadata__ '%s' is not a string", key);
        char *text = fgi_arena_strdup(&r->out->arena, json_string_value(value));
        if (!text || !fgi_map_put(&r->out->metadata, fgi_hash_text(key), text))
            return fgi_no_memory(r->err);
    }
    return FG_OK;
}

static fg_status read_entries(reader *r, json_t *header)
{
    fgi_safetensors *out = r->out;
    const char *name;
    json_t *entry;
    out->tensors =
        fgi_arena_alloc(&out->arena, (json_object_size(header) + 1) * sizeof(*out->tensors));
    if (!out->tensors)
        return fgi_no_memory(r->err);
    json_object_foreach(header, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0)
            FGI_TRY(read_metadata(r, entry));
        else
            FGI_TRY(read_tensor(r, name, entry, &out->tensors[out->count++]));
    }
    return FG_OK;
}

static int by_offset(const void *left, const void *right)
{
    const fg_tensor_info *a = left, *b = right;
    if (a->offset_bytes != b->offset_bytes)
        return a->offset_bytes < b->offset_bytes ? -1 : 1;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes < b->size_bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* The tensors, sorted by offset, must be contiguous up to the last byte of the file. */
static fg_status check_cover(reader *r)
{
    fgi_safetensors *out = r->out;
    size_t at = out->data_start;
    qsort(out->tensors, out->count, sizeof(*out->tensors), by_offset);
    for (size_t i = 0; i < out->count; i++) {
        const fg_tensor_info *t = &out->tensors[i];
        if (t->offset_bytes < at)
            return BAD(r, t->offset_bytes, "tensor '%s' overlaps '%s'", t->name,
                       out->tensors[i - 1].name);
        if (t->offset_bytes > at)
            return BAD(r, at, "no tensor has the %" PRIu64 " byte%s before tensor '%s'",
                       t->offset_bytes - at, fgi_s(t->offset_bytes - at), t->name);
        at += t->size_bytes;
        if (!fgi_map_put(&out->by_name, fgi_hash_text(t->name), &out->tensors[i]))
            return fgi_no_memory(r->err);
    }
    if (at != r->size)
        return BAD(r, at, "no tensor has the %zu byte%s after the last tensor", r->size - at,
                   fgi_s(r->size - at));
    return FG_OK;
}

static fg_status parse(reader *r)
{
    json_t *header = NULL;
    fg_status status;
    FGI_TRY(read_length(r));
    FGI_TRY(fgi_json_parse(r->path, 8, (const char *)r->data + 8, r->header_size, &header, r->err));
    FGI_DONE(read_entries(r, header));
    FGI_DONE(check_cover(r));
done:
    json_decref(header);
    return status;
}

fg_status fgi_safetensors_parse(const char *path, const void *data, size_t size, fg_ckpt_part part,
                                fgi_safetensors *out, fg_error *err)
{
    memset(out, 0, sizeof(*out));
    fgi_arena_init(&out->arena);
    reader r = {.path = path, .data = data, .size = size, .part = part, .out = out, .err = err};
    const fg_status status = parse(&r);
    if (status != FG_OK)
        fgi_safetensors_close(out);
    return status;
}

fg_status fgi_safetensors_open(const char *path, fg_ckpt_part part, fgi_safetensors *out,
                               fg_error *err)
{
    fgi_mapping mapping = {0};
    memset(out, 0, sizeof(*out));
    FGI_TRY(fgi_file_map(path, &mapping, err));
    const fg_status status =
        fgi_safetensors_parse(path, mapping.data, mapping.size, part, out, err);
    if (status == FG_OK)
        out->mapping = mapping;
    else
        fgi_file_unmap(&mapping);
    return status;
}

void fgi_safetensors_close(fgi_safetensors *file)
{
    fgi_map_fini(&file->by_name);
    fgi_map_fini(&file->metadata);
    fgi_arena_fini(&file->arena);
    fgi_file_unmap(&file->mapping);
    memset(file, 0, sizeof(*file));
}

/* ---- writing --------------------------------------------------------------------------------- */

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

static int by_storage(const void *left, const void *right)
{
    const fg_ckpt_tensor *a = *(const fg_ckpt_tensor *const *)left;
    const fg_ckpt_tensor *b = *(const fg_ckpt_tensor *const *)right;
    const int rank_a = dtype_rank(a->type.dtype);
    const int rank_b = dtype_rank(b->type.dtype);
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
    bool is_valid =
        dtype_name(t->type.dtype) != NULL && t->type.rank >= 0 && t->type.rank <= FG_MAX_RANK;
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
        fgi_buf_put_json(out, metadata[i]);
        fgi_buf_putc(out, ':');
        fgi_buf_put_json(out, metadata[i + 1]);
    }
    fgi_buf_puts(out, "}");
}

static void put_entry(fgi_buf *out, const fg_ckpt_tensor *t, uint64_t offset)
{
    fgi_buf_put_json(out, t->name);
    fgi_buf_printf(out, ":{\"dtype\":\"%s\",\"shape\":[", dtype_name(t->type.dtype));
    for (int i = 0; i < t->type.rank; i++)
        fgi_buf_printf(out, "%s%" PRId64, i > 0 ? "," : "", t->type.dim[i]);
    fgi_buf_printf(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", offset,
                   offset + fg_type_bytes(&t->type));
}

/* The eight bytes of length and the header, padded so that the data start at a multiple of 8. */
static fg_status build_header(const fg_ckpt_tensor *const *order, const fgi_tensors *content,
                              const char *path, fgi_buf *out, fg_error *err)
{
    const char *const *metadata = content->metadata;
    uint64_t offset = 0;
    fgi_buf_add(out, "\0\0\0\0\0\0\0\0", 8);
    fgi_buf_putc(out, '{');
    if (metadata && metadata[0])
        put_metadata(out, metadata);
    for (size_t i = 0; i < content->count; i++) {
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

fg_status fgi_safetensors_stream(int fd, const char *path, const fgi_tensors *content,
                                 fgi_manifest_file *out, fg_error *err)
{
    fg_status status;
    fgi_buf header = {0};
    sink s = {.fd = fd, .path = path, .checksum = fgi_checksum_create(), .err = err};
    const fg_ckpt_tensor **order = fgi_calloc(content->count + 1, sizeof(*order));
    FGI_DONE(s.checksum && order ? FG_OK : fgi_no_memory(err));
    FGI_DONE(check_metadata(content->metadata, path, err));
    FGI_DONE(sort_tensors(content->tensors, content->count, path, order, err));
    FGI_DONE(build_header(order, content, path, &header, err));
    FGI_DONE(put(&s, header.data, header.size));
    for (size_t i = 0; i < content->count; i++)
        FGI_DONE(put(&s, order[i]->data, fg_type_bytes(&order[i]->type)));
    out->bytes = s.bytes;
    out->checksum = fgi_checksum_value(s.checksum);
done:
    fgi_buf_fini(&header);
    fgi_free(order);
    fgi_checksum_destroy(s.checksum);
    return status;
}
