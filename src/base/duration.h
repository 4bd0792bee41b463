/* duration.h - durations as text: "8h30m" and "00:08:30:00" are read, "8 h 30 min" is written.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_DURATION_H
#define FGI_BASE_DURATION_H

#include "base/text.h"

/* Reads numbers with the units d, h, m and s, each at most once and in this order ("1d12h",
 * "0.5h"), or HH:MM:SS or DD:HH:MM:SS with two digits or more in each field. False if the text is
 * something else, or the duration is not positive or longer than 1e9 s. */
bool fgi_parse_duration(fgi_str text, double *out_s);

/* "28.1 us", "3.2 s", "2 min 5 s", "1 h 10 min"; "" if it is not finite. Returns out. */
const char *fgi_duration_words(double seconds, char out[32]);

#endif
