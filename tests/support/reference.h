/* reference.h - reference results of training, computed in double independently of the library: a
 * softmax regression with full batches, for each update rule and schedule.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <stdbool.h>

enum { REFERENCE_CLASSES = 3, REFERENCE_MAX_FEATURES = 8, REFERENCE_MAX_ROWS = 32 };

typedef enum reference_rule { RULE_SGD, RULE_ADAM, RULE_ADAMW } reference_rule;

/* One-cycle, as in PyTorch's OneCycleLR; fields that are 0 have its defaults. */
typedef struct reference_cycle {
    bool is_on, is_linear, is_three_phase, keeps_momentum;
    double pct_start, div_factor, final_div_factor, base_momentum, max_momentum;
} reference_cycle;

/* How the parameters are updated. */
typedef struct reference_optimizer {
    reference_rule rule;
    double lr;
    double momentum, beta2, eps; /* momentum: also Adam's beta1; Adam: 0 means 0.9, 0.999, 1e-8 */
    double decay, dampening;
    bool nesterov;
    bool keeps_bias, keeps_weight; /* these are not trained */
    double clip_norm, clip_value;  /* of the gradient of all trained parameters; 0: not limited */
    reference_cycle cycle;
} reference_optimizer;

typedef struct reference_data {
    int rows, features;
    double x[REFERENCE_MAX_ROWS][REFERENCE_MAX_FEATURES];
    int label[REFERENCE_MAX_ROWS];
} reference_data;

typedef struct reference_model {
    double weight[REFERENCE_CLASSES][REFERENCE_MAX_FEATURES], bias[REFERENCE_CLASSES];
} reference_model;

/* Initial weights without symmetry, the same in all tests. */
reference_model reference_start(int features);
/* The class probabilities of one row. */
void reference_predict(const reference_model *model, const reference_data *data, int row,
                       double out[REFERENCE_CLASSES]);
/* The mean cross-entropy of rows [first, first + rows). */
double reference_loss(const reference_model *model, const reference_data *data, int first,
                      int rows);
/* Updates the model `steps` times by the gradient of the mean over all rows. */
void reference_train(reference_model *model, const reference_data *data,
                     const reference_optimizer *optimizer, int steps);
/* Writes the model as a .safetensors file with the names of the program's model "linear"; fails the
 * test where that is not possible. */
void reference_save(const reference_model *model, int features, const char *path);

#endif
