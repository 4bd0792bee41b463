/* run_lock.h - the lock of a run folder, and requests to stop the run that holds it.
 *
 * RUN/lock is held with flock during a fit, so a killed process releases it. The file contains who
 * holds it; after the fit it is empty. RUN/stop is a request to stop the run: it exists or not. It
 * works wherever the folder is shared: across containers and hosts, and for processes that handle
 * no signals. A request is removed when the lock is taken, before the holder is recorded, and when
 * it is released, before the record is emptied: so a request that exists while a holder is recorded
 * applies to that holder.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_RUN_LOCK_H
#define FGI_BASE_RUN_LOCK_H

#include <fulgurite/base.h>

#include "base/temporary.h"

/* The holder of a lock, as recorded in its file: "PID MACHINE HOST\n". */
typedef struct fgi_holder {
    int64_t pid; /* 0: unknown */
    char machine[FGI_MACHINE_SIZE], host[256];
} fgi_holder;

typedef enum fgi_lock_state {
    FGI_LOCK_FREE,   /* no fit uses the folder */
    FGI_LOCK_HELD,   /* by a fit */
    FGI_LOCK_DEAD,   /* its holder ended without releasing it: it was killed, or crashed */
    FGI_LOCK_UNKNOWN /* recorded by another host, whose locks and processes are not visible here */
} fgi_lock_state;

/* "process 12 on host 'a'", or "another process". */
enum { FGI_HOLDER_WORDS = 320 };
const char *fgi_holder_words(const fgi_holder *who, char out[FGI_HOLDER_WORDS]);
/* Reads the record from the open lock file. */
fgi_holder fgi_holder_read(int fd);

/* The state of a folder's lock, and its holder unless it is free. A folder without a lock file is
 * free. */
fgi_lock_state fgi_lock_look(const char *run_dir, fgi_holder *out);

/* Makes the folder, takes its lock and records this process. *out_why: if the file system has no
 * locks, so that only a process of this machine can be detected, the reason (errno), else 0.
 * Errors: FG_EINVAL, which names the holder; FG_EIO, FG_ENOMEM. */
fg_status fgi_lock_take(const char *run_dir, int *out_fd, int *out_why, fg_error *err);
void fgi_lock_release(const char *run_dir, int fd);

/* Requests a stop. */
fg_status fgi_stop_ask(const char *run_dir, fg_error *err);
bool fgi_stop_is_asked(const char *run_dir);
void fgi_stop_forget(const char *run_dir);

#endif
