/* plan.h - the compilers that `fulgurite plan` needs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_H
#define PLAN_H

#include "cli.h"

/* On a terminal, offers to download the compilers that the machines "a,b" need and that are not
 * installed; prints failures. False if a name is invalid. */
bool plan_offer_compilers(const char *machines, fg_error *err);

#endif
