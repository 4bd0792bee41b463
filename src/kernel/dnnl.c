/* dnnl.c - see dnnl.h. Descriptions of tensors are structs in version 2 and objects in version 3,
 * but functions take pointers to both.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernel/dnnl.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/library.h"
#include "base/map.h"
#include "base/print.h"

/* Numbers of enums; room for the description of a tensor, and for that of any operation, of version
 * 2. */
enum {
    CPU = 1,
    IN_ORDER = 1,
    ANY_LAYOUT = 1,
    FORWARD = 64,
    DIRECT = 1,
    BY_CALLER = 1,
    ARGUMENT = 255,
    SRC = 1,
    DST = 17,
    WEIGHTS = 33,
    SCRATCHPAD = 80,
    DIFF_SRC = 129,
    DIFF_DST = 145,
    DIFF_WEIGHTS = 161,
    OUT_OF_MEMORY = 1,
    TENSOR_SIZE = 2048,
    STRUCT_SIZE = 16384
};

typedef struct argument {
    int which;
    void *memory;
} argument;

typedef struct version {
    int major, minor, patch;
} version;

/* ---- the library ----------------------------------------------------------------------------- */

static struct {
    const version *(*version)(void);
    int (*engine_create)(void **engine, int kind, size_t index);
    int (*stream_create)(void **stream, void *engine, unsigned flags);
    int (*attr_create)(void **attr);
    int (*attr_set_scratchpad_mode)(void *attr, int mode);
    const void *(*query_md)(const void *pd, int what, int index);
    int (*pd_destroy)(void *pd);
    int (*primitive_create)(void **primitive, const void *pd);
    int (*primitive_destroy)(void *primitive);
    int (*execute)(const void *primitive, void *stream, int count, const argument *arguments);
    int (*memory_create)(void **memory, const void *md, void *engine, void *data);
    int (*memory_destroy)(void *memory);
    size_t (*md_size)(const void *md);
    int (*md_equal)(const void *a, const void *b);
    int (*reorder_create)(void **pd, const void *from, void *engine, const void *to,
                          void *to_engine, const void *attr);
} dnnl;

static const char *const symbols[] = {"dnnl_version",
                                      "dnnl_engine_create",
                                      "dnnl_stream_create",
                                      "dnnl_primitive_attr_create",
                                      "dnnl_primitive_attr_set_scratchpad_mode",
                                      "dnnl_primitive_desc_query_md",
                                      "dnnl_primitive_desc_destroy",
                                      "dnnl_primitive_create",
                                      "dnnl_primitive_destroy",
                                      "dnnl_primitive_execute",
                                      "dnnl_memory_create",
                                      "dnnl_memory_destroy",
                                      "dnnl_memory_desc_get_size",
                                      "dnnl_memory_desc_equal",
                                      "dnnl_reorder_primitive_desc_create",
                                      NULL};

static struct {
    int (*md_by_strides)(void *md, int rank, const int64_t *dim, int type, const int64_t *stride);
    int (*md_by_tag)(void *md, int rank, const int64_t *dim, int type, int tag);
    int (*conv)(void *desc, int prop, int algorithm, const void *x, const void *k, const void *bias,
                const void *y, const int64_t *stride, const int64_t *dilation, const int64_t *low,
                const int64_t *high);
    int (*conv_dx)(void *desc, int algorithm, const void *x, const void *k, const void *y,
                   const int64_t *stride, const int64_t *dilation, const int64_t *low,
                   const int64_t *high);
    int (*conv_dk)(void *desc, int algorithm, const void *x, const void *k, const void *bias,
                   const void *y, const int64_t *stride, const int64_t *dilation,
                   const int64_t *low, const int64_t *high);
    int (*matmul)(void *desc, const void *a, const void *b, const void *bias, const void *y);
    int (*pd_create)(void **pd, const void *desc, const void *attr, void *engine, const void *hint);
} two;

static const char *const symbols_of_two[] = {"dnnl_memory_desc_init_by_strides",
                                             "dnnl_memory_desc_init_by_tag",
                                             "dnnl_dilated_convolution_forward_desc_init",
                                             "dnnl_dilated_convolution_backward_data_desc_init",
                                             "dnnl_dilated_convolution_backward_weights_desc_init",
                                             "dnnl_matmul_desc_init",
                                             "dnnl_primitive_desc_create",
                                             NULL};

static struct {
    int (*md_by_strides)(void **md, int rank, const int64_t *dim, int type, const int64_t *stride);
    int (*md_by_tag)(void **md, int rank, const int64_t *dim, int type, int tag);
    int (*md_destroy)(void *md);
    int (*conv)(void **pd, void *engine, int prop, int algorithm, const void *x, const void *k,
                const void *bias, const void *y, const int64_t *stride, const int64_t *dilation,
                const int64_t *low, const int64_t *high, const void *attr);
    int (*conv_dx)(void **pd, void *engine, int algorithm, const void *x, const void *k,
                   const void *y, const int64_t *stride, const int64_t *dilation,
                   const int64_t *low, const int64_t *high, const void *hint, const void *attr);
    int (*conv_dk)(void **pd, void *engine, int algorithm, const void *x, const void *k,
                   const void *bias, const void *y, const int64_t *stride, const int64_t *dilation,
                   const int64_t *low, const int64_t *high, const void *hint, const void *attr);
    int (*matmul)(void **pd, void *engine, const void *a, const void *b, const void *bias,
                  const void *y, const void *attr);
} three;

static const char *const symbols_of_three[] = {
    "dnnl_memory_desc_create_with_strides",
    "dnnl_memory_desc_create_with_tag",
    "dnnl_memory_desc_destroy",
    "dnnl_convolution_forward_primitive_desc_create",
    "dnnl_convolution_backward_data_primitive_desc_create",
    "dnnl_convolution_backward_weights_primitive_desc_create",
    "dnnl_matmul_primitive_desc_create",
    NULL,
};

/* Set once, by load_all. */
static bool is_three;
static void *engine, *attr;
static char version_text[48];

/* Whether the loaded library computes on the CPU: some builds only do on GPUs. */
static bool has_engine(void)
{
    return dnnl.engine_create(&engine, CPU, 0) == 0 && dnnl.attr_create(&attr) == 0 &&
           dnnl.attr_set_scratchpad_mode(attr, BY_CALLER) == 0;
}

static void load_all(void)
{
    static const char *const newer[] = {"libdnnl.so.3", NULL}, *const older[] = {"libdnnl.so.2",
                                                                                 NULL};
    static atomic_int state[4];
    is_three = fgi_library_load(newer, symbols_of_three, &three, &state[0]) &&
               fgi_library_load(newer, symbols, &dnnl, &state[1]) && has_engine();
    if (!is_three && !(fgi_library_load(older, symbols_of_two, &two, &state[2]) &&
                       fgi_library_load(older, symbols, &dnnl, &state[3]) && has_engine()))
        return;
    const version *v = dnnl.version();
    (void)fgi_snprintf(version_text, sizeof version_text, "%d.%d.%d", v->major, v->minor, v->patch);
}

const char *fgi_dnnl_version(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load_all);
    return version_text[0] != '\0' ? version_text : NULL;
}

/* ---- what a problem is compiled to ----------------------------------------------------------- */

/* Kept until the process ends. The kernel of a convolution is in the layout that oneDNN prefers,
 * between which and the program's it is converted in each call. */
typedef struct compiled {
    void *primitive, *convert;   /* convert NULL: same layout */
    void *x, *k, *y;             /* layouts of the program */
    void *pd;                    /* owns ... */
    const void *inner, *scratch; /* layouts of oneDNN */
    size_t inner_size, scratch_size;
} compiled;

static int describe(const fgi_dnnl_tensor *t, bool is_any, void **md)
{
    const int rank = (int)t->rank, type = (int)t->type;
    if (is_three)
        return is_any ? three.md_by_tag(md, rank, t->dim, type, ANY_LAYOUT)
                      : three.md_by_strides(md, rank, t->dim, type, t->stride);
    *md = fgi_calloc(1, TENSOR_SIZE);
    if (*md == NULL)
        return OUT_OF_MEMORY;
    return is_any ? two.md_by_tag(*md, rank, t->dim, type, ANY_LAYOUT)
                  : two.md_by_strides(*md, rank, t->dim, type, t->stride);
}

static void forget(void *md)
{
    if (!is_three)
        fgi_free(md);
    else if (md != NULL)
        (void)three.md_destroy(md);
}

/* The descriptions of tensors, and numbers as oneDNN expects them. */
typedef struct request {
    const fgi_dnnl_problem *p;
    void *x, *k, *y;
    int64_t dilation[FGI_DNNL_RANK];
} request;

static int create_three(const request *r, int64_t kind, const void *hint, void **pd)
{
    const fgi_dnnl_problem *p = r->p;
    switch (kind) {
    case FGI_DNNL_CONV:
        return three.conv(pd, engine, FORWARD, DIRECT, r->x, r->k, NULL, r->y, p->stride,
                          r->dilation, p->low, p->high, attr);
    case FGI_DNNL_CONV_DX:
        return three.conv_dx(pd, engine, DIRECT, r->x, r->k, r->y, p->stride, r->dilation, p->low,
                             p->high, hint, attr);
    case FGI_DNNL_CONV_DK:
        return three.conv_dk(pd, engine, DIRECT, r->x, r->k, NULL, r->y, p->stride, r->dilation,
                             p->low, p->high, hint, attr);
    default: return three.matmul(pd, engine, r->x, r->k, NULL, r->y, attr);
    }
}

static int describe_two(const request *r, int64_t kind, void *desc)
{
    const fgi_dnnl_problem *p = r->p;
    switch (kind) {
    case FGI_DNNL_CONV:
        return two.conv(desc, FORWARD, DIRECT, r->x, r->k, NULL, r->y, p->stride, r->dilation,
                        p->low, p->high);
    case FGI_DNNL_CONV_DX:
        return two.conv_dx(desc, DIRECT, r->x, r->k, r->y, p->stride, r->dilation, p->low, p->high);
    case FGI_DNNL_CONV_DK:
        return two.conv_dk(desc, DIRECT, r->x, r->k, NULL, r->y, p->stride, r->dilation, p->low,
                           p->high);
    default: return two.matmul(desc, r->x, r->k, NULL, r->y);
    }
}

static int create(const request *r, int64_t kind, const void *hint, void **pd)
{
    if (is_three)
        return create_three(r, kind, hint, pd);
    void *desc = fgi_calloc(1, STRUCT_SIZE);
    if (desc == NULL)
        return OUT_OF_MEMORY;
    const int status = describe_two(r, kind, desc);
    const int made = status != 0 ? status : two.pd_create(pd, desc, attr, engine, hint);
    fgi_free(desc);
    return made;
}

/* oneDNN's choice for a convolution, whose kernel may have any layout, and is of this type. */
static int create_conv(const request *of, int64_t kind, int64_t type, const void *hint, void **pd)
{
    request r = *of;
    fgi_dnnl_tensor kernel = r.p->k;
    kernel.type = type;
    r.k = NULL;
    int status = describe(&kernel, true, &r.k);
    if (status == 0)
        status = create(&r, kind, hint, pd);
    forget(r.k);
    return status;
}

/* Of a gradient with the forward convolution, in the type of x, as a hint. */
static int choose(const request *r, void **pd)
{
    const fgi_dnnl_problem *p = r->p;
    void *forward = NULL;
    int status = 0;
    if (p->kind == FGI_DNNL_MATMUL)
        return create(r, p->kind, NULL, pd);
    if (p->kind != FGI_DNNL_CONV)
        status = create_conv(r, FGI_DNNL_CONV, p->x.type, NULL, &forward);
    if (status == 0)
        status = create_conv(r, p->kind, p->k.type, forward, pd);
    if (forward != NULL)
        (void)dnnl.pd_destroy(forward);
    return status;
}

/* Which argument the kernel or second matrix is. */
static int kernel_argument(int64_t kind)
{
    return kind == FGI_DNNL_CONV_DK ? DIFF_WEIGHTS : WEIGHTS;
}

/* The conversion between the program's layout of the kernel and oneDNN's. */
static int create_convert(const fgi_dnnl_problem *p, compiled *c)
{
    void *pd = NULL;
    const bool is_result = p->kind == FGI_DNNL_CONV_DK;
    if (dnnl.md_equal(c->inner, c->k) != 0)
        return 0;
    int status = dnnl.reorder_create(&pd, is_result ? c->inner : c->k, engine,
                                     is_result ? c->k : c->inner, engine, NULL);
    if (status == 0)
        status = dnnl.primitive_create(&c->convert, pd);
    if (pd != NULL)
        (void)dnnl.pd_destroy(pd);
    return status;
}

static int compile(const fgi_dnnl_problem *p, compiled *c)
{
    int status = describe(&p->x, false, &c->x);
    status = status != 0 ? status : describe(&p->k, false, &c->k);
    status = status != 0 ? status : describe(&p->y, false, &c->y);
    request r = {.p = p, .x = c->x, .k = c->k, .y = c->y};
    for (int i = 0; i < p->window; i++)
        r.dilation[i] = p->dilation[i] - 1;
    status = status != 0 ? status : choose(&r, &c->pd);
    status = status != 0 ? status : dnnl.primitive_create(&c->primitive, c->pd);
    if (status != 0)
        return status;
    c->inner = dnnl.query_md(c->pd, ARGUMENT, kernel_argument(p->kind));
    c->scratch = dnnl.query_md(c->pd, ARGUMENT, SCRATCHPAD);
    c->inner_size = dnnl.md_size(c->inner);
    c->scratch_size = dnnl.md_size(c->scratch);
    return create_convert(p, c);
}

static void compiled_free(compiled *c)
{
    if (c == NULL)
        return;
    if (c->convert != NULL)
        (void)dnnl.primitive_destroy(c->convert);
    if (c->primitive != NULL)
        (void)dnnl.primitive_destroy(c->primitive);
    if (c->pd != NULL)
        (void)dnnl.pd_destroy(c->pd);
    forget(c->x);
    forget(c->k);
    forget(c->y);
    fgi_free(c);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* What an equal problem was compiled to; compiles the first. */
static const compiled *find(const fgi_dnnl_problem *p, int *status)
{
    static fgi_map known;
    const fgi_hash key = fgi_hash_bytes(p, sizeof *p);
    (void)pthread_mutex_lock(&mutex);
    compiled *c = fgi_map_get(&known, key);
    *status = 0;
    if (c == NULL) {
        c = fgi_calloc(1, sizeof *c);
        *status = c != NULL ? compile(p, c) : OUT_OF_MEMORY;
        if (*status == 0 && !fgi_map_put(&known, key, c))
            *status = OUT_OF_MEMORY;
        if (*status != 0)
            compiled_free(c);
    }
    (void)pthread_mutex_unlock(&mutex);
    return *status == 0 ? c : NULL;
}

bool fgi_dnnl_can(const fgi_dnnl_problem *p)
{
    int status;
    return fgi_dnnl_version() != NULL && find(p, &status) != NULL;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* What a call needs for itself; reused by later ones. */
typedef struct workspace {
    struct workspace *next;
    void *stream, *data;
    size_t size;
} workspace;

static workspace *spare;

static void give_back(workspace *w)
{
    (void)pthread_mutex_lock(&mutex);
    w->next = spare;
    spare = w;
    (void)pthread_mutex_unlock(&mutex);
}

/* NULL when out of memory. */
static workspace *take(size_t size)
{
    (void)pthread_mutex_lock(&mutex);
    workspace *w = spare;
    if (w != NULL)
        spare = w->next;
    (void)pthread_mutex_unlock(&mutex);
    if (w == NULL)
        w = fgi_calloc(1, sizeof *w);
    if (w == NULL || (w->stream == NULL && dnnl.stream_create(&w->stream, engine, IN_ORDER) != 0)) {
        fgi_free(w);
        return NULL;
    }
    if (w->size < size) {
        fgi_free_aligned(w->data);
        w->data = fgi_alloc_aligned(size);
        w->size = w->data != NULL ? size : 0;
    }
    if (w->size >= size)
        return w;
    give_back(w);
    return NULL;
}

enum { MOST_ARGUMENTS = 4 };

/* The arguments of an execution. */
typedef struct arguments {
    argument list[MOST_ARGUMENTS];
    int count, status;
} arguments;

static void add(arguments *a, int which, const void *md, void *data)
{
    if (a->status == 0)
        a->status = dnnl.memory_create(&a->list[a->count].memory, md, engine, data);
    if (a->status == 0)
        a->list[a->count++].which = which;
}

static int execute(arguments *a, const void *primitive, void *stream)
{
    if (a->status == 0)
        a->status = dnnl.execute(primitive, stream, a->count, a->list);
    for (int i = 0; i < a->count; i++)
        (void)dnnl.memory_destroy(a->list[i].memory);
    return a->status;
}

static int convert(const compiled *c, bool is_back, void *k, void *inner, void *stream)
{
    arguments a = {.count = 0};
    add(&a, SRC, is_back ? c->inner : c->k, is_back ? inner : k);
    add(&a, DST, is_back ? c->k : c->inner, is_back ? k : inner);
    return execute(&a, c->convert, stream);
}

static size_t aligned(size_t size) { return (size + 63) / 64 * 64; }

bool fgi_dnnl_run(const fgi_dnnl_problem *p, void *x, void *k, void *y, int *status)
{
    const bool is_dx = p->kind == FGI_DNNL_CONV_DX, is_dk = p->kind == FGI_DNNL_CONV_DK;
    const compiled *c = find(p, status);
    if (c == NULL)
        return false;
    const size_t before = c->convert != NULL ? aligned(c->inner_size) : 0;
    workspace *w = take(before + c->scratch_size);
    *status = OUT_OF_MEMORY;
    if (w == NULL)
        return false;
    void *inner = before > 0 ? w->data : k;
    *status = before > 0 && !is_dk ? convert(c, false, k, inner, w->stream) : 0;
    arguments a = {.status = *status};
    add(&a, is_dx ? DIFF_SRC : SRC, c->x, x);
    add(&a, kernel_argument(p->kind), c->inner, inner);
    add(&a, is_dx || is_dk ? DIFF_DST : DST, c->y, y);
    if (c->scratch_size > 0)
        add(&a, SCRATCHPAD, c->scratch, (char *)w->data + before);
    /* Version 2.6 reads memory that it has not written, for one column of results and a stride. */
    if (is_dk && p->x.type == FGI_DNNL_BF16 && c->scratch_size > 0)
        memset((char *)w->data + before, 0, c->scratch_size);
    *status = execute(&a, c->primitive, w->stream);
    if (*status == 0 && before > 0 && is_dk)
        *status = convert(c, true, k, inner, w->stream);
    give_back(w);
    return *status == 0;
}
