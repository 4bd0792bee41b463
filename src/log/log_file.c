/* log_file.c - files of loggers, and the lines of a .jsonl.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "log/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "input/json_file.h"

enum { MOST_KEPT = 1 << 26, FILE_LIMIT = 1 << 30 };

fg_status fgi_log_file_place(fgi_log_file *file, const char *run_dir, const char *name,
                             fg_error *err)
{
    if (file->path != NULL)
        return FG_OK;
    file->fd = -1;
    file->path = fgi_path_join(run_dir, name);
    return file->path != NULL ? FG_OK : fgi_no_memory(err);
}

fg_status fgi_log_file_begin(fgi_log_file *file, const fg_log_start *start, const char *name,
                             char **out, size_t *out_size, fg_error *err)
{
    *out = NULL;
    *out_size = 0;
    fgi_buf_clear(&file->kept);
    FGI_TRY(fgi_log_file_place(file, start->run_dir, name, err));
    return start->step > 0 ? fgi_log_file_read(file, out, out_size, err) : FG_OK;
}

fg_status fgi_log_file_read(const fgi_log_file *file, char **out, size_t *out_size, fg_error *err)
{
    *out = NULL;
    *out_size = 0;
    return fgi_file_exists(file->path) ? fgi_file_read(file->path, FILE_LIMIT, out, out_size, err)
                                       : FG_OK;
}

static void close_file(fgi_log_file *file)
{
    if (file->path != NULL && file->fd >= 0)
        (void)close(file->fd);
    file->fd = -1;
}

static fg_status open_file(fgi_log_file *file, fg_error *err)
{
    close_file(file);
    const int fd = open(file->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return fgi_fail_errno(err, "open", file->path);
    file->fd = fd;
    return FG_OK;
}

fg_status fgi_log_file_replace(fgi_log_file *file, const void *data, size_t size, fg_error *err)
{
    FGI_TRY(fgi_file_write_atomic(file->path, data != NULL ? data : "", size, err));
    return open_file(file, err);
}

fg_status fgi_log_file_append(const fgi_log_file *file, fg_error *err)
{
    const fgi_buf *text = &file->kept;
    FGI_TRY(fgi_buf_status(text, err));
    const off_t before = lseek(file->fd, 0, SEEK_END);
    const fg_status status = fgi_write_all(file->fd, file->path, text->data, text->size, err);
    if (status != FG_OK && before >= 0 && ftruncate(file->fd, before) != 0)
        return status; /* a device, not a file */
    return status;
}

/* Opens the file again: the Trainer's thread may replace it meanwhile. */
fg_status fgi_log_file_sync(void *logger, fg_error *err)
{
    const fgi_log_file *file = logger;
    if (file->path == NULL)
        return FG_OK;
    const int fd = open(file->path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) /* ENOENT: it was deleted, by the user */
        return errno == ENOENT ? FG_OK : fgi_fail_errno(err, "open", file->path);
    fg_status status = FG_OK;
    if (fdatasync(fd) != 0 && errno != EINVAL) /* EINVAL: not a file that can be synced */
        status = fgi_fail_errno(err, "sync", file->path);
    (void)close(fd);
    return status;
}

void fgi_log_file_close(fgi_log_file *file)
{
    close_file(file);
    fgi_free(file->path);
    file->path = NULL;
}

void fgi_log_file_destroy(void *logger)
{
    fgi_log_file *file = logger;
    fgi_log_file_close(file);
    fgi_buf_fini(&file->kept);
    fgi_free(logger);
}

fg_status fgi_log_keep(fgi_log_file *file, size_t before, fg_error *err)
{
    fgi_buf *kept = &file->kept;
    if (!kept->failed)
        return FG_OK;
    kept->size = before;
    kept->failed = false;
    return fgi_no_memory(err);
}

fg_status fgi_log_kept(fgi_log_file *file, fg_status status, fg_error *err)
{
    if (status == FG_OK)
        fgi_buf_clear(&file->kept);
    if (status == FG_OK || file->kept.size <= MOST_KEPT)
        return status;
    return fgi_context(err, FG_ENOMEM, "more than 64 MiB of the log could not be written");
}

void fgi_log_put_time(fgi_buf *out, double seconds) { fgi_buf_printf(out, "%.3f", seconds); }

/* Negative zero is 0: in JSON it is read back as an integer, which has no sign. */
void fgi_log_put_number(fgi_buf *out, double value, const char *missing)
{
    if (isfinite(value))
        fgi_buf_printf(out, "%.9g", fabs(value) > 0 ? value : 0);
    else
        fgi_buf_puts(out, missing);
}

bool fgi_log_is_valid(const fg_log_start *start, int64_t step, int64_t number)
{
    return step < start->step ||
           (step == start->step && (start->lines < 0 || number < start->lines));
}

int64_t fgi_log_each_line(fgi_str text, const fg_log_start *start, fgi_log_line_fn *each,
                          void *self, size_t *out_size)
{
    size_t at = 0;
    int64_t number = 0;
    while (at < text.size) {
        const char *end = memchr(text.data + at, '\n', text.size - at);
        if (end == NULL)
            break;
        json_t *line = fgi_json_load(text.data + at, (size_t)(end - text.data) - at, 0, NULL);
        const json_t *step = json_object_get(line, "step");
        const bool is_valid =
            json_is_integer(step) && fgi_log_is_valid(start, json_integer_value(step), number);
        if (is_valid && each != NULL)
            each(self, line);
        json_decref(line);
        if (!is_valid)
            break;
        at = (size_t)(end - text.data) + 1;
        number++;
    }
    if (out_size != NULL)
        *out_size = at;
    return number;
}

fg_status fgi_log_read_history(const fg_log_start *start, fgi_log_line_fn *each, void *self,
                               int64_t *out_lines, fg_error *err)
{
    char *text = NULL;
    size_t size = 0;
    *out_lines = 0;
    if (start->step == 0 || start->history == NULL || !fgi_file_exists(start->history))
        return FG_OK;
    FGI_TRY(fgi_file_read(start->history, FILE_LIMIT, &text, &size, err));
    *out_lines = fgi_log_each_line((fgi_str){text, size}, start, each, self, NULL);
    fgi_free(text);
    return FG_OK;
}

static double number_of(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

fg_log_line fgi_log_line_of(json_t *line, fg_metric metrics[FGI_LOG_VALUES])
{
    static const char *const others[] = {"step", "epoch", "lr", FGI_LOG_TIME};
    size_t count = 0;
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(line, key, value)
    {
        bool is_other = strlen(key) >= sizeof metrics[0].name;
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
            is_other |= strcmp(key, others[i]) == 0;
        if (is_other || count == FGI_LOG_VALUES)
            continue;
        (void)fgi_snprintf(metrics[count].name, sizeof metrics[count].name, "%s", key);
        metrics[count++].value = number_of(value);
    }
    return (fg_log_line){.step = json_integer_value(json_object_get(line, "step")),
                         .epoch = json_integer_value(json_object_get(line, "epoch")),
                         .is_validation = json_object_get(line, "lr") == NULL,
                         .lr = number_of(json_object_get(line, "lr")),
                         .metrics = metrics,
                         .metric_count = count,
                         .wall_time = number_of(json_object_get(line, FGI_LOG_TIME))};
}
