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
#include "option/option.h"
#include "packer/packer.h"

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

/* ---- numbers and choices --------------------------------------------------------------------- */

typedef fg_pack_build_options build;

static const fg_option rows[] = {
    FG_OPTION_ENUM(build, codec, "auto", "auto|file|jpeg|jpeg-seg|raw|ycc|dct", "jpeg",
                   "How images are stored."),
    FG_OPTION(build, quality, INT, "90", "1..100", "80",
              "Quality of images that are encoded again."),
    FG_OPTION_AS("variants", build, variant_count, INT, "1", "1..1024", "4",
                 "Number of augmentations of each image that are stored."),
    FG_OPTION_AS("workers", build, thread_count, INT, NULL, "1..1024", "8", "Number of threads."),
    FG_OPTION(build, limit, INT, NULL, "1..9223372036854775807", "1000",
              "Number of samples that are packed."),
    FG_OPTION(build, sequence, INT, NULL, "1..2147483647", "128", "Tokens per sample."),
    FG_OPTION(build, rate, FLOAT, "2000", "0<..", "500", "Images per second that the model needs."),
    {.name = "seed",
     .kind = FG_OPTION_INT,
     .offset = offsetof(build, seed),
     .initial = "0",
     .range = "0..9223372036854775807",
     .example = "42",
     .help = "Seed of the split and the variants."},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* All but the seed, which may have 64 bits in C. */
static const fg_entry row = {
    .name = "", .options = rows, .option_count = ROWS - 1, .size = sizeof(build)};

static fg_status set_row(build *o, const fg_option *option, const char *text, fg_error *err)
{
    const fg_entry one = {.options = option, .option_count = 1, .size = sizeof *o};
    const fg_option_text item = {.text = text};
    fg_option_values *values = NULL;
    void *made = NULL;
    FGI_TRY(fg_option_values_create(NULL, option, 1, &values, err));
    fg_status status =
        fg_option_set_items(values, option->name, &(fg_option_items){&item, 1, NULL}, err);
    if (status == FG_OK)
        status = fgi_row_create(&one, values, &made, err);
    if (status == FG_OK)
        memcpy((char *)o + option->offset, (const char *)made + option->offset,
               option->is_enum ? sizeof(int) : sizeof(int64_t));
    fgi_free(made);
    fg_option_values_destroy(values);
    return status;
}

/* ---- text ------------------------------------------------------------------------------------ */

static fg_status refuse(const char *name, const char *text, const char *expected, fg_error *err)
{
    return fgi_fail(err, FG_EINVAL, "%s: expected %s, got '%s'", name, expected, text);
}

static fg_status set_presize(fg_pack_build_options *o, const char *name, const char *text,
                             fg_error *err)
{
    FGI_TRY_CTX(fg_image_presize_parse(text, &o->presize, err), err, "%s", name);
    return FG_OK;
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
    } others[] = {
        {"presize", set_presize},
        {"split", set_split},
        {"shard-size", set_shard},
        {"bad", set_bad},
    };
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return set_row(options, &rows[i], text, err);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(others[i].name, name) == 0)
            return others[i].set(options, name, text, err);
    return fgi_fail(err, FG_EINVAL, "'%s' is not an option of fg_pack_build", name);
}

/* ---- defaults and checks --------------------------------------------------------------------- */

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
    int64_t width = 1, height = 1;
    void *made = NULL;
    FGI_TRY_RESERVED(fg_pack_build_options, options, err);
    FGI_TRY(fgi_row_of(&row, options, &made, err));
    *out = *(const build *)made;
    fgi_free(made);
    if (out->thread_count == FG_AUTO)
        out->thread_count = fgi_cpu_count();
    out->limit = out->limit != FG_AUTO ? out->limit : 0;
    out->sequence = out->sequence != FG_AUTO ? out->sequence : 0;
    out->progress_s = fgi_or_default(out->progress_s, 0.1);
    FGI_TRY(fg_image_presize_size(&out->presize, &width, &height, err));
    return check_codec(out, err);
}
