/* elementwise.h - element-wise arithmetic, activation functions and casts.
 *
 * The rules for all operations are in ops.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPS_ELEMENTWISE_H
#define FULGURITE_OPS_ELEMENTWISE_H

#include <fulgurite/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* a + b, a - b, a * b, a / b; also for integers (fg_div truncates). Gradients are summed over
 * broadcast dimensions. */
FG_API fg_tensor fg_add(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_sub(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_mul(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_div(fg_tensor a, fg_tensor b);
/* The remainder of a / b; also for integers. fg_fmod rounds the quotient toward 0: the result has
 * the sign of a, as in C. fg_remainder rounds it down: the result has the sign of b, as in PyTorch
 * and Python. An integer divided by 0 is undefined. */
FG_API fg_tensor fg_fmod(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_remainder(fg_tensor a, fg_tensor b);
/* Elementwise maximum and minimum; NaN if one of them is NaN. If both are equal, each receives half
 * of the gradient, as in PyTorch. */
FG_API fg_tensor fg_maximum(fg_tensor a, fg_tensor b);
FG_API fg_tensor fg_minimum(fg_tensor a, fg_tensor b);
/* a to the power of b; T only. The gradient with respect to b uses log(a) where a > 0 and is 0
 * elsewhere. */
FG_API fg_tensor fg_pow(fg_tensor a, fg_tensor b);

/* a * factor and a + term with a host number that becomes part of the program, as in fg_full. */
FG_API fg_tensor fg_mul_scalar(fg_tensor a, double factor);
FG_API fg_tensor fg_add_scalar(fg_tensor a, double term);

FG_API fg_tensor fg_neg(fg_tensor a);  /* also for integers */
FG_API fg_tensor fg_abs(fg_tensor a);  /* also for signed integers; gradient 0 at 0 */
FG_API fg_tensor fg_sign(fg_tensor a); /* also for signed integers; no gradient */
FG_API fg_tensor fg_exp(fg_tensor a);
FG_API fg_tensor fg_expm1(fg_tensor a); /* exp(a) - 1, accurate near 0 */
FG_API fg_tensor fg_log(fg_tensor a);
FG_API fg_tensor fg_log1p(fg_tensor a); /* log(1 + a), accurate near 0 */
FG_API fg_tensor fg_sqrt(fg_tensor a);
FG_API fg_tensor fg_rsqrt(fg_tensor a);
FG_API fg_tensor fg_sin(fg_tensor a);
FG_API fg_tensor fg_cos(fg_tensor a);
FG_API fg_tensor fg_tanh(fg_tensor a);
FG_API fg_tensor fg_sigmoid(fg_tensor a); /* 1 / (1 + exp(-a)) */
FG_API fg_tensor fg_floor(fg_tensor a);   /* no gradient */
FG_API fg_tensor fg_relu(fg_tensor a);    /* max(a, 0); gradient 0 at 0 */
FG_API fg_tensor fg_square(fg_tensor a);
FG_API fg_tensor fg_erf(fg_tensor a); /* error function */

/* a limited to low..high, also for integers; -INFINITY and INFINITY mean no limit. The gradient is
 * 0 at and outside the limits, as in PyTorch. FG_EINVAL if low is greater than high. */
FG_API fg_tensor fg_clamp(fg_tensor a, double low, double high);

/* Activation functions, in addition to fg_relu, fg_tanh and fg_sigmoid. Functions of f16 and bf16
 * are computed in f32.
 *
 *   gelu         a (1 + erf(a / sqrt(2))) / 2. Source: Hendrycks and Gimpel 2016, "Gaussian error
 *                linear units"
 *   gelu_tanh    its approximation a (1 + tanh(sqrt(2 / pi) (a + 0.044715 a^3))) / 2
 *   silu         a sigmoid(a), also called swish
 *   softplus     log(1 + exp(a)), without overflow
 *   mish         a tanh(softplus(a)). Source: Misra 2019, "Mish"
 *   relu6        min(max(a, 0), 6)
 *   hardsigmoid  min(max(a + 3, 0), 6) / 6
 *   hardswish    a hardsigmoid(a). Source: Howard et al. 2019, "Searching for MobileNetV3"
 *   elu          a where a > 0, alpha (exp(a) - 1) elsewhere. Source: Clevert et al. 2015
 *   leaky_relu   a where a > 0, slope a elsewhere */
FG_API fg_tensor fg_gelu(fg_tensor a);
FG_API fg_tensor fg_gelu_tanh(fg_tensor a);
FG_API fg_tensor fg_silu(fg_tensor a);
FG_API fg_tensor fg_softplus(fg_tensor a);
FG_API fg_tensor fg_mish(fg_tensor a);
FG_API fg_tensor fg_relu6(fg_tensor a);
FG_API fg_tensor fg_hardsigmoid(fg_tensor a);
FG_API fg_tensor fg_hardswish(fg_tensor a);
FG_API fg_tensor fg_elu(fg_tensor a, double alpha);
FG_API fg_tensor fg_leaky_relu(fg_tensor a, double slope);

/* True where a is finite: bool, no gradient. */
FG_API fg_tensor fg_is_finite(fg_tensor a);

/* Converts a to another dtype. Floats are truncated to integers; bool is a != 0. Differentiable
 * between floating dtypes: the gradient is cast back. */
FG_API fg_tensor fg_cast(fg_tensor a, fg_dtype dtype);
/* Returns a and blocks its gradient. */
FG_API fg_tensor fg_stop_gradient(fg_tensor a);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_add(...)           FG_HERE(fg_add(__VA_ARGS__))
#define fg_sub(...)           FG_HERE(fg_sub(__VA_ARGS__))
#define fg_mul(...)           FG_HERE(fg_mul(__VA_ARGS__))
#define fg_div(...)           FG_HERE(fg_div(__VA_ARGS__))
#define fg_fmod(...)          FG_HERE(fg_fmod(__VA_ARGS__))
#define fg_remainder(...)     FG_HERE(fg_remainder(__VA_ARGS__))
#define fg_maximum(...)       FG_HERE(fg_maximum(__VA_ARGS__))
#define fg_minimum(...)       FG_HERE(fg_minimum(__VA_ARGS__))
#define fg_pow(...)           FG_HERE(fg_pow(__VA_ARGS__))
#define fg_mul_scalar(...)    FG_HERE(fg_mul_scalar(__VA_ARGS__))
#define fg_add_scalar(...)    FG_HERE(fg_add_scalar(__VA_ARGS__))
#define fg_neg(...)           FG_HERE(fg_neg(__VA_ARGS__))
#define fg_abs(...)           FG_HERE(fg_abs(__VA_ARGS__))
#define fg_sign(...)          FG_HERE(fg_sign(__VA_ARGS__))
#define fg_exp(...)           FG_HERE(fg_exp(__VA_ARGS__))
#define fg_expm1(...)         FG_HERE(fg_expm1(__VA_ARGS__))
#define fg_log(...)           FG_HERE(fg_log(__VA_ARGS__))
#define fg_log1p(...)         FG_HERE(fg_log1p(__VA_ARGS__))
#define fg_sqrt(...)          FG_HERE(fg_sqrt(__VA_ARGS__))
#define fg_rsqrt(...)         FG_HERE(fg_rsqrt(__VA_ARGS__))
#define fg_sin(...)           FG_HERE(fg_sin(__VA_ARGS__))
#define fg_cos(...)           FG_HERE(fg_cos(__VA_ARGS__))
#define fg_tanh(...)          FG_HERE(fg_tanh(__VA_ARGS__))
#define fg_sigmoid(...)       FG_HERE(fg_sigmoid(__VA_ARGS__))
#define fg_floor(...)         FG_HERE(fg_floor(__VA_ARGS__))
#define fg_relu(...)          FG_HERE(fg_relu(__VA_ARGS__))
#define fg_square(...)        FG_HERE(fg_square(__VA_ARGS__))
#define fg_erf(...)           FG_HERE(fg_erf(__VA_ARGS__))
#define fg_clamp(...)         FG_HERE(fg_clamp(__VA_ARGS__))
#define fg_gelu(...)          FG_HERE(fg_gelu(__VA_ARGS__))
#define fg_gelu_tanh(...)     FG_HERE(fg_gelu_tanh(__VA_ARGS__))
#define fg_silu(...)          FG_HERE(fg_silu(__VA_ARGS__))
#define fg_softplus(...)      FG_HERE(fg_softplus(__VA_ARGS__))
#define fg_mish(...)          FG_HERE(fg_mish(__VA_ARGS__))
#define fg_relu6(...)         FG_HERE(fg_relu6(__VA_ARGS__))
#define fg_hardsigmoid(...)   FG_HERE(fg_hardsigmoid(__VA_ARGS__))
#define fg_hardswish(...)     FG_HERE(fg_hardswish(__VA_ARGS__))
#define fg_elu(...)           FG_HERE(fg_elu(__VA_ARGS__))
#define fg_leaky_relu(...)    FG_HERE(fg_leaky_relu(__VA_ARGS__))
#define fg_is_finite(...)     FG_HERE(fg_is_finite(__VA_ARGS__))
#define fg_cast(...)          FG_HERE(fg_cast(__VA_ARGS__))
#define fg_stop_gradient(...) FG_HERE(fg_stop_gradient(__VA_ARGS__))
#endif
#endif
