/* nn.h - modules: trees of named variables, the layers made of them, and ready models.
 *
 * A module is a place in a tree; its variables are named by the path to it,
 * "layer1.0.conv1.weight", as PyTorch names them in files. The root owns the whole tree: modules,
 * layers, variables and the optimizer; fg_module_destroy(root) frees all.
 *
 * Building never fails visibly: the first error is kept in the root, what is built afterwards is
 * NULL, and fg_module_error returns it once, at the end. Builders take a NULL parent (the result is
 * NULL), so that calls nest and follow each other unchecked; applying a NULL layer is an error that
 * its trace keeps.
 *
 * Applying a layer writes operations into the trace of its argument, under the layer's name as
 * scope. Parameters are cast to the argument's dtype: in bf16, the layer computes in bf16.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_NN_H
#define FULGURITE_NN_H

#include <fulgurite/ops.h>
#include <fulgurite/option.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- modules --------------------------------------------------------------------------------- */

/* A node of the tree. Borrowed everywhere but for the root. One thread at a time for a tree. */
typedef struct fg_module fg_module;

/* Makes a root. name goes before all names below ("encoder" gives "encoder.fc1.weight"); NULL, the
 * usual case, adds nothing. Random first values are keyed by (seed, full name of the variable):
 * they depend on nothing else, in particular not on the order of creation. Errors: FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_module_create(const char *name, uint64_t seed, fg_module **out,
                                              fg_error *err);
/* Frees the whole tree; wants its root. Traces and programs that use its variables must not run any
 * more. NULL is allowed. */
FG_API void fg_module_destroy(fg_module *root);

/* FG_OK, or the first error met while the tree was built; module is any of it (NULL: FG_EINVAL).
 * err may be NULL. */
FG_API fg_status fg_module_error(const fg_module *module, fg_error *err);
/* Keeps an error in the root unless it has one: how layers of one's own report theirs. */
FG_API void fg_module_fail(fg_module *module, const fg_error *err);

/* Another seed for the variables made from now on. */
FG_API void fg_module_set_seed(fg_module *module, uint64_t seed);
FG_API uint64_t fg_module_seed(const fg_module *module);

/* Formats of the variables made from now on that are asked for as f32: those of a precision's name
 * as in fg_trace_set_precision, which the traces need too. "64-true" makes all of them f64,
 * "bf16-true" and "16-true" the parameters bf16 and f16 (running statistics stay f32); the others
 * change nothing. Call it before the layers are made; the Trainer does. Error, kept in the module:
 * FG_EINVAL for an unknown name. ["32-true"] */
FG_API void fg_module_set_precision(fg_module *module, const char *precision);

/* A new module below parent; name may hold dots ("layers.0"). NULL after an error: a name that is
 * empty or taken (FG_EINVAL), FG_ENOMEM. */
FG_API fg_module *fg_module_child(fg_module *parent, const char *name);
/* A new variable "path.name", owned by the tree. options->seed is not looked at: the tree's is
 * used. NULL after an error: a name that is empty or taken, FG_ENOMEM, and those of
 * fg_variable_create. */
FG_API fg_variable *fg_module_variable(fg_module *module, const char *name, const fg_type *type,
                                       const fg_variable_options *options);
/* The tree takes over an object and frees it by destroy(object) when it is destroyed, before the
 * module's variables; the newest first. Returns the object, or NULL when that failed; the object is
 * then freed already. For layers of one's own. */
FG_API void *fg_module_attach(fg_module *module, void *take_object, void (*destroy)(void *object));

/* "layer1.0.conv1"; "" for a root without a name. Borrowed. */
FG_API const char *fg_module_name(const fg_module *module);
FG_API fg_module *fg_module_root(fg_module *module);

/* The variables of the module and all below it: a module's own in the order of creation, then those
 * of its children. at: NULL past the end. */
FG_API size_t fg_module_variable_count(const fg_module *module);
FG_API fg_variable *fg_module_variable_at(const fg_module *module, size_t index);
/* By full name, "fc1.weight"; NULL when there is none below module. */
FG_API fg_variable *fg_module_find(const fg_module *module, const char *name);
/* Elements of all variables of kind FG_PARAMETER below module. */
FG_API int64_t fg_module_parameter_count(const fg_module *module);

/* Freezes the variables below module whose full name matches a pattern ("layer1.*", "*.bias"; NULL:
 * all), or makes them trainable again: parameters, which optimizers then leave alone, and buffers,
 * with which a batch norm keeps its running statistics (fg_variable_set_trainable). '*' matches
 * dots too. Parameters frozen before the optimizer is created get no moments; those of a parameter
 * that is made trainable later start at zero, and Adam's bias correction counts from there.
 * *out_count (may be NULL) receives the matched parameters' elements. Errors: FG_ENOTFOUND when a
 * pattern matches nothing, with the nearest names; the first error of the tree. */
FG_API FG_MUST_USE fg_status fg_module_freeze(fg_module *module, const char *pattern,
                                              int64_t *out_count, fg_error *err);
FG_API FG_MUST_USE fg_status fg_module_unfreeze(fg_module *module, const char *pattern,
                                                int64_t *out_count, fg_error *err);
/* Elements of the frozen parameters below module, of fg_module_parameter_count. */
FG_API int64_t fg_module_frozen_count(const fg_module *module);

/* ---- summary: what a table of the model shows -------------------------------------------------
 */

/* One module of the tree. Strings and the module are borrowed. */
typedef struct fg_module_info {
    fg_module *module;
    const char *name;        /* its full name                                                    */
    const char *kind;        /* "linear", "conv", "batch_norm", ...; "" for one that only groups  */
    const char *detail;      /* "784 -> 512", "3x3, pad 1"; may be ""                             */
    int depth;               /* 0 for the module asked                                            */
    size_t variable_count;   /* its own, not its children's                                       */
    int64_t parameter_count; /* elements of its own parameters                                    */
    fg_type output;          /* of its last application; dtype FG_DTYPE_NONE before the first     */
    uint64_t reserved[4];    /* set to 0 */
} fg_module_info;

/* The module and all below it, depth first; *out of number `index` (0 is the module itself). False
 * past the end. Its own variables are the first variable_count of fg_module_variable_at. */
FG_API bool fg_module_info_at(fg_module *module, size_t index, fg_module_info *out);
/* What the table shows for a layer of one's own; the texts are copied, detail may be NULL. */
FG_API void fg_module_describe(fg_module *module, const char *kind, const char *detail);
/* Remembers the type of an application's result for the table. Layers below do it themselves. */
FG_API void fg_module_note_output(fg_module *module, fg_tensor output);

/* ---- layers ---------------------------------------------------------------------------------- */

/* y = x W' + b over the last dimension:  T[..., in] -> T[..., out].
 * Variables: weight f32[in, out], which files hold as PyTorch's [out, in], bias f32[out]; both
 * uniform in +-1/sqrt(in), as PyTorch's Linear. */
typedef struct fg_linear fg_linear;
typedef struct fg_linear_options {
    int64_t in, out; /* must be given               */
    bool no_bias;    /* leave the bias away [false] */
    uint64_t reserved[2];
} fg_linear_options;
FG_API fg_linear *fg_linear_create(fg_module *parent, const char *name,
                                   const fg_linear_options *options);
FG_API fg_tensor fg_linear_apply(const fg_linear *layer, fg_tensor x);

/* 2-D convolution, channels last (fg_conv2d), with a bias:  T[N, H, W, in] -> T[N, H', W', out].
 * Variables: weight f32[kernel, kernel, in/groups, out], which files hold as PyTorch's
 * [out, in/groups, kernel, kernel], and bias f32[out]; uniform in +-1/sqrt(kernel^2 in/groups), as
 * PyTorch's Conv2d. */
typedef struct fg_conv fg_conv;
typedef struct fg_conv_options {
    int64_t in, out;  /* channels; must be given        */
    int64_t kernel;   /* pixels, each side          [3] */
    int64_t stride;   /* pixels                     [1] */
    int64_t pad;      /* pixels, each side          [0] */
    int64_t dilation; /* pixels between taps        [1] */
    int64_t groups;   /* divides in and out         [1] */
    bool no_bias;     /* leave the bias away    [false] */
    fg_init init;     /* the weight's first value [FG_INIT_ZEROS: uniform, as said above]; for
                         zeros {FG_INIT_CONSTANT, 0} */
    uint64_t reserved[2];
} fg_conv_options;
FG_API fg_conv *fg_conv_create(fg_module *parent, const char *name, const fg_conv_options *options);
FG_API fg_tensor fg_conv_apply(const fg_conv *layer, fg_tensor x);

/* Batch normalisation over all dimensions but the last:  T[N, ..., C] -> T[N, ..., C].
 *   y = (x - mean) / sqrt(var + eps) * weight + bias, computed in f32
 * In training (fg_trace_training) mean and (biased) var are the batch's: the global batch's on
 * several devices, and the real samples' alone under the trace's mask; the running ones move by
 *   running = (1 - momentum) running + momentum batch's
 * with the unbiased variance. Otherwise, and where running_mean is frozen (fg_module_freeze), mean
 * and var are the running ones, which then stay as they are.
 * Variables: weight (1), bias (0): f32[C]; buffers running_mean (0), running_var (1): f32[C],
 * num_batches_tracked: s64[]. Source: Ioffe and Szegedy 2015, "Batch normalization"; PyTorch's
 * BatchNorm. */
typedef struct fg_batch_norm fg_batch_norm;
typedef struct fg_batch_norm_options {
    int64_t channels; /* must be given */
    double momentum;  /* [0.1]; FG_ZERO, here and below: 0 */
    double eps;       /* [1e-5] */
    uint64_t reserved[2];
} fg_batch_norm_options;
FG_API fg_batch_norm *fg_batch_norm_create(fg_module *parent, const char *name,
                                           const fg_batch_norm_options *options);
FG_API fg_tensor fg_batch_norm_apply(const fg_batch_norm *layer, fg_tensor x);

/* Dropout, pooling and activations have no variables: they are operations (ops.h). */

/* T[N, H, W, C] -> T[N, C H W] in PyTorch's order, so that a linear layer after it has the weights
 * of a PyTorch model, whose images are [N, C, H, W]. Other ranks are flattened as they are. */
FG_API fg_tensor fg_flatten_images(fg_tensor x);

/* ---- ready models ---------------------------------------------------------------------------- */

/* A residual net:  T[N, H, W, in] -> T[N, classes], logits.
 *   stem: conv1, bn1, a rectifier. "imagenet": 7x7 with stride 2, then a 3x3 max pool with stride
 * 2; "small", for images of about 32 pixels: 3x3 with stride 1, no pool layer1 to layer4: stages of
 * blocks with width, 2, 4 and 8 times width channels; all but layer1 halve the image in their first
 * block. 18 and 34: two 3x3 convolutions a block; 50: 1x1, 3x3 (which has the stride) and 1x1 to
 * four times the channels. x is added, through a 1x1 convolution (downsample) where shapes differ
 *   the mean over the image, then fc
 * Variables have torchvision's names and, in files, its layouts: "layer1.0.conv1.weight",
 * "layer2.0.downsample.1.running_var", "fc.bias". Convolutions have no bias and begin normally
 * distributed with variance 2/(kernel^2 out); fc as fg_linear. Batch statistics are
 * fg_batch_norm's. Source: He et al. 2016, "Deep residual learning for image recognition";
 * torchvision's ResNet. */
typedef struct fg_resnet fg_resnet;
typedef struct fg_resnet_options {
    int depth;        /* layers with weights: 18, 34 or 50                              [18] */
    int64_t in;       /* channels of the images                                          [3] */
    int64_t classes;  /* outputs; must be given                                              */
    const char *stem; /* "imagenet" or "small"                                  ["imagenet"] */
    int64_t width;    /* channels of layer1 (50: of its 3x3 convolutions)               [64] */
    uint64_t reserved[4];
} fg_resnet_options;
/* Builds the net into module itself. NULL after an error, which the tree keeps (FG_EINVAL,
 * FG_ENOMEM). */
FG_API fg_resnet *fg_resnet_create(fg_module *module, const fg_resnet_options *options);
FG_API fg_tensor fg_resnet_apply(const fg_resnet *net, fg_tensor x);

/* ---- models and losses by name --------------------------------------------------------------- */

/* What a model is built for. */
typedef struct fg_model_shape {
    fg_type input;    /* one sample, without the batch: f32[64], u8[28,28], u8[32,32,3] */
    int64_t outputs;  /* classes, or numbers to predict                                 */
    int64_t image[3]; /* of models that take images: height, width, channels; else 0    */
} fg_model_shape;

/* A model that a registry knows by name (registry.h): a constant row.
 *
 * Names and shapes in files should be those of a PyTorch module with attributes of these names that
 * gets its images as [N, C, H, W] and flattens them (fg_flatten_images). */
typedef struct fg_model_entry {
    fg_entry entry;
    bool takes_images; /* apply gets T[N, H, W, C]; other inputs than images are refused */
    /* Builds the layers into root, from values for entry.options. Returns what apply is called
     * with, which root owns (fg_module_attach); NULL after an error, which root keeps. */
    void *(*build)(fg_module *root, const fg_model_shape *shape, const fg_option_values *values);
    /* A batch of floating-point inputs to T[N, outputs]: logits, no softmax. */
    fg_tensor (*apply)(const void *model, fg_tensor x);
    void (*reserved[2])(void); /* must be NULL */
} fg_model_entry;

/* A loss that a registry knows by name. */
typedef struct fg_loss_entry {
    fg_entry entry;
    const char *task; /* what it is for: "classification" (logits T[B, C], s32[B]) or "regression"
                         (T[B] or T[B, K], both) */
    /* The mean loss over the batch: f32[] or f64[]. */
    fg_tensor (*apply)(fg_tensor prediction, fg_tensor target, const fg_option_values *values);
    void (*reserved[2])(void); /* must be NULL */
} fg_loss_entry;

/* The models that are built in:
 *
 *   linear   one layer: fc
 *   mlp      hidden layers with an activation (and dropout) after each: fc1, fc2, ..., the last of
 *            which makes the outputs
 *   lenet    LeNet-5: conv1 (6 channels), pool, conv2 (16), pool, fc1 (120), fc2 (84), fc3, with
 *            activations; for images only. Kernels are 5x5, conv1 padded by 2, conv2 not. Images
 *            with a side below 16 pixels take 3x3 kernels padded by 1 in both; sides below 4 are an
 *            error. Source: LeCun et al. 1998, "Gradient-based learning applied to document
 *            recognition"; rectifiers and max pooling instead of its tanh and subsampling.
 *   resnet18, resnet34, resnet50
 *            residual nets (fg_resnet), for images only
 *
 * `fulgurite help config` lists their options as keys of the section model. */
typedef struct fg_model fg_model;
typedef struct fg_model_options {
    const char *name; /* a built-in model, see above                                     */
    const fg_model_entry *entry; /* instead of name: a row, which must outlive the model */
    fg_type input; /* one sample, without the batch: f32[64], u8[28,28], u8[32,32,3]; required   */
    int64_t outputs; /* classes, or 1 for a regression; required */
    const char
        *options; /* the model's own options, "hidden=[64], dropout=0.5"; the others have
                     their defaults                                                  [none] */
    const fg_option_values
        *values;  /* instead of options: values for the row's table       [none] */
    double scale; /* integer inputs are multiplied by it; floating ones are not        [1/255] */
    int64_t
        image[3]; /* height, width, channels of a flat image               [square, 1 channel] */
    uint64_t reserved[4];
} fg_model_options;

/* Builds a model's layers into root itself. NULL after an error (FG_EINVAL, FG_ENOMEM), which root
 * keeps; an unknown name gets the nearest one suggested. */
FG_API fg_model *fg_model_create(fg_module *root, const fg_model_options *options);
/* A batch of inputs, of the options' type with a dimension in front, to T[N, outputs]: logits, no
 * softmax. Integer inputs become f32 and are scaled. */
FG_API fg_tensor fg_model_apply(const fg_model *model, fg_tensor x);

#ifdef __cplusplus
}
#endif
#endif
