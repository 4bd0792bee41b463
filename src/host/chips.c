/* chips.c - the table of accelerators.
 *
 * If a vendor's documents contradict each other, the newer, more precise values are used; missing
 * values are 0. The clock rates of v5e, v5p and v6e are not published: they are computed from the
 * peak rate and the number of matrix units, and marked as such.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/chip.h>

#include <string.h>

#include "base/text.h"

#define GB  1e9
#define GIB 1073741824.0
#define T   1e12

/* docs.cloud.google.com/tpu/docs; Norrie et al. 2021 is IEEE Micro 41(2), "The Design Process for
 * Google's Training Chips: TPUv2 and TPUv3"; Jouppi et al. 2020 is CACM 63(7), "A Domain-Specific
 * Supercomputer for Training Deep Neural Networks"; Jouppi et al. 2023 is ISCA, "TPU v4". */
#define CACM "Jouppi et al. 2020 (CACM 63(7)); "
#define DOCS "Cloud TPU documentation, "

static const fg_chip chips[] = {
    {.name = "TPU v2",
     .generation = "v2",
     .devices = 2,
     .bf16 = 46 * T,
     .memory_bytes = 16 * GIB,
     .memory_bandwidth = 700 * GB,
     .mxu_count = 2,
     .mxu_size = 128,
     .clock_hz = 0.70e9,
     .ici_bandwidth = 496 * GB,
     .source = CACM DOCS "TPU v2"},
    {.name = "TPU v3",
     .generation = "v3",
     .devices = 2,
     .bf16 = 123 * T,
     .memory_bytes = 32 * GIB,
     .memory_bandwidth = 900 * GB,
     .mxu_count = 4,
     .mxu_size = 128,
     .clock_hz = 0.94e9,
     .ici_bandwidth = 656 * GB,
     .source = CACM DOCS "TPU v3"},
    {.name = "TPU v4",
     .generation = "v4",
     .devices = 1,
     .bf16 = 275 * T,
     .int8 = 275 * T,
     .memory_bytes = 32 * GIB,
     .memory_bandwidth = 1200 * GB,
     .mxu_count = 8,
     .mxu_size = 128,
     .clock_hz = 1.05e9,
     .ici_bandwidth = 600 * GB,
     .source = "Jouppi et al. 2023 (ISCA); " DOCS "TPU v4"},
    {.name = "TPU v5e",
     .generation = "v5e",
     .devices = 1,
     .bf16 = 197 * T,
     .int8 = 393 * T,
     .memory_bytes = 16 * GIB,
     .memory_bandwidth = 819 * GB,
     .mxu_count = 4,
     .mxu_size = 128,
     .clock_hz = 1.50e9,
     .is_clock_derived = true,
     .ici_bandwidth = 400 * GB,
     .source = DOCS "TPU v5e"},
    {.name = "TPU v5p",
     .generation = "v5p",
     .devices = 1,
     .bf16 = 459 * T,
     .fp8 = 459 * T,
     .int8 = 918 * T,
     .memory_bytes = 95 * GIB,
     .memory_bandwidth = 2765 * GB,
     .mxu_count = 8,
     .mxu_size = 128,
     .clock_hz = 1.75e9,
     .is_clock_derived = true,
     .ici_bandwidth = 1200 * GB,
     .source = DOCS "TPU v5p, TPU7x"},
    {.name = "TPU v6e",
     .generation = "v6e",
     .devices = 1,
     .bf16 = 918 * T,
     .fp8 = 918 * T,
     .int8 = 1836 * T,
     .memory_bytes = 32 * GIB,
     .memory_bandwidth = 1638 * GB,
     .mxu_count = 4,
     .mxu_size = 256,
     .clock_hz = 1.75e9,
     .is_clock_derived = true,
     .ici_bandwidth = 800 * GB,
     .source = DOCS "TPU v6e, TPU7x"},
    {.name = "TPU7x",
     .generation = "7x",
     .devices = 2,
     .bf16 = 2307 * T,
     .fp8 = 4614 * T,
     .memory_bytes = 192 * GIB,
     .memory_bandwidth = 7380 * GB,
     .ici_bandwidth = 1200 * GB,
     .source = DOCS "TPU7x"},
    {.name = "NVIDIA P100 PCIe 12GB",
     .devices = 1,
     .f64 = 4.7 * T,
     .f32 = 9.3 * T,
     .f16 = 18.7 * T,
     .memory_bytes = 12 * GIB,
     .memory_bandwidth = 549 * GB,
     .source = "NVIDIA Tesla P100 PCIe data sheet"},
    {.name = "NVIDIA P100 PCIe",
     .devices = 1,
     .f64 = 4.7 * T,
     .f32 = 9.3 * T,
     .f16 = 18.7 * T,
     .memory_bytes = 16 * GIB,
     .memory_bandwidth = 732 * GB,
     .source = "NVIDIA Tesla P100 PCIe data sheet"},
    {.name = "NVIDIA P100 SXM2",
     .devices = 1,
     .f64 = 5.3 * T,
     .f32 = 10.6 * T,
     .f16 = 21.2 * T,
     .memory_bytes = 16 * GIB,
     .memory_bandwidth = 732 * GB,
     .source = "NVIDIA Tesla P100 data sheet"},
    {.name = "NVIDIA V100 PCIe",
     .devices = 1,
     .f64 = 7 * T,
     .f32 = 14 * T,
     .f16 = 112 * T,
     .memory_bytes = 16 * GIB,
     .memory_bandwidth = 900 * GB,
     .source = "NVIDIA V100 data sheet"},
    {.name = "NVIDIA V100 SXM2",
     .devices = 1,
     .f64 = 7.8 * T,
     .f32 = 15.7 * T,
     .f16 = 125 * T,
     .memory_bytes = 16 * GIB,
     .memory_bandwidth = 900 * GB,
     .source = "NVIDIA V100 data sheet"},
    {.name = "NVIDIA T4",
     .devices = 1,
     .f32 = 8.1 * T,
     .f16 = 65 * T,
     .int8 = 130 * T,
     .memory_bytes = 16 * GIB,
     .memory_bandwidth = 320 * GB,
     .source = "NVIDIA T4 data sheet"},
    {.name = "NVIDIA A100 40GB",
     .devices = 1,
     .f64 = 9.7 * T,
     .f32 = 19.5 * T,
     .tf32 = 156 * T,
     .f16 = 312 * T,
     .bf16 = 312 * T,
     .int8 = 624 * T,
     .memory_bytes = 40 * GIB,
     .memory_bandwidth = 1555 * GB,
     .source = "NVIDIA A100 data sheet"},
    {.name = "NVIDIA A100 80GB PCIe",
     .devices = 1,
     .f64 = 9.7 * T,
     .f32 = 19.5 * T,
     .tf32 = 156 * T,
     .f16 = 312 * T,
     .bf16 = 312 * T,
     .int8 = 624 * T,
     .memory_bytes = 80 * GIB,
     .memory_bandwidth = 1935 * GB,
     .source = "NVIDIA A100 data sheet"},
    {.name = "NVIDIA A100 80GB SXM",
     .devices = 1,
     .f64 = 9.7 * T,
     .f32 = 19.5 * T,
     .tf32 = 156 * T,
     .f16 = 312 * T,
     .bf16 = 312 * T,
     .int8 = 624 * T,
     .memory_bytes = 80 * GIB,
     .memory_bandwidth = 2039 * GB,
     .source = "NVIDIA A100 data sheet"},
    {.name = "NVIDIA RTX 3090",
     .devices = 1,
     .f64 = 0.556 * T,
     .f32 = 35.6 * T,
     .tf32 = 35.6 * T,
     .f16 = 71 * T,
     .bf16 = 71 * T,
     .int8 = 284 * T,
     .memory_bytes = 24 * GIB,
     .memory_bandwidth = 936 * GB,
     .source = "NVIDIA Ampere GA102 white paper"},
    {.name = "NVIDIA L4",
     .devices = 1,
     .f32 = 30.3 * T,
     .tf32 = 60 * T,
     .f16 = 121 * T,
     .bf16 = 121 * T,
     .fp8 = 242 * T,
     .int8 = 242 * T,
     .memory_bytes = 24 * GIB,
     .memory_bandwidth = 300 * GB,
     .source = "NVIDIA L4 data sheet"},
    {.name = "NVIDIA H100 PCIe",
     .devices = 1,
     .f64 = 26 * T,
     .f32 = 51 * T,
     .tf32 = 378 * T,
     .f16 = 756 * T,
     .bf16 = 756 * T,
     .fp8 = 1513 * T,
     .int8 = 1513 * T,
     .memory_bytes = 80 * GIB,
     .memory_bandwidth = 2000 * GB,
     .source = "NVIDIA H100 data sheet"},
    {.name = "NVIDIA H100 SXM",
     .devices = 1,
     .f64 = 34 * T,
     .f32 = 67 * T,
     .tf32 = 494 * T,
     .f16 = 989 * T,
     .bf16 = 989 * T,
     .fp8 = 1979 * T,
     .int8 = 1979 * T,
     .memory_bytes = 80 * GIB,
     .memory_bandwidth = 3350 * GB,
     .source = "NVIDIA H100 data sheet"},
    {.name = "NVIDIA H200 SXM",
     .devices = 1,
     .f64 = 34 * T,
     .f32 = 67 * T,
     .tf32 = 494 * T,
     .f16 = 989 * T,
     .bf16 = 989 * T,
     .fp8 = 1979 * T,
     .int8 = 1979 * T,
     .memory_bytes = 141 * GIB,
     .memory_bandwidth = 4800 * GB,
     .source = "NVIDIA H200 data sheet"},
};
enum { CHIPS = sizeof chips / sizeof chips[0] };

/* A device kind that contains all of these words; the first matching row is used. */
static const struct pattern {
    const char *words[3];
    const char *name;
} patterns[] = {
    {{"TPU v2"}, "TPU v2"},
    {{"TPU v3"}, "TPU v3"},
    {{"TPU v4"}, "TPU v4"},
    {{"TPU v5 lite"}, "TPU v5e"},
    {{"TPU v5e"}, "TPU v5e"},
    {{"TPU v5p"}, "TPU v5p"},
    {{"TPU v5"}, "TPU v5p"},
    {{"TPU v6 lite"}, "TPU v6e"},
    {{"TPU v6e"}, "TPU v6e"},
    {{"TPU7x"}, "TPU7x"},
    {{"P100", "PCIE", "12GB"}, "NVIDIA P100 PCIe 12GB"},
    {{"P100", "PCIE"}, "NVIDIA P100 PCIe"},
    {{"P100"}, "NVIDIA P100 SXM2"},
    {{"V100", "PCIE"}, "NVIDIA V100 PCIe"},
    {{"V100"}, "NVIDIA V100 SXM2"},
    {{"T4"}, "NVIDIA T4"},
    {{"A100", "80GB", "PCIE"}, "NVIDIA A100 80GB PCIe"},
    {{"A100", "80GB"}, "NVIDIA A100 80GB SXM"},
    {{"A100", "40GB"}, "NVIDIA A100 40GB"},
    {{"RTX 3090"}, "NVIDIA RTX 3090"},
    {{"L4"}, "NVIDIA L4"},
    {{"H100", "PCIE"}, "NVIDIA H100 PCIe"},
    {{"H100"}, "NVIDIA H100 SXM"},
    {{"H200"}, "NVIDIA H200 SXM"},
};

size_t fg_chip_count(void) { return CHIPS; }

const fg_chip *fg_chip_at(size_t index) { return index < CHIPS ? &chips[index] : NULL; }

/* Whether the text contains the word as a whole ("L4", but not in "L40"), ignoring case. */
static bool has_word(const char *text, const char *word)
{
    const size_t size = strlen(word);
    for (const char *at = text; *at; at++) {
        const bool begins = at == text || !fgi_is_alnum(at[-1]);
        if (begins && fgi_begins_nocase(at, word) && !fgi_is_alnum(at[size]))
            return true;
    }
    return false;
}

static bool fits(const struct pattern *p, const char *kind)
{
    for (int i = 0; i < 3 && p->words[i]; i++) {
        if (!has_word(kind, p->words[i]))
            return false;
    }
    return true;
}

const fg_chip *fg_chip_find(const char *kind)
{
    const char *name = NULL;
    for (size_t i = 0; kind && i < sizeof patterns / sizeof patterns[0] && !name; i++)
        name = fits(&patterns[i], kind) ? patterns[i].name : NULL;
    for (size_t i = 0; name && i < CHIPS; i++) {
        if (strcmp(chips[i].name, name) == 0)
            return &chips[i];
    }
    return NULL;
}

static double of_chip(const fg_chip *chip, fg_dtype dtype)
{
    switch (dtype) {
    case FG_F64: return chip->f64;
    case FG_F32:
        if (chip->generation)
            return chip->bf16;
        return chip->tf32 > 0 ? chip->tf32 : chip->f32;
    case FG_F16: return chip->generation ? chip->bf16 : chip->f16;
    case FG_BF16: return chip->bf16;
    case FG_S8:
    case FG_U8: return chip->int8;
    default: return 0;
    }
}

double fg_chip_matmul_rate(const fg_chip *chip, fg_dtype dtype)
{
    return chip ? of_chip(chip, dtype) / chip->devices : 0;
}
