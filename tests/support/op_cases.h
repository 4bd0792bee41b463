/* op_cases.h - the battery: one row for each tested use of an operation. The rows are in
 * cases/FAMILY_cases.h, where FAMILY names the header of include/fulgurite/ops; "layer" has
 * combinations of operations.
 *
 *   ROW(id, checks, "inputs", C expression, "the same in PyTorch")
 *
 * In the C expression, the inputs are a, b, c and the trace is `trace`. Inputs are written "T[2,3]
 * T[3]": T is the floating-point dtype of the run (f32, f64, bf16, f16); other dtypes are fixed:
 * "s32[4]". Marks after a type choose the numbers: nothing: distinct, not 0, between -4 and 4 (as
 * far as they go); "+" the same, positive; "=" -1, 0 and 1, so that there are ties; "<5" integers
 * from 0 to 4; "~" between -1 and 1.
 *
 * tests/golden/ops/record.py reads these files too, evaluates the PyTorch expressions in f64, and
 * writes inputs, results and gradients to tests/golden/ops/FAMILY.safetensors. To add an operation,
 * add one or more rows to its family's file and run `record.py FAMILY`. This file is included
 * several times and has no guard; ROW may use FAMILY, a string.
 *
 * checks is a sum of: VALUE (result), GRAD (gradients), DIFF (gradients compared with differences),
 * ALL (those three), TWICE (second derivatives compared with differences), BF16 and F16 (run in
 * these dtypes too; f32 and f64 always). ROUGH: computed in f32 whatever T is. SHARP: differences
 * of large numbers.
 *
 * SPDX-License-Identifier: Apache-2.0 */

/*   FAILS(C expression, status, "message")
 *
 * is a use that is an error. The operands are o.m f32[3,4], o.n f32[5,6], o.v f32[4], o.d f64[3,4],
 * o.i s32[3], o.u u8[3,4], o.b bool[3,4], o.x f32[2,8,6,3], o.k f32[3,3,3,4] and o.s f32[], and o.t
 * is the trace. tests/unit/test_trace.c also verifies that the error has the row's file and line,
 * so that each row is one line. */

#define FAMILY "constant"
#include "cases/constant_cases.h"
#undef FAMILY
#define FAMILY "elementwise"
#include "cases/elementwise_cases.h"
#undef FAMILY
#define FAMILY "select"
#include "cases/select_cases.h"
#undef FAMILY
#define FAMILY "shape"
#include "cases/shape_cases.h"
#undef FAMILY
#define FAMILY "gather"
#include "cases/gather_cases.h"
#undef FAMILY
#define FAMILY "reduce"
#include "cases/reduce_cases.h"
#undef FAMILY
#define FAMILY "dot"
#include "cases/dot_cases.h"
#undef FAMILY
#define FAMILY "conv"
#include "cases/conv_cases.h"
#undef FAMILY
#define FAMILY "linalg"
#include "cases/linalg_cases.h"
#undef FAMILY
#define FAMILY "pool"
#include "cases/pool_cases.h"
#undef FAMILY
#define FAMILY "resample"
#include "cases/resample_cases.h"
#undef FAMILY
#define FAMILY "random"
#include "cases/random_cases.h"
#undef FAMILY
#define FAMILY "padding"
#include "cases/padding_cases.h"
#undef FAMILY
#define FAMILY "loss"
#include "cases/loss_cases.h"
#undef FAMILY
#define FAMILY "loop"
#include "cases/loop_cases.h"
#undef FAMILY
#define FAMILY "sort"
#include "cases/sort_cases.h"
#undef FAMILY
#define FAMILY "layer"
#include "cases/layer_cases.h"
#undef FAMILY
