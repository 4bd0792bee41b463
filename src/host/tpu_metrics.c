/* tpu_metrics.c - libtpu's metrics of a running program, from the gRPC server that it opens on this
 * machine. Names of the service and of its metrics: tpu-info (metrics.py).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/host.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "host/host.h"
#include "host/http.h"
#include "host/tpu_metrics.pb-c.h"

#define METHOD "/tpu.monitoring.runtime.RuntimeMetricService/GetRuntimeMetric"

enum { TIMEOUT_MS = 700, DEVICES_MAX = 256, REQUEST_BYTES = 128 };

typedef struct reading {
    int64_t device;
    double value;
} reading;

static int by_device(const void *a, const void *b)
{
    const reading *x = a, *y = b;
    return (x->device > y->device) - (x->device < y->device);
}

static reading read_metric(const Fulgurite__Tpu__Metric *m, size_t index)
{
    reading r = {.device = (int64_t)index, .value = (double)NAN};
    if (m->attribute && m->attribute->value && m->attribute->value->has_int_attr)
        r.device = m->attribute->value->int_attr;
    if (m->gauge && m->gauge->has_as_int)
        r.value = (double)m->gauge->as_int;
    else if (m->gauge && m->gauge->has_as_double)
        r.value = m->gauge->as_double;
    return r;
}

static fg_status unpack(const fgi_buf *answer, reading out[DEVICES_MAX], size_t *out_count,
                        fg_error *err)
{
    bool has_no_memory = false;
    ProtobufCAllocator allocator = {
        .alloc = fgi_alloc_for, .free = fgi_free_for, .allocator_data = &has_no_memory};
    Fulgurite__Tpu__MetricResponse *response = fulgurite__tpu__metric_response__unpack(
        &allocator, answer->size, (const uint8_t *)answer->data);
    if (has_no_memory)
        return fgi_no_memory(err);
    if (!response)
        return fgi_fail(
            err, FG_EFORMAT,
            "invalid response of %zu bytes from the TPU's metrics server: expected a metric",
            answer->size);
    const Fulgurite__Tpu__TpuMetric *metric = response->metric;
    for (size_t i = 0; metric && i < metric->n_metrics && i < DEVICES_MAX; i++)
        out[(*out_count)++] = read_metric(metric->metrics[i], i);
    qsort(out, *out_count, sizeof *out, by_device);
    fulgurite__tpu__metric_response__free_unpacked(response, &allocator);
    return FG_OK;
}

/* One metric of all devices, in order of device. */
static fg_status ask(const char *address, const char *name, reading out[DEVICES_MAX],
                     size_t *out_count, fg_error *err)
{
    char url[512];
    uint8_t packed[REQUEST_BYTES];
    fgi_buf answer = {0};
    Fulgurite__Tpu__MetricRequest request = FULGURITE__TPU__METRIC_REQUEST__INIT;
    request.metric_name = (char *)name;
    *out_count = 0;
    (void)snprintf(url, sizeof url, "http://%.300s" METHOD, address);
    const fgi_http_request http = {.url = url,
                                   .body = packed,
                                   .body_size =
                                       fulgurite__tpu__metric_request__pack(&request, packed),
                                   .is_grpc = true,
                                   .timeout_ms = TIMEOUT_MS};
    fg_status status = fgi_http_send(&http, &answer, err);
    if (status == FG_OK)
        status = unpack(&answer, out, out_count, err);
    fgi_buf_fini(&answer);
    return status;
}

static void default_address(char out[64])
{
    const char *ports = fgi_host_variable(NULL, "TPU_RUNTIME_METRICS_PORTS");
    const int digits = ports ? (int)strspn(ports, "0123456789") : 0;
    (void)snprintf(out, 64, "localhost:%.*s", digits > 0 && digits < 6 ? digits : 4,
                   digits > 0 && digits < 6 ? ports : "8431");
}

/* Duty cycles are reported per chip, memory per device: the value of a chip is assigned to all of
 * its devices. */
static double busy_fraction(const reading *of_chips, size_t chips, size_t index, size_t devices)
{
    if (chips == 0 || devices == 0)
        return (double)NAN;
    return of_chips[index * chips / devices].value / 100;
}

static fg_status read_all(const char *address, reading all[3][DEVICES_MAX], fg_tpu_use *out,
                          size_t capacity, size_t *out_count, fg_error *err)
{
    static const char *const names[] = {"tpu.runtime.hbm.memory.usage.bytes",
                                        "tpu.runtime.hbm.memory.total.bytes",
                                        "tpu.runtime.tensorcore.dutycycle.percent"};
    size_t count[3];
    for (int i = 0; i < 3; i++) {
        const fg_status status = ask(address, names[i], all[i], &count[i], err);
        if (status == FG_EDEVICE && i > 0)
            continue; /* the server does not support one of the metrics */
        if (status != FG_OK)
            return status;
    }
    if (count[0] == 0)
        return fgi_fail(err, FG_ENOTFOUND,
                        "%s: no device reported: is a program running on the TPU?", address);
    for (size_t i = 0; i < count[0] && i < capacity; i++) {
        const bool has_total = i < count[1] && isfinite(all[1][i].value);
        out[i] = (fg_tpu_use){.device = all[0][i].device,
                              .memory_used_bytes =
                                  isfinite(all[0][i].value) ? (int64_t)all[0][i].value : -1,
                              .memory_total_bytes = has_total ? (int64_t)all[1][i].value : -1,
                              .duty_cycle = busy_fraction(all[2], count[2], i, count[0])};
    }
    *out_count = count[0];
    return FG_OK;
}

fg_status fg_tpu_use_read(const char *address, fg_tpu_use *out, size_t capacity, size_t *out_count,
                          fg_error *err)
{
    char usual[64];
    *out_count = 0;
    default_address(usual);
    reading(*all)[DEVICES_MAX] = fgi_calloc(3, sizeof *all);
    if (!all)
        return fgi_no_memory(err);
    const fg_status status =
        read_all(address ? address : usual, all, out, capacity, out_count, err);
    fgi_free(all);
    return status;
}
