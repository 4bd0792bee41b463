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

/* Fails the test with the error's text unless the call gives FG_OK. */
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
/* Where a test keeps compiled programs when it does not matter whether they are compiled or loaded:
 * the folder $FGT_CACHE, which tools/check-all gives to all its runs so that those with sanitizers
 * load what the first has compiled (the plugin is not instrumented), or `otherwise`. */
const char *fgt_cache(const char *otherwise);
/* "folder/name" in one of eight rotating static buffers. */
const char *fgt_path(const char *folder, const char *name);
/* Writes a whole file or fails the test. */
void fgt_write(const char *path, const void *data, size_t size);
/* |a - b| <= absolute + relative * |b|, or fails the test naming `what`. */
void fgt_close(const char *what, double a, double b, double absolute, double relative);

/* Runs `scenario` once as it is, then with its 1st, 2nd, 3rd ... allocation failing until none
 * fails any more. Each time it must return FG_OK or FG_ENOMEM (with err filled), and leave as many
 * blocks allocated as it found: so it builds, uses and destroys all by itself, and asserts nothing
 * that a failed allocation may make untrue. Blocks that another thread frees a moment later are
 * waited for. Only allocations through base/alloc.h count. */
void fgt_fault_loop(fg_status (*scenario)(void *self, fg_error *err), void *self);

#define FGT_MAIN(tests)                                                                            \
    int main(void) { return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1; }

#endif
