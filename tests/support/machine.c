/* machine.c - sets up a machine in a folder.
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

void machine_load(machine *m, const char *folder, const char *name)
{
    char path[FGI_HOST_PATH_MAX], *begin = NULL;
    const char *file = NULL;
    fg_error err = {0};
    size_t size;
    machine_make(m, folder);
    (void)snprintf(path, sizeof path, FGT_SOURCE_DIR "/tests/golden/hosts/%s.txt", name);
    fgt_ok(fgi_file_read(path, 1 << 20, &m->text, &size, &err));
    for (char *line = m->text, *next; line; line = next) {
        next = strchr(line, '\n');
        const bool is_head = strncmp(line, "== ", 3) == 0 || strncmp(line, "-> ", 3) == 0 ||
                             strncmp(line, "$ ", 2) == 0;
        if (file && (is_head || !next)) {
            machine_write(m, file, begin, (size_t)((is_head ? line : line + strlen(line)) - begin));
            file = NULL;
        }
        if (next && is_head)
            *next = '\0';
        next = next ? next + 1 : NULL;
        if (strncmp(line, "== ", 3) == 0) {
            file = line + 3;
            begin = next;
        } else if (strncmp(line, "-> ", 3) == 0) {
            char *target = strchr(line + 3, ' ');
            assert_non_null(target);
            *target = '\0';
            machine_link(m, line + 3, target + 1);
        } else if (strncmp(line, "$ ", 2) == 0) {
            machine_set(m, line + 2);
        }
    }
}

void machine_fini(machine *m) { fgi_free(m->text); }
