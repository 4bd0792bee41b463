"""FFCV with two threads: random resized crops of JPEGs, and crops of raw pixels, from its own files in FOLDER/ffcv.

usage: data_ffcv.py FOLDER SECONDS [CASE...]     requires: ffcv torch opencv-python-headless numba

FFCV re-encodes JPEGs when it writes its files (quality 90), and its f32 batches are channels last.
"""
import importlib.metadata
import os
import tarfile

import numpy
import torch
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.decoders import IntDecoder, RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, ToTensor, ToTorchImage
from ffcv.writer import DatasetWriter
from torchvision.io import ImageReadMode, read_image

from data_common import FOLDER, MEAN, STD, files, measure, versions

WINDOW = {"scale": (0.765625, 0.765625), "ratio": (1.0, 1.0)}  # 224 of 256 pixels on each side


class Images:
    def __init__(self, kind):
        self.paths = files(kind)

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        pixels = read_image(self.paths[index], ImageReadMode.RGB).permute(1, 2, 0)
        return numpy.ascontiguousarray(pixels.numpy()), 0


class Raw:
    """The records of raw256.tar, read when they are written to FFCV's file."""

    def __init__(self):
        with tarfile.open(FOLDER / "raw256.tar") as tar:
            self.offsets = [member.offset_data for member in tar if member.name.endswith(".raw")]

    def __len__(self):
        return len(self.offsets)

    def __getitem__(self, index):
        with open(FOLDER / "raw256.tar", "rb") as tar:
            tar.seek(self.offsets[index])
            return numpy.frombuffer(tar.read(256 * 256 * 3), numpy.uint8).reshape(256, 256, 3), 0


def write(name, data, mode):
    path = FOLDER / "ffcv" / name
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        unfinished = path.with_suffix(".partial")
        image = RGBImageField(write_mode=mode, jpeg_quality=90)
        DatasetWriter(str(unfinished), {"image": image, "label": IntField()}, num_workers=2).from_indexed_dataset(data)
        os.replace(unfinished, path)
    return path


def case(name, path, batch_size, is_float, **crop):
    image = [RandomResizedCropRGBImageDecoder((224, 224), **crop), RandomHorizontalFlip()]
    if is_float:
        image.append(NormalizeImage(numpy.array(MEAN), numpy.array(STD), numpy.float32))
    image.append(ToTensor())
    if is_float:
        image.append(ToTorchImage())

    def start():
        loader = Loader(str(path), batch_size=batch_size, num_workers=2, order=OrderOption.RANDOM, os_cache=True,
                        drop_last=False, batches_ahead=3,
                        pipelines={"image": image, "label": [IntDecoder(), ToTensor()]})
        while True:
            yield from loader
    measure(name, "FFCV", start, lambda batch: len(batch[0]))


def main():
    torch.set_num_threads(1)
    versions(FFCV=importlib.metadata.version("ffcv"))
    small = write("small.beton", Images("small"), "jpg")
    large = write("large.beton", Images("large"), "jpg")
    raw = write("raw256.beton", Raw(), "raw")
    case("rrc_small_u8", small, 128, False)
    case("rrc_small_f32", small, 128, True)
    case("rrc_large_f32", large, 10, True)
    case("raw_u8", raw, 128, False, **WINDOW)
    case("raw_f32", raw, 128, True, **WINDOW)


if __name__ == "__main__":
    main()
