/* pjrt.h - what the rest of the library sees of a PJRT plugin: clients, arrays, executables and
 * events. Only this folder includes pjrt_c_api.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PJRT_PJRT_H
#define FGI_PJRT_PJRT_H

#include <fulgurite/device.h>
#include "mesh/mesh.h"

/* ---- events: something a device will finish -------------------------------------------------- */

/* Owned by whoever received it; destroy it also when it has not happened yet. Thread-safe. */
typedef struct fgi_event fgi_event;

/* Waits; FG_OK or what went wrong. */
fg_status fgi_event_wait(fgi_event *event, fg_error *err);
bool fgi_event_is_ready(fgi_event *event);
/* The devices that have not done it yet, as text: "cpu:3, cpu:5 (2 of 8 devices)", or "" when all
 * have. Asks the plugin, without waiting. */
void fgi_event_pending(fgi_event *event, char *out, size_t size);
/* Calls done(self, status, message) once, from any thread, when the event has happened (at once
 * when it already has). `self` must live until then. */
typedef void fgi_event_fn(void *self, fg_status status, const char *message);
fg_status fgi_event_on_ready(fgi_event *event, fgi_event_fn *done, void *self, fg_error *err);
void fgi_event_destroy(fgi_event *event);

/* ---- compiling ------------------------------------------------------------------------------- */

/* A flag of the plugin's compiler, for one program: a DebugOptions field or a plugin's own. */
typedef struct fgi_flag {
    const char *name;
    const char *value; /* "True" and "False" for booleans, enum names, numbers */
} fgi_flag;

typedef struct fgi_compile_options {
    int device_count;        /* partitions of the SPMD program: devices 0..n-1 of the list  [1] */
    const int *device_index; /* which of the client's devices, NULL: the first device_count     */
    bool all_processes;      /* instead: the devices of all processes, each process's after those of
                                the one before, by ascending id. Every process compiles and launches
                                the program, with arguments on its own devices; outputs are whole
                                arrays, since a client's mesh is of its own devices             */
    const fgi_flag *flags;
    size_t flag_count;
    const fg_type *out_types;          /* global types of the outputs, in order */
    const fgi_sharding *out_shardings; /* as the text says; NULL: all replicated */
    size_t out_count;
} fgi_compile_options;

/* A compiled program, ready to run on its devices. Reference counted; thread-safe. */
typedef struct fgi_executable fgi_executable;

/* Compiles StableHLO text. A program equal to one that is still held by anybody is that one, with
 * one reference more. Otherwise looks in the client's disk cache, keyed by the text given as
 * `key_text` (the program without source locations; NULL: `text`), the options, the plugin file,
 * its version and its devices; writes what it compiled there. A damaged cache entry is compiled
 * anew, silently. Errors: FG_ECOMPILE with the compiler's text, FG_EDEVMEM, FG_ENOMEM. */
fg_status fgi_compile(fg_client *client, const char *text, size_t text_size, const char *key_text,
                      size_t key_size, const fgi_compile_options *options, fgi_executable **out,
                      fg_error *err);
/* Drops one reference; the last one frees. NULL is allowed. */
void fgi_executable_destroy(fgi_executable *executable);

/* Serialised form of a compiled program (fgi_free), and back. */
fg_status fgi_executable_serialize(const fgi_executable *executable, char **out_data,
                                   size_t *out_size, fg_error *err);
fg_status fgi_executable_load(fg_client *client, const char *data, size_t size,
                              const fgi_compile_options *options, fgi_executable **out,
                              fg_error *err);

/* What the compiler says a program needs and costs; -1 where it does not say. Per device. */
typedef struct fgi_program_cost {
    int64_t argument_bytes, output_bytes, alias_bytes, temp_bytes, code_bytes, peak_bytes;
    double flops, bytes_accessed;
} fgi_program_cost;
fg_status fgi_executable_cost(const fgi_executable *executable, fgi_program_cost *out,
                              fg_error *err);
/* How many devices it is for, as the plugin says; -1: it does not. */
fg_status fgi_executable_counts(const fgi_executable *executable, int64_t *out_replicas,
                                int64_t *out_partitions, fg_error *err);
/* What the compiler made of it: a serialised HloModuleProtoWithConfig of XLA (fgi_free). Errors:
 * FG_EUNSUPPORTED, FG_ENOMEM. */
fg_status fgi_executable_optimized(const fgi_executable *executable, char **out_data,
                                   size_t *out_size, fg_error *err);
/* What names the same program compiled by the same compiler, in hexadecimal; false, with "", where
 * the plugin gives nothing. */
enum { FGI_FINGERPRINT_MAX = 129 };
bool fgi_executable_fingerprint(const fgi_executable *executable, char out[FGI_FINGERPRINT_MAX]);

/* ---- running --------------------------------------------------------------------------------- */

/* Launches a program and returns before it has finished. args: one array an argument. Arguments
 * that the program text donates (tf.aliasing_output) are consumed on success and on failure: the
 * arrays stay valid handles whose use is an error. outs receives out_count new arrays, one
 * reference each, all NULL on failure. out_done (may be NULL) receives an event for the end of the
 * program on all devices. Types of args are checked by the caller. */
fg_status fgi_execute(fgi_executable *executable, fg_array *const *args, size_t arg_count,
                      fg_array **outs, fgi_event **out_done, fg_error *err);

/* Starts or ends counting the processor time that the calling thread spends in the plugin's calls
 * for launching programs and for moving and freeing arrays; ending gives the nanoseconds. */
void fgi_plugin_watch(void);
int64_t fgi_plugin_unwatch(void);

/* ---- moving data ----------------------------------------------------------------------------- */

typedef enum fgi_upload_mode {
    FGI_UPLOAD_COPY, /* `data` may be reused when the call returns */
    FGI_UPLOAD_ASYNC /* `data` must stay unchanged until *out_host_done; used in place where the
                        plugin can (64-byte aligned memory on the CPU), and then until the array is
                        released and every program that reads it has ended */
} fgi_upload_mode;

/* Uploads an array: to each device its shard (sharding NULL: the whole array to every device).
 * out_host_done is NULL for FGI_UPLOAD_COPY. Errors also: those of fgi_sharding_check. */
fg_status fgi_array_upload(fg_client *client, const fg_type *type, const fgi_sharding *sharding,
                           const void *data, fgi_upload_mode mode, fg_array **out,
                           fgi_event **out_host_done, fg_error *err);
/* Borrowed, lives as long as the array. */
const fgi_sharding *fgi_array_sharding(const fg_array *array);

/* Starts copying the array to `out_data` (row-major) and returns an event for its end; does not
 * count as a blocking read. */
fg_status fgi_array_download(const fg_array *array, void *out_data, size_t size_bytes,
                             fgi_event **out_done, fg_error *err);

/* An event for the array being computed. */
fg_status fgi_array_ready(const fg_array *array, fgi_event **out, fg_error *err);
/* True when the array's memory was given to a program's output. */
bool fgi_array_is_donated(const fg_array *array);

/* ---- client ---------------------------------------------------------------------------------- */

typedef enum fgi_platform { FGI_CPU, FGI_CUDA, FGI_TPU, FGI_OTHER } fgi_platform;
/* One more reference to a client, which may be NULL, and one less (client_close.c). */
fg_client *fgi_client_retain(fg_client *client);
void fgi_client_release(fg_client *client);
fgi_platform fgi_client_platform(const fg_client *client);
/* The mesh of its devices, which lives as long as the client. */
const fgi_mesh *fgi_client_mesh(const fg_client *client);
/* Whether it only compiles, for a topology. */
bool fgi_client_is_compile_only(const fg_client *client);
/* The rule that programs of this client are written without, by name (trace/lowering.h); NULL: all
 * are in use. For tests and measurements, which set it before the first program; borrowed. */
void fgi_client_set_plain(fg_client *client, const char *rule);
const char *fgi_client_plain(const fg_client *client);
/* How the platform computes matmuls and convolutions in a dtype. */
typedef enum fgi_support {
    FGI_NATIVE,
    FGI_WIDENED,    /* as f32, rounded afterwards: slower than f32 itself */
    FGI_UNSUPPORTED /* emulated, many times slower, or as another dtype with less range */
} fgi_support;
fgi_support fgi_client_support(const fg_client *client, fg_dtype dtype);
/* Whether its devices are one processor that is made to look like several. */
bool fgi_client_is_virtual(const fg_client *client);
/* options.cpu_onednn, on the CPU. */
bool fgi_client_uses_onednn(const fg_client *client);

#endif
