/* catalog_tar.c - tar archives in WebDataset's layout: files whose paths are equal up to the first
 * dot of the name are one sample. They need not be adjacent. Archives without labels may contain
 * folders of classes instead. Source: WebDataset format specification, "WebDataset:
 * conventions".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "catalog/manifest_row.h"
#include "catalog/tar_read.h"
#include "input/json_file.h"

enum { LABEL_MAX = 4096, JSON_MAX = 1 << 24 };

/* A file of a sample; path NULL: none. */
typedef struct member {
    const char *path;
    uint64_t header, offset, size;
} member;

/* What was found of a sample. In an arena; a list in the order of the archive. */
typedef struct group {
    struct group *next;
    const char *any; /* path of the first file, for messages */
    member image, label, json;
} group;

/* Samples with labels of both kinds, in all shards. */
typedef struct label_counts {
    int64_t label, both;
} label_counts;

/* One shard. */
typedef struct scan {
    fgi_draft *b;
    const fgi_shard_file *shard;
    int32_t number;
    bool has_prefix;          /* several shards: names start with that of the shard */
    const char *label_member; /* without a dot; NULL: cls, or else json */
    fgi_tar tar;
    fgi_arena arena;
    fgi_map groups;
    group *first, **last;
    fgi_manifest_row row;
    label_counts *counts;
    fg_error *err;
} scan;

static bool is_tar(const char *name)
{
    return fgi_ends_in_one_of(name, ".tar|.tar.gz|.tgz|.tar.zst|.tar.lz4|.tar.xz|.tar.bz2");
}

static fg_status fail_member(const scan *s, const member *m, const char *what)
{
    char shown[FGI_SHOWN_BYTES];
    return fgi_fail(s->err, FG_EFORMAT, "'%s': byte %llu: '%s': %s", s->shard->path,
                    (unsigned long long)m->header, fgi_shown(m->path, shown), what);
}

/* The sample whose paths start with `key`, created if it is new. */
static group *group_of(scan *s, const char *path, size_t key_size)
{
    const fgi_hash hash = fgi_hash_bytes(path, key_size);
    group *g = fgi_map_get(&s->groups, hash);
    if (g != NULL)
        return g;
    g = fgi_arena_alloc(&s->arena, sizeof(*g));
    if (g == NULL)
        return NULL;
    g->any = fgi_arena_strdup(&s->arena, path);
    if (g->any == NULL || !fgi_map_put(&s->groups, hash, g))
        return NULL;
    *s->last = g;
    s->last = &g->next;
    return g;
}

/* ---- members --------------------------------------------------------------------------------- */

static fg_status set_member(scan *s, member *out, const fgi_tar_member *m, const char *twice)
{
    if (out->path != NULL)
        return fail_member(s, &(member){.path = m->path, .header = m->header}, twice);
    *out = (member){fgi_arena_strdup(&s->arena, m->path), m->header, m->offset, m->size};
    return out->path != NULL ? FG_OK : fgi_no_memory(s->err);
}

static bool is_in_system_folder(const char *path)
{
    char name[32]; /* longer than those of system folders */
    for (const char *slash; (slash = strchr(path, '/')) != NULL; path = slash + 1) {
        const size_t size = (size_t)(slash - path);
        if (size >= sizeof(name))
            continue;
        memcpy(name, path, size);
        name[size] = '\0';
        if (fgi_is_system_folder(name))
            return true;
    }
    return false;
}

static fg_status use_member(scan *s, const fgi_tar_member *m)
{
    const char *file = fgi_after_last(m->path, '/');
    const char *dot = strchr(file, '.');
    if (!m->is_file || dot == NULL || dot == file) /* a folder, no extension, or hidden */
        return FG_OK;
    if (is_in_system_folder(m->path))
        return FG_OK;
    group *g = group_of(s, m->path, (size_t)(dot - m->path));
    if (g == NULL)
        return fgi_no_memory(s->err);
    const bool is_json = fgi_compare_nocase(dot + 1, "json") == 0;
    const bool is_label =
        fgi_compare_nocase(dot + 1, s->label_member != NULL ? s->label_member : "cls") == 0;
    const bool has_one_dot = strchr(dot + 1, '.') == NULL;
    if (has_one_dot && !is_label && fgi_is_image_name(fgi_str_of(file)))
        return set_member(s, &g->image, m,
                          "the sample has another image\nname the files of a sample "
                          "KEY.jpg, KEY.cls");
    if (is_json || is_label)
        return set_member(s, is_json ? &g->json : &g->label, m,
                          "the sample has a file with this extension already");
    return FG_OK;
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* The text of a member, without a NUL at its end. */
static fg_status read_member(const scan *s, const member *m, uint64_t most, char **out)
{
    if (m->size > most)
        return fail_member(s, m, "too large for labels");
    *out = fgi_alloc((size_t)m->size + 1);
    if (*out == NULL)
        return fgi_no_memory(s->err);
    fg_status status = fgi_shard_read(s->shard, m->offset, *out, (size_t)m->size, s->err);
    if (status == FG_OK && memchr(*out, '\0', (size_t)m->size) != NULL)
        status = fail_member(s, m, "a NUL byte");
    if (status == FG_OK)
        return FG_OK;
    fgi_free(*out);
    return status;
}

static bool has_value(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return value != NULL && !json_is_null(value);
}

/* The labels of a .json file are used if the sample has none from another one. */
static fg_status use_json(scan *s, const char *text, size_t size, bool is_source,
                          fgi_sample *sample)
{
    const fg_catalog_options *o = s->b->options;
    json_t *object = NULL;
    FGI_TRY(fgi_json_parse("JSON", 0, text, size, &object, s->err));
    if (!is_source && !json_is_object(object)) { /* such as a list of boxes */
        json_decref(object);
        return FG_OK;
    }
    fg_status status =
        fgi_row_from_json(s->b, object, is_source ? FGI_ROW_LABELS : 0, &s->row, s->err);
    if (status == FG_OK && !is_source)
        s->counts->both +=
            has_value(object, o->label_column) || has_value(object, o->labels_column);
    if (status == FG_OK && is_source)
        s->counts->label += s->row.labels.count > 0;
    if (status == FG_OK)
        status = fgi_row_apply(s->b, &s->row, sample, s->err);
    json_decref(object);
    return status;
}

static fg_status use_label(scan *s, const char *text, size_t size, fgi_sample *sample)
{
    const fgi_str label = fgi_str_trim((fgi_str){text, size});
    fgi_label_ids *ids = &s->row.labels;
    ids->count = 0;
    if (label.size == 0)
        return FG_OK;
    s->counts->label++;
    FGI_TRY(fgi_row_add_label(s->b, &s->row, label, FGI_LABEL_TEXT, s->err));
    return fgi_draft_set_labels(s->b, sample, ids->list, ids->count, s->err);
}

/* Reads a member with labels, split or group. */
static fg_status use_text(scan *s, const group *g, const member *m, fgi_sample *sample)
{
    const bool is_json = m == &g->json;
    const bool is_source = s->label_member == NULL
                               ? g->label.path == NULL
                               : fgi_compare_nocase(s->label_member, "json") == 0;
    char *text = NULL;
    FGI_TRY(read_member(s, m, is_json ? JSON_MAX : LABEL_MAX, &text));
    fg_status status = is_json ? use_json(s, text, (size_t)m->size, is_source, sample)
                               : use_label(s, text, (size_t)m->size, sample);
    if (status != FG_OK && status != FG_ENOMEM)
        status = fgi_context(s->err, status, "'%s': byte %llu", s->shard->path,
                             (unsigned long long)m->header);
    fgi_free(text);
    return status;
}

static fg_status add_group(scan *s, const group *g)
{
    fgi_arena *arena = &s->b->catalog->arena;
    fgi_sample sample = {.split = FG_CATALOG_NO_SPLIT, .label = -1};
    if (g->json.path != NULL)
        FGI_TRY(use_text(s, g, &g->json, &sample));
    if (g->label.path != NULL)
        FGI_TRY(use_text(s, g, &g->label, &sample));
    if (g->image.path == NULL)
        return fgi_draft_skip(s->b, g->any, "a sample without an image", s->err);
    sample.name = s->has_prefix ? fgi_arena_printf(arena, "%s/%s", s->shard->name, g->image.path)
                                : fgi_arena_strdup(arena, g->image.path);
    if (sample.name == NULL)
        return fgi_no_memory(s->err);
    sample.offset = g->image.offset;
    sample.size = g->image.size;
    sample.shard = s->number;
    if (sample.split == FG_CATALOG_NO_SPLIT)
        sample.split = s->shard->split;
    FGI_TRY_CTX(fgi_draft_unique(s->b, sample.name, s->err), s->err, "'%s'", s->shard->path);
    return fgi_draft_add(s->b, &sample, s->err);
}

/* ---- folders of classes -------------------------------------------------------------------------
 * PREFIX/cat/1.jpg, or PREFIX/train/cat/1.jpg, where PREFIX is what the paths of all images begin
 * with. */

/* How the paths are divided. */
typedef struct layout {
    fgi_draft *b;
    size_t prefix; /* bytes */
    bool has_splits;
} layout;

/* The path of a sample in its archive; its name may start with that of the shard. */
static const char *path_of(const layout *l, const fgi_sample *s)
{
    const fgi_shard_files *shards = &l->b->catalog->shards;
    return s->name + (shards->count > 1 ? strlen(shards->list[s->shard].name) + 1 : 0);
}

/* Shortens the prefix to the folders that the path has, too. */
static void shorten(layout *l, const char *first, const char *path)
{
    size_t same = 0, end = 0;
    for (; same < l->prefix && path[same] == first[same]; same++)
        if (path[same] == '/')
            end = same + 1;
    l->prefix = end;
}

static void find_prefix(layout *l)
{
    const fg_catalog *c = l->b->catalog;
    const char *first = path_of(l, &c->samples[0]), *slash = strrchr(first, '/');
    l->prefix = slash == NULL ? 0 : (size_t)(slash + 1 - first);
    for (size_t i = 1; i < c->count; i++)
        shorten(l, first, path_of(l, &c->samples[i]));
}

/* The folder at *path, which is moved behind it; empty if there is none. */
static fgi_str next_folder(const char **path)
{
    const char *begin = *path, *slash = strchr(begin, '/');
    if (slash == NULL)
        return (fgi_str){begin, 0};
    *path = slash + 1;
    return (fgi_str){begin, (size_t)(slash - begin)};
}

/* The split that the name of a folder is, or that is a word of it as in seg_train. */
static uint8_t split_of(const layout *l, fgi_str folder, bool *out_is_name)
{
    char name[64];
    const fg_catalog_options *o = l->b->options;
    *out_is_name = false;
    if (o->no_split_folders || folder.size >= sizeof(name) || fgi_is_given_class(o, folder))
        return FG_CATALOG_NO_SPLIT;
    const uint8_t split = fgi_split_of_name(folder);
    *out_is_name = split != FG_CATALOG_NO_SPLIT;
    if (*out_is_name || o->class_count > 0)
        return split;
    memcpy(name, folder.data, folder.size);
    name[folder.size] = '\0';
    return fgi_split_in_name(name);
}

static fg_status fail_splits(const layout *l, const char *one, const char *another, fg_error *err)
{
    char a[FGI_SHOWN_BYTES], b[FGI_SHOWN_BYTES];
    return fgi_fail(err, FG_EFORMAT,
                    "'%.100s': some folders look like splits, but not all are named train, val or "
                    "test: '%.60s', '%.60s'\nput the folders of the classes into folders of these "
                    "names; if all are classes, set " FGI_NO_SPLIT_FOLDERS,
                    l->b->catalog->path, fgi_shown(one, a), fgi_shown(another, b));
}

/* All folders are named as splits, or none, as in an image folder. */
static fg_status find_splits(layout *l, fg_error *err)
{
    const fg_catalog *c = l->b->catalog;
    const char *split = NULL, *other = NULL, *word = NULL;
    uint8_t first_word = FG_CATALOG_NO_SPLIT;
    for (size_t i = 0; i < c->count; i++) {
        const char *name = c->samples[i].name, *path = path_of(l, &c->samples[i]) + l->prefix;
        bool is_name = false;
        const uint8_t found = split_of(l, next_folder(&path), &is_name);
        if (is_name)
            split = name;
        else
            other = name;
        if (is_name || found == FG_CATALOG_NO_SPLIT || found == first_word)
            continue;
        if (word != NULL)
            return fail_splits(l, word, name, err);
        word = name;
        first_word = found;
    }
    l->has_splits = split != NULL && other == NULL;
    return split != NULL && other != NULL ? fail_splits(l, split, other, err) : FG_OK;
}

/* Whether each image is in the folder of a class. */
static bool has_classes(const layout *l)
{
    const fg_catalog *c = l->b->catalog;
    for (size_t i = 0; i < c->count; i++) {
        const char *path = path_of(l, &c->samples[i]) + l->prefix;
        if (l->has_splits)
            (void)next_folder(&path);
        if (next_folder(&path).size == 0)
            return false;
    }
    return true;
}

/* Sets labels and splits of the samples, which have no label, by the folders in their paths. No
 * effect if the folders are not classes: images next to folders, or all in one folder. */
static fg_status use_folders(fgi_draft *b, fg_error *err)
{
    fg_catalog *c = b->catalog;
    layout l = {.b = b};
    if (c->count == 0)
        return FG_OK;
    find_prefix(&l);
    FGI_TRY(find_splits(&l, err));
    const bool are_classes = has_classes(&l);
    for (size_t i = 0; i < c->count; i++) {
        fgi_sample *s = &c->samples[i];
        const char *path = path_of(&l, s) + l.prefix;
        int32_t id = -1;
        if (l.has_splits)
            s->split = fgi_split_of_name(next_folder(&path));
        if (!are_classes)
            continue;
        FGI_TRY(fgi_draft_label(b, next_folder(&path), FGI_LABEL_NAME, &id, err));
        if (b->labels[id]->first_name == NULL)
            b->labels[id]->first_name = s->name;
        FGI_TRY(fgi_draft_set_labels(b, s, &id, 1, err));
    }
    return are_classes ? fgi_draft_note(b, FG_LOG_INFO, err,
                                        "'%s': no sample has a .cls or .json file: the folders of "
                                        "the images are the classes",
                                        c->path)
                       : FG_OK;
}

/* ---- shards ---------------------------------------------------------------------------------- */

static fg_status scan_members(scan *s)
{
    for (;;) {
        fgi_tar_member m;
        bool is_end;
        FGI_TRY(fgi_tar_next(&s->tar, &m, &is_end, s->err));
        if (is_end)
            break;
        while (m.path[0] == '.' && m.path[1] == '/')
            m.path += 2;
        FGI_TRY(use_member(s, &m));
    }
    for (const group *g = s->first; g != NULL; g = g->next)
        FGI_TRY(add_group(s, g));
    return FG_OK;
}

static fg_status scan_shard(fgi_draft *b, size_t number, label_counts *counts, fg_error *err)
{
    fg_catalog *c = b->catalog;
    scan *s = fgi_calloc(1, sizeof(*s)); /* the window is large */
    if (s == NULL)
        return fgi_no_memory(err);
    s->b = b;
    s->shard = &c->shards.list[number];
    s->number = (int32_t)number;
    s->has_prefix = c->shards.count > 1;
    s->label_member = b->options->label_member;
    if (s->label_member != NULL && s->label_member[0] == '.')
        s->label_member++;
    s->tar.window.shard = s->shard;
    s->last = &s->first;
    s->counts = counts;
    s->err = err;
    const fg_status status = scan_members(s);
    fgi_tar_fini(&s->tar);
    fgi_arena_fini(&s->arena);
    fgi_map_fini(&s->groups);
    fgi_free(s->row.labels.list);
    fgi_free(s);
    return status;
}

/* Says which member the labels are from if there was a choice. */
static fg_status check_labels(fgi_draft *b, const char *path, const label_counts *counts,
                              fg_error *err)
{
    const fg_catalog_options *o = b->options;
    if (counts->label > 0 && counts->both > 0 && o->label_member == NULL && !o->no_classes)
        FGI_TRY(fgi_draft_note(b, FG_LOG_INFO, err,
                               "'%s': labels are read from the .cls files; %lld .json files "
                               "contain '%s' too (to use it, set data.source_options to "
                               "{label_member: json}, fulgurite pack "
                               "--source='{label_member: json}')",
                               path, (long long)counts->both, o->label_column));
    if (counts->label > 0 || o->no_classes)
        return FG_OK;
    if (o->label_member != NULL)
        return fgi_fail(err, FG_EFORMAT,
                        "'%s': no sample has a label in a member .%s (label_member): expected "
                        "KEY.%s with the class next to KEY.jpg",
                        path, o->label_member, o->label_member);
    return use_folders(b, err);
}

static fg_status open_tar(fgi_draft *b, const char *path, fg_error *err)
{
    fg_catalog *c = b->catalog;
    label_counts counts = {0};
    FGI_TRY(fgi_shards_open(path, is_tar, &c->shards, err));
    for (size_t i = 0; i < c->shards.count; i++)
        FGI_TRY(scan_shard(b, i, &counts, err));
    return check_labels(b, path, &counts, err);
}

const fgi_catalog_kind fgi_catalog_tar_row = {
    .name = "tar",
    .help = "tar files: KEY.jpg with KEY.cls or KEY.json (WebDataset), or a folder per class",
    .target = "the class of each KEY.jpg in KEY.cls, or in KEY.json as 'label' (other names: "
              "label_member or label_column in data.source_options), or a folder for each class",
    .is_file = is_tar,
    .open = open_tar,
    .read = fgi_read_sample_range,
};
