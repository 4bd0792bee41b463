/* sample_rows.c - see sample_rows.h.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "train/step/stage.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/thread.h"

static void drop(fgi_sample_rows *r, int count)
{
    for (int i = 0; i < count; i++)
        fg_array_release(r->array[i]);
    r->held -= count;
    memmove(r->array, r->array + count, (size_t)r->held * sizeof *r->array);
    memmove(r->valid, r->valid + count, (size_t)r->held * sizeof *r->valid);
}

void fgi_sample_rows_clear(fgi_sample_rows *r)
{
    drop(r, r->held);
    fgi_free(r->confusion);
    r->confusion = NULL;
    r->class_count = r->samples = 0;
    r->worst_count = 0;
}

void fgi_sample_rows_fini(fgi_sample_rows *r)
{
    fgi_sample_rows_clear(r);
    fgi_free(r->host);
    *r = (fgi_sample_rows){0};
}

/* NaN is the largest. */
static float order_of(float loss) { return isnan(loss) ? HUGE_VALF : loss; }

static void take_worst(fgi_sample_rows *r, const fg_sample_row *row)
{
    size_t at = r->worst_count;
    while (at > 0 && order_of(r->worst[at - 1].loss) < order_of(row->loss))
        at--;
    if (at == FGI_ROWS_WORST)
        return;
    r->worst_count += r->worst_count < FGI_ROWS_WORST;
    memmove(r->worst + at + 1, r->worst + at, (r->worst_count - at - 1) * sizeof *r->worst);
    r->worst[at] = *row;
}

static void take_rows(fgi_sample_rows *r, int64_t count)
{
    const int64_t n = r->class_count;
    for (int64_t i = 0; i < count; i++) {
        const float *value = r->host + i * FGI_ROW_VALUES;
        const fg_sample_row row = {r->samples++, value[0], value[1], value[2]};
        const bool is_known = row.target >= 0 && row.target < (float)n && row.prediction >= 0 &&
                              row.prediction < (float)n;
        if (is_known)
            r->confusion[(int64_t)row.target * n + (int64_t)row.prediction]++;
        take_worst(r, &row);
    }
}

static fg_status read_batch(fgi_sample_rows *r, const fg_array *array, fg_error *err)
{
    const size_t bytes = fg_type_bytes(fg_array_type(array));
    fgi_event *arrived = NULL;
    if (bytes > r->host_bytes) {
        fgi_free(r->host);
        r->host = fgi_alloc(bytes);
        r->host_bytes = r->host != NULL ? bytes : 0;
        if (r->host == NULL)
            return fgi_no_memory(err);
    }
    FGI_TRY(fgi_array_download(array, r->host, bytes, &arrived, err));
    const fg_status status = fgi_event_wait(arrived, err);
    fgi_event_destroy(arrived);
    return status;
}

/* Counts the rows of the oldest batches. */
static fg_status count_oldest(fgi_sample_rows *r, int count, fg_error *err)
{
    fg_status status = FG_OK;
    int64_t bytes = 0;
    const int64_t begin = fgi_now_ns();
    for (int i = 0; i < count && status == FG_OK; i++) {
        status = read_batch(r, r->array[i], err);
        if (status == FG_OK)
            take_rows(r, r->valid[i]);
        bytes += (int64_t)fg_type_bytes(fg_array_type(r->array[i]));
    }
    if (count > 0)
        fgi_client_count_read(r->client, "rows of samples", bytes, fgi_now_ns() - begin);
    drop(r, count);
    return status;
}

fg_status fgi_sample_rows_reserve(fgi_sample_rows *r, int64_t class_count, fg_error *err)
{
    if (r->held == FGI_ROWS_HELD)
        FGI_TRY(count_oldest(r, FGI_ROWS_HELD / 2, err));
    if (r->confusion != NULL || class_count == 0 || class_count > FGI_ROWS_CLASSES)
        return FG_OK;
    r->confusion = fgi_calloc((size_t)(class_count * class_count), sizeof *r->confusion);
    r->class_count = r->confusion != NULL ? class_count : 0;
    return r->confusion != NULL ? FG_OK : fgi_no_memory(err);
}

void fgi_sample_rows_add(fgi_sample_rows *r, fg_array *take_array, int64_t valid)
{
    r->array[r->held] = take_array;
    r->valid[r->held++] = valid;
}

fg_status fgi_sample_rows_count(fgi_sample_rows *r, fg_error *err)
{
    return count_oldest(r, r->held, err);
}
