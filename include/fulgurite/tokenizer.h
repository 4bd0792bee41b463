/* tokenizer.h - text to token indices and back, as Hugging Face's tokenizers do.
 *
 * A tokenizer is a file tokenizer.json, which published language models include, or "bytes": each
 * byte is its own index, from 0 to 255, without a file.
 *
 * Of a tokenizer.json, all of these are supported; anything else is an error that names it:
 *
 *   models          BPE (byte-level, and with byte fallback as in SentencePiece), WordPiece,
 *                   Unigram (also with byte fallback)
 *   normalizers     NFC, NFD, NFKC, NFKD, Lowercase, Strip, StripAccents, Replace, Prepend,
 *                   BertNormalizer, Precompiled
 *   pre-tokenizers  ByteLevel, Split, Whitespace, WhitespaceSplit, Punctuation, Digits,
 *                   CharDelimiterSplit, BertPreTokenizer, Metaspace
 *   post-processors TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel
 *   decoders        ByteLevel, WordPiece, BPEDecoder, Metaspace, ByteFallback, Fuse, Strip, Replace
 *
 * and a Sequence of them. The settings "truncation" and "padding" are ignored. Regular expressions
 * require PCRE2 (libpcre2-8), normalization forms and lower case require utf8proc; both libraries
 * are loaded when they are needed.
 *
 * Source: https://huggingface.co/docs/tokenizers; Sennrich et al. 2016, "Neural machine translation
 * of rare words with subword units" (BPE); Devlin et al. 2019, "BERT" (WordPiece);
 * Kudo 2018, "Subword regularization" (Unigram).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_TOKENIZER_H
#define FULGURITE_TOKENIZER_H

#include <fulgurite/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A tokenizer; thread-safe, it does not change after it was opened. */
typedef struct fg_tokenizer fg_tokenizer;

/* Opens a file tokenizer.json, a folder that contains one, or "bytes". Errors: FG_ENOTFOUND,
 * FG_EIO, FG_EFORMAT (invalid JSON, or a missing or contradictory member), FG_EUNSUPPORTED (a
 * component that is not in the list above, or a library that is not installed), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_tokenizer_open(const char *path, fg_tokenizer **out, fg_error *err);
/* The same from the content of a file; name is for messages. */
FG_API FG_MUST_USE fg_status fg_tokenizer_parse(const char *name, const char *json, size_t size,
                                                fg_tokenizer **out, fg_error *err);
/* NULL is allowed. */
FG_API void fg_tokenizer_destroy(fg_tokenizer *tokenizer);

/* The number of indices: the largest one + 1, which includes added tokens. */
FG_API int64_t fg_tokenizer_size(const fg_tokenizer *tokenizer);
/* The content of the file, *out_size bytes and a NUL, borrowed; NULL for "bytes". out_size may be
 * NULL. */
FG_API const char *fg_tokenizer_json(const fg_tokenizer *tokenizer, size_t *out_size);
/* The index of a token as the file spells it, such as "<|endoftext|>"; -1: there is none. */
FG_API int32_t fg_tokenizer_index(const fg_tokenizer *tokenizer, const char *token);
/* The token that ends a document: the first of <|endoftext|>, <|end_of_text|>, </s>, <eos>, [SEP]
 * that the tokenizer has; -1: none. */
FG_API int32_t fg_tokenizer_end(const fg_tokenizer *tokenizer);

/* Tokens that encoding appends to. Zero-initialize it; free `at` with fg_free. */
typedef struct fg_token_list {
    int32_t *at;
    size_t count, capacity;
} fg_token_list;

typedef struct fg_encode_options {
    bool no_special; /* do not add the post-processor's tokens, such as [CLS] and [SEP]  [false] */
    uint64_t reserved[2];
} fg_encode_options;

/* Appends the tokens of `size` bytes of UTF-8 text to out. Special tokens that the text spells out,
 * such as "<|endoftext|>", become their index. options may be NULL. On failure, out has its old
 * count. Errors: FG_EFORMAT (not UTF-8; the message has the offset, except for "bytes", which
 * accepts all), FG_EINVAL (a regular expression exceeds its limits), FG_ENOMEM (also for a text
 * over 1 GiB). */
FG_API FG_MUST_USE fg_status fg_tokenizer_encode(const fg_tokenizer *tokenizer, const char *text,
                                                 size_t size, const fg_encode_options *options,
                                                 fg_token_list *out, fg_error *err);

typedef struct fg_decode_options {
    bool skip_special; /* leave out special tokens                                       [false] */
    uint64_t reserved[2];
} fg_decode_options;

/* The text of tokens, *out_size bytes and a NUL, with bytes that are no UTF-8 replaced by U+FFFD;
 * free *out with fg_free. Indices that the tokenizer lacks are left out. options and out_size may
 * be NULL. Errors: FG_EINVAL, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_tokenizer_decode(const fg_tokenizer *tokenizer,
                                                 const int32_t *tokens, size_t count,
                                                 const fg_decode_options *options, char **out,
                                                 size_t *out_size, fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
