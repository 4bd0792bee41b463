/* test_registry.c - what a run can name: the built-in rows, and those that a program adds.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/registry.h>

#include "aug/augmentations.h"
#include "data/formats.h"
#include "nn/model.h"
#include "optim/optimizer.h"
#include "callback/callback_rows.h"
#include "log/logger.h"

static fg_registry *make(void)
{
    fg_registry *registry = NULL;
    fg_error err = {0};
    fgt_ok(fg_registry_create(&registry, &err));
    return registry;
}

/* All rows of the lists, and no others. */
static void built_in_rows_are_there_in_their_order(void **state)
{
    const struct {
        fg_registry_kind kind;
        const void *rows; /* an array of pointers, as fgi_model_rows */
        size_t count;
    } lists[] = {
        {FG_REGISTRY_MODEL, fgi_model_rows, fgi_model_row_count},
        {FG_REGISTRY_LOSS, fgi_loss_rows, fgi_loss_row_count},
        {FG_REGISTRY_OPTIMIZER, fgi_optimizer_rows, fgi_optimizer_row_count},
        {FG_REGISTRY_SCHEDULE, fgi_schedule_rows, fgi_schedule_row_count},
        {FG_REGISTRY_FORMAT, fgi_format_rows, fgi_format_row_count},
        {FG_REGISTRY_CALLBACK, fgi_callback_rows, fgi_callback_row_count},
        {FG_REGISTRY_LOGGER, fgi_logger_rows, fgi_logger_row_count},
        {FG_REGISTRY_AUGMENTATION, fgi_augmentation_rows, fgi_augmentation_row_count},
    };
    fg_registry *registry = make();
    for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++) {
        const fg_entry *const *rows = lists[k].rows;
        assert_true(lists[k].count > 0);
        assert_int_equal(fg_registry_count(registry, lists[k].kind), lists[k].count);
        for (size_t i = 0; i < lists[k].count; i++)
            assert_ptr_equal(fg_registry_at(registry, lists[k].kind, i), rows[i]);
        assert_null(fg_registry_at(registry, lists[k].kind, lists[k].count));
    }
    fg_registry_destroy(registry);
    fg_registry_destroy(NULL);
}

static void rows_are_found_by_any_name(void **state)
{
    fg_registry *registry = make();
    fg_error err = {0};
    const fg_entry *cycle = fg_registry_find(registry, FG_REGISTRY_SCHEDULE, "onecycle", &err);
    assert_string_equal(cycle->name, "onecycle");
    assert_ptr_equal(fg_registry_find(registry, FG_REGISTRY_SCHEDULE, "1cycle", &err), cycle);
    assert_ptr_equal(fg_registry_find(registry, FG_REGISTRY_SCHEDULE, "OneCycleLR", &err), cycle);
    assert_non_null(fg_registry_find(registry, FG_REGISTRY_MODEL, "ResNet-18", &err));
    assert_null(fg_registry_find(registry, FG_REGISTRY_MODEL, "resnet19", &err));
    assert_int_equal(err.status, FG_ENOTFOUND);
    assert_string_equal(err.message, "unknown model 'resnet19': did you mean 'resnet18'?");
    assert_null(fg_registry_find(registry, FG_REGISTRY_OPTIMIZER, "zzzzzzzz", &err));
    assert_string_equal(err.message,
                        "unknown optimizer 'zzzzzzzz': expected one of "
                        "sgd|adam|adamw|nadam|rmsprop|adagrad|adafactor|lamb|lars|lion|muon");
    fg_registry_destroy(registry);
}

typedef struct own_model {
    bool no_bias;
    fg_linear *fc;
} own_model;

static void build(void *self, fg_module *root, const fg_model_shape *shape)
{
    own_model *m = self;
    assert_null(m->fc);
    m->fc = fg_linear_create(root, "fc",
                             &(fg_linear_options){.in = fg_type_count(&shape->input),
                                                  .out = shape->outputs,
                                                  .no_bias = m->no_bias});
}

static fg_tensor apply(const void *self, fg_tensor x)
{
    return fg_linear_apply(((const own_model *)self)->fc, x);
}

static const fg_option own_options[] = {
    FG_OPTION(own_model, no_bias, BOOL, "false", NULL, "true", "Leave the bias away.")};
static const fg_model_entry own = {
    .entry = {.name = "own", .help = "one of ours", FG_OPTIONS(own_options, own_model)},
    .build = build,
    .apply = apply};

static void own_models_are_built_like_the_others(void **state)
{
    fg_registry *registry = make();
    fg_error err = {0};
    fgt_ok(fg_registry_add(registry, FG_REGISTRY_MODEL, &own.entry, &err));
    const fg_entry *entry = fg_registry_find(registry, FG_REGISTRY_MODEL, "own", &err);
    assert_ptr_equal(entry, &own.entry);
    for (int i = 0; i < 2; i++) {
        fg_module *root = NULL;
        fgt_ok(fg_module_create(NULL, 0, &root, &err));
        assert_non_null(fg_model_create(
            root, &(fg_model_options){.entry = (const fg_model_entry *)entry,
                                      .input = {FG_F32, 1, {5}},
                                      .outputs = 3,
                                      .options = i == 0 ? NULL : "{no_bias: true}"}));
        assert_int_equal(fg_module_parameter_count(root), i == 0 ? 18 : 15);
        fg_module_destroy(root);
    }
    fg_registry_destroy(registry);
}

static fg_tensor update(const fg_update *u, fg_tensor parameter, fg_tensor gradient)
{
    (void)u, (void)gradient;
    return parameter;
}

static const fg_option no_help = {.name = "x", .kind = FG_OPTION_INT, .example = "1"};
static const fg_option bad_name = {
    .name = "Big", .kind = FG_OPTION_INT, .example = "1", .help = "X."};
static const fg_option named_name = {
    .name = "name", .kind = FG_OPTION_INT, .example = "1", .help = "X."};
static const fg_option bad_default = {
    .name = "x", .kind = FG_OPTION_INT, .initial = "one", .example = "1", .help = "X."};
static const fg_option other_kind = {
    .name = "lr", .kind = FG_OPTION_STRING, .example = "1", .help = "X."};
static const fg_option other_count = {.name = "betas",
                                      .kind = FG_OPTION_FLOATS,
                                      .initial = "[0.9, 0.999]",
                                      .range = "0..<1",
                                      .example = "[0.9, 0.95]",
                                      .help = "X."};
static const fg_option named_format = {
    .name = "format", .kind = FG_OPTION_INT, .example = "1", .help = "X."};
static const fg_option no_example = {.name = "x", .kind = FG_OPTION_INT, .help = "X."};
static const fg_option no_choices = {
    .name = "x", .kind = FG_OPTION_CHOICE, .example = "1", .help = "X."};
static const fg_option twice[] = {
    {.name = "x", .kind = FG_OPTION_INT, .example = "1", .help = "X."},
    {.name = "x", .kind = FG_OPTION_INT, .example = "1", .help = "X."}};

#define OF(table, count)                                                                           \
    {                                                                                              \
        .entry = {.name = "mine",                                                                  \
                  .help = "x",                                                                     \
                  .options = (table),                                                              \
                  .option_count = (count),                                                         \
                  .size = 64},                                                                     \
        .update = update                                                                           \
    }

static void wrong_rows_are_refused(void **state)
{
    static const struct {
        fg_optimizer_entry row;
        const char *message;
    } rows[] = {
        {{.entry = {.help = "x"}, .update = update},
         "optimizer: name '': expected only lower-case letters, digits and _"},
        {{.entry = {.name = "My-SGD", .help = "x"}, .update = update},
         "optimizer: name 'My-SGD': expected only lower-case letters, digits and _"},
        {{.entry = {.name = "adam", .help = "x"}, .update = update},
         "optimizer: 'adam' is already registered"},
        {{.entry = {.name = "adam_w", .help = "x"}, .update = update}, /* would find adamw too */
         "optimizer: 'adam_w' is already registered"},
        {{.entry = {.name = "mine"}, .update = update}, "optimizer: 'mine' has no help"},
        {{.entry = {.name = "mine", .help = "x"}}, "optimizer: 'mine' has no functions"},
        {OF(&no_help, 1), "optimizer: option 'x' of 'mine' has no help"},
        {OF(&bad_name, 1),
         "optimizer: option 'Big' of 'mine': expected a name of lower-case letters, digits and _, "
         "other than 'name' and 'format'"},
        {OF(&named_name, 1),
         "optimizer: option 'name' of 'mine': expected a name of lower-case letters, digits and _, "
         "other than 'name' and 'format'"},
        {OF(&named_format, 1),
         "optimizer: option 'format' of 'mine': expected a name of lower-case letters, digits and "
         "_, other than 'name' and 'format'"},
        {OF(&no_example, 1), "optimizer: option 'x' of 'mine' has no example"},
        {OF(&no_choices, 1), "optimizer: option 'x' of 'mine' has no choices"},
        {OF(&bad_default, 1),
         "optimizer: the default of an option: mine.x: expected an integer (for example 1), got "
         "'one'"},
        {OF(&other_kind, 1),
         "optimizer: option 'lr' of 'mine' differs from that of 'sgd' in kind, default, range or "
         "choices: expected the same, or a different name"},
        {OF(&other_count, 1),
         "optimizer: option 'betas' of 'mine' differs from that of 'adam' in kind, default, range "
         "or choices: expected the same, or a different name"},
        {OF(twice, 2), "optimizer: 'mine' has two options named 'x'"},
    };
    fg_registry *registry = make();
    fg_error err = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(fg_registry_add(registry, FG_REGISTRY_OPTIMIZER, &rows[i].row.entry, &err),
                         FG_EINVAL);
        assert_string_equal(err.message, rows[i].message);
    }
    assert_int_equal(fg_registry_count(registry, FG_REGISTRY_OPTIMIZER), fgi_optimizer_row_count);
    fg_registry_destroy(registry);
}

/* A row whose option differs in one member from that of another; the first one does not. */
static void options_of_one_name_are_alike(void **state)
{
    static const fg_option option = {.name = "zz",
                                     .kind = FG_OPTION_FLOATS,
                                     .initial = "[0.5, 0.5]",
                                     .range = "0..<1",
                                     .min_count = 2,
                                     .max_count = 2,
                                     .example = "[0.5, 0.25]",
                                     .help = "Z."};
    fg_option like[] = {option, option, option, option, option, option, option, option, option};
    const fg_optimizer_entry base = {
        .entry = {.name = "base", .help = "x", .options = &option, .option_count = 1, .size = 64},
        .update = update};
    fg_registry *registry = make();
    fg_error err = {0};
    like[1].initial = "[0.5, 0.25]";
    like[2].range = "-1..<1";
    like[3].kind = FG_OPTION_INTS;
    like[3].initial = "[0, 0]";
    like[4].range = "0..1";
    like[5].min_count = 1;
    like[6].max_count = 3;
    like[7].range = "auto|0..<1";
    like[8].range = NULL;
    fgt_ok(fg_registry_add(registry, FG_REGISTRY_OPTIMIZER, &base.entry, &err));
    for (size_t i = 9; i-- > 0;) {
        const fg_optimizer_entry row = {.entry = {.name = "other",
                                                  .help = "x",
                                                  .options = &like[i],
                                                  .option_count = 1,
                                                  .size = 64},
                                        .update = update};
        assert_int_equal(fg_registry_add(registry, FG_REGISTRY_OPTIMIZER, &row.entry, &err),
                         i == 0 ? FG_OK : FG_EINVAL);
    }
    assert_string_equal(err.message,
                        "optimizer: option 'zz' of 'other' differs from that of 'base' in kind, "
                        "default, range or choices: expected the same, or a different name");
    fg_registry_destroy(registry);
}

static size_t save_nothing(void *self, void *bytes, size_t size)
{
    (void)self;
    (void)bytes;
    (void)size;
    return 0;
}

static void callbacks_save_under_their_names(void **state)
{
    static const fg_callback_ops plain = {.destroy = fg_free}, no_destroy = {.name = NULL},
                                 other = {
                                     .name = "other", .save = save_nothing, .destroy = fg_free};
    static const fg_option patience = {/* as early_stop has, but not the same */
                                       .name = "patience",
                                       .kind = FG_OPTION_STRING,
                                       .example = "x",
                                       .help = "X."};
    const fg_entry entry = {.name = "mine",
                            .help = "x",
                            .options = &patience,
                            .option_count = 1,
                            .size = sizeof(char *)};
    const fg_callback_entry no_ops = {.entry = entry},
                            no_create = {.entry = entry, .ops = &no_destroy},
                            misnamed = {.entry = entry, .ops = &other},
                            good = {.entry = entry, .ops = &plain};
    fg_registry *registry = make();
    fg_error err = {0};
    assert_int_equal(fg_registry_add(registry, FG_REGISTRY_CALLBACK, &no_ops.entry, &err),
                     FG_EINVAL);
    assert_string_equal(err.message, "callback: 'mine' has no functions");
    assert_int_equal(fg_registry_add(registry, FG_REGISTRY_CALLBACK, &no_create.entry, &err),
                     FG_EINVAL);
    assert_int_equal(fg_registry_add(registry, FG_REGISTRY_CALLBACK, &misnamed.entry, &err),
                     FG_EINVAL);
    assert_string_equal(err.message, "callback: 'mine' saves state as 'other' "
                                     "(fg_callback_ops.name): expected the name of the row");
    fgt_ok(fg_registry_add(registry, FG_REGISTRY_CALLBACK, &good.entry, &err));
    assert_ptr_equal(fg_registry_find(registry, FG_REGISTRY_CALLBACK, "mine", &err), &good.entry);
    fg_registry_destroy(registry);
}

static fg_status log_nothing(void *self, const fg_log_line *line, fg_error *err)
{
    (void)self;
    (void)line;
    (void)err;
    return FG_OK;
}

static void loggers_need_a_name_and_functions(void **state)
{
    static const fg_logger_ops no_name = {.log = log_nothing, .destroy = fg_free},
                               no_log = {.name = "mine", .destroy = fg_free},
                               no_destroy = {.name = "mine", .log = log_nothing},
                               ops = {.name = "mine", .log = log_nothing, .destroy = fg_free};
    static const fg_option url = {
        .name = "url", .kind = FG_OPTION_STRING, .example = "x", .help = "X."};
    static const fg_option other = {/* with the same name, but not the same */
                                    .name = "url",   .kind = FG_OPTION_INT, .initial = "1",
                                    .range = "1..2", .example = "2",        .help = "X."};
    fg_entry entry = {.name = "mine", .help = "x", .options = &url, .option_count = 1},
             second = {.name = "theirs", .help = "x", .options = &other, .option_count = 1};
    entry.size = sizeof(char *);
    second.size = sizeof(int64_t);
    const fg_logger_entry wrong[] = {{.entry = entry},
                                     {.entry = entry, .ops = &no_destroy},
                                     {.entry = entry, .ops = &no_name},
                                     {.entry = entry, .ops = &no_log}},
                          good = {.entry = entry, .ops = &ops},
                          theirs = {.entry = second, .ops = &ops};
    fg_registry *registry = make();
    fg_error err = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(fg_registry_add(registry, FG_REGISTRY_LOGGER, &wrong[i].entry, &err),
                         FG_EINVAL);
        assert_string_equal(err.message, "logger: 'mine' has no functions");
    }
    fgt_ok(fg_registry_add(registry, FG_REGISTRY_LOGGER, &good.entry, &err));
    assert_int_equal(fg_registry_add(registry, FG_REGISTRY_LOGGER, &good.entry, &err), FG_EINVAL);
    assert_string_equal(err.message, "logger: 'mine' is already registered");
    fgt_ok(fg_registry_add(registry, FG_REGISTRY_LOGGER, &theirs.entry, &err));
    assert_ptr_equal(fg_registry_find(registry, FG_REGISTRY_LOGGER, "theirs", &err), &theirs.entry);
    assert_string_equal(fg_registry_find(registry, FG_REGISTRY_LOGGER, "CSVLogger", &err)->name,
                        "csv");
    assert_null(fg_registry_find(registry, FG_REGISTRY_LOGGER, "jsnl", &err));
    assert_string_equal(err.message, "unknown logger 'jsnl': did you mean 'jsonl'?");
    fg_registry_destroy(registry);
}

static fg_tensor same(fg_tensor image, const fg_sample_key *key, const void *options)
{
    (void)key, (void)options;
    return image;
}

static fg_tensor mixed(fg_tensor image, fg_tensor *target, const fg_sample_key *key,
                       const void *options)
{
    (void)target;
    return same(image, key, options);
}

static void augmentations_need_a_function(void **state)
{
    const fg_entry entry = {.name = "mine", .help = "x"};
    const fg_augmentation_entry wrong = {.entry = entry}, good = {.entry = entry, .apply = same};
    fg_registry *registry = make();
    fg_error err = {0};
    (void)state;
    assert_int_equal(fg_registry_add(registry, FG_REGISTRY_AUGMENTATION, &wrong.entry, &err),
                     FG_EINVAL);
    assert_string_equal(err.message, "augmentation: 'mine' has no functions");
    const fg_augmentation_entry both = {.entry = entry, .apply = same, .mix = mixed};
    assert_int_equal(fg_registry_add(registry, FG_REGISTRY_AUGMENTATION, &both.entry, &err),
                     FG_EINVAL);
    fg_augmentation_entry newer = good;
    newer.reserved[1] = (void (*)(void))same;
    assert_int_equal(fg_registry_add(registry, FG_REGISTRY_AUGMENTATION, &newer.entry, &err),
                     FG_EINVAL);
    fgt_ok(fg_registry_add(registry, FG_REGISTRY_AUGMENTATION, &good.entry, &err));
    assert_ptr_equal(fg_registry_find(registry, FG_REGISTRY_AUGMENTATION, "mine", &err),
                     &good.entry);
    assert_string_equal(
        fg_registry_find(registry, FG_REGISTRY_AUGMENTATION, "RandomHorizontalFlip", &err)->name,
        "random_flip");
    fg_registry_destroy(registry);
}

static fg_status scenario(void *self, fg_error *err)
{
    fg_registry *registry = NULL;
    (void)self;
    fg_status status = fg_registry_create(&registry, err);
    if (status == FG_OK)
        status = fg_registry_add(registry, FG_REGISTRY_MODEL, &own.entry, err);
    fg_registry_destroy(registry);
    return status;
}

static void no_failed_allocation_is_lost(void **state) { fgt_fault_loop(scenario, NULL); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_in_rows_are_there_in_their_order),
        cmocka_unit_test(rows_are_found_by_any_name),
        cmocka_unit_test(own_models_are_built_like_the_others),
        cmocka_unit_test(wrong_rows_are_refused),
        cmocka_unit_test(options_of_one_name_are_alike),
        cmocka_unit_test(callbacks_save_under_their_names),
        cmocka_unit_test(loggers_need_a_name_and_functions),
        cmocka_unit_test(augmentations_need_a_function),
        cmocka_unit_test(no_failed_allocation_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
