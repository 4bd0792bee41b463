/* statement.c - a reader for the StableHLO text of builder.c: one operation per line, or from the
 * line that ends with "({" to the one that begins with "})". The text is not checked beyond what is
 * read.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "onnx/statement.h"

#include <stdlib.h>
#include <string.h>

/* Copies the text up to one of the characters in `ends`, which is cut to the room there is; returns
 * its end. */
static const char *copy_until(const char *at, const char *ends, char *out, size_t size)
{
    const size_t count = strcspn(at, ends), kept = count < size ? count : size - 1;
    memcpy(out, at, kept);
    out[kept] = '\0';
    return at + count;
}

/* After the next `c`; the end of the text without one. */
static const char *after(const char *at, char c)
{
    const char *found = strchr(at, c);
    return found != NULL ? found + 1 : at + strlen(at);
}

/* tensor<3x4xf32> */
static const char *read_type(const char *at, fg_type *out)
{
    static const struct {
        const char *name;
        fg_dtype dtype;
    } elements[] = {{"i1>", FG_BOOL}, {"ui8>", FG_U8},    {"i8>", FG_S8},   {"ui16>", FG_U16},
                    {"i16>", FG_S16}, {"ui32>", FG_U32},  {"i32>", FG_S32}, {"ui64>", FG_U64},
                    {"i64>", FG_S64}, {"bf16>", FG_BF16}, {"f16>", FG_F16}, {"f32>", FG_F32},
                    {"f64>", FG_F64}};
    *out = (fg_type){0};
    at = after(at, '<');
    while (*at >= '0' && *at <= '9' && out->rank < FG_MAX_RANK) {
        char *end;
        out->dim[out->rank++] = strtoll(at, &end, 10);
        at = end + (*end != '\0' ? 1 : 0);
    }
    for (size_t i = 0; i < sizeof elements / sizeof elements[0]; i++)
        if (strncmp(at, elements[i].name, strlen(elements[i].name)) == 0)
            out->dtype = elements[i].dtype;
    return after(at, '>');
}

/* "%1, %2)": the operands. */
static const char *read_operands(const char *at, fgi_statement *out)
{
    out->in_count = 0;
    while (*at == '%' && out->in_count < FGI_STATEMENT_INPUTS) {
        char *end;
        out->in[out->in_count++] = (uint32_t)strtoul(at + 1, &end, 10);
        at = end + (strncmp(end, ", ", 2) == 0 ? 2 : 0);
    }
    return at;
}

/* The only operation of a region that ends at `end`, or nothing. */
static void read_body(const char *end, fgi_statement *out)
{
    const char *first = strstr(out->region[0], "\"stablehlo.");
    const char *second = first != NULL ? strstr(first + 1, "\"stablehlo.") : NULL;
    if (out->region[1] == NULL && second != NULL && second < end &&
        strncmp(second, "\"stablehlo.return", 17) == 0)
        (void)copy_until(first + 11, "\"", out->body, sizeof out->body);
}

/* The regions after "({", up to the "})" of the same depth. */
static const char *read_regions(const char *at, fgi_statement *out)
{
    int depth = 1;
    out->region[0] = at;
    while (*at != '\0') {
        const char *end = at + strcspn(at, "\n");
        if (strncmp(at, "    })", 6) == 0 && --depth == 0)
            break;
        if (strncmp(at, "    }, {", 8) == 0 && depth == 1)
            out->region[1] = end;
        if (end - at > 2 && strncmp(end - 2, "({", 2) == 0)
            depth++;
        at = end + (*end != '\0' ? 1 : 0);
    }
    read_body(at, out);
    return *at != '\0' ? at + 6 : at;
}

/* " {attributes}", if there are any. */
static const char *read_attributes(const char *at, fgi_statement *out)
{
    int depth = 0;
    out->attributes = out->end = at;
    if (strncmp(at, " {", 2) != 0)
        return at;
    out->attributes = at + 2;
    for (at++; *at != '\0'; at++) {
        depth += *at == '{' ? 1 : *at == '}' ? -1 : 0;
        if (depth == 0)
            break;
    }
    out->end = at;
    return *at != '\0' ? at + 1 : at;
}

/* " : (types) -> type loc(...)" */
static const char *read_types(const char *at, fgi_statement *out)
{
    at += strcspn(at, "(");
    for (int i = 0; i < out->in_count; i++)
        at = read_type(at, &out->in_type[i]);
    at = strstr(at, "-> ");
    if (at == NULL)
        return "";
    at = read_type(at, &out->type);
    const char *place = strstr(at, " loc(\"");
    if (place != NULL && place < at + strcspn(at, "\n"))
        at = copy_until(place + 6, "\"", out->place, sizeof out->place);
    return at;
}

bool fgi_statement_next(const char **at, fgi_statement *out)
{
    const char *p = *at + strspn(*at, " \n");
    *out = (fgi_statement){.attributes = "", .end = ""};
    if (strncmp(p, "func.return ", 12) == 0 || strncmp(p, "\"stablehlo.return\"(", 19) == 0) {
        memcpy(out->name, "return", sizeof "return");
        *at = read_operands(strchr(p, '%'), out);
        return true;
    }
    if (strncmp(p, "^bb0(%", 6) == 0) {
        memcpy(out->name, "arguments", sizeof "arguments");
        out->result = (uint32_t)strtoul(p + 6, NULL, 10);
        *at = p + strcspn(p, "\n");
        return true;
    }
    const char *name = strchr(p, '"');
    if (*p != '%' || name == NULL) {
        *at = copy_until(p, " \n", out->name, sizeof out->name);
        return false;
    }
    const bool has_one = memchr(p, ',', (size_t)(name - p)) == NULL;
    out->result = (uint32_t)strtoul(p + 1, NULL, 10);
    const bool is_operation = strncmp(name, "\"stablehlo.", 11) == 0;
    p = copy_until(name + (is_operation ? 11 : 1), "\"", out->name, sizeof out->name);
    p = read_operands(after(p, '('), out);
    const bool is_whole = *p == ')';
    p += is_whole ? 1 : 0;
    if (strncmp(p, " ({", 3) == 0)
        p = read_regions(p + 3, out);
    p = read_types(read_attributes(p, out), out);
    *at = p + strcspn(p, "\n");
    return (has_one || out->region[1] != NULL) && is_operation && is_whole;
}

const char *fgi_statement_value(const fgi_statement *s, const char *key)
{
    const size_t size = strlen(key);
    for (const char *p = s->attributes; p + size < s->end; p++)
        if (strncmp(p, key, size) == 0 && strncmp(p + size, " = ", 3) == 0 &&
            (p == s->attributes || p[-1] == ' ' || p[-1] == '<'))
            return p + size + 3;
    return NULL;
}

int fgi_statement_integers(const fgi_statement *s, const char *key, int most, int64_t *out)
{
    const char *p = fgi_statement_value(s, key);
    int count = 0;
    if (p == NULL)
        return 0;
    const char last = *p == '[' ? ']' : '>';
    if (strncmp(p, "array<i64", 9) == 0)
        p += 9;
    else if (strncmp(p, "dense<", 6) != 0 && *p != '[')
        most = most < 1 ? most : 1;
    for (; p < s->end && *p != last && count < most; p++) {
        char *end;
        if ((*p >= '0' && *p <= '9') || *p == '-') {
            out[count++] = strtoll(p, &end, 10);
            p = end - 1;
        }
    }
    return count;
}

static const char digits[] = "0123456789";

/* Whether the integers at x and y are c a^n and c b^n. Equal ones must not be multiples of a,
 * if they are dimensions or constants. */
static bool integers_agree(const char *x, int64_t a, const char *y, int64_t b)
{
    const size_t size = strspn(x, digits);
    long long u = strtoll(x, NULL, 10), v = strtoll(y, NULL, 10);
    if (strspn(y, digits) == size && memcmp(x, y, size) == 0)
        return u == 0 || u % a != 0 || strchr("<x", x[-1]) == NULL || strchr("x>", x[size]) == NULL;
    while (x[-1] != '-' && u > 0 && u % a == 0 && v % b == 0) {
        u /= a;
        v /= b;
    }
    return u == v;
}

bool fgi_statements_agree(const char *text, int64_t length, const char *other_text, int64_t other)
{
    const char *x = text, *y = other_text;
    while (*x != '\0' && *y != '\0') {
        const size_t size = strspn(x, digits), other_size = strspn(y, digits);
        const bool has_number = size > 0 && other_size > 0;
        if (has_number ? !integers_agree(x, length, y, other) : *x != *y)
            return false;
        x += has_number ? size : 1;
        y += has_number ? other_size : 1;
    }
    return *x == *y;
}
