/* unicode.c - see unicode.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "text/unicode.h"

#include <utf8proc.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/library.h"

#define FUNCTIONS(X)                                                                               \
    X(decompose, utf8proc_decompose)                                                               \
    X(normalize, utf8proc_normalize_utf32)                                                         \
    X(lower, utf8proc_tolower)                                                                     \
    X(is_break, utf8proc_grapheme_break_stateful)
FGI_LIBRARY(utf8proc, FUNCTIONS, "libutf8proc.so.2", "libutf8proc.so.3")

fg_status fgi_unicode_check(const char *where, fg_error *err)
{
    if (utf8proc_is_loaded())
        return FG_OK;
    return fgi_fail(err, FG_EUNSUPPORTED,
                    "%s: this tokenizer requires utf8proc, which is not installed\n"
                    "sudo apt-get install libutf8proc2",
                    where);
}

uint32_t fgi_utf8_decode(const char *text, size_t *out_size)
{
    const unsigned char *p = (const unsigned char *)text;
    *out_size = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    uint32_t c = p[0] < 0x80 ? p[0] : p[0] & (0x7fu >> *out_size);
    for (size_t i = 1; i < *out_size; i++)
        c = c << 6 | (p[i] & 0x3fu);
    return c;
}

void fgi_utf8_put(fgi_buf *out, uint32_t c)
{
    unsigned char b[4] = {(unsigned char)c};
    size_t size = 1;
    if (c >= 0x80) {
        size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        for (size_t i = size - 1; i > 0; i--, c >>= 6)
            b[i] = (unsigned char)(0x80 | (c & 0x3f));
        b[0] = (unsigned char)((0xf00u >> size) | c);
    }
    fgi_buf_add(out, b, size);
}

static void lowercase(fgi_str text, fgi_buf *out)
{
    size_t n;
    for (size_t i = 0; i < text.size; i += n) {
        const uint32_t c = fgi_utf8_decode(text.data + i, &n);
        if (c < 0x80)
            fgi_buf_putc(out, fgi_lower((char)c));
        else if (c == 0x130) /* the only one that becomes two characters */
            fgi_buf_puts(out, "i\xcc\x87");
        else
            fgi_utf8_put(out, (uint32_t)utf8proc.lower((utf8proc_int32_t)c));
    }
}

size_t fgi_unicode_cluster(fgi_str text)
{
    size_t end, size;
    utf8proc_int32_t state = 0;
    uint32_t before = fgi_utf8_decode(text.data, &end);
    for (; end < text.size; end += size) {
        const uint32_t next = fgi_utf8_decode(text.data + end, &size);
        if (utf8proc.is_break((utf8proc_int32_t)before, (utf8proc_int32_t)next, &state))
            break;
        before = next;
    }
    return end;
}

/* ---- normalization forms --------------------------------------------------------------------- */

/* Characters below it are stable in all forms (ASCII), or in NFC (up to the first combining one).
 */
static bool is_stable(fgi_text_form form, fgi_str text)
{
    const unsigned char first = form == FGI_NFC ? 0xcc : 0x80;
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] >= first)
            return false;
    return true;
}

/* The characters, decomposed and in canonical order (fgi_free); NULL when out of memory. */
static utf8proc_int32_t *decompose(fgi_str text, utf8proc_option_t flags,
                                   utf8proc_ssize_t *out_count)
{
    utf8proc_ssize_t room = (utf8proc_ssize_t)text.size, needed = 0;
    utf8proc_int32_t *chars = NULL;
    do {
        room = needed > room ? needed : room;
        fgi_free(chars);
        chars = fgi_calloc((size_t)room + 1, sizeof *chars);
        if (chars != NULL)
            needed = utf8proc.decompose((const utf8proc_uint8_t *)text.data,
                                        (utf8proc_ssize_t)text.size, chars, room, flags);
    } while (chars != NULL && needed > room);
    *out_count = needed;
    return chars;
}

void fgi_unicode_form(fgi_text_form form, fgi_str text, fgi_buf *out)
{
    if (form == FGI_LOWERCASE) {
        lowercase(text, out);
        return;
    }
    if (is_stable(form, text)) {
        fgi_buf_add(out, text.data, text.size);
        return;
    }
    const bool compose = form == FGI_NFC || form == FGI_NFKC;
    const bool compat = form == FGI_NFKC || form == FGI_NFKD;
    const utf8proc_option_t flags =
        (utf8proc_option_t)(UTF8PROC_STABLE | (compat ? UTF8PROC_COMPAT : 0) |
                            (compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE));
    utf8proc_ssize_t count = 0;
    utf8proc_int32_t *chars = decompose(text, flags, &count);
    if (chars != NULL)
        count = utf8proc.normalize(chars, count, flags);
    for (utf8proc_ssize_t i = 0; chars != NULL && i < count; i++)
        fgi_utf8_put(out, (uint32_t)chars[i]);
    out->failed = out->failed || chars == NULL;
    fgi_free(chars);
}
