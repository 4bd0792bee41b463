/* vocabulary.c - see vocabulary.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/vocabulary.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

enum { MOST_TOKENS = 1 << 24, MOST_GAPS = 16 /* indices per token */ };

static bool is_index(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) < MOST_TOKENS;
}

/* Grows *count to the largest index + 1. */
static fg_status measure(const char *where, const char *token, const json_t *index, size_t *count,
                         fg_error *err)
{
    if (!is_index(index))
        return fgi_fail(err, FG_EFORMAT, "%s: token '%.80s': expected an index from 0 to %d", where,
                        token != NULL ? token : "", (int)MOST_TOKENS - 1);
    const size_t needed = (size_t)json_integer_value(index) + 1;
    *count = needed > *count ? needed : *count;
    return FG_OK;
}

static fg_status put(fgi_vocabulary *v, const char *where, const char *text, size_t index,
                     fg_error *err)
{
    fgi_token *token = &v->tokens[index];
    if (token->text != NULL && strcmp(token->text, text) == 0)
        return FG_OK; /* an added token that the model has, too */
    if (token->text != NULL)
        return fgi_fail(err, FG_EFORMAT, "%s: tokens '%.80s' and '%.80s' have the same index, %zu",
                        where, token->text, text, index);
    const size_t size = strlen(text);
    *token = (fgi_token){fgi_arena_strdup(&v->arena, text), (uint32_t)size, (int32_t)index, false};
    return token->text != NULL && fgi_map_put(&v->by_text, fgi_hash_bytes(text, size), token)
               ? FG_OK
               : fgi_no_memory(err);
}

static const char *content_of(const json_t *added, const json_t **out_index)
{
    const char *text = json_string_value(json_object_get(added, "content"));
    *out_index = text != NULL ? json_object_get(added, "id") : NULL;
    return text;
}

/* Tokens whose indices are their places. */
static fg_status put_list(fgi_vocabulary *v, const char *where, const json_t *list, fg_error *err)
{
    const json_t *entry;
    size_t i;
    if (json_array_size(list) > MOST_TOKENS)
        return fgi_fail(err, FG_EFORMAT, "%s: vocab: more than %d tokens", where, (int)MOST_TOKENS);
    json_array_foreach(list, i, entry)
    {
        const char *text = json_string_value(json_array_get(entry, 0));
        if (text == NULL || !json_is_number(json_array_get(entry, 1)))
            return fgi_fail(err, FG_EFORMAT,
                            "%s: entry %zu of vocab: expected [token, log probability]", where, i);
        FGI_TRY(put(v, where, text, i, err));
    }
    return FG_OK;
}

fg_status fgi_vocabulary_init(fgi_vocabulary *v, const char *where, const json_t *vocab,
                              const json_t *added, fg_error *err)
{
    const char *text;
    json_t *index;
    const json_t *entry, *id;
    size_t i;
    if (!json_is_object(vocab) && !json_is_array(vocab))
        return fgi_fail(err, FG_EFORMAT,
                        "%s: vocab: expected {token: index}, or a list of [token, log "
                        "probability]",
                        where);
    v->count = json_array_size(vocab);
    json_object_foreach((json_t *)vocab, text, index)
        FGI_TRY(measure(where, text, index, &v->count, err));
    json_array_foreach(added, i, entry)
    {
        text = content_of(entry, &id);
        FGI_TRY(measure(where, text, id, &v->count, err));
    }
    const size_t given = json_array_size(vocab) + json_object_size(vocab) + json_array_size(added);
    if (v->count / MOST_GAPS > given + 1024)
        return fgi_fail(err, FG_EFORMAT, "%s: the largest index is %zu, but it has only %zu tokens",
                        where, v->count - 1, given);
    v->tokens = fgi_calloc(v->count + 1, sizeof *v->tokens);
    if (v->tokens == NULL)
        return fgi_no_memory(err);
    json_object_foreach((json_t *)vocab, text, index)
        FGI_TRY(put(v, where, text, (size_t)json_integer_value(index), err));
    FGI_TRY(put_list(v, where, vocab, err));
    json_array_foreach(added, i, entry)
    {
        text = content_of(entry, &id);
        const int32_t known = fgi_vocabulary_find(v, text, strlen(text));
        if (known >= 0 && known != json_integer_value(id))
            return fgi_fail(err, FG_EFORMAT,
                            "%s: added_tokens: '%.80s' has index %" JSON_INTEGER_FORMAT
                            ", but %d in vocab: expected one of them",
                            where, text, json_integer_value(id), (int)known);
        FGI_TRY(put(v, where, text, (size_t)json_integer_value(id), err));
        v->tokens[json_integer_value(id)].is_special =
            json_is_true(json_object_get(entry, "special"));
    }
    return FG_OK;
}

void fgi_vocabulary_fini(fgi_vocabulary *v)
{
    fgi_map_fini(&v->by_text);
    fgi_free(v->tokens);
    fgi_arena_fini(&v->arena);
}
