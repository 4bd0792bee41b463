/* draft.h - what a catalog consists of, and how the kinds of sources fill one.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CATALOG_DRAFT_H
#define FGI_CATALOG_DRAFT_H

#include <fulgurite/catalog.h>
#include <stdatomic.h>
#include "base/arena.h"
#include "base/map.h"
#include "base/text.h"
#include "catalog/shards.h"

enum {
    FGI_SHOWN_BYTES = 160,     /* of an escaped name in a message */
    FGI_CLASSES_MAX = 1 << 24, /* a class index is below this */
    FGI_SAMPLE_BYTES_MAX = INT32_MAX
};

/* A sample is a file of its own (path) or a part of a shard. Strings are in the catalog's arena. */
typedef struct fgi_sample {
    const char *name;
    const char *path;      /* relative to the catalog's folder, or absolute; NULL: in a shard */
    uint64_t offset, size; /* bytes, in the shard */
    uint32_t part_offset, part_size; /* tfrecord: of the image in the record */
    int32_t *labels;                 /* if there are several */
    uint32_t label_count;
    int32_t label; /* while building: index in fgi_draft.labels */
    int32_t shard;
    int32_t group; /* number, starting at 1; 0: none */
    uint8_t split;
} fgi_sample;

typedef struct fgi_skipped {
    const char *path, *reason;
} fgi_skipped;

/* Reasons that are no sign of a mistake. */
#define FGI_NOT_AN_IMAGE  "not an image (by its extension)"
#define FGI_SYSTEM_FOLDER "a folder of an operating system or file server"
#define FGI_OUTSIDE_SPLIT "next to the folders of the splits"

/* After "set": what makes folders classes, whatever their names. */
#define FGI_NO_SPLIT_FOLDERS                                                                       \
    "data.source_options to {no_split_folders: true} (--source='{no_split_folders: true}' of "     \
    "fulgurite init and fulgurite pack)"

/* A line about the source as a whole, see fg_catalog_describe. */
typedef struct fgi_note {
    fg_log_level level;
    const char *text;
} fgi_note;

typedef struct fgi_catalog_kind fgi_catalog_kind;

struct fg_catalog {
    atomic_long references; /* handles and datasets */
    const fgi_catalog_kind *kind;
    fgi_arena arena;
    const char *path;   /* as given */
    const char *folder; /* of relative paths; for messages */
    int folder_fd;      /* -1: samples are in shards */
    fgi_shard_files shards;
    fgi_sample *samples;
    size_t count, capacity;
    const char **class_names; /* NULL: classes have no names */
    int64_t class_count;
    const char **groups; /* names */
    size_t group_count, group_capacity;
    fgi_skipped *skipped;
    size_t skip_count, skip_capacity;
    fgi_note *notes;
    size_t note_count, note_capacity;
};

/* How a source writes a label. Text without a type is an index if all labels are integers. */
typedef enum fgi_label_type { FGI_LABEL_TEXT, FGI_LABEL_NAME, FGI_LABEL_INDEX } fgi_label_type;

/* A distinct label, as the source writes it. */
typedef struct fgi_label {
    const char *text;
    fgi_label_type type;
    int32_t id;             /* position in fgi_draft.labels */
    int32_t class_index;    /* set at the end */
    const char *class_name; /* of an index, if the source has names, too */
    const char *first_name; /* of a sample that has it, for messages; NULL: none */
    size_t line;            /* of the list, where it occurs first; 0: not in a list */
} fgi_label;

/* A catalog while it is built. options are complete: no name is NULL but root, which is that of the
 * list, and path_column, which fgi_path_columns has. */
typedef struct fgi_draft {
    fg_catalog *catalog;
    const fg_catalog_options *options;
    fgi_label **labels; /* [label_count], in the catalog's arena */
    size_t label_count, label_capacity;
    bool has_conflict;                     /* an index has several class names: they are not used */
    fgi_map label_of, group_of, sample_of; /* by text */
    size_t missing_count;                  /* samples whose file does not exist */
    size_t line;                           /* of the list that is read, starting at 1; 0: none */
} fgi_draft;

/* A kind of source: a constant row. */
struct fgi_catalog_kind {
    const char *name, *help;
    const char *target; /* what has the labels, for messages */
    /* Whether a file with this name is of this kind. */
    bool (*is_file)(const char *name);
    /* Lists the samples. */
    fg_status (*open)(fgi_draft *b, const char *path, fg_error *err);
    /* Reads the bytes of a sample to *bytes, which is empty. */
    fg_status (*read)(const fg_catalog *catalog, const fgi_sample *sample, fg_catalog_bytes *bytes,
                      fg_error *err);
};

/* The label with this text and type; *out_id is its position. */
fg_status fgi_draft_label(fgi_draft *b, fgi_str text, fgi_label_type type, int32_t *out_id,
                          fg_error *err);
/* Gives the label, an index, a class name. */
fg_status fgi_draft_name_class(fgi_draft *b, int32_t id, fgi_str name, fg_error *err);
/* Sets the labels of a sample; at most one without an array. */
fg_status fgi_draft_set_labels(fgi_draft *b, fgi_sample *sample, const int32_t *ids, size_t count,
                               fg_error *err);
/* The number of the group with this name; 0 for an empty name. */
fg_status fgi_draft_group(fgi_draft *b, fgi_str name, int32_t *out_group, fg_error *err);
/* A copy of the text in the catalog's arena, NUL-terminated. */
fg_status fgi_draft_text(fgi_draft *b, fgi_str text, const char **out, fg_error *err);
/* Fails if a sample has this name already (FG_EFORMAT), else remembers it. name is in the arena. */
fg_status fgi_draft_unique(fgi_draft *b, const char *name, fg_error *err);
/* Adds a sample; its strings are in the arena. */
fg_status fgi_draft_add(fgi_draft *b, const fgi_sample *sample, fg_error *err);
/* Adds a line to the skipped files. The path is copied, the reason is static or in the arena. */
fg_status fgi_draft_skip(fgi_draft *b, const char *path, const char *reason, fg_error *err);
/* Adds a line to what fg_catalog_describe says. */
fg_status fgi_draft_note(fgi_draft *b, fg_log_level level, fg_error *err, const char *format, ...)
    FG_PRINTF(4, 5);
/* Sets class_names and class_count, and converts the labels of all samples. */
fg_status fgi_draft_finish(fgi_draft *b, fg_error *err);

/* Adds a reference; release it with fg_catalog_close. */
fg_catalog *fgi_catalog_retain(fg_catalog *catalog);

/* The split that a folder or a word is a name of: fg_data_split or FG_CATALOG_NO_SPLIT. */
uint8_t fgi_split_of_name(fgi_str name);
/* The same for a name that contains such a word, "seg_train" for example. */
uint8_t fgi_split_in_name(const char *name);
/* Whether a file name has the extension of an image. */
bool fgi_is_image_name(fgi_str name);
/* The extension of an image that cannot be read, "heic" for example, in lower case; NULL: another
 * file. */
const char *fgi_foreign_image(const char *name);
/* Whether a folder has the name of one of options->class_names. */
bool fgi_is_given_class(const fg_catalog_options *options, fgi_str name);
/* Whether operating systems and file servers create folders with this name. */
bool fgi_is_system_folder(const char *name);

/* Makes room for `size` bytes and sets bytes->size. */
fg_status fgi_bytes_reserve(fg_catalog_bytes *bytes, uint64_t size, const char *name,
                            fg_error *err);
/* The read functions of kinds: a whole file, and a part of a shard. */
fg_status fgi_read_sample_file(const fg_catalog *catalog, const fgi_sample *sample,
                               fg_catalog_bytes *bytes, fg_error *err);
fg_status fgi_read_sample_range(const fg_catalog *catalog, const fgi_sample *sample,
                                fg_catalog_bytes *bytes, fg_error *err);
/* Bytes of sample `index`, which must exist; 0 if its file cannot be found. */
uint64_t fgi_catalog_size(const fg_catalog *catalog, int64_t index);

/* FG_EFORMAT, with what has the labels in a source of this kind, unless a sample has one. */
fg_status fgi_catalog_check_labels(const fg_catalog *catalog, fg_error *err);

/* The first and the last `n` bytes of sample `index`, which must exist, and its size; no bytes if
 * it has less than `n`. *out_is_known is false if the kind of source has to read the whole sample.
 * */
fg_status fgi_catalog_read_ends(const fg_catalog *catalog, int64_t index, void *first, void *last,
                                size_t n, uint64_t *out_size, bool *out_is_known, fg_error *err);

/* When the file of a sample was last changed or replaced, in seconds since 1970; INFINITY if it
 * cannot be found. */
double fgi_catalog_changed_s(const fg_catalog *catalog, int64_t index);

/* FG_EINVAL unless there are `count` names, or no list for 0. `what` is for the message. */
fg_status fgi_check_class_names(const char *what, const char *const *names, int64_t count,
                                fg_error *err);

/* The escaped form of a name in `shown`, which is returned. */
const char *fgi_shown(const char *name, char shown[FGI_SHOWN_BYTES]);
/* "'cat', 'dog' and 7 more", as many as fit in shown[size], which is returned. */
const char *fgi_shown_names(const char *const *names, size_t count, char *shown, size_t size);

#endif
