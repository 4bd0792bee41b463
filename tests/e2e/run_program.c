/* run_program.c - the helpers of run_program.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "run_program.h"

#include <errno.h>
#include <pty.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

int program_on_terminal(const char *folder, unsigned short columns, const char *answer,
                        const char *arguments, char *out, size_t size)
{
    const struct winsize window = {.ws_row = 24, .ws_col = columns};
    char command[4096];
    int terminal;
    size_t used = 0;
    ssize_t n;
    const int length = snprintf(command, sizeof command, "cd '%s' && exec '%s/fulgurite' %s",
                                folder != NULL ? folder : ".", FGT_BINARY_DIR, arguments);
    assert_true(length > 0 && length < (int)sizeof command);
    const pid_t pid = forkpty(&terminal, NULL, NULL, &window);
    if (pid == 0) {
        (void)execl("/bin/sh", "sh", "-c", command, NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    assert_int_equal(write(terminal, answer, strlen(answer)), strlen(answer));
    while (used < size - 1 && (n = read(terminal, out + used, size - 1 - used)) > 0)
        used += (size_t)n; /* a terminal whose program has ended gives EIO */
    out[used] = '\0';
    (void)close(terminal);
    return program_wait(pid);
}

void contains(const char *whole, const char *text)
{
    if (strstr(whole, text) == NULL)
        fail_msg("'%s' is not in:\n%s", text, whole);
}

int shell(const char *folder, const char *command)
{
    char whole[4096];
    const int size = snprintf(whole, sizeof(whole), "cd '%s' && PATH='%s':$PATH && { %s; }", folder,
                              FGT_BINARY_DIR, command);
    assert_true(size > 0 && size < (int)sizeof(whole));
    const int status = system(whole);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

pid_t program_start(const char *folder, int out, int err, const char *const *words)
{
    const char *argv[32] = {"fulgurite"};
    for (int i = 0; i < 30 && words[i] != NULL; i++)
        argv[i + 1] = words[i];
    const pid_t child = fork();
    if (child != 0)
        return child;
    if (chdir(folder) != 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
        _exit(99);
    (void)execv(FGT_BINARY_DIR "/fulgurite", (char *const *)argv);
    _exit(98);
}

int program_wait(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) != child)
        assert_int_equal(errno, EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void sleep_ms(long ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&time, NULL);
}

char *file_text(const char *folder, const char *name)
{
    static char *texts[16];
    static size_t next;
    char **slot = &texts[next++ % 16];
    size_t size;
    int c;
    FILE *file = fopen(fgt_path(folder, name), "rb");
    if (file == NULL)
        fail_msg("there is no file %s/%s", folder, name);
    free(*slot);
    FILE *out = open_memstream(slot, &size);
    assert_non_null(out);
    while ((c = getc(file)) != EOF)
        (void)putc(c, out);
    (void)fclose(file);
    assert_int_equal(fclose(out), 0);
    return *slot;
}

bool is_there(const char *folder, const char *name)
{
    return access(fgt_path(folder, name), F_OK) == 0;
}

int last_step(const char *folder)
{
    int step;
    assert_int_equal(sscanf(file_text(folder, "run/checkpoints/last"), "step-%d", &step), 1);
    return step;
}

int prepare_to_train(void)
{
    static char cache[256];
    (void)snprintf(cache, sizeof(cache), "%s", fgt_cache(fgt_temp_folder()));
    if (setenv("XDG_CACHE_HOME", cache, 1) != 0)
        return 1;
    return strstr(program(NULL, "devices")->out, "cpu   yes") == NULL ? 77 : 0;
}
