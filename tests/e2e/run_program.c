/* run_program.c - the helpers of run_program.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

static void slurp(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    out[fread(out, 1, size - 1, file)] = '\0';
    (void)fclose(file);
}

const outcome *program(const char *folder, const char *arguments)
{
    static outcome result;
    static char scratch[256], out[300], err[300];
    char command[4096];
    if (scratch[0] == '\0')
        (void)snprintf(scratch, sizeof(scratch), "%s", fgt_temp_folder());
    (void)snprintf(out, sizeof(out), "%s/out", scratch);
    (void)snprintf(err, sizeof(err), "%s/err", scratch);
    const int size = snprintf(command, sizeof(command), "cd '%s' && '%s/fulgurite' %s >'%s' 2>'%s'",
                              folder != NULL ? folder : ".", FGT_BINARY_DIR, arguments, out, err);
    assert_true(size > 0 && size < (int)sizeof(command));
    const int status = system(command);
    assert_true(WIFEXITED(status));
    result.status = WEXITSTATUS(status);
    slurp(out, result.out, sizeof(result.out));
    slurp(err, result.err, sizeof(result.err));
    return &result;
}

const outcome *program_gives(int status, const char *folder, const char *arguments)
{
    const outcome *o = program(folder, arguments);
    if (o->status != status)
        fail_msg("fulgurite %s: exit status %d, expected %d\n%s", arguments, o->status, status,
                 o->err);
    return o;
}

void contains(const char *whole, const char *text)
{
    if (strstr(whole, text) == NULL)
        fail_msg("'%s' does not stand in:\n%s", text, whole);
}
