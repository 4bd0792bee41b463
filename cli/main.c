/* main.c - finds the command, parses its options and runs it.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* Whether the reader of standard output has closed it, as in "fulgurite fit | head". */
static bool is_unread(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

/* A run whose results could not be written has failed, unless the reader has closed the pipe. */
static int finish(int status)
{
    if ((fflush(stdout) != 0 || ferror(stdout) != 0) && !is_unread())
        return cli_complain(CLI_FAILED, NULL, "cannot write to standard output");
    return status;
}

int main(int argc, char **argv)
{
    cli_call call;
    int status;
    (void)signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit of file sizes fails with EFBIG */
    if (argc < 2) {
        cli_print_help(stderr, NULL);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        cli_print_help(stdout, NULL);
        return finish(CLI_DONE);
    }
    if (strcmp(argv[1], "--version") == 0) {
        (void)printf("fulgurite %s\n", fg_version());
        return finish(CLI_DONE);
    }
    const cli_command *command = cli_find_command(argv[1]);
    if (command == NULL)
        return cli_unknown_command(argv[1]);
    const cli_command *subcommand = cli_find_subcommand(command, argv[2]);
    if (subcommand != NULL) {
        command = subcommand;
        argv++;
        argc--;
    }
    if (!cli_parse(command, argc - 1, (const char **)argv + 1, &call, &status))
        return finish(status);
    return finish(command->run(&call));
}
