/* buf.h - a growing text or byte buffer with a sticky out-of-memory state, so that an emitter
 * checks once at the end.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_BUF_H
#define FGI_BASE_BUF_H

#include <stdarg.h>

#include <fulgurite/base.h>

/* Zero-initialise. `data` is NUL-terminated whenever it is not NULL; the NUL is not counted. One
 * thread at a time. */
typedef struct fgi_buf {
    char *data;
    size_t size, capacity;
    bool failed; /* out of memory, or over the limit of 1 GiB: appends do nothing any more */
} fgi_buf;

void fgi_buf_fini(fgi_buf *buf);
/* Empties, keeps the memory, clears `failed`. */
void fgi_buf_clear(fgi_buf *buf);
void fgi_buf_add(fgi_buf *buf, const void *bytes, size_t size);
void fgi_buf_puts(fgi_buf *buf, const char *text);
void fgi_buf_putc(fgi_buf *buf, char c);
void fgi_buf_printf(fgi_buf *buf, const char *format, ...) FG_PRINTF(2, 3);
void fgi_buf_vprintf(fgi_buf *buf, const char *format, va_list args) FG_PRINTF(2, 0);
/* A signed decimal number: the emitter's hot path, faster than printf. */
void fgi_buf_put_int(fgi_buf *buf, int64_t value);
/* FG_OK or FG_ENOMEM. */
fg_status fgi_buf_status(const fgi_buf *buf, fg_error *err);
/* The text, owned by the caller from now on (fgi_free); the buffer is empty afterwards. NULL when
 * the buffer has failed, which it then still says; "" as a fresh block when it is empty. */
char *fgi_buf_take(fgi_buf *buf);

#endif
