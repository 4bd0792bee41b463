/* config_yaml_items.c - elements of lists in a configuration file. Mappings become the text that
 * the command line accepts: a rule {match: fc1.*, split: [model]} is fc1.*=model, a row with
 * options {early_stop: {patience: 5}} is early_stop(patience=5).
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "recipe/config_yaml.h"

/* ---- rules ----------------------------------------------------------------------------------- */

/* Appends the axes of a rule, "model/none", to `out`; null is none. */
static fg_status add_axes(fgi_yaml_reader *r, const fgi_config_key *key, struct fy_node *name,
                          struct fy_node *node, char *out, size_t size)
{
    void *place = NULL;
    struct fy_node *item = node;
    const bool is_list = node != NULL && fy_node_is_sequence(node);
    const char *before = "";
    while (!is_list || (item = fy_node_sequence_iterate(node, &place)) != NULL) {
        const size_t used = strlen(out);
        char *axis = fgi_yaml_is_null(item) ? fgi_strdup("none") : fgi_yaml_text_of(item, NULL);
        if (axis == NULL)
            return fgi_yaml_wrong_kind(r, key, name, item);
        (void)fgi_snprintf(out + used, size - used, "%s%.40s", before, axis);
        fgi_free(axis);
        before = "/";
        if (!is_list)
            break;
    }
    return FG_OK;
}

/* {match: PATTERN, split: [AXIS, ...]} as one string, which the caller owns. */
static fg_status rule_of(fgi_yaml_reader *r, const fgi_config_key *key, struct fy_node *name,
                         struct fy_node *node, const char **out)
{
    char rule[1024], message[160];
    struct fy_node *match = NULL, *split = NULL;
    struct fy_node_pair *pair;
    void *place = NULL;
    while ((pair = fy_node_mapping_iterate(node, &place)) != NULL) {
        char *field = fgi_yaml_text_of(fy_node_pair_key(pair), NULL);
        const bool is_match = field != NULL && strcmp(field, "match") == 0;
        const bool is_split = field != NULL && strcmp(field, "split") == 0;
        (void)fgi_snprintf(message, sizeof(message),
                           "%s: expected the keys match and split of a rule, got '%.60s'",
                           key->path, field != NULL ? field : "");
        const bool is_lost = field == NULL && fgi_yaml_is_text(fy_node_pair_key(pair));
        fgi_free(field);
        if (!is_match && !is_split)
            return is_lost ? fgi_no_memory(r->err)
                           : fgi_yaml_blame(r, fy_node_pair_key(pair), message);
        *(is_match ? &match : &split) = fy_node_pair_value(pair);
    }
    char *pattern = fgi_yaml_text_of(match, NULL);
    (void)fgi_snprintf(message, sizeof(message),
                       "%s: expected a rule with match (a pattern) and split (its axes)",
                       key->path);
    if (pattern == NULL || split == NULL) {
        fgi_free(pattern);
        return pattern == NULL && fgi_yaml_is_text(match) ? fgi_no_memory(r->err)
                                                          : fgi_yaml_blame(r, name, message);
    }
    (void)fgi_snprintf(rule, sizeof(rule), "%.512s=", pattern);
    fgi_free(pattern);
    FGI_TRY(add_axes(r, key, name, split, rule, sizeof(rule)));
    *out = fgi_strdup(rule);
    return *out != NULL ? FG_OK : fgi_no_memory(r->err);
}

/* ---- rows with options ----------------------------------------------------------------------- */

static fg_status unexpected(fgi_yaml_reader *r, const fgi_config_key *key, struct fy_node *at,
                            const char *expected, const char *got)
{
    char message[640];
    (void)fgi_snprintf(message, sizeof(message), "%s: expected %s, got %s", key->path, expected,
                       got);
    return fgi_yaml_blame(r, at, message);
}

/* The same, where the text or the kind of a node is what was not expected. */
static fg_status unexpected_node(fgi_yaml_reader *r, const fgi_config_key *key, struct fy_node *at,
                                 const char *expected, struct fy_node *node)
{
    char quoted[96];
    char *text = fgi_yaml_text_of(node, NULL);
    if (text == NULL)
        return fgi_yaml_is_text(node) ? fgi_no_memory(r->err)
                                      : unexpected(r, key, at, expected, fgi_yaml_kind_of(node));
    (void)fgi_snprintf(quoted, sizeof(quoted), "'%.80s'", text);
    fgi_free(text);
    return unexpected(r, key, at, expected, quoted);
}

static bool is_name(const char *text)
{
    size_t size = 0;
    while (fgi_is_alnum(text[size]) || text[size] == '_' || text[size] == '-')
        size++;
    return size > 0 && text[size] == '\0';
}

/* The name of a row or an option. */
static fg_status put_name(fgi_yaml_reader *r, const fgi_config_key *key, struct fy_node *node,
                          fgi_buf *out)
{
    char *name = fgi_yaml_text_of(node, NULL);
    if (name == NULL && fgi_yaml_is_text(node))
        return fgi_no_memory(r->err);
    const bool is_good = name != NULL && is_name(name);
    if (is_good)
        fgi_buf_puts(out, name);
    fgi_free(name);
    return is_good ? FG_OK : unexpected_node(r, key, node, "a name", node);
}

/* `at`: the name of the option. Text in which the command line would see a list is put in quotes.
 */
static fg_status put_scalar(fgi_yaml_reader *r, const fgi_config_key *key, struct fy_node *at,
                            struct fy_node *node, fgi_buf *out)
{
    bool is_quoted = false;
    if (fgi_yaml_is_null(node)) {
        fgi_buf_puts(out, "null");
        return FG_OK;
    }
    char *text = fgi_yaml_text_of(node, &is_quoted);
    if (text == NULL && fgi_yaml_is_text(node))
        return fgi_no_memory(r->err);
    const bool is_good = text != NULL && strchr(text, '"') == NULL;
    if (is_good && (is_quoted || text[strcspn(text, ",()[]{}")] != '\0'))
        fgi_buf_printf(out, "\"%s\"", text);
    else if (is_good)
        fgi_buf_puts(out, text);
    const bool is_text = text != NULL;
    fgi_free(text);
    return is_good ? FG_OK
                   : unexpected_node(r, key, is_text ? node : at,
                                     is_text ? "a value without double quotes" : "a value", node);
}

static fg_status put_value(fgi_yaml_reader *r, const fgi_config_key *key, struct fy_node *at,
                           struct fy_node *node, fgi_buf *out)
{
    void *place = NULL;
    struct fy_node *item;
    const char *before = "";
    if (node == NULL || !fy_node_is_sequence(node))
        return put_scalar(r, key, at, node, out);
    fgi_buf_putc(out, '[');
    while ((item = fy_node_sequence_iterate(node, &place)) != NULL) {
        fgi_buf_puts(out, before);
        FGI_TRY(put_scalar(r, key, at, item, out));
        before = ", ";
    }
    fgi_buf_putc(out, ']');
    return FG_OK;
}

static fg_status put_options(fgi_yaml_reader *r, const fgi_config_key *key, struct fy_node *node,
                             fgi_buf *out)
{
    void *place = NULL;
    struct fy_node_pair *pair;
    const char *before = "";
    fgi_buf_putc(out, '(');
    while ((pair = fy_node_mapping_iterate(node, &place)) != NULL) {
        struct fy_node *name = fy_node_pair_key(pair);
        fgi_buf_puts(out, before);
        FGI_TRY(put_name(r, key, name, out));
        fgi_buf_putc(out, '=');
        FGI_TRY(put_value(r, key, name, fy_node_pair_value(pair), out));
        before = ", ";
    }
    fgi_buf_putc(out, ')');
    return FG_OK;
}

static fg_status put_entry(fgi_yaml_reader *r, const fgi_config_key *key, struct fy_node *at,
                           struct fy_node *node, fgi_buf *out)
{
    static const char expected[] = "NAME: {OPTION: VALUE, ...}";
    void *place = NULL;
    struct fy_node_pair *pair = fy_node_mapping_iterate(node, &place);
    if (pair == NULL)
        return unexpected(r, key, at, expected, "{}");
    struct fy_node *name = fy_node_pair_key(pair), *options = fy_node_pair_value(pair);
    if (fy_node_mapping_iterate(node, &place) != NULL)
        return unexpected(r, key, name, expected,
                          "several names: indent the options below the name that they belong to");
    FGI_TRY(put_name(r, key, name, out));
    if (fgi_yaml_is_null(options))
        return FG_OK;
    return fy_node_is_mapping(options) ? put_options(r, key, options, out)
                                       : unexpected_node(r, key, name, expected, options);
}

/* {NAME: {OPTION: VALUE, ...}} as NAME(OPTION=VALUE, ...), which the caller owns. */
static fg_status entry_of(fgi_yaml_reader *r, const fgi_config_key *key, struct fy_node *name,
                          struct fy_node *node, const char **out)
{
    fgi_buf text = {0};
    fg_status status = put_entry(r, key, name, node, &text);
    if (status == FG_OK)
        status = fgi_buf_status(&text, r->err);
    if (status == FG_OK)
        *out = fgi_buf_take(&text);
    fgi_buf_fini(&text);
    return status;
}

/* ---- elements -------------------------------------------------------------------------------- */

fg_status fgi_yaml_item(fgi_yaml_reader *r, const fgi_config_key *key, struct fy_node *name,
                        struct fy_node *node, fg_option_text *out)
{
    *out = (fg_option_text){0};
    if (key->option->kind == FG_OPTION_RULES && fy_node_is_mapping(node))
        return rule_of(r, key, name, node, &out->text);
    if (key->option->kind == FG_OPTION_ENTRIES && fy_node_is_mapping(node))
        return entry_of(r, key, name, node, &out->text);
    if (fgi_yaml_is_null(node))
        return unexpected(r, key, name, fgi_config_describe(key),
                          "null in a list: put it in quotes if it is a word");
    out->text = fgi_yaml_text_of(node, &out->is_quoted);
    return out->text != NULL ? FG_OK : fgi_yaml_wrong_kind(r, key, name, node);
}
