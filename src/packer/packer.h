/* packer.h - what the parts of a build share.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_PACKER_PACKER_H
#define FGI_PACKER_PACKER_H

#include <fulgurite/packer.h>
#include "base/buf.h"
#include "base/rng.h"
#include "base/signal_set.h"
#include "image/jpeg_markers.h"

enum { FGI_PACKER_MEASURED = 512 /* samples whose pixels are measured */ };

/* What is built. Constant while threads work on it. */
typedef struct fgi_packer_plan {
    const fg_catalog *catalog;
    fg_pack_build_options o;    /* with defaults */
    int64_t count;              /* samples, at most o.limit */
    uint8_t *splits;            /* of the samples of the catalog; NULL: their own */
    bool has_lists;             /* a sample has several labels: all have a list */
    fgi_jpeg_sampling sampling; /* of DCT coefficients */
    fgi_key key;                /* of the variants */
} fgi_packer_plan;

/* Index in the catalog of sample i < plan->count. */
int64_t fgi_packer_index(const fgi_packer_plan *plan, int64_t i);
/* The sample of the plan, with its split. */
fg_status fgi_packer_item(const fgi_packer_plan *plan, int64_t i, fg_catalog_item *out,
                          fg_error *err);
/* The pixels of samples 0, stride, 2 stride ... are measured. */
int64_t fgi_packer_stride(const fgi_packer_plan *plan);

/* ---- pack_arrays.c --------------------------------------------------------------------------- */

/* Whether the source is probably a file or a folder of tokens, which needs `sequence`. */
bool fgi_packer_is_tokens(const char *source);

/* ---- packer_build.c -------------------------------------------------------------------------- */

/* Makes a small pack of some of the samples with another codec, without splits. */
fg_status fgi_packer_trial(const fgi_packer_plan *plan, fg_pack_choice codec, const char *path,
                           fg_error *err);

/* ---- packer_options.c ------------------------------------------------------------------------ */

/* Copies the options, fills in defaults, and checks them. */
fg_status fgi_packer_options(const fg_pack_build_options *options, fg_pack_build_options *out,
                             fg_error *err);
/* Name of a codec, as given on the command line. */
const char *fgi_packer_codec_name(fg_pack_choice codec);
bool fgi_packer_codec_of(const char *name, fg_pack_choice *out);
/* "short=256" or "none". */
const char *fgi_packer_presize_text(const fg_image_presize *presize, char out[64]);

/* ---- packer_sample.c ------------------------------------------------------------------------- */

/* A record of a sample: its bytes end at `end` in the buffer of all. */
typedef struct fgi_packer_record {
    size_t end;
    uint32_t width, height;
    uint8_t flags; /* of the codec */
} fgi_packer_record;

/* A sample, ready to be written. */
typedef struct fgi_packer_output {
    fgi_buf bytes;
    fgi_packer_record *records; /* [variant_count] */
    double mean[3], square[3];  /* of the channels, if the sample is measured */
    bool is_encoded;            /* again, as JPEG or as coefficients, with the quality */
    bool is_flawed;             /* the decoder had a warning */
    fg_status status;           /* otherwise the sample is bad, or out of memory */
    fg_error err;
} fgi_packer_output;

fg_status fgi_packer_output_init(fgi_packer_output *output, const fgi_packer_plan *plan,
                                 fg_error *err);
void fgi_packer_output_fini(fgi_packer_output *output);

/* The memory of one thread. */
typedef struct fgi_packer_tools {
    fg_image_decoder *decoder;
    fg_catalog_bytes bytes;
    fg_image image, planes, variant;
    fg_image_bytes encoded;
    fgi_buf jpeg, table;
} fgi_packer_tools;

fg_status fgi_packer_tools_init(fgi_packer_tools *tools, fg_error *err);
void fgi_packer_tools_fini(fgi_packer_tools *tools);

/* Whether an image is stored without encoding it again, if its codec and its size allow it: a JPEG
 * that is neither resized nor rotated, not CMYK. */
bool fgi_packer_is_kept(const fgi_packer_plan *plan, const fg_image_info *info);
/* The codec of the records of a choice. */
fg_pack_codec fgi_packer_codec(fg_pack_choice choice);
/* Makes the records of sample i; the result is output->status. */
void fgi_packer_sample(const fgi_packer_plan *plan, fgi_packer_tools *tools, int64_t i,
                       fgi_packer_output *output);
/* Sets plan->sampling. Reads some of the files. */
void fgi_packer_find_sampling(fgi_packer_plan *plan);

/* ---- packer_crew.c --------------------------------------------------------------------------- */

/* Threads that make the samples, handed out in order. */
typedef struct fgi_packer_crew fgi_packer_crew;

/* Starts the threads: they make the measured samples before `start`, then all from `start`. The
 * plan is borrowed. */
fg_status fgi_packer_crew_create(const fgi_packer_plan *plan, int64_t start, fgi_packer_crew **out,
                                 fg_error *err);
/* The next sample and its number; NULL after the last one. Valid until the next call. */
const fgi_packer_output *fgi_packer_crew_next(fgi_packer_crew *crew, int64_t *out_sample);
/* Stops and joins the threads. NULL is allowed. */
void fgi_packer_crew_destroy(fgi_packer_crew *crew);

/* ---- packer_journal.c ------------------------------------------------------------------------ */

/* A build, from its start to its end or an interruption. */
typedef struct fgi_packer_run {
    int64_t sample; /* the first that it makes */
    double begun_s; /* since 1970 */
} fgi_packer_run;

/* The samples that were left out, in memory and in a file, so that a resumed build has them. */
typedef struct fgi_packer_journal {
    fgi_packer_run *runs; /* from the first one, in the order of their samples */
    size_t run_count, run_capacity;
    char *path, *list_path; /* of the file; of the list that remains */
    int fd;                 /* -1: not open */
    fg_pack_choice codec;
    char reason[480];
    fg_pack_reject *bad;
    int64_t *samples; /* their numbers */
    size_t count, bad_capacity, sample_capacity;
} fgi_packer_journal;

/* Reads the journal of an interrupted build, if there is one. */
fg_status fgi_packer_journal_open(const char *out_path, fgi_packer_journal *journal, fg_error *err);
void fgi_packer_journal_close(fgi_packer_journal *journal);
/* Number of bad samples before sample `start`. */
int64_t fgi_packer_journal_before(const fgi_packer_journal *journal, int64_t start);
/* When the build began that made the sample; 0 if that is not known. */
double fgi_packer_journal_begun(const fgi_packer_journal *journal, int64_t sample);
/* Starts to write: forgets the samples from `start`, and adds a run. */
fg_status fgi_packer_journal_start(fgi_packer_journal *journal, int64_t start, fg_error *err);
/* Without a file if the journal was not opened. */
fg_status fgi_packer_journal_add(fgi_packer_journal *journal, int64_t sample, const char *name,
                                 const char *reason, fg_error *err);
/* Writes the list of bad samples and of skipped files, if there are any; otherwise removes it. */
fg_status fgi_packer_journal_list(const fgi_packer_journal *journal, const fg_catalog *catalog,
                                  fg_error *err);
/* Removes the file. */
void fgi_packer_journal_remove(fgi_packer_journal *journal);

/* ---- packer_choose.c ------------------------------------------------------------------------- */

/* Chooses plan->o.codec and writes the reason. */
fg_status fgi_packer_choose(fgi_packer_plan *plan, const char *out_path, char reason[480],
                            fg_error *err);
/* FG_EIO if the samples from `start` will not fit; FG_EINVAL if sizes differ that must not. */
fg_status fgi_packer_check_space(const fgi_packer_plan *plan, const char *out_path, int64_t start,
                                 fg_error *err);

/* ---- packer_text.c --------------------------------------------------------------------------- */

/* Calls a progress function now and then. */
typedef struct fgi_packer_meter {
    fg_pack_progress_fn *progress; /* may be NULL */
    void *self;
    const char *unit;
    double every_s;
    int64_t start, total; /* samples that a resumed pack has; all */
    int64_t begin_ns, shown_ns;
} fgi_packer_meter;

void fgi_packer_meter_start(fgi_packer_meter *meter, int64_t start, int64_t total);
/* The first one ends a build that handles signals after the current sample, so that the message can
 * say what remains. */
extern fgi_signal_set fgi_packer_signals;
/* False if the function says to stop, or a signal has come. */
bool fgi_packer_meter_report(fgi_packer_meter *meter, int64_t done, int64_t bad,
                             uint64_t size_bytes);

/* ---- packer_metadata.c ----------------------------------------------------------------------- */

/* Sums over the measured samples. */
typedef struct fgi_packer_sums {
    double mean[3], square[3];
    int64_t count;
} fgi_packer_sums;

/* Appends the metadata of the pack as JSON. */
fg_status fgi_packer_metadata(const fgi_packer_plan *plan, const char *source,
                              const fgi_packer_journal *journal, const fgi_packer_sums *sums,
                              fgi_buf *out, fg_error *err);
/* Appends text that determines the records: options, names, labels, splits, groups. */
fg_status fgi_packer_fingerprint(const fgi_packer_plan *plan, fgi_buf *out, fg_error *err);

/* Sets an option from text, as given on the command line. Names: codec ("auto", "file", "jpeg",
 * "jpeg-seg", "raw", "ycc", "dct"), presize ("short=256", see fg_image_presize_parse), quality,
 * variants, split ("val=0.1,test=0.1", ",stratify" may follow), seed, workers, shard-size ("1GB",
 * "256MiB"), bad ("fail", "skip"), limit, rate, sequence. Errors: FG_EINVAL (the message begins
 * with the name and states what is expected). Thread-safe. */
fg_status fgi_pack_build_set(fg_pack_build_options *options, const char *name, const char *text,
                             fg_error *err);

/* Writes notes for the user, one sentence per line: samples left out and where they are
 * listed, the codec and why, the names of the files of a set. "" if there is nothing. Truncates the
 * text to `size` bytes and returns out. Thread-safe. */
const char *fgi_pack_built_text(const fg_pack_built *built, const char *out_path, char *out,
                                size_t size);

#endif
