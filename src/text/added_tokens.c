/* added_tokens.c - tokens that are found in a text before it is split, such as <|endoftext|>: at
 * each place the longest one. Those that are "normalized" are found in the normalized text, as its
 * normalizers change them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "text/tokenizer.h"

typedef struct added_token {
    fgi_str text;
    int32_t index;
    bool single_word, lstrip, rstrip;
} added_token;

struct fgi_added_tokens {
    added_token *tokens; /* by first byte, longest first */
    size_t count;
    size_t first[257]; /* of the tokens with a first byte */
};

/* ---- finding --------------------------------------------------------------------------------- */

static const added_token *token_at(const struct fgi_added_tokens *a, fgi_str text)
{
    const unsigned char byte = (unsigned char)text.data[0];
    for (size_t i = a->first[byte]; i < a->first[byte + 1]; i++)
        if (a->tokens[i].text.size <= text.size &&
            memcmp(a->tokens[i].text.data, text.data, a->tokens[i].text.size) == 0)
            return &a->tokens[i];
    return NULL;
}

/* Whether the character at `at`, or the one that ends there, matches; false at the ends. */
static bool is_char(fgi_encoder *e, bool is_word, fgi_str text, size_t at, bool is_before,
                    size_t *out_size)
{
    size_t start, end, size = 0;
    const size_t from = at;
    if (is_before ? at == 0 : at >= text.size)
        return false;
    while (is_before && at > 0 && ((unsigned char)text.data[--at] & 0xc0) == 0x80)
        ;
    (void)fgi_utf8_decode(text.data + at, &size);
    *out_size = size;
    return from <= text.size &&
           fgi_regex_find(is_word ? e->t->word : e->t->space, &e->works[FGI_MOST_STEPS + is_word],
                          (fgi_str){text.data + at, size}, 0, &start, &end, &e->status, e->err);
}

/* Widens the match by the spaces around it, if the token says so; false: it is part of a word. */
static bool take_spaces(fgi_encoder *e, const added_token *token, fgi_str text, size_t least,
                        size_t *start, size_t *end)
{
    size_t size;
    if (token->single_word &&
        (is_char(e, true, text, *start, true, &size) || is_char(e, true, text, *end, false, &size)))
        return false;
    while (token->lstrip && *start > least && is_char(e, false, text, *start, true, &size))
        *start -= size;
    while (token->rstrip && is_char(e, false, text, *end, false, &size))
        *end += size;
    return true;
}

static void run_added(const fgi_step *step, fgi_encoder *e, fgi_str piece)
{
    const struct fgi_added_tokens *a = step->added;
    size_t passed = 0, at = 0;
    while (at < piece.size) {
        const added_token *token = token_at(a, (fgi_str){piece.data + at, piece.size - at});
        size_t start = at, end = token != NULL ? at + token->text.size : at + 1;
        at = end;
        if (token == NULL || !take_spaces(e, token, piece, passed, &start, &end))
            continue;
        fgi_pass(step, e, (fgi_str){piece.data + passed, start - passed});
        fgi_put_token(e, token->index);
        at = passed = end;
    }
    fgi_pass(step, e, (fgi_str){piece.data + passed, piece.size - passed});
}

/* ---- creating -------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const fgi_str x = ((const added_token *)a)->text, y = ((const added_token *)b)->text;
    const int byte = (unsigned char)x.data[0] - (unsigned char)y.data[0];
    return byte != 0 ? byte : (x.size < y.size) - (x.size > y.size);
}

static fg_status read_token(fg_tokenizer *t, const json_t *given, bool is_normalized,
                            added_token *out, fg_error *err)
{
    fgi_buf text = {0};
    const char *content = json_string_value(json_object_get(given, "content"));
    fg_status status = FG_OK;
    if (is_normalized)
        status = fgi_normalize(t, content, &text, err);
    else
        fgi_buf_puts(&text, content);
    if (status == FG_OK)
        status = fgi_buf_status(&text, err);
    *out = (added_token){
        .text = {fgi_arena_strdup(&t->vocabulary.arena, fgi_buf_text(&text)), text.size},
        .index = (int32_t)json_integer_value(json_object_get(given, "id")),
        .single_word = json_is_true(json_object_get(given, "single_word")),
        .lstrip = json_is_true(json_object_get(given, "lstrip")),
        .rstrip = json_is_true(json_object_get(given, "rstrip"))};
    fgi_buf_fini(&text);
    return status == FG_OK && out->text.data == NULL ? fgi_no_memory(err) : status;
}

static fg_status read_tokens(fg_tokenizer *t, struct fgi_added_tokens *a, const json_t *tokens,
                             bool is_normalized, fg_error *err)
{
    const json_t *given;
    size_t i;
    json_array_foreach(tokens, i, given)
    {
        added_token *token = &a->tokens[a->count];
        if (json_is_true(json_object_get(given, "normalized")) != is_normalized)
            continue;
        FGI_TRY(read_token(t, given, is_normalized, token, err));
        t->vocabulary.tokens[token->index].text = token->text.data; /* what decoders receive */
        t->vocabulary.tokens[token->index].size = (uint32_t)token->text.size;
        a->count += token->text.size > 0;
        const bool has_condition = token->single_word || token->lstrip || token->rstrip;
        if (has_condition && t->word == NULL)
            FGI_TRY(fgi_regex_create(t->name, "\\w", false, &t->word, err));
        if (has_condition && t->space == NULL)
            FGI_TRY(fgi_regex_create(t->name, "\\s", false, &t->space, err));
    }
    return FG_OK;
}

fg_status fgi_added_add(fg_tokenizer *t, const json_t *tokens, bool is_normalized, fg_error *err)
{
    fgi_step *step = NULL;
    struct fgi_added_tokens *a = t->added[is_normalized] = fgi_calloc(1, sizeof *a);
    if (a == NULL ||
        (a->tokens = fgi_calloc(json_array_size(tokens) + 1, sizeof *a->tokens)) == NULL)
        return fgi_no_memory(err);
    FGI_TRY(read_tokens(t, a, tokens, is_normalized, err));
    if (a->count == 0)
        return FG_OK;
    qsort(a->tokens, a->count, sizeof *a->tokens, compare);
    for (size_t i = 0; i < a->count; i++)
        a->first[(unsigned char)a->tokens[i].text.data[0] + 1] = i + 1;
    for (size_t byte = 1; byte < 257; byte++)
        if (a->first[byte] == 0)
            a->first[byte] = a->first[byte - 1];
    FGI_TRY(fgi_step_add(t, &step, err));
    *step = (fgi_step){.run = run_added, .added = a};
    return FG_OK;
}

void fgi_added_destroy(struct fgi_added_tokens *added)
{
    if (added != NULL)
        fgi_free(added->tokens);
    fgi_free(added);
}
