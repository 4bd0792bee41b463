/* fake_profiler.c - the fake plugin's profiler: one device with one event.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pjrt/profiler_api.h"

/* "profiler_error": which call fails. */
enum { CREATE = 1, START, STOP, COLLECT };

struct fgi_plugin_profiler {
    uint64_t start_ns; /* of the system's clock */
    size_t size;
    uint8_t data[256];
};

struct fgi_profiler_error {
    char message[64];
};

static fgi_profiler_error *fail_at(long call)
{
    if (fake_get("profiler_error") != call)
        return NULL;
    fgi_profiler_error *error = calloc(1, sizeof *error);
    if (!error)
        abort();
    snprintf(error->message, sizeof error->message, "the profiler failed in call %ld", call);
    fake_count("errors", 1);
    return error;
}

static void error_destroy(fgi_profiler_error_free *args)
{
    fake_count("errors", -1);
    free(args->error);
}

static void error_message(fgi_profiler_error_text *args)
{
    args->message = args->error->message;
    args->message_size = strlen(args->error->message);
}

static fgi_profiler_error *error_code(fgi_profiler_error_number *args)
{
    args->code = 13;
    return NULL;
}

/* ---- the result ------------------------------------------------------------------------------ */

static void put_number(fgi_plugin_profiler *p, int field, uint64_t value)
{
    p->data[p->size++] = (uint8_t)(field << 3);
    for (; value >= 128; value >>= 7)
        p->data[p->size++] = (uint8_t)(value | 128);
    p->data[p->size++] = (uint8_t)value;
}

static void put_text(fgi_plugin_profiler *p, int field, const char *text)
{
    p->data[p->size++] = (uint8_t)(field << 3 | 2);
    p->data[p->size++] = (uint8_t)strlen(text);
    memcpy(p->data + p->size, text, strlen(text));
    p->size += strlen(text);
}

/* A message of at most 127 bytes begins; returns where its size goes. */
static size_t begin(fgi_plugin_profiler *p, int field)
{
    p->data[p->size++] = (uint8_t)(field << 3 | 2);
    return p->size++;
}

static void end(fgi_plugin_profiler *p, size_t place)
{
    p->data[place] = (uint8_t)(p->size - place - 1);
}

/* An XSpace; the plane has a statistic of a kind that the library does not know. */
static void fill(fgi_plugin_profiler *p)
{
    const size_t plane = begin(p, 1);
    put_text(p, 2, fake_get("profiler") == 5 ? "/host:CPU" : "/device:FAKE:0");
    const size_t line = begin(p, 3);
    put_text(p, 2, "ops");
    put_number(p, 3, p->start_ns + 5000);
    put_number(p, 9, 777);
    const size_t event = begin(p, 4);
    put_number(p, 1, 1);
    put_number(p, 2, 1000);
    put_number(p, 3, 2000000);
    end(p, event);
    end(p, line);
    const size_t entry = begin(p, 4);
    put_number(p, 1, 1);
    const size_t about = begin(p, 2);
    put_number(p, 1, 1);
    put_text(p, 2, "fusion");
    end(p, about);
    end(p, entry);
    const size_t stat = begin(p, 6);
    put_text(p, 5, "unknown");
    end(p, stat);
    end(p, plane);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static fgi_profiler_error *create(fgi_profiler_create_args *args)
{
    fgi_profiler_error *error = fail_at(CREATE);
    if (error)
        return error;
    args->profiler = calloc(1, sizeof *args->profiler);
    if (!args->profiler || args->options_size == 0)
        abort();
    fake_count("profilers", 1);
    return NULL;
}

static fgi_profiler_error *destroy(fgi_profiler_args *args)
{
    free(args->profiler);
    fake_count("profilers", -1);
    return NULL;
}

static fgi_profiler_error *start(fgi_profiler_args *args)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    args->profiler->start_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    return fail_at(START);
}

static fgi_profiler_error *stop(fgi_profiler_args *args)
{
    args->profiler->size = 0;
    fill(args->profiler);
    return fail_at(STOP);
}

/* "profiler" 1: as libtpu, returns its own buffer, which ends in a NUL; 2: as the extension's
 * header says, 5: of threads of the host; 3:
 * something that is not an XSpace; 4: nothing. */
static fgi_profiler_error *collect(fgi_profiler_data_args *args)
{
    fgi_plugin_profiler *p = args->profiler;
    fgi_profiler_error *error = fail_at(COLLECT);
    if (error)
        return error;
    switch (fake_get("profiler")) {
    case 1:
        args->buffer = args->buffer ? args->buffer : p->data;
        args->buffer_size = p->size + 1;
        break;
    case 2:
    case 5:
        if (args->buffer)
            memcpy(args->buffer, p->data, p->size);
        args->buffer_size = p->size;
        break;
    case 3:
        memset(p->data, 0xff, sizeof p->data);
        args->buffer = p->data;
        args->buffer_size = 40;
        break;
    default: args->buffer_size = 0;
    }
    return NULL;
}

static fgi_profiler_api api = {
    .struct_size = sizeof api,
    .error_destroy = error_destroy,
    .error_message = error_message,
    .error_code = error_code,
    .create = create,
    .destroy = destroy,
    .start = start,
    .stop = stop,
    .collect_data = collect,
};

static fgi_profiler_extension extension = {
    .base = {.struct_size = sizeof extension, .type = PJRT_Extension_Type_Profiler}, .api = &api};

/* An extension before it in the list. */
static PJRT_Extension_Base other = {
    .struct_size = sizeof other, .type = PJRT_Extension_Type_Layouts, .next = &extension.base};

PJRT_Extension_Base *fake_extensions(void) { return fake_get("profiler") ? &other : NULL; }
