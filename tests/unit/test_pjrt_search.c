/* test_pjrt_search.c - where plugins are searched for, and errors for files that are not plugins.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "pjrt/plugin.h"

static char root[512]; /* a simulated machine */

static void write_at(const char *path, const void *data, size_t size)
{
    char folder[1024];
    fg_error err = {0};
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    fgt_ok(fgi_folder_make(folder, &err));
    fgt_write(path, data, size);
}

/* A file under the test's root; the path is in one of a few rotating buffers. */
static const char *make(const char *name)
{
    const char *path = fgt_path(root, name);
    write_at(path, "x", 1);
    return path;
}

static int make_machine(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "%s", fgt_temp_folder());
    static const char *const unset[] = {"FULGURITE_PLUGIN", "FULGURITE_HOME", "VIRTUAL_ENV",
                                        "CONDA_PREFIX", "PYENV_VERSION"};
    for (int i = 0; i < 5; i++)
        unsetenv(unset[i]);
    setenv("XDG_DATA_HOME", fgt_path(root, "data"), 1);
    setenv("HOME", fgt_path(root, "home"), 1);
    setenv("PATH", fgt_path(root, "python/bin"), 1);
    return 0;
}

/* ---- search order ---------------------------------------------------------------------------- */

static size_t search(const char *accelerator, const fg_client_options *opt,
                     fg_plugin_candidate out[40])
{
    fg_error err = {0};
    size_t count;
    fg_client_options options = opt != NULL ? *opt : (fg_client_options){0};
    options.accelerator = accelerator;
    fgt_ok(fg_plugin_search(&options, out, 40, &count, &err));
    assert_true(count <= 40);
    return count;
}

static void assert_place(const fg_plugin_candidate *c, const char *source, const char *path,
                         bool exists)
{
    if (strcmp(c->source, source) != 0 || strcmp(c->path, path) != 0 || c->exists != exists)
        fail_msg("%s: %s (%d), expected %s: %s (%d)", c->source, c->path, c->exists, source, path,
                 exists);
}

static void order_is_option_environment_setup_python(void **state)
{
    (void)state;
    fg_plugin_candidate c[40];
    static const char in_site[] = "libtpu/libtpu.so";
    char name[256], source[48], venv[600];
    make("data/fulgurite/plugins/tpu/libtpu/libtpu.so");
    make("venv/lib/python3.12/site-packages/libtpu/libtpu.so");
    make("python/bin/python3");
    make("python/lib/python3.9/dist-packages/other");
    make("python/lib/python3.11/dist-packages/libtpu/libtpu.so");
    snprintf(venv, sizeof venv, "%s/venv", root);
    setenv("VIRTUAL_ENV", venv, 1);
    setenv("FULGURITE_PLUGIN", "/nowhere/libtpu-new.so", 1);
    const fg_client_options opt = {.plugin_path = "/mine.so"};
    const size_t count = search("tpu", &opt, c);
    unsetenv("VIRTUAL_ENV");
    unsetenv("FULGURITE_PLUGIN");
    assert_int_equal(count, 7);
    assert_place(&c[0], "option", "/mine.so", false);
    assert_place(&c[1], "FULGURITE_PLUGIN", "/nowhere/libtpu-new.so", false);
    snprintf(name, sizeof name, "data/fulgurite/plugins/tpu/%s", in_site);
    assert_place(&c[2], "fulgurite setup", fgt_path(root, name), true);
    snprintf(source, sizeof source, "python: %.38s", venv);
    snprintf(name, sizeof name, "venv/lib/python3.12/site-packages/%s", in_site);
    assert_place(&c[3], source, fgt_path(root, name), true);
    /* of one Python installation the newest version comes first */
    snprintf(name, sizeof name, "python/lib/python3.11/dist-packages/%s", in_site);
    assert_string_equal(c[4].path, fgt_path(root, name));
    assert_true(c[4].exists);
    snprintf(name, sizeof name, "python/lib/python3.9/dist-packages/%s", in_site);
    assert_string_equal(c[5].path, fgt_path(root, name));
    assert_false(c[5].exists);
    /* pip install --user, which has nothing here, is named by its pattern */
    snprintf(name, sizeof name, "home/.local/lib/python3*/site-packages/%s", in_site);
    assert_string_equal(c[6].path, fgt_path(root, name));
}

static void same_python_is_looked_at_once(void **state)
{
    (void)state;
    fg_plugin_candidate c[40];
    char prefix[600];
    make("python/bin/python3");
    snprintf(prefix, sizeof prefix, "%s/python", root);
    const size_t plain = search("cpu", NULL, c);
    setenv("VIRTUAL_ENV", prefix, 1);
    assert_int_equal(search("cpu", NULL, c), plain);
    unsetenv("VIRTUAL_ENV");
}

static void pyenv_is_seen_through(void **state)
{
    (void)state;
    fg_plugin_candidate c[40];
    const char *const path = getenv("PATH");
    char before[2048];
    snprintf(before, sizeof before, "%s", path);
    make("pyenv/shims/python3");
    make("pyenv/versions/3.13.1/lib/python3.13/site-packages/libtpu/libtpu.so");
    write_at(fgt_path(root, "pyenv/version"), "3.13.1\n", 7);
    setenv("PATH", fgt_path(root, "pyenv/shims"), 1);
    search("tpu", NULL, c);
    setenv("PYENV_VERSION", "3.9.9", 1); /* missing: the shims' folder is reported */
    fg_plugin_candidate other[40];
    search("tpu", NULL, other);
    unsetenv("PYENV_VERSION");
    setenv("PATH", before, 1);
    assert_string_equal(
        c[1].path,
        fgt_path(root, "pyenv/versions/3.13.1/lib/python3.13/site-packages/libtpu/libtpu.so"));
    assert_true(c[1].exists);
    assert_string_equal(other[1].path,
                        fgt_path(root, "pyenv/lib/python3*/site-packages/libtpu/libtpu.so"));
}

static void prefix_is_what_bin_and_lib_are_in(void **state)
{
    (void)state;
    static const struct {
        const char *folder, *prefix; /* NULL: no installation */
    } cases[] = {
        {"/venv/bin", "/venv"},     {"/usr/lib/x86_64-linux-gnu", "/usr"},
        {"/opt/a/lib64", "/opt/a"}, {"/src/fulgurite/build", NULL},
        {"/src/library/x", NULL},   {"/bin", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char folder[FGI_PATH_MAX];
        snprintf(folder, sizeof folder, "%s", cases[i].folder);
        assert_int_equal(fgi_prefix_of(folder), cases[i].prefix != NULL);
        if (cases[i].prefix)
            assert_string_equal(folder, cases[i].prefix);
    }
}

static void cuda_has_two_versions(void **state)
{
    (void)state;
    fg_plugin_candidate c[40];
    setenv("FULGURITE_HOME", fgt_path(root, "own"), 1);
    search("cuda", NULL, c);
    unsetenv("FULGURITE_HOME");
    assert_place(&c[0], "fulgurite setup",
                 fgt_path(root, "own/plugins/cuda13/jax_plugins/xla_cuda13/xla_cuda_plugin.so"),
                 false);
    assert_place(&c[1], "fulgurite setup",
                 fgt_path(root, "own/plugins/cuda12/jax_plugins/xla_cuda12/xla_cuda_plugin.so"),
                 false);
}

static void variable_is_for_what_its_name_says(void **state)
{
    (void)state;
    fg_plugin_candidate c[40];
    setenv("FULGURITE_PLUGIN", "/opt/xla_cuda_plugin.so", 1);
    search("cuda", NULL, c);
    assert_string_equal(c[0].source, "FULGURITE_PLUGIN");
    search("tpu", NULL, c);
    assert_string_equal(c[0].source, "fulgurite setup");
    setenv("FULGURITE_PLUGIN", "/opt/mine.so", 1);
    search("tpu", NULL, c);
    assert_string_equal(c[0].source, "FULGURITE_PLUGIN");
    unsetenv("FULGURITE_PLUGIN");
}

static void search_counts_beyond_its_room(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_plugin_candidate c[40], two[2];
    size_t count;
    const size_t all = search("cuda", NULL, c);
    fg_client_options options = {.accelerator = "cuda"};
    fgt_ok(fg_plugin_search(&options, two, 2, &count, &err));
    assert_int_equal(count, all);
    assert_string_equal(two[1].path, c[1].path);
    options.accelerator = "abacus";
    assert_int_equal(fg_plugin_search(&options, two, 2, &count, &err), FG_EINVAL);
    assert_string_equal(err.message, "unknown accelerator 'abacus': expected cpu, cuda or tpu");
    assert_int_equal(fg_plugin_search(NULL, two, 2, &count, &err), FG_EINVAL);
    assert_string_equal(err.message, "unknown accelerator '(none)': expected cpu, cuda or tpu");
}

static void nothing_found_says_where_and_what_to_type(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *client;
    setenv("FULGURITE_HOME", fgt_path(root, "empty"), 1);
    const fg_status status =
        fg_client_open(&(fg_client_options){.accelerator = "cuda"}, &client, &err);
    unsetenv("FULGURITE_HOME");
    assert_int_equal(status, FG_ENOTFOUND);
    assert_null(client);
    assert_non_null(strstr(err.message, "no PJRT plugin for 'cuda' is installed"));
    assert_non_null(strstr(err.message, fgi_machine_has("", "cuda")
                                            ? "type: fulgurite setup cuda13\nlooked in\n"
                                            : "use accelerator=cpu"));
    assert_non_null(strstr(err.message, "\n  fulgurite setup: "));
}

static void options_are_checked(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *client;
    assert_int_equal(fg_client_open(&(fg_client_options){.accelerator = "gpu"}, &client, &err),
                     FG_EINVAL);
    assert_string_equal(err.message, "unknown accelerator 'gpu': expected auto, cpu, cuda or tpu");
    assert_int_equal(fg_client_open(&(fg_client_options){.cpu_devices = -2}, &client, &err),
                     FG_EINVAL);
    assert_int_equal(fg_client_open(&(fg_client_options){.memory_fraction = 2}, &client, &err),
                     FG_EINVAL);
}

/* ---- the machine ----------------------------------------------------------------------------- */

static void machine_reports_what_it_holds(void **state)
{
    (void)state;
    char machine[600];
    snprintf(machine, sizeof machine, "%s/machine", root);
    assert_true(fgi_machine_has(machine, "cpu"));
    assert_false(fgi_machine_has(machine, "tpu"));
    assert_false(fgi_machine_has(machine, "cuda"));
    /* Google's network card is not a TPU */
    write_at(fgt_path(machine, "sys/bus/pci/devices/0000:00:04.0/vendor"), "0x1ae0\n", 7);
    write_at(fgt_path(machine, "sys/bus/pci/devices/0000:00:04.0/device"), "0x0042\n", 7);
    assert_false(fgi_machine_has(machine, "tpu"));
    write_at(fgt_path(machine, "sys/bus/pci/devices/0000:00:05.0/vendor"), "0x1ae0\n", 7);
    write_at(fgt_path(machine, "sys/bus/pci/devices/0000:00:05.0/device"), "0x0063\n", 7);
    assert_true(fgi_machine_has(machine, "tpu"));
    write_at(fgt_path(machine, "dev/nvidiactl"), "", 0);
    assert_true(fgi_machine_has(machine, "cuda"));
}

/* ---- files that are not plugins -------------------------------------------------------------- */

static Elf64_Ehdr good_header(void)
{
    Elf64_Ehdr h = {0};
    memcpy(h.e_ident, ELFMAG, SELFMAG);
    h.e_ident[EI_CLASS] = ELFCLASS64;
    h.e_ident[EI_DATA] = ELFDATA2LSB;
    h.e_type = ET_DYN;
#if defined(__aarch64__)
    h.e_machine = EM_AARCH64;
#else
    h.e_machine = EM_X86_64;
#endif
    return h;
}

/* Checks a file of these bytes: the status is FG_EPLUGIN, the message holds `says` and the path. */
static void assert_refused(const void *data, size_t size, const char *says)
{
    fg_error err = {0};
    const char *path = fgt_path(root, "plugin.so");
    fgt_write(path, data, size);
    assert_int_equal(fgi_plugin_check_file(path, &err), FG_EPLUGIN);
    if (!strstr(err.message, says) || !strstr(err.message, path))
        fail_msg("'%s' does not say '%s'", err.message, says);
}

static void bad_files_are_reported_apart(void **state)
{
    (void)state;
    fg_error err = {0};
    assert_int_equal(fgi_plugin_check_file(fgt_path(root, "no/such.so"), &err), FG_EPLUGIN);
    assert_non_null(strstr(err.message, "does not exist"));
    assert_int_equal(fgi_plugin_check_file(root, &err), FG_EPLUGIN);
    assert_non_null(strstr(err.message, "is not a regular file"));
    assert_refused("", 0, "is truncated: 0 bytes");
    assert_refused("\177ELF\2", 5, "is truncated: 5 bytes");
    assert_refused("<html>404 not found</html>", 26, "is not a shared library");
    Elf64_Ehdr h = good_header();
    h.e_machine = EM_PPC64;
    assert_refused(&h, sizeof h, "is built for ppc64, this machine is ");
    h = good_header();
    h.e_ident[EI_CLASS] = ELFCLASS32;
    assert_refused(&h, sizeof h, "is built for another architecture");
    h = good_header();
    h.e_type = ET_EXEC;
    assert_refused(&h, sizeof h, "not a shared library");
    h = good_header();
    h.e_shoff = 100000;
    h.e_shnum = 3;
    h.e_shentsize = 64;
    assert_refused(&h, sizeof h, "is truncated: it has 64 bytes, but its header requires 100192");
    h.e_shoff = UINT64_MAX - 100; /* whose end would wrap around to a small number */
    assert_refused(&h, sizeof h, "is truncated: it has 64 bytes");
}

/* Without section headers, the loaded segments are used. */
static void stripped_file_is_measured_by_its_segments(void **state)
{
    (void)state;
    struct {
        Elf64_Ehdr h;
        Elf64_Phdr p;
    } file = {good_header(), {.p_type = PT_LOAD, .p_offset = 4096, .p_filesz = 1000}};
    file.h.e_phoff = sizeof file.h;
    file.h.e_phnum = 1;
    file.h.e_phentsize = sizeof file.p;
    assert_refused(&file, sizeof file, "its header requires 5096");
}

static void header_alone_cannot_be_loaded(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_client *client;
    Elf64_Ehdr h = good_header();
    const char *path = fgt_path(root, "hollow.so");
    fgt_write(path, &h, sizeof h);
    assert_int_equal(fg_client_open(&(fg_client_options){.plugin_path = path}, &client, &err),
                     FG_EPLUGIN);
    assert_non_null(strstr(err.message, "cannot be loaded: "));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(order_is_option_environment_setup_python),
    cmocka_unit_test(same_python_is_looked_at_once),
    cmocka_unit_test(pyenv_is_seen_through),
    cmocka_unit_test(prefix_is_what_bin_and_lib_are_in),
    cmocka_unit_test(cuda_has_two_versions),
    cmocka_unit_test(variable_is_for_what_its_name_says),
    cmocka_unit_test(search_counts_beyond_its_room),
    cmocka_unit_test(nothing_found_says_where_and_what_to_type),
    cmocka_unit_test(options_are_checked),
    cmocka_unit_test(machine_reports_what_it_holds),
    cmocka_unit_test(bad_files_are_reported_apart),
    cmocka_unit_test(stripped_file_is_measured_by_its_segments),
    cmocka_unit_test(header_alone_cannot_be_loaded),
};

int main(void) { return cmocka_run_group_tests(tests, make_machine, NULL) == 0 ? 0 : 1; }
