/* test_base_crc32c.c - CRC-32C against the vectors of RFC 3720, and both implementations against
 * each other and against composition.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdlib.h>
#include "base/crc32c.h"

static void vectors_of_rfc_3720(void **state)
{
    unsigned char data[48] = {0};
    assert_int_equal(fgi_crc32c(0, data, 32), 0x8a9136aa);
    memset(data, 0xff, 32);
    assert_int_equal(fgi_crc32c(0, data, 32), 0x62a8ab43);
    for (int i = 0; i < 32; i++)
        data[i] = (unsigned char)i;
    assert_int_equal(fgi_crc32c(0, data, 32), 0x46dd794e);
    for (int i = 0; i < 32; i++)
        data[i] = (unsigned char)(31 - i);
    assert_int_equal(fgi_crc32c(0, data, 32), 0x113fdb5c);
    const unsigned char read_pdu[48] = {1,    0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0, 0, 0, 0,
                                        0x14, 0,    0, 0, 0, 0, 4, 0, 0, 0, 0, 0x14, 0, 0, 0, 0x18,
                                        0x28, 0,    0, 0, 0, 0, 0, 0, 2, 0, 0, 0,    0, 0, 0, 0};
    assert_int_equal(fgi_crc32c(0, read_pdu, 48), 0xd9963a56);
    assert_int_equal(fgi_crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(fgi_crc32c(0, data, 0), 0);
}

/* Sizes around the lengths of the lanes; starts that are not aligned. */
static void both_implementations_agree(void **state)
{
    const size_t size = 60000;
    unsigned char *data = malloc(size);
    assert_non_null(data);
    for (size_t i = 0; i < size; i++)
        data[i] = (unsigned char)(i * 2654435761U >> 11);
    for (size_t n = 0; n < size - 8; n += n < 100 ? 1 : n / 7) {
        const unsigned char *at = data + n % 8;
        const uint32_t crc = fgi_crc32c(0, at, n);
        assert_int_equal(crc, fgi_crc32c_portable(0, at, n));
        const size_t part = n * 2 / 3;
        assert_int_equal(crc, fgi_crc32c(fgi_crc32c(0, at, part), at + part, n - part));
    }
    free(data);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(vectors_of_rfc_3720),
    cmocka_unit_test(both_implementations_agree),
};
FGT_MAIN(tests)
