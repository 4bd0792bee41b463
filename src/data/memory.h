/* memory.h - datasets whose samples are in memory, one dense block per field.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_MEMORY_H
#define FGI_DATA_MEMORY_H

#include <fulgurite/data.h>
#include "input/block.h"

/* Creates a dataset from blocks: block f has at least `count` samples of field f, dense. Takes
 * ownership of the blocks, also on failure (they are empty afterwards). */
fg_status fgi_memory_create(const fg_dataset_spec *spec, fgi_block *take_blocks, fg_dataset **out,
                            fg_error *err);

/* *out = count * size, false on overflow or a negative count. */
static inline bool fgi_mul_size(int64_t count, size_t size, size_t *out)
{
    return count >= 0 && !__builtin_mul_overflow((size_t)count, size, out);
}

#endif
