/* forms.c - see forms.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "forms.h"

#include <inttypes.h>

#include "base/hash.h"
#include "fgt.h"

enum { OPERATIONS = 64, NAME_SIZE = 40 };

typedef struct operation {
    char name[NAME_SIZE];
    int count;
} operation;

/* Where a line ends, or before it the place of its operation. */
static size_t without_place(const char *line)
{
    const size_t all = strcspn(line, "\n");
    const char *place = memmem(line, all, " loc(", 5);
    return place != NULL ? (size_t)(place - line) : all;
}

static void count_operation(operation *list, const char *name, size_t size)
{
    int at = 0;
    while (at < OPERATIONS && list[at].count > 0 &&
           (strncmp(list[at].name, name, size) != 0 || list[at].name[size] != '\0'))
        at++;
    assert_true(at < OPERATIONS && size < NAME_SIZE);
    (void)memcpy(list[at].name, name, size);
    list[at].count++;
}

void forms_write(FILE *out, const char *name, const char *program)
{
    static const char prefix[] = "\"stablehlo.";
    operation list[OPERATIONS] = {{{0}, 0}};
    fgi_hash hash = {0};
    while (*program != '\0') {
        const size_t size = without_place(program);
        const char *found = memmem(program, size, prefix, sizeof prefix - 1);
        if (found != NULL) {
            found += sizeof prefix - 1;
            count_operation(list, found, strcspn(found, "\""));
        }
        hash = fgi_hash_more(hash, program, size);
        program += strcspn(program, "\n");
        program += *program == '\n';
    }
    (void)fprintf(out, "%s:", name);
    for (int i = 0; i < OPERATIONS && list[i].count > 0; i++)
        (void)fprintf(out, " %s %d", list[i].name, list[i].count);
    (void)fprintf(out, " = %016" PRIx64 "\n", hash.lo);
}
