/* topology_name.c - names of machines that programs can be compiled for without having them, and
 * their descriptions for the plugins.
 *
 * There are two naming schemes for TPUs: generation and shape ("v5e:2x4", chips), which libtpu
 * accepts, and Google Cloud's accelerator types ("v5litepod-8", "v3-8"), whose number counts chips
 * for some generations and cores for others. Both are parsed and checked here, because libtpu
 * terminates the process on some unexpected names.
 *
 * Source: Google Cloud, "TPU configurations" of each generation.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <fulgurite/device.h>

#include "base/text.h"
#include "pjrt/topology.h"

enum { CHIPS_MAX = 9216, GPUS_MAX = 64 };

/* A generation of TPUs. */
typedef struct generation {
    const char *name;        /* our name, which is also libtpu's except for the last one */
    const char *libtpu;      /* libtpu's */
    const char *also[2];     /* other names before '-' or ':' */
    int rank;                /* dimensions of a slice */
    int count_per_chip;      /* unit of the number in an accelerator type */
    const char *chip_config; /* the usual configuration, NULL: libtpu's default */
    int64_t host[3]; /* chips per host of a machine that has all of 8, 0: libtpu's default */
} generation;

static const generation generations[] = {
    {"v2", "v2", {NULL}, 2, 2, NULL, {0}},
    {"v3", "v3", {NULL}, 2, 2, NULL, {0}},
    {"v4", "v4", {NULL}, 3, 2, "megacore", {0}},
    {"v5e", "v5e", {"v5litepod", "v5lite"}, 2, 1, NULL, {2, 4, 1}},
    {"v5p", "v5p", {NULL}, 3, 2, NULL, {0}},
    {"v6e", "v6e", {NULL}, 2, 1, NULL, {2, 4, 1}},
    {"7x", "tpu7x", {"tpu7x", "v7x"}, 3, 2, NULL, {0}},
};

/* Free machines of online notebooks. */
static const struct {
    const char *name, *means;
} places[] = {{"kaggle", "v5e-8"}, {"colab", "v5e-1"}};

/* Values from NVIDIA's data sheets and its CUDA programming guide, "compute capabilities"; clocks
 * are the maximum ones. */
static const fgi_gpu gpus[] = {
    {.name = "a100",
     .model = "NVIDIA A100-SXM4-80GB",
     .capability = 8,
     .cores = 108,
     .lanes_per_core = 64,
     .clock_ghz = 1.41,
     .memory_bytes = 85100068864,
     .memory_bytes_per_s = 2039040000000,
     .cache_bytes = 40 << 20,
     .shared_bytes_per_core = 164 << 10,
     .shared_bytes_per_block = 163 << 10},
    {.name = "h100",
     .model = "NVIDIA H100 80GB HBM3",
     .capability = 9,
     .cores = 132,
     .lanes_per_core = 128,
     .clock_ghz = 1.98,
     .memory_bytes = 84942979072,
     .memory_bytes_per_s = 3352320000000,
     .cache_bytes = 50 << 20,
     .shared_bytes_per_core = 228 << 10,
     .shared_bytes_per_block = 227 << 10},
    {.name = "h200",
     .model = "NVIDIA H200",
     .capability = 9,
     .cores = 132,
     .lanes_per_core = 128,
     .clock_ghz = 1.98,
     .memory_bytes = 150109880320,
     .memory_bytes_per_s = 4800000000000,
     .cache_bytes = 50 << 20,
     .shared_bytes_per_core = 228 << 10,
     .shared_bytes_per_block = 227 << 10},
    {.name = "b200",
     .model = "NVIDIA B200",
     .capability = 10,
     .cores = 148,
     .lanes_per_core = 128,
     .clock_ghz = 1.965,
     .memory_bytes = 191514411008,
     .memory_bytes_per_s = 7672320000000,
     .cache_bytes = 126 << 20,
     .shared_bytes_per_core = 228 << 10,
     .shared_bytes_per_block = 227 << 10},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static fg_status unknown(const char *text, const char *why, fg_error *err)
{
    return fgi_fail(err, FG_EINVAL,
                    "topology '%.60s': %s\nexpected v2, v3, v4, v5e, v5p, v6e or 7x with a shape "
                    "(v5e:2x4), a Google Cloud accelerator type (v3-8, v5litepod-8), kaggle, "
                    "colab, or a100, h100, h200 or b200, optionally with a number (h100:8)",
                    text, why);
}

static const generation *find_generation(fgi_str name)
{
    for (size_t i = 0; i < COUNT(generations); i++) {
        const generation *g = &generations[i];
        if (fgi_str_equal(name, g->name))
            return g;
        for (int k = 0; k < 2; k++)
            if (g->also[k] != NULL && fgi_str_equal(name, g->also[k]))
                return g;
    }
    return NULL;
}

/* Google's shape for a number of chips: as close to a square or a cube as halving allows, with the
 * longer sides last; four chips of a 3D topology form a square. */
static bool shape_of(int64_t chips, int rank, int64_t out[3])
{
    out[0] = out[1] = out[2] = 1;
    if (chips == 4 && rank == 3) {
        out[0] = out[1] = 2;
        return true;
    }
    for (int i = rank - 1; chips > 1; i = i > 0 ? i - 1 : rank - 1) {
        if (chips % 2 != 0)
            return false;
        out[i] *= 2;
        chips /= 2;
    }
    return true;
}

/* "2x4": as many numbers as the generation's slices have dimensions. */
static bool parse_shape(fgi_str text, int rank, int64_t out[3])
{
    out[0] = out[1] = out[2] = 1;
    for (int i = 0; i < rank; i++) {
        const char *x = memchr(text.data, 'x', text.size);
        const size_t size = x != NULL ? (size_t)(x - text.data) : text.size;
        if (!fgi_parse_i64((fgi_str){text.data, size}, &out[i]) || out[i] < 1 ||
            out[i] > CHIPS_MAX || (x != NULL) != (i < rank - 1))
            return false;
        text = x != NULL ? (fgi_str){x + 1, text.size - size - 1} : (fgi_str){text.data, 0};
    }
    return true;
}

static fg_status parse_tpu(const char *text, const generation *g, fgi_str rest, bool is_shape,
                           fgi_topology_name *out, fg_error *err)
{
    int64_t shape[3], count = 0;
    if (is_shape) {
        if (!parse_shape(rest, g->rank, shape))
            return unknown(text,
                           g->rank == 2 ? "expected two positive numbers of chips, as in 2x4"
                                        : "expected three positive numbers of chips, as in 2x2x1",
                           err);
    } else {
        if (!fgi_parse_i64(rest, &count) || count < 1 || count > 2 * (int64_t)CHIPS_MAX)
            return unknown(text, "expected a number of devices after '-'", err);
        if (count % g->count_per_chip != 0 || !shape_of(count / g->count_per_chip, g->rank, shape))
            return unknown(text, "there is no slice of this size", err);
    }
    const int64_t chips = shape[0] * shape[1] * shape[2];
    if (chips > CHIPS_MAX)
        return unknown(text, "there is no slice of this size", err);
    out->accelerator = "tpu";
    out->generation = g->name;
    out->chip_config = g->chip_config;
    out->chip_count = chips;
    const int n = snprintf(out->plugin_name, sizeof out->plugin_name, "%s:%" PRId64 "x%" PRId64,
                           g->libtpu, shape[0], shape[1]);
    if (g->rank == 3)
        (void)snprintf(out->plugin_name + n, sizeof out->plugin_name - (size_t)n, "x%" PRId64,
                       shape[2]);
    if (chips == 8 && shape[0] == 2 && shape[1] == 4)
        memcpy(out->host_bounds, g->host, sizeof out->host_bounds);
    return FG_OK;
}

static fg_status parse_gpu(const char *text, const fgi_gpu *gpu, fgi_str rest,
                           fgi_topology_name *out, fg_error *err)
{
    int64_t count = 1;
    if (rest.size > 0 && (!fgi_parse_i64(rest, &count) || count < 1 || count > GPUS_MAX))
        return unknown(text, "expected a number of GPUs, 1 to 64, after ':'", err);
    out->accelerator = "cuda";
    out->generation = gpu->name;
    out->gpu = gpu;
    out->chip_count = count;
    (void)snprintf(out->plugin_name, sizeof out->plugin_name, "1x1x%" PRId64, count);
    return FG_OK;
}

fg_status fgi_topology_parse(const char *text, fgi_topology_name *out, fg_error *err)
{
    char lower[64] = "";
    *out = (fgi_topology_name){.accelerator = NULL};
    if (strlen(text) >= sizeof lower)
        return unknown(text, "the name is too long: expected fewer than 64 characters", err);
    for (size_t i = 0; text[i] != '\0'; i++)
        lower[i] = fgi_lower(text[i]);
    const char *name = lower;
    for (size_t i = 0; i < COUNT(places); i++)
        if (strcmp(lower, places[i].name) == 0)
            name = places[i].means;
    const size_t size = strcspn(name, ":-");
    const char mark = name[size];
    const fgi_str first = {name, size};
    const fgi_str rest = fgi_str_of(name + size + (mark != '\0'));
    const generation *g = find_generation(first);
    if (g != NULL && mark != '\0')
        return parse_tpu(text, g, rest, mark == ':', out, err);
    if (g != NULL)
        return unknown(text, "the number of chips or the shape is missing", err);
    for (size_t i = 0; i < COUNT(gpus); i++)
        if (fgi_str_equal(first, gpus[i].name) && (mark == '\0' || rest.size > 0) && mark != '-')
            return parse_gpu(text, &gpus[i], rest, out, err);
    return unknown(text, "unknown name", err);
}

fg_status fg_topology_describe(const char *name, fg_topology_info *out, fg_error *err)
{
    fgi_topology_name parsed;
    *out = (fg_topology_info){.accelerator = ""};
    FGI_TRY(fgi_topology_parse(name, &parsed, err));
    (void)snprintf(out->accelerator, sizeof out->accelerator, "%s", parsed.accelerator);
    (void)snprintf(out->machine, sizeof out->machine, "%s %s %s %" PRId64 "x%" PRId64 "x%" PRId64,
                   parsed.generation, parsed.plugin_name,
                   parsed.chip_config != NULL ? parsed.chip_config : "-", parsed.host_bounds[0],
                   parsed.host_bounds[1], parsed.host_bounds[2]);
    return FG_OK;
}
