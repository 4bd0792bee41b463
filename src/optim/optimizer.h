/* optimizer.h - what an optimizer holds, and the rule that each kind gives.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_OPTIM_OPTIMIZER_H
#define FGI_OPTIM_OPTIMIZER_H

#include <fulgurite/optim.h>
#include "base/number.h"
#include "base/reserved.h"

enum { FGI_MOMENTS = FG_MOST_MOMENTS };

/* The numbers that the user gave, as far as all optimizers have them: decay rates of the first
 * moment (momentum, Adam's beta1) and of the second one (decay, Adam's beta2). */
typedef struct fgi_hyper {
    double lr, momentum, decay, weight_decay;
} fgi_hyper;

/* The same as scalars of the trace that an update is written into. */
struct fg_update {
    fg_optimizer *optimizer;
    size_t index; /* of the parameter */
    fg_trace *trace;
    fg_dtype dtype;               /* that updates are computed in: f32, f64 where a parameter is */
    fg_tensor lr, momentum, rest; /* rest: 1 - momentum */
    fg_tensor weight_decay;
    fg_tensor keep; /* 1 - lr weight_decay */
    fg_tensor step; /* updates made before this one, s32[] */
    /* What the guard finds out (guard.c). */
    fg_tensor is_bad;        /* bool[]: a gradient is not finite */
    bool skips;              /* a bad step changes nothing */
    fg_tensor culprit, kind; /* f32[]: number of the parameter, from 1, and 1 NaN, 2 infinite */
    fg_tensor moving, lost;  /* f32[]: elements that were to move, and that rounding kept */
    bool counts;             /* there are such numbers */
    fg_tensor shared[2];     /* by rule->prepare */
};

typedef struct fgi_number {
    fg_scalar high, low; /* f32: what the first leaves out of a double is in the second */
} fgi_number;

/* What programs read at each launch, derived in double precision from the numbers in force. */
typedef struct fgi_launch_scalars {
    fgi_number lr, momentum, rest, weight_decay, keep;
    fgi_number decay_rate[FGI_MOMENTS]; /* -log(beta)/2 of each moment */
} fgi_launch_scalars;

/* What the host is told of updates: f32[FGI_HEALTH] on the device. */
enum {
    FGI_HEALTH_BAD,     /* updates so far with a gradient that is not finite */
    FGI_HEALTH_LOST,    /* fraction of the last update lost to rounding */
    FGI_HEALTH_STEP,    /* the first anomaly: number of the step, from 1, 0: none; */
    FGI_HEALTH_CULPRIT, /* number of the parameter, from 1; */
    FGI_HEALTH_KIND,    /* 1: NaN, 2: infinite */
    FGI_HEALTH_SCALE,   /* of the loss in the last step */
    FGI_HEALTH
};

/* Options and state of what guard.c does; variables are NULL where it is not wanted. */
typedef struct fgi_guard {
    fg_variable *scale, *streak; /* f32[], s32[]: the loss's factor, good steps since it changed */
    fg_scalar growth, backoff, interval;
    fg_variable *health;
    bool detects;     /* anomalies: bad steps are skipped, and the first is named */
    fg_scalar number; /* s32: of the step, from 1; read where it detects */
    bool rounds_stochastically;
} fgi_guard;

struct fg_optimizer {
    const fg_optimizer_rule *rule;
    fgi_hyper hyper;
    double lr_factor; /* hyper.lr times this is the peak of the schedule */
    void *own;        /* a copy of the rule's own options; NULL: it has none */
    bool counts_updates;
    double lr_now, momentum_now;
    fg_schedule schedule;
    int64_t total_steps, step_now;
    bool has_begun; /* begin_step was called since the last minimize */
    bool has_run;   /* minimize or begin_step was called before */
    fgi_launch_scalars scalars;
    const fg_module *root; /* whose parameters are trained; borrowed */
    size_t variable_count; /* of root when its parameters were last looked at */
    fg_variable **parameters;
    size_t parameter_count;
    bool *has_warned;  /* by parameter: that it gets no gradient */
    fg_variable *step; /* s32[] */
    /* By parameter; NULL where the optimizer has no such moment, or not yet: a frozen parameter's
     * are made when it is first trained. */
    fg_variable **moment[FGI_MOMENTS];
    /* s32[], by parameter: updates of the optimizer that left it alone. NULL: none */
    fg_variable **missed;
    fgi_guard guard;
};

/* False after keeping an error in root: `reserved` of an optimizer's options is not zero. */
bool fgi_optimizer_check_reserved(fg_module *root, fgi_reserved reserved);
/* Variables (moments.c). Gives every trainable parameter moment m. */
fg_status fgi_optimizer_add_moment(fg_optimizer *o, int m, fg_error *err);
/* Before parameter `index` is updated: the moments that it lacks. */
fg_status fgi_optimizer_begin_parameter(fg_optimizer *o, size_t index, fg_error *err);
/* The count of updates that parameter `index` missed, made if need be. */
fg_status fgi_optimizer_make_missed(fg_optimizer *o, size_t index, fg_error *err);
/* Whether updates depend on how many there were before. */
bool fgi_optimizer_counts(const fg_optimizer *o);
bool fgi_optimizer_has_moments(const fg_optimizer *o, size_t index);
void fgi_optimizer_free_variables(fg_optimizer *o);
/* Before a checkpoint is loaded that has a variable of this name: makes the moment or the count of
 * missed updates that it is, also of a frozen parameter, which may be trained again. */
fg_status fgi_optimizer_expect(fg_optimizer *o, const char *name, fg_error *err);
/* Whether it is the name of a count of missed updates. */
bool fgi_optimizer_is_missed(const char *name);
/* The parameter whose moment has this name, or NULL. */
fg_variable *fgi_optimizer_parameter_of(const fg_optimizer *o, const char *moment_name);
/* Parameter's moments start after `step` updates that it missed. */
fg_status fgi_optimizer_start_late(fg_optimizer *o, const fg_variable *parameter, int32_t step,
                                   fg_error *err);

/* Gradients for an update (gradients.c): empty for parameters that are left alone because they are
 * frozen or the loss does not depend on them; the latter are named in a warning, once. Errors, kept
 * in the trace: a parameter that was created after the optimizer, a loss that depends on none. */
void fgi_optimizer_gradients(fg_optimizer *o, fg_tensor loss, fg_tensor *out);

/* A launch's number as a scalar of the update's format. */
fg_tensor fgi_launch_value(const fg_update *u, const fgi_number *number);
/* a * factor, the scalar being cast to a's dtype. */
fg_tensor fgi_times(fg_tensor a, fg_tensor factor);

/* Watches the updates traced from now on: makes the health variable. detects: a step with a
 * gradient that is not finite changes nothing, and the first one is named. */
fg_status fgi_optimizer_watch(fg_optimizer *optimizer, bool detects, fg_error *err);
/* f32[FGI_HEALTH], or NULL. */
fg_variable *fgi_optimizer_health(const fg_optimizer *optimizer);
/* The first of its variables that are the guard's: by number as in fg_optimizer_variable_at. */
size_t fgi_optimizer_guard_first(const fg_optimizer *optimizer);
bool fgi_optimizer_scales_loss(const fg_optimizer *optimizer);

/* guard.c, around an update: looks at the gradients (f32 or f64) and takes the scale out of them;
 * scratch has room for as many. */
void fgi_guard_begin(fg_update *u, fg_tensor *gradients, fg_tensor *scratch);
/* `now`, or `old` in a step that is skipped. */
fg_tensor fgi_guard_keep(const fg_update *u, fg_tensor now, fg_tensor old);
/* A parameter's new value in its own format. */
fg_tensor fgi_guard_round(fg_update *u, fg_tensor old, fg_tensor now, fg_dtype dtype);
void fgi_guard_end(fg_update *u);
void fgi_guard_fini(fgi_guard *guard);
size_t fgi_guard_variable_count(const fgi_guard *guard);
fg_variable *fgi_guard_variable(const fgi_guard *guard, size_t index);

/* Options that every optimizer has. automatic: the learning rate or weight decay that auto is. */
#define FGI_OPTION_LR(auto_lr)                                                                     \
    {                                                                                              \
        .name = "lr", .kind = FG_OPTION_FLOAT, .initial = "auto", .min = 0, .max = 1e30,           \
        .has_auto = true, .automatic = (auto_lr), .example = "1e-3",                               \
        .help = "Learning rate; with a schedule, its highest value."                               \
    }
#define FGI_OPTION_WEIGHT_DECAY(auto_decay, text)                                                  \
    {                                                                                              \
        .name = "weight_decay", .kind = FG_OPTION_FLOAT, .initial = "auto", .min = 0, .max = 1e6,  \
        .has_auto = true, .automatic = (auto_decay), .example = "5e-4", .help = (text)             \
    }

/* Of fg_onecycle, which cycles the momentum too; settings of 0 are its defaults. */
extern const fg_schedule_ops fgi_onecycle_ops;

/* The built-in rows (optimizers.c, schedules.c). */
extern const fg_optimizer_entry *const fgi_optimizer_rows[];
extern const size_t fgi_optimizer_row_count;
extern const fg_schedule_entry *const fgi_schedule_rows[];
extern const size_t fgi_schedule_row_count;
extern const fg_optimizer_entry fgi_sgd_row, fgi_adam_row, fgi_adamw_row;
extern const fg_schedule_entry fgi_constant_row, fgi_onecycle_row;

/* The learning rate belongs to the optimizer: the base is what the user gave it, at creation or by
 * fg_optimizer_set_lr; the factor is what a batch larger than the base is for makes of it; their
 * product is the schedule's peak. Scaling takes effect at once and replaces the factor before it.
 */
void fgi_optimizer_scale_lr(fg_optimizer *optimizer, double factor);
double fgi_optimizer_base_lr(const fg_optimizer *optimizer);
double fgi_optimizer_peak_lr(const fg_optimizer *optimizer);

#endif
