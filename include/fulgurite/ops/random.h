/* random.h - random numbers and dropout.
 *
 * The rules for all operations are in ops.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_OPS_RANDOM_H
#define FULGURITE_OPS_RANDOM_H

#include <fulgurite/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counter-based random bits: u32 of the given shape, a function of the trace's (seed, step), of the
 * position of this call among the trace's random calls, and of the element's index. No gradient.
 * Source: Salmon et al. 2011, Threefry-2x32 with 20 rounds. */
FG_API fg_tensor fg_random_bits(fg_trace *trace, int rank, const int64_t *dim);
/* Uniform random numbers in [0, 1), multiples of 2^-24: f32. */
FG_API fg_tensor fg_random_uniform(fg_trace *trace, int rank, const int64_t *dim);
/* Normally distributed random numbers with mean 0 and variance 1: f32, at most 6.7 in magnitude.
 * Source: Box and Muller 1958, "A note on the generation of random normal deviates". */
FG_API fg_tensor fg_random_normal(fg_trace *trace, int rank, const int64_t *dim);
/* Samples from categorical distributions: T[..., K] unnormalized log-probabilities -> s32[...],
 * from 0 to K - 1. -infinity is a probability of 0. For a temperature, divide the logits by it. No
 * gradient. Source: the Gumbel-max trick (Maddison, Tarlow and Minka 2014, "A* sampling"). */
FG_API fg_tensor fg_random_categorical(fg_tensor logits);
/* The numbers 0 to n - 1 in random order: s32[n], by sorting random bits. */
FG_API fg_tensor fg_random_permutation(fg_trace *trace, int64_t n);

/* The key of the random numbers of samples, which are a function of it and of their purpose. Two
 * uses with the same purpose and repeat get the same numbers. */
typedef struct fg_sample_key {
    fg_tensor key;    /* u32[2], of the run and the epoch */
    fg_tensor sample; /* u32[B], which sample of the dataset each row of the batch is */
    int64_t repeat;   /* distinguishes uses for the same purpose [0] */
} fg_sample_key;
/* Counter-based random bits of each sample of a batch: u32[B,count], a function of the key, the
 * sample, the purpose (any text) and key->repeat: not of the position in the batch, the batch size
 * or the devices. The Trainer's key is fg_batch_key. No gradient.
 *
 * With n = ceil(count / 2), numbers i and n + i of a sample are the two words of the block with
 * counter (sample, i), whose key is the block of key->key with counter (low word, high word) of the
 * sum of repeat and the hash of the purpose (XXH3, 64 bits). */
FG_API fg_tensor fg_random_sample_bits(const fg_sample_key *key, const char *purpose,
                                       int64_t count);
/* The same as uniform random numbers in [0, 1), multiples of 2^-24: f32[B,count]. */
FG_API fg_tensor fg_random_sample_uniform(const fg_sample_key *key, const char *purpose,
                                          int64_t count);

/* Dropout. In training, sets each element to 0 with probability rate, 0 <= rate < 1, and scales the
 * others by 1/(1 - rate); otherwise the identity. Source: Srivastava et al. 2014, "Dropout". */
FG_API fg_tensor fg_dropout(fg_tensor a, double rate);
/* Stochastic depth: dropout of whole samples, the elements of dimension 0. Source: Huang et al.
 * 2016, "Deep networks with stochastic depth"; timm's DropPath. */
FG_API fg_tensor fg_drop_path(fg_tensor a, double rate);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_random_bits(...)           FG_HERE(fg_random_bits(__VA_ARGS__))
#define fg_random_uniform(...)        FG_HERE(fg_random_uniform(__VA_ARGS__))
#define fg_random_normal(...)         FG_HERE(fg_random_normal(__VA_ARGS__))
#define fg_random_categorical(...)    FG_HERE(fg_random_categorical(__VA_ARGS__))
#define fg_random_permutation(...)    FG_HERE(fg_random_permutation(__VA_ARGS__))
#define fg_random_sample_bits(...)    FG_HERE(fg_random_sample_bits(__VA_ARGS__))
#define fg_random_sample_uniform(...) FG_HERE(fg_random_sample_uniform(__VA_ARGS__))
#define fg_dropout(...)               FG_HERE(fg_dropout(__VA_ARGS__))
#define fg_drop_path(...)             FG_HERE(fg_drop_path(__VA_ARGS__))
#endif
#endif
