/* key_help.h - help for the keys of a configuration.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef KEY_HELP_H
#define KEY_HELP_H

#include "base/buf.h"
#include "cli.h"
#include "recipe/config/config_table.h"

/* Keys with meaning and examples: all (NULL), those of a section, one, or the options of a
 * callback, logger or augmentation. False: there is no such key, section or name. */
bool key_help_put(fgi_buf *out, const char *about);
/* The names of all keys, by section. */
void key_help_put_names(fgi_buf *out);
/* The reference of all keys, and of the rows that lists name, in Markdown: docs/config.md. */
void key_help_put_reference(fgi_buf *out);

/* Values of a key that can be completed, "sgd|adam"; "" if there are none. */
const char *key_words(const fgi_config_key *key);
/* The key or section that a misspelt one was probably meant to be, or NULL. */
const char *key_suggest(const char *path);

#endif
