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

/* Calls `take` for each operation of a device that a plugin's XSpace contains, under the name of
 * its HLO instruction. Errors: those of fgi_xspace. */
typedef void fgi_xspace_op_fn(void *self, const char *name, int64_t begin_ns, int64_t end_ns);
fg_status fgi_xspace_read(const unsigned char *plugin, size_t size, fgi_xspace_op_fn *take,
                          void *self, fg_error *err);

/* The plugin's XSpace (size 0: none), with the timeline as another plane, and with times relative
 * to the start of the timeline. Errors: FG_ENOMEM; FG_EFORMAT if the plugin's bytes are not an
 * XSpace. */
fg_status fgi_xspace(const unsigned char *plugin, size_t size, const fgi_timeline *timeline,
                     const char *host, fgi_buf *out, fg_error *err);

#endif
