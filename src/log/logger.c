/* logger.c - the loggers of a run: opens them, passes each line to all of them, and decides what a
 * failure means.
 *
 * A failure of a required logger, such as a full disk, does not end the run: the logger keeps its
 * lines and writes them later. Until then, no checkpoint counts as saved, and a fit that ends in
 * this state fails. A failure of another logger is reported once.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "log/logger.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/reserved.h"
#include "base/text.h"
#include "base/thread.h"
#include "log/log_item.h"
#include "log/log_start.h"
#include "log/logger_thread.h"
#include "log/loggers.h"
#include "option/option.h"

typedef struct slot {
    const fg_logger_ops *ops;
    void *self;
    fgi_logger_thread *thread; /* calls the functions; NULL: they are called directly */
    bool is_failing;           /* required: since its last success */
    bool is_unusable;          /* not required: it could not be opened */
    atomic_bool has_warned;    /* not required: of its first failure */
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
    slot *grown = fgi_grow(logger->at, logger->count, &logger->capacity, sizeof *grown);
    if (grown == NULL)
        return fgi_no_memory(err);
    logger->at = grown;
    grown[logger->count] = (slot){.ops = ops, .self = self};
    if (ops->has_thread)
        FGI_TRY(fgi_logger_thread_create(ops, self, FGI_LOGGER_PATIENCE_NS,
                                         &grown[logger->count].thread, err));
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

/* The index of the row, or fgi_logger_row_count. */
static size_t find_row(fgi_str name)
{
    size_t i = 0;
    while (i < fgi_logger_row_count && !fgi_str_equal(name, fgi_logger_rows[i]->name))
        i++;
    return i;
}

static fg_status unknown_row(fgi_str name, fg_error *err)
{
    fgi_buf names = {0};
    for (size_t i = 0; i < fgi_logger_row_count; i++)
        fgi_buf_printf(&names, "%s%s", i > 0 ? "|" : "", fgi_logger_rows[i]->name);
    fg_status status = fgi_buf_status(&names, err);
    if (status == FG_OK)
        status = fgi_fail(err, FG_EINVAL,
                          "trainer: options.output.loggers: expected names of %s, got '%.*s'",
                          names.data, (int)name.size, name.data);
    fgi_buf_fini(&names);
    return status;
}

/* Adds a built-in logger with the defaults of its options. */
static fg_status add_named(fgi_logger *logger, fgi_str name, fg_error *err)
{
    const size_t index = find_row(name);
    fg_option_values *values = NULL;
    void *self = NULL;
    if (index == fgi_logger_row_count)
        return unknown_row(name, err);
    const fg_logger_entry *row = (const fg_logger_entry *)fgi_logger_rows[index];
    for (size_t i = 0; i < logger->count; i++)
        if (logger->at[i].ops == row->ops)
            return fgi_fail(err, FG_EINVAL, "trainer: options.output.loggers: %s is listed twice",
                            row->entry.name);
    FGI_TRY(fg_option_values_create(row->entry.name, row->entry.options, row->entry.option_count,
                                    &values, err));
    const fg_status status =
        fgi_row_begin(&row->entry, values, row->init, row->ops->destroy, &self, err);
    fg_option_values_destroy(values);
    return status == FG_OK ? fgi_logger_add(logger, row->ops, self, err) : status;
}

static fg_status add_all(fgi_logger *logger, const char *names, fg_error *err)
{
    while (*names != '\0') {
        const size_t size = strcspn(names, ",");
        FGI_TRY(add_named(logger, fgi_str_trim((fgi_str){names, size}), err));
        names += size + (names[size] == ',');
    }
    return FG_OK;
}

fg_status fgi_logger_init(const char *names, fgi_logger **out, fg_error *err)
{
    *out = NULL;
    fgi_logger *logger = fgi_calloc(1, sizeof *logger);
    if (logger == NULL)
        return fgi_no_memory(err);
    const fg_status status = add_all(logger, names != NULL ? names : FGI_DEFAULT_LOGGERS, err);
    if (status != FG_OK) {
        destroy(logger);
        return status;
    }
    *out = logger;
    return FG_OK;
}

/* ---- failures -------------------------------------------------------------------------------- */

/* Reports the first failure of a logger, or of a required one also each first after a success.
 * Returns an error if the fit must end. */
static fg_status tolerate(slot *each, fg_status status, fg_error *err)
{
    if (!each->ops->is_required) {
        if (status != FG_OK && !atomic_exchange(&each->has_warned, true))
            fgi_log(FG_LOG_WARNING,
                    "logger '%s' failed: %s; training continues, and further failures of this "
                    "logger are not reported",
                    each->ops->name, err->message);
        return FG_OK;
    }
    if (status == FG_ENOMEM)
        return status;
    fgi_logger_report(each->ops->name, &each->is_failing, status, err);
    return FG_OK;
}

fg_status fgi_logger_set_info(fgi_logger *logger, const fg_run_info *info, fg_error *err)
{
    FGI_TRY_RESERVED(fg_run_info, info, err);
    const fg_log_start start = {
        .config = info->config, .settings = info->settings, .setting_count = info->setting_count};
    fgi_arena_reset(&logger->texts);
    return fgi_log_start_copy(&start, &logger->texts, &logger->info) ? FG_OK : fgi_no_memory(err);
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
    const bool has_room = logger->early_count < sizeof logger->early / sizeof *logger->early;
    if (has_room && fgi_log_item_copy(item, &logger->texts, &logger->early[logger->early_count]))
        logger->early_count++;
}

static void pass(fgi_logger *logger, const fg_log_item *item)
{
    for (size_t i = 0; i < logger->count; i++) {
        slot *each = &logger->at[i];
        fg_error local = {0};
        if (each->ops->item == NULL || each->is_unusable)
            continue;
        if (each->thread != NULL)
            fgi_logger_thread_item(each->thread, item);
        else
            (void)tolerate(each, each->ops->item(each->self, item, &local), &local);
    }
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
    const fg_status status = each->thread != NULL
                                 ? fgi_logger_thread_open(each->thread, start, &lines, &local)
                                 : each->ops->open(each->self, start, &lines, &local);
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

fg_status fgi_logger_create(const char *run_dir, int process_index, int64_t from_step,
                            int64_t lines, fgi_logger **out, fg_error *err)
{
    fgi_logger *logger = NULL;
    *out = NULL;
    if (process_index != 0)
        return FG_OK;
    FGI_TRY(fgi_logger_init(NULL, &logger, err));
    const fg_status status = fgi_logger_open(logger, run_dir, from_step, lines, err);
    if (status == FG_OK)
        *out = logger;
    else
        destroy(logger);
    return status;
}

int64_t fgi_logger_lines(const fgi_logger *logger) { return logger != NULL ? logger->lines : -1; }

/* ---- the callback ---------------------------------------------------------------------------- */

static fg_status log_event(fgi_logger *logger, const fg_progress *at, bool is_validation,
                           fg_error *err)
{
    const fg_log_line line = {.step = at->step,
                              .epoch = at->epoch,
                              .is_validation = is_validation,
                              .lr = at->lr,
                              .metrics = at->metrics,
                              .metric_count = at->metric_count,
                              .wall_time = fgi_wall_time()};
    for (size_t i = 0; i < logger->count; i++) {
        slot *each = &logger->at[i];
        fg_error local = {0};
        if (each->is_unusable)
            continue;
        const fg_status status = each->thread != NULL
                                     ? fgi_logger_thread_log(each->thread, &line, &local)
                                     : each->ops->log(each->self, &line, &local);
        if (tolerate(each, status, &local) != FG_OK)
            return fgi_fail(err, status, "%s", local.message);
    }
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

/* Flushes a logger with a thread, and waits for it if it is required. */
static fg_status flush_thread(slot *each, bool can_wait, fg_error *err)
{
    if (can_wait)
        return fgi_logger_thread_catch_up(each->thread, err);
    if (!each->ops->is_required) /* else `sync` does so */
        fgi_logger_thread_flush(each->thread);
    return FG_OK;
}

static fg_status flush_direct(slot *each, fg_error *err)
{
    const fg_status status = each->ops->flush(each->self, err);
    (void)tolerate(each, status, err);
    return status;
}

/* Flushes all loggers, also after a failure; returns the first failure of a required one. */
static fg_status flush(fgi_logger *logger, bool can_wait, fg_error *err)
{
    fg_status first = FG_OK;
    for (size_t i = 0; i < logger->count; i++) {
        slot *each = &logger->at[i];
        fg_error local = {0};
        if ((each->ops->flush == NULL && each->thread == NULL) || each->is_unusable)
            continue;
        const fg_status status = each->thread != NULL ? flush_thread(each, can_wait, &local)
                                                      : flush_direct(each, &local);
        if (status != FG_OK && each->ops->is_required && first == FG_OK)
            first = fgi_fail(err, status, "%s", local.message);
    }
    return first;
}

fg_status fgi_logger_flush(fgi_logger *logger, fg_error *err)
{
    return logger != NULL ? flush(logger, false, err) : FG_OK;
}

fg_status fgi_logger_catch_up(fgi_logger *logger, fg_error *err)
{
    return logger != NULL ? flush(logger, true, err) : FG_OK;
}

fg_status fgi_logger_sync(const fgi_logger *logger, fg_error *err)
{
    for (size_t i = 0; logger != NULL && i < logger->count; i++) {
        slot *each = &logger->at[i];
        fg_error local = {0};
        if ((each->ops->sync == NULL && each->thread == NULL) || each->is_unusable)
            continue;
        const fg_status status = each->thread != NULL ? fgi_logger_thread_sync(each->thread, &local)
                                                      : each->ops->sync(each->self, &local);
        if (status != FG_OK && each->ops->is_required)
            return fgi_fail(err, status, "%s", local.message);
        if (status != FG_OK)
            (void)tolerate(each, status, &local);
    }
    return FG_OK;
}

static fg_status on_saved(void *self, const fg_progress *at, fg_error *err)
{
    fgi_logger *logger = self;
    const fg_log_saved saved = {
        .path = at->path, .step = at->step, .epoch = at->epoch, .wall_time = fgi_wall_time()};
    (void)err;
    for (size_t i = 0; i < logger->count; i++) {
        slot *each = &logger->at[i];
        fg_error local = {0};
        if (each->ops->saved == NULL || each->is_unusable)
            continue;
        if (each->thread != NULL)
            fgi_logger_thread_saved(each->thread, &saved);
        else
            (void)tolerate(each, each->ops->saved(each->self, &saved, &local), &local);
    }
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

static void finish(fgi_logger *logger, int64_t step)
{
    const fg_log_end end = {.state = logger->state,
                            .message = logger->message,
                            .step = step,
                            .wall_time = fgi_wall_time()};
    for (size_t i = 0; i < logger->count; i++) {
        slot *each = &logger->at[i];
        fg_error local = {0};
        if (each->ops->finish == NULL || each->is_unusable)
            continue;
        if (each->thread != NULL)
            fgi_logger_thread_end(each->thread, &end);
        else
            (void)tolerate(each, each->ops->finish(each->self, &end, &local), &local);
    }
}

static fg_status on_fit_end(void *self, const fg_progress *at, fg_error *err)
{
    fgi_logger *logger = self;
    const fg_status status = flush(self, true, err);
    finish(logger, at->step);
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
