/* stream.c - sources: sequential datasets.
 *
 * A shuffle buffer of S samples is between a source and the batches. Samples arrive in blocks of S.
 * Each block is delivered in its own order, a permutation keyed by (seed, epoch, block), and each
 * delivered sample is replaced by the next one of the source. So the buffer is always full until
 * the source ends, it always contains the rest of one block and the beginning of the next, and the
 * sample at any position is known without its predecessors: to resume, whole blocks are skipped.
 * Without shuffling the order is that of the source, and the buffer only detects whether more
 * samples follow.
 *
 * Every rank reads the whole source and keeps its rows of each batch. Without shuffling it knows in
 * advance which ones these are, and the other samples need not be decoded.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "data/stream.h"

#include <inttypes.h>
#include <string.h>
#include "base/alloc.h"
#include "base/error.h"

enum { ALIGNMENT = 16 };

struct fgi_stream {
    fg_dataset *dataset;
    fgi_sampler sampler;
    int64_t capacity;
    size_t offset[FG_MAX_FIELDS], slot_bytes;
    unsigned char *memory;     /* of the slots */
    int64_t *number;           /* for each slot: index in the source of its sample */
    int64_t *slots, *upcoming; /* slot of each sample of this block, and of the next one */

    void *reader;
    bool is_open, has_ended;
    fgi_sample_position place; /* position of the next sample to deliver */
    int64_t origin;            /* a position where a batch begins */
    int64_t taken;             /* samples read from the source */
    int64_t block, block_count, dealt, upcoming_count;
};

/* ---- the source ------------------------------------------------------------------------------ */

static void close_reader(fgi_stream *s)
{
    const fg_source_ops *ops = &s->dataset->source;
    if (s->is_open && ops->close != NULL)
        ops->close(s->reader);
    s->is_open = false;
    s->reader = NULL;
}

static fg_status check_end(const fgi_stream *s, bool has_ended, fg_error *err)
{
    const int64_t count = s->dataset->count;
    if (count < 0 || (has_ended ? s->taken == count : s->taken < count))
        return FG_OK;
    return fgi_fail(err, FG_EFORMAT,
                    has_ended ? "the source ended after %" PRId64 " of its %" PRId64 " samples"
                              : "the source has more than %" PRId64
                                " samples, but its count is %" PRId64,
                    s->taken, count);
}

/* Reads the next sample to out_fields (NULL: skips it), or detects the end. */
static fg_status take(fgi_stream *s, void *const *out_fields, fg_error *err)
{
    bool has_ended = false;
    const fg_status status = s->dataset->source.next(s->reader, out_fields, &has_ended, err);
    if (status != FG_OK)
        return fgi_dataset_fail("source", status, s->taken, err);
    FGI_TRY(check_end(s, has_ended, err));
    s->has_ended = has_ended;
    s->taken += !has_ended;
    return FG_OK;
}

/* Whether this rank delivers the next sample of the source. */
static bool is_ours(const fgi_stream *s)
{
    const int64_t rows = s->sampler.batch / s->sampler.world;
    if (s->sampler.shuffle || s->sampler.world == 1)
        return true;
    return s->taken >= s->origin &&
           (s->taken - s->origin) % s->sampler.batch / rows == s->sampler.rank;
}

/* Reads the next sample into a slot. */
static fg_status fill_slot(fgi_stream *s, int64_t slot, fg_error *err)
{
    void *fields[FG_MAX_FIELDS];
    for (int f = 0; f < s->dataset->field_count; f++)
        fields[f] = s->memory + (size_t)slot * s->slot_bytes + s->offset[f];
    s->number[slot] = s->taken;
    return take(s, is_ours(s) ? fields : NULL, err);
}

/* Skips the samples before a block. */
static fg_status skip(fgi_stream *s, int64_t count, fg_error *err)
{
    const fg_source_ops *ops = &s->dataset->source;
    if (ops->skip != NULL && count > 0) {
        const fg_status status = ops->skip(s->reader, count, err);
        s->taken = count;
        return fgi_dataset_fail("source", status, count, err);
    }
    while (s->taken < count && !s->has_ended)
        FGI_TRY(take(s, NULL, err));
    return FG_OK;
}

/* ---- the order ------------------------------------------------------------------------------- */

static int64_t left(const fgi_stream *s) { return s->block_count - s->dealt + s->upcoming_count; }

static void next_block(fgi_stream *s)
{
    int64_t *done = s->slots;
    s->slots = s->upcoming;
    s->upcoming = done;
    s->block_count = s->upcoming_count;
    s->upcoming_count = s->dealt = 0;
    s->block++;
}

/* Slot of the next sample to deliver. */
static int64_t next_slot(const fgi_stream *s)
{
    if (!s->sampler.shuffle)
        return s->slots[s->dealt];
    const fgi_key seed = fgi_key_fold_text(fgi_key_from_seed(s->sampler.seed), "data.buffer");
    const fgi_key epoch = fgi_key_fold(seed, (uint64_t)s->place.epoch);
    const fgi_key key = fgi_key_fold(epoch, (uint64_t)s->block);
    return s->slots[fgi_permute(key, (uint64_t)s->block_count, (uint64_t)s->dealt)];
}

/* Delivers a sample as row `row` of a batch (batch NULL: discards it); there must be one. */
static fg_status deal(fgi_stream *s, const fgi_stream_batch *batch, int64_t row, fg_error *err)
{
    if (s->dealt == s->block_count)
        next_block(s);
    const int64_t slot = next_slot(s);
    for (int f = 0; batch != NULL && f < s->dataset->field_count; f++) {
        const size_t size = s->dataset->row_bytes[f];
        memcpy((char *)batch->rows[f] + (size_t)row * size,
               s->memory + (size_t)slot * s->slot_bytes + s->offset[f], size);
    }
    if (batch != NULL)
        batch->indices[row] = s->number[slot];
    s->dealt++;
    s->place.position++;
    if (s->has_ended)
        return FG_OK;
    FGI_TRY(fill_slot(s, slot, err));
    if (!s->has_ended)
        s->upcoming[s->upcoming_count++] = slot;
    return FG_OK;
}

/* Opens the source at the beginning of a block and fills the buffer. */
static fg_status open_block(fgi_stream *s, fgi_sample_position place, fg_error *err)
{
    s->has_ended = false;
    s->taken = s->block_count = s->dealt = s->upcoming_count = 0;
    s->block = place.position / s->capacity;
    s->origin = place.position;
    s->place = (fgi_sample_position){place.epoch, s->block * s->capacity};
    const fg_status status =
        s->dataset->source.open(s->dataset->self, place.epoch, &s->reader, err);
    if (status != FG_OK)
        return fgi_dataset_fail("source", status, 0, err);
    s->is_open = true;
    FGI_TRY(skip(s, s->place.position, err));
    while (s->block_count < s->capacity && !s->has_ended) {
        FGI_TRY(fill_slot(s, s->block_count, err));
        if (!s->has_ended)
            s->slots[s->block_count] = s->block_count;
        s->block_count += !s->has_ended;
    }
    return FG_OK;
}

static fg_status go_to(fgi_stream *s, fgi_sample_position place, fg_error *err)
{
    if (s->is_open && s->place.epoch == place.epoch && s->place.position == place.position)
        return FG_OK;
    close_reader(s);
    FGI_TRY(open_block(s, place, err));
    while (s->place.position < place.position && left(s) > 0)
        FGI_TRY(deal(s, NULL, 0, err));
    return FG_OK;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Whether another batch follows; with drop_last the buffer has as many samples as a batch. */
static bool has_batch(const fgi_stream *s)
{
    return s->sampler.drop_last ? left(s) >= s->sampler.batch : left(s) > 0;
}

/* Rows without a sample repeat the first one of this rank, or are zeros if it has none. */
static void fill_rest(const fgi_stream *s, const fgi_stream_batch *batch, int64_t rows)
{
    for (int64_t r = batch->valid; r < rows; r++) {
        for (int f = 0; f < s->dataset->field_count; f++) {
            const size_t size = s->dataset->row_bytes[f];
            char *row = (char *)batch->rows[f] + (size_t)r * size;
            if (batch->valid > 0)
                memcpy(row, batch->rows[f], size);
            else
                memset(row, 0, size);
        }
        batch->indices[r] = batch->valid > 0 ? batch->indices[0] : 0;
    }
}

static fg_status read_batch(fgi_stream *s, fgi_sample_position place, fgi_stream_batch *batch,
                            fg_error *err)
{
    const int64_t rows = s->sampler.batch / s->sampler.world, first = rows * s->sampler.rank;
    int64_t n = 0;
    FGI_TRY(go_to(s, place, err));
    batch->is_end = !has_batch(s) || s->place.position != place.position;
    batch->valid = 0;
    batch->next_position = place.position;
    batch->is_last = true;
    if (batch->is_end)
        return FG_OK;
    for (; n < s->sampler.batch && left(s) > 0; n++) {
        const bool is_mine = n >= first && n < first + rows;
        FGI_TRY(deal(s, is_mine ? batch : NULL, n - first, err));
        batch->valid += is_mine;
    }
    batch->next_position = place.position + n;
    batch->is_last = !has_batch(s);
    fill_rest(s, batch, rows);
    return FG_OK;
}

fg_status fgi_stream_read(fgi_stream *stream, fgi_sample_position place, fgi_stream_batch *batch,
                          fg_error *err)
{
    fg_error local;
    if (err == NULL)
        err = &local;
    *err = (fg_error){0};
    const fg_status status = read_batch(stream, place, batch, err);
    if (status != FG_OK || batch->is_last)
        close_reader(stream);
    return status;
}

/* ---- creating and destroying ----------------------------------------------------------------- */

/* The fields of a sample, one after the other. */
static fg_status make_slots(fgi_stream *s, fg_error *err)
{
    size_t bytes = 0;
    for (int f = 0; f < s->dataset->field_count; f++) {
        s->offset[f] = s->slot_bytes;
        s->slot_bytes += (s->dataset->row_bytes[f] + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    if (__builtin_mul_overflow(s->slot_bytes, (size_t)s->capacity, &bytes))
        return fgi_no_memory(err);
    s->memory = fgi_alloc_aligned(bytes);
    s->number = fgi_calloc((size_t)s->capacity, sizeof *s->number);
    s->slots = fgi_calloc((size_t)s->capacity, sizeof *s->slots);
    s->upcoming = fgi_calloc((size_t)s->capacity, sizeof *s->upcoming);
    if (s->memory == NULL || s->number == NULL || s->slots == NULL || s->upcoming == NULL)
        return fgi_no_memory(err);
    memset(s->memory, 0, bytes); /* samples of other ranks are not read */
    return FG_OK;
}

fg_status fgi_stream_create(fg_dataset *dataset, const fgi_sampler *sampler, int64_t buffer,
                            fgi_stream **out, fg_error *err)
{
    *out = NULL;
    fgi_stream *s = fgi_calloc(1, sizeof *s);
    if (s == NULL)
        return fgi_no_memory(err);
    s->dataset = dataset;
    s->sampler = *sampler;
    s->capacity = buffer;
    if (sampler->drop_last && s->capacity < sampler->batch)
        s->capacity = sampler->batch;
    const fg_status status = make_slots(s, err);
    if (status != FG_OK)
        fgi_stream_destroy(s);
    else
        *out = s;
    return status;
}

void fgi_stream_destroy(fgi_stream *s)
{
    if (s == NULL)
        return;
    close_reader(s);
    fgi_free_aligned(s->memory);
    fgi_free(s->number);
    fgi_free(s->slots);
    fgi_free(s->upcoming);
    fgi_free(s);
}
