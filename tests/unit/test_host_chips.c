/* test_host_chips.c - the table of accelerators: its values are consistent, and device kinds map to
 * their rows.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/chip.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/print.h"
#include "golden.h"

static void rows_are_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < fg_chip_count(); i++) {
        const fg_chip *c = fg_chip_at(i);
        assert_true(c->devices == 1 || c->devices == 2);
        assert_true(c->memory_bytes > 1e9 && c->memory_bandwidth > 1e11);
        assert_true(c->bf16 > 0 || c->f16 > 0 || c->f32 > 0);
        assert_true(strlen(c->source) > 8);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(fg_chip_at(k)->name, c->name);
    }
    assert_null(fg_chip_at(fg_chip_count()));
}

/* All values, as copied from the documents: in units of 10^12 and 10^9 a second. */
static void peak_rates_are_as_they_were(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    for (size_t i = 0; i < fg_chip_count(); i++) {
        const fg_chip *c = fg_chip_at(i);
        (void)fgi_fprintf(
            out, "%s (%s, %d devices): f64 %g f32 %g tf32 %g f16 %g bf16 %g fp8 %g int8 %g\n",
            c->name, c->generation != NULL ? c->generation : "-", c->devices, c->f64 / 1e12,
            c->f32 / 1e12, c->tf32 / 1e12, c->f16 / 1e12, c->bf16 / 1e12, c->fp8 / 1e12,
            c->int8 / 1e12);
        (void)fgi_fprintf(out, "  memory %.17g B, %g GB/s; %d of %d at %g MHz; links %g GB/s; %s\n",
                          c->memory_bytes, c->memory_bandwidth / 1e9, c->mxu_count, c->mxu_size,
                          c->clock_hz / 1e6, c->ici_bandwidth / 1e9, c->source);
        for (int d = 0; d <= FG_F64; d++)
            (void)fgi_fprintf(out, " %s %g", fg_dtype_name((fg_dtype)d),
                              fg_chip_matmul_rate(c, (fg_dtype)d) / 1e12);
        (void)fputc('\n', out);
    }
    assert_int_equal(fclose(out), 0);
    fgt_golden("hosts/chips.out", text);
    free(text);
}

/* An n x n matrix unit performs n * n multiply-adds per cycle. */
static void peak_follows_from_matrix_units_and_clock(void **state)
{
    (void)state;
    int seen = 0;
    for (size_t i = 0; i < fg_chip_count(); i++) {
        const fg_chip *c = fg_chip_at(i);
        if (c->mxu_count == 0)
            continue;
        fgt_close(c->name, c->bf16, 2.0 * c->mxu_count * c->mxu_size * c->mxu_size * c->clock_hz, 0,
                  0.005);
        seen++;
    }
    assert_int_equal(seen, 6);
}

static void kinds_lead_to_rows(void **state)
{
    /* the kinds of TPUs are those reported by libtpu's topologies */
    static const char *const cases[][2] = {
        {"TPU v2", "TPU v2"},
        {"TPU v3", "TPU v3"},
        {"TPU v4", "TPU v4"},
        {"TPU v5 lite", "TPU v5e"},
        {"TPU v5", "TPU v5p"},
        {"TPU v6 lite", "TPU v6e"},
        {"TPU7x", "TPU7x"},
        {"Tesla P100-PCIE-12GB", "NVIDIA P100 PCIe 12GB"},
        {"Tesla P100-PCIE-16GB", "NVIDIA P100 PCIe"},
        {"Tesla V100-SXM2-16GB", "NVIDIA V100 SXM2"},
        {"Tesla T4", "NVIDIA T4"},
        {"NVIDIA A100-SXM4-40GB", "NVIDIA A100 40GB"},
        {"NVIDIA A100-SXM4-80GB", "NVIDIA A100 80GB SXM"},
        {"NVIDIA A100 80GB PCIe", "NVIDIA A100 80GB PCIe"},
        {"NVIDIA GeForce RTX 3090", "NVIDIA RTX 3090"},
        {"NVIDIA L4", "NVIDIA L4"},
        {"NVIDIA H100 80GB HBM3", "NVIDIA H100 SXM"},
        {"NVIDIA H100 PCIe", "NVIDIA H100 PCIe"},
        {"NVIDIA H200", "NVIDIA H200 SXM"},
    };
    static const char *const unknown[] = {"cpu",         "",
                                          "NVIDIA L40S", "NVIDIA RTX T400",
                                          "NVIDIA XT4",  "NVIDIA GeForce RTX 3090X",
                                          "TPU v20",     "NVIDIA GeForce GTX 1650"};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const fg_chip *c = fg_chip_find(cases[i][0]);
        if (c == NULL || strcmp(c->name, cases[i][1]) != 0)
            fail_msg("'%s' is %s", cases[i][0], c ? c->name : "not found");
    }
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        assert_null(fg_chip_find(unknown[i]));
    assert_null(fg_chip_find(NULL));
}

static void rates_are_of_one_device(void **state)
{
    (void)state;
    fgt_close("v3", fg_chip_matmul_rate(fg_chip_find("TPU v3"), FG_BF16), 61.5e12, 0, 1e-12);
    fgt_close("v3 f32", fg_chip_matmul_rate(fg_chip_find("TPU v3"), FG_F32), 61.5e12, 0, 1e-12);
    fgt_close("v5e int8", fg_chip_matmul_rate(fg_chip_find("TPU v5e"), FG_S8), 393e12, 0, 1e-12);
    fgt_close("a100", fg_chip_matmul_rate(fg_chip_find("NVIDIA A100-SXM4-80GB"), FG_F32), 156e12, 0,
              1e-12);
    fgt_close("p100", fg_chip_matmul_rate(fg_chip_find("Tesla P100-PCIE-16GB"), FG_F32), 9.3e12, 0,
              1e-12);
    assert_true(fg_chip_matmul_rate(NULL, FG_F32) == 0);
    assert_true(fg_chip_matmul_rate(fg_chip_find("TPU v2"), FG_S8) == 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(rows_are_whole),
    cmocka_unit_test(peak_rates_are_as_they_were),
    cmocka_unit_test(peak_follows_from_matrix_units_and_clock),
    cmocka_unit_test(kinds_lead_to_rows),
    cmocka_unit_test(rates_are_of_one_device),
};
FGT_MAIN(tests)
