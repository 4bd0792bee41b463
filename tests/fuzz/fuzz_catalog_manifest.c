/* fuzz_catalog_manifest.c - any bytes as a manifest: CSV or JSONL by the first byte, whose second
 * bit lists missing files as skipped. The files a, b and c exist.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_catalog.h"

static char folder[] = "/tmp/fuzz_manifest.XXXXXX";

static void write_file(const char *name)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(name, file) < 0 || fclose(file) != 0)
        abort();
}

static void remove_folder(void)
{
    static const char *const names[] = {"a", "b", "c", "manifest"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

/* The manifest is a link to the file in memory, so that its folder is ours. */
static const char *link_to(const char *target)
{
    static char path[64];
    if (path[0] == '\0') {
        if (mkdtemp(folder) == NULL || atexit(remove_folder) != 0)
            abort();
        write_file("a");
        write_file("b");
        write_file("c");
        (void)snprintf(path, sizeof(path), "%s/manifest", folder);
        if (symlink(target, path) != 0)
            abort();
    }
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const unsigned bits = size > 0 ? data[0] : 0;
    const fg_catalog_options options = {.kind = bits & 1 ? "csv" : "jsonl",
                                        .skip_missing = (bits & 2) != 0};
    fuzz_catalog(link_to(fuzz_file(data + (size > 0), size - (size > 0))), &options);
    return 0;
}
