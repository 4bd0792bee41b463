/* jpeg_huffman.c - an entropy decoder. Each symbol is one lookup of 12 bits, which gives the value
 * too if code and value are not longer. A decoder waits for that lookup before it knows where the
 * next code begins; the segments between restart markers are independent of each other, so two are
 * decoded alternately and their lookups overlap. Source: ITU-T T.81, annex F.2.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "image/jpeg_huffman.h"

#include <endian.h>
#include <string.h>

enum { LOOKUP = FGI_HUFFMAN_LOOKUP_BITS, END_OF_BLOCK = 64, BLOCK = 64 };

/* ---- tables ---------------------------------------------------------------------------------- */

/* The value of `size` bits: T.81's EXTEND. */
static int16_t extend(unsigned bits, unsigned size)
{
    if (size == 0)
        return 0;
    const int value = (int)bits;
    return (int16_t)(value < 1 << (size - 1) ? value - (1 << size) + 1 : value);
}

/* Zeros before the value. In an AC table, size 0 ends the block unless the run is 15. */
static unsigned run_of(unsigned symbol, bool is_ac)
{
    if (!is_ac)
        return 0;
    return (symbol & 15) == 0 && symbol != 0xf0 ? END_OF_BLOCK : symbol >> 4;
}

/* Fills the entries that begin with a code of `length` bits. */
static void fill(fgi_huffman_table *table, unsigned code, unsigned length, unsigned symbol)
{
    const unsigned size = symbol & 15, run = run_of(symbol, table->is_ac);
    fgi_huffman_entry *entry = table->lookup + (code << (LOOKUP - length));
    if (length + size > LOOKUP) {
        for (unsigned i = 0; i < 1u << (LOOKUP - length); i++)
            entry[i] = (fgi_huffman_entry){.run = (uint8_t)length};
        return;
    }
    const unsigned repeat = 1u << (LOOKUP - length - size);
    for (unsigned value = 0; value < 1u << size; value++) {
        const fgi_huffman_entry e = {extend(value, size), (uint8_t)run, (uint8_t)(length + size)};
        for (unsigned i = 0; i < repeat; i++)
            *entry++ = e;
    }
}

/* Assigns the codes, in order. False if there are more codes than the lengths allow. */
static bool assign(fgi_huffman_table *table)
{
    unsigned code = 0, index = 0;
    for (unsigned length = 1; length <= 16; length++) {
        const unsigned count = table->bits_of_source[length];
        if (index + count > 256 || code + count > 1u << length)
            return false;
        table->first[length] = (int32_t)index - (int32_t)code;
        for (unsigned i = 0; i < count; i++, code++, index++) {
            if (!table->is_ac && table->symbol[index] > 15)
                return false;
            if (length <= LOOKUP)
                fill(table, code, length, table->symbol[index]);
        }
        table->end[length] = (int32_t)code;
        code <<= 1;
    }
    return true;
}

bool fgi_huffman_build(fgi_huffman_table *table, const uint8_t bits[17], const uint8_t symbols[256],
                       bool is_ac)
{
    if (table->is_built && table->is_ac == is_ac &&
        memcmp(bits, table->bits_of_source, sizeof(table->bits_of_source)) == 0 &&
        memcmp(symbols, table->symbols_of_source, sizeof(table->symbols_of_source)) == 0)
        return true;
    memset(table, 0, sizeof(*table));
    memcpy(table->bits_of_source, bits, sizeof(table->bits_of_source));
    memcpy(table->symbols_of_source, symbols, sizeof(table->symbols_of_source));
    memcpy(table->symbol, symbols, sizeof(table->symbol));
    table->is_ac = is_ac;
    table->is_built = assign(table);
    return table->is_built;
}

/* ---- bits ------------------------------------------------------------------------------------ */

/* A segment that is being decoded. */
typedef struct lane {
    uint64_t bits;     /* the next bits, from the top; below the first `count`, bits of *at */
    unsigned count;    /* of valid bits, besides those of *at: 56..63 after a refill */
    const uint8_t *at; /* the next byte to append */
    const fgi_huffman_entry *lookup;
    int16_t *block;
    int k; /* the next coefficient of the block, in zigzag order */
    int block_index, blocks;
    int column, row, left; /* position of the MCU; MCUs left, with this one */
    bool is_whole, is_failed;
    uint16_t dc[4];
    int16_t *mcu;
    const uint8_t *begin, *end;
    int segment;                                           /* index, -1 if the lane is idle */
    int16_t dump[FGI_HUFFMAN_BLOCKS * FGI_HUFFMAN_STRIDE]; /* MCUs outside the window */
} lane;

/* Zigzag order to natural order. What a damaged segment writes after coefficient 63, and what an
 * end of block writes, is stored behind the block. */
static const uint8_t zigzag[2 * BLOCK] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64};

static inline uint64_t load_big64(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof(word));
    return be64toh(word);
}

/* Appends whole bytes, without a branch: at least 56 bits. A code and its value have at most 31. */
static inline __attribute__((always_inline)) void append(uint64_t *bits, unsigned *count,
                                                         const uint8_t **at)
{
    *bits |= load_big64(*at) >> *count;
    *at += (63 - *count) >> 3;
    *count |= 56;
}

static inline void consume(lane *s, unsigned bits)
{
    s->bits <<= bits;
    s->count -= bits;
}

/* A code or value that does not fit in the lookup. bits is 0 if no code matches. */
static fgi_huffman_entry decode_long(const fgi_huffman_table *table, uint64_t bits, unsigned length)
{
    if (length == 0) {
        length = LOOKUP + 1;
        while (length <= 16 && (int32_t)(bits >> (64 - length)) >= table->end[length])
            length++;
        if (length > 16)
            return (fgi_huffman_entry){0};
    }
    const int32_t code = (int32_t)(bits >> (64 - length));
    const unsigned symbol = table->symbol[(table->first[length] + code) & 255];
    const unsigned size = symbol & 15;
    const unsigned value = size == 0 ? 0 : (unsigned)(bits << length >> (64 - size));
    return (fgi_huffman_entry){extend(value, size), (uint8_t)run_of(symbol, table->is_ac),
                               (uint8_t)(length + size)};
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void place_mcu(lane *s, const fgi_huffman_window *w)
{
    if (s->row < w->row || s->row >= w->row_end || s->column < w->column ||
        s->column >= w->column_end) {
        s->mcu = s->dump;
        return;
    }
    const size_t index = (size_t)(s->row - w->row) * (size_t)(w->column_end - w->column) +
                         (size_t)(s->column - w->column);
    s->mcu = w->coefficients + index * (size_t)s->blocks * FGI_HUFFMAN_STRIDE;
}

/* The number of bits that were used after the end of the segment, or minus those that are left. */
static ptrdiff_t excess_bits(const lane *s) { return 8 * (s->at - s->end) - (ptrdiff_t)s->count; }

/* After the last block of an MCU. False at the end of the segment's part. */
static bool next_mcu(lane *s, const fgi_huffman_scan *scan, const fgi_huffman_window *window)
{
    s->block_index = 0;
    if (--s->left == 0) {
        s->is_failed |= s->is_whole && excess_bits(s) <= -8;
        return false;
    }
    if (++s->column == scan->mcus_per_row) {
        s->column = 0;
        s->row++;
    }
    place_mcu(s, window);
    return true;
}

/* Decodes the DC coefficient of the current block. */
static bool begin_block(lane *s, const fgi_huffman_scan *scan)
{
    const fgi_huffman_table *table = scan->dc[s->block_index];
    append(&s->bits, &s->count, &s->at);
    fgi_huffman_entry e = table->lookup[s->bits >> (64 - LOOKUP)];
    if (e.bits == 0)
        e = decode_long(table, s->bits, e.run);
    s->is_failed |= e.bits == 0;
    consume(s, e.bits);
    uint16_t *dc = &s->dc[scan->component[s->block_index]];
    *dc = (uint16_t)(*dc + (unsigned)e.value);
    s->block = s->mcu + (size_t)s->block_index * FGI_HUFFMAN_STRIDE;
    s->block[0] = (int16_t)*dc;
    s->lookup = scan->ac[s->block_index]->lookup;
    s->k = 1;
    return !s->is_failed;
}

/* After a block. False when the lane is finished or has failed. */
static __attribute__((noinline)) bool next_block(lane *s, const fgi_huffman_scan *scan,
                                                 const fgi_huffman_window *window)
{
    s->is_failed |= excess_bits(s) > 0;
    if (s->is_failed)
        return false;
    if (++s->block_index == s->blocks && !next_mcu(s, scan, window))
        return false;
    return begin_block(s, scan);
}

/* What one step of the inner loop uses; kept in registers. */
typedef struct cursor {
    uint64_t bits;
    unsigned count;
    const uint8_t *at;
    const fgi_huffman_entry *lookup;
    int16_t *block;
    int k;
} cursor;

static inline cursor cursor_of(const lane *s)
{
    return (cursor){s->bits, s->count, s->at, s->lookup, s->block, s->k};
}

static inline void put_cursor(lane *s, const cursor *c)
{
    s->bits = c->bits;
    s->count = c->count;
    s->at = c->at;
    s->k = c->k;
}

/* The rare symbols. */
static __attribute__((noinline)) fgi_huffman_entry
step_long(lane *s, uint64_t bits, const fgi_huffman_entry *lookup, unsigned length)
{
    const fgi_huffman_table *table = (const fgi_huffman_table *)(const void *)lookup;
    fgi_huffman_entry e = decode_long(table, bits, length);
    if (e.bits == 0) {
        s->is_failed = true;
        e.run = END_OF_BLOCK;
    }
    return e;
}

/* Decodes one AC coefficient, or advances to the next block. False when the lane is finished. */
static inline __attribute__((always_inline)) bool
step(cursor *c, lane *s, const fgi_huffman_scan *scan, const fgi_huffman_window *window)
{
    if (__builtin_expect(c->k >= BLOCK, 0)) {
        put_cursor(s, c);
        if (!next_block(s, scan, window))
            return false;
        *c = cursor_of(s);
        return true;
    }
    append(&c->bits, &c->count, &c->at);
    fgi_huffman_entry e = c->lookup[c->bits >> (64 - LOOKUP)];
    if (__builtin_expect(e.bits == 0, 0))
        e = step_long(s, c->bits, c->lookup, e.run);
    c->bits <<= e.bits;
    c->count -= e.bits;
    c->k += e.run;
    c->block[zigzag[c->k]] = e.value;
    c->k++;
    return true;
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Removes the byte stuffing: FF 00 means FF. Returns the size, or SIZE_MAX at a marker. */
static size_t unstuff(const uint8_t *bytes, size_t size, uint8_t *out)
{
    size_t written = 0;
    while (size > 0) {
        const uint8_t *found = memchr(bytes, 0xff, size);
        const size_t plain = found == NULL ? size : (size_t)(found - bytes) + 1;
        memcpy(out + written, bytes, plain);
        written += plain;
        bytes += plain;
        size -= plain;
        if (found == NULL)
            break;
        if (size == 0 || *bytes != 0)
            return SIZE_MAX;
        bytes++;
        size--;
    }
    memset(out + written, 0, FGI_HUFFMAN_PAD);
    return written;
}

/* Prepares the first block of a segment. False if it fails at once. */
static bool start(lane *s, const fgi_huffman_scan *scan, const fgi_huffman_window *window,
                  const fgi_huffman_segment *segment, uint8_t *scratch)
{
    const size_t size = unstuff(segment->bytes, segment->size, scratch);
    s->bits = 0;
    s->count = 0;
    s->begin = s->at = scratch;
    s->end = scratch + (size == SIZE_MAX ? 0 : size);
    s->is_failed = size == SIZE_MAX;
    s->block_index = 0;
    s->blocks = scan->blocks;
    s->left = segment->count;
    s->row = (int)(segment->mcu / scan->mcus_per_row);
    s->column = (int)(segment->mcu % scan->mcus_per_row);
    s->is_whole = segment->is_whole;
    memset(s->dc, 0, sizeof(s->dc));
    place_mcu(s, window);
    return !s->is_failed && begin_block(s, scan);
}

/* Runs both lanes until one of them is finished, which is marked as idle. */
static void run_pair(lane *a, lane *b, const fgi_huffman_scan *scan,
                     const fgi_huffman_window *window)
{
    cursor x = cursor_of(a), y = cursor_of(b);
    for (;;) {
        if (!step(&x, a, scan, window)) {
            put_cursor(b, &y);
            a->segment = -1;
            return;
        }
        if (!step(&y, b, scan, window)) {
            put_cursor(a, &x);
            b->segment = -1;
            return;
        }
    }
}

static void run_alone(lane *a, const fgi_huffman_scan *scan, const fgi_huffman_window *window)
{
    cursor x = cursor_of(a);
    while (step(&x, a, scan, window)) {
    }
    a->segment = -1;
}

int fgi_huffman_decode(const fgi_huffman_scan *scan, const fgi_huffman_window *window,
                       const fgi_huffman_segment *segments, int count,
                       const fgi_huffman_scratch *scratch)
{
    lane lanes[2];
    lanes[0].segment = lanes[1].segment = -1;
    for (int next = 0;;) {
        for (int i = 0; i < 2 && next < count; i++) {
            if (lanes[i].segment >= 0)
                continue;
            if (!start(&lanes[i], scan, window, &segments[next], scratch->bytes[i]))
                return next;
            lanes[i].segment = next++;
        }
        const int first = lanes[0].segment, second = lanes[1].segment;
        if (first >= 0 && second >= 0)
            run_pair(&lanes[0], &lanes[1], scan, window);
        else if (first >= 0)
            run_alone(&lanes[0], scan, window);
        else if (second >= 0)
            run_alone(&lanes[1], scan, window);
        else
            return -1;
        if (first >= 0 && lanes[0].segment < 0 && lanes[0].is_failed)
            return first;
        if (second >= 0 && lanes[1].segment < 0 && lanes[1].is_failed)
            return second;
    }
}

/* ---- block by block -------------------------------------------------------------------------- */

/* What the loop over a block's symbols uses; kept in registers. */
typedef struct bit_reader {
    uint64_t bits;
    unsigned count;
    const uint8_t *at;
} bit_reader;

/* The entry of the next code, whose bits are consumed; e.bits is 0 if it is invalid. There are at
 * least 12 bits. */
static inline __attribute__((always_inline)) fgi_huffman_entry
next_entry(bit_reader *r, const fgi_huffman_table *table)
{
    fgi_huffman_entry e = table->lookup[r->bits >> (64 - LOOKUP)];
    const bool is_long = e.bits == 0;
    if (__builtin_expect(is_long, 0)) {
        append(&r->bits, &r->count, &r->at);
        e = decode_long(table, r->bits, e.run);
    }
    r->bits <<= e.bits;
    r->count -= e.bits;
    if (__builtin_expect(is_long, 0)) /* the caller counts on at most 12 bits */
        append(&r->bits, &r->count, &r->at);
    return e;
}

bool fgi_huffman_decode_block(fgi_huffman_stream *stream, const fgi_huffman_scan *scan, int block,
                              int16_t *out)
{
    const fgi_huffman_table *table = scan->ac[block];
    bit_reader r = {stream->bits, stream->count, stream->at};
    append(&r.bits, &r.count, &r.at);
    fgi_huffman_entry e = next_entry(&r, scan->dc[block]);
    uint16_t *dc = &stream->dc[scan->component[block]];
    bool is_good = e.bits > 0;
    unsigned k = 1;
    *dc = (uint16_t)(*dc + (unsigned)e.value);
    out[0] = (int16_t)*dc;
    for (unsigned used = 1; k < BLOCK; used++) {
        if (used % 4 == 0) /* of at least 56 bits, four lookups need 48 */
            append(&r.bits, &r.count, &r.at);
        e = next_entry(&r, table);
        is_good &= e.bits > 0;
        k += e.run;
        if (k >= BLOCK) {
            is_good &= e.run == END_OF_BLOCK;
            break;
        }
        out[zigzag[k++]] = e.value;
    }
    stream->bits = r.bits;
    stream->count = r.count;
    stream->at = r.at;
    return is_good;
}
