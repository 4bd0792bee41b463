/* setup.c - `fulgurite setup NAME`: runs pip to download the pinned wheels of a plugin to a
 * temporary folder, checks the result, and renames the folder to its final name. tools/fetch-plugin
 * does the same before the library is built.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fulgurite/device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/alloc.h"
#include "base/error.h"
#include "pjrt/plugin_file.h"
#include "child.h"
#include "setup.h"

enum { PINS_LIMIT = 1 << 16, NAME_LIMIT = 32 };

/* Paths of one installation. */
typedef struct job {
    const char *name;
    const char *python;
    char pins[FGI_PATH_MAX];           /* the list of pinned versions */
    char plugins[FGI_PATH_MAX + 16];   /* HOME/plugins */
    char folder[FGI_PATH_MAX + 64];    /* HOME/plugins/NAME */
    char work[FGI_PATH_MAX + 64];      /* HOME/plugins/.NAME.XXXXXX, "" if there is none */
    char work_pins[FGI_PATH_MAX + 80]; /* the list for pip: pins.txt in that folder */
    char *pins_text;
    size_t pins_size;     /* checksum of the complete list */
    size_t compiler_size; /* checksum of the part needed to compile, without what is needed to
                             execute */
    bool compiler_only;
} job;

/* ---- pinned versions ------------------------------------------------------------------------- */

static bool is_readable(const char *path) { return access(path, R_OK) == 0; }

/* Searches NAME.txt: in the folder from the environment; next to the library (installed under a
 * prefix, or in the build folder of a source tree); in the standard folder of distributions. */
static fg_status find_pins(job *j, fg_error *err)
{
    static const char *const beside[] = {"../share/fulgurite", "../../share/fulgurite", "../share"};
    static const char *const usual[] = {"/usr/local/share/fulgurite", "/usr/share/fulgurite"};
    char own[FGI_PATH_MAX];
    const char *chosen = getenv("FULGURITE_SHARE");
    const size_t room = sizeof j->pins;
    if (chosen && *chosen) {
        snprintf(j->pins, room, "%.900s/plugins/%s.txt", chosen, j->name);
        if (is_readable(j->pins))
            return FG_OK;
        return fgi_fail(err, FG_ENOTFOUND, "no plugin '%s': '%s' does not exist", j->name, j->pins);
    }
    for (int i = 0; i < 3 && fgi_own_folder(own); i++) {
        snprintf(j->pins, room, "%.900s/%s/plugins/%s.txt", own, beside[i], j->name);
        if (is_readable(j->pins))
            return FG_OK;
    }
    for (int i = 0; i < 2; i++) {
        snprintf(j->pins, room, "%s/plugins/%s.txt", usual[i], j->name);
        if (is_readable(j->pins))
            return FG_OK;
    }
    return fgi_fail(err, FG_ENOTFOUND,
                    "no plugin '%s': its list of versions, plugins/%s.txt, is not installed; set "
                    "FULGURITE_SHARE to the folder share/fulgurite of the installation",
                    j->name, j->name);
}

/* The name becomes part of paths. */
static fg_status check_name(const char *name, fg_error *err)
{
    const size_t size = name ? strlen(name) : 0;
    if (size == 0 || size > NAME_LIMIT ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789") != size || !fgi_setup_file(name))
        return fgi_fail(err, FG_ENOTFOUND,
                        "unknown plugin '%.32s': expected cpu, tpu, cuda12 or cuda13",
                        name ? name : "");
    return FG_OK;
}

static fg_status prepare(job *j, const setup_options *opt, fg_error *err)
{
    char home[FGI_PATH_MAX];
    FGI_TRY(check_name(j->name, err));
    FGI_TRY(find_pins(j, err));
    if (opt->home && *opt->home)
        snprintf(home, sizeof home, "%s", opt->home);
    else if (!fgi_home_folder(home))
        return fgi_fail(err, FG_ENOTFOUND, "no home folder: set HOME or FULGURITE_HOME");
    if (strlen(home) > FGI_PATH_MAX - 128 || (opt->home && strlen(opt->home) >= sizeof home))
        return fgi_fail(err, FG_EINVAL, "the path of the home folder is too long");
    snprintf(j->plugins, sizeof j->plugins, "%s/plugins", home);
    snprintf(j->folder, sizeof j->folder, "%s/plugins/%s", home, j->name);
    j->python = opt->python && *opt->python ? opt->python : "python3";
    j->compiler_only = opt->compiler_only;
    FGI_TRY(fgi_file_read(j->pins, PINS_LIMIT, &j->pins_text, &j->pins_size, err));
    const char *to_run = memmem(j->pins_text, j->pins_size, "\n# To run", 9);
    j->compiler_size = to_run ? (size_t)(to_run + 1 - j->pins_text) : j->pins_size;
    return FG_OK;
}

/* Whether the installed plugin was made from the same list. */
static bool is_installed(const job *j, const char *plugin)
{
    char path[FGI_PATH_MAX + 96];
    char *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/pins.txt", j->folder);
    const bool same = is_readable(path) && is_readable(plugin) &&
                      fgi_file_read(path, PINS_LIMIT, &text, &size, NULL) == FG_OK &&
                      (size == j->pins_size || (j->compiler_only && size == j->compiler_size)) &&
                      memcmp(text, j->pins_text, size) == 0;
    fgi_free(text);
    return same;
}

/* Logs the license notes of the list before anything is downloaded. */
static void tell_license(const job *j)
{
    const char *at = j->pins_text;
    const char *end = at + (j->compiler_only ? j->compiler_size : j->pins_size);
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end ? line_end : end;
        if (at[0] == '#' && line_end - at > 2)
            fgi_log(FG_LOG_INFO, "%.*s", (int)(line_end - at - 2), at + 2);
        at = line_end + 1;
    }
}

/* ---- pip ------------------------------------------------------------------------------------- */

/* Logs the output of pip line by line, and keeps the last line for a message. */
typedef struct words {
    char line[512];
    char last[300]; /* the last line that contains "error", or else the last line */
    bool is_error, lacks_pip;
} words;

static void end_line(words *w)
{
    if (!w->line[0])
        return;
    fgi_log(FG_LOG_INFO, "pip: %s", w->line);
    const bool is_error = strncmp(w->line, "ERROR", 5) == 0;
    if (strstr(w->line, "No module named pip"))
        w->lacks_pip = true;
    if (is_error || !w->is_error)
        snprintf(w->last, sizeof w->last, "%.299s", w->line);
    w->is_error = w->is_error || is_error;
    w->line[0] = '\0';
}

/* Until the end of the output; a progress bar's carriage returns end lines, too. */
static void hear(words *w, int fd)
{
    FILE *in = fdopen(dup(fd), "r");
    int c;
    size_t used = 0;
    while (in != NULL && (c = getc(in)) != EOF) {
        if (c == '\n' || c == '\r') {
            end_line(w);
            used = 0;
        } else if (used + 1 < sizeof w->line) {
            w->line[used++] = (char)c;
            w->line[used] = '\0';
        }
    }
    end_line(w);
    if (in != NULL)
        (void)fclose(in);
}

static fg_status needs_pip(const job *j, const char *what, fg_error *err)
{
    return fgi_fail(err, FG_ENOTFOUND,
                    "%s: pip is required to download the plugin '%s'. On Debian or Ubuntu: apt-get "
                    "install python3-pip\nor copy the folder '%s' from another machine, or set "
                    "FULGURITE_PLUGIN to the path of a plugin (.so)",
                    what, j->name, j->folder);
}

/* libtpu's wheels for different Pythons differ only in a part that is not used here: one works for
 * all. */
static const char *const any_python[] = {
    "--python-version",     "3.11", "--implementation", "cp", "--abi", "cp311", "--platform",
    "manylinux_2_31_x86_64"};
enum { ANY_PYTHON = sizeof any_python / sizeof any_python[0] };

static fg_status run_pip(const job *j, fg_error *err)
{
    /* exec takes its arguments as char *, but does not modify them */
    const char *argv[ANY_PYTHON + 16] = {j->python,
                                         "-m",
                                         "pip",
                                         "install",
                                         "--disable-pip-version-check",
                                         "--no-input",
                                         "--progress-bar=off",
                                         "--no-deps",
                                         "--require-hashes",
                                         "--only-binary",
                                         ":all:",
                                         "--target",
                                         j->work,
                                         "-r",
                                         j->work_pins};
    for (int i = 0; i < ANY_PYTHON && strcmp(j->name, "tpu") == 0; i++)
        argv[15 + i] = any_python[i];
    char *words_of_it[sizeof argv / sizeof argv[0]];
    memcpy(words_of_it, argv, sizeof argv);
    child pip;
    if (!child_start(j->python, words_of_it, true, &pip))
        return errno == ENOENT || errno == EACCES ? needs_pip(j, "python3 was not found", err)
                                                  : fgi_fail_errno(err, "start", j->python);
    words said = {.line = ""};
    hear(&said, pip.from);
    const int state = child_end(&pip);
    if (WIFEXITED(state) && WEXITSTATUS(state) == 127 && !said.last[0])
        return needs_pip(j, "python3 was not found", err);
    if (said.lacks_pip)
        return needs_pip(j, "python3 has no pip", err);
    if (!WIFEXITED(state) || WEXITSTATUS(state) != 0)
        return fgi_fail(err, FG_EPLUGIN, "pip could not install the plugin '%s': %s", j->name,
                        said.last[0] ? said.last : "no output from pip");
    return FG_OK;
}

/* ---- installing ------------------------------------------------------------------------------ */

static fg_status make_work_folder(job *j, fg_error *err)
{
    FGI_TRY(fgi_folder_make(j->plugins, err));
    snprintf(j->work, sizeof j->work, "%s/.%s.XXXXXX", j->plugins, j->name);
    if (!mkdtemp(j->work)) {
        j->work[0] = '\0';
        return fgi_fail_errno(err, "create a folder in", j->plugins);
    }
    snprintf(j->work_pins, sizeof j->work_pins, "%s/pins.txt", j->work);
    return fgi_file_write_atomic(j->work_pins, j->pins_text,
                                 j->compiler_only ? j->compiler_size : j->pins_size, err);
}

/* Checks whether pip has downloaded a plugin. */
static fg_status finish_work_folder(const job *j, fg_error *err)
{
    char path[FGI_PATH_MAX + 192];
    snprintf(path, sizeof path, "%s/%s", j->work, fgi_setup_file(j->name));
    FGI_TRY_CTX(fgi_plugin_check_file(path, err), err, "after installing '%s' with pip", j->name);
    if (chmod(j->work, 0755) != 0) /* mkdtemp creates a folder that only its owner can access */
        return fgi_fail_errno(err, "open to others", j->work);
    return FG_OK;
}

/* The new folder gets the name of the old one, which is removed last. */
static fg_status put_in_place(job *j, fg_error *err)
{
    char old[sizeof j->work + 8];
    snprintf(old, sizeof old, "%s.old", j->work);
    const bool had_one = rename(j->folder, old) == 0;
    if (rename(j->work, j->folder) != 0) {
        const fg_status status = fgi_fail_errno(err, "put in place", j->folder);
        if (had_one)
            (void)rename(old, j->folder);
        return status;
    }
    j->work[0] = '\0';
    FGI_TRY(fgi_folder_sync(j->plugins, err));
    return had_one ? fgi_folder_remove(old, err) : FG_OK;
}

fg_status setup_install(const char *name, const setup_options *opt, setup_result *out,
                        fg_error *err)
{
    setup_result result = {.was_there = false};
    fg_status status;
    job *j = fgi_calloc(1, sizeof *j);
    if (!j)
        return fgi_no_memory(err);
    j->name = name;
    FGI_DONE(prepare(j, opt, err));
    snprintf(result.plugin_path, sizeof result.plugin_path, "%.960s/%s", j->folder,
             fgi_setup_file(name));
    result.was_there = !opt->again && is_installed(j, result.plugin_path);
    if (result.was_there)
        goto done;
    FGI_DONE(make_work_folder(j, err));
    tell_license(j);
    FGI_DONE(run_pip(j, err));
    FGI_DONE(finish_work_folder(j, err));
    FGI_DONE(put_in_place(j, err));
done:
    if (j->work[0])
        (void)fgi_folder_remove(j->work, NULL);
    fgi_free(j->pins_text);
    fgi_free(j);
    if (out)
        *out = status == FG_OK ? result : (setup_result){.was_there = false};
    return status;
}

/* ---- compilers ------------------------------------------------------------------------------- */

enum { PLACES_MAX = 64, NAMES_MAX = 64 };

/* Plugins that compile for machines that are not present. */
static const setup_missing compilers[SETUP_COMPILERS] = {
    {.accelerator = "tpu",
     .what = "The compiler for TPUs (libtpu)",
     .name = "tpu",
     .command = "fulgurite setup tpu"},
    {.accelerator = "cuda",
     .what = "The compiler for NVIDIA GPUs (XLA's CUDA plugin)",
     .name = "cuda13",
     .command = "fulgurite setup --compile-only cuda13",
     .compiler_only = true},
};

/* Whether a plugin for the accelerator is installed. A plugin given by its path is used even if it
 * does not exist, which opening it reports, as it does errors of the search. */
static bool is_available(const char *accelerator)
{
    fg_error ignored;
    size_t count = 0;
    static fg_plugin_candidate places[PLACES_MAX];
    const fg_client_options options = {.accelerator = accelerator};
    bool found = fg_plugin_search(&options, places, PLACES_MAX, &count, &ignored) != FG_OK;
    for (size_t i = 0; i < count && i < PLACES_MAX; i++)
        found = found || places[i].exists || strcmp(places[i].source, "FULGURITE_PLUGIN") == 0;
    return found;
}

/* Sets needs[i] for the compiler of each machine in "a,b". */
static fg_status find_needed(const char *machines, bool needs[SETUP_COMPILERS], fg_error *err)
{
    char *names = cli_strdup(machines), *rest = names;
    fg_status status = FG_OK;
    for (int count = 1; status == FG_OK && rest != NULL; count++) {
        fg_topology_info info = {.accelerator = ""};
        const char *name = strsep(&rest, ",");
        status =
            *name == '\0' || count > NAMES_MAX
                ? fgi_fail(err, FG_EINVAL, "expected 1 to %d names separated by commas", NAMES_MAX)
                : fg_topology_describe(name, &info, err);
        for (size_t i = 0; status == FG_OK && i < SETUP_COMPILERS; i++)
            needs[i] |= strcmp(info.accelerator, compilers[i].accelerator) == 0;
    }
    free(names);
    return status;
}

fg_status setup_find_missing(const char *machines, const setup_missing *out[SETUP_COMPILERS],
                             size_t *out_count, fg_error *err)
{
    bool needs[SETUP_COMPILERS] = {false};
    *out_count = 0;
    FGI_TRY(find_needed(machines, needs, err));
    for (size_t i = 0; i < SETUP_COMPILERS; i++)
        if (needs[i] && !is_available(compilers[i].accelerator))
            out[(*out_count)++] = &compilers[i];
    return FG_OK;
}
