/* profile.h - profiles: what the devices and the threads of this process do during some steps.
 *
 *     fg_profile *profile = NULL;
 *     fg_profile_options options = {.folder = "out"};
 *     if (fg_profile_start(client, &options, &profile, &err) == FG_OK) {
 *         ... some steps; wait for the last one ...
 *         status = fg_profile_stop(profile, NULL, &err);
 *     }
 *
 * Two files show the same period:
 *
 *   FOLDER/host.trace.json    the threads of the library and the spans of your program, as Chrome
 *                             trace events, for Perfetto (ui.perfetto.dev) and chrome://tracing
 *   FOLDER/plugins/profile/NAME/HOST.xplane.pb
 *                             the same, and what the plugin's profiler has recorded, as an XSpace,
 *                             for XProf and TensorBoard's profile plugin (--logdir FOLDER)
 *
 * The plugin's profiler is PJRT's profiler extension. The plugins for TPUs and CUDA have it, that
 * for the CPU does not; then the XSpace only contains the host.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_PROFILE_H
#define FULGURITE_PROFILE_H

#include <fulgurite/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A profile in progress. There can be one per process. Start and stop it on the same thread. */
typedef struct fg_profile fg_profile;

typedef struct fg_profile_options {
    const char *folder; /* to write to; created at the end if it does not exist. Required */
    const char *name;   /* of this profile in the viewer, a file name               ["profile"] */
    bool no_device;     /* do not use the plugin's profiler                             [false] */
    uint64_t reserved[3];
} fg_profile_options;

/* What was written. */
typedef struct fg_profile_info {
    int64_t first_step, last_step; /* of a Trainer's profile; otherwise 0 */
    double seconds;
    int64_t spans;        /* of threads, devices and your program */
    int64_t lost;         /* not recorded: out of memory, or more than 524,288 */
    bool has_device;      /* the plugin's profiler has contributed */
    char note[512];       /* human-readable reason why it has not; "" if it has */
    char trace[1024];     /* path of host.trace.json; cut if it is longer */
    char xspace[1024];    /* path of HOST.xplane.pb; cut if it is longer */
    uint64_t reserved[2]; /* set to 0 */
} fg_profile_info;

/* Whether the client's plugin has a profiler. Thread-safe. */
FG_API bool fg_client_has_profiler(const fg_client *client);

/* Starts a profile. client: its plugin's profiler is used; NULL: none. A plugin without a
 * profiler, or whose profiler does not start, is not an error: fg_profile_info.note has the reason.
 * Recording costs memory of 64 bytes per span, about 0.15 us per span, and what the plugin's
 * profiler costs. Errors: FG_EINVAL if another profile is in progress or the options are wrong,
 * FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_profile_start(fg_client *client, const fg_profile_options *options,
                                              fg_profile **out, fg_error *err);

/* Stops the profile, writes the files, each atomically, and frees the profile, also on failure.
 * Spans that have not ended are not recorded, so wait for the last step first. out_info may be
 * NULL. Errors: FG_EIO, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_profile_stop(fg_profile *take_profile, fg_profile_info *out_info,
                                             fg_error *err);

/* Stops the profile without writing anything. NULL is allowed. */
FG_API void fg_profile_drop(fg_profile *take_profile);

/* Begins a span of your program on the calling thread: returns its start time in nanoseconds, for
 * fg_profile_end. If no profile is in progress, returns 0, which costs one branch. Thread-safe. */
FG_API int64_t fg_profile_begin(void);
/* Ends a span. name: at most 39 bytes, copied; longer names are cut. Spans of a thread can be
 * nested. No effect if begin is 0. Thread-safe. */
FG_API void fg_profile_end(int64_t begin, const char *name);

#ifdef __cplusplus
}
#endif

#endif
