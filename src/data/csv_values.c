/* csv_values.c - the distinct strings of a column or of the classes, with indexes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/alloc.h"
#include "data/csv_schema.h"

fgi_added fgi_values_add(fgi_values *values, fgi_arena *arena, fgi_str text, size_t limit)
{
    const fgi_hash hash = fgi_hash_bytes(text.data, text.size);
    if (fgi_map_get(&values->index, hash) != NULL)
        return FGI_ADDED;
    if (values->count >= limit)
        return FGI_FULL;
    const char **texts =
        fgi_grow((void *)values->texts, values->count, &values->capacity, sizeof(*values->texts));
    if (texts == NULL)
        return FGI_NO_MEMORY;
    values->texts = texts;
    char *copy = fgi_arena_alloc(arena, text.size + 1);
    if (copy == NULL || !fgi_map_put(&values->index, hash, copy))
        return FGI_NO_MEMORY;
    if (text.size > 0)
        memcpy(copy, text.data, text.size);
    values->texts[values->count++] = copy;
    return FGI_ADDED;
}

static int compare_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_numbers(const void *a, const void *b)
{
    double x = 0, y = 0;
    (void)fgi_parse_f64(fgi_str_of(*(const char *const *)a), &x);
    (void)fgi_parse_f64(fgi_str_of(*(const char *const *)b), &y);
    return x != y ? (x > y) - (x < y) : compare_bytes(a, b);
}

bool fgi_values_seal(fgi_values *values, fgi_order order)
{
    if (order != FGI_AS_ADDED && values->count > 1)
        qsort((void *)values->texts, values->count, sizeof(*values->texts),
              order == FGI_NUMERIC ? compare_numbers : compare_bytes);
    fgi_map_clear(&values->index);
    for (size_t i = 0; i < values->count; i++) {
        const char *text = values->texts[i];
        if (!fgi_map_put(&values->index, fgi_hash_bytes(text, strlen(text)),
                         (void *)&values->texts[i]))
            return false;
    }
    return true;
}

int64_t fgi_values_find(const fgi_values *values, fgi_str text)
{
    const char *const *place = fgi_map_get(&values->index, fgi_hash_bytes(text.data, text.size));
    return place == NULL ? -1 : place - values->texts;
}

void fgi_values_fini(fgi_values *values)
{
    fgi_free((void *)values->texts);
    fgi_map_fini(&values->index);
    *values = (fgi_values){0};
}

fgi_cell fgi_schema_cell(const fg_csv_schema *schema, fgi_str cell, double *out)
{
    if (schema->na.count > 0 && fgi_values_find(&schema->na, cell) >= 0)
        return FGI_CELL_MISSING;
    return fgi_cell_number(cell, out);
}

/* 2^53: every integer up to it can be represented in f64. */
static const double largest_exact = 9007199254740992.0;

fgi_str fgi_class_text(const fg_csv_schema *schema, fgi_str cell, char scratch[32])
{
    double value;
    if (!schema->has_numeric_classes || fgi_schema_cell(schema, cell, &value) != FGI_CELL_NUMBER ||
        value != trunc(value) || fabs(value) > largest_exact)
        return cell;
    const int size = snprintf(scratch, 32, "%" PRId64, (int64_t)value);
    return (fgi_str){scratch, (size_t)size};
}
