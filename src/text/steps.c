/* steps.c - normalizers and pre-tokenizers. A component of a tokenizer.json is one step or several,
 * each a row of the table below; most are a regular expression, at whose matches a text is split,
 * or which are replaced.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "text/tokenizer.h"

fg_status fgi_step_add(fg_tokenizer *t, fgi_step **out, fg_error *err)
{
    if (t->step_count >= FGI_MOST_STEPS)
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "%s: expected at most %d steps of normalizers and pre-tokenizers", t->name,
                        (int)FGI_MOST_STEPS);
    *out = &t->steps[t->step_count++];
    return FG_OK;
}

void fgi_pass_text(const fgi_step *step, fgi_encoder *e)
{
    const fgi_buf *text = &e->texts[step - e->t->steps];
    if (text->failed && e->status == FG_OK)
        e->status = fgi_no_memory(e->err);
    fgi_pass(step, e, (fgi_str){text->data, text->size});
}

static bool find(const fgi_step *step, fgi_encoder *e, fgi_str text, size_t from, size_t *start,
                 size_t *end)
{
    return e->status == FG_OK && fgi_regex_find(step->regex, &e->works[step - e->t->steps], text,
                                                from, start, end, &e->status, e->err);
}

static bool begins_with(fgi_str text, const char *with)
{
    const size_t size = strlen(with);
    return text.size >= size && memcmp(text.data, with, size) == 0;
}

/* ---- steps that change a text ---------------------------------------------------------------- */

static void run_form(const fgi_step *step, fgi_encoder *e, fgi_str piece)
{
    fgi_unicode_form(step->form, piece, fgi_step_text(step, e));
    fgi_pass_text(step, e);
}

static void run_replace(const fgi_step *step, fgi_encoder *e, fgi_str piece)
{
    fgi_buf *out = fgi_step_text(step, e);
    size_t at = 0, start, end;
    for (; find(step, e, piece, at, &start, &end); at = end) {
        fgi_buf_add(out, piece.data + at, start - at);
        fgi_buf_puts(out, step->before);
        if (step->keeps_match) {
            fgi_buf_add(out, piece.data + start, end - start);
            fgi_buf_puts(out, step->after);
        }
    }
    fgi_buf_add(out, piece.data + at, piece.size - at);
    fgi_pass_text(step, e);
}

static void run_prefix(const fgi_step *step, fgi_encoder *e, fgi_str piece)
{
    const bool is_start = e->is_start;
    e->is_start = false;
    if ((step->is_first_only && !is_start) ||
        (step->if_missing && begins_with(piece, step->before))) {
        fgi_pass(step, e, piece);
        return;
    }
    fgi_buf *out = fgi_step_text(step, e);
    fgi_buf_puts(out, step->before);
    fgi_buf_add(out, piece.data, piece.size);
    fgi_pass_text(step, e);
}

uint32_t fgi_byte_to_char(unsigned char b)
{
    const bool is_printable = (b >= '!' && b <= '~') || (b >= 0xa1 && b != 0xad);
    const int other = b <= ' ' ? b : b < 0xa1 ? b - 0x7f + 33 : 67; /* how many come before it */
    return is_printable ? b : 256u + (uint32_t)other;
}

int fgi_char_to_byte(uint32_t c)
{
    const uint32_t other = c - 256;
    if (c < 256)
        return fgi_byte_to_char((unsigned char)c) == c ? (int)c : -1;
    return other <= ' '  ? (int)other
           : other < 67  ? (int)other - 33 + 0x7f
           : other == 67 ? 0xad
                         : -1;
}

static void run_bytes(const fgi_step *step, fgi_encoder *e, fgi_str piece)
{
    fgi_buf *out = fgi_step_text(step, e);
    for (size_t i = 0; i < piece.size; i++)
        fgi_utf8_put(out, fgi_byte_to_char((unsigned char)piece.data[i]));
    fgi_pass_text(step, e);
}

/* ---- splits ---------------------------------------------------------------------------------- */

/* The part of a text that is to be passed on. */
typedef struct part {
    size_t start, end;
    bool is_match, exists;
} part;

/* Whether the part that follows is joined to it. */
static bool joins(fgi_split_kind split, const part *p, bool is_match)
{
    switch (split) {
    case FGI_SPLIT_CONTIGUOUS: return p->is_match == is_match;
    case FGI_SPLIT_MERGED_WITH_PREVIOUS: return is_match && !p->is_match;
    case FGI_SPLIT_MERGED_WITH_NEXT: return !is_match && p->is_match;
    case FGI_SPLIT_ISOLATED:
    case FGI_SPLIT_REMOVED: break;
    }
    return false;
}

static void pass_part(const fgi_step *step, fgi_encoder *e, fgi_str piece, const part *p)
{
    if (p->exists && !(step->split == FGI_SPLIT_REMOVED && p->is_match))
        fgi_pass(step, e, (fgi_str){piece.data + p->start, p->end - p->start});
}

static void add_part(const fgi_step *step, fgi_encoder *e, fgi_str piece, part *p, size_t end,
                     bool is_match)
{
    if (end == p->end)
        return;
    is_match = is_match != step->is_inverted;
    if (p->exists && joins(step->split, p, is_match)) {
        p->end = end;
        p->is_match = is_match;
        return;
    }
    pass_part(step, e, piece, p);
    *p = (part){p->end, end, is_match, true};
}

static void run_split(const fgi_step *step, fgi_encoder *e, fgi_str piece)
{
    part p = {.exists = false};
    size_t start, end;
    while (find(step, e, piece, p.end, &start, &end)) {
        add_part(step, e, piece, &p, start, false);
        add_part(step, e, piece, &p, end, true);
    }
    add_part(step, e, piece, &p, piece.size, false);
    pass_part(step, e, piece, &p);
}

/* ---- from JSON ------------------------------------------------------------------------------- */

static const char *const split_names[] = {"Removed", "Isolated", "MergedWithPrevious",
                                          "MergedWithNext", "Contiguous"};
enum { SPLITS = sizeof split_names / sizeof *split_names };

fg_status fgi_pattern_read(const fg_tokenizer *t, const json_t *given, fgi_regex **out,
                           fg_error *err)
{
    const char *text = json_string_value(json_object_get(given, "String"));
    const char *regex = json_string_value(json_object_get(given, "Regex"));
    if (text == NULL && regex == NULL)
        return fgi_fail(err, FG_EFORMAT, "%s: pattern: expected {String: TEXT} or {Regex: TEXT}",
                        t->name);
    return fgi_regex_create(t->name, text != NULL ? text : regex, text != NULL, out, err);
}

/* A member of a component that is a string. */
static fg_status text_of(fg_tokenizer *t, const json_t *given, const char *key, const char **out,
                         fg_error *err)
{
    *out = fgi_arena_strdup(&t->vocabulary.arena, json_string_value(json_object_get(given, key)));
    return *out != NULL ? FG_OK : fgi_no_memory(err);
}

static fg_status read_behavior(fg_tokenizer *t, const json_t *given, fgi_step *step, fg_error *err)
{
    char known[160];
    const char *name = json_string_value(json_object_get(given, "behavior"));
    for (int i = 0; name != NULL && i < SPLITS; i++)
        if (strcmp(name, split_names[i]) == 0) {
            step->split = (fgi_split_kind)i;
            return FG_OK;
        }
    return name == NULL ? FG_OK
                        : fgi_fail(err, FG_EFORMAT, "%s: unknown behavior '%.40s'%s", t->name, name,
                                   fgi_suggest(name, split_names, SPLITS, known, sizeof known));
}

static fg_status read_split(fg_tokenizer *t, const json_t *given, fgi_step *step, fg_error *err)
{
    FGI_TRY(read_behavior(t, given, step, err));
    step->is_inverted = json_is_true(json_object_get(given, "invert"));
    return fgi_pattern_read(t, json_object_get(given, "pattern"), &step->regex, err);
}

static fg_status read_replace(fg_tokenizer *t, const json_t *given, fgi_step *step, fg_error *err)
{
    FGI_TRY(text_of(t, given, "content", &step->before, err));
    return fgi_pattern_read(t, json_object_get(given, "pattern"), &step->regex, err);
}

static fg_status read_prepend(fg_tokenizer *t, const json_t *given, fgi_step *step, fg_error *err)
{
    return text_of(t, given, "prepend", &step->before, err);
}

static fg_status read_delimiter(fg_tokenizer *t, const json_t *given, fgi_step *step, fg_error *err)
{
    const char *delimiter = NULL;
    FGI_TRY(text_of(t, given, "delimiter", &delimiter, err));
    return fgi_regex_create(t->name, delimiter, true, &step->regex, err);
}

static fg_status read_digits(fg_tokenizer *t, const json_t *given, fgi_step *step, fg_error *err)
{
    (void)t, (void)err;
    if (json_is_true(json_object_get(given, "individual_digits")))
        step->split = FGI_SPLIT_ISOLATED;
    return FG_OK;
}

static fg_status read_meta_space(fg_tokenizer *t, const json_t *given, fgi_step *step,
                                 fg_error *err)
{
    return text_of(t, given, "replacement", &step->before, err);
}

static fg_status read_meta_prefix(fg_tokenizer *t, const json_t *given, fgi_step *step,
                                  fg_error *err)
{
    const char *scheme = json_string_value(json_object_get(given, "prepend_scheme"));
    step->is_first_only = scheme != NULL && strcmp(scheme, "first") == 0;
    if ((scheme != NULL && strcmp(scheme, "never") == 0) ||
        json_is_false(json_object_get(given, "add_prefix_space")))
        step->before = "";
    else
        FGI_TRY(text_of(t, given, "replacement", &step->before, err));
    return FG_OK;
}

static fg_status read_meta_split(fg_tokenizer *t, const json_t *given, fgi_step *step,
                                 fg_error *err)
{
    const char *replacement = NULL;
    FGI_TRY(text_of(t, given, "replacement", &replacement, err));
    return fgi_regex_create(t->name, replacement, true, &step->regex, err);
}

typedef struct row {
    const char *kind, *type;
    const char *flag; /* the member that must not be false; NULL: none */
    fgi_step step;    /* without what `pattern` and `read` set */
    const char *pattern;
    fg_status (*read)(fg_tokenizer *t, const json_t *given, fgi_step *step, fg_error *err);
} row;

#define NORMALIZER    "normalizer"
#define PRE_TOKENIZER "pre_tokenizer"
#define FORM(f)                                                                                    \
    {                                                                                              \
        .run = run_form, .form = (f)                                                               \
    }
#define REPLACE(with)                                                                              \
    {                                                                                              \
        .run = run_replace, .before = (with)                                                       \
    }
#define SPLIT(how)                                                                                 \
    {                                                                                              \
        .run = run_split, .split = (how)                                                           \
    }
#define PUNCTUATION "[!-/:-@\\[-`{-~]|\\p{P}"
#define GPT2        "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define IDEOGRAPHS                                                                                 \
    "[\\x{4e00}-\\x{9fff}\\x{3400}-\\x{4dbf}\\x{20000}-\\x{2a6df}\\x{2a700}-\\x{2b81f}"            \
    "\\x{2b920}-\\x{2ceaf}\\x{f900}-\\x{faff}\\x{2f800}-\\x{2fa1f}]"

/* Rows with the same kind and type follow each other. */
static const row rows[] = {
    {NORMALIZER, "NFC", NULL, FORM(FGI_NFC), NULL, NULL},
    {NORMALIZER, "NFD", NULL, FORM(FGI_NFD), NULL, NULL},
    {NORMALIZER, "NFKC", NULL, FORM(FGI_NFKC), NULL, NULL},
    {NORMALIZER, "NFKD", NULL, FORM(FGI_NFKD), NULL, NULL},
    {NORMALIZER, "Lowercase", NULL, FORM(FGI_LOWERCASE), NULL, NULL},
    {NORMALIZER, "Strip", "strip_left", REPLACE(""), "\\A\\s+", NULL},
    {NORMALIZER, "Strip", "strip_right", REPLACE(""), "\\s+\\z", NULL},
    {NORMALIZER, "StripAccents", NULL, REPLACE(""), "\\p{M}+", NULL},
    {NORMALIZER, "Replace", NULL, REPLACE(""), NULL, read_replace},
    {NORMALIZER, "Prepend", NULL, {.run = run_prefix}, NULL, read_prepend},
    {NORMALIZER, "Precompiled", NULL, {.run = fgi_run_charsmap}, NULL, fgi_charsmap_read},
    {NORMALIZER, "ByteLevel", NULL, {.run = run_bytes}, NULL, NULL},
    {NORMALIZER, "BertNormalizer", "clean_text", REPLACE(""),
     "(?:(?![\\t\\n\\r])[\\p{Cc}\\p{Cf}\\p{Co}\\x{fffd}])+", NULL},
    {NORMALIZER, "BertNormalizer", "clean_text", REPLACE(" "), "(?! )\\s", NULL},
    {NORMALIZER,
     "BertNormalizer",
     "handle_chinese_chars",
     {.run = run_replace, .before = " ", .keeps_match = true, .after = " "},
     IDEOGRAPHS,
     NULL},
    {NORMALIZER, "BertNormalizer", "strip_accents", FORM(FGI_NFD), NULL, NULL},
    {NORMALIZER, "BertNormalizer", "strip_accents", REPLACE(""), "\\p{Mn}+", NULL},
    {NORMALIZER, "BertNormalizer", "lowercase", FORM(FGI_LOWERCASE), NULL, NULL},
    {PRE_TOKENIZER,
     "ByteLevel",
     "add_prefix_space",
     {.run = run_prefix, .before = " ", .if_missing = true},
     NULL,
     NULL},
    {PRE_TOKENIZER, "ByteLevel", "use_regex", SPLIT(FGI_SPLIT_ISOLATED), GPT2, NULL},
    {PRE_TOKENIZER, "ByteLevel", NULL, {.run = run_bytes}, NULL, NULL},
    {PRE_TOKENIZER, "Split", NULL, SPLIT(FGI_SPLIT_ISOLATED), NULL, read_split},
    {PRE_TOKENIZER,
     "Whitespace",
     NULL,
     {.run = run_split, .split = FGI_SPLIT_REMOVED, .is_inverted = true},
     "\\w+|[^\\w\\s]+",
     NULL},
    {PRE_TOKENIZER, "WhitespaceSplit", NULL, SPLIT(FGI_SPLIT_REMOVED), "\\s+", NULL},
    {PRE_TOKENIZER, "Punctuation", NULL, SPLIT(FGI_SPLIT_ISOLATED), PUNCTUATION, read_behavior},
    {PRE_TOKENIZER, "Digits", NULL, SPLIT(FGI_SPLIT_CONTIGUOUS), "\\p{N}", read_digits},
    {PRE_TOKENIZER, "CharDelimiterSplit", NULL, SPLIT(FGI_SPLIT_REMOVED), NULL, read_delimiter},
    {PRE_TOKENIZER, "BertPreTokenizer", NULL, SPLIT(FGI_SPLIT_REMOVED), "\\s+", NULL},
    {PRE_TOKENIZER, "BertPreTokenizer", NULL, SPLIT(FGI_SPLIT_ISOLATED), PUNCTUATION, NULL},
    {PRE_TOKENIZER, "Metaspace", NULL, REPLACE(""), " ", read_meta_space},
    {PRE_TOKENIZER,
     "Metaspace",
     NULL,
     {.run = run_prefix, .if_missing = true},
     NULL,
     read_meta_prefix},
    {PRE_TOKENIZER, "Metaspace", "split", SPLIT(FGI_SPLIT_MERGED_WITH_NEXT), NULL, read_meta_split},
};

enum { ROWS = sizeof rows / sizeof *rows };

/* Whether the step of a row is part of the component. */
static bool is_set(const row *r, const json_t *given)
{
    const json_t *value = r->flag != NULL ? json_object_get(given, r->flag) : NULL;
    if (json_is_null(value) && strcmp(r->flag, "strip_accents") == 0)
        value = json_object_get(given, "lowercase");
    return !json_is_false(value);
}

static fg_status add_row(fg_tokenizer *t, const row *r, const json_t *given, fg_error *err)
{
    fgi_step *step = NULL;
    FGI_TRY(fgi_step_add(t, &step, err));
    *step = r->step;
    t->is_byte_level = t->is_byte_level || step->run == run_bytes;
    if (step->run == run_form)
        FGI_TRY(fgi_unicode_check(t->name, err));
    if (r->pattern != NULL)
        FGI_TRY(fgi_regex_create(t->name, r->pattern, false, &step->regex, err));
    return r->read != NULL ? r->read(t, given, step, err) : FG_OK;
}

static fg_status fail_type(const fg_tokenizer *t, const char *kind, const char *type, fg_error *err)
{
    const char *names[ROWS];
    char known[240];
    size_t count = 0;
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].kind, kind) == 0 &&
            (count == 0 || strcmp(rows[i].type, names[count - 1]) != 0))
            names[count++] = rows[i].type;
    return fgi_fail(err, FG_EUNSUPPORTED, "%s: unknown %s '%.40s'%s", t->name, kind, type,
                    fgi_suggest(type, names, count, known, sizeof known));
}

/* The members of a Sequence. */
static const json_t *members_of(const json_t *given)
{
    const json_t *list = json_object_get(given, "normalizers");
    return list != NULL ? list : json_object_get(given, "pretokenizers");
}

static fg_status add_component(fg_tokenizer *t, const char *kind, const char *type,
                               const json_t *given, fg_error *err)
{
    bool is_known = false;
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].kind, kind) != 0 || strcmp(rows[i].type, type) != 0)
            continue;
        is_known = true;
        if (is_set(&rows[i], given))
            FGI_TRY(add_row(t, &rows[i], given, err));
    }
    return is_known ? FG_OK : fail_type(t, kind, type, err);
}

fg_status fgi_steps_add(fg_tokenizer *t, const char *kind, const json_t *given, fg_error *err)
{
    const json_t *member;
    const char *type = NULL;
    size_t i;
    if (given == NULL || json_is_null(given))
        return FG_OK;
    FGI_TRY(fgi_type_read(t, kind, given, &type, err));
    if (strcmp(type, "Sequence") != 0)
        return add_component(t, kind, type, given, err);
    json_array_foreach(members_of(given), i, member) FGI_TRY(fgi_steps_add(t, kind, member, err));
    return FG_OK;
}

fg_status fgi_replace(const fgi_regex *regex, fgi_str text, const char *with, fgi_buf *out,
                      fg_error *err)
{
    fgi_regex_work *work = NULL;
    fg_status status = FG_OK;
    size_t at = 0, start, end;
    for (; fgi_regex_find(regex, &work, text, at, &start, &end, &status, err); at = end) {
        fgi_buf_add(out, text.data + at, start - at);
        fgi_buf_puts(out, with);
    }
    fgi_buf_add(out, text.data + at, text.size - at);
    fgi_regex_work_destroy(work);
    return status;
}
