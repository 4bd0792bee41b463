/* tokenizer.c - opens tokenizers and runs their steps. The tokenizer owns all that a file
 * describes; what changes during an encoding is in its fgi_encoder.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/reserved.h"
#include "input/json_file.h"

#define FILE_NAME "tokenizer.json"
enum { MOST_FILE_BYTES = 1 << 28 };

/* ---- encoding -------------------------------------------------------------------------------- */

static fg_status put(fg_token_list *list, int32_t token, fg_error *err)
{
    FGI_TRY_GROW(list->at, list->count, list->capacity, err);
    list->at[list->count++] = token;
    return FG_OK;
}

void fgi_put_token(fgi_encoder *e, int32_t token)
{
    e->is_start = false;
    if (e->status == FG_OK)
        e->status = put(e->out, token, e->err);
}

/* Runs the steps from `first` on. */
static fg_status run(fgi_encoder *e, const fgi_step *first, fgi_str text)
{
    if (text.size > 0)
        first->run(first, e, text);
    for (size_t i = 0; i < FGI_MOST_STEPS; i++)
        fgi_buf_fini(&e->texts[i]);
    for (size_t i = 0; i < FGI_MOST_STEPS + 2; i++)
        fgi_regex_work_destroy(e->works[i]);
    fgi_buf_fini(&e->symbols);
    fgi_buf_fini(&e->heap);
    return e->status;
}

static fg_status put_all(fg_token_list *out, const fg_token_list *list, fg_error *err)
{
    for (size_t i = 0; i < list->count; i++)
        FGI_TRY(put(out, list->at[i], err));
    return FG_OK;
}

static fg_status check_text(const fg_tokenizer *t, fgi_str text, fg_error *err)
{
    size_t n;
    for (size_t i = 0; i < text.size; i += n)
        if ((n = fgi_utf8_length((const unsigned char *)text.data + i, text.size - i)) == 0)
            return fgi_fail(err, FG_EFORMAT,
                            "byte %zu of the text is not UTF-8, which tokenizer %s requires", i,
                            t->name);
    return FG_OK;
}

static fg_status encode_bytes(fgi_str text, fg_token_list *out, fg_error *err)
{
    for (size_t i = 0; i < text.size; i++)
        FGI_TRY(put(out, (unsigned char)text.data[i], err));
    return FG_OK;
}

static fg_status encode(const fg_tokenizer *t, fgi_str text, bool has_special, fg_token_list *out,
                        fg_error *err)
{
    fgi_encoder e = {.t = t, .out = out, .is_start = true, .err = err};
    if (t->json == NULL)
        return encode_bytes(text, out, err);
    FGI_TRY(check_text(t, text, err));
    if (has_special)
        FGI_TRY(put_all(out, &t->first, err));
    FGI_TRY(run(&e, t->steps, text));
    return has_special ? put_all(out, &t->last, err) : FG_OK;
}

fg_status fg_tokenizer_encode(const fg_tokenizer *t, const char *text, size_t size,
                              const fg_encode_options *options, fg_token_list *out, fg_error *err)
{
    const size_t before = out->count;
    FGI_TRY_RESERVED(fg_encode_options, options, err);
    const fg_status status =
        encode(t, (fgi_str){text, size}, options == NULL || !options->no_special, out, err);
    if (status != FG_OK)
        out->count = before;
    return status;
}

static void run_keep(const fgi_step *step, fgi_encoder *e, fgi_str piece)
{
    (void)step;
    fgi_buf_add(&e->symbols, piece.data, piece.size);
}

fg_status fgi_normalize(fg_tokenizer *t, const char *text, fgi_buf *out, fg_error *err)
{
    fgi_encoder e = {.t = t, .is_start = true, .err = err};
    fgi_step *last = NULL;
    FGI_TRY(fgi_step_add(t, &last, err));
    *last = (fgi_step){.run = run_keep};
    const fgi_step *first = t->steps;
    first += first->added != NULL; /* the added tokens of the text as it is */
    first->run(first, &e, fgi_str_of(text));
    t->step_count--;
    fgi_buf_add(out, fgi_buf_text(&e.symbols), e.symbols.size);
    out->failed = out->failed || e.symbols.failed;
    return run(&e, first, (fgi_str){NULL, 0});
}

/* ---- bytes of tokens ------------------------------------------------------------------------- */

/* The bytes of text that a token spells. */
static size_t spelled(const fg_tokenizer *t, int32_t index)
{
    const fgi_token *token = &t->vocabulary.tokens[index];
    const char *text = token->text;
    const bool is_byte = token->size == 6 && strncmp(text, "<0x", 3) == 0;
    size_t count = 0, n = 1;
    if (is_byte || token->is_special)
        return is_byte ? 1 : token->size;
    for (size_t i = 0; i < token->size; i += n) {
        const uint32_t c = fgi_utf8_decode(text + i, &n);
        count += t->is_byte_level || c == 0x2581 ? 1 : n; /* a space of SentencePiece */
    }
    return t->wordpiece != NULL && count > 2 && strncmp(text, "##", 2) == 0 ? count - 2 : count;
}

void fgi_token_bytes(const fg_tokenizer *t, const int32_t *tokens, size_t count, size_t size,
                     float *out)
{
    const size_t end = count - t->last.count;
    double sum = 0;
    for (size_t i = t->first.count; i < end; i++)
        sum += (double)spelled(t, tokens[i]);
    for (size_t i = 0; i < count; i++)
        out[i] = i < t->first.count || i >= end
                     ? 0
                     : (float)((double)spelled(t, tokens[i]) * (double)size / sum);
}

/* ---- the tokens around a text ---------------------------------------------------------------- */

/* The index of a token that is put around texts. */
static fg_status put_index(const fg_tokenizer *t, const json_t *index, fg_token_list *out,
                           fg_error *err)
{
    const json_int_t value = json_is_integer(index) ? json_integer_value(index) : -1;
    if (value >= 0 && (size_t)value < t->vocabulary.count &&
        t->vocabulary.tokens[value].text != NULL)
        return put(out, (int32_t)value, err);
    return fgi_fail(err, FG_EFORMAT,
                    "%s: post_processor: expected indices of tokens of the vocabulary, got "
                    "%" JSON_INTEGER_FORMAT,
                    t->name, value);
}

/* {"SpecialToken": {"id": "[CLS]"}}, whose indices are in special_tokens. */
static fg_status put_special(const fg_tokenizer *t, const json_t *given, const json_t *piece,
                             fg_token_list *out, fg_error *err)
{
    const char *name = json_string_value(json_object_get(piece, "id"));
    const json_t *special = json_object_get(json_object_get(given, "special_tokens"), name);
    const json_t *indices = json_object_get(special, "ids"), *index;
    size_t i;
    if (!json_is_array(indices))
        return fgi_fail(err, FG_EFORMAT, "%s: post_processor: special token '%.40s' has no indices",
                        t->name, name != NULL ? name : "");
    json_array_foreach(indices, i, index) FGI_TRY(put_index(t, index, out, err));
    return FG_OK;
}

static fg_status read_template(fg_tokenizer *t, const json_t *given, fg_error *err)
{
    const json_t *piece;
    size_t i;
    fg_token_list *out = &t->first;
    json_array_foreach(json_object_get(given, "single"), i, piece)
    {
        const json_t *special = json_object_get(piece, "SpecialToken");
        if (special != NULL)
            FGI_TRY(put_special(t, given, special, out, err));
        else if (json_object_get(piece, "Sequence") != NULL && out == &t->first)
            out = &t->last;
        else
            break;
    }
    if (out == &t->last && i == json_array_size(json_object_get(given, "single")))
        return FG_OK;
    return fgi_fail(err, FG_EFORMAT,
                    "%s: post_processor TemplateProcessing: single: expected objects "
                    "{\"SpecialToken\": ...} and one {\"Sequence\": ...}",
                    t->name);
}

/* "cls" and "sep": [token, index]. */
static fg_status read_ends(fg_tokenizer *t, const json_t *given, fg_error *err)
{
    const json_t *first = json_array_get(json_object_get(given, "cls"), 1);
    const json_t *last = json_array_get(json_object_get(given, "sep"), 1);
    FGI_TRY(put_index(t, first, &t->first, err));
    return put_index(t, last, &t->last, err);
}

static fg_status read_post_processor(fg_tokenizer *t, const json_t *given, fg_error *err)
{
    const char *type = NULL;
    const json_t *member;
    size_t i;
    if (given == NULL || json_is_null(given))
        return FG_OK;
    FGI_TRY(fgi_type_read(t, "post_processor", given, &type, err));
    json_array_foreach(json_object_get(given, "processors"), i, member)
        FGI_TRY(read_post_processor(t, member, err));
    if (fgi_is_one_of(type, "ByteLevel|Sequence")) /* the former changes offsets only */
        return FG_OK;
    if (strcmp(type, "TemplateProcessing") == 0)
        return read_template(t, given, err);
    if (fgi_is_one_of(type, "BertProcessing|RobertaProcessing"))
        return read_ends(t, given, err);
    return fgi_fail(err, FG_EUNSUPPORTED,
                    "%s: unknown post_processor '%.40s': expected TemplateProcessing, "
                    "BertProcessing, RobertaProcessing or ByteLevel",
                    t->name, type);
}

/* ---- opening --------------------------------------------------------------------------------- */

static const struct {
    const char *type;
    fg_status (*add)(fg_tokenizer *t, const json_t *model, fg_error *err);
} models[] = {{"BPE", fgi_bpe_add}, {"WordPiece", fgi_wordpiece_add}, {"Unigram", fgi_unigram_add}};
enum { MODELS = sizeof models / sizeof *models };

/* The place of the model's type; old files lack it. */
static fg_status find_model(const fg_tokenizer *t, const json_t *model, size_t *out, fg_error *err)
{
    const json_t *given = json_object_get(model, "type");
    const char *type = json_string_value(given);
    if (given == NULL)
        type = json_object_get(model, "merges") != NULL         ? "BPE"
               : json_is_array(json_object_get(model, "vocab")) ? "Unigram"
                                                                : "WordPiece";
    for (*out = 0; *out < MODELS; ++*out)
        if (type != NULL && strcmp(type, models[*out].type) == 0)
            return fgi_members_check(t, "model", type, model, err);
    return fgi_fail(err, FG_EUNSUPPORTED,
                    "%s: unknown model '%.40s': expected BPE, WordPiece or Unigram", t->name,
                    type != NULL ? type : "");
}

static fg_status check_added(const fg_tokenizer *t, const json_t *added, fg_error *err)
{
    const json_t *token;
    size_t i;
    if (added != NULL && !json_is_array(added))
        return fgi_fail(err, FG_EFORMAT, "%s: added_tokens: expected a list", t->name);
    json_array_foreach(added, i, token)
        FGI_TRY(fgi_members_check(t, "added_tokens", "", token, err));
    return FG_OK;
}

static fg_status read_json(fg_tokenizer *t, const json_t *root, fg_error *err)
{
    const json_t *model = json_object_get(root, "model");
    const json_t *added = json_object_get(root, "added_tokens");
    size_t which;
    if (!json_is_object(model))
        return fgi_fail(err, FG_EFORMAT,
                        "%s: expected a tokenizer of Hugging Face, with a member 'model'", t->name);
    FGI_TRY(find_model(t, model, &which, err));
    FGI_TRY(check_added(t, added, err));
    FGI_TRY(
        fgi_vocabulary_init(&t->vocabulary, t->name, json_object_get(model, "vocab"), added, err));
    FGI_TRY(fgi_added_add(t, added, false, err));
    FGI_TRY(fgi_steps_add(t, "normalizer", json_object_get(root, "normalizer"), err));
    FGI_TRY(fgi_added_add(t, added, true, err));
    FGI_TRY(fgi_steps_add(t, "pre_tokenizer", json_object_get(root, "pre_tokenizer"), err));
    FGI_TRY(models[which].add(t, model, err));
    FGI_TRY(read_post_processor(t, json_object_get(root, "post_processor"), err));
    return fgi_decoders_create(t, json_object_get(root, "decoder"), err);
}

fg_status fg_tokenizer_parse(const char *name, const char *json, size_t size, fg_tokenizer **out,
                             fg_error *err)
{
    json_t *root = NULL;
    fg_status status;
    fg_tokenizer *t = fgi_calloc(1, sizeof *t);
    *out = NULL;
    FGI_DONE(t != NULL && (t->name = fgi_strdup(name)) != NULL &&
                     (t->json = fgi_strndup(json, size)) != NULL
                 ? FG_OK
                 : fgi_no_memory(err));
    t->json_size = size;
    FGI_DONE(fgi_json_parse(name, 0, json, size, &root, err));
    FGI_DONE(read_json(t, root, err));
    *out = t;
    t = NULL;
done:
    json_decref(root);
    fg_tokenizer_destroy(t);
    return status;
}

static fg_status open_bytes(fg_tokenizer **out, fg_error *err)
{
    fg_tokenizer *t = *out = fgi_calloc(1, sizeof *t);
    if (t != NULL && (t->name = fgi_strdup("bytes")) != NULL)
        return FG_OK;
    fg_tokenizer_destroy(t);
    *out = NULL;
    return fgi_no_memory(err);
}

/* Adds what works instead to a message about a file or folder: a tokenizer.json next to it, or how
 * to write one. */
static fg_status suggest_file(const char *path, fg_status status, fg_error *err)
{
    static const char *const others[] = {"tokenizer.model", "spiece.model", "vocab.txt",
                                         "vocab.json", "sentencepiece.bpe.model"};
    fg_error why = {0};
    char *parent = fgi_is_folder(path) ? fgi_strdup(path) : fgi_path_parent(path);
    const char *name = fgi_after_last(path, '/'), *other = NULL;
    for (size_t i = 0; parent != NULL && i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i]) == 0 || (fgi_is_folder(path) && fgi_exists_in(path, others[i])))
            other = others[i];
    if (err != NULL)
        why = *err;
    if (parent != NULL && strcmp(name, FILE_NAME) != 0 && fgi_exists_in(parent, FILE_NAME))
        status = fgi_fail(err, status, "%s\n%s/" FILE_NAME " is next to it", why.message, parent);
    else if (other != NULL)
        status = fgi_fail(err, status,
                          "%s\nconvert %s in Python: AutoTokenizer.from_pretrained(FOLDER)"
                          ".save_pretrained(FOLDER)",
                          why.message, other);
    fgi_free(parent);
    return status;
}

fg_status fg_tokenizer_open(const char *path, fg_tokenizer **out, fg_error *err)
{
    fgi_buf file = {0};
    char *text = NULL;
    size_t size = 0;
    fg_status status;
    *out = NULL;
    if (strcmp(path, "bytes") == 0)
        return open_bytes(out, err);
    fgi_buf_puts(&file, path);
    if (fgi_is_folder(path))
        fgi_buf_puts(&file, "/" FILE_NAME);
    FGI_DONE(fgi_buf_status(&file, err));
    FGI_DONE(fgi_file_read(file.data, MOST_FILE_BYTES, &text, &size, err));
    FGI_DONE(fg_tokenizer_parse(file.data, text, size, out, err));
done:
    if (status != FG_OK && status != FG_ENOMEM)
        status = suggest_file(path, status, err);
    fgi_free(text);
    fgi_buf_fini(&file);
    return status;
}

void fg_tokenizer_destroy(fg_tokenizer *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < t->step_count; i++)
        fgi_regex_destroy(t->steps[i].regex);
    fgi_regex_destroy(t->word);
    fgi_regex_destroy(t->space);
    fgi_added_destroy(t->added[0]);
    fgi_added_destroy(t->added[1]);
    fgi_bpe_destroy(t->bpe);
    fgi_wordpiece_destroy(t->wordpiece);
    fgi_unigram_destroy(t->unigram);
    fgi_decoders_destroy(t->decoders);
    fgi_vocabulary_fini(&t->vocabulary);
    fgi_free(t->first.at);
    fgi_free(t->last.at);
    fgi_free(t->json);
    fgi_free(t->name);
    fgi_free(t);
}

/* ---- queries --------------------------------------------------------------------------------- */

int64_t fg_tokenizer_size(const fg_tokenizer *t)
{
    return t->json != NULL ? (int64_t)t->vocabulary.count : 256;
}

const char *fg_tokenizer_json(const fg_tokenizer *t, size_t *out_size)
{
    if (out_size != NULL)
        *out_size = t->json_size;
    return t->json;
}

int32_t fg_tokenizer_index(const fg_tokenizer *t, const char *token)
{
    return t->json != NULL ? fgi_vocabulary_find(&t->vocabulary, token, strlen(token)) : -1;
}

int32_t fg_tokenizer_end(const fg_tokenizer *t)
{
    static const char *const ends[] = {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>",
                                       "[SEP]"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (fg_tokenizer_index(t, ends[i]) >= 0)
            return fg_tokenizer_index(t, ends[i]);
    return -1;
}
