/* line_cases.h - a line that runs for each layer, and for operations that are no rows of the
 * battery because their results are random or constant: LINE(C expression). The trace is `trace`,
 * the module `root`; x is f32[4,8], image f32[2,8,8,3], series f32[2,5,8], token s32[2,5] and q
 * f32[2,5,2,4].
 *
 * test_name_lines.c traces them, and tools/make-reference copies them to docs/reference/names.md.
 * This file is included several times and has no guard.
 *
 * SPDX-License-Identifier: Apache-2.0 */

/* clang-format off */
LINE(fg_linear_apply(fg_linear_create(root, "linear", &(fg_linear_options){.in = 8, .out = 4}), x))
LINE(fg_conv_apply(fg_conv_create(root, "conv", &(fg_conv_options){.in = 3, .out = 4, .kernel = 3, .pad = 1}), image))
LINE(fg_batch_norm_apply(fg_batch_norm_create(root, "bn", &(fg_batch_norm_options){.channels = 3}), image))
LINE(fg_norm_apply(fg_norm_create(root, "ln", &(fg_norm_options){.channels = 8}), x))
LINE(fg_norm_apply(fg_norm_create(root, "rms", &(fg_norm_options){.channels = 8, .kind = FG_RMS_NORM}), x))
LINE(fg_norm_apply(fg_norm_create(root, "gn", &(fg_norm_options){.channels = 3, .kind = FG_GROUP_NORM, .groups = 3}), image))
LINE(fg_norm_apply(fg_norm_create(root, "in", &(fg_norm_options){.channels = 3, .kind = FG_INSTANCE_NORM}), image))
LINE(fg_embedding_apply(fg_embedding_create(root, "wte", &(fg_embedding_options){.count = 16, .width = 8}), token))
LINE(fg_embedding_logits(fg_embedding_create(root, "head", &(fg_embedding_options){.count = 16, .width = 8}), x))
LINE(fg_recurrent_apply(fg_recurrent_create(root, "lstm", &(fg_recurrent_options){.in = 8, .hidden = 4}), series, NULL))
LINE(fg_recurrent_apply(fg_recurrent_create(root, "gru", &(fg_recurrent_options){.in = 8, .hidden = 4, .kind = FG_GRU}), series, NULL))
LINE(fg_multihead_attention_apply(fg_multihead_attention_create(root, "attn", &(fg_multihead_attention_options){.width = 8, .heads = 2, .causal = true}), series, NULL))
LINE(fg_transformer_block_apply(fg_transformer_block_create(root, "block", &(fg_transformer_block_options){.attention = {.width = 8, .heads = 2}}), series, NULL))
LINE(fg_attention(q, q, q, &(fg_attention_options){.causal = true}))
LINE(fg_rotary(q, 10000, fg_zeros(trace, FG_S32, FG_SCALAR)))
LINE(fg_dropout(x, 0.1))
LINE(fg_drop_path(x, 0.1))
LINE(fg_stop_gradient(x))
LINE(fg_full(trace, FG_F32, 0.5, FG_DIMS(2, 3)))
LINE(fg_zeros(trace, FG_F32, FG_DIMS(2, 3)))
LINE(fg_ones(trace, FG_F32, FG_DIMS(2, 3)))
LINE(fg_constant(trace, &(fg_type){.dtype = FG_F32, .rank = 1, .dim = {3}}, (const float[]){1, 2, 3}))
LINE(fg_random_bits(trace, FG_DIMS(2, 3)))
LINE(fg_random_uniform(trace, FG_DIMS(2, 3)))
LINE(fg_random_normal(trace, FG_DIMS(2, 3)))
LINE(fg_random_categorical(x))
LINE(fg_random_permutation(trace, 8))
/* clang-format on */
