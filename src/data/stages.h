/* stages.h - the clock of a loader's thread: what the time of reading samples is spent on.
 *
 * A loader starts a clock before it calls a dataset, and stops it afterwards. In between, the
 * dataset's reader says what it does, which costs one reading of the time (about 25 ns). Each
 * moment belongs to one stage, so the stages sum to the whole. If no clock is running in the
 * thread, entering a stage has no effect. If a dataset uses another loader, all of that belongs to
 * the outer clock's present stage. Thread-safe: each thread has its own clock.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_STAGES_H
#define FGI_DATA_STAGES_H

#include <stdint.h>
#include <fulgurite/data.h>

#include "base/file_open.h"

typedef enum fgi_load_stage {
    FGI_LOAD_READ,    /* reading files; all of a custom dataset that does not say what it does */
    FGI_LOAD_ENTROPY, /* entropy decoding, as far as the codec separates it */
    FGI_LOAD_DECODE,  /* the rest of decompressing */
    FGI_LOAD_RESIZE,  /* cropping and resizing */
    FGI_LOAD_COPY,    /* copying samples that are in memory, and everything else */
    FGI_LOAD_STAGES
} fgi_load_stage;

/* Nanoseconds of each stage. */
typedef struct fgi_load_times {
    int64_t ns[FGI_LOAD_STAGES];
    fgi_opened opened; /* files of samples; part of FGI_LOAD_READ */
} fgi_load_times;

/* A clock, in the memory of the function that starts and stops it. */
typedef struct fgi_load_clock {
    struct fgi_load_clock *outer;
    fgi_load_stage stage;
    int64_t since_ns;
    fgi_load_times times; /* opened: before the clock was started, until it is stopped */
} fgi_load_clock;

/* Starts a clock of this thread in the given stage. */
void fgi_load_begin(fgi_load_clock *clock, fgi_load_stage stage);
/* The thread does something else from now on. Returns the previous stage, to return to. */
fgi_load_stage fgi_load_enter(fgi_load_stage stage);
/* Stops the thread's last clock, after which its times are complete. Returns their sum. */
int64_t fgi_load_end(fgi_load_clock *clock);

/* Counts ns of a stage, which must not be the current one, as time of another stage: at most as
 * many as the clock has counted. For a reader that only knows afterwards what it did. Returns how
 * many were moved; ns if no clock is running. */
int64_t fgi_load_move(fgi_load_stage from, fgi_load_stage to, int64_t ns);

fg_loader_stages fgi_load_seconds(const fgi_load_times *times);

/* As above, at a given time. */
void fgi_load_begin_at(fgi_load_clock *clock, fgi_load_stage stage, int64_t now_ns);
fgi_load_stage fgi_load_enter_at(fgi_load_stage stage, int64_t now_ns);
int64_t fgi_load_end_at(fgi_load_clock *clock, int64_t now_ns);

#endif
