/* weights.h - save modules and optimizers to files and load them: for custom training loops, and to
 * start from pretrained weights. The Trainer saves and loads checkpoints for you.
 *
 * Files are .safetensors files and checkpoint folders as in ckpt.h, with PyTorch's tensor names and
 * layouts. Writing is atomic: a file or folder is either complete or unchanged.
 *
 * Only one thread at a time may use a module, its optimizer and the client.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_WEIGHTS_H
#define FULGURITE_WEIGHTS_H

#include <fulgurite/ckpt.h>
#include <fulgurite/nn.h>
#include <fulgurite/optim.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- saving ---------------------------------------------------------------------------------- */

/* Writes the parameters and buffers of the module and its descendants to a .safetensors file, under
 * their full names. Waits for the programs that compute them. Errors: FG_EINVAL, FG_EIO, FG_ENOMEM,
 * FG_EDEVICE. */
FG_API FG_MUST_USE fg_status fg_module_save(const fg_module *module, const char *path,
                                            fg_error *err);

/* Writes the optimizer's variables (moments, number of steps) to a .safetensors file. Its options
 * (learning rate, schedule) are not saved: your program sets them. Errors as for fg_module_save. */
FG_API FG_MUST_USE fg_status fg_optimizer_save(const fg_optimizer *optimizer, const char *path,
                                               fg_error *err);

typedef struct fg_onnx_options {
    fg_type input; /* one sample, without the batch: f32[3,224,224], s64[128]; one dimension may be
                      -1: any size, s64[-1]; required */
    const char *input_name;      /* ["input"] */
    const char *output_name;     /* ["output"] */
    const char *const *metadata; /* metadata_props: key, value, key, value ..., NULL      [none] */
    size_t limit_bytes; /* the most bytes of tensors in the file itself                   [2 GB] */
    size_t *out_data_bytes; /* set to the size of PATH.data; 0: it was not written        [NULL] */
    uint64_t reserved[2];
} fg_onnx_options;

/* Writes an ONNX model (opset 18) of what `forward` computes in inference mode, for batches of any
 * size: it is called with self and x, T[batch, ...] of options->input, and returns the output,
 * whose first dimension is the batch too. The parameters and buffers of the module are tensors of
 * the file, with their names and layouts in files. If they have more than limit_bytes, by default
 * as many as an ONNX file can contain, those of at least 1 KB are written to a second file,
 * PATH.data, to which the model refers by its name (ONNX's external data). No device is needed. The
 * batch size that `forward` sees is a large prime, whose multiples are not fixed in the file. With
 * an input dimension of -1, `forward` is called twice, for two other primes: shapes, positions and
 * the number of iterations may depend on it, but nothing else. Errors: FG_EINVAL, FG_EUNSUPPORTED
 * (names an operation that ONNX or its table here does not have, such as sorting and random
 * numbers; the dimension of -1 must be fixed), those of the trace, FG_EIO, FG_ENOMEM. Source: ONNX
 * 1.13. */
FG_API FG_MUST_USE fg_status fg_module_save_onnx(const fg_module *module, const char *path,
                                                 fg_tensor (*forward)(void *self, fg_tensor x),
                                                 void *self, const fg_onnx_options *options,
                                                 fg_error *err);

typedef struct fg_training_options {
    const char *state_json; /* JSON object with state of your program, such as epoch and position;
                               read it with fg_ckpt_state_json                               [{}] */
    const fg_attachment *attachments; /* texts to store with the checkpoint                [none] */
    size_t attachment_count;
    const fg_client *client; /* required with several processes: all call, rank 0 writes   [NULL] */
    uint64_t reserved[4];
} fg_training_options;

/* Writes a checkpoint folder with the module and the optimizer: everything that a loop needs to
 * resume. FG_STATE variables of the module are included. An existing checkpoint with that name is
 * replaced atomically. optimizer and options may be NULL. Errors: those of fg_ckpt_save,
 * FG_EDEVICE. */
FG_API FG_MUST_USE fg_status fg_training_save(const char *path, const fg_module *module,
                                              const fg_optimizer *optimizer,
                                              const fg_training_options *options, fg_error *err);

/* ---- loading --------------------------------------------------------------------------------- */

/* Which tensors of a file are loaded into which variables. If all fields are 0, every parameter and
 * buffer of the module must be in the file with the same name and shape; other tensors are ignored.
 */
typedef struct fg_load_options {
    const char *prefix;      /* load only tensors whose names start with this prefix, and strip it:
                                "backbone."                                                  [""] */
    const char *const *skip; /* patterns of variables to leave unchanged, "fc.*"; * matches any
                                text, including dots. Each must match a variable           [none] */
    size_t skip_count;
    bool allow_missing;  /* leave variables that are missing in the file unchanged        [false] */
    bool allow_mismatch; /* leave variables that have a different shape in the file unchanged
                                                                                          [false] */
    bool deny_unexpected; /* a tensor that matches no variable is an error                [false] */
    bool new_head; /* leave the variables of the model's head that are missing in the file or have a
                      different shape unchanged: other classes are trained                [false] */
    const fg_model_entry *model; /* the row of the model: its files may have the names of other
                                    libraries, and it says which variables are its head    [none] */
    uint64_t reserved[4];
} fg_load_options;

typedef enum fg_load_outcome {
    FG_LOAD_DONE = 0,
    FG_LOAD_SKIPPED = 1,    /* matches a skip pattern                            */
    FG_LOAD_MISSING = 2,    /* the file has no tensor for the variable           */
    FG_LOAD_MISMATCHED = 3, /* different shape, or a dtype of another kind       */
    FG_LOAD_UNEXPECTED = 4  /* the module has no variable for the tensor         */
} fg_load_outcome;

/* The outcome for one variable, or for an unexpected tensor. */
typedef struct fg_load_entry {
    const char *name; /* of the variable; for FG_LOAD_UNEXPECTED, of the tensor in the file */
    fg_load_outcome outcome;
    fg_type expected; /* type of the variable, dimensions in file order; dtype none: no variable */
    fg_type found;    /* type of the tensor; dtype none: no tensor, or a dtype not supported */
    uint64_t reserved[2]; /* set to 0 */
} fg_load_entry;

/* The result of a load. The report owns everything it points to. */
typedef struct fg_load_report {
    size_t counts[5];             /* number of entries by outcome */
    const fg_load_entry *entries; /* variables in module order, then unexpected tensors */
    size_t entry_count;
    const char *text; /* human-readable: one line with the counts, then one line with the names for
                         each outcome except FG_LOAD_DONE */
    uint64_t reserved[4]; /* set to 0 */
} fg_load_report;

/* Loads a .safetensors file or the model of a checkpoint folder into the module and its
 * descendants. Tensors of another floating dtype are converted. On failure, no variable is changed.
 * options may be NULL. If report is not NULL, it is filled in, also if variables are missing or
 * mismatched; free it with fg_load_report_fini. Errors: those of fg_ckpt_open; FG_EFORMAT (missing
 * or unexpected tensors, or no tensor matches a variable), FG_ESHAPE, FG_ENOTFOUND (a pattern
 * matches nothing; the message lists the names), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_module_load(fg_module *module, const char *path,
                                            const fg_load_options *options, fg_load_report *report,
                                            fg_error *err);

/* Loads a file written by fg_optimizer_save, or the optimizer state of a checkpoint folder. All of
 * the optimizer's variables must be present. Steps and schedules continue after the last saved
 * step. Errors: those of fg_ckpt_open, FG_EFORMAT, FG_ESHAPE, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_optimizer_load(fg_optimizer *optimizer, const char *path,
                                               fg_error *err);

/* Loads module and optimizer from a checkpoint folder written by fg_training_save or the Trainer.
 * Training continues as if it had not been interrupted. *out_step, unless NULL, is set to the
 * number of completed steps. optimizer may be NULL. Errors as for fg_module_load and
 * fg_optimizer_load. */
FG_API FG_MUST_USE fg_status fg_training_load(const char *path, fg_module *module,
                                              fg_optimizer *optimizer, int64_t *out_step,
                                              fg_error *err);

/* Frees the report's memory and clears it; a zero-initialized report is allowed. */
FG_API void fg_load_report_fini(fg_load_report *report);

#ifdef __cplusplus
}
#endif
#endif
