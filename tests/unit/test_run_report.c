/* test_run_report.c - the report of a run in its forms, from files made here: numbers in their
 * places, missing parts, damaged files, and hostile names.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/image.h>
#include <fulgurite/report.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "golden.h"
#include "input/json_file.h"
#include "recipe/folder/run_dir.h"
#include "report/reports.h"
#include "doc/doc.h"

static fg_error err;
static const char *folder;

static const char report[] =
    "{\"version\":1,\"state\":\"finished\",\"command\":\"fit\",\"seconds\":100,\"steps\":40,"
    "\"epochs\":2,\"samples_per_s\":12.5,"
    "\"host\":{\"cpu_s\":75,\"cpus\":4,\"cpu_fraction\":0.1875,\"workers\":["
    "{\"name\":\"loader <1>\",\"cpu_s\":30},{\"name\":\"save\",\"cpu_s\":7.5},null]},"
    "\"loader\":{\"workers\":2,\"queue_mean\":1.5,\"queue_empty\":0.25,\"opens\":40,"
    "\"open_seconds\":0.5},"
    "\"utilization\":{\"mxu\":0.25,\"flops_per_second\":2e12,\"peak_flops\":8e12,"
    "\"bytes_per_second\":1e11,\"peak_bytes\":4e11,\"intensity\":20,\"roofline\":0.25,"
    "\"sixteen_bit\":0.5},"
    "\"history\":[{\"started_at\":\"2026-01-02T03:04:05Z\",\"state\":\"stopped\",\"seconds\":7,"
    "\"steps\":11},{\"started_at\":\"2026-01-03T03:04:05Z\",\"state\":\"finished\","
    "\"seconds\":100,\"steps\":40}],"
    "\"device\":{\"kind\":\"TPU v3\",\"platform\":\"tpu\",\"count\":8},"
    "\"time\":{\"wall_s\":100,\"busy_s\":70,\"idle_s\":30,\"idle\":{\"input_s\":20,"
    "\"upload_s\":0.5,\"compile_s\":9.5,\"read_s\":0,\"checkpoint_s\":null}},"
    "\"step_time\":{\"count\":40,\"mean_s\":2.5,\"p50_s\":0.002,\"p99_s\":75},"
    "\"windows\":[{\"step\":20,\"seconds\":50,\"busy_s\":30,\"input_s\":20},"
    "{\"step\":40,\"seconds\":50,\"busy_s\":40,\"compile_s\":10,\"samples_per_s\":null}],"
    "\"compiles\":[{\"program\":\"train_step\",\"seconds\":9.5,\"cached\":false,\"step\":21,"
    "\"cause\":"
    "{\"what\":\"shape\",\"name\":\"image\",\"old\":\"f32[64]\",\"new\":\"f32[32]\","
    "\"at\":\"a.c:3\"}}],"
    "\"host_reads\":[{\"at\":\"a.c:9\",\"count\":3,\"bytes\":12,\"wait_s\":0.25}],"
    "\"verdicts\":[{\"id\":\"input\",\"severity\":\"high\",\"title\":\"Input <slow>\","
    "\"detail\":\"d\\u001b[2J\",\"action\":\"buy\",\"gain\":0.2,"
    "\"samples_per_s\":{\"from\":12000,\"to\":15000}}]}";
static const char metrics[] =
    "{\"step\": 20, \"epoch\": 0, \"wall_time\": 9, \"lr\": 0.5, \"train_loss\": 3}\n"
    "{\"step\": 20, \"epoch\": 0, \"val_acc\": 0.75}\n"
    "{\"step\": 40, \"epoch\": 1, \"lr\": 0.25, \"train_loss\": null}\n"
    "{\"step\": 40, \"epoch\": 1, \"val_acc\": 0.5}\n"
    "{\"step\": 60, \"epo"; /* is being written */

static int begin(void **state)
{
    static int number;
    char name[32];
    (void)state;
    (void)snprintf(name, sizeof name, "run-%d", number++);
    folder = fgi_path_join(fgt_temp_folder(), name);
    fgt_ok(fgi_folder_make(folder, &err));
    return 0;
}

static int end(void **state)
{
    (void)state;
    fgi_free((char *)folder);
    return 0;
}

static void put(const char *name, const char *text)
{
    fgt_write(fgt_path(folder, name), text, strlen(text));
}

static void put_all(void)
{
    put("report.json", report);
    put("metrics.jsonl", metrics);
    put("config.yaml", "task: <b>&\n");
}

static char *report_as(fg_report_form form)
{
    char *text = NULL;
    fgt_ok(fg_report_run(folder, form, &text, &err));
    return text;
}

static void has(const char *text, const char *words)
{
    if (strstr(text, words) == NULL)
        fail_msg("'%s' is missing in:\n%s", words, text);
}

static void lines_have_the_numbers(void **state)
{
    (void)state;
    put_all();
    char *text = report_as(FG_REPORT_TEXT);
    has(text, "finished after 1 min 40 s, 40 steps, 2 epochs, 12.5 samples/s\n");
    has(text, "devices 8 x TPU v3 (tpu)");
    has(text, "high    Input <slow> (would save up to 20 % of the time: from 12000 to 15000 "
              "samples/s)\n        d?[2J\n"
              "        do: buy\n");
    has(text, "  busy             70.0 %    70 s  ##############################\n");
    has(text, "  input            20.0 %    20 s  #########\n");
    has(text, "  upload            0.5 %  500 ms\n");
    has(text, "mean 2.5 s, median 2 ms, p99 75 s\n");
    has(text, "train_step    21  9.5 s  shape of image was f32[64], is f32[32] (a.c:3)\n");
    has(text, "CPU time of the host 75 s");
    has(text, "CPUs busy 18.8 %");
    has(text, "  loader <1>      30 s  ##############################\n"
              "  save           7.5 s  ########\n");
    has(text, "batches ready (mean) 1.5");
    has(text, "queue empty 25.0 %");
    has(text, "files opened 40");
    has(text, "to open files 500 ms");
    has(text, "of peak FLOP/s (model) 25.0 %");
    has(text, "of matmuls in 16 bits 50.0 %");
    has(text, "GFLOP/s 2000");
    has(text, "GB/s of memory 100");
    has(text, "of the memory rate 25.0 %");
    has(text, "FLOPs per byte 20");
    has(text, "of the roofline 25.0 %");
    has(text, "  2026-01-02T03:04:05Z  stopped          7 s       11\n");
    has(text, "  a.c:9        3   12 B  250 ms\n");
    has(text, "  lr          0.25     -        -\n"); /* neither value is the better one */
    has(text, "  train_loss   nan     -        -\n");
    has(text, "\n  train_*: means over the steps since the previous log line\n");
    assert_null(strstr(text, "wall_time"));
    has(text, "  val_acc      0.5  0.75       20\n");
    assert_null(strstr(text, "checkpoint ")); /* null: unknown */
    fg_free(text);
}

static void json_has_what_was_read(void **state)
{
    json_t *values[6];
    (void)state;
    put_all();
    char *text = report_as(FG_REPORT_JSON);
    json_t *root = fgi_json_load(text, strlen(text), 0, NULL);
    json_t *wrote = fgi_json_load(report, strlen(report), 0, NULL);
    assert_non_null(root);
    assert_true(json_equal(json_object_get(root, "report"), wrote));
    assert_string_equal(json_string_value(json_object_get(root, "config")), "task: <b>&\n");
    assert_int_equal(json_unpack(json_object_get(root, "metrics"),
                                 "{s:{s:o, s:o}, s:{s:o, s:o, s:o, s:o}}", "lr", "last", &values[0],
                                 "best", &values[1], "val_acc", "last", &values[2], "best",
                                 &values[3], "best_step", &values[4], "count", &values[5]),
                     0);
    fgt_close("lr", json_number_value(values[0]), 0.25, 0, 0);
    assert_true(json_is_null(values[1]));
    fgt_close("last", json_number_value(values[2]), 0.5, 0, 0);
    fgt_close("best", json_number_value(values[3]), 0.75, 0, 0);
    assert_int_equal(json_integer_value(values[4]), 20);
    assert_int_equal(json_integer_value(values[5]), 2);
    json_decref(root);
    json_decref(wrote);
    fg_free(text);
}

static void page_escapes_and_reaches_nowhere(void **state)
{
    (void)state;
    put_all();
    char *text = report_as(FG_REPORT_HTML);
    has(text, "Input &lt;slow&gt;");
    has(text, "Would save up to 20 % of the time: from 12000 to 15000 samples/s.");
    has(text, "task: &lt;b&gt;&amp;");
    has(text, "<td>save</td><td class=\"n\">7.5 s</td><td class=\"bar\"><div><div "
              "style=\"width:25.0%\">");
    has(text, "loader &lt;1&gt;");
    has(text, "<td>stopped</td><td class=\"n\">7 s</td><td class=\"n\">11</td>");
    has(text, "Roofline: FLOP/s of all devices");
    has(text, "<td class=\"n\">12 B</td><td class=\"n\">250 ms</td>");
    has(text, "<polygon class=\"area s0\"");
    has(text, "<polyline class=\"curve s3\"");
    assert_null(strstr(text, "<script"));
    assert_null(strstr(text, "href"));
    assert_null(strstr(text, "src="));
    assert_null(strstr(text, "url("));
    assert_null(strstr(text, "nan"));
    assert_true(strstr(text, "Verdicts") < strstr(text, "Where the time goes"));
    fg_free(text);
}

static void without_a_monitor_the_validation_loss_is_first(void **state)
{
    (void)state;
    put("metrics.jsonl", "{\"step\":5,\"train_loss\":3,\"val_loss\":4}\n");
    char *text = report_as(FG_REPORT_HTML);
    has(text,
        "<div class=\"cards\">\n<div><b>4</b><span>best val_loss (step 5)</span></div>\n</div>");
    fg_free(text);
}

/* Runs of versions without report.json, runs that have only begun, and members of other types. */
static void missing_parts_are_left_out(void **state)
{
    static const char *const reports[] = {
        NULL,
        "{\"version\":1}",
        "{\"version\":1,\"state\":null,\"time\":null,\"windows\":null,\"verdicts\":null,"
        "\"device\":null,\"loader\":null,\"compiles\":null,\"host_reads\":null}",
        "{\"version\":1,\"state\":5,\"time\":[1],\"windows\":[1,null,{}],\"verdicts\":[7,{}],"
        "\"device\":\"x\",\"loader\":{\"stages\":{\"s\":{}}},\"compiles\":[[]],"
        "\"host_reads\":[{}],\"step_time\":{\"mean_s\":\"1\"}}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        put("metrics.jsonl", i == 1 ? "" : metrics);
        if (reports[i] != NULL)
            put("report.json", reports[i]);
        for (int form = FG_REPORT_TEXT; form <= FG_REPORT_HTML; form++) {
            char *text = report_as((fg_report_form)form);
            assert_true(strlen(text) > 20);
            fg_free(text);
        }
    }
}

static void refuses(fg_status status, const char *words)
{
    char *text = NULL;
    assert_int_equal(fg_report_run(folder, FG_REPORT_TEXT, &text, &err), status);
    has(err.message, words);
    assert_null(text);
}

static void damage_is_named(void **state)
{
    static const struct {
        const char *name, *text;
        fg_status status;
        const char *words;
    } rows[] = {
        {"report.json", "", FG_EFORMAT, "report.json: byte"},
        {"report.json", "{\"version\":1,", FG_EFORMAT, "report.json: byte"},
        {"report.json", "[]", FG_EFORMAT, "expected an object with the integer 'version'"},
        {"report.json", "{}", FG_EFORMAT, "expected an object with the integer 'version'"},
        {"report.json", "{\"version\":2}", FG_EUNSUPPORTED, "version 2, but this program reads"},
        {"report.json", "{\"version\":0}", FG_EUNSUPPORTED, "version 0, but this program reads"},
        {"metrics.jsonl", "{\"step\": 1}\n{\"step\": \n", FG_EFORMAT, "metrics.jsonl: byte 21"},
        {"metrics.jsonl", "{\"step\": 1}\n[]\n", FG_EFORMAT,
         "metrics.jsonl: byte 12: expected an object with 'step'"},
    };
    (void)state;
    refuses(FG_ENOTFOUND, "is not the folder of a run: it contains neither report.json nor");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put_all();
        if (*rows[i].name == 'r')
            put("metrics.jsonl", "");
        put(rows[i].name, rows[i].text);
        refuses(rows[i].status, rows[i].words);
    }
    assert_int_equal(fg_report_run("/nowhere", FG_REPORT_TEXT, &(char *){NULL}, &err),
                     FG_ENOTFOUND);
    assert_string_equal(err.message, "'/nowhere' does not exist: expected the folder of a run");
}

/* The report of a killed run is older than its metrics; and a damaged one does not hide them. */
static void metrics_after_the_report(void **state)
{
    static const char killed[] = "{\"version\":1,\"state\":\"running\",\"seconds\":0.5,\"steps\":1,"
                                 "\"epochs\":0}";
    (void)state;
    put("metrics.jsonl", "{\"step\": 9, \"epoch\": 0, \"val_acc\": 0.25}\n"
                         "{\"step\": 20, \"epoch\": 1, \"val_acc\": 0.5}\n");
    put("report.json", killed);
    char *text = report_as(FG_REPORT_TEXT);
    has(text, "killed; last report after 500 ms, 1 step, 0 epochs; its metrics continue until "
              "step 20, epoch 1\n");
    fg_free(text);
    put("report.json", "{\"version\":1,\"state\":\"running\",\"seconds\":0.5,\"steps\":20}");
    text = report_as(FG_REPORT_TEXT);
    has(text, "killed; last report after 500 ms, 20 steps\n");
    fg_free(text);
    put("report.json", "{\"version\":1,");
    put("metrics.jsonl", "{\"step\": 9, \"epoch\": 0, \"val_acc\": 0.25}\n");
    for (int form = FG_REPORT_TEXT; form <= FG_REPORT_HTML; form++) {
        text = report_as((fg_report_form)form);
        has(text, "/report.json: byte ");
        has(text, "val_acc");
        fg_free(text);
    }
}

static void last_is_the_newest_run(void **state)
{
    char *name = NULL;
    (void)state;
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(fgi_run_find("last", &name, &err), FG_ENOTFOUND);
    assert_null(name);
    assert_string_equal(err.message,
                        "last: there is no run with a report or metrics in the folder 'runs'");
    fgt_ok(fgi_folder_make("runs/a", &err));
    fgt_ok(fgi_folder_make("runs/b", &err));
    fgt_ok(fgi_folder_make("runs/empty", &err));
    put("runs/b/metrics.jsonl", metrics);
    usleep(20000);
    put("runs/a/report.json", report);
    fgt_ok(fgi_run_find("last", &name, &err));
    assert_string_equal(name, "runs/a");
    fg_free(name);
    fgt_ok(fgi_run_find("b", &name, &err));
    assert_string_equal(name, "b");
    fg_free(name);
}

/* Writes a file whose time is so many seconds after the beginning of the year 2100. */
static void put_at(const char *name, const char *text, int seconds)
{
    const struct timespec time = {.tv_sec = 4102444800 + seconds};
    put(name, text);
    assert_int_equal(
        utimensat(AT_FDCWD, fgt_path(folder, name), (const struct timespec[]){time, time}, 0), 0);
}

/* On a disk with coarse times, by the number of the run; that of a sweep counts too, and a hidden
 * folder does not. */
static void of_equal_times_the_number_decides(void **state)
{
    static const char *const names[] = {"runs/r-8",  "runs/r-9",   "runs/r-10",
                                        "runs/r-11", "runs/sweep", "runs/.hidden"};
    char *name = NULL, file[64];
    (void)state;
    assert_int_equal(chdir(folder), 0);
    for (int i = 0; i < 6; i++) {
        fgt_ok(fgi_folder_make(names[i], &err));
        if (i == 4) {
            fgt_ok(fgi_run_find("last", &name, &err));
            assert_string_equal(name, "runs/r-11");
            fg_free(name);
        }
        (void)snprintf(file, sizeof file, "%s/%s", names[i],
                       i < 4 ? "metrics.jsonl" : "sweep.json");
        put_at(file, i < 4 ? metrics : "{}", i < 4 ? 0 : i);
    }
    fgt_ok(fgi_run_find("last", &name, &err));
    assert_string_equal(name, "runs/sweep");
    fg_free(name);
}

/* The time of a run is that of its newest file, whichever it is, to the nanosecond. */
static void the_newest_file_decides(void **state)
{
    static const char *const names[] = {"report.json", "metrics.jsonl", "sweep.json",
                                        "checkpoints/last"};
    char file[64], *name = NULL;
    (void)state;
    assert_int_equal(chdir(folder), 0);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(file, sizeof file, "runs/r-%d/checkpoints", i);
        fgt_ok(fgi_folder_make(file, &err));
    }
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 3; i++) { /* the newest of r-0 is another one each time */
            (void)snprintf(file, sizeof file, "runs/r-%d/%s", i, names[k]);
            put_at(file, "{}", i);
        }
    for (int k = 0; k < 4; k++) {
        (void)snprintf(file, sizeof file, "runs/r-0/%s", names[k]);
        put_at(file, "{}", 3);
        fgt_ok(fgi_run_find("last", &name, &err));
        assert_string_equal(name, "runs/r-0");
        fg_free(name);
        put_at(file, "{}", 0);
        fgt_ok(fgi_run_find("last", &name, &err));
        assert_string_equal(name, "runs/r-2");
        fg_free(name);
    }
    const struct timespec later = {.tv_sec = 4102444800 + 2, .tv_nsec = 1};
    assert_int_equal(
        utimensat(AT_FDCWD, "runs/r-1/report.json", (const struct timespec[]){later, later}, 0), 0);
    fgt_ok(fgi_run_find("last", &name, &err));
    assert_string_equal(name, "runs/r-1");
    fg_free(name);
}

static fg_status make_page(void *self, fg_error *e)
{
    char *text = NULL;
    (void)self;
    const fg_status status = fg_report_run(folder, FG_REPORT_HTML, &text, e);
    fg_free(text);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    put_all();
    fgt_fault_loop(make_page, NULL);
}

/* Names of folders and files need not be UTF-8; JSON and pages are. */
static void invalid_utf8_is_replaced(void **state)
{
    char name[600];
    (void)state;
    (void)snprintf(name, sizeof name, "%s/caf\xe9", folder);
    fgt_ok(fgi_folder_make(name, &err));
    put("caf\xe9/metrics.jsonl", metrics);
    put("caf\xe9/config.yaml", "task: \xff\xc3\xa9\n");
    for (int form = FG_REPORT_TEXT; form <= FG_REPORT_HTML; form++) {
        char *text = NULL;
        fgt_ok(fg_report_run(name, (fg_report_form)form, &text, &err));
        has(text, "/caf?");
        assert_null(strchr(text, '\xff'));
        if (form != FG_REPORT_TEXT)
            has(text, "task: ?\xc3\xa9");
        fg_free(text);
        fgt_ok(
            fg_report_compare((const char *[]){name, name}, 2, (fg_report_form)form, &text, &err));
        has(text, "/caf?");
        fg_free(text);
    }
}

/* A report may have been copied from elsewhere. */
static void escape_sequences_do_not_reach_a_terminal(void **state)
{
    (void)state;
    put("report.json",
        "{\"version\":1,\"state\":\"\\u001b[1m\",\"device\":{\"kind\":\"\\u001b\"},"
        "\"verdicts\":[{\"severity\":\"\\u001b[2J\",\"title\":\"t\"}],"
        "\"loader\":{\"bound_by\":\"\\u0007\",\"stages\":{\"\\u001b[3J_s\":1,"
        "\"a name of more than sixty-four bytes, which is not cut off at any of them_s\":2}},"
        "\"compiles\":[{\"program\":\"\\u001b\",\"cause\":{\"what\":\"\\u001b\",\"old\":"
        "[\"\\u001b\"]}}],\"host_reads\":[{\"at\":\"\\u001b\"}]}");
    put("metrics.jsonl", "{\"step\":1,\"\\u001b[4J\":1}\n");
    char *text = report_as(FG_REPORT_TEXT);
    has(text, "note    t\n");
    has(text,
        "\n  a name of more than sixty-four bytes, which is not cut off at any of them      ");
    for (const char *at = text; *at != '\0'; at++)
        assert_true((unsigned char)*at >= ' ' || *at == '\n');
    fg_free(text);
    text = report_as(FG_REPORT_HTML);
    has(text, "<td>a name of more than sixty-four bytes, which is not cut off at any of them</td>");
    assert_null(strchr(text, 0x1b));
    fg_free(text);
}

/* A path may be cut within a character: the report is not lost for that. */
static void strings_that_are_not_utf8_are_null(void **state)
{
    (void)state;
    static const char *const bad[] = {NULL, "", "\xa9t\xe9.c:31", "\xe2\x82"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_t *value = fgi_json_string(bad[i]);
        assert_true(json_is_null(value));
        json_decref(value);
    }
    json_t *value = fgi_json_string("\xc3\xa9t\xc3\xa9.c:31");
    assert_string_equal(json_string_value(value), "\xc3\xa9t\xc3\xa9.c:31");
    json_decref(value);
}

/* plan.json in the folder is part of the report; a damaged one is an error. */
static void a_plan_is_part_of_the_report(void **state)
{
    (void)state;
    char *text = NULL;
    static const char plan[] = "{\"topologies\":[{\"name\":\"v3-8\"},{\"name\":\"v4-8\"}]}";
    put_all();
    fgt_write(fgt_path(folder, "plan.json"), plan, sizeof plan - 1);
    fgt_ok(fg_report_run(folder, FG_REPORT_JSON, &text, &err));
    assert_non_null(strstr(text, "\"name\": \"v3-8\""));
    assert_null(strstr(text, "v4-8"));    /* only the first machine */
    assert_null(strstr(text, "\"buy\"")); /* verdicts are those of the numbers */
    fg_free(text);
    fgt_write(fgt_path(folder, "plan.json"), "{", 1);
    assert_int_equal(fg_report_run(folder, FG_REPORT_JSON, &text, &err), FG_EFORMAT);
    assert_non_null(strstr(err.message, "plan.json: byte "));
}

/* ---- whole reports --------------------------------------------------------------------------- */

/* The part of a page after its style. */
static const char *body_of(const char *page)
{
    const char *end = strstr(page, "</style>");
    return end != NULL ? end : page;
}

static void compare_with(const char *name, fg_report_form form, fgi_buf *all)
{
    static const char *const ends[] = {"txt", "json", "html"};
    char path[64];
    (void)snprintf(path, sizeof path, "report/%s.%s", name, ends[form]);
    assert_non_null(all->data);
    fgt_golden(path, all->data);
    fgi_buf_fini(all);
}

/* A run with all sections, one with few of them, one that was killed, and one without a report. */
static void whole_reports(void **state)
{
    static const char *const runs[] = {"full", "small", "killed", "rows"};
    (void)state;
    assert_int_equal(chdir(FGT_SOURCE_DIR "/tests/golden/report"), 0);
    for (int form = FG_REPORT_TEXT; form <= FG_REPORT_HTML; form++) {
        fgi_buf all = {0}, side_by_side = {0};
        char *text = NULL;
        for (int i = 0; i < 4; i++) {
            fgt_ok(fg_report_run(runs[i], (fg_report_form)form, &text, &err));
            fgi_buf_puts(&all, body_of(text));
            fg_free(text);
        }
        compare_with("runs", (fg_report_form)form, &all);
        fgt_ok(fg_report_compare(runs, 4, (fg_report_form)form, &text, &err));
        fgi_buf_puts(&side_by_side, body_of(text));
        fg_free(text);
        compare_with("comparison", (fg_report_form)form, &side_by_side);
    }
}

/* ---- the last evaluation --------------------------------------------------------------------- */

/* One of class 0 was predicted as class 1, two as class 2; two of class 1 as class 0; of each, 6
 * are right. */
static json_t *matrix_row(int i, int count)
{
    json_t *row = json_array();
    for (int k = 0; k < count; k++) {
        const int wrong = i == 0 && k == 1 ? 1 : (i == 0 && k == 2) || (i == 1 && k == 0) ? 2 : 0;
        (void)json_array_append_new(row, json_integer(i == k ? 6 : wrong));
    }
    return row;
}

/* The sections of a page. */
static void put_evaluation_of(fgi_buf *out, const json_t *shown)
{
    fgi_buf page = {0};
    fgi_doc d;
    fgi_doc_begin(&d, &page, true, "page");
    fgi_run_doc_evaluation(&d, shown);
    fgi_doc_end(&d);
    const char *begin = strstr(page.data, "</h1>\n") + strlen("</h1>\n");
    fgi_buf_printf(out, "%.*s", (int)(strstr(begin, "</body>") - begin), begin);
    fgi_buf_fini(&page);
}

/* The evaluation of so many classes, "c0" and so on. */
static char *evaluated_page(int count, const char *image)
{
    json_t *classes = json_array(), *matrix = json_array();
    for (int i = 0; i < count; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "c%d", i);
        (void)json_array_append_new(matrix, matrix_row(i, count));
        (void)json_array_append_new(classes,
                                    json_pack("{s:s, s:i, s:f, s:n, s:f}", "name", name, "samples",
                                              8, "precision", 0.75, "recall", "f1", 0.5));
    }
    json_t *shown =
        json_pack("{s:{s:s, s:i, s:i, s:o, s:o, s:[{s:i, s:s, s:s, s:s, s:f, s:s}]}}", "evaluation",
                  "part", "validation", "samples", 8 * count, "step", 40, "classes", classes,
                  "confusion", matrix, "worst", "index", 7, "name", "<a>", "target", "c0",
                  "prediction", "c2", "loss", 1.5, "image", image);
    fgi_buf page = {0};
    assert_non_null(shown);
    put_evaluation_of(&page, shown);
    json_decref(shown);
    assert_false(page.failed);
    return fgi_buf_take(&page);
}

/* The matrix, and of more classes than a phone shows, the most frequent confusions. */
static void an_evaluation_has_a_matrix(void **state)
{
    static const char picture[] = "data:image/png;base64,AAAA";
    static const char confusions[] = "<tr><td>c0</td><td>c2</td><td class=\"n\">2</td></tr>\n"
                                     "<tr><td>c1</td><td>c0</td><td class=\"n\">2</td></tr>\n"
                                     "<tr><td>c0</td><td>c1</td><td class=\"n\">1</td></tr>\n";
    (void)state;
    char *page = evaluated_page(8, picture);
    has(page, "<p class=\"note\">Of 64 validation samples, with the weights of step 40.</p>");
    has(page, "<div class=\"wide matrix\"><table>");
    has(page, "<td>c0</td><td class=\"n hit\" style=\"background-size:67% 100%\">6</td>"
              "<td class=\"n miss\" style=\"background-size:11% 100%\">1</td>"
              "<td class=\"n miss\" style=\"background-size:22% 100%\">2</td>"
              "<td class=\"n\"></td>");
    has(page, "<tr><td>c7</td><td class=\"n\">8</td><td class=\"n\">75.0 %</td>"
              "<td class=\"n\"></td><td class=\"n\">50.0 %</td></tr>");
    has(page, "<img alt=\"sample &lt;a&gt;\" src=\"data:image/png;base64,AAAA\"/>");
    has(page, "<p>class <b>c0</b>, predicted as <b>c2</b>, loss <b>1.5</b></p>");
    assert_null(strstr(page, "<th>predicted as</th>"));
    fgi_free(page);
    page = evaluated_page(9, "https://example.org/a.png"); /* is not loaded */
    has(page, "<div class=\"wide matrix more\"><table>");
    has(page, "<th>predicted as</th>");
    has(page, confusions);
    assert_null(strstr(page, "example.org"));
    has(page, "<td>&lt;a&gt;</td><td>c0</td><td>c2</td><td class=\"n\">1.5</td>");
    fgi_free(page);
}

/* Numbers, without classes. */
static void an_evaluation_of_a_regression_has_its_samples(void **state)
{
    fgi_buf page = {0};
    (void)state;
    json_t *shown = json_pack("{s:{s:s, s:i, s:i, s:[{s:i, s:f, s:f, s:f}]}}", "evaluation", "part",
                              "validation", "samples", 8, "step", 40, "worst", "index", 7, "target",
                              1.5, "prediction", 2.25, "loss", 0.75);
    assert_non_null(shown);
    put_evaluation_of(&page, shown);
    json_decref(shown);
    has(page.data, "<p class=\"note\">Of 8 validation samples, with the weights of step 40.</p>");
    has(page.data, "<th class=\"n\">prediction</th><th class=\"n\">distance</th>");
    has(page.data, "<td>7</td><td class=\"n\">1.5</td><td class=\"n\">2.25</td>"
                   "<td class=\"n\">0.75</td>");
    fgi_buf_fini(&page);
}

/* More than ten confusions, some as frequent; classes without a matrix that fits, or samples;
 * pictures that are none. */
static const char *const evaluations[] = {
    "{'part': 'validation', 'samples': 4, 'step': 7, 'classes': [{'name': 'a', 'samples': 4,"
    " 'precision': null, 'recall': 1, 'f1': 0.5}, {'name': 'b', 'samples': 0}],"
    " 'confusion': [[3, 1]]}",
    "{'part': '<test>', 'samples': 4, 'step': 7, 'classes': [{'name': 'a', 'samples': 4,"
    " 'precision': 0.75, 'recall': 0, 'f1': null}, {'name': 'b', 'samples': 0}],"
    " 'confusion': [[3, 1], [2, 0]], 'worst': []}",
    "{'part': 'test', 'samples': 5, 'step': 8, 'worst': ["
    "{'index': 3, 'target': 12345678, 'prediction': null, 'loss': 0.123456,"
    " 'image': 'data:image/png;base64,'},"
    "{'index': 4, 'name': '', 'target': 1, 'prediction': 2, 'loss': 3, 'image':"
    " 'data:image/jpeg;base64,AA\\\"'}]}",
    "{'part': 'test', 'samples': 5, 'step': 8, 'classes': [{'name': 'x', 'samples': 5}], 'worst': ["
    "{'index': 4, 'name': 'n', 'target': 'x', 'prediction': 1.5, 'loss': 123456, 'image':"
    " 'data:image/gif;base64,AAAA'},"
    "{'index': 5, 'target': 'x', 'loss': null, 'image': 'data:image/jpeg;base64,az09+/='}]}",
    ("{'part': 'test', 'samples': 5, 'step': 8, 'classes': [{'name': 'x', 'samples': 5}],"
     " 'confusion': [[0, 1, 2], [1], [], [], [], [], [], [], []]}"),
    "{'part': 'test', 'worst': [{'index': 1, 'target': 2, 'prediction': 1, 'loss': 1e-9}]}",
    "{}",
};

static void put_evaluation(const char *text, fgi_buf *out)
{
    char json[1024];
    (void)snprintf(json, sizeof json, "{'evaluation': %s}", text);
    for (char *c = json; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *shown = fgi_json_load(json, strlen(json), 0, NULL);
    assert_non_null(shown);
    put_evaluation_of(out, shown);
    fgi_buf_puts(out, "\n");
    json_decref(shown);
}

static void put_nine_classes(fgi_buf *out)
{
    enum { CLASSES = 9 };
    json_t *classes = json_array(), *matrix = json_array();
    for (int i = 0; i < CLASSES; i++) {
        json_t *row = json_array();
        for (int k = 0; k < CLASSES; k++)
            (void)json_array_append_new(row,
                                        json_integer((i * 5 + k * 2) % 7 == 3 ? (i + k) % 4 : i));
        (void)json_array_append_new(matrix, row);
        (void)json_array_append_new(
            classes, json_pack("{s:s#, s:i}", "name", &"abcdefghi"[i], 1, "samples", 20));
    }
    json_t *shown = json_pack("{s:{s:s, s:o, s:o}}", "evaluation", "part", "validation", "classes",
                              classes, "confusion", matrix);
    put_evaluation_of(out, shown);
    json_decref(shown);
}

static void whole_evaluations(void **state)
{
    fgi_buf all = {0};
    (void)state;
    for (size_t i = 0; i < sizeof evaluations / sizeof evaluations[0]; i++)
        put_evaluation(evaluations[i], &all);
    put_nine_classes(&all);
    assert_non_null(all.data);
    fgt_golden("report/evaluations.html", all.data);
    fgi_buf_fini(&all);
}

/* ---- small pictures -------------------------------------------------------------------------- */

static size_t from_base64(const char *text, uint8_t *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = 0;
    size_t size = 0, count = 0;
    assert_int_equal(strlen(text) % 4, 0);
    for (; *text != '\0' && *text != '='; text++) {
        const char *at = strchr(digits, *text);
        assert_non_null(at);
        bits = bits << 6 | (uint32_t)(at - digits);
        if (++count % 4 != 1)
            out[size++] = (uint8_t)(bits >> (6 - 2 * ((count - 1) % 4)));
    }
    assert_int_equal(strlen(text), (4 - count % 4) % 4);
    return size;
}

/* The picture of a sample with these values, decoded in gray. */
static void picture_of(const fg_type *type, const void *values, const int64_t given[3],
                       const char *kind, fg_image *out)
{
    static uint8_t bytes[1 << 16];
    fg_dataset *dataset = NULL;
    fg_image_decoder *decoder = NULL;
    const fg_field field = {"x", *type};
    const fg_dataset_spec spec = {.count = 1, .fields = &field, .field_count = 1};
    fgt_ok(fg_dataset_from_arrays(&spec, &values, FG_BORROW, &dataset, &err));
    char *text = fgi_thumbnail(dataset, 0, given);
    assert_non_null(text);
    assert_int_equal(strncmp(text, kind, strlen(kind)), 0);
    const size_t size = from_base64(text + strlen(kind), bytes);
    fgt_ok(fg_image_decoder_create(&decoder, &err));
    fgt_ok(fg_image_decode(decoder, "it", bytes, size, &(fg_image_decode_options){.channels = 1},
                           out, &err));
    fg_image_decoder_destroy(decoder);
    fg_dataset_destroy(dataset);
    fgi_free(text);
}

#define PNG  "data:image/png;base64,"
#define JPEG "data:image/jpeg;base64,"

static void small_images_are_exact(void **state)
{
    static const int64_t none[3], rows_of_3[] = {2, 3, 0};
    static const uint8_t digits[] = {0, 16, 8, 1, 2, 3}, bytes[] = {0, 32, 8, 1, 2, 255};
    static const float real[] = {-1, 3, 1, 1, 1, 1};
    fg_image image = {0};
    (void)state;
    picture_of(&(fg_type){.dtype = FG_U8, .rank = 2, .dim = {3, 2}}, digits, none, PNG, &image);
    assert_true(image.width == 2 && image.height == 3);
    for (int i = 0; i < 6; i++) /* few shades are spread */
        assert_int_equal(image.pixels[i], 15 * digits[i]);
    picture_of(&(fg_type){.dtype = FG_U8, .rank = 1, .dim = {6}}, bytes, rows_of_3, PNG, &image);
    assert_true(image.width == 3 && image.height == 2);
    assert_memory_equal(image.pixels, bytes, 6);
    picture_of(&(fg_type){.dtype = FG_F32, .rank = 2, .dim = {3, 2}}, real, none, PNG, &image);
    assert_true(image.pixels[0] == 0 && image.pixels[1] == 255 && image.pixels[2] == 128);
    static uint8_t noise[48 * 48];
    for (int side = 40; side <= 48; side++) { /* files of different lengths */
        for (int i = 0; i < side * side; i++)
            noise[i] = (uint8_t)(i * i * 37 + i / 7);
        picture_of(&(fg_type){.dtype = FG_U8, .rank = 2, .dim = {side, side}}, noise, none, PNG,
                   &image);
        assert_memory_equal(image.pixels, noise, (size_t)(side * side));
    }
    fg_image_fini(&image);
}

static void large_images_are_shrunk(void **state)
{
    static const int64_t none[3];
    static const int64_t sizes[][4] = {
        {49, 20, 49, 20}, {96, 96, 96, 96}, {200, 100, 96, 48}, {100, 200, 48, 96}};
    static uint8_t pixels[200 * 200];
    fg_image image = {0};
    fg_dataset *dataset = NULL;
    (void)state;
    memset(pixels, 200, sizeof pixels);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        picture_of(&(fg_type){.dtype = FG_U8, .rank = 2, .dim = {sizes[i][0], sizes[i][1]}}, pixels,
                   none, JPEG, &image);
        assert_true(image.height == sizes[i][2] && image.width == sizes[i][3]);
    }
    fg_image_fini(&image);
    const fg_field field = {"x", {.dtype = FG_U8, .rank = 1, .dim = {6}}}; /* no image */
    const void *values = pixels;
    fgt_ok(
        fg_dataset_from_arrays(&(fg_dataset_spec){.count = 1, .fields = &field, .field_count = 1},
                               &values, FG_BORROW, &dataset, &err));
    assert_null(fgi_thumbnail(dataset, 0, none));
    fg_dataset_destroy(dataset);
}

/* Which fields are images: by their own shape, or the one that is given. */
static const struct {
    fg_type type;
    int64_t given[3];
    int64_t height, width; /* 0: it is none */
} shapes[] = {
    {{.dtype = FG_U8, .rank = 2, .dim = {4, 6}}, {0, 0, 0}, 4, 6},
    {{.dtype = FG_U8, .rank = 3, .dim = {4, 6, 1}}, {0, 0, 0}, 4, 6},
    {{.dtype = FG_U8, .rank = 3, .dim = {4, 2, 3}}, {0, 0, 0}, 4, 2},
    {{.dtype = FG_U8, .rank = 3, .dim = {4, 3, 2}}, {0, 0, 0}, 0, 0}, /* two channels */
    {{.dtype = FG_U8, .rank = 3, .dim = {2, 3, 4}}, {0, 0, 0}, 0, 0},
    {{.dtype = FG_U8, .rank = 1, .dim = {24}}, {0, 0, 0}, 0, 0},
    {{.dtype = FG_U8, .rank = 1, .dim = {24}}, {4, 6, 0}, 4, 6},
    {{.dtype = FG_U8, .rank = 1, .dim = {24}}, {4, 6, 1}, 4, 6},
    {{.dtype = FG_U8, .rank = 1, .dim = {24}}, {2, 4, 3}, 2, 4},
    {{.dtype = FG_U8, .rank = 1, .dim = {24}}, {4, 3, 2}, 0, 0},
    {{.dtype = FG_U8, .rank = 1, .dim = {24}}, {4, 5, 1}, 0, 0},
    {{.dtype = FG_U8, .rank = 2, .dim = {4, 6}}, {2, 4, 3}, 2, 4}, /* the given one counts */
    {{.dtype = FG_U8, .rank = 2, .dim = {4, 6}}, {5, 5, 1}, 4, 6}, /* unless it does not fit */
    {{.dtype = FG_F32, .rank = 2, .dim = {4, 6}}, {0, 0, 0}, 4, 6},
    {{.dtype = FG_S32, .rank = 2, .dim = {4, 6}}, {0, 0, 0}, 0, 0},
    {{.dtype = FG_U8, .rank = 4, .dim = {1, 4, 6, 1}}, {0, 0, 0}, 0, 0},
    /* never thinner than a pixel */
    {{.dtype = FG_U8, .rank = 2, .dim = {97, 1}}, {0, 0, 0}, 96, 1},
    {{.dtype = FG_U8, .rank = 2, .dim = {1, 500}}, {0, 0, 0}, 1, 96},
    {{.dtype = FG_U8, .rank = 2, .dim = {48, 49}}, {0, 0, 0}, 48, 49},
};

static void shapes_that_are_images(void **state)
{
    static uint8_t values[48 * 49];
    fg_image image = {0};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const int64_t height = shapes[i].height, width = shapes[i].width;
        const fg_field field = {"x", shapes[i].type};
        const fg_dataset_spec spec = {.count = 1, .fields = &field, .field_count = 1};
        const void *data = values;
        fg_dataset *dataset = NULL;
        if (height > 0) {
            picture_of(&shapes[i].type, values, shapes[i].given,
                       height <= 48 && width <= 48 ? PNG : JPEG, &image);
            if (image.height != height || image.width != width)
                fail_msg("row %zu: %d x %d", i, (int)image.height, (int)image.width);
            continue;
        }
        fgt_ok(fg_dataset_from_arrays(&spec, &data, FG_BORROW, &dataset, &err));
        char *text = fgi_thumbnail(dataset, 0, shapes[i].given);
        if (text != NULL)
            fail_msg("row %zu: is a picture", i);
        fg_dataset_destroy(dataset);
    }
    fg_image_fini(&image);
}

/* Small integers up to 31 are spread; floats from their least to their greatest. */
static void shades(void **state)
{
    static const int64_t none[3];
    static const uint8_t bytes[][4] = {{0, 31, 7, 1}, {0, 32, 7, 1}, {0, 0, 0, 0}, {1, 1, 1, 0}};
    static const uint8_t bright[][4] = {
        {0, 248, 56, 8}, {0, 32, 7, 1}, {0, 0, 0, 0}, {255, 255, 255, 0}};
    static const float real[][4] = {{-2, 2, 0, 1}, {5, 5, 5, 5}, {-6, (float)NAN, -4, -5}};
    static const uint8_t gray[][4] = {{0, 255, 128, 191}, {0, 0, 0, 0}, {0, 0, 255, 128}};
    fg_image image = {0};
    (void)state;
    for (int i = 0; i < 4; i++) {
        picture_of(&(fg_type){.dtype = FG_U8, .rank = 2, .dim = {2, 2}}, bytes[i], none, PNG,
                   &image);
        assert_memory_equal(image.pixels, bright[i], 4);
    }
    for (int i = 0; i < 3; i++) {
        picture_of(&(fg_type){.dtype = FG_F32, .rank = 2, .dim = {2, 2}}, real[i], none, PNG,
                   &image);
        assert_memory_equal(image.pixels, gray[i], 4);
    }
    fg_image_fini(&image);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(whole_reports),
    cmocka_unit_test(whole_evaluations),
    cmocka_unit_test(an_evaluation_has_a_matrix),
    cmocka_unit_test(an_evaluation_of_a_regression_has_its_samples),
    cmocka_unit_test(small_images_are_exact),
    cmocka_unit_test(large_images_are_shrunk),
    cmocka_unit_test(shapes_that_are_images),
    cmocka_unit_test(shades),
    cmocka_unit_test(strings_that_are_not_utf8_are_null),
    cmocka_unit_test_setup_teardown(a_plan_is_part_of_the_report, begin, end),
    cmocka_unit_test_setup_teardown(lines_have_the_numbers, begin, end),
    cmocka_unit_test_setup_teardown(json_has_what_was_read, begin, end),
    cmocka_unit_test_setup_teardown(page_escapes_and_reaches_nowhere, begin, end),
    cmocka_unit_test_setup_teardown(missing_parts_are_left_out, begin, end),
    cmocka_unit_test_setup_teardown(without_a_monitor_the_validation_loss_is_first, begin, end),
    cmocka_unit_test_setup_teardown(damage_is_named, begin, end),
    cmocka_unit_test_setup_teardown(metrics_after_the_report, begin, end),
    cmocka_unit_test_setup_teardown(escape_sequences_do_not_reach_a_terminal, begin, end),
    cmocka_unit_test_setup_teardown(invalid_utf8_is_replaced, begin, end),
    cmocka_unit_test_setup_teardown(last_is_the_newest_run, begin, end),
    cmocka_unit_test_setup_teardown(of_equal_times_the_number_decides, begin, end),
    cmocka_unit_test_setup_teardown(the_newest_file_decides, begin, end),
    cmocka_unit_test_setup_teardown(every_allocation_may_fail, begin, end),
};
FGT_MAIN(tests)
