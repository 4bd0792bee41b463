/* test_sessions.c - transcripts: commands as a user types them, with their complete output,
 * compared as a whole with tests/golden/sessions/NAME.txt, which also contains the commands.
 *
 *     ## a comment
 *     $ a command of the shell
 *     > continued, as in a here-document
 *     what it prints on both streams
 *     # status 2                         where that is not 0
 *
 * The commands of a session run in one folder, with the files of effects_write_files in it; $SOURCE
 * is this tree. Rates are masked, other numbers are cut to four digits. FGT_WRITE_GOLDEN=1 writes
 * the file.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/file.h"
#include "effects.h"
#include "golden.h"

enum { OUTPUT_MAX = 1 << 18 };

static const char *session;

/* ---- masks ----------------------------------------------------------------------------------- */

/* Replaces each match. */
static void mask(char text[OUTPUT_MAX], const char *pattern, const char *with)
{
    static char out[OUTPUT_MAX];
    regex_t regex;
    regmatch_t match;
    size_t used = 0;
    const char *at = text;
    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NEWLINE), 0);
    while (regexec(&regex, at, 1, &match, 0) == 0 && match.rm_eo > 0) {
        used +=
            (size_t)snprintf(out + used, sizeof out - used, "%.*s%s", (int)match.rm_so, at, with);
        at += match.rm_eo;
        assert_true(used < sizeof out);
    }
    used += (size_t)snprintf(out + used, sizeof out - used, "%s", at);
    assert_true(used < sizeof out);
    (void)memcpy(text, out, used + 1);
    regfree(&regex);
}

/* Replaces each occurrence of a path. */
static void mask_path(char text[OUTPUT_MAX], const char *path, const char *with)
{
    for (char *at = text; (at = strstr(at, path)) != NULL; at += strlen(with)) {
        (void)memcpy(at, with, strlen(with)); /* which is shorter */
        (void)memmove(at + strlen(with), at + strlen(path), strlen(at + strlen(path)) + 1);
    }
}

/* Numbers with a point are cut to four digits: the last ones depend on the processor. */
static void mask_digits(char text[OUTPUT_MAX])
{
    static char out[OUTPUT_MAX];
    size_t used = 0;
    out[0] = '\0';
    for (const char *at = text; *at != '\0';) {
        char *end = (char *)at + 1;
        const bool starts =
            isdigit((unsigned char)*at) &&
            (at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '.' && at[-1] != '_'));
        const double value = starts ? strtod(at, &end) : 0;
        const bool is_cut = starts && memchr(at, '.', (size_t)(end - at)) != NULL && end - at > 5;
        if (starts && !is_cut) /* an integer, possibly hexadecimal */
            end = (char *)at + strspn(at, "0123456789.");
        used += is_cut
                    ? (size_t)snprintf(out + used, sizeof out - used, "%.4g", value)
                    : (size_t)snprintf(out + used, sizeof out - used, "%.*s", (int)(end - at), at);
        at = end;
        assert_true(used < sizeof out);
    }
    (void)memcpy(text, out, used + 1);
}

static void mask_all(char text[OUTPUT_MAX], const char *folder)
{
    mask_path(text, folder, "HERE");
    mask_path(text, FGT_BINARY_DIR, "BUILD");
    mask_path(text, FGT_SOURCE_DIR, "SOURCE");
    mask(text, "compil(ed|ing) the [^\n]* step [^\n]*\n", ""); /* that took a second or more */
    mask(text, "(time: [^\n]* per step|(high|medium): [A-Z1])[^\n]*\n", "");     /* of the moment */
    mask(text, "^(epoch [0-9/]+(  validating)?|evaluating)  [0-9][^\n]*\n", ""); /* every 5 s */
    mask(text, "[0-9][0-9,]* samples/s  [0-9]+:[0-9:]+", "N samples/s  MM:SS");
    mask(text, "run [0-9]+:[0-9:]+ left", "run MM:SS left");
    mask(text, "[,;] kernels: (own|none)(, oneDNN [0-9.]*)?( .trainer.kernels.)?", "");
    mask(text, "\"own, oneDNN [0-9.]*\"", "\"own\""); /* if it is installed */
    mask_digits(text);
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Captures the shell's output; returns the exit status. */
static int answer(const char *folder, const char *command, char out[OUTPUT_MAX])
{
    static char line[1 << 14];
    fgt_write(fgt_path(folder, ".command"), command, strlen(command));
    (void)snprintf(line, sizeof line,
                   "cd '%s' && env LC_ALL=C SOURCE='" FGT_SOURCE_DIR "' PATH='" FGT_BINARY_DIR
                   ":%s' sh .command 2>&1",
                   folder, getenv("PATH"));
    FILE *pipe = popen(line, "r");
    assert_non_null(pipe);
    const size_t size = fread(out, 1, OUTPUT_MAX - 1, pipe);
    out[size] = '\0';
    assert_true(size < OUTPUT_MAX - 1);
    const int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Output must not look like a command when the file is read the next time. */
static void check_output(const char *out)
{
    for (const char *line = out; *line != '\0'; line += line[0] == '\n') {
        if (strncmp(line, "$ ", 2) == 0 || strncmp(line, "> ", 2) == 0 ||
            strncmp(line, "## ", 3) == 0)
            fail_msg("a transcript cannot have the line: %.*s", (int)strcspn(line, "\n"), line);
        line += strcspn(line, "\n");
    }
}

/* Writes the command at the line, unchanged, and its output; returns the line after it. */
static const char *run(const char *folder, const char *line, FILE *transcript)
{
    static char command[1 << 14], out[OUTPUT_MAX];
    size_t used = 0;
    do {
        const size_t size = strcspn(line, "\n");
        assert_true(size >= 2 && used + size < sizeof command);
        (void)fprintf(transcript, "%.*s\n", (int)size, line);
        used += (size_t)snprintf(command + used, sizeof command - used, "%.*s\n", (int)size - 2,
                                 line + 2);
        line += size + (line[size] == '\n');
    } while (strncmp(line, "> ", 2) == 0);
    const int status = answer(folder, command, out);
    mask_all(out, folder);
    check_output(out);
    const size_t size = strlen(out);
    (void)fprintf(transcript, "%s%s", out, size > 0 && out[size - 1] != '\n' ? "\n" : "");
    if (status != 0)
        (void)fprintf(transcript, "# status %d\n", status);
    return line;
}

static void commands_answer_as_they_did(void **state)
{
    (void)state;
    char name[64], *before, *now = NULL;
    size_t size;
    fg_error err = {0};
    const char *folder = fgt_temp_folder();
    effects_write_files(folder);
    (void)snprintf(name, sizeof name, "sessions/%s.txt", session);
    fgt_ok(fgi_file_read(fgt_path(FGT_SOURCE_DIR "/tests/golden", name), 1 << 20, &before, &size,
                         &err));
    FILE *transcript = open_memstream(&now, &size);
    assert_non_null(transcript);
    for (const char *line = before; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        if (strncmp(line, "$ ", 2) == 0) {
            line = run(folder, line, transcript);
            continue;
        }
        if (strncmp(line, "## ", 3) == 0)
            (void)fprintf(transcript, "\n%.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    assert_int_equal(fclose(transcript), 0);
    fgt_golden(name, now);
    free(now);
    fgi_free(before);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(commands_answer_as_they_did)};

/* usage: test_sessions NAME */
int main(int argc, char **argv)
{
    session = argc == 2 ? argv[1] : "table";
    const int status = prepare_to_train();
    return status != 0 ? status : cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
