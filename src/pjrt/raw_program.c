/* raw_program.c - programs whose text the user writes: a thin public wrapper of executables.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "pjrt/plugin.h"

struct fg_program {
    fgi_executable *executable;
};

fg_status fg_program_compile(fg_client *client, const char *stablehlo, fg_program **out,
                             fg_error *err)
{
    *out = NULL;
    fg_program *program = fgi_calloc(1, sizeof *program);
    if (!program)
        return fgi_no_memory(err);
    const fg_status status =
        fgi_compile(client, stablehlo, strlen(stablehlo), NULL, 0, NULL, &program->executable, err);
    if (status != FG_OK) {
        fgi_free(program);
        return status;
    }
    *out = program;
    return FG_OK;
}

size_t fg_program_output_count(const fg_program *program) { return program->executable->out_count; }

const fg_type *fg_program_output_type(const fg_program *program, size_t index)
{
    const fgi_executable *e = program->executable;
    return index < e->out_count ? &e->out_types[index] : NULL;
}

fg_status fg_program_run(fg_program *program, const fg_program_arrays *arrays, fg_error *err)
{
    for (size_t i = 0; i < arrays->out_count; i++)
        arrays->outs[i] = NULL;
    if (arrays->out_count != program->executable->out_count)
        return fgi_fail(err, FG_EINVAL, "the program has %zu outputs: got room for %zu",
                        program->executable->out_count, arrays->out_count);
    return fgi_execute(program->executable, arrays->args, arrays->arg_count, arrays->outs, NULL,
                       err);
}

void fg_program_destroy(fg_program *program)
{
    if (!program)
        return;
    fgi_executable_destroy(program->executable);
    fgi_free(program);
}
