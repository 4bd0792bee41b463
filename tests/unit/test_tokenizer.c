/* Tokenizers: tokens and texts as Hugging Face's tokenizers give them (tests/golden/tokenizer), and
 * files that do not fit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdlib.h>
#include <fulgurite/tokenizer.h>
#include "base/alloc.h"
#include "input/json_file.h"

#define FOLDER FGT_SOURCE_DIR "/tests/golden/tokenizer"

static fg_error err;

static void check_decoded(const fg_tokenizer *t, const fg_token_list *list, bool skip_special,
                          const char *expected)
{
    char *text = NULL;
    size_t size = 0;
    assert_int_equal(fg_tokenizer_decode(t, list->at, list->count,
                                         &(fg_decode_options){.skip_special = skip_special}, &text,
                                         &size, &err),
                     FG_OK);
    assert_string_equal(text, expected);
    assert_int_equal(size, strlen(expected));
    fg_free(text);
}

static void check_case(const char *name, const fg_tokenizer *t, const json_t *given)
{
    const json_t *text = json_object_get(given, "text"), *ids = json_object_get(given, "ids");
    fg_token_list list = {0};
    assert_int_equal(fg_tokenizer_encode(t, json_string_value(text), json_string_length(text), NULL,
                                         &list, &err),
                     FG_OK);
    for (size_t i = 0; i < list.count && i < json_array_size(ids); i++)
        if (list.at[i] != json_integer_value(json_array_get(ids, i)))
            fail_msg("%s: '%s': token %zu is %d, expected %lld", name, json_string_value(text), i,
                     (int)list.at[i], json_integer_value(json_array_get(ids, i)));
    assert_int_equal(list.count, json_array_size(ids));
    check_decoded(t, &list, false, json_string_value(json_object_get(given, "decoded")));
    check_decoded(t, &list, true, json_string_value(json_object_get(given, "skipped")));
    fg_free(list.at);
}

static void tokens_and_texts_are_those_of_the_reference(void **state)
{
    (void)state;
    void *text = NULL;
    size_t size = 0, i;
    json_t *root = NULL, *given, *cases;
    const char *name;
    assert_int_equal(fg_file_read(FOLDER "/cases.json", &text, &size, &err), FG_OK);
    assert_int_equal(fgi_json_parse("cases.json", 0, text, size, &root, &err), FG_OK);
    assert_int_equal(json_object_size(root), 10);
    json_object_foreach(root, name, cases)
    {
        fg_tokenizer *t = NULL;
        char file[64];
        (void)snprintf(file, sizeof file, "%s.json", name);
        assert_int_equal(fg_tokenizer_open(fgt_path(FOLDER, file), &t, &err), FG_OK);
        json_array_foreach(cases, i, given) check_case(name, t, given);
        fg_tokenizer_destroy(t);
    }
    json_decref(root);
    fg_free(text);
}

static void bytes_are_their_own_tokens(void **state)
{
    (void)state;
    fg_tokenizer *t = NULL;
    fg_token_list list = {0};
    assert_int_equal(fg_tokenizer_open("bytes", &t, &err), FG_OK);
    assert_int_equal(fg_tokenizer_size(t), 256);
    assert_int_equal(fg_tokenizer_encode(t, "a\xff\0", 3, NULL, &list, &err), FG_OK);
    assert_int_equal(list.count, 3);
    assert_int_equal(list.at[1], 255);
    check_decoded(t, &(fg_token_list){list.at, 2, 2}, false, "a\xef\xbf\xbd");
    assert_int_equal(fg_tokenizer_end(t), -1);
    assert_null(fg_tokenizer_json(t, NULL));
    fg_free(list.at);
    fg_tokenizer_destroy(t);
}

/* What bytes.decode("utf-8", "replace") of Python gives, and tokenizers. */
static void wrong_bytes_are_replaced(void **state)
{
    static const char *const rows[][2] = {
        {"\xe3\x83O", "\xef\xbf\xbdO"},
        {"\xe3", "\xef\xbf\xbd"},
        {"\xf0\x9f\x91x", "\xef\xbf\xbdx"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc3\xc3\xa9", "\xef\xbf\xbd\xc3\xa9"},
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe1\x80\xe1\x80\x80", "\xef\xbf\xbd\xe1\x80\x80"},
    };
    fg_tokenizer *t = NULL;
    (void)state;
    assert_int_equal(fg_tokenizer_open("bytes", &t, &err), FG_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int32_t tokens[8];
        const size_t count = strlen(rows[i][0]);
        for (size_t k = 0; k < count; k++)
            tokens[k] = (unsigned char)rows[i][0][k];
        check_decoded(t, &(fg_token_list){tokens, count, count}, false, rows[i][1]);
    }
    fg_tokenizer_destroy(t);
}

static void special_tokens_can_be_left_out(void **state)
{
    (void)state;
    fg_tokenizer *t = NULL;
    fg_token_list list = {0};
    assert_int_equal(fg_tokenizer_open(FOLDER "/bert.json", &t, &err), FG_OK);
    assert_int_equal(fg_tokenizer_encode(t, "", 0, NULL, &list, &err), FG_OK);
    assert_int_equal(list.count, 2); /* [CLS] [SEP] */
    assert_int_equal(list.at[1], fg_tokenizer_end(t));
    assert_int_equal(
        fg_tokenizer_encode(t, "", 0, &(fg_encode_options){.no_special = true}, &list, &err),
        FG_OK);
    assert_int_equal(list.count, 2);
    assert_int_equal(fg_tokenizer_encode(t, "ab\xc3", 3, NULL, &list, &err), FG_EFORMAT);
    assert_non_null(strstr(err.message, "byte 2 of the text is not UTF-8"));
    assert_int_equal(list.count, 2);
    const fg_encode_options later = {.reserved = {1}};
    assert_int_equal(fg_tokenizer_encode(t, "a", 1, &later, &list, &err), FG_EINVAL);
    const fg_decode_options too = {.reserved = {1}};
    char *text = NULL;
    assert_int_equal(fg_tokenizer_decode(t, list.at, list.count, &too, &text, NULL, &err),
                     FG_EINVAL);
    fg_free(list.at);
    fg_tokenizer_destroy(t);
}

typedef struct bad {
    const char *json;
    fg_status status;
    const char *message;
} bad;

#define ADDED(id, content, special)                                                                \
    ", \"added_tokens\": [{\"id\": " id ", \"content\": " content ", \"special\": " special        \
    ", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": false}]"
#define SPLIT(regex)                                                                               \
    ", \"pre_tokenizer\": {\"type\": \"Split\", \"behavior\": \"Isolated\", \"invert\": false, "   \
    "\"pattern\": {\"Regex\": \"" regex "\"}}"
#define MODEL(more)                                                                                \
    "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1}, \"merges\": []}" more "}"

static const bad bad_files[] = {
    {"{", FG_EFORMAT, "t.json: byte 1: invalid JSON"},
    {"{}", FG_EFORMAT, "expected a tokenizer of Hugging Face, with a member 'model'"},
    {"{\"model\": {\"type\": \"WordLevel\", \"vocab\": {}}}", FG_EUNSUPPORTED,
     "unknown model 'WordLevel': expected BPE, WordPiece or Unigram"},
    {"{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\", 0]]}, \"normalizer\": {\"type\": "
     "\"Precompiled\", \"precompiled_charsmap\": \"CAAAAA==\"}}",
     FG_EFORMAT, "precompiled_charsmap: expected the table of SentencePiece in Base64"},
    {"{\"model\": {\"type\": \"Unigram\", \"vocab\": {\"a\": 0}}}", FG_EFORMAT,
     "model Unigram: 'vocab' is {\"a\":0}: expected a list"},
    {"{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\", 0], [\"b\"]]}}", FG_EFORMAT,
     "t.json: entry 1 of vocab: expected [token, log probability]"},
    {"{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\", 0]], \"unk_id\": 1}}", FG_EFORMAT,
     "unk_id 1 is not in vocab"},
    {"{\"model\": {\"vocab\": 1, \"merges\": []}}", FG_EFORMAT,
     "model BPE: 'vocab' is 1: expected an object"},
    {"{\"model\": {\"vocab\": {\"a\": -1}, \"merges\": []}}", FG_EFORMAT,
     "token 'a': expected an index"},
    {"{\"model\": {\"vocab\": {\"a\": 0, \"b\": 0}, \"merges\": []}}", FG_EFORMAT,
     "have the same index, 0"},
    {"{\"model\": {\"vocab\": {\"a\": 0, \"b\": 1}, \"merges\": [\"a b\"]}}", FG_EFORMAT,
     "entry 0 of merges, \"a b\": expected two tokens of vocab"},
    {"{\"model\": {\"vocab\": {\"a\": 0}, \"merges\": [], \"unk_token\": \"u\"}}", FG_EFORMAT,
     "unk_token 'u' is not in vocab"},
    {"{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"a\": 0}}}", FG_EFORMAT,
     "model WordPiece: 'unk_token' is missing: expected a string"},
    {"{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"a\": 0}, \"unk_token\": \"[UNK]\", "
     "\"continuing_subword_prefix\": \"##\", \"max_input_chars_per_word\": 100}}",
     FG_EFORMAT, "unk_token '[UNK]' is not in vocab"},
    {"{\"model\": {\"vocab\": {}}}", FG_EFORMAT, "'unk_token' is missing"},
    {"{\"model\": {\"type\": \"BPE\", \"vocab\": {}}}", FG_EFORMAT,
     "model BPE: 'merges' is missing: expected a list"},
    {"{\"model\": {\"vocab\": {}, \"merges\": [], \"dropout\": 0.1}}", FG_EFORMAT,
     "model BPE: 'dropout' is 0.1: expected null"},
    {"{\"model\": {\"type\": 5, \"vocab\": {}, \"merges\": []}}", FG_EUNSUPPORTED,
     "unknown model ''"},
    {"{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"a\", 0]], \"unk_id\": \"0\"}}", FG_EFORMAT,
     "'unk_id' is \"0\": expected an integer|null"},
    {MODEL(", \"added_tokens\": {}"), FG_EFORMAT, "added_tokens: expected a list"},
    {MODEL(ADDED("2", "\"<s>\"", "0")), FG_EFORMAT,
     "added_tokens: 'special' is 0: expected true|false"},
    {MODEL(ADDED("2", "\"a\"", "true")), FG_EFORMAT,
     "added_tokens: 'a' has index 2, but 0 in vocab: expected one of them"},
    {MODEL(ADDED("16777215", "\"<s>\"", "true")), FG_EFORMAT,
     "the largest index is 16777215, but it has only 3 tokens"},
    {MODEL(", \"normalizer\": 5"), FG_EFORMAT,
     "normalizer: expected an object with a 'type', found an integer"},
    {MODEL(", \"normalizer\": {\"type\": \"Sequence\", \"normalizers\": {}}"), FG_EFORMAT,
     "normalizer Sequence: 'normalizers' is {}: expected a list"},
    {MODEL(", \"normalizer\": {\"type\": \"Strip\", \"strip_left\": \"true\"}"), FG_EFORMAT,
     "normalizer Strip: 'strip_left' is \"true\": expected true|false"},
    {MODEL(", \"normalizer\": {\"type\": \"NFKCX\", \"normalizers\": []}"), FG_EUNSUPPORTED,
     "unknown normalizer 'NFKCX'"},
    {MODEL(", \"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"_\", "
           "\"prepend_scheme\": \"last\"}"),
     FG_EFORMAT, "'prepend_scheme' is \"last\": expected \"always\"|\"first\"|\"never\""},
    {MODEL(SPLIT("[^a[^b]]")), FG_EUNSUPPORTED, "is not supported: it has [^ in a set"},
    {MODEL(SPLIT("[a&&b]")), FG_EUNSUPPORTED, "it has && in a set"},
    {MODEL(SPLIT("\\\\h")), FG_EUNSUPPORTED, "it has \\h"},
    {MODEL(", \"post_processor\": []"), FG_EFORMAT,
     "post_processor: expected an object with a 'type', found a list"},
    {MODEL(", \"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"a\", 0]}"), FG_EFORMAT,
     "post_processor BertProcessing: 'cls' is missing: expected a list"},
    {MODEL(", \"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"a\", 0], "
           "\"cls\": [\"z\", 2]}"),
     FG_EFORMAT, "post_processor: expected indices of tokens of the vocabulary, got 2"},
    {MODEL(", \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [\"$A\"], "
           "\"special_tokens\": {}}"),
     FG_EFORMAT, "TemplateProcessing: single: expected objects"},
    {MODEL(", \"decoder\": {\"type\": \"WordPiece\", \"prefix\": \"##\"}"), FG_EFORMAT,
     "decoder WordPiece: 'cleanup' is missing: expected true|false"},
    {MODEL(", \"normalizer\": {\"type\": \"NFKCD\"}"), FG_EUNSUPPORTED,
     "unknown normalizer 'NFKCD': did you mean 'NFKC'?"},
    {MODEL(", \"normalizer\": {\"type\": \"Prepend\"}"), FG_EFORMAT,
     "normalizer Prepend: 'prepend' is missing: expected a string"},
    {MODEL(", \"pre_tokenizer\": {\"type\": \"Split\", \"invert\": false, \"behavior\": "
           "\"Isolate\"}"),
     FG_EFORMAT, "unknown behavior 'Isolate': did you mean 'Isolated'?"},
    {MODEL(SPLIT("a(")), FG_EFORMAT,
     "the regular expression 'a(' is not supported: missing closing parenthesis"},
    {MODEL(", \"post_processor\": {\"type\": \"Other\"}"), FG_EUNSUPPORTED,
     "unknown post_processor 'Other'"},
    {MODEL(", \"decoder\": {\"type\": \"Metaspaces\"}"), FG_EUNSUPPORTED,
     "unknown decoder 'Metaspaces': did you mean 'Metaspace'?"},
};

static void files_that_do_not_fit_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
        fg_tokenizer *t = NULL;
        const char *json = bad_files[i].json;
        assert_int_equal(fg_tokenizer_parse("t.json", json, strlen(json), &t, &err),
                         bad_files[i].status);
        assert_null(t);
        if (strstr(err.message, bad_files[i].message) == NULL)
            fail_msg("expected '%s' in: %s", bad_files[i].message, err.message);
    }
}

/* As in the regular expression of BLOOM's tokenizer. */
static void a_set_in_a_set_is_part_of_it(void **state)
{
    static const char json[] =
        "{\"model\": {\"vocab\": {\"a\": 0, \"b\": 1, \".\": 2, \"ab\": 3, \"b.\": 4}, \"merges\": "
        "[\"b .\", \"a b\"]}" SPLIT("[a[b]]+") "}";
    fg_tokenizer *t = NULL;
    fg_token_list list = {0};
    (void)state;
    assert_int_equal(fg_tokenizer_parse("t.json", json, sizeof json - 1, &t, &err), FG_OK);
    assert_int_equal(fg_tokenizer_encode(t, "ab.", 3, NULL, &list, &err), FG_OK);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.at[0], 3);
    fg_free(list.at);
    fg_tokenizer_destroy(t);
}

/* A path that is none: what works instead is named. */
static void a_file_that_works_is_suggested(void **state)
{
    (void)state;
    static const struct {
        const char *made, *opened, *message;
    } rows[] = {
        {"vocab.txt", "", "\nconvert vocab.txt in Python: AutoTokenizer.from_pretrained(FOLDER)"},
        {"spiece.model", "spiece.model", "\nconvert spiece.model in Python: AutoTokenizer"},
        {"tokenizer.json", "config.json", "tokenizer.json is next to it"},
        {"config.json", "", "/tokenizer.json': No such file or directory"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fg_tokenizer *t = NULL;
        const char *folder = fgt_temp_folder();
        fgt_write(fgt_path(folder, rows[i].made), "{}", 2);
        assert_int_not_equal(fg_tokenizer_open(fgt_path(folder, rows[i].opened), &t, &err), FG_OK);
        if (strstr(err.message, rows[i].message) == NULL)
            fail_msg("expected '%s' in: %s", rows[i].message, err.message);
    }
}

/* Opens and encodes with the n-th allocation failing. */
static bool has_memory(long n, const char *json, size_t size)
{
    fg_tokenizer *t = NULL;
    fg_token_list list = {0};
    char *text = NULL;
    fgi_alloc_fail_after(n);
    fg_status status = fg_tokenizer_parse("t.json", json, size, &t, &err);
    if (status == FG_OK)
        status = fg_tokenizer_encode(t, "caf\xc3\xa9 don", 9, NULL, &list, &err);
    if (status == FG_OK)
        status = fg_tokenizer_decode(t, list.at, list.count, NULL, &text, NULL, &err);
    const bool has_failed = fgi_alloc_has_failed();
    fgi_alloc_fail_after(-1);
    assert_int_equal(status, has_failed ? FG_ENOMEM : FG_OK);
    fg_free(text);
    fg_free(list.at);
    fg_tokenizer_destroy(t);
    return !has_failed;
}

static void a_failing_allocation_is_an_error(void **state)
{
    (void)state;
    void *json = NULL;
    size_t size = 0;
    assert_int_equal(fg_file_read(FOLDER "/mixed.json", &json, &size, &err), FG_OK);
    const long live = fgi_alloc_live();
    for (long n = 0; !has_memory(n, json, size); n += 1 + n / 40)
        assert_int_equal(fgi_alloc_live(), live);
    assert_int_equal(fgi_alloc_live(), live);
    fg_free(json);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(tokens_and_texts_are_those_of_the_reference),
    cmocka_unit_test(bytes_are_their_own_tokens),
    cmocka_unit_test(wrong_bytes_are_replaced),
    cmocka_unit_test(special_tokens_can_be_left_out),
    cmocka_unit_test(files_that_do_not_fit_are_named),
    cmocka_unit_test(a_set_in_a_set_is_part_of_it),
    cmocka_unit_test(a_file_that_works_is_suggested),
    cmocka_unit_test(a_failing_allocation_is_an_error),
};
FGT_MAIN(tests)
