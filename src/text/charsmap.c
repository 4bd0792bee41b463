/* charsmap.c - the normalizer of SentencePiece, "Precompiled": a table of replacements, as a double
 * array (Darts) whose values are offsets of texts. As in the reference, the shortest rule that
 * begins a grapheme cluster of up to 5 bytes replaces all of it; otherwise its characters are
 * looked up one by one. Source: Aoe 1989, "An efficient digital search algorithm by using a
 * double-array structure"; SentencePiece, "normalizer.cc".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "text/tokenizer.h"

enum { MOST_CLUSTER_BYTES = 5 };

struct fgi_charsmap {
    const unsigned char *units; /* u32[unit_count], little-endian */
    size_t unit_count;
    const char *texts; /* separated by NUL */
    size_t texts_size;
};

/* ---- the double array ------------------------------------------------------------------------ */

/* Unit `at`; one without a label if there is none. */
static uint32_t unit_at(const fgi_charsmap *m, size_t at)
{
    if (at >= m->unit_count)
        return UINT32_C(1) << 31;
    const unsigned char *b = m->units + 4 * at;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static size_t offset_of(uint32_t unit)
{
    return (size_t)(unit >> 10) << ((unit & (UINT32_C(1) << 9)) >> 6);
}

/* The text that replaces `from`, by the shortest rule that begins it; false: none. */
static bool find_rule(const fgi_charsmap *m, fgi_str from, fgi_str *out)
{
    size_t at = offset_of(unit_at(m, 0));
    for (size_t i = 0; i < from.size && from.data[i] != '\0'; i++) {
        const unsigned char byte = (unsigned char)from.data[i];
        at ^= byte;
        const uint32_t unit = unit_at(m, at);
        if ((unit & (UINT32_C(1) << 31 | 0xff)) != byte)
            return false;
        at ^= offset_of(unit);
        if ((unit >> 8 & 1) == 0)
            continue;
        const size_t text = unit_at(m, at) & ((UINT32_C(1) << 31) - 1);
        if (text >= m->texts_size)
            return false;
        const fgi_str to = {m->texts + text, strnlen(m->texts + text, m->texts_size - text)};
        if (!fgi_text_is_utf8(to)) /* the file is damaged */
            return false;
        *out = to;
        return true;
    }
    return false;
}

static void replace_characters(const fgi_charsmap *m, fgi_str cluster, fgi_buf *out)
{
    size_t size;
    for (size_t i = 0; i < cluster.size; i += size) {
        (void)fgi_utf8_decode(cluster.data + i, &size);
        fgi_str text = {cluster.data + i, size};
        (void)find_rule(m, text, &text);
        fgi_buf_add(out, text.data, text.size);
    }
}

void fgi_run_charsmap(const fgi_step *step, fgi_encoder *e, fgi_str piece)
{
    const fgi_charsmap *m = step->charsmap;
    fgi_buf *out = fgi_step_text(step, e);
    fgi_str text;
    size_t size;
    for (size_t i = 0; i < piece.size; i += size) {
        size = fgi_unicode_cluster((fgi_str){piece.data + i, piece.size - i});
        const fgi_str cluster = {piece.data + i, size};
        if (size <= MOST_CLUSTER_BYTES && find_rule(m, cluster, &text))
            fgi_buf_add(out, text.data, text.size);
        else
            replace_characters(m, cluster, out);
    }
    fgi_pass_text(step, e);
}

/* ---- from JSON ------------------------------------------------------------------------------- */

static int digit_of(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c != '\0' ? strchr(digits, c) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

/* Decodes Base64 (RFC 4648) to out, which has room for 3/4 of the text; returns how many bytes;
 * SIZE_MAX: it is not Base64. */
static size_t decode(const char *text, unsigned char *out)
{
    size_t size = 0;
    uint32_t bits = 0;
    int count = 0;
    for (; *text != '\0' && *text != '='; text++) {
        const int digit = digit_of(*text);
        if (digit < 0)
            return SIZE_MAX;
        bits = bits << 6 | (uint32_t)digit;
        count += 6;
        if (count < 8)
            continue;
        count -= 8;
        out[size++] = (unsigned char)(bits >> count);
    }
    return text[strspn(text, "=")] == '\0' ? size : SIZE_MAX;
}

fg_status fgi_charsmap_read(fg_tokenizer *t, const json_t *given, fgi_step *step, fg_error *err)
{
    const char *text = json_string_value(json_object_get(given, "precompiled_charsmap"));
    FGI_TRY(fgi_unicode_check(t->name, err));
    fgi_charsmap *m = fgi_arena_alloc(&t->vocabulary.arena, sizeof *m);
    unsigned char *bytes =
        fgi_arena_alloc(&t->vocabulary.arena, text != NULL ? strlen(text) + 1 : 1);
    if (m == NULL || bytes == NULL)
        return fgi_no_memory(err);
    const size_t size = text != NULL ? decode(text, bytes) : SIZE_MAX;
    *m = (fgi_charsmap){.units = bytes, .unit_count = 1};
    const size_t units = size != SIZE_MAX && size >= 4 ? unit_at(m, 0) : SIZE_MAX;
    if (units == SIZE_MAX || units % 4 != 0 || units > size - 4)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: precompiled_charsmap: expected the table of SentencePiece in Base64",
                        t->name);
    *m = (fgi_charsmap){.units = bytes + 4,
                        .unit_count = units / 4,
                        .texts = (const char *)bytes + 4 + units,
                        .texts_size = size - 4 - units};
    step->charsmap = m;
    return FG_OK;
}
