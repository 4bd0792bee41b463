/* counted.c - the helpers of counted.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "counted.h"
#include "fgt.h"

#include <math.h>

#include "base/number.h"
#include "base/rng.h"
#include "record.h"

enum { SEED = 2026, MOST = 512 * 784 };

static fgi_key key_of(uint64_t tag) { return fgi_key_fold(fgi_key_from_seed(SEED), tag); }

static uint32_t word(fgi_key key, uint64_t i) { return (uint32_t)fgi_rng_u64(key, i); }

/* Elements that make one output: of the layer's weight, for a bias. Outputs come first in files. */
static double fan_in(const fg_module *root, size_t k)
{
    const fg_variable *v = fg_module_variable_at(root, k);
    const fg_type *type = fg_variable_type(v);
    if (type->rank == 1)
        return fan_in(root, k - 1);
    return (double)(fg_type_count(type) / type->dim[fg_variable_file_axis(v)[0]]);
}

void fgt_counted_weights(const fg_module *root)
{
    fg_error err = {0};
    static float file[MOST], own[MOST];
    static double value[MOST];
    for (size_t k = 0; k < fg_module_variable_count(root); k++) {
        fg_variable *v = fg_module_variable_at(root, k);
        const fg_type *type = fg_variable_type(v);
        const int64_t count = fg_type_count(type);
        const float bound = (float)(1 / sqrt(fan_in(root, k)));
        assert_true(count <= MOST);
        for (int64_t i = 0; i < count; i++)
            file[i] = (2 * fgi_rng_uniform(key_of(k), (uint64_t)i) - 1) * bound;
        fgt_from_file_order(v, file, own);
        for (int64_t i = 0; i < count; i++)
            fgi_number_put(type->dtype, value, (size_t)i, (double)own[i]);
        fgt_ok(fg_variable_set(v, value, fg_type_bytes(type), &err));
    }
}

void fgt_counted_batch(int step, int rows, int pixels, uint8_t *image, int32_t *label)
{
    const fgi_key labels = key_of(1000 + (uint64_t)step), noise = key_of(2000 + (uint64_t)step);
    const fgi_key pattern = key_of(900);
    for (int b = 0; b < rows; b++) {
        label[b] = (int32_t)(word(labels, (uint64_t)b) % FGT_COUNTED_CLASSES);
        for (int i = 0; i < pixels; i++) {
            const int place = label[b] * pixels + i;
            const bool lit = word(pattern, (uint64_t)place) >> 24 < 32;
            const int k = b * pixels + i;
            image[k] = lit ? (uint8_t)(word(noise, (uint64_t)k) >> 24) : 0;
        }
    }
}
