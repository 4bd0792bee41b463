/* op_calls.h - rows of the battery that are more than an expression: loops, one of several results.
 * The loops are also in tests/golden/ops/record.py, as Python loops.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_OP_CALLS_H
#define FGT_OP_CALLS_H

#include <fulgurite/fulgurite.h>

/* x T[n,k], s T[k]: s = tanh(s x + s), y = s x; y T[n,k] with the last s appended. */
fg_tensor fgt_loop_chain(fg_tensor x, fg_tensor s, bool reverse);
/* x T[n,b,i], w T[i,h], u T[h,h]: a recurrent network, h = tanh(x w + h u); all h. */
fg_tensor fgt_loop_recurrent(fg_tensor x, fg_tensor w, fg_tensor u);
/* x T[n,k], s T[]: for each row, s = sin(s + e) c for its elements e and c = cos(s) of the outer
 * loop; all s. */
fg_tensor fgt_loop_nested(fg_tensor x, fg_tensor s);
/* s T[k]: s = 1.5 s + sin(s) as long as the sum of squares is below `most`, up to 9 times. */
fg_tensor fgt_loop_while(fg_tensor s, double most);
/* s T[k], power s32[]: s multiplied by itself `power` times, counted with an s32. */
fg_tensor fgt_loop_power(fg_tensor s, fg_tensor power);

/* One of the results of fg_sort and fg_top_k. */
fg_tensor fgt_sorted(fg_tensor a, int axis, bool descending);
fg_tensor fgt_order(fg_tensor a, int axis, bool descending);
fg_tensor fgt_largest(fg_tensor a, int64_t k);

/* Mistakes. A loop over x with the given options and one carried value, whose body is never called;
 * bodies that compute another type; a loop whose value is used outside; the gradient of a loop
 * without a limit. */
fg_tensor fgt_loop_of(const fg_scan_options *options, fg_tensor carry, fg_tensor x);
void fgt_body_narrow(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                     fg_tensor *y);
void fgt_body_reshaped(void *self, const fg_tensor *carry, const fg_tensor *x, fg_tensor *next,
                       fg_tensor *y);
fg_tensor fgt_loop_leak(fg_tensor carry);
fg_tensor fgt_loop_endless(fg_tensor carry);

#ifndef FG_NO_HERE
#define fgt_sorted(...)       FG_HERE(fgt_sorted(__VA_ARGS__))
#define fgt_largest(...)      FG_HERE(fgt_largest(__VA_ARGS__))
#define fgt_loop_of(...)      FG_HERE(fgt_loop_of(__VA_ARGS__))
#define fgt_loop_leak(...)    FG_HERE(fgt_loop_leak(__VA_ARGS__))
#define fgt_loop_endless(...) FG_HERE(fgt_loop_endless(__VA_ARGS__))
#endif
#endif
