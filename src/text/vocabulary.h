/* vocabulary.h - tokens and their indices.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TEXT_VOCABULARY_H
#define FGI_TEXT_VOCABULARY_H

#include <jansson.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/text.h"

typedef struct fgi_token {
    const char *text; /* NULL: no token has this index */
    uint32_t size;    /* bytes */
    int32_t index;
    bool is_special;
} fgi_token;

/* Zero-initialize it. */
typedef struct fgi_vocabulary {
    fgi_arena arena;
    fgi_token *tokens; /* by index */
    size_t count;      /* the largest index + 1 */
    fgi_map by_text;   /* fgi_token */
} fgi_vocabulary;

/* Adds the members of "vocab", {token: index} or [[token, score], ...], and the "added_tokens",
 * [{content, id, special}], of the file `where`. Errors: FG_EFORMAT, FG_ENOMEM. */
fg_status fgi_vocabulary_init(fgi_vocabulary *v, const char *where, const json_t *vocab,
                              const json_t *added, fg_error *err);
void fgi_vocabulary_fini(fgi_vocabulary *v);

/* The index of a token, -1: there is none. */
static inline int32_t fgi_vocabulary_find(const fgi_vocabulary *v, const char *text, size_t size)
{
    const fgi_token *token = fgi_map_get(&v->by_text, fgi_hash_bytes(text, size));
    return token != NULL ? token->index : -1;
}

#endif
