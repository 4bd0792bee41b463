/* test_base_signal_set.c - sets of signals: counted users, what is restored, two sets at once.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include "base/signal_set.h"

static fgi_signal_set outer, inner;
static int prepared, foreign;

static void on_outer(int number) { (void)fgi_signal_set_catch(&outer, number); }
static void on_inner(int number) { (void)fgi_signal_set_catch(&inner, number); }
static void on_foreign(int number) { foreign = number; }
static void prepare(const void *user) { prepared += user != NULL ? 1 : 10; }

static void (*handler_of(int number))(int)
{
    struct sigaction now;
    assert_int_equal(sigaction(number, NULL, &now), 0);
    return now.sa_handler;
}

static int set_up(void **state)
{
    (void)state;
    outer = (fgi_signal_set){
        .lock = PTHREAD_MUTEX_INITIALIZER, .prepare = prepare, .at = {{SIGTERM, on_outer}}};
    inner = (fgi_signal_set){.lock = PTHREAD_MUTEX_INITIALIZER,
                             .at = {{SIGTERM, on_inner}, {SIGHUP, on_inner}, {SIGPIPE, SIG_IGN}}};
    prepared = foreign = 0;
    (void)signal(SIGTERM, SIG_DFL);
    (void)signal(SIGHUP, SIG_DFL);
    (void)signal(SIGPIPE, SIG_DFL);
    return 0;
}

static void the_last_user_restores(void **state)
{
    (void)state;
    fgi_signal_set_hold(&outer, &prepared);
    fgi_signal_set_hold(&outer, &prepared);
    assert_int_equal(prepared, 1);
    fgi_signal_set_release(&outer);
    assert_ptr_equal(handler_of(SIGTERM), on_outer);
    fgi_signal_set_release(&outer);
    assert_ptr_equal(handler_of(SIGTERM), SIG_DFL);
    assert_int_equal(prepared, 11);
}

/* The set that was held last catches the first signal, the other set the second, and the program
 * the third. */
static void sets_are_independent(void **state)
{
    (void)state;
    (void)signal(SIGTERM, on_foreign);
    fgi_signal_set_hold(&outer, &prepared);
    fgi_signal_set_hold(&inner, NULL);
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(atomic_load(&inner.caught), SIGTERM);
    assert_int_equal(atomic_load(&outer.caught), 0);
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(atomic_load(&outer.caught), SIGTERM);
    assert_int_equal(foreign, 0);
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(foreign, SIGTERM);
    assert_int_equal(raise(SIGHUP), 0);
    assert_int_equal(atomic_load(&inner.caught), SIGTERM); /* the first one is kept */
    fgi_signal_set_release(&inner);
    fgi_signal_set_release(&outer);
    assert_ptr_equal(handler_of(SIGTERM), on_foreign);
    assert_ptr_equal(handler_of(SIGHUP), SIG_DFL);
    assert_int_equal(atomic_load(&inner.caught), 0); /* without a user */
    assert_int_equal(atomic_load(&outer.caught), 0);
    fgi_signal_set_hold(&inner, NULL);
    assert_int_equal(atomic_load(&inner.caught), 0);
    fgi_signal_set_release(&inner);
}

/* A signal that the program ignores is not handled, one that it handles is not ignored. */
static void the_program_decides(void **state)
{
    (void)state;
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGPIPE, on_foreign);
    fgi_signal_set_hold(&inner, NULL);
    assert_ptr_equal(handler_of(SIGHUP), SIG_IGN);
    assert_ptr_equal(handler_of(SIGPIPE), on_foreign);
    (void)signal(SIGTERM, on_foreign);
    (void)signal(SIGPIPE, SIG_IGN);
    fgi_signal_set_release(&inner);
    assert_ptr_equal(handler_of(SIGHUP), SIG_IGN);
    assert_ptr_equal(handler_of(SIGTERM), on_foreign); /* replaced meanwhile */
    assert_ptr_equal(handler_of(SIGPIPE), SIG_IGN);
}

static void closed_pipes_are_ignored(void **state)
{
    (void)state;
    fgi_signal_set_hold(&inner, NULL);
    assert_ptr_equal(handler_of(SIGPIPE), SIG_IGN);
    fgi_signal_set_release(&inner);
    assert_ptr_equal(handler_of(SIGPIPE), SIG_DFL);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(the_last_user_restores, set_up),
    cmocka_unit_test_setup(sets_are_independent, set_up),
    cmocka_unit_test_setup(the_program_decides, set_up),
    cmocka_unit_test_setup(closed_pipes_are_ignored, set_up),
};
FGT_MAIN(tests)
