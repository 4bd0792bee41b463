/* format.h - data formats: what `data.format` of a configuration can name.
 *
 * A data format loads the samples that its options name, such as files, as datasets (data.h). It is
 * a constant row, like a model (registry.h). The keys of its options are data.OPTION.
 *
 *     static fg_status load_ramp(const void *own, const fg_format_request *request,
 *                                fg_format_data *out, fg_error *err)
 *     {
 *         const ramp *r = own; // its only member is `count`
 *         if (request->part != FG_PART_TRAIN)
 *             return FG_OK; // no other samples: data.val_fraction holds some out
 *         return ramp_create(r->count, &out->samples, err);
 *     }
 *
 *     static const fg_format_entry row = {
 *         .entry = {.name = "ramp", .help = "a ramp", FG_OPTIONS(options, ramp)},
 *         .load = load_ramp};
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_FORMAT_H
#define FULGURITE_FORMAT_H

#include <fulgurite/base.h>
#include <fulgurite/data.h>
#include <fulgurite/option.h>
#include <fulgurite/tokenizer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a recipe requests from a format. The values are stable. */
typedef enum fg_data_part {
    FG_PART_TRAIN = 0,  /* the training samples */
    FG_PART_VAL = 1,    /* the validation samples */
    FG_PART_TEST = 2,   /* the test samples */
    FG_PART_PREDICT = 3 /* new samples, whose targets are not needed */
} fg_data_part;

typedef struct fg_format_request {
    /* The values of the options, for the place of one in a message (fg_option_fail), and whether it
     * was given. */
    const fg_option_values *values;
    fg_data_part part;
    bool is_training;  /* to train; false: to evaluate a checkpoint, so nothing is fitted */
    bool needs_target; /* false: only the inputs are used */
    /* "classification", "regression", "language", or "auto": the task that the samples are for. It
     * is a classification if the targets are s32[] class indices. */
    const char *task;
    /* The fraction of the training samples that the recipe holds out with fg_dataset_split, and
     * the seed; 0: none. See `stratify`. */
    double val_fraction;
    uint64_t split_seed;
    bool stratify; /* split each class, if the targets are class indices */
    /* The schema that was fitted to the training samples, if the format has one: of this run, or of
     * the checkpoint that is evaluated. NULL if there is none yet. */
    const fg_csv_schema *schema;
    /* The classes of the checkpoint that is evaluated, in order: labels are indices of them, and a
     * sample of another class is an error. The recipe checks this, too, but only a format that uses
     * them can load samples that lack some of the classes. NULL: those of the samples. */
    const char *const *class_names;
    int64_t class_count;
    /* The type of a sample's input that the evaluated checkpoint was trained with; images are
     * resized to it. NULL: to train. */
    const fg_type *input;
    /* The tokenizer of the checkpoint that is evaluated, borrowed; NULL: it has none, or to train.
     */
    const fg_tokenizer *tokenizer;
    /* Call it with each line about the samples that a person should know, without a newline:
     * FG_LOG_WARNING for what is probably a mistake, FG_LOG_INFO for the rest, such as skipped
     * files and ignored columns. The same line is only said once. NULL: nobody listens. */
    void (*say)(void *say_self, fg_log_level level, const char *line);
    void *say_self;
} fg_format_request;

/* What a format loads. All members are 0 before the call; the caller destroys them, also after a
 * failure. */
typedef struct fg_format_data {
    /* Field 0 is the input, field 1 the target: s32[] class indices, or numbers. Of texts for a
     * language model: tokens s32[T], and those that follow them, also s32[T]; their class_count is
     * the size of the vocabulary. Field 2, f32[T], may be the number of bytes of text that each
     * target encodes. NULL: there are no samples of this part. */
    fg_dataset *samples;
    /* FG_PART_TRAIN, to train: the validation samples, if loading the training samples
     * loads them too. The recipe then neither requests FG_PART_VAL nor splits. */
    fg_dataset *val;
    /* FG_PART_TRAIN, to train: how columns are encoded, which checkpoints contain. */
    fg_csv_schema *schema;
    /* FG_PART_TRAIN, to train: how text becomes tokens, which checkpoints contain. */
    fg_tokenizer *tokenizer;
    double bytes_per_token; /* of the training text, if there is no field of bytes; 0: not known */
    /* FG_PART_TRAIN, to train: of a regression whose targets the recipe standardizes on
     * the device. Deviation 0: they are not standardized. */
    double target_mean, target_deviation;
} fg_format_data;

/* The options that name the samples of each part; NULL: the part has no option. */
typedef struct fg_format_files {
    const char *train; /* required to train: "path" */
    const char *val, *test, *predict;
    /* If targets are in a separate file: "y" */
    const char *train_target, *val_target, *test_target;
} fg_format_files;

/* A registered data format (registry.h): a constant row. */
typedef struct fg_format_entry {
    fg_entry entry;
    /* A part is requested if its option is given, or if it has none. The recipe checks that the
     * options of the training samples are given, and reports missing ones. */
    fg_format_files files;
    /* The options that a model's inputs and targets follow from, "target|ignore": evaluating a
     * checkpoint with other values is an error. NULL: none. */
    const char *fitted;
    bool has_schema; /* training gives a schema, and loading other parts requires it */
    /* Loads a part. own: the struct of entry.options, valid during the call. Errors: FG_EINVAL for
     * options that contradict each other (fg_option_fail), and those of the readers. */
    fg_status (*load)(const void *own, const fg_format_request *request, fg_format_data *out,
                      fg_error *err);
    void (*reserved[4])(void); /* must be NULL */
} fg_format_entry;

#ifdef __cplusplus
}
#endif
#endif
