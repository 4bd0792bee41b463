/* zip.c - the files of a ZIP archive, with libzip reading from a mapping of the archive.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "input/zip.h"

#include <string.h>
#include <zip.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/library.h"

enum { LARGEST_RATIO = 1032 /* of deflate */ };

/* Archives of arrays (.npz) are rare, and libzip brings OpenSSL and bzip2 into a process, so it is
 * not linked. */
#define FUNCTIONS(X)                                                                               \
    X(error_init, zip_error_init)                                                                  \
    X(error_fini, zip_error_fini)                                                                  \
    X(error_text, zip_error_strerror)                                                              \
    X(source, zip_source_buffer_create)                                                            \
    X(source_free, zip_source_free)                                                                \
    X(open, zip_open_from_source)                                                                  \
    X(close, zip_discard)                                                                          \
    X(count, zip_get_num_entries)                                                                  \
    X(name, zip_get_name)                                                                          \
    X(stat, zip_stat_index)                                                                        \
    X(open_file, zip_fopen_index)                                                                  \
    X(read, zip_fread)                                                                             \
    X(file_error, zip_file_get_error)                                                              \
    X(close_file, zip_fclose)                                                                      \
    X(zip_error, zip_get_error)
FGI_LIBRARY(libzip, FUNCTIONS, "libzip.so.4", "libzip.so.5")

struct fgi_zip {
    char *name; /* of the archive */
    fgi_mapping mapping;
    size_t size; /* bytes */
    zip_t *zip;
};

static fg_status corrupt(const fgi_zip *z, const char *what, fg_error *err)
{
    return fgi_fail(err, FG_EFORMAT, "%s: the ZIP archive is corrupt or truncated: %s", z->name,
                    what);
}

/* ---- opening --------------------------------------------------------------------------------- */

static fg_status open_data(fgi_zip *z, const unsigned char *data, size_t size, fg_error *err)
{
    zip_error_t problem;
    fg_status status = FG_OK;
    z->size = size;
    if (size == 0) /* an empty archive for libzip */
        return corrupt(z, "the file is empty", err);
    libzip.error_init(&problem);
    zip_source_t *source = libzip.source(data, size, 0, &problem);
    if (source != NULL)
        z->zip = libzip.open(source, ZIP_RDONLY | ZIP_CHECKCONS, &problem);
    if (z->zip == NULL)
        status = corrupt(z, libzip.error_text(&problem), err);
    if (z->zip == NULL && source != NULL)
        libzip.source_free(source); /* an open archive owns it */
    libzip.error_fini(&problem);
    return status;
}

fg_status fgi_zip_open_memory(const char *name, const unsigned char *data, size_t size,
                              fgi_zip **out, fg_error *err)
{
    fgi_zip *z = fgi_calloc(1, sizeof(*z));
    fg_status status;
    *out = NULL;
    FGI_DONE(z != NULL && (z->name = fgi_strdup(name)) != NULL ? FG_OK : fgi_no_memory(err));
    if (!libzip_is_loaded())
        FGI_DONE(fgi_fail(err, FG_EUNSUPPORTED,
                          "%s: reading ZIP archives requires libzip, which is not installed\n"
                          "sudo apt-get install libzip4, or save each array as .npy",
                          name));
    FGI_DONE(open_data(z, data, size, err));
    *out = z;
    return FG_OK;
done:
    fgi_zip_close(z);
    return status;
}

fg_status fgi_zip_open(const char *path, fgi_zip **out, fg_error *err)
{
    fgi_mapping mapping;
    *out = NULL;
    FGI_TRY(fgi_file_map(path, &mapping, err));
    const fg_status status = fgi_zip_open_memory(path, mapping.data, mapping.size, out, err);
    if (status == FG_OK)
        (*out)->mapping = mapping;
    else
        fgi_file_unmap(&mapping);
    return status;
}

void fgi_zip_close(fgi_zip *zip)
{
    if (zip == NULL)
        return;
    if (zip->zip != NULL)
        libzip.close(zip->zip);
    fgi_file_unmap(&zip->mapping);
    fgi_free(zip->name);
    fgi_free(zip);
}

size_t fgi_zip_count(const fgi_zip *zip)
{
    const zip_int64_t count = libzip.count(zip->zip, 0);
    return count > 0 ? (size_t)count : 0;
}

const char *fgi_zip_name(const fgi_zip *zip, size_t index)
{
    const char *name = libzip.name(zip->zip, index, ZIP_FL_ENC_RAW);
    return name != NULL ? name : "";
}

/* ---- contents -------------------------------------------------------------------------------- */

static fg_status fail_file(const fgi_zip *z, size_t index, const char *what, fg_error *err)
{
    return fgi_fail(err, FG_EFORMAT, "%s:%s: %s", z->name, fgi_zip_name(z, index), what);
}

static fg_status check_info(const fgi_zip *z, size_t index, const zip_stat_t *info, fg_error *err)
{
    const bool is_stored = info->comp_method == ZIP_CM_STORE;
    if (info->encryption_method != ZIP_EM_NONE ||
        (!is_stored && info->comp_method != ZIP_CM_DEFLATE))
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "%s:%s: the file is encrypted or compressed with method %d: expected "
                        "stored or deflated files",
                        z->name, fgi_zip_name(z, index), info->comp_method);
    if (info->comp_size > z->size || (is_stored && info->comp_size != info->size) ||
        info->size / LARGEST_RATIO > info->comp_size)
        return fail_file(z, index, "the sizes in the directory of the archive are wrong", err);
    if (info->size > FGI_LARGEST_INFLATED_BYTES && !is_stored)
        return fail_file(z, index, "decompresses to more than 16 GiB", err);
    return FG_OK;
}

/* Reads to the end of the file, where libzip verifies the checksum. */
static fg_status read_file(const fgi_zip *z, size_t index, zip_file_t *file, fgi_block *out,
                           fg_error *err)
{
    unsigned char *to = out->owned, more;
    size_t made = 0;
    zip_int64_t n = 1;
    while (n > 0 && made < out->size) {
        n = libzip.read(file, to + made, out->size - made);
        made += n > 0 ? (size_t)n : 0;
    }
    if (n >= 0 && made == out->size)
        n = libzip.read(file, &more, 1);
    if (n < 0)
        return fail_file(z, index, libzip.error_text(libzip.file_error(file)), err);
    return n == 0 && made == out->size
               ? FG_OK
               : fail_file(z, index, "the size of the file differs from the directory", err);
}

fg_status fgi_zip_read(fgi_zip *z, size_t index, fgi_block *out, fg_error *err)
{
    const zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    zip_stat_t info = {.valid = 0};
    *out = (fgi_block){0};
    if (libzip.stat(z->zip, index, 0, &info) != 0 || (info.valid & needed) != needed)
        return fail_file(z, index, "the directory of the archive is corrupt", err);
    if ((info.valid & ZIP_STAT_ENCRYPTION_METHOD) == 0)
        info.encryption_method = ZIP_EM_NONE;
    FGI_TRY(check_info(z, index, &info, err));
    FGI_TRY(fgi_block_alloc((size_t)info.size, out, err));
    zip_file_t *file = libzip.open_file(z->zip, index, 0);
    fg_status status = file != NULL
                           ? read_file(z, index, file, out, err)
                           : fail_file(z, index, libzip.error_text(libzip.zip_error(z->zip)), err);
    if (file != NULL)
        (void)libzip.close_file(file);
    if (status != FG_OK)
        fgi_block_fini(out);
    return status;
}
