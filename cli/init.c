/* init.c - inspects data and writes a configuration for training on it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <fulgurite/data.h>

#include <fulgurite/recipe.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "init.h"
#include "init_put.h"
#include "recipe/run/run.h"

static const char *sureness(bool is_sure) { return is_sure ? "detected" : "inferred, check it"; }

/* ---- CSV ------------------------------------------------------------------------------------- */

static void put_delimiter(fgi_buf *out, const fgi_look_table *t)
{
    char why[80];
    (void)fgi_snprintf(why, sizeof(why), "%s: %zu column%s in each row",
                       sureness(t->delimiter_is_sure), t->column_count, fgi_s(t->column_count));
    if (t->delimiter == '\t')
        fgi_put(out, "delimiter", "\"\\t\"", why);
    else
        fgi_put_string(out, "delimiter", (const char[]){t->delimiter, '\0'}, why);
}

static void put_header(fgi_buf *out, const fgi_look_table *t)
{
    fgi_put(out, "no_header", t->has_header ? "false" : "true",
            !t->has_header ? "detected: the first row has numbers"
            : t->header_is_sure
                ? "detected: names above numbers"
                : "inferred, check it: the columns contain text, like the first row");
}

static void put_target(fgi_buf *out, const fgi_look_table *t)
{
    char why[80], number[24];
    const char *name = t->columns[t->target].name;
    (void)fgi_snprintf(number, sizeof(number), "%zu", t->target);
    (void)fgi_snprintf(why, sizeof(why), "%s: %s", sureness(t->target_is_sure), t->target_reason);
    fgi_put_string(out, "target", name != NULL ? name : number,
                   t->is_target_given ? "given by --target" : why);
}

/* A list of the columns that are probably not features, each with the reason. The target has no
 * reason. */
static void put_ignored(fgi_buf *out, const fgi_look_table *t)
{
    bool is_first = true;
    for (size_t i = 0; i < t->column_count; i++) {
        const fgi_look_column *c = &t->columns[i];
        if (c->ignored_because == NULL)
            continue;
        if (is_first)
            fgi_buf_puts(out, "  ignore: # inferred, check it: these are probably not features\n");
        is_first = false;
        fgi_buf_puts(out, "    - ");
        fgi_put_quoted(out, c->id);
        fgi_buf_printf(out, " # %s\n", c->ignored_because);
    }
}

/* The columns of numbers with other characters, such as a currency. */
static void put_numeric(fgi_buf *out, const fgi_look_table *t)
{
    bool is_first = true;
    for (size_t i = 0; i < t->column_count; i++) {
        if (!t->columns[i].is_listed)
            continue;
        fgi_buf_puts(out, is_first
                              ? "  numeric: # detected: numbers with a currency, a percent sign "
                                "or separated thousands\n    - "
                              : "    - ");
        fgi_put_quoted(out, t->columns[i].id);
        fgi_buf_putc(out, '\n');
        is_first = false;
    }
}

static void put_words(fgi_buf *out, const fgi_look_table *t)
{
    fgi_buf list = {0};
    for (size_t i = 0; t->words[i] != NULL; i++) {
        fgi_buf_puts(&list, i == 0 ? "[" : ", ");
        fgi_put_quoted(&list, t->words[i]);
    }
    if (list.size > 0) {
        fgi_buf_putc(&list, ']');
        fgi_put(out, "na_values", list.data != NULL ? list.data : "",
                "inferred, check it: the only text in a column of numbers");
    }
    out->failed = out->failed || list.failed;
    fgi_buf_fini(&list);
}

static void put_missing(fgi_buf *out, const fgi_look_table *t)
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
    (void)fgi_snprintf(number, sizeof(number), "%zu", first);
    (void)fgi_snprintf(why, sizeof(why), "%zu missing value%s, first in column %s%.60s", cells,
                       fgi_s(cells), name != NULL ? "" : "number ", name != NULL ? name : number);
    fgi_put(out, "missing", "mean", why);
}

static void put_image(fgi_buf *out, const fgi_look_table *t)
{
    char value[64];
    double most = 1;
    const size_t side = fgi_look_image_side(t);
    if (side == 0)
        return;
    for (size_t i = 0; i < t->column_count; i++)
        if (i != t->target && t->columns[i].max > most)
            most = t->columns[i].max;
    (void)fgi_snprintf(value, sizeof(value), "[%zu, %zu, 1]", side, side);
    fgi_put(out, "image", value,
            "inferred, check it: the columns are the pixels of a square image");
    (void)fgi_snprintf(value, sizeof(value), "%.6g", 1 / most);
    fgi_put(out, "scale", value, "1 / the largest pixel");
}

static bool put_csv(fgi_buf *out, const fgi_look_files *files, const char *target, fg_error *err)
{
    fgi_look_table t;
    char reason[160];
    bool is_sure = false;
    if (!fgi_look_table_read(files->path, &t, err))
        return false;
    if (!fgi_look_table_choose(files->path, target, &t, err)) {
        fgi_look_table_free(&t);
        return false;
    }
    const bool is_class = fgi_look_is_classification(&t, &is_sure, reason, sizeof(reason));
    const size_t side = is_class ? fgi_look_image_side(&t) : 0;
    fgi_buf_printf(out, "# %s: %zu row%s, %zu columns\n\n", files->path, t.rows, fgi_s(t.rows),
                   t.column_count);
    fgi_buf_printf(out, "# %s: %s\ntask: %s\n\n", sureness(is_sure), reason,
                   is_class ? "classification" : "regression");
    fgi_buf_printf(out, "model:\n  name: %s\n%s\n", side > 0 ? "lenet" : "mlp",
                   side > 0 ? "" : "  hidden: [64, 64]\n");
    fgi_buf_printf(out, "data:\n  format: %s\n", files->kind->format);
    fgi_put_file(out, "path", files->path);
    put_delimiter(out, &t);
    if (t.decimal == ',')
        fgi_put_string(out, "decimal", ",",
                       t.decimal_is_sure
                           ? "detected: it makes more columns numeric"
                           : "inferred, check it: points probably separate thousands");
    put_header(out, &t);
    put_target(out, &t);
    put_numeric(out, &t);
    put_ignored(out, &t);
    if (t.keeps_words)
        fgi_put(out, "keep_default_na", "false",
                "inferred, check it: words such as None are classes");
    put_words(out, &t);
    put_missing(out, &t);
    if (side > 0)
        put_image(out, &t);
    fgi_put_file(out, "val", files->val);
    fgi_put_file(out, "test", files->test);
    if (files->val == NULL)
        fgi_put(out, "val_fraction", "0.2", "hold out a fifth of the rows for validation");
    fgi_look_table_free(&t);
    return true;
}

/* ---- other formats --------------------------------------------------------------------------- */

static fg_status open_npy_targets(const fgi_look_files *files, fg_type *out, bool *out_is_class,
                                  fg_error *err)
{
    fg_dataset *data = NULL;
    const fg_status status = fg_npy_open(files->path, files->y, NULL, &data, err);
    if (status == FG_OK) {
        *out = fg_dataset_field(data, 1)->type;
        *out_is_class = fgi_run_has_classes(data);
    }
    fg_dataset_destroy(data);
    return status;
}

static bool put_npy(fgi_buf *out, const fgi_look_files *files, const char *target, fg_error *err)
{
    fg_type type = {.dtype = FG_DTYPE_NONE};
    char text[96];
    bool is_class = false;
    if (open_npy_targets(files, &type, &is_class, err) != FG_OK)
        return false;
    fgi_buf_printf(
        out, "# %s: a target is %s\ntask: %s\n\n", is_class ? "inferred, check it" : "detected",
        fg_type_format(&type, text, sizeof(text)), is_class ? "classification" : "regression");
    fgi_buf_puts(out, "model:\n  name: mlp\n  hidden: [64, 64]\n");
    fgi_buf_printf(out, "\ndata:\n  format: %s\n", files->kind->format);
    fgi_put_file(out, "x", files->path);
    fgi_put_file(out, "y", files->y);
    fgi_put_file(out, "val_x", files->val_y != NULL ? files->val : NULL);
    fgi_put_file(out, "val_y", files->val != NULL ? files->val_y : NULL);
    fgi_put_file(out, "test_x", files->test);
    fgi_put_file(out, "test_y", files->test != NULL ? files->test_y : NULL);
    if (files->val == NULL || files->val_y == NULL)
        fgi_put(out, "val_fraction", "0.2", "hold out a fifth of the samples for validation");
    return true;
}

static bool put_published(fgi_buf *out, const fgi_look_files *files, const char *target,
                          fg_error *err)
{
    const fgi_look_kind *kind = files->kind;
    fgi_buf_printf(out, "# detected: %s\ntask: classification\n\nmodel:\n", kind->found);
    fgi_put(out, "name", "lenet", kind->model_hint);
    fgi_buf_printf(out, "\ndata:\n  format: %s\n", kind->format);
    fgi_put_file(out, "path", files->path);
    return true;
}

const fgi_look_kind fgi_look_csv = {.format = "csv", .put = put_csv, .takes_target = true};
const fgi_look_kind fgi_look_npy = {.format = "npy", .put = put_npy};
const fgi_look_kind fgi_look_idx = {
    .format = "idx", .put = put_published, .found = "MNIST's file names"};
const fgi_look_kind fgi_look_cifar10 = {
    .format = "cifar10",
    .put = put_published,
    .found = "CIFAR-10's file names",
    .model_hint = "resnet18 with `stem: small` is more accurate, but slower"};
const fgi_look_kind fgi_look_cifar100 = {
    .format = "cifar100",
    .put = put_published,
    .found = "CIFAR-100's file names",
    .model_hint = "resnet18 with `stem: small` is more accurate, but slower"};

/* ---- configuration --------------------------------------------------------------------------- */

/* YAML is UTF-8: another path cannot be named in it. */
static bool check_path(const char *path, fg_error *err)
{
    char shown[256];
    if (fgi_text_is_utf8(fgi_str_of(path)))
        return true;
    (void)fg_catalog_escape(path, shown, sizeof(shown));
    return cli_refuse(err, "'%s' is not valid UTF-8, so a configuration cannot name it: rename it",
                      shown);
}

static bool check_options(const fgi_look_files *files, const char *data, const init_options *o,
                          fg_error *err)
{
    const bool is_list = files->list.path_column != NULL;
    if (o->target != NULL && !files->kind->takes_target && !is_list)
        return cli_refuse(err, "--target: '%s' is not a CSV file", data);
    if (o->source != NULL && (is_list || files->photos == NULL))
        return cli_refuse(err,
                          is_list ? "--source: '%s' is a list, whose columns and files are "
                                    "detected: change the keys in the configuration instead"
                                  : "--source: '%s' is not a folder or archive of images",
                          data);
    return true;
}

bool init_put(fgi_buf *out, const char *data, const init_options *o, fg_error *err)
{
    fgi_look_files files;
    char shown[4096];
    if (!check_path(data, err) || !fgi_look_at(data, o->source, &files, err))
        return false;
    (void)fg_catalog_escape(data, shown, sizeof(shown));
    fgi_buf_printf(
        out, "# Written by `fulgurite init %s`. `fulgurite help config` explains every key.\n",
        shown);
    bool is_good = check_options(&files, data, o, err);
    if (is_good && files.list.path_column != NULL)
        is_good = fgi_look_list_open(&files, o->target, err);
    is_good = is_good && files.kind->put(out, &files, o->target, err);
    fgi_buf_puts(out, "\noptimizer:\n  name: adam\n  lr: 0.001\n\nschedule:\n  name: onecycle\n\n"
                      "trainer:\n  accelerator: auto\n  batch_size: 32\n  max_epochs: 20\n");
    fgi_look_files_free(&files);
    return is_good && fgi_buf_status(out, err) == FG_OK;
}
