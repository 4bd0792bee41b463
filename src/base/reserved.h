/* reserved.h - rejects structs of the user whose `reserved` is not zero.
 *
 * Members that a later version adds to such a struct replace `reserved`. A program that was
 * compiled against that version may set them, and an older library would silently ignore what the
 * program requests. So every function that accepts such a struct checks it first.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_RESERVED_H
#define FGI_BASE_RESERVED_H

#include <stddef.h>
#include <fulgurite/base.h>

typedef struct fgi_reserved {
    const char *type;    /* name of the struct, for the message */
    const void *options; /* may be NULL */
    size_t offset, bytes;
} fgi_reserved;

/* `reserved` of options, a `const type *`; other arguments cause a compiler warning. */
#define FGI_RESERVED(type, options)                                                                \
    ((fgi_reserved){#type, (1 ? (options) : (const type *)NULL), offsetof(type, reserved),         \
                    sizeof(((const type *)NULL)->reserved)})

/* FG_EINVAL unless all bytes of `reserved` are 0. */
fg_status fgi_check_reserved(fgi_reserved reserved, fg_error *err);

#define FGI_TRY_RESERVED(type, options, err)                                                       \
    FGI_TRY(fgi_check_reserved(FGI_RESERVED(type, options), err))

#endif
