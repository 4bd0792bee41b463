/* config_lines.c - see config_lines.h. Sections are in the first column, keys are indented by two
 * spaces, and lines that are indented further belong to the value before them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/config_lines.h"

#include <string.h>

#include "base/buf.h"
#include "base/print.h"
#include "base/text.h"

enum { KEY_SIZE = 256 };

/* "key" and "value" of "key: value"; false for other lines. */
static bool split(fgi_str line, fgi_str *out_key, fgi_str *out_value)
{
    const char *colon = memchr(line.data, ':', line.size);
    if (colon == NULL)
        return false;
    const size_t size = (size_t)(colon - line.data);
    *out_key = (fgi_str){line.data, size};
    *out_value = fgi_str_trim((fgi_str){colon + 1, line.size - size - 1});
    return true;
}

static void set(json_t *out, const char *key, fgi_str value)
{
    if (*key != '\0')
        (void)json_object_set_new(out, key, json_stringn(value.data, value.size));
}

static void extend(json_t *out, const char *key, fgi_str more)
{
    const char *had = json_string_value(json_object_get(out, key));
    fgi_buf joined = {0};
    if (had == NULL)
        return;
    fgi_buf_printf(&joined, "%s%s%.*s", had, *had != '\0' ? " " : "", (int)more.size, more.data);
    if (joined.data != NULL)
        (void)json_object_set_new(out, key, json_string(joined.data));
    fgi_buf_fini(&joined);
}

static void read_line(json_t *out, fgi_str line, char section[KEY_SIZE], char path[KEY_SIZE])
{
    fgi_str key, value;
    size_t indent = 0;
    while (indent < line.size && line.data[indent] == ' ')
        indent++;
    const fgi_str text = fgi_str_trim(line);
    if (text.size == 0 || text.data[0] == '#')
        return;
    if (indent > 2 || text.data[0] == '-' || !split(text, &key, &value)) {
        extend(out, path, text);
        return;
    }
    if (indent == 0) {
        (void)fgi_snprintf(section, KEY_SIZE, "%.*s", (int)key.size, key.data);
        (void)fgi_snprintf(path, KEY_SIZE, "%s", section);
        if (value.size > 0)
            set(out, path, value);
        return;
    }
    (void)fgi_snprintf(path, KEY_SIZE, "%.120s.%.*s", section,
                       (int)(key.size < 120 ? key.size : 120), key.data);
    set(out, path, value);
}

json_t *fgi_config_lines(const char *yaml)
{
    char section[KEY_SIZE] = "", path[KEY_SIZE] = "";
    json_t *out = json_object();
    while (out != NULL && *yaml != '\0') {
        const size_t size = strcspn(yaml, "\n");
        read_line(out, (fgi_str){yaml, size}, section, path);
        yaml += size + (yaml[size] == '\n');
    }
    return out;
}
