/* test_train_padding.c - the Trainer's results on batches with padding rows equal those on the same
 * data without padding, for user-defined losses and metrics, on one and on several devices. On
 * virtual CPU devices.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "toy.h"

/* Numbers of devices, and a batch size divisible by them that 6 samples do not fill. */
static const struct {
    const char *devices;
    int64_t batch;
} padded[] = {{"1", 4}, {"1", 8}, {"2", 4}, {"3", 9}, {"8", 8}};
enum { PADDED = sizeof padded / sizeof padded[0] };

static fg_trainer *trainer_on(const char *devices, int64_t epochs)
{
    fg_error err = {0};
    fg_trainer *trainer;
    const fg_trainer_options options = {.devices.accelerator = "cpu",
                                        .devices.devices = devices,
                                        .devices.cache_dir = fgt_cache(fgt_temp_folder()),
                                        .output.log_every = 1,
                                        .limits.max_epochs = epochs};
    fgt_ok(toy_create(&options, &trainer, &err));
    return trainer;
}

/* ---- the mean of 1 to 6 ---------------------------------------------------------------------- */

static fg_dataset *numbers(int64_t count)
{
    static float x[16];
    fg_error err = {0};
    fg_dataset *data;
    const fg_field field = {"x", {.dtype = FG_F32}};
    const fg_dataset_spec spec = {.count = count, .fields = &field, .field_count = 1};
    for (int i = 0; i < 16; i++)
        x[i] = (float)(i + 1);
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *const[]){x}, FG_BORROW, &data, &err));
    return data;
}

static void build_nothing(void *self, fg_module *root) { (void)self, (void)root; }

/* Means and maxima of x, the number of samples, per-sample values, and a mean of log x. */
static fg_tensor measure(void *self, fg_step *step, const fg_batch *batch)
{
    (void)self;
    const fg_tensor x = fg_batch_at(batch, 0), count = fg_batch_count(batch);
    fg_step_log(step, "square", fg_mean(fg_square(x), 0, NULL));
    fg_step_log(step, "each", fg_mul_scalar(x, 2));
    fg_step_log(step, "by_hand", fg_div(fg_sum(x, 0, NULL), count));
    fg_step_log(step, "pairs",
                fg_broadcast_to(fg_reshape(x, FG_DIMS(-1, 1)), FG_DIMS(fg_tensor_dim(x, 0), 2)));
    fg_step_log(step, "integers", fg_cast(x, FG_S32));
    fg_step_log(step, "top", fg_max(x, 0, NULL));
    return fg_mean(x, 0, NULL);
}

static void means_count_samples(void **state)
{
    (void)state;
    const fg_task_ops ops = {.build = build_nothing, .val_step = measure};
    const fg_task task = {.name = "numbers", .ops = &ops};
    for (int i = 0; i < PADDED; i++) {
        fg_error err = {0};
        fg_dataset *data = numbers(6);
        fg_trainer *trainer = trainer_on(padded[i].devices, 1);
        const fg_fit_data fit = {.val = data, .global_batch_size = padded[i].batch};
        fgt_ok(fg_trainer_validate(trainer, &task, &fit, &err));
        fgt_close("loss", toy_metric(trainer, "val_loss"), 3.5, 1e-6, 0);
        fgt_close("square", toy_metric(trainer, "val_square"), 91.0 / 6, 1e-5, 0);
        fgt_close("each", toy_metric(trainer, "val_each"), 7, 1e-6, 0);
        fgt_close("by_hand", toy_metric(trainer, "val_by_hand"), 3.5, 1e-6, 0);
        fgt_close("pairs", toy_metric(trainer, "val_pairs"), 3.5, 1e-6, 0);
        fgt_close("integers", toy_metric(trainer, "val_integers"), 3.5, 1e-6, 0);
        /* the mean over all samples of the maximum of their batch */
        const double top = padded[i].batch == 4 ? (4 * 4 + 2 * 6) / 6.0 : 6;
        fgt_close("top", toy_metric(trainer, "val_top"), top, 1e-6, 0);
        fg_trainer_destroy(trainer);
        fg_dataset_destroy(data);
    }
}

/* ---- gradients of losses that mix the samples of a batch ------------------------------------- */

enum { SAMPLES = 10, FEATURES = 3, STEPS = 5 };

/* All samples in one batch, with padding. */
static const struct {
    const char *devices;
    int64_t batch;
} roomy[] = {{"1", 11}, {"1", 16}, {"2", 12}, {"3", 12}, {"8", 16}};
enum { ROOMY = sizeof roomy / sizeof roomy[0] };

typedef struct probe {
    fg_variable *w;
    fg_batch_norm *norm;
} probe;

static void build_probe(void *self, fg_module *root)
{
    probe *p = self;
    const fg_type type = {FG_F32, 2, {FEATURES, FEATURES}};
    const fg_variable_options options = {.init = {FG_INIT_UNIFORM, 0.5}, .seed = 3};
    p->w = fg_module_variable(root, "w", &type, &options);
    p->norm = fg_batch_norm_create(root, "norm", &(fg_batch_norm_options){.channels = FEATURES});
}

/* Batch statistics, maxima, a contrastive loss between the samples, their covariance. The logarithm
 * of a row of zeros would be infinite. */
static fg_tensor mixing_loss(void *self, fg_step *step, const fg_batch *batch)
{
    const probe *p = self;
    const int first[] = {0};
    const fg_tensor x = fg_batch_at(batch, 0), w = fg_variable_value(fg_step_trace(step), p->w);
    const fg_tensor y = fg_tanh(fg_matmul(x, w)), z = fg_batch_norm_apply(p->norm, y);
    const fg_tensor near = fg_matmul(z, fg_transpose(y));
    const fg_tensor own = fg_iota(fg_step_trace(step), FG_S32, 0, FG_DIMS(fg_tensor_dim(x, 0)));
    const fg_tensor centred = fg_sub(y, fg_mean(y, 1, first));
    const fg_tensor count = fg_batch_count(batch);
    const fg_tensor covariance = fg_div(fg_matmul(fg_transpose(centred), centred), count);
    fg_tensor loss = fg_cross_entropy(near, own, NULL);
    loss = fg_add(loss, fg_mul_scalar(fg_sum(fg_square(covariance), 0, NULL), 0.3));
    loss = fg_add(loss, fg_mul_scalar(fg_sum(fg_max(y, 1, first), 0, NULL), 0.2));
    loss = fg_add(loss, fg_mean(fg_softmax(fg_transpose(y)), 0, NULL));
    const fg_tensor size = fg_sum(fg_square(fg_mul(x, fg_sum(w, 1, first))), 1, (const int[]){1});
    return fg_add(loss, fg_mul_scalar(fg_mean(fg_log(size), 0, NULL), 0.1));
}

static fg_optimizer *sgd(void *self, fg_module *root)
{
    (void)self;
    return fg_sgd_create(root, &(fg_sgd_options){.lr = 0.2, .momentum = 0.5});
}

static fg_dataset *points(void)
{
    static float x[SAMPLES * FEATURES];
    fg_error err = {0};
    fg_dataset *data;
    const fg_field field = {"x", {FG_F32, 1, {FEATURES}}};
    const fg_dataset_spec spec = {.count = SAMPLES, .fields = &field, .field_count = 1};
    for (int i = 0; i < SAMPLES * FEATURES; i++)
        x[i] = (float)sin(2.3 * i + 1);
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *const[]){x}, FG_BORROW, &data, &err));
    return data;
}

typedef struct outcome {
    double loss;
    float w[FEATURES * FEATURES], mean[FEATURES], var[FEATURES];
} outcome;

static void train(const char *devices, int64_t batch, outcome *out)
{
    fg_error err = {0};
    probe p;
    const fg_task_ops ops = {.build = build_probe, .train_step = mixing_loss, .optimizer = sgd};
    const fg_task task = {.name = "probe", .self = &p, .ops = &ops};
    fg_dataset *data = points();
    fg_trainer *trainer = trainer_on(devices, STEPS);
    fgt_ok(fg_trainer_fit(
        trainer, &task,
        &(fg_fit_data){.train = data, .global_batch_size = batch, .no_shuffle = true}, &err));
    const fg_module *root = fg_trainer_module(trainer);
    out->loss = toy_metric(trainer, "train_loss");
    fgt_ok(fg_variable_read(fg_module_find(root, "w"), out->w, sizeof out->w, &err));
    fgt_ok(fg_variable_read(fg_module_find(root, "norm.running_mean"), out->mean, sizeof out->mean,
                            &err));
    fgt_ok(fg_variable_read(fg_module_find(root, "norm.running_var"), out->var, sizeof out->var,
                            &err));
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
}

static void gradients_count_samples(void **state)
{
    (void)state;
    outcome whole, some;
    train("1", SAMPLES, &whole);
    for (int i = 0; i < ROOMY; i++) {
        train(roomy[i].devices, roomy[i].batch, &some);
        fgt_close("loss", some.loss, whole.loss, 0, 1e-5);
        for (int k = 0; k < FEATURES * FEATURES; k++)
            fgt_close("w", (double)some.w[k], (double)whole.w[k], 1e-5, 1e-5);
        for (int k = 0; k < FEATURES; k++) {
            fgt_close("mean", (double)some.mean[k], (double)whole.mean[k], 1e-6, 1e-5);
            fgt_close("var", (double)some.var[k], (double)whole.var[k], 1e-6, 1e-5);
        }
    }
}

/* ---- losses of tokens ------------------------------------------------------------------------ */

enum { SEQUENCES = 10, TOKENS = 3, INPUTS = 2, WORDS = 4, IGNORED = -100 };

/* Sequence s has s % 4 tokens to learn; the last two sequences, which are a separate batch, have
 * none. */
static int32_t word(int s, int token)
{
    return token >= s % 4 || s >= SEQUENCES - 2 ? IGNORED : (s * 7 + token * 3) % WORDS;
}

static float input_of(int s, int token, int i)
{
    return (float)cos(1.3 * s + 0.7 * token + 2.1 * i);
}

static fg_dataset *sequences(int32_t first_word)
{
    static float x[SEQUENCES][TOKENS][INPUTS];
    static int32_t y[SEQUENCES][TOKENS];
    fg_error err = {0};
    fg_dataset *data;
    const fg_field fields[] = {{"x", {FG_F32, 2, {TOKENS, INPUTS}}}, {"y", {FG_S32, 1, {TOKENS}}}};
    const fg_dataset_spec spec = {.count = SEQUENCES, .fields = fields, .field_count = 2};
    for (int s = 0; s < SEQUENCES; s++)
        for (int k = 0; k < TOKENS; k++) {
            y[s][k] = word(s, k);
            for (int i = 0; i < INPUTS; i++)
                x[s][k][i] = input_of(s, k, i);
        }
    y[1][0] = first_word;
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *const[]){x, y}, FG_COPY, &data, &err));
    return data;
}

/* The mean cross-entropy and accuracy over tokens, computed on the host. */
static void expected(const float *w, double *out_loss, double *out_acc)
{
    double loss = 0, right = 0, tokens = 0;
    for (int s = 0; s < SEQUENCES; s++)
        for (int k = 0; k < TOKENS; k++) {
            double logit[WORDS] = {0}, sum = 0;
            int best = 0;
            if (word(s, k) == IGNORED)
                continue;
            for (int c = 0; c < WORDS; c++) {
                for (int i = 0; i < INPUTS; i++)
                    logit[c] += (double)input_of(s, k, i) * (double)w[i * WORDS + c];
                sum += exp(logit[c]);
                best = logit[c] > logit[best] ? c : best;
            }
            loss += log(sum) - logit[word(s, k)];
            right += best == word(s, k);
            tokens++;
        }
    *out_loss = loss / tokens;
    *out_acc = right / tokens;
}

/* The terms of the loss in addition to the cross-entropy of tokens. */
typedef enum extra {
    NOTHING,
    SCALED,       /* half of it */
    PENALTY,      /* of the weights: independent of the batch */
    BY_HAND,      /* sum / sum, with its weight */
    SAMPLES_TOO,  /* and a mean over samples */
    SAMPLES_SAID, /* the same, with a weight */
    ROWS_ALONE,   /* two means over samples, without tokens */
    EXTRAS
} extra;

typedef struct language {
    fg_variable *w;
    extra extra;
} language;

static void build_language(void *self, fg_module *root)
{
    language *m = self;
    const fg_type type = {FG_F32, 2, {INPUTS, WORDS}};
    const fg_variable_options options = {.init = {FG_INIT_UNIFORM, 1}, .seed = 5};
    m->w = fg_module_variable(root, "w", &type, &options);
}

static fg_tensor language_loss(void *self, fg_step *step, const fg_batch *batch)
{
    const language *m = self;
    const fg_tensor x = fg_batch_at(batch, 0), y = fg_batch_at(batch, 1);
    const fg_tensor w = fg_variable_value(fg_step_trace(step), m->w);
    const fg_tensor flat = fg_matmul(fg_reshape(x, FG_DIMS(-1, INPUTS)), w);
    const fg_tensor logits = fg_reshape(flat, FG_DIMS(-1, TOKENS, WORDS));
    const fg_tensor is_word = fg_ne(y, fg_full(fg_step_trace(step), FG_S32, IGNORED, FG_SCALAR));
    const fg_tensor ce =
        fg_cross_entropy(logits, y, &(fg_cross_entropy_options){.ignore_index = IGNORED});
    const fg_tensor sample = fg_mean(fg_square(fg_tanh(logits)), 0, NULL);
    fg_step_log_weighted(step, "acc", fg_accuracy(logits, y), is_word);
    fg_step_log(step, "ce", fg_mul_scalar(ce, 2));
    switch (m->extra) {
    case SCALED: return fg_mul_scalar(fg_neg(ce), -0.5);
    case PENALTY: return fg_add(fg_mul_scalar(fg_sum(fg_square(w), 0, NULL), 0.01), ce);
    case BY_HAND: {
        const fg_tensor words = fg_cast(is_word, FG_F32);
        const fg_tensor count = fg_sum(words, 0, NULL);
        const fg_tensor top = fg_max(logits, 1, (const int[]){2});
        fg_step_set_weight(step, count);
        return fg_div(fg_sum(fg_mul(fg_square(top), words), 0, NULL),
                      fg_maximum(count, fg_full(fg_step_trace(step), FG_F32, 1, FG_SCALAR)));
    }
    case SAMPLES_TOO: return fg_add(ce, sample);
    case SAMPLES_SAID:
        fg_step_set_weight(step, fg_batch_count(batch));
        return fg_add(sample,
                      fg_mul_scalar(fg_weighted_mean(fg_mean(logits, 1, (const int[]){2}),
                                                     fg_add_scalar(fg_cast(is_word, FG_F32), 0.5)),
                                    0));
    case ROWS_ALONE:
        return fg_add(sample, fg_mse(logits, fg_zeros(fg_step_trace(step), FG_F32, 3,
                                                      fg_tensor_type(logits)->dim)));
    default: return ce;
    }
}

typedef struct lesson {
    fg_status status;
    double train_loss, val_loss, val_ce, val_acc;
    float w[INPUTS * WORDS];
    char message[512];
} lesson;

/* Five epochs with one step each. */
static void learn(const char *devices, int64_t batch, int64_t accumulate, extra with, lesson *out)
{
    fg_error err = {0};
    language m = {.extra = with};
    const fg_task_ops ops = {.build = build_language,
                             .train_step = language_loss,
                             .val_step = language_loss,
                             .optimizer = sgd};
    const fg_task task = {.name = "language", .self = &m, .ops = &ops};
    fg_dataset *data = sequences(word(1, 0));
    fg_trainer *trainer;
    const fg_trainer_options options = {.devices.accelerator = "cpu",
                                        .devices.devices = devices,
                                        .devices.cache_dir = fgt_cache(fgt_temp_folder()),
                                        .limits.max_epochs = 5,
                                        .numerics.accumulate_grad_batches = accumulate};
    const fg_fit_data fit = {
        .train = data, .val = data, .global_batch_size = batch, .no_shuffle = true};
    *out = (lesson){.status = FG_OK};
    fgt_ok(toy_create(&options, &trainer, &err));
    out->status = fg_trainer_fit(trainer, &task, &fit, &err);
    if (out->status == FG_OK) {
        assert_int_equal(fg_trainer_result(trainer)->steps, 5);
        out->train_loss = toy_metric(trainer, "train_loss");
        out->val_loss = toy_metric(trainer, "val_loss");
        out->val_ce = toy_metric(trainer, "val_ce");
        out->val_acc = toy_metric(trainer, "val_acc");
        fgt_ok(fg_variable_read(m.w, out->w, sizeof out->w, &err));
    }
    (void)snprintf(out->message, sizeof out->message, "%s", err.message);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
}

static const struct {
    const char *devices;
    int64_t batch, accumulate;
} token_cases[] = {{"1", 4, 3}, {"1", 1, 10}, {"2", 4, 3}, {"3", 3, 4}, {"8", 8, 2}};

/* One batch of all sequences, and several accumulated batches: on each number of devices. */
static void tokens_of_several_batches_are_as_of_one(void **state)
{
    (void)state;
    for (extra with = NOTHING; with < EXTRAS; with++) {
        lesson one, some;
        if (with == SAMPLES_TOO)
            continue;
        learn("1", SEQUENCES, 1, with, &one);
        assert_int_equal(one.status, FG_OK);
        double loss, acc;
        expected(one.w, &loss, &acc);
        fgt_close("ce", one.val_ce, 2 * loss, 0, 1e-5);
        fgt_close("acc", one.val_acc, acc, 1e-6, 0);
        if (with == NOTHING)
            fgt_close("perplexity", exp(one.val_loss), exp(loss), 0, 1e-5);
        for (size_t i = 0; i < sizeof token_cases / sizeof token_cases[0]; i++) {
            if (with != NOTHING && i > 0)
                continue;
            learn(token_cases[i].devices, token_cases[i].batch, token_cases[i].accumulate, with,
                  &some);
            if (some.status != FG_OK)
                fail_msg("%d on %s: %s", (int)with, token_cases[i].devices, some.message);
            fgt_close("train_loss", some.train_loss, one.train_loss, 1e-6, 1e-5);
            fgt_close("val_loss", some.val_loss, one.val_loss, 1e-6, 1e-5);
            fgt_close("val_ce", some.val_ce, one.val_ce, 0, 1e-5);
            fgt_close("val_acc", some.val_acc, one.val_acc, 1e-6, 0);
            for (int k = 0; k < INPUTS * WORDS; k++)
                fgt_close("w", (double)some.w[k], (double)one.w[k], 1e-6, 1e-5);
        }
    }
}

/* A mean over tokens and a mean over samples have no common weight: this is an error. */
static void means_of_different_things_want_a_weight(void **state)
{
    (void)state;
    lesson got;
    learn("1", 4, 3, SAMPLES_TOO, &got);
    assert_int_equal(got.status, FG_EINVAL);
    assert_non_null(strstr(got.message, "means with different denominators"));
    assert_non_null(strstr(got.message, "fg_step_set_weight"));
    learn("1", SEQUENCES, 1, SAMPLES_TOO, &got); /* a step of one batch needs no weight */
    assert_int_equal(got.status, FG_OK);
}

/* A label that is not a class index makes the loss NaN; a validation reports it. */
static void labels_outside_the_classes_show(void **state)
{
    (void)state;
    static const int32_t wrong[] = {WORDS, -1, 1000000, INT32_MIN};
    const fg_task_ops ops = {.build = build_language, .val_step = language_loss};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        fg_error err = {0};
        language m = {.extra = NOTHING};
        const fg_task task = {.name = "language", .self = &m, .ops = &ops};
        fg_dataset *data = sequences(wrong[i]);
        fg_trainer *trainer = trainer_on("1", 1);
        fgt_ok(fg_trainer_validate(trainer, &task, &(fg_fit_data){.val = data, .batch_size = 4},
                                   &err));
        assert_true(isnan(toy_metric(trainer, "val_loss")));
        assert_false(isnan(toy_metric(trainer, "val_acc")));
        fg_trainer_destroy(trainer);
        fg_dataset_destroy(data);
    }
}

/* ---- unsupported reductions ------------------------------------------------------------------ */

static fg_tensor halves(void *self, fg_step *step, const fg_batch *batch)
{
    (void)self, (void)step;
    const fg_tensor x = fg_batch_at(batch, 0);
    return fg_mean(fg_slice(x, (const int64_t[]){0}, (const int64_t[]){2}, NULL), 0, NULL);
}

static fg_tensor distances(void *self, fg_step *step, const fg_batch *batch)
{
    (void)self, (void)step;
    const fg_tensor x = fg_reshape(fg_batch_at(batch, 0), FG_DIMS(-1, 1));
    return fg_matmul(x, fg_transpose(x));
}

/* A row for each of four features, not for each sample. */
static fg_tensor features(void *self, fg_step *step, const fg_batch *batch)
{
    (void)self, (void)step;
    const fg_tensor x = fg_reshape(fg_batch_at(batch, 0), FG_DIMS(-1, 1));
    return fg_transpose(fg_concat((fg_tensor[]){x, x, x, x}, 4, 1));
}

static fg_status ignore_rows(void *self, const fg_type *type, const void *data, int64_t first,
                             fg_error *err)
{
    (void)self, (void)type, (void)data, (void)first, (void)err;
    return FG_OK;
}

/* An error only if there can be padding. */
static void mixing_is_refused_for_tails_alone(void **state)
{
    (void)state;
    const fg_task_ops ops = {.build = build_nothing, .val_step = halves};
    const fg_task task = {.name = "numbers", .ops = &ops};
    fg_error err = {0};
    fg_dataset *tail = numbers(6), *whole = numbers(8);
    fg_trainer *trainer = trainer_on("1", 1);
    const fg_fit_data with = {.val = tail, .batch_size = 4};
    const fg_fit_data without = {.val = whole, .batch_size = 4};
    assert_int_equal(fg_trainer_validate(trainer, &task, &with, &err), FG_EINVAL);
    assert_string_equal(
        err.message,
        "slice(f32[4]): axis 0 is the batch axis, and the last batch of an epoch contains padding "
        "rows, which this operation would mix with samples\nuse every sample (select with fg_where "
        "instead of slicing), or provide slices of the batch as fields of the dataset; or drop the "
        "incomplete batch (drop_last)");
    assert_non_null(strstr(err.file, "test_train_padding.c"));
    fgt_ok(fg_trainer_validate(trainer, &task, &without, &err));
    fgt_close("loss", toy_metric(trainer, "val_loss"), (1.5 + 5.5) / 2, 1e-6, 0);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(tail);
    fg_dataset_destroy(whole);
}

/* Predicts `count` samples in batches of `batch`; *err is the error. */
static void predict(fg_tensor (*step)(void *, fg_step *, const fg_batch *), int count,
                    int64_t batch, fg_error *err)
{
    const fg_task_ops ops = {.build = build_nothing, .predict_step = step};
    const fg_task task = {.name = "numbers", .ops = &ops};
    fg_dataset *data = numbers(count);
    fg_trainer *trainer = trainer_on("1", 1);
    const fg_fit_data given = {.predict = data, .batch_size = batch};
    *err = (fg_error){0};
    const fg_status status = fg_trainer_predict(trainer, &task, &given, ignore_rows, NULL, err);
    assert_int_equal(status, err->status);
    fg_trainer_destroy(trainer);
    fg_dataset_destroy(data);
}

static void predictions_have_rows_of_samples(void **state)
{
    (void)state;
    fg_error err;
    predict(distances, 6, 4, &err);
    assert_string_equal(err.message,
                        "the predict step returned f32[4,4], whose dimension 1 is a batch axis "
                        "too: it must be [B, ...] with one row per sample, and no other dimension "
                        "may be a batch axis");
    predict(features, 6, 4, &err);
    assert_string_equal(err.message,
                        "the predict step returned f32[4,4], whose dimension 0 is not the batch "
                        "axis alone: it must be [B, ...] with one row per sample, and no other "
                        "dimension may be a batch axis");
    predict(distances, 8, 4, &err);
    assert_int_equal(err.status, FG_OK);
    predict(distances, 3, 1, &err);
    assert_int_equal(err.status, FG_OK);
}

static fg_tensor own_mask(void *self, fg_step *step, const fg_batch *batch)
{
    (void)self;
    fg_trace *trace = fg_step_trace(step);
    const fg_tensor x = fg_batch_at(batch, 0);
    fg_trace_set_mask(trace, fg_ones(trace, FG_F32, FG_DIMS(fg_tensor_dim(x, 0))));
    return fg_mean(x, 0, NULL);
}

static void the_trainers_mask_stays(void **state)
{
    (void)state;
    const fg_task_ops ops = {.build = build_nothing, .val_step = own_mask};
    const fg_task task = {.name = "numbers", .ops = &ops};
    fg_error err = {0};
    fg_trainer *trainer = trainer_on("1", 1);
    for (int count = 6; count <= 8; count += 2) { /* a padded batch, and full batches only */
        fg_dataset *data = numbers(count);
        const fg_fit_data fit = {.val = data, .batch_size = 4};
        assert_int_equal(fg_trainer_validate(trainer, &task, &fit, &err), FG_EINVAL);
        assert_non_null(strstr(err.message, "the Trainer masks padding rows itself"));
        fg_dataset_destroy(data);
    }
    fg_trainer_destroy(trainer);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(means_count_samples),
    cmocka_unit_test(gradients_count_samples),
    cmocka_unit_test(tokens_of_several_batches_are_as_of_one),
    cmocka_unit_test(means_of_different_things_want_a_weight),
    cmocka_unit_test(labels_outside_the_classes_show),
    cmocka_unit_test(mixing_is_refused_for_tails_alone),
    cmocka_unit_test(predictions_have_rows_of_samples),
    cmocka_unit_test(the_trainers_mask_stays),
};

static int no_leak(void **state)
{
    (void)state;
    return fgi_alloc_live() == 0 ? 0 : 1;
}

int main(void)
{
    toy_use_memory();
    return cmocka_run_group_tests(tests, NULL, no_leak) == 0 ? 0 : 1;
}
