/* pack_arrays.h - packs of arrays: datasets, such as MNIST, CIFAR-10 and .npy files, and windows of
 * token files, stored as records of codec FG_PACK_ARRAYS.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_PACK_ARRAYS_H
#define FULGURITE_PACK_ARRAYS_H

#include <fulgurite/base.h>
#include <fulgurite/data.h>
#include <fulgurite/pack.h>
#include <fulgurite/packer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fg_pack_arrays_options {
    int64_t sequence;     /* tokens: number of tokens per sample, N               [0: no tokens] */
    double val_fraction;  /* if there are no validation samples, hold out this fraction of the
                             training samples, as fg_dataset_split does                     [0] */
    uint64_t seed;        /* of that split                                                  [0] */
    int64_t limit;        /* at most this many samples of each split                   [0: all] */
    uint64_t shard_bytes; /* start a new file when one would exceed this       [0: single file] */
    bool restart;         /* discard a partial pack instead of resuming it              [false] */
    bool replace;         /* replace an existing pack                                   [false] */
    double progress_s; /* between two calls of `progress`; FG_ZERO: after each sample     [0.1] */
    fg_pack_progress_fn *progress; /* as of fg_pack_build                           [NULL: none] */
    void *progress_self;
    uint64_t reserved[4];
} fg_pack_arrays_options;

/* Loads tokens as a dataset of windows. Field 0 is "tokens", T[N + 1] with N = sequence: sample i
 * has tokens i * N to i * N + N, so the inputs are the first N and the targets the last N; the last
 * token is the first one of the next sample, and each token but the first of the file is a target
 * once. Up to N - 1 tokens at the end of the file are not used.
 *
 *   .npy, .npz    T[count] of u8, u16 or s32 as stored; other integers become s32
 *   .bin          little-endian u16, as written by numpy's tofile
 *   other files   bytes: u8 tokens from 0 to 255, such as UTF-8 text, without its byte order mark
 *
 * The file is memory-mapped and must not change. Errors: FG_ENOTFOUND, FG_EIO, FG_EINVAL (sequence
 * below 1, or too few tokens for one sample), FG_EFORMAT (also a token that does not fit s32),
 * FG_ESHAPE (.npy of another rank), FG_EDTYPE (not integers), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_tokens_load(const char *path, int64_t sequence, fg_dataset **out,
                                            fg_error *err);

/* Whether fg_pack_arrays can read a source, without opening it: a folder with the files of MNIST
 * (IDX), CIFAR-10 or CIFAR-100, or with x.npy or x_train.npy; or a file .npy or .npz.
 * Thread-safe. */
FG_API bool fg_pack_arrays_accepts(const char *source);

/* Packs a source of arrays: a folder of IDX files (fg_idx_load; the files t10k are the validation
 * samples), a folder of CIFAR-10 or of CIFAR-100 with its fine labels (the test file is
 * validation), a folder with x.npy and y.npy, also val_x.npy, val_y.npy, test_x.npy and
 * test_y.npy, or x_train.npy, y_train.npy, x_val.npy, y_val.npy, x_test.npy and y_test.npy, of
 * which all but the first are optional; a .npz archive with arrays of these names, or with one
 * array; or one file x.npy. With `sequence`: one file for fg_tokens_load, or a folder with
 * train.npy, train.bin or train.txt, and optionally val and test. *out_count (may be NULL) is the
 * number of records. options may be NULL. Errors: those of the readers and of fg_pack_datasets;
 * FG_ENOTFOUND. */
FG_API FG_MUST_USE fg_status fg_pack_arrays(const char *source, const char *out_path,
                                            const fg_pack_arrays_options *options,
                                            int64_t *out_count, fg_error *err);

/* Writes datasets to the pack out_path, one record per sample: the samples of datasets[FG_TRAIN],
 * then of datasets[FG_VAL] and of datasets[FG_TEST], each of which may be NULL. All must have the
 * same fields, which become those of the pack. The number of classes and their names (or else "0",
 * "1" ...) are those of the first dataset with classes; the label of a record is field 1 if it is
 * s32[] and the dataset has classes. A record whose field 0 is u8[H,W,1] or u8[H,W,3] has its width
 * and height. Records have no names.
 *
 * `source` is text that identifies the samples, in the metadata and to recognize a partial pack,
 * which is continued if it has the same source and options, and its records are equal to the
 * samples; NULL: "". options may be NULL; its sequence, val_fraction and seed are not used. Errors:
 * FG_EINVAL (no samples, different fields, or a partial pack of other samples), FG_EUNSUPPORTED (a
 * sequential source), FG_ESTOPPED (by `progress`), those of the datasets and of
 * fg_pack_writer_create and _add.
 */
FG_API FG_MUST_USE fg_status fg_pack_datasets(fg_dataset *const datasets[3], const char *source,
                                              const char *out_path,
                                              const fg_pack_arrays_options *options,
                                              int64_t *out_count, fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
