/* test_own_rows.c - the rows of a program in a configuration: options, suggestions, checkpoints,
 * and the errors of a program without these rows. On the CPU plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/recipe.h>
#include <fulgurite/report.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "row_names.h"
#include "show.h"

/* ---- a model --------------------------------------------------------------------------------- */

static int64_t units_built; /* what the last build was given */

typedef struct own_model {
    int64_t units;
    fg_linear *rest, *fc;
} own_model;

static void build(void *self, fg_module *root, const fg_model_shape *shape)
{
    own_model *m = self;
    units_built = m->units;
    m->rest = fg_linear_create(root, "rest", &(fg_linear_options){.in = 1, .out = m->units});
    m->fc = fg_linear_create(
        root, "own",
        &(fg_linear_options){.in = fg_type_count(&shape->input), .out = shape->outputs});
}

static fg_tensor apply(const void *self, fg_tensor x)
{
    return fg_linear_apply(((const own_model *)self)->fc, x);
}

static const fg_option options[] = {
    FG_OPTION(own_model, units, INT, "3", "1..64", "5", "Units of a layer that is not used.")};
static const fg_model_entry own = {.entry = {.name = "own_model",
                                             .help = "one of ours",
                                             .spellings = "ours",
                                             FG_OPTIONS(options, own_model)},
                                   .build = build,
                                   .apply = apply};

/* ---- a data format --------------------------------------------------------------------------- */

static int opened[4]; /* how often, by part */

typedef struct ramp_options {
    int64_t count;
} ramp_options;

/* Numbers and their doubles; five test samples, and no others but those to train on. */
static fg_status load_ramp(const void *own_options, const fg_format_request *request,
                           fg_format_data *out, fg_error *err)
{
    const ramp_options *r = own_options;
    static const fg_field fields[] = {{"x", {FG_F32, 1, {1}}}, {"y", {FG_F32, 0, {0}}}};
    float x[64], y[64];
    const int64_t count = request->part == FG_PART_TEST ? 5 : r->count;
    opened[request->part]++;
    if (count == 13)
        return FG_EUNSUPPORTED;
    if (request->part == FG_PART_VAL)
        return FG_OK;
    for (int64_t i = 0; i < count; i++) {
        x[i] = (float)i / 64;
        y[i] = 2 * x[i];
    }
    return fg_dataset_from_arrays(&(fg_dataset_spec){.count = count,
                                                     .fields = fields,
                                                     .field_count = request->needs_target ? 2 : 1},
                                  (const void *const[]){x, y}, FG_COPY, &out->samples, err);
}

static const fg_option ramp_rows[] = {
    FG_OPTION(ramp_options, count, INT, "40", "1..64", "20", "Number of samples."),
};
static const fg_format_entry ramp = {
    .entry = {.name = "ramp", .help = "a ramp", FG_OPTIONS(ramp_rows, ramp_options)},
    .fitted = "count",
    .load = load_ramp};

/* ---- a callback ------------------------------------------------------------------------------ */

/* Counts batches, and ends the fit after some of them. */
typedef struct counter {
    int64_t most, batches;
} counter;

static int64_t counted;     /* by the last counter */
static int counters, ended; /* how many were created, and how many saw the end of a fit */

static fg_status count_batch(void *self, const fg_progress *at, fg_error *err)
{
    counter *c = self;
    (void)at;
    counted = ++c->batches;
    if (c->batches < c->most)
        return FG_OK;
    (void)snprintf(err->message, sizeof err->message, "counted %d", (int)c->batches);
    return FG_ESTOPPED;
}

static fg_status end_counting(void *self, const fg_progress *at, fg_error *err)
{
    (void)self;
    (void)at;
    (void)err;
    ended++;
    return FG_OK;
}

static size_t save_counter(void *self, void *bytes, size_t size)
{
    if (size >= sizeof(counter))
        memcpy(bytes, self, sizeof(counter));
    return sizeof(counter);
}

static fg_status load_counter(void *self, const void *bytes, size_t size, fg_error *err)
{
    (void)err;
    counter *c = self;
    const int64_t most = c->most;
    assert_int_equal(size, sizeof(counter));
    memcpy(c, bytes, size);
    c->most = most;
    return FG_OK;
}

static fg_status init_counter(void *self, const fg_option_values *values, fg_error *err)
{
    const counter *c = self;
    if (c->most == 13)
        return fg_option_fail(values, "most", FG_EINVAL, err, "13 is unlucky");
    if (c->most == 14)
        return FG_EUNSUPPORTED;
    counters++;
    return FG_OK;
}

static const fg_option counter_options[] = {
    FG_OPTION(counter, most, INT, "1000", "1..1000", "5", "Batches after which the fit ends.")};
static const fg_callback_ops counter_ops = {.name = "counter",
                                            .batch_end = count_batch,
                                            .fit_end = end_counting,
                                            .save = save_counter,
                                            .load = load_counter,
                                            .destroy = fg_free};
static const fg_callback_entry counter_row = {
    .entry = {.name = "counter", .help = "counts batches", FG_OPTIONS(counter_options, counter)},
    .ops = &counter_ops,
    .init = init_counter};

/* ---- running --------------------------------------------------------------------------------- */

static fg_registry *registry;
static long live; /* allocations before it was made */

static const char yaml[] = "task: regression\n"
                           "model:\n"
                           "  name: own_model\n"
                           "  units: 7\n"
                           "data: {format: csv, path: rows.csv, val_fraction: 0.25}\n"
                           "optimizer: {name: sgd, lr: 0.1}\n"
                           "trainer: {accelerator: cpu, max_epochs: 2, batch_size: 8, run_dir: "
                           "run, watchdog_s: 0}\n";

static void write_file(const char *path, const char *text) { fgt_write(path, text, strlen(text)); }

static int go_there(void **state)
{
    char rows[2048] = "a,b,y\n";
    fg_error err = {0};
    (void)state;
    assert_int_equal(chdir(fgt_temp_folder()), 0);
    for (int i = 0; i < 64; i++)
        (void)snprintf(rows + strlen(rows), sizeof rows - strlen(rows), "%d,%d,%d\n", i, i % 7,
                       2 * i + i % 7);
    write_file("rows.csv", rows);
    write_file("own.yaml", yaml);
    (void)fgi_config_table_built_in()
        ->count; /* makes the table of the built-in rows, which stays */
    live = fgi_alloc_live();
    fgt_ok(fg_registry_create(&registry, &err));
    fgt_ok(fg_registry_add(registry, FG_REGISTRY_MODEL, &own.entry, &err));
    fgt_ok(fg_registry_add(registry, FG_REGISTRY_FORMAT, &ramp.entry, &err));
    fgt_ok(fg_registry_add(registry, FG_REGISTRY_CALLBACK, &counter_row.entry, &err));
    return 0;
}

static int leave(void **state)
{
    (void)state;
    fg_registry_destroy(registry);
    return fgi_alloc_live() != live;
}

/* Runs a recipe; the caller closes it. */
static fg_recipe *run_as(const fg_recipe_options *o, fg_recipe_command command)
{
    fg_recipe *recipe = NULL;
    fg_error err = {0};
    fgt_ok(fg_recipe_open(o, &command, &recipe, &err));
    fgt_ok(fg_recipe_run(recipe, &err));
    return recipe;
}

static fg_recipe *run(const fg_recipe_options *o)
{
    return run_as(o, (fg_recipe_command){.kind = FG_RECIPE_FIT});
}

static void refuses_as(const fg_recipe_options *o, fg_recipe_command command, const char *message)
{
    fg_recipe *recipe = NULL;
    fg_error err = {0};
    assert_int_not_equal(fg_recipe_open(o, &command, &recipe, &err), FG_OK);
    assert_null(recipe);
    if (strstr(err.message, message) == NULL)
        fail_msg("'%s' is not in '%s'", message, err.message);
}

static void refuses(const fg_recipe_options *o, const char *message)
{
    refuses_as(o, (fg_recipe_command){.kind = FG_RECIPE_FIT}, message);
}

static void trains_a_custom_model(void **state)
{
    (void)state;
    const char *text = NULL, *const more[] = {"model.name=ours", "model.units=9"};
    fg_error err = {0};
    fg_recipe *recipe = run(&(fg_recipe_options){.config = "own.yaml", .registry = registry});
    assert_int_equal(units_built, 7);
    assert_int_equal(fg_recipe_result_of(recipe)->train.epochs, 2);
    fgt_ok(fg_recipe_text_of(recipe, FG_RECIPE_CONFIG_COMMENTED, &text, &err));
    assert_non_null(strstr(text, "  name: own_model\n"));
    assert_non_null(strstr(text, "  units: 7\n"));
    assert_non_null(strstr(text, "Only with model.name own_model."));
    fg_recipe_close(recipe);
    fgt_ok(fg_recipe_open(
        &(fg_recipe_options){
            .config = "own.yaml", .registry = registry, .overrides = more, .override_count = 2},
        NULL, &recipe, &err));
    fgt_ok(fg_recipe_text_of(recipe, FG_RECIPE_CONFIG, &text, &err));
    assert_non_null(strstr(text, "  name: own_model\n"));
    assert_non_null(strstr(text, "  units: 9\n"));
    fg_recipe_close(recipe);
}

static void mistakes_in_it_are_named(void **state)
{
    (void)state;
    const char *const name[] = {"model.name=own_modl"}, *const key[] = {"model.unit=3"},
                      *const range[] = {"model.units=65"};
    fg_recipe_options o = {.config = "own.yaml", .registry = registry, .override_count = 1};
    o.overrides = name;
    refuses(&o, "did you mean 'own_model'?");
    o.overrides = key;
    refuses(&o, "--model.unit: unknown key: did you mean 'model.units'?");
    o.overrides = range;
    refuses(&o, "--model.units: expected an integer from 1 to 64");
    refuses(&(fg_recipe_options){.config = "own.yaml"}, "own.yaml:3:9: model.name");
}

static void its_checkpoints_need_the_same_rows(void **state)
{
    (void)state;
    fgi_run_origin origin;
    fg_error err = {0};
    const char *const more[] = {"trainer.max_epochs=3", "trainer.resume=last"};
    for (int kind = FG_RECIPE_VALIDATE; kind <= FG_RECIPE_PREDICT; kind++) {
        const fg_recipe_command command = {.kind = (fg_recipe_kind)kind};
        fg_recipe_options o = {.config = "run", .registry = registry};
        units_built = 0;
        fg_recipe *recipe = run_as(&o, command);
        assert_int_equal(units_built, 7);
        assert_int_equal(fg_recipe_result_of(recipe)->predictions_type.dim[0],
                         kind == FG_RECIPE_PREDICT ? 16 : 0);
        fg_recipe_close(recipe);
        o.registry = NULL;
        refuses_as(&o, command, "its configuration cannot be read: config.yaml:");
        refuses_as(&o, command, "model.name: expected one of ");
        refuses_as(&o, command, expected_names(FG_REGISTRY_MODEL, "model.name"));
        refuses_as(&o, command, ", got 'own_model'");
        refuses_as(&o, command, "fg_recipe_options.registry");
    }
    fg_recipe *recipe = run(&(fg_recipe_options){
        .config = "own.yaml", .registry = registry, .overrides = more, .override_count = 2});
    assert_int_equal(fg_recipe_result_of(recipe)->train.epochs, 3);
    fg_recipe_close(recipe);
    fgt_ok(fgi_run_origin_open("run", NULL, NULL, registry, &origin, &err));
    assert_string_equal(fg_option_string(origin.c->values, "model.name"), "own_model");
    fgi_run_origin_close(&origin);
}

static void without_its_rows_a_checkpoint_is_listed(void **state)
{
    (void)state;
    fgi_run_origin origin;
    fgi_buf about = {0};
    fg_error err = {0};
    char *json;
    size_t index;
    fgt_ok(show_open("run", NULL, &origin, &about, &err));
    assert_non_null(strstr(about.data, "checkpoint: run/checkpoints/"));
    assert_non_null(strstr(about.data, "got 'own_model'"));
    assert_non_null(strstr(about.data, "a program with custom rows"));
    assert_null(strstr(about.data, "model: own_model, "));
    assert_non_null(strstr(fg_ckpt_attachment(origin.ckpt, "config.yaml"), "units: 7\n"));
    assert_true(fg_ckpt_find(origin.ckpt, FG_CKPT_MODEL, "own.weight", &index));
    FILE *out = open_memstream(&json, &index);
    show_json(origin.ckpt, out);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(json, "\"own.weight\""));
    assert_non_null(strstr(json, "\"format\": \"fulgurite-data\""));
    free(json);
    fgi_buf_fini(&about);
    fgi_run_origin_close(&origin);
}

static void an_option_cannot_hide_a_key(void **state)
{
    (void)state;
    static const struct {
        const char *name, *message;
    } rows[] = {
        {"weights", "model: option 'weights' of 'hiding' has the name of the key model.weights, "
                    "which every configuration has: expected a different name"},
        {"scale", "data: option 'scale' of 'hiding' has the name of the key data.scale, "},
    };
    for (int i = 0; i < 2; i++) {
        fg_registry *with = NULL;
        fg_error err = {0};
        const fg_option option = {.name = rows[i].name,
                                  .kind = FG_OPTION_INT,
                                  .initial = "1",
                                  .range = "1..8",
                                  .example = "2",
                                  .help = "One of ours."};
        fg_model_entry model = own;
        fg_format_entry format = ramp;
        model.entry = format.entry = (fg_entry){.name = "hiding",
                                                .help = "it hides a key",
                                                .options = &option,
                                                .option_count = 1,
                                                .size = sizeof(own_model)};
        format.fitted = NULL;
        fgt_ok(fg_registry_create(&with, &err));
        fgt_ok(i == 0 ? fg_registry_add(with, FG_REGISTRY_MODEL, &model.entry, &err)
                      : fg_registry_add(with, FG_REGISTRY_FORMAT, &format.entry, &err));
        refuses(&(fg_recipe_options){.config = "own.yaml", .registry = with}, rows[i].message);
        fg_registry_destroy(with);
    }
}

static const char *const ramp_keys[] = {
    "task=regression",        "model.name=linear",    "data.format=ramp",
    "data.count=32",          "optimizer.name=sgd",   "trainer.accelerator=cpu",
    "trainer.max_epochs=1",   "trainer.batch_size=4", "trainer.run_dir=ramp",
    "data.val_fraction=0.25",
};

static void fails(const fg_recipe_options *o, fg_recipe_kind kind, fg_status status,
                  const char *message)
{
    const fg_recipe_command command = {.kind = kind, .fit.overwrite = kind == FG_RECIPE_FIT};
    fg_recipe *recipe = NULL;
    fg_error err = {0};
    fgt_ok(fg_recipe_open(o, &command, &recipe, &err));
    assert_int_equal(fg_recipe_run(recipe, &err), status);
    fg_recipe_close(recipe);
    if (strstr(err.message, message) == NULL)
        fail_msg("'%s' is not in '%s'", message, err.message);
}

static void reads_a_custom_format(void **state)
{
    const char *const other[] = {"data.count=31"}, *const broken[] = {"data.count=13"},
                      *const misspelt[] = {"data.format=rmp"};
    const fg_recipe_options fit = {.registry = registry,
                                   .overrides = ramp_keys,
                                   .override_count = sizeof ramp_keys / sizeof ramp_keys[0]};
    fg_recipe *recipe = run(&fit);
    assert_int_equal(fg_recipe_result_of(recipe)->train.steps, 6); /* 24 samples, 8 held out */
    fg_recipe_close(recipe);
    assert_int_equal(opened[FG_PART_TRAIN], 1);
    assert_int_equal(opened[FG_PART_VAL], 0);
    assert_int_equal(opened[FG_PART_TEST], 1);
    const fg_recipe_command predict = {.kind = FG_RECIPE_PREDICT};
    const fg_recipe_command validate = {.kind = FG_RECIPE_VALIDATE};
    fg_recipe_options o = {.config = "ramp", .registry = registry};
    recipe = run_as(&o, predict);
    assert_int_equal(fg_recipe_result_of(recipe)->predictions_type.dim[0], 5);
    fg_recipe_close(recipe);
    fg_recipe_close(run_as(&o, validate));
    assert_int_equal(opened[FG_PART_TRAIN], 2); /* for the eight */
    o.overrides = other;
    o.override_count = 1;
    fails(&o, FG_RECIPE_VALIDATE, FG_EINVAL,
          "data.count: 32 in the checkpoint, 31 by --data.count");
    o.overrides = broken;
    fails(&o, FG_RECIPE_VALIDATE, FG_EUNSUPPORTED, "data.format ramp: opening the data failed: ");
    o.overrides = misspelt;
    refuses_as(&o, validate, "did you mean 'ramp'?");
    o = (fg_recipe_options){.config = "ramp"};
    refuses_as(&o, predict, "data.format: expected one of ");
    refuses_as(&o, predict, row_names(FG_REGISTRY_FORMAT));
    refuses_as(&o, predict, ", got 'ramp'");
}

static double keep_rate(const void *none, double lr, int64_t step, int64_t total_steps)
{
    (void)none, (void)step, (void)total_steps;
    return lr;
}

static void a_schedule_without_an_end_needs_no_limit(void **state)
{
    static const fg_schedule_entry flat = {
        .entry = {.name = "flat", .help = "the learning rate does not change"},
        .is_endless = true,
        .lr = keep_rate};
    static const char *const endless[] = {"schedule.name=flat", "trainer.max_epochs=-1"},
                             *const cycle[] = {"schedule.name=onecycle", "trainer.max_epochs=-1"};
    fg_recipe_options o = {
        .config = "own.yaml", .registry = registry, .overrides = endless, .override_count = 2};
    fg_error err = {0};
    (void)state;
    fgt_ok(fg_registry_add(registry, FG_REGISTRY_SCHEDULE, &flat.entry, &err));
    fg_recipe *recipe = run_as(&o, (fg_recipe_command){.kind = FG_RECIPE_SCHEDULE});
    fgt_ok(fg_recipe_write_curve(recipe, "rates.csv", &err));
    fgt_ok(fg_recipe_write_curve(recipe, "rates.json", &err));
    assert_int_equal(access("rates.csv", F_OK) + access("rates.json", F_OK), 0);
    fg_recipe_close(recipe);
    o.overrides = cycle;
    fails(&o, FG_RECIPE_SCHEDULE, FG_EINVAL,
          "a schedule requires trainer.max_epochs or trainer.max_steps");
}

static void only_the_training_samples_are_required(void **state)
{
    (void)state;
    fg_recipe_options o = {.registry = registry,
                           .overrides = ramp_keys,
                           .override_count = sizeof ramp_keys / sizeof ramp_keys[0] - 1};
    fg_recipe *recipe = run_as(&o, (fg_recipe_command){.fit.overwrite = true});
    assert_int_equal(fg_recipe_result_of(recipe)->train.steps, 8);
    fg_recipe_close(recipe);
    o = (fg_recipe_options){.config = "ramp", .registry = registry};
    fails(&o, FG_RECIPE_VALIDATE, FG_EINVAL, "no data to evaluate: set data.val_fraction");
    refuses_as(&o, (fg_recipe_command){.kind = FG_RECIPE_VALIDATE, .evaluate.data = "file"},
               "'file': data.format ramp reads no files");
}

/* ---- its callback ---------------------------------------------------------------------------- */

static void write_counted(const char *callbacks)
{
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "task: regression\ndata: {format: csv, path: rows.csv, val_fraction: 0.25}\n"
                   "model: {name: linear}\noptimizer: {name: sgd, lr: 0.1}\n"
                   "trainer:\n  accelerator: cpu\n  max_epochs: 4\n  batch_size: 8\n"
                   "  run_dir: counted\n  callbacks: %s\n",
                   callbacks);
    write_file("counted.yaml", text);
}

/* 0 columns are 80, unlike 79. */
static void assert_widths(fg_recipe *recipe)
{
    const char *text = NULL;
    fg_error err = {0};
    fgt_ok(fg_recipe_draw(recipe, 80, true, &text, &err));
    char *usual = strdup(text);
    fgt_ok(fg_recipe_draw(recipe, 0, true, &text, &err));
    assert_string_equal(text, usual);
    fgt_ok(fg_recipe_draw(recipe, 79, true, &text, &err));
    assert_string_not_equal(text, usual);
    free(usual);
}

/* Six batches an epoch; a stop with a reason is a success, and a resumed run continues to count. */
static void runs_a_custom_callback(void **state)
{
    (void)state;
    fg_recipe_options o = {.config = "counted.yaml", .registry = registry};
    const char *text = NULL;
    fg_error err = {0};
    counters = ended = 0;
    write_counted("[counter: {most: 8}, early_stop: {patience: 50, mode: min}]");
    fg_recipe *recipe = run(&o);
    assert_int_equal(fg_recipe_result_of(recipe)->train.steps, 8);
    assert_string_equal(fg_recipe_result_of(recipe)->train.stop_reason, "counted 8");
    fgt_ok(fg_recipe_text_of(recipe, FG_RECIPE_SUMMARY, &text, &err));
    assert_non_null(strstr(text, "\"stop_reason\": \"counted 8\""));
    assert_non_null(strstr(text, "\"status\": \"done\""));
    fgt_ok(fg_recipe_text_of(recipe, FG_RECIPE_CONFIG, &text, &err));
    assert_non_null(
        strstr(text, "  callbacks: [counter: {most: 8}, early_stop: {patience: 50, mode: min}]\n"));
    assert_null(strstr(text, "\"stop_reason\"")); /* each text replaces the one before */
    assert_widths(recipe);
    fgt_ok(fg_recipe_text_of(recipe, FG_RECIPE_CONFIG_COMMENTED, &text, &err));
    assert_non_null(strstr(text, "counter: {most: 1000} - "));
    fg_recipe_close(recipe);
    assert_int_equal(counters, 1);
    assert_int_equal(ended, 1);
    o.overrides = (const char *const[]){"trainer.resume=last"};
    o.override_count = 1;
    write_counted("[counter: {most: 11}]");
    recipe = run(&o);
    assert_int_equal(counted, 11);
    assert_int_equal(fg_recipe_result_of(recipe)->train.steps, 11);
    fg_recipe_close(recipe);
    /* the run's folder says what ran; an evaluation does not need it */
    char recorded[8192] = "";
    FILE *file = fopen("counted/config.yaml", "rb");
    assert_non_null(file);
    (void)fread(recorded, 1, sizeof recorded - 1, file);
    (void)fclose(file);
    assert_non_null(strstr(recorded, "  callbacks: [counter: {most: 11}]\n"));
    fg_recipe_close(run_as(&(fg_recipe_options){.config = "counted"},
                           (fg_recipe_command){.kind = FG_RECIPE_VALIDATE}));
    assert_int_equal(counters, 2);
}

static const struct {
    const char *callbacks, *message;
} bad_callbacks[] = {
    {"[countr]", "counted.yaml:10:3: trainer.callbacks: unknown callback 'countr': did you "
                 "mean 'counter'?"},
    {"[counter: {mst: 3}]", "counted.yaml:10:3: trainer.callbacks.counter: unknown option 'mst': "
                            "did you mean 'most'?"},
    {"[counter: {most: 0}]", "trainer.callbacks.counter.most: expected an integer from 1 to 1000"},
    {"[\"counter: {most}\"]", "trainer.callbacks.counter: 'most': expected OPTION: VALUE"},
    {"[counter(most=3]", "trainer.callbacks: expected a list of names"},
    {"{counter: 3}", "trainer.callbacks: expected a list of names, each with options: "
                     "NAME: {OPTION: VALUE, ...} (for example [early_stop: {patience: 5}]), got a "
                     "mapping"},
};

static void mistakes_in_callbacks_are_named(void **state)
{
    const char *const given[] = {"trainer.callbacks=countr"};
    fg_recipe_options o = {.config = "counted.yaml", .registry = registry};
    (void)state;
    for (size_t i = 0; i < sizeof bad_callbacks / sizeof bad_callbacks[0]; i++) {
        write_counted(bad_callbacks[i].callbacks);
        refuses(&o, bad_callbacks[i].message);
    }
    write_counted("[counter: {most: 13}]");
    fails(&o, FG_RECIPE_FIT, FG_EINVAL,
          "counted.yaml:10:3: trainer.callbacks.counter.most: 13 is unlucky");
    write_counted("[counter: {most: 14}]");
    fails(&o, FG_RECIPE_FIT, FG_EUNSUPPORTED,
          "trainer.callbacks: creating counter failed: FG_EUNSUPPORTED");
    write_counted("[counter, counter: {most: 3}]");
    fails(&o, FG_RECIPE_FIT, FG_EINVAL, "there already is a callback 'counter'");
    o.overrides = given;
    o.override_count = 1;
    refuses(&o, "--trainer.callbacks: unknown callback 'countr': did you mean 'counter'?");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(trains_a_custom_model),
    cmocka_unit_test(mistakes_in_it_are_named),
    cmocka_unit_test(its_checkpoints_need_the_same_rows),
    cmocka_unit_test(without_its_rows_a_checkpoint_is_listed),
    cmocka_unit_test(an_option_cannot_hide_a_key),
    cmocka_unit_test(reads_a_custom_format),
    cmocka_unit_test(a_schedule_without_an_end_needs_no_limit),
    cmocka_unit_test(only_the_training_samples_are_required),
    cmocka_unit_test(runs_a_custom_callback),
    cmocka_unit_test(mistakes_in_callbacks_are_named),
};

int main(void) { return cmocka_run_group_tests(tests, go_there, leave); }
