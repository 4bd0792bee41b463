/* packer_crew.c - threads that make samples. Tasks are numbered; each thread takes the next one and
 * leaves the result in the slot of its number, from where the writer takes the results in order. So
 * the order does not depend on the threads, and memory is bounded by the number of slots.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"
#include "packer/packer.h"

typedef struct slot {
    fgi_packer_output output;
    bool is_done;
} slot;

struct fgi_packer_crew {
    const fgi_packer_plan *plan;
    int64_t start, again; /* first sample; measured samples before it, which are made first */
    int64_t total;        /* tasks */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool has_monitor, is_over;
    int64_t next, taken; /* task to start; task that the writer has, plus 1 */
    slot *slots;
    int64_t slot_count;
    fgi_thread *threads;
    int thread_count;
};

/* Task t: the measured samples before `start`, then all from `start`. */
static int64_t sample_of(const fgi_packer_crew *c, int64_t task)
{
    return task < c->again ? task * fgi_packer_stride(c->plan) : c->start + task - c->again;
}

/* Waits for a task; -1: there is none left. */
static int64_t take_task(fgi_packer_crew *c)
{
    (void)pthread_mutex_lock(&c->mutex);
    while (!c->is_over && c->next < c->total && c->next >= c->taken + c->slot_count - 1)
        (void)pthread_cond_wait(&c->changed, &c->mutex);
    const int64_t task = c->is_over || c->next == c->total ? -1 : c->next++;
    (void)pthread_mutex_unlock(&c->mutex);
    return task;
}

static void *work(void *self)
{
    fgi_packer_crew *c = self;
    fgi_packer_tools tools;
    fg_error err = {0};
    const fg_status status = fgi_packer_tools_init(&tools, &err);
    for (int64_t task; (task = take_task(c)) >= 0;) {
        slot *s = &c->slots[task % c->slot_count];
        if (status == FG_OK)
            fgi_packer_sample(c->plan, &tools, sample_of(c, task), &s->output);
        else {
            s->output.status = status;
            s->output.err = err;
        }
        (void)pthread_mutex_lock(&c->mutex);
        s->is_done = true;
        (void)pthread_cond_broadcast(&c->changed);
        (void)pthread_mutex_unlock(&c->mutex);
    }
    fgi_packer_tools_fini(&tools);
    return NULL;
}

static fg_status create(fgi_packer_crew *c, fg_error *err)
{
    const int count = (int)c->plan->o.thread_count;
    FGI_TRY(fgi_monitor_init(&c->mutex, &c->changed, err));
    c->has_monitor = true;
    c->slot_count = 2 * (int64_t)count + 2;
    c->slots = fgi_calloc((size_t)c->slot_count, sizeof(*c->slots));
    c->threads = fgi_calloc((size_t)count, sizeof(*c->threads));
    if (c->slots == NULL || c->threads == NULL)
        return fgi_no_memory(err);
    for (int64_t i = 0; i < c->slot_count; i++)
        FGI_TRY(fgi_packer_output_init(&c->slots[i].output, c->plan, err));
    for (; c->thread_count < count; c->thread_count++)
        FGI_TRY(fgi_thread_start(&c->threads[c->thread_count], work, c, err));
    return FG_OK;
}

fg_status fgi_packer_crew_create(const fgi_packer_plan *plan, int64_t start, fgi_packer_crew **out,
                                 fg_error *err)
{
    fgi_packer_crew *c = fgi_calloc(1, sizeof(*c));
    *out = NULL;
    if (c == NULL)
        return fgi_no_memory(err);
    c->plan = plan;
    c->start = start;
    c->again = (start + fgi_packer_stride(plan) - 1) / fgi_packer_stride(plan);
    c->total = c->again + plan->count - start;
    const fg_status status = create(c, err);
    if (status == FG_OK)
        *out = c;
    else
        fgi_packer_crew_destroy(c);
    return status;
}

const fgi_packer_output *fgi_packer_crew_next(fgi_packer_crew *c, int64_t *out_sample)
{
    if (c->taken == c->total)
        return NULL;
    slot *s = &c->slots[c->taken % c->slot_count];
    (void)pthread_mutex_lock(&c->mutex);
    while (!s->is_done)
        (void)pthread_cond_wait(&c->changed, &c->mutex);
    s->is_done = false;
    *out_sample = sample_of(c, c->taken);
    c->taken++; /* the slot of this task remains in use until the next call */
    (void)pthread_cond_broadcast(&c->changed);
    (void)pthread_mutex_unlock(&c->mutex);
    return &s->output;
}

void fgi_packer_crew_destroy(fgi_packer_crew *c)
{
    if (c == NULL)
        return;
    if (c->has_monitor) {
        (void)pthread_mutex_lock(&c->mutex);
        c->is_over = true;
        (void)pthread_cond_broadcast(&c->changed);
        (void)pthread_mutex_unlock(&c->mutex);
    }
    for (int i = 0; i < c->thread_count; i++)
        fgi_thread_join(c->threads[i]);
    for (int64_t i = 0; c->slots != NULL && i < c->slot_count; i++)
        fgi_packer_output_fini(&c->slots[i].output);
    if (c->has_monitor)
        fgi_monitor_fini(&c->mutex, &c->changed);
    fgi_free(c->slots);
    fgi_free(c->threads);
    fgi_free(c);
}
