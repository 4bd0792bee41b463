/* decoder.c - tokens to text: a list of strings, at first those of the vocabulary, which each
 * decoder changes; at the end they are joined.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"
#include "text/tokenizer.h"

/* Strings one after the other in `text`; `ends` has the end of each, a size_t. */
typedef struct strings {
    fgi_buf text, ends;
} strings;

typedef struct step {
    fg_status (*run)(const struct step *own, const strings *in, strings *out, fg_error *err);
    const char *prefix, *content; /* borrowed from the vocabulary's arena */
    fgi_regex *regex;             /* owned */
    int64_t start, stop;
    bool has_cleanup;
} step;

struct fgi_decoder {
    step steps[FGI_MOST_STEPS];
    size_t count;
};

static size_t count_of(const strings *s) { return s->ends.size / sizeof(size_t); }

static fgi_str string_at(const strings *s, size_t index)
{
    const size_t *ends = (const size_t *)(const void *)s->ends.data;
    const size_t from = index > 0 ? ends[index - 1] : 0;
    return (fgi_str){s->text.data + from, ends[index] - from};
}

/* Ends the string that was appended to out->text. */
static void end_string(strings *out)
{
    fgi_buf_add(&out->ends, &out->text.size, sizeof out->text.size);
}

static void clear(strings *s)
{
    fgi_buf_clear(&s->text);
    fgi_buf_clear(&s->ends);
}

static bool begins_with(fgi_str text, const char *with)
{
    const size_t size = strlen(with);
    return text.size >= size && memcmp(text.data, with, size) == 0;
}

/* ---- decoders -------------------------------------------------------------------------------- */

/* Bytes of a wrong sequence that one U+FFFD replaces: the longest beginning of a right one, or 1.
 * Source: Unicode 15, section 3.9, "U+FFFD substitution of maximal subparts". */
static size_t wrong_length(const unsigned char *text, size_t size)
{
    unsigned char whole[4] = {text[0], 0x80, 0x80, 0x80};
    size_t n = 1;
    while (n < size && n < 3) {
        whole[n] = text[n];
        if (fgi_utf8_length(whole, sizeof whole) <= n + 1)
            break;
        n++;
    }
    return n;
}

/* Appends bytes with sequences that are no UTF-8 replaced by U+FFFD, as Rust and Python do. */
static void put_utf8(fgi_buf *out, fgi_str bytes)
{
    for (size_t i = 0, n; i < bytes.size; i += n) {
        const unsigned char *at = (const unsigned char *)bytes.data + i;
        n = fgi_utf8_length(at, bytes.size - i);
        if (n > 0) {
            fgi_buf_add(out, at, n);
            continue;
        }
        fgi_buf_puts(out, "\xef\xbf\xbd");
        n = wrong_length(at, bytes.size - i);
    }
}

/* The bytes that the characters of a string represent; other strings are unchanged. */
static void put_bytes(fgi_str text, fgi_buf *out)
{
    const size_t before = out->size;
    size_t n;
    for (size_t i = 0; i < text.size; i += n) {
        const int byte = fgi_char_to_byte(fgi_utf8_decode(text.data + i, &n));
        if (byte < 0) {
            out->size = before;
            fgi_buf_add(out, text.data, text.size);
            return;
        }
        fgi_buf_putc(out, (char)byte);
    }
}

static fg_status run_byte_level(const step *own, const strings *in, strings *out, fg_error *err)
{
    (void)own, (void)err;
    fgi_buf bytes = {0};
    for (size_t i = 0; i < count_of(in); i++)
        put_bytes(string_at(in, i), &bytes);
    put_utf8(&out->text, (fgi_str){bytes.data, bytes.size});
    end_string(out);
    fgi_buf_fini_part(&bytes, &out->text);
    return FG_OK;
}

static int byte_of(fgi_str token)
{
    static const char digits[] = "0123456789ABCDEFabcdef";
    int value = 0;
    if (token.size != 6 || !begins_with(token, "<0x") || token.data[5] != '>')
        return -1;
    for (int i = 3; i < 5; i++) {
        const char *digit = memchr(digits, token.data[i], sizeof digits - 1);
        if (digit == NULL)
            return -1;
        value = 16 * value + (int)(digit - digits) - (digit - digits > 15 ? 6 : 0);
    }
    return value;
}

/* The bytes before a token as one string, or each one as U+FFFD. */
static void end_bytes(fgi_buf *bytes, strings *out)
{
    if (bytes->size == 0)
        return;
    if (fgi_text_is_utf8((fgi_str){bytes->data, bytes->size})) {
        fgi_buf_add(&out->text, bytes->data, bytes->size);
        end_string(out);
    } else
        for (size_t i = 0; i < bytes->size; i++) {
            fgi_buf_puts(&out->text, "\xef\xbf\xbd");
            end_string(out);
        }
    bytes->size = 0; /* not fgi_buf_clear, which forgets a failure */
}

static fg_status run_byte_fallback(const step *own, const strings *in, strings *out, fg_error *err)
{
    (void)own, (void)err;
    fgi_buf bytes = {0};
    for (size_t i = 0; i < count_of(in); i++) {
        const fgi_str token = string_at(in, i);
        const int byte = byte_of(token);
        if (byte >= 0) {
            fgi_buf_putc(&bytes, (char)byte);
            continue;
        }
        end_bytes(&bytes, out);
        fgi_buf_add(&out->text, token.data, token.size);
        end_string(out);
    }
    end_bytes(&bytes, out);
    fgi_buf_fini_part(&bytes, &out->text);
    return FG_OK;
}

/* Appends text with each `from` replaced by `to`. */
static void put_replaced(fgi_buf *out, fgi_str text, const char *from, const char *to)
{
    const size_t size = strlen(from);
    for (size_t i = 0; i < text.size;) {
        const bool is_match =
            size > 0 && begins_with((fgi_str){text.data + i, text.size - i}, from);
        if (is_match)
            fgi_buf_puts(out, to);
        else
            fgi_buf_putc(out, text.data[i]);
        i += is_match ? size : 1;
    }
}

/* Spaces before punctuation, and in English contractions. */
static const char *const cleanups[][2] = {
    {" .", "."},   {" ?", "?"},     {" !", "!"},     {" ,", ","},
    {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},   {" do not", " don't"},
    {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
};

static void put_clean(fgi_buf *out, fgi_str text)
{
    fgi_buf now = {0}, next = {0};
    fgi_buf_add(&now, text.data, text.size);
    for (size_t i = 0; i < sizeof cleanups / sizeof *cleanups; i++) {
        next.size = 0;
        put_replaced(&next, (fgi_str){now.data, now.size}, cleanups[i][0], cleanups[i][1]);
        const fgi_buf swapped = now;
        now = next;
        next = swapped;
    }
    fgi_buf_add(out, fgi_buf_text(&now), now.size);
    fgi_buf_fini_part(&next, out);
    fgi_buf_fini_part(&now, out);
}

static fg_status run_wordpiece(const step *own, const strings *in, strings *out, fg_error *err)
{
    (void)err;
    fgi_buf text = {0};
    for (size_t i = 0; i < count_of(in); i++) {
        const fgi_str token = string_at(in, i);
        const bool continues = i > 0 && begins_with(token, own->prefix);
        const size_t skipped = continues ? strlen(own->prefix) : 0;
        text.size = 0;
        fgi_buf_puts(&text, i > 0 && !continues ? " " : "");
        fgi_buf_add(&text, token.data + skipped, token.size - skipped);
        if (own->has_cleanup)
            put_clean(&out->text, (fgi_str){text.data, text.size});
        else
            fgi_buf_add(&out->text, text.data, text.size);
        end_string(out);
    }
    fgi_buf_fini_part(&text, &out->text);
    return FG_OK;
}

/* Metaspace (start 1: the first string loses its own) and BPEDecoder (stop 1: the last one does).
 */
static fg_status run_spaces(const step *own, const strings *in, strings *out, fg_error *err)
{
    (void)err;
    const size_t count = count_of(in);
    for (size_t i = 0; i < count; i++) {
        const bool is_bare = (own->start > 0 && i == 0) || (own->stop > 0 && i + 1 == count);
        put_replaced(&out->text, string_at(in, i), own->content, is_bare ? "" : " ");
        end_string(out);
    }
    return FG_OK;
}

static fg_status run_fuse(const step *own, const strings *in, strings *out, fg_error *err)
{
    (void)own, (void)err;
    fgi_buf_add(&out->text, fgi_buf_text(&in->text), in->text.size);
    end_string(out);
    return FG_OK;
}

static fg_status run_strip(const step *own, const strings *in, strings *out, fg_error *err)
{
    (void)err;
    const size_t size = strlen(own->content);
    for (size_t i = 0; i < count_of(in); i++) {
        fgi_str text = string_at(in, i);
        for (int64_t n = 0; n < own->start && size > 0 && begins_with(text, own->content); n++)
            text = (fgi_str){text.data + size, text.size - size};
        for (int64_t n = 0; n < own->stop && size > 0 && text.size >= size; n++)
            if (memcmp(text.data + text.size - size, own->content, size) == 0)
                text.size -= size;
            else
                break;
        fgi_buf_add(&out->text, text.data, text.size);
        end_string(out);
    }
    return FG_OK;
}

static fg_status run_replace(const step *own, const strings *in, strings *out, fg_error *err)
{
    for (size_t i = 0; i < count_of(in); i++) {
        FGI_TRY(fgi_replace(own->regex, string_at(in, i), own->content, &out->text, err));
        end_string(out);
    }
    return FG_OK;
}

/* ---- from JSON ------------------------------------------------------------------------------- */

typedef struct row {
    const char *type;
    fg_status (*run)(const step *own, const strings *in, strings *out, fg_error *err);
    const char *key; /* the member that is the step's content; NULL: none */
} row;

static const row rows[] = {
    {"ByteLevel", run_byte_level, NULL},       {"WordPiece", run_wordpiece, NULL},
    {"BPEDecoder", run_spaces, "suffix"},      {"Metaspace", run_spaces, "replacement"},
    {"ByteFallback", run_byte_fallback, NULL}, {"Fuse", run_fuse, NULL},
    {"Strip", run_strip, "content"},           {"Replace", run_replace, "content"},
};
enum { ROWS = sizeof rows / sizeof *rows };

static fg_status keep_text(fg_tokenizer *t, const json_t *given, const char *key,
                           const char *otherwise, const char **out, fg_error *err)
{
    const char *text = json_string_value(json_object_get(given, key));
    *out = fgi_arena_strdup(&t->vocabulary.arena, text != NULL ? text : otherwise);
    return *out != NULL ? FG_OK : fgi_no_memory(err);
}

static fg_status read_step(fg_tokenizer *t, const row *r, const json_t *given, step *out,
                           fg_error *err)
{
    const char *scheme = json_string_value(json_object_get(given, "prepend_scheme"));
    const bool is_bare = (scheme != NULL && strcmp(scheme, "never") == 0) ||
                         json_is_false(json_object_get(given, "add_prefix_space"));
    out->run = r->run;
    out->has_cleanup = !json_is_false(json_object_get(given, "cleanup"));
    FGI_TRY(keep_text(t, given, "prefix", "##", &out->prefix, err));
    if (r->key != NULL)
        FGI_TRY(keep_text(t, given, r->key, "", &out->content, err));
    if (strcmp(r->type, "Replace") == 0)
        return fgi_pattern_read(t, json_object_get(given, "pattern"), &out->regex, err);
    const bool is_metaspace = strcmp(r->type, "Metaspace") == 0;
    out->start = is_metaspace ? !is_bare : json_integer_value(json_object_get(given, "start"));
    out->stop =
        strcmp(r->type, "BPEDecoder") == 0 ? 1 : json_integer_value(json_object_get(given, "stop"));
    return FG_OK;
}

static fg_status add_step(fg_tokenizer *t, const char *type, const json_t *given, fg_error *err)
{
    const char *names[ROWS];
    fgi_decoder *d = t->decoders;
    char known[160];
    if (d->count >= FGI_MOST_STEPS)
        return fgi_fail(err, FG_EUNSUPPORTED, "%s: expected at most %d decoders", t->name,
                        (int)FGI_MOST_STEPS);
    for (size_t i = 0; i < ROWS; i++) {
        names[i] = rows[i].type;
        if (strcmp(type, rows[i].type) == 0)
            return read_step(t, &rows[i], given, &d->steps[d->count++], err);
    }
    return fgi_fail(err, FG_EUNSUPPORTED, "%s: unknown decoder '%.40s'%s", t->name, type,
                    fgi_suggest(type, names, ROWS, known, sizeof known));
}

static fg_status add_steps(fg_tokenizer *t, const json_t *given, fg_error *err)
{
    const json_t *members = json_object_get(given, "decoders"), *member;
    const char *type = NULL;
    size_t i;
    FGI_TRY(fgi_type_read(t, "decoder", given, &type, err));
    if (strcmp(type, "Sequence") != 0)
        return add_step(t, type, given, err);
    json_array_foreach(members, i, member) FGI_TRY(add_steps(t, member, err));
    return FG_OK;
}

fg_status fgi_decoders_create(fg_tokenizer *t, const json_t *given, fg_error *err)
{
    if (given == NULL || json_is_null(given))
        return FG_OK;
    t->decoders = fgi_calloc(1, sizeof *t->decoders);
    return t->decoders != NULL ? add_steps(t, given, err) : fgi_no_memory(err);
}

void fgi_decoders_destroy(fgi_decoder *decoders)
{
    for (size_t i = 0; decoders != NULL && i < decoders->count; i++)
        fgi_regex_destroy(decoders->steps[i].regex);
    fgi_free(decoders);
}

/* ---- decoding -------------------------------------------------------------------------------- */

/* The tokens' strings; without decoders, there is a space between them. */
static void put_tokens(const fg_tokenizer *t, const int32_t *tokens, size_t count, bool has_special,
                       strings *out)
{
    for (size_t i = 0; i < count; i++) {
        const bool is_known = tokens[i] >= 0 && (size_t)tokens[i] < t->vocabulary.count;
        const fgi_token *token = is_known ? &t->vocabulary.tokens[tokens[i]] : NULL;
        if (token == NULL || token->text == NULL || (token->is_special && !has_special))
            continue;
        if (t->decoders == NULL && out->text.size > 0)
            fgi_buf_putc(&out->text, ' ');
        fgi_buf_add(&out->text, token->text, token->size);
        end_string(out);
    }
}

static fg_status run_all(const fg_tokenizer *t, strings *now, strings *next, fg_error *err)
{
    const fgi_decoder *d = t->decoders;
    for (size_t i = 0; d != NULL && i < d->count; i++) {
        clear(next);
        FGI_TRY(d->steps[i].run(&d->steps[i], now, next, err));
        FGI_TRY(fgi_buf_status(&next->text, err));
        FGI_TRY(fgi_buf_status(&next->ends, err));
        const strings swapped = *now;
        *now = *next;
        *next = swapped;
    }
    return FG_OK;
}

static void put_byte_tokens(const int32_t *tokens, size_t count, fgi_buf *out)
{
    fgi_buf bytes = {0};
    for (size_t i = 0; i < count; i++)
        if (tokens[i] >= 0 && tokens[i] < 256)
            fgi_buf_putc(&bytes, (char)tokens[i]);
    put_utf8(out, (fgi_str){bytes.data, bytes.size});
    fgi_buf_fini_part(&bytes, out);
}

fg_status fg_tokenizer_decode(const fg_tokenizer *t, const int32_t *tokens, size_t count,
                              const fg_decode_options *options, char **out, size_t *out_size,
                              fg_error *err)
{
    strings now = {.text = {0}}, next = {.text = {0}};
    fg_status status;
    *out = NULL;
    FGI_TRY_RESERVED(fg_decode_options, options, err);
    if (t->json == NULL)
        put_byte_tokens(tokens, count, &now.text);
    else
        put_tokens(t, tokens, count, options == NULL || !options->skip_special, &now);
    FGI_DONE(fgi_buf_status(&now.text, err));
    FGI_DONE(fgi_buf_status(&now.ends, err));
    FGI_DONE(run_all(t, &now, &next, err));
    if (out_size != NULL)
        *out_size = now.text.size;
    *out = fgi_buf_take(&now.text);
    status = *out != NULL ? FG_OK : fgi_no_memory(err);
done:
    fgi_buf_fini(&now.text);
    fgi_buf_fini(&now.ends);
    fgi_buf_fini(&next.text);
    fgi_buf_fini(&next.ends);
    return status;
}
