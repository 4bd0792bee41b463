/* test_optim_rules.c - the optimizers of the table: recorded updates of PyTorch and optax
 * (tests/golden/optim/record.py), and updates on one and on four
 * devices. On the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/fulgurite.h>
#include <stdio.h>

#include "optim/optimizer.h"
#include "record.h"
#include "toy.h"
#include "trace/program.h"
#include "trace/trace.h"

enum { STEPS = 20, WEIGHTS = 20, BIASES = 4 };

/* ---- recorded updates ------------------------------------------------------------------------ */

static const fg_string_pair adamw_groups[] = {
    {"l.*", "{betas: [0.8, 0.9], lr: 0.1}"},
    {"*.weight", "{lr: auto, betas: auto}"},
    {"*.weight", "{lr: 0.05}"},
    {"*.bias", "{weight_decay: 0}"},
};
static const fg_string_pair sgd_groups[] = {{"*.bias", "{momentum: 0.9}"}};
static const fg_string_pair muon_groups[] = {{"*.weight", "{adamw: true}"}};

static const struct {
    const char *name, *kind, *options;
    fg_string_map groups;
} rows[] = {
    {"nadam", "nadam", "{lr: 0.05}", {NULL, 0}},
    {"nadam_decay", "nadam", "{lr: 0.01, betas: [0.8, 0.95], weight_decay: 0.1}", {NULL, 0}},
    {"rmsprop", "rmsprop", "{lr: 0.02}", {NULL, 0}},
    {"rmsprop_momentum", "rmsprop", "{lr: 0.02, alpha: 0.9, momentum: 0.8}", {NULL, 0}},
    {"rmsprop_centered",
     "rmsprop",
     "{lr: 0.02, eps: 1e-3, centered: true, weight_decay: 0.1}",
     {NULL, 0}},
    {"adagrad", "adagrad", "{lr: 0.1}", {NULL, 0}},
    {"adagrad_decay", "adagrad", "{lr: 0.1, weight_decay: 0.1}", {NULL, 0}},
    {"adafactor", "adafactor", "{lr: 0.5}", {NULL, 0}},
    {"adafactor_decay", "adafactor", "{lr: 0.1, weight_decay: 0.1}", {NULL, 0}},
    {"lamb", "lamb", "{lr: 0.05, weight_decay: 0}", {NULL, 0}},
    {"lamb_decay", "lamb", "{lr: 0.05, betas: [0.8, 0.95], weight_decay: 0.1}", {NULL, 0}},
    {"lars", "lars", "{lr: 20}", {NULL, 0}},
    {"lars_nesterov",
     "lars",
     "{lr: 5, weight_decay: 0.05, trust_coefficient: 0.01, momentum: 0.8, nesterov: true}",
     {NULL, 0}},
    {"lion", "lion", "{lr: 0.02}", {NULL, 0}},
    {"lion_decay", "lion", "{lr: 0.02, betas: [0.8, 0.95], weight_decay: 0.5}", {NULL, 0}},
    {"muon", "muon", "{lr: 0.02}", {NULL, 0}},
    {"muon_plain", "muon", "{lr: 0.02, momentum: 0.5, weight_decay: 0}", {NULL, 0}},
    {"adamw_groups", "adamw", "{lr: 0.05, weight_decay: 0.5}", {adamw_groups, 4}},
    {"sgd_groups", "sgd", "{lr: 0.1}", {sgd_groups, 1}},
    {"muon_groups", "muon", "{lr: 0.02}", {muon_groups, 1}},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static fg_client *client;
static fg_ckpt *record, *problem;

static void start_at(fg_variable *v, const char *name)
{
    fg_error err = {0};
    float values[WEIGHTS];
    fgt_from_file_order(v, fgt_record_get(problem, NULL, "problem/%s", name), values);
    fgt_ok(fg_variable_set(v, values, fg_type_bytes(fg_variable_type(v)), &err));
}

/* All rows train separate models in one program. */
typedef struct model {
    fg_module *root;
    fg_linear *layer;
    fg_optimizer *optimizer;
} model;

static void begin(model *m, size_t k)
{
    fg_error err = {0};
    fgt_ok(fg_module_create(NULL, 0, &m->root, &err));
    m->layer = fg_linear_create(m->root, "l", &(fg_linear_options){.in = 5, .out = 4});
    m->optimizer = fg_optimizer_named(m->root, rows[k].kind, rows[k].options);
    fgt_ok(fg_module_error(m->root, &err));
    const fg_optimizer_groups groups = {.groups = rows[k].groups};
    if (groups.groups.count > 0)
        fgt_ok(fg_optimizer_set_groups(m->optimizer, &groups, &err));
    assert_string_equal(fg_optimizer_name(m->optimizer), rows[k].kind);
    start_at(fg_module_variable_at(m->root, 0), "weight");
    start_at(fg_module_variable_at(m->root, 1), "bias");
}

static fg_tensor constant(fg_trace *trace, const char *name)
{
    fg_type type;
    const void *data = fgt_record_get(problem, &type, "problem/%s", name);
    return fg_constant(trace, &type, data);
}

static void compare(const model *m, size_t k, int step)
{
    static const char *const names[] = {"weight", "bias"};
    fg_error err = {0};
    for (size_t i = 0; i < 2; i++) {
        const int count = i == 0 ? WEIGHTS : BIASES;
        const fg_variable *v = fg_module_variable_at(m->root, i);
        const float *want = fgt_record_get(record, NULL, "%s/%s", rows[k].name, names[i]);
        float values[WEIGHTS], got[WEIGHTS];
        char what[96];
        fgt_ok(fg_variable_read(v, values, (size_t)count * sizeof *values, &err));
        fgt_to_file_order(v, values, got);
        for (int e = 0; e < count; e++) {
            (void)snprintf(what, sizeof what, "%s: %s %d after step %d", rows[k].name, names[i], e,
                           step);
            fgt_close(what, (double)got[e], (double)want[step * count + e], 2e-5, 1e-5);
        }
    }
}

static void rules_follow_their_references(void **state)
{
    fg_error err = {0};
    fg_trace *trace = NULL;
    fgi_step_program *program = NULL;
    model models[ROWS];
    (void)state;
    fgt_ok(fg_trace_create(client, &trace, &err));
    const fg_tensor x = constant(trace, "x"), y = constant(trace, "y");
    for (size_t k = 0; k < ROWS; k++) {
        begin(&models[k], k);
        fg_optimizer_minimize(models[k].optimizer, fg_mse(fg_linear_apply(models[k].layer, x), y));
    }
    fgt_ok(fgi_step_program_create(trace, NULL, 0, &program, &err));
    fg_trace_reset(trace);
    for (int step = 0; step < STEPS; step++) {
        fgt_ok(fgi_step_program_launch(program, NULL, 0, NULL, NULL, &err));
        for (size_t k = 0; k < ROWS; k++)
            compare(&models[k], k, step);
    }
    fgi_step_program_destroy(program);
    for (size_t k = 0; k < ROWS; k++)
        fg_module_destroy(models[k].root);
    fg_trace_destroy(trace);
}

static void unknown_names_and_options_are_refused(void **state)
{
    static const char *const cases[][3] = {
        {"lyon", NULL, "unknown optimizer 'lyon': did you mean 'lion'?"},
        {"lion", "{eps: 1}", "lion: unknown option 'eps'"},
        {"muon", "{momentum: 1}",
         "muon.momentum: expected a number from 0 to less than 1, or auto"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fg_error err = {0};
        fg_module *root = NULL;
        fgt_ok(fg_module_create(NULL, 0, &root, &err));
        (void)fg_linear_create(root, "l", &(fg_linear_options){.in = 5, .out = 4});
        assert_null(fg_optimizer_named(root, cases[i][0], cases[i][1]));
        assert_int_not_equal(fg_module_error(root, &err), FG_OK);
        if (strstr(err.message, cases[i][2]) == NULL)
            fail_msg("%s", err.message);
        fg_module_destroy(root);
    }
}

/* ---- several devices ------------------------------------------------------------------------- */

enum { IN = 6, OUT = 512, BATCH = 8, FIT = 4, ELEMENTS = (IN + 1) * OUT, MOST_RULES = 16 };

/* What the updates of one rule leave behind. */
typedef struct fitted {
    float values[ELEMENTS];
    int sharded; /* number of moments that are */
} fitted;

static fg_optimizer *guarded(fg_module *root, const char *name, fg_client *on)
{
    fg_error err = {0};
    const fg_distribute_options fsdp = {.strategy = "fsdp"};
    fgt_ok(fg_module_distribute(root, on, &fsdp, &err));
    fg_optimizer *o = fg_optimizer_named(root, name, NULL);
    fgt_ok(fg_module_error(root, &err));
    fgt_ok(fg_optimizer_set_loss_scale(o, NULL, &err));
    fgt_ok(fg_optimizer_set_clip(o, FG_CLIP_NORM, 0.5, &err));
    fgt_ok(fgi_optimizer_watch(o, true, &err));
    return o;
}

static void keep(const fg_module *root, const fg_optimizer *o, fitted *out)
{
    fg_error err = {0};
    float *at = out->values;
    for (size_t i = 0; i < 2; i++) {
        const fg_variable *v = fg_module_variable_at(root, i);
        const size_t size = fg_type_bytes(fg_variable_type(v));
        fgt_ok(fg_variable_read(v, at, size, &err));
        at += size / sizeof *at;
    }
    out->sharded = 0;
    for (size_t i = 0; i < fg_optimizer_variable_count(o); i++)
        out->sharded +=
            !fgi_sharding_is_replicated(fgi_variable_sharding(fg_optimizer_variable_at(o, i)));
}

/* Some updates of every rule, with loss scaling, clipping and a search for anomalies, in one
 * program; weights and moments are sharded. */
static void fit_all(fg_client *on, fitted *out)
{
    fg_error err = {0};
    fg_trace *trace = NULL;
    fgi_step_program *program = NULL;
    fg_module *roots[MOST_RULES];
    fg_optimizer *optimizers[MOST_RULES];
    fgt_ok(fg_trace_create(on, &trace, &err));
    const fg_tensor place = fg_iota(trace, FG_F32, 0, FG_DIMS(BATCH * IN));
    const fg_tensor x = fg_reshape(fg_sin(place), FG_DIMS(BATCH, IN));
    for (size_t k = 0; k < fgi_optimizer_row_count; k++) {
        fgt_ok(fg_module_create(NULL, 0, &roots[k], &err));
        fg_linear *layer =
            fg_linear_create(roots[k], "l", &(fg_linear_options){.in = IN, .out = OUT});
        optimizers[k] = guarded(roots[k], fgi_optimizer_rows[k]->name, on);
        const fg_tensor y = fg_linear_apply(layer, x);
        fg_optimizer_minimize(optimizers[k], fg_mse(y, fg_cos(y)));
    }
    fgt_ok(fgi_step_program_create(trace, NULL, 0, &program, &err));
    fg_trace_reset(trace);
    for (int step = 0; step < FIT; step++)
        fgt_ok(fgi_step_program_launch(program, NULL, 0, NULL, NULL, &err));
    for (size_t k = 0; k < fgi_optimizer_row_count; k++) {
        keep(roots[k], optimizers[k], &out[k]);
        fg_module_destroy(roots[k]);
    }
    fgi_step_program_destroy(program);
    fg_trace_destroy(trace);
}

/* The number of moments with the shape of the weight. */
static int full_moments(const char *name)
{
    static const char *const two[] = {"adam", "adamw", "nadam", "lamb"};
    for (size_t i = 0; i < 4; i++)
        if (strcmp(name, two[i]) == 0)
            return 2;
    return strcmp(name, "sgd") != 0 && strcmp(name, "adafactor") != 0;
}

static void updates_are_the_same_on_any_number_of_devices(void **state)
{
    static fitted one[MOST_RULES], four[MOST_RULES];
    fg_error err = {0};
    fg_client *devices = NULL;
    (void)state;
    assert_true(fgi_optimizer_row_count <= MOST_RULES);
    fgt_ok(fg_client_open(
        &(fg_client_options){.accelerator = "cpu", .cpu_devices = 4, .cache_dir = fgt_cache("")},
        &devices, &err));
    fit_all(client, one);
    fit_all(devices, four);
    for (size_t k = 0; k < fgi_optimizer_row_count; k++) {
        const char *name = fgi_optimizer_rows[k]->name;
        assert_int_equal(one[k].sharded, 0);
        if (four[k].sharded != full_moments(name))
            fail_msg("%s: %d moments are sharded", name, four[k].sharded);
        for (int i = 0; i < ELEMENTS; i++)
            fgt_close(name, (double)four[k].values[i], (double)one[k].values[i], 2e-6, 1e-5);
    }
    fg_client_close(devices);
}

/* ---- a schedule that follows a metric -------------------------------------------------------- */

static fg_status keep_lr(void *self, const fg_progress *at, fg_error *err)
{
    (void)err;
    ((double *)self)[at->epoch] = at->lr;
    return FG_OK;
}

/* Epochs that change nothing that can be seen, so the learning rate is halved after each but the
 * first. */
static void follow(const char *folder, int64_t epochs, bool resumes, double *lr)
{
    static const fg_callback_ops ops = {.log = keep_lr};
    fg_error err = {0};
    toy own = {.optimizer = "adagrad"};
    const fg_task task = {.name = "toy", .self = &own, .ops = &toy_ops};
    const fg_schedule plateau = {.name = "plateau", .text = "{patience: 0, gamma: 0.5}"};
    const fg_trainer_options options = {.lr.schedule = &plateau,
                                        .limits.max_epochs = epochs,
                                        .checkpoints.run_dir = folder,
                                        .checkpoints.resume = resumes ? "last" : NULL,
                                        .output.log_every = 1};
    fg_dataset *data = toy_data(24, 1);
    fg_trainer *trainer = toy_trainer(client, &options);
    fgt_ok(fg_trainer_add_callback(trainer, &ops, lr, &err));
    const fg_fit_data both = {.train = data, .val = data, .batch_size = 24};
    fgt_ok(fg_trainer_fit(trainer, &task, &both, &err));
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
}

static void plateaus_continue_after_a_resume(void **state)
{
    double whole[6] = {0}, parts[6] = {0};
    const char *parent = fgt_temp_folder();
    (void)state;
    follow(fgt_path(parent, "whole"), 6, false, whole);
    follow(fgt_path(parent, "parts"), 3, false, parts);
    follow(fgt_path(parent, "parts"), 6, true, parts);
    for (int epoch = 0; epoch < 6; epoch++) {
        const double factor = epoch < 2 ? 1 : 1.0 / (1 << (epoch - 1));
        fgt_close("lr", whole[epoch], 1e-9 * factor, 0, 1e-12);
        assert_true(parts[epoch] == whole[epoch]);
    }
}

static int open_all(void **state)
{
    (void)state;
    toy_use_memory();
    problem = fgt_record_open("nn/optimizers.safetensors");
    return fgt_record_begin("optim/optimizers.safetensors", &client, &record);
}

static int close_all(void **state)
{
    (void)state;
    fg_ckpt_close(problem);
    return fgt_record_end(client, record);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(plateaus_continue_after_a_resume),
    cmocka_unit_test(rules_follow_their_references),
    cmocka_unit_test(unknown_names_and_options_are_refused),
    cmocka_unit_test(updates_are_the_same_on_any_number_of_devices),
};

int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
