/* fit_run.c - runs of fulgurite fit in separate folders, and the JSON that they write.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fit_run.h"

const char *fit_folder(void)
{
    const char *folder = fgt_temp_folder();
    fgt_write(fgt_path(folder, "digits.yaml"), fit_digits, strlen(fit_digits));
    return folder;
}

json_t *fit_json(const char *folder, const char *name)
{
    json_error_t fault;
    json_t *root = json_load_file(fgt_path(folder, name), 0, &fault);
    if (root == NULL)
        fail_msg("%s: line %d: %s", name, fault.line, fault.text);
    return root;
}

double fit_metric(const json_t *summary, const char *name)
{
    const json_t *value = json_object_get(json_object_get(summary, "metrics"), name);
    if (!json_is_number(value))
        fail_msg("the summary has no metric %s", name);
    return json_number_value(value);
}
