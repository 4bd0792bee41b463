/* aot.c - the helpers of aot.h: a task with a model by name, data of the right shape, one compile.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "aot.h"

#include "fgt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

enum { CLASSES = 10, PLACES = 64, CASES_MAX = 1024 };

void aot_need(const char *accelerator)
{
    static fg_plugin_candidate places[PLACES];
    fg_error err = {0};
    size_t count = 0;
    if (fg_plugin_search(&(fg_client_options){.accelerator = accelerator}, places, PLACES, &count,
                         &err) == FG_OK)
        for (size_t i = 0; i < count && i < PLACES; i++)
            if (places[i].exists)
                return;
    printf("skipped: no PJRT plugin for '%s' is installed (fulgurite setup %s)\n", accelerator,
           strcmp(accelerator, "cuda") == 0 ? "cuda13" : accelerator);
    exit(77);
}

/* ---- the task -------------------------------------------------------------------------------- */

/* "transformers": the sum of the losses of these, with few layers; images, or their first pixels as
 * tokens. */
static const struct {
    const char *name, *options;
    bool reads_tokens;
} small[] = {
    {"gpt2", "{layers: 1, width: 64, heads: 2, length: 17}", true},
    {"bert", "{vocabulary: 256, layers: 1, width: 64, heads: 2, intermediate: 256, length: 17}",
     true},
    {"vit", "{patch: 8, layers: 1, width: 64, heads: 2}", false},
    {"convnext", "{depths: [1, 1, 1, 1], widths: [16, 24, 32, 40]}", false},
};
enum { SMALL = sizeof small / sizeof small[0], TOKENS = 17 };

typedef struct aot_task {
    const aot_case *wanted;
    fg_type input;
    fg_model *model[SMALL]; /* otherwise the first */
} aot_task;

static bool adds(const aot_case *wanted) { return strcmp(wanted->model, "transformers") == 0; }

/* "decoded": the sum of images that are stored as DCT coefficients, with two bytes each for some,
 * and of images that are stored as planes, then "linear". */
static const fg_image_encoding encoding = {
    .coding = FG_IMAGE_DCT, .height = 61, .width = 48, .h = {2, 1, 1}, .v = {2, 1, 1}, .high = 5};

static const fg_image_encoding planes = {.coding = FG_IMAGE_YCC420, .height = 61, .width = 48};

static bool decodes(const aot_case *wanted) { return strcmp(wanted->model, "decoded") == 0; }

/* "augmented": all augmentations, then "linear". */
static bool augments(const aot_case *wanted) { return strcmp(wanted->model, "augmented") == 0; }

static fg_tensor augmented(const fg_batch *batch, fg_tensor x)
{
    fg_sample_key key = fg_batch_key(batch);
    x = fg_aug_random_resized_crop(
        x, &key, &(fg_aug_random_resized_crop_options){.height = 24, .width = 20});
    x = fg_aug_random_affine(
        x, &key, &(fg_aug_random_affine_options){.degrees = 30, .translate = 0.1, .shear = 10});
    x = fg_aug_random_crop(
        x, &key,
        &(fg_aug_random_crop_options){.height = 16, .width = 16, .padding = 4, .mode = "reflect"});
    x = fg_aug_random_flip(x, &key, NULL);
    x = fg_aug_color_jitter(x, &key,
                            &(fg_aug_color_jitter_options){
                                .brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1});
    x = fg_aug_grayscale(x, &key, NULL);
    x = fg_aug_gaussian_blur(x, &key, &(fg_aug_gaussian_blur_options){.size = 5});
    return fg_aug_random_erasing(x, &key, NULL);
}

/* "mixed": both policies, mixup and cutmix, then "linear". */
static bool mixes(const aot_case *wanted) { return strcmp(wanted->model, "mixed") == 0; }

static fg_tensor mixed(const fg_batch *batch, fg_tensor x, fg_tensor *target)
{
    fg_sample_key key = fg_batch_key(batch);
    x = fg_aug_rand_augment(x, &key, &(fg_aug_rand_augment_options){.operations = 1});
    x = fg_aug_trivial_augment(x, &key, NULL);
    x = fg_aug_cutmix(x, target, &key, NULL);
    return fg_aug_mixup(x, target, &key, NULL);
}

/* The input as the model gets it. */
static fg_tensor input(const aot_task *t, const fg_batch *batch, fg_tensor *target)
{
    const fg_tensor x = fg_batch_at(batch, 0);
    if (mixes(t->wanted))
        return mixed(batch, x, target);
    if (decodes(t->wanted))
        return fg_add(fg_cast(fg_decode_images(x, &encoding), FG_F32),
                      fg_cast(fg_decode_images(fg_batch_at(batch, 2), &planes), FG_F32));
    return augments(t->wanted) ? augmented(batch, x) : x;
}

static void build(void *self, fg_module *root)
{
    aot_task *t = self;
    fg_model_options options = {.name = t->wanted->model, .input = t->input, .outputs = CLASSES};
    if (augments(t->wanted) || mixes(t->wanted)) {
        options.name = "linear";
        options.input.dtype = FG_F32;
    }
    if (decodes(t->wanted)) {
        options.name = "linear";
        options.input = (fg_type){.dtype = FG_F32, .rank = 3, .dim = {61, 48, 3}};
    }
    if (!adds(t->wanted)) {
        t->model[0] = fg_model_create(root, &options);
        return;
    }
    for (size_t i = 0; i < SMALL; i++) {
        options.name = small[i].name;
        options.options = small[i].options;
        if (small[i].reads_tokens)
            options.input = (fg_type){.dtype = FG_S32, .rank = 1, .dim = {TOKENS}};
        else
            options.input = t->input;
        t->model[i] = fg_model_create(fg_module_child(root, small[i].name), &options);
    }
}

/* The sum of the losses; that of the language model is not its task's. */
static fg_tensor sum_of_losses(const aot_task *t, fg_step *st, const fg_batch *batch)
{
    const fg_tensor x = fg_batch_at(batch, 0), y = fg_batch_at(batch, 1);
    const int64_t first[] = {0, 0}, last[] = {fg_tensor_type(x)->dim[0], TOKENS};
    const fg_tensor tokens = fg_cast(fg_slice(fg_flatten(x, 1), first, last, NULL), FG_S32);
    fg_tensor sum = fg_zeros(fg_step_trace(st), FG_F32, FG_SCALAR);
    for (size_t i = 0; i < SMALL; i++) {
        const fg_tensor out = fg_model_apply(t->model[i], small[i].reads_tokens ? tokens : x);
        const bool is_class = fg_tensor_type(out)->rank == 2;
        sum = fg_add(sum, is_class ? fg_cross_entropy(out, y, NULL)
                                   : fg_mean(fg_square(fg_cast(out, FG_F32)), 0, NULL));
        if (is_class)
            fg_step_log(st, small[i].name, fg_accuracy(out, y));
    }
    return sum;
}

static fg_tensor step(void *self, fg_step *st, const fg_batch *batch)
{
    const aot_task *t = self;
    const fg_tensor label = fg_batch_at(batch, 1);
    if (adds(t->wanted))
        return sum_of_losses(t, st, batch);
    fg_tensor target = mixes(t->wanted) ? fg_one_hot(label, CLASSES, FG_F32) : label;
    const fg_tensor logits = fg_model_apply(t->model[0], input(t, batch, &target));
    fg_step_log(st, "acc", fg_accuracy(logits, label));
    return fg_cross_entropy(logits, target, NULL);
}

static fg_tensor predict(void *self, fg_step *st, const fg_batch *batch)
{
    const aot_task *t = self;
    fg_tensor none = {0};
    (void)st;
    return fg_softmax(fg_model_apply(t->model[0], input(t, batch, &none)));
}

static fg_optimizer *optimizer(void *self, fg_module *root)
{
    const aot_task *t = self;
    if (adds(t->wanted))
        return fg_adamw_create(root, &(fg_adamw_options){.lr = 0.001});
    if (strcmp(t->wanted->model, "mlp") == 0)
        return fg_adam_create(root, &(fg_adam_options){.lr = 0.001});
    return fg_sgd_create(root, &(fg_sgd_options){.lr = 0.1, .momentum = 0.9});
}

static const fg_task_ops ops = {.build = build,
                                .train_step = step,
                                .val_step = step,
                                .predict_step = predict,
                                .optimizer = optimizer};

/* ---- the data -------------------------------------------------------------------------------- */

static fg_type input_of(const char *model)
{
    if (strcmp(model, "mlp") == 0 || strcmp(model, "linear") == 0)
        return (fg_type){.dtype = FG_F32, .rank = 1, .dim = {784}};
    if (strncmp(model, "resnet", 6) == 0 || strcmp(model, "augmented") == 0 ||
        strcmp(model, "mixed") == 0)
        return (fg_type){.dtype = FG_U8, .rank = 3, .dim = {16, 16, 3}};
    if (strcmp(model, "transformers") == 0)
        return (fg_type){.dtype = FG_U8, .rank = 3, .dim = {32, 32, 3}};
    if (strcmp(model, "decoded") == 0) /* 8 x 6 blocks of Y, 4 x 3 of Cb and of Cr */
        return (fg_type){.dtype = FG_S8, .rank = 1, .dim = {(64 + 5) * 72 + 3 * 128}};
    return (fg_type){.dtype = FG_U8, .rank = 3, .dim = {28, 28, 1}};
}

/* Samples of a device. Compilers take longer for convolutions of larger batches (LeNet's step for
 * v5e: 5 s for 8 images, 11 s for 32), with the same result. */
static int64_t batch_of(const char *model) { return strcmp(model, "mlp") == 0 ? 32 : 8; }

/* `count` samples of nothing. */
static fg_dataset *make_data(const fg_type *input, int64_t count, bool has_planes)
{
    fg_error err = {0};
    fg_dataset *dataset = NULL;
    const fg_field fields[] = {
        {"x", *input}, {"y", {.dtype = FG_S32}}, {"planes", fg_image_encoding_type(&planes)}};
    const fg_dataset_spec spec = {.count = count,
                                  .fields = fields,
                                  .field_count = has_planes ? 3 : 2,
                                  .class_count = CLASSES};
    void *x = calloc((size_t)count + 1, fg_type_bytes(input));
    int32_t *y = calloc((size_t)count + 1, sizeof *y);
    void *z = calloc((size_t)count + 1, fg_type_bytes(&fields[2].type));
    assert_true(x != NULL && y != NULL && z != NULL);
    const void *arrays[] = {x, y, z};
    fgt_ok(fg_dataset_from_arrays(&spec, arrays, FG_COPY, &dataset, &err));
    free(x);
    free(y);
    free(z);
    return dataset;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static void read_numbers(const fgi_executable *executable, aot_result *out)
{
    fg_error err = {0};
    char *data = NULL;
    size_t size = 0;
    fgi_hlo *hlo = NULL;
    fgt_ok(fgi_executable_counts(executable, &out->replicas, &out->partitions, &err));
    out->cost = fgi_executable_cost(executable);
    fgt_ok(fgi_executable_serialize(executable, &data, &out->serialized_bytes, &err));
    fgi_free(data);
    (void)fgi_executable_fingerprint(executable, out->fingerprint);
    fgt_ok(fgi_executable_optimized(executable, &data, &size, &err));
    const char *dump = getenv("FGT_AOT_DUMP"); /* for people: the optimized program as a file */
    if (dump != NULL)
        fgt_write(dump, data, size);
    fgt_ok(fgi_hlo_read(data, size, &hlo, &err));
    fgi_hlo_count(hlo, &out->counts);
    fgi_hlo_free(hlo);
    fgi_free(data);
}

static void compile_with(fg_client *client, const aot_case *wanted, aot_result *out)
{
    fg_error err = {0};
    aot_task self = {.wanted = wanted, .input = input_of(wanted->model)};
    const fg_task task = {.name = wanted->model, .self = &self, .ops = &ops};
    fg_trainer *trainer = NULL;
    const fgi_executable *executable = NULL;
    out->device_count = fg_client_info_of(client)->device_count;
    const int64_t each = batch_of(wanted->model), batch = each * out->device_count;
    fg_dataset *data =
        make_data(&self.input, wanted->has_tail ? batch + 1 : batch, decodes(wanted));
    const fg_trainer_options options = {.devices.client = client,
                                        .numerics.precision = wanted->precision,
                                        .devices.strategy = wanted->strategy};
    fgt_ok(fg_trainer_create(&options, &trainer, &err));
    fgt_ok(fgi_trainer_compile(
        trainer, &task, wanted->kind,
        &(fg_fit_data){.train = data, .val = data, .predict = data, .batch_size = each},
        &executable, &err));
    out->state = fgi_state_bytes_of(&trainer->model, trainer->client);
    out->compile_s = fg_client_stats_of(client).compile_s;
    read_numbers(executable, out);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
}

/* The machine with this number of devices of a generation. The smallest machines of some
 * generations have two devices, of which one is used. */
static void machine_of(const aot_case *wanted, char topology[32], const char **devices)
{
    static const struct {
        const char *generation, *one, *eight, *many;
    } rows[] = {
        {"v2", "v2:1x1", "v2-8", "v2-256"},        {"v3", "v3:1x1", "v3-8", "v3-256"},
        {"v4", "v4:1x1x1", "v4-16", "v4-512"},     {"v5e", "v5e-1", "v5e-8", "v5e-256"},
        {"v5p", "v5p:1x1x1", "v5p-16", "v5p-512"}, {"v6e", "v6e-1", "v6e-8", "v6e-256"},
        {"7x", "7x:1x1x1", "7x-8", "7x-256"},
    };
    *devices = wanted->devices == 1 ? "1" : NULL;
    (void)snprintf(topology, 32, "%s:%d", wanted->generation, wanted->devices);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].generation, wanted->generation) == 0)
            (void)snprintf(topology, 32, "%s",
                           wanted->devices == 1   ? rows[i].one
                           : wanted->devices == 8 ? rows[i].eight
                                                  : rows[i].many);
}

void aot_compile(const aot_case *wanted, aot_result *out)
{
    char topology[32];
    fg_error err = {0};
    fg_client *client = NULL;
    fg_client_options options = {0};
    machine_of(wanted, topology, &options.devices);
    options.topology = topology;
    *out = (aot_result){0};
    fgt_ok(fg_client_open(&options, &client, &err));
    compile_with(client, wanted, out);
    fg_client_close(client);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static void print(const aot_case *wanted, const aot_result *r)
{
    static const char *const kinds[] = {"train", "val", "test", "predict"};
    const fgi_hlo_counts *c = &r->counts;
    printf("  %s x %d, %s %s %s %s: %.1f s; donated %" PRId64 " bytes; products:",
           wanted->generation, r->device_count, wanted->model, kinds[wanted->kind],
           wanted->precision != NULL ? wanted->precision : "32-true",
           wanted->strategy != NULL ? wanted->strategy : "", r->compile_s, c->donated_bytes);
    for (int d = 0; d < FGI_DTYPES; d++)
        if (c->dots[d] + c->convs[d] > 0)
            printf(" %s %d dots %d convolutions", fg_dtype_name((fg_dtype)d), c->dots[d],
                   c->convs[d]);
    for (int k = 0; k < FG_COLLECTIVES; k++)
        if (c->collectives[k] > 0)
            printf("; %s %d, %" PRId64 " bytes", fg_collective_name((fg_collective)k),
                   c->collectives[k], c->collective_bytes[k]);
    printf("\n");
}

/* Matmuls and convolutions in a model: forward, and backward with respect to the weights and,
 * except in the first layer, the input. */
static int matmul_count(const aot_case *wanted)
{
    static const struct {
        const char *model;
        int layers;
    } rows[] = {{"mlp", 3}, {"lenet", 5}, {"resnet18", 21}, {"resnet50", 54}};
    int layers = 0;
    if (mixes(wanted)) /* only the layer's; nearest pixels need none */
        return 2;
    if (augments(wanted)) /* two resize boxes; the images have no gradient */
        return 2 + (wanted->kind == FGI_TRAIN ? 2 : 1);
    if (decodes(
            wanted)) /* the inverse DCT, and twice as many columns: at least once for all planes */
        return 2 + (wanted->kind == FGI_TRAIN ? 2 : 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].model, wanted->model) == 0)
            layers = rows[i].layers;
    return wanted->kind == FGI_TRAIN ? 3 * layers - 1 : layers;
}

/* Whether the compiler may use this dtype for a matmul requested in f32 or another precision. */
static bool may_multiply(const aot_case *wanted, fg_dtype dtype)
{
    const bool is_gpu = strchr("ahb", wanted->generation[0]) != NULL;
    const char *precision = wanted->precision;
    if (precision == NULL) /* a TPU multiplies f32 as bf16 unless told otherwise, and shows it */
        return dtype == FG_F32 || (dtype == FG_BF16 && !is_gpu);
    return dtype == (strncmp(precision, "bf16", 4) == 0 ? FG_BF16
                     : precision[0] == '1'              ? FG_F16
                                                        : FG_F64);
}

static bool is(const char *text, const char *name)
{
    return text != NULL && strcmp(text, name) == 0;
}

static void check_matmuls(const aot_case *wanted, const aot_result *r)
{
    int count = 0;
    for (int d = 0; d < FGI_DTYPES; d++) {
        const int here = r->counts.dots[d] + r->counts.convs[d];
        if (here > 0 && !may_multiply(wanted, (fg_dtype)d))
            fail_msg("%d products of %s", here, fg_dtype_name((fg_dtype)d));
        count += here;
    }
    /* with sharded weights, some matmuls are split; those of planes with the same matrix are merged
     * by some compilers */
    if (!is(wanted->strategy, "fsdp") && !decodes(wanted) && !adds(wanted))
        assert_int_equal(count, matmul_count(wanted));
    assert_true(count >= matmul_count(wanted));
}

/* On eight v5e and v6e devices, libtpu gives each device its shard of the gradients, padded to
 * whole tiles; only small values are summed whole. Elsewhere it sums them whole, as for JAX. */
static void check_scatter(const aot_case *wanted, const aot_result *r)
{
    const bool scatters = is(wanted->generation, "v5e") || is(wanted->generation, "v6e");
    const bool is_half = wanted->precision != NULL;
    const int64_t part = r->state.parameters / (is_half ? 2 : 1); /* of one device */
    const int64_t *bytes = r->counts.collective_bytes;
    if (!scatters || r->device_count != 8 || wanted->kind != FGI_TRAIN || !is(wanted->model, "mlp"))
        return;
    assert_true(bytes[FG_REDUCE_SCATTER] > part - part / 10);
    assert_true(bytes[FG_REDUCE_SCATTER] < part + part / 10);
    assert_true(bytes[FG_ALL_REDUCE] < part / 4);
}

/* Mixing samples needs one row of images and targets of other devices, in each of both ways. */
static int64_t mixed_bytes(const aot_case *wanted)
{
    return mixes(wanted) ? 2 * (16 * 16 * 3 + CLASSES) * (int64_t)sizeof(float) : 0;
}

/* One device has no collectives. On several, gradients (in 16 bits if computed so) and sums of
 * metrics are all-reduced, once each, and nothing is gathered. If samples are mixed, all
 * devices also receive the first row, and each one that after its last (as u8 where they still
 * are). Sharded weights are gathered, and gradients are summed with any collective. */
static void check_collectives(const aot_case *wanted, const aot_result *r)
{
    enum { METRICS = 2 };
    const int *times = r->counts.collectives;
    const bool is_alone = r->device_count == 1 || wanted->kind == FGI_PREDICT;
    if (is(wanted->strategy, "fsdp") && r->device_count > 1) {
        /* on many devices, libtpu gathers small shards with an all-reduce of zero-padded values */
        const int sums = times[FG_ALL_REDUCE] + times[FG_REDUCE_SCATTER];
        assert_true(times[FG_ALL_GATHER] > 0 || (r->device_count > 8 && sums > 1));
        assert_true(is_alone || sums > 0);
        check_scatter(wanted, r);
        return;
    }
    /* counts are known on every device, also of a tail's valid rows */
    const int64_t sums = METRICS * 4;
    const int64_t all = wanted->kind == FGI_TRAIN ? r->state.parameters : 0;
    const bool is_mixed = wanted->precision != NULL && strstr(wanted->precision, "mixed") != NULL;
    const int64_t gradients = is_mixed ? all / 2 : all;
    for (int k = 0; k < FG_COLLECTIVES; k++) {
        const bool wants_one = k == FG_ALL_REDUCE && !is_alone;
        if (k == FG_COLLECTIVE_PERMUTE && mixed_bytes(wanted) > 0) {
            assert_in_range(r->counts.collective_bytes[k], 1, mixed_bytes(wanted));
            continue;
        }
        if (wants_one != (times[k] > 0))
            fail_msg("%d times %s", times[k], fg_collective_name((fg_collective)k));
        /* batch norm adds the sums of its statistics in training; some gradients of transformers
         * are summed in f32 */
        const bool has_norm = strncmp(wanted->model, "resnet", 6) == 0 && wanted->kind == FGI_TRAIN;
        const int64_t bytes = r->counts.collective_bytes[k],
                      least = gradients + sums + mixed_bytes(wanted);
        if (wants_one && (has_norm || adds(wanted)))
            assert_in_range(bytes, least + 1, least + least / (has_norm ? 10 : 4));
        else
            assert_int_equal(bytes, wants_one ? least : 0);
    }
}

void aot_check(const aot_case *wanted)
{
    aot_result r;
    aot_compile(wanted, &r);
    print(wanted, &r);
    const int64_t state = r.state.parameters + r.state.buffers + r.state.optimizer;
    assert_int_equal(r.device_count, wanted->devices);
    assert_int_equal(r.replicas, 1);
    assert_int_equal(r.partitions, wanted->devices);
    assert_true(r.serialized_bytes > 0);
    assert_int_equal(r.counts.donated_bytes, wanted->kind == FGI_TRAIN ? state : 0);
    /* the plugin's own figure is padded to whole tiles */
    assert_true(r.cost.alias_bytes >= r.counts.donated_bytes);
    assert_true(r.cost.argument_bytes >= r.counts.parameter_bytes);
    check_matmuls(wanted, &r);
    check_collectives(wanted, &r);
}

static void check_one(void **state) { aot_check(*state); }

int aot_run(const aot_case *cases, size_t count)
{
    static struct CMUnitTest tests[CASES_MAX];
    static char names[CASES_MAX][96];
    static const char *const kinds[] = {"train", "val", "test", "predict"};
    for (size_t i = 0; i < count && i < CASES_MAX; i++) {
        const aot_case *c = &cases[i];
        (void)snprintf(names[i], sizeof names[i], "%s_x%d_%s_%s_%s_%s%s", c->generation, c->devices,
                       c->model, kinds[c->kind], c->precision != NULL ? c->precision : "32-true",
                       c->strategy != NULL ? c->strategy : "ddp", c->has_tail ? "_tail" : "");
        tests[i] = (struct CMUnitTest){.name = names[i], .test_func = check_one};
        memcpy(&tests[i].initial_state, &c, sizeof c);
    }
    return _cmocka_run_group_tests("aot", tests, count < CASES_MAX ? count : CASES_MAX, NULL,
                                   NULL) == 0
               ? 0
               : 1;
}
