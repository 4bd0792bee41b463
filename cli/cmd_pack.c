/* fulgurite pack SOURCE OUT: packs images into few big files; and the subcommands that read packs.
 *
 * To add a subcommand, write its cli_command with a name such as "pack info", and add its row to
 * `subcommands`.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include <fulgurite/packer.h>

#include "pack_read.h"
#include "plan_process.h"
#include "recipe/plan/run_plan.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "catalog/catalog_options.h"
#include "packer/packer.h"

static bool is_quiet, is_check;
static fg_pack_build_options settings = {.handle_signals = true};
static fg_recipe_options user; /* the configuration that will train on the pack */
static const char *topology;   /* the machine that will */
enum { TEXTS = 12 };
static const char *texts[TEXTS];
static const char *source_options;
static const cli_option options[] = {
    CLI_TEXT(
        0, "presize", &texts[0], "none|RULE",
        "store images at this size: short=256, max=400 or square=224; with\n"
        "                                square=224,upscale smaller images are enlarged [none]"),
    CLI_TEXT(0, "codec", &texts[1], "auto|file|jpeg|jpeg-seg|raw|ycc|dct",
             "how images are stored [auto: smallest that reaches --rate]"),
    CLI_TEXT(0, "rate", &texts[2], "N", "images per second that the model needs [2000, or --for]"),
    CLI_TEXT(0, "quality", &texts[3], "N", "quality of images that are encoded again [90]"),
    CLI_TEXT(0, "variants", &texts[4], "K", "store K augmentations of each image [1: the image]"),
    CLI_TEXT(0, "split", &texts[5], "FRACTIONS", "divide at random: val=0.1,test=0.1[,stratify]"),
    CLI_TEXT(0, "seed", &texts[6], "N", "seed of --split and --variants [0]"),
    CLI_TEXT(0, "bad", &texts[7], "fail|skip", "what to do with unreadable images [fail]"),
    CLI_TEXT(0, "limit", &texts[8], "N",
             "only pack N images, evenly spaced; for arrays, N per split"),
    CLI_TEXT(0, "shard-size", &texts[9], "SIZE", "start a new file at this size: 1GB, 256MiB"),
    CLI_TEXT(0, "workers", &texts[10], "N", "number of threads [number of CPUs]"),
    CLI_TEXT(0, "sequence", &texts[11], "N", "pack a token or text file: N tokens per sample"),
    CLI_TEXT(0, "source", &source_options, "OPTIONS",
             "names in SOURCE: '{path_column: file, label_column: class}'"),
    CLI_TEXT(0, "for", &user.config, "CONFIG.yaml",
             "take size and rate from the configuration that will train on the pack"),
    CLI_TEXT('t', "topology", &topology, "NAME",
             "with --for, the machine that will train: kaggle, v3-8, h100 ... [TPU of this host]"),
    CLI_FLAG(0, "tolerate-corruption", &settings.tolerate_corruption,
             "decode what is left of truncated and corrupt JPEGs"),
    CLI_FLAG(0, "check", &is_check, "decode all images and list those that are bad; pack nothing"),
    CLI_FLAG(0, "restart", &settings.restart, "discard an interrupted pack instead of continuing"),
    CLI_FLAG(0, "replace", &settings.replace, "replace an existing pack"),
    CLI_FLAG('q', "quiet", &is_quiet, "no progress"),
    CLI_END,
};

static fg_status set_options(fg_error *err)
{
    for (int i = 0; i < TEXTS; i++)
        if (texts[i] != NULL)
            FGI_TRY(fgi_pack_build_set(&settings, options[i].name, texts[i], err));
    return FG_OK;
}

static void print_line(void *self, fg_log_level level, const char *line)
{
    (void)fprintf(self, "%s\n", line);
}

static fg_status plan_user(void *self, const char *machine, json_t **out, fg_error *err)
{
    const plan_process plan = {.config = user.config,
                               .options.no_search = true,
                               .time_limit_s = 900,
                               .memory_limit_bytes = 12e9,
                               .is_quiet = true};
    (void)self;
    return plan_process_one(&plan, machine, out, err);
}

/* Takes size and rate from the configuration; then sets the options again, for --presize=none. */
static fg_status fit_to_user(fg_error *err)
{
    const fgi_pack_planner planner = {.topology = topology, .plan = plan_user};
    user.message = is_quiet ? NULL : print_line;
    user.message_self = stderr;
    FGI_TRY(fgi_pack_for(&user, &planner, &settings, err));
    return set_options(err);
}

/* Prints what cannot be decoded, a line each. */
static int check(const char *source)
{
    fg_error err = {0};
    fg_pack_built built;
    const fg_status status = fg_pack_check_source(source, &settings, &built, &err);
    const int code = status == FG_ESTOPPED ? CLI_STOPPED : CLI_FAILED;
    if (status != FG_OK)
        return cli_complain(status == FG_EINVAL ? CLI_USAGE : code, "pack", "%s", err.message);
    for (size_t i = 0; i < built.bad_count; i++)
        (void)printf("%s\n", built.bad[i].reason);
    if (!is_quiet)
        (void)fprintf(stderr,
                      "%lld image%s can be decoded, %lld of them with a warning; %zu cannot; %lld "
                      "other file%s\n",
                      (long long)built.sample_count, fgi_s(built.sample_count),
                      (long long)built.flawed_count, built.bad_count, (long long)built.skip_count,
                      built.skip_count == 1 ? " is not an image" : "s are not images");
    const bool is_bad = built.bad_count > 0;
    fg_pack_built_fini(&built);
    return is_bad ? CLI_FAILED : CLI_DONE;
}

/* What was probably not meant: images that are skipped, classes without images. */
static void on_log(void *self, fg_log_level level, const char *line)
{
    (void)self;
    if (level >= FG_LOG_WARNING)
        (void)fprintf(stderr, "warning: %s\n", line);
}

static int pack(const cli_call *call)
{
    fg_error err = {0};
    fg_pack_built built;
    char text[1024];
    if (set_options(&err) != FG_OK)
        return cli_complain(CLI_USAGE, "pack", "--%s", err.message);
    settings.progress = is_quiet ? NULL : fg_pack_progress_draw;
    settings.progress_self = stderr;
    settings.progress_s = isatty(STDERR_FILENO) ? 0 : 10; /* a line in a log */
    fg_log_set(is_quiet ? NULL : on_log, NULL);
    if (is_check && call->count > 1)
        return cli_complain(CLI_USAGE, "pack", "--check packs nothing: leave out '%s'",
                            call->args[1]);
    if (is_check)
        return check(call->args[0]);
    if (call->count < 2)
        return cli_complain(CLI_USAGE, "pack",
                            "expected SOURCE OUT.pack, got only '%s'; to check the images without "
                            "packing them: pack --check SOURCE",
                            call->args[0]);
    fg_status status = user.config != NULL || topology != NULL ? fit_to_user(&err) : FG_OK;
    if (status != FG_OK)
        return cli_complain(status == FG_EINVAL ? CLI_USAGE : CLI_FAILED, "pack", "--for: %s",
                            err.message);
    status = fg_pack_build(call->args[0], call->args[1], &settings, &built, &err);
    const int code = status == FG_ESTOPPED ? CLI_STOPPED : CLI_FAILED;
    if (status != FG_OK)
        return cli_complain(status == FG_EINVAL ? CLI_USAGE : code, "pack", "%s", err.message);
    (void)printf("%s\t%lld record%s\n", call->args[1], (long long)built.record_count,
                 fgi_s(built.record_count));
    if (!is_quiet)
        (void)fputs(fgi_pack_built_text(&built, call->args[1], text, sizeof(text)), stderr);
    fg_pack_built_fini(&built);
    return CLI_DONE;
}

static int run(const cli_call *call)
{
    fg_error err = {0};
    fg_catalog_options catalog = {0};
    void *strings = NULL;
    if (fgi_catalog_options_read(source_options, NULL, &catalog, &strings, &err) != FG_OK)
        return cli_complain(CLI_USAGE, "pack", "--%s", err.message);
    settings.catalog = &catalog;
    const int code = pack(call);
    fgi_free(strings);
    return code;
}

static const cli_command *const subcommands[] = {
    &cli_pack_info, &cli_pack_verify, &cli_pack_rebuild, &cli_pack_export, &cli_pack_show, NULL};

const cli_command cli_pack = {
    .name = "pack",
    .arguments = "SOURCE [OUT.pack]",
    .summary = "pack images into a few large files that load faster",
    .details = "SOURCE is an image folder with a folder per class, a CSV or JSONL list, tar files "
               "(WebDataset), TFRecord files, a folder of MNIST (IDX), CIFAR-10 or .npy files, one "
               ".npy or .npz file, or a file of tokens or text (--sequence). If SOURCE has the "
               "name of a subcommand, write it as a path: ./info. An interrupted pack is continued "
               "when the same command "
               "is started again. Images that cannot be read are listed in OUT.pack.bad.jsonl.",
    .options = options,
    .min_args = 1,
    .max_args = 2,
    .run = run,
    .subcommands = subcommands,
};
