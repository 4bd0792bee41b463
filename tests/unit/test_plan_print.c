/* test_plan_print.c - plans as readable text, compared as a whole.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "golden.h"
#include "report/reports.h"

static char *printed(const json_t *plan)
{
    fgi_buf text = {0};
    fgi_plan_lines_put(&text, plan);
    return fgi_buf_take(&text);
}

/* The plan of a machine for each line that is an object: the analyses of test_plan_analysis. */
static void print_analyses(FILE *out, const char *name)
{
    char *data, *rest;
    size_t size;
    fg_error err = {0};
    fgt_ok(fgi_file_read(name, 1 << 20, &data, &size, &err));
    rest = data;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        json_t *analysis = *line == '{' ? json_loads(line, 0, NULL) : NULL;
        if (analysis == NULL)
            continue;
        json_t *plan = json_pack("{s:s, s:o}", "name", "a machine", "analysis", analysis);
        char *text = printed(plan);
        (void)fprintf(out, "%s--\n", text);
        fgi_free(text);
        json_decref(plan);
    }
    fgi_free(data);
}

static void plans_are_printed(void **state)
{
    (void)state;
    json_error_t fault;
    json_t *root = json_load_file(FGT_SOURCE_DIR "/tests/golden/plan/printed.json", 0, &fault);
    if (root == NULL)
        fail_msg("line %d: %s", fault.line, fault.text);
    char *all = NULL;
    size_t size, i;
    json_t *plan;
    FILE *out = open_memstream(&all, &size);
    assert_non_null(out);
    json_array_foreach(root, i, plan)
    {
        char *text = printed(plan);
        (void)fprintf(out, "%s--\n", text);
        fgi_free(text);
    }
    print_analyses(out, FGT_SOURCE_DIR "/tests/golden/plan/made.txt");
    print_analyses(out, FGT_SOURCE_DIR "/tests/golden/plan/analyses.txt");
    assert_int_equal(fclose(out), 0);
    fgt_golden("plan/printed.txt", all);
    free(all);
    json_decref(root);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(plans_are_printed),
};
FGT_MAIN(tests)
