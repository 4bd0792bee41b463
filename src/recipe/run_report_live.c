/* run_report_live.c - report.json during a fit: written at log lines, at most every few
 * seconds, so that a run that is killed has one too.
 *
 * The text is made on the Trainer's thread; another thread writes it, so that a slow disk does not
 * delay the steps. A file that cannot be written now is tried again with the next text.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/thread.h"
#include "recipe/run.h"

static const double EVERY_S = 5;

typedef struct live {
    fg_recipe *owner;
    fgi_buf text; /* that the thread writes */
    char *path;
    fgi_thread thread;
    bool has_thread;
    atomic_bool is_written; /* the thread is about to end */
    double next_s;
} live;

static void *write_text(void *self)
{
    live *l = self;
    const fg_status status = fg_file_write(l->path, l->text.data, l->text.size, NULL);
    (void)status; /* the end of the fit reports it */
    atomic_store(&l->is_written, true);
    return NULL;
}

/* Ends the thread; waits for it only if asked to. Returns whether there is none. */
static bool settle(live *l, bool wait)
{
    if (l->has_thread && !wait && !atomic_load(&l->is_written))
        return false;
    if (l->has_thread)
        fgi_thread_join(l->thread);
    l->has_thread = false;
    fgi_buf_fini(&l->text);
    return true;
}

static fg_status on_log(void *self, const fg_progress *at, fg_error *err)
{
    live *l = self;
    fg_recipe *r = l->owner;
    (void)at, (void)err;
    if (fgi_run_seconds(r) < l->next_s || !settle(l, false))
        return FG_OK;
    l->next_s = fgi_run_seconds(r) + EVERY_S;
    fg_trainer_result_so_far(r->trainer, &r->outcome.train);
    if (fgi_run_report_text(r, "running", &l->text, NULL) != FG_OK)
        return FG_OK;
    atomic_store(&l->is_written, false);
    l->has_thread = fgi_thread_start(&l->thread, write_text, l, NULL) == FG_OK;
    return FG_OK;
}

static fg_status on_fit_end(void *self, const fg_progress *at, fg_error *err)
{
    (void)at, (void)err;
    (void)settle(self, true);
    return FG_OK;
}

static void destroy(void *self)
{
    live *l = self;
    (void)settle(l, true);
    fgi_free(l->path);
    fgi_free(l);
}

fg_status fgi_run_report_live_add(fg_recipe *r, fg_error *err)
{
    static const fg_callback_ops ops = {.log = on_log, .fit_end = on_fit_end, .destroy = destroy};
    if (r->folder == NULL)
        return FG_OK;
    live *l = fgi_calloc(1, sizeof *l);
    if (l == NULL)
        return fgi_no_memory(err);
    l->owner = r;
    l->path = fgi_path_join(r->folder, "report.json");
    if (l->path != NULL)
        return fg_trainer_add_callback(r->trainer, &ops, l, err);
    fgi_free(l);
    return fgi_no_memory(err);
}
