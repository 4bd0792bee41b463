/* fake_core.c - the fake plugin's settings, errors, events and the thread that delays work.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- settings -------------------------------------------------------------------------------- */

/* NAME_error is a PJRT error code that the call then ends with, 0 for none, after NAME_skip good
 * calls. NAME_late_error ends the call's event with that code instead. */
static struct setting {
    const char *name;
    long preset;
    _Atomic long value;
} settings[] = {
    {"devices", 0, 0},     /* 0: as the client option cpu_device_count says, else 1 */
    {"delay_ms", 0, 0},    /* that everything takes */
    {"upload_ms", 0, 0},   /* so much more for uploads of matrices and larger arrays */
    {"download_ms", 0, 0}, /* so much more for reads */
    {"device_ms", 0, 0}, /* that each program computes, one after the other; uploads do not wait */
    {"hold", 0, 0},      /* 1: nothing happens until it is 0 again */
    {"hold_from", 0, 0}, /* the same as soon as that many programs have run; 0: never */
    {"memory_limit_bytes", 0, 0}, /* of all devices together; 0: none */
    {"api_major", PJRT_API_MAJOR, 0},
    {"api_minor", PJRT_API_MINOR, 0},
    {"api_is_null", 0, 0},
    {"platform", 0, 0},        /* 0 cpu, 1 cuda, 2 tpu, 3 "abacus" */
    {"kind", 0, 0},            /* 0 "fake device", 1 "TPU v2", 2 "TPU v3", 3 "TPU v5 lite" */
    {"process", 0, 0},         /* this process's number */
    {"processes", 0, 0},       /* how many, each with as many devices; 0: one */
    {"interleaved", 0, 0},     /* 1: ids as on a slice of TPUs: 0, 1, 4, 5 are process 0's of two;
                                  2: assigned round-robin, the last process first: 1, 3, 5, 7 are */
    {"unknown_options", 0, 0}, /* 1: refuse all client options but
                                  cpu_device_count; 2: refuse preallocate */
    {"unknown_flags", 0, 0},   /* refuse all flags of the compiler */
    {"initialize_error", 0, 0},
    {"topology_error", 0, 0},
    {"topology_target", 0, 0}, /* options of the last topology: 100 for an H100 */
    {"topology_host", 0, 0},   /* ... chips_per_host_bounds as 241 */
    {"visible_devices", 0, 0}, /* option of the last client, each plus one: 0,2 as 13 */
    {"client_error", 0, 0},
    {"compile_ms", 0, 0}, /* that a compilation takes */
    {"compile_error", 0, 0},
    {"unsupported_op", 0, 0}, /* compiling a reduction fails, and the message has its location */
    {"compile_skip", 0, 0},
    {"compile_signal", 0, 0},  /* compiling ends the process by this signal */
    {"compile_wait_ms", 0, 0}, /* compiling takes so long */
    {"stop_trace", 0, 0},      /* 1: as libtpu, answers a request to stop with a stack trace */
    {"execute_error", 0, 0},
    {"execute_skip", 0, 0},
    {"execute_late_error", 0, 0},
    {"execute_late_skip", 0, 0},
    {"upload_error", 0, 0},
    {"upload_skip", 0, 0},
    {"upload_late_error", 0, 0},
    {"upload_late_skip", 0, 0},
    {"download_error", 0, 0},
    {"download_skip", 0, 0},
    {"download_late_error", 0, 0},
    {"download_late_skip", 0, 0},
    {"on_ready_error", 0, 0},
    {"on_ready_skip", 0, 0},
    {"ready_error", 0, 0}, /* asking a buffer for its event */
    {"ready_skip", 0, 0},
    {"serialize_error", 0, 0},
    {"deserialize_error", 0, 0},
    {"cost_error", 0, 0},
    {"output_types_error", 0, 0},
    {"profiler", 0, 0},       /* 0: none; what it returns: fake_profiler.c */
    {"profiler_error", 0, 0}, /* which of its calls fails */
    {"profilers", 0, 0},      /* counter */
    /* counters: objects that have not been destroyed, bytes of device memory, calls */
    {"clients", 0, 0},
    {"buffers", 0, 0},
    {"events", 0, 0},
    {"states", 0, 0},
    {"errors", 0, 0},
    {"programs", 0, 0},
    {"topologies", 0, 0},
    {"bytes", 0, 0},
    {"client_options", 0, 0}, /* how many the last client was made with */
    {"compiles", 0, 0},
    {"executions", 0, 0},
};
enum { SETTINGS = sizeof settings / sizeof settings[0] };

__attribute__((visibility("default"))) long fake_get(const char *name);
__attribute__((visibility("default"))) void fake_set(const char *name, long value);
__attribute__((visibility("default"))) void fake_reset(void);

static struct setting *find(const char *name)
{
    for (int i = 0; i < SETTINGS; i++) {
        if (strcmp(settings[i].name, name) == 0)
            return &settings[i];
    }
    fprintf(stderr, "fakepjrt: no setting '%s'\n", name);
    abort();
}

long fake_get(const char *name) { return atomic_load(&find(name)->value); }

void fake_set(const char *name, long value) { atomic_store(&find(name)->value, value); }

void fake_count(const char *name, long by) { (void)atomic_fetch_add(&find(name)->value, by); }

/* All settings, but not the counters, as they were when the plugin was loaded. */
void fake_reset(void)
{
    for (int i = 0; i < SETTINGS && strcmp(settings[i].name, "clients") != 0; i++)
        atomic_store(&settings[i].value, settings[i].preset);
}

int fake_fault(const char *name)
{
    char error[48], skip[48];
    snprintf(error, sizeof error, "%s_error", name);
    const int code = (int)fake_get(error);
    if (code == 0)
        return 0;
    snprintf(skip, sizeof skip, "%s_skip", name);
    return atomic_fetch_sub(&find(skip)->value, 1) > 0 ? 0 : code;
}

static void print_trace(int number)
{
    static const char words[] = "*** signal received; stack trace: ***\n";
    if (write(STDERR_FILENO, words, sizeof words - 1) < 0)
        _exit(2);
    _exit(128 + number);
}

/* FAKEPJRT="name=value,name=value" */
__attribute__((constructor)) static void read_environment(void)
{
    fake_reset();
    const char *text = getenv("FAKEPJRT");
    char name[64];
    long value;
    int used = 0;
    while (text && sscanf(text, "%63[a-z_]=%ld%n", name, &value, &used) == 2) {
        find(name)->preset = value;
        fake_set(name, value);
        text += used;
        text += *text == ',';
    }
    const int requests[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (int i = 0; fake_get("stop_trace") && i < 4; i++)
        (void)signal(requests[i], print_trace);
}

/* ---- errors ---------------------------------------------------------------------------------- */

PJRT_Error *fake_error(int code, const char *format, ...)
{
    PJRT_Error *error = calloc(1, sizeof *error);
    if (!error)
        abort();
    error->code = (PJRT_Error_Code)code;
    va_list args;
    va_start(args, format);
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    fake_count("errors", 1);
    return error;
}

/* ---- states and events ----------------------------------------------------------------------- */

state *state_create(void)
{
    state *s = calloc(1, sizeof *s);
    if (!s || pthread_mutex_init(&s->mutex, NULL) != 0 || pthread_cond_init(&s->cond, NULL) != 0)
        abort();
    atomic_init(&s->references, 1);
    fake_count("states", 1);
    return s;
}

state *state_retain(state *s)
{
    atomic_fetch_add(&s->references, 1);
    return s;
}

void state_release(state *s)
{
    if (!s || atomic_fetch_sub(&s->references, 1) != 1)
        return;
    pthread_mutex_destroy(&s->mutex);
    pthread_cond_destroy(&s->cond);
    free(s);
    fake_count("states", -1);
}

void state_wait(state *s)
{
    pthread_mutex_lock(&s->mutex);
    while (!s->is_ready)
        pthread_cond_wait(&s->cond, &s->mutex);
    pthread_mutex_unlock(&s->mutex);
}

static PJRT_Error *error_of(const state *s)
{
    return s->code ? fake_error(s->code, "%s", s->message) : NULL;
}

void state_complete(state *s, int code, const char *message)
{
    pthread_mutex_lock(&s->mutex);
    s->is_ready = true;
    s->code = code;
    snprintf(s->message, sizeof s->message, "%s", message);
    callback *list = s->callbacks;
    s->callbacks = NULL;
    pthread_cond_broadcast(&s->cond);
    pthread_mutex_unlock(&s->mutex);
    while (list) {
        callback *next = list->next;
        list->call(error_of(s), list->user);
        free(list);
        list = next;
    }
}

bool state_is_ready(state *s)
{
    pthread_mutex_lock(&s->mutex);
    const bool is_ready = s->is_ready;
    pthread_mutex_unlock(&s->mutex);
    return is_ready;
}

int state_code(state *s, char message[MESSAGE_MAX])
{
    pthread_mutex_lock(&s->mutex);
    const int code = s->is_ready ? s->code : 0;
    if (code)
        memcpy(message, s->message, MESSAGE_MAX);
    pthread_mutex_unlock(&s->mutex);
    return code;
}

PJRT_Event *event_create(state *s)
{
    PJRT_Event *event = calloc(1, sizeof *event);
    if (!event)
        abort();
    event->state = state_retain(s);
    fake_count("events", 1);
    return event;
}

PJRT_Error *fake_event_destroy(PJRT_Event_Destroy_Args *args)
{
    FAKE_CHECK(args, PJRT_Event_Destroy_Args);
    if (!args->event)
        return NULL;
    state_release(args->event->state);
    free(args->event);
    fake_count("events", -1);
    return NULL;
}

PJRT_Error *fake_event_is_ready(PJRT_Event_IsReady_Args *args)
{
    FAKE_CHECK(args, PJRT_Event_IsReady_Args);
    args->is_ready = state_is_ready(args->event->state);
    return NULL;
}

PJRT_Error *fake_event_error(PJRT_Event_Error_Args *args)
{
    FAKE_CHECK(args, PJRT_Event_Error_Args);
    return error_of(args->event->state);
}

PJRT_Error *fake_event_await(PJRT_Event_Await_Args *args)
{
    FAKE_CHECK(args, PJRT_Event_Await_Args);
    state_wait(args->event->state);
    return error_of(args->event->state);
}

PJRT_Error *fake_event_on_ready(PJRT_Event_OnReady_Args *args)
{
    FAKE_CHECK(args, PJRT_Event_OnReady_Args);
    const int code = fake_fault("on_ready");
    if (code)
        return fake_error(code, "no listeners today");
    state *s = args->event->state;
    callback *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    c->call = args->callback;
    c->user = args->user_arg;
    pthread_mutex_lock(&s->mutex);
    const bool is_ready = s->is_ready;
    if (!is_ready) {
        c->next = s->callbacks;
        s->callbacks = c;
    }
    pthread_mutex_unlock(&s->mutex);
    if (is_ready) {
        free(c);
        args->callback(error_of(s), args->user_arg);
    }
    return NULL;
}

/* ---- the queue ------------------------------------------------------------------------------- */

static long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

task *task_create(size_t inputs, size_t outputs)
{
    task *t = calloc(1, sizeof *t + (inputs + outputs) * sizeof(state *));
    if (!t)
        abort();
    t->inputs = (state **)(t + 1);
    t->outputs = t->inputs + inputs;
    return t;
}

void task_input(task *t, state *s) { t->inputs[t->input_count++] = state_retain(s); }

void task_output(task *t, state *s) { t->outputs[t->output_count++] = state_retain(s); }

static void task_run(task *t)
{
    for (size_t i = 0; i < t->input_count; i++) {
        if (!t->code)
            t->code = state_code(t->inputs[i], t->message);
        state_release(t->inputs[i]);
    }
    if (!t->code && t->size > 0)
        memcpy(t->to, t->from, t->size);
    for (size_t i = 0; i < t->output_count; i++) {
        state_complete(t->outputs[i], t->code, t->message);
        state_release(t->outputs[i]);
    }
    bytes_release(t->hold[0]);
    bytes_release(t->hold[1]);
    for (size_t i = 0; i < t->kept_count; i++)
        bytes_release(t->kept[i]);
    free(t->kept);
    free(t);
}

static void sleep_until(long long due_ns)
{
    const struct timespec due = {.tv_sec = due_ns / 1000000000LL, .tv_nsec = due_ns % 1000000000LL};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
}

static bool client_is_closing(PJRT_Client *c)
{
    pthread_mutex_lock(&c->mutex);
    const bool is_closing = c->is_closing;
    pthread_mutex_unlock(&c->mutex);
    return is_closing;
}

static bool is_held(void)
{
    const long from = fake_get("hold_from");
    return fake_get("hold") || (from > 0 && fake_get("executions") >= from);
}

/* Runs queued tasks, each at its time; immediately when the client is being destroyed. */
static void *work(void *user)
{
    PJRT_Client *c = user;
    pthread_mutex_lock(&c->mutex);
    for (;;) {
        while (!c->first && !c->is_closing)
            pthread_cond_wait(&c->cond, &c->mutex);
        task *t = c->first;
        if (!t)
            break;
        c->first = t->next;
        c->is_busy = true;
        const bool is_closing = c->is_closing;
        pthread_mutex_unlock(&c->mutex);
        if (!is_closing)
            sleep_until(t->busy_ms > 0 ? now_ns() + t->busy_ms * 1000000LL : t->due_ns);
        while (!client_is_closing(c) && is_held())
            sleep_until(now_ns() + 200000);
        task_run(t);
        pthread_mutex_lock(&c->mutex);
        c->is_busy = false;
    }
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}

void task_submit(PJRT_Client *c, task *t)
{
    const long delay_ms = fake_get("delay_ms") + t->more_ms;
    t->due_ns = now_ns() + delay_ms * 1000000LL;
    pthread_mutex_lock(&c->mutex);
    const bool is_upload = t->input_count == 0 && fake_get("device_ms") > 0;
    const bool is_behind = !is_upload && (c->first || c->is_busy);
    const bool is_late = delay_ms > 0 || t->busy_ms > 0 || is_held() || is_behind;
    if (is_late) {
        if (c->first)
            c->last->next = t;
        else
            c->first = t;
        c->last = t;
        if (!c->has_thread && pthread_create(&c->thread, NULL, work, c) != 0)
            abort();
        c->has_thread = true;
        pthread_cond_signal(&c->cond);
    }
    pthread_mutex_unlock(&c->mutex);
    if (!is_late)
        task_run(t);
}

void client_finish(PJRT_Client *c)
{
    pthread_mutex_lock(&c->mutex);
    c->is_closing = true;
    pthread_cond_signal(&c->cond);
    pthread_mutex_unlock(&c->mutex);
    if (c->has_thread)
        pthread_join(c->thread, NULL);
}
