/* packer_text.c - a build for people: how far it is, with rate and time left, and its result.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>
#include <math.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/print.h"
#include "base/text.h"
#include "packer/packer.h"
#include "base/duration.h"
#include "base/thread.h"

const char *fgi_pack_built_text(const fg_pack_built *built, const char *out_path, char *out,
                                size_t size)
{
    int used = 0;
    *out = '\0';
    if (built->bad_count > 0 || built->skip_count > 0)
        used = fgi_snprintf(out, size,
                            "%zu bad image%s and %" PRId64 " other file%s are not in the pack: see "
                            "%s.bad.jsonl\n",
                            built->bad_count, fgi_s(built->bad_count), built->skip_count,
                            fgi_s(built->skip_count), out_path);
    if (built->flawed_count > 0 && used >= 0 && (size_t)used < size)
        used += fgi_snprintf(out + used, size - (size_t)used,
                             "%" PRId64 " image%s decoded with warnings\n", built->flawed_count,
                             built->flawed_count == 1 ? " was" : "s were");
    if (*built->reason != '\0' && used >= 0 && (size_t)used < size)
        used += fgi_snprintf(out + used, size - (size_t)used, "codec %s: %s\n",
                             fgi_packer_codec_name(built->codec), built->reason);
    if (built->encoded_count > 0 && used >= 0 && (size_t)used < size)
        used += fgi_snprintf(
            out + used, size - (size_t)used,
            "%" PRId64 " of %" PRId64 " image%s %s encoded with the quality of "
            "the pack: codec %s keeps only JPEGs that are not resized, rotated by "
            "EXIF or CMYK%s\n",
            built->encoded_count, built->sample_count, fgi_s(built->sample_count),
            built->encoded_count == 1 ? "was" : "were", fgi_packer_codec_name(built->codec),
            built->codec == FG_PACK_CHOICE_DCT ? ", and have the chroma sampling of the pack "
                                                 "(4:2:0, unless all images share a different one)"
                                               : "");
    if (built->is_set && used >= 0 && (size_t)used < size)
        (void)fgi_snprintf(out + used, size - (size_t)used,
                           "%s is a set of files: %.*s-00000.pack and so on\n", out_path,
                           (int)strlen(out_path) - 5, out_path);
    return out;
}

void fg_pack_built_fini(fg_pack_built *built)
{
    if (built == NULL)
        return;
    for (size_t i = 0; i < built->bad_count; i++) {
        fgi_free((void *)built->bad[i].name);
        fgi_free((void *)built->bad[i].reason);
    }
    fgi_free((void *)built->bad);
    *built = (fg_pack_built){0};
}

/* ---- progress -------------------------------------------------------------------------------- */

static void on_signal(int number) { (void)fgi_signal_set_catch(&fgi_packer_signals, number); }

fgi_signal_set fgi_packer_signals = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .at = {{SIGINT, on_signal}, {SIGTERM, on_signal}, {SIGHUP, on_signal}}};

void fgi_packer_meter_start(fgi_packer_meter *meter, int64_t start, int64_t total)
{
    meter->start = start;
    meter->total = total;
    meter->begin_ns = meter->shown_ns = fgi_now_ns();
}

bool fgi_packer_meter_report(fgi_packer_meter *m, int64_t done, int64_t bad, uint64_t size_bytes)
{
    if (atomic_load(&fgi_packer_signals.caught) != 0)
        return false;
    if (m->progress == NULL)
        return true;
    const int64_t now = fgi_now_ns();
    fg_pack_progress p = {.done = done,
                          .total = m->total,
                          .bad = bad,
                          .size_bytes = size_bytes,
                          .elapsed_s = (double)(now - m->begin_ns) * 1e-9,
                          .remaining_s = -1,
                          .unit = m->unit};
    if ((double)(now - m->shown_ns) * 1e-9 < m->every_s && done < p.total)
        return true;
    m->shown_ns = now;
    if (p.elapsed_s > 0 && done > m->start) {
        p.rate = (double)(done - m->start) / p.elapsed_s;
        p.remaining_s = (double)(p.total - done) / p.rate;
    }
    return m->progress(m->self, &p);
}

/* ---- text ------------------------------------------------------------------------------------ */

const char *fg_pack_progress_text(const fg_pack_progress *p, char *out, size_t size)
{
    char left[32] = "";
    if (p->remaining_s >= 0 && p->done < p->total)
        (void)fgi_duration_words(round(p->remaining_s), left);
    (void)fgi_snprintf(out, size, "%s/%s %s, %s/s, %s%s%s%s", fgi_count_words((double)p->done),
                       fgi_count_words((double)p->total), p->unit != NULL ? p->unit : "images",
                       fgi_count_words(p->rate), fgi_bytes_words((double)p->size_bytes),
                       *left != '\0' ? ", " : "", left, *left != '\0' ? " left" : "");
    const size_t used = strlen(out);
    if (p->bad > 0)
        (void)fgi_snprintf(out + used, size - used, ", %s bad", fgi_count_words((double)p->bad));
    return out;
}

bool fg_pack_progress_draw(void *stream, const fg_pack_progress *progress)
{
    char line[160];
    const bool is_end = progress->done == progress->total;
    const int width = (int)fgi_terminal_columns(stream, 80) - 1;
    (void)fg_pack_progress_text(progress, line, sizeof(line));
    if (isatty(fileno(stream)))
        (void)fgi_fprintf(stream, "\r%-*.*s%s", width, width, line, is_end ? "\n" : "");
    else if (!is_end)
        (void)fgi_fprintf(stream, "%s\n", line);
    (void)fflush(stream);
    return true;
}
