/* unicode.h - normalization forms and lower case, by utf8proc, which is loaded when it is needed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TEXT_UNICODE_H
#define FGI_TEXT_UNICODE_H

#include "base/buf.h"
#include "base/text.h"

typedef enum fgi_text_form { FGI_NFC, FGI_NFD, FGI_NFKC, FGI_NFKD, FGI_LOWERCASE } fgi_text_form;

/* FG_EUNSUPPORTED if utf8proc is not installed; `where` begins the message. */
fg_status fgi_unicode_check(const char *where, fg_error *err);
/* Appends the form of valid UTF-8 to out. Source: Unicode Standard Annex #15. Lower case is that of
 * each character alone (Unicode's SpecialCasing without context). */
void fgi_unicode_form(fgi_text_form form, fgi_str text, fgi_buf *out);

/* Bytes of the extended grapheme cluster that begins the text, size > 0. Source: Unicode Standard
 * Annex #29. Requires fgi_unicode_check. */
size_t fgi_unicode_cluster(fgi_str text);

/* The character at the start of valid UTF-8, size > 0; *out_size: its bytes. */
uint32_t fgi_utf8_decode(const char *text, size_t *out_size);
void fgi_utf8_put(fgi_buf *out, uint32_t character);

#endif
