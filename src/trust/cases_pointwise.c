/* cases_pointwise.c - functions of one and two elements, with their derivatives.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/ops.h>
#include <math.h>

#include "trust/trust.h"

/* ---- one operand ----------------------------------------------------------------------------- */

static double reciprocal(double a) { return 1 / a; }
static double tanh_slope(double a) { return 1 - tanh(a) * tanh(a); }
static double sigmoid(double a) { return 1 / (1 + exp(-a)); }
static double sigmoid_slope(double a) { return sigmoid(a) * (1 - sigmoid(a)); }
static double rsqrt(double a) { return 1 / sqrt(a); }
static double rsqrt_slope(double a) { return -0.5 / (a * sqrt(a)); }
static double erf_slope(double a) { return 2 / sqrt(acos(-1)) * exp(-a * a); }
static double relu(double a) { return a > 0 ? a : 0; }
static double relu_slope(double a) { return a > 0 ? 1 : 0; }

/* A function, its derivative, and the smallest operand that it is checked with. */
typedef struct function_of_one {
    const char *name;
    fg_tensor (*trace)(fg_tensor a);
    double (*value)(double a), (*slope)(double a);
    double low;
} function_of_one;

static const function_of_one ones[] = {
    {"exp", fg_exp, exp, exp, -1.25},
    {"log", fg_log, log, reciprocal, 1.0625},
    {"rsqrt", fg_rsqrt, rsqrt, rsqrt_slope, 0.125},
    {"sin", fg_sin, sin, cos, 0.0625},
    {"tanh", fg_tanh, tanh, tanh_slope, -1.25},
    {"sigmoid", fg_sigmoid, sigmoid, sigmoid_slope, -1.25},
    {"erf", fg_erf, erf, erf_slope, -1.25},
    {"relu", fg_relu, relu, relu_slope, -1.21875},
};
enum { ONES = sizeof ones / sizeof ones[0], WIDTH = 37 };

static const char *name_of_one(const fgi_case *c, int64_t element)
{
    (void)c;
    return ones[element / WIDTH].name;
}

/* Row i, moved to where the function is defined. One loop for all of them. */
static fg_tensor unary(const fgi_case *c, const fg_tensor *in)
{
    fg_tensor rows[ONES];
    (void)c;
    for (int64_t i = 0; i < ONES; i++) {
        const fg_tensor x = fg_slice(in[0], (int64_t[]){i, 0}, (int64_t[]){i + 1, WIDTH}, NULL);
        rows[i] = ones[i].trace(fg_add_scalar(x, ones[i].low));
    }
    return fg_concat(rows, ONES, 0);
}

static bool host_unary(const fgi_case *c, fgi_case_values *v)
{
    (void)c;
    for (int64_t i = 0; i < v->y_count; i++) {
        const function_of_one *f = &ones[i / WIDTH];
        v->y[i] = f->value(v->in[0][i] + f->low);
        v->gradient[0][i] = v->dy[i] * f->slope(v->in[0][i] + f->low);
    }
    return true;
}

/* ---- two operands ---------------------------------------------------------------------------- */

static double one(double a, double b) { return 1 + 0 * (a + b); }
static double minus_one(double a, double b) { return -1 + 0 * (a + b); }
static double add(double a, double b) { return a + b; }
static double sub(double a, double b) { return a - b; }
static double mul(double a, double b) { return a * b; }
static double first(double a, double b) { return a + 0 * b; }
static double second(double a, double b) { return 0 * a + b; }
static double quotient(double a, double b) { return a / b; }
static double quotient_a(double a, double b) { return 0 * a + 1 / b; }
static double quotient_b(double a, double b) { return -a / (b * b); }
static double larger(double a, double b) { return a > b ? a : b; }
/* Equal elements receive half of the gradient each. */
static double is_larger(double a, double b) { return a > b ? 1 : a < b ? 0 : 0.5; }
static double is_smaller(double a, double b) { return is_larger(b, a); }

typedef struct function_of_two {
    const char *name;
    fg_tensor (*trace)(fg_tensor a, fg_tensor b);
    double (*value)(double a, double b), (*slope_a)(double a, double b),
        (*slope_b)(double a, double b);
} function_of_two;

static const function_of_two twos[] = {
    {"addition", fg_add, add, one, one},
    {"subtraction", fg_sub, sub, one, minus_one},
    {"multiplication", fg_mul, mul, second, first},
    {"division", fg_div, quotient, quotient_a, quotient_b},
    {"maximum", fg_maximum, larger, is_larger, is_smaller},
};
enum { TWOS = sizeof twos / sizeof twos[0], ROWS = 3, COLUMNS = 13 };

static const char *name_of_two(const fgi_case *c, int64_t element)
{
    (void)c;
    return twos[element / (ROWS * COLUMNS)].name;
}

/* The second operand is a row that is repeated. */
static fg_tensor binary(const fgi_case *c, const fg_tensor *in)
{
    fg_tensor parts[TWOS];
    (void)c;
    for (int64_t i = 0; i < TWOS; i++) {
        const fg_tensor a =
            fg_slice(in[0], (int64_t[]){i, 0, 0}, (int64_t[]){i + 1, ROWS, COLUMNS}, NULL);
        const fg_tensor b =
            fg_slice(in[1], (int64_t[]){i, 0, 0}, (int64_t[]){i + 1, 1, COLUMNS}, NULL);
        parts[i] = twos[i].trace(a, b);
    }
    return fg_concat(parts, TWOS, 0);
}

static bool host_binary(const fgi_case *c, fgi_case_values *v)
{
    (void)c;
    for (int64_t i = 0; i < v->y_count; i++) {
        const function_of_two *f = &twos[i / (ROWS * COLUMNS)];
        const int64_t k = i / (ROWS * COLUMNS) * COLUMNS + i % COLUMNS;
        const double a = v->in[0][i], b = v->in[1][k];
        v->y[i] = f->value(a, b);
        v->gradient[0][i] += v->dy[i] * f->slope_a(a, b);
        v->gradient[1][k] += v->dy[i] * f->slope_b(a, b);
    }
    return true;
}

/* The sizes are no multiples of a vector's. */
const fgi_case fgi_cases_pointwise[] = {
    {.name = "functions of one operand",
     .dim = {{ONES, WIDTH}},
     .flags = FGI_CASE_BF16 | FGI_CASE_F64,
     .low = 0,
     .step = 0.0625,
     .steps = 40,
     .trace = unary,
     .compute = host_unary,
     .part = name_of_one},
    {.name = "functions of two operands",
     .dim = {{TWOS, ROWS, COLUMNS}, {TWOS, 1, COLUMNS}},
     .flags = FGI_CASE_BF16 | FGI_CASE_F64,
     .low = 0.5,
     .step = 0.125,
     .steps = 16,
     .trace = binary,
     .compute = host_binary,
     .part = name_of_two},
    {0},
};
