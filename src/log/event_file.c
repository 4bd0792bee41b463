/* event_file.c - TensorBoard's event files.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "log/event_file.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "log/log_file.h"

#define PREFIX "events.out.tfevents."
#define SUFFIX ".fulgurite"

enum { HEADER = 12, FOOTER = 4, SESSION_START = 1 };

/* ---- writing --------------------------------------------------------------------------------- */

static void put_number(fgi_buf *out, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        fgi_buf_putc(out, (char)(unsigned char)(value >> (8 * i)));
}

typedef struct sink {
    ProtobufCBuffer base;
    fgi_buf *out;
} sink;

static void append(ProtobufCBuffer *self, size_t size, const uint8_t *data)
{
    fgi_buf_add(((sink *)self)->out, data, size);
}

void fgi_event_put(fgi_buf *out, const Fulgurite__Tb__Event *event)
{
    const size_t size = fulgurite__tb__event__get_packed_size(event), start = out->size;
    sink to = {.base = {.append = append}, .out = out};
    put_number(out, size, 8);
    if (!out->failed)
        put_number(out, fgi_crc32c_masked(out->data + start, 8), 4);
    (void)fulgurite__tb__event__pack_to_buffer(event, &to.base);
    if (!out->failed)
        put_number(out, fgi_crc32c_masked(out->data + start + HEADER, size), 4);
}

void fgi_event_put_start(fgi_buf *out, int64_t first, double wall_time)
{
    static char version[] = "brain.Event:2";
    Fulgurite__Tb__Event event = FULGURITE__TB__EVENT__INIT;
    Fulgurite__Tb__SessionLog session = FULGURITE__TB__SESSION_LOG__INIT;
    event.has_wall_time = session.has_status = 1;
    event.wall_time = wall_time;
    event.file_version = version;
    fgi_event_put(out, &event);
    session.status = SESSION_START;
    event.file_version = NULL;
    event.session_log = &session;
    event.has_step = 1;
    event.step = first;
    fgi_event_put(out, &event);
}

/* ---- reading --------------------------------------------------------------------------------- */

static uint64_t get_number(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* The size of the record's data; false if the record is incomplete or damaged. */
static bool get_record(const unsigned char *data, size_t size, size_t *out_size)
{
    if (size < HEADER + FOOTER || get_number(data + 8, 4) != fgi_crc32c_masked(data, 8))
        return false;
    const uint64_t length = get_number(data, 8);
    if (length > size - HEADER - FOOTER)
        return false;
    *out_size = (size_t)length;
    return get_number(data + HEADER + length, 4) == fgi_crc32c_masked(data + HEADER, *out_size);
}

/* Only log lines have plain scalars. */
static bool is_line(const Fulgurite__Tb__Event *event)
{
    return event->summary->n_value == 0 || event->summary->value[0]->has_simple_value;
}

/* Whether the run keeps the event, which is counted if it is a line. */
static bool keep(const Fulgurite__Tb__Event *event, const fg_log_start *start, fgi_event_past *past)
{
    if (event->summary == NULL)
        return true;
    if (!is_line(event))
        return event->step <= start->step;
    if (!fgi_log_is_valid(start, event->step, past->lines))
        return false;
    past->lines++;
    past->last_lines = event->step == past->last_step ? past->last_lines + 1 : 1;
    past->last_step = event->step;
    return true;
}

/* Appends the records that are kept. */
static fg_status filter(const fgi_mapping *file, const fg_log_start *start, fgi_event_past *past,
                        fgi_buf *out, fg_error *err)
{
    size_t size = 0;
    bool has_no_memory = false;
    ProtobufCAllocator memory = {
        .alloc = fgi_alloc_for, .free = fgi_free_for, .allocator_data = &has_no_memory};
    for (size_t at = 0; get_record(file->data + at, file->size - at, &size);
         at += HEADER + size + FOOTER) {
        Fulgurite__Tb__Event *event =
            fulgurite__tb__event__unpack(&memory, size, file->data + at + HEADER);
        if (has_no_memory)
            return fgi_no_memory(err);
        if (event != NULL && keep(event, start, past))
            fgi_buf_add(out, file->data + at, HEADER + size + FOOTER);
        fulgurite__tb__event__free_unpacked(event, &memory);
    }
    return fgi_buf_status(out, err);
}

static fg_status cut_file(const char *path, const fg_log_start *start, fgi_event_past *past,
                          fg_error *err)
{
    fgi_mapping file = {0};
    fgi_buf kept = {0};
    FGI_TRY(fgi_file_map(path, &file, err));
    fg_status status = filter(&file, start, past, &kept, err);
    if (status == FG_OK && kept.size < file.size)
        status = fgi_file_write_atomic(path, kept.data != NULL ? kept.data : "", kept.size, err);
    fgi_buf_fini(&kept);
    fgi_file_unmap(&file);
    return status;
}

/* ---- the files of a run ---------------------------------------------------------------------- */

/* The time in a name of ours; 0: another file. */
static int64_t time_in(const char *name)
{
    int64_t seconds = 0;
    const char *digits = name + strlen(PREFIX);
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || !fgi_ends_with(name, SUFFIX) ||
        !fgi_parse_i64((fgi_str){digits, strcspn(digits, ".")}, &seconds))
        return 0;
    return seconds;
}

static int is_ours(const struct dirent *entry) { return time_in(entry->d_name) > 0; }

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static fg_status cut_or_remove(const fg_log_start *start, bool is_new, const char *name,
                               fgi_event_past *past, fg_error *err)
{
    char *path = fgi_path_join(start->run_dir, name);
    fg_status status = FG_OK;
    if (path == NULL)
        return fgi_no_memory(err);
    past->newest = time_in(name) > past->newest ? time_in(name) : past->newest;
    if (!is_new)
        status = cut_file(path, start, past, err);
    else if (unlink(path) != 0 && errno != ENOENT)
        status = fgi_fail_errno(err, "remove", path);
    fgi_free(path);
    return status;
}

fg_status fgi_event_files_cut(const fg_log_start *start, bool is_new, fgi_event_past *out,
                              fg_error *err)
{
    struct dirent **list = NULL;
    fg_status status = FG_OK;
    const int count = scandir(start->run_dir, &list, is_ours, by_name);
    *out = (fgi_event_past){.last_step = -1};
    if (count < 0)
        return fgi_fail_errno(err, "open", start->run_dir);
    for (int i = 0; i < count; i++) {
        if (status == FG_OK)
            status = cut_or_remove(start, is_new, list[i]->d_name, out, err);
        free(list[i]);
    }
    free(list);
    return status;
}

/* Readers open files in the order of their names, and ignore those before the newest they know. */
char *fgi_event_file_name(double wall_time, int64_t newest)
{
    fgi_buf name = {0};
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) != 0 || host[0] == '\0')
        (void)snprintf(host, sizeof host, "unknown");
    const int64_t now = (int64_t)wall_time;
    fgi_buf_printf(&name, PREFIX "%010" PRId64 ".%s.%ld.0" SUFFIX, now > newest ? now : newest + 1,
                   host, (long)getpid());
    return fgi_buf_take(&name);
}
