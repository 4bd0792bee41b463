/* test_base_guard.c - a mapping whose file shrinks reads as zeros and is reported; faults elsewhere
 * reach the handler that was there before.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/map_guard.h"

enum { SIZE = 1 << 16 };

static atomic_bool is_lost[2];
static sigjmp_buf back;

static const volatile unsigned char *map_file(int *out_fd)
{
    static unsigned char ones[SIZE];
    memset(ones, 1, sizeof ones);
    const char *path = fgt_path(fgt_temp_folder(), "file");
    fgt_write(path, ones, sizeof ones);
    *out_fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(*out_fd >= 0);
    void *data = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, *out_fd, 0);
    assert_true(data != MAP_FAILED);
    return data;
}

static void unmap(const volatile unsigned char *data, int fd)
{
    assert_int_equal(munmap((void *)data, SIZE), 0);
    assert_int_equal(close(fd), 0);
}

static void missing_pages_become_zeros(void **state)
{
    fg_error err = {0};
    int fd[2];
    const volatile unsigned char *data[2] = {map_file(&fd[0]), map_file(&fd[1])};
    for (int i = 0; i < 2; i++)
        fgt_ok(fgi_guard_add((const void *)data[i], SIZE, &is_lost[i], &err));
    assert_int_equal(data[0][SIZE - 1] + data[1][SIZE - 1], 2);
    assert_int_equal(ftruncate(fd[0], 8192), 0);
    assert_false(atomic_load(&is_lost[0]));
    assert_int_equal(data[0][SIZE - 1], 0);
    assert_true(atomic_load(&is_lost[0]));
    assert_false(atomic_load(&is_lost[1]));
    assert_int_equal(data[0][0] + data[1][SIZE - 1], 2); /* what is still there */
    for (int i = 0; i < 2; i++) {
        fgi_guard_remove((const void *)data[i]);
        unmap(data[i], fd[i]);
    }
}

static void jump(int number) { siglongjmp(back, 1); }

/* Another handler that is installed later is passed the faults of others, once renewed. */
static void other_faults_reach_the_other_handler(void **state)
{
    fg_error err = {0};
    int fd[2];
    struct sigaction own = {.sa_flags = SA_NODEFER}, before;
    own.sa_handler = jump;
    const volatile unsigned char *guarded = map_file(&fd[0]), *other = map_file(&fd[1]);
    assert_int_equal(sigaction(SIGBUS, &own, &before), 0);
    atomic_store(&is_lost[0], false);
    fgt_ok(fgi_guard_add((const void *)guarded, SIZE, &is_lost[0], &err));
    assert_int_equal(sigaction(SIGBUS, &own, NULL), 0); /* displaces the guard */
    fgi_guard_renew();
    assert_int_equal(ftruncate(fd[0], 0), 0);
    assert_int_equal(ftruncate(fd[1], 0), 0);
    assert_int_equal(guarded[0], 0);
    assert_true(atomic_load(&is_lost[0]));
    volatile int reached = 0;
    if (sigsetjmp(back, 1) == 0)
        reached = other[0] + 2;
    else
        reached = 1;
    assert_int_equal(reached, 1);
    fgi_guard_remove((const void *)guarded);
    unmap(guarded, fd[0]);
    unmap(other, fd[1]);
    assert_int_equal(sigaction(SIGBUS, &before, NULL), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(missing_pages_become_zeros),
    cmocka_unit_test(other_faults_reach_the_other_handler),
};
FGT_MAIN(tests)
