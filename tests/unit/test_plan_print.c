/* test_plan_print.c - plans as readable text, compared as a whole.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "golden.h"
#include "report/plan_page.h"

static char *printed(const json_t *plan)
{
    fgi_buf text = {0};
    fgi_plan_print(&text, plan);
    return fgi_buf_take(&text);
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
    assert_int_equal(fclose(out), 0);
    fgt_golden("plan/printed.txt", all);
    free(all);
    json_decref(root);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(plans_are_printed),
};
FGT_MAIN(tests)
