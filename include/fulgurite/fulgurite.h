/* fulgurite.h - all of the public interface.
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
#include <fulgurite/plan.h>
#include <fulgurite/setup.h>
#include <fulgurite/trace.h>
#include <fulgurite/train.h>
#include <fulgurite/weights.h>

#include <fulgurite/here.h>

#endif
