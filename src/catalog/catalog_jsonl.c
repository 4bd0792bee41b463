/* catalog_jsonl.c - JSONL manifests: a JSON object per line and sample.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "catalog/manifest_row.h"
#include "input/block.h"
#include "input/json_file.h"

static bool is_jsonl(const char *name)
{
    return fgi_ends_in_one_of(name, ".jsonl|.ndjson|.jsonl.gz|.ndjson.gz");
}

typedef struct line {
    const char *path;
    size_t number; /* starting at 1 */
    size_t offset; /* bytes, in the file */
    fgi_str text;
} line;

/* The classes of the samples that follow, unless the caller has given them. */
static fg_status set_classes(fgi_draft *b, const json_t *classes, fg_error *err)
{
    fg_catalog *c = b->catalog;
    fg_catalog_options o = *b->options;
    const size_t count = json_array_size(classes);
    const char **names = fgi_arena_alloc(&c->arena, (count + 1) * sizeof(*names));
    if (b->label_count > 0 || c->count > 0 || count == 0)
        return fgi_fail(err, FG_EFORMAT,
                        "member 'classes': expected a list of names, before the samples");
    if (names == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const json_t *name = json_array_get(classes, i);
        if (!json_is_string(name))
            return fgi_fail(err, FG_EFORMAT, "member 'classes': expected a list of strings");
        const fgi_str text = {json_string_value(name), json_string_length(name)};
        FGI_TRY(fgi_draft_text(b, text, &names[i], err));
    }
    if (o.class_names != NULL)
        return FG_OK;
    o.class_names = names;
    o.class_count = (int64_t)count;
    b->options = fgi_arena_copy(&c->arena, &o, sizeof(o));
    return b->options != NULL ? FG_OK : fgi_no_memory(err);
}

/* Notes the members of the first line that have no meaning in a list. */
static fg_status note_ignored(fgi_draft *b, const line *l, const json_t *object, fg_error *err)
{
    const fg_catalog_options *o = b->options;
    const char *used[] = {"",
                          "",
                          o->name_column,
                          o->label_column,
                          o->labels_column,
                          o->split_column,
                          o->group_column};
    char shown[FGI_SHOWN_BYTES];
    const char *ignored[16], *name;
    size_t count = 0;
    json_t *value;
    (void)fgi_path_columns(o, used);
    json_object_foreach((json_t *)object, name, value)
    {
        bool is_used = count == sizeof(ignored) / sizeof(ignored[0]);
        for (size_t i = 0; i < sizeof(used) / sizeof(used[0]); i++)
            is_used = is_used || strcmp(used[i], name) == 0;
        if (!is_used)
            ignored[count++] = name;
    }
    return count == 0 ? FG_OK
                      : fgi_draft_note(b, FG_LOG_INFO, err, "'%s': ignored member%s %s", l->path,
                                       fgi_s(count),
                                       fgi_shown_names(ignored, count, shown, sizeof(shown)));
}

static fg_status add_object(fgi_draft *b, const line *l, const json_t *object,
                            fgi_manifest_row *row, fg_error *err)
{
    const json_t *classes = json_object_get(object, "classes");
    const char *paths[2];
    const size_t path_count = fgi_path_columns(b->options, paths);
    bool is_sample = false;
    for (size_t i = 0; i < path_count; i++)
        is_sample = is_sample || json_object_get(object, paths[i]) != NULL;
    if (json_is_array(classes) && !is_sample)
        return set_classes(b, classes, err);
    if (b->catalog->count == 0 && b->catalog->skip_count == 0)
        FGI_TRY(note_ignored(b, l, object, err));
    FGI_TRY(fgi_row_from_json(b, object, FGI_ROW_FILES | FGI_ROW_LABELS, row, err));
    return fgi_manifest_add(b, row, "line", l->number, err);
}

static fg_status add_line(fgi_draft *b, const line *l, fgi_manifest_row *row, fg_error *err)
{
    json_t *object = NULL;
    char number[32];
    b->line = l->number;
    (void)fgi_snprintf(number, sizeof(number), ":%zu", l->number);
    char *place = fgi_alloc(strlen(l->path) + sizeof(number));
    if (place == NULL)
        return fgi_no_memory(err);
    (void)fgi_snprintf(place, strlen(l->path) + sizeof(number), "%s%s", l->path, number);
    fg_status status = fgi_json_parse(place, l->offset, l->text.data, l->text.size, &object, err);
    if (status == FG_OK) {
        status = add_object(b, l, object, row, err);
        if (status != FG_OK && status != FG_ENOMEM)
            status = fgi_context(err, status, "%s", place);
    }
    json_decref(object);
    fgi_free(place);
    return status;
}

static fg_status add_lines(fgi_draft *b, const char *path, const fgi_block *block, fg_error *err)
{
    fgi_manifest_row row = {0};
    fg_status status = FG_OK;
    const char *text = (const char *)block->data;
    size_t number = 1;
    for (size_t at = 0; status == FG_OK && at < block->size; number++) {
        const char *end = memchr(text + at, '\n', block->size - at);
        const size_t size = end == NULL ? block->size - at : (size_t)(end - text) - at;
        const line l = {path, number, at, {text + at, size}};
        if (fgi_str_trim(l.text).size > 0)
            status = add_line(b, &l, &row, err);
        at += size + 1;
    }
    fgi_free(row.labels.list);
    return status;
}

static fg_status open_jsonl(fgi_draft *b, const char *path, fg_error *err)
{
    fgi_block block;
    FGI_TRY(fgi_manifest_begin(b, path, err));
    FGI_TRY(fgi_block_open(path, FGI_LARGEST_INFLATED_BYTES, &block, err));
    const fg_status status = add_lines(b, path, &block, err);
    fgi_block_fini(&block);
    return status == FG_OK ? fgi_manifest_end(b, err) : status;
}

const fgi_catalog_kind fgi_catalog_jsonl_row = {
    .name = "jsonl",
    .help = "JSONL manifest: {\"path\": \"a.jpg\", \"label\": \"cat\"} on each line",
    .target = "a member 'label' in each line (another one: data.label_column)",
    .is_file = is_jsonl,
    .open = open_jsonl,
    .read = fgi_read_sample_file,
};
