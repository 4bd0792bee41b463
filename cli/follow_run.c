/* follow_run.c - a run in progress: reads metrics.jsonl again and again, and shows what is new.
 *
 * A resume removes the rows after its checkpoint. So the text that has been shown is kept, and what
 * the file has in common with it is not shown again.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "other_run.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/thread.h"
#include "input/json_file.h"
#include "recipe/folder/run_dir.h"
#include "doc/doc.h"
#include "report/run_view.h"

enum { METRICS_LIMIT = 1 << 30 };

typedef struct follower {
    const char *folder;
    const follow_options *o;
    char *path; /* of metrics.jsonl */
    fgi_buf seen;
    const char *state; /* a constant */
} follower;

/* ---- lines ----------------------------------------------------------------------------------- */

/* "step 50, epoch 0: lr 0.003, train_loss 0.25" */
static void put_row(fgi_buf *out, const json_t *row)
{
    const char *name, *separator = ": ";
    json_t *value;
    fgi_buf_printf(out, "step %.0f, epoch %.0f", fgi_json_number(row, "step"),
                   fgi_json_number(row, "epoch"));
    json_object_foreach((json_t *)row, name, value)
    {
        if (strcmp(name, "step") == 0 || strcmp(name, "epoch") == 0 ||
            strcmp(name, "wall_time") == 0)
            continue;
        fgi_buf_puts(out, separator);
        fgi_put_plain(out, name);
        fgi_buf_printf(out, " %.6g", fgi_json_number(row, name));
        separator = ", ";
    }
    fgi_buf_putc(out, '\n');
}

static fg_status put_rows(const follower *f, const char *text, size_t from, size_t size,
                          fgi_buf *out, fg_error *err)
{
    while (from < size) {
        const size_t length = strcspn(text + from, "\n");
        json_t *row = NULL;
        FGI_TRY(fgi_json_parse(f->path, from, text + from, length, &row, err));
        put_row(out, row);
        json_decref(row);
        from += length + 1;
    }
    return FG_OK;
}

/* The size of the whole lines that both texts begin with. */
static size_t common(const char *a, size_t a_size, const char *b, size_t b_size)
{
    size_t end = 0;
    for (size_t i = 0; i < a_size && i < b_size && a[i] == b[i]; i++)
        end = a[i] == '\n' ? i + 1 : end;
    return end;
}

/* ---- one look -------------------------------------------------------------------------------- */

/* Whole lines only: the last one may be being written. */
static fg_status read_metrics(const follower *f, char **out, size_t *out_size, fg_error *err)
{
    *out = NULL;
    *out_size = 0;
    if (!fgi_file_exists(f->path))
        return FG_OK;
    FGI_TRY(fgi_file_read(f->path, METRICS_LIMIT, out, out_size, err));
    while (*out_size > 0 && (*out)[*out_size - 1] != '\n')
        --*out_size;
    return FG_OK;
}

static fg_status show(const follower *f, const char *text, fg_error *err)
{
    if (f->o->show(f->o->self, text))
        return FG_OK;
    return fgi_fail(err, FG_ESTOPPED, "stopped following '%s'", f->folder);
}

static fg_status show_report(const follower *f, fg_error *err)
{
    char *text = NULL;
    FGI_TRY(fg_report_run(f->folder, FG_REPORT_TEXT, &text, err));
    const fg_status status = show(f, text, err);
    fg_free(text);
    return status;
}

static fg_status show_rows(const follower *f, const char *text, size_t size, fg_error *err)
{
    fgi_buf lines = {0};
    const size_t kept = common(f->seen.data, f->seen.size, text, size);
    if (kept < f->seen.size)
        fgi_buf_puts(&lines, "the run was resumed from a checkpoint\n");
    fg_status status = put_rows(f, text, kept, size, &lines, err);
    if (status == FG_OK)
        status = fgi_buf_status(&lines, err);
    if (status == FG_OK && lines.size > 0)
        status = show(f, lines.data, err);
    fgi_buf_fini(&lines);
    return status;
}

static bool is_new(const follower *f, const char *text, size_t size)
{
    return size != f->seen.size || (size > 0 && memcmp(text, f->seen.data, size) != 0);
}

static fg_status look(follower *f, fg_error *err)
{
    char *text;
    size_t size;
    fg_status status = read_metrics(f, &text, &size, err);
    if (status == FG_OK && is_new(f, text, size)) {
        status = f->o->whole ? show_report(f, err) : show_rows(f, text, size, err);
        fgi_buf_clear(&f->seen);
        fgi_buf_add(&f->seen, text, size);
        if (status == FG_OK)
            status = fgi_buf_status(&f->seen, err);
    }
    fgi_free(text);
    return status;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* The lock of a run is empty once it has ended; one that was killed could not empty it. */
static bool was_killed(const char *folder)
{
    struct stat info;
    char *path = fgi_path_join(folder, "lock");
    const bool is_held = path != NULL && stat(path, &info) == 0 && info.st_size > 0;
    fgi_free(path);
    return is_held;
}

/* The state in report.json of a run that has ended. */
static fg_status read_state(follower *f, fg_error *err)
{
    static const char *const states[] = {"finished", "stopped", "failed"};
    json_t *report = NULL;
    FGI_TRY(fgi_run_view_read_report(f->folder, &report, err));
    f->state = report != NULL ? "failed" : "unknown";
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(fgi_json_words(report, "state"), states[i]) == 0)
            f->state = states[i];
    if (strcmp(fgi_json_words(report, "state"), "running") == 0 || was_killed(f->folder))
        f->state = "killed";
    json_decref(report);
    return FG_OK;
}

/* Looks once more after the run has ended. */
static fg_status follow(follower *f, fg_error *err)
{
    for (bool was_live = true;;) {
        const bool is_live = fgi_run_dir_is_live(f->folder);
        FGI_TRY(look(f, err));
        if (!is_live && !was_live)
            break;
        was_live = is_live;
        fgi_sleep(f->o->every_s > 0 ? f->o->every_s : 0.5);
    }
    FGI_TRY(read_state(f, err));
    if (f->seen.size == 0 && strcmp(f->state, "unknown") == 0)
        return fgi_fail(
            err, FG_ENOTFOUND,
            "'%s' is not the folder of a run: nothing writes to it, and it has no metrics",
            f->folder);
    return f->o->whole ? show_report(f, err) : FG_OK;
}

fg_status follow_run(const char *folder, const follow_options *options, const char **out_state,
                     fg_error *err)
{
    follower f = {.folder = folder, .o = options, .state = "unknown"};
    *out_state = f.state;
    FGI_TRY(fgi_run_dir_need(folder, err));
    f.path = cli_need(fgi_path_join(folder, "metrics.jsonl"));
    const fg_status status = follow(&f, err);
    *out_state = f.state;
    fgi_buf_fini(&f.seen);
    fgi_free(f.path);
    return status;
}
