/* model.c - creates models by name. A row builds the layers and applies them; the code that all
 * models share (checking, casting and scaling the input, image shapes, options) is here.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "nn/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "op/op.h"
#include "option/option.h"

enum { MOST_NAMES = 64 };

struct fg_model {
    fg_module *root;
    const fg_model_entry *entry;
    fg_model_shape shape;
    double scale;
    void *self; /* the row's struct, owned by root */
};

fg_tensor fgi_activate(fgi_activation activation, fg_tensor x)
{
    switch (activation) {
    case FGI_RELU: return fg_relu(x);
    case FGI_TANH: return fg_tanh(x);
    case FGI_SIGMOID: return fg_sigmoid(x);
    case FGI_GELU: return fg_gelu(x);
    case FGI_GELU_TANH: return fg_gelu_tanh(x);
    case FGI_SILU: return fg_silu(x);
    case FGI_SOFTPLUS: return fg_softplus(x);
    case FGI_ELU: return fg_elu(x, 1);
    case FGI_LEAKY_RELU: return fg_leaky_relu(x, 0.01);
    case FGI_MISH: return fg_mish(x);
    case FGI_HARDSWISH: return fg_hardswish(x);
    }
    return x;
}

fgi_name fgi_numbered(const char *prefix, int64_t number)
{
    fgi_name name;
    (void)snprintf(name.text, sizeof name.text, "%s%" PRId64, prefix, number);
    return name;
}

bool fgi_check_length(fg_module *root, const fg_model_shape *shape, int64_t length)
{
    if (shape->input.dim[0] > length)
        (void)fgi_module_fail(root, FG_EINVAL,
                              "the samples have %" PRId64 " tokens, but the model has %" PRId64
                              " positions\nlower data.length, or raise model.length",
                              shape->input.dim[0], length);
    return fg_module_error(root, NULL) == FG_OK;
}

bool fgi_check_image(fg_module *root, const fg_model_shape *shape, int64_t least)
{
    if (shape->image[0] < least || shape->image[1] < least)
        (void)fgi_module_fail(root, FG_EINVAL,
                              "images of %" PRId64 "x%" PRId64 " pixels: expected at least %" PRId64
                              "\nset data.size",
                              shape->image[0], shape->image[1], least);
    return fg_module_error(root, NULL) == FG_OK;
}

double fgi_drop_path_of(double rate, int64_t i, int64_t n)
{
    return n > 1 ? rate * (double)i / (double)(n - 1) : 0;
}

fg_tensor fgi_documents(fg_module *module, fg_tensor tokens, int64_t end)
{
    fg_tensor first;
    if (end < 0 || fgi_kv_cache_in_use(module, &first) != NULL)
        return (fg_tensor){0};
    const fg_tensor ends = fg_cast(fg_eq(tokens, fgi_full_like(tokens, (double)end)), FG_S32);
    return fg_sub(fg_cumsum(ends, 1), ends);
}

/* s32[N,T]: the distance from the first position with the same document. */
static fg_tensor positions_in(fg_tensor document)
{
    const int last = 2;
    const int64_t *dim = fg_tensor_type(document)->dim, n = dim[0], t = dim[1];
    const int64_t pairs[] = {n, t, t};
    fg_trace *trace = fg_tensor_trace(document);
    const fg_tensor is_same =
        fg_eq(fg_reshape(document, FG_DIMS(n, t, 1)), fg_reshape(document, FG_DIMS(n, 1, t)));
    const fg_tensor at = fg_iota(trace, FG_S32, 2, 3, pairs);
    const fg_tensor first = fg_min(fg_where(is_same, at, fgi_full_like(at, (double)t)), 1, &last);
    return fg_sub(fg_iota(trace, FG_S32, 1, 2, dim), first);
}

fg_tensor fgi_positions(fg_module *module, fg_tensor tokens, fg_tensor document)
{
    fg_tensor first;
    if (document.handle != 0)
        return positions_in(document);
    const fg_tensor index =
        fg_iota(fg_tensor_trace(tokens), FG_S32, 0, FG_DIMS(fg_tensor_dim(tokens, 1)));
    return fgi_kv_cache_in_use(module, &first) != NULL ? fg_add(index, first) : index;
}

/* ---- building -------------------------------------------------------------------------------- */

static const fg_model_entry *find_entry(fg_module *root, const char *name)
{
    const char *names[MOST_NAMES];
    char known[320];
    for (size_t i = 0; i < fgi_model_row_count && i < MOST_NAMES; i++) {
        names[i] = fgi_model_rows[i]->name;
        if (strcmp(names[i], name) == 0)
            return (const fg_model_entry *)fgi_model_rows[i];
    }
    return fgi_module_fail(root, FG_EINVAL, "unknown model '%s'%s", name,
                           fgi_suggest(name, names, fgi_model_row_count, known, sizeof known));
}

/* Height, width and channels of the input, which may be flattened or have no channel dimension. */
static bool find_image(fg_module *root, const char *name, const fg_model_options *o, int64_t *image)
{
    const fg_type *in = &o->input;
    const int64_t count = fg_type_count(in);
    const int64_t side = (int64_t)llround(sqrt((double)count));
    const int64_t *given = in->rank > 1 ? in->dim : o->image;
    for (int i = 0; i < 3; i++)
        image[i] = given[i];
    if (in->rank == 1 && image[0] == 0)
        image[0] = image[1] = side;
    if (image[2] == 0)
        image[2] = 1;
    const fg_type type = {FG_F32, 3, {image[0], image[1], image[2]}};
    if (in->rank > 3 || fg_type_count(&type) != count || image[0] < 1 || image[1] < 1) {
        char text[96];
        (void)fgi_module_fail(root, FG_EINVAL,
                              "%s on %s: expected images [H,W] or [H,W,C], or flat ones with their "
                              "height, width and channels given\nset data.image, or, for samples "
                              "that are not images, model.name: mlp",
                              name, fg_type_format(in, text, sizeof text));
        return false;
    }
    return true;
}

static bool check_input(fg_module *root, const char *name, const fg_model_options *o)
{
    char text[96];
    const int64_t count = fg_type_count(&o->input);
    const bool matches = o->input.rank >= 1 && o->input.rank < FG_MAX_RANK && count >= 1 &&
                         count < INT32_MAX && fg_dtype_size(o->input.dtype) > 0;
    if (!matches)
        (void)fgi_module_fail(root, FG_EINVAL,
                              "model '%s': inputs of type %s are not supported: expected at "
                              "least one dimension\nreshape a vector data.x to [N, 1]",
                              name, fg_type_format(&o->input, text, sizeof text));
    else if (o->outputs < 1)
        (void)fgi_module_fail(root, FG_EINVAL, "model '%s': outputs %" PRId64 "; must be given",
                              name, o->outputs);
    return fg_module_error(root, NULL) == FG_OK;
}

/* Fills the row's struct, and builds the layers. */
static void build(fg_model *m, const fg_model_options *o)
{
    const fg_entry *entry = &m->entry->entry;
    fg_error err = {0};
    fg_option_values *own = NULL;
    if (o->values == NULL && fgi_entry_values(entry, o->options, &own, &err) != FG_OK)
        fg_module_fail(m->root, &err);
    const fg_option_values *values = o->values != NULL ? o->values : own;
    if (values != NULL && fgi_row_create(entry, values, &m->self, &err) != FG_OK)
        fg_module_fail(m->root, &err);
    fg_option_values_destroy(own);
    if (m->self == NULL || fg_module_attach(m->root, m->self, fgi_free) == NULL)
        return;
    fg_module_describe(m->root, entry->name, NULL);
    m->entry->build(m->self, m->root, &m->shape);
}

fg_model *fg_model_create(fg_module *root, const fg_model_options *options)
{
    if (root == NULL || fg_module_error(root, NULL) != FG_OK)
        return NULL;
    if (options == NULL || (options->name == NULL && options->entry == NULL))
        return fgi_module_fail(root, FG_EINVAL, "a model needs a name");
    if (!fgi_module_check_reserved(root, FGI_RESERVED(fg_model_options, options)))
        return NULL;
    const fg_model_options *o = options;
    const fg_model_entry *entry = o->entry != NULL ? o->entry : find_entry(root, o->name);
    if (entry == NULL || !fgi_module_check_reserved(root, FGI_RESERVED(fg_model_entry, entry)) ||
        !fgi_module_check_reserved(root, FGI_RESERVED(fg_entry, &entry->entry)) ||
        !check_input(root, entry->entry.name, o))
        return NULL;
    fg_model *m = fgi_layer_create(root, sizeof *m);
    if (m == NULL)
        return NULL;
    m->root = root;
    m->entry = entry;
    m->shape =
        (fg_model_shape){.input = o->input, .outputs = o->outputs, .per_token = o->per_token};
    m->scale = fgi_or_default(o->scale, 1.0 / 255);
    if (entry->takes_images && !find_image(root, entry->entry.name, o, m->shape.image))
        return NULL;
    if (entry->takes_tokens && (o->input.rank != 1 || o->input.dtype != FG_S32)) {
        char text[96];
        return fgi_module_fail(root, FG_EINVAL, "%s on %s: expected tokens s32[T]",
                               entry->entry.name, fg_type_format(&o->input, text, sizeof text));
    }
    build(m, o);
    return fg_module_error(root, NULL) == FG_OK ? m : NULL;
}

/* ---- applying -------------------------------------------------------------------------------- */

fg_tensor fg_flatten_images(fg_tensor x)
{
    const fg_type *type = fg_tensor_type(x);
    if (type->rank < 2)
        return fg_flatten(x, type->rank > 0 ? 1 : 0);
    if (type->rank == 4 && type->dim[3] != 1 && type->dim[1] * type->dim[2] != 1)
        x = fg_permute(x, (const int[]){0, 3, 1, 2});
    return type->rank == 2 ? x : fg_flatten(x, 1);
}

static bool input_matches(const fg_model *model, const fg_type *x)
{
    bool matches = x->rank == model->shape.input.rank + 1;
    if (fgi_is_tokens(model->entry,
                      &model->shape.input)) /* sampling computes fewer positions at a time */
        return matches && x->dtype == FG_S32;
    for (int i = 0; matches && i < model->shape.input.rank; i++)
        matches = x->dim[i + 1] == model->shape.input.dim[i];
    return matches;
}

fg_tensor fg_model_apply(const fg_model *model, fg_tensor x)
{
    fg_tensor y;
    char want[96];
    if (!fgi_layer_enter(model, "model", x, &y))
        return y;
    if (!input_matches(model, fg_tensor_type(x)))
        return fgi_layer_fail(model->root, x, "expected a batch of %s",
                              fg_type_format(&model->shape.input, want, sizeof want));
    if (!fgi_is_tokens(model->entry, &model->shape.input) &&
        !fg_dtype_is_float(fg_tensor_type(x)->dtype))
        x = fg_mul_scalar(fg_cast(x, fg_trace_float(fg_tensor_trace(x))), model->scale);
    const int64_t *image = model->shape.image;
    if (model->entry->takes_images)
        x = fg_reshape(x, 4, (int64_t[]){-1, image[0], image[1], image[2]});
    y = model->entry->apply(model->self, x);
    fg_module_note_output(model->root, y);
    return y;
}
