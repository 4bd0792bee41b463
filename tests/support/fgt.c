/* fgt.c - the helpers of fgt.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <dirent.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/file.h"

/* With $FGT_LOCALE set, a test is a program that calls setlocale(LC_ALL, ""), as many that link the
 * library do; the environment must set a decimal point other than '.'. */
__attribute__((constructor)) static void take_locale(void)
{
    if (getenv("FGT_LOCALE") == NULL)
        return;
    if (setlocale(LC_ALL, "") != NULL && strcmp(localeconv()->decimal_point, ".") != 0)
        return;
    (void)fprintf(stderr, "FGT_LOCALE is set, but the environment's locale is not another one\n");
    _exit(1);
}

/* Plugins are only checked where a test sets this: the fake plugin computes nothing, and which test
 * is the first that uses the CPU plugin is not known. */
__attribute__((constructor)) static void trust_plugins(void)
{
    (void)setenv("FULGURITE_PLUGIN_CHECK", "off", 0);
}

enum { MOST_FOLDERS = 96, MOST_ALLOCATIONS = 100000 };

static char folders[MOST_FOLDERS][128];
static int folder_count;
static pid_t folder_owner;

static void remove_folders(void)
{
    if (getpid() != folder_owner) /* a forked child leaves them to its parent */
        return;
    for (int i = 0; i < folder_count; i++)
        (void)fgi_folder_remove(folders[i], NULL);
}

const char *fgt_temp_folder(void)
{
    if (folder_count == MOST_FOLDERS)
        fail_msg("more than %d temporary folders", MOST_FOLDERS);
    if (folder_count == 0) {
        folder_owner = getpid();
        assert_int_equal(atexit(remove_folders), 0);
    }
    const char *parent = getenv("TMPDIR");
    char *folder = folders[folder_count];
    (void)snprintf(folder, sizeof(folders[0]), "%s/fgt.XXXXXX", parent == NULL ? "/tmp" : parent);
    if (mkdtemp(folder) == NULL)
        fail_msg("cannot make the folder %s", folder);
    folder_count++;
    return folder;
}

/* The length of the name of a temporary folder, or that of the sources, that the text begins with,
 * or 0. */
static size_t folder_size(const char *text)
{
    for (int i = 0; i < folder_count; i++)
        if (strncmp(text, folders[i], strlen(folders[i])) == 0)
            return strlen(folders[i]);
    const size_t size = strlen(FGT_SOURCE_DIR);
    return strncmp(text, FGT_SOURCE_DIR, size) == 0 ? size : 0;
}

void fgt_message_is(const char *message, const char *expected)
{
    char text[1024];
    size_t size = 0;
    for (size_t skip; *message != '\0' && size<sizeof(text) - 1; message += skip> 0 ? skip : 1) {
        skip = folder_size(message);
        text[size++] = (char)(skip > 0 ? '~' : *message);
    }
    text[size] = '\0';
    const char *any = strchr(expected, '@');
    const size_t before = any != NULL ? (size_t)(any - expected) : 0;
    const size_t after = any != NULL ? strlen(any + 1) : 0;
    if (any == NULL || size < before + after || strncmp(text, expected, before) != 0 ||
        strcmp(text + size - after, any + 1) != 0)
        assert_string_equal(text, expected);
}

const char *fgt_cache(const char *otherwise)
{
    const char *shared = getenv("FGT_CACHE");
    return shared != NULL && *shared != '\0' ? shared : otherwise;
}

const char *fgt_path(const char *folder, const char *name)
{
    static char paths[8][512];
    static int next;
    char *path = paths[next++ % 8];
    if (snprintf(path, sizeof(paths[0]), "%s/%s", folder, name) >= (int)sizeof(paths[0]))
        fail_msg("path too long: %s/%s", folder, name);
    return path;
}

int fgt_count_entries(const char *path)
{
    int count = 0;
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    (void)closedir(folder);
    return count - 2; /* . and .. */
}

void fgt_write(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        fail_msg("cannot create %s", path);
    const size_t written = size == 0 ? 0 : fwrite(data, 1, size, file);
    if (fclose(file) != 0 || written != size)
        fail_msg("cannot write %s", path);
}

void fgt_close(const char *what, double a, double b, double absolute, double relative)
{
    if (!(fabs(a - b) <= absolute + relative * fabs(b))) /* a NaN fails */
        fail_msg("%s: %.9g is not within %g + %g * |b| of %.9g", what, a, absolute, relative, b);
}

/* The number of live blocks in excess of `before`, after waiting for blocks that other threads (a
 * plugin's, at the end of a transfer) are about to free. */
static long leaked_since(long before)
{
    for (int i = 0; i < 2000 && fgi_alloc_live() > before; i++)
        (void)usleep(1000);
    return fgi_alloc_live() - before;
}

void fgt_fault_loop(fg_status (*scenario)(void *self, fg_error *err), void *self)
{
    fg_error err = {0};
    fgt_ok(scenario(self, &err)); /* fills permanent caches */
    const char *stride_text = getenv("FGT_FAULT_STRIDE");
    const long stride = stride_text != NULL ? strtol(stride_text, NULL, 10) : 1;
    long live = fgi_alloc_live();
    bool has_failed = true;
    assert_true(stride > 0);
    for (long n = 0; has_failed; n += stride) {
        if (n >= MOST_ALLOCATIONS)
            fail_msg("more than %ld allocations: make the scenario smaller", n);
        err = (fg_error){0};
        fgi_alloc_fail_after(n);
        const fg_status status = scenario(self, &err);
        has_failed = fgi_alloc_has_failed();
        fgi_alloc_fail_after(-1);
        if (status != FG_OK && (status != FG_ENOMEM || !has_failed))
            fail_msg("allocation %ld failing: %s: %s", n, fg_status_name(status), err.message);
        if (status != FG_OK && err.status != status)
            fail_msg("allocation %ld failing: %s, but the error says %s", n, fg_status_name(status),
                     fg_status_name(err.status));
        const long leaked = leaked_since(live);
        if (leaked > 0)
            fail_msg("allocation %ld failing: %ld blocks leaked", n, leaked);
        live += leaked; /* fewer: some blocks of the first run were freed late */
    }
}
