/* test_base_memory.c - counted allocation, injected failures, growing arrays, arenas, buffers,
 * maps.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/map.h"

static void blocks_are_counted(void **state)
{
    const long before = fgi_alloc_live();
    void *a = fgi_alloc(0), *b = fgi_calloc(3, 5), *c = fgi_alloc_aligned(65);
    char *d = fgi_strdup("text");
    assert_non_null(a);
    assert_int_equal(fgi_alloc_live(), before + 4);
    assert_memory_equal(b, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 15);
    assert_int_equal((uintptr_t)c % 64, 0);
    assert_string_equal(d, "text");
    a = fgi_realloc(a, 100);
    assert_int_equal(fgi_alloc_live(), before + 4);
    void *e = fgi_realloc(NULL, 4);
    assert_int_equal(fgi_alloc_live(), before + 5);
    fgi_free(a);
    fgi_free(b);
    fgi_free_aligned(c);
    fgi_free(d);
    fgi_free(e);
    fgi_free(NULL);
    fgi_free_aligned(NULL);
    assert_int_equal(fgi_alloc_live(), before);
}

static void impossible_sizes_are_refused(void **state)
{
    volatile size_t huge = SIZE_MAX; /* volatile: the compiler warns about such a constant */
    const long before = fgi_alloc_live();
    assert_null(fgi_calloc(huge / 2, 3));
    assert_null(fgi_alloc_aligned(huge));
    size_t capacity = huge / 2;
    assert_null(fgi_grow(NULL, capacity, &capacity, 1000));
    assert_int_equal(capacity, SIZE_MAX / 2);
    assert_int_equal(fgi_alloc_live(), before);
}

static void exactly_one_allocation_fails(void **state)
{
    fgi_alloc_fail_after(2);
    void *blocks[5];
    for (int i = 0; i < 5; i++) {
        assert_int_equal(fgi_alloc_has_failed(), i > 2);
        blocks[i] = fgi_alloc(8);
        assert_int_equal(blocks[i] == NULL, i == 2);
    }
    assert_true(fgi_alloc_has_failed());
    fgi_alloc_fail_after(0);
    assert_false(fgi_alloc_has_failed());
    assert_null(fgi_realloc(blocks[0], 100)); /* blocks[0] is unchanged */
    fgi_alloc_fail_after(0);
    assert_null(fgi_alloc_aligned(1));
    fgi_alloc_fail_after(0);
    assert_true(fgi_alloc_fault());
    assert_false(fgi_alloc_fault());
    fgi_alloc_fail_after(0);
    fgi_alloc_fail_after(-1);
    void *fine = fgi_alloc(1);
    assert_non_null(fine);
    fgi_free(fine);
    for (int i = 0; i < 5; i++)
        fgi_free(blocks[i]);
}

static void arrays_grow_by_doubling(void **state)
{
    int *array = NULL;
    size_t capacity = 0;
    for (size_t count = 0; count < 1000; count++) {
        int *larger = fgi_grow(array, count, &capacity, sizeof(*array));
        assert_non_null(larger);
        array = larger;
        array[count] = (int)count;
    }
    assert_int_equal(capacity, 1024);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(array[i], i);
    fgi_alloc_fail_after(0);
    assert_null(fgi_grow(array, capacity, &capacity, sizeof(*array)));
    assert_int_equal(capacity, 1024);
    assert_int_equal(array[999], 999);
    fgi_free(array);
}

static void arena_memory_is_cleared_aligned_and_apart(void **state)
{
    const long before = fgi_alloc_live();
    fgi_arena arena;
    fgi_arena_init(&arena);
    unsigned char *pieces[400];
    for (int round = 0; round < 2; round++) { /* the second time in memory used before */
        for (size_t i = 0; i < 400; i++) {
            pieces[i] = fgi_arena_alloc(&arena, i * 7);
            assert_non_null(pieces[i]);
            assert_int_equal((uintptr_t)pieces[i] % 16, 0);
            for (size_t j = 0; j < i * 7; j++)
                assert_int_equal(pieces[i][j], 0);
            memset(pieces[i], (int)i, i * 7);
        }
        for (size_t i = 0; i < 400; i++)
            for (size_t j = 0; j < i * 7; j++)
                assert_int_equal(pieces[i][j], (unsigned char)i);
        fgi_arena_reset(&arena);
        assert_int_equal(fgi_alloc_live(), before + 1); /* the largest block is kept */
    }
    fgi_arena_fini(&arena);
    fgi_arena_reset(&arena);
    assert_int_equal(fgi_alloc_live(), before);
}

static void arena_copies_text(void **state)
{
    fgi_arena arena = {0};
    char source[] = "conv1.weight";
    char *copy = fgi_arena_strdup(&arena, source);
    memset(source, 'x', sizeof(source) - 1);
    assert_string_equal(copy, "conv1.weight");
    assert_memory_equal(fgi_arena_copy(&arena, "\0\1\2", 3), "\0\1\2", 3);
    assert_non_null(fgi_arena_copy(&arena, NULL, 0));
    assert_string_equal(fgi_arena_printf(&arena, "%s.%d", "layer", 12), "layer.12");
    char *wide = fgi_arena_printf(&arena, "%*d", 100000, 7); /* larger than any block so far */
    assert_int_equal(strlen(wide), 100000);
    assert_int_equal(wide[99999], '7');
    volatile size_t huge = SIZE_MAX;
    assert_null(fgi_arena_alloc(&arena, huge));
    assert_null(fgi_arena_alloc(&arena, huge / 2 - 64));
    assert_string_equal(copy, "conv1.weight");
    fgi_arena_fini(&arena);
}

static void buffer_builds_text(void **state)
{
    fgi_buf buf = {0};
    fg_error err;
    assert_int_equal(fgi_buf_status(&buf, &err), FG_OK);
    fgi_buf_puts(&buf, "dim = ");
    fgi_buf_put_int(&buf, INT64_MIN);
    fgi_buf_putc(&buf, ',');
    fgi_buf_put_int(&buf, INT64_MAX);
    fgi_buf_putc(&buf, ' ');
    fgi_buf_put_int(&buf, 0);
    fgi_buf_printf(&buf, " %s %.2f", "x", 1.5);
    fgi_buf_add(&buf, NULL, 0);
    const char *text = "dim = -9223372036854775808,9223372036854775807 0 x 1.50";
    assert_string_equal(buf.data, text);
    assert_int_equal(buf.size, strlen(text));
    char *taken = fgi_buf_take(&buf);
    assert_string_equal(taken, text);
    fgi_free(taken);
    assert_null(buf.data);
    taken = fgi_buf_take(&buf);
    assert_string_equal(taken, "");
    fgi_free(taken);
}

/* Every length around the first capacities, to cover both attempts of printf at each boundary. */
static void buffer_printf_is_exact_at_boundaries(void **state)
{
    for (int length = 0; length < 300; length++) {
        fgi_buf buf = {0};
        fgi_buf_putc(&buf, '<');
        fgi_buf_printf(&buf, "%*s", length, "");
        fgi_buf_putc(&buf, '>');
        assert_int_equal(buf.size, length + 2);
        assert_int_equal(strlen(buf.data), length + 2);
        assert_int_equal(buf.data[length + 1], '>');
        fgi_buf_fini(&buf);
    }
}

static void buffer_failure_is_kept(void **state)
{
    fgi_buf buf = {0};
    fg_error err;
    fgi_buf_puts(&buf, "kept");
    fgi_alloc_fail_after(0);
    fgi_buf_printf(&buf, "%*s", 500, "lost");
    assert_string_equal(buf.data, "kept");
    fgi_buf_puts(&buf, "lost");
    assert_true(buf.failed);
    assert_string_equal(buf.data, "kept");
    assert_int_equal(fgi_buf_status(&buf, &err), FG_ENOMEM);
    assert_null(fgi_buf_take(&buf));
    assert_int_equal(fgi_buf_status(&buf, NULL), FG_ENOMEM);
    fgi_buf_clear(&buf);
    fgi_buf_puts(&buf, "again");
    assert_string_equal(buf.data, "again");
    fgi_buf_fini(&buf);
}

static void buffer_has_a_limit(void **state)
{
    fgi_buf buf = {0};
    fgi_buf_putc(&buf, 'a');
    fgi_buf_add(&buf, "", (size_t)1 << 30); /* rejected before a byte is read */
    assert_true(buf.failed);
    assert_int_equal(buf.size, 1);
    fgi_buf_fini(&buf);
}

static fgi_hash key_of(uint64_t i)
{
    /* low words that collide often, to make long probes */
    return (fgi_hash){.lo = i % 64, .hi = i};
}

static void map_finds_all_while_growing(void **state)
{
    enum { N = 3000 };
    static char values[N];
    fgi_map map = {0};
    assert_null(fgi_map_get(&map, key_of(0)));
    for (uint64_t i = 0; i < N; i++) {
        const fgi_hash key = i % 2 == 0 ? key_of(i) : fgi_hash_bytes(&i, sizeof(i));
        assert_null(fgi_map_get(&map, key));
        assert_true(fgi_map_put(&map, key, &values[i]));
        assert_int_equal(map.count, i + 1);
    }
    for (uint64_t i = 0; i < N; i++) {
        const fgi_hash key = i % 2 == 0 ? key_of(i) : fgi_hash_bytes(&i, sizeof(i));
        assert_ptr_equal(fgi_map_get(&map, key), &values[i]);
    }
    assert_true(fgi_map_put(&map, key_of(0), &values[5]));
    assert_int_equal(map.count, N);
    assert_ptr_equal(fgi_map_get(&map, key_of(0)), &values[5]);
    fgi_map_clear(&map);
    assert_null(fgi_map_get(&map, key_of(0)));
    assert_true(fgi_map_put(&map, key_of(1), &values[1]));
    assert_int_equal(map.count, 1);
    fgi_map_fini(&map);
}

static void map_survives_a_failed_growth(void **state)
{
    static char value;
    fgi_map map = {0};
    uint64_t i = 0;
    for (; map.capacity <= 16; i++)
        assert_true(fgi_map_put(&map, key_of(i), &value));
    while ((map.count + 1) * 3 <= map.capacity * 2 - 2)
        assert_true(fgi_map_put(&map, key_of(i++), &value));
    bool has_refused = false;
    for (int more = 0; more < 4 && !has_refused; more++) {
        fgi_alloc_fail_after(0);
        has_refused = !fgi_map_put(&map, key_of(i), &value);
        i += !has_refused;
        fgi_alloc_fail_after(-1);
    }
    assert_true(has_refused);
    assert_null(fgi_map_get(&map, key_of(i)));
    for (uint64_t j = 0; j < i; j++)
        assert_ptr_equal(fgi_map_get(&map, key_of(j)), &value);
    assert_true(fgi_map_put(&map, key_of(i), &value));
    fgi_map_fini(&map);
}

/* All allocating functions in this file, in one scenario. */
static fg_status use_all(void *self, fg_error *err)
{
    fg_status status = FG_OK;
    fgi_arena arena = {0};
    fgi_buf buf = {0};
    fgi_map map = {0};
    void *aligned = fgi_alloc_aligned(100);
    bool fits = aligned != NULL && fgi_arena_alloc(&arena, 5000) != NULL &&
                fgi_arena_printf(&arena, "%*d", 9000, 1) != NULL;
    for (uint64_t i = 0; fits && i < 40; i++)
        fits = fgi_map_put(&map, key_of(i), self);
    fgi_buf_printf(&buf, "%*d", 1000, 1);
    fgi_buf_puts(&buf, "more");
    char *text = fgi_buf_take(&buf);
    if (!fits || text == NULL)
        status = fgi_no_memory(err);
    fgi_free(text);
    fgi_buf_fini(&buf);
    fgi_map_fini(&map);
    fgi_arena_fini(&arena);
    fgi_free_aligned(aligned);
    return status;
}

static void each_allocation_may_fail(void **state) { fgt_fault_loop(use_all, &(int){0}); }

/* A word that is longer than a line has its own line. */
static void text_is_wrapped_between_words(void **state)
{
    (void)state;
    fgi_buf buf = {0};
    fgi_buf_puts(&buf, "above\n  key:");
    fgi_buf_wrap(&buf, "one two three  four incomprehensible five\n\nsix", 12, "   ");
    assert_string_equal(buf.data, "above\n  key: one\n   two three\n   four\n   incomprehensible\n"
                                  "   five\n\nsix");
    fgi_buf_wrap(&buf, "seven eight", 9, "   ");
    assert_string_equal(buf.data + buf.size - strlen("six seven\n   eight"), "six seven\n   eight");
    fgi_buf_wrap(&buf, "", 9, "   ");
    assert_string_equal(buf.data + buf.size - strlen("eight"), "eight");
    fgi_buf_clear(&buf);
    fgi_buf_wrap(&buf, "of one|two|three|four | or", 11, "# ");
    assert_string_equal(buf.data, "of one|two|\n# three|\n# four | or");
    fgi_buf_fini(&buf);
    buf.failed = true;
    fgi_buf_wrap(&buf, "a b", 1, "");
    assert_null(buf.data);
    fgi_buf_fini(&buf);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(blocks_are_counted),
    cmocka_unit_test(impossible_sizes_are_refused),
    cmocka_unit_test(exactly_one_allocation_fails),
    cmocka_unit_test(arrays_grow_by_doubling),
    cmocka_unit_test(text_is_wrapped_between_words),
    cmocka_unit_test(arena_memory_is_cleared_aligned_and_apart),
    cmocka_unit_test(arena_copies_text),
    cmocka_unit_test(buffer_builds_text),
    cmocka_unit_test(buffer_printf_is_exact_at_boundaries),
    cmocka_unit_test(buffer_failure_is_kept),
    cmocka_unit_test(buffer_has_a_limit),
    cmocka_unit_test(map_finds_all_while_growing),
    cmocka_unit_test(map_survives_a_failed_growth),
    cmocka_unit_test(each_allocation_may_fail),
};
FGT_MAIN(tests)
