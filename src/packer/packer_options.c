/* packer_options.c - options of a build: from text, defaults, checks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/resources.h"
#include "base/number.h"
#include "base/print.h"
#include "base/reserved.h"
#include "base/text.h"
#include "catalog/catalog_options.h"
#include "packer/packer.h"

enum { DEFAULT_QUALITY = 90, DEFAULT_RATE = 2000, MOST_VARIANTS = 1024, MOST_THREADS = 1024 };

static const char *const codecs[] = {"auto", "file", "jpeg", "jpeg-seg", "raw", "ycc", "dct"};
enum { CODECS = sizeof(codecs) / sizeof(codecs[0]) };

const char *fgi_packer_codec_name(fg_pack_choice codec)
{
    return (size_t)codec < CODECS ? codecs[codec] : "";
}

bool fgi_packer_codec_of(const char *name, fg_pack_choice *out)
{
    for (size_t i = 0; i < CODECS; i++)
        if (strcmp(codecs[i], name) == 0) {
            *out = (fg_pack_choice)i;
            return true;
        }
    return false;
}

const char *fgi_packer_presize_text(const fg_image_presize *presize, char out[64])
{
    static const char *const rules[] = {"none", "short", "max", "square"};
    if (presize->rule == FG_IMAGE_PRESIZE_NONE)
        (void)fgi_snprintf(out, 64, "none");
    else
        (void)fgi_snprintf(out, 64, "%s=%" PRId64 "%s", rules[presize->rule], presize->size,
                           presize->upscale ? ",upscale" : "");
    return out;
}

/* ---- text ------------------------------------------------------------------------------------ */

static fg_status refuse(const char *name, const char *text, const char *expected, fg_error *err)
{
    return fgi_fail(err, FG_EINVAL, "%s: expected %s, got '%s'", name, expected, text);
}

static fg_status set_codec(fg_pack_build_options *o, const char *name, const char *text,
                           fg_error *err)
{
    return fgi_packer_codec_of(text, &o->codec)
               ? FG_OK
               : refuse(name, text, "auto, file, jpeg, jpeg-seg, raw, ycc or dct", err);
}

static fg_status set_presize(fg_pack_build_options *o, const char *name, const char *text,
                             fg_error *err)
{
    FGI_TRY_CTX(fg_image_presize_parse(text, &o->presize, err), err, "%s", name);
    return FG_OK;
}

/* Options that are integers: their members have different types. */
static const struct integer {
    const char *name;
    int64_t least, most;
    size_t offset;
    bool is_int; /* the member is an int; otherwise it has 64 bits */
} integers[] = {
    {"quality", 1, 100, offsetof(fg_pack_build_options, quality), true},
    {"variants", 1, MOST_VARIANTS, offsetof(fg_pack_build_options, variant_count), false},
    {"seed", 0, INT64_MAX, offsetof(fg_pack_build_options, seed), false},
    {"workers", 1, MOST_THREADS, offsetof(fg_pack_build_options, thread_count), true},
    {"limit", 1, INT64_MAX, offsetof(fg_pack_build_options, limit), false},
    {"sequence", 1, INT32_MAX, offsetof(fg_pack_build_options, sequence), false},
};

static fg_status set_int(fg_pack_build_options *o, const struct integer *row, const char *text,
                         fg_error *err)
{
    char expected[96];
    int64_t value = 0;
    if (!fgi_parse_i64(fgi_str_of(text), &value) || value < row->least || value > row->most) {
        const bool is_large = value == 0 && strlen(text) > 1 && /* not parsed */
                              strspn(text, "0123456789") == strlen(text);
        if (row->most == INT64_MAX && !is_large)
            (void)fgi_snprintf(expected, sizeof(expected), "an integer of at least %" PRId64,
                               row->least);
        else
            (void)fgi_snprintf(expected, sizeof(expected),
                               "an integer from %" PRId64 " to %" PRId64, row->least, row->most);
        return refuse(row->name, text, expected, err);
    }
    const int narrow = (int)value;
    if (row->is_int)
        memcpy((char *)o + row->offset, &narrow, sizeof(narrow));
    else
        memcpy((char *)o + row->offset, &value, sizeof(value));
    return FG_OK;
}

static fg_status set_rate(fg_pack_build_options *o, const char *name, const char *text,
                          fg_error *err)
{
    return fgi_parse_f64(fgi_str_of(text), &o->rate) && o->rate > 0 && isfinite(o->rate)
               ? FG_OK
               : refuse(name, text, "a number of images per second above 0", err);
}

static fg_status set_bad(fg_pack_build_options *o, const char *name, const char *text,
                         fg_error *err)
{
    o->skip_bad = strcmp(text, "skip") == 0;
    return o->skip_bad || strcmp(text, "fail") == 0 ? FG_OK
                                                    : refuse(name, text, "fail or skip", err);
}

/* "256MiB", "1GB", "1000000". */
static fg_status set_shard(fg_pack_build_options *o, const char *name, const char *text,
                           fg_error *err)
{
    static const struct {
        const char *name;
        double bytes;
    } units[] = {{"", 1},
                 {"B", 1},
                 {"kB", 1e3},
                 {"MB", 1e6},
                 {"GB", 1e9},
                 {"TB", 1e12},
                 {"KiB", 1024},
                 {"MiB", 1048576},
                 {"GiB", 1073741824},
                 {"TiB", 1099511627776.0}};
    char *end;
    const double value = fgi_strtod(text, &end);
    for (size_t i = 0; end != text && i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(end, units[i].name) == 0 && value * units[i].bytes >= 1 &&
            value * units[i].bytes < 1e18) {
            o->shard_bytes = (uint64_t)(value * units[i].bytes);
            return FG_OK;
        }
    return refuse(name, text, "a size such as 1GB or 256MiB", err);
}

/* Reads one of "val=0.1,test=0.1,stratify". */
static bool set_fraction(fg_pack_build_options *o, fgi_str word)
{
    if (fgi_str_equal(word, "stratify")) {
        o->stratify = true;
        return true;
    }
    const bool is_val = word.size > 4 && memcmp(word.data, "val=", 4) == 0;
    const size_t skip = is_val ? 4 : 5;
    double value;
    if ((!is_val && (word.size <= 5 || memcmp(word.data, "test=", 5) != 0)) ||
        !fgi_parse_f64((fgi_str){word.data + skip, word.size - skip}, &value) ||
        !(value > 0 && value < 1))
        return false;
    double *fraction = is_val ? &o->val_fraction : &o->test_fraction;
    const bool is_first = *fraction == 0;
    *fraction = value;
    return is_first;
}

/* The text is only checked here; it is read again when the source is opened. */
static fg_status set_source(fg_pack_build_options *o, const char *name, const char *text,
                            fg_error *err)
{
    fg_catalog_options unused = {0};
    void *texts = NULL;
    (void)name; /* messages have it */
    FGI_TRY(fgi_catalog_options_read(text, &unused, &texts, NULL, err));
    fgi_free(texts);
    o->source = text;
    return FG_OK;
}

static fg_status set_split(fg_pack_build_options *o, const char *name, const char *text,
                           fg_error *err)
{
    o->val_fraction = o->test_fraction = 0;
    o->stratify = false;
    for (const char *at = text;; at++) {
        const size_t size = strcspn(at, ",");
        if (!set_fraction(o, (fgi_str){at, size}))
            break;
        at += size;
        if (*at == '\0' && o->val_fraction + o->test_fraction > 0)
            return FG_OK;
        if (*at == '\0')
            break;
    }
    return refuse(name, text, "fractions such as val=0.1,test=0.1", err);
}

fg_status fgi_pack_build_set(fg_pack_build_options *options, const char *name, const char *text,
                             fg_error *err)
{
    static const struct {
        const char *name;
        fg_status (*set)(fg_pack_build_options *, const char *, const char *, fg_error *);
    } rows[] = {
        {"codec", set_codec},      {"presize", set_presize}, {"split", set_split},
        {"shard-size", set_shard}, {"bad", set_bad},         {"rate", set_rate},
        {"source", set_source},
    };
    for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); i++)
        if (strcmp(integers[i].name, name) == 0)
            return set_int(options, &integers[i], text, err);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].set(options, name, text, err);
    return fgi_fail(err, FG_EINVAL, "'%s' is not an option of fg_pack_build", name);
}

/* ---- defaults and checks --------------------------------------------------------------------- */

static fg_status check_ranges(const fg_pack_build_options *o, fg_error *err)
{
    if ((size_t)o->codec >= CODECS)
        return fgi_fail(err, FG_EINVAL, "codec is %d: expected a value of fg_pack_choice",
                        (int)o->codec);
    if (o->quality < 1 || o->quality > 100)
        return fgi_fail(err, FG_EINVAL, "quality is %d: expected 1 to 100", o->quality);
    if (o->variant_count < 1 || o->variant_count > MOST_VARIANTS)
        return fgi_fail(err, FG_EINVAL, "variant_count is %" PRId64 ": expected 1 to %d",
                        o->variant_count, MOST_VARIANTS);
    if (o->thread_count < 1 || o->thread_count > MOST_THREADS)
        return fgi_fail(err, FG_EINVAL, "thread_count is %d: expected 1 to %d", o->thread_count,
                        MOST_THREADS);
    if (o->limit < 0 || !(o->rate > 0))
        return fgi_fail(err, FG_EINVAL, "limit and rate must not be negative");
    int64_t width = 1, height = 1;
    return fg_image_presize_size(&o->presize, &width, &height, err);
}

static fg_status check_codec(const fg_pack_build_options *o, fg_error *err)
{
    if (o->variant_count > 1 && o->presize.rule != FG_IMAGE_PRESIZE_SQUARE)
        return fgi_fail(err, FG_EINVAL,
                        "%" PRId64 " variants are stored as squares: set their size, such as "
                        "presize square=224",
                        o->variant_count);
    if (o->codec == FG_PACK_CHOICE_FILE &&
        (o->presize.rule != FG_IMAGE_PRESIZE_NONE || o->variant_count > 1))
        return fgi_fail(err, FG_EINVAL,
                        "codec file stores files as they are: presize and variants require another "
                        "codec, such as jpeg");
    return FG_OK;
}

fg_status fgi_packer_options(const fg_pack_build_options *options, fg_pack_build_options *out,
                             fg_error *err)
{
    *out = (fg_pack_build_options){0};
    FGI_TRY_RESERVED(fg_pack_build_options, options, err);
    if (options != NULL)
        *out = *options;
    if (out->quality == 0)
        out->quality = DEFAULT_QUALITY;
    if (out->variant_count == 0)
        out->variant_count = 1;
    if (out->thread_count == 0)
        out->thread_count = fgi_cpu_count();
    out->progress_s = fgi_or_default(out->progress_s, 0.1);
    if (out->rate == 0)
        out->rate = DEFAULT_RATE;
    FGI_TRY(check_ranges(out, err));
    return check_codec(out, err);
}
