/* config_yaml.c - reads a configuration file with libfyaml, which records the line and column of
 * every value; each error names them. Aliases and merge keys are rejected, so that every value is
 * visible where it is used. Elements of lists that are mappings become the text that the command
 * line accepts: NAME: {OPTION: VALUE, ...}.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libfyaml.h>

#include "recipe/config/config_table.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/print.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "option/option.h"

enum { MOST_ITEMS = 256, MAX_FILE_BYTES = 1 << 20 };

typedef struct reader {
    fgi_config *c;
    const char *name; /* of the file */
    fg_error *err;
} reader;

/* "name:line:column" of a node; line and column of a collection are those of its first scalar. */
static void place_of(const reader *r, struct fy_node *node, char *out, size_t size)
{
    struct fy_token *token = fy_node_get_scalar_token(node);
    const struct fy_mark *mark = token != NULL ? fy_token_start_mark(token) : NULL;
    if (mark != NULL)
        (void)fgi_snprintf(out, size, "%s:%d:%d", r->name, mark->line + 1, mark->column + 1);
    else
        (void)fgi_snprintf(out, size, "%s", r->name);
}

/* FG_EINVAL: the message after the place of the node. */
static fg_status blame(reader *r, struct fy_node *node, const char *message)
{
    char place[512];
    place_of(r, node, place, sizeof(place));
    return fgi_fail(r->err, FG_EINVAL, "%s: %s", place, message);
}

/* Block scalars, after '|' or '>'. libfyaml 0.7.12 returns uninitialized bytes for some of them,
 * and no value here needs several lines. */
static bool is_block_text(struct fy_node *node)
{
    const enum fy_node_style style = fy_node_get_style(node);
    return style == FYNS_LITERAL || style == FYNS_FOLDED;
}

/* The bytes of a plain or quoted scalar; NULL for anything else. */
static const char *scalar_of(struct fy_node *node, size_t *out_size)
{
    if (node == NULL || !fy_node_is_scalar(node) || fy_node_is_alias(node) || is_block_text(node))
        return NULL;
    const char *text = fy_node_get_scalar(node, out_size);
    return text != NULL && memchr(text, '\0', *out_size) == NULL ? text : NULL;
}

static bool is_text(struct fy_node *node)
{
    size_t size;
    return scalar_of(node, &size) != NULL;
}

/* The scalar's text, owned by the caller; NULL if it is not a plain or quoted scalar, or when out
 * of memory, which is_text distinguishes. out_is_quoted may be NULL. */
static char *text_of(struct fy_node *node, bool *out_is_quoted)
{
    size_t size;
    const char *text = scalar_of(node, &size);
    if (text == NULL)
        return NULL;
    if (out_is_quoted != NULL)
        *out_is_quoted = fy_node_get_style(node) != FYNS_PLAIN;
    return fgi_strndup(text, size);
}

static bool is_null(struct fy_node *node)
{
    size_t size = 0;
    if (node == NULL || fy_node_is_null(node))
        return true;
    const char *text = scalar_of(node, &size);
    if (text == NULL || fy_node_get_style(node) != FYNS_PLAIN)
        return false;
    return size == 0 || fgi_is_null_word((fgi_str){text, size});
}

static const char *kind_of(struct fy_node *node)
{
    if (fy_node_is_alias(node))
        return "an alias (*name), which is not supported here";
    if (is_block_text(node))
        return "a block scalar ('|' or '>'), which is not supported here";
    return fy_node_is_mapping(node)    ? "a mapping"
           : fy_node_is_sequence(node) ? "a list"
                                       : "a scalar";
}

/* A value that the key does not accept, at `at`. */
static fg_status wrong_kind(reader *r, const fgi_config_key *key, struct fy_node *at,
                            struct fy_node *node)
{
    char message[640];
    if (is_text(node)) /* out of memory */
        return fgi_no_memory(r->err);
    (void)fgi_snprintf(message, sizeof(message), "%s: expected %s, got %s", key->path,
                       fgi_config_describe(key), kind_of(node));
    return blame(r, at, message);
}

/* ---- rows with options ----------------------------------------------------------------------- */

static fg_status unexpected(reader *r, const fgi_config_key *key, struct fy_node *at,
                            const char *expected, const char *got)
{
    char message[640];
    (void)fgi_snprintf(message, sizeof(message), "%s: expected %s, got %s", key->path, expected,
                       got);
    return blame(r, at, message);
}

/* The same, where the text or the kind of a node is what was not expected. */
static fg_status unexpected_node(reader *r, const fgi_config_key *key, struct fy_node *at,
                                 const char *expected, struct fy_node *node)
{
    char quoted[96];
    char *text = text_of(node, NULL);
    if (text == NULL)
        return is_text(node) ? fgi_no_memory(r->err)
                             : unexpected(r, key, at, expected, kind_of(node));
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
static fg_status put_name(reader *r, const fgi_config_key *key, struct fy_node *node, fgi_buf *out)
{
    char *name = text_of(node, NULL);
    if (name == NULL && is_text(node))
        return fgi_no_memory(r->err);
    const bool is_good = name != NULL && is_name(name);
    if (is_good)
        fgi_buf_puts(out, name);
    fgi_free(name);
    return is_good ? FG_OK : unexpected_node(r, key, node, "a name", node);
}

/* `at`: the name of the option. Text in which the command line would see a list is put in quotes.
 */
static fg_status put_scalar(reader *r, const fgi_config_key *key, struct fy_node *at,
                            struct fy_node *node, fgi_buf *out)
{
    bool is_quoted = false;
    if (is_null(node)) {
        fgi_buf_puts(out, "null");
        return FG_OK;
    }
    char *text = text_of(node, &is_quoted);
    if (text == NULL && is_text(node))
        return fgi_no_memory(r->err);
    const bool is_good = text != NULL && strchr(text, '"') == NULL;
    if (is_good && (is_quoted || text[strcspn(text, ",'()[]{}")] != '\0'))
        fgi_buf_printf(out, "\"%s\"", text);
    else if (is_good)
        fgi_buf_puts(out, text);
    const bool is_text = text != NULL;
    fgi_free(text);
    return is_good ? FG_OK
                   : unexpected_node(r, key, is_text ? node : at,
                                     is_text ? "a value without double quotes" : "a value", node);
}

/* The options of a row, or a value that is a map. */
static fg_status put_map(reader *r, const fgi_config_key *key, struct fy_node *node, fgi_buf *out);

static fg_status put_value(reader *r, const fgi_config_key *key, struct fy_node *at,
                           struct fy_node *node, fgi_buf *out)
{
    void *place = NULL;
    struct fy_node *item;
    const char *before = "";
    if (node != NULL && fy_node_is_mapping(node))
        return put_map(r, key, node, out);
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

static fg_status put_map(reader *r, const fgi_config_key *key, struct fy_node *node, fgi_buf *out)
{
    void *place = NULL;
    struct fy_node_pair *pair;
    const char *before = "";
    fgi_buf_putc(out, '{');
    while ((pair = fy_node_mapping_iterate(node, &place)) != NULL) {
        struct fy_node *name = fy_node_pair_key(pair);
        fgi_buf_puts(out, before);
        FGI_TRY(put_name(r, key, name, out));
        fgi_buf_puts(out, ": ");
        FGI_TRY(put_value(r, key, name, fy_node_pair_value(pair), out));
        before = ", ";
    }
    fgi_buf_putc(out, '}');
    return FG_OK;
}

static fg_status put_entry(reader *r, const fgi_config_key *key, struct fy_node *at,
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
    if (is_null(options))
        return FG_OK;
    fgi_buf_puts(out, ": ");
    return fy_node_is_mapping(options) ? put_map(r, key, options, out)
                                       : unexpected_node(r, key, name, expected, options);
}

typedef fg_status put_fn(reader *r, const fgi_config_key *key, struct fy_node *at,
                         struct fy_node *node, fgi_buf *out);

/* A value as text, {NAME: {OPTION: VALUE, ...}} as "NAME: {OPTION: VALUE, ...}"; the caller owns
 * it. */
static fg_status flow_of(reader *r, put_fn *put, const fgi_config_key *key, struct fy_node *name,
                         struct fy_node *node, const char **out)
{
    fgi_buf text = {0};
    fg_status status = put(r, key, name, node, &text);
    if (status == FG_OK)
        status = fgi_buf_status(&text, r->err);
    if (status == FG_OK)
        *out = fgi_buf_take(&text);
    fgi_buf_fini(&text);
    return status;
}

/* ---- elements -------------------------------------------------------------------------------- */

/* An element of a list; the caller owns out->text. */
static fg_status read_item(reader *r, const fgi_config_key *key, struct fy_node *name,
                           struct fy_node *node, fg_option_text *out)
{
    *out = (fg_option_text){0};
    if (key->option->kind == FG_OPTION_ENTRIES && fy_node_is_mapping(node))
        return flow_of(r, put_entry, key, name, node, &out->text);
    if (is_null(node))
        return unexpected(r, key, name, fgi_config_describe(key),
                          "null in a list: put it in quotes if it is a word");
    out->text = text_of(node, &out->is_quoted);
    return out->text != NULL ? FG_OK : wrong_kind(r, key, name, node);
}

/* ---- one key --------------------------------------------------------------------------------- */

static void free_tokens(fg_option_text *tokens, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fgi_free((char *)tokens[i].text);
        fgi_free((char *)tokens[i].key);
    }
}

/* Sets the key from tokens, with the table's checks; errors name the location of `at`. */
static fg_status set_tokens(reader *r, const fgi_config_key *key, struct fy_node *at,
                            const fg_option_text *tokens, size_t count)
{
    char place[512];
    fg_error inner = {0};
    place_of(r, at, place, sizeof(place));
    const fg_status status =
        fgi_config_set_items(r->c, key->path, &(fg_option_items){tokens, count, place}, &inner);
    return status == FG_OK ? FG_OK : fgi_fail(r->err, status, "%s: %s", place, inner.message);
}

static fg_status read_list(reader *r, const fgi_config_key *key, struct fy_node *name,
                           struct fy_node *node)
{
    fg_option_text tokens[MOST_ITEMS];
    size_t count = 0;
    void *place = NULL;
    struct fy_node *item;
    fg_status status = FG_OK;
    while ((item = fy_node_sequence_iterate(node, &place)) != NULL) {
        if (count == MOST_ITEMS)
            FGI_DONE(blame(r, item, "a list of more than 256 elements"));
        FGI_DONE(read_item(r, key, name, item, &tokens[count]));
        count++;
    }
    status = set_tokens(r, key, name, tokens, count);
done:
    free_tokens(tokens, count);
    return status;
}

/* {0: 1, 4: 2}, an element for each pair; a map of strings may have lists, or maps, too, as their
 * text. */
static fg_status read_map(reader *r, const fgi_config_key *key, struct fy_node *name,
                          struct fy_node *node)
{
    fg_option_text tokens[MOST_ITEMS];
    size_t count = 0;
    void *place = NULL;
    struct fy_node_pair *pair;
    fg_status status = FG_OK;
    while ((pair = fy_node_mapping_iterate(node, &place)) != NULL) {
        if (count == MOST_ITEMS)
            FGI_DONE(blame(r, name, "a map of more than 256 elements"));
        struct fy_node *of_key = fy_node_pair_key(pair), *of_value = fy_node_pair_value(pair);
        const bool has_maps = key->option->range != NULL; /* "{}" */
        const bool is_flow =
            key->option->kind == FG_OPTION_STRING_MAP && !is_null(of_value) &&
            (has_maps ? fy_node_is_mapping(of_value) : fy_node_is_sequence(of_value));
        if (!is_text(of_key) || !(is_flow || is_text(of_value) || is_null(of_value)))
            FGI_DONE(wrong_kind(r, key, name, is_text(of_key) ? of_value : of_key));
        fg_option_text *token = &tokens[count++];
        *token = (fg_option_text){.key = text_of(of_key, NULL)};
        if (is_flow)
            FGI_DONE(flow_of(r, put_value, key, name, of_value, &token->text));
        else
            token->text = is_null(of_value) ? fgi_strdup("null") : text_of(of_value, NULL);
        if (token->key == NULL || token->text == NULL)
            FGI_DONE(fgi_no_memory(r->err));
    }
    status = set_tokens(r, key, name, tokens, count);
done:
    free_tokens(tokens, count);
    return status;
}

/* [0, 2] as one string. */
static fg_status read_devices(reader *r, const fgi_config_key *key, struct fy_node *name,
                              struct fy_node *node)
{
    char list[1024] = "[";
    size_t used = 1;
    void *place = NULL;
    struct fy_node *item;
    while ((item = fy_node_sequence_iterate(node, &place)) != NULL) {
        char *text = text_of(item, NULL);
        if (text == NULL)
            return wrong_kind(r, key, name, item);
        const int size =
            fgi_snprintf(list + used, sizeof(list) - used, "%s%s", used > 1 ? "," : "", text);
        fgi_free(text);
        used += size > 0 ? (size_t)size : 0;
        if (used >= sizeof(list) - 1)
            return blame(r, item, "a list that is too long");
    }
    (void)fgi_snprintf(list + used, sizeof(list) - used, "]");
    return set_tokens(r, key, name, &(fg_option_text){.text = list}, 1);
}

static fg_status read_key(reader *r, const fgi_config_key *key, struct fy_node *name,
                          struct fy_node *node)
{
    if (is_null(node))
        return fgi_config_reset(r->c, key->path, r->err);
    const bool is_map = fgi_option_is_map(key->option), is_list = fy_node_is_sequence(node);
    if (is_map && fy_node_is_mapping(node))
        return read_map(r, key, name, node);
    if (is_list && is_map && fy_node_sequence_is_empty(node)) /* as earlier versions wrote none */
        return fgi_config_reset(r->c, key->path, r->err);
    if (is_list && !is_map && fg_option_is_list(key->option))
        return read_list(r, key, name, node);
    if (is_list && key->option->kind == FG_OPTION_DEVICES)
        return read_devices(r, key, name, node);
    fg_option_text token = {0};
    token.text = text_of(node, &token.is_quoted);
    if (token.text == NULL)
        return wrong_kind(r, key, name, node);
    const fg_status status = set_tokens(r, key, node, &token, 1);
    free_tokens(&token, 1);
    return status;
}

/* ---- file ------------------------------------------------------------------------------------ */

static fg_status unknown(reader *r, struct fy_node *name, const char *path)
{
    char message[400];
    const char *nearest = strchr(path, '.') == NULL ? fgi_config_suggest_section(path) : NULL;
    if (nearest == NULL)
        nearest = fgi_config_suggest(r->c->table, path);
    if (fgi_config_find(r->c->table, path) != NULL) /* a full path as one name */
        (void)fgi_snprintf(message, sizeof(message),
                           "unknown key '%.100s': write '%s' under '%.*s'", path,
                           strchr(path, '.') + 1, (int)(strchr(path, '.') - path), path);
    else if (nearest != NULL)
        (void)fgi_snprintf(message, sizeof(message), "unknown key '%.100s': did you mean '%s'?",
                           path, nearest);
    else
        (void)fgi_snprintf(message, sizeof(message),
                           "unknown key '%.100s' (`fulgurite help config` lists all keys)", path);
    return blame(r, name, message);
}

/* Reads a mapping with the keys of `section` (NULL: top level). */
static fg_status read_mapping(reader *r, const char *section, struct fy_node *mapping);

static fg_status read_section(reader *r, const char *section, struct fy_node *name,
                              struct fy_node *node)
{
    char message[256];
    if (is_null(node))
        return FG_OK;
    if (fy_node_is_mapping(node))
        return read_mapping(r, section, node);
    (void)fgi_snprintf(message, sizeof(message), "%s: expected its keys (%s: {key: value}), got %s",
                       section, section, kind_of(node));
    return blame(r, name, message);
}

static fg_status read_pair(reader *r, const char *section, struct fy_node *name,
                           struct fy_node *node)
{
    char path[256];
    char *text = text_of(name, NULL);
    if (text == NULL)
        return is_text(name) ? fgi_no_memory(r->err) : blame(r, name, "expected the name of a key");
    (void)fgi_snprintf(path, sizeof(path), "%s%s%s", section != NULL ? section : "",
                       section != NULL ? "." : "", text);
    const bool is_section = section == NULL && fgi_config_section_help(text) != NULL;
    const fgi_config_key *key = fgi_config_find(r->c->table, path);
    fg_status status;
    if (is_section)
        status = read_section(r, text, name, node);
    else if (key == NULL || (section == NULL && strchr(path, '.') != NULL))
        status = unknown(r, name, path);
    else
        status = read_key(r, key, name, node);
    fgi_free(text);
    return status;
}

/* {lr: 0,01} is an entry lr: 0 and an entry 01 without a value: an error if such a pair looks like
 * a number with a decimal comma. */
static fg_status check_comma(reader *r, struct fy_node_pair *before, struct fy_node_pair *pair)
{
    char number[64], message[160];
    double value;
    if (before == NULL || !is_null(fy_node_pair_value(pair)))
        return FG_OK;
    char *whole = text_of(fy_node_pair_value(before), NULL);
    char *decimals = text_of(fy_node_pair_key(pair), NULL);
    const bool is_text =
        whole != NULL && decimals != NULL && decimals[0] >= '0' && decimals[0] <= '9';
    (void)fgi_snprintf(number, sizeof(number), "%.30s.%.30s", is_text ? whole : "",
                       is_text ? decimals : "");
    (void)fgi_snprintf(message, sizeof(message),
                       "'%.30s,%.30s' is a value and another key: use a decimal point, %s",
                       is_text ? whole : "", is_text ? decimals : "", number);
    fgi_free(whole);
    fgi_free(decimals);
    return is_text && fgi_parse_f64(fgi_str_of(number), &value)
               ? blame(r, fy_node_pair_value(before), message)
               : FG_OK;
}

static fg_status read_mapping(reader *r, const char *section, struct fy_node *mapping)
{
    void *place = NULL;
    struct fy_node_pair *pair, *before = NULL;
    while ((pair = fy_node_mapping_iterate(mapping, &place)) != NULL) {
        FGI_TRY(check_comma(r, before, pair));
        before = pair;
    }
    place = NULL;
    while ((pair = fy_node_mapping_iterate(mapping, &place)) != NULL)
        FGI_TRY(read_pair(r, section, fy_node_pair_key(pair), fy_node_pair_value(pair)));
    return FG_OK;
}

/* Reports the parser's first error. */
static fg_status syntax_error(reader *r, struct fy_diag *diag)
{
    void *place = NULL;
    const struct fy_diag_error *first = fy_diag_errors_iterate(diag, &place);
    if (first == NULL)
        return fgi_fail(r->err, FG_EINVAL, "%s: not YAML", r->name);
    return fgi_fail(r->err, FG_EINVAL, "%s:%d:%d: not YAML: %s", r->name, first->line,
                    first->column, first->msg);
}

static fg_status read_root(reader *r, struct fy_document *document)
{
    struct fy_node *root = fy_document_root(document);
    if (is_null(root))
        return FG_OK; /* all defaults */
    if (!fy_node_is_mapping(root))
        return blame(r, root, "expected a mapping of keys to values");
    return read_mapping(r, NULL, root);
}

/* Blank lines and comments only, for which libfyaml creates no document. */
static bool is_empty(const char *text, size_t size)
{
    bool in_comment = false;
    for (size_t i = 0; i < size; i++) {
        in_comment = text[i] == '#' || (in_comment && text[i] != '\n');
        if (!in_comment && strchr(" \r\n", text[i]) == NULL)
            return false;
    }
    return true;
}

/* Length in bytes of the character at text[0..size), 0 for invalid UTF-8 and control characters. */
static size_t character(const char *text, size_t size)
{
    const unsigned char c = (unsigned char)text[0];
    if (c < 0x80)
        return (c < 0x20 && strchr("\t\r\n", c) == NULL) || c == 0 || c == 0x7f ? 0 : 1;
    const size_t length = c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < length; i++)
        if (i >= size || ((unsigned char)text[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

/* Rejects bytes that YAML forbids, and directives (%YAML): libfyaml 0.7.12 hangs on some of
 * these. */
static fg_status check_characters(const char *name, const char *text, size_t size, fg_error *err)
{
    int line = 1, column = 1;
    for (size_t i = 0, length; i < size; i += length) {
        length = character(text + i, size - i);
        if (length == 0)
            return fgi_fail(err, FG_EINVAL, "%s:%d:%d: not YAML: byte 0x%02x is not text", name,
                            line, column, (unsigned char)text[i]);
        if (text[i] == '%' && column == 1)
            return fgi_fail(err, FG_EINVAL, "%s:%d:1: YAML directives (%%) are not supported", name,
                            line);
        column = text[i] == '\n' ? 1 : column + 1;
        line += text[i] == '\n';
    }
    return FG_OK;
}

/* How a line divides the file into documents. */
typedef enum line_kind { LINE_BLANK, LINE_START, LINE_END, LINE_CONTENT } line_kind;

static line_kind kind_of_line(const char *line, size_t size)
{
    size_t blank = 0;
    while (blank < size && strchr(" \t\r", line[blank]) != NULL)
        blank++;
    if (blank == size || line[blank] == '#')
        return LINE_BLANK;
    const bool is_marker = size >= 3 && (size == 3 || strchr(" \t\r", line[3]) != NULL);
    if (is_marker && strncmp(line, "---", 3) == 0)
        return LINE_START;
    return is_marker && strncmp(line, "...", 3) == 0 ? LINE_END : LINE_CONTENT;
}

/* Rejects a second document, which would be ignored. */
static fg_status check_single_document(const char *name, const char *text, size_t size,
                                       fg_error *err)
{
    bool has_begun = false, has_ended = false;
    int line = 1;
    for (size_t at = 0; at < size; line++) {
        const char *end = memchr(text + at, '\n', size - at);
        const size_t length = end != NULL ? (size_t)(end - text) - at : size - at;
        const line_kind kind = kind_of_line(text + at, length);
        if (has_begun && kind != LINE_BLANK && (kind == LINE_START || has_ended))
            return fgi_fail(err, FG_EINVAL,
                            "%s:%d:1: a second YAML document: expected one document per file; "
                            "remove the line '---', or split the file",
                            name, line);
        has_begun = has_begun || kind == LINE_START || kind == LINE_CONTENT;
        has_ended = has_ended || (has_begun && kind == LINE_END);
        at += length + 1;
    }
    return FG_OK;
}

fg_status fgi_config_read(fgi_config *c, const char *name, const char *text, size_t size,
                          fg_error *err)
{
    reader r = {.c = c, .name = name, .err = err};
    FGI_TRY(check_characters(name, text, size, err));
    FGI_TRY(check_single_document(name, text, size, err));
    if (is_empty(text, size))
        return FG_OK;
    const struct fy_diag_cfg quiet = {.level = FYET_ERROR, .module_mask = ~0U};
    struct fy_diag *diag = fy_diag_create(&quiet);
    if (diag == NULL)
        return fgi_fail(err, FG_EINVAL, "%s: cannot create the YAML parser", name);
    fy_diag_set_collect_errors(diag, true);
    const struct fy_parse_cfg options = {.diag = diag, .flags = FYPCF_QUIET};
    struct fy_document *document = fy_document_build_from_string(&options, text, size);
    const fg_status status = document != NULL ? read_root(&r, document) : syntax_error(&r, diag);
    fy_document_destroy(document);
    fy_diag_destroy(diag);
    return status;
}

bool fgi_config_is_data(const char *path)
{
    static const char ends[] =
        FGI_CONFIG_TABLES "|.npy|.npz|.gz|.bin|-ubyte|.pack|" FGI_CONFIG_IMAGES;
    return fgi_is_folder(path) || (fgi_file_exists(path) && fgi_ends_in_one_of(path, ends));
}

fg_status fgi_config_read_file(fgi_config *c, const char *path, fg_error *err)
{
    fg_status status = FG_OK;
    if (fgi_config_is_data(path))
        return fgi_fail(err, FG_EINVAL,
                        "'%s' is not a configuration: expected a YAML file\nto write one for these "
                        "data, use: fulgurite init %s",
                        path, path);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return fgi_fail(err, FG_EINVAL, "cannot open '%s': %s", path, fgi_errno_text(errno));
    char *text = fgi_calloc(MAX_FILE_BYTES + 1, 1);
    const size_t size = text != NULL ? fread(text, 1, MAX_FILE_BYTES + 1, file) : 0;
    if (text == NULL)
        status = fgi_no_memory(err);
    else if (ferror(file))
        status = fgi_fail(err, FG_EINVAL, "cannot read '%s': %s", path, fgi_errno_text(errno));
    else if (size > MAX_FILE_BYTES)
        status = fgi_fail(err, FG_EINVAL,
                          "'%s' is longer than 1 MiB, which is too long for a configuration", path);
    else
        status = fgi_config_read(c, path, text, size, err);
    fgi_free(text);
    (void)fclose(file);
    return status;
}
