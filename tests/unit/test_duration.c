/* test_duration.c - durations as text.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include "base/duration.h"

static void durations_are_read(void **state)
{
    static const struct {
        const char *text;
        double seconds;
    } rows[] = {{"8h30m", 30600},       {"90s", 90},
                {"1d12h", 129600},      {"0.5h", 1800},
                {" 2m ", 120},          {"1d2h3m4s", 93784},
                {"00:08:30:00", 30600}, {"01:00:00:00", 86400},
                {"08:30:00", 30600},    {"100:00:00", 360000},
                {"00:00:01", 1},        {"10:23:59:59", 950399},
                {"1000000000s", 1e9},   {"0.25d", 21600}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double seconds = -1;
        if (!fgi_parse_duration(fgi_str_of(rows[i].text), &seconds) || seconds != rows[i].seconds)
            fail_msg("'%s' is %g", rows[i].text, seconds);
    }
}

static void others_are_refused(void **state)
{
    static const char *const rows[] = {"",
                                       "h",
                                       "8",
                                       "8 h",
                                       "8h30",
                                       "30m8h",
                                       "8h8h",
                                       "-1h",
                                       "0s",
                                       "1e3s",
                                       "nan",
                                       "infs",
                                       "1000000001s",
                                       "08:30",
                                       "8:30:0",
                                       "::",
                                       "00:00:00",
                                       "00:60:00",
                                       "00:00:61",
                                       "00:24:00:00",
                                       "1:00:00:00:00",
                                       "01:00:00:00:00",
                                       "00:-1:00",
                                       "1.5.2h",
                                       "00:00:00:",
                                       ":00:00:01",
                                       "0x1h",
                                       "99999999999999999999:00:00"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double seconds = 0;
        if (fgi_parse_duration(fgi_str_of(rows[i]), &seconds))
            fail_msg("'%s' is accepted: %g s", rows[i], seconds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_read),
        cmocka_unit_test(others_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
