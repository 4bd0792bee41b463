/* estimate.c - estimates times from sums, and the batch size that saturates the matrix units.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/walk.h"

/* The peak rate of the matrix units of one device. */
static double peak_of(const fgi_plan_machine *m)
{
    return m->chip != NULL ? fg_chip_matmul_rate(m->chip, FG_BF16) : 0;
}

static double compute_time(const fgi_plan_analysis *a)
{
    const fg_chip *chip = a->machine.chip;
    if (chip == NULL || a->total.cycles <= 0 || chip->clock_hz <= 0)
        return -1;
    return a->total.cycles / chip->clock_hz;
}

static double collective_time(const fgi_plan_analysis *a)
{
    double seconds = 0;
    for (size_t i = 0; i < a->collective_count; i++) {
        if (a->collectives[i].seconds < 0)
            return -1;
        seconds += a->collectives[i].seconds;
    }
    return seconds;
}

void fgi_plan_estimate(fgi_plan_analysis *out)
{
    const fg_chip *chip = out->machine.chip;
    const double peak = peak_of(&out->machine);
    out->compute_s = compute_time(out);
    out->memory_s = chip != NULL && chip->memory_bandwidth > 0
                        ? out->total.padded_bytes / (chip->memory_bandwidth / chip->devices)
                        : -1;
    out->collective_s = collective_time(out);
    out->step_s = out->epoch_s = out->mxu_fraction = -1;
    if (out->compute_s >= 0 && out->memory_s >= 0 && out->collective_s >= 0)
        out->step_s =
            (out->compute_s > out->memory_s ? out->compute_s : out->memory_s) + out->collective_s;
    if (out->step_s >= 0 && out->machine.steps_per_epoch > 0)
        out->epoch_s = out->step_s * (double)out->machine.steps_per_epoch;
    if (out->compute_s > 0 && peak > 0)
        out->mxu_fraction = out->total.flops / (out->compute_s * peak);
}

int64_t fgi_plan_saturation_batch(const fgi_plan_point *points, size_t count)
{
    double best = -1;
    int64_t from = 0;
    for (size_t i = 0; i < count; i++) {
        const double each = points[i].batch > 0 ? points[i].cycles / (double)points[i].batch : 0;
        if (each > 0 && (best < 0 || each < best))
            best = each;
    }
    for (size_t i = 0; i < count && best > 0; i++) {
        const double each = points[i].batch > 0 ? points[i].cycles / (double)points[i].batch : 0;
        if (each > 0 && each <= 1.1 * best && (from == 0 || points[i].batch < from))
            from = points[i].batch;
    }
    return from;
}
