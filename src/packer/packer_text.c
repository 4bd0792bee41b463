/* packer_text.c - numbers for people, and the result of a build.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "packer/packer_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/print.h"
#include "base/text.h"
#include "packer/packer.h"

const char *fgi_packer_count(double value, char out[32])
{
    char digits[32];
    const int size = fgi_snprintf(digits, sizeof(digits), "%.0f", value < 1e15 ? value : 1e15);
    if (value < 9.95 && value != (double)(int)value) {
        (void)fgi_snprintf(out, 32, "%.1f", value);
        return out;
    }
    int at = 0;
    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

/* ---- results --------------------------------------------------------------------------------- */

const char *fgi_pack_built_text(const fg_pack_built *built, const char *out_path, char *out,
                                size_t size)
{
    int used = 0;
    *out = '\0';
    if (built->bad_count > 0 || built->skip_count > 0)
        used = fgi_snprintf(out, size,
                            "%zu bad image%s and %" PRId64 " other file%s are not in the pack: see "
                            "%s.bad.jsonl\n",
                            built->bad_count, fgi_s(built->bad_count), built->skip_count,
                            fgi_s(built->skip_count), out_path);
    if (built->flawed_count > 0 && used >= 0 && (size_t)used < size)
        used += fgi_snprintf(out + used, size - (size_t)used,
                             "%" PRId64 " image%s decoded with warnings\n", built->flawed_count,
                             built->flawed_count == 1 ? " was" : "s were");
    if (*built->reason != '\0' && used >= 0 && (size_t)used < size)
        used += fgi_snprintf(out + used, size - (size_t)used, "codec %s: %s\n",
                             fgi_packer_codec_name(built->codec), built->reason);
    if (built->encoded_count > 0 && used >= 0 && (size_t)used < size)
        used += fgi_snprintf(
            out + used, size - (size_t)used,
            "%" PRId64 " of %" PRId64 " image%s %s encoded with the quality of "
            "the pack: codec %s keeps only JPEGs that are not resized, rotated by "
            "EXIF or CMYK%s\n",
            built->encoded_count, built->sample_count, fgi_s(built->sample_count),
            built->encoded_count == 1 ? "was" : "were", fgi_packer_codec_name(built->codec),
            built->codec == FG_PACK_CHOICE_DCT ? ", and have the chroma sampling of the pack "
                                                 "(4:2:0, unless all images share a different one)"
                                               : "");
    if (built->is_set && used >= 0 && (size_t)used < size)
        (void)fgi_snprintf(out + used, size - (size_t)used,
                           "%s is a set of files: %.*s-00000.pack and so on\n", out_path,
                           (int)strlen(out_path) - 5, out_path);
    return out;
}

void fg_pack_built_fini(fg_pack_built *built)
{
    if (built == NULL)
        return;
    for (size_t i = 0; i < built->bad_count; i++) {
        fgi_free((void *)built->bad[i].name);
        fgi_free((void *)built->bad[i].reason);
    }
    fgi_free((void *)built->bad);
    *built = (fg_pack_built){0};
}
