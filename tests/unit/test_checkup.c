/* test_checkup.c - what fulgurite doctor finds: where it runs, how fast data can be read, which
 * programs are cached.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/host.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/file.h"
#include "golden.h"
#include "machine.h"
#include "checkup.h"
#include "devices.h"
#include "server.h"

/* By the variables, the maker of the machine, and whether there are chips. */
static const struct {
    const char *machine, *variables, *product, *line;
} places_of[] = {
    {"colab_v5e-1", "KUBERNETES_SERVICE_HOST=x\n", "Google", "Google Kubernetes Engine pod"},
    {"colab_v5e-1", "X=x\n", "Google", "Google Cloud TPU VM"},
    {"colab_v5e-1", "COLAB_BACKEND_VERSION=x\n", "Google", "Colab notebook"},
    {"colab_v5e-1", "X=x\n", "Goggle", "no cloud or notebook service detected"},
    {"laptop", "KUBERNETES_SERVICE_HOST=x\n", "x", "no cloud or notebook service detected"},
    {"laptop", "X=x\n", "Google Compute Engine", "Google Cloud virtual machine"},
    {"laptop", "KAGGLE_URL_BASE=x\n", "x", "Kaggle notebook"},
};

/* What is reported about a machine; the caller frees it. */
static char *report_of(fg_host *host, const checkup_options *options)
{
    static checkup d;
    fgi_buf text = {0};
    d = (checkup){.host = host};
    checkup_run(&d, options);
    checkup_print(&text, &d);
    return fgi_buf_take(&text);
}

static void places(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof places_of / sizeof places_of[0]; i++) {
        fg_error err = {0};
        char line[80];
        machine m;
        fg_host *host;
        machine_load(&m, fgt_temp_folder(), places_of[i].machine);
        machine_file(&m, "/proc/self/environ", places_of[i].variables);
        machine_file(&m, "/sys/class/dmi/id/product_name", places_of[i].product);
        fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
        char *text = report_of(host, &(checkup_options){.host_only = true});
        (void)snprintf(line, sizeof line, "platform  %s\n", places_of[i].line);
        if (strncmp(text, line, strlen(line)) != 0)
            fail_msg("row %zu: %s", i, text);
        fgi_free(text);
        fg_host_close(host);
        machine_fini(&m);
    }
}

static void the_speed_of_data_is_shown(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_host *host;
    fgt_ok(fg_host_open(&(fg_host_options){.no_network = true}, &host, &err));
    const char *folder = fgt_temp_folder();
    fgt_write(fgt_path(folder, "a"), "one", 3);
    fgt_write(fgt_path(folder, "b"), "two", 3);
    char *text = report_of(host, &(checkup_options){.data = folder, .skip_test = true});
    const char *line = strstr(text, "\ndata      2 files, 6 B in ");
    if (line == NULL || strstr(line, " files/s\n") == NULL)
        fail_msg("%s", text);
    fgi_free(text);
    fg_host_close(host);
}

/* A thousand files of a hundred bytes, some at the depth of six folders, which is not searched, and
 * hidden ones. */
static void many_small_files_are_a_finding(void **state)
{
    static checkup d;
    static const char content[100] = "one";
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    char name[64] = "";
    (void)state;
    fgt_ok(fg_host_open(&(fg_host_options){.no_network = true}, &d.host, &err));
    for (int depth = 0; depth < 6; depth++) {
        for (int i = 0; i < (depth == 0 ? 996 : 1); i++) {
            char file[96];
            (void)snprintf(file, sizeof file, "%s%d", name, i);
            fgt_write(fgt_path(folder, file), content, sizeof content);
        }
        (void)snprintf(name + strlen(name), sizeof name - strlen(name), "deeper/");
        fgt_ok(fgi_folder_make(fgt_path(folder, name), &err));
    }
    fgt_write(fgt_path(folder, ".hidden"), "two", 3);
    d.speed.most_seconds = 600;
    checkup_probe(&d, folder);
    assert_int_equal(d.speed.files, 1000);
    assert_int_equal(d.speed.bytes, 100000);
    const fg_finding *last = &d.findings[d.finding_count - 1];
    assert_string_equal(last->code, "many-files");
    assert_non_null(strstr(last->text, " has many small files (100 bytes each)"));
    d.finding_count = d.text_count = 0;
    d.speed = (checkup_speed){.most_seconds = 600};
    checkup_probe(&d, fgt_path(folder, "deeper"));
    assert_int_equal(d.speed.files, 5);
    assert_int_equal(d.finding_count, 0);
    fg_host_close(d.host);
}

/* Where programs are cached, and whether there is a plugin for anything but the CPU. */
static void a_home_without_plugins(void **state)
{
    static checkup d;
    fg_error err = {0};
    const char *home = fgt_temp_folder();
    char given[512];
    (void)state;
    (void)snprintf(given, sizeof given, "%s", getenv("HOME") != NULL ? getenv("HOME") : "/");
    fgt_ok(fgi_folder_make(fgt_path(home, ".cache/fulgurite/programs/folder"), &err));
    fgt_write(fgt_path(home, ".cache/fulgurite/programs/a"), "four", 4);
    fgt_write(fgt_path(home, ".cache/fulgurite/programs/b"), "three", 5);
    fgt_ok(fg_host_open(&(fg_host_options){.no_network = true}, &d.host, &err));
    assert_int_equal(setenv("HOME", home, 1), 0);
    for (int i = 0; i < 2; i++) {
        d.cache_files = d.cache_bytes = 0;
        assert_int_equal(i == 0 ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", "", 1), 0);
        checkup_probe(&d, NULL);
        assert_string_equal(d.cache, fgt_path(home, ".cache/fulgurite"));
        assert_int_equal(d.cache_files, 2);
        assert_int_equal(d.cache_bytes, 9);
        assert_true(d.cache_is_writable && !d.speed.was_measured);
    }
    assert_int_equal(setenv("HOME", "", 1), 0);
    d.cache[0] = '\0';
    d.finding_count = d.text_count = 0;
    checkup_probe(&d, NULL);
    assert_string_equal(d.cache, "");
    assert_string_equal(d.findings[d.finding_count - 1].code, "no-cache");
    assert_int_equal(setenv("HOME", given, 1), 0);
    fg_host_close(d.host);
}

/* ---- the report ------------------------------------------------------------------------------ */

/* What was found on a machine with nothing unusual. */
static const checkup checkups[] = {
    {.finding_count = 0},
    {.plugins = {{.accelerator = "tpu"},
                 {.accelerator = "cuda", .path = "/p/cuda.so", .source = "Python", .version = "1"},
                 {.accelerator = "cpu", .path = "/p/cpu.so", .source = "home"}},
     .cache = "/cache/fulgurite",
     .cache_is_writable = true,
     .cache_files = 1,
     .cache_bytes = 999,
     .speed = {.was_measured = true, .files = 1, .bytes = 4000000, .seconds = 0.05}},
    {.cache = "/c",
     .cache_files = 2,
     .cache_bytes = 1500000,
     .cache_free_bytes = -1,
     .speed = {.was_measured = true, .files = 30, .bytes = 15, .seconds = 2.345}},
    {.cache = "/c", .cache_free_bytes = 1, .test = {.was_run = true, .platform = "cpu"}},
    {.test = {.was_run = true,
              .is_good = true,
              .platform = "cpu",
              .version = "v",
              .kind = "k",
              .devices = 1,
              .api_major = 0,
              .api_minor = 68,
              .seconds = 1.25}},
    {.test = {.was_run = true,
              .platform = "tpu",
              .kind = "TPU v3",
              .devices = 8,
              .api_major = 1,
              .api_minor = 2,
              .seconds = 59.96},
     .findings = {{FG_NOTE, "a-note", "to know", ""},
                  {FG_WARNING, "a-warning", "slower", "make it faster"},
                  {FG_WRONG, "an-error", "wrong", NULL}},
     .finding_count = 3},
    {.findings = {{FG_WARNING, "a-warning", "slower", NULL}}, .finding_count = 1},
    {.findings = {{FG_WRONG, "an-error", "wrong", "repair it"}, {FG_NOTE, "a-note", "to know", ""}},
     .finding_count = 2},
};

static void whole_checkups(void **state)
{
    fg_error err = {0};
    fgi_buf all = {0};
    machine m;
    fg_host *host;
    (void)state;
    machine_load(&m, fgt_temp_folder(), "laptop");
    fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
    for (size_t i = 0; i < sizeof checkups / sizeof checkups[0]; i++) {
        static checkup d;
        d = checkups[i];
        d.host = host;
        checkup_print(&all, &d);
        checkup_print_json(&all, &d);
    }
    assert_non_null(all.data);
    fgt_golden("hosts/checkups.txt", all.data);
    fgi_buf_fini(&all);
    fg_host_close(host);
    machine_fini(&m);
}

/* Names of files are bytes; JSON is UTF-8. */
static void paths_that_are_not_utf8_are_escaped(void **state)
{
    static checkup d = {.cache = "/c\xff",
                        .plugins = {{.accelerator = "cpu", .path = "/p\xff"}},
                        .findings = {{FG_WRONG, "an-error", "wrong: \xff", "rm \xff"}},
                        .finding_count = 1};
    fg_error err = {0};
    fgi_buf text = {0};
    (void)state;
    fgt_ok(fg_host_open(&(fg_host_options){.root = fgt_temp_folder()}, &d.host, &err));
    checkup_print_json(&text, &d);
    assert_false(text.failed);
    assert_non_null(strstr(text.data, "\"path\": \"/c\\\\xff\""));
    assert_non_null(strstr(text.data, "\"path\": \"/p\\\\xff\""));
    assert_non_null(strstr(text.data, "\"text\": \"wrong: \\\\xff\""));
    assert_non_null(strstr(text.data, "\"command\": \"rm \\\\xff\""));
    fgi_buf_fini(&text);
    fg_host_close(d.host);
}

/* ---- libtpu's counters ----------------------------------------------------------------------- */

/* Of four devices, what a recorded server knows: all, or one of three metrics less. */
static void counters_that_are_known(void **state)
{
    static const char *const files[] = {"usage", "total", "duty", "unknown"};
    static const char *const asks[] = {"hbm.memory.usage.bytes", "hbm.memory.total.bytes",
                                       "tensorcore.dutycycle.percent"};
    fg_error err = {0};
    fgi_mapping answer[4];
    fgi_buf all = {0};
    (void)state;
    for (int i = 0; i < 4; i++) {
        char path[512];
        (void)snprintf(path, sizeof path, FGT_SOURCE_DIR "/tests/golden/tpu_metrics/%s.bin",
                       files[i]);
        fgt_ok(fgi_file_map(path, &answer[i], &err));
    }
    for (int missing = 1; missing <= 3; missing++) {
        server s = {0};
        for (int i = 0; i < 3; i++) {
            const fgi_mapping *from = &answer[i == missing ? 3 : i];
            s.lines[i] = (server_line){asks[i], from->data, from->size};
        }
        server_start(&s);
        for (int as_json = 0; as_json < 2; as_json++)
            fgt_ok(devices_put_use(s.address, as_json == 1, &all, &err));
        server_stop(&s);
    }
    assert_non_null(all.data);
    fgt_golden("hosts/tpu_use.txt", all.data);
    fgi_buf_fini(&all);
    for (int i = 0; i < 4; i++)
        fgi_file_unmap(&answer[i]);
}

/* No more findings than there is room for; the first ones stay. */
static void findings_have_a_limit(void **state)
{
    static checkup d;
    (void)state;
    for (int i = 0; i < 10; i++)
        checkup_find(&d, FG_NOTE, "code", NULL, "finding %d", i);
    assert_int_equal(d.finding_count, 8);
    assert_string_equal(d.findings[0].text, "finding 0");
    assert_string_equal(d.findings[7].text, "finding 7");
    d.finding_count = DOCTOR_FINDINGS;
    d.text_count = 0;
    checkup_find(&d, FG_WRONG, "code", NULL, "one more");
    assert_int_equal(d.finding_count, DOCTOR_FINDINGS);
    assert_false(checkup_is_wrong(&(checkup){.finding_count = 0}));
}

/* The version is in the name of a folder next to the plugin's, for the same accelerator. */
static const struct {
    const char *plugin, *packages[4]; /* NULL: no more */
    int accelerator;                  /* 0 tpu, 1 cuda, 2 cpu */
    const char *version;
} versions[] = {
    {"libtpu/libtpu.so", {"libtpu-0.0.51.dist-info", "jax-0.9.dist-info"}, 0, "0.0.51"},
    {"libtpu/libtpu.so", {"libtpu-0.0.51", "libtpu_nightly-1.dist-info"}, 0, ""},
    {"jax_plugins/xla_cuda13/x.so", {"jax_cuda13_pjrt-0.7.1.dist-info"}, 1, "0.7.1"},
    {"jax_plugins/xla_cuda12/x.so",
     {"jax_cuda12_pjrt-0.6.dist-info", "libtpu-3.dist-info"},
     1,
     "0.6"},
    {"jax_plugins/xla_cuda12/x.so", {"libtpu-3.dist-info"}, 1, ""},
    {"xla_plugins/xla_cpu/x.so", {"xla_cpu_pjrt-1.2.3.post4.dist-info"}, 2, "1.2.3.post4"},
    {"other/x.so", {"xla_cpu_pjrt-1.2.3.dist-info"}, 2, ""},
};

static void versions_of_plugins(void **state)
{
    static checkup d;
    fg_error err = {0};
    fg_host *host;
    const char *root = fgt_temp_folder();
    (void)state;
    fgt_ok(fg_host_open(&(fg_host_options){.no_network = true}, &host, &err));
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        char folder[32], path[128];
        (void)snprintf(folder, sizeof folder, "site-%zu", i);
        for (int k = 0; versions[i].packages[k] != NULL; k++) {
            (void)snprintf(path, sizeof path, "%s/%s", folder, versions[i].packages[k]);
            fgt_ok(fgi_folder_make(fgt_path(root, path), &err));
        }
        (void)snprintf(path, sizeof path, "%s/%s", folder, versions[i].plugin);
        *strrchr(path, '/') = '\0';
        fgt_ok(fgi_folder_make(fgt_path(root, path), &err));
        (void)snprintf(path, sizeof path, "%s/%s", folder, versions[i].plugin);
        fgt_write(fgt_path(root, path), "x", 1);
        assert_int_equal(setenv("FULGURITE_PLUGIN", fgt_path(root, path), 1), 0);
        d = (checkup){.host = host};
        checkup_probe(&d, NULL);
        const checkup_plugin *found = &d.plugins[versions[i].accelerator];
        assert_string_equal(found->path, fgt_path(root, path));
        assert_string_equal(found->version, versions[i].version);
    }
    assert_int_equal(unsetenv("FULGURITE_PLUGIN"), 0);
    fg_host_close(host);
}

/* A folder that does not exist. */
static void data_that_cannot_be_read(void **state)
{
    static checkup d;
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    (void)state;
    fgt_ok(fg_host_open(&(fg_host_options){.no_network = true}, &d.host, &err));
    checkup_probe(&d, fgt_path(folder, "nowhere"));
    const fg_finding *last = &d.findings[d.finding_count - 1];
    assert_true(d.finding_count > 0 && !d.speed.was_measured);
    assert_string_equal(last->code, "data-empty");
    assert_int_equal(last->severity, FG_WARNING);
    assert_non_null(strstr(last->text, "no file could be read in "));
    fg_host_close(d.host);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(whole_checkups),
    cmocka_unit_test(paths_that_are_not_utf8_are_escaped),
    cmocka_unit_test(counters_that_are_known),
    cmocka_unit_test(findings_have_a_limit),
    cmocka_unit_test(versions_of_plugins),
    cmocka_unit_test(data_that_cannot_be_read),
    cmocka_unit_test(places),
    cmocka_unit_test(the_speed_of_data_is_shown),
    cmocka_unit_test(many_small_files_are_a_finding),
    cmocka_unit_test(a_home_without_plugins),
};
FGT_MAIN(tests)
