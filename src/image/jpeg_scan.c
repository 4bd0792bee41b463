/* jpeg_scan.c - see jpeg_scan.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/jpeg_scan.h"

/* The table of a DHT marker, or NULL if it is missing or not a prefix code. */
static const fgi_huffman_table *build(fgi_jpeg_tables *tables, j_decompress_ptr info, int number,
                                      bool is_ac)
{
    if (number < 0 || number >= NUM_HUFF_TBLS)
        return NULL;
    const JHUFF_TBL *from = (is_ac ? info->ac_huff_tbl_ptrs : info->dc_huff_tbl_ptrs)[number];
    fgi_huffman_table *table = &tables->table[number + (is_ac ? NUM_HUFF_TBLS : 0)];
    return from != NULL && fgi_huffman_build(table, from->bits, from->huffval, is_ac) ? table
                                                                                      : NULL;
}

int fgi_jpeg_scan_describe(fgi_huffman_scan *out, fgi_jpeg_tables *tables, j_decompress_ptr info)
{
    *out =
        (fgi_huffman_scan){.blocks = info->blocks_in_MCU, .mcus_per_row = (int)info->MCUs_per_row};
    for (int i = 0; i < info->blocks_in_MCU; i++) {
        const int component = info->MCU_membership[i];
        const jpeg_component_info *of = info->cur_comp_info[component];
        out->component[i] = (uint8_t)component;
        out->dc[i] = build(tables, info, of->dc_tbl_no, false);
        if (out->dc[i] == NULL)
            return of->dc_tbl_no;
        out->ac[i] = build(tables, info, of->ac_tbl_no, true);
        if (out->ac[i] == NULL)
            return of->ac_tbl_no;
    }
    return -1;
}
