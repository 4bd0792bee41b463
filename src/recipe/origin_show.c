/* origin_show.c - prints a trained model, for `fulgurite show`.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/recipe.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"
#include "input/json_file.h"
#include "recipe/run_origin.h"
#include "report/helpers.h"

/* "classification of f32[4] into 3 classes (cat, dog, eel) by mlp". */
static void put_purpose(fgi_buf *out, const fgi_run_origin *origin)
{
    size_t i;
    const json_t *item, *input = json_object_get(origin->data, "input");
    const json_t *names = json_object_get(origin->data, "class_names");
    const char *separator = "";
    if (origin->data == NULL || origin->c == NULL)
        return;
    fgi_buf_printf(out, "model: %s, %s of %s[", fgi_config_text(origin->c, "model.name"),
                   fgi_config_text(origin->c, "task"),
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

/* Opens the checkpoint. If its configuration cannot be read, as without the rows that it names,
 * the rest can be listed: the reason is the note. */
static fg_status open_listed(const char *name, const char *which, const fg_registry *registry,
                             fgi_run_origin *out, fgi_buf *note, fg_error *err)
{
    fg_error inner = {0};
    const fg_status status = fgi_run_origin_open(name, which, NULL, registry, out, &inner);
    if (status == FG_EFORMAT && out->ckpt != NULL && out->c == NULL) {
        fgi_buf_printf(note, "%s\n", inner.message);
        return FG_OK;
    }
    if (status != FG_OK && err != NULL)
        *err = inner;
    return status;
}

/* Opens the named checkpoint and verifies the checksums of its files. */
static fg_status open_checked(const char *name, const char *which, const fg_registry *registry,
                              fgi_run_origin *out, fgi_buf *note, fg_error *err)
{
    fg_ckpt *checked = NULL;
    fg_status status = FG_OK;
    if (fgi_run_origin_is_named(name)) {
        status = open_listed(name, which, registry, out, note, err);
    } else { /* any other file is read as a file of tensors */
        *out = (fgi_run_origin){0};
        status = fg_ckpt_open(name, &out->ckpt, err);
    }
    if (status == FG_OK)
        status = fg_ckpt_open(fg_ckpt_path(out->ckpt), &checked, err);
    fg_ckpt_close(checked);
    return status;
}

fg_status fg_recipe_origin_open(const char *name, const char *which, const fg_registry *registry,
                                fg_recipe_origin *out, fg_error *err)
{
    fgi_run_origin origin = {0};
    fgi_buf text = {0}, note = {0};
    *out = (fg_recipe_origin){0};
    fg_status status = open_checked(name, which, registry, &origin, &note, err);
    if (status == FG_OK) {
        fgi_run_origin_print(&origin, &text);
        fgi_buf_putc(&text, '\n');
        put_purpose(&text, &origin);
        fgi_buf_puts(&text, note.data != NULL ? note.data : "");
        text.failed = text.failed || note.failed;
        status = fgi_buf_status(&text, err);
    }
    if (status == FG_OK) {
        out->ckpt = origin.ckpt;
        origin.ckpt = NULL;
        out->config = fg_ckpt_attachment(out->ckpt, FGI_RUN_ORIGIN_CONFIG);
        out->data = fg_ckpt_attachment(out->ckpt, FGI_RUN_ORIGIN_DATA);
        out->description = fgi_buf_take(&text);
    }
    fgi_buf_fini(&text);
    fgi_buf_fini(&note);
    fgi_run_origin_close(&origin);
    return status;
}

/* Names in a file may contain terminal escape sequences. */
static void put_name(fgi_buf *out, const char *name)
{
    for (const unsigned char *at = (const unsigned char *)name; *at != '\0'; at++)
        fgi_buf_putc(out, (char)(*at < ' ' || *at == 0x7f ? '?' : *at));
}

static const char *part_name(fg_ckpt_part part)
{
    return part == FG_CKPT_MODEL ? "model" : "state";
}

static void put_tensor(fgi_buf *out, const fg_tensor_info *t, bool names_only, bool has_parts)
{
    char type[128];
    put_name(out, t->name);
    if (!names_only)
        fgi_buf_printf(out, "\t%s",
                       t->stored != NULL ? t->stored
                                         : fg_type_format(&t->type, type, sizeof(type)));
    if (!names_only && has_parts)
        fgi_buf_printf(out, "\t%s", part_name(t->part));
    fgi_buf_putc(out, '\n');
}

fg_status fg_recipe_origin_lines(const fg_recipe_origin *origin, bool names_only, char **out_lines,
                                 char **out_totals, fg_error *err)
{
    const size_t count = fg_ckpt_count(origin->ckpt);
    const bool is_folder = fg_ckpt_state_json(origin->ckpt) != NULL;
    fgi_buf lines = {0}, totals = {0};
    double bytes = 0;
    int64_t elements = 0;
    for (size_t i = 0; i < count; i++) {
        const fg_tensor_info *t = fg_ckpt_info(origin->ckpt, i);
        bytes += (double)t->size_bytes;
        elements += t->part == FG_CKPT_MODEL ? fg_type_count(&t->type) : 0;
        put_tensor(&lines, t, names_only, is_folder);
    }
    fgi_buf_printf(&totals, "%zu tensor%s, %s; %" PRId64 " element%s in the model\n", count,
                   fgi_s(count), fgi_bytes_words(bytes), elements, fgi_s(elements));
    *out_lines = fgi_take_text(&lines);
    *out_totals = fgi_take_text(&totals);
    if (*out_lines != NULL && *out_totals != NULL)
        return FG_OK;
    fgi_free(*out_lines);
    fgi_free(*out_totals);
    *out_lines = *out_totals = NULL;
    return fgi_no_memory(err);
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

fg_status fg_recipe_origin_json(const fg_recipe_origin *origin, char **out, fg_error *err)
{
    const fg_ckpt *ckpt = origin->ckpt;
    json_t *tensors = json_array();
    for (size_t i = 0; i < fg_ckpt_count(ckpt); i++)
        (void)json_array_append_new(tensors, tensor_object(fg_ckpt_info(ckpt, i)));
    json_t *root = json_pack("{s:s, s:o, s:o, s:s?, s:o}", "path", fg_ckpt_path(ckpt), "tensors",
                             tensors, "state", load(fg_ckpt_state_json(ckpt)), "config",
                             origin->config, "data", load(origin->data));
    fgi_buf text = {0};
    fgi_json_print(&text, root, JSON_INDENT(2));
    fgi_buf_putc(&text, '\n');
    *out = root != NULL ? fgi_take_text(&text) : NULL;
    fgi_buf_fini(&text);
    json_decref(root);
    return *out != NULL ? FG_OK : fgi_no_memory(err);
}

void fg_recipe_origin_close(fg_recipe_origin *origin)
{
    fg_ckpt_close(origin->ckpt);
    fgi_free(origin->description);
    *origin = (fg_recipe_origin){0};
}
