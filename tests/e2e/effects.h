/* effects.h - the effect of each configuration key, as rows of tables: a key, the arguments that
 * set it, and the expected results of a small fit. Each row runs the program in a fresh folder with
 * the files of effects_write_files.
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
    const char *arguments; /* "--optimizer.nesterov=true", after those of the check */
    void (*check)(const effect *e, const char *folder);

    /* Expected values; each check documents which ones it uses. */
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
extern const effect effects_model[], effects_data[], effects_images[], effects_pack[],
    effects_optimizer[], effects_trainer[], effects_tuner[];

/* The samples of x.npy and y.npy, and of val_x.npy and val_y.npy: 12 and 6 rows of 2 inputs. */
const reference_data *effects_samples(void);
const reference_data *effects_val_samples(void);
/* Writes these four, weights.safetensors (reference_start of 2 inputs) and bytes.npy: the inputs
 * as u8[12,2]. */
void effects_write_files(const char *folder);

/* Runs `fulgurite fit` with the arguments. It writes to the folder run, which is emptied before
 * unless the run is resumed, and to s.json. Returns the summary, valid until the next call. Fails
 * the test unless the exit status is as expected. */
const json_t *effects_fit(int status, const char *folder, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A number of the summary, by a path such as "metrics.val_loss"; fails the test if it is
 * missing. */
double effects_number(const json_t *summary, const char *path);
/* A fit on the samples' files from weights.safetensors with SGD: shared by most rows. */
#define EFFECTS_NPY                                                                                \
    "--model.name=linear --model.weights=weights.safetensors --data.format=npy --data.x=x.npy "    \
    "--data.y=y.npy --optimizer.name=sgd --optimizer.lr=0.1 "
#define EFFECTS_VAL   "--data.val_x=val_x.npy --data.val_y=val_y.npy "
/* An epoch with learning rate 0: losses are those of the initial weights. */
#define EFFECTS_STILL "--optimizer.lr=1e-30 --trainer.max_epochs=1 "
/* A check: the losses of such an epoch on the sample files, in batches of 5: training on the first
 * e->value rows, validation on the first e->count rows; 0: all. */
void effects_check_samples(const effect *e, const char *folder);
/* Reads a tensor of the last checkpoint as doubles; fails the test unless it has `count`
 * elements. */
void effects_tensor(const char *folder, const char *name, int count, double *out);

#endif
