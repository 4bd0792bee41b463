/* mix.c - a dataset that mixes others by weight. An epoch has a fixed number of samples of each
 * part (a dataset of the mix). A permutation keyed by the epoch says from which part each sample of
 * the epoch is, and which of the part's samples of this epoch it is; the part's samples of all
 * epochs, one after the other, are repeated passes over the part, each in a separate random order.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/sampling.h>
#include <inttypes.h>
#include <math.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/reserved.h"
#include "base/rng.h"
#include "data/dataset.h"
#include "data/encoding.h"

enum { AT_ONCE = 64 }; /* samples to ask for */

typedef struct part {
    fg_dataset *dataset; /* held */
    int64_t first;       /* samples of the epoch that are from the parts before this one */
    int64_t count;       /* samples of the epoch that are from this part */
    fgi_key key;
} part;

typedef struct mix {
    int64_t count; /* samples per epoch */
    fgi_key order;
    size_t part_count;
    part parts[];
} mix;

static const part *find_part(const mix *m, int64_t place)
{
    const part *p = m->parts;
    while (place - p->first >= p->count)
        p++;
    return p;
}

/* A sample of a part, in one of the passes over the part. */
typedef struct drawn {
    const part *from;
    int64_t pass, sample;
} drawn;

static drawn draw(const mix *m, int64_t epoch, int64_t index)
{
    const fgi_key order = fgi_key_fold(m->order, (uint64_t)epoch);
    const int64_t place = (int64_t)fgi_permute(order, (uint64_t)m->count, (uint64_t)index);
    const part *p = find_part(m, place);
    const uint64_t size = (uint64_t)p->dataset->count;
    const uint64_t at = (uint64_t)epoch * (uint64_t)p->count + (uint64_t)(place - p->first);
    const uint64_t pass = at / size;
    return (drawn){.from = p,
                   .pass = (int64_t)pass,
                   .sample = (int64_t)fgi_permute(fgi_key_fold(p->key, pass), size, at % size)};
}

static fg_status mix_gather(void *self, int64_t epoch, const int64_t *indices, size_t n,
                            void *const *out_fields, fg_error *err)
{
    const mix *m = self;
    void *row[FG_MAX_FIELDS];
    for (size_t i = 0; i < n; i++) {
        fgi_dataset_row(m->parts[0].dataset, out_fields, i, row);
        const drawn d = draw(m, epoch, indices[i]);
        FGI_TRY(fgi_dataset_gather(d.from->dataset, d.pass, &d.sample, 1, row, err));
    }
    return FG_OK;
}

/* Asks each part for its samples, those of the same pass together. */
static void prefetch_some(const mix *m, const drawn *all, size_t n)
{
    int64_t samples[AT_ONCE];
    for (size_t p = 0; p < m->part_count; p++) {
        const part *from = &m->parts[p];
        int64_t pass = 0;
        size_t count = 0;
        for (size_t i = 0; i < n; i++) {
            if (all[i].from != from)
                continue;
            if (count > 0 && all[i].pass != pass) {
                fgi_dataset_prefetch(from->dataset, pass, samples, count);
                count = 0;
            }
            pass = all[i].pass;
            samples[count++] = all[i].sample;
        }
        fgi_dataset_prefetch(from->dataset, pass, samples, count);
    }
}

static void mix_prefetch(void *self, int64_t epoch, const int64_t *indices, size_t n)
{
    const mix *m = self;
    drawn all[AT_ONCE];
    for (size_t done = 0; done < n;) {
        const size_t count = n - done < AT_ONCE ? n - done : AT_ONCE;
        for (size_t i = 0; i < count; i++)
            all[i] = draw(m, epoch, indices[done + i]);
        prefetch_some(m, all, count);
        done += count;
    }
}

static void mix_destroy(void *self)
{
    mix *m = self;
    for (size_t i = 0; i < m->part_count; i++)
        fg_dataset_destroy(m->parts[i].dataset);
    fgi_free(m);
}

/* ---- validation ------------------------------------------------------------------------------ */

/* Whether the fields have the same name and type. */
static bool is_same_field(const fg_field *a, const fg_field *b)
{
    return strcmp(a->name, b->name) == 0 && fg_type_equal(&a->type, &b->type);
}

static bool has_same_classes(const fg_dataset *a, const fg_dataset *b)
{
    if (a->class_count != b->class_count || (a->class_names == NULL) != (b->class_names == NULL))
        return false;
    for (int64_t i = 0; a->class_names != NULL && i < a->class_count; i++)
        if (strcmp(a->class_names[i], b->class_names[i]) != 0)
            return false;
    return true;
}

static fg_status check_dataset(const fg_dataset *dataset, const fg_dataset *first, size_t index,
                               fg_error *err)
{
    FGI_TRY(fgi_dataset_check_random(dataset, err));
    bool is_same = dataset->field_count == first->field_count;
    for (int f = 0; is_same && f < first->field_count; f++)
        is_same = is_same_field(&dataset->fields[f], &first->fields[f]);
    if (!is_same)
        return fgi_fail(
            err, FG_EINVAL,
            "dataset %zu of the mix has different fields from dataset 0: expected the same "
            "names and types",
            index);
    if (!fgi_encoding_equal(&dataset->encoding, &first->encoding))
        return fgi_fail(err, FG_EINVAL,
                        "dataset %zu of the mix stores its images differently from dataset 0",
                        index);
    if (!has_same_classes(dataset, first))
        return fgi_fail(err, FG_EINVAL,
                        "dataset %zu of the mix has different classes from dataset 0: expected the "
                        "same class names in the same order",
                        index);
    return FG_OK;
}

static fg_status check_weight(const fg_dataset *dataset, double weight, size_t index, fg_error *err)
{
    if (!isfinite(weight) || weight < 0)
        return fgi_fail(err, FG_EINVAL,
                        "weight %zu of the mix is %g: expected 0 or a positive number", index,
                        weight);
    if (weight > 0 && dataset->count == 0)
        return fgi_fail(err, FG_EINVAL, "dataset %zu of the mix has no samples: expected weight 0",
                        index);
    return FG_OK;
}

/* Also computes the sum of the weights and of the numbers of samples. */
static fg_status check(fg_dataset *const *datasets, const double *weights, size_t count,
                       double *out_weight, int64_t *out_samples, fg_error *err)
{
    *out_weight = 0;
    *out_samples = 0;
    if (count < 1 || count > FG_MAX_MIXED)
        return fgi_fail(err, FG_EINVAL, "a mix of %zu datasets: expected 1 to %d", count,
                        FG_MAX_MIXED);
    for (size_t i = 0; i < count; i++) {
        FGI_TRY(check_dataset(datasets[i], datasets[0], i, err));
        const double weight = weights != NULL ? weights[i] : (double)datasets[i]->count;
        FGI_TRY(check_weight(datasets[i], weight, i, err));
        *out_weight += weight;
        if (__builtin_add_overflow(*out_samples, datasets[i]->count, out_samples))
            return fgi_fail(err, FG_EINVAL, "the datasets of the mix have too many samples");
    }
    if (!(*out_weight > 0 && isfinite(*out_weight)))
        return fgi_fail(err, FG_EINVAL,
                        "the sum of the weights is %g: expected a positive, finite number",
                        *out_weight);
    return FG_OK;
}

/* ---- creation -------------------------------------------------------------------------------- */

/* How many samples of an epoch are from each part: by the method of the largest remainder. */
static void apportion(mix *m, const double *weights, double total)
{
    double remainder[FG_MAX_MIXED];
    int64_t left = m->count;
    for (size_t i = 0; i < m->part_count; i++) {
        const double weight = weights != NULL ? weights[i] : (double)m->parts[i].dataset->count;
        const double ideal = (double)m->count * (weight / total);
        m->parts[i].count = (int64_t)ideal < left ? (int64_t)ideal : left;
        remainder[i] = weight > 0 ? ideal - (double)m->parts[i].count : -1;
        left -= m->parts[i].count;
    }
    for (; left > 0; left--) {
        size_t largest = 0;
        for (size_t i = 1; i < m->part_count; i++)
            largest = remainder[i] > remainder[largest] ? i : largest;
        m->parts[largest].count++;
        remainder[largest] -= 1;
    }
    int64_t first = 0;
    for (size_t i = 0; i < m->part_count; i++) {
        m->parts[i].first = first;
        first += m->parts[i].count;
    }
}

/* Sets what the datasets have in common in the mix. */
static fg_status adopt(fg_dataset *dataset, const mix *m, fg_error *err)
{
    bool has_prefetch = false;
    for (size_t i = 0; i < m->part_count; i++) {
        const fg_dataset *from = m->parts[i].dataset;
        dataset->reads_rows = dataset->reads_rows || from->reads_rows;
        has_prefetch = has_prefetch || from->prefetch != NULL;
        FGI_TRY(fgi_dataset_add_damage(dataset, from, err));
    }
    dataset->prefetch = has_prefetch ? mix_prefetch : NULL;
    return FG_OK;
}

static fg_status create(fg_dataset *const *datasets, size_t count, int64_t samples, uint64_t seed,
                        mix **out, fg_error *err)
{
    mix *m = fgi_calloc(1, sizeof(*m) + count * sizeof(m->parts[0]));
    *out = m;
    if (m == NULL)
        return fgi_no_memory(err);
    const fgi_key key = fgi_key_fold_text(fgi_key_from_seed(seed), "data.mix");
    m->count = samples;
    m->order = fgi_key_fold_text(key, "order");
    m->part_count = count;
    for (size_t i = 0; i < count; i++)
        m->parts[i] =
            (part){.dataset = fgi_dataset_retain(datasets[i]), .key = fgi_key_fold(key, i)};
    return FG_OK;
}

fg_status fg_dataset_mix(fg_dataset *const *datasets, size_t count, const fg_mix_options *options,
                         fg_dataset **out, fg_error *err)
{
    *out = NULL;
    double weight;
    int64_t samples;
    mix *m;
    const fg_mix_options o = options != NULL ? *options : (fg_mix_options){0};
    FGI_TRY_RESERVED(fg_mix_options, options, err);
    FGI_TRY(check(datasets, o.weights, count, &weight, &samples, err));
    if (o.count < 0)
        return fgi_fail(err, FG_EINVAL,
                        "count is %" PRId64 ": expected the number of samples per epoch", o.count);
    FGI_TRY(create(datasets, count, o.count > 0 ? o.count : samples, o.seed, &m, err));
    apportion(m, o.weights, weight);
    static const fgi_gathered functions = {.gather_epoch = mix_gather, .destroy = mix_destroy};
    FGI_TRY(fgi_dataset_derive(&functions, m, datasets[0], m->count, out, err));
    (*out)->is_drawn = true;
    return fgi_dataset_finish(out, adopt(*out, m, err));
}
