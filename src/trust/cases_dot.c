/* cases_dot.c - matmuls: plain, transposed, batched, with a broadcast operand, and such products
 * multiplied and summed.
 *
 * Compilers choose another algorithm by the sizes, so the same operation occurs with several. A
 * product that is multiplied and summed is computed in one loop by some: XLA's CPU compiler of 2026
 * gave garbage for a batched matmul with a transposed, broadcast matrix. That depends on the
 * shape, and starts at about 2^14 multiplications, where the loop is divided into tasks:
 * (2, 128, 8, 32) is wrong, (2, 32, 8, 32) and (8, 32, 64, 64) are right.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/ops.h>

#include "trust/trust.h"

static fg_tensor einsum(const fgi_case *c, const fg_tensor *in)
{
    return fg_einsum(c->equation, in, fgi_case_operands(c));
}

/* a[b,m,k] by the transpose of w[n,k], which is repeated for each b. */
static fg_tensor by_broadcast(const fg_tensor *in)
{
    const fg_dot_options options = {
        .batch_count = 1, .contract_count = 1, .a_contract = {2}, .b_contract = {2}};
    const int64_t dim[] = {fg_tensor_dim(in[0], 0), fg_tensor_dim(in[1], 0),
                           fg_tensor_dim(in[1], 1)};
    return fg_dot(in[0], fg_broadcast_to(in[1], 3, dim), &options);
}

static fg_tensor broadcast(const fgi_case *c, const fg_tensor *in)
{
    (void)c;
    return by_broadcast(in);
}

static fg_tensor squares(const fgi_case *c, const fg_tensor *in)
{
    const fg_tensor y = by_broadcast(in);
    (void)c;
    return fg_sum(fg_mul(y, y), 1, (int[]){2});
}

/* Multiplied by a third operand, and summed over n. */
static fg_tensor weighted(const fgi_case *c, const fg_tensor *in)
{
    (void)c;
    return fg_sum(fg_mul(by_broadcast(in), in[2]), 1, (int[]){2});
}

#define EINSUM(words, letters, more, ...)                                                          \
    {                                                                                              \
        .name = (words), .equation = (letters), .dim = {__VA_ARGS__}, .flags = (more),             \
        .trace = einsum, .compute = fgi_host_einsum                                                \
    }
#define SQUARES(b, m, k, n, more)                                                                  \
    {                                                                                              \
        .name = "batched matmul with a broadcast matrix, squared and summed",                      \
        .dim = {{b, m, k}, {n, k}}, .flags = FGI_CASE_ROUNDS | (more), .trace = squares,           \
        .compute = fgi_host_squares                                                                \
    }
enum { BF16 = FGI_CASE_BF16, F64 = FGI_CASE_F64, NO_GRADIENT = FGI_CASE_NO_GRADIENT };

const fgi_case fgi_cases_dot[] = {
    EINSUM("matmul", "mk,kn->mn", F64 | FGI_CASE_F64_GRADIENT, {24, 20}, {20, 33}),
    EINSUM("matmul", "mk,kn->mn", BF16 | FGI_CASE_BF16_GRADIENT | F64, {80, 48}, {48, 72}),
    EINSUM("matmul of a transposed matrix", "km,kn->mn", F64, {72, 65}, {72, 66}),
    EINSUM("matmul by a transposed matrix", "mk,nk->mn", F64, {35, 24}, {200, 24}),
    EINSUM("matrix-vector product", "mk,k->m", NO_GRADIENT | F64, {60, 48}, {48}),
    EINSUM("batched matrix-vector product", "bmk,bk->bm", NO_GRADIENT, {9, 21, 16}, {9, 16}),
    EINSUM("batched matmul", "bmk,bkn->bmn", F64, {6, 17, 12}, {6, 12, 19}),
    EINSUM("batched matmul by a transposed matrix", "bhqd,bhkd->bhqk", F64, {2, 3, 15, 16},
           {2, 3, 18, 16}),
    EINSUM("batched matmul of a transposed matrix", "bkm,bkn->bmn", F64, {4, 24, 9}, {4, 24, 16}),
    EINSUM("matmul over two axes", "mjk,jkn->mn", NO_GRADIENT, {18, 5, 8}, {5, 8, 22}),
    {.name = "batched matmul with a broadcast matrix",
     .equation = "bmk,nk->bmn",
     .dim = {{3, 33, 16}, {24, 16}},
     .flags = FGI_CASE_ROUNDS,
     .trace = broadcast,
     .compute = fgi_host_einsum},
    {.name = "batched matmul with a broadcast matrix, multiplied and summed",
     .equation = "bmk,nk,n->bm",
     .dim = {{64, 22, 42}, {6, 42}, {6}},
     .flags = FGI_CASE_ROUNDS | NO_GRADIENT,
     .trace = weighted,
     .compute = fgi_host_einsum},
    SQUARES(2, 128, 8, 32, F64),
    SQUARES(1000, 3, 8, 3, NO_GRADIENT),
    SQUARES(12, 20, 24, 28, NO_GRADIENT | F64),
    SQUARES(7, 33, 19, 21, NO_GRADIENT),
    SQUARES(16, 49, 24, 5, NO_GRADIENT),
    {0},
};
