/* fulgurite.h - the complete public interface.
 *
 * Structs have a member `reserved`, in whose place later versions add members. It must be 0 in
 * structs that you fill, so initialize them: `fg_adamw_options o = {.lr = 1e-3};`. If it is not 0,
 * a function that accepts the struct fails with FG_EINVAL, reported like its other errors. In
 * structs that the library fills, it is set to 0.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_FULGURITE_H
#define FULGURITE_FULGURITE_H

#include <fulgurite/aug.h>
#include <fulgurite/base.h>
#include <fulgurite/callback.h>
#include <fulgurite/catalog.h>
#include <fulgurite/check.h>
#include <fulgurite/chip.h>
#include <fulgurite/ckpt.h>
#include <fulgurite/data.h>
#include <fulgurite/decode.h>
#include <fulgurite/device.h>
#include <fulgurite/dist.h>
#include <fulgurite/dtype.h>
#include <fulgurite/format.h>
#include <fulgurite/host.h>
#include <fulgurite/hub.h>
#include <fulgurite/image.h>
#include <fulgurite/images.h>
#include <fulgurite/logger.h>
#include <fulgurite/mesh.h>
#include <fulgurite/nn.h>
#include <fulgurite/ops.h>
#include <fulgurite/optim.h>
#include <fulgurite/option.h>
#include <fulgurite/pack.h>
#include <fulgurite/pack_arrays.h>
#include <fulgurite/pack_dataset.h>
#include <fulgurite/pack_export.h>
#include <fulgurite/packer.h>
#include <fulgurite/plan.h>
#include <fulgurite/profile.h>
#include <fulgurite/registry.h>
#include <fulgurite/result.h>
#include <fulgurite/sampling.h>
#include <fulgurite/task.h>
#include <fulgurite/tokenizer.h>
#include <fulgurite/trace.h>
#include <fulgurite/train.h>
#include <fulgurite/transformer.h>
#include <fulgurite/tuner.h>
#include <fulgurite/weights.h>

#endif
