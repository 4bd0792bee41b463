/* json_file.c - JSON out of files, for tensor headers, manifests and state.json.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "ckpt/json_file.h"

#include "base/error.h"

fg_status fgi_json_parse(const char *path, size_t offset, const char *text, size_t size,
                         json_t **out, fg_error *err)
{
    json_error_t fault;
    *out = json_loadb(text, size, JSON_REJECT_DUPLICATES, &fault);
    if (*out)
        return FG_OK;
    /* jansson 2.14 says nothing at all where some of its own allocations fail */
    if (json_error_code(&fault) == json_error_out_of_memory || !fault.text[0])
        return fgi_no_memory(err);
    return fgi_fail(err, FG_EFORMAT, "%s: byte %zu: not JSON: %s", path,
                    offset + (size_t)fault.position, fault.text);
}
