/* next_tokens.h - windows of tokens as samples of a language model.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_NEXT_TOKENS_H
#define FGI_DATA_NEXT_TOKENS_H

#include <fulgurite/data.h>
#include <fulgurite/tokenizer.h>

/* Appends a token. Error: FG_ENOMEM. */
fg_status fgi_token_put(fg_token_list *list, int32_t token, fg_error *err);

/* Whether the only field is "tokens", integers T[N + 1], such as of a pack of tokens. */
bool fgi_is_token_windows(const fg_dataset *dataset);
/* Replaces such a dataset by one with fields "tokens" s32[N], all but the last, and "next" s32[N],
 * all but the first. class_count is `vocabulary`; 0: 256 for bytes, otherwise the largest token +
 * 1, for which all samples are read. The old dataset is released, also on failure. Errors:
 * FG_EFORMAT (a negative token), FG_ENOMEM, and those of reading. */
fg_status fgi_next_tokens(int64_t vocabulary, fg_dataset **dataset, fg_error *err);
/* Windows of `length` tokens and the one that follows, as fgi_is_token_windows describes; up to
 * length - 1 tokens at the end are not used. Takes the list. Errors: FG_EINVAL (too few for one
 * window; the message begins with `where`), FG_ENOMEM. */
fg_status fgi_token_windows(const char *where, fg_token_list *take_tokens, int64_t length,
                            fg_dataset **out, fg_error *err);

#endif
