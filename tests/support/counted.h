/* counted.h - weights and batches from counter-based random numbers, the same as in
 * tests/golden/nn/record.py, so that they need not be stored.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_COUNTED_H
#define FGT_COUNTED_H

#include <fulgurite/nn.h>

enum { FGT_COUNTED_CLASSES = 10 };

/* Sets all variables of root, parameters of any floating format. */
void fgt_counted_weights(const fg_module *root);
/* Batch number `step`: an eighth of the pixels, those that the label's pattern names, is lit. */
void fgt_counted_batch(int step, int rows, int pixels, uint8_t *image, int32_t *label);

#endif
