/* test_client_explain.c - the error when the requested devices are not available: what was found,
 * why it cannot be used, and what to run. On machines simulated by folders, and on the fake plugin
 * that simulates a TPU.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/alloc.h"
#include "base/error.h"
#include "fakepjrt/fake_control.h"
#include "host/tpu.h"
#include "pjrt/plugin.h"

static machine m;
static fake_control fake;

static int fresh(void **state)
{
    static int count;
    char name[32];
    (void)state;
    (void)snprintf(name, sizeof name, "machine%d", count++);
    machine_make(&m, fgt_path(fgt_temp_folder(), name));
    machine_file(&m, "/tmp/other", "");
    fake.reset();
    return 0;
}

static void holds(const char *message, const char *part)
{
    if (strstr(message, part) == NULL)
        fail_msg("'%s' does not say '%s'", message, part);
}

/* ---- parts of a machine ---------------------------------------------------------------------- */

enum { NOTHING = 0, CHIPS = 1, CHIP_HELD = 2, LOCK_HELD = 4, GPU = 8, GPU_HELD = 16 };

static void hold(const char *what, const char *command)
{
    machine_file(&m, "/proc/812/cmdline", command);
    machine_link(&m, "/proc/812/fd/7", what);
}

/* The lock file, locked by that process according to /proc/locks. */
static void lock(void)
{
    struct stat file;
    char path[FGI_HOST_PATH_MAX], line[128];
    machine_file(&m, FGI_TPU_LOCK, "");
    fgi_host_path(&m.host, FGI_TPU_LOCK, path);
    assert_int_equal(stat(path, &file), 0);
    (void)snprintf(line, sizeof line, "1: POSIX  ADVISORY  WRITE 812 %02x:%02x:%llu 0 EOF\n",
                   major(file.st_dev), minor(file.st_dev), (unsigned long long)file.st_ino);
    machine_file(&m, "/proc/locks", line);
    machine_file(&m, "/proc/812/cmdline", "python notebook.py");
}

static void add_chip(int i)
{
    char slot[16], node[16];
    (void)snprintf(slot, sizeof slot, "0000:00:0%d.0", i);
    (void)snprintf(node, sizeof node, "/dev/accel%d", i);
    machine_pci(&m, slot, "0x1ae0\n", "0x0063\n", "");
    machine_file(&m, node, "");
}

static void furnish(unsigned parts)
{
    for (int i = 0; i < 4 && (parts & CHIPS); i++)
        add_chip(i);
    if (parts & CHIP_HELD)
        hold("/dev/accel0", "python train.py");
    if (parts & LOCK_HELD)
        lock();
    if (parts & GPU) {
        machine_file(&m, "/dev/nvidiactl", "");
        machine_file(&m, "/dev/nvidia0", "");
    }
    if (parts & GPU_HELD)
        hold("/dev/nvidia0", "./renderer");
}

/* ---- no plugin ------------------------------------------------------------------------------- */

static const struct {
    const char *accelerator;
    unsigned parts;
    const char *says[3];
} missing_plugins[] = {
    {"tpu",
     CHIPS,
     {"this machine has 4 TPU chips of v5e, but no PJRT plugin for 'tpu' is installed",
      "; type: fulgurite setup tpu\n", "looked in\n  fulgurite setup: /opt/a/libtpu.so"}},
    {"tpu",
     NOTHING,
     {"this machine has no visible TPU, and no PJRT plugin for 'tpu' is installed\n",
      "use accelerator=cpu or accelerator=auto to train without one",
      "`fulgurite devices` lists what is available\nlooked in\n"}},
    {"cuda",
     GPU,
     {"this machine has an NVIDIA GPU, but no PJRT plugin for 'cuda' is installed",
      "type: fulgurite setup cuda13\n", "  python: /usr: /usr/lib/libtpu.so"}},
    {"cuda",
     NOTHING,
     {"this machine has no visible NVIDIA GPU, and no PJRT plugin", "use accelerator=cpu", ""}},
    {"cpu", NOTHING, {"no PJRT plugin for 'cpu' is installed; type: fulgurite setup cpu", "", ""}},
};

static void a_missing_plugin(void **state)
{
    static const fg_plugin_candidate places[] = {
        {.source = "fulgurite setup", .path = "/opt/a/libtpu.so"},
        {.source = "python: /usr", .path = "/usr/lib/libtpu.so"},
    };
    for (size_t i = 0; i < sizeof missing_plugins / sizeof missing_plugins[0]; i++) {
        fg_error err = {0};
        (void)fresh(state);
        furnish(missing_plugins[i].parts);
        assert_int_equal(
            fgi_explain_missing(&m.host, missing_plugins[i].accelerator, places, 2, &err),
            FG_ENOTFOUND);
        for (int k = 0; k < 3; k++)
            holds(err.message, missing_plugins[i].says[k]);
        if (missing_plugins[i].parts == NOTHING &&
            strcmp(missing_plugins[i].accelerator, "cpu") != 0)
            assert_null(strstr(err.message, "pip install")); /* which would not help */
    }
}

static void chips_are_counted(void **state)
{
    static const char *const says[] = {
        "this machine has 1 TPU chip of v5e, but no PJRT plugin for 'tpu' is installed; type: "
        "fulgurite setup tpu\nlooked in",
        "this machine has 2 TPU chips of v5e, but no PJRT plugin for 'tpu' is installed; type: "
        "fulgurite setup tpu\nlooked in"};
    fg_error err = {0};
    (void)fresh(state);
    for (int i = 0; i < 2; i++) {
        add_chip(i);
        assert_int_equal(fgi_explain_missing(&m.host, "tpu", NULL, 0, &err), FG_ENOTFOUND);
        assert_string_equal(err.message, says[i]);
        (void)fgi_fail(&err, FG_EPLUGIN, "no device");
        assert_int_equal(fgi_explain_refusal(&m.host, "tpu", FG_EPLUGIN, &err), FG_EPLUGIN);
        assert_string_equal(
            err.message, i == 0 ? "this machine has 1 TPU chip of v5e, but libtpu says: no device"
                                : "this machine has 2 TPU chips of v5e, but libtpu says: no "
                                  "device");
    }
    (void)fgi_no_memory(&err); /* which the machine does not explain */
    assert_int_equal(fgi_explain_refusal(&m.host, "tpu", FG_ENOMEM, &err), FG_ENOMEM);
    assert_string_equal(err.message, "out of memory");
}

/* ---- a plugin without devices ---------------------------------------------------------------- */

static const char no_device[] =
    "making a client (libtpu.so): NOT_FOUND: TPU initialization failed: "
    "No jellyfish device found.";
static const char locked[] =
    "initializing (libtpu.so): ABORTED: Internal error when accessing libtpu multi-process "
    "lockfile. Run \"$ sudo rm /tmp/libtpu_lockfile\".";
static const char no_gpu[] =
    "making a client (xla_cuda_plugin.so): FAILED_PRECONDITION: No visible "
    "GPU devices.";

static const struct {
    const char *accelerator, *words;
    unsigned parts;
    const char *says[3], *never;
} refusals[] = {
    /* libtpu without a TPU */
    {"tpu",
     no_device,
     NOTHING,
     {"this machine has no visible TPU (PCI bus (/sys/bus/pci/devices): cannot be listed; ",
      "libtpu says: making a client (libtpu.so): NOT_FOUND: TPU initialization failed: ",
      "\nuse accelerator=cpu or accelerator=auto to train without one"},
     "kill"},
    /* chips held by another process */
    {"tpu",
     no_device,
     CHIPS | CHIP_HELD,
     {"libtpu is in use: process 812 (python train.py) is using /dev/accel0; ",
      "wait until it exits, or stop it: kill 812", "libtpu says: making a client"},
     "accelerator=cpu"},
    {"tpu",
     locked,
     CHIPS | LOCK_HELD,
     {"libtpu is in use: process 812 (python notebook.py) is using /tmp/libtpu_lockfile; ",
      "stop it: kill 812", "multi-process lockfile"},
     "rm /tmp/libtpu_lockfile"},
    /* the chips are free, but there are no devices */
    {"tpu",
     no_device,
     CHIPS,
     {"this machine has 4 TPU chips of v5e, but libtpu says: ", "No jellyfish device found.", ""},
     "kill"},
    {"cuda",
     no_gpu,
     NOTHING,
     {"this machine has no visible NVIDIA GPU (no /dev/nvidiactl): ", "No visible GPU devices.",
      "\nuse accelerator=cpu or accelerator=auto"},
     "kill"},
    {"cuda",
     no_gpu,
     GPU | GPU_HELD,
     {"No visible GPU devices.\n", "process 812 (./renderer) is using /dev/nvidia0; ",
      "stop it: kill 812"},
     "accelerator=cpu"},
    {"cuda", no_gpu, GPU, {"No visible GPU devices.", "", ""}, "\n"},
    {"cpu", "making a client: words", NOTHING, {"making a client: words", "", ""}, "\n"},
    {NULL, "making a client: words", NOTHING, {"making a client: words", "", ""}, "\n"},
};

static void a_plugin_that_refuses(void **state)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        fg_error err = {0};
        (void)fresh(state);
        furnish(refusals[i].parts);
        (void)fgi_fail(&err, FG_EPLUGIN, "%s", refusals[i].words);
        assert_int_equal(fgi_explain_refusal(&m.host, refusals[i].accelerator, FG_EPLUGIN, &err),
                         FG_EPLUGIN);
        assert_int_equal(err.status, FG_EPLUGIN);
        for (int k = 0; k < 3; k++)
            holds(err.message, refusals[i].says[k]);
        if (strstr(err.message, refusals[i].never) != NULL)
            fail_msg("'%s' says '%s'", err.message, refusals[i].never);
    }
}

/* ---- the same through fg_client_open --------------------------------------------------------- */

static fg_status open_tpu(const char *devices, fg_client **out, fg_error *err)
{
    const fg_client_options options = {
        .accelerator = "tpu", .plugin_path = FAKE_PATH, .devices = devices, .cache_dir = ""};
    fake.set("platform", 2);
    return fg_client_open(&options, out, err);
}

/* The content of the message depends on this machine; that there is one does not. */
static void libtpu_is_explained_when_opened(void **state)
{
    fg_error err = {0};
    fg_client *client = NULL;
    (void)state;
    fake.set("initialize_error", 10);
    assert_int_equal(open_tpu(NULL, &client, &err), FG_EPLUGIN);
    holds(err.message, "libtpu says: initializing (fakepjrt.so): ABORTED: Internal error when "
                       "accessing libtpu multi-process lockfile");
    assert_null(strstr(err.message, "sudo"));
    fake.set("initialize_error", 0);
    fake.set("client_error", 5);
    assert_int_equal(open_tpu(NULL, &client, &err), FG_EPLUGIN);
    holds(err.message, "libtpu says: making a client (fakepjrt.so): NOT_FOUND: TPU initialization "
                       "failed: No jellyfish device found.");
    assert_null(client);
}

/* A v2 or v3 host has eight cores and provides one or all; later hosts provide any number. */
static void cores_of_a_tpu(void **state)
{
    static const struct {
        int kind;
        const char *devices;
        int count, first; /* 0: rejected */
        const char *says;
    } rows[] = {
        {2, "auto", 8, 0, NULL},
        {2, "-1", 8, 0, NULL},
        {2, "8", 8, 0, NULL},
        {2, "1", 1, 0, NULL},
        {2, "[1]", 1, 1, NULL},
        {2, "[7]", 1, 7, NULL},
        {1, "0,1,2,3,4,5,6,7", 8, 0, NULL},
        {3, "4", 4, 0, NULL},
        {3, "2,5", 2, 2, NULL},
        {2, "4", 0, 0,
         "4 of 8 cores were requested, but TPU v3 can use only one of them or all\nuse devices=8, "
         "devices=1, or devices=[i] for core i, 0 to 7"},
        {1, "0,1", 0, 0,
         "2 of 8 cores were requested, but TPU v2 can use only one of them or all\n"},
        {2, "9", 0, 0,
         "9 devices were requested, but tpu has only 8; `fulgurite devices` lists them\n"
         "use devices=8 or devices=auto"},
        {2, "[8]", 0, 0,
         "device 8 was requested, but tpu has only 8 (indices start at 0); `fulgurite devices` "
         "lists them\nuse devices=[7] for the last one, or devices=auto for all"},
        {2, "0", 0, 0, "devices '0' selects no device\n"},
        {2, "1;2", 0, 0, "devices '1;2' is neither a number nor a list\n"},
        {2, "[1,]", 0, 0, "devices '[1,]' is not a list of integers\n"},
    };
    (void)state;
    fake.set("devices", 8);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        fg_client *client = NULL;
        fg_device_info device;
        fake.set("kind", rows[i].kind);
        const fg_status status = open_tpu(rows[i].devices, &client, &err);
        if (rows[i].says != NULL) {
            assert_true(status == FG_EINVAL || status == FG_ENOTFOUND);
            assert_null(client);
            holds(err.message, rows[i].says);
            continue;
        }
        fgt_ok(status);
        assert_int_equal(fg_client_info_of(client)->device_count, rows[i].count);
        fgt_ok(fg_device_info_at(client, 0, &device, &err));
        assert_int_equal(device.id, rows[i].first);
        fg_client_close(client);
    }
    assert_int_equal(fgi_alloc_live(), 0);
}

/* The plugin of another accelerator is not mistaken for a TPU. */
static void a_named_accelerator_never_falls_back(void **state)
{
    fg_error err = {0};
    fg_client *client = NULL;
    (void)state;
    const fg_client_options options = {
        .accelerator = "tpu", .plugin_path = FAKE_PATH, .cache_dir = ""};
    assert_int_equal(fg_client_open(&options, &client, &err), FG_EPLUGIN);
    holds(err.message, "is for 'cpu', but 'tpu' was requested");
    assert_int_equal(setenv("FULGURITE_PLUGIN", FAKE_PATH, 1), 0); /* what auto would use */
    assert_int_equal(
        fg_client_open(&(fg_client_options){.accelerator = "cuda", .cache_dir = ""}, &client, &err),
        FG_EPLUGIN);
    holds(err.message, "is for 'cpu', but 'cuda' was requested");
    assert_int_equal(unsetenv("FULGURITE_PLUGIN"), 0);
    assert_null(client);
}

/* Rank and world size. */
static void processes_are_counted(void **state)
{
    fg_error err = {0};
    fg_client *client = NULL;
    (void)state;
    fake.set("devices", 4);
    fake.set("kind", 3);
    fgt_ok(open_tpu("2", &client, &err));
    const fg_client_info *info = fg_client_info_of(client);
    assert_int_equal(info->process_index, 0);
    assert_int_equal(info->process_count, 1);
    assert_int_equal(info->device_count, 2);
    assert_int_equal(info->global_device_count, 4);
    fg_client_close(client);
    fake.set("process", 1);
    fake.set("processes", 3);
    fgt_ok(open_tpu(NULL, &client, &err));
    info = fg_client_info_of(client);
    assert_int_equal(info->process_index, 1);
    assert_int_equal(info->process_count, 3);
    assert_int_equal(info->device_count, 4);
    assert_int_equal(info->global_device_count, 12);
    fg_client_close(client);
}

static int load_fake(void **state)
{
    (void)state;
    return fake_open(&fake) ? 0 : 1;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(a_missing_plugin, fresh),
    cmocka_unit_test_setup(chips_are_counted, fresh),
    cmocka_unit_test_setup(a_plugin_that_refuses, fresh),
    cmocka_unit_test_setup(libtpu_is_explained_when_opened, fresh), /* before it is initialized */
    cmocka_unit_test_setup(cores_of_a_tpu, fresh),
    cmocka_unit_test_setup(a_named_accelerator_never_falls_back, fresh),
    cmocka_unit_test_setup(processes_are_counted, fresh),
};

int main(void) { return cmocka_run_group_tests(tests, load_fake, NULL) == 0 ? 0 : 1; }
