/* pack_verify.c - reads every byte of a pack and reports what is damaged, with the record's name.
 *
 * Each byte belongs to the header, a record with its header, a section, the footer, or padding,
 * which must be zero. The header and the footer were checked when the file was opened, and are
 * compared again with what was read then.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "pack/pack_file.h"

typedef struct verifier {
    fgi_pack_file *file;
    fg_pack_fault_fn *fn;
    void *self;
    fg_pack_report report;
    fg_error first; /* fault */
} verifier;

/* Reports a fault whose message is in `err`. */
static void report(verifier *v, int64_t record, const char *name, uint64_t offset,
                   const fg_error *err)
{
    const fg_pack_fault fault = {record, name, v->file->map.path, offset, err->message};
    if (v->first.status == FG_OK)
        v->first = *err;
    if (record >= 0)
        v->report.bad_records++;
    else
        v->report.bad_others++;
    if (v->fn != NULL)
        v->fn(v->self, &fault);
}

/* Reports padding that is not zero, as part of a record if there is one. */
static bool check_zeros(verifier *v, uint64_t begin, uint64_t end, uint64_t index,
                        const fg_pack_entry *entry)
{
    fg_error err;
    const fgi_pack_file *f = v->file;
    if (begin > end || fgi_pack_is_zero(f->map.data + begin, (size_t)(end - begin)))
        return true;
    if (entry != NULL) {
        (void)fgi_pack_file_fail(f, index, entry, begin, "has padding that is not zero", &err);
        report(v, (int64_t)(f->page.first + index), entry->name, begin, &err);
    } else {
        (void)fgi_fail(&err, FG_EFORMAT,
                       "%s: byte %" PRIu64 ": padding up to byte %" PRIu64 " is not zero",
                       f->map.path, begin, end);
        report(v, -1, NULL, begin, &err);
    }
    return false;
}

/* ---- parts of a file ------------------------------------------------------------------------- */

static void check_pages(verifier *v)
{
    const fgi_pack_file *f = v->file;
    const uint64_t at[2] = {0, f->map.size - FGI_PACK_PAGE};
    for (int i = 0; i < 2; i++) {
        fg_error err;
        if (memcmp(f->map.data + at[i], &f->page, sizeof f->page) == 0)
            continue;
        (void)fgi_fail(&err, FG_EFORMAT, "%s: byte %" PRIu64 ": the %s has changed", f->map.path,
                       at[i], i == 0 ? "header" : "footer");
        report(v, -1, NULL, at[i], &err);
    }
}

static void check_sections(verifier *v)
{
    const fgi_pack_file *f = v->file;
    uint64_t at = f->page.records_end;
    for (uint32_t i = 0; i < f->page.section_count; i++) {
        fg_error err = {0};
        const fgi_pack_section *s = &f->page.sections[i];
        (void)check_zeros(v, at, s->offset, 0, NULL);
        if (fgi_pack_file_check(f, s, &err) != FG_OK)
            report(v, -1, NULL, s->offset, &err);
        at = s->offset + s->size;
    }
    (void)check_zeros(v, at, f->map.size - FGI_PACK_PAGE, 0, NULL);
}

/* Checks a record whose header is at `at`. */
static fg_status check_record(const fgi_pack_file *f, uint64_t index, uint64_t at,
                              const fg_pack_entry *entry, fg_error *err)
{
    FGI_TRY(fgi_pack_file_head(f, index, at, entry, err));
    const unsigned char *data = f->map.data + entry->offset_bytes;
    FGI_TRY(fgi_pack_file_check_crc(f, index, entry, data, err));
    return FG_OK;
}

/* Checks a record and the padding around its header; the record before it ends at `before`. Returns
 * where this one ends. */
static uint64_t check_next(verifier *v, uint64_t index, uint64_t before)
{
    fg_error err = {0};
    fg_pack_entry entry;
    const fgi_pack_file *f = v->file;
    const int64_t record = (int64_t)(f->page.first + index);
    const uint64_t at = fgi_pack_align(before, FGI_PACK_HEAD_ALIGN);
    const fgi_pack_head *head = fgi_pack_head_at(f->map.data, f->page.records_end, at);
    const bool is_valid = fgi_pack_file_raw_entry(f, index, &entry);
    if (!is_valid && head != NULL)
        entry = fgi_pack_head_entry(head);
    if (!is_valid)
        (void)fgi_pack_file_fail(f, index, &entry, at, "has an invalid index entry", &err);
    if (!is_valid || check_record(f, index, at, &entry, &err) != FG_OK)
        report(v, record, head != NULL ? fgi_pack_head_name(head) : entry.name, at, &err);
    else if (check_zeros(v, before, at, index, &entry))
        (void)check_zeros(v, at + fgi_pack_head_size(head), entry.offset_bytes, index, &entry);
    v->report.lost_records += is_valid && (entry.flags & FG_PACK_LOST) != 0;
    if (head != NULL)
        return head->offset + head->length;
    return is_valid ? entry.offset_bytes + entry.size_bytes : before;
}

static void check_records(verifier *v)
{
    const fgi_pack_file *f = v->file;
    uint64_t at = FGI_PACK_PAGE;
    for (uint64_t i = 0; i < f->page.count; i++)
        at = check_next(v, i, at);
    v->report.records += (int64_t)f->page.count;
    (void)check_zeros(v, at, f->page.records_end, 0, NULL);
}

fg_status fg_pack_verify(fg_pack *pack, fg_pack_fault_fn *fault, void *self,
                         fg_pack_report *out_report, fg_error *err)
{
    verifier v = {.fn = fault, .self = self};
    fg_status status = FG_OK;
    for (int i = 0; status == FG_OK && i < pack->file_count; i++) {
        v.file = &pack->files[i];
        check_pages(&v);
        check_sections(&v);
        check_records(&v);
        v.report.size_bytes += v.file->map.size;
        status = fgi_pack_map_check(&v.file->map, err);
    }
    if (out_report != NULL)
        *out_report = v.report;
    if (status != FG_OK || v.first.status == FG_OK)
        return status;
    if (err != NULL)
        *err = v.first;
    return FG_EFORMAT;
}
