/* error.h - create, propagate and wrap errors. Every error of the library is created by fgi_fail or
 * fgi_fail_at, so a breakpoint on fgi_failed catches all of them; with FG_TRAP=1 in the environment
 * the program stops there.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_ERROR_H
#define FGI_BASE_ERROR_H

#include <stdarg.h>
#include <fulgurite/base.h>
#include "base/arena.h"

/* Fills err (may be NULL) with a status and a message, of which the text in err may be a part, and
 * returns the status. */
fg_status fgi_fail(fg_error *err, fg_status status, const char *format, ...) FG_PRINTF(3, 4);

/* The same, with a location in the user's program. file must be a literal or live as long. */
fg_status fgi_fail_at(fg_error *err, fg_status status, const char *file, int line,
                      const char *format, ...) FG_PRINTF(5, 6);

/* Prepends "text: " to the message in err. Returns err's status. */
fg_status fgi_context(fg_error *err, fg_status status, const char *format, ...) FG_PRINTF(3, 4);

/* Every new error passes through this function after it is filled in: set a breakpoint here. Raises
 * SIGTRAP if FG_TRAP=1 is in the environment. Not called from other files. */
void fgi_failed(const fg_error *err);

/* Out of memory: the only error without a specific message. */
fg_status fgi_no_memory(fg_error *err);

/* The message of an error in one line, "error; hint", in the arena; NULL when out of memory. */
const char *fgi_error_line(fgi_arena *arena, const fg_error *err);

/* Returns from the function if the call fails. */
#define FGI_TRY(call)                                                                              \
    do {                                                                                           \
        const fg_status fgi_try_status_ = (call);                                                  \
        if (fgi_try_status_ != FG_OK)                                                              \
            return fgi_try_status_;                                                                \
    } while (0)

/* Makes room for one more element in an array (fgi_grow in alloc.h), or returns FG_ENOMEM. */
#define FGI_TRY_GROW(array, count, capacity, err)                                                  \
    do {                                                                                           \
        void *fgi_grown_ = fgi_grow((array), (count), &(capacity), sizeof *(array));               \
        if (fgi_grown_ == NULL)                                                                    \
            return fgi_no_memory(err);                                                             \
        (array) = fgi_grown_;                                                                      \
    } while (0)

/* Returns if the call fails, and adds what was being done: FGI_TRY_CTX(call, err, "reading '%s'",
 * path). */
#define FGI_TRY_CTX(call, err, ...)                                                                \
    do {                                                                                           \
        const fg_status fgi_try_status_ = (call);                                                  \
        if (fgi_try_status_ != FG_OK)                                                              \
            return fgi_context((err), fgi_try_status_, __VA_ARGS__);                               \
    } while (0)

/* Jumps to the function's cleanup with `status` set. The function declares `fg_status status` and a
 * label `done`. */
#define FGI_DONE(call)                                                                             \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != FG_OK)                                                                       \
            goto done;                                                                             \
    } while (0)

/* clang's analyzer cannot see across files that these never return FG_OK. */
#if defined(__clang_analyzer__) && !defined(FGI_DEFINES_FAIL)
#define fgi_fail(err, status, ...)    ((void)fgi_fail(err, status, __VA_ARGS__), (status))
#define fgi_fail_at(err, status, ...) ((void)fgi_fail_at(err, status, __VA_ARGS__), (status))
#define fgi_context(err, status, ...) ((void)fgi_context(err, status, __VA_ARGS__), (status))
#define fgi_no_memory(err)            ((void)fgi_no_memory(err), FG_ENOMEM)
#endif

#endif
