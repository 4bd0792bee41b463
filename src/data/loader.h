/* loader.h (internal) - what else the Trainer asks a loader.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_LOADER_H
#define FGI_DATA_LOADER_H

#include <fulgurite/data.h>
#include "data/sampler.h"

enum { FGI_MOST_WORKERS = 1024 };

/* The samples of the batch that starts at `place`, rows 0 to count-1 of this rank; not of a source.
 */
void fgi_loader_samples(const fg_loader *loader, fgi_sample_position place, size_t count,
                        int64_t *out_indices);
/* Writes the processor time of each worker so far, and returns their number. Any thread. */
int fgi_loader_cpu(fg_loader *loader, int64_t out_ns[FGI_MOST_WORKERS]);

#endif
