/* devices.h - what `fulgurite devices` prints.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICES_H
#define DEVICES_H

#include "base/buf.h"
#include "cli.h"

/* The accelerators that can be used here, one line per device, and why others can't; or one JSON
 * object {"accelerators": [...], "auto": NAME}. plugin_path: probe this plugin only, or NULL.
 * with_places: also the locations searched for plugins, in the lines. Opens each plugin. */
void devices_put(const char *plugin_path, bool with_places, bool as_json, fgi_buf *out);

/* Memory use and duty cycle of TPUs, from the libtpu of a running program at `address`
 * ("HOST:PORT"; NULL: as fg_tpu_use_read), as lines or as one JSON object {"devices": [...]}. */
fg_status devices_put_use(const char *address, bool as_json, fgi_buf *out, fg_error *err);

/* The table of accelerators (chip.h), as lines or as one JSON object {"chips": [...]}
 * (chip_table.c). */
void chip_table_print(fgi_buf *out, bool as_json);

#endif
