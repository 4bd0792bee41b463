/* loss_cases.h - the battery: losses and metrics. op_cases.h explains the rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */

/* clang-format off */
ROW(cross_entropy, VALUE + GRAD + ROUGH + BF16 + F16, "T[4,5] s32[4]<5", fg_cross_entropy(a, b, NULL), "F.cross_entropy(a, b.long()).to(torch.float32)")
ROW(cross_entropy_smooth, VALUE + GRAD + ROUGH, "T[3,7] s32[3]<7", fg_cross_entropy(a, b, &(fg_cross_entropy_options){.label_smoothing = 0.1}), "F.cross_entropy(a, b.long(), label_smoothing=0.1).to(torch.float32)")
ROW(cross_entropy_large, VALUE + GRAD + ROUGH, "T[4,5] s32[4]<5", fg_cross_entropy(fg_mul_scalar(a, 100), b, NULL), "F.cross_entropy(a * 100, b.long()).to(torch.float32)")
ROW(cross_entropy_excluded, VALUE + GRAD + ROUGH, "T[4,3] s32[4]<3", fg_cross_entropy(fg_concat((const fg_tensor[]){a, fg_log(fg_zeros(trace, fg_tensor_type(a)->dtype, FG_DIMS(4, 2)))}, 2, 1), b, NULL), "F.cross_entropy(torch.cat([a, torch.full((4, 2), -torch.inf, dtype=a.dtype)], 1), b.long()).to(torch.float32)")
ROW(cross_entropy_tokens, VALUE + GRAD + ROUGH + BF16, "T[2,3,5] s32[2,3]<5", fg_cross_entropy(a, b, NULL), "F.cross_entropy(a.movedim(-1, 1), b.long()).to(torch.float32)")
ROW(cross_entropy_ignore, VALUE + GRAD + ROUGH, "T[2,4,5] s32[2,4]<5", fg_cross_entropy(a, b, &(fg_cross_entropy_options){.ignore_index = 2}), "F.cross_entropy(a.movedim(-1, 1), b.long(), ignore_index=2).to(torch.float32)")
ROW(cross_entropy_ignore_zero, VALUE + GRAD + ROUGH, "T[2,4,3] s32[2,4]<3", fg_cross_entropy(a, b, &(fg_cross_entropy_options){.has_ignore_index = true, .label_smoothing = 0.1}), "F.cross_entropy(a.movedim(-1, 1), b.long(), ignore_index=0, label_smoothing=0.1).to(torch.float32)")
ROW(cross_entropy_ignore_negative, VALUE + GRAD + ROUGH, "T[7,4] s32[7]<4", fg_cross_entropy(a, fg_where(fg_eq(b, fg_full(trace, FG_S32, 1, FG_SCALAR)), fg_full(trace, FG_S32, -100, FG_SCALAR), b), &(fg_cross_entropy_options){.ignore_index = -100}), "F.cross_entropy(a, torch.where(b == 1, -100, b).long()).to(torch.float32)")
ROW(cross_entropy_all_ignored, VALUE + ROUGH, "T[3,4] s32[3]<1", fg_cross_entropy(a, fg_add_scalar(b, -100), &(fg_cross_entropy_options){.ignore_index = -100}), "F.cross_entropy(a, (b - 100).long()).to(torch.float32)")
ROW(cross_entropy_class_weight, VALUE + GRAD + ROUGH, "T[6,4] s32[6]<4 T[4]+", fg_cross_entropy(a, b, &(fg_cross_entropy_options){.class_weight = fg_stop_gradient(c)}), "F.cross_entropy(a, b.long(), c.detach()).to(torch.float32)")
ROW(cross_entropy_class_weight_all, VALUE + GRAD + ROUGH, "T[2,5,4] s32[2,5]<4 T[4]+", fg_cross_entropy(a, b, &(fg_cross_entropy_options){.class_weight = fg_stop_gradient(c), .ignore_index = 3, .label_smoothing = 0.2}), "F.cross_entropy(a.movedim(-1, 1), b.long(), c.detach(), ignore_index=3, label_smoothing=0.2).to(torch.float32)")
ROW(cross_entropy_weight, VALUE + GRAD + ROUGH, "T[2,3,5] s32[2,3]<5 T[2,3]+", fg_cross_entropy(a, b, &(fg_cross_entropy_options){.weight = c}), "((F.cross_entropy(a.movedim(-1, 1), b.long(), reduction='none') * c).sum() / c.sum()).to(torch.float32)")
ROW(cross_entropy_mask, VALUE + GRAD + ROUGH, "T[2,4,5] s32[2,4]<5 bool[2,4]", fg_cross_entropy(a, b, &(fg_cross_entropy_options){.weight = c}), "F.cross_entropy(a.movedim(-1, 1), b.long(), reduction='none')[c].mean().to(torch.float32)")
ROW(cross_entropy_soft, ALL + TWICE + ROUGH + BF16, "T[3,4] T[3,4]+", fg_cross_entropy(a, fg_softmax(b), NULL), "F.cross_entropy(a, torch.softmax(b, -1)).to(torch.float32)")
ROW(cross_entropy_soft_tokens, VALUE + GRAD + ROUGH, "T[2,3,5] T[2,3,5]+ T[2,3]+", fg_cross_entropy(a, fg_softmax(b), &(fg_cross_entropy_options){.label_smoothing = 0.1, .weight = c}), "((F.cross_entropy(a.movedim(-1, 1), torch.softmax(b, -1).movedim(-1, 1), label_smoothing=0.1, reduction='none') * c).sum() / c.sum()).to(torch.float32)")
ROW(cross_entropy_soft_all, VALUE + GRAD + ROUGH, "T[6,4] T[6,4]+ T[4]+", fg_cross_entropy(a, fg_softmax(b), &(fg_cross_entropy_options){.class_weight = fg_stop_gradient(c), .label_smoothing = 0.2}), "F.cross_entropy(a, torch.softmax(b, -1), c.detach(), label_smoothing=0.2).to(torch.float32)")
ROW(weighted_mean, VALUE + GRAD + ROUGH + BF16, "T[3,4] T[4]+", fg_weighted_mean(a, b), "((a * b).sum() / b.expand(3, 4).sum()).to(torch.float32)")
ROW(weighted_mean_masked, VALUE + GRAD + ROUGH, "T[3,4] bool[3,4]", fg_weighted_mean(a, b), "a[b].mean().to(torch.float32)")
ROW(mse, VALUE + GRAD + ROUGH + BF16, "T[4,5] T[4,5]", fg_mse(a, b), "F.mse_loss(a, b).to(torch.float32)")
ROW(mse_vector, VALUE + GRAD + ROUGH, "T[5] T[5]", fg_mse(a, b), "F.mse_loss(a, b).to(torch.float32)")
ROW(accuracy, VALUE + BF16, "T[9,3] s32[9]<3", fg_accuracy(a, b), "(a.argmax(-1) == b).to(torch.float32)")
ROW(accuracy_tokens, VALUE, "T[3,4,3] s32[3,4]<3", fg_accuracy(a, b), "(a.argmax(-1) == b).to(torch.float32)")

FAILS(fg_cross_entropy(o.m, o.v, NULL), FG_ESHAPE, "cross_entropy(f32[3,4], f32[4]): expected logits T[B, ..., C] and labels s32[B, ...]")
FAILS(fg_cross_entropy(o.u, o.i, NULL), FG_EDTYPE, "cross_entropy(u8[3,4], s32[3]): expected logits T[B, ..., C] and labels s32[B, ...]")
FAILS(fg_cross_entropy(o.m, o.i, &(fg_cross_entropy_options){.label_smoothing = 1.5}), FG_EINVAL, "cross_entropy: label_smoothing is 1.5: expected 0 to 1")
FAILS(fg_accuracy(o.n, o.i), FG_ESHAPE, "accuracy(f32[5,6], s32[3]): expected logits T[B, ..., C] and labels s32[B, ...]")
FAILS(fg_mse(o.m, o.n), FG_ESHAPE, "mse(f32[3,4], f32[5,6]): expected two tensors T[B, ...] of the same type")
FAILS(fg_mse(o.m, o.d), FG_EDTYPE, "mse(f32[3,4], f64[3,4]): expected two tensors T[B, ...] of the same type")
FAILS(fg_mse(o.s, o.s), FG_ESHAPE, "mse(f32[], f32[]): expected two tensors T[B, ...] of the same type")
/* clang-format on */
