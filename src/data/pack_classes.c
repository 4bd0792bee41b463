/* pack_classes.c - labels of the samples of a pack: checked, and converted to the classes that the
 * caller gives, such as those of a trained model.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "catalog/draft.h"
#include "data/pack_samples.h"

/* ---- the given classes ----------------------------------------------------------------------- */

static fg_status check_options(const fg_pack_dataset_options *o, fg_error *err)
{
    const bool has_names = o->class_names != NULL;
    if (o->class_count < 0 || o->class_count > FGI_CLASSES_MAX || has_names != (o->class_count > 0))
        return fgi_fail(err, FG_EINVAL,
                        "fg_pack_dataset_create: class_names and class_count disagree");
    for (int64_t i = 0; i < o->class_count; i++)
        if (o->class_names[i] == NULL)
            return fgi_fail(err, FG_EINVAL,
                            "fg_pack_dataset_create: class_names[%" PRId64 "] is NULL", i);
    return FG_OK;
}

/* The index of a name; -1: none. Searched from `start`: lists usually have the same order. */
static int64_t find(const fg_pack_dataset_options *o, const char *name, int64_t start)
{
    for (int64_t i = 0; i < o->class_count; i++) {
        const int64_t at = (start + i) % o->class_count;
        if (strcmp(o->class_names[at], name) == 0)
            return at;
    }
    return -1;
}

fg_status fgi_pack_classes_map(fgi_pack_samples *s, fg_error *err)
{
    const fg_pack_dataset_options *o = &s->options;
    const int64_t count = fg_pack_info_of(s->pack)->class_count;
    int64_t next = 0;
    FGI_TRY(check_options(o, err));
    if (o->class_count == 0 || count == 0)
        return FG_OK;
    s->class_of = fgi_calloc((size_t)count, sizeof *s->class_of);
    if (s->class_of == NULL)
        return fgi_no_memory(err);
    for (int64_t i = 0; i < count; i++) {
        const int64_t at = find(o, fg_pack_class_name(s->pack, i), next);
        s->class_of[i] = (int32_t)at;
        next = at >= 0 ? at + 1 : next;
    }
    return FG_OK;
}

void fgi_pack_classes_forget(fgi_pack_samples *s)
{
    fgi_free(s->class_of);
    s->class_of = NULL;
}

bool fgi_pack_classes_known(const fgi_pack_samples *s)
{
    const int64_t count = s->class_of != NULL ? fg_pack_info_of(s->pack)->class_count : 0;
    for (int64_t i = 0; i < count; i++)
        if (s->class_of[i] < 0)
            return false;
    return true;
}

/* ---- labels ---------------------------------------------------------------------------------- */

int32_t fgi_pack_class_of(const fgi_pack_samples *s, int32_t label)
{
    const bool is_class = label >= 0 && label < fg_pack_info_of(s->pack)->class_count;
    return s->class_of != NULL && is_class ? s->class_of[label] : label;
}

static fg_status unknown_class(const fgi_pack_samples *s, int64_t record, int32_t label,
                               fg_error *err)
{
    const fg_pack_dataset_options *o = &s->options;
    char name[FGI_PACK_SAMPLE_NAME], text[FGI_SHOWN_BYTES], classes[FGI_SHOWN_BYTES];
    return fgi_fail(
        err, FG_EFORMAT, "%s has the class '%s': expected one of %s",
        fgi_pack_record_name(s, record, name), fgi_shown(fg_pack_class_name(s->pack, label), text),
        fgi_shown_names(o->class_names, (size_t)o->class_count, classes, sizeof(classes)));
}

fg_status fgi_pack_check_label(const fgi_pack_samples *s, int64_t record, int32_t label,
                               fg_error *err)
{
    const int64_t classes = fg_pack_info_of(s->pack)->class_count;
    char name[FGI_PACK_SAMPLE_NAME];
    if (label >= 0 && label < classes)
        return fgi_pack_class_of(s, label) >= 0 ? FG_OK : unknown_class(s, record, label, err);
    if (label == FG_PACK_NO_LABEL)
        return fgi_fail(err, FG_EINVAL,
                        "%s has no label, but the pack has classes: expected a label for each "
                        "sample",
                        fgi_pack_record_name(s, record, name));
    return fgi_fail(
        err, FG_EFORMAT, "%s has label %" PRId32 ", but the pack has %" PRId64 " class%s",
        fgi_pack_record_name(s, record, name), label, classes, classes == 1 ? "" : "es");
}

fg_status fgi_pack_classes_list(const fgi_pack_samples *s, const char ***out, int64_t *out_count,
                                fg_error *err)
{
    const fg_pack_dataset_options *o = &s->options;
    const bool is_mapped = s->class_of != NULL;
    const int64_t count = o->images.no_labels ? 0
                          : is_mapped         ? o->class_count
                                              : fg_pack_info_of(s->pack)->class_count;
    *out = NULL;
    *out_count = count;
    if (count == 0)
        return FG_OK;
    *out = fgi_calloc((size_t)count, sizeof **out);
    for (int64_t i = 0; *out != NULL && i < count; i++)
        (*out)[i] = is_mapped ? o->class_names[i] : fg_pack_class_name(s->pack, i);
    return *out != NULL ? FG_OK : fgi_no_memory(err);
}
