/* packer_text.h - numbers for people.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PACKER_PACKER_TEXT_H
#define FGI_PACKER_PACKER_TEXT_H

/* "12,800"; a value below 10 with one decimal. Returns out. */
const char *fgi_packer_count(double value, char out[32]);

#endif
