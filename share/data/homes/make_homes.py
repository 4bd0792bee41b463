#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_homes.py: generates homes.csv, the synthetic data of the how-to guides: the price of a home is a linear
function of its area, rooms and kind."""
import pathlib

KINDS = ("loft", "flat", "house")
lines = ["area,rooms,kind,price"]
for i in range(400):
    area, rooms = 30 + 37 * i % 170, 1 + i % 5
    price = 1.9 * area + 8 * rooms - 23 + 10 * (i % 3)
    lines.append(f"{area},{rooms},{KINDS[i % 3]},{price:.10g}")
pathlib.Path(__file__).with_name("homes.csv").write_text("\n".join(lines) + "\n", encoding="ascii")
