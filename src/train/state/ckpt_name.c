/* ckpt_name.c - parses templates of checkpoint names and fills them in.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/state/cursor.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/print.h"
#include "base/text.h"

enum { MOST_FIELDS = 5, MOST_TEXT = 48, MOST_WIDTH = 12, MOST_PRECISION = 9 };

static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._=-";

typedef struct field {
    fgi_str name;
    bool has_zeros, has_precision;
    int width, precision;
    char kind; /* d, f, e, g; 0: the default of the field */
} field;

static bool is_count(const field *f)
{
    return fgi_str_equal(f->name, "step") || fgi_str_equal(f->name, "epoch");
}

/* A number of at most two digits; false if it is larger than `most`. */
static bool read_small(const char **at, int most, int *out)
{
    for (*out = 0; **at >= '0' && **at <= '9'; ++*at)
        if (*out <= most)
            *out = *out * 10 + (**at - '0');
    return *out <= most;
}

/* Reads "{NAME:FORMAT}" at *at, and advances it to after the brace. */
static bool read_field(const char **at, field *out)
{
    const char *begin = *at + 1;
    const size_t size = strcspn(begin, ":}{");
    *out = (field){.name = {begin, size}};
    *at = begin + size;
    if (**at == ':') {
        ++*at;
        out->has_zeros = **at == '0';
        if (!read_small(at, MOST_WIDTH, &out->width))
            return false;
        out->has_precision = **at == '.';
        *at += out->has_precision;
        if (out->has_precision && !read_small(at, MOST_PRECISION, &out->precision))
            return false;
        if (**at != '\0' && strchr("dfeg", **at) != NULL)
            out->kind = *(*at)++;
    }
    if (*(*at)++ != '}' || size == 0)
        return false;
    if (is_count(out))
        return (out->kind == 'd' || out->kind == '\0') && !out->has_precision;
    return out->kind != 'd';
}

static fg_status refuse(const char *pattern, const char *at, const char *expected, fg_error *err)
{
    return fgi_fail(err, FG_EINVAL,
                    "checkpoint name '%s': at '%s': expected %s\n"
                    "such as {epoch:02d}-{step}-{val_loss:.3f}",
                    pattern, at, expected);
}

fg_status fgi_ckpt_name_check(const char *pattern, fg_error *err)
{
    const char *at = pattern;
    size_t text = 0;
    int fields = 0;
    field f;
    if (*at == '{' ? strncmp(at, "{step", 5) != 0 && strncmp(at, "{epoch", 6) != 0
                   : *at == '\0' || strchr("._=-", *at) != NULL)
        return refuse(pattern, at, "a letter, a digit, {step} or {epoch} at the beginning", err);
    if (strstr(pattern, ".tmp.") != NULL || strstr(pattern, ".old.") != NULL)
        return refuse(pattern, pattern, "a name without '.tmp.' and '.old.'", err);
    while (*at != '\0') {
        const char *here = at;
        if (*at == '{') {
            if (!read_field(&at, &f))
                return refuse(pattern, here,
                              "a field: {step}, {epoch}, {METRIC}, with a format such as :04d "
                              "(steps, epochs) or :.3f (metrics)",
                              err);
            fields++;
        } else if (strchr(plain, *at++) == NULL) {
            return refuse(pattern, here, "letters, digits, '.', '_', '=', '-' or a field", err);
        } else {
            text++;
        }
        if (fields > MOST_FIELDS || text > MOST_TEXT)
            return refuse(pattern, here, "at most 5 fields and 48 other characters", err);
    }
    return FG_OK;
}

bool fgi_ckpt_name_next_metric(const char **at, char *out, size_t size)
{
    field f;
    while (**at != '\0') {
        if (**at != '{') {
            ++*at;
        } else if (read_field(at, &f) && !is_count(&f)) {
            (void)fgi_snprintf(out, size, "%.*s", (int)f.name.size, f.name.data);
            return true;
        }
    }
    return false;
}

/* ---- filling in ------------------------------------------------------------------------------ */

/* Text of a fixed size; what does not fit is left out, as is what is not safe in a name: spaces of
 * a width, the plus sign of an exponent. */
typedef struct name_text {
    char *out;
    size_t size, used;
} name_text;

static void put(name_text *text, const char *part)
{
    for (; *part != '\0' && text->used + 1 < text->size; part++)
        if (strchr(plain, *part) != NULL)
            text->out[text->used++] = *part;
    text->out[text->used] = '\0';
}

static void put_count(name_text *text, const field *f, int64_t value)
{
    char number[32];
    (void)fgi_snprintf(number, sizeof number, f->has_zeros ? "%0*" PRId64 : "%*" PRId64, f->width,
                       value);
    put(text, number);
}

static void put_metric(name_text *text, const field *f, double value)
{
    char number[32];
    const int precision = f->has_precision ? f->precision : 6;
    if (f->kind == 'f' && fabs(value) < 1e9)
        (void)fgi_snprintf(number, sizeof number, f->has_zeros ? "%0*.*f" : "%*.*f", f->width,
                           precision, value);
    else if (f->kind == 'e')
        (void)fgi_snprintf(number, sizeof number, "%*.*e", f->width, precision, value);
    else
        (void)fgi_snprintf(number, sizeof number, "%*.*g", f->width, precision, value);
    put(text, number);
}

static void put_field(name_text *text, const field *f, int64_t step, int64_t epoch,
                      const fg_metric *metrics, size_t count)
{
    size_t i = 0;
    while (i < count && !fgi_str_equal(f->name, metrics[i].name))
        i++;
    if (is_count(f))
        put_count(text, f, fgi_str_equal(f->name, "step") ? step : epoch);
    else if (i < count)
        put_metric(text, f, metrics[i].value);
    else
        put(text, "none");
}

void fgi_ckpt_name_make(const char *pattern, int64_t step, int64_t epoch, const fg_metric *metrics,
                        size_t count, char *out, size_t size)
{
    out[0] = '\0';
    name_text text = {.out = out, .size = size};
    bool has_step = false;
    field f;
    while (*pattern != '\0') {
        const char letter[2] = {*pattern, '\0'};
        if (*pattern != '{') {
            put(&text, letter);
            pattern++;
        } else if (read_field(&pattern, &f)) {
            put_field(&text, &f, step, epoch, metrics, count);
            has_step |= fgi_str_equal(f.name, "step");
        }
    }
    if (has_step)
        return;
    put(&text, "-");
    put_count(&text, &(field){.has_zeros = false}, step);
}
