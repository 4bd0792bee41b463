/* terminal.c - see terminal.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fgt.h"

FILE *terminal_open(unsigned short columns, int *out_master)
{
    const struct winsize window = {.ws_row = 24, .ws_col = columns};
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(master >= 0);
    assert_int_equal(grantpt(master), 0);
    assert_int_equal(unlockpt(master), 0);
    assert_int_equal(fcntl(master, F_SETFL, O_NONBLOCK), 0);
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    FILE *file = fdopen(slave, "w");
    assert_non_null(file);
    assert_int_equal(ioctl(slave, TIOCSWINSZ, &window), 0);
    *out_master = master;
    return file;
}

void terminal_read(int master, char *out, size_t size)
{
    size_t used = 0;
    ssize_t n = 0;
    while (used < size - 1 && (n = read(master, out + used, size - 1 - used)) > 0)
        used += (size_t)n;
    out[used] = '\0';
}
