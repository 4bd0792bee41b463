/* plugin.h - shared by the files of this folder: a loaded plugin, a client's inside, and the one
 * function that turns PJRT errors into ours.
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
#include "base/thread.h"
#include "base/text.h"
#include "pjrt/pjrt.h"
#include "pjrt/topology.h"

/* The oldest minor version of the PJRT C API (major 0) that this library has been tried with. */
#define FGI_PJRT_MINOR_MIN 75
#define FGI_PATH_MAX       1024

/* An argument struct of a PJRT call, with its size filled in:
 * FGI_ARGS(PJRT_Client_Devices_Args, args, .client = c); */
#define FGI_ARGS(type, name, ...) type name = {.struct_size = type##_STRUCT_SIZE, __VA_ARGS__}

/* Whether the plugin is new enough to have an optional call. */
#define FGI_HAS(api, call)                                                                         \
    (offsetof(PJRT_Api, call) + sizeof((api)->call) <= (api)->struct_size && (api)->call != NULL)

/* ---- finding and loading ----------------------------------------------------------------------
 */

/* The folder of the user's data: $FULGURITE_HOME and so on. False when there is none. */
bool fgi_home_folder(char out[FGI_PATH_MAX]);
/* The folder of the program or shared library that holds this code. False when it is unknown. */
bool fgi_own_folder(char out[FGI_PATH_MAX]);
/* Cuts PREFIX/bin, PREFIX/lib or PREFIX/lib/TRIPLE to PREFIX. False for a folder of another kind,
 * which is cut too. */
bool fgi_prefix_of(char folder[FGI_PATH_MAX]);
/* Where a plugin that `fulgurite setup NAME` installs lies inside its folder, plugins/NAME; NULL
 * for an unknown name. */
const char *fgi_setup_file(const char *name);
/* "cpu", "cuda" or "tpu" as the file's name tells, or NULL. */
const char *fgi_accelerator_of_file(const char *path);
/* Whether this machine seems to hold a TPU or an NVIDIA GPU; true for "cpu". Looks under `root`
 * ("" for the real one). */
bool fgi_machine_has(const char *root, const char *accelerator);

/* Reads the file's ELF header: FG_EPLUGIN when it is missing, truncated, no shared library or
 * built for another architecture. */
fg_status fgi_plugin_check_file(const char *path, fg_error *err);

/* A plugin in this process. Once loaded it stays until the process ends: its threads could not
 * survive an unloading. */
typedef struct fgi_plugin {
    const PJRT_Api *api;
    const char *path; /* borrowed from the client's arena */
    const char *name; /* the last part of path */
    int64_t file_size, file_time_ns;
    bool has_refused; /* it is a plugin, and would not be initialised */
} fgi_plugin;

/* What the environment is set for before a plugin is loaded. */
typedef struct fgi_plugin_use {
    const char *accelerator; /* NULL: not known */
    bool shows_log;
    bool is_compile_only; /* no device will be opened */
} fgi_plugin_use;

/* Checks, loads and initialises. path must live as long as *out. */
fg_status fgi_plugin_load(const char *path, const fgi_plugin_use *use, fgi_plugin *out,
                          fg_error *err);

/* ---- client -----------------------------------------------------------------------------------
 */

typedef struct fgi_device {
    PJRT_Device *device; /* NULL: only described, by a topology */
    int64_t id;
    int process; /* whose it is; of a topology: the number of its host */
    const char *kind, *description;
    const char *label;          /* "cpu:0": for messages */
    int64_t memory_limit_bytes; /* of one that is only described; -1: unknown */
} fgi_device;

/* ---- why there are no devices: client_explain.c -----------------------------------------------
 * host: the machine, NULL for this one; each fails with what is there, why it cannot be had, and
 * what to type.
 */

struct fgi_host;
/* None of the places has a plugin: FG_ENOTFOUND. */
fg_status fgi_explain_missing(const struct fgi_host *host, const char *accelerator,
                              const fg_plugin_candidate *places, size_t count, fg_error *err);
/* The same for a client that only compiles, which says nothing of this machine. */
fg_status fgi_explain_no_compiler(const char *accelerator, const fg_plugin_candidate *places,
                                  size_t count, fg_error *err);
/* The plugin did not initialise or gave no client, with the words in err: adds to these. Returns
 * `status`. accelerator may be NULL. */
fg_status fgi_explain_refusal(const struct fgi_host *host, const char *accelerator,
                              fg_status status, fg_error *err);
/* FG_EINVAL where so many of a host's cores cannot be taken: a TPU v2 or v3 gives one or all. */
fg_status fgi_check_cores(const char *kind, int chosen, int all, fg_error *err);

/* Released arrays that were donated are kept for so many launches. */
enum { FGI_LAUNCHES_KEPT = 16 };

struct fg_client {
    _Atomic int references; /* the user's, and one of each array, executable and trace */
    _Atomic bool is_closed; /* the user's is gone: donated arrays are no longer kept */
    fgi_plugin plugin;
    PJRT_Client *client;                /* NULL: programs are compiled only, for ... */
    PJRT_TopologyDescription *topology; /* ... this; NULL otherwise */
    fgi_platform platform;
    bool uses_onednn;
    bool sees_chosen_only; /* the plugin was told which devices it may see */
    const char *plain;
    fg_client_info info;
    fgi_device *devices; /* info.device_count of them, by (process, id) unless chosen otherwise */
    fgi_mesh_device *world; /* info.global_device_count, by (process, id) in every process */
    fgi_mesh mesh;          /* of `devices` */
    const char *label;      /* "cpu:0", or "cpu" for several devices */
    fgi_arena arena;        /* every string and table above */
    char *cache_dir;        /* NULL: no cache */
    fgi_hash cache_seed;    /* all of the cache's key but program and options */
    pthread_mutex_t lock;   /* of the list below, and of its members' references */
    bool has_lock;
    fgi_executable *programs; /* what was compiled and is still held by somebody */
    struct {
        _Atomic int64_t compiles, cache_hits, compile_ns, executions, host_reads, uploaded_bytes,
            in_place_bytes;
    } stats;
    /* released arrays that running programs may still hold, by launch: array.c */
    _Atomic(fg_array *) donated[FGI_LAUNCHES_KEPT];
};

/* What client.c and topology.c read alike: copies texts into the client's arena. */
fg_status fgi_client_set_platform(fg_client *client, fgi_str name, fgi_str version, fg_error *err);
fg_status fgi_client_read_description(fg_client *client, PJRT_DeviceDescription *about,
                                      fgi_device *out, fg_error *err);

/* Room for the devices of all processes, to be filled in and sorted. */
fg_status fgi_client_make_world(fg_client *client, size_t count, fg_error *err);

/* topology.c: what a client without devices has instead of a PJRT client. */
fg_status fgi_topology_open(fg_client *client, const char *text, const fgi_topology_name *name,
                            fg_error *err);
void fgi_topology_close(fg_client *client);
/* FG_EUNSUPPORTED: `what` wants a device. */
fg_status fgi_topology_refuse(const fg_client *client, const char *what, fg_error *err);

/* Around calls of the plugin's that launch, move and free: their processor time, while somebody
 * wants it (fgi_plugin_watch).
 *     const int64_t begin = fgi_plugin_enter();
 *     ... calls ...
 *     fgi_plugin_leave(begin); */
int64_t fgi_plugin_enter(void);
void fgi_plugin_leave(int64_t begin);

/* Where and at what an error happened. */
typedef struct fgi_pjrt_call {
    const fg_client *client;
    const char *label;     /* a device's or the client's label */
    const char *operation; /* "uploading", literal */
    fg_status status;      /* for error codes that say nothing more exact */
} fgi_pjrt_call;

/* FG_OK when error is NULL; else reports and destroys it. */
fg_status fgi_check(PJRT_Error *error, const fgi_pjrt_call *place, fg_error *err);
/* The same before there is a client. */
fg_status fgi_plugin_fail(const fgi_plugin *plugin, PJRT_Error *error, const fgi_pjrt_call *place,
                          fg_error *err);
/* Destroys an error that does not matter. True when there was none. */
bool fgi_ignore(const fgi_plugin *plugin, PJRT_Error *error);

/* ---- events -----------------------------------------------------------------------------------
 */

/* The end of one operation on each of `count` devices. */
struct fgi_event {
    const fg_client *client;
    const char *operation;
    int count;
    struct fgi_event_part {
        PJRT_Event *event; /* NULL: has happened */
        const char *label;
    } part[];
};

/* An event without parts yet, room for `count`; NULL when out of memory. */
fgi_event *fgi_event_create(const fg_client *client, const char *operation, int count);
/* Takes `event` over as a further part. */
void fgi_event_add(fgi_event *self, PJRT_Event *event, const char *label);

/* ---- arrays -----------------------------------------------------------------------------------
 */

/* One buffer for each of the client's devices, NULL where the array is not. Each holds the device's
 * shard. */
struct fg_array {
    fg_client *client;
    fg_type type;
    fgi_sharding sharding;
    _Atomic int references;
    _Atomic bool is_donated;
    int64_t donated_at; /* which execution of the client took it */
    fg_array *next;     /* in one of the client's lists of donated arrays */
    int buffer_count;
    PJRT_Buffer *buffer[];
};

/* Frees released donated arrays whose program was launched long enough ago, or all of them. Called
 * before each launch. */
void fgi_donated_free(fg_client *client, bool all);
/* An array without buffers, one reference; NULL when out of memory. */
fg_array *fgi_array_new(fg_client *client, const fg_type *type, const fgi_sharding *sharding);
PJRT_Buffer_Type fgi_dtype_to_pjrt(fg_dtype dtype);
fg_dtype fgi_dtype_from_pjrt(PJRT_Buffer_Type type);

/* ---- executables ------------------------------------------------------------------------------
 */

typedef struct fgi_scratch fgi_scratch;

struct fgi_executable {
    fg_client *client;
    int references;
    fgi_hash key; /* as in the cache on disk; zero: was loaded by hand, is shared with nobody */
    fgi_executable *next;
    PJRT_LoadedExecutable *loaded; /* NULL: of a client without devices */
    PJRT_Executable *executable;
    int partition_count; /* devices that it runs on ... */
    int device_count;    /* ... and those of them that are this process's */
    int *device_index;   /* row of the argument lists -> the client's device */
    fg_type *out_types;
    fgi_sharding *out_shardings;
    size_t out_count;
    _Atomic(fgi_scratch *) scratch; /* taken by a launch, put back after it */
};

void fgi_scratch_free(fgi_scratch *scratch);

/* Partitions of the program: devices of this process, or of all. */
int fgi_partition_count(const fg_client *client, const fgi_compile_options *options);
/* The serialised CompileOptionsProto (fgi_free). */
fg_status fgi_compile_options_pack(const fg_client *client, const fgi_compile_options *options,
                                   unsigned char **out_data, size_t *out_size, fg_error *err);

/* ---- the cache on disk ------------------------------------------------------------------------
 */

/* Sets the client's cache_dir and cache_seed; cache_dir as in fg_client_options. */
fg_status fgi_cache_open(fg_client *client, const char *cache_dir, fg_error *err);
fgi_hash fgi_cache_key(const fg_client *client, const void *options, size_t options_size,
                       const char *text, size_t text_size);
/* The program, or NULL when it is not there. */
fgi_executable *fgi_cache_load(fg_client *client, fgi_hash key, const fgi_compile_options *options);
void fgi_cache_store(fg_client *client, fgi_hash key, const fgi_executable *executable);

#endif
