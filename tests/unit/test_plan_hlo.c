/* test_plan_hlo.c - single instructions of HLO, made by hand: tiles, arithmetic of convolutions,
 * lengths of loops, groups of devices, bytes.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "kernel/kernel.h"
#include "plan/hlo_work.h"

enum { F32 = 11, BF16 = 16, S8 = 2, S32 = 4, S64 = 5, PRED = 1, POOL = 1 << 16, OPS = 64 };

/* ---- making modules -------------------------------------------------------------------------- */

/* Memory for one test's messages. */
static _Alignas(16) char pool[POOL];
static size_t used;

static void *get(size_t size)
{
    void *at = pool + used;
    used += (size + 15) & ~(size_t)15;
    assert_true(used <= POOL);
    memset(at, 0, size);
    return at;
}

static int64_t *numbers(size_t count, const int64_t *values)
{
    int64_t *own = get((count + 1) * sizeof *own);
    if (count > 0)
        memcpy(own, values, count * sizeof *own);
    return own;
}

#define NUMBERS(...)                                                                               \
    sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]) { __VA_ARGS__ }

static Fgi__Hlo__Shape *array(int element, size_t rank, const int64_t *dims)
{
    Fgi__Hlo__Shape *shape = get(sizeof *shape);
    fgi__hlo__shape__init(shape);
    shape->element = element;
    shape->n_dimension = rank;
    shape->dimension = numbers(rank, dims);
    return shape;
}

static Fgi__Hlo__Shape *laid_out(Fgi__Hlo__Shape *shape, const int64_t *minor_to_major)
{
    shape->layout = get(sizeof *shape->layout);
    fgi__hlo__layout__init(shape->layout);
    shape->layout->n_minor_to_major = shape->n_dimension;
    shape->layout->minor_to_major = numbers(shape->n_dimension, minor_to_major);
    shape->layout->tile = get(4 * sizeof *shape->layout->tile);
    return shape;
}

static Fgi__Hlo__Shape *tiled(Fgi__Hlo__Shape *shape, size_t count, const int64_t *tile)
{
    Fgi__Hlo__Tile *own = get(sizeof *own);
    fgi__hlo__tile__init(own);
    own->n_dimension = count;
    own->dimension = numbers(count, tile);
    shape->layout->tile[shape->layout->n_tile++] = own;
    return shape;
}

typedef struct builder {
    Fgi__Hlo__Module module;
    Fgi__Hlo__ModuleWithConfig whole;
    fgi_hlo hlo;
    fgi_hlo_index index;
    int64_t next;
} builder;

static Fgi__Hlo__Computation *computation(builder *b)
{
    Fgi__Hlo__Computation *c = get(sizeof *c);
    fgi__hlo__computation__init(c);
    c->id = b->next++;
    c->instruction = get(OPS * sizeof *c->instruction);
    if (b->module.computation == NULL)
        b->module.computation = get(OPS * sizeof *b->module.computation);
    b->module.computation[b->module.n_computation++] = c;
    return c;
}

static Fgi__Hlo__Instruction *op(builder *b, Fgi__Hlo__Computation *in, const char *opcode,
                                 Fgi__Hlo__Shape *shape, size_t count, const int64_t *operands)
{
    Fgi__Hlo__Instruction *i = get(sizeof *i);
    fgi__hlo__instruction__init(i);
    i->opcode = (char *)(uintptr_t)opcode;
    i->shape = shape;
    i->id = b->next++;
    i->n_operand = count;
    i->operand = numbers(count, operands);
    in->instruction[in->n_instruction++] = i;
    in->root = i->id;
    return i;
}

static void begin(builder *b)
{
    used = 0;
    *b = (builder){.next = 1};
    fgi__hlo__module__init(&b->module);
}

static void finish(builder *b)
{
    fg_error err = {0};
    b->hlo = (fgi_hlo){.module = &b->module, .entry = b->module.computation[0]};
    fgt_ok(fgi_hlo_index_make(&b->hlo, &b->index, &err));
}

/* ---- tiles ----------------------------------------------------------------------------------- */

/* XLA's "Tiled layout" pads F32[3,5] in tiles of 2 x 2 to 4 x 6. The others are layouts that libtpu
 * gave, and bytes that it gave for arguments. */
static void arrays_take_whole_tiles(void **state)
{
    (void)state;
    used = 0;
    Fgi__Hlo__Shape *s = laid_out(array(F32, NUMBERS(3, 5)), (const int64_t[]){1, 0});
    assert_int_equal(fgi_hlo_padded_bytes(s), 60);
    assert_int_equal(fgi_hlo_padded_bytes(tiled(s, NUMBERS(2, 2))), 4 * 6 * 4);
    s = laid_out(array(F32, NUMBERS(100000, 3)), (const int64_t[]){0, 1});
    assert_int_equal(fgi_hlo_padded_bytes(tiled(s, NUMBERS(4, 128))), 100096 * 4 * 4);
    s = laid_out(array(BF16, NUMBERS(1000, 1000)), (const int64_t[]){1, 0});
    tiled(s, NUMBERS(8, 128));
    assert_int_equal(fgi_hlo_padded_bytes(tiled(s, NUMBERS(2, 1))), 1000 * 1024 * 2);
    s = laid_out(array(PRED, NUMBERS(1)), (const int64_t[]){0});
    tiled(tiled(s, NUMBERS(512)), NUMBERS(128));
    assert_int_equal(fgi_hlo_padded_bytes(tiled(s, NUMBERS(4, 1))), 512);
    s = laid_out(array(F32, 0, NULL), (const int64_t[]){0});
    assert_int_equal(fgi_hlo_padded_bytes(tiled(s, NUMBERS(128))), 512);
}

static void a_dimension_is_padded_by_its_side_of_the_tile(void **state)
{
    (void)state;
    used = 0;
    Fgi__Hlo__Shape *s =
        laid_out(array(F32, NUMBERS(7, 28, 6, 130)), (const int64_t[]){0, 3, 2, 1});
    tiled(s, NUMBERS(8, 128));
    const int64_t padded[] = {128, 28, 6, 136};
    for (int64_t i = 0; i < 4; i++)
        assert_int_equal(fgi_hlo_padded_dim(s, i).padded, padded[i]);
    assert_int_equal(fgi_hlo_padded_dim(s, 4).size, 0);
}

/* ---- convolutions ---------------------------------------------------------------------------- */

typedef struct window {
    int64_t in, size, stride, low, high, base, step;
} window;

static int64_t out_of(const window *w)
{
    const int64_t base = (w->in - 1) * w->base + 1, reach = (w->size - 1) * w->step + 1;
    const int64_t room = base + w->low + w->high - reach;
    return room < 0 ? 0 : room / w->stride + 1;
}

/* Counted one by one. */
static int64_t pairs_of(const window *w)
{
    int64_t pairs = 0;
    for (int64_t o = 0; o < out_of(w); o++)
        for (int64_t k = 0; k < w->size; k++) {
            const int64_t at = o * w->stride + k * w->step - w->low;
            pairs += at >= 0 && at % w->base == 0 && at / w->base < w->in;
        }
    return pairs;
}

/* [2, in, 3] by [size, 3, 5], with the batch in groups. */
static double grouped_flops(const window *w, int64_t batch_groups)
{
    builder b;
    begin(&b);
    Fgi__Hlo__Computation *c = computation(&b);
    const int64_t x = op(&b, c, "parameter", array(F32, NUMBERS(2, w->in, 3)), 0, NULL)->id;
    const int64_t k = op(&b, c, "parameter", array(F32, NUMBERS(w->size, 3, 5)), 0, NULL)->id;
    Fgi__Hlo__Instruction *conv =
        op(&b, c, "convolution", array(F32, NUMBERS(2, out_of(w), 5)), NUMBERS(x, k));
    Fgi__Hlo__WindowDimension d = FGI__HLO__WINDOW_DIMENSION__INIT, *dims[] = {&d};
    Fgi__Hlo__Window win = FGI__HLO__WINDOW__INIT;
    Fgi__Hlo__ConvDimensions n = FGI__HLO__CONV_DIMENSIONS__INIT;
    int64_t one = 1, zero = 0;
    d.size = w->size, d.stride = w->stride, d.padding_low = w->low, d.padding_high = w->high;
    d.base_dilation = w->base, d.window_dilation = w->step;
    win.n_dimension = 1, win.dimension = dims;
    n.input_feature = n.output_feature = n.kernel_output = 2, n.kernel_input = 1;
    n.n_input_spatial = n.n_output_spatial = n.n_kernel_spatial = 1;
    n.input_spatial = n.output_spatial = &one, n.kernel_spatial = &zero;
    conv->window = &win, conv->conv = &n, conv->batch_groups = batch_groups;
    finish(&b);
    fgi_hlo_arithmetic a;
    assert_true(fgi_hlo_arithmetic_of(&b.index, conv, &a));
    fgi_hlo_index_fini(&b.index);
    return a.flops;
}

static double conv_flops(const window *w) { return grouped_flops(w, 1); }

/* Each output feature belongs to one of the groups. */
static void groups_of_a_batch_share_its_features(void **state)
{
    const window w = {28, 5, 1, 2, 2, 1, 1};
    (void)state;
    fgt_close("none", grouped_flops(&w, 0), 60.0 * (double)pairs_of(&w), 0, 0);
    fgt_close("two", grouped_flops(&w, 2), 30.0 * (double)pairs_of(&w), 0, 0);
}

static void only_elements_that_are_there_are_multiplied(void **state)
{
    (void)state;
    static const window known[] = {
        {28, 5, 1, 2, 2, 1, 1}, {224, 7, 2, 3, 3, 1, 1}, {7, 3, 1, 1, 1, 2, 1},
        {9, 3, 2, 1, 1, 1, 2},  {8, 3, 3, 2, 2, 4, 1},   {10, 3, 1, -1, -2, 1, 1},
        {6, 6, 5, 0, 0, 6, 1}, /* a batch of products is written like this */
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        fgt_close("known", conv_flops(&known[i]), 60.0 * (double)pairs_of(&known[i]), 0, 0);
    const fgi_key key = fgi_key_from_seed(7);
    for (uint64_t i = 0; i < 500; i++) {
        int64_t r[7];
        for (uint64_t k = 0; k < 7; k++)
            r[k] = (int64_t)(fgi_rng_u64(key, 7 * i + k) % 6);
        const window w = {.in = 3 + 2 * r[0],
                          .size = 1 + r[1],
                          .stride = 1 + r[2],
                          .low = r[3] - 1,
                          .high = r[4] - 1,
                          .base = 1 + r[5],
                          .step = 1 + r[6] % 3};
        if (out_of(&w) > 0)
            fgt_close("random", conv_flops(&w), 60.0 * (double)pairs_of(&w), 0, 0);
    }
}

/* ---- loops ----------------------------------------------------------------------------------- */

static enum { LITERAL_S32, LITERAL_S64, LITERAL_U32, LITERALS } literals; /* of all numbers */

static int64_t number(builder *b, Fgi__Hlo__Computation *c, int32_t value)
{
    Fgi__Hlo__Instruction *i = op(b, c, "constant", array(S32, 0, NULL), 0, NULL);
    Fgi__Hlo__Literal *l = i->literal = get(sizeof *i->literal);
    fgi__hlo__literal__init(l);
    l->n_s32 = literals == LITERAL_S32, l->s32 = get(sizeof(int32_t)), l->s32[0] = value;
    l->n_s64 = literals == LITERAL_S64, l->s64 = get(sizeof(int64_t)), l->s64[0] = value;
    l->n_u32 = literals == LITERAL_U32, l->u32 = get(sizeof(uint32_t));
    l->u32[0] = (uint32_t)value;
    return i->id;
}

static int64_t part(builder *b, Fgi__Hlo__Computation *c, int64_t of, int64_t number_of)
{
    Fgi__Hlo__Instruction *i = op(b, c, "get-tuple-element", array(S32, 0, NULL), NUMBERS(of));
    i->part = number_of;
    return i->id;
}

/* i = from; while (i DIRECTION to) i += step; the limit in the test itself, or carried along. */
static int64_t trips(const char *direction, int32_t from, int32_t to, int32_t step, bool carried)
{
    builder b;
    begin(&b);
    Fgi__Hlo__Computation *entry = computation(&b), *body = computation(&b),
                          *test = computation(&b);
    int64_t state = op(&b, body, "parameter", NULL, 0, NULL)->id;
    const int64_t limit = part(&b, body, state, 1);
    const int64_t next = op(&b, body, "add", array(S32, 0, NULL),
                            NUMBERS(number(&b, body, step), part(&b, body, state, 0)))
                             ->id;
    (void)op(&b, body, "tuple", NULL, NUMBERS(next, limit));
    state = op(&b, test, "parameter", NULL, 0, NULL)->id;
    const int64_t end = carried ? part(&b, test, state, 1) : number(&b, test, to);
    op(&b, test, "compare", array(PRED, 0, NULL), NUMBERS(part(&b, test, state, 0), end))
        ->direction = (char *)(uintptr_t)direction;
    const int64_t first = op(&b, entry, "copy", NULL, NUMBERS(number(&b, entry, from)))->id;
    const int64_t tuple = op(&b, entry, "tuple", NULL, NUMBERS(first, number(&b, entry, to)))->id;
    Fgi__Hlo__Instruction *loop = op(&b, entry, "while", NULL, NUMBERS(tuple));
    loop->n_called = 2;
    loop->called = numbers(NUMBERS(body->id, test->id));
    finish(&b);
    const int64_t result = fgi_hlo_trips(&b.index, loop);
    fgi_hlo_index_fini(&b.index);
    return result;
}

static void counters_of_loops_are_understood(void **state)
{
    (void)state;
    assert_int_equal(trips("LT", 0, 12, 1, false), 12);
    assert_int_equal(trips("LT", 0, 12, 1, true), 12);
    assert_int_equal(trips("LT", 3, 12, 4, false), 3); /* 3 7 11 */
    assert_int_equal(trips("LE", 3, 11, 4, false), 3);
    assert_int_equal(trips("LT", 12, 12, 1, false), 0);
    assert_int_equal(trips("GT", 9, 0, -2, false), 5); /* 9 7 5 3 1 */
    assert_int_equal(trips("GE", 8, 0, -2, true), 5);
    assert_int_equal(trips("NE", 0, 6, 2, false), 3);
    assert_int_equal(trips("NE", 0, 7, 2, false), -1);
    assert_int_equal(trips("GT", 0, 7, 1, false), -1);
    assert_int_equal(trips("LT", 0, 7, 0, false), -1);
    assert_int_equal(trips("LE", 3, 3, 4, false), 1);
    assert_int_equal(trips("LE", 4, 3, 4, false), 0);
    assert_int_equal(trips("GE", 5, 5, -1, false), 1);
    assert_int_equal(trips("GE", 4, 5, -1, false), 0);
    assert_int_equal(trips("NE", 7, 1, -2, false), 3);
    assert_int_equal(trips("NE", 0, -2, 2, false), -1);
    for (literals = LITERAL_S32; literals < LITERALS; literals++)
        assert_int_equal(trips("LT", 3, 12, 4, true), 3);
    literals = LITERAL_S32;
}

/* ---- groups and bytes ------------------------------------------------------------------------ */

static fgi_plan_collective collective(void (*set)(Fgi__Hlo__Instruction *i))
{
    builder b;
    fgi_plan_analysis a = {.machine = {.chip = fg_chip_find("TPU v4"), .devices = 16}};
    fgi_hlo_config config = {.algorithm = "Ring"};
    begin(&b);
    Fgi__Hlo__Computation *c = computation(&b);
    const int64_t x = op(&b, c, "parameter", array(F32, NUMBERS(250)), 0, NULL)->id;
    Fgi__Hlo__Instruction *i = op(&b, c, "all-gather", array(F32, NUMBERS(1000)), NUMBERS(x));
    Fgi__Hlo__Instruction *all =
        op(&b, c, "all-gather", array(F32, NUMBERS(1000)), NUMBERS(x)); /* of all devices */
    set(i);
    finish(&b);
    fgi_plan_walk w = {.index = b.index, .out = &a};
    fgi_plan_add_collective(&w, i, FG_ALL_GATHER, &config, 3);
    assert_int_equal(a.collective_count, 1);
    fgi_plan_collective result = a.collectives[0];
    fgi_plan_add_collective(&w, all, FG_ALL_GATHER, &config, 1);
    assert_int_equal(a.collective_count, result.group == 16 ? 1 : 2); /* one for each size */
    result.algorithm = NULL;
    fgi_hlo_index_fini(&b.index);
    fgi_plan_analysis_fini(&a);
    return result;
}

static void set_nothing(Fgi__Hlo__Instruction *i) { (void)i; }

static void set_counted(Fgi__Hlo__Instruction *i)
{
    static Fgi__Hlo__CountedGroups counted = FGI__HLO__COUNTED_GROUPS__INIT;
    static Fgi__Hlo__DeviceGroups groups = FGI__HLO__DEVICE_GROUPS__INIT;
    counted.count = 2, counted.size = 8;
    groups.counted = &counted;
    i->groups = &groups;
}

static void set_listed(Fgi__Hlo__Instruction *i)
{
    static int64_t device[] = {0, 4};
    static Fgi__Hlo__DeviceGroup group = FGI__HLO__DEVICE_GROUP__INIT, *groups[] = {&group};
    group.n_device = 2, group.device = device;
    i->n_group = 1, i->group = groups;
}

/* Along the second axis of 4 x 4, and half of the first. */
static void set_mesh(Fgi__Hlo__Instruction *i)
{
    static Fgi__Hlo__MeshAxis axis = FGI__HLO__MESH_AXIS__INIT, *axes[] = {&axis, &axis};
    static Fgi__Hlo__Mesh mesh = FGI__HLO__MESH__INIT;
    static Fgi__Hlo__AxisPart half = FGI__HLO__AXIS_PART__INIT;
    static Fgi__Hlo__AxisUse second = FGI__HLO__AXIS_USE__INIT, some = FGI__HLO__AXIS_USE__INIT,
                             *uses[] = {&second, &some};
    static Fgi__Hlo__MeshGroups groups = FGI__HLO__MESH_GROUPS__INIT;
    axis.size = 4, mesh.n_axis = 2, mesh.axis = axes;
    second.axis = 1, half.before = 1, half.size = 2, some.part = &half;
    groups.mesh = &mesh, groups.n_use = 2, groups.use = uses;
    i->mesh_groups = &groups;
}

/* A v4 has 600 GB/s over six links. The whole is 4,000 bytes, three times. */
static void an_collective_is_among_the_devices_of_a_group(void **state)
{
    static const struct {
        void (*set)(Fgi__Hlo__Instruction *i);
        int group;
    } rows[] = {{set_nothing, 16}, {set_counted, 8}, {set_listed, 2}, {set_mesh, 8}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const fgi_plan_collective e = collective(rows[i].set);
        const double n = rows[i].group;
        assert_int_equal(e.group, rows[i].group);
        assert_int_equal(e.count, 3);
        assert_int_equal(e.bytes, 12000);
        fgt_close("seconds", e.seconds, 12000 * (n - 1) / n / 100e9, 0, 1e-12);
    }
}

static const struct {
    const char *opcode;
    fg_collective kind;
    int64_t in, out;
    double sent; /* of the bytes */
} sides[] = {
    {"reduce-scatter", FG_REDUCE_SCATTER, 1000, 500, 0.5},
    {"all-gather", FG_ALL_GATHER, 500, 1000, 0.5},
    {"all-gather-start", FG_ALL_GATHER, 500, 1000, 0.5},
    {"collective-permute", FG_COLLECTIVE_PERMUTE, 1000, 1000, 1},
    {"all-reduce", FG_ALL_REDUCE, 1000, 1000, 1},
};

/* The larger of both sides counts, of two devices on a v4; of an operation that only starts, whose
 * result is a tuple, the second part. A ring sends all of it, half of it, or that twice. */
static void sides_of_a_collective(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        builder b;
        fgi_plan_analysis a = {.machine = {.chip = fg_chip_find("TPU v4"), .devices = 16}};
        fgi_hlo_config config = {.algorithm = ""};
        begin(&b);
        Fgi__Hlo__Computation *c = computation(&b);
        Fgi__Hlo__Shape *in = array(F32, NUMBERS(sides[i].in)), *part_of[2] = {in, NULL};
        Fgi__Hlo__Shape *out = part_of[1] = array(F32, NUMBERS(sides[i].out));
        if (strstr(sides[i].opcode, "-start") != NULL) {
            out = array(0, 0, NULL);
            out->n_part = 2, out->part = part_of;
        }
        const int64_t x = op(&b, c, "parameter", in, 0, NULL)->id;
        Fgi__Hlo__Instruction *one = op(&b, c, sides[i].opcode, out, NUMBERS(x));
        set_listed(one);
        finish(&b);
        fgi_plan_walk w = {.index = b.index, .out = &a};
        fgi_plan_add_collective(&w, one, sides[i].kind, &config, 1);
        assert_int_equal(a.collectives[0].bytes, 4000);
        fgt_close("seconds", a.collectives[0].seconds, sides[i].sent * 4000 / 100e9, 0, 1e-12);
        fgi_hlo_index_fini(&b.index);
        fgi_plan_analysis_fini(&a);
    }
}

/* Out of [64,128] one row is cut; [8,128] is read whole; the result lies in main memory. */
static void of_an_array_that_is_cut_the_part_counts(void **state)
{
    builder b;
    double bytes, padded;
    (void)state;
    begin(&b);
    Fgi__Hlo__Computation *entry = computation(&b), *fused = computation(&b);
    const int64_t x = op(&b, entry, "parameter", array(F32, NUMBERS(64, 128)), 0, NULL)->id;
    const int64_t y = op(&b, entry, "parameter", array(F32, NUMBERS(8, 128)), 0, NULL)->id;
    Fgi__Hlo__Instruction *p = op(&b, fused, "parameter", array(F32, NUMBERS(64, 128)), 0, NULL);
    Fgi__Hlo__Instruction *q = op(&b, fused, "parameter", array(F32, NUMBERS(8, 128)), 0, NULL);
    q->parameter = 1;
    const int64_t cut =
        op(&b, fused, "dynamic-slice", array(F32, NUMBERS(1, 128)), NUMBERS(p->id))->id;
    (void)op(&b, fused, "add", array(F32, NUMBERS(8, 128)), NUMBERS(q->id, cut));
    Fgi__Hlo__Instruction *fusion =
        op(&b, entry, "fusion", array(F32, NUMBERS(8, 128)), NUMBERS(x, y));
    fusion->n_called = 1;
    fusion->called = numbers(NUMBERS(fused->id));
    finish(&b);
    fgi_hlo_traffic(&b.index, fusion, &bytes, &padded);
    fgt_close("bytes", bytes, 4.0 * 128 * (1 + 8 + 8), 0, 0);
    fgt_close("padded", padded, bytes, 0, 0);
    fusion->shape = laid_out(fusion->shape, (const int64_t[]){1, 0});
    fusion->shape->layout->memory_space = 1; /* on-chip memory */
    fgi_hlo_traffic(&b.index, fusion, &bytes, &padded);
    fgt_close("bytes", bytes, 4.0 * 128 * (1 + 8), 0, 0);
    fgi_hlo_index_fini(&b.index);
}

/* A fusion of x [64,128] and y [8,128], whose first operation cuts one row of x. y is a number of
 * the cut, or another operand. */
static double cut_bytes(const char *opcode, bool is_place)
{
    builder b;
    double bytes, padded;
    begin(&b);
    Fgi__Hlo__Computation *entry = computation(&b), *fused = computation(&b);
    const int64_t x = op(&b, entry, "parameter", array(F32, NUMBERS(64, 128)), 0, NULL)->id;
    const int64_t y = op(&b, entry, "parameter", array(F32, NUMBERS(8, 128)), 0, NULL)->id;
    Fgi__Hlo__Instruction *p = op(&b, fused, "parameter", array(F32, NUMBERS(64, 128)), 0, NULL);
    Fgi__Hlo__Instruction *q = op(&b, fused, "parameter", array(F32, NUMBERS(8, 128)), 0, NULL);
    q->parameter = 1;
    const size_t operands = is_place ? 2 : 1;
    const int64_t cut = op(&b, fused, opcode, array(F32, NUMBERS(1, 128)), operands,
                           (const int64_t[]){p->id, q->id})
                            ->id;
    if (!is_place)
        (void)op(&b, fused, "add", array(F32, NUMBERS(1, 128)), NUMBERS(cut, q->id));
    Fgi__Hlo__Instruction *fusion =
        op(&b, entry, "fusion", array(F32, NUMBERS(1, 128)), NUMBERS(x, y));
    fusion->n_called = 1;
    fusion->called = numbers(NUMBERS(fused->id));
    finish(&b);
    fgi_hlo_traffic(&b.index, fusion, &bytes, &padded);
    fgi_hlo_index_fini(&b.index);
    return bytes;
}

static void cuts_are_of_the_first_operand(void **state)
{
    static const char *const cuts[] = {"slice", "dynamic-slice", "gather"};
    (void)state;
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++)
        for (int is_place = 0; is_place < 2; is_place++)
            fgt_close(cuts[i], cut_bytes(cuts[i], is_place), 4.0 * 128 * (1 + 8 + 1), 0, 0);
    fgt_close("negate", cut_bytes("negate", false), 4.0 * 128 * (64 + 8 + 1), 0, 0);
}

/* One row of [64,100] is written and read, in tiles of 8 x 128. */
static void an_update_in_place_counts_twice(void **state)
{
    builder b;
    double bytes, padded;
    const int64_t order[] = {1, 0};
    (void)state;
    begin(&b);
    Fgi__Hlo__Computation *c = computation(&b);
    Fgi__Hlo__Shape *row = tiled(laid_out(array(F32, NUMBERS(1, 100)), order), NUMBERS(8, 128));
    const int64_t x = op(&b, c, "parameter", array(F32, NUMBERS(64, 100)), 0, NULL)->id;
    const int64_t y = op(&b, c, "parameter", row, 0, NULL)->id;
    const fgi_hlo_op *update =
        op(&b, c, "dynamic-update-slice", array(F32, NUMBERS(64, 100)), NUMBERS(x, y));
    finish(&b);
    fgi_hlo_traffic(&b.index, update, &bytes, &padded);
    fgt_close("bytes", bytes, 2.0 * 4 * 100, 0, 0);
    fgt_close("padded", padded, 2.0 * 4 * 8 * 128, 0, 0);
    fgi_hlo_index_fini(&b.index);
}

/* Two collectives that overlap with the matmuls of a fusion, of which only the second starts there;
 * alone, outside a fusion, each one counts. */
static void a_collective_counts_where_it_starts(void **state)
{
    static char overlapped[] = "{\"async_collective_fusion_config\": {}}",
                start[] = "AsyncCollectiveStart";
    builder b;
    (void)state;
    begin(&b);
    Fgi__Hlo__Computation *fused = computation(&b);
    const int64_t x = op(&b, fused, "parameter", array(F32, NUMBERS(8)), 0, NULL)->id;
    Fgi__Hlo__Instruction *two[2];
    for (int i = 0; i < 2; i++) {
        two[i] = op(&b, fused, "all-gather", array(F32, NUMBERS(32)), NUMBERS(x));
        two[i]->config.data = (uint8_t *)overlapped;
        two[i]->config.len = sizeof overlapped - 1;
    }
    op(&b, fused, "custom-call", array(F32, NUMBERS(32)), NUMBERS(two[1]->id))->target = start;
    for (int is_fused = 0; is_fused < 2; is_fused++)
        for (int i = 0; i < 2; i++) {
            fg_collective kind;
            int64_t bytes = 0;
            fused->is_fused = is_fused;
            assert_int_equal(fgi_hlo_collective_once(fused, two[i], &kind, &bytes),
                             !is_fused || i == 1);
            assert_int_equal(bytes, !is_fused || i == 1 ? 128 : 0);
        }
}

enum { U64 = 9, F64 = 12, C64 = 15, C128 = 18, NOT_SLOW = -1 };
static const struct {
    const char *chip;
    int element;
    int64_t size;
    int slow;
} slow_arrays[] = {
    {"TPU v3", S64, 1, NOT_SLOW},
    {"TPU v3", S64, 1023, NOT_SLOW},
    {"TPU v3", S64, 1024, FGI_SLOW_INT64},
    {"TPU v3", U64, 1024, FGI_SLOW_INT64},
    {"TPU v3", F64, 1024, FGI_SLOW_F64},
    {"TPU v3", C64, 1024, FGI_SLOW_COMPLEX},
    {"TPU v3", C128, 1024, FGI_SLOW_COMPLEX},
    {"TPU v3", F32, 1024, NOT_SLOW},
    {"NVIDIA A100 80GB PCIe", F64, 1024, NOT_SLOW}, /* half of the rate of f32 */
    {"NVIDIA A100 80GB PCIe", S64, 1024, NOT_SLOW},
    {"NVIDIA RTX 3090", F64, 1024, FGI_SLOW_F64}, /* 1/64 */
};

/* A counter of 64 bits is no reason for a warning, an array of 1,024 of them is. */
static void only_arrays_are_slow(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof slow_arrays / sizeof slow_arrays[0]; i++) {
        builder b;
        fgi_plan_slow_kind kind = FGI_SLOW_KINDS;
        const fgi_plan_machine machine = {.chip = fg_chip_find(slow_arrays[i].chip)};
        assert_non_null(machine.chip);
        begin(&b);
        Fgi__Hlo__Instruction *add =
            op(&b, computation(&b), "add",
               array(slow_arrays[i].element, NUMBERS(slow_arrays[i].size)), 0, NULL);
        finish(&b);
        assert_int_equal(fgi_plan_format_is_slow(&machine, &b.index, add, &kind),
                         slow_arrays[i].slow != NOT_SLOW);
        if (slow_arrays[i].slow != NOT_SLOW)
            assert_int_equal(kind, slow_arrays[i].slow);
        fgi_hlo_index_fini(&b.index);
    }
}

static const struct {
    const char *kind;
    fg_dtype dtype;
    bool is_precise;
    int slow; /* -1: it is not */
} slow_matmuls[] = {
    {"TPU v2", FG_BF16, false, -1},
    {"TPU v2", FG_F32, false, -1},
    {"TPU v2", FG_F32, true, FGI_SLOW_PRECISION},
    {"TPU v2", FG_S8, false, FGI_SLOW_INT8},
    {"TPU v5 lite", FG_S8, false, -1},
    {"TPU7x", FG_S8, false, FGI_SLOW_INT8},
    {"TPU v6 lite", FG_S32, false, FGI_SLOW_INT32},
    {"TPU v6 lite", FG_U32, false, FGI_SLOW_INT32},
    {"TPU v6 lite", FG_S16, false, FGI_SLOW_INT32},
    {"TPU v6 lite", FG_U16, false, FGI_SLOW_INT32},
    {"TPU v6 lite", FG_U8, false, -1},
    {"TPU v4", FG_U8, false, FGI_SLOW_INT8},
    {"TPU v3", FG_S8, false, FGI_SLOW_INT8},
    {"TPU v4", FG_F16, false, FGI_SLOW_F16},
    {"TPU v2", FG_F16, false, -1},
    {"TPU v3", FG_F16, false, -1},
    {"TPU v5", FG_F16, false, FGI_SLOW_F16},
    {"NVIDIA H100 SXM", FG_F16, false, -1},
};

/* ---- formats --------------------------------------------------------------------------------- */

static void formats_are_slow_by_generation(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof slow_matmuls / sizeof slow_matmuls[0]; i++) {
        fgi_plan_slow_kind kind = FGI_SLOW_KINDS;
        const fgi_plan_machine machine = {.chip = fg_chip_find(slow_matmuls[i].kind), .devices = 1};
        const fgi_hlo_arithmetic matmul = {.dtype = slow_matmuls[i].dtype,
                                           .is_precise = slow_matmuls[i].is_precise};
        assert_non_null(machine.chip);
        assert_int_equal(fgi_plan_matmul_is_slow(&machine, &matmul, &kind),
                         slow_matmuls[i].slow >= 0);
        if (slow_matmuls[i].slow >= 0)
            assert_int_equal(kind, slow_matmuls[i].slow);
    }
}

static fgi_hlo_config config_of(const char *json)
{
    fgi_hlo_config config;
    fgi_hlo_op op;
    fgi__hlo__instruction__init(&op);
    op.config.data = (uint8_t *)(uintptr_t)json;
    op.config.len = strlen(json);
    fgi_hlo_config_read(&op, &config);
    return config;
}

/* Numbers may be texts, and the cycles are those of the window if it has some. */
static void annotations_are_read(void **state)
{
    (void)state;
    assert_true(config_of("").cycles == -1 && config_of("").trips == -1);
    assert_true(config_of("{").cycles == -1 && config_of("{}").trips == -1);
    assert_true(config_of("{\"estimated_cycles\": \"12345\"}").cycles == 12345);
    assert_true(config_of("{\"estimated_cycles\": 7}").cycles == 7);
    assert_true(config_of("{\"estimated_cycles\": \"x\"}").cycles == -1);
    assert_true(config_of("{\"estimated_cycles\": 7, \"window_config\": {\"estimated_cycles\": 9}}")
                    .cycles == 9);
    assert_int_equal(config_of("{\"known_trip_count\": {\"n\": \"0\"}}").trips, 0);
    assert_int_equal(config_of("{\"known_trip_count\": {\"n\": \"1024\"}}").trips, 1024);
    assert_string_equal(
        config_of("{\"collective_algorithm_config\": {\"emitter\": \"Ring\"}}").algorithm, "Ring");
    assert_string_equal(
        config_of("{\"collective_algorithm_config\": {\"strategy\": \"Two\"}}").algorithm, "Two");
    assert_string_equal(config_of("{\"collective_algorithm_config\": {\"emitter\": \"Ring\", "
                                  "\"strategy\": \"Two\"}}")
                            .algorithm,
                        "Ring, Two");
}

/* f32[8,16] by f32[16,4], each operand at a precision. */
static fgi_hlo_arithmetic dot_at(int first, int second)
{
    builder b;
    fgi_hlo_arithmetic a;
    int32_t precision[2] = {first, second};
    int64_t one = 1, zero = 0;
    Fgi__Hlo__Precision both = FGI__HLO__PRECISION__INIT;
    Fgi__Hlo__DotDimensions d = FGI__HLO__DOT_DIMENSIONS__INIT;
    begin(&b);
    Fgi__Hlo__Computation *c = computation(&b);
    const int64_t x = op(&b, c, "parameter", array(F32, NUMBERS(8, 16)), 0, NULL)->id;
    const int64_t y = op(&b, c, "parameter", array(BF16, NUMBERS(16, 4)), 0, NULL)->id;
    Fgi__Hlo__Instruction *dot = op(&b, c, "dot", array(F32, NUMBERS(8, 4)), NUMBERS(y, x));
    dot->operand[0] = x, dot->operand[1] = y;
    d.n_lhs_contracting = d.n_rhs_contracting = 1;
    d.lhs_contracting = &one, d.rhs_contracting = &zero;
    both.n_operand = 2, both.operand = precision;
    dot->dot = &d, dot->precision = &both;
    finish(&b);
    assert_true(fgi_hlo_arithmetic_of(&b.index, dot, &a));
    fgi_hlo_index_fini(&b.index);
    return a;
}

static void either_operand_may_be_precise(void **state)
{
    (void)state;
    fgt_close("flops", dot_at(0, 0).flops, 2.0 * 8 * 16 * 4, 0, 0);
    assert_int_equal(dot_at(0, 0).dtype, FG_F32); /* the wider one */
    assert_false(dot_at(0, 0).is_precise);
    assert_true(dot_at(1, 0).is_precise && dot_at(0, 1).is_precise && dot_at(0, 2).is_precise);
}

static void annotate(Fgi__Hlo__Instruction *i, const char *json)
{
    i->config.data = (uint8_t *)(uintptr_t)json;
    i->config.len = strlen(json);
}

/* s8[8,16] by s8[16,4], of two layers that were merged, and a loop that never runs. */
static size_t pack_small(char *out, size_t size)
{
    builder b;
    static char name[] = "(fc1/sum:fc2/sum)";
    int64_t one = 1, zero = 0;
    Fgi__Hlo__Place place = FGI__HLO__PLACE__INIT;
    Fgi__Hlo__DotDimensions d = FGI__HLO__DOT_DIMENSIONS__INIT;
    begin(&b);
    Fgi__Hlo__Computation *entry = computation(&b), *body = computation(&b),
                          *test = computation(&b);
    const int64_t x = op(&b, entry, "parameter", array(S8, NUMBERS(8, 16)), 0, NULL)->id;
    const int64_t y = op(&b, entry, "parameter", array(S8, NUMBERS(16, 4)), 0, NULL)->id;
    Fgi__Hlo__Instruction *dot = op(&b, entry, "dot", array(S32, NUMBERS(8, 4)), NUMBERS(x, y));
    place.op_name = name;
    d.n_lhs_contracting = d.n_rhs_contracting = 1;
    d.lhs_contracting = &one, d.rhs_contracting = &zero;
    dot->dot = &d, dot->place = &place;
    annotate(dot, "{\"estimated_cycles\": \"100\"}");
    annotate(op(&b, body, "negate", array(F32, NUMBERS(8)), 0, NULL),
             "{\"estimated_cycles\": \"50\"}");
    (void)op(&b, test, "parameter", array(F32, NUMBERS(8)), 0, NULL);
    Fgi__Hlo__Instruction *loop = op(&b, entry, "while", array(F32, NUMBERS(8)), NUMBERS(x));
    loop->n_called = 2, loop->called = numbers(NUMBERS(body->id, test->id));
    annotate(loop, "{\"known_trip_count\": {\"n\": \"0\"}}");
    b.module.entry = entry->id;
    fgi__hlo__module_with_config__init(&b.whole);
    b.whole.module = &b.module;
    assert_true(fgi__hlo__module_with_config__get_packed_size(&b.whole) <= size);
    return fgi__hlo__module_with_config__pack(&b.whole, (uint8_t *)out);
}

/* Merged operations belong to the first of them; 8 bits are no more than 16. */
static void a_small_program_is_analyzed(void **state)
{
    char program[4096];
    fg_error err = {0};
    fgi_plan_analysis a;
    const fgi_plan_machine machine = {.chip = fg_chip_find("TPU v5 lite"), .devices = 1};
    const size_t size = pack_small(program, sizeof program);
    (void)state;
    fgt_ok(fgi_plan_analyze(program, size, &machine, &a, &err));
    fgt_close("cycles", a.total.cycles, 100, 0, 0);
    fgt_close("flops", a.total.flops, 2.0 * 8 * 16 * 4, 0, 0);
    fgt_close("16 bits or less", a.total.flops_16bit, a.total.flops, 0, 0);
    assert_string_equal(a.layers[0].name, "fc1");
    assert_int_equal(a.unknown_loops, 0);
    fgi_plan_analysis_fini(&a);
}

/* Aliases of parameter 0, and of an element of parameter 1. */
static void set_aliases(builder *b)
{
    static Fgi__Hlo__Alias whole = FGI__HLO__ALIAS__INIT, part = FGI__HLO__ALIAS__INIT,
                           *entries[] = {&whole, &part};
    static Fgi__Hlo__Aliases aliases = FGI__HLO__ALIASES__INIT;
    static int64_t element = 1;
    part.parameter = 1, part.n_parameter_index = 1, part.parameter_index = &element;
    aliases.n_entry = 2, aliases.entry = entries;
    b->module.alias = &aliases;
}

static void build_counted(builder *b)
{
    static char call[] = "Sharding";
    begin(b);
    Fgi__Hlo__Computation *entry = computation(b), *inner = computation(b);
    const int64_t x = op(b, entry, "parameter", array(F32, NUMBERS(8, 16)), 0, NULL)->id;
    Fgi__Hlo__Instruction *y = op(b, entry, "parameter", array(BF16, NUMBERS(16, 4)), 0, NULL);
    y->parameter = 1;
    (void)op(b, entry, "dot", array(F32, NUMBERS(8, 4)), NUMBERS(x, y->id));
    (void)op(b, entry, "all-reduce", array(F32, NUMBERS(8, 16)), NUMBERS(x));
    op(b, entry, "custom-call", array(F32, NUMBERS(8, 16)), NUMBERS(x))->target = call;
    const int64_t z = op(b, inner, "parameter", array(BF16, NUMBERS(2, 4)), 0, NULL)->id;
    Fgi__Hlo__Instruction *conv =
        op(b, inner, "convolution", array(F32, NUMBERS(2, 4)), NUMBERS(z, z));
    conv->conv = get(sizeof *conv->conv);
    fgi__hlo__conv_dimensions__init(conv->conv);
    conv->conv->n_input_spatial = 2;
    (void)op(b, inner, "all-gather-start", array(BF16, NUMBERS(4, 4)), NUMBERS(z));
    set_aliases(b);
    finish(b);
}

/* In all computations; a product has the format of its first operand. */
static void operations_are_counted(void **state)
{
    builder b;
    fgi_hlo_counts n;
    (void)state;
    build_counted(&b);
    fgi_hlo_count(&b.hlo, &n);
    assert_true(n.parameters == 2 && n.parameter_bytes == 512 + 128);
    assert_true(n.donated == 1 && n.donated_bytes == 512);
    assert_true(n.dots[FG_F32] == 1 && n.dots[FG_BF16] == 0 && n.convs[FG_BF16] == 1);
    assert_true(n.collectives[FG_ALL_REDUCE] == 1 && n.collective_bytes[FG_ALL_REDUCE] == 512);
    assert_true(n.collectives[FG_ALL_GATHER] == 1 && n.collective_bytes[FG_ALL_GATHER] == 32);
    assert_int_equal(n.custom_calls, 1);
    fgi_hlo_index_fini(&b.index);
}

/* Products are dots and convolutions, and the library calls that a GPU's compiler makes of them. */
static void library_calls_are_matmuls(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        fgi_hlo_matmul kind;
    } rows[] = {{"__cublas$gemm", FGI_HLO_DOT},
                {"__cublas$lt$matmul", FGI_HLO_DOT},
                {"__cudnn$convForward", FGI_HLO_CONV},
                {"__cudnn$convBackwardFilter", FGI_HLO_CONV},
                {"__cudnn$fmhaSoftmax", FGI_HLO_NONE},
                {FGI_KERNEL_MATMUL, FGI_HLO_DOT},
                {FGI_KERNEL_WINOGRAD_DK, FGI_HLO_CONV},
                {FGI_KERNEL_ADAM, FGI_HLO_NONE},
                {"Sharding", FGI_HLO_NONE},
                {"", FGI_HLO_NONE}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char opcode[] = "custom-call", target[64];
        fgi_hlo_op op;
        fgi__hlo__instruction__init(&op);
        (void)snprintf(target, sizeof target, "%s", rows[i].target);
        op.opcode = opcode;
        op.target = target;
        assert_int_equal(fgi_hlo_matmul_kind(&op), rows[i].kind);
        op.opcode = target; /* nothing by itself */
        assert_int_equal(fgi_hlo_matmul_kind(&op), FGI_HLO_NONE);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_take_whole_tiles),
        cmocka_unit_test(a_dimension_is_padded_by_its_side_of_the_tile),
        cmocka_unit_test(only_elements_that_are_there_are_multiplied),
        cmocka_unit_test(groups_of_a_batch_share_its_features),
        cmocka_unit_test(counters_of_loops_are_understood),
        cmocka_unit_test(an_collective_is_among_the_devices_of_a_group),
        cmocka_unit_test(sides_of_a_collective),
        cmocka_unit_test(a_collective_counts_where_it_starts),
        cmocka_unit_test(of_an_array_that_is_cut_the_part_counts),
        cmocka_unit_test(cuts_are_of_the_first_operand),
        cmocka_unit_test(an_update_in_place_counts_twice),
        cmocka_unit_test(only_arrays_are_slow),
        cmocka_unit_test(formats_are_slow_by_generation),
        cmocka_unit_test(annotations_are_read),
        cmocka_unit_test(either_operand_may_be_precise),
        cmocka_unit_test(a_small_program_is_analyzed),
        cmocka_unit_test(operations_are_counted),
        cmocka_unit_test(library_calls_are_matmuls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
