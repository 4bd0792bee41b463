/* remat.h - rematerialization: shared by remat.c and the lowering for XLA's CPU backend.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_OP_REMAT_H
#define FGI_OP_REMAT_H

#include "trace/graph.h"

/* (value, after): the value, computed from again after `after` is known. What is computed from the
 * result is not the same as what is computed from the value. */
extern const fgi_op fgi_barrier_op;

#endif
