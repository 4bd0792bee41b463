/* init_put.h - writes the lines of a configuration for `fulgurite init`.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INIT_PUT_H
#define INIT_PUT_H

#include <fulgurite/recipe.h>

#include "init_look.h"

/* "  key: value   # why"; why may be NULL. */
void fgi_put(fgi_buf *out, const char *key, const char *value, const char *why);
/* The same, with the text in double quotes. */
void fgi_put_string(fgi_buf *out, const char *key, const char *text, const char *why);
/* The text in double quotes. */
void fgi_put_quoted(fgi_buf *out, const char *text);
/* As fgi_put_string; nothing if path is NULL. */
void fgi_put_file(fgi_buf *out, const char *key, const char *path);

/* The keys of a list of images. */
void fgi_put_list(fgi_buf *out, const fgi_look_files *files);
/* The same as "root=photos,suffix=.jpg", for `pack --source`; false if it cannot say them. */
bool fgi_put_list_source(fgi_buf *out, const fgi_look_files *files);

/* A comment with the command that makes a pack of the images, if that is worth it. */
void fgi_put_pack(fgi_buf *out, const fgi_look_files *files, const fgi_look_photos *photos,
                  int64_t size, double center_fraction);

#endif
