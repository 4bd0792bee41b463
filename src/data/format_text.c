/* format_text.c - the data format text: files of text, which a tokenizer splits into tokens. Each
 * file is a document; the documents follow each other, each with the tokenizer's tokens around it,
 * and windows of them are the samples.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "base/text.h"
#include "data/formats.h"
#include "data/next_tokens.h"
#include "data/text_table.h"

typedef struct text_format {
    const char *paths[FG_PART_PREDICT + 1];
    const char *text, *target, *tokenizer;
    int64_t length;
} text_format;

/* The table of a part. */
static fgi_text_table table_of(const text_format *o, const fg_format_request *request,
                               const fg_tokenizer *t)
{
    return (fgi_text_table){.path = o->paths[request->part],
                            .classes_of = o->paths[FG_PART_TRAIN],
                            .text = o->text != NULL ? o->text : "text",
                            .target = o->target,
                            .tokenizer = t,
                            .length = request->input != NULL ? request->input->dim[0] : o->length};
}

/* Paths of a part's files; free each, and `at`. */
typedef struct file_list {
    char **at;
    size_t count, capacity;
} file_list;

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static fg_status add_file(file_list *list, char *take_path, fg_error *err)
{
    char **grown = take_path != NULL
                       ? fgi_grow(list->at, list->count, &list->capacity, sizeof *list->at)
                       : NULL;
    if (grown == NULL) {
        fgi_free(take_path);
        return fgi_no_memory(err);
    }
    list->at = grown;
    list->at[list->count++] = take_path;
    return FG_OK;
}

/* The file, or the .txt files of the folder, by name. */
static fg_status list_files(const char *path, file_list *list, fg_error *err)
{
    const struct dirent *entry;
    fg_status status = FG_OK;
    if (!fgi_is_folder(path))
        return add_file(list, fgi_strdup(path), err);
    DIR *folder = opendir(path);
    while (folder != NULL && (entry = fgi_folder_next(&folder)) != NULL)
        if (status == FG_OK && fgi_ends_in_one_of(entry->d_name, ".txt"))
            status = add_file(list, fgi_path_join(path, entry->d_name), err);
    if (status == FG_OK && list->count == 0)
        return fgi_fail(err, FG_ENOTFOUND, "%s: the folder contains no .txt files", path);
    if (list->count > 0)
        qsort(list->at, list->count, sizeof *list->at, compare);
    return status;
}

/* Appends the tokens of a document. */
static fg_status add_document(const fg_tokenizer *t, const char *path, fgi_documents *out,
                              fg_error *err)
{
    void *file = NULL;
    size_t size = 0;
    FGI_TRY(fg_file_read(path, &file, &size, err));
    const size_t mark = fgi_utf8_mark(file, size);
    const fgi_str text = {(const char *)file + mark, size - mark};
    const fg_status status = fgi_documents_add(t, text, out, err);
    fg_free(file);
    return status == FG_OK ? FG_OK : fgi_context(err, status, "%s", path);
}

static void say_count(const fg_format_request *request, const char *path, const file_list *files,
                      size_t tokens, int64_t length)
{
    char line[256];
    (void)fgi_snprintf(line, sizeof line, "%.120s: %zu file%s, %zu tokens, %zu windows of %" PRId64,
                       path, files->count, fgi_s((int64_t)files->count), tokens,
                       (tokens - 1) / (size_t)length, length);
    fgi_format_say(request, FG_LOG_INFO, line);
}

static fg_status load_files(const text_format *o, const fg_format_request *request,
                            const fg_tokenizer *t, fg_format_data *out, fg_error *err)
{
    const char *path = o->paths[request->part];
    const int64_t length = request->input != NULL ? request->input->dim[0] : o->length;
    file_list files = {0};
    fgi_documents documents = {0};
    fg_status status = list_files(path, &files, err);
    const fgi_text_table table = table_of(o, request, t);
    if (status == FG_OK && fgi_is_text_table(path))
        status = fgi_text_table_tokens(&table, request, &documents, err);
    for (size_t i = 0; i < files.count && status == FG_OK && !fgi_is_text_table(path); i++)
        status = add_document(t, files.at[i], &documents, err);
    const size_t count = documents.tokens.count;
    if (status == FG_OK)
        status = fgi_token_windows(path, &documents, length, &out->samples, err);
    fg_free(documents.tokens.at);
    fgi_free(documents.bytes);
    if (status == FG_OK)
        status = fgi_next_tokens(fg_tokenizer_size(t), &out->samples, err);
    out->bytes_per_token = fg_tokenizer_json(t, NULL) == NULL ? 1 : 0;
    if (status == FG_OK)
        say_count(request, path, &files, count, length);
    for (size_t i = 0; i < files.count; i++)
        fgi_free(files.at[i]);
    fgi_free(files.at);
    return status;
}

/* Columns and tables require each other. */
static fg_status check_columns(const text_format *o, const fg_format_request *request,
                               fg_error *err)
{
    const char *path = o->paths[request->part];
    const bool has_table = fgi_is_text_table(path);
    if (has_table && o->text == NULL && !fgi_is_json_lines(path))
        return fgi_fail(
            err, FG_EINVAL,
            "%s is a table: set data.text to the column of the texts, and data.target to "
            "that of their classes",
            path);
    if (!has_table && (o->text != NULL || o->target != NULL))
        return fg_option_fail(request->values, o->text != NULL ? "text" : "target", FG_EINVAL, err,
                              "%s is no table with columns: expected a .csv, .tsv or .jsonl file",
                              path);
    return FG_OK;
}

static fg_status load(const void *own, const fg_format_request *request, fg_format_data *out,
                      fg_error *err)
{
    const text_format *o = own;
    fg_tokenizer *opened = NULL;
    const char *path = o->paths[request->part];
    if (path == NULL)
        return FG_OK;
    FGI_TRY(check_columns(o, request, err));
    if (request->tokenizer == NULL) {
        const fg_status status = fg_tokenizer_open(o->tokenizer, &opened, err);
        if (status != FG_OK)
            return fg_option_fail(request->values, "tokenizer", status, err, "%s", err->message);
    }
    const fg_tokenizer *t = request->tokenizer != NULL ? request->tokenizer : opened;
    const fgi_text_table table = table_of(o, request, t);
    const fg_status status = o->target != NULL
                                 ? fgi_text_table_load(&table, request, &out->samples, err)
                                 : load_files(o, request, t, out, err);
    if (status == FG_OK && request->part == FG_PART_TRAIN)
        out->tokenizer = opened;
    else
        fg_tokenizer_destroy(opened);
    return status;
}

static const fg_option options[] = {
    FG_OPTION_AS("path", text_format, paths[FG_PART_TRAIN], STRING, NULL, NULL, "book.txt",
                 "Text in UTF-8: a file, or a folder of .txt files, each a document; or a .csv, "
                 ".tsv or .jsonl file, whose rows are documents."),
    FG_OPTION_AS("val", text_format, paths[FG_PART_VAL], STRING, NULL, NULL, "val.txt",
                 "The validation text: a file, or a folder of .txt files."),
    FG_OPTION_AS("test", text_format, paths[FG_PART_TEST], STRING, NULL, NULL, "test.txt",
                 "The text for `test`. Default: the validation text."),
    FGI_OPTION_PREDICT(text_format),
    FG_OPTION(text_format, text, STRING, NULL, NULL, "review",
              "The column of a .csv or .tsv file that contains the text, or the member of the "
              "objects in a .jsonl file. Default: text, of a .jsonl file."),
    FG_OPTION(text_format, target, STRING, NULL, NULL, "label",
              "The column or member with the class of each text. Default: none; the model predicts "
              "the next "
              "token."),
    FG_OPTION(text_format, tokenizer, STRING, "bytes", NULL, "gpt2/tokenizer.json",
              "How text becomes tokens: bytes, or a tokenizer.json of Hugging Face, or a folder "
              "that contains one. Checkpoints contain it."),
    FG_OPTION(text_format, length, INT, "256", "1..1048576", "1024",
              "Tokens per sample. The targets are the tokens that follow each of them."),
};

const fg_format_entry fgi_text_row = {
    .entry = {.name = "text",
              .help = "text, for a language model, or with classes",
              FG_OPTIONS(options, text_format)},
    .files = {.train = "path", .val = "val", .test = "test", .predict = "predict"},
    .fitted = "text|target|tokenizer|length",
    .load = load};
