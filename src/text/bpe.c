/* bpe.c - byte-pair encoding: the characters of a word are merged, always the pair of neighbors
 * that was learned first, with a heap of the pairs. Source: Sennrich et al. 2016.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "input/json_file.h"
#include "text/tokenizer.h"

enum { DIRECT = 0x400 /* characters below it have their index in a table */ };

struct fgi_bpe {
    int32_t *merges; /* the index of the merged pair, by rank */
    fgi_map pairs;   /* an element of `merges` */
    int32_t bytes[256];
    int32_t direct[DIRECT];
    int32_t unknown;             /* -1: characters without a token are left out */
    const char *prefix, *suffix; /* of characters that continue, and end, a word */
    bool fuses_unknown, falls_back, ignores_merges;
};

/* A part of the word. */
typedef struct symbol {
    int32_t token;         /* -1: it was merged into the one before */
    int32_t before, after; /* -1: none */
} symbol;

/* ---- the heap of pairs: rank and place of the left symbol, least first ----------------------- */

static void heap_put(fgi_buf *heap, uint64_t item)
{
    fgi_buf_add(heap, &item, sizeof item);
    if (heap->failed)
        return;
    uint64_t *h = (uint64_t *)(void *)heap->data;
    size_t at = heap->size / sizeof item - 1;
    for (; at > 0 && h[(at - 1) / 2] > item; at = (at - 1) / 2)
        h[at] = h[(at - 1) / 2];
    h[at] = item;
}

static uint64_t heap_take(fgi_buf *heap)
{
    uint64_t *h = (uint64_t *)(void *)heap->data;
    const uint64_t least = h[0];
    heap->size -= sizeof least;
    const size_t count = heap->size / sizeof least;
    const uint64_t item = h[count];
    size_t at = 0;
    for (size_t child = 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && h[child + 1] < h[child];
        if (h[child] >= item)
            break;
        h[at] = h[child];
        at = child;
    }
    h[at] = item;
    return least;
}

/* ---- merging --------------------------------------------------------------------------------- */

static const int32_t *merge_of(const fgi_bpe *bpe, const symbol *s, int32_t left)
{
    const int32_t right = left >= 0 ? s[left].after : -1;
    return right < 0 ? NULL : fgi_map_get(&bpe->pairs, fgi_pair_key(s[left].token, s[right].token));
}

static void push(const fgi_bpe *bpe, fgi_encoder *e, const symbol *s, int32_t left)
{
    const int32_t *merge = merge_of(bpe, s, left);
    if (merge != NULL)
        heap_put(&e->heap, (uint64_t)(merge - bpe->merges) << 32 | (uint32_t)left);
}

static void merge_all(const fgi_bpe *bpe, fgi_encoder *e, symbol *s, int32_t count)
{
    fgi_buf_clear(&e->heap);
    for (int32_t i = 0; i + 1 < count; i++)
        push(bpe, e, s, i);
    while (e->heap.size > 0 && !e->heap.failed) {
        const uint64_t item = heap_take(&e->heap);
        const int32_t left = (int32_t)(uint32_t)item, merged = bpe->merges[item >> 32];
        const int32_t *now = s[left].token >= 0 ? merge_of(bpe, s, left) : NULL;
        if (now == NULL || *now != merged)
            continue; /* one of the two has been merged with another */
        const int32_t right = s[left].after, next = s[right].after;
        s[left].token = merged;
        s[left].after = next;
        s[right].token = -1;
        if (next >= 0)
            s[next].before = left;
        push(bpe, e, s, s[left].before);
        push(bpe, e, s, left);
    }
}

/* ---- the characters of a word ---------------------------------------------------------------- */

static void add_symbol(fgi_encoder *e, int32_t token)
{
    const int32_t at = (int32_t)(e->symbols.size / sizeof(symbol));
    fgi_buf_add(&e->symbols, &(symbol){token, at - 1, at + 1}, sizeof(symbol));
}

static int32_t find_char(const fgi_bpe *bpe, const fg_tokenizer *t, fgi_str c, bool is_first,
                         bool is_last)
{
    char text[256];
    const char *prefix = is_first ? "" : bpe->prefix;
    const char *suffix = is_last ? bpe->suffix : "";
    size_t size;
    if (*prefix == '\0' && *suffix == '\0') {
        const uint32_t code = fgi_utf8_decode(c.data, &size);
        return code < DIRECT ? bpe->direct[code]
                             : fgi_vocabulary_find(&t->vocabulary, c.data, c.size);
    }
    const int length =
        fgi_snprintf(text, sizeof text, "%s%.*s%s", prefix, (int)c.size, c.data, suffix);
    return fgi_vocabulary_find(&t->vocabulary, text, (size_t)length);
}

/* The tokens of its bytes; false: not all have one. */
static bool fall_back(const fgi_bpe *bpe, fgi_encoder *e, fgi_str c)
{
    for (size_t i = 0; i < c.size; i++)
        if (bpe->bytes[(unsigned char)c.data[i]] < 0)
            return false;
    for (size_t i = 0; i < c.size; i++)
        add_symbol(e, bpe->bytes[(unsigned char)c.data[i]]);
    return true;
}

static void split_word(const fgi_bpe *bpe, fgi_encoder *e, fgi_str word)
{
    bool was_unknown = false;
    size_t n;
    fgi_buf_clear(&e->symbols);
    for (size_t i = 0; i < word.size; i += n) {
        (void)fgi_utf8_decode(word.data + i, &n);
        const fgi_str c = {word.data + i, n};
        const int32_t token = find_char(bpe, e->t, c, i == 0, i + n == word.size);
        if (token < 0 && bpe->falls_back && fall_back(bpe, e, c))
            continue;
        if (token >= 0)
            add_symbol(e, token);
        else if (bpe->unknown >= 0 && !(was_unknown && bpe->fuses_unknown))
            add_symbol(e, bpe->unknown);
        was_unknown = token < 0;
    }
}

static void run_bpe(const fgi_step *step, fgi_encoder *e, fgi_str word)
{
    (void)step;
    const fgi_bpe *bpe = e->t->bpe;
    const int32_t whole =
        bpe->ignores_merges ? fgi_vocabulary_find(&e->t->vocabulary, word.data, word.size) : -1;
    if (whole >= 0) {
        fgi_put_token(e, whole);
        return;
    }
    split_word(bpe, e, word);
    symbol *s = (symbol *)(void *)e->symbols.data;
    const int32_t count = (int32_t)(e->symbols.size / sizeof(symbol));
    if (count > 0 && !e->symbols.failed) {
        s[count - 1].after = -1;
        merge_all(bpe, e, s, count);
    }
    if ((e->symbols.failed || e->heap.failed) && e->status == FG_OK)
        e->status = fgi_no_memory(e->err);
    for (int32_t i = 0; i < count && e->status == FG_OK; i++)
        if (s[i].token >= 0)
            fgi_put_token(e, s[i].token);
}

/* ---- from JSON ------------------------------------------------------------------------------- */

/* The two parts of a merge, "a b" or ["a", "b"]. */
static bool parts_of(const json_t *merge, fgi_str *left, fgi_str *right)
{
    const char *text = json_string_value(merge);
    const char *space = text != NULL ? strchr(text, ' ') : NULL;
    if (space != NULL) {
        *left = (fgi_str){text, (size_t)(space - text)};
        *right = fgi_str_of(space + 1);
        return strchr(space + 1, ' ') == NULL;
    }
    const char *a = json_string_value(json_array_get(merge, 0));
    const char *b = json_string_value(json_array_get(merge, 1));
    if (a == NULL || b == NULL)
        return false;
    *left = fgi_str_of(a);
    *right = fgi_str_of(b);
    return true;
}

static fg_status refuse_merge(const fg_tokenizer *t, size_t rank, const json_t *merge,
                              fg_error *err)
{
    char *text = fgi_json_text(merge, JSON_ENCODE_ANY | JSON_COMPACT);
    const fg_status status = fgi_fail(err, FG_EFORMAT,
                                      "%s: entry %zu of merges, %.80s: expected two tokens of "
                                      "vocab whose concatenation is a token, too",
                                      t->name, rank, text != NULL ? text : "");
    fgi_free(text);
    return status;
}

static fg_status add_merge(fg_tokenizer *t, fgi_bpe *bpe, size_t rank, const json_t *merge,
                           fgi_buf *text, fg_error *err)
{
    const fgi_vocabulary *v = &t->vocabulary;
    fgi_str left, right;
    const bool has_parts = parts_of(merge, &left, &right);
    const size_t skipped = strlen(bpe->prefix);
    int32_t a = -1, b = -1, merged = -1;
    if (has_parts && right.size >= skipped) {
        fgi_buf_clear(text);
        fgi_buf_add(text, left.data, left.size);
        fgi_buf_add(text, right.data + skipped, right.size - skipped);
        FGI_TRY(fgi_buf_status(text, err));
        a = fgi_vocabulary_find(v, left.data, left.size);
        b = fgi_vocabulary_find(v, right.data, right.size);
        merged = fgi_vocabulary_find(v, fgi_buf_text(text), text->size);
    }
    if (a < 0 || b < 0 || merged < 0)
        return refuse_merge(t, rank, merge, err);
    bpe->merges[rank] = merged;
    return fgi_map_put(&bpe->pairs, fgi_pair_key(a, b), &bpe->merges[rank]) ? FG_OK
                                                                            : fgi_no_memory(err);
}

static fg_status read_merges(fg_tokenizer *t, fgi_bpe *bpe, const json_t *merges, fg_error *err)
{
    fgi_buf text = {0};
    fg_status status = FG_OK;
    const json_t *merge;
    size_t rank;
    bpe->merges = fgi_calloc(json_array_size(merges) + 1, sizeof *bpe->merges);
    if (bpe->merges == NULL)
        return fgi_no_memory(err);
    json_array_foreach(merges, rank, merge) if ((status = add_merge(t, bpe, rank, merge, &text,
                                                                    err)) != FG_OK) break;
    fgi_buf_fini(&text);
    return status;
}

static const char *text_or_empty(fg_tokenizer *t, const json_t *model, const char *key)
{
    const char *text = json_string_value(json_object_get(model, key));
    return text != NULL ? fgi_arena_strdup(&t->vocabulary.arena, text) : "";
}

static fg_status read_unknown(fg_tokenizer *t, fgi_bpe *bpe, const json_t *model, fg_error *err)
{
    const char *unknown = json_string_value(json_object_get(model, "unk_token"));
    bpe->unknown = unknown != NULL ? fg_tokenizer_index(t, unknown) : -1;
    if (unknown != NULL && bpe->unknown < 0)
        return fgi_fail(err, FG_EFORMAT, "%s: unk_token '%.80s' is not in vocab", t->name, unknown);
    return FG_OK;
}

void fgi_byte_tokens(const fg_tokenizer *t, int32_t out[256])
{
    char code[8];
    for (int b = 0; b < 256; b++) {
        (void)fgi_snprintf(code, sizeof code, "<0x%02X>", b);
        out[b] = fg_tokenizer_index(t, code);
    }
}

static fg_status fill_tables(const fg_tokenizer *t, fgi_bpe *bpe, fg_error *err)
{
    fgi_buf c = {0};
    fgi_byte_tokens(t, bpe->bytes);
    for (uint32_t i = 0; i < DIRECT; i++) {
        c.size = 0; /* not fgi_buf_clear, which forgets a failure */
        fgi_utf8_put(&c, i);
        bpe->direct[i] = fgi_vocabulary_find(&t->vocabulary, fgi_buf_text(&c), c.size);
    }
    const fg_status status = fgi_buf_status(&c, err);
    fgi_buf_fini(&c);
    return status;
}

fg_status fgi_bpe_add(fg_tokenizer *t, const json_t *model, fg_error *err)
{
    fgi_step *step = NULL;
    fgi_bpe *bpe = t->bpe = fgi_calloc(1, sizeof *bpe);
    if (bpe == NULL)
        return fgi_no_memory(err);
    bpe->prefix = text_or_empty(t, model, "continuing_subword_prefix");
    bpe->suffix = text_or_empty(t, model, "end_of_word_suffix");
    if (bpe->prefix == NULL || bpe->suffix == NULL)
        return fgi_no_memory(err);
    bpe->fuses_unknown = json_is_true(json_object_get(model, "fuse_unk"));
    bpe->falls_back = json_is_true(json_object_get(model, "byte_fallback"));
    bpe->ignores_merges = json_is_true(json_object_get(model, "ignore_merges"));
    FGI_TRY(read_unknown(t, bpe, model, err));
    FGI_TRY(read_merges(t, bpe, json_object_get(model, "merges"), err));
    FGI_TRY(fill_tables(t, bpe, err));
    FGI_TRY(fgi_step_add(t, &step, err));
    *step = (fgi_step){.run = run_bpe};
    return FG_OK;
}

void fgi_bpe_destroy(fgi_bpe *bpe)
{
    if (bpe == NULL)
        return;
    fgi_map_fini(&bpe->pairs);
    fgi_free(bpe->merges);
    fgi_free(bpe);
}
