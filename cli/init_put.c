/* init_put.c - writes the lines of a configuration for `fulgurite init`.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "init_put.h"

enum { WHY_COLUMN = 38 };

void fgi_put(fgi_buf *out, const char *key, const char *value, const char *why)
{
    const size_t before = out->size;
    fgi_buf_printf(out, "  %s: %s", key, value);
    const int used = (int)(out->size - before);
    if (why != NULL)
        fgi_buf_printf(out, "%*s# %s", used < WHY_COLUMN ? WHY_COLUMN - used : 1, "", why);
    fgi_buf_putc(out, '\n');
}

void fgi_put_quoted(fgi_buf *out, const char *text)
{
    fgi_buf_putc(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fgi_buf_putc(out, '\\');
        if ((unsigned char)*text < 0x20)
            fgi_buf_printf(out, "\\x%02x", (unsigned char)*text);
        else
            fgi_buf_putc(out, *text);
    }
    fgi_buf_putc(out, '"');
}

void fgi_put_string(fgi_buf *out, const char *key, const char *text, const char *why)
{
    fgi_buf quoted = {0};
    fgi_put_quoted(&quoted, text);
    fgi_put(out, key, quoted.data != NULL ? quoted.data : "", why);
    out->failed = out->failed || quoted.failed;
    fgi_buf_fini(&quoted);
}

void fgi_put_file(fgi_buf *out, const char *key, const char *path)
{
    if (path != NULL)
        fgi_put_string(out, key, path, NULL);
}
