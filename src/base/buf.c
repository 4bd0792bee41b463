/* buf.c - the growing buffer used for all generated text. It owns its memory until fgi_buf_take
 * transfers it; a failure is kept until fgi_buf_clear or fgi_buf_fini.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <stdarg.h>
#include <string.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"

static const size_t limit_bytes = (size_t)1 << 30;

void fgi_buf_fini(fgi_buf *buf)
{
    fgi_free(buf->data);
    *buf = (fgi_buf){0};
}

void fgi_buf_fini_part(fgi_buf *part, fgi_buf *whole)
{
    whole->failed = whole->failed || part->failed;
    fgi_buf_fini(part);
}

void fgi_buf_clear(fgi_buf *buf)
{
    buf->size = 0;
    buf->failed = false;
    if (buf->data != NULL)
        buf->data[0] = '\0';
}

/* Makes room for `more` bytes and a NUL. */
static bool reserve(fgi_buf *buf, size_t more)
{
    if (buf->failed)
        return false;
    if (buf->size + 1 <= buf->capacity && more <= buf->capacity - buf->size - 1)
        return true;
    buf->failed = true;
    if (more > limit_bytes - buf->size)
        return false;
    size_t capacity = buf->capacity < 64 ? 64 : buf->capacity * 2;
    if (capacity < buf->size + more + 1)
        capacity = buf->size + more + 1;
    char *data = fgi_realloc(buf->data, capacity);
    if (data == NULL)
        return false;
    buf->data = data;
    buf->capacity = capacity;
    buf->failed = false;
    return true;
}

void fgi_buf_trim(fgi_buf *buf)
{
    while (!buf->failed && buf->size > 0 && buf->data[buf->size - 1] == ' ')
        buf->data[--buf->size] = '\0';
}

/* Bytes of the first word; if there is no room for it in a line, of what is before its last '|'
 * that fits. */
static size_t first_word(const char *text, size_t room)
{
    const size_t size = strcspn(text, " \n");
    size_t cut = size <= room ? 0 : room;
    while (cut > 0 && text[cut - 1] != '|')
        cut--;
    return cut > 0 ? cut : size;
}

void fgi_buf_wrap(fgi_buf *buf, const char *text, size_t width, const char *start)
{
    const size_t indent = strlen(start);
    bool is_end = true; /* of a word */
    for (size_t size; *text != '\0'; text += size + (is_end && text[size] != '\0')) {
        size_t used = 0; /* bytes of the last line */
        while (used < buf->size && buf->data[buf->size - 1 - used] != '\n')
            used++;
        const bool has_gap = used == 0 || !is_end || buf->data[buf->size - 1] == ' ';
        size = first_word(text, width > indent ? width - indent : 0);
        is_end = strchr(" \n", text[size]) != NULL; /* or of the text */
        const bool is_full = used > indent && used + !has_gap + size > width;
        fgi_buf_printf(buf, "%s%s%.*s%s",
                       is_full   ? "\n"
                       : has_gap ? ""
                                 : " ",
                       is_full ? start : "", (int)size, text, text[size] == '\n' ? "\n" : "");
    }
}

void fgi_buf_add(fgi_buf *buf, const void *bytes, size_t size)
{
    if (!reserve(buf, size))
        return;
    if (size != 0)
        memcpy(buf->data + buf->size, bytes, size);
    buf->size += size;
    buf->data[buf->size] = '\0';
}

void fgi_buf_puts(fgi_buf *buf, const char *text) { fgi_buf_add(buf, text, strlen(text)); }

void fgi_buf_putc(fgi_buf *buf, char c) { fgi_buf_add(buf, &c, 1); }

void fgi_buf_printf(fgi_buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fgi_buf_vprintf(buf, format, args);
    va_end(args);
}

void fgi_buf_vprintf(fgi_buf *buf, const char *format, va_list args)
{
    if (!reserve(buf, 0))
        return;
    const size_t room = buf->capacity - buf->size;
    va_list again;
    va_copy(again, args);
    const int length = fgi_vsnprintf(buf->data + buf->size, room, format, args);
    if (length < 0 || (size_t)length >= room)
        buf->data[buf->size] = '\0'; /* regardless of the result of the second attempt */
    if (length < 0) {
        buf->failed = true;
    } else if ((size_t)length < room) {
        buf->size += (size_t)length;
    } else if (reserve(buf, (size_t)length)) {
        (void)fgi_vsnprintf(buf->data + buf->size, (size_t)length + 1, format, again);
        buf->size += (size_t)length;
    }
    va_end(again);
}

void fgi_buf_put_int(fgi_buf *buf, int64_t value)
{
    char digits[20]; /* 19 digits and a sign */
    char *at = digits + sizeof(digits);
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left != 0);
    if (value < 0)
        *--at = '-';
    fgi_buf_add(buf, at, (size_t)(digits + sizeof(digits) - at));
}

void fgi_buf_put_json(fgi_buf *out, const char *text)
{
    static const char named[] = "\bb\ff\nn\rr\tt\"\"\\\\";
    fgi_buf_putc(out, '"');
    for (; *text; text++) {
        const char *escape = named;
        while (*escape && *escape != *text)
            escape += 2;
        if (*escape)
            fgi_buf_printf(out, "\\%c", escape[1]);
        else if ((unsigned char)*text < 0x20)
            fgi_buf_printf(out, "\\u%04x", (unsigned char)*text);
        else
            fgi_buf_putc(out, *text);
    }
    fgi_buf_putc(out, '"');
}

fg_status fgi_buf_status(const fgi_buf *buf, fg_error *err)
{
    return buf->failed ? fgi_no_memory(err) : FG_OK;
}

char *fgi_buf_take(fgi_buf *buf)
{
    if (!reserve(buf, 0)) {
        fgi_free(buf->data);
        *buf = (fgi_buf){.failed = true};
        return NULL;
    }
    char *data = buf->data;
    data[buf->size] = '\0';
    *buf = (fgi_buf){0};
    return data;
}
