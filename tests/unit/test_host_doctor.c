/* test_host_doctor.c - reports for machines simulated from tests/golden/hosts: the environment, the
 * TPU, problems and fixes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"

#include <sys/stat.h>
#include <fulgurite/host.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/resources.h"

static machine m;
static fg_host *host;

static const fg_host_info *look(const char *name)
{
    fg_error err = {0};
    machine_load(&m, fgt_path(fgt_temp_folder(), name), name);
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
    return fg_host_info_of(host);
}

static int leave(void **state)
{
    (void)state;
    fg_host_close(host);
    machine_fini(&m);
    host = NULL;
    return fgi_alloc_live() != 0;
}

/* The findings as "warning stale-variable; note shm", in order. */
static void assert_findings(const char *want)
{
    static const char *const names[] = {"note", "warning", "wrong"};
    char text[1024] = "";
    for (size_t i = 0; i < fg_host_finding_count(host); i++) {
        const fg_finding *f = fg_host_finding_at(host, i);
        const size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s%s %s", i ? "; " : "",
                       names[f->severity], f->code);
    }
    assert_null(fg_host_finding_at(host, fg_host_finding_count(host)));
    assert_string_equal(text, want);
}

static const fg_finding *finding(const char *code)
{
    for (size_t i = 0; i < fg_host_finding_count(host); i++)
        if (strcmp(fg_host_finding_at(host, i)->code, code) == 0)
            return fg_host_finding_at(host, i);
    fail_msg("no finding '%s'", code);
    return NULL;
}

/* The variables to be changed as "A=1 B-": B is to be unset. */
static void assert_fixed(const char *want)
{
    char text[1024] = "";
    for (size_t i = 0; i < fg_host_variable_count(host); i++) {
        const fg_host_variable *v = fg_host_variable_at(host, i);
        const size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "%s%s%s%s", i ? " " : "", v->name,
                       v->value ? "=" : "-", v->value ? v->value : "");
    }
    assert_string_equal(text, want);
}

static void assert_tpu(const fg_host_info *info, const char *generation, int chips, int devices,
                       double gib)
{
    assert_string_equal(info->tpu, generation);
    assert_string_equal(info->tpu_detected_by, "PCI");
    assert_int_equal(info->tpu_chips, chips);
    assert_int_equal(info->tpu_devices, devices);
    fgt_close("HBM", info->tpu_device_bytes, gib * 1073741824.0, 0, 0);
}

static void kaggle_v3_8(void **state)
{
    (void)state;
    const fg_host_info *info = look("kaggle_v3-8");
    assert_string_equal(info->place, "kaggle");
    assert_tpu(info, "v3", 4, 8, 16);
    assert_string_equal(info->tpu_type, "v3-8");
    assert_string_equal(info->tpu_topology, "2x2");
    assert_string_equal(info->cpu_name, "Intel(R) Xeon(R) CPU @ 2.00GHz");
    assert_int_equal(info->cpus, 4);
    assert_true(info->memory_bytes == 346292736LL * 1024);
    assert_true(info->memory_free_bytes == 330301440LL * 1024);
    assert_true(info->shm_bytes == 64 << 20);
    assert_string_equal(info->hugepages, "madvise");
    assert_findings(
        "warning stale-variable; warning stale-variable; note stale-variable; note shm; "
        "warning few-cpus");
    assert_string_equal(finding("stale-variable")->text,
                        "TPU_PROCESS_ADDRESSES is 'local': here one process uses all chips");
    assert_string_equal(finding("stale-variable")->command, "unset TPU_PROCESS_ADDRESSES");
    assert_fixed("TPU_PROCESS_ADDRESSES- CLOUD_TPU_TASK_ID- XRT_TPU_CONFIG-");
}

static void kaggle_v5e_8(void **state)
{
    (void)state;
    const fg_host_info *info = look("kaggle_v5e-8");
    assert_string_equal(info->place, "kaggle");
    assert_tpu(info, "v5e", 8, 8, 16);
    assert_string_equal(info->tpu_topology, "2x4");
    assert_int_equal(info->tpu_hosts, 1);
    assert_findings("warning stale-variable");
    assert_fixed("TPU_PROCESS_ADDRESSES-");
}

static void kaggle_that_gave_no_tpu(void **state)
{
    (void)state;
    const fg_host_info *info = look("kaggle_no_tpu");
    assert_string_equal(info->place, "kaggle");
    assert_string_equal(info->tpu, "");
    assert_int_equal(info->tpu_chips, 0);
    assert_findings("wrong tpu-missing; note shm");
    assert_string_equal(finding("tpu-missing")->command,
                        "Settings > Accelerator > TPU, then restart the session");
    assert_non_null(strstr(finding("tpu-missing")->text, "PCI bus (/sys/bus/pci/devices): 1 "
                                                         "device, no TPU"));
}

static void colab_v5e_1(void **state)
{
    (void)state;
    const fg_host_info *info = look("colab_v5e-1");
    assert_string_equal(info->place, "colab");
    assert_tpu(info, "v5e", 1, 1, 16);
    assert_findings("warning hugepages; warning few-cpus");
    assert_string_equal(finding("few-cpus")->text,
                        "1 CPU feeds 1 chip: decode and resize images in advance");
    assert_fixed("");
}

static void pod_of_v4(void **state)
{
    (void)state;
    const fg_host_info *info = look("gce_v4-32");
    assert_string_equal(info->place, "tpu-vm");
    assert_tpu(info, "v4", 4, 4, 32);
    assert_true(info->has_metadata);
    assert_string_equal(info->tpu_type, "v4-32");
    assert_string_equal(info->tpu_topology, "2x2x4");
    assert_int_equal(info->tpu_slice_chips, 16);
    assert_int_equal(info->tpu_hosts, 4);
    assert_int_equal(info->tpu_worker, 2);
    assert_findings("wrong slice-of-hosts");
    assert_fixed("TPU_VISIBLE_CHIPS=0,1,2,3 TPU_CHIPS_PER_PROCESS_BOUNDS=2,2,1 "
                 "TPU_PROCESS_BOUNDS=1,1,1");
}

/* The same after applying the suggested variables: nothing is wrong. */
static void one_host_of_a_pod_by_its_own_chips(void **state)
{
    (void)state;
    fg_error err = {0};
    static const char variables[] =
        "TPU_VISIBLE_CHIPS=0,1,2,3\nTPU_CHIPS_PER_PROCESS_BOUNDS=2,2,1\n"
        "TPU_PROCESS_BOUNDS=1,1,1\n";
    look("gce_v4-32");
    fg_host_close(host);
    machine_file(&m, "/proc/self/environ", variables);
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
    assert_findings("note variable-set");
    assert_int_equal(fg_host_info_of(host)->tpu_hosts, 1);
    fg_host_close(host);
    machine_file(&m, "/proc/self/environ", /* one chip of the four */
                 "TPU_VISIBLE_CHIPS=0\nTPU_CHIPS_PER_PROCESS_BOUNDS=1,1,1\n"
                 "TPU_PROCESS_BOUNDS=1,1,1\n");
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
    assert_findings("note variable-set");
}

/* The metadata server says v4-32; an environment variable takes precedence. */
static void a_variable_goes_before_the_metadata(void **state)
{
    (void)state;
    fg_error err = {0};
    look("gce_v4-32");
    fg_host_close(host);
    machine_file(&m, "/proc/self/environ", "TPU_ACCELERATOR_TYPE=v4-8\n");
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
    assert_string_equal(fg_host_info_of(host)->tpu_type, "v4-8");
    assert_true(fg_host_info_of(host)->has_metadata);
}

static void pod_of_v5p(void **state)
{
    (void)state;
    const fg_host_info *info = look("gce_v5p-16");
    assert_string_equal(info->place, "tpu-vm");
    assert_tpu(info, "v5p", 4, 4, 95);
    assert_int_equal(info->tpu_slice_chips, 8);
    assert_int_equal(info->tpu_hosts, 2);
    assert_findings("wrong slice-of-hosts");
    fg_error err = {0};
    fg_host_close(host); /* variables of several processes belong there */
    machine_file(&m, "/proc/self/environ", "TPU_PROCESS_PORT=8476\nCLOUD_TPU_TASK_ID=1\n");
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
    assert_findings("wrong slice-of-hosts");
}

static void held_v5p(void **state)
{
    (void)state;
    const fg_host_info *info = look("gce_v5p-8");
    assert_int_equal(info->tpu_hosts, 1);
    assert_findings("wrong tpu-held");
    assert_string_equal(finding("tpu-held")->command, "kill 5000812");
    assert_string_equal(finding("tpu-held")->text,
                        "process 5000812 (python3) is using /dev/vfio/2; wait until it exits, or "
                        "stop it: kill 5000812");
    assert_fixed("");
}

static void laptop(void **state)
{
    (void)state;
    const fg_host_info *info = look("laptop");
    assert_string_equal(info->place, "other");
    assert_string_equal(info->tpu, "");
    assert_int_equal(info->cpus, 8);
    assert_findings("note tpu-none");
    assert_fixed("");
}

/* Only a pod with chips is a place of TPUs. */
static void pods_of_kubernetes(void **state)
{
    (void)state;
    static const char *const names[][2] = {{"laptop", "other"}, {"bare_v6e", "gke"}};
    for (int i = 0; i < 2; i++) {
        fg_error err = {0};
        if (i > 0)
            machine_fini(&m);
        look(names[i][0]);
        fg_host_close(host);
        machine_file(&m, "/proc/self/environ", "KUBERNETES_SERVICE_HOST=10.0.0.1\n");
        fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
        assert_string_equal(fg_host_info_of(host)->place, names[i][1]);
        if (i == 0)
            fg_host_close(host);
    }
}

/* Everything at once: no nodes, a type of another generation, bounds of another host, no metadata
 * server, small limits. */
static void broken_container(void **state)
{
    (void)state;
    const fg_host_info *info = look("bare_v6e");
    assert_string_equal(info->place, "other");
    assert_tpu(info, "v6e", 4, 4, 32);
    assert_findings("wrong tpu-no-node; wrong tpu-type; wrong tpu-bounds; wrong metadata-silent; "
                    "warning hugepages; warning memory; note shm; warning few-cpus");
    assert_fixed("TPU_ACCELERATOR_TYPE=v6e-4 TPU_CHIPS_PER_HOST_BOUNDS=2,2,1 "
                 "TPU_HOST_BOUNDS=1,1,1 TPU_WORKER_ID=0 TPU_WORKER_HOSTNAMES=localhost "
                 "TPU_SKIP_MDS_QUERY=1");
    assert_string_equal(finding("tpu-type")->text, "TPU_ACCELERATOR_TYPE is 'v5litepod-4', but "
                                                   "the chips on the PCI bus are v6e");
    fg_error err = {0};
    fg_host_close(host); /* the number of chips is that of the bus */
    machine_file(&m, "/proc/self/environ", "TPU_ACCELERATOR_TYPE=v5litepod-8\n");
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
    assert_string_equal(finding("tpu-type")->command, "export TPU_ACCELERATOR_TYPE=v6e-4");
}

/* The container's limits apply, with cgroups v1 and v2. */
static void limits_of_a_container_count(void **state)
{
    (void)state;
    fg_error err = {0};
    look("laptop");
    fg_host_close(host);
    machine_file(&m, "/sys/fs/cgroup/cpu.max", "350000 100000\n");
    machine_file(&m, "/sys/fs/cgroup/memory.max", "4294967296\n");
    machine_file(&m, "/sys/fs/cgroup/memory.current", "3221225472\n");
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
    const fg_host_info *info = fg_host_info_of(host);
    assert_int_equal(info->cpus, 4);
    assert_true(info->memory_bytes == 4LL << 30);
    assert_true(info->memory_free_bytes == 1LL << 30);
    assert_findings("note tpu-none; warning memory");
    fg_host_close(host);
    machine_file(&m, "/sys/fs/cgroup/memory.current", "1073741824\n"); /* the machine has less */
    machine_file(&m, "/proc/meminfo", "MemTotal: 9437184 kB\nMemAvailable: 2097152 kB\n");
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
    assert_true(fg_host_info_of(host)->memory_bytes == 4LL << 30);
    assert_true(fg_host_info_of(host)->memory_free_bytes == 2LL << 30);
    fg_host_close(host);
    machine_file(&m, "/sys/fs/cgroup/memory.current", "4294967297\n"); /* more than the limit */
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
    assert_true(fg_host_info_of(host)->memory_free_bytes == 0);
    fg_host_close(host);
    machine_file(&m, "/sys/fs/cgroup/memory.current", "1073741824\n");
    machine_file(&m, "/proc/meminfo", ""); /* the limit is known, what is free is not */
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
    assert_true(fg_host_info_of(host)->memory_bytes == 4LL << 30);
    assert_true(fg_host_info_of(host)->memory_free_bytes == -1);
    fg_host_close(host);
    machine_file(&m, "/proc/cpuinfo", "");
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
    assert_int_equal(fg_host_info_of(host)->cpus, 4);
}

/* The largest number of chips of a host. */
static void a_host_of_a_slice_may_have_eight_chips(void **state)
{
    (void)state;
    fg_error err = {0};
    machine_make(&m, fgt_path(fgt_temp_folder(), "eight"));
    machine_file(&m, "/sys/class/dmi/id/product_name", "Google Compute Engine\n");
    for (int i = 0; i < 8; i++) {
        char slot[32], node[32];
        (void)snprintf(slot, sizeof slot, "0000:00:0%d.0", i + 1);
        (void)snprintf(node, sizeof node, "/dev/accel%d", i);
        machine_pci(&m, slot, "0x1ae0", "0x0063", "0x0000");
        machine_file(&m, node, "");
    }
    machine_file(&m, "/computeMetadata/v1/instance/attributes/tpu-env",
                 "ACCELERATOR_TYPE: 'v5litepod-16'\nCHIPS_PER_HOST_BOUNDS: '2,4,1'\n"
                 "HOST_BOUNDS: '2,1,1'\nWORKER_ID: '1'\n");
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
    assert_string_equal(finding("slice-of-hosts")->command,
                        "export TPU_VISIBLE_CHIPS=0,1,2,3,4,5,6,7 "
                        "TPU_CHIPS_PER_PROCESS_BOUNDS=2,4,1 TPU_PROCESS_BOUNDS=1,1,1");
}

/* Units of the mount option. */
static void shared_memory_has_the_size_of_its_mount(void **state)
{
    (void)state;
    static const struct {
        const char *size;
        int64_t bytes;
    } rows[] = {{"8192", 8192}, {"65536k", 64 << 20}, {"96m", 96 << 20}, {"3g", 3LL << 30}};
    look("laptop");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        char mounts[100];
        fg_host_close(host);
        (void)snprintf(mounts, sizeof mounts,
                       "proc /proc proc rw 0 0\nshm /dev/shm tmpfs rw,size=%s 0 0\n", rows[i].size);
        machine_file(&m, "/proc/mounts", mounts);
        fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
        assert_true(fg_host_info_of(host)->shm_bytes == rows[i].bytes);
    }
}

/* Chips that are not on the PCI bus of a container. */
static void metadata_may_name_the_chips(void **state)
{
    (void)state;
    fg_error err = {0};
    machine_make(&m, fgt_path(fgt_temp_folder(), "nodes"));
    machine_file(&m, "/sys/class/dmi/id/product_name", "Google Compute Engine\n");
    machine_file(&m, "/dev/accel0", "");
    machine_file(&m, "/computeMetadata/v1/instance/attributes/tpu-env",
                 "ACCELERATOR_TYPE: 'v4-8'\n");
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
    assert_string_equal(fg_host_info_of(host)->tpu, "v4");
    assert_string_equal(fg_host_info_of(host)->tpu_detected_by, "metadata");
}

/* What the loader, the packer and doctor use: a fraction of a processor is one, a cgroup above the
 * process may have the limit, and version 1 has one folder per controller. */
static void quotas_are_those_of_the_whole_hierarchy(void **state)
{
    (void)state;
    look("laptop");
    assert_true(fgi_memory_bytes(m.root) ==
                (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
    assert_int_equal(fgi_cpu_quota(m.root), 0);
    machine_file(&m, "/proc/self/cgroup", "3:memory:/a\n4:cpu,cpuacct:/a/b\n0::/c/d\n");
    machine_file(&m, "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "600000\n");
    machine_file(&m, "/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
    machine_file(&m, "/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n");
    assert_int_equal(fgi_cpu_quota(m.root), 6);
    machine_file(&m, "/sys/fs/cgroup/c/cpu.max", "30000 100000\n");
    machine_file(&m, "/sys/fs/cgroup/c/d/cpu.max", "max 100000\n");
    assert_int_equal(fgi_cpu_quota(m.root), 1);
    machine_file(&m, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1048576\n");
    assert_true(fgi_memory_bytes(m.root) == 1 << 20);
    machine_file(&m, "/sys/fs/cgroup/memory/a/memory.max", "max\n");
    assert_true(fgi_memory_bytes(m.root) == 1 << 20);
    machine_file(&m, "/sys/fs/cgroup/c/memory.max", "65536\n");
    machine_file(&m, "/sys/fs/cgroup/c/memory.limit_in_bytes", "4096\n"); /* of version 1 */
    assert_true(fgi_memory_bytes(m.root) == 1 << 16);
    machine_file(&m, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "8192\n");
    assert_true(fgi_memory_bytes(m.root) == 1 << 13);
    assert_true(fgi_cpu_count() <= fgi_cpu_affinity());
}

/* As many as the process may use, which its own affinity limits. */
static void processors_are_those_of_the_process(void **state)
{
    cpu_set_t allowed, one;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    assert_int_equal(fgi_cpu_affinity(), CPU_COUNT(&allowed));
    int first = 0;
    while (!CPU_ISSET(first, &allowed))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    const int limited = fgi_cpu_affinity();
    assert_int_equal(sched_setaffinity(0, sizeof allowed, &allowed), 0);
    assert_int_equal(limited, 1);
}

/* Rounded to whole processors, the least of all. */
static void quotas_are_rounded(void **state)
{
    (void)state;
    static const struct {
        const char *max;
        int cpus;
    } quotas[] = {{"1 100000", 1},      {"149999 100000", 1}, {"150000 100000", 2},
                  {"249999 100000", 2}, {"250000 100000", 3}, {"max 100000", 6},
                  {"100000 0", 6},      {"700000 100000", 6}, {"600000 100000", 6}};
    look("laptop");
    machine_file(&m, "/proc/self/cgroup", "0::/c\n");
    machine_file(&m, "/sys/fs/cgroup/cpu.max", "600000 100000");
    for (size_t i = 0; i < sizeof quotas / sizeof quotas[0]; i++) {
        machine_file(&m, "/sys/fs/cgroup/c/cpu.max", quotas[i].max);
        if (fgi_cpu_quota(m.root) != quotas[i].cpus)
            fail_msg("%s: %d", quotas[i].max, fgi_cpu_quota(m.root));
    }
    machine_file(&m, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");
    machine_file(&m, "/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    assert_int_equal(fgi_cpu_quota(m.root), 4);
    machine_file(&m, "/proc/self/cgroup", "1:name=systemd:/c\n4:cpuset:/c\n");
    machine_file(&m, "/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "100000\n");
    machine_file(&m, "/sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
    assert_int_equal(fgi_cpu_quota(m.root), 4); /* of another controller */
}

static void left_lock_is_a_note(void **state)
{
    (void)state;
    fg_error err = {0};
    look("laptop");
    fg_host_close(host);
    machine_file(&m, "/tmp/libtpu_lockfile", "");
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
    assert_findings("note tpu-none; note tpu-stale-lock");
    struct stat file;
    char locks[100];
    fg_host_close(host); /* locked, but without a chip this is no obstacle */
    assert_int_equal(stat(fgt_path(m.root, "/tmp/libtpu_lockfile"), &file), 0);
    (void)snprintf(locks, sizeof locks, "1: POSIX  ADVISORY  WRITE 5000812 00:00:%lu 0 EOF\n",
                   (unsigned long)file.st_ino);
    machine_file(&m, "/proc/locks", locks);
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
    assert_findings("note tpu-none; note tpu-held");
}

/* One chip without a node, and one device that is not known, then two. */
static void devices_are_counted(void **state)
{
    static const char *const says[][2] = {
        {"1 TPU chip is on the PCI bus, but neither /dev/accelN nor /dev/vfio/N exists",
         "1 PCI device made by Google has an unknown device id (0x0056)"},
        {"2 TPU chips are on the PCI bus, but neither /dev/accelN nor /dev/vfio/N exists",
         "2 PCI devices made by Google have an unknown device id (0x0056)"}};
    (void)state;
    fg_error err = {0};
    look("laptop");
    for (int i = 0; i < 2; i++) {
        char chip[16], other[16];
        (void)snprintf(chip, sizeof chip, "0000:00:1%d.0", i);
        (void)snprintf(other, sizeof other, "0000:00:2%d.0", i);
        machine_pci(&m, chip, "0x1ae0\n", "0x0063\n", "");
        machine_pci(&m, other, "0x1ae0\n", "0x0056\n", "");
        fg_host_close(host);
        fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
        assert_string_equal(finding("tpu-no-node")->text, says[i][0]);
        assert_string_equal(finding("tpu-unknown")->text, says[i][1]);
    }
}

static void chips_locked_memory_is_looked_at(void **state)
{
    (void)state;
    fg_error err = {0};
    look("colab_v5e-1");
    fg_host_close(host);
    machine_file(&m, "/proc/self/limits",
                 "Max locked memory         8388608              8388608              bytes\n");
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
    assert_findings("warning hugepages; warning locked-memory; warning few-cpus");
    fg_host_close(host);
    machine_file(&m, "/proc/self/status", "Name:\tx\nCapEff:\t0000003fffffffff\n");
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
    assert_findings("warning hugepages; warning few-cpus");
    fg_host_close(host);
    machine_file(&m, "/proc/cpuinfo", "processor\t: 0\nprocessor\t: 1\nprocessor\t: 2\n");
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
    assert_findings("warning hugepages; warning few-cpus");
    assert_string_equal(finding("few-cpus")->text,
                        "3 CPUs feed 1 chip: decode and resize images in advance");
    fg_host_close(host);
    machine_file(&m, "/proc/cpuinfo",
                 "processor\t: 0\nprocessor\t: 1\nprocessor\t: 2\nprocessor\t: 3\n");
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
    assert_findings("warning hugepages");
}

/* After a file of the machine has another content. */
static void look_again(const char *path, const char *content)
{
    fg_error err = {0};
    machine_file(&m, path, content);
    fg_host_close(host);
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
}

/* A laptop with that many chips on the PCI bus. */
static void look_at_chips(int count, const char *device, const char *subsystem,
                          const char *variables)
{
    look("laptop");
    for (int i = 0; i < count; i++) {
        char slot[32];
        (void)snprintf(slot, sizeof slot, "0000:00:1%d.0", i);
        machine_pci(&m, slot, "0x1ae0\n", device, subsystem);
    }
    look_again("/proc/self/environ", variables);
}

static bool has_finding(const char *code)
{
    for (size_t i = 0; i < fg_host_finding_count(host); i++)
        if (strcmp(fg_host_finding_at(host, i)->code, code) == 0)
            return true;
    return false;
}

/* The type of four chips counts cores up to v5p and for 7x. Newer generations need huge pages. */
static void each_generation_has_its_type(void **state)
{
    static const struct {
        const char *device, *subsystem, *type;
        bool needs_pages;
    } rows[] = {
        {"0x0027\n", "0x004e\n", "v2-8", false}, {"0x0027\n", "0x004f\n", "v3-8", false},
        {"0x005e\n", "", "v4-8", false},         {"0x0062\n", "", "v5p-8", true},
        {"0x0063\n", "", "v5litepod-4", true},   {"0x006f\n", "", "v6e-4", true},
        {"0x0076\n", "", "tpu7x-8", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char command[64];
        look_at_chips(4, rows[i].device, rows[i].subsystem, "TPU_ACCELERATOR_TYPE=v9-4\n");
        (void)snprintf(command, sizeof command, "export TPU_ACCELERATOR_TYPE=%s", rows[i].type);
        assert_string_equal(finding("tpu-type")->command, command);
        assert_int_equal(has_finding("hugepages"), rows[i].needs_pages);
        fg_host_close(host);
        machine_fini(&m);
    }
    look("laptop");
}

static void bounds_are_those_of_the_chips(void **state)
{
    static const char *const bounds[9] = {[1] = "1,1,1", [4] = "2,2,1", [8] = "2,4,1"};
    (void)state;
    for (int chips = 1; chips <= 8; chips++) {
        char command[64];
        look_at_chips(chips, "0x0063\n", "", "TPU_CHIPS_PER_HOST_BOUNDS=1,3,3\n");
        assert_int_equal(has_finding("tpu-bounds"), bounds[chips] != NULL);
        (void)snprintf(command, sizeof command, "export TPU_CHIPS_PER_HOST_BOUNDS=%s",
                       bounds[chips] != NULL ? bounds[chips] : "");
        if (bounds[chips] != NULL)
            assert_string_equal(finding("tpu-bounds")->command, command);
        fg_host_close(host);
        machine_fini(&m);
    }
    look("laptop");
}

/* 2 GiB of memory are enough, and 1 GiB that may be locked; bit 14 of the capabilities lifts that
 * limit. */
static void limits_of_the_host_are_inclusive(void **state)
{
    static const struct {
        const char *path, *content, *code;
        bool is_found;
    } rows[] = {
        {"/proc/meminfo", "MemTotal: 4194304 kB\nMemAvailable: 2097152 kB\n", "memory", false},
        {"/proc/meminfo", "MemTotal: 4194304 kB\nMemAvailable: 2097151 kB\n", "memory", true},
        {"/proc/meminfo", "MemTotal: 4194304 kB\nMemAvailable: 0 kB\n", "memory", true},
        {"/proc/self/limits", "Max locked memory         1073741824    1073741824    bytes\n",
         "locked-memory", false},
        {"/proc/self/limits", "Max locked memory         1073741823    1073741823    bytes\n",
         "locked-memory", true},
        {"/proc/self/status", "CapEff:\t0000000000002000\n", "locked-memory", true},
        {"/proc/self/status", "CapEff:\t0000000000008000\n", "locked-memory", true},
        {"/proc/self/status", "CapEff:\t0000000000004000\n", "locked-memory", false},
    };
    (void)state;
    look("colab_v5e-1");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        look_again(rows[i].path, rows[i].content);
        if (has_finding(rows[i].code) != rows[i].is_found)
            fail_msg("row %zu", i);
    }
}

static void stale_variables_and_missing_tpus(void **state)
{
    (void)state;
    look("laptop");
    look_again("/proc/self/environ", "ISTPUVM=1\n");
    assert_findings("wrong tpu-missing");
    look_again("/proc/self/environ", "COLAB_TPU_ADDR=10.0.0.2:8470\n");
    assert_findings("wrong tpu-missing; note stale-variable");
    look_again("/proc/self/environ", "TPU_PROCESS_PORT=8476\n");
    assert_findings("note tpu-none; warning stale-variable");
    assert_string_equal(finding("stale-variable")->command, "unset TPU_PROCESS_PORT");
}

static fg_status open_and_close(void *self, fg_error *err)
{
    fg_host *h;
    const fg_status status = fg_host_open(&(fg_host_options){.root = self}, &h, err);
    if (status == FG_OK)
        fg_host_close(h);
    return status;
}

static void memory_may_fail(void **state)
{
    (void)state;
    look("laptop");
    fgt_fault_loop(open_and_close, m.root);
}

static void this_machine_can_be_looked_at(void **state)
{
    (void)state;
    fg_error err = {0};
    fgt_ok(fg_host_open(&(fg_host_options){.no_network = true}, &host, &err));
    const fg_host_info *info = fg_host_info_of(host);
    assert_true(info->cpus > 0 && info->memory_bytes > 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(each_generation_has_its_type, leave),
    cmocka_unit_test_teardown(bounds_are_those_of_the_chips, leave),
    cmocka_unit_test_teardown(limits_of_the_host_are_inclusive, leave),
    cmocka_unit_test_teardown(stale_variables_and_missing_tpus, leave),
    cmocka_unit_test_teardown(kaggle_v3_8, leave),
    cmocka_unit_test_teardown(kaggle_v5e_8, leave),
    cmocka_unit_test_teardown(kaggle_that_gave_no_tpu, leave),
    cmocka_unit_test_teardown(colab_v5e_1, leave),
    cmocka_unit_test_teardown(pod_of_v4, leave),
    cmocka_unit_test_teardown(one_host_of_a_pod_by_its_own_chips, leave),
    cmocka_unit_test_teardown(a_variable_goes_before_the_metadata, leave),
    cmocka_unit_test_teardown(pod_of_v5p, leave),
    cmocka_unit_test_teardown(held_v5p, leave),
    cmocka_unit_test_teardown(laptop, leave),
    cmocka_unit_test_teardown(pods_of_kubernetes, leave),
    cmocka_unit_test_teardown(broken_container, leave),
    cmocka_unit_test_teardown(limits_of_a_container_count, leave),
    cmocka_unit_test_teardown(shared_memory_has_the_size_of_its_mount, leave),
    cmocka_unit_test_teardown(metadata_may_name_the_chips, leave),
    cmocka_unit_test_teardown(a_host_of_a_slice_may_have_eight_chips, leave),
    cmocka_unit_test_teardown(quotas_are_those_of_the_whole_hierarchy, leave),
    cmocka_unit_test_teardown(quotas_are_rounded, leave),
    cmocka_unit_test(processors_are_those_of_the_process),
    cmocka_unit_test_teardown(left_lock_is_a_note, leave),
    cmocka_unit_test_teardown(devices_are_counted, leave),
    cmocka_unit_test_teardown(chips_locked_memory_is_looked_at, leave),
    cmocka_unit_test_teardown(memory_may_fail, leave),
    cmocka_unit_test_teardown(this_machine_can_be_looked_at, leave),
};
FGT_MAIN(tests)
