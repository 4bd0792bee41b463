/* wordpiece.c - WordPiece: the longest token that begins a word, then the longest one that
 * continues it, and so on. Source: Wu et al. 2016, "Google's neural machine translation system";
 * BERT.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "text/tokenizer.h"

struct fgi_wordpiece {
    const char *prefix; /* of tokens that continue a word: "##" */
    int32_t unknown;
    int64_t most;   /* characters of a word; a longer one is unknown */
    size_t longest; /* bytes of a token */
};

/* The longest token at `at`; -1: none. *out_end: where it ends. */
static int32_t longest_token(const fgi_wordpiece *w, fgi_encoder *e, fgi_str word, size_t at,
                             size_t *out_end)
{
    const size_t before = at > 0 ? strlen(w->prefix) : 0;
    size_t size = word.size - at < w->longest ? word.size - at : w->longest;
    fgi_buf_clear(&e->symbols);
    fgi_buf_add(&e->symbols, w->prefix, before);
    fgi_buf_add(&e->symbols, word.data + at, size);
    for (; size > 0 && !e->symbols.failed; size--) {
        const int32_t token =
            fgi_vocabulary_find(&e->t->vocabulary, e->symbols.data, before + size);
        *out_end = at + size;
        if (token >= 0)
            return token;
    }
    return -1;
}

static int64_t count_characters(fgi_str text)
{
    int64_t count = 0;
    for (size_t i = 0; i < text.size; i++)
        count += ((unsigned char)text.data[i] & 0xc0) != 0x80;
    return count;
}

static void run_wordpiece(const fgi_step *step, fgi_encoder *e, fgi_str word)
{
    (void)step;
    const fgi_wordpiece *w = e->t->wordpiece;
    const size_t before = e->out->count;
    size_t at = count_characters(word) <= w->most ? 0 : word.size + 1, end = 0;
    for (; at < word.size; at = end) {
        const int32_t token = longest_token(w, e, word, at, &end);
        if (token < 0)
            break;
        fgi_put_token(e, token);
    }
    if (e->symbols.failed && e->status == FG_OK)
        e->status = fgi_no_memory(e->err);
    if (at == word.size)
        return;
    e->out->count = before;
    fgi_put_token(e, w->unknown);
}

fg_status fgi_wordpiece_add(fg_tokenizer *t, const json_t *model, fg_error *err)
{
    fgi_step *step = NULL;
    fgi_wordpiece *w = t->wordpiece = fgi_calloc(1, sizeof *w);
    const char *unknown = json_string_value(json_object_get(model, "unk_token"));
    const char *prefix = json_string_value(json_object_get(model, "continuing_subword_prefix"));
    if (w == NULL)
        return fgi_no_memory(err);
    w->unknown = fg_tokenizer_index(t, unknown);
    w->most = json_integer_value(json_object_get(model, "max_input_chars_per_word"));
    w->prefix = fgi_arena_strdup(&t->vocabulary.arena, prefix);
    for (size_t i = 0; i < t->vocabulary.count; i++)
        if (t->vocabulary.tokens[i].size > w->longest)
            w->longest = t->vocabulary.tokens[i].size;
    if (w->prefix == NULL)
        return fgi_no_memory(err);
    if (w->unknown < 0)
        return fgi_fail(err, FG_EFORMAT, "%s: unk_token '%.80s' is not in vocab", t->name, unknown);
    FGI_TRY(fgi_step_add(t, &step, err));
    *step = (fgi_step){.run = run_wordpiece};
    return FG_OK;
}

void fgi_wordpiece_destroy(fgi_wordpiece *wordpiece) { fgi_free(wordpiece); }
