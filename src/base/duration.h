/* duration.h - durations as text: "8h30m", "00:08:30:00".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_DURATION_H
#define FGI_BASE_DURATION_H

#include "base/text.h"

/* Reads numbers with the units d, h, m and s, each at most once and in this order ("1d12h",
 * "0.5h"), or HH:MM:SS or DD:HH:MM:SS with two digits or more in each field. False if the text is
 * something else, or the duration is not positive or longer than 1e9 s. */
bool fgi_parse_duration(fgi_str text, double *out_s);

#endif
