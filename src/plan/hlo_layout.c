/* hlo_layout.c - sizes of arrays in the tiles of their layouts.
 *
 * A layout orders the dimensions from fastest to slowest varying. Its first tile covers the fastest
 * ones, which are padded to whole tiles. Each further tile covers the previous tile in the same way
 * (XLA's documentation, "Tiled layout").
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/hlo_work.h"

enum { EXTENT_MAX = FG_MAX_RANK * 4 };

static int64_t round_up(int64_t value, int64_t unit)
{
    return unit > 1 ? (value + unit - 1) / unit * unit : value;
}

/* Replaces the last dimensions, as many as the tile has, by the number of tiles and the tile. */
static size_t apply_tile(const Fgi__Hlo__Tile *tile, int64_t *extent, size_t count)
{
    while (count < tile->n_dimension &&
           count < EXTENT_MAX) { /* a scalar in a tile of one dimension */
        for (size_t i = count++; i > 0; i--)
            extent[i] = extent[i - 1];
        extent[0] = 1;
    }
    if (count < tile->n_dimension || count + tile->n_dimension > EXTENT_MAX)
        return count;
    int64_t *last = extent + count - tile->n_dimension;
    for (size_t i = 0; i < tile->n_dimension; i++) {
        const int64_t size = tile->dimension[i];
        if (size < 1)
            return count;
        last[tile->n_dimension + i] = size;
        last[i] = (last[i] + size - 1) / size;
    }
    return count + tile->n_dimension;
}

static int64_t padded_array(const fgi_hlo_shape *shape)
{
    int64_t extent[EXTENT_MAX];
    const Fgi__Hlo__Layout *layout = shape->layout;
    const size_t rank = shape->n_dimension;
    const int64_t elements = fgi_hlo_bytes(shape);
    size_t count = rank;
    if (layout == NULL || layout->n_tile == 0 || elements == 0 ||
        layout->n_minor_to_major != rank || rank > FG_MAX_RANK)
        return elements;
    int64_t whole = 1, padded = 1;
    for (size_t i = 0; i < rank; i++) {
        const int64_t d = layout->minor_to_major[rank - 1 - i];
        if (d < 0 || (size_t)d >= rank)
            return elements;
        extent[i] = shape->dimension[d];
        whole *= extent[i];
    }
    for (size_t i = 0; i < layout->n_tile; i++)
        count = apply_tile(layout->tile[i], extent, count);
    for (size_t i = 0; i < count; i++)
        padded *= extent[i];
    return elements / whole * padded;
}

int64_t fgi_hlo_padded_bytes(const fgi_hlo_shape *shape)
{
    int64_t bytes = 0;
    if (shape == NULL)
        return 0;
    for (size_t i = 0; i < shape->n_part; i++)
        bytes += fgi_hlo_padded_bytes(shape->part[i]);
    return shape->n_part > 0 ? bytes : padded_array(shape);
}

fgi_plan_dim fgi_hlo_padded_dim(const fgi_hlo_shape *shape, int64_t i)
{
    fgi_plan_dim dim = {.unit = 1};
    if (i < 0 || (size_t)i >= shape->n_dimension)
        return dim;
    const Fgi__Hlo__Layout *layout = shape->layout;
    dim.size = dim.padded = shape->dimension[i];
    if (layout == NULL || layout->n_tile == 0)
        return dim;
    const Fgi__Hlo__Tile *tile = layout->tile[0];
    for (size_t k = 0; k < layout->n_minor_to_major && k < tile->n_dimension; k++)
        if (layout->minor_to_major[k] == i)
            dim.unit = tile->dimension[tile->n_dimension - 1 - k];
    dim.unit = dim.unit > 0 ? dim.unit : 1;
    dim.padded = round_up(dim.size, dim.unit);
    return dim;
}

void fgi_hlo_main_bytes(const fgi_hlo_shape *shape, double *bytes, double *padded)
{
    if (shape == NULL)
        return;
    for (size_t i = 0; i < shape->n_part; i++)
        fgi_hlo_main_bytes(shape->part[i], bytes, padded);
    if (shape->n_part > 0 || (shape->layout != NULL && shape->layout->memory_space != 0))
        return;
    *bytes += (double)fgi_hlo_bytes(shape);
    *padded += (double)padded_array(shape);
}
