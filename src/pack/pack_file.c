/* pack_file.c - opens one file of a pack and reads its index.
 *
 * Nothing in the file is trusted: the header is copied and checked when the file is opened, a
 * section when it is first used, and the columns of a record each time, because a CRC does not
 * protect against a file that was made to be wrong. The index is used in place, in the mapping.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "pack/pack_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/file.h"
#include "base/map_guard.h"
#include "base/text.h"

/* ---- mapping --------------------------------------------------------------------------------- */

static fg_status map_open(const char *path, fgi_pack_map *out, fg_error *err)
{
    struct stat info;
    out->path = fgi_strdup(path);
    if (out->path == NULL)
        return fgi_no_memory(err);
    out->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* does not wait for a pipe */
    if (out->fd < 0)
        return fgi_fail_errno(err, "open", path);
    if (fstat(out->fd, &info) != 0)
        return fgi_fail_errno(err, "access", path);
    if (!S_ISREG(info.st_mode))
        return fgi_fail(err, FG_EIO, "cannot map '%s': not a regular file", path);
    FGI_TRY(fgi_file_refuse_open(path, out->fd, (uint64_t)info.st_size, err));
    if (info.st_size == 0)
        return FG_OK;
    void *data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_SHARED, out->fd, 0);
    if (data == MAP_FAILED)
        return fgi_fail_errno(err, "map", path);
    out->data = data;
    out->size = (uint64_t)info.st_size;
    return fgi_guard_add(data, (size_t)out->size, &out->is_lost, err);
}

fg_status fgi_pack_map_open(const char *path, fgi_pack_map *out, fg_error *err)
{
    memset(out, 0, sizeof *out);
    out->fd = -1;
    const fg_status status = map_open(path, out, err);
    if (status != FG_OK)
        fgi_pack_map_close(out);
    return status;
}

void fgi_pack_map_close(fgi_pack_map *map)
{
    if (map->path == NULL) /* also if zero-initialized */
        return;
    fgi_guard_remove(map->data);
    if (map->data != NULL)
        (void)munmap((void *)map->data, (size_t)map->size);
    if (map->fd >= 0)
        (void)close(map->fd);
    fgi_free(map->path);
    memset(map, 0, sizeof *map);
}

fg_status fgi_pack_map_check(fgi_pack_map *map, fg_error *err)
{
    if (!atomic_load(&map->is_lost))
        return FG_OK;
    return fgi_fail(err, FG_EIO,
                    "cannot read '%s': the file has shrunk or its disk has failed since it was "
                    "opened",
                    map->path);
}

/* ---- opening --------------------------------------------------------------------------------- */

static fg_status check_size(const fgi_pack_file *f, fg_error *err)
{
    const fgi_pack_page *p = &f->page;
    if (p->is_finished == 0)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: byte 12: the pack is unfinished: resume writing it, or rebuild it",
                        f->map.path);
    if (p->file_size != f->map.size)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: byte %" PRIu64 ": the file has %" PRIu64 " bytes, expected %" PRIu64
                        ": it is truncated or was appended to; copy it again or rebuild it",
                        f->map.path, f->map.size, f->map.size, p->file_size);
    const uint64_t footer = f->map.size - FGI_PACK_PAGE;
    if (footer < FGI_PACK_PAGE || memcmp(f->map.data + footer, p, FGI_PACK_PAGE) != 0)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: byte %" PRIu64 ": the footer differs from the header: the file is "
                        "damaged; rebuild it",
                        f->map.path, footer);
    if (p->count > FGI_PACK_MAX_RECORDS || p->records_end < FGI_PACK_PAGE ||
        p->records_end > footer || p->section_count > FGI_PACK_MAX_SECTIONS ||
        p->shard >= p->shard_count || p->variant_count == 0 || p->field_count > FG_MAX_FIELDS ||
        p->first > INT64_MAX - p->count || p->set_count < p->first + p->count ||
        p->set_count > INT64_MAX)
        return fgi_fail(err, FG_EFORMAT, "%s: byte 64: the header is inconsistent", f->map.path);
    return FG_OK;
}

/* Sections are contiguous, each at the next multiple of 64, from records_end to the footer. */
static fg_status check_sections(fgi_pack_file *f, fg_error *err)
{
    uint64_t at = f->page.records_end;
    const uint64_t end = f->map.size - FGI_PACK_PAGE;
    for (uint32_t i = 0; i < f->page.section_count; i++) {
        const fgi_pack_section *s = &f->page.sections[i];
        const int64_t count = fgi_pack_element_count(s->kind, f->page.count);
        const uint64_t element = fgi_pack_element_size(s->kind);
        if (s->offset != fgi_pack_align(at, FGI_PACK_SECTION_ALIGN) || s->offset > end ||
            s->size > end - s->offset || s->size % element != 0 ||
            (count >= 0 && s->size != (uint64_t)count * element) ||
            (s->kind < FGI_PACK_KINDS && f->sections[s->kind] != NULL))
            return fgi_fail(err, FG_EFORMAT,
                            "%s: byte %" PRIu64 ": section %" PRIu32 " (%s) at %" PRIu64
                            " with %" PRIu64 " bytes is not at its expected position",
                            f->map.path, (uint64_t)(128 + 24 * (uint64_t)i), i,
                            fgi_pack_section_name(s->kind), s->offset, s->size);
        if (s->kind < FGI_PACK_KINDS)
            f->sections[s->kind] = s;
        at = s->offset + s->size;
    }
    if (fgi_pack_align(at, FGI_PACK_SECTION_ALIGN) != end)
        return fgi_fail(err, FG_EFORMAT, "%s: byte %" PRIu64 ": expected the footer", f->map.path,
                        at);
    return FG_OK;
}

static fg_status check_kinds(const fgi_pack_file *f, fg_error *err)
{
    static const uint8_t required[] = {FGI_PACK_OFFSET, FGI_PACK_LENGTH,    FGI_PACK_CRC,
                                       FGI_PACK_LABEL,  FGI_PACK_WIDTH,     FGI_PACK_HEIGHT,
                                       FGI_PACK_CODEC,  FGI_PACK_FLAGS,     FGI_PACK_SPLIT,
                                       FGI_PACK_NAMES,  FGI_PACK_NAME_START};
    for (size_t i = 0; i < sizeof required; i++)
        if (f->sections[required[i]] == NULL)
            return fgi_fail(err, FG_EFORMAT, "%s: byte 128: section '%s' is missing", f->map.path,
                            fgi_pack_section_name(required[i]));
    if ((f->sections[FGI_PACK_LABELS] != NULL) != (f->sections[FGI_PACK_LABELS_START] != NULL))
        return fgi_fail(err, FG_EFORMAT, "%s: byte 128: half of the label lists is missing",
                        f->map.path);
    return FG_OK;
}

static fg_status file_open(const char *path, fgi_pack_file *f, fg_error *err)
{
    FGI_TRY(fgi_pack_map_open(path, &f->map, err));
    if (f->map.size < FGI_PACK_PAGE)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: byte %" PRIu64 ": expected a pack, which has at least %d bytes", path,
                        f->map.size, 2 * FGI_PACK_PAGE);
    memcpy(&f->page, f->map.data, sizeof f->page);
    FGI_TRY(fgi_pack_page_check(&f->page, path, 0, err));
    FGI_TRY(check_size(f, err));
    FGI_TRY(check_sections(f, err));
    FGI_TRY(check_kinds(f, err));
    f->seen = fgi_calloc(f->page.count / 32 + 1, sizeof *f->seen);
    if (f->seen == NULL)
        return fgi_no_memory(err);
    return fgi_pack_map_check(&f->map, err);
}

fg_status fgi_pack_file_open(const char *path, fgi_pack_file *out, fg_error *err)
{
    memset(out, 0, sizeof *out);
    const fg_status status = file_open(path, out, err);
    if (status != FG_OK)
        fgi_pack_file_close(out);
    return status;
}

void fgi_pack_file_close(fgi_pack_file *file)
{
    fgi_pack_map_close(&file->map);
    fgi_free(file->seen);
    memset(file, 0, sizeof *file);
}

/* ---- sections -------------------------------------------------------------------------------- */

fg_status fgi_pack_file_check(const fgi_pack_file *file, const fgi_pack_section *section,
                              fg_error *err)
{
    const uint32_t crc = fgi_crc32c(0, file->map.data + section->offset, (size_t)section->size);
    if (crc == section->crc)
        return FG_OK;
    return fgi_fail(err, FG_EFORMAT,
                    "%s: byte %" PRIu64 ": section '%s' (%" PRIu64 " bytes) is damaged: its "
                    "CRC-32C is %08x, expected %08x; rebuild the pack",
                    file->map.path, section->offset, fgi_pack_section_name(section->kind),
                    section->size, crc, section->crc);
}

fg_status fgi_pack_file_section(fgi_pack_file *file, fgi_pack_kind kind, const void **out,
                                fg_error *err)
{
    const fgi_pack_section *s = file->sections[kind];
    *out = s != NULL ? file->map.data + s->offset : NULL;
    if (s == NULL || atomic_load_explicit(&file->is_checked[kind], memory_order_relaxed))
        return FG_OK;
    const fg_status status = fgi_pack_file_check(file, s, err);
    FGI_TRY(fgi_pack_map_check(&file->map, err)); /* zeros have a wrong CRC, too */
    FGI_TRY(status);
    atomic_store_explicit(&file->is_checked[kind], true, memory_order_relaxed);
    return FG_OK;
}

static bool is_text(int kind)
{
    return kind == FGI_PACK_NAME_START || kind == FGI_PACK_NAMES || kind == FGI_PACK_LABELS_START ||
           kind == FGI_PACK_LABELS;
}

/* Names and label lists are as large as the other columns together, so they are only checked when
 * they are asked for. To read a record, those of its header are compared with them. */
static fg_status check_index(fgi_pack_file *file, bool texts, fg_error *err)
{
    const void *unused;
    atomic_bool *is_checked = &file->is_index_checked[texts];
    if (atomic_load_explicit(is_checked, memory_order_relaxed))
        return FG_OK;
    for (int kind = FGI_PACK_OFFSET; kind <= FGI_PACK_NAMES; kind++)
        if (texts || !is_text(kind))
            FGI_TRY(fgi_pack_file_section(file, (fgi_pack_kind)kind, &unused, err));
    atomic_store_explicit(is_checked, true, memory_order_relaxed);
    return FG_OK;
}

/* A column whose CRC has been checked, or NULL. */
static const void *column(const fgi_pack_file *file, fgi_pack_kind kind)
{
    const fgi_pack_section *s = file->sections[kind];
    return s != NULL ? file->map.data + s->offset : NULL;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Finds element range `index` of a section that has a section of start positions. */
static bool find_range(const fgi_pack_file *f, fgi_pack_kind starts, fgi_pack_kind values,
                       uint64_t index, uint64_t *out_begin, uint64_t *out_count)
{
    const uint64_t *start = column(f, starts);
    const uint64_t total = f->sections[values]->size / fgi_pack_element_size(values);
    const uint64_t begin = start[index], end = start[index + 1];
    *out_begin = begin;
    *out_count = end - begin;
    return begin <= end && end <= total;
}

static bool get_texts(const fgi_pack_file *f, uint64_t index, fg_pack_entry *out)
{
    uint64_t begin, count;
    if (!find_range(f, FGI_PACK_NAME_START, FGI_PACK_NAMES, index, &begin, &count) || count == 0 ||
        count > FGI_PACK_MAX_NAME)
        return false;
    const char *name = (const char *)column(f, FGI_PACK_NAMES) + begin;
    if (memchr(name, 0, (size_t)count) != name + count - 1)
        return false;
    out->name = name;
    if (f->sections[FGI_PACK_LABELS] == NULL)
        return true;
    if (!find_range(f, FGI_PACK_LABELS_START, FGI_PACK_LABELS, index, &begin, &count) ||
        count > FGI_PACK_MAX_LABELS)
        return false;
    out->label_count = (uint32_t)count;
    out->labels = count > 0 ? (const int32_t *)column(f, FGI_PACK_LABELS) + begin : NULL;
    return true;
}

bool fgi_pack_file_raw_entry(const fgi_pack_file *f, uint64_t index, fg_pack_entry *out)
{
    const int64_t *group = column(f, FGI_PACK_GROUP);
    *out =
        (fg_pack_entry){.codec = (fg_pack_codec)((const uint8_t *)column(f, FGI_PACK_CODEC))[index],
                        .width = ((const uint32_t *)column(f, FGI_PACK_WIDTH))[index],
                        .height = ((const uint32_t *)column(f, FGI_PACK_HEIGHT))[index],
                        .label = ((const int32_t *)column(f, FGI_PACK_LABEL))[index],
                        .split = ((const uint8_t *)column(f, FGI_PACK_SPLIT))[index],
                        .flags = ((const uint8_t *)column(f, FGI_PACK_FLAGS))[index],
                        .group = group != NULL ? group[index] : 0,
                        .size_bytes = ((const uint32_t *)column(f, FGI_PACK_LENGTH))[index],
                        .crc = ((const uint32_t *)column(f, FGI_PACK_CRC))[index],
                        .offset_bytes = ((const uint64_t *)column(f, FGI_PACK_OFFSET))[index],
                        .shard = (int)f->page.shard};
    const bool is_inside = out->offset_bytes >= FGI_PACK_PAGE &&
                           out->offset_bytes <= f->page.records_end &&
                           out->size_bytes <= f->page.records_end - out->offset_bytes &&
                           out->offset_bytes % FGI_PACK_HEAD_ALIGN == 0;
    return is_inside && get_texts(f, index, out);
}

fg_status fgi_pack_file_fail(const fgi_pack_file *file, uint64_t index, const fg_pack_entry *entry,
                             uint64_t offset, const char *what, fg_error *err)
{
    char name[200];
    (void)fgi_text_escape(fgi_str_of(entry->name != NULL ? entry->name : ""), name, sizeof name);
    return fgi_fail(err, FG_EFORMAT, "%s: byte %" PRIu64 ": record %" PRIu64 " ('%s') %s",
                    file->map.path, offset, file->page.first + index, name, what);
}

fg_status fgi_pack_file_check_crc(const fgi_pack_file *file, uint64_t index,
                                  const fg_pack_entry *entry, const void *data, fg_error *err)
{
    char text[96];
    const uint32_t crc = fgi_crc32c(0, data, entry->size_bytes);
    if (crc == entry->crc)
        return FG_OK;
    (void)snprintf(text, sizeof text, "is damaged: its CRC-32C is %08x, expected %08x",
                   (unsigned)crc, (unsigned)entry->crc);
    return fgi_pack_file_fail(file, index, entry, entry->offset_bytes, text, err);
}

uint64_t fgi_pack_file_head_position(const fgi_pack_file *file, uint64_t index)
{
    const uint64_t *offset = column(file, FGI_PACK_OFFSET);
    const uint32_t *length = column(file, FGI_PACK_LENGTH);
    return index == 0 ? FGI_PACK_PAGE
                      : fgi_pack_align(offset[index - 1] + length[index - 1], FGI_PACK_HEAD_ALIGN);
}

/* The name in the message is that of the record's header. */
static fg_status fail_entry(fgi_pack_file *file, uint64_t index, fg_error *err)
{
    const uint64_t at = fgi_pack_file_head_position(file, index);
    const fgi_pack_head *head = fgi_pack_head_at(file->map.data, file->page.records_end, at);
    const fg_pack_entry named = {.name = head != NULL ? fgi_pack_head_name(head) : ""};
    return fgi_pack_file_fail(file, index, &named, at,
                              "has an invalid index entry; rebuild the pack", err);
}

fg_status fgi_pack_file_entry(fgi_pack_file *file, uint64_t index, bool texts, fg_pack_entry *out,
                              fg_error *err)
{
    *out = (fg_pack_entry){0};
    FGI_TRY(check_index(file, texts, err));
    const bool is_valid = fgi_pack_file_raw_entry(file, index, out);
    fg_status status = is_valid ? FG_OK : fail_entry(file, index, err);
    if (atomic_load(&file->map.is_lost))
        status = fgi_pack_map_check(&file->map, err);
    if (status != FG_OK)
        *out = (fg_pack_entry){0};
    return status;
}

static bool is_same(const fg_pack_entry *a, const fg_pack_entry *b)
{
    return a->offset_bytes == b->offset_bytes && a->size_bytes == b->size_bytes &&
           a->crc == b->crc && a->codec == b->codec && a->width == b->width &&
           a->height == b->height && a->label == b->label && a->split == b->split &&
           a->flags == b->flags && a->group == b->group && strcmp(a->name, b->name) == 0 &&
           a->label_count == b->label_count &&
           (a->label_count == 0 ||
            memcmp(a->labels, b->labels, a->label_count * sizeof *a->labels) == 0);
}

fg_status fgi_pack_file_head(const fgi_pack_file *file, uint64_t index, uint64_t at,
                             const fg_pack_entry *entry, fg_error *err)
{
    const fgi_pack_head *h = fgi_pack_head_at(file->map.data, file->page.records_end, at);
    if (h == NULL)
        return fgi_pack_file_fail(file, index, entry, at, "has a damaged header", err);
    const fg_pack_entry e = fgi_pack_head_entry(h);
    if (h->number != file->page.first + index || !is_same(&e, entry))
        return fgi_pack_file_fail(file, index, &e, at, "has a header that differs from the index",
                                  err);
    return FG_OK;
}
