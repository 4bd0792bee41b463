/* fuzz_manifest.c - any bytes as manifest.json: rejected, or a manifest that round-trips.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include <string.h>
#include "base/alloc.h"
#include "ckpt/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fgi_manifest first, second;
    fg_error err = {0};
    if (fgi_manifest_parse("input", (const char *)data, size, &first, &err) != FG_OK)
        return 0;
    /* not escaped: written by us */
    memset(first.library_version, 0, sizeof(first.library_version));
    char *text = fgi_manifest_format(&first);
    if (text == NULL || fgi_manifest_parse("again", text, strlen(text), &second, &err) != FG_OK)
        abort();
    if (memcmp(&first, &second, sizeof(first)) != 0)
        abort();
    fgi_free(text);
    return 0;
}
