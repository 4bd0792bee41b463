/* next_tokens.h - windows of tokens as samples of a language model.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_NEXT_TOKENS_H
#define FGI_DATA_NEXT_TOKENS_H

#include <fulgurite/data.h>
#include <fulgurite/tokenizer.h>

#include "base/text.h"

/* The tokens of documents. Zero-initialize it; `bytes` is freed with fgi_free, the list as always.
 */
typedef struct fgi_documents {
    fg_token_list tokens;
    float *bytes; /* of text that each token encodes; NULL: one each */
    size_t capacity;
} fgi_documents;

/* Appends a document: its tokens, and the end token unless it is there already or the tokenizer
 * has none. Errors: those of fg_tokenizer_encode. */
fg_status fgi_documents_add(const fg_tokenizer *t, fgi_str text, fgi_documents *out, fg_error *err);

/* Whether the only field is "tokens", integers T[N + 1], such as of a pack of tokens. */
bool fgi_is_token_windows(const fg_dataset *dataset);
/* Replaces such a dataset by one with fields "tokens" s32[N], all but the last, and "next" s32[N],
 * all but the first, and "bytes" if it has them. class_count is `vocabulary`; 0: 256 for bytes,
 * otherwise the largest token + 1, for which all samples are read. The old dataset is released,
 * also on failure. Errors: FG_EFORMAT (a negative token), FG_ENOMEM, and those of reading. */
fg_status fgi_next_tokens(int64_t vocabulary, fg_dataset **dataset, fg_error *err);
/* Windows of `length` tokens and the one that follows, as fgi_is_token_windows describes, and, if
 * they are known, a field "bytes" f32[length], those of the tokens that follow; up to length - 1
 * tokens at the end are not used. Takes the documents. Errors: FG_EINVAL (too few for one
 * window; the message begins with `where`), FG_ENOMEM. */
fg_status fgi_token_windows(const char *where, fgi_documents *take, int64_t length,
                            fg_dataset **out, fg_error *err);

#endif
