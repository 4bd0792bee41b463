/* test_train_saves.c - checkpoints written in the background, on disks that are slow, full or
 * read-only: this file overrides the system calls of the file layer. On
 * the fake plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/thread.h"
#include "ckpt/series.h"
#include "toy_place.h"
#include "train/progress/progress.h"
#include "train/save/saver.h"
#include "train/trainer.h"

/* ---- the disk -------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_closed, was_too_long; /* the gate before fsync; whether waiting at it timed out */
static int waiting;                  /* threads waiting at the gate */
static atomic_int failing;           /* number of next checkpoints that fail; -1: all */
static atomic_int failure;           /* with this errno ... */
static atomic_bool at_mkdir;         /* ... immediately, otherwise while their content is written */
static atomic_int writing, most_writing, written;

static void disk_reset(void)
{
    (void)pthread_mutex_lock(&lock);
    is_closed = was_too_long = false;
    (void)pthread_mutex_unlock(&lock);
    atomic_store(&failing, 0);
    atomic_store(&failure, ENOSPC);
    atomic_store(&at_mkdir, false);
    atomic_store(&writing, 0);
    atomic_store(&most_writing, 0);
    atomic_store(&written, 0);
}

static void set_gate(bool closed)
{
    (void)pthread_mutex_lock(&lock);
    is_closed = closed;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
}

/* a function pointer from dlsym, without the cast that ISO C forbids */
#define REAL(type, name)                                                                           \
    type function;                                                                                 \
    void *object = dlsym(RTLD_NEXT, name);                                                         \
    memcpy(&function, &object, sizeof function)

int fsync(int fd)
{
    typedef int fsync_fn(int);
    struct timespec until;
    REAL(fsync_fn *, "fsync");
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 30;
    (void)pthread_mutex_lock(&lock);
    waiting++;
    (void)pthread_cond_broadcast(&changed);
    while (is_closed && !was_too_long)
        was_too_long = pthread_cond_timedwait(&changed, &lock, &until) == ETIMEDOUT;
    waiting--;
    (void)pthread_mutex_unlock(&lock);
    return function(fd);
}

/* Whether this call belongs to a checkpoint that should fail. */
static bool fails(void)
{
    if (atomic_load(&failing) == 0)
        return false;
    errno = atomic_load(&failure);
    return true;
}

static void count_failure(void)
{
    if (atomic_load(&failing) > 0)
        (void)atomic_fetch_sub(&failing, 1);
}

/* A checkpoint begins with its temporary folder. */
int mkdir(const char *path, mode_t mode)
{
    typedef int mkdir_fn(const char *, mode_t);
    REAL(mkdir_fn *, "mkdir");
    if (strstr(path, "/step-") == NULL)
        return function(path, mode);
    if (atomic_load(&at_mkdir) && fails()) {
        count_failure();
        errno = atomic_load(&failure);
        return -1;
    }
    const int now = atomic_fetch_add(&writing, 1) + 1;
    if (now > atomic_load(&most_writing))
        atomic_store(&most_writing, now);
    return function(path, mode);
}

ssize_t write(int fd, const void *data, size_t size)
{
    typedef ssize_t write_fn(int, const void *, size_t);
    char name[64], path[512];
    REAL(write_fn *, "write");
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(name, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    if (strstr(path, "/state.json") == NULL || !fails())
        return function(fd, data, size);
    count_failure();
    (void)atomic_fetch_sub(&writing, 1);
    errno = atomic_load(&failure);
    return -1;
}

/* ... and ends with `last`. */
int rename(const char *from, const char *to)
{
    typedef int rename_fn(const char *, const char *);
    REAL(rename_fn *, "rename");
    const size_t size = strlen(to);
    const int result = function(from, to);
    if (size > 5 && strcmp(to + size - 5, "/last") == 0) {
        (void)atomic_fetch_add(&written, 1);
        (void)atomic_fetch_sub(&writing, 1);
    }
    return result;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static char warnings[4096];
static FILE *progress;       /* of the run, or NULL */
static char before_line[64]; /* its last characters when a warning arrives */

static void on_line(void *self, fg_log_level level, const char *line)
{
    (void)self;
    if (progress != NULL) {
        const off_t size = lseek(fileno(progress), 0, SEEK_END);
        const ssize_t got =
            pread(fileno(progress), before_line, sizeof before_line - 1, size > 60 ? size - 60 : 0);
        before_line[got > 0 ? got : 0] = '\0';
    }
    if (level >= FG_LOG_WARNING)
        (void)snprintf(warnings + strlen(warnings), sizeof warnings - strlen(warnings), "%s\n",
                       line);
}

static int open_all(void **state)
{
    (void)state;
    fg_log_set(on_line, NULL);
    return open_place(12, 4); /* 3 steps an epoch */
}

static int close_saves(void **state)
{
    fg_log_set(NULL, NULL);
    return close_all(state);
}

static int reset(void **state)
{
    (void)state;
    warnings[0] = '\0';
    disk_reset();
    return 0;
}

static fg_fit_data in_order(void)
{
    fg_fit_data data = the_data();
    data.no_shuffle = true;
    return data;
}

static fg_trainer *create(const fg_trainer_options *options, const char *folder, recorder *r)
{
    fg_error err = {0};
    fg_trainer_options o = *options;
    o.checkpoints.run_dir = folder;
    o.checkpoints.ckpt_every_epochs += o.checkpoints.ckpt_every_epochs == 0;
    o.output.log_every = 1;
    fg_trainer *trainer = toy_trainer(client, &o);
    fgt_ok(fg_trainer_add_callback(trainer, &recorder_ops, r, &err));
    return trainer;
}

/* The step of the checkpoint that a run would resume from, which must be complete. */
static int last_step(const char *folder)
{
    fg_error err = {0};
    char *path = NULL;
    fgt_ok(fgi_ckpt_resolve(fgt_path(folder, "checkpoints"), "last", &path, &err));
    const int step = (int)strtol(strrchr(path, '-') + 1, NULL, 10);
    fgi_free(path);
    return step;
}

/* Fits and destroys the Trainer; returns the number of completed steps. */
static int64_t fit(const fg_trainer_options *options, const char *folder, recorder *r,
                   fg_status expected, fg_error *err)
{
    const fg_fit_data data = in_order();
    fg_trainer *trainer = create(options, folder, r);
    const fg_status status = fg_trainer_fit(trainer, &task, &data, err);
    if (status != expected)
        fail_msg("%s: '%s'", fg_status_name(status), err->message);
    const int64_t steps = fg_trainer_result(trainer)->steps;
    fg_trainer_destroy(trainer);
    return steps;
}

static void assert_in_order(const char *text, const char *first, const char *second)
{
    const char *a = strstr(text, first), *b = strstr(text, second);
    if (a == NULL || b == NULL || a > b)
        fail_msg("'%s' is not before '%s' in:\n%s", first, second, text);
}

/* ---- a slow disk ----------------------------------------------------------------------------- */

static fg_status close_gate(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)err;
    if (at->step == 3)
        set_gate(true);
    return FG_OK;
}

static fg_status open_gate(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)err;
    if (at->step == 5)
        set_gate(false);
    return FG_OK;
}

/* The disk only responds after two more steps have been launched: if training waited for it, this
 * would be a deadlock. */
static void steps_do_not_wait_for_the_disk(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    static const fg_callback_ops gate = {.epoch_end = close_gate, .batch_end = open_gate};
    const char *folder = fgt_temp_folder();
    const fg_fit_data data = in_order();
    r = (recorder){0};
    fg_trainer *trainer = create(&(fg_trainer_options){.limits.max_epochs = 2}, folder, &r);
    fgt_ok(fg_trainer_add_callback(trainer, &gate, NULL, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fg_trainer_destroy(trainer);
    assert_false(was_too_long);
    assert_in_order(r.text, "batch_end    step 5", "saved        step 3  epoch 1  batch 0/3");
    assert_in_order(r.text, "saved        step 3", "saved        step 6  epoch 2  batch 0/3");
    assert_in_order(r.text, "saved        step 6", "fit_end");
    assert_int_equal(last_step(folder), 6);
}

static void one_save_at_a_time(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    char line[64];
    const char *folder = fgt_temp_folder();
    r = (recorder){0};
    (void)fit(&(fg_trainer_options){.limits.max_epochs = 4, .checkpoints.ckpt_every_steps = 1},
              folder, &r, FG_OK, &err);
    assert_int_equal(atomic_load(&most_writing), 1);
    assert_int_equal(recorder_count(&r, "saved"), 12);
    assert_int_equal(last_step(folder), 12);
    for (int step = 1; step <= 12; step++) { /* each after its step and before the next save */
        char before[64];
        (void)snprintf(before, sizeof before, "batch_end    step %d ", step);
        (void)snprintf(line, sizeof line, "saved        step %d ", step);
        assert_in_order(r.text, before, line);
    }
}

/* Every 3 steps, of which the last is the end of an epoch. */
static void a_save_is_due_at_the_end_of_an_epoch_too(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    r = (recorder){0};
    (void)fit(&(fg_trainer_options){.limits.max_epochs = 2,
                                    .checkpoints.ckpt_every_epochs = FG_NONE,
                                    .checkpoints.ckpt_every_steps = 3},
              fgt_temp_folder(), &r, FG_OK, &err);
    assert_in_order(r.text, "saved        step 3  epoch 1", "saved        step 6  epoch 2");
}

/* The disk responds when the watchdog has reported that the run waits for it. */
static void on_hang(void *self, const fg_hang *hang)
{
    if (strcmp(hang->doing, "training step 3: saving a checkpoint") != 0)
        return;
    *(int *)self += 1;
    set_gate(false);
}

/* What the watchdog would report while the state of a callback is saved. */
static size_t note_doing(void *self, void *bytes, size_t size)
{
    const fg_trainer *trainer = self;
    const fgi_span *doing = trainer->spans.innermost;
    (void)bytes, (void)size;
    assert_int_equal(doing->activity, FGI_CHECKPOINT);
    assert_int_equal(doing->number, trainer->cursor.step);
    return 0;
}

static fg_status load_nothing(void *self, const void *bytes, size_t size, fg_error *err)
{
    (void)self, (void)bytes, (void)size, (void)err;
    return FG_OK;
}

static void a_run_may_wait_for_its_saves(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    static const fg_callback_ops ops = {
        .name = "gate", .epoch_end = close_gate, .save = note_doing, .load = load_nothing};
    int reports = 0;
    const fg_fit_data data = in_order();
    r = (recorder){0};
    fg_trainer *trainer = create(
        &(fg_trainer_options){
            .limits.max_epochs = 2,
            .checkpoints.wait_for_saves = true,
            .hang = {.watchdog_s = 0.05, .report = on_hang, .report_self = &reports}},
        fgt_temp_folder(), &r);
    fgt_ok(fg_trainer_add_callback(trainer, &ops, trainer, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fg_trainer_destroy(trainer);
    assert_true(reports > 0);
    assert_false(was_too_long);
    assert_in_order(r.text, "saved        step 3", "epoch_start  step 3");
}

/* ---- a disk that cannot be written ----------------------------------------------------------- */

static const fg_trainer_options four_epochs = {.limits.max_epochs = 4,
                                               .checkpoints.wait_for_saves = true};

static const struct {
    int count, number;
    bool at_mkdir;
    const char *why;
} failed_saves[] = {{1, ENOSPC, false, "No space left on device"},
                    {2, ENOSPC, false, "No space left on device"},
                    {1, EROFS, true, "Read-only file system"},
                    {2, EACCES, true, "Permission denied"}};

/* The checkpoint at step 6 fails, or those at 6 and 9: the older one remains until the next one
 * succeeds. */
static void a_save_that_fails_is_no_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof failed_saves / sizeof failed_saves[0]; i++) {
        fg_error err = {0};
        static recorder r;
        const char *folder = fgt_temp_folder();
        fg_trainer_options resumed = four_epochs;
        r = (recorder){0};
        (void)fit(&(fg_trainer_options){.limits.max_epochs = 1}, folder, &r, FG_OK, &err);
        (void)reset(NULL);
        atomic_store(&failing, failed_saves[i].count);
        atomic_store(&failure, failed_saves[i].number);
        atomic_store(&at_mkdir, failed_saves[i].at_mkdir);
        resumed.checkpoints.resume = "last";
        r = (recorder){0};
        assert_int_equal(fit(&resumed, folder, &r, FG_OK, &err), 12);
        assert_int_equal(recorder_count(&r, "saved"), 3 - failed_saves[i].count);
        assert_non_null(strstr(warnings, "the checkpoint of step 6 could not be written: cannot "));
        assert_non_null(strstr(warnings, failed_saves[i].why));
        assert_non_null(strstr(warnings, "; the last checkpoint is "));
        assert_non_null(strstr(warnings, "/checkpoints/step-000000003\n"));
        assert_int_equal(last_step(folder), 12);
    }
}

/* Ranks the state by this val_loss, as a fit does. */
static fgi_rank rank_by(fg_trainer *trainer, double loss)
{
    const fgi_best_rule rule = fgi_best_rule_of(&trainer->options.checkpoints);
    return fgi_rank_metrics(&trainer->cursor.top, &rule, trainer->cursor.step,
                            &(fg_metric){"val_loss", loss}, 1, trainer->saver->snapshot != NULL);
}

/* The fake plugin has no metrics: ranks the ends of epochs as a validation would. As the first
 * state was not saved, that of step 6 is the best, although its loss is larger. */
static fg_status rank(void *self, const fg_progress *at, fg_error *err)
{
    if (at->step % 3 == 0)
        assert_int_equal(rank_by(self, (double)at->step), FGI_RANK_BEST);
    return FG_OK;
}

/* A checkpoint that could not be written is none of the best, unless the retry at the end of the
 * fit succeeds. */
static void a_save_that_fails_has_no_rank(void **state)
{
    static const fg_callback_ops ops = {.batch_end = rank};
    for (int epochs = 1; epochs <= 2; epochs++) {
        fg_error err = {0};
        static recorder r;
        const fg_fit_data data = in_order();
        const fg_trainer_options options = {.limits.max_epochs = epochs,
                                            .checkpoints.wait_for_saves = true};
        r = (recorder){0};
        fg_trainer *trainer = create(&options, fgt_temp_folder(), &r);
        fgt_ok(fg_trainer_add_callback(trainer, &ops, trainer, &err));
        atomic_store(&failing, 1);
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        assert_int_equal(trainer->cursor.top.count, 1);
        assert_int_equal(trainer->cursor.top.entry[0].step, 3 * epochs);
        fg_trainer_destroy(trainer);
    }
}

/* The states after epochs 1 and 3 are the best so far. */
static fg_status rank_third(void *self, const fg_progress *at, fg_error *err)
{
    static const double losses[] = {5, 7, 4};
    if (at->step % 3 == 0)
        (void)rank_by(self, losses[(at->step - 1) / 3]);
    return FG_OK;
}

/* A save that ends, or fails, two steps later has the step at which it began. */
static void a_slow_save_belongs_to_its_step(void **state)
{
    (void)state;
    static const fg_callback_ops gate = {.epoch_end = close_gate, .batch_end = open_gate},
                                 ranks = {.batch_end = rank_third};
    static recorder r[2];
    const fg_fit_data data = in_order();
    for (int failed = 0; failed < 2; failed++) {
        fg_error err = {0};
        fg_trainer *trainer =
            create(&(fg_trainer_options){.limits.max_epochs = 2}, fgt_temp_folder(), &r[failed]);
        fgt_ok(fg_trainer_add_callback(trainer, &ranks, trainer, &err));
        fgt_ok(fg_trainer_add_callback(trainer, &gate, NULL, &err));
        atomic_store(&failing, failed);
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        assert_true(failed ? strstr(warnings, "the checkpoint of step 3 could not be ") != NULL
                           : trainer->cursor.top.entry[0].step == 3);
        fg_trainer_destroy(trainer);
    }
}

/* Until the next checkpoint, a run may go back to the one before the best, when the best is again
 * the former one. */
static void the_former_best_is_kept_if_training_may_go_back(void **state)
{
    static const fg_callback_ops ops = {.batch_end = rank_third};
    for (int may = 0; may < 2; may++) {
        fg_error err = {0};
        static recorder r;
        const char *folder = fgt_temp_folder();
        const fg_fit_data data = in_order();
        const fg_trainer_options options = {
            .limits.max_epochs = 3,
            .checkpoints = {.wait_for_saves = true, .keep_checkpoints = 2},
            .divergence.on_divergence = may ? "rollback" : "stop"};
        r = (recorder){0};
        fg_trainer *trainer = create(&options, folder, &r);
        fgt_ok(fg_trainer_add_callback(trainer, &ops, trainer, &err));
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        assert_int_equal(trainer->cursor.top.entry[0].step, 9);
        fg_trainer_destroy(trainer);
        assert_int_equal(fgi_file_exists(fgt_path(folder, "checkpoints/step-000000003")), may);
    }
}

/* A run that starts from a checkpoint of another one has none of its checkpoints. */
static void another_run_has_another_best(void **state)
{
    static const fg_callback_ops ops = {.batch_end = rank};
    char first[300];
    (void)snprintf(first, sizeof first, "%s", fgt_temp_folder());
    for (int epochs = 1; epochs <= 2; epochs++) {
        fg_error err = {0};
        static recorder r;
        char path[400];
        const fg_fit_data data = in_order();
        (void)snprintf(path, sizeof path, "%s/checkpoints/step-000000003", first);
        const fg_trainer_options options = {.limits.max_epochs = epochs,
                                            .checkpoints.wait_for_saves = true,
                                            .checkpoints.resume = epochs == 2 ? path : NULL};
        r = (recorder){0};
        fg_trainer *trainer = create(&options, epochs == 1 ? first : fgt_temp_folder(), &r);
        fgt_ok(fg_trainer_add_callback(trainer, &ops, trainer, &err));
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        assert_int_equal(trainer->cursor.top.entry[0].step, 3 * epochs);
        fg_trainer_destroy(trainer);
    }
}

static void several_failures_in_a_row_are_the_end(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    const char *folder = fgt_temp_folder();
    fg_trainer_options resumed = {
        .limits.max_epochs = 20, .checkpoints.wait_for_saves = true, .checkpoints.resume = "last"};
    r = (recorder){0};
    (void)fit(&(fg_trainer_options){.limits.max_epochs = 1}, folder, &r, FG_OK, &err);
    atomic_store(&failing, -1);
    assert_int_equal(fit(&resumed, folder, &r, FG_EIO, &err), 12); /* at 6, 9 and 12 */
    assert_non_null(
        strstr(err.message, "3 checkpoints in a row could not be written: cannot write"));
    assert_non_null(strstr(err.message, "\nthe last checkpoint is "));
    assert_non_null(strstr(err.message, "/checkpoints/step-000000003"));
    assert_int_equal(last_step(folder), 3);
    assert_int_equal(recorder_count(&r, "fit_end"), 2);
    disk_reset();
    (void)fit(&resumed, folder, &r, FG_OK, &err); /* and it continues from there */
    assert_int_equal(last_step(folder), 60);
}

static void failures_end_a_second_fit_too(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r = {.at_event = "epoch_end", .at_count = 1, .status = FG_ESTOPPED};
    const fg_fit_data data = in_order();
    fg_trainer *trainer =
        create(&(fg_trainer_options){.limits.max_epochs = 20, .checkpoints.wait_for_saves = true},
               fgt_temp_folder(), &r);
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    atomic_store(&failing, -1);
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_EIO);
    assert_non_null(strstr(err.message, "3 checkpoints in a row could not be written: "));
    fg_trainer_destroy(trainer);
}

static fg_status fail_uploads(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)err;
    if (at->step == 19)
        fake.set("upload_error", 13);
    return FG_OK;
}

/* The Trainer still has the weights: a later fit continues from them, and counts from zero; if it
 * fails, it saves its state. */
static void a_later_fit_goes_on(void **state)
{
    (void)state;
    static const fg_callback_ops ops = {.batch_end = fail_uploads};
    fg_error err = {0};
    static recorder r;
    const char *folder = fgt_temp_folder();
    const fg_fit_data data = in_order();
    r = (recorder){0};
    fg_trainer *trainer =
        create(&(fg_trainer_options){.limits.max_epochs = 8, .checkpoints.wait_for_saves = true},
               folder, &r);
    atomic_store(&failing, 5);
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_EIO);
    assert_int_equal(fg_trainer_result(trainer)->steps, 9);
    const fg_fit_data empty = {.batch_size = 4}; /* a fit that does not start saves nothing */
    assert_int_equal(fg_trainer_fit(trainer, &task, &empty, &err), FG_EINVAL);
    assert_int_equal(atomic_load(&failing), 2);
    fgt_ok(fg_trainer_add_callback(trainer, &ops, NULL, &err));
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_EDEVICE); /* two more fail */
    fgt_message_is(err.message,
                   "training step 20: uploading an array on cpu:0 (fakepjrt.so): INTERNAL: the bus "
                   "is on strike\nstopped at step 19; saved in ~/checkpoints/step-000000019");
    assert_int_equal(last_step(folder), 19);
    fake.reset();
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(fg_trainer_result(trainer)->steps, 24);
    assert_int_equal(recorder_count(&r, "batch_end"), 24);
    fg_trainer_destroy(trainer);
    assert_int_equal(last_step(folder), 24);
}

static fg_status request(void *self, const fg_progress *at, fg_error *err)
{
    (void)self, (void)err;
    fg_trainer_request_save(at->trainer);
    return FG_OK;
}

/* A save that was requested at the end of a fit is not one of the next. */
static void a_request_ends_with_its_fit(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    static const fg_callback_ops ops = {.fit_end = request};
    const fg_fit_data data = in_order();
    r = (recorder){.at_event = "batch_end", .at_count = 1, .status = FG_ESTOPPED};
    fg_trainer *trainer =
        create(&(fg_trainer_options){.limits.max_epochs = 1, .checkpoints.wait_for_saves = true},
               fgt_temp_folder(), &r);
    fgt_ok(fg_trainer_add_callback(trainer, &ops, NULL, &err));
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(recorder_count(&r, "saved"), 2); /* at the ends */
    fg_trainer_destroy(trainer);
}

/* The time until the next save counts from the start of the fit: half the time since the machine
 * was started is not over. */
static void the_time_of_saves_starts_with_the_fit(void **state)
{
    fg_error err = {0};
    static recorder r;
    const char *folder = fgt_temp_folder();
    const fg_trainer_options options = {.limits.max_epochs = 2,
                                        .checkpoints.ckpt_every_epochs = FG_NONE,
                                        .checkpoints.ckpt_every_time =
                                            (double)fgi_now_ns() * 0.5e-9,
                                        .checkpoints.wait_for_saves = true};
    (void)fit(&options, folder, &r, FG_OK, &err);
    assert_int_equal(recorder_count(&r, "saved"), 1); /* at the end */
}

static int64_t no_time_passes(void) { return 1; }

/* A warning is on a separate line, not behind the progress bar, which is drawn at the first step of
 * each epoch. */
static void a_warning_has_its_own_line(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    fg_trainer_options options = four_epochs;
    const fg_fit_data data = in_order();
    r = (recorder){0};
    progress = options.output.progress = tmpfile();
    assert_non_null(progress);
    options.output.progress_style = "bar";
    atomic_store(&failing, 2); /* the line of the second epoch is redrawn */
    fg_trainer *trainer = create(&options, fgt_temp_folder(), &r);
    fgi_progress_set_clock(trainer->progress, no_time_passes);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fg_trainer_destroy(trainer);
    (void)fclose(progress);
    progress = NULL;
    assert_non_null(strstr(warnings, "could not be written"));
    const size_t size = strlen(before_line);
    if (size == 0 || (before_line[size - 1] != '\r' && before_line[size - 1] != '\n'))
        fail_msg("a warning came behind '%s'", before_line);
}

/* A success resets the count. */
static void failures_now_and_then_are_no_end(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    const char *folder = fgt_temp_folder();
    fg_trainer_options resumed = four_epochs;
    r = (recorder){0};
    for (int epochs = 4; epochs <= 12; epochs += 4) {
        resumed.limits.max_epochs = epochs;
        resumed.checkpoints.resume = "auto";
        atomic_store(&failing, 2);
        (void)fit(&resumed, folder, &r, FG_OK, &err);
        assert_int_equal(last_step(folder), 3 * epochs);
    }
}

/* After the first success. */
static fg_status fail_twice_again(void *self, const fg_progress *at, fg_error *err)
{
    bool *is_done = self;
    (void)at, (void)err;
    atomic_store(&failing, *is_done ? 0 : 2);
    *is_done = true;
    return FG_OK;
}

/* Two failures before a success and two after it are no four in a row. */
static void failures_before_a_success_do_not_count(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    static const fg_callback_ops ops = {.saved = fail_twice_again};
    bool is_done = false;
    const char *folder = fgt_temp_folder();
    const fg_fit_data data = in_order();
    r = (recorder){0};
    fg_trainer *trainer =
        create(&(fg_trainer_options){.limits.max_epochs = 6, .checkpoints.wait_for_saves = true},
               folder, &r);
    fgt_ok(fg_trainer_add_callback(trainer, &ops, &is_done, &err));
    atomic_store(&failing, 2);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fg_trainer_destroy(trainer);
    assert_true(is_done);
    assert_int_equal(atomic_load(&failing), 0);
    assert_int_equal(last_step(folder), 18);
}

/* At the end, saving is tried once more; then the error says which checkpoints exist. */
static void a_failure_at_the_end_is_an_error(void **state)
{
    (void)state;
    for (int waits = 0; waits < 2; waits++) {
        fg_error err = {0};
        static recorder r;
        const char *folder = fgt_temp_folder();
        const fg_trainer_options options = {.limits.max_epochs = 2,
                                            .checkpoints.resume = "last",
                                            .checkpoints.wait_for_saves = waits == 1};
        r = (recorder){0};
        (void)fit(&(fg_trainer_options){.limits.max_epochs = 1}, folder, &r, FG_OK, &err);
        atomic_store(&failing, -1);
        (void)fit(&options, folder, &r, FG_EIO, &err);
        assert_non_null(
            strstr(err.message, "the state at step 6 could not be saved: cannot write '"));
        assert_non_null(strstr(err.message, "No space left on device\nthe last checkpoint is "));
        assert_int_equal(last_step(folder), 3);
        atomic_store(&failing, 1);
        (void)fit(&options, folder, &r, FG_OK, &err);
        assert_int_equal(last_step(folder), 6);
        disk_reset();
    }
}

/* Also if it is the first save. */
static void the_only_save_is_tried_twice(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    const char *folder = fgt_temp_folder();
    atomic_store(&failing, 1);
    (void)fit(
        &(fg_trainer_options){.limits.max_epochs = 1, .checkpoints.ckpt_every_epochs = FG_NONE},
        folder, &r, FG_OK, &err);
    assert_int_equal(last_step(folder), 3);
}

static void without_any_checkpoint_it_says_so(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    r = (recorder){0};
    atomic_store(&failing, -1);
    (void)fit(&(fg_trainer_options){.limits.max_epochs = 1}, fgt_temp_folder(), &r, FG_EIO, &err);
    assert_non_null(strstr(err.message, "\nthere is no checkpoint"));
}

/* A hook, or the data, end the fit, and the state cannot be saved: both are in the error. */
static void a_failure_that_cannot_be_saved_says_both(void **state)
{
    (void)state;
    static const struct {
        fg_status status;
        const char *message, *first;
    } rows[] = {{FG_EINVAL, "the dog ate it", "the dog ate it\n"}, {FG_ESTOPPED, "", ""}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        static recorder r;
        char begin[256];
        const fg_trainer_options options = {.limits.max_epochs = 2};
        r = (recorder){.at_event = "batch_end",
                       .at_count = 2,
                       .status = rows[i].status,
                       .message = rows[i].message};
        atomic_store(&failing, -1);
        (void)fit(&options, fgt_temp_folder(), &r,
                  rows[i].status == FG_ESTOPPED ? FG_EIO : rows[i].status, &err);
        (void)snprintf(begin, sizeof begin,
                       "%sthe state at step 2 could not be saved: cannot write '", rows[i].first);
        assert_int_equal(strncmp(err.message, begin, strlen(begin)), 0);
        const char *end = strstr(err.message, "': No space left on device\nthere is no checkpoint");
        assert_non_null(end);
        assert_string_equal(end + strlen("': No space left on device\nthere is no checkpoint"), "");
        assert_int_equal(recorder_count(&r, "batch_end"), 2);
        disk_reset();
    }
}

static fg_status open_and_fail(void *self, const fg_progress *at, fg_error *err)
{
    (void)self;
    if (at->step != 3)
        return FG_OK;
    set_gate(false);
    return fgi_fail(err, FG_EIO, "the dog ate it");
}

/* A hook ends the fit while the state is being written, which fails: it is saved again. */
static void a_save_under_way_that_fails_is_repeated(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    char says[512];
    static const fg_callback_ops gate = {.epoch_end = close_gate, .epoch_start = open_and_fail};
    const char *folder = fgt_temp_folder();
    const fg_fit_data data = in_order();
    r = (recorder){0};
    atomic_store(&failing, 1);
    fg_trainer *trainer = create(&(fg_trainer_options){.limits.max_epochs = 2}, folder, &r);
    fgt_ok(fg_trainer_add_callback(trainer, &gate, NULL, &err));
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_EIO);
    fg_trainer_destroy(trainer);
    (void)snprintf(says, sizeof says,
                   "the dog ate it\nstopped at step 3; saved in %s/checkpoints/step-000000003",
                   folder);
    assert_string_equal(err.message, says);
    assert_int_equal(last_step(folder), 3);
    static const char begin[] = "the checkpoint of step 3 could not be written: cannot write '";
    assert_int_equal(strncmp(warnings, begin, strlen(begin)), 0);
}

/* The second fit of a Trainer resets what the first one has requested or failed to do, and keeps
 * what it has saved. */
static void a_second_fit_saves_only_what_is_new(void **state)
{
    (void)state;
    fg_error err = {0};
    static recorder r;
    const char *folder = fgt_temp_folder();
    const fg_fit_data data = in_order();
    r = (recorder){.at_event = "epoch_end", .at_count = 1, .status = FG_ESTOPPED};
    fg_trainer *trainer =
        create(&(fg_trainer_options){.limits.max_epochs = 2, .checkpoints.wait_for_saves = true},
               folder, &r);
    assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_ESTOPPED);
    assert_int_equal(recorder_count(&r, "saved"), 1);
    char last[512];
    (void)snprintf(last, sizeof last, "%s/checkpoints/step-000000003", folder);
    assert_string_equal(trainer->saver->last, last);
    assert_string_equal(fg_trainer_result(trainer)->checkpoint, last);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    assert_int_equal(recorder_count(&r, "saved"), 2);
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err)); /* nothing is left to do, or to save */
    assert_int_equal(recorder_count(&r, "saved"), 2);
    assert_int_equal(atomic_load(&written), 2);
    assert_string_equal(strrchr(trainer->saver->last, '/'), "/step-000000006");
    fg_trainer_destroy(trainer);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(a_failure_that_cannot_be_saved_says_both, reset),
    cmocka_unit_test_setup(a_second_fit_saves_only_what_is_new, reset),
    cmocka_unit_test_setup(a_save_under_way_that_fails_is_repeated, reset),
    cmocka_unit_test_setup(steps_do_not_wait_for_the_disk, reset),
    cmocka_unit_test_setup(one_save_at_a_time, reset),
    cmocka_unit_test_setup(a_save_is_due_at_the_end_of_an_epoch_too, reset),
    cmocka_unit_test_setup(a_run_may_wait_for_its_saves, reset),
    cmocka_unit_test_setup(a_save_that_fails_is_no_end, reset),
    cmocka_unit_test_setup(a_save_that_fails_has_no_rank, reset),
    cmocka_unit_test_setup(a_slow_save_belongs_to_its_step, reset),
    cmocka_unit_test_setup(the_former_best_is_kept_if_training_may_go_back, reset),
    cmocka_unit_test_setup(another_run_has_another_best, reset),
    cmocka_unit_test_setup(several_failures_in_a_row_are_the_end, reset),
    cmocka_unit_test_setup(failures_end_a_second_fit_too, reset),
    cmocka_unit_test_setup(a_later_fit_goes_on, reset),
    cmocka_unit_test_setup(a_request_ends_with_its_fit, reset),
    cmocka_unit_test_setup(the_time_of_saves_starts_with_the_fit, reset),
    cmocka_unit_test_setup(a_warning_has_its_own_line, reset),
    cmocka_unit_test_setup(failures_now_and_then_are_no_end, reset),
    cmocka_unit_test_setup(failures_before_a_success_do_not_count, reset),
    cmocka_unit_test_setup(a_failure_at_the_end_is_an_error, reset),
    cmocka_unit_test_setup(the_only_save_is_tried_twice, reset),
    cmocka_unit_test_setup(without_any_checkpoint_it_says_so, reset),
};

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, open_all, close_saves) == 0 ? 0 : 1;
}
