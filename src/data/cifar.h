/* cifar.h - the binary records of CIFAR-10 and CIFAR-100, below fg_cifar10_load and
 * fg_cifar100_load.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_DATA_CIFAR_H
#define FGI_DATA_CIFAR_H

#include <fulgurite/data.h>

enum { FGI_CIFAR_IMAGE_BYTES = 32 * 32 * 3, FGI_CIFAR_MOST_FILES = 5 };

/* A published dataset: its files, and a record, which is label bytes and an image. */
typedef struct fgi_cifar {
    size_t label_bytes, label_at; /* the label that is used */
    int classes;
    const char *folder;
    const char *train[FGI_CIFAR_MOST_FILES], *test, *names; /* file names */
} fgi_cifar;

extern const fgi_cifar fgi_cifar10, fgi_cifar100_fine, fgi_cifar100_coarse;

/* Bytes of a record. */
size_t fgi_cifar_record(const fgi_cifar *kind);

/* Decodes the records to u8[n,32,32,3] and s32[n]. `name` is for messages. */
fg_status fgi_cifar_decode(const fgi_cifar *kind, const char *name, const unsigned char *data,
                           size_t size, unsigned char *out_images, int32_t *out_labels,
                           fg_error *err);

#endif
