/* run_dir.c - the folder of a run: its name, and what stands in it before the first step.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/out_file.h"
#include "recipe/run.h"
#include "base/print.h"
#include "base/alloc.h"

/* "digits" of "examples/digits.yaml"; "run" without a file. */
static char *stem_of(const char *path)
{
    if (path == NULL)
        return fgi_must_strdup("run");
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return fgi_must_strndup(name, dot != NULL && dot != name ? (size_t)(dot - name) : strlen(name));
}

/* N of "STEM-N", 0 for other names. */
static long number_of(const char *name, const char *stem)
{
    char *end;
    const size_t size = strlen(stem);
    if (strncmp(name, stem, size) != 0 || name[size] != '-' || name[size + 1] < '1' ||
        name[size + 1] > '9')
        return 0;
    const long number = strtol(name + size + 1, &end, 10);
    return *end == '\0' ? number : 0;
}

/* The highest N of runs/STEM-N, 0 when there is none. */
static long newest(const char *stem)
{
    long highest = 0;
    DIR *folder = opendir("runs");
    const struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) { /* of a stream of our own */
        const long number = number_of(entry->d_name, stem);
        highest = number > highest ? number : highest;
    }
    if (folder != NULL)
        (void)closedir(folder);
    return highest;
}

static char *numbered(const char *stem, long number)
{
    const size_t size = strlen(stem) + 32;
    char *path = fgi_must_alloc(size, 1);
    (void)fgi_snprintf(path, size, "runs/%s-%ld", stem, number);
    return path;
}

/* mkdir is the claim: of two processes that try the same number, one takes the next. */
static char *claim(const char *stem, fg_error *err)
{
    if (mkdir("runs", 0777) != 0 && errno != EEXIST) {
        (void)fgi_refuse_errno(err, "make the folder", "runs");
        return NULL;
    }
    for (long number = newest(stem) + 1;; number++) {
        char *path = numbered(stem, number);
        if (mkdir(path, 0777) == 0)
            return path;
        const bool is_taken = errno == EEXIST;
        if (!is_taken)
            (void)fgi_refuse_errno(err, "make the folder", path);
        fgi_free(path);
        if (!is_taken)
            return NULL;
    }
}

char *fgi_run_dir_new(const fgi_config *c, const char *config_path, bool *out_is_claimed,
                      fg_error *err)
{
    *out_is_claimed = fgi_config_is_auto(c, "trainer.run_dir");
    if (!*out_is_claimed)
        return fgi_must_strdup(fgi_config_text(c, "trainer.run_dir"));
    char *stem = stem_of(config_path), *path = claim(stem, err);
    *out_is_claimed = path != NULL;
    fgi_free(stem);
    return path;
}

static char *inside(const char *folder, const char *name)
{
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *path = fgi_must_alloc(size, 1);
    (void)fgi_snprintf(path, size, "%s/%s", folder, name);
    return path;
}

void fgi_run_dir_give_back(const char *folder)
{
    char *begun = inside(folder, "config.yaml"), *lock = inside(folder, "lock");
    if (access(begun, F_OK) != 0) {
        (void)unlink(lock);
        (void)rmdir(folder); /* which fails where there is anything else */
        (void)rmdir("runs");
    }
    fgi_free(lock);
    fgi_free(begun);
}

char *fgi_run_dir_existing(const fgi_config *c, const char *config_path)
{
    if (!fgi_config_is_auto(c, "trainer.run_dir"))
        return fgi_must_strdup(fgi_config_text(c, "trainer.run_dir"));
    char *stem = stem_of(config_path);
    const long number = newest(stem);
    char *path = number > 0 ? numbered(stem, number) : NULL;
    fgi_free(stem);
    return path;
}

static bool write_config(const fgi_config *c, const char *path, fg_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out != NULL)
        fgi_config_print(c, out, false);
    const bool is_whole = out != NULL && fclose(out) == 0;
    const bool is_written =
        is_whole ? fgi_out_file_write(path, text, size, err) : fgi_refuse_errno(err, "write", path);
    free(text);
    return is_written;
}

bool fgi_run_dir_is_used(const char *folder)
{
    char *path = inside(folder, "checkpoints/last");
    const bool is_used = access(path, F_OK) == 0;
    fgi_free(path);
    return is_used;
}

bool fgi_run_dir_is_live(const char *folder)
{
    struct stat info;
    char *path = inside(folder, "lock");
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    fgi_free(path);
    if (fd < 0)
        return false;
    /* empty once a run has ended: then nobody is disturbed by asking for the lock */
    const bool is_live = fstat(fd, &info) == 0 && info.st_size > 0 &&
                         flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    (void)close(fd);
    return is_live;
}

bool fgi_run_dir_begin(const fgi_config *c, const char *folder, fg_error *err)
{
    char *path = inside(folder, "config.yaml");
    const bool is_good = write_config(c, path, err);
    fgi_free(path);
    return is_good;
}
