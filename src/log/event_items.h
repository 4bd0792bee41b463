/* event_items.h - texts, images, histograms and graphs as events of TensorBoard.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_LOG_EVENT_ITEMS_H
#define FGI_LOG_EVENT_ITEMS_H

#include <fulgurite/logger.h>

#include "base/buf.h"

/* Appends the record of an item; out->failed is set when out of memory. Errors: those of
 * fg_image_encode_png. */
fg_status fgi_event_put_item(fgi_buf *out, const fg_log_item *item, fg_error *err);

#endif
