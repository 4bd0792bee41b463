/* coefficients.h - from quantized DCT coefficients to planes of samples.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DECODE_COEFFICIENTS_H
#define FGI_DECODE_COEFFICIENTS_H

#include <fulgurite/ops.h>

#include "image/jpeg_coefficients.h"

/* The samples of component `index`, integers f32[B,height,width] from -128 to 127, out of entries
 * s8[B,bytes] with high bytes of `high` coefficients (image/jpeg_coefficients.h). */
fg_tensor fgi_decode_component(fg_tensor entry, const fgi_jpeg_coefficients *layout, int high,
                               int index);

#endif
