/* test_reserved.c - every struct of the public headers can grow: those that a user fills have a
 * `reserved` that is refused when it is not zero, those that the library fills clear theirs. The
 * test reads the headers, so a new struct needs a row in one of the lists.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <dirent.h>
#include <fulgurite/fulgurite.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/reserved.h"
#include "mesh/mesh.h"
#include "reserved_rows.h"
#include "train/step/stage.h"

/* ---- what refuses it ------------------------------------------------------------------------- */

static void never(void) {}

static fg_module *root_of(void)
{
    fg_module *root = NULL;
    fg_error err = {0};
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    return root;
}

/* Takes the module's error and destroys it. */
static void end_module(fg_module *root, fg_error *err)
{
    (void)fg_module_error(root, err);
    fg_module_destroy(root);
}

static fg_trace *trace_of(void)
{
    fg_trace *trace = NULL;
    fg_error err = {0};
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    return trace;
}

static void end_trace(fg_trace *trace, fg_error *err)
{
    (void)fg_trace_error(trace, err);
    fg_trace_destroy(trace);
}

#define BY_MODULE(type, expression)                                                                \
    static void by_##type(fg_error *err)                                                           \
    {                                                                                              \
        NEWER(type, 0);                                                                            \
        fg_module *root = root_of();                                                               \
        assert_null(expression);                                                                   \
        end_module(root, err);                                                                     \
    }
#define BY_TRACE(type, expression)                                                                 \
    static void by_##type(fg_error *err)                                                           \
    {                                                                                              \
        NEWER(type, 0);                                                                            \
        fg_trace *trace = trace_of();                                                              \
        const fg_tensor x = fg_zeros(trace, FG_F32, FG_DIMS(2, 4, 4, 2));                          \
        const fg_tensor label = fg_zeros(trace, FG_S32, FG_DIMS(2, 4, 4));                         \
        (void)x, (void)label;                                                                      \
        (void)(expression);                                                                        \
        end_trace(trace, err);                                                                     \
    }

static void by_fg_attention_masks(fg_error *err)
{
    NEWER(fg_attention_masks, 0);
    fg_module *root = root_of();
    fg_trace *trace = trace_of();
    const fg_multihead_attention *layer = fg_multihead_attention_create(
        root, "attn", &(fg_multihead_attention_options){.width = 4, .heads = 1});
    (void)fg_multihead_attention_apply(layer, fg_zeros(trace, FG_F32, FG_DIMS(2, 3, 4)), &o);
    end_trace(trace, err);
    fg_module_destroy(root);
}

static void by_fg_recurrent_state(fg_error *err)
{
    NEWER(fg_recurrent_state, 0);
    fg_module *root = root_of();
    fg_trace *trace = trace_of();
    const fg_recurrent *layer =
        fg_recurrent_create(root, "lstm", &(fg_recurrent_options){.in = 4, .hidden = 2});
    (void)fg_recurrent_apply(layer, fg_zeros(trace, FG_F32, FG_DIMS(2, 3, 4)), &o);
    end_trace(trace, err);
    fg_module_destroy(root);
}

static void by_fg_scan_options(fg_error *err)
{
    NEWER(fg_scan_options, .carry_count = 1);
    fg_trace *trace = trace_of();
    const fg_tensor x = fg_zeros(trace, FG_F32, FG_DIMS(2));
    fg_scan(&o, &x, NULL, NULL, NULL);
    end_trace(trace, err);
}

static void by_fg_while_options(fg_error *err)
{
    NEWER(fg_while_options, .carry_count = 1);
    fg_trace *trace = trace_of();
    const fg_tensor x = fg_zeros(trace, FG_F32, FG_DIMS(2));
    fg_while(&o, &x, NULL);
    end_trace(trace, err);
}

static void by_fg_operation(fg_error *err)
{
    fg_operation o = {.name = "newer"};
    LAST(o.reserved) = never;
    fg_trace *trace = trace_of();
    const fg_tensor x = fg_zeros(trace, FG_F32, FG_DIMS(2));
    fg_apply(&o, &x, 1, NULL, NULL);
    end_trace(trace, err);
}

static fg_array *array;
static fg_batch_fit fit_of_batch;
static fg_ckpt *ckpt;
static char *model_folder;
static fg_dataset *dataset;
static fg_client *client;
static fg_host *host;
static fg_profile *profile;
static fg_lr_suggestions suggestions;
static fg_trainer *trainer;
static fg_variable *variable;
static const fg_type type3 = {.dtype = FG_F32, .rank = 1, .dim = {3}};

BY_STATUS(fg_ckpt_options, fg_ckpt_open("nowhere", &o, &ckpt, err))
BY_STATUS(fg_hub_options, fg_hub_fetch("hf:nobody/nothing", &o, &model_folder, err))
BY_STATUS(fg_ckpt_content, fg_ckpt_save("nowhere", &o, err))
BY_STATUS(fg_client_options, fg_client_open(&o, &client, err))
BY_STATUS(fg_check_options, fg_client_check(NULL, &o, NULL, err))
BY_STATUS(fg_array_options, fg_array_create_sharded(NULL, &type3, NULL, &o, &array, err))
BY_STATUS(fg_batch_find_options, fg_trainer_find_batch(NULL, NULL, NULL, &o, &fit_of_batch, err))
BY_STATUS(fg_lr_losses, fg_lr_suggest(&o, NULL, &suggestions, err))
BY_STATUS(fg_profile_options, fg_profile_start(NULL, &o, &profile, err))
BY_STATUS(fg_sharding_rule, fgi_rule_check(NULL, &o, err))
BY_STATUS(fg_host_options, fg_host_open(&o, &host, err))
BY_STATUS(fg_variable_options, fg_variable_create("v", &type3, &o, &variable, err))
BY_STATUS(fg_schedule, fg_schedule_check(&o, err))

static void by_fg_onecycle_options(fg_error *err)
{
    NEWER(fg_onecycle_options, 0);
    const fg_schedule schedule = fg_onecycle(&o);
    assert_int_equal(fg_schedule_check(&schedule, err), FG_EINVAL);
}
BY_STATUS(fg_trainer_options, fg_trainer_create(&o, &trainer, err))
BY_MODULE(fg_linear_options, fg_linear_create(root, "fc", &o))
BY_MODULE(fg_conv_options, fg_conv_create(root, "conv", &o))
BY_MODULE(fg_batch_norm_options, fg_batch_norm_create(root, "bn", &o))
BY_MODULE(fg_sgd_options, fg_sgd_create(root, &o))
BY_MODULE(fg_adam_options, fg_adam_create(root, &o))
BY_MODULE(fg_norm_options, fg_norm_create(root, "norm", &o))
BY_MODULE(fg_recurrent_options, fg_recurrent_create(root, "lstm", &o))
BY_MODULE(fg_embedding_options, fg_embedding_create(root, "wte", &o))
BY_MODULE(fg_multihead_attention_options, fg_multihead_attention_create(root, "attn", &o))
BY_MODULE(fg_transformer_block_options, fg_transformer_block_create(root, "h", &o))
BY_TRACE(fg_attention_options, fg_attention(x, x, x, &o))
BY_TRACE(fg_custom_call_options, (fg_custom_call(&o, &x, 1, NULL), 0))
BY_TRACE(fg_dot_options, fg_dot(x, x, &o))
BY_TRACE(fg_conv2d_options, fg_conv2d(x, x, &o))
BY_TRACE(fg_conv_transpose_options, fg_conv_transpose2d(x, x, &o))
BY_TRACE(fg_triangular_solve_options, fg_triangular_solve(x, x, &o))
BY_TRACE(fg_crop_resize_options, fg_crop_resize(x, x, 2, 2, &o))
BY_TRACE(fg_affine_options, fg_affine_sample(x, x, &o))
BY_TRACE(fg_cross_entropy_options, fg_cross_entropy(x, label, &o))
BY_TRACE(fg_focal_options, fg_focal_loss(x, label, &o))
BY_TRACE(fg_bce_options, fg_bce_with_logits(x, x, &o))
BY_TRACE(fg_sigmoid_focal_options, fg_sigmoid_focal_loss(x, x, &o))

static void by_fg_model_options(fg_error *err)
{
    NEWER(fg_model_options, .name = "linear");
    fg_module *root = root_of();
    assert_null(fg_model_create(root, &o));
    end_module(root, err);
}

static void by_fg_pool_options(fg_error *err)
{
    NEWER(fg_pool_options, 0);
    for (int i = 0; i < 2; i++) {
        fg_trace *trace = trace_of();
        const fg_tensor x = fg_zeros(trace, FG_F32, FG_DIMS(2, 4, 4, 2));
        (void)(i == 0 ? fg_max_pool(x, &o) : fg_avg_pool(x, &o));
        end_trace(trace, err);
        assert_int_equal(err->status, FG_EINVAL);
    }
}

static void by_fg_regression_options(fg_error *err)
{
    NEWER(fg_regression_options, 0);
    fg_trace *trace = trace_of();
    fg_step step = {.trace = trace};
    const fg_tensor x = fg_zeros(trace, FG_F32, FG_DIMS(2));
    fg_step_log_regression(&step, x, x, &o);
    end_trace(trace, err);
}

static void by_fg_distribute_options(fg_error *err)
{
    NEWER(fg_distribute_options, 0);
    fg_module *root = root_of();
    assert_int_equal(fg_module_distribute(root, NULL, &o, err), FG_EINVAL);
    fg_module_destroy(root);
}

/* A call on an optimizer. */
#define BY_OPTIMIZER(type, call)                                                                   \
    static void by_##type(fg_error *err)                                                           \
    {                                                                                              \
        NEWER(type, 0);                                                                            \
        fg_error built = {0};                                                                      \
        fg_module *root = root_of();                                                               \
        (void)fg_linear_create(root, "fc", &(fg_linear_options){.in = 1, .out = 1});               \
        fg_optimizer *sgd = fg_sgd_create(root, NULL);                                             \
        assert_int_equal(fg_module_error(root, &built), FG_OK);                                    \
        assert_int_equal(call(sgd, &o, err), FG_EINVAL);                                           \
        fg_module_destroy(root);                                                                   \
    }
BY_OPTIMIZER(fg_loss_scale_options, fg_optimizer_set_loss_scale)
BY_OPTIMIZER(fg_optimizer_groups, fg_optimizer_set_groups)

static void by_fg_optimizer_part(fg_error *err)
{
    fg_module *root = root_of();
    (void)fg_linear_create(root, "fc", &(fg_linear_options){.in = 1, .out = 1});
    NEWER(fg_optimizer_part, .name = "a", .optimizer = fg_sgd_create(root, NULL));
    assert_null(fg_optimizer_join(root, &o, 1));
    assert_int_equal(fg_module_error(root, err), FG_EINVAL);
    fg_module_destroy(root);
}

static void by_fg_training_options(fg_error *err)
{
    NEWER(fg_training_options, 0);
    fg_module *root = root_of();
    assert_int_equal(fg_training_save("nowhere", root, NULL, &o, err), FG_EINVAL);
    fg_module_destroy(root);
}

static fg_tensor itself(void *self, fg_tensor x) { return x; }

static void by_fg_onnx_options(fg_error *err)
{
    NEWER(fg_onnx_options, 0);
    fg_module *root = root_of();
    o.input.dtype = FG_F32;
    assert_int_equal(fg_module_save_onnx(root, "nowhere", itself, NULL, &o, err), FG_EINVAL);
    fg_module_destroy(root);
}

static void by_fg_mesh_options(fg_error *err)
{
    NEWER(fg_mesh_options, .axes = {{.size = 0}});
    const fg_client_options with = {.mesh = o};
    assert_int_equal(fg_client_open(&with, &client, err), FG_EINVAL);
    assert_int_equal(fg_trainer_create(&(fg_trainer_options){.devices.mesh = o}, &trainer, err),
                     FG_EINVAL);
}

static void by_fg_load_options(fg_error *err)
{
    NEWER(fg_load_options, 0);
    fg_module *root = root_of();
    const fg_trainer_options with = {.checkpoints.weights_options = o};
    assert_int_equal(fg_trainer_create(&with, &trainer, err), FG_EINVAL);
    assert_int_equal(fg_module_load(root, "nowhere", &o, NULL, err), FG_EINVAL);
    fg_module_destroy(root);
}

#define BY_GROUP(group)                                                                            \
    static void by_fg_trainer_##group(fg_error *err)                                               \
    {                                                                                              \
        fg_trainer_options o = {0};                                                                \
        LAST(o.group.reserved) = 1;                                                                \
        assert_int_equal(fg_trainer_create(&o, &trainer, err), FG_EINVAL);                         \
    }
BY_GROUP(devices)
BY_GROUP(limits)
BY_GROUP(validation)
BY_GROUP(lr)
BY_GROUP(checkpoints)
BY_GROUP(numerics)
BY_GROUP(output)
BY_GROUP(divergence)
BY_GROUP(hang)

/* ---- rows of a registry ---------------------------------------------------------------------- */

#define BY_ROW(type, kind)                                                                         \
    static void by_##type(fg_error *err)                                                           \
    {                                                                                              \
        fg_registry *registry = NULL;                                                              \
        type o = {.entry = {.name = "newer", .help = "newer"}};                                    \
        LAST(o.reserved) = never;                                                                  \
        assert_int_equal(fg_registry_create(&registry, err), FG_OK);                               \
        assert_int_equal(fg_registry_add(registry, kind, &o.entry, err), FG_EINVAL);               \
        fg_registry_destroy(registry);                                                             \
    }

static void by_fg_entry(fg_error *err)
{
    NEWER(fg_entry, .name = "newer", .help = "newer");
    fg_registry *registry = NULL;
    fg_module *root = root_of();
    const fg_model_entry model = {.entry = o};
    assert_int_equal(fg_registry_create(&registry, err), FG_OK);
    assert_int_equal(fg_registry_add(registry, FG_REGISTRY_MODEL, &model.entry, err), FG_EINVAL);
    fg_registry_destroy(registry);
    assert_null(fg_model_create(root, &(fg_model_options){.entry = &model}));
    end_module(root, err);
}

static void by_fg_option(fg_error *err)
{
    NEWER(fg_option, .name = "newer", .help = "newer", .example = "1");
    fg_option_values *option_values = NULL;
    assert_int_equal(fg_option_values_create(NULL, &o, 1, &option_values, err), FG_EINVAL);
}

BY_ROW(fg_model_entry, FG_REGISTRY_MODEL)
BY_ROW(fg_loss_entry, FG_REGISTRY_LOSS)
BY_ROW(fg_optimizer_entry, FG_REGISTRY_OPTIMIZER)
BY_ROW(fg_schedule_entry, FG_REGISTRY_SCHEDULE)
BY_ROW(fg_format_entry, FG_REGISTRY_FORMAT)
BY_ROW(fg_callback_entry, FG_REGISTRY_CALLBACK)
BY_ROW(fg_logger_entry, FG_REGISTRY_LOGGER)

/* ---- tables of functions, and what a fit takes ----------------------------------------------- */

static bool is_destroyed;
static void destroy(void *self) { is_destroyed = true; }

#define NEWER_TABLE(type)                                                                          \
    type o = {0};                                                                                  \
    LAST(o.reserved) = never

#define BY_TABLE(type, expression)                                                                 \
    static void by_##type(fg_error *err)                                                           \
    {                                                                                              \
        NEWER_TABLE(type);                                                                         \
        fg_trainer *t = NULL;                                                                      \
        o.destroy = destroy;                                                                       \
        is_destroyed = false;                                                                      \
        assert_int_equal(fg_trainer_create(NULL, &t, err), FG_OK);                                 \
        assert_int_equal(expression, FG_EINVAL);                                                   \
        assert_true(is_destroyed); /* self is taken, also after a failure */                       \
        fg_trainer_destroy(t);                                                                     \
    }

static const fg_dataset_spec no_spec;
BY_TABLE(fg_dataset_ops, fg_dataset_create(&o, NULL, &no_spec, &dataset, err))
BY_TABLE(fg_source_ops, fg_dataset_from_source(&o, NULL, &no_spec, &dataset, err))
BY_TABLE(fg_callback_ops, fg_trainer_add_callback(t, &o, NULL, err))
BY_TABLE(fg_logger_ops, fg_trainer_add_logger(t, &o, NULL, err))

static void by_fg_run_info(fg_error *err)
{
    NEWER(fg_run_info, 0);
    fg_trainer *t = NULL;
    assert_int_equal(fg_trainer_create(NULL, &t, err), FG_OK);
    assert_int_equal(fg_trainer_set_run_info(t, &o, err), FG_EINVAL);
    fg_trainer_destroy(t);
}

static void fit(const fg_task *task, const fg_fit_data *data, fg_error *err)
{
    fg_trainer *t = NULL;
    assert_int_equal(fg_trainer_create(NULL, &t, err), FG_OK);
    assert_int_equal(fg_trainer_validate(t, task, data, err), FG_EINVAL);
    assert_int_equal(fg_trainer_fit(t, task, data, err), FG_EINVAL);
    fg_trainer_destroy(t);
}

static const fg_task_ops no_ops;
static const fg_fit_data no_data;

static void by_fg_task_ops(fg_error *err)
{
    NEWER_TABLE(fg_task_ops);
    fit(&(fg_task){.name = "t", .ops = &o}, &no_data, err);
}

static void by_fg_task(fg_error *err)
{
    NEWER(fg_task, .name = "t", .ops = &no_ops);
    fit(&o, &no_data, err);
}

static void by_fg_fit_data(fg_error *err)
{
    NEWER(fg_fit_data, 0);
    fit(&(fg_task){.name = "t", .ops = &no_ops}, &o, err);
}

/* ---- the lists ------------------------------------------------------------------------------- */

static const reserved_row refused[] = {
    ROW(fg_adam_options),
    ROW(fg_affine_options),
    ROW(fg_array_options),
    ROW(fg_batch_find_options),
    ROW(fg_batch_norm_options),
    ROW(fg_callback_ops),
    ROW(fg_logger_ops),
    ROW(fg_run_info),
    ROW(fg_ckpt_content),
    ROW(fg_ckpt_options),
    ROW(fg_hub_options),
    ROW(fg_client_options),
    ROW(fg_check_options),
    ROW(fg_norm_options),
    ROW(fg_embedding_options),
    ROW(fg_multihead_attention_options),
    ROW(fg_transformer_block_options),
    ROW(fg_attention_options),
    ROW(fg_attention_masks),
    ROW(fg_recurrent_options),
    ROW(fg_recurrent_state),
    ROW(fg_operation),
    ROW(fg_scan_options),
    ROW(fg_while_options),
    ROW(fg_custom_call_options),
    ROW(fg_conv2d_options),
    ROW(fg_conv_options),
    ROW(fg_conv_transpose_options),
    ROW(fg_triangular_solve_options),
    ROW(fg_crop_resize_options),
    ROW(fg_cross_entropy_options),
    ROW(fg_focal_options),
    ROW(fg_bce_options),
    ROW(fg_sigmoid_focal_options),
    ROW(fg_dataset_ops),
    ROW(fg_distribute_options),
    ROW(fg_dot_options),
    ROW(fg_fit_data),
    ROW(fg_host_options),
    ROW(fg_profile_options),
    ROW(fg_linear_options),
    ROW(fg_load_options),
    ROW(fg_loss_scale_options),
    ROW(fg_lr_losses),
    ROW(fg_loss_entry),
    ROW(fg_mesh_options),
    ROW(fg_model_entry),
    ROW(fg_format_entry),
    ROW(fg_callback_entry),
    ROW(fg_logger_entry),
    ROW(fg_model_options),
    ROW(fg_entry),
    ROW(fg_option),
    ROW(fg_sharding_rule),
    ROW(fg_onecycle_options),
    ROW(fg_optimizer_entry),
    ROW(fg_optimizer_groups),
    ROW(fg_optimizer_part),
    ROW(fg_pool_options),
    ROW(fg_regression_options),
    ROW(fg_schedule),
    ROW(fg_schedule_entry),
    ROW(fg_sgd_options),
    ROW(fg_source_ops),
    ROW(fg_task),
    ROW(fg_task_ops),
    ROW(fg_trainer_options),
    ROW(fg_trainer_devices),
    ROW(fg_trainer_limits),
    ROW(fg_trainer_validation),
    ROW(fg_trainer_lr),
    ROW(fg_trainer_checkpoints),
    ROW(fg_trainer_numerics),
    ROW(fg_trainer_output),
    ROW(fg_trainer_divergence),
    ROW(fg_trainer_hang),
    ROW(fg_training_options),
    ROW(fg_onnx_options),
    ROW(fg_variable_options),
};
/* Filled by the library in memory of the caller's, or elements of its arrays. */
static const char *const filled[] = {
    "fg_batch_fit",     "fg_catalog_item",  "fg_client_stats",
    "fg_csv_column",    "fg_compile_event", "fg_csv_layout",
    "fg_csv_parts",     "fg_device_info",   "fg_idle",
    "fg_image_info",    "fg_host_read",     "fg_input_rate",
    "fg_input_report",  "fg_loader_stages", "fg_load_entry",
    "fg_load_report",   "fg_loader_stats",  "fg_lr_suggestions",
    "fg_module_info",   "fg_plan",          "fg_plugin_candidate",
    "fg_check_result",  "fg_step_cost",     "fg_step_times",
    "fg_topology_info", "fg_time_window",   "fg_tpu_use",
};
/* Refused, or filled and cleared, in test_recipe.c, test_pack_round_trip.c and test_packer.c,
 * test_lr_find.c, test_profile.c, test_sweep.c, test_recipe_text.c, test_tokenizer.c. */
static const char *const elsewhere[] = {
    "fg_fit_options",        "fg_evaluate_options",    "fg_recipe_command",
    "fg_plan_options",       "fg_recipe_options",      "fg_pack_entry",
    "fg_pack_options",       "fg_pack_report",         "fg_pack_arrays_options",
    "fg_pack_export_result", "fg_pack_writer_options", "fg_pack_built",
    "fg_lr_find_options",    "fg_sweep_options",       "fg_profile_info",
    "fg_sample_options",     "fg_encode_options",      "fg_decode_options",
    "fg_bench_options",
};
/* Made by the library, seen through a pointer: members are added at the end. */
static const char *const borrowed[] = {
    "fg_chip",        "fg_evaluation",  "fg_client_info",   "fg_finding",       "fg_fit_settings",
    "fg_hang",        "fg_host_batch",  "fg_host_info",     "fg_host_variable", "fg_progress",
    "fg_result",      "fg_tensor_info", "fg_recipe_result", "fg_format_data",   "fg_format_request",
    "fg_log_start",   "fg_log_saved",   "fg_log_end",       "fg_log_line",      "fg_log_item",
    "fg_backward",    "fg_pack_fault",  "fg_pack_info",     "fg_pack_progress", "fg_pack_reject",
    "fg_predictions",
};
/* Values that other structs and arrays contain: they never change. */
static const char *const values[] = {
    "fg_log_node",    "fg_attachment",   "fg_ckpt_tensor",    "fg_option_text", "fg_error",
    "fg_int_pair",    "fg_int_map",      "fg_field",          "fg_image_box",   "fg_init",
    "fg_mesh_axis",   "fg_mesh_info",    "fg_model_shape",    "fg_metric",      "fg_scalar",
    "fg_tensor",      "fg_type",         "fg_format_files",   "fg_sample_key",  "fg_log_setting",
    "fg_epoch_part",  "fg_sample_row",   "fg_ints",           "fg_floats",      "fg_strings",
    "fg_amount",      "fg_option_items", "fg_program_arrays", "fg_string_pair", "fg_string_map",
    "fg_loader_rate", "fg_name_rule",    "fg_config_rule",    "fg_published",   "fg_token_list",
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Row i of both lists. */
static const reserved_row *row_at(size_t i)
{
    return i < COUNT(refused) ? &refused[i] : &reserved_data_rows[i - COUNT(refused)];
}

static size_t row_count(void) { return COUNT(refused) + reserved_data_row_count; }

static void non_zero_is_refused(void **state)
{
    for (size_t i = 0; i < row_count(); i++) {
        const reserved_row *row = row_at(i);
        char want[256];
        fg_error err = {0};
        row->give(&err);
        (void)snprintf(want, sizeof want,
                       "%s: 'reserved' must be zero: the struct is not initialized, or the program "
                       "was compiled against newer headers than the library",
                       row->type);
        if (err.status != FG_EINVAL || strstr(err.message, want) == NULL)
            fail_msg("%s: %s: '%s'", row->type, fg_status_name(err.status), err.message);
    }
}

/* Each byte counts, the first and the last. */
static void each_byte_is_looked_at(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof((fg_fit_data *)NULL)->reserved; i++) {
        fg_fit_data data = {.batch_size = 1};
        ((unsigned char *)data.reserved)[i] = 128;
        assert_int_equal(fgi_check_reserved(FGI_RESERVED(fg_fit_data, &data), NULL), FG_EINVAL);
    }
}

/* Fills *p with ones, so that what the library leaves alone is seen. */
#define FRESH(type, p)                                                                             \
    type p;                                                                                        \
    memset(&(p), 0xff, sizeof(p))
#define IS_CLEAR(type, p) (fgi_check_reserved(FGI_RESERVED(type, &(p)), NULL) == FG_OK)

static void a_detected_layout_is_clear(void **state)
{
    fg_error err = {0};
    FRESH(fg_csv_layout, layout);
    fgt_ok(fg_csv_detect(reserved_csv_file(), &layout, &err));
    assert_true(IS_CLEAR(fg_csv_layout, layout));
}

static void library_clears_what_it_fills(void **state)
{
    fg_error err = {0};
    FRESH(fg_csv_parts, parts);
    FRESH(fg_csv_column, column);
    FRESH(fg_input_rate, rate);
    FRESH(fg_image_info, image);
    FRESH(fg_topology_info, topology);
    FRESH(fg_plugin_candidate, candidate);
    FRESH(fg_check_result, check);
    FRESH(fg_module_info, module);
    size_t count = 0;
    fgt_ok(fg_csv_load(reserved_csv_file(), &(fg_csv_options){.target = "b"}, &parts, &err));
    fgt_ok(fg_csv_schema_column(parts.schema, 0, &column, &err));
    fgt_ok(fg_input_rate_measure(parts.train, NULL, 1e-3, &rate, &err));
    assert_int_equal(fg_image_probe("none", NULL, 0, &image, &err), FG_EFORMAT);
    fgt_ok(fg_topology_describe("v5e:2x4", &topology, &err));
    fgt_ok(fg_plugin_search(&(fg_client_options){.accelerator = "cpu", .plugin_path = "p.so"},
                            &candidate, 1, &count, &err));
    assert_int_equal(fg_client_check(NULL, NULL, &check, &err), FG_EINVAL);
    fg_module *root = root_of();
    assert_true(fg_module_info_at(root, 0, &module));
    assert_true(IS_CLEAR(fg_csv_parts, parts));
    assert_true(IS_CLEAR(fg_csv_column, column));
    assert_true(IS_CLEAR(fg_input_rate, rate));
    assert_true(IS_CLEAR(fg_image_info, image));
    assert_true(IS_CLEAR(fg_topology_info, topology));
    assert_true(IS_CLEAR(fg_plugin_candidate, candidate));
    assert_true(IS_CLEAR(fg_check_result, check));
    assert_true(IS_CLEAR(fg_module_info, module));
    fg_module_destroy(root);
    fg_csv_schema_destroy(parts.schema);
    fg_dataset_destroy(parts.train);
    fg_dataset_destroy(parts.val);
}

static bool is_in(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

static bool is_refused(const char *name)
{
    for (size_t i = 0; i < row_count(); i++)
        if (strcmp(row_at(i)->type, name) == 0)
            return true;
    return false;
}

static void check_struct(const char *header, const char *name, bool has_reserved)
{
    const bool grows = is_refused(name) || is_in(name, filled, COUNT(filled)) ||
                       is_in(name, elsewhere, COUNT(elsewhere));
    const bool stays = is_in(name, borrowed, COUNT(borrowed)) || is_in(name, values, COUNT(values));
    if (!grows && !stays)
        fail_msg("%s: struct %s is in none of this test's lists: say how it can grow "
                 "(docs/versioning.md)",
                 header, name);
    if (grows != has_reserved)
        fail_msg("%s: struct %s %s", header, name,
                 grows ? "needs 'reserved' as its last member"
                       : "has 'reserved', but no row that it is refused or cleared");
}

/* Counts the structs of a header, "typedef struct NAME {" to "} NAME;". */
static size_t check_header(const char *header, char *text)
{
    size_t count = 0;
    const char start[] = "\ntypedef struct ";
    for (char *at = text; (at = strstr(at, start)) != NULL;) {
        at += sizeof start - 1;
        const size_t length = strcspn(at, " ;");
        if (strncmp(at + length, " {", 2) != 0)
            continue; /* opaque */
        char name[64];
        (void)snprintf(name, sizeof name, "%.*s", (int)length, at);
        char *end = strstr(at, "\n}");
        assert_non_null(end);
        *end = '\0';
        check_struct(header, name, strstr(at, "reserved") != NULL);
        at = end + 1;
        count++;
    }
    return count;
}

static size_t check_headers(const char *folder)
{
    size_t count = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char *text = NULL;
        size_t size = 0;
        fg_error err = {0};
        if (strstr(entry->d_name, ".h") == NULL || strcmp(entry->d_name, "aug.h") == 0)
            continue; /* aug.h: test_aug.c */
        fgt_ok(fgi_file_read(fgt_path(folder, entry->d_name), 1 << 20, &text, &size, &err));
        count += check_header(entry->d_name, text);
        fgi_free(text);
    }
    closedir(dir);
    return count;
}

static void every_struct_has_a_way_to_grow(void **state)
{
    const size_t count = check_headers(FGT_SOURCE_DIR "/include/fulgurite") +
                         check_headers(FGT_SOURCE_DIR "/include/fulgurite/ops");
    assert_int_equal(count, row_count() + COUNT(filled) + COUNT(borrowed) + COUNT(values) +
                                COUNT(elsewhere));
}

static void the_documentation_lists_the_values(void **state)
{
    char *text = NULL, name[64];
    size_t size = 0;
    fg_error err = {0};
    fgt_ok(fgi_file_read(FGT_SOURCE_DIR "/docs/versioning.md", 1 << 20, &text, &size, &err));
    for (size_t i = 0; i < COUNT(values); i++) {
        (void)snprintf(name, sizeof name, "`%s`", values[i]);
        if (strstr(text, name) == NULL)
            fail_msg("docs/versioning.md does not list %s", name);
    }
    fgi_free(text);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_documentation_lists_the_values),
    cmocka_unit_test(non_zero_is_refused),
    cmocka_unit_test(each_byte_is_looked_at),
    cmocka_unit_test(a_detected_layout_is_clear),
    cmocka_unit_test(library_clears_what_it_fills),
    cmocka_unit_test(every_struct_has_a_way_to_grow),
};
FGT_MAIN(tests)
