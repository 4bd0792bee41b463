#!/usr/bin/env python3
# Generates table.csv and table_x.npy: a table of numeric and categorical columns, and the result of
# normalization and one-hot encoding with NumPy's mean, std and comparison, in f64 and then rounded to f32.
# Recorded with numpy 2.4.6.
#
# SPDX-License-Identifier: Apache-2.0
import csv
import os

import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(20240501)
rows = 60
height = np.round(rng.normal(170, 12, rows), 3)
weight = rng.normal(7e6, 3e-1, rows)  # a large mean with a small deviation: sums must not cancel
colour = rng.choice(["red", "green", "dark, blue", 'so-called "grey"'], rows)
same = np.full(rows, 4.25)
count = rng.integers(-50, 50, rows)
label = rng.choice(["oak", "ash", "elm"], rows)

with open(os.path.join(here, "table.csv"), "w", newline="") as file:
    out = csv.writer(file)  # CRLF and quotes as RFC 4180 has them
    out.writerow(["height", "weight", "colour", "same", "count", "tree"])
    for i in range(rows):
        out.writerow([height[i], repr(float(weight[i])), colour[i], same[i], count[i], label[i]])


def normal(column):
    column = column.astype(np.float64)
    deviation = column.std()
    return ((column - column.mean()) / (deviation if deviation > 0 else 1))[:, None]


categories = sorted(set(colour), key=lambda text: text.encode())
hot = (colour[:, None] == np.array(categories)[None, :]).astype(np.float64)
x = np.concatenate([normal(height), normal(weight), hot, normal(same), normal(count)], axis=1)
np.save(os.path.join(here, "table_x.npy"), x.astype(np.float32))
classes = sorted(set(label))
np.save(os.path.join(here, "table_y.npy"), np.array([classes.index(t) for t in label], np.int32))
