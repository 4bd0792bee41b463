/* nn.h - modules (trees of named variables), layers, and built-in models.
 *
 * A module is a node of a tree. Its variables are named after the path to it,
 * "layer1.0.conv1.weight", as in PyTorch's files. The root owns the whole tree: modules, layers,
 * variables and the optimizer. fg_module_destroy(root) frees all of it.
 *
 * Functions that build modules do not return errors: the root keeps the first error, later
 * functions return NULL, and you check once at the end with fg_module_error. A NULL parent is
 * allowed (the result is NULL), so you can nest and chain calls without checks. Applying a NULL
 * layer is an error that its trace keeps.
 *
 * Applying a layer records operations in the trace of its argument, with the layer's name as scope.
 * Parameters are cast to the argument's dtype: with a bf16 argument, the layer computes in bf16.
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

/* A node of the tree. All modules except the root are borrowed. Only one thread at a time may use a
 * tree. */
typedef struct fg_module fg_module;

/* Creates a root. name is a prefix of all names in the tree ("encoder" gives "encoder.fc1.weight");
 * NULL, the usual case, adds no prefix. Random initial values are keyed by (seed, full name of the
 * variable) and do not depend on the order of creation. Errors: FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_module_create(const char *name, uint64_t seed, fg_module **out,
                                              fg_error *err);
/* Frees the whole tree; the argument must be its root. Traces and programs that use its variables
 * must no longer be run. NULL is allowed. */
FG_API void fg_module_destroy(fg_module *root);

/* Returns FG_OK, or the first error that occurred while the tree was built. module is any module of
 * the tree (NULL: FG_EINVAL). err may be NULL. */
FG_API fg_status fg_module_error(const fg_module *module, fg_error *err);
/* Keeps an error in the root unless it already has one. Custom layers report their errors with this
 * function. */
FG_API void fg_module_fail(fg_module *module, const fg_error *err);

/* The seed of variables that are created afterwards. */
FG_API void fg_module_set_seed(fg_module *module, uint64_t seed);
FG_API uint64_t fg_module_seed(const fg_module *module);

/* Sets the precision of the tree: the dtype of variables that are created as f32 afterwards. The
 * names are those of fg_trace_set_precision, which must be called for the traces too. With
 * "64-true" all these variables are f64; with "bf16-true" and "16-true" the parameters are bf16 and
 * f16 (running statistics remain f32); other precisions have no effect. Call it before you create
 * layers; the Trainer does so. Error, kept in the module: FG_EINVAL (unknown name). ["32-true"] */
FG_API void fg_module_set_precision(fg_module *module, const char *precision);

/* Creates a child module of parent; name may contain dots ("layers.0"). NULL after an error:
 * FG_EINVAL (the name is empty or already exists), FG_ENOMEM. */
FG_API fg_module *fg_module_child(fg_module *parent, const char *name);
/* Creates a variable "path.name", owned by the tree. options->seed is ignored: the tree's seed is
 * used. NULL after an error: FG_EINVAL (the name is empty or already exists), FG_ENOMEM, and those
 * of fg_variable_create. */
FG_API fg_variable *fg_module_variable(fg_module *module, const char *name, const fg_type *type,
                                       const fg_variable_options *options);
/* Attaches an object, such as a custom layer, to the tree, which takes ownership: it calls
 * destroy(object) when it is destroyed, before the module's variables are freed, newest object
 * first. Returns the object, or NULL on failure; the object has then been freed. */
FG_API void *fg_module_attach(fg_module *module, void *take_object, void (*destroy)(void *object));

/* The full name, "layer1.0.conv1"; "" for a root without a name. Borrowed. */
FG_API const char *fg_module_name(const fg_module *module);
FG_API fg_module *fg_module_root(fg_module *module);

/* The variables of the module and its descendants: first its own in order of creation, then those
 * of its children. fg_module_variable_at returns NULL if index is out of range. */
FG_API size_t fg_module_variable_count(const fg_module *module);
FG_API fg_variable *fg_module_variable_at(const fg_module *module, size_t index);
/* Finds a variable by its full name, "fc1.weight"; NULL if the module and its descendants do not
 * have it. */
FG_API fg_variable *fg_module_find(const fg_module *module, const char *name);
/* Number of elements of all parameters (FG_PARAMETER) of the module and its descendants. */
FG_API int64_t fg_module_parameter_count(const fg_module *module);

/* Freezes the variables of the module and its descendants whose full name matches a pattern
 * ("layer1.*", "*.bias"; NULL: all), or makes them trainable again. Optimizers do not update frozen
 * parameters, and a batch norm does not update frozen running statistics
 * (fg_variable_set_trainable). '*' also matches dots. Parameters that are frozen when the optimizer
 * is created have no moments; if such a parameter is made trainable later, its moments start at
 * zero, and Adam's bias correction counts from then. *out_count (may be NULL) receives the number
 * of elements of the matched parameters. Errors: FG_ENOTFOUND (the pattern matches nothing; the
 * message suggests the closest names); the first error of the tree. */
FG_API FG_MUST_USE fg_status fg_module_freeze(fg_module *module, const char *pattern,
                                              int64_t *out_count, fg_error *err);
FG_API FG_MUST_USE fg_status fg_module_unfreeze(fg_module *module, const char *pattern,
                                                int64_t *out_count, fg_error *err);
/* Number of elements of frozen parameters, which are included in fg_module_parameter_count. */
FG_API int64_t fg_module_frozen_count(const fg_module *module);

/* ---- model summary --------------------------------------------------------------------------- */

/* One row of the summary: a module of the tree. Strings and the module are borrowed. */
typedef struct fg_module_info {
    fg_module *module;
    const char *name;        /* full name                                                         */
    const char *kind;        /* "linear", "conv", "batch_norm", ...; "" for a container           */
    const char *detail;      /* "784 -> 512", "3x3, pad 1"; may be ""                             */
    int depth;               /* 0 for the module passed to fg_module_info_at                      */
    size_t variable_count;   /* number of its own variables, without its children's               */
    int64_t parameter_count; /* number of elements of its own parameters                          */
    fg_type output;          /* type of its last output; dtype FG_DTYPE_NONE: not applied yet     */
    uint64_t reserved[4];    /* set to 0 */
} fg_module_info;

/* Fills *out for entry `index` of the module and its descendants, depth first (0 is the module
 * itself). False if index is out of range. The module's own variables are the first variable_count
 * ones of fg_module_variable_at. */
FG_API bool fg_module_info_at(fg_module *module, size_t index, fg_module_info *out);
/* Sets kind and detail of a custom layer for the summary. The strings are copied; detail may be
 * NULL. */
FG_API void fg_module_describe(fg_module *module, const char *kind, const char *detail);
/* Records the type of a module's output for the summary. Built-in layers call it themselves. */
FG_API void fg_module_note_output(fg_module *module, fg_tensor output);

/* ---- layers ------------------------------------------------------------------------------------
 *
 * A layer is borrowed: it belongs to the tree that it was created in, and the same thread must use
 * both. Options of NULL are like an empty struct: required members are then missing. After an
 * error, fg_NAME_create returns NULL and the tree keeps the error: FG_EINVAL (a required member is
 * missing, a member is out of range, or `name` is invalid or exists already in `parent`) or
 * FG_ENOMEM. Errors of fg_NAME_apply are kept in the trace: FG_ESHAPE for an input of another shape
 * or dtype. */

/* Linear (fully connected) layer, y = x W + b over the last dimension:  T[..., in] -> T[..., out].
 * Variables: weight f32[in, out], stored in files as PyTorch's [out, in], and bias f32[out]; both
 * are initialized uniformly in +-1/sqrt(in), as in PyTorch's Linear. */
typedef struct fg_linear fg_linear;
typedef struct fg_linear_options {
    int64_t in, out; /* input and output features; required */
    bool no_bias;    /* omit the bias               [false] */
    bool is_conv1d;  /* the weight is [in, out] in files too, as in GPT-2's Conv1D [false] */
    fg_init init;    /* initial value of the weight; the bias is then 0 [FG_INIT_ZEROS: uniform, as
                        above] */
    uint64_t reserved[2];
} fg_linear_options;
FG_API fg_linear *fg_linear_create(fg_module *parent, const char *name,
                                   const fg_linear_options *options);
FG_API fg_tensor fg_linear_apply(const fg_linear *layer, fg_tensor x);

/* 2-D convolution with a bias, channels last (fg_conv2d):  T[N, H, W, in] -> T[N, H', W', out].
 * H' = floor((H + 2 pad - dilation (kernel - 1) - 1)/stride) + 1, and W' in the same way.
 * Variables: weight f32[kernel, kernel, in/groups, out], stored in files as PyTorch's
 * [out, in/groups, kernel, kernel], and bias f32[out]; both are initialized uniformly in
 * +-1/sqrt(kernel^2 in/groups), as in PyTorch's Conv2d. */
typedef struct fg_conv fg_conv;
typedef struct fg_conv_options {
    int64_t in, out;  /* input and output channels; required        */
    int64_t kernel;   /* height and width of the kernel, in pixels [3] */
    int64_t stride;   /* in pixels                                 [1] */
    int64_t pad;      /* padding on each side, in pixels           [0] */
    int64_t dilation; /* distance of kernel elements               [1] */
    int64_t groups;   /* must divide in and out                    [1] */
    bool no_bias;     /* omit the bias                         [false] */
    fg_init init;     /* initial value of the weight [FG_INIT_ZEROS: uniform, as above]; for zeros
                         use {FG_INIT_CONSTANT, 0} */
    uint64_t reserved[2];
} fg_conv_options;
FG_API fg_conv *fg_conv_create(fg_module *parent, const char *name, const fg_conv_options *options);
FG_API fg_tensor fg_conv_apply(const fg_conv *layer, fg_tensor x);

/* Batch normalization over all dimensions except the last:  T[N, ..., C] -> T[N, ..., C].
 *
 *   y = (x - mean) / sqrt(var + eps) * weight + bias, computed in f32
 *
 * In training (fg_trace_training), mean and (biased) var are those of the batch: of the global
 * batch on several devices, and of the valid rows only if the trace has a mask. The running
 * statistics are updated by
 *
 *   running = (1 - momentum) running + momentum batch
 *
 * with the unbiased variance. Otherwise, and if running_mean is frozen (fg_module_freeze), mean and
 * var are the running statistics, which are not updated. Variables: weight (1) and bias (0),
 * f32[C]; buffers running_mean (0) and running_var (1), f32[C], and num_batches_tracked, s64[].
 * Source: Ioffe and Szegedy 2015, "Batch normalization"; PyTorch's BatchNorm. */
typedef struct fg_batch_norm fg_batch_norm;
typedef struct fg_batch_norm_options {
    int64_t channels; /* required */
    double momentum;  /* [0.1]; FG_ZERO, here and below: 0 */
    double eps;       /* [1e-5] */
    uint64_t reserved[2];
} fg_batch_norm_options;
FG_API fg_batch_norm *fg_batch_norm_create(fg_module *parent, const char *name,
                                           const fg_batch_norm_options *options);
FG_API fg_tensor fg_batch_norm_apply(const fg_batch_norm *layer, fg_tensor x);

/* Normalization of each sample by itself, over some of its dimensions:
 * T[N, ..., C] -> T[N, ..., C].
 *
 *   y = (x - mean) / sqrt(var + eps) * weight + bias, computed in f32
 *
 *   FG_LAYER_NORM     mean and (biased) var over the last dimension
 *   FG_RMS_NORM       over the last dimension; mean is 0, var the mean square, and there is no bias
 *   FG_GROUP_NORM     over all dimensions between the first and the last, and over one of `groups`
 *                     equal groups of channels
 *   FG_INSTANCE_NORM  the same with one group for each channel
 *
 * Padding rows have no effect on other rows. Variables: weight (1) and bias (0), f32[C]. Sources:
 * Ba et al. 2016, "Layer normalization"; Zhang and Sennrich 2019, "Root mean square layer
 * normalization"; Wu and He 2018, "Group normalization"; Ulyanov et al. 2016, "Instance
 * normalization"; PyTorch's LayerNorm, RMSNorm, GroupNorm and InstanceNorm2d (whose default is
 * no_weight). */
typedef struct fg_norm fg_norm;
typedef enum fg_norm_kind {
    FG_LAYER_NORM = 0,
    FG_RMS_NORM = 1,
    FG_GROUP_NORM = 2,
    FG_INSTANCE_NORM = 3
} fg_norm_kind;
typedef struct fg_norm_options {
    int64_t channels;  /* C; required */
    fg_norm_kind kind; /* [FG_LAYER_NORM] */
    int64_t groups;    /* for group norm: required, divides channels */
    double eps;        /* [1e-5] */
    bool no_bias;      /* omit the bias                [false] */
    bool no_weight;    /* omit weight and bias         [false] */
    uint64_t reserved[2];
} fg_norm_options;
FG_API fg_norm *fg_norm_create(fg_module *parent, const char *name, const fg_norm_options *options);
FG_API fg_tensor fg_norm_apply(const fg_norm *layer, fg_tensor x);

/* Embedding: one row of a table for each index,  s32[...] -> T[..., width], where T is
 * fg_trace_float. An index out of range is moved into 0 to count - 1. Variable: weight
 * f32[count, width], initialized from a normal distribution, as in PyTorch's Embedding. */
typedef struct fg_embedding fg_embedding;
typedef struct fg_embedding_options {
    int64_t count, width; /* number of rows, and their size; required */
    fg_init init;         /* initial value [FG_INIT_ZEROS: normal with deviation 1] */
    uint64_t reserved[2];
} fg_embedding_options;
FG_API fg_embedding *fg_embedding_create(fg_module *parent, const char *name,
                                         const fg_embedding_options *options);
FG_API fg_tensor fg_embedding_apply(const fg_embedding *layer, fg_tensor index);
/* Products with all rows, T[..., width] -> T[..., count]: an output layer that shares its weight
 * with the embedding. Source: Press and Wolf 2017, "Using the output embedding to improve language
 * models". */
FG_API fg_tensor fg_embedding_logits(const fg_embedding *layer, fg_tensor x);

/* LSTM or GRU, one or more layers of it over sequences:  T[B, T, in] -> T[B, T, D hidden], where D
 * is 2 if it is bidirectional, else 1. A time step of a layer, with s for sigmoid, and * for
 * products of elements:
 *
 *   FG_LSTM   i, f, o = s(W x + b + V h + d),  g = tanh(W x + b + V h + d),
 *             c = f * c + i * g,  h = o * tanh(c)
 *   FG_GRU    r, z = s(W x + b + V h + d),  n = tanh(W x + b + r * (V h + d)),
 *             h = (1 - z) * n + z * h
 *
 * The next layer, and in the last one the result, is h; if it is bidirectional, followed by that of
 * the direction that begins at the last time step. Variables of layer k, with PyTorch's names and
 * order of gates (i, f, g, o and r, z, n): weight_ih_lk f32[in, G hidden] (D hidden in place of in
 * for further layers) and weight_hh_lk f32[hidden, G hidden], where G is 4 or 3, transposed in
 * files; bias_ih_lk and bias_hh_lk f32[G hidden]; names of the other direction end in _reverse. All
 * are initialized uniformly in +-1/sqrt(hidden). Sources: Hochreiter and Schmidhuber 1997, "Long
 * short-term memory"; Cho et al. 2014, "Learning phrase representations using RNN encoder-decoder";
 * PyTorch's LSTM and GRU with batch_first. */
typedef struct fg_recurrent fg_recurrent;
typedef enum fg_recurrent_kind { FG_LSTM = 0, FG_GRU = 1 } fg_recurrent_kind;
typedef struct fg_recurrent_options {
    int64_t in, hidden;     /* features of a time step, and of h; required */
    fg_recurrent_kind kind; /* [FG_LSTM] */
    int64_t layers;         /* with both directions at most 64 loops   [1] */
    bool bidirectional;     /* [false] */
    bool no_bias;           /* omit the biases                     [false] */
    double dropout;         /* of the results of all layers but the last, in training [0] */
    uint64_t reserved[2];
} fg_recurrent_options;
FG_API fg_recurrent *fg_recurrent_create(fg_module *parent, const char *name,
                                         const fg_recurrent_options *options);
/* What an application reads, and replaces by the state after it; NULL: begins with 0. */
typedef struct fg_recurrent_state {
    fg_tensor h, c;  /* T[layers D, B, hidden]: for each layer, its directions; c: of an LSTM
                        [empty: 0] */
    fg_tensor valid; /* bool[B, T]: false for padding, where the state stays and y is 0
                        [all true] */
    uint64_t reserved[2];
} fg_recurrent_state;
FG_API fg_tensor fg_recurrent_apply(const fg_recurrent *layer, fg_tensor x,
                                    fg_recurrent_state *state);

/* Dropout, pooling and activation functions have no variables: they are operations (ops.h). */

/* Flattens images, T[N, H, W, C] -> T[N, C H W], in PyTorch's order, so that a following linear
 * layer has the same weights as in a PyTorch model, whose images are [N, C, H, W]. Other ranks are
 * flattened in row-major order. */
FG_API fg_tensor fg_flatten_images(fg_tensor x);

/* ---- models and losses by name --------------------------------------------------------------- */

/* Input and output shape of a model. */
typedef struct fg_model_shape {
    fg_type input;    /* one sample, without the batch: f32[64], u8[28,28], s32[128] tokens */
    int64_t outputs;  /* number of classes, or of values to predict                         */
    int64_t image[3]; /* for models with takes_images: height, width, channels; otherwise 0 */
    bool per_token;   /* the target has a class for each token: a language model            */
} fg_model_shape;

/* How names of variables are written in published files. In both, # is a number, #1 the same number
 * counted from 1 instead of 0, and a final * any text: "layer#1.#.conv#1.*" is
 * "stages.#.layers.#.layer.#.convolution.*" there. The numbers are in the same order. `theirs` may
 * be up to four names, "query.*|key.*|value.*", of equal tensors that are joined along the first
 * dimension. */
typedef struct fg_name_rule {
    const char *ours, *theirs;
} fg_name_rule;

/* A key of a published config.json: its value is that of an option, or must be the only one that
 * the model computes. A file that does not fit is an error that names the key. */
typedef struct fg_config_rule {
    const char *key;      /* "embedding_size"                                                */
    const char *option;   /* the option of the row that has this value             [none] */
    const char *expected; /* JSON: the only value                                   [any] */
    const char *times;    /* the key whose value multiplies the numbers of `expected` [none] */
    const char *divides;  /* the key whose value must be a multiple of this one's    [none] */
    const char *initial;  /* JSON: the value in a file without the key         [an error] */
} fg_config_rule;

/* A form in which a library publishes a model: a config.json next to the weights. All zero ends a
 * list. */
typedef struct fg_published {
    const char *type;         /* of transformers: model_type, "resnet"; NULL: of timm        */
    const char *architecture; /* "ResNetForImageClassification"; of timm: "resnet18"         */
    const char *options;      /* values of the row's options, "{width: 192}"          [none] */
    const char *prefix;       /* of names in the files, which those without a head lack: "resnet."
                                                                                      [none] */
    const fg_config_rule *rules; /* ends with a key that is NULL                      [none] */
    const fg_name_rule *names;   /* of variables whose names differ; ends with NULL   [none] */
} fg_published;

/* A registered model (registry.h): a constant row.
 *
 * Names and shapes in files should be those of a PyTorch module with attributes of these names
 * whose images are [N, C, H, W] and flattened in that order (fg_flatten_images). */
typedef struct fg_model_entry {
    fg_entry entry;    /* with the struct of its options and layers */
    bool takes_images; /* apply receives T[N, H, W, C]; inputs other than images are an error */
    bool takes_tokens; /* apply receives s32[N,T], returns T[N,T,outputs], or T[N,outputs] for
                          classes of texts; other inputs are an error */
    bool takes_series; /* inputs s32[T] are tokens, as with takes_tokens; others are numbers */
    bool per_token;    /* with takes_tokens: apply only returns T[N,T,outputs]: a language model,
                          for no other task */
    /* Builds the layers in root, which keeps an error. self is the row's struct (entry.size), which
     * root owns: the options have their values, all other members are 0. */
    void (*build)(void *self, fg_module *root, const fg_model_shape *shape);
    /* Computes T[N, outputs], logits without softmax, for a batch of floating-point inputs. */
    fg_tensor (*apply)(const void *self, fg_tensor x);
    const fg_published *published; /* forms of published files; ends with a zero one   [none] */
    const char *head; /* pattern of the variables that depend on the number of classes, "fc.*" or
                         "@(fc|pooler).*", which fine-tuning replaces                [none] */
    void (*reserved[2])(void); /* must be NULL */
} fg_model_entry;

/* A registered loss (registry.h): a constant row. */
typedef struct fg_loss_entry {
    fg_entry entry;   /* with the struct of its options */
    const char *task; /* "classification" (logits T[B, C], labels s32[B] or probabilities T[B, C]),
                         "multilabel" (logits T[B, C], targets T[B, C] from 0 to 1) or
                         "regression" (T[B] or T[B, K] for both) */
    /* Checks the row's struct for a number of classes or of values to predict; may be NULL. The
     * message begins with the name of the option: "class_weight: expected ...". */
    fg_status (*check)(const void *options, int64_t outputs, fg_error *err);
    /* Returns the mean loss over the batch: f32[] or f64[]. options is the row's struct. */
    fg_tensor (*apply)(fg_tensor prediction, fg_tensor target, const void *options);
    /* Returns how many outputs the model needs for that many values to predict. NULL: as many. */
    int64_t (*outputs)(const void *options, int64_t values);
    /* Returns what the model's outputs predict, such as probabilities; is_point: one number for
     * each value of the target, for metrics. NULL: the outputs themselves, in the unit of the
     * target. Only for regression. */
    fg_tensor (*predict)(fg_tensor output, bool is_point, const void *options);
    bool is_unscaled;          /* targets of a regression must not be standardized */
    void (*reserved[2])(void); /* must be NULL */
} fg_loss_entry;

/* The built-in models:
 *
 *   linear   one layer: fc
 *   mlp      hidden layers with an activation (and dropout) after each: fc1, fc2, ..., the last of
 *            which computes the outputs
 *   lenet    LeNet-5: conv1 (6 channels), pool, conv2 (16), pool, fc1 (120), fc2 (84), fc3, with
 *            activations; for images only. Kernels are 5x5, conv1 padded by 2, conv2 not. For
 *            images with a side below 16 pixels, both are 3x3 and padded by 1; sides below 4 are an
 *            error. Source: LeCun et al. 1998, "Gradient-based learning applied to document
 *            recognition"; rectifiers and max pooling instead of its tanh and subsampling.
 *   resnet18, resnet34, resnet50, resnet101, resnet152
 *            residual networks, for images only:
 *              - Stem: conv1, bn1, ReLU. "imagenet": 7x7 convolution with stride 2, then 3x3 max
 *                pooling with stride 2. "small", for images of about 32x32 pixels: 3x3 convolution
 *                with stride 1, no pooling.
 *              - layer1 to layer4: stages of blocks with width, 2, 4 and 8 times width channels.
 *                Each stage except layer1 halves the image in its first block. 18 and 34: two 3x3
 *                convolutions per block. Others: 1x1, 3x3 (with the stride) and 1x1 to four times
 *                the channels. The input of the block is added to its output, through a 1x1
 *                convolution (downsample) if the shapes differ.
 *              - Global average pooling, then fc.
 *            Variables have torchvision's names and, in files, its layouts:
 *            "layer1.0.conv1.weight", "layer2.0.downsample.1.running_var", "fc.bias". Convolutions
 *            have no bias; their weights are initialized from a normal distribution with variance
 *            2/(kernel^2 out). Source: He et al. 2016, "Deep residual learning for image
 *            recognition"; torchvision's ResNet.
 *   resnext50_32x4d, resnext101_32x8d, resnext101_64x4d, wide_resnet50_2, wide_resnet101_2
 *            the same with more channels in the 3x3 convolutions, for width 64: 32 groups of 4 in
 *            layer1, for example, or twice as many without groups. Source: Xie et al. 2017,
 *            "Aggregated residual transformations for deep neural networks"; Zagoruyko and
 *            Komodakis 2016, "Wide residual networks".
 *
 *   gpt2     a language model: pre-norm transformer blocks with learned positions and GELU (tanh),
 *            whose embedding is also the output layer. Variables: "h.0.attn.c_attn.weight", as in
 *            the published files. Source: Radford et al. 2019, "Language models are unsupervised
 *            multitask learners"; transformers' GPT2LMHeadModel.
 *   llama    a language model: pre-norm blocks with RMS norm, rotary positions, grouped-query
 *            attention and an MLP with a SiLU gate. Variables:
 *            "model.layers.0.self_attn.q_proj.weight". Source: Touvron et al. 2023, "Llama 2";
 *            transformers' LlamaForCausalLM.
 *   bert     classes of texts: post-norm blocks over all tokens except padding; the first token's
 *            output passes a linear layer, tanh and the classifier. Variables:
 *            "bert.encoder.layer.0.attention.self.query.weight". Source: Devlin et al. 2019,
 *            "BERT"; transformers' BertForSequenceClassification with token type 0.
 *   vit, vit_tiny, vit_small, vit_base, vit_large
 *            vision transformers, for images whose sides are multiples of the patch size: pre-norm
 *            blocks over a class token and the patches, with learned positions. Variables:
 *            "blocks.0.attn.qkv.weight". Source: Dosovitskiy et al. 2021, "An image is worth 16x16
 *            words"; timm's VisionTransformer.
 *   convnext for images of at least 32x32 pixels: four stages of 7x7 depthwise convolutions, each
 *            followed by layer norm and an MLP of every pixel. Variables:
 *            "stages.0.blocks.0.conv_dw.weight". Source: Liu et al. 2022, "A ConvNet for the
 *            2020s"; timm's ConvNeXt.
 *   unet     values for each pixel of an image: the outputs are those of all pixels, height x width
 *            x channels, in this order. A contracting path of 3x3 convolutions (two for each size,
 *            with batch norm and ReLU) and max pooling, and an expanding one of 2x2 transposed
 *            convolutions, which also gets the features of the same size. Variables:
 *            "down1.maxpool_conv.1.double_conv.0.weight". Source: Ronneberger et al. 2015, "U-Net",
 *            with padded convolutions.
 *
 * `fulgurite help config` lists their options as keys of the section model. A model belongs to its
 * tree, as a layer does. */
typedef struct fg_model fg_model;
typedef struct fg_model_options {
    const char *name;            /* name of a built-in model, see above */
    const fg_model_entry *entry; /* instead of name: a row, which must outlive the model */
    fg_type input;   /* one sample, without the batch: f32[64], u8[28,28], u8[32,32,3]; required */
    int64_t outputs; /* number of classes, or 1 for a regression; required */
    const char *options; /* options of the model as in YAML, "{hidden: [64], dropout: 0.5}"; others
                            have their defaults. A string, because models are rows that others can
                            add, with options whose struct the caller does not have     [none] */
    const fg_option_values *values; /* instead of options: values for the row's table   [none] */
    double scale; /* factor for integer inputs; floating-point inputs are not scaled   [1/255] */
    int64_t image[3]; /* height, width, channels of a flat image          [square, 1 channel] */
    bool per_token;   /* a language model: logits for each token. Most models compute them, or those
                         of a class of the text, whatever this is                [false] */
    uint64_t reserved[4];
} fg_model_options;

/* Builds a model's layers directly in `module`, a root or not. NULL after an error (FG_EINVAL,
 * FG_ENOMEM), which the tree keeps; for an unknown name it suggests the closest one. */
FG_API fg_model *fg_model_create(fg_module *module, const fg_model_options *options);
/* Computes T[N, outputs], logits without softmax, for a batch of inputs: the type in the options
 * with a batch dimension. Language models compute T[N, T, outputs]; tokens may be of any length T.
 * Other integer inputs are converted to f32 and scaled. */
FG_API fg_tensor fg_model_apply(const fg_model *model, fg_tensor x);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_module_freeze(...)    FG_HERE(fg_module_freeze(__VA_ARGS__))
#define fg_module_unfreeze(...)  FG_HERE(fg_module_unfreeze(__VA_ARGS__))
#define fg_linear_apply(...)     FG_HERE(fg_linear_apply(__VA_ARGS__))
#define fg_conv_apply(...)       FG_HERE(fg_conv_apply(__VA_ARGS__))
#define fg_batch_norm_apply(...) FG_HERE(fg_batch_norm_apply(__VA_ARGS__))
#define fg_norm_apply(...)       FG_HERE(fg_norm_apply(__VA_ARGS__))
#define fg_embedding_apply(...)  FG_HERE(fg_embedding_apply(__VA_ARGS__))
#define fg_embedding_logits(...) FG_HERE(fg_embedding_logits(__VA_ARGS__))
#define fg_recurrent_apply(...)  FG_HERE(fg_recurrent_apply(__VA_ARGS__))
#define fg_flatten_images(...)   FG_HERE(fg_flatten_images(__VA_ARGS__))
#define fg_model_apply(...)      FG_HERE(fg_model_apply(__VA_ARGS__))
#endif
#endif
