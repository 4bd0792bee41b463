/* run_onnx.c - writes the model of a checkpoint as an ONNX model. Preparing the samples is not part
 * of it: what the input expects is said, and in the file's metadata.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fulgurite/weights.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/temporary.h"
#include "input/json_file.h"
#include "nn/model.h"
#include "recipe/run/run.h"

enum { MOST_METADATA = 16 };

typedef struct export
{
    fgi_run_schema schema;
    fgi_run_task task;
    fg_module *root;
    fg_type input;            /* of one sample, in ONNX's layout */
    bool is_image, is_tokens; /* [C, H, W] */
    char *text[MOST_METADATA];
    const char *metadata[2 * MOST_METADATA + 1];
    size_t count;
}
export;

static bool is_regression(const export *e) { return strcmp(e->task.c->task, "regression") == 0; }

/* Images as ONNX and PyTorch have them, token indices of 64 bits; values in the unit of the target.
 */
static fg_tensor forward(void *self, fg_tensor x)
{
    const export *e = self;
    const fgi_run_task *t = &e->task;
    if (e->is_image)
        x = fg_permute(x, (const int[]){0, 2, 3, 1});
    x = fg_model_apply(t->model, e->is_tokens ? fg_cast(x, FG_S32) : x);
    if (!is_regression(e))
        return x;
    if (t->loss->predict != NULL)
        x = t->loss->predict(x, false, t->loss_options);
    return fg_add_scalar(fg_mul_scalar(x, t->target_deviation), t->target_mean);
}

static void find_input(export *e)
{
    const fg_type *type = &e->task.input;
    e->is_image = type->rank == 3;
    e->is_tokens = fgi_is_tokens(e->task.model_entry, type);
    e->input = *type;
    e->input.dtype = e->is_tokens ? FG_S64 : FG_F32;
    for (int i = 0; i < 3 && e->is_image; i++)
        e->input.dim[i] = type->dim[(i + 2) % 3];
}

/* The weights that evaluations use, through a file for a moment. */
static fg_status load(export *e, const fgi_run_origin *origin, const char *path,
                      const fgi_published_say *say, fg_error *err)
{
    char *file = fgi_temporary_name(path, "tmp");
    if (file == NULL)
        return fgi_no_memory(err);
    fg_status status = fgi_published_save(origin, file, say, err);
    if (status == FG_OK)
        status = fg_module_load(e->root, file, NULL, NULL, err);
    (void)unlink(file);
    fgi_free(file);
    return status;
}

/* What docs/formats.md says of data.json, but for the tokenizer. */
static fg_status describe(export *e, const json_t *data, fg_error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)data, key, value)
    {
        if (json_is_null(value) || strcmp(key, "tokenizer") == 0 || e->count == MOST_METADATA)
            continue;
        char *text = json_is_string(value)
                         ? fgi_strdup(json_string_value(value))
                         : fgi_json_text(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
        if (text == NULL)
            return fgi_no_memory(err);
        e->metadata[2 * e->count] = key;
        e->metadata[2 * e->count + 1] = e->text[e->count] = text;
        e->count++;
    }
    return FG_OK;
}

static void say_input(const export *e, const fg_onnx_options *o, const json_t *data,
                      const fgi_published_say *say)
{
    fgi_buf line = {0};
    char type[96] = "s64[length]";
    const bool is_free = o->input.dim[0] < 0;
    const json_t *prepared = json_object_get(data, "preprocessing");
    char *text = fgi_json_text(prepared, JSON_REAL_PRECISION(6));
    fgi_buf_printf(&line, "ONNX opset 18: input %s %s with a batch dimension in front; ",
                   o->input_name, is_free ? type : fg_type_format(&o->input, type, sizeof type));
    if (e->is_tokens)
        fgi_buf_puts(&line, is_free ? "sequences may have any length" : "its length is fixed");
    else if (e->schema.csv != NULL)
        fgi_buf_puts(&line, "expects the columns as csv in metadata_props encodes them");
    else
        fgi_buf_printf(&line, "expects samples prepared as metadata_props say: preprocessing %s",
                       text != NULL ? text : "");
    if (line.data != NULL)
        say->line(say->self, line.data);
    fgi_free(text);
    fgi_buf_fini(&line);
}

static void say_data(const char *path, size_t data_bytes, const fgi_published_say *say)
{
    fgi_buf line = {0};
    fgi_buf_printf(&line,
                   "the tensors (%.1f MB) are in %s.data, because an ONNX file has at most 2 GB: "
                   "keep both files in one folder",
                   (double)data_bytes / 1e6, path);
    if (line.data != NULL && data_bytes > 0)
        say->line(say->self, line.data);
    fgi_buf_fini(&line);
}

/* Sequences have any length, or that of training if the model depends on it. */
static fg_status save(export *e, const char *path, fg_onnx_options *o, fg_error *err)
{
    if (e->is_tokens) {
        o->input.dim[0] = -1;
        const fg_status status = fg_module_save_onnx(e->root, path, forward, e, o, err);
        if (status != FG_EUNSUPPORTED)
            return status;
        o->input.dim[0] = e->input.dim[0];
    }
    return fg_module_save_onnx(e->root, path, forward, e, o, err);
}

static fg_status write_onnx(export *e, const fgi_run_origin *origin, const char *path,
                            size_t limit_bytes, const fgi_published_say *say, fg_error *err)
{
    size_t data_bytes = 0;
    if (origin->c == NULL || origin->data == NULL)
        return fgi_fail(err, FG_EINVAL,
                        "%s: contains no configuration, so its model is not known\n"
                        "--format=safetensors writes the tensors alone",
                        fg_ckpt_path(origin->ckpt));
    FGI_TRY(fgi_run_schema_of_json(fg_ckpt_path(origin->ckpt), origin->data, &e->schema, err));
    FGI_TRY(fgi_run_task_init(origin->c, &e->schema, &e->task, err));
    if (fg_option_find(e->task.model_values, "query_chunk") != NULL) /* only saves memory */
        FGI_TRY(fg_option_set(e->task.model_values, "query_chunk", "0", NULL, err));
    FGI_TRY(fg_module_create(NULL, 0, &e->root, err));
    e->task.task.ops->build(e->task.task.self, e->root);
    FGI_TRY(fg_module_error(e->root, err));
    FGI_TRY(load(e, origin, path, say, err));
    find_input(e);
    json_t *data = fgi_run_task_describe(&e->task);
    fg_status status = describe(e, data, err);
    fg_onnx_options options = {.input = e->input,
                               .input_name = e->is_image    ? "pixel_values"
                                             : e->is_tokens ? "input_ids"
                                                            : "input",
                               .output_name = is_regression(e) ? "prediction" : "logits",
                               .metadata = e->metadata,
                               .limit_bytes = limit_bytes,
                               .out_data_bytes = &data_bytes};
    if (status == FG_OK)
        status = save(e, path, &options, err);
    if (status == FG_OK) {
        say_input(e, &options, data, say);
        say_data(path, data_bytes, say);
    }
    json_decref(data);
    return status;
}

fg_status fgi_run_export_onnx(const fgi_run_origin *origin, const char *path, size_t limit_bytes,
                              const fgi_published_say *say, fg_error *err)
{
    export e = {.count = 0};
    const fg_status status = write_onnx(&e, origin, path, limit_bytes, say, err);
    for (size_t i = 0; i < e.count; i++)
        fgi_free(e.text[i]);
    fg_module_destroy(e.root);
    fgi_run_task_fini(&e.task);
    fgi_run_schema_fini(&e.schema);
    return status;
}
