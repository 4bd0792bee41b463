/* test_device_list.c - parsing lists of devices, and the errors if they do not exist.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include "mesh/mesh.h"

static void texts_mean_devices(void **state)
{
    static const struct {
        const char *text;
        int there, count, index[4];
    } rows[] = {
        {NULL, 3, 3, {0, 1, 2}}, {"auto", 2, 2, {0, 1}},   {"all", 2, 2, {0, 1}},
        {"-1", 2, 2, {0, 1}},    {"1", 4, 1, {0}},         {"3", 4, 3, {0, 1, 2}},
        {"[1]", 4, 1, {1}},      {"0,2", 4, 2, {0, 2}},    {" [ 3 , 1 ] ", 4, 2, {3, 1}},
        {"[0]", 4, 1, {0}},      {"[0, 1]", 4, 2, {0, 1}}, {"[2, 0, 1]", 4, 3, {2, 0, 1}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        fgi_device_list list;
        int devices[4] = {0, 1, 2, 3};
        int count = rows[i].there;
        fgt_ok(fgi_device_list_parse(rows[i].text, &list, &err));
        fgt_ok(fgi_device_list_choose(&list, "cpu", devices, sizeof devices[0], &count, &err));
        assert_int_equal(count, rows[i].count);
        for (int k = 0; k < count; k++)
            assert_int_equal(devices[k], rows[i].index[k]);
    }
}

static const char *const refused[][2] = {
    {"2,", "is not a list of integers"},
    {"[]", "is not a list of integers"},
    {"[-1]", "has a negative number: device indices start at 0"},
    {"1,1", "names a device twice"},
    {"x", "is neither a number nor a list"},
    {"", "is neither a number nor a list"},
    {"1.5", "is neither a number nor a list"},
    {"99999999999999999999", "is neither a number nor a list"},
    {"0", "selects no device"},
    {"1000000", "selects too many devices"},
};

static void other_texts_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        fg_error err = {0};
        fgi_device_list list;
        char expected[300];
        assert_int_equal(fgi_device_list_parse(refused[i][0], &list, &err), FG_EINVAL);
        (void)snprintf(expected, sizeof expected,
                       "devices '%s' %s\n\"auto\" or \"-1\" selects all, \"4\" the first four, "
                       "\"[1]\" only the second, \"0,2\" those two; `fulgurite devices` lists them",
                       refused[i][0], refused[i][1]);
        assert_string_equal(err.message, expected);
    }
}

static void missing_devices_are_reported(void **state)
{
    fg_error err = {0};
    fgi_device_list list;
    int devices[2] = {0, 1};
    int count = 2;
    (void)state;
    fgt_ok(fgi_device_list_parse("4", &list, &err));
    assert_int_equal(fgi_device_list_choose(&list, "tpu", devices, sizeof devices[0], &count, &err),
                     FG_ENOTFOUND);
    assert_string_equal(
        err.message,
        "4 devices were requested, but tpu has only 2; `fulgurite devices` lists them\n"
        "use devices=2 or devices=auto");
    fgt_ok(fgi_device_list_parse("[2]", &list, &err));
    assert_int_equal(
        fgi_device_list_choose(&list, "cuda", devices, sizeof devices[0], &count, &err),
        FG_ENOTFOUND);
    assert_string_equal(err.message,
                        "device 2 was requested, but cuda has only 2 (indices start at 0); "
                        "`fulgurite devices` lists "
                        "them\nuse devices=[1] for the last one, or devices=auto for all");
    assert_int_equal(count, 2);
}

static void a_single_device_is_reported(void **state)
{
    fg_error err = {0};
    fgi_device_list list;
    int devices[1] = {0}, count = 1;
    (void)state;
    fgt_ok(fgi_device_list_parse("[2]", &list, &err));
    assert_int_equal(fgi_device_list_choose(&list, "tpu", devices, sizeof devices[0], &count, &err),
                     FG_ENOTFOUND);
    assert_string_equal(err.message,
                        "device 2 was requested, but tpu has only 1 (indices start at 0); "
                        "`fulgurite devices` lists it\nuse devices=[0] for the last one, or "
                        "devices=auto for all");
    fgt_ok(fgi_device_list_parse("2", &list, &err));
    assert_int_equal(fgi_device_list_choose(&list, "tpu", devices, sizeof devices[0], &count, &err),
                     FG_ENOTFOUND);
    assert_string_equal(err.message, "2 devices were requested, but tpu has only 1; `fulgurite "
                                     "devices` lists it\nuse devices=1 or devices=auto");
}

/* The devices of a selection in ascending order, and the selection among these. */
static void selections_are_put_in_order(void **state)
{
    static const struct {
        const char *text;
        int size, needed, count;
        int64_t ascending[4];
        int renumbered[4];
    } rows[] = {{"[5, 1, 3]", 3, 6, 3, {1, 3, 5}, {2, 0, 1}},
                {"0,1", 2, 2, 2, {0, 1}, {0, 1}},
                {"[7]", 1, 8, 1, {7}, {0}},
                {"4", 4, 4, 4, {0, 1, 2, 3}, {0}},
                {"auto", 0, 0, 0, {0}, {0}}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_error err = {0};
        fgi_device_list list;
        int64_t ascending[4] = {0};
        fgt_ok(fgi_device_list_parse(rows[i].text, &list, &err));
        assert_int_equal(fgi_device_list_size(&list), rows[i].size);
        assert_int_equal(fgi_device_list_needed(&list), rows[i].needed);
        assert_int_equal(fgi_device_list_ascending(&list, ascending), rows[i].count);
        assert_memory_equal(ascending, rows[i].ascending, sizeof ascending);
        fgi_device_list_renumber(&list);
        for (int k = 0; k < list.count; k++)
            assert_int_equal(list.index[k], rows[i].renumbered[k]);
    }
}

static void selections_have_one_canonical_form(void **state)
{
    static const struct {
        const char *text, *formatted;
    } rows[] = {
        {"auto", "-1"},        {" all ", "-1"},   {"-1", "-1"},   {"8", "8"},
        {"[ 3 ,1]", "[3, 1]"}, {"0,2", "[0, 2]"}, {"[1]", "[1]"}, {"1024", "1024"},
    };
    char out[32], small[6];
    fg_error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fgt_ok(fg_devices_format(rows[i].text, out, sizeof out, &err));
        assert_string_equal(out, rows[i].formatted);
    }
    assert_int_equal(fg_devices_format("1025", out, sizeof out, &err), FG_EINVAL);
    assert_int_equal(fg_devices_format("[1, x]", out, sizeof out, &err), FG_EINVAL);
    assert_int_equal(fg_devices_format("0,2", small, sizeof small, &err), FG_EINVAL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(texts_mean_devices),
    cmocka_unit_test(other_texts_are_refused),
    cmocka_unit_test(missing_devices_are_reported),
    cmocka_unit_test(a_single_device_is_reported),
    cmocka_unit_test(selections_are_put_in_order),
    cmocka_unit_test(selections_have_one_canonical_form),
};
FGT_MAIN(tests)
