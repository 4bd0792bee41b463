/* fulgurite setup NAME: install a PJRT plugin where the library finds it.
 *
 * pip downloads the pinned wheels and verifies their hashes. Its output goes to standard error; the
 * plugin's path is written to standard output.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "setup.h"

static setup_options how;
static const cli_option options[] = {
    CLI_FLAG('a', "again", &how.again, "install even if it is already installed"),
    CLI_FLAG('c', "compile-only", &how.compiler_only,
             "omit NVIDIA's libraries, which are only needed to execute programs"),
    CLI_TEXT(0, "python", &how.python, "PROGRAM",
             "Python interpreter whose pip to use (default: python3)"),
    CLI_TEXT(0, "home", &how.home, "FOLDER",
             "install in FOLDER/plugins (default: the user's data folder)"),
    CLI_END,
};

static int run(const cli_call *call)
{
    fg_error err = {0};
    setup_result result;
    fg_log_set(cli_print_log, NULL);
    if (setup_install(call->args[0], &how, &result, &err) != FG_OK)
        return cli_complain(CLI_FAILED, "setup", "%s", err.message);
    (void)fprintf(stderr, result.was_there ? "it is already installed (--again reinstalls it)\n"
                                           : "installed; fulgurite devices shows what it finds\n");
    (void)puts(result.plugin_path);
    return CLI_DONE;
}

const cli_command cli_setup = {
    .name = "setup",
    .arguments = "cpu|tpu|cuda13",
    .summary = "install a PJRT plugin",
    .details = "The versions are pinned and their hashes are verified. Python with pip is only "
               "needed for the download. libtpu and NVIDIA's libraries have their own licenses, "
               "which are named before downloading.",
    .options = options,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
