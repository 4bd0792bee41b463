/* base.h - versions, status codes, errors and the log.
 *
 * Every eager call of the library returns an fg_status and fills the caller's fg_error; nothing in
 * the library prints, exits or keeps a "last error" of its own.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_BASE_H
#define FULGURITE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of these headers; fg_version tells that of the library. */
#define FG_VERSION_MAJOR  0
#define FG_VERSION_MINOR  1
#define FG_VERSION_PATCH  0
#define FG_VERSION_STRING "0.1.0"

#if defined(__GNUC__)
#define FG_API               __attribute__((visibility("default")))
#define FG_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define FG_MUST_USE          __attribute__((warn_unused_result))
#else
#define FG_API
#define FG_PRINTF(fmt, args)
#define FG_MUST_USE
#endif

/* A zero that is meant. In option structs 0 is an unset member, which has its default; where a
 * member of type double may be zero itself (a learning rate, an eps, a momentum), FG_ZERO is that:
 * {.eps = FG_ZERO}. It is negative zero, which computes as 0 and differs from an unset member in
 * its sign. */
#define FG_ZERO (-0.0)

/* What became of an eager call. FG_OK is 0; the other values are stable. */
typedef enum fg_status {
    FG_OK = 0,
    FG_EINVAL = 1,        /* an argument or a call in the wrong state: the caller's mistake       */
    FG_ENOMEM = 2,        /* the host is out of memory                                            */
    FG_ESHAPE = 3,        /* operands whose shapes do not go together                             */
    FG_EDTYPE = 4,        /* operands whose number formats do not go together                     */
    FG_EIO = 5,           /* the operating system refused a file operation                        */
    FG_EFORMAT = 6,       /* a file's content is not what its format says                         */
    FG_ENOTFOUND = 7,     /* a file, a name, a plugin or a device does not exist                  */
    FG_EPLUGIN = 8,       /* a PJRT plugin could not be loaded, or is too old, or lacks a call    */
    FG_ECOMPILE = 9,      /* the plugin's compiler refused a program                              */
    FG_EDEVICE = 10,      /* a device failed while running or moving data                         */
    FG_EDEVMEM = 11,      /* a device is out of memory                                            */
    FG_ESTOPPED = 12,     /* stopped by a signal or a hook; the state has been saved if it could  */
    FG_EUNSUPPORTED = 13, /* asked for something this device or build cannot do              */
    FG_EINTERNAL = 14,    /* a broken invariant of the library: please report it                 */
    FG_ENUMERIC = 15      /* a number is NaN or infinite where that was looked for                */
} fg_status;

/* The place and text of a failure. No heap: copy it by assignment. `file` is a string that lives
 * as long as the program (the user's __FILE__) or NULL; `line` is 0 when there is no such place.
 * `message` begins with "file:line: " already where the place is an input file. */
typedef struct fg_error {
    fg_status status;
    int line;
    const char *file;
    char message[496];
} fg_error;

/* "FG_ESHAPE" and the like; "unknown status" for other values. Thread-safe. */
FG_API const char *fg_status_name(fg_status status);

/* Writes "program: file:line: message" and a newline to `out`, and returns 1, which suits
 * `return fg_error_print(...)` in main. The only function that writes to a stream, and only to the
 * one it is given. err: not NULL. Thread-safe. */
FG_API int fg_error_fprint(FILE *out, const fg_error *err, const char *program);

/* Like fg_error_fprint, to standard error. */
#define fg_error_print(err, program) fg_error_fprint(stderr, (err), (program))

/* Writes a whole file. A regular file, or one that does not exist yet, is replaced atomically and
 * durably: its content is written to a temporary file next to it, synced and renamed, so that after
 * a crash the file has its old content or the new one. Symbolic links are followed: the target is
 * replaced, not the link. A device, a FIFO, or one of the process's own descriptors (/dev/stdout,
 * /dev/fd/3) is written to directly. Errors: FG_EINVAL, FG_EIO, FG_ENOTFOUND (the folder does not
 * exist), FG_ENOMEM. Thread-safe. */
FG_API FG_MUST_USE fg_status fg_file_write(const char *path, const void *data, size_t size,
                                           fg_error *err);

/* The version of the library that is loaded, "major.minor.patch". */
FG_API const char *fg_version(void);

/* Severity of a log line. FG_LOG_ERROR: something has failed that may lose work, such as a
 * checkpoint that could not be written, though the call goes on. */
typedef enum fg_log_level {
    FG_LOG_DEBUG = 0,
    FG_LOG_INFO = 1,
    FG_LOG_WARNING = 2,
    FG_LOG_ERROR = 3
} fg_log_level;

/* Receives one line of the log, without a newline. May be called from any thread, one at a time.
 * The live line of a Trainer's progress is erased before each call. */
typedef void fg_log_fn(void *self, fg_log_level level, const char *line);

/* Where the library's log goes; NULL (the default) drops it. Set it before other calls: not
 * thread-safe against running ones. */
FG_API void fg_log_set(fg_log_fn *fn, void *self);

#ifdef __cplusplus
}
#endif
#endif
