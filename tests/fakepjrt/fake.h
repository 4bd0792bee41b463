/* fake.h - internals of the fake plugin.
 *
 * Ownership: what the PJRT API hands out is freed by its Destroy call. Events' states and buffers'
 * bytes are counted, because work that is still queued outlives the handles.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FAKE_H
#define FAKE_H

#include <pjrt_c_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { RANK_MAX = 8, DEVICES_MAX = 64, PROCESSES_MAX = 8, MESSAGE_MAX = 200 };
enum { WORLD_MAX = PROCESSES_MAX * DEVICES_MAX };

/* ---- settings and counters: fake_core.c ------------------------------------------------------ */

/* A setting's value now. Unknown names are a bug of the caller. */
long fake_get(const char *name);
void fake_set(const char *name, long value);
void fake_reset(void);
/* Adds to a counter. */
void fake_count(const char *name, long by);
/* The error code that the fault "NAME_error" makes this call end with, 0 for none; lets NAME_skip
 * calls pass first. */
int fake_fault(const char *name);

/* ---- errors ---------------------------------------------------------------------------------- */

struct PJRT_Error {
    PJRT_Error_Code code;
    char message[MESSAGE_MAX];
};

PJRT_Error *fake_error(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Rejects an argument struct whose size is not that of the header. */
#define FAKE_CHECK(args, type)                                                                     \
    do {                                                                                           \
        if ((args)->struct_size != type##_STRUCT_SIZE)                                             \
            return fake_error(PJRT_Error_Code_INVALID_ARGUMENT, "%s has the size %zu", #type,      \
                              (args)->struct_size);                                                \
    } while (0)

/* ---- events ---------------------------------------------------------------------------------- */

typedef struct callback {
    struct callback *next;
    PJRT_Event_OnReadyCallback call;
    void *user;
} callback;

/* Something that happens once. */
typedef struct state {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    _Atomic int references;
    bool is_ready;
    int code; /* 0: success */
    char message[MESSAGE_MAX];
    callback *callbacks;
} state;

struct PJRT_Event {
    state *state;
};

state *state_create(void);
state *state_retain(state *s);
void state_wait(state *s);
void state_release(state *s);
void state_complete(state *s, int code, const char *message);
bool state_is_ready(state *s);
/* The failure of a state that is ready, 0 for none. */
int state_code(state *s, char message[MESSAGE_MAX]);
/* A new event on the state. */
PJRT_Event *event_create(state *s);

PJRT_Error *fake_event_destroy(PJRT_Event_Destroy_Args *args);
PJRT_Error *fake_event_is_ready(PJRT_Event_IsReady_Args *args);
PJRT_Error *fake_event_error(PJRT_Event_Error_Args *args);
PJRT_Error *fake_event_await(PJRT_Event_Await_Args *args);
PJRT_Error *fake_event_on_ready(PJRT_Event_OnReady_Args *args);

/* ---- clients and their queue ----------------------------------------------------------------- */

struct PJRT_DeviceDescription {
    int id, process;
    char text[32];
};

struct PJRT_Device {
    PJRT_DeviceDescription description;
};

/* Queued work, executed in order, each task at its time: copies bytes, then completes states. If an
 * input has failed, the task fails. */
typedef struct task {
    struct task *next;
    long long due_ns;
    long busy_ms; /* that it takes, from when it is due and the previous task has ended */
    int code;     /* what it will end with */
    long more_ms; /* that it takes in addition to the setting delay_ms */
    char message[MESSAGE_MAX];
    void *to;
    const void *from;
    size_t size;
    struct bytes *hold[2];
    struct bytes **kept; /* memory of the host that a program reads until it has ended */
    size_t kept_count;
    size_t input_count, output_count;
    state **inputs, **outputs;
} task;

struct PJRT_Client {
    char platform[16], version[32];
    int device_count, process, processes;
    PJRT_Device device[WORLD_MAX];         /* device_count of each process, one after the other */
    PJRT_Device *device_list[DEVICES_MAX]; /* this process's */
    pthread_mutex_t mutex;                 /* the queue */
    pthread_cond_t cond;
    pthread_t thread;
    bool has_thread, is_closing, is_busy;
    task *first, *last;
};

/* A task with room for that many inputs and outputs (states retained by task_input and
 * task_output). */
task *task_create(size_t inputs, size_t outputs);
void task_input(task *t, state *s);
void task_output(task *t, state *s);
/* Executes the task immediately if nothing is queued and no delay is set; otherwise the client's
 * thread does. */
void task_submit(PJRT_Client *client, task *t);
void client_finish(PJRT_Client *client);

/* A machine that is not present: fake_topology.c. */
struct PJRT_TopologyDescription {
    char platform[16], told[64];
    int device_count;
    PJRT_DeviceDescription device[DEVICES_MAX];
    PJRT_DeviceDescription *device_list[DEVICES_MAX];
};

PJRT_Error *fake_topology_create(PJRT_TopologyDescription_Create_Args *args);
PJRT_Error *fake_topology_destroy(PJRT_TopologyDescription_Destroy_Args *args);
PJRT_Error *fake_topology_name(PJRT_TopologyDescription_PlatformName_Args *args);
PJRT_Error *fake_topology_version(PJRT_TopologyDescription_PlatformVersion_Args *args);
PJRT_Error *fake_topology_devices(PJRT_TopologyDescription_GetDeviceDescriptions_Args *args);
PJRT_Error *fake_device_attributes(PJRT_DeviceDescription_Attributes_Args *args);

/* ---- buffers: fake_buffer.c ------------------------------------------------------------------ */

/* A counted block of device memory, or of the caller's memory used in place. */
typedef struct bytes {
    _Atomic int references;
    void *at;
    size_t size;
    bool is_external;
    state *freed; /* completed when the last user is gone; NULL */
} bytes;

bytes *bytes_create(size_t size);
bytes *bytes_retain(bytes *b);
void bytes_release(bytes *b);

typedef struct shape {
    PJRT_Buffer_Type type;
    size_t rank;
    int64_t dim[RANK_MAX];
} shape;

size_t shape_bytes(const shape *s);

struct PJRT_Buffer {
    PJRT_Client *client;
    PJRT_Device *device;
    shape shape;
    pthread_mutex_t mutex; /* data */
    bytes *data;           /* NULL: donated */
    state *taken_by;       /* the run that it was donated to, or NULL */
    state *ready;
};

PJRT_Buffer *buffer_create(PJRT_Client *client, PJRT_Device *device, const shape *shape,
                           bytes *data, state *ready);
/* Takes the bytes: the buffer is deleted afterwards. NULL if it already was. */
bytes *buffer_donate(PJRT_Buffer *buffer);
bytes *buffer_data(PJRT_Buffer *buffer);
/* RESOURCE_EXHAUSTED if `more` bytes do not fit. */
PJRT_Error *fake_reserve(size_t more);

PJRT_Error *fake_buffer_from_host(PJRT_Client_BufferFromHostBuffer_Args *args);
PJRT_Error *fake_buffer_to_host(PJRT_Buffer_ToHostBuffer_Args *args);
PJRT_Error *fake_buffer_destroy(PJRT_Buffer_Destroy_Args *args);
PJRT_Error *fake_buffer_is_deleted(PJRT_Buffer_IsDeleted_Args *args);
PJRT_Error *fake_buffer_ready_event(PJRT_Buffer_ReadyEvent_Args *args);

/* ---- programs: fake_program.c, fake_run.c ---------------------------------------------------- */

typedef struct argument {
    shape shape;
    int alias; /* the output that takes its memory; -1: none */
    bool is_donated;
} argument;

typedef struct program {
    _Atomic int references;
    PJRT_Client *client;
    int partition_count, partition_id[WORLD_MAX]; /* on the devices of all processes */
    int device_count;                             /* those of this process, in the same order */
    PJRT_Device *device[DEVICES_MAX];
    size_t argument_count, output_count;
    argument *arguments;
    shape *outputs;
    PJRT_Buffer_Type *output_types;
    int64_t *output_dims;
    size_t *output_ranks;
    PJRT_NamedValue cost[2];
    char *text;
    size_t text_size;
} program;

struct PJRT_LoadedExecutable {
    program *program;
};
struct PJRT_Executable {
    program *program;
};

/* Reads main's signature and the compile options; NULL with *out_error set. */
program *program_create(PJRT_Client *client, const char *text, size_t text_size,
                        const char *options, size_t options_size, PJRT_Error **out_error);
/* Assigns the next partition to a device; false if no process has it. */
bool program_assign(program *p, int64_t id);
program *program_retain(program *p);
void program_release(program *p);

PJRT_Error *fake_compile(PJRT_Client_Compile_Args *args);
PJRT_Error *fake_compile_only(PJRT_Compile_Args *args);
PJRT_Error *fake_replica_count(PJRT_Executable_NumReplicas_Args *args);
PJRT_Error *fake_partition_count(PJRT_Executable_NumPartitions_Args *args);
PJRT_Error *fake_optimized(PJRT_Executable_OptimizedProgram_Args *args);
PJRT_Error *fake_fingerprint(PJRT_Executable_Fingerprint_Args *args);
PJRT_Error *fake_get_executable(PJRT_LoadedExecutable_GetExecutable_Args *args);
PJRT_Error *fake_loaded_destroy(PJRT_LoadedExecutable_Destroy_Args *args);
PJRT_Error *fake_executable_destroy(PJRT_Executable_Destroy_Args *args);
PJRT_Error *fake_program_devices(PJRT_LoadedExecutable_AddressableDevices_Args *args);
PJRT_Error *fake_output_count(PJRT_Executable_NumOutputs_Args *args);
PJRT_Error *fake_output_types(PJRT_Executable_OutputElementTypes_Args *args);
PJRT_Error *fake_output_dims(PJRT_Executable_OutputDimensions_Args *args);
PJRT_Error *fake_memory_of_program(PJRT_Executable_GetCompiledMemoryStats_Args *args);
PJRT_Error *fake_cost(PJRT_Executable_GetCostAnalysis_Args *args);
PJRT_Error *fake_serialize(PJRT_Executable_Serialize_Args *args);
PJRT_Error *fake_deserialize(PJRT_Executable_DeserializeAndLoad_Args *args);
PJRT_Error *fake_execute(PJRT_LoadedExecutable_Execute_Args *args);

/* ---- extensions: fake_profiler.c ------------------------------------------------------------- */

/* The plugin's extensions, as the settings are now. */
PJRT_Extension_Base *fake_extensions(void);

#endif
