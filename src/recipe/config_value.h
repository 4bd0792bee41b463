/* config_value.h - how the files of the configuration see its values.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_CONFIG_VALUE_H
#define FGI_RECIPE_CONFIG_VALUE_H

#include "recipe/config.h"

enum { FGI_CONFIG_MAX_ITEMS = 256 };

/* A text on its way to become a value; a quoted one is never a number. */
typedef struct fgi_config_token {
    const char *text;
    bool is_quoted;
} fgi_config_token;

/* One number, flag or text; which, the key's kind tells. */
typedef struct fgi_config_item {
    int64_t whole;
    double number;
    char *text;       /* owned */
    char *alias;      /* owned; another program's word that was given for `text`, NULL: none */
    bool is_fraction; /* an amount: `number` of the whole, not `whole` pieces */
} fgi_config_item;

typedef struct fgi_config_value {
    fgi_config_item *items;
    size_t count;
    bool is_auto;
    char *place; /* where it was given; NULL: it is the default */
} fgi_config_value;

bool fgi_config_is_list(const fgi_config_key *key);
/* "KEY: expected ..., got ..."; always false. */
bool fgi_config_unexpected(const fgi_config_key *key, const fgi_config_token *token, fg_error *err);
/* A choice in any case or another program's spelling of it, and true or false. */
bool fgi_config_parse_choice(const fgi_config_key *key, const fgi_config_token *token,
                             fgi_config_item *out, fg_error *err);
bool fgi_config_parse_bool(const fgi_config_key *key, const fgi_config_token *token,
                           fgi_config_item *out, fg_error *err);
/* Whether the text is one of "a|b|c". */
bool fgi_config_is_listed(const char *choices, const char *text);
/* The value of a key that names devices, as it is printed. */
bool fgi_config_parse_devices(const fgi_config_key *key, const char *text, fgi_config_item *out,
                              fg_error *err);
/* One rule of sharding, as written in one line. */
bool fgi_config_parse_rule(const fgi_config_key *key, const char *text, fgi_config_item *out,
                           fg_error *err);
const fgi_config_value *fgi_config_value_of(const fgi_config *c, const fgi_config_key *key);

/* Replaces a value. Errors begin with the key's path. */
bool fgi_config_set(fgi_config *c, const fgi_config_key *key, const fgi_config_token *tokens,
                    size_t count, const char *place, fg_error *err);
/* The same from a string as given on a command line. */
bool fgi_config_set_text(fgi_config *c, const fgi_config_key *key, const char *text,
                         const char *place, fg_error *err);
/* Back to the default; false when out of memory. */
bool fgi_config_reset(fgi_config *c, const fgi_config_key *key, fg_error *err);

#endif
