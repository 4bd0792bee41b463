/* test_sweep_report.c - the report of a sweep: which run is the best, the table and its plot, the
 * page, and files that are damaged.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/report.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "golden.h"
#include "base/run_lock.h"
#include "report/reports.h"

static fg_error err;

static void put(const char *path, const char *text) { fgt_write(path, text, strlen(text)); }

static const char record[] =
    "{\"version\":1,\"state\":\"stopped\",\"config\":\"a.yaml\",\"monitor\":\"val_loss\",\"mode\":"
    "\"min\",\"best\":\"lr=0.01\",\"keys\":[\"optimizer.lr\"],\"runs\":["
    "{\"name\":\"lr=0.1\",\"state\":\"failed\",\"settings\":{\"optimizer.lr\":\"0.1\"},\"error\":"
    "\"loss is <nan>\\u001b[2J\\nset "
    "lr\",\"epochs\":0,\"seconds\":1.5,\"metrics\":{},\"best\":null},"
    "{\"name\":\"lr=0.001\",\"state\":\"finished\",\"settings\":{\"optimizer.lr\":\"0.001\"},"
    "\"error\":null,\"epochs\":3,\"seconds\":200,\"metrics\":{\"val_loss\":0.5,\"val_acc\":0.75,"
    "\"train_loss\":0.4},\"best\":0.5},"
    "{\"name\":\"lr=0.01\",\"state\":\"stopped\",\"settings\":{\"optimizer.lr\":\"0.01\"},"
    "\"error\":"
    "null,\"epochs\":2,\"seconds\":12,\"metrics\":{\"val_loss\":0.3,\"val_acc\":0.875},\"best\":"
    "0.25},"
    "{\"name\":\"lr=1\",\"state\":\"pending\",\"settings\":{\"optimizer.lr\":\"1\"}}]}\n";

static int begin(void **state)
{
    (void)state;
    assert_int_equal(chdir(fgt_temp_folder()), 0);
    fgt_ok(fgi_folder_make("sweep/lr=0.001", &err));
    fgt_ok(fgi_folder_make("sweep/lr=0.01", &err));
    put("sweep/sweep.json", record);
    put("sweep/lr=0.001/metrics.jsonl", "{\"step\":1,\"val_loss\":0.6}\n"
                                        "{\"step\":9,\"val_loss\":0.5}\n");
    put("sweep/lr=0.01/metrics.jsonl", "{\"step\":1,\"val_loss\":0.25}\n"
                                       "{\"step\":9,\"val_loss\":0.3}\n");
    return 0;
}

static char *report(fg_report_form form)
{
    char *text = NULL;
    fgt_ok(fg_report_run("sweep", form, &text, &err));
    return text;
}

static void has(const char *text, const char *words)
{
    if (strstr(text, words) == NULL)
        fail_msg("'%s' is missing in:\n%s", words, text);
}

static void the_lines(void **state)
{
    (void)state;
    char *text = report(FG_REPORT_TEXT);
    assert_string_equal(
        text, "stopped: 1 of 4 runs, 1 failed; best val_loss 0.25 with lr=0.01\n"
              "\n"
              "optimizer.lr  state     epochs  best val_loss  val_loss  val_acc        time\n"
              "         0.1  failed         0              -         -        -       1.5 s\n"
              "       0.001  finished       3            0.5       0.5     0.75  3 min 20 s  "
              "##############################\n"
              "        0.01  stopped        2           0.25       0.3    0.875        12 s  "
              "###############\n"
              "           1  pending        -              -         -        -           -\n"
              "best val_loss (lower is better)\n"
              "lr=0.1: loss is <nan>?[2J; set lr\n");
    fg_free(text);
}

/* Texts have ' instead of ". Values of one run, negative ones, two keys, maxima, equal ones, runs
 * without the monitored metric, more metrics than columns, long names. */
static const char *const sweeps[] = {
    "{'version':1,'state':'finished','monitor':'val_loss','mode':'min','keys':['a.b'],'runs':["
    "{'name':'b=1','state':'finished','settings':{'a.b':'1'},'epochs':1,'seconds':0,'best':0,"
    "'metrics':{'val_loss':0}}]}",
    "{'version':1,'state':'finished','monitor':'val_r2','mode':'max','keys':['a.b','c.d'],'runs':["
    "{'name':'x','state':'finished','settings':{'a.b':'1','c.d':'relu'},'best':-0.5,'seconds':60},"
    "{'name':'y','state':'finished','settings':{'a.b':'2','c.d':'tanh'},'best':0.25,'seconds':61},"
    "{'name':'z','state':'finished','settings':{'a.b':'3'},'best':0.25,'seconds':3600}]}",
    "{'version':1,'state':'stopped','monitor':'val_acc','mode':'max','keys':['a.b'],'runs':["
    "{'name':'one','state':'failed','settings':{'a.b':'1'},'error':'first\\nsecond',"
    "'metrics':{'train_acc':1,'train_loss':2}},"
    "{'name':'two','state':'failed','settings':{'a.b':'0.001'},'error':'','epochs':2.5,"
    "'metrics':{'lr':3}}]}",
    "{'version':1,'state':'finished','monitor':'m','mode':'min','keys':['a.b'],'runs':["
    "{'name':'a long name of a run, longer than forty columns','settings':{'a.b':"
    "'a long value of a key, longer than forty columns'},'best':1e-9,'metrics':{'val_1':1,"
    "'val_2':2,'val_3':3,'val_4':4,'val_5':5,'train_1':6}},"
    "{'name':'s','settings':{'a.b':'s'},'best':123456789,'metrics':{'val_5':5,'val_0':7}},"
    "{'name':'t','settings':{'a.b':'t'},'best':1e-9,'metrics':{}}]}",
    "{'version':1,'state':'finished','monitor':'m','mode':'min','keys':[],'runs':[]}",
    /* 8 curves; values by their ratio; of equal settings the better one; none below zero */
    "{'version':1,'state':'finished','monitor':'m','mode':'max','keys':['a.b'],'runs':["
    "{'name':'1','settings':{'a.b':'1'},'best':1},{'name':'2','settings':{'a.b':'30'},'best':3},"
    "{'name':'3','settings':{'a.b':'5'},'best':2},{'name':'4','settings':{'a.b':'5'},'best':7},"
    "{'name':'5','settings':{'a.b':'5'},'best':4},{'name':'6','settings':{'a.b':'8'},'best':1},"
    "{'name':'7','settings':{'a.b':'9'},'best':1},{'name':'8','settings':{'a.b':'9'},'best':1}]}",
    "{'version':1,'state':'finished','monitor':'m','mode':'min','keys':['a.b'],'runs':["
    "{'name':'1','settings':{'a.b':'1'},'best':1},{'name':'2','settings':{'a.b':'30'},'best':0},"
    "{'name':'3','settings':{'a.b':'5'},'best':2}]}",
};

/* Settings that are the same in all runs, and those of which the better of two values counts; axes
 * whose range is just not wide enough for a logarithm, and names of other metrics. */
static const char *const limits[] = {
    "{'version':1,'state':'finished','monitor':'m','mode':'min','keys':['a.b','c.d'],'runs':["
    "{'name':'1','settings':{'a.b':'1','c.d':'2'},'best':3},"
    "{'name':'2','settings':{'a.b':'1','c.d':'2'},'best':2},"
    "{'name':'3','settings':{'a.b':'1','c.d':'40'},'best':1},"
    "{'name':'4','settings':{'a.b':'1','c.d':'40'},'best':4}]}",
    "{'version':1,'state':'finished','monitor':'m','mode':'min','keys':['a.b'],'runs':["
    "{'name':'1','settings':{'a.b':'1'},'best':3,'state':'failed','seconds':0.25},"
    "{'name':'2','settings':{'a.b':'20.5'},'best':2,'state':'finished','epochs':1234567}]}",
    "{'version':1,'state':'finished','monitor':'m','mode':'min','keys':['a.b'],'runs':["
    "{'name':'1','settings':{'a.b':'1'},'best':0.123456789,'metrics':{'val_a':1}},"
    "{'name':'2','settings':{'a.b':'-1'},'best':-2,'metrics':{'val_a':2,'val_b':3}},"
    "{'name':'3','settings':{'a.b':'inf'},'metrics':{'train_a':2}}]}",
    ("{'version':1,'state':'stopped','monitor':'m','mode':'max','keys':['a.b'],'runs':["
     "{'name':'1','settings':{'a.b':'inf'},'best':1},{'name':'2','settings':{'a.b':'2'},'best':1}]"
     "}"),
};

/* The texts and pages of sweeps, for a golden file each. */
static void compare_sweeps(const char *const *records, size_t count, const char *const names[2])
{
    static const fg_report_form forms[] = {FG_REPORT_TEXT, FG_REPORT_HTML};
    fgt_ok(fgi_folder_make("whole", &err));
    for (int f = 0; f < 2; f++) {
        fgi_buf all = {0};
        for (size_t i = 0; i < count; i++) {
            char json[2048], *text = NULL;
            (void)snprintf(json, sizeof json, "%s", records[i]);
            for (char *c = json; *c != '\0'; c++)
                *c = *c == '\'' ? '"' : *c;
            put("whole/sweep.json", json);
            fgt_ok(fg_report_run("whole", forms[f], &text, &err));
            const char *body = strstr(text, "</style>");
            fgi_buf_puts(&all, body != NULL ? body : text);
            fgi_buf_puts(&all, "----\n");
            fg_free(text);
        }
        assert_non_null(all.data);
        fgt_golden(names[f], all.data);
        fgi_buf_fini(&all);
    }
}

static void whole_sweeps(void **state)
{
    static const char *const names[] = {"report/sweeps.txt", "report/sweeps.html"};
    (void)state;
    compare_sweeps(sweeps, sizeof sweeps / sizeof sweeps[0], names);
}

static void limits_of_sweeps(void **state)
{
    static const char *const names[] = {"report/limits_sweeps.txt", "report/limits_sweeps.html"};
    (void)state;
    compare_sweeps(limits, sizeof limits / sizeof limits[0], names);
}

/* A plot for each metric of the eight best runs, with a curve of each. */
static void curves_of_the_best_runs(void **state)
{
    fgi_buf json = {0};
    (void)state;
    fgi_buf_puts(&json, "{\"version\":1,\"state\":\"finished\",\"monitor\":\"m\",\"mode\":"
                        "\"max\",\"keys\":[],\"runs\":[");
    for (int i = 1; i <= 9; i++) {
        char path[64], line[96];
        fgi_buf_printf(&json, "%s{\"name\":\"r%d\",\"settings\":{},\"best\":%d}", i > 1 ? "," : "",
                       i, i);
        (void)snprintf(path, sizeof path, "nine/r%d", i);
        fgt_ok(fgi_folder_make(path, &err));
        (void)snprintf(path, sizeof path, "nine/r%d/metrics.jsonl", i);
        (void)snprintf(line, sizeof line, "{\"step\":1,\"m\":%d%s}\n", i,
                       i == 1   ? ",\"worst\":1"
                       : i == 2 ? ",\"last\":2"
                                : "");
        put(path, line);
    }
    fgi_buf_puts(&json, "]}");
    assert_non_null(json.data);
    put("nine/sweep.json", json.data);
    fgi_buf_fini(&json);
    char *text = NULL;
    int figures = 0;
    fgt_ok(fg_report_run("nine", FG_REPORT_HTML, &text, &err));
    for (const char *at = text; (at = strstr(at, "<figure>")) != NULL; at++)
        figures++;
    assert_int_equal(figures, 2);
    has(text, "aria-label=\"m: r9 from 9 to 9; r8 from 8 to 8; r7 from 7 to 7; r6 from 6 to 6; "
              "r5 from 5 to 5; r4 from 4 to 4; r3 from 3 to 3; r2 from 2 to 2\"");
    has(text, "<figcaption>last</figcaption>");
    has(text, "<h2>Metrics of the best runs</h2>");
    fg_free(text);
}

static void the_page(void **state)
{
    (void)state;
    char *text = report(FG_REPORT_HTML);
    const char *best = strstr(text, "<td class=\"n good\" data-run=\"optimizer.lr\">0.01</td>");
    assert_non_null(best);
    has(best, "0.001"); /* the second one */
    has(text, "best val_loss by optimizer.lr");
    has(text, "<polyline class=\"curve s0\"");
    has(text, "<polyline class=\"curve s1\"");
    has(text, "loss is &lt;nan&gt;?[2J; set lr</td>");
    assert_null(strchr(text, '\033'));
    fg_free(text);
}

/* Fractions have ticks, also if no value is an integer and the axis is not logarithmic. */
static void axes_of_fractions_have_ticks(void **state)
{
    (void)state;
    fgt_ok(fgi_folder_make("dropout", &err));
    put("dropout/sweep.json",
        "{\"version\":1,\"state\":\"finished\",\"monitor\":\"val_loss\",\"mode\":\"min\","
        "\"keys\":[\"model.dropout\"],\"runs\":["
        "{\"name\":\"a\",\"settings\":{\"model.dropout\":\"0.1\"},\"best\":3},"
        "{\"name\":\"b\",\"settings\":{\"model.dropout\":\"0.3\"},\"best\":2},"
        "{\"name\":\"c\",\"settings\":{\"model.dropout\":\"0.5\"},\"best\":4}]}");
    char *text = NULL;
    fgt_ok(fg_report_run("dropout", FG_REPORT_HTML, &text, &err));
    has(text, ">0.2</text>");
    has(text, ">0.4</text>");
    fg_free(text);
}

static void the_object_is_the_file(void **state)
{
    (void)state;
    char *text = report(FG_REPORT_JSON);
    has(text, "\"best\": \"lr=0.01\"");
    fg_free(text);
}

static void higher_may_be_better(void **state)
{
    (void)state;
    char changed[sizeof record];
    memcpy(changed, record, sizeof record);
    memcpy(strstr(changed, "\"min\""), "\"max\"", 5);
    put("sweep/sweep.json", changed);
    char *text = report(FG_REPORT_TEXT);
    has(text, "best val_loss 0.5 with lr=0.001\n");
    has(text, "(higher is better)");
    fg_free(text);
    put("sweep/sweep.json", record);
}

/* sweep.json of a sweep that was killed says "running", also of the run that it trained. */
static void a_killed_sweep(void **state)
{
    char changed[sizeof record];
    (void)state;
    memcpy(changed, record, sizeof record);
    for (char *at = changed; (at = strstr(at, "\"stopped\"")) != NULL;)
        memcpy(at, "\"running\"", 9);
    put("sweep/sweep.json", changed);
    char *text = report(FG_REPORT_TEXT);
    has(text, "killed: 1 of 4 runs, 1 failed; best val_loss 0.25");
    has(text, "        0.01  killed         2 ");
    fg_free(text);
    int fd, why;
    fgt_ok(fgi_lock_take("sweep", &fd, &why, &err));
    text = report(FG_REPORT_TEXT);
    has(text, "running: 1 of 4 runs, 1 failed");
    has(text, "        0.01  running        2 ");
    fg_free(text);
    fgi_lock_release("sweep", fd);
    put("sweep/sweep.json", record);
}

static void refuses(const char *text, fg_status status, const char *message)
{
    char *out = NULL;
    put("sweep/sweep.json", text);
    assert_int_equal(fg_report_run("sweep", FG_REPORT_TEXT, &out, &err), status);
    assert_null(out);
    has(err.message, message);
    put("sweep/sweep.json", record);
}

static void damaged_files(void **state)
{
    (void)state;
    refuses("{\"version\":", FG_EFORMAT, "sweep/sweep.json: byte ");
    refuses("{\"version\":2}", FG_EUNSUPPORTED, "this program reads version 1");
    refuses("{\"version\":0}", FG_EUNSUPPORTED, "this program reads version 1");
    refuses("[]", FG_EFORMAT, "expected an object");
    refuses("{\"version\":1,\"keys\":[],\"runs\":[3]}", FG_EFORMAT, "run 0: expected an object");
    refuses("{\"version\":1,\"keys\":[],\"runs\":[{\"name\":\".lr\",\"settings\":{}}]}", FG_EFORMAT,
            "run 0: expected an object");
    refuses("{\"version\":1,\"keys\":[],\"runs\":[{\"name\":\"../lr\",\"settings\":{}}]}",
            FG_EFORMAT, "run 0: expected an object");
    refuses("{\"version\":1,\"keys\":[],\"runs\":[{\"name\":\"a/b\",\"settings\":{}}]}", FG_EFORMAT,
            "run 0: expected an object");
    put("sweep/lr=0.01/metrics.jsonl", "{\"step\":1,\n");
    char *out = NULL;
    assert_int_equal(fg_report_run("sweep", (fg_report_form)3, &out, &err), FG_EINVAL);
    assert_string_equal(err.message, "form 3: expected one of fg_report_form");
    assert_int_equal(fg_report_run("sweep", FG_REPORT_TEXT, &out, &err), FG_EFORMAT);
    has(err.message, "lr=0.01/metrics.jsonl");
    assert_int_equal(begin(NULL), 0);
}

static fg_status make(void *form, fg_error *error)
{
    char *text = NULL;
    const fg_status status = fg_report_run("sweep", *(fg_report_form *)form, &text, error);
    fg_free(text);
    return status;
}

static void failing_allocations(void **state)
{
    (void)state;
    fg_report_form form = FG_REPORT_TEXT;
    fgt_fault_loop(make, &form);
    form = FG_REPORT_HTML;
    fgt_fault_loop(make, &form);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_lines),
    cmocka_unit_test(the_page),
    cmocka_unit_test(whole_sweeps),
    cmocka_unit_test(limits_of_sweeps),
    cmocka_unit_test(curves_of_the_best_runs),
    cmocka_unit_test(axes_of_fractions_have_ticks),
    cmocka_unit_test(the_object_is_the_file),
    cmocka_unit_test(higher_may_be_better),
    cmocka_unit_test(a_killed_sweep),
    cmocka_unit_test(damaged_files),
    cmocka_unit_test(failing_allocations),
};

int main(void) { return cmocka_run_group_tests(tests, begin, NULL) == 0 ? 0 : 1; }
