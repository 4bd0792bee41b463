/* packer_progress.c - how far a build is: rate, time left, and the line on a terminal.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/print.h"
#include "base/thread.h"
#include "packer/packer.h"
#include "packer/packer_text.h"

void fgi_packer_meter_start(fgi_packer_meter *meter, int64_t start, int64_t total)
{
    meter->start = start;
    meter->total = total;
    meter->begin_ns = meter->shown_ns = fgi_now_ns();
}

bool fgi_packer_meter_report(fgi_packer_meter *m, int64_t done, int64_t bad, uint64_t size_bytes)
{
    if (fgi_packer_signals_caught())
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
    char done[32], total[32], rate[32], left[32] = "", bad[32];
    if (p->remaining_s >= 0 && p->done < p->total)
        (void)fgi_duration_words(round(p->remaining_s), left);
    (void)fgi_snprintf(
        out, size, "%s/%s %s, %s/s, %s%s%s%s", fgi_packer_count((double)p->done, done),
        fgi_packer_count((double)p->total, total), p->unit != NULL ? p->unit : "images",
        fgi_packer_count(p->rate, rate), fgi_bytes_words((double)p->size_bytes),
        *left != '\0' ? ", " : "", left, *left != '\0' ? " left" : "");
    const size_t used = strlen(out);
    if (p->bad > 0)
        (void)fgi_snprintf(out + used, size - used, ", %s bad",
                           fgi_packer_count((double)p->bad, bad));
    return out;
}

/* The current width of the terminal. */
static int columns_of(FILE *out)
{
    struct winsize size = {0};
    return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80;
}

bool fg_pack_progress_draw(void *stream, const fg_pack_progress *progress)
{
    char line[160];
    const bool is_end = progress->done == progress->total;
    const int width = columns_of(stream) - 1;
    (void)fg_pack_progress_text(progress, line, sizeof(line));
    if (isatty(fileno(stream)))
        (void)fgi_fprintf(stream, "\r%-*.*s%s", width, width, line, is_end ? "\n" : "");
    else if (!is_end)
        (void)fgi_fprintf(stream, "%s\n", line);
    (void)fflush(stream);
    return true;
}
