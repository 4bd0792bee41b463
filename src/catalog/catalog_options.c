/* catalog_options.c - the options of a catalog as text. One table has the options and where they
 * are in fg_catalog_options.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog_options.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"

#define STRING(name_, example_, help_)                                                             \
    {                                                                                              \
        .name = (name_), .kind = FG_OPTION_STRING, .example = (example_), .help = (help_)          \
    }

static const fg_option options_table[] = {
    {.name = "kind",
     .kind = FG_OPTION_CHOICE,
     .range = "auto|folder|csv|jsonl|tar|tfrecord",
     .example = "csv",
     .help = "Kind of source."},
    {.name = "no_split_folders",
     .kind = FG_OPTION_BOOL,
     .initial = "false",
     .example = "true",
     .help = "Folders named train, val and test are classes."},
    {.name = "no_classes",
     .kind = FG_OPTION_BOOL,
     .initial = "false",
     .example = "true",
     .help = "Folders are not classes."},
    STRING("root", "train_images", "Folder of the files of a list."),
    STRING("suffix", ".jpg", "Extension that the paths of a list lack."),
    STRING("path_column", "file", "Column of the paths."),
    STRING("name_column", "id", "Column of the names."),
    STRING("label_column", "class", "Column of the labels."),
    STRING("labels_column", "tags", "Column of lists of labels."),
    STRING("split_column", "part", "Column of the splits."),
    STRING("group_column", "patient", "Column of the groups."),
    STRING("delimiter", ";", "Cell delimiter of a CSV file."),
    STRING("label_member", "json", "Extension of the files in a tar archive that have the labels."),
    STRING("image_feature", "image", "TFRecord feature of the images."),
    STRING("label_feature", "label", "TFRecord feature of the class indices."),
    STRING("text_feature", "class", "TFRecord feature of the class names."),
    STRING("name_feature", "id", "TFRecord feature of the names."),
};
enum { OPTIONS = sizeof(options_table) / sizeof(options_table[0]) };

/* The members that are strings. */
static const struct member {
    const char *name;
    size_t offset;
} members[] = {
    {"kind", offsetof(fg_catalog_options, kind)},
    {"root", offsetof(fg_catalog_options, root)},
    {"suffix", offsetof(fg_catalog_options, suffix)},
    {"path_column", offsetof(fg_catalog_options, path_column)},
    {"name_column", offsetof(fg_catalog_options, name_column)},
    {"label_column", offsetof(fg_catalog_options, label_column)},
    {"labels_column", offsetof(fg_catalog_options, labels_column)},
    {"split_column", offsetof(fg_catalog_options, split_column)},
    {"group_column", offsetof(fg_catalog_options, group_column)},
    {"label_member", offsetof(fg_catalog_options, label_member)},
    {"image_feature", offsetof(fg_catalog_options, image_feature)},
    {"label_feature", offsetof(fg_catalog_options, label_feature)},
    {"text_feature", offsetof(fg_catalog_options, text_feature)},
    {"name_feature", offsetof(fg_catalog_options, name_feature)},
};

void fgi_catalog_option_set(fg_catalog_options *options, const char *name, const char *value)
{
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        if (strcmp(members[i].name, name) == 0)
            memcpy((char *)options + members[i].offset, &value, sizeof(value));
}

static fg_status set_delimiter(const fg_option_values *values, fg_catalog_options *options,
                               fg_error *err)
{
    const char *text = fg_option_string(values, "delimiter");
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

static fg_status read_all(const char *text, fg_catalog_options *options, fg_option_values *values,
                          fg_error *err)
{
    FGI_TRY(fg_option_set_all(values, text != NULL ? text : "", NULL, err));
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        const char *value = fg_option_string(values, members[i].name);
        if (value != NULL)
            fgi_catalog_option_set(options, members[i].name, value);
    }
    options->no_split_folders |= fg_option_bool(values, "no_split_folders");
    options->no_classes |= fg_option_bool(values, "no_classes");
    return set_delimiter(values, options, err);
}

fg_status fgi_catalog_options_read(const char *text, fg_catalog_options *options,
                                   fg_option_values **out_values, fg_error *err)
{
    FGI_TRY(fg_option_values_create("source", options_table, OPTIONS, out_values, err));
    const fg_status status = read_all(text, options, *out_values, err);
    if (status != FG_OK) {
        fg_option_values_destroy(*out_values);
        *out_values = NULL;
    }
    return status;
}
