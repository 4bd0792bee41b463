/* catalog.h - lists of encoded samples: image folders, manifests, tar and TFRecord files.
 *
 * A catalog lists the samples of a source (name, labels, split, group) and reads the bytes of each
 * one as they are stored, such as a JPEG file. It does not decode them. Opening a catalog reads
 * names and labels only, so it is fast for large sources.
 *
 * The order of the samples is the same on every machine: image folders are sorted by bytes, other
 * sources have the order of their file. Names are bytes: any file name is allowed, even if it is
 * not valid UTF-8; fg_catalog_escape makes one printable.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_CATALOG_H
#define FULGURITE_CATALOG_H

#include <fulgurite/option.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Name and description of a kind of source; NULL if index is out of range (starting at 0). out_help
 * may be NULL. Static storage. Thread-safe. */
FG_API const char *fg_catalog_kind(int index, const char **out_help);

typedef struct fg_catalog_options {
    const char *kind; /* "folder", "csv", "jsonl", "tar" or "tfrecord"; "auto" chooses by the path:
                         its extension or, for a folder, the files in it           ["auto"] */

    /* The classes, in order, such as those of a trained model. A sample of another class is an
     * error.                                              [the classes of the source] */
    const char *const *class_names;
    int64_t class_count;

    /* folder */
    bool no_split_folders; /* no folder is a split, whatever its name          [false] */
    bool no_classes;       /* folders are not classes: no sample has a label   [false] */

    /* csv and jsonl: names of columns or members; those of label to group also apply to the .json
     * files of tar */
    const char *path_column;     /* ["path", or "file_name" if there is no "path"] */
    const char *name_column;     /* ["name"] */
    const char *label_column;    /* ["label"] */
    const char *labels_column;   /* ["labels"] */
    fg_strings label_columns;    /* csv: columns of 0 and 1 instead, one for each class, in their
                                  order; a sample may have several, or none           [none] */
    const char *label_separator; /* csv: of labels, any of these characters            [";|"] */
    const char *split_column;    /* ["split"] */
    const char *group_column;    /* ["group"] */
    char delimiter;              /* csv: between cells           [',', or a tab for .tsv files] */
    const char *root;            /* folder of the files     [the folder of the list] */
    const char *suffix;          /* appended to paths that lack it, such as ".jpg"  [""] */
    bool skip_missing; /* list samples whose file does not exist as skipped; by default, the
                                  first one is an error [false] */
    bool keep_missing; /* list samples whose file does not exist like others: reading one is
                                  an error                                                [false] */

    /* tar */
    const char
        *label_member; /* extension of the member that has the label, such as "cls", "json" or
                                 "label.txt"    ["cls" of samples that have it, else "json"] */

    /* tfrecord: names of features */
    const char *image_feature; /* bytes                   ["image/encoded"] */
    const char *label_feature; /* integers                ["image/class/label"] */
    const char *text_feature;  /* bytes: class name       ["image/class/text"] */
    const char *name_feature;  /* bytes                   ["image/filename"] */

    uint64_t reserved[3];
} fg_catalog_options;

/* A list of samples. Thread-safe: it does not change after fg_catalog_open. */
typedef struct fg_catalog fg_catalog;

/* Opens a source. options may be NULL. The files must not change during the catalog's lifetime;
 * if they do, reading may fail, but does not crash.
 *
 * Kind "folder", an image folder. Each folder in it is a class, and every image below that folder,
 * at any depth, belongs to the class. Without folders, the images have no label. If all folders are
 * named train (training), val (valid, validation) or test (testing), ignoring case, they are
 * splits, and each contains classes or images. Images are files whose extension is jpg, jpeg, jfif,
 * png, ppm, bmp, pgm, tif, tiff, webp or gif, ignoring case. Samples and classes are sorted folder
 * by folder, so classes have the numbers that torchvision's ImageFolder gives them. Hidden files
 * and folders (names that start with a dot) are ignored. Symbolic links are followed, except to a
 * folder that contains the link. Other files, broken links, folders without images, which are not
 * classes, and folders of operating systems and file servers (__MACOSX, @eaDir, lost+found) are
 * listed as skipped. If only one folder has images, and these are in folders in it, it is used in
 * place of the source. A folder that cannot be read is an error, and so are layouts that are
 * probably a mistake: folders named as splits next to others, or in the folders of classes, names
 * such as seg_train and seg_test, and a folder whose images all have a format that is not
 * supported. A folder named as one of class_names is a class. The path may also be that of one
 * image: a source with one sample, which has no label.
 *
 * Kind "csv", a CSV file with a header. Columns: path, label or labels (separated by
 * label_separator), split, group and name. All but path are optional, and other columns are
 * ignored. Paths are relative to root. The name is the path if there is no column name. A split is
 * train, val, test, or another spelling above. An empty cell is absent; spaces around a cell are
 * removed.
 *
 * Kind "jsonl", the same with a JSON object per line: {"path": "a.jpg", "label": "cat"}. A label is
 * a string or an integer, labels is a list. A line {"classes": ["cat", "dog"]} before the samples
 * gives the classes in their order, like class_names, which has priority. CSV and JSONL files may
 * be compressed with gzip.
 *
 * Kind "tar", one or several tar files in the layout of WebDataset: files whose paths are equal up
 * to the first dot of the file name form a sample; they need not be adjacent. The bytes are those
 * of the file with the extension of an image. The label is in the member .cls (an integer or a
 * class name), or else in the member .json, as in JSONL; a .json next to a .cls only gives split
 * and group. `label_member` names another one. Other files are ignored. If no sample has such a
 * member, the folders of the images are the classes, as in an image folder: "photos/cat/1.jpg" is
 * of class cat if all images are in photos; folders named as splits are splits. Supported are
 * ustar, GNU and pax archives, without sparse files, and archives that were concatenated.
 *
 * Kind "tfrecord", one or several TFRecord files of tf.Example. Features: image/encoded,
 * image/class/label (integers, used as stored; -1 is no label), image/class/text (class names) and
 * image/filename. Only the first one is required. The name is image/filename if all samples have
 * one and all differ, else SHARD:NUMBER. The checksum of a record is verified when it is read, so a
 * damaged label is noticed then.
 *
 * Several shards of tar or TFRecord are given by the folder that contains them, or by a pattern:
 * "train-{000..099}.tar" (every shard must exist), "train-*.tar", "train-?????-of-00010". If a
 * shard of a set such as train-00000-of-00010 is missing from a folder or a pattern, this is an
 * error. Samples have the split that is a word of the shard's name (as in "train-000.tar"), unless
 * their .json has another. With several shards, the names of samples of a tar file start with the
 * shard's. Shards compressed with gzip are decompressed to a temporary file without a name in the
 * folder TMPDIR (or /tmp), which is logged.
 *
 * Labels of CSV, JSONL, .cls and .json: if all are integers, they are class indices. Otherwise all
 * are class names, and the classes are these names, sorted by bytes. Skipped samples are included,
 * so a missing file does not change the classes of the others. In JSON, "3" is a name and 3 an
 * index; mixing indices and names is an error. A label that a sample has twice is an error.
 *
 * Errors: FG_ENOTFOUND (path, shard or a file of a manifest does not exist; no samples), FG_EIO,
 * FG_EFORMAT (malformed or truncated, with the file and the line or byte offset; inconsistent
 * labels; two samples with the same name), FG_EUNSUPPORTED (an archive compressed
 * with a program other than gzip, sparse file),
 * FG_EINVAL (options), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_catalog_open(const char *path, const fg_catalog_options *options,
                                             fg_catalog **out, fg_error *err);

/* Releases the caller's reference to the catalog; datasets created from it keep it alive. NULL is
 * allowed. */
FG_API void fg_catalog_close(fg_catalog *catalog);

/* Name of the kind of the source, "folder" for example. */
FG_API const char *fg_catalog_kind_of(const fg_catalog *catalog);

/* Number of samples, at least 1. */
FG_API int64_t fg_catalog_count(const fg_catalog *catalog);

/* Number of classes: of the class names, or the largest label + 1; 0 if no sample has a label. */
FG_API int64_t fg_catalog_class_count(const fg_catalog *catalog);

/* Name of class `index`, borrowed for the catalog's lifetime; NULL if it has no name. */
FG_API const char *fg_catalog_class_name(const fg_catalog *catalog, int64_t index);

/* `split` of a sample that belongs to no split. The other values are those of fg_data_split. */
#define FG_CATALOG_NO_SPLIT 255

/* A sample without its bytes. Pointers are borrowed for the catalog's lifetime. */
typedef struct fg_catalog_item {
    const char *name;      /* unique; the path relative to the source, if the sample is a file */
    int32_t label;         /* class index: the first of `labels`; -1 if there is none */
    const int32_t *labels; /* s32[label_count], class indices, for multi-label data */
    uint32_t label_count;
    uint8_t split;          /* fg_data_split (FG_TRAIN is 0), or FG_CATALOG_NO_SPLIT */
    const char *group_name; /* samples that belong together, such as a patient's; NULL: none */
    int64_t group;          /* number of the group, starting at 1; 0: none */
    uint64_t reserved[2];   /* 0 */
} fg_catalog_item;

/* Fills *out with sample `index`. Errors: FG_EINVAL (index out of range). */
FG_API FG_MUST_USE fg_status fg_catalog_item_at(const fg_catalog *catalog, int64_t index,
                                                fg_catalog_item *out, fg_error *err);

/* ---- bytes of samples ------------------------------------------------------------------------ */

/* Memory that fg_catalog_read reuses from call to call. Zero-initialize it. One thread at a time.
 */
typedef struct fg_catalog_bytes {
    unsigned char *data;
    size_t size;     /* of the sample */
    size_t capacity; /* bytes allocated; only the library changes it */
    uint64_t reserved[1];
} fg_catalog_bytes;

/* Frees the memory and clears the struct. NULL is allowed. */
FG_API void fg_catalog_bytes_fini(fg_catalog_bytes *bytes);

/* Reads the bytes of sample `index`, as they are stored. On failure, `bytes` is empty (size 0) and
 * can be used again. Errors: FG_EINVAL (index out of range), FG_ENOTFOUND and FG_EIO (the file has
 * disappeared or cannot be read), FG_EFORMAT (TFRecord: a checksum does not match, with the byte
 * offset; the file has become shorter; more than 2 GiB), FG_ENOMEM. Messages have the escaped name.
 * Thread-safe, with a separate `bytes` for each thread. */
FG_API FG_MUST_USE fg_status fg_catalog_read(const fg_catalog *catalog, int64_t index,
                                             fg_catalog_bytes *bytes, fg_error *err);

/* ---- skipped files --------------------------------------------------------------------------- */

/* Number of files that are not samples although they are in the source, and of other warnings. */
FG_API int64_t fg_catalog_skip_count(const fg_catalog *catalog);

/* Path of skipped file `index` relative to the source, and the reason (may be NULL), a fragment
 * such as "not an image". NULL if index is out of range. Borrowed for the catalog's lifetime. */
FG_API const char *fg_catalog_skip(const fg_catalog *catalog, int64_t index,
                                   const char **out_reason);

/* Receives a line about a source, without a newline. */
typedef void fg_catalog_say_fn(void *self, fg_log_level level, const char *line);

/* Describes in a few lines what a user should know about a source. FG_LOG_WARNING: what is probably
 * a mistake, such as images in a format that is not supported, or a single folder around the
 * folders of the classes. FG_LOG_INFO: the rest, such as files that are not images, by extension,
 * and columns that are ignored. Each line contains the path of the source. Errors: FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_catalog_describe(const fg_catalog *catalog, fg_catalog_say_fn *say,
                                                 void *self, fg_error *err);

/* Writes a printable form of a name to out[size], for messages: a line end becomes \n, a backslash
 * \\, other control characters and bytes that are not UTF-8 become \xHH. Ends in "..." if it does
 * not fit. size must be at least 4. Returns the length. Thread-safe. */
FG_API size_t fg_catalog_escape(const char *name, char *out, size_t size);

/* ---- splits ---------------------------------------------------------------------------------- */

typedef struct fg_catalog_split_options {
    double val_fraction;  /* of the samples that are divided, in [0, 1)  [0] */
    double test_fraction; /* of the same; the sum must be below 1        [0] */
    uint64_t seed;        /* [0] */
    bool stratify;        /* the same fractions of every class           [false] */
    uint64_t reserved[2];
} fg_catalog_split_options;

/* Divides the samples at random. out_splits is u8[count]: FG_TRAIN, FG_VAL or FG_TEST for each.
 *
 * Samples of the splits val and test keep them; the others (train, and those without a split) are
 * divided. No group is in two splits: samples of one group form a unit, and so does each sample
 * without a group. Units are sorted by the 128-bit XXH3 hash of the seed (8 bytes, little-endian)
 * followed by the name of the group or of the sample, as unsigned integers. In this order, a unit
 * is assigned to test if this brings the number of samples in test closer to its target; otherwise
 * to val by the same rule, otherwise to train. Targets are floor(fraction * n + 1/2) for n divided
 * samples. With `stratify`, this is done for one class after another, in order; a unit has the
 * class that is the label of most of its samples (the smallest if there are several; -1 is a
 * class). The target of a class is floor(f * b + 1/2) - floor(f * a + 1/2), where a samples are in
 * the classes before it and b includes it.
 *
 * If some samples of a group are already in val or test, the other samples of the group are
 * assigned to the same split.
 *
 * The result only depends on names, groups, labels, splits and options.
 *
 * Errors: FG_EINVAL (fractions; a requested split, or train, would be empty; the source has samples
 * of one group in val and in test), FG_ENOMEM. */
FG_API FG_MUST_USE fg_status fg_catalog_split(const fg_catalog *catalog,
                                              const fg_catalog_split_options *options,
                                              uint8_t *out_splits, fg_error *err);

/* Counts the samples of each class: out_counts is s64[class_count]. Only samples of `split` are
 * counted, by splits[index] or, if splits is NULL, by their own; with split -1, all samples. A
 * sample with several labels counts for each of them. Returns the number of samples without a
 * label. */
FG_API int64_t fg_catalog_class_counts(const fg_catalog *catalog, const uint8_t *splits, int split,
                                       int64_t *out_counts);

#ifdef __cplusplus
}
#endif
#endif
