/* test_plan_print.c - plans as readable text, compared as a whole; and times in readable units.
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

static void times_take_the_unit_that_fits(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {
        {2.5e-5, "25 us"},
        {9.99e-4, "999 us"},
        {1e-3, "1 ms"},
        {0.25, "250 ms"},
        {1, "1 s"},
        {59, "59 s"},
        {599, "599 s"},
        {600, "0 h 10 min"},
        {3600, "1 h 0 min"},
        {5400, "1 h 30 min"},
        {86400 + 120, "24 h 2 min"},
        {3599, "1 h 0 min"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char wanted[64];
        json_t *plan = json_pack("{s:s, s:b, s:f, s:f}", "name", "v5e-8", "fits", 1,
                                 "estimated_step_s", 0.5, "estimated_epoch_s", cases[i].seconds);
        char *text = printed(plan);
        (void)snprintf(wanted, sizeof(wanted), "%s", cases[i].text);
        if (strstr(text, wanted) == NULL)
            fail_msg("'%s' is not in:\n%s", wanted, text);
        fgi_free(text);
        json_decref(plan);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(plans_are_printed),
    cmocka_unit_test(times_take_the_unit_that_fits),
};
FGT_MAIN(tests)
