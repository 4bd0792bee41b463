/* npy.c - NumPy's .npy format: magic, version, a Python dictionary as text, then the array. Arrays
 * that need no conversion are used directly from the mapped file. A .npz archive is a ZIP archive
 * of such files, stored or deflated. Source: NumPy Enhancement Proposal 1 and numpy.lib.format
 * (versions 1.0, 2.0, 3.0), numpy.savez.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/reserved.h"
#include "data/npy.h"

#include <inttypes.h>
#include <string.h>
#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/print.h"
#include "base/text.h"
#include "data/elements.h"
#include "data/memory.h"
#include "input/zip.h"

/* ---- header ---------------------------------------------------------------------------------- */

static const struct {
    const char *code; /* kind and bytes, as in '<f4' */
    fg_dtype dtype;
} formats[] = {{"b1", FG_BOOL}, {"u1", FG_U8},  {"i1", FG_S8},  {"u2", FG_U16},
               {"i2", FG_S16},  {"u4", FG_U32}, {"i4", FG_S32}, {"u8", FG_U64},
               {"i8", FG_S64},  {"f2", FG_F16}, {"f4", FG_F32}, {"f8", FG_F64}};

enum { FORMAT_COUNT = sizeof(formats) / sizeof(formats[0]) };

/* Parser state for the dictionary. */
typedef struct parser {
    const char *name;
    const unsigned char *data;
    size_t at, end; /* byte offsets in the file */
    fg_error *err;
} parser;

static fg_status fail_here(const parser *p, const char *what)
{
    return fgi_fail(p->err, FG_EFORMAT, "%s: byte %zu: %s", p->name, p->at, what);
}

static char peek(parser *p)
{
    while (p->at < p->end && (p->data[p->at] == ' ' || p->data[p->at] == '\n'))
        p->at++;
    if (p->at == p->end)
        return '\0';
    return (char)p->data[p->at];
}

static bool take(parser *p, char c)
{
    const bool is_it = peek(p) == c && p->at < p->end;
    p->at += is_it;
    return is_it;
}

static bool take_word(parser *p, const char *word)
{
    const size_t size = strlen(word);
    (void)peek(p);
    if (p->end - p->at < size || memcmp(p->data + p->at, word, size) != 0)
        return false;
    p->at += size;
    return true;
}

/* A string in single or double quotes; backslashes do not occur. */
static bool take_string(parser *p, fgi_str *out)
{
    const char quote = peek(p);
    if (quote != '\'' && quote != '"')
        return false;
    const size_t begin = ++p->at;
    while (p->at < p->end && p->data[p->at] != (unsigned char)quote && p->data[p->at] != '\\')
        p->at++;
    *out = (fgi_str){(const char *)p->data + begin, p->at - begin};
    return take(p, quote);
}

/* The byte order characters of NumPy. */
static bool is_order(char c) { return c == '<' || c == '|' || c == '=' || c == '>'; }

static fg_status parse_descr(parser *p, fgi_npy *npy)
{
    fgi_str text;
    if (peek(p) == '[')
        return fgi_fail(p->err, FG_EUNSUPPORTED,
                        "%s: byte %zu: structured arrays are not supported", p->name, p->at);
    if (!take_string(p, &text) || text.size < 2)
        return fail_here(p, "expected a dtype such as '<f4'");
    const size_t at = (size_t)(text.data - (const char *)p->data);
    const fgi_str code = {text.data + 1, text.size - 1};
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (fgi_str_equal(code, formats[i].code))
            npy->type.dtype = formats[i].dtype;
    const bool is_byte = fg_dtype_size(npy->type.dtype) == 1;
    if (npy->type.dtype == FG_DTYPE_NONE || !is_order(text.data[0]) ||
        (text.data[0] == '>' && !is_byte))
        return fgi_fail(p->err, FG_EUNSUPPORTED,
                        "%s: byte %zu: elements of dtype '%.*s' are not supported", p->name, at,
                        text.size > 32 ? 32 : (int)text.size, text.data);
    return FG_OK;
}

static fg_status parse_shape(parser *p, fg_type *type)
{
    if (!take(p, '('))
        return fail_here(p, "expected a shape such as (3, 4)");
    while (!take(p, ')')) {
        (void)peek(p);
        const size_t begin = p->at;
        while (p->at < p->end && p->data[p->at] >= '0' && p->data[p->at] <= '9')
            p->at++;
        int64_t dim;
        if (!fgi_parse_i64((fgi_str){(const char *)p->data + begin, p->at - begin}, &dim))
            return fail_here(p, "expected a dimension");
        if (type->rank == FG_MAX_RANK)
            return fgi_fail(p->err, FG_EUNSUPPORTED, "%s: byte %zu: expected at most %d dimensions",
                            p->name, begin, FG_MAX_RANK);
        type->dim[type->rank++] = dim;
        if (!take(p, ',') && peek(p) != ')')
            return fail_here(p, "expected ',' or ')' in the shape");
    }
    return FG_OK;
}

/* One of the three keys and its value; `seen` has a bit for each key. */
static fg_status parse_entry(parser *p, fgi_npy *npy, unsigned *seen)
{
    fgi_str key;
    if (!take_string(p, &key) || !take(p, ':'))
        return fail_here(p, "expected a key of the header dictionary");
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    unsigned which = 0;
    while (which < 3 && !fgi_str_equal(key, keys[which]))
        which++;
    if (which == 3 || (*seen & 1u << which) != 0)
        return fail_here(p, "unknown or duplicate key");
    *seen |= 1u << which;
    if (which == 0)
        return parse_descr(p, npy);
    if (which == 2)
        return parse_shape(p, &npy->type);
    if (take_word(p, "True"))
        return fgi_fail(p->err, FG_EUNSUPPORTED,
                        "%s: byte %zu: the array is in Fortran order\nsave it again with "
                        "numpy.ascontiguousarray",
                        p->name, p->at - 4);
    return take_word(p, "False") ? FG_OK : fail_here(p, "expected True or False");
}

static fg_status parse_dictionary(parser *p, fgi_npy *npy)
{
    unsigned seen = 0;
    if (!take(p, '{'))
        return fail_here(p, "expected the header dictionary");
    while (!take(p, '}')) {
        FGI_TRY(parse_entry(p, npy, &seen));
        if (!take(p, ',') && peek(p) != '}')
            return fail_here(p, "expected ',' or '}' in the header");
    }
    if (seen != 7)
        return fail_here(p, "the header has no descr, fortran_order or shape");
    return peek(p) == '\0' && p->at == p->end ? FG_OK : fail_here(p, "text after the header");
}

/* Finds the dictionary: after the magic, the version and its length. */
static fg_status find_dictionary(parser *p, size_t size)
{
    if (size < 10 || memcmp(p->data, "\x93NUMPY", 6) != 0)
        return fail_here(p, "not a .npy file");
    const unsigned char *length = p->data + 8;
    size_t bytes = length[0] | (size_t)length[1] << 8;
    p->at = 6;
    if (p->data[6] < 1 || p->data[6] > 3)
        return fgi_fail(p->err, FG_EUNSUPPORTED, "%s: byte 6: unsupported .npy version %d.%d",
                        p->name, p->data[6], p->data[7]);
    p->at = 10;
    if (p->data[6] > 1) {
        if (size < 12)
            return fail_here(p, "unexpected end of file in the header");
        bytes |= (size_t)length[2] << 16 | (size_t)length[3] << 24;
        p->at = 12;
    }
    if (bytes > size - p->at)
        return fail_here(p, "the header is longer than the file");
    p->end = p->at + bytes;
    return FG_OK;
}

fg_status fgi_npy_parse(const char *name, const unsigned char *data, size_t size, fgi_npy *out,
                        fg_error *err)
{
    *out = (fgi_npy){0};
    parser p = {.name = name, .data = data, .err = err};
    FGI_TRY(find_dictionary(&p, size));
    FGI_TRY(parse_dictionary(&p, out));
    out->offset = p.end;
    size_t bytes = fg_dtype_size(out->type.dtype);
    for (int i = 0; i < out->type.rank; i++)
        if (!fgi_mul_size(out->type.dim[i], bytes, &bytes))
            return fail_here(&p, "the shape is too large");
    if (bytes != size - out->offset)
        return fgi_fail(
            err, FG_EFORMAT,
            "%s: byte %zu: the header specifies %zu bytes of data, but the file has %zu", name,
            out->offset, bytes, size - out->offset);
    return FG_OK;
}

/* ---- archives -------------------------------------------------------------------------------- */

static const char mark[] = ".npz:", suffix[] = ".npy";

/* The ':' before the name of the array; NULL without one. */
static const char *colon_of(const char *path)
{
    const char *last = NULL;
    for (const char *at = strstr(path, mark); at != NULL; at = strstr(at + 1, mark))
        last = at + sizeof(mark) - 2;
    return last;
}

bool fgi_npz_is(const char *path) { return fgi_ends_with(path, ".npz") || colon_of(path) != NULL; }

/* Whether a file of the archive is the array `name`. */
static bool is_array(const char *file, const char *name)
{
    const size_t size = strlen(name);
    return strncmp(file, name, size) == 0 &&
           (file[size] == '\0' || strcmp(file + size, suffix) == 0);
}

static bool find_array(const fgi_zip *zip, const char *name, size_t *out)
{
    for (*out = 0; *out < fgi_zip_count(zip); (*out)++)
        if (is_array(fgi_zip_name(zip, *out), name))
            return true;
    return false;
}

bool fgi_npz_has(const char *archive, const char *array)
{
    fgi_zip *zip = NULL;
    size_t index;
    const bool has = fgi_zip_open(archive, &zip, NULL) == FG_OK && find_array(zip, array, &index);
    fgi_zip_close(zip);
    return has;
}

/* An error that lists the arrays. */
static fg_status refuse_archive(const fgi_zip *zip, fg_status status, const char *archive,
                                const char *what, fg_error *err)
{
    enum { LISTED = 12, BYTES = 64 };
    fgi_buf names = {0};
    const size_t count = fgi_zip_count(zip);
    for (size_t i = 0; i < count && i < LISTED; i++) {
        char name[BYTES];
        size_t size = strlen(fgi_zip_name(zip, i));
        if (fgi_ends_with(fgi_zip_name(zip, i), suffix))
            size -= sizeof(suffix) - 1;
        (void)fgi_text_escape((fgi_str){fgi_zip_name(zip, i), size}, name, sizeof(name));
        fgi_buf_printf(&names, "%s%s", i > 0 ? ", " : "", name);
    }
    if (count > LISTED)
        fgi_buf_puts(&names, " ...");
    status = fgi_buf_status(&names, err) != FG_OK
                 ? FG_ENOMEM
                 : fgi_fail(err, status, "'%s' %s; it has: %s", archive, what,
                            count > 0 ? names.data : "no arrays");
    fgi_buf_fini(&names);
    return status;
}

static fg_status choose_array(const fgi_zip *zip, const char *archive, const char *name,
                              size_t *out, fg_error *err)
{
    char what[256];
    if (name != NULL && find_array(zip, name, out))
        return FG_OK;
    if (name != NULL) {
        (void)fgi_snprintf(what, sizeof(what), "has no array '%.180s'", name);
        return refuse_archive(zip, FG_ENOTFOUND, archive, what, err);
    }
    *out = 0;
    if (fgi_zip_count(zip) == 1)
        return FG_OK;
    (void)fgi_snprintf(what, sizeof(what),
                       "is an archive: name one of its arrays, as in file.npz:x");
    return refuse_archive(zip, FG_EINVAL, archive, what, err);
}

fg_status fgi_array_open(const char *path, fgi_block *out, fg_error *err)
{
    fgi_zip *zip = NULL;
    size_t index = 0;
    *out = (fgi_block){0};
    if (!fgi_npz_is(path))
        return fgi_block_open(path, FGI_LARGEST_INFLATED_BYTES, out, err);
    const char *colon = colon_of(path);
    char *archive = fgi_strdup(path);
    if (archive == NULL)
        return fgi_no_memory(err);
    if (colon != NULL)
        archive[colon - path] = '\0';
    fg_status status = fgi_zip_open(archive, &zip, err);
    if (status == FG_OK)
        status = choose_array(zip, archive, colon != NULL ? colon + 1 : NULL, &index, err);
    if (status == FG_OK)
        status = fgi_zip_read(zip, index, out, err);
    fgi_zip_close(zip);
    fgi_free(archive);
    return status;
}

/* ---- datasets -------------------------------------------------------------------------------- */

static bool is_integer(fg_dtype dtype) { return dtype != FG_BOOL && !fg_dtype_is_float(dtype); }

/* A bool with a byte other than 0 and 1 would be undefined on a device. */
static fg_status check_bools(const fgi_elements *e, fg_error *err)
{
    for (int64_t i = 0; e->dtype == FG_BOOL && i < e->count; i++)
        if (e->file[e->offset + (size_t)i] > 1)
            return fgi_fail(err, FG_EFORMAT, "%s: byte %zu: a bool is %d: expected 0 or 1", e->name,
                            e->offset + (size_t)i, e->file[e->offset + (size_t)i]);
    return FG_OK;
}

/* One file as a field; *out_count is its first dimension. */
static fg_status read_field(const char *path, bool is_target, bool keep, fg_field *out_field,
                            fgi_block *out, int64_t *out_count, fg_error *err)
{
    fgi_npy npy;
    fgi_block file;
    FGI_TRY(fgi_array_open(path, &file, err));
    fg_status status = fgi_npy_parse(path, file.data, file.size, &npy, err);
    const fgi_elements e = {.name = path,
                            .file = file.data,
                            .offset = npy.offset,
                            .count = fg_type_count(&npy.type),
                            .dtype = npy.type.dtype};
    if (status == FG_OK && npy.type.rank == 0)
        status = fgi_fail(err, FG_ESHAPE, "'%s' is a scalar: expected one row per sample", path);
    for (int i = 1; status == FG_OK && i < npy.type.rank; i++)
        if (npy.type.dim[i] == 0)
            status = fgi_fail(err, FG_ESHAPE, "'%s' has rows without elements", path);
    if (status == FG_OK)
        status = check_bools(&e, err);
    fg_type *sample = &out_field->type;
    *sample = (fg_type){.dtype = npy.type.dtype, .rank = npy.type.rank - 1};
    *out_count = npy.type.dim[0];
    if (status == FG_OK)
        memcpy(sample->dim, npy.type.dim + 1, (size_t)sample->rank * sizeof(sample->dim[0]));
    const bool is_wide = sample->dtype == FG_S64 || sample->dtype == FG_U64;
    if (status == FG_OK && !keep && sample->dtype == FG_F64) {
        sample->dtype = FG_F32;
        status = fgi_elements_to_f32(&e, out, err);
    } else if (status == FG_OK && !keep && is_integer(sample->dtype) && (is_wide || is_target)) {
        sample->dtype = FG_S32;
        status = fgi_elements_to_s32(&e, out, err);
    } else if (status == FG_OK) {
        *out = file;
        out->data += npy.offset;
        return FG_OK;
    }
    fgi_block_fini(&file);
    return status;
}

fg_status fg_npy_load(const char *x_path, const char *y_path, const fg_npy_options *options,
                      fg_dataset **out, fg_error *err)
{
    *out = NULL;
    FGI_TRY_RESERVED(fg_npy_options, options, err);
    const bool keep = options != NULL && options->keep_dtypes;
    fg_field fields[2] = {{"x", {0}}, {"y", {0}}};
    fgi_block blocks[2] = {{0}};
    fg_dataset_spec spec = {.fields = fields, .field_count = y_path == NULL ? 1 : 2};
    int64_t y_count = 0;
    fg_status status = read_field(x_path, false, keep, &fields[0], &blocks[0], &spec.count, err);
    if (status == FG_OK && y_path != NULL)
        status = read_field(y_path, true, keep, &fields[1], &blocks[1], &y_count, err);
    if (status == FG_OK && y_path != NULL && y_count != spec.count)
        status = fgi_fail(err, FG_ESHAPE, "'%s' has %" PRId64 " row%s, but '%s' has %" PRId64,
                          x_path, spec.count, fgi_s(spec.count), y_path, y_count);
    if (status == FG_OK && y_path != NULL && fields[1].type.dtype == FG_S32 &&
        fields[1].type.rank == 0 && blocks[1].owned != NULL)
        spec.class_count = fgi_count_classes(blocks[1].owned, spec.count);
    if (status == FG_OK)
        status = fgi_memory_create(&spec, blocks, out, err);
    fgi_block_fini(&blocks[0]);
    fgi_block_fini(&blocks[1]);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

fg_status fgi_npy_header(const char *name, const fg_type *type, fgi_buf *out, fg_error *err)
{
    const char *code = NULL;
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (formats[i].dtype == type->dtype)
            code = formats[i].code;
    if (code == NULL)
        return fgi_fail(err, FG_EDTYPE, "'%s': NumPy has no dtype for %s", name,
                        fg_dtype_name(type->dtype));
    bool is_valid = type->rank >= 0 && type->rank <= FG_MAX_RANK;
    for (int i = 0; is_valid && i < type->rank; i++)
        is_valid = type->dim[i] >= 0;
    if (!is_valid || fg_type_bytes(type) == SIZE_MAX)
        return fgi_fail(err, FG_EINVAL, "'%s': the shape of the array is invalid", name);
    fgi_npy_put_header(out, type, code);
    return FG_OK;
}

fg_status fg_npy_write(const char *path, const fg_type *type, const void *data, fg_error *err)
{
    fgi_buf header = {0};
    fgi_block whole = {0};
    fg_status status = fgi_npy_header(path, type, &header, err);
    if (status == FG_OK)
        status = fgi_buf_status(&header, err);
    const size_t bytes = status == FG_OK ? fg_type_bytes(type) : 0;
    size_t total;
    if (status == FG_OK && __builtin_add_overflow(header.size, bytes, &total))
        status = fgi_no_memory(err);
    if (status == FG_OK)
        status = fgi_block_alloc(total, &whole, err);
    if (status == FG_OK) {
        memcpy(whole.owned, header.data, header.size);
        if (bytes > 0)
            memcpy((char *)whole.owned + header.size, data, bytes);
        status = fgi_file_write_atomic(path, whole.data, whole.size, err);
    }
    fgi_block_fini(&whole);
    fgi_buf_fini(&header);
    return status;
}
