/* buf.h - a growing text or byte buffer with a sticky out-of-memory state, so that a writer needs
 * to check only once at the end.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_BUF_H
#define FGI_BASE_BUF_H

#include <stdarg.h>

#include <fulgurite/base.h>

/* Zero-initialize it. `data` is NUL-terminated whenever it is not NULL; the NUL is not included in
 * the size. One thread at a time. */
typedef struct fgi_buf {
    char *data;
    size_t size, capacity;
    bool failed; /* out of memory, or larger than 1 GiB: appending no longer has an effect */
} fgi_buf;

void fgi_buf_fini(fgi_buf *buf);
/* The same of a part of `whole`, which fails if the part has. */
void fgi_buf_fini_part(fgi_buf *part, fgi_buf *whole);
/* The text; "" if there is none. */
static inline const char *fgi_buf_text(const fgi_buf *buf)
{
    return buf->data != NULL ? buf->data : "";
}
/* Empties the buffer, keeps its memory and clears `failed`. */
void fgi_buf_clear(fgi_buf *buf);
/* Removes the spaces at the end. */
void fgi_buf_trim(fgi_buf *buf);
void fgi_buf_add(fgi_buf *buf, const void *bytes, size_t size);
void fgi_buf_puts(fgi_buf *buf, const char *text);
void fgi_buf_putc(fgi_buf *buf, char c);
void fgi_buf_printf(fgi_buf *buf, const char *format, ...) FG_PRINTF(2, 3);
void fgi_buf_vprintf(fgi_buf *buf, const char *format, va_list args) FG_PRINTF(2, 0);
/* Appends words, separated by a space, in lines of at most `width` bytes where words are no longer;
 * those that are longer are continued after a '|'.
 * The first words continue the buffer's last line; the lines that this begins begin with `start`.
 * Line ends in the text are kept. */
void fgi_buf_wrap(fgi_buf *buf, const char *text, size_t width, const char *start);
/* Appends a signed decimal number; faster than printf, for the hot path of the emitter. */
void fgi_buf_put_int(fgi_buf *buf, int64_t value);
/* Appends UTF-8 text as a JSON string, with its quotes. */
void fgi_buf_put_json(fgi_buf *out, const char *text);
/* FG_OK or FG_ENOMEM. */
fg_status fgi_buf_status(const fgi_buf *buf, fg_error *err);
/* Returns the text, which the caller then owns (fgi_free); the buffer is empty afterwards. NULL if
 * the buffer has failed, in which case `failed` remains set; a new block with "" if it is empty. */
char *fgi_buf_take(fgi_buf *buf);

#endif
