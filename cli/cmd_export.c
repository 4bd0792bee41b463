/* fulgurite export RUN: writes a model for other libraries.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <string.h>

#include "base/text.h"
#include "recipe/run/run.h"

static const char *which, *format, *output;
static const cli_option options[] = {
    CLI_TEXT('c', "ckpt", &which, "best|last|NAME",
             "checkpoint of a run (default: best, or else last)"),
    CLI_TEXT(
        'f', "format", &format, "hf|timm|onnx|safetensors",
        "hf: a folder for transformers; timm: a folder for timm; onnx: a file for ONNX Runtime; "
        "safetensors: a file with the tensors [safetensors]"),
    CLI_TEXT('o', "output", &output, "PATH",
             "the folder or file to write [export-FORMAT, export.onnx or export.safetensors]"),
    CLI_END,
};

static void say(void *self, const char *line) { (void)fprintf(stderr, "%s\n", line); }

static int run(const cli_call *call)
{
    static const fgi_published_say to_stderr = {say, NULL};
    fg_error err = {0};
    fgi_run_origin origin = {0};
    const char *kind = format != NULL ? format : "safetensors";
    const char *path = output != NULL              ? output
                       : strcmp(kind, "hf") == 0   ? "export-hf"
                       : strcmp(kind, "timm") == 0 ? "export-timm"
                       : strcmp(kind, "onnx") == 0 ? "export.onnx"
                                                   : "export.safetensors";
    if (!fgi_is_one_of(kind, "hf|timm|onnx|safetensors"))
        return cli_complain(CLI_USAGE, "export",
                            "--format is '%s': expected hf|timm|onnx|safetensors", kind);
    fg_status status = fgi_run_origin_open(call->args[0], which, NULL, NULL, &origin, &err);
    if (status == FG_OK)
        status = strcmp(kind, "onnx") == 0
                     ? fgi_run_export_onnx(&origin, path, 0, &to_stderr, &err)
                     : fgi_published_export(&origin, kind, path, &to_stderr, &err);
    fgi_run_origin_close(&origin);
    if (status != FG_OK)
        return cli_complain(CLI_FAILED, "export", "%s", err.message);
    (void)printf("%s\n", path);
    return CLI_DONE;
}

const cli_command cli_export = {
    .name = "export",
    .arguments = "RUN|CKPT",
    .summary = "write a model for other libraries",
    .details =
        "The argument is a run's folder, `last` or `best` (of the newest run in runs/), or a "
        "checkpoint's folder. Prints the path of what was written, which contains the "
        "weights under the names that the library gives them, its configuration, and how "
        "images are scaled and normalized.",
    .options = options,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
