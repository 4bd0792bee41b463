/* tokens.c - windows of a file of tokens as samples.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/pack_arrays.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "data/elements.h"
#include "data/npy.h"

typedef struct tokens {
    fgi_block file;
    const unsigned char *data; /* of the first token */
    int64_t sequence;
    size_t size; /* bytes of a token */
} tokens;

static fg_status read_window(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    const tokens *t = self;
    (void)err;
    const size_t first = (size_t)index * (size_t)t->sequence;
    memcpy(out_fields[0], t->data + first * t->size, ((size_t)t->sequence + 1) * t->size);
    return FG_OK;
}

static void destroy(void *self)
{
    tokens *t = self;
    fgi_block_fini(&t->file);
    fgi_free(t);
}

/* Replaces the block by one of s32. */
static fg_status widen(const char *path, tokens *t, const fgi_npy *npy, fg_error *err)
{
    const fgi_elements e = {.name = path,
                            .file = t->file.data,
                            .offset = npy->offset,
                            .count = npy->type.dim[0],
                            .dtype = npy->type.dtype};
    fgi_block wide = {0};
    FGI_TRY(fgi_elements_to_s32(&e, &wide, err));
    fgi_block_fini(&t->file);
    t->file = wide;
    t->data = wide.data;
    return FG_OK;
}

/* The dtype and the number of tokens of a .npy file. */
static fg_status read_npy(const char *path, tokens *t, fg_dtype *out_dtype, int64_t *out_count,
                          fg_error *err)
{
    fgi_npy npy;
    FGI_TRY(fgi_npy_parse(path, t->file.data, t->file.size, &npy, err));
    const fg_dtype dtype = npy.type.dtype;
    if (npy.type.rank != 1)
        return fgi_fail(err, FG_ESHAPE, "%s: expected tokens T[count], got an array of rank %d",
                        path, npy.type.rank);
    if (dtype == FG_BOOL || dtype == FG_F16 || dtype == FG_F32 || dtype == FG_F64)
        return fgi_fail(err, FG_EDTYPE, "%s: expected integers as tokens, got %s", path,
                        fg_dtype_name(dtype));
    *out_count = npy.type.dim[0];
    *out_dtype = dtype;
    t->data = t->file.data + npy.offset;
    if (dtype == FG_U8 || dtype == FG_U16 || dtype == FG_S32)
        return FG_OK;
    *out_dtype = FG_S32;
    return widen(path, t, &npy, err);
}

static fg_status read_tokens(const char *path, tokens *t, fg_dtype *out_dtype, int64_t *out_count,
                             fg_error *err)
{
    FGI_TRY(fgi_array_open(path, &t->file, err));
    if (fgi_ends_with(path, ".npy") || fgi_npz_is(path))
        return read_npy(path, t, out_dtype, out_count, err);
    const bool is_bin = fgi_ends_with(path, ".bin");
    if (is_bin && t->file.size % 2 != 0)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: the file has %zu bytes: expected tokens of two bytes each (u16)", path,
                        t->file.size);
    const size_t mark = is_bin ? 0 : fgi_utf8_mark(t->file.data, t->file.size);
    t->data = t->file.data + mark;
    *out_dtype = is_bin ? FG_U16 : FG_U8;
    *out_count = (int64_t)((t->file.size - mark) / (is_bin ? 2 : 1));
    return FG_OK;
}

static fg_status open_tokens(const char *path, tokens *t, fg_field *field, int64_t *out_samples,
                             fg_error *err)
{
    int64_t count = 0;
    FGI_TRY(read_tokens(path, t, &field->type.dtype, &count, err));
    *out_samples = count > 0 ? (count - 1) / t->sequence : 0;
    if (*out_samples == 0)
        return fgi_fail(err, FG_EINVAL,
                        "%s: %" PRId64 " tokens: expected at least %" PRId64
                        " for one sample of sequence length %" PRId64,
                        path, count, t->sequence + 1, t->sequence);
    t->size = fg_dtype_size(field->type.dtype);
    field->type.rank = 1;
    field->type.dim[0] = t->sequence + 1;
    return FG_OK;
}

fg_status fg_tokens_load(const char *path, int64_t sequence, fg_dataset **out, fg_error *err)
{
    static const fg_dataset_ops ops = {.read = read_window, .destroy = destroy};
    fg_field field = {.name = "tokens"};
    fg_dataset_spec spec = {.fields = &field, .field_count = 1};
    *out = NULL;
    if (sequence < 1 || sequence > INT32_MAX)
        return fgi_fail(err, FG_EINVAL,
                        "the sequence length is %" PRId64 ": expected a number of at least 1",
                        sequence);
    tokens *t = fgi_calloc(1, sizeof *t);
    if (t == NULL)
        return fgi_no_memory(err);
    t->sequence = sequence;
    const fg_status status = open_tokens(path, t, &field, &spec.count, err);
    if (status == FG_OK)
        return fg_dataset_create(&ops, t, &spec, out, err);
    destroy(t);
    return status;
}
