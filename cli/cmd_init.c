/* fulgurite init DATA: inspect data and write a configuration for training on it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fulgurite/data.h>

#include "commands.h"
#include "recipe/init_look.h"

static const char *out_path;
static bool is_forced;
static const char *target;
static const cli_option options[] = {
    CLI_TEXT('o', "out", &out_path, "FILE",
             "configuration to write (default: NAME.yaml, after the data; -: standard output)"),
    CLI_TEXT('t', "target", &target, "COLUMN", "the column of a CSV to predict"),
    CLI_FLAG('f', "force", &is_forced, "replace the file if it exists"),
    CLI_END,
};

/* ---- pieces of YAML -------------------------------------------------------------------------- */

/* "  key: value   # sure: why" */
static void put(FILE *out, const char *key, const char *value, const char *why)
{
    const int used = fprintf(out, "  %s: %s", key, value);
    (void)fprintf(out, why != NULL ? "%*s# %s\n" : "%*s%s\n",
                  why != NULL ? (used < 38 ? 38 - used : 1) : 0, "", why != NULL ? why : "");
}

/* A string in double quotes. */
static void put_string(FILE *out, const char *key, const char *text, const char *why)
{
    const size_t room = 4 * strlen(text) + 3;
    char *quoted = cli_alloc(room, 1);
    size_t used = 0;
    quoted[used++] = '"';
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            quoted[used++] = '\\';
        if ((unsigned char)*text < 0x20)
            used += (size_t)snprintf(quoted + used, 5, "\\x%02x", (unsigned char)*text);
        else
            quoted[used++] = *text;
    }
    quoted[used++] = '"';
    put(out, key, quoted, why);
    free(quoted);
}

static void put_file(FILE *out, const char *key, const char *path)
{
    if (path != NULL)
        put_string(out, key, path, NULL);
}

static const char *sureness(bool is_sure) { return is_sure ? "sure" : "a guess, check it"; }

/* ---- CSV ------------------------------------------------------------------------------------- */

static void put_delimiter(FILE *out, const fgi_look_table *t)
{
    char why[80];
    (void)snprintf(why, sizeof(why), "%s: %zu columns in each row", sureness(t->delimiter_is_sure),
                   t->column_count);
    if (t->delimiter == '\t')
        put(out, "delimiter", "\"\\t\"", why);
    else
        put_string(out, "delimiter", (const char[]){t->delimiter, '\0'}, why);
}

static void put_header(FILE *out, const fgi_look_table *t)
{
    put(out, "no_header", t->has_header ? "false" : "true",
        !t->has_header      ? "sure: the first row has numbers"
        : t->header_is_sure ? "sure: names above numbers"
                            : "a guess, check it: the columns contain text, like the first row");
}

static void put_target(FILE *out, const fgi_look_table *t)
{
    char why[80], number[24];
    const char *name = t->columns[t->target].name;
    (void)snprintf(number, sizeof(number), "%zu", t->target);
    (void)snprintf(why, sizeof(why), "%s: %s", sureness(t->target_is_sure), t->target_reason);
    put_string(out, "target", name != NULL ? name : number, why);
}

/* Columns that number the rows, commented out of the inputs. */
static void put_ignored(FILE *out, const fgi_look_table *t)
{
    bool is_first = true;
    for (size_t i = 0; i < t->column_count; i++) {
        if (!fgi_look_is_id(t, i))
            continue;
        (void)fprintf(out, "%s\"%s\"", is_first ? "  ignore: [" : ", ", t->columns[i].name);
        is_first = false;
    }
    if (!is_first)
        (void)fputs("] # a guess, check it: these only number the rows\n", out);
}

static void put_missing(FILE *out, const fgi_look_table *t)
{
    char why[160], number[24];
    size_t cells = 0, first = t->column_count;
    for (size_t i = 0; i < t->column_count; i++) {
        cells += t->columns[i].missing;
        first = first == t->column_count && t->columns[i].missing > 0 ? i : first;
    }
    if (cells == 0)
        return;
    const char *name = t->columns[first].name;
    (void)snprintf(number, sizeof(number), "%zu", first);
    (void)snprintf(why, sizeof(why), "%zu empty cell%s, first in column %s%.60s", cells,
                   cells == 1 ? "" : "s", name != NULL ? "" : "number ",
                   name != NULL ? name : number);
    put(out, "missing", "mean", why);
}

static void put_image(FILE *out, const fgi_look_table *t)
{
    char value[64];
    double most = 1;
    const size_t side = fgi_look_image_side(t);
    if (side == 0)
        return;
    for (size_t i = 0; i < t->column_count; i++)
        if (i != t->target && t->columns[i].max > most)
            most = t->columns[i].max;
    (void)snprintf(value, sizeof(value), "[%zu, %zu, 1]", side, side);
    put(out, "image", value, "a guess, check it: the columns are the pixels of a square image");
    (void)snprintf(value, sizeof(value), "%.6g", 1 / most);
    put(out, "scale", value, "1 / the largest pixel");
}

static bool put_csv(FILE *out, const fgi_look_files *files, fg_error *err)
{
    fgi_look_table t;
    char reason[160];
    bool is_sure = false;
    if (!fgi_look_table_read(files->path, &t, err))
        return false;
    for (size_t i = 0; target != NULL && i < t.column_count; i++) {
        char number[24];
        (void)snprintf(number, sizeof(number), "%zu", i);
        if (strcmp(t.columns[i].name != NULL ? t.columns[i].name : number, target) == 0) {
            t.target = i;
            t.target_is_sure = true;
            t.target_reason = "given by --target";
        }
    }
    if (target != NULL && strcmp(t.target_reason, "given by --target") != 0) {
        fgi_look_table_free(&t);
        return cli_fail(err, "--target: '%s' has no column '%s'", files->path, target);
    }
    const bool is_class = fgi_look_is_classification(&t, &is_sure, reason, sizeof(reason));
    const size_t side = is_class ? fgi_look_image_side(&t) : 0;
    (void)fprintf(out, "# %s: %s%zu rows, %zu columns\n\n", files->path,
                  t.is_all ? "" : "the first ", t.rows, t.column_count);
    (void)fprintf(out, "# %s: %s\ntask: %s\n\n", sureness(is_sure), reason,
                  is_class ? "classification" : "regression");
    (void)fprintf(out, "model:\n  name: %s\n%s\n", side > 0 ? "lenet" : "mlp",
                  side > 0 ? "" : "  hidden: [64, 64]\n");
    (void)fputs("data:\n  format: csv\n", out);
    put_file(out, "path", files->path);
    put_delimiter(out, &t);
    put_header(out, &t);
    put_target(out, &t);
    put_ignored(out, &t);
    put_missing(out, &t);
    if (side > 0)
        put_image(out, &t);
    put_file(out, "val", files->val);
    put_file(out, "test", files->test);
    if (files->val == NULL)
        put(out, "val_fraction", "0.2", "hold out a fifth of the rows for validation");
    fgi_look_table_free(&t);
    return true;
}

/* ---- other formats --------------------------------------------------------------------------- */

static fg_status open_npy_targets(const fgi_look_files *files, fg_type *out, fg_error *err)
{
    fg_dataset *data = NULL;
    const fg_status status = fg_npy_open(files->path, files->y, NULL, &data, err);
    if (status == FG_OK)
        *out = fg_dataset_field(data, 1)->type;
    fg_dataset_destroy(data);
    return status;
}

static bool put_npy(FILE *out, const fgi_look_files *files, fg_error *err)
{
    fg_type type = {.dtype = FG_DTYPE_NONE};
    char text[96];
    if (open_npy_targets(files, &type, err) != FG_OK)
        return false;
    const bool is_class = type.dtype == FG_S32 && type.rank == 0;
    (void)fprintf(
        out, "# %s: a target is %s\ntask: %s\n\n", is_class ? "a guess, check it" : "sure",
        fg_type_format(&type, text, sizeof(text)), is_class ? "classification" : "regression");
    (void)fputs("model:\n  name: mlp\n  hidden: [64, 64]\n\ndata:\n  format: npy\n", out);
    put_file(out, "x", files->path);
    put_file(out, "y", files->y);
    put_file(out, "val_x", files->val_y != NULL ? files->val : NULL);
    put_file(out, "val_y", files->val != NULL ? files->val_y : NULL);
    put_file(out, "test_x", files->test);
    put_file(out, "test_y", files->test != NULL ? files->test_y : NULL);
    if (files->val == NULL || files->val_y == NULL)
        put(out, "val_fraction", "0.2", "hold out a fifth of the samples for validation");
    return true;
}

static void put_images(FILE *out, const fgi_look_files *files)
{
    const bool is_cifar = strcmp(files->format, "cifar10") == 0;
    (void)fprintf(out, "# sure: %s\ntask: classification\n\nmodel:\n",
                  is_cifar ? "CIFAR-10's file names" : "MNIST's file names");
    put(out, "name", "lenet", is_cifar ? "resnet18 with `stem: small` is better and slower" : NULL);
    (void)fprintf(out, "\ndata:\n  format: %s\n", files->format);
    put_file(out, "path", files->path);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool put_config(FILE *out, const char *data, fg_error *err)
{
    fgi_look_files files;
    if (!fgi_look_at(data, &files, err))
        return false;
    bool is_good = true;
    (void)fprintf(out,
                  "# Written by `fulgurite init %s`. `fulgurite help config` explains every key.\n",
                  data);
    if (target != NULL && strcmp(files.format, "csv") != 0)
        is_good = cli_fail(err, "--target: '%s' is not a CSV file", data);
    else if (strcmp(files.format, "csv") == 0)
        is_good = put_csv(out, &files, err);
    else if (strcmp(files.format, "npy") == 0)
        is_good = put_npy(out, &files, err);
    else
        put_images(out, &files);
    (void)fputs("\noptimizer:\n  name: adam\n  lr: 0.001\n\nschedule:\n  name: onecycle\n\n"
                "trainer:\n  accelerator: auto\n  batch_size: 32\n  max_epochs: 20\n",
                out);
    fgi_look_files_free(&files);
    return is_good;
}

/* "homes.yaml" of "data/homes.csv.gz" or "data/homes/", owned. */
static char *default_name(const char *data)
{
    char *copy = cli_strdup(data);
    size_t size = strlen(copy);
    while (size > 1 && copy[size - 1] == '/')
        copy[--size] = '\0';
    const char *slash = strrchr(copy, '/');
    const char *name = slash != NULL && slash[1] != '\0' ? slash + 1 : copy;
    const size_t stem = *name != '.' && *name != '/' ? strcspn(name, ".") : 0;
    char *path = cli_alloc(size + 8, 1);
    (void)snprintf(path, size + 8, "%.*s.yaml", stem > 0 ? (int)stem : 3, stem > 0 ? name : "run");
    free(copy);
    return path;
}

/* Never overwrites an existing file without --force. */
static bool write_file(const char *path, const char *text, fg_error *err)
{
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (is_forced ? O_TRUNC : O_EXCL);
    const int file = open(path, flags, 0666);
    if (file < 0 && errno == EEXIST)
        return cli_fail(err, "'%s' exists already: use --out=FILE for another name, or --force",
                        path);
    FILE *out = file >= 0 ? fdopen(file, "w") : NULL;
    if (out == NULL)
        return cli_fail_errno(err, "create", path);
    const bool is_written = fputs(text, out) >= 0;
    return (fclose(out) == 0 && is_written) || cli_fail_errno(err, "write", path);
}

static int run(const cli_call *call)
{
    fg_error err = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool is_good = out != NULL ? put_config(out, call->args[0], &err)
                               : cli_fail_errno(&err, "look at", call->args[0]);
    if (out != NULL)
        (void)fclose(out);
    char *path = out_path != NULL ? cli_strdup(out_path) : default_name(call->args[0]);
    const bool is_output = strcmp(path, "-") == 0;
    if (is_good && is_output)
        (void)fputs(text, stdout);
    else if (is_good)
        is_good = write_file(path, text, &err);
    if (is_good && !is_output)
        (void)fprintf(stderr,
                      "wrote %s: read the lines marked as guesses, then\n\n"
                      "  fulgurite fit %s --fast-dev-run\n  fulgurite fit %s\n",
                      path, path, path);
    free(path);
    free(text);
    return is_good ? CLI_DONE : cli_complain(CLI_FAILED, "init", "%s", err.message);
}

const cli_command cli_init = {
    .name = "init",
    .arguments = "DATA",
    .summary = "inspect data and write a configuration for training on it",
    .details = "DATA is a CSV file (plain or gzip), a .npy file, or a folder with a CSV file, "
               "x.npy and y.npy, MNIST\n"
               "files or CIFAR-10 binary files. Comments in the configuration say what was "
               "guessed, and how certain\n"
               "each guess is. Existing files are not overwritten without --force.",
    .options = options,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
