/* test_pack_resume.c - a writer that is killed before each of its system calls, or whose disk is
 * full, and is started again: the pack has the same bytes as one written in one go. The calls are
 * caught by defining them here, before the C library's own.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "pack/pack_file.h"
#include "pack_made.h"

enum { KILLED = 99, FAILED = 98, COUNT = 40 };

static long calls_left = -1; /* negative: no limit */
static bool is_full;         /* then a write fails instead of ending the process */

/* True if the call must fail. Ends the process at its last call. */
static bool count_call(void)
{
    if (calls_left == 0 && !is_full)
        _exit(KILLED);
    if (calls_left > 0)
        calls_left--;
    return calls_left == 0 && is_full;
}

/* a function pointer from dlsym, without the cast that ISO C forbids */
#define REAL(type, name)                                                                           \
    type function;                                                                                 \
    void *object = dlsym(RTLD_NEXT, name);                                                         \
    memcpy(&function, &object, sizeof(function))

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    typedef ssize_t pwrite_fn(int, const void *, size_t, off_t);
    REAL(pwrite_fn *, "pwrite");
    if (count_call()) {
        errno = ENOSPC;
        return -1;
    }
    return function(fd, data, size > 100 ? size / 2 : size, offset); /* short writes, too */
}

int rename(const char *from, const char *to)
{
    typedef int rename_fn(const char *, const char *);
    REAL(rename_fn *, "rename");
    (void)count_call();
    return function(from, to);
}

int ftruncate(int fd, off_t size)
{
    typedef int ftruncate_fn(int, off_t);
    REAL(ftruncate_fn *, "ftruncate");
    (void)count_call();
    return function(fd, size);
}

/* ---- one go against many --------------------------------------------------------------------- */

static const fg_pack_writer_options single = {.resume = true, .fingerprint = "f"};
static const fg_pack_writer_options sharded = {
    .resume = true, .fingerprint = "f", .shard_bytes = 20000};

/* Reads all files of a pack as one block. */
static char *read_pack(const char *path, size_t *out_size)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    char *all = NULL;
    *out_size = 0;
    fgt_ok(fg_pack_open(path, NULL, &pack, &err));
    for (int i = 0; i < fg_pack_info_of(pack)->shard_count; i++) {
        char *data;
        size_t size;
        fgt_ok(fgi_file_read(fg_pack_path(pack, i), 1 << 24, &data, &size, &err));
        all = realloc(all, *out_size + size);
        assert_non_null(all);
        memcpy(all + *out_size, data, size);
        *out_size += size;
        fgi_free(data);
    }
    fg_pack_close(pack);
    return all;
}

/* Writes with `limit` calls; true if the pack is complete. */
static bool run_until(const char *path, const fg_pack_writer_options *options, long limit)
{
    const pid_t child = fork();
    if (child == 0) {
        fg_error err = {0};
        calls_left = limit;
        const fg_status status = pack_made_write(path, options, COUNT, &err);
        if (status != FG_OK)
            (void)fg_error_print(&err, "child");
        _exit(status == FG_OK ? 0 : FAILED);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == KILLED);
    return WEXITSTATUS(status) == 0;
}

/* The folder of `path` with a pack or nothing but partial files. */
static bool is_there(const char *folder)
{
    fg_error err = {0};
    fg_pack *pack = NULL;
    const fg_status status = fg_pack_open(folder, NULL, &pack, &err);
    const bool is_whole = status == FG_OK;
    if (!is_whole && status != FG_ENOTFOUND)
        fail_msg("%s", err.message);
    fg_pack_close(pack);
    return is_whole;
}

/* Kills the writer before call `step`, 2 * `step` ... of its runs, until it is through. */
static void kill_every(const fg_pack_writer_options *options, long step, const char *want,
                       size_t want_size)
{
    char folder[256], path[300];
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    (void)snprintf(path, sizeof path, "%s/p.pack", folder);
    long limit = step;
    while (!run_until(path, options, limit)) {
        assert_true(limit < 10000);
        limit += step;
        if (is_there(folder)) /* ended after the last rename */
            break;
    }
    size_t size;
    char *got = read_pack(folder, &size);
    assert_int_equal(size, want_size);
    assert_memory_equal(got, want, size);
    free(got);
}

static void check_kills(const fg_pack_writer_options *options, long last)
{
    fg_error err = {0};
    size_t size;
    const char *folder = fgt_temp_folder();
    fgt_ok(pack_made_write(fgt_path(folder, "p.pack"), options, COUNT, &err));
    char *want = read_pack(folder, &size);
    for (long step = 1; step < last; step += step < 20 ? 1 : step / 6)
        kill_every(options, step, want, size);
    free(want);
}

static void killed_anywhere_gives_the_same_bytes(void **state) { check_kills(&single, 40); }
static void a_set_of_files_too(void **state) { check_kills(&sharded, 150); }

/* ---- one kill at each point of a large pack -------------------------------------------------- */

/* A partial file cut at any length, or with a damaged byte: what is before it is kept. */
static void partial_files_are_verified(void **state)
{
    fg_error err = {0};
    fg_pack_writer *w = NULL;
    int64_t kept;
    size_t size, last_end = 0;
    char folder[256], path[300], partial[310], *data;
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    (void)snprintf(path, sizeof path, "%s/p.pack", folder);
    (void)snprintf(partial, sizeof partial, "%s.partial", path);
    fgt_ok(fg_pack_writer_create(path, &single, &w, &kept, &err));
    fgt_ok(pack_made_add(w, 10, &err));
    fg_pack_writer_destroy(w); /* writes what is in its buffer */
    fgt_ok(fgi_file_read(partial, 1 << 20, &data, &size, &err));
    int64_t before = -1;
    for (size_t cut = FGI_PACK_PAGE; cut <= size; cut += 1 + cut % 53) {
        fgt_write(partial, data, cut);
        fgt_ok(fg_pack_writer_create(path, &single, &w, &kept, &err));
        assert_true(kept >= before && kept <= 10);
        assert_int_equal(kept, fg_pack_writer_count(w));
        fg_pack_writer_destroy(w);
        before = kept;
        last_end = cut;
    }
    assert_true(before >= 9 && last_end > size - 54);
    before = 0;
    for (size_t at = FGI_PACK_PAGE; at < size; at += 1 + at % 29) { /* headers, bytes and padding */
        data[at] ^= 1;
        fgt_write(partial, data, size);
        data[at] ^= 1;
        fgt_ok(fg_pack_writer_create(path, &single, &w, &kept, &err));
        if (kept < before || kept >= 10)
            fail_msg("byte %zu is damaged: %" PRId64 " records are kept", at, kept);
        fg_pack_writer_destroy(w);
        before = kept;
    }
    data[size / 2] ^= 1;
    fgt_write(partial, data, size);
    fgt_ok(fg_pack_writer_create(path, &single, &w, &kept, &err));
    assert_true(kept > 0 && kept < 10);
    fgt_ok(pack_made_add(w, 10, &err));
    fgt_ok(fg_pack_writer_finish(w, NULL, &err));
    fg_pack_writer_destroy(w);
    pack_made_check_all(path, 10);
    fgi_free(data);
}

/* Of records that are larger than a page, too, each byte counts: the first, the one before 4 KiB,
 * the last. */
static void large_records_are_verified(void **state)
{
    enum { BYTES = 70001, RECORDS = 3 };
    static const size_t places[] = {0, 4095, 4096, 65536, BYTES - 1};
    static char data[BYTES];
    fg_error err = {0};
    fg_pack_writer *w = NULL;
    char path[300], partial[310], *file;
    size_t size;
    (void)snprintf(path, sizeof path, "%s/p.pack", fgt_temp_folder());
    (void)snprintf(partial, sizeof partial, "%s.partial", path);
    fgt_ok(fg_pack_writer_create(path, &single, &w, NULL, &err));
    for (int i = 0; i < RECORDS; i++)
        fgt_ok(fg_pack_writer_add(w, &(fg_pack_entry){.name = "n"}, data, BYTES, &err));
    fg_pack_writer_destroy(w);
    fgt_ok(fgi_file_read(partial, 1 << 20, &file, &size, &err));
    for (size_t i = 0; i < RECORDS * 5; i++) {
        int64_t kept;
        /* a header of 80 bytes before each record, at multiples of 16 */
        const size_t at = FGI_PACK_PAGE + i / 5 * ((BYTES + 15) / 16 * 16 + 80) + 80;
        file[at + places[i % 5]] ^= 1;
        fgt_write(partial, file, size);
        file[at + places[i % 5]] ^= 1;
        fgt_ok(fg_pack_writer_create(path, &single, &w, &kept, &err));
        assert_int_equal(kept, i / 5);
        fg_pack_writer_destroy(w);
    }
    fgi_free(file);
}

/* Sets the number of record `record` in a partial file, with the right checksum. */
static void renumber(char *data, size_t size, uint64_t record, uint64_t number)
{
    for (size_t at = FGI_PACK_PAGE; at < size; at += FGI_PACK_HEAD_ALIGN) {
        fgi_pack_head *head = (void *)(data + at);
        if (fgi_pack_head_at((unsigned char *)data, size, at) == NULL || head->number != record)
            continue;
        head->number = number;
        head->head_crc = fgi_pack_head_crc(head);
        return;
    }
    fail_msg("no record %d", (int)record);
}

/* A record is only continued with the next one: neither an earlier nor a later number. */
static void records_of_a_partial_file_follow_each_other(void **state)
{
    fg_error err = {0};
    fg_pack_writer *w = NULL;
    char path[300], partial[310], *data;
    size_t size;
    (void)snprintf(path, sizeof path, "%s/p.pack", fgt_temp_folder());
    (void)snprintf(partial, sizeof partial, "%s.partial", path);
    fgt_ok(fg_pack_writer_create(path, &single, &w, NULL, &err));
    fgt_ok(pack_made_add(w, 6, &err));
    fg_pack_writer_destroy(w);
    fgt_ok(fgi_file_read(partial, 1 << 20, &data, &size, &err));
    for (int64_t kept = 3; kept > 0; kept--) {
        renumber(data, size, (uint64_t)kept, kept == 2 ? 0 : 7);
        fgt_write(partial, data, size);
        int64_t got;
        fgt_ok(fg_pack_writer_create(path, &single, &w, &got, &err));
        assert_int_equal(got, kept);
        fg_pack_writer_destroy(w);
    }
    fgi_free(data);
}

static const fg_field some_fields[] = {{"x", {FG_U8, 1, {3}}},
                                       {"y", {FG_U8, 1, {3}}},
                                       {"x", {FG_S8, 1, {3}}},
                                       {"x", {FG_U8, 1, {4}}},
                                       {"x", {FG_U8, 2, {3, 1}}}};

static const char *const cats[] = {"a cat", "dog"}, *const cars[] = {"a car", "dog"};
static const fg_pack_writer_options base = {.resume = true,
                                            .shard_bytes = 20000,
                                            .fingerprint = "the folder a",
                                            .class_names = cats,
                                            .class_count = 2,
                                            .fields = some_fields,
                                            .field_count = 1};

/* Each option that determines the records, or describes the pack, alone. */
static void any_other_option_is_refused(void **state)
{
    fg_error err = {0};
    fg_pack_writer *w = NULL;
    int64_t kept;
    const char *path = fgt_path(fgt_temp_folder(), "p.pack");
    fgt_ok(fg_pack_writer_create(path, &base, &w, NULL, &err));
    fgt_ok(pack_made_add(w, 3, &err));
    fg_pack_writer_destroy(w);
    for (int i = 0; i < 10; i++) {
        fg_pack_writer_options o = base;
        o.shard_bytes += i == 0;
        o.variant_count = i == 1 ? 2 : 0;
        o.fingerprint = i == 2 ? "the folder b" : i == 3 ? "the folder" : base.fingerprint;
        o.class_names = i == 4 ? cars : cats;
        o.class_count = i == 5 ? 1 : 2;
        o.fields = i > 5 ? &some_fields[i - 5] : some_fields;
        assert_int_equal(fg_pack_writer_create(path, &o, &w, &kept, &err), FG_EINVAL);
        assert_int_equal(kept, 0);
    }
    fg_pack_writer_options same = base;
    same.variant_count = 1; /* the default */
    same.replace = true;
    fgt_ok(fg_pack_writer_create(path, &same, &w, &kept, &err));
    assert_int_equal(kept, 3);
    fg_pack_writer_destroy(w);
}

/* What the writer shows of a partial pack. */
typedef struct shown {
    int64_t count, fails_at;
} shown;

static fg_status show(void *self, int64_t record, const fg_pack_entry *entry, const void *data,
                      size_t size, fg_error *err)
{
    shown *s = self;
    fg_pack_entry made;
    unsigned char expected[PACK_MADE_LARGEST];
    size_t expected_size;
    assert_int_equal(record, s->count);
    pack_made(record, &made, expected, &expected_size);
    assert_int_equal(size, expected_size);
    assert_memory_equal(data, expected, size);
    assert_string_equal(entry->name, made.name != NULL ? made.name : "");
    assert_int_equal(entry->label, made.label);
    s->count++;
    return record == s->fails_at ? fgi_fail(err, FG_EUNSUPPORTED, "no") : FG_OK;
}

/* Each record of all files, in order; an error is that of the writer, and nothing is lost. */
static void kept_records_are_shown(void **state)
{
    fg_error err = {0};
    fg_pack_writer *w = NULL;
    shown s = {.fails_at = 22};
    int64_t kept = -1;
    fg_pack_writer_options o = sharded;
    const char *path = fgt_path(fgt_temp_folder(), "p.pack");
    fgt_ok(fg_pack_writer_create(path, &o, &w, NULL, &err));
    fgt_ok(pack_made_add(w, 30, &err));
    fg_pack_writer_destroy(w);
    o.kept = show;
    o.kept_self = &s;
    assert_int_equal(fg_pack_writer_create(path, &o, &w, &kept, &err), FG_EUNSUPPORTED);
    assert_string_equal(err.message, "no");
    assert_true(kept == 0 && s.count == 23 && w == NULL);
    s = (shown){.fails_at = -1};
    fgt_ok(fg_pack_writer_create(path, &o, &w, &kept, &err));
    assert_true(kept == 30 && s.count == 30 && fg_pack_writer_count(w) == 30);
    fg_pack_writer_destroy(w);
}

/* The second file of a set under the name of the first. */
static void files_that_were_mixed_up_are_refused(void **state)
{
    fg_error err = {0};
    fg_pack_writer *w = NULL;
    int64_t kept;
    size_t size;
    char folder[256], path[300], *second;
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    (void)snprintf(path, sizeof path, "%s/p.pack", folder);
    fgt_ok(fg_pack_writer_create(path, &sharded, &w, &kept, &err));
    fgt_ok(pack_made_add(w, 30, &err));
    fg_pack_writer_destroy(w);
    fgt_ok(fgi_file_read(fgt_path(folder, "p-00001.pack.partial"), 1 << 20, &second, &size, &err));
    fgt_write(fgt_path(folder, "p-00000.pack.partial"), second, size);
    fgi_free(second);
    assert_int_equal(fg_pack_writer_create(path, &sharded, &w, &kept, &err), FG_EINVAL);
}

/* The second file of a set is that of another one: it is written again. Alone, it is no pack. */
static void a_later_file_of_another_set_is_replaced(void **state)
{
    fg_error err = {0};
    fg_pack_writer *w = NULL;
    int64_t kept;
    size_t size;
    char folder[256], path[300], *second;
    fg_pack_writer_options other = sharded;
    other.fingerprint = "g";
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    (void)snprintf(path, sizeof path, "%s/q.pack", folder);
    fgt_ok(fg_pack_writer_create(path, &other, &w, &kept, &err));
    fgt_ok(pack_made_add(w, 30, &err));
    fg_pack_writer_destroy(w);
    (void)snprintf(path, sizeof path, "%s/p.pack", folder);
    fgt_ok(fg_pack_writer_create(path, &sharded, &w, &kept, &err));
    fgt_ok(pack_made_add(w, 30, &err));
    fg_pack_writer_destroy(w);
    fgt_ok(fgi_file_read(fgt_path(folder, "q-00001.pack.partial"), 1 << 20, &second, &size, &err));
    fgt_write(fgt_path(folder, "p-00001.pack.partial"), second, size);
    fgi_free(second);
    assert_int_equal(fg_pack_rebuild(fgt_path(folder, "q-00001.pack.partial"), path, NULL, &err),
                     FG_EFORMAT);
    assert_non_null(strstr(err.message, "the file belongs to a set: create the pack again"));
    fgt_ok(fg_pack_writer_create(path, &sharded, &w, &kept, &err));
    assert_in_range(kept, 1, 29);
    assert_int_equal(access(fgt_path(folder, "p-00001.pack.partial"), F_OK), -1);
    fg_pack_writer_discard(w);
    fg_pack_writer_destroy(w);
}

static void discarded_or_started_again(void **state)
{
    fg_error err = {0};
    fg_pack_writer *w = NULL;
    int64_t kept;
    char folder[256], path[300];
    (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
    (void)snprintf(path, sizeof path, "%s/p.pack", folder);
    fgt_ok(fg_pack_writer_create(path, &sharded, &w, &kept, &err));
    assert_null(fg_pack_writer_last_name(w));
    fgt_ok(pack_made_add(w, 30, &err));
    assert_string_equal(fg_pack_writer_last_name(w), "with space/29.jpg");
    fg_pack_writer_destroy(w);
    fg_pack_writer_options other = sharded;
    other.fingerprint = "g";
    assert_int_equal(fg_pack_writer_create(path, &other, &w, &kept, &err), FG_EINVAL);
    fgt_message_is(err.message,
                   "'~/p-00000.pack.partial' was written from other inputs or with other options: "
                   "restart (--restart) to discard it, or resume with the same ones");
    fgt_ok(fg_pack_writer_create(path, &sharded, &w, &kept, &err));
    assert_int_equal(kept, 30);
    assert_string_equal(fg_pack_writer_last_name(w), "with space/29.jpg");
    fg_pack_writer_destroy(w);
    other.resume = false; /* discards it */
    fgt_ok(fg_pack_writer_create(path, &other, &w, &kept, &err));
    assert_int_equal(kept, 0);
    assert_int_equal(fgt_count_entries(folder), 1);
    fgt_ok(pack_made_add(w, 30, &err));
    assert_true(fgt_count_entries(folder) > 1);
    fg_pack_writer_discard(w);
    fg_pack_writer_destroy(w);
    assert_int_equal(fgt_count_entries(folder), 0);
}

static void only_one_writer(void **state)
{
    fg_error err = {0};
    fg_pack_writer *w = NULL, *second = NULL;
    const char *path = fgt_path(fgt_temp_folder(), "p.pack");
    fgt_ok(fg_pack_writer_create(path, NULL, &w, NULL, &err));
    assert_int_equal(fg_pack_writer_create(path, NULL, &second, NULL, &err), FG_EIO);
    fgt_message_is(err.message, "cannot write '~/p.pack': another process is writing it; wait for "
                                "it to end, or choose another name");
    assert_null(second);
    fgt_ok(pack_made_add(w, 3, &err));
    fgt_ok(fg_pack_writer_finish(w, NULL, &err));
    fg_pack_writer_destroy(w);
    pack_made_check_all(path, 3);
}

/* The disk is full at each write: the error says so, and resuming completes the pack. */
static void a_full_disk_keeps_what_was_written(void **state)
{
    char folder[256], path[300];
    int failures = 0;
    for (long limit = 1; limit < 200; limit += 1 + limit / 4) {
        fg_error err = {0};
        (void)snprintf(folder, sizeof folder, "%s", fgt_temp_folder());
        (void)snprintf(path, sizeof path, "%s/p.pack", folder);
        calls_left = limit;
        is_full = true;
        const fg_status status = pack_made_write(path, &sharded, COUNT, &err);
        is_full = false;
        calls_left = -1;
        if (status == FG_OK)
            break;
        failures++;
        assert_int_equal(status, FG_EIO);
        assert_non_null(strstr(err.message, ".pack.partial': No space left on device: what was "
                                            "written is kept; free some space and resume"));
        fgt_ok(pack_made_write(path, &sharded, COUNT, &err));
        pack_made_check_all(folder, COUNT);
    }
    assert_true(failures > 5);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(killed_anywhere_gives_the_same_bytes),
    cmocka_unit_test(a_set_of_files_too),
    cmocka_unit_test(partial_files_are_verified),
    cmocka_unit_test(large_records_are_verified),
    cmocka_unit_test(records_of_a_partial_file_follow_each_other),
    cmocka_unit_test(any_other_option_is_refused),
    cmocka_unit_test(kept_records_are_shown),
    cmocka_unit_test(files_that_were_mixed_up_are_refused),
    cmocka_unit_test(a_later_file_of_another_set_is_replaced),
    cmocka_unit_test(discarded_or_started_again),
    cmocka_unit_test(only_one_writer),
    cmocka_unit_test(a_full_disk_keeps_what_was_written),
};
FGT_MAIN(tests)
