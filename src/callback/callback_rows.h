/* callback_rows.h - the rows of callbacks.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGI_CALLBACK_CALLBACK_ROWS_H
#define FGI_CALLBACK_CALLBACK_ROWS_H

#include <fulgurite/callback.h>

/* The built-in rows (callback_rows.c). */
extern const fg_entry *const fgi_callback_rows[];
extern const size_t fgi_callback_row_count;

/* The functions save and load of a callback whose state is one struct of this size. */
size_t fgi_state_save(const void *state, size_t state_size, void *bytes, size_t size);
fg_status fgi_state_load(void *state, size_t state_size, const void *bytes, size_t size,
                         fg_error *err);

/* Options that several rows have. */
#define FGI_OPTION_MODE(type)                                                                      \
    FG_OPTION_ENUM(type, mode, "auto", "auto|min|max", "max",                                      \
                   "Whether a smaller or a larger value is better. auto: max for names that end "  \
                   "in acc, f1, precision, recall or r2, otherwise min.",                          \
                   .spellings = "minimize=min|maximize=max")
#define FGI_OPTION_USE_BUFFERS(type)                                                               \
    FG_OPTION_AS("use_buffers", type, average.use_buffers, BOOL, "true", NULL, "false",            \
                 "Also average buffers, such as the running statistics of batch norm. false: "     \
                 "evaluations use their current values.")

#endif
