/* aug.h - augmentation: random changes of training images, as part of the compiled step.
 *
 * Each function takes a batch of images T[B,H,W,C] and returns the changed batch, on the device.
 * Integer images u8 are converted to f32 and divided by 255; floating-point ones keep their dtype
 * and are assumed to be between 0 and 1, unless stated otherwise. Call them in the training step:
 *
 *     const fg_sample_key key = fg_batch_key(batch);
 *     fg_tensor x = fg_batch_field(batch, "image");
 *     x = fg_aug_random_crop(x, &key, &(fg_aug_random_crop_options){.padding = 4});
 *     x = fg_aug_random_flip(x, &key, NULL);
 *
 * Random numbers are a function of the seed, the epoch, the sample's index in its dataset, the
 * function and key.repeat (ops/random.h): they depend neither on the position of the sample in the
 * batch nor on the batch size or the number of devices, and a resumed run repeats them. A function
 * that is applied twice draws the same numbers unless key.repeat differs.
 *
 * Evaluation: with key NULL, nothing is random. Functions that determine the size return the same
 * size as in training, the others return the images unchanged.
 *
 * options may be NULL; a member that is 0 has the default in [], FG_ZERO is 0, and values are
 * checked as those of a configuration are. Errors are kept in the trace: FG_ESHAPE, FG_EDTYPE,
 * FG_EINVAL. Gradients flow to the images. Padding rows (ops/padding.h) do not affect other
 * samples. Owner thread of the trace only.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_AUG_H
#define FULGURITE_AUG_H

#include <fulgurite/ops.h>
#include <fulgurite/option.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A registered augmentation (registry.h): a constant row, which `data.augment` of a configuration
 * can list: `augment: [random_crop: {padding: 4}, random_flip]`. */
typedef struct fg_augmentation_entry {
    fg_entry entry;
    /* Returns the changed images T[B,H,W,C], like the functions below; key NULL: in evaluation.
     * image is floating-point, and the trace has no error. own: the struct of entry.options. NULL
     * if there is `mix`. */
    fg_tensor (*apply)(fg_tensor image, const fg_sample_key *key, const void *own);
    /* Replaces the size of the images by that of the results, in training and in evaluation. NULL:
     * it stays the same. */
    void (*size)(const void *own, int64_t *height, int64_t *width);
    /* In place of `apply`, and called in training only: returns the changed images and replaces
     * *target T[B, ...], which is floating-point; of classes, their probabilities T[B,C]. */
    fg_tensor (*mix)(fg_tensor image, fg_tensor *target, const fg_sample_key *key, const void *own);
    /* Options without which it changes nothing, "height|width": a configuration must give at least
     * one of them. NULL: none is required. */
    const char *needs;
    void (*reserved[2])(void); /* must be NULL */
} fg_augmentation_entry;

/* ---- the same for every image ---------------------------------------------------------------- */

/* (x - mean) / std of each channel. Source: torchvision, functional.normalize. */
typedef struct fg_aug_normalize_options {
    fg_floats mean; /* one number, or one for each channel                                [0] */
    fg_floats std;  /* the same, more than 0                                              [1] */
    uint64_t reserved[2];
} fg_aug_normalize_options;
FG_API fg_tensor fg_aug_normalize(fg_tensor image, const fg_sample_key *key,
                                  const fg_aug_normalize_options *options);

/* The whole image, resized to height x width, as by fg_crop_resize. */
typedef struct fg_aug_resize_options {
    int64_t height, width; /* in pixels                                      [those of the image] */
    bool no_antialias;     /* as in fg_crop_resize_options                                [false] */
    uint64_t reserved[2];
} fg_aug_resize_options;
FG_API fg_tensor fg_aug_resize(fg_tensor image, const fg_sample_key *key,
                               const fg_aug_resize_options *options);

/* The height x width pixels in the middle, starting at row floor((H - height) / 2) and column
 * floor((W - width) / 2). */
typedef struct fg_aug_center_crop_options {
    int64_t height, width; /* in pixels                                      [those of the image] */
    uint64_t reserved[2];
} fg_aug_center_crop_options;
FG_API fg_tensor fg_aug_center_crop(fg_tensor image, const fg_sample_key *key,
                                    const fg_aug_center_crop_options *options);

/* ---- geometry -------------------------------------------------------------------------------- */

/* Mirrors an image, left and right exchanged, with probability p. Source: torchvision,
 * RandomHorizontalFlip, RandomVerticalFlip. */
typedef struct fg_aug_random_flip_options {
    double p;      /* probability, 0 to 1                                               [0.5] */
    bool vertical; /* exchange top and bottom instead                                 [false] */
    uint64_t reserved[2];
} fg_aug_random_flip_options;
FG_API fg_tensor fg_aug_random_flip(fg_tensor image, const fg_sample_key *key,
                                    const fg_aug_random_flip_options *options);

/* Pads the image on all sides and cuts a block of height x width pixels out of it, every position
 * equally likely. Evaluation: the block in the middle. Source: torchvision, RandomCrop. */
typedef struct fg_aug_random_crop_options {
    int64_t height, width; /* in pixels                                   [those of the image] */
    int64_t padding;       /* in pixels, on each side                                      [0] */
    const char *mode;      /* what the padding repeats: "constant": `fill`; "edge": the nearest
                              pixel; "reflect": the image mirrored at its outermost pixels, for
                              padding < H and < W                                 ["constant"] */
    double fill;           /* in the range of the images                                   [0] */
    uint64_t reserved[2];
} fg_aug_random_crop_options;
FG_API fg_tensor fg_aug_random_crop(fg_tensor image, const fg_sample_key *key,
                                    const fg_aug_random_crop_options *options);

/* Cuts a random box out of the image and resizes it to height x width in one interpolation.
 *
 * The box covers a fraction of the image's area that is uniform from scale_min to scale_max, and
 * its ratio of width to height is log-uniform from ratio_min to ratio_max: width =
 * round(sqrt(fraction * H * W * ratio)) and height = round(sqrt(fraction * H * W / ratio)), halves
 * rounded up, at a uniformly random position. The first of 10 such boxes that fits in the image
 * is used. If none does: the largest box in the middle of the image whose ratio is allowed.
 * Evaluation: the largest box in the middle with the ratio of the result. Source: Szegedy et al.
 * 2014, "Going deeper with convolutions"; torchvision, RandomResizedCrop. */
typedef struct fg_aug_random_resized_crop_options {
    int64_t height, width;       /* of the result, in pixels              [those of the image] */
    double scale_min, scale_max; /* 0 to 1                                         [0.08 and 1] */
    double ratio_min, ratio_max; /* more than 0                                   [3/4 and 4/3] */
    bool no_antialias;           /* as in fg_crop_resize_options                        [false] */
    uint64_t reserved[2];
} fg_aug_random_resized_crop_options;
FG_API fg_tensor fg_aug_random_resized_crop(fg_tensor image, const fg_sample_key *key,
                                            const fg_aug_random_resized_crop_options *options);

/* Rotates, translates, scales and shears the image about its center, by uniformly distributed
 * numbers: an angle from -degrees to degrees (clockwise), x and y from -translate to translate
 * times the width and the height, a factor from scale_min to scale_max, and a shear along x from
 * -shear to shear degrees; see fg_affine_sample. Evaluation: no change. Source: torchvision,
 * functional.affine and RandomAffine (which translates by integers). */
typedef struct fg_aug_random_affine_options {
    double degrees;              /* 0 to 180                                               [0] */
    double translate;            /* 0 to 1                                                 [0] */
    double scale_min, scale_max; /* more than 0                                      [1 and 1] */
    double shear;                /* 0 to 89                                                [0] */
    double fill;                 /* of pixels outside, in the range of the images          [0] */
    bool nearest;                /* as in fg_affine_options                            [false] */
    uint64_t reserved[2];
} fg_aug_random_affine_options;
FG_API fg_tensor fg_aug_random_affine(fg_tensor image, const fg_sample_key *key,
                                      const fg_aug_random_affine_options *options);

/* Blurs with a normalized Gaussian of `size` x `size` pixels, whose standard deviation is uniform
 * from sigma_min to sigma_max; the image is mirrored at its outermost pixels. Evaluation: no
 * change. Source: torchvision, GaussianBlur. */
typedef struct fg_aug_gaussian_blur_options {
    int64_t size;                /* odd, less than 2 H and 2 W                             [3] */
    double sigma_min, sigma_max; /* in pixels, more than 0                       [0.1 and 2.0] */
    uint64_t reserved[2];
} fg_aug_gaussian_blur_options;
FG_API fg_tensor fg_aug_gaussian_blur(fg_tensor image, const fg_sample_key *key,
                                      const fg_aug_gaussian_blur_options *options);

/* ---- color ----------------------------------------------------------------------------------- */

/* Random brightness, contrast, saturation and hue, in this order, of images with 3 channels. With 1
 * channel, saturation and hue change nothing. Each factor is uniform from max(0, 1 - strength) to
 * 1 + strength; that of hue is a shift from -hue to hue turns of the color circle. Results are
 * clipped to 0 to 1. Source: torchvision, functional.adjust_brightness, adjust_contrast,
 * adjust_saturation, adjust_hue (ColorJitter applies them in random order). */
typedef struct fg_aug_color_jitter_options {
    double brightness, contrast, saturation; /* strengths, at least 0                      [0] */
    double hue;                              /* 0 to 0.5                                   [0] */
    uint64_t reserved[2];
} fg_aug_color_jitter_options;
FG_API fg_tensor fg_aug_color_jitter(fg_tensor image, const fg_sample_key *key,
                                     const fg_aug_color_jitter_options *options);

/* With probability p, sets all 3 channels to 0.2989 R + 0.587 G + 0.114 B. Images with 1 channel
 * stay as they are. Source: torchvision, RandomGrayscale. */
typedef struct fg_aug_grayscale_options {
    double p; /* probability, 0 to 1                                                    [0.1] */
    uint64_t reserved[2];
} fg_aug_grayscale_options;
FG_API fg_tensor fg_aug_grayscale(fg_tensor image, const fg_sample_key *key,
                                  const fg_aug_grayscale_options *options);

/* With probability p, sets a random box of the image to `value`. Its area and ratio of height to
 * width are drawn as by fg_aug_random_resized_crop, but the box must be smaller than the image in
 * both directions, and if none of 10 fits, nothing is erased. Source: Zhong et al. 2017, "Random
 * erasing data augmentation"; torchvision, RandomErasing. */
typedef struct fg_aug_random_erasing_options {
    double p;                    /* probability, 0 to 1                                  [0.5] */
    double scale_min, scale_max; /* 0 to 1                                     [0.02 and 0.33] */
    double ratio_min, ratio_max; /* more than 0                                  [0.3 and 3.3] */
    double value;                /* in the range of the images                             [0] */
    uint64_t reserved[2];
} fg_aug_random_erasing_options;
FG_API fg_tensor fg_aug_random_erasing(fg_tensor image, const fg_sample_key *key,
                                       const fg_aug_random_erasing_options *options);

/* ---- levels ---------------------------------------------------------------------------------- */

/* These change an image with probability p. Values are expected to be from 0 to 1. Where
 * torchvision defines an operation for u8 images, it applies to the nearest multiples of 1/255. */

/* 1 - x. Source: torchvision, RandomInvert. */
typedef struct fg_aug_invert_options {
    double p; /* probability, 0 to 1                                                    [0.5] */
    uint64_t reserved[2];
} fg_aug_invert_options;
FG_API fg_tensor fg_aug_invert(fg_tensor image, const fg_sample_key *key,
                               const fg_aug_invert_options *options);

/* 1 - x where x >= threshold. Source: torchvision, RandomSolarize. */
typedef struct fg_aug_solarize_options {
    double threshold; /* 0 to 1                                                         [0.5] */
    double p;         /* probability, 0 to 1                                            [0.5] */
    uint64_t reserved[2];
} fg_aug_solarize_options;
FG_API fg_tensor fg_aug_solarize(fg_tensor image, const fg_sample_key *key,
                                 const fg_aug_solarize_options *options);

/* Keeps the highest `bits` of the 8 bits of each value; the others become 0. No gradient through
 * changed images. Source: torchvision, RandomPosterize. */
typedef struct fg_aug_posterize_options {
    int64_t bits; /* 1 to 8                                                               [4] */
    double p;     /* probability, 0 to 1                                                [0.5] */
    uint64_t reserved[2];
} fg_aug_posterize_options;
FG_API fg_tensor fg_aug_posterize(fg_tensor image, const fg_sample_key *key,
                                  const fg_aug_posterize_options *options);

/* Scales each channel of an image such that its values range from 0 to 1. Source: torchvision,
 * RandomAutocontrast. */
typedef struct fg_aug_autocontrast_options {
    double p; /* probability, 0 to 1                                                    [0.5] */
    uint64_t reserved[2];
} fg_aug_autocontrast_options;
FG_API fg_tensor fg_aug_autocontrast(fg_tensor image, const fg_sample_key *key,
                                     const fg_aug_autocontrast_options *options);

/* Equalizes the histogram of each channel of an image: frequent ones among its 256 levels are
 * spread apart. No gradient through changed images. Costs two comparisons of each value with 256
 * levels. Source: torchvision, RandomEqualize; Pillow, ImageOps.equalize. */
typedef struct fg_aug_equalize_options {
    double p; /* probability, 0 to 1                                                    [0.5] */
    uint64_t reserved[2];
} fg_aug_equalize_options;
FG_API fg_tensor fg_aug_equalize(fg_tensor image, const fg_sample_key *key,
                                 const fg_aug_equalize_options *options);

/* factor x + (1 - factor) s, clipped to 0 to 1, where s is the image smoothed: the mean of 3 x 3
 * pixels, of which the middle one has weight 5; the outermost pixels keep their values. Source:
 * torchvision, RandomAdjustSharpness. */
typedef struct fg_aug_sharpness_options {
    double factor; /* at least 0; more than 1: sharper                                    [2] */
    double p;      /* probability, 0 to 1                                               [0.5] */
    uint64_t reserved[2];
} fg_aug_sharpness_options;
FG_API fg_tensor fg_aug_sharpness(fg_tensor image, const fg_sample_key *key,
                                  const fg_aug_sharpness_options *options);

/* ---- policies -------------------------------------------------------------------------------- */

/* Applies `operations` operations to each image, one after another, each drawn at random from 14:
 * identity, shear along x or y, translation along x or y, rotation; brightness, saturation,
 * contrast, sharpness; posterize, solarize, autocontrast, equalize. The magnitude of an operation
 * is `magnitude` of bins - 1 equal parts of its range: up to slopes of 0.3, 150/331 of width and
 * height (rounded down to pixels), 30 degrees, factors of 1 plus or minus 0.9, 4 bits less,
 * everything inverted; those with two directions have either with probability 1/2. Images have 1 or
 * 3 channels.
 *
 * Values are expected to be from 0 to 1. All operations are computed for all images; they share one
 * affine map, one mixture and the maps of levels, so that each of the `operations` costs about as
 * much as fg_aug_random_affine, fg_aug_sharpness and fg_aug_equalize together. Gradients as for
 * these. Evaluation: no change. Source: Cubuk et al. 2019, "RandAugment: practical automated data
 * augmentation with a reduced search space"; torchvision, RandAugment. */
typedef struct fg_aug_rand_augment_options {
    int64_t operations; /* 1 to 16                                                         [2] */
    int64_t magnitude;  /* 0 to bins - 1; 0 is FG_NONE                                     [9] */
    int64_t bins;       /* number of magnitudes, 2 to 256                                 [31] */
    double fill;        /* of pixels outside, in the range of the images                   [0] */
    bool bilinear;      /* interpolate linearly; false: the nearest pixel              [false] */
    uint64_t reserved[2];
} fg_aug_rand_augment_options;
FG_API fg_tensor fg_aug_rand_augment(fg_tensor image, const fg_sample_key *key,
                                     const fg_aug_rand_augment_options *options);

/* The same with one operation, of a random magnitude: each of `bins` in a range up to slopes of
 * 0.99, 32 pixels, 135 degrees, factors of 1 plus or minus 0.99, 6 bits less, everything inverted.
 * Source: Müller and Hutter 2021, "TrivialAugment: tuning-free yet state-of-the-art data
 * augmentation"; torchvision, TrivialAugmentWide. */
typedef struct fg_aug_trivial_augment_options {
    int64_t bins;  /* number of magnitudes, 2 to 256                                      [31] */
    double fill;   /* of pixels outside, in the range of the images                        [0] */
    bool bilinear; /* interpolate linearly; false: the nearest pixel                   [false] */
    uint64_t reserved[2];
} fg_aug_trivial_augment_options;
FG_API fg_tensor fg_aug_trivial_augment(fg_tensor image, const fg_sample_key *key,
                                        const fg_aug_trivial_augment_options *options);

/* ---- mixtures of samples --------------------------------------------------------------------- */

/* These mix each sample with the next one of its batch, and the last one with the first
 * (fg_batch_roll), with the random numbers of the first of the two. So the result of a sample also
 * depends on the order and the size of the batch: it is the same for any number of devices with the
 * same global batch, and after resuming; with gradient accumulation, that is one of the accumulated
 * batches. The order of the samples is random, so a sample has another partner in each epoch.
 *
 * *target is replaced by the targets of the mixed samples, T[B, ...], which are floating-point
 * numbers: class probabilities (fg_one_hot), which fg_cross_entropy accepts, or the numbers of a
 * regression. With key NULL, both stay the same. Applied one after another, they mix up to three
 * samples; p below 1 leaves some of them out. */

/* Mixes all pixels: w x + (1 - w) next, with w from Beta(alpha, alpha). Source: Zhang et al. 2017,
 * "mixup: beyond empirical risk minimization"; torchvision, v2.MixUp (one w for the batch). */
typedef struct fg_aug_mixup_options {
    double alpha; /* 0.001 to 1000; small: mostly near 0 or 1                              [1] */
    double p;     /* probability, 0 to 1                                                   [1] */
    uint64_t reserved[2];
} fg_aug_mixup_options;
FG_API fg_tensor fg_aug_mixup(fg_tensor image, fg_tensor *target, const fg_sample_key *key,
                              const fg_aug_mixup_options *options);

/* Replaces a box by the same box of the next sample. Its center is uniform over the pixels, and its
 * sides are 2 floor(sqrt(1 - w) H / 2) and 2 floor(sqrt(1 - w) W / 2), clipped to the image, with
 * w from Beta(alpha, alpha). The targets are mixed in proportion to the areas. Source: Yun et al.
 * 2019, "CutMix: regularization strategy to train strong classifiers with localizable
 * features"; torchvision, v2.CutMix (one box for the batch). */
typedef struct fg_aug_cutmix_options {
    double alpha; /* 0.001 to 1000; small: mostly near 0 or 1                              [1] */
    double p;     /* probability, 0 to 1                                                   [1] */
    uint64_t reserved[2];
} fg_aug_cutmix_options;
FG_API fg_tensor fg_aug_cutmix(fg_tensor image, fg_tensor *target, const fg_sample_key *key,
                               const fg_aug_cutmix_options *options);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_aug_normalize(...)           FG_HERE(fg_aug_normalize(__VA_ARGS__))
#define fg_aug_resize(...)              FG_HERE(fg_aug_resize(__VA_ARGS__))
#define fg_aug_center_crop(...)         FG_HERE(fg_aug_center_crop(__VA_ARGS__))
#define fg_aug_random_flip(...)         FG_HERE(fg_aug_random_flip(__VA_ARGS__))
#define fg_aug_random_crop(...)         FG_HERE(fg_aug_random_crop(__VA_ARGS__))
#define fg_aug_random_resized_crop(...) FG_HERE(fg_aug_random_resized_crop(__VA_ARGS__))
#define fg_aug_random_affine(...)       FG_HERE(fg_aug_random_affine(__VA_ARGS__))
#define fg_aug_gaussian_blur(...)       FG_HERE(fg_aug_gaussian_blur(__VA_ARGS__))
#define fg_aug_color_jitter(...)        FG_HERE(fg_aug_color_jitter(__VA_ARGS__))
#define fg_aug_grayscale(...)           FG_HERE(fg_aug_grayscale(__VA_ARGS__))
#define fg_aug_random_erasing(...)      FG_HERE(fg_aug_random_erasing(__VA_ARGS__))
#define fg_aug_invert(...)              FG_HERE(fg_aug_invert(__VA_ARGS__))
#define fg_aug_solarize(...)            FG_HERE(fg_aug_solarize(__VA_ARGS__))
#define fg_aug_posterize(...)           FG_HERE(fg_aug_posterize(__VA_ARGS__))
#define fg_aug_autocontrast(...)        FG_HERE(fg_aug_autocontrast(__VA_ARGS__))
#define fg_aug_equalize(...)            FG_HERE(fg_aug_equalize(__VA_ARGS__))
#define fg_aug_sharpness(...)           FG_HERE(fg_aug_sharpness(__VA_ARGS__))
#define fg_aug_rand_augment(...)        FG_HERE(fg_aug_rand_augment(__VA_ARGS__))
#define fg_aug_trivial_augment(...)     FG_HERE(fg_aug_trivial_augment(__VA_ARGS__))
#define fg_aug_mixup(...)               FG_HERE(fg_aug_mixup(__VA_ARGS__))
#define fg_aug_cutmix(...)              FG_HERE(fg_aug_cutmix(__VA_ARGS__))
#endif
#endif
