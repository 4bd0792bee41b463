/* test_aot_cuda.c - training steps compiled by the CUDA plugin for GPUs that are not present.
 * Nothing is run on a GPU here. An argument such as "*mixed*" selects the cases whose names match
 * it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include "aot.h"

static const aot_case cases[] = {
    {"h100", 1, "mlp", FGI_TRAIN, true, NULL, NULL},
    {"h100", 1, "transformers", FGI_TRAIN, false, NULL, NULL},
    {"h100", 8, "lenet", FGI_TRAIN, true, NULL, NULL},
    {"h100", 8, "mlp", FGI_VAL, false, NULL, NULL},
    {"h200", 2, "mlp", FGI_TRAIN, false, NULL, NULL},
    {"b200", 4, "lenet", FGI_VAL, false, NULL, NULL},
    {"h100", 1, "mlp", FGI_TRAIN, false, "bf16-mixed", NULL},
    {"h100", 1, "mlp", FGI_TRAIN, true, "16-mixed", NULL},
    {"a100", 1, "mlp", FGI_TRAIN, false, "16-true", NULL},
    {"h100", 1, "mlp", FGI_TRAIN, false, "64-true", NULL},
    {"h100", 4, "augmented", FGI_TRAIN, true, NULL, NULL},
    {"h100", 4, "decoded", FGI_TRAIN, true, NULL, NULL},
    {"h100", 4, "mixed", FGI_TRAIN, true, NULL, NULL},
};

int main(int argc, char **argv)
{
    aot_need("cuda");
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return aot_run(cases, sizeof cases / sizeof cases[0]);
}
