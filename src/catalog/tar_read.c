/* tar_read.c - headers of tar archives: ustar, GNU long names, and pax (path and size). Every size
 * is checked against the size of the file before it is used. Source: POSIX.1-2017, pax, "ustar
 * Interchange Format" and "pax Extended Header"; GNU tar manual, "Basic Tar Format".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "catalog/tar_read.h"

#include <string.h>
#include "base/error.h"
#include "base/text.h"

enum { BLOCK = 512, EXTENDED_MAX = 1 << 20, NAME_MAX_BYTES = 1 << 16 };

/* Positions and sizes of the fields of a header. */
enum {
    NAME = 0,
    NAME_SIZE = 100,
    SIZE = 124,
    SIZE_SIZE = 12,
    CHECKSUM = 148,
    CHECKSUM_SIZE = 8,
    TYPE = 156,
    MAGIC = 257,
    PREFIX = 345,
    PREFIX_SIZE = 155
};

static fg_status fail(const fgi_tar *tar, uint64_t offset, fg_status status, const char *what,
                      fg_error *err)
{
    return fgi_fail(err, status, "'%s': byte %llu: %s", tar->window.shard->path,
                    (unsigned long long)offset, what);
}

/* ---- header fields --------------------------------------------------------------------------- */

static size_t length_of(const unsigned char *field, size_t size)
{
    const unsigned char *end = memchr(field, '\0', size);
    return end == NULL ? size : (size_t)(end - field);
}

/* Up to 12 bytes: octal with blanks around it, or big-endian binary if the first bit is set. */
static bool parse_number(const unsigned char *field, size_t size, uint64_t *out)
{
    uint64_t value = 0;
    size_t i = 0;
    if (field[0] & 0x80) { /* 0xff.. is negative */
        for (value = field[0] & 0x7f, i = 1; i < size; i++) {
            if (value >> 55 != 0)
                return false;
            value = value << 8 | field[i];
        }
        *out = value;
        return true;
    }
    while (i < size && field[i] == ' ')
        i++;
    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++)
        value = value << 3 | (uint64_t)(field[i] - '0');
    *out = value;
    return i == size || field[i] == ' ' || field[i] == '\0';
}

/* The sum of all bytes, with blanks for the checksum; early programs added them as signed. */
static bool is_checksum_right(const unsigned char *h)
{
    uint64_t stored = 0;
    int64_t sum = 0, signed_sum = 0;
    for (int i = 0; i < BLOCK; i++) {
        const unsigned char c = i >= CHECKSUM && i < CHECKSUM + CHECKSUM_SIZE ? ' ' : h[i];
        sum += c;
        signed_sum += (signed char)c;
    }
    return parse_number(h + CHECKSUM, CHECKSUM_SIZE, &stored) &&
           ((int64_t)stored == sum || (int64_t)stored == signed_sum);
}

static bool is_zero(const unsigned char *block)
{
    for (int i = 0; i < BLOCK; i++)
        if (block[i] != 0)
            return false;
    return true;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static fg_status fail_truncated(const fgi_tar *tar, const char *what, fg_error *err)
{
    return fgi_fail(err, FG_EFORMAT, "'%s': byte %llu: %s: the archive is truncated (%llu byte%s)",
                    tar->window.shard->path, (unsigned long long)tar->at, what,
                    (unsigned long long)tar->window.shard->size, fgi_s(tar->window.shard->size));
}

static fg_status get_block(fgi_tar *tar, uint64_t offset, const unsigned char **out, fg_error *err)
{
    const uint64_t size = tar->window.shard->size;
    if (offset > size || size - offset < BLOCK)
        return fail_truncated(tar, "the end-of-archive marker is missing", err);
    return fgi_window_get(&tar->window, offset, BLOCK, out, err);
}

/* Reads the block at tar->at, behind the zeros that end an archive, as `tar --ignore-zeros` does:
 * another one may follow, if archives were concatenated. *out is NULL at the end of the file. */
static fg_status get_header(fgi_tar *tar, const unsigned char **out, bool *out_is_after_end,
                            fg_error *err)
{
    *out_is_after_end = false;
    FGI_TRY(get_block(tar, tar->at, out, err));
    while (is_zero(*out)) {
        *out_is_after_end = true;
        tar->has_path = tar->has_size = false;
        tar->at += BLOCK;
        if (tar->window.shard->size - tar->at < BLOCK) {
            *out = NULL; /* less than a block cannot be a member */
            return FG_OK;
        }
        FGI_TRY(get_block(tar, tar->at, out, err));
    }
    return FG_OK;
}

/* Checks a header and reads its size. */
static fg_status check_header(const fgi_tar *tar, const unsigned char *h, bool is_after_end,
                              uint64_t *out_size, fg_error *err)
{
    if (!is_checksum_right(h))
        return fail(tar, tar->at, FG_EFORMAT,
                    is_after_end
                        ? "data after the end of the archive that is not another tar archive"
                    : tar->at == 0 ? "not a tar archive (the checksum of the header does not match)"
                                   : "the checksum of the header does not match",
                    err);
    if (!parse_number(h + SIZE, SIZE_SIZE, out_size))
        return fail(tar, tar->at, FG_EFORMAT, "invalid size in the header", err);
    return FG_OK;
}

static fg_status check_content(const fgi_tar *tar, uint64_t size, fg_error *err)
{
    const uint64_t left = tar->window.shard->size - tar->at - BLOCK;
    if (size > left)
        return fail_truncated(tar, "the member does not fit", err);
    return FG_OK;
}

/* Sets tar->at behind a member. The last block may end with the file. */
static void step_over(fgi_tar *tar, uint64_t size)
{
    tar->at += BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
}

/* ---- extended headers ------------------------------------------------------------------------ */

static fg_status read_text(fgi_tar *tar, uint64_t size, fg_error *err)
{
    if (size > EXTENDED_MAX)
        return fail(tar, tar->at, FG_EFORMAT, "an extended header of more than 1 MiB", err);
    FGI_TRY(check_content(tar, size, err));
    fgi_buf_clear(&tar->text);
    for (uint64_t done = 0; done < size;) {
        const unsigned char *data;
        const size_t step = size - done < BLOCK ? (size_t)(size - done) : BLOCK;
        FGI_TRY(fgi_window_get(&tar->window, tar->at + BLOCK + done, step, &data, err));
        fgi_buf_add(&tar->text, data, step);
        done += step;
    }
    return fgi_buf_status(&tar->text, err);
}

static fg_status set_path(fgi_tar *tar, const char *path, size_t size, fg_error *err)
{
    if (size == 0 || size > NAME_MAX_BYTES || memchr(path, '\0', size) != NULL)
        return fail(tar, tar->at, FG_EFORMAT, "invalid path in an extended header", err);
    fgi_buf_clear(&tar->path);
    fgi_buf_add(&tar->path, path, size);
    tar->has_path = true;
    return fgi_buf_status(&tar->path, err);
}

static fg_status use_record(fgi_tar *tar, fgi_str key, fgi_str value, fg_error *err)
{
    int64_t size;
    if (key.size >= 11 && memcmp(key.data, "GNU.sparse.", 11) == 0)
        return fail(tar, tar->at, FG_EUNSUPPORTED,
                    "sparse files are not supported\ncreate the archive without --sparse", err);
    if (fgi_str_equal(key, "path"))
        return set_path(tar, value.data, value.size, err);
    if (!fgi_str_equal(key, "size"))
        return FG_OK;
    if (!fgi_parse_i64(value, &size) || size < 0)
        return fail(tar, tar->at, FG_EFORMAT, "invalid size in an extended header", err);
    tar->size = (uint64_t)size;
    tar->has_size = true;
    return FG_OK;
}

/* Records "LENGTH KEY=VALUE\n", where LENGTH includes itself and the line end. */
static fg_status use_records(fgi_tar *tar, fg_error *err)
{
    const char *text = tar->text.data;
    size_t left = tar->text.size;
    while (left > 0) {
        const char *blank = memchr(text, ' ', left < 20 ? left : 20);
        int64_t length;
        if (blank == NULL || !fgi_parse_i64((fgi_str){text, (size_t)(blank - text)}, &length) ||
            length <= blank - text + 1 || (uint64_t)length > left || text[length - 1] != '\n')
            return fail(tar, tar->at, FG_EFORMAT, "invalid record in an extended header", err);
        const char *end = text + length - 1;
        const char *equals = memchr(blank + 1, '=', (size_t)(end - blank - 1));
        if (equals == NULL)
            return fail(tar, tar->at, FG_EFORMAT, "invalid record in an extended header", err);
        const fgi_str key = {blank + 1, (size_t)(equals - blank - 1)};
        const fgi_str value = {equals + 1, (size_t)(end - equals - 1)};
        FGI_TRY(use_record(tar, key, value, err));
        text += length;
        left -= (size_t)length;
    }
    return FG_OK;
}

/* Uses an extended header of the next member; false: it is a member. */
static fg_status use_extended(fgi_tar *tar, char type, uint64_t size, bool *out_is_extended,
                              fg_error *err)
{
    *out_is_extended = type == 'x' || type == 'g' || type == 'L' || type == 'K';
    if (type == 'S')
        return fail(tar, tar->at, FG_EUNSUPPORTED,
                    "sparse files are not supported\ncreate the archive without --sparse", err);
    if (type == 'M')
        return fail(tar, tar->at, FG_EUNSUPPORTED, "archives of several volumes are not supported",
                    err);
    if (!*out_is_extended)
        return FG_OK;
    FGI_TRY(read_text(tar, size, err));
    if (type == 'x')
        FGI_TRY(use_records(tar, err));
    if (type == 'L')
        FGI_TRY(set_path(tar, tar->text.data, tar->text.data == NULL ? 0 : strlen(tar->text.data),
                         err));
    step_over(tar, size);
    return FG_OK;
}

/* ---- members --------------------------------------------------------------------------------- */

static fg_status use_name(fgi_tar *tar, const unsigned char *h, fg_error *err)
{
    if (tar->has_path)
        return FG_OK;
    fgi_buf_clear(&tar->path);
    if (memcmp(h + MAGIC, "ustar\0", 6) == 0 && h[PREFIX] != '\0') { /* GNU's magic has a blank */
        fgi_buf_add(&tar->path, h + PREFIX, length_of(h + PREFIX, PREFIX_SIZE));
        fgi_buf_putc(&tar->path, '/');
    }
    fgi_buf_add(&tar->path, h + NAME, length_of(h + NAME, NAME_SIZE));
    fgi_buf_putc(&tar->path, '\0');
    return fgi_buf_status(&tar->path, err);
}

static fg_status use_member(fgi_tar *tar, const unsigned char *h, uint64_t size,
                            fgi_tar_member *out, fg_error *err)
{
    const char type = (char)h[TYPE];
    const bool is_link_or_device = type >= '1' && type <= '6';
    FGI_TRY(use_name(tar, h, err));
    const size_t length = strlen(tar->path.data);
    const bool is_folder = length == 0 || tar->path.data[length - 1] == '/';
    if (tar->has_size)
        size = tar->size;
    if (is_link_or_device) /* a hard link may have a size, but no content */
        size = 0;
    FGI_TRY(check_content(tar, size, err));
    *out = (fgi_tar_member){.path = tar->path.data,
                            .is_file = (type == '0' || type == '\0' || type == '7') && !is_folder,
                            .header = tar->at,
                            .offset = tar->at + BLOCK,
                            .size = size};
    step_over(tar, size);
    tar->has_path = tar->has_size = false;
    return FG_OK;
}

fg_status fgi_tar_next(fgi_tar *tar, fgi_tar_member *out, bool *out_end, fg_error *err)
{
    *out_end = false;
    if (tar->at == 0)
        FGI_TRY(fgi_check_compression(&tar->window, err));
    for (;;) {
        const unsigned char *h;
        uint64_t size = 0;
        bool is_after_end, is_extended;
        FGI_TRY(get_header(tar, &h, &is_after_end, err));
        *out_end = h == NULL;
        if (*out_end)
            return FG_OK;
        FGI_TRY(check_header(tar, h, is_after_end, &size, err));
        unsigned char header[BLOCK]; /* the window moves */
        memcpy(header, h, BLOCK);
        FGI_TRY(use_extended(tar, (char)header[TYPE], size, &is_extended, err));
        if (!is_extended)
            return use_member(tar, header, size, out, err);
    }
}

void fgi_tar_fini(fgi_tar *tar)
{
    fgi_buf_fini(&tar->path);
    fgi_buf_fini(&tar->text);
}
