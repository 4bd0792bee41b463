/* tokenizer.h - an encoding is a chain of steps. Each receives a piece of text, changes or splits
 * it, and passes the results to the next one; the last step, the model, appends tokens. So a text
 * is only kept as far as a step changes it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TEXT_TOKENIZER_H
#define FGI_TEXT_TOKENIZER_H

#include <fulgurite/tokenizer.h>
#include <jansson.h>

#include "text/regex.h"
#include "text/unicode.h"
#include "text/vocabulary.h"

enum { FGI_MOST_STEPS = 32 };

typedef struct fgi_step fgi_step;
typedef struct fgi_encoder fgi_encoder;
typedef struct fgi_charsmap fgi_charsmap;

/* What becomes of the matches of a split, and of the text between them, in the order of
 * `behavior`'s words. */
typedef enum fgi_split_kind {
    FGI_SPLIT_REMOVED,
    FGI_SPLIT_ISOLATED,
    FGI_SPLIT_MERGED_WITH_PREVIOUS,
    FGI_SPLIT_MERGED_WITH_NEXT,
    FGI_SPLIT_CONTIGUOUS
} fgi_split_kind;

struct fgi_step {
    void (*run)(const fgi_step *step, fgi_encoder *e, fgi_str piece);
    fgi_regex *regex;               /* of splits and replacements; owned */
    fgi_split_kind split;           /* of splits */
    bool is_inverted;               /* of splits: the regex matches what is between */
    bool keeps_match;               /* of replacements: `before` and `after` are put around it */
    bool if_missing, is_first_only; /* of prefixes: not if the text begins with it; only once */
    const char *before, *after;     /* the texts of replacements and prefixes; in the arena */
    fgi_text_form form;             /* of normalization forms */
    const struct fgi_added_tokens *added; /* of added tokens */
    const fgi_charsmap *charsmap;         /* of "Precompiled" */
};

typedef struct fgi_bpe fgi_bpe;
typedef struct fgi_wordpiece fgi_wordpiece;
typedef struct fgi_unigram fgi_unigram;
typedef struct fgi_decoder fgi_decoder;

struct fg_tokenizer {
    char *name; /* of the file, for messages */
    char *json; /* its content; NULL: each byte is a token */
    size_t json_size;
    fgi_vocabulary vocabulary;
    fgi_step steps[FGI_MOST_STEPS];
    size_t step_count;
    fgi_regex *word, *space;           /* of added tokens with conditions; or NULL */
    struct fgi_added_tokens *added[2]; /* found in the text as it is, and in the normalized one */
    fg_token_list first, last;         /* the tokens around a text */
    bool is_byte_level;                /* each character of a token is a byte */
    fgi_bpe *bpe;                      /* or NULL */
    fgi_wordpiece *wordpiece;          /* or NULL */
    fgi_unigram *unigram;              /* or NULL */
    fgi_decoder *decoders;             /* or NULL */
};

/* One encoding under way. */
struct fgi_encoder {
    const fg_tokenizer *t;
    fg_token_list *out;
    bool is_start; /* no text was passed to the pre-tokenizers yet */
    fgi_buf texts[FGI_MOST_STEPS];
    fgi_regex_work *works[FGI_MOST_STEPS + 2]; /* of the steps, and of `word` and `space` */
    fgi_buf symbols, heap;                     /* of the models */
    fg_status status;                          /* after a failure, nothing is done */
    fg_error *err;
};

static inline void fgi_pass(const fgi_step *step, fgi_encoder *e, fgi_str piece)
{
    if (piece.size > 0 && e->status == FG_OK)
        step[1].run(step + 1, e, piece);
}
/* Passes on what the step has written to its text. */
void fgi_pass_text(const fgi_step *step, fgi_encoder *e);
void fgi_put_token(fgi_encoder *e, int32_t token);
static inline fgi_buf *fgi_step_text(const fgi_step *step, fgi_encoder *e)
{
    fgi_buf *text = &e->texts[step - e->t->steps];
    fgi_buf_clear(text);
    return text;
}

/* The next step of the chain, to be filled; NULL: there are too many, which *status becomes. */
fg_status fgi_step_add(fg_tokenizer *t, fgi_step **out, fg_error *err);

/* Whether a component has the members of its type (members.c); "" for an added token. */
fg_status fgi_members_check(const fg_tokenizer *t, const char *kind, const char *type,
                            const json_t *given, fg_error *err);
/* The type of a component of `kind`, such as "normalizer", whose members are checked. */
fg_status fgi_type_read(const fg_tokenizer *t, const char *kind, const json_t *given,
                        const char **out, fg_error *err);

/* Steps of a "normalizer" or "pre_tokenizer" (steps.c), which may be null. */
fg_status fgi_steps_add(fg_tokenizer *t, const char *kind, const json_t *given, fg_error *err);
/* The normalizer "Precompiled" (charsmap.c). */
void fgi_run_charsmap(const fgi_step *step, fgi_encoder *e, fgi_str piece);
fg_status fgi_charsmap_read(fg_tokenizer *t, const json_t *given, fgi_step *step, fg_error *err);
/* A regular expression from {"String": ...} or {"Regex": ...}. */
fg_status fgi_pattern_read(const fg_tokenizer *t, const json_t *given, fgi_regex **out,
                           fg_error *err);
/* Appends a copy of `text` with the matches replaced by `with`. */
fg_status fgi_replace(const fgi_regex *regex, fgi_str text, const char *with, fgi_buf *out,
                      fg_error *err);

/* The step that finds added tokens (added_tokens.c), if there are any that are normalized or not.
 */
fg_status fgi_added_add(fg_tokenizer *t, const json_t *tokens, bool is_normalized, fg_error *err);
void fgi_added_destroy(struct fgi_added_tokens *added);
/* The text as the normalizers change it, without the first step; for texts of added tokens. */
fg_status fgi_normalize(fg_tokenizer *t, const char *text, fgi_buf *out, fg_error *err);

/* A key of two numbers. */
static inline fgi_hash fgi_pair_key(int32_t left, int32_t right)
{
    const uint64_t pair = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    const uint64_t mixed = pair * 0x9e3779b97f4a7c15u;
    return (fgi_hash){mixed ^ mixed >> 32, pair};
}
/* Divides the `size` bytes of a text among its `count` tokens, with those around it, which have
 * none: in proportion to the bytes that each of them spells, so they are its own bytes if the
 * tokenizer is byte-level and does not normalize. */
void fgi_token_bytes(const fg_tokenizer *t, const int32_t *tokens, size_t count, size_t size,
                     float *out);

/* The tokens "<0x00>" to "<0xFF>" of bytes; -1: there is none. */
void fgi_byte_tokens(const fg_tokenizer *t, int32_t out[256]);

/* The last step, from "model" (bpe.c, wordpiece.c, unigram.c). */
fg_status fgi_bpe_add(fg_tokenizer *t, const json_t *model, fg_error *err);
fg_status fgi_wordpiece_add(fg_tokenizer *t, const json_t *model, fg_error *err);
void fgi_bpe_destroy(fgi_bpe *bpe);
void fgi_wordpiece_destroy(fgi_wordpiece *wordpiece);
fg_status fgi_unigram_add(fg_tokenizer *t, const json_t *model, fg_error *err);
void fgi_unigram_destroy(fgi_unigram *unigram);

/* Decoders, from "decoder", which may be null (decoder.c). */
fg_status fgi_decoders_create(fg_tokenizer *t, const json_t *given, fg_error *err);
void fgi_decoders_destroy(fgi_decoder *decoders);

/* The byte-level alphabet of GPT-2: byte as a printable character, and back (-1: none). */
uint32_t fgi_byte_to_char(unsigned char byte);
int fgi_char_to_byte(uint32_t character);

#endif
