/* stop_run.c - asks a run to save and stop, and waits for its end.
 *
 * The request is a file in the run's folder (base/run_lock.h), which the Trainer looks for between
 * steps: unlike a signal, it reaches processes in other containers and on other hosts, and never a
 * process that has taken over the number of one that has ended.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "other_run.h"

#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "base/run_lock.h"
#include "base/thread.h"
#include "report/run_view.h"

/* ---- the run --------------------------------------------------------------------------------- */

typedef struct candidate {
    char *folder;   /* NULL: none yet */
    double since_s; /* of its lock */
} candidate;

static bool may_run(fgi_lock_state state)
{
    return state == FGI_LOCK_HELD || state == FGI_LOCK_UNKNOWN;
}

/* Takes the folder over if a fit holds it that began after that of the best one so far. */
static void consider(char *take_folder, candidate *best)
{
    struct stat info;
    fgi_holder who;
    char *path = cli_need(fgi_path_join(take_folder, "lock"));
    const fgi_lock_state state = fgi_lock_look(take_folder, &who);
    const bool is_live = may_run(state) && stat(path, &info) == 0;
    const double since_s =
        is_live ? (double)info.st_mtim.tv_sec + (double)info.st_mtim.tv_nsec * 1e-9 : 0;
    if (is_live && (best->folder == NULL || since_s > best->since_s)) {
        fgi_free(best->folder);
        *best = (candidate){take_folder, since_s};
    } else {
        fgi_free(take_folder);
    }
    fgi_free(path);
}

static fg_status consider_all(const char *parent, bool deep, candidate *best, fg_error *err);

/* Considers a folder, or with `deep`, if it is that of a sweep, its runs. */
static fg_status consider_entry(char *take_folder, bool deep, candidate *best, fg_error *err)
{
    bool is_sweep = false;
    fg_status status = deep ? fgi_sweep_look(take_folder, &is_sweep, err) : FG_OK;
    if (status == FG_OK && !is_sweep) {
        consider(take_folder, best);
        return FG_OK;
    }
    if (status == FG_OK)
        status = consider_all(take_folder, false, best, err);
    fgi_free(take_folder);
    return status;
}

/* Considers the runs in a folder; with `deep`, also those of the sweeps in it. */
static fg_status consider_all(const char *parent, bool deep, candidate *best, fg_error *err)
{
    DIR *folder = opendir(parent);
    fg_status status = FG_OK;
    for (const struct dirent *e; (e = fgi_folder_next(&folder)) != NULL;)
        if (status == FG_OK)
            status = consider_entry(cli_need(fgi_path_join(parent, e->d_name)), deep, best, err);
    return status;
}

/* The run in a folder that began last, of those that are training. */
static fg_status find_newest(const char *parent, const char *word, char **out, fg_error *err)
{
    candidate best = {0};
    fg_status status = consider_all(parent, word != NULL, &best, err);
    if (status == FG_OK && best.folder == NULL && word != NULL)
        status =
            fgi_fail(err, FG_ENOTFOUND, "%s: no run in the folder '%s' is training", word, parent);
    else if (status == FG_OK && best.folder == NULL)
        status = fgi_fail(err, FG_ENOTFOUND, "'%s': no run of this sweep is training", parent);
    if (status != FG_OK) {
        fgi_free(best.folder);
        best.folder = NULL;
    }
    *out = best.folder;
    return status;
}

static fg_status find(const char *run, char **out, fg_error *err)
{
    bool is_sweep = false;
    *out = NULL;
    if (strcmp(run, "last") == 0)
        return find_newest("runs", run, out, err);
    if (!fgi_file_exists(run))
        return fgi_fail(err, FG_ENOTFOUND, "'%s' does not exist: expected the folder of a run",
                        run);
    FGI_TRY(fgi_sweep_look(run, &is_sweep, err));
    if (is_sweep)
        return find_newest(run, NULL, out, err);
    *out = cli_need(fgi_strdup(run));
    return FG_OK;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* Repeats the request if it is gone while the run continues: the lock's owner had just taken it. */
static fg_status wait_for_end(const char *folder, double timeout_s, fg_error *err)
{
    const int64_t begin = fgi_now_ns();
    fgi_holder who;
    char by[FGI_HOLDER_WORDS];
    while (may_run(fgi_lock_look(folder, &who))) {
        if (!fgi_stop_is_asked(folder))
            FGI_TRY(fgi_stop_ask(folder, err));
        if (timeout_s > 0 && (double)(fgi_now_ns() - begin) > timeout_s * 1e9)
            return fgi_fail(err, FG_EINVAL,
                            "'%s': %s has not stopped within %g s; the request remains, and takes "
                            "effect between two steps",
                            folder, fgi_holder_words(&who, by), timeout_s);
        fgi_sleep(0.1);
    }
    fgi_stop_forget(folder); /* made again as the run was ending */
    return FG_OK;
}

/* The name of the last checkpoint, a new string; NULL: none. */
static char *last_checkpoint(const char *folder)
{
    char *path = fgi_path_join(folder, "checkpoints/last"), *name = NULL;
    size_t size;
    if (path != NULL && fgi_file_read(path, 4096, &name, &size, NULL) == FG_OK)
        name[strcspn(name, "\n")] = '\0';
    fgi_free(path);
    return name;
}

static void say_end(const char *folder, const stop_options *o)
{
    char *last = last_checkpoint(folder);
    if (last != NULL)
        (void)fprintf(o->talk, "'%s' has stopped; its last checkpoint is %s/checkpoints/%s\n",
                      folder, folder, last);
    else
        (void)fprintf(o->talk, "'%s' has stopped; it has no checkpoint\n", folder);
    fgi_free(last);
}

static fg_status stop(const char *folder, const stop_options *o, fg_error *err)
{
    fgi_holder who;
    char by[FGI_HOLDER_WORDS];
    const fgi_lock_state state = fgi_lock_look(folder, &who);
    if (state == FGI_LOCK_DEAD)
        return fgi_fail(err, FG_ENOTFOUND,
                        "'%s': no run is training there: %s was, and ended without releasing the "
                        "folder (it was killed or crashed); the next run can use it",
                        folder, fgi_holder_words(&who, by));
    if (state == FGI_LOCK_FREE)
        return fgi_fail(err, FG_ENOTFOUND, "'%s': no run is training there", folder);
    FGI_TRY(fgi_stop_ask(folder, err));
    (void)fprintf(
        o->talk, "'%s': asked %s to save and stop%s\n", folder, fgi_holder_words(&who, by),
        state == FGI_LOCK_UNKNOWN ? "; whether it still runs cannot be seen from this host" : "");
    if (o->no_wait)
        return FG_OK;
    FGI_TRY(wait_for_end(folder, o->timeout_s, err));
    say_end(folder, o);
    return FG_OK;
}

fg_status stop_run(const char *run, const stop_options *o, fg_error *err)
{
    char *folder;
    FGI_TRY(find(run, &folder, err));
    const fg_status status = stop(folder, o, err);
    fgi_free(folder);
    return status;
}
