/* data.h - datasets, file readers, and the loader that prepares batches in the background.
 *
 * A dataset is an indexed collection of samples. A sample is a set of named arrays of fixed type,
 * its fields. Readers open files as datasets: CSV, IDX (MNIST), CIFAR, .npy. In every reader,
 * field 0 is the input and field 1, if it exists, is the target. A loader reads a dataset in a
 * counter-based random order and returns batches in host memory that a device can read in place.
 *
 * This header is independent of devices: values keep the type that they have in the file (u8 pixels
 * stay u8). Scaling and augmentation are part of the device program.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_DATA_H
#define FULGURITE_DATA_H

#include <fulgurite/base.h>
#include <fulgurite/dtype.h>
#include <fulgurite/option.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- datasets -------------------------------------------------------------------------------- */

/* Maximum number of fields of a sample. */
#define FG_MAX_FIELDS 8

/* An indexed, immutable collection of samples. Thread-safe. Subsets and loaders keep the data of
 * their dataset alive, so you may destroy the dataset before them. */
typedef struct fg_dataset fg_dataset;

/* One array of every sample, for example {"image", u8[28,28,1]}. The type is that of a single
 * sample, without a batch dimension: rank at most FG_MAX_RANK - 1, every dimension at least 1. */
typedef struct fg_field {
    const char *name;
    fg_type type;
} fg_field;

/* How field 0 of a dataset stores images. Values are stable. */
typedef enum fg_image_coding {
    FG_IMAGE_PIXELS = 0, /* T[height, width, channels]                                        */
    FG_IMAGE_DCT = 1,    /* s8[bytes]: quantized DCT coefficients of a JPEG                   */
    FG_IMAGE_YCC420 = 2  /* u8[bytes]: planes Y[height, width], then Cb and Cr of half of both,
                            rounded up                                                         */
} fg_image_coding;

/* The images of field 0, if the device decodes them (fg_decode_images in decode.h): all images of a
 * dataset have the same encoding. A member that is 0 has the default in []. */
typedef struct fg_image_encoding {
    fg_image_coding coding;
    int64_t height, width; /* of an image, in pixels, 1 to 65535 */
    int channels;   /* of the decoded image: 3, or 1 for Y alone                        [3] */
    int components; /* FG_IMAGE_DCT: 1: Y, 3: Y, Cb, Cr                                 [3] */
    int h[3], v[3]; /* FG_IMAGE_DCT: sampling factors of the components, 1 or 2         [1] */
    int high;       /* FG_IMAGE_DCT: the first `high` coefficients, in zigzag order, have two
                       bytes, 1 to 64                                                   [1] */
    uint64_t reserved[4];
} fg_image_encoding;

/* Size, fields and classes of a dataset. */
typedef struct fg_dataset_spec {
    int64_t count;          /* number of samples; may be 0                                */
    const fg_field *fields; /* field_count fields, with distinct non-empty names          */
    int field_count;        /* 1 to FG_MAX_FIELDS                                         */
    int64_t class_count;    /* number of classes of the target; 0: not a classification [0] */
    const char *const *class_names; /* class_count names; NULL: the classes have no names [NULL] */
    const fg_image_encoding *encoding; /* of field 0; NULL: its values need no decoding   [NULL] */
    uint64_t reserved[1];
} fg_dataset_spec;

/* Functions of a custom dataset. On failure, a function returns a status other than FG_OK and may
 * write a message to err->message (err is never NULL). The loader calls them from several threads
 * concurrently. */
typedef struct fg_dataset_ops {
    /* Writes field f of sample `index` (0 <= index < count), dense and row-major, to
     * out_fields[f]. Required unless gather or read_epoch is set. */
    fg_status (*read)(void *self, int64_t index, void *const *out_fields, fg_error *err);
    /* Writes n samples: sample indices[i] as row i of each out_fields[f]. Optional: for storage
     * that reads many samples faster at once than one by one. */
    fg_status (*gather)(void *self, const int64_t *indices, size_t n, void *const *out_fields,
                        fg_error *err);
    /* Frees self once the dataset is no longer used. Optional. */
    void (*destroy)(void *self);
    /* Like read, for samples that vary by epoch (starting at 0), such as random crops: a pure
     * function of (epoch, index), so that runs can be resumed exactly. Instead of read and gather.
     */
    fg_status (*read_epoch)(void *self, int64_t epoch, int64_t index, void *const *out_fields,
                            fg_error *err);
    /* Writes the class index of every sample to out_labels[0..count), for storage where that is
     * cheaper than reading the samples. Optional; see fg_dataset_labels. */
    fg_status (*labels)(void *self, int32_t *out_labels, fg_error *err);
    /* The name of a sample, such as its file's, valid until destroy; NULL if it has none. Optional;
     * see fg_dataset_sample_name. */
    const char *(*name)(void *self, int64_t index);
    void (*reserved[1])(void); /* must be NULL */
} fg_dataset_ops;

/* Creates a custom dataset. `ops` and `spec` are copied, including names. take_self is passed to
 * the functions of ops; the dataset takes ownership of it, also on failure (ops->destroy is
 * called). Errors: FG_EINVAL (invalid spec or ops), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_dataset_create(const fg_dataset_ops *ops, void *take_self,
                                               const fg_dataset_spec *spec, fg_dataset **out,
                                               fg_error *err);

/* ---- sources: sequential (streaming) datasets ------------------------------------------------ */

/* The count of a source whose number of samples per epoch is not known. */
#define FG_UNKNOWN_COUNT (-1)

/* Functions of a source without random access: a file that is parsed, a generator, a network
 * stream. Failures are reported as in fg_dataset_ops. */
typedef struct fg_source_ops {
    /* Starts epoch `epoch` (starting at 0); *out_reader is passed to the functions below. Several
     * readers may be open at once, for example those of two loaders. The calls for one reader are
     * serialized, but may come from any thread. */
    fg_status (*open)(void *self, int64_t epoch, void **out_reader, fg_error *err);
    /* Writes the next sample as fg_dataset_ops.read does, or sets *out_end at the end of the epoch.
     * out_fields NULL: skip the sample; it need not be decoded. Opening the same epoch again must
     * yield the same samples, otherwise runs cannot be resumed exactly. */
    fg_status (*next)(void *reader, void *const *out_fields, bool *out_end, fg_error *err);
    /* Skips the first `count` samples, before the first call of next: to resume in the middle of an
     * epoch. Optional: without it, next is called `count` times. */
    fg_status (*skip)(void *reader, int64_t count, fg_error *err);
    /* Frees a reader, at the end of its epoch or earlier. Optional. */
    void (*close)(void *reader);
    /* Frees self once the dataset is no longer used. Optional. */
    void (*destroy)(void *self);
    void (*reserved[4])(void); /* must be NULL */
} fg_source_ops;

/* Creates a dataset from a source. Loaders and the Trainer accept it like any other dataset; an
 * epoch ends when the source ends. spec->count may be FG_UNKNOWN_COUNT; if the count is given, it
 * is an error if the source yields fewer or more samples. Reading samples by index, splitting and
 * subsets are not supported (FG_EUNSUPPORTED). take_self as in fg_dataset_create. Errors:
 * FG_EINVAL, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_dataset_from_source(const fg_source_ops *ops, void *take_self,
                                                    const fg_dataset_spec *spec, fg_dataset **out,
                                                    fg_error *err);

/* Number of damaged records that have been replaced by others so far, in this dataset or, if it is
 * a subset, drawn by weight or a mix, in those that it is derived from (FG_PACK_BAD_SKIP in
 * pack_dataset.h, skip_damaged in images.h). *out_first (may be NULL) is the message about the
 * first one, or "": borrowed for the dataset's lifetime. Thread-safe. */
FG_API int64_t fg_dataset_damaged(const fg_dataset *dataset, const char **out_first);

/* Number of images that have been used although their decoder had a warning, in this dataset and in
 * those that it is derived from: JPEGs with extraneous bytes and, if tolerate_corruption (images.h)
 * is set, corrupt ones. *out_first as in fg_dataset_damaged. Thread-safe. */
FG_API int64_t fg_dataset_flawed(const fg_dataset *dataset, const char **out_first);

/* Name of sample `index`, such as the name of its file: any bytes but NUL. NULL if the samples have
 * no names, or index is out of range. Borrowed for the dataset's lifetime. Thread-safe. */
FG_API const char *fg_dataset_sample_name(const fg_dataset *dataset, int64_t index);

/* Creates a dataset of the same samples in which a sample that cannot be read, because its file or
 * record is damaged, missing or of an unsupported kind, is not an error: its fields are 0, and
 * fg_dataset_sample_error returns the reason. Use it for predictions: metrics would include the
 * zeros. If single samples cannot fail, because they are in memory or the dataset is a source, *out
 * is another handle of `parent`. Thread-safe. Error: FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_dataset_tolerate(fg_dataset *parent, fg_dataset **out,
                                                 fg_error *err);

/* Why sample `index` could not be read, in one line; "" if it could, or has not been read yet. NULL
 * if such samples are errors of this dataset (neither fg_dataset_tolerate nor keep_damaged of
 * fg_csv_apply_options), or index is out of range. Borrowed for the dataset's lifetime. For a
 * sample that another thread is reading, call it once the sample has been delivered. */
FG_API const char *fg_dataset_sample_error(const fg_dataset *dataset, int64_t index);

/* Whether the dataset was made by fg_dataset_from_source. */
FG_API bool fg_dataset_is_source(const fg_dataset *dataset);

/* ---- any dataset ----------------------------------------------------------------------------- */

typedef enum fg_storage {
    FG_BORROW = 0, /* the caller owns the memory; it must outlive the dataset and its users */
    FG_COPY = 1    /* the dataset keeps a copy                                              */
} fg_storage;

/* Creates a dataset from arrays in memory: arrays[f] is T[count, dimensions of field f...], dense
 * and row-major. Errors: FG_EINVAL, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_dataset_from_arrays(const fg_dataset_spec *spec,
                                                    const void *const *arrays, fg_storage storage,
                                                    fg_dataset **out, fg_error *err);

/* Creates a dataset of the samples indices[0..count) of `parent`, in that order; indices may
 * repeat. Fields and classes are those of the parent. The indices are copied. Errors: FG_EINVAL (an
 * index is out of range), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_dataset_subset(fg_dataset *parent, const int64_t *indices,
                                               size_t count, fg_dataset **out, fg_error *err);

/* How a dataset is split. */
typedef struct fg_split_options {
    double val_fraction; /* of the samples, above 0 and below 1; required               */
    uint64_t seed;       /* keys the permutation                                    [0] */
    bool stratify;       /* split each class                                    [false] */
    uint64_t reserved[2];
} fg_split_options;

/* Splits a dataset at random into a training set and a validation set. The validation set has
 * round(val_fraction * count) samples, at least one and never all: the first ones of a permutation
 * keyed by `seed`. The same count and options give the same split on every machine. Both sets keep
 * the parent's order.
 *
 * Samples of one group are never divided: groups are those of image files and packs, also in
 * subsets of them (fg_catalog_item, fg_pack_entry). Then groups, and samples without a group, are
 * permuted. In that order, each is added to the validation set if this brings its number of samples
 * closer to round(val_fraction * count); if no group is small enough, the smallest one is.
 *
 * stratify: both sets have nearly the same fraction of each class. Each class gets the integer part
 * of val_fraction * (number of its samples), and the classes with the largest remainders one more,
 * so that there are round(val_fraction * count) in all. One sample of each class stays in the
 * training set, so a class with a single sample is only there; if no class can spare a sample, the
 * split is not by class. A group is in the class of its first sample.
 *
 * Errors: FG_EINVAL (val_fraction; fewer than 2 samples; all of them are in one group),
 * FG_EUNSUPPORTED (a source), FG_ENOMEM; with stratify, those of fg_dataset_labels. */
FG_API FG_MUST_USE fg_status fg_dataset_split(fg_dataset *parent, const fg_split_options *options,
                                              fg_dataset **out_train, fg_dataset **out_val,
                                              fg_error *err);

/* Releases the caller's reference to the dataset. NULL is allowed. */
FG_API void fg_dataset_destroy(fg_dataset *dataset);

/* Number of samples; FG_UNKNOWN_COUNT for a source of unknown length. */
FG_API int64_t fg_dataset_count(const fg_dataset *dataset);

/* Number of fields of each sample. */
FG_API int fg_dataset_field_count(const fg_dataset *dataset);

/* Field `index`, borrowed for the dataset's lifetime; NULL if index is out of range. */
FG_API const fg_field *fg_dataset_field(const fg_dataset *dataset, int index);

/* Index of the field with this name; -1 if it does not exist. */
FG_API int fg_dataset_find_field(const fg_dataset *dataset, const char *name);

/* Number of classes of the target; 0 if this is not a classification dataset. */
FG_API int64_t fg_dataset_class_count(const fg_dataset *dataset);

/* Name of class `index`, borrowed for the dataset's lifetime; NULL if the classes have no names. */
FG_API const char *fg_dataset_class_name(const fg_dataset *dataset, int64_t index);

/* The type of field 0 for images of this encoding: s8[bytes] or u8[bytes]. Its dtype is
 * FG_DTYPE_NONE for FG_IMAGE_PIXELS, NULL and an encoding with an invalid member. */
FG_API fg_type fg_image_encoding_type(const fg_image_encoding *encoding);

/* Decodes field 0 of one sample on the host, to show it: RGB u8[height, width, 3], as
 * fg_decode_images on a device, also if the encoding has one channel. Errors: FG_EINVAL
 * (FG_IMAGE_PIXELS, an invalid member), FG_ENOMEM. Thread-safe. */
FG_API FG_MUST_USE fg_status fg_image_encoding_decode(const fg_image_encoding *encoding,
                                                      const void *entry, uint8_t *rgb,
                                                      fg_error *err);

/* How field 0 stores images, borrowed for the dataset's lifetime; NULL if its values need no
 * decoding. Pass it to fg_decode_images. */
FG_API const fg_image_encoding *fg_dataset_encoding(const fg_dataset *dataset);

/* Reads one sample, of epoch 0 if samples vary by epoch. out_fields[f] must have room for
 * fg_type_bytes of field f's type. Thread-safe. Errors: FG_EINVAL (index out of range), and those
 * of the dataset's reader. */
FG_API FG_MUST_USE fg_status fg_dataset_read(const fg_dataset *dataset, int64_t index,
                                             void *const *out_fields, fg_error *err);

/* Writes the class index of every sample, field 1, to out_labels[0..count). If the storage has no
 * faster way, every sample is read once. Thread-safe. Errors: FG_EINVAL (the dataset has no
 * classes, or field 1 is not s32[]), FG_EUNSUPPORTED (a source, or a dataset whose samples are
 * drawn again in each epoch), FG_ENOMEM, and those of the dataset's reader. */
FG_API FG_MUST_USE fg_status fg_dataset_labels(const fg_dataset *dataset, int32_t *out_labels,
                                               fg_error *err);
/* Whether field 1 is u8[C], which of the C classes a sample has: several labels per sample. */
FG_API bool fg_dataset_is_multilabel(const fg_dataset *dataset);
/* Counts the samples that have each label: out_counts is s64[C], to which it adds, for a field 1 of
 * C values from 0 to 1 (u8, bool, s32 or f32), of which those above 1/2 count. Images are not
 * decoded. Errors: FG_EFORMAT (another value), FG_EINVAL (no such field), FG_EUNSUPPORTED
 * (a source), those of reading. */
FG_API FG_MUST_USE fg_status fg_dataset_label_counts(const fg_dataset *dataset, int64_t *out_counts,
                                                     fg_error *err);

/* Whether fg_dataset_labels has the labels without reading the samples. Thread-safe. */
FG_API bool fg_dataset_has_labels(const fg_dataset *dataset);

/* ---- readers --------------------------------------------------------------------------------- */

/* The usual splits of a published dataset. If it has only two, FG_VAL and FG_TEST are the same. */
typedef enum fg_data_split { FG_TRAIN = 0, FG_VAL = 1, FG_TEST = 2 } fg_data_split;

/* Loads MNIST and datasets in the same format (Fashion-MNIST, KMNIST):
 * folder/train-images-idx3-ubyte and train-labels-idx1-ubyte for FG_TRAIN, t10k-... for FG_VAL and
 * FG_TEST. The names may also be spelled train-images.idx3-ubyte, and may end in .gz.
 *
 *   image  u8[28,28,1]   pixels as stored, 0 to 255 (a batch is u8[B,28,28,1])
 *   label  s32[]         0 to 9; class_count is 10
 *
 * Errors: FG_ENOTFOUND (lists the names tried), FG_EFORMAT with the byte offset, FG_EIO,
 * FG_ENOMEM.   Source: LeCun, Cortes, Burges, "The MNIST database", IDX format. */
FG_API FG_MUST_USE fg_status fg_mnist_load(const char *folder, fg_data_split split,
                                           fg_dataset **out, fg_error *err);

/* Like fg_mnist_load, for any size and element type.
 *
 *   image  T[H,W,1] from T[N,H,W], T[...] from T[N,...] of another rank (2 to 8); T as stored:
 *          u8, s8, s16, s32, f32, and f64, which is converted to f32
 *   label  s32[]    integers as stored; class_count is the largest label + 1, or 0 if there are
 *                   negative labels
 *
 * Uncompressed files of single bytes are memory-mapped: they must not be truncated during the
 * dataset's lifetime. Errors as for fg_mnist_load. */
FG_API FG_MUST_USE fg_status fg_idx_load(const char *folder, fg_data_split split, fg_dataset **out,
                                         fg_error *err);

/* Like fg_idx_load, for two given files. labels may be NULL; the only field is then "image".
 * Errors: those of fg_idx_load. */
FG_API FG_MUST_USE fg_status fg_idx_load_files(const char *images, const char *labels,
                                               fg_dataset **out, fg_error *err);

/* Loads CIFAR-10, binary version: folder (or folder/cifar-10-batches-bin) contains data_batch_1.bin
 * to data_batch_5.bin for FG_TRAIN and test_batch.bin for FG_VAL and FG_TEST. Class names are read
 * from batches.meta.txt if it exists.
 *
 *   image  u8[32,32,3]   channels last (in the files, channels are first)
 *   label  s32[]         0 to 9; class_count is 10
 *
 * Errors: FG_ENOTFOUND, FG_EFORMAT (the file size is not a multiple of 3,073, or a label is greater
 * than 9; with the byte offset), FG_EIO, FG_ENOMEM. Source: Krizhevsky 2009, "Learning multiple
 * layers of features from tiny images". */
FG_API FG_MUST_USE fg_status fg_cifar10_load(const char *folder, fg_data_split split,
                                             fg_dataset **out, fg_error *err);

/* Like fg_cifar10_load, for CIFAR-100: folder (or folder/cifar-100-binary) contains train.bin for
 * FG_TRAIN and test.bin for FG_VAL and FG_TEST, with records of 3,074 bytes. The label is the fine
 * one of 100 classes, whose names are in fine_label_names.txt, or with is_coarse the coarse one of
 * 20 (coarse_label_names.txt). */
FG_API FG_MUST_USE fg_status fg_cifar100_load(const char *folder, fg_data_split split,
                                              bool is_coarse, fg_dataset **out, fg_error *err);

typedef struct fg_npy_options {
    bool keep_dtypes; /* keep element types as stored; class_count is then 0              [false] */
    uint64_t reserved[2];
} fg_npy_options;

/* Loads NumPy arrays: x is T[N,...]; y is T[N], T[N,...] or absent (NULL). Supported are
 * little-endian files in C order, format versions 1 to 3, of bool, u8 to u64, s8 to s64, f16, f32
 * and f64. A path "file.npz:NAME" is the array NAME of an archive that numpy.savez or
 * savez_compressed has written; "file.npz" is its only array. Archives require libzip
 * (FG_EUNSUPPORTED without it).
 *
 *   x  T[...]   f64 is converted to f32, s64 and u64 to s32; others are kept
 *   y  T[...]   f64 is converted to f32, all integers to s32; class_count is the largest y + 1 if
 *               y is an integer T[N] without negative values
 *
 * A file that needs no conversion and no decompression is memory-mapped: it must not be truncated
 * during the dataset's lifetime. options may be NULL. Errors: FG_ENOTFOUND, FG_EFORMAT (with the
 * byte offset; also an integer that does not fit s32), FG_EUNSUPPORTED (Fortran order, big-endian,
 * complex, structured), FG_ESHAPE (x and y have different lengths, an array of rank 0, or rows
 * without elements), FG_EIO, FG_ENOMEM. Source: NumPy, "NEP 1, a simple file format for NumPy
 * arrays", numpy.lib.format. */
FG_API FG_MUST_USE fg_status fg_npy_load(const char *x_path, const char *y_path,
                                         const fg_npy_options *options, fg_dataset **out,
                                         fg_error *err);

/* Writes a dense row-major array as .npy (format 1.0). The file is replaced atomically. Errors:
 * FG_EDTYPE (bf16, which NumPy does not have), FG_EINVAL, FG_EIO, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_npy_write(const char *path, const fg_type *type, const void *data,
                                          fg_error *err);

/* ---- CSV ------------------------------------------------------------------------------------- */

/* How the columns of a CSV file are encoded: column types, means and standard deviations,
 * categories, classes. Fitted to the training rows and applied to all other rows. Immutable;
 * thread-safe. */
typedef struct fg_csv_schema fg_csv_schema;

/* What the first row of a CSV file is. */
typedef enum fg_csv_header {
    FG_CSV_HEADER_CHECKED = 0, /* a header; numbers in it are an error, unless they count up */
    FG_CSV_HEADER_YES = 1,     /* a header, even if it has numbers                           */
    FG_CSV_HEADER_NO = 2       /* data; columns are named "0", "1", ...                      */
} fg_csv_header;

typedef struct fg_csv_options {
    fg_csv_header header; /*                                              [FG_CSV_HEADER_CHECKED] */
    char delimiter;     /* one byte, not a quote or a line end                             [','] */
    char decimal;       /* '.', or ',': 1,5 and 1.234,5 are numbers                        ['.'] */
    const char *target; /* name of the column to predict; "": no target        [the last column] */
    const char *task; /* "classification", "multilabel", "regression" or "auto"         ["auto"] */
    fg_strings label_columns;    /* instead of target: columns of 0 and 1, one for each label, in
                                    their order                                           [none] */
    const char *label_separator; /* of lists of labels in the target: any of these
                                    characters                                            [";|"] */

    fg_strings categorical; /* numeric columns to treat as categorical                    [none] */
    fg_strings numeric;     /* columns of numbers, in which $1,234.50, 5 %, and dates such as
                               2024-01-31 are numbers too; any other value is an error   [none] */
    fg_strings na_values;   /* additional values that mean "missing"                      [none] */
    bool no_default_na;     /* only empty cells and na_values mean "missing"             [false] */
    fg_strings ignore;      /* columns to leave out                                       [none] */

    bool no_normalize;       /* do not normalize numeric columns                          [false] */
    bool standardize_target; /* standardize the target of a regression: (value - mean) / standard
                                deviation over the training rows; fg_csv_schema_target_scale
                                returns both                                              [false] */
    const char *missing;     /* missing values: "error", or "mean": impute the training mean, or
                                all zeros for a categorical column                      ["error"] */
    const char *unknown; /* category that does not occur in training: "error" or "zero" ["error"] */
    int64_t max_categories; /* a column with more categories is an error                  [1000] */

    int64_t image[3];   /* height, width, channels: the columns are the pixels of an image [none] */
    double image_scale; /* convert pixels to f32 and multiply them by this; 0: keep u8        [0] */

    const char *val_path; /* file with the validation rows                                 [NULL] */
    double val_fraction;  /* or: fraction of the rows to hold out, as fg_dataset_split does   [0] */
    uint64_t split_seed;  /* seed of that split                                               [0] */
    bool stratify; /* split each class, as fg_dataset_split does                          [false] */
    uint64_t reserved[3];
} fg_csv_options;

/* Result of fg_csv_load; the caller destroys each part. */
typedef struct fg_csv_parts {
    fg_dataset *train;
    fg_dataset *val; /* NULL if neither val_path nor val_fraction is given */
    fg_csv_schema *schema;
    uint64_t reserved[2]; /* set to 0 */
} fg_csv_parts;

/* Loads a CSV file, fits a schema to its training rows and applies it. The format is RFC 4180
 * (quotes, doubled quotes, line ends within quotes, CRLF or LF, or only CR) in UTF-8, or in UTF-16
 * with a byte order mark; gzip is detected from the first bytes. A header with numbers is an error
 * unless they count up, as in 0, 1, 2 or 1990, 1991: it is probably data. A title above the header
 * is an error too.
 *
 *   x  f32[F]    all columns except the target and the ignored ones, in file order. The ignored
 *                columns are those in options->ignore and, unless listed as categorical or numeric:
 *                strings of which more than half are different (10 values or more), dates, and
 *                different integers (10 or more) in a column whose name is, begins with or ends
 *                with the word id, index, idx, uuid or guid, or ends with nr, no, number or key. A
 *                warning names them. A numeric column is normalized: (value - mean) / standard
 *                deviation, with the mean and the population standard deviation over the training
 *                rows (1 if that is 0). A categorical column is one-hot encoded, with its values in
 *                bytewise order.
 *   y  s32[]     classification: the class index. The classes are the target's values in all rows
 *                of the file, in numeric order if they are numbers, else in bytewise order.
 *   y  u8[C]     several labels per row: 1 for each label that the row has. The labels are those
 *                in the target's lists, such as "cat;dog", in all rows of the file, ordered like
 *                classes, or label_columns. A cell that is empty has no label.
 *   y  f32[]     regression: the value as it is, or standardized
 * With options->image set, instead:
 *   image  u8[H,W,C] or f32[H,W,C]   the columns in row-major order, channels last
 *   label  s32[] or f32[]            as y
 *
 * A column is numeric if every value in the training rows is a decimal number, else categorical. If
 * a categorical column contains mostly numbers, a warning shows its first non-numeric value. "inf"
 * and "infinity" are numbers but not finite: they are an error in a numeric column, and an ordinary
 * value in a categorical one. task "auto" means classification if the target is not numeric, or if
 * its values are integers, with at most 20 distinct values that occur in two rows or more on
 * average; several labels per row if label_columns is given, or if the target has strings with a
 * separator whose parts have fewer distinct values than the strings; otherwise regression. Cells
 * that are empty or NA, N/A, n/a, #N/A, #NA, <NA>, NaN, nan,
 * NAN, -nan, -NaN, null, NULL, None or ? are missing values; in quotes, all except empty ones are
 * ordinary values of a column that has other strings. A missing target is always an error. Spaces
 * around a value are ignored.
 *
 * out: all members are NULL on failure. options may be NULL.
 * Errors: FG_EFORMAT (`FILE:LINE: row R, column 'C': ...`; data rows are numbered starting at 1),
 * FG_ENOTFOUND (no such file or column; the message suggests the closest name), FG_EINVAL
 * (options), FG_EIO, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_csv_load(const char *path, const fg_csv_options *options,
                                         fg_csv_parts *out, fg_error *err);

/* Fits a schema as fg_csv_load does, without converting the rows and without warnings;
 * options->val_path is not read. The caller destroys it. Errors as for fg_csv_load. */
FG_API FG_MUST_USE fg_status fg_csv_schema_fit(const char *path, const fg_csv_options *options,
                                               fg_csv_schema **out, fg_error *err);

/* How a CSV file is probably laid out, from its first 20 rows. */
typedef struct fg_csv_layout {
    char delimiter;            /* of ',', ';', a tab and '|', the one with the most columns; not ','
                                  if another one separates numbers with decimal commas */
    bool delimiter_is_certain; /* no other divides the rows into equally many columns */
    fg_csv_header header; /* _NO if the first row has numbers that do not count up, else _YES */
    int64_t column_count; /* 0: no delimiter divides the rows into equally many columns */
    uint64_t reserved[2]; /* set to 0 */
} fg_csv_layout;

/* Detects the layout of a CSV file. Errors: FG_ENOTFOUND, FG_EFORMAT (also if the table begins
 * below a title; the message names the line), FG_EIO, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_csv_detect(const char *path, fg_csv_layout *out, fg_error *err);

/* Options for a file that differs from the training file. */
typedef struct fg_csv_apply_options {
    bool no_target;    /* do not read the target column, even if the file has one         [false] */
    char delimiter;    /*                                                        [the schema's] */
    bool keep_damaged; /* a row with a value that cannot be converted, the wrong number of cells or
                          invalid UTF-8 is not an error: its fields are 0, and
                          fg_dataset_sample_error returns the reason                     [false] */
    const char *missing; /* "error" or "mean"                                      [the schema's] */
    const char *unknown; /* "error" or "zero"                                      [the schema's] */
    uint64_t reserved[2];
} fg_csv_apply_options;

/* Loads another file with a fitted schema. Columns are found by name (without a header, by index);
 * other columns are ignored. If the file has no target column, the dataset has only the input
 * field. The encoding of a row depends only on the schema, not on the other rows of the file.
 * options may be NULL. Errors as for fg_csv_load. */
FG_API FG_MUST_USE fg_status fg_csv_apply(const fg_csv_schema *schema, const char *path,
                                          const fg_csv_apply_options *options, fg_dataset **out,
                                          fg_error *err);

/* The schema as a JSON object, borrowed for the schema's lifetime. */
FG_API const char *fg_csv_schema_json(const fg_csv_schema *schema);

/* Creates a schema from its JSON text. Errors: FG_EFORMAT, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_csv_schema_parse(const char *json, size_t size, fg_csv_schema **out,
                                                 fg_error *err);

/* Type and statistics of a column: over the training rows, and over all rows for the target. */
typedef struct fg_csv_column {
    const char *name;
    const char *kind;                /* "numeric", "categorical", "target", "label", "ignored" */
    int64_t numbers, texts, missing; /* cells that are numeric, not numeric, or missing */
    double min, max;                 /* of the numeric cells; NaN if there are none */
    double mean, deviation;          /* of a numeric column or a regression's target */
    bool is_integer;                 /* every number is an integer */
    int64_t category_count;          /* number of categories; of the target: classes, labels */
    const char *const *categories;   /* by index; also of a column with ignored_because */
    int64_t text_row;                /* row of the first non-numeric cell, from 1; 0: none */
    const char *text;                /* its content, at most 64 bytes; NULL: none */
    const char *ignored_because;     /* of a column that is ignored but not listed; NULL: none */
    int64_t marked; /* of the texts: numbers if the column is listed in fg_csv_options.numeric, such
                       as "$1,234.50"; dates are not counted */
    bool has_lists; /* of the target: its cells are lists of labels */
    uint64_t reserved[1]; /* set to 0 */
} fg_csv_column;

/* The columns of the training file, in file order. Strings are borrowed for the schema's lifetime.
 * For a schema that was parsed from JSON, only name, kind, mean, deviation and categories are
 * known. Errors: FG_EINVAL (index out of range). */
FG_API size_t fg_csv_schema_column_count(const fg_csv_schema *schema);
FG_API FG_MUST_USE fg_status fg_csv_schema_column(const fg_csv_schema *schema, size_t index,
                                                  fg_csv_column *out, fg_error *err);

/* A human-readable table of the columns, one per line: name, type, missing values, range or
 * categories. Borrowed; "" for a schema that was parsed from JSON. */
FG_API const char *fg_csv_schema_report(const fg_csv_schema *schema);

/* Mean and standard deviation of a standardized target y, whose original value is y * deviation +
 * mean. If the target is not standardized, sets them to 0 and 1 and returns false. */
FG_API bool fg_csv_schema_target_scale(const fg_csv_schema *schema, double *out_mean,
                                       double *out_deviation);

/* Number of elements of the input field: F, or H*W*C for images. */
FG_API int64_t fg_csv_schema_feature_count(const fg_csv_schema *schema);

/* Frees the schema. NULL is allowed. */
FG_API void fg_csv_schema_destroy(fg_csv_schema *schema);

/* ---- loader ---------------------------------------------------------------------------------- */

/* Prepares batches of a dataset in worker threads. Owner thread only, except for fg_loader_recycle.
 */
typedef struct fg_loader fg_loader;

typedef struct fg_loader_options {
    int64_t batch_size; /* samples of the global batch, a multiple of world                  [32] */
    bool shuffle;       /* use a new random permutation in each epoch                     [false] */
    int64_t shuffle_buffer; /* a source is shuffled in buffers of this many samples, which are held
                               in memory; 1: no shuffling. Other datasets ignore it           [1] */
    uint64_t seed;    /* keys the permutations, together with the epoch                     [0] */
    bool drop_last;   /* drop the incomplete batch at the end of an epoch               [false] */
    bool run_ahead;   /* prefetch batches of the next epoch before this one has ended   [false] */
    int64_t workers;  /* worker threads; FG_NONE: synchronous, fg_loader_next reads the batch
                         itself                      [number of CPUs, at most one per slot]     */
    int prefetch;     /* slots: batches that are being read, ready or in use                [4] */
    int rank, world;  /* this process delivers rows rank*b to (rank+1)*b of every global batch,
                         with b = batch_size / world                                     [0, 1] */
    int64_t epoch;    /* first epoch                                                        [0] */
    int64_t position; /* samples of that epoch to skip                                      [0] */
    uint64_t reserved[4];
} fg_loader_options;

/* One batch in host memory. Everything it points to is borrowed, and unchanged until the batch is
 * passed to fg_loader_recycle. */
typedef struct fg_host_batch {
    int field_count;
    const fg_field *fields;  /* names and sample types, as in the dataset */
    const fg_type *types;    /* types with the batch dimension, u8[B,28,28,1]; always the same */
    const void *const *data; /* one block per field, aligned to 64 bytes */
    const int64_t *indices;  /* [B], index in the dataset of each row */
    int64_t size;            /* B: number of rows */
    int64_t valid;           /* rows 0 to valid-1 are valid; the others are padding rows, which must
                                be masked out: they repeat a sample (or are zeros, if a source had
                                no sample for this rank) */
    bool is_last;            /* this is the last batch of the epoch */
    int64_t epoch;
    int64_t index;         /* index of the global batch in its epoch: position / batch_size */
    int64_t position;      /* samples of the epoch before this global batch */
    int64_t next_position; /* samples up to its end; with `epoch`, all that is needed to resume */
} fg_host_batch;

/* Creates a loader that starts at options->epoch and options->position. It keeps the dataset alive.
 * The order depends only on (seed, epoch, position): it is the same for any number of threads and
 * any world, and after resuming at any position. Every sample of an epoch is delivered exactly
 * once. A source is read by one thread at a time. With several ranks, each rank reads its own copy
 * of the source, which must yield the same samples, and keeps only its rows; without shuffling, it
 * skips the rows of the other ranks. With drop_last, the shuffle buffer has at least batch_size
 * samples. options may be NULL. Errors: FG_EINVAL, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_loader_create(fg_dataset *dataset, const fg_loader_options *options,
                                              fg_loader **out, fg_error *err);

/* Waits for the next batch. At the end of an epoch, *out is NULL; the following call returns the
 * first batch of the next epoch if options->run_ahead is set, and NULL again otherwise. A batch
 * occupies one slot until it is recycled. If the caller holds all slots, the call waits until
 * another thread recycles one; a synchronous loader fails instead. Errors: FG_EINVAL (synchronous,
 * and all slots are held), and those of the dataset's reader, in batch order; the next call skips a
 * failed batch. */
FG_API FG_MUST_USE fg_status fg_loader_next(fg_loader *loader, const fg_host_batch **out,
                                            fg_error *err);

/* Gives a batch back: its slot becomes free. Call it once per batch, from any thread and in any
 * order. NULL is allowed. */
FG_API void fg_loader_recycle(fg_loader *loader, const fg_host_batch *batch);

/* Moves the loader: the next batch starts `position` samples into `epoch`. Batches that are already
 * prepared are used if they match (run_ahead), else discarded; batches that the caller holds remain
 * valid. Errors: FG_EINVAL (a negative number). */
FG_API FG_MUST_USE fg_status fg_loader_start_epoch(fg_loader *loader, int64_t epoch,
                                                   int64_t position, fg_error *err);

/* Number of batches per epoch; -1 for a source of unknown length. */
FG_API int64_t fg_loader_batch_count(const fg_loader *loader);

/* Time spent reading samples, by stage, in seconds, summed over threads. */
typedef struct fg_loader_stages {
    double read_s;    /* reading files; all of a custom dataset that is read row by row */
    double decode_s;  /* decompressing, without entropy_s */
    double resize_s;  /* cropping and resizing */
    double copy_s;    /* copying samples that are in memory, and everything else */
    double entropy_s; /* entropy decoding of JPEGs (Huffman, arithmetic). Of other formats, it is
                         part of decode_s. Measured for progressive JPEGs and JPEGs with a
                         segment table, estimated from every 13th MCU for other JPEGs */
    double open_s;    /* opening files of samples (image folders, lists): part of read_s */
    int64_t opens;    /* their number */
    uint64_t reserved[1]; /* set to 0 */
} fg_loader_stages;

/* Name of the stage that takes the most time: "read", "entropy", "decode", "resize" or "copy"; NULL
 * if all are 0. *out_fraction is its part of the sum, 0 to 1. */
FG_API const char *fg_loader_slowest_stage(const fg_loader_stages *stages, double *out_fraction);

/* Statistics since the loader was created. */
typedef struct fg_loader_stats {
    int64_t batches;         /* batches delivered */
    int64_t waits;           /* calls of fg_loader_next that had to wait */
    double wait_s;           /* time spent waiting in fg_loader_next (reading, if synchronous) */
    double work_s;           /* time that worker threads spent reading, summed over threads */
    int64_t ready;           /* batches ready now */
    double ready_mean;       /* mean number of ready batches when fg_loader_next was called */
    int64_t memory_bytes;    /* memory of all slots */
    int workers;             /* worker threads, 0 if synchronous */
    int64_t rows;            /* rows read, including padding and undelivered batches */
    fg_loader_stages stages; /* sum to work_s, or to wait_s if synchronous */
    uint64_t reserved[4];    /* set to 0 */
} fg_loader_stats;
FG_API fg_loader_stats fg_loader_stats_of(fg_loader *loader);

/* Stops and joins the worker threads; may be called at any time. Batches that were not recycled
 * become invalid, so no device may still be reading them. NULL is allowed. */
FG_API void fg_loader_destroy(fg_loader *loader);

/* Throughput of a loader on this host. */
typedef struct fg_input_rate {
    double samples_per_s;
    double bytes_per_s;      /* the same in bytes, as samples are uploaded */
    int64_t sample_bytes;    /* size of one sample, all fields */
    int64_t samples;         /* valid samples delivered in `seconds`, without padding rows */
    double seconds;          /* measured time */
    fg_loader_stages stages; /* since the loader was started */
    uint64_t reserved[4];    /* set to 0 */
} fg_input_rate;

/* Runs a loader with these options for about `seconds` (> 0) without a device, releasing each batch
 * immediately, and fills *out. The rate is an upper bound for the training throughput with this
 * dataset on this host; files may be read from the page cache. The first batches, which touch new
 * memory, are excluded if there is enough time. Epochs run back to back regardless of
 * options->run_ahead. At least one batch is measured, however long it takes. options may be NULL.
 * Owner thread only. Errors: FG_EINVAL (seconds, or a dataset without a batch), those of
 * fg_loader_create and of the dataset's reader. */
FG_API FG_MUST_USE fg_status fg_input_rate_measure(fg_dataset *dataset,
                                                   const fg_loader_options *options, double seconds,
                                                   fg_input_rate *out, fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
