/* pack_rebuild.c - writes one file of a pack again from its records.
 *
 * The source is mapped and searched for intact record headers, so neither its header nor its index
 * is needed. All records go through the writer, which places them as before. A record whose bytes
 * are damaged, or whose number is missing, becomes an empty one with FG_PACK_LOST: record numbers
 * do not change.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/print.h"
#include "pack/pack_create.h"
#include "pack/pack_file.h"
#include "pack/pack_scan.h"

typedef struct source {
    fgi_pack_map map;
    const fgi_pack_page *page; /* the header or the footer; NULL if both are damaged */
    const char *metadata;
    const char **names;
    fg_field fields[FG_MAX_FIELDS];
    fg_pack_writer_options options;
    fg_pack_report report;
} source;

/* ---- what describes the pack ----------------------------------------------------------------- */

/* Sets s->page to the header if it is intact, else to the footer. */
static fg_status find_page(source *s, fg_error *err)
{
    fg_error why = {0};
    const uint64_t size = s->map.size;
    const uint64_t at[2] = {0, size - FGI_PACK_PAGE};
    for (int i = 0; i < 2 && s->page == NULL; i++) {
        if (size < FGI_PACK_PAGE || at[i] % 16 != 0)
            continue;
        const fgi_pack_page *page = (const void *)(s->map.data + at[i]);
        const fg_status status = fgi_pack_page_check(page, s->map.path, at[i], &why);
        if (status == FG_EUNSUPPORTED && page->crc == fgi_pack_page_crc(page))
            return fgi_fail(err, FG_EUNSUPPORTED, "%s", why.message);
        if (status == FG_OK && page->section_count <= FGI_PACK_MAX_SECTIONS &&
            page->variant_count > 0 && page->field_count <= FG_MAX_FIELDS)
            s->page = page;
    }
    return FG_OK;
}

/* An intact section of the source and its size; NULL if it is absent or damaged. */
static const void *find_section(source *s, fgi_pack_kind kind, size_t *out_size)
{
    for (uint32_t i = 0; s->page != NULL && i < s->page->section_count; i++) {
        const fgi_pack_section *section = &s->page->sections[i];
        if (section->kind != (uint32_t)kind)
            continue;
        *out_size = (size_t)section->size;
        const bool is_inside =
            section->offset <= s->map.size && section->size <= s->map.size - section->offset;
        const void *data = is_inside ? s->map.data + section->offset : NULL;
        if (is_inside && fgi_crc32c(0, data, (size_t)section->size) == section->crc)
            return data;
        s->report.bad_others++;
    }
    return NULL;
}

static fg_status take_classes(source *s, fg_error *err)
{
    size_t size = 0;
    const char *at = find_section(s, FGI_PACK_CLASSES, &size);
    const size_t count = s->page != NULL ? s->page->class_count : 0;
    if (at == NULL || count > size)
        return FG_OK;
    s->names = fgi_calloc(count + 1, sizeof *s->names);
    if (s->names == NULL)
        return fgi_no_memory(err);
    const char *end = at + size;
    for (size_t i = 0; i < count; i++) {
        const char *nul = memchr(at, 0, (size_t)(end - at));
        if (nul == NULL)
            return FG_OK; /* without class names */
        s->names[i] = at;
        at = nul + 1;
    }
    s->options.class_names = s->names;
    s->options.class_count = (int64_t)count;
    return FG_OK;
}

static void take_fields(source *s)
{
    size_t size = 0;
    const fgi_pack_field *fields = find_section(s, FGI_PACK_FIELDS, &size);
    const int count = s->page != NULL ? (int)s->page->field_count : 0;
    if (fields == NULL || size != (size_t)count * sizeof *fields)
        return;
    for (int i = 0; i < count; i++) {
        const fgi_pack_field *f = &fields[i];
        if (!fgi_pack_field_is_valid(f->name, f->dtype, f->rank, f->dim))
            return;
        s->fields[i] = (fg_field){f->name, {(fg_dtype)f->dtype, (int)f->rank, {0}}};
        memcpy(s->fields[i].type.dim, f->dim, f->rank * sizeof *f->dim);
    }
    s->options.fields = s->fields;
    s->options.field_count = count;
}

static fg_status describe(source *s, fg_error *err)
{
    FGI_TRY(find_page(s, err));
    if (s->page == NULL)
        s->report.bad_others++;
    FGI_TRY(take_classes(s, err));
    take_fields(s);
    size_t size = 0;
    const char *metadata = find_section(s, FGI_PACK_METADATA, &size);
    if (metadata != NULL && size > 0 && memchr(metadata, 0, size) == metadata + size - 1)
        s->metadata = metadata;
    s->options.variant_count = s->page != NULL ? s->page->variant_count : 1;
    return FG_OK;
}

/* ---- records --------------------------------------------------------------------------------- */

static fg_status add_lost(source *s, fg_pack_writer *w, fg_pack_entry entry, fg_error *err)
{
    char name[48];
    (void)fgi_snprintf(name, sizeof name, "lost record %" PRIu64, w->identity.first + w->count);
    entry.flags |= FG_PACK_LOST;
    if (entry.name == NULL)
        entry.name = name;
    s->report.bad_records++;
    return fg_pack_writer_add(w, &entry, NULL, 0, err);
}

static fg_status add_missing(source *s, fg_pack_writer *w, uint64_t until, fg_error *err)
{
    const fg_pack_entry nothing = {.label = FG_PACK_NO_LABEL, .split = FG_PACK_NO_SPLIT};
    while (w->identity.first + w->count < until)
        FGI_TRY(add_lost(s, w, nothing, err));
    return FG_OK;
}

/* The number of the record after the last of this file; UINT64_MAX if it is not known. */
static uint64_t end_number(const source *s)
{
    const bool is_known =
        s->page != NULL && s->page->is_finished != 0 && s->page->count <= FGI_PACK_MAX_RECORDS;
    return is_known ? s->page->first + s->page->count : UINT64_MAX;
}

static fg_status add_records(source *s, fg_pack_writer *w, fg_error *err)
{
    fgi_pack_scan scan = {s->map.data, s->map.size, FGI_PACK_PAGE};
    const uint64_t end = end_number(s);
    const fgi_pack_head *head;
    bool is_intact;
    while ((head = fgi_pack_scan_search(&scan, &is_intact)) != NULL) {
        const uint64_t next = w->identity.first + w->count;
        if (head->number < next || head->number >= end ||
            head->number - next > s->map.size / sizeof *head)
            continue; /* the rest of another file */
        FGI_TRY(add_missing(s, w, head->number, err));
        const fg_pack_entry found = fgi_pack_head_entry(head);
        fg_pack_entry entry = found;
        entry.shard = 0;
        if (is_intact)
            FGI_TRY(fg_pack_writer_add(w, &entry, s->map.data + head->offset, head->length, err));
        else
            FGI_TRY(add_lost(s, w, entry, err));
    }
    if (end != UINT64_MAX && end - w->identity.first <= s->map.size / sizeof *head)
        FGI_TRY(add_missing(s, w, end, err));
    while (w->count % w->identity.variant_count != 0)
        FGI_TRY(add_missing(s, w, w->identity.first + w->count + 1, err));
    return fgi_pack_map_check(&s->map, err);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Whether the file begins with record 0, as far as is known: the first record that is found has
 * that number, or others could have been before it. */
static bool is_first(const source *s)
{
    fgi_pack_scan scan = {s->map.data, s->map.size, FGI_PACK_PAGE};
    bool is_intact;
    const fgi_pack_head *head = fgi_pack_scan_search(&scan, &is_intact);
    if (head == NULL)
        return true;
    const uint64_t at = (uint64_t)((const unsigned char *)head - s->map.data);
    return head->number <= (at - FGI_PACK_PAGE) / sizeof *head;
}

static fg_status write_again(source *s, const char *out_path, fg_error *err)
{
    fg_pack_writer *w = NULL;
    const bool is_unknown = s->page == NULL || s->page->is_finished == 0;
    if (is_unknown && !is_first(s))
        return fgi_fail(
            err, FG_EFORMAT,
            "%s: byte 0: the header and the footer are damaged, and the file belongs to "
            "a set: create the pack again",
            s->map.path);
    FGI_TRY(fgi_pack_writer_create_as(out_path, &s->options, is_unknown ? NULL : s->page, &w, err));
    fg_status status = add_records(s, w, err);
    if (status == FG_OK && w->count == 0 && is_unknown)
        status =
            fgi_fail(err, FG_EFORMAT, "%s: byte %d: no record is left", s->map.path, FGI_PACK_PAGE);
    s->report.records = (int64_t)w->count;
    if (status == FG_OK)
        status = fg_pack_writer_finish(w, s->metadata, err);
    if (status != FG_OK)
        fg_pack_writer_discard(w);
    fg_pack_writer_destroy(w);
    return status;
}

fg_status fg_pack_rebuild(const char *path, const char *out_path, fg_pack_report *out_report,
                          fg_error *err)
{
    source s = {0};
    if (out_report != NULL)
        *out_report = s.report;
    if (path == NULL || out_path == NULL)
        return fgi_fail(err, FG_EINVAL, "fg_pack_rebuild: path or out_path is NULL");
    FGI_TRY(fgi_pack_map_open(path, &s.map, err));
    s.report.size_bytes = s.map.size;
    fg_status status = describe(&s, err);
    if (status == FG_OK)
        status = write_again(&s, out_path, err);
    if (out_report != NULL)
        *out_report = s.report;
    fgi_free(s.names);
    fgi_pack_map_close(&s.map);
    return status;
}
