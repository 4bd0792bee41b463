/* pack_writer.c - writes a pack: appends records to partial files, starts new shards, and completes
 * all files together.
 *
 * Nothing depends on time or chance: positions follow from the sizes, and the uuid is a hash of the
 * record headers. So the same records give the same bytes, in one go or resumed. A file that is
 * found under its final name is complete; the first file of a set is renamed last, so if it has its
 * name, all have.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "base/reserved.h"
#include "base/text.h"
#include "pack/pack_file.h"
#include "pack/pack_out.h"

char *fgi_pack_final_path(const fg_pack_writer *w, uint32_t shard)
{
    return w->is_set ? fgi_pack_shard_path(w->path, shard) : fgi_strdup(w->path);
}

char *fgi_pack_partial_path(const fg_pack_writer *w, uint32_t shard)
{
    char *final = fgi_pack_final_path(w, shard);
    const size_t size = final != NULL ? strlen(final) + sizeof ".partial" : 0;
    char *path = final != NULL ? fgi_alloc(size) : NULL;
    if (path != NULL)
        (void)fgi_snprintf(path, size, "%s.partial", final);
    fgi_free(final);
    return path;
}

/* ---- appending ------------------------------------------------------------------------------- */

void fgi_pack_writer_identify(fg_pack_writer *w, uint32_t shard)
{
    w->shard.page = w->identity;
    w->shard.page.first = w->identity.first + w->count;
    w->shard.page.shard = w->identity.shard + shard;
    w->shard.end = FGI_PACK_PAGE;
}

fg_status fgi_pack_writer_start(fg_pack_writer *w, uint32_t shard, fg_error *err)
{
    char *path = fgi_pack_partial_path(w, shard);
    if (path == NULL)
        return fgi_no_memory(err);
    fgi_pack_writer_identify(w, shard);
    const fg_status status = fgi_pack_shard_start(&w->shard, path, err);
    fgi_free(path);
    return status;
}

fg_status fgi_pack_writer_seal(fg_pack_writer *w, fg_error *err)
{
    FGI_TRY_GROW(w->sealed, w->sealed_count, w->sealed_capacity, err);
    FGI_TRY(fgi_pack_shard_seal(&w->shard, &w->classes, &w->fields, err));
    w->sealed[w->sealed_count++] = w->shard.page;
    fgi_pack_shard_close(&w->shard);
    return FG_OK;
}

fg_status fgi_pack_writer_enter(fg_pack_writer *w, const fgi_pack_head *head, fg_error *err)
{
    FGI_TRY(fgi_pack_shard_enter(&w->shard, head, err));
    w->hash = fgi_hash_more(w->hash, head, fgi_pack_head_size(head));
    w->count++;
    return FG_OK;
}

static fg_status check_entry(const fg_pack_entry *e, size_t size, fg_error *err)
{
    char name[200]; /* for messages */
    const size_t length = e->name != NULL ? strlen(e->name) : 0;
    (void)fgi_text_escape((fgi_str){e->name, length}, name, sizeof name);
    if (size > UINT32_MAX)
        return fgi_fail(err, FG_EINVAL, "record '%s' has %zu bytes: expected less than 4 GiB", name,
                        size);
    if (length >= FGI_PACK_MAX_NAME)
        return fgi_fail(err, FG_EINVAL, "the name of a record has %zu bytes: expected at most %d",
                        length, FGI_PACK_MAX_NAME - 1);
    if (e->label_count > 0 && e->labels == NULL)
        return fgi_fail(err, FG_EINVAL, "record '%s': labels is NULL, but label_count is %" PRIu32,
                        name, e->label_count);
    if (e->label_count > FGI_PACK_MAX_LABELS)
        return fgi_fail(err, FG_EINVAL, "record '%s' has %" PRIu32 " labels: expected at most %d",
                        name, e->label_count, FGI_PACK_MAX_LABELS);
    if ((int)e->codec < 0 || (int)e->codec > 255 || e->label < FG_PACK_NO_LABEL)
        return fgi_fail(err, FG_EINVAL, "record '%s': codec %d or label %" PRId32 " is invalid",
                        name, (int)e->codec, e->label);
    return FG_OK;
}

static void pad(fgi_buf *buf, size_t step)
{
    while (buf->size % step != 0 && !buf->failed)
        fgi_buf_putc(buf, '\0');
}

/* Makes the header of the next record in w->head, without its position. */
static fg_status make_head(fg_pack_writer *w, const fg_pack_entry *e, const void *data, size_t size,
                           fg_error *err)
{
    const char *name = e->name != NULL ? e->name : "";
    const size_t name_size = strlen(name) + 1;
    const fgi_pack_head head = {.magic = FGI_PACK_HEAD_MAGIC,
                                .number = w->identity.first + w->count,
                                .length = (uint32_t)size,
                                .crc = fgi_crc32c(0, data, size),
                                .width = e->width,
                                .height = e->height,
                                .group = e->group,
                                .label = e->label,
                                .label_count = e->label_count,
                                .name_size = (uint16_t)name_size,
                                .codec = (uint8_t)e->codec,
                                .flags = e->flags,
                                .split = e->split};
    fgi_buf_clear(&w->head);
    fgi_buf_add(&w->head, &head, sizeof head);
    fgi_buf_add(&w->head, name, name_size);
    pad(&w->head, 4);
    fgi_buf_add(&w->head, e->labels, e->label_count * sizeof *e->labels);
    pad(&w->head, FGI_PACK_HEAD_ALIGN);
    return fgi_buf_status(&w->head, err);
}

/* Where the record begins whose header of head_size bytes comes next in this shard. */
static uint64_t place(const fg_pack_writer *w, size_t head_size, const fgi_pack_head *head,
                      uint64_t *out_head)
{
    *out_head = fgi_pack_align(w->shard.end, FGI_PACK_HEAD_ALIGN);
    return fgi_pack_place(*out_head + head_size, head->codec, head->length);
}

static fg_status append(fg_pack_writer *w, const void *data, size_t size, fg_error *err)
{
    fgi_pack_head *head = (void *)w->head.data;
    uint64_t head_at, at = place(w, w->head.size, head, &head_at);
    const bool is_full = w->is_set && at + size > w->shard_bytes;
    if (w->shard.page.count > 0 && (is_full || w->shard.page.count == FGI_PACK_MAX_RECORDS)) {
        if (!w->is_set)
            return fgi_fail(err, FG_EINVAL,
                            "'%s' has %d records, the most that one file can have: "
                            "set shard_bytes (--shard-size)",
                            w->path, FGI_PACK_MAX_RECORDS);
        FGI_TRY(fgi_pack_writer_seal(w, err));
        FGI_TRY(fgi_pack_writer_start(w, (uint32_t)w->sealed_count, err));
        at = place(w, w->head.size, head, &head_at);
    }
    head->offset = at;
    head->head_crc = fgi_pack_head_crc(head);
    FGI_TRY(fgi_pack_out_skip(&w->shard.out, head_at, err));
    FGI_TRY(fgi_pack_out_put(&w->shard.out, head, w->head.size, err));
    FGI_TRY(fgi_pack_out_skip(&w->shard.out, at, err));
    FGI_TRY(fgi_pack_out_put(&w->shard.out, data, size, err));
    return fgi_pack_writer_enter(w, head, err);
}

fg_status fg_pack_writer_add(fg_pack_writer *w, const fg_pack_entry *entry, const void *data,
                             size_t size, fg_error *err)
{
    if (entry == NULL || (data == NULL && size > 0))
        return fgi_fail(err, FG_EINVAL, "fg_pack_writer_add: entry or data is NULL");
    FGI_TRY_RESERVED(fg_pack_entry, entry, err);
    if (w->is_broken || w->is_finished)
        return fgi_fail(err, FG_EINVAL, "the writer of '%s' has %s", w->path,
                        w->is_finished ? "finished" : "failed: destroy it and resume");
    FGI_TRY(check_entry(entry, size, err));
    FGI_TRY(make_head(w, entry, data, size, err));
    const fg_status status = append(w, data, size, err);
    w->is_broken = status != FG_OK;
    return status;
}

int64_t fg_pack_writer_count(const fg_pack_writer *writer) { return (int64_t)writer->count; }

const char *fg_pack_writer_last_name(const fg_pack_writer *writer)
{
    const fgi_pack_shard *shard = &writer->shard;
    if (shard->page.count == 0 || shard->out.buffer == NULL)
        return NULL;
    const uint64_t *starts = (const void *)shard->columns[FGI_PACK_NAME_START].data;
    return shard->columns[FGI_PACK_NAMES].data + starts[shard->page.count - 1];
}

/* ---- completion ------------------------------------------------------------------------------ */

static void set_uuid(fg_pack_writer *w, const char *metadata)
{
    fgi_hash hash = fgi_hash_more(w->hash, w->identity.options, sizeof w->identity.options);
    hash = fgi_hash_more(hash, metadata != NULL ? metadata : "",
                         metadata != NULL ? strlen(metadata) : 0);
    memcpy(w->identity.uuid, &hash, sizeof hash);
    w->identity.uuid[6] = (uint8_t)((w->identity.uuid[6] & 0x0f) | 0x80); /* version 8: custom */
    w->identity.uuid[8] = (uint8_t)((w->identity.uuid[8] & 0x3f) | 0x80);
}

static fg_status finish_shards(fg_pack_writer *w, const char *metadata, fg_error *err)
{
    for (size_t i = 0; i < w->sealed_count; i++) {
        fgi_pack_page *page = &w->sealed[i];
        char *path = fgi_pack_partial_path(w, (uint32_t)i);
        if (path == NULL)
            return fgi_no_memory(err);
        memcpy(page->uuid, w->identity.uuid, sizeof page->uuid);
        page->set_count = w->keeps_identity ? w->identity.set_count : w->count;
        page->shard_count = w->keeps_identity ? w->identity.shard_count : (uint32_t)w->sealed_count;
        const fg_status status = fgi_pack_shard_finish(path, page, metadata, err);
        fgi_free(path);
        FGI_TRY(status);
    }
    return FG_OK;
}

static fg_status take_name(const fg_pack_writer *w, uint32_t shard, fg_error *err)
{
    char *from = fgi_pack_partial_path(w, shard), *to = fgi_pack_final_path(w, shard);
    fg_status status = FG_OK;
    if (from == NULL || to == NULL)
        status = fgi_no_memory(err);
    else if (rename(from, to) != 0)
        status = fgi_fail_errno(err, "replace", to);
    fgi_free(from);
    fgi_free(to);
    return status;
}

/* Removes further files that a set with this name had before. */
static void remove_surplus(const fg_pack_writer *w, uint32_t shard)
{
    for (bool is_more = true; is_more; shard++) {
        char *path = fgi_pack_shard_path(w->path, shard);
        is_more = path != NULL && unlink(path) == 0;
        fgi_free(path);
    }
}

/* Removes a pack of the other kind that is replaced, a single file or a set: readers would find it
 * by the same name. */
static void remove_other_kind(const fg_pack_writer *w)
{
    if (!w->replace || w->is_rebuilt)
        return;
    if (w->is_set)
        (void)unlink(w->path);
    else
        remove_surplus(w, 0);
}

static fg_status sync_folder(const fg_pack_writer *w, fg_error *err)
{
    char *folder = fgi_path_parent(w->path);
    const fg_status status = folder != NULL ? fgi_folder_sync(folder, err) : fgi_no_memory(err);
    fgi_free(folder);
    return status;
}

static fg_status take_names(const fg_pack_writer *w, fg_error *err)
{
    for (uint32_t i = (uint32_t)w->sealed_count; i-- > 1;)
        FGI_TRY(take_name(w, i, err));
    if (w->sealed_count > 1)
        FGI_TRY(sync_folder(w, err)); /* the others have their names before the first one */
    if (w->is_set)
        remove_surplus(w, (uint32_t)w->sealed_count);
    FGI_TRY(take_name(w, 0, err));
    remove_other_kind(w);
    return sync_folder(w, err);
}

static fg_status finish(fg_pack_writer *w, const char *metadata, fg_error *err)
{
    FGI_TRY(fgi_pack_writer_seal(w, err));
    if (!w->keeps_identity)
        set_uuid(w, metadata);
    FGI_TRY(finish_shards(w, metadata, err));
    return take_names(w, err);
}

fg_status fg_pack_writer_finish(fg_pack_writer *w, const char *metadata, fg_error *err)
{
    if (w->is_broken || w->is_finished)
        return fgi_fail(err, FG_EINVAL, "the writer of '%s' has %s", w->path,
                        w->is_finished ? "finished" : "failed: destroy it and resume");
    if (w->count % w->identity.variant_count != 0)
        return fgi_fail(err, FG_EINVAL,
                        "'%s' has %" PRIu64 " record%s: expected a multiple of variant_count, "
                        "%" PRIu32,
                        w->path, w->count, fgi_s((int64_t)w->count), w->identity.variant_count);
    const fg_status status = finish(w, metadata, err);
    w->is_finished = status == FG_OK;
    w->is_broken = status != FG_OK;
    return status;
}

/* ---- end ------------------------------------------------------------------------------------- */

void fg_pack_writer_discard(fg_pack_writer *w)
{
    bool is_more = !w->is_finished;
    w->is_broken = true;
    for (uint32_t i = 0; is_more; i++) {
        char *path = fgi_pack_partial_path(w, i);
        is_more = path != NULL && unlink(path) == 0 && w->is_set;
        fgi_free(path);
    }
}

void fg_pack_writer_destroy(fg_pack_writer *w)
{
    if (w == NULL)
        return;
    if (!w->is_broken && !w->is_finished && w->shard.out.buffer != NULL)
        (void)fgi_pack_out_flush(&w->shard.out, NULL); /* to keep as much as possible */
    fgi_pack_shard_close(&w->shard);
    fgi_buf_fini(&w->classes);
    fgi_buf_fini(&w->fields);
    fgi_buf_fini(&w->head);
    fgi_free(w->sealed);
    fgi_free(w->path);
    if (w->lock_fd >= 0)
        (void)close(w->lock_fd);
    fgi_free(w);
}
