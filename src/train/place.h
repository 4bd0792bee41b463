/* place.h - the position within an epoch of the given data.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_PLACE_H
#define FGI_TRAIN_PLACE_H

#include <fulgurite/train.h>

#include "train/cursor.h"

/* Finds the position of the cursor in the given data, whose batch size may have changed. Errors:
 * FG_EINVAL for other data, or another order of samples. */
fg_status fgi_place_find(fg_trainer *trainer, const fg_fit_data *data, fg_error *err);
/* Whether the epoch is over at this position. */
bool fgi_place_ends_epoch(const fg_trainer *trainer, const fgi_cursor *cursor);
/* The position after this batch. */
fgi_cursor fgi_place_after(const fgi_cursor *cursor, const fg_host_batch *batch);

#endif
