/* catalog.c - the public functions of a catalog. The kinds of sources are rows; each is one file.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/reserved.h"
#include "base/text.h"
#include "catalog/draft.h"

#define ROWS(ROW)                                                                                  \
    ROW(fgi_catalog_folder_row)                                                                    \
    ROW(fgi_catalog_csv_row)                                                                       \
    ROW(fgi_catalog_jsonl_row)                                                                     \
    ROW(fgi_catalog_tar_row)                                                                       \
    ROW(fgi_catalog_tfrecord_row)

#define DECLARE(name) extern const fgi_catalog_kind name;
ROWS(DECLARE)

#define ADDRESS(name) &(name),
static const fgi_catalog_kind *const kinds[] = {ROWS(ADDRESS)};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

const char *fg_catalog_kind(int index, const char **out_help)
{
    if (index < 0 || index >= KINDS)
        return NULL;
    if (out_help != NULL)
        *out_help = kinds[index]->help;
    return kinds[index]->name;
}

/* ---- the kind of a path ---------------------------------------------------------------------- */

static const fgi_catalog_kind *kind_of_file(const char *name)
{
    for (int i = 0; i < KINDS; i++)
        if (kinds[i]->is_file != NULL && kinds[i]->is_file(name))
            return kinds[i];
    return NULL;
}

/* A folder with shards and no folders is a set of shards; others are image folders. */
static fg_status kind_of_folder(const char *path, const fgi_catalog_kind **out, fg_error *err)
{
    DIR *folder = opendir(path);
    if (folder == NULL)
        return fgi_fail_errno(err, "open", path);
    *out = NULL;
    bool has_folder = false;
    for (const struct dirent *e; !has_folder && (e = readdir(folder)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        has_folder = e->d_type == DT_DIR && !fgi_is_system_folder(e->d_name);
        const fgi_catalog_kind *kind = kind_of_file(e->d_name);
        if (kind == &fgi_catalog_tar_row || (kind == &fgi_catalog_tfrecord_row && *out == NULL))
            *out = kind;
    }
    (void)closedir(folder);
    if (has_folder || *out == NULL)
        *out = &fgi_catalog_folder_row;
    return FG_OK;
}

static fg_status find_kind(const char *path, const char *name, const fgi_catalog_kind **out,
                           fg_error *err)
{
    struct stat info = {0};
    *out = NULL;
    for (int i = 0; i < KINDS; i++)
        if (name != NULL && strcmp(kinds[i]->name, name) == 0)
            *out = kinds[i];
    if (*out != NULL)
        return FG_OK;
    if (name != NULL && strcmp(name, "auto") != 0)
        return fgi_fail(err, FG_EINVAL,
                        "fg_catalog_open: unknown kind '%s': expected auto, folder, csv, jsonl, "
                        "tar or tfrecord",
                        name);
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return kind_of_folder(path, out, err);
    if (strpbrk(path, "{*?[") == NULL && !fgi_file_exists(path))
        return fgi_fail_errno(err, "open", path);
    *out = kind_of_file(fgi_after_last(path, '/'));
    if (*out == NULL) {
        fgi_mapping file = {0}; /* says what it is if it is of a well-known kind */
        if (S_ISREG(info.st_mode))
            FGI_TRY(fgi_file_map(path, &file, err));
        fgi_file_unmap(&file);
        return fgi_fail(
            err, FG_EINVAL,
            "'%s': expected a folder, an image, or a file .csv, .tsv, .jsonl, .tar or "
            ".tfrecord\nif it has another name, set the kind (csv, jsonl, tar, tfrecord): "
            "fulgurite pack --source='{kind: csv}', or data.source",
            path);
    }
    return FG_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void set_default(const char **text, const char *value)
{
    if (*text == NULL)
        *text = value;
}

static fg_status complete(const fg_catalog_options *options, fg_catalog_options *out, fg_error *err)
{
    *out = options == NULL ? (fg_catalog_options){0} : *options;
    FGI_TRY_RESERVED(fg_catalog_options, out, err);
    set_default(&out->name_column, "name");
    set_default(&out->label_column, "label");
    set_default(&out->labels_column, "labels");
    set_default(&out->label_separator, ";|");
    set_default(&out->split_column, "split");
    set_default(&out->group_column, "group");
    set_default(&out->image_feature, "image/encoded");
    set_default(&out->suffix, "");
    set_default(&out->label_feature, "image/class/label");
    set_default(&out->text_feature, "image/class/text");
    set_default(&out->name_feature, "image/filename");
    if (out->label_columns.count > 0 && out->class_count == 0) {
        out->class_names = out->label_columns.at;
        out->class_count = (int64_t)out->label_columns.count;
    }
    return fgi_check_class_names("fg_catalog_open", out->class_names, out->class_count, err);
}

static fg_status build(fg_catalog *c, const char *path, const fg_catalog_options *options,
                       fg_error *err)
{
    fgi_draft b = {.catalog = c, .options = options};
    c->path = fgi_arena_strdup(&c->arena, path);
    fg_status status = c->path == NULL ? fgi_no_memory(err) : FG_OK;
    if (status == FG_OK)
        status = c->kind->open(&b, path, err);
    if (status == FG_OK)
        status = fgi_draft_finish(&b, err);
    fgi_free(b.labels);
    fgi_map_fini(&b.label_of);
    fgi_map_fini(&b.group_of);
    fgi_map_fini(&b.sample_of);
    return status;
}

fg_status fg_catalog_open(const char *path, const fg_catalog_options *options, fg_catalog **out,
                          fg_error *err)
{
    *out = NULL;
    fg_catalog_options o;
    const fgi_catalog_kind *kind;
    if (path == NULL || *path == '\0')
        return fgi_fail(err, FG_EINVAL, "fg_catalog_open: the path is empty");
    FGI_TRY(complete(options, &o, err));
    FGI_TRY(find_kind(path, o.kind, &kind, err));
    fg_catalog *c = fgi_calloc(1, sizeof(*c));
    if (c == NULL)
        return fgi_no_memory(err);
    atomic_init(&c->references, 1);
    c->kind = kind;
    c->folder_fd = -1;
    const fg_status status = build(c, path, &o, err);
    if (status == FG_OK)
        *out = c;
    else
        fg_catalog_close(c);
    return status;
}

fg_catalog *fgi_catalog_retain(fg_catalog *catalog)
{
    atomic_fetch_add_explicit(&catalog->references, 1, memory_order_relaxed);
    return catalog;
}

void fg_catalog_close(fg_catalog *catalog)
{
    if (catalog == NULL ||
        atomic_fetch_sub_explicit(&catalog->references, 1, memory_order_acq_rel) != 1)
        return;
    if (catalog->folder_fd >= 0)
        (void)close(catalog->folder_fd);
    fgi_shards_fini(&catalog->shards);
    fgi_free(catalog->samples);
    fgi_free((void *)catalog->groups);
    fgi_free(catalog->skipped);
    fgi_free(catalog->notes);
    fgi_arena_fini(&catalog->arena);
    fgi_free(catalog);
}

fg_status fgi_catalog_check_labels(const fg_catalog *catalog, fg_error *err)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (catalog->samples[i].label >= 0)
            return FG_OK;
    return fgi_fail(err, FG_EFORMAT, "'%s': no image has a label: expected %s", catalog->path,
                    catalog->kind->target);
}

/* ---- contents -------------------------------------------------------------------------------- */

const char *fg_catalog_kind_of(const fg_catalog *catalog) { return catalog->kind->name; }

int64_t fg_catalog_count(const fg_catalog *catalog) { return (int64_t)catalog->count; }

int64_t fg_catalog_class_count(const fg_catalog *catalog) { return catalog->class_count; }

const char *fg_catalog_class_name(const fg_catalog *catalog, int64_t index)
{
    const bool has_name =
        catalog->class_names != NULL && index >= 0 && index < catalog->class_count;
    return has_name ? catalog->class_names[index] : NULL;
}

static fg_status find_sample(const fg_catalog *c, int64_t index, const fgi_sample **out,
                             fg_error *err)
{
    if (index < 0 || (uint64_t)index >= c->count)
        return fgi_fail(err, FG_EINVAL, "sample %lld is out of range: the catalog has %zu sample%s",
                        (long long)index, c->count, fgi_s(c->count));
    *out = &c->samples[index];
    return FG_OK;
}

fg_status fg_catalog_item_at(const fg_catalog *catalog, int64_t index, fg_catalog_item *out,
                             fg_error *err)
{
    const fgi_sample *s = NULL;
    *out = (fg_catalog_item){0};
    FGI_TRY(find_sample(catalog, index, &s, err));
    out->name = s->name;
    out->label = s->label;
    out->labels = s->labels != NULL ? s->labels : &s->label;
    out->label_count = s->label_count;
    out->split = s->split;
    out->group = s->group;
    out->group_name = s->group > 0 ? catalog->groups[s->group - 1] : NULL;
    return FG_OK;
}

fg_status fg_catalog_read(const fg_catalog *catalog, int64_t index, fg_catalog_bytes *bytes,
                          fg_error *err)
{
    const fgi_sample *s = NULL;
    bytes->size = 0;
    FGI_TRY_RESERVED(fg_catalog_bytes, bytes, err);
    FGI_TRY(find_sample(catalog, index, &s, err));
    const fg_status status = catalog->kind->read(catalog, s, bytes, err);
    if (status != FG_OK)
        bytes->size = 0;
    return status;
}

int64_t fg_catalog_skip_count(const fg_catalog *catalog) { return (int64_t)catalog->skip_count; }

const char *fg_catalog_skip(const fg_catalog *catalog, int64_t index, const char **out_reason)
{
    if (index < 0 || (uint64_t)index >= catalog->skip_count)
        return NULL;
    if (out_reason != NULL)
        *out_reason = catalog->skipped[index].reason;
    return catalog->skipped[index].path;
}

size_t fg_catalog_escape(const char *name, char *out, size_t size)
{
    if (size >= 4)
        return fgi_text_escape(fgi_str_of(name), out, size);
    if (size > 0)
        out[0] = '\0';
    return 0;
}
