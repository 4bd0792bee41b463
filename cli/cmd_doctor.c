/* fulgurite doctor: detects the environment and its accelerators, finds problems for training, and
 * suggests fixes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fulgurite/host.h>

#include "checkup.h"
#include "out_file.h"

static bool as_json, fixes;
static checkup_options what = {.timeout_s = 60};
static fg_host_options machine;
static const cli_option options[] = {
    CLI_FLAG('j', "json", &as_json, "print one JSON object"),
    CLI_FLAG('f', "fix", &fixes, "run COMMAND with corrected environment variables"),
    CLI_FLAG('n', "no-test", &what.skip_test, "do not load plugins or test devices"),
    CLI_FLAG(0, "no-network", &machine.no_network, "do not query Google Cloud's metadata server"),
    CLI_TEXT(0, "accelerator", &what.accelerator, "auto|cpu|cuda|tpu",
             "accelerator to test (default: auto)"),
    CLI_TEXT(0, "devices", &what.devices, "LIST", "devices to test, as in trainer.devices"),
    CLI_NUMBER(0, "timeout", &what.timeout_s, FLOAT, "0<..", "SECONDS",
               "give up on devices that do not answer for this long (default: 60)"),
    CLI_TEXT(0, "data", &what.data, "FOLDER", "measure how fast the files in FOLDER are read"),
    CLI_TEXT(0, "metadata", &machine.metadata, "URL",
             "metadata server to query (default: Google Cloud's)"),
    CLI_TEXT(0, "root", &machine.root, "FOLDER",
             "check a copy of a machine's sys, proc and dev in FOLDER, without testing devices"),
    CLI_END,
};

/* Executes the command with a corrected environment; only returns if that fails. */
static int run_fixed(const fg_host *host, const cli_call *call)
{
    char **words = cli_alloc((size_t)call->count + 1, sizeof(*words));
    for (size_t i = 0; i < fg_host_variable_count(host); i++) {
        const fg_host_variable *v = fg_host_variable_at(host, i);
        (void)fprintf(stderr,
                      v->value != NULL ? "fulgurite doctor: %s=%s\n"
                                       : "fulgurite doctor: %s is unset\n",
                      v->name, v->value);
        /* NOLINTBEGIN(concurrency-mt-unsafe): the only thread */
        if (v->value != NULL)
            (void)setenv(v->name, v->value, 1);
        else
            (void)unsetenv(v->name);
        /* NOLINTEND(concurrency-mt-unsafe) */
    }
    memcpy(words, call->args, (size_t)call->count * sizeof(*words)); /* exec does not modify them */
    (void)fflush(stdout);
    (void)execvp(words[0], words);
    const int number = errno;
    free(words);
    char text[128];
    return cli_complain(number == ENOENT ? 127 : 126, "doctor", "cannot run '%s': %s",
                        call->args[0], strerror_r(number, text, sizeof(text)));
}

void checkup_run(checkup *d, const checkup_options *o)
{
    for (size_t i = 0; i < fg_host_finding_count(d->host); i++)
        d->findings[d->finding_count++] = *fg_host_finding_at(d->host, i);
    if (!o->host_only)
        checkup_probe(d, o->data);
    if (!o->host_only && !o->skip_test)
        checkup_run_test(d, o);
}

static int examine(fg_host *host)
{
    static checkup d;
    fg_error err = {0};
    fgi_buf report = {0};
    d = (checkup){.host = host, .report = as_json ? checkup_print_json : checkup_print};
    what.host_only = machine.root != NULL;
    checkup_run(&d, &what);
    d.report(&report, &d);
    return out_buf("doctor", FG_OK, &report, &err) == CLI_DONE && !checkup_is_wrong(&d)
               ? CLI_DONE
               : CLI_FAILED;
}

static int run(const cli_call *call)
{
    fg_error err = {0};
    if (fixes != (call->count > 0))
        return cli_complain(CLI_USAGE, "doctor",
                            fixes ? "--fix requires a command: --fix -- fulgurite fit run.yaml"
                                  : "a command requires --fix: doctor --fix -- COMMAND");
    fg_host *host = NULL;
    if (fg_host_open(&machine, &host, &err) != FG_OK)
        return cli_complain(CLI_FAILED, "doctor", "%s", err.message);
    const int status = fixes ? run_fixed(host, call) : examine(host);
    fg_host_close(host);
    return status;
}

const cli_command cli_doctor = {
    .name = "doctor",
    .arguments = "[-- COMMAND...]",
    .summary = "check this machine's accelerators and settings, and suggest fixes",
    .details =
        "Reports the environment (Kaggle, Colab, a Google Cloud TPU VM or other), TPUs, "
        "processors, memory, plugins and compile cache. Runs a matrix multiplication on each "
        "device and a sum across all of them. Then checks that the plugin computes correctly, by "
        "comparing the results of small programs with those of plain C. Each finding is a note, a "
        "warning or an error "
        "(`wrong`), with a command that fixes it. The exit status is 1 if something is wrong.\n\n"
        "With --fix, prints no report, unsets stale environment variables, sets missing ones, and "
        "runs COMMAND.",
    .options = options,
    .max_args = 1000,
    .run = run,
};
