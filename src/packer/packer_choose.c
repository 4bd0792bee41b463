/* packer_choose.c - chooses a codec for the machine and the rate that the model needs, and predicts
 * whether the pack will fit on the disk. The speed of a codec is measured with the loader that will
 * read the pack, on a small pack of some of the samples.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/host.h>
#include <fulgurite/pack_dataset.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "base/text.h"
#include "catalog/draft.h"
#include "packer/packer.h"

enum { PROBES = 64, TRIALS = 16, LEAST_REMAINING = 64, USUAL_SIZE = 224, BATCH = 32 };

static const double MEGA = 1e6, CENTER = 0.875, MEASURED_S = 0.25;

/* The codecs that are considered, from the smallest to the fastest. */
static const struct codec {
    fg_pack_choice choice;
    double bytes_per_pixel; /* when it is encoded at quality 90 */
    bool needs_equal_sizes, needs_memory;
    bool is_whole; /* the host cannot crop the images */
} rows[] = {
    {FG_PACK_CHOICE_JPEG, 0.375, false, false, false},
    {FG_PACK_CHOICE_SEG, 0.377, false, false, false},
    {FG_PACK_CHOICE_DCT, 0.552, true, false, true},
    {FG_PACK_CHOICE_RAW, 3, false, true, false},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* Means over some of the samples, and the machine. */
typedef struct survey {
    int64_t count;
    double megapixels, bytes; /* of an image as it is stored; of a JPEG, as it is in the source */
    bool keeps_files;         /* all are JPEGs that keep their size */
    bool is_equal;            /* sizes */
    int cpus;
    double memory_bytes, disk_bytes;
    double rates[ROWS]; /* images/s that the loader reads; 0: not measured */
} survey;

/* ---- the machine ----------------------------------------------------------------------------- */

static fg_status free_space(const fgi_packer_plan *plan, const char *out_path, double *out,
                            fg_error *err)
{
    struct statvfs disk;
    char *folder = fgi_path_parent(out_path);
    if (folder == NULL)
        return fgi_no_memory(err);
    fg_status status = FG_OK;
    if (plan->o.space_bytes > 0)
        *out = (double)plan->o.space_bytes;
    else if (statvfs(folder, &disk) != 0)
        status = fgi_fail_errno(err, "write a pack to the folder", folder);
    else
        *out = (double)disk.f_bavail * (double)disk.f_frsize;
    fgi_free(folder);
    return status;
}

static fg_status look_at_machine(const fgi_packer_plan *plan, const char *out_path, survey *s,
                                 fg_error *err)
{
    fg_host *host = NULL;
    FGI_TRY(free_space(plan, out_path, &s->disk_bytes, err));
    FGI_TRY(fg_host_open(&(fg_host_options){.no_network = true}, &host, err));
    const fg_host_info *info = fg_host_info_of(host);
    s->cpus = info->cpus > 0 ? info->cpus : 1;
    s->memory_bytes = info->memory_free_bytes > 0 ? (double)info->memory_free_bytes : 0;
    fg_host_close(host);
    return FG_OK;
}

/* ---- the images ------------------------------------------------------------------------------ */

/* Adds an image that can be read. */
static fg_status add_image(const fgi_packer_plan *plan, survey *s, const fg_image_info *info,
                           size_t size, int64_t first[2], fg_error *err)
{
    int64_t stored[2] = {info->width, info->height};
    if (plan->o.variant_count == 1)
        FGI_TRY(fg_image_presize_size(&plan->o.presize, &stored[0], &stored[1], err));
    else
        stored[0] = stored[1] = plan->o.presize.size;
    if (s->count++ == 0)
        memcpy(first, stored, sizeof(stored));
    s->is_equal = s->is_equal && memcmp(first, stored, sizeof(stored)) == 0;
    s->keeps_files = s->keeps_files && plan->o.variant_count == 1 &&
                     info->format == FG_IMAGE_JPEG && info->width == stored[0] &&
                     info->height == stored[1];
    s->megapixels += (double)(stored[0] * stored[1]) / MEGA;
    s->bytes += (double)size;
    return FG_OK;
}

static fg_status look_at_images(const fgi_packer_plan *plan, survey *s, fg_error *err)
{
    fg_catalog_bytes bytes = {0};
    fg_status status = FG_OK;
    fg_error why = {0}, first_why = {0};
    int64_t first[2] = {0};
    const int64_t probes = plan->count < PROBES ? plan->count : PROBES;
    for (int64_t i = 0; status == FG_OK && i < probes; i++) {
        char name[FGI_SHOWN_BYTES];
        fg_image_info info;
        fg_catalog_item item = {.name = ""};
        const int64_t index = fgi_packer_index(plan, i * plan->count / probes);
        if (fg_catalog_item_at(plan->catalog, index, &item, &why) == FG_OK &&
            fg_catalog_read(plan->catalog, index, &bytes, &why) == FG_OK &&
            fg_image_probe(fgi_shown(item.name, name), bytes.data, bytes.size, &info, &why) ==
                FG_OK)
            status = add_image(plan, s, &info, bytes.size, first, err);
        else if (first_why.status == FG_OK)
            first_why = why;
    }
    fg_catalog_bytes_fini(&bytes);
    if (status == FG_OK && s->count == 0)
        return fgi_fail(err, FG_EFORMAT,
                        "none of %" PRId64 " sample%s can be read as an image, so no codec can be "
                        "chosen: %s",
                        probes, fgi_s(probes), first_why.message);
    s->megapixels /= (double)s->count;
    s->bytes /= (double)s->count;
    return status;
}

/* ---- the speed ------------------------------------------------------------------------------- */

/* As training reads the pack by default: random resized crops; of stored augmentations, all of the
 * image. Images that the device decodes are never cropped. */
static fg_images_options usual_crops(const fgi_packer_plan *plan)
{
    const fg_image_presize *presize = &plan->o.presize;
    const bool is_sized =
        presize->rule == FG_IMAGE_PRESIZE_SHORT || presize->rule == FG_IMAGE_PRESIZE_SQUARE;
    int64_t size = is_sized ? presize->size : USUAL_SIZE;
    if (is_sized && plan->o.variant_count == 1)
        size = (int64_t)ceil((double)size * CENTER);
    return (fg_images_options){.height = size,
                               .width = size,
                               .crop = plan->o.variant_count == 1 ? FG_IMAGE_CROP_RANDOM
                                                                  : FG_IMAGE_CROP_CENTER,
                               .center_fraction = 1,
                               .no_labels = true};
}

static fg_status measure_usual(const fgi_packer_plan *plan, const char *path, double *out,
                               fg_error *err)
{
    fg_pack *pack = NULL;
    fg_dataset *samples = NULL;
    fg_input_rate rate = {0};
    const fg_pack_dataset_options how = {.images = usual_crops(plan)};
    fg_loader_options loading = {.batch_size = BATCH, .shuffle = true};
    FGI_TRY(fg_pack_open(path, NULL, &pack, err));
    fg_status status = fg_pack_dataset_create(pack, &how, &samples, err);
    if (status == FG_OK && fg_dataset_count(samples) < BATCH)
        loading.batch_size = fg_dataset_count(samples); /* no padding, which is copied too */
    if (status == FG_OK)
        status = fg_input_rate_measure(samples, &loading, MEASURED_S, &rate, err);
    *out = rate.samples_per_s;
    fg_dataset_destroy(samples);
    fg_pack_close(pack);
    return status;
}

/* Makes a pack of some samples in `folder`, and reads it. */
static fg_status try_codec(const fgi_packer_plan *plan, fg_pack_choice codec, const char *folder,
                           double *out, fg_error *err)
{
    fg_status status = FG_OK;
    char *path = fgi_path_join(folder, "trial.pack");
    if (path == NULL)
        return fgi_no_memory(err);
    status = fgi_packer_trial(plan, codec, path, err);
    if (status == FG_OK && plan->o.measure != NULL)
        status = plan->o.measure(plan->o.measure_self, path, out, err);
    else if (status == FG_OK)
        status = measure_usual(plan, path, out, err);
    fgi_free(path);
    return status;
}

/* Removes what a trial, also one that was killed, has written; no folder that has other files. */
static void remove_trial(const char *folder)
{
    static const char *const names[] = {"trial.pack", "trial.pack.partial",
                                        "trial.pack.partial.jsonl", "trial.pack.bad.jsonl"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char *path = fgi_path_join(folder, names[i]);
        if (path != NULL)
            (void)unlink(path);
        fgi_free(path);
    }
    (void)rmdir(folder);
}

/* Images/s that the loader reads from a pack of the codec; 0 if the images do not have the equal
 * sizes that the codec requires, or training does not accept it. */
static fg_status measure(const fgi_packer_plan *plan, const struct codec *row, const char *out_path,
                         double *out, fg_error *err)
{
    fgi_buf folder = {0};
    *out = 0;
    fgi_buf_printf(&folder, "%s.trial", out_path);
    fg_status status = fgi_buf_status(&folder, err);
    if (status == FG_OK)
        status = fgi_folder_make(folder.data, err);
    if (status == FG_OK)
        status = try_codec(plan, row->choice, folder.data, out, err);
    if (folder.data != NULL && !folder.failed)
        remove_trial(folder.data);
    fgi_buf_fini(&folder);
    if (status == FG_EINVAL && row->needs_equal_sizes) {
        *out = 0;
        return FG_OK;
    }
    if (status == FG_OK || status == FG_ENOMEM || status == FG_ESTOPPED)
        return status;
    return fgi_context(err, status, "measuring the speed of codec %s",
                       fgi_packer_codec_name(row->choice));
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* Bytes of the whole pack. */
static double bytes_of(const struct codec *row, const survey *s, const fgi_packer_plan *plan)
{
    const bool is_jpeg = row->choice == FG_PACK_CHOICE_JPEG || row->choice == FG_PACK_CHOICE_SEG;
    const double one =
        is_jpeg && s->keeps_files ? s->bytes : row->bytes_per_pixel * MEGA * s->megapixels;
    return one * (double)plan->count * (double)plan->o.variant_count;
}

static bool is_possible(const struct codec *row, const survey *s, const fgi_packer_plan *plan)
{
    const double bytes = bytes_of(row, s, plan);
    return (!row->needs_equal_sizes || s->is_equal) && (!row->is_whole || !plan->o.host_crops) &&
           bytes <= s->disk_bytes && (!row->needs_memory || bytes <= s->memory_bytes);
}

/* The first codec that is fast enough, otherwise the fastest one. */
static fg_status choose(survey *s, const fgi_packer_plan *plan, const char *out_path,
                        const struct codec **out, fg_error *err)
{
    size_t best = 0;
    for (size_t i = 0; i < ROWS && s->rates[best] < plan->o.rate; i++) {
        if (i > 0 && !is_possible(&rows[i], s, plan))
            continue;
        FGI_TRY(measure(plan, &rows[i], out_path, &s->rates[i], err));
        if (s->rates[i] > s->rates[best])
            best = i;
    }
    *out = &rows[best];
    return FG_OK;
}

/* What to do if the codec is too slow, and why dct is not one of those considered. */
static const char *advice(const struct codec *best, const survey *s, const fgi_packer_plan *plan)
{
    const bool is_slow = s->rates[best - rows] < plan->o.rate;
    const bool is_raw = best->choice == FG_PACK_CHOICE_RAW;
    if (plan->o.host_crops && s->is_equal && (is_slow || is_raw))
        return is_slow ? "; this is too slow: codec dct is not considered because the host crops "
                         "or flips the images (data.augment does this on the device)"
                       : "; codec dct is not considered because the host crops or flips the images "
                         "(data.augment does this on the device)";
    if (is_slow && !plan->o.host_crops && !s->is_equal)
        return "; this is too slow: images of equal size (for example, with presize "
               "square=256,upscale) could be stored with codec dct, which is usually faster";
    return is_slow ? "; this is too slow, and no codec that fits is faster: store smaller images "
                     "(presize), or use more CPUs"
                   : "";
}

static void write_reason(const struct codec *best, const survey *s, const fgi_packer_plan *plan,
                         char reason[480])
{
    char from_jpeg[96] = "";
    if (best != &rows[0])
        (void)fgi_snprintf(from_jpeg, sizeof(from_jpeg), ", and %s/s from jpeg",
                           fgi_count_words(s->rates[0]));
    (void)fgi_snprintf(reason, 480,
                       "the model needs %s images/s, and %d CPU%s read about %s/s from %s%s "
                       "(measured); the pack needs about %s, and %s are free%s",
                       fgi_count_words(plan->o.rate), s->cpus, fgi_s(s->cpus),
                       fgi_count_words(s->rates[best - rows]), fgi_packer_codec_name(best->choice),
                       from_jpeg, fgi_bytes_words(bytes_of(best, s, plan)),
                       fgi_bytes_words(s->disk_bytes), advice(best, s, plan));
}

fg_status fgi_packer_choose(fgi_packer_plan *plan, const char *out_path, char reason[480],
                            fg_error *err)
{
    survey s = {.keeps_files = true, .is_equal = true};
    FGI_TRY(look_at_machine(plan, out_path, &s, err));
    FGI_TRY(look_at_images(plan, &s, err));
    const struct codec *best = NULL;
    FGI_TRY(choose(&s, plan, out_path, &best, err));
    plan->o.codec = best->choice;
    write_reason(best, &s, plan, reason);
    return FG_OK;
}

/* ---- space ----------------------------------------------------------------------------------- */

/* Makes some samples from `start`; *out_bytes is a lower bound of the mean size of all: the mean
 * minus two standard errors. */
static fg_status try_samples(const fgi_packer_plan *plan, int64_t start, double *out_bytes,
                             fg_error *err)
{
    double sum = 0, squares = 0;
    fgi_packer_tools tools = {0};
    fgi_packer_output output = {0};
    fg_status status = fgi_packer_tools_init(&tools, err);
    if (status == FG_OK)
        status = fgi_packer_output_init(&output, plan, err);
    for (int64_t i = 0; status == FG_OK && i < TRIALS; i++) {
        fgi_packer_sample(plan, &tools, start + i * (plan->count - start) / TRIALS, &output);
        const double size = output.status == FG_OK ? (double)output.bytes.size : 0;
        if (output.status == FG_ENOMEM)
            status = fgi_no_memory(err);
        sum += size / TRIALS;
        squares += size * size / TRIALS;
    }
    const double variance = fmax(squares - sum * sum, 0);
    *out_bytes = sum - 2 * sqrt(variance / (TRIALS - 1));
    fgi_packer_output_fini(&output);
    fgi_packer_tools_fini(&tools);
    return status;
}

fg_status fgi_packer_check_space(const fgi_packer_plan *plan, const char *out_path, int64_t start,
                                 fg_error *err)
{
    double space = 0, one = 0;
    if (plan->count - start < LEAST_REMAINING)
        return FG_OK;
    FGI_TRY(free_space(plan, out_path, &space, err));
    FGI_TRY(try_samples(plan, start, &one, err));
    const double bytes = one * (double)(plan->count - start);
    if (bytes <= space)
        return FG_OK;
    return fgi_fail(err, FG_EIO,
                    "%" PRId64 " samples need about %s as codec %s, but only %s are free for '%s': "
                    "free some space, or choose a smaller presize, quality or number of variants",
                    plan->count - start, fgi_bytes_words(bytes),
                    fgi_packer_codec_name(plan->o.codec), fgi_bytes_words(space), out_path);
}
