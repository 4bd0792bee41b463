/* logger.c - the loggers of a run: opens them, passes each line to all of them, and decides what a
 * failure means.
 *
 * A failure of a required logger, such as a full disk, does not end the run: the logger keeps its
 * lines and writes them later. Until then, no checkpoint counts as saved, and a fit that ends in
 * this state fails. A failure of another logger is reported once.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "log/logger.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/reserved.h"
#include "base/text.h"
#include "base/thread.h"
#include "log/logger_thread.h"
#include "option/option.h"

typedef struct slot {
    const fg_logger_ops *ops;
    void *self;
    fgi_logger_thread *thread; /* calls the functions; NULL: they are called directly */
    fgi_logger_reported reported;
    bool is_unusable; /* not required: it could not be opened */
} slot;

struct fgi_logger {
    slot *at;
    size_t count, capacity;
    int64_t lines;     /* of the run */
    fg_log_start info; /* what a program tells the loggers, in `texts` */
    fgi_arena texts;
    bool has_items; /* a logger has the function `item` */
    bool is_open;
    fg_log_item early[2]; /* logged before it was open, in `texts` */
    size_t early_count;
    bool has_graph;     /* the graph was logged */
    fg_log_state state; /* of the fit, at its end */
    char message[sizeof((fg_error *)NULL)->message];
};

/* ---- the list -------------------------------------------------------------------------------- */

static void destroy(void *self)
{
    fgi_logger *logger = self;
    for (size_t i = 0; i < logger->count; i++) {
        slot *each = &logger->at[i];
        if (each->thread != NULL)
            fgi_logger_thread_destroy(each->thread);
        else if (each->ops->destroy != NULL)
            each->ops->destroy(each->self);
    }
    fgi_arena_fini(&logger->texts);
    fgi_free(logger->at);
    fgi_free(logger);
}

void fgi_logger_destroy(fgi_logger *logger)
{
    if (logger != NULL)
        destroy(logger);
}

static fg_status append(fgi_logger *logger, const fg_logger_ops *ops, void *self, fg_error *err)
{
    FGI_TRY_RESERVED(fg_logger_ops, ops, err);
    if (ops->name == NULL || ops->log == NULL)
        return fgi_fail(err, FG_EINVAL, "logger '%s' has no %s", ops->name != NULL ? ops->name : "",
                        ops->name == NULL ? "name" : "log function");
    FGI_TRY_GROW(logger->at, logger->count, logger->capacity, err);
    logger->at[logger->count] = (slot){.ops = ops, .self = self};
    if (ops->has_thread)
        FGI_TRY(fgi_logger_thread_create(ops, self, FGI_LOGGER_PATIENCE_NS,
                                         &logger->at[logger->count].thread, err));
    logger->count++;
    logger->has_items |= ops->item != NULL;
    return FG_OK;
}

fg_status fgi_logger_add(fgi_logger *logger, const fg_logger_ops *ops, void *take_self,
                         fg_error *err)
{
    const fg_status status = append(logger, ops, take_self, err);
    if (status != FG_OK && ops->destroy != NULL)
        ops->destroy(take_self);
    return status;
}

static fg_status unknown_row(const char *name, fg_error *err)
{
    fgi_buf names = {0};
    for (size_t i = 0; i < fgi_logger_row_count; i++)
        fgi_buf_printf(&names, "%s%s", i > 0 ? "|" : "", fgi_logger_rows[i]->name);
    fg_status status = fgi_buf_status(&names, err);
    if (status == FG_OK)
        status = fgi_fail(err, FG_EINVAL,
                          "trainer: options.output.loggers: expected names of %s, got '%s'",
                          names.data, name);
    fgi_buf_fini(&names);
    return status;
}

/* Adds a built-in logger, "NAME: {OPTION: VALUE, ...}"; the text is changed. */
static fg_status add_named(fgi_logger *logger, char *name, fg_error *err)
{
    fg_option_values *values = NULL;
    void *self = NULL;
    const char *options = fgi_option_split_pair(name);
    size_t index = 0;
    while (index < fgi_logger_row_count && strcmp(name, fgi_logger_rows[index]->name) != 0)
        index++;
    if (index == fgi_logger_row_count)
        return unknown_row(name, err);
    const fg_logger_entry *row = (const fg_logger_entry *)fgi_logger_rows[index];
    for (size_t i = 0; i < logger->count; i++)
        if (logger->at[i].ops == row->ops)
            return fgi_fail(err, FG_EINVAL, "trainer: options.output.loggers: %s is listed twice",
                            row->entry.name);
    FGI_TRY(fg_option_values_create(row->entry.name, row->entry.options, row->entry.option_count,
                                    &values, err));
    fg_status status = fg_option_set_all(values, options, "trainer: options.output.loggers", err);
    if (status == FG_OK)
        status = fgi_row_begin(&row->entry, values, row->init, row->ops->destroy, &self, err);
    fg_option_values_destroy(values);
    return status == FG_OK ? fgi_logger_add(logger, row->ops, self, err) : status;
}

static fg_status add_all(fgi_logger *logger, const fg_strings *names, fg_error *err)
{
    for (size_t i = 0; i < names->count; i++) {
        char *text = fgi_strdup(names->at[i]);
        if (text == NULL)
            return fgi_no_memory(err);
        const fg_status status = add_named(logger, text, err);
        fgi_free(text);
        FGI_TRY(status);
    }
    return FG_OK;
}

fg_status fgi_logger_init(const fg_strings *names, fgi_logger **out, fg_error *err)
{
    *out = NULL;
    fgi_logger *logger = fgi_calloc(1, sizeof *logger);
    if (logger == NULL)
        return fgi_no_memory(err);
    const fg_status status = add_all(logger, names, err);
    if (status != FG_OK) {
        destroy(logger);
        return status;
    }
    *out = logger;
    return FG_OK;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Reports a failure; returns an error if the fit must end. */
static fg_status tolerate(slot *each, fg_status status, const fg_error *err)
{
    if (status == FG_ENOMEM && each->ops->is_required)
        return status;
    fgi_logger_report(each->ops, &each->reported, status, err);
    return FG_OK;
}

static fg_status call_one(const slot *each, const fgi_logger_call *call, int64_t *lines,
                          fg_error *err)
{
    return each->thread != NULL ? fgi_logger_thread_call(each->thread, call, lines, err)
                                : fgi_logger_call_now(each->ops, each->self, call, lines, err);
}

/* Calls a function of all loggers that have it, also after a failure. Returns the first one of a
 * required logger that matters: of memory, or of a flush or sync. */
static fg_status call_all(const fgi_logger *logger, const fgi_logger_call *call, fg_error *err)
{
    fg_status first = FG_OK;
    const bool syncs = call->of == FGI_LOGGER_SYNC, writes = syncs || call->of == FGI_LOGGER_FLUSH;
    for (size_t i = 0; i < logger->count; i++) {
        slot *each = &logger->at[i];
        fg_error local = {0};
        /* a thread writes the lines that wait even if there is no function */
        const bool has = fgi_logger_has(each->ops, call->of) || (writes && each->thread != NULL);
        if (each->is_unusable || !has)
            continue;
        const fg_status status = call_one(each, call, NULL, &local);
        const bool must = writes && each->ops->is_required;
        const bool is_said = must && (syncs || each->thread != NULL); /* elsewhere */
        const fg_status ends = is_said ? FG_OK : tolerate(each, status, &local);
        if ((must ? status : ends) != FG_OK && first == FG_OK)
            first = fgi_fail(err, status, "%s", local.message);
    }
    return first;
}

fg_status fgi_logger_set_info(fgi_logger *logger, const fg_run_info *info, fg_error *err)
{
    FGI_TRY_RESERVED(fg_run_info, info, err);
    fg_log_start start = {
        .config = info->config, .settings = info->settings, .setting_count = info->setting_count};
    fgi_arena_reset(&logger->texts);
    logger->info = (fg_log_start){0};
    if (!fgi_log_start_own(&start, &logger->texts))
        return fgi_no_memory(err);
    logger->info = start;
    return FG_OK;
}

/* ---- texts, images, histograms, graphs ------------------------------------------------------- */

bool fgi_logger_takes_items(const fgi_logger *logger)
{
    return logger != NULL && logger->is_open && logger->has_items;
}

bool fgi_logger_lacks_graph(const fgi_logger *logger)
{
    return logger != NULL && logger->has_items && !logger->has_graph;
}

/* Keeps an item until the log is opened; when out of memory, it is left out. */
static void keep(fgi_logger *logger, const fg_log_item *item)
{
    if (logger->early_count == sizeof logger->early / sizeof *logger->early)
        return;
    fg_log_item *kept = &logger->early[logger->early_count];
    *kept = *item;
    logger->early_count += fgi_log_item_own(kept, &logger->texts);
}

static void pass(const fgi_logger *logger, const fg_log_item *item)
{
    const fgi_logger_call call = {.of = FGI_LOGGER_ITEM, .item = *item};
    (void)call_all(logger, &call, NULL);
}

static void pass_kept(fgi_logger *logger, const fg_log_start *start)
{
    for (size_t i = 0; i < logger->early_count; i++) {
        logger->early[i].step = start->step;
        logger->early[i].wall_time = start->wall_time;
        pass(logger, &logger->early[i]);
    }
    logger->early_count = 0;
}

void fgi_logger_item(fgi_logger *logger, const fg_log_item *item)
{
    logger->has_graph |= item->kind == FG_LOG_GRAPH;
    if (logger->is_open)
        pass(logger, item);
    else
        keep(logger, item);
}

/* ---- opening --------------------------------------------------------------------------------- */

static fg_status open_one(fgi_logger *logger, slot *each, const fg_log_start *start, fg_error *err)
{
    fg_error local = {0};
    int64_t lines = -1;
    if (each->ops->open == NULL || each->is_unusable)
        return FG_OK;
    const fgi_logger_call call = {.of = FGI_LOGGER_OPEN, .start = *start};
    const fg_status status = call_one(each, &call, &lines, &local);
    if (status == FG_OK) {
        logger->lines = lines > logger->lines ? lines : logger->lines;
        return FG_OK;
    }
    if (each->ops->is_required)
        return fgi_fail(err, status, "%s", local.message);
    each->is_unusable = true;
    return tolerate(each, status, &local);
}

/* Whether this is the logger that writes the lines that others can continue from. */
static bool is_history(const slot *each) { return each->ops == fgi_jsonl_logger_row.ops; }

static fg_status open_all(fgi_logger *logger, fg_log_start *start, const char *history,
                          fg_error *err)
{
    for (size_t i = 0; i < logger->count; i++)
        if (is_history(&logger->at[i])) {
            FGI_TRY(open_one(logger, &logger->at[i], start, err));
            start->history = history;
        }
    for (size_t i = 0; i < logger->count; i++)
        if (!is_history(&logger->at[i]))
            FGI_TRY(open_one(logger, &logger->at[i], start, err));
    return FG_OK;
}

fg_status fgi_logger_open(fgi_logger *logger, const char *run_dir, int64_t from_step, int64_t lines,
                          fg_error *err)
{
    char *history = fgi_path_join(run_dir, "metrics.jsonl");
    if (history == NULL)
        return fgi_no_memory(err);
    fg_log_start start = logger->info;
    start.run_dir = run_dir;
    start.step = from_step;
    start.lines = lines;
    start.wall_time = fgi_wall_time();
    logger->lines = 0;
    const fg_status status = open_all(logger, &start, history, err);
    logger->is_open = status == FG_OK;
    if (logger->is_open)
        pass_kept(logger, &start);
    fgi_free(history);
    return status;
}

int64_t fgi_logger_lines(const fgi_logger *logger) { return logger != NULL ? logger->lines : -1; }

/* ---- the callback ---------------------------------------------------------------------------- */

static fg_status log_event(fgi_logger *logger, const fg_progress *at, bool is_validation,
                           fg_error *err)
{
    const fgi_logger_call call = {.of = FGI_LOGGER_LOG,
                                  .line = {.step = at->step,
                                           .epoch = at->epoch,
                                           .is_validation = is_validation,
                                           .lr = at->lr,
                                           .metrics = at->metrics,
                                           .metric_count = at->metric_count,
                                           .wall_time = fgi_wall_time()}};
    FGI_TRY(call_all(logger, &call, err));
    logger->lines++;
    return FG_OK;
}

static fg_status on_log(void *self, const fg_progress *at, fg_error *err)
{
    return log_event(self, at, false, err);
}

static fg_status on_val_end(void *self, const fg_progress *at, fg_error *err)
{
    return log_event(self, at, true, err);
}

static fg_status flush(const fgi_logger *logger, bool can_wait, fg_error *err)
{
    const fgi_logger_call call = {.of = FGI_LOGGER_FLUSH, .can_wait = can_wait};
    return logger != NULL ? call_all(logger, &call, err) : FG_OK;
}

fg_status fgi_logger_flush(fgi_logger *logger, fg_error *err) { return flush(logger, false, err); }

fg_status fgi_logger_catch_up(fgi_logger *logger, fg_error *err)
{
    return flush(logger, true, err);
}

fg_status fgi_logger_sync(const fgi_logger *logger, fg_error *err)
{
    const fgi_logger_call call = {.of = FGI_LOGGER_SYNC};
    return logger != NULL ? call_all(logger, &call, err) : FG_OK;
}

static fg_status on_saved(void *self, const fg_progress *at, fg_error *err)
{
    const fgi_logger_call call = {
        .of = FGI_LOGGER_SAVED,
        .saved = {
            .path = at->path, .step = at->step, .epoch = at->epoch, .wall_time = fgi_wall_time()}};
    (void)err;
    (void)call_all(self, &call, NULL);
    return FG_OK;
}

void fgi_logger_set_end(fgi_logger *logger, fg_status status, const char *message)
{
    if (logger == NULL)
        return;
    logger->state = status == FG_OK         ? FG_LOG_DONE
                    : status == FG_ESTOPPED ? FG_LOG_STOPPED
                                            : FG_LOG_FAILED;
    (void)snprintf(logger->message, sizeof logger->message, "%s", status != FG_OK ? message : "");
}

static fg_status on_fit_end(void *self, const fg_progress *at, fg_error *err)
{
    fgi_logger *logger = self;
    const fgi_logger_call end = {.of = FGI_LOGGER_FINISH,
                                 .end = {.state = logger->state,
                                         .message = logger->message,
                                         .step = at->step,
                                         .wall_time = fgi_wall_time()}};
    const fg_status status = flush(logger, true, err);
    (void)call_all(logger, &end, NULL);
    for (size_t i = 0; i < logger->count; i++)
        if (logger->at[i].thread != NULL && !logger->at[i].is_unusable)
            fgi_logger_thread_finish(logger->at[i].thread);
    return status;
}

const fg_callback_ops fgi_logger_ops = {.name = "loggers",
                                        .log = on_log,
                                        .val_end = on_val_end,
                                        .saved = on_saved,
                                        .fit_end = on_fit_end,
                                        .destroy = destroy};
