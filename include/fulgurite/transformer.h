/* transformer.h - attention, transformer blocks, and the key/value cache for sampling.
 *
 * The rules for layers are in nn.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_TRANSFORMER_H
#define FULGURITE_TRANSFORMER_H

#include <fulgurite/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- attention ------------------------------------------------------------------------------- */

/* Scaled dot-product attention, softmax(scale q k' + bias) v for each head:
 *
 *   q        T[B, T, H, D]
 *   k, v     T[B, S, K, D]   K divides H: head h of q uses head h / (H/K) of k and v
 *   returns  T[B, T, H, D]
 *
 * Query t is at position `position` + t of the keys. Scores and softmax are computed in f32. A
 * query that may attend to no key attends to all of them equally. NULL: no mask. Gradient: to q, k
 * and v. Sources: Vaswani et al. 2017, "Attention is all you need"; Ainslie et al. 2023, "GQA";
 * Press et al. 2022, "Train short, test long" (ALiBi); Rabe and Staats 2021, "Self-attention does
 * not need O(n^2) memory" (query_chunk); PyTorch's scaled_dot_product_attention. */
typedef struct fg_attention_options {
    bool causal;         /* only to keys at the query's position and before   [false] */
    bool alibi;          /* bias -slope_h |distance|                          [false] */
    int64_t window;      /* only to keys at a distance below this; 0: any         [0] */
    fg_tensor valid;     /* bool[B, S]: false for padding, to which nothing attends [all true] */
    fg_tensor segment;   /* s32[B, T], with T = S: only to keys of the same segment, for several
                            documents in one sequence                          [none] */
    fg_tensor position;  /* s32[]: position of the first query                [S - T] */
    double scale;        /* [1/sqrt(D)] */
    double dropout;      /* of the weights, in training                           [0] */
    int64_t query_chunk; /* queries whose scores are in memory at a time, in a loop, also for the
                             gradient, which computes them again; 0: those of all  [0] */
    uint64_t reserved[2];
} fg_attention_options;
FG_API fg_tensor fg_attention(fg_tensor q, fg_tensor k, fg_tensor v,
                              const fg_attention_options *options);

/* Rotary position embedding: rotates the elements d and d + D/2 of each head by the angle
 * p base^(-2d/D), where p is the position along the axis T, which starts at `position` (s32[]; an
 * empty tensor: 0).  T[B, T, H, D] -> T[B, T, H, D], D even. Gradient: to x. Source: Su et al.
 * 2021, "RoFormer", in the order of elements of GPT-NeoX and Llama. */
FG_API fg_tensor fg_rotary(fg_tensor x, double base, fg_tensor position);

/* Keys and values of earlier positions, so that sampling computes only new ones. Create it for a
 * module and its descendants; between begin and end, attention layers of the module store their
 * keys and values in it and attend to all that it contains, causally, and models of the module
 * (fg_model) start at `position`; fg_recurrent keeps its state in it. The tensors in between are
 * those of one trace. The cache belongs to the module's tree; it is not saved. Errors, kept in
 * the module: FG_EINVAL (batch or length is less than 1, or the module has a cache already),
 * FG_ENOMEM. */
typedef struct fg_kv_cache fg_kv_cache;
FG_API fg_kv_cache *fg_kv_cache_create(fg_module *module, int64_t batch, int64_t length);
/* position: s32[], the number of positions that the cache contains, usually an fg_scalar. The
 * caller keeps it below length minus the number of new positions. */
FG_API void fg_kv_cache_begin(fg_kv_cache *cache, fg_tensor position);
FG_API void fg_kv_cache_end(fg_kv_cache *cache);

/* Multi-head attention of a sequence to itself:  T[B, T, width] -> T[B, T, width].
 *
 * Linear layers compute queries, keys and values, either one for each or one for all of them, whose
 * outputs are the queries, then the keys, then the values, and another one the result. Attention is
 * as in fg_attention. */
typedef struct fg_multihead_attention fg_multihead_attention;
typedef enum fg_position_kind {
    FG_POSITION_NONE = 0, /* or learned: an embedding that is added to the input */
    FG_POSITION_ROTARY = 1,
    FG_POSITION_ALIBI = 2
} fg_position_kind;
typedef struct fg_multihead_attention_options {
    int64_t width, heads;      /* required */
    int64_t kv_heads;          /* heads of keys and values; divides heads          [heads] */
    int64_t head_width;        /* [width / heads, which must then be exact] */
    bool causal;               /* [false] */
    int64_t window;            /* [0: any distance] */
    fg_position_kind position; /* [FG_POSITION_NONE] */
    double rotary_base;        /* [10000] */
    double dropout;            /* of the attention weights, in training                [0] */
    int64_t query_chunk;       /* as in fg_attention_options                           [0] */
    bool no_bias, no_out_bias; /* omit the biases of queries, keys and values; of the result */
    bool is_conv1d;            /* the weights are [in, out] in files, as in GPT-2  [false] */
    fg_init init, out_init;    /* of the weights              [as those of fg_linear] */
    /* Names of the linear layers. key and value NULL: `query` computes all three
     * ["qkv", NULL, NULL, "proj"] */
    const char *query, *key, *value, *out;
    uint64_t reserved[2];
} fg_multihead_attention_options;
FG_API fg_multihead_attention *
fg_multihead_attention_create(fg_module *parent, const char *name,
                              const fg_multihead_attention_options *options);
/* What differs from batch to batch; NULL: nothing. */
typedef struct fg_attention_masks {
    fg_tensor valid, segment; /* as in fg_attention_options [empty: none] */
    uint64_t reserved[2];
} fg_attention_masks;
FG_API fg_tensor fg_multihead_attention_apply(const fg_multihead_attention *layer, fg_tensor x,
                                              const fg_attention_masks *masks);

/* ---- transformer blocks ---------------------------------------------------------------------- */

/* A transformer block,  T[B, T, width] -> T[B, T, width]:
 *
 *   x + attention(norm1(x)), then x + mlp(norm2(x)); with post_norm norm1(x + attention(x)), then
 *   norm2(x + mlp(x))
 *
 * The MLP is down(act(up(x))), or with a gate down(act(gate(x)) up(x)). In training, dropout
 * applies to the results of attention and MLP, and drop_path removes them (fg_drop_path). Sources:
 * Vaswani et al. 2017, "Attention is all you need"; Xiong et al. 2020, "On layer normalization in
 * the transformer architecture"; Shazeer 2020, "GLU variants improve transformer". */
typedef struct fg_transformer_block fg_transformer_block;
typedef struct fg_transformer_block_options {
    fg_multihead_attention_options attention; /* width and heads are required */
    int64_t hidden;                           /* of the MLP                [4 width] */
    fg_tensor (*activation)(fg_tensor);       /* [fg_gelu] */
    bool gated, post_norm;                    /* [false] */
    fg_norm_kind norm;                        /* [FG_LAYER_NORM] */
    double eps;                               /* of the norms                 [1e-5] */
    double dropout, drop_path;                /* [0] */
    bool remat; /* compute the block again for its gradient (fg_remat_begin), which needs less
                    memory and more time      [false] */
    /* Names of the parts ["norm1", "attn", "norm2", "mlp.fc1", "mlp.fc2"; "mlp.gate", if gated] */
    const char *norm1_name, *attention_name, *norm2_name, *up_name, *down_name, *gate_name;
    uint64_t reserved[2];
} fg_transformer_block_options;
FG_API fg_transformer_block *
fg_transformer_block_create(fg_module *parent, const char *name,
                            const fg_transformer_block_options *options);
FG_API fg_tensor fg_transformer_block_apply(const fg_transformer_block *layer, fg_tensor x,
                                            const fg_attention_masks *masks);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_attention(...)                 FG_HERE(fg_attention(__VA_ARGS__))
#define fg_rotary(...)                    FG_HERE(fg_rotary(__VA_ARGS__))
#define fg_multihead_attention_apply(...) FG_HERE(fg_multihead_attention_apply(__VA_ARGS__))
#define fg_transformer_block_apply(...)   FG_HERE(fg_transformer_block_apply(__VA_ARGS__))
#endif
#endif
