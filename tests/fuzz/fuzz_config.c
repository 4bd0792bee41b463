/* fuzz_config.c - any bytes as a configuration file: either an error with a location, or values
 * whose printed form is unchanged after reading and printing it again. A first byte of '-' makes
 * the rest an override.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <stdio.h>
#include <string.h>
#include "base/alloc.h"
#include "recipe/config/config.h"

/* The built-in keys are created once and never freed: create them before leaks are counted. */
__attribute__((constructor)) static void make_keys(void)
{
    (void)fgi_config_table_built_in()->count;
}

static char *print(const fgi_config *c)
{
    fgi_buf text = {0};
    fgi_config_print(c, &text, false);
    return fgi_buf_take(&text);
}

static bool read_one(fgi_config *c, const uint8_t *data, size_t size, fg_error *err)
{
    char assignment[256];
    if (size == 0 || data[0] != '-' || size >= sizeof(assignment))
        return fgi_config_read(c, "input", (const char *)data, size, err) == FG_OK;
    memcpy(assignment, data + 1, size - 1);
    assignment[size - 1] = '\0';
    return fgi_config_override(c, assignment, err) == FG_OK;
}

/* Invalid UTF-8 is not YAML either, so only ASCII must round-trip. */
static bool is_ascii(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (data[i] >= 0x80)
            return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fg_error err = {0};
    fgi_config *c = fgi_config_create(NULL, NULL), *again = fgi_config_create(NULL, NULL);
    if (!read_one(c, data, size, &err)) {
        if (err.status == FG_OK || err.message[0] == '\0')
            abort();
    } else if (is_ascii(data, size)) {
        char *first = print(c);
        if (fgi_config_read(again, "again", first, strlen(first), &err) != FG_OK)
            abort();
        char *second = print(again);
        if (strcmp(first, second) != 0)
            abort();
        fgi_free(first);
        fgi_free(second);
    }
    fgi_config_destroy(c);
    fgi_config_destroy(again);
    return 0;
}
