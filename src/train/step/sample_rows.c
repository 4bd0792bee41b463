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
    fgi_free(r->scored);
    fgi_free(r->label_sums);
    r->label_sums = NULL;
    r->label_count = 0;
    r->confusion = NULL;
    r->scored = NULL;
    r->scored_capacity = 0;
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

/* Keeps the target and the scores of a sample. */
static fg_status take_scores(fgi_sample_rows *r, const float *value, fg_error *err)
{
    const size_t width = (size_t)r->score_width + 1, at = (size_t)r->samples;
    if (at >= r->scored_capacity) {
        const size_t capacity = 2 * at + 1024;
        float *grown = fgi_realloc(r->scored, capacity * width * sizeof *grown);
        if (grown == NULL)
            return fgi_no_memory(err);
        r->scored = grown;
        r->scored_capacity = capacity;
    }
    r->scored[at * width] = value[0];
    memcpy(r->scored + at * width + 1, value + FGI_ROW_VALUES, (width - 1) * sizeof *value);
    return FG_OK;
}

static fg_status take_rows(fgi_sample_rows *r, int64_t count, fg_error *err)
{
    const int64_t n = r->class_count;
    for (int64_t i = 0; i < count; i++) {
        const float *value = r->host + i * (FGI_ROW_VALUES + r->score_width);
        if (r->score_width > 0)
            FGI_TRY(take_scores(r, value, err));
        const fg_sample_row row = {r->samples++, value[0], value[1], value[2]};
        const bool is_known = row.target >= 0 && row.target < (float)n && row.prediction >= 0 &&
                              row.prediction < (float)n;
        if (is_known)
            r->confusion[(int64_t)row.target * n + (int64_t)row.prediction]++;
        take_worst(r, &row);
    }
    return FG_OK;
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
        r->score_width = fg_array_type(r->array[i])->dim[1] - FGI_ROW_VALUES;
        if (status == FG_OK)
            status = take_rows(r, r->valid[i], err);
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

/* The score of a sample for class c of `classes`, and whether it has the class. */
static fgi_scored scored_of(const fgi_sample_rows *r, int64_t sample, int64_t c, int64_t classes)
{
    const float *row = r->scored + sample * (r->score_width + 1);
    if (r->score_width == 2 * classes) /* several labels per sample */
        return (fgi_scored){row[1 + c], row[1 + classes + c] > 0.5F};
    const float label = classes == 1 ? 1 : (float)c; /* of two classes, the second one */
    return (fgi_scored){row[1 + c], row[0] == label};
}

fg_status fgi_sample_rows_rank(const fgi_sample_rows *r, bool is_multilabel, double out_ranked[2],
                               fg_error *err)
{
    const int64_t classes = is_multilabel ? r->score_width / 2 : r->score_width;
    fgi_scored *samples = fgi_calloc((size_t)r->samples + 1, sizeof *samples);
    double count[2] = {0}, sum[2] = {0}, value[2];
    if (samples == NULL)
        return fgi_no_memory(err);
    for (int64_t c = 0; c < classes && r->samples > 0; c++) {
        for (int64_t i = 0; i < r->samples; i++)
            samples[i] = scored_of(r, i, c, classes);
        fgi_rank_scores(samples, (size_t)r->samples, &value[0], &value[1]);
        for (int k = 0; k < 2; k++) {
            count[k] += !isnan(value[k]);
            sum[k] += isnan(value[k]) ? 0 : value[k];
        }
    }
    for (int k = 0; k < 2; k++)
        out_ranked[k] = count[k] > 0 ? sum[k] / count[k] : (double)NAN;
    fgi_free(samples);
    return FG_OK;
}
