/* fgt.h - what every test includes: cmocka in its required order, and small helpers.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_H
#define FGT_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
/* clang-format on */
#include <fulgurite/base.h>

/* Fails the test with the error's message unless the call returns FG_OK. */
#define fgt_ok(call)                                                                               \
    do {                                                                                           \
        const fg_status fgt_status_ = (call);                                                      \
        if (fgt_status_ != FG_OK)                                                                  \
            fail_msg("%s: %s", fg_status_name(fgt_status_), err.message);                          \
    } while (0)

/* The axes of the default mesh, as in fgi_sharding. */
enum { FGT_DATA = 1, FGT_MODEL = 2 };

/* A fresh empty folder that is removed when the program ends; static storage, valid until then. */
const char *fgt_temp_folder(void);
/* The cache folder for tests where it does not matter whether programs are compiled or loaded:
 * $FGT_CACHE or, if that is not set, `otherwise`. tools/check-all sets it for all its runs, so that
 * those with sanitizers load the programs that the first run compiled (the plugin is not
 * instrumented). */
const char *fgt_cache(const char *otherwise);
/* "folder/name" in one of eight rotating static buffers. */
const char *fgt_path(const char *folder, const char *name);
/* The number of entries of a folder. */
int fgt_count_entries(const char *path);
/* Writes a whole file or fails the test. */
void fgt_write(const char *path, const void *data, size_t size);
/* Fails the test unless this is the message, in which the name of a temporary folder, or of that of
 * the sources, is written as ~, and one @ is any text (of another library, for example). */
void fgt_message_is(const char *message, const char *expected);
/* |a - b| <= absolute + relative * |b|, or fails the test naming `what`. */
void fgt_close(const char *what, double a, double b, double absolute, double relative);

/* Runs `scenario` once normally, then with its 1st, 2nd, 3rd ... allocation failing, until none
 * fails. Each time, it must return FG_OK or FG_ENOMEM (with err filled) and leave as many blocks
 * allocated as before. So it must create, use and destroy everything itself, and assert nothing
 * that a failed allocation may make false. Waits for blocks that another thread frees shortly
 * afterwards. Only counts allocations through base/alloc.h. With FGT_FAULT_STRIDE=N in the
 * environment, only every Nth of them fails. */
void fgt_fault_loop(fg_status (*scenario)(void *self, fg_error *err), void *self);

#define FGT_MAIN(tests)                                                                            \
    int main(void) { return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1; }

#endif
