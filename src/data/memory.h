/* memory.h - datasets whose samples lie in memory, one dense block a field.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_MEMORY_H
#define FGI_DATA_MEMORY_H

#include <fulgurite/data.h>
#include "data/block.h"

/* Makes a dataset of blocks: block f holds at least count samples of field f, dense. Takes the
 * blocks over, also on failure (they are empty afterwards). */
fg_status fgi_memory_create(const fg_dataset_spec *spec, fgi_block *take_blocks, fg_dataset **out,
                            fg_error *err);

/* FG_EFORMAT-free arithmetic: *out = count * size, false on overflow or a negative count. */
static inline bool fgi_mul_size(int64_t count, size_t size, size_t *out)
{
    return count >= 0 && !__builtin_mul_overflow((size_t)count, size, out);
}

#endif
