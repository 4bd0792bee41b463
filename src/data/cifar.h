/* cifar.h - CIFAR-10's binary records, below fg_cifar10_open.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_CIFAR_H
#define FGI_DATA_CIFAR_H

#include <fulgurite/data.h>

enum { FGI_CIFAR_IMAGE_BYTES = 32 * 32 * 3, FGI_CIFAR_RECORD_BYTES = 1 + FGI_CIFAR_IMAGE_BYTES };

/* Decodes size / FGI_CIFAR_RECORD_BYTES records to u8[n,32,32,3] and s32[n]. `name` is for
 * messages. */
fg_status fgi_cifar_decode(const char *name, const unsigned char *data, size_t size,
                           unsigned char *out_images, int32_t *out_labels, fg_error *err);

#endif
