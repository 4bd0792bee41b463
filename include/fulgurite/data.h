/* data.h - datasets, readers of files, and the loader that prepares batches in the background.
 *
 * A dataset is a numbered collection of samples; a sample is a few named arrays of fixed type, its
 * fields. Readers open files as datasets: CSV, IDX (MNIST), CIFAR-10, .npy. In every reader field 0
 * is the input and field 1, where there is one, the target. A loader reads a dataset in a counted
 * random order and hands out batches in host memory that a device can read in place.
 *
 * Nothing here knows of devices: numbers stay as the files have them (u8 pixels stay u8), scaling
 * and augmentation belong into the device program.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_DATA_H
#define FULGURITE_DATA_H

#include <fulgurite/base.h>
#include <fulgurite/dtype.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- datasets -------------------------------------------------------------------------------- */

/* Fields of a sample, at most. */
#define FG_MAX_FIELDS 8

/* A numbered collection of samples, unchanging after its creation. Thread-safe. Subsets and loaders
 * made from a dataset keep what they need of it alive, so it may be destroyed before them. */
typedef struct fg_dataset fg_dataset;

/* One array of every sample, for example {"image", u8[28,28,1]}. The type is that of one sample,
 * without a batch dimension: rank at most FG_MAX_RANK - 1, every dimension at least 1. */
typedef struct fg_field {
    const char *name;
    fg_type type;
} fg_field;

/* What a dataset looks like from outside. */
typedef struct fg_dataset_spec {
    int64_t count;          /* samples; 0 is allowed                                      */
    const fg_field *fields; /* field_count of them, names distinct and not empty          */
    int field_count;        /* 1 to FG_MAX_FIELDS                                         */
    int64_t class_count;    /* classes that the target counts; 0: not a classification [0] */
    const char *const
        *class_names; /* class_count names, or NULL where there are none      [NULL] */
    uint64_t reserved[2];
} fg_dataset_spec;

/* How a dataset of the user's own reads its samples. On failure a function returns a status other
 * than FG_OK and may write a text into err->message (err is never NULL there). The loader calls
 * these from several threads at once. */
typedef struct fg_dataset_ops {
    /* Writes field f of sample `index` (0 <= index < count), dense and row-major, to
     * out_fields[f]. Needed unless gather is there. */
    fg_status (*read)(void *self, int64_t index, void *const *out_fields, fg_error *err);
    /* Writes n samples, sample indices[i] as row i of each out_fields[f]. Optional: for storage
     * that gives many samples faster than one by one. */
    fg_status (*gather)(void *self, const int64_t *indices, size_t n, void *const *out_fields,
                        fg_error *err);
    /* Frees self when the last user of the dataset is gone. Optional. */
    void (*destroy)(void *self);
    void (*reserved[4])(void); /* must be NULL */
} fg_dataset_ops;

/* Makes a dataset of the user's own. `ops` and `spec` are copied, names included. take_self is
 * passed to the functions of ops and is consumed, also on failure (ops->destroy is called).
 * Errors: FG_EINVAL (what is wrong with spec or ops is said), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_dataset_create(const fg_dataset_ops *ops, void *take_self,
                                               const fg_dataset_spec *spec, fg_dataset **out,
                                               fg_error *err);

/* ---- sources: samples that come one after another -------------------------------------------- */

/* The count of a source that does not tell how many samples an epoch has. */
#define FG_UNKNOWN_COUNT (-1)

/* How a source without random access gives its samples: a file that is parsed, a generator, a
 * network. Failures are told as in fg_dataset_ops. */
typedef struct fg_source_ops {
    /* Begins an epoch, from 0; *out_reader is given to the functions below. Several readers may be
     * open, those of two loaders for instance; of each reader one function runs at a time, on any
     * thread. */
    fg_status (*open)(void *self, int64_t epoch, void **out_reader, fg_error *err);
    /* Writes the next sample as fg_dataset_ops.read does, or sets *out_end where there is none.
     * out_fields NULL: the sample is passed over, and need not be decoded. Every open of an epoch
     * must give the same samples, or no run can be resumed exactly. */
    fg_status (*next)(void *reader, void *const *out_fields, bool *out_end, fg_error *err);
    /* Passes over the first `count` samples, before any next: to resume in the middle of an epoch.
     * Optional: next is called `count` times instead. */
    fg_status (*skip)(void *reader, int64_t count, fg_error *err);
    /* Frees a reader, after its epoch's end or in its middle. Optional. */
    void (*close)(void *reader);
    /* Frees self when the last user of the dataset is gone. Optional. */
    void (*destroy)(void *self);
    void (*reserved[4])(void); /* must be NULL */
} fg_source_ops;

/* Makes a dataset of a source. Loaders and the Trainer take it like any other; an epoch ends with
 * the source. spec->count may be FG_UNKNOWN_COUNT; where it is given, a source that ends sooner or
 * goes on longer is an error. Its samples cannot be read by number, nor split, nor subset
 * (FG_EUNSUPPORTED). take_self as in fg_dataset_create. Errors: FG_EINVAL, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_dataset_from_source(const fg_source_ops *ops, void *take_self,
                                                    const fg_dataset_spec *spec, fg_dataset **out,
                                                    fg_error *err);

/* Whether the dataset was made by fg_dataset_from_source. */
FG_API bool fg_dataset_is_source(const fg_dataset *dataset);

/* ---- any dataset ----------------------------------------------------------------------------- */

typedef enum fg_storage {
    FG_BORROW = 0, /* the memory stays the caller's and must outlive the dataset and its users */
    FG_COPY = 1    /* the dataset keeps a copy                                                 */
} fg_storage;

/* Makes a dataset from arrays in memory: arrays[f] is T[count, dims of field f...], dense and
 * row-major. Errors: FG_EINVAL, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_dataset_from_arrays(const fg_dataset_spec *spec,
                                                    const void *const *arrays, fg_storage storage,
                                                    fg_dataset **out, fg_error *err);

/* The samples indices[0..count) of `parent` in that order, repeats allowed, as a dataset of their
 * own; fields and classes are the parent's. The indices are copied.
 * Errors: FG_EINVAL (an index out of range), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_dataset_subset(fg_dataset *parent, const int64_t *indices,
                                               size_t count, fg_dataset **out, fg_error *err);

/* Splits a dataset at random into a training and a validation part. Validation takes
 * round(val_fraction * count) samples, at least one and never all: the samples that a permutation
 * keyed by `seed` puts first. The same (count, val_fraction, seed) gives the same parts on every
 * machine. Within each part the samples keep the parent's order.
 * Errors: FG_EINVAL (val_fraction not inside (0, 1), fewer than 2 samples), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_dataset_split(fg_dataset *parent, double val_fraction,
                                              uint64_t seed, fg_dataset **out_train,
                                              fg_dataset **out_val, fg_error *err);

/* Gives up the caller's hold on the dataset. NULL is allowed. */
FG_API void fg_dataset_destroy(fg_dataset *dataset);

/* Number of samples; FG_UNKNOWN_COUNT for a source that does not tell. */
FG_API int64_t fg_dataset_count(const fg_dataset *dataset);

/* Number of fields of each sample. */
FG_API int fg_dataset_field_count(const fg_dataset *dataset);

/* Field `index`, borrowed for the dataset's life; NULL when there is no such field. */
FG_API const fg_field *fg_dataset_field(const fg_dataset *dataset, int index);

/* Number of the field with this name, -1 when there is none. */
FG_API int fg_dataset_find_field(const fg_dataset *dataset, const char *name);

/* Number of classes that the target counts, 0 where the dataset is no classification. */
FG_API int64_t fg_dataset_class_count(const fg_dataset *dataset);

/* Name of class `index`, borrowed for the dataset's life; NULL where names are not known. */
FG_API const char *fg_dataset_class_name(const fg_dataset *dataset, int64_t index);

/* Reads one sample: out_fields[f] has room for fg_type_bytes of field f's type. Thread-safe.
 * Errors: FG_EINVAL (no such sample), and what the dataset's own reader gives. */
FG_API FG_MUST_USE fg_status fg_dataset_read(const fg_dataset *dataset, int64_t index,
                                             void *const *out_fields, fg_error *err);

/* ---- readers --------------------------------------------------------------------------------- */

/* The usual parts of a published dataset. Where only two exist, FG_VAL and FG_TEST are the same. */
typedef enum fg_data_split { FG_TRAIN = 0, FG_VAL = 1, FG_TEST = 2 } fg_data_split;

/* MNIST and datasets of the same make (Fashion-MNIST, KMNIST): opens
 * folder/train-images-idx3-ubyte and train-labels-idx1-ubyte for FG_TRAIN, t10k-... for FG_VAL and
 * FG_TEST; each may also be called train-images.idx3-ubyte, and end in .gz.
 *
 *   image  u8[28,28,1]   pixels as stored, 0 to 255 (a batch is u8[B,28,28,1])
 *   label  s32[]         0 to 9; class_count is 10
 *
 * Errors: FG_ENOTFOUND (lists the names tried), FG_EFORMAT with the byte offset, FG_EIO,
 * FG_ENOMEM.   Source: LeCun, Cortes, Burges, "The MNIST database", IDX format. */
FG_API FG_MUST_USE fg_status fg_mnist_open(const char *folder, fg_data_split split,
                                           fg_dataset **out, fg_error *err);

/* Like fg_mnist_open for any size and element type.
 *
 *   image  T[H,W,1] from T[N,H,W], T[...] from T[N,...] of another rank (2 to 8); T as stored:
 *          u8, s8, s16, s32, f32, and f64 which becomes f32
 *   label  s32[]    integers as stored; class_count is the largest label + 1, 0 with negative ones
 *
 * Plain files of single bytes are mapped, not read: they must not be shortened while the dataset
 * lives. Errors as fg_mnist_open. */
FG_API FG_MUST_USE fg_status fg_idx_open(const char *folder, fg_data_split split, fg_dataset **out,
                                         fg_error *err);

/* The same from two named files; labels may be NULL, and then there is only the field "image". */
FG_API FG_MUST_USE fg_status fg_idx_open_files(const char *images, const char *labels,
                                               fg_dataset **out, fg_error *err);

/* CIFAR-10, binary version: folder (or folder/cifar-10-batches-bin) holds data_batch_1.bin to
 * data_batch_5.bin for FG_TRAIN, test_batch.bin for FG_VAL and FG_TEST; class names come from
 * batches.meta.txt where it is there.
 *
 *   image  u8[32,32,3]   channels last (the files are planar)
 *   label  s32[]         0 to 9; class_count is 10
 *
 * Errors: FG_ENOTFOUND, FG_EFORMAT (size that is no multiple of 3,073, a label over 9; with the
 * byte offset), FG_EIO, FG_ENOMEM. Source: Krizhevsky 2009, "Learning multiple layers of features
 * from tiny images". */
FG_API FG_MUST_USE fg_status fg_cifar10_open(const char *folder, fg_data_split split,
                                             fg_dataset **out, fg_error *err);

typedef struct fg_npy_options {
    bool keep_dtypes; /* leave every element type as stored, and class_count 0            [false] */
    uint64_t reserved[2];
} fg_npy_options;

/* NumPy arrays: x is T[N,...], y is T[N] or T[N,...] or absent (NULL). Little-endian, C order,
 * format versions 1 to 3; bool, u8 to u64, s8 to s64, f16, f32, f64.
 *
 *   x  T[...]   f64 becomes f32, s64 and u64 become s32, others stay
 *   y  T[...]   f64 becomes f32, every integer becomes s32; class_count is the largest y + 1 where
 *               y is an integer T[N] of no negative numbers
 *
 * A file whose elements stay as they are is mapped, not read: it must not be shortened while the
 * dataset lives. options may be NULL.
 * Errors: FG_ENOTFOUND, FG_EFORMAT (with the byte offset; also a number that does not fit an s32),
 * FG_EUNSUPPORTED (Fortran order, big-endian, complex, structured), FG_ESHAPE (x and y of unequal
 * length, no dimension to count samples by, rows of no numbers), FG_EIO, FG_ENOMEM.
 * Source: NumPy, "NEP 1, a simple file format for NumPy arrays", numpy.lib.format. */
FG_API FG_MUST_USE fg_status fg_npy_open(const char *x_path, const char *y_path,
                                         const fg_npy_options *options, fg_dataset **out,
                                         fg_error *err);

/* Writes a dense row-major array as .npy (format 1.0), replacing the file atomically. bf16 is
 * refused, NumPy has no such type: FG_EDTYPE. Other errors: FG_EINVAL, FG_EIO, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_npy_write(const char *path, const fg_type *type, const void *data,
                                          fg_error *err);

/* ---- CSV ------------------------------------------------------------------------------------- */

/* How the columns of a CSV file become numbers: kinds of columns, means and deviations, categories,
 * classes. Fitted on the training rows, applied to all others. Unchanging; thread-safe. */
typedef struct fg_csv_schema fg_csv_schema;

typedef struct fg_csv_options {
    bool no_header;     /* the first row is data; columns are named "0", "1", ...         [false] */
    char delimiter;     /* one byte that is no quote and no line end                       [','] */
    const char *target; /* name of the column to predict; "" for none         [the last column] */
    const char *task;   /* "classification", "regression" or "auto"                     ["auto"] */

    const char *const *categorical; /* numeric columns to be taken as categories           [NULL] */
    size_t categorical_count;
    const char *const
        *numeric; /* columns that must be numbers: any other value is an error [NULL] */
    size_t numeric_count;
    const char *const
        *na_values; /* texts that count as missing, besides those below        [NULL] */
    size_t na_value_count;
    const char *const
        *ignore; /* columns to leave out                                      [NULL] */
    size_t ignore_count;

    bool no_normalize; /* numeric columns stay as they are                              [false] */
    bool standardize_target; /* a regression's y is (value - mean) / deviation over the training
                                rows; fg_csv_schema_target_scale leads back               [false] */
    const char *missing;     /* "error", or "mean": the training mean, all zeros for a category
                                                                                           ["error"] */
    const char *unknown; /* a category not seen in training: "error" or "zero"         ["error"] */
    int64_t max_categories; /* a column with more is refused                              [1000] */

    int64_t image[3];   /* height, width, channels: the columns are the pixels of an image [none] */
    double image_scale; /* pixels become f32, multiplied by this; 0 leaves them u8            [0] */

    const char *val_path; /* a file of validation rows                                     [NULL] */
    double val_fraction;  /* or: this part of the rows, as fg_dataset_split takes them        [0] */
    uint64_t split_seed;  /*                                                                  [0] */
    uint64_t reserved[4];
} fg_csv_options;

/* What fg_csv_open gives; the caller destroys each. */
typedef struct fg_csv_parts {
    fg_dataset *train;
    fg_dataset *val; /* NULL where neither val_path nor val_fraction is given */
    fg_csv_schema *schema;
    uint64_t reserved[2]; /* set to 0 */
} fg_csv_parts;

/* Opens a CSV file (RFC 4180: quotes, doubled quotes, line ends within quotes, CRLF or LF; UTF-8,
 * a byte order mark is skipped; gzip is recognised by its first bytes), fits a schema on its
 * training rows and applies it.
 *
 *   x  f32[F]    every column but the target and the ignored, in the file's order. A numeric column
 *                gives (value - mean) / deviation, with the mean and the population's standard
 *                deviation over the training rows (1 where that is 0). A categorical one gives one
 *                number for each of its values, in bytewise order: 1 for the row's value, else 0.
 *   y  s32[]     the class, for classification: classes are the target's values, taken from every
 *                row of the file, numbers in numeric order, else text in bytewise order
 *   y  f32[]     the number as it is, or standardised, for regression
 * With options->image set instead:
 *   image  u8[H,W,C] or f32[H,W,C]   the columns in row-major order, channels last
 *   label  s32[] or f32[]            as y
 *
 * A column is numeric when every value in the training rows is a decimal number, else categorical;
 * a warning names the first text of a column that is mostly numbers. "inf" and "infinity" are
 * numbers but not finite: an error in a numeric column, a value like others in a categorical one.
 * task "auto" is a classification when the target is not numeric, or when its values are integers,
 * at most 20 different ones, each on average in two rows or more; a regression otherwise.
 * Cells that are empty or NA, N/A, NaN, nan, NAN, -nan, null, NULL, None or ? are missing; a
 * missing target is always an error. Spaces around a value do not count.
 *
 * out: all NULL on failure. options may be NULL.
 * Errors: FG_EFORMAT (`FILE:LINE: row R, column 'C': ...`; rows of data count from 1),
 * FG_ENOTFOUND (no file, no such column; the nearest name is suggested), FG_EINVAL (options),
 * FG_EIO, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_csv_open(const char *path, const fg_csv_options *options,
                                         fg_csv_parts *out, fg_error *err);

/* Opens another file by the rules of a fitted schema: columns are found by name (by number without
 * a header), other columns are ignored, and a file without the target column gives the input field
 * alone. Errors as fg_csv_open. */
FG_API FG_MUST_USE fg_status fg_csv_apply(const fg_csv_schema *schema, const char *path,
                                          fg_dataset **out, fg_error *err);

/* How another file is read, where it differs from the training file. */
typedef struct fg_csv_apply_options {
    bool no_target; /* leave the target's column unread, whether it is there or not    [false] */
    char delimiter; /*                                                        [the schema's] */
    const char *missing; /* "error" or "mean"                                      [the schema's] */
    const char *unknown; /* "error" or "zero"                                      [the schema's] */
    uint64_t reserved[2];
} fg_csv_apply_options;

/* fg_csv_apply with options, which may be NULL. Every row is converted by the schema alone: other
 * rows of the file do not change its numbers. */
FG_API FG_MUST_USE fg_status fg_csv_apply_with(const fg_csv_schema *schema, const char *path,
                                               const fg_csv_apply_options *options,
                                               fg_dataset **out, fg_error *err);

/* The schema as one JSON object, borrowed for the schema's life. */
FG_API const char *fg_csv_schema_json(const fg_csv_schema *schema);

/* The schema back from its JSON text. Errors: FG_EFORMAT, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_csv_schema_parse(const char *json, size_t size, fg_csv_schema **out,
                                                 fg_error *err);

/* What a column was taken for, and what its cells hold: in training rows, and the target's in all.
 */
typedef struct fg_csv_column {
    const char *name;
    const char *kind;                /* "numeric", "categorical", "target" or "ignored" */
    int64_t numbers, texts, missing; /* cells that are a number, something else, nothing */
    double min, max;                 /* of the numbers; NaN where there are none */
    double mean, deviation;          /* of a numeric column, or of a regression's target */
    int64_t category_count;          /* categories, or classes of the target */
    const char *const *categories;   /* in the order of their numbers */
    int64_t text_row;                /* row of the first text, from 1; 0 where there is none */
    const char *text;                /* that text, at most 64 bytes; NULL */
    uint64_t reserved[4];            /* set to 0 */
} fg_csv_column;

/* The columns of the training file, in its order. Strings are borrowed for the schema's life. Of a
 * schema that was read from JSON only name, kind, mean, deviation and categories are known. Errors:
 * FG_EINVAL (no such index). */
FG_API size_t fg_csv_schema_column_count(const fg_csv_schema *schema);
FG_API FG_MUST_USE fg_status fg_csv_schema_column(const fg_csv_schema *schema, size_t index,
                                                  fg_csv_column *out, fg_error *err);

/* The columns as a table for people, one a line: name, type, missing values, range or categories.
 * Borrowed; "" for a schema that was read from JSON. */
FG_API const char *fg_csv_schema_report(const fg_csv_schema *schema);

/* A standardised target y is the number y * deviation + mean. Gives 0 and 1, and returns false,
 * where the target is not standardised. */
FG_API bool fg_csv_schema_target_scale(const fg_csv_schema *schema, double *out_mean,
                                       double *out_deviation);

/* Numbers in the input field: F, or H*W*C for images. */
FG_API int64_t fg_csv_schema_feature_count(const fg_csv_schema *schema);

/* NULL is allowed. */
FG_API void fg_csv_schema_destroy(fg_csv_schema *schema);

/* ---- loader ---------------------------------------------------------------------------------- */

/* Prepares batches of a dataset with threads of its own. Owner thread only, but for
 * fg_loader_release. */
typedef struct fg_loader fg_loader;

typedef struct fg_loader_options {
    int64_t batch_size; /* samples of the global batch, a multiple of world                  [32] */
    bool shuffle;       /* a new counted permutation each epoch; else the dataset's order [false] */
    int64_t shuffle_buffer; /* a source is shuffled within buffers of so many samples, which are
                               held in memory; 1: not at all. Other datasets ignore it        [1] */
    uint64_t seed;    /* keys the permutations, together with the epoch                     [0] */
    bool drop_last;   /* leave the incomplete batch at an epoch's end out               [false] */
    bool run_ahead;   /* go on into the next epoch while the end of this one is used    [false] */
    bool synchronous; /* no threads: fg_loader_next reads the batch itself              [false] */
    int workers;      /* threads                            [processors, at most one a slot]    */
    int prefetch;     /* slots: batches that are being read, ready or in use                [4] */
    int rank, world;  /* this process delivers rows rank*b to (rank+1)*b of every global batch,
                         b = batch_size / world                                          [0, 1] */
    int64_t epoch;    /* where to begin                                                     [0] */
    int64_t position; /* samples of that epoch that are done already                        [0] */
    uint64_t reserved[4];
} fg_loader_options;

/* One batch in host memory. Everything it points to is borrowed and stays unchanged until the batch
 * is given to fg_loader_release. */
typedef struct fg_host_batch {
    int field_count;
    const fg_field *fields;  /* names and sample types, as in the dataset */
    const fg_type *types;    /* with the batch dimension in front: u8[B,28,28,1]; always the same */
    const void *const *data; /* one block a field, address a multiple of 64 bytes */
    const int64_t *indices;  /* [B], the dataset's number of each row */
    int64_t size;            /* B: rows */
    int64_t valid;           /* rows 0 to valid-1 count; the rest repeat a sample, to be masked (are
                                zeros where a source gave this rank none) */
    bool is_last;            /* no batch of this epoch follows */
    int64_t epoch;
    int64_t index;         /* number of the global batch in its epoch: position / batch_size */
    int64_t position;      /* samples of the epoch before this global batch */
    int64_t next_position; /* after it: with `epoch`, all that a resume needs */
} fg_host_batch;

/* Starts a loader at options->epoch and options->position. It keeps the dataset alive.
 * The order is a function of (seed, epoch, position) alone: any number of threads, any world and
 * any moment of resuming give the same samples. Every sample of an epoch comes exactly once.
 * A source is read by one thread at a time. With several ranks each reads a source of its own that
 * gives the same samples, and keeps its rows; those of others it passes over where nothing is
 * shuffled. With drop_last the buffer is of batch_size samples at least.
 * options may be NULL. Errors: FG_EINVAL, FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_loader_create(fg_dataset *dataset, const fg_loader_options *options,
                                              fg_loader **out, fg_error *err);

/* Waits for the next batch. *out is NULL at the end of an epoch; the call after that gives the
 * first batch of the next epoch where options->run_ahead is set, and NULL again where it is not.
 * A batch holds one slot until it is released: with all slots held by the caller the call waits for
 * a release from another thread, or fails where the loader is synchronous.
 * Errors: FG_EINVAL (synchronous, all slots held), and those of the dataset's reader, in the order
 * of the batches; a failed batch is skipped by the next call. */
FG_API FG_MUST_USE fg_status fg_loader_next(fg_loader *loader, const fg_host_batch **out,
                                            fg_error *err);

/* Gives a batch's slot back. From any thread, in any order, once a batch. NULL is allowed. */
FG_API void fg_loader_release(fg_loader *loader, const fg_host_batch *batch);

/* Goes to a place: the next batch begins `position` samples into `epoch`. Batches that are prepared
 * already are kept where they fit (run_ahead), else dropped; those the caller holds stay valid.
 * Errors: FG_EINVAL (a negative number). */
FG_API FG_MUST_USE fg_status fg_loader_start_epoch(fg_loader *loader, int64_t epoch,
                                                   int64_t position, fg_error *err);

/* Number of batches from the beginning of an epoch to its end; -1 for a source that does not tell
 * its length. */
FG_API int64_t fg_loader_batch_count(const fg_loader *loader);

/* Where the time goes; sums since the loader was created. */
typedef struct fg_loader_stats {
    int64_t batches;      /* delivered */
    int64_t waits;        /* deliveries that had to wait */
    double wait_s;        /* time that fg_loader_next waited, or read for itself when synchronous */
    double work_s;        /* time that the threads spent reading, summed over them */
    int64_t ready;        /* batches that are ready now */
    double ready_mean;    /* batches that were ready when fg_loader_next was called, on average */
    int64_t memory_bytes; /* of all slots */
    uint64_t reserved[4]; /* set to 0 */
} fg_loader_stats;
FG_API fg_loader_stats fg_loader_get_stats(fg_loader *loader);

/* Stops and joins the threads, at any moment. Batches not released become invalid, so a device
 * must be done with them. NULL is allowed. */
FG_API void fg_loader_destroy(fg_loader *loader);

/* What a loader can deliver on this host. */
typedef struct fg_input_rate {
    double samples_per_s;
    double bytes_per_s;   /* the same in bytes of samples, as they are uploaded */
    int64_t sample_bytes; /* of one sample, all fields */
    int64_t samples;      /* delivered in `seconds`; rows that repeat one do not count */
    double seconds;       /* measured */
    uint64_t reserved[4]; /* set to 0 */
} fg_input_rate;

/* Runs a loader of these options without any device, taking each batch and giving it back at once,
 * for about `seconds` (> 0), and fills *out. The rate is an upper limit on what training can use of
 * this dataset here: files are read from wherever they are now, the page cache too. The first
 * batches, which fill new memory, are left out where the time suffices. Epochs follow one another
 * whatever options->run_ahead says. It takes one batch at least, however long that takes.
 * options may be NULL. Owner thread only.
 * Errors: FG_EINVAL (seconds, a dataset without a batch), those of fg_loader_create and of the
 * dataset's reader. */
FG_API FG_MUST_USE fg_status fg_input_rate_measure(fg_dataset *dataset,
                                                   const fg_loader_options *options, double seconds,
                                                   fg_input_rate *out, fg_error *err);

#ifdef __cplusplus
}
#endif
#endif
