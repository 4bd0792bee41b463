/* npy_header.c - the header of a .npy file: magic, version 1.0, length, dictionary, spaces and a
 * newline up to a multiple of 64 bytes (NEP 1).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "data/npy.h"

void fgi_npy_put_header(fgi_buf *buf, const fg_type *type, const char *code)
{
    const char order = fg_dtype_size(type->dtype) == 1 ? '|' : '<';
    fgi_buf_add(buf, "\x93NUMPY\x01\x00\x00\x00", 10);
    fgi_buf_printf(buf, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order, code);
    for (int i = 0; i < type->rank; i++)
        fgi_buf_printf(buf, "%s%" PRId64, i == 0 ? "" : ", ", type->dim[i]);
    fgi_buf_puts(buf, type->rank == 1 ? ",), }" : "), }");
    while (buf->size % 64 != 63 && !buf->failed)
        fgi_buf_putc(buf, ' ');
    fgi_buf_putc(buf, '\n');
    if (buf->failed)
        return;
    const size_t length = buf->size - 10;
    buf->data[8] = (char)(length & 0xff);
    buf->data[9] = (char)(length >> 8);
}
