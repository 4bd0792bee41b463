/* weights.h - saves modules and optimizers to files and loads them again: for training loops of
 * your own, and to start from the weights of another model. The Trainer does the same by itself.
 *
 * Files are .safetensors files and checkpoint folders as in ckpt.h, with the names and layouts that
 * PyTorch gives its tensors. Writing is atomic: a file or folder is complete or what it was before.
 *
 * A module, its optimizer and the client are used by one thread at a time, also here.
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

/* Writes parameters and buffers of the module and all below it to a .safetensors file, under their
 * full names. Waits for the programs that compute them. Errors: FG_EINVAL, FG_EIO, FG_ENOMEM,
 * FG_EDEVICE. */
FG_API FG_MUST_USE fg_status fg_module_save(const fg_module *module, const char *path,
                                            fg_error *err);

/* Writes the optimizer's variables (moments, number of steps) to a .safetensors file. Its options
 * (learning rate, schedule) are the program's and are not saved. Errors as fg_module_save. */
FG_API FG_MUST_USE fg_status fg_optimizer_save(const fg_optimizer *optimizer, const char *path,
                                               fg_error *err);

typedef struct fg_training_options {
    const char
        *state_json; /* a JSON object of your own: epoch, position in the data; read it back
                        with fg_ckpt_state_json                                        [{}] */
    const fg_attachment
        *attachments; /* texts that the checkpoint carries                  [none] */
    size_t attachment_count;
    const fg_client
        *client; /* with several processes: each calls, the first writes        [NULL] */
    uint64_t reserved[4];
} fg_training_options;

/* Writes a checkpoint folder with module and optimizer: everything that a loop needs to go on.
 * FG_STATE variables of the module are included. A checkpoint of that name is replaced in one step.
 * optimizer and options may be NULL. Errors: those of fg_ckpt_save, FG_EDEVICE. */
FG_API FG_MUST_USE fg_status fg_training_save(const char *path, const fg_module *module,
                                              const fg_optimizer *optimizer,
                                              const fg_training_options *options, fg_error *err);

/* ---- loading --------------------------------------------------------------------------------- */

/* Which tensors of a file go into which variables. All-zero: every parameter and buffer of the
 * module must be in the file under its own name and with its own shape; other tensors are left
 * unread. */
typedef struct fg_load_options {
    const char
        *prefix; /* read only tensors whose names start with this, and remove it from the
                    names: "backbone."                                                 [""] */
    const char *const
        *skip; /* names of variables that keep their values, "fc.*"; * stands for any
                  text, dots included. Each must match a variable             [none] */
    size_t skip_count;
    bool allow_missing;  /* a variable that the file does not have keeps its value        [false] */
    bool allow_mismatch; /* so does one that has another shape in the file                [false] */
    bool
        deny_unexpected; /* a tensor that no variable takes is an error                   [false] */
    uint64_t reserved[4];
} fg_load_options;

typedef enum fg_load_outcome {
    FG_LOAD_DONE = 0,
    FG_LOAD_SKIPPED = 1,    /* by a pattern                                      */
    FG_LOAD_MISSING = 2,    /* a variable without a tensor                       */
    FG_LOAD_MISMATCHED = 3, /* of another shape, or a number format of another kind */
    FG_LOAD_UNEXPECTED = 4  /* a tensor without a variable                       */
} fg_load_outcome;

/* What became of one variable, or of a tensor without one. */
typedef struct fg_load_entry {
    const char *name; /* the variable's; of FG_LOAD_UNEXPECTED the tensor's, in the file */
    fg_load_outcome outcome;
    fg_type
        expected;  /* of the variable, in the file's order of dimensions; dtype none: no variable */
    fg_type found; /* of the tensor; dtype none: no tensor */
    uint64_t reserved[2]; /* set to 0 */
} fg_load_entry;

/* What a load did. Everything is owned by the report. */
typedef struct fg_load_report {
    size_t counts[5];             /* entries by outcome */
    const fg_load_entry *entries; /* variables in the module's order, then unexpected tensors */
    size_t entry_count;
    const char *text; /* the same for people: a first line with the numbers, then one line for each
                         kind of outcome but FG_LOAD_DONE, with names */
    uint64_t reserved[4]; /* set to 0 */
} fg_load_report;

/* Loads a .safetensors file or the model of a checkpoint folder into the module and all below it.
 * Tensors in another floating format are converted. Either all variables that are to be loaded are,
 * or, on failure, none is changed. options may be NULL; report may be NULL, otherwise it is filled
 * in, also when variables are missing or of another shape, and is to be given to
 * fg_load_report_fini. Errors: those of fg_ckpt_open; FG_EFORMAT (missing, unexpected, or no tensor
 * has a place), FG_ESHAPE, FG_ENOTFOUND (a pattern matches nothing; the names are listed),
 * FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_module_load(fg_module *module, const char *path,
                                            const fg_load_options *options, fg_load_report *report,
                                            fg_error *err);

/* Loads what fg_optimizer_save wrote, or the optimizer's part of a checkpoint folder. All of the
 * optimizer's variables must be there. The next step is the one after those that were saved, for
 * schedules too. Errors: those of fg_ckpt_open, FG_EFORMAT, FG_ESHAPE, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_optimizer_load(fg_optimizer *optimizer, const char *path,
                                               fg_error *err);

/* Loads module and optimizer from a checkpoint folder, of fg_training_save or of the Trainer,
 * without options: the training goes on as if it had not been interrupted. *out_step, unless NULL,
 * is the number of steps that were done. optimizer may be NULL. Errors as fg_module_load and
 * fg_optimizer_load. */
FG_API FG_MUST_USE fg_status fg_training_load(const char *path, fg_module *module,
                                              fg_optimizer *optimizer, int64_t *out_step,
                                              fg_error *err);

/* Frees the report's memory and clears it; zero-initialised is allowed. */
FG_API void fg_load_report_fini(fg_load_report *report);

#ifdef __cplusplus
}
#endif
#endif
