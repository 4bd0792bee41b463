/* host.h - the machine as files and environment variables, real or simulated by a test.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_HOST_HOST_H
#define FGI_HOST_HOST_H

#include <fulgurite/base.h>

enum { FGI_HOST_PATH_MAX = 1024 };

/* Where properties are read from. Zero-initialized (or NULL), it is this machine and this process.
 * Everything is borrowed. */
typedef struct fgi_host {
    const char *root;               /* prefix of every path: "" or NULL for this machine */
    const char *const *environment; /* "NAME=value", ended by NULL; NULL: those of this process */
} fgi_host;

/* The value of a variable, or NULL if it is unset, empty, or was set by this library for libtpu
 * (fgi_host_tpu_prepare). Borrowed from the environment. */
const char *fgi_host_variable(const fgi_host *host, const char *name);
/* root + path, truncated to the size of the buffer. */
void fgi_host_path(const fgi_host *host, const char *path, char out[FGI_HOST_PATH_MAX]);
bool fgi_host_has(const fgi_host *host, const char *path);
/* The beginning of a small file, without a trailing newline. False, with out "", if the file does
 * not exist. */
bool fgi_host_read(const fgi_host *host, const char *path, char *out, size_t size);
/* The target of a symbolic link; false if it does not exist. */
bool fgi_host_link(const fgi_host *host, const char *path, char *out, size_t size);

/* Calls each(self, name) for the names in a folder, without hidden ones, in no particular order,
 * until it returns false. Returns false if the folder cannot be read. */
typedef bool fgi_host_name_fn(void *self, const char *name);
bool fgi_host_list(const fgi_host *host, const char *path, fgi_host_name_fn *each, void *self);

/* True if the text is not empty and contains only decimal digits. */
bool fgi_host_is_number(const char *text);

#endif
