/* wrong_plugin.c - a plugin that passes all calls on to another one, and changes what is read.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <pjrt_c_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wrong_control.h"

#define EXPORT __attribute__((visibility("default")))
EXPORT const PJRT_Api *GetPjrtApi(void);
EXPORT void wrong_set_change(int64_t read, int kind, uint64_t seed);
EXPORT int64_t wrong_read_count(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const PJRT_Api *real;
static int64_t reads, changed_read = WRONG_NEVER;
static int changed_kind;
static uint64_t random_state;

/* Knuth's linear congruential generator; the upper bits. */
static uint64_t draw(uint64_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % below;
}

/* ---- elements -------------------------------------------------------------------------------- */

typedef struct values {
    char *data;
    size_t count, size; /* of an element, in bytes */
    PJRT_Buffer_Type type;
} values;

static double get(const values *v, size_t i)
{
    const char *at = v->data + i * v->size;
    double f64;
    float f32;
    int32_t s32;
    uint32_t bits = 0;
    switch (v->type) {
    case PJRT_Buffer_Type_F64: memcpy(&f64, at, sizeof f64); return f64;
    case PJRT_Buffer_Type_F32: memcpy(&f32, at, sizeof f32); return (double)f32;
    case PJRT_Buffer_Type_BF16:
        memcpy((char *)&bits + 2, at, 2); /* the upper half */
        memcpy(&f32, &bits, sizeof f32);
        return (double)f32;
    default: memcpy(&s32, at, sizeof s32); return s32;
    }
}

static void put(const values *v, size_t i, double value)
{
    char *at = v->data + i * v->size;
    const float f32 = (float)value;
    const int32_t s32 = isfinite(value) ? (int32_t)value : INT32_MAX;
    uint32_t bits;
    switch (v->type) {
    case PJRT_Buffer_Type_F64: memcpy(at, &value, sizeof value); break;
    case PJRT_Buffer_Type_F32: memcpy(at, &f32, sizeof f32); break;
    case PJRT_Buffer_Type_BF16:
        memcpy(&bits, &f32, sizeof bits);
        bits += isnan(f32) ? 0 : 0x8000; /* to the nearest */
        memcpy(at, (char *)&bits + 2, 2);
        break;
    default: memcpy(at, &s32, sizeof s32);
    }
}

/* An element that is not 0, and with `other` not equal to it; any if there is none. */
static size_t choose(const values *v, const size_t *other)
{
    size_t i = draw(v->count);
    for (size_t tries = 0; tries < 1000; tries++, i = draw(v->count))
        if (get(v, i) != 0 && (!other || get(v, i) != get(v, *other)))
            break;
    return i;
}

static void change(const values *v)
{
    const size_t i = choose(v, NULL), k = choose(v, &i);
    const double value = get(v, i);
    const double factor = 1.01 * pow(100, (double)draw(1000) / 1000); /* 1.01 to 100 */
    const int kind = changed_kind == WRONG_SWAP && get(v, k) == value ? WRONG_SCALE : changed_kind;
    switch (kind) {
    case WRONG_SCALE:
        put(v, i, v->type == PJRT_Buffer_Type_S32 ? value + 1 : value * factor);
        break;
    case WRONG_NEGATE: put(v, i, value == 0 ? -1 : -value); break;
    case WRONG_SWAP:
        put(v, i, get(v, k));
        put(v, k, value);
        break;
    case WRONG_ZEROS:
        for (size_t n = i; n < v->count && n < i + 8; n++)
            put(v, n, value == 0);
        break;
    default: put(v, i, (double)NAN);
    }
}

/* ---- the plugin ------------------------------------------------------------------------------ */

static size_t size_of(PJRT_Buffer_Type type)
{
    switch (type) {
    case PJRT_Buffer_Type_F64: return 8;
    case PJRT_Buffer_Type_BF16: return 2;
    case PJRT_Buffer_Type_F32:
    case PJRT_Buffer_Type_S32: return 4;
    default: return 0;
    }
}

static void note_read(PJRT_Buffer *buffer, void *data, size_t size)
{
    PJRT_Buffer_ElementType_Args args = {.struct_size = PJRT_Buffer_ElementType_Args_STRUCT_SIZE,
                                         .buffer = buffer};
    (void)real->PJRT_Buffer_ElementType(&args);
    const size_t each = size_of(args.type);
    (void)pthread_mutex_lock(&lock);
    const int64_t number = reads++;
    if (each > 0 && size >= each && (changed_read == WRONG_ALWAYS || changed_read == number))
        change(&(values){data, size / each, each, args.type});
    (void)pthread_mutex_unlock(&lock);
}

static PJRT_Error *to_host(PJRT_Buffer_ToHostBuffer_Args *args)
{
    PJRT_Error *error = real->PJRT_Buffer_ToHostBuffer(args);
    if (error || !args->dst)
        return error;
    PJRT_Event_Await_Args await = {.struct_size = PJRT_Event_Await_Args_STRUCT_SIZE,
                                   .event = args->event};
    error = real->PJRT_Event_Await(&await);
    if (!error)
        note_read(args->src, args->dst, args->dst_size);
    return error;
}

void wrong_set_change(int64_t read, int kind, uint64_t seed)
{
    (void)pthread_mutex_lock(&lock);
    reads = 0;
    changed_read = read;
    changed_kind = kind;
    random_state = seed;
    (void)pthread_mutex_unlock(&lock);
}

int64_t wrong_read_count(void)
{
    (void)pthread_mutex_lock(&lock);
    const int64_t count = reads;
    (void)pthread_mutex_unlock(&lock);
    return count;
}

static void read_settings(void)
{
    const char *text = getenv("WRONGPJRT");
    char *end;
    if (!text)
        return;
    const int64_t read = strtoll(text, &end, 10);
    const int kind = (int)strtol(end, &end, 10);
    wrong_set_change(read, kind, strtoull(end, NULL, 10));
}

const PJRT_Api *GetPjrtApi(void)
{
    static PJRT_Api table;
    const PJRT_Api *(*get_api)(void) = NULL;
    const char *path = getenv("WRONGPJRT_PLUGIN");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library)
        *(void **)&get_api = dlsym(library, "GetPjrtApi");
    if (!get_api) {
        (void)fprintf(stderr, "wrongpjrt: cannot load WRONGPJRT_PLUGIN '%s'\n", path ? path : "");
        return NULL;
    }
    if (!real)
        read_settings();
    real = get_api();
    memcpy(&table, real, real->struct_size < sizeof table ? real->struct_size : sizeof table);
    table.PJRT_Buffer_ToHostBuffer = to_host;
    return &table;
}
