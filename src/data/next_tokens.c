/* next_tokens.c - see next_tokens.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/next_tokens.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/number.h"
#include "data/dataset.h"
#include "text/tokenizer.h"

/* ---- tokens of documents --------------------------------------------------------------------- */

static fg_status put_end(const fg_tokenizer *t, fg_token_list *list, fg_error *err)
{
    const int32_t end = fg_tokenizer_end(t);
    if (end < 0 || (list->count > 0 && list->at[list->count - 1] == end))
        return FG_OK;
    FGI_TRY_GROW(list->at, list->count, list->capacity, err);
    list->at[list->count++] = end;
    return FG_OK;
}

fg_status fgi_documents_add(const fg_tokenizer *t, fgi_str text, fgi_documents *out, fg_error *err)
{
    fg_token_list *tokens = &out->tokens;
    const size_t first = tokens->count;
    FGI_TRY(fg_tokenizer_encode(t, text.data, text.size, NULL, tokens, err));
    const size_t end = tokens->count;
    FGI_TRY(put_end(t, tokens, err));
    if (fg_tokenizer_json(t, NULL) == NULL)
        return FG_OK;
    for (size_t i = first; i < tokens->count; i++) {
        FGI_TRY_GROW(out->bytes, i, out->capacity, err);
        out->bytes[i] = 0;
    }
    if (end > first)
        fgi_token_bytes(t, tokens->at + first, end - first, text.size, out->bytes + first);
    return FG_OK;
}

/* ---- windows of a list ----------------------------------------------------------------------- */

typedef struct windows {
    fgi_documents documents;
    size_t length;
} windows;

static fg_status read_window(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    const windows *w = self;
    const fgi_documents *d = &w->documents;
    const size_t first = (size_t)index * w->length;
    (void)err;
    memcpy(out_fields[0], d->tokens.at + first, (w->length + 1) * sizeof *d->tokens.at);
    if (d->bytes != NULL)
        memcpy(out_fields[1], d->bytes + first + 1, w->length * sizeof *d->bytes);
    return FG_OK;
}

static void destroy_windows(void *self)
{
    windows *w = self;
    fg_free(w->documents.tokens.at);
    fgi_free(w->documents.bytes);
    fgi_free(w);
}

fg_status fgi_token_windows(const char *where, fgi_documents *take, int64_t length,
                            fg_dataset **out, fg_error *err)
{
    static const fg_dataset_ops ops = {.read = read_window, .destroy = destroy_windows};
    const fg_field fields[] = {
        {.name = "tokens", .type = {.dtype = FG_S32, .rank = 1, .dim = {length + 1}}},
        {.name = "bytes", .type = {.dtype = FG_F32, .rank = 1, .dim = {length}}}};
    const int64_t count = (int64_t)take->tokens.count;
    fg_dataset_spec spec = {.fields = fields,
                            .field_count = take->bytes != NULL ? 2 : 1,
                            .count = (count - 1) / length};
    windows *w = fgi_calloc(1, sizeof *w);
    *out = NULL;
    fg_status status = w != NULL ? FG_OK : fgi_no_memory(err);
    if (status == FG_OK && count <= length)
        status = fgi_fail(err, FG_EINVAL,
                          "%s: %" PRId64 " token%s: expected at least %" PRId64
                          " for one window of data.length %" PRId64,
                          where, count, count == 1 ? "" : "s", length + 1, length);
    if (status != FG_OK) {
        fg_free(take->tokens.at);
        fgi_free(take->bytes);
        fgi_free(w);
    } else {
        *w = (windows){*take, (size_t)length};
        status = fg_dataset_create(&ops, w, &spec, out, err);
    }
    *take = (fgi_documents){0};
    return status;
}

/* ---- tokens and the next ones ---------------------------------------------------------------- */

typedef struct pairs {
    fg_dataset *parent;
    fg_dtype dtype;
    size_t length;
} pairs;

bool fgi_is_token_windows(const fg_dataset *dataset)
{
    const fg_field *field = &dataset->fields[0];
    return dataset->field_count == 1 && strcmp(field->name, "tokens") == 0 &&
           field->type.rank == 1 && field->type.dim[0] > 1 && !fg_dtype_is_float(field->type.dtype);
}

/* Reads a sample of the parent: its tokens into a block that the caller frees, and `bytes` if it
 * has them. */
static fg_status read_parent(const pairs *p, int64_t index, void *bytes, void **out, fg_error *err)
{
    *out = fgi_calloc(p->length + 1, fg_dtype_size(p->dtype));
    return *out != NULL ? fg_dataset_read(p->parent, index, (void *[]){*out, bytes}, err)
                        : fgi_no_memory(err);
}

static fg_status read_pair(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    const pairs *p = self;
    int32_t *tokens = out_fields[0], *next = out_fields[1];
    void *row = NULL;
    void *bytes = p->parent->field_count > 1 ? out_fields[2] : NULL;
    const fg_status status = read_parent(p, index, bytes, &row, err);
    for (size_t i = 0; i <= p->length && status == FG_OK; i++) {
        const int32_t token = (int32_t)fgi_number_get(p->dtype, row, i);
        if (i < p->length)
            tokens[i] = token;
        if (i > 0)
            next[i - 1] = token;
    }
    fgi_free(row);
    return status;
}

static void destroy_pairs(void *self)
{
    pairs *p = self;
    fg_dataset_destroy(p->parent);
    fgi_free(p);
}

/* The largest token + 1. */
static fg_status find_vocabulary(const pairs *p, int64_t *out, fg_error *err)
{
    *out = p->dtype == FG_U8 ? 256 : 0;
    for (int64_t s = 0; s < p->parent->count && p->dtype != FG_U8; s++) {
        void *row = NULL;
        const fg_status status = read_parent(p, s, NULL, &row, err);
        double least = 0, most = -1;
        for (size_t i = 0; i <= p->length && status == FG_OK; i++) {
            const double token = fgi_number_get(p->dtype, row, i);
            least = token < least ? token : least;
            most = token > most ? token : most;
        }
        fgi_free(row);
        FGI_TRY(status);
        if (least < 0 || most > (double)(INT32_MAX - 1))
            return fgi_fail(err, FG_EFORMAT, "sample %" PRId64 ": token %.0f: expected 0 to %d", s,
                            least < 0 ? least : most, INT32_MAX - 1);
        *out = most >= (double)*out ? (int64_t)most + 1 : *out;
    }
    return FG_OK;
}

fg_status fgi_next_tokens(int64_t vocabulary, fg_dataset **dataset, fg_error *err)
{
    static const fg_dataset_ops ops = {.read = read_pair, .destroy = destroy_pairs};
    const fg_type *window = &(*dataset)->fields[0].type;
    const fg_type type = {.dtype = FG_S32, .rank = 1, .dim = {window->dim[0] - 1}};
    const fg_field fields[] = {
        {.name = "tokens", .type = type}, {.name = "next", .type = type}, (*dataset)->fields[1]};
    fg_dataset_spec spec = {.fields = fields,
                            .field_count = (*dataset)->field_count + 1,
                            .count = (*dataset)->count,
                            .class_count = vocabulary};
    pairs *p = fgi_calloc(1, sizeof *p);
    if (p == NULL) {
        fg_dataset_destroy(*dataset);
        *dataset = NULL;
        return fgi_no_memory(err);
    }
    *p = (pairs){*dataset, window->dtype, (size_t)type.dim[0]};
    *dataset = NULL;
    const fg_status status = vocabulary == 0 ? find_vocabulary(p, &spec.class_count, err) : FG_OK;
    if (status == FG_OK)
        return fg_dataset_create(&ops, p, &spec, dataset, err);
    destroy_pairs(p);
    return status;
}
