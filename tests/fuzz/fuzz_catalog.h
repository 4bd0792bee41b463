/* fuzz_catalog.h - any bytes as the file of a catalog, and what holds for a catalog that opens.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FUZZ_CATALOG_H
#define FUZZ_CATALOG_H

#include "fuzz.h"

#include <fulgurite/catalog.h>
#include <fulgurite/data.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The path of a file in memory with this content. */
static inline const char *fuzz_file(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[64];
    if (fd < 0)
        fd = memfd_create("input", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return path;
}

static inline void fuzz_check_item(const fg_catalog *catalog, int64_t index)
{
    fg_catalog_item item;
    fg_error err = {0};
    if (fg_catalog_item_at(catalog, index, &item, &err) != FG_OK || item.name[0] == '\0')
        abort();
    for (uint32_t i = 0; i < item.label_count; i++)
        if (item.labels[i] < 0 || item.labels[i] >= fg_catalog_class_count(catalog))
            abort();
    if ((item.label_count == 0 ? -1 : item.labels[0]) != item.label ||
        (item.group == 0) != (item.group_name == NULL) ||
        (item.split > FG_TEST && item.split != FG_CATALOG_NO_SPLIT))
        abort();
}

/* Opens the catalog; its items are consistent, and reading them and dividing them does not crash.
 * An error has a message. */
static inline void fuzz_catalog(const char *path, const fg_catalog_options *options)
{
    fg_catalog *catalog = NULL;
    fg_catalog_bytes bytes = {0};
    fg_error err = {0};
    if (fg_catalog_open(path, options, &catalog, &err) != FG_OK) {
        if (err.status == FG_OK || err.message[0] == '\0')
            abort();
        return;
    }
    const int64_t count = fg_catalog_count(catalog);
    uint8_t *splits = malloc((size_t)count);
    if (splits == NULL || count < 1)
        abort();
    for (int64_t i = 0; i < count; i++) {
        fuzz_check_item(catalog, i);
        if (i < 16 && fg_catalog_read(catalog, i, &bytes, &err) != FG_OK && bytes.size != 0)
            abort();
    }
    (void)!fg_catalog_split(catalog, &(fg_catalog_split_options){.val_fraction = 0.3}, splits,
                            &err);
    fg_catalog_bytes_fini(&bytes);
    free(splits);
    fg_catalog_close(catalog);
}

#endif
