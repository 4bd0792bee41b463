/* export_onnx.c - a module as an ONNX model: its forward pass is traced without a device, and the
 * program translated by src/onnx. The arguments of the program are the input and variables.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"
#include "onnx/onnx.h"
#include "trace/program.h"
#include "trace/trace.h"
#include "train/weights/weight_files.h"

/* The argument of a variable: its value in the layout of files. */
static fg_status use_variable(const fgi_host_copy *copy, const fg_variable *variable,
                              fgi_onnx_argument *out, fg_error *err)
{
    const char *name = fg_variable_name(variable);
    for (size_t i = 0; i < copy->count; i++)
        if (strcmp(copy->tensors[i].name, name) == 0) {
            *out = (fgi_onnx_argument){.name = name,
                                       .type = *fg_variable_type(variable),
                                       .data = copy->tensors[i].data,
                                       .file_axis = fg_variable_file_axis(variable)};
            return FG_OK;
        }
    return fgi_fail(err, FG_EINVAL,
                    "fg_module_save_onnx: the output depends on '%s', which is no "
                    "parameter or buffer of the module",
                    name);
}

/* Tensors of a file are found by their names. */
static fg_status check_names(const fgi_onnx_model *model, const char *input_name, fg_error *err)
{
    for (size_t i = 0; i < model->argument_count; i++) {
        const char *name = model->arguments[i].name;
        if (strcmp(name, model->output) == 0 ||
            (model->arguments[i].data != NULL && strcmp(name, input_name) == 0))
            return fgi_fail(err, FG_EINVAL,
                            "fg_module_save_onnx: '%s' is the name of two of input, output and "
                            "variables: name input and output in the options",
                            name);
    }
    return FG_OK;
}

static fg_status use_leaf(const fgi_host_copy *copy, const fgi_leaf *leaf, const char *input_name,
                          fgi_onnx_argument *out, fg_error *err)
{
    if (leaf->kind == FGI_LEAF_VARIABLE)
        return use_variable(copy, leaf->of.variable, out, err);
    if (leaf->kind != FGI_LEAF_FEED)
        return fgi_fail(err, FG_EINVAL, "fg_module_save_onnx: the output depends on an array");
    *out = (fgi_onnx_argument){.name = input_name, .type = leaf->node->type};
    return FG_OK;
}

static fg_status check_layout(const fgi_layout *layout, const fg_type *output, fg_error *err)
{
    if (layout->scalar_count > 0)
        return fgi_fail(err, FG_EUNSUPPORTED,
                        "ONNX export does not support random numbers, or others that programs "
                        "get at each launch");
    if (layout->assigned_count > 0)
        return fgi_fail(err, FG_EUNSUPPORTED, "ONNX export does not support assigned variables");
    if (output->rank < 1 || output->dim[0] != FGI_ONNX_BATCH)
        return fgi_fail(err, FG_ESHAPE,
                        "fg_module_save_onnx: the first dimension of the output is "
                        "not that of the batch");
    return FG_OK;
}

/* A batch of samples, in which a free dimension is `length`. */
static fg_type batch_of(const fg_type *sample, int64_t length)
{
    fg_type type = {.dtype = sample->dtype, .rank = sample->rank + 1, .dim = {FGI_ONNX_BATCH}};
    for (int i = 0; i < sample->rank; i++)
        type.dim[1 + i] = sample->dim[i] < 0 ? length : sample->dim[i];
    return type;
}

/* What is exported. */
typedef struct source {
    fg_tensor (*forward)(void *self, fg_tensor x);
    void *self;
    const fg_onnx_options *o;
} source;

/* The program for a length; *out_trace also after an error. */
static fg_status trace_program(const source *s, int64_t length, fg_trace **out_trace,
                               fg_tensor *out_result, char **out_text, fg_error *err)
{
    const fg_type type = batch_of(&s->o->input, length);
    FGI_TRY(fg_trace_create(NULL, out_trace, err));
    *out_result = s->forward(s->self, fgi_trace_feed(*out_trace, 0, &type));
    return fg_trace_text(*out_trace, out_result, 1, out_text, err);
}

static fg_status other_program(const source *s, char **out_text, fg_error *err)
{
    fg_trace *trace = NULL;
    fg_tensor result;
    const fg_status status =
        trace_program(s, FGI_ONNX_OTHER_LENGTH, &trace, &result, out_text, err);
    fg_trace_destroy(trace);
    return status;
}

/* Writes the traced program with the values of the variables. */
static fg_status write_traced(fg_trace *trace, fg_tensor output, const fgi_host_copy *copy,
                              const char *path, const fg_onnx_options *o, fgi_onnx_model *model,
                              fg_error *err)
{
    const char *input_name = o->input_name != NULL ? o->input_name : "input";
    fgi_layout layout = {0};
    fgi_onnx_argument *arguments = NULL;
    size_t data_bytes = 0;
    fg_status status;
    FGI_DONE(fgi_layout_make(trace, &output, 1, &layout, err));
    FGI_DONE(check_layout(&layout, fg_tensor_type(output), err));
    arguments = fgi_calloc(layout.argument_count + 1, sizeof *arguments);
    if (arguments == NULL)
        FGI_DONE(fgi_no_memory(err));
    for (size_t i = 0; i < layout.argument_count; i++)
        FGI_DONE(use_leaf(copy, &trace->leaves[layout.argument_leaf[i]], input_name, &arguments[i],
                          err));
    model->arguments = arguments;
    model->argument_count = layout.argument_count;
    model->output = o->output_name != NULL ? o->output_name : "output";
    model->metadata = o->metadata;
    model->limit_bytes = o->limit_bytes;
    FGI_DONE(check_names(model, input_name, err));
    status = fgi_onnx_write(path, model, &data_bytes, err);
    if (o->out_data_bytes != NULL)
        *o->out_data_bytes = data_bytes;
done:
    fgi_free(arguments);
    fgi_layout_fini(&layout);
    return status;
}

static fg_status check_input(const fg_type *input, fg_error *err)
{
    int free_count = 0;
    for (int i = 0; i < input->rank && i < FG_MAX_RANK; i++)
        free_count += input->dim[i] < 0 ? 1 : 0;
    if (input->dtype == FG_DTYPE_NONE || input->rank < 0 || input->rank >= FG_MAX_RANK)
        return fgi_fail(err, FG_EINVAL, "fg_module_save_onnx: expected the type of the input");
    if (free_count > 1)
        return fgi_fail(err, FG_EINVAL,
                        "fg_module_save_onnx: %d dimensions of the input are -1: expected at most "
                        "one",
                        free_count);
    return FG_OK;
}

static fg_status save(const fg_module *module, const char *path, const source *s, fg_error *err)
{
    fgi_host_copy copy = {0};
    fg_trace *trace = NULL;
    fg_tensor output;
    char *text = NULL, *other = NULL;
    fgi_onnx_model model = {.text = NULL};
    bool is_free = false;
    fg_status status;
    for (int i = 0; i < s->o->input.rank; i++)
        is_free |= s->o->input.dim[i] < 0;
    FGI_DONE(fgi_host_copy_init(&copy, module, NULL, 0, err));
    FGI_DONE(fgi_host_copy_model(&copy, module, err));
    FGI_DONE(fgi_host_copy_await(&copy, err));
    FGI_DONE(fgi_host_copy_turn(&copy, err));
    if (is_free)
        FGI_DONE(other_program(s, &other, err));
    FGI_DONE(trace_program(s, FGI_ONNX_LENGTH, &trace, &output, &text, err));
    model.text = text;
    model.other_text = other;
    status = write_traced(trace, output, &copy, path, s->o, &model, err);
done:
    fgi_free(text);
    fgi_free(other);
    fg_trace_destroy(trace);
    fgi_host_copy_fini(&copy);
    return status;
}

fg_status fg_module_save_onnx(const fg_module *module, const char *path,
                              fg_tensor (*forward)(void *self, fg_tensor x), void *self,
                              const fg_onnx_options *options, fg_error *err)
{
    if (module == NULL || forward == NULL || options == NULL || path == NULL)
        return fgi_fail(err, FG_EINVAL,
                        "fg_module_save_onnx: expected a module, a path, a function and the type "
                        "of its input");
    FGI_TRY_RESERVED(fg_onnx_options, options, err);
    FGI_TRY(check_input(&options->input, err));
    FGI_TRY(fg_module_error(module, err));
    return save(module, path, &(source){forward, self, options}, err);
}
