/* step_profile.h - the profile of some steps of a fit (options.output.profile).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRAIN_STEP_PROFILE_H
#define FGI_TRAIN_STEP_PROFILE_H

#include <fulgurite/train.h>

#include "base/timeline.h"
#include "train/feed.h"
#include "train/profile_steps.h"

typedef struct fgi_step_profile fgi_step_profile;

fg_status fgi_step_profile_create(const char *steps, fgi_step_profile **out, fg_error *err);
void fgi_step_profile_destroy(fgi_step_profile *self); /* NULL is allowed */

/* A fit starts: a profile that begins with its first step begins here, and includes compilation. */
void fgi_step_profile_begin(fg_trainer *trainer);
/* Before and after each step: start or stop the profile when that is due. Stopping waits for the
 * devices; errors are those of the steps. A profile that fails is a warning. */
void fgi_step_profile_before(fg_trainer *trainer);
fg_status fgi_step_profile_after(fg_trainer *trainer, fg_error *err);
/* The fit ends, and the devices have finished: stops a profile in progress. */
void fgi_step_profile_end(fg_trainer *trainer);

/* Where to store the times at which the flight ends on each device; NULL while nothing is recorded.
 */
int64_t *fgi_step_profile_times(fg_trainer *trainer, int64_t number, const fgi_event *done);
/* The flight has ended on all devices; its event still exists. */
void fgi_step_profile_retired(fg_trainer *trainer, const fgi_flight *flight);

#endif
