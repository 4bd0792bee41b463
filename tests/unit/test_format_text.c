/* The data format text, and packs of tokens: windows of tokens and those that follow them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"
#include "open_format.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <fulgurite/pack_arrays.h>
#include "data/dataset.h"
#include "data/formats.h"

static fg_error err;

/* Opens a part of the format with the values, "path=F", "length=4". */
static fg_status open_part(const fg_format_entry *format, const char *(*values)[2], size_t count,
                           fg_format_request request, fg_format_data *out)
{
    const fg_entry *entry = &format->entry;
    fg_option_values *v = NULL;
    fgt_ok(fg_option_values_create(entry->name, entry->options, entry->option_count, &v, &err));
    for (size_t i = 0; i < count; i++)
        fgt_ok(fg_option_set(v, values[i][0], values[i][1], NULL, &err));
    *out = (fg_format_data){.samples = NULL};
    const fg_status status = fgt_open_format(format, v, request, out, &err);
    fg_option_values_destroy(v);
    return status;
}

static void check_sample(const fg_dataset *d, int64_t index, const int32_t *expected, int length)
{
    int32_t tokens[16], next[16];
    float bytes[16];
    fgt_ok(fg_dataset_read(d, index, (void *[]){tokens, next, bytes}, &err));
    for (int i = 0; i < length; i++) {
        assert_int_equal(tokens[i], expected[i]);
        assert_int_equal(next[i], expected[i + 1]);
    }
}

static void check_bytes(const fg_dataset *d, const float *expected, int length)
{
    int32_t tokens[16], next[16];
    float bytes[16];
    assert_int_equal(fg_dataset_field_count(d), 3);
    fgt_ok(fg_dataset_read(d, 0, (void *[]){tokens, next, bytes}, &err));
    for (int i = 0; i < length; i++)
        assert_true(bytes[i] == expected[i]);
}

static void release(fg_format_data *data)
{
    fg_dataset_destroy(data->samples);
    fg_tokenizer_destroy(data->tokenizer);
}

/* A byte order mark is not part of a text. */
static void documents_follow_each_other(void **state)
{
    (void)state;
    const char *folder = fgt_path(fgt_temp_folder(), "texts");
    assert_int_equal(mkdir(folder, 0777), 0);
    fgt_write(fgt_path(folder, "b.txt"),
              "\xef\xbb\xbf"
              "345",
              6);
    fgt_write(fgt_path(folder, "a.txt"), "012", 3);
    fgt_write(fgt_path(folder, "c.md"), "xxx", 3);
    const char *values[][2] = {{"path", folder}, {"length", "2"}};
    fg_format_data data;
    fgt_ok(open_part(&fgi_text_row, values, 2, (fg_format_request){.is_training = true}, &data));
    assert_int_equal(fg_dataset_count(data.samples), 2); /* 6 bytes: the last is only a target */
    assert_int_equal(fg_dataset_class_count(data.samples), 256);
    assert_true(data.bytes_per_token == 1);
    check_sample(data.samples, 0, (const int32_t[]){'0', '1', '2'}, 2);
    check_sample(data.samples, 1, (const int32_t[]){'2', '3', '4'}, 2);
    release(&data);
}

static void each_document_has_its_tokens_around_it(void **state)
{
    (void)state;
    const char *file = fgt_path(fgt_temp_folder(), "one.txt");
    const char *json = FGT_SOURCE_DIR "/tests/golden/tokenizer/bert.json";
    fgt_write(file, "x x", 3);
    const char *values[][2] = {{"path", file}, {"length", "3"}, {"tokenizer", json}};
    fg_format_data data;
    fgt_ok(open_part(&fgi_text_row, values, 3, (fg_format_request){.is_training = true}, &data));
    const int32_t x = fg_tokenizer_index(data.tokenizer, "x");
    assert_true(x > 4);
    check_sample(data.samples, 0, (const int32_t[]){2, x, x, 3}, 3); /* [CLS] x x [SEP] */
    assert_int_equal(fg_dataset_class_count(data.samples), fg_tokenizer_size(data.tokenizer));
    check_bytes(data.samples, (const float[]){1.5f, 1.5f, 0}, 3);
    const fg_tokenizer *kept = data.tokenizer;
    fg_format_data again;
    const char *gone[][2] = {{"path", file}, {"length", "9"}, {"tokenizer", "gone.json"}};
    const fg_type input = {FG_S32, 1, {3}};
    fgt_ok(open_part(&fgi_text_row, gone, 3,
                     (fg_format_request){.tokenizer = kept, .input = &input}, &again));
    check_sample(again.samples, 0, (const int32_t[]){2, x, x, 3}, 3);
    release(&again);
    release(&data);
}

/* The tokens of byte-level BPE are bytes; the end of a document is none. */
static void tokens_have_the_bytes_that_they_stand_for(void **state)
{
    (void)state;
    const char *file = fgt_path(fgt_temp_folder(), "bytes.txt");
    const char *json = FGT_SOURCE_DIR "/tests/golden/tokenizer/gpt2.json";
    static const char text[] = "h \xc3\xa9";
    fgt_write(file, text, sizeof text - 1);
    const char *values[][2] = {{"path", file}, {"length", "3"}, {"tokenizer", json}};
    fg_format_data data;
    fgt_ok(open_part(&fgi_text_row, values, 3, (fg_format_request){.is_training = true}, &data));
    check_bytes(data.samples, (const float[]){1, 2, 0}, 3);
    release(&data);
}

static void texts_of_a_table_have_classes(void **state)
{
    (void)state;
    const char *train = fgt_path(fgt_temp_folder(), "t.csv");
    const char *val = fgt_path(fgt_temp_folder(), "v.csv");
    static const char rows[] = "label,review\nno,x\nyes,\"x, xx x\"\nno,\n";
    static const char more[] = "review,label\nx,yes\n";
    const char *values[][2] = {{"path", train},     {"val", val},    {"text", "review"},
                               {"target", "label"}, {"length", "3"}, {"tokenizer", "bytes"}};
    int32_t tokens[3], label = -1;
    fg_format_data data;
    fgt_write(train, rows, sizeof rows - 1);
    fgt_write(val, more, sizeof more - 1);
    fg_format_request request = {.is_training = true, .needs_target = true};
    fgt_ok(open_part(&fgi_text_row, values, 6, request, &data));
    assert_int_equal(fg_dataset_class_count(data.samples), 2);
    assert_string_equal(fg_dataset_class_name(data.samples, 1), "yes");
    fgt_ok(fg_dataset_read(data.samples, 1, (void *[]){tokens, &label}, &err));
    assert_int_equal(label, 1);
    assert_memory_equal(tokens, ((int32_t[]){'x', ',', ' '}), sizeof tokens); /* cut off */
    fgt_ok(fg_dataset_read(data.samples, 0, (void *[]){tokens, &label}, &err));
    assert_memory_equal(tokens, ((int32_t[]){'x', 0, 0}), sizeof tokens); /* padded */
    release(&data);
    request.part = FG_PART_VAL; /* its only class is the second of the training rows */
    fgt_ok(open_part(&fgi_text_row, values, 6, request, &data));
    fgt_ok(fg_dataset_read(data.samples, 0, (void *[]){tokens, &label}, &err));
    assert_int_equal(label, 1);
    release(&data);
    fgt_write(val, "review,label\nx,yess\n", 20);
    assert_int_equal(open_part(&fgi_text_row, values, 6, request, &data), FG_EFORMAT);
    assert_non_null(strstr(err.message, "v.csv:2: row 1, column 'label': unknown class 'yess'"));
    release(&data);
    values[3][1] = "lable";
    request.part = FG_PART_TRAIN;
    assert_int_equal(open_part(&fgi_text_row, values, 6, request, &data), FG_EINVAL);
    assert_non_null(strstr(err.message, "there is no column 'lable': did you mean 'label'?"));
    release(&data);
    assert_int_equal(open_part(&fgi_text_row, values, 2, request, &data), FG_EINVAL);
    assert_non_null(strstr(err.message, "is a table: set data.text"));
    fgt_ok(open_part(&fgi_text_row,
                     (const char *[][2]){{"path", train}, {"text", "review"}, {"length", "4"}}, 3,
                     request, &data));
    check_sample(data.samples, 0, (const int32_t[]){'x', 'x', ',', ' ', 'x'}, 4); /* documents */
    release(&data);
}

static void json_lines_have_texts_and_classes(void **state)
{
    (void)state;
    const char *train = fgt_path(fgt_temp_folder(), "t.jsonl");
    static const char rows[] =
        "\xef\xbb\xbf{\"text\": \"ab\", \"y\": 10}\n\n{\"y\": 9, \"text\": \"\\u00e9\"}\n";
    static const char bad[] = "{\"text\": \"ab\", \"y\": 1}\n{\"texts\": \"b\", \"y\": 1}\n";
    const char *values[][2] = {{"path", train}, {"length", "3"}, {"target", "y"}};
    int32_t tokens[3], label = -1;
    fg_format_data data;
    fgt_write(train, rows, sizeof rows - 1);
    const fg_format_request request = {.is_training = true, .needs_target = true};
    fgt_ok(open_part(&fgi_text_row, values, 3, request, &data));
    assert_int_equal(fg_dataset_class_count(data.samples), 2);
    fgt_ok(fg_dataset_read(data.samples, 1, (void *[]){tokens, &label}, &err));
    assert_int_equal(label, 1); /* of "10" and "9" */
    assert_memory_equal(tokens, ((int32_t[]){0xc3, 0xa9, 0}), sizeof tokens);
    release(&data);
    fgt_ok(open_part(&fgi_text_row, values, 2, request, &data)); /* a language model */
    check_sample(data.samples, 0, (const int32_t[]){'a', 'b', 0xc3, 0xa9}, 3);
    release(&data);
    fgt_write(train, bad, sizeof bad - 1);
    assert_int_equal(open_part(&fgi_text_row, values, 3, request, &data), FG_EFORMAT);
    fgt_message_is(err.message,
                   "~/t.jsonl:2: member 'text': expected a string: did you mean 'texts'?");
    fgt_write(train, "[]", 2);
    assert_int_equal(open_part(&fgi_text_row, values, 3, request, &data), FG_EFORMAT);
    fgt_message_is(err.message, "~/t.jsonl:1: expected an object on each line, {\"text\": TEXT}");
}

static void a_pack_of_tokens_has_the_same_samples(void **state)
{
    (void)state;
    static const uint16_t tokens[] = {5, 6, 7, 8, 900, 10, 11};
    const char *file = fgt_path(fgt_temp_folder(), "t.bin");
    const char *pack = fgt_path(fgt_temp_folder(), "t.pack");
    fgt_write(file, tokens, sizeof tokens);
    fgt_ok(fg_pack_arrays(file, pack, &(fg_pack_arrays_options){.sequence = 3}, NULL, &err));
    const char *values[][2] = {{"train", pack}};
    fg_format_data data;
    fgt_ok(open_part(&fgi_pack_row, values, 1, (fg_format_request){.is_training = true}, &data));
    assert_int_equal(fg_dataset_count(data.samples), 2);
    assert_int_equal(fg_dataset_class_count(data.samples), 901);
    check_sample(data.samples, 0, (const int32_t[]){5, 6, 7, 8}, 3);
    check_sample(data.samples, 1, (const int32_t[]){8, 900, 10, 11}, 3);
    release(&data);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(documents_follow_each_other),
    cmocka_unit_test(each_document_has_its_tokens_around_it),
    cmocka_unit_test(tokens_have_the_bytes_that_they_stand_for),
    cmocka_unit_test(texts_of_a_table_have_classes),
    cmocka_unit_test(json_lines_have_texts_and_classes),
    cmocka_unit_test(a_pack_of_tokens_has_the_same_samples),
};
FGT_MAIN(tests)
