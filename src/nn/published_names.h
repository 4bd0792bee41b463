/* published_names.h - names of variables in the files of other libraries (fg_published in nn.h).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_NN_PUBLISHED_NAMES_H
#define FGI_NN_PUBLISHED_NAMES_H

#include <fulgurite/nn.h>
#include "base/buf.h"

/* Appends the name that `name` has in the form `to` if it has the form `from` (fg_name_rule), else
 * returns false. */
bool fgi_rename(const char *from, const char *to, const char *name, fgi_buf *out);
enum { FGI_NAME_PARTS = 4 };
/* Part i of "a|b|c"; NULL: there are fewer. A pattern `to` ends at the end of its part. */
const char *fgi_name_part(const char *names, int i);

#endif
