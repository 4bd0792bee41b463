/* text_table.c - see text_table.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/text_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "input/csv_table.h"
#include "input/json_file.h"

/* A row of JSON. */
typedef struct object {
    fgi_str text;
    const char *label; /* NULL: none */
    size_t line;       /* starting at 1 */
} object;

/* An open table. */
typedef struct reader {
    const fgi_text_table *table;
    const fg_format_request *request;
    fgi_csv csv; /* of JSON lines, only its arena */
    fgi_csv_row row;
    object *objects; /* NULL: a table */
    size_t row_count, capacity;
    size_t text, target; /* columns */
    const char **names;  /* of the classes, sorted; in the table's arena, or the request's */
    size_t name_count;
} reader;

static fg_status find_column(const reader *r, const char *option, const char *name, size_t *out,
                             fg_error *err)
{
    char known[200];
    for (*out = 0; *out < r->csv.column_count; ++*out)
        if (strcmp(r->csv.columns[*out], name) == 0)
            return FG_OK;
    return fg_option_fail(
        r->request->values, option, FG_EINVAL, err, "%s: there is no column '%s'%s", r->csv.name,
        name, fgi_suggest(name, r->csv.columns, r->csv.column_count, known, sizeof known));
}

/* ---- JSON lines ------------------------------------------------------------------------------ */

bool fgi_is_json_lines(const char *path)
{
    return fgi_ends_in_one_of(path, ".jsonl|.ndjson|.jsonl.gz|.ndjson.gz");
}

bool fgi_is_text_table(const char *path)
{
    return fgi_is_json_lines(path) || fgi_ends_in_one_of(path, ".csv|.tsv");
}

static fg_status fail_member(const json_t *root, const char *name, const char *expected,
                             fg_error *err)
{
    const char *known[32], *key;
    char hint[200];
    size_t count = 0;
    json_t *value;
    json_object_foreach((json_t *)root, key, value) if (count < sizeof known / sizeof *known)
        known[count++] = key;
    return fgi_fail(err, FG_EFORMAT, "member '%s': expected %s%s", name, expected,
                    json_object_get(root, name) == NULL
                        ? fgi_suggest(name, known, count, hint, sizeof hint)
                        : "");
}

static const char *copy_text(reader *r, const json_t *value)
{
    char number[32];
    if (json_is_string(value))
        return fgi_arena_copy(&r->csv.arena, json_string_value(value),
                              json_string_length(value) + 1);
    (void)fgi_snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    return fgi_arena_strdup(&r->csv.arena, number);
}

static fg_status add_object(reader *r, const json_t *root, size_t line, fg_error *err)
{
    const char *names[2] = {r->table->text, r->request->needs_target ? r->table->target : NULL};
    const json_t *text = json_object_get(root, names[0]);
    const json_t *label = names[1] != NULL ? json_object_get(root, names[1]) : NULL;
    if (!json_is_object(root))
        return fgi_fail(err, FG_EFORMAT, "expected an object on each line, {\"%s\": TEXT}",
                        names[0]);
    if (!json_is_string(text))
        return fail_member(root, names[0], "a string", err);
    if (names[1] != NULL && !json_is_string(label) && !json_is_integer(label))
        return fail_member(root, names[1], "a string or an integer", err);
    FGI_TRY_GROW(r->objects, r->row_count, r->capacity, err);
    object *o = &r->objects[r->row_count++];
    *o = (object){{copy_text(r, text), json_string_length(text)}, NULL, line};
    if (label != NULL)
        o->label = copy_text(r, label);
    return o->text.data != NULL && (label == NULL || o->label != NULL) ? FG_OK : fgi_no_memory(err);
}

static fg_status read_lines(reader *r, const char *path, const fgi_block *block, fg_error *err)
{
    const char *text = (const char *)block->data;
    size_t number = 1, size;
    for (size_t at = 0; at < block->size; at += size + 1, number++) {
        const char *end = memchr(text + at, '\n', block->size - at);
        json_t *root = NULL;
        size = end == NULL ? block->size - at : (size_t)(end - text) - at;
        if (fgi_str_trim((fgi_str){text + at, size}).size == 0)
            continue;
        fg_status status = fgi_json_parse(path, at, text + at, size, &root, err);
        if (status == FG_OK && (status = add_object(r, root, number, err)) != FG_OK)
            status = fgi_context(err, status, "%s:%zu", path, number);
        json_decref(root);
        FGI_TRY(status);
    }
    return r->row_count > 0 ? FG_OK : fgi_fail(err, FG_EFORMAT, "%s: there are no lines", path);
}

static fg_status open_objects(reader *r, const char *path, fg_error *err)
{
    fgi_block block = {0};
    FGI_TRY(fgi_block_open(path, FGI_LARGEST_INFLATED_BYTES, &block, err));
    const fg_status status = read_lines(r, path, &block, err);
    fgi_block_fini(&block);
    return status;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static fg_status open_reader(reader *r, const char *path, fg_error *err)
{
    if (fgi_is_json_lines(path))
        return open_objects(r, path, err);
    const fgi_csv_layout layout = {.delimiter = fgi_ends_with(path, ".tsv") ? '\t' : ','};
    fgi_block block = {0};
    FGI_TRY(fgi_block_open(path, FGI_LARGEST_INFLATED_BYTES, &block, err));
    FGI_TRY(fgi_csv_parse(path, &block, &layout, &r->csv, err));
    FGI_TRY(fgi_csv_row_init(&r->csv, &r->row, err));
    r->row_count = r->csv.row_count;
    FGI_TRY(find_column(r, "text", r->table->text, &r->text, err));
    return r->table->target == NULL || !r->request->needs_target
               ? FG_OK
               : find_column(r, "target", r->table->target, &r->target, err);
}

static void close_reader(reader *r)
{
    fgi_csv_row_fini(&r->row);
    fgi_csv_fini(&r->csv);
    fgi_free(r->objects);
}

static fgi_str read_text(reader *r, size_t row)
{
    if (r->objects != NULL)
        return r->objects[row].text;
    fgi_csv_read(&r->csv, row, &r->row);
    return r->row.cells[r->text];
}

/* "reviews.csv:7" before a message about a row. */
static fg_status add_place(const reader *r, size_t row, fg_status status, fg_error *err)
{
    return status == FG_OK ? FG_OK
                           : fgi_context(err, status, "%s:%zu", r->table->path,
                                         r->objects != NULL ? r->objects[row].line
                                                            : fgi_csv_line(&r->csv, row));
}

/* ---- classes --------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The label of the row that was read last, as text in the arena. */
static fg_status read_label(reader *r, size_t row, const char **out, fg_error *err)
{
    if (r->objects != NULL) {
        *out = r->objects[row].label;
        return FG_OK;
    }
    const fgi_str cell = r->row.cells[r->target];
    if (cell.size == 0)
        return fgi_csv_fail(&r->csv, row, r->target, err, "the class is missing");
    char *copy = fgi_arena_copy(&r->csv.arena, cell.data, cell.size + 1);
    if (copy == NULL)
        return fgi_no_memory(err);
    copy[cell.size] = '\0';
    *out = copy;
    return FG_OK;
}

/* The distinct labels, sorted. */
static fg_status list_classes(reader *r, fg_error *err)
{
    r->names = fgi_arena_alloc(&r->csv.arena, (r->row_count + 1) * sizeof *r->names);
    if (r->names == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < r->row_count; i++) {
        (void)read_text(r, i);
        FGI_TRY(read_label(r, i, &r->names[i], err));
    }
    qsort(r->names, r->row_count, sizeof *r->names, compare);
    for (size_t i = 0; i < r->row_count; i++)
        if (r->name_count == 0 || strcmp(r->names[i], r->names[r->name_count - 1]) != 0)
            r->names[r->name_count++] = r->names[i];
    return FG_OK;
}

static fg_status find_label(reader *r, size_t row, int32_t *out, fg_error *err)
{
    char known[200];
    const char *label = "";
    FGI_TRY(read_label(r, row, &label, err));
    const char **at = bsearch(&label, r->names, r->name_count, sizeof *r->names, compare);
    if (at == NULL && r->objects != NULL)
        return add_place(r, row,
                         fgi_fail(err, FG_EFORMAT, "unknown class '%.80s'%s", label,
                                  fgi_suggest(label, r->names, r->name_count, known, sizeof known)),
                         err);
    if (at == NULL)
        return fgi_csv_fail(&r->csv, row, r->target, err, "unknown class '%.80s'%s", label,
                            fgi_suggest(label, r->names, r->name_count, known, sizeof known));
    *out = (int32_t)(at - r->names);
    return FG_OK;
}

/* ---- samples --------------------------------------------------------------------------------- */

static int32_t padding_of(const fg_tokenizer *t)
{
    const int32_t bert = fg_tokenizer_index(t, "[PAD]"), other = fg_tokenizer_index(t, "<pad>");
    return bert >= 0 ? bert : other >= 0 ? other : 0;
}

/* Tokens of one text in `length` places; a text that is cut off keeps the token of its end. */
static fg_status put_tokens(const fgi_text_table *t, fgi_str text, int32_t *out, int64_t *cut,
                            fg_error *err)
{
    fg_token_list list = {0};
    const size_t length = (size_t)t->length;
    const fg_status status =
        fg_tokenizer_encode(t->tokenizer, text.data, text.size, NULL, &list, err);
    const size_t kept = list.count < length ? list.count : length;
    const int32_t padding = padding_of(t->tokenizer), end = fg_tokenizer_end(t->tokenizer);
    for (size_t i = 0; i < length; i++)
        out[i] = i < kept ? list.at[i] : padding;
    if (list.count > length && list.at[list.count - 1] == end)
        out[length - 1] = end;
    *cut += list.count > length;
    fg_free(list.at);
    return status;
}

static fg_status fill(reader *r, int32_t *tokens, int32_t *labels, fg_error *err)
{
    char line[160];
    int64_t cut = 0;
    for (size_t i = 0; i < r->row_count; i++) {
        const fgi_str text = read_text(r, i);
        FGI_TRY(add_place(
            r, i, put_tokens(r->table, text, tokens + i * (size_t)r->table->length, &cut, err),
            err));
        if (labels != NULL)
            FGI_TRY(find_label(r, i, &labels[i], err));
    }
    (void)fgi_snprintf(line, sizeof line,
                       "%" PRId64 " of %zu texts have more than data.length %" PRId64
                       " tokens: the rest of them is not used",
                       cut, r->row_count, r->table->length);
    if (cut > 0 && r->request->say != NULL)
        r->request->say(r->request->say_self, FG_LOG_WARNING, line);
    return FG_OK;
}

static fg_status make_dataset(reader *r, fg_dataset **out, fg_error *err)
{
    const bool has_label = r->request->needs_target;
    const fg_field fields[] = {
        {.name = "tokens", .type = {.dtype = FG_S32, .rank = 1, .dim = {r->table->length}}},
        {.name = "label", .type = {.dtype = FG_S32}}};
    const fg_dataset_spec spec = {.count = (int64_t)r->row_count,
                                  .fields = fields,
                                  .field_count = has_label ? 2 : 1,
                                  .class_count = has_label ? (int64_t)r->name_count : 0,
                                  .class_names = has_label ? r->names : NULL};
    int32_t *tokens = fgi_calloc(r->row_count + 1, (size_t)r->table->length * sizeof *tokens);
    int32_t *labels = fgi_calloc(r->row_count + 1, sizeof *labels);
    fg_status status = tokens != NULL && labels != NULL
                           ? fill(r, tokens, has_label ? labels : NULL, err)
                           : fgi_no_memory(err);
    if (status == FG_OK)
        status =
            fg_dataset_from_arrays(&spec, (const void *const[]){tokens, labels}, FG_COPY, out, err);
    fgi_free(tokens);
    fgi_free(labels);
    return status;
}

fg_status fgi_text_table_load(const fgi_text_table *table, const fg_format_request *request,
                              fg_dataset **out, fg_error *err)
{
    const bool has_names = request->class_names != NULL;
    const bool is_other = strcmp(table->path, table->classes_of) != 0;
    reader r = {.table = table, .request = request}, classes = r;
    fg_status status = open_reader(&r, table->path, err);
    if (has_names) {
        r.names = (const char **)request->class_names;
        r.name_count = (size_t)request->class_count;
    } else if (request->needs_target && is_other && status == FG_OK) {
        status = open_reader(&classes, table->classes_of, err);
        if (status == FG_OK)
            status = list_classes(&classes, err);
        r.names = classes.names;
        r.name_count = classes.name_count;
    } else if (request->needs_target && status == FG_OK) {
        status = list_classes(&r, err);
    }
    if (status == FG_OK)
        status = make_dataset(&r, out, err);
    close_reader(&classes);
    close_reader(&r);
    return status;
}

fg_status fgi_text_table_tokens(const fgi_text_table *table, const fg_format_request *request,
                                fgi_documents *out, fg_error *err)
{
    reader r = {.table = table, .request = request};
    fg_status status = open_reader(&r, table->path, err);
    for (size_t i = 0; i < r.row_count && status == FG_OK; i++)
        status =
            add_place(&r, i, fgi_documents_add(table->tokenizer, read_text(&r, i), out, err), err);
    close_reader(&r);
    return status;
}
