/* pack_set.c - options of exports and contact sheets from text, as on the command line.
 *
 * A row has the name, the range and the place of an option; messages are derived from it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/option.h>
#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "pack_read.h"

typedef struct row {
    fg_option option;
    size_t offset; /* of the member: a string, an int or, if is_wide, 64 bits; of a choice a bool,
                      which is true for the example */
    size_t flag;   /* of a bool that is set, too; 0: none */
    bool is_wide;
} row;

/* ---- rows ------------------------------------------------------------------------------------ */

#define AT(type, member) .offset = offsetof(type, member)

/* The options that both have in `select`. */
#define SELECTION(type)                                                                            \
    {.option = {.name = "split", .kind = FG_OPTION_STRING, .example = "val"},                      \
     AT(type, select.split)},                                                                      \
        {.option = {.name = "class", .kind = FG_OPTION_STRING, .example = "cat"},                  \
         AT(type, select.class_name)},                                                             \
    {                                                                                              \
        .option = {.name = "seed",                                                                 \
                   .kind = FG_OPTION_INT,                                                          \
                   .range = "0..9223372036854775807",                                              \
                   .example = "1"},                                                                \
        AT(type, select.seed), .flag = offsetof(type, select.shuffle), .is_wide = true             \
    }

#define NUMBER(type, member, word, most)                                                           \
    {                                                                                              \
        .option = {.name = (word), .kind = FG_OPTION_INT, .range = "1.." most, .example = "4"},    \
        AT(type, member)                                                                           \
    }

static const row export_rows[] = {
    SELECTION(fg_pack_export_options),
    {.option = {.name = "limit",
                .kind = FG_OPTION_INT,
                .range = "1..9223372036854775807",
                .example = "100"},
     AT(fg_pack_export_options, select.limit),
     .is_wide = true},
    {.option = {.name = "format", .kind = FG_OPTION_CHOICE, .range = "png|jpeg", .example = "jpeg"},
     AT(fg_pack_export_options, as_jpeg)},
    NUMBER(fg_pack_export_options, quality, "quality", "100"),
};

static const row sheet_rows[] = {
    SELECTION(pack_sheet_options),
    NUMBER(pack_sheet_options, rows, "rows", "2147483647"),
    NUMBER(pack_sheet_options, columns, "columns", "2147483647"),
    NUMBER(pack_sheet_options, cell, "cell", "2147483647"),
};

/* ---- setting --------------------------------------------------------------------------------- */

enum { MOST_ROWS = 8 };

static fg_status unknown(const row *rows, size_t count, const char *name, fg_error *err)
{
    const char *names[MOST_ROWS];
    for (size_t i = 0; i < count; i++)
        names[i] = rows[i].option.name;
    const char *near = fgi_nearest(name, names, count);
    return fgi_fail(err, FG_EINVAL, "unknown option '%.80s'%s%s%s", name,
                    near != NULL ? ": did you mean '" : "", near != NULL ? near : "",
                    near != NULL ? "'?" : "");
}

/* Copies a value that was checked to its member; a string is borrowed from `text`. */
static void put(const row *r, const fg_option_values *values, const char *text, char *options)
{
    const char *name = r->option.name;
    char *member = options + r->offset;
    const int64_t number = fg_option_int(values, name);
    if (r->option.kind == FG_OPTION_STRING)
        *(const char **)(void *)member = text;
    else if (r->option.kind == FG_OPTION_CHOICE)
        *(bool *)member = strcmp(fg_option_string(values, name), r->option.example) == 0;
    else if (r->is_wide)
        memcpy(member, &number, sizeof number);
    else
        *(int *)(void *)member = (int)number;
    if (r->flag != 0)
        *(bool *)(options + r->flag) = true;
}

static fg_status set(const row *rows, size_t count, const char *name, const char *text,
                     void *options, fg_error *err)
{
    const fg_option_text item = {.text = text};
    fg_option_values *values = NULL;
    const row *r = rows;
    while (r < rows + count && strcmp(r->option.name, name) != 0)
        r++;
    if (r == rows + count)
        return unknown(rows, count, name, err);
    FGI_TRY(fg_option_values_create(NULL, &r->option, 1, &values, err));
    const fg_status status =
        fg_option_set_items(values, name, &(fg_option_items){&item, 1, NULL}, err);
    if (status == FG_OK)
        put(r, values, text, options);
    fg_option_values_destroy(values);
    return status;
}

fg_status pack_export_set(fg_pack_export_options *options, const char *name, const char *text,
                          fg_error *err)
{
    return set(export_rows, sizeof export_rows / sizeof export_rows[0], name, text, options, err);
}

fg_status pack_sheet_set(pack_sheet_options *options, const char *name, const char *text,
                         fg_error *err)
{
    return set(sheet_rows, sizeof sheet_rows / sizeof sheet_rows[0], name, text, options, err);
}
