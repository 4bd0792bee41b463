/* run_compare.c - compares the configuration with that of a checkpoint, so that weights are not
 * used in a different model or on differently preprocessed data.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "input/json_file.h"
#include "recipe/run/run_compare.h"
#include "recipe/run/run_format.h"
#include "base/error.h"
#include "base/print.h"
#include "base/alloc.h"

enum { VALUE_SIZE = 48, PATH_SIZE = 96, ERROR_SIZE = 288 };

/* A value, truncated to fit a line. */
static void cut(char *out, const char *value)
{
    const size_t size = strlen(value);
    (void)fgi_snprintf(out, VALUE_SIZE, size < VALUE_SIZE ? "%s" : "%.44s...", value);
}

static void add(fgi_run_differences *out, const char *path, const char *had, const char *have,
                const char *place)
{
    char line[320], a[VALUE_SIZE], b[VALUE_SIZE];
    cut(a, had);
    cut(b, have);
    const int size = fgi_snprintf(line, sizeof(line), "\n  %s: %s in the checkpoint, %s %s%s", path,
                                  a, b, place == NULL ? "here" : "by ", place == NULL ? "" : place);
    if (out->used + (size_t)size < (out->limit > 0 ? out->limit : ERROR_SIZE))
        out->used +=
            (size_t)fgi_snprintf(out->text + out->used, sizeof(out->text) - out->used, "%s", line);
    out->count++;
}

/* ---- configurations -------------------------------------------------------------------------- */

static void compare_key(const fgi_config *had, const fgi_config *have, const fgi_config_key *key,
                        fgi_run_differences *out)
{
    char *before = fgi_strdup(fgi_config_format(had, key->path)); /* a static buffer */
    if (before == NULL) {
        out->count++; /* cannot be compared */
        return;
    }
    const char *place =
        fg_option_is_given(have->values, key->path) ? fgi_config_place(have, key->path) : NULL;
    if (strcmp(before, fgi_config_format(have, key->path)) != 0)
        add(out, key->path, before, fgi_config_format(have, key->path), place);
    fgi_free(before);
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

void fgi_run_compare_model(const fgi_config *had, const fgi_config *have, fgi_run_differences *out)
{
    /* not part of the model's computation; the number of classes is compared as outputs */
    static const char *const others[] = {
        "model.hf",           "model.weights",         "model.weights_prefix",
        "model.weights_skip", "model.weights_partial", "model.dropout",
        "model.freeze",       "model.classes",         NULL};
    for (size_t i = 0; i < have->table->count; i++) {
        const fgi_config_key *key = &have->table->keys[i];
        if (strncmp(key->path, "model.", 6) == 0 && !is_one_of(key->path, others) &&
            fgi_config_has_effect(had, key) && fgi_config_has_effect(have, key))
            compare_key(had, have, key, out);
    }
}

void fgi_run_compare_training(const fgi_config *had, const fgi_config *have,
                              fgi_run_differences *out)
{
    for (size_t i = 0; i < have->table->count; i++) {
        const fgi_config_key *key = &have->table->keys[i];
        if (fgi_config_is_of_training(key) && fgi_config_has_effect(have, key))
            compare_key(had, have, key, out);
    }
}

void fgi_run_compare_columns(const fgi_config *had, const fgi_config *have, const char *target,
                             fgi_run_differences *out)
{
    const fg_format_entry *format = NULL;
    if (fgi_run_format_find(have, &format, &(fg_error){0}) != FG_OK || format->fitted == NULL)
        return;
    for (size_t i = 0; i < have->table->count; i++) {
        const fgi_config_key *key = &have->table->keys[i];
        const bool is_target = strcmp(key->path, "data.target") == 0;
        if (strncmp(key->path, "data.", 5) != 0 || !fgi_is_one_of(key->path + 5, format->fitted) ||
            !fg_option_is_given(have->values, key->path) || !fgi_config_has_effect(have, key))
            continue;
        if (is_target && fg_option_string(have->values, key->path) != NULL &&
            strcmp(fg_option_string(have->values, key->path), target) == 0)
            continue; /* the name, or that of the last column */
        if (!is_target || fg_option_string(have->values, key->path) != NULL)
            compare_key(had, have, key, out);
    }
}

/* ---- descriptions of data -------------------------------------------------------------------- */

/* A path as the user knows it: preprocessing.mean is the key data.mean. */
static void put_path(char *out, const char *base, const char *key)
{
    if (strcmp(base, "preprocessing") == 0)
        base = "data";
    (void)fgi_snprintf(out, PATH_SIZE, "%s%s%s", base, *base != '\0' ? "." : "", key);
}

/* State of a comparison. */
typedef struct comparison {
    fgi_run_differences *out;
    bool no_means; /* means and deviations of columns are not used */
} comparison;

static void compare_json(const comparison *c, const char *path, const json_t *had,
                         const json_t *have);

/* NULL: out of memory. */
static char *dump(const json_t *value, int precision)
{
    return value == NULL ? fgi_strdup("nothing")
                         : fgi_json_text(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS |
                                                    JSON_REAL_PRECISION(precision));
}

/* Prints both with enough digits to show the difference. */
static void add_values(const char *path, const json_t *had, const json_t *have,
                       fgi_run_differences *out)
{
    char *a = dump(had, 6), *b = dump(have, 6);
    if (a != NULL && b != NULL && strncmp(a, b, VALUE_SIZE - 4) == 0) {
        fgi_free(a);
        fgi_free(b);
        a = dump(had, 17);
        b = dump(have, 17);
    }
    add(out, path, a != NULL ? a : "?", b != NULL ? b : "?", NULL);
    fgi_free(a);
    fgi_free(b);
}

/* Columns are compared by name. */
static bool has_names(const json_t *list)
{
    return json_is_string(json_object_get(json_array_get(list, 0), "name"));
}

static json_t *find_named(const json_t *list, const char *name)
{
    size_t i;
    json_t *item;
    json_array_foreach(list, i, item)
    {
        const char *found = json_string_value(json_object_get(item, "name"));
        if (found != NULL && strcmp(found, name) == 0)
            return item;
    }
    return NULL;
}

static void compare_named(const comparison *c, const char *path, const json_t *had,
                          const json_t *have)
{
    char inner[PATH_SIZE];
    size_t i;
    const json_t *item;
    json_array_foreach(had, i, item)
    {
        const char *name = json_string_value(json_object_get(item, "name"));
        put_path(inner, path, name != NULL ? name : "?");
        compare_json(c, inner, item, find_named(have, name != NULL ? name : ""));
    }
    json_array_foreach(have, i, item)
    {
        const char *name = json_string_value(json_object_get(item, "name"));
        put_path(inner, path, name != NULL ? name : "?");
        if (name != NULL && find_named(had, name) == NULL)
            add(c->out, inner, "nothing", "a column", NULL);
    }
    for (i = 0; i < json_array_size(had) && c->out->count == 0; i++)
        if (!json_equal(json_object_get(json_array_get(had, i), "name"),
                        json_object_get(json_array_get(have, i), "name"))) {
            add(c->out, path, "one order", "another", NULL);
            return;
        }
}

static void compare_objects(const comparison *c, const char *path, const json_t *had,
                            const json_t *have)
{
    static const char *const others[] = {"csv.missing", "csv.unknown", "csv.delimiter",
                                         "csv.header", NULL};
    static const char *const means[] = {"mean", "deviation", NULL};
    char inner[PATH_SIZE];
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)had, key, value)
    {
        put_path(inner, path, key);
        if (!is_one_of(inner, others) && strcmp(inner, "data.stratify") != 0 &&
            !(c->no_means && is_one_of(key, means)))
            compare_json(c, inner, value, json_object_get(have, key));
    }
    json_object_foreach((json_t *)have, key, value)
    {
        put_path(inner, path, key);
        if (!is_one_of(inner, others) && json_object_get(had, key) == NULL)
            add_values(inner, NULL, value, c->out);
    }
}

static void compare_json(const comparison *c, const char *path, const json_t *had,
                         const json_t *have)
{
    if (json_is_object(had) && json_is_object(have))
        compare_objects(c, path, had, have);
    else if (has_names(had) && has_names(have))
        compare_named(c, path, had, have);
    else if (!json_equal(had, have) && !(json_is_number(had) && json_is_number(have) &&
                                         !(json_number_value(had) < json_number_value(have)) &&
                                         !(json_number_value(had) > json_number_value(have))))
        add_values(path, had, have, c->out);
}

void fgi_run_compare_data(const json_t *had, const json_t *have, fgi_run_differences *out)
{
    const json_t *csv = json_object_get(had, "csv");
    const char *missing = json_string_value(json_object_get(csv, "missing"));
    const bool is_plain = json_is_false(json_object_get(csv, "normalize")) && missing != NULL &&
                          strcmp(missing, "error") == 0;
    const comparison c = {.out = out,
                          .no_means = is_plain || json_object_get(csv, "image") != NULL};
    compare_json(&c, "", had, have);
}

/* ---- error ----------------------------------------------------------------------------------- */

const char *fgi_run_compare_more(const fgi_run_differences *differences, char out[48])
{
    size_t shown = 0;
    out[0] = '\0';
    for (const char *line = differences->text; *line != '\0'; line++)
        shown += *line == '\n';
    if (differences->count > shown)
        (void)fgi_snprintf(out, 48, "\n  and %zu more", differences->count - shown);
    return out;
}

fg_status fgi_run_compare_fail(const fgi_run_differences *differences, const char *path,
                               const char *hint, fg_error *err)
{
    char more[48];
    if (differences->count == 0)
        return FG_OK;
    return fgi_fail(err, FG_EINVAL, "'%s' was trained with different settings:%s%s\n%s", path,
                    differences->text, fgi_run_compare_more(differences, more), hint);
}
