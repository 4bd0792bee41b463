/* lowering.h - platform-specific lowerings of operations.
 *
 * The `emit` of an operation is its default lowering. If a platform's compiler handles that badly,
 * a row next to the operation defines another one, with the reason; src/op/lowerings.c lists all
 * rows. Results do not depend on which one is used, up to rounding.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRACE_LOWERING_H
#define FGI_TRACE_LOWERING_H

#include "trace/graph.h"

typedef struct fgi_lowering {
    const fgi_op *op;
    fgi_platform platform;
    const char
        *rule; /* rows with the same reason share it; fgi_client_set_plain disables it by name */
    bool (*applies)(const fgi_emit *e); /* whether it applies to e->node; NULL: always */
    void (*emit)(fgi_emit *e);          /* replaces the operation's lowering */
    /* The same two, for composite operations */
    bool (*composes)(const fg_tensor *in, int count);
    void (*compose)(const fg_tensor *in, int count, fg_tensor *out);
} fgi_lowering;

/* All rows; the first one that applies is used (src/op/lowerings.c). */
extern const fgi_lowering *const fgi_lowerings[];
extern const size_t fgi_lowering_count;

/* Whether a rule is enabled; false after fgi_client_set_plain. For lowerings that are part of
 * others, and for those of whole programs. client may be NULL: enabled. */
bool fgi_rule_is_on(const fg_client *client, const char *rule);
/* Writes e->node. */
void fgi_lower_node(fgi_emit *e);
/* Applies a composite operation: one that consists of other operations and has no node. */
void fgi_compose(const fgi_op *op, const fg_tensor *in, int count, fg_tensor *out);

#endif
