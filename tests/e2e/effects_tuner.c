/* effects_tuner.c - the search for a learning rate before a fit: its range, steps, sweeps, end and
 * smoothing, as lr_find.json of the run's folder has them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "effects.h"

#include <math.h>
#include <string.h>

static double at(const json_t *array, size_t i)
{
    return json_number_value(json_array_get(array, i));
}

/* Runs a search and a step; the result is released by the caller. */
static json_t *search(const effect *e, const char *folder)
{
    json_error_t fault;
    (void)effects_fit(0, folder,
                      EFFECTS_NPY
                      "--tuner.lr_find=true --trainer.batch_size=12 --trainer.max_steps=1 %s",
                      e->arguments);
    json_t *root = json_loads(file_text(folder, "run/lr_find.json"), 0, &fault);
    assert_non_null(root);
    return root;
}

/* The first and second learning rate are value and scale; there are `count` segments, if given. */
static void range(const effect *e, const char *folder)
{
    json_t *root = search(e, folder);
    const json_t *lr = json_object_get(root, "lr");
    fgt_close("first", at(lr, 0), e->value, 1e-8 * e->value, 0);
    fgt_close("second", at(lr, 1), e->scale, 1e-6 * e->scale, 0);
    if (e->count > 0)
        assert_int_equal(json_array_size(json_object_get(root, "loss")), e->count);
    json_decref(root);
}

/* optimizer.lr is the suggestion named by `says`, rounded to four digits, and the step uses it. */
static void suggestion(const effect *e, const char *folder)
{
    json_t *root = search(e, folder);
    const double found =
        json_number_value(json_object_get(json_object_get(root, "suggestions"), e->says));
    const double used = json_number_value(json_object_get(root, "optimizer_lr"));
    assert_true(found > 0);
    fgt_close(e->says, used, found, 1e-3 * found, 0);
    json_decref(root);
    const json_t *summary = effects_fit(
        0, folder,
        EFFECTS_NPY "--tuner.lr_find=true --trainer.batch_size=12 --trainer.max_steps=1 %s",
        e->arguments);
    fgt_close("lr", effects_number(summary, "lr"), used, 1e-6 * used, 0);
}

/* The learning rates that were tried. */
static void length(const effect *e, const char *folder)
{
    json_t *root = search(e, folder);
    const int found = (int)json_array_size(json_object_get(root, "lr"));
    if (found < e->value || found > e->scale)
        fail_msg("%s: %d learning rates", e->key, found);
    json_decref(root);
}

/* How far the smoothed curve of one segment is from its losses at most. */
static double distance(const effect *e, const char *folder)
{
    json_t *root = search(e, folder);
    const json_t *smoothed = json_object_get(root, "smoothed");
    const json_t *loss = json_array_get(json_object_get(root, "loss"), 0);
    double most = 0;
    for (size_t i = 0; i < json_array_size(smoothed); i++)
        most = fmax(most, fabs(at(smoothed, i) - at(loss, i)));
    json_decref(root);
    return most;
}

/* A fit as narrow as in `says` follows the losses; a wider one leaves them, `value` times as far.
 */
static void smoothing(const effect *e, const char *folder)
{
    const effect narrow = {.key = e->key, .arguments = e->says};
    const double near = distance(&narrow, folder), far = distance(e, folder);
    if (!(near > 0 && far > e->value * near))
        fail_msg("%s: %g and %g", e->key, near, far);
}

const effect effects_tuner[] = {
    {"tuner.lr_find", "", suggestion, .says = "valley"},
    {"tuner.suggestion", "--tuner.suggestion=valley", suggestion, .says = "valley"},
    {"tuner.suggestion", "--tuner.suggestion=steep", suggestion, .says = "steep"},
    {"tuner.suggestion", "--tuner.suggestion=slide", suggestion, .says = "slide"},
    {"tuner.suggestion", "--tuner.suggestion=minimum", suggestion, .says = "minimum"},
    {"tuner.min_lr", "--tuner.min_lr=1e-5 --tuner.steps=13", range, .value = 1e-5,
     .scale = 3.16227766e-5},
    {"tuner.max_lr", "--tuner.max_lr=100 --tuner.steps=19", range, .value = 1e-7,
     .scale = 3.16227766e-7},
    {"tuner.steps", "--tuner.steps=17", range, .value = 1e-7, .scale = 3.16227766e-7},
    {"tuner.sweep", "--tuner.sweep=linear --tuner.min_lr=0.5 --tuner.max_lr=5.5 --tuner.steps=11",
     range, .value = 0.5, .scale = 1},
    {"tuner.segments", "--tuner.segments=2 --tuner.steps=17", range, .value = 1e-7,
     .scale = 3.16227766e-7, .count = 2},
    {"tuner.diverged", "--tuner.max_lr=1e4 --tuner.steps=60 --tuner.diverged=0", length,
     .value = 60, .scale = 60},
    {"tuner.diverged", "--tuner.max_lr=1e4 --tuner.steps=60 --tuner.diverged=1", length,
     .value = 10, .scale = 58},
    {"tuner.smoothing", "--tuner.segments=1 --tuner.smoothing=0.5", smoothing,
     .says = "--tuner.segments=1 --tuner.smoothing=1e-6", .value = 10},
    {0},
};
