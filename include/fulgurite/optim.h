/* optim.h - optimizers and learning rate schedules.
 *
 * An optimizer turns gradients into assignments to the parameters, inside the program: its moments
 * and its step counter are variables on the device. Learning rate, momentum and weight decay are
 * numbers given at each launch, so a schedule compiles nothing, and a program traced once can be
 * launched for every step.
 *
 * An own loop calls fg_optimizer_minimize once each iteration and nothing else: that call also
 * counts the steps of the schedule. A program that is traced once and launched many times (the
 * Trainer's) calls fg_optimizer_begin_step before each launch.
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

/* Owned by the root module it was created with, and destroyed with it; programs traced with it must
 * not be launched after that. Owner thread of the traces only. */
typedef struct fg_optimizer fg_optimizer;

/* Creation takes all FG_PARAMETER variables that root has by then, so it comes after the layers. As
 * in building modules, an error (FG_EINVAL: a number outside its range; FG_ENOMEM) is kept in root
 * and NULL returned. options may be NULL. Variables are named "optimizer.KIND.PARAMETER",
 * "optimizer.exp_avg.fc1.weight", and "optimizer.step" (s32[], the number of updates made);
 * "optimizer.missed.PARAMETER" is there for parameters that some updates left alone. Updates
 * are computed in f32, and moments are f32, also for parameters in bf16 and f16; in f64 for f64. */

/* Stochastic gradient descent (p: parameter, g: gradient, v: momentum_buffer):
 *   g = g + weight_decay p
 *   v = momentum v + (1 - dampening) g      (v = g at the first step)
 *   p = p - lr v,   with nesterov: p - lr (g + momentum v);   without momentum: p - lr g
 * Source: Sutskever et al. 2013, "On the importance of initialization and momentum in deep
 * learning", in the form of PyTorch's SGD. */
typedef struct fg_sgd_options {
    double lr;           /* [1e-3]; FG_ZERO: 0 */
    double momentum;     /* [0]                */
    double dampening;    /* [0]                */
    double weight_decay; /* [0]                */
    bool nesterov;       /* requires momentum and no dampening [false] */
    uint64_t reserved[6];
} fg_sgd_options;
FG_API fg_optimizer *fg_sgd_create(fg_module *root, const fg_sgd_options *options);

/* Adam (m: exp_avg, s: exp_avg_sq, t: number of this update, from 1):
 *   g = g + weight_decay p
 *   m = beta1 m + (1 - beta1) g        s = beta2 s + (1 - beta2) g^2
 *   p = p - lr (m / (1 - beta1^t)) / (sqrt(s / (1 - beta2^t)) + eps)
 * Source: Kingma and Ba 2015, "Adam: a method for stochastic optimization"; PyTorch's Adam. */
typedef struct fg_adam_options {
    double lr;           /* [1e-3]; FG_ZERO, here and below: 0 */
    double beta1;        /* [0.9]   */
    double beta2;        /* [0.999] */
    double eps;          /* [1e-8]  */
    double weight_decay; /* [0]     */
    uint64_t reserved[6];
} fg_adam_options;
FG_API fg_optimizer *fg_adam_create(fg_module *root, const fg_adam_options *options);

/* Adam with decoupled weight decay: instead of adding to g, first p = (1 - lr weight_decay) p.
 * Source: Loshchilov and Hutter 2019, "Decoupled weight decay regularization"; PyTorch's AdamW. */
typedef struct fg_adamw_options {
    double lr;           /* [1e-3]; FG_ZERO, here and below: 0 */
    double beta1;        /* [0.9]   */
    double beta2;        /* [0.999] */
    double eps;          /* [1e-8]  */
    double weight_decay; /* [0.01]  */
    uint64_t reserved[6];
} fg_adamw_options;
FG_API fg_optimizer *fg_adamw_create(fg_module *root, const fg_adamw_options *options);

/* "sgd", "adam", "adamw", or the name of a rule of your own. */
FG_API const char *fg_optimizer_name(const fg_optimizer *optimizer);

/* ---- optimizers of your own ------------------------------------------------------------------ */

/* The update of one parameter, as a rule sees it while the program is traced. */
typedef struct fg_update fg_update;

enum { FG_MOST_MOMENTS = 2 };
/* An update rule. A constant table; it must outlive the optimizers that use it. */
typedef struct fg_optimizer_rule {
    const char *name;                     /* "lion" */
    const char *moments[FG_MOST_MOMENTS]; /* names of its moments, "exp_avg"; NULL: fewer */
    bool has_optional_momentum; /* the first moment exists only while the momentum is not 0 or a
                                   schedule sets it                                       [false] */
    /* Whether options and momentum make sense together; may be NULL. */
    fg_status (*check)(const void *own, double momentum, fg_error *err);
    /* Called once before the parameters are updated, to compute what they share
     * (fg_update_set_shared); may be NULL. */
    void (*prepare)(fg_update *update);
    /* The parameter's new value. parameter and gradient have one type: f32, or f64 for parameters
     * in f64. Assigns new values to the moments by fg_update_set_moment. */
    fg_tensor (*update)(const fg_update *update, fg_tensor parameter, fg_tensor gradient);
    void (*reserved[2])(void); /* must be NULL */
} fg_optimizer_rule;

typedef struct fg_optimizer_options {
    double lr;           /* [1e-3]; FG_ZERO: 0 */
    double momentum;     /* decay rate of the first moment, which schedules change: 0 to 1    [0] */
    double decay;        /* decay rate of the second moment: 0 to 1                           [0] */
    double weight_decay; /* [0]                                                                   */
    const void *own;     /* the rule's own options, copied                                 [none] */
    size_t own_bytes;
    bool counts_updates; /* the rule uses fg_update_step: a parameter that some updates left alone
                            has a count of its own                                        [false] */
    uint64_t reserved[4];
} fg_optimizer_options;
/* Creates an optimizer that applies the rule; see above for what it takes from root and how errors
 * are kept. options may be NULL. */
FG_API fg_optimizer *fg_optimizer_create(fg_module *root, const fg_optimizer_rule *rule,
                                         const fg_optimizer_options *options);

/* Scalars of the launch, f32[] or f64[]: cast them to the parameter's dtype (fg_cast). */
FG_API fg_tensor fg_update_lr(const fg_update *update);
FG_API fg_tensor fg_update_momentum(const fg_update *update);
FG_API fg_tensor fg_update_weight_decay(const fg_update *update);
/* The number of updates of this parameter before this one: s32[]. */
FG_API fg_tensor fg_update_step(const fg_update *update);
/* The rule's own options; NULL if it has none. */
FG_API const void *fg_update_own(const fg_update *update);
/* Whether the optimizer has this moment (fg_optimizer_rule.has_optional_momentum). */
FG_API bool fg_update_has_moment(const fg_update *update, int moment);
/* A moment of this parameter before the update, of the parameter's shape; 0 at the first one. */
FG_API fg_tensor fg_update_moment(const fg_update *update, int moment);
FG_API void fg_update_set_moment(const fg_update *update, int moment, fg_tensor value);
/* Values that prepare computes once for all parameters: index 0 or 1. */
FG_API void fg_update_set_shared(fg_update *update, int index, fg_tensor value);
FG_API fg_tensor fg_update_shared(const fg_update *update, int index);

/* ---- updates --------------------------------------------------------------------------------- */

/* Writes the update into the loss's trace: gradients of all parameters, then their new values
 * (fg_assign). Stands for one step: takes the schedule's next learning rate unless
 * fg_optimizer_begin_step was called since the last time.
 *
 * A trace may hold several updates, by one optimizer or by several. Each one differentiates by the
 * parameters' values in force when it is called, so the loss has to be computed from these: a loss
 * from before an update of the same parameters is an error. Numbers of a launch (learning rate,
 * momentum) are those of an optimizer's last call in the trace.
 *
 * Parameters that are frozen (fg_module_freeze) and those that the loss does not depend on (never
 * used, or behind fg_stop_gradient) are left alone, also by weight decay and momentum; the latter
 * are named in a warning, once. A gradient that is there and is 0 is a gradient like others.
 * Errors, kept in the trace: those of fg_grad; FG_EINVAL for a NULL optimizer, a loss from before
 * an update, one that depends on no parameter to be trained, and a parameter that was created in
 * the module after the optimizer. */
FG_API void fg_optimizer_minimize(fg_optimizer *optimizer, fg_tensor loss);
/* The same with gradients of one's own, in the order of fg_optimizer_parameter_at. Errors, kept in
 * the trace: FG_EINVAL when count is another, FG_ESHAPE and FG_EDTYPE of a gradient whose type is
 * not its parameter's; f32 is accepted for parameters in bf16 and f16. An empty tensor,
 * (fg_tensor){0}, leaves its parameter alone, and so does any gradient of a frozen one. */
FG_API void fg_optimizer_apply(fg_optimizer *optimizer, const fg_tensor *gradients, size_t count);

/* What is trained, in the order of the module. at: NULL past the end. */
FG_API size_t fg_optimizer_parameter_count(const fg_optimizer *optimizer);
FG_API fg_variable *fg_optimizer_parameter_at(const fg_optimizer *optimizer, size_t index);
/* The optimizer's own variables, of kind FG_STATE: what a checkpoint holds beside the model. */
FG_API size_t fg_optimizer_variable_count(const fg_optimizer *optimizer);
FG_API fg_variable *fg_optimizer_variable_at(const fg_optimizer *optimizer, size_t index);

/* Sets the base learning rate, from the next launch on. What schedules are relative to (the peak of
 * onecycle) is this, times the factor of the Trainer's lr_scaling (train.h). get_lr: the learning
 * rate of the present step, with scaling and schedule. */
FG_API void fg_optimizer_set_lr(fg_optimizer *optimizer, double lr);
FG_API double fg_optimizer_get_lr(const fg_optimizer *optimizer);
/* SGD's momentum or Adam's beta1, likewise, while no schedule sets it. An SGD created without
 * momentum gets its buffers now: then call it before tracing. Errors: FG_EINVAL, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_optimizer_set_momentum(fg_optimizer *optimizer, double momentum,
                                                       fg_error *err);
FG_API double fg_optimizer_get_momentum(const fg_optimizer *optimizer);

/* ---- number formats -------------------------------------------------------------------------- */

/* A factor on the loss by which small gradients in f16 do not vanish. It and the count of good
 * steps are f32[] "optimizer.loss_scale" and s32[] "optimizer.loss_scale_streak" on the device,
 * saved with the optimizer's other variables. A step with a gradient that is not finite changes no
 * parameter and no moment and is not counted in "optimizer.step": the scale goes down by `backoff`.
 * After `growth_interval` steps without one it goes up by `growth`. Nothing of it is read by the
 * host. Source: Micikevicius et al. 2018, "Mixed precision training"; PyTorch's GradScaler. */
typedef struct fg_loss_scale_options {
    double init;             /* > 0        [65536] */
    double growth;           /* 1 or more      [2] */
    double backoff;          /* between 0 and 1 [0.5] */
    int64_t growth_interval; /* [2000]  */
    uint64_t reserved[4];
} fg_loss_scale_options;
/* From the next trace on the loss is scaled; options may be NULL. The Trainer does it for
 * "16-mixed" and "16-true" unless its task has. Errors: FG_EINVAL (a number outside its range, or
 * there is a scale already), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_optimizer_set_loss_scale(fg_optimizer *optimizer,
                                                         const fg_loss_scale_options *options,
                                                         fg_error *err);
/* The loss times the scale, of which the gradients for fg_optimizer_apply are wanted then; the loss
 * itself where none is set. fg_optimizer_minimize does it. */
FG_API fg_tensor fg_optimizer_scale_loss(const fg_optimizer *optimizer, fg_tensor loss);

/* Parameters in bf16 are rounded up or down by chance, so that updates smaller than their last
 * digit are not lost but done now and then, right in the mean. Drawn from the trace's seed and
 * step: the same on any number of devices. Call it before tracing. [false] Source: Zamirai et al.
 * 2021, "Revisiting bfloat16 training". */
FG_API void fg_optimizer_set_stochastic_rounding(fg_optimizer *optimizer, bool on);

/* ---- schedules ------------------------------------------------------------------------------- */

/* A schedule's functions. They are pure: learning rate and momentum follow from the step alone, so
 * that a resumed run continues exactly. A constant table; it must outlive what uses it. */
typedef struct fg_schedule_ops {
    const char *name; /* "onecycle" */
    /* Whether the settings make sense; may be NULL. */
    fg_status (*check)(const void *settings, fg_error *err);
    /* The learning rate at a step, which counts from 0, of total_steps; lr is the optimizer's own.
     */
    double (*lr)(const void *settings, double lr, int64_t step, int64_t total_steps);
    /* The momentum (Adam: beta1) at a step; NULL: the schedule leaves it alone. */
    double (*momentum)(const void *settings, double momentum, int64_t step, int64_t total_steps);
    void (*reserved[2])(void); /* must be NULL */
} fg_schedule_ops;

enum { FG_SCHEDULE_WORDS = 12 };
/* How learning rate and momentum change over a run. All zero: they stay as the optimizer has them.
 * A plain value: copy it by assignment. */
typedef struct fg_schedule {
    const fg_schedule_ops *ops;           /* NULL: constant */
    uint64_t settings[FG_SCHEDULE_WORDS]; /* what ops are called with */
    uint64_t reserved[2];
} fg_schedule;

/* One cycle: the learning rate rises from lr/div_factor to lr at pct_start of the steps, then falls
 * to lr/div_factor/final_div_factor, which the last step has exactly; the momentum goes from
 * max_momentum to base_momentum and back. three_phase: the learning rate falls to lr/div_factor
 * over as many steps as it rose, and only then to the end. An SGD without momentum gets one, as in
 * PyTorch. Source: Smith and Topin 2018, "Super-convergence"; PyTorch's OneCycleLR. */
typedef struct fg_onecycle_options {
    double pct_start;        /* fraction of the steps that rise [0.3]; FG_ZERO, here and below: 0 */
    const char *anneal;      /* "cos" or "linear"                                         ["cos"] */
    double div_factor;       /* > 0                                                          [25] */
    double final_div_factor; /* > 0                                                         [1e4] */
    double base_momentum;    /* the lowest                                                 [0.85] */
    double max_momentum;     /* the highest                                                [0.95] */
    bool no_cycle_momentum;  /* leave the momentum alone                                  [false] */
    bool three_phase;        /* [false]                                                           */
    uint64_t reserved[4];
} fg_onecycle_options;
/* options may be NULL. What is wrong with them is reported by fg_schedule_check. Thread-safe. */
FG_API fg_schedule fg_onecycle(const fg_onecycle_options *options);

/* Whether its settings make sense; NULL is constant. Every function that takes a schedule to use it
 * checks it. Errors: FG_EINVAL. Thread-safe. */
FG_API FG_MUST_USE fg_status fg_schedule_check(const fg_schedule *schedule, fg_error *err);
/* The learning rate at a step, which counts from 0, of total_steps, for a peak of lr; steps past
 * the last get the last's. schedule may be NULL (constant) and has passed the check. Thread-safe.
 */
FG_API double fg_schedule_lr(const fg_schedule *schedule, double lr, int64_t step,
                             int64_t total_steps);
/* The momentum at a step; `momentum` itself where the schedule leaves it alone. Thread-safe. */
FG_API double fg_schedule_momentum(const fg_schedule *schedule, double momentum, int64_t step,
                                   int64_t total_steps);

/* From the next step on the optimizer follows the schedule (copied; NULL: constant) over
 * total_steps. Call it before tracing. Errors: those of fg_schedule_check, FG_EINVAL when
 * total_steps < 1 and the schedule needs it, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_optimizer_set_schedule(fg_optimizer *optimizer,
                                                       const fg_schedule *schedule,
                                                       int64_t total_steps, fg_error *err);
/* The launch that follows is step number `step`, from 0: sets its learning rate and momentum. A
 * loop of one's own needs it only to begin elsewhere than at 0, after a resume. */
FG_API void fg_optimizer_begin_step(fg_optimizer *optimizer, int64_t step);

/* ---- rows ------------------------------------------------------------------------------------ */

/* An optimizer that a registry knows by name (registry.h): a constant row. */
typedef struct fg_optimizer_entry {
    fg_entry entry; /* with the options lr and weight_decay among others */
    /* Creates the optimizer from values for entry.options, as the functions above do. */
    fg_optimizer *(*create)(fg_module *root, const fg_option_values *values);
    void (*reserved[2])(void); /* must be NULL */
} fg_optimizer_entry;

/* A schedule that a registry knows by name. */
typedef struct fg_schedule_entry {
    fg_entry entry;
    /* Fills *out from values for entry.options. Errors: FG_EINVAL. */
    fg_status (*create)(const fg_option_values *values, fg_schedule *out, fg_error *err);
    void (*reserved[2])(void); /* must be NULL */
} fg_schedule_entry;

#ifdef __cplusplus
}
#endif
#endif
