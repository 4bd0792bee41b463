/* catalog_options.h - the options of a catalog as a map, for command lines and configurations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CATALOG_CATALOG_OPTIONS_H
#define FGI_CATALOG_CATALOG_OPTIONS_H

#include <fulgurite/catalog.h>
#include <fulgurite/option.h>

/* Sets the options that a map names, which is given as text, "{path_column: file}", or as a value;
 * both may be NULL. Their strings live as long as *out_texts, which the caller frees (fgi_free).
 * Errors: FG_EINVAL (an unknown option or an invalid value), FG_ENOMEM; *out_texts is then NULL. */
fg_status fgi_catalog_options_read(const char *text, const fg_string_map *map,
                                   fg_catalog_options *options, void **out_texts, fg_error *err);

#endif
