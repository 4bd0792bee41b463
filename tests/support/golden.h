/* golden.h - compares long outputs as a whole with files in tests/golden.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef GOLDEN_H
#define GOLDEN_H

/* Fails the test unless tests/golden/NAME holds exactly `text`, and shows the first line that
 * differs. With FGT_WRITE_GOLDEN=1 in the environment, writes the file instead: review the output
 * of `git diff` and commit it with the change that caused it. */
void fgt_golden(const char *name, const char *text);

#endif
