/* step_profile.h - the profile of some steps of a fit (options.output.profile).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_STEP_PROFILE_H
#define FGI_TRAIN_STEP_PROFILE_H

#include <fulgurite/train.h>

#include "base/timeline.h"
#include "train/cursor.h"
#include "train/activity.h"
#include "train/profile_steps.h"

typedef struct fgi_step_profile fgi_step_profile;

/* The folder of the run and the cursor are borrowed. */
fg_status fgi_step_profile_create(const int64_t steps[2], const char *run_dir,
                                  const fgi_cursor *cursor, fgi_step_profile **out, fg_error *err);
void fgi_step_profile_destroy(fgi_step_profile *self); /* NULL is allowed */
/* The last profile that was written, or NULL. */
const fg_profile_info *fgi_step_profile_info(const fgi_step_profile *self);

/* A fit with that many steps (-1: no end) starts: a profile that begins with its first step begins
 * here, and includes compilation. is_over: no step is left. A profile that fails is a warning. */
void fgi_step_profile_begin(fgi_step_profile *self, fg_client *client, int64_t total_steps,
                            bool is_over);
/* Before each step: starts the profile when that is due. */
void fgi_step_profile_before(fgi_step_profile *self);
/* Whether the profile in progress is to be stopped after this step. */
bool fgi_step_profile_is_due(const fgi_step_profile *self);
/* Stops it; all launches have finished. */
void fgi_step_profile_stop(fgi_step_profile *self);
/* The fit ends, and the devices have finished: stops a profile in progress. */
void fgi_step_profile_end(fgi_step_profile *self, bool has_started);

/* Where to store the times at which the flight ends on each device; NULL while nothing is recorded.
 */
int64_t *fgi_step_profile_times(fgi_step_profile *self, int64_t number, const fgi_event *done);
/* The flight has ended on all devices; its event still exists. */
void fgi_step_profile_retired(fgi_step_profile *self, const fgi_flight *flight);

#endif
