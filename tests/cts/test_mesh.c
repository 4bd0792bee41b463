/* test_mesh.c - arrays sharded over a mesh of devices, and programs on them.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "fgt.h"

#include <fulgurite/fulgurite.h>
#include "pjrt/pjrt.h"
#include "trace/program.h"
#include "trace/trace.h"

static fg_client *client; /* eight devices: 4 along data, 2 along model */

static int open_client(void **state)
{
    fg_error err = {0};
    (void)state;
    fgt_ok(fg_client_open(&(fg_client_options){.accelerator = "cpu",
                                               .cpu_devices = 8,
                                               .mesh = {.axes = {{"data", -1}, {"model", 2}}},
                                               .cache_dir = fgt_cache("")},
                          &client, &err));
    return 0;
}

static int close_client(void **state)
{
    (void)state;
    fg_client_close(client);
    return 0;
}

static const fg_type cube = {.dtype = FG_F32, .rank = 3, .dim = {8, 4, 6}};

static void fill(float *out, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = (float)((i * 37) % 101) - 50;
}

static void every_split_reads_back_as_it_was(void **state)
{
    enum { COUNT = 8 * 4 * 6 };
    const unsigned char axes[][3] = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {0, 1, 0}, {0, 2, 0},
                                     {0, 0, 2}, {1, 2, 0}, {2, 1, 0}, {1, 0, 2}, {0, 1, 2}};
    float data[COUNT], back[COUNT];
    fg_error err = {0};
    (void)state;
    fill(data, COUNT);
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++) {
        const fgi_sharding split = {{axes[i][0], axes[i][1], axes[i][2]}};
        fg_array *a = NULL;
        memset(back, 0, sizeof back);
        fgt_ok(fgi_array_upload(client, &cube, &split, data, FGI_UPLOAD_COPY, &a, NULL, &err));
        fgt_ok(fg_array_read(a, back, sizeof back, &err));
        assert_memory_equal(back, data, sizeof data);
        fg_array_release(a);
    }
}

static void devices_get_their_part_only(void **state)
{
    float data[8 * 4 * 6];
    fg_error err = {0};
    fg_array *a = NULL;
    const int64_t before = fg_client_stats_of(client).uploaded_bytes;
    (void)state;
    fill(data, 8 * 4 * 6);
    fgt_ok(fgi_array_upload(client, &cube, &(fgi_sharding){{FGT_DATA, FGT_MODEL}}, data,
                            FGI_UPLOAD_COPY, &a, NULL, &err));
    assert_int_equal(fg_client_stats_of(client).uploaded_bytes - before, sizeof data);
    fg_array_release(a);
}

static void uneven_and_repeated_splits_are_refused(void **state)
{
    const fg_type odd = {.dtype = FG_F32, .rank = 2, .dim = {6, 6}};
    float data[36] = {0};
    fg_error err = {0};
    fg_array *a = NULL;
    (void)state;
    assert_int_equal(fgi_array_upload(client, &odd, &(fgi_sharding){{FGT_DATA}}, data,
                                      FGI_UPLOAD_COPY, &a, NULL, &err),
                     FG_ESHAPE);
    assert_string_equal(err.message,
                        "cannot shard dimension 0 of array f32[6,6] evenly over 4 devices");
    assert_int_equal(fgi_array_upload(client, &odd, &(fgi_sharding){{FGT_MODEL, FGT_MODEL}}, data,
                                      FGI_UPLOAD_COPY, &a, NULL, &err),
                     FG_EINVAL);
    assert_null(a);
}

/* The public interface: names instead of numbers. */
static void arrays_are_split_by_words(void **state)
{
    enum { COUNT = 8 * 4 * 6 };
    const struct {
        const char *split;
        size_t copies; /* of each element, over all devices */
    } good[] = {{NULL, 8},          {"", 8},
                {"none", 8},        {"data", 2},
                {"none,model", 4},  {" model ,data, none", 1},
                {"data, model", 1}, {"none,none,model", 4}};
    float data[COUNT], back[COUNT];
    fg_error err = {0};
    (void)state;
    fill(data, COUNT);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        fg_array *a = NULL;
        const int64_t before = fg_client_stats_of(client).uploaded_bytes;
        fgt_ok(fg_array_create_sharded(client, &cube, data,
                                       &(fg_array_options){.spec = good[i].split}, &a, &err));
        assert_int_equal(fg_client_stats_of(client).uploaded_bytes - before,
                         sizeof data * good[i].copies);
        fgt_ok(fg_array_read(a, back, sizeof back, &err));
        assert_memory_equal(back, data, sizeof data);
        fg_array_release(a);
    }
}

static void words_that_are_no_split(void **state)
{
    const struct {
        const char *split, *message;
    } bad[] = {
        {"rows", "partition spec \"rows\": 'rows' is not an axis of the mesh {data: 4, model: 2}: "
                 "expected one of "
                 "its axes, or none, for each dimension"},
        {"data,,model", "partition spec \"data,,model\": '' is not an axis of the mesh "
                        "{data: 4, model: 2}: expected one "
                        "of its axes, or none, for each dimension"},
        {"data,data", "partition spec \"data,data\": axis 'data' is given twice: an axis can shard "
                      "only one dimension"},
        {"model+data",
         "partition spec \"model+data\": the axes 'model+data' of a dimension must be "
         "in the order of the mesh {data: 4, model: 2}"},
        {"none,none,none,model",
         "cannot shard dimension 3 of array f32[8,4,6]: the array has 3 dimensions"},
        {"none,none,data", "cannot shard dimension 2 of array f32[8,4,6] evenly over 4 devices"},
    };
    static const float data[8 * 4 * 6];
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        fg_error err = {0};
        fg_array *a = NULL;
        assert_int_not_equal(fg_array_create_sharded(client, &cube, data,
                                                     &(fg_array_options){.spec = bad[i].split}, &a,
                                                     &err),
                             FG_OK);
        assert_null(a);
        assert_string_equal(err.message, bad[i].message);
    }
}

static void devices_report_their_place(void **state)
{
    const fg_client_info *all = fg_client_info_of(client);
    fg_error err = {0};
    (void)state;
    assert_int_equal(all->mesh.axis_count, 2);
    assert_string_equal(all->mesh.axes[0].name, "data");
    assert_int_equal(all->mesh.axes[0].size, 4);
    assert_int_equal(all->mesh.axes[1].size, 2);
    assert_int_equal(all->mesh.batch_shards, 4);
    for (int i = 0; i < all->device_count; i++) {
        fg_device_info one;
        fgt_ok(fg_device_info_at(client, i, &one, &err));
        assert_int_equal(one.process, 0);
        assert_int_equal(one.batch_shard, i / 2);
        assert_int_equal(one.coordinates[0], i / 2);
        assert_int_equal(one.coordinates[1], i % 2);
    }
}

/* Resharding keeps the value of a parameter; a program compiled for the old sharding is rejected.
 */
static void a_variable_is_split_anew(void **state)
{
    const fg_type type = {.dtype = FG_F32, .rank = 2, .dim = {8, 4}};
    static const fgi_sharding ways[] = {{{0}}, {{FGT_DATA}}, {{FGT_MODEL, FGT_DATA}}};
    float data[32], back[32];
    fg_variable *w = NULL;
    fg_trace *trace = NULL;
    fgi_step_program *step = NULL;
    fg_error err = {0};
    (void)state;
    fill(data, 32);
    fgt_ok(fg_variable_create("w", &type, NULL, &w, &err));
    fgt_ok(fg_variable_set(w, data, sizeof data, &err));
    fgt_ok(fg_trace_create(client, &trace, &err));
    fg_assign(w, fg_add_scalar(fg_variable_value(trace, w), 1));
    fgt_ok(fgi_step_program_create(trace, NULL, 0, &step, &err));
    fg_trace_reset(trace);
    for (int i = 0; i < 3; i++) {
        fgi_variable_set_sharding(w, &ways[i]);
        fg_assign(w, fg_add_scalar(fg_variable_value(trace, w), 1));
        fgt_ok(fg_run(trace, NULL, 0, NULL, &err));
    }
    fgt_ok(fg_variable_read(w, back, sizeof back, &err));
    for (int i = 0; i < 32; i++)
        assert_true(back[i] == data[i] + 3);
    assert_int_equal(fgi_step_program_launch(step, NULL, 0, NULL, NULL, &err), FG_EINVAL);
    assert_non_null(strstr(err.message, "has a different sharding"));
    fgi_step_program_destroy(step);
    fg_trace_destroy(trace);
    fg_variable_destroy(w);
}

/* x [8,6] sharded over data, w [6,4] over model: the matmul and its sum, on eight devices. */
static void a_matmul_of_sharded_operands_is_the_matmul(void **state)
{
    const fg_type x_type = {.dtype = FG_F32, .rank = 2, .dim = {8, 6}};
    const fg_type w_type = {.dtype = FG_F32, .rank = 2, .dim = {6, 4}};
    float x[48], w[24], y[32], want[32] = {0}, total = 0, sum;
    fg_array *ax = NULL, *aw = NULL, *out[2] = {NULL};
    fg_trace *trace = NULL;
    fg_error err = {0};
    (void)state;
    fill(x, 48);
    fill(w, 24);
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 4; j++)
            for (int k = 0; k < 6; k++)
                want[i * 4 + j] += x[i * 6 + k] * w[k * 4 + j];
    for (int i = 0; i < 32; i++)
        total += want[i];
    fgt_ok(fgi_array_upload(client, &x_type, &(fgi_sharding){{FGT_DATA}}, x, FGI_UPLOAD_COPY, &ax,
                            NULL, &err));
    fgt_ok(fgi_array_upload(client, &w_type, &(fgi_sharding){{0, FGT_MODEL}}, w, FGI_UPLOAD_COPY,
                            &aw, NULL, &err));
    fgt_ok(fg_trace_create(client, &trace, &err));
    const fg_tensor product = fg_matmul(fg_input(trace, ax), fg_input(trace, aw));
    const fg_tensor outs[] = {product, fg_sum(product, 0, NULL)};
    fgt_ok(fg_run(trace, outs, 2, out, &err));
    fgt_ok(fg_array_read(out[0], y, sizeof y, &err));
    fgt_ok(fg_array_read(out[1], &sum, sizeof sum, &err));
    assert_memory_equal(y, want, sizeof y); /* integers: exact */
    assert_true(sum == total);
    fg_array_release(out[0]);
    fg_array_release(out[1]);
    fg_array_release(ax);
    fg_array_release(aw);
    fg_trace_destroy(trace);
}

/* A client with only the second device: a program runs there. */
static void one_particular_device_can_be_had(void **state)
{
    fg_client *one = NULL;
    fg_trace *trace = NULL;
    fg_device_info info;
    fg_error err = {0};
    float value = 0;
    (void)state;
    fgt_ok(fg_client_open(
        &(fg_client_options){.accelerator = "cpu", .devices = "[1]", .cache_dir = fgt_cache("")},
        &one, &err));
    assert_int_equal(fg_client_info_of(one)->device_count, 1);
    fgt_ok(fg_device_info_at(one, 0, &info, &err));
    assert_int_equal(info.id, 1);
    fgt_ok(fg_trace_create(one, &trace, &err));
    fgt_ok(fg_run_f32(trace, fg_mul_scalar(fg_ones(trace, FG_F32, FG_SCALAR), 3), &value, &err));
    assert_true(value == 3);
    fg_trace_destroy(trace);
    fg_client_close(one);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_split_reads_back_as_it_was),
    cmocka_unit_test(devices_get_their_part_only),
    cmocka_unit_test(uneven_and_repeated_splits_are_refused),
    cmocka_unit_test(arrays_are_split_by_words),
    cmocka_unit_test(words_that_are_no_split),
    cmocka_unit_test(devices_report_their_place),
    cmocka_unit_test(a_variable_is_split_anew),
    cmocka_unit_test(a_matmul_of_sharded_operands_is_the_matmul),
    cmocka_unit_test(one_particular_device_can_be_had),
};

int main(void) { return cmocka_run_group_tests(tests, open_client, close_client) == 0 ? 0 : 1; }
