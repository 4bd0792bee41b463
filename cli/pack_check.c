/* pack_check.c - verification, repair and export of packs.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "pack_read.h"
#include "base/buf.h"

/* ---- verify ---------------------------------------------------------------------------------- */

typedef struct faults {
    fgi_buf *text;
    fgi_buf files;   /* the commands that repair them */
    char last[4096]; /* the file of the last fault: faults come file by file */
} faults;

static void advise(faults *f, const char *path)
{
    if (strcmp(f->last, path) == 0)
        return;
    fgi_buf_printf(&f->files, "  fulgurite pack rebuild '%s'\n", path);
    (void)fgi_snprintf(f->last, sizeof f->last, "%s", path);
}

static void add_fault(void *self, const fg_pack_fault *fault)
{
    faults *f = self;
    fgi_buf_printf(f->text, "%s\n", fault->message);
    advise(f, fault->path);
}

static void conclude(faults *f, const fg_pack_report *report)
{
    const bool is_one = report->lost_records == 1;
    if (f->files.size == 0) {
        fgi_buf_printf(f->text, "%" PRId64 " record%s, %s: no faults\n", report->records,
                       fgi_s(report->records), fgi_bytes_words((double)report->size_bytes));
        if (report->lost_records > 0)
            fgi_buf_printf(f->text,
                           "%" PRId64 " %s lost before the pack was rebuilt and %s empty: to "
                           "train without them, set data.damaged to skip\n",
                           report->lost_records, is_one ? "record was" : "records were",
                           is_one ? "is" : "are");
        return;
    }
    fgi_buf_printf(f->text,
                   "%" PRId64 " of %" PRId64 " record%s %s damaged, and %" PRId64
                   " range%s outside records. Copy the file from its source again, or keep the "
                   "intact records:\n%s",
                   report->bad_records, report->records, fgi_s(report->records),
                   report->bad_records == 1 ? "is" : "are", report->bad_others,
                   fgi_s(report->bad_others), f->files.data);
}

static fg_status verify(const char *path, faults *f, bool *out_is_damaged, fg_error *err)
{
    fg_pack *pack = NULL;
    fg_pack_report report = {0};
    fg_status status = fg_pack_open(path, NULL, &pack, err);
    if (status == FG_EFORMAT) { /* the message has the damaged file, which need not be `path` */
        fgi_buf_printf(f->text,
                       "%s\nThe pack cannot be opened. Copy the file from its source again, or "
                       "keep the intact records: fulgurite pack rebuild FILE\n",
                       err->message);
        *out_is_damaged = true;
        return FG_OK;
    }
    FGI_TRY(status);
    status = fg_pack_verify(pack, add_fault, f, &report, err);
    if (status == FG_OK || status == FG_EFORMAT) {
        *out_is_damaged = status == FG_EFORMAT;
        conclude(f, &report);
        status = FG_OK;
    }
    fg_pack_close(pack);
    return status;
}

fg_status pack_verify(const char *path, fgi_buf *out, bool *out_is_damaged, fg_error *err)
{
    static faults f;
    f = (faults){.text = out};
    *out_is_damaged = false;
    const fg_status status = verify(path, &f, out_is_damaged, err);
    out->failed |= f.files.failed;
    fgi_buf_fini(&f.files);
    return status;
}

/* ---- rebuild --------------------------------------------------------------------------------- */

fg_status pack_rebuild(const char *path, const char *out_path, fgi_buf *out, fg_error *err)
{
    fg_pack_report report = {0};
    const char *target = out_path != NULL ? out_path : path;
    FGI_TRY(fg_pack_rebuild(path, target, &report, err));
    fgi_buf_printf(out, "%s: %" PRId64 " record%s", target, report.records, fgi_s(report.records));
    if (report.bad_records > 0)
        fgi_buf_printf(out, ", of which %" PRId64 " %s empty now", report.bad_records,
                       report.bad_records == 1 ? "was lost and is" : "were lost and are");
    if (report.bad_others > 0)
        fgi_buf_printf(out, "; %" PRId64 " section%s, such as the class names, %s lost",
                       report.bad_others, fgi_s(report.bad_others),
                       report.bad_others == 1 ? "was" : "were");
    fgi_buf_putc(out, '\n');
    return FG_OK;
}

/* ---- export ---------------------------------------------------------------------------------- */

fg_status pack_export(const char *path, const char *out_path, const fg_pack_export_options *options,
                      fgi_buf *out, fg_error *err)
{
    fg_pack *pack = NULL;
    fg_pack_export_result result;
    FGI_TRY(fg_pack_open(path, NULL, &pack, err));
    const fg_status status = fg_pack_export(pack, out_path, options, &result, err);
    fg_pack_close(pack);
    FGI_TRY(status);
    fgi_buf_printf(out, "%s\t%" PRId64 " file%s\t%s\n", out_path, result.files, fgi_s(result.files),
                   fgi_bytes_words((double)result.size_bytes));
    if (result.has_manifest)
        fgi_buf_printf(out, "%s/manifest.jsonl has the labels, splits and groups\n", out_path);
    if (result.damaged > 0)
        fgi_buf_printf(out, "%" PRId64 " damaged record%s skipped\n", result.damaged,
                       result.damaged == 1 ? " was" : "s were");
    return FG_OK;
}
