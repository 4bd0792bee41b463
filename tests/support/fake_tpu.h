/* fake_tpu.h - the fake plugin as that of a TPU, for programs that are traced but not compiled.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FAKE_TPU_H
#define FAKE_TPU_H

#include "fgt.h"

#include <stdlib.h>

#include "fakepjrt/fake_control.h"

/* Uses it from now on; writes program.pb to the working directory, which it shows as the optimized
 * form of any program. */
static inline int fake_tpu_begin(void)
{
    assert_int_equal(
        system("gunzip -c " FGT_SOURCE_DIR "/tests/golden/plan/mlp_x8.pb.gz >program.pb"), 0);
    assert_int_equal(setenv("FAKEPJRT_HLO", "program.pb", 1), 0);
    assert_int_equal(setenv("FAKEPJRT", "platform=2", 1), 0);
    return setenv("FULGURITE_PLUGIN", FAKE_PATH, 1);
}

static inline int fake_tpu_end(void)
{
    return unsetenv("FULGURITE_PLUGIN") + unsetenv("FAKEPJRT") + unsetenv("FAKEPJRT_HLO");
}

#endif
