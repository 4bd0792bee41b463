/* catalog_options.c - the options of a catalog as a map.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog_options.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "option/option.h"

typedef struct source_text {
    fg_catalog_options catalog; /* the first member: most rows are of this struct */
    const char *delimiter;
} source_text;

#define STRING(type, member, example, help)                                                        \
    FG_OPTION(type, member, STRING, NULL, NULL, example, help)

static const fg_option rows[] = {
    FG_OPTION(fg_catalog_options, kind, CHOICE, NULL, "auto|folder|csv|jsonl|tar|tfrecord", "csv",
              "Kind of source."),
    FG_OPTION(fg_catalog_options, no_split_folders, BOOL, "false", NULL, "true",
              "Folders named train, val and test are classes."),
    FG_OPTION(fg_catalog_options, no_classes, BOOL, "false", NULL, "true",
              "Folders are not classes."),
    STRING(fg_catalog_options, root, "train_images", "Folder of the files of a list."),
    STRING(fg_catalog_options, suffix, ".jpg", "Extension that the paths of a list lack."),
    STRING(fg_catalog_options, path_column, "file", "Column of the paths."),
    STRING(fg_catalog_options, name_column, "id", "Column of the names."),
    STRING(fg_catalog_options, label_column, "class", "Column of the labels."),
    STRING(fg_catalog_options, labels_column, "tags", "Column of lists of labels."),
    FG_OPTION(fg_catalog_options, label_columns, STRINGS, "[]", NULL, "[cat, dog]",
              "Columns of 0 and 1, one for each class."),
    STRING(fg_catalog_options, label_separator, " ", "What separates labels in a cell."),
    STRING(fg_catalog_options, split_column, "part", "Column of the splits."),
    STRING(fg_catalog_options, group_column, "patient", "Column of the groups."),
    STRING(source_text, delimiter, ";", "Cell delimiter of a CSV file."),
    STRING(fg_catalog_options, label_member, "json",
           "Extension of the files in a tar archive that have the labels."),
    STRING(fg_catalog_options, image_feature, "image", "TFRecord feature of the images."),
    STRING(fg_catalog_options, label_feature, "label", "TFRecord feature of the class indices."),
    STRING(fg_catalog_options, text_feature, "class", "TFRecord feature of the class names."),
    STRING(fg_catalog_options, name_feature, "id", "TFRecord feature of the names."),
};

static const fg_entry source = {.name = "source", FG_OPTIONS(rows, source_text)};

static fg_status set_delimiter(const fg_option_values *values, const char *text,
                               fg_catalog_options *options, fg_error *err)
{
    if (text == NULL)
        return FG_OK;
    if (strcmp(text, "\\t") == 0)
        text = "\t";
    if (strlen(text) != 1)
        return fg_option_fail(values, "delimiter", FG_EINVAL, err,
                              "expected one character, such as ; or \\t, got '%s'", text);
    options->delimiter = *text;
    return FG_OK;
}

/* Sets the strings of *options that are given. */
static void set_strings(const source_text *given, fg_catalog_options *options)
{
    for (size_t i = 0; i < source.option_count; i++) {
        const char *text;
        if (rows[i].kind == FG_OPTION_BOOL || rows[i].kind == FG_OPTION_STRINGS ||
            rows[i].offset >= sizeof *options)
            continue;
        memcpy(&text, (const char *)given + rows[i].offset, sizeof text);
        if (text != NULL)
            memcpy((char *)options + rows[i].offset, &text, sizeof text);
    }
}

static fg_status read_all(const char *text, const fg_string_map *map, fg_option_values *values,
                          fg_catalog_options *options, void **out_texts, fg_error *err)
{
    FGI_TRY(fg_option_set_all(values, text, NULL, err));
    for (size_t i = 0; map != NULL && i < map->count; i++)
        FGI_TRY(fg_option_set(values, map->at[i].key, map->at[i].value, NULL, err));
    FGI_TRY(fgi_row_create(&source, values, out_texts, err));
    const source_text *given = *out_texts;
    set_strings(given, options);
    options->no_split_folders |= given->catalog.no_split_folders;
    options->no_classes |= given->catalog.no_classes;
    if (given->catalog.label_columns.count > 0)
        options->label_columns = given->catalog.label_columns;
    return set_delimiter(values, given->delimiter, options, err);
}

fg_status fgi_catalog_options_read(const char *text, const fg_string_map *map,
                                   fg_catalog_options *options, void **out_texts, fg_error *err)
{
    fg_option_values *values = NULL;
    *out_texts = NULL;
    FGI_TRY(fg_option_values_create("source", rows, source.option_count, &values, err));
    const fg_status status = read_all(text, map, values, options, out_texts, err);
    fg_option_values_destroy(values);
    if (status != FG_OK) {
        fgi_free(*out_texts);
        *out_texts = NULL;
    }
    return status;
}
