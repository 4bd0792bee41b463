/* jpeg_coefficients.c - writes and reads records of quantized DCT coefficients. Planar by
 * frequency, so that neighbors need about the same number of bits: few at high frequencies, which
 * are nearly all 0. The layout and the way to pixels are in the header.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/jpeg_coefficients.h"

#include <inttypes.h>
#include <lz4.h>
#include <string.h>
#include "base/alloc.h"
#include "base/error.h"
#include "image/little_endian.h"
#include "image/bit_planes.h"
#include "image/jpeg_guard.h"

enum {
    VERSION = 2, /* that is written; records of version 1 are read */
    HEADER_BYTES = 24,
    QUANT_BYTES = 2 * DCTSIZE2,
    EXCEPTION_BYTES = 6,
    MOST_BLOCKS = 1 << 24 /* 1 GiB unpacked */
};

static const char magic[4] = {'F', 'G', 'D', 'C'};

static const uint8_t zigzag[DCTSIZE2] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

void fgi_jpeg_coefficients_lay_out(fgi_jpeg_coefficients *record)
{
    int h_max = 1, v_max = 1;
    for (int i = 0; i < record->components; i++) {
        h_max = record->component[i].h > h_max ? record->component[i].h : h_max;
        v_max = record->component[i].v > v_max ? record->component[i].v : v_max;
    }
    record->h_max = h_max;
    record->v_max = v_max;
    record->blocks = 0;
    for (int i = 0; i < record->components; i++) {
        fgi_jpeg_component *c = &record->component[i];
        c->width = (record->width * c->h + h_max - 1) / h_max;
        c->height = (record->height * c->v + v_max - 1) / v_max;
        c->columns = (c->width + DCTSIZE - 1) / DCTSIZE;
        c->rows = (c->height + DCTSIZE - 1) / DCTSIZE;
        c->first = record->blocks;
        record->blocks += (size_t)c->columns * (size_t)c->rows;
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct packer {
    fgi_jpeg_guard guard;
    struct jpeg_decompress_struct reader;
    fgi_jpeg_coefficients record;
    uint8_t *dense; /* rows: differences of dc, ac */
    fgi_buf indexes, values;
    fgi_buf *out;
} packer;

static _Noreturn void refuse(packer *p, const char *what)
{
    fgi_jpeg_guard_leave(&p->guard, fgi_fail(p->guard.errors.err, FG_EUNSUPPORTED,
                                             "%s: %s: coefficients can only be stored for gray and "
                                             "YCbCr images with sampling factors of 1 and 2",
                                             p->guard.errors.name, what));
}

/* Copies what the header of the JPEG says. The quantization table of a component may be defined
 * after the header, so those are copied later. */
static void copy_header(packer *p)
{
    const struct jpeg_decompress_struct *reader = &p->reader;
    const J_COLOR_SPACE space = reader->jpeg_color_space;
    if (space != JCS_GRAYSCALE && space != JCS_YCbCr)
        refuse(p, "neither gray nor YCbCr");
    p->record.width = (int)reader->image_width;
    p->record.height = (int)reader->image_height;
    p->record.components = reader->num_components;
    for (int i = 0; i < reader->num_components; i++) {
        const jpeg_component_info *info = &reader->comp_info[i];
        const bool is_gray = reader->num_components == 1; /* its factors have no effect */
        p->record.component[i].h = is_gray ? 1 : info->h_samp_factor;
        p->record.component[i].v = is_gray ? 1 : info->v_samp_factor;
        if (p->record.component[i].h > 2 || p->record.component[i].v > 2)
            refuse(p, "sampling factor above 2");
    }
    fgi_jpeg_coefficients_lay_out(&p->record);
    if (p->record.blocks > MOST_BLOCKS)
        refuse(p, "too large");
}

/* An integer as low + 256 high, low from -128 to 127; modulo 65536. */
static uint8_t low_byte(int value) { return (uint8_t)(value & 0xff); }
static uint8_t high_byte(int value) { return (uint8_t)((value + 128) >> 8 & 0xff); }

static void put_dc(packer *p, size_t block, int difference)
{
    p->dense[block] = low_byte(difference);
    p->dense[p->record.blocks + block] = high_byte(difference);
}

static void put_ac(packer *p, size_t block, int z, int value)
{
    const size_t index = (size_t)(z - 1) * p->record.blocks + block;
    const int clamped = value < INT8_MIN ? INT8_MIN : value > INT8_MAX ? INT8_MAX : value;
    p->dense[2 * p->record.blocks + index] = (uint8_t)clamped;
}

/* Stores the coefficients of one component, without exceptions. */
static void copy_blocks(packer *p, int component, jvirt_barray_ptr array)
{
    const fgi_jpeg_component *c = &p->record.component[component];
    j_common_ptr reader = (j_common_ptr)&p->reader;
    int previous = 0;
    for (int row = 0; row < c->rows; row++) {
        const JBLOCKROW blocks =
            p->reader.mem->access_virt_barray(reader, array, (JDIMENSION)row, 1, FALSE)[0];
        for (int column = 0; column < c->columns; column++) {
            const size_t block = c->first + (size_t)row * (size_t)c->columns + (size_t)column;
            put_dc(p, block, blocks[column][0] - previous);
            previous = blocks[column][0];
            for (int z = 1; z < DCTSIZE2; z++)
                put_ac(p, block, z, blocks[column][zigzag[z]]);
        }
    }
}

/* Collects the exceptions of one component at one frequency. */
static void collect(packer *p, int component, int z, jvirt_barray_ptr array)
{
    const fgi_jpeg_component *c = &p->record.component[component];
    j_common_ptr reader = (j_common_ptr)&p->reader;
    for (int row = 0; row < c->rows; row++) {
        const JBLOCKROW blocks =
            p->reader.mem->access_virt_barray(reader, array, (JDIMENSION)row, 1, FALSE)[0];
        for (int column = 0; column < c->columns; column++) {
            const int value = blocks[column][zigzag[z]];
            if (value >= INT8_MIN && value <= INT8_MAX)
                continue;
            const size_t block = c->first + (size_t)row * (size_t)c->columns + (size_t)column;
            fgi_put32(&p->indexes, (uint32_t)((size_t)(z - 1) * p->record.blocks + block));
            fgi_put16(&p->values, (unsigned)value & 0xffff);
        }
    }
}

static void copy_coefficients(packer *p, jvirt_barray_ptr *arrays)
{
    for (int i = 0; i < p->record.components; i++) {
        const JQUANT_TBL *quant = p->reader.comp_info[i].quant_table;
        if (quant == NULL)
            quant = p->reader.quant_tbl_ptrs[p->reader.comp_info[i].quant_tbl_no];
        for (int z = 0; quant != NULL && z < DCTSIZE2; z++)
            p->record.component[i].quant[z] = quant->quantval[zigzag[z]];
        copy_blocks(p, i, arrays[i]);
    }
    for (int z = 1; z < DCTSIZE2; z++) {
        for (int i = 0; i < p->record.components; i++)
            collect(p, i, z, arrays[i]);
    }
    p->record.exceptions = p->indexes.size / 4;
    if (p->indexes.failed || p->values.failed)
        fgi_jpeg_guard_leave(&p->guard, fgi_no_memory(p->guard.errors.err));
}

static void read_jpeg(void *self)
{
    packer *p = self;
    fgi_jpeg_guard_header(&p->guard, &p->reader);
    copy_header(p);
    jvirt_barray_ptr *arrays = jpeg_read_coefficients(&p->reader);
    p->dense = fgi_alloc(fgi_jpeg_dense_bytes(p->record.blocks));
    if (p->dense == NULL)
        fgi_jpeg_guard_leave(&p->guard, fgi_no_memory(p->guard.errors.err));
    copy_coefficients(p, arrays);
    (void)jpeg_finish_decompress(&p->reader);
}

static void put_header(const packer *p, size_t compressed)
{
    const fgi_jpeg_coefficients *r = &p->record;
    fgi_buf_add(p->out, magic, sizeof(magic));
    fgi_put16(p->out, VERSION);
    fgi_put16(p->out, (unsigned)r->components);
    fgi_put16(p->out, (unsigned)r->width);
    fgi_put16(p->out, (unsigned)r->height);
    for (int i = 0; i < 4; i++)
        fgi_buf_putc(p->out,
                     i < r->components ? (char)(r->component[i].h * 16 + r->component[i].v) : '\0');
    fgi_put32(p->out, (uint32_t)r->exceptions);
    fgi_put32(p->out, (uint32_t)compressed);
    for (int i = 0; i < r->components; i++) {
        for (int z = 0; z < DCTSIZE2; z++)
            fgi_put16(p->out, r->component[i].quant[z]);
    }
    if (r->exceptions > 0) {
        fgi_buf_add(p->out, p->indexes.data, p->indexes.size);
        fgi_buf_add(p->out, p->values.data, p->values.size);
    }
}

/* Compresses the dense entry and appends the record. */
static fg_status put_record(packer *p, fg_error *err)
{
    fgi_buf planes = {0};
    fgi_bit_planes_write((const int8_t *)p->dense, fgi_jpeg_dense_bytes(p->record.blocks), &planes);
    fg_status status = fgi_buf_status(&planes, err);
    if (status == FG_OK) {
        put_header(p, planes.size);
        fgi_buf_add(p->out, planes.data, planes.size);
        status = fgi_buf_status(p->out, err);
    }
    fgi_buf_fini(&planes);
    return status;
}

static fg_status pack(packer *p, const char *name, const void *jpeg, size_t size, fg_error *err)
{
    FGI_TRY(fgi_jpeg_guard_reader(&p->guard, &p->reader, err));
    fgi_jpeg_guard_input(&p->guard, &p->reader, name, jpeg, size);
    FGI_TRY(fgi_jpeg_guard_run(&p->guard, name, read_jpeg, p, err));
    return put_record(p, err);
}

fg_status fgi_jpeg_coefficients_write(const char *name, const void *jpeg, size_t size, fgi_buf *out,
                                      fg_error *err)
{
    packer *p = fgi_calloc(1, sizeof(*p));
    if (p == NULL)
        return fgi_no_memory(err);
    p->out = out;
    const fg_status status = pack(p, name, jpeg, size, err);
    jpeg_destroy_decompress(&p->reader);
    fgi_buf_fini(&p->indexes);
    fgi_buf_fini(&p->values);
    fgi_free(p->dense);
    fgi_free(p);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

static fg_status malformed(const char *name, size_t at, const char *what, fg_error *err)
{
    return fgi_fail(err, FG_EFORMAT, "%s: coefficients: byte %zu: %s", name, at, what);
}

static fg_status open_header(const char *name, const uint8_t *bytes, size_t size,
                             fgi_jpeg_coefficients *out, fg_error *err)
{
    if (size < HEADER_BYTES || memcmp(bytes, magic, sizeof(magic)) != 0)
        return malformed(name, 0, "expected 'FGDC'", err);
    out->version = (int)fgi_get16(bytes + 4);
    if (out->version < 1 || out->version > VERSION)
        return fgi_fail(
            err, FG_EFORMAT,
            "%s: coefficients: byte 4: version %u; this program reads versions 1 to %d\n"
            "update the program or build the pack again",
            name, fgi_get16(bytes + 4), VERSION);
    out->components = bytes[6];
    out->width = (int)fgi_get16(bytes + 8);
    out->height = (int)fgi_get16(bytes + 10);
    if ((out->components != 1 && out->components != 3) || bytes[7] != 0)
        return malformed(name, 6, "expected 1 or 3 components", err);
    if (out->width == 0 || out->height == 0)
        return malformed(name, 8, "the image has no pixels", err);
    for (int i = 0; i < 4; i++) {
        const int h = bytes[12 + i] >> 4, v = bytes[12 + i] & 15;
        if (i < out->components ? h < 1 || h > 2 || v < 1 || v > 2 : bytes[12 + i] != 0)
            return malformed(name, 12 + (size_t)i, "expected sampling factors of 1 and 2", err);
        if (i < out->components) {
            out->component[i].h = h;
            out->component[i].v = v;
        }
    }
    return FG_OK;
}

fg_status fgi_jpeg_coefficients_open(const char *name, const void *record, size_t size,
                                     fgi_jpeg_coefficients *out, fg_error *err)
{
    const uint8_t *bytes = record;
    *out = (fgi_jpeg_coefficients){0};
    FGI_TRY(open_header(name, bytes, size, out, err));
    fgi_jpeg_coefficients_lay_out(out);
    const size_t fixed = HEADER_BYTES + (size_t)out->components * QUANT_BYTES;
    out->exceptions = fgi_get32(bytes + 16);
    out->compressed_bytes = fgi_get32(bytes + 20);
    if (out->blocks > MOST_BLOCKS || size < fixed ||
        out->exceptions > (size - fixed) / EXCEPTION_BYTES ||
        size - fixed - out->exceptions * EXCEPTION_BYTES != out->compressed_bytes)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: coefficients: byte 16: %zu blocks, %zu exceptions and %zu compressed "
                        "bytes do not match the record's size of %zu bytes",
                        name, out->blocks, out->exceptions, out->compressed_bytes, size);
    for (int i = 0; i < out->components; i++) {
        for (size_t z = 0; z < DCTSIZE2; z++)
            out->component[i].quant[z] =
                (uint16_t)fgi_get16(bytes + HEADER_BYTES + (size_t)i * QUANT_BYTES + 2 * z);
    }
    out->exception_bytes = bytes + fixed;
    out->compressed = bytes + fixed + out->exceptions * EXCEPTION_BYTES;
    for (size_t i = 0; i < out->exceptions; i++) {
        const uint32_t index = fgi_jpeg_coefficients_exception(out, i).index;
        if (index >= (DCTSIZE2 - 1) * out->blocks)
            return malformed(name, fixed + 4 * i, "exception outside the image", err);
    }
    return FG_OK;
}

fgi_jpeg_exception fgi_jpeg_coefficients_exception(const fgi_jpeg_coefficients *record, size_t i)
{
    return (fgi_jpeg_exception){
        .index = fgi_get32(record->exception_bytes + 4 * i),
        .value = (int16_t)fgi_get16(record->exception_bytes + 4 * record->exceptions + 2 * i)};
}

/* Differences to values, within each component. Unsigned sums of low and high bytes are the same
 * as those of signed ones, modulo 65536. */
static void sum_dc(const fgi_jpeg_coefficients *record, uint8_t *dense)
{
    for (int i = 0; i < record->components; i++) {
        const fgi_jpeg_component *c = &record->component[i];
        const size_t count = (size_t)c->columns * (size_t)c->rows;
        uint8_t *low = dense + c->first, *high = low + record->blocks;
        unsigned sum = 0;
        for (size_t k = 0; k < count; k++) {
            sum += ((low[k] ^ 0x80U) - 0x80U) + ((unsigned)high[k] << 8);
            low[k] = (uint8_t)(sum & 0xff);
            high[k] = (uint8_t)((sum + 128) >> 8 & 0xff);
        }
    }
}

fg_status fgi_jpeg_coefficients_unpack(const char *name, const fgi_jpeg_coefficients *record,
                                       void *dense, fg_error *err)
{
    const size_t size = fgi_jpeg_dense_bytes(record->blocks);
    bool is_whole;
    if (record->version == 1)
        is_whole = LZ4_decompress_safe((const char *)record->compressed, dense,
                                       (int)record->compressed_bytes, (int)size) == (int)size;
    else
        is_whole = fgi_bit_planes_read(record->compressed, record->compressed_bytes, dense, size);
    if (!is_whole)
        return fgi_fail(err, FG_EFORMAT,
                        "%s: coefficients: the compressed block is damaged: expected %zu bytes",
                        name, size);
    sum_dc(record, dense);
    return FG_OK;
}

int fgi_jpeg_coefficients_high(const fgi_jpeg_coefficients *record)
{
    uint32_t most = 0;
    if (record->exceptions == 0)
        return 1;
    for (size_t i = 0; i < record->exceptions; i++) {
        const uint32_t index = fgi_jpeg_coefficients_exception(record, i).index;
        most = index > most ? index : most;
    }
    return 2 + (int)(most / record->blocks);
}

/* Stores the exact values of the exceptions into the rows of low and high bytes. */
static fg_status put_exceptions(const char *name, const fgi_jpeg_coefficients *record, int high,
                                uint8_t *entry, fg_error *err)
{
    const size_t n = record->blocks;
    memset(entry + 65 * n, 0, (size_t)(high - 1) * n);
    for (size_t i = 0; i < record->exceptions; i++) {
        const fgi_jpeg_exception e = fgi_jpeg_coefficients_exception(record, i);
        if (e.index >= (size_t)(high - 1) * n)
            return fgi_fail(err, FG_EFORMAT,
                            "%s: coefficients: coefficient %zu has two-byte values, which the pack "
                            "only declares for coefficients below %d",
                            name, 1 + e.index / n, high);
        entry[2 * n + e.index] = low_byte(e.value);
        entry[65 * n + e.index] = high_byte(e.value);
    }
    return FG_OK;
}

fg_status fgi_jpeg_coefficients_entry(const char *name, const fgi_jpeg_coefficients *record,
                                      int high, void *entry, fg_error *err)
{
    const size_t tables = DCTSIZE2 * (size_t)record->components;
    uint8_t *quant = (uint8_t *)entry + (64 + (size_t)high) * record->blocks;
    FGI_TRY(fgi_jpeg_coefficients_unpack(name, record, entry, err));
    FGI_TRY(put_exceptions(name, record, high, entry, err));
    for (size_t k = 0; k < tables; k++) {
        const int value = record->component[k / DCTSIZE2].quant[k % DCTSIZE2];
        quant[k] = low_byte(value);
        quant[tables + k] = high_byte(value);
    }
    return FG_OK;
}

static int16_t signed_byte(uint8_t byte) { return (int16_t)((byte ^ 0x80) - 0x80); }

void fgi_jpeg_coefficients_widen(const fgi_jpeg_coefficients *record, const void *dense,
                                 int16_t *out)
{
    const size_t n = record->blocks;
    const uint8_t *bytes = dense, *ac = bytes + 2 * n;
    for (size_t i = 0; i < n; i++)
        out[i] = (int16_t)(signed_byte(bytes[i]) + 256 * signed_byte(bytes[n + i]));
    for (size_t i = 0; i < (DCTSIZE2 - 1) * n; i++)
        out[n + i] = signed_byte(ac[i]);
    for (size_t i = 0; i < record->exceptions; i++) {
        const fgi_jpeg_exception e = fgi_jpeg_coefficients_exception(record, i);
        out[n + e.index] = e.value;
    }
}
