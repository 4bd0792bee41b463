/* image_check.c - see image_check.h. Threads take the files one by one in an order that jumps over
 * the whole list, because classes follow each other in it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/image_check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/log.h"
#include "base/print.h"
#include "base/resources.h"
#include "base/thread.h"
#include "image/codec.h"

enum { MOST_THREADS = 64, FILES_A_THREAD = 64 };

typedef struct job {
    const fgi_image_check_options *o;
    int64_t step, deadline_ns, start_ns, say_every_ns;
    atomic_llong next, checked, bad;
    pthread_t caller;
    int64_t said_ns; /* of the caller's last line */
    atomic_bool is_out_of_memory;
    pthread_mutex_t mutex; /* held while `bad` is called */
} job;

/* A number of about 0.618 count without a common divisor. */
static int64_t choose_step(int64_t count)
{
    int64_t step = (int64_t)(0.618 * (double)count);
    for (step = step < 1 ? 1 : step;; step++) {
        int64_t a = count, b = step;
        while (b != 0) {
            const int64_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            return step;
    }
}

static fg_status check_file(const job *j, int64_t item, fg_catalog_bytes *bytes, fg_error *err)
{
    char shown[FGI_SHOWN_BYTES];
    fg_catalog_item info;
    fgi_image_ends ends;
    bool is_known = true;
    FGI_TRY(fgi_catalog_read_ends(j->o->catalog, item, ends.first, ends.last, sizeof ends.first,
                                  &ends.size, &is_known, err));
    if (!is_known || (ends.size >= sizeof ends.first && fgi_image_has_ends(&ends)))
        return FG_OK;
    FGI_TRY(fg_catalog_item_at(j->o->catalog, item, &info, err));
    FGI_TRY(fg_catalog_read(j->o->catalog, item, bytes, err));
    FGI_TRY_CTX(fgi_image_check(fgi_shown(info.name, shown), bytes->data, bytes->size,
                                j->o->is_tolerant, err),
                err, "'%.160s'", j->o->catalog->path);
    return FG_OK;
}

void fgi_image_say(const fgi_image_listener *listener, fg_log_level level, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    (void)fgi_vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (listener->say != NULL)
        listener->say(listener->self, level, line);
    else
        fgi_log(level, "%s", line);
}

/* Only the caller's thread says something. */
static void report_progress(job *j)
{
    const int64_t now = fgi_now_ns(), done = atomic_load(&j->checked);
    if (j->o->decode == NULL || pthread_equal(pthread_self(), j->caller) == 0 ||
        now - j->said_ns < j->say_every_ns || done >= j->o->count)
        return;
    j->said_ns = now;
    const double left =
        (double)(now - j->start_ns) / 1e9 * (double)(j->o->count - done) / (double)done;
    fgi_image_say(&j->o->listener, FG_LOG_INFO,
                  "'%.160s': decoded %" PRId64 " of %" PRId64
                  " files, %lld damaged, about %.0f s left",
                  j->o->catalog->path, done, j->o->count, (long long)atomic_load(&j->bad), left);
}

static void *work(void *self)
{
    job *j = self;
    const fgi_image_check_options *o = j->o;
    fg_catalog_bytes bytes = {0};
    for (int64_t i; (i = atomic_fetch_add(&j->next, 1)) < o->count;) {
        if (j->deadline_ns > 0 && fgi_now_ns() > j->deadline_ns)
            break;
        fg_error err = {0};
        const int64_t row = i * j->step % o->count; /* below 2^63 for any number of files */
        const fg_status status =
            o->decode != NULL ? o->decode(o->self, row, &err)
                              : check_file(j, o->items != NULL ? o->items[row] : row, &bytes, &err);
        (void)atomic_fetch_add(&j->checked, 1);
        if (status == FG_ENOMEM)
            atomic_store(&j->is_out_of_memory, true);
        else if (status != FG_OK) {
            (void)atomic_fetch_add(&j->bad, 1);
            (void)pthread_mutex_lock(&j->mutex);
            o->bad(o->self, row, &err);
            (void)pthread_mutex_unlock(&j->mutex);
        }
        report_progress(j);
    }
    fg_catalog_bytes_fini(&bytes);
    return NULL;
}

fg_status fgi_image_check_files(const fgi_image_check_options *options, int64_t *out_checked,
                                fg_error *err)
{
    job j = {.o = options};
    fgi_thread threads[MOST_THREADS];
    int64_t most = options->count / (options->decode != NULL ? 1 : FILES_A_THREAD), started = 0;
    fg_status status = FG_OK;
    *out_checked = 0;
    if (options->count == 0)
        return FG_OK;
    most = most < fgi_cpu_count() ? most : fgi_cpu_count();
    most = most < MOST_THREADS ? most : MOST_THREADS;
    j.step = choose_step(options->count);
    j.start_ns = j.said_ns = fgi_now_ns();
    j.say_every_ns = (int64_t)((options->say_every_s > 0 ? options->say_every_s : 5) * 1e9);
    j.caller = pthread_self();
    if (options->seconds > 0)
        j.deadline_ns = fgi_now_ns() + (int64_t)(options->seconds * 1e9);
    FGI_TRY(fgi_mutex_init(&j.mutex, err));
    while (started + 1 < most && status == FG_OK) {
        status = fgi_thread_start(&threads[started], work, &j, err);
        started += status == FG_OK;
    }
    if (status == FG_OK)
        (void)work(&j);
    atomic_store(&j.next, options->count);
    for (int64_t i = 0; i < started; i++)
        fgi_thread_join(threads[i]);
    (void)pthread_mutex_destroy(&j.mutex);
    *out_checked = atomic_load(&j.checked);
    return status == FG_OK && atomic_load(&j.is_out_of_memory) ? fgi_no_memory(err) : status;
}
