/* json_file.c - reads JSON from files: tensor headers, manifests and state.json.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "input/json_file.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "base/text.h"

json_t *fgi_json_load(const char *text, size_t size, size_t flags, json_error_t *fault)
{
    const locale_t before = fgi_locale_enter();
    json_t *root = json_loadb(text, size, flags, fault);
    fgi_locale_leave(before);
    return root;
}

static int append(const char *bytes, size_t size, void *self)
{
    fgi_buf *text = self;
    fgi_buf_add(text, bytes, size);
    return text->failed ? -1 : 0;
}

bool fgi_json_write(const json_t *root, size_t flags, fgi_buf *out)
{
    const locale_t before = fgi_locale_enter();
    const bool is_written = json_dump_callback(root, append, out, flags) == 0;
    fgi_locale_leave(before);
    return is_written;
}

fg_status fgi_json_parse(const char *path, size_t offset, const char *text, size_t size,
                         json_t **out, fg_error *err)
{
    json_error_t fault;
    const size_t mark = fgi_utf8_mark(text, size);
    *out = fgi_json_load(text + mark, size - mark, JSON_REJECT_DUPLICATES, &fault);
    if (*out)
        return FG_OK;
    /* jansson 2.14 reports nothing if some of its own allocations fail */
    if (json_error_code(&fault) == json_error_out_of_memory || !fault.text[0])
        return fgi_no_memory(err);
    return fgi_fail(err, FG_EFORMAT, "%s: byte %zu: invalid JSON: %s", path,
                    offset + mark + (size_t)fault.position, fault.text);
}

json_t *fgi_json_name(const char *name)
{
    json_t *text = json_string(name);
    if (text != NULL)
        return text;
    const size_t size = 4 * strlen(name) + 4;
    char *escaped = fgi_alloc(size);
    if (escaped == NULL)
        return NULL;
    (void)fgi_text_escape(fgi_str_of(name), escaped, size);
    text = json_string(escaped);
    fgi_free(escaped);
    return text;
}

json_t *fgi_json_real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

json_t *fgi_json_count(int64_t value) { return value >= 0 ? json_integer(value) : json_null(); }

char *fgi_json_text(const json_t *value, size_t flags)
{
    fgi_buf text = {0};
    if (fgi_json_write(value, flags, &text))
        return fgi_buf_take(&text);
    fgi_buf_fini(&text);
    return NULL;
}

json_t *fgi_json_string(const char *text)
{
    json_t *string = text != NULL && *text != '\0' ? json_string(text) : NULL;
    return string != NULL ? string : json_null();
}

json_t *fgi_json_reals(const double *values, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(array, fgi_json_real(values[i]));
    return array;
}

void fgi_json_put(fgi_buf *out, json_t *take_root, size_t flags)
{
    if (take_root == NULL || !fgi_json_write(take_root, flags, out))
        out->failed = true;
    fgi_buf_putc(out, '\n');
    json_decref(take_root);
}

/* ---- members --------------------------------------------------------------------------------- */

double fgi_json_number(const json_t *o, const char *key)
{
    const json_t *value = json_object_get(o, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

double fgi_json_seconds(const json_t *o, const char *key)
{
    char with_unit[64];
    (void)fgi_snprintf(with_unit, sizeof with_unit, "%s_s", key);
    return fgi_json_number(o, json_object_get(o, with_unit) != NULL ? with_unit : key);
}

const char *fgi_json_words(const json_t *o, const char *key)
{
    const char *value = json_string_value(json_object_get(o, key));
    return value != NULL ? value : "";
}
