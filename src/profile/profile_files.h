/* profile_files.h - the files of a profile, as bytes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PROFILE_PROFILE_FILES_H
#define FGI_PROFILE_PROFILE_FILES_H

#include "base/buf.h"
#include "base/timeline.h"

/* The category of spans that are whole steps: viewers group what happens meanwhile by step. */
#define FGI_PROFILE_STEP   "step"
/* The category of what devices do. */
#define FGI_PROFILE_DEVICE "device"

/* The timeline in the trace event format of Chrome, which Perfetto reads. FG_ENOMEM. */
fg_status fgi_chrome_trace(const fgi_timeline *timeline, fgi_buf *out, fg_error *err);

/* The plugin's XSpace (size 0: none), with the timeline as another plane, and with times relative
 * to the start of the timeline. Errors: FG_ENOMEM; FG_EFORMAT if the plugin's bytes are not an
 * XSpace. */
fg_status fgi_xspace(const unsigned char *plugin, size_t size, const fgi_timeline *timeline,
                     const char *host, fgi_buf *out, fg_error *err);

#endif
