/* config_keys.c - every key that a configuration may have. To add one: add its row (in the order in
 * which --print-config shall show it), and read it where it matters; help, checks, completion and
 * docs/config.md follow (`docs/config.md` is made by `fulgurite help --config-reference`).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "report/helpers.h"
#include "recipe/config.h"
#include "base/print.h"

static const struct {
    const char *name, *help;
} sections[] = {
    {"model", "the network to train"},
    {"data", "training, validation and test data"},
    {"optimizer", "the parameter update"},
    {"schedule", "the learning rate over the run"},
    {"trainer", "length of the run, devices, batches, precision, validation and checkpoints"},
};

/* clang-format off */
#define MOST 9007199254740992.0 /* integers up to here are exact as a double */
static const fgi_config_key keys[] = {
    {"task", FGI_CONFIG_CHOICE, "classification", .choices = "classification|regression",
     .example = "regression",
     .help = "What to predict: a class (cross-entropy loss, accuracy) or numbers (loss: mean squared "
             "error; metrics: MAE, RMSE and R^2)."},

    {"model.name", FGI_CONFIG_CHOICE, "mlp",
     .choices = "mlp|linear|lenet|resnet18|resnet34|resnet50", .example = "resnet18",
     .help = "mlp: fully connected hidden layers; linear: one linear layer; lenet: LeNet-5, for images; "
             "resnet18, resnet34, resnet50: residual networks, for images. The sizes of the input and "
             "the output come from the data."},
    {"model.hidden", FGI_CONFIG_INTS, "[512, 512]", .min = 1, .max = 1 << 20, .only = "model.name=mlp",
     .example = "[256, 64]", .help = "Units of each hidden layer; 1 to 16 layers."},
    {"model.activation", FGI_CONFIG_CHOICE, "relu", .choices = "relu|tanh|sigmoid",
     .only = "model.name=mlp|lenet", .example = "tanh",
     .help = "Activation function between layers."},
    {"model.dropout", FGI_CONFIG_FLOAT, "0", .min = 0, .max = 1, .is_below_max = true,
     .only = "model.name=mlp", .example = "0.1", .help = "Dropout probability of the hidden units."},
    {"model.stem", FGI_CONFIG_CHOICE, "imagenet", .choices = "imagenet|small",
     .only = "model.name=resnet18|resnet34|resnet50", .example = "small",
     .help = "First layers. imagenet: 7x7 convolution with stride 2, then max pooling; small: 3x3 "
             "convolution, for images of about 32x32 pixels."},
    {"model.width", FGI_CONFIG_INT, "64", .min = 1, .max = 4096,
     .only = "model.name=resnet18|resnet34|resnet50", .example = "32",
     .help = "Channels of the first stage; later stages have 2, 4 and 8 times as many."},
    {"model.classes", FGI_CONFIG_INT, "auto", .min = 2, .max = 1 << 24, .has_auto = true,
     .only = "task=classification", .example = "10",
     .help = "Number of classes. auto: as many as the data have."},
    {"model.weights", FGI_CONFIG_TEXT, NULL, .example = "pretrained.safetensors",
     .help = "Start from these weights: a .safetensors file or a checkpoint folder. `fulgurite show` "
             "lists the names of its tensors."},
    {"model.weights_prefix", FGI_CONFIG_TEXT, NULL, .example = "backbone.",
     .help = "Load only the tensors of model.weights whose names start with this, and remove it from "
             "their names."},
    {"model.weights_skip", FGI_CONFIG_TEXTS, "[]", .example = "[fc.*]",
     .help = "Do not load these variables of the model, such as another head; * stands for any text."},
    {"model.weights_partial", FGI_CONFIG_BOOL, "false", .example = "true",
     .help = "Variables that model.weights does not have, or has in another shape, keep their random "
             "initial values. What was loaded is printed."},
    {"model.freeze", FGI_CONFIG_TEXTS, "[]", .example = "[layer1.*, fc1.bias]",
     .help = "Do not train the parameters whose names match one of these patterns; * matches any text. "
             "A batch norm whose running_mean matches keeps its running statistics. `fulgurite show` "
             "lists the names."},

    {"data.format", FGI_CONFIG_CHOICE, NULL, .choices = "csv|idx|cifar10|npy", .later = "images|pack|text",
     .example = "csv",
     .help = "Format of the data; required. csv: one sample per row; idx: MNIST's files; cifar10: "
             "CIFAR-10's binary files; npy: NumPy arrays."},
    {"data.path", FGI_CONFIG_TEXT, NULL, .only = "data.format=csv|idx|cifar10", .example = "data/homes.csv",
     .help = "csv: the file, plain or gzip; idx, cifar10: the folder with the usual file names. "
             "Relative paths start at the working directory, as in all keys."},
    {"data.target", FGI_CONFIG_TEXT, NULL, .only = "data.format=csv", .example = "price",
     .help = "The column to predict. Default: the last one."},
    {"data.val", FGI_CONFIG_TEXT, NULL, .only = "data.format=csv", .example = "data/val.csv",
     .help = "A file with validation rows."},
    {"data.test", FGI_CONFIG_TEXT, NULL, .only = "data.format=csv", .example = "data/test.csv",
     .help = "A file with rows for `test` and `predict`; without it they use the validation rows. "
             "`predict` does not need the target column."},
    {"data.predict", FGI_CONFIG_TEXT, NULL, .only = "data.format=csv|npy", .example = "data/new.csv",
     .help = "New samples for `predict`; targets are not read. Default: the test data, or else the "
             "validation data."},
    {"data.val_fraction", FGI_CONFIG_FLOAT, "0", .min = 0, .max = 1, .is_below_max = true, .example = "0.2",
     .help = "Hold out this fraction of the training samples for validation. If it is 0, idx and "
             "cifar10 use their own validation files."},
    {"data.split_seed", FGI_CONFIG_INT, "0", .min = 0, .max = MOST, .example = "1",
     .help = "Seed of the choice of samples that val_fraction holds out."},
    {"data.x", FGI_CONFIG_TEXT, NULL, .only = "data.format=npy", .example = "data/x.npy",
     .help = "The inputs, T[N,...]."},
    {"data.y", FGI_CONFIG_TEXT, NULL, .only = "data.format=npy", .example = "data/y.npy",
     .help = "The targets, T[N] or T[N,...]; integers for a classification."},
    {"data.val_x", FGI_CONFIG_TEXT, NULL, .only = "data.format=npy", .example = "data/val_x.npy",
     .help = "Inputs for validation."},
    {"data.val_y", FGI_CONFIG_TEXT, NULL, .only = "data.format=npy", .example = "data/val_y.npy",
     .help = "Targets for validation."},
    {"data.test_x", FGI_CONFIG_TEXT, NULL, .only = "data.format=npy", .example = "data/test_x.npy",
     .help = "Inputs for `test` and `predict`; without it they use the validation samples."},
    {"data.test_y", FGI_CONFIG_TEXT, NULL, .only = "data.format=npy", .example = "data/test_y.npy",
     .help = "Targets for `test`; `predict` does not need them."},
    {"data.no_header", FGI_CONFIG_BOOL, "false", .only = "data.format=csv", .example = "true",
     .help = "The first row is a sample, not column names; columns are then named 0, 1, 2 ..."},
    {"data.delimiter", FGI_CONFIG_TEXT, "\",\"", .only = "data.format=csv", .example = "\";\"",
     .help = "The character between two cells; \\t or tab for a tab."},
    {"data.ignore", FGI_CONFIG_TEXTS, "[]", .only = "data.format=csv", .example = "[id, name]",
     .help = "Columns to leave out."},
    {"data.categorical", FGI_CONFIG_TEXTS, "[]", .only = "data.format=csv", .example = "[zip_code]",
     .help = "Columns of numbers whose values are categories."},
    {"data.numeric", FGI_CONFIG_TEXTS, "[]", .only = "data.format=csv", .example = "[age]",
     .help = "Columns that must be numbers: any other value is an error that names the cell. By "
             "default a column is numeric when all its training values are numbers."},
    {"data.na_values", FGI_CONFIG_TEXTS, "[]", .only = "data.format=csv", .example = "[n.a., -]",
     .help = "Values that count as missing, besides an empty cell, NA, N/A, NaN, nan, null, NULL, "
             "None and ?."},
    {"data.missing", FGI_CONFIG_CHOICE, "error", .choices = "error|mean", .only = "data.format=csv",
     .example = "mean",
     .help = "What to do with a missing value: fail, or use the column's mean over the training rows. "
             "Empty cells and those of data.na_values are missing."},
    {"data.unknown", FGI_CONFIG_CHOICE, "error", .choices = "error|zero", .only = "data.format=csv",
     .example = "zero",
     .help = "What to do with a category that does not occur in the training data: fail, or encode it "
             "as all zeros."},
    {"data.normalize", FGI_CONFIG_BOOL, "true", .only = "data.format=csv|npy", .example = "false",
     .help = "Subtract the mean and divide by the standard deviation, both over the training rows: of "
             "each numeric column of a csv, and of a regression's target, whose metrics and "
             "predictions are in its own unit all the same. Images and the inputs of npy are not "
             "normalised."},
    {"data.image", FGI_CONFIG_INTS, "[]", .min = 1, .max = 65536, .only = "data.format=csv|npy",
     .example = "[28, 28, 1]",
     .help = "The columns of a csv, or the numbers of a flat npy sample, are the pixels of an image: "
             "[height, width, channels]."},
    {"data.scale", FGI_CONFIG_FLOAT, "auto", .min = 1e-30, .max = 1e30, .has_auto = true,
     .example = "0.0625",
     .help = "Factor for the inputs, applied on the device. auto: 1/255 for integers (pixels), 1 for "
             "floats."},
    {"data.mean", FGI_CONFIG_FLOATS, "[]", .example = "[0.485, 0.456, 0.406]",
     .help = "Subtracted after scaling: one number, or one for each channel (last dimension)."},
    {"data.std", FGI_CONFIG_FLOATS, "[]", .min = 1e-30, .max = 1e30, .example = "[0.229, 0.224, 0.225]",
     .help = "Divisor after subtracting the mean: one number, or one for each channel."},

    {"optimizer.name", FGI_CONFIG_CHOICE, "adam", .choices = "sgd|adam|adamw", .example = "adamw",
     .help = "The update rule."},
    {"optimizer.lr", FGI_CONFIG_FLOAT, "auto", .min = 1e-30, .max = 1e30, .has_auto = true,
     .example = "1e-3",
     .help = "Learning rate; with a schedule, its highest value. auto: 0.01 for sgd, 0.001 for adam and "
             "adamw."},
    {"optimizer.momentum", FGI_CONFIG_FLOAT, "0", .min = 0, .max = 1, .is_below_max = true,
     .only = "optimizer.name=sgd", .example = "0.9", .help = "Momentum factor."},
    {"optimizer.nesterov", FGI_CONFIG_BOOL, "false", .only = "optimizer.name=sgd", .example = "true",
     .help = "Use Nesterov momentum."},
    {"optimizer.weight_decay", FGI_CONFIG_FLOAT, "auto", .min = 0, .max = 1e6, .has_auto = true,
     .example = "5e-4",
     .help = "Weight decay: added to the gradient by sgd and adam (L2 penalty), decoupled from it by "
             "adamw. auto: 0.01 for adamw, otherwise 0."},
    {"optimizer.betas", FGI_CONFIG_FLOATS, "[0.9, 0.999]", .min = 0, .max = 1, .is_below_max = true,
     .only = "optimizer.name=adam|adamw", .example = "[0.9, 0.95]",
     .help = "Exponential decay rates of the first-moment and second-moment estimates (beta1, beta2)."},
    {"optimizer.eps", FGI_CONFIG_FLOAT, "1e-08", .min = 0, .max = 1, .only = "optimizer.name=adam|adamw",
     .example = "1e-6", .help = "Added to the denominator for numerical stability."},

    {"schedule.name", FGI_CONFIG_CHOICE, "constant", .choices = "constant|onecycle", .example = "onecycle",
     .help = "constant: the learning rate does not change; onecycle: it rises to optimizer.lr and then "
             "falls to almost 0 at the end of the run."},
    {"schedule.pct_start", FGI_CONFIG_FLOAT, "0.3", .min = 0, .max = 1, .is_below_max = true,
     .only = "schedule.name=onecycle", .example = "0.1",
     .help = "Fraction of the run in which the learning rate rises."},
    {"schedule.anneal", FGI_CONFIG_CHOICE, "cos", .choices = "cos|linear",
     .only = "schedule.name=onecycle", .example = "linear",
     .help = "Shape of the rise and the fall: cosine or linear."},
    {"schedule.div_factor", FGI_CONFIG_FLOAT, "25", .min = 1e-6, .max = 1e12,
     .only = "schedule.name=onecycle", .example = "10",
     .help = "The initial learning rate is lr / div_factor."},
    {"schedule.final_div_factor", FGI_CONFIG_FLOAT, "10000", .min = 1e-6, .max = 1e15,
     .only = "schedule.name=onecycle", .example = "1000",
     .help = "The final learning rate is lr / div_factor / final_div_factor."},
    {"schedule.three_phase", FGI_CONFIG_BOOL, "false", .only = "schedule.name=onecycle", .example = "true",
     .help = "Use three phases: warm up, cool down to the initial rate over the same number of steps, "
             "then anneal to the final rate."},
    {"schedule.cycle_momentum", FGI_CONFIG_BOOL, "true", .only = "schedule.name=onecycle",
     .example = "false",
     .help = "Cycle the momentum (adam: beta1) inversely to the learning rate, from max_momentum to "
             "base_momentum and back."},
    {"schedule.base_momentum", FGI_CONFIG_FLOAT, "0.85", .min = 0, .max = 1, .is_below_max = true,
     .only = "schedule.name=onecycle", .example = "0.8", .help = "The lowest momentum of the cycle."},
    {"schedule.max_momentum", FGI_CONFIG_FLOAT, "0.95", .min = 0, .max = 1, .is_below_max = true,
     .only = "schedule.name=onecycle", .example = "0.9", .help = "The highest momentum of the cycle."},

    {"trainer.accelerator", FGI_CONFIG_CHOICE, "auto", .choices = "auto|tpu|cuda|cpu", .example = "cuda",
     .help = "Where to train; `fulgurite devices` lists what is available. auto: a TPU if there is one, "
             "otherwise an NVIDIA GPU (cuda), otherwise the CPU. A named accelerator never falls back to "
             "another."},
    {"trainer.devices", FGI_CONFIG_DEVICES, "auto", .has_auto = true, .example = "8",
     .help = "Devices of the accelerator to use: 8 uses the first eight, [1] only the second, \"0,2\" or "
             "[0, 2] those two; auto and -1 use all (on the CPU: one). On the CPU a number creates that "
             "many virtual devices, for development."},
    {"trainer.tpu_cores", FGI_CONFIG_DEVICES, NULL, .has_auto = true, .example = "8",
     .help = "Old spelling of accelerator: tpu with devices."},
    {"trainer.strategy", FGI_CONFIG_CHOICE, "auto", .choices = "auto|single|ddp|fsdp", .example = "fsdp",
     .help = "How devices share the work. single: one device; ddp: each device has the whole model and a "
             "part of every batch; fsdp: large parameters, their gradients and their optimizer state are "
             "sharded across the devices too. auto: ddp on several devices."},
    {"trainer.model_devices", FGI_CONFIG_INT, "1", .min = 1, .max = 1024, .example = "2",
     .help = "Devices along the model axis of the mesh, across which the batch is not sharded; must "
             "divide the number of devices."},
    {"trainer.mesh", FGI_CONFIG_TEXT, NULL, .example = "data=2,fsdp=2,model=2",
     .help = "Named axes of the device mesh and their sizes, instead of model_devices; -1 is the "
             "remaining devices. Batches are sharded over the axes data and fsdp, the parameters of "
             "strategy fsdp over the axis fsdp (without one, over data)."},
    {"trainer.sharding", FGI_CONFIG_RULES, "[]", .example = "[fc1.*=model, fc2.weight=none/model]",
     .help = "Shards parameters by name across the mesh; the first rule that matches applies. match is a "
             "parameter's name as `fulgurite show` lists it, * matches any text; split has an axis of the mesh "
             "(data+fsdp: two axes), or none, for each dimension in the order of checkpoint files."},
    {"trainer.precision", FGI_CONFIG_CHOICE, "32-true",
     .choices = "32-true|bf16-mixed|bf16-true|16-mixed|16-true|64-true", .example = "bf16-mixed",
     .help = "32-true: f32; bf16-mixed: matmuls and convolutions in bf16, everything else in f32; "
             "bf16-true: the parameters in bf16 too; 16-mixed and 16-true: the same in f16, with loss "
             "scaling; 64-true: f64. TPUs do not support f16 and f64."},
    {"trainer.stochastic_rounding", FGI_CONFIG_BOOL, "false", .only = "trainer.precision=bf16-true",
     .example = "true",
     .help = "Round updated parameters stochastically, so that small updates are not lost."},
    {"trainer.detect_anomaly", FGI_CONFIG_BOOL, "false", .example = "true",
     .help = "End the run at the first gradient that is not finite, and name the step and the "
             "parameter."},
    {"trainer.batch_size", FGI_CONFIG_INT, "32", .min = 1, .max = 1 << 24, .example = "64",
     .help = "Samples per device and batch."},
    {"trainer.global_batch_size", FGI_CONFIG_INT, "auto", .min = 1, .max = 1 << 24, .has_auto = true,
     .example = "256",
     .help = "Samples per batch on all devices together, instead of batch_size; must be divisible by the "
             "number of devices."},
    {"trainer.lr_scaling", FGI_CONFIG_CHOICE, "none", .choices = "none|linear|sqrt", .example = "linear",
     .help = "Scale optimizer.lr with the batch: linear: multiply by k; sqrt: by the square root of k. k "
             "is the number of samples per step divided by base_batch_size."},
    {"trainer.base_batch_size", FGI_CONFIG_INT, "auto", .min = 1, .max = 1 << 24, .has_auto = true,
     .only = "trainer.lr_scaling=linear|sqrt", .example = "256",
     .help = "The batch size that optimizer.lr is meant for. auto: one device's batch, so that k is the "
             "number of devices times accumulate_grad_batches."},
    {"trainer.accumulate_grad_batches", FGI_CONFIG_INT, "1", .min = 1, .max = 1 << 20, .example = "4",
     .help = "Batches per optimizer step: the optimizer gets the mean gradient over all their samples, "
             "with the memory use of one batch."},
    {"trainer.max_epochs", FGI_CONFIG_INT, "auto", .min = -1, .max = MOST, .has_auto = true,
     .example = "30",
     .help = "Number of epochs; -1: no limit. auto: 10, or no limit if max_steps is given."},
    {"trainer.max_steps", FGI_CONFIG_INT, "-1", .min = -1, .max = MOST, .example = "10000",
     .help = "Number of optimizer steps; -1: no limit."},
    {"trainer.limit_train_batches", FGI_CONFIG_AMOUNT, "1.0", .min = 0, .max = MOST, .example = "0.1",
     .help = "Use this many batches of each epoch: a fraction (0.1) or a count (100)."},
    {"trainer.limit_val_batches", FGI_CONFIG_AMOUNT, "1.0", .min = 0, .max = MOST, .example = "20",
     .help = "Use this many batches of each validation: a fraction (0.1) or a count (100); 0: do not "
             "validate."},
    {"trainer.overfit_batches", FGI_CONFIG_AMOUNT, "0", .min = 0, .max = MOST, .example = "10",
     .help = "Train on the first batches only, a fraction (0.1) or a count (10), the same ones in every "
             "epoch without shuffling, and validate on as many: a model that cannot learn them has a "
             "mistake; 0: off."},
    {"trainer.sanity_val_steps", FGI_CONFIG_INT, "2", .min = -1, .max = MOST, .example = "0",
     .help = "Validation batches to run before training starts, to find mistakes early; their metrics "
             "are dropped; 0: none; -1: all."},
    {"trainer.val_every_epochs", FGI_CONFIG_INT, "1", .min = 0, .max = MOST, .example = "5",
     .help = "Validate every n epochs; 0: not by epochs."},
    {"trainer.val_every_steps", FGI_CONFIG_INT, "0", .min = 0, .max = MOST, .example = "500",
     .help = "Validate every n optimizer steps; 0: not by steps."},
    {"trainer.log_every", FGI_CONFIG_INT, "50", .min = 1, .max = MOST, .example = "10",
     .help = "Log training metrics every n optimizer steps."},
    {"trainer.seed", FGI_CONFIG_INT, "0", .min = 0, .max = MOST, .example = "42",
     .help = "Seed of the initial weights, the order of samples and dropout. Two runs with the same seed "
             "give the same results."},
    {"trainer.run_dir", FGI_CONFIG_TEXT, "auto", .has_auto = true, .example = "runs/baseline",
     .help = "The run's folder. auto: runs/NAME-1, -2, ..., where NAME is that of the configuration "
             "file."},
    {"trainer.resume", FGI_CONFIG_TEXT, NULL, .example = "last",
     .help = "Continue from a checkpoint: last, best or a path. auto: from last if there is one, "
             "otherwise from the start."},
    {"trainer.watchdog_s", FGI_CONFIG_FLOAT, "1800", .min = 0, .max = 1e9, .example = "600",
     .help = "Stop the run after this many seconds without progress on a device or from the data: print "
             "what it waited for, write the stacks of all threads to hang.txt in the run's folder, exit "
             "with status 3. Compilation is not counted; 0: wait forever."},
    {"trainer.ckpt_every_epochs", FGI_CONFIG_INT, "1", .min = 0, .max = MOST, .example = "10",
     .help = "Save a checkpoint every n epochs; 0: not by epochs. The end of a run is always saved."},
    {"trainer.ckpt_every_steps", FGI_CONFIG_INT, "0", .min = 0, .max = MOST, .example = "1000",
     .help = "Save a checkpoint every n optimizer steps; 0: not by steps."},
    {"trainer.keep_checkpoints", FGI_CONFIG_INT, "2", .min = 0, .max = 1 << 20, .example = "5",
     .help = "Keep this many of the newest checkpoints, in addition to the best; 0: all."},
    {"trainer.monitor", FGI_CONFIG_TEXT, "auto", .has_auto = true, .example = "val_acc",
     .help = "The metric that decides which checkpoint is the best. auto: val_loss, or train_loss "
             "without validation."},
    {"trainer.monitor_mode", FGI_CONFIG_CHOICE, "auto", .choices = "auto|min|max", .example = "max",
     .help = "Whether a smaller or a larger value is better. auto: max for names that end in acc, "
             "otherwise min."},
    {"trainer.workers", FGI_CONFIG_INT, "auto", .min = 1, .max = 1024, .has_auto = true, .example = "4",
     .help = "Threads that load and prepare batches. auto: one per processor, up to the number of "
             "batches that are prepared ahead."},
};
/* clang-format on */
enum { KEY_COUNT = sizeof(keys) / sizeof(keys[0]) };
_Static_assert((int)KEY_COUNT <= (int)FGI_CONFIG_MAX_KEYS, "raise CONFIG_MAX_KEYS");

/* Names that users of other programs know; ours are suggested. */
static const struct {
    const char *theirs, *ours;
} elsewhere[] = {
    {"log_every_n_steps", "trainer.log_every"},
    {"check_val_every_n_epoch", "trainer.val_every_epochs"},
    {"val_check_interval", "trainer.val_every_steps"},
    {"every_n_epochs", "trainer.ckpt_every_epochs"},
    {"every_n_train_steps", "trainer.ckpt_every_steps"},
    {"save_top_k", "trainer.keep_checkpoints"},
    {"default_root_dir", "trainer.run_dir"},
    {"ckpt_path", "trainer.resume"},
    {"num_workers", "trainer.workers"},
    {"seed_everything", "trainer.seed"},
    {"epochs", "trainer.max_epochs"},
    {"learning_rate", "optimizer.lr"},
    {"gpus", "trainer.devices"},
    {"num_sanity_val_steps", "trainer.sanity_val_steps"},
    {"num_train_epochs", "trainer.max_epochs"},
    {"gradient_accumulation_steps", "trainer.accumulate_grad_batches"},
    {"checkpoint", "trainer.resume"},
    {"pretrained", "model.weights"},
    {"scheduler", "schedule.name"},
    {"lr_scheduler", "schedule.name"},
    {"sep", "data.delimiter"},
    {"mode", "trainer.monitor_mode"},
};

size_t fgi_config_key_count(void) { return KEY_COUNT; }

const fgi_config_key *fgi_config_key_at(size_t index) { return &keys[index]; }

const fgi_config_key *fgi_config_find(const char *path)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (strcmp(keys[i].path, path) == 0)
            return &keys[i];
    return NULL;
}

const char *fgi_config_section_help(const char *name)
{
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
        if (strcmp(sections[i].name, name) == 0)
            return sections[i].help;
    return NULL;
}

const char *fgi_config_suggest_section(const char *name)
{
    const char *names[sizeof(sections) / sizeof(sections[0])];
    const size_t count = sizeof(sections) / sizeof(sections[0]);
    for (size_t i = 0; i < count; i++)
        names[i] = sections[i].name;
    return fgi_nearest(name, names, count);
}

static const char *last_part(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL ? dot + 1 : path;
}

const char *fgi_config_suggest(const char *path)
{
    const char *names[2 * KEY_COUNT], *name = last_part(path);
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
        if (strcmp(elsewhere[i].theirs, name) == 0)
            return elsewhere[i].ours;
    for (size_t i = 0; i < KEY_COUNT; i++) /* the right name in the wrong place */
        if (strcmp(last_part(keys[i].path), name) == 0)
            return keys[i].path;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        names[i] = keys[i].path;
        names[KEY_COUNT + i] = last_part(keys[i].path);
    }
    const char *whole = fgi_nearest(path, names, KEY_COUNT);
    if (whole != NULL && strchr(path, '.') != NULL)
        return whole;
    const char *part = fgi_nearest(name, names + KEY_COUNT, KEY_COUNT);
    for (size_t i = 0; i < KEY_COUNT && part != NULL; i++)
        if (names[KEY_COUNT + i] == part)
            return keys[i].path;
    return whole;
}

static const char *range_of(const fgi_config_key *key)
{
    static _Thread_local char text[96];
    const bool is_integer = key->kind == FGI_CONFIG_INT || key->kind == FGI_CONFIG_INTS;
    text[0] = '\0';
    if (key->max >= MOST || key->max >= 1e30)
        (void)fgi_snprintf(text, sizeof(text),
                           key->min < 1e-20 && key->min > 0 ? " greater than 0" : ", %g or greater",
                           key->min);
    else if (key->min != key->max)
        (void)fgi_snprintf(text, sizeof(text),
                           key->is_below_max ? " from %.10g to less than %.10g"
                                             : " from %.10g to %.10g",
                           key->min, key->max);
    if (is_integer && key->min == -1)
        (void)fgi_snprintf(text, sizeof(text), ", -1 or greater");
    return text;
}

const char *fgi_config_type(const fgi_config_key *key)
{
    static _Thread_local char text[512];
    static const char *const kinds[] = {
        [FGI_CONFIG_INT] = "an integer",
        [FGI_CONFIG_FLOAT] = "a number",
        [FGI_CONFIG_BOOL] = "true or false",
        [FGI_CONFIG_TEXT] = "a string",
        [FGI_CONFIG_CHOICE] = "one of ",
        [FGI_CONFIG_AMOUNT] = "a fraction (0.0 to 1.0) or a count",
        [FGI_CONFIG_DEVICES] = "a number of devices, -1 (all), or a list of them, counted from 0",
        [FGI_CONFIG_INTS] = "a list of integers",
        [FGI_CONFIG_FLOATS] = "a list of numbers",
        [FGI_CONFIG_TEXTS] = "a list of strings",
        [FGI_CONFIG_RULES] = "a list of {match: PATTERN, split: [AXIS, ...]}",
    };
    const bool is_choice = key->kind == FGI_CONFIG_CHOICE;
    (void)fgi_snprintf(
        text, sizeof(text), "%s%s%s%s", kinds[key->kind], is_choice ? key->choices : "",
        is_choice || key->kind == FGI_CONFIG_AMOUNT || key->kind == FGI_CONFIG_DEVICES
            ? ""
            : range_of(key),
        key->has_auto ? ", or auto" : "");
    return text;
}

const char *fgi_config_describe(const fgi_config_key *key)
{
    static _Thread_local char text[640];
    const bool is_closed = key->kind == FGI_CONFIG_CHOICE || key->kind == FGI_CONFIG_BOOL;
    (void)fgi_snprintf(text, sizeof(text), "%s%s%s%s", fgi_config_type(key),
                       is_closed ? "" : " (for example ", is_closed ? "" : key->example,
                       is_closed ? "" : ")");
    return text;
}
