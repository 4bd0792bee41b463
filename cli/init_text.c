/* init_text.c - text for `fulgurite init`: files and folders of .txt files, JSON lines, and
 * packs of tokens. Writes a small model that suits them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <fulgurite/tokenizer.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "base/text.h"
#include "init.h"
#include "input/block.h"
#include "input/json_file.h"

/* Tokens of a sample, and how many samples a text should have for that. */
enum { LONGEST = 256, SHORTEST = 8, ENOUGH_WINDOWS = 64, TOKEN_BYTES = 4 };

/* ---- JSON lines ------------------------------------------------------------------------------ */

/* The first of these members ("a|b") that has one of the types; NULL: none. */
static char *find_member(const json_t *object, const char *names, bool is_label)
{
    fgi_str rest = fgi_str_of(names), name;
    while (fgi_str_next(&rest, "|", &name)) {
        const json_t *value = json_object_getn(object, name.data, name.size);
        if (json_is_string(value) || (is_label && json_is_integer(value)))
            return cli_printf("%.*s", (int)name.size, name.data);
    }
    return NULL;
}

static void look_at_line(const char *path, const fgi_block *block, init_files *out)
{
    fg_error unused;
    json_t *object = NULL;
    const char *end = memchr(block->data, '\n', block->size);
    const size_t size = end != NULL ? (size_t)(end - (const char *)block->data) : block->size;
    if (fgi_json_parse(path, 0, (const char *)block->data, size, &object, &unused) != FG_OK)
        return;
    if (json_object_get(object, "path") == NULL && json_object_get(object, "file_name") == NULL)
        out->text = find_member(object, "text|content|review|sentence|document|body", false);
    if (out->text != NULL)
        out->label = find_member(object, "label|class|category|sentiment|target", true);
    json_decref(object);
}

bool init_text_find(const char *path, init_files *out)
{
    fg_error unused;
    fgi_block block = {0};
    if (fgi_ends_in_one_of(path, ".jsonl|.ndjson|.jsonl.gz|.ndjson.gz") &&
        fgi_block_open(path, FGI_LARGEST_INFLATED_BYTES, &block, &unused) == FG_OK) {
        look_at_line(path, &block, out);
        fgi_block_fini(&block);
    }
    if (out->text == NULL && !fgi_ends_in_one_of(path, ".txt") &&
        (!fgi_is_folder(path) || init_count_names(path, ".txt", NULL) == 0))
        return false;
    out->kind = &init_text;
    out->path = cli_strdup(path);
    return true;
}

/* ---- what there is --------------------------------------------------------------------------- */

static double size_of(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? (double)info.st_size : 0;
}

/* Bytes of the file, or of the .txt files of the folder; *out_files: how many. */
static double text_bytes(const char *path, size_t *out_files)
{
    double sum = 0;
    const struct dirent *entry;
    DIR *folder = fgi_is_folder(path) ? opendir(path) : NULL;
    *out_files = 1;
    if (folder == NULL)
        return size_of(path);
    for (*out_files = 0; (entry = fgi_folder_next(&folder)) != NULL;) {
        if (!fgi_ends_in_one_of(entry->d_name, ".txt"))
            continue;
        char *file = cli_printf("%s/%s", path, entry->d_name);
        sum += size_of(file);
        free(file);
        ++*out_files;
    }
    return sum;
}

/* A tokenizer.json in the folder of the text, owned; NULL: there is none. */
static char *find_tokenizer(const char *path)
{
    char *folder = fgi_is_folder(path) ? fgi_strdup(path) : fgi_path_parent(path);
    char *file = cli_printf("%s/tokenizer.json", folder != NULL ? folder : ".");
    fgi_free(folder);
    if (fgi_file_exists(file))
        return file;
    free(file);
    return NULL;
}

static int64_t length_for(double tokens)
{
    int64_t length = LONGEST;
    while (length > SHORTEST && tokens / (double)length < ENOUGH_WINDOWS)
        length /= 2;
    return length;
}

/* ---- lines of the configuration -------------------------------------------------------------- */

static void put_number(fgi_buf *out, const char *key, int64_t value, const char *why)
{
    char text[24];
    (void)fgi_snprintf(text, sizeof text, "%" PRId64, value);
    init_put(out, key, text, why);
}

static void put_model(fgi_buf *out, bool is_class, int64_t length)
{
    fgi_buf_printf(out, "\ntask: %s\n\nmodel:\n", is_class ? "classification" : "language");
    init_put(out, "name", is_class ? "bert" : "gpt2",
             is_class ? "a small BERT" : "a small GPT-2; llama is another language model");
    put_number(out, "layers", 4, "more, and a larger width, for more text");
    put_number(out, "width", 128, NULL);
    put_number(out, "heads", 4, NULL);
    if (is_class)
        put_number(out, "intermediate", 512, NULL);
    put_number(out, "length", length, NULL);
}

/* The vocabulary and the padding token, which a BERT must know. */
static fg_status put_vocabulary(fgi_buf *out, const char *tokenizer, fg_error *err)
{
    fg_tokenizer *t = NULL;
    FGI_TRY(fg_tokenizer_open(tokenizer != NULL ? tokenizer : "bytes", &t, err));
    const int32_t bert = fg_tokenizer_index(t, "[PAD]"), other = fg_tokenizer_index(t, "<pad>");
    put_number(out, "vocabulary", fg_tokenizer_size(t), "of the tokenizer");
    put_number(out, "padding", bert >= 0 ? bert : other >= 0 ? other : 0, "its padding token");
    fg_tokenizer_destroy(t);
    return FG_OK;
}

static fg_status put_text(fgi_buf *out, const init_files *files, const char *target, fg_error *err)
{
    size_t count;
    const double bytes = text_bytes(files->path, &count);
    char *tokenizer = find_tokenizer(files->path);
    const int64_t length = length_for(tokenizer != NULL ? bytes / TOKEN_BYTES : bytes);
    fg_status status = FG_OK;
    (void)target;
    fgi_buf_printf(out, "# detected: %zu file%s of text, %s\n", count, fgi_s((int64_t)count),
                   fgi_bytes_words(bytes));
    if (files->label != NULL)
        fgi_buf_printf(out,
                       "# inferred, check it: '%s' is the class of each text; without it, task: "
                       "language predicts the next token\n",
                       files->label);
    put_model(out, files->label != NULL, length);
    if (files->label != NULL)
        status = put_vocabulary(out, tokenizer, err);
    fgi_buf_puts(out, "\ndata:\n  format: text\n");
    init_put_text(out, "path", files->path, NULL);
    init_put_text(out, "text", files->text, "detected: the member with the text");
    init_put_text(out, "target", files->label, "inferred, check it: the member with the class");
    init_put_text(out, "tokenizer", tokenizer != NULL ? tokenizer : "bytes",
                  tokenizer != NULL
                      ? "detected: next to the text"
                      : "each byte; or a tokenizer.json, such as a published model's");
    put_number(out, "length", length, "tokens of a sample");
    init_put(out, "val_fraction", "0.1", "hold out a tenth for validation");
    free(tokenizer);
    return status;
}

bool init_pack_has_tokens(const fg_pack *pack)
{
    const fg_pack_info *info = fg_pack_info_of(pack);
    return info->field_count == 1 && strcmp(info->fields[0].name, "tokens") == 0 &&
           info->fields[0].type.rank == 1 && info->fields[0].type.dim[0] > 1;
}

void init_put_tokens(fgi_buf *out, const init_files *files)
{
    const int64_t length = fg_pack_info_of(files->pack)->fields[0].type.dim[0] - 1;
    fgi_buf_printf(out, "# detected: a pack of %" PRId64 " windows of %" PRId64 " tokens\n",
                   fg_pack_count(files->pack), length);
    put_model(out, false, length);
    fgi_buf_puts(out, "\ndata:\n  format: pack\n");
    init_put_text(out, "train", files->path, NULL);
    init_put(out, "val_fraction", "0.1", "hold out a tenth of the windows for validation");
}

const init_kind init_text = {.format = "text", .put = put_text};
