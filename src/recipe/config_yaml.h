/* config_yaml.h - what the files that read YAML share: nodes as text, and errors with their place.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_CONFIG_YAML_H
#define FGI_RECIPE_CONFIG_YAML_H

#include <libfyaml.h>

#include "recipe/config.h"

typedef struct fgi_yaml_reader {
    fgi_config *c;
    const char *name; /* of the file */
    fg_error *err;
} fgi_yaml_reader;

/* FG_EINVAL: the message after the place of the node. */
fg_status fgi_yaml_blame(fgi_yaml_reader *r, struct fy_node *node, const char *message);
/* FG_EINVAL: a value that the key does not accept, at `at`. */
fg_status fgi_yaml_wrong_kind(fgi_yaml_reader *r, const fgi_config_key *key, struct fy_node *at,
                              struct fy_node *node);
/* The scalar's text, owned by the caller; NULL if it is not a plain or quoted scalar, or when out
 * of memory, which fgi_yaml_is_text distinguishes. out_is_quoted may be NULL. */
char *fgi_yaml_text_of(struct fy_node *node, bool *out_is_quoted);
bool fgi_yaml_is_text(struct fy_node *node);
bool fgi_yaml_is_null(struct fy_node *node);
/* "a list", for messages. */
const char *fgi_yaml_kind_of(struct fy_node *node);

/* An element of a list; the caller owns out->text. Mappings become the text that the command line
 * accepts: rules and rows with options (config_yaml_items.c). */
fg_status fgi_yaml_item(fgi_yaml_reader *r, const fgi_config_key *key, struct fy_node *name,
                        struct fy_node *node, fg_option_text *out);

#endif
