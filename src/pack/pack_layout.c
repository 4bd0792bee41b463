/* pack_layout.c - rules of the format that reader, writer, verification and repair share: where
 * things are, and when a page or a record header is intact.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "pack/pack_format.h"

static const struct {
    const char *name;
    uint8_t size; /* bytes of an element */
    int8_t extra; /* elements beyond one per record; -1: any number of elements */
} kinds[FGI_PACK_KINDS] = {
    [FGI_PACK_OFFSET] = {"offsets", 8, 0},
    [FGI_PACK_GROUP] = {"groups", 8, 0},
    [FGI_PACK_NAME_START] = {"positions of names", 8, 1},
    [FGI_PACK_LABELS_START] = {"positions of label lists", 8, 1},
    [FGI_PACK_LENGTH] = {"lengths", 4, 0},
    [FGI_PACK_CRC] = {"checksums", 4, 0},
    [FGI_PACK_LABEL] = {"labels", 4, 0},
    [FGI_PACK_WIDTH] = {"widths", 4, 0},
    [FGI_PACK_HEIGHT] = {"heights", 4, 0},
    [FGI_PACK_LABELS] = {"label lists", 4, -1},
    [FGI_PACK_CODEC] = {"codecs", 1, 0},
    [FGI_PACK_FLAGS] = {"flags", 1, 0},
    [FGI_PACK_SPLIT] = {"splits", 1, 0},
    [FGI_PACK_NAMES] = {"names", 1, -1},
    [FGI_PACK_CLASSES] = {"class names", 1, -1},
    [FGI_PACK_FIELDS] = {"fields", sizeof(fgi_pack_field), -1},
    [FGI_PACK_METADATA] = {"metadata", 1, -1},
};

const char *fg_pack_codec_name(fg_pack_codec codec)
{
    static const char *const names[] = {
        [FG_PACK_FILE] = "file",     [FG_PACK_JPEG] = "jpeg",      [FG_PACK_JPEG_SEG] = "jpeg-seg",
        [FG_PACK_RAW_RGB] = "raw",   [FG_PACK_RAW_YCC420] = "ycc", [FG_PACK_DCT] = "dct",
        [FG_PACK_ARRAYS] = "arrays",
    };
    return (size_t)codec < sizeof names / sizeof names[0] ? names[codec] : NULL;
}

const char *fgi_pack_section_name(uint32_t kind)
{
    return kind < FGI_PACK_KINDS && kinds[kind].name != NULL ? kinds[kind].name : "unknown";
}

size_t fgi_pack_element_size(uint32_t kind)
{
    return kind < FGI_PACK_KINDS && kinds[kind].size != 0 ? kinds[kind].size : 1;
}

int64_t fgi_pack_element_count(uint32_t kind, uint64_t count)
{
    if (kind >= FGI_PACK_KINDS || kinds[kind].name == NULL || kinds[kind].extra < 0)
        return -1;
    return (int64_t)count + kinds[kind].extra;
}

/* ---- records --------------------------------------------------------------------------------- */

static size_t labels_start(const fgi_pack_head *head)
{
    return sizeof *head + (size_t)fgi_pack_align(head->name_size, 4);
}

size_t fgi_pack_head_size(const fgi_pack_head *head)
{
    return (size_t)fgi_pack_align(labels_start(head) + head->label_count * sizeof(int32_t),
                                  FGI_PACK_HEAD_ALIGN);
}

uint32_t fgi_pack_head_crc(const fgi_pack_head *head)
{
    const size_t start = offsetof(fgi_pack_head, number);
    return fgi_crc32c(0, (const char *)head + start, fgi_pack_head_size(head) - start);
}

/* Records of at most `small` bytes do not cross a window. */
static uint64_t place(uint64_t at, uint8_t codec, uint32_t length, uint32_t small)
{
    const bool is_wide = codec == FG_PACK_RAW_RGB || codec == FG_PACK_RAW_YCC420 ||
                         codec == FG_PACK_DCT || codec == FG_PACK_ARRAYS;
    at = fgi_pack_align(at, is_wide ? 64 : 16);
    const uint64_t window_end = fgi_pack_align(at + 1, FGI_PACK_WINDOW);
    return length <= small && at + length > window_end ? window_end : at;
}

uint64_t fgi_pack_place(uint64_t at, uint8_t codec, uint32_t length)
{
    return place(at, codec, length, FGI_PACK_SMALL);
}

static bool is_place(uint64_t offset, uint64_t at, uint8_t codec, uint32_t length)
{
    return offset == place(at, codec, length, FGI_PACK_SMALL) ||
           offset == place(at, codec, length, FGI_PACK_WINDOW);
}

const char *fgi_pack_head_name(const fgi_pack_head *head) { return (const char *)(head + 1); }

const int32_t *fgi_pack_head_labels(const fgi_pack_head *head)
{
    return (const int32_t *)(const void *)((const char *)head + labels_start(head));
}

const fgi_pack_head *fgi_pack_head_at(const unsigned char *data, uint64_t size, uint64_t at)
{
    if (at % FGI_PACK_HEAD_ALIGN != 0 || at > size || size - at < sizeof(fgi_pack_head))
        return NULL;
    const fgi_pack_head *head = (const void *)(data + at);
    if (head->magic != FGI_PACK_HEAD_MAGIC || head->label_count > FGI_PACK_MAX_LABELS ||
        head->name_size == 0)
        return NULL;
    const size_t head_size = fgi_pack_head_size(head);
    if (size - at < head_size || fgi_pack_head_crc(head) != head->head_crc)
        return NULL;
    const bool is_name = memchr(fgi_pack_head_name(head), 0, head->name_size) ==
                         fgi_pack_head_name(head) + head->name_size - 1;
    const bool is_placed = is_place(head->offset, at + head_size, head->codec, head->length) &&
                           head->offset <= size && size - head->offset >= head->length;
    return is_name && is_placed ? head : NULL;
}

fg_pack_entry fgi_pack_head_entry(const fgi_pack_head *head)
{
    return (fg_pack_entry){.name = fgi_pack_head_name(head),
                           .codec = (fg_pack_codec)head->codec,
                           .width = head->width,
                           .height = head->height,
                           .label = head->label,
                           .labels = head->label_count > 0 ? fgi_pack_head_labels(head) : NULL,
                           .label_count = head->label_count,
                           .split = head->split,
                           .flags = head->flags,
                           .group = head->group,
                           .size_bytes = head->length,
                           .crc = head->crc,
                           .offset_bytes = head->offset};
}

/* ---- pages ----------------------------------------------------------------------------------- */

uint32_t fgi_pack_page_crc(const fgi_pack_page *page)
{
    return fgi_crc32c(0, page, offsetof(fgi_pack_page, crc));
}

fg_status fgi_pack_page_check(const fgi_pack_page *page, const char *path, uint64_t offset,
                              fg_error *err)
{
    const uint32_t crc = fgi_pack_page_crc(page);
    if (memcmp(page->magic, FGI_PACK_MAGIC, sizeof page->magic) != 0)
        return fgi_fail(err, FG_EFORMAT, "%s: byte %" PRIu64 ": expected a pack header", path,
                        offset);
    if (page->major > FGI_PACK_MAJOR) /* its CRC may be elsewhere */
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "%s: byte 8: pack version %d.%d was written by a newer version of "
                        "Fulgurite, this one reads up to %d: upgrade, or create the pack again",
                        path, page->major, page->minor, FGI_PACK_MAJOR);
    if (page->crc != crc)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: byte %" PRIu64 ": the header is damaged: its CRC-32C is %08x, "
                        "expected %08x; rebuild the pack",
                        path, offset, crc, page->crc);
    if (page->required != 0)
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "%s: byte 16: the pack requires features that this version of Fulgurite "
                        "does not have (bits %" PRIx64 "): upgrade, or create the pack again",
                        path, page->required);
    if (page->major < 1)
        return fgi_fail(err, FG_EFORMAT, "%s: byte 8: invalid version %d.%d", path, page->major,
                        page->minor);
    return FG_OK;
}

bool fgi_pack_is_zero(const unsigned char *data, size_t size)
{
    return size == 0 || (data[0] == 0 && memcmp(data, data + 1, size - 1) == 0);
}

bool fgi_pack_field_is_valid(const char *name, uint32_t dtype, uint32_t rank, const int64_t *dim)
{
    const size_t length = strnlen(name, sizeof((fgi_pack_field *)NULL)->name);
    bool is_valid = length > 0 && length < sizeof((fgi_pack_field *)NULL)->name &&
                    fg_dtype_size((fg_dtype)dtype) != 0 && rank < FG_MAX_RANK;
    for (uint32_t i = 0; is_valid && i < rank; i++)
        is_valid = dim[i] >= 1;
    return is_valid;
}
