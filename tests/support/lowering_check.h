/* lowering_check.h - compares two forms of an operation, with each rule of src/op/lowerings.c on
 * and off. Inputs are small integers, so sums are exact and both must agree bit by bit.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LOWERING_CHECK_H
#define LOWERING_CHECK_H

#include "fgt.h"

#include "op/op.h"
#include "plan/hlo_module.h"

enum { MOST_INPUTS = 2, MOST_OUTPUTS = 4 };

extern fg_client *lowering_client;
extern FILE *lowering_forms; /* of all programs, for the golden file */

/* The forms of programs: their owner, and the disabled rule (NULL: none). */
typedef struct lowering_form {
    fg_client *client;
    const char *plain;
} lowering_form;

/* Traces the operation under test and the outputs to compare. */
typedef struct lowering_problem {
    const char *name;
    const char *rule;
    fg_type in[MOST_INPUTS];
    int in_count;
    size_t (*write)(const struct lowering_problem *p, const fg_tensor *in, fg_tensor *out);
    fg_conv2d_options conv;
    fg_pool_options pool;
    fg_dot_options dot;
    int axes;
    bool is_same;     /* the rule does not apply */
    int layers;       /* for what is written several times over */
    double tolerance; /* relative to the largest number, f32; 0: bit by bit. Its form depends on the
                         processor, and is not in the golden file. */
} lowering_problem;

/* Integers from -2 to 2. */
fg_array *lowering_numbers(const lowering_problem *p, fg_client *of, int which);

/* The concatenated bytes of the outputs (free), and the program's text (fg_free). */
char *lowering_run(const lowering_problem *p, const lowering_form *f, size_t *out_size,
                   char **out_text);

/* Checks that both forms compute the same, bit for bit. */
void lowering_compare(const lowering_problem *p, const lowering_form *one,
                      const lowering_form *other);

void lowering_check(const lowering_problem *p);

/* y, and the gradients of sum(y y) with respect to x and kernel. */
size_t lowering_conv(const lowering_problem *p, const fg_tensor *in, fg_tensor *out);

size_t lowering_pool(const lowering_problem *p, const fg_tensor *in, fg_tensor *out);

size_t lowering_dot(const lowering_problem *p, const fg_tensor *in, fg_tensor *out);

/* The program as optimized by the backend (fgi_hlo_free). */
fgi_hlo *lowering_optimized(const fgi_executable *executable);

/* `layers` layers with the first input's shape, and the gradients of all. */
size_t lowering_layers(const lowering_problem *p, const fg_tensor *in, fg_tensor *out);

int lowering_open(void **state);

int lowering_close(void **state);

/* Compares the forms of all programs so far with a golden file, because the performance of a
 * program depends on its form. */
void lowering_check_forms(const char *golden);

#endif
