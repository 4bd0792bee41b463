/* config_text.h - configurations of a YAML text, for their tests.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FGT_CONFIG_TEXT_H
#define FGT_CONFIG_TEXT_H

#include "fgt.h"
#include "recipe/config/config.h"

/* The defaults overridden by a YAML text; fails the test if it is rejected. */
static inline fgi_config *config_read(const char *yaml)
{
    fg_error err = {0};
    fgi_config *c = fgi_config_create(NULL, NULL);
    if (fgi_config_read(c, "run.yaml", yaml, strlen(yaml), &err) != FG_OK)
        fail_msg("%s", err.message);
    return c;
}

/* The text is rejected with this message. */
static inline void config_refused(const char *yaml, const char *message)
{
    fg_error err = {0};
    fgi_config *c = fgi_config_create(NULL, NULL);
    assert_int_not_equal(fgi_config_read(c, "run.yaml", yaml, strlen(yaml), &err), FG_OK);
    assert_string_equal(err.message, message);
    fgi_config_destroy(c);
}

/* The configuration as YAML (fgi_free). */
static inline char *config_printed(const fgi_config *c, bool with_comments)
{
    fgi_buf text = {0};
    fgi_config_print(c, &text, with_comments);
    return fgi_buf_take(&text);
}

#endif
