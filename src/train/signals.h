/* signals.h - signals while a fit runs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_SIGNALS_H
#define FGI_TRAIN_SIGNALS_H

#include <fulgurite/train.h>

#include "train/activity.h"
#include "train/call.h"
#include "train/run_folder.h"

/* Handles SIGINT, SIGTERM, SIGHUP and SIGUSR1, and ignores SIGPIPE, until fgi_signals_release is
 * called as often. A signal that the program ignores remains ignored. */
void fgi_signals_catch(const fg_trainer_options *o, fgi_call *call);
void fgi_signals_release(void);
/* A compilation that begins or ends changes the note of the first signal. */
fgi_span_listener fgi_signals_listener(void);
/* A training step begins, or has finished on the devices: the note says how many have not. Called
 * by any thread. */
void fgi_signals_step(bool is_begin);
/* Whether a callback, a signal during a fit that handles signals, limits.max_time or a request in
 * the run's folder (base/run_lock.h) requests a stop. */
bool fgi_stop_requested(const fg_trainer_options *o, fgi_call *call, fgi_run *run);
/* Whether there was a SIGUSR1 since the last call, or since the fit started. */
bool fgi_save_requested(const fg_trainer_options *o, fgi_call *call);

#endif
