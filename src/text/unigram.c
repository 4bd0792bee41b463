/* unigram.c - the unigram language model: of all divisions of a word into tokens, the one whose
 * tokens have the largest sum of log probabilities (Viterbi), with a trie of the tokens. Source:
 * Kudo 2018, "Subword regularization"; SentencePiece.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "text/tokenizer.h"

/* What an unknown character costs more than the least probable token. */
static const double UNKNOWN_PENALTY = 10;

struct fgi_unigram {
    double *scores; /* log probabilities, by index */
    int32_t *nodes; /* of the trie: the token that ends there, -1: none; 0 is the root */
    int32_t node_count;
    fgi_map next; /* node and byte: an element of `nodes` */
    int32_t bytes[256];
    int32_t unknown; /* -1: characters without a token are an error */
    double unknown_score;
    bool falls_back;
};

/* The best division of the text up to a byte: its last token, and where that begins. */
typedef struct place {
    double score;
    int32_t token;
    int64_t start; /* -1: no division ends here */
    size_t end;    /* of the part that begins here, of the best division of the whole text */
} place;

static void offer(place *end, double score, int32_t token, size_t start)
{
    if (end->start < 0 || score > end->score)
        *end = (place){score, token, (int64_t)start, 0};
}

/* Continues the division up to `at` with each token that begins there; a character that is no token
 * is unknown. Returns where the character ends. */
static size_t extend(const fgi_unigram *u, fgi_str word, place *best, size_t at)
{
    size_t size;
    bool has_single = false;
    const int32_t *node = u->nodes;
    (void)fgi_utf8_decode(word.data + at, &size);
    for (size_t end = at + 1; end <= word.size; end++) {
        const unsigned char byte = (unsigned char)word.data[end - 1];
        node = fgi_map_get(&u->next, fgi_pair_key((int32_t)(node - u->nodes), byte));
        if (node == NULL)
            break;
        if (*node < 0)
            continue;
        offer(&best[end], u->scores[*node] + best[at].score, *node, at);
        has_single = has_single || end == at + size;
    }
    if (!has_single)
        offer(&best[at + size], u->unknown_score + best[at].score, u->unknown, at);
    return at + size;
}

/* A token, or several unknown characters: the tokens of their bytes, if all have one. */
static void put_part(const fgi_unigram *u, fgi_encoder *e, fgi_str part)
{
    const int32_t token = fgi_vocabulary_find(&e->t->vocabulary, part.data, part.size);
    bool has_bytes = u->falls_back && token < 0;
    for (size_t i = 0; i < part.size && has_bytes; i++)
        has_bytes = u->bytes[(unsigned char)part.data[i]] >= 0;
    for (size_t i = 0; i < part.size && has_bytes; i++)
        fgi_put_token(e, u->bytes[(unsigned char)part.data[i]]);
    if (has_bytes)
        return;
    if (token < 0 && u->unknown < 0 && e->status == FG_OK)
        e->status =
            fgi_fail(e->err, FG_EFORMAT, "%s: no token for '%.*s', and the model has no unk_id",
                     e->t->name, part.size > 40 ? 40 : (int)part.size, part.data);
    fgi_put_token(e, token >= 0 ? token : u->unknown);
}

/* Puts the parts of the best division; neighbors that are unknown are one part. */
static void put_parts(const fgi_unigram *u, fgi_encoder *e, fgi_str word, place *best)
{
    bool was_unknown = false;
    size_t part_end = word.size;
    for (size_t end = word.size; end > 0; end = (size_t)best[end].start) {
        const bool is_unknown = best[end].token == u->unknown;
        part_end = is_unknown && was_unknown ? part_end : end;
        best[best[end].start].end = part_end;
        was_unknown = is_unknown;
    }
    for (size_t at = 0; at < word.size && e->status == FG_OK; at = best[at].end)
        put_part(u, e, (fgi_str){word.data + at, best[at].end - at});
}

static void run_unigram(const fgi_step *step, fgi_encoder *e, fgi_str word)
{
    (void)step;
    const fgi_unigram *u = e->t->unigram;
    const place none = {.start = -1};
    fgi_buf_clear(&e->symbols);
    for (size_t i = 0; i <= word.size; i++)
        fgi_buf_add(&e->symbols, &none, sizeof none);
    if (e->symbols.failed) {
        e->status = e->status == FG_OK ? fgi_no_memory(e->err) : e->status;
        return;
    }
    place *best = (place *)(void *)e->symbols.data;
    for (size_t at = 0; at < word.size;)
        at = extend(u, word, best, at);
    put_parts(u, e, word, best);
}

/* ---- from JSON ------------------------------------------------------------------------------- */

static fg_status add_token(fgi_unigram *u, const fgi_token *token, fg_error *err)
{
    int32_t at = 0;
    for (uint32_t i = 0; i < token->size; i++) {
        const fgi_hash key = fgi_pair_key(at, (unsigned char)token->text[i]);
        const int32_t *node = fgi_map_get(&u->next, key);
        if (node == NULL) {
            node = &u->nodes[u->node_count++];
            if (!fgi_map_put(&u->next, key, (void *)node))
                return fgi_no_memory(err);
        }
        at = (int32_t)(node - u->nodes);
    }
    u->nodes[at] = token->index;
    return FG_OK;
}

static fg_status read_tokens(const fg_tokenizer *t, fgi_unigram *u, const json_t *vocab,
                             fg_error *err)
{
    const json_t *entry;
    size_t i, room = 1;
    double least = INFINITY;
    for (i = 0; i < json_array_size(vocab); i++)
        room += t->vocabulary.tokens[i].size;
    u->scores = fgi_calloc(json_array_size(vocab) + 1, sizeof *u->scores);
    u->nodes = fgi_alloc(room * sizeof *u->nodes);
    if (u->scores == NULL || u->nodes == NULL)
        return fgi_no_memory(err);
    memset(u->nodes, 0xff, room * sizeof *u->nodes);
    u->node_count = 1;
    json_array_foreach(vocab, i, entry)
    {
        u->scores[i] = json_number_value(json_array_get(entry, 1));
        least = fmin(least, u->scores[i]);
        if (t->vocabulary.tokens[i].size > 0)
            FGI_TRY(add_token(u, &t->vocabulary.tokens[i], err));
    }
    u->unknown_score = least - UNKNOWN_PENALTY;
    return FG_OK;
}

fg_status fgi_unigram_add(fg_tokenizer *t, const json_t *model, fg_error *err)
{
    fgi_step *step = NULL;
    fgi_unigram *u = t->unigram = fgi_calloc(1, sizeof *u);
    const json_t *vocab = json_object_get(model, "vocab"), *unknown;
    if (u == NULL)
        return fgi_no_memory(err);
    if (json_array_size(vocab) == 0)
        return fgi_fail(err, FG_EFORMAT, "%s: vocab: expected a list of [token, log probability]",
                        t->name);
    unknown = json_object_get(model, "unk_id");
    u->unknown = json_is_integer(unknown) ? (int32_t)json_integer_value(unknown) : -1;
    if (u->unknown >= (int64_t)json_array_size(vocab) ||
        (json_is_integer(unknown) && json_integer_value(unknown) < 0))
        return fgi_fail(err, FG_EFORMAT, "%s: unk_id %" JSON_INTEGER_FORMAT " is not in vocab",
                        t->name, json_integer_value(unknown));
    u->falls_back = json_is_true(json_object_get(model, "byte_fallback"));
    fgi_byte_tokens(t, u->bytes);
    FGI_TRY(read_tokens(t, u, vocab, err));
    FGI_TRY(fgi_step_add(t, &step, err));
    *step = (fgi_step){.run = run_unigram};
    return FG_OK;
}

void fgi_unigram_destroy(fgi_unigram *u)
{
    if (u == NULL)
        return;
    fgi_map_fini(&u->next);
    fgi_free(u->nodes);
    fgi_free(u->scores);
    fgi_free(u);
}
