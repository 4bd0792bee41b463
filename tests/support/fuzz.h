/* fuzz.h - the interface of a fuzz target: one function that accepts any bytes and must neither
 * crash nor leak. It returns 0, and calls abort if an invariant does not hold.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
