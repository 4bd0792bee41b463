/* resample.c - images cut out, resized and moved: compositions of matmuls and gathers.
 *
 * A box that is parallel to the image is resized by two matmuls, with weights that are computed
 * from the box: this includes the low-pass filter for smaller results, and matrix units are fast at
 * it. Other affine maps gather the neighbors of each pixel.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "op/pool.h"

/* Whether x is T[B,H,W,C], floating; otherwise keeps an error that names `op`. */
static bool is_images(const char *op, fg_tensor x)
{
    char text[96];
    const fg_type *type = fg_tensor_type(x);
    if (type->rank == 4 && fg_dtype_is_float(type->dtype))
        return true;
    (void)fgi_trace_fail(fg_tensor_trace(x), fg_dtype_is_float(type->dtype) ? FG_ESHAPE : FG_EDTYPE,
                         "%s: got %s: expected images T[B,H,W,C], floating-point", op,
                         fg_type_format(type, text, sizeof text));
    return false;
}

/* Whether the places of op are floating and of this shape, with the size of the result valid. */
static bool is_places(const char *op, fg_tensor places, const fg_type *expected, int64_t height,
                      int64_t width)
{
    char p[96], q[96];
    const fg_type *type = fg_tensor_type(places);
    if (height < 1 || width < 1 || height > FGI_LARGEST_WINDOW || width > FGI_LARGEST_WINDOW) {
        (void)fgi_trace_fail(fg_tensor_trace(places), FG_ESHAPE,
                             "%s: a result of %" PRId64 " x %" PRId64 " pixels is not valid", op,
                             height, width);
        return false;
    }
    if (fg_dtype_is_float(type->dtype) && fgi_same_shape(type, expected))
        return true;
    (void)fgi_trace_fail(fg_tensor_trace(places), FG_ESHAPE,
                         "%s: got %s for each image's place: expected %s", op,
                         fg_type_format(type, p, sizeof p), fg_type_format(expected, q, sizeof q));
    return false;
}

/* Element [i, at...] of each image's numbers T[B, ...] as T[B,1,1], without a gradient. */
static fg_tensor number_of(fg_tensor numbers, int row, int column)
{
    const fg_type *type = fg_tensor_type(numbers);
    const int64_t start[3] = {0, type->rank == 3 ? row : column, column};
    const int64_t limit[3] = {type->dim[0], start[1] + 1, column + 1};
    const fg_tensor one = fg_slice(fg_stop_gradient(numbers), start, limit, NULL);
    return fg_reshape(one, FG_DIMS(type->dim[0], 1, 1));
}

/* ---- resizing -------------------------------------------------------------------------------- */

/* Weights T[B,to,from] of the pixels of one axis for each pixel of the result: a triangle around
 * its center, as wide as the pixels of the finer image, cut at the ends of the box; their sum is 1.
 */
static fg_tensor axis_weights(fg_tensor first, fg_tensor size, int64_t from, int64_t to,
                              bool antialias)
{
    fg_trace *trace = fg_tensor_trace(first);
    const fg_dtype dtype = fg_tensor_type(first)->dtype;
    const fg_tensor i = fg_add_scalar(fg_iota(trace, dtype, 1, FG_DIMS(1, to, 1)), 0.5);
    const fg_tensor k = fg_add_scalar(fg_iota(trace, dtype, 2, FG_DIMS(1, 1, from)), 0.5);
    const fg_tensor scale = fg_mul_scalar(size, 1.0 / (double)to);
    const fg_tensor one = fgi_full_like(scale, 1);
    const fg_tensor reach = antialias ? fg_maximum(scale, one) : one;
    const fg_tensor center = fg_add(first, fg_mul(i, scale));
    const fg_tensor away = fg_div(fg_abs(fg_sub(k, center)), reach);
    const fg_tensor inside = fg_and(fg_gt(k, first), fg_lt(k, fg_add(first, size)));
    const fg_tensor triangle = fg_relu(fg_sub(fgi_full_like(away, 1), away));
    const fg_tensor weight = fg_where(inside, triangle, fgi_full_like(one, 0));
    const fg_tensor sum = fg_sum(weight, 1, (const int[]){2});
    return fg_div(weight, fg_reshape(sum, FG_DIMS(-1, to, 1)));
}

fg_tensor fg_crop_resize(fg_tensor x, fg_tensor box, int64_t height, int64_t width,
                         const fg_crop_resize_options *options)
{
    fg_trace *trace = fg_tensor_trace(x);
    if (fgi_is_poison(x) || fgi_is_poison(box))
        return fgi_poison(trace);
    if (!is_images("crop_resize", x) ||
        !fgi_trace_check_reserved(trace, FGI_RESERVED(fg_crop_resize_options, options)))
        return fgi_poison(trace);
    const fg_type image = *fg_tensor_type(x);
    const fg_type four = {fg_tensor_type(box)->dtype, 2, {image.dim[0], 4}};
    if (!is_places("crop_resize", box, &four, height, width))
        return fgi_poison(trace);
    const bool antialias = options == NULL || !options->no_antialias;
    const fg_dtype wide = image.dtype == FG_F64 ? FG_F64 : FG_F32;
    box = fg_cast(box, wide);
    const fg_tensor rows =
        axis_weights(number_of(box, 0, 0), number_of(box, 0, 2), image.dim[1], height, antialias);
    const fg_tensor columns =
        axis_weights(number_of(box, 0, 1), number_of(box, 0, 3), image.dim[2], width, antialias);
    const fg_tensor y = fg_dot(rows, fg_cast(x, wide),
                               &(fg_dot_options){.batch_count = 1,
                                                 .contract_count = 1,
                                                 .a_contract = {2},
                                                 .b_contract = {1}}); /* [B,h,W,C] */
    const fg_tensor z = fg_dot(columns, y,
                               &(fg_dot_options){.batch_count = 1,
                                                 .contract_count = 1,
                                                 .a_contract = {2},
                                                 .b_contract = {2}}); /* [B,w,h,C] */
    return fg_cast(fg_permute(z, (const int[]){0, 2, 1, 3}), image.dtype);
}

/* ---- whole images ---------------------------------------------------------------------------- */

/* x with each element of an axis repeated `count` times. */
static fg_tensor repeated(fg_tensor x, int axis, int64_t count)
{
    fg_type split = *fg_tensor_type(x), whole = split;
    split.rank++;
    for (int i = split.rank - 1; i > axis + 1; i--)
        split.dim[i] = split.dim[i - 1];
    split.dim[axis + 1] = 1;
    x = fg_reshape(x, split.rank, split.dim);
    split.dim[axis + 1] = count;
    whole.dim[axis] *= count;
    return fg_reshape(fg_broadcast_to(x, split.rank, split.dim), whole.rank, whole.dim);
}

static fg_tensor resized_nearest(fg_tensor x, int axis, int64_t to)
{
    const int64_t from = fg_tensor_dim(x, axis);
    const fg_tensor i = fg_iota(fg_tensor_trace(x), FG_S32, 0, FG_DIMS(to));
    if (to % from == 0)
        return repeated(x, axis, to / from);
    const fg_tensor at = fg_div(fg_mul_scalar(i, (double)from), fgi_full_like(i, (double)to));
    return fg_gather(x, at, axis, 0);
}

/* Between the two pixels whose centers are around the center of each pixel of the result. */
static fg_tensor resized_linear(fg_tensor x, int axis, int64_t to)
{
    const fg_dtype dtype = fg_tensor_type(x)->dtype;
    const int64_t from = fg_tensor_dim(x, axis);
    const fg_tensor i = fg_iota(fg_tensor_trace(x), dtype, 0, FG_DIMS(to));
    const double scale = (double)from / (double)to;
    const fg_tensor center =
        fg_relu(fg_add_scalar(fg_mul_scalar(fg_add_scalar(i, 0.5), scale), -0.5));
    const fg_tensor before = fg_floor(center), index = fg_cast(before, FG_S32);
    int64_t dim[FG_MAX_RANK] = {to};
    const int rank = fg_tensor_type(x)->rank - axis;
    for (int d = 1; d < rank; d++)
        dim[d] = 1;
    const fg_tensor right = fg_reshape(fg_sub(center, before), rank, dim);
    const fg_tensor left = fg_sub(fgi_full_like(right, 1), right);
    return fg_add(fg_mul(fg_gather(x, index, axis, 0), left),
                  fg_mul(fg_gather(x, fg_add_scalar(index, 1), axis, 0), right));
}

fg_tensor fg_resize(fg_tensor x, const int64_t *size, fg_resize_mode mode)
{
    if (fgi_is_poison(x) || !fgi_check_sizes("resize", x, size))
        return fgi_poison(fg_tensor_trace(x));
    if (mode != FG_RESIZE_NEAREST && mode != FG_RESIZE_LINEAR)
        return fgi_trace_fail(fg_tensor_trace(x), FG_EINVAL, "resize: unknown mode %d", (int)mode);
    const fg_type *type = fg_tensor_type(x);
    fg_tensor y = mode == FG_RESIZE_LINEAR ? fgi_upcast(x) : x;
    for (int axis = 1; axis + 1 < type->rank; axis++) {
        if (size[axis - 1] == type->dim[axis])
            continue;
        y = mode == FG_RESIZE_LINEAR ? resized_linear(y, axis, size[axis - 1])
                                     : resized_nearest(y, axis, size[axis - 1]);
    }
    return fgi_is_poison(y) ? y : fg_cast(y, type->dtype);
}

/* ---- affine maps ----------------------------------------------------------------------------- */

/* A corner of the square around each place: its pixel where there is one, else `fill`, times its
 * weight. x is T[B,H*W,C]; row, column and weight are [B,h,w]. */
static fg_tensor corner(fg_tensor x, const fg_type *image, fg_tensor row, fg_tensor column,
                        fg_tensor weight, double fill)
{
    const fg_type *type = fg_tensor_type(row);
    const int64_t places = type->dim[1] * type->dim[2];
    const fg_tensor zero = fgi_full_like(row, 0);
    const fg_tensor last_row = fgi_full_like(row, (double)(image->dim[1] - 1));
    const fg_tensor last_column = fgi_full_like(row, (double)(image->dim[2] - 1));
    const fg_tensor inside = fg_and(fg_and(fg_ge(row, zero), fg_le(row, last_row)),
                                    fg_and(fg_ge(column, zero), fg_le(column, last_column)));
    const fg_tensor y = fg_cast(fg_minimum(fg_maximum(row, zero), last_row), FG_S32);
    const fg_tensor z = fg_cast(fg_minimum(fg_maximum(column, zero), last_column), FG_S32);
    const fg_tensor index = fg_add(fg_mul_scalar(y, (double)image->dim[2]), z);
    const fg_tensor pixel = fg_gather(x, fg_reshape(index, FG_DIMS(-1, places)), 1, 1);
    const fg_tensor is_pixel = fg_reshape(inside, FG_DIMS(-1, places, 1));
    const fg_tensor value =
        fg_where(is_pixel, pixel, fg_full(fg_tensor_trace(x), image->dtype, fill, FG_SCALAR));
    return fg_mul(value, fg_cast(fg_reshape(weight, FG_DIMS(-1, places, 1)), image->dtype));
}

/* Coordinate `row` (0: x, 1: y) in the image of each pixel of the result, [B,h,w]. */
static fg_tensor coordinate(fg_tensor matrix, int row, int64_t extent, int64_t height,
                            int64_t width)
{
    fg_trace *trace = fg_tensor_trace(matrix);
    const fg_dtype dtype = fg_tensor_type(matrix)->dtype;
    const fg_tensor x =
        fg_add_scalar(fg_iota(trace, dtype, 2, FG_DIMS(1, height, width)), 0.5 - (double)width / 2);
    const fg_tensor y = fg_add_scalar(fg_iota(trace, dtype, 1, FG_DIMS(1, height, width)),
                                      0.5 - (double)height / 2);
    const fg_tensor turned =
        fg_add(fg_mul(number_of(matrix, row, 0), x), fg_mul(number_of(matrix, row, 1), y));
    return fg_add_scalar(fg_add(turned, number_of(matrix, row, 2)), (double)extent / 2 - 0.5);
}

static fg_tensor sample(fg_tensor x, const fg_type *image, fg_tensor at_x, fg_tensor at_y,
                        const fg_affine_options *o)
{
    const fg_tensor flat = fg_reshape(x, FG_DIMS(-1, image->dim[1] * image->dim[2], image->dim[3]));
    const fg_tensor one = fgi_full_like(at_x, 1);
    if (o->nearest)
        return corner(flat, image, fg_floor(fg_add_scalar(at_y, 0.5)),
                      fg_floor(fg_add_scalar(at_x, 0.5)), one, o->fill);
    const fg_tensor row = fg_floor(at_y), column = fg_floor(at_x);
    const fg_tensor down = fg_sub(at_y, row), right = fg_sub(at_x, column);
    const fg_tensor up = fg_sub(one, down), left = fg_sub(one, right);
    const fg_tensor below = fg_add_scalar(row, 1), next = fg_add_scalar(column, 1);
    const fg_tensor upper = fg_add(corner(flat, image, row, column, fg_mul(up, left), o->fill),
                                   corner(flat, image, row, next, fg_mul(up, right), o->fill));
    const fg_tensor lower = fg_add(corner(flat, image, below, column, fg_mul(down, left), o->fill),
                                   corner(flat, image, below, next, fg_mul(down, right), o->fill));
    return fg_add(upper, lower);
}

fg_tensor fg_affine_sample(fg_tensor x, fg_tensor matrix, const fg_affine_options *options)
{
    fg_trace *trace = fg_tensor_trace(x);
    const fg_affine_options o = options != NULL ? *options : (fg_affine_options){0};
    if (fgi_is_poison(x) || fgi_is_poison(matrix))
        return fgi_poison(trace);
    if (!is_images("affine_sample", x) ||
        !fgi_trace_check_reserved(trace, FGI_RESERVED(fg_affine_options, options)))
        return fgi_poison(trace);
    const fg_type image = *fg_tensor_type(x);
    const int64_t height = o.height != 0 ? o.height : image.dim[1];
    const int64_t width = o.width != 0 ? o.width : image.dim[2];
    const fg_type six = {fg_tensor_type(matrix)->dtype, 3, {image.dim[0], 2, 3}};
    if (!is_places("affine_sample", matrix, &six, height, width))
        return fgi_poison(trace);
    if (image.dim[1] < 1 || image.dim[2] < 1 || image.dim[1] > INT32_MAX / image.dim[2])
        return fgi_trace_fail(trace, FG_ESHAPE,
                              "affine_sample: expected images of 1 to 2^31 - 1 pixels");
    matrix = fg_cast(matrix, image.dtype == FG_F64 ? FG_F64 : FG_F32);
    const fg_tensor at_x = coordinate(matrix, 0, image.dim[2], height, width);
    const fg_tensor at_y = coordinate(matrix, 1, image.dim[1], height, width);
    const fg_tensor y = sample(x, &image, at_x, at_y, &o);
    return fg_reshape(y, FG_DIMS(-1, height, width, image.dim[3]));
}
