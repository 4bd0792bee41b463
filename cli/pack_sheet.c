/* pack_sheet.c - a contact sheet of a pack.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/catalog.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "pack_read.h"
#include "sheet.h"

enum { ROWS = 6, COLUMNS = 8, CELL = 128 };

typedef struct drawing {
    fg_pack *pack;
    pack_sheet_options o;
    contact_sheet sheet;
    fg_image image;
    fgi_buf *text;
    int64_t *records; /* [rows][columns] */
    int64_t count;    /* of the last selection */
} drawing;

static const char *class_of(const drawing *d, const fg_pack_entry *entry)
{
    return fg_pack_class_name(d->pack, entry->label_count > 0 ? entry->labels[0] : entry->label);
}

static fg_status put_record(drawing *d, int row, int column, int64_t record, fg_error *err)
{
    fg_pack_entry entry;
    char name[256], label[256] = "";
    FGI_TRY(fg_pack_entry_at(d->pack, record, &entry, err));
    FGI_TRY(fg_pack_image(d->pack, record, d->sheet.decoder, &d->image, err));
    (void)fg_catalog_escape(entry.name, name, sizeof name);
    if (class_of(d, &entry) != NULL)
        (void)fg_catalog_escape(class_of(d, &entry), label, sizeof label);
    const char *slash = strrchr(entry.name, '/');
    const char *base = slash != NULL ? slash + 1 : entry.name;
    fgi_buf_printf(d->text, "%d\t%d\t%" PRId64 "\t%s\t%s\n", row + 1, column + 1, record, label,
                   name);
    return sheet_put(&d->sheet, row, column, &d->image,
                     class_of(d, &entry) != NULL ? class_of(d, &entry) : base, err);
}

/* Draws the selected records into the cells from `row`. */
static fg_status put_selected(drawing *d, const fg_pack_select_options *selection, int row,
                              int rows, fg_error *err)
{
    const int columns = d->o.columns;
    FGI_TRY(
        fg_pack_select(d->pack, selection, d->records, (int64_t)rows * columns, &d->count, err));
    for (int64_t i = 0; i < d->count; i++)
        FGI_TRY(put_record(d, row + (int)(i / columns), (int)(i % columns), d->records[i], err));
    return FG_OK;
}

static fg_status put_classes(drawing *d, fg_error *err)
{
    const int64_t classes = fg_pack_info_of(d->pack)->class_count;
    if (classes == 0)
        return fgi_fail(err, FG_EINVAL, "%s: the pack has no classes", fg_pack_path(d->pack, 0));
    for (int row = 0; row < d->o.rows && row < classes; row++) {
        fg_pack_select_options selection = d->o.select;
        selection.class_name = fg_pack_class_name(d->pack, row);
        FGI_TRY(put_selected(d, &selection, row, 1, err));
    }
    return FG_OK;
}

static fg_status draw(drawing *d, const char *out_path, fg_error *err)
{
    d->o.rows = d->o.rows != 0 ? d->o.rows : ROWS;
    d->o.columns = d->o.columns != 0 ? d->o.columns : COLUMNS;
    d->o.cell = d->o.cell != 0 ? d->o.cell : CELL;
    FGI_TRY(sheet_create(d->o.rows, d->o.columns, d->o.cell, &d->sheet, err));
    d->records = fgi_calloc((size_t)d->o.rows * (size_t)d->o.columns, sizeof *d->records);
    if (d->records == NULL)
        return fgi_no_memory(err);
    if (d->o.by_class)
        FGI_TRY(put_classes(d, err));
    else
        FGI_TRY(put_selected(d, &d->o.select, 0, d->o.rows, err));
    if (d->text->size == 0 && !d->text->failed)
        return fgi_fail(err, FG_ENOTFOUND, "%s: no record is selected", fg_pack_path(d->pack, 0));
    FGI_TRY(fgi_buf_status(d->text, err));
    return sheet_write(&d->sheet, out_path, err);
}

fg_status pack_sheet(const char *path, const pack_sheet_options *options, const char *out_path,
                     fgi_buf *out, fg_error *err)
{
    drawing d = {.o = *options, .text = out};
    fg_status status = fg_pack_open(path, NULL, &d.pack, err);
    if (status == FG_OK)
        status = draw(&d, out_path, err);
    sheet_fini(&d.sheet);
    fg_image_fini(&d.image);
    fgi_free(d.records);
    fg_pack_close(d.pack);
    return status;
}
