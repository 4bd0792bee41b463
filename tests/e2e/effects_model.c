/* effects_model.c - models: sizes of layers according to published parameter counts, and losses for
 * given weights.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "effects.h"

#include <math.h>
#include <stdio.h>
#include <fulgurite/ckpt.h>
#include <fulgurite/data.h>

#include "recipe/published/published.h"
#include "recipe/run/run.h"

/* ---- models that are only built -------------------------------------------------------------- */

static void unheard(void *self, const char *line) {}

static fg_module *built(const char *folder, const char *arguments, fgi_run_task *task)
{
    fg_error err = {0};
    fgi_run_data data;
    fgi_run_schema schema;
    fg_module *root;
    char line[512], path[512];
    fgi_config *c = fgi_config_create(NULL, NULL);
    (void)snprintf(line, sizeof(line), "%s", arguments);
    for (char *rest = line, *word; (word = strsep(&rest, " ")) != NULL;)
        if (fgi_config_override(c, word + strlen("--"), &err) != FG_OK)
            fail_msg("%s", err.message);
    fgt_ok(fgi_published_model(c, &(fgi_published_say){unheard, NULL}, &err));
    (void)snprintf(path, sizeof(path), "data.x=%s", fgt_path(folder, "images.npy"));
    assert_int_equal(fgi_config_override(c, path, &err), FG_OK);
    (void)snprintf(path, sizeof(path), "data.y=%s", fgt_path(folder, "labels.npy"));
    assert_int_equal(fgi_config_override(c, path, &err), FG_OK);
    assert_int_equal(fgi_config_override(c, "data.format=npy", &err), FG_OK);
    fgt_ok(fgi_run_data_open(c, NULL, &data, &err));
    fgt_ok(fgi_run_schema_of_data("npy", data.train, NULL, NULL, &schema, &err));
    fgt_ok(fgi_run_task_init(c, &schema, task, &err));
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    task->task.ops->build(task, root);
    fgt_ok(fg_module_error(root, &err));
    fgi_run_schema_fini(&schema);
    fgi_run_data_close(&data);
    fgi_config_destroy(c);
    return root;
}

/* The total number of parameters of a model for images of 28 x 28 pixels. */
static void parameters(const effect *e, const char *folder)
{
    static fgi_run_task task;
    fg_error err = {0};
    static uint8_t pixels[2][28 * 28 * 3];
    const int32_t labels[2] = {0, 1};
    const int64_t channels = strstr(e->arguments, "lenet") != NULL ? 1 : 3;
    const fg_type x = {FG_U8, 4, {2, 28, 28, channels}}, y = {FG_S32, 1, {2}};
    fgt_ok(fg_npy_write(fgt_path(folder, "images.npy"), &x, pixels, &err));
    fgt_ok(fg_npy_write(fgt_path(folder, "labels.npy"), &y, labels, &err));
    fg_module *root = built(folder, e->arguments, &task);
    assert_int_equal(fg_module_parameter_count(root), e->count);
    fg_module_destroy(root);
    fgi_run_task_fini(&task);
}

/* The program of a model for tokens or for images of 32 x 32 pixels, with as many outputs, in
 * training, and of the gradient by its first variable. */
static char *program_of(const char *name, const char *options)
{
    fg_error err = {0};
    fg_module *root = NULL;
    fg_trace *trace = NULL;
    char *text = NULL;
    const bool is_text = strstr("gpt2 llama bert lstm", name) != NULL;
    const fg_type image = {FG_F32, 3, {32, 32, 3}}, tokens = {FG_S32, 1, {8}};
    fgt_ok(fg_module_create(NULL, 0, &root, &err));
    fgt_ok(fg_trace_create(NULL, &trace, &err));
    const fg_model *model =
        fg_model_create(root, &(fg_model_options){.name = name,
                                                  .input = is_text ? tokens : image,
                                                  .outputs = 32 * 32,
                                                  .options = options});
    fgt_ok(fg_module_error(root, &err));
    fg_trace_set_training(trace, true);
    const fg_tensor x = is_text ? fg_zeros(trace, FG_S32, FG_DIMS(2, 8))
                                : fg_zeros(trace, FG_F32, FG_DIMS(2, 32, 32, 3));
    fg_tensor out[2] = {fg_model_apply(model, x)};
    fg_variable *first = fg_module_variable_at(root, 0);
    fg_grad_variables(fg_sum(out[0], 0, NULL), &first, 1, &out[1]);
    fgt_ok(fg_trace_text(trace, out, 2, &text, &err));
    fg_trace_destroy(trace);
    fg_module_destroy(root);
    return text;
}

/* The option changes the program of the model e->train. */
static void changes_program(const effect *e, const char *folder)
{
    (void)folder;
    char *usual = program_of(e->train, NULL), *changed = program_of(e->train, e->arguments);
    assert_string_not_equal(usual, changed);
    fg_free(usual);
    fg_free(changed);
}

/* ---- an MLP computed by hand ----------------------------------------------------------------- */

enum { HIDDEN = 2, CLASSES = REFERENCE_CLASSES };
static const float weight1[HIDDEN][2] = {{0.5F, -1}, {0.75F, 1.5F}}, bias1[HIDDEN] = {0.25F, -0.5F};
static const float weight2[CLASSES][HIDDEN] = {{1, -0.5F}, {-0.75F, 0.25F}, {0.5F, 2}};
static const float bias2[CLASSES] = {0, 0.25F, -0.25F};

static double relu(double x) { return x > 0 ? x : 0; }
static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static double perceptron_loss(const reference_data *data, double (*activation)(double))
{
    double sum = 0;
    for (int i = 0; i < data->rows; i++) {
        double hidden[HIDDEN], total = 0, own = 0;
        for (int h = 0; h < HIDDEN; h++)
            hidden[h] = activation((double)weight1[h][0] * data->x[i][0] +
                                   (double)weight1[h][1] * data->x[i][1] + (double)bias1[h]);
        for (int k = 0; k < CLASSES; k++) {
            const double z = (double)weight2[k][0] * hidden[0] + (double)weight2[k][1] * hidden[1] +
                             (double)bias2[k];
            total += exp(z);
            own = k == data->label[i] ? z : own;
        }
        sum += log(total) - own;
    }
    return sum / data->rows;
}

static void write_perceptron(const char *folder)
{
    fg_error err = {0};
    const fg_ckpt_tensor tensors[] = {
        {.name = "fc1.weight", .type = {FG_F32, 2, {HIDDEN, 2}}, .data = weight1},
        {.name = "fc1.bias", .type = {FG_F32, 1, {HIDDEN}}, .data = bias1},
        {.name = "fc2.weight", .type = {FG_F32, 2, {CLASSES, HIDDEN}}, .data = weight2},
        {.name = "fc2.bias", .type = {FG_F32, 1, {CLASSES}}, .data = bias2},
    };
    fgt_ok(fg_safetensors_write(fgt_path(folder, "mlp.safetensors"), tensors, 4, NULL, &err));
}

#define PERCEPTRON                                                                                 \
    "--model.name=mlp --model.hidden=[2] --model.weights=mlp.safetensors --trainer.batch_size=5 "

static void perceptron(const effect *e, const char *folder)
{
    double (*activation)(double) = relu;
    if (strstr(e->arguments, "tanh") != NULL)
        activation = tanh;
    else if (strstr(e->arguments, "sigmoid") != NULL)
        activation = sigmoid;
    write_perceptron(folder);
    const json_t *s =
        effects_fit(0, folder, EFFECTS_NPY EFFECTS_STILL EFFECTS_VAL PERCEPTRON "%s", e->arguments);
    fgt_close(e->arguments, effects_number(s, "metrics.train_loss"),
              perceptron_loss(effects_samples(), activation), 0, 2e-6);
    fgt_close(e->arguments, effects_number(s, "metrics.val_loss"),
              perceptron_loss(effects_val_samples(), activation), 0, 2e-6);
}

/* Dropout only applies in training, and depends on the seed. */
static void dropout(const effect *e, const char *folder)
{
    double train[3];
    static const int seeds[] = {1, 2, 2};
    const double whole = perceptron_loss(effects_samples(), relu);
    write_perceptron(folder);
    for (int i = 0; i < 3; i++) {
        const json_t *s = effects_fit(
            0, folder, EFFECTS_NPY EFFECTS_STILL EFFECTS_VAL PERCEPTRON "%s --trainer.seed=%d",
            e->arguments, seeds[i]);
        train[i] = effects_number(s, "metrics.train_loss");
        fgt_close("val_loss", effects_number(s, "metrics.val_loss"),
                  perceptron_loss(effects_val_samples(), relu), 0, 2e-6);
        assert_true(fabs(train[i] - whole) > 1e-3);
    }
    assert_true(train[0] != train[1] && train[1] == train[2]);
}

/* Logits that are all 0 give each class the same probability. */
static void classes(const effect *e, const char *folder)
{
    fg_error err = {0};
    const float zeros[2 * 64] = {0};
    const fg_ckpt_tensor tensors[] = {
        {.name = "fc.weight", .type = {FG_F32, 2, {e->count, 2}}, .data = zeros},
        {.name = "fc.bias", .type = {FG_F32, 1, {e->count}}, .data = zeros},
    };
    fgt_ok(fg_safetensors_write(fgt_path(folder, "weights.safetensors"), tensors, 2, NULL, &err));
    const json_t *s = effects_fit(0, folder, EFFECTS_NPY EFFECTS_STILL "--trainer.batch_size=12 %s",
                                  e->arguments);
    fgt_close("train_loss", effects_number(s, "metrics.train_loss"), log(e->count), 0, 2e-6);
}

/* The metrics that are chosen, and no others: the log loss is the cross-entropy. */
static void metrics(const effect *e, const char *folder)
{
    const json_t *s =
        effects_fit(0, folder, EFFECTS_NPY EFFECTS_STILL EFFECTS_VAL "%s", e->arguments);
    fgt_close("val_log_loss", effects_number(s, "metrics.val_log_loss"),
              effects_number(s, "metrics.val_loss"), 0, 2e-6);
    assert_null(json_object_get(json_object_get(s, "metrics"), "val_acc"));
}

/* The target of a regression is standardized, so that predicting 0 has the loss 1; metrics are in
 * the target's own unit: the distances of the labels from what is predicted, which is their mean.
 * Without standardization it is 0, and the loss is the labels' mean square. */
static void task(const effect *e, const char *folder)
{
    fg_error err = {0};
    const reference_data *data = effects_samples();
    const bool is_standardized = strstr(e->arguments, "normalize=false") == NULL;
    const float zeros[2] = {0};
    double predicted = 0, squares = 0, distances = 0;
    for (int i = 0; i < data->rows && is_standardized; i++)
        predicted += data->label[i] / (double)data->rows;
    for (int i = 0; i < data->rows; i++) {
        const double distance = data->label[i] - predicted;
        squares += distance * distance / data->rows;
        distances += fabs(distance) / data->rows;
    }
    const fg_ckpt_tensor tensors[] = {
        {.name = "fc.weight", .type = {FG_F32, 2, {1, 2}}, .data = zeros},
        {.name = "fc.bias", .type = {FG_F32, 1, {1}}, .data = zeros},
    };
    fgt_ok(fg_safetensors_write(fgt_path(folder, "weights.safetensors"), tensors, 2, NULL, &err));
    const json_t *s =
        effects_fit(0, folder, EFFECTS_NPY EFFECTS_STILL "--trainer.batch_size=5 %s", e->arguments);
    fgt_close("train_loss", effects_number(s, "metrics.train_loss"), is_standardized ? 1 : squares,
              0, 2e-6);
    fgt_close("train_rmse", effects_number(s, "metrics.train_rmse"), sqrt(squares), 0, 2e-6);
    fgt_close("train_mae", effects_number(s, "metrics.train_mae"), distances, 0, 2e-6);
}

/* The initial weights under other names, with or without the bias, according to e->train and
 * e->count.
 */
static void write_weights(const effect *e, const char *folder)
{
    fg_error err = {0};
    const reference_model start = reference_start(2);
    float weight[CLASSES][2], bias[CLASSES];
    char names[2][64];
    for (int k = 0; k < CLASSES; k++) {
        bias[k] = (float)start.bias[k];
        weight[k][0] = (float)start.weight[k][0];
        weight[k][1] = (float)start.weight[k][1];
    }
    (void)snprintf(names[0], sizeof(names[0]), "%sfc.weight", e->train);
    (void)snprintf(names[1], sizeof(names[1]), "%sfc.bias", e->train);
    const fg_ckpt_tensor tensors[] = {
        {.name = names[0], .type = {FG_F32, 2, {CLASSES, 2}}, .data = weight},
        {.name = names[1], .type = {FG_F32, 1, {CLASSES}}, .data = bias},
    };
    fgt_ok(fg_safetensors_write(fgt_path(folder, "weights.safetensors"), tensors, (size_t)e->count,
                                NULL, &err));
}

static void renamed(const effect *e, const char *folder)
{
    const effect all = {.arguments = e->arguments};
    write_weights(e, folder);
    effects_check_samples(&all, folder);
}

/* The weight is from the file, the bias is random. */
static void without_bias(const effect *e, const char *folder)
{
    double weight[CLASSES * 2], bias[CLASSES];
    const reference_model start = reference_start(2);
    write_weights(e, folder);
    (void)effects_fit(e->status, folder, EFFECTS_NPY EFFECTS_STILL "--trainer.batch_size=12 %s",
                      e->arguments);
    if (e->status != 0)
        return;
    effects_tensor(folder, "fc.weight", CLASSES * 2, weight);
    effects_tensor(folder, "fc.bias", CLASSES, bias);
    for (int k = 0; k < CLASSES; k++) {
        fgt_close("weight", weight[2 * k], start.weight[k][0], 1e-9, 0);
        fgt_close("weight", weight[2 * k + 1], start.weight[k][1], 1e-9, 0);
        assert_true(fabs(bias[k] - start.bias[k]) > 1e-6);
    }
}

/* The loss of the first weights, with e->value of the uniform distribution in the target. */
static void loss(const effect *e, const char *folder)
{
    const reference_data *data = effects_samples();
    const reference_model start = reference_start(2);
    double uniform = 0;
    for (int i = 0; i < data->rows; i++) {
        double p[CLASSES];
        reference_predict(&start, data, i, p);
        for (int k = 0; k < CLASSES; k++)
            uniform -= log(p[k]) / CLASSES / data->rows;
    }
    const double plain = reference_loss(&start, data, 0, data->rows);
    const json_t *s = effects_fit(0, folder, EFFECTS_NPY EFFECTS_STILL "--trainer.batch_size=12 %s",
                                  e->arguments);
    fgt_close(e->arguments, effects_number(s, "metrics.train_loss"),
              (1 - e->value) * plain + e->value * uniform, 1e-6, 0);
}

/* The focal loss of the first weights, with the exponent e->value. */
static void focal(const effect *e, const char *folder)
{
    const reference_data *data = effects_samples();
    const reference_model start = reference_start(2);
    double mean = 0;
    for (int i = 0; i < data->rows; i++) {
        double p[CLASSES];
        reference_predict(&start, data, i, p);
        const double of_label = p[(int)data->label[i]];
        mean -= pow(1 - of_label, e->value) * log(of_label) / data->rows;
    }
    const json_t *s = effects_fit(0, folder, EFFECTS_NPY EFFECTS_STILL "--trainer.batch_size=12 %s",
                                  e->arguments);
    fgt_close(e->arguments, effects_number(s, "metrics.train_loss"), mean, 1e-6, 0);
}

/* The loss of predicting 0 for a target at distance t, with the parameter of the loss. */
static double huber_of(double t, double delta)
{
    const double far = fabs(t);
    return far <= delta ? t * t / 2 : delta * (far - delta / 2);
}

static double smooth_l1_of(double t, double beta) { return huber_of(t, beta) / beta; }

static double quantile_of(double t, double q) { return t > 0 ? q * t : (q - 1) * t; }

/* A regression that predicts 0 for standardized targets. */
static void distances(const effect *e, const char *folder)
{
    fg_error err = {0};
    const reference_data *data = effects_samples();
    double (*of)(double, double) = strstr(e->arguments, "huber") != NULL      ? huber_of
                                   : strstr(e->arguments, "quantile") != NULL ? quantile_of
                                                                              : smooth_l1_of;
    const float zeros[2] = {0};
    double mean = 0, squares = 0, expected = 0;
    for (int i = 0; i < data->rows; i++)
        mean += data->label[i] / (double)data->rows;
    for (int i = 0; i < data->rows; i++)
        squares += (data->label[i] - mean) * (data->label[i] - mean) / data->rows;
    for (int i = 0; i < data->rows; i++)
        expected += of((data->label[i] - mean) / sqrt(squares), e->value) / data->rows;
    const fg_ckpt_tensor tensors[] = {
        {.name = "fc.weight", .type = {FG_F32, 2, {1, 2}}, .data = zeros},
        {.name = "fc.bias", .type = {FG_F32, 1, {1}}, .data = zeros},
    };
    fgt_ok(fg_safetensors_write(fgt_path(folder, "weights.safetensors"), tensors, 2, NULL, &err));
    const json_t *s =
        effects_fit(0, folder, EFFECTS_NPY EFFECTS_STILL "--trainer.batch_size=5 %s", e->arguments);
    fgt_close(e->arguments, effects_number(s, "metrics.train_loss"), expected, 0, 2e-6);
}

/* The training loss of the first weights, with the class weights in e->mean and, of the last class,
 * e->value; the loss of the validation is not weighted. */
static void weighted_loss(const effect *e, const char *folder)
{
    const reference_data *data = effects_samples(), *val = effects_val_samples();
    const reference_model start = reference_start(2);
    double sum = 0, weights = 0;
    for (int i = 0; i < data->rows; i++) {
        const int k = data->label[i];
        const double weight = k < 2 ? e->mean[k] : e->value;
        sum += weight * reference_loss(&start, data, i, 1);
        weights += weight;
    }
    const json_t *s =
        effects_fit(0, folder, EFFECTS_NPY EFFECTS_STILL EFFECTS_VAL "--trainer.batch_size=12 %s",
                    e->arguments);
    fgt_close("train_loss", effects_number(s, "metrics.train_loss"), sum / weights, 1e-6, 0);
    fgt_close("val_loss", effects_number(s, "metrics.val_loss"),
              reference_loss(&start, val, 0, val->rows), 1e-6, 0);
}

/* An LSTM with one unit: the columns of the table are its time steps. */
static void series(const effect *e, const char *folder)
{
    static const float input[4] = {0.5F, -1, 0.75F, 1.5F}, own[4] = {1, -0.5F, -0.75F, 0.25F};
    static const float bias[4] = {0.25F, 0.5F, -0.25F, 0}, zeros[4] = {0};
    static const float out[CLASSES] = {2, -1, 0.5F};
    const reference_data *data = effects_samples();
    fg_error err = {0};
    double sum = 0;
    for (int i = 0; i < data->rows; i++) {
        double h = 0, c = 0, total = 0, gate[4];
        for (int t = 0; t < 2; t++) {
            for (int k = 0; k < 4; k++)
                gate[k] = (double)input[k] * data->x[i][t] + (double)own[k] * h + (double)bias[k];
            c = sigmoid(gate[1]) * c + sigmoid(gate[0]) * tanh(gate[2]);
            h = sigmoid(gate[3]) * tanh(c);
        }
        for (int k = 0; k < CLASSES; k++)
            total += exp((double)out[k] * h);
        sum += log(total) - (double)out[data->label[i]] * h;
    }
    const fg_ckpt_tensor tensors[] = {
        {.name = "lstm.weight_ih_l0", .type = {FG_F32, 2, {4, 1}}, .data = input},
        {.name = "lstm.weight_hh_l0", .type = {FG_F32, 2, {4, 1}}, .data = own},
        {.name = "lstm.bias_ih_l0", .type = {FG_F32, 1, {4}}, .data = bias},
        {.name = "lstm.bias_hh_l0", .type = {FG_F32, 1, {4}}, .data = zeros},
        {.name = "fc.weight", .type = {FG_F32, 2, {CLASSES, 1}}, .data = out},
        {.name = "fc.bias", .type = {FG_F32, 1, {CLASSES}}, .data = zeros},
    };
    fgt_ok(fg_safetensors_write(fgt_path(folder, "weights.safetensors"), tensors, 6, NULL, &err));
    const json_t *s =
        effects_fit(0, folder, EFFECTS_NPY EFFECTS_STILL "--trainer.batch_size=5 %s", e->arguments);
    fgt_close(e->arguments, effects_number(s, "metrics.train_loss"), sum / data->rows, 0, 2e-6);
}

/* A GPT-2 whose logits do not depend on the text. Documents end with a line; their first letters,
 * which follow it, are not predicted. */
static void documents(const effect *e, const char *folder)
{
    enum { TOKENS = 256, DOCUMENT_WIDTH = 4, WINDOW = 8 };
    static float logit[TOKENS][DOCUMENT_WIDTH];
    static const char text[] = "ab\nc\nbca\n\ncab\nba\nc";
    static const float zeros[DOCUMENT_WIDTH] = {0}, ones[DOCUMENT_WIDTH] = {1};
    const char *end = strstr(e->arguments, "document_end=10") != NULL ? "\n" : "";
    fg_error err = {0};
    double total = 0, sum = 0, count = 0;
    for (int i = 0; i < TOKENS; i++) {
        logit[i][0] = 0.01F * (float)i;
        total += exp((double)logit[i][0]);
    }
    for (size_t i = 1; i <= (sizeof text - 2) / WINDOW * WINDOW; i++)
        if (strchr(end, text[i - 1]) == NULL) {
            sum += log(total) - (double)logit[(int)text[i]][0];
            count++;
        }
    fgt_write(fgt_path(folder, "text.txt"), text, sizeof text - 1);
    const fg_ckpt_tensor tensors[] = {
        {.name = "wte.weight", .type = {FG_F32, 2, {TOKENS, DOCUMENT_WIDTH}}, .data = logit},
        {.name = "ln_f.weight", .type = {FG_F32, 1, {DOCUMENT_WIDTH}}, .data = zeros},
        {.name = "ln_f.bias", .type = {FG_F32, 1, {DOCUMENT_WIDTH}}, .data = ones},
    };
    fgt_ok(fg_safetensors_write(fgt_path(folder, "weights.safetensors"), tensors, 3, NULL, &err));
    const json_t *s = effects_fit(
        0, folder,
        "--data.format=text --data.path=text.txt --data.length=8 --model.name=gpt2 "
        "--model.layers=1 --model.width=4 --model.heads=1 --model.length=8 "
        "--model.weights=weights.safetensors --model.weights_partial=true " EFFECTS_STILL
        "--trainer.batch_size=2 %s",
        e->arguments);
    fgt_close(e->arguments, effects_number(s, "metrics.train_loss"), sum / count, 1e-6, 0);
}

#define RESNET "--model.classes=1000 --model.name="

const effect effects_model[] = {
    {"task", "--task=classification", effects_check_samples},
    {"task", "--task=auto", effects_check_samples},
    {"task", "--task=regression", task},
    {"task", "--task=regression --data.normalize=false", task},
    {"model.name", "--model.name=linear", effects_check_samples},
    {"model.name", "--model.name=mlp", perceptron},
    {"model.name", "--model.name=lstm --model.width=1", series},
    /* LeCun et al. 1998, 10 classes; He et al. 2016 as torchvision counts them. */
    {"model.name", "--model.name=lenet --model.classes=10", parameters, .count = 61706},
    {"model.name", RESNET "resnet18", parameters, .count = 11689512},
    {"model.name", RESNET "resnet34", parameters, .count = 21797672},
    {"model.name", RESNET "resnet50", parameters, .count = 25557032},
    {"model.name", RESNET "resnet101", parameters, .count = 44549160},
    {"model.name", RESNET "resnet152", parameters, .count = 60192808},
    {"model.name", RESNET "resnext50_32x4d", parameters, .count = 25028904},
    {"model.name", RESNET "resnext101_32x8d", parameters, .count = 88791336},
    {"model.name", RESNET "resnext101_64x4d", parameters, .count = 83455272},
    {"model.name", RESNET "wide_resnet50_2", parameters, .count = 68883240},
    {"model.name", RESNET "wide_resnet101_2", parameters, .count = 126886696},
    {"model.hf", "--model.hf=" FGT_SOURCE_DIR "/tests/golden/published/resnet18 --model.classes=5",
     parameters, .count = 11575}, /* total_parameters of its index */
    {"model.hidden", "--model.name=mlp --model.hidden=[7,5] --model.classes=4", parameters,
     .count = 2352 * 7 + 7 + 7 * 5 + 5 + 5 * 4 + 4},
    {"model.activation", "--model.activation=relu", perceptron},
    {"model.activation", "--model.activation=tanh", perceptron},
    {"model.activation", "--model.activation=sigmoid", perceptron},
    {"model.dropout", "--model.dropout=0.5", dropout},
    /* 3x3 in place of 7x7, from 3 channels to 64. */
    {"model.layers", "{layers: 6}", changes_program, .train = "gpt2"},
    {"model.heads", "{heads: 6}", changes_program, .train = "gpt2"},
    {"model.length", "{length: 256}", changes_program, .train = "gpt2"},
    {"model.width", "{width: 384}", changes_program, .train = "gpt2"},
    {"model.dropout", "{dropout: 0.1}", changes_program, .train = "gpt2"},
    {"model.query_chunk", "{query_chunk: 4}", changes_program, .train = "gpt2"},
    {"model.remat", "{remat: true}", changes_program, .train = "gpt2"},
    {"model.document_end", "--model.document_end=10", documents},
    {"model.layers", "{layers: 2}", changes_program, .train = "lstm"},
    {"model.width", "{width: 64}", changes_program, .train = "lstm"},
    {"model.bidirectional", "{bidirectional: true}", changes_program, .train = "lstm"},
    {"model.dropout", "{dropout: 0.1}", changes_program, .train = "lstm"},
    {"model.vocabulary", "{vocabulary: 8192}", changes_program, .train = "lstm"},
    {"model.padding", "{padding: 1}", changes_program, .train = "lstm"},
    {"model.kv_heads", "{kv_heads: 4}", changes_program, .train = "llama"},
    {"model.head_width", "{head_width: 128}", changes_program, .train = "llama"},
    {"model.intermediate", "{intermediate: 1024}", changes_program, .train = "llama"},
    {"model.window", "{window: 4}", changes_program, .train = "llama"},
    {"model.rotary_base", "{rotary_base: 500000}", changes_program, .train = "llama"},
    {"model.eps", "{eps: 1e-6}", changes_program, .train = "llama"},
    {"model.tied", "{tied: true}", changes_program, .train = "llama"},
    {"model.vocabulary", "{vocabulary: 8192}", changes_program, .train = "bert"},
    {"model.padding", "{padding: 1}", changes_program, .train = "bert"},
    {"model.patch", "{patch: 8}", changes_program, .train = "vit"},
    {"model.drop_path", "{drop_path: 0.1}", changes_program, .train = "vit"},
    {"model.norm_eps", "{norm_eps: 1e-12}", changes_program, .train = "vit"},
    {"model.width_factor", "{width_factor: 1.4}", changes_program, .train = "efficientnet"},
    {"model.depth_factor", "{depth_factor: 1.8}", changes_program, .train = "efficientnet"},
    {"model.depths", "{depths: [3, 3, 27, 3]}", changes_program, .train = "convnext"},
    {"model.widths", "{widths: [40, 80, 160, 320]}", changes_program, .train = "convnext"},
    {"model.depth", "{depth: 3}", changes_program, .train = "unet"},
    {"model.stem", RESNET "resnet18 --model.stem=small", parameters,
     .count = 11689512 - (49 - 9) * 3 * 64},
    /* The sum of 9 c_in c_out + 2 c_out over the convolutions, of 8, 16, 32 and 64 channels. */
    {"model.width", RESNET "resnet18 --model.width=8 --model.classes=10", parameters,
     .count = 177362},
    {"metrics", "--metrics=[log_loss]", metrics},
    {"loss.name", "--loss.name=auto", loss},
    {"loss.name", "--loss.name=cross_entropy", loss},
    {"loss.label_smoothing", "--loss.label_smoothing=0.25", loss, .value = 0.25},
    {"loss.gamma", "--loss.name=focal --loss.gamma=3", focal, .value = 3},
    {"loss.delta", "--loss.name=huber --loss.delta=0.5", distances, .value = 0.5},
    {"loss.beta", "--loss.name=smooth_l1 --loss.beta=0.5", distances, .value = 0.5},
    {"loss.quantiles", "--loss.name=quantile --loss.quantiles=[0.2]", distances, .value = 0.2},
    {"loss.class_weight", "--loss.class_weight=balanced", weighted_loss, .mean = {1, 0.8},
     .value = 4.0 / 3}, /* of 4, 5 and 3 samples */
    {"loss.class_weight", "--loss.class_weight=[0.5,2,0]", weighted_loss, .mean = {0.5, 2},
     .value = 0},
    {"model.classes", "--model.classes=5", classes, .count = 5},
    {"model.classes", "--model.classes=auto", classes, .count = 3},
    {"model.weights", "", effects_check_samples},
    {"model.weights_prefix", "--model.weights_prefix=net.", renamed, .train = "net.", .count = 2},
    {"model.weights_skip", "--model.weights_skip=[*.bias]", without_bias, .train = "", .count = 2},
    {"model.weights_partial", "--model.weights_partial=true", without_bias, .train = "",
     .count = 1},
    {"model.weights_partial", "--model.weights_partial=false", without_bias, .train = "",
     .count = 1, .status = 1},
    {NULL},
};
