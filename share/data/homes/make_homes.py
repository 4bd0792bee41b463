#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_homes.py: generates homes.csv, the synthetic data of the how-to guides: the price of a home is a linear
function of its area, rooms and kind; and export.csv and sold.csv, the same homes as a German spreadsheet exports them."""
import datetime
import pathlib

KINDS = ("loft", "flat", "house")
lines = ["area,rooms,kind,price"]
for i in range(400):
    area, rooms = 30 + 37 * i % 170, 1 + i % 5
    price = 1.9 * area + 8 * rooms - 23 + 10 * (i % 3)
    lines.append(f"{area},{rooms},{KINDS[i % 3]},{price:.10g}")
pathlib.Path(__file__).with_name("homes.csv").write_text("\n".join(lines) + "\n", encoding="ascii")


def german(value):
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def export(name, first, rows):
    names = {"loft": "Loft", "flat": "Wohnung", "house": "Haus"}
    out = ["Nr;Verkauft;Fläche;Zimmer;Art;Preis"]
    for i, row in enumerate(rows, first):
        area, rooms, kind, price = row.split(",")
        day = datetime.date(2023, 1, 1) + datetime.timedelta(days=i * 97 % 700)
        size = "" if i % 60 == 7 else german(float(area) + i % 4 / 4)
        out.append(f"{1001 + i};{day:%d.%m.%Y};{size};{rooms};{names[kind]};{german(1000 * float(price))} €")
    text = "\ufeff" + "".join(line + "\r\n" for line in out)
    pathlib.Path(__file__).with_name(name).write_bytes(text.encode("utf-8"))


export("export.csv", 0, lines[1:301])
export("sold.csv", 300, lines[301:341])
