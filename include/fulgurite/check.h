/* check.h - whether a plugin computes correctly.
 *
 * Some builds of XLA compile correct programs to wrong ones, without an error. Therefore a plugin
 * is checked before its first use: small programs run on its devices, and their results are
 * compared with those of plain C in f64.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_CHECK_H
#define FULGURITE_CHECK_H

#include <fulgurite/base.h>
#include <fulgurite/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fg_check_options {
    bool repeat; /* run the check even if the plugin has passed it before         [false] */
    void (*say)(void *self, const char *line); /* receives one line if the check has run, and one
                                                 before if an earlier one has not ended    [NULL] */
    void *say_self;
    uint64_t reserved[4];
} fg_check_options;

typedef struct fg_check_result {
    bool was_run;          /* false: the plugin has passed it before, or the check is disabled */
    int operations, wrong; /* how many were checked: each dtype counts; how many are wrong */
    double seconds;        /* wall time */
    double relative_error; /* of the worst one, infinite also for NaN; 0: none is wrong */
    char worst[120];       /* the operation, "softmax, gradient, f32"; "": none is wrong */
    char flags[120];       /* XLA flags that are known to fix this error; "": none */
    uint64_t reserved[4];  /* set to 0 */
} fg_check_result;

/* Checks the client's plugin: matmuls, convolutions, reductions, softmax, elementwise functions,
 * gathers and their gradients in f32, bf16 and f64, weights that are updated in place, and, with
 * several devices, communication between them. Takes about two seconds, and starts no further
 * program after ten: the next call checks the rest.
 *
 * If all results are right, this is recorded in the folder `checks` next to the compilation cache,
 * for this content of the plugin's file, these XLA_FLAGS, this processor and this mesh, and later
 * calls return immediately. If the folder is not writable, the check runs each time. With a
 * topology, nothing is executed and nothing is checked. The environment variable
 * FULGURITE_PLUGIN_CHECK=off disables the check.
 *
 * The Trainer checks the client that it opens, not one that it is given. The client's counters do
 * not include the check. options and out may be NULL. One thread at a time. Errors: FG_EPLUGIN (the
 * plugin computes wrong results: the message names an operation, its relative error, and how to
 * continue), FG_EINVAL (another value of the variable), FG_EDEVICE, FG_EDEVMEM, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_client_check(fg_client *client, const fg_check_options *options,
                                             fg_check_result *out, fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
