/* config_keys.c - the sections of a configuration, and the keys that do not come from rows of a
 * registry: task, data, trainer, and weights. To add a key, add its row (at its position in
 * --print-config) and read it where it is used; help, checks, completion and docs/config.md are
 * derived from it (`fulgurite help --config-reference` generates docs/config.md).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "recipe/config/config_table.h"

#define KEY(path, member, kind, initial, range, example, ...)                                      \
    FG_OPTION_AS(path, fgi_config, member, kind, initial, range, example, __VA_ARGS__)

static const fg_option task_rows[] = {
    KEY("task", task, CHOICE, "auto", "auto|classification|multilabel|regression|language",
        "regression",
        "What to predict: a class (cross-entropy loss, accuracy), several labels per sample "
        "(binary cross-entropy; F1, mAP), numbers (loss: mean squared error; metrics: MAE, RMSE "
        "and R^2) or the next token of a text (cross-entropy loss, "
        "perplexity, bits per byte). auto: the task of loss.name, or classification if "
        "model.classes is given; otherwise inferred from the targets, which is printed.",
        .spellings = "multi_label=multilabel|multi-label=multilabel|"
                     "classify=classification|classifier=classification|regressor=regression"),
    KEY("metrics", metrics, STRINGS, "[]", NULL, "[acc, f1, auc]",
        "Metrics of validation and test, which trainer.monitor can name (val_auc). classification: "
        "acc, topK_acc such as top5_acc, balanced_acc, f1, precision, recall, f1_micro, "
        "precision_micro, recall_micro, auc, ap, log_loss, perplexity; multilabel: the same "
        "without "
        "topK_acc, balanced_acc and perplexity; regression: mae, mse, rmse, "
        "r2; language: perplexity, bits_per_byte. Default: acc, f1, precision and recall, with "
        "balanced_acc if one class has at least "
        "70 % of the training samples or three times its equal share; acc, f1, precision, recall, "
        "f1_micro and ap of several labels; mae, rmse and r2; all of a language model."),
};

static const fg_option model_rows[] = {
    KEY("model.classes", model.classes, INT, "auto", "auto|2..16777216", "10",
        "Number of classes. auto: as many as the data have, which is an error if most of them "
        "have a single sample, or if there are more than 100 with fewer than 10 samples each on "
        "average, or more than 1000; give the number to train such a classifier.",
        .only = "task=classification"),
    KEY("model.hf", model.hf, STRING, NULL, NULL, "pretrained/resnet-18",
        "A folder with the config.json of a published model, as transformers and timm write it, or "
        "hf:OWNER/NAME, which is downloaded: determines model.name and the options of the model. "
        "The weights in the folder are "
        "model.weights, unless that is given."),
    KEY("model.weights", model.weights, STRING, NULL, NULL, "pretrained.safetensors",
        "Start from these weights: a .safetensors file, a checkpoint folder, a folder of published "
        "weights, single or in shards, or hf:OWNER/NAME[@REVISION], which is downloaded to the "
        "cache of huggingface_hub. The names can be those of torchvision, timm or "
        "transformers. Variables for a different number of classes start at random. Size and "
        "normalization of images are those of the preprocessor_config.json, or timm's "
        "config.json, next to the weights, unless the configuration gives them. `fulgurite show` "
        "lists the names of the tensors."),
    KEY("model.weights_prefix", model.weights_prefix, STRING, NULL, NULL, "backbone.",
        "Load only the tensors of model.weights whose names start with this, and remove it from "
        "their names."),
    KEY("model.weights_skip", model.weights_skip, STRINGS, "[]", NULL, "[fc.*]",
        "Do not load these variables of the model, such as a different head; * matches any text."),
    KEY("model.weights_partial", model.weights_partial, BOOL, "false", NULL, "true",
        "Variables that model.weights does not have, or has with a different shape, keep their "
        "random initial values. What was loaded is printed."),
    KEY("model.freeze", model.freeze, STRINGS, "[]", NULL, "[layer1.*, fc1.bias]",
        "Do not train the parameters whose names match one of these patterns; * matches any text. "
        "A batch norm whose running_mean matches keeps its running statistics. `fulgurite show` "
        "lists the names."),
};

static const fg_option data_rows[] = {
    KEY("data.val_fraction", data.val_fraction, FLOAT, "0", "0..<1", "0.2",
        "Hold out this fraction of the training samples for validation. Samples of one group (of "
        "a list of images, or of a pack) stay together. If it is 0, idx, cifar10 and cifar100 use "
        "their own validation files."),
    KEY("data.split_seed", data.split_seed, INT, "0", "0..", "1",
        "Seed that selects the samples held out by val_fraction."),
    KEY("data.stratify", data.stratify, BOOL, "true", NULL, "false",
        "Let val_fraction hold out the same fraction of every class. A class with a single sample "
        "stays in the training set. false: any samples, as versions without this key did.",
        .only = "task=classification"),
    KEY("data.sampling", data.sampling, CHOICE, "uniform", "uniform|balanced", "balanced",
        "How often training samples are drawn in an epoch. uniform: each once. balanced: rare "
        "classes several times and frequent ones partly, so that all classes are equally frequent "
        "and the number of samples stays the same. Validation is not affected.",
        .only = "task=classification"),
    FG_OPTION_ENUM_AS(
        "data.resident", fgi_config, batches.resident, "auto", "auto|true|false", "true",
        "Keep the samples of training and validation on the devices; a batch is then only their "
        "numbers, and the results are the same. auto: on an accelerator, datasets in memory that "
        "together take at most an eighth of the device's memory and whose samples do not vary by "
        "epoch. "
        "false: upload every batch."),
    KEY("data.scale", data.scale, FLOAT, "auto", "auto|0<..", "0.0625",
        "Factor for the inputs, applied on the device. auto: 1/255 for integers (pixels), 1 for "
        "floats."),
    KEY("data.mean", data.mean, FLOATS, "[]", NULL, "[0.485, 0.456, 0.406]",
        "Subtracted after scaling: one number, or one for each channel (last dimension)."),
    KEY("data.std", data.std, FLOATS, "[]", "0<..", "[0.229, 0.224, 0.225]",
        "Divisor after subtracting the mean: one number, or one for each channel."),
    KEY("data.augment", data.augment, ENTRIES, "[]", NULL,
        "[random_crop: {padding: 4}, random_flip]",
        "Augmentations applied to images on the device, in this order, between scaling and "
        "subtracting the mean. Random ones apply to training only; in evaluation, those that "
        "change the size crop or resize the center."),
};

static const fg_option optimizer_rows[] = {
    KEY("optimizer.groups", optimizer.groups.groups, STRING_MAP, "{}", "{}",
        "{head.*: {lr: 1e-2}, \"*.bias\": {weight_decay: 0}}",
        "Options of the optimizer for the parameters whose names match a pattern; * matches any "
        "text. All patterns that match apply, later ones last. A learning rate keeps its ratio to "
        "optimizer.lr. How many parameters each has is printed; model.freeze freezes parameters."),
    KEY("optimizer.no_decay", optimizer.groups.no_decay, CHOICE, "none", "none|bias_and_norm",
        "bias_and_norm",
        "Parameters without weight decay. bias_and_norm: those with fewer than two dimensions."),
    KEY("optimizer.layer_decay", optimizer.groups.layer_decay, FLOAT, "1", "0<..1", "0.75",
        "The learning rate of each layer, as a fraction of that of the layer after it. Layers are "
        "the modules with a number in their names, such as h.3 of h.3.attn.weight, and what is "
        "before and after them; without numbers, all modules."),
};

static const fg_option schedule_rows[] = {
    KEY("schedule.warmup", schedule.warmup, AMOUNT, "0", NULL, "500",
        "Steps in which the learning rate rises linearly from 0, before those of the schedule, or "
        "their fraction of the run."),
};

static const fg_option tuner_rows[] = {
    KEY("tuner.lr_find", lr_find, BOOL, "false", NULL, "true",
        "Before training, find a learning rate as `fulgurite lr-find` does, and use it as "
        "optimizer.lr. A resumed run keeps the one that it began with."),
    KEY("tuner.suggestion", lr_suggestion, CHOICE, "valley", "valley|steep|slide|minimum", "steep",
        "Which of the suggestions lr_find uses. valley: the middle of the part of the curve in "
        "which the loss falls; steep: where it falls fastest; slide: a cautious one, before the "
        "fall or early in it; minimum: a tenth of the one with the lowest loss.",
        .only = "tuner.lr_find=true"),
};

static const fg_option trainer_rows[] = {
    KEY("trainer.tpu_cores", run.tpu_cores, DEVICES, NULL, "auto", "8",
        "Old spelling of accelerator: tpu with devices."),
    KEY("trainer.model_devices", run.model_devices, INT, "1", "1..1024", "2",
        "Devices along the model axis of the mesh, across which the batch is not sharded; must "
        "divide the number of devices."),
    KEY("trainer.mesh", run.mesh, STRING_MAP, "{}", NULL, "{data: 2, fsdp: 2, model: 2}",
        "Named axes of the device mesh and their sizes, instead of model_devices, the "
        "slowest-varying axis first; -1: all remaining devices. Batches are sharded over the axes "
        "data and fsdp, the parameters of "
        "strategy fsdp over the axis fsdp (without one, over data)."),
    KEY("trainer.sharding", run.sharding, STRING_MAP, "{}", NULL,
        "{fc1.*: model, fc2.weight: [none, model]}",
        "Shards parameters by name across the mesh; the first pattern that matches applies. It is "
        "a parameter's name as `fulgurite show` lists it, * matches any text; its value lists an "
        "axis of the mesh (data+fsdp: two axes), or none, for each dimension in the order of "
        "checkpoint files."),
    KEY("trainer.run_dir", run.dir, STRING, "auto", "auto", "runs/baseline",
        "The run's folder. auto: runs/NAME-1, -2, ..., where NAME is that of the configuration "
        "file."),
    KEY("trainer.resume", run.resume, STRING, NULL, NULL, "last",
        "Continue from a checkpoint: last, best or a path. auto: from last if there is one, "
        "otherwise from the start."),
    KEY("trainer.slurm_requeue", run.slurm_requeue, BOOL, "false", NULL, "true",
        "In a SLURM job, save and stop on SIGUSR1, then queue the job again (`scontrol requeue`); "
        "requires trainer.resume=auto. SLURM sends the signal before the end of the job with "
        "#SBATCH --signal=USR1@90."),
    KEY("trainer.callbacks", run.callbacks, ENTRIES, "[]", NULL, "[early_stop: {patience: 5}]",
        "Callbacks, in the order in which they are called, each with the options that differ from "
        "their defaults."),
};

#define ROWS(list) .options = (list), .option_count = sizeof(list) / sizeof((list)[0])

const fgi_config_section fgi_config_sections[] = {
    {.name = "", .help = NULL, ROWS(task_rows)},
    {.name = "model",
     .name_offset = offsetof(fgi_config, model.name),
     .help = "the network to train",
     .has_entries = true,
     .kind = FG_REGISTRY_MODEL,
     .initial = "mlp",
     .before = "The model.",
     .after = "The sizes of the input and the output come from the data.",
     ROWS(model_rows)},
    {.name = "loss",
     .name_offset = offsetof(fgi_config, loss.name),
     .help = "what training minimizes",
     .has_entries = true,
     .kind = FG_REGISTRY_LOSS,
     .has_auto = true,
     .initial = "auto",
     .before = "The loss.",
     .after = "auto: cross_entropy for task classification, mse for regression."},
    {.name = "data",
     .name_offset = offsetof(fgi_config, data.format),
     .help = "training, validation and test data",
     .has_entries = true,
     .kind = FG_REGISTRY_FORMAT,
     .key = "format",
     .later = "text",
     .before = "Format of the data; required.",
     ROWS(data_rows)},
    {.name = "optimizer",
     .name_offset = offsetof(fgi_config, optimizer.name),
     .help = "the parameter update",
     .has_entries = true,
     .kind = FG_REGISTRY_OPTIMIZER,
     .initial = "adam",
     .before = "The update rule.",
     ROWS(optimizer_rows)},
    {.name = "schedule",
     .name_offset = offsetof(fgi_config, schedule.name),
     .help = "the learning rate over the run",
     .has_entries = true,
     .kind = FG_REGISTRY_SCHEDULE,
     .initial = "constant",
     .before = "How the learning rate changes.",
     ROWS(schedule_rows)},
    {.name = "tuner",
     .help = "the search for a learning rate",
     .tables = {{fg_lr_find_options_row, offsetof(fgi_config, tuner)}},
     ROWS(tuner_rows)},
    {.name = "trainer",
     .help = "length of the run, devices, batches, precision, validation and checkpoints",
     .tables = {{fg_trainer_options_row, offsetof(fgi_config, trainer)},
                {fg_fit_data_row, offsetof(fgi_config, batches)}},
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
