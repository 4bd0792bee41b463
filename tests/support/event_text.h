/* event_text.h - the events of TensorBoard's files as one line of text.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_EVENT_TEXT_H
#define FGT_EVENT_TEXT_H

/* The events of all files in a folder, in the order in which TensorBoard reads them; each file
 * starts with "| ". Fails the test if a checksum is wrong. Valid until the next call. */
const char *events_of(const char *folder);
/* The path of the only one, a new string (fgi_free). */
char *the_event_file(const char *folder);

#endif
