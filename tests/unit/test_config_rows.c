/* test_config_rows.c - the rows that trainer.callbacks and trainer.loggers list: their order, their
 * options, mistakes, and each allocation failing while they are read, created and added to a
 * Trainer; the options that a Trainer gets from a configuration; and what a run keeps for its plot
 * and its report.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "golden.h"
#include "recipe/config/config.h"
#include "recipe/run/run.h"
#include "recipe/run/run_format.h"
#include "train/watch/call.h"
#include "base/print.h"
#include "option/option.h"
#include "train/trainer.h"
#include "config_text.h"

/* ---- rows of the test ------------------------------------------------------------------------ */

/* "NAME text=TEXT count=COUNT;" of each one that was created; how many of these were destroyed. */
static char created[512];
static int made, destroyed;

typedef struct own {
    const char *text;
    int64_t count;
} own;

static fg_status init(const char *name, const own *self, const fg_option_values *values,
                      fg_error *err)
{
    if (self->count == 13)
        return fg_option_fail(values, "count", FG_EINVAL, err, "13 is unlucky");
    if (self->count == 14)
        return FG_EUNSUPPORTED;
    made++;
    const size_t used = strlen(created);
    (void)snprintf(created + used, sizeof created - used, "%s text=%s count=%d;", name, self->text,
                   (int)self->count);
    return FG_OK;
}

static fg_status init_note(void *self, const fg_option_values *values, fg_error *err)
{
    return init("note", self, values, err);
}

static fg_status init_board(void *self, const fg_option_values *values, fg_error *err)
{
    return init("board", self, values, err);
}

static void destroy(void *self)
{
    const own *row = self;
    destroyed += row->count != 13 && row->count != 14;
    fgi_free(self);
}

static fg_status log_nothing(void *self, const fg_log_line *line, fg_error *err)
{
    (void)self;
    (void)line;
    (void)err;
    return FG_OK;
}

static const fg_option options[] = {
    FG_OPTION(own, text, STRING, "none", NULL, "a", "Text."),
    FG_OPTION(own, count, INT, "3", "1..20", "4", "Number."),
};

#define OPTIONS FG_OPTIONS(options, own)

static const fg_callback_ops note_ops = {.name = "note", .destroy = destroy};
static const fg_logger_ops board_ops = {.name = "board", .log = log_nothing, .destroy = destroy};
static const fg_callback_entry note = {
    .entry = {.name = "note", .help = "a note", OPTIONS}, .ops = &note_ops, .init = init_note};
static const fg_logger_entry board = {
    .entry = {.name = "board", .help = "a board", OPTIONS}, .ops = &board_ops, .init = init_board};

static fg_registry *registry;

static int open_registry(void **state)
{
    fg_error err = {0};
    (void)state;
    fgt_ok(fg_registry_create(&registry, &err));
    fgt_ok(fg_registry_add(registry, FG_REGISTRY_CALLBACK, &note.entry, &err));
    fgt_ok(fg_registry_add(registry, FG_REGISTRY_LOGGER, &board.entry, &err));
    return 0;
}

static int close_registry(void **state)
{
    (void)state;
    fg_registry_destroy(registry);
    return 0;
}

/* ---- adding them to a Trainer ---------------------------------------------------------------- */

/* Reads a configuration and adds what it lists to a Trainer. */
static fg_status add_all(const char *yaml, fg_recipe_kind kind, fg_error *err)
{
    fg_recipe r = {.kind = kind, .c = fgi_config_create(registry, err)};
    fg_status status = r.c != NULL ? FG_OK : FG_ENOMEM;
    created[0] = '\0';
    made = destroyed = 0;
    if (status == FG_OK && fgi_config_read(r.c, "run.yaml", yaml, strlen(yaml), err) != FG_OK)
        status = err->status;
    if (status == FG_OK)
        status = fg_trainer_create(NULL, &r.trainer, err);
    if (status == FG_OK)
        status = fgi_run_callbacks_add(&r, err);
    fg_trainer_destroy(r.trainer);
    fgi_config_destroy(r.c);
    assert_int_equal(destroyed, made);
    return status;
}

static const char yaml[] =
    "trainer:\n"
    "  callbacks: [note: {count: 4, text: \"a, b\"}, early_stop, note: {text: [none]}]\n"
    "  loggers: [csv, board: {text: x}, jsonl, board: {count: 5}]\n";

static void what_is_listed_is_created_in_order(void **state)
{
    fg_error err = {0};
    (void)state;
    fgt_ok(add_all(yaml, FG_RECIPE_FIT, &err));
    assert_string_equal(created, "note text=a, b count=4;note text=[none] count=3;"
                                 "board text=x count=3;board text=none count=5;");
    fgt_ok(add_all(yaml, FG_RECIPE_VALIDATE, &err)); /* only a fit needs them */
    assert_int_equal(made, 0);
    fgt_ok(add_all("trainer: {loggers: [], callbacks: []}\n", FG_RECIPE_FIT, &err));
    assert_int_equal(made, 0);
}

/* Values are quoted where YAML requires it. */
static void options_may_be_a_mapping(void **state)
{
    static const char mapped[] = "trainer:\n"
                                 "  callbacks:\n"
                                 "    - note:\n"
                                 "        count: 4\n"
                                 "        text: a, (b\n"
                                 "    - early_stop: {patience: 9}\n"
                                 "    - note: {text: \"null\", count: null}\n"
                                 "    - note:\n"
                                 "    - note: {}\n"
                                 "    - note: {count: 6}\n"
                                 "  loggers: [jsonl, board: {text: [x, y]}, csv: {}]\n";
    fgi_config *c = fgi_config_create(registry, NULL);
    fgi_config_rows rows = {0};
    fg_error err = {0};
    (void)state;
    fgt_ok(add_all(mapped, FG_RECIPE_FIT, &err));
    assert_string_equal(created, "note text=a, (b count=4;note text=null count=3;"
                                 "note text=none count=3;note text=none count=3;"
                                 "note text=none count=6;board text=[x, y] count=3;");
    assert_int_equal(fgi_config_read(c, "run.yaml", mapped, sizeof mapped - 1, &err), FG_OK);
    fgt_ok(fgi_config_rows_make(c, "trainer.callbacks", &rows, &err));
    assert_int_equal(fg_option_int(rows.at[1].values, "patience"), 9);
    fgi_config_rows_free(&rows);
    char *text = config_printed(c, false);
    assert_non_null(strstr(text, "  callbacks: [note: {count: 4, text: \"a, (b\"}, "
                                 "early_stop: {patience: 9}, "));
    /* what is printed has the same meaning */
    fgt_ok(add_all(text, FG_RECIPE_FIT, &err));
    assert_non_null(strstr(created, "note text=a, (b count=4;note text=null count=3;"));
    fgi_free(text);
    fgi_config_destroy(c);
}

/* In a file, in either style, and as it is printed. */
static void a_map_is_an_option_of_a_row(void **state)
{
    static const char *const files[] = {
        "trainer:\n  callbacks: [gradient_accumulation: {schedule: {0: 1, 4: 2}}]\n",
        "trainer:\n  callbacks:\n  - gradient_accumulation:\n      schedule:\n        0: 1\n"
        "        4: 2\n"};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        fgi_config *c = fgi_config_create(registry, NULL);
        fgi_config_rows rows = {0};
        fg_error err = {0};
        fgt_ok(fgi_config_read(c, "run.yaml", files[i], strlen(files[i]), &err));
        char *text = config_printed(c, false);
        assert_non_null(
            strstr(text, "\n  callbacks: [gradient_accumulation: {schedule: {0: 1, 4: 2}}]\n"));
        fgt_ok(fgi_config_read(c, "run.yaml", text, strlen(text), &err));
        fgt_ok(fgi_config_rows_make(c, "trainer.callbacks", &rows, &err));
        assert_int_equal(rows.count, 1);
        fgi_config_rows_free(&rows);
        fgi_free(text);
        fgi_config_destroy(c);
    }
}

/* Characters that end a value on the command line need no quotes in a mapping; names need one. */
static void plain_text_may_have_brackets(void **state)
{
    static const char nameless[] = "trainer:\n  callbacks: [note: {\"\": a}]\n";
    fg_error why = {0};
    (void)state;
    assert_int_equal(add_all(nameless, FG_RECIPE_FIT, &why), FG_EINVAL);
    assert_string_equal(why.message, "run.yaml:2:23: trainer.callbacks: expected a name, got ''");
    for (const char *at = "(),[]{}=:"; *at != '\0'; at++) {
        fg_error err = {0};
        char text[96], expected[32];
        (void)snprintf(text, sizeof text,
                       "trainer:\n  callbacks:\n    - note:\n        text: a%cb\n", *at);
        (void)snprintf(expected, sizeof expected, "note text=a%cb count=3;", *at);
        fgt_ok(add_all(text, FG_RECIPE_FIT, &err));
        assert_memory_equal(created, expected, strlen(expected));
    }
}

static void values_and_defaults(void **state)
{
    fgi_config *c = fgi_config_create(registry, NULL);
    fgi_config_rows rows = {0};
    fg_error err = {0};
    (void)state;
    fgt_ok(fgi_config_rows_make(c, "trainer.loggers", &rows, &err));
    assert_int_equal(rows.count, 2);
    assert_string_equal(rows.at[0].entry->name, "csv");
    assert_string_equal(rows.at[1].entry->name, "jsonl");
    fgi_config_rows_free(&rows);
    assert_true(
        fgi_config_override(c, "trainer.callbacks=Note: {count: 7}, EarlyStopping: {patience: 9}",
                            &err) == FG_OK);
    fgt_ok(fgi_config_rows_make(c, "trainer.callbacks", &rows, &err));
    assert_int_equal(rows.count, 2);
    assert_ptr_equal(rows.at[0].entry, &note.entry);
    assert_int_equal(fg_option_int(rows.at[0].values, "count"), 7);
    assert_false(fg_option_is_given(rows.at[0].values, "text"));
    assert_string_equal(rows.at[1].entry->name, "early_stop");
    assert_int_equal(fg_option_int(rows.at[1].values, "patience"), 9);
    fgi_config_rows_free(&rows);
    fgi_config_destroy(c);
}

#define MAPPED "NAME: {OPTION: VALUE, ...}"

static const struct {
    const char *list, *message;
} mistakes[] = {
    {"loggers: [csv, bord]",
     "run.yaml:2:3: trainer.loggers: unknown logger 'bord': did you mean 'board'?"},
    {"loggers: [csv, jsonl, csv]", "run.yaml:2:3: trainer.loggers: csv is listed twice"},
    {"loggers: [csv: {wall_time: true}, csv]",
     "run.yaml:2:3: trainer.loggers: csv is listed twice"},
    {"loggers: [CSV, csv]", "run.yaml:2:3: trainer.loggers: csv is listed twice"},
    {"loggers: [csv: {sep: x}]", "run.yaml:2:3: trainer.loggers.csv: unknown option 'sep': "
                                 "expected one of wall_time"},
    {"loggers: [early_stop]", "run.yaml:2:3: trainer.loggers: unknown logger 'early_stop': "
                              "expected one of csv|jsonl|tensorboard|mlflow|board"},
    {"loggers: [board: {txt: a}]", "run.yaml:2:3: trainer.loggers.board: unknown option 'txt': "
                                   "did you mean 'text'?"},
    {"loggers: [board: {count: 0}]",
     "run.yaml:2:3: trainer.loggers.board.count: expected an integer from 1 to 20 (for "
     "example 4), got '0'"},
    {"loggers: [board: {count: 13}]", "run.yaml:2:3: trainer.loggers.board.count: 13 is unlucky"},
    {"loggers: [board: {count: 14}]", "run.yaml:2:3: trainer.loggers: creating board failed: "
                                      "FG_EUNSUPPORTED"},
    {"callbacks: [note(count=3)]",
     "run.yaml:2:3: trainer.callbacks: expected a list of names, each with options: "
     "NAME: {OPTION: VALUE, ...} (for example [early_stop: {patience: 5}]), got "
     "'note(count=3)': write [note: {count: 3}]"},
    {"callbacks: [\"note(text=a, count=3)\"]", /* as earlier versions wrote config.yaml */
     "run.yaml:2:3: trainer.callbacks: expected a list of names, each with options: "
     "NAME: {OPTION: VALUE, ...} (for example [early_stop: {patience: 5}]), got "
     "'note(text=a, count=3)': write [note: {text: a, count: 3}]"},
    {"accumulate_schedule: \"0=1,4=2\"",
     "run.yaml:2:25: trainer.accumulate_schedule: expected a map of integers, {KEY: VALUE, "
     "...} (for example {0: 1, 4: 2}), got '0=1,4=2': write {0: 1, 4: 2}"},
    {"accumulate_schedule: {0: {1: 2}}",
     "run.yaml:2:3: trainer.accumulate_schedule: expected a map of integers, {KEY: VALUE, "
     "...} (for example {0: 1, 4: 2}), got a mapping"},
    {"profile: 10:20", "run.yaml:2:12: trainer.profile: expected a list of 2 integers, 1 or "
                       "greater, or auto (for example [100, 110]), got '10:20': write [10, 20]"},
    {"profile: \"10:20\"", "run.yaml:2:13: trainer.profile: expected a list of 2 integers, 1 or "
                           "greater, or auto (for example [100, 110]), got '10:20': write "
                           "[10, 20]"},
    {"loggers: csv, jsonl",
     "run.yaml:2:12: trainer.loggers: expected a list of names, each with options: NAME: "
     "{OPTION: VALUE, ...} (for example [jsonl]), got 'csv, jsonl': write [csv, jsonl]"},
    {"callbacks: {note: {count: 3}}",
     "run.yaml:2:3: trainer.callbacks: expected a list of names, each with options: "
     "NAME: {OPTION: VALUE, ...} (for example [early_stop: {patience: 5}]), got a mapping"},
    {"callbacks: [note: {cuont: 3}]", "run.yaml:2:3: trainer.callbacks.note: unknown option "
                                      "'cuont': did you mean 'count'?"},
    {"callbacks: [note: {count: \"3\"}]",
     "run.yaml:2:3: trainer.callbacks.note.count: expected an integer from 1 to 20 (for "
     "example 4), got the string '3': remove the quotes"},
    {"callbacks: [nota: {count: 3}]",
     "run.yaml:2:3: trainer.callbacks: unknown callback 'nota': did you mean 'note'?"},
    {"callbacks:\n  - note:\n    count: 3",
     "run.yaml:3:5: trainer.callbacks: expected " MAPPED ", got several names: indent the "
     "options below the name that they belong to"},
    {"callbacks: [note: 3]", "run.yaml:2:15: trainer.callbacks: expected " MAPPED ", got '3'"},
    {"callbacks: [note: [count]]",
     "run.yaml:2:15: trainer.callbacks: expected " MAPPED ", got a list"},
    {"callbacks: [{}]", "run.yaml:2:3: trainer.callbacks: expected " MAPPED ", got {}"},
    {"callbacks: [note: {count: {a: b}}]",
     "run.yaml:2:3: trainer.callbacks.note.count: expected an integer from 1 to 20 (for "
     "example 4), got '{a: b}'"},
    {"callbacks: [note: {text: [a, [b]]}]",
     "run.yaml:2:22: trainer.callbacks: expected a value, got a list"},
    {"callbacks: [note: {text: 'a\"b'}]",
     "run.yaml:2:29: trainer.callbacks: expected a value without double quotes, got 'a\"b'"},
    {"callbacks: [note: {\"text=b, text\": a}]",
     "run.yaml:2:23: trainer.callbacks: expected a name, got 'text=b, text'"},
    {"callbacks: [note(text: {count: 3}]",
     "run.yaml:2:15: trainer.callbacks: expected a name, got 'note(text'"},
    {"callbacks: [note: {count: 13}]", "run.yaml:2:3: trainer.callbacks.note.count: 13 is unlucky"},
};

static void mistakes_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        char text[256];
        fg_error err = {0};
        (void)snprintf(text, sizeof text, "trainer:\n  %s\n", mistakes[i].list);
        assert_int_not_equal(add_all(text, FG_RECIPE_FIT, &err), FG_OK);
        assert_string_equal(err.message, mistakes[i].message);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static fg_status scenario(void *self, fg_error *err)
{
    (void)self;
    return add_all(yaml, FG_RECIPE_FIT, err);
}

static void augmentations_that_change_nothing_are_refused(void **state)
{
    static const struct {
        const char *listed, *message; /* NULL: accepted */
    } rows[] = {
        {"random_affine", "random_affine: has no effect without degrees, translate, scale_min, "
                          "scale_max or shear: expected at least one of them"},
        {"RandomRotation: {fill: 1}", "random_affine: has no effect without degrees, translate,"},
        {"ColorJitter", "color_jitter: has no effect without brightness, contrast, saturation "
                        "or hue: expected at least one of them"},
        {"random_crop: {mode: edge}",
         "random_crop: has no effect without height, width or padding: "
         "expected at least one of them"},
        {"resize: {antialias: false}", "resize: has no effect without height or width: "},
        {"center_crop", "center_crop: has no effect without height or width: "},
        {"normalize", "normalize: has no effect without mean or std: "},
        {"random_flip: {p: 0.5, p: 0.6}", "random_flip: 'p' is given twice: expected one value"},
        {"[random_affine: {degrees: 0}, random_flip, normalize: {std: 2}]", NULL},
    };
    fgi_config *c = fgi_config_create(registry, NULL);
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[160];
        fg_error err = {0};
        (void)snprintf(text, sizeof text, "data.augment=%s", rows[i].listed);
        const bool is_accepted = fgi_config_override(c, text, &err) == FG_OK;
        assert_int_equal(is_accepted, rows[i].message == NULL);
        if (!is_accepted && strstr(err.message, rows[i].message) == NULL)
            fail_msg("%s: %s", rows[i].listed, err.message);
    }
    fgi_config_destroy(c);
}

static void no_failed_allocation_is_lost(void **state)
{
    (void)state;
    fgt_fault_loop(scenario, NULL);
}

/* ---- the options of a Trainer ---------------------------------------------------------------- */

enum { MOST_KEYS = 12 };

static const struct {
    bool has_val;
    const char *keys[MOST_KEYS];
} trainers[] = {
    {true, {NULL}},
    {false,
     {"trainer.max_steps=7", "trainer.limit_train_batches=0.25", "trainer.seed=3",
      "trainer.profile=auto"}},
    {true, {"trainer.max_steps=7", "trainer.max_epochs=2", "trainer.profile=5,6"}},
    {true, {"trainer.max_epochs=-1", "trainer.profile=8,9", "trainer.max_time=90s"}},
    {true, {"trainer.max_epochs=-1", "trainer.max_steps=7"}},
    {true,
     {"trainer.limit_train_batches=1.0", "trainer.limit_val_batches=0.5",
      "trainer.overfit_batches=1.0", "trainer.val_every_epochs=0", "trainer.ckpt_every_epochs=0",
      "trainer.keep_checkpoints=0", "trainer.divergence_factor=0", "trainer.monitor=val_acc",
      "trainer.ckpt_every_steps=11"}},
    {true,
     {"trainer.limit_train_batches=12", "trainer.limit_val_batches=13",
      "trainer.overfit_batches=14", "trainer.val_every_epochs=15", "trainer.val_every_steps=16",
      "trainer.ckpt_every_epochs=17", "trainer.keep_checkpoints=18", "trainer.save_top_k=9",
      "trainer.divergence_factor=20", "trainer.divergence_patience=21",
      "trainer.ckpt_every_time=22s", "trainer.ckpt_name={step}"}},
    {true,
     {"trainer.accelerator=cpu", "trainer.devices=[0,2]", "trainer.strategy=ddp",
      "trainer.lr_scaling=sqrt", "trainer.base_batch_size=23", "trainer.sanity_val_steps=24",
      "trainer.log_every=25", "trainer.accumulate_grad_batches=26", "trainer.monitor=val_acc",
      "trainer.gradient_clip_val=0.5", "trainer.monitor_mode=min", "trainer.watchdog_s=27"}},
    {true,
     {"trainer.val_every_epochs=0", "trainer.rollback_lr_factor=0.125", "trainer.max_rollbacks=28",
      "trainer.on_divergence=rollback", "trainer.precision=bf16-true",
      "trainer.stochastic_rounding=true", "trainer.detect_anomaly=true",
      "trainer.gradient_clip_algorithm=value", "trainer.overfit_batches=0.75"}},
};

static const char *profile_of(const fg_trainer_options *o, char out[64])
{
    const int64_t *p = o->output.profile;
    (void)snprintf(out, 64,
                   p[0] == FG_AUTO ? "auto"
                   : p[0] == 0     ? "none"
                                   : "%d:%d",
                   (int)p[0], (int)p[1]);
    return out;
}

/* With at most one part. */
static const char *schedule_of(const fg_trainer_options *o, char out[64])
{
    const fg_int_map *map = &o->numerics.accumulate_schedule;
    assert_true(map->count < 2);
    (void)snprintf(out, 64, map->count == 0 ? "none" : "%d=%d",
                   map->count > 0 ? (int)map->at->key : 0,
                   map->count > 0 ? (int)map->at->value : 0);
    return out;
}

static const char *or_none(const char *text) { return text != NULL ? text : "none"; }

static const char *amount(fg_amount a, char out[32])
{
    (void)fgi_snprintf(out, 32, a.fraction > 0 ? "%g of all" : "%.0f",
                       a.fraction > 0 ? a.fraction : (double)a.count);
    return out;
}

static void put_limits(fgi_buf *out, const fg_trainer_options *o)
{
    const fg_trainer_limits *l = &o->limits;
    char train[32], val[32], overfit[32], profile[64];
    fgi_buf_printf(out, "epochs %lld, steps %lld, %g s, train %s, val %s, overfit %s\n",
                   (long long)l->max_epochs, (long long)l->max_steps, l->max_time,
                   amount(l->limit_train_batches, train), amount(l->limit_val_batches, val),
                   amount(l->overfit_batches, overfit));
    fgi_buf_printf(
        out, "validation every %d epochs, %d steps, sanity %d; log every %d, profile %s\n",
        (int)o->validation.val_every_epochs, (int)o->validation.val_every_steps,
        (int)o->validation.sanity_val_steps, (int)o->output.log_every, profile_of(o, profile));
    fgi_buf_printf(out, "divergence: %s, factor %g, patience %d, lr %g, most %d; watchdog %g s\n",
                   o->divergence.on_divergence,
                   o->divergence.divergence_factor == FG_ZERO ? -1
                                                              : o->divergence.divergence_factor,
                   (int)o->divergence.divergence_patience, o->divergence.rollback_lr_factor,
                   (int)o->divergence.max_rollbacks, o->hang.watchdog_s);
}

static void put_numerics(fgi_buf *out, const fg_trainer_options *o)
{
    const fg_trainer_checkpoints *c = &o->checkpoints;
    char schedule[64];
    fgi_buf_printf(out, "%s, devices %s, %s; lr_scaling %s, base %d; seed %d\n",
                   o->devices.accelerator, or_none(o->devices.devices), o->devices.strategy,
                   o->lr.lr_scaling, (int)o->lr.base_batch_size, (int)o->seed);
    fgi_buf_printf(out, "%s%s%s, accumulates %d (%s), clips at %g by %s\n", o->numerics.precision,
                   o->numerics.stochastic_rounding ? ", stochastic" : "",
                   o->numerics.detect_anomaly ? ", anomalies" : "",
                   (int)o->numerics.accumulate_grad_batches, schedule_of(o, schedule),
                   o->numerics.gradient_clip_val, o->numerics.gradient_clip_algorithm);
    fgi_buf_printf(
        out, "in %s: every %d%s epochs, %d steps, %g s; keeps %d, top %d, name %s; %s %s; %s%s\n\n",
        c->run_dir, (int)c->ckpt_every_epochs, c->ckpt_every_epochs == FG_AUTO ? " (auto)" : "",
        (int)c->ckpt_every_steps, c->ckpt_every_time, (int)c->keep_checkpoints, (int)c->save_top_k,
        or_none(c->ckpt_name),
        c->monitor_mode == FG_MODE_AUTO  ? "auto"
        : c->monitor_mode == FG_MODE_MAX ? "highest"
                                         : "lowest",
        c->monitor, c->resume, c->overwrite ? ", overwrites" : "");
}

static void a_trainer_gets_every_option(void **state)
{
    fgi_buf out = {0};
    (void)state;
    for (size_t i = 0; i < sizeof trainers / sizeof trainers[0]; i++) {
        fg_error err = {0};
        fg_recipe r = {
            .fit.overwrite = i == 1, .folder = (char[]){"run"}, .c = fgi_config_create(NULL, &err)};
        for (int k = 0; k < MOST_KEYS && trainers[i].keys[k] != NULL; k++) {
            if (fgi_config_override(r.c, trainers[i].keys[k], &err) != FG_OK)
                fail_msg("%s", err.message);
            fgi_buf_printf(&out, "--%s\n", trainers[i].keys[k]);
        }
        r.fit_data.val = trainers[i].has_val ? (void *)&r : NULL; /* is not read */
        fg_trainer_options made_of;
        void *block = NULL;
        fgt_ok(fgi_run_trainer_options(&r, "last", &made_of, &err));
        fgt_ok(fgi_row_of(fg_trainer_options_row(), &made_of, &block, &err));
        const fg_trainer_options resolved = *(const fg_trainer_options *)block;
        put_limits(&out, &resolved);
        put_numerics(&out, &resolved);
        fg_free(block);
        fgi_free(r.trainer_options);
        fgi_config_destroy(r.c);
    }
    assert_non_null(out.data);
    fgt_golden("recipe/trainer_options.txt", out.data);
    fgi_buf_fini(&out);
}

/* ---- what a run keeps for its plot ----------------------------------------------------------- */

static fg_recipe recorded;

static const fg_callback_ops *record_ops(void **self)
{
    return fgi_callbacks_last(recorded.trainer->callbacks, self);
}

/* A metric at a step: of a window, an epoch or a validation. */
static void record_value(int curve, int64_t step, const char *name, double value)
{
    void *self;
    fg_error err = {0};
    fg_metric metrics[] = {{.name = "other", .value = 9}, {.value = value}};
    const fg_progress at = {.step = step, .metrics = metrics, .metric_count = 2};
    const fg_callback_ops *ops = record_ops(&self);
    (void)snprintf(metrics[1].name, sizeof metrics[1].name, "%s", name);
    fgt_ok((curve == FGI_RUN_TRAIN_WINDOWS  ? ops->log
            : curve == FGI_RUN_TRAIN_EPOCHS ? ops->epoch_end
                                            : ops->val_end)(self, &at, &err));
}

static const char *drawn(void)
{
    static fgi_buf out;
    fgi_buf_clear(&out);
    fgi_run_record_draw(&recorded, 60, true, &out);
    return out.size > 0 ? out.data : "";
}

static void hear(void *self, fg_log_level level, const char *text)
{
    fgi_buf_printf(self, "%d %s\n", (int)level, text);
}

/* Points that are not finite have no place, one point is no plot, and a rollback takes back what is
 * after its step. Of windows and epochs, the curve with more points is drawn. */
static void curves_are_recorded(void **state)
{
    fgi_buf heard = {0};
    fg_error err = {0};
    void *self;
    const fg_recipe_options o = {.message = hear, .message_self = &heard};
    (void)state;
    recorded = (fg_recipe){.options = o};
    fgt_ok(fg_trainer_create(NULL, &recorded.trainer, &err));
    fgt_ok(fgi_run_record_add(&recorded, &err));
    const fgi_run_curve *curves = recorded.record->curves;
    record_value(FGI_RUN_TRAIN_EPOCHS, 10, "train_loss", 0.5);
    record_value(FGI_RUN_TRAIN_EPOCHS, 15, "train_loss", (double)NAN);
    record_value(FGI_RUN_TRAIN_EPOCHS, 15, "val_loss", 3);
    assert_int_equal(curves[FGI_RUN_TRAIN_EPOCHS].count, 1);
    assert_string_equal(drawn(), "");
    record_value(FGI_RUN_TRAIN_EPOCHS, 20, "train_loss", 0.25);
    char *epochs = fgi_strdup(drawn());
    assert_string_not_equal(epochs, "");
    record_value(FGI_RUN_TRAIN_WINDOWS, 5, "train_loss", 4);
    record_value(FGI_RUN_TRAIN_WINDOWS, 10, "train_loss", 2);
    assert_string_equal(drawn(), epochs);
    record_value(FGI_RUN_TRAIN_WINDOWS, 20, "train_loss", 1);
    assert_string_not_equal(drawn(), epochs);
    record_value(FGI_RUN_VAL, 10, "val_loss", (double)NAN);
    record_value(FGI_RUN_VAL, 20, "val_loss", (double)INFINITY);
    record_value(FGI_RUN_VAL, 30, "val_loss", 0.5);
    record_value(FGI_RUN_VAL, 40, "val_acc", 0.5);
    assert_string_equal(heard.data,
                        "2 val_loss is nan at step 10: this state cannot be the best\n");
    assert_true(recorded.record->validations == 3 && recorded.record->bad == 2);
    assert_int_equal(curves[FGI_RUN_VAL].count, 1);
    const fg_callback_ops *ops = record_ops(&self);
    fgt_ok(ops->rolled_back(self, &(fg_progress){.step = 10}, &err));
    assert_int_equal(curves[FGI_RUN_TRAIN_WINDOWS].count, 2);
    assert_int_equal(curves[FGI_RUN_TRAIN_EPOCHS].count, 1);
    assert_int_equal(curves[FGI_RUN_VAL].count, 0);
    fgi_free(epochs);
    fgi_buf_fini(&heard);
    fg_trainer_destroy(recorded.trainer);
}

/* ---- formats --------------------------------------------------------------------------------- */

static fg_status load_silently(const void *self, const fg_format_request *request,
                               fg_format_data *out, fg_error *err)
{
    (void)self, (void)request, (void)out, (void)err;
    return FG_EUNSUPPORTED;
}

static fg_status load_with_reason(const void *self, const fg_format_request *request,
                                  fg_format_data *out, fg_error *err)
{
    (void)self, (void)request, (void)out;
    return fgi_fail(err, FG_EINVAL, "the reason");
}

/* A format that fails without a message has one, and not that of an earlier failure. */
static void formats_that_fail_have_a_message(void **state)
{
    const fg_format_entry silent = {.entry.name = "tiles", .load = load_silently},
                          other = {.entry.name = "tiles", .load = load_with_reason};
    const fg_format_entry parts[] = {
        {.files.val = "v"}, {.files.test = "t"}, {.files.predict = "p"}};
    fg_error err = {0};
    fg_format_data data;
    fgi_run_format format = {.entry = &other};
    (void)state;
    assert_int_equal(fgi_run_format_open(&format, FG_PART_TRAIN, &data, &err), FG_EINVAL);
    assert_string_equal(err.message, "the reason");
    format.entry = &silent;
    assert_int_equal(fgi_run_format_open(&format, FG_PART_TRAIN, &data, &err), FG_EUNSUPPORTED);
    assert_string_equal(err.message, "data.format tiles: opening the data failed: FG_EUNSUPPORTED");
    assert_true(fgi_run_format_is_folder(&silent));
    for (int i = 0; i < 3; i++)
        assert_false(fgi_run_format_is_folder(&parts[i]));
}

/* ---- the parts of a run ---------------------------------------------------------------------- */

static const struct {
    bool has_origin, is_start; /* start: only the weights are those of another run */
    size_t before, parts;      /* in the report of the folder, and then */
} histories[] = {{false, false, 2, 1}, {true, true, 2, 1},       {true, false, 2, 3},
                 {true, false, 0, 2},  {true, false, 999, 1000}, {true, false, 1000, 1}};

/* A fit that continues a run follows its parts, of which the last one was killed if it still is
 * "running"; a report without a history is one part. */
static void parts_follow_those_of_the_run(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof histories / sizeof histories[0]; i++) {
        fgi_buf text = {0};
        fg_recipe r = {.folder = (char *)fgt_temp_folder(), .is_start = histories[i].is_start};
        json_t *report = json_pack("{s:s, s:i}", "state", "finished", "steps", 7);
        r.origin.ckpt = histories[i].has_origin ? (void *)&r : NULL; /* is not read */
        fgi_buf_puts(&text, "{\"version\": 1, \"state\": \"running\", \"steps\": 5");
        for (size_t k = 0; k < histories[i].before; k++)
            fgi_buf_printf(&text, "%s{\"state\": \"running\", \"steps\": %zu}",
                           k == 0 ? ", \"history\": [" : ", ", k);
        fgi_buf_puts(&text, histories[i].before > 0 ? "]}" : "}");
        fgt_write(fgt_path(r.folder, "report.json"), text.data, text.size);
        json_t *parts = fgi_run_report_history(&r, report);
        assert_int_equal(json_array_size(parts), histories[i].parts);
        const size_t last = histories[i].parts - 1;
        assert_true(json_equal(json_array_get(parts, last), report));
        if (last > 0)
            assert_string_equal(
                json_string_value(json_object_get(json_array_get(parts, last - 1), "state")),
                "killed");
        json_decref(parts);
        json_decref(report);
        json_decref(r.report_before);
        fgi_buf_fini(&text);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_is_listed_is_created_in_order),
    cmocka_unit_test(options_may_be_a_mapping),
    cmocka_unit_test(a_map_is_an_option_of_a_row),
    cmocka_unit_test(plain_text_may_have_brackets),
    cmocka_unit_test(values_and_defaults),
    cmocka_unit_test(mistakes_are_named),
    cmocka_unit_test(augmentations_that_change_nothing_are_refused),
    cmocka_unit_test(no_failed_allocation_is_lost),
    cmocka_unit_test(a_trainer_gets_every_option),
    cmocka_unit_test(curves_are_recorded),
    cmocka_unit_test(parts_follow_those_of_the_run),
    cmocka_unit_test(formats_that_fail_have_a_message),
};

int main(void) { return cmocka_run_group_tests(tests, open_registry, close_registry); }
