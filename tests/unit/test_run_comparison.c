/* test_run_comparison.c - several runs side by side: runs of different length, metrics and
 * configuration, and the keys of config.yaml; every word of the reports of unusual runs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/report.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "golden.h"
#include "input/json_file.h"
#include "report/run_view.h"
#include "report/reports.h"

static fg_error err;

static void put(const char *path, const char *text) { fgt_write(path, text, strlen(text)); }

/* Three runs: of different metrics, lengths, and files. */
static int begin(void **state)
{
    (void)state;
    assert_int_equal(chdir(fgt_temp_folder()), 0);
    fgt_ok(fgi_folder_make("one", &err));
    fgt_ok(fgi_folder_make("two", &err));
    fgt_ok(fgi_folder_make("old", &err));
    put("one/report.json", "{\"version\":1,\"state\":\"finished\",\"seconds\":8,\"steps\":2,"
                           "\"metrics\":{\"train_loss\":3.5,\"val_acc\":0.25},"
                           "\"time\":{\"busy_s\":6,\"idle\":{\"input_s\":2}}}");
    put("one/metrics.jsonl", "{\"step\":1,\"train_loss\":4}\n{\"step\":2,\"train_loss\":3}\n"
                             "{\"step\":2,\"val_acc\":0.5}\n");
    put("one/config.yaml", "task: classification\noptimizer:\n  name: adam\n  lr: 0.1\n");
    put("two/report.json", "{\"version\":1,\"state\":\"failed\",\"seconds\":4,\"steps\":4,"
                           "\"metrics\":{\"train_loss\":7}}");
    put("two/metrics.jsonl", "{\"step\":1,\"train_loss\":1}\n{\"step\":5,\"train_loss\":2}\n");
    put("two/config.yaml", "task: classification\noptimizer:\n  name: adam\n  lr: 0.01\n"
                           "  new<key>: [1,\n    2]\n");
    put("old/metrics.jsonl", "{\"step\":1,\"val_acc\":0.75}\n");
    return 0;
}

static char *compare(fg_report_form form)
{
    static const char *const runs[] = {"one", "two", "old"};
    char *text = NULL;
    fgt_ok(fg_report_compare(runs, 3, form, &text, &err));
    return text;
}

/* The values of a row as JSON. */
static void expect(const json_t *root, const char *name, const char *values)
{
    size_t i;
    json_t *row, *wanted = values != NULL ? fgi_json_load(values, strlen(values), 0, NULL) : NULL;
    json_array_foreach(json_object_get(root, "rows"), i, row)
    {
        if (strcmp(json_string_value(json_object_get(row, "name")), name) != 0)
            continue;
        char *found = json_dumps(json_object_get(row, "values"), JSON_COMPACT);
        if (!json_equal(json_object_get(row, "values"), wanted))
            fail_msg("%s: expected %s, found %s", name, values, found);
        free(found);
        json_decref(wanted);
        return;
    }
    json_decref(wanted);
    if (values != NULL)
        fail_msg("there is no row '%s'", name);
}

static bool has_row(const json_t *root, const char *name)
{
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(root, "rows"), i,
                       row) if (strcmp(json_string_value(json_object_get(row, "name")), name) ==
                                0) return true;
    return false;
}

static void rows_have_a_value_of_each_run(void **state)
{
    (void)state;
    char *text = compare(FG_REPORT_JSON);
    json_t *root = fgi_json_load(text, strlen(text), 0, NULL);
    assert_non_null(root);
    expect(root, "state", "[\"finished\",\"failed\",null]");
    expect(root, "wall time, s", "[8,4,null]");
    expect(root, "busy", "[0.75,null,null]");
    expect(root, "input", "[0.25,null,null]");
    expect(root, "train_loss", "[3.5,2.0,null]"); /* of the epoch, and of the last window */
    expect(root, "val_acc", "[0.5,null,0.75]");
    expect(root, "optimizer.lr", "[\"0.1\",\"0.01\",null]");
    expect(root, "optimizer.new<key>", "[null,\"[1, 2]\",null]");
    assert_false(has_row(root, "train_loss, best")); /* a log line may be a few samples */
    assert_false(has_row(root, "optimizer.name"));   /* the same in all */
    assert_false(has_row(root, "upload"));           /* not known of any */
    json_decref(root);
    fg_free(text);
}

static void has(const char *text, const char *words)
{
    if (strstr(text, words) == NULL)
        fail_msg("'%s' is missing in:\n%s", words, text);
}

static void text_and_page_show_them(void **state)
{
    (void)state;
    char *text = compare(FG_REPORT_TEXT);
    has(text, "                    one       two     old\n");
    has(text, "\nbusy                75.0 %    -       -\n");
    has(text, "\noptimizer.lr        0.1       0.01    -\n");
    fg_free(text);
    static const char *const longer[] = {"a-folder-with-a-long-name", "two"};
    fgt_ok(fgi_folder_make(longer[0], &err));
    put("a-folder-with-a-long-name/metrics.jsonl", "{\"step\":1,\"val_acc\":0.75}\n");
    fgt_ok(fg_report_compare(longer, 2, FG_REPORT_TEXT, &text, &err)); /* its end */
    has(text, "               a-folder-with-a-long-name  two\n");
    fg_free(text);
    /* a report from before the last log lines has other means */
    put("a-folder-with-a-long-name/report.json", "{\"version\":1,\"state\":\"stopped\",\"steps\":1,"
                                                 "\"metrics\":{\"train_loss\":9}}");
    put("a-folder-with-a-long-name/metrics.jsonl", "{\"step\":2,\"lr\":0.5,\"train_loss\":0.75}\n");
    fgt_ok(fg_report_compare(longer, 1, FG_REPORT_TEXT, &text, &err));
    has(text, "\ntrain_loss  0.75\nlr          0.5\n");
    fg_free(text);
    text = compare(FG_REPORT_HTML);
    has(text, "optimizer.new&lt;key&gt;");
    has(text, "<polyline class=\"curve s0\"");
    has(text, "<polyline class=\"curve s1\"");
    has(text, "<circle class=\"dot s2\""); /* one value */
    has(text, "<td data-run=\"one\">finished</td><td data-run=\"two\">failed</td>");
    int named = 0; /* in both plots, although it has only one of the metrics */
    for (const char *at = text; (at = strstr(at, "<i class=\"key s2\"></i>old</span>")) != NULL;
         at++)
        named++;
    assert_int_equal(named, 2);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "<script"));
    fg_free(text);
}

/* A name of up to 15 columns is whole; of a longer one, its end is shown. */
static void names_have_a_space_between_them(void **state)
{
    static const char *const names[] = {"fifteen-columns", "sixteen--columns"};
    char *text = NULL;
    (void)state;
    for (int i = 0; i < 2; i++) {
        fgt_ok(fgi_folder_make(names[i], &err));
        put(fgt_path(names[i], "metrics.jsonl"), "{\"step\":1,\"val_acc\":0.75}\n");
    }
    fgt_ok(fg_report_compare(names, 2, FG_REPORT_TEXT, &text, &err));
    has(text, "               fifteen-columns  sixteen--columns\n");
    fg_free(text);
    fgt_ok(fg_report_compare(names, 2, FG_REPORT_HTML, &text, &err)); /* has room */
    has(text, "<tr><th></th><th>fifteen-columns</th><th>sixteen--columns</th></tr>");
    fg_free(text);
}

/* The best of a run need not be its first or its last value. Metrics of validations come first, and
 * the learning rate last. */
static void metrics_have_their_best_value_and_an_order(void **state)
{
    static const char *const runs[8] = {"best", "one",  "two",  "old",
                                        "best", "best", "best", "best"};
    char *text = NULL;
    (void)state;
    fgt_ok(fgi_folder_make("best", &err));
    put("best/metrics.jsonl", "{\"step\":1,\"lr\":0.1,\"lr_head\":0.2,\"val_acc\":0.5}\n"
                              "{\"step\":2,\"lr\":0.1,\"lr_head\":0.2,\"val_acc\":0.875}\n"
                              "{\"step\":3,\"lr\":0.1,\"lr_head\":0.2,\"val_acc\":0.625}\n");
    fgt_ok(fg_report_compare(runs, 1, FG_REPORT_TEXT, &text, &err));
    has(text, "\nval_acc        0.625\nval_acc, best  0.875\n"
              "lr_head        0.2\n");
    has(text, "\nlr             0.1\n");
    assert_true(strstr(text, "\nlr_head") < strstr(text, "\nlr "));
    fg_free(text);
    fgt_ok(fg_report_compare(runs, 8, FG_REPORT_TEXT, &text, &err)); /* the most */
    assert_true(strcspn(text, "\n") <= 80);
    fg_free(text);
}

static void mistakes_are_named(void **state)
{
    static const char *const runs[9] = {"one", "nowhere"};
    char *text = NULL;
    (void)state;
    assert_int_equal(fg_report_compare(runs, 2, FG_REPORT_TEXT, &text, &err), FG_ENOTFOUND);
    has(err.message, "'nowhere' does not exist");
    assert_int_equal(fg_report_compare(runs, 0, FG_REPORT_TEXT, &text, &err), FG_EINVAL);
    assert_int_equal(fg_report_compare(runs, 9, FG_REPORT_TEXT, &text, &err), FG_EINVAL);
    assert_string_equal(err.message, "9 runs: expected 1 to 8");
    assert_null(text);
}

static void keys_are_read_line_by_line(void **state)
{
    (void)state;
    json_t *keys = fgi_config_lines(
        "# a comment\ntask: regression\n\nmodel:\n  name: mlp  \n"
        "  list:\n    # a: 0\n  - a: 1\n    - b\n  path: a:b\nrest\n  a_key_of_many_letters: 1");
    json_t *wanted = json_pack("{s:s, s:s, s:s, s:s, s:s}", "model.a_key_of_many_letters", "1",
                               "task", "regression", "model.name", "mlp", "model.list",
                               "- a: 1 - b", "model.path", "a:b rest");
    assert_true(json_equal(keys, wanted));
    json_decref(keys);
    json_decref(wanted);
    keys = fgi_config_lines("\n: \n  :\n x");
    json_decref(keys);
}

/* Only a run that has ended has the means of its last epoch. */
static void means_of_an_epoch_are_those_of_a_run_that_ended(void **state)
{
    static const char *const states[] = {"running", "killed", "stopped", "finished"};
    (void)state;
    fgt_ok(fgi_folder_make("part", &err));
    put("part/metrics.jsonl", "{\"step\":20,\"train_acc\":0.875}\n");
    for (int i = 0; i < 4; i++) {
        char report[128];
        fgi_run_view view;
        (void)snprintf(
            report, sizeof report,
            "{\"version\":1,\"state\":\"%s\",\"steps\":20,\"metrics\":{\"train_acc\":0.625}}",
            states[i]);
        put("part/report.json", report);
        fgt_ok(fgi_run_view_open("part", &view, &err));
        assert_int_equal(view.metric_count, 1);
        assert_int_equal(view.metrics[0].is_window, i < 2);
        fgt_close(states[i], view.metrics[0].last, i < 2 ? 0.875 : 0.625, 0, 0);
        fgi_run_view_close(&view);
    }
}

/* ---- unusual runs ---------------------------------------------------------------------------- */

/* Reports of one member more than their version, and metrics; texts have ' instead of ". */
static const struct {
    const char *report, *metrics; /* NULL: no such file */
} unusual[] = {
    {"'state': 'finished', 'seconds': 3599.9, 'steps': 9999, 'epochs': 0.5,"
     " 'samples_per_s': 1234.56, 'step_time': {'p50_s': 0.12345678, 'p95_s': 0.5}",
     NULL},
    {"'state': '', 'seconds': null, 'steps': 1000, 'samples_per_s': 999.96", NULL},
    {"'state': 'a\\u007fb\\nc\\td', 'device': {'kind': 'x', 'count': 2}", NULL},
    {"'device': {'kind': '', 'platform': 'cpu', 'count': 2}", NULL},
    {"'state': 'fifteen letters', 'device': {'kind': 'sixteen  letters'}", NULL},
    {"'compiles': [{'program': 'a', 'seconds': 0.5, 'cached': true, 'step': 0, 'cause':"
     " {'name': 'x', 'old': 1, 'new': 2}}, {'program': 'b', 'seconds': 61, 'cached': 1, 'cause':"
     " {'old': 'f32', 'new': 'bf16'}}, {'program': 'c', 'cause': {'what': 'shape', 'at': 'a.c:1'}},"
     " {'program': 'd', 'cause': {'what': 'shape', 'old': null, 'new': 3}}]",
     NULL},
    {"'state': true, 'steps': [1], 'seconds': {}, 'epochs': null, 'samples_per_s': 'fast',"
     " 'memory': {'peak_bytes': 0}",
     NULL},
    {"'host_reads': [{'at': 'a.c:1', 'count': 1, 'bytes': 1500}, {'at': 'a.c:2', 'count': 0,"
     " 'wait_s': 0.5}, {'at': 'a.c:3', 'count': 2500}]",
     NULL},
    {"'memory': {'peak_bytes': 100, 'limit_bytes': 100}, 'host': {'peak_rss_bytes': 1e9,"
     " 'cpu_s': 61, 'cpus': 1}",
     NULL},
    {"'memory': {'peak_bytes': 100, 'limit_bytes': 0}, 'host': {'cpu_s': 3, 'cpus': 2,"
     " 'cpu_fraction': 1}",
     NULL},
    {"'memory': {'limit_bytes': 100}, 'host': {'cpus': 2, 'cpu_fraction': 1}", NULL},
    {"'time': {'busy_s': 0, 'idle': {'input_s': 3, 'upload_s': -1, 'read_s': 0, 'other_s': 1}}",
     NULL},
    {"'time': {'busy_s': 0, 'idle': {'input_s': 0}}", NULL},
    {"'loader': {'workers': 1, 'bound_by': 'read', 'delivered_samples_per_s': 1000,"
     " 'required_samples_per_s': 2000.4, 'stages': {'read_s': null, 'decode': 0.25, '_s': 1},"
     " 'opens': 1, 'open_seconds': 0.001, 'queue_empty': 0.5}",
     NULL},
    {"'loader': {'workers': 0, 'stages': {'read_s': 'x'}, 'opens': 0, 'queue_mean': 0}", NULL},
    {"'utilization': {'mxu': 0.5, 'mxu_while_busy': 0.75}", NULL},
    {"'utilization': {'flops_per_second': 5e8, 'roofline': 1, 'bytes_per_second': 1e9}", NULL},
    {"'history': [{'started_at': '2026-01-02T03:04:05Z', 'state': 'stopped', 'seconds': 7}]", NULL},
    {"'verdicts': [{'severity': 'low', 'title': 't', 'action': 'do it', 'gain': 0.0994},"
     " {'severity': 'medium', 'detail': 'why', 'gain': 0.0996, 'samples_per_s': {'from': 1}}]",
     NULL},
    {"'started_at': '2026-01-02T03:04:05Z', 'settings': {'monitor': 'val_f1'}, 'windows':"
     " [{'step': 5, 'busy_s': 3, 'input_s': 1, 'samples_per_s': 7}, {'step': 9, 'busy_s': 0,"
     " 'samples_per_s': 9}, {'step': 12, 'other_s': 2}], 'time': {'wall_s': 8, 'busy_s': 2}",
     "{'step': 5, 'val_f1': 0.5, 'val_acc': 0.25, 'val_loss': 2, 'val_rmse': 1, 'val_r2': 0.75,"
     " 'train_loss': 3, 'train_f1': 0.5, 'lr': 0.1, 'grad': 4}\n{'step': 9, 'val_f1': 0.25,"
     " 'val_acc': 0.75, 'val_loss': 1, 'val_rmse': 2, 'val_r2': 0.5, 'lr': 0.2, 'grad': 5}\n"},
    {"'windows': [{'step': 5, 'busy_s': 3}], 'verdicts': [], 'step_time': {'p50_s': 1, 'p5_s': 0.5,"
     " 'p90_s': 2, 'p95_s': 3, 'p99_s': 4, 'max_s': 5, 'count': 1000}, 'time': {'busy_s': 1}",
     "{'step': 5, 'train_loss': 3, 'lr': 0.1}\n{'step': 6, 'train_loss': 2}\n"},
    {"'verdicts': [{'severity': 'high', 'title': 't', 'gain': 0.5, 'samples_per_s': {'from': 999.9,"
     " 'to': 1999.8}}]",
     NULL},
    {"'utilization': {'flops_per_second': 4e9, 'peak_flops': 1e10, 'peak_bytes': 1e9, 'intensity':"
     " 50, 'bytes_per_second': 1e8}, 'host': {'cpu_fraction': 0.5, 'workers': [{'name': 'a',"
     " 'cpu_s': 0}, {'name': 'b', 'cpu_s': 4}, {'name': 'c', 'cpu_s': 1}]}, 'loader': {'stages':"
     " {'read_s': 0, 'decode_s': 2, 'copy': 4}}, 'history': [{'state': 'a'}, {'state': 'b'}]",
     NULL},
    /* means of an epoch are those of the last step */
    {"'state': 'finished', 'steps': 9, 'metrics': {'train_acc': 0.5}",
     "{'step': 8, 'train_acc': 0.25}\n"},
    {"'state': 'finished', 'steps': 8, 'metrics': {'train_acc': 0.5, 'val_acc': 0.5}",
     "{'step': 8, 'train_acc': 0.25, 'train_loss': 2, 'val_acc': 0.25}\n"},
    {"'state': 'killed', 'steps': 8, 'metrics': {'train_acc': 0.5}",
     "{'step': 8, 'epoch': 1, 'train_acc': 0.25}\n"},
    /* the first of equal ones is the best; of errors the lowest */
    {NULL, "{'step': 1, 'val_err': 3, 'val_mae': 1, 'val_acc': 0.5, 'odd': 7}\n"
           "{'step': 2, 'val_err': 1, 'val_mae': 2, 'val_acc': 0.5, 'odd': 1}\n\n"
           "{'step': 3, 'val_err': 2, 'val_mae': null, 'val_acc': null, 'odd': 'x'}\n"},
};

static void put_json(const char *path, const char *before, const char *text, const char *after)
{
    char json[1024];
    (void)snprintf(json, sizeof json, "%s%s%s", before, text, after);
    for (char *c = json; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    put(path, json);
}

static void put_unusual(size_t i)
{
    (void)unlink("unusual/report.json");
    (void)unlink("unusual/metrics.jsonl");
    if (unusual[i].report != NULL)
        put_json("unusual/report.json", "{'version':1,", unusual[i].report, "}");
    if (unusual[i].metrics != NULL)
        put_json("unusual/metrics.jsonl", "", unusual[i].metrics, "");
}

/* The part of a page after its style. */
static const char *body_of(const char *page)
{
    const char *end = strstr(page, "</style>");
    return end != NULL ? end : page;
}

/* Each word of their text, of their page, and of their column in a comparison. */
static void every_word_of_unusual_runs(void **state)
{
    static const char *const runs[] = {"unusual"};
    fgi_buf all = {0}, pages = {0};
    char *text = NULL;
    (void)state;
    fgt_ok(fgi_folder_make("unusual", &err));
    for (size_t i = 0; i < sizeof unusual / sizeof unusual[0]; i++) {
        put_unusual(i);
        fgi_buf_printf(&all, "==== %s\n", unusual[i].report != NULL ? unusual[i].report : "");
        fgt_ok(fg_report_run("unusual", FG_REPORT_TEXT, &text, &err));
        fgi_buf_puts(&all, text);
        fg_free(text);
        fgt_ok(fg_report_run("unusual", FG_REPORT_HTML, &text, &err));
        fgi_buf_puts(&pages, body_of(text));
        fg_free(text);
        fgt_ok(fg_report_compare(runs, 1, FG_REPORT_TEXT, &text, &err));
        fgi_buf_puts(&all, text);
        fg_free(text);
    }
    assert_non_null(all.data);
    assert_non_null(pages.data);
    fgt_golden("report/unusual.txt", all.data);
    fgt_golden("report/unusual.html", pages.data);
    fgi_buf_fini(&all);
    fgi_buf_fini(&pages);
}

/* A run in progress has no end, and no report that is missing. */
static void a_run_in_progress(void **state)
{
    static const char *const words[] = {"1 row of metrics; no report.json",
                                        "in progress: 1 row of metrics"};
    (void)state;
    fgt_ok(fgi_folder_make("live", &err));
    put("live/metrics.jsonl", "{\"step\":1,\"val_acc\":0.75}\n");
    put("live/report.json", "{\"version\":1,\"state\":\"finished\",\"steps\":7}");
    for (int i = 0; i < 2; i++) {
        fgi_run_view view;
        fgi_buf out = {0};
        fgt_ok(fgi_run_view_open("live", &view, &err));
        fgi_run_view_set_live(&view, i == 1);
        fgi_run_state_words(&out, &view);
        assert_string_equal(out.data, i == 1 ? words[1] : "finished, 7 steps");
        fgi_buf_fini(&out);
        fgi_run_view_close(&view);
    }
    (void)unlink("live/report.json");
    put("live/plan.json", "{\"topologies\":[{\"name\":\"v3-8\"}]}"); /* of a run without a report */
    char *text = NULL;
    fgt_ok(fg_report_run("live", FG_REPORT_TEXT, &text, &err));
    has(text, words[0]);
    fg_free(text);
}

/* A fit that was killed and one that cannot end: its lock says so, whatever its report says. */
static void a_lock_without_its_process(void **state)
{
    char *text = NULL;
    (void)state;
    fgt_ok(fgi_folder_make("dead", &err));
    put("dead/report.json", "{\"version\":1,\"state\":\"finished\",\"steps\":7}");
    put("dead/lock", "");
    fgt_ok(fg_report_run("dead", FG_REPORT_TEXT, &text, &err));
    has(text, "finished, 7 steps");
    fg_free(text);
    char host[256] = "", lock[320];
    (void)gethostname(host, sizeof host - 1);
    (void)snprintf(lock, sizeof lock, "1 machine %s\n", host);
    put("dead/lock", lock);
    fgt_ok(fg_report_run("dead", FG_REPORT_TEXT, &text, &err));
    has(text, "killed, 7 steps");
    fg_free(text);
}

/* The first 256 metrics of a run have a place, and each of their values. */
static void more_metrics_than_there_is_room_for(void **state)
{
    fgi_buf line = {0};
    fgi_run_view view;
    (void)state;
    fgt_ok(fgi_folder_make("wide", &err));
    for (int row = 0; row < 2; row++) {
        fgi_buf_printf(&line, "{\"step\":%d", row);
        for (int i = 0; i < 300; i++)
            fgi_buf_printf(&line, ",\"m%d\":%d", i, i);
        fgi_buf_puts(&line, "}\n");
    }
    assert_non_null(line.data);
    put("wide/metrics.jsonl", line.data);
    fgi_buf_fini(&line);
    fgt_ok(fgi_run_view_open("wide", &view, &err));
    assert_int_equal(view.metric_count, 256);
    for (size_t i = 0; i < view.metric_count; i++)
        assert_int_equal(view.metrics[i].count, 2);
    fgi_run_view_close(&view);
}

/* A duration has its unit in its name; one without it is of an older report. */
static void seconds_by_either_name(void **state)
{
    (void)state;
    json_t *o =
        json_pack("{s:f, s:f, s:f, s:n, s:f}", "a_s", 1.0, "a", 2.0, "b", 3.0, "c_s", "c", 4.0);
    fgt_close("a", fgi_json_seconds(o, "a"), 1, 0, 0);
    fgt_close("b", fgi_json_seconds(o, "b"), 3, 0, 0);
    assert_true(isnan(fgi_json_seconds(o, "c")));
    json_decref(o);
}

static fg_status make_page(void *self, fg_error *e)
{
    static const char *const runs[] = {"one", "two", "old"};
    char *text = NULL;
    (void)self;
    const fg_status status = fg_report_compare(runs, 3, FG_REPORT_HTML, &text, e);
    fg_free(text);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    fgt_fault_loop(make_page, NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(rows_have_a_value_of_each_run),
    cmocka_unit_test(text_and_page_show_them),
    cmocka_unit_test(names_have_a_space_between_them),
    cmocka_unit_test(metrics_have_their_best_value_and_an_order),
    cmocka_unit_test(mistakes_are_named),
    cmocka_unit_test(keys_are_read_line_by_line),
    cmocka_unit_test(every_allocation_may_fail),
    cmocka_unit_test(every_word_of_unusual_runs),
    cmocka_unit_test(a_run_in_progress),
    cmocka_unit_test(a_lock_without_its_process),
    cmocka_unit_test(more_metrics_than_there_is_room_for),
    cmocka_unit_test(seconds_by_either_name),
    cmocka_unit_test(means_of_an_epoch_are_those_of_a_run_that_ended),
};

int main(void) { return cmocka_run_group_tests(tests, begin, NULL) == 0 ? 0 : 1; }
