/* device.h - PJRT plugins, the devices behind them, and arrays that live on devices.
 *
 * A client is one loaded plugin and its devices. Arrays hold numbers on those devices; operations
 * on them are traced (trace.h) and compiled, never done one by one.
 * Source: OpenXLA, "PJRT C API" (pjrt_c_api.h).
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
    const char
        *plugin_path;       /* a PJRT plugin's .so, used instead of searching              [NULL] */
    int cpu_devices;        /* virtual devices that the CPU plugin makes                      [1] */
    const char *devices;    /* which of the devices: "auto", "all" or "-1": every one (of the CPU's:
                               one), "4": the first four, "[1]": the second alone, "0,2": those.
                               The CPU makes as many virtual ones as are needed. A TPU v2 or v3
                               gives one core or all. Of GPUs the others are not touched ["auto"] */
    fg_mesh_options mesh;   /* how the devices are arranged [data: all of them, model: 1]         */
    bool show_plugin_log;   /* let the plugin's own log lines reach standard error        [false] */
    const char *cache_dir;  /* compiled programs are kept here; "" keeps none. [$XDG_CACHE_HOME or
                               ~/.cache, then /fulgurite]                                         */
    double memory_fraction; /* the share of a GPU's memory that may be used, 0 to 1  [plugin's:
                               0.75] */
    bool preallocate;       /* take that memory at once, which makes allocations cheaper and leaves
                               none to others, instead of as it is needed                [false] */
    bool cpu_onednn;        /* on the CPU, matmuls by oneDNN: faster on some processors
                               (5 to 40 % on AMD Zen 5, nothing on Intel Sapphire Rapids), and the
                               same bits for any number of threads, but the plugin cannot keep such
                               programs in cache_dir: every start compiles               [false] */
    const char *topology;   /* a machine that is not here: programs are compiled for it, and nothing
                               runs. "v5e:2x4", "v3-8", "v5litepod-8", "kaggle", "colab": TPUs;
                               "h100", "h100:8", also a100, h200, b200: GPUs               [NULL] */
    uint64_t reserved[3];
} fg_client_options;

/* Finds a plugin, loads it, checks its version and makes its client.
 *
 * Search order: options->plugin_path; the environment's FULGURITE_PLUGIN; what `fulgurite setup`
 * installed in the user's data folder ($FULGURITE_HOME, else $XDG_DATA_HOME/fulgurite, else
 * ~/.local/share/fulgurite); the active Python environment ($VIRTUAL_ENV, $CONDA_PREFIX, then the
 * python3 on PATH), in its packages libtpu, jax_plugins and xla_plugins. "auto" takes a TPU, then
 * CUDA, then the CPU; a named accelerator never falls back to another.
 *
 * With options->topology the plugin's compiler alone is used. The client has that machine's
 * devices, but they cannot be reached: an array uploaded to them keeps its type and no numbers;
 * reading one, running a program and loading a compiled one are FG_EUNSUPPORTED.
 *
 * options may be NULL. Errors: FG_EINVAL (unknown accelerator or topology), FG_ENOTFOUND (no
 * plugin; the message lists where it looked and what to type), FG_EPLUGIN (missing, truncated,
 * built for another architecture, not a PJRT plugin, too old, or its initialisation failed). */
FG_API FG_MUST_USE fg_status fg_client_open(const fg_client_options *options, fg_client **out,
                                            fg_error *err);

/* Gives the client back. Arrays, variables' values, modules, traces and programs made with it may
 * be destroyed before or after; the devices are released with the last of them. No new ones may be
 * made after this. NULL is allowed. */
FG_API void fg_client_close(fg_client *client);

/* Facts about the loaded plugin; strings are borrowed and live as long as the client. */
typedef struct fg_client_info {
    const char *platform;         /* "cpu", "cuda", "tpu" */
    const char *platform_version; /* the plugin's own text */
    const char *plugin_path;      /* the .so */
    int api_major, api_minor;     /* PJRT C API */
    int device_count;             /* devices this process uses: those that were chosen */
    int process_index;            /* this process's number (rank) among several, 0 for one */
    int process_count;            /* how many there are (world size), 1 for one */
    int global_device_count;      /* devices of all processes, chosen or not */
    int host_count;               /* hosts: of a topology those of the chosen devices, as the
                                     plugin lays them out; otherwise one a process */
    const char *topology;         /* what is only compiled for, as it was asked for; NULL: the
                                     devices are there */
    fg_mesh_info mesh;            /* of this process's devices */
} fg_client_info;
FG_API const fg_client_info *fg_client_get_info(const fg_client *client);

/* Facts about a device; strings live as long as the client. */
typedef struct fg_device_info {
    int64_t id;                        /* the plugin's global id */
    int process;                       /* of its owner; of a topology: its host's number */
    int coordinates[FG_MAX_MESH_AXES]; /* in the mesh, one per axis */
    int batch_shard;                   /* which shard of a batch it has */
    const char *kind;                  /* "cpu", "TPU v5 lite", "NVIDIA H100 ..." */
    const char *description;           /* the plugin's longer text */
    int64_t memory_used_bytes;         /* -1 where the plugin does not say */
    int64_t memory_peak_bytes;         /* -1: not known */
    int64_t memory_limit_bytes;        /* -1: not known */
    uint64_t reserved[4];              /* set to 0 */
} fg_device_info;

/* index counts the client's devices from 0. Errors: FG_EINVAL (no such index). A plugin without
 * memory statistics is no error: the figures are -1. */
FG_API FG_MUST_USE fg_status fg_device_get_info(const fg_client *client, int index,
                                                fg_device_info *out, fg_error *err);

/* What the name of a machine to compile for means (fg_client_options.topology). */
typedef struct fg_topology_info {
    char accelerator[8];  /* "tpu", "cuda": whose plugin compiles for it */
    char machine[120];    /* equal for two names of the same machine: "v5e-8" and "kaggle" */
    uint64_t reserved[4]; /* set to 0 */
} fg_topology_info;

/* Reads such a name; no plugin is needed. Thread-safe. Errors: FG_EINVAL, with the names that there
 * are. */
FG_API FG_MUST_USE fg_status fg_topology_describe(const char *name, fg_topology_info *out,
                                                  fg_error *err);

/* Where a plugin may be and whether it is there: what `fulgurite devices` prints. */
typedef struct fg_plugin_candidate {
    char accelerator[8]; /* "cpu", "cuda", "tpu" */
    char source[48];     /* "option", "FULGURITE_PLUGIN", "fulgurite setup", "python: ..." */
    char path[1024];
    bool exists;
    uint64_t reserved[4]; /* set to 0 */
} fg_plugin_candidate;

/* Fills out[0..capacity) in search order for one accelerator ("cpu", "cuda", "tpu") and sets
 * *out_count to the number of places, which may exceed capacity. options may be NULL. Loads
 * nothing. Errors: FG_EINVAL, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_plugin_search(const char *accelerator,
                                              const fg_client_options *options,
                                              fg_plugin_candidate *out, size_t capacity,
                                              size_t *out_count, fg_error *err);

/* Uploads a dense row-major array: data holds fg_type_bytes(type) bytes and may be reused when the
 * call returns. The array is whole on every device. *out has one reference.
 * Errors: FG_EINVAL, FG_ENOMEM, FG_EDEVMEM, FG_EDEVICE. */
FG_API FG_MUST_USE fg_status fg_array_create(fg_client *client, const fg_type *type,
                                             const void *data, fg_array **out, fg_error *err);

/* The same for an array that is sharded over the client's mesh. spec is a partition spec (mesh.h):
 * "data" shards the first dimension along the axis `data`, "none,model" the second one along
 * `model`; "" and NULL replicate the array. A program computes the same from it as from a
 * replicated one; each device does its share. Errors also: FG_EINVAL (no such axis), FG_ESHAPE (a
 * dimension that cannot be sharded evenly). */
FG_API FG_MUST_USE fg_status fg_array_create_sharded(fg_client *client, const fg_type *type,
                                                     const char *spec, const void *data,
                                                     fg_array **out, fg_error *err);

/* Waits for the array and copies it to the host, row-major: out_data has room for size_bytes,
 * which must equal fg_type_bytes. This is a host read: it is counted by the client with its call
 * site. Errors: FG_EINVAL, FG_EDEVICE (also a failure of the program that makes the array). */
FG_API FG_MUST_USE fg_status fg_array_read(const fg_array *array, void *out_data, size_t size_bytes,
                                           fg_error *err);

/* Waits until the array is computed. Errors: FG_EDEVICE. */
FG_API FG_MUST_USE fg_status fg_array_wait(const fg_array *array, fg_error *err);

/* Borrowed; lives as long as the array. */
FG_API const fg_type *fg_array_type(const fg_array *array);
FG_API fg_client *fg_array_client(const fg_array *array);

/* One reference more, returned for convenience; one less (NULL is allowed). */
FG_API fg_array *fg_array_retain(fg_array *array);
FG_API void fg_array_release(fg_array *array);

/* ---- programs written by hand -----------------------------------------------------------------
 */

/* A compiled StableHLO program, for those who write the text themselves instead of tracing
 * (trace.h). It runs on the client's first device. Thread-safe. */
typedef struct fg_program fg_program;

/* Compiles StableHLO text: a module with a public function `main`. An argument with the attribute
 * tf.aliasing_output = K gives its memory to output K: its array is consumed by each run.
 * Errors: FG_ECOMPILE with the compiler's words, FG_EUNSUPPORTED (an output's number format),
 * FG_EDEVMEM, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_program_compile(fg_client *client, const char *stablehlo,
                                                fg_program **out, fg_error *err);

/* The program's outputs: how many, and the type of each (borrowed; NULL past the last). */
FG_API size_t fg_program_output_count(const fg_program *program);
FG_API const fg_type *fg_program_output_type(const fg_program *program, size_t index);

/* Starts the program on one array an argument and returns without waiting for its end. outs has
 * room for out_count arrays, which must be the number of outputs; each gets one reference, or NULL
 * on failure. Arguments are the caller's to match: the plugin checks sizes, but not number formats.
 * Errors: FG_EINVAL (a donated or foreign array, a wrong count), FG_EDEVICE, FG_EDEVMEM, FG_ENOMEM;
 * a failure on the way shows when an output is read. */
FG_API FG_MUST_USE fg_status fg_program_run(fg_program *program, fg_array *const *args,
                                            size_t arg_count, fg_array **outs, size_t out_count,
                                            fg_error *err);

/* Frees the program; what it computes goes on. NULL is allowed. */
FG_API void fg_program_destroy(fg_program *program);

/* ---- counters ---------------------------------------------------------------------------------
 */

/* Counters since the client was opened. */
typedef struct fg_client_stats {
    int64_t compiles;           /* programs the plugin compiled */
    int64_t compile_cache_hits; /* programs loaded from disk instead */
    double compile_s;           /* wall time in compilation and loading */
    int64_t executions;
    int64_t host_reads;     /* blocking copies from a device */
    int64_t uploaded_bytes; /* to all devices: what every device has whole counts for each */
    int64_t in_place_bytes; /* of these: read by the plugin where they lie, without a copy (CPU) */
    uint64_t reserved[4];   /* set to 0 */
} fg_client_stats;
FG_API fg_client_stats fg_client_get_stats(const fg_client *client);

#ifdef __cplusplus
}
#endif
#endif
