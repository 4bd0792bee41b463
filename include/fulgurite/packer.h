/* packer.h - builds packs of images: reads the samples of a catalog, decodes, resizes and encodes
 * them with several threads, and writes them to a pack (pack.h) in the order of the catalog.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_PACKER_H
#define FULGURITE_PACKER_H

#include <fulgurite/base.h>
#include <fulgurite/catalog.h>
#include <fulgurite/image.h>
#include <fulgurite/pack.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How images are stored. Values are stable. */
typedef enum fg_pack_choice {
    FG_PACK_CHOICE_AUTO = 0, /* chosen for the machine and the rate that the model needs */
    FG_PACK_CHOICE_FILE = 1, /* files as they are, in any format */
    FG_PACK_CHOICE_JPEG = 2, /* JPEG files. A JPEG that is neither resized nor rotated is stored
                                as it is. Others are encoded: rotated by Exif, CMYK, PNG ... */
    FG_PACK_CHOICE_SEG = 3, /* as JPEG, with restart markers and the table of segments, so that only
                               the segments of a crop are decoded; transcoding is lossless */
    FG_PACK_CHOICE_RAW = 4, /* RGB pixels */
    FG_PACK_CHOICE_YCC = 5, /* YCbCr planes, chroma at half resolution; equal sizes only */
    FG_PACK_CHOICE_DCT =
        6 /* quantized DCT coefficients; equal sizes only. Those of a JPEG are stored
                               as they are if it is neither resized nor rotated, and has the chroma
                               sampling of the pack: 4:2:0, unless all (of 256, evenly
                               spaced) have the same other one. Others are encoded. */
} fg_pack_choice;

/* Measures the samples/s that the loader of a training run reads from a pack that has a few of the
 * samples. */
typedef fg_status fg_pack_measure_fn(void *self, const char *path, double *out_rate, fg_error *err);

/* The progress of a build. */
typedef struct fg_pack_progress {
    int64_t done, total; /* samples; `done` includes bad ones and those of a resumed pack */
    int64_t bad;         /* samples left out */
    uint64_t size_bytes; /* of the records written by this call */
    double elapsed_s;    /* since the first sample of this call */
    double rate;         /* samples/s of this call */
    double remaining_s;  /* estimate; negative if it is not known */
    const char *unit;    /* of `done` and `total`: "images" or "samples" */
} fg_pack_progress;

/* Called by the thread that called fg_pack_build, every progress_s seconds and after the last
 * sample. Return false to stop: the partial pack remains and can be resumed. */
typedef bool fg_pack_progress_fn(void *self, const fg_pack_progress *progress);

typedef struct fg_pack_build_options {
    fg_pack_choice codec;     /* [FG_PACK_CHOICE_AUTO] */
    fg_image_presize presize; /* size at which images are stored                       [none] */
    int64_t quality;          /* of JPEG and DCT coefficients that are encoded, 1 to 100 [90] */
    int64_t variant_count;    /* K, 1 to 1024. If K > 1, K augmentations of each image are stored
                                 instead of the image: a random resized crop (area 8 % to 100 %,
                                 aspect ratio 3/4 to 4/3) to the size of `presize`, which must be
                                 `square`, flipped with probability 1/2. Record i * K + k is
                                 variant k of sample i.                                   [1] */
    double val_fraction;      /* divide the samples as fg_catalog_split does; if both are 0, samples
                                 keep the splits of the source                            [0] */
    double test_fraction;     /*                                                          [0] */
    bool stratify;            /* the same fractions of every class                    [false] */
    uint64_t seed;            /* of the split and the variants                            [0] */
    int64_t thread_count;     /* the pack is the same for any number           [number of CPUs] */
    uint64_t shard_bytes;     /* start a new file when one would exceed this    [0: single file] */
    bool skip_bad;            /* leave out samples that cannot be read or decoded, also rows of a
                                 manifest whose file does not exist; otherwise the first one is an
                                 error                                                [false] */
    int64_t limit;            /* only pack this many samples, evenly spaced; of arrays, the first
                                 ones of each split                                   [0: all] */
    bool restart;             /* discard a partial pack instead of resuming it        [false] */
    bool replace;             /* replace an existing pack                             [false] */
    double progress_s; /* between two calls of `progress`; FG_ZERO: after each sample [0.1] */
    fg_pack_progress_fn *progress; /*                                            [NULL: none] */
    void *progress_self;           /* first argument of `progress` */
    double rate;                 /* for the automatic codec: images/s that the model needs [2000] */
    fg_pack_measure_fn *measure; /* for the automatic codec: how fast a codec is. NULL: random
                                    resized crops, read by as many threads as there are CPUs */
    void *measure_self;          /* first argument of `measure` */
    uint64_t space_bytes;        /* that the pack may need        [free space of the file system] */
    const fg_catalog_options *catalog; /* how the source is read                         [NULL] */
    int64_t sequence; /* tokens per sample, of token files (fg_tokens_load)   [0: images] */
    bool host_crops;  /* training crops or flips images on the host: the automatic codec is not dct,
                         whose images are decoded whole by the device            [false] */
    bool tolerate_corruption; /* decode as much as possible of truncated and corrupt JPEGs, and
                                 encode them again; codec file stores them as they are   [false] */
    bool handle_signals; /* SIGINT, SIGTERM and SIGHUP stop the build like `progress`, the second
                            time at once                                         [false] */
    uint64_t reserved[2];
} fg_pack_build_options;

/* Writes a line such as "12,800/50,000 images, 1,830/s, 412.3 MB, 20 s left, 3 bad". Truncates the
 * text to `size` bytes and returns out. Thread-safe. */
FG_API const char *fg_pack_progress_text(const fg_pack_progress *progress, char *out, size_t size);
/* A value for `progress` that redraws this line on progress_self, a FILE *. If that is not
 * a terminal, it writes a new line each time, but none at the end. */
FG_API bool fg_pack_progress_draw(void *stream, const fg_pack_progress *progress);

/* A sample that is not in the pack. */
typedef struct fg_pack_reject {
    const char *name;   /* of the sample in the catalog: any bytes */
    const char *reason; /* message of the error */
} fg_pack_reject;

/* Result of fg_pack_build. */
typedef struct fg_pack_built {
    int64_t sample_count, record_count;
    int64_t resumed_count;     /* records that a partial pack already had */
    uint64_t size_bytes;       /* of all records written by this call */
    fg_pack_choice codec;      /* never FG_PACK_CHOICE_AUTO */
    char reason[480];          /* one sentence: why this codec was chosen; "" if it was given */
    const fg_pack_reject *bad; /* samples left out, in the order of the catalog */
    size_t bad_count;
    int64_t skip_count;    /* files of the source that are not samples (fg_catalog_skip) */
    bool is_set;           /* the files are NAME-00000.pack and so on */
    int64_t encoded_count; /* samples that this call encoded with `quality`; the JPEGs among the
                              others are stored as they are */
    int64_t flawed_count;  /* samples that this call decoded although the decoder had a warning */
    uint64_t reserved[1];
} fg_pack_built;

/* Frees the strings and clears the struct. NULL is allowed. */
FG_API void fg_pack_built_fini(fg_pack_built *built);

/* Builds the pack out_path, "NAME.pack", from a source that fg_catalog_open can open. No
 * accelerator is needed. options and out may be NULL.
 *
 * A source of arrays (fg_pack_arrays_accepts), or any source if `sequence` is set, is packed by
 * fg_pack_arrays; `limit` then applies to each split.
 *
 * The same samples and options, with a codec other than automatic, give the same bytes, for any
 * number of threads and after any number of interruptions. Until the pack is complete, its files
 * are NAME.pack.partial and NAME.pack.partial.jsonl. A build that was killed continues where it was
 * when it is called again with the same options; `skip_bad`, `thread_count` and the members after
 * it may differ, except `shard_bytes` and `limit`.
 *
 * Every image is decoded at least at reduced size, so a damaged one is found now. Names, labels,
 * splits, groups and class names are those of the catalog; class names are the class numbers if it
 * has none. If samples were left out or files skipped, NAME.pack.bad.jsonl has one JSON object per
 * line, {"name": ..., "reason": ...}.
 *
 * Metadata of the pack, JSON: "source" (name, kind, number of samples), "options", "samples",
 * "bad", "skipped", "splits" (samples of each), "class_counts" (of each split), and "mean" and
 * "std", f64[3], of the channels R, G, B in [0, 1]. These are measured on at most 512 samples,
 * evenly spaced, each with the same weight; images that are stored without decoding are first
 * reduced to a shorter side of at most 256 pixels.
 *
 * Errors: FG_EINVAL (options; images of different sizes with codec ycc or dct; the partial pack has
 * different samples or options, or the file of one of its samples has changed), FG_ENOTFOUND,
 * FG_EIO (also: the estimated size exceeds the free space, or the disk is full; free some space and
 * call again), FG_EFORMAT and FG_EUNSUPPORTED (a bad sample, with its name), FG_ESTOPPED (by
 * `progress` or a signal), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_pack_build(const char *source, const char *out_path,
                                           const fg_pack_build_options *options, fg_pack_built *out,
                                           fg_error *err);

/* Decodes every image of a source, as fg_pack_build does with codec file, and writes nothing. Of
 * the options, only catalog, limit, thread_count, tolerate_corruption, progress,
 * progress_s and handle_signals are used. out->bad lists what cannot be read or decoded, also rows
 * of a list whose file does not exist; out->sample_count is the number of the others,
 * out->flawed_count of those whose decoder had a warning, out->skip_count of files that are not
 * samples. Finding bad images is not an error. Errors: FG_EINVAL (options; a source of arrays),
 * those of fg_catalog_open, FG_ESTOPPED, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_pack_check_source(const char *source,
                                                  const fg_pack_build_options *options,
                                                  fg_pack_built *out, fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
