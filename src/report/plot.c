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

static void put_script(fgi_buf *out, const fgi_draw_series *series, size_t count,
                       const fgi_plot_options *o)
{
    fgi_buf_puts(out,
                 "set terminal svg size 560,320 dynamic font 'sans-serif,13'\n"
                 "set logscale x 2\nset grid lc rgb '#cccccc'\nset border 3\n"
                 "set tics nomirror\nset key above noenhanced\nset offsets 0,0,graph 0.08,0\n");
    fgi_buf_puts(out, o->is_log_y ? "set logscale y\n" : "set yrange [0:*]\n");
    if (o->limit_name == NULL)
        fgi_buf_puts(out, "unset key\n");
    fgi_buf_printf(out, "set format y '%s'\n", o->y_format != NULL ? o->y_format : "%g");
    put_label(out, "title", o->title);
    put_label(out, "xlabel", o->x_label);
    for (size_t s = 0; s < count; s++) {
        fgi_buf_printf(out, "$s%zu << EOD\n", s);
        for (size_t i = 0; i < series[s].count; i++)
            if (isfinite(series[s].x[i]) && isfinite(series[s].y[i]) && series[s].x[i] > 0)
                fgi_buf_printf(out, "%.9g %.9g\n", series[s].x[i], series[s].y[i]);
        fgi_buf_puts(out, "EOD\n");
    }
    fgi_buf_puts(out, "plot ");
    for (size_t s = 0; s < count; s++) {
        fgi_buf_printf(out, "%s$s%zu using 1:2 with linespoints lw 2 pt 7 ps 0.5 title ",
                       s > 0 ? ", " : "", s);
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

static char *read_back(int file)
{
    const off_t size = lseek(file, 0, SEEK_END);
    if (size <= 0)
        return NULL;
    char *text = fgi_calloc((size_t)size + 1, 1);
    if (text != NULL && pread(file, text, (size_t)size, 0) == (ssize_t)size)
        return text;
    fgi_free(text);
    return NULL;
}

/* Runs the script and reads its output. */
static char *run_script(const char *text, size_t size, int script, int picture, fg_error *err)
{
    pid_t pid;
    if (script < 0 || picture < 0 || write(script, text, size) != (ssize_t)size ||
        lseek(script, 0, SEEK_SET) != 0) {
        (void)fgi_refuse_errno(err, "create a file in memory for", "gnuplot");
        return NULL;
    }
    const int failed = spawn(script, picture, &pid);
    const int status = failed == 0 ? await(pid) : EXIT_NOT_FOUND;
    char *svg = status == 0 ? read_back(picture) : NULL;
    if (svg != NULL && strstr(svg, "</svg>") != NULL)
        return svg;
    fgi_free(svg);
    if (status == EXIT_NOT_FOUND) {
        (void)fgi_refuse(err, "gnuplot is not installed: expected it in PATH");
        err->status = FG_ENOTFOUND;
    } else {
        (void)fgi_refuse(err, "gnuplot did not draw the picture (status %d)", status);
    }
    return NULL;
}

char *fgi_plot_svg(const fgi_draw_series *series, size_t count, const fgi_plot_options *options,
                   fg_error *err)
{
    fgi_buf text = {0};
    char *svg = NULL;
    put_script(&text, series, count, options);
    if (fgi_buf_status(&text, err) == FG_OK) {
        const int script = memfd_create("script", MFD_CLOEXEC);
        const int picture = memfd_create("picture", MFD_CLOEXEC);
        svg = run_script(text.data, text.size, script, picture, err);
        (void)close(script);
        (void)close(picture);
    }
    fgi_buf_fini(&text);
    return svg;
}
