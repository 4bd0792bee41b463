/* plugin_verdict.c - remembers on disk which plugins were found to compute correctly (src/trust).
 *
 * A verdict is a small file, named after a hash of the plugin's content and everything else that
 * determines results. To hash some 200 MB only once, another file remembers the hash of the content
 * for each file, by its inode and its times: a changed file has another time of its last change.
 * Verdicts about plugins that are wrong are not kept: a fault of the machine may pass.
 *
 * Several processes may write at the same time: they write the same.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "pjrt/plugin.h"

enum { HASH_TEXT = sizeof((fg_client *)0)->content, VERDICT_BYTES = 4096 };

static fg_status write_text(const fg_client *c, const char *name, const char *text, fg_error *err)
{
    char path[FGI_PATH_BYTES];
    FGI_TRY(fgi_folder_make(c->verdict_dir, err));
    FGI_TRY(fgi_path_put(c->verdict_dir, name, path, err));
    return fgi_file_write_atomic(path, text, strlen(text), err);
}

/* The text of a file of this user (fgi_free); NULL: there is none. */
static char *read_text(const fg_client *c, const char *name)
{
    char path[FGI_PATH_BYTES], *text = NULL;
    size_t size = 0;
    if (fgi_path_put(c->verdict_dir, name, path, NULL) != FG_OK || !fgi_cache_is_own_file(path) ||
        fgi_file_read(path, VERDICT_BYTES, &text, &size, NULL) != FG_OK)
        return NULL;
    return text;
}

/* The name of the file with the hash of the content. */
static bool name_of_file(const fg_client *c, char out[HASH_TEXT])
{
    struct stat st;
    if (stat(c->plugin.path, &st) != 0)
        return false;
    const int64_t parts[] = {(int64_t)st.st_dev,  (int64_t)st.st_ino,
                             (int64_t)st.st_size, (int64_t)st.st_mtim.tv_sec,
                             st.st_mtim.tv_nsec,  (int64_t)st.st_ctim.tv_sec,
                             st.st_ctim.tv_nsec};
    fgi_hash_format(fgi_hash_bytes(parts, sizeof parts), out);
    return true;
}

static bool hash_content(const fg_client *c, char out[HASH_TEXT])
{
    fgi_mapping file = {0};
    if (fgi_file_map(c->plugin.path, &file, NULL) != FG_OK)
        return false;
    fgi_hash_format(fgi_hash_bytes(file.data, file.size), out);
    fgi_file_unmap(&file);
    return true;
}

/* The hash of the plugin's content as text; false if it cannot be read. */
static bool find_content(const fg_client *c, char out[HASH_TEXT])
{
    char name[HASH_TEXT];
    if (!name_of_file(c, name))
        return false;
    char *text = read_text(c, name);
    const bool is_known = text && strlen(text) == HASH_TEXT - 1;
    if (is_known)
        memcpy(out, text, HASH_TEXT);
    fgi_free(text);
    if (is_known)
        return true;
    if (!hash_content(c, out))
        return false;
    (void)write_text(c, name, out, NULL); /* else it is hashed again */
    return true;
}

/* The name of a verdict's file. */
static bool name_of_verdict(fg_client *c, const char *name, char out[HASH_TEXT])
{
    if (!c->verdict_dir || (!c->content[0] && !find_content(c, c->content)))
        return false;
    fgi_hash hash = fgi_hash_more(fgi_hash_text(name), c->content, sizeof c->content);
    hash = fgi_hash_more(hash, c->devices[0].kind, strlen(c->devices[0].kind));
    fgi_hash_format(fgi_cache_circumstances(c, hash), out);
    return true;
}

bool fgi_verdict_is_known(fg_client *client, const char *name)
{
    char file[HASH_TEXT];
    char *text = name_of_verdict(client, name, file) ? read_text(client, file) : NULL;
    const bool is_known = text && strcmp(text, name) == 0;
    fgi_free(text);
    return is_known;
}

fg_status fgi_verdict_record(fg_client *client, const char *name, fg_error *err)
{
    char file[HASH_TEXT];
    if (!client->verdict_dir)
        return fgi_fail(err, FG_EIO, "neither HOME nor XDG_CACHE_HOME is set");
    if (!name_of_verdict(client, name, file))
        return fgi_fail(err, FG_EIO, "cannot read '%s'", client->plugin.path);
    return write_text(client, file, name, err);
}

void fgi_verdict_forget(fg_client *client, const char *name)
{
    char file[HASH_TEXT], path[FGI_PATH_BYTES];
    if (name_of_verdict(client, name, file) &&
        fgi_path_put(client->verdict_dir, file, path, NULL) == FG_OK)
        (void)unlink(path);
}

bool fgi_plugin_contains(const fg_client *client, const char *words)
{
    fgi_mapping file = {0};
    if (fgi_file_map(client->plugin.path, &file, NULL) != FG_OK)
        return false;
    const bool is_there = memmem(file.data, file.size, words, strlen(words)) != NULL;
    fgi_file_unmap(&file);
    return is_there;
}
