/* fuzz_pack.c - any bytes as a pack: rejected, or all its records can be read, verified and rebuilt
 * without leaving the file.
 *
 * So that the fuzzer gets past checksums, the input is not the file itself: a byte of flags, the
 * start of the header, and what is between header and footer. The flags choose which checksums are
 * corrected; both pages are made from the start of the header.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/crc32c.h"
#include "pack/pack_format.h"

enum { START = 576, FIX_SIZE = 1, FIX_SECTIONS = 2, FIX_HEADS = 4, REBUILD = 8, MOST = 1 << 20 };

static void fix_sections(fgi_pack_page *page, const unsigned char *file, size_t size)
{
    for (uint32_t i = 0; i < page->section_count && i < FGI_PACK_MAX_SECTIONS; i++) {
        fgi_pack_section *s = &page->sections[i];
        if (s->offset <= size && s->size <= size - s->offset)
            s->crc = fgi_crc32c(0, file + s->offset, (size_t)s->size);
    }
}

static void fix_heads(unsigned char *file, size_t size)
{
    for (size_t at = FGI_PACK_PAGE; at + sizeof(fgi_pack_head) <= size; at += 16) {
        fgi_pack_head *head = (void *)(file + at);
        if (head->magic != FGI_PACK_HEAD_MAGIC || head->label_count > FGI_PACK_MAX_LABELS ||
            fgi_pack_head_size(head) > size - at)
            continue;
        if (head->offset <= size && head->length <= size - head->offset)
            head->crc = fgi_crc32c(0, file + head->offset, head->length);
        head->head_crc = fgi_pack_head_crc(head);
    }
}

/* The file that an input stands for: its size in *out_size. */
static unsigned char *make_file(const uint8_t *data, size_t size, size_t *out_size)
{
    const int flags = data[0];
    const size_t start = size - 1 < START ? size - 1 : START, body = size - 1 - start;
    *out_size = 2 * FGI_PACK_PAGE + (size_t)fgi_pack_align(body, 64);
    unsigned char *file = fgi_calloc(1, *out_size);
    if (file == NULL)
        abort();
    fgi_pack_page *page = (void *)file;
    memcpy(page, data + 1, start);
    memcpy(file + FGI_PACK_PAGE, data + 1 + start, body);
    if ((flags & FIX_HEADS) != 0)
        fix_heads(file, *out_size - FGI_PACK_PAGE);
    if ((flags & FIX_SECTIONS) != 0)
        fix_sections(page, file, *out_size - FGI_PACK_PAGE);
    if ((flags & FIX_SIZE) != 0)
        page->file_size = *out_size;
    page->crc = fgi_pack_page_crc(page);
    memcpy(file + *out_size - FGI_PACK_PAGE, page, FGI_PACK_PAGE);
    return file;
}

static void check_error(fg_status status, const fg_error *err)
{
    if (status != FG_OK && (err->status != status || err->message[0] == 0))
        abort();
}

static void read_records(fg_pack *pack)
{
    static char buffer[1 << 16];
    uint64_t sum = 0;
    for (int64_t i = 0; i < fg_pack_count(pack) && i < 100; i++) {
        fg_error err = {0};
        fg_pack_entry entry;
        const void *data;
        size_t size;
        const fg_status status = fg_pack_entry_at(pack, i, &entry, &err);
        check_error(status, &err);
        if (status == FG_OK)
            sum += strlen(entry.name) + (entry.label_count > 0 ? (uint64_t)entry.labels[0] : 0);
        check_error(fg_pack_record(pack, i, &data, &size, &err), &err);
        sum += fgi_crc32c(0, data, size); /* reads each byte */
        size = sizeof buffer;
        check_error(fg_pack_read(pack, i, buffer, &size, &err), &err);
        fg_pack_prefetch(pack, &i, 1);
    }
    for (int64_t i = 0; i < fg_pack_info_of(pack)->class_count; i++)
        sum += strlen(fg_pack_class_name(pack, i));
    if (sum == 1 && fg_pack_count(pack) == 0)
        abort();
}

static void open_and_read(const char *path)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    const fg_status status = fg_pack_open(path, NULL, &pack, &err);
    check_error(status, &err);
    if (status != FG_OK)
        return;
    check_error(fg_pack_verify(pack, NULL, NULL, NULL, &err), &err);
    read_records(pack);
    fg_pack_close(pack);
}

/* A rebuilt pack can be opened and has no faults; its damaged records are counted as lost. */
static void rebuild(const char *path)
{
    static char out[64];
    fg_error err = {0};
    fg_pack *pack = NULL;
    fg_pack_report rebuilt, verified;
    if (*out == 0)
        (void)snprintf(out, sizeof out, "%s/fuzz_pack.%ld.pack",
                       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (long)getpid());
    const fg_status status = fg_pack_rebuild(path, out, &rebuilt, &err);
    check_error(status, &err);
    if (status == FG_OK && fg_pack_open(out, NULL, &pack, &err) == FG_OK) {
        const fg_status result = fg_pack_verify(pack, NULL, NULL, &verified, &err);
        check_error(result, &err);
        if (verified.bad_others != 0 || verified.bad_records != 0 ||
            verified.lost_records < rebuilt.bad_records)
            abort();
        fg_pack_close(pack);
    }
    (void)unlink(out);
}

/* Files need not survive the machine. */
int fsync(int fd) { return fd < 0 ? -1 : 0; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t file_size;
    char path[64];
    if (size == 0 || size > MOST)
        return 0;
    unsigned char *file = make_file(data, size, &file_size);
    const int fd = memfd_create("pack", MFD_CLOEXEC);
    if (fd < 0 || write(fd, file, file_size) != (ssize_t)file_size)
        abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    open_and_read(path);
    if ((data[0] & REBUILD) != 0)
        rebuild(path);
    (void)close(fd);
    fgi_free(file);
    return 0;
}
