/* layer_cases.h - the battery: several operations together, as layers use them. op_cases.h explains
 * the rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */

/* clang-format off */
ROW(dense_layer, ALL + TWICE, "T[3,4] T[4,2] T[2]", fg_relu(fg_add(fg_matmul(a, b), c)), "(a @ b + c).relu()")
ROW(normalise, ALL + TWICE + BF16, "T[5,3] T[3] T[3]",
    fg_add(fg_mul(fg_mul(fg_sub(a, fg_mean(a, 1, (const int[]){0})),
                         fg_rsqrt(fg_add_scalar(fg_mean(fg_square(fg_sub(a, fg_mean(a, 1, (const int[]){0}))), 1, (const int[]){0}), 1e-5))), b), c),
    "F.batch_norm(a, None, None, b, c, training=True, eps=1e-5)")
ROW(attention, ALL + TWICE + BF16, "T[2,3,4] T[2,5,4] T[2,5,2]", fg_matmul(fg_softmax(fg_mul_scalar(fg_matmul(a, fg_transpose(b)), 0.5)), c), "F.scaled_dot_product_attention(a, b, c, scale=0.5)")
ROW(conv_block, ALL + TWICE, "T[1,5,5,2] T[3,3,2,2] T[2]", fg_max_pool(fg_relu(fg_add(fg_conv2d(a, b, &(fg_conv2d_options){.pad = 1}), c)), NULL), "max_pool((conv(a, b, pad=1) + c).relu())")
/* clang-format on */
