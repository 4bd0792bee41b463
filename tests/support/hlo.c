/* hlo.c - the wire format of HloModuleProtoWithConfig, as far as hlo.h needs it. Field numbers are
 * those of XLA's service/hlo.proto and xla_data.proto.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "hlo.h"

#include "base/alloc.h"

enum { MOST = 16384 };
enum { CONFIGURED_MODULE = 1, MODULE_COMPUTATIONS = 3, COMPUTATION_INSTRUCTIONS = 2 };
enum { OPCODE = 2, SHAPE = 3, ID = 35, OPERANDS = 36, SHAPE_ELEMENT = 2 };

typedef struct part {
    const unsigned char *at, *end;
} part;

typedef struct instruction {
    uint64_t id, in[2];
    int in_count;
    fgt_hlo_op op;
} instruction;

static uint64_t varint(part *p)
{
    uint64_t value = 0;
    int shift = 0;
    do {
        assert_true(p->at < p->end && shift < 64);
        value |= (uint64_t)(*p->at & 0x7f) << shift;
        shift += 7;
    } while ((*p->at++ & 0x80) != 0);
    return value;
}

/* The next field's number; its content as a number or as a part. */
static uint64_t field(part *p, uint64_t *out_value, part *out_part)
{
    const uint64_t tag = varint(p), kind = tag & 7;
    *out_value = 0;
    *out_part = (part){p->at, p->at};
    if (kind == 0) {
        *out_value = varint(p);
    } else {
        const uint64_t size = kind == 2 ? varint(p) : kind == 1 ? 8 : 4;
        assert_true(kind == 1 || kind == 2 || kind == 5);
        assert_true(size <= (uint64_t)(p->end - p->at));
        *out_part = (part){p->at, p->at + size};
        p->at += size;
    }
    return tag >> 3;
}

static fg_dtype dtype_of(part shape)
{
    static const fg_dtype of[] = {
        [1] = FG_BOOL, [2] = FG_S8,   [3] = FG_S16,  [4] = FG_S32, [5] = FG_S64,
        [6] = FG_U8,   [7] = FG_U16,  [8] = FG_U32,  [9] = FG_U64, [10] = FG_F16,
        [11] = FG_F32, [12] = FG_F64, [16] = FG_BF16};
    uint64_t value;
    part inner;
    while (shape.at < shape.end)
        if (field(&shape, &value, &inner) == SHAPE_ELEMENT)
            return value < sizeof of / sizeof of[0] ? of[value] : FG_DTYPE_NONE;
    return FG_DTYPE_NONE;
}

static void add_operand(instruction *i, uint64_t id)
{
    if (i->in_count < 2)
        i->in[i->in_count] = id;
    i->in_count++;
}

static instruction read_instruction(part p)
{
    instruction i = {0};
    uint64_t value;
    part inner;
    while (p.at < p.end) {
        const uint64_t number = field(&p, &value, &inner);
        const size_t size = (size_t)(inner.end - inner.at);
        if (number == OPCODE && size < sizeof i.op.opcode)
            memcpy(i.op.opcode, inner.at, size);
        else if (number == SHAPE)
            i.op.result = dtype_of(inner);
        else if (number == ID)
            i.id = value;
        else if (number == OPERANDS && size == 0)
            add_operand(&i, value);
        else if (number == OPERANDS) /* packed */
            while (inner.at < inner.end)
                add_operand(&i, varint(&inner));
    }
    return i;
}

static void read_computation(part p, void (*each)(void *self, const fgt_hlo_op *op), void *self)
{
    static instruction all[MOST];
    size_t count = 0;
    uint64_t value;
    part inner;
    while (p.at < p.end)
        if (field(&p, &value, &inner) == COMPUTATION_INSTRUCTIONS) {
            assert_true(count < MOST);
            all[count++] = read_instruction(inner);
        }
    for (size_t i = 0; i < count; i++) {
        all[i].op.in_count = all[i].in_count;
        for (int k = 0; k < all[i].in_count && k < 2; k++)
            for (size_t n = 0; n < count; n++)
                if (all[n].id == all[i].in[k])
                    all[i].op.in[k] = all[n].op.result;
        each(self, &all[i].op);
    }
}

void fgt_hlo_each(const fgi_executable *executable, void (*each)(void *self, const fgt_hlo_op *op),
                  void *self)
{
    fg_error err = {0};
    char *data = NULL;
    size_t size = 0;
    uint64_t value;
    part inner, computation;
    fgt_ok(fgi_executable_optimized(executable, &data, &size, &err));
    part whole = {(const unsigned char *)data, (const unsigned char *)data + size};
    while (whole.at < whole.end)
        if (field(&whole, &value, &inner) == CONFIGURED_MODULE)
            while (inner.at < inner.end)
                if (field(&inner, &value, &computation) == MODULE_COMPUTATIONS)
                    read_computation(computation, each, self);
    fgi_free(data);
}

static void count_one(void *self, const fgt_hlo_op *op)
{
    fgt_hlo_count *count = self;
    const bool is_so = op->in[0] == count->dtype && op->in[1] == count->dtype;
    count->dots += strcmp(op->opcode, "dot") == 0;
    count->dots_so += strcmp(op->opcode, "dot") == 0 && is_so;
    count->convs += strcmp(op->opcode, "convolution") == 0;
    count->convs_so += strcmp(op->opcode, "convolution") == 0 && is_so;
    count->custom_calls += strcmp(op->opcode, "custom-call") == 0;
}

void fgt_hlo_products(const fgi_executable *executable, fgt_hlo_count *count)
{
    const fg_dtype dtype = count->dtype;
    *count = (fgt_hlo_count){.dtype = dtype};
    fgt_hlo_each(executable, count_one, count);
}
