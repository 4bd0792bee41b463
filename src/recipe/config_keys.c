/* config_keys.c - the sections of a configuration, and the keys that do not come from rows of a
 * registry: task, data, trainer, and weights. To add a key, add its row (at its position in
 * --print-config) and read it where it is used; help, checks, completion and docs/config.md are
 * derived from it (`fulgurite help --config-reference` generates docs/config.md).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "recipe/config_table.h"

/* clang-format off */
static const fg_option task_rows[] = {
    {.name = "task", .kind = FG_OPTION_CHOICE, .initial = "auto", .range = "auto|classification|regression", .spellings =
      "classify=classification|classifier=classification|regressor=regression", .example = "regression", .help =
      "What to predict: a class (cross-entropy loss, accuracy) or numbers (loss: mean squared "
      "error; metrics: MAE, RMSE and R^2). auto: the task of loss.name, or classification if "
      "model.classes is given; otherwise inferred from the targets, which is printed."},
};

static const fg_option model_rows[] = {
    {.name = "model.classes", .kind = FG_OPTION_INT, .initial = "auto", .range = "auto|2..16777216", .example = "10", .help =
      "Number of classes. auto: as many as the data have, which is an error if most of them have a "
      "single sample, or if there are more than 100 with fewer than 10 samples each on average, or "
      "more than 1000; give the number to train such a classifier.", .only = "task=classification"},
    {.name = "model.weights", .kind = FG_OPTION_STRING, .example = "pretrained.safetensors",
      .help =
      "Start from these weights: a .safetensors file or a checkpoint folder. `fulgurite show` "
      "lists the names of its tensors."},
    {.name = "model.weights_prefix", .kind = FG_OPTION_STRING, .example = "backbone.", .help =
      "Load only the tensors of model.weights whose names start with this, and remove it from "
      "their names."},
    {.name = "model.weights_skip", .kind = FG_OPTION_STRINGS, .initial = "[]", .example =
      "[fc.*]", .help =
      "Do not load these variables of the model, such as a different head; * matches any text."},
    {.name = "model.weights_partial", .kind = FG_OPTION_BOOL, .initial = "false", .example =
      "true", .help =
      "Variables that model.weights does not have, or has with a different shape, keep their "
      "random initial values. What was loaded is printed."},
    {.name = "model.freeze", .kind = FG_OPTION_STRINGS, .initial = "[]", .example =
      "[layer1.*, fc1.bias]", .help =
      "Do not train the parameters whose names match one of these patterns; * matches any text. A "
      "batch norm whose running_mean matches keeps its running statistics. `fulgurite show` lists "
      "the names."},
};

static const fg_option data_rows[] = {
    {.name = "data.val_fraction", .kind = FG_OPTION_FLOAT, .initial = "0", .range = "0..<1", .example = "0.2", .help =
      "Hold out this fraction of the training samples for validation. Samples of one group (of a "
      "list of images, or of a pack) stay together. If it is 0, idx, cifar10 and cifar100 use their own "
      "validation files."},
    {.name = "data.split_seed", .kind = FG_OPTION_INT, .initial = "0", .range = "0..", .example = "1", .help =
      "Seed that selects the samples held out by val_fraction."},
    {.name = "data.stratify", .kind = FG_OPTION_BOOL, .initial = "true", .example = "false", .help =
      "Let val_fraction hold out the same fraction of every class. A class with a single sample stays "
      "in the training set. false: any samples, as versions without this key did.", .only = "task=classification"},
    {.name = "data.sampling", .kind = FG_OPTION_CHOICE, .initial = "uniform", .range = "uniform|balanced", .example = "balanced", .help =
      "How often training samples are drawn in an epoch. uniform: each once. balanced: rare "
      "classes several times and frequent ones partly, so that all classes are equally frequent "
      "and the number of samples stays the same. Validation is not affected.", .only = "task=classification"},
    {.name = "data.scale", .kind = FG_OPTION_FLOAT, .initial = "auto", .range = "auto|0<..", .example = "0.0625", .help =
      "Factor for the inputs, applied on the device. auto: 1/255 for integers (pixels), 1 for "
      "floats."},
    {.name = "data.mean", .kind = FG_OPTION_FLOATS, .initial = "[]", .example =
      "[0.485, 0.456, 0.406]", .help =
      "Subtracted after scaling: one number, or one for each channel (last dimension)."},
    {.name = "data.std", .kind = FG_OPTION_FLOATS, .initial = "[]", .range = "0<..", .example = "[0.229, 0.224, 0.225]", .help =
      "Divisor after subtracting the mean: one number, or one for each channel."},
    {.name = "data.augment", .kind = FG_OPTION_ENTRIES, .initial = "[]", .example =
      "[random_crop(padding=4), random_flip]", .help =
      "Augmentations applied to images on the device, in this order, between scaling and "
      "subtracting the mean. Random ones apply to training only; in evaluation, those that change "
      "the size crop or resize the center."},
};

static const fg_option tuner_rows[] = {
    {.name = "tuner.lr_find", .kind = FG_OPTION_BOOL, .initial = "false", .example = "true",
      .help =
      "Before training, find a learning rate as `fulgurite lr-find` does, and use it as "
      "optimizer.lr. A resumed run keeps the one that it began with."},
    {.name = "tuner.suggestion", .kind = FG_OPTION_CHOICE, .initial = "valley", .range = "valley|steep|slide|minimum", .example = "steep", .help =
      "Which of the suggestions lr_find uses. valley: the middle of the part of the curve in "
      "which the loss falls; steep: where it falls fastest; slide: a cautious "
      "one, before the fall or early in it; minimum: a tenth of the one with the lowest loss.", .only = "tuner.lr_find=true"},
    {.name = "tuner.min_lr", .kind = FG_OPTION_FLOAT, .initial = "1e-07", .range = "0<..", .example = "1e-6", .help = "The lowest learning rate of a sweep."},
    {.name = "tuner.max_lr", .kind = FG_OPTION_FLOAT, .initial = "10", .range = "0<..", .example = "1", .help =
      "The highest learning rate of a sweep; it ends earlier if the loss diverges."},
    {.name = "tuner.steps", .kind = FG_OPTION_INT, .initial = "100", .range = "10..10000", .example = "200", .help = "Optimizer steps of a sweep."},
    {.name = "tuner.sweep", .kind = FG_OPTION_CHOICE, .initial = "exponential", .range = "exponential|linear", .example = "linear", .help =
      "How the learning rate increases from step to step."},
    {.name = "tuner.segments", .kind = FG_OPTION_INT, .initial = "3", .range = "1..100", .example = "5", .help =
      "Number of sweeps. Each starts from the same weights and reads the samples in a different "
      "order; their losses are averaged, and their spread is reported."},
    {.name = "tuner.diverged", .kind = FG_OPTION_FLOAT, .initial = "4", .range = "0..", .example = "10", .help =
      "End a sweep when the running mean of the loss exceeds its lowest value by this many times "
      "its fall (at least a tenth of the loss at the start). 0: only when the loss is not finite."},
    {.name = "tuner.smoothing", .kind = FG_OPTION_FLOAT, .initial = "0.2", .range = "1e-6..1", .example = "0.3", .help =
      "Width of the local fit that smooths the curve, as a fraction of the logarithmic range of "
      "learning rates."},
};

static const fg_option trainer_rows[] = {
    {.name = "trainer.tpu_cores", .kind = FG_OPTION_DEVICES, .range = "auto", .example = "8",
      .help = "Old spelling of accelerator: tpu with devices."},
    {.name = "trainer.model_devices", .kind = FG_OPTION_INT, .initial = "1", .range = "1..1024", .example = "2", .help =
      "Devices along the model axis of the mesh, across which the batch is not sharded; must "
      "divide the number of devices."},
    {.name = "trainer.mesh", .kind = FG_OPTION_STRING, .example = "data=2,fsdp=2,model=2", .help
      = "Named axes of the device mesh and their sizes, instead of model_devices; -1: all "
      "remaining devices. Batches are sharded over the axes data and fsdp, the parameters of "
      "strategy fsdp over the axis fsdp (without one, over data)."},
    {.name = "trainer.sharding", .kind = FG_OPTION_RULES, .initial = "[]", .example =
      "[fc1.*=model, fc2.weight=none/model]", .help =
      "Shards parameters by name across the mesh; the first rule that matches applies. match is "
      "a parameter's name as `fulgurite show` lists it, * matches any text; split has an axis of "
      "the mesh (data+fsdp: two axes), or none, for each dimension in the order of checkpoint "
      "files."},
    {.name = "trainer.run_dir", .kind = FG_OPTION_STRING, .initial = "auto", .range = "auto", .example = "runs/baseline", .help =
      "The run's folder. auto: runs/NAME-1, -2, ..., where NAME is that of the configuration "
      "file."},
    {.name = "trainer.resume", .kind = FG_OPTION_STRING, .example = "last", .help =
      "Continue from a checkpoint: last, best or a path. auto: from last if there is one, "
      "otherwise from the start."},
    {.name = "trainer.slurm_requeue", .kind = FG_OPTION_BOOL, .initial = "false", .example =
      "true", .help =
      "In a SLURM job, save and stop on SIGUSR1, then queue the job again (`scontrol requeue`); "
      "requires trainer.resume=auto. SLURM sends the signal before the end of the job with #SBATCH "
      "--signal=USR1@90."},
    {.name = "trainer.callbacks", .kind = FG_OPTION_ENTRIES, .initial = "[]", .example =
      "[early_stop(patience=5)]", .help =
      "Callbacks, in the order in which they are called, each with the options that differ from "
      "their defaults."},
    {.name = "trainer.loggers", .kind = FG_OPTION_ENTRIES, .initial = "[csv, jsonl]", .example =
      "[jsonl]", .help =
      "Loggers of `fit`: where the metrics are written; []: nowhere."},
};
/* clang-format on */

#define ROWS(list) .options = (list), .option_count = sizeof(list) / sizeof((list)[0])

const fgi_config_section fgi_config_sections[] = {
    {.name = "", .help = NULL, ROWS(task_rows)},
    {.name = "model",
     .help = "the network to train",
     .has_entries = true,
     .kind = FG_REGISTRY_MODEL,
     .initial = "mlp",
     .before = "The model.",
     .after = "The sizes of the input and the output come from the data.",
     ROWS(model_rows)},
    {.name = "loss",
     .help = "what training minimizes",
     .has_entries = true,
     .kind = FG_REGISTRY_LOSS,
     .has_auto = true,
     .initial = "auto",
     .before = "The loss.",
     .after = "auto: cross_entropy for task classification, mse for regression."},
    {.name = "data",
     .help = "training, validation and test data",
     .has_entries = true,
     .kind = FG_REGISTRY_FORMAT,
     .key = "format",
     .later = "text",
     .before = "Format of the data; required.",
     ROWS(data_rows)},
    {.name = "optimizer",
     .help = "the parameter update",
     .has_entries = true,
     .kind = FG_REGISTRY_OPTIMIZER,
     .initial = "adam",
     .before = "The update rule."},
    {.name = "schedule",
     .help = "the learning rate over the run",
     .has_entries = true,
     .kind = FG_REGISTRY_SCHEDULE,
     .initial = "constant",
     .before = "How the learning rate changes."},
    {.name = "tuner", .help = "the search for a learning rate", ROWS(tuner_rows)},
    {.name = "trainer",
     .help = "length of the run, devices, batches, precision, validation and checkpoints",
     .tables = {fg_trainer_options_row, fg_fit_data_row},
     ROWS(trainer_rows)},
};
const size_t fgi_config_section_count =
    sizeof(fgi_config_sections) / sizeof(fgi_config_sections[0]);

/* Names used by other programs; ours are suggested. */
const fgi_config_elsewhere fgi_config_names_elsewhere[] = {
    {"log_every_n_steps", "trainer.log_every"},
    {"check_val_every_n_epoch", "trainer.val_every_epochs"},
    {"val_check_interval", "trainer.val_every_steps"},
    {"every_n_epochs", "trainer.ckpt_every_epochs"},
    {"every_n_train_steps", "trainer.ckpt_every_steps"},
    {"save_top_k", "trainer.save_top_k"},
    {"auto_requeue", "trainer.slurm_requeue"},
    {"requeue", "trainer.slurm_requeue"},
    {"train_time_interval", "trainer.ckpt_every_time"},
    {"filename", "trainer.ckpt_name"},
    {"save_last", "trainer.keep_checkpoints"},
    {"model_checkpoint", "trainer.save_top_k"},
    {"default_root_dir", "trainer.run_dir"},
    {"ckpt_path", "trainer.resume"},
    {"num_workers", "trainer.workers"},
    {"seed_everything", "trainer.seed"},
    {"epochs", "trainer.max_epochs"},
    {"epoch", "trainer.max_epochs"},
    {"n_epochs", "trainer.max_epochs"},
    {"num_epochs", "trainer.max_epochs"},
    {"steps", "trainer.max_steps"},
    {"batch", "trainer.batch_size"},
    {"timer", "trainer.max_time"},
    {"learning_rate", "optimizer.lr"},
    {"gpus", "trainer.devices"},
    {"num_sanity_val_steps", "trainer.sanity_val_steps"},
    {"num_train_epochs", "trainer.max_epochs"},
    {"gradient_accumulation_steps", "trainer.accumulate_grad_batches"},
    {"max_grad_norm", "trainer.gradient_clip_val"},
    {"clip_grad_norm", "trainer.gradient_clip_val"},
    {"clip_grad", "trainer.gradient_clip_val"},
    {"checkpoint", "trainer.resume"},
    {"profiler", "trainer.profile"},
    {"pretrained", "model.weights"},
    {"scheduler", "schedule.name"},
    {"lr_scheduler", "schedule.name"},
    {"sep", "data.delimiter"},
    {"mode", "trainer.monitor_mode"},
    {"early_stopping", "trainer.callbacks"},
    {"patience", "trainer.callbacks"},
    {"logger", "trainer.loggers"},
    {"transforms", "data.augment"},
    {"augmentations", "data.augment"},
};
const size_t fgi_config_elsewhere_count =
    sizeof(fgi_config_names_elsewhere) / sizeof(fgi_config_names_elsewhere[0]);
