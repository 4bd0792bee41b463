/* signature.h - why a program is compiled although one like it was compiled before.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRACE_SIGNATURE_H
#define FGI_TRACE_SIGNATURE_H

#include <fulgurite/device.h>

struct fgi_layout;
struct fg_trace;

enum { FGI_SIGNATURES = 8 };

/* The inputs and operations of the programs that were compiled last. Zero-initialize it. */
typedef struct fgi_history {
    struct fgi_signature *of[FGI_SIGNATURES]; /* a ring */
    unsigned next;
    bool has_warned; /* of numbers that change */
} fgi_history;

void fgi_history_fini(fgi_history *history);
/* Adds a program that is about to be compiled, and describes in *out how it differs from an earlier
 * one; *out stays as it is if there is none. The programs of a step (trace->label) replace each
 * other; others are compared with the latest one that has the same operations. When out of memory,
 * the program is not added. */
void fgi_history_add(fgi_history *history, const struct fg_trace *trace,
                     const struct fgi_layout *layout, fg_compile_event *out);

#endif
