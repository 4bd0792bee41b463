/* catalog_split.c - divides samples into splits. Units (groups, or samples without one) are sorted
 * by a hash of their name, so that the result neither depends on the order of the source nor
 * changes much when samples are added.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/data.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"
#include "base/text.h"
#include "catalog/draft.h"

/* Samples that go to the same split. */
typedef struct unit {
    fgi_hash hash;
    const char *name;
    bool is_group;
    int32_t label;
    size_t samples; /* that are divided */
    uint8_t split;
} unit;

/* A sample of a group, to count its labels. */
typedef struct member {
    size_t unit;
    int32_t label;
} member;

typedef struct division {
    const fg_catalog *catalog;
    const fg_catalog_split_options *options;
    unit *units; /* groups by number - 1, then one for each sample, used without a group */
    unit **sorted;
    member *members;
    size_t unit_count, member_count;
} division;

static bool is_fixed(uint8_t split) { return split == FG_VAL || split == FG_TEST; }

/* ---- units ----------------------------------------------------------------------------------- */

static bool hash_name(uint64_t seed, const char *name, fgi_hash *out)
{
    const size_t size = strlen(name);
    unsigned char *text = fgi_alloc(size + 8);
    if (text == NULL)
        return false;
    for (int i = 0; i < 8; i++)
        text[i] = (unsigned char)(seed >> (8 * i));
    memcpy(text + 8, name, size);
    *out = fgi_hash_bytes(text, size + 8);
    fgi_free(text);
    return true;
}

static unit *unit_of(const division *d, size_t i)
{
    const int32_t group = d->catalog->samples[i].group;
    return &d->units[group > 0 ? (size_t)group - 1 : d->catalog->group_count + i];
}

/* Groups that the source has in val or test stay there. */
static fg_status fix_groups(division *d, fg_error *err)
{
    char shown[FGI_SHOWN_BYTES];
    const fg_catalog *c = d->catalog;
    for (size_t i = 0; i < c->count; i++) {
        const fgi_sample *s = &c->samples[i];
        if (s->group == 0 || !is_fixed(s->split))
            continue;
        unit *u = unit_of(d, i);
        if (is_fixed(u->split) && u->split != s->split)
            return fgi_fail(err, FG_EINVAL, "fg_catalog_split: group '%s' is in val and in test",
                            fgi_shown(c->groups[s->group - 1], shown));
        u->split = s->split;
    }
    return FG_OK;
}

static fg_status make_units(division *d, fg_error *err)
{
    const fg_catalog *c = d->catalog;
    for (size_t i = 0; i < c->count; i++) {
        const fgi_sample *s = &c->samples[i];
        unit *u = unit_of(d, i);
        if (is_fixed(s->split) || is_fixed(u->split))
            continue;
        const bool is_new = u->samples++ == 0;
        u->is_group = s->group > 0;
        if (is_new) {
            u->name = u->is_group ? c->groups[s->group - 1] : s->name;
            u->label = s->label;
            if (!hash_name(d->options->seed, u->name, &u->hash))
                return fgi_no_memory(err);
            d->sorted[d->unit_count++] = u;
        }
        if (u->is_group)
            d->members[d->member_count++] = (member){(size_t)(u - d->units), s->label};
    }
    return FG_OK;
}

static int by_unit_and_label(const void *a, const void *b)
{
    const member *x = a, *y = b;
    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    return (x->label > y->label) - (x->label < y->label);
}

/* The label of a group is that of most of its samples. */
static void label_groups(division *d)
{
    qsort(d->members, d->member_count, sizeof(*d->members), by_unit_and_label);
    size_t most = 0;
    for (size_t i = 0, run; i < d->member_count; i += run) {
        const member *m = &d->members[i];
        for (run = 1; i + run < d->member_count && by_unit_and_label(m, m + run) == 0;)
            run++;
        if (i == 0 || m[-1].unit != m->unit)
            most = 0;
        if (run > most) {
            most = run;
            d->units[m->unit].label = m->label;
        }
    }
}

static int by_hash(const unit *x, const unit *y)
{
    if (x->hash.hi != y->hash.hi)
        return x->hash.hi < y->hash.hi ? -1 : 1;
    if (x->hash.lo != y->hash.lo)
        return x->hash.lo < y->hash.lo ? -1 : 1;
    const int order = strcmp(x->name, y->name);
    return order != 0 ? order : (int)x->is_group - (int)y->is_group;
}

static int by_order(const void *a, const void *b)
{
    return by_hash(*(unit *const *)a, *(unit *const *)b);
}

static int by_label_and_order(const void *a, const void *b)
{
    const unit *x = *(unit *const *)a, *y = *(unit *const *)b;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    return by_hash(x, y);
}

/* ---- assignment ------------------------------------------------------------------------------ */

static size_t target_of(double fraction, size_t before, size_t after)
{
    return (size_t)(floor(fraction * (double)after + 0.5) - floor(fraction * (double)before + 0.5));
}

/* Whether one more unit brings the number of samples closer to the target. */
static bool is_closer(size_t have, size_t more, size_t target)
{
    return 2 * have + more < 2 * target;
}

/* Assigns the units first..last-1, before which there are `before` samples. Returns the number of
 * samples including them. */
static size_t assign_class(division *d, size_t first, size_t last, size_t before)
{
    size_t after = before, test = 0, val = 0;
    for (size_t i = first; i < last; i++)
        after += d->sorted[i]->samples;
    const size_t test_target = target_of(d->options->test_fraction, before, after);
    const size_t val_target = target_of(d->options->val_fraction, before, after);
    for (size_t i = first; i < last; i++) {
        unit *u = d->sorted[i];
        if (is_closer(test, u->samples, test_target)) {
            u->split = FG_TEST;
            test += u->samples;
        } else if (is_closer(val, u->samples, val_target)) {
            u->split = FG_VAL;
            val += u->samples;
        } else {
            u->split = FG_TRAIN;
        }
    }
    return after;
}

static void assign(division *d)
{
    const bool stratify = d->options->stratify;
    qsort(d->sorted, d->unit_count, sizeof(unit *), stratify ? by_label_and_order : by_order);
    size_t samples = 0;
    for (size_t first = 0, last; first < d->unit_count; first = last) {
        for (last = first + 1; last < d->unit_count; last++)
            if (stratify && d->sorted[last]->label != d->sorted[first]->label)
                break;
        samples = assign_class(d, first, last, samples);
    }
}

static fg_status copy_splits(const division *d, uint8_t *out_splits, fg_error *err)
{
    static const char *const names[] = {[FG_TRAIN] = "train", [FG_VAL] = "val", [FG_TEST] = "test"};
    const fg_catalog_split_options *o = d->options;
    const bool is_wanted[] = {
        [FG_TRAIN] = true, [FG_VAL] = o->val_fraction > 0, [FG_TEST] = o->test_fraction > 0};
    size_t counts[3] = {0};
    for (size_t i = 0; i < d->catalog->count; i++) {
        const uint8_t own = d->catalog->samples[i].split;
        out_splits[i] = is_fixed(own) ? own : unit_of(d, i)->split;
        counts[out_splits[i]]++;
    }
    for (int k = FG_TRAIN; k <= FG_TEST; k++)
        if (is_wanted[k] && counts[k] == 0)
            return fgi_fail(
                err, FG_EINVAL,
                "fg_catalog_split: the split %s would be empty: the %zu sample%s form%s "
                "only %zu group%s, counting samples without a group",
                names[k], d->catalog->count, fgi_s(d->catalog->count),
                d->catalog->count == 1 ? "s" : "", d->unit_count, fgi_s(d->unit_count));
    return FG_OK;
}

static fg_status divide(division *d, uint8_t *out_splits, fg_error *err)
{
    for (size_t i = 0; i < d->catalog->count + d->catalog->group_count; i++)
        d->units[i].split = FG_CATALOG_NO_SPLIT;
    FGI_TRY(fix_groups(d, err));
    FGI_TRY(make_units(d, err));
    label_groups(d);
    assign(d);
    return copy_splits(d, out_splits, err);
}

fg_status fg_catalog_split(const fg_catalog *catalog, const fg_catalog_split_options *options,
                           uint8_t *out_splits, fg_error *err)
{
    const fg_catalog_split_options none = {0};
    const fg_catalog_split_options *o = options != NULL ? options : &none;
    FGI_TRY_RESERVED(fg_catalog_split_options, o, err);
    if (!(o->val_fraction >= 0 && o->test_fraction >= 0 && o->val_fraction + o->test_fraction < 1))
        return fgi_fail(err, FG_EINVAL,
                        "fg_catalog_split: expected fractions of at least 0 whose sum is below 1");
    const size_t units = catalog->count + catalog->group_count;
    division d = {.catalog = catalog,
                  .options = o,
                  .units = fgi_calloc(units, sizeof(unit)),
                  .sorted = fgi_calloc(units, sizeof(unit *)),
                  .members = fgi_calloc(catalog->count, sizeof(member))};
    fg_status status;
    if (d.units == NULL || d.sorted == NULL || d.members == NULL)
        status = fgi_no_memory(err);
    else
        status = divide(&d, out_splits, err);
    fgi_free(d.units);
    fgi_free(d.sorted);
    fgi_free(d.members);
    return status;
}

int64_t fg_catalog_class_counts(const fg_catalog *catalog, const uint8_t *splits, int split,
                                int64_t *out_counts)
{
    int64_t without = 0;
    for (int64_t k = 0; k < catalog->class_count; k++)
        out_counts[k] = 0;
    for (size_t i = 0; i < catalog->count; i++) {
        const fgi_sample *s = &catalog->samples[i];
        if (split != -1 && (splits != NULL ? splits[i] : s->split) != split)
            continue;
        without += s->label_count == 0;
        for (uint32_t k = 0; k < s->label_count; k++)
            out_counts[s->labels != NULL ? s->labels[k] : s->label]++;
    }
    return without;
}
