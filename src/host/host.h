/* host.h - the machine as files and variables, real or set up by a test.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_HOST_HOST_H
#define FGI_HOST_HOST_H

#include <fulgurite/base.h>

enum { FGI_HOST_PATH_MAX = 1024 };

/* Where facts are read from. Zero-initialised (or NULL where a pointer is taken) it is this machine
 * and this process. All is borrowed. */
typedef struct fgi_host {
    const char *root;               /* put before every path: "" or NULL for the machine itself */
    const char *const *environment; /* "NAME=value", ended by NULL; NULL: this process's own */
} fgi_host;

/* The value of a variable, or NULL where it is unset, empty, or set by this library for libtpu
 * (fgi_host_tpu_prepare). Borrowed from the environment. */
const char *fgi_host_variable(const fgi_host *host, const char *name);
/* root + path, cut at the size of the buffer. */
void fgi_host_path(const fgi_host *host, const char *path, char out[FGI_HOST_PATH_MAX]);
bool fgi_host_has(const fgi_host *host, const char *path);
/* The start of a small file, without the line end at its end. False, with out "", where there is no
 * such file. */
bool fgi_host_read(const fgi_host *host, const char *path, char *out, size_t size);
/* What a symbolic link holds; false where there is none. */
bool fgi_host_link(const fgi_host *host, const char *path, char *out, size_t size);

/* Calls each(self, name) for the names in a folder, hidden ones left out, in no particular order,
 * until it returns false. Returns false where the folder cannot be read. */
typedef bool fgi_host_name_fn(void *self, const char *name);
bool fgi_host_list(const fgi_host *host, const char *path, fgi_host_name_fn *each, void *self);

/* True when all of the text, at least one character, are decimal digits. */
bool fgi_host_is_number(const char *text);

#endif
