/* pack_for.c - what a configuration needs of a pack of images: their size, and how many per second.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/host.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "recipe/plan/run_plan.h"
#include "recipe/run/run.h"
#include "recipe/run/run_format.h"
#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "input/json_file.h"
#include "report/run_view.h"

static const double MEASURED_S = 0.25;
enum { MOST_BATCH = 64 };

/* ---- the size -------------------------------------------------------------------------------- */

/* The format must crop images to the options that choose_size reads. */
static fg_status check_format(const fgi_config *c, const char *config, fg_error *err)
{
    const fg_format_entry *format = NULL;
    FGI_TRY(fgi_run_format_find(c, &format, err));
    if (fgi_run_format_offers(format, "size") && fgi_run_format_offers(format, "crop") &&
        fgi_run_format_offers(format, "center_fraction"))
        return FG_OK;
    return fgi_fail(err, FG_EINVAL,
                    "'%s' has data.format %s: expected a configuration that trains on images or on "
                    "a pack of images",
                    config, format->entry.name);
}

int64_t fgi_presize_short(int64_t size, double center_fraction)
{
    return (int64_t)ceil((double)size / center_fraction - 1e-6);
}

/* Windows are cut from images at their own size; others are resized, so they can be stored with the
 * size that validation needs. */
static void choose_size(const fg_recipe *r, fg_pack_build_options *options)
{
    const fgi_config *c = r->c;
    const int64_t size = fg_option_int(c->values, "data.size");
    if (options->presize.rule != FG_IMAGE_PRESIZE_NONE)
        return;
    if (strcmp(fg_option_string(c->values, "data.crop"), "window") == 0) {
        fgi_run_say(r, FG_LOG_INFO,
                    "'%s' trains on windows of images at their own size, so they are stored at "
                    "that size",
                    r->options.config);
        return;
    }
    options->presize.rule = FG_IMAGE_PRESIZE_SHORT;
    options->presize.size =
        fgi_presize_short(size, fg_option_float(c->values, "data.center_fraction"));
    fgi_run_say(r, FG_LOG_INFO,
                "'%s' trains on %" PRId64 "x%" PRId64 " pixels: images are stored with a shorter "
                "side of %" PRId64 " pixels",
                r->options.config, size, size, options->presize.size);
}

/* Whether the host crops or flips the images: a pack of DCT coefficients then cannot be trained on,
 * or would be trained on differently. */
static bool crops_on_host(const fgi_config *c)
{
    static const char *const paths[] = {"data.size",       "data.crop", "data.crop_scale",
                                        "data.crop_ratio", "data.flip", "data.center_fraction"};
    bool crops = strcmp(c->data.format, "images") == 0;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        const fgi_config_key *key = fgi_config_find(NULL, paths[i]);
        crops = crops || (fg_option_is_given(c->values, paths[i]) &&
                          strcmp(fgi_config_format(c, key->path), key->option->initial) != 0);
    }
    return crops;
}

static void choose_codecs(const fg_recipe *r, fg_pack_build_options *options)
{
    options->host_crops = crops_on_host(r->c);
    if (options->host_crops && options->codec == FG_PACK_CHOICE_DCT)
        fgi_run_say(r, FG_LOG_WARNING,
                    "'%s' crops or flips images on the host, but those of codec dct are decoded "
                    "whole by the device: to train on this pack, use data.augment instead of "
                    "data.size, crop, flip and center_fraction",
                    r->options.config);
}

/* ---- the speed of the loader ----------------------------------------------------------------- */

/* The configuration's training samples, from another pack. */
static fg_status open_samples(const fg_recipe *r, const char *path, fg_dataset **out, fg_error *err)
{
    fgi_run_format format = {0};
    fg_format_data data = {.samples = NULL};
    FGI_TRY(fgi_config_set(r->c, "data.format", "pack", "", err));
    FGI_TRY(fgi_config_set(r->c, "data.train", path, "", err));
    FGI_TRY(fgi_config_reset(r->c, "data.val", err));
    fg_status status = fgi_run_format_init(r->c, NULL, true, &format, err);
    format.request.needs_target = false;
    format.request.val_fraction = 0;
    if (status == FG_OK)
        status = fgi_run_format_open(&format, FG_PART_TRAIN, &data, err);
    *out = data.samples;
    data.samples = NULL;
    fgi_run_format_release(&data);
    fgi_run_format_fini(&format);
    return status;
}

/* A batch for measuring. The time of a sample hardly depends on it, unless there is padding. */
static int64_t batch_of(const fgi_config *c, const fg_dataset *samples)
{
    const int64_t wanted = c->batches.batch_size;
    const int64_t most = wanted < MOST_BATCH ? wanted : MOST_BATCH;
    return most < fg_dataset_count(samples) ? most : fg_dataset_count(samples);
}

/* An fg_pack_measure_fn whose self is the options of the recipe. */
static fg_status measure(void *self, const char *path, double *out_rate, fg_error *err)
{
    fg_recipe_options options = *(const fg_recipe_options *)self;
    fg_recipe *r = NULL;
    fg_dataset *samples = NULL;
    fg_input_rate rate = {0};
    options.message = NULL;
    FGI_TRY(fg_recipe_open(&options, NULL, &r, err));
    fg_status status = open_samples(r, path, &samples, err);
    if (status == FG_OK)
        status = fgi_run_input_rate(r->c, samples, batch_of(r->c, samples), MEASURED_S, &rate, err);
    *out_rate = rate.samples_per_s;
    fg_dataset_destroy(samples);
    fg_recipe_close(r);
    return status;
}

/* ---- the machine ----------------------------------------------------------------------------- */

/* The machine of this host, if it can be planned for and the configuration would use it: "v5e:2x4".
 */
static bool find_machine(const fgi_config *c, char out[64])
{
    fg_host *host = NULL;
    fg_topology_info topology;
    const char *accelerator = c->trainer.devices.accelerator;
    *out = '\0';
    if (fg_host_open(NULL, &host, NULL) != FG_OK)
        return false;
    const fg_host_info *info = fg_host_info_of(host);
    if (*info->tpu != '\0' && *info->tpu_topology != '\0')
        (void)fgi_snprintf(out, 64, "%s:%s", info->tpu, info->tpu_topology);
    else if (*info->tpu_type != '\0')
        (void)fgi_snprintf(out, 64, "%s", info->tpu_type);
    fg_host_close(host);
    return *out != '\0' && fg_topology_describe(out, &topology, NULL) == FG_OK &&
           (strcmp(accelerator, "auto") == 0 || strcmp(accelerator, topology.accelerator) == 0);
}

static fg_status no_machine(const fgi_config *c, const char *config, fg_error *err)
{
    return fgi_fail(err, FG_EINVAL,
                    "'%s' (trainer.accelerator %s): the speed of the model can be estimated for "
                    "TPUs and GPUs only: name one, such as --topology=kaggle or --topology=h100, "
                    "or give the images per second that the model needs, such as --rate=500",
                    config, c->trainer.devices.accelerator);
}

/* ---- the rate -------------------------------------------------------------------------------- */

/* Takes the rate of one host from the plan of a machine. */
static fg_status read_plan(const fg_recipe *r, const json_t *plan, const char *machine,
                           fg_pack_build_options *options, fg_error *err)
{
    char words[32];
    const double rate = fgi_json_number(plan, "input_host_samples_per_s");
    const double measured = fgi_json_number(plan, "input_measured_samples_per_s");
    const double batch = fgi_json_number(plan, "global_batch_size");
    const char *problem = json_string_value(json_object_get(plan, "error"));
    if (problem == NULL && json_is_false(json_object_get(plan, "fits")))
        problem = json_string_value(json_object_get(plan, "reason"));
    if (problem == NULL && !(rate > 0 && isfinite(rate)))
        problem = "the compiler does not estimate the time of a step";
    if (problem != NULL)
        return fgi_fail(
            err, FG_EUNSUPPORTED,
            "planning '%s' for %s: %s\n--rate sets the images per second that the model "
            "needs without a plan",
            r->options.config, machine, problem);
    options->rate = rate;
    fgi_run_say(r, FG_LOG_INFO,
                "on %s, a step with %.0f image%s takes %s by the compiler's estimate: %s "
                "needs %.0f images/s",
                machine, batch, batch == 1 ? "" : "s",
                fgi_duration_words(fgi_json_number(plan, "estimated_step_s"), words),
                fgi_json_number(plan, "hosts") > 1 ? "each host" : "the model", rate);
    if (measured > 0)
        fgi_run_say(r, FG_LOG_INFO, "without the pack, this host delivers %.0f images/s", measured);
    return FG_OK;
}

static fg_status plan_rate(const fg_recipe *r, const fgi_pack_planner *planner,
                           fg_pack_build_options *options, fg_error *err)
{
    char found[64];
    fg_topology_info info;
    json_t *root = NULL;
    const char *machine = planner->topology;
    if (machine == NULL && find_machine(r->c, found))
        machine = found;
    if (machine == NULL)
        return no_machine(r->c, r->options.config, err);
    if (strchr(machine, ',') != NULL)
        return fgi_fail(err, FG_EINVAL, "topology '%s': expected one machine", machine);
    FGI_TRY(fg_topology_describe(machine, &info, err));
    fgi_run_say(r, FG_LOG_INFO, "compiling the training step of '%s' for %s", r->options.config,
                machine);
    FGI_TRY(planner->plan(planner->self, machine, &root, err));
    const fg_status status =
        read_plan(r, json_array_get(json_object_get(root, "topologies"), 0), machine, options, err);
    json_decref(root);
    return status;
}

fg_status fgi_pack_for(const fg_recipe_options *recipe, const fgi_pack_planner *planner,
                       fg_pack_build_options *options, fg_error *err)
{
    fg_recipe *r = NULL;
    if (recipe->config == NULL)
        return fgi_fail(err, FG_EINVAL, "name the configuration that will train on the pack");
    FGI_TRY(fg_recipe_open(recipe, NULL, &r, err));
    fg_status status = check_format(r->c, recipe->config, err);
    if (status == FG_OK) {
        choose_size(r, options);
        choose_codecs(r, options);
        options->measure = measure;
        options->measure_self = (void *)recipe;
    }
    if (status == FG_OK && options->codec == FG_PACK_CHOICE_AUTO && options->rate == 0)
        status = plan_rate(r, planner, options, err);
    fg_recipe_close(r);
    return status;
}
