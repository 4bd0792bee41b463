/* pack_scan.h - walks the records of a file without its index: to resume, to verify, to rebuild.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PACK_SCAN_H
#define FGI_PACK_SCAN_H

#include "pack/pack_format.h"

/* `at` is where the next record header is expected; start with FGI_PACK_PAGE. */
typedef struct fgi_pack_scan {
    const unsigned char *data;
    uint64_t size; /* of the records, or of the file */
    uint64_t at;   /* end of the last record */
} fgi_pack_scan;

/* The next record if it is intact: its header, its bytes and the zeros around it. NULL, without
 * moving, if it is not. */
const fgi_pack_head *fgi_pack_scan_next(fgi_pack_scan *scan, uint64_t number);
/* The next intact record at or after `at`, however far; NULL if there is none. Its bytes may be
 * damaged: *out_is_intact says whether they are not. */
const fgi_pack_head *fgi_pack_scan_search(fgi_pack_scan *scan, bool *out_is_intact);

#endif
