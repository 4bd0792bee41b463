/* test_host_tpu.c - detection of TPUs and of processes that hold them, on machines simulated by
 * folders; the variables set before libtpu is loaded.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/tpu.h"

static machine m;

/* An empty machine in a separate folder. */
static int fresh(void **state)
{
    static int count;
    char name[32];
    (void)state;
    (void)snprintf(name, sizeof name, "machine%d", count++);
    machine_make(&m, fgt_path(fgt_temp_folder(), name));
    machine_file(&m, "/tmp/other", "");
    return 0;
}

/* ---- detection ------------------------------------------------------------------------------- */

/* The ids are those in JAX's cloud_tpu_init.py and tpu-info's device.py. */
static void generation_is_reported_by_pci_numbers(void **state)
{
    static const struct {
        const char *device, *subsystem, *generation;
        int cores;
    } cases[] = {
        {"0x0027", "0x004e", "v2", 2},  {"0x0027", "0x004f", "v3", 2},
        {"0x005e", "0x0000", "v4", 1},  {"0x0062", "0x0000", "v5p", 1},
        {"0x0063", "0x0000", "v5e", 1}, {"0x006f", "0x0000", "v6e", 1},
        {"0x0076", "0x0000", "7x", 2},
    };
    (void)state;
    fgi_tpu_scan scan;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        machine_pci(&m, "0000:00:05.0", "0x1ae0\n", cases[i].device, cases[i].subsystem);
        fgi_host_tpu_scan(&m.host, &scan);
        assert_non_null(scan.generation);
        assert_string_equal(scan.generation, cases[i].generation);
        assert_string_equal(scan.detected_by, "PCI");
        assert_int_equal(scan.chips, 1);
        assert_int_equal(scan.cores, cases[i].cores);
        assert_true(fgi_host_has_tpu(&m.host));
    }
}

/* A chip of two cores may be two functions of one PCI address. */
static void functions_of_one_address_are_one_chip(void **state)
{
    (void)state;
    fgi_tpu_scan scan;
    machine_pci(&m, "0000:00:05.0", "0x1ae0\n", "0x0076\n", "0x0000\n");
    machine_pci(&m, "0000:00:05.1", "0x1ae0\n", "0x0076\n", "0x0000\n");
    machine_pci(&m, "0000:00:06.0", "0x1ae0\n", "0x0076\n", "0x0000\n");
    machine_pci(&m, "0000:00:06.1", "0x1ae0\n", "0x0076\n", "0x0000\n");
    fgi_host_tpu_scan(&m.host, &scan);
    assert_int_equal(scan.chips, 2);
    assert_int_equal(scan.cores, 4);
}

static void network_card_of_google_is_no_tpu(void **state)
{
    (void)state;
    fgi_tpu_scan scan;
    machine_pci(&m, "0000:00:04.0", "0x1ae0\n", "0x0042\n", "0x0058\n");
    machine_pci(&m, "0000:00:05.0", "0x10de\n", "0x0063\n", "0x0000\n"); /* not Google's */
    fgi_host_tpu_scan(&m.host, &scan);
    assert_null(scan.generation);
    assert_int_equal(scan.pci_devices, 2);
    assert_int_equal(scan.chips, 0);
    assert_false(fgi_host_has_tpu(&m.host));
    char text[300];
    fgi_host_tpu_looked(&m.host, &scan, text, sizeof text);
    assert_string_equal(text, "PCI bus (/sys/bus/pci/devices): 2 devices, no TPU; /dev/accelN, "
                              "/dev/vfio/N: none; TPU_ACCELERATOR_TYPE: not set");
}

/* What was looked at, in every case. */
static const struct {
    bool has_pci;
    int chips, devices, unknown, nodes;
    const char *text;
} looks[] = {
    {false, 0, 0, 0, 0, "cannot be listed; /dev/accelN, /dev/vfio/N: none"},
    {true, 0, 0, 0, 0, "0 devices, no TPU; /dev/accelN, /dev/vfio/N: none"},
    {true, 0, 1, 1, 1, "1 device, no TPU known here; /dev/accelN, /dev/vfio/N: 1 from /dev/x on"},
    {true, 1, 3, 1, 2, "1 TPU chip; /dev/accelN, /dev/vfio/N: 2 from /dev/x on"},
    {true, 4, 3, 0, 0, "4 TPU chips; /dev/accelN, /dev/vfio/N: none"},
};

static void looks_in_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        char text[300], expected[300];
        fgi_tpu_scan scan = {.has_pci = looks[i].has_pci,
                             .pci_chips = looks[i].chips,
                             .pci_devices = looks[i].devices,
                             .pci_unknown = looks[i].unknown,
                             .node_count = looks[i].nodes};
        (void)snprintf(scan.nodes[0], sizeof scan.nodes[0], "/dev/x");
        fgi_host_tpu_looked(&m.host, &scan, text, sizeof text);
        (void)snprintf(expected, sizeof expected,
                       "PCI bus (/sys/bus/pci/devices): %s; TPU_ACCELERATOR_TYPE: not set",
                       looks[i].text);
        assert_string_equal(text, expected);
    }
}

/* Other devices are passed through VFIO too; the IOMMU groups distinguish them. */
static void vfio_nodes_are_those_of_the_chips(void **state)
{
    (void)state;
    fgi_tpu_scan scan;
    machine_pci(&m, "0000:00:04.0", "0x1ae0\n", "0x0063\n", "0x0000\n");
    machine_pci(&m, "0000:00:05.0", "0x1ae0\n", "0x0063\n", "0x0000\n");
    machine_file(&m, "/dev/vfio/vfio", "");
    machine_file(&m, "/dev/vfio/12", "");
    machine_file(&m, "/dev/vfio/2", "");
    machine_file(&m, "/dev/vfio/7", "");
    fgi_host_tpu_scan(&m.host, &scan);
    assert_int_equal(scan.node_count, 3); /* no visible groups: any device may be a TPU */
    machine_link(&m, "/sys/bus/pci/devices/0000:00:04.0/iommu_group",
                 "../../../kernel/iommu_groups/12");
    machine_link(&m, "/sys/bus/pci/devices/0000:00:05.0/iommu_group",
                 "../../../kernel/iommu_groups/2");
    fgi_host_tpu_scan(&m.host, &scan);
    assert_int_equal(scan.node_count, 2);
    assert_string_equal(scan.nodes[0], "/dev/vfio/2");
    assert_string_equal(scan.nodes[1], "/dev/vfio/12");
    assert_int_equal(scan.chips, 2);
}

/* A container may hide the bus: then the device nodes are chips, and the environment names the
 * type. */
static void nodes_count_where_the_bus_is_hidden(void **state)
{
    (void)state;
    fgi_tpu_scan scan;
    for (int i = 0; i < 4; i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "/dev/accel%d", i);
        machine_file(&m, path, "");
    }
    machine_file(&m, "/dev/accelerometer", "");
    fgi_host_tpu_scan(&m.host, &scan);
    assert_false(scan.has_pci);
    assert_int_equal(scan.chips, 4);
    assert_null(scan.generation);
    machine_set(&m, "TPU_ACCELERATOR_TYPE=v3-8");
    fgi_host_tpu_scan(&m.host, &scan);
    assert_string_equal(scan.generation, "v3");
    assert_string_equal(scan.detected_by, "TPU_ACCELERATOR_TYPE");
    assert_int_equal(scan.cores, 8);
    assert_int_equal(scan.slice_chips, 4);
    assert_true(fgi_host_has_tpu(&m.host));
}

static void environment_alone_makes_no_chip(void **state)
{
    (void)state;
    fgi_tpu_scan scan;
    machine_set(&m, "TPU_ACCELERATOR_TYPE=v5litepod-16");
    machine_set(&m, "TPU_WORKER_HOSTNAMES=a,b,c,d");
    machine_set(&m, "TPU_WORKER_ID=3");
    fgi_host_tpu_scan(&m.host, &scan);
    assert_int_equal(scan.chips, 0);
    assert_null(scan.generation);
    assert_int_equal(scan.slice_chips, 16);
    assert_int_equal(scan.hosts, 4);
    assert_int_equal(scan.worker, 3);
}

static void bounds_report_the_slice(void **state)
{
    (void)state;
    fgi_tpu_scan scan;
    machine_set(&m, "TPU_CHIPS_PER_HOST_BOUNDS=2,2,1");
    machine_set(&m, "TPU_HOST_BOUNDS=1,2,4");
    fgi_host_tpu_scan(&m.host, &scan);
    assert_int_equal(scan.hosts, 8);
    assert_int_equal(scan.slice_chips, 32);
    assert_int_equal(scan.slice_bounds[1], 4);
    assert_int_equal(scan.slice_bounds[2], 4);
    fresh(NULL);
    machine_set(&m, "TPU_CHIPS_PER_HOST_BOUNDS=2,2");
    machine_set(&m, "TPU_HOST_BOUNDS=1,0,4");
    fgi_host_tpu_scan(&m.host, &scan);
    assert_int_equal(scan.slice_chips, 0);
    assert_int_equal(scan.hosts, 1);
}

/* For v2 to v4, v5p and 7x, the number counts cores, for the others chips. */
static void types_are_taken_apart(void **state)
{
    static const struct {
        const char *type, *generation;
        int chips;
    } good[] = {
        {"v2-8", "v2", 4},         {"v3-2048", "v3", 1024}, {"v4-8", "v4", 4},
        {"v5litepod-8", "v5e", 8}, {"v5p-8", "v5p", 4},     {"v6e-256", "v6e", 256},
        {"tpu7x-16", "7x", 8},
    };
    static const char *const bad[] = {"", "v5litepod", "v5e-8", "v3-", "v3-0", "v3-x", "a100-8"};
    (void)state;
    const char *generation;
    int chips;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(fgi_host_tpu_type(good[i].type, &generation, &chips));
        assert_string_equal(generation, good[i].generation);
        assert_int_equal(chips, good[i].chips);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(fgi_host_tpu_type(bad[i], &generation, &chips));
}

/* ---- holders --------------------------------------------------------------------------------- */

enum { OTHER = 5000812 }; /* above the kernel's largest pid */

static void holder_of_a_node_is_named(void **state)
{
    (void)state;
    fgi_device_holder holder;
    char text[300];
    machine_file(&m, "/dev/accel0", "");
    machine_file(&m, "/dev/accel1", "");
    machine_link(&m, "/proc/5000811/fd/0", "/dev/null");
    assert_false(fgi_host_device_holder(&m.host, "tpu", &holder));
    machine_link(&m, "/proc/5000812/fd/3", "/dev/accel1");
    machine_file(&m, "/proc/5000812/comm", "python3\n");
    assert_true(fgi_host_device_holder(&m.host, "tpu", &holder));
    assert_int_equal(holder.pid, OTHER);
    assert_string_equal(holder.name, "python3");
    assert_string_equal(holder.what, "/dev/accel1");
    assert_false(fgi_host_device_holder(&m.host, "cuda", &holder));
    fgi_host_device_holder(&m.host, "tpu", &holder);
    fgi_host_holder_text(&holder, text, sizeof text);
    assert_string_equal(text, "process 5000812 (python3) is using /dev/accel1; wait until it "
                              "exits, or stop it: kill 5000812");
}

static void own_process_is_no_holder(void **state)
{
    (void)state;
    fgi_device_holder holder;
    char path[64];
    machine_file(&m, "/dev/accel0", "");
    (void)snprintf(path, sizeof path, "/proc/%d/fd/3", (int)getpid());
    machine_link(&m, path, "/dev/accel0");
    assert_false(fgi_host_device_holder(&m.host, "tpu", &holder));
}

static void gpu_holder_is_named(void **state)
{
    (void)state;
    fgi_device_holder holder;
    /* opened by processes that only query it */
    machine_link(&m, "/proc/5000812/fd/9", "/dev/nvidiactl");
    assert_false(fgi_host_device_holder(&m.host, "cuda", &holder));
    machine_link(&m, "/proc/5000812/fd/10", "/dev/nvidia0");
    assert_true(fgi_host_device_holder(&m.host, "cuda", &holder));
    assert_string_equal(holder.what, "/dev/nvidia0");
}

/* A line of /proc/locks for the fake machine's own lock file. */
static void write_locks(int pid, long inode_added)
{
    struct stat file;
    char path[FGI_HOST_PATH_MAX], line[300];
    fgi_host_path(&m.host, FGI_TPU_LOCK, path);
    assert_int_equal(stat(path, &file), 0);
    (void)snprintf(line, sizeof line,
                   "1: FLOCK  ADVISORY  WRITE 5000001 00:2b:7 0 EOF\n"
                   "2: POSIX  ADVISORY  WRITE %d %02x:%02x:%lu 0 EOF\n"
                   "2: -> POSIX  ADVISORY  WRITE 5000999 %02x:%02x:%lu 0 EOF\n",
                   pid, major(file.st_dev), minor(file.st_dev),
                   (unsigned long)file.st_ino + (unsigned long)inode_added, major(file.st_dev),
                   minor(file.st_dev), (unsigned long)file.st_ino);
    machine_file(&m, "/proc/locks", line);
}

static void holder_of_the_lock_is_named(void **state)
{
    (void)state;
    fgi_device_holder holder;
    machine_file(&m, FGI_TPU_LOCK, "");
    write_locks(OTHER, 0);
    machine_file(&m, "/proc/5000812/cmdline", "python3\ntrain.py"); /* any control character */
    assert_true(fgi_host_device_holder(&m.host, "tpu", &holder));
    assert_int_equal(holder.pid, OTHER);
    assert_string_equal(holder.name, "python3 train.py");
    assert_string_equal(holder.what, FGI_TPU_LOCK);
    assert_false(holder.is_left_lock);
    write_locks(OTHER, 1); /* the lock of another file */
    assert_false(fgi_host_device_holder(&m.host, "tpu", &holder));
    assert_true(holder.is_left_lock);
    write_locks(0, 0); /* of another container */
    assert_true(fgi_host_device_holder(&m.host, "tpu", &holder));
    assert_int_equal(holder.pid, 0);
    machine_link(&m, "/proc/5000813/fd/4", FGI_TPU_LOCK); /* the only one that may be it */
    assert_true(fgi_host_device_holder(&m.host, "tpu", &holder));
    assert_int_equal(holder.pid, OTHER + 1);
    write_locks(OTHER, 1); /* open, but not locked */
    assert_false(fgi_host_device_holder(&m.host, "tpu", &holder));
    assert_false(holder.is_left_lock);
}

/* Actually locked, by a child process; /proc of the fake machine does not show it. */
static void live_lock_is_never_said_to_be_left_over(void **state)
{
    (void)state;
    char path[FGI_HOST_PATH_MAX], text[400], byte;
    int ready[2];
    fgi_device_holder holder;
    machine_file(&m, FGI_TPU_LOCK, "");
    fgi_host_path(&m.host, FGI_TPU_LOCK, path);
    assert_int_equal(pipe(ready), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const int fd = open(path, O_RDWR);
        const struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        if (fd < 0 || fcntl(fd, F_SETLK, &lock) != 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    const bool is_held = fgi_host_device_holder(&m.host, "tpu", &holder);
    fgi_host_tpu_explain(
        &m.host,
        "Internal error when accessing libtpu multi-process lockfile. Run \"$ sudo "
        "rm /tmp/libtpu_lockfile\".",
        text, sizeof text);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(is_held);
    assert_false(holder.is_left_lock);
    if (holder.pid != 0) /* some kernels do not report it */
        assert_int_equal(holder.pid, child);
    assert_null(strstr(text, "rm /tmp"));
    assert_non_null(strstr(text, "libtpu is in use: "));
    assert_false(fgi_host_device_holder(&m.host, "tpu", &holder));
    assert_true(holder.is_left_lock);
    fgi_host_holder_text(&holder, text, sizeof text);
    assert_non_null(strstr(text, "can be removed: rm /tmp/libtpu_lockfile"));
    (void)close(ready[0]);
    (void)close(ready[1]);
}

/* Checking must not release a lock that this process holds. */
static void own_lock_survives_the_look(void **state)
{
    (void)state;
    char path[FGI_HOST_PATH_MAX], link_path[64];
    fgi_device_holder holder;
    machine_file(&m, FGI_TPU_LOCK, "");
    fgi_host_path(&m.host, FGI_TPU_LOCK, path);
    const int fd = open(path, O_RDWR);
    const struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    assert_int_equal(fcntl(fd, F_SETLK, &lock), 0);
    (void)snprintf(link_path, sizeof link_path, "/proc/%d/fd/%d", (int)getpid(), fd);
    machine_link(&m, link_path, FGI_TPU_LOCK);
    assert_false(fgi_host_device_holder(&m.host, "tpu", &holder));
    assert_false(holder.is_left_lock);
    const pid_t child = fork();
    if (child == 0) { /* checks in another process whether it is still locked */
        struct flock asked = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        const int other = open(path, O_RDWR);
        _exit(fcntl(other, F_GETLK, &asked) == 0 && asked.l_type == F_WRLCK ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    (void)close(fd);
}

/* ---- explanations ---------------------------------------------------------------------------- */

static void no_tpu_is_explained_by_what_was_looked_at(void **state)
{
    (void)state;
    char text[512];
    machine_pci(&m, "0000:00:04.0", "0x1ae0\n", "0x0042\n", "");
    fgi_host_tpu_explain(&m.host, "No jellyfish device found.", text, sizeof text);
    assert_string_equal(
        text, "this machine has no visible TPU (PCI bus (/sys/bus/pci/devices): 1 device, no "
              "TPU; /dev/accelN, /dev/vfio/N: none; TPU_ACCELERATOR_TYPE: not set); "
              "libtpu says: No jellyfish device found.");
    machine_file(&m, FGI_TPU_LOCK, "");
    write_locks(OTHER, 0); /* not the cause */
    fgi_host_tpu_explain(&m.host, "No jellyfish device found.", text, sizeof text);
    assert_non_null(strstr(text, "this machine has no visible TPU (PCI bus"));
    assert_int_equal(unlink(fgt_path(m.root, FGI_TPU_LOCK)), 0);
    machine_pci(&m, "0000:00:05.0", "0x1ae0\n", "0x006f\n", "");
    fgi_host_tpu_explain(&m.host, "No jellyfish device found.", text, sizeof text);
    assert_string_equal(
        text, "this machine has 1 TPU chip of v6e, but libtpu says: No jellyfish device found.");
}

/* ---- before libtpu is loaded ----------------------------------------------------------------- */

static const char *value_of(const fgi_variable *v, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(v[i].name, name) == 0)
            return v[i].value;
    }
    return NULL;
}

static void metadata_is_skipped_without_a_chip(void **state)
{
    (void)state;
    fgi_variable v[FGI_TPU_VARIABLES_MAX];
    size_t count = fgi_host_tpu_variables(&m.host, false, v);
    assert_string_equal(value_of(v, count, "TPU_SKIP_MDS_QUERY"), "1");
    assert_string_equal(value_of(v, count, "TPU_WORKER_HOSTNAMES"), "localhost");
    assert_null(value_of(v, count, "ALLOW_MULTIPLE_LIBTPU_LOAD"));
    machine_set(&m, "TPU_SKIP_MDS_QUERY=true"); /* the user's value is kept */
    count = fgi_host_tpu_variables(&m.host, false, v);
    assert_null(value_of(v, count, "TPU_SKIP_MDS_QUERY"));
    fresh(NULL);
    machine_pci(&m, "0000:00:05.0", "0x1ae0\n", "0x0063\n", "");
    assert_int_equal(fgi_host_tpu_variables(&m.host, false, v), 0);
    count = fgi_host_tpu_variables(&m.host, true, v);
    assert_string_equal(value_of(v, count, "ALLOW_MULTIPLE_LIBTPU_LOAD"), "1");
    assert_string_equal(value_of(v, count, "TPU_LOG_DIR"), "disabled");
    assert_string_equal(value_of(v, count, "TPU_SKIP_MDS_QUERY"), "1");
}

static void preparing_sets_this_process(void **state)
{
    (void)state;
    if (fgi_host_has_tpu(NULL))
        skip();
    assert_int_equal(unsetenv("TPU_SKIP_MDS_QUERY"), 0);
    assert_int_equal(unsetenv("TPU_ACCELERATOR_TYPE"), 0);
    assert_int_equal(setenv("TPU_WORKER_HOSTNAMES", "mine", 1), 0);
    fgi_host_tpu_prepare(false);
    assert_string_equal(getenv("TPU_SKIP_MDS_QUERY"), "1");
    assert_string_equal(getenv("TPU_WORKER_HOSTNAMES"), "mine");
    /* a later check does not mistake it for a variable of the environment */
    assert_null(fgi_host_variable(NULL, "TPU_SKIP_MDS_QUERY"));
    assert_string_equal(fgi_host_variable(NULL, "TPU_WORKER_HOSTNAMES"), "mine");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(generation_is_reported_by_pci_numbers, fresh),
    cmocka_unit_test_setup(functions_of_one_address_are_one_chip, fresh),
    cmocka_unit_test_setup(network_card_of_google_is_no_tpu, fresh),
    cmocka_unit_test_setup(vfio_nodes_are_those_of_the_chips, fresh),
    cmocka_unit_test_setup(nodes_count_where_the_bus_is_hidden, fresh),
    cmocka_unit_test_setup(environment_alone_makes_no_chip, fresh),
    cmocka_unit_test_setup(bounds_report_the_slice, fresh),
    cmocka_unit_test_setup(types_are_taken_apart, fresh),
    cmocka_unit_test_setup(holder_of_a_node_is_named, fresh),
    cmocka_unit_test_setup(own_process_is_no_holder, fresh),
    cmocka_unit_test_setup(gpu_holder_is_named, fresh),
    cmocka_unit_test_setup(holder_of_the_lock_is_named, fresh),
    cmocka_unit_test_setup(live_lock_is_never_said_to_be_left_over, fresh),
    cmocka_unit_test_setup(own_lock_survives_the_look, fresh),
    cmocka_unit_test_setup(no_tpu_is_explained_by_what_was_looked_at, fresh),
    cmocka_unit_test_setup(looks_in_words, fresh),
    cmocka_unit_test_setup(metadata_is_skipped_without_a_chip, fresh),
    cmocka_unit_test_setup(preparing_sets_this_process, fresh),
};
FGT_MAIN(tests)
