/* row_numbers.c - the numbers of a dataset's samples as a dataset: for programs that have the
 * samples themselves.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"
#include "data/dataset.h"

static fg_status gather_numbers(void *self, int64_t epoch, const int64_t *indices, size_t n,
                                void *const *out_fields, fg_error *err)
{
    int32_t *out = out_fields[0];
    (void)self, (void)epoch, (void)err;
    for (size_t i = 0; i < n; i++)
        out[i] = (int32_t)indices[i];
    return FG_OK;
}

fg_status fgi_dataset_row_numbers(const fg_dataset *of, fg_dataset **out, fg_error *err)
{
    static const fg_field field = {"row", {.dtype = FG_S32}};
    static const fgi_gathered functions = {.gather_epoch = gather_numbers};
    const fg_dataset_spec spec = {.count = of->count, .fields = &field, .field_count = 1};
    FGI_TRY(fgi_dataset_create_gathered(&functions, NULL, &spec, out, err));
    (*out)->reads_rows = (*out)->varies = false;
    return FG_OK;
}
