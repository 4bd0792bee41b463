/* run_dir.c - the folder of a run: its name, its contents before the first step, and the newest
 * one: what `last` means in every command.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recipe/folder/run_dir.h"
#include "base/print.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "recipe/folder/run_origin.h"
#include "report/run_view.h"

/* "digits" of "examples/digits.yaml"; "run" without a file. NULL: out of memory. */
static char *stem_of(const char *path)
{
    if (path == NULL)
        return fgi_strdup("run");
    const char *name = fgi_after_last(path, '/');
    const char *dot = strrchr(name, '.');
    return fgi_strndup(name, dot != NULL && dot != name ? (size_t)(dot - name) : strlen(name));
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

/* The highest N of runs/STEM-N, 0 if there is none. */
static long newest(const char *stem)
{
    long highest = 0;
    DIR *folder = opendir("runs");
    for (const struct dirent *e; (e = fgi_folder_next(&folder)) != NULL;) {
        const long number = number_of(e->d_name, stem);
        highest = number > highest ? number : highest;
    }
    return highest;
}

static char *numbered(const char *stem, long number)
{
    fgi_buf path = {0};
    fgi_buf_printf(&path, "runs/%s-%ld", stem, number);
    return fgi_buf_take(&path);
}

/* mkdir claims the number: if two processes try the same one, one of them uses the next. */
static fg_status claim(const char *stem, char **out, fg_error *err)
{
    *out = NULL;
    if (mkdir("runs", 0777) != 0 && errno != EEXIST)
        return fgi_fail_errno(err, "create the folder", "runs");
    for (long number = newest(stem) + 1;; number++) {
        char *path = numbered(stem, number);
        if (path == NULL)
            return fgi_no_memory(err);
        if (mkdir(path, 0777) == 0) {
            *out = path;
            return FG_OK;
        }
        fg_status status = FG_OK;
        if (errno != EEXIST)
            status = fgi_fail_errno(err, "create the folder", path);
        fgi_free(path);
        FGI_TRY(status);
    }
}

static fg_status given(const fgi_config *c, char **out, fg_error *err)
{
    *out = fgi_strdup(c->run.dir);
    return *out != NULL ? FG_OK : fgi_no_memory(err);
}

/* A new folder, or the newest one if `takes_newest` and there is one. Frees the stem. */
static fg_status choose(const fgi_config *c, char *take_stem, bool takes_newest,
                        bool *out_is_claimed, char **out, fg_error *err)
{
    fg_status status = FG_OK;
    *out = NULL;
    *out_is_claimed = false;
    const long number = takes_newest && take_stem != NULL ? newest(take_stem) : 0;
    if (c->run.dir != NULL)
        status = given(c, out, err);
    else if (take_stem == NULL || (number > 0 && (*out = numbered(take_stem, number)) == NULL))
        status = fgi_no_memory(err);
    else if (number == 0) {
        status = claim(take_stem, out, err);
        *out_is_claimed = status == FG_OK;
    }
    fgi_free(take_stem);
    return status;
}

fg_status fgi_run_dir_new(const fgi_config *c, const char *config_path, bool *out_is_claimed,
                          char **out, fg_error *err)
{
    return choose(c, stem_of(config_path), false, out_is_claimed, out, err);
}

/* "digits-sweep" of "examples/digits.yaml". */
static char *sweep_stem(const char *config_path)
{
    fgi_buf text = {0};
    char *stem = stem_of(config_path);
    if (stem != NULL)
        fgi_buf_printf(&text, "%s-sweep", stem);
    fgi_free(stem);
    return stem != NULL ? fgi_buf_take(&text) : NULL;
}

fg_status fgi_run_dir_sweep(const fgi_config *c, const char *config_path, bool is_resumed,
                            bool *out_is_claimed, char **out, fg_error *err)
{
    return choose(c, sweep_stem(config_path), is_resumed, out_is_claimed, out, err);
}

void fgi_run_dir_give_back(const char *folder)
{
    char *begun = fgi_path_join(folder, "config.yaml"), *lock = fgi_path_join(folder, "lock");
    if (begun != NULL && lock != NULL && access(begun, F_OK) != 0) {
        (void)unlink(lock);
        (void)rmdir(folder); /* fails if the folder contains anything else */
        (void)rmdir("runs");
    }
    fgi_free(lock);
    fgi_free(begun);
}

fg_status fgi_run_dir_existing(const fgi_config *c, const char *config_path, char **out,
                               fg_error *err)
{
    *out = NULL;
    if (c->run.dir != NULL)
        return given(c, out, err);
    char *stem = stem_of(config_path);
    if (stem == NULL)
        return fgi_no_memory(err);
    const long number = newest(stem);
    *out = number > 0 ? numbered(stem, number) : NULL;
    fgi_free(stem);
    return *out != NULL || number == 0 ? FG_OK : fgi_no_memory(err);
}

static fg_status write_config(const fgi_config *c, const char *path, fg_error *err)
{
    fgi_buf text = {0};
    fgi_config_print(c, &text, false);
    fg_status status = fgi_buf_status(&text, err);
    if (status == FG_OK)
        status = fg_file_write(path, text.data, text.size, err);
    fgi_buf_fini(&text);
    return status;
}

bool fgi_run_dir_is_used(const char *folder)
{
    return fgi_exists_in(folder, "checkpoints/last"); /* the Trainer checks again */
}

bool fgi_run_dir_is_live(const char *folder)
{
    struct stat info;
    char *path = fgi_path_join(folder, "lock");
    const int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    fgi_free(path);
    if (fd < 0)
        return false;
    /* empty once a run has ended; taking the lock then disturbs no other process */
    const bool is_live = fstat(fd, &info) == 0 && info.st_size > 0 &&
                         flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    (void)close(fd);
    return is_live;
}

fg_status fgi_run_dir_need(const char *folder, fg_error *err)
{
    bool is_sweep = false;
    if (!fgi_file_exists(folder))
        return fgi_fail(err, FG_ENOTFOUND, "'%s' does not exist: expected the folder of a run",
                        folder);
    FGI_TRY(fgi_sweep_look(folder, &is_sweep, err));
    if (!is_sweep)
        return FG_OK;
    return fgi_fail(err, FG_ENOTFOUND,
                    "'%s' is the folder of a sweep: expected the folder of one of its runs",
                    folder);
}

fg_status fgi_run_dir_begin(const fgi_config *c, const char *folder, fg_error *err)
{
    char *path = fgi_path_join(folder, "config.yaml");
    const fg_status status = path != NULL ? write_config(c, path, err) : fgi_no_memory(err);
    fgi_free(path);
    return status;
}

/* ---- the newest run -------------------------------------------------------------------------- */

static bool is_later(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec > b.tv_sec : a.tv_nsec > b.tv_nsec;
}

/* Of two runs that wrote in the same instant, the newer is the one with the greater number. */
static bool is_newer(const char *a, struct timespec a_time, const char *b, struct timespec b_time)
{
    if (is_later(a_time, b_time) || is_later(b_time, a_time))
        return is_later(a_time, b_time);
    return strverscmp(a, b) > 0;
}

/* When the run last wrote its report, metrics or a checkpoint, or the sweep its record; false if
 * the folder has none of these. */
static fg_status look(const char *folder, bool *out_is_run, struct timespec *out, fg_error *err)
{
    static const char *const names[] = {"report.json", "metrics.jsonl", "sweep.json",
                                        "checkpoints/last"};
    *out_is_run = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct stat info;
        char *path = fgi_path_join(folder, names[i]);
        if (path == NULL)
            return fgi_no_memory(err);
        if (stat(path, &info) == 0 && (!*out_is_run || is_later(info.st_mtim, *out))) {
            *out_is_run = true;
            *out = info.st_mtim;
        }
        fgi_free(path);
    }
    return FG_OK;
}

/* Takes this run if it is newer than *out, which it replaces. */
static fg_status consider(const char *name, struct timespec *newest, char **out, fg_error *err)
{
    struct timespec time = {0};
    bool is_run = false;
    char *path = fgi_path_join("runs", name);
    if (path == NULL)
        return fgi_no_memory(err);
    const fg_status status = look(path, &is_run, &time, err);
    if (status == FG_OK && is_run && (*out == NULL || is_newer(path, time, *out, *newest))) {
        fgi_free(*out);
        *out = path;
        *newest = time;
    } else {
        fgi_free(path);
    }
    return status;
}

fg_status fgi_run_newest(char **out, fg_error *err)
{
    DIR *folder = opendir("runs");
    fg_status status = FG_OK;
    struct timespec newest = {0};
    *out = NULL;
    for (const struct dirent *e; (e = fgi_folder_next(&folder)) != NULL;)
        if (status == FG_OK)
            status = consider(e->d_name, &newest, out, err);
    if (status != FG_OK) {
        fgi_free(*out);
        *out = NULL;
    }
    return status;
}

fg_status fgi_run_find(const char *name, char **out, fg_error *err)
{
    *out = NULL;
    if (strcmp(name, "last") != 0) {
        *out = fgi_strdup(name);
        return *out != NULL ? FG_OK : fgi_no_memory(err);
    }
    FGI_TRY(fgi_run_newest(out, err));
    return *out != NULL
               ? FG_OK
               : fgi_fail(err, FG_ENOTFOUND,
                          "last: there is no run with a report or metrics in the folder 'runs'");
}
