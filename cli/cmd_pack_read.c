/* fulgurite pack info, verify, rebuild, export, show: what is done with a pack that exists.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "pack_read.h"

#include <string.h>

#include "out_file.h"

static bool as_json;
static fg_pack_export_options to_export;
static pack_sheet_options to_show;
static const char *sheet_path = "sheet.png", *augment, *format = "png";
static int64_t seed = -1, quality, rows, columns, cell;

static int info(const cli_call *call)
{
    fg_error err = {0};
    fgi_buf text = {0};
    return out_buf("pack", pack_info(call->args[0], as_json, &text, &err), &text, &err);
}

static int verify(const cli_call *call)
{
    fg_error err = {0};
    fgi_buf text = {0};
    bool is_damaged = false;
    const fg_status status = pack_verify(call->args[0], &text, &is_damaged, &err);
    return out_buf("pack", status, &text, &err) == CLI_DONE && !is_damaged ? CLI_DONE : CLI_FAILED;
}

static int rebuild(const cli_call *call)
{
    fg_error err = {0};
    fgi_buf text = {0};
    const char *out = call->count > 1 ? call->args[1] : NULL;
    return out_buf("pack", pack_rebuild(call->args[0], out, &text, &err), &text, &err);
}

#define SELECTION(options)                                                                         \
    CLI_TEXT(0, "split", &(options).select.split, "train|val|test|none",                           \
             "only records of this split"),                                                        \
        CLI_TEXT(0, "class", &(options).select.class_name, "NAME", "only records of this class"),  \
        CLI_NUMBER(0, "seed", &seed, INT, "0.." MOST, "N",                                         \
                   "choose records at random, with this seed")
#define MOST "9223372036854775807"
#define INTS "1..2147483647"

static const cli_option info_options[] = {
    CLI_FLAG('j', "json", &as_json, "print one JSON object with everything"),
    CLI_END,
};
static const cli_option export_options[] = {
    SELECTION(to_export),
    CLI_NUMBER(0, "limit", &to_export.select.limit, INT, "1.." MOST, "N", "at most N records"),
    CLI_TEXT(0, "format", &format, "png|jpeg",
             "file format of records that are not stored as files [png]"),
    CLI_NUMBER(0, "quality", &quality, INT, "1..100", "N",
               "quality of these files if they are JPEGs [90]"),
    CLI_FLAG('f', "force", &to_export.replace, "write into a folder that is not empty"),
    CLI_FLAG(0, "skip-damaged", &to_export.skip_damaged, "continue after damaged records"),
    CLI_END,
};
static const cli_option show_options[] = {
    SELECTION(to_show),
    CLI_NUMBER(0, "rows", &rows, INT, INTS, "N", "number of rows [6]"),
    CLI_NUMBER(0, "columns", &columns, INT, INTS, "N", "number of columns [8]"),
    CLI_NUMBER(0, "cell", &cell, INT, INTS, "N", "size of an image in pixels [128]"),
    CLI_FLAG(0, "by-class", &to_show.by_class, "draw one row per class"),
    CLI_TEXT(0, "augment", &augment, "LIST",
             "draw one row per image: the image, then results of these augmentations"),
    CLI_TEXT('o', "out", &sheet_path, "FILE", "the PNG file [sheet.png]"),
    CLI_END,
};

/* At random if a seed was given. */
static void choose(fg_pack_select_options *select)
{
    select->shuffle = seed >= 0;
    select->seed = seed >= 0 ? (uint64_t)seed : 0;
}

static int export(const cli_call *call)
{
    fg_error err = {0};
    fgi_buf text = {0};
    choose(&to_export.select);
    to_export.as_jpeg = strcmp(format, "jpeg") == 0;
    to_export.quality = (int)quality;
    return out_buf("pack", pack_export(call->args[0], call->args[1], &to_export, &text, &err),
                   &text, &err);
}

static int show(const cli_call *call)
{
    fg_error err = {0};
    fgi_buf text = {0};
    const char *pack = call->args[0];
    choose(&to_show.select);
    to_show.rows = (int)rows;
    to_show.columns = (int)columns;
    to_show.cell = (int)cell;
    return out_buf("pack",
                   augment != NULL ? pack_augment(pack, augment, &to_show, sheet_path, &text, &err)
                                   : pack_sheet(pack, &to_show, sheet_path, &text, &err),
                   &text, &err);
}

#define ROW(id, name, arguments, summary, options, least, most, run)                               \
    const cli_command id = {name, arguments, summary, NULL, options, least, most, false, run, NULL}

ROW(cli_pack_info, "pack info", "PACK", "print what a pack contains", info_options, 1, 1, info);
ROW(cli_pack_verify, "pack verify", "PACK", "check each byte of a pack", NULL, 1, 1, verify);
ROW(cli_pack_rebuild, "pack rebuild", "FILE [OUT]",
    "rebuild a damaged pack file from its intact records", NULL, 1, 2, rebuild);
ROW(cli_pack_export, "pack export", "PACK FOLDER", "write the records as files", export_options, 2,
    2, export);
ROW(cli_pack_show, "pack show", "PACK", "draw images of a pack on one contact sheet (PNG)",
    show_options, 1, 1, show);
