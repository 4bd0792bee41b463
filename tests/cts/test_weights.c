/* test_weights.c - saving and loading modules and optimizers without a Trainer: completely and bit
 * for bit, partially with a report, and not at all after an error.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>
#include <fulgurite/fulgurite.h>
#include "base/alloc.h"
#include "base/file.h"
#include "optim/optimizer.h"
#include "toy.h"

enum { BATCH = 8, IN = 4 };

static fg_client *client;
static fg_error err;

static int open_client(void **state)
{
    const fg_client_options options = {.accelerator = "cpu",
                                       .cache_dir = fgt_cache(fgt_temp_folder())};
    (void)state;
    return fg_client_open(&options, &client, &err) == FG_OK ? 0 : -1;
}

static int close_client(void **state)
{
    (void)state;
    fg_client_close(client);
    return 0;
}

/* ---- a network with a backbone and a head ---------------------------------------------------- */

typedef struct net {
    fg_module *root;
    fg_linear *fc1, *head;
    fg_batch_norm *norm;
    fg_variable *count; /* FG_STATE: steps that it has seen */
    fg_optimizer *optimizer;
} net;

static net make_net(const char *name, int64_t outputs, uint64_t seed)
{
    const fg_type scalar = {.dtype = FG_S32};
    net n = {0};
    fgt_ok(fg_module_create(name, seed, &n.root, &err));
    fg_module *backbone = fg_module_child(n.root, "backbone");
    n.fc1 = fg_linear_create(backbone, "fc1", &(fg_linear_options){.in = IN, .out = 6});
    n.norm = fg_batch_norm_create(backbone, "norm", &(fg_batch_norm_options){.channels = 6});
    n.count =
        fg_module_variable(n.root, "count", &scalar, &(fg_variable_options){.kind = FG_STATE});
    n.head = fg_linear_create(n.root, "head", &(fg_linear_options){.in = 6, .out = outputs});
    n.optimizer = fg_adam_create(n.root, &(fg_adam_options){.lr = 0.02});
    fgt_ok(fg_module_error(n.root, &err));
    return n;
}

static fg_tensor forward(const net *n, fg_tensor x)
{
    x = fg_relu(fg_batch_norm_apply(n->norm, fg_linear_apply(n->fc1, x)));
    return fg_linear_apply(n->head, x);
}

/* One training step on data derived from the step number; returns the loss. */
static float train_step(const net *n, fg_trace *trace, int step)
{
    float x[BATCH][IN], loss = 0;
    const fg_type type = {.dtype = FG_F32, .rank = 2, .dim = {BATCH, IN}};
    fg_array *array = NULL;
    for (int i = 0; i < BATCH; i++)
        for (int k = 0; k < IN; k++)
            x[i][k] = (float)((i * 5 + k * 3 + step * 7) % 13) / 13;
    fgt_ok(fg_array_create(client, &type, x, &array, &err));
    fg_trace_set_training(trace, true);
    const fg_tensor in = fg_input(trace, array);
    fg_array_release(array);
    fg_assign(n->count,
              fg_add(fg_variable_value(trace, n->count), fg_full(trace, FG_S32, 1, FG_SCALAR)));
    const fg_tensor y = forward(n, in);
    const fg_tensor value = fg_mean(fg_square(fg_add_scalar(y, -1)), 0, NULL);
    fg_optimizer_minimize(n->optimizer, value);
    fgt_ok(fg_run_f32(trace, value, &loss, &err));
    return loss;
}

static void train(const net *n, int first, int count, float *out_losses)
{
    fg_trace *trace = NULL;
    fgt_ok(fg_trace_create(client, &trace, &err));
    for (int i = 0; i < count; i++)
        out_losses[i] = train_step(n, trace, first + i);
    fg_trace_destroy(trace);
}

static void read_variable(const fg_variable *variable, float *out, size_t count)
{
    fgt_ok(fg_variable_read(variable, out, count * sizeof(float), &err));
}

/* Fails unless the variables with that name are the same, or are not. */
static void compare(const net *a, const net *b, const char *name, bool is_same)
{
    float left[64], right[64];
    const fg_variable *x = fg_module_find(a->root, name), *y = fg_module_find(b->root, name);
    assert_non_null(x);
    assert_non_null(y);
    const size_t count = (size_t)fg_type_count(fg_variable_type(x));
    assert_true(count <= 64);
    read_variable(x, left, count);
    read_variable(y, right, count);
    if ((memcmp(left, right, count * sizeof(float)) == 0) != is_same)
        fail_msg("%s is %s", name, is_same ? "different" : "the same");
}

/* ---- complete state -------------------------------------------------------------------------- */

static const fg_schedule cycle = {.row = &fgi_onecycle_row};

static net make_scheduled(uint64_t seed)
{
    net n = make_net(NULL, 3, seed);
    fgt_ok(fg_optimizer_set_schedule(n.optimizer, &cycle, 12, &err));
    return n;
}

/* A loop that saves, ends and continues in another process performs exactly the same steps:
 * weights, moments, statistics, custom state and position in the schedule. */
static void a_loop_goes_on_bit_for_bit(void **state)
{
    float whole[12], parts[12];
    int64_t step = -1;
    int32_t count = 0;
    const char *path = fgt_path(fgt_temp_folder(), "run/step-5");
    net one = make_scheduled(1);
    train(&one, 0, 12, whole);
    net first = make_scheduled(1);
    train(&first, 0, 5, parts);
    static const fg_attachment texts[] = {{.name = "config.yaml", .text = "a: 1\n"},
                                          {.name = "notes.txt", .text = "two"}};
    const fg_training_options options = {.state_json = "{\"epoch\": 2}",
                                         .client = client,
                                         .attachments = texts,
                                         .attachment_count = 2};
    fgt_ok(fg_training_save(path, first.root, first.optimizer, &options, &err));
    fg_module_destroy(first.root);
    net second = make_scheduled(99);
    fgt_ok(fg_training_load(path, second.root, second.optimizer, &step, &err));
    assert_int_equal(step, 5);
    train(&second, 5, 7, parts + 5);
    assert_memory_equal(whole, parts, sizeof whole);
    compare(&one, &second, "backbone.fc1.weight", true);
    compare(&one, &second, "backbone.norm.running_var", true);
    fgt_ok(fg_variable_read(second.count, &count, sizeof count, &err));
    assert_int_equal(count, 12);
    fg_ckpt *ckpt = NULL;
    fgt_ok(fg_ckpt_open(path, NULL, &ckpt, &err));
    assert_string_equal(fg_ckpt_state_json(ckpt), "{\"epoch\": 2}");
    assert_string_equal(fg_ckpt_attachment(ckpt, "config.yaml"), "a: 1\n");
    assert_string_equal(fg_ckpt_attachment(ckpt, "notes.txt"), "two");
    fg_ckpt_close(ckpt);
    fg_module_destroy(one.root);
    fg_module_destroy(second.root);
    (void)state;
}

/* The same with one file for each. */
static void module_and_optimizer_in_files(void **state)
{
    float whole[6], parts[6];
    const char *weights = fgt_path(fgt_temp_folder(), "net.safetensors");
    const char *moments = fgt_path(fgt_temp_folder(), "adam.safetensors");
    net one = make_scheduled(1);
    train(&one, 0, 6, whole);
    net first = make_scheduled(1), second = make_scheduled(7);
    train(&first, 0, 4, parts);
    fgt_ok(fg_module_save(first.root, weights, &err));
    fgt_ok(fg_optimizer_save(first.optimizer, moments, &err));
    fg_load_report report = {0};
    fgt_ok(fg_module_load(second.root, weights, NULL, &report, &err));
    assert_int_equal(report.counts[FG_LOAD_DONE], 9);
    assert_int_equal(report.entry_count, 9);
    fgt_ok(fg_optimizer_load(second.optimizer, moments, &err));
    train(&second, 4, 2, parts + 4);
    assert_memory_equal(whole, parts, sizeof whole);
    fg_load_report_fini(&report);
    assert_int_equal(report.entry_count, 0);
    assert_int_equal(report.counts[FG_LOAD_DONE], 0);
    assert_null(report.entries);
    assert_null(report.text);
    /* each is rejected when loaded as the other, and changes nothing */
    assert_int_equal(fg_optimizer_load(second.optimizer, weights, &err), FG_EFORMAT);
    assert_string_equal(err.message + strlen(weights), ": does not contain the number of steps");
    assert_int_equal(fg_module_load(second.root, moments, NULL, NULL, &err), FG_EFORMAT);
    assert_int_equal(fg_training_load(weights, second.root, NULL, NULL, &err), FG_EINVAL);
    compare(&one, &second, "head.weight", true);
    fg_module_destroy(one.root);
    fg_module_destroy(first.root);
    fg_module_destroy(second.root);
    (void)state;
}

/* Before the first step, there are only initial values, and the schedule starts at 0. */
static void saved_before_the_first_step(void **state)
{
    float a[3], b[3];
    int64_t step = -1;
    const char *path = fgt_path(fgt_temp_folder(), "start");
    net first = make_scheduled(1), second = make_scheduled(2);
    fgt_ok(fg_training_save(path, first.root, first.optimizer, NULL, &err));
    fgt_ok(fg_training_load(path, second.root, second.optimizer, &step, &err));
    assert_int_equal(step, 0);
    train(&first, 0, 3, a);
    train(&second, 0, 3, b);
    assert_memory_equal(a, b, sizeof a);
    /* a step that was begun and not made is not one that was completed */
    fg_optimizer_begin_step(first.optimizer, 7);
    fgt_ok(fg_training_save(path, first.root, first.optimizer, NULL, &err));
    fgt_ok(fg_training_load(path, second.root, second.optimizer, &step, &err));
    assert_int_equal(step, 7);
    fg_module_destroy(first.root);
    fg_module_destroy(second.root);
    (void)state;
}

/* Frozen before the optimizer was created: without moments. */
static net make_frozen(uint64_t seed)
{
    net n = make_net(NULL, 3, seed);
    fgt_ok(fg_module_freeze(n.root, "backbone.fc1.*", NULL, &err));
    n.optimizer = fg_adam_create(n.root, &(fg_adam_options){.lr = 0.02});
    fgt_ok(fg_optimizer_set_schedule(n.optimizer, &cycle, 12, &err));
    return n;
}

/* Frozen parameters have no moments; they are saved and loaded without them, and may be unfrozen
 * then. */
static void frozen_parameters(void **state)
{
    float whole[4], parts[4];
    const char *path = fgt_path(fgt_temp_folder(), "frozen"),
               *file = fgt_path(fgt_temp_folder(), "frozen.safetensors");
    net one = make_frozen(1), two = make_frozen(2), thawed = make_scheduled(3);
    train(&one, 0, 2, whole);
    fgt_ok(fg_training_save(path, one.root, one.optimizer, NULL, &err));
    fgt_ok(fg_optimizer_save(one.optimizer, file, &err));
    train(&one, 2, 2, whole + 2);
    fgt_ok(fg_training_load(path, two.root, two.optimizer, NULL, &err));
    train(&two, 2, 2, parts + 2);
    assert_memory_equal(whole + 2, parts + 2, 2 * sizeof whole[0]);
    fgt_ok(fg_module_load(thawed.root, path, NULL, NULL, &err));
    fgt_ok(fg_optimizer_load(thawed.optimizer, file, &err));
    compare(&thawed, &two, "backbone.fc1.weight", true);
    train(&thawed, 2, 1, parts);
    compare(&thawed, &two, "backbone.fc1.weight", false);
    assert_true(parts[0] == parts[2]); /* the loss before the first update */
    fg_module_destroy(one.root);
    fg_module_destroy(two.root);
    fg_module_destroy(thawed.root);
    (void)state;
}

static char said[1024]; /* the last warning */

static void keep_warning(void *self, fg_log_level level, const char *line)
{
    (void)self;
    if (level == FG_LOG_WARNING)
        (void)snprintf(said, sizeof said, "%s", line);
}

/* The first four of the parameters that are frozen now are named. */
static void four_names_are_listed(void **state)
{
    static const struct {
        const char *pattern, *says;
    } rows[] = {{"backbone.n*", "'backbone.norm.weight', 'backbone.norm.bias'"},
                {"backbone.*", "'backbone.fc1.weight', 'backbone.fc1.bias', "
                               "'backbone.norm.weight', 'backbone.norm.bias'"},
                {"*", "'backbone.fc1.weight', 'backbone.fc1.bias', 'backbone.norm.weight', "
                      "'backbone.norm.bias', ..."}};
    const char *path = fgt_path(fgt_temp_folder(), "trained");
    net old = make_net(NULL, 3, 1);
    (void)state;
    fgt_ok(fg_training_save(path, old.root, old.optimizer, NULL, &err));
    fg_log_set(keep_warning, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char says[512];
        net n = make_net(NULL, 3, 2);
        fgt_ok(fg_module_freeze(n.root, rows[i].pattern, NULL, &err));
        fgt_ok(fg_training_load(path, n.root, n.optimizer, NULL, &err));
        (void)snprintf(says, sizeof says, "%s: parameters that were trained are frozen now: %s",
                       path, rows[i].says);
        assert_string_equal(said, says);
        fg_module_destroy(n.root);
    }
    fg_log_set(NULL, NULL);
    fg_module_destroy(old.root);
}

/* From the metadata, or else the state; -1: not recorded. */
static void the_number_of_steps_is_found(void **state)
{
    static const struct {
        const char *json, *metadata;
        int64_t steps;
    } rows[] = {{"{\"step\": 7, \"epoch\": 2}", NULL, 7},
                {"{\"epoch\": 2}", NULL, -1},
                {"{\"step\": 7.5}", NULL, -1},
                {"{\"step\": 7}", "8", 8},
                {"{\"step\": 7}", "8x", -1},
                {"{\"step\": 7}", "0", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t steps = 99;
        fg_module *root = NULL;
        const char *const metadata[] = {"fulgurite.step", rows[i].metadata, NULL};
        const char *path = fgt_path(fgt_temp_folder(), "steps");
        const fg_ckpt_content content = {.state_json = rows[i].json,
                                         .metadata = rows[i].metadata != NULL ? metadata : NULL};
        fgt_ok(fg_ckpt_save(path, &content, &err));
        fgt_ok(fg_module_create(NULL, 1, &root, &err));
        fgt_ok(fg_training_load(path, root, NULL, &steps, &err));
        assert_int_equal(steps, rows[i].steps);
        fg_module_destroy(root);
    }
}

/* ---- partial loading ------------------------------------------------------------------------- */

static const char *saved_net(net *out)
{
    float losses[2];
    const char *path = fgt_path(fgt_temp_folder(), "saved.safetensors");
    *out = make_net(NULL, 3, 1);
    train(out, 0, 2, losses);
    fgt_ok(fg_module_save(out->root, path, &err));
    return path;
}

static const fg_load_entry *entry_of(const fg_load_report *report, const char *name)
{
    for (size_t i = 0; i < report->entry_count; i++)
        if (strcmp(report->entries[i].name, name) == 0)
            return &report->entries[i];
    fail_msg("no entry %s", name);
    return NULL;
}

static void another_head(void **state)
{
    static const char *const skip[] = {"head.weight", "*.bias*", "head.bias"};
    char text[512];
    fg_load_report report = {0};
    net old;
    const char *path = saved_net(&old);
    net n = make_net(NULL, 5, 2), fresh = make_net(NULL, 5, 2);
    /* rejected by default; the report lists all differences, and nothing is changed */
    assert_int_equal(fg_module_load(n.root, path, NULL, &report, &err), FG_ESHAPE);
    assert_non_null(strstr(err.message, "'head.weight' is f32[3,6], but f32[5,6] in the model"));
    assert_int_equal(report.counts[FG_LOAD_MISMATCHED], 2);
    (void)snprintf(text, sizeof text, "%s: 7 of 9 variables match, none was loaded\n", path);
    assert_int_equal(strncmp(report.text, text, strlen(text)), 0);
    assert_int_equal(entry_of(&report, "head.bias")->found.dim[0], 3);
    assert_int_equal(entry_of(&report, "head.bias")->expected.dim[0], 5);
    compare(&n, &fresh, "backbone.fc1.weight", true);
    fg_load_report_fini(&report);
    /* skipped by name */
    fgt_ok(fg_module_load(n.root, path, &(fg_load_options){.skip = skip, .skip_count = 3}, &report,
                          &err));
    (void)snprintf(text, sizeof text,
                   "%s: 5 of 9 variables loaded\n  skipped: backbone.fc1.bias, "
                   "backbone.norm.bias, head.weight, head.bias",
                   path);
    assert_string_equal(report.text, text);
    assert_int_equal(entry_of(&report, "head.weight")->outcome, FG_LOAD_SKIPPED);
    compare(&n, &old, "backbone.fc1.weight", true);
    compare(&n, &fresh, "head.weight", true);
    fg_load_report_fini(&report);
    /* or because of its shape */
    fgt_ok(fg_module_load(fresh.root, path, &(fg_load_options){.allow_mismatch = true}, &report,
                          &err));
    (void)snprintf(text, sizeof text,
                   "%s: 7 of 9 variables loaded\n  with a different shape in the file: head.weight "
                   "(f32[3,6], not f32[5,6]), head.bias (f32[3], not f32[5])",
                   path);
    assert_string_equal(report.text, text);
    compare(&fresh, &old, "backbone.norm.running_mean", true);
    fg_load_report_fini(&report);
    fg_module_destroy(old.root);
    fg_module_destroy(n.root);
    fg_module_destroy(fresh.root);
    (void)state;
}

/* The row of the model says which variables are the head, and how others name the rest. */
static void a_new_head_and_published_names(void **state)
{
    static const fg_name_rule names[] = {{"backbone.fc#.*", "body.layers.#.*"}, {NULL, NULL}};
    static const fg_published forms[] = {{.architecture = "body"},
                                         {.architecture = "net", .prefix = "body.", .names = names},
                                         {.architecture = NULL}};
    static const fg_model_entry row = {.published = forms, .head = "head.*"};
    const fg_load_options options = {.new_head = true, .model = &row};
    char text[512];
    const float w[24] = {1, 2, 3}, b[6] = {4}, h[5] = {5}, h2[30] = {6};
    const fg_ckpt_tensor tensors[] = {
        {"layers.1.weight", {FG_F32, 2, {6, 4}}, w}, /* without the form's prefix */
        {"body.layers.1.bias", {FG_F32, 1, {6}}, b},
        {"backbone.norm.weight", {FG_F32, 1, {6}}, b},
        {"body.backbone.norm.bias", {FG_F32, 1, {6}}, b}, /* the prefix only */
        {"backbone.norm.running_mean", {FG_F32, 1, {6}}, b},
        {"backbone.norm.running_var", {FG_F32, 1, {6}}, b},
        {"backbone.norm.num_batches_tracked", {FG_S64, 0, {0}}, "\1\0\0\0\0\0\0\0"},
        {"head.bias", {FG_F32, 1, {5}}, h},
        {"head.weight", {FG_F32, 2, {5, 6}}, h2},
    };
    const char *path = fgt_path(fgt_temp_folder(), "theirs.safetensors");
    fg_load_report report = {0};
    net n = make_net(NULL, 3, 1);
    fgt_ok(fg_safetensors_write(path, tensors, 9, NULL, &err));
    fgt_ok(fg_module_load(n.root, path, &options, &report, &err));
    (void)snprintf(text, sizeof text,
                   "%s: 7 of 9 variables loaded; a new head with random weights: head.weight, "
                   "head.bias\n",
                   path);
    assert_int_equal(strncmp(report.text, text, strlen(text)), 0);
    float got[24];
    read_variable(fg_module_find(n.root, "backbone.fc1.weight"), got, 24);
    assert_true(got[0] == 1);
    fg_load_report_fini(&report);
    fgt_ok(fg_safetensors_write(path, tensors, 8, NULL, &err)); /* a part of the head is missing */
    fgt_ok(fg_module_load(n.root, path, &options, NULL, &err));
    /* only the head may differ, and only on request */
    assert_int_equal(fg_module_load(n.root, path, &(fg_load_options){.model = &row}, NULL, &err),
                     FG_EFORMAT);
    fgt_ok(fg_safetensors_write(path, tensors + 1, 8, NULL, &err));
    assert_int_equal(fg_module_load(n.root, path, &options, NULL, &err), FG_EFORMAT);
    assert_non_null(strstr(err.message, "has no 'backbone.fc1.weight'"));
    fg_module_destroy(n.root);
    (void)state;
}

/* A part of a larger model, selected by a prefix of names. */
/* A dtype that is not supported prevents loading that tensor only. */
static void a_tensor_of_another_dtype(void **state)
{
    static const char *const skip[] = {"head.bias"};
    char *data = NULL;
    size_t size = 0;
    net old;
    const char *path = saved_net(&old);
    net n = make_net(NULL, 3, 2);
    fgt_ok(fg_file_read(path, (void **)&data, &size, &err));
    char *dtype = memmem(data, size, "\"head.bias\":{\"dtype\":\"F32\"", 26);
    assert_non_null(dtype);
    memcpy(dtype + 22, "F8X", 3);
    fgt_ok(fg_file_write(path, data, size, &err));
    fg_free(data);
    assert_int_equal(fg_module_load(n.root, path, NULL, NULL, &err), FG_ESHAPE);
    assert_non_null(strstr(err.message, "'head.bias' is F8X[3], but f32[3] in the model\nthis "
                                        "dtype or rank is not supported"));
    fg_load_report report = {0};
    fgt_ok(fg_module_load(n.root, path, &(fg_load_options){.allow_mismatch = true}, &report, &err));
    assert_non_null(strstr(report.text, "head.bias (F8X[3], not f32[3])"));
    fg_load_report_fini(&report);
    fgt_ok(fg_module_load(n.root, path, &(fg_load_options){.skip = skip, .skip_count = 1}, NULL,
                          &err));
    compare(&n, &old, "head.weight", true);
    fg_module_destroy(old.root);
    fg_module_destroy(n.root);
    (void)state;
}

static void a_prefix_is_cut_off(void **state)
{
    char text[512];
    fg_load_report report = {0};
    net large = make_net("student", 3, 1), small = make_net(NULL, 3, 2);
    float losses[1];
    const char *path = fgt_path(fgt_temp_folder(), "large.safetensors");
    train(&large, 0, 1, losses);
    fgt_ok(fg_module_save(large.root, path, &err));
    assert_int_equal(fg_module_load(small.root, path, NULL, NULL, &err), FG_EFORMAT);
    assert_non_null(strstr(err.message, "has no 'backbone.fc1.weight'"));
    fgt_ok(
        fg_module_load(small.root, path, &(fg_load_options){.prefix = "student."}, &report, &err));
    assert_int_equal(report.counts[FG_LOAD_DONE], 9);
    fg_load_report_fini(&report);
    float a[24], b[24];
    read_variable(fg_module_find(large.root, "student.backbone.fc1.weight"), a, 24);
    read_variable(fg_module_find(small.root, "backbone.fc1.weight"), b, 24);
    assert_memory_equal(a, b, sizeof a);
    /* only variables below a module: the rest of the file is ignored */
    const fg_load_options part = {.prefix = "student.backbone.norm.", .allow_missing = true};
    assert_int_equal(fg_module_load(small.root, path, &part, &report, &err), FG_EFORMAT);
    assert_non_null(strstr(err.message,
                           "no tensor whose name starts with 'student.backbone.norm.' matches a "
                           "variable of the module: the file has student.backbone.norm."));
    fg_load_report_fini(&report);
    const fg_load_options rest = {.prefix = "student.", .deny_unexpected = true};
    fgt_ok(fg_module_load(small.root, path, &rest, &report, &err));
    (void)snprintf(text, sizeof text, "%s: 9 of 9 variables loaded", path);
    assert_string_equal(report.text, text);
    fg_load_report_fini(&report);
    fg_module_destroy(large.root);
    fg_module_destroy(small.root);
    (void)state;
}

/* The count of batches, which is s64, is not converted from other integers, or from a float. */
static void assert_integers_are_kept(const net *n)
{
    static const float data[4];
    static const fg_dtype dtypes[] = {FG_S32, FG_F32, FG_F64};
    const char *path = fgt_path(fgt_temp_folder(), "count.safetensors");
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        char says[128];
        const fg_ckpt_tensor other = {
            "backbone.norm.num_batches_tracked", {.dtype = dtypes[i]}, data};
        fgt_ok(fg_safetensors_write(path, &other, 1, NULL, &err));
        assert_int_equal(
            fg_module_load(n->root, path, &(fg_load_options){.allow_missing = true}, NULL, &err),
            FG_ESHAPE);
        (void)snprintf(says, sizeof says,
                       ": 'backbone.norm.num_batches_tracked' is %s[], but s64[] in the model",
                       fg_dtype_name(dtypes[i]));
        assert_string_equal(err.message + strlen(path), says);
    }
}

static void missing_and_unexpected(void **state)
{
    static const char *const typo[] = {"haed.*"};
    fg_load_report report = {0};
    net n = make_net(NULL, 3, 1), fresh = make_net(NULL, 3, 1);
    const float weight[24] = {1, 2, 3};
    const fg_type type = {.dtype = FG_F32, .rank = 2, .dim = {6, 4}};
    const fg_type whole = {.dtype = FG_S32, .rank = 1, .dim = {6}};
    const fg_ckpt_tensor tensors[] = {{"backbone.fc1.weight", type, weight},
                                      {"backbone.fc1.bias", whole, weight},
                                      {"teacher.weight", type, weight}};
    const char *path = fgt_path(fgt_temp_folder(), "part.safetensors");
    fgt_ok(fg_safetensors_write(path, tensors, 3, NULL, &err));
    assert_int_equal(fg_module_load(n.root, path, NULL, NULL, &err), FG_EFORMAT);
    fg_load_options options = {.allow_missing = true};
    assert_int_equal(fg_module_load(n.root, path, &options, NULL, &err), FG_ESHAPE);
    assert_non_null(strstr(err.message, "'backbone.fc1.bias' is s32[6], but f32[6]"));
    options.allow_mismatch = true;
    fgt_ok(fg_module_load(n.root, path, &options, &report, &err));
    const size_t counts[5] = {1, 0, 7, 1, 1};
    assert_memory_equal(report.counts, counts, sizeof counts);
    assert_non_null(strstr(report.text, "1 of 9 variables loaded\n"));
    assert_non_null(strstr(report.text, "\n  not in the file: backbone.norm.weight, "));
    assert_non_null(strstr(report.text, "\n  in the file only: teacher.weight"));
    fg_load_report_fini(&report);
    compare(&n, &fresh, "backbone.fc1.weight", false);
    compare(&n, &fresh, "head.weight", true);
    options.deny_unexpected = true;
    assert_int_equal(fg_module_load(n.root, path, &options, NULL, &err), FG_EFORMAT);
    assert_non_null(strstr(err.message, "'teacher.weight' matches no variable of the module"));
    options = (fg_load_options){.skip = typo, .skip_count = 1};
    assert_int_equal(fg_module_load(n.root, path, &options, NULL, &err), FG_ENOTFOUND);
    assert_non_null(strstr(err.message, "skip 'haed.*' matches no variable: the module has "
                                        "backbone.fc1.weight, "));
    assert_integers_are_kept(&n);
    fg_module_destroy(n.root);
    fg_module_destroy(fresh.root);
    (void)state;
}

/* A file of tensors with the shape of the first weight and these names: small letters, capitals
 * after "x.", W for that of the weight itself after "x.", and V for nearly that. */
static const char *file_of(const char *names)
{
    static const float zeros[24];
    static char text[8][64];
    fg_ckpt_tensor tensors[8];
    size_t count = 0;
    const char *path = fgt_path(fgt_temp_folder(), "f.safetensors");
    for (; names[count] != '\0'; count++) {
        if (names[count] == 'W')
            (void)snprintf(text[count], sizeof text[count], "x.backbone.fc1.weight");
        else if (names[count] == 'V')
            (void)snprintf(text[count], sizeof text[count], "backbone.fc1.waight");
        else
            (void)snprintf(text[count], sizeof text[count], "%s%c", names[count] < 'a' ? "x." : "",
                           names[count]);
        tensors[count] =
            (fg_ckpt_tensor){text[count], {.dtype = FG_F32, .rank = 2, .dim = {6, 4}}, zeros};
    }
    fgt_ok(fg_safetensors_write(path, tensors, count, NULL, &err));
    return path;
}

#define MODULE                                                                                     \
    "; the module has backbone.fc1.weight, backbone.fc1.bias, backbone.norm.weight, "              \
    "backbone.norm.bias, ..."

static const char *const all[] = {"*"}, *const typo[] = {"*", "haed.*"}, *const tensor[] = {"a"};
static const struct {
    const char *names;
    fg_load_options options;
    const char *says;
} mistakes[] = {
    {"ab",
     {.allow_missing = true},
     "no tensor matches a variable of the module: the file has a, b" MODULE},
    {"abcd",
     {.allow_missing = true},
     "no tensor matches a variable of the module: the file has a, b, c, d" MODULE},
    {"abcde",
     {.allow_missing = true},
     "no tensor matches a variable of the module: the file has a, b, c, d, ..." MODULE},
    {"a",
     {.skip = all, .skip_count = 1},
     "no tensor matches a variable of the module: the file has a" MODULE},
    {"a", {.prefix = NULL}, "has no 'backbone.fc1.weight', which is f32[6,4] in the model"},
    {"W",
     {.prefix = NULL},
     "has no 'backbone.fc1.weight', which is f32[6,4] in the model; it has "
     "'x.backbone.fc1.weight': the prefix 'x.' is not given"},
    {"V",
     {.prefix = NULL},
     "has no 'backbone.fc1.weight', which is f32[6,4] in the model; it has 'backbone.fc1.waight'"},
    {"a", {.prefix = "x."}, "no tensor's name starts with 'x.': the file has a" MODULE},
    {"abcd", {.prefix = "x."}, "no tensor's name starts with 'x.': the file has a, b, c, d" MODULE},
    {"abcde",
     {.prefix = "x."},
     "no tensor's name starts with 'x.': the file has a, b, c, d, ..." MODULE},
    {"aB",
     {.prefix = "x."},
     "no tensor whose name starts with 'x.' matches a variable of the module: the file has "
     "x.B" MODULE},
    {"aBW",
     {.prefix = "x.", .allow_missing = true, .deny_unexpected = true},
     "'x.B' matches no variable of the module"},
    {"aW", {.prefix = "x."}, "has no 'backbone.fc1.bias', which is f32[6] in the model"},
    {"",
     {.allow_missing = true},
     "no tensor matches a variable of the module: the file has none" MODULE},
    {"a",
     {.skip = typo, .skip_count = 2},
     "skip 'haed.*' matches no variable: the module has backbone.fc1.weight, "
     "backbone.fc1.bias, backbone.norm.weight, backbone.norm.bias, backbone.norm.running_mean, "
     "backbone.norm.running_var, ..."},
    {"a",
     {.skip = tensor, .skip_count = 1, .allow_missing = true},
     "skip 'a' matches no variable: the module has backbone.fc1.weight, "
     "backbone.fc1.bias, backbone.norm.weight, backbone.norm.bias, backbone.norm.running_mean, "
     "backbone.norm.running_var, ..."},
};

static void what_does_not_match_is_listed(void **state)
{
    net n = make_net(NULL, 3, 1);
    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        const char *path = file_of(mistakes[i].names);
        const fg_status status = fg_module_load(n.root, path, &mistakes[i].options, NULL, &err);
        const size_t size = strncmp(err.message, path, strlen(path)) == 0 ? strlen(path) + 2 : 0;
        const bool is_pattern = strncmp(mistakes[i].says, "skip ", 5) == 0;
        assert_int_equal(status, is_pattern ? FG_ENOTFOUND : FG_EFORMAT);
        assert_string_equal(err.message + size, mistakes[i].says);
    }
    fg_module_destroy(n.root);
}

static void a_module_without_variables_needs_none(void **state)
{
    fg_module *root = NULL;
    fg_load_report report = {0};
    (void)state;
    fgt_ok(fg_module_create(NULL, 1, &root, &err));
    fgt_ok(fg_module_load(root, file_of("ab"), NULL, &report, &err));
    assert_non_null(strstr(report.text, ": 0 of 0 variables loaded\n  in the file only: a, b"));
    fg_load_report_fini(&report);
    fg_module_destroy(root);
}

/* They are loaded, as the file has them, with a warning. */
static void values_that_are_not_finite_are_noted(void **state)
{
    static const struct {
        fg_dtype dtype;
        uint64_t largest, infinite;
    } rows[] = {{FG_F32, 0x7f7fffff, 0xff800000},
                {FG_F16, 0xfbff, 0x7c01},
                {FG_BF16, 0x7f7f, 0x7fc0},
                {FG_F64, 0x7fefffffffffffff, 0x7ff0000000000000}};
    const char *path = fgt_path(fgt_temp_folder(), "f.safetensors");
    (void)state;
    fg_log_set(keep_warning, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unsigned char data[24 * 8] = {0};
        const size_t size = fg_dtype_size(rows[i].dtype);
        net n = make_net(NULL, 3, 1);
        const fg_ckpt_tensor given = {"backbone.fc1.weight", {rows[i].dtype, 2, {6, 4}}, data};
        const fg_load_options options = {.allow_missing = true};
        for (int k = 0; k < 2;
             k++) { /* the largest value at element 3, then one that is not finite at 5 */
            memcpy(data + (3 + 2 * (size_t)k) * size, k == 0 ? &rows[i].largest : &rows[i].infinite,
                   size);
            said[0] = '\0';
            fgt_ok(fg_safetensors_write(path, &given, 1, NULL, &err));
            fgt_ok(fg_module_load(n.root, path, &options, NULL, &err));
            assert_int_equal(strstr(said, "element 5 of 'backbone.fc1.weight'") != NULL, k);
        }
        fg_module_destroy(n.root);
    }
    fg_log_set(NULL, NULL);
}

static void tensors_without_the_prefix_are_counted(void **state)
{
    net n = make_net(NULL, 3, 1);
    (void)state;
    for (int i = 0; i < 2; i++) {
        char text[512];
        fg_load_report report = {0};
        const char *path = file_of(i == 0 ? "aW" : "abBW");
        fgt_ok(fg_module_load(n.root, path,
                              &(fg_load_options){.prefix = "x.", .allow_missing = true}, &report,
                              &err));
        (void)snprintf(text, sizeof text,
                       "%s: 1 of 9 variables loaded; %s without the prefix 'x.' ignored\n  not in "
                       "the file: backbone.fc1.bias, ",
                       path, i == 0 ? "1 tensor" : "2 tensors");
        assert_int_equal(strncmp(report.text, text, strlen(text)), 0);
        assert_int_equal(strstr(report.text, "\n  in the file only: x.B") != NULL, i);
        fg_load_report_fini(&report);
    }
    fg_module_destroy(n.root);
}

/* A custom loop reads a checkpoint of the Trainer, and the Trainer reads one of the loop as
 * weights. */
static void loops_and_trainers_share_files(void **state)
{
    int64_t step = 0;
    toy model = {.optimizer = "adamw"};
    const fg_task task = {.name = "toy", .self = &model, .ops = &toy_ops};
    const char *folder = fgt_path(fgt_temp_folder(), "run");
    const char *path = fgt_path(folder, "checkpoints/step-000000006");
    fg_dataset *data = toy_data(24, 1);
    fg_trainer *trainer = toy_trainer(
        client, &(fg_trainer_options){.limits.max_epochs = 2, .checkpoints.run_dir = folder});
    fgt_ok(fg_trainer_fit(trainer, &task, &(fg_fit_data){.train = data, .batch_size = 8}, &err));
    const fg_module *trained = fg_trainer_module(trainer);
    fg_module *root = NULL;
    toy again = {.optimizer = "adamw"};
    fgt_ok(fg_module_create(NULL, 5, &root, &err));
    toy_ops.build(&again, root);
    fg_optimizer *optimizer = toy_ops.optimizer(&again, root);
    fgt_ok(fg_training_load(path, root, optimizer, &step, &err));
    assert_int_equal(step, 6);
    step = 0;
    fgt_ok(fg_training_load(path, root, NULL, &step, &err));
    assert_int_equal(step, 6);
    const char *copy = fgt_path(fgt_temp_folder(), "copy");
    fgt_ok(fg_training_save(copy, root, optimizer, NULL, &err));
    float a[48], b[48];
    assert_int_equal(fg_type_count(fg_variable_type(fg_module_find(root, "fc1.weight"))), 48);
    read_variable(fg_module_find(root, "fc1.weight"), a, 48);
    read_variable(fg_module_find(trained, "fc1.weight"), b, 48);
    assert_memory_equal(a, b, sizeof a);
    fg_trainer_destroy(trainer);
    trainer = toy_trainer(client, &(fg_trainer_options){.checkpoints.weights = copy});
    assert_int_equal(fg_trainer_load_report(trainer)->entry_count, 0);
    const fg_fit_data val = {.val = data, .batch_size = 8};
    fgt_ok(fg_trainer_validate(trainer, &task, &val, &err));
    read_variable(fg_module_find(fg_trainer_module(trainer), "fc1.weight"), b, 48);
    assert_memory_equal(a, b, sizeof a);
    assert_int_equal(fg_trainer_load_report(trainer)->counts[FG_LOAD_DONE], 4);
    fg_trainer_destroy(trainer);
    fg_module_destroy(root);
    fg_dataset_destroy(data);
    (void)state;
}

/* ---- errors ---------------------------------------------------------------------------------- */

static fg_status save_and_load(void *self, fg_error *error)
{
    const char *path = self;
    fg_load_report report = {0};
    fg_module *root = NULL;
    fg_status status = fg_module_create(NULL, 1, &root, error);
    if (status == FG_OK) {
        (void)fg_linear_create(root, "fc", &(fg_linear_options){.in = 2, .out = 3});
        fg_optimizer *optimizer = fg_adam_create(root, NULL);
        status = fg_module_error(root, error);
        if (status == FG_OK)
            status = fg_training_save(path, root, optimizer, NULL, error);
        if (status == FG_OK)
            status = fg_training_load(path, root, optimizer, NULL, error);
        if (status == FG_OK)
            status = fg_module_load(root, path, NULL, &report, error);
        fg_load_report_fini(&report);
        fg_module_destroy(root);
    }
    return status;
}

static void every_allocation_may_fail(void **state)
{
    fgt_fault_loop(save_and_load, (void *)fgt_path(fgt_temp_folder(), "faults"));
    (void)state;
}

static void breaches_are_refused(void **state)
{
    fg_load_report report = {.entry_count = 3};
    net n = make_net(NULL, 3, 1);
    assert_int_equal(fg_module_save(NULL, "x", &err), FG_EINVAL);
    assert_int_equal(fg_module_save(n.root, "", &err), FG_EINVAL);
    assert_int_equal(fg_optimizer_save(NULL, "x", &err), FG_EINVAL);
    assert_int_equal(fg_optimizer_load(NULL, "x", &err), FG_EINVAL);
    assert_int_equal(fg_training_save("x", NULL, NULL, NULL, &err), FG_EINVAL);
    assert_int_equal(fg_training_load("x", NULL, NULL, NULL, &err), FG_EINVAL);
    assert_int_equal(fg_module_load(NULL, "x", NULL, &report, &err), FG_EINVAL);
    assert_int_equal(report.entry_count, 0);
    assert_int_equal(fg_module_load(n.root, "/nowhere", NULL, &report, &err), FG_ENOTFOUND);
    fg_load_report_fini(&report);
    /* a tree that could not be built is not saved: the first error is that of the tree */
    (void)fg_linear_create(n.root, "head", &(fg_linear_options){.in = 6, .out = 3});
    const fg_status first = fg_module_error(n.root, &err);
    assert_int_equal(first, FG_EINVAL);
    const char *path = fgt_path(fgt_temp_folder(), "never");
    assert_int_equal(fg_module_save(n.root, path, &err), first);
    assert_int_equal(fg_training_save(path, n.root, NULL, NULL, &err), first);
    assert_int_equal(fg_module_load(n.root, path, NULL, NULL, &err), first);
    assert_int_equal(fg_training_load(path, n.root, NULL, NULL, &err), first);
    assert_int_equal(access(path, F_OK), -1);
    fg_module_destroy(n.root);
    (void)state;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_loop_goes_on_bit_for_bit),
    cmocka_unit_test(module_and_optimizer_in_files),
    cmocka_unit_test(saved_before_the_first_step),
    cmocka_unit_test(frozen_parameters),
    cmocka_unit_test(four_names_are_listed),
    cmocka_unit_test(the_number_of_steps_is_found),
    cmocka_unit_test(a_module_without_variables_needs_none),
    cmocka_unit_test(another_head),
    cmocka_unit_test(a_new_head_and_published_names),
    cmocka_unit_test(a_tensor_of_another_dtype),
    cmocka_unit_test(a_prefix_is_cut_off),
    cmocka_unit_test(missing_and_unexpected),
    cmocka_unit_test(what_does_not_match_is_listed),
    cmocka_unit_test(values_that_are_not_finite_are_noted),
    cmocka_unit_test(tensors_without_the_prefix_are_counted),
    cmocka_unit_test(loops_and_trainers_share_files),
    cmocka_unit_test(every_allocation_may_fail),
    cmocka_unit_test(breaches_are_refused),
};

int main(void) { return cmocka_run_group_tests(tests, open_client, close_client) == 0 ? 0 : 1; }
