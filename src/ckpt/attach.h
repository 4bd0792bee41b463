/* attach.h - attachments: texts that a checkpoint stores for its caller, as files of the folder and
 * as entries of the model file's __metadata__.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CKPT_ATTACH_H
#define FGI_CKPT_ATTACH_H

#include <fulgurite/ckpt.h>

enum { FGI_ATTACH_MOST = 12, FGI_ATTACH_MAX_BYTES = 64 << 20 };

/* Checks number, names and texts. `what` is the name of the caller, for messages. */
fg_status fgi_attach_check(const char *what, const fg_attachment *attachments, size_t count,
                           fg_error *err);

/* The metadata of the model file: the given pairs, then one pair per attachment, NULL-terminated. A
 * single block (fgi_free) that borrows the given texts. NULL when out of memory. */
const char **fgi_attach_metadata(const char *const *metadata, const fg_attachment *attachments,
                                 size_t count);

#endif
