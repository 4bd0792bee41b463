/* test_checkup.c - what fulgurite doctor finds: where it runs, how fast data can be read, which
 * programs are cached.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/host.h>
#include <fulgurite/report.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "machine.h"
#include "report/checkup.h"

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

static void places(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof places_of / sizeof places_of[0]; i++) {
        fg_error err = {0};
        char line[80], *text = NULL;
        bool is_wrong;
        machine m;
        fg_host *host;
        machine_load(&m, fgt_temp_folder(), places_of[i].machine);
        machine_file(&m, "/proc/self/environ", places_of[i].variables);
        machine_file(&m, "/sys/class/dmi/id/product_name", places_of[i].product);
        fgt_ok(fg_host_open(&(fg_host_options){.root = m.root}, &host, &err));
        fgt_ok(fg_report_checkup(&(fg_checkup_options){.host = host, .host_only = true}, &text,
                                 &is_wrong, &err));
        (void)snprintf(line, sizeof line, "platform %s\n", places_of[i].line);
        if (strncmp(text, line, strlen(line)) != 0)
            fail_msg("row %zu: %s", i, text);
        fg_report_free(text);
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
    char *text = NULL;
    bool is_wrong;
    const fg_checkup_options options = {.host = host, .data = folder, .skip_test = true};
    fgt_ok(fg_report_checkup(&options, &text, &is_wrong, &err));
    const char *line = strstr(text, "\ndata     2 files, 6 B in ");
    if (line == NULL || strstr(line, " files/s\n") == NULL)
        fail_msg("%s", text);
    fg_report_free(text);
    fg_host_close(host);
}

/* A thousand files of three bytes, some at the depth of six folders, which is not searched, and
 * hidden ones. */
static void many_small_files_are_a_finding(void **state)
{
    static fgi_checkup d;
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    char name[64] = "";
    (void)state;
    fgt_ok(fg_host_open(&(fg_host_options){.no_network = true}, &d.host, &err));
    for (int depth = 0; depth < 6; depth++) {
        for (int i = 0; i < (depth == 0 ? 996 : 1); i++) {
            char file[96];
            (void)snprintf(file, sizeof file, "%s%d", name, i);
            fgt_write(fgt_path(folder, file), "one", 3);
        }
        (void)snprintf(name + strlen(name), sizeof name - strlen(name), "deeper/");
        fgt_ok(fgi_folder_make(fgt_path(folder, name), &err));
    }
    fgt_write(fgt_path(folder, ".hidden"), "two", 3);
    fgi_checkup_probe(&d, folder);
    assert_int_equal(d.speed.files, 1000);
    assert_int_equal(d.speed.bytes, 3000);
    const fg_finding *last = &d.findings[d.finding_count - 1];
    assert_string_equal(last->code, "many-files");
    assert_non_null(strstr(last->text, " has many small files (3 bytes each)"));
    d.finding_count = d.text_count = 0;
    d.speed = (fgi_checkup_speed){0};
    fgi_checkup_probe(&d, fgt_path(folder, "deeper"));
    assert_int_equal(d.speed.files, 5);
    assert_int_equal(d.finding_count, 0);
    fg_host_close(d.host);
}

/* Where programs are cached, and whether there is a plugin for anything but the CPU. */
static void a_home_without_plugins(void **state)
{
    static fgi_checkup d;
    fg_error err = {0};
    const char *home = fgt_temp_folder();
    char given[512];
    (void)state;
    (void)snprintf(given, sizeof given, "%s", getenv("HOME") != NULL ? getenv("HOME") : "/");
    fgt_ok(fgi_folder_make(fgt_path(home, ".cache/fulgurite/programs/folder"), &err));
    fgt_write(fgt_path(home, ".cache/fulgurite/programs/a"), "four", 4);
    fgt_ok(fg_host_open(&(fg_host_options){.no_network = true}, &d.host, &err));
    assert_int_equal(setenv("HOME", home, 1), 0);
    for (int i = 0; i < 2; i++) {
        d.cache_files = d.cache_bytes = 0;
        assert_int_equal(i == 0 ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", "", 1), 0);
        fgi_checkup_probe(&d, NULL);
        assert_string_equal(d.cache, fgt_path(home, ".cache/fulgurite"));
        assert_int_equal(d.cache_files, 1);
        assert_int_equal(d.cache_bytes, 4);
        assert_true(d.cache_is_writable && !d.speed.was_measured);
    }
    assert_int_equal(setenv("HOME", given, 1), 0);
    fg_host_close(d.host);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(places),
    cmocka_unit_test(the_speed_of_data_is_shown),
    cmocka_unit_test(many_small_files_are_a_finding),
    cmocka_unit_test(a_home_without_plugins),
};
FGT_MAIN(tests)
