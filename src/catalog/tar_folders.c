/* tar_folders.c - a tar archive of an image folder: PREFIX/cat/1.jpg, or PREFIX/train/cat/1.jpg,
 * where PREFIX is what the paths of all images begin with.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "catalog/tar_folders.h"

#include <string.h>

#include "base/error.h"

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
                    "names; if all are classes, set no_split_folders=true in data.source_options "
                    "(--source no_split_folders=true of fulgurite init and fulgurite pack)",
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

fg_status fgi_tar_folders(fgi_draft *b, fg_error *err)
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
