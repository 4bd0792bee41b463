/* event_file.h - TensorBoard's event files: framing, and what of earlier files a resumed run keeps.
 *
 * A file is a sequence of records: length u64, its checksum u32, data, checksum u32, little-endian;
 * the data are an Event (event.proto). The first one has the version of the format.
 * Sources: tensorboard/compat/proto/event.proto; tensorboard/summary/writer/record_writer.py;
 * TensorFlow, "TFRecord and tf.train.Example".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_LOG_EVENT_FILE_H
#define FGI_LOG_EVENT_FILE_H

#include <fulgurite/logger.h>

#include "base/buf.h"
#include "log/event.pb-c.h"

/* Appends a record. A log line is an event with a summary of plain scalars (simple_value),
 * which no other event has. */
void fgi_event_put(fgi_buf *out, const Fulgurite__Tb__Event *event);
/* Appends the records at the start of a file. Readers forget what they have read of the steps
 * starting at `first`. */
void fgi_event_put_start(fgi_buf *out, int64_t first, double wall_time);

/* What the event files of a folder contain. */
typedef struct fgi_event_past {
    int64_t lines;      /* of the log */
    int64_t last_step;  /* of these; -1: none */
    int64_t last_lines; /* lines of that step */
    int64_t newest;     /* the time in the name of the newest file, 0: none */
} fgi_event_past;

/* Finds the event files of a run and removes the events that do not belong to the checkpoint that
 * it continues from, and incomplete records at their ends; the files themselves for a new run. Only
 * files that fgi_event_file_name names are changed. */
fg_status fgi_event_files_cut(const fg_log_start *start, bool is_new, fgi_event_past *out,
                              fg_error *err);
/* The name of a new event file, after `newest` in the order in which readers open files; a new
 * string (fgi_free), or NULL. */
char *fgi_event_file_name(double wall_time, int64_t newest);

#endif
