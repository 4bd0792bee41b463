/* test_input_report.c - what limits the rate of a run, from the times of its loader and its device.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include "train/watch/watch.h"

/* A loader that read 50 samples per second and thread with 3 threads, and a device that computes
 * 100 samples in 0.5 s. */
static const char *judged(const fg_idle *idle, char *text, size_t size)
{
    static fg_input_report report;
    const fg_loader_stats before = {.rows = 20,
                                    .workers = 3,
                                    .batches = 4,
                                    .ready_mean = 2,
                                    .waits = 3,
                                    .stages = {.read_s = 1,
                                               .decode_s = 9,
                                               .resize_s = 2,
                                               .copy_s = 3,
                                               .entropy_s = 0.5,
                                               .open_s = 0.75,
                                               .opens = 5}};
    const fg_loader_stats after = {.rows = 220,
                                   .workers = 3,
                                   .batches = 20,
                                   .ready_mean = 1,
                                   .waits = 7,
                                   .stages = {.read_s = 1.25,
                                              .decode_s = 12,
                                              .resize_s = 2.25,
                                              .copy_s = 3.25,
                                              .entropy_s = 0.75,
                                              .open_s = 0.875,
                                              .opens = 17}};
    fgi_input_report_load(&report, &before, &after);
    fgi_input_report_judge(&report, idle, 200);
    assert_int_equal(report.samples, 200);
    fgt_close("ready batches", report.queue_mean, 0.75, 0, 0); /* (20 - 8) / 16 */
    fgt_close("waits", report.queue_empty, 0.25, 0, 0);
    fgt_close("opening", report.stages.open_s, 0.125, 0, 0);
    fgt_close("entropy", report.stages.entropy_s, 0.25, 0, 0);
    assert_int_equal(report.stages.opens, 12);
    if (idle->busy_s > 0)
        fgt_close("delivered", report.delivered_samples_per_s, 150, 1e-9, 0);
    (void)fg_input_report_format(&report, text, size);
    return report.bound_by;
}

static void the_limit_is_what_the_device_waits_for(void **state)
{
    char text[256];
    (void)state;
    assert_string_equal(
        judged(&(fg_idle){.busy_s = 1, .idle_s = 0.04, .input_s = 0.04}, text, sizeof text),
        "device");
    assert_string_equal(text,
                        "bound by the device: the loader delivers 0.75x the required rate and "
                        "spends 75 % of its time on decoding; the device waits for input 4 % "
                        "of the time");
    assert_string_equal(
        judged(
            &(fg_idle){.busy_s = 1, .idle_s = 1, .input_s = 0.6, .upload_s = 0.1, .other_s = 0.3},
            text, sizeof text),
        "decode");
    assert_non_null(strstr(text, "waits for input 35 % of the time"));
    assert_string_equal(
        judged(&(fg_idle){.busy_s = 1, .idle_s = 1, .input_s = 0.3, .upload_s = 0.5, .read_s = 0.2},
               text, sizeof text),
        "upload");
    assert_string_equal(
        judged(
            &(fg_idle){
                .busy_s = 1, .idle_s = 1, .input_s = 0.3, .upload_s = 0.1, .checkpoint_s = 0.6},
            text, sizeof text),
        "host");
    assert_string_equal(
        judged(&(fg_idle){.busy_s = 1, .idle_s = 0.5, .upload_s = 0.5}, text, sizeof text),
        "upload");
    assert_string_equal(
        judged(&(fg_idle){.busy_s = 1, .idle_s = 0.1, .other_s = 0.1}, text, sizeof text), "host");
    static const struct {
        fg_idle idle;
        const char *by;
    } limits[] = {{{.busy_s = 95, .idle_s = 5, .input_s = 5}, "device"}, /* 5 % of the time */
                  {{.busy_s = 95, .idle_s = 5, .other_s = 5}, "device"},
                  {{.busy_s = 90, .idle_s = 20, .input_s = 10, .other_s = 10}, "decode"},
                  {{.busy_s = 90, .idle_s = 20, .input_s = 10, .upload_s = 10}, "decode"}};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        assert_string_equal(judged(&limits[i].idle, text, sizeof text), limits[i].by);
    assert_null(judged(&(fg_idle){.idle_s = 0.1}, text, sizeof text));
    assert_string_equal(text, "");
}

static void the_ratio_has_few_digits(void **state)
{
    static const struct {
        double required;
        const char *says;
    } rows[] = {{200, "delivers 0.75x the"},       {150, "delivers 1.0x the"},
                {100, "delivers 1.5x the"},        {15, "delivers 10x the"},
                {12, "delivers 12x the"},          {1.5, "delivers 100x the"},
                {1, "delivers more than 100x the"}};
    char text[256];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const fg_input_report report = {.bound_by = "device",
                                        .delivered_samples_per_s = 150,
                                        .required_samples_per_s = rows[i].required,
                                        .stages = {.read_s = 1}};
        assert_non_null(strstr(fg_input_report_format(&report, text, sizeof text), rows[i].says));
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_limit_is_what_the_device_waits_for),
    cmocka_unit_test(the_ratio_has_few_digits),
};
FGT_MAIN(tests)
