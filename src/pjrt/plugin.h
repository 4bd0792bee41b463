/* plugin.h - shared by the files of this folder: a loaded plugin, the internals of a client, and
 * the function that converts PJRT errors.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PJRT_PLUGIN_H
#define FGI_PJRT_PLUGIN_H

#include <pjrt_c_api.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/thread.h"
#include "base/text.h"
#include "pjrt/pjrt.h"
#include "pjrt/plugin_file.h"
#include "pjrt/topology.h"

/* The oldest minor version of the PJRT C API (major 0) that this library was tested with. */
#define FGI_PJRT_MINOR_MIN 75

/* An argument struct of a PJRT call, with its size filled in:
 * FGI_ARGS(PJRT_Client_Devices_Args, args, .client = c); */
#define FGI_ARGS(type, name, ...) type name = {.struct_size = type##_STRUCT_SIZE, __VA_ARGS__}

/* Whether the plugin is new enough to have an optional function. */
#define FGI_HAS(api, call)                                                                         \
    (offsetof(PJRT_Api, call) + sizeof((api)->call) <= (api)->struct_size && (api)->call != NULL)

/* ---- finding and loading --------------------------------------------------------------------- */

/* A loaded plugin. It stays loaded until the process ends, because its threads would not survive
 * unloading. */
typedef struct fgi_plugin {
    const PJRT_Api *api;
    const char *path; /* borrowed from the client's arena */
    const char *name; /* last component of path */
    int64_t file_size, file_time_ns;
    bool has_refused; /* it is a plugin, but initialization failed */
} fgi_plugin;

/* Settings for the environment before a plugin is loaded. */
typedef struct fgi_plugin_use {
    const char *accelerator; /* NULL: not known */
    bool shows_log;
    bool is_compile_only; /* no device will be opened */
} fgi_plugin_use;

/* Checks, loads and initializes a plugin. path must live as long as *out. */
fg_status fgi_plugin_load(const char *path, const fgi_plugin_use *use, fgi_plugin *out,
                          fg_error *err);

/* ---- client ---------------------------------------------------------------------------------- */

typedef struct fgi_device {
    PJRT_Device *device; /* NULL: only described, by a topology */
    int64_t id;
    int process; /* rank of its process; with a topology: index of its host */
    const char *kind, *description;
    const char *label;          /* "cpu:0": for messages */
    int64_t memory_limit_bytes; /* of a device of a topology; -1: unknown */
} fgi_device;

/* ---- explaining why a device is not available: client_explain.c -------------------------------
 * host: the machine, NULL for this one. Each returns an error with what was found, why it cannot be
 * used, and a suggested command. */

struct fgi_host;
/* No plugin was found: FG_ENOTFOUND. */
fg_status fgi_explain_missing(const struct fgi_host *host, const char *accelerator,
                              const fg_plugin_candidate *places, size_t count, fg_error *err);
/* The same for a topology client, where this machine does not matter. */
fg_status fgi_explain_no_compiler(const char *accelerator, const fg_plugin_candidate *places,
                                  size_t count, fg_error *err);
/* Initializing the plugin or creating the client failed with the message in err: adds an
 * explanation. Returns `status`. accelerator may be NULL. */
fg_status fgi_explain_refusal(const struct fgi_host *host, const char *accelerator,
                              fg_status status, fg_error *err);
/* FG_EINVAL if that number of a host's cores is not supported: TPU v2 and v3 support one or all. */
fg_status fgi_check_cores(const char *kind, int chosen, int all, fg_error *err);

/* Released arrays that were donated are kept for this many launches. */
enum { FGI_LAUNCHES_KEPT = 16 };

struct fg_client {
    _Atomic int references; /* the user's reference, and one per array, executable and trace */
    _Atomic bool is_closed; /* the user's reference is gone: donated arrays are no longer kept */
    fgi_plugin plugin;
    PJRT_Client *client;                /* NULL: programs can only be compiled, for ... */
    PJRT_TopologyDescription *topology; /* ... this; NULL otherwise */
    fgi_platform platform;
    bool sees_chosen_only; /* the plugin was given the list of visible devices */
    const char *plain;
    bool has_kernels, has_dnnl; /* programs may call src/kernel; oneDNN too */
    char kernels[48];           /* info.kernels */
    fg_client_info info;
    fgi_device
        *devices; /* info.device_count of them, by (process, id) unless a list defines the order */
    fgi_mesh_device *world; /* info.global_device_count, by (process, id) in every process */
    fgi_mesh mesh;          /* of `devices` */
    const char *label;      /* "cpu:0", or "cpu" for several devices */
    fgi_arena arena;        /* every string and table above */
    char *cache_dir;        /* NULL: no cache */
    fgi_hash cache_seed;    /* the key of the cache, except for program and options */
    char *verdict_dir;      /* of verdicts about plugins; NULL: there is no home folder */
    char content[33];       /* hash of the plugin's content, as text; "": not known yet */
    bool is_checked;        /* a check runs: no disk cache, and nothing is listed */
    fg_client_stats stats_before, unlisted; /* when it began; what all checks added */
    pthread_mutex_t lock;                   /* for what follows, and the references of programs */
    bool has_lock;
    fg_compile_event compile[FG_MAX_COMPILE_EVENTS];
    size_t compile_count;
    fg_host_read read[FG_MAX_HOST_READS]; /* by place; the last one may be "other places" */
    size_t read_count;
    fgi_map calls;            /* fgi_call_site by number */
    fgi_executable *programs; /* compiled programs that are still referenced */
    struct {
        _Atomic int64_t compiles, cache_hits, compile_ns, executions, host_reads, uploaded_bytes,
            in_place_bytes;
    } stats;
    atomic_size_t allocated_before; /* bytes of the process at such a launch; 0: there was none */
    /* released arrays that running programs may still use, by launch: array.c */
    _Atomic(fg_array *) donated[FGI_LAUNCHES_KEPT];
};

/* Used by client.c and topology.c: copies strings into the client's arena. */
fg_status fgi_client_set_platform(fg_client *client, fgi_str name, fgi_str version, fg_error *err);
fg_status fgi_client_read_description(fg_client *client, PJRT_DeviceDescription *about,
                                      fgi_device *out, fg_error *err);

/* Allocates the devices of all processes, to be filled in and sorted. */
fg_status fgi_client_make_world(fg_client *client, size_t count, fg_error *err);

/* A named value whose `size` elements are to be set. */
PJRT_NamedValue fgi_named_value(const char *name, PJRT_NamedValue_Type type, size_t size);
void fgi_client_add_compile(fg_client *client, const fg_compile_event *event);
/* handlers.c: makes the kernels (src/kernel) available to programs of a CPU client. */
void fgi_client_add_kernels(fg_client *client, const char *which);
/* handlers.c: makes an error with the number of a call that of the user's line. */
void fgi_call_explain(const fg_client *client, fg_error *err);
void fgi_calls_free(fg_client *client);
/* host_reads.c: the calling thread has waited for a value since then. */
void fgi_client_waited(fg_client *client, const char *name, int64_t bytes, int64_t begin_ns);

/* topology.c: replaces the PJRT client in a client without devices. */
fg_status fgi_topology_open(fg_client *client, const char *text, const fgi_topology_name *name,
                            fg_error *err);
void fgi_topology_close(fg_client *client);
/* FG_EUNSUPPORTED: `what` requires a device. */
fg_status fgi_topology_refuse(const fg_client *client, const char *what, fg_error *err);

/* Enclose calls of the plugin that launch, move and free, to measure their CPU time if enabled
 * (fgi_plugin_watch). const int64_t begin = fgi_plugin_enter();
 *     ... calls ...
 *     fgi_plugin_leave(begin); */
int64_t fgi_plugin_enter(void);
void fgi_plugin_leave(int64_t begin);

/* Location and description of a call, for errors. */
typedef struct fgi_pjrt_call {
    const fg_client *client;
    const char *label;     /* label of a device or the client */
    const char *operation; /* "uploading", literal */
    fg_status status;      /* for error codes that are not more specific */
} fgi_pjrt_call;

/* FG_OK if error is NULL; otherwise converts and destroys it. */
fg_status fgi_check(PJRT_Error *error, const fgi_pjrt_call *place, fg_error *err);
/* Calls a function of the plugin of place.client, with its argument struct `args`, and returns the
 * error if it fails: FGI_CALL(PJRT_Client_Devices, list, place, err, .client = c->client); */
#define FGI_CALL(call, args, place, err, ...)                                                      \
    FGI_ARGS(call##_Args, args, __VA_ARGS__);                                                      \
    FGI_TRY(fgi_check((place).client->plugin.api->call(&(args)), &(place), err))
/* The same before a client exists. */
fg_status fgi_plugin_fail(const fgi_plugin *plugin, PJRT_Error *error, const fgi_pjrt_call *place,
                          fg_error *err);
/* Destroys an error that is ignored. True if there was none. */
bool fgi_ignore(const fgi_plugin *plugin, PJRT_Error *error);

/* ---- events ---------------------------------------------------------------------------------- */

/* The completion of one operation on each of `count` devices. */
struct fgi_event {
    const fg_client *client;
    const char *operation;
    int count;
    struct fgi_event_part {
        PJRT_Event *event; /* NULL: has happened */
        const char *label;
    } part[];
};

/* An event without parts yet, with room for `count`; NULL when out of memory. */
fgi_event *fgi_event_create(const fg_client *client, const char *operation, int count);
/* Adds `event` as a part and takes ownership of it. */
void fgi_event_add(fgi_event *self, PJRT_Event *event, const char *label);

/* ---- arrays ---------------------------------------------------------------------------------- */

/* One buffer for each of the client's devices, NULL on devices that don't have the array. Each
 * contains the device's shard. */
struct fg_array {
    fg_client *client;
    fg_type type;
    fgi_sharding sharding;
    _Atomic int references;
    _Atomic bool is_donated;
    int64_t donated_at; /* the execution of the client that consumed it */
    fg_array *next;     /* in one of the client's lists of donated arrays */
    int buffer_count;
    PJRT_Buffer *buffer[];
};

/* Frees released donated arrays whose program was launched long enough ago, or all of them. Called
 * before each launch. */
void fgi_donated_free(fg_client *client, bool all);
/* An array without buffers, with one reference; NULL when out of memory. */
fg_array *fgi_array_new(fg_client *client, const fg_type *type, const fgi_sharding *sharding);
PJRT_Buffer_Type fgi_dtype_to_pjrt(fg_dtype dtype);
fg_dtype fgi_dtype_from_pjrt(PJRT_Buffer_Type type);

/* ---- executables ----------------------------------------------------------------------------- */

typedef struct fgi_scratch fgi_scratch;

struct fgi_executable {
    fg_client *client;
    int references;
    fgi_hash key; /* as in the cache on disk; zero: loaded manually, not shared */
    fgi_executable *next;
    PJRT_LoadedExecutable *loaded; /* NULL: of a client without devices */
    PJRT_Executable *executable;
    int partition_count; /* devices that it runs on ... */
    int device_count;    /* ... and those of them that belong to this process */
    int *device_index;   /* row of the argument lists -> the client's device */
    fg_type *out_types;
    fgi_sharding *out_shardings;
    size_t out_count;
    int64_t reused_bytes;           /* of temporaries, for which a launch waits: execute.c */
    _Atomic(fgi_scratch *) scratch; /* used by a launch, returned after it */
};

void fgi_scratch_free(fgi_scratch *scratch);
/* The size of its temporaries if they should be in the memory of the last execution's, else 0. */
int64_t fgi_executable_reused_bytes(const fgi_executable *executable);

/* Number of partitions of the program: devices of this process, or of all processes. */
int fgi_partition_count(const fg_client *client, const fgi_compile_options *options);
/* The serialized CompileOptionsProto (fgi_free). */
fg_status fgi_compile_options_pack(const fg_client *client, const fgi_compile_options *options,
                                   unsigned char **out_data, size_t *out_size, fg_error *err);

/* ---- the cache on disk ----------------------------------------------------------------------- */

/* Sets the client's cache_dir, cache_seed and verdict_dir; cache_dir as in fg_client_options. */
fg_status fgi_cache_open(fg_client *client, const char *cache_dir, fg_error *err);
/* A hash of what determines results besides the plugin, the devices and the program. */
fgi_hash fgi_cache_circumstances(const fg_client *client, fgi_hash hash);
/* Whether it is a regular file of this user. */
bool fgi_cache_is_own_file(const char *path);
fgi_hash fgi_cache_key(const fg_client *client, const void *options, size_t options_size,
                       const char *text, size_t text_size);
/* The program, or NULL if it is not in the cache. */
fgi_executable *fgi_cache_load(fg_client *client, fgi_hash key, const fgi_compile_options *options);
void fgi_cache_store(fg_client *client, fgi_hash key, const fgi_executable *executable);

#endif
