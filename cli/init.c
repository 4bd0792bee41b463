/* init.c - inspects data and writes a configuration for training on it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include <fulgurite/recipe.h>

#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "init.h"
#include "recipe/run/run.h"

/* ---- lines of the configuration -------------------------------------------------------------- */

enum { WHY_COLUMN = 38 };

void init_put(fgi_buf *out, const char *key, const char *value, const char *why)
{
    const size_t before = out->size;
    fgi_buf_printf(out, "  %s: %s", key, value);
    const int used = (int)(out->size - before);
    if (why != NULL)
        fgi_buf_printf(out, "%*s# %s", used < WHY_COLUMN ? WHY_COLUMN - used : 1, "", why);
    fgi_buf_putc(out, '\n');
}

/* In double quotes. */
static void put_quoted(fgi_buf *out, const char *text)
{
    fgi_buf_putc(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fgi_buf_putc(out, '\\');
        if ((unsigned char)*text < 0x20)
            fgi_buf_printf(out, "\\x%02x", (unsigned char)*text);
        else
            fgi_buf_putc(out, *text);
    }
    fgi_buf_putc(out, '"');
}

/* The value is a buffer, which is freed. */
static void put_value(fgi_buf *out, const char *key, fgi_buf *value, const char *why)
{
    init_put(out, key, value->data != NULL ? value->data : "", why);
    out->failed = out->failed || value->failed;
    fgi_buf_fini(value);
}

void init_put_text(fgi_buf *out, const char *key, const char *text, const char *why)
{
    fgi_buf quoted = {0};
    if (text == NULL)
        return;
    put_quoted(&quoted, text);
    put_value(out, key, &quoted, why);
}

void init_put_names(fgi_buf *out, const char *key, const char *names, const char *why)
{
    fgi_buf list = {0};
    fgi_str rest = fgi_str_of(names), name;
    while (fgi_str_next(&rest, ",", &name)) {
        char *text = cli_printf("%.*s", (int)name.size, name.data);
        fgi_buf_puts(&list, list.size == 0 ? "[" : ", ");
        put_quoted(&list, text);
        free(text);
    }
    fgi_buf_putc(&list, ']');
    put_value(out, key, &list, why);
}

static const char *sureness(bool is_sure) { return is_sure ? "detected" : "inferred, check it"; }

/* ---- CSV ------------------------------------------------------------------------------------- */

static void put_delimiter(fgi_buf *out, const init_table *t)
{
    char why[80];
    (void)fgi_snprintf(why, sizeof(why), "%s: %zu column%s in each row",
                       sureness(t->delimiter_is_sure), t->column_count, fgi_s(t->column_count));
    if (t->delimiter == '\t')
        init_put(out, "delimiter", "\"\\t\"", why);
    else
        init_put_text(out, "delimiter", (const char[]){t->delimiter, '\0'}, why);
}

static void put_header(fgi_buf *out, const init_table *t)
{
    init_put(out, "no_header", t->has_header ? "false" : "true",
             !t->has_header ? "detected: the first row has numbers"
             : t->header_is_sure
                 ? "detected: names above numbers"
                 : "inferred, check it: the columns contain text, like the first row");
}

static void put_target(fgi_buf *out, const init_table *t)
{
    char why[80];
    if (t->label_columns != NULL) {
        init_put_names(out, "label_columns", t->label_columns, "given by --target");
        return;
    }
    (void)fgi_snprintf(why, sizeof(why), "%s: %s", sureness(t->target_is_sure), t->target_reason);
    init_put_text(out, "target", t->columns[t->target].name,
                  t->is_target_given ? "given by --target" : why);
}

/* The columns that are probably not features, each with the reason; or with is_listed, those of
 * numbers with other characters, such as a currency. The target has no reason. */
static void put_columns(fgi_buf *out, const init_table *t, const char *head, bool is_listed)
{
    bool is_first = true;
    for (size_t i = 0; i < t->column_count; i++) {
        const fg_csv_column *c = &t->columns[i];
        if (is_listed ? !t->is_listed[i] : c->ignored_because == NULL)
            continue;
        fgi_buf_printf(out, "%s    - ", is_first ? head : "");
        is_first = false;
        put_quoted(out, c->name);
        fgi_buf_printf(out, "%s%s\n", is_listed ? "" : " # ", is_listed ? "" : c->ignored_because);
    }
}

static void put_words(fgi_buf *out, const init_table *t)
{
    fgi_buf list = {0};
    for (size_t i = 0; t->words[i] != NULL; i++) {
        fgi_buf_puts(&list, i == 0 ? "[" : ", ");
        put_quoted(&list, t->words[i]);
    }
    if (list.size == 0)
        return;
    fgi_buf_putc(&list, ']');
    put_value(out, "na_values", &list, "inferred, check it: the only text in a column of numbers");
}

static void put_missing(fgi_buf *out, const init_table *t)
{
    char why[160];
    int64_t cells = 0;
    const char *first = NULL;
    for (size_t i = 0; i < t->column_count; i++) {
        if (t->columns[i].has_lists) /* no label */
            continue;
        cells += t->columns[i].missing;
        if (first == NULL && t->columns[i].missing > 0)
            first = t->columns[i].name;
    }
    if (first == NULL)
        return;
    (void)fgi_snprintf(why, sizeof(why), "%lld missing value%s, first in column %s%.60s",
                       (long long)cells, fgi_s(cells), t->has_header ? "" : "number ", first);
    init_put(out, "missing", "mean", why);
}

static void put_image(fgi_buf *out, const init_table *t, size_t side)
{
    char value[64];
    double most = 1;
    for (size_t i = 0; i < t->column_count; i++)
        if (i != t->target && t->columns[i].max > most)
            most = t->columns[i].max;
    (void)fgi_snprintf(value, sizeof(value), "[%zu, %zu, 1]", side, side);
    init_put(out, "image", value,
             "inferred, check it: the columns are the pixels of a square image");
    (void)fgi_snprintf(value, sizeof(value), "%.6g", 1 / most);
    init_put(out, "scale", value, "1 / the largest pixel");
}

static void put_table(fgi_buf *out, const init_files *files, const init_table *t)
{
    char reason[160];
    bool is_sure = false;
    const char *task = init_table_task(t, &is_sure, reason, sizeof(reason));
    const size_t side = strcmp(task, "classification") == 0 ? init_table_image_side(t) : 0;
    fgi_buf_printf(out, "# %s: %zu row%s, %zu columns\n\n", files->path, t->rows, fgi_s(t->rows),
                   t->column_count);
    fgi_buf_printf(out, "# %s: %s\ntask: %s\n\n", sureness(is_sure), reason, task);
    fgi_buf_printf(out, "model:\n  name: %s\n%s\n", side > 0 ? "lenet" : "mlp",
                   side > 0 ? "" : "  hidden: [64, 64]\n");
    fgi_buf_printf(out, "data:\n  format: %s\n", files->kind->format);
    init_put_text(out, "path", files->path, NULL);
    put_delimiter(out, t);
    if (t->decimal == ',')
        init_put_text(out, "decimal", ",",
                      t->decimal_is_sure
                          ? "detected: it makes more columns numeric"
                          : "inferred, check it: points probably separate thousands");
    put_header(out, t);
    put_target(out, t);
    put_columns(out, t,
                "  numeric: # detected: numbers with a currency, a percent sign or separated "
                "thousands\n",
                true);
    put_columns(out, t, "  ignore: # inferred, check it: these are probably not features\n", false);
    if (t->keeps_words)
        init_put(out, "keep_default_na", "false",
                 "inferred, check it: words such as None are classes");
    put_words(out, t);
    put_missing(out, t);
    if (side > 0)
        put_image(out, t, side);
    init_put_text(out, "val", files->val, NULL);
    init_put_text(out, "test", files->test, NULL);
    if (files->val == NULL)
        init_put(out, "val_fraction", "0.2", "hold out a fifth of the rows for validation");
}

static fg_status put_csv(fgi_buf *out, const init_files *files, const char *target, fg_error *err)
{
    init_table t;
    fg_status status = init_table_read(files->path, &t, err);
    if (status == FG_OK)
        status = init_table_choose(&t, target, err);
    if (status == FG_OK)
        put_table(out, files, &t);
    init_table_free(&t);
    return status;
}

/* ---- other formats --------------------------------------------------------------------------- */

static fg_status put_npy(fgi_buf *out, const init_files *files, const char *target, fg_error *err)
{
    fg_dataset *data = NULL;
    char type[96];
    const bool has_val = files->val != NULL && files->val_y != NULL;
    (void)target;
    FGI_TRY(fg_npy_load(files->path, files->y, NULL, &data, err));
    const bool is_class = fgi_run_has_classes(data);
    fgi_buf_printf(out, "# %s: a target is %s\ntask: %s\n\n",
                   is_class ? "inferred, check it" : "detected",
                   fg_type_format(&fg_dataset_field(data, 1)->type, type, sizeof(type)),
                   is_class ? "classification" : "regression");
    fg_dataset_destroy(data);
    fgi_buf_puts(out, "model:\n  name: mlp\n  hidden: [64, 64]\n");
    fgi_buf_printf(out, "\ndata:\n  format: %s\n", files->kind->format);
    init_put_text(out, "x", files->path, NULL);
    init_put_text(out, "y", files->y, NULL);
    init_put_text(out, "val_x", has_val ? files->val : NULL, NULL);
    init_put_text(out, "val_y", has_val ? files->val_y : NULL, NULL);
    init_put_text(out, "test_x", files->test, NULL);
    init_put_text(out, "test_y", files->test != NULL ? files->test_y : NULL, NULL);
    if (!has_val)
        init_put(out, "val_fraction", "0.2", "hold out a fifth of the samples for validation");
    return FG_OK;
}

static fg_status put_published(fgi_buf *out, const init_files *files, const char *target,
                               fg_error *err)
{
    const init_kind *kind = files->kind;
    (void)target, (void)err;
    fgi_buf_printf(out, "# detected: %s\ntask: classification\n\nmodel:\n", kind->found);
    init_put(out, "name", "lenet", kind->model_hint);
    fgi_buf_printf(out, "\ndata:\n  format: %s\n", kind->format);
    init_put_text(out, "path", files->path, NULL);
    return FG_OK;
}

const init_kind init_csv = {.format = "csv", .put = put_csv, .takes_target = true};
const init_kind init_npy = {.format = "npy", .put = put_npy};
const init_kind init_idx = {.format = "idx", .put = put_published, .found = "MNIST's file names"};
const init_kind init_cifar10 = {.format = "cifar10",
                                .put = put_published,
                                .found = "CIFAR-10's file names",
                                .model_hint =
                                    "resnet18 with `stem: small` is more accurate, but slower"};
const init_kind init_cifar100 = {.format = "cifar100",
                                 .put = put_published,
                                 .found = "CIFAR-100's file names",
                                 .model_hint =
                                     "resnet18 with `stem: small` is more accurate, but slower"};

/* ---- configuration --------------------------------------------------------------------------- */

/* YAML is UTF-8: another path cannot be named in it. */
static fg_status check_path(const char *path, fg_error *err)
{
    char shown[256];
    if (fgi_text_is_utf8(fgi_str_of(path)))
        return FG_OK;
    (void)fg_catalog_escape(path, shown, sizeof(shown));
    return fgi_fail(err, FG_EINVAL,
                    "'%s' is not valid UTF-8, so a configuration cannot name it: rename it", shown);
}

static fg_status check_options(const init_files *files, const char *data, const init_options *o,
                               fg_error *err)
{
    const bool is_list = files->list.path_column != NULL;
    if (o->target != NULL && !files->kind->takes_target && !is_list)
        return fgi_fail(err, FG_EINVAL, "--target: '%s' is not a CSV file", data);
    if (o->source != NULL && (is_list || files->photos == NULL))
        return fgi_fail(err, FG_EINVAL,
                        is_list ? "--source: '%s' is a list, whose columns and files are "
                                  "detected: change the keys in the configuration instead"
                                : "--source: '%s' is not a folder or archive of images",
                        data);
    return FG_OK;
}

static fg_status put_all(fgi_buf *out, init_files *files, const char *data, const init_options *o,
                         fg_error *err)
{
    char shown[4096];
    FGI_TRY(init_files_find(data, o->source, files, err));
    FGI_TRY(check_options(files, data, o, err));
    if (files->list.path_column != NULL)
        FGI_TRY(init_list_open(files, o->target, err));
    (void)fg_catalog_escape(data, shown, sizeof(shown));
    fgi_buf_printf(
        out, "# Written by `fulgurite init %s`. `fulgurite help config` explains every key.\n",
        shown);
    FGI_TRY(files->kind->put(out, files, o->target, err));
    fgi_buf_puts(out, "\noptimizer:\n  name: adam\n  lr: 0.001\n\nschedule:\n  name: onecycle\n\n"
                      "trainer:\n  accelerator: auto\n  batch_size: 32\n  max_epochs: 20\n");
    return fgi_buf_status(out, err);
}

fg_status init_config(fgi_buf *out, const char *data, const init_options *o, fg_error *err)
{
    init_files files;
    FGI_TRY(check_path(data, err));
    const fg_status status = put_all(out, &files, data, o, err);
    init_files_free(&files);
    return status;
}
