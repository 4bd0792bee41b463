/* coefficient_pack.h - packs of DCT coefficients of made JPEGs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_COEFFICIENT_PACK_H
#define FGT_COEFFICIENT_PACK_H

#include "made_jpeg.h"

/* Writes a pack with one record for each JPEG: record i has label i mod 2, and every third one is
 * for validation. has_flags: with the number of coefficients that need two bytes. */
void coefficient_pack_write(const char *path, const fgt_jpeg_spec *specs, int count,
                            bool has_flags);

#endif
