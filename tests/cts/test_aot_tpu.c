/* test_aot_tpu.c - training steps compiled by libtpu for TPUs that are not present: every
 * generation, from one chip to a pod. Nothing is run on a TPU.
 *
 * Without arguments, runs a few cases that cover everything at least once; "all" runs every
 * combination, "all 1/4" a quarter of them, and another argument the cases whose names match it:
 * "v5e*mixed*".
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <stdlib.h>

#include "aot.h"

#define MIXED "bf16-mixed"

/* Every generation, number of devices, model in training and validation, precision and strategy.
 * Compiling takes about 1 s per case for mlp, 2 to 5 s for lenet, 4 to 10 s for resnet18 and 15 s
 * or more for training resnet50; v2 and v3 are the fastest. */
static const aot_case few[] = {
    {"v2", 8, "mlp", FGI_TRAIN, false, NULL, NULL},
    {"v2", 1, "lenet", FGI_PREDICT, false, MIXED, NULL},
    {"v3", 8, "lenet", FGI_TRAIN, true, NULL, NULL},
    {"v3", 1, "mlp", FGI_VAL, true, NULL, NULL},
    {"v3", 256, "lenet", FGI_VAL, false, MIXED, NULL},
    {"v4", 8, "mlp", FGI_TRAIN, false, MIXED, "fsdp"},
    {"v5e", 1, "mlp", FGI_TRAIN, true, MIXED, NULL},
    {"v5e", 8, "lenet", FGI_TRAIN, false, MIXED, NULL},
    {"v5e", 8, "mlp", FGI_TRAIN, false, NULL, "fsdp"},
    {"v5e", 256, "mlp", FGI_TRAIN, false, NULL, NULL},
    {"v5p", 8, "mlp", FGI_TRAIN, true, NULL, "fsdp"},
    {"v6e", 256, "mlp", FGI_TRAIN, false, MIXED, "fsdp"},
    {"v6e", 8, "mlp", FGI_TRAIN, false, MIXED, "fsdp"},
    {"v6e", 8, "mlp", FGI_VAL, true, MIXED, NULL},
    {"7x", 8, "mlp", FGI_TRAIN, false, NULL, NULL},
    {"v3", 1, "mlp", FGI_TRAIN, false, "bf16-true", NULL},
    {"v2", 8, "resnet18", FGI_TRAIN, false, MIXED, NULL},
    {"v3", 8, "resnet50", FGI_VAL, false, NULL, NULL},
    {"v3", 8, "transformers", FGI_TRAIN, false, NULL, NULL},
    {"v5e", 8, "transformers", FGI_TRAIN, true, MIXED, NULL},
    {"v6e", 8, "transformers", FGI_TRAIN, false, MIXED, NULL},
    {"v3", 8, "augmented", FGI_TRAIN, true, NULL, NULL},
    {"v5e", 8, "augmented", FGI_TRAIN, true, MIXED, NULL},
    {"v5e", 8, "decoded", FGI_TRAIN, true, NULL, NULL},
    {"v5e", 8, "mixed", FGI_TRAIN, true, NULL, NULL},
};

enum { ALL_MAX = 1024 };

/* Case `number` of all combinations; false after the last. */
static bool combination(size_t number, aot_case *out)
{
    static const char *const generations[] = {"v2", "v3", "v4", "v5e", "v5p", "v6e", "7x"};
    static const char *const models[] = {"mlp", "lenet", "resnet18", "resnet50"};
    static const int devices[] = {1, 8, 256};
    static const fgi_stage_kind kinds[] = {FGI_TRAIN, FGI_VAL};
    static const char *const precisions[] = {NULL, MIXED};
    static const char *const strategies[] = {NULL, "fsdp"};
    const size_t k = number % 2, p = number / 2 % 2, s = number / 4 % 2, d = number / 8 % 3,
                 m = number / 24 % 4, g = number / 96;
    if (g >= sizeof generations / sizeof generations[0])
        return false;
    *out = (aot_case){generations[g], devices[d],    models[m],    kinds[k],
                      k == 0,         precisions[p], strategies[s]};
    return true;
}

static size_t list_all(aot_case out[ALL_MAX], int part, int parts)
{
    size_t count = 0;
    aot_case one;
    for (size_t number = 0; combination(number, &one); number++) {
        const bool is_nothing = one.devices == 1 && one.strategy != NULL; /* nothing to shard */
        if (!is_nothing && (int)(number % (size_t)parts) == part)
            out[count++] = one;
    }
    return count;
}

int main(int argc, char **argv)
{
    static aot_case all[ALL_MAX];
    int part = 1, parts = 1;
    aot_need("tpu");
    if (argc > 1 && strcmp(argv[1], "all") != 0)
        cmocka_set_test_filter(argv[1]);
    if (argc < 2 || strcmp(argv[1], "all") != 0)
        return aot_run(few, sizeof few / sizeof few[0]);
    if (argc > 2 && (sscanf(argv[2], "%d/%d", &part, &parts) != 2 || part < 1 || part > parts))
        return 2;
    return aot_run(all, list_all(all, part - 1, parts));
}
