/* test_base_error.c - status codes, error propagation, the log, dtypes and types.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <signal.h>
#include <stdlib.h>
#include <fulgurite/dtype.h>
#include "base/error.h"
#include "base/log.h"

static void every_status_has_its_name(void **state)
{
    for (int i = FG_OK; i <= FG_ENUMERIC; i++) {
        assert_memory_equal(fg_status_name((fg_status)i), "FG_", 3);
        for (int j = FG_OK; j < i; j++)
            assert_string_not_equal(fg_status_name((fg_status)i), fg_status_name((fg_status)j));
    }
    assert_string_equal(fg_status_name(FG_ESHAPE), "FG_ESHAPE");
    assert_string_equal(fg_status_name((fg_status)(FG_ENUMERIC + 1)), "unknown status");
    assert_string_equal(fg_status_name((fg_status)-1), "unknown status");
}

static void version_is_the_headers(void **state)
{
    char text[32];
    snprintf(text, sizeof(text), "%d.%d.%d", FG_VERSION_MAJOR, FG_VERSION_MINOR, FG_VERSION_PATCH);
    assert_string_equal(fg_version(), text);
    assert_string_equal(fg_version(), FG_VERSION_STRING);
}

static void failure_fills_the_error(void **state)
{
    fg_error err = {0};
    assert_int_equal(fgi_fail(&err, FG_ESHAPE, "sizes differ: %d, %d", 4, 5), FG_ESHAPE);
    assert_int_equal(err.status, FG_ESHAPE);
    assert_string_equal(err.message, "sizes differ: 4, 5");
    assert_null(err.file);
    assert_int_equal(err.line, 0);
    assert_int_equal(fgi_fail_at(&err, FG_EDTYPE, "train.c", 31, "was: %s", err.message),
                     FG_EDTYPE);
    assert_string_equal(err.message, "was: sizes differ: 4, 5"); /* an argument inside *err */
    assert_string_equal(err.file, "train.c");
    assert_int_equal(err.line, 31);
    assert_int_equal(fgi_fail(NULL, FG_EIO, "unheard"), FG_EIO);
    assert_int_equal(fgi_no_memory(&err), FG_ENOMEM);
    assert_string_equal(err.message, "out of memory");
    assert_null(err.file);
}

static void long_messages_end_in_dots(void **state)
{
    fg_error err;
    char text[1000];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    (void)fgi_fail(&err, FG_EIO, "%s", text);
    assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
    assert_string_equal(err.message + sizeof(err.message) - 5, "a...");
    (void)fgi_fail(&err, FG_EIO, "%.490s", text);
    assert_int_equal(strlen(err.message), 490);
    assert_int_equal(fgi_context(&err, FG_EIO, "reading '%s'", "x"), FG_EIO);
    assert_memory_equal(err.message, "reading 'x': aaa", 16);
    assert_string_equal(err.message + sizeof(err.message) - 5, "a...");
}

/* A message has room for 495 bytes. */
static void messages_that_just_fit_are_whole(void **state)
{
    fg_error err;
    char text[600];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (int size = 494; size <= 496; size++) {
        (void)fgi_fail(&err, FG_EIO, "%.*s", size, text);
        assert_int_equal(strlen(err.message), size < 496 ? size : 495);
        assert_string_equal(err.message + 490, size == 494   ? "aaaa"
                                               : size == 495 ? "aaaaa"
                                                             : "aa...");
        (void)fgi_fail(&err, FG_EIO, "%.*s", size - 3, text);
        (void)fgi_context(&err, FG_EIO, "x"); /* "x: " */
        assert_string_equal(err.message + 490, size == 494   ? "aaaa"
                                               : size == 495 ? "aaaaa"
                                                             : "aa...");
    }
}

static fg_status inner(bool fails, fg_error *err)
{
    return fails ? fgi_fail(err, FG_EFORMAT, "bad magic") : FG_OK;
}

static fg_status middle(bool fails, fg_error *err)
{
    FGI_TRY_CTX(inner(fails, err), err, "%s", err == NULL ? "" : err->message);
    return FG_OK;
}

static fg_status outer(bool fails, int *cleaned, fg_error *err)
{
    fg_status status = FG_EINTERNAL;
    FGI_DONE(middle(fails, err));
done:
    ++*cleaned;
    return status;
}

static void macros_pass_failures_on(void **state)
{
    fg_error err = {0};
    int cleaned = 0;
    assert_int_equal(outer(false, &cleaned, &err), FG_OK);
    assert_string_equal(err.message, "");
    assert_int_equal(outer(true, &cleaned, NULL), FG_EFORMAT);
    assert_int_equal(outer(true, &cleaned, &err), FG_EFORMAT);
    /* the context was formatted from the old text */
    assert_string_equal(err.message, "bad magic: bad magic");
    assert_int_equal(cleaned, 3);
}

static volatile sig_atomic_t traps;
static void on_trap(int number) { traps = traps + 1; }

static void trap_is_raised_when_asked_for(void **state)
{
    struct sigaction before, action = {.sa_handler = on_trap};
    sigaction(SIGTRAP, &action, &before);
    setenv("FG_TRAP", "1", 1);
    (void)fgi_fail(NULL, FG_EIO, "seen");
    setenv("FG_TRAP", "0", 1);
    (void)fgi_fail(NULL, FG_EIO, "not seen");
    unsetenv("FG_TRAP");
    (void)fgi_fail(NULL, FG_EIO, "not seen");
    sigaction(SIGTRAP, &before, NULL);
    assert_int_equal(traps, 1);
}

static void check_print(const fg_error *err, const char *program, const char *wanted)
{
    char text[600] = {0};
    FILE *out = fmemopen(text, sizeof(text), "w");
    assert_non_null(out);
    assert_int_equal(fg_error_fprint(out, err, program), 1);
    fclose(out);
    assert_string_equal(text, wanted);
}

static void errors_are_printed_with_their_place(void **state)
{
    fg_error err = {.status = FG_EIO, .message = "no"};
    check_print(&err, "fulgurite", "fulgurite: no\n");
    check_print(&err, NULL, "no\n");
    err.line = 3; /* of no file */
    check_print(&err, "p", "p: no\n");
    err.line = 0;
    err.file = "a.c";
    check_print(&err, "p", "p: a.c: no\n");
    err.line = 12;
    check_print(&err, "p", "p: a.c:12: no\n");
    err.line = 1;
    check_print(&err, "p", "p: a.c:1: no\n");
}

typedef struct heard {
    int count;
    fg_log_level level;
    char line[2000];
} heard;

static void hear(void *self, fg_log_level level, const char *line)
{
    heard *h = self;
    h->level = level;
    snprintf(h->line, sizeof(h->line), "%s", line);
    if (h->count++ == 0)
        /* allowed: the library may be logging concurrently */
        fgi_log(FG_LOG_WARNING, "from inside");
}

static void lines_reach_the_log_function(void **state)
{
    heard h = {0};
    fgi_log(FG_LOG_INFO, "nobody listens");
    fg_log_set(hear, &h);
    fgi_log(FG_LOG_INFO, "epoch %d", 3);
    assert_int_equal(h.count, 2);
    assert_int_equal(h.level, FG_LOG_WARNING);
    assert_string_equal(h.line, "from inside");
    fgi_log(FG_LOG_DEBUG, "%*d", 3000, 1);
    assert_int_equal(h.level, FG_LOG_DEBUG);
    assert_int_equal(strlen(h.line), 1023);
    fg_log_set(NULL, NULL);
    fgi_log(FG_LOG_INFO, "nobody listens");
    assert_int_equal(h.count, 3);
}

static void count_calls(void *self) { (*(int *)self)++; }

static void hear_nothing(void *self, fg_log_level level, const char *line)
{
    (void)self, (void)level, (void)line;
}

/* Only the object that is called before lines can end that. */
static void another_object_ends_nothing(void **state)
{
    int first = 0, second = 0;
    (void)state;
    fg_log_set(hear_nothing, NULL);
    fgi_log_set_before(count_calls, &first);
    fgi_log_set_before(count_calls, &second);
    fgi_log_unset_before(&first);
    fgi_log(FG_LOG_INFO, "a line");
    assert_true(first == 0 && second == 1);
    fgi_log_unset_before(&second);
    fgi_log(FG_LOG_INFO, "a line");
    assert_true(first == 0 && second == 1);
    fg_log_set(NULL, NULL);
}

static void dtypes_have_names_and_sizes(void **state)
{
    static const char *const wanted[] = {"none:0", "bool:1", "u8:1",  "s8:1",  "u16:2",
                                         "s16:2",  "u32:4",  "s32:4", "u64:8", "s64:8",
                                         "bf16:2", "f16:2",  "f32:4", "f64:8", "none:0"};
    for (int i = 0; i <= FG_F64 + 1; i++) {
        char text[16];
        snprintf(text, sizeof(text), "%s:%zu", fg_dtype_name((fg_dtype)i),
                 fg_dtype_size((fg_dtype)i));
        assert_string_equal(text, wanted[i]);
        assert_int_equal(fg_dtype_is_float((fg_dtype)i), strchr(wanted[i], 'f') != NULL);
    }
    assert_string_equal(fg_dtype_name((fg_dtype)-1), "none");
}

static void types_are_counted_and_written(void **state)
{
    char text[64];
    fg_type type = {.dtype = FG_F32, .rank = 3, .dim = {2, 3, 4}};
    assert_int_equal(fg_type_count(&type), 24);
    assert_int_equal(fg_type_bytes(&type), 96);
    assert_string_equal(fg_type_format(&type, text, sizeof(text)), "f32[2,3,4]");
    assert_string_equal(fg_type_format(&type, text, 7), "f32[2,");
    assert_string_equal(fg_type_format(&type, text, 1), "");
    type.dim[1] = 0;
    assert_int_equal(fg_type_count(&type), 0);
    type.dim[1] = INT64_MAX / 2;
    assert_true(fg_type_count(&type) == INT64_MAX);
    assert_true(fg_type_bytes(&type) == SIZE_MAX);
    type.dim[2] = -1;
    assert_int_equal(fg_type_count(&type), 0);
    type = (fg_type){.dtype = FG_U8, .rank = 3, .dim = {INT64_MAX, 4, 0}};
    assert_int_equal(fg_type_count(&type), 0); /* no elements, however large the others */
    assert_int_equal(fg_type_bytes(&type), 0);
    type = (fg_type){.dtype = FG_F64, .rank = 1, .dim = {INT64_MAX - 1}};
    assert_true(fg_type_bytes(&type) == SIZE_MAX);
    type = (fg_type){.dtype = FG_S64, .rank = 0};
    assert_int_equal(fg_type_bytes(&type), 8);
    assert_string_equal(fg_type_format(&type, text, sizeof(text)), "s64[]");
}

static int rank_of(int rank, const int64_t *dim, int64_t *last)
{
    *last = rank == 0 ? 0 : dim[rank - 1];
    return rank;
}

static void shapes_are_written_as_arguments(void **state)
{
    int64_t last;
    assert_int_equal(rank_of(FG_DIMS(3, 4, 5), &last), 3);
    assert_int_equal(last, 5);
    assert_int_equal(rank_of(FG_SCALAR, &last), 0);
}

static void an_error_becomes_one_line(void **state)
{
    fgi_arena arena = {0};
    (void)state;
    assert_string_equal(fgi_error_line(&arena, &(fg_error){.message = "a\nb\n\nc"}), "a; b; ; c");
    assert_string_equal(fgi_error_line(&arena, &(fg_error){.message = "\n\n\n"}), "; ; ; ");
    assert_string_equal(fgi_error_line(&arena, &(fg_error){0}), "");
    fgi_arena_fini(&arena);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_error_becomes_one_line),
    cmocka_unit_test(every_status_has_its_name),
    cmocka_unit_test(version_is_the_headers),
    cmocka_unit_test(failure_fills_the_error),
    cmocka_unit_test(long_messages_end_in_dots),
    cmocka_unit_test(messages_that_just_fit_are_whole),
    cmocka_unit_test(macros_pass_failures_on),
    cmocka_unit_test(trap_is_raised_when_asked_for),
    cmocka_unit_test(errors_are_printed_with_their_place),
    cmocka_unit_test(lines_reach_the_log_function),
    cmocka_unit_test(another_object_ends_nothing),
    cmocka_unit_test(dtypes_have_names_and_sizes),
    cmocka_unit_test(types_are_counted_and_written),
    cmocka_unit_test(shapes_are_written_as_arguments),
};
FGT_MAIN(tests)
