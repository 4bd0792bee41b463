/* test_host_metrics.c - libtpu's counters over gRPC and the metadata server over HTTP, with a test
 * server that replays recorded responses of grpcio (tests/golden/tpu_metrics/record.py).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"
#include "server.h"

#include <fulgurite/host.h>
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "host/http.h"

#define USAGE "tpu.runtime.hbm.memory.usage.bytes"
#define TOTAL "tpu.runtime.hbm.memory.total.bytes"
#define DUTY  "tpu.runtime.tensorcore.dutycycle.percent"

static fgi_mapping usage, total, duty, unknown;

static fgi_mapping map(const char *name)
{
    fg_error err = {0};
    char path[512];
    fgi_mapping m;
    (void)snprintf(path, sizeof path, FGT_SOURCE_DIR "/tests/golden/tpu_metrics/%s.bin", name);
    fgt_ok(fgi_file_map(path, &m, &err));
    return m;
}

static int map_all(void **state)
{
    (void)state;
    usage = map("usage");
    total = map("total");
    duty = map("duty");
    unknown = map("unknown");
    return 0;
}

static int unmap_all(void **state)
{
    (void)state;
    fgi_file_unmap(&usage);
    fgi_file_unmap(&total);
    fgi_file_unmap(&duty);
    fgi_file_unmap(&unknown);
    return 0;
}

static fg_status read_from(server *s, fg_tpu_use out[8], size_t *count, fg_error *err)
{
    server_start(s);
    const fg_status status = fg_tpu_use_read(s->address, out, 8, count, err);
    server_stop(s);
    return status;
}

/* A server with memory use and these two metrics, and four devices. */
static void read_four(fgi_mapping totals, fgi_mapping duties, fg_tpu_use out[8])
{
    fg_error err = {0};
    size_t count;
    server s = {.lines = {{USAGE, usage.data, usage.size},
                          {TOTAL, totals.data, totals.size},
                          {DUTY, duties.data, duties.size}}};
    fgt_ok(read_from(&s, out, &count, &err));
    assert_int_equal(count, 4);
}

static void counters_are_read(void **state)
{
    (void)state;
    fg_tpu_use use[8];
    read_four(total, duty, use);
    for (int i = 0; i < 4; i++) { /* sent in arbitrary order, for two chips with two devices each */
        assert_int_equal(use[i].device, i);
        assert_true(use[i].memory_used_bytes == ((i + 1LL) << 30) + i);
        assert_true(use[i].memory_total_bytes == 16LL << 30);
        fgt_close("duty", use[i].duty_cycle, i < 2 ? 0.125 : 0.8725, 0, 1e-12);
    }
}

static void what_a_server_does_not_know_is_left_out(void **state)
{
    (void)state;
    fg_tpu_use use[8];
    read_four(unknown, unknown, use);
    assert_true(use[0].memory_used_bytes == 1LL << 30);
    assert_int_equal(use[0].memory_total_bytes, -1);
    assert_true(isnan(use[0].duty_cycle));
}

static void servers_error_is_reported(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_tpu_use use[8];
    size_t count;
    server s = {.lines = {{USAGE, unknown.data, unknown.size}}};
    assert_int_equal(read_from(&s, use, &count, &err), FG_EDEVICE);
    assert_non_null(strstr(err.message, "gRPC status 3: no such metric"));
    assert_int_equal(count, 0);
}

static void other_servers_are_refused(void **state)
{
    (void)state;
    static const char page[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    fg_error err = {0};
    fg_tpu_use use[8];
    size_t count;
    server s = {.lines = {{"PRI", page, sizeof page - 1}}};
    assert_int_equal(read_from(&s, use, &count, &err), FG_EIO);
    server mute = {.lines = {{NULL, NULL, 0}}};
    assert_int_equal(read_from(&mute, use, &count, &err), FG_EIO);
    /* nothing listens on that port now */
    assert_int_equal(fg_tpu_use_read(mute.address, use, 8, &count, &err), FG_EIO);
    assert_non_null(strstr(err.message, mute.address));
}

/* Arbitrary bytes give an error or numbers, but no crash. */
static void damaged_answers_do_no_harm(void **state)
{
    (void)state;
    unsigned char damaged[1024];
    assert_true(usage.size < sizeof damaged);
    const unsigned char *payload = memmem(usage.data, usage.size, "\x0a\x22tpu.runtime", 13);
    assert_non_null(payload);
    for (size_t at = (size_t)(payload - usage.data); at < usage.size - 30; at += 5) {
        fg_error err = {0};
        fg_tpu_use use[8];
        size_t count;
        memcpy(damaged, usage.data, usage.size);
        damaged[at] ^= 0x5a;
        server s = {.lines = {{USAGE, damaged, usage.size},
                              {TOTAL, total.data, total.size},
                              {DUTY, duty.data, duty.size}}};
        const fg_status status = read_from(&s, use, &count, &err);
        assert_true(status == FG_OK || status == FG_EFORMAT || status == FG_EIO ||
                    status == FG_ENOTFOUND);
    }
}

/* A frame that is compressed, and lengths that are not those of the message. */
static void frames_must_be_plain_and_whole(void **state)
{
    (void)state;
    static const struct {
        int at; /* from the byte after the frame's head: compressed or not, length */
        unsigned char byte;
        const char *says;
    } rows[] = {{-5, 1, "has a length of 203 bytes, but 208 bytes were received"},
                {-1, 204, "has a length of 204 bytes, but 208 bytes were received"},
                {-1, 202, "has a length of 202 bytes, but 208 bytes were received"},
                {-3, 1, "has a length of 65739 bytes, but 208 bytes were received"}};
    unsigned char damaged[1024];
    assert_true(usage.size < sizeof damaged);
    const unsigned char *name = memmem(usage.data, usage.size, "\x0a\x22tpu.runtime", 13);
    assert_non_null(name);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        fg_tpu_use use[8];
        size_t count;
        memcpy(damaged, usage.data, usage.size);
        damaged[name - usage.data - 3 + rows[i].at] = rows[i].byte;
        server s = {.lines = {{USAGE, damaged, usage.size}}};
        assert_int_equal(read_from(&s, use, &count, &err), FG_EFORMAT);
        assert_non_null(strstr(err.message, rows[i].says));
    }
}

static void ports_come_from_the_environment(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_tpu_use use[8];
    size_t count;
    server s = {.lines = {{USAGE, usage.data, usage.size},
                          {TOTAL, total.data, total.size},
                          {DUTY, duty.data, duty.size}}};
    char ports[64];
    server_start(&s);
    (void)snprintf(ports, sizeof ports, "%s,1,2", strchr(s.address, ':') + 1);
    assert_int_equal(setenv("TPU_RUNTIME_METRICS_PORTS", ports, 1), 0);
    const fg_status status = fg_tpu_use_read(NULL, use, 2, &count, &err);
    assert_int_equal(unsetenv("TPU_RUNTIME_METRICS_PORTS"), 0);
    server_stop(&s);
    fgt_ok(status);
    assert_int_equal(count, 4); /* more than fit */
    assert_int_equal(use[1].device, 1);
}

static fg_status ask_once(void *self, fg_error *err)
{
    fg_tpu_use use[8];
    size_t count;
    return fg_tpu_use_read(self, use, 8, &count, err);
}

static void memory_may_fail(void **state)
{
    (void)state;
    server s = {.lines = {{USAGE, usage.data, usage.size},
                          {TOTAL, total.data, total.size},
                          {DUTY, duty.data, duty.size}}};
    server_start(&s);
    fgt_fault_loop(ask_once, s.address);
    server_stop(&s);
}

/* ---- the metadata server --------------------------------------------------------------------- */

/* A TPU VM whose slice is only known to the metadata server. */
static void make_vm(machine *m)
{
    machine_make(m, fgt_path(fgt_temp_folder(), "vm"));
    machine_file(m, "/sys/class/dmi/id/product_name", "Google Compute Engine\n");
    for (int i = 0; i < 4; i++) {
        char slot[32];
        (void)snprintf(slot, sizeof slot, "0000:00:0%d.0", i + 4);
        machine_pci(m, slot, "0x1ae0", "0x006f", "0x0000");
    }
}

/* Queried with the headers that Google's server requires. */
static void metadata_server_reports_the_slice(void **state)
{
    (void)state;
    static const char reply[] =
        "HTTP/1.1 200 OK\r\nMetadata-Flavor: Google\r\nContent-Length: 93\r\n\r\n"
        "ACCELERATOR_TYPE: 'v6e-16'\nCHIPS_PER_HOST_BOUNDS: '2,2,1'\nHOST_BOUNDS: '2,2,1'\n"
        "WORKER_ID: '3'";
    fg_error err = {0};
    machine m;
    fg_host *host;
    char url[64];
    make_vm(&m);
    server s = {.lines = {{"GET /computeMetadata/v1/instance/attributes/tpu-env HTTP/1.1", reply,
                           sizeof reply - 1}}};
    server_start(&s);
    (void)snprintf(url, sizeof url, "http://%s", s.address);
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root, .metadata = url}, &host, &err));
    server_stop(&s);
    const fg_host_info *info = fg_host_info_of(host);
    assert_non_null(strstr(s.asked, "Metadata-Flavor: Google\r\n"));
    assert_true(info->has_metadata);
    assert_string_equal(info->tpu_type, "v6e-16");
    assert_string_equal(info->tpu_topology, "4x4");
    assert_int_equal(info->tpu_hosts, 4);
    assert_int_equal(info->tpu_worker, 3);
    fg_host_close(host);
    /* the same without a response: libtpu would wait for it */
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root, .metadata = url}, &host, &err));
    assert_false(fg_host_info_of(host)->has_metadata);
    assert_string_equal(fg_host_finding_at(host, 1)->code, "metadata-silent");
    fg_host_close(host);
}

/* Only status 200 is an answer: others are of a proxy, for example. Nor is more than 1 MiB. */
static void other_replies_are_no_answer(void **state)
{
    (void)state;
    static char large[(1 << 20) + 100] =
        "HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\nWORKER_ID: '3'";
    static const char *const replies[] = {
        "HTTP/1.1 203 OK\r\nContent-Length: 14\r\n\r\nWORKER_ID: '3'",
        "HTTP/1.1 404 OK\r\nContent-Length: 14\r\n\r\nWORKER_ID: '3'", large};
    const size_t used = strlen(large);
    machine m;
    make_vm(&m);
    memset(large + used, '\n', (size_t)(strstr(large, "WORKER") - large) + (1 << 20) + 1 - used);
    for (int i = 0; i < 3; i++) {
        fg_error err = {0};
        fg_host *host;
        char url[64];
        server s = {.lines = {{"GET", replies[i], strlen(replies[i])}}};
        server_start(&s);
        (void)snprintf(url, sizeof url, "http://%s", s.address);
        fgt_ok(fg_host_open(&(fg_host_options){.root = m.root, .metadata = url}, &host, &err));
        server_stop(&s);
        assert_false(fg_host_info_of(host)->has_metadata);
        assert_int_equal(fg_host_info_of(host)->tpu_worker, 0);
        fg_host_close(host);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(counters_are_read),
    cmocka_unit_test(what_a_server_does_not_know_is_left_out),
    cmocka_unit_test(servers_error_is_reported),
    cmocka_unit_test(other_servers_are_refused),
    cmocka_unit_test(damaged_answers_do_no_harm),
    cmocka_unit_test(frames_must_be_plain_and_whole),
    cmocka_unit_test(ports_come_from_the_environment),
    cmocka_unit_test(memory_may_fail),
    cmocka_unit_test(metadata_server_reports_the_slice),
    cmocka_unit_test(other_replies_are_no_answer),
};

int main(void)
{
    fg_error err = {0};
    fgi_buf nothing = {0};
    const fgi_http_request probe = {.url = "http://127.0.0.1:1", .timeout_ms = 100};
    if (fgi_http_send(&probe, &nothing, &err) == FG_ENOTFOUND)
        return 77; /* no libcurl */
    return cmocka_run_group_tests(tests, map_all, unmap_all) == 0 ? 0 : 1;
}
