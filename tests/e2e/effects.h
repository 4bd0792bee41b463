/* effects.h - what each key of the configuration does, as rows of tables: a key, the arguments that
 * set it, and what a small fit must then give. Each row starts the program in a fresh folder that
 * holds the files of effects_write_files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef EFFECTS_H
#define EFFECTS_H

#include <jansson.h>
#include "reference.h"
#include "run_program.h"

typedef struct effect effect;
struct effect {
    const char *key;       /* "optimizer.nesterov" */
    const char *arguments; /* "--optimizer.nesterov=true", behind those of the check */
    void (*check)(const effect *e, const char *folder);

    /* What a check compares with, each where the check says so. */
    const char *says;  /* a part of standard error, or of the summary */
    int status, count; /* exit status, or steps */
    double value;
    const char *later;                   /* arguments of another command after the fit */
    const char *train, *val;             /* the text of CSV files, or steps as "3 6" */
    const char *kept, *best;             /* checkpoints as "3 6", and the best of them */
    reference_data expected[2];          /* rows of training, of validation */
    const reference_optimizer optimizer; /* lr 0: 0.1 */
    double scale, mean[2], std[2];       /* of the two inputs; 0: 1 */
};

/* Tables, each ended by a row without a key. */
extern const effect effects_model[], effects_data[], effects_optimizer[], effects_trainer[];

/* The samples of x.npy and y.npy, and of val_x.npy and val_y.npy: 12 and 6 rows of 2 inputs. */
const reference_data *effects_samples(void);
const reference_data *effects_val_samples(void);
/* Writes these four, weights.safetensors (reference_start of 2 inputs) and bytes.npy: the inputs
 * as u8[12,2]. */
void effects_write_files(const char *folder);

/* Runs `fulgurite fit` with the arguments, into the folder run, which is emptied before unless it
 * is resumed, and s.json; returns the summary, valid until the next call. Fails the test unless the
 * exit status is as expected. */
const json_t *effects_fit(int status, const char *folder, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A number of the summary, by the path "metrics.val_loss"; fails the test where there is none. */
double effects_number(const json_t *summary, const char *path);
/* A fit on the samples' files from weights.safetensors with SGD: shared by most rows. */
#define EFFECTS_NPY                                                                                \
    "--model.name=linear --model.weights=weights.safetensors --data.format=npy --data.x=x.npy "    \
    "--data.y=y.npy --optimizer.name=sgd --optimizer.lr=0.1 "
#define EFFECTS_VAL   "--data.val_x=val_x.npy --data.val_y=val_y.npy "
/* An epoch that changes nothing: losses are those of the first weights. */
#define EFFECTS_STILL "--optimizer.lr=1e-30 --trainer.max_epochs=1 "
/* A check: the losses of such an epoch over the samples' files, in batches of 5; of training the
 * first e->value rows, of validation the first e->count, all where these are 0. */
void effects_check_samples(const effect *e, const char *folder);
/* Reads a tensor of the last checkpoint as doubles; fails the test where it has not `count`. */
void effects_tensor(const char *folder, const char *name, int count, double *out);

#endif
