/* fuzz_tar.c - any bytes as a tar archive in WebDataset's layout.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fuzz_catalog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_catalog(fuzz_file(data, size), &(fg_catalog_options){.kind = "tar"});
    fuzz_catalog(fuzz_file(data, size),
                 &(fg_catalog_options){.kind = "tar", .label_member = "txt", .no_classes = true});
    return 0;
}
