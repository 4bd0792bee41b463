/* pjrt.h - the interface to PJRT plugins for the rest of the library: clients, arrays, executables
 * and events. Only this folder includes pjrt_c_api.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PJRT_PJRT_H
#define FGI_PJRT_PJRT_H

#include <fulgurite/device.h>
#include "mesh/mesh.h"

/* ---- events: completion of operations on devices --------------------------------------------- */

/* The caller owns it; it may be destroyed before it is complete. Thread-safe. */
typedef struct fgi_event fgi_event;

/* Waits; returns FG_OK or the error. */
fg_status fgi_event_wait(fgi_event *event, fg_error *err);
bool fgi_event_is_ready(fgi_event *event);
/* The devices whose part is not complete, as text: "cpu:3, cpu:5 (2 of 8 devices)", or "" if all
 * are. Queries the plugin, without waiting. */
void fgi_event_pending(fgi_event *event, char *out, size_t size);
/* Calls done(self, failed) once, from any thread, when the event is complete (immediately if it
 * already is), with the error or NULL. `self` must live until then. First calls part_done(self,
 * part) for each part, from any thread: a part is the operation on one device. part_done may be
 * NULL. */
typedef void fgi_event_fn(void *self, const fg_error *failed);
typedef void fgi_event_part_fn(void *self, int part);
fg_status fgi_event_on_ready(fgi_event *event, fgi_event_part_fn *part_done, fgi_event_fn *done,
                             void *self, fg_error *err);
/* Number of parts, and the label of a part's device, which lives as long as the client; NULL:
 * unknown. */
int fgi_event_parts(const fgi_event *event);
const char *fgi_event_label(const fgi_event *event, int part);
void fgi_event_destroy(fgi_event *event);

/* ---- compiling ------------------------------------------------------------------------------- */

/* A compiler option for one program: a field of DebugOptions or an option of the plugin. */
typedef struct fgi_flag {
    const char *name;
    const char *value; /* "True" and "False" for booleans, enum names, numbers */
} fgi_flag;

typedef struct fgi_compile_options {
    int device_count;        /* partitions of the SPMD program: devices 0..n-1 of the list  [1] */
    const int *device_index; /* indexes of the client's devices; NULL: the first device_count */
    bool all_processes; /* instead: the devices of all processes, in order of process and id. Every
                           process compiles and launches the program, with arguments on its own
                           devices. Outputs are replicated arrays, since a client's mesh has only
                           its own devices */
    const fgi_flag *flags;
    size_t flag_count;
    const fg_type *out_types;          /* global types of the outputs, in order */
    const fgi_sharding *out_shardings; /* as in the program text; NULL: all replicated */
    size_t out_count;
    const fg_compile_event *event; /* to be listed, without its time; NULL: "program" */
    bool is_optimized; /* the text is a serialized HloModuleProto that needs no optimization */
} fgi_compile_options;

/* A compiled program, ready to run on its devices. Reference counted; thread-safe. */
typedef struct fgi_executable fgi_executable;

/* Compiles StableHLO text. If an equal program is still referenced, returns that one with one more
 * reference. Otherwise searches the client's disk cache, whose key is the text `key_text` (the
 * program without source locations; NULL: `text`), the options, the plugin file, its version and
 * its devices, and writes newly compiled programs to it. If a cache entry is damaged, the program
 * is compiled again, silently. Errors: FG_ECOMPILE with the compiler's message, FG_EDEVMEM,
 * FG_ENOMEM. */
fg_status fgi_compile(fg_client *client, const char *text, size_t text_size, const char *key_text,
                      size_t key_size, const fgi_compile_options *options, fgi_executable **out,
                      fg_error *err);
/* Drops a reference; the last one frees the program. NULL is allowed. */
void fgi_executable_destroy(fgi_executable *executable);

/* Serializes a compiled program (fgi_free), and loads it. */
fg_status fgi_executable_serialize(const fgi_executable *executable, char **out_data,
                                   size_t *out_size, fg_error *err);
fg_status fgi_executable_load(fg_client *client, const char *data, size_t size,
                              const fgi_compile_options *options, fgi_executable **out,
                              fg_error *err);

/* Requirements and cost of a program as reported by the compiler, per device; -1: not reported. */
typedef struct fgi_program_cost {
    int64_t argument_bytes, output_bytes, alias_bytes, temp_bytes, code_bytes, peak_bytes;
    double flops, bytes_accessed;
} fgi_program_cost;
fgi_program_cost fgi_executable_cost(const fgi_executable *executable);
/* Number of devices that it is compiled for, as reported by the plugin; -1: not reported. */
fg_status fgi_executable_counts(const fgi_executable *executable, int64_t *out_replicas,
                                int64_t *out_partitions, fg_error *err);
/* The optimized program: a serialized HloModuleProtoWithConfig of XLA (fgi_free). Errors:
 * FG_EUNSUPPORTED, FG_ENOMEM. */
fg_status fgi_executable_optimized(const fgi_executable *executable, char **out_data,
                                   size_t *out_size, fg_error *err);
/* Compiles another form of the optimized program, with the same arguments and results: a serialized
 * HloModuleProto. Errors: those of fgi_compile. */
fg_status fgi_recompile(const fgi_executable *executable, const void *module, size_t size,
                        const fgi_flag *flags, size_t flag_count, fgi_executable **out,
                        fg_error *err);
/* The fingerprint of the program, the same for equal programs and compilers, in hexadecimal; false,
 * with "", if the plugin does not provide one. */
enum { FGI_FINGERPRINT_MAX = 129 };
bool fgi_executable_fingerprint(const fgi_executable *executable, char out[FGI_FINGERPRINT_MAX]);

/* ---- running --------------------------------------------------------------------------------- */

/* Launches a program asynchronously. args: one array per argument. Arguments that the program text
 * donates (tf.aliasing_output) are consumed on success and on failure: the arrays remain valid
 * handles, but using them is an error. outs receives out_count new arrays, one reference each; all
 * are NULL on failure. out_done (may be NULL) receives an event for the completion of the program
 * on all devices. The caller checks the types of args. */
fg_status fgi_execute(fgi_executable *executable, fg_array *const *args, size_t arg_count,
                      fg_array **outs, fgi_event **out_done, fg_error *err);

/* Starts or ends measuring the CPU time that the calling thread spends in the plugin's functions
 * for launching programs and for moving and freeing arrays; ending returns nanoseconds. */
void fgi_plugin_watch(void);
int64_t fgi_plugin_unwatch(void);

/* ---- moving data ----------------------------------------------------------------------------- */

typedef enum fgi_upload_mode {
    FGI_UPLOAD_COPY, /* `data` may be reused after the call */
    FGI_UPLOAD_ASYNC /* `data` must stay unchanged until *out_host_done. It is used in place if the
                        plugin supports it (64-byte aligned memory on the CPU); then until the array
                        is released and every program that reads it has ended */
} fgi_upload_mode;

/* Uploads an array: to each device its shard (sharding NULL: the whole array to every device).
 * out_host_done is NULL for FGI_UPLOAD_COPY. Additional errors: those of fgi_sharding_check. */
fg_status fgi_array_upload(fg_client *client, const fg_type *type, const fgi_sharding *sharding,
                           const void *data, fgi_upload_mode mode, fg_array **out,
                           fgi_event **out_host_done, fg_error *err);
/* Borrowed for the array's lifetime. */
const fgi_sharding *fgi_array_sharding(const fg_array *array);

/* Starts copying the array to `out_data` (row-major) and returns an event for its completion; does
 * not count as a blocking read. */
fg_status fgi_array_download(const fg_array *array, void *out_data, size_t size_bytes,
                             fgi_event **out_done, fg_error *err);

/* Counts a read of the library under a name; fg_array_read counts its own. */
void fgi_client_count_read(fg_client *client, const char *name, int64_t bytes, int64_t wait_ns);
/* fg_array_read for the library: counted under a name, NULL: the user's line. */
fg_status fgi_array_read_as(const fg_array *array, void *out_data, size_t size_bytes,
                            const char *name, fg_error *err);
/* Calls `fn` after each blocking read of the calling thread (fg_array_read, fg_array_wait), until
 * it is replaced. Returns the previous one. */
typedef struct fgi_read_watch {
    void (*fn)(void *self, int64_t begin_ns, int64_t end_ns); /* NULL: none */
    void *self;
} fgi_read_watch;
fgi_read_watch fgi_watch_reads(fgi_read_watch watch);

/* An event for the completion of the array. */
fg_status fgi_array_ready(const fg_array *array, fgi_event **out, fg_error *err);
/* True if the array's buffer was donated to a program's output. */
bool fgi_array_is_donated(const fg_array *array);

/* ---- the plugin's profiler ------------------------------------------------------------------- */

typedef struct fgi_profiler fgi_profiler;
/* Whether the client's plugin has one. */
bool fgi_client_has_profiler(const fg_client *client);
/* Starts recording what the devices do. Errors: FG_EUNSUPPORTED if the plugin has no profiler,
 * FG_EDEVICE with the plugin's message, FG_ENOMEM. */
fg_status fgi_profiler_start(fg_client *client, fgi_profiler **out, fg_error *err);
/* Stops it, once, and returns a serialized XSpace (fgi_free), possibly with a NUL after it. */
fg_status fgi_profiler_stop(fgi_profiler *profiler, unsigned char **out_data, size_t *out_size,
                            fg_error *err);
void fgi_profiler_destroy(fgi_profiler *profiler); /* also while it runs; NULL is allowed */

/* ---- whether the plugin computes correctly (src/trust) --------------------------------------- */

/* Between these calls, only the check uses the client: its programs are compiled even if they are
 * in the disk cache, are not written to it, and nothing is counted or listed. */
void fgi_client_begin_check(fg_client *client);
void fgi_client_end_check(fg_client *client);

/* Whether a verdict with this name was recorded for the same content of the plugin's file, the same
 * XLA_FLAGS and, on the CPU, the same processor. */
bool fgi_verdict_is_known(fg_client *client, const char *name);
/* Records one. Errors: FG_EIO (also without a home folder), FG_ENOMEM. */
fg_status fgi_verdict_record(fg_client *client, const char *name, fg_error *err);
void fgi_verdict_forget(fg_client *client, const char *name);
/* Whether the plugin's file contains these words; false if it cannot be read. */
bool fgi_plugin_contains(const fg_client *client, const char *words);

/* ---- client ---------------------------------------------------------------------------------- */

typedef enum fgi_platform { FGI_CPU, FGI_CUDA, FGI_TPU, FGI_OTHER } fgi_platform;
/* Adds or drops a reference to a client, which may be NULL. */
fg_client *fgi_client_retain(fg_client *client);
void fgi_client_release(fg_client *client);
fgi_platform fgi_client_platform(const fg_client *client);
/* The mesh of its devices; borrowed for the client's lifetime. */
const fgi_mesh *fgi_client_mesh(const fg_client *client);
/* Whether the client is for a topology and can only compile. */
bool fgi_client_is_compile_only(const fg_client *client);
/* The name of a lowering rule that is disabled for programs of this client (trace/lowering.h);
 * NULL: all are enabled. For tests and measurements, which set it before the first program;
 * borrowed. */
void fgi_client_set_plain(fg_client *client, const char *rule);
const char *fgi_client_plain(const fg_client *client);
/* Whether programs of the client may call kernels (src/kernel). client may be NULL: no. */
bool fgi_client_has_kernels(const fg_client *client);
/* Whether those of oneDNN too. */
bool fgi_client_has_dnnl(const fg_client *client);
/* Whether its programs may call the kernel that notes the time. */
bool fgi_client_has_clock(const fg_client *client);
/* Whether FGI_KERNEL_CUSTOM calls the user's handler with this name. client may be NULL: no. */
bool fgi_client_has_handler(const fg_client *client, const char *name);
/* What the errors of a call are about whose messages begin with FGI_KERNEL_CALL_MARK and this
 * number. A later one replaces it. */
typedef struct fgi_call_site {
    const char *file; /* outlives the client; NULL: unknown */
    int line;
    char operation[160]; /* "mlp/fc1/matmul(f32[3,4], f32[4,5])" */
} fgi_call_site;
void fgi_client_add_call(const fg_client *client, uint64_t number, const fgi_call_site *site);
/* How the platform computes matmuls and convolutions of a dtype. */
typedef enum fgi_support {
    FGI_NATIVE,
    FGI_WIDENED,    /* in f32, rounded afterwards: slower than f32 itself */
    FGI_UNSUPPORTED /* emulated, many times slower, or in another dtype of smaller range */
} fgi_support;
fgi_support fgi_client_support(const fg_client *client, fg_dtype dtype);
/* The number of devices of a client whose options give none; 0: it depends on the machine. */
int fgi_accelerator_devices(const char *accelerator);
/* Whether its matmuls of f32 may have operands that are rounded to bf16 or TF32. */
bool fgi_client_rounds_operands(const fg_client *client);
/* Whether its devices are virtual devices of one processor. */
bool fgi_client_is_virtual(const fg_client *client);
/* Whether its devices can read the host's memory in place. */
bool fgi_client_reads_host(const fg_client *client);

#endif
