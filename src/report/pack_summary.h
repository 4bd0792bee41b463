/* pack_summary.h - what a pack contains: counts over all of its records, and their text.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_REPORT_PACK_SUMMARY_H
#define FGI_REPORT_PACK_SUMMARY_H

#include <fulgurite/pack.h>

#include "base/buf.h"

enum { FGI_PACK_CODECS = 7, FGI_PACK_SPLITS = 4 };

/* The distribution of a number over the records that have it. */
typedef struct fgi_pack_spread {
    int64_t count;
    uint32_t min, median, max; /* median: the lower of the two in the middle */
    uint64_t sum;
} fgi_pack_spread;

typedef struct fgi_pack_summary {
    const fg_pack *pack; /* borrowed */
    const fg_pack_info *info;
    int64_t codecs[FGI_PACK_CODECS];
    int64_t other_codecs;            /* that this version does not have */
    int64_t splits[FGI_PACK_SPLITS]; /* train, val, test, none */
    int64_t *classes;                /* records of each class; several labels count for each */
    int64_t unlabeled, lost, grouped;
    fgi_pack_spread width, height, bytes; /* of records that were not lost */
} fgi_pack_summary;

/* The name of each split in texts. */
extern const char *const fgi_pack_split_names[FGI_PACK_SPLITS];

/* Reads the columns of all records. Errors: those of fg_pack_get_entry, FG_ENOMEM. */
fg_status fgi_pack_summarize(fg_pack *pack, fgi_pack_summary *out, fg_error *err);
void fgi_pack_summary_fini(fgi_pack_summary *summary);

/* Appends the summary as lines: of more than 20 classes, the 10 largest and the 10 smallest. */
void fgi_pack_summary_print(fgi_buf *out, const fgi_pack_summary *summary);
/* Appends everything as one JSON object and a line end. */
void fgi_pack_summary_print_json(fgi_buf *out, const fgi_pack_summary *summary);

#endif
