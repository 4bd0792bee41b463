/* fake_program.c - the fake plugin's parser for programs: the signature of the function main, and
 * the devices in the compile options.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- types ----------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    PJRT_Buffer_Type type;
} element_types[] = {
    {"i1", PJRT_Buffer_Type_PRED},  {"i8", PJRT_Buffer_Type_S8},     {"i16", PJRT_Buffer_Type_S16},
    {"i32", PJRT_Buffer_Type_S32},  {"i64", PJRT_Buffer_Type_S64},   {"ui8", PJRT_Buffer_Type_U8},
    {"ui16", PJRT_Buffer_Type_U16}, {"ui32", PJRT_Buffer_Type_U32},  {"ui64", PJRT_Buffer_Type_U64},
    {"f16", PJRT_Buffer_Type_F16},  {"bf16", PJRT_Buffer_Type_BF16}, {"f32", PJRT_Buffer_Type_F32},
    {"f64", PJRT_Buffer_Type_F64},
};

/* Reads "4x8xf32>" after "tensor<". */
static bool parse_tensor(const char *text, shape *out)
{
    memset(out, 0, sizeof *out);
    while (*text >= '0' && *text <= '9' && out->rank < RANK_MAX) {
        char *end;
        out->dim[out->rank++] = strtoll(text, &end, 10);
        if (*end != 'x')
            return false;
        text = end + 1;
    }
    const size_t size = strcspn(text, ">");
    for (size_t i = 0; i < sizeof element_types / sizeof element_types[0]; i++) {
        if (strlen(element_types[i].name) == size &&
            strncmp(element_types[i].name, text, size) == 0)
            out->type = element_types[i].type;
    }
    return out->type != PJRT_Buffer_Type_INVALID;
}

/* The end of the item that starts at `at`: the next comma or closing bracket outside brackets
 * and quotes. */
static const char *item_end(const char *at)
{
    int depth = 0;
    bool is_quoted = false;
    for (; *at; at++) {
        if (*at == '"')
            is_quoted = !is_quoted;
        if (is_quoted)
            continue;
        if (strchr("([{<", *at))
            depth++;
        else if (strchr(")]}>", *at) && depth-- == 0)
            return at;
        else if (*at == ',' && depth == 0)
            return at;
    }
    return at;
}

/* Devices along an axis of the module's mesh: sdy.mesh @mesh = <["data"=4, "model"=2]>. */
static long axis_size(const char *module, const char *name, size_t size)
{
    char entry[80];
    const char *mesh = strstr(module, "sdy.mesh @mesh = <[");
    snprintf(entry, sizeof entry, "\"%.*s\"=", (int)(size < 64 ? size : 64), name);
    const char *at = mesh ? strstr(mesh, entry) : NULL;
    return at ? strtol(at + strlen(entry), NULL, 10) : 1;
}

/* Leaves a device's part of each dimension: [{"data"}, {}] of sdy.sharding. */
static void split_shape(const char *module, const char *item, shape *out)
{
    const char *at = strstr(item, "#sdy.sharding<@mesh, [");
    at = at ? strchr(at, '[') : NULL;
    for (size_t i = 0; at && i < out->rank; i++) {
        const char *close = (at = strchr(at, '{')) ? strchr(at, '}') : NULL;
        while (close && (at = strchr(at, '"')) && at < close) {
            const size_t size = strcspn(at + 1, "\"");
            out->dim[i] /= axis_size(module, at + 1, size);
            at += size + 2;
        }
        at = close;
    }
}

/* Reads one item of a signature into *out; false if it is not a tensor. */
static bool parse_item(const char *module, const char *at, const char *end, argument *out)
{
    char item[1024];
    const size_t size = (size_t)(end - at) < sizeof item ? (size_t)(end - at) : sizeof item - 1;
    memcpy(item, at, size);
    item[size] = '\0';
    const char *tensor = strstr(item, "tensor<");
    const char *alias = strstr(item, "tf.aliasing_output = ");
    out->alias = alias ? atoi(alias + strlen("tf.aliasing_output = ")) : -1;
    out->is_donated = alias || strstr(item, "jax.buffer_donor = true");
    if (!tensor || !parse_tensor(tensor + strlen("tensor<"), &out->shape))
        return false;
    split_shape(module, item, &out->shape);
    return true;
}

/* Reads items up to the closing bracket; returns what follows it, NULL on nonsense. */
static const char *parse_list(const char *module, const char *at, argument **out, size_t *out_count)
{
    while (*at && *at != ')') {
        const char *end = item_end(at);
        argument *more = realloc(*out, (*out_count + 1) * sizeof *more);
        if (!more)
            abort();
        *out = more;
        if (!parse_item(module, at, end, &more[*out_count]))
            return NULL;
        (*out_count)++;
        at = *end == ',' ? end + 1 : end;
    }
    return *at ? at + 1 : NULL;
}

static void set_outputs(program *p, const argument *results, size_t count)
{
    p->output_count = count;
    p->outputs = calloc(count + 1, sizeof *p->outputs);
    p->output_types = calloc(count + 1, sizeof *p->output_types);
    p->output_ranks = calloc(count + 1, sizeof *p->output_ranks);
    p->output_dims = calloc(count * RANK_MAX + 1, sizeof *p->output_dims);
    if (!p->outputs || !p->output_types || !p->output_ranks || !p->output_dims)
        abort();
    size_t dims = 0;
    for (size_t i = 0; i < count; i++) {
        const shape *s = &results[i].shape;
        p->outputs[i] = *s;
        p->output_types[i] = s->type;
        p->output_ranks[i] = s->rank;
        memcpy(p->output_dims + dims, s->dim, s->rank * sizeof s->dim[0]);
        dims += s->rank;
    }
}

/* func.func public @main(%a: tensor<4xf32> {...}, ...) -> (tensor<f32>, ...) { */
static bool parse_signature(program *p)
{
    const char *at = strstr(p->text, "@main(");
    at = at ? parse_list(p->text, at + strlen("@main("), &p->arguments, &p->argument_count) : NULL;
    if (!at)
        return false;
    argument *results = NULL;
    size_t count = 0;
    at += strspn(at, " \n");
    if (strncmp(at, "->", 2) == 0) {
        at += 2 + strspn(at + 2, " \n");
        if (*at == '(') {
            at = parse_list(p->text, at + 1, &results, &count);
        } else {
            results = calloc(1, sizeof *results);
            count = 1;
            if (!results || !parse_item(p->text, at, at + strcspn(at, "{"), results))
                at = NULL;
        }
    }
    if (at)
        set_outputs(p, results, count);
    free(results);
    for (size_t i = 0; i < p->argument_count; i++) {
        if (p->arguments[i].alias >= (int)count)
            return false;
    }
    return at != NULL;
}

/* An error with the location of the first reduction, in the form of MLIR or of HLO's metadata: the
 * text has loc("sum"("file.c":31:0)). */
static PJRT_Error *reject_reduction(const char *text, bool as_metadata)
{
    const char *op = strstr(text, "\"stablehlo.reduce\"");
    const char *at = op ? strstr(op, "}) {") : NULL; /* after the operations within it */
    const char *loc = at ? strstr(at, "loc(") : NULL;
    const char *file = loc ? strstr(loc, "(\"") : NULL, *colon;
    if (!loc || !file || !(file = strstr(file + 1, "(\"")) || !(colon = strchr(file + 2, ':')))
        return NULL;
    if (!as_metadata)
        return fake_error(PJRT_Error_Code_UNIMPLEMENTED,
                          "%.*s: error: failed to legalize operation 'stablehlo.reduce' (sum)",
                          (int)strcspn(loc, ")") + 2, loc);
    return fake_error(PJRT_Error_Code_UNIMPLEMENTED,
                      "reduce is not implemented: metadata={op_name=\"sum\" source_file=%.*s "
                      "source_line=%.*s}",
                      (int)(colon - file - 1), file + 1, (int)strspn(colon + 1, "0123456789"),
                      colon + 1);
}

/* ---- compile options ------------------------------------------------------------------------- */

typedef struct wire {
    const unsigned char *at, *end;
} wire;

static uint64_t varint(wire *w)
{
    uint64_t value = 0;
    for (int shift = 0; w->at < w->end && shift < 64; shift += 7) {
        value |= (uint64_t)(*w->at & 0x7f) << shift;
        if (!(*w->at++ & 0x80))
            break;
    }
    return value;
}

/* Reads one field: its number, and its content as a number or as a part. */
static uint64_t field(wire *w, uint64_t *out_value, wire *out_part)
{
    const uint64_t tag = varint(w);
    *out_value = varint(w);
    *out_part = (wire){w->at, w->at};
    if ((tag & 7) == 2) {
        const uint64_t left = (uint64_t)(w->end - w->at);
        out_part->end = w->at + (*out_value < left ? *out_value : left);
        w->at = out_part->end;
    }
    return tag >> 3;
}

bool program_assign(program *p, int64_t id)
{
    const PJRT_Client *c = p->client;
    if (p->partition_count == WORLD_MAX)
        return false;
    p->partition_id[p->partition_count++] = (int)id;
    if (!c) { /* compiled for devices that are not present */
        p->device_count = p->partition_count;
        return true;
    }
    for (int i = 0; i < c->device_count; i++) {
        if (c->device_list[i]->description.id == id && p->device_count < DEVICES_MAX) {
            p->device[p->device_count++] = c->device_list[i];
            return true;
        }
    }
    for (int i = 0; i < c->processes * c->device_count; i++)
        if (c->device[i].description.id == id)
            return true;
    p->partition_count--;
    return false;
}

/* DeviceAssignmentProto: field 3 once a partition, inside it field 1, packed or not. */
static void read_assignment(program *p, wire w)
{
    uint64_t value;
    wire part, ids, inner;
    while (w.at < w.end) {
        if (field(&w, &value, &part) != 3)
            continue;
        ids = part;
        uint64_t id = 0;
        if (part.at < part.end && (*part.at & 7) == 2) {
            (void)field(&ids, &value, &inner);
            id = varint(&inner);
        } else if (part.at < part.end) {
            (void)field(&ids, &id, &inner);
        }
        (void)program_assign(p, (int64_t)id);
    }
}

/* Field 7 of the options: the compiler's flags. */
static bool has_flags(const char *data, size_t size)
{
    wire w = {(const unsigned char *)data, (const unsigned char *)data + size}, part;
    uint64_t value;
    bool found = false;
    while (w.at < w.end)
        found |= field(&w, &value, &part) == 7;
    return found;
}

static bool read_options(program *p, const char *data, size_t size)
{
    wire w = {(const unsigned char *)data, (const unsigned char *)data + size}, part, inner;
    uint64_t value, partitions = 0;
    while (w.at < w.end) {
        if (field(&w, &value, &part) != 3)
            continue;
        while (part.at < part.end) {
            const uint64_t number = field(&part, &value, &inner);
            if (number == 5)
                partitions = value;
            else if (number == 9)
                read_assignment(p, inner);
        }
    }
    return partitions > 0 && partitions == (uint64_t)p->partition_count && p->device_count > 0;
}

/* ---- programs -------------------------------------------------------------------------------- */

static void set_cost(program *p)
{
    static const char *const names[] = {"flops", "bytes accessed"};
    for (int i = 0; i < 2; i++)
        p->cost[i] = (PJRT_NamedValue){.struct_size = PJRT_NamedValue_STRUCT_SIZE,
                                       .name = names[i],
                                       .name_size = strlen(names[i]),
                                       .type = PJRT_NamedValue_kFloat,
                                       .float_value = 1000.0f * (float)(i + 1),
                                       .value_size = 1};
}

program *program_create(PJRT_Client *client, const char *text, size_t text_size,
                        const char *options, size_t options_size, PJRT_Error **out_error)
{
    program *p = calloc(1, sizeof *p);
    if (!p || !(p->text = calloc(1, text_size + 1)))
        abort();
    atomic_init(&p->references, 1);
    fake_count("programs", 1);
    p->client = client;
    memcpy(p->text, text, text_size);
    p->text_size = text_size;
    set_cost(p);
    *out_error = NULL;
    if (!parse_signature(p))
        *out_error = fake_error(PJRT_Error_Code_INVALID_ARGUMENT, "the signature of main is odd");
    else if (options && !read_options(p, options, options_size))
        *out_error = fake_error(PJRT_Error_Code_INVALID_ARGUMENT,
                                "%d devices assigned to the partitions", p->partition_count);
    else if (options && fake_get("unknown_flags") && has_flags(options, options_size))
        *out_error =
            fake_error(PJRT_Error_Code_INVALID_ARGUMENT, "No such compile option: 'xla_x'");
    else if (fake_get("unsupported_op"))
        *out_error = reject_reduction(p->text, fake_get("unsupported_op") == 2);
    if (!*out_error)
        return p;
    program_release(p);
    return NULL;
}

program *program_retain(program *p)
{
    atomic_fetch_add(&p->references, 1);
    return p;
}

void program_release(program *p)
{
    if (!p || atomic_fetch_sub(&p->references, 1) != 1)
        return;
    free(p->arguments);
    free(p->outputs);
    free(p->output_types);
    free(p->output_ranks);
    free(p->output_dims);
    free(p->text);
    free(p);
    fake_count("programs", -1);
}
