/* test_notebooks.c - the notebooks of examples/notebooks: their cells are run here, in order, as a
 * notebook runs them. The source that the first cell takes is a small one whose make gives the
 * program that is built already.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/buf.h"

static char folder[600];

/* What stands in a cell, without its first line, which names the shell. */
static void take_cell(const json_t *cell, fgi_buf *out)
{
    const json_t *lines = json_object_get(cell, "source");
    assert_string_equal(json_string_value(json_array_get(lines, 0)), "%%bash\n");
    for (size_t i = 1; i < json_array_size(lines); i++)
        fgi_buf_puts(out, json_string_value(json_array_get(lines, i)));
}

static void run_cell(const json_t *cell, int number)
{
    fgi_buf text = {0};
    char name[32], command[2048];
    take_cell(cell, &text);
    (void)snprintf(name, sizeof name, "cell%d.sh", number);
    fgt_write(fgt_path(folder, name), text.data, text.size);
    fgi_buf_fini(&text);
    (void)snprintf(command, sizeof command,
                   "cd '%s' && FULGURITE_SOURCE='%s/source' bash %s >out%d 2>&1", folder, folder,
                   name, number);
    const int status = system(command);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        (void)snprintf(command, sizeof command, "cat '%s/out%d' >&2", folder, number);
        (void)!system(command);
        fail_msg("cell %d ended with status %d", number, WEXITSTATUS(status));
    }
}

static void make_source(void)
{
    char command[2048];
    (void)snprintf(command, sizeof command,
                   "mkdir -p '%s/source' && cd '%s/source' && cp -r '%s/examples' '%s/share' . && "
                   "printf 'all:\\n\\tmkdir -p build && ln -sf %s/fulgurite build/fulgurite\\n' "
                   ">Makefile",
                   folder, folder, FGT_SOURCE_DIR, FGT_SOURCE_DIR, FGT_BINARY_DIR);
    assert_int_equal(system(command), 0);
}

static void cells_train_a_model(const char *notebook)
{
    char path[600];
    json_error_t error;
    int cells = 0;
    (void)snprintf(folder, sizeof folder, "%s", fgt_path(fgt_temp_folder(), notebook));
    make_source();
    (void)snprintf(path, sizeof path, FGT_SOURCE_DIR "/examples/notebooks/%s.ipynb", notebook);
    json_t *root = json_load_file(path, 0, &error);
    assert_non_null(root);
    const json_t *list = json_object_get(root, "cells");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *cell = json_array_get(list, i);
        const char *type = json_string_value(json_object_get(cell, "cell_type"));
        if (strcmp(type, "code") == 0)
            run_cell(cell, ++cells);
    }
    json_decref(root);
    assert_int_equal(cells, 3);
    json_t *summary = json_load_file(fgt_path(folder, "summary.json"), 0, &error);
    const json_t *metrics = json_object_get(summary, "metrics");
    assert_string_equal(json_string_value(json_object_get(summary, "status")), "done");
    assert_true(json_real_value(json_object_get(metrics, "val_acc")) > 0.95);
    json_decref(summary);
}

static void kaggle(void **state)
{
    (void)state;
    cells_train_a_model("kaggle");
}

static void colab(void **state)
{
    (void)state;
    cells_train_a_model("colab");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(kaggle),
    cmocka_unit_test(colab),
};
FGT_MAIN(tests)
