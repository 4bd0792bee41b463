/* test_aot_tpu.c - training steps compiled by libtpu for TPUs that are not there: each generation,
 * one chip to a pod. Nothing is run on a TPU here.
 *
 * Without arguments a few cases, of everything at least one; "all" takes every combination, "all
 * 1/4" a fourth of them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <stdlib.h>

#include "aot.h"

static const aot_case few[] = {
    {"v2", 8, "mlp", FGI_TRAIN, false, NULL},
    {"v3", 8, "lenet", FGI_TRAIN, true, NULL},
    {"v3", 1, "mlp", FGI_VAL, true, NULL},
    {"v4", 8, "mlp", FGI_TRAIN, false, NULL},
    {"v5e", 1, "mlp", FGI_TRAIN, true, NULL},
    {"v5e", 8, "lenet", FGI_TRAIN, false, NULL},
    {"v5e", 256, "mlp", FGI_TRAIN, false, NULL},
    {"v5e", 256, "lenet", FGI_VAL, false, NULL},
    {"v5p", 8, "mlp", FGI_TRAIN, false, NULL},
    {"v6e", 1, "lenet", FGI_PREDICT, false, NULL},
    {"v6e", 8, "mlp", FGI_TRAIN, true, NULL},
    {"7x", 8, "mlp", FGI_TRAIN, false, NULL},
    {"v5e", 8, "lenet", FGI_TRAIN, true, "bf16-mixed"},
    {"v3", 1, "mlp", FGI_TRAIN, false, "bf16-true"},
};

enum { ALL_MAX = 1024 };

static size_t list_all(aot_case out[ALL_MAX], int part, int parts)
{
    static const char *const generations[] = {"v2", "v3", "v4", "v5e", "v5p", "v6e", "7x"};
    static const char *const models[] = {"mlp", "lenet"};
    static const int devices[] = {1, 8, 256};
    static const fgi_stage_kind kinds[] = {FGI_TRAIN, FGI_VAL};
    size_t count = 0, number = 0;
    for (int g = 0; g < 7; g++)
        for (int d = 0; d < 3; d++)
            for (int m = 0; m < 2; m++)
                for (int k = 0; k < 2; k++)
                    if ((int)(number++ % (size_t)parts) == part)
                        out[count++] = (aot_case){generations[g], devices[d], models[m],
                                                  kinds[k],       k == 0,     NULL};
    return count;
}

int main(int argc, char **argv)
{
    static aot_case all[ALL_MAX];
    int part = 1, parts = 1;
    aot_need("tpu");
    if (argc < 2 || strcmp(argv[1], "all") != 0)
        return aot_run(few, sizeof few / sizeof few[0]);
    if (argc > 2 && (sscanf(argv[2], "%d/%d", &part, &parts) != 2 || part < 1 || part > parts))
        return 2;
    return aot_run(all, list_all(all, part - 1, parts));
}
