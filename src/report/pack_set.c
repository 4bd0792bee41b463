/* pack_set.c - options of exports and contact sheets from text, as on the command line.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/report.h>
#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

static fg_status refuse(const char *name, const char *text, const char *expected, fg_error *err)
{
    return fgi_fail(err, FG_EINVAL, "%s: expected %s, got '%s'", name, expected, text);
}

static fg_status set_number(const char *name, const char *text, int64_t most, int64_t *out,
                            fg_error *err)
{
    if (fgi_parse_i64(fgi_str_of(text), out) && *out >= 1 && *out <= most)
        return FG_OK;
    return refuse(name, text, most == 100 ? "a number from 1 to 100" : "a number of at least 1",
                  err);
}

static fg_status set_int(const char *name, const char *text, int most, int *out, fg_error *err)
{
    int64_t value;
    FGI_TRY(set_number(name, text, most, &value, err));
    *out = (int)value;
    return FG_OK;
}

/* Sets an option that both have; *out_is_found is false if there is none of that name. */
static fg_status set_selection(fg_pack_selection *s, const char *name, const char *text,
                               bool *out_is_found, fg_error *err)
{
    int64_t seed;
    *out_is_found = true;
    if (strcmp(name, "split") == 0) {
        s->split = text;
    } else if (strcmp(name, "class") == 0) {
        s->class_name = text;
    } else if (strcmp(name, "limit") == 0) {
        return set_number(name, text, INT64_MAX, &s->limit, err);
    } else if (strcmp(name, "seed") == 0) {
        if (!fgi_parse_i64(fgi_str_of(text), &seed) || seed < 0)
            return refuse(name, text, "a number of at least 0", err);
        s->seed = (uint64_t)seed;
        s->shuffle = true;
    } else {
        *out_is_found = false;
    }
    return FG_OK;
}

fg_status fg_report_pack_export_set(fg_pack_export_options *options, const char *name,
                                    const char *text, fg_error *err)
{
    bool is_found = false;
    FGI_TRY(set_selection(&options->select, name, text, &is_found, err));
    if (is_found)
        return FG_OK;
    if (strcmp(name, "quality") == 0)
        return set_int(name, text, 100, &options->quality, err);
    if (strcmp(name, "format") != 0)
        return refuse("export", name, "split, class, limit, seed, format or quality", err);
    options->as_jpeg = strcmp(text, "jpeg") == 0;
    return options->as_jpeg || strcmp(text, "png") == 0 ? FG_OK
                                                        : refuse(name, text, "png or jpeg", err);
}

fg_status fg_report_pack_sheet_set(fg_pack_sheet_options *options, const char *name,
                                   const char *text, fg_error *err)
{
    bool is_found = false;
    FGI_TRY(set_selection(&options->select, name, text, &is_found, err));
    if (is_found)
        return FG_OK;
    if (strcmp(name, "rows") == 0)
        return set_int(name, text, INT_MAX, &options->rows, err);
    if (strcmp(name, "columns") == 0)
        return set_int(name, text, INT_MAX, &options->columns, err);
    if (strcmp(name, "cell") == 0)
        return set_int(name, text, INT_MAX, &options->cell, err);
    return refuse("show", name, "split, class, seed, rows, columns or cell", err);
}
