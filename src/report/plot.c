/* plot.c - writes a script for gnuplot, runs it and reads its SVG output. Script and output are
 * files in memory, so that neither process waits for the other.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/plot.h"
#include "base/print.h"
#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_S = 30, LOOK_EVERY_MS = 5, EXIT_NOT_FOUND = 127 };

/* ---- the script ------------------------------------------------------------------------------ */

/* A quoted string of only those characters that have no special meaning to gnuplot. */
static void put_quoted(fgi_buf *out, const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  " .,:;+-=/()%<>&";
    fgi_buf_putc(out, '\'');
    for (const char *at = text; *at != '\0'; at++)
        fgi_buf_putc(out, (char)(strchr(allowed, *at) != NULL ? *at : '?'));
    fgi_buf_putc(out, '\'');
}

static void put_label(fgi_buf *out, const char *what, const char *text)
{
    if (text == NULL)
        return;
    fgi_buf_printf(out, "set %s ", what);
    put_quoted(out, text);
    fgi_buf_puts(out, " noenhanced\n");
}

static void put_settings(fgi_buf *out, const fgi_plot_options *o)
{
    fgi_buf_puts(out, o->is_png ? "set terminal pngcairo size 1120,640 font 'sans-serif,13' "
                                  "fontscale 1.6 linewidth 2\n"
                                : "set terminal svg size 560,320 dynamic font 'sans-serif,13'\n");
    if (!o->is_linear_x)
        fgi_buf_printf(out, "set logscale x %d\n", o->x_base > 0 ? o->x_base : 2);
    fgi_buf_puts(out,
                 "set grid lc rgb '#cccccc'\nset border 3\n"
                 "set tics nomirror\nset key above noenhanced\nset offsets 0,0,graph 0.08,0\n");
    if (o->y2_label != NULL)
        fgi_buf_puts(out, "set border 11\nset y2tics nomirror\nset y2range [0:*]\n");
    if (o->x_base == 10)
        fgi_buf_puts(out, "set format x '%h'\n");
    if (o->is_log_y)
        fgi_buf_puts(out, "set logscale y\n");
    else if (!o->has_marks)
        fgi_buf_puts(out, "set yrange [0:*]\n");
    if (o->limit_name == NULL && !o->has_marks && o->y2_label == NULL)
        fgi_buf_puts(out, "unset key\n");
    fgi_buf_printf(out, "set format y '%s'\n", o->y_format != NULL ? o->y_format : "%g");
    put_label(out, "title", o->title);
    put_label(out, "xlabel", o->x_label);
    put_label(out, "ylabel", o->y_label);
    put_label(out, "y2label", o->y2_label);
}

static void put_data(fgi_buf *out, const fgi_draw_series *series, size_t count)
{
    for (size_t s = 0; s < count; s++) {
        fgi_buf_printf(out, "$s%zu << EOD\n", s);
        for (size_t i = 0; i < series[s].count; i++)
            if (isfinite(series[s].x[i]) && isfinite(series[s].y[i]) && series[s].x[i] > 0)
                fgi_buf_printf(out, "%.9g %.9g\n", series[s].x[i], series[s].y[i]);
        fgi_buf_puts(out, "EOD\n");
    }
}

static void put_script(fgi_buf *out, const fgi_draw_series *series, size_t count,
                       const fgi_plot_options *o)
{
    put_settings(out, o);
    put_data(out, series, count);
    fgi_buf_puts(out, "plot ");
    for (size_t s = 0; s < count; s++) {
        const bool is_second = o->y2_label != NULL && s + 1 == count && s > 0;
        const char *style = o->is_linear_x || (o->has_marks && s == 0) ? "lines lw 2"
                            : o->has_marks                             ? "points pt 7 ps 1.2"
                                           : "linespoints lw 2 pt 7 ps 0.5";
        fgi_buf_printf(out, "%s$s%zu using 1:2 %swith %s title ", s > 0 ? ", " : "", s,
                       is_second ? "axes x1y2 " : "", style);
        put_quoted(out, series[s].name);
    }
    if (o->limit_name != NULL && isfinite(o->limit)) {
        fgi_buf_printf(out, ", %.9g with lines lw 2 dt 2 lc rgb '#c62828' title ", o->limit);
        put_quoted(out, o->limit_name);
    }
    fgi_buf_putc(out, '\n');
}

/* ---- the process ----------------------------------------------------------------------------- */

static int spawn(int script, int picture, pid_t *out_pid)
{
    static char name[] = "gnuplot", no_settings[] = "-d";
    char *const argv[] = {name, no_settings, NULL};
    posix_spawn_file_actions_t actions;
    int failed = posix_spawn_file_actions_init(&actions);
    if (failed != 0)
        return failed;
    failed = posix_spawn_file_actions_adddup2(&actions, script, 0);
    failed = failed != 0 ? failed : posix_spawn_file_actions_adddup2(&actions, picture, 1);
    failed = failed != 0 ? failed
                         : posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    failed = failed != 0 ? failed : posix_spawnp(out_pid, name, &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* The exit status; -1 if the process was killed, also by us after a timeout. */
static int await(pid_t pid)
{
    const double begin = fgi_now_s();
    int state = 0;
    for (;;) {
        const pid_t ended = waitpid(pid, &state, WNOHANG);
        if (ended == pid)
            return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
        if (ended < 0 && errno != EINTR)
            return -1;
        if (fgi_now_s() - begin > MOST_S)
            (void)kill(pid, SIGKILL);
        (void)nanosleep(&(struct timespec){.tv_nsec = LOOK_EVERY_MS * 1000000L}, NULL);
    }
}

static char *read_back(int file, size_t *out_size)
{
    const off_t size = lseek(file, 0, SEEK_END);
    if (size <= 0)
        return NULL;
    char *data = fgi_calloc((size_t)size + 1, 1);
    *out_size = (size_t)size;
    if (data != NULL && pread(file, data, (size_t)size, 0) == (ssize_t)size)
        return data;
    fgi_free(data);
    return NULL;
}

/* Whether gnuplot has drawn everything. */
static bool is_whole(const char *data, size_t size)
{
    static const char png_end[] = "IEND\xae\x42\x60\x82";
    const size_t end = sizeof(png_end) - 1;
    if (data == NULL)
        return false;
    return strstr(data, "</svg>") != NULL ||
           (size > end && memcmp(data + size - end, png_end, end) == 0);
}

/* Runs the script and reads its output. */
static char *run_script(const fgi_buf *text, int script, int picture, size_t *out_size,
                        fg_error *err)
{
    pid_t pid;
    if (script < 0 || picture < 0 || write(script, text->data, text->size) != (ssize_t)text->size ||
        lseek(script, 0, SEEK_SET) != 0) {
        (void)fgi_refuse_errno(err, "create a file in memory for", "gnuplot");
        return NULL;
    }
    const int failed = spawn(script, picture, &pid);
    const int status = failed == 0 ? await(pid) : EXIT_NOT_FOUND;
    char *data = status == 0 ? read_back(picture, out_size) : NULL;
    if (is_whole(data, *out_size))
        return data;
    fgi_free(data);
    if (status == EXIT_NOT_FOUND) {
        (void)fgi_refuse(err, "gnuplot is not installed: expected it in PATH");
        err->status = FG_ENOTFOUND;
    } else {
        (void)fgi_refuse(err, "gnuplot did not draw the picture (status %d)", status);
    }
    return NULL;
}

char *fgi_plot(const fgi_draw_series *series, size_t count, const fgi_plot_options *options,
               size_t *out_size, fg_error *err)
{
    fgi_buf text = {0};
    char *data = NULL;
    *out_size = 0;
    put_script(&text, series, count, options);
    if (fgi_buf_status(&text, err) == FG_OK) {
        const int script = memfd_create("script", MFD_CLOEXEC);
        const int picture = memfd_create("picture", MFD_CLOEXEC);
        data = run_script(&text, script, picture, out_size, err);
        (void)close(script);
        (void)close(picture);
    }
    fgi_buf_fini(&text);
    return data;
}

char *fgi_plot_svg(const fgi_draw_series *series, size_t count, const fgi_plot_options *options,
                   fg_error *err)
{
    size_t size;
    return fgi_plot(series, count, options, &size, err);
}
