/* fulgurite init DATA: inspect data and write a configuration for training on it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "init.h"
#include "out_file.h"

static const char *out_path;
static bool is_forced;
static init_options settings;
static const cli_option options[] = {
    CLI_TEXT('o', "out", &out_path, "FILE",
             "configuration to write (default: NAME.yaml, after the data; -: standard output)"),
    CLI_TEXT('t', "target", &settings.target, "COLUMN",
             "the column of a CSV to predict, or columns of 0 and 1: cat,dog"),
    CLI_TEXT(0, "source", &settings.source, "OPTIONS",
             "data.source_options of a folder or archive of images: '{no_split_folders: true}'"),
    CLI_FLAG('f', "force", &is_forced, "replace the file if it exists"),
    CLI_END,
};

/* Does not replace an existing file without --force. "-" is standard output. */
static fg_status write_file(const char *path, const char *text, fg_error *err)
{
    if (!is_forced && strcmp(path, "-") != 0 && access(path, F_OK) == 0)
        return fgi_fail(err, FG_EINVAL,
                        "'%s' exists already: use --out=FILE for another name, or --force", path);
    return out_file_write(path, text, strlen(text), err);
}

static void say_written(const char *path)
{
    fgi_buf word = {0};
    init_put_word(&word, path);
    (void)fprintf(stderr,
                  "wrote %s: check the lines marked `check it`, then\n\n"
                  "  fulgurite fit %s --fast-dev-run\n  fulgurite fit %s\n",
                  path, word.data, word.data);
    fgi_buf_fini(&word);
}

static int run(const cli_call *call)
{
    fg_error err = {0};
    fgi_buf text = {0};
    char *name = init_name(call->args[0], ".yaml");
    const char *path = out_path != NULL ? out_path : name;
    fg_status status = init_config(&text, call->args[0], &settings, &err);
    if (status == FG_OK)
        status = write_file(path, text.data, &err);
    if (status == FG_OK && strcmp(path, "-") != 0)
        say_written(path);
    free(name);
    fgi_buf_fini(&text);
    return status == FG_OK ? CLI_DONE : cli_complain(CLI_FAILED, "init", "%s", err.message);
}

const cli_command cli_init = {
    .name = "init",
    .arguments = "DATA",
    .summary = "inspect data and write a configuration for training on it",
    .details =
        "DATA is a CSV file (plain or gzip), a .npy file, a folder with a CSV file, x.npy "
        "and y.npy, MNIST files or CIFAR-10 binary files, or images: a folder with one "
        "folder per class, a list (.csv or .jsonl), tar or TFRecord files, or a pack; or text: a "
        ".txt file, a folder of them, or a .jsonl file with texts. Comments in the configuration "
        "say what was detected, and what was inferred and "
        "should be checked. Existing files are not overwritten without --force.",
    .options = options,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
