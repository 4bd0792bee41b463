/* fake_step.h - a client of the fake plugin with one program, for the tests of src/pjrt.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FAKE_STEP_H
#define FAKE_STEP_H

#include "fgt.h"

#include "fakepjrt/fake_control.h"
#include "pjrt/plugin.h"

extern fake_control fake_plugin;

/* A state that is updated in place, an input, and a loss. */
static const char fake_step_text[] =
    "module @step {\n"
    "  func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32} loc(\"w(\"), "
    "%arg1: tensor<2x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<4xf32> "
    "{jax.result_info = \"\"}, tensor<f32>) {\n";

static const fg_type vec4 = {.dtype = FG_F32, .rank = 1, .dim = {4}};
static const fg_type mat22 = {.dtype = FG_F32, .rank = 2, .dim = {2, 2}};
static const float numbers[4] = {1, 2, 3, 4};

/* A client, the step's program and its two arguments. */
typedef struct fake_step {
    fg_client *client;
    fgi_executable *step;
    fg_array *args[2];
} fake_step;

fg_client *fake_step_client(int devices);

fake_step fake_step_begin(int devices);

void fake_step_end(fake_step *f);

/* Before and after each test no object of the plugin and no block of ours is alive. */
int fake_nothing_is_alive(void **state);

#define FAKE_CASE(test)                                                                            \
    cmocka_unit_test_setup_teardown(test, fake_nothing_is_alive, fake_nothing_is_alive)

#endif
