/* test_log_items.c - texts, images and histograms from callbacks, the model's summary and graph,
 * and the callback log_images, as a logger receives them. On the fake plugin.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "option_lists.h"
#include "fgt.h"
#include "row.h"

#include <fulgurite/logger.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/print.h"
#include "toy_place.h"
#include "callback/callback_rows.h"
#include "log/logger.h"

static int open_all(void **state)
{
    (void)state;
    return open_place(10, 5);
}

/* ---- the logger ------------------------------------------------------------------------------ */

/* A line for each item, and "log" for each log line. */
static char seen[8192];

static void see(const char *format, ...) FG_PRINTF(1, 2);

static void see(const char *format, ...)
{
    va_list args;
    const size_t used = strlen(seen);
    va_start(args, format);
    (void)fgi_vsnprintf(seen + used, sizeof seen - used, format, args);
    va_end(args);
}

/* Every node but the loss, which is the last one, is used by a later one. */
static void all_lead_to_the_loss(const fg_log_item *item)
{
    for (size_t i = 0; i < item->node_count; i++) {
        bool is_used = false;
        for (size_t later = i + 1; later < item->node_count; later++)
            for (size_t k = 0; k < item->nodes[later].input_count; k++)
                is_used = is_used || item->nodes[later].inputs[k] == i;
        assert_int_equal(is_used, i + 1 < item->node_count);
    }
}

static void see_graph(const fg_log_item *item)
{
    char type[96];
    all_lead_to_the_loss(item);
    see("graph %s:", item->name);
    for (size_t i = 0; i < item->node_count; i++) {
        const fg_log_node *n = &item->nodes[i];
        if (strcmp(n->op, "parameter") != 0 && strcmp(n->op, "input") != 0 &&
            strcmp(n->op, "dot") != 0)
            continue;
        see(" %.*s %s %s(", (int)strcspn(n->name, "_"), n->name, n->op,
            fg_type_format(&n->type, type, sizeof type));
        for (size_t k = 0; k < n->input_count; k++) {
            assert_true(n->inputs[k] < i);
            see("%s%.*s", k > 0 ? "," : "", (int)strcspn(item->nodes[n->inputs[k]].name, "_"),
                item->nodes[n->inputs[k]].name);
        }
        see(")");
    }
    see("\n");
}

static const char summary[] = "module                           kind                               "
                              "       output              "
                              "       parameters\n"
                              "fc1                              linear       6 -> 8                "
                              "       f32[4,8]            "
                              "               56\n"
                              "fc2                              linear       8 -> 3                "
                              "       f32[4,3]            "
                              "               27\n"
                              "total                                                               "
                              "                           "
                              "               83\n";

static const char *model_text = summary;

static fg_status board_item(void *self, const fg_log_item *item, fg_error *err)
{
    (void)self, (void)err;
    assert_true(item->wall_time > 1e9);
    switch (item->kind) {
    case FG_LOG_TEXT:
        if (strcmp(item->name, "model") == 0)
            assert_string_equal(item->text, model_text);
        see("text %s %d %d\n", item->name, (int)item->step, (int)strlen(item->text) > 0);
        break;
    case FG_LOG_IMAGE:
        see("image %s %dx%dx%d", item->name, (int)item->width, (int)item->height,
            (int)item->channels);
        for (int64_t i = 0; i < item->height * item->width * item->channels; i++)
            see(" %d", item->pixels[i]);
        see("\n");
        break;
    case FG_LOG_HISTOGRAM:
        see("histogram %s %d: %g %g %g\n", item->name, (int)item->step, item->count, item->minimum,
            item->maximum);
        break;
    case FG_LOG_GRAPH: see_graph(item); break;
    }
    return FG_OK;
}

static fg_status board_log(void *self, const fg_log_line *line, fg_error *err)
{
    (void)self, (void)line, (void)err;
    see("log\n");
    return FG_OK;
}

static const fg_logger_ops board = {.name = "board", .log = board_log, .item = board_item},
                           plain = {.name = "plain", .log = board_log};

static fg_trainer *trainer_with(const fg_logger_ops *ops, const char *folder)
{
    fg_error err = {0};
    fg_trainer *trainer = NULL;
    const fg_trainer_options options = {.devices.client = client,
                                        .limits.max_steps = 2,
                                        .validation.sanity_val_steps = 1,
                                        .output.log_every = 1,
                                        .output.loggers = fgt_list(""),
                                        .checkpoints.run_dir = folder};
    seen[0] = '\0';
    fgt_ok(toy_create(&options, &trainer, &err));
    fgt_ok(fg_trainer_add_logger(trainer, ops, NULL, &err));
    return trainer;
}

static int warnings;

static void count_warnings(void *self, fg_log_level level, const char *line)
{
    (void)self, (void)level;
    warnings +=
        strstr(line, "log_images: the training data have no field that can be shown") != NULL;
}

/* ---- callbacks ------------------------------------------------------------------------------- */

static fg_status log_all(void *self, const fg_progress *at, fg_error *err)
{
    static const float values[] = {1, -2, (float)NAN, 3}, nothing[] = {(float)INFINITY};
    static uint8_t pixels[] = {0, 128, 255};
    (void)self;
    FGI_TRY(fg_trainer_log_text(at->trainer, "note", "words", err));
    FGI_TRY(fg_trainer_log_histogram(at->trainer, "values", values, 4, err));
    FGI_TRY(fg_trainer_log_histogram(at->trainer, "nothing", nothing, 1, err));
    return fg_trainer_log_image(
        at->trainer, "row", &(fg_image){.pixels = pixels, .height = 1, .width = 3, .channels = 1},
        err);
}

static const fg_callback_ops logging = {.log = log_all};

static void callbacks_log_items(void **state)
{
    (void)state;
    fg_error err = {0};
    fg_trainer *trainer = trainer_with(&board, fgt_temp_folder());
    const fg_fit_data data = the_data();
    fgt_ok(fg_trainer_add_callback(trainer, &logging, NULL, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    /* the model before the first line; each item at the step of its line */
    assert_string_equal(
        seen,
        "text model 0 1\n"
        "graph model: input input s32[]() x input f32[4,6]() y input s32[4]() fc1/weight parameter "
        "f32[6,8]() fc1/dot dot f32[4,8](batch,fc1/weight) fc1/bias parameter f32[8]() "
        "fc2/weight parameter f32[8,3]() fc2/dot dot f32[4,3](relu,fc2/weight) fc2/bias "
        "parameter f32[3]()\n"
        "log\ntext note 1 1\nhistogram values 1: 3 -2 3\nimage row 3x1x1 0 128 255\n"
        "log\ntext note 2 1\nhistogram values 2: 3 -2 3\nimage row 3x1x1 0 128 255\nlog\n");
    assert_int_equal(fg_trainer_log_text(trainer, "late", "", &err), FG_EINVAL);
    fgt_message_is(err.message, "texts, images and histograms can only be logged during a fit");
    fg_trainer_destroy(trainer);
}

/* ---- modules and scopes of the user ---------------------------------------------------------- */

/* Also a module with a parameter and no kind, and one with nothing. */
static void build_more(void *self, fg_module *root)
{
    const fg_type five = {.dtype = FG_F32, .rank = 1, .dim = {5}};
    toy_ops.build(self, root);
    (void)fg_module_variable(fg_module_child(root, "own"), "scale", &five, NULL);
    (void)fg_module_child(root, "nothing");
}

/* In a scope with whose name those of the layers begin. */
static fg_tensor step_in_scope(void *self, fg_step *step, const fg_batch *batch)
{
    fg_scope_push(fg_step_trace(step), "fc");
    const fg_tensor loss = toy_ops.train_step(self, step, batch);
    fg_scope_pop(fg_step_trace(step));
    return loss;
}

static void modules_and_scopes_of_the_user_are_shown(void **state)
{
    static char text[2048];
    const char *total = strstr(summary, "total");
    (void)state;
    fg_error err = {0};
    fg_task_ops ops = toy_ops;
    ops.build = build_more;
    ops.train_step = step_in_scope;
    const fg_task more = {.name = "toy", .self = &model, .ops = &ops};
    fg_trainer *trainer = trainer_with(&board, fgt_temp_folder());
    const fg_fit_data data = the_data();
    (void)snprintf(text, sizeof text, "%.*s%-98s %13d\n%.*s%d\n", (int)(total - summary), summary,
                   "own", 5, (int)(strlen(total) - 3), total, 83 + 5);
    model_text = text;
    fgt_ok(fg_trainer_fit(trainer, &more, &data, &err));
    model_text = summary;
    assert_non_null(strstr(seen, " fc/fc1/dot dot f32[4,8](batch,fc1/weight) "));
    fg_trainer_destroy(trainer);
}

/* A graph is logged once, whatever is logged after it. */
static void a_graph_is_not_missing_after_other_items(void **state)
{
    (void)state;
    fg_error err = {0};
    fgi_logger *logger = NULL;
    fgt_ok(fgi_logger_init(&(fg_strings[]){fgt_list("")}[0], &logger, &err));
    assert_false(fgi_logger_lacks_graph(logger)); /* nobody takes one */
    fgt_ok(fgi_logger_add(logger, &board, NULL, &err));
    assert_true(fgi_logger_lacks_graph(logger));
    fgi_logger_item(logger, &(fg_log_item){.kind = FG_LOG_TEXT, .name = "t", .text = "."});
    assert_true(fgi_logger_lacks_graph(logger));
    fgi_logger_item(logger, &(fg_log_item){.kind = FG_LOG_GRAPH, .name = "model"});
    assert_false(fgi_logger_lacks_graph(logger));
    fgi_logger_item(logger, &(fg_log_item){.kind = FG_LOG_TEXT, .name = "t", .text = "."});
    assert_false(fgi_logger_lacks_graph(logger));
    fgi_logger_destroy(logger);
}

/* What was logged before the log was open has the step of the run, and is logged once. */
static void early_items_wait_for_the_log(void **state)
{
    fg_error err = {0};
    fgi_logger *logger = NULL;
    (void)state;
    seen[0] = '\0';
    fgt_ok(fgi_logger_init(&(fg_strings[]){fgt_list("")}[0], &logger, &err));
    fgt_ok(fgi_logger_add(logger, &board, NULL, &err));
    fgt_ok(fgi_logger_add(logger, &plain, NULL, &err));
    for (int i = 0; i < 3; i++) { /* two have a place */
        const char *const names[] = {"one", "two", "three"};
        fgi_logger_item(logger, &(fg_log_item){.kind = FG_LOG_TEXT, .name = names[i], .text = "."});
    }
    assert_false(fgi_logger_takes_items(logger));
    fgt_ok(fgi_logger_open(logger, fgt_temp_folder(), 7, -1, &err));
    assert_true(fgi_logger_takes_items(logger));
    assert_string_equal(seen, "text one 7 1\ntext two 7 1\n");
    fgt_ok(fgi_logger_ops.log(logger, &(fg_progress){.step = 8}, &err));
    assert_int_equal(fgi_logger_lines(logger), 1);
    fgt_ok(fgi_logger_open(logger, fgt_temp_folder(), 3, -1, &err));
    assert_int_equal(fgi_logger_lines(logger), 0);
    assert_string_equal(seen, "text one 7 1\ntext two 7 1\nlog\nlog\n");
    fgi_logger_destroy(logger);
}

/* Each logger has a name and takes lines; lists of names have no empty ones. */
static void loggers_that_are_refused(void **state)
{
    static const fg_logger_ops nameless = {.log = board_log}, deaf = {.name = "deaf"};
    fg_error err = {0};
    fgi_logger *logger = NULL;
    (void)state;
    fgt_ok(fgi_logger_init(&(fg_strings[]){fgt_list("")}[0], &logger, &err));
    assert_int_equal(fgi_logger_add(logger, &nameless, NULL, &err), FG_EINVAL);
    fgt_message_is(err.message, "logger '' has no name");
    assert_int_equal(fgi_logger_add(logger, &deaf, NULL, &err), FG_EINVAL);
    fgt_message_is(err.message, "logger 'deaf' has no log function");
    fgi_logger_destroy(logger);
    assert_int_equal(fgi_logger_init(&(fg_strings[]){fgt_list("csv, ,jsonl")}[0], &logger, &err),
                     FG_EINVAL);
    fgt_message_is(err.message, "trainer: options.output.loggers: expected names of "
                                "csv|jsonl|tensorboard|mlflow, got ''");
    assert_null(logger);
}

static fg_status fail_flush(void *self, fg_error *err)
{
    return fgi_fail(err, FG_EIO, "%s", (const char *)self);
}

/* Of several required loggers that fail, the first one's message is that of the error; others are
 * flushed too, and those that are not required cause none. */
static void the_first_failure_is_the_error(void **state)
{
    static char messages[][8] = {"no one", "first", "second"};
    const fg_logger_ops ops[] = {
        {.name = "a", .log = board_log, .flush = fail_flush},
        {.name = "b", .log = board_log, .flush = fail_flush, .is_required = true},
        {.name = "c", .log = board_log, .flush = fail_flush, .is_required = true}};
    fg_error err = {0};
    fgi_logger *logger = NULL;
    (void)state;
    fg_log_set(count_warnings, NULL);
    fgt_ok(fgi_logger_init(&(fg_strings[]){fgt_list("")}[0], &logger, &err));
    for (int i = 0; i < 3; i++)
        fgt_ok(fgi_logger_add(logger, &ops[i], messages[i], &err));
    fgt_ok(fgi_logger_open(logger, fgt_temp_folder(), 0, -1, &err));
    assert_int_equal(fgi_logger_flush(logger, &err), FG_EIO);
    assert_string_equal(err.message, "first");
    fgi_logger_destroy(logger);
    fg_log_set(NULL, NULL);
}

/* Nothing is made for loggers that don't log items, or without a run folder. */
static void loggers_without_items(void **state)
{
    (void)state;
    fg_error err = {0};
    const fg_fit_data data = the_data();
    for (int i = 0; i < 2; i++) {
        fg_trainer *trainer =
            trainer_with(i == 0 ? &plain : &board, i == 0 ? fgt_temp_folder() : NULL);
        fgt_ok(fg_trainer_add_callback(trainer, &logging, NULL, &err));
        fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
        assert_string_equal(seen, i == 0 ? "log\nlog\nlog\n" : "");
        fg_trainer_destroy(trainer);
    }
}

static fg_status log_wrong(void *self, const fg_progress *at, fg_error *err)
{
    const int which = *(const int *)self;
    static uint8_t pixel[3];
    char long_name[300];
    memset(long_name, 'a', sizeof long_name);
    long_name[299] = '\0';
    switch (which) {
    case 0: return fg_trainer_log_text(at->trainer, "", "a", err);
    case 1: return fg_trainer_log_text(at->trainer, long_name, "a", err);
    case 2: return fg_trainer_log_text(at->trainer, "\xff", "a", err);
    case 3: return fg_trainer_log_text(at->trainer, "a", "\xff", err);
    case 4:
        return fg_trainer_log_image(
            at->trainer, "a", &(fg_image){.pixels = pixel, .height = 1, .width = 1, .channels = 2},
            err);
    case 5:
        return fg_trainer_log_image(
            at->trainer, "a", &(fg_image){.pixels = pixel, .height = 0, .width = 1, .channels = 3},
            err);
    default:
        return fg_trainer_log_image(
            at->trainer, "a",
            &(fg_image){.pixels = pixel, .height = 1, .width = 16385, .channels = 1}, err);
    }
}

/* The longest name and the largest sides, in both directions. */
static fg_status log_largest(void *self, const fg_progress *at, fg_error *err)
{
    enum { NAME = 255, SIDE = 16384 };
    static uint8_t pixels[SIDE];
    char name[NAME + 1];
    (void)self;
    memset(name, 'a', NAME);
    name[NAME] = '\0';
    FGI_TRY(fg_trainer_log_text(at->trainer, name, "words", err));
    FGI_TRY(fg_trainer_log_image(
        at->trainer, "wide",
        &(fg_image){.pixels = pixels, .height = 1, .width = SIDE, .channels = 1}, err));
    return fg_trainer_log_image(
        at->trainer, "high",
        &(fg_image){.pixels = pixels, .height = SIDE, .width = 1, .channels = 1}, err);
}

static fg_status count_item(void *self, const fg_log_item *item, fg_error *err)
{
    (void)self, (void)err;
    see("%d %dx%d, ", (int)strlen(item->name), (int)item->width, (int)item->height);
    return FG_OK;
}

static fg_status ignore_line(void *self, const fg_log_line *line, fg_error *err)
{
    (void)self, (void)line, (void)err;
    return FG_OK;
}

static void the_largest_items(void **state)
{
    (void)state;
    static const fg_callback_ops largest = {.epoch_end = log_largest};
    static const fg_logger_ops counting = {
        .name = "counting", .log = ignore_line, .item = count_item};
    fg_error err = {0};
    fg_fit_data data = the_data();
    data.batch_size = 10; /* an epoch is a step */
    fg_trainer *trainer = trainer_with(&counting, fgt_temp_folder());
    fgt_ok(fg_trainer_add_callback(trainer, &largest, NULL, &err));
    fgt_ok(fg_trainer_fit(trainer, &task, &data, &err));
    fg_trainer_destroy(trainer);
    assert_non_null(strstr(seen, "255 0x0, 4 16384x1, 4 1x16384, "));
}

#define SAVED "\nstopped at step 1; saved in ~/checkpoints/step-000000001"
#define IMAGE(has)                                                                                 \
    "the image 'a' has " has ": expected sides from 1 to 16384, and 1 or 3 channels" SAVED

static const char *const mistakes[] = {
    "the name of a logged item: expected 1 to 255 bytes of UTF-8" SAVED,
    "the name of a logged item: expected 1 to 255 bytes of UTF-8" SAVED,
    "the name of a logged item: expected 1 to 255 bytes of UTF-8" SAVED,
    "the text 'a': expected UTF-8" SAVED,
    IMAGE("1 x 1 pixels with 2 channels"),
    IMAGE("1 x 0 pixels with 3 channels"),
    IMAGE("16385 x 1 pixels with 1 channel"),
};

static void mistakes_end_the_fit(void **state)
{
    (void)state;
    static const fg_callback_ops wrong = {.log = log_wrong};
    const fg_fit_data data = the_data();
    for (int i = 0; i < 7; i++) {
        fg_error err = {0};
        fg_trainer *trainer = trainer_with(&board, fgt_temp_folder());
        fgt_ok(fg_trainer_add_callback(trainer, &wrong, &i, &err));
        assert_int_equal(fg_trainer_fit(trainer, &task, &data, &err), FG_EINVAL);
        fgt_message_is(err.message, mistakes[i]);
        fg_trainer_destroy(trainer);
    }
}

/* ---- log_images ------------------------------------------------------------------------------ */

static float first_pixel; /* of the floating-point images, unless it is 0 */

static fg_status read_pixels(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    const bool is_float = *(const bool *)self;
    (void)err;
    *(int32_t *)out_fields[1] = (int32_t)(index % 3);
    for (int i = 0; i < 6; i++)
        if (is_float)
            ((float *)out_fields[0])[i] = (float)(10 * index + i);
        else
            ((uint8_t *)out_fields[0])[i] = (uint8_t)(10 * index + i);
    if (is_float && first_pixel != 0)
        *(float *)out_fields[0] = first_pixel;
    return FG_OK;
}

/* f32[6] or u8[6] cannot be shown; T[1, 2, 3] can. */
static fg_dataset *images(bool *is_float, bool is_image)
{
    const fg_dtype dtype = *is_float ? FG_F32 : FG_U8;
    const fg_field fields[] = {
        {"x", {.dtype = dtype, .rank = is_image ? 3 : 1, .dim = {is_image ? 1 : 6, 2, 3}}},
        {"y", {.dtype = FG_S32}}};
    static const fg_dataset_ops ops = {.read = read_pixels};
    const fg_dataset_spec spec = {
        .count = 16, .fields = fields, .field_count = 2, .class_count = 3}; /* 4 steps an epoch */
    fg_dataset *dataset = NULL;
    fg_error err = {0};
    fgt_ok(fg_dataset_create(&ops, is_float, &spec, &dataset, &err));
    return dataset;
}

static fg_tensor image_step(void *self, fg_step *step, const fg_batch *batch)
{
    const fg_tensor x = fg_cast(fg_batch_field(batch, "x"), FG_F32);
    (void)step;
    return fg_cross_entropy(toy_forward(self, fg_reshape(x, FG_DIMS(4, 6))),
                            fg_batch_field(batch, "y"), NULL);
}

static void fit_images(bool is_float, bool is_image, int count)
{
    fg_error err = {0};
    void *self = NULL;
    char number[16];
    const fg_callback_entry *row = &fgi_log_images_row;
    fg_task_ops ops = toy_ops;
    ops.train_step = ops.val_step = image_step;
    const fg_task own = {.name = "images", .self = &model, .ops = &ops};
    fg_dataset *dataset = images(&is_float, is_image);
    fg_trainer *trainer = trainer_with(&board, fgt_temp_folder());
    (void)snprintf(number, sizeof number, "{count: %d}", count);
    fgt_ok(FGT_ROW_BEGIN(row, number, &self, &err));
    fgt_ok(fg_trainer_add_callback(trainer, row->ops, self, &err));
    warnings = 0;
    fg_log_set(count_warnings, NULL);
    const fg_fit_data data = {.train = dataset, .batch_size = 4, .workers = FG_NONE};
    fgt_ok(fg_trainer_fit(trainer, &own, &data, &err));
    fgt_ok(fg_trainer_fit(trainer, &own, &data, &err)); /* continues: no images of its own */
    fg_log_set(NULL, NULL);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(dataset);
}

static void sees_image(const char *expected)
{
    const char *found = strstr(seen, "image train/samples ");
    assert_non_null(found);
    assert_null(strstr(found + 1, "image train/samples "));
    assert_memory_equal(found, expected, strlen(expected));
}

static fg_status read_wide(void *self, int64_t index, void *const *out_fields, fg_error *err)
{
    (void)self, (void)index, (void)err;
    memset(out_fields[0], 0, 9000);
    *(int32_t *)out_fields[1] = 0;
    return FG_OK;
}

static fg_tensor blind_step(void *self, fg_step *step, const fg_batch *batch)
{
    const fg_tensor x = fg_zeros(fg_step_trace(step), FG_F32, FG_DIMS(4, 6));
    return fg_cross_entropy(toy_forward(self, x), fg_batch_field(batch, "y"), NULL);
}

/* Two columns of images that are 9000 pixels wide, or two rows of images that are as high. */
static void images_that_are_too_large(void **state)
{
    (void)state;
    static const char *const says[] = {"log_images: 3 images of 9000 x 1 pixels are too large for "
                                       "one image: log fewer",
                                       "log_images: 3 images of 1 x 9000 pixels are too large for "
                                       "one image: log fewer"};
    for (int i = 0; i < 2; i++) {
        fg_error err = {0};
        fg_dataset *dataset = NULL;
        fg_task_ops ops = toy_ops;
        ops.train_step = blind_step;
        const fg_task own = {.name = "images", .self = &model, .ops = &ops};
        const fg_field fields[] = {
            {"x", {.dtype = FG_U8, .rank = 3, .dim = {i == 0 ? 1 : 9000, i == 0 ? 9000 : 1, 1}}},
            {"y", {.dtype = FG_S32}}};
        static const fg_dataset_ops wide = {.read = read_wide};
        const fg_dataset_spec spec = {
            .count = 8, .fields = fields, .field_count = 2, .class_count = 3};
        fgt_ok(fg_dataset_create(&wide, NULL, &spec, &dataset, &err));
        fg_trainer *trainer = trainer_with(&board, fgt_temp_folder());
        fgt_ok(fg_trainer_add_named_callback(trainer, "log_images: {count: 3}", &err));
        const fg_fit_data data = {.train = dataset, .batch_size = 4, .workers = FG_NONE};
        assert_int_equal(fg_trainer_fit(trainer, &own, &data, &err), FG_EINVAL);
        fgt_message_is(err.message, says[i]);
        fg_trainer_destroy(trainer);
        fg_dataset_destroy(dataset);
    }
}

static void the_first_images_are_a_grid(void **state)
{
    (void)state;
    fit_images(false, true, 3); /* two columns of 2 pixels, a gap of 2; two rows of 1 pixel */
    sees_image("image train/samples 6x4x3"
               " 0 1 2 3 4 5 255 255 255 255 255 255 10 11 12 13 14 15"
               " 255 255 255 255 255 255 255 255 255 255 255 255 255 255 255 255 255 255"
               " 255 255 255 255 255 255 255 255 255 255 255 255 255 255 255 255 255 255"
               " 20 21 22 23 24 25 255 255 255 255 255 255 255 255 255 255 255 255\n");
    assert_int_equal(warnings, 0);
    fit_images(false, true, 20); /* of 16: four rows of four */
    sees_image("image train/samples 14x10x3 0 1 2 3 4 5 255");
    fit_images(true, true, 1);
    sees_image("image train/samples 2x1x3 0 51 102 153 204 255\n");
    first_pixel = HUGE_VALF; /* does not scale the others */
    fit_images(true, true, 1);
    sees_image("image train/samples 2x1x3 255 0 64 128 191 255\n");
    fit_images(false, false, 4);
    assert_int_equal(warnings, 1);
    assert_null(strstr(seen, "image"));
}

/* ---- histograms ------------------------------------------------------------------------------ */

static void counts_are_those_of_a_search(void **state)
{
    (void)state;
    double values[500];
    fgi_histogram h;
    for (int i = 0; i < 500; i++)
        values[i] = sin(i) * exp(cos(i));
    assert_true(fgi_histogram_make(FG_F64, values, 500, &h));
    double total = 0;
    for (int bin = 0; bin < FGI_LOG_BINS; bin++) {
        int count = 0;
        for (int i = 0; i < 500; i++)
            count += values[i] >= h.edges[bin] &&
                     (values[i] < h.edges[bin + 1] || bin + 1 == FGI_LOG_BINS);
        assert_true(h.counts[bin] == count);
        total += h.counts[bin];
    }
    assert_true(total == 500 && h.count == 500);
    assert_true(h.edges[0] == h.minimum && h.edges[FGI_LOG_BINS] == h.maximum);
}

static void unusual_values(void **state)
{
    (void)state;
    fgi_histogram h;
    const double huge[] = {-1.7e308, 1.7e308, 0}, same[] = {3, 3, 3}, negative[] = {-3, -1};
    const uint16_t f16[] = {0x3c00, 0xbc00, 0x7bff, 0x0001, 0x7e00}; /* 1 -1 65504 2^-24 NaN */
    assert_true(fgi_histogram_make(FG_F64, huge, 3, &h));
    assert_true(h.counts[0] == 1 && h.counts[32] == 1 && h.counts[63] == 1);
    for (int i = 0; i < FGI_LOG_BINS; i++)
        assert_true(h.edges[i] < h.edges[i + 1]);
    assert_true(fgi_histogram_make(FG_F64, same, 3, &h));
    assert_true(h.counts[32] == 3 && h.edges[0] == 2.5 && h.edges[64] == 3.5);
    assert_true(fgi_histogram_make(FG_F16, f16, 5, &h));
    assert_true(h.count == 4 && h.minimum == -1 && h.maximum == 65504);
    assert_true(h.sum == 65504 + ldexp(1, -24));
    /* 65504^2 = 4290774016, and 1 + 1 for 1 and -1; 2^-48 is lost */
    assert_true(h.sum_squares == 4290774018.0);
    assert_true(fgi_histogram_make(FG_F64, negative, 2, &h));
    assert_true(h.minimum == -3 && h.maximum == -1 && h.sum == -4);
    assert_false(fgi_histogram_make(FG_S32, same, 3, &h));
    assert_false(fgi_histogram_make(FG_F32, same, 0, &h));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_graph_is_not_missing_after_other_items),
    cmocka_unit_test(early_items_wait_for_the_log),
    cmocka_unit_test(the_first_failure_is_the_error),
    cmocka_unit_test(loggers_that_are_refused),
    cmocka_unit_test(callbacks_log_items),
    cmocka_unit_test(modules_and_scopes_of_the_user_are_shown),
    cmocka_unit_test(loggers_without_items),
    cmocka_unit_test(mistakes_end_the_fit),
    cmocka_unit_test(the_largest_items),
    cmocka_unit_test(images_that_are_too_large),
    cmocka_unit_test(the_first_images_are_a_grid),
    cmocka_unit_test(counts_are_those_of_a_search),
    cmocka_unit_test(unusual_values),
};

int main(void) { return cmocka_run_group_tests(tests, open_all, close_all) == 0 ? 0 : 1; }
