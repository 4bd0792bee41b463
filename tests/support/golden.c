/* golden.c - see golden.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "golden.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/alloc.h"
#include "base/file.h"
#include "fgt.h"

void fgt_golden(const char *name, const char *text)
{
    fg_error err = {0};
    char *expected;
    size_t size;
    const char *path = fgt_path(FGT_SOURCE_DIR "/tests/golden", name);
    const char *is_writing = getenv("FGT_WRITE_GOLDEN");
    if (is_writing != NULL && strcmp(is_writing, "1") == 0) {
        fgt_write(path, text, strlen(text));
        return;
    }
    fgt_ok(fgi_file_read(path, 1 << 24, &expected, &size, &err));
    int line = 1;
    const char *a = expected, *b = text;
    while (*a != '\0' && *a == *b) {
        line += *a == '\n';
        a++;
        b++;
    }
    if (*a != *b) {
        while (a > expected && a[-1] != '\n')
            a--, b--;
        fail_msg("tests/golden/%s:%d: expected\n%.*s\nfound\n%.*s\n(FGT_WRITE_GOLDEN=1 writes it)",
                 name, line, (int)strcspn(a, "\n"), a, (int)strcspn(b, "\n"), b);
    }
    fgi_free(expected);
}
