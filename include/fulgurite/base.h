/* base.h - versions, status codes, errors and the log.
 *
 * Every eager call returns an fg_status and fills the caller's fg_error. The library never prints,
 * never exits and has no global "last error".
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

/* The version of these headers; fg_version returns the version of the loaded library. */
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

/* An explicit zero for members of type double in option structs. There, 0 means that the member is
 * not set and has its default. To set a learning rate, an eps or a momentum to zero, write
 * {.eps = FG_ZERO}. FG_ZERO is negative zero: it behaves as 0 in arithmetic, and its sign
 * distinguishes it from a member that is not set. */
#define FG_ZERO (-0.0)
/* The same for members of type int64_t. */
#define FG_NONE (INT64_MIN + 1)

/* Result of an eager call. FG_OK is 0; the other values are stable. */
typedef enum fg_status {
    FG_OK = 0,
    FG_EINVAL = 1,        /* invalid argument, or a call in the wrong state                     */
    FG_ENOMEM = 2,        /* the host is out of memory                                          */
    FG_ESHAPE = 3,        /* operands have incompatible shapes                                  */
    FG_EDTYPE = 4,        /* operands have incompatible dtypes                                  */
    FG_EIO = 5,           /* a file operation failed in the operating system                    */
    FG_EFORMAT = 6,       /* a file is malformed                                                */
    FG_ENOTFOUND = 7,     /* a file, name, plugin or device does not exist                      */
    FG_EPLUGIN = 8,       /* a PJRT plugin cannot be loaded, is too old, or lacks a function    */
    FG_ECOMPILE = 9,      /* the plugin's compiler rejected a program                           */
    FG_EDEVICE = 10,      /* a device failed while executing a program or transferring data     */
    FG_EDEVMEM = 11,      /* a device is out of memory                                          */
    FG_ESTOPPED = 12,     /* stopped by a signal or a hook; the state was saved if possible     */
    FG_EUNSUPPORTED = 13, /* not supported by this device or build                              */
    FG_EINTERNAL = 14,    /* an invariant of the library was violated: please report it         */
    FG_ENUMERIC = 15      /* NaN or infinity was detected where the caller asked for a check    */
} fg_status;

/* Location and message of a failure. It owns no memory: copy it by assignment. `file` is a string
 * with static lifetime (the caller's __FILE__) or NULL; `line` is 0 if the location is not known.
 * If the location is in an input file, `message` already begins with "file:line: ". */
typedef struct fg_error {
    fg_status status;
    int line;
    const char *file;
    char message[496];
} fg_error;

/* Name of a status, such as "FG_ESHAPE"; "unknown status" for other values. Thread-safe. */
FG_API const char *fg_status_name(fg_status status);

/* Sets an error with a message formatted as by printf, truncated to fit, and returns `status`: for
 * functions that the library calls, such as those of a dataset. err may be NULL. Thread-safe. */
FG_API fg_status fg_error_set(fg_error *err, fg_status status, const char *format, ...)
    FG_PRINTF(3, 4);

/* Writes "program: file:line: message" and a newline to `out`. Returns 1, so that main can `return
 * fg_error_print(...)`. This is the only function that writes to a stream, and it writes only to
 * `out`. err must not be NULL. Thread-safe. */
FG_API int fg_error_fprint(FILE *out, const fg_error *err, const char *program);

/* Like fg_error_fprint, to standard error. */
#define fg_error_print(err, program) fg_error_fprint(stderr, (err), (program))

/* Reads a whole file: *out_size bytes, followed by a NUL. Free *out with fg_free. Errors:
 * FG_ENOTFOUND, FG_EIO, FG_ENOMEM. On failure *out is NULL. Thread-safe. */
FG_API FG_MUST_USE fg_status fg_file_read(const char *path, void **out, size_t *out_size,
                                          fg_error *err);
/* Frees a text or another block that the library has allocated for its caller; NULL is allowed.
 * Thread-safe. */
FG_API void fg_free(void *block);

/* Writes a whole file. A regular file, or one that does not exist yet, is replaced atomically and
 * durably: the content is written to a temporary file in the same folder, synced and renamed, so
 * that after a crash the file has either the old or the new content. Symbolic links are followed:
 * the target is replaced, not the link. A device, a FIFO or a descriptor of the process
 * (/dev/stdout, /dev/fd/3) is written directly. Errors: FG_EINVAL, FG_EIO, FG_ENOTFOUND (the folder
 * does not exist), FG_ENOMEM. Thread-safe. */
FG_API FG_MUST_USE fg_status fg_file_write(const char *path, const void *data, size_t size,
                                           fg_error *err);

/* Replaces a leading "~/" by the user's home folder, the environment variable HOME, as a shell does
 * for words: in configurations and after "--option=" it does not. Other paths are copied; "./~/x"
 * names a folder called "~". *out: free it with fg_free; NULL on failure. Errors: FG_ENOTFOUND
 * (HOME is not set), FG_ENOMEM. Thread-safe as long as no thread changes the environment. */
FG_API FG_MUST_USE fg_status fg_path_expand(const char *path, char **out, fg_error *err);

/* The version of the library that is loaded, "major.minor.patch". */
FG_API const char *fg_version(void);

/* Records the caller's file and line for the next operation or host read. Thread-safe: the location
 * is per thread. */
FG_API void fg_here(const char *file, int line);
/* Evaluates `call` after recording the current file and line. Each operation, and each function
 * that waits for a value of a device, has a macro of its own name that does this, unless FG_NO_HERE
 * is defined before the header is included. Use it for your own functions that apply operations, if
 * those are compiled with FG_NO_HERE: messages, profiles and reports then contain the line of the
 * call. */
#define FG_HERE(call) (fg_here(__FILE__, __LINE__), call)

/* Severity of a log line. FG_LOG_ERROR: a failure that may lose work, such as a checkpoint that
 * could not be written, although the call continues. */
typedef enum fg_log_level {
    FG_LOG_DEBUG = 0,
    FG_LOG_INFO = 1,
    FG_LOG_WARNING = 2,
    FG_LOG_ERROR = 3
} fg_log_level;

/* Receives one log line, without a newline. It may be called from any thread; calls are serialized.
 * The Trainer's live progress line is erased before each call. */
typedef void fg_log_fn(void *self, fg_log_level level, const char *line);

/* Sets the function that receives the library's log; NULL (the default) discards the log. Call it
 * before any other function: it is not thread-safe while other calls are running. */
FG_API void fg_log_set(fg_log_fn *fn, void *self);

#ifdef __cplusplus
}
#endif
#endif
