/* variable.c - values that stay on the devices between runs.
 *
 * A variable starts on the host: with given bytes, or with an initializer that runs only when a
 * program or a reader needs the value. Then one array on the client has the value; it is replaced
 * at each run that assigns it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/here.h"
#include "base/number.h"
#include "base/reserved.h"
#include "base/resources.h"
#include "base/rng.h"
#include "base/thread.h"
#include "pjrt/pjrt.h"
#include "trace/trace.h"

struct fg_variable {
    char *name;
    fg_type type;
    fg_variable_options options;
    fgi_sharding sharding;
    const fg_variable *leader; /* parameter whose sharding it has, or NULL */
    bool has_file_axis;
    bool is_frozen;  /* nothing in the library modifies it */
    char set_at[80]; /* "train.c:31": where it was frozen or made trainable last */
    bool is_lost;    /* consumed by a program that failed */
    fg_array *array; /* the value, or NULL while it is on the host */
    void *host;      /* given bytes, or NULL: initialized from options.init */
};

static bool is_permutation(const int *axis, int rank)
{
    unsigned seen = 0;
    for (int i = 0; i < rank; i++) {
        if (axis[i] < 0 || axis[i] >= rank)
            return false;
        seen |= 1u << axis[i];
    }
    return seen == (1u << rank) - 1;
}

static fg_status check_type(const char *name, const fg_type *type, fg_error *err)
{
    bool is_type = fg_dtype_size(type->dtype) > 0 && type->rank >= 0 && type->rank <= FG_MAX_RANK;
    for (int i = 0; is_type && i < type->rank; i++)
        is_type = type->dim[i] >= 0;
    if (name == NULL || name[0] == '\0' || !is_type || !fgi_type_is_countable(type))
        return fgi_fail(err, FG_EINVAL, "a variable requires a name, a dtype and a shape");
    return FG_OK;
}

static fg_status check_options(const fg_variable *variable, fg_error *err)
{
    const fg_variable_options *o = &variable->options;
    const fg_dtype dtype = variable->type.dtype;
    if (variable->has_file_axis && !is_permutation(o->file_axis, variable->type.rank))
        return fgi_fail(err, FG_EINVAL, "variable '%s': file_axis is not a permutation of 0..%d",
                        variable->name, variable->type.rank - 1);
    const bool is_random = o->init.kind == FG_INIT_UNIFORM || o->init.kind == FG_INIT_NORMAL;
    if ((is_random && !fg_dtype_is_float(dtype)) ||
        (o->init.kind == FG_INIT_CONSTANT && !fgi_number_fits(dtype, o->init.a)))
        return fgi_fail(err, FG_EINVAL, "variable '%s': %s does not support this initial value",
                        variable->name, fg_dtype_name(dtype));
    return FG_OK;
}

fg_status fg_variable_create(const char *name, const fg_type *type,
                             const fg_variable_options *options, fg_variable **out, fg_error *err)
{
    *out = NULL;
    FGI_TRY_RESERVED(fg_variable_options, options, err);
    FGI_TRY(check_type(name, type, err));
    fg_variable *variable = fgi_calloc(1, sizeof *variable);
    if (variable == NULL)
        return fgi_no_memory(err);
    variable->name = fgi_strdup(name);
    variable->type = *type;
    if (options != NULL)
        variable->options = *options;
    for (int i = 0; i < type->rank; i++)
        variable->has_file_axis |= variable->options.file_axis[i] != 0;
    const fg_status status =
        variable->name == NULL ? fgi_no_memory(err) : check_options(variable, err);
    if (status != FG_OK) {
        fg_variable_destroy(variable);
        return status;
    }
    *out = variable;
    return FG_OK;
}

void fg_variable_destroy(fg_variable *variable)
{
    if (variable == NULL)
        return;
    fg_array_release(variable->array);
    fgi_free_aligned(variable->host);
    fgi_free(variable->name);
    fgi_free(variable);
}

const char *fg_variable_name(const fg_variable *variable) { return variable->name; }

fg_status fgi_variable_rename(fg_variable *variable, const char *name, fg_error *err)
{
    char *own = fgi_strdup(name);
    if (own == NULL)
        return fgi_no_memory(err);
    fgi_free(variable->name);
    variable->name = own;
    return FG_OK;
}

const fg_type *fg_variable_type(const fg_variable *variable) { return &variable->type; }

fg_variable_kind fg_variable_kind_of(const fg_variable *variable) { return variable->options.kind; }

void fgi_variable_set_trainable_at(fg_variable *variable, bool trainable, const char *file,
                                   int line)
{
    if (variable->is_frozen == trainable && file != NULL)
        fgi_format_place(variable->set_at, sizeof variable->set_at, file, line);
    else if (variable->is_frozen == trainable)
        variable->set_at[0] = '\0';
    variable->is_frozen = !trainable;
}

void fg_variable_set_trainable(fg_variable *variable, bool trainable)
{
    const char *file;
    int line;
    fgi_here_take(&file, &line);
    fgi_variable_set_trainable_at(variable, trainable, file, line);
}

const char *fgi_variable_set_at(const fg_variable *variable) { return variable->set_at; }

bool fg_variable_is_trainable(const fg_variable *variable) { return !variable->is_frozen; }

const fgi_sharding *fgi_variable_sharding(const fg_variable *variable)
{
    return variable->leader != NULL ? &variable->leader->sharding : &variable->sharding;
}

void fgi_variable_follow(fg_variable *state, const fg_variable *parameter)
{
    state->leader = parameter;
}

void fgi_variable_set_sharding(fg_variable *variable, const fgi_sharding *sharding)
{
    variable->sharding = *sharding;
}

const int *fg_variable_file_axis(const fg_variable *variable)
{
    return variable->has_file_axis ? variable->options.file_axis : NULL;
}

/* ---- initial values -------------------------------------------------------------------------- */

/* Elements of a random initial value that a thread draws. */
typedef struct drawing {
    const fg_variable *variable;
    fgi_key key;
    void *data;
    int64_t first, last;
    fgi_thread thread;
    bool has_thread;
} drawing;

static void *draw(void *self)
{
    enum { BLOCK = 1024 };
    const drawing *d = self;
    const fg_init init = d->variable->options.init;
    const fg_dtype dtype = d->variable->type.dtype;
    const bool is_uniform = init.kind == FG_INIT_UNIFORM;
    float numbers[BLOCK];
    for (int64_t at = d->first; at < d->last; at += BLOCK) {
        const size_t count = (size_t)(d->last - at < BLOCK ? d->last - at : BLOCK);
        (is_uniform ? fgi_rng_uniform_range : fgi_rng_normal_range)(d->key, (uint64_t)at, count,
                                                                    numbers);
        for (size_t i = 0; i < count; i++) {
            const double number = (double)numbers[i];
            const double value = init.a * (is_uniform ? 2.0 * number - 1.0 : number);
            if (dtype == FG_F32) /* the usual dtype, several times faster */
                ((float *)d->data)[(size_t)at + i] = (float)value;
            else
                fgi_number_put(dtype, d->data, (size_t)at + i, value);
        }
    }
    return NULL;
}

/* Random values are pure functions of (seed, name, index), so that they do not depend on the order
 * of creation or on the threads that draw them. */
static void draw_all(const fg_variable *variable, void *data)
{
    enum { LEAST = 65536, MOST_THREADS = 64 }; /* elements of a thread; threads */
    const int64_t count = fg_type_count(&variable->type), most = count / LEAST;
    const int64_t processors = most > 1 ? fgi_cpu_count() : 1;
    const int64_t wanted = most < processors ? most : processors;
    const int64_t threads = wanted < 1 ? 1 : wanted < MOST_THREADS ? wanted : MOST_THREADS;
    drawing parts[MOST_THREADS];
    for (int64_t i = 0; i < threads; i++) {
        drawing *part = &parts[i];
        *part = (drawing){
            .variable = variable,
            .key = fgi_key_fold_text(fgi_key_from_seed(variable->options.seed), variable->name),
            .data = data,
            .first = count / threads * i,
            .last = i + 1 < threads ? count / threads * (i + 1) : count};
        part->has_thread =
            i + 1 < threads && fgi_thread_start(&part->thread, draw, part, NULL) == FG_OK;
        if (!part->has_thread)
            (void)draw(part);
    }
    for (int64_t i = 0; i < threads; i++)
        if (parts[i].has_thread)
            fgi_thread_join(parts[i].thread);
}

static void initialise(const fg_variable *variable, void *data)
{
    const fg_init init = variable->options.init;
    const int64_t count = fg_type_count(&variable->type);
    if (init.kind == FG_INIT_UNIFORM || init.kind == FG_INIT_NORMAL)
        draw_all(variable, data);
    else
        memset(data, 0, fg_type_bytes(&variable->type));
    for (int64_t i = 0; i < count && init.kind == FG_INIT_CONSTANT; i++)
        fgi_number_put(variable->type.dtype, data, (size_t)i, init.a);
}

/* ---- values ---------------------------------------------------------------------------------- */

static fg_status lost(const fg_variable *variable, fg_error *err)
{
    return fgi_fail(err, FG_EDEVICE,
                    "the value of variable '%s' was lost in a program that failed: set it again, "
                    "for example from a checkpoint",
                    variable->name);
}

/* Host bytes of a variable that has no array yet, created on first use. */
static fg_status host_value(fg_variable *variable, fg_error *err)
{
    if (variable->is_lost)
        return lost(variable, err);
    if (variable->host != NULL)
        return FG_OK;
    const size_t size = fg_type_bytes(&variable->type) > 0 ? fg_type_bytes(&variable->type) : 1;
    const bool is_zero = variable->options.init.kind == FG_INIT_ZEROS;
    variable->host = is_zero ? fgi_calloc(size, 1) : fgi_alloc_aligned(size);
    if (variable->host == NULL)
        return fgi_no_memory(err);
    if (!is_zero)
        initialise(variable, variable->host);
    return FG_OK;
}

static fg_status check_size(const fg_variable *variable, size_t size, fg_error *err)
{
    const size_t want = fg_type_bytes(&variable->type);
    char text[96];
    if (size != want)
        return fgi_fail(err, FG_EINVAL, "variable '%s' (%s) has %zu bytes, but got %zu",
                        variable->name, fg_type_format(&variable->type, text, sizeof text), want,
                        size);
    return FG_OK;
}

fg_status fg_variable_set(fg_variable *variable, const void *data, size_t size_bytes, fg_error *err)
{
    FGI_TRY(check_size(variable, size_bytes, err));
    void *host = fgi_alloc_aligned(size_bytes > 0 ? size_bytes : 1);
    if (host == NULL)
        return fgi_no_memory(err);
    memcpy(host, data, size_bytes);
    fgi_variable_take(variable, host);
    return FG_OK;
}

void fgi_variable_take(fg_variable *variable, void *take_host)
{
    fgi_free_aligned(variable->host);
    variable->host = take_host;
    fg_array_release(variable->array);
    variable->array = NULL;
    variable->is_lost = false;
}

fg_client *fgi_variable_client(const fg_variable *variable)
{
    return variable->array != NULL ? fg_array_client(variable->array) : NULL;
}

fg_status fgi_variable_read_as(const fg_variable *variable, void *out_data, size_t size_bytes,
                               const char *name, fg_error *err)
{
    FGI_TRY(check_size(variable, size_bytes, err));
    if (variable->array != NULL)
        return fgi_array_read_as(variable->array, out_data, size_bytes, name, err);
    if (variable->is_lost)
        return lost(variable, err);
    if (variable->host != NULL)
        memcpy(out_data, variable->host, size_bytes);
    else
        initialise(variable, out_data);
    return FG_OK;
}

fg_status fg_variable_read(const fg_variable *variable, void *out_data, size_t size_bytes,
                           fg_error *err)
{
    return fgi_variable_read_as(variable, out_data, size_bytes, NULL, err);
}

fg_status fgi_variable_download(const fg_variable *variable, void *out_data, size_t size_bytes,
                                fgi_event **out_done, fg_error *err)
{
    *out_done = NULL;
    if (variable->array == NULL)
        return fg_variable_read(variable, out_data, size_bytes, err);
    return fgi_array_download(variable->array, out_data, size_bytes, out_done, err);
}

fg_status fgi_variable_array(fg_variable *variable, fg_client *client, fg_array **out,
                             fg_error *err)
{
    const fgi_sharding *sharding = fgi_variable_sharding(variable);
    *out = variable->array;
    if (variable->array != NULL && fg_array_client(variable->array) == client &&
        fgi_sharding_equal(fgi_array_sharding(variable->array), sharding))
        return FG_OK;
    if (variable->array != NULL) { /* it moves from another client, or is resharded */
        const size_t size = fg_type_bytes(&variable->type);
        void *host = fgi_alloc_aligned(size > 0 ? size : 1);
        if (host == NULL)
            return fgi_no_memory(err);
        const fg_status status =
            fgi_array_read_as(variable->array, host, size, "resharded variables", err);
        if (status != FG_OK) {
            fgi_free_aligned(host);
            return status;
        }
        fg_array_release(variable->array);
        variable->array = NULL;
        variable->host = host;
    }
    FGI_TRY(host_value(variable, err));
    FGI_TRY_CTX(fgi_array_upload(client, &variable->type, sharding, variable->host, FGI_UPLOAD_COPY,
                                 &variable->array, NULL, err),
                err, "uploading variable '%s'", variable->name);
    fgi_free_aligned(variable->host);
    variable->host = NULL;
    *out = variable->array;
    return FG_OK;
}

void fgi_variable_replace(fg_variable *variable, fg_array *take_array)
{
    fg_array_release(variable->array);
    variable->array = take_array;
    fgi_free_aligned(variable->host);
    variable->host = NULL;
    variable->is_lost = false;
}

void fgi_variable_lose(fg_variable *variable)
{
    if (variable->array == NULL || !fgi_array_is_donated(variable->array))
        return;
    fg_array_release(variable->array);
    variable->array = NULL;
    variable->is_lost = true;
}

bool fgi_variable_is_lost(const fg_variable *variable) { return variable->is_lost; }
