/* signals.h - signals while a fit runs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_SIGNALS_H
#define FGI_TRAIN_SIGNALS_H

#include <fulgurite/train.h>

/* SIGINT, SIGTERM and SIGHUP while fits run that want them, and SIGPIPE ignored. One
 * that the program ignores stays ignored. Every catch wants one release. */
void fgi_signals_catch(const fg_trainer *trainer);
void fgi_signals_release(void);
/* A fit begins or ends to compile a program: the first signal says so. */
void fgi_signals_compiling(bool is_begin);
/* Whether a callback, or a signal while a fit handles them, asked for the end. */
bool fgi_stop_requested(fg_trainer *trainer);

#endif
