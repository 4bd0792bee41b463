/* lowering.h - how operations are written for one platform.
 *
 * The `emit` of an operation is its lowering for every platform. Where a platform's compiler does
 * badly with that, a row next to the operation has another one, with the reason; src/op/lowerings.c
 * lists all rows. Values don't depend on which is used, up to rounding.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRACE_LOWERING_H
#define FGI_TRACE_LOWERING_H

#include "trace/graph.h"

typedef struct fgi_lowering {
    const fgi_op *op;
    fgi_platform platform;
    const char *rule; /* rows with one reason share it; fgi_client_set_plain turns it off by name */
    bool (*applies)(const fgi_emit *e);                   /* to e->node; NULL: always */
    void (*emit)(fgi_emit *e);                            /* in place of the operation's */
    void (*compose)(const fg_tensor *in, fg_tensor *out); /* the same, of composite operations */
} fgi_lowering;

/* All rows; of those that apply the first is used (src/op/lowerings.c). */
extern const fgi_lowering *const fgi_lowerings[];
extern const size_t fgi_lowering_count;

/* Whether a rule is in use; false after fgi_client_set_plain. For lowerings that are part of
 * others, and for those of whole programs. client may be NULL: in use. */
bool fgi_rule_is_on(const fg_client *client, const char *rule);
/* Writes e->node. */
void fgi_lower_node(fgi_emit *e);
/* Applies a composite operation: one that is made of others and has no node of its own. */
void fgi_compose(const fgi_op *op, const fg_tensor *in, fg_tensor *out);

#endif
