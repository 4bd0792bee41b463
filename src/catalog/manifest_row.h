/* manifest_row.h - one sample as a manifest describes it, for CSV, JSONL and the .json files of
 * tar.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CATALOG_MANIFEST_ROW_H
#define FGI_CATALOG_MANIFEST_ROW_H

#include <jansson.h>
#include "catalog/draft.h"

/* Labels of one sample: positions in fgi_draft.labels. */
typedef struct fgi_label_ids {
    int32_t *list;
    size_t count, capacity;
} fgi_label_ids;

/* Empty strings are absent. */
typedef struct fgi_manifest_row {
    fgi_str path, name, split, group;
    char number[24];      /* the text of a group that is an integer */
    fgi_label_ids labels; /* reused from row to row; free labels.list at the end */
} fgi_manifest_row;

/* Adds a label to row->labels. */
fg_status fgi_row_add_label(fgi_draft *b, fgi_manifest_row *row, fgi_str text, fgi_label_type type,
                            fg_error *err);

/* Reads split and group, path and name with FGI_ROW_FILES, and label and labels with
 * FGI_ROW_LABELS, from a JSON object. Strings are borrowed from it. Messages have no place: add it
 * with fgi_context. */
enum { FGI_ROW_FILES = 1, FGI_ROW_LABELS = 2 };
fg_status fgi_row_from_json(fgi_draft *b, const json_t *object, int what, fgi_manifest_row *row,
                            fg_error *err);

/* Sets labels, split and group of a sample. */
fg_status fgi_row_apply(fgi_draft *b, const fgi_manifest_row *row, fgi_sample *sample,
                        fg_error *err);

#endif
