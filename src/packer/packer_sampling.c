/* packer_sampling.c - the chroma sampling of a pack of DCT coefficients. All its records must have
 * the same, so JPEGs with another sampling are encoded again.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "packer/packer.h"

enum { PROBES = 256 };

static bool is_equal(fgi_jpeg_sampling a, fgi_jpeg_sampling b)
{
    return a.components == b.components && a.h == b.h && a.v == b.v;
}

/* Of a JPEG whose coefficients can be stored; otherwise no components. */
static fgi_jpeg_sampling sampling_of(const fgi_packer_plan *plan, const fg_catalog_bytes *bytes)
{
    fg_image_info info;
    fgi_jpeg_header header = {0};
    const fgi_image_file file = {.name = "", .data = bytes->data, .size = bytes->size};
    if (fg_image_probe("", bytes->data, bytes->size, &info, NULL) == FG_OK &&
        fgi_packer_is_kept(plan, &info))
        (void)fgi_jpeg_header_read(&file, &header, NULL);
    return header.sampling;
}

/* The sampling of all images that are looked at, if they are JPEGs with the same one. Gray only if
 * all are looked at, because a color image cannot be stored as gray. Otherwise 4:2:0. */
void fgi_packer_find_sampling(fgi_packer_plan *plan)
{
    fg_catalog_bytes bytes = {0};
    fgi_jpeg_sampling all = {0};
    const int64_t probes = plan->count < PROBES ? plan->count : PROBES;
    bool is_one = plan->o.codec == FG_PACK_CHOICE_DCT && plan->o.variant_count == 1;
    for (int64_t i = 0; i < probes && is_one; i++) {
        const int64_t index = fgi_packer_index(plan, i * plan->count / probes);
        if (fg_catalog_read(plan->catalog, index, &bytes, NULL) != FG_OK)
            continue; /* reported when it is packed */
        const fgi_jpeg_sampling one = sampling_of(plan, &bytes);
        is_one = one.components != 0 && (all.components == 0 || is_equal(all, one));
        all = one;
    }
    fg_catalog_bytes_fini(&bytes);
    const bool is_gray = all.components == 1 && probes < plan->count;
    plan->sampling = is_one && all.components != 0 && !is_gray ? all : (fgi_jpeg_sampling){3, 2, 2};
}
