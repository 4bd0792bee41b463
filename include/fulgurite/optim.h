/* optim.h - optimizers and learning rate schedules.
 *
 * An optimizer updates the parameters within the program: its moments and its step counter are
 * variables on the device. Learning rate, momentum and weight decay are passed at each launch, so a
 * schedule causes no recompilation, and a program that was traced once can be launched for every
 * step.
 *
 * A custom loop only calls fg_optimizer_minimize once per iteration, which also advances the
 * schedule. If a program is traced once and launched many times, as in the Trainer, call
 * fg_optimizer_begin_step before each launch.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPTIM_H
#define FULGURITE_OPTIM_H

#include <fulgurite/nn.h>
#include <fulgurite/option.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- optimizers ------------------------------------------------------------------------------ */

/* An optimizer is owned by the root module it was created with, and destroyed with it. Programs
 * traced with it must not be launched after that. Owner thread of the traces only. */
typedef struct fg_optimizer fg_optimizer;

/* An optimizer trains all parameters (FG_PARAMETER) that exist in root when it is created, so
 * create it after the layers. As for modules, an error (FG_EINVAL: an option is out of range;
 * FG_ENOMEM) is kept in root, and NULL is returned. options may be NULL. The optimizer's variables
 * are named "optimizer.KIND.PARAMETER", as in "optimizer.exp_avg.fc1.weight", and "optimizer.step"
 * (s32[], the number of updates). "optimizer.missed.PARAMETER" exists for parameters that were
 * skipped by some updates. Updates are computed in f32 and moments are stored in f32, also for bf16
 * and f16 parameters; for f64 parameters in f64. */

/* Stochastic gradient descent (p: parameter, g: gradient, v: momentum_buffer):
 *   g = g + weight_decay p
 *   v = momentum v + (1 - dampening) g      (v = g at the first step)
 *   p = p - lr v,   with nesterov: p - lr (g + momentum v);   without momentum: p - lr g
 * Source: Sutskever et al. 2013, "On the importance of initialization and momentum in deep
 * learning", in the form of PyTorch's SGD. */
typedef struct fg_sgd_options {
    double lr;           /* [0.01]; FG_ZERO: 0 */
    double momentum;     /* [0] */
    double dampening;    /* [0] */
    bool nesterov;       /* requires momentum and no dampening [false] */
    double weight_decay; /* [0] */
    uint64_t reserved[6];
} fg_sgd_options;
FG_API fg_optimizer *fg_sgd_create(fg_module *root, const fg_sgd_options *options);

/* Adam (m: exp_avg, s: exp_avg_sq, t: number of the update, starting at 1):
 *   g = g + weight_decay p
 *   m = beta1 m + (1 - beta1) g        s = beta2 s + (1 - beta2) g^2
 *   p = p - lr (m / (1 - beta1^t)) / (sqrt(s / (1 - beta2^t)) + eps)
 * Source: Kingma and Ba 2015, "Adam: a method for stochastic optimization"; PyTorch's Adam. */
typedef struct fg_adam_options {
    double lr;           /* [1e-3]; FG_ZERO, here and below: 0                       */
    double betas[2];     /* beta1 and beta2                            [0.9 and 0.999] */
    double eps;          /* [1e-8]                                                   */
    double weight_decay; /* [Adam: 0, AdamW: 0.01]                                   */
    uint64_t reserved[6];
} fg_adam_options;
FG_API fg_optimizer *fg_adam_create(fg_module *root, const fg_adam_options *options);

/* Adam with decoupled weight decay: p = (1 - lr weight_decay) p before the update, instead of
 * adding weight_decay p to g. Source: Loshchilov and Hutter 2019, "Decoupled weight decay
 * regularization"; PyTorch's AdamW. */
typedef fg_adam_options fg_adamw_options;
FG_API fg_optimizer *fg_adamw_create(fg_module *root, const fg_adamw_options *options);

/* The optimizer with that name, and options as in a configuration (docs/config.md):
 * fg_optimizer_named(root, "lion", "{lr: 1e-4, weight_decay: 0.1}"). options may be NULL. Errors,
 * kept in root: as above, FG_ENOTFOUND (unknown name). Besides the three above (t: number of the
 * update, starting at 1; beta1, beta2: betas; "decoupled" weight decay: p = (1 - lr weight_decay) p
 * before the update, else it is added to g as above):
 *
 * nadam: Adam with Nesterov momentum (b_t = beta1 (1 - 0.96^(0.004 t) / 2), B_t = b_1 b_2 ... b_t):
 *   p = p - lr ((1 - b_t) g / (1 - B_t) + b_(t+1) m / (1 - B_(t+1)))
 *           / (sqrt(s / (1 - beta2^t)) + eps)
 *   Source: Dozat 2016, "Incorporating Nesterov momentum into Adam"; PyTorch's NAdam.
 * rmsprop: s = alpha s + (1 - alpha) g^2,   v = momentum v + g / (sqrt(s) + eps),   p = p - lr v;
 *   centered: s minus the square of the average of g. Source: Tieleman and Hinton 2012; PyTorch.
 * adagrad: s = s + g^2,   p = p - lr g / (sqrt(s) + eps). Source: Duchi et al. 2011, "Adaptive
 *   subgradient methods for online learning and stochastic optimization"; PyTorch.
 * adafactor: Adam's second moment of a matrix [m,n] is r c / mean(r), where r[m,1] and c[1,n] are
 *   running means of g^2 over rows and columns (of a convolution: over its channels), with
 *   1 - beta2 = t^-0.8; u = g / sqrt(second moment);
 *   p = p - max(eps, rms(p)) min(lr, 1 / sqrt(t)) u / max(1, rms(u)); decoupled.
 *   Source: Shazeer and Stern 2018, "Adafactor: adaptive learning rates with sublinear memory
 *   cost"; PyTorch.
 * lamb: u = Adam's step + weight_decay p,   p = p - lr u |p| / |u|. Source: You et al. 2020, "Large
 *   batch optimization for deep learning: training BERT in 76 minutes"; optax.
 * lars: g = g trust_coefficient |p| / |g| (not for biases and norms, which have less than two
 *   dimensions),   v = momentum v + lr g,   p = p - v; with nesterov: p - (lr g + momentum v).
 *   Source: You et al. 2017, "Large batch training of convolutional networks"; optax.
 * lion: p = p - lr sign(beta1 m + (1 - beta1) g),   m = beta2 m + (1 - beta2) g; decoupled.
 *   Source: Chen et al. 2023, "Symbolic discovery of optimization algorithms"; optax.
 * muon: of matrices [m,n] (a convolution: n output channels): v = momentum v + (1 - momentum) g,
 *   p = p - 0.2 sqrt(max(m, n)) lr U, where U is (1 - momentum) g + momentum v with its singular
 *   values moved to about 1; adamw for other parameters; decoupled. Source: Jordan et al. 2024,
 *   "Muon"; Liu et al. 2025, "Muon is scalable for LLM training"; PyTorch. */
FG_API fg_optimizer *fg_optimizer_named(fg_module *root, const char *name, const char *options);

/* Groups of parameters whose options differ from the optimizer's. */
typedef struct fg_optimizer_groups {
    /* Options by pattern, {"head.*", "{lr: 1e-2}"}: any of the optimizer's options, for the
     * parameters whose names match ('*' matches any text, including dots). If several patterns
     * match, all of them apply, later ones last. At most 64                            [none] */
    fg_string_map groups;
    /* "none", or "bias_and_norm": weight_decay is 0 for parameters with fewer than two dimensions,
     * unless a pattern sets it                                                       ["none"] */
    const char *no_decay;
    /* The learning rate of each layer is this fraction of that of the layer after it, 0 <
     * layer_decay <= 1. The layers are the modules with a number in their name ("h.3" of
     * "h.3.attn.weight"), what is before the first and what is after the last, which has the full
     * learning rate; without numbers, all modules. Source: Clark et al. 2020, "ELECTRA"; Bao et al.
     * 2022, "BEiT"                                                                       [1] */
    double layer_decay;
    uint64_t reserved[4];
} fg_optimizer_groups;
/* Sets the groups, instead of those before: call it after creating the optimizer, before setting a
 * learning rate and before tracing. The learning rate of a group keeps its ratio to the optimizer's
 * when a schedule, lr_scaling or fg_optimizer_set_lr changes that. Frozen parameters
 * (fg_module_freeze) belong to groups too. Errors: FG_EINVAL (an option or its value, as when the
 * optimizer is created; more than 64 patterns; layer_decay; a learning rate in a group if that of
 * the optimizer is 0), FG_ENOTFOUND (a pattern matches no parameter), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_optimizer_set_groups(fg_optimizer *optimizer,
                                                     const fg_optimizer_groups *groups,
                                                     fg_error *err);

/* Writes how many parameters each rule of these groups has: "'head.*' {lr: 1e-2}: 2 parameters (650
 * elements)". Truncated to `size` bytes; returns out. */
FG_API const char *fg_optimizer_describe_groups(const fg_optimizer *optimizer,
                                                const fg_optimizer_groups *groups, char *out,
                                                size_t size);

/* The name of its row: "sgd", or that of a custom one; of a joined optimizer, those of its parts.
 */
FG_API const char *fg_optimizer_name(const fg_optimizer *optimizer);

/* ---- several optimizers ---------------------------------------------------------------------- */

enum { FG_MOST_PARTS = 8 };
struct fg_schedule;
/* One of several optimizers that a task trains together. */
typedef struct fg_optimizer_part {
    /* Of its loss (fg_step_set_loss), its learning rate in logs ("lr/NAME") and its variables
     * ("optimizer.NAME.step"): 1 to 32 letters, digits and '_' */
    const char *name;
    /* A new one of the same root, with its own options. Its groups, clipping and loss scale may be
     * set before or after joining. */
    fg_optimizer *optimizer;
    /* Patterns of the names of its parameters ('*' matches any text, including dots). None: all
     * that match no pattern of another part */
    fg_strings parameters;
    int64_t
        every; /* it is updated in every n-th step: n, 2n, ...                              [1] */
    /* Of its learning rate, over all steps                                [that of the Trainer] */
    const struct fg_schedule *schedule;
    uint64_t reserved[4];
} fg_optimizer_part;
/* Joins optimizers to one, for fg_task_ops.optimizer and all functions that take an optimizer. In
 * each step, the gradients of all parts are computed before the first update: of each part's loss,
 * with respect to the part's parameters only. So the loss of a discriminator may depend on the
 * generator and the reverse, without fg_stop_gradient.
 *
 * Parts are independent: clipping limits the norm of a part's gradients, and each part has its own
 * loss scale and skips its own non-finite steps. The gradients of a part with `every` are computed
 * in all steps, and have no effect in those in between, not even on its count of updates; schedules
 * count all steps. Frozen parameters belong to a part too.
 *
 * Functions that set something for a joined optimizer set it for all parts; a learning rate is that
 * of the first part, and the others keep their ratio to it. Functions that read one value return
 * that of the first part; its parameters and variables are those of its parts, in their order.
 * fg_optimizer_minimize minimizes one loss with all parts; a custom loop with several losses calls
 * it for each part. Returns NULL after an error, kept in root: FG_EINVAL (no part or two parts have
 * a parameter, a part has none, count, every, a name, an optimizer of another root or that is used
 * or joined already), FG_ENOTFOUND (a pattern matches no parameter), FG_ENOMEM. */
FG_API fg_optimizer *fg_optimizer_join(fg_module *root, const fg_optimizer_part *parts,
                                       size_t count);
/* The parts of a joined optimizer; 0, and NULL if index is out of range. */
FG_API size_t fg_optimizer_part_count(const fg_optimizer *optimizer);
FG_API fg_optimizer *fg_optimizer_part_at(const fg_optimizer *optimizer, size_t index);
FG_API const char *fg_optimizer_part_name(const fg_optimizer *optimizer, size_t index);

/* ---- rows ------------------------------------------------------------------------------------ */

/* The update of one parameter, passed to a row's functions while the program is traced. */
typedef struct fg_update fg_update;

enum { FG_MOST_MOMENTS = 3 };
/* An optimizer: a constant row, which may be registered (registry.h) and must outlive the
 * optimizers that use it. Options of these names are read by the library: `lr` and `weight_decay`,
 * and the decay rate of the first moment, which schedules change: `momentum`, or the first of the
 * two `betas`, whose second is the decay rate of the second moment. */
typedef struct fg_optimizer_entry {
    fg_entry entry;                       /* with the struct of its options */
    const char *momentum;                 /* another name of the option `momentum`  [none] */
    const char *moments[FG_MOST_MOMENTS]; /* names of its moments, "exp_avg"; NULL: fewer */
    /* Sets the shape of a moment, which is the parameter's before, or returns false: a parameter of
     * this type does not have it. NULL: all parameters have all moments, with their shape. */
    bool (*moment_type)(const void *options, int moment, fg_type *type);
    bool has_optional_momentum; /* the first moment exists only if the momentum is not 0 or a
                                   schedule sets it                                       [false] */
    /* Whether updates use fg_update_step: parameters that were skipped by some updates then have a
     * separate count. NULL: they do not. */
    bool (*counts_updates)(const void *options);
    /* Checks the options together; may be NULL. The message begins with the name of an option. */
    fg_status (*check)(const void *options, fg_error *err);
    /* Called once before the parameters are updated, to compute shared values
     * (fg_update_set_shared); may be NULL. */
    void (*prepare)(fg_update *update);
    /* Returns the parameter's new value. parameter and gradient have the same type: f32, or f64 for
     * f64 parameters. Assigns new values to the moments with fg_update_set_moment. */
    fg_tensor (*update)(const fg_update *update, fg_tensor parameter, fg_tensor gradient);
    /* Instead of `update`: the same for `count` parameters at once, to out[count], for example in
     * one custom call. */
    void (*update_all)(const fg_update *const *updates, const fg_tensor *parameters,
                       const fg_tensor *gradients, size_t count, fg_tensor *out);
    void (*reserved[1])(void); /* must be NULL */
} fg_optimizer_entry;

/* Creates the optimizer of a row. options: the row's struct, where 0 means the default; NULL: all
 * defaults. Parameters and errors are handled as for the built-in optimizers above. */
FG_API fg_optimizer *fg_optimizer_create(fg_module *root, const fg_optimizer_entry *row,
                                         const void *options);
/* The same from values for the row's options. */
FG_API fg_optimizer *fg_optimizer_create_with(fg_module *root, const fg_optimizer_entry *row,
                                              const fg_option_values *values);

/* The row's struct, with the values of all options. */
FG_API const void *fg_update_options(const fg_update *update);
/* The full name of the parameter, "fc1.bias". */
FG_API const char *fg_update_name(const fg_update *update);
/* Scalars of the launch, f32[] or f64[]: cast them to the parameter's dtype (fg_cast). */
FG_API fg_tensor fg_update_lr(const fg_update *update);
FG_API fg_tensor fg_update_momentum(const fg_update *update);
FG_API fg_tensor fg_update_weight_decay(const fg_update *update);
/* The number of previous updates of this parameter: s32[]. */
FG_API fg_tensor fg_update_step(const fg_update *update);
/* Whether the optimizer has this moment (fg_optimizer_entry.has_optional_momentum). */
FG_API bool fg_update_has_moment(const fg_update *update, int moment);
/* A moment of this parameter before the update, with the parameter's shape; 0 at the first update.
 */
FG_API fg_tensor fg_update_moment(const fg_update *update, int moment);
FG_API void fg_update_set_moment(const fg_update *update, int moment, fg_tensor value);
/* Values that `prepare` computes once for all parameters; index is 0 or 1. */
FG_API void fg_update_set_shared(fg_update *update, int index, fg_tensor value);
FG_API fg_tensor fg_update_shared(const fg_update *update, int index);

/* ---- updates --------------------------------------------------------------------------------- */

/* Records one update in the trace of the loss: the gradients of all parameters, then their new
 * values (fg_assign). This is one step: it uses the schedule's next learning rate, unless
 * fg_optimizer_begin_step was called since the last step.
 *
 * A trace may contain several updates, by one or several optimizers. Each one differentiates with
 * respect to the parameters' current values, so the loss must be computed from these: a loss
 * computed before an update of the same parameters is an error. Learning rate and momentum of a
 * launch are those of the optimizer's last call in the trace.
 *
 * Frozen parameters (fg_module_freeze) and parameters that the loss does not depend on (not used,
 * or only through fg_stop_gradient) are not updated, not even by weight decay and momentum. The
 * latter are listed in a warning, once. A gradient that exists and is 0 is treated like any other
 * gradient. Errors, kept in the trace: those of fg_grad; FG_EINVAL (the optimizer is NULL, the loss
 * was computed before an update or depends on no trainable parameter, or a parameter was created
 * after the optimizer). */
FG_API void fg_optimizer_minimize(fg_optimizer *optimizer, fg_tensor loss);
/* Like fg_optimizer_minimize, with given gradients, in the order of fg_optimizer_parameter_at. An
 * empty tensor, (fg_tensor){0}, skips its parameter; gradients of frozen parameters are ignored.
 * Errors, kept in the trace: FG_EINVAL (wrong count), FG_ESHAPE and FG_EDTYPE (a gradient's type
 * differs from its parameter's; f32 is accepted for bf16 and f16 parameters). */
FG_API void fg_optimizer_apply(fg_optimizer *optimizer, const fg_tensor *gradients, size_t count);

/* The parameters that the optimizer trains, in module order. fg_optimizer_parameter_at returns NULL
 * if index is out of range. */
FG_API size_t fg_optimizer_parameter_count(const fg_optimizer *optimizer);
FG_API fg_variable *fg_optimizer_parameter_at(const fg_optimizer *optimizer, size_t index);
/* The optimizer's variables (FG_STATE), which a checkpoint contains in addition to the model. */
FG_API size_t fg_optimizer_variable_count(const fg_optimizer *optimizer);
FG_API fg_variable *fg_optimizer_variable_at(const fg_optimizer *optimizer, size_t index);

/* Sets the base learning rate, starting with the next launch. A schedule is relative to it,
 * multiplied by the factor of the Trainer's lr_scaling (train.h); for onecycle, that is the peak.
 * fg_optimizer_lr returns the learning rate of the current step, with scaling and schedule. */
FG_API void fg_optimizer_set_lr(fg_optimizer *optimizer, double lr);
/* Overrides the schedule's learning rate for the step that fg_optimizer_begin_step began, and for
 * no other step. lr: 0 or more. */
FG_API void fg_optimizer_set_step_lr(fg_optimizer *optimizer, double lr);
FG_API double fg_optimizer_lr(const fg_optimizer *optimizer);
/* Sets SGD's momentum or Adam's beta1, starting with the next launch, unless a schedule sets it. If
 * SGD was created without momentum, this creates its buffers: then call it before tracing. Errors:
 * FG_EINVAL, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_optimizer_set_momentum(fg_optimizer *optimizer, double momentum,
                                                       fg_error *err);
FG_API double fg_optimizer_momentum(const fg_optimizer *optimizer);
/* Returns the weight decay, as given when the optimizer was created. */
FG_API double fg_optimizer_weight_decay(const fg_optimizer *optimizer);

/* ---- gradient clipping ----------------------------------------------------------------------- */

typedef enum fg_clip {
    FG_CLIP_NONE = 0,  /* off */
    FG_CLIP_NORM = 1,  /* g = g min(1, limit / (norm + 1e-6)), with the L2 norm of all gradients */
    FG_CLIP_VALUE = 2, /* each element of g is limited to the range -limit to limit */
} fg_clip;
/* Limits gradients before each update, starting with the next trace: after loss scaling is undone
 * and, in the Trainer, of the gradient of the whole step (all devices, all accumulated batches).
 * Frozen parameters, and those without a gradient, are not included. limit (greater than 0) is
 * passed at each launch: changing it later causes no recompilation. Gradients that are not finite
 * are detected before clipping. Source: torch.nn.utils.clip_grad_norm_ and clip_grad_value_;
 * Pascanu et al. 2013, "On the difficulty of training recurrent neural networks". Errors:
 * FG_EINVAL. */
FG_API FG_MUST_USE fg_status fg_optimizer_set_clip(fg_optimizer *optimizer, fg_clip clip,
                                                   double limit, fg_error *err);

/* ---- mixed precision ------------------------------------------------------------------------- */

/* Dynamic loss scaling: a factor on the loss that prevents underflow of f16 gradients. The scale
 * and the number of consecutive finite steps are the variables "optimizer.loss_scale" (f32[]) and
 * "optimizer.loss_scale_streak" (s32[]) on the device, saved with the optimizer's other variables.
 * A step with a gradient that is not finite is skipped: it changes no parameter and no moment, is
 * not counted in "optimizer.step", and multiplies the scale by `backoff`. After `growth_interval`
 * consecutive finite steps the scale is multiplied by `growth`. No value is read by the host.
 * Source: Micikevicius et al. 2018, "Mixed precision training"; PyTorch's GradScaler. */
typedef struct fg_loss_scale_options {
    double init;             /* > 0        [65536] */
    double growth;           /* 1 or more      [2] */
    double backoff;          /* between 0 and 1 [0.5] */
    int64_t growth_interval; /* [2000]  */
    uint64_t reserved[4];
} fg_loss_scale_options;
/* Enables loss scaling, starting with the next trace. options may be NULL. The Trainer enables it
 * for "16-mixed" and "16-true" unless the task has done so. Errors: FG_EINVAL (an option is out of
 * range, or loss scaling is already enabled), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_optimizer_set_loss_scale(fg_optimizer *optimizer,
                                                         const fg_loss_scale_options *options,
                                                         fg_error *err);
/* The loss multiplied by the scale, or the loss itself if loss scaling is not enabled.
 * Differentiate the result to compute gradients for fg_optimizer_apply; fg_optimizer_minimize
 * scales the loss itself. */
FG_API fg_tensor fg_optimizer_scale_loss(const fg_optimizer *optimizer, fg_tensor loss);

/* bool[]: whether the update that this trace recorded last is skipped, because a gradient is not
 * finite; false if the optimizer skips none, or before an update. */
FG_API fg_tensor fg_optimizer_skipped(const fg_optimizer *optimizer, fg_trace *trace);

/* Stochastic rounding of bf16 parameters: rounds up or down at random, such that the expected value
 * is exact and updates smaller than the precision are not lost. Keyed by the trace's seed and step:
 * the result is the same on any number of devices. Call it before tracing. [false] Source: Zamirai
 * et al. 2021, "Revisiting bfloat16 training". */
FG_API void fg_optimizer_set_stochastic_rounding(fg_optimizer *optimizer, bool on);

/* ---- schedules ------------------------------------------------------------------------------- */

/* A schedule of learning rate and momentum: the name of a built-in one, or a row and its options.
 * All zero: both are constant. Copy it by assignment. Spans the run by its name alone:
 *   const fg_schedule cosine = {.name = "cosine", .text = "{final: 0.1}", .warmup.count = 500};
 * The learning rate at step t (starting at 0, after the warm-up) of T, as a fraction of the
 * optimizer's; options and defaults are in docs/config.md:
 *
 * constant: 1. onecycle: see below. linear: 1 - t/T. polynomial: (1 - t/T)^power.
 * step: gamma^floor(t / step_size). multistep: gamma^n after n milestones. exponential: gamma^t.
 *   Source: PyTorch's LinearLR, PolynomialLR, StepLR, MultiStepLR, ExponentialLR.
 * cosine: (1 + cos(pi t/T)) / 2; in each of several cycles, whose lengths grow by cycle_mult.
 *   Source: Loshchilov and Hutter 2017, "SGDR"; PyTorch's CosineAnnealingWarmRestarts.
 * inverse_sqrt: 1 / sqrt(1 + t / timescale). Source: Vaswani et al. 2017, section 5.3.
 * wsd: 1, then 1 - sqrt(s) over the last fraction `decay` of the run, of which s is done.
 *   Source: Hu et al. 2024, "MiniCPM"; Hägele et al. 2024.
 * plateau: gamma^n after n times that trainer.monitor did not improve in `patience` validations.
 *   Source: PyTorch's ReduceLROnPlateau.
 * linear, polynomial, cosine and wsd end at `final` [0]; plateau does not fall below it. */
typedef struct fg_schedule {
    const struct fg_schedule_entry *row; /* NULL: that of `name` */
    /* The row's struct, where 0 means the default, borrowed until a function that keeps the
     * schedule has copied it                                                [NULL: all defaults] */
    const void *options;
    bool is_complete; /* options has no defaults: 0 means 0. It is borrowed for as long as the
                         schedule is used                                                [false] */
    const char *name; /* of a built-in schedule, if there is no row             ["constant"] */
    const char *text; /* its options, as in a configuration                         [NULL: none] */
    /* Steps in which the learning rate rises linearly from 0, before those of the schedule: a
     * count, or a fraction of the run                                                  [none] */
    fg_amount warmup;
    uint64_t reserved[2];
} fg_schedule;

enum { FG_SCHEDULE_STATE = 4 };
/* A registered schedule (registry.h): a constant row. Its functions are pure: learning rate and
 * momentum depend only on the step and, with `observe`, on the values of a metric, so that a
 * resumed run continues exactly. */
typedef struct fg_schedule_entry {
    fg_entry entry;  /* with the struct of its options */
    bool is_endless; /* the number of steps has no effect, so a run needs no end [false] */
    /* Checks the options together; may be NULL. The message begins with the name of an option. */
    fg_status (*check)(const void *options, fg_error *err);
    /* The learning rate at a step (starting at 0) of total_steps; lr is the optimizer's base
     * learning rate. */
    double (*lr)(const void *options, double lr, int64_t step, int64_t total_steps);
    /* The momentum (Adam: beta1) at a step; NaN, or NULL instead of a function: the schedule does
     * not change it. */
    double (*momentum)(const void *options, double momentum, int64_t step, int64_t total_steps);
    /* Of a schedule that follows a metric: takes each value of the Trainer's `monitor`; higher:
     * whether higher values are better. state[0] is the factor of the learning rate; state is {1,
     * NaN, 0, 0} before the first value, and part of checkpoints, as "optimizer.schedule" (f64).
     * NULL: it follows none. */
    void (*observe)(const void *options, double *state, double value, bool higher);
    void (*reserved[2])(void); /* must be NULL */
} fg_schedule_entry;

/* 1cycle policy: the learning rate is increased from lr/div_factor to lr during the first pct_start
 * of the steps, then decreased to lr/div_factor/final_div_factor, which is reached exactly at the
 * last step. The momentum changes from max_momentum to base_momentum and back. three_phase: the
 * learning rate is first decreased to lr/div_factor over as many steps as it was increased, then
 * annealed to the final rate. SGD without momentum gets a momentum, as in PyTorch.
 * variant: "torch" (OneCycleLR), "fastai" (fit_one_cycle) or "kaggle" (Wabinab/TPU_utility): the
 * defaults, listed in this order, and the step of the peak: pct_start * total_steps - 1 for torch,
 * pct_start * (total_steps - 1) for fastai, this rounded down for kaggle. Source: Smith and Topin
 * 2018, "Super-convergence", and the three programs. */
typedef struct fg_onecycle_options {
    double pct_start;        /* fraction of increasing steps [0.3, 0.25, 0.4]; FG_ZERO, here and
                              * below: 0 */
    const char *anneal;      /* "cos", "linear", or "linear_cos": a linear rise and a cosine fall
                              * ["cos", "cos", "linear_cos"] */
    double div_factor;       /* > 0                                                          [25] */
    double final_div_factor; /* > 0                                               [1e4, 4e3, 1e4] */
    double base_momentum;    /* lowest momentum                                            [0.85] */
    double max_momentum;     /* highest momentum                                           [0.95] */
    bool no_cycle_momentum;  /* do not change the momentum                                [false] */
    bool three_phase;        /* use three phases, see above                               [false] */
    const char *variant;     /* see above                                               ["torch"] */
    uint64_t reserved[3];
} fg_onecycle_options;
/* A 1cycle schedule with these options, which are borrowed and may be NULL. Invalid options are
 * reported by fg_schedule_check. Thread-safe. */
FG_API fg_schedule fg_onecycle(const fg_onecycle_options *options);

/* Checks the options of a schedule; NULL is constant. Functions that use a schedule call it
 * themselves. Errors: FG_EINVAL, FG_ENOMEM. Thread-safe. */
FG_API FG_MUST_USE fg_status fg_schedule_check(const fg_schedule *schedule, fg_error *err);
/* The learning rate at a step (starting at 0) of total_steps, for the base learning rate lr; steps
 * past the end have that of the last step. schedule may be NULL (constant); NaN if it is not valid.
 * Thread-safe. */
FG_API double fg_schedule_lr(const fg_schedule *schedule, double lr, int64_t step,
                             int64_t total_steps);
/* The momentum at a step; `momentum` itself if the schedule does not change it. NaN and threads: as
 * above. */
FG_API double fg_schedule_momentum(const fg_schedule *schedule, double momentum, int64_t step,
                                   int64_t total_steps);

/* Sets the schedule (copied; NULL: constant) over total_steps, starting with the next step. Call it
 * before tracing. Errors: those of fg_schedule_check, FG_EINVAL (total_steps < 1 and the schedule
 * requires it), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_optimizer_set_schedule(fg_optimizer *optimizer,
                                                       const fg_schedule *schedule,
                                                       int64_t total_steps, fg_error *err);
/* Sets learning rate and momentum of the next launch to those of step `step`, starting at 0. A
 * custom loop needs it only to resume at a later step. */
FG_API void fg_optimizer_begin_step(fg_optimizer *optimizer, int64_t step);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_update_lr(...)            FG_HERE(fg_update_lr(__VA_ARGS__))
#define fg_update_momentum(...)      FG_HERE(fg_update_momentum(__VA_ARGS__))
#define fg_update_weight_decay(...)  FG_HERE(fg_update_weight_decay(__VA_ARGS__))
#define fg_update_step(...)          FG_HERE(fg_update_step(__VA_ARGS__))
#define fg_update_moment(...)        FG_HERE(fg_update_moment(__VA_ARGS__))
#define fg_update_shared(...)        FG_HERE(fg_update_shared(__VA_ARGS__))
#define fg_optimizer_minimize(...)   FG_HERE(fg_optimizer_minimize(__VA_ARGS__))
#define fg_optimizer_apply(...)      FG_HERE(fg_optimizer_apply(__VA_ARGS__))
#define fg_optimizer_scale_loss(...) FG_HERE(fg_optimizer_scale_loss(__VA_ARGS__))
#define fg_optimizer_skipped(...)    FG_HERE(fg_optimizer_skipped(__VA_ARGS__))
#endif
#endif
