#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pack_reader.py FILE.pack: reads packs, as docs/pack-format.md describes them, with the standard library only.

Prints one line for each record: number, name in hexadecimal, codec, width, height, label, label list, split,
flags, group, length and CRC. Each checksum is verified, that of the record's bytes included."""
import mmap
import struct
import sys


def make_table():
    table = []
    for crc in range(256):
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


TABLE = make_table()
COLUMNS = {1: "Q", 2: "q", 3: "Q", 4: "Q", 5: "I", 6: "I", 7: "i", 8: "I", 9: "I", 10: "i", 11: "B", 12: "B", 13: "B"}


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


class Pack:
    """One file of a pack; pack[i] is (entry, bytes) of its i-th record."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        page = self.data[:4096]
        if page[:8] != b"FGPACK\r\n":
            raise ValueError(f"{path}: not a pack")
        major, _, is_finished, required = struct.unpack_from("<HHIQ", page, 8)
        if major != 1 or required != 0:
            raise ValueError(f"{path}: written by a newer version")
        if crc32c(page[:4092]) != struct.unpack_from("<I", page, 4092)[0]:
            raise ValueError(f"{path}: the header is damaged")
        self.count, self.first = struct.unpack_from("<QQ", page, 64)
        file_size, self.variant_count, class_count, _, section_count = struct.unpack_from("<QIIII", page, 104)
        if not is_finished or file_size != len(self.data) or self.data[-4096:] != page:
            raise ValueError(f"{path}: unfinished or truncated")
        self.sections = {}
        for i in range(section_count):
            kind, crc, offset, size = struct.unpack_from("<IIQQ", page, 128 + 24 * i)
            section = self.data[offset:offset + size]
            if crc32c(section) != crc:
                raise ValueError(f"{path}: byte {offset}: section {kind} is damaged")
            self.sections[kind] = memoryview(section).cast(COLUMNS[kind]) if kind in COLUMNS else section
        self.class_names = self.sections.get(15, b"").split(b"\0")[:class_count]
        self.metadata = self.sections.get(17, b"\0")[:-1].decode()

    def __len__(self):
        return self.count

    def column(self, kind, i):
        return self.sections[kind][i] if kind in self.sections else 0

    def __getitem__(self, i):
        s = self.sections
        labels = list(s[10][s[4][i]:s[4][i + 1]]) if 10 in s else []
        offset, length = s[1][i], s[5][i]
        entry = {"number": self.first + i, "name": s[14][s[3][i]:s[3][i + 1] - 1], "codec": s[11][i],
                 "width": s[8][i], "height": s[9][i], "label": s[7][i], "labels": labels, "split": s[13][i],
                 "flags": s[12][i], "group": self.column(2, i), "length": length, "crc": s[6][i]}
        record = self.data[offset:offset + length]
        if crc32c(record) != s[6][i]:
            raise ValueError(f"byte {offset}: record {self.first + i} ({entry['name']}) is damaged")
        return entry, record


def main():
    pack = Pack(sys.argv[1])
    for i in range(len(pack)):
        entry = pack[i][0]
        entry["name"] = entry["name"].hex()
        entry["labels"] = ",".join(map(str, entry["labels"]))
        print(*entry.values(), sep=" ")
    print(pack.variant_count, b"|".join(pack.class_names).decode(errors="backslashreplace"), pack.metadata)


if __name__ == "__main__":
    main()
