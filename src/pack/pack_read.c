/* pack_read.c - the bytes of records: borrowed from the mapping or copied, with their checksums
 * verified, and hints to the operating system to read ahead.
 *
 * A set bit in `seen` only means that a checksum matched before, so relaxed atomics are enough: two
 * threads that read a record first at the same time both verify it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "pack/pack_file.h"

enum { MERGE_BYTES = 128 << 10 }; /* gap between two records that is read along */

fgi_pack_file *fgi_pack_locate(const fg_pack *pack, int64_t record, uint64_t *out_index)
{
    int low = 0, high = pack->file_count - 1;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (pack->files[middle].page.first <= (uint64_t)record)
            low = middle;
        else
            high = middle - 1;
    }
    *out_index = (uint64_t)record - pack->files[low].page.first;
    return &pack->files[low];
}

static fg_status find(fg_pack *pack, int64_t record, bool texts, fgi_pack_file **out_file,
                      uint64_t *out_index, fg_pack_entry *out_entry, fg_error *err)
{
    *out_entry = (fg_pack_entry){0};
    if (record < 0 || record >= pack->info.count)
        return fgi_fail(err, FG_EINVAL,
                        "record %" PRId64 " is out of range: '%s' has %" PRId64 " record%s", record,
                        pack->files[0].map.path, pack->info.count, fgi_s(pack->info.count));
    *out_file = fgi_pack_locate(pack, record, out_index);
    return fgi_pack_file_entry(*out_file, *out_index, texts, out_entry, err);
}

fg_status fg_pack_entry_at(fg_pack *pack, int64_t record, fg_pack_entry *out, fg_error *err)
{
    fgi_pack_file *file;
    uint64_t index;
    return find(pack, record, true, &file, &index, out, err);
}

/* ---- verification ---------------------------------------------------------------------------- */

static bool must_check(const fg_pack *pack, const fgi_pack_file *f, uint64_t index)
{
    if (pack->check != FG_PACK_CHECK_FIRST)
        return pack->check == FG_PACK_CHECK_ALWAYS;
    const uint32_t word = atomic_load_explicit(&f->seen[index / 32], memory_order_relaxed);
    return (word >> (index % 32) & 1) == 0;
}

/* Verifies the bytes of a record, which were read to `data`, and its header. */
static fg_status check(const fg_pack *pack, fgi_pack_file *f, uint64_t index,
                       const fg_pack_entry *entry, const void *data, fg_error *err)
{
    if (must_check(pack, f, index)) {
        const fg_status bytes = fgi_pack_file_check_crc(f, index, entry, data, err);
        FGI_TRY(fgi_pack_map_check(&f->map, err)); /* zeros have a wrong CRC, too */
        FGI_TRY(bytes);
        const uint64_t at = fgi_pack_file_head_position(f, index);
        const fg_status head = fgi_pack_file_head(f, index, at, entry, err);
        FGI_TRY(fgi_pack_map_check(&f->map, err));
        FGI_TRY(head);
        (void)atomic_fetch_or_explicit(&f->seen[index / 32], (uint32_t)1 << (index % 32),
                                       memory_order_relaxed);
    }
    if ((entry->flags & FG_PACK_LOST) != 0)
        return fgi_pack_file_fail(f, index, entry, entry->offset_bytes,
                                  "was damaged and lost when the pack was rebuilt", err);
    return fgi_pack_map_check(&f->map, err);
}

/* ---- reading --------------------------------------------------------------------------------- */

fg_status fgi_pack_record(fg_pack *pack, int64_t record, fg_pack_entry *out_entry,
                          const void **out_data, fg_error *err)
{
    fgi_pack_file *f;
    uint64_t index;
    *out_data = NULL;
    FGI_TRY(find(pack, record, false, &f, &index, out_entry, err));
    const unsigned char *data = f->map.data + out_entry->offset_bytes;
    FGI_TRY(check(pack, f, index, out_entry, data, err));
    *out_data = data;
    return FG_OK;
}

fg_status fg_pack_record(fg_pack *pack, int64_t record, const void **out_data, size_t *out_size,
                         fg_error *err)
{
    fg_pack_entry entry;
    *out_size = 0;
    FGI_TRY(fgi_pack_record(pack, record, &entry, out_data, err));
    *out_size = entry.size_bytes;
    return FG_OK;
}

static fg_status read_at(const fgi_pack_file *f, uint64_t offset, char *to, size_t size,
                         fg_error *err)
{
    while (size > 0) {
        const ssize_t got = pread(f->map.fd, to, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fgi_fail_errno(err, "read", f->map.path);
        if (got == 0)
            return fgi_fail(err, FG_EIO,
                            "cannot read '%s': the file has shrunk since it was opened: it ends at "
                            "byte %" PRIu64,
                            f->map.path, offset);
        to += got;
        offset += (uint64_t)got;
        size -= (size_t)got;
    }
    return FG_OK;
}

fg_status fg_pack_read(fg_pack *pack, int64_t record, void *buffer, size_t *size, fg_error *err)
{
    fgi_pack_file *f;
    uint64_t index;
    fg_pack_entry entry;
    const size_t capacity = *size;
    *size = 0;
    FGI_TRY(find(pack, record, false, &f, &index, &entry, err));
    *size = entry.size_bytes;
    if (entry.size_bytes > capacity)
        return fgi_fail(err, FG_EINVAL,
                        "record %" PRId64 " has %" PRIu32 " bytes, but the buffer "
                        "has room for %zu",
                        record, entry.size_bytes, capacity);
    FGI_TRY(read_at(f, entry.offset_bytes, buffer, entry.size_bytes, err));
    return check(pack, f, index, &entry, buffer, err);
}

/* ---- reading ahead --------------------------------------------------------------------------- */

/* A request that has not been sent yet. */
typedef struct range {
    const fgi_pack_file *file;
    uint64_t begin, end;
} range;

static void send(const range *r)
{
    if (r->file != NULL)
        (void)posix_fadvise(r->file->map.fd, (off_t)r->begin, (off_t)(r->end - r->begin),
                            POSIX_FADV_WILLNEED);
}

void fg_pack_prefetch(fg_pack *pack, const int64_t *records, size_t count)
{
    range waiting = {0};
    for (size_t i = 0; i < count; i++) {
        fgi_pack_file *f;
        uint64_t index;
        fg_pack_entry entry;
        if (find(pack, records[i], false, &f, &index, &entry, NULL) != FG_OK)
            continue;
        const range next = {f, entry.offset_bytes, entry.offset_bytes + entry.size_bytes};
        if (waiting.file == f && next.begin >= waiting.begin &&
            next.begin <= waiting.end + MERGE_BYTES) {
            waiting.end = next.end > waiting.end ? next.end : waiting.end;
            continue;
        }
        send(&waiting);
        waiting = next;
    }
    send(&waiting);
}

bool fg_pack_populate(fg_pack *pack, uint64_t limit_bytes)
{
    bool is_done = pack->info.size_bytes <= limit_bytes;
    for (int i = 0; is_done && i < pack->file_count; i++) {
        const fgi_pack_map *map = &pack->files[i].map;
#ifdef MADV_POPULATE_READ /* Linux 5.14 */
        is_done = madvise((void *)map->data, (size_t)map->size, MADV_POPULATE_READ) == 0;
#else
        is_done = madvise((void *)map->data, (size_t)map->size, MADV_WILLNEED) == 0;
#endif
    }
    return is_done;
}
