/* xspace.c - a timeline as an XSpace, the file format of XLA's profiler, which XProf and
 * TensorBoard's profile plugin read.
 *
 * The plugin records when things happened by the system's clock, and viewers expect times since the
 * start of the profile, as the profiler's own session writes them. So the plugin's lines are
 * shifted here. Fields of the plugin's XSpace that xplane.proto does not name are kept.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "profile/profile_files.h"
#include "profile/xplane.pb-c.h"

typedef Fgi__Xplane__Space Space;
typedef Fgi__Xplane__Plane Plane;
typedef Fgi__Xplane__Line Line;
typedef Fgi__Xplane__Event Event;
typedef Fgi__Xplane__Stat Stat;

/* The statistics of our planes, by id. */
enum { STEP = 1, IS_ROOT, NUMBER, START, STOP, STATS = STOP };
static const char *const stat_name[] = {NULL,     "step_num",           "_r",
                                        "number", "profile_start_time", "profile_stop_time"};

/* ---- memory: of the plugin's messages, and of ours ------------------------------------------- */

/* An array of `count` pointers to messages of that size, all cleared; NULL: out of memory. */
static void *messages(fgi_arena *arena, size_t count, size_t size)
{
    void **list = fgi_arena_alloc(arena, (count + 1) * sizeof *list);
    char *all = fgi_arena_alloc(arena, (count + 1) * size);
    if (list == NULL || all == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        list[i] = all + i * size;
    return list;
}

/* ---- our planes ------------------------------------------------------------------------------ */

static bool add_stats_table(fgi_arena *arena, Plane *plane)
{
    plane->stat_metadata = messages(arena, STATS, sizeof **plane->stat_metadata);
    Fgi__Xplane__StatMetadata **about = messages(arena, STATS, sizeof **about);
    if (plane->stat_metadata == NULL || about == NULL)
        return false;
    plane->n_stat_metadata = STATS;
    for (int i = 0; i < STATS; i++) {
        fgi__xplane__stat_metadata__init(about[i]);
        about[i]->id = i + 1;
        about[i]->name = fgi_arena_strdup(arena, stat_name[i + 1]);
        if (about[i]->name == NULL)
            return false;
        fgi__xplane__stat_entry__init(plane->stat_metadata[i]);
        plane->stat_metadata[i]->key = i + 1;
        plane->stat_metadata[i]->value = about[i];
    }
    return true;
}

/* The id of a name in the plane; 0: out of memory. A plane has few different names. */
static int64_t name_id(fgi_arena *arena, Plane *plane, const char *name)
{
    size_t i = 0;
    while (i < plane->n_event_metadata && strcmp(plane->event_metadata[i]->value->name, name) != 0)
        i++;
    if (i < plane->n_event_metadata)
        return plane->event_metadata[i]->key;
    Fgi__Xplane__EventEntry **grown =
        fgi_arena_alloc(arena, (plane->n_event_metadata + 1) * sizeof *grown);
    Fgi__Xplane__EventEntry *entry = fgi_arena_alloc(arena, sizeof *entry);
    Fgi__Xplane__EventMetadata *about = fgi_arena_alloc(arena, sizeof *about);
    if (grown == NULL || entry == NULL || about == NULL)
        return 0;
    fgi__xplane__event_entry__init(entry);
    fgi__xplane__event_metadata__init(about);
    about->id = entry->key = (int64_t)i + 1;
    about->name = fgi_arena_strdup(arena, name);
    entry->value = about;
    if (i > 0)
        memcpy(grown, plane->event_metadata, i * sizeof *grown);
    grown[plane->n_event_metadata++] = entry;
    plane->event_metadata = grown;
    return about->name != NULL ? entry->key : 0;
}

static bool set_stat(fgi_arena *arena, Event *event, int id, int64_t value)
{
    if (event->stats == NULL)
        event->stats = messages(arena, 2, sizeof **event->stats);
    if (event->stats == NULL)
        return false;
    Stat *stat = event->stats[event->n_stats++];
    fgi__xplane__stat__init(stat);
    stat->metadata_id = id;
    stat->int64_value = value;
    return true;
}

static bool fill_event(fgi_arena *arena, Plane *plane, const fgi_timeline_span *span,
                       int64_t start_ns, Event *event)
{
    const bool is_step = strcmp(span->category, FGI_PROFILE_STEP) == 0;
    fgi__xplane__event__init(event);
    event->metadata_id = name_id(arena, plane, span->name);
    event->offset_ps = (span->begin_ns - start_ns) * 1000;
    event->duration_ps = (span->end_ns - span->begin_ns) * 1000;
    bool ok = event->metadata_id != 0;
    if (ok && span->number >= 0)
        ok = set_stat(arena, event, is_step ? STEP : NUMBER, span->number);
    return ok && is_step ? set_stat(arena, event, IS_ROOT, 1) : ok;
}

static fg_status fill_line(fgi_arena *arena, const fgi_timeline *timeline,
                           const fgi_timeline_track *track, Plane *plane, Line *line, fg_error *err)
{
    char name[FGI_TIMELINE_NAME + 16];
    fgi_timeline_span *spans = NULL;
    FGI_TRY(fgi_timeline_sort(timeline, track, &spans, err));
    fgi__xplane__line__init(line);
    fgi_timeline_describe(timeline, track, name);
    line->name = fgi_arena_strdup(arena, name);
    line->events = messages(arena, track->span_count, sizeof **line->events);
    bool ok = line->name != NULL && line->events != NULL;
    for (size_t i = 0; ok && i < track->span_count; i++, line->n_events++)
        ok = fill_event(arena, plane, &spans[i], timeline->start_ns, line->events[i]);
    fgi_free(spans);
    return ok ? FG_OK : fgi_no_memory(err);
}

static fg_status fill_plane(fgi_arena *arena, const fgi_timeline *timeline, Plane *plane,
                            fg_error *err)
{
    size_t count = 0;
    for (const fgi_timeline_track *t = timeline->tracks; t != NULL; t = t->next)
        count++;
    plane->lines = messages(arena, count, sizeof **plane->lines);
    if (plane->lines == NULL || !add_stats_table(arena, plane))
        return fgi_no_memory(err);
    for (const fgi_timeline_track *t = timeline->tracks; t != NULL; t = t->next) {
        Line *line = plane->lines[plane->n_lines];
        FGI_TRY(fill_line(arena, timeline, t, plane, line, err));
        line->id = (int64_t)++plane->n_lines;
    }
    return FG_OK;
}

/* When the profile began and ended, by the system's clock. */
static bool fill_environment(fgi_arena *arena, const fgi_timeline *timeline, Plane *plane)
{
    const uint64_t start = (uint64_t)(timeline->start_time * 1e9);
    const uint64_t times[] = {start, start + (uint64_t)(timeline->end_ns - timeline->start_ns)};
    plane->stats = messages(arena, 2, sizeof **plane->stats);
    if (plane->stats == NULL || !add_stats_table(arena, plane))
        return false;
    for (int i = 0; i < 2; i++) {
        fgi__xplane__stat__init(plane->stats[i]);
        plane->stats[i]->metadata_id = START + i;
        plane->stats[i]->uint64_value = times[i];
        plane->n_stats++;
    }
    return true;
}

/* ---- the plugin's planes --------------------------------------------------------------------- */

/* A plugin may count the NUL at the end. */
static fg_status read_plugin(const unsigned char *data, size_t size, ProtobufCAllocator *allocator,
                             Space **out, fg_error *err)
{
    *out = fgi__xplane__space__unpack(allocator, size, data);
    if (*out == NULL && size > 0 && data[size - 1] == '\0')
        *out = fgi__xplane__space__unpack(allocator, size - 1, data);
    if (*out != NULL)
        return FG_OK;
    if (*(const bool *)allocator->allocator_data)
        return fgi_no_memory(err);
    return fgi_fail(err, FG_EFORMAT,
                    "the plugin's profiler returned %zu bytes that are not an XSpace", size);
}

static void shift(Space *space, int64_t start_ns)
{
    for (size_t p = 0; p < space->n_planes; p++)
        for (size_t l = 0; l < space->planes[p]->n_lines; l++)
            if (space->planes[p]->lines[l]->timestamp_ns >= start_ns)
                space->planes[p]->lines[l]->timestamp_ns -= start_ns;
}

static bool has_plane(const Space *space, const char *name)
{
    size_t i = 0;
    while (i < space->n_planes && strcmp(space->planes[i]->name, name) != 0)
        i++;
    return i < space->n_planes;
}

/* ---- operations of the devices --------------------------------------------------------------- */

static const char *stat_name_of(const Plane *plane, int64_t id)
{
    for (size_t i = 0; i < plane->n_stat_metadata; i++)
        if (plane->stat_metadata[i]->key == id && plane->stat_metadata[i]->value != NULL)
            return plane->stat_metadata[i]->value->name;
    return "";
}

/* The profiler of GPUs annotates each kernel with the instruction; NULL: this is none. */
static const char *annotation(const Plane *plane, const Event *event)
{
    for (size_t i = 0; i < event->n_stats; i++) {
        const Stat *stat = event->stats[i];
        if (strcmp(stat_name_of(plane, stat->metadata_id), "hlo_op") == 0)
            return stat->text[0] != '\0' ? stat->text
                                         : stat_name_of(plane, (int64_t)stat->reference);
    }
    return NULL;
}

/* That of TPUs has a line of instructions. */
static const char *instruction_of(const Plane *plane, const Line *line, const Event *event)
{
    if (strcmp(line->name, "XLA Ops") != 0)
        return annotation(plane, event);
    for (size_t i = 0; i < plane->n_event_metadata; i++)
        if (plane->event_metadata[i]->key == event->metadata_id &&
            plane->event_metadata[i]->value != NULL) {
            const Fgi__Xplane__EventMetadata *about = plane->event_metadata[i]->value;
            return about->display_name[0] != '\0' ? about->display_name : about->name;
        }
    return NULL;
}

fg_status fgi_xspace_read(const unsigned char *plugin, size_t size, fgi_xspace_op_fn *take,
                          void *self, fg_error *err)
{
    bool has_failed = false;
    ProtobufCAllocator allocator = {
        .alloc = fgi_alloc_for, .free = fgi_free_for, .allocator_data = &has_failed};
    Space *space;
    FGI_TRY(read_plugin(plugin, size, &allocator, &space, err));
    for (size_t p = 0; p < space->n_planes; p++) {
        const Plane *plane = space->planes[p];
        if (strncmp(plane->name, "/device:", strlen("/device:")) != 0)
            continue;
        for (size_t l = 0; l < plane->n_lines; l++)
            for (size_t e = 0; e < plane->lines[l]->n_events; e++) {
                const Event *event = plane->lines[l]->events[e];
                const char *name = instruction_of(plane, plane->lines[l], event);
                const int64_t begin = plane->lines[l]->timestamp_ns + event->offset_ps / 1000;
                if (name != NULL)
                    take(self, name, begin, begin + event->duration_ps / 1000);
            }
    }
    fgi__xplane__space__free_unpacked(space, &allocator);
    return FG_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static fg_status pack(const Space *space, fgi_buf *out, fg_error *err)
{
    const size_t size = fgi__xplane__space__get_packed_size(space);
    unsigned char *bytes = fgi_alloc(size + 1);
    if (bytes == NULL)
        return fgi_no_memory(err);
    (void)fgi__xplane__space__pack(space, bytes);
    fgi_buf_add(out, bytes, size);
    fgi_free(bytes);
    return fgi_buf_status(out, err);
}

/* plugin: its planes, which come first; may be NULL. */
static fg_status build(fgi_arena *arena, const Space *plugin, const fgi_timeline *timeline,
                       const char *host, fgi_buf *out, fg_error *err)
{
    Space space = plugin != NULL ? *plugin : (Space)FGI__XPLANE__SPACE__INIT;
    char *hostname = fgi_arena_strdup(arena, host);
    Plane own = FGI__XPLANE__PLANE__INIT, environment = FGI__XPLANE__PLANE__INIT;
    const size_t count = space.n_planes;
    Plane **planes = fgi_arena_alloc(arena, (count + 2) * sizeof *planes);
    if (planes == NULL || !fill_environment(arena, timeline, &environment))
        return fgi_no_memory(err);
    FGI_TRY(fill_plane(arena, timeline, &own, err));
    own.name = fgi_arena_strdup(arena, has_plane(&space, "/host:CPU") ? "/device:CUSTOM:fulgurite"
                                                                      : "/host:CPU");
    own.id = (int64_t)count + 1;
    environment.name = fgi_arena_strdup(arena, "Task Environment");
    if (hostname == NULL || own.name == NULL || environment.name == NULL)
        return fgi_no_memory(err);
    environment.id = (int64_t)count + 2;
    if (count > 0)
        memcpy(planes, space.planes, count * sizeof *planes);
    const bool has_environment = has_plane(&space, environment.name);
    space.planes = planes;
    planes[space.n_planes++] = &own;
    if (!has_environment)
        planes[space.n_planes++] = &environment;
    if (space.n_hostnames == 0) {
        space.hostnames = &hostname;
        space.n_hostnames = 1;
    }
    return pack(&space, out, err);
}

fg_status fgi_xspace(const unsigned char *plugin, size_t size, const fgi_timeline *timeline,
                     const char *host, fgi_buf *out, fg_error *err)
{
    bool has_failed = false;
    ProtobufCAllocator allocator = {
        .alloc = fgi_alloc_for, .free = fgi_free_for, .allocator_data = &has_failed};
    fgi_arena arena = {0};
    Space *space = NULL;
    fg_status status = size > 0 ? read_plugin(plugin, size, &allocator, &space, err) : FG_OK;
    if (status == FG_OK && space != NULL)
        shift(space, (int64_t)(timeline->start_time * 1e9));
    if (status == FG_OK)
        status = build(&arena, space, timeline, host, out, err);
    if (space != NULL)
        fgi__xplane__space__free_unpacked(space, &allocator);
    fgi_arena_fini(&arena);
    return status;
}
