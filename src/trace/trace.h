/* trace.h (internal) - the content of a trace: its nodes, its leaves, its first error.
 *
 * A leaf is an external value: a variable, an array, a batch fed by the Trainer, a scalar. Programs
 * refer to leaves by their index in the table, so that a compiled program can be used by every
 * later trace of the same structure, with any arrays as leaves.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRACE_TRACE_H
#define FGI_TRACE_TRACE_H

#include <fulgurite/data.h>

#include "base/arena.h"
#include "base/map.h"
#include "pjrt/pjrt.h"
#include "trace/graph.h"
#include "trace/signature.h"

enum { FGI_SCOPE_DEPTH = 32, FGI_REMAT_DEPTH = 16, FGI_KEY_WORDS = 2 };

typedef enum fgi_leaf_kind {
    FGI_LEAF_VARIABLE,
    FGI_LEAF_ARRAY,
    FGI_LEAF_FEED,
    FGI_LEAF_SCALAR
} fgi_leaf_kind;

/* A value that a variable had in a trace before it was assigned again; the newest first. */
typedef struct fgi_version {
    fgi_node *node;
    const struct fgi_version *next;
} fgi_version;

typedef struct fgi_leaf {
    fgi_leaf_kind kind;
    fgi_node *node;
    fgi_node *assigned;       /* for variables: the value after the run, or NULL */
    fgi_node *current;        /* an alias of `assigned` for readers; NULL: not read yet */
    const fgi_version *older; /* values before `assigned`, in the trace's arena */
    union {
        fg_variable *variable;
        fg_array *array; /* one reference */
        int feed;        /* index into the arrays given at launch */
        const fg_scalar *scalar;
    } of;
} fgi_leaf;

/* Programs kept by a trace (program.c): at most this many, the most recently used first. */
enum { FGI_PROGRAMS_KEPT = 64 };

typedef struct fgi_program_entry {
    fgi_hash hash; /* hash of the whole structure */
    struct fgi_program *program;
} fgi_program_entry;

typedef struct fgi_programs {
    fgi_program_entry entry[FGI_PROGRAMS_KEPT];
    size_t count;
} fgi_programs;

/* A program that runs up to `steps` steps per launch (launch_loop.c); 0: it runs one. Output 0 is
 * the next value of the array fed as `carried_feed`; the other feeds are batches, of which each
 * step has one. */
typedef struct fgi_launch {
    int64_t steps;
    int carried_feed;
} fgi_launch;

struct fg_trace {
    fg_client *client;
    uint64_t base; /* prefix of the handles of its tensors (handle.c) */
    fgi_arena arena;
    fgi_node **nodes; /* by id */
    size_t node_count, node_capacity;
    fgi_map by_hash; /* structure -> node */
    fgi_leaf *leaves;
    size_t leaf_count, leaf_capacity;
    fgi_map leaf_by_key; /* address of a variable, array or scalar -> node of the leaf */
    fgi_programs programs;
    fgi_node poison;
    fg_error error;
    const char *scope[FGI_SCOPE_DEPTH];
    int scope_depth, scope_overflow;
    const fgi_node *place;               /* whose location new nodes inherit, or NULL */
    fg_scalar key[FGI_KEY_WORDS];        /* inputs of the program for (seed, step) */
    size_t remat_begin[FGI_REMAT_DEPTH]; /* the first nodes of the open parts (op/remat.c) */
    int remat_depth;
    uint32_t random_ids;
    struct fgi_region *region;             /* the open one, innermost; NULL: none */
    uint32_t region_count;                 /* serial number of the next one */
    const struct fgi_precision *precision; /* NULL: 32-true */
    fg_tensor mask;                        /* f32[B] */
    fg_tensor valid_count;                 /* f32[]: number of valid rows */
    fgi_sharding
        result_sharding; /* of every output; the Trainer's predictions keep that of the batch */
    bool has_mask, has_valid_count, is_training;
    bool has_rows;  /* a batch axis was marked: the mask can no longer be changed */
    bool has_marks; /* marked by the user: nothing is assumed about values without rows */
    bool is_step;   /* belongs to a Trainer's step: fg_run is an error */
    fgi_launch launch;
    /* The value that fg_variable_value returns instead of the variable's own, sharded like it;
     * {0}: its own. NULL: always. */
    fg_tensor (*substitute)(void *self, fg_trace *trace, fg_variable *variable);
    void *substitute_self;
    const char *label;                    /* of a step: "train_step"; NULL otherwise */
    int64_t step;                         /* of the Trainer; with label */
    const char *feed_name[FG_MAX_FIELDS]; /* while it is compiled; NULL: no name */
    fgi_history *history;                 /* of the Trainer's; NULL: */
    fgi_history own_history;
};

/* The calling thread's last fg_here; `trace` is the trace that it is recording. */
void fgi_trace_source_line(const fg_trace *trace, const char **out_file, int *out_line);
/* The base of the trace that the thread recorded last, which may have been destroyed. */
void fgi_here_set_trace(uint64_t base);
uint64_t fgi_here_trace(void);

/* Tensors and nodes (handle.c). The error for a tensor that belongs to no trace, else NULL. */
const char *fgi_tensor_dead(fg_tensor tensor);
/* An entry in the table of traces, or FG_EUNSUPPORTED; reset: existing tensors are no longer alive.
 */
fg_status fgi_handles_open(fg_trace *trace, fg_error *err);
void fgi_handles_reset(fg_trace *trace);
void fgi_handles_close(fg_trace *trace);
/* trace->nodes has moved. */
void fgi_handles_renew(fg_trace *trace);

/* A new node with room for its inputs, not hashed yet; NULL after keeping FG_ENOMEM. */
fgi_node *fgi_node_create(fg_trace *trace, const fgi_op *op, int arity);
/* Adds a node to the trace's tables; poison value when out of memory. */
fg_tensor fgi_node_enter(fg_trace *trace, fgi_node *node);

/* Leaves (leaf.c). */
extern const fgi_op fgi_leaf_op;
/* Index in trace->leaves of a leaf node. */
size_t fgi_leaf_index(const fgi_node *node);
/* The values that the variable had in this trace before the current one. */
const fgi_version *fgi_variable_older(fg_trace *trace, fg_variable *variable);
/* The sharding of a leaf's array. */
const fgi_sharding *fgi_leaf_sharding(const fgi_node *node);
/* A batch tensor of the Trainer: array number `feed` at launch; replicated, or with this sharding.
 */
fg_tensor fgi_trace_feed(fg_trace *trace, int feed, const fg_type *type);
fg_tensor fgi_trace_feed_sharded(fg_trace *trace, int feed, const fg_type *type,
                                 const fgi_sharding *sharding);
/* Releases the references of leaves. */
void fgi_leaves_release(fgi_leaf *leaves, size_t count);

/* Variables (variable.c). The array with the variable's value on the client, uploaded or
 * initialized first if necessary; borrowed. */
fg_status fgi_variable_array(fg_variable *variable, fg_client *client, fg_array **out,
                             fg_error *err);
/* The sharding of the variable. An existing value is resharded when the next program uses it;
 * programs compiled before must no longer be launched. */
const fgi_sharding *fgi_variable_sharding(const fg_variable *variable);
void fgi_variable_set_sharding(fg_variable *variable, const fgi_sharding *sharding);
/* Before it is used. Random initial values depend on the name. Errors: FG_ENOMEM. */
fg_status fgi_variable_rename(fg_variable *variable, const char *name, fg_error *err);
/* `state`, which has the same shape, gets the sharding of `parameter`; it must not be used after
 * the parameter is destroyed. */
void fgi_variable_follow(fg_variable *state, const fg_variable *parameter);
/* fg_variable_value with the sharding on the devices. fg_variable_value gathers a parameter that is
 * sharded along the mesh's batch or fsdp axes; an elementwise update needs only the local shards.
 */
fg_tensor fgi_variable_part(fg_trace *trace, fg_variable *variable);
/* The same value with another sharding: XLA inserts the communication (reshard.c). Its gradient has
 * the original sharding, `from`. */
fg_tensor fgi_reshard(fg_tensor value, const fgi_sharding *from, const fgi_sharding *to);
/* Takes ownership of one reference of `take_array`. */
void fgi_variable_replace(fg_variable *variable, fg_array *take_array);
/* A failed program has consumed the value: using it is an error until it is set again. */
void fgi_variable_lose(fg_variable *variable);
bool fgi_variable_is_lost(const fg_variable *variable);
/* fg_variable_set_trainable by a line of the user's program; file NULL: unknown. The line is
 * returned as "train.c:31", "" if it is unknown. */
void fgi_variable_set_trainable_at(fg_variable *variable, bool trainable, const char *file,
                                   int line);
const char *fgi_variable_set_at(const fg_variable *variable);
/* fg_variable_set with a block of fgi_alloc_aligned, which the variable owns from now on. */
void fgi_variable_take(fg_variable *variable, void *take_host);
/* The client that has its value; NULL: the value is on the host. */
fg_client *fgi_variable_client(const fg_variable *variable);
/* fg_variable_read for the library: counted under a name, NULL: the user's line. */
fg_status fgi_variable_read_as(const fg_variable *variable, void *out_data, size_t size_bytes,
                               const char *name, fg_error *err);
/* fg_variable_read without waiting: *out_done is NULL if the value was on the host, and out_data
 * has been written. */
fg_status fgi_variable_download(const fg_variable *variable, void *out_data, size_t size_bytes,
                                fgi_event **out_done, fg_error *err);

#endif
