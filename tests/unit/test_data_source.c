/* test_data_source.c - sources: every sample once, in an order that does not depend on ranks and
 * resumes. Also run with ThreadSanitizer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <fulgurite/data.h>
#include "base/alloc.h"

static fg_error err;

enum { MOST = 256 };

/* A counting source: sample i is x = {i, 2 i}, y = i; epoch e starts at offset e * 1000. */
typedef struct counter {
    int64_t count;    /* number of samples */
    int64_t fails_at; /* -1: nowhere */
    bool open_fails, is_silent;
    atomic_int opened, closed, decoded, passed, skipped, destroyed;
} counter;

typedef struct reader {
    counter *source;
    int64_t epoch, next;
} reader;

static fg_status open_counter(void *self, int64_t epoch, void **out_reader, fg_error *e)
{
    counter *c = self;
    if (c->open_fails) {
        (void)snprintf(e->message, sizeof e->message, "no such place");
        return FG_EIO;
    }
    reader *r = calloc(1, sizeof *r);
    *r = (reader){.source = c, .epoch = epoch};
    atomic_fetch_add(&c->opened, 1);
    *out_reader = r;
    return FG_OK;
}

static fg_status next_sample(void *self, void *const *out_fields, bool *out_end, fg_error *e)
{
    reader *r = self;
    const int64_t i = r->next;
    *out_end = i == r->source->count;
    if (*out_end)
        return FG_OK;
    if (i == r->source->fails_at) {
        if (!r->source->is_silent)
            (void)snprintf(e->message, sizeof e->message, "line %d is damaged", (int)i);
        return FG_EFORMAT;
    }
    r->next++;
    atomic_fetch_add(out_fields != NULL ? &r->source->decoded : &r->source->passed, 1);
    if (out_fields == NULL)
        return FG_OK;
    ((float *)out_fields[0])[0] = (float)(r->epoch * 1000 + i);
    ((float *)out_fields[0])[1] = (float)(2 * i);
    *(int32_t *)out_fields[1] = (int32_t)i;
    return FG_OK;
}

static fg_status skip_samples(void *self, int64_t count, fg_error *e)
{
    reader *r = self;
    (void)e;
    assert_true(count > 0);
    r->next = count < r->source->count ? count : r->source->count;
    atomic_fetch_add(&r->source->skipped, (int)count);
    return FG_OK;
}

static void close_counter(void *self)
{
    reader *r = self;
    atomic_fetch_add(&r->source->closed, 1);
    free(r);
}

static void destroy_counter(void *self) { atomic_fetch_add(&((counter *)self)->destroyed, 1); }

static const fg_field fields[] = {{"x", {FG_F32, 1, {2}}}, {"y", {FG_S32, 0, {0}}}};

static fg_status create(counter *c, bool is_known, bool can_skip, fg_dataset **out)
{
    const fg_source_ops ops = {.open = open_counter,
                               .next = next_sample,
                               .skip = can_skip ? skip_samples : NULL,
                               .close = close_counter,
                               .destroy = destroy_counter};
    const fg_dataset_spec spec = {
        .count = is_known ? c->count : FG_UNKNOWN_COUNT, .fields = fields, .field_count = 2};
    return fg_dataset_from_source(&ops, c, &spec, out, &err);
}

static fg_loader *start(counter *c, const fg_loader_options *options)
{
    fg_dataset *dataset;
    fg_loader *loader;
    fgt_ok(create(c, false, true, &dataset));
    fgt_ok(fg_loader_create(dataset, options, &loader, &err));
    fg_dataset_destroy(dataset);
    return loader;
}

/* Reads to the end of the epoch and checks every batch; writes the samples in order to out. */
static int64_t read_epoch(fg_loader *loader, int64_t epoch, int64_t position, int64_t *out)
{
    int64_t n = 0;
    bool was_last = false;
    const fg_host_batch *b;
    for (;;) {
        fgt_ok(fg_loader_next(loader, &b, &err));
        if (b == NULL)
            break;
        const float *x = b->data[0];
        const int32_t *y = b->data[1];
        assert_false(was_last);
        was_last = b->is_last;
        assert_int_equal(b->epoch, epoch);
        assert_int_equal(b->position, position);
        position = b->next_position;
        for (int64_t i = 0; i < b->valid; i++) {
            assert_int_equal(y[i], b->indices[i]);
            assert_true(x[2 * i] == (float)(epoch * 1000 + y[i]) &&
                        x[2 * i + 1] == (float)(2 * y[i]));
            out[n++] = y[i];
        }
        for (int64_t i = b->valid; i < b->size; i++) {
            assert_int_equal(y[i], b->valid > 0 ? y[0] : 0);
            assert_int_equal(b->indices[i], y[i]);
        }
        fg_loader_recycle(loader, b);
    }
    assert_true(was_last || n == 0);
    return n;
}

static void assert_each_once(const int64_t *order, int64_t n)
{
    int seen[MOST] = {0};
    for (int64_t i = 0; i < n; i++) {
        assert_in_range(order[i], 0, n - 1);
        assert_int_equal(seen[order[i]]++, 0);
    }
}

static void every_sample_comes_once(void **state)
{
    static const int64_t counts[] = {1, 2, 31, 64, 101};
    static const int64_t buffers[] = {1, 2, 10, 64, 101, 200};
    (void)state;
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 6; k++)
            for (int workers = 0; workers < 3; workers++) {
                counter c = {.count = counts[i], .fails_at = -1};
                int64_t order[MOST];
                fg_loader *loader =
                    start(&c, &(fg_loader_options){.batch_size = 16,
                                                   .shuffle = true,
                                                   .seed = 3,
                                                   .shuffle_buffer = buffers[k],
                                                   .workers = workers == 0 ? FG_NONE : workers});
                assert_int_equal(fg_loader_batch_count(loader), -1);
                assert_int_equal(read_epoch(loader, 0, 0, order), counts[i]);
                assert_each_once(order, counts[i]);
                /* repeated calls return the end */
                assert_int_equal(read_epoch(loader, 0, 0, order), 0);
                fgt_ok(fg_loader_start_epoch(loader, 4, 0, &err));
                assert_int_equal(read_epoch(loader, 4, 0, order), counts[i]);
                assert_each_once(order, counts[i]);
                fg_loader_destroy(loader);
                assert_int_equal(c.opened, c.closed);
                assert_int_equal(c.destroyed, 1);
            }
}

/* A block of the buffer's size is delivered before the next one, each in a different order. */
static void a_buffer_shuffles_within_its_size(void **state)
{
    enum { COUNT = 103, BUFFER = 20 };
    counter c = {.count = COUNT, .fails_at = -1};
    int64_t first[MOST], second[MOST], again[MOST], in_place = 0, same = 0;
    (void)state;
    const fg_loader_options options = {
        .batch_size = 8, .shuffle = true, .seed = 7, .shuffle_buffer = BUFFER, .run_ahead = true};
    fg_loader *loader = start(&c, &options);
    assert_int_equal(read_epoch(loader, 0, 0, first), COUNT);
    assert_int_equal(read_epoch(loader, 1, 0, second), COUNT);
    fgt_ok(fg_loader_start_epoch(loader, 0, 0, &err));
    assert_int_equal(read_epoch(loader, 0, 0, again), COUNT);
    assert_memory_equal(first, again, COUNT * sizeof first[0]);
    for (int64_t i = 0; i < COUNT; i++) {
        assert_int_equal(first[i] / BUFFER, i / BUFFER);
        in_place += first[i] == i;
        same += first[i] == second[i];
    }
    assert_in_range(in_place, 0, 20); /* one in twenty on average: 6 */
    assert_in_range(same, 0, 20);
    fg_loader_destroy(loader);
    /* recorded: a different order would break resuming existing runs */
    static const int64_t pinned[20] = {19, 6, 14, 1, 12, 17, 15, 18, 4, 16,
                                       13, 5, 10, 7, 0,  11, 2,  8,  9, 3};
    for (int i = 0; i < 20; i++)
        assert_int_equal(first[i], pinned[i]);
}

/* Any pair of the samples in a small buffer is equally likely to come first. The bound is 4.5
 * standard deviations of chi-squared with 19 degrees of freedom. */
static void small_buffers_are_fair(void **state)
{
    enum { COUNT = 20, BUFFER = 5, EPOCHS = 5000, PAIRS = BUFFER * (BUFFER - 1) };
    counter c = {.count = COUNT, .fails_at = -1};
    double seen[BUFFER][BUFFER] = {{0}}, sum = 0;
    (void)state;
    fg_loader *loader = start(&c, &(fg_loader_options){.batch_size = COUNT,
                                                       .shuffle = true,
                                                       .seed = 1,
                                                       .shuffle_buffer = BUFFER,
                                                       .workers = FG_NONE});
    for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
        int64_t order[MOST];
        fgt_ok(fg_loader_start_epoch(loader, epoch, 0, &err));
        assert_int_equal(read_epoch(loader, epoch, 0, order), COUNT);
        for (int64_t i = 0; i < COUNT; i += BUFFER)
            seen[order[i] % BUFFER][order[i + 1] % BUFFER]++;
    }
    const double expected = (double)EPOCHS * (COUNT / BUFFER) / PAIRS;
    for (int a = 0; a < BUFFER; a++)
        for (int b = 0; b < BUFFER; b++)
            sum += a == b ? 0 : (seen[a][b] - expected) * (seen[a][b] - expected) / expected;
    fgt_close("chi-squared of pairs", sum, PAIRS - 1, 27.7, 0);
    fg_loader_destroy(loader);
}

/* Without a buffer, or without shuffling, the order is the source's. */
static void the_order_is_the_sources_otherwise(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        counter c = {.count = 53, .fails_at = -1};
        int64_t order[MOST];
        fg_loader *loader =
            start(&c, &(fg_loader_options){
                          .batch_size = 8, .shuffle = i == 0, .shuffle_buffer = i == 0 ? 0 : 16});
        assert_int_equal(read_epoch(loader, 0, 0, order), 53);
        for (int64_t k = 0; k < 53; k++)
            assert_int_equal(order[k], k);
        fg_loader_destroy(loader);
    }
}

/* After its last sample, before the end is asked for. */
static void a_reader_is_closed_at_once(void **state)
{
    counter c = {.count = 16, .fails_at = -1};
    const fg_host_batch *b;
    (void)state;
    fg_loader *loader = start(&c, &(fg_loader_options){.batch_size = 8, .workers = FG_NONE});
    for (int i = 0; i < 2; i++) {
        fgt_ok(fg_loader_next(loader, &b, &err));
        assert_int_equal(c.closed, i);
        fg_loader_recycle(loader, b);
    }
    fg_loader_destroy(loader);
    assert_int_equal(c.closed, 1);
}

/* Samples change places in pairs. */
static void a_buffer_of_two_shuffles(void **state)
{
    counter c = {.count = 52, .fails_at = -1};
    int64_t order[MOST], moved = 0;
    (void)state;
    fg_loader *loader =
        start(&c, &(fg_loader_options){.batch_size = 8, .shuffle = true, .shuffle_buffer = 2});
    assert_int_equal(read_epoch(loader, 0, 0, order), 52);
    for (int64_t k = 0; k < 52; k++) {
        assert_int_equal(order[k] / 2, k / 2);
        moved += order[k] != k;
    }
    assert_true(moved > 0);
    fg_loader_destroy(loader);
}

/* Batch k has the same samples for any number of ranks, and ranks share no samples. */
static void ranks_shard_the_samples(void **state)
{
    enum { COUNT = 101, BATCH = 16, BATCHES = 7 };
    (void)state;
    for (int64_t buffer = 1; buffer <= 40; buffer += 39) {
        int64_t order[MOST];
        fg_loader_options options = {
            .batch_size = BATCH, .shuffle = true, .seed = 5, .shuffle_buffer = buffer};
        counter c = {.count = COUNT, .fails_at = -1};
        fg_loader *loader = start(&c, &options);
        assert_int_equal(read_epoch(loader, 0, 0, order), COUNT);
        fg_loader_destroy(loader);
        for (options.world = 2; options.world <= 4; options.world *= 2) {
            const int64_t rows = BATCH / options.world;
            int decoded = 0;
            for (options.rank = 0; options.rank < options.world; options.rank++) {
                counter mine = {.count = COUNT, .fails_at = -1};
                const fg_host_batch *b;
                loader = start(&mine, &options);
                for (int64_t k = 0; k < BATCHES; k++) {
                    fgt_ok(fg_loader_next(loader, &b, &err));
                    assert_non_null(b); /* all ranks have the same number of batches */
                    const int64_t first = k * BATCH + options.rank * rows, left = COUNT - first;
                    assert_int_equal(b->valid, left < 0 ? 0 : left < rows ? left : rows);
                    assert_int_equal(b->size, rows);
                    for (int64_t i = b->valid; i < rows; i++)
                        assert_int_equal(b->indices[i], b->valid > 0 ? b->indices[0] : 0);
                    if (b->valid > 0)
                        assert_memory_equal(b->indices, order + first,
                                            (size_t)b->valid * sizeof order[0]);
                    assert_int_equal(b->is_last, k == BATCHES - 1);
                    fg_loader_recycle(loader, b);
                }
                fgt_ok(fg_loader_next(loader, &b, &err));
                assert_null(b);
                fg_loader_destroy(loader);
                decoded += mine.decoded;
            }
            /* without shuffling, no rank decodes another rank's samples */
            assert_int_equal(decoded, buffer == 1 ? COUNT : COUNT * options.world);
        }
    }
}

static void it_resumes_anywhere(void **state)
{
    enum { COUNT = 67 };
    (void)state;
    for (int64_t buffer = 1; buffer <= 33; buffer += 8)
        for (int can_skip = 0; can_skip < 2; can_skip++) {
            int64_t whole[MOST], rest[MOST];
            fg_loader_options options = {
                .batch_size = 5, .shuffle = true, .seed = 2, .shuffle_buffer = buffer, .epoch = 6};
            counter all = {.count = COUNT, .fails_at = -1};
            fg_loader *loader = start(&all, &options);
            assert_int_equal(read_epoch(loader, 6, 0, whole), COUNT);
            fg_loader_destroy(loader);
            for (options.position = 1; options.position <= COUNT + 1; options.position += 3) {
                const int64_t at = options.position, left = at < COUNT ? COUNT - at : 0;
                counter c = {.count = COUNT, .fails_at = -1};
                fg_dataset *dataset;
                options.batch_size = 4 + at % 3; /* may differ from before */
                fgt_ok(create(&c, false, can_skip, &dataset));
                fgt_ok(fg_loader_create(dataset, &options, &loader, &err));
                fg_dataset_destroy(dataset);
                assert_int_equal(read_epoch(loader, 6, at, rest), left);
                assert_memory_equal(whole + (left > 0 ? at : 0), rest,
                                    (size_t)left * sizeof rest[0]);
                fg_loader_destroy(loader);
                if (can_skip) /* whole blocks are skipped */
                    assert_int_equal(c.skipped, at / buffer * buffer);
            }
        }
}

static void drop_last_leaves_the_tail_out(void **state)
{
    (void)state;
    for (int64_t count = 14; count <= 49; count++)
        for (int64_t buffer = 1; buffer <= 22; buffer += 7) { /* 1, 8, 15, 22 */
            counter c = {.count = count, .fails_at = -1};
            int64_t order[MOST];
            fg_loader *loader = start(&c, &(fg_loader_options){.batch_size = 16,
                                                               .shuffle = true,
                                                               .shuffle_buffer = buffer,
                                                               .drop_last = true});
            assert_int_equal(read_epoch(loader, 0, 0, order), count / 16 * 16);
            fg_loader_destroy(loader);
        }
}

static void jumps_and_epochs_ahead(void **state)
{
    (void)state;
    for (int synchronous = 0; synchronous < 2; synchronous++) {
        counter c = {.count = 37, .fails_at = -1};
        int64_t order[MOST];
        const fg_host_batch *held;
        fg_loader *loader = start(&c, &(fg_loader_options){.batch_size = 8,
                                                           .prefetch = 3,
                                                           .workers = synchronous ? FG_NONE : 0,
                                                           .shuffle = true,
                                                           .shuffle_buffer = 9,
                                                           .run_ahead = true});
        for (int64_t epoch = 0; epoch < 4; epoch++) {
            if (epoch % 2 == 1) /* setting the default changes nothing */
                fgt_ok(fg_loader_start_epoch(loader, epoch, 0, &err));
            assert_int_equal(read_epoch(loader, epoch, 0, order), 37);
            assert_each_once(order, 37);
        }
        for (int64_t jump = 0; jump < 40; jump++) {
            fgt_ok(fg_loader_start_epoch(loader, jump % 5, jump * 7 % 37, &err));
            fgt_ok(fg_loader_next(loader, &held, &err));
            assert_int_equal(held->position, jump * 7 % 37);
            fgt_ok(fg_loader_start_epoch(loader, 9, 0, &err));
            assert_int_equal(read_epoch(loader, 9, 0, order), 37);
            fg_loader_recycle(loader, held);
        }
        fg_loader_destroy(loader);
        assert_int_equal(c.opened, c.closed);
    }
}

static void an_empty_source_has_empty_epochs(void **state)
{
    counter c = {.count = 0, .fails_at = -1};
    int64_t order[MOST];
    (void)state;
    for (int ahead = 0; ahead < 2; ahead++) {
        fg_loader *loader = start(&c, &(fg_loader_options){.batch_size = 8, .run_ahead = ahead});
        for (int64_t epoch = 0; epoch < 20; epoch++) {
            assert_int_equal(read_epoch(loader, epoch, 0, order), 0);
            fgt_ok(fg_loader_start_epoch(loader, epoch + 1, 0, &err));
        }
        fg_loader_destroy(loader);
    }
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void a_failing_source_ends_its_epoch(void **state)
{
    (void)state;
    for (int silent = 0; silent < 2; silent++) {
        counter c = {.count = 40, .fails_at = 19, .is_silent = silent};
        const fg_host_batch *b;
        fg_loader *loader = start(&c, &(fg_loader_options){.batch_size = 8});
        for (int k = 0; k < 2; k++) {
            fgt_ok(fg_loader_next(loader, &b, &err));
            assert_int_equal(b->valid, 8);
            fg_loader_recycle(loader, b);
        }
        assert_int_equal(fg_loader_next(loader, &b, &err), FG_EFORMAT);
        assert_string_equal(err.message, silent != 0
                                             ? "sample 19: the source's reader returned FG_EFORMAT"
                                             : "line 19 is damaged");
        fgt_ok(fg_loader_next(loader, &b, &err));
        assert_null(b);
        fg_loader_destroy(loader);
        assert_int_equal(c.opened, c.closed);
    }
    counter shut = {.count = 4, .open_fails = true};
    const fg_host_batch *b;
    fg_loader *loader = start(&shut, &(fg_loader_options){.batch_size = 8});
    assert_int_equal(fg_loader_next(loader, &b, &err), FG_EIO);
    assert_string_equal(err.message, "no such place");
    fg_loader_destroy(loader);
}

static fg_status refuse_to_skip(void *self, int64_t count, fg_error *e)
{
    (void)self, (void)count, (void)e;
    return FG_EIO;
}

/* Without a message, the error names the sample that would have been next. */
static void a_skip_may_fail(void **state)
{
    const fg_source_ops ops = {
        .open = open_counter, .next = next_sample, .skip = refuse_to_skip, .close = close_counter};
    const fg_dataset_spec spec = {.count = 40, .fields = fields, .field_count = 2};
    counter c = {.count = 40, .fails_at = -1};
    fg_dataset *dataset;
    fg_loader *loader;
    const fg_host_batch *b;
    (void)state;
    fgt_ok(fg_dataset_from_source(&ops, &c, &spec, &dataset, &err));
    fgt_ok(fg_loader_create(dataset, &(fg_loader_options){.batch_size = 8, .position = 16}, &loader,
                            &err));
    assert_int_equal(fg_loader_next(loader, &b, &err), FG_EIO);
    assert_string_equal(err.message, "sample 16: the source's reader returned FG_EIO");
    fg_loader_destroy(loader);
    fg_dataset_destroy(dataset);
    assert_int_equal(c.opened, c.closed);
}

static void a_promised_count_is_held_to(void **state)
{
    (void)state;
    for (int64_t really = 29; really <= 31; really++) {
        counter c = {.count = 30, .fails_at = -1};
        fg_dataset *dataset;
        fg_loader *loader;
        const fg_host_batch *b;
        fg_status status = FG_OK;
        fgt_ok(create(&c, true, false, &dataset));
        c.count = really;
        fgt_ok(fg_loader_create(dataset, &(fg_loader_options){.batch_size = 8}, &loader, &err));
        assert_int_equal(fg_dataset_count(dataset), 30);
        assert_int_equal(fg_loader_batch_count(loader), 4);
        do {
            status = fg_loader_next(loader, &b, &err);
            fg_loader_recycle(loader, b);
        } while (status == FG_OK && b != NULL);
        assert_int_equal(status, really == 30 ? FG_OK : FG_EFORMAT);
        if (really < 30)
            assert_string_equal(err.message, "the source ended after 29 of its 30 samples");
        else if (really > 30)
            assert_string_equal(err.message,
                                "the source has more than 30 samples, but its count is 30");
        fg_loader_destroy(loader);
        fg_dataset_destroy(dataset);
    }
}

static void what_needs_random_access_is_refused(void **state)
{
    counter c = {.count = 30, .fails_at = -1};
    fg_dataset *dataset, *a, *b;
    const int64_t one = 0;
    float x[2];
    int32_t y;
    (void)state;
    fgt_ok(create(&c, true, false, &dataset));
    assert_true(fg_dataset_is_source(dataset));
    assert_int_equal(fg_dataset_read(dataset, 0, (void *[]){x, &y}, &err), FG_EUNSUPPORTED);
    assert_string_equal(
        err.message,
        "a source can only be read sequentially, by a loader: random access is not supported");
    assert_int_equal(fg_dataset_subset(dataset, &one, 1, &a, &err), FG_EUNSUPPORTED);
    assert_int_equal(
        fg_dataset_split(dataset, &(fg_split_options){.val_fraction = 0.5}, &a, &b, &err),
        FG_EUNSUPPORTED);
    fg_dataset_destroy(dataset);
    const fg_source_ops no_next = {.open = open_counter, .destroy = destroy_counter};
    const fg_dataset_spec spec = {.fields = fields, .field_count = 2};
    assert_int_equal(fg_dataset_from_source(&no_next, &c, &spec, &dataset, &err), FG_EINVAL);
    assert_string_equal(err.message, "the source has no open or no next function");
    assert_int_equal(c.destroyed, 2);
    c.count = -2;
    assert_int_equal(create(&c, true, false, &dataset), FG_EINVAL);
    assert_string_equal(err.message, "the dataset has a count of -2: expected 0 or more");
}

static fg_status one_epoch(void *self, fg_error *e)
{
    counter *c = self;
    fg_dataset *dataset = NULL;
    fg_loader *loader = NULL;
    const fg_host_batch *b = NULL;
    const fg_source_ops ops = {.open = open_counter, .next = next_sample, .close = close_counter};
    const fg_dataset_spec spec = {.count = -1, .fields = fields, .field_count = 2};
    fg_status status = fg_dataset_from_source(&ops, c, &spec, &dataset, e);
    if (status == FG_OK)
        status = fg_loader_create(
            dataset, &(fg_loader_options){.batch_size = 4, .workers = FG_NONE}, &loader, e);
    if (status == FG_OK)
        status = fg_loader_next(loader, &b, e);
    fg_loader_destroy(loader);
    fg_dataset_destroy(dataset);
    return status;
}

static void memory_may_run_out(void **state)
{
    counter c = {.count = 10, .fails_at = -1};
    (void)state;
    fgt_fault_loop(one_epoch, &c);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_sample_comes_once),
    cmocka_unit_test(a_buffer_shuffles_within_its_size),
    cmocka_unit_test(small_buffers_are_fair),
    cmocka_unit_test(the_order_is_the_sources_otherwise),
    cmocka_unit_test(a_reader_is_closed_at_once),
    cmocka_unit_test(a_buffer_of_two_shuffles),
    cmocka_unit_test(ranks_shard_the_samples),
    cmocka_unit_test(it_resumes_anywhere),
    cmocka_unit_test(drop_last_leaves_the_tail_out),
    cmocka_unit_test(jumps_and_epochs_ahead),
    cmocka_unit_test(an_empty_source_has_empty_epochs),
    cmocka_unit_test(a_failing_source_ends_its_epoch),
    cmocka_unit_test(a_skip_may_fail),
    cmocka_unit_test(a_promised_count_is_held_to),
    cmocka_unit_test(what_needs_random_access_is_refused),
    cmocka_unit_test(memory_may_run_out),
};
FGT_MAIN(tests)
