/* collective.c - collectives: number of devices, bytes, and the time that a ring would take.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "plan/walk.h"

/* The axes of a mesh that a collective is over. */
static int64_t mesh_group(const Fgi__Hlo__MeshGroups *groups)
{
    int64_t size = 1;
    for (size_t i = 0; i < groups->n_use; i++) {
        const Fgi__Hlo__AxisUse *use = groups->use[i];
        if (use->part != NULL && use->part->size > 0)
            size *= use->part->size;
        else if (groups->mesh != NULL && use->axis >= 0 && (size_t)use->axis < groups->mesh->n_axis)
            size *= groups->mesh->axis[use->axis]->size;
    }
    return size;
}

static int64_t group_of(const fgi_hlo_op *op, int devices)
{
    if (op->mesh_groups != NULL && op->mesh_groups->n_use > 0)
        return mesh_group(op->mesh_groups);
    if (op->groups != NULL && op->groups->counted != NULL && op->groups->counted->size > 0)
        return op->groups->counted->size;
    if (op->groups != NULL && op->groups->n_group > 0)
        return (int64_t)op->groups->group[0]->n_device;
    return op->n_group > 0 ? (int64_t)op->group[0]->n_device : devices;
}

/* The larger of input and output of a collective on one device. */
static int64_t bytes_of(const fgi_plan_walk *w, const fgi_hlo_op *op)
{
    int64_t in = 0, out = fgi_hlo_bytes(op->shape);
    const bool is_begun = strstr(op->opcode, "-start") != NULL;
    for (size_t i = 0; i < op->n_operand; i++) {
        const fgi_hlo_op *from = fgi_hlo_in(&w->index, op, i);
        in += from != NULL ? fgi_hlo_bytes(from->shape) : 0;
    }
    if (is_begun && op->shape != NULL && op->shape->n_part > 1)
        out = fgi_hlo_bytes(op->shape->part[1]);
    return in > out ? in : out;
}

/* Bytes that each device sends for a collective of `bytes` on a ring of n devices. */
static double sent(fgi_collective kind, double bytes, int64_t n)
{
    const double others = n > 0 ? (double)(n - 1) / (double)n : 0;
    if (kind == FGI_PERMUTE)
        return bytes;
    return (kind == FGI_ALL_REDUCE ? 2 : 1) * others * bytes;
}

/* Bandwidth of a ring in both directions together: one link of a chip in a two- or
 * three-dimensional torus. 0: not known. */
static double ring_rate(const fg_chip *chip)
{
    if (chip == NULL || chip->generation == NULL)
        return 0;
    return chip->ici_bandwidth / (fgi_is_one_of(chip->generation, "v4|v5p|7x") ? 6 : 4);
}

static fgi_plan_collective *find(fgi_plan_walk *w, fgi_collective kind, int group,
                                 const char *algorithm)
{
    fgi_plan_analysis *out = w->out;
    for (size_t i = 0; i < out->collective_count; i++) {
        fgi_plan_collective *e = &out->collectives[i];
        if (e->kind == kind && e->group == group && strcmp(e->algorithm, algorithm) == 0)
            return e;
    }
    fgi_plan_collective *all =
        fgi_grow(out->collectives, out->collective_count, &w->collective_capacity, sizeof *all);
    if (all != NULL)
        out->collectives = all;
    char *own = fgi_arena_strdup(&out->texts, algorithm);
    if (all == NULL || own == NULL) {
        w->failed = true;
        return NULL;
    }
    all[out->collective_count] =
        (fgi_plan_collective){.kind = kind, .group = group, .algorithm = own};
    return &all[out->collective_count++];
}

void fgi_plan_add_collective(fgi_plan_walk *w, const fgi_hlo_op *op, fgi_collective kind,
                             const fgi_hlo_config *config, double times)
{
    const int64_t group = group_of(op, w->out->machine.devices);
    const double rate = ring_rate(w->out->machine.chip);
    fgi_plan_collective *e = find(w, kind, (int)group, config->algorithm);
    if (e == NULL)
        return;
    const double bytes = times * (double)bytes_of(w, op);
    e->count += (int)times;
    e->bytes += (int64_t)bytes;
    if (rate > 0)
        e->seconds += sent(kind, bytes, group) / rate;
    else
        e->seconds = -1;
}

void fgi_plan_add_fused_collectives(fgi_plan_walk *w, const fgi_hlo_op *op, double times)
{
    fgi_hlo_config of_fusion, config;
    fgi_collective kind;
    int64_t bytes;
    const fgi_hlo_computation *in =
        strcmp(op->opcode, "fusion") == 0 ? fgi_hlo_called(&w->index, op, 0) : NULL;
    for (size_t i = 0; in != NULL && i < in->n_instruction; i++) {
        const fgi_hlo_op *inner = in->instruction[i];
        if (!fgi_hlo_collective_once(in, inner, &kind, &bytes))
            continue;
        fgi_hlo_config_read(inner, &config);
        fgi_hlo_config_read(op, &of_fusion);
        fgi_plan_add_collective(w, inner, kind, config.algorithm[0] != '\0' ? &config : &of_fusion,
                                times);
    }
}
