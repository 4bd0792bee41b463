"""record_cycles.py - records the one-cycle schedules of fastai and of the TPU utility for Kaggle, for
tests/unit/test_optim.c.

    python3 record_cycles.py        requires nothing but Python; writes cycles.txt to its own folder

The classes and functions have the structure of the originals: fastai's callback/schedule.py, and
OneCyclePolicy_TPU of Wabinab/TPU_utility. A line has the program, the step, the learning rate and the
momentum of one of TOTAL steps.

SPDX-License-Identifier: Apache-2.0"""
import math
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
TOTAL, LR = 40, 0.7


# ---- fastai ----------------------------------------------------------------------------------------


def sched_cos(start, end):
    return lambda pos: start + (1 + math.cos(math.pi * (1 - pos))) * (end - start) / 2


def combine_scheds(pcts, scheds):
    """Schedules that follow one another, each over its fraction of the run."""
    borders = [sum(pcts[:i]) for i in range(len(pcts) + 1)]

    def inner(pos):
        index = max(i for i in range(len(scheds)) if pos >= borders[i])
        return scheds[index]((pos - borders[index]) / (borders[index + 1] - borders[index]))

    return inner


def combined_cos(pct, start, middle, end):
    return combine_scheds([pct, 1 - pct], [sched_cos(start, middle), sched_cos(middle, end)])


def fit_one_cycle(lr_max, div=25.0, div_final=1e5, pct_start=0.25, moms=(0.95, 0.85, 0.95)):
    lr = combined_cos(pct_start, lr_max / div, lr_max, lr_max / div_final)
    mom = combined_cos(pct_start, *moms)
    return [(lr(i / (TOTAL - 1)), mom(i / (TOTAL - 1))) for i in range(TOTAL)]


# ---- the TPU utility -------------------------------------------------------------------------------


def annealing_linear(start, end, pct):
    return start + pct * (end - start)


def annealing_cos(start, end, pct):
    return end + (start - end) / 2 * (math.cos(math.pi * pct) + 1)


class Stepper:
    """The value changes at each call of step, n_iter times in all."""

    def __init__(self, vals, n_iter, func):
        self.start, self.end = vals
        self.n_iter, self.func, self.n = max(1, n_iter), func, 0

    def step(self):
        self.n += 1
        return self.func(self.start, self.end, self.n / self.n_iter)

    def is_done(self):
        return self.n >= self.n_iter


def one_cycle_policy_tpu(lr_max, moms=(0.95, 0.85), div_factor=25.0, pct_start=0.4):
    updates = TOTAL - 1
    up = int(updates * pct_start)
    down, low_lr = updates - up, lr_max / div_factor
    lrs = [Stepper((low_lr, lr_max), up, annealing_linear), Stepper((lr_max, low_lr / 1e4), down, annealing_cos)]
    momentums = [Stepper(moms, up, annealing_linear), Stepper(moms[::-1], down, annealing_cos)]
    values, phase = [(low_lr, moms[0])], 0
    for _ in range(updates):
        values.append((lrs[phase].step(), momentums[phase].step()))
        phase += lrs[phase].is_done()
    return values


def main():
    with open(HERE / "cycles.txt", "w", encoding="utf-8") as out:
        for name, values in (("fastai", fit_one_cycle(LR)), ("kaggle", one_cycle_policy_tpu(LR))):
            for step, (lr, momentum) in enumerate(values):
                out.write(f"{name} {step} {lr!r} {momentum!r}\n")


main()
