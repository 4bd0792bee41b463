/* config_table.h - the keys of a configuration: those in config_keys.c and, by section, the options
 * of the rows of a registry.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_RECIPE_CONFIG_TABLE_H
#define FGI_RECIPE_CONFIG_TABLE_H

#include "recipe/config/config.h"

/* A section, in the order of --print-config: the key `name` (or `format`), whose choices are the
 * rows of a kind, the options of these rows, and further keys. */
typedef struct fgi_config_section {
    const char *name, *help; /* name "": keys at the top */
    bool has_entries;
    fg_registry_kind kind;
    const char *key;            /* that names a row: "format" [NULL: "name"] */
    const char *later;          /* of `name`: rows planned for a later version */
    bool has_auto;              /* of `name` */
    const char *initial;        /* of `name` */
    const char *before, *after; /* help of `name`, before and after that of the rows */
    size_t name_offset;         /* of `name` in fgi_config */
    struct {
        const fg_entry *(*row)(void); /* options of a C struct that are keys; NULL: none */
        size_t offset;                /* of that struct in fgi_config */
    } tables[2];
    const fg_option *options; /* further keys: the name, and that in `only`, is the full path */
    size_t option_count;
} fgi_config_section;

extern const fgi_config_section fgi_config_sections[];
extern const size_t fgi_config_section_count;
/* Names used by other programs, and the key to suggest. */
typedef struct fgi_config_elsewhere {
    const char *theirs, *ours;
} fgi_config_elsewhere;
extern const fgi_config_elsewhere fgi_config_names_elsewhere[];
extern const size_t fgi_config_elsewhere_count;

/* Checks that no option of a row has the name of a further key of its section, which it would hide:
 * FG_EINVAL. */
fg_status fgi_config_table_check(const fg_registry *registry, fg_error *err);
/* The keys of a registry, which must outlive the table. NULL when out of memory. */
fgi_config_table *fgi_config_table_create(const fg_registry *registry);
void fgi_config_table_destroy(fgi_config_table *table);
#endif
