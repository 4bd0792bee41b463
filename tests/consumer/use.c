/* use.c - a user's program: the loaded library has the version of the headers, and works.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <fulgurite/fulgurite.h>

int main(int argc, char **argv)
{
    const fg_type type = {.dtype = FG_BF16, .rank = 2, .dim = {3, 4}};
    char text[32];
    if (argc > 1 && strcmp(argv[1], "version") == 0) {
        puts(fg_version());
        return 0;
    }
    if (strcmp(fg_version(), FG_VERSION_STRING) != 0)
        return 1;
    if (strcmp(fg_type_format(&type, text, sizeof(text)), "bf16[3,4]") != 0)
        return 2;
    const fg_error err = {.status = FG_EINVAL, .message = "a made-up error"};
    printf("%s %s: ", fg_version(), fg_status_name(err.status));
    return fg_error_fprint(stdout, &err, argv[0]) == 1 ? 0 : 3;
}
