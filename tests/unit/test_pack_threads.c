/* test_pack_threads.c - threads that read one pack, also while its file shrinks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdatomic.h>
#include <unistd.h>
#include "base/thread.h"
#include "pack_made.h"

enum { THREADS = 4, COUNT = 60 };

typedef struct reader {
    fg_pack *pack;
    int number;
    atomic_int failures;
} reader;

/* Reads all records in a different order from the other threads. */
static void *read_all(void *self)
{
    reader *r = self;
    char buffer[PACK_MADE_LARGEST];
    for (int64_t i = 0; i < COUNT; i++) {
        fg_error err = {0};
        const int64_t record = (i * (2 * r->number + 1) + r->number) % COUNT;
        const void *data;
        size_t size = sizeof buffer;
        const fg_status status = r->number % 2 == 0
                                     ? fg_pack_record(r->pack, record, &data, &size, &err)
                                     : fg_pack_read(r->pack, record, buffer, &size, &err);
        if (status != FG_OK)
            (void)atomic_fetch_add(&r->failures, 1);
        fg_pack_prefetch(r->pack, &record, 1);
    }
    return NULL;
}

static int read_in_threads(fg_pack *pack)
{
    fg_error err = {0};
    int failures = 0;
    reader readers[THREADS];
    fgi_thread threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        readers[i].pack = pack;
        readers[i].number = i;
        atomic_init(&readers[i].failures, 0);
        fgt_ok(fgi_thread_start(&threads[i], read_all, &readers[i], &err));
    }
    for (int i = 0; i < THREADS; i++) {
        fgi_thread_join(threads[i]);
        failures += atomic_load(&readers[i].failures);
    }
    return failures;
}

static void threads_share_a_pack(void **state)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    const char *path = fgt_path(fgt_temp_folder(), "p.pack");
    fgt_ok(pack_made_write(path, NULL, COUNT, &err));
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    assert_int_equal(read_in_threads(pack), 0);
    for (int64_t i = 0; i < COUNT; i++)
        pack_made_check(pack, i);
    assert_int_equal(truncate(path, 4096), 0);
    assert_true(read_in_threads(pack) > 0);
    assert_int_equal(fg_pack_intact(pack, &err), FG_EIO);
    fg_pack_close(pack);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(threads_share_a_pack),
};
FGT_MAIN(tests)
