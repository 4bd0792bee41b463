/* optimizer.h - the optimizer, whose row has the update of one kind.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_OPTIM_OPTIMIZER_H
#define FGI_OPTIM_OPTIMIZER_H

#include <fulgurite/optim.h>
#include "base/number.h"
#include "base/reserved.h"

enum { FGI_MOMENTS = FG_MOST_MOMENTS, FGI_PREFIX = 64 };

/* The hyperparameters that all optimizers have. momentum and decay are the decay rates of the first
 * moment (Adam's beta1) and of the second moment (Adam's beta2). */
typedef struct fgi_hyper {
    double lr, momentum, decay, weight_decay;
} fgi_hyper;

typedef struct fgi_number {
    fg_scalar high, low; /* f32: a double split into its high and low part */
} fgi_number;

/* The scalars that programs read at each launch, derived in double precision from the current
 * hyperparameters. */
typedef struct fgi_launch_scalars {
    fgi_number lr, momentum, rest, weight_decay, keep;
    fgi_number decay_rate[FGI_MOMENTS]; /* -log(beta)/2 of each moment */
} fgi_launch_scalars;

/* Parameters with the same options (groups.c). */
typedef struct fgi_group {
    void *options; /* the row's struct */
    fgi_hyper hyper;
    fgi_launch_scalars scalars;
    double lr_factor; /* the learning rate is this times the optimizer's */
    /* The rules: patterns as bits; fewer than two dimensions, which exclude it from weight decay;
     * number of layers above, for layer_decay. */
    uint64_t rules;
    bool is_vector;
    int layers_above;
} fgi_group;

/* The same as scalars of the trace that an update is written into. */
struct fg_update {
    fg_optimizer *optimizer;
    const fgi_group *group;
    size_t index; /* of the parameter */
    fg_trace *trace;
    fg_dtype dtype;               /* dtype of the update: f32, or f64 for f64 parameters */
    fg_tensor lr, momentum, rest; /* rest: 1 - momentum */
    fg_tensor weight_decay;
    fg_tensor keep; /* 1 - lr weight_decay */
    fg_tensor step; /* updates before this one, s32[] */
    /* Results of the guard (guard.c). */
    fg_tensor is_bad;        /* bool[]: a gradient is not finite, and the step is due */
    bool skips;              /* a bad step changes nothing */
    fg_tensor is_due;        /* bool[]: else the step changes nothing; empty: always */
    fg_tensor culprit, kind; /* f32[]: parameter number, starting at 1; 1: NaN, 2: infinite */
    fg_tensor moving, lost;  /* f32[]: elements to change, and those that rounding left unchanged */
    bool counts;             /* the two counts above are set */
    fg_tensor shared[2];     /* set by row->prepare */
};

/* Report of the updates for the host: f32[FGI_HEALTH] on the device. */
enum {
    FGI_HEALTH_BAD,     /* updates so far with a gradient that is not finite */
    FGI_HEALTH_LOST,    /* fraction of the last update lost to rounding */
    FGI_HEALTH_STEP,    /* first update with such a gradient, starting at 1; 0: none. With
                           detects, the first anomaly; not known if only the loss is scaled */
    FGI_HEALTH_CULPRIT, /* with detects: its parameter number, starting at 1; 0: no anomaly */
    FGI_HEALTH_KIND,    /* with detects: 1: NaN, 2: infinite */
    FGI_HEALTH_SCALE,   /* loss scale in the last step */
    FGI_HEALTH
};

/* Options and state of guard.c; variables of disabled features are NULL. `health`, `detects` and
 * `number` are used of the whole. */
typedef struct fgi_guard {
    fg_variable *scale, *streak; /* f32[], s32[]: loss scale, good steps since it last changed */
    fg_scalar growth, backoff, interval;
    fg_variable *health; /* f32[FGI_HEALTH] */
    fg_tensor counted;   /* bool[]: a part updated before in this step has a bad gradient */
    bool detects;        /* detect anomalies: skip bad steps, report the first */
    fg_scalar number;    /* s32: step number, starting at 1; read if anomalies are detected */
    bool rounds_stochastically;
} fgi_guard;

/* Where an optimizer is in which schedule. */
typedef struct fgi_optimizer_place {
    fg_schedule schedule;
    int64_t total_steps, step_now;
    double lr_factor; /* hyper.lr times this is the peak of the schedule */
    double observed;  /* the factor of a schedule that follows a metric; 1: none */
    bool has_begun;   /* begin_step was called since the last minimize */
    bool has_run;     /* minimize or begin_step was called before */
} fgi_optimizer_place;

/* An optimizer. A joined one (join.c) has parts and no parameters: what is done to it is done to
 * its parts. */
struct fg_optimizer {
    const fg_optimizer_entry *row; /* NULL: joined */
    char *name; /* of a part, or the description of a joined optimizer; NULL: neither */
    char prefix[FGI_PREFIX]; /* of the names of its variables: "optimizer." or "optimizer.NAME." */
    fg_optimizer **parts;
    size_t part_count;   /* 0: it is not joined */
    fg_optimizer *whole; /* that it is a part of, or itself */
    size_t first;        /* its first parameter is this one of the whole */
    /* Of a part: updated in each `every`-th step, and whether this one is (u32). */
    int64_t every;
    fg_scalar is_due;
    const fg_schedule *schedule; /* replaces the one given; NULL: none */
    fg_option_values *values;    /* of the row's options */
    fgi_group base;              /* of parameters without a group */
    fgi_group *groups;           /* NULL: none */
    size_t group_count;
    size_t *group_of; /* by parameter; NULL: all have the base */
    fgi_optimizer_place place, kept;
    double lr_now, momentum_now;
    fg_module *root;       /* whose parameters are trained; borrowed */
    size_t variable_count; /* number of root's parameters at the last check */
    fg_variable **parameters;
    size_t parameter_count;
    bool *has_warned;  /* by parameter: a warning about a missing gradient was issued */
    fg_variable *step; /* s32[] */
    fg_variable
        *observed; /* f64[FG_SCHEDULE_STATE], on the host: state of the schedule. NULL: none */
    /* By parameter. NULL if the optimizer does not use this moment, or has not created it yet: the
     * moments of a frozen parameter are created when it is first trained. */
    fg_variable **moment[FGI_MOMENTS];
    /* s32[], by parameter: updates that left it unchanged. NULL: none */
    fg_variable **missed;
    fgi_guard guard;
    fg_tensor skipped; /* is_bad of the update traced last, if it is skipped then */
    fg_clip clip;
    fgi_number clip_limit;
};

/* For the rules of rows (update.c). p: the parameter, g: its gradient. */
/* g + weight_decay p, or g without weight decay: an L2 penalty. */
fg_tensor fgi_add_decay(const fg_update *u, fg_tensor p, fg_tensor g);
/* (1 - lr weight_decay) p, or p: decoupled weight decay. */
fg_tensor fgi_decay(const fg_update *u, fg_tensor p);
/* `first` in the first update, `later` after it. */
fg_tensor fgi_first_or(const fg_update *u, fg_tensor first, fg_tensor later);
/* Number of the update, starting at 1, in the update's dtype. */
fg_tensor fgi_update_number(const fg_update *u);
/* Moves a moment towards a value, of which it gets the fraction `rest`; returns its new value. */
fg_tensor fgi_move_moment(const fg_update *u, int moment, fg_tensor value, fg_tensor rest);
/* 1 - beta^t of update t, from -log(beta)/2. */
fg_tensor fgi_bias_correction(const fg_update *u, fg_tensor half_rate);
/* The L2 norm, a scalar. */
fg_tensor fgi_norm(fg_tensor a);
/* step coefficient |p| / |step|; the step itself if one of the norms is 0. */
fg_tensor fgi_trust(const fg_update *u, fg_tensor p, fg_tensor step, double coefficient);
/* Parts of Adam (adam.c). */
enum { FGI_NO_DECAY, FGI_PENALTY, FGI_DECOUPLED };
typedef struct fgi_adam {
    int first;      /* number of the first of its two moments */
    fg_tensor rest; /* 1 - beta1 */
    double beta2, eps;
    int decay; /* of the step: FGI_NO_DECAY ... */
} fgi_adam;
/* Those of fg_adam_options, without weight decay. */
fgi_adam fgi_adam_of(const fg_update *u);
/* The new m; *out_size is sqrt(s / (1 - beta2^t)) + eps. */
fg_tensor fgi_adam_move(const fg_update *u, fg_tensor g, const fgi_adam *how, fg_tensor *out_size);
/* The new parameter. */
fg_tensor fgi_adam_step(const fg_update *u, fg_tensor p, fg_tensor g, const fgi_adam *how);
/* Sets the values that parameters share: lr / (1 - beta1^t), from -log(beta1)/2, and
 * 1 / sqrt(1 - beta2^t). */
enum { FGI_ADAM_RATE, FGI_ADAM_WIDEN };
void fgi_adam_prepare(fg_update *u, fg_tensor half_rate);
/* With beta1 as the momentum: a row's `prepare`. */
void fgi_adam_prepare_own(fg_update *u);
/* counts_updates of rows that always do. */
bool fgi_always_counts(const void *options);

/* One without parameters, and its destruction. */
fg_optimizer *fgi_optimizer_new(void);
void fgi_optimizer_destroy(void *object);
/* The group of a parameter. */
const fgi_group *fgi_optimizer_group(const fg_optimizer *o, size_t index);
/* The hyperparameters in a row's struct. */
fgi_hyper fgi_optimizer_hyper(const fg_optimizer_entry *row, void *options);
/* Creates the moments for the groups that were set (groups.c), instead of those before. */
fg_status fgi_optimizer_regroup(fg_optimizer *o, fg_error *err);
void fgi_optimizer_free_groups(fg_optimizer *o);
/* The value of a metric for a schedule that follows one. Errors: FG_ENOMEM. */
fg_status fgi_optimizer_observe(fg_optimizer *o, double value, bool higher, fg_error *err);

/* Variables (moments.c). Creates moment m of every trainable parameter. */
fg_status fgi_optimizer_add_moment(fg_optimizer *o, int m, fg_error *err);
/* Creates the missing moments of parameter `index`, before its update. */
fg_status fgi_optimizer_begin_parameter(fg_optimizer *o, size_t index, fg_error *err);
/* The number of updates that parameter `index` missed; the variable is created if necessary. */
fg_status fgi_optimizer_make_missed(fg_optimizer *o, size_t index, fg_error *err);
/* Whether updates depend on the number of previous updates. */
bool fgi_optimizer_counts(const fg_optimizer *o);
bool fgi_optimizer_has_moments(const fg_optimizer *o, size_t index);
void fgi_optimizer_free_moments(fg_optimizer *o);
void fgi_optimizer_free_variables(fg_optimizer *o);
/* Creates the state of the schedule. */
fg_status fgi_optimizer_add_observed(fg_optimizer *o, fg_error *err);
/* Call before loading a checkpoint that has a variable with this name: creates the moment or
 * the count of missed updates with this name, also for a frozen parameter, which may be trained
 * again. */
fg_status fgi_optimizer_expect(fg_optimizer *o, const char *name, fg_error *err);
/* Forgets the updates that parameters missed. */
fg_status fgi_optimizer_forget_missed(fg_optimizer *o, fg_error *err);
/* Whether a checkpoint must have this variable: the number of updates, or a moment, whose parameter
 * is *out_parameter, else NULL. */
bool fgi_optimizer_needs(const fg_optimizer *o, const fg_variable *variable,
                         fg_variable **out_parameter);
/* Records that the parameter missed all updates so far: its moments are new. */
fg_status fgi_optimizer_start_late(fg_optimizer *o, const fg_variable *parameter, fg_error *err);

/* A variable "optimizer.NAME" of the optimizer. */
fg_status fgi_optimizer_create_variable(const fg_optimizer *o, const char *name,
                                        const fg_type *type, const fg_variable_options *options,
                                        fg_variable **out, fg_error *err);

/* Gradients for an update (gradients.c): of one loss for each part, or of one. Empty for parameters
 * that are left unchanged because they are frozen or because the loss does not depend on them; the
 * latter are listed once in a warning. Errors, recorded in the trace: a parameter was created after
 * the optimizer; the loss does not depend on any parameter. */
void fgi_optimizer_gradients(fg_optimizer *o, const fg_tensor *losses, fg_tensor *out);
/* fg_optimizer_minimize with one loss for each part, or one. All gradients are computed before the
 * first parameter changes, so a loss may depend on the parameters of other parts. */
void fgi_optimizer_minimize(fg_optimizer *o, const fg_tensor *losses);
/* How errors name it: the part, or the kind. */
const char *fgi_optimizer_title(const fg_optimizer *o);
/* The number of losses: that of its parts, or 1. */
size_t fgi_optimizer_loss_count(const fg_optimizer *o);
/* The number of the loss that parameter `index` minimizes. */
size_t fgi_optimizer_loss_of(const fg_optimizer *o, size_t index);

/* Limits the gradients (f32 or f64), without the loss scale, as fg_optimizer_set_clip says
 * (guard.c).
 */
void fgi_clip(const fg_update *u, fg_tensor *gradients);

void fgi_number_set(fgi_number *number, double value);
/* A launch scalar in the update's dtype. */
fg_tensor fgi_launch_value(const fg_update *u, const fgi_number *number);
/* a * factor; the scalar is cast to a's dtype. */
fg_tensor fgi_times(fg_tensor a, fg_tensor factor);

/* Monitors the updates traced after this call; creates the health variable. detects: skip steps
 * with a non-finite gradient, and report the first. */
fg_status fgi_optimizer_watch(fg_optimizer *optimizer, bool detects, fg_error *err);
/* Enables loss scaling where the task did not. */
fg_status fgi_optimizer_need_loss_scale(fg_optimizer *optimizer, fg_error *err);
/* Whether a loss is scaled. */
bool fgi_optimizer_scales_loss(const fg_optimizer *optimizer);

/* In guard.c, called around an update. Sets is_due, checks the gradients (f32 or f64) and divides
 * them by the loss scale; scratch has room for one value per gradient. */
void fgi_guard_begin(fg_update *u, fg_tensor *gradients, fg_tensor *scratch);
/* `now`, or `old` if the step changes nothing. */
fg_tensor fgi_guard_keep(const fg_update *u, fg_tensor now, fg_tensor old);
/* A parameter's new value in the parameter's dtype. */
fg_tensor fgi_guard_round(fg_update *u, fg_tensor old, fg_tensor now, fg_dtype dtype);
void fgi_guard_end(fg_update *u);
void fgi_guard_fini(fgi_guard *guard);
size_t fgi_guard_variable_count(const fgi_guard *guard);
fg_variable *fgi_guard_variable(const fgi_guard *guard, size_t index);

/* Options that every optimizer has. automatic: the value of auto. */
#define FGI_OPTION_LR(type, auto_lr)                                                               \
    FG_OPTION(type, lr, FLOAT, "auto", "auto|0..", "1e-3",                                         \
              "Learning rate; with a schedule, its highest value.", .automatic = (auto_lr))
#define FGI_OPTION_WEIGHT_DECAY(type, auto_decay, text)                                            \
    FG_OPTION(type, weight_decay, FLOAT, "auto", "auto|0..1e6", "5e-4", text,                      \
              .automatic = (auto_decay))
#define FGI_DECAY_L2        "Weight decay, added to the gradient (L2 penalty)."
#define FGI_DECAY_DECOUPLED "Weight decay, decoupled from the gradient."
#define FGI_OPTION_MOMENTUM(type, auto_momentum)                                                   \
    FG_OPTION(type, momentum, FLOAT, "auto", "auto|0..<1", "0.9", "Momentum factor.",              \
              .automatic = (auto_momentum))
#define FGI_OPTION_NESTEROV(type)                                                                  \
    FG_OPTION(type, nesterov, BOOL, "false", NULL, "true", "Use Nesterov momentum.")
#define FGI_OPTION_BETAS(type, auto_betas)                                                         \
    FG_OPTION_PAIR(type, betas, FLOATS, "auto", "auto|0..<1", "[0.9, 0.95]",                       \
                   "Exponential decay rates of the first-moment and second-moment estimates "      \
                   "(beta1, beta2).",                                                              \
                   .automatic = (auto_betas))
#define FGI_OPTIONS_ADAM(auto_lr, auto_decay, decay_help, auto_eps)                                \
    FGI_OPTION_LR(fg_adam_options, auto_lr),                                                       \
        FGI_OPTION_WEIGHT_DECAY(fg_adam_options, auto_decay, decay_help),                          \
        FGI_OPTION_BETAS(fg_adam_options, "[0.9, 0.999]"),                                         \
        FGI_OPTION_EPS(fg_adam_options, auto_eps)
#define FGI_OPTION_EPS(type, auto_eps)                                                             \
    FG_OPTION(type, eps, FLOAT, "auto", "auto|0..1", "1e-6",                                       \
              "Added to the denominator for numerical stability.", .automatic = (auto_eps))

/* Options that several schedules have, and their parts. */
#define FGI_OPTION_GAMMA(type, auto_gamma)                                                         \
    FG_OPTION(type, gamma, FLOAT, "auto", "auto|0<..1", "0.999", "Factor of each drop.",           \
              .automatic = (auto_gamma))
#define FGI_OPTION_FINAL(type)                                                                     \
    FG_OPTION(type, final, FLOAT, "0", "0..1", "0.1",                                              \
              "The final learning rate, as a fraction of optimizer.lr.")
#define FGI_PI 3.14159265358979323846
/* The fraction of `steps` that `step` is: 0 to 1. */
double fgi_schedule_done(int64_t step, int64_t steps);
/* lr for 1, final lr for 0. */
double fgi_schedule_between(double lr, double final, double at);

/* fg_optimizer_create for a struct with `reserved`. */
fg_optimizer *fgi_optimizer_create(fg_module *root, const fg_optimizer_entry *row,
                                   fgi_reserved reserved);

/* A schedule with complete options (NULL: constant), and the struct that they are in, for fgi_free;
 * NULL if they were complete, and are borrowed (schedule.c). */
fg_status fgi_schedule_complete(const fg_schedule *schedule, fg_schedule *out, void **out_options,
                                fg_error *err);
/* Whether it depends on the number of steps. */
bool fgi_schedule_has_end(const fg_schedule *schedule);
bool fgi_schedule_sets_momentum(const fg_schedule *schedule);
/* Checks a schedule, and that it can run over that many steps. */
fg_status fgi_schedule_check_steps(const fg_schedule *schedule, int64_t total_steps, fg_error *err);

/* The built-in rows (optimizers.c, schedules.c). */
extern const fg_entry *const fgi_optimizer_rows[];
extern const size_t fgi_optimizer_row_count;
extern const fg_entry *const fgi_schedule_rows[];
extern const size_t fgi_schedule_row_count;
extern const fg_schedule_entry fgi_onecycle_row;

/* The optimizer owns the learning rate. The base is the value given by the user, at creation or
 * with fg_optimizer_set_lr; the factor scales it with the batch size; their product is the peak of
 * the schedule. Scaling takes effect immediately and replaces the previous factor.
 */
void fgi_optimizer_scale_lr(fg_optimizer *optimizer, double factor);
/* The learning rate that the schedule gives the current step for the base, without the factor. */
double fgi_optimizer_unscaled_lr(const fg_optimizer *optimizer);

/* Computes the hyperparameters of its step, after a change of theirs. */
void fgi_optimizer_refresh(fg_optimizer *o);
/* Keeps its place; makes it that again. */
void fgi_optimizer_keep_place(fg_optimizer *optimizer);
void fgi_optimizer_return(fg_optimizer *optimizer);

#endif
