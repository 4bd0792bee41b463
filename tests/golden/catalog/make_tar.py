#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records the tar archives of tests/unit/test_catalog_tar.c with Python's tarfile: ustar.tar, gnu.tar, pax.tar and
sparse.tar (the latter with GNU tar, if an argument is given). Run in this folder."""
import io
import subprocess
import sys
import tarfile

LONG = "folder/" * 20 + "n" * 120  # longer than ustar's 100 + 155 bytes


def add(archive, name, data, **fields):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    archive.addfile(info, io.BytesIO(data))


def make(name, form, long, extra=None):
    with tarfile.open(name, "w", format=form, encoding="utf-8") as archive:
        add(archive, "b/0001.jpg", b"first image")
        add(archive, "b/0001.cls", b"3\n")
        add(archive, "b/0001.txt", b"a caption")
        add(archive, "b/0002.cls", b"0")
        add(archive, long + ".png", b"x" * 1000)
        add(archive, "b/0002.JPEG", b"")
        add(archive, "b", b"", type=tarfile.DIRTYPE)
        add(archive, "b/link.jpg", b"", type=tarfile.SYMTYPE, linkname="0001.jpg")
        add(archive, "b/caf\u00e9 1.seg.png", b"a mask")
        add(archive, "b/caf\u00e9 1.jpg", b"third", **(extra or {}))
        add(archive, "b/._0001.jpg", b"hidden")


make("ustar.tar", tarfile.USTAR_FORMAT, "p" * 99 + "/" + "q" * 90)
make("gnu.tar", tarfile.GNU_FORMAT, LONG)
make("pax.tar", tarfile.PAX_FORMAT, LONG, {"mtime": 1.5, "pax_headers": {"comment": "a=b\nc", "size": "5"}})
if len(sys.argv) > 1:
    with open("s.jpg", "wb") as sparse:
        sparse.truncate(1 << 20)
        sparse.seek(1 << 19)
        sparse.write(b"data")
    subprocess.run(["tar", "--sparse", "--format=gnu", "-cf", "sparse_gnu.tar", "s.jpg"], check=True)
    subprocess.run(["tar", "--sparse", "--format=pax", "-cf", "sparse_pax.tar", "s.jpg"], check=True)
