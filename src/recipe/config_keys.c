/* config_keys.c - the sections of a configuration, and the keys that do not come from rows of a
 * registry: task, data, trainer, and weights. To add a key, add its row (at its position in
 * --print-config) and read it where it is used; help, checks, completion and docs/config.md are
 * derived from it (`fulgurite help --config-reference` generates docs/config.md).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "recipe/config_table.h"

/* clang-format off */
static const fgi_config_row task_rows[] = {
    {{.name = "task", .kind = FG_OPTION_CHOICE, .initial = "auto", .range = "auto|classification|regression", .spellings =
      "classify=classification|classifier=classification|regressor=regression", .example = "regression", .help =
      "What to predict: a class (cross-entropy loss, accuracy) or numbers (loss: mean squared "
      "error; metrics: MAE, RMSE and R^2). auto: the task of loss.name, or classification if "
      "model.classes is given; otherwise inferred from the targets, which is printed."}, .only =
      NULL},
};

static const fgi_config_row model_rows[] = {
    {{.name = "model.classes", .kind = FG_OPTION_INT, .initial = "auto", .range = "auto|2..16777216", .example = "10", .help =
      "Number of classes. auto: as many as the data have, which is an error if most of them have a "
      "single sample, or if there are more than 100 with fewer than 10 samples each on average, or "
      "more than 1000; give the number to train such a classifier."}, .only = "task=classification"},
    {{.name = "model.weights", .kind = FG_OPTION_STRING, .example = "pretrained.safetensors",
      .help =
      "Start from these weights: a .safetensors file or a checkpoint folder. `fulgurite show` "
      "lists the names of its tensors."}, .only = NULL},
    {{.name = "model.weights_prefix", .kind = FG_OPTION_STRING, .example = "backbone.", .help =
      "Load only the tensors of model.weights whose names start with this, and remove it from "
      "their names."}, .only = NULL},
    {{.name = "model.weights_skip", .kind = FG_OPTION_STRINGS, .initial = "[]", .example =
      "[fc.*]", .help =
      "Do not load these variables of the model, such as a different head; * matches any text."},
      .only = NULL},
    {{.name = "model.weights_partial", .kind = FG_OPTION_BOOL, .initial = "false", .example =
      "true", .help =
      "Variables that model.weights does not have, or has with a different shape, keep their "
      "random initial values. What was loaded is printed."}, .only = NULL},
    {{.name = "model.freeze", .kind = FG_OPTION_STRINGS, .initial = "[]", .example =
      "[layer1.*, fc1.bias]", .help =
      "Do not train the parameters whose names match one of these patterns; * matches any text. A "
      "batch norm whose running_mean matches keeps its running statistics. `fulgurite show` lists "
      "the names."}, .only = NULL},
};

static const fgi_config_row data_rows[] = {
    {{.name = "data.val_fraction", .kind = FG_OPTION_FLOAT, .initial = "0", .range = "0..<1", .example = "0.2", .help =
      "Hold out this fraction of the training samples for validation. Samples of one group (of a "
      "list of images, or of a pack) stay together. If it is 0, idx, cifar10 and cifar100 use their own "
      "validation files."}, .only = NULL},
    {{.name = "data.split_seed", .kind = FG_OPTION_INT, .initial = "0", .range = "0..", .example = "1", .help =
      "Seed that selects the samples held out by val_fraction."}, .only = NULL},
    {{.name = "data.stratify", .kind = FG_OPTION_BOOL, .initial = "true", .example = "false", .help =
      "Let val_fraction hold out the same fraction of every class. A class with a single sample stays "
      "in the training set. false: any samples, as versions without this key did."}, .only =
      "task=classification"},
    {{.name = "data.sampling", .kind = FG_OPTION_CHOICE, .initial = "uniform", .range = "uniform|balanced", .example = "balanced", .help =
      "How often training samples are drawn in an epoch. uniform: each once. balanced: rare "
      "classes several times and frequent ones partly, so that all classes are equally frequent "
      "and the number of samples stays the same. Validation is not affected."}, .only =
      "task=classification"},
    {{.name = "data.scale", .kind = FG_OPTION_FLOAT, .initial = "auto", .range = "auto|0<..", .example = "0.0625", .help =
      "Factor for the inputs, applied on the device. auto: 1/255 for integers (pixels), 1 for "
      "floats."}, .only = NULL},
    {{.name = "data.mean", .kind = FG_OPTION_FLOATS, .initial = "[]", .example =
      "[0.485, 0.456, 0.406]", .help =
      "Subtracted after scaling: one number, or one for each channel (last dimension)."}, .only =
      NULL},
    {{.name = "data.std", .kind = FG_OPTION_FLOATS, .initial = "[]", .range = "0<..", .example = "[0.229, 0.224, 0.225]", .help =
      "Divisor after subtracting the mean: one number, or one for each channel."}, .only = NULL},
    {{.name = "data.augment", .kind = FG_OPTION_ENTRIES, .initial = "[]", .example =
      "[random_crop(padding=4), random_flip]", .help =
      "Augmentations applied to images on the device, in this order, between scaling and "
      "subtracting the mean. Random ones apply to training only; in evaluation, those that change "
      "the size crop or resize the center."}, .only = NULL, .has_entries = true, .kind = FG_REGISTRY_AUGMENTATION},
};

static const fgi_config_row tuner_rows[] = {
    {{.name = "tuner.lr_find", .kind = FG_OPTION_BOOL, .initial = "false", .example = "true",
      .help =
      "Before training, find a learning rate as `fulgurite lr-find` does, and use it as "
      "optimizer.lr. A resumed run keeps the one that it began with."}, .only = NULL},
    {{.name = "tuner.suggestion", .kind = FG_OPTION_CHOICE, .initial = "valley", .range = "valley|steep|slide|minimum", .example = "steep", .help =
      "Which of the suggestions lr_find uses. valley: the middle of the part of the curve in "
      "which the loss falls; steep: where it falls fastest; slide: a cautious "
      "one, before the fall or early in it; minimum: a tenth of the one with the lowest loss."},
      .only = "tuner.lr_find=true"},
    {{.name = "tuner.min_lr", .kind = FG_OPTION_FLOAT, .initial = "1e-07", .range = "0<..", .example = "1e-6", .help = "The lowest learning rate of a sweep."}, .only = NULL},
    {{.name = "tuner.max_lr", .kind = FG_OPTION_FLOAT, .initial = "10", .range = "0<..", .example = "1", .help =
      "The highest learning rate of a sweep; it ends earlier if the loss diverges."}, .only = NULL},
    {{.name = "tuner.steps", .kind = FG_OPTION_INT, .initial = "100", .range = "10..10000", .example = "200", .help = "Optimizer steps of a sweep."}, .only = NULL},
    {{.name = "tuner.sweep", .kind = FG_OPTION_CHOICE, .initial = "exponential", .range = "exponential|linear", .example = "linear", .help =
      "How the learning rate increases from step to step."}, .only = NULL},
    {{.name = "tuner.segments", .kind = FG_OPTION_INT, .initial = "3", .range = "1..100", .example = "5", .help =
      "Number of sweeps. Each starts from the same weights and reads the samples in a different "
      "order; their losses are averaged, and their spread is reported."}, .only = NULL},
    {{.name = "tuner.diverged", .kind = FG_OPTION_FLOAT, .initial = "4", .range = "0..", .example = "10", .help =
      "End a sweep when the running mean of the loss exceeds its lowest value by this many times "
      "its fall (at least a tenth of the loss at the start). 0: only when the loss is not finite."},
      .only = NULL},
    {{.name = "tuner.smoothing", .kind = FG_OPTION_FLOAT, .initial = "0.2", .range = "1e-6..1", .example = "0.3", .help =
      "Width of the local fit that smooths the curve, as a fraction of the logarithmic range of "
      "learning rates."}, .only = NULL},
};

static const fgi_config_row trainer_rows[] = {
    {{.name = "trainer.accelerator", .kind = FG_OPTION_CHOICE, .initial = "auto", .range = "auto|tpu|cuda|cpu", .spellings =
      "gpu=cuda|nvidia=cuda", .example = "cuda", .help =
      "Where to train; `fulgurite devices` lists what is available. auto: a TPU if there is one, "
      "otherwise an NVIDIA GPU (cuda), otherwise the CPU. A named accelerator never falls back to "
      "another."}, .only = NULL},
    {{.name = "trainer.devices", .kind = FG_OPTION_DEVICES, .initial = "auto", .range = "auto", .example = "8", .help =
      "Devices of the accelerator to use: 8 uses the first eight, [1] only the second, \"0,2\" or "
      "[0, 2] those two; auto and -1 use all (on the CPU: one). On the CPU a number creates that "
      "many virtual devices, for development."}, .only = NULL},
    {{.name = "trainer.tpu_cores", .kind = FG_OPTION_DEVICES, .range = "auto", .example = "8",
      .help = "Old spelling of accelerator: tpu with devices."}, .only = NULL},
    {{.name = "trainer.strategy", .kind = FG_OPTION_CHOICE, .initial = "auto", .range = "auto|single|ddp|fsdp", .spellings =
      "dp=ddp", .example = "fsdp", .help =
      "How devices share the work. single: one device; ddp: each device has the whole model and a "
      "part of every batch; fsdp: large parameters, their gradients and their optimizer state are "
      "sharded across the devices too. auto: ddp on several devices."}, .only = NULL},
    {{.name = "trainer.model_devices", .kind = FG_OPTION_INT, .initial = "1", .range = "1..1024", .example = "2", .help =
      "Devices along the model axis of the mesh, across which the batch is not sharded; must "
      "divide the number of devices."}, .only = NULL},
    {{.name = "trainer.mesh", .kind = FG_OPTION_STRING, .example = "data=2,fsdp=2,model=2", .help
      = "Named axes of the device mesh and their sizes, instead of model_devices; -1: all "
      "remaining devices. Batches are sharded over the axes data and fsdp, the parameters of "
      "strategy fsdp over the axis fsdp (without one, over data)."}, .only = NULL},
    {{.name = "trainer.sharding", .kind = FG_OPTION_RULES, .initial = "[]", .example =
      "[fc1.*=model, fc2.weight=none/model]", .help =
      "Shards parameters by name across the mesh; the first rule that matches applies. match is "
      "a parameter's name as `fulgurite show` lists it, * matches any text; split has an axis of "
      "the mesh (data+fsdp: two axes), or none, for each dimension in the order of checkpoint "
      "files."},
      .only = NULL},
    {{.name = "trainer.precision", .kind = FG_OPTION_CHOICE, .initial = "32-true", .range = "32-true|bf16-mixed|bf16-true|16-mixed|16-true|64-true", .spellings =
      "32=32-true|fp32=32-true|f32=32-true|float32=32-true|bf16=bf16-mixed|"
      "bfloat16=bf16-mixed|16=16-mixed|fp16=16-mixed|f16=16-mixed|float16=16-mixed|64=64-true|"
      "fp64=64-true|f64=64-true|float64=64-true", .example = "bf16-mixed", .help =
      "32-true: f32; bf16-mixed: matmuls and convolutions in bf16, everything else in f32; "
      "bf16-true: the parameters in bf16 too; 16-mixed and 16-true: the same in f16, with loss "
      "scaling; 64-true: f64. TPUs do not support f16 and f64."}, .only = NULL},
    {{.name = "trainer.stochastic_rounding", .kind = FG_OPTION_BOOL, .initial = "false", .example
      = "true", .help =
      "Round updated parameters stochastically, so that small updates are not lost."}, .only =
      "trainer.precision=bf16-true"},
    {{.name = "trainer.detect_anomaly", .kind = FG_OPTION_BOOL, .initial = "false", .example =
      "true", .help =
      "End the run at the first gradient that is not finite, and name the step and the "
      "parameter."}, .only = NULL},
    {{.name = "trainer.on_divergence", .kind = FG_OPTION_CHOICE, .initial = "stop", .range = "stop|rollback|ignore", .example = "rollback", .help =
      "What to do if a loss or a gradient is not finite, or the loss has risen too far: end the "
      "run; continue from the last good checkpoint with a smaller learning rate; or continue."},
     .only = NULL},
    {{.name = "trainer.divergence_factor", .kind = FG_OPTION_FLOAT, .initial = "4", .range = "0..", .example = "10", .help =
      "The loss has risen too far if it is above this multiple of its lowest smoothed value, and "
      "above the middle between the first and the lowest, or if it explodes to 25 times this "
      "multiple of the loss of the first step. 0: only values that are not finite count."}, .only = NULL},
    {{.name = "trainer.divergence_patience", .kind = FG_OPTION_INT, .initial = "5", .range = "1..", .example = "10", .help =
      "Number of consecutive log lines (trainer.log_every) in which the loss must be too high "
      "before training counts as diverged."}, .only = NULL},
    {{.name = "trainer.rollback_lr_factor", .kind = FG_OPTION_FLOAT, .initial = "0.5", .range = "1e-6..1", .example = "0.3", .help =
      "Multiply the learning rate by this at each rollback."}, .only =
      "trainer.on_divergence=rollback"},
    {{.name = "trainer.max_rollbacks", .kind = FG_OPTION_INT, .initial = "3", .range = "1..", .example = "5", .help =
      "Maximum number of rollbacks, including those before a resume. The next divergence ends the "
      "run."}, .only =
      "trainer.on_divergence=rollback"},
    {{.name = "trainer.batch_size", .kind = FG_OPTION_INT, .initial = "32", .range = "1..16777216", .example = "64", .help = "Samples per device and batch."}, .only = NULL},
    {{.name = "trainer.global_batch_size", .kind = FG_OPTION_INT, .initial = "auto", .range = "auto|1..16777216", .example = "256", .help =
      "Samples per batch on all devices together, instead of batch_size; must be divisible by the "
      "number of devices."}, .only = NULL},
    {{.name = "trainer.lr_scaling", .kind = FG_OPTION_CHOICE, .initial = "none", .range = "none|linear|sqrt", .example = "linear", .help =
      "Scale optimizer.lr with the batch: linear: multiply by k; sqrt: by the square root of k. k "
      "is the number of samples per step divided by base_batch_size."}, .only = NULL},
    {{.name = "trainer.base_batch_size", .kind = FG_OPTION_INT, .initial = "auto", .range = "auto|1..16777216", .example = "256", .help =
      "The batch size that optimizer.lr is meant for. auto: one device's batch, so that k is the "
      "number of devices times accumulate_grad_batches."}, .only =
      "trainer.lr_scaling=linear|sqrt"},
    {{.name = "trainer.accumulate_grad_batches", .kind = FG_OPTION_INT, .initial = "1", .range = "1..1048576", .example = "4", .help =
      "Batches per optimizer step: the optimizer gets the mean gradient over all their samples, "
      "with the memory use of one batch."}, .only = NULL},
    {{.name = "trainer.accumulate_schedule", .kind = FG_OPTION_STRING, .example = "\"0=1,4=2\"",
      .help =
      "Batches per optimizer step that change by epoch: \"4=2,8=4\" is 2 in epochs 4 to 7, "
      "then 4. Before the first of them, accumulate_grad_batches applies. lr_scaling uses the "
      "number of epoch 0."}, .only = NULL},
    {{.name = "trainer.gradient_clip_val", .kind = FG_OPTION_FLOAT, .initial = "0", .range = "0..", .example = "1", .help =
      "Limit the gradient of each optimizer step to this: its norm, or each element. 0: no "
      "limit."}, .only = NULL},
    {{.name = "trainer.gradient_clip_algorithm", .kind = FG_OPTION_CHOICE, .initial = "norm", .range = "norm|value",
      .example = "value", .help =
      "norm: scale the whole gradient down if its L2 norm, over all parameters, is larger than "
      "gradient_clip_val. value: limit each element to the range -gradient_clip_val to "
      "gradient_clip_val."}, .only = NULL},
    {{.name = "trainer.max_epochs", .kind = FG_OPTION_INT, .initial = "auto", .range = "auto|-1..", .example = "30", .help =
      "Number of epochs; -1: no limit. auto: 10, or no limit if max_steps is given."}, .only =
      NULL},
    {{.name = "trainer.max_steps", .kind = FG_OPTION_INT, .initial = "-1", .range = "-1..", .example = "10000", .help =
      "Number of optimizer steps; -1: no limit."}, .only = NULL},
    {{.name = "trainer.max_time", .kind = FG_OPTION_STRING, .initial = "auto", .range = "auto", .example = "8h30m", .help =
      "End training after this time, even in the middle of an epoch. The state is saved, the last "
      "weights are validated, which takes further time, and --resume continues from there, with the "
      "full time again. Numbers with the units d, h, m and s, or DD:HH:MM:SS. Compilation counts. "
      "auto: no limit."}, .only = NULL},
    {{.name = "trainer.limit_train_batches", .kind = FG_OPTION_AMOUNT, .initial = "1.0", .range = "0..", .example = "0.1", .help =
      "Use this many batches of each epoch: a fraction (0.1) or a count (100)."}, .only = NULL},
    {{.name = "trainer.limit_val_batches", .kind = FG_OPTION_AMOUNT, .initial = "1.0", .range = "0..", .example = "20", .help =
      "Use this many batches of each validation: a fraction (0.1) or a count (100); 0: do not "
      "validate."}, .only = NULL},
    {{.name = "trainer.overfit_batches", .kind = FG_OPTION_AMOUNT, .initial = "0", .range = "0..", .example = "10", .help =
      "Train on the first batches only, a fraction (0.1) or a count (10), the same ones in every "
      "epoch without shuffling, and validate on as many: a correct model overfits them; 0: off."}, .only = NULL},
    {{.name = "trainer.sanity_val_steps", .kind = FG_OPTION_INT, .initial = "2", .range = "-1..", .example = "0", .help =
      "Validation batches to run before training starts, to catch errors early. Their metrics "
      "are discarded. 0: none; -1: all."}, .only = NULL},
    {{.name = "trainer.val_every_epochs", .kind = FG_OPTION_INT, .initial = "1", .range = "0..", .example = "5", .help = 
      "Validate every n epochs, and after the last one; 0: not by epochs."},
      .only = NULL},
    {{.name = "trainer.val_every_steps", .kind = FG_OPTION_INT, .initial = "0", .range = "0..", .example = "500", .help =
      "Validate every n optimizer steps, and after the last one; 0: not by steps."}, .only = NULL},
    {{.name = "trainer.log_every", .kind = FG_OPTION_INT, .initial = "50", .range = "1..", .example = "10", .help =
      "Log training metrics every n optimizer steps."}, .only = NULL},
    {{.name = "trainer.profile", .kind = FG_OPTION_STRING, .example = "100:110", .help =
      "Take a profile of these steps, first:last, starting at 1: when each thread and device did "
      "what, written to profile in the run's folder for Perfetto, XProf and TensorBoard. auto: ten "
      "steps after the first ten of this fit, or its last ten. Empty: none."}, .only = NULL},
    {{.name = "trainer.seed", .kind = FG_OPTION_INT, .initial = "0", .range = "0..", .example = "42", .help =
      "Seed of the initial weights, the order of samples and dropout. Two runs with the same seed "
      "give the same results."}, .only = NULL},
    {{.name = "trainer.run_dir", .kind = FG_OPTION_STRING, .initial = "auto", .range = "auto", .example = "runs/baseline", .help =
      "The run's folder. auto: runs/NAME-1, -2, ..., where NAME is that of the configuration "
      "file."}, .only = NULL},
    {{.name = "trainer.resume", .kind = FG_OPTION_STRING, .example = "last", .help =
      "Continue from a checkpoint: last, best or a path. auto: from last if there is one, "
      "otherwise from the start."}, .only = NULL},
    {{.name = "trainer.slurm_requeue", .kind = FG_OPTION_BOOL, .initial = "false", .example =
      "true", .help =
      "In a SLURM job, save and stop on SIGUSR1, then queue the job again (`scontrol requeue`); "
      "requires trainer.resume=auto. SLURM sends the signal before the end of the job with #SBATCH "
      "--signal=USR1@90."}, .only = NULL},
    {{.name = "trainer.watchdog_s", .kind = FG_OPTION_FLOAT, .initial = "1800", .range = "0..1e9", .example = "600", .help =
      "Stop the run after this many seconds without progress on a device or from the data: print "
      "what it waited for, write the stacks of all threads to hang.txt in the run's folder, exit "
      "with status 3. Compilation is not counted; 0: wait forever."}, .only = NULL},
    {{.name = "trainer.ckpt_every_epochs", .kind = FG_OPTION_INT, .initial = "1", .range = "0..", .example = "10", .help =
      "Save a checkpoint every n epochs; 0: not by epochs. The final state is always saved."},
      .only = NULL},
    {{.name = "trainer.ckpt_every_steps", .kind = FG_OPTION_INT, .initial = "0", .range = "0..", .example = "1000", .help =
      "Save a checkpoint every n optimizer steps; 0: not by steps."}, .only = NULL},
    {{.name = "trainer.ckpt_every_time", .kind = FG_OPTION_STRING, .initial = "auto", .range = "auto", .example = "30m", .help =
      "Save a checkpoint when this time has passed since the last save: numbers with the units d, "
      "h, m and s. auto: not by time."}, .only = NULL},
    {{.name = "trainer.ckpt_name", .kind = FG_OPTION_STRING, .initial = "auto", .range = "auto", .example = "epoch={epoch:02d}-val_loss={val_loss:.3f}", .help =
      "Names of checkpoints: {step}, {epoch} (whole epochs done) and names of metrics, with "
      "formats as in Python, between letters, digits, '.', '_', '=' and '-'. Without {step}, it is "
      "appended. auto: step-{step:09d}."}, .only = NULL},
    {{.name = "trainer.save_top_k", .kind = FG_OPTION_INT, .initial = "1", .range = "1..16", .example = "3", .help =
      "Save and keep this many of the best checkpoints by trainer.monitor, in addition to the "
      "newest."}, .only = NULL},
    {{.name = "trainer.keep_checkpoints", .kind = FG_OPTION_INT, .initial = "2", .range = "0..1048576", .example = "5", .help =
      "Keep this many of the newest checkpoints, in addition to the best; 0: all."}, .only =
      NULL},
    {{.name = "trainer.monitor", .kind = FG_OPTION_STRING, .initial = "auto", .range = "auto", .example = "val_acc", .help =
      "The metric that decides which checkpoint is the best. auto: val_loss, or train_loss "
      "without validation."}, .only = NULL},
    {{.name = "trainer.monitor_mode", .kind = FG_OPTION_CHOICE, .initial = "auto", .range = "auto|min|max", .spellings =
      "minimize=min|maximize=max", .example = "max", .help =
      "Whether a smaller or a larger value is better. auto: max for names that end in acc, f1, precision, recall or r2, "
      "otherwise min."}, .only = NULL},
    {{.name = "trainer.callbacks", .kind = FG_OPTION_ENTRIES, .initial = "[]", .example =
      "[early_stop(patience=5)]", .help =
      "Callbacks, in the order in which they are called, each with the options that differ from "
      "their defaults."}, .only = NULL, .has_entries = true, .kind = FG_REGISTRY_CALLBACK},
    {{.name = "trainer.loggers", .kind = FG_OPTION_ENTRIES, .initial = "[csv, jsonl]", .example =
      "[jsonl]", .help =
      "Loggers of `fit`: where the metrics are written; []: nowhere."}, .only = NULL, .has_entries =
      true, .kind = FG_REGISTRY_LOGGER},
    {{.name = "trainer.workers", .kind = FG_OPTION_INT, .initial = "auto", .range = "auto|1..1024", .example = "4", .help =
      "Threads that load and prepare batches. auto: one per processor, within the CPU "
      "quota of a container, up to the number of batches that are prepared ahead."}, .only = NULL},
};
/* clang-format on */

#define ROWS(list) .rows = (list), .row_count = sizeof(list) / sizeof((list)[0])

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
