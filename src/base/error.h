/* error.h - making, passing and wrapping errors. Every error of the library is made by fgi_fail or
 * fgi_fail_at, so a breakpoint on fgi_failed sees them all; FG_TRAP=1 in the environment stops
 * there.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_ERROR_H
#define FGI_BASE_ERROR_H

#include <stdarg.h>
#include <fulgurite/base.h>

/* Fills err (may be NULL) with a status and a text, and returns the status. */
fg_status fgi_fail(fg_error *err, fg_status status, const char *format, ...) FG_PRINTF(3, 4);

/* The same, blaming a line of the user's program. file must be a literal or live as long. */
fg_status fgi_fail_at(fg_error *err, fg_status status, const char *file, int line,
                      const char *format, ...) FG_PRINTF(5, 6);

/* Puts "text: " before the message that err holds already. Returns err's status. */
fg_status fgi_context(fg_error *err, fg_status status, const char *format, ...) FG_PRINTF(3, 4);

/* Every new error passes through here, filled in: the place for a breakpoint. Raises SIGTRAP where
 * FG_TRAP=1 is in the environment. Not called by others. */
void fgi_failed(const fg_error *err);

/* Out of memory, the one error with nothing else to say. */
fg_status fgi_no_memory(fg_error *err);

/* Pass a failure on. */
#define FGI_TRY(call)                                                                              \
    do {                                                                                           \
        const fg_status fgi_try_status_ = (call);                                                  \
        if (fgi_try_status_ != FG_OK)                                                              \
            return fgi_try_status_;                                                                \
    } while (0)

/* Pass a failure on, saying what was being done: FGI_TRY_CTX(call, err, "reading '%s'", path). */
#define FGI_TRY_CTX(call, err, ...)                                                                \
    do {                                                                                           \
        const fg_status fgi_try_status_ = (call);                                                  \
        if (fgi_try_status_ != FG_OK)                                                              \
            return fgi_context((err), fgi_try_status_, __VA_ARGS__);                               \
    } while (0)

/* Leave to the function's clean-up with `status` set: the function has `fg_status status` and a
 * label `done`. */
#define FGI_DONE(call)                                                                             \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != FG_OK)                                                                       \
            goto done;                                                                             \
    } while (0)

/* What clang's analyzer cannot see across files: these never return FG_OK. */
#if defined(__clang_analyzer__) && !defined(FGI_DEFINES_FAIL)
#define fgi_fail(err, status, ...)    ((void)fgi_fail(err, status, __VA_ARGS__), (status))
#define fgi_fail_at(err, status, ...) ((void)fgi_fail_at(err, status, __VA_ARGS__), (status))
#define fgi_context(err, status, ...) ((void)fgi_context(err, status, __VA_ARGS__), (status))
#define fgi_no_memory(err)            ((void)fgi_no_memory(err), FG_ENOMEM)
#endif

#endif
