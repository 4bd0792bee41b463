/* test_run_notes.c - what a run says and writes: notes, the summary, the report, the end, of
 * recipes and results that are made by hand.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/pack.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "golden.h"
#include "input/json_file.h"
#include "pjrt/plugin.h"
#include "recipe/run/run.h"
#include "recipe/run/run_format.h"
#include "recipe/sweep/sweep.h"
#include "train/step/stage.h"
#include "train/trainer.h"

/* ---- notes about probable mistakes ----------------------------------------------------------- */

enum { MOST_KEYS = 6 };

/* Puts the keys, and sets them; the caller destroys the configuration. */
static fgi_config *config_of(fgi_buf *out, const char *const keys[MOST_KEYS])
{
    fg_error err = {0};
    fgi_config *c = fgi_config_create(NULL, &err);
    assert_non_null(c);
    for (int k = 0; k < MOST_KEYS && keys[k] != NULL; k++) {
        if (fgi_config_override(c, keys[k], &err) != FG_OK)
            fail_msg("%s", err.message);
        fgi_buf_printf(out, "--%s\n", keys[k]);
    }
    return c;
}

static void put_note(void *self, fg_log_level level, const char *text)
{
    fgi_buf_printf(self, "%d %s\n", (int)level, text);
}

static const struct {
    const char *keys[MOST_KEYS];
    bool is_whole; /* decoded by the device */
} changed_images[] = {
    {{"data.format=images", "data.augment=[random_crop: {height: 4, width: 4}]"}, false},
    {{"data.format=images",
      "data.augment=[random_resized_crop: {height: 4, width: 4},random_flip]"},
     false},
    {{"data.format=images", "data.augment=[random_crop: {height: 4, width: 6},random_resized_crop: "
                            "{height: 5, width: 7}]"},
     false},
    {{"data.format=images",
      "data.augment=[center_crop: {height: 5, width: 3},random_crop: {padding: 1}]"},
     false},
    {{"data.format=images", "data.augment=[random_flip]"}, false},
    {{"data.format=images", "data.augment=[random_flip]", "data.flip=0.25"}, false},
    {{"data.format=images", "data.augment=[random_flip]", "data.flip=0"}, false},
    {{"data.format=images", "data.augment=[random_flip]", "data.crop=center"}, false},
    {{"data.format=images", "data.augment=[mixup]"}, false},
    {{"data.format=pack", "data.augment=[random_flip]"}, false},
    {{"data.format=pack", "data.augment=[random_flip]"}, true},
    {{"data.format=pack", "data.augment=[random_flip]"}, true},
    {{"data.format=idx", "data.augment=[random_flip]"}, false},
    {{"data.augment=[random_flip]"}, false},
};

static void put_image_notes(fgi_buf *out)
{
    for (size_t i = 0; i < sizeof changed_images / sizeof changed_images[0]; i++) {
        fg_error err = {0};
        const fg_recipe_options options = {.message = put_note, .message_self = out};
        fg_recipe r = {.options = options, .c = config_of(out, changed_images[i].keys)};
        r.task.input = (fg_type){.dtype = FG_U8, .rank = 3, .dim = {8, 8, 3}};
        r.task.encodings[i % 2].coding =
            changed_images[i].is_whole ? FG_IMAGE_DCT : FG_IMAGE_PIXELS;
        r.task.encoding_count = 2;
        fgt_ok(fgi_run_augment_init(r.c, &r.task, &err));
        fgi_run_augment_note(&r);
        fgi_buf_printf(out, "%d x %d\n", (int)r.task.input.dim[0], (int)r.task.input.dim[1]);
        fgi_config_rows_free(&r.task.augment);
        fgi_config_destroy(r.c);
    }
}

static const struct {
    const char *keys[MOST_KEYS];
    int samples; /* of the validation data; -1: there are none */
    bool is_used;
} validations[] = {
    {{"data.format=npy"}, 6, true},
    {{"data.format=npy"}, -1, false},
    {{"data.format=csv"}, -1, false},
    {{"data.format=idx"}, -1, false},
    {{"data.format=npy"}, 0, false},
    {{"data.format=npy", "trainer.limit_val_batches=0"}, 6, false},
    {{"data.format=npy", "trainer.limit_val_batches=0.01"}, 6, true},
    {{"data.format=npy", "trainer.val_every_epochs=0"}, 6, true},
    {{"data.format=npy", "trainer.val_every_epochs=0", "trainer.val_every_steps=1"}, 6, true},
    {{"data.format=npy", "trainer.monitor=val_acc"}, -1, false},
    {{"data.format=npy", "trainer.monitor=val_acc"}, 6, true},
    {{"data.format=npy", "trainer.monitor=train_acc"}, -1, false},
    {{"data.format=npy", "trainer.val_every_epochs=0", "trainer.monitor=val_acc"}, 6, true},
};

static void put_validation_notes(fgi_buf *out)
{
    static const float x[6] = {0};
    static const fg_field field = {"x", {.dtype = FG_F32}};
    for (size_t i = 0; i < sizeof validations / sizeof validations[0]; i++) {
        fg_error err = {0};
        const fg_recipe_options options = {.message = put_note, .message_self = out};
        fg_recipe r = {.options = options, .c = config_of(out, validations[i].keys)};
        fgi_buf_printf(out, "%d samples%s\n", validations[i].samples,
                       validations[i].is_used ? "" : ", not used");
        if (validations[i].samples >= 0)
            fgt_ok(fg_dataset_from_arrays(&(fg_dataset_spec){.count = validations[i].samples,
                                                             .fields = &field,
                                                             .field_count = 1},
                                          (const void *const[]){x}, FG_BORROW, &r.data.val, &err));
        r.fit_data.val = validations[i].is_used ? r.data.val : NULL;
        fgi_run_note_validation(&r);
        fg_dataset_destroy(r.data.val);
        fgi_config_destroy(r.c);
    }
}

static void put_damage_notes(fgi_buf *out)
{
    static const char *const keys[][MOST_KEYS] = {{"data.format=images"},
                                                  {"data.format=images", "data.check=decode"},
                                                  {"data.format=images", "data.check=all"},
                                                  {"data.format=pack"}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const fg_recipe_options options = {.message = put_note, .message_self = out};
        fg_recipe r = {.options = options, .c = config_of(out, keys[i])};
        for (int count = 1; count <= 2; count++) {
            fgi_run_note_damaged(&r, count, "'cat/1.jpg': is empty");
            fgi_run_note_flawed(&r, count, "'cat/2.jpg': is truncated");
        }
        fgi_config_destroy(r.c);
    }
}

static void put_notes_of_default_data(fgi_buf *out)
{
    static const char *const keys[][MOST_KEYS] = {
        {"data.format=npy"},
        {"data.format=npy", "data.test_x=x.npy"},
        {"data.format=npy", "data.test_x=x.npy", "data.predict=x.npy"},
        {"data.format=csv", "data.path=t.csv"},
        {"data.format=csv", "data.val=t.csv"},
        {"data.format=csv", "data.test=t.csv"},
        {"data.format=csv", "data.predict=t.csv"},
        {"data.format=idx"},
        {NULL}};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        fg_recipe_options options = {.message = put_note, .message_self = out};
        fg_recipe r = {.options = options, .kind = FG_RECIPE_PREDICT, .c = config_of(out, keys[i])};
        fgi_run_note_default_data(&r);
        r.kind = FG_RECIPE_TEST; /* no default */
        fgi_run_note_default_data(&r);
        fgi_config_destroy(r.c);
    }
}

static void mistakes_are_noted(void **state)
{
    fgi_buf out = {0};
    (void)state;
    put_image_notes(&out);
    put_validation_notes(&out);
    put_damage_notes(&out);
    put_notes_of_default_data(&out);
    assert_non_null(out.data);
    fgt_golden("recipe/notes.txt", out.data);
    fgi_buf_fini(&out);
}

#define ELSEWHERE ", not to the configuration's folder: use --"

static const struct {
    const char *config_path, *key, *message, *more; /* NULL: nothing is explained */
} paths[] = {
    {NULL, "data.x=no.npy", "cannot open 'no.npy'", ""},
    {"conf/run.yaml", "data.x=no.npy", "cannot open 'no.npy'", ""},
    {"run.yaml", "data.x=in.npy", "cannot open 'in.npy'", ""},
    {"conf/run.yaml", "data.x=in.npy", "in.npy: cut", ELSEWHERE "data.x=conf/in.npy"},
    {"conf/run.yaml", "data.val_y=in.npy", "in.npy: cut", ELSEWHERE "data.val_y=conf/in.npy"},
    {"conf/run.yaml", "model.weights=in.npy", "in.npy: cut", ELSEWHERE "model.weights=conf/in.npy"},
    {"conf/run.yaml", "data.x=in.npy", "'another.npy' has no rows", NULL},
    {"conf/run.yaml", "data.x=conf/in.npy", "'conf/in.npy' has no rows", NULL},
    {NULL, "data.x=/nowhere/no.npy", "cannot open '/nowhere/no.npy'", NULL},
};

/* Relative paths of files that do not exist, if the error is about them. */
static void relative_paths_are_explained(void **state)
{
    char cwd[200], expected[512];
    (void)state;
    assert_non_null(getcwd(cwd, sizeof cwd));
    assert_int_equal(mkdir("conf", 0777), 0);
    fgt_write("conf/in.npy", "", 0);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        const char *const keys[MOST_KEYS] = {"data.format=npy", paths[i].key};
        const char *key = paths[i].key, *more = paths[i].more;
        fgi_buf unused = {0};
        fg_error err = {0};
        const fg_recipe r = {.c = config_of(&unused, keys), .config_path = paths[i].config_path};
        (void)fgi_fail(&err, FG_EIO, "%s", paths[i].message);
        fgi_run_explain_paths(&r, &err);
        const int size = snprintf(expected, sizeof expected, "%s", paths[i].message);
        if (more != NULL)
            (void)snprintf(expected + size, sizeof expected - (size_t)size,
                           "\n%.*s is relative to the working directory, %s%s",
                           (int)strcspn(key, "="), key, cwd, more);
        assert_string_equal(err.message, expected);
        fgi_config_destroy(r.c);
        fgi_buf_fini(&unused);
    }
}

#define NO_CHECKPOINT(job) "3 SLURM job " job " is not queued again: there is no checkpoint\n"

static const struct {
    const char *job, *array, *task, *key;
    fg_recipe_kind kind;
    int signal, process;
    bool requeues;
    const char *said;
} jobs[] = {
    {"12", NULL, NULL, "=true", FG_RECIPE_FIT, SIGUSR1, 0, true, NO_CHECKPOINT("12")},
    {"12", "10", "2", "=true", FG_RECIPE_FIT, SIGUSR1, 0, true, NO_CHECKPOINT("10_2")},
    {"12", "10", NULL, "=true", FG_RECIPE_FIT, SIGUSR1, 0, true, NO_CHECKPOINT("12")},
    {"12", NULL, NULL, "=true", FG_RECIPE_FIT, SIGTERM, 0, true, ""},
    {"12", NULL, NULL, "=true", FG_RECIPE_FIT, SIGUSR1, 1, true, ""}, /* the first one does it */
    {"12", NULL, NULL, "=true", FG_RECIPE_TEST, SIGUSR1, 0, false, ""},
    {"12", NULL, NULL, "=false", FG_RECIPE_FIT, SIGUSR1, 0, false, ""},
    {"1234567890123456789", NULL, NULL, "=true", FG_RECIPE_FIT, SIGTERM, 0, true, ""},
    {"12345678901234567890", NULL, NULL, "=true", FG_RECIPE_FIT, SIGUSR1, 0, false, ""},
    {"12x", NULL, NULL, "=true", FG_RECIPE_FIT, SIGUSR1, 0, false, ""},
    {"", NULL, NULL, "=true", FG_RECIPE_FIT, SIGUSR1, 0, false, ""},
    {NULL, "10", "2", "=true", FG_RECIPE_FIT, SIGUSR1, 0, false, ""},
};

static void set_variable(const char *name, const char *value)
{
    assert_int_equal(value != NULL ? setenv(name, value, 1) : unsetenv(name), 0);
}

/* Which jobs are queued again, and by which process; without a checkpoint, none is. */
static void jobs_are_queued_again(void **state)
{
    static fg_client client;
    static fg_trainer trainer = {.client = &client};
    (void)state;
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        char key[64];
        fgi_buf said = {0}, unused = {0};
        const fg_recipe_options options = {.message = put_note, .message_self = &said};
        fg_recipe r = {.options = options,
                       .kind = jobs[i].kind,
                       .trainer = &trainer,
                       .outcome.train.stop_signal = jobs[i].signal};
        (void)snprintf(key, sizeof key, "trainer.slurm_requeue%s", jobs[i].key);
        r.c = config_of(&unused, (const char *const[MOST_KEYS]){key});
        client.info.process_index = jobs[i].process;
        set_variable("SLURM_JOB_ID", jobs[i].job);
        set_variable("SLURM_ARRAY_JOB_ID", jobs[i].array);
        set_variable("SLURM_ARRAY_TASK_ID", jobs[i].task);
        assert_int_equal(fgi_run_requeues(&r), jobs[i].requeues);
        fgi_run_requeue(&r);
        assert_string_equal(said.data != NULL ? said.data : "", jobs[i].said);
        fgi_config_destroy(r.c);
        fgi_buf_fini(&said);
        fgi_buf_fini(&unused);
    }
    set_variable("SLURM_ARRAY_JOB_ID", NULL);
    set_variable("SLURM_ARRAY_TASK_ID", NULL);
}

/* ---- what formats say and read --------------------------------------------------------------- */

static const struct {
    fg_log_level level;
    const char *line;
} lines[] = {{FG_LOG_INFO, "one"},    {FG_LOG_INFO, "one"}, {FG_LOG_WARNING, "one"},
             {FG_LOG_WARNING, "two"}, {FG_LOG_INFO, "on"},  {FG_LOG_ERROR, "three"},
             {FG_LOG_WARNING, "two"}, {FG_LOG_INFO, ""},    {FG_LOG_INFO, ""}};

/* Each line once, whatever its part of the data; only a fit gets those that are no warnings. */
static void lines_of_a_format(void **state)
{
    static const char *const csv[MOST_KEYS] = {"data.format=csv"};
    static const char *const expected[] = {"1 one\n2 two\n1 on\n3 three\n1 \n",
                                           "2 one\n2 two\n3 three\n"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        fg_error err = {0};
        fgi_buf said = {0}, unused = {0};
        fgi_run_format format;
        const fg_recipe_options options = {.message = put_note, .message_self = &said};
        fg_recipe r = {.options = options,
                       .kind = i == 0 ? FG_RECIPE_FIT : FG_RECIPE_VALIDATE,
                       .c = config_of(&unused, csv)};
        fgt_ok(fgi_run_format_init(r.c, &r, true, &format, &err));
        for (size_t k = 0; k < sizeof lines / sizeof lines[0]; k++)
            format.request.say(format.request.say_self, lines[k].level, lines[k].line);
        assert_string_equal(said.data, expected[i]);
        fgi_run_format_fini(&format);
        fgi_config_destroy(r.c);
        fgi_buf_fini(&said);
        fgi_buf_fini(&unused);
    }
}

#define NOTE(path, found, trained)                                                                 \
    "1 note: '" path "' is read as data.format " found ", not as " trained                         \
    ", which the model was trained on\n"

static const struct {
    const char *trained, *given, *format, *said; /* format: NULL: refused */
} adopted[] = {
    {"csv", "data.predict=t.csv", "csv", ""},
    {"csv", "data.predict=one.jpg", NULL, ""},
    {"csv", "data.predict=folder", NULL, ""},
    {"csv", "data.predict=p.pack", NULL, ""},
    {"csv", "data.predict=t.txt", "csv", ""},
    {"images", "data.predict=folder", "images", ""},
    {"images", "data.predict=t.csv", "images", ""}, /* a list */
    {"images", "data.predict=p.pack", "pack", NOTE("p.pack", "pack", "images")},
    {"images", "data.val=p.pack", "images", ""}, /* of another part */
    {"pack", "data.predict=p.pack", "pack", ""},
    {"pack", "data.predict=one.jpg", "images", NOTE("one.jpg", "images", "pack")},
    {"pack", "data.predict=folder", "images", NOTE("folder", "images", "pack")},
    {"pack", "data.predict=t.csv", "images", NOTE("t.csv", "images", "pack")},
    {"npy", "data.predict=folder", "npy", ""},
};

static void adopts(size_t i)
{
    char text[64];
    fg_error err = {0};
    fgi_buf said = {0};
    const fg_recipe_options options = {.message = put_note, .message_self = &said};
    fg_recipe r = {
        .options = options, .kind = FG_RECIPE_PREDICT, .c = fgi_config_create(NULL, &err)};
    (void)snprintf(text, sizeof text, "data: {format: %s}\n", adopted[i].trained);
    assert_int_equal(fgi_config_read(r.c, "run.yaml", text, strlen(text), &err), FG_OK);
    assert_int_equal(fgi_config_override(r.c, adopted[i].given, &err), FG_OK);
    if ((fgi_run_adopt_format(&r, &err) == FG_OK) != (adopted[i].format != NULL))
        fail_msg("row %zu: %s", i, err.message);
    if (adopted[i].format != NULL)
        assert_string_equal(fg_option_string(r.c->values, "data.format"), adopted[i].format);
    else
        assert_non_null(strstr(err.message, "' contains images, but the model was trained on "
                                            "tables: expected a .csv file with the columns of "
                                            "its training data"));
    assert_string_equal(said.data != NULL ? said.data : "", adopted[i].said);
    fgi_config_destroy(r.c);
    fgi_buf_fini(&said);
}

static void formats_of_other_data(void **state)
{
    fg_error err = {0};
    fg_pack_writer *writer = NULL;
    (void)state;
    (void)mkdir("folder", 0700);
    fgt_ok(fg_pack_writer_create("p.pack", NULL, &writer, NULL, &err));
    fgt_ok(fg_pack_writer_add(writer, &(fg_pack_entry){.name = "a"}, "x", 1, &err));
    fgt_ok(fg_pack_writer_finish(writer, NULL, &err));
    fg_pack_writer_destroy(writer);
    for (size_t i = 0; i < sizeof adopted / sizeof adopted[0]; i++)
        adopts(i);
}

static const struct {
    const char *data_format; /* NULL: that of the checkpoint */
    int rank;
    int64_t height;
    const char *keys[MOST_KEYS];
    double center_fraction; /* [0.875] */
} geometries[] = {
    {"images", 3, 32, {NULL}, 1},
    {"images", 3, 224, {NULL}, 0.875}, /* the size of the configuration */
    {"images", 3, 224, {"data.size=32"}, 1},
    {"images", 3, 32, {"data.center_fraction=0.5"}, 0.5},
    {"images", 1, 32, {NULL}, 0.875},
    {"pack", 3, 32, {NULL}, 0.875},
    {NULL, 3, 32, {NULL}, 0.875},
};

static void whole_images_stay_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof geometries / sizeof geometries[0]; i++) {
        fg_error err = {0};
        fgi_buf unused = {0};
        fg_recipe r = {.data_format = geometries[i].data_format};
        r.c = config_of(&unused, geometries[i].keys);
        r.schema.input =
            (fg_type){.dtype = FG_U8, .rank = geometries[i].rank, .dim = {geometries[i].height}};
        assert_int_equal(fgi_run_keep_geometry(&r, &err), FG_OK);
        if (fabs(fg_option_float(r.c->values, "data.center_fraction") -
                 geometries[i].center_fraction) > 1e-9)
            fail_msg("row %zu", i);
        fgi_config_destroy(r.c);
        fgi_buf_fini(&unused);
    }
}

/* ---- summaries ------------------------------------------------------------------------------- */

/* Each number occurs once. */
static const fg_result numbers = {
    .epochs = 2,
    .steps = 3,
    .metric_count = 2,
    .metrics = {{.name = "train_loss", .value = 0.5}, {.name = "val_loss", .value = (double)NAN}},
    .time_to_first_step_s = 5,
    .step_median_s = 0.007,
    .step_p95_s = 0.011,
    .samples_per_s = 13,
    .host_overhead_s = 17e-6,
    .plugin_s = 19e-6,
    .compiles = 23,
    .compile_cache_hits = 29,
    .compile_s = 31,
    .host_reads = 37,
    .idle = {.busy_s = 41,
             .idle_s = 43,
             .input_s = 47,
             .upload_s = 53,
             .compile_s = 59,
             .read_s = 61,
             .checkpoint_s = 67,
             .other_s = 71},
    .device_peak_bytes = 73,
    .step_flops = 79,
    .mxu_use = 0.83,
    .checkpoint = "run/checkpoints/step-000000003",
    .nonfinite_steps = 89,
    .lost_updates = 0.97,
    .loss_scale = 101,
    .stop_reason = "early_stop: enough",
    .rollbacks = 103,
    .rollback_lr_factor = 107,
    .input = {.stages = {.read_s = 109,
                         .decode_s = 113,
                         .resize_s = 127,
                         .copy_s = 131,
                         .entropy_s = 137,
                         .open_s = 277,
                         .opens = 281},
              .workers = 139,
              .delivered_samples_per_s = 149,
              .required_samples_per_s = 151,
              .waited = 0.157,
              .bound_by = "decode",
              .queue_mean = 283,
              .queue_empty = 0.293},
};

static const struct {
    fg_recipe_kind kind;
    bool has_result;
    fg_status status;
    int64_t damaged;
    const char *evaluation;
} summaries[] = {
    {FG_RECIPE_FIT, true, FG_OK, 7, /* of a prediction */
     "{\"samples\": 2, \"worst\": [{\"index\": 1, \"image\": \"data:\"}, {\"index\": 0}]}"},
    {FG_RECIPE_FIT, false, FG_ENOTFOUND, 0, NULL},
    {FG_RECIPE_PREDICT, true, FG_OK, 2, NULL},
    {FG_RECIPE_PREDICT, true, FG_ESTOPPED, 0, NULL},
    {FG_RECIPE_PREDICT, false, FG_EINVAL, 0, NULL},
    {FG_RECIPE_FIND_LR, true, FG_OK, 0, NULL},
    {FG_RECIPE_FIND_BATCH, true, FG_OK, 0, NULL},
};

static void put_summary(fgi_buf *out, size_t i)
{
    fgi_buf text = {0};
    fg_recipe r = {.kind = summaries[i].kind,
                   .command = "command",
                   .folder = (char[]){"run"},
                   .outcome = {.train = numbers,
                               .damaged = summaries[i].damaged,
                               .damaged_error = "row 3: broken"},
                   .setup_s = 0.25,
                   .has_result = summaries[i].has_result};
    r.c = fgi_config_create(NULL, NULL);
    if (summaries[i].status != FG_OK)
        (void)fgi_fail(&r.error, summaries[i].status, "a reason");
    if (summaries[i].evaluation != NULL)
        r.evaluation =
            fgi_json_load(summaries[i].evaluation, strlen(summaries[i].evaluation), 0, NULL);
    assert_true(fgi_run_put_summary(&r, &text));
    for (const char *line = text.data; *line != '\0';) {
        const int size = (int)strcspn(line, "\n");
        if (strncmp(line, "  \"peak_rss_bytes\"", 18) != 0) /* of this process */
            fgi_buf_printf(out, "%.*s\n", size, line);
        line += size + (line[size] == '\n');
    }
    json_decref(r.evaluation);
    fgi_config_destroy(r.c);
    fgi_buf_fini(&text);
}

static void summaries_have_every_number(void **state)
{
    fgi_buf out = {0};
    (void)state;
    for (size_t i = 0; i < sizeof summaries / sizeof summaries[0]; i++)
        put_summary(&out, i);
    assert_non_null(out.data);
    fgt_golden("recipe/summaries.txt", out.data);
    fgi_buf_fini(&out);
}

/* Windows of two log lines. */
static const fg_time_window windows[] = {
    {.step = 163, .samples = 167, .time = {.busy_s = 1, .idle_s = 0.5, .input_s = 0.173}},
    {.step = 179,
     .samples = 181,
     .time = {.busy_s = 191,
              .idle_s = 193,
              .input_s = 197,
              .upload_s = 199,
              .compile_s = 211,
              .read_s = 223,
              .checkpoint_s = 227,
              .other_s = 229}},
};
static const fg_fit_settings shared = {.strategy = "ddp",
                                       .batch_shards = 2,
                                       .batch_size = 3,
                                       .global_batch_size = 6,
                                       .accumulate_grad_batches = 5,
                                       .lr_scaling = "sqrt",
                                       .base_batch_size = 7,
                                       .lr_given = 0.25,
                                       .lr_factor = 1.5,
                                       .lr = 0.375};

static const fg_step_times step_times = {.count = 233,
                                         .mean_s = 239,
                                         .p5_s = 241,
                                         .p50_s = 251,
                                         .p90_s = 257,
                                         .p95_s = 263,
                                         .p99_s = 269,
                                         .max_s = 271};

/* The lines up to the history, without those of the moment and of this process. */
static void put_lines(fgi_buf *out, const char *text)
{
    static const char *const varying[] = {"started_at",   "seconds", "pid",           "cpu_s",
                                          "cpu_fraction", "cpus",    "peak_rss_bytes"};
    for (const char *line = text; strncmp(line, " \"history\"", 10) != 0;) {
        const int size = (int)strcspn(line, "\n");
        const char *key = line + strspn(line, " \"");
        bool varies = false;
        for (size_t i = 0; i < sizeof varying / sizeof varying[0]; i++)
            varies = varies || strncmp(key, varying[i], strlen(varying[i])) == 0;
        if (!varies || strncmp(line, "   \"seconds\"", 12) == 0) /* of compilation */
            fgi_buf_printf(out, "%.*s\n", size, line);
        line += size + 1;
    }
}

/* The start is in UTC, and as long ago as the run has taken. */
static void check_start(const char *text, double start_s)
{
    struct tm utc = {0};
    const char *at = strstr(text, "\"started_at\": \"");
    assert_non_null(at);
    const char *end = strptime(at + strlen("\"started_at\": \""), "%Y-%m-%dT%H:%M:%SZ", &utc);
    assert_true(end != NULL && *end == '"');
    fgt_close("start", (double)timegm(&utc), (double)time(NULL) - (fgi_now_s() - start_s), 60, 0);
}

/* A stage that was never prepared. */
static fgi_stage *a_stage(void)
{
    static fgi_stage *stage;
    fg_error err = {0};
    if (stage == NULL)
        fgt_ok(fgi_stage_create(FGI_TRAIN, &stage, &err));
    return stage;
}

static void put_report(fgi_buf *out, const char *const keys[MOST_KEYS], const char *state)
{
    fg_error err = {0};
    fgi_buf text = {0};
    static fg_trainer trainer; /* without a client */
    fg_recipe r = {.kind = FG_RECIPE_FIT,
                   .command = "fit",
                   .trainer = &trainer,
                   .outcome = {.train = numbers},
                   .has_result = true};
    trainer.fit.settings = shared;
    trainer.stage[FGI_TRAIN] = a_stage();
    r.outcome.train.step_times = step_times;
    r.outcome.train.windows = windows;
    r.outcome.train.window_count = sizeof windows / sizeof windows[0];
    r.c = config_of(out, keys);
    fgt_ok(fgi_run_report_text(&r, state, &text, &err));
    put_lines(out, text.data);
    check_start(text.data, r.start_s);
    json_decref(r.report_before);
    fgi_config_destroy(r.c);
    fgi_buf_fini(&text);
}

static void reports_have_every_number(void **state)
{
    static const char *const keys[][MOST_KEYS] = {
        {"data.format=images", "trainer.ckpt_every_steps=307", "trainer.max_steps=311",
         "trainer.log_every=313", "trainer.monitor=val_acc"},
        {"data.format=npy", "trainer.global_batch_size=6", "trainer.ckpt_every_epochs=317",
         "trainer.ckpt_every_steps=0", "trainer.max_epochs=331", "trainer.precision=bf16-mixed"}};
    fgi_buf out = {0};
    (void)state;
    assert_int_equal(setenv("TZ", "JST-9", 1), 0);
    put_report(&out, keys[0], "running");
    put_report(&out, keys[1], "finished");
    assert_int_equal(unsetenv("TZ"), 0);
    assert_non_null(out.data);
    fgt_golden("recipe/reports.txt", out.data);
    fgi_buf_fini(&out);
}

static const struct {
    int shards;
    int64_t batch, global, samples; /* -1: no training data */
    const char *keys[MOST_KEYS];
} batches[] = {
    {1, 8, 0, 8, {NULL}}, {1, 8, 0, 7, {NULL}},  {1, 8, 0, 1, {NULL}},
    {2, 4, 0, 8, {NULL}}, {2, 4, 0, 7, {NULL}},  {2, 3, 0, 9, {NULL}},
    {2, 4, 8, 8, {NULL}}, {2, 4, 9, 8, {NULL}},  {2, 4, 0, 8, {"trainer.lr_scaling=none"}},
    {1, 8, 0, 0, {NULL}}, {1, 8, 0, -1, {NULL}}, {3, 4, 0, 24, {NULL}},
};

static void put_batch_notes(fgi_buf *out, size_t i)
{
    static const float x[16] = {0};
    static const fg_field field = {"x", {.dtype = FG_F32}};
    static fg_trainer trainer;
    static fg_client client;
    fg_error err = {0};
    const fg_recipe_options options = {.message = put_note, .message_self = out};
    fg_recipe r = {
        .options = options,
        .trainer = &trainer,
        .fit_data = {.batch_size = batches[i].batch, .global_batch_size = batches[i].global}};
    fgi_buf_printf(out, "%d shards, batch %d, of all %d, %d samples\n", batches[i].shards,
                   (int)batches[i].batch, (int)batches[i].global, (int)batches[i].samples);
    r.c = config_of(out, batches[i].keys);
    client.info.mesh.batch_shards = batches[i].shards;
    trainer.client = &client;
    if (batches[i].samples >= 0)
        fgt_ok(fg_dataset_from_arrays(
            &(fg_dataset_spec){.count = batches[i].samples, .fields = &field, .field_count = 1},
            (const void *const[]){x}, FG_BORROW, &r.fit_data.train, &err));
    fgi_run_warn_of_devices(&r);
    fgi_run_note_batch(&r);
    fg_dataset_destroy(r.fit_data.train);
    fgi_config_destroy(r.c);
}

static void batches_are_noted(void **state)
{
    fgi_buf out = {0};
    (void)state;
    for (size_t i = 0; i < sizeof batches / sizeof batches[0]; i++)
        put_batch_notes(&out, i);
    assert_non_null(out.data);
    fgt_golden("recipe/batches.txt", out.data);
    fgi_buf_fini(&out);
}

#define LOOK                                                                                       \
    "\nlook for very large values in the validation data, or use a smaller optimizer.lr; to "      \
    "accept this: trainer.on_divergence=ignore"

static const struct {
    int64_t validations, bad;
    const char *checkpoint, *keys[MOST_KEYS], *message; /* NULL: accepted */
} not_finite[] = {
    {0, 0, "", {NULL}, NULL},
    {2, 0, "", {NULL}, NULL},
    {2, 1, "", {NULL}, NULL},
    {1, 1, "", {NULL}, "val_loss was not finite in any validation" LOOK},
    {2,
     2,
     "a/b",
     {NULL},
     "val_loss was not finite in any validation; the last state is saved in a/b" LOOK},
    {2, 2, "", {"trainer.on_divergence=ignore"}, NULL},
    {2,
     2,
     "",
     {"trainer.on_divergence=rollback"},
     "val_loss was not finite in any validation" LOOK},
};

static void val_losses_that_are_not_finite(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof not_finite / sizeof not_finite[0]; i++) {
        static fg_trainer trainer;
        fg_error err = {0};
        fgi_buf unused = {0};
        fgi_run_record record = {.validations = not_finite[i].validations,
                                 .bad = not_finite[i].bad};
        fg_recipe r = {.trainer = &trainer, .record = &record};
        r.c = config_of(&unused, not_finite[i].keys);
        (void)snprintf(trainer.call.result.checkpoint, sizeof trainer.call.result.checkpoint, "%s",
                       not_finite[i].checkpoint);
        assert_int_equal(fgi_run_record_check(&r, &err),
                         not_finite[i].message != NULL ? FG_ENUMERIC : FG_OK);
        assert_string_equal(err.message,
                            not_finite[i].message != NULL ? not_finite[i].message : "");
        fgi_config_destroy(r.c);
        fgi_buf_fini(&unused);
    }
}

static const struct {
    const char *keys[MOST_KEYS], *folder;
    fg_status status;
    bool was_set_up, nothing_to_do;
    const char *runs; /* before */
} ends[] = {
    {{"trainer.monitor=val_loss"},
     "swept",
     FG_OK,
     true,
     false,
     "[{'name': 'a'}, {'name': 'b', 'best': 0.45}]"},
    {{"trainer.monitor=val_acc"},
     "swept",
     FG_OK,
     true,
     false,
     "[{'name': 'a'}, {'name': 'b', 'best': 0.45}]"},
    {{"trainer.monitor=train_loss"},
     "swept",
     FG_OK,
     true,
     false,
     "[{'name': 'a'}, {'name': 'b', 'best': 0.55}]"},
    {{"trainer.monitor=train_loss"},
     "nowhere",
     FG_OK,
     true,
     false,
     "[{'name': 'a'}, {'name': 'b', 'best': null}]"},
    {{"trainer.monitor=other"},
     "swept",
     FG_ESTOPPED,
     true,
     false,
     "[{'name': 'a', 'best': 0.25, 'best_step': 7}, {'name': 'b'}]"},
    {{"trainer.monitor=other"},
     "swept",
     FG_ENUMERIC,
     true,
     false,
     "[{'name': 'a'}, {'name': 'b'}]"},
    {{"trainer.monitor=val_loss"}, /* the first of equal runs */
     "swept",
     FG_OK,
     true,
     false,
     "[{'name': 'a'}, {'name': 'b', 'best': 0.4}]"},
    {{NULL}, "swept", FG_EINVAL, false, false, "[{'name': 'a'}]"},
    {{NULL}, "swept", FG_OK, true, true, "[{'name': 'a', 'seconds': 5, 'steps': 6}]"},
    {{NULL}, "swept", FG_OK, true, true, "[{'name': 'a', 'steps': 6}]"},
};

/* The record of a sweep after a run of it, without the time that it took. */
static void put_end(fgi_buf *out, size_t i)
{
    fg_error err = {0};
    fgi_buf text = {0};
    char runs[256];
    fg_recipe r = {
        .outcome = {.train = numbers, .status = ends[i].status, .was_set_up = ends[i].was_set_up}};
    r.outcome.train.nothing_to_do = ends[i].nothing_to_do;
    r.c = config_of(out, ends[i].keys);
    if (ends[i].status != FG_OK)
        (void)fgi_fail(&r.error, ends[i].status, "a reason");
    (void)snprintf(runs, sizeof runs, "%s", ends[i].runs);
    for (char *at = runs; *at != '\0'; at++)
        *at = *at == '\'' ? '"' : *at;
    json_t *record = json_object();
    assert_int_equal(
        json_object_set_new(record, "runs", fgi_json_load(runs, strlen(runs), 0, NULL)), 0);
    fgt_ok(fgi_sweep_record_end(record, 0, &r, ends[i].folder, &err));
    json_t *run = json_array_get(json_object_get(record, "runs"), 0);
    const double seconds = json_number_value(json_object_get(run, "seconds"));
    assert_true(seconds >= (strstr(ends[i].runs, "'seconds': 5") != NULL ? 5 : 0));
    (void)json_object_del(run, "seconds");
    assert_true(fgi_json_write(record, JSON_INDENT(1) | JSON_REAL_PRECISION(9), &text));
    fgi_buf_printf(out, "%s\n", text.data);
    json_decref(record);
    fgi_config_destroy(r.c);
    fgi_buf_fini(&text);
}

static void records_of_sweeps(void **state)
{
    static const char rows[] =
        "{\"step\": 1, \"epoch\": 0, \"val_loss\": 0.5, \"val_acc\": 0.25, \"train_loss\": 0.3}\n"
        "{\"step\": 2, \"epoch\": 1, \"val_loss\": 0.4, \"val_acc\": 0.5, \"train_loss\": 0.2}\n"
        "{\"step\": 3, \"epoch\": 2, \"val_loss\": 0.4, \"val_acc\": 0.5, \"train_loss\": 0.1}\n";
    fgi_buf out = {0};
    (void)state;
    (void)mkdir("swept", 0700);
    fgt_write("swept/metrics.jsonl", rows, sizeof rows - 1);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        put_end(&out, i);
    assert_non_null(out.data);
    fgt_golden("recipe/sweep_records.txt", out.data);
    fgi_buf_fini(&out);
}

static const struct {
    const char *key, *config_path;
    bool is_resumed;
    const char *folder;
    bool is_claimed;
} swept[] = {
    {NULL, "a/b.yaml", false, "runs/b-sweep-1", true},
    {NULL, "a/b.yaml", true, "runs/b-sweep-1", false},
    {NULL, "a/b.yaml", false, "runs/b-sweep-2", true},
    {NULL, "a/b.yaml", true, "runs/b-sweep-2", false},
    {NULL, NULL, true, "runs/run-sweep-1", true}, /* nothing to resume */
    {"trainer.run_dir=given", NULL, false, "given", false},
};

static void folders_of_sweeps(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof swept / sizeof swept[0]; i++) {
        const char *const keys[MOST_KEYS] = {swept[i].key};
        fg_error err = {0};
        fgi_buf unused = {0};
        char *folder = NULL;
        bool is_claimed;
        fgi_config *c = config_of(&unused, keys);
        fgt_ok(fgi_run_dir_sweep(c, swept[i].config_path, swept[i].is_resumed, &is_claimed, &folder,
                                 &err));
        assert_string_equal(folder, swept[i].folder);
        assert_int_equal(is_claimed, swept[i].is_claimed);
        fgi_free(folder);
        fgi_config_destroy(c);
        fgi_buf_fini(&unused);
    }
}

static int go_there(void **state)
{
    (void)state;
    return chdir(fgt_temp_folder());
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(mistakes_are_noted),          cmocka_unit_test(relative_paths_are_explained),
    cmocka_unit_test(jobs_are_queued_again),       cmocka_unit_test(lines_of_a_format),
    cmocka_unit_test(formats_of_other_data),       cmocka_unit_test(whole_images_stay_whole),
    cmocka_unit_test(summaries_have_every_number), cmocka_unit_test(reports_have_every_number),
    cmocka_unit_test(batches_are_noted),           cmocka_unit_test(val_losses_that_are_not_finite),
    cmocka_unit_test(records_of_sweeps),           cmocka_unit_test(folders_of_sweeps),
};

int main(void) { return cmocka_run_group_tests(tests, go_there, NULL); }
