/* verdict_input.c - verdicts about the data: what the loader is limited by, and many small files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/result.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "report/verdict.h"
#include "input/json_file.h"

static double stage(const json_t *loader, const char *key)
{
    const double seconds = fgi_json_number(json_object_get(loader, "stages"), key);
    return isfinite(seconds) ? seconds : 0;
}

static fg_input_report report_of(const fgi_verdict_facts *f)
{
    const char *bound_by = fgi_json_words(f->loader, "bound_by");
    return (fg_input_report){
        .stages = {.read_s = stage(f->loader, "read_s"),
                   .entropy_s = stage(f->loader, "entropy_s"),
                   .decode_s = stage(f->loader, "decode_s"),
                   .resize_s = stage(f->loader, "resize_s"),
                   .copy_s = stage(f->loader, "copy_s")},
        .workers = (int)fmax(0, fgi_json_number(f->loader, "workers")),
        .delivered_samples_per_s = fgi_json_number(f->loader, "delivered_samples_per_s"),
        .required_samples_per_s = fgi_json_number(f->loader, "required_samples_per_s"),
        .waited = f->part[FGI_WAIT_INPUT] + f->part[FGI_WAIT_UPLOAD],
        .bound_by = *bound_by != '\0' ? bound_by : NULL,
    };
}

/* What to store differently, by the slowest stage. */
static const char *storage_of(const char *cause, bool can_preload)
{
    static const char *const rows[][3] = {
        {"read", "store the samples in one file: fulgurite pack",
         "read the samples into memory: data.preload=0.8"},
        {"entropy", "store smaller or decoded images: fulgurite pack --presize, --codec", NULL},
        {"decode", "store smaller or decoded images: fulgurite pack --presize, --codec", NULL},
        {"resize", "store images of the size that training needs: fulgurite pack --presize", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(cause, rows[i][0]) == 0)
            return can_preload && rows[i][2] != NULL ? rows[i][2] : rows[i][1];
    return NULL;
}

/* What the wait is for; if other work of the host takes longer, bound_by does not say it. */
static const char *cause_of(const fgi_verdict_facts *f, const fg_input_report *input)
{
    double fraction;
    if (f->part[FGI_WAIT_UPLOAD] > f->part[FGI_WAIT_INPUT])
        return "upload";
    const char *slowest = fg_loader_slowest_stage(&input->stages, &fraction);
    return slowest != NULL ? slowest : "copy";
}

/* Threads help if processors are idle and the stage that limits the loader runs on them. */
static void put_action(const fgi_verdict_facts *f, const fg_input_report *input, fgi_buf *out)
{
    const double cpus = fgi_json_number(f->host, "cpus");
    const double have = fmax(1, input->workers);
    const double need = ceil(have * input->required_samples_per_s / input->delivered_samples_per_s);
    const bool can_preload = json_is_true(json_object_get(f->settings, "can_preload"));
    const char *cause = cause_of(f, input), *storage = storage_of(cause, can_preload);
    const bool has_room = need > have && cpus > have;
    if (strcmp(cause, "upload") == 0) {
        fgi_buf_puts(out, "upload smaller dtypes, such as u8 images that the step scales");
        return;
    }
    if (has_room)
        fgi_buf_printf(out, "use more threads: trainer.workers=%.0f%s", fmin(need, cpus),
                       storage != NULL ? "; or " : "");
    if (storage != NULL)
        fgi_buf_puts(out, storage);
    else if (!has_room)
        fgi_buf_printf(out,
                       "make samples cheaper to read, or use a host with more processors than %.0f",
                       isfinite(cpus) ? cpus : have);
}

bool fgi_verdict_input(const fgi_verdict_facts *f, fgi_verdict *out)
{
    char detail[512];
    const fg_input_report input = report_of(f);
    const double cpu = fgi_json_number(f->host, "cpu_fraction");
    if (input.bound_by == NULL || strcmp(input.bound_by, "device") == 0 ||
        !fgi_verdict_of_fraction(input.waited, &out->severity))
        return false;
    fgi_buf_puts(&out->detail, fg_input_report_format(&input, detail, sizeof detail));
    fgi_buf_printf(&out->detail, " (input %.0f %%, upload %.0f %%); %d loader thread%s",
                   100 * f->part[FGI_WAIT_INPUT], 100 * f->part[FGI_WAIT_UPLOAD], input.workers,
                   fgi_s(input.workers));
    if (isfinite(cpu))
        fgi_buf_printf(&out->detail, ", the host's processors are busy %.0f %% of the time",
                       100 * cpu);
    put_action(f, &input, &out->action);
    out->gain = input.waited;
    return true;
}

bool fgi_verdict_files(const fgi_verdict_facts *f, fgi_verdict *out)
{
    static const double notable = 0.2;
    char all[32], each[32];
    const double opens = fgi_json_number(f->loader, "opens");
    const double open_s = fgi_json_number(f->loader, "open_seconds");
    const double read_s = stage(f->loader, "read_s"), all_s = read_s > open_s ? read_s : open_s;
    const double threads = fmax(1, fgi_json_number(f->loader, "workers"));
    const double waited = f->part[FGI_WAIT_INPUT];
    if (!(opens >= 100) || !(open_s > notable * all_s) || !(all_s > 0))
        return false;
    /* Opening is part of what the device waits for, at most the fraction of all loading. */
    double work_s = 0;
    static const char *const keys[] = {"read_s", "entropy_s", "decode_s", "resize_s", "copy_s"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        work_s += stage(f->loader, keys[i]);
    out->gain = waited * open_s / fmax(work_s, open_s);
    if (!fgi_verdict_of_fraction(out->gain, &out->severity))
        out->severity = FGI_NOTE;
    fgi_buf_printf(&out->detail,
                   "%.0f files were opened, which took %s (%s each) on %.0f threads: %.0f %% of "
                   "the reading time",
                   opens, fgi_duration_words(open_s, all), fgi_duration_words(open_s / opens, each),
                   threads, 100 * open_s / all_s);
    fgi_buf_puts(&out->action, "store the samples in one file: fulgurite pack");
    return true;
}
