/* config_value.h - how the files of the configuration see its values.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONFIG_VALUE_H
#define CONFIG_VALUE_H

#include "config.h"

enum { CONFIG_MAX_ITEMS = 256 };

/* A text on its way to become a value; a quoted one is never a number. */
typedef struct config_token {
    const char *text;
    bool is_quoted;
} config_token;

/* One number, flag or text; which, the key's kind tells. */
typedef struct config_item {
    int64_t whole;
    double number;
    char *text;    /* owned */
    char *alias;   /* owned; another program's word that was given for `text`, NULL: none */
    bool is_share; /* an amount: `number` of the whole, not `whole` pieces */
} config_item;

typedef struct config_value {
    config_item *items;
    size_t count;
    bool is_auto;
    char *place; /* where it was given; NULL: it is the default */
} config_value;

bool config_is_list(const config_key *key);
/* "KEY: expected ..., got ..."; always false. */
bool config_unexpected(const config_key *key, const config_token *token, fg_error *err);
/* A choice in any case or another program's spelling of it, and true or false. */
bool config_parse_choice(const config_key *key, const config_token *token, config_item *out,
                         fg_error *err);
bool config_parse_bool(const config_key *key, const config_token *token, config_item *out,
                       fg_error *err);
/* Whether the text is one of "a|b|c". */
bool config_is_listed(const char *choices, const char *text);
/* The value of a key that names devices, as it is printed. */
bool config_parse_devices(const config_key *key, const char *text, config_item *out, fg_error *err);
/* One rule of sharding, as written in one line. */
bool config_parse_rule(const config_key *key, const char *text, config_item *out, fg_error *err);
const config_value *config_value_of(const config *c, const config_key *key);

/* Replaces a value. Errors begin with the key's path. */
bool config_set(config *c, const config_key *key, const config_token *tokens, size_t count,
                const char *place, fg_error *err);
/* The same from a text as it stands on a command line. */
bool config_set_text(config *c, const config_key *key, const char *text, const char *place,
                     fg_error *err);
/* Back to the default. */
void config_reset(config *c, const config_key *key);

#endif
