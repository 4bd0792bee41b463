#!/usr/bin/env python3
# Generates the images in this folder, and for each NAME.EXT the pixels that Pillow decodes it to, as
# NAME.EXT.rgb: u8[height, width, 3], with the EXIF orientation applied and transparency composited over
# white. baseline.jpg.gray is the same for one channel. resize_*.rgb and resize_*.gray are results of
# Pillow's resize with BILINEAR, which antialiases as torchvision's resize does with antialias=True.
# Recorded with Pillow 13.0.0.
#
# SPDX-License-Identifier: Apache-2.0
import io
import os
import struct
import zlib

import numpy as np
from PIL import Image, ImageOps
from PIL.PngImagePlugin import PngInfo

here = os.path.dirname(os.path.abspath(__file__))
W, H = 37, 23


def smooth(w=W, h=H):
    """Gradients and a disk: what compresses without many bytes."""
    y, x = np.mgrid[0:h, 0:w]
    a = np.stack([x * 255 // (w - 1), y * 255 // (h - 1), (x + y) * 255 // (w + h - 2)], -1)
    a[(x - w / 3) ** 2 + (y - h / 2) ** 2 < h * h / 9] = (230, 40, 90)
    return a.astype(np.uint8)


def pattern(w, h):
    """The pixels that test_image_resize.c computes with the same formula."""
    y, x, c = np.mgrid[0:h, 0:w, 0:3]
    return ((x * 7 + y * 13 + c * 29 + (x * y) % 31 * 5) % 256).astype(np.uint8)


def path(name):
    return os.path.join(here, name)


def opaque(image):
    if image.mode == "I;16":
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8)).convert("RGB")
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        behind = Image.new("RGB", image.size, "white")
        behind.paste(image.convert("RGB"), mask=image.getchannel("A"))
        return behind
    return image.convert("RGB")


def record(name, image=None):
    """Decodes the file NAME and writes the pixels."""
    image = Image.open(path(name)) if image is None else image
    pixels = opaque(ImageOps.exif_transpose(image))
    with open(path(name + ".rgb"), "wb") as out:
        out.write(np.asarray(pixels).tobytes())


def save(name, image, **options):
    image.save(path(name), **options)
    record(name)


rgb = Image.fromarray(smooth())
gray = rgb.convert("L")
alpha = Image.fromarray((np.mgrid[0:H, 0:W][1] * 255 // (W - 1)).astype(np.uint8))
rgba = rgb.copy()
rgba.putalpha(alpha)

# ---- JPEG
save("baseline.jpg", rgb, quality=85, subsampling="4:2:0")
save("half.jpg", rgb, quality=85, subsampling="4:2:2")
save("full.jpg", rgb, quality=85, subsampling="4:4:4")
save("progressive.jpg", rgb, quality=85, progressive=True)
save("gray.jpg", gray, quality=85)
save("cmyk.jpg", rgb.convert("CMYK"), quality=85)
for orientation in range(1, 9):
    exif = Image.Exif()
    exif[0x0112] = orientation
    rgb.save(path(f"orient{orientation}.jpg"), quality=85, exif=exif)
    record(f"orient{orientation}.jpg")
Image.fromarray(smooth(90, 70)).save(path("large.jpg"), quality=70)
for scale in 1, 2, 4, 8:
    image = Image.open(path("large.jpg"))
    image.draft("RGB", (90 // scale, 70 // scale))
    assert image.size == (-(-90 // scale), -(-70 // scale)), image.size
    record(f"large{scale}.jpg", image)
with open(path("baseline.jpg.gray"), "wb") as out:
    image = Image.open(path("baseline.jpg"))
    image.draft("L", (W, H))
    out.write(np.asarray(image).tobytes())

# ---- PNG


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write_png(name, array, color, bits, interlaced=False):
    """What Pillow cannot write: 16 bits per channel and interlaced files."""
    h, w = array.shape[:2]
    passes = [(0, 0, 1, 1)]
    if interlaced:
        passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
                  (0, 1, 1, 2)]
    data = b""
    for x, y, dx, dy in passes:
        part = array[y::dy, x::dx]
        if part.size:
            data += b"".join(b"\0" + row.astype(f">u{bits // 8}").tobytes() for row in part)
    with open(path(name), "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(
            ">IIBBBBB", w, h, bits, color, 0, 0, interlaced)) + chunk(b"IDAT", zlib.compress(data, 9))
            + chunk(b"IEND", b""))
    record(name)


save("rgb.png", rgb)
save("rgba.png", rgba)
save("gray.png", gray)
save("gray_alpha.png", Image.merge("LA", (gray, alpha)))
save("bit.png", gray.convert("1"))
save("palette.png", rgb.quantize(200))
save("palette2.png", rgb.quantize(4), bits=2)
save("palette_alpha.png", rgb.quantize(16), bits=4, transparency=bytes(range(0, 256, 16)))
save("rgb_key.png", rgb, transparency=(230, 40, 90))
info = PngInfo()
info.add(b"gAMA", struct.pack(">I", 100000))
info.add(b"tEXt", b"Comment\0none")
exif = Image.Exif()
exif[0x0112] = 6
save("turned.png", rgb, pnginfo=info, exif=exif)
write_png("rgb16.png", smooth().astype(np.uint16) * 257 - 100, 2, 16)
write_png("gray16.png", np.asarray(gray).astype(np.uint16) * 256 + 200, 0, 16)
write_png("interlaced.png", smooth(), 2, 8, True)

# ---- WebP
save("lossy.webp", rgb, quality=80)
save("lossless.webp", rgb, lossless=True)
save("alpha.webp", rgba, lossless=True, exact=True)
save("alpha_lossy.webp", rgba, quality=80)
save("turned.webp", rgb, lossless=True, exif=exif)
save("animated.webp", rgba, lossless=True, save_all=True, append_images=[rgba.rotate(180)])

# ---- GIF
few = rgb.quantize(31)
save("plain.gif", few, interlace=0)
save("interlaced.gif", few, interlace=1)
save("transparent.gif", few, transparency=3)
save("animated.gif", few, save_all=True, append_images=[few.rotate(180)], duration=50)

# ---- TIFF
save("plain.tif", rgb)
save("lzw.tif", rgb, compression="tiff_lzw")
save("deflate.tif", rgb, compression="tiff_adobe_deflate")
save("gray.tif", gray)
save("fax.tif", gray.convert("1"), compression="group4")
save("palette.tif", rgb.quantize(20), compression="tiff_lzw")
save("alpha.tif", rgba, compression="tiff_lzw")
save("gray16.tif", Image.fromarray(np.asarray(gray).astype(np.uint16) * 256 + 200))
save("jpeg.tif", rgb, compression="jpeg", quality=90)
save("turned.tif", rgb, tiffinfo={0x0112: 6})
save("pages.tif", rgb, save_all=True, append_images=[rgb.rotate(180)], compression="tiff_lzw")

# ---- BMP


def write_bmp(name, rows, bits, compression=0, palette=None, header=40, masks=(), size=(W, H)):
    """What Pillow cannot write: other depths, run-length encoding, masks, old and new headers. `rows`
    are the bytes of the pixels; a negative height is that of a file whose first row is at the top."""
    colors = b"" if palette is None else b"".join(bytes((b, g, r)) + b"\0" * (header != 12)
                                                 for r, g, b in palette)
    if header == 12:
        info = struct.pack("<IHHHH", 12, *size, 1, bits)
    else:
        info = struct.pack("<IiiHHIIiiII", header, *size, 1, bits, compression, len(rows), 2835, 2835,
                           len(palette or ()), 0)
        info += b"".join(struct.pack("<I", mask) for mask in masks)
        info += bytes(max(0, header - len(info)))
    offset = 14 + len(info) + len(colors)
    with open(path(name), "wb") as file:
        file.write(b"BM" + struct.pack("<IHHI", offset + len(rows), 0, 0, offset) + info + colors + rows)
    record(name)


def padded(row):
    return row + bytes(-len(row) % 4)


def nibbles(indices):
    """Two indices a byte."""
    indices = list(indices) + [0] * (len(indices) % 2)
    return bytes(a << 4 | b for a, b in zip(indices[::2], indices[1::2]))


def runs(indices, bits):
    """Runs where pixels repeat, else absolute ones, of at least three pixels."""
    out = b""
    for y in range(H - 1, -1, -1):
        row, x = indices[y], 0
        while x < W:
            same = 1
            while x + same < W and row[x + same] == row[x]:
                same += 1
            if same > 1 or W - x < 3:
                out += bytes((same, row[x] if bits == 8 else row[x] << 4 | row[x]))
                x += same
                continue
            part = row[x:x + min(5, W - x)]
            data = bytes(part) if bits == 8 else nibbles(part)
            out += bytes((0, len(part))) + data + bytes(len(data) % 2)
            x += len(part)
        out += b"\0\0"
    return out + b"\0\1"


few = rgb.quantize(16)
indices = np.asarray(few).tolist()
colors = [tuple(few.getpalette()[3 * i:3 * i + 3]) for i in range(16)]
a = smooth().astype(np.uint32)
save("plain.bmp", rgb)
save("palette.bmp", rgb.quantize(200))
save("bit.bmp", gray.convert("1"))
write_bmp("nibble.bmp", b"".join(padded(nibbles(row)) for row in indices[::-1]), 4, 0, colors)
write_bmp("rle8.bmp", runs(indices, 8), 8, 1, colors)
write_bmp("rle4.bmp", runs(indices, 4), 4, 2, colors)
write_bmp("core.bmp", b"".join(padded(row.tobytes()) for row in smooth()[::-1, :, ::-1]), 24, header=12)
short = (a[..., 0] >> 3 << 11 | a[..., 1] >> 2 << 5 | a[..., 2] >> 3).astype("<u2")
write_bmp("masks.bmp", b"".join(padded(row.tobytes()) for row in short), 16, 3,
          masks=(0xf800, 0x7e0, 0x1f), size=(W, -H))
long = a[..., 0] | a[..., 1] << 8 | a[..., 2] << 16 | np.asarray(alpha).astype(np.uint32) << 24
write_bmp("alpha.bmp", long.astype("<u4")[::-1].tobytes(), 32, 3, header=124,
          masks=(0xff, 0xff00, 0xff0000, 0xff000000))

# ---- PNM
save("plain.ppm", rgb)
save("gray.pgm", gray)
save("bit.pbm", gray.convert("1"))
with open(path("deep.ppm"), "wb") as file:
    file.write(b"P6\n%d %d\n1000\n" % (W, H) + (a * 1000 // 255).astype(">u2").tobytes())
record("deep.ppm")
with open(path("text.ppm"), "w") as file:
    file.write("P3 # three numbers\n#a pixel\n%d %d\n15\n" % (W, H))
    file.write("\n".join(" ".join(map(str, row)) for row in (a // 17).reshape(H, -1)) + "\n")
record("text.ppm")
bits = np.asarray(gray) < 128
with open(path("text.pbm"), "w") as file:
    file.write("P1\n%d %d\n" % (W, H) + "\n".join("".join("01"[int(v)] for v in row) for row in bits))
record("text.pbm")

# ---- resize
sources = {"a": (37, 23), "b": (200, 150)}
sizes = {"a": [(12, 9), (64, 40), (20, 50), (5, 4), (37, 11)], "b": [(40, 30), (224, 33), (7, 60)]}
for key, (w, h) in sources.items():
    image = Image.fromarray(pattern(w, h))
    for size in sizes[key]:
        for suffix, source in (("rgb", image), ("gray", image.getchannel(0))):
            with open(path("resize_%s_%dx%d.%s" % (key, *size, suffix)), "wb") as out:
                out.write(np.asarray(source.resize(size, Image.BILINEAR)).tobytes())
image = Image.fromarray(pattern(200, 150)).crop((31, 17, 131, 97))
with open(path("resize_crop_48x36.rgb"), "wb") as out:  # crop, then resize, then mirror
    out.write(np.asarray(ImageOps.mirror(image.resize((48, 36), Image.BILINEAR))).tobytes())
image = Image.fromarray(pattern(200, 150)).resize((64, 48), Image.BILINEAR).crop((8, 0, 56, 48))
with open(path("resize_square_48x48.rgb"), "wb") as out:  # short side to 48, then the center
    out.write(np.asarray(image).tobytes())
