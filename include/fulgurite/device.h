/* device.h - PJRT plugins, their devices, and arrays on devices.
 *
 * A client is one loaded plugin and its devices. Arrays hold data on those devices. Operations on
 * them are traced (trace.h) and compiled, never executed one by one. Source: OpenXLA, "PJRT C API"
 * (pjrt_c_api.h).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_DEVICE_H
#define FULGURITE_DEVICE_H

#include <fulgurite/base.h>
#include <fulgurite/dtype.h>
#include <fulgurite/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A plugin and its devices. Thread-safe. */
typedef struct fg_client fg_client;

/* A dense array on the client's devices. Reference counted; thread-safe. */
typedef struct fg_array fg_array;

typedef struct fg_client_options {
    const char *accelerator; /* "auto", "cpu", "cuda" or "tpu"                           ["auto"] */
    const char *plugin_path; /* path of a PJRT plugin (.so); disables the search           [NULL] */
    int cpu_devices;        /* number of virtual devices that the CPU plugin creates          [1] */
    const char *devices;    /* which devices to use. "auto", "all" or "-1": all of them (on CPU:
                               one); "4": the first four; "[1]": only the second; "0,2": these two.
                               The CPU plugin creates as many virtual devices as needed. On TPU v2
                               and v3, use one core or all. GPUs that are not selected are left
                               untouched                                                 ["auto"] */
    fg_mesh_options mesh;   /* device mesh                  [data: all devices, model: 1]         */
    bool show_plugin_log;   /* do not suppress the plugin's log on standard error         [false] */
    const char *cache_dir;  /* folder of the compilation cache; "" disables it [$XDG_CACHE_HOME or
                               ~/.cache, then /fulgurite]                                         */
    double memory_fraction; /* fraction of a GPU's memory that may be used, 0 to 1
                               [the plugin's: 0.75]                                               */
    bool preallocate;       /* allocate that memory at startup instead of on demand: allocations
                               are cheaper, but other processes cannot use it            [false] */
    const char *topology;   /* compile for this machine without having it; nothing can be executed.
                               TPUs: "v5e:2x4", "v3-8", "v5litepod-8", "kaggle", "colab"; GPUs:
                               "h100", "h100:8", also a100, h200, b200                     [NULL] */
    const char *kernels;    /* which functions in C programs may call on the CPU instead of XLA's
                               code: "auto": all that are there; "own": not those of oneDNN;
                               "none". On several devices, each calls those of convolutions
                               and of large matmuls with its rows, and no others         ["auto"] */
    uint64_t reserved[2];
} fg_client_options;

/* Finds and loads a plugin, checks its version and creates its client.
 *
 * Search order: options->plugin_path; the environment variable FULGURITE_PLUGIN; the plugins that
 * `fulgurite setup` installed in the user's data folder ($FULGURITE_HOME, else
 * $XDG_DATA_HOME/fulgurite, else ~/.local/share/fulgurite); the packages libtpu, jax_plugins and
 * xla_plugins of the active Python environment ($VIRTUAL_ENV, $CONDA_PREFIX, then the python3 on
 * PATH). "auto" tries TPU, then CUDA, then CPU. A named accelerator never falls back to another.
 *
 * With options->topology, only the plugin's compiler is used. The client has that machine's
 * devices, but they do not exist here: an array uploaded to them has a type but no data; reading an
 * array, running a program and loading a compiled program fail with FG_EUNSUPPORTED.
 *
 * options may be NULL. Errors: FG_EINVAL (unknown accelerator or topology), FG_ENOTFOUND (no
 * plugin; the message lists the searched paths and suggests a command), FG_EPLUGIN (the plugin is
 * missing, truncated, built for another architecture, not a PJRT plugin or too old, or its
 * initialization failed). */
FG_API FG_MUST_USE fg_status fg_client_open(const fg_client_options *options, fg_client **out,
                                            fg_error *err);

/* Releases the client. Arrays, values of variables, modules, traces and programs created with it
 * may be destroyed before or after this call; the devices are released with the last of them. None
 * may be created after this call. NULL is allowed. */
FG_API void fg_client_close(fg_client *client);

/* Properties of the loaded plugin. Strings are borrowed for the client's lifetime. */
typedef struct fg_client_info {
    const char *platform;         /* "cpu", "cuda", "tpu" */
    const char *platform_version; /* version string of the plugin */
    const char *plugin_path;      /* path of the loaded .so */
    int api_major, api_minor;     /* version of the PJRT C API */
    int device_count;             /* selected devices of this process */
    int process_index;            /* rank of this process, starting at 0 */
    int process_count;            /* number of processes (world size), 1 for a single process */
    int global_device_count;      /* devices of all processes, selected or not */
    int host_count;               /* with a topology: hosts of the selected devices, as laid out
                                     by the plugin; otherwise one per process */
    const char *topology;         /* fg_client_options.topology as given; NULL: real devices */
    const char *kernels;          /* those that programs may call on the CPU: "own, oneDNN 2.6.3",
                                     "own", "none"; NULL: not the CPU */
    fg_mesh_info mesh;            /* mesh of this process's devices */
} fg_client_info;
/* Borrowed for the client's lifetime. */
FG_API const fg_client_info *fg_client_info_of(const fg_client *client);

/* Properties of a device. Strings are borrowed for the client's lifetime. */
typedef struct fg_device_info {
    int64_t id;                        /* global device id of the plugin */
    int process;                       /* rank of the process that owns it; with a topology: index
                                          of its host */
    int coordinates[FG_MAX_MESH_AXES]; /* position in the mesh, one coordinate per axis */
    int batch_shard;                   /* index of the batch shard that it holds */
    const char *kind;                  /* "cpu", "TPU v5 lite", "NVIDIA H100 ..." */
    const char *description;           /* longer description from the plugin */
    int64_t memory_used_bytes;         /* -1: not reported by the plugin */
    int64_t memory_peak_bytes;         /* -1: not reported */
    int64_t memory_limit_bytes;        /* -1: not reported */
    uint64_t reserved[4];              /* set to 0 */
} fg_device_info;

/* Properties of device `index` of the client, starting at 0. Errors: FG_EINVAL (index out of
 * range). If the plugin has no memory statistics, the memory fields are -1; this is not an error.
 */
FG_API FG_MUST_USE fg_status fg_device_info_at(const fg_client *client, int index,
                                               fg_device_info *out, fg_error *err);

/* A parsed topology name (fg_client_options.topology). */
typedef struct fg_topology_info {
    char accelerator[8];  /* "tpu" or "cuda": the plugin that compiles for it */
    char machine[120];    /* canonical: the same for all names of a machine ("v5e-8", "kaggle") */
    uint64_t reserved[4]; /* set to 0 */
} fg_topology_info;

/* Parses a topology name; needs no plugin. Thread-safe. Errors: FG_EINVAL (the message lists the
 * supported names). */
FG_API FG_MUST_USE fg_status fg_topology_describe(const char *name, fg_topology_info *out,
                                                  fg_error *err);

/* A path where a plugin is searched, and whether it exists. `fulgurite devices` prints these. */
typedef struct fg_plugin_candidate {
    char accelerator[8]; /* "cpu", "cuda", "tpu" */
    char source[48];     /* "option", "FULGURITE_PLUGIN", "fulgurite setup", "python: ..." */
    char path[1024];
    bool exists;
    uint64_t reserved[4]; /* set to 0 */
} fg_plugin_candidate;

/* Fills out[0..capacity) with the candidates for the plugin of options->accelerator ("cpu", "cuda"
 * or "tpu", not "auto") in search order and sets *out_count to their number, which may exceed
 * capacity. No plugin is loaded. Errors: FG_EINVAL, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_plugin_search(const fg_client_options *options,
                                              fg_plugin_candidate *out, size_t capacity,
                                              size_t *out_count, fg_error *err);

/* Uploads a dense row-major array. data has fg_type_bytes(type) bytes and may be reused once the
 * call returns. The array is replicated on all devices. *out has one reference. Errors: FG_EINVAL,
 * FG_ENOMEM, FG_EDEVMEM, FG_EDEVICE. */
FG_API FG_MUST_USE fg_status fg_array_create(fg_client *client, const fg_type *type,
                                             const void *data, fg_array **out, fg_error *err);

typedef struct fg_array_options {
    const char *spec; /* partition spec (mesh.h): "data" shards the first dimension along the axis
                         `data`, "none,model" the second one along `model`   ["": replicated] */
    uint64_t reserved[4];
} fg_array_options;

/* Like fg_array_create, for an array that is sharded over the client's mesh. A program computes the
 * same result from a sharded array as from a replicated one, and the work is divided among the
 * devices. options may be NULL. Errors: those of fg_array_create, FG_EINVAL (no such axis),
 * FG_ESHAPE (a dimension is not divisible by the number of shards). */
FG_API FG_MUST_USE fg_status fg_array_create_sharded(fg_client *client, const fg_type *type,
                                                     const void *data,
                                                     const fg_array_options *options,
                                                     fg_array **out, fg_error *err);

/* Waits for the array and copies it to the host in row-major order. out_data has room for
 * size_bytes, which must equal fg_type_bytes. This is a host read: the client counts it by call
 * site. Errors: FG_EINVAL, FG_EDEVICE (also if the program that computes the array failed). */
FG_API FG_MUST_USE fg_status fg_array_read(const fg_array *array, void *out_data, size_t size_bytes,
                                           fg_error *err);

/* Waits until the array is computed. Errors: FG_EDEVICE. */
FG_API FG_MUST_USE fg_status fg_array_wait(const fg_array *array, fg_error *err);

/* The array's type and client. Borrowed for the array's lifetime. */
FG_API const fg_type *fg_array_type(const fg_array *array);
FG_API fg_client *fg_array_client(const fg_array *array);

/* Adds a reference and returns the array; drops a reference (NULL is allowed). */
FG_API fg_array *fg_array_retain(fg_array *array);
FG_API void fg_array_release(fg_array *array);

/* ---- programs written by hand ---------------------------------------------------------------- */

/* A program compiled from StableHLO text that you write yourself instead of tracing it (trace.h).
 * It runs on the client's first device. Thread-safe. */
typedef struct fg_program fg_program;

/* Compiles StableHLO text: a module with a public function `main`. An argument with the attribute
 * tf.aliasing_output = K donates its buffer to output K: each run consumes its array. Errors:
 * FG_ECOMPILE (with the compiler's message), FG_EUNSUPPORTED (dtype of an output), FG_EDEVMEM,
 * FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_program_compile(fg_client *client, const char *stablehlo,
                                                fg_program **out, fg_error *err);

/* Number of outputs, and the type of each (borrowed; NULL if index is out of range). */
FG_API size_t fg_program_output_count(const fg_program *program);
FG_API const fg_type *fg_program_output_type(const fg_program *program, size_t index);

/* The arrays of a launch: one per argument, and room for one per output. */
typedef struct fg_program_arrays {
    fg_array *const *args;
    size_t arg_count;
    fg_array **outs;
    size_t out_count; /* must equal the number of outputs */
} fg_program_arrays;

/* Launches the program and returns without waiting for it to finish. Each of arrays->outs receives
 * one reference, or NULL on failure. The caller must pass matching arguments: the plugin checks
 * their sizes but not their dtypes. Errors: FG_EINVAL (a donated array, an array of another client,
 * a wrong count), FG_EDEVICE, FG_EDEVMEM, FG_ENOMEM. A failure during execution is returned when an
 * output is read. */
FG_API FG_MUST_USE fg_status fg_program_run(fg_program *program, const fg_program_arrays *arrays,
                                            fg_error *err);

/* Frees the program; runs in progress continue. NULL is allowed. */
FG_API void fg_program_destroy(fg_program *program);

/* ---- counters -------------------------------------------------------------------------------- */

/* Counters of a client, since it was opened. */
typedef struct fg_client_stats {
    int64_t compiles;           /* programs that the plugin compiled */
    int64_t compile_cache_hits; /* programs loaded from the compilation cache instead */
    double compile_s;           /* wall time spent compiling and loading, in seconds */
    int64_t executions;         /* program launches */
    int64_t host_reads;         /* blocking device-to-host copies */
    int64_t uploaded_bytes;     /* to all devices; a replicated array counts once per device */
    int64_t in_place_bytes;     /* part of uploaded_bytes that the plugin reads in place, without a
                                   copy (CPU) */
    uint64_t reserved[4];       /* set to 0 */
} fg_client_stats;
FG_API fg_client_stats fg_client_stats_of(const fg_client *client);

/* A program that was compiled, or loaded from the compilation cache. */
typedef struct fg_compile_event {
    char program[32];   /* "train_step", "val_step", "test_step", "predict_step", or "update" of
                           accumulated gradients; "run": of fg_run; "program": of
                           fg_program_compile */
    double seconds;     /* wall time */
    bool is_cached;     /* it was in the compilation cache */
    int64_t step;       /* of the Trainer; -1: not a program of a Trainer */
    char what[16];      /* what has changed since the previous one: "shape", "dtype" (of an input),
                           "trainable" (of a parameter), "constant", "attribute" (of an operation),
                           "structure" (other operations); "": it is the first of its kind */
    char name[80];      /* of the field of the batch, the variable or the operation; "": none */
    char old_value[96]; /* "f32[32,3,64,64]", "trained", "0.5", "120 operations"; "": unknown */
    char new_value[96];
    char at[120]; /* "train.c:31", the line of your program with the new value; "": unknown */
    uint64_t reserved[4]; /* set to 0 */
} fg_compile_event;

/* The largest number of compilations that a client lists: the first and the latest ones. */
#define FG_MAX_COMPILE_EVENTS 64

/* Writes the compilations since the client was opened, in order, to out[0..n), with n at most
 * `capacity`; returns how many are listed. Thread-safe. */
FG_API size_t fg_client_compiles(const fg_client *client, fg_compile_event *out, size_t capacity);

/* Device-to-host copies, by the place in the program that waits for them. */
typedef struct fg_host_read {
    char at[120];         /* "train.c:31", the line that called fg_array_read, fg_array_wait,
                             fg_variable_read or fg_run_f32; or what the library reads: "metrics",
                             "validation metrics", "checkpoint", "predictions", ... */
    int64_t count, bytes; /* 0 bytes for fg_array_wait */
    double wait_s;        /* wall time that the calling thread waited; 0 if they had arrived */
    uint64_t reserved[4]; /* set to 0 */
} fg_host_read;

/* The largest number of places that a client counts separately; the rest are "other places". */
#define FG_MAX_HOST_READS 64

/* Writes the reads since the client was opened, in the order of their first one, to out[0..n), with
 * n at most `capacity`; returns how many places there are. Thread-safe. */
FG_API size_t fg_client_host_reads(const fg_client *client, fg_host_read *out, size_t capacity);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_array_read(...) FG_HERE(fg_array_read(__VA_ARGS__))
#define fg_array_wait(...) FG_HERE(fg_array_wait(__VA_ARGS__))
#endif
#endif
