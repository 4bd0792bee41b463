/* signals.h - signals while a fit runs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_SIGNALS_H
#define FGI_TRAIN_SIGNALS_H

#include <fulgurite/train.h>

/* Handles SIGINT, SIGTERM and SIGHUP, and ignores SIGPIPE, until fgi_signals_release is called as
 * often. A signal that the program ignores remains ignored. */
void fgi_signals_catch(const fg_trainer *trainer);
void fgi_signals_release(void);
/* A fit starts or ends a compilation: changes the note of the first signal. */
void fgi_signals_compiling(bool is_begin);
/* Whether a callback, or a signal during a fit that handles signals, requested a stop. */
bool fgi_stop_requested(fg_trainer *trainer);

#endif
