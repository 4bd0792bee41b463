/* test_plan_page.c - the page of a plan: what an XML parser makes of it. Its texts are looked at as
 * the parser gives them, so that a name which broke out of its place would show as an element.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <expat.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/file.h"
#include "golden.h"
#include "out_file.h"
#include "report/reports.h"

static fg_error err;

/* ---- reading a page -------------------------------------------------------------------------- */

/* What is in a page: all text, words of images, and how many of which elements. */
typedef struct page {
    char *text;
    size_t size;
    int images, tables, bars, scripts, headings;
    bool reaches_out; /* names anything outside the page */
} page;

static void on_start(void *self, const char *name, const char **attributes)
{
    page *p = self;
    p->images += strcmp(name, "img") == 0;
    p->tables += strcmp(name, "table") == 0;
    p->headings += strcmp(name, "h2") == 0;
    p->scripts += strcmp(name, "script") == 0 || strcmp(name, "hostile") == 0;
    for (; attributes[0] != NULL; attributes += 2) {
        p->bars += strcmp(attributes[0], "class") == 0 && strcmp(attributes[1], "bar") == 0;
        p->scripts += strncmp(attributes[0], "on", 2) == 0;
        const bool is_link =
            strcmp(attributes[0], "src") == 0 || strcmp(attributes[0], "href") == 0;
        p->reaches_out |= is_link && strncmp(attributes[1], "data:image/svg+xml,", 19) != 0;
    }
}

static void on_text(void *self, const char *text, int size)
{
    page *p = self;
    p->text = realloc(p->text, p->size + (size_t)size + 1);
    memcpy(p->text + p->size, text, (size_t)size);
    p->size += (size_t)size;
    p->text[p->size] = '\0';
}

static page read_page(const char *path)
{
    page p = {0};
    char *data;
    size_t size;
    fgt_ok(fgi_file_read(path, 1 << 24, &data, &size, &err));
    XML_Parser parser = XML_ParserCreate("UTF-8");
    XML_SetUserData(parser, &p);
    XML_SetElementHandler(parser, on_start, NULL);
    XML_SetCharacterDataHandler(parser, on_text);
    if (XML_Parse(parser, data, (int)size, 1) != XML_STATUS_OK)
        fail_msg("line %lu: %s", XML_GetCurrentLineNumber(parser),
                 XML_ErrorString(XML_GetErrorCode(parser)));
    XML_ParserFree(parser);
    fgi_free(data);
    return p;
}

static void has(const page *p, const char *words)
{
    if (strstr(p->text, words) == NULL)
        fail_msg("'%s' is not in the page", words);
}

static char *path_of(const char *name) { return fgi_path_join(fgt_temp_folder(), name); }

static bool try_page(const char *path, const char *config_path, const json_t *root)
{
    fgi_buf text = {0};
    fgi_plan_page_put(&text, config_path, root);
    fgt_ok(fgi_buf_status(&text, &err));
    const bool is_written = out_file_write(path, text.data, text.size, &err) == FG_OK;
    fgi_buf_fini(&text);
    return is_written;
}

static void write_page(const char *path, const json_t *root)
{
    if (!try_page(path, "run.yaml", root))
        fail_msg("%s", err.message);
}

/* Makes the page of an object given as JSON and reads it. */
static page page_of(const char *json)
{
    json_error_t why;
    json_t *root = json_loads(json, 0, &why);
    if (root == NULL)
        fail_msg("%s", why.text);
    char *path = path_of("page.html");
    write_page(path, root);
    json_decref(root);
    const page p = read_page(path);
    fgi_free(path);
    return p;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const char whole[] =
    "{'status':'done','topologies':["
    "{'name':'v5e:2x4','devices':8,'device_kind':'TPU v5 lite','fits':true,"
    "'hbm_needed_bytes':12345678901,'hbm_available_bytes':16909336064,'batch_size':128,"
    "'max_batch':176,'parameter_bytes':1000000001,'optimizer_bytes':2000000002,"
    "'batch_bytes':30303,'padding_bytes':40404,'activation_bytes':9000000009,"
    "'program_bytes':50505,'estimated_step_s':0.0123,'estimated_samples_per_s':83252,"
    "'compiler':'a compiler','fingerprint':'c0ffee',"
    "'sweep':[{'batch_size':32,'fits':true,'hbm_needed_bytes':4100000000,'cycles_per_sample':77001}"
    ","
    "{'batch_size':64,'fits':true,'hbm_needed_bytes':7200000000,'cycles_per_sample':55002},"
    "{'batch_size':256,'fits':false,'hbm_needed_bytes':null,'cycles_per_sample':null}],"
    "'analysis':{'cycles':8000,'layers':[{'name':'layer1.0.conv1','file':'net.c','line':31,"
    "'cycles':6000,'cycles_fraction':0.75,'lost_cycles':1234,'worst_dimension':{'size':129,"
    "'padded':256,'unit':128,'kind':'batch'}}],'collectives':[{'kind':'all-reduce','count':2,'"
    "bytes':2692096,"
    "'algorithm':'RotatedPincerEmitter','seconds':2.5e-05}],"
    "'slow':[{'what':'matmuls in f64','count':3,'layer':'head'}]},"
    "'input_needed_samples_per_s':83252,'input_needed_bytes_per_s':2e9,"
    "'input_measured_samples_per_s':9990,'input_verdict':'this host delivers 12 % of it'},"
    "{'name':'v2-8','fits':null,'error':'no such compiler'}]}";

/* JSON with the quotes that C has a use for; to be freed. */
static char *json_of(const char *text)
{
    char *json = strdup(text);
    assert_non_null(json);
    for (char *at = json; *at != '\0'; at++)
        *at = *at == '\'' ? '"' : *at;
    return json;
}

static void the_numbers_are_there(void **state)
{
    char *json = json_of(whole);
    const page p = page_of(json);
    static const char *const words[] = {"run.yaml",
                                        "v5e:2x4",
                                        "TPU v5 lite",
                                        "fits",
                                        "12.3 GB",
                                        "16.9 GB",
                                        "176",
                                        "1000000001",
                                        "2000000002",
                                        "40404",
                                        "50505",
                                        "12.3 ms",
                                        "77001",
                                        "55002",
                                        "4.1 GB",
                                        "7.2 GB",
                                        "c0ffee",
                                        "layer1.0.conv1",
                                        "net.c:31",
                                        "75.0 %",
                                        "1234",
                                        "batch 129 to 256, none at 128",
                                        "all-reduce",
                                        "2692096",
                                        "RotatedPincerEmitter",
                                        "25 us",
                                        "matmuls in f64",
                                        "head",
                                        "9990",
                                        "this host delivers 12 % of it",
                                        "no such compiler",
                                        "no verdict",
                                        "does not fit"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        has(&p, words[i]);
    assert_int_equal(p.headings, 2);
    assert_int_equal(p.scripts, 0);
    assert_false(p.reaches_out);
    free(p.text);
    free(json);
}

/* Every character of a page without curves. */
static void a_page_is_as_it_was(void **state)
{
    (void)state;
    char *json = json_of(whole), *data;
    size_t size;
    json_t *root = json_loads(json, 0, NULL);
    const char *usual = getenv("PATH"), *path = fgt_path(fgt_temp_folder(), "page.html");
    char *old_path = strdup(usual != NULL ? usual : "");
    assert_non_null(root);
    assert_int_equal(setenv("PATH", "/nonexistent", 1), 0);
    write_page(path, root);
    assert_int_equal(setenv("PATH", old_path, 1), 0);
    fgt_ok(fgi_file_read(path, 1 << 24, &data, &size, &err));
    fgt_golden("plan/page.html", data);
    fgi_free(data);
    free(old_path);
    json_decref(root);
    free(json);
}

#define STACK "<div class=\"stack\" role=\"img\" aria-label=\"The parts in the table below\">"

/* The part of a page from the heading of a section to the next one. */
static const struct {
    const char *machine, *heading, *expected; /* NULL: there is no such section */
} sections[] = {
    /* what is needed and available */
    {"'parameter_bytes':100,'program_bytes':50,'hbm_available_bytes':150", "Memory per device",
     "<p class=\"note\">The whole bar is 150 B.</p>\n"},
    {"'parameter_bytes':100,'program_bytes':50,'hbm_available_bytes':149", "Memory per device",
     "<p class=\"note\">More than available: 149 B.</p>\n"},
    {"'parameter_bytes':30,'program_bytes':-5,'hbm_available_bytes':600", "Memory per device",
     "<p class=\"note\">The whole bar is 600 B.</p>\n"},
    {"'parameter_bytes':30,'hbm_available_bytes':601", "Memory per device",
     "<p class=\"note\">The bar shows what is needed; far more is available: 601 B.</p>\n"},
    {"'parameter_bytes':30", "Memory per device", STACK},
    {"'parameter_bytes':0,'hbm_available_bytes':601", "Memory per device", NULL},
    {"'parameter_bytes':30,'optimizer_bytes':60,'hbm_available_bytes':120", "Memory per device",
     "<p class=\"note\">The whole bar is 120 B.</p>\n" STACK
     "<div class=\"s3\" style=\"width:24.975%\" title=\"parameters\"></div>"
     "<div class=\"s7\" style=\"width:49.950%\" title=\"optimizer\"></div></div>\n"},
    {"'batch_bytes':30,'padding_bytes':60,'hbm_available_bytes':45", "Memory per device",
     "<p class=\"note\">More than available: 45 B.</p>\n" STACK
     "<div class=\"s0\" style=\"width:33.300%\" title=\"batch\"></div>"
     "<div class=\"s4\" style=\"width:66.600%\" title=\"padding\"></div></div>\n"},
    /* one point is no curve */
    {"'sweep':[{'batch_size':8,'hbm_needed_bytes':5,'cycles_per_sample':2}]", "Batches",
     "<div class=\"wide\">"},
    {"'sweep':[{'batch_size':8,'hbm_needed_bytes':5},{'batch_size':9,'hbm_needed_bytes':6}]",
     "Batches",
     "<div class=\"plots\">\n<figure><figcaption>Memory per device by batch</figcaption>\n"},
    {"'sweep':[{'batch_size':0,'hbm_needed_bytes':5}]", "Batches", NULL},
    {"'analysis':{'cycles':10,'layers':[{'name':'a','cycles':5,'file':'x.c','line':3,"
     "'worst_dimension':{'size':8,'padded':8}},{'name':'b','cycles':2,'file':'y.c','line':0,"
     "'lost_cycles':1,'worst_dimension':{'size':7,'padded':8,'kind':'batch'}}]}",
     "Layers", "<p class=\"note\">"},
    {"'analysis':{'cycles':0,'layers':[{'name':'a','cycles':5},{'name':'b','cycles':-1},"
     "{'name':'c','worst_dimension':{'size':9,'padded':16}}]}",
     "Layers", "<p class=\"note\">"},
    {"'analysis':{'slow':[{'count':1,'what':'gather'},{'count':3,'what':'sort','layer':'head'}]}",
     "Slow operations", "<ul>\n<li>1 x gather</li>\n<li>3 x sort, first in head</li>\n</ul>\n"},
    {"'hosts':1,'input_needed_samples_per_s':5,'input_measured_samples_per_s':4,"
     "'input_verdict':'too slow'",
     "Input", "<div class=\"wide\">"},
    {"'collectives':[{'kind':'all-reduce','count':2,'bytes':30,'seconds':0.5},{'bytes':15}]",
     "Communication between devices", "<div class=\"wide\">"},
    /* facts, also if there is only one of them; batches that saturate a device at once */
    {"'parameter_bytes':30,'device_kind':'TPU v4'", "Memory per device", STACK},
    {"'parameter_bytes':30,'precision':'bf16-mixed'", "Memory per device", STACK},
    {"'parameter_bytes':30,'compiler':'v5'", "Memory per device", STACK},
    {"'parameter_bytes':30,'fingerprint':'c0ffee'", "Memory per device", STACK},
    {"'saturation_batch':1,'sweep':[{'batch_size':8,'fits':true,'hbm_needed_bytes':5,"
     "'cycles_per_sample':0},{'batch_size':16,'cycles_per_sample':5}]",
     "Batches",
     "<div class=\"plots\">\n<figure><figcaption>Cycles per sample by batch (compiler estimate)"},
    {"'analysis':{},'collectives':[{'kind':'all-gather','bytes':8}]",
     "Communication between devices", "<div class=\"wide\">"},
    {"'hosts':2,'input_needed_samples_per_s':8,'input_needed_bytes_per_s':80,"
     "'input_host_samples_per_s':4,'input_host_bytes_per_s':40,'input_measured_samples_per_s':5,"
     "'input_measured_bytes_per_s':50",
     "Input", "<div class=\"wide\">"},
    {"'input_needed_samples_per_s':5", "Input", "<div class=\"wide\">"},
    {"'input_measured_samples_per_s':5", "Input", "<div class=\"wide\">"},
    {"'input_host_samples_per_s':5", "Input", NULL},
};

static void sections_of_a_machine(void **state)
{
    const char *usual = getenv("PATH");
    char *old_path = strdup(usual != NULL ? usual : "");
    fgi_buf all = {0};
    (void)state;
    assert_int_equal(setenv("PATH", "/nonexistent", 1), 0);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        char text[512];
        fgi_buf out = {0};
        (void)snprintf(text, sizeof text, "{'topologies':[{%s}]}", sections[i].machine);
        char *json = json_of(text);
        json_t *root = json_loads(json, 0, NULL);
        fgi_plan_page_put(&out, NULL, root);
        (void)snprintf(text, sizeof text, "<h3>%s</h3>\n%s", sections[i].heading,
                       sections[i].expected != NULL ? sections[i].expected : "");
        if ((strstr(out.data, text) != NULL) != (sections[i].expected != NULL))
            fail_msg("row %zu: %s", i, strstr(out.data, "<h2>"));
        fgi_buf_puts(&all, strstr(out.data, "</style>"));
        json_decref(root);
        free(json);
        fgi_buf_fini(&out);
    }
    assert_int_equal(setenv("PATH", old_path, 1), 0);
    free(old_path);
    fgt_golden("plan/sections.html", all.data);
    fgi_buf_fini(&all);
}

/* The worst of many layers. */
static void a_part_of_many_layers_is_listed(void **state)
{
    static const int counts[] = {12, 13};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char words[32];
        json_t *layers = json_array();
        for (int k = 0; k < counts[i]; k++) {
            (void)snprintf(words, sizeof words, "layer-%02d", k);
            (void)json_array_append_new(layers, json_pack("{s:s}", "name", words));
        }
        json_t *root =
            json_pack("{s:[{s:{s:o}, s:[{s:i, s:i}]}]}", "topologies", "analysis", "layers", layers,
                      "sweep", "batch_size", 8, "cycles_per_sample", 500);
        char *json = json_dumps(root, 0);
        page p = page_of(json);
        has(&p, "layer-11");
        assert_null(strstr(p.text, "layer-12"));
        (void)snprintf(words, sizeof words, "12 of %d layers", counts[i]);
        has(&p, words);
        has(&p, "500"); /* cycles per sample */
        free(p.text);
        free(json);
        json_decref(root);
    }
}

/* Of several hosts, what one must feed is what the loader is measured against. */
static void input_of_a_pod_is_shared_by_its_hosts(void **state)
{
    (void)state;
    char *json = json_of("{'topologies':[{'name':'v4-16','devices':8,'hosts':2,'fits':true,"
                         "'input_needed_samples_per_s':20008,'input_needed_bytes_per_s':2e9,"
                         "'input_host_samples_per_s':10004,'input_host_bytes_per_s':1e9,"
                         "'input_measured_samples_per_s':20002}]}");
    page p = page_of(json);
    has(&p, "of that, each of 2 hosts");
    has(&p, "20008");
    has(&p, "10004");
    has(&p, "1.0 GB");
    assert_int_equal(p.bars, 2); /* of a host and of the loader */
    free(p.text);
    free(json);
}

/* Memory with its limit, and cycles. */
static void batches_have_curves(void **state)
{
    char *json = json_of(whole);
    page p = page_of(json);
    has(&p, "Memory per device by batch");
    has(&p, "Cycles per sample by batch (compiler estimate)");
    has(&p, "available per device");
    free(p.text);
    free(json);
}

/* An integer of the object, as the page prints it. */
static void has_count(const page *p, const json_t *o, const char *key)
{
    char words[32];
    assert_true(json_is_number(json_object_get(o, key)));
    (void)snprintf(words, sizeof words, "%.0f", json_number_value(json_object_get(o, key)));
    has(p, words);
}

/* Of a real plan: fulgurite plan examples/digits.yaml --topology=kaggle,v3-8 --sweep
 * --trainer.precision=bf16-mixed --summary=tests/golden/plan/digits.json */
static void a_recorded_plan_is_shown_in_full(void **state)
{
    static const char *const bytes[] = {"parameter_bytes", "optimizer_bytes",  "batch_bytes",
                                        "padding_bytes",   "activation_bytes", "program_bytes"};
    char *json;
    size_t size, i, k;
    json_t *machine, *one;
    fgt_ok(fgi_file_read(FGT_SOURCE_DIR "/tests/golden/plan/digits.json", 1 << 20, &json, &size,
                         &err));
    json_t *root = json_loads(json, 0, NULL);
    const page p = page_of(json);
    json_array_foreach(json_object_get(root, "topologies"), i, machine)
    {
        const json_t *analysis = json_object_get(machine, "analysis");
        has(&p, json_string_value(json_object_get(machine, "name")));
        has_count(&p, machine, "max_batch");
        for (k = 0; k < sizeof bytes / sizeof bytes[0]; k++)
            has_count(&p, machine, bytes[k]);
        json_array_foreach(json_object_get(machine, "sweep"), k, one)
            has_count(&p, one, "batch_size");
        json_array_foreach(json_object_get(analysis, "layers"), k, one)
        {
            has(&p, json_string_value(json_object_get(one, "name")));
            has_count(&p, one, "cycles");
        }
        json_array_foreach(json_object_get(analysis, "collectives"), k, one)
        {
            has_count(&p, one, "bytes");
            has(&p, json_string_value(json_object_get(one, "algorithm")));
        }
        has_count(&p, machine, "input_measured_samples_per_s");
    }
    assert_int_equal(p.headings, 2);
    json_decref(root);
    fgi_free(json);
    free(p.text);
}

static void what_is_missing_is_left_out(void **state)
{
    page p = page_of("{}");
    assert_int_equal(p.tables, 0);
    free(p.text);
    p = page_of("{\"topologies\":[{}, 7, {\"name\":3,\"sweep\":4,\"analysis\":[],\"layers\":{}}]}");
    assert_int_equal(p.tables, 1);
    assert_int_equal(p.images, 0);
    assert_int_equal(p.headings, 3);
    free(p.text);
}

static void names_are_nothing_but_names(void **state)
{
#define NASTY "</td><hostile onload='x'>&amp;]]>\\\"'\\u0001\\uffff`id`$(id)"
    const page p = page_of(
        "{\"topologies\":[{\"name\":\"" NASTY "\",\"error\":\"" NASTY "\",\"reason\":\"" NASTY
        "\",\"compiler\":\"" NASTY "\",\"input_needed_samples_per_s\":2,\"input_verdict\":\"" NASTY
        "\",\"input_measured_samples_per_s\":1,\"analysis\":{\"layers\":[{\"name\":\"" NASTY
        "\",\"file\":\"" NASTY "\"}],\"collectives\":[{\"kind\":\"" NASTY
        "\",\"algorithm\":\"" NASTY "\"}],\"slow\":[{\"what\":\"" NASTY "\",\"layer\":\"" NASTY
        "\"}]}}]}");
    static const char shown[] =
        "</td><hostile onload='x'>&amp;]]>\"'\xef\xbf\xbd\xef\xbf\xbd`id`$(id)";
    int count = 0;
    for (const char *at = p.text; (at = strstr(at, shown)) != NULL; at++)
        count++;
    assert_int_equal(count, 12); /* the machine's name is in the overview and in its heading */
    assert_int_equal(p.scripts, 0);
    assert_false(p.reaches_out);
    free(p.text);
}

/* An old page stays as it is where the new one cannot be written. */
static void a_page_is_replaced_as_a_whole(void **state)
{
    char *folder = path_of("closed"), *path = fgi_path_join(folder, "plan.html");
    json_t *root = json_object();
    assert_false(try_page(path, NULL, root));
    assert_non_null(strstr(err.message, path));
    fgt_ok(fgi_folder_make(folder, &err));
    fgt_ok(fgi_file_write_atomic(path, "old", 3, &err));
    assert_true(try_page(path, "<b>&.yaml", root));
    page p = read_page(path);
    has(&p, "Plan of a training step");
    has(&p, "Configuration: <b>&.yaml");
    free(p.text);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);  /* nothing else is left there */
    fgt_ok(fgi_folder_make(path, &err)); /* a folder cannot be replaced by a file */
    assert_false(try_page(path, NULL, root));
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
    json_decref(root);
    fgi_free(path);
    fgi_free(folder);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_numbers_are_there),
    cmocka_unit_test(a_page_is_as_it_was),
    cmocka_unit_test(sections_of_a_machine),
    cmocka_unit_test(a_part_of_many_layers_is_listed),
    cmocka_unit_test(input_of_a_pod_is_shared_by_its_hosts),
    cmocka_unit_test(batches_have_curves),
    cmocka_unit_test(a_recorded_plan_is_shown_in_full),
    cmocka_unit_test(what_is_missing_is_left_out),
    cmocka_unit_test(names_are_nothing_but_names),
    cmocka_unit_test(a_page_is_replaced_as_a_whole),
};

FGT_MAIN(tests)
