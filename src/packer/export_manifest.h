/* export_manifest.h - the manifest of exported files, if folders cannot express their labels.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PACKER_EXPORT_MANIFEST_H
#define FGI_PACKER_EXPORT_MANIFEST_H

#include <fulgurite/pack.h>

#include "packer/export_folder.h"

/* Zero-initialize it. */
typedef struct fgi_export_manifest {
    bool is_needed;
    fgi_buf text;
    char name[4096], class_name[1024]; /* escaped */
} fgi_export_manifest;

/* Needed if one of the records has a list of labels or a group; starts with the classes. */
fg_status fgi_export_manifest_begin(fgi_export_manifest *m, fg_pack *pack, const int64_t *records,
                                    int64_t count, fg_error *err);

/* The name of a record or a class; escaped if a manifest is needed and it is not UTF-8. A class is
 * NULL if there is none. Valid until the next call. */
const char *fgi_export_manifest_name(fgi_export_manifest *m, const char *name);
const char *fgi_export_manifest_class(fgi_export_manifest *m, const fg_pack *pack, int64_t index);

/* Adds a file. The variants of a sample after the first have no name. */
fg_status fgi_export_manifest_add(fgi_export_manifest *m, const fg_pack *pack,
                                  const fg_pack_entry *entry, int64_t variant, const char *path,
                                  fg_error *err);
/* Writes manifest.jsonl. */
fg_status fgi_export_manifest_end(fgi_export_manifest *m, fgi_export_folder *folder, fg_error *err);
void fgi_export_manifest_fini(fgi_export_manifest *m);

#endif
