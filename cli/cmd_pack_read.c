/* fulgurite pack info, verify, rebuild, export, show: what is done with a pack that exists.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "pack_read.h"

#include "out_file.h"

static bool as_json;
static fg_pack_export_options to_export;
static pack_sheet_options to_show;
static const char *sheet_path = "sheet.png", *augment, *texts[6];

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

static const cli_option info_options[] = {
    CLI_FLAG('j', "json", &as_json, "print one JSON object with everything"),
    CLI_END,
};
static const cli_option export_options[] = {
    CLI_TEXT(0, "split", &texts[0], "train|val|test|none", "only records of this split"),
    CLI_TEXT(0, "class", &texts[1], "NAME", "only records of this class"),
    CLI_TEXT(0, "limit", &texts[2], "N", "at most N records"),
    CLI_TEXT(0, "seed", &texts[3], "N", "choose records at random, with this seed"),
    CLI_TEXT(0, "format", &texts[4], "png|jpeg",
             "file format of records that are not stored as files [png]"),
    CLI_TEXT(0, "quality", &texts[5], "N", "quality of these files if they are JPEGs [90]"),
    CLI_FLAG('f', "force", &to_export.replace, "write into a folder that is not empty"),
    CLI_FLAG(0, "skip-damaged", &to_export.skip_damaged, "continue after damaged records"),
    CLI_END,
};
static const cli_option show_options[] = {
    CLI_TEXT(0, "split", &texts[0], "train|val|test|none", "only records of this split"),
    CLI_TEXT(0, "class", &texts[1], "NAME", "only records of this class"),
    CLI_TEXT(0, "seed", &texts[2], "N", "choose records at random, with this seed"),
    CLI_TEXT(0, "rows", &texts[3], "N", "number of rows [6]"),
    CLI_TEXT(0, "columns", &texts[4], "N", "number of columns [8]"),
    CLI_TEXT(0, "cell", &texts[5], "N", "size of an image in pixels [128]"),
    CLI_FLAG(0, "by-class", &to_show.by_class, "draw one row per class"),
    CLI_TEXT(0, "augment", &augment, "LIST",
             "draw one row per image: the image, then results of these augmentations"),
    CLI_TEXT('o', "out", &sheet_path, "FILE", "the PNG file [sheet.png]"),
    CLI_END,
};

static int export(const cli_call *call)
{
    fg_error err = {0};
    fgi_buf text = {0};
    fg_status status = FG_OK;
    for (int i = 0; i < 6 && status == FG_OK; i++)
        if (texts[i] != NULL)
            status = pack_export_set(&to_export, export_options[i].name, texts[i], &err);
    if (status == FG_OK)
        status = pack_export(call->args[0], call->args[1], &to_export, &text, &err);
    return out_buf("pack", status, &text, &err);
}

static int show(const cli_call *call)
{
    fg_error err = {0};
    fgi_buf text = {0};
    const char *pack = call->args[0];
    fg_status status = FG_OK;
    for (int i = 0; i < 6 && status == FG_OK; i++)
        if (texts[i] != NULL)
            status = pack_sheet_set(&to_show, show_options[i].name, texts[i], &err);
    if (status == FG_OK)
        status = augment != NULL ? pack_augment(pack, augment, &to_show, sheet_path, &text, &err)
                                 : pack_sheet(pack, &to_show, sheet_path, &text, &err);
    return out_buf("pack", status, &text, &err);
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
