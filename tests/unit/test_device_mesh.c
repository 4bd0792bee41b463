/* test_device_mesh.c - axes, sizes and coordinates of meshes, partition specs, shards, rules.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include "mesh/mesh.h"

/* `count` devices of `processes`, the plugin's order reversed. */
static void make_devices(fgi_mesh_device *out, int count, int processes, int process)
{
    for (int i = 0; i < count; i++)
        out[i] = (fgi_mesh_device){.id = 100 - i, .process = i / (count / processes)};
    fgi_mesh_sort_devices(out, count, process);
}

/* "data=2,model=4", as record_shards.py writes meshes; "": the default. */
static fg_mesh_options options_of(const char *text)
{
    fg_mesh_options out = {.batch_axes = 0};
    for (int i = 0, size; *text != '\0'; i++, text += size + (text[size] == ',')) {
        size = 0;
        assert_int_equal(sscanf(text, "%23[^=]=%d%n", out.axes[i].name, &out.axes[i].size, &size),
                         2);
    }
    return out;
}

static fgi_mesh mesh_of(const char *text, int count)
{
    static fgi_mesh_device devices[64];
    const fg_mesh_options options = options_of(text);
    fg_error err = {0};
    fgi_mesh mesh;
    make_devices(devices, count, 1, 0);
    fgt_ok(fgi_mesh_init(&mesh, &options, devices, count, &err));
    return mesh;
}

/* Each process computes the same order, in which its devices have consecutive local indices. */
static void devices_of_all_processes(void **state)
{
    const fg_mesh_options options = {.axes = {{"data", 2}, {"model", 4}}};
    fg_error err = {0};
    (void)state;
    for (int process = 0; process < 2; process++) {
        fgi_mesh_device devices[8];
        fgi_mesh mesh;
        make_devices(devices, 8, 2, process);
        fgt_ok(fgi_mesh_init(&mesh, &options, devices, 8, &err));
        for (int i = 0; i < 8; i++) {
            assert_int_equal(devices[i].process, i / 4);
            assert_int_equal(devices[i].id, (i < 4 ? 97 : 93) + i % 4);
            assert_int_equal(devices[i].local_index, i / 4 == process ? i % 4 : -1);
        }
        for (int i = 0; i < 4; i++)
            assert_int_equal(fgi_mesh_device_number(&mesh, i), process * 4 + i);
        assert_int_equal(fgi_mesh_device_number(&mesh, 4), -1);
    }
}

static void coordinates_run_row_by_row(void **state)
{
    const fgi_mesh mesh = mesh_of("data=2,fsdp=-1,model=3", 24);
    const fgi_axis_set outer = 1 | 1 << 2;
    char text[64];
    (void)state;
    assert_string_equal(fgi_mesh_format(&mesh, text, sizeof text), "{data: 2, fsdp: 4, model: 3}");
    assert_int_equal(fgi_mesh_shards(&mesh, outer), 6);
    assert_int_equal(mesh.batch_shards, 8);
    for (int d = 0; d < 24; d++) {
        assert_int_equal(fgi_mesh_coordinate(&mesh, 0, d), d / 12);
        assert_int_equal(fgi_mesh_coordinate(&mesh, 1, d), d / 3 % 4);
        assert_int_equal(fgi_mesh_coordinate(&mesh, 2, d), d % 3);
        assert_int_equal(fgi_mesh_shard_of(&mesh, outer, d), d / 12 * 3 + d % 3);
        assert_int_equal(fgi_mesh_shard_of(&mesh, mesh.batch, d), d / 3);
        assert_int_equal(fgi_mesh_shard_of(&mesh, 0, d), 0);
    }
}

/* Which axes shard batches and, under fsdp, parameters. */
static void axes_have_roles(void **state)
{
    static const struct {
        const char *mesh;
        uint32_t batch_axes, fsdp_axes;
        fgi_axis_set batch, fsdp;
    } rows[] = {
        {"", 0, 0, 1, 1},
        {"data=4,model=2", 0, 0, 1, 1},
        {"data=2,fsdp=2,model=2", 0, 0, 3, 2},
        {"fsdp=8", 0, 0, 1, 1},
        {"model=2,data=4", 0, 0, 2, 2},
        {"replica=2,expert=2,model=2", 3, 0, 3, 3},
        {"replica=2,expert=2,model=2", 1, 2, 1, 2},
        {"data=2,fsdp=4", 0, 3, 3, 3},
    };
    fgi_mesh_device devices[8];
    (void)state;
    make_devices(devices, 8, 1, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fg_mesh_options options = options_of(rows[i].mesh);
        fg_error err = {0};
        fgi_mesh mesh;
        options.batch_axes = rows[i].batch_axes;
        options.fsdp_axes = rows[i].fsdp_axes;
        fgt_ok(fgi_mesh_init(&mesh, &options, devices, 8, &err));
        assert_int_equal(mesh.batch, rows[i].batch);
        assert_int_equal(mesh.fsdp, rows[i].fsdp);
    }
}

#define MISFIT                                                                                     \
    " does not match 8 devices: expected sizes whose product is 8, or one axis of size -1 for "    \
    "the "                                                                                         \
    "remaining devices"
#define NAMES ": expected 1 to 23 letters, digits and _, starting with a letter, and not 'none'"

static const struct {
    fg_mesh_options options;
    const char *message;
} bad_meshes[] = {
    {{.axes = {{"data", 3}, {"model", 2}}}, "mesh {data: 3, model: 2}" MISFIT},
    {{.axes = {{"data", 2}, {"model", 2}}}, "mesh {data: 2, model: 2}" MISFIT},
    {{.axes = {{"data", 0}, {"model", 7}}}, "mesh {data: -1, model: 7}" MISFIT},
    {{.axes = {{"data", 16}, {"model", -1}}}, "mesh {data: 16, model: -1}" MISFIT},
    {{.axes = {{"data", 1 << 20}, {"fsdp", 1 << 20}}},
     "mesh {data: 1048576, fsdp: 1048576}" MISFIT},
    {{.axes = {{"data", -1}, {"fsdp", 0}}},
     "mesh: axes 'data' and 'fsdp' both have no size: expected at most one axis of size -1"},
    {{.axes = {{"data", -2}}},
     "mesh: axis 'data' has size -2: expected 1 or more, or -1 for the remaining devices"},
    {{.axes = {{"data", 4}, {"data", 2}}}, "mesh: axis 'data' is given twice"},
    {{.axes = {{"none", 8}}}, "mesh: 'none' is not an axis name" NAMES},
    {{.axes = {{"2d", 8}}}, "mesh: '2d' is not an axis name" NAMES},
    {{.axes = {{"data-axis", 8}}}, "mesh: 'data-axis' is not an axis name" NAMES},
    {{.axes = {{"rows", 8}}},
     "mesh {rows: 8} has no axis 'data' or 'fsdp' to shard batches over: name an axis data (of "
     "size "
     "1 for no sharding), or set fg_mesh_options.batch_axes"},
    {{.axes = {{"data", 8}}, .batch_axes = 1 << 1},
     "batch_axes 0x2: the mesh {data: 8} has only 1 axis"},
    {{.axes = {{"data", 4}, {"model", 2}}, .fsdp_axes = UINT32_MAX},
     "fsdp_axes 0xffffffff: the mesh {data: 4, model: 2} has only 2 axes"},
};

static void meshes_that_are_refused(void **state)
{
    fgi_mesh_device devices[8];
    (void)state;
    make_devices(devices, 8, 1, 0);
    for (size_t i = 0; i < sizeof bad_meshes / sizeof bad_meshes[0]; i++) {
        fg_error err = {0};
        fgi_mesh mesh;
        assert_int_equal(fgi_mesh_init(&mesh, &bad_meshes[i].options, devices, 8, &err), FG_EINVAL);
        assert_string_equal(err.message, bad_meshes[i].message);
    }
}

static void names_and_counts_of_axes_at_their_limits(void **state)
{
    char text[32];
    (void)state;
    const fgi_mesh mesh = mesh_of("a=1,b=1,c=1,d=1,my_Axis2=1,data=8", 8);
    assert_int_equal(mesh.axis_count, 6);
    assert_string_equal(mesh.axes[4].name, "my_Axis2");
    const fgi_mesh longest = mesh_of("data=8,an_axis_of_23_letters_i=1", 8);
    assert_string_equal(longest.axes[1].name, "an_axis_of_23_letters_i");
    const fgi_mesh usual = mesh_of("", 8);
    assert_string_equal(fgi_mesh_format(&usual, text, sizeof text), "{data: 8, model: 1}");
}

#define MESH     "data=2,fsdp=2,model=2"
#define SHOWN    "{data: 2, fsdp: 2, model: 2}"
#define EXPECTED ": expected one of its axes, or none, for each dimension"

static const char *const bad_specs[][2] = {
    {"rows", "partition spec \"rows\": 'rows' is not an axis of the mesh " SHOWN EXPECTED},
    {"data,", "partition spec \"data,\": '' is not an axis of the mesh " SHOWN EXPECTED},
    {"none+data",
     "partition spec \"none+data\": 'none' is not an axis of the mesh " SHOWN EXPECTED},
    {"data,data", "partition spec \"data,data\": axis 'data' is given twice: an axis can shard "
                  "only one dimension"},
    {"fsdp+fsdp", "partition spec \"fsdp+fsdp\": axis 'fsdp' is given twice: an axis can shard "
                  "only one dimension"},
    {"fsdp+data", "partition spec \"fsdp+data\": the axes 'fsdp+data' of a dimension must be in "
                  "the order of the mesh " SHOWN},
    {"model+fsdp", "partition spec \"model+fsdp\": the axes 'model+fsdp' of a dimension must be "
                   "in the order of the mesh " SHOWN},
    {"none,none,none,none,none,none,none,none,none",
     "partition spec \"none,none,none,none,none,none,none,none,none\" has more than 8 "
     "dimensions"},
};

static void partition_specs_that_are_refused(void **state)
{
    const fgi_mesh mesh = mesh_of(MESH, 8);
    fg_error err = {0};
    fgi_sharding sharding;
    int count = 0;
    (void)state;
    for (size_t i = 0; i < sizeof bad_specs / sizeof bad_specs[0]; i++) {
        assert_int_equal(fgi_sharding_parse(&mesh, bad_specs[i][0], &sharding, NULL, &err),
                         FG_EINVAL);
        assert_string_equal(err.message, bad_specs[i][1]);
    }
    fgt_ok(fgi_sharding_parse(&mesh, "none,none,none,none,none,none,none, data + fsdp", &sharding,
                              &count, &err));
    assert_int_equal(count, 8);
    assert_int_equal(sharding.axes[7], 3);
}

static const struct {
    const char *spec;
    int64_t dim[3];
    bool is_dense;
} pieces[] = {
    {"", {8, 4, 2}, true},
    {"data", {8, 4, 2}, true},
    {"none,model", {8, 4, 2}, false},
    {"data,model", {2, 4, 2}, true},       /* one row of each */
    {"none,none,model", {1, 4, 2}, false}, /* four rows */
    {"none,none,model", {1, 1, 2}, true},  /* one row */
    {"data,fsdp,model", {2, 2, 2}, true},  /* one element */
    {"data+fsdp,model", {4, 2, 8}, true},
    {"data,model", {4, 2, 8}, false},
};

/* A shard is one piece of the array unless an outer dimension has several rows of a cut one. */
static void shards_in_one_piece(void **state)
{
    const fgi_mesh mesh = mesh_of(MESH, 8);
    fg_error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        fgi_sharding sharding;
        fg_type type = {.dtype = FG_F32, .rank = 3};
        memcpy(type.dim, pieces[i].dim, sizeof pieces[i].dim);
        fgt_ok(fgi_sharding_parse(&mesh, pieces[i].spec, &sharding, NULL, &err));
        const fgi_shard shard = fgi_sharding_shard(&mesh, &type, &sharding, 7);
        if (shard.is_dense != pieces[i].is_dense)
            fail_msg("row %zu", i);
    }
    const fg_type scalar = {.dtype = FG_F32};
    const fgi_shard whole = fgi_sharding_shard(&mesh, &scalar, NULL, 7);
    const float from = 3;
    float to = 0;
    fgi_shard_scatter(&whole, &from, &to);
    assert_true(whole.is_dense && to == 3);
}

/* Every element of an array is in as many shards as it has copies, at the right position. */
static void shards_tile_the_array(void **state)
{
    static const struct {
        const char *spec;
        int copies;
    } rows[] = {{"", 8},
                {"data", 4},
                {"data+fsdp", 2},
                {"data+fsdp+model", 1},
                {"none,model", 4},
                {"fsdp,data+model", 1},
                {"none,data+fsdp,model", 1}};
    const fg_type type = {.dtype = FG_U8, .rank = 3, .dim = {8, 4, 2}};
    const fgi_mesh mesh = mesh_of("data=2,fsdp=2,model=2", 8);
    fg_error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fgi_sharding sharding;
        unsigned char covered[64] = {0}, first[64] = {0}, ones[64];
        memset(ones, 1, sizeof ones);
        fgt_ok(fgi_sharding_parse(&mesh, rows[i].spec, &sharding, NULL, &err));
        fgt_ok(fgi_sharding_check(&mesh, &type, &sharding, &err));
        for (int d = 0; d < 8; d++) {
            const fgi_shard shard = fgi_sharding_shard(&mesh, &type, &sharding, d);
            unsigned char hit[64] = {0};
            fgi_shard_scatter(&shard, ones, hit);
            for (int k = 0; k < 64; k++) {
                covered[k] = (unsigned char)(covered[k] + hit[k]);
                first[k] = (unsigned char)(first[k] + (shard.is_first ? hit[k] : 0));
            }
        }
        assert_int_equal(fgi_sharding_bytes(&mesh, &type, &sharding), 64 * rows[i].copies / 8);
        for (int k = 0; k < 64; k++) {
            assert_int_equal(covered[k], rows[i].copies);
            assert_int_equal(first[k], 1);
        }
    }
}

/* The same shards as JAX's (tests/golden/mesh/record_shards.py). */
static void shards_are_those_of_jax(void **state)
{
    const fg_type type = {.dtype = FG_U8, .rank = 3, .dim = {8, 4, 2}};
    FILE *file = fopen(FGT_SOURCE_DIR "/tests/golden/mesh/jax_shards.txt", "r");
    char text[64], spec[64];
    int device, first[3], size[3], lines = 0;
    fg_error err = {0};
    (void)state;
    assert_non_null(file);
    while (fscanf(file, "%63s %63s %d %d %d %d %d %d %d", text, spec, &device, &first[0], &first[1],
                  &first[2], &size[0], &size[1], &size[2]) == 9) {
        fgi_sharding sharding;
        const fgi_mesh mesh = mesh_of(text, 8);
        fgt_ok(fgi_sharding_parse(&mesh, spec, &sharding, NULL, &err));
        const fgi_shard shard = fgi_sharding_shard(&mesh, &type, &sharding, device);
        for (int i = 0; i < 3; i++)
            assert_int_equal(shard.type.dim[i], size[i]);
        assert_int_equal(shard.offset, (first[0] * 4 + first[1]) * 2 + first[2]);
        lines++;
    }
    assert_int_equal(lines, 120);
    (void)fclose(file);
}

static const struct {
    fgi_sharding sharding;
    const char *message;
} bad_shardings[] = {
    {{{2, 2}}, "cannot shard array f32[8,6] this way: a mesh axis can shard only one dimension"},
    {{{0, 3}}, "cannot shard dimension 1 of array f32[8,6] evenly over 4 devices"},
    {{{0, 0, 1}}, "cannot shard dimension 2 of array f32[8,6]: the array has 2 dimensions"},
    {{{8}}, "cannot shard array f32[8,6] this way: a mesh axis can shard only one dimension"},
};

static void shardings_that_are_refused(void **state)
{
    const fg_type type = {FG_F32, 2, {8, 6}};
    const fgi_mesh mesh = mesh_of("data=2,fsdp=2,model=2", 8);
    fg_error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof bad_shardings / sizeof bad_shardings[0]; i++) {
        assert_int_not_equal(fgi_sharding_check(&mesh, &type, &bad_shardings[i].sharding, &err),
                             FG_OK);
        assert_string_equal(err.message, bad_shardings[i].message);
    }
}

/* Rules, then the strategy, whose fsdp axis a rule may already use. */
static void rules_and_strategies(void **state)
{
    static const fg_sharding_rule rules[] = {{.match = "fc1.weight", .spec = "model"},
                                             {.match = "fc2.*", .spec = "none,data+fsdp"},
                                             {.match = "*.bias", .spec = "model"}};
    static const int swapped[] = {1, 0};
    static const struct {
        const char *strategy, *name;
        fg_type type;
        unsigned char axes[2]; /* data 1, fsdp 2, model 4 */
    } rows[] = {
        {"ddp", "fc1.weight", {FG_F32, 2, {64, 32}}, {0, 4}},
        {"fsdp", "fc1.weight", {FG_F32, 2, {64, 32}}, {2, 4}},
        {"fsdp", "fc2.weight", {FG_F32, 2, {64, 32}}, {3, 0}},
        {"fsdp", "fc3.weight", {FG_F32, 2, {63, 32}}, {0, 2}},
        {"fsdp", "fc3.weight", {FG_F32, 2, {63, 33}}, {0, 0}},
        {"fsdp", "fc3.weight", {FG_F32, 2, {32, 32}}, {2, 0}}, /* the first in memory */
        {"fsdp", "fc3.weight", {FG_F32, 2, {2, 510}}, {0, 0}}, /* too small */
        {"ddp", "fc3.weight", {FG_F32, 2, {64, 32}}, {0, 0}},
    };
    const fgi_mesh mesh = mesh_of("data=2,fsdp=2,model=2", 8);
    fg_error err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const fgi_strategy *strategy;
        const fgi_parameter parameter = {rows[i].name, &rows[i].type, swapped};
        fgi_sharding sharding;
        fgt_ok(fgi_strategy_find(rows[i].strategy, &strategy, &err));
        fgt_ok(fgi_rules_apply(&mesh, rules, 3, strategy, &parameter, &sharding, &err));
        assert_int_equal(sharding.axes[0], rows[i].axes[0]);
        assert_int_equal(sharding.axes[1], rows[i].axes[1]);
    }
}

/* A dimension that a rule shards along one of several axes is not sharded along the others. */
static void strategies_leave_dimensions_of_rules(void **state)
{
    static const fg_sharding_rule rule = {.match = "fc1.weight", .spec = "fsdp"};
    const fg_type type = {FG_F32, 2, {64, 32}};
    const fgi_parameter parameter = {"fc1.weight", &type, NULL};
    const fgi_strategy *strategy;
    fgi_mesh mesh = mesh_of(MESH, 8);
    fgi_sharding sharding;
    fg_error err = {0};
    (void)state;
    mesh.fsdp = 3; /* data and fsdp */
    fgt_ok(fgi_strategy_find("fsdp", &strategy, &err));
    fgt_ok(fgi_rules_apply(&mesh, &rule, 1, strategy, &parameter, &sharding, &err));
    assert_int_equal(sharding.axes[0], 2);
    assert_int_equal(sharding.axes[1], 0);
    assert_int_equal(fgi_strategy_find("fsdp2", &strategy, &err), FG_EINVAL);
    assert_string_equal(err.message, "unknown strategy 'fsdp2': expected ddp or fsdp");
    assert_null(strategy);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(devices_of_all_processes),
    cmocka_unit_test(coordinates_run_row_by_row),
    cmocka_unit_test(axes_have_roles),
    cmocka_unit_test(meshes_that_are_refused),
    cmocka_unit_test(names_and_counts_of_axes_at_their_limits),
    cmocka_unit_test(partition_specs_that_are_refused),
    cmocka_unit_test(shards_in_one_piece),
    cmocka_unit_test(shards_tile_the_array),
    cmocka_unit_test(shards_are_those_of_jax),
    cmocka_unit_test(rules_and_strategies),
    cmocka_unit_test(strategies_leave_dimensions_of_rules),
    cmocka_unit_test(shardings_that_are_refused),
};
FGT_MAIN(tests)
