/* trust.h - the cases that a plugin is checked with, and how they are run and compared.
 *
 * A case is an operation with operands of a fixed size: how it is traced, and what it must compute,
 * in plain C with f64. The cases of a dtype are one program.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_TRUST_TRUST_H
#define FGI_TRUST_TRUST_H

#include <fulgurite/check.h>
#include <fulgurite/trace.h>

enum { FGI_CASE_OPERANDS = 3, FGI_CASE_RANK = 4, FGI_CASE_ARGS = 4 };

/* ---- cases ----------------------------------------------------------------------------------- */

typedef struct fgi_case fgi_case;

/* The operands of a case and its results on the host, row-major. The results are 0 at first. */
typedef struct fgi_case_values {
    const double *in[FGI_CASE_OPERANDS];
    const double *dy; /* the gradient with respect to the result */
    double *y;
    double *gradient[FGI_CASE_OPERANDS]; /* with respect to the operands */
    int64_t in_count[FGI_CASE_OPERANDS], y_count;
    int64_t y_dim[FG_MAX_RANK];
} fgi_case_values;

/* Compiling takes nearly all of the time, about 20 ms for each loop of a program on a CPU, so not
 * every case runs with every dtype. */
enum {
    FGI_CASE_NO_GRADIENT = 1, /* only the result is compared */
    FGI_CASE_BF16 = 2,        /* in bf16 too; without gradients, except ... */
    FGI_CASE_BF16_GRADIENT = 4,
    FGI_CASE_F64 = 8, /* in f64 too; the same */
    FGI_CASE_F64_GRADIENT = 16,
    FGI_CASE_ROUNDS = 32,   /* a matmul has operands that bf16 cannot represent */
    FGI_CASE_DISTINCT = 64, /* all elements of an operand are different */
    FGI_CASE_INDEX = 128    /* the second operand is s32, and has no gradient */
};

struct fgi_case {
    const char *name;                              /* for messages */
    int64_t dim[FGI_CASE_OPERANDS][FGI_CASE_RANK]; /* of the operands; 0 ends a list */
    int flags;
    double low, step; /* elements of operands are low + k step ... */
    int steps;        /* ... with k below `steps`; 0: -1, 0, ... 4 */
    fg_tensor (*trace)(const fgi_case *c, const fg_tensor *in);
    bool (*compute)(const fgi_case *c, fgi_case_values *v);  /* false: out of memory */
    const char *(*part)(const fgi_case *c, int64_t element); /* name of an element's function */
    const char *equation;                                    /* the rest is for these two */
    int64_t (*source)(const fgi_case *c, const fgi_case_values *v, int64_t element);
    int64_t arg[FGI_CASE_ARGS];
};

/* A table of cases, ended by one without a name. */
extern const fgi_case fgi_cases_dot[], fgi_cases_conv[], fgi_cases_reduce[], fgi_cases_pointwise[],
    fgi_cases_move[];

int fgi_case_rank(const fgi_case *c, int operand);
int fgi_case_operands(const fgi_case *c);

/* ---- what is computed on the host (host_reference.c) ----------------------------------------- */

/* Sums of products in index notation: the result and the gradients. */
bool fgi_host_einsum(const fgi_case *c, fgi_case_values *v);
/* The squares of the matmul "bmk,nk->bmn", summed over n: f64[b,m]. */
bool fgi_host_squares(const fgi_case *c, fgi_case_values *v);
/* A convolution; arg: stride, padding, dilation, groups. */
bool fgi_host_conv(const fgi_case *c, fgi_case_values *v);
/* Each element is the element c->source of the first operand, or 0 if that is negative. */
bool fgi_host_move(const fgi_case *c, fgi_case_values *v);
/* Along the rows of a matrix. Normalization has the scale as the second operand. */
bool fgi_host_softmax(const fgi_case *c, fgi_case_values *v);
bool fgi_host_normalize(const fgi_case *c, fgi_case_values *v);
bool fgi_host_argmax(const fgi_case *c, fgi_case_values *v);

#define FGI_HOST_EPS 0.125 /* of normalization */

/* ---- running them ---------------------------------------------------------------------------- */

/* What was compared so far. */
typedef struct fgi_check_report {
    int checked, wrong;  /* operations */
    char worst[120];     /* the one with the largest relative error: "softmax, gradient, f32" */
    double worst_error;  /* infinite for NaN */
    char unchecked[200]; /* what could not be compiled, with the reason; "": nothing */
} fgi_check_report;

/* The programs that the cases are divided into: a dtype, and some of the tables. They are compiled
 * at the same time, so none is much larger than the others. */
typedef struct fgi_check_program {
    fg_dtype dtype;
    int first, end; /* tables */
} fgi_check_program;
enum { FGI_CHECK_PROGRAMS = 4 };
extern const fgi_check_program fgi_check_programs[FGI_CHECK_PROGRAMS];

fg_status fgi_check_cases(fg_trace *trace, const fgi_check_program *program,
                          fgi_check_report *report, fg_error *err);
/* A weight that is updated in place, and read by the next launch. */
fg_status fgi_check_updates(fg_trace *trace, fgi_check_report *report, fg_error *err);
/* Sums and matmuls of arrays that are sharded along each axis of the client's mesh. */
fg_status fgi_check_devices(fg_trace *trace, fgi_check_report *report, fg_error *err);

/* The verdict that is there while a check runs, and stays if the plugin ends the process. */
extern const char fgi_check_mark[];

/* Adds one operation: `got` is compared with `expected`, of which the elements may differ by
 * `bound` relative to their size. */
typedef struct fgi_compared {
    const char *name, *what, *dtype; /* what: "gradient", "" */
    double bound;
    const fgi_case *c; /* NULL: no case */
} fgi_compared;
/* Returns whether they agree. */
bool fgi_check_compare(const fgi_compared *about, const double *got, const double *expected,
                       int64_t count, fgi_check_report *report);
/* Reads an array as f64. */
fg_status fgi_check_read(const fg_array *array, double *out, fg_error *err);

#endif
