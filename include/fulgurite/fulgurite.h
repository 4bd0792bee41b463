/* fulgurite.h - all of the public interface.
 *
 * Structs have a member `reserved` that later versions turn into new members. Initialize the
 * structs that you fill, so that it is 0: `fg_adamw_options o = {.lr = 1e-3};`. Every function that
 * takes such a struct returns FG_EINVAL if it is not, or keeps the error where it keeps its others.
 * In structs that the library fills it is set to 0.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FULGURITE_FULGURITE_H
#define FULGURITE_FULGURITE_H

#include <fulgurite/base.h>
#include <fulgurite/chip.h>
#include <fulgurite/ckpt.h>
#include <fulgurite/data.h>
#include <fulgurite/device.h>
#include <fulgurite/dist.h>
#include <fulgurite/dtype.h>
#include <fulgurite/host.h>
#include <fulgurite/mesh.h>
#include <fulgurite/nn.h>
#include <fulgurite/ops.h>
#include <fulgurite/optim.h>
#include <fulgurite/option.h>
#include <fulgurite/plan.h>
#include <fulgurite/setup.h>
#include <fulgurite/trace.h>
#include <fulgurite/train.h>
#include <fulgurite/weights.h>

#include <fulgurite/here.h>

#endif
