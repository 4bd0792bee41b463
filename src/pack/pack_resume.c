/* pack_resume.c - continues a pack that was not finished.
 *
 * The partial files themselves say what has been done: their records are read in order and
 * verified, up to the first one that is not intact. What follows it is cut off, further files are
 * removed, and writing continues there. Files before the last one are sealed again, because a power
 * failure may have damaged their index; it gets the same bytes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "pack/pack_file.h"
#include "pack/pack_out.h"
#include "pack/pack_scan.h"

static bool is_page(const fg_pack_writer *w, const void *data, uint32_t shard)
{
    const fgi_pack_page *p = data;
    return fgi_pack_page_check(p, "", 0, NULL) == FG_OK && p->shard == shard &&
           memcmp(p->options, w->identity.options, sizeof p->options) == 0;
}

/* Whether the header of the file says that it is this shard of this pack; the footer, if a power
 * failure has torn the header when it was replaced. */
static bool is_ours(const fg_pack_writer *w, const fgi_pack_map *map, uint32_t shard)
{
    return map->size >= FGI_PACK_PAGE &&
           (is_page(w, map->data, shard) ||
            (map->size % FGI_PACK_SECTION_ALIGN == 0 &&
             is_page(w, map->data + map->size - FGI_PACK_PAGE, shard)));
}

/* If the renames at the end were interrupted, a file other than the first may have its final name:
 * gives it the name of a partial file again. */
static fg_status take_back(const fg_pack_writer *w, const char *partial, uint32_t shard,
                           fg_error *err)
{
    fgi_pack_map map = {0};
    char *final = fgi_pack_final_path(w, shard);
    if (final == NULL)
        return fgi_no_memory(err);
    fg_status status = FG_OK;
    if (fgi_file_exists(final) && !fgi_file_exists(partial)) {
        status = fgi_pack_map_open(final, &map, err);
        if (status == FG_OK && is_ours(w, &map, shard) && rename(final, partial) != 0)
            status = fgi_fail_errno(err, "rename", final);
        fgi_pack_map_close(&map);
    }
    fgi_free(final);
    return status;
}

/* Enters the intact records of a mapped file in the index of the shard. */
static fg_status enter_records(fg_pack_writer *w, fgi_pack_map *map, fg_error *err)
{
    fgi_pack_scan scan = {map->data, map->size, FGI_PACK_PAGE};
    const fgi_pack_head *head;
    while ((head = fgi_pack_scan_next(&scan, w->count)) != NULL) {
        const fg_pack_entry entry = fgi_pack_head_entry(head);
        if (w->kept != NULL)
            FGI_TRY(w->kept(w->kept_self, (int64_t)w->count, &entry, map->data + head->offset,
                            head->length, err));
        FGI_TRY(fgi_pack_writer_enter(w, head, err));
    }
    return fgi_pack_map_check(map, err);
}

/* Opens a partial file: *out_exists is false if it is missing, or has no record of this pack that
 * could come next. */
static fg_status open_partial(const fg_pack_writer *w, const char *path, uint32_t shard,
                              fgi_pack_map *map, bool *out_exists, fg_error *err)
{
    *out_exists = false;
    if (shard > 0)
        FGI_TRY(take_back(w, path, shard, err));
    if (!fgi_file_exists(path))
        return FG_OK;
    FGI_TRY(fgi_pack_map_open(path, map, err));
    if (is_ours(w, map, shard)) {
        fgi_pack_scan scan = {map->data, map->size, FGI_PACK_PAGE};
        *out_exists = fgi_pack_scan_next(&scan, w->count) != NULL;
        return fgi_pack_map_check(map, err);
    }
    const fgi_pack_page *p = (const void *)map->data;
    const bool is_header = map->size >= FGI_PACK_PAGE && memcmp(p->magic, FGI_PACK_MAGIC, 8) == 0;
    if (shard == 0 && is_header)
        return fgi_fail(err, FG_EINVAL,
                        "'%s' was written from other inputs or with other options: restart "
                        "(--restart) to discard it, or resume with the same ones",
                        path);
    return FG_OK;
}

/* Takes the records of shard `shard` and opens it at their end, if it exists. */
static fg_status resume_shard(fg_pack_writer *w, uint32_t shard, bool *out_exists, fg_error *err)
{
    fgi_pack_map map = {0};
    char *path = fgi_pack_partial_path(w, shard);
    if (path == NULL)
        return fgi_no_memory(err);
    fg_status status = open_partial(w, path, shard, &map, out_exists, err);
    if (status == FG_OK && *out_exists && shard > 0)
        status = fgi_pack_writer_seal(w, err);
    if (status == FG_OK && *out_exists) {
        fgi_pack_writer_identify(w, shard);
        status = enter_records(w, &map, err);
        if (status == FG_OK)
            status = fgi_pack_shard_continue(&w->shard, path, err);
    }
    fgi_pack_map_close(&map);
    fgi_free(path);
    return status;
}

/* Removes the partial files from number `shard`. */
static void remove_from(const fg_pack_writer *w, uint32_t shard)
{
    for (bool is_more = w->is_set; is_more; shard++) {
        char *path = fgi_pack_partial_path(w, shard);
        is_more = path != NULL && unlink(path) == 0;
        fgi_free(path);
    }
}

fg_status fgi_pack_writer_resume(fg_pack_writer *w, fg_error *err)
{
    uint32_t shard = 0;
    for (bool exists = true; exists && (shard == 0 || w->is_set); shard += exists)
        FGI_TRY(resume_shard(w, shard, &exists, err));
    remove_from(w, shard > 0 ? shard : 1);
    return shard == 0 ? fgi_pack_writer_start(w, 0, err) : FG_OK;
}
