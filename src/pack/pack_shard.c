/* pack_shard.c - writes one file of a pack: its index grows in memory while records are appended,
 * and is written after the last one.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/file.h"
#include "pack/pack_out.h"

/* The header of a file that is being written: it does not depend on what it will have. */
static fgi_pack_page unfinished(const fgi_pack_shard *shard)
{
    fgi_pack_page page = shard->page;
    page.count = 0;
    page.crc = fgi_pack_page_crc(&page);
    return page;
}

fg_status fgi_pack_shard_start(fgi_pack_shard *shard, const char *path, fg_error *err)
{
    const fgi_pack_page page = unfinished(shard);
    FGI_TRY(fgi_pack_out_open(path, 0, &shard->out, err));
    return fgi_pack_out_put(&shard->out, &page, sizeof page, err);
}

fg_status fgi_pack_shard_continue(fgi_pack_shard *shard, const char *path, fg_error *err)
{
    const fgi_pack_page page = unfinished(shard);
    FGI_TRY(fgi_pack_out_open(path, shard->end, &shard->out, err));
    return fgi_pack_write_at(shard->out.fd, path, &page, sizeof page, 0, err);
}

/* ---- the index ------------------------------------------------------------------------------- */

#define ADD(shard, kind, value) fgi_buf_add(&(shard)->columns[kind], &(value), sizeof(value))

static void add_range(fgi_pack_shard *shard, fgi_pack_kind starts, fgi_pack_kind values,
                      const void *data, size_t size)
{
    fgi_buf *all = &shard->columns[values];
    const size_t element = fgi_pack_element_size(values);
    uint64_t position = all->size / element;
    if (shard->page.count == 0)
        ADD(shard, starts, position);
    fgi_buf_add(all, data, size);
    position = all->size / element;
    ADD(shard, starts, position);
}

fg_status fgi_pack_shard_enter(fgi_pack_shard *shard, const fgi_pack_head *h, fg_error *err)
{
    ADD(shard, FGI_PACK_OFFSET, h->offset);
    ADD(shard, FGI_PACK_GROUP, h->group);
    ADD(shard, FGI_PACK_LENGTH, h->length);
    ADD(shard, FGI_PACK_CRC, h->crc);
    ADD(shard, FGI_PACK_LABEL, h->label);
    ADD(shard, FGI_PACK_WIDTH, h->width);
    ADD(shard, FGI_PACK_HEIGHT, h->height);
    ADD(shard, FGI_PACK_CODEC, h->codec);
    ADD(shard, FGI_PACK_FLAGS, h->flags);
    ADD(shard, FGI_PACK_SPLIT, h->split);
    add_range(shard, FGI_PACK_NAME_START, FGI_PACK_NAMES, fgi_pack_head_name(h), h->name_size);
    add_range(shard, FGI_PACK_LABELS_START, FGI_PACK_LABELS, fgi_pack_head_labels(h),
              h->label_count * sizeof(int32_t));
    for (int kind = 0; kind < FGI_PACK_KINDS; kind++)
        FGI_TRY(fgi_buf_status(&shard->columns[kind], err));
    shard->has_groups = shard->has_groups || h->group != 0;
    shard->has_labels = shard->has_labels || h->label_count > 0;
    shard->end = h->offset + h->length;
    shard->page.count++;
    return FG_OK;
}

/* ---- sections -------------------------------------------------------------------------------- */

static fg_status put_section(fgi_pack_out *out, fgi_pack_page *page, fgi_pack_kind kind,
                             const void *data, size_t size, fg_error *err)
{
    fgi_pack_section *s = &page->sections[page->section_count++];
    const uint64_t at = fgi_pack_align(fgi_pack_out_position(out), FGI_PACK_SECTION_ALIGN);
    *s = (fgi_pack_section){kind, fgi_crc32c(0, data, size), at, size};
    FGI_TRY(fgi_pack_out_skip(out, at, err));
    return fgi_pack_out_put(out, data, size, err);
}

static fg_status put_columns(fgi_pack_shard *shard, fg_error *err)
{
    for (int kind = FGI_PACK_OFFSET; kind <= FGI_PACK_NAMES; kind++) {
        const fgi_buf *c = &shard->columns[kind];
        const bool is_list = kind == FGI_PACK_LABELS || kind == FGI_PACK_LABELS_START;
        if ((kind == FGI_PACK_GROUP && !shard->has_groups) || (is_list && !shard->has_labels))
            continue;
        FGI_TRY(put_section(&shard->out, &shard->page, (fgi_pack_kind)kind, c->data, c->size, err));
    }
    return FG_OK;
}

fg_status fgi_pack_shard_seal(fgi_pack_shard *shard, const fgi_buf *classes, const fgi_buf *fields,
                              fg_error *err)
{
    fgi_pack_out *out = &shard->out;
    fgi_pack_page *page = &shard->page;
    if (page->count == 0) { /* an empty list has a first position, too */
        const uint64_t zero = 0;
        ADD(shard, FGI_PACK_NAME_START, zero);
        FGI_TRY(fgi_buf_status(&shard->columns[FGI_PACK_NAME_START], err));
    }
    page->records_end = fgi_pack_align(shard->end, FGI_PACK_SECTION_ALIGN);
    FGI_TRY(fgi_pack_out_skip(out, page->records_end, err));
    FGI_TRY(put_columns(shard, err));
    if (classes->size > 0)
        FGI_TRY(put_section(out, page, FGI_PACK_CLASSES, classes->data, classes->size, err));
    if (fields->size > 0)
        FGI_TRY(put_section(out, page, FGI_PACK_FIELDS, fields->data, fields->size, err));
    page->file_size = fgi_pack_out_position(out); /* so far */
    FGI_TRY(fgi_pack_out_flush(out, err));
    return fsync(out->fd) == 0 ? FG_OK : fgi_fail_errno(err, "sync", out->path);
}

void fgi_pack_shard_close(fgi_pack_shard *shard)
{
    for (int kind = 0; kind < FGI_PACK_KINDS; kind++)
        fgi_buf_fini(&shard->columns[kind]);
    fgi_pack_out_close(&shard->out);
    memset(shard, 0, sizeof *shard);
    shard->out.fd = -1;
}

/* ---- completion ------------------------------------------------------------------------------ */

/* The header is written after everything else is on the disk. */
static fg_status write_pages(fgi_pack_out *out, fgi_pack_page *page, fg_error *err)
{
    const uint64_t footer = fgi_pack_align(fgi_pack_out_position(out), FGI_PACK_SECTION_ALIGN);
    page->is_finished = 1;
    page->file_size = footer + FGI_PACK_PAGE;
    page->crc = fgi_pack_page_crc(page);
    FGI_TRY(fgi_pack_out_skip(out, footer, err));
    FGI_TRY(fgi_pack_out_put(out, page, sizeof *page, err));
    FGI_TRY(fgi_pack_out_flush(out, err));
    if (fsync(out->fd) != 0)
        return fgi_fail_errno(err, "sync", out->path);
    FGI_TRY(fgi_pack_write_at(out->fd, out->path, page, sizeof *page, 0, err));
    return fsync(out->fd) == 0 ? FG_OK : fgi_fail_errno(err, "sync", out->path);
}

fg_status fgi_pack_shard_finish(const char *path, fgi_pack_page *page, const char *metadata,
                                fg_error *err)
{
    fgi_pack_out out;
    FGI_TRY(fgi_pack_out_open(path, page->file_size, &out, err));
    fg_status status = FG_OK;
    if (metadata != NULL && *metadata != '\0')
        status = put_section(&out, page, FGI_PACK_METADATA, metadata, strlen(metadata) + 1, err);
    if (status == FG_OK)
        status = write_pages(&out, page, err);
    fgi_pack_out_close(&out);
    return status;
}
