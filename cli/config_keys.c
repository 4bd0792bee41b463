/* config_keys.c - every key that a configuration may have. To add one: add its row (in the order in
 * which --print-config shall show it), and read it where it matters; help, checks, completion and
 * docs/config.md follow (`docs/config.md` is made by `fulgurite help --config-reference`).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "config.h"

static const struct {
    const char *name, *help;
} sections[] = {
    {"model", "what is trained"},
    {"data", "what it learns from"},
    {"optimizer", "how the parameters follow the gradients"},
    {"schedule", "how the learning rate changes over the run"},
    {"trainer", "how long, on what, in which steps, and what is kept"},
};

/* clang-format off */
#define MOST 9007199254740992.0 /* whole numbers that a double holds */
static const config_key keys[] = {
    {"task", CONFIG_CHOICE, "classification", .choices = "classification|regression",
     .help = "What is learned: a class (cross-entropy, accuracy) or numbers (mean squared error)."},

    {"model.name", CONFIG_CHOICE, "mlp", 
     .choices = "mlp|linear|lenet|resnet18|resnet34|resnet50",
     .help = "mlp: layers of hidden units; linear: one layer; lenet: LeNet-5, for images; resnet18 and "
             "others: residual nets, for images. Sizes that follow from the data are not asked for."},
    {"model.hidden", CONFIG_INTS, "[512, 512]", .min = 1, .max = 1 << 20, .only = "model.name=mlp",
     .help = "Units of each hidden layer, 1 to 16 of them."},
    {"model.activation", CONFIG_CHOICE, "relu", .choices = "relu|tanh|sigmoid",
     .only = "model.name=mlp|lenet", .help = "What stands between two layers."},
    {"model.dropout", CONFIG_FLOAT, "0", .min = 0, .max = 1, .is_below_max = true,
     .only = "model.name=mlp",
     .help = "Share of the hidden units that each training step leaves out."},
    {"model.stem", CONFIG_CHOICE, "imagenet", .choices = "imagenet|small",
     .only = "model.name=resnet18|resnet34|resnet50",
     .help = "How it begins. imagenet: a 7x7 convolution with stride 2 and a pool; small, for images of "
             "about 32 pixels: a 3x3 convolution."},
    {"model.width", CONFIG_INT, "64", .min = 1, .max = 4096,
     .only = "model.name=resnet18|resnet34|resnet50",
     .help = "Channels of the first stage; later stages have 2, 4 and 8 times as many."},
    {"model.classes", CONFIG_INT, "auto", .min = 2, .max = 1 << 24, .has_auto = true,
     .only = "task=classification", .help = "Number of classes; auto takes it from the data."},
    {"model.weights", CONFIG_TEXT, NULL,
     .help = "Start from these weights: a .safetensors file or a checkpoint folder, tensors named as "
             "`fulgurite show` lists them."},

    {"data.format", CONFIG_CHOICE, NULL, .choices = "csv|idx|cifar10|npy", .later = "images|pack|text",
     .help = "csv: one row a sample; idx: MNIST's files; cifar10: its binary version; npy: NumPy "
             "arrays. Must be given."},
    {"data.path", CONFIG_TEXT, NULL, .only = "data.format=csv|idx|cifar10",
     .help = "csv: the file, plain or gzip; idx, cifar10: the folder with the usual file names."},
    {"data.target", CONFIG_TEXT, NULL, .only = "data.format=csv",
     .help = "The column to be predicted; else the last one."},
    {"data.val", CONFIG_TEXT, NULL, .only = "data.format=csv", .help = "A file of validation rows."},
    {"data.test", CONFIG_TEXT, NULL, .only = "data.format=csv",
     .help = "A file of rows for `test` and `predict`; else they take the validation rows. For "
             "`predict` it may lack the target."},
    {"data.val_fraction", CONFIG_FLOAT, "0", .min = 0, .max = 1, .is_below_max = true,
     .help = "Hold this share of the training samples out for validation. idx and cifar10 have "
             "validation files of their own, which are used where this is 0."},
    {"data.split_seed", CONFIG_INT, "0", .min = 0, .max = MOST,
     .help = "Which samples val_fraction holds out: the same seed, the same samples."},
    {"data.x", CONFIG_TEXT, NULL, .only = "data.format=npy", .help = "The inputs, T[N,...]."},
    {"data.y", CONFIG_TEXT, NULL, .only = "data.format=npy",
     .help = "The targets, T[N] or T[N,...]: whole numbers for a classification."},
    {"data.val_x", CONFIG_TEXT, NULL, .only = "data.format=npy", .help = "Inputs for validation."},
    {"data.val_y", CONFIG_TEXT, NULL, .only = "data.format=npy", .help = "Targets for validation."},
    {"data.test_x", CONFIG_TEXT, NULL, .only = "data.format=npy",
     .help = "Inputs for `test` and `predict`; else they take the validation samples."},
    {"data.test_y", CONFIG_TEXT, NULL, .only = "data.format=npy",
     .help = "Targets for `test`; `predict` needs none."},
    {"data.no_header", CONFIG_BOOL, "false", .only = "data.format=csv",
     .help = "The first row is data already; columns are then named 0, 1, 2 ..."},
    {"data.delimiter", CONFIG_TEXT, "\",\"", .only = "data.format=csv",
     .help = "What stands between two cells, one character."},
    {"data.ignore", CONFIG_TEXTS, "[]", .only = "data.format=csv", .help = "Columns to leave out."},
    {"data.categorical", CONFIG_TEXTS, "[]", .only = "data.format=csv",
     .help = "Columns of numbers that are names."},
    {"data.missing", CONFIG_CHOICE, "error", .choices = "error|mean", .only = "data.format=csv",
     .help = "An empty cell is an error, or takes its column's mean over the training rows."},
    {"data.unknown", CONFIG_CHOICE, "error", .choices = "error|zero", .only = "data.format=csv",
     .help = "A category that the training rows have not is an error, or none of the known."},
    {"data.normalize", CONFIG_BOOL, "true", .only = "data.format=csv",
     .help = "Subtract each numeric column's mean and divide by its deviation, both taken over the "
             "training rows. Images are not touched."},
    {"data.image", CONFIG_INTS, "[]", .min = 1, .max = 65536, .only = "data.format=csv|npy",
     .help = "The columns of a csv, or the numbers of a flat npy sample, are the pixels of an image: "
             "[height, width, channels]."},
    {"data.scale", CONFIG_FLOAT, "auto", .min = 1e-30, .max = 1e30, .has_auto = true,
     .help = "What inputs are multiplied by on the device; auto: 1/255 for whole numbers (pixels), 1 "
             "for others."},
    {"data.mean", CONFIG_FLOATS, "[]",
     .help = "Subtracted after scaling: one number, or one for each channel (last dimension)."},
    {"data.std", CONFIG_FLOATS, "[]", .min = 1e-30, .max = 1e30,
     .help = "Divided by after that, likewise."},

    {"optimizer.name", CONFIG_CHOICE, "adam", .choices = "sgd|adam|adamw",
     .help = "The update rule."},
    {"optimizer.lr", CONFIG_FLOAT, "auto", .min = 1e-30, .max = 1e30, .has_auto = true,
     .help = "Learning rate; the schedule's highest, where there is one. auto: 0.01 for sgd, 0.001 for "
             "adam and adamw."},
    {"optimizer.momentum", CONFIG_FLOAT, "0", .min = 0, .max = 1, .is_below_max = true,
     .only = "optimizer.name=sgd", .help = "Share of the last update that is kept."},
    {"optimizer.nesterov", CONFIG_BOOL, "false", .only = "optimizer.name=sgd",
     .help = "Look ahead along the momentum."},
    {"optimizer.weight_decay", CONFIG_FLOAT, "auto", .min = 0, .max = 1e6, .has_auto = true,
     .help = "Pull of the parameters towards 0: through the gradient for sgd and adam, beside it for "
             "adamw. auto: 0.01 for adamw, else 0."},
    {"optimizer.betas", CONFIG_FLOATS, "[0.9, 0.999]", .min = 0, .max = 1, .is_below_max = true,
     .only = "optimizer.name=adam|adamw",
     .help = "Memory of the gradient's mean and of its square."},
    {"optimizer.eps", CONFIG_FLOAT, "1e-08", .min = 0, .max = 1, .only = "optimizer.name=adam|adamw",
     .help = "Added to the divisor."},

    {"schedule.name", CONFIG_CHOICE, "constant", .choices = "constant|onecycle",
     .help = "constant: the learning rate stays; onecycle: it rises to optimizer.lr and falls to almost "
             "nothing within the run."},
    {"schedule.pct_start", CONFIG_FLOAT, "0.3", .min = 0, .max = 1, .is_below_max = true,
     .only = "schedule.name=onecycle", .help = "Share of the run in which the rate rises."},
    {"schedule.anneal", CONFIG_CHOICE, "cos", .choices = "cos|linear",
     .only = "schedule.name=onecycle", .help = "Shape of the ways up and down."},
    {"schedule.div_factor", CONFIG_FLOAT, "25", .min = 1e-6, .max = 1e12,
     .only = "schedule.name=onecycle", .help = "It begins with lr / div_factor."},
    {"schedule.final_div_factor", CONFIG_FLOAT, "10000", .min = 1e-6, .max = 1e15,
     .only = "schedule.name=onecycle", .help = "It ends with lr / div_factor / final_div_factor."},
    {"schedule.three_phase", CONFIG_BOOL, "false", .only = "schedule.name=onecycle",
     .help = "Down to the beginning's rate first, as long as the way up, and only then to the end."},
    {"schedule.cycle_momentum", CONFIG_BOOL, "true", .only = "schedule.name=onecycle",
     .help = "The momentum (adam: the first beta) goes the other way, from max_momentum to "
             "base_momentum and back."},
    {"schedule.base_momentum", CONFIG_FLOAT, "0.85", .min = 0, .max = 1, .is_below_max = true,
     .only = "schedule.name=onecycle", .help = "The least momentum."},
    {"schedule.max_momentum", CONFIG_FLOAT, "0.95", .min = 0, .max = 1, .is_below_max = true,
     .only = "schedule.name=onecycle", .help = "The greatest momentum."},

    {"trainer.accelerator", CONFIG_CHOICE, "auto", .choices = "auto|tpu|cuda|cpu",
     .help = "Where it is trained; `fulgurite devices` tells what there is. auto: a TPU where there is "
             "one, else CUDA, else the CPU. A named one never falls back to another."},
    {"trainer.devices", CONFIG_DEVICES, "auto", .has_auto = true,
     .help = "Which of its devices: 8 takes the first eight, [1] the second alone, \"0,2\" or [0, 2] "
             "those two; auto and -1 take all (of the CPU's: one). With the CPU a number makes as many "
             "virtual devices, for development."},
    {"trainer.tpu_cores", CONFIG_DEVICES, NULL, .has_auto = true,
     .help = "The old spelling of accelerator: tpu with devices."},
    {"trainer.strategy", CONFIG_CHOICE, "auto", .choices = "auto|single|ddp|fsdp",
     .help = "How devices share the work. single: there is one; ddp: each has the whole model and a part "
             "of every batch; fsdp: large parameters, with their gradients and optimizer state, are "
             "split over the devices too. auto: by the number of devices."},
    {"trainer.model_devices", CONFIG_INT, "1", .min = 1, .max = 1024,
     .help = "Devices along the second axis of their mesh, which the batch is not dealt to; it divides "
             "their number."},
    {"trainer.sharding", CONFIG_RULES, "[]",
     .help = "Splits parameters by name over the mesh; the first rule that matches holds. match is a name "
             "as `fulgurite show` lists them, where * stands for any text; split has an axis, data, model "
             "or none, for each dimension in the order of files. In one line: fc1.*=model, "
             "fc2.weight=none/model."},
    {"trainer.precision", CONFIG_CHOICE, "32-true",
     .choices = "32-true|bf16-mixed|bf16-true|16-mixed|16-true|64-true",
     .help = "Number formats: bf16-mixed computes products in bf16 and keeps everything in f32; bf16-true "
             "keeps the parameters in bf16 too; 16-mixed and 16-true are the same in f16, with a scaled "
             "loss; 64-true does all in f64. f16 and f64 do not go on TPUs."},
    {"trainer.stochastic_rounding", CONFIG_BOOL, "false", .only = "trainer.precision=bf16-true",
     .help = "Round new parameters by chance, so that updates smaller than their last digit are not lost."},
    {"trainer.detect_anomaly", CONFIG_BOOL, "false",
     .help = "End the run when a gradient is not finite, and name step and parameter."},
    {"trainer.batch_size", CONFIG_INT, "32", .min = 1, .max = 1 << 24,
     .help = "Samples per device and step."},
    {"trainer.global_batch_size", CONFIG_INT, "auto", .min = 1, .max = 1 << 24, .has_auto = true,
     .help = "Samples per step on all devices together, which divide it evenly; given instead of "
             "batch_size."},
    {"trainer.lr_scaling", CONFIG_CHOICE, "none", .choices = "none|linear|sqrt",
     .help = "How optimizer.lr follows the batch: linear: times k, sqrt: times the root of k, where k is "
             "the samples of a step divided by base_batch_size."},
    {"trainer.base_batch_size", CONFIG_INT, "auto", .min = 1, .max = 1 << 24, .has_auto = true,
     .only = "trainer.lr_scaling=linear|sqrt",
     .help = "The batch that optimizer.lr is meant for. auto: one device's, so that k is the number of "
             "devices times accumulate_grad_batches."},
    {"trainer.accumulate_grad_batches", CONFIG_INT, "1", .min = 1, .max = 1 << 20,
     .help = "Batches of one step of the optimizer: it gets the gradient's mean over all their "
             "samples, in the memory that one batch takes."},
    {"trainer.max_epochs", CONFIG_INT, "auto", .min = -1, .max = MOST, .has_auto = true,
     .help = "Passes over the training data; -1: no limit. auto: 10, or no limit where max_steps is "
             "given."},
    {"trainer.max_steps", CONFIG_INT, "-1", .min = -1, .max = MOST,
     .help = "Steps of the optimizer; -1: no limit."},
    {"trainer.limit_train_batches", CONFIG_AMOUNT, "1.0", .min = 0, .max = MOST,
     .help = "Batches of each epoch: a share (0.1) or a count (100)."},
    {"trainer.limit_val_batches", CONFIG_AMOUNT, "1.0", .min = 0, .max = MOST,
     .help = "Batches of each validation, likewise; 0: none."},
    {"trainer.val_every_epochs", CONFIG_INT, "1", .min = 0, .max = MOST,
     .help = "Validate after this many epochs; 0: never for that reason."},
    {"trainer.val_every_steps", CONFIG_INT, "0", .min = 0, .max = MOST,
     .help = "Validate after this many steps; 0: never for that reason."},
    {"trainer.log_every", CONFIG_INT, "50", .min = 1, .max = MOST,
     .help = "Steps between two lines of the training's figures; 1: each step."},
    {"trainer.seed", CONFIG_INT, "0", .min = 0, .max = MOST,
     .help = "Of first weights, order of samples and dropout: the same seed, the same run."},
    {"trainer.run_dir", CONFIG_TEXT, "auto", .has_auto = true,
     .help = "The run's folder. auto: runs/NAME-1, -2, ... after the configuration file's name."},
    {"trainer.resume", CONFIG_TEXT, NULL,
     .help = "Go on from a checkpoint: last, best or a path; auto: last where there is one, else from "
             "the beginning."},
    {"trainer.watchdog_s", CONFIG_FLOAT, "1800", .min = 0, .max = 1e9,
     .help = "Seconds without an answer from a device or the data after which the run is given up: it "
             "says what it waited for, writes the stacks of its threads to hang.txt in the run's "
             "folder, and ends with status 3. Compilation is not counted; 0: wait for ever."},
    {"trainer.ckpt_every_epochs", CONFIG_INT, "1", .min = 0, .max = MOST,
     .help = "Save after this many epochs; 0: never for that reason. The end of a run is always saved."},
    {"trainer.ckpt_every_steps", CONFIG_INT, "0", .min = 0, .max = MOST,
     .help = "Save after this many steps; 0: never for that reason."},
    {"trainer.keep_checkpoints", CONFIG_INT, "2", .min = 0, .max = 1 << 20,
     .help = "How many of the newest checkpoints are kept, beside the best; 0: all."},
    {"trainer.monitor", CONFIG_TEXT, "auto", .has_auto = true,
     .help = "The figure that tells the best checkpoint. auto: val_loss, or train_loss where nothing is "
             "validated."},
    {"trainer.monitor_mode", CONFIG_CHOICE, "auto", .choices = "auto|min|max",
     .help = "Whether the smallest or the largest is best. auto: max for names that end in acc, else "
             "min."},
    {"trainer.workers", CONFIG_INT, "auto", .min = 1, .max = 1024, .has_auto = true,
     .help = "Threads that prepare batches. auto: as many as there are processors, at most one a slot."},
};
/* clang-format on */
enum { KEY_COUNT = sizeof(keys) / sizeof(keys[0]) };
_Static_assert((int)KEY_COUNT <= (int)CONFIG_MAX_KEYS, "raise CONFIG_MAX_KEYS");

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
    {"mode", "trainer.monitor_mode"},
};

size_t config_key_count(void) { return KEY_COUNT; }

const config_key *config_key_at(size_t index) { return &keys[index]; }

const config_key *config_find(const char *path)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (strcmp(keys[i].path, path) == 0)
            return &keys[i];
    return NULL;
}

const char *config_section_help(const char *name)
{
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
        if (strcmp(sections[i].name, name) == 0)
            return sections[i].help;
    return NULL;
}

static const char *last_part(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL ? dot + 1 : path;
}

const char *config_suggest(const char *path)
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
    const char *whole = cli_nearest(path, names, KEY_COUNT);
    if (whole != NULL && strchr(path, '.') != NULL)
        return whole;
    const char *part = cli_nearest(name, names + KEY_COUNT, KEY_COUNT);
    for (size_t i = 0; i < KEY_COUNT && part != NULL; i++)
        if (names[KEY_COUNT + i] == part)
            return keys[i].path;
    return whole;
}

static const char *range_of(const config_key *key)
{
    static char text[96];
    text[0] = '\0';
    if (key->min == key->max && key->min != 0)
        (void)snprintf(text, sizeof(text), ", %g", key->min);
    else if (key->max >= MOST || key->max >= 1e30)
        (void)snprintf(text, sizeof(text),
                       key->min < 1e-20 && key->min > 0 ? ", above 0" : ", %g or more", key->min);
    else if (key->min != key->max)
        (void)snprintf(text, sizeof(text),
                       key->is_below_max ? ", from %.10g to below %.10g" : ", %.10g to %.10g",
                       key->min, key->max);
    return text;
}

const char *config_describe(const config_key *key)
{
    static char text[512];
    static const char *const kinds[] = {
        [CONFIG_INT] = "a whole number",
        [CONFIG_FLOAT] = "a number",
        [CONFIG_BOOL] = "true or false",
        [CONFIG_TEXT] = "a text",
        [CONFIG_CHOICE] = "one of ",
        [CONFIG_AMOUNT] = "a share (0.0 to 1.0) or a count",
        [CONFIG_DEVICES] = "a number of devices, -1 (all), or a list of them, counted from 0",
        [CONFIG_INTS] = "a list of whole numbers",
        [CONFIG_FLOATS] = "a list of numbers",
        [CONFIG_TEXTS] = "a list of texts",
        [CONFIG_RULES] = "a list of {match: PATTERN, split: [AXIS, ...]}",
    };
    const bool is_choice = key->kind == CONFIG_CHOICE;
    (void)snprintf(
        text, sizeof(text), "%s%s%s%s", kinds[key->kind], is_choice ? key->choices : "",
        is_choice || key->kind == CONFIG_AMOUNT || key->kind == CONFIG_DEVICES ? "" : range_of(key),
        key->has_auto ? ", or auto" : "");
    return text;
}
