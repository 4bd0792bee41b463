/* machine.c - simulates a machine in a folder.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

static void make_parent(const char *path)
{
    fg_error err = {0};
    char *folder = fgi_path_parent(path);
    assert_non_null(folder);
    fgt_ok(fgi_folder_make(folder, &err));
    fgi_free(folder);
}

void machine_make(machine *m, const char *folder)
{
    *m = (machine){0};
    (void)snprintf(m->root, sizeof m->root, "%s", folder);
    m->host = (fgi_host){.root = m->root, .environment = m->environment};
}

static void machine_write(const machine *m, const char *path, const char *content, size_t size)
{
    char whole[FGI_HOST_PATH_MAX];
    fgi_host_path(&m->host, path, whole);
    make_parent(whole);
    fgt_write(whole, content, size);
}

void machine_file(const machine *m, const char *path, const char *content)
{
    machine_write(m, path, content, strlen(content));
}

void machine_link(const machine *m, const char *path, const char *target)
{
    char whole[FGI_HOST_PATH_MAX];
    fgi_host_path(&m->host, path, whole);
    make_parent(whole);
    assert_int_equal(symlink(target, whole), 0);
}

void machine_pci(const machine *m, const char *slot, const char *vendor, const char *device,
                 const char *subsystem)
{
    static const char *const leaves[] = {"vendor", "device", "subsystem_device"};
    const char *const values[] = {vendor, device, subsystem};
    char path[128];
    for (int i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", slot, leaves[i]);
        if (*values[i])
            machine_file(m, path, values[i]);
    }
}

void machine_set(machine *m, const char *variable)
{
    int i = 0;
    while (m->environment[i])
        i++;
    assert_true(i < MACHINE_VARIABLES);
    m->environment[i] = variable;
}

/* "0000:00:04.0 0x1ae0 0x0063 0x0000 3": a PCI device; its IOMMU group, or "-" for none. */
static void load_device(const machine *m, char *line)
{
    char *word[5], path[128], group[64];
    for (int i = 0; i < 5; i++)
        assert_non_null(word[i] = strsep(&line, " "));
    machine_pci(m, word[0], word[1], word[2], word[3]);
    (void)snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/iommu_group", word[0]);
    (void)snprintf(group, sizeof group, "../../../kernel/iommu_groups/%s", word[4]);
    if (strcmp(word[4], "-") != 0)
        machine_link(m, path, group);
}

/* A line outside file contents; true if it starts a file. */
static bool load_line(machine *m, char *line)
{
    char *rest = line + 3, *target;
    switch (line[0]) {
    case '=': return true;
    case '-':
        assert_non_null(target = strchr(rest, ' '));
        *target = '\0';
        machine_link(m, rest, target + 1);
        break;
    case '$': machine_set(m, line + 2); break;
    case '&': load_device(m, line + 2); break;
    default: break;
    }
    return false;
}

static bool is_head(const char *line)
{
    return strncmp(line, "== ", 3) == 0 || strncmp(line, "-> ", 3) == 0 ||
           strncmp(line, "$ ", 2) == 0 || strncmp(line, "& ", 2) == 0;
}

/* The variables as the kernel shows them in /proc/self/environ. */
static void write_environment(const machine *m)
{
    char text[8192];
    size_t size = 0;
    for (int i = 0; m->environment[i]; i++) {
        const size_t length = strlen(m->environment[i]) + 1;
        assert_true(size + length <= sizeof text);
        memcpy(text + size, m->environment[i], length);
        size += length;
    }
    machine_write(m, "/proc/self/environ", text, size);
}

void machine_load(machine *m, const char *folder, const char *name)
{
    char path[FGI_HOST_PATH_MAX], *file = NULL, *begin = NULL;
    fg_error err = {0};
    size_t size;
    machine_make(m, folder);
    (void)snprintf(path, sizeof path, FGT_SOURCE_DIR "/tests/golden/hosts/%s.txt", name);
    fgt_ok(fgi_file_read(path, 1 << 20, &m->text, &size, &err));
    char *line = m->text;
    while (line < m->text + size) {
        char *end = strchr(line, '\n');
        assert_non_null(end);
        if (file && is_head(line))
            machine_write(m, file, begin, (size_t)(line - begin));
        if (is_head(line) || !file) {
            *end = '\0';
            file = load_line(m, line) ? line + 3 : NULL;
            begin = end + 1;
        }
        line = end + 1;
    }
    if (file)
        machine_write(m, file, begin, (size_t)(line - begin));
    write_environment(m);
}

void machine_fini(machine *m)
{
    fgi_free(m->text);
    m->text = NULL;
}
