/* fulgurite show RUN|CKPT: list the tensors of a checkpoint, or print its configuration and the
 * description of its data.
 *
 * Writes one line per tensor to standard output, name and type separated by a tab; the checkpoint,
 * its task and totals to standard error.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "show.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "input/json_file.h"
#include "base/print.h"
#include "base/text.h"

static bool names_only, as_json, as_config;
static const char *which;
static const cli_option options[] = {
    CLI_TEXT('c', "ckpt", &which, "best|last|NAME",
             "checkpoint of a run (default: best, or else last)"),
    CLI_FLAG('y', "config", &as_config, "print the model's configuration as YAML instead"),
    CLI_FLAG('n', "names", &names_only, "print the names only"),
    CLI_FLAG('j', "json", &as_json,
             "print one JSON object, including state.json, config.yaml and data.json"),
    CLI_END,
};

/* ---- opening --------------------------------------------------------------------------------- */

/* "classification of f32[4] into 3 classes (cat, dog, eel) by mlp". */
static void put_purpose(fgi_buf *out, const fgi_run_origin *origin)
{
    size_t i;
    const json_t *item, *input = json_object_get(origin->data, "input");
    const json_t *names = json_object_get(origin->data, "class_names");
    const char *separator = "";
    if (origin->data == NULL || origin->c == NULL)
        return;
    fgi_buf_printf(out, "model: %s, %s of %s[", origin->c->model.name, origin->c->task,
                   json_string_value(json_object_get(input, "dtype")));
    json_array_foreach(json_object_get(input, "shape"), i, item)
        fgi_buf_printf(out, "%s%" JSON_INTEGER_FORMAT, i > 0 ? "," : "", json_integer_value(item));
    fgi_buf_printf(out, "], %" JSON_INTEGER_FORMAT " outputs",
                   json_integer_value(json_object_get(origin->data, "outputs")));
    json_array_foreach(names, i, item)
    {
        fgi_buf_printf(out, "%s%s", i == 0 ? ": " : separator,
                       i < 10 ? json_string_value(item) : "...");
        separator = ", ";
        if (i == 10)
            break;
    }
    fgi_buf_putc(out, '\n');
}

/* Opens what is named. If its configuration cannot be read, as without the rows that it names, the
 * rest can be listed: the reason is the note. Any other file is read as a file of tensors. */
static fg_status open_named(const char *name, const char *ckpt, fgi_run_origin *out, fg_error *note,
                            fg_error *err)
{
    *out = (fgi_run_origin){0};
    if (!fgi_run_origin_is_named(name))
        return fg_ckpt_open(name, NULL, &out->ckpt, err);
    const fg_status status = fgi_run_origin_open(name, ckpt, NULL, NULL, out, err);
    if (status != FG_EFORMAT || out->ckpt == NULL || out->c != NULL)
        return status;
    *note = *err;
    return FG_OK;
}

fg_status show_open(const char *name, const char *ckpt, fgi_run_origin *out, fgi_buf *about,
                    fg_error *err)
{
    fg_ckpt *checked = NULL;
    fg_error note = {0};
    FGI_TRY(open_named(name, ckpt, out, &note, err));
    FGI_TRY(fg_ckpt_open(fg_ckpt_path(out->ckpt), NULL, &checked, err));
    fg_ckpt_close(checked);
    fgi_run_origin_print(out, about);
    fgi_buf_putc(about, '\n');
    put_purpose(about, out);
    fgi_buf_printf(about, "%s%s", note.message, note.message[0] != '\0' ? "\n" : "");
    return fgi_buf_status(about, err);
}

/* ---- printing -------------------------------------------------------------------------------- */

static const char *part_name(fg_ckpt_part part)
{
    return part == FG_CKPT_MODEL ? "model" : "state";
}

/* Names in a file may contain terminal escape sequences. */
static void print_tensor(const fg_tensor_info *t, bool with_type, bool with_part, FILE *out)
{
    char type[128];
    for (const unsigned char *at = (const unsigned char *)t->name; *at != '\0'; at++)
        (void)fputc(*at < ' ' || *at == 0x7f ? '?' : *at, out);
    if (with_type)
        (void)fprintf(out, "\t%s",
                      t->stored != NULL ? t->stored : fg_type_format(&t->type, type, sizeof type));
    if (with_type && with_part)
        (void)fprintf(out, "\t%s", part_name(t->part));
    (void)fputc('\n', out);
}

void show_lines(const fg_ckpt *ckpt, bool only_names, FILE *lines, FILE *totals)
{
    const size_t count = fg_ckpt_count(ckpt);
    double bytes = 0;
    int64_t elements = 0;
    for (size_t i = 0; i < count; i++) {
        const fg_tensor_info *t = fg_ckpt_info(ckpt, i);
        bytes += (double)t->size_bytes;
        elements += t->part == FG_CKPT_MODEL ? fg_type_count(&t->type) : 0;
        print_tensor(t, !only_names, fg_ckpt_state_json(ckpt) != NULL, lines);
    }
    (void)fprintf(totals, "%zu tensor%s, %s; %" PRId64 " element%s in the model\n", count,
                  fgi_s((int64_t)count), fgi_bytes_words(bytes), elements, fgi_s(elements));
}

static json_t *tensor_object(const fg_tensor_info *t)
{
    json_t *shape = json_array();
    for (int i = 0; i < t->type.rank; i++)
        (void)json_array_append_new(shape, json_integer(t->type.dim[i]));
    const char *dtype = t->stored != NULL ? t->stored : fg_dtype_name(t->type.dtype);
    return json_pack("{s:s, s:s%, s:o, s:s, s:I, s:I}", "name", t->name, "dtype", dtype,
                     strcspn(dtype, "["), "shape", shape, "part", part_name(t->part),
                     "offset_bytes", (json_int_t)t->offset_bytes, "size_bytes",
                     (json_int_t)t->size_bytes);
}

static json_t *load(const char *text)
{
    return text != NULL ? fgi_json_load(text, strlen(text), 0, NULL) : json_null();
}

void show_json(const fg_ckpt *ckpt, FILE *out)
{
    json_t *tensors = cli_need(json_array());
    for (size_t i = 0; i < fg_ckpt_count(ckpt); i++)
        (void)json_array_append_new(tensors, tensor_object(fg_ckpt_info(ckpt, i)));
    json_t *root = json_pack("{s:s, s:o, s:o, s:s?, s:o}", "path", fg_ckpt_path(ckpt), "tensors",
                             tensors, "state", load(fg_ckpt_state_json(ckpt)), "config",
                             fg_ckpt_attachment(ckpt, FGI_RUN_ORIGIN_CONFIG), "data",
                             load(fg_ckpt_attachment(ckpt, FGI_RUN_ORIGIN_DATA)));
    (void)json_dumpf(cli_need(root), out, JSON_INDENT(2));
    (void)fputc('\n', out);
    json_decref(root);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int print_config(const fg_ckpt *ckpt)
{
    const char *text = fg_ckpt_attachment(ckpt, FGI_RUN_ORIGIN_CONFIG);
    if (text == NULL)
        return cli_complain(CLI_FAILED, "show", "%s contains no configuration", fg_ckpt_path(ckpt));
    (void)fputs(text, stdout);
    return CLI_DONE;
}

static int run(const cli_call *call)
{
    fg_error err = {0};
    fgi_run_origin origin;
    fgi_buf about = {0};
    int status = CLI_DONE;
    if (show_open(call->args[0], which, &origin, &about, &err) != FG_OK) {
        status = cli_complain(CLI_FAILED, "show", "%s", err.message);
    } else if (as_json) {
        show_json(origin.ckpt, stdout);
    } else if (as_config) {
        status = print_config(origin.ckpt);
    } else {
        (void)fputs(about.data, stderr);
        show_lines(origin.ckpt, names_only, stdout, stderr);
    }
    fgi_buf_fini(&about);
    fgi_run_origin_close(&origin);
    return status;
}

const cli_command cli_show = {
    .name = "show",
    .arguments = "RUN|CKPT",
    .summary = "list the tensors of a checkpoint",
    .details = "The argument is a run's folder, `last` or `best` (of the newest run in runs/), a "
               "checkpoint's folder, or a .safetensors file. The checksums of the files are "
               "verified; an error names a damaged file.",
    .options = options,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
