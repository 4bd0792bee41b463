/* catalog_options.h - the options of a catalog as text, for command lines and configurations.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CATALOG_CATALOG_OPTIONS_H
#define FGI_CATALOG_CATALOG_OPTIONS_H

#include <fulgurite/catalog.h>

/* Sets the options that `text` names, "path_column=file, delimiter=;"; NULL: none. Their strings
 * live as long as *out_texts, which the caller frees (fgi_free). *out_twice, which may be NULL: the
 * name of a string that was already set; NULL if there is none. Errors: FG_EINVAL (an unknown
 * option or an invalid value), FG_ENOMEM; *out_texts is then NULL. */
fg_status fgi_catalog_options_read(const char *text, fg_catalog_options *options, void **out_texts,
                                   const char **out_twice, fg_error *err);

#endif
