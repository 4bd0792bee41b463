/* plan_machines.c - the compilers of the machines given to `fulgurite plan`: on a terminal, offers
 * to download those that are not installed.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fulgurite/setup.h>

#include "plan.h"

enum { PLACES_MAX = 64 };

/* A plugin that compiles for machines that are not present. */
static const struct compiler {
    const char *accelerator, *what, *setup, *command;
    bool compiler_only;
} compilers[] = {
    {"tpu", "The compiler for TPUs (libtpu)", "tpu", "fulgurite setup tpu", false},
    {"cuda", "The compiler for NVIDIA GPUs (XLA's CUDA plugin)", "cuda13",
     "fulgurite setup --compile-only cuda13", true},
};

/* Whether a plugin for the accelerator is installed. A plugin given by its path is used even if it
 * does not exist, which is reported separately. */
static bool is_installed(const char *accelerator)
{
    static fg_plugin_candidate places[PLACES_MAX];
    fg_error err;
    size_t count = 0;
    if (fg_plugin_search(accelerator, NULL, places, PLACES_MAX, &count, &err) != FG_OK)
        return true; /* opening it reports the error */
    for (size_t i = 0; i < count && i < PLACES_MAX; i++)
        if (places[i].exists || strcmp(places[i].source, "FULGURITE_PLUGIN") == 0)
            return true;
    return false;
}

/* Asks on the terminal; anything other than y is no. */
static bool is_needed(const struct compiler *c)
{
    char answer[64] = "";
    (void)fprintf(stderr, "%s is not installed; `%s` downloads it.\nDownload it now? [y/N] ",
                  c->what, c->command);
    (void)fflush(stderr);
    if (fgets(answer, sizeof answer, stdin) == NULL)
        (void)fputc('\n', stderr); /* after Ctrl-D the cursor is still on the question's line */
    return answer[0] == 'y' || answer[0] == 'Y';
}

static void print_line(void *self, fg_log_level level, const char *line)
{
    (void)self;
    if (level > FG_LOG_DEBUG)
        (void)fprintf(stderr, "%s\n", line);
}

static void offer(const struct compiler *c)
{
    fg_error err = {0};
    if (!is_needed(c))
        return;
    fg_log_set(print_line, NULL);
    if (fg_setup_install(c->setup, &(fg_setup_options){.compiler_only = c->compiler_only}, NULL,
                         &err) != FG_OK)
        (void)fg_error_print(&err, c->command);
    fg_log_set(NULL, NULL);
}

bool plan_offer_compilers(const char *machines, fg_error *err)
{
    enum { COUNT = sizeof compilers / sizeof compilers[0], NAMES_MAX = 64 };
    int count = 0;
    const bool is_terminal = isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
    bool is_good = true, has_offered[COUNT] = {false};
    fg_topology_info info;
    char *names = cli_strdup(machines), *rest = names, *name;
    while (is_good && (name = strsep(&rest, ",")) != NULL) {
        if (*name == '\0' || ++count > NAMES_MAX)
            is_good = cli_fail(err, "expected 1 to %d names separated by commas", NAMES_MAX);
        else
            is_good = fg_topology_describe(name, &info, err) == FG_OK;
        for (size_t i = 0; is_good && is_terminal && i < COUNT; i++)
            if (strcmp(info.accelerator, compilers[i].accelerator) == 0 && !has_offered[i]) {
                has_offered[i] = true;
                if (!is_installed(compilers[i].accelerator))
                    offer(&compilers[i]);
            }
    }
    free(names);
    return is_good;
}
