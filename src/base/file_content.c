/* file_content.c - recognizes files that no reader of this library can use, by their first bytes,
 * so that the message says what they are. Source: Git LFS specification, "The Pointer"; Apache
 * Parquet, "File Format"; PKWARE, "APPNOTE.TXT", 4.3.7; Microsoft, "[MS-CFB]", 2.2.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

enum { LFS_POINTER_MAX = 1023 }; /* bytes, of a pointer */

static bool starts_with(const void *data, size_t size, const char *text)
{
    const size_t length = strlen(text);
    return size >= length && memcmp(data, text, length) == 0;
}

static bool has_suffix(const char *path, const char *const suffixes[])
{
    const size_t size = strlen(path);
    for (; *suffixes != NULL; suffixes++) {
        const size_t length = strlen(*suffixes);
        if (size >= length && fgi_begins_nocase(path + size - length, *suffixes))
            return true;
    }
    return false;
}

/* Archives and spreadsheets. Files with other suffixes may be zip archives, too: .npz is one. */
static fg_status refuse_container(const char *path, const void *data, size_t size, fg_error *err)
{
    static const char *const zips[] = {".zip", NULL};
    static const char *const sheets[] = {".xlsx", ".xlsm", ".ods", ".numbers", NULL};
    const bool is_zip = starts_with(data, size, "PK\x03\x04");
    if (is_zip && has_suffix(path, zips))
        return fgi_fail(err, FG_EUNSUPPORTED, "'%s' is a zip archive\nunpack it: unzip '%s'", path,
                        path);
    if ((is_zip && has_suffix(path, sheets)) ||
        starts_with(data, size, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"))
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "'%s' is a spreadsheet, which is not supported\nexport the table as CSV "
                        "(UTF-8)",
                        path);
    return FG_OK;
}

fg_status fgi_file_refuse(const char *path, const void *data, size_t size, uint64_t file_size,
                          fg_error *err)
{
    if (file_size <= LFS_POINTER_MAX &&
        (starts_with(data, size, "version https://git-lfs.github.com/spec/") ||
         starts_with(data, size, "version https://hawser.github.com/spec/"))) /* its old name */
        return fgi_fail(err, FG_EFORMAT,
                        "'%s' is a Git LFS pointer, not the data: run `git lfs pull` in its "
                        "repository",
                        path);
    if (starts_with(data, size, "PAR1"))
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "'%s' is a Parquet file, which is not supported\nconvert it to CSV: "
                        "python3 -c \"import pandas; "
                        "pandas.read_parquet('%s').to_csv('data.csv', index=False)\" (requires "
                        "pandas and pyarrow)",
                        path, path);
    return refuse_container(path, data, size, err);
}

fg_status fgi_file_refuse_open(const char *path, int fd, uint64_t file_size, fg_error *err)
{
    char start[FGI_FILE_START];
    const ssize_t size = pread(fd, start, sizeof(start), 0);
    return size <= 0 ? FG_OK : fgi_file_refuse(path, start, (size_t)size, file_size, err);
}
