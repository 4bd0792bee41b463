/* ops.h - operations on tensors.
 *
 * Each family of operations has its own header, and this one includes all of them: ops/constant.h,
 * elementwise.h, select.h, shape.h, gather.h, sort.h, reduce.h, dot.h (matrix multiplication),
 * conv.h, linalg.h, pool.h, resample.h, random.h, padding.h (batches with padding rows), loss.h,
 * loop.h and custom.h (operations of your own).
 *
 * These rules apply to every operation:
 *   - T is any floating dtype (f32, bf16, f16, f64) unless stated otherwise. Operands with the same
 *     letter must have the same dtype: there are no implicit conversions.
 *   - Binary arithmetic, comparisons and fg_where broadcast their operands as NumPy does: shapes
 *     are aligned at the last dimension, and dimensions of size 1 are repeated.
 *   - Axes start at 0; negative axes count from the end. An options pointer may be NULL; a field
 *     that is 0 has the default given in [].
 *   - Errors (FG_ESHAPE, FG_EDTYPE, FG_EINVAL) are kept in the trace with the file and line of the
 *     call; the operation then returns the trace's poison value.
 *   - All floating operands are differentiable unless stated otherwise.
 *   - In batches with padding rows, reductions count valid rows only (ops/padding.h).
 *   - Owner thread of the trace only.
 * Source of the semantics: StableHLO specification, the operation with the same name.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPS_H
#define FULGURITE_OPS_H

#include <fulgurite/ops/constant.h>
#include <fulgurite/ops/conv.h>
#include <fulgurite/ops/custom.h>
#include <fulgurite/ops/dot.h>
#include <fulgurite/ops/elementwise.h>
#include <fulgurite/ops/gather.h>
#include <fulgurite/ops/linalg.h>
#include <fulgurite/ops/loop.h>
#include <fulgurite/ops/loss.h>
#include <fulgurite/ops/padding.h>
#include <fulgurite/ops/pool.h>
#include <fulgurite/ops/random.h>
#include <fulgurite/ops/reduce.h>
#include <fulgurite/ops/resample.h>
#include <fulgurite/ops/select.h>
#include <fulgurite/ops/shape.h>
#include <fulgurite/ops/sort.h>

#endif
