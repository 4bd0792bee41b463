/* The loader: order, slots, seeking, errors, and destruction at any time. Also run with
 * ThreadSanitizer.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>
#include <fulgurite/data.h>
#include "base/alloc.h"
#include "base/thread.h"
#include "data/sampler.h"

static fg_error err;

enum { COUNT = 103, WIDTH = 5 };

/* Sample i: x[k] = 10 i + k, y = i. */
static float xs[COUNT][WIDTH];
static int32_t ys[COUNT];
static const fg_field fields[] = {{"x", {FG_F32, 1, {WIDTH}}}, {"y", {FG_S32, 0, {0}}}};
static const fg_dataset_spec spec = {.count = COUNT, .fields = fields, .field_count = 2};

static fg_dataset *in_memory(void)
{
    for (int i = 0; i < COUNT; i++) {
        ys[i] = i;
        for (int k = 0; k < WIDTH; k++)
            xs[i][k] = (float)(10 * i + k);
    }
    fg_dataset *dataset;
    fgt_ok(fg_dataset_from_arrays(&spec, (const void *const[]){xs, ys}, FG_BORROW, &dataset, &err));
    return dataset;
}

/* The same samples read one by one, with uneven delays, failing on the sample in *self. */
static fg_status read_slowly(void *self, int64_t index, void *const *out_fields, fg_error *e)
{
    for (int64_t i = 0; i < index % 5; i++)
        (void)sched_yield();
    if (self != NULL && index == *(const int64_t *)self) {
        (void)snprintf(e->message, sizeof(e->message), "sample %d is damaged", (int)index);
        return FG_EFORMAT;
    }
    for (int k = 0; k < WIDTH; k++)
        ((float *)out_fields[0])[k] = (float)(10 * index + k);
    *(int32_t *)out_fields[1] = (int32_t)index;
    return FG_OK;
}

static fg_dataset *one_by_one(const int64_t *failing)
{
    const fg_dataset_ops ops = {.read = read_slowly};
    fg_dataset *dataset;
    fgt_ok(fg_dataset_create(&ops, (void *)(uintptr_t)failing, &spec, &dataset, &err));
    return dataset;
}

static fg_loader *start(fg_dataset *take_dataset, const fg_loader_options *options)
{
    fg_loader *loader;
    fgt_ok(fg_loader_create(take_dataset, options, &loader, &err));
    fg_dataset_destroy(take_dataset); /* the loader holds a reference */
    return loader;
}

static void check_rows(const fg_host_batch *batch)
{
    const float *x = batch->data[0];
    const int32_t *y = batch->data[1];
    for (int64_t i = 0; i < batch->size; i++) {
        assert_int_equal(y[i], batch->indices[i]);
        for (int k = 0; k < WIDTH; k++)
            assert_true(x[i * WIDTH + k] == (float)(10 * y[i] + k));
    }
}

/* Reads an epoch and compares it with the sampler's order from `position` on. */
static void check_epoch(fg_loader *loader, fgi_sampler s, fgi_sample_position at)
{
    const fg_host_batch *batch;
    for (;; at.position = fgi_sampler_after(&s, at.position)) {
        fgt_ok(fg_loader_next(loader, &batch, &err));
        if (batch == NULL)
            break;
        assert_true(fgi_sampler_has_batch(&s, at.position));
        assert_int_equal(batch->epoch, at.epoch);
        assert_int_equal(batch->position, at.position);
        assert_int_equal(batch->next_position, fgi_sampler_after(&s, at.position));
        assert_int_equal(batch->index, at.position / s.batch);
        assert_int_equal(batch->size, s.batch / s.world);
        assert_int_equal(batch->valid, fgi_sampler_valid(&s, at.position));
        int64_t expected[COUNT];
        fgi_sampler_rows(&s, at, 0, (size_t)batch->size, expected);
        assert_memory_equal(batch->indices, expected, (size_t)batch->size * sizeof(expected[0]));
        check_rows(batch);
        fg_loader_recycle(loader, batch);
    }
    assert_false(fgi_sampler_has_batch(&s, at.position));
}

static const fgi_sampler shuffled = {
    .count = COUNT, .batch = 16, .shuffle = true, .seed = 4, .world = 1};

static void batches_have_the_promised_form(void **state)
{
    fg_loader *loader = start(in_memory(), &(fg_loader_options){.batch_size = 16});
    const fg_host_batch *batch;
    fgt_ok(fg_loader_next(loader, &batch, &err));
    assert_int_equal(batch->field_count, 2);
    assert_string_equal(batch->fields[1].name, "y");
    char text[64];
    assert_string_equal(fg_type_format(&batch->types[0], text, sizeof(text)), "f32[16,5]");
    assert_string_equal(fg_type_format(&batch->types[1], text, sizeof(text)), "s32[16]");
    for (int f = 0; f < 2; f++)
        assert_int_equal((uintptr_t)batch->data[f] % 64, 0);
    fg_loader_recycle(loader, batch);
    assert_int_equal(fg_loader_batch_count(loader), 7);
    const fg_loader_stats stats = fg_loader_stats_of(loader);
    assert_int_equal(stats.batches, 1);
    assert_int_equal(stats.memory_bytes, 4 * 16 * (WIDTH + 1) * 4);
    fg_loader_destroy(loader);
}

static void the_order_is_the_samplers_for_any_number_of_threads(void **state)
{
    for (int workers = 0; workers <= 5; workers++)
        for (int slots = 1; slots <= 6; slots += 2)
            for (int memory = 0; memory < 2; memory++) {
                fg_loader *loader =
                    start(memory != 0 ? in_memory() : one_by_one(NULL),
                          &(fg_loader_options){.batch_size = 16,
                                               .shuffle = true,
                                               .seed = 4,
                                               .workers = workers == 0 ? FG_NONE : workers,
                                               .prefetch = slots});
                check_epoch(loader, shuffled, (fgi_sample_position){0, 0});
                const fg_host_batch *batch;
                fgt_ok(fg_loader_next(loader, &batch, &err)); /* repeated calls return the end */
                assert_null(batch);
                fgt_ok(fg_loader_start_epoch(loader, 1, 0, &err));
                check_epoch(loader, shuffled, (fgi_sample_position){1, 0});
                fg_loader_destroy(loader);
            }
}

static void ranks_share_the_epoch(void **state)
{
    for (int world = 2; world <= 4; world += 2) {
        int seen[COUNT] = {0};
        for (int rank = 0; rank < world; rank++) {
            fgi_sampler s = shuffled;
            s.rank = rank;
            s.world = world;
            const fg_loader_options options = {.batch_size = 16,
                                               .shuffle = true,
                                               .seed = 4,
                                               .rank = rank,
                                               .world = world,
                                               .workers = 2};
            fg_loader *loader = start(in_memory(), &options);
            check_epoch(loader, s, (fgi_sample_position){0, 0});
            fgt_ok(fg_loader_start_epoch(loader, 0, 0, &err));
            const fg_host_batch *batch;
            for (;;) {
                fgt_ok(fg_loader_next(loader, &batch, &err));
                if (batch == NULL)
                    break;
                for (int64_t i = 0; i < batch->valid; i++)
                    seen[batch->indices[i]]++;
                fg_loader_recycle(loader, batch);
            }
            fg_loader_destroy(loader);
        }
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(seen[i], 1);
    }
}

static void it_resumes_anywhere(void **state)
{
    for (int64_t position = 0; position <= COUNT + 1; position += 13)
        for (int ahead = 0; ahead < 2; ahead++) {
            fg_loader *loader = start(in_memory(), &(fg_loader_options){.batch_size = 16,
                                                                        .shuffle = true,
                                                                        .seed = 4,
                                                                        .workers = 2,
                                                                        .run_ahead = ahead,
                                                                        .epoch = 3,
                                                                        .position = position});
            check_epoch(loader, shuffled, (fgi_sample_position){3, position});
            if (ahead)
                check_epoch(loader, shuffled, (fgi_sample_position){4, 0});
            fg_loader_destroy(loader);
        }
}

static void running_ahead_goes_on_through_epochs(void **state)
{
    for (int synchronous = 0; synchronous < 2; synchronous++) {
        fg_loader *loader =
            start(one_by_one(NULL), &(fg_loader_options){.batch_size = 16,
                                                         .shuffle = true,
                                                         .seed = 4,
                                                         .workers = synchronous ? FG_NONE : 3,
                                                         .run_ahead = true});
        for (int64_t epoch = 0; epoch < 4; epoch++) {
            if (epoch % 2 == 1) /* setting the default changes nothing */
                fgt_ok(fg_loader_start_epoch(loader, epoch, 0, &err));
            check_epoch(loader, shuffled, (fgi_sample_position){epoch, 0});
        }
        fg_loader_destroy(loader);
    }
}

static void jumps_drop_what_was_prepared(void **state)
{
    fg_loader *loader = start(one_by_one(NULL), &(fg_loader_options){.batch_size = 16,
                                                                     .shuffle = true,
                                                                     .seed = 4,
                                                                     .workers = 4,
                                                                     .prefetch = 3,
                                                                     .run_ahead = true});
    const fg_host_batch *held;
    for (int64_t jump = 0; jump < 60; jump++) {
        const fgi_sample_position place = {.epoch = jump % 7, .position = (jump * 29) % COUNT};
        fgt_ok(fg_loader_start_epoch(loader, place.epoch, place.position, &err));
        fgt_ok(fg_loader_next(loader, &held, &err));
        assert_non_null(held);
        fgt_ok(fg_loader_start_epoch(loader, place.epoch + 1, 5, &err));
        assert_int_equal(held->epoch, place.epoch); /* a batch in use is not modified */
        assert_int_equal(held->position, place.position);
        check_rows(held);
        if (jump % 10 == 0)
            check_epoch(loader, shuffled, (fgi_sample_position){place.epoch + 1, 5});
        fg_loader_recycle(loader, held);
    }
    assert_int_equal(fg_loader_start_epoch(loader, -1, 0, &err), FG_EINVAL);
    fg_loader_destroy(loader);
}

static void a_jump_drops_batches_that_are_ready(void **state)
{
    fg_loader *loader = start(in_memory(), &(fg_loader_options){.batch_size = 16,
                                                                .shuffle = true,
                                                                .seed = 4,
                                                                .workers = 2,
                                                                .prefetch = 3,
                                                                .run_ahead = true});
    for (int64_t epoch = 0; epoch < 5; epoch++) {
        while (fg_loader_stats_of(loader).ready < 3)
            (void)sched_yield();
        fgt_ok(fg_loader_start_epoch(loader, 10 + epoch, 32, &err));
        check_epoch(loader, shuffled, (fgi_sample_position){10 + epoch, 32});
    }
    assert_int_equal(fg_loader_stats_of(loader).batches, 25); /* those that were delivered */
    fg_loader_destroy(loader);
}

/* Seeking to the next epoch before the end of the current one was delivered keeps prepared
 * batches. */
static void the_next_epoch_may_be_named_at_the_end_of_this(void **state)
{
    fgi_sampler s = shuffled;
    s.batch = 64;
    static const fgi_sample_position places[] = {{1, 0}, {1, 64}, {2, 0}, {0, 0}};
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        fg_loader *loader = start(
            in_memory(),
            &(fg_loader_options){
                .batch_size = 64, .shuffle = true, .seed = 4, .workers = 1, .run_ahead = true});
        const fg_host_batch *batch;
        for (int64_t i = 0; i < fg_loader_batch_count(loader); i++) {
            fgt_ok(fg_loader_next(loader, &batch, &err));
            fg_loader_recycle(loader, batch);
        }
        while (fg_loader_stats_of(loader).ready < 4)
            (void)sched_yield();
        fgt_ok(fg_loader_start_epoch(loader, places[k].epoch, places[k].position, &err));
        if (k == 0) /* else they are other batches */
            assert_int_equal(fg_loader_stats_of(loader).ready, 4);
        check_epoch(loader, s, places[k]);
        fg_loader_destroy(loader);
    }
}

/* Large rows in memory are copied by several workers, each of which copies a part of the batch. */
static void large_batches_are_shared_out(void **state)
{
    enum { BIG = 50, BIG_BYTES = 100000 };
    static unsigned char rows[BIG][BIG_BYTES];
    for (int i = 0; i < BIG; i++)
        memset(rows[i], i + 1, BIG_BYTES);
    const fg_field field = {"image", {FG_U8, 1, {BIG_BYTES}}};
    const fg_dataset_spec big = {.count = BIG, .fields = &field, .field_count = 1};
    fg_dataset *dataset;
    fgt_ok(fg_dataset_from_arrays(&big, (const void *const[]){rows}, FG_BORROW, &dataset, &err));
    fg_loader *loader =
        start(dataset,
              &(fg_loader_options){.batch_size = 16, .shuffle = true, .workers = 3, .prefetch = 2});
    int seen = 0;
    for (;;) {
        const fg_host_batch *batch;
        fgt_ok(fg_loader_next(loader, &batch, &err));
        if (batch == NULL)
            break;
        const unsigned char *image = batch->data[0];
        for (int64_t i = 0; i < batch->size; i++)
            assert_memory_equal(image + i * BIG_BYTES, rows[batch->indices[i]], BIG_BYTES);
        seen += (int)batch->valid;
        fg_loader_recycle(loader, batch);
    }
    assert_int_equal(seen, BIG);
    fg_loader_destroy(loader);
}

static void errors_come_in_their_place(void **state)
{
    const int64_t failing = 37; /* in batch 2 of the dataset's order */
    for (int workers = 0; workers <= 4; workers++) {
        fg_loader *loader = start(
            one_by_one(&failing),
            &(fg_loader_options){.batch_size = 16, .workers = workers == 0 ? FG_NONE : workers});
        const fg_host_batch *batch;
        for (int64_t index = 0; index < 7; index++) {
            const fg_status status = fg_loader_next(loader, &batch, &err);
            if (index == 2) {
                assert_int_equal(status, FG_EFORMAT);
                assert_int_equal(err.status, FG_EFORMAT);
                assert_string_equal(err.message, "sample 37 is damaged");
                assert_null(batch);
                continue;
            }
            assert_int_equal(status, FG_OK);
            assert_int_equal(batch->index, index);
            check_rows(batch);
            fg_loader_recycle(loader, batch);
        }
        fgt_ok(fg_loader_next(loader, &batch, &err));
        assert_null(batch);
        fg_loader_destroy(loader);
    }
}

static void a_synchronous_loader_does_not_wait_for_its_own_caller(void **state)
{
    fg_loader *loader = start(
        in_memory(), &(fg_loader_options){.batch_size = 16, .workers = FG_NONE, .prefetch = 2});
    const fg_host_batch *first, *second, *third;
    fgt_ok(fg_loader_next(loader, &first, &err));
    fgt_ok(fg_loader_next(loader, &second, &err));
    assert_int_equal(fg_loader_next(loader, &third, &err), FG_EINVAL);
    assert_null(third);
    fg_loader_recycle(loader, first);
    fgt_ok(fg_loader_next(loader, &third, &err));
    assert_int_equal(third->index, 2);
    check_rows(second);
    fg_loader_recycle(loader, second);
    fg_loader_recycle(loader, third);
    fg_loader_recycle(loader, NULL);
    fg_loader_destroy(loader);
}

/* Without options: batches of 32 rows, in order, and four of them. */
static void options_have_defaults(void **state)
{
    const fg_host_batch *batch;
    fg_loader *loader = start(in_memory(), NULL);
    fgt_ok(fg_loader_next(loader, &batch, &err));
    assert_int_equal(batch->size, 32);
    assert_int_equal(batch->indices[31], 31);
    assert_int_equal(fg_loader_batch_count(loader), 4); /* 103 samples */
    const fg_loader_stats stats = fg_loader_stats_of(loader);
    assert_in_range(stats.workers, 1, 4);
    assert_int_equal(stats.memory_bytes, 4 * 32 * (WIDTH + 1) * 4);
    fg_loader_destroy(loader);
}

/* One slot has one worker. When both batches of an epoch are ready, two are at the first call and
 * one at the second. */
static void ready_batches_are_averaged(void **state)
{
    const fg_host_batch *batch;
    fg_loader *loader = start(in_memory(), &(fg_loader_options){.batch_size = 16, .prefetch = 1});
    assert_int_equal(fg_loader_stats_of(loader).workers, 1);
    fg_loader_destroy(loader);
    loader = start(in_memory(), &(fg_loader_options){.batch_size = 64, .prefetch = 2});
    while (fg_loader_stats_of(loader).ready < 2)
        (void)sched_yield();
    assert_true(fg_loader_stats_of(loader).ready_mean == 0);
    for (int i = 0; i < 2; i++) {
        fgt_ok(fg_loader_next(loader, &batch, &err));
        assert_true(fg_loader_stats_of(loader).ready_mean == (i == 0 ? 2 : 1.5));
    }
    assert_int_equal(fg_loader_stats_of(loader).waits, 0);
    assert_int_equal(fg_loader_stats_of(loader).ready, 0);
    fg_loader_destroy(loader);
    loader = start(in_memory(), &(fg_loader_options){.batch_size = 128, .rank = 7, .world = 8});
    fgt_ok(fg_loader_next(loader, &batch, &err)); /* rows 112 to 127 of 103 samples */
    assert_int_equal(batch->valid, 0);
    assert_int_equal(fg_loader_stats_of(loader).batches, 1);
    fg_loader_destroy(loader);
}

/* A last batch that is full, complete or left out. */
/* Reads once the consumer waits; gives up after a minute. */
static fg_status read_when_awaited(void *self, int64_t index, void *const *out_fields, fg_error *e)
{
    fg_loader *const _Atomic *loader = self;
    const time_t begin = time(NULL);
    while (time(NULL) < begin + 60 && (*loader == NULL || fg_loader_stats_of(*loader).waits == 0))
        (void)sched_yield();
    return read_slowly(NULL, index, out_fields, e);
}

static void calls_that_wait_are_counted(void **state)
{
    static fg_loader *_Atomic shown;
    const fg_dataset_ops ops = {.read = read_when_awaited};
    const fg_host_batch *batch;
    fg_dataset *dataset;
    fgt_ok(fg_dataset_create(&ops, (void *)&shown, &spec, &dataset, &err));
    fg_loader *loader = start(dataset, &(fg_loader_options){.batch_size = COUNT, .workers = 2});
    shown = loader;
    fgt_ok(fg_loader_next(loader, &batch, &err));
    assert_int_equal(fg_loader_stats_of(loader).waits, 1);
    check_rows(batch);
    fg_loader_destroy(loader);
}

static void batches_of_an_epoch_are_counted(void **state)
{
    static const struct {
        int64_t batch_size, all, whole;
    } rows[] = {{1, 103, 103}, {51, 3, 2}, {52, 2, 1}, {102, 2, 1}, {103, 1, 1}, {104, 1, 0}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fg_loader_options options = {.batch_size = rows[i].batch_size, .workers = FG_NONE};
        fg_loader *loader = start(in_memory(), &options);
        assert_int_equal(fg_loader_batch_count(loader), rows[i].all);
        fg_loader_destroy(loader);
        options.drop_last = true;
        loader = start(in_memory(), &options);
        assert_int_equal(fg_loader_batch_count(loader), rows[i].whole);
        fg_loader_destroy(loader);
    }
}

/* Batches released by another thread, the newer one first. */
typedef struct releaser {
    fg_loader *loader;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const fg_host_batch *waiting[2];
    int count;
    bool is_over;
} releaser;

static void *release_out_of_order(void *self)
{
    releaser *r = self;
    (void)pthread_mutex_lock(&r->lock);
    while (!r->is_over || r->count > 0) {
        if (r->count < 2 && !r->is_over) {
            (void)pthread_cond_wait(&r->changed, &r->lock);
            continue;
        }
        while (r->count > 0) {
            check_rows(r->waiting[--r->count]);
            fg_loader_recycle(r->loader, r->waiting[r->count]);
        }
        (void)pthread_cond_broadcast(&r->changed);
    }
    (void)pthread_mutex_unlock(&r->lock);
    return NULL;
}

static void hand_over(releaser *r, const fg_host_batch *batch)
{
    (void)pthread_mutex_lock(&r->lock);
    while (r->count == 2)
        (void)pthread_cond_wait(&r->changed, &r->lock);
    r->waiting[r->count++] = batch;
    (void)pthread_cond_broadcast(&r->changed);
    (void)pthread_mutex_unlock(&r->lock);
}

static void another_thread_may_release_out_of_order(void **state)
{
    releaser r = {.loader = start(one_by_one(NULL), &(fg_loader_options){.batch_size = 8,
                                                                         .shuffle = true,
                                                                         .workers = 3,
                                                                         .prefetch = 4,
                                                                         .run_ahead = true})};
    fgi_thread thread;
    fgt_ok(fgi_mutex_init(&r.lock, &err));
    fgt_ok(fgi_cond_init(&r.changed, &err));
    fgt_ok(fgi_thread_start(&thread, release_out_of_order, &r, &err));
    for (int64_t epoch = 0; epoch < 5; epoch++)
        for (int64_t index = 0;; index++) {
            const fg_host_batch *batch;
            fgt_ok(fg_loader_next(r.loader, &batch, &err));
            if (batch == NULL) {
                assert_int_equal(index, 13);
                break;
            }
            assert_int_equal(batch->epoch, epoch);
            assert_int_equal(batch->index, index);
            hand_over(&r, batch);
        }
    (void)pthread_mutex_lock(&r.lock);
    r.is_over = true;
    (void)pthread_cond_broadcast(&r.changed);
    (void)pthread_mutex_unlock(&r.lock);
    fgi_thread_join(thread);
    (void)pthread_cond_destroy(&r.changed);
    (void)pthread_mutex_destroy(&r.lock);
    fg_loader_destroy(r.loader);
}

static void it_may_end_at_any_moment(void **state)
{
    const fg_host_batch *batch;
    for (int takes = 0; takes < 12; takes++) {
        fg_loader *loader =
            start(one_by_one(NULL),
                  &(fg_loader_options){.batch_size = 16, .workers = 4, .run_ahead = true});
        for (int i = 0; i < takes; i++) {
            fgt_ok(fg_loader_next(loader, &batch, &err));
            fg_loader_recycle(loader, batch);
        }
        fg_loader_destroy(loader);
    }
    fg_loader_destroy(NULL);
}

static void nothing_to_read_is_an_empty_epoch(void **state)
{
    fg_dataset *dataset = in_memory(), *empty;
    fgt_ok(fg_dataset_subset(dataset, NULL, 0, &empty, &err));
    const fg_host_batch *batch;
    fg_loader *loader = start(empty, &(fg_loader_options){.run_ahead = true});
    for (int i = 0; i < 3; i++) {
        fgt_ok(fg_loader_next(loader, &batch, &err));
        assert_null(batch);
    }
    assert_int_equal(fg_loader_stats_of(loader).memory_bytes, 0);
    fg_loader_destroy(loader);
    loader = start(dataset,
                   &(fg_loader_options){.batch_size = 200, .drop_last = true, .run_ahead = true});
    fgt_ok(fg_loader_next(loader, &batch, &err));
    assert_null(batch);
    assert_int_equal(fg_loader_batch_count(loader), 0);
    fg_loader_destroy(loader);
}

static void expect_refused(fg_loader_options options, const char *message)
{
    fg_dataset *dataset = in_memory();
    fg_loader *loader;
    assert_int_equal(fg_loader_create(dataset, &options, &loader, &err), FG_EINVAL);
    assert_string_equal(err.message, message);
    assert_null(loader);
    fg_dataset_destroy(dataset);
}

static void wrong_options_are_named(void **state)
{
    expect_refused((fg_loader_options){.batch_size = -1},
                   "batch_size is -1: expected a number greater than 0");
    expect_refused((fg_loader_options){.batch_size = 6, .world = 4},
                   "batch_size 6 is not a multiple of world 4");
    expect_refused((fg_loader_options){.rank = 4, .world = 4},
                   "rank is 4, world is 4: expected 0 <= rank < world");
    expect_refused((fg_loader_options){.prefetch = -1}, "prefetch is -1: expected 1 to 1024");
    expect_refused((fg_loader_options){.workers = -2}, "workers is -2: expected 1 to 1024");
    expect_refused((fg_loader_options){.position = -2},
                   "epoch 0, position -2: expected nonnegative integers");
    expect_refused((fg_loader_options){.epoch = -3, .position = 7},
                   "epoch -3, position 7: expected nonnegative integers");
    expect_refused((fg_loader_options){.rank = -1},
                   "rank is -1, world is 0: expected 0 <= rank < world");
    expect_refused((fg_loader_options){.world = -2},
                   "rank is 0, world is -2: expected 0 <= rank < world");
    expect_refused((fg_loader_options){.prefetch = 1025}, "prefetch is 1025: expected 1 to 1024");
    expect_refused((fg_loader_options){.workers = 1025}, "workers is 1025: expected 1 to 1024");
    expect_refused((fg_loader_options){.shuffle_buffer = -1},
                   "shuffle_buffer is -1: expected a number greater than 0");
    fg_loader_destroy(
        start(in_memory(),
              &(fg_loader_options){.batch_size = COUNT + 1, .drop_last = true, .workers = 1024}));
    fg_loader *loader = start(
        in_memory(), &(fg_loader_options){.batch_size = 1, .workers = FG_NONE, .prefetch = 1024});
    assert_int_equal(fg_loader_start_epoch(loader, -1, 0, &err), FG_EINVAL);
    assert_string_equal(err.message, "epoch -1, position 0: expected nonnegative integers");
    assert_int_equal(fg_loader_start_epoch(loader, 0, -1, &err), FG_EINVAL);
    fg_loader_destroy(loader);
}

static fg_status load_an_epoch(void *self, fg_error *e)
{
    fg_dataset *dataset = NULL;
    fg_loader *loader = NULL;
    fg_status status =
        fg_dataset_from_arrays(&spec, (const void *const[]){xs, ys}, FG_BORROW, &dataset, e);
    if (status == FG_OK)
        status = fg_loader_create(dataset, &(fg_loader_options){.batch_size = 64, .workers = 3},
                                  &loader, e);
    const fg_host_batch *batch = NULL;
    while (status == FG_OK) {
        status = fg_loader_next(loader, &batch, e);
        if (batch == NULL)
            break;
        fg_loader_recycle(loader, batch);
    }
    fg_loader_destroy(loader);
    fg_dataset_destroy(dataset);
    return status;
}

static void every_allocation_and_thread_may_fail(void **state)
{
    fgt_fault_loop(load_an_epoch, NULL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(batches_have_the_promised_form),
    cmocka_unit_test(the_order_is_the_samplers_for_any_number_of_threads),
    cmocka_unit_test(ranks_share_the_epoch),
    cmocka_unit_test(it_resumes_anywhere),
    cmocka_unit_test(running_ahead_goes_on_through_epochs),
    cmocka_unit_test(jumps_drop_what_was_prepared),
    cmocka_unit_test(a_jump_drops_batches_that_are_ready),
    cmocka_unit_test(the_next_epoch_may_be_named_at_the_end_of_this),
    cmocka_unit_test(large_batches_are_shared_out),
    cmocka_unit_test(errors_come_in_their_place),
    cmocka_unit_test(a_synchronous_loader_does_not_wait_for_its_own_caller),
    cmocka_unit_test(another_thread_may_release_out_of_order),
    cmocka_unit_test(it_may_end_at_any_moment),
    cmocka_unit_test(nothing_to_read_is_an_empty_epoch),
    cmocka_unit_test(wrong_options_are_named),
    cmocka_unit_test(options_have_defaults),
    cmocka_unit_test(calls_that_wait_are_counted),
    cmocka_unit_test(batches_of_an_epoch_are_counted),
    cmocka_unit_test(ready_batches_are_averaged),
    cmocka_unit_test(every_allocation_and_thread_may_fail),
};
FGT_MAIN(tests)
