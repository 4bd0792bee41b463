/* members.c - the members that components of a tokenizer.json have. Each component is checked
 * before it is read: a value of another kind, or a missing one, is an error, not a default.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/error.h"
#include "input/json_file.h"
#include "text/tokenizer.h"

typedef struct member {
    const char *kind, *types; /* of the component: "normalizer", "Strip" */
    const char *key;
    const char *values; /* kinds of values, and values, that are allowed */
    bool is_optional;
} member;

#define FLAG    "true|false"
#define TEXT    "a string"
#define SCHEMES "\"always\"|\"first\"|\"never\""

/* What the reference requires. */
static const member members[] = {
    {"model", "BPE|WordPiece", "vocab", "an object", false},
    {"model", "Unigram", "vocab", "a list", false},
    {"model", "BPE", "merges", "a list", false},
    {"model", "BPE", "unk_token", TEXT "|null", true},
    {"model", "BPE", "continuing_subword_prefix", TEXT "|null", true},
    {"model", "BPE", "end_of_word_suffix", TEXT "|null", true},
    {"model", "BPE", "dropout", "null|0|0.0", true},
    {"model", "BPE", "fuse_unk", FLAG "|null", true},
    {"model", "BPE", "ignore_merges", FLAG "|null", true},
    {"model", "BPE|Unigram", "byte_fallback", FLAG "|null", true},
    {"model", "Unigram", "unk_id", "an integer|null", true},
    {"model", "WordPiece", "unk_token", TEXT, false},
    {"model", "WordPiece", "continuing_subword_prefix", TEXT, false},
    {"model", "WordPiece", "max_input_chars_per_word", "an integer", false},
    {"added_tokens", "", "id", "an integer", false},
    {"added_tokens", "", "content", TEXT, false},
    {"added_tokens", "", "single_word", FLAG, false},
    {"added_tokens", "", "lstrip", FLAG, false},
    {"added_tokens", "", "rstrip", FLAG, false},
    {"added_tokens", "", "normalized", FLAG, false},
    {"added_tokens", "", "special", FLAG, false},
    {"normalizer", "Sequence", "normalizers", "a list", false},
    {"normalizer", "Strip", "strip_left", FLAG, false},
    {"normalizer", "Strip", "strip_right", FLAG, false},
    {"normalizer", "BertNormalizer", "clean_text", FLAG, false},
    {"normalizer", "BertNormalizer", "handle_chinese_chars", FLAG, false},
    {"normalizer", "BertNormalizer", "lowercase", FLAG, false},
    {"normalizer", "BertNormalizer", "strip_accents", FLAG "|null", true},
    {"normalizer", "Prepend", "prepend", TEXT, false},
    {"normalizer|decoder", "Replace", "content", TEXT, false},
    {"pre_tokenizer", "Sequence", "pretokenizers", "a list", false},
    {"pre_tokenizer", "ByteLevel", "add_prefix_space", FLAG, false},
    {"pre_tokenizer", "ByteLevel", "use_regex", FLAG, true},
    {"pre_tokenizer", "Digits", "individual_digits", FLAG, false},
    {"pre_tokenizer", "Split", "invert", FLAG, false},
    {"pre_tokenizer", "Split", "behavior", TEXT, false},
    {"pre_tokenizer", "Punctuation", "behavior", TEXT, true},
    {"pre_tokenizer", "CharDelimiterSplit", "delimiter", TEXT, false},
    {"pre_tokenizer|decoder", "Metaspace", "replacement", TEXT, false},
    {"pre_tokenizer|decoder", "Metaspace", "prepend_scheme", SCHEMES, true},
    {"pre_tokenizer|decoder", "Metaspace", "add_prefix_space", FLAG "|null", true},
    {"pre_tokenizer", "Metaspace", "split", FLAG "|null", true},
    {"post_processor", "Sequence", "processors", "a list", false},
    {"post_processor", "TemplateProcessing", "single", "a list", false},
    {"post_processor", "TemplateProcessing", "special_tokens", "an object", false},
    {"post_processor", "BertProcessing|RobertaProcessing", "cls", "a list", false},
    {"post_processor", "BertProcessing|RobertaProcessing", "sep", "a list", false},
    {"decoder", "Sequence", "decoders", "a list", false},
    {"decoder", "WordPiece", "prefix", TEXT, false},
    {"decoder", "WordPiece", "cleanup", FLAG, false},
    {"decoder", "BPEDecoder", "suffix", TEXT, false},
    {"decoder", "Strip", "content", TEXT, false},
    {"decoder", "Strip", "start", "an integer", false},
    {"decoder", "Strip", "stop", "an integer", false},
};

static const char *const kinds[] = {
    [JSON_OBJECT] = "an object",   [JSON_ARRAY] = "a list",  [JSON_STRING] = "a string",
    [JSON_INTEGER] = "an integer", [JSON_REAL] = "a number", [JSON_TRUE] = "true",
    [JSON_FALSE] = "false",        [JSON_NULL] = "null"};

static const char *kind_of(const json_t *value)
{
    return value != NULL ? kinds[json_typeof(value)] : "missing";
}

/* "tk.json: normalizer Strip: 'strip_left' is "no": expected true|false" */
static fg_status refuse(const fg_tokenizer *t, const char *kind, const char *type, const member *m,
                        const char *text, fg_error *err)
{
    return fgi_fail(err, FG_EFORMAT, "%s: %s%s%s: '%s' is %.60s: expected %s", t->name, kind,
                    *type != '\0' ? " " : "", type, m->key, text, m->values);
}

static fg_status check_member(const fg_tokenizer *t, const char *kind, const char *type,
                              const member *m, const json_t *given, fg_error *err)
{
    const json_t *value = json_object_get(given, m->key);
    if (value == NULL ? m->is_optional : fgi_is_one_of(kind_of(value), m->values))
        return FG_OK;
    if (value == NULL)
        return refuse(t, kind, type, m, "missing", err);
    char *text = fgi_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15));
    if (text == NULL)
        return fgi_no_memory(err);
    const fg_status status =
        fgi_is_one_of(text, m->values) ? FG_OK : refuse(t, kind, type, m, text, err);
    fgi_free(text);
    return status;
}

fg_status fgi_members_check(const fg_tokenizer *t, const char *kind, const char *type,
                            const json_t *given, fg_error *err)
{
    if (!json_is_object(given))
        return fgi_fail(err, FG_EFORMAT, "%s: %s: expected an object, found %s", t->name, kind,
                        kind_of(given));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (fgi_is_one_of(kind, members[i].kind) &&
            (*type == '\0' ? *members[i].types == '\0' : fgi_is_one_of(type, members[i].types)))
            FGI_TRY(check_member(t, kind, type, &members[i], given, err));
    return FG_OK;
}

fg_status fgi_type_read(const fg_tokenizer *t, const char *kind, const json_t *given,
                        const char **out, fg_error *err)
{
    const char *type = json_string_value(json_object_get(given, "type"));
    *out = type;
    if (type != NULL)
        return fgi_members_check(t, kind, type, given, err);
    return fgi_fail(err, FG_EFORMAT, "%s: %s: expected an object with a 'type', found %s", t->name,
                    kind, json_is_object(given) ? "none" : kind_of(given));
}
