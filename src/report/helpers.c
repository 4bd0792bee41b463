/* helpers.c - see helpers.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/helpers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/print.h"
#include "base/thread.h"
#include "input/json_file.h"

char *fgi_strndup(const char *text, size_t size)
{
    const size_t length = strnlen(text, size);
    char *copy = fgi_calloc(length + 1, 1);
    if (copy != NULL)
        memcpy(copy, text, length);
    return copy;
}

char *fgi_take_text(fgi_buf *buf)
{
    char *text = fgi_buf_take(buf);
    fgi_buf_fini(buf);
    return text;
}

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

void fgi_json_print(fgi_buf *out, const json_t *value, size_t flags)
{
    if (!fgi_json_write(value, flags, out))
        out->failed = true;
}

double fgi_now_s(void) { return (double)fgi_now_ns() * 1e-9; }

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
