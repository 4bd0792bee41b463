/* sample_rows.c - see sample_rows.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/sample_rows.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"

static bool grow(fgi_sample_rows *r)
{
    const size_t capacity = r->capacity > 0 ? 2 * r->capacity : 16;
    fg_array **array = fgi_realloc(r->array, capacity * sizeof(*array));
    r->array = array != NULL ? array : r->array;
    int64_t *valid = array != NULL ? fgi_realloc(r->valid, capacity * sizeof *valid) : NULL;
    r->valid = valid != NULL ? valid : r->valid;
    r->capacity = valid != NULL ? capacity : r->capacity;
    return valid != NULL;
}

void fgi_sample_rows_add(fgi_sample_rows *r, fg_array *take_array, int64_t valid)
{
    const bool is_full = r->rows + valid > FGI_MOST_ROWS;
    if (is_full || (r->count == r->capacity && !grow(r))) {
        fg_array_release(take_array);
        if (!is_full)
            fgi_sample_rows_clear(r);
        return;
    }
    r->array[r->count] = take_array;
    r->valid[r->count++] = valid;
    r->rows += valid;
}

void fgi_sample_rows_clear(fgi_sample_rows *r)
{
    for (size_t i = 0; i < r->count; i++)
        fg_array_release(r->array[i]);
    r->count = 0;
    r->rows = 0;
}

void fgi_sample_rows_fini(fgi_sample_rows *r)
{
    fgi_sample_rows_clear(r);
    fgi_free(r->array);
    fgi_free(r->valid);
    *r = (fgi_sample_rows){0};
}

static fg_status read_batch(const fg_array *array, fg_sample_row *out, fg_error *err)
{
    fgi_event *arrived = NULL;
    FGI_TRY(fgi_array_download(array, out, fg_type_bytes(fg_array_type(array)), &arrived, err));
    const fg_status status = fgi_event_wait(arrived, err);
    fgi_event_destroy(arrived);
    return status;
}

fg_status fgi_sample_rows_read(const fgi_sample_rows *r, fg_client *client, fg_sample_row **out,
                               fg_error *err)
{
    fg_status status = FG_OK;
    int64_t used = 0;
    const int64_t begin = fgi_now_ns();
    *out = NULL;
    if (r->count == 0)
        return FG_OK;
    /* the last batch is copied with its padding rows */
    const size_t batch = (size_t)fg_array_type(r->array[0])->dim[0];
    fg_sample_row *rows = fgi_calloc((size_t)r->rows + batch, sizeof *rows);
    if (rows == NULL)
        return fgi_no_memory(err);
    for (size_t i = 0; i < r->count && status == FG_OK; used += r->valid[i++])
        status = read_batch(r->array[i], rows + used, err);
    fgi_client_count_read(client, "rows of samples", used * (int64_t)sizeof *rows,
                          fgi_now_ns() - begin);
    if (status != FG_OK)
        fgi_free(rows);
    else
        *out = rows;
    return status;
}
