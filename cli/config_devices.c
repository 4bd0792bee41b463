/* config_devices.c - which devices a configuration asks for: how that is written, and the old
 * spelling, tpu_cores.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "config_value.h"

enum { MOST_DEVICES = 1024 };

/* A whole number from `least` on; blanks around it do not count. False: none, or too large. */
static bool read_number(const char *text, size_t size, long least, long *out)
{
    char digits[16], *end;
    while (size > 0 && *text == ' ') {
        text++;
        size--;
    }
    while (size > 0 && text[size - 1] == ' ')
        size--;
    if (size == 0 || size >= sizeof(digits) || strspn(text, "-0123456789") < size)
        return false;
    (void)snprintf(digits, sizeof(digits), "%.*s", (int)size, text);
    *out = strtol(digits, &end, 10);
    return *end == '\0' && *out >= least && *out <= MOST_DEVICES;
}

/* "1", "-1", "0,2", "[0, 2]" as YAML that reads back: "1", "-1", "[0, 2]". NULL: none of these. */
static char *settle(const char *text)
{
    long number = 0;
    size_t size = strlen(text), used = 1;
    const bool has_brackets = size >= 2 && text[0] == '[' && text[size - 1] == ']';
    char *out = cli_alloc(6 * size + 16, 1); /* a number and ", " for each character at most */
    if (!has_brackets && read_number(text, size, -1, &number) && number != 0) {
        (void)snprintf(out, 16, "%ld", number);
        return out;
    }
    const char *at = text + has_brackets, *end = text + size - has_brackets;
    bool is_good = has_brackets || strchr(text, ',') != NULL;
    out[0] = '[';
    while (is_good && at <= end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma != NULL ? comma : end;
        is_good = read_number(at, (size_t)(stop - at), 0, &number) && number < MOST_DEVICES;
        used += (size_t)snprintf(out + used, 16, "%s%ld", used > 1 ? ", " : "", number);
        at = stop + 1;
    }
    if (!is_good) {
        free(out);
        return NULL;
    }
    (void)snprintf(out + used, 2, "]");
    return out;
}

/* Whether a number of the list stands in it before. */
static bool has_twice(const char *list)
{
    bool seen[MOST_DEVICES] = {false};
    for (const char *at = list; *at == '[' || *at == ',';) {
        char *end;
        const long device = strtol(at + 1, &end, 10);
        if (seen[device])
            return true;
        seen[device] = true;
        at = end;
    }
    return false;
}

bool config_parse_devices(const config_key *key, const char *text, config_item *out, fg_error *err)
{
    char *settled = settle(text);
    if (settled == NULL)
        return cli_fail(err, "%s: expected %s, got '%.80s'", key->path, config_describe(key), text);
    if (has_twice(settled)) {
        (void)cli_fail(err, "%s: '%.80s' names a device twice", key->path, text);
        free(settled);
        return false;
    }
    out->text = settled;
    return true;
}

bool config_modernize(config *c, bool *out_was_old, fg_error *err)
{
    static const char *const others[] = {"trainer.accelerator", "trainer.devices"};
    const config_key *old = config_find("trainer.tpu_cores");
    const char *place = config_place(c, old->path);
    *out_was_old = config_is_auto(c, old->path) || config_text(c, old->path) != NULL;
    if (!*out_was_old)
        return true;
    for (int i = 0; i < 2; i++) {
        const char *now = config_is_auto(c, others[i]) ? "auto" : config_text(c, others[i]);
        if (strcmp(now, "auto") != 0 && (i == 1 || strcmp(now, "tpu") != 0))
            return cli_fail(err,
                            "%s: trainer.tpu_cores: %s is '%s' too: expected trainer.accelerator: "
                            "tpu with trainer.devices alone",
                            place, others[i], now);
    }
    char *cores = cli_strdup(config_format(c, old)), *at = cli_strdup(place);
    const bool is_good = config_set_text(c, config_find(others[0]), "tpu", at, err) &&
                         config_set_text(c, config_find(others[1]), cores, at, err);
    config_reset(c, old);
    free(cores);
    free(at);
    return is_good;
}
