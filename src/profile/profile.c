/* profile.c - starts and stops a profile, and writes its files.
 *
 * The plugin's profiler and the timeline of this process run at the same time. All files are
 * written at the end, so a process that is killed during a profile leaves none.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <fulgurite/profile.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/print.h"
#include "base/reserved.h"
#include "pjrt/pjrt.h"
#include "profile/profile_files.h"

struct fg_profile {
    char *folder, *name;
    fgi_profiler *profiler; /* of the plugin, or NULL */
    fg_profile_info info;
};

bool fg_client_has_profiler(const fg_client *client) { return fgi_client_has_profiler(client); }

int64_t fg_profile_begin(void) { return fgi_timeline_begin(); }

void fg_profile_end(int64_t begin, const char *name) { fgi_timeline_end(begin, "user", name, -1); }

/* ---- starting -------------------------------------------------------------------------------- */

static void set_note(fg_profile *p, const char *note)
{
    (void)fgi_snprintf(p->info.note, sizeof p->info.note, "%s", note);
}

/* Fails only when out of memory. */
static fg_status start_plugin(fg_profile *p, fg_client *client, fg_error *err)
{
    fg_error why = {0};
    const fg_status status = fgi_profiler_start(client, &p->profiler, &why);
    if (status == FG_ENOMEM)
        return fgi_no_memory(err);
    if (status != FG_OK)
        set_note(p, why.message);
    return FG_OK;
}

static fg_status check_options(const fg_profile_options *o, fg_error *err)
{
    FGI_TRY_RESERVED(fg_profile_options, o, err);
    if (o->folder == NULL || o->folder[0] == '\0')
        return fgi_fail(err, FG_EINVAL, "profile: expected a folder");
    if (o->name != NULL && (o->name[0] == '\0' || o->name[0] == '.' || strchr(o->name, '/')))
        return fgi_fail(err, FG_EINVAL, "profile: expected a file name as name, got '%s'", o->name);
    return FG_OK;
}

static void free_profile(fg_profile *p)
{
    fgi_profiler_destroy(p->profiler);
    fgi_free(p->folder);
    fgi_free(p->name);
    fgi_free(p);
}

/* The timeline is started first: no time of the plugin is before its start. */
static fg_status start(fg_profile *p, fg_client *client, const fg_profile_options *o, fg_error *err)
{
    p->folder = fgi_strdup(o->folder);
    p->name = fgi_strdup(o->name != NULL ? o->name : "profile");
    if (p->folder == NULL || p->name == NULL)
        return fgi_no_memory(err);
    FGI_TRY(fgi_timeline_start(err));
    if (o->no_device || client == NULL)
        set_note(p, "the plugin's profiler was not requested");
    else if (start_plugin(p, client, err) != FG_OK) {
        fgi_timeline nothing;
        fgi_timeline_stop(&nothing);
        fgi_timeline_fini(&nothing);
        return FG_ENOMEM;
    }
    return FG_OK;
}

fg_status fg_profile_start(fg_client *client, const fg_profile_options *options, fg_profile **out,
                           fg_error *err)
{
    *out = NULL;
    FGI_TRY(check_options(options, err));
    fg_profile *p = fgi_calloc(1, sizeof *p);
    if (p == NULL)
        return fgi_no_memory(err);
    const fg_status status = start(p, client, options, err);
    if (status == FG_OK)
        *out = p;
    else
        free_profile(p);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The name of this host, as a file name. */
static void put_host(char *out, size_t size)
{
    if (gethostname(out, size) != 0)
        out[0] = '\0';
    out[size - 1] = '\0';
    for (char *c = out; *c != '\0'; c++)
        if (*c == '/' || (unsigned char)*c <= ' ' || (unsigned char)*c >= 0x7f)
            *c = '_';
    if (out[0] == '\0' || out[0] == '.')
        (void)fgi_snprintf(out, size, "host");
}

/* folder/name, and its path in out_path. */
static fg_status write_file(const char *folder, const char *name, const fgi_buf *data,
                            char *out_path, size_t size, fg_error *err)
{
    char *path = fgi_path_join(folder, name);
    if (path == NULL)
        return fgi_no_memory(err);
    (void)fgi_snprintf(out_path, size, "%s", path);
    fg_status status = fgi_folder_make(folder, err);
    if (status == FG_OK)
        status = fgi_file_write_atomic(path, data->data, data->size, err);
    fgi_free(path);
    return status;
}

static fg_status write_trace(fg_profile *p, const fgi_timeline *timeline, fg_error *err)
{
    fgi_buf text = {0};
    fg_status status = fgi_chrome_trace(timeline, &text, err);
    if (status == FG_OK)
        status = write_file(p->folder, "host.trace.json", &text, p->info.trace,
                            sizeof p->info.trace, err);
    fgi_buf_fini(&text);
    return status;
}

/* The XSpace; without the plugin's part if that cannot be read. */
static fg_status make_xspace(fg_profile *p, const unsigned char *data, size_t size,
                             const fgi_timeline *timeline, const char *host, fgi_buf *out,
                             fg_error *err)
{
    fg_error why = {0};
    fg_status status = fgi_xspace(data, size, timeline, host, out, &why);
    if (status == FG_EFORMAT) {
        set_note(p, why.message);
        p->info.has_device = false;
        return fgi_xspace(NULL, 0, timeline, host, out, err);
    }
    if (status != FG_OK && err != NULL)
        *err = why;
    return status;
}

static fg_status write_xspace(fg_profile *p, const unsigned char *data, size_t size,
                              const fgi_timeline *timeline, fg_error *err)
{
    char host[256], name[sizeof host + 16];
    fgi_buf bytes = {0}, folder = {0};
    put_host(host, sizeof host);
    (void)fgi_snprintf(name, sizeof name, "%s.xplane.pb", host);
    fgi_buf_printf(&folder, "%s/plugins/profile/%s", p->folder, p->name);
    fg_status status = fgi_buf_status(&folder, err);
    if (status == FG_OK)
        status = make_xspace(p, data, size, timeline, host, &bytes, err);
    if (status == FG_OK)
        status = write_file(folder.data, name, &bytes, p->info.xspace, sizeof p->info.xspace, err);
    fgi_buf_fini(&bytes);
    fgi_buf_fini(&folder);
    return status;
}

static void stop_plugin(fg_profile *p, unsigned char **out_data, size_t *out_size)
{
    fg_error why = {0};
    if (p->profiler == NULL)
        return;
    p->info.has_device = fgi_profiler_stop(p->profiler, out_data, out_size, &why) == FG_OK;
    if (!p->info.has_device)
        set_note(p, why.message);
}

fg_status fg_profile_stop(fg_profile *take_profile, fg_profile_info *out_info, fg_error *err)
{
    fg_profile *p = take_profile;
    fgi_timeline timeline;
    unsigned char *data = NULL;
    size_t size = 0;
    fgi_timeline_stop(&timeline);
    p->info.seconds = (double)(timeline.end_ns - timeline.start_ns) * 1e-9;
    p->info.spans = timeline.span_count;
    p->info.lost = timeline.lost;
    stop_plugin(p, &data, &size);
    fg_status status = write_trace(p, &timeline, err);
    if (status == FG_OK)
        status = write_xspace(p, data, size, &timeline, err);
    if (out_info != NULL)
        *out_info = p->info;
    fgi_free(data);
    fgi_timeline_fini(&timeline);
    free_profile(p);
    return status;
}

void fg_profile_drop(fg_profile *take_profile)
{
    fgi_timeline timeline;
    if (take_profile == NULL)
        return;
    fgi_timeline_stop(&timeline);
    fgi_timeline_fini(&timeline);
    free_profile(take_profile);
}
