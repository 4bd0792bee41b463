/* models.c - the models that the program knows by name, made of the public layers.
 *
 * A row of the table builds a model's layers into the root and applies them; what all share (the
 * input's check, cast and scale, flattening, activations) stands around it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "nn/layer.h"

enum { MAX_HIDDEN = 16, SMALL_SIDE = 16, LEAST_SIDE = 4 };

typedef struct model_kind {
    const char *name;
    bool (*build)(fg_model *model, const fg_model_options *options);
    fg_tensor (*apply)(const fg_model *model, fg_tensor x);
} model_kind;

struct fg_model {
    fg_module *root;
    const model_kind *kind;
    fg_type input;
    int64_t outputs;
    int64_t image[3]; /* of images: height, width, channels */
    double scale, dropout;
    fg_tensor (*activation)(fg_tensor x);
    fg_linear *linear[MAX_HIDDEN + 1];
    int linear_count;
    fg_conv *conv[2];
    fg_resnet *resnet;
};

/* ---- linear and mlp -------------------------------------------------------------------------- */

static bool add_linear(fg_model *m, const char *name, int64_t in, int64_t out)
{
    fg_linear *layer = fg_linear_create(m->root, name, &(fg_linear_options){.in = in, .out = out});
    m->linear[m->linear_count++] = layer;
    return layer != NULL;
}

static bool linear_build(fg_model *m, const fg_model_options *o)
{
    return add_linear(m, "fc", fg_type_count(&o->input), o->outputs);
}

static fg_tensor linear_apply(const fg_model *m, fg_tensor x)
{
    return fg_linear_apply(m->linear[0], fg_flatten_images(x));
}

static bool mlp_build(fg_model *m, const fg_model_options *o)
{
    static const int64_t usual[] = {512, 512};
    const int64_t *hidden = o->hidden_count > 0 ? o->hidden : usual;
    const int count = o->hidden_count > 0 ? o->hidden_count : 2;
    int64_t in = fg_type_count(&o->input);
    if (o->hidden_count < 0 || count > MAX_HIDDEN || hidden == NULL) {
        (void)fgi_module_fail(m->root, FG_EINVAL, "mlp: %d hidden layers: expected 1 to %d",
                              o->hidden_count, (int)MAX_HIDDEN);
        return false;
    }
    for (int i = 0; i <= count; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "fc%d", i + 1);
        const int64_t out = i < count ? hidden[i] : o->outputs;
        if (!add_linear(m, name, in, out))
            return false;
        in = out;
    }
    return true;
}

static fg_tensor mlp_apply(const fg_model *m, fg_tensor x)
{
    const int last = m->linear_count - 1;
    x = fg_flatten_images(x);
    for (int i = 0; i < last; i++)
        x = fg_dropout(m->activation(fg_linear_apply(m->linear[i], x)), m->dropout);
    return fg_linear_apply(m->linear[last], x);
}

/* ---- images ---------------------------------------------------------------------------------- */

/* Height, width and channels of the input, which may be flat or without channels. */
static bool find_image(fg_model *m, const fg_model_options *o)
{
    const fg_type *in = &o->input;
    const int64_t count = fg_type_count(in);
    const int64_t side = (int64_t)llround(sqrt((double)count));
    const int64_t *given = in->rank > 1 ? in->dim : o->image;
    int64_t *image = m->image;
    for (int i = 0; i < 3; i++)
        image[i] = given[i];
    if (in->rank == 1 && image[0] == 0)
        image[0] = image[1] = side;
    if (image[2] == 0)
        image[2] = 1;
    const fg_type type = {FG_F32, 3, {image[0], image[1], image[2]}};
    if (in->rank > 3 || fg_type_count(&type) != count || image[0] < 1 || image[1] < 1) {
        char text[96];
        (void)fgi_module_fail(m->root, FG_EINVAL,
                              "%s on %s: expected images [H,W] or [H,W,C], or flat ones with their "
                              "height, width and channels given",
                              o->name, fg_type_format(in, text, sizeof text));
        return false;
    }
    return true;
}

static fg_tensor as_images(const fg_model *m, fg_tensor x)
{
    return fg_reshape(x, 4, (int64_t[]){-1, m->image[0], m->image[1], m->image[2]});
}

/* ---- lenet ----------------------------------------------------------------------------------- */

static bool lenet_build(fg_model *m, const fg_model_options *o)
{
    if (!find_image(m, o))
        return false;
    if (m->image[0] < LEAST_SIDE || m->image[1] < LEAST_SIDE) {
        (void)fgi_module_fail(m->root, FG_EINVAL,
                              "lenet: images of %" PRId64 "x%" PRId64 " pixels; %d are the least",
                              m->image[0], m->image[1], (int)LEAST_SIDE);
        return false;
    }
    const bool small = m->image[0] < SMALL_SIDE || m->image[1] < SMALL_SIDE;
    const fg_conv_options first = {
        .in = m->image[2], .out = 6, .kernel = small ? 3 : 5, .pad = small ? 1 : 2};
    const fg_conv_options second = {
        .in = 6, .out = 16, .kernel = small ? 3 : 5, .pad = small ? 1 : 0};
    const int64_t shrink = small ? 0 : 4; /* what the second convolution takes off each side */
    const int64_t rows = (m->image[0] / 2 - shrink) / 2, columns = (m->image[1] / 2 - shrink) / 2;
    m->conv[0] = fg_conv_create(m->root, "conv1", &first);
    m->conv[1] = fg_conv_create(m->root, "conv2", &second);
    return m->conv[1] != NULL && add_linear(m, "fc1", 16 * rows * columns, 120) &&
           add_linear(m, "fc2", 120, 84) && add_linear(m, "fc3", 84, o->outputs);
}

static fg_tensor lenet_apply(const fg_model *m, fg_tensor x)
{
    x = as_images(m, x);
    for (int i = 0; i < 2; i++)
        x = fg_max_pool(m->activation(fg_conv_apply(m->conv[i], x)), NULL);
    x = fg_flatten_images(x);
    for (int i = 0; i < 2; i++)
        x = m->activation(fg_linear_apply(m->linear[i], x));
    return fg_linear_apply(m->linear[2], x);
}

/* ---- resnet18, resnet34, resnet50 ------------------------------------------------------------ */

static bool resnet_build(fg_model *m, const fg_model_options *o)
{
    if (!find_image(m, o))
        return false;
    const fg_resnet_options options = {.depth = (int)strtol(o->name + strlen("resnet"), NULL, 10),
                                       .in = m->image[2],
                                       .classes = o->outputs,
                                       .stem = o->stem,
                                       .width = o->width};
    m->resnet = fg_resnet_create(m->root, &options);
    return m->resnet != NULL;
}

static fg_tensor resnet_apply(const fg_model *m, fg_tensor x)
{
    return fg_resnet_apply(m->resnet, as_images(m, x));
}

/* ---- the table ------------------------------------------------------------------------------- */

static const model_kind kinds[] = {
    {"linear", linear_build, linear_apply},   {"mlp", mlp_build, mlp_apply},
    {"lenet", lenet_build, lenet_apply},      {"resnet18", resnet_build, resnet_apply},
    {"resnet34", resnet_build, resnet_apply}, {"resnet50", resnet_build, resnet_apply},
};
static const char *const names[] = {"linear",   "mlp",      "lenet", "resnet18",
                                    "resnet34", "resnet50", NULL};
_Static_assert(sizeof kinds / sizeof kinds[0] + 1 == sizeof names / sizeof names[0],
               "each model has a name");

const char *const *fg_model_names(void) { return names; }

static const struct {
    fg_tensor (*apply)(fg_tensor x);
} activations[] = {{fg_relu}, {fg_tanh}, {fg_sigmoid}};
static const char *const activation_names[] = {"relu", "tanh", "sigmoid"};

/* The place of `name` in a list of `count`, or -1 after an error that suggests what there is. */
static int choose(fg_module *root, const char *what, const char *name, const char *const *list,
                  size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0)
            return (int)i;
    const char *near = fgi_nearest(name, list, count);
    char known[128] = "";
    for (size_t i = 0, used = 0; i < count && used < sizeof known; i++) {
        const int n =
            snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", list[i]);
        used += n > 0 ? (size_t)n : 0;
    }
    if (near != NULL)
        (void)fgi_module_fail(root, FG_EINVAL, "unknown %s '%s': did you mean '%s'?", what, name,
                              near);
    else
        (void)fgi_module_fail(root, FG_EINVAL, "unknown %s '%s': there are %s", what, name, known);
    return -1;
}

static bool check_input(fg_module *root, const fg_model_options *o)
{
    char text[96];
    const int64_t count = fg_type_count(&o->input);
    const bool goes = o->input.rank >= 1 && o->input.rank < FG_MAX_RANK && count >= 1 &&
                      count < INT32_MAX && fg_dtype_size(o->input.dtype) > 0;
    if (!goes)
        (void)fgi_module_fail(root, FG_EINVAL, "model '%s': inputs of type %s are not supported",
                              o->name, fg_type_format(&o->input, text, sizeof text));
    else if (o->outputs < 1)
        (void)fgi_module_fail(root, FG_EINVAL, "model '%s': outputs %" PRId64 "; must be given",
                              o->name, o->outputs);
    else if (!(o->dropout >= 0 && o->dropout < 1))
        (void)fgi_module_fail(root, FG_EINVAL,
                              "model '%s': dropout is %g: expected 0 <= dropout < 1", o->name,
                              o->dropout);
    return fg_module_error(root, NULL) == FG_OK;
}

fg_model *fg_model_create(fg_module *root, const fg_model_options *options)
{
    if (root == NULL || fg_module_error(root, NULL) != FG_OK)
        return NULL;
    if (options == NULL || options->name == NULL)
        return fgi_module_fail(root, FG_EINVAL, "a model needs a name");
    if (!fgi_module_check_reserved(root, FGI_RESERVED(fg_model_options, options)))
        return NULL;
    const fg_model_options *o = options;
    const int kind = choose(root, "model", o->name, names, sizeof kinds / sizeof kinds[0]);
    const int activation =
        choose(root, "activation", o->activation != NULL ? o->activation : "relu", activation_names,
               sizeof activation_names / sizeof activation_names[0]);
    if (kind < 0 || activation < 0 || !check_input(root, o))
        return NULL;
    fg_model *model = fgi_layer_create(root, sizeof *model);
    if (model == NULL)
        return NULL;
    model->root = root;
    model->kind = &kinds[kind];
    model->input = o->input;
    model->outputs = o->outputs;
    model->scale = o->scale != 0 ? o->scale : 1.0 / 255;
    model->dropout = o->dropout;
    model->activation = activations[activation].apply;
    fg_module_describe(root, o->name, NULL);
    return model->kind->build(model, o) ? model : NULL;
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

static bool input_goes(const fg_model *model, const fg_type *x)
{
    bool goes = x->rank == model->input.rank + 1;
    for (int i = 0; goes && i < model->input.rank; i++)
        goes = x->dim[i + 1] == model->input.dim[i];
    return goes;
}

fg_tensor fg_model_apply(const fg_model *model, fg_tensor x)
{
    fg_tensor y;
    char want[96];
    if (!fgi_layer_enter(model, "model", x, &y))
        return y;
    if (!input_goes(model, fg_tensor_type(x)))
        return fgi_layer_fail(model->root, x, "expected a batch of %s",
                              fg_type_format(&model->input, want, sizeof want));
    if (!fg_dtype_is_float(fg_tensor_type(x)->dtype))
        x = fg_mul_scalar(fg_cast(x, fg_trace_float(fg_tensor_trace(x))), model->scale);
    y = model->kind->apply(model, x);
    fg_module_note_output(model->root, y);
    return y;
}
