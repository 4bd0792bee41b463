/* crc32c.h - CRC-32C (Castagnoli), the checksum of packs and of TFRecord files.
 * Source: RFC 3720, appendix B.4 (polynomial 0x1EDC6F41, reflected; test vectors)
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_BASE_CRC32C_H
#define FGI_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of a byte range that follows bytes whose CRC is `crc`; 0 at the start. Thread-safe. */
uint32_t fgi_crc32c(uint32_t crc, const void *data, size_t size);
/* The CRC of data in the form that TFRecord files store, because the CRC of data that contains its
 * own CRC is weak. Source: TensorFlow, "TFRecord and tf.train.Example" (masked CRC). */
uint32_t fgi_crc32c_masked(const void *data, size_t size);
/* The same value without instructions of the processor: for the test that both agree. */
uint32_t fgi_crc32c_portable(uint32_t crc, const void *data, size_t size);

#endif
