/* npz.c - NumPy's .npz format: a ZIP archive of .npy files, stored or deflated. Source:
 * numpy.lib.format, numpy.savez.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/npz.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "input/zip.h"

static const char mark[] = ".npz:", suffix[] = ".npy";

/* The ':' before the name of the array; NULL without one. */
static const char *colon_of(const char *path)
{
    const char *last = NULL;
    for (const char *at = strstr(path, mark); at != NULL; at = strstr(at + 1, mark))
        last = at + sizeof(mark) - 2;
    return last;
}

bool fgi_npz_is(const char *path) { return fgi_ends_with(path, ".npz") || colon_of(path) != NULL; }

/* Whether a file of the archive is the array `name`. */
static bool is_array(const char *file, const char *name)
{
    const size_t size = strlen(name);
    return strncmp(file, name, size) == 0 &&
           (file[size] == '\0' || strcmp(file + size, suffix) == 0);
}

static bool find(const fgi_zip *zip, const char *name, size_t *out)
{
    for (*out = 0; *out < fgi_zip_count(zip); (*out)++)
        if (is_array(fgi_zip_name(zip, *out), name))
            return true;
    return false;
}

bool fgi_npz_has(const char *archive, const char *array)
{
    fgi_zip *zip = NULL;
    size_t index;
    const bool has = fgi_zip_open(archive, &zip, NULL) == FG_OK && find(zip, array, &index);
    fgi_zip_close(zip);
    return has;
}

/* An error that lists the arrays. */
static fg_status refuse(const fgi_zip *zip, fg_status status, const char *archive, const char *what,
                        fg_error *err)
{
    enum { LISTED = 12, BYTES = 64 };
    fgi_buf names = {0};
    const size_t count = fgi_zip_count(zip);
    for (size_t i = 0; i < count && i < LISTED; i++) {
        char name[BYTES];
        size_t size = strlen(fgi_zip_name(zip, i));
        if (fgi_ends_with(fgi_zip_name(zip, i), suffix))
            size -= sizeof(suffix) - 1;
        (void)fgi_text_escape((fgi_str){fgi_zip_name(zip, i), size}, name, sizeof(name));
        fgi_buf_printf(&names, "%s%s", i > 0 ? ", " : "", name);
    }
    if (count > LISTED)
        fgi_buf_puts(&names, " ...");
    status = fgi_buf_status(&names, err) != FG_OK
                 ? FG_ENOMEM
                 : fgi_fail(err, status, "'%s' %s; it has: %s", archive, what,
                            count > 0 ? names.data : "no arrays");
    fgi_buf_fini(&names);
    return status;
}

static fg_status choose(const fgi_zip *zip, const char *archive, const char *name, size_t *out,
                        fg_error *err)
{
    char what[256];
    if (name != NULL && find(zip, name, out))
        return FG_OK;
    if (name != NULL) {
        (void)fgi_snprintf(what, sizeof(what), "has no array '%.180s'", name);
        return refuse(zip, FG_ENOTFOUND, archive, what, err);
    }
    *out = 0;
    if (fgi_zip_count(zip) == 1)
        return FG_OK;
    (void)fgi_snprintf(what, sizeof(what),
                       "is an archive: name one of its arrays, as in file.npz:x");
    return refuse(zip, FG_EINVAL, archive, what, err);
}

fg_status fgi_array_open(const char *path, fgi_block *out, fg_error *err)
{
    fgi_zip *zip = NULL;
    size_t index = 0;
    *out = (fgi_block){0};
    if (!fgi_npz_is(path))
        return fgi_block_open(path, FGI_LARGEST_INFLATED_BYTES, out, err);
    const char *colon = colon_of(path);
    char *archive = fgi_strdup(path);
    if (archive == NULL)
        return fgi_no_memory(err);
    if (colon != NULL)
        archive[colon - path] = '\0';
    fg_status status = fgi_zip_open(archive, &zip, err);
    if (status == FG_OK)
        status = choose(zip, archive, colon != NULL ? colon + 1 : NULL, &index, err);
    if (status == FG_OK)
        status = fgi_zip_read(zip, index, out, err);
    fgi_zip_close(zip);
    fgi_free(archive);
    return status;
}
