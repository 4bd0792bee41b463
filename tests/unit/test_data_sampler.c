/* The order of samples: every sample once, for any world size, batch size and resume position.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdlib.h>
#include "data/sampler.h"

enum { MOST = 200 };

/* The epoch's samples starting at `position`, combined from the slices of all ranks; padding rows
 * are checked and omitted. Returns their number. */
static int64_t collect(fgi_sampler sampler, fgi_sample_position at, int64_t out[MOST])
{
    int64_t total = 0;
    const int64_t rows = sampler.batch / sampler.world;
    while (fgi_sampler_has_batch(&sampler, at.position)) {
        int64_t first_of_batch = -1;
        for (sampler.rank = 0; sampler.rank < sampler.world; sampler.rank++) {
            int64_t slice[MOST];
            fgi_sampler_rows(&sampler, at, 0, (size_t)rows, slice);
            const int64_t valid = fgi_sampler_valid(&sampler, at.position);
            assert_in_range(valid, 0, rows);
            if (sampler.rank == 0)
                first_of_batch = slice[0];
            for (int64_t i = 0; i < valid; i++)
                out[total++] = slice[i];
            for (int64_t i = valid; i < rows; i++)
                assert_int_equal(slice[i], first_of_batch);
        }
        at.position = fgi_sampler_after(&sampler, at.position);
    }
    return total;
}

static void every_sample_comes_once(void **state)
{
    for (int64_t count = 1; count <= 101; count += 4)
        for (int world = 1; world <= 4; world *= 2)
            for (int shuffle = 0; shuffle < 2; shuffle++) {
                const fgi_sampler s = {
                    .count = count, .batch = 12, .shuffle = shuffle, .seed = 5, .world = world};
                int64_t seen[MOST] = {0}, order[MOST];
                assert_int_equal(collect(s, (fgi_sample_position){3, 0}, order), count);
                for (int64_t i = 0; i < count; i++) {
                    assert_in_range(order[i], 0, count - 1);
                    assert_int_equal(seen[order[i]]++, 0);
                }
            }
}

static void the_world_does_not_change_the_order(void **state)
{
    fgi_sampler s = {.count = 101, .batch = 8, .shuffle = true, .seed = 9, .world = 1};
    int64_t one[MOST], many[MOST];
    assert_int_equal(collect(s, (fgi_sample_position){0, 0}, one), 101);
    for (s.world = 2; s.world <= 4; s.world += 2) {
        assert_int_equal(collect(s, (fgi_sample_position){0, 0}, many), 101);
        assert_memory_equal(one, many, 101 * sizeof(one[0]));
    }
}

static void a_resume_goes_on_with_the_next_sample(void **state)
{
    fgi_sampler s = {.count = 97, .batch = 8, .shuffle = true, .seed = 1, .world = 1};
    int64_t whole[MOST], rest[MOST];
    (void)collect(s, (fgi_sample_position){7, 0}, whole);
    s.batch = 20; /* the position need not be a multiple of the new batch size and world size */
    s.world = 2;
    for (int64_t position = 0; position < 97; position += 3) {
        assert_int_equal(collect(s, (fgi_sample_position){7, position}, rest), 97 - position);
        assert_memory_equal(whole + position, rest, (size_t)(97 - position) * sizeof(rest[0]));
    }
}

static void epochs_and_seeds_differ(void **state)
{
    fgi_sampler s = {.count = 100, .batch = 10, .shuffle = true, .seed = 1, .world = 1};
    int64_t first[MOST], second[MOST], other[MOST];
    (void)collect(s, (fgi_sample_position){0, 0}, first);
    (void)collect(s, (fgi_sample_position){1, 0}, second);
    s.seed = 2;
    (void)collect(s, (fgi_sample_position){0, 0}, other);
    int same_epoch = 0, same_seed = 0, in_place = 0;
    for (int i = 0; i < 100; i++) {
        same_epoch += first[i] == second[i];
        same_seed += first[i] == other[i];
        in_place += first[i] == i;
    }
    /* a random permutation of 100 has one fixed point on average */
    assert_in_range(same_epoch, 0, 8);
    assert_in_range(same_seed, 0, 8);
    assert_in_range(in_place, 0, 8);
}

static void without_shuffle_the_order_is_the_datasets(void **state)
{
    const fgi_sampler s = {.count = 50, .batch = 7, .world = 1};
    int64_t order[MOST];
    (void)collect(s, (fgi_sample_position){2, 0}, order);
    for (int64_t i = 0; i < 50; i++)
        assert_int_equal(order[i], i);
}

static void drop_last_leaves_the_tail_out(void **state)
{
    fgi_sampler s = {.count = 50, .batch = 16, .drop_last = true, .world = 2};
    int64_t order[MOST];
    assert_int_equal(collect(s, (fgi_sample_position){0, 0}, order), 48);
    assert_int_equal(fgi_sampler_batches(&s), 3);
    s.drop_last = false;
    assert_int_equal(fgi_sampler_batches(&s), 4);
    assert_int_equal(collect(s, (fgi_sample_position){0, 0}, order), 50);
    s.count = 15;
    s.drop_last = true;
    assert_false(fgi_sampler_has_batch(&s, 0));
    assert_int_equal(fgi_sampler_batches(&s), 0);
}

/* Recorded: a different order would break resuming existing runs. The two sizes use different
 * algorithms. */
static void the_order_is_pinned(void **state)
{
    fgi_sampler s = {.count = 10, .batch = 10, .shuffle = true, .seed = 42, .world = 1};
    int64_t order[MOST];
    (void)collect(s, (fgi_sample_position){1, 0}, order);
    const int64_t small[10] = {3, 0, 1, 9, 6, 8, 7, 2, 4, 5};
    assert_memory_equal(order, small, sizeof(small));
    s.count = 100;
    (void)collect(s, (fgi_sample_position){1, 0}, order);
    const int64_t large[10] = {23, 0, 28, 66, 56, 94, 92, 74, 62, 30};
    assert_memory_equal(order, large, sizeof(large));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_sample_comes_once),
    cmocka_unit_test(the_world_does_not_change_the_order),
    cmocka_unit_test(a_resume_goes_on_with_the_next_sample),
    cmocka_unit_test(epochs_and_seeds_differ),
    cmocka_unit_test(without_shuffle_the_order_is_the_datasets),
    cmocka_unit_test(drop_last_leaves_the_tail_out),
    cmocka_unit_test(the_order_is_pinned),
};
FGT_MAIN(tests)
