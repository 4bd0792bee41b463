/* catalog_options.h - the options of a catalog as text, for command lines and configurations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CATALOG_CATALOG_OPTIONS_H
#define FGI_CATALOG_CATALOG_OPTIONS_H

#include <fulgurite/catalog.h>
#include <fulgurite/option.h>

/* Sets the option that is a string and has this name; the value is borrowed. */
void fgi_catalog_option_set(fg_catalog_options *options, const char *name, const char *value);

/* Sets the options that `text` names, "path_column=file, delimiter=;"; NULL: none. Their strings
 * live as long as *out_values, which the caller destroys. Errors: FG_EINVAL (an unknown option or
 * an invalid value), FG_ENOMEM; *out_values is then NULL. */
fg_status fgi_catalog_options_read(const char *text, fg_catalog_options *options,
                                   fg_option_values **out_values, fg_error *err);

#endif
