/* packer_choose.c - chooses a codec for the machine and the rate that the model needs, and predicts
 * whether the pack will fit on the disk.
 *
 * The times are those of reading a random resized crop, measured with one core of a server CPU of
 * 2024 (AMD Zen 5); they are doubled here, because cloud CPUs are often slower. The time of a JPEG
 * grows more slowly above 0.19 megapixels, because larger ones are decoded at a reduced size.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/host.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "packer/packer.h"
#include "packer/packer_text.h"

enum { PROBES = 64, TRIALS = 16, LEAST_REMAINING = 64 };

static const double MEGA = 1e6, SLOWER = 2, KNEE = 0.19; /* KNEE: megapixels */

/* The codecs that are considered, from the smallest to the fastest. */
static const struct codec {
    fg_pack_choice choice;
    double ms, ms_per_mp, ms_per_mp_above; /* of an image: fixed, per megapixel */
    double bytes_per_pixel;                /* when it is encoded at quality 90 */
    bool needs_equal_sizes, needs_memory;
    bool is_whole; /* the host cannot crop the images */
} rows[] = {
    {FG_PACK_CHOICE_JPEG, 0.05, 3.7, 1.47, 0.375, false, false, false},
    {FG_PACK_CHOICE_SEG, 0.05, 3.0, 0.75, 0.377, false, false, false},
    {FG_PACK_CHOICE_DCT, 0, 0.264, 0.264, 0.552, true, false, true},
    {FG_PACK_CHOICE_RAW, 0, 0.156, 0.156, 3, false, true, false},
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
    const fg_host_info *info = fg_host_get_info(host);
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
    int64_t stored[2] = {plan->o.presize.size, plan->o.presize.size};
    if (plan->o.variant_count == 1)
        FGI_TRY(fg_image_presize_size(&plan->o.presize, info->width, info->height, &stored[0],
                                      &stored[1], err));
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
    int64_t first[2] = {0};
    const int64_t probes = plan->count < PROBES ? plan->count : PROBES;
    for (int64_t i = 0; status == FG_OK && i < probes; i++) {
        fg_image_info info;
        const int64_t index = fgi_packer_index(plan, i * plan->count / probes);
        if (fg_catalog_read(plan->catalog, index, &bytes, NULL) == FG_OK &&
            fg_image_probe("", bytes.data, bytes.size, &info, NULL) == FG_OK)
            status = add_image(plan, s, &info, bytes.size, first, err);
    }
    fg_catalog_bytes_fini(&bytes);
    if (status == FG_OK && s->count == 0)
        return fgi_fail(err, FG_EFORMAT,
                        "none of %" PRId64 " samples can be read as an image, so no codec can be "
                        "chosen: name one, such as jpeg, to see the reasons",
                        probes);
    s->megapixels /= (double)s->count;
    s->bytes /= (double)s->count;
    return status;
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* Images/s that all CPUs read. */
static double rate_of(const struct codec *row, const survey *s)
{
    const double below = fmin(s->megapixels, KNEE), above = s->megapixels - below;
    const double ms = row->ms + row->ms_per_mp * below + row->ms_per_mp_above * above;
    return 1000 * s->cpus / (SLOWER * fmax(ms, 1e-6));
}

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
static const struct codec *choose(const survey *s, const fgi_packer_plan *plan)
{
    const struct codec *best = &rows[0];
    for (size_t i = 0; i < ROWS; i++) {
        if (!is_possible(&rows[i], s, plan))
            continue;
        if (rate_of(&rows[i], s) > rate_of(best, s))
            best = &rows[i];
        if (rate_of(best, s) >= plan->o.rate)
            break;
    }
    return best;
}

/* What to do if the codec is too slow, and why dct is not one of those considered. */
static const char *advice(const struct codec *best, const survey *s, const fgi_packer_plan *plan)
{
    const bool is_slow = rate_of(best, s) < plan->o.rate;
    const bool is_raw = best->choice == FG_PACK_CHOICE_RAW;
    if (plan->o.host_crops && s->is_equal && (is_slow || is_raw))
        return is_slow ? "; this is too slow: codec dct is not considered because the host crops "
                         "or flips the images (data.augment does this on the device)"
                       : "; codec dct is not considered because the host crops or flips the images "
                         "(data.augment does this on the device)";
    if (is_slow && !plan->o.host_crops && !s->is_equal && !is_raw)
        return "; this is too slow: images of equal size, such as with presize square=256,upscale, "
               "could be stored with the faster codec dct";
    return is_slow ? "; this is too slow, and no codec that fits is faster: store smaller images "
                     "(presize), or use more CPUs"
                   : "";
}

static void write_reason(const struct codec *best, const survey *s, const fgi_packer_plan *plan,
                         char reason[480])
{
    char need[32], from_best[32], from_jpeg[96] = "", bytes[32], disk[32];
    const double rate = rate_of(best, s);
    if (best != &rows[0])
        (void)fgi_snprintf(from_jpeg, sizeof(from_jpeg), ", and %s/s from jpeg",
                           fgi_packer_count(rate_of(&rows[0], s), need));
    (void)fgi_snprintf(reason, 480,
                       "the model needs %s images/s, and %d CPU%s read about %s/s from %s%s; the "
                       "pack will have about %s of %s free%s",
                       fgi_packer_count(plan->o.rate, need), s->cpus, s->cpus == 1 ? "" : "s",
                       fgi_packer_count(rate, from_best), fgi_packer_codec_name(best->choice),
                       from_jpeg, fgi_packer_bytes(bytes_of(best, s, plan), bytes),
                       fgi_packer_bytes(s->disk_bytes, disk), advice(best, s, plan));
}

fg_status fgi_packer_choose(fgi_packer_plan *plan, const char *out_path, char reason[480],
                            fg_error *err)
{
    survey s = {.keeps_files = true, .is_equal = true};
    FGI_TRY(look_at_machine(plan, out_path, &s, err));
    FGI_TRY(look_at_images(plan, &s, err));
    const struct codec *best = choose(&s, plan);
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
    char needed[32], available[32];
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
                    plan->count - start, fgi_packer_bytes(bytes, needed),
                    fgi_packer_codec_name(plan->o.codec), fgi_packer_bytes(space, available),
                    out_path);
}
