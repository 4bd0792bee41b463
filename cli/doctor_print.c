/* doctor_print.c - the report of fulgurite doctor, as lines and as JSON.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "checkup.h"
#include "base/print.h"
#include "base/text.h"
#include "doc/doc.h"
#include "input/json_file.h"

static const char *const severities[] = {"note", "warning", "wrong"};

static const char *place_name(const char *place)
{
    static const char *const names[][2] = {{"kaggle", "Kaggle notebook"},
                                           {"colab", "Colab notebook"},
                                           {"tpu-vm", "Google Cloud TPU VM"},
                                           {"gke", "Google Kubernetes Engine pod"},
                                           {"gce", "Google Cloud virtual machine"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i][0], place) == 0)
            return names[i][1];
    return "no cloud or notebook service detected";
}

static void put_tpu(fgi_doc *doc, const fg_host_info *info)
{
    fgi_buf words = {0};
    if (info->tpu_chips == 0) {
        fgi_doc_fact(doc, "tpu", "none");
        return;
    }
    fgi_buf_printf(&words, "%s%s, %d chip%s = %d device%s", info->tpu[0] == 'v' ? "TPU " : "TPU",
                   info->tpu, info->tpu_chips, info->tpu_chips > 1 ? "s" : "", info->tpu_devices,
                   info->tpu_devices > 1 ? "s" : "");
    if (info->tpu_device_bytes > 0)
        fgi_buf_printf(&words, " of %s", fgi_bytes_words((double)info->tpu_device_bytes));
    if (info->tpu_type[0] != '\0')
        fgi_buf_printf(&words, "; %s", info->tpu_type);
    if (info->tpu_topology[0] != '\0')
        fgi_buf_printf(&words, ", %s", info->tpu_topology);
    if (info->tpu_hosts > 1)
        fgi_buf_printf(&words, "; host %d of %d", info->tpu_worker, info->tpu_hosts);
    fgi_doc_fact(doc, "tpu", "%s", fgi_buf_text(&words));
    fgi_buf_fini_part(&words, doc->out);
}

static void put_host(fgi_doc *doc, const fg_host_info *info)
{
    fgi_doc_fact(
        doc, "host", "%d processor%s%s%s, memory %s (%s free), /dev/shm %s, /tmp %s free%s%s",
        info->cpus, fgi_s(info->cpus), info->cpu_name[0] != '\0' ? ", " : "", info->cpu_name,
        fgi_bytes_words((double)info->memory_bytes),
        fgi_bytes_words((double)info->memory_free_bytes), fgi_bytes_words((double)info->shm_bytes),
        fgi_bytes_words((double)info->temp_free_bytes),
        info->hugepages[0] != '\0' ? ", huge pages " : "", info->hugepages);
}

static void put_check(fgi_doc *doc, const checkup_test *t)
{
    const fg_check_result *r = &t->check;
    if (r->was_run)
        fgi_doc_fact(doc, "check", "%d operations in f32, bf16 and f64: %s (%.1f s)", r->operations,
                     r->wrong > 0 ? "FAILED" : "all results are correct", r->seconds);
    else if (t->is_good)
        fgi_doc_fact(doc, "check", "skipped (FULGURITE_PLUGIN_CHECK=off)");
}

static void put_plugins(fgi_doc *doc, const checkup *d)
{
    for (int i = 0; i < DOCTOR_PLUGINS; i++) {
        const checkup_plugin *p = &d->plugins[i];
        if (p->accelerator != NULL && p->path[0] != '\0')
            fgi_doc_fact(doc, "plugin", "%s%s%s: %s", p->accelerator,
                         p->version[0] != '\0' ? " " : "", p->version, p->path);
    }
    if (d->cache[0] != '\0')
        fgi_doc_fact(doc, "cache", "%s: %" PRId64 " program%s, %s", d->cache, d->cache_files,
                     fgi_s(d->cache_files), fgi_bytes_words((double)d->cache_bytes));
    if (d->speed.was_measured)
        fgi_doc_fact(doc, "data", "%" PRId64 " file%s, %s in %.2f s: %.0f MB/s, %.0f files/s",
                     d->speed.files, fgi_s(d->speed.files), fgi_bytes_words((double)d->speed.bytes),
                     d->speed.seconds, (double)d->speed.bytes / 1e6 / d->speed.seconds,
                     (double)d->speed.files / d->speed.seconds);
    if (d->test.was_run && d->test.devices > 0)
        fgi_doc_fact(doc, "test",
                     "%s: %d x %s, PJRT %d.%d%s%s: a matmul on each and an all-reduce: %s (%.1f s)",
                     d->test.platform, d->test.devices, d->test.kind, d->test.api_major,
                     d->test.api_minor, d->test.kernels[0] != '\0' ? ", kernels: " : "",
                     d->test.kernels, d->test.is_good ? "passed" : "FAILED", d->test.seconds);
    put_check(doc, &d->test);
}

static void put_findings(fgi_doc *doc, const checkup *d)
{
    for (size_t i = 0; i < d->finding_count; i++) {
        const fg_finding *f = &d->findings[i];
        fgi_doc_fact(doc, severities[f->severity], "%s [%s]", f->text, f->code);
        if (f->command != NULL && f->command[0] != '\0')
            fgi_doc_fact(doc, "", "-> %s", f->command);
    }
    if (fg_host_variable_count(d->host) > 0)
        fgi_doc_fact(doc, "",
                     "fulgurite doctor --fix -- COMMAND runs a program with these variables "
                     "corrected");
    if (!checkup_is_wrong(d))
        fgi_doc_say(doc, NULL, "nothing is wrong");
}

void checkup_print(fgi_buf *out, const checkup *d)
{
    const fg_host_info *info = fg_host_info_of(d->host);
    fgi_doc doc;
    fgi_doc_begin(&doc, out, false, "");
    fgi_doc_fact(&doc, "platform", "%s", place_name(info->place));
    put_tpu(&doc, info);
    put_host(&doc, info);
    put_plugins(&doc, d);
    put_findings(&doc, d);
    fgi_doc_end(&doc);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *tpu_object(const fg_host_info *info)
{
    if (info->tpu_chips == 0)
        return json_null();
    return json_pack("{s:s, s:o, s:o, s:o, s:i, s:i, s:i, s:i, s:i, s:o}", "generation", info->tpu,
                     "detected_by", fgi_json_string(info->tpu_detected_by), "type",
                     fgi_json_string(info->tpu_type), "topology",
                     fgi_json_string(info->tpu_topology), "chips", info->tpu_chips, "devices",
                     info->tpu_devices, "slice_chips", info->tpu_slice_chips, "hosts",
                     info->tpu_hosts, "worker", info->tpu_worker, "device_bytes",
                     info->tpu_device_bytes > 0 ? json_integer((json_int_t)info->tpu_device_bytes)
                                                : json_null());
}

static json_t *host_object(const fg_host_info *info)
{
    return json_pack(
        "{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "cpus", info->cpus, "cpu_name",
        fgi_json_string(info->cpu_name), "memory_bytes", fgi_json_count(info->memory_bytes),
        "memory_free_bytes", fgi_json_count(info->memory_free_bytes), "shm_bytes",
        fgi_json_count(info->shm_bytes), "temp_free_bytes", fgi_json_count(info->temp_free_bytes),
        "hugepages", fgi_json_string(info->hugepages));
}

/* Also what is not UTF-8, such as a path; null for "". */
static json_t *words_or_null(const char *text)
{
    return text != NULL && *text != '\0' ? fgi_json_name(text) : json_null();
}

static json_t *findings_array(const checkup *d)
{
    json_t *list = json_array();
    for (size_t i = 0; i < d->finding_count; i++) {
        const fg_finding *f = &d->findings[i];
        (void)json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:o}", "severity",
                                                    severities[f->severity], "code", f->code,
                                                    "text", fgi_json_name(f->text), "command",
                                                    words_or_null(f->command)));
    }
    return list;
}

static json_t *plugins_array(const checkup *d)
{
    json_t *list = json_array();
    for (int i = 0; i < DOCTOR_PLUGINS; i++) {
        const checkup_plugin *p = &d->plugins[i];
        if (p->accelerator != NULL)
            (void)json_array_append_new(
                list, json_pack("{s:s, s:o, s:o, s:o}", "accelerator", p->accelerator, "path",
                                words_or_null(p->path), "source", fgi_json_string(p->source),
                                "version", fgi_json_string(p->version)));
    }
    return list;
}

static json_t *check_object(const fg_check_result *r)
{
    if (!r->was_run)
        return json_null();
    return json_pack("{s:i, s:i, s:o, s:o, s:f}", "operations", r->operations, "wrong", r->wrong,
                     "worst", words_or_null(r->worst), "relative_error",
                     isfinite(r->relative_error) ? json_real(r->relative_error) : json_null(),
                     "seconds", r->seconds);
}

static json_t *test_object(const checkup_test *t)
{
    if (!t->was_run)
        return json_null();
    return json_pack("{s:b, s:o, s:o, s:o, s:i, s:[ii], s:f, s:o}", "good", (int)t->is_good,
                     "platform", fgi_json_string(t->platform), "platform_version",
                     fgi_json_string(t->version), "kind", fgi_json_string(t->kind), "devices",
                     t->devices, "pjrt_api", t->api_major, t->api_minor, "seconds", t->seconds,
                     "check", check_object(&t->check));
}

static json_t *data_object(const checkup_speed *s)
{
    if (!s->was_measured)
        return json_null();
    return json_pack("{s:I, s:I, s:f}", "files", (json_int_t)s->files, "bytes",
                     (json_int_t)s->bytes, "seconds", s->seconds);
}

static json_t *fix_object(const fg_host *host)
{
    json_t *object = json_object();
    for (size_t i = 0; i < fg_host_variable_count(host); i++) {
        const fg_host_variable *v = fg_host_variable_at(host, i);
        (void)json_object_set_new(object, v->name,
                                  v->value != NULL ? json_string(v->value) : json_null());
    }
    return object;
}

void checkup_print_json(fgi_buf *out, const checkup *d)
{
    const fg_host_info *info = fg_host_info_of(d->host);
    json_t *cache = d->cache[0] == '\0'
                        ? json_null()
                        : json_pack("{s:o, s:b, s:I, s:I, s:o}", "path", fgi_json_name(d->cache),
                                    "writable", (int)d->cache_is_writable, "programs",
                                    (json_int_t)d->cache_files, "bytes", (json_int_t)d->cache_bytes,
                                    "free_bytes", fgi_json_count(d->cache_free_bytes));
    json_t *top = json_pack("{s:b, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "wrong",
                            (int)checkup_is_wrong(d), "place", info->place, "tpu", tpu_object(info),
                            "host", host_object(info), "plugins", plugins_array(d), "cache", cache,
                            "data", data_object(&d->speed), "test", test_object(&d->test),
                            "findings", findings_array(d), "fix", fix_object(d->host));
    fgi_json_put(out, top, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
}
