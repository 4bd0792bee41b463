/* decode.h - images that the device decodes, as part of the compiled step.
 *
 * A cached dataset can store images in a form that is smaller than pixels and that needs little
 * work on the host: quantized DCT coefficients of JPEGs, or YCbCr planes with chroma of half the
 * size. The device computes the pixels. Such a dataset has an encoding (fg_dataset_encoding in
 * data.h); the field contains the encoded bytes until the step decodes them:
 *
 *     fg_tensor x = fg_decode_images(fg_batch_field(batch, "image"), fg_dataset_encoding(dataset));
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_DECODE_H
#define FULGURITE_DECODE_H

#include <fulgurite/data.h>
#include <fulgurite/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The pixels of a batch of encoded images.
 *
 *   x        FG_IMAGE_DCT: s8[B, bytes]; FG_IMAGE_YCC420: u8[B, bytes]; FG_IMAGE_PIXELS: any
 *   returns  u8[B, height, width, channels] of the encoding; FG_IMAGE_PIXELS: x
 *
 * Chroma is upsampled with a triangle filter and rounded as by libjpeg. Pixels from coefficients
 * are those of libjpeg, except that some differ by 1 to 3 because of rounding errors of the inverse
 * DCT: the mean difference is less than 0.1 of 255. If the device multiplies matrices in bf16
 * (TPUs, and the precision bf16-mixed), it is less than 0.5.
 *
 * encoding NULL: x is returned. Errors, kept in the trace: FG_ESHAPE, FG_EDTYPE, FG_EINVAL. There
 * is no gradient, because x is an integer tensor. Owner thread of the trace only. Source: ITU-T
 * T.81, A.3.3 (inverse DCT); ITU-T T.871 (YCbCr). */
FG_API fg_tensor fg_decode_images(fg_tensor x, const fg_image_encoding *encoding);

#ifdef __cplusplus
}
#endif

#ifndef FG_NO_HERE /* made by tools/make-here: calls record the caller's file and line */
#define fg_decode_images(...) FG_HERE(fg_decode_images(__VA_ARGS__))
#endif
#endif
