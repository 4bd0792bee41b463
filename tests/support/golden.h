/* golden.h - long outputs that are compared whole with files of tests/golden.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef GOLDEN_H
#define GOLDEN_H

/* Fails the test unless tests/golden/NAME holds exactly `text`, and shows the first line that
 * differs. With FGT_WRITE_GOLDEN=1 in the environment the file is written instead: look at the
 * difference that git then shows, and commit it with the change that made it. */
void fgt_golden(const char *name, const char *text);

#endif
