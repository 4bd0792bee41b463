/* stack_signal.h - the signal that asks a thread to write its stack when a run hangs. The kernel
 * sends it to nobody, and programs do not use it. The library's threads leave it unblocked.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_STACK_SIGNAL_H
#define FGI_BASE_STACK_SIGNAL_H

#include <signal.h>

enum { FGI_STACK_SIGNAL = SIGSTKFLT };

#endif
