/* export_name.h - the path of the file that a record is exported to.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PACKER_EXPORT_NAME_H
#define FGI_PACKER_EXPORT_NAME_H

#include <fulgurite/base.h>
#include "base/buf.h"

/* The parts of a path. Any bytes are allowed in the strings. */
typedef struct fgi_export_name {
    const char *split;      /* folder, "train"; NULL: none */
    const char *class_name; /* folder; NULL: none */
    const char *name;       /* of the record, usually a path; may be "" */
    const char *field;      /* added to the name, ".field"; NULL: none */
    const char *extension;  /* ".png": replaces the extension of another image format; "": keep */
    bool keeps_extension;   /* `extension` is only for names without that of an image */
    int64_t record;         /* its number: the name of a record without one */
    int64_t variant;        /* of the sample, starting at 0 */
    bool with_number;       /* add the number: another file has the name */
} fgi_export_name;

/* Appends the path, relative and safe as described in pack_export.h. Running out of memory is kept
 * in out->failed. */
void fgi_export_path(const fgi_export_name *name, fgi_buf *out);

#endif
