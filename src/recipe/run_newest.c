/* run_newest.c - the newest run in the folder runs: what `last` means in every command.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "recipe/for_program.h"
#include "recipe/run_origin.h"

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

static fg_status find(DIR *stream, char **out, fg_error *err)
{
    const struct dirent *entry;
    struct timespec newest = {0}, time;
    while ((entry = readdir(stream)) != NULL) { /* the stream is not shared */
        bool is_run = false;
        char *path = entry->d_name[0] != '.' ? fgi_path_join("runs", entry->d_name) : NULL;
        if (path == NULL && entry->d_name[0] != '.')
            return fgi_no_memory(err);
        const fg_status status = path != NULL ? look(path, &is_run, &time, err) : FG_OK;
        if (status == FG_OK && is_run && (*out == NULL || is_newer(path, time, *out, newest))) {
            fgi_free(*out);
            *out = path;
            newest = time;
        } else {
            fgi_free(path);
        }
        FGI_TRY(status);
    }
    return FG_OK;
}

fg_status fgi_run_newest(char **out, fg_error *err)
{
    DIR *stream = opendir("runs");
    *out = NULL;
    const fg_status status = stream != NULL ? find(stream, out, err) : FG_OK;
    if (stream != NULL)
        (void)closedir(stream);
    if (status == FG_OK)
        return FG_OK;
    fgi_free(*out);
    *out = NULL;
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
