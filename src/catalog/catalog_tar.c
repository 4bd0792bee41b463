/* catalog_tar.c - tar archives in WebDataset's layout: files whose paths are equal up to the first
 * dot of the name are one sample. They need not be adjacent. Source: WebDataset format
 * specification, "WebDataset: conventions".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "catalog/manifest_row.h"
#include "catalog/tar_read.h"
#include "input/json_file.h"

enum { CLS_MAX = 4096, JSON_MAX = 1 << 20 };

/* What was found of a sample. In an arena; a list in the order of the archive. */
typedef struct group {
    struct group *next;
    const char *name;      /* of the image; NULL: none yet */
    const char *any;       /* path of the first file, for messages */
    uint64_t offset, size; /* of the image */
    bool has_label;
    fgi_sample labels; /* labels, split and group of the .cls or .json file */
} group;

/* One shard. */
typedef struct scan {
    fgi_draft *b;
    const fgi_shard_file *shard;
    int32_t number;
    bool has_prefix; /* several shards: names start with that of the shard */
    fgi_tar tar;
    fgi_arena arena;
    fgi_map groups;
    group *first, **last;
    fgi_manifest_row row;
    fg_error *err;
} scan;

static bool is_tar(const char *name)
{
    static const char *const suffixes[] = {".tar",     ".tar.gz", ".tgz",
                                           ".tar.zst", ".tar.xz", ".tar.bz2"};
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
        if (fgi_ends_with(name, suffixes[i]))
            return true;
    return false;
}

static fg_status fail_member(const scan *s, const fgi_tar_member *m, const char *what)
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
    g->labels.split = FG_CATALOG_NO_SPLIT;
    if (g->any == NULL || !fgi_map_put(&s->groups, hash, g))
        return NULL;
    *s->last = g;
    s->last = &g->next;
    return g;
}

static fg_status set_image(scan *s, group *g, const fgi_tar_member *m)
{
    if (g->name != NULL)
        return fail_member(s, m,
                           "the sample has another image\nname the files of a sample "
                           "KEY.jpg, KEY.cls");
    fgi_arena *arena = &s->b->catalog->arena;
    g->name = s->has_prefix ? fgi_arena_printf(arena, "%s/%s", s->shard->name, m->path)
                            : fgi_arena_strdup(arena, m->path);
    g->offset = m->offset;
    g->size = m->size;
    return g->name != NULL ? FG_OK : fgi_no_memory(s->err);
}

static fg_status use_text(scan *s, group *g, bool is_json, const char *text, size_t size)
{
    json_t *object = NULL;
    fg_status status = FG_OK;
    s->row.split = s->row.group = (fgi_str){0};
    s->row.labels.count = 0;
    if (is_json) {
        status = fgi_json_parse("JSON", 0, text, size, &object, s->err);
        if (status == FG_OK)
            status = fgi_row_from_json(s->b, object, false, &s->row, s->err);
    } else {
        const fgi_str label = fgi_str_trim((fgi_str){text, size});
        if (label.size > 0)
            status = fgi_row_add_label(s->b, &s->row, label, FGI_LABEL_TEXT, s->err);
    }
    if (status == FG_OK)
        status = fgi_row_apply(s->b, &s->row, &g->labels, s->err);
    json_decref(object);
    return status;
}

static fg_status set_label(scan *s, group *g, const fgi_tar_member *m, bool is_json)
{
    if (m->size > (is_json ? JSON_MAX : CLS_MAX))
        return fail_member(s, m, "too large for labels");
    if (g->has_label)
        return fail_member(s, m, "the sample has labels already");
    g->has_label = true;
    char *text = fgi_alloc((size_t)m->size + 1);
    if (text == NULL)
        return fgi_no_memory(s->err);
    fg_status status = fgi_shard_read(s->shard, m->offset, text, (size_t)m->size, s->err);
    if (status == FG_OK && memchr(text, '\0', (size_t)m->size) != NULL)
        status = fail_member(s, m, "a NUL byte");
    else if (status == FG_OK) {
        status = use_text(s, g, is_json, text, (size_t)m->size);
        if (status != FG_OK && status != FG_ENOMEM)
            status = fgi_context(s->err, status, "'%s': byte %llu", s->shard->path,
                                 (unsigned long long)m->header);
    }
    fgi_free(text);
    return status;
}

static fg_status use_member(scan *s, const fgi_tar_member *m)
{
    const char *slash = strrchr(m->path, '/');
    const char *file = slash == NULL ? m->path : slash + 1;
    const char *dot = strchr(file, '.');
    if (!m->is_file || dot == NULL || dot == file) /* a folder, no extension, or hidden */
        return FG_OK;
    group *g = group_of(s, m->path, (size_t)(dot - m->path));
    if (g == NULL)
        return fgi_no_memory(s->err);
    char extension[8] = "";
    for (size_t i = 0; i < sizeof(extension) - 1 && dot[1 + i] != '\0'; i++)
        extension[i] = fgi_lower(dot[1 + i]);
    const bool has_one_dot = strchr(dot + 1, '.') == NULL;
    if (has_one_dot && fgi_is_image_name(fgi_str_of(file)))
        return set_image(s, g, m);
    if (strcmp(extension, "cls") == 0 || strcmp(extension, "json") == 0)
        return set_label(s, g, m, extension[0] == 'j');
    return FG_OK;
}

static fg_status add_group(scan *s, const group *g)
{
    if (g->name == NULL)
        return fgi_draft_skip(s->b, g->any, "a sample without an image", s->err);
    fgi_sample sample = g->labels;
    sample.name = g->name;
    sample.offset = g->offset;
    sample.size = g->size;
    sample.shard = s->number;
    if (sample.split == FG_CATALOG_NO_SPLIT)
        sample.split = s->shard->split;
    FGI_TRY(fgi_draft_unique(s->b, sample.name, s->err));
    return fgi_draft_add(s->b, &sample, s->err);
}

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

static fg_status scan_shard(fgi_draft *b, size_t number, fg_error *err)
{
    fg_catalog *c = b->catalog;
    scan *s = fgi_calloc(1, sizeof(*s)); /* the window is large */
    if (s == NULL)
        return fgi_no_memory(err);
    s->b = b;
    s->shard = &c->shards.list[number];
    s->number = (int32_t)number;
    s->has_prefix = c->shards.count > 1;
    s->tar.window.shard = s->shard;
    s->last = &s->first;
    s->err = err;
    const fg_status status = scan_members(s);
    fgi_tar_fini(&s->tar);
    fgi_arena_fini(&s->arena);
    fgi_map_fini(&s->groups);
    fgi_free(s->row.labels.list);
    fgi_free(s);
    return status;
}

static fg_status open_tar(fgi_draft *b, const char *path, fg_error *err)
{
    fg_catalog *c = b->catalog;
    FGI_TRY(fgi_shards_open(path, is_tar, &c->shards, err));
    for (size_t i = 0; i < c->shards.count; i++)
        FGI_TRY(scan_shard(b, i, err));
    return FG_OK;
}

const fgi_catalog_kind fgi_catalog_tar_row = {
    .name = "tar",
    .help = "tar files (WebDataset): KEY.jpg with KEY.cls or KEY.json",
    .is_file = is_tar,
    .open = open_tar,
    .read = fgi_read_sample_range,
};
