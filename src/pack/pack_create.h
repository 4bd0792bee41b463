/* pack_create.h - creation of a writer, also with the identity of an existing file.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PACK_CREATE_H
#define FGI_PACK_CREATE_H

#include "pack/pack_out.h"

/* The writer of one file that replaces an existing one: with its uuid, shard and record numbers if
 * `identity` is not NULL. The options' shard_bytes, resume and replace have no effect. */
fg_status fgi_pack_writer_create_as(const char *path, const fg_pack_writer_options *options,
                                    const fgi_pack_page *identity, fg_pack_writer **out,
                                    fg_error *err);

#endif
