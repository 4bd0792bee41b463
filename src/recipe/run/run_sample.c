/* run_sample.c - continues a text with a language model: the prompt fills a key/value cache, then
 * each token is drawn from the logits of the one before, which only it computes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/transformer.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "recipe/run/run.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/number.h"
#include "base/rng.h"

typedef struct candidate {
    double value; /* logit, then probability */
    int32_t token;
} candidate;

typedef struct sampler {
    fg_recipe *r;
    const fg_tokenizer *tokenizer;
    fg_sample_options o;
    fg_trace *trace;
    fg_kv_cache *cache;
    fg_token_list tokens; /* the prompt and what was drawn */
    int64_t length;       /* positions of the cache */
    int64_t filled;       /* of these, with keys and values of the last tokens but the new ones */
    float *logits;
    candidate *order;
    int64_t vocabulary;
    fgi_key key;
} sampler;

bool fgi_run_is_sampling(const fg_recipe *r)
{
    return r->kind == FG_RECIPE_PREDICT && r->evaluate.sample.prompt != NULL;
}

fg_status fgi_run_sample_check(const fg_recipe *r, fg_error *err)
{
    const fg_sample_options *o = &r->evaluate.sample;
    const bool is_language = strcmp(r->c->task, "language") == 0;
    if (r->kind != FG_RECIPE_PREDICT || is_language != fgi_run_is_sampling(r))
        return r->kind != FG_RECIPE_PREDICT ? FG_OK
               : is_language
                   ? fgi_fail(err, FG_EINVAL,
                              "a language model continues a text: pass --prompt=TEXT")
                   : fgi_fail(err, FG_EINVAL,
                              "prompt: the model's task is %s: only language models continue a "
                              "text",
                              r->c->task);
    if (o->max_tokens < 0 || o->top_k < 0 || !(fgi_or_default(o->temperature, 1) >= 0) ||
        !(o->top_p >= 0 && o->top_p <= 1))
        return fgi_fail(err, FG_EINVAL,
                        "sampling: expected max_tokens, top_k and temperature of at least 0, and "
                        "top_p from 0 to 1");
    return FG_OK;
}

/* ---- the model ------------------------------------------------------------------------------- */

/* The logits after the last `count` tokens, which follow those in the cache. */
static fg_status compute(sampler *s, int64_t count, fg_error *err)
{
    const fg_type type = {.dtype = FG_S32, .rank = 2, .dim = {1, count}};
    const int32_t *last = s->tokens.at + s->tokens.count - (size_t)count;
    fg_scalar position = {.dtype = FG_S32, .value.s32 = (int32_t)s->filled};
    fg_array *x = NULL, *y = NULL;
    fg_status status;
    FGI_DONE(fg_array_create(fg_trainer_client(s->r->trainer), &type, last, &x, err));
    fg_kv_cache_begin(s->cache, fg_scalar_value(s->trace, &position));
    const fg_tensor all = fg_model_apply(s->r->task.model, fg_input(s->trace, x));
    fg_kv_cache_end(s->cache);
    const int64_t *dim = (const int64_t[]){1, count, s->vocabulary};
    const fg_tensor one = fg_slice(all, (const int64_t[]){0, count - 1, 0}, dim, NULL);
    const fg_tensor logits = fg_cast(one, FG_F32);
    FGI_DONE(fg_run(s->trace, &logits, 1, &y, err));
    FGI_DONE(fg_array_read(y, s->logits, (size_t)s->vocabulary * sizeof *s->logits, err));
    s->filled += count;
done:
    fg_array_release(x);
    fg_array_release(y);
    return status;
}

/* The logits of the next token. When the cache is full, the later half of it begins a new one. */
static fg_status advance(sampler *s, fg_error *err)
{
    const int64_t all = (int64_t)s->tokens.count, half = (s->length + 1) / 2;
    if (s->filled > 0 && s->filled < s->length)
        return compute(s, 1, err);
    const int64_t most = s->filled > 0 ? half : s->length;
    s->filled = 0;
    return compute(s, all < most ? all : most, err);
}

/* ---- drawing --------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    return (x->token > y->token) - (x->token < y->token);
}

/* Replaces the logits of the first `count` by probabilities; returns how many top_p keeps. */
static int64_t keep_likely(candidate *order, int64_t count, double temperature, double top_p)
{
    double sum = 0, reached = 0;
    const double most = order[0].value;
    for (int64_t i = 0; i < count; i++)
        sum += order[i].value = exp((order[i].value - most) / temperature);
    for (int64_t i = 0; i < count; i++) {
        order[i].value /= sum;
        reached += order[i].value;
        if (reached >= top_p)
            return i + 1;
    }
    return count;
}

static int32_t draw(sampler *s)
{
    const double temperature = fgi_or_default(s->o.temperature, 1);
    const double top_p = s->o.top_p > 0 ? s->o.top_p : 1;
    const bool has_top_k = s->o.top_k > 0 && s->o.top_k < s->vocabulary;
    for (int64_t i = 0; i < s->vocabulary; i++)
        s->order[i] = (candidate){(double)s->logits[i], (int32_t)i};
    qsort(s->order, (size_t)s->vocabulary, sizeof *s->order, compare);
    if (temperature == 0)
        return s->order[0].token;
    const int64_t count =
        keep_likely(s->order, has_top_k ? s->o.top_k : s->vocabulary, temperature, top_p);
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += s->order[i].value;
    double left = (double)fgi_rng_uniform(s->key, s->tokens.count) * sum;
    for (int64_t i = 0; i + 1 < count; i++) {
        left -= s->order[i].value;
        if (left < 0)
            return s->order[i].token;
    }
    return s->order[count - 1].token;
}

static fg_status add_token(sampler *s, int32_t token, fg_error *err)
{
    FGI_TRY_GROW(s->tokens.at, s->tokens.count, s->tokens.capacity, err);
    s->tokens.at[s->tokens.count++] = token;
    return FG_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* The tokens of the prompt without that of the end of a document, which begins an empty one. */
static fg_status encode_prompt(sampler *s, fg_error *err)
{
    const int32_t end = fg_tokenizer_end(s->tokenizer);
    FGI_TRY(
        fg_tokenizer_encode(s->tokenizer, s->o.prompt, strlen(s->o.prompt), NULL, &s->tokens, err));
    if (s->tokens.count > 1 && s->tokens.at[s->tokens.count - 1] == end)
        s->tokens.count--;
    if (s->tokens.count == 0 && end >= 0)
        return add_token(s, end, err);
    return s->tokens.count > 0
               ? FG_OK
               : fgi_fail(err, FG_EINVAL, "the prompt is empty: expected at least one character");
}

static fg_status begin(sampler *s, fg_error *err)
{
    fg_recipe *r = s->r;
    if (s->tokenizer == NULL)
        return fgi_fail(err, FG_EINVAL,
                        "the model was trained on tokens without a tokenizer: expected "
                        "data.format text");
    s->vocabulary = r->task.outputs;
    s->length = r->task.input.dim[0];
    s->logits = fgi_calloc((size_t)s->vocabulary, sizeof *s->logits);
    s->order = fgi_calloc((size_t)s->vocabulary, sizeof *s->order);
    if (s->logits == NULL || s->order == NULL)
        return fgi_no_memory(err);
    FGI_TRY(encode_prompt(s, err));
    FGI_TRY(fg_trainer_restore(r->trainer, &r->task.task, err));
    fg_module *root = fg_trainer_module(r->trainer);
    s->cache = fg_kv_cache_create(root, 1, s->length);
    FGI_TRY(fg_module_error(root, err));
    FGI_TRY(fg_trace_create(fg_trainer_client(r->trainer), &s->trace, err));
    return fg_trace_set_precision(s->trace, r->c->trainer.numerics.precision, err);
}

static fg_status sample(sampler *s, fg_error *err)
{
    const int32_t end = fg_tokenizer_end(s->tokenizer);
    const int64_t most = s->o.max_tokens > 0 ? s->o.max_tokens : 256;
    FGI_TRY(begin(s, err));
    for (int64_t i = 0; i < most; i++) {
        FGI_TRY(advance(s, err));
        const int32_t token = draw(s);
        if (token == end)
            break;
        FGI_TRY(add_token(s, token, err));
    }
    char *text = NULL;
    FGI_TRY(fg_tokenizer_decode(s->tokenizer, s->tokens.at, s->tokens.count,
                                &(fg_decode_options){.skip_special = true}, &text, NULL, err));
    s->r->outcome.text = text;
    return FG_OK;
}

fg_status fgi_run_sample(fg_recipe *r, fg_error *err)
{
    sampler s = {.r = r, .tokenizer = r->data.tokenizer, .o = r->evaluate.sample};
    s.key = fgi_key_fold_text(fgi_key_from_seed(s.o.seed), "sample");
    const fg_status status = sample(&s, err);
    fg_trace_destroy(s.trace);
    fgi_free(s.logits);
    fgi_free(s.order);
    fg_free(s.tokens.at);
    return status;
}
