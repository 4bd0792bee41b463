"""NVIDIA DALI on the CPU with two threads: JPEG files, and crops of raw pixels from a tar file.

usage: data_dali.py FOLDER SECONDS [CASE...]     requires: nvidia-dali-cuda120 (or another CUDA version), numpy
"""
import nvidia.dali
from nvidia.dali import fn, pipeline_def, types

from data_common import FOLDER, MEAN, STD, measure, versions

THREADS = {"num_threads": 2, "device_id": None, "prefetch_queue_depth": 4}


def finish(image, is_float, **crop):
    mean, std = (MEAN, STD) if is_float else ([0.0], [1.0])
    return fn.crop_mirror_normalize(image, mean=mean, std=std, mirror=fn.random.coin_flip(), **crop,
                                    dtype=types.FLOAT if is_float else types.UINT8,
                                    output_layout="CHW" if is_float else "HWC")


def read(kind):
    return fn.readers.file(file_root=str(FOLDER / kind), random_shuffle=True, initial_fill=512)


@pipeline_def(**THREADS)
def decode(kind):
    jpeg, label = read(kind)
    return fn.decoders.image(jpeg, device="cpu", output_type=types.RGB).shape(), label


@pipeline_def(**THREADS)
def random_resized_crop(kind, is_float):
    jpeg, label = read(kind)
    image = fn.decoders.image_random_crop(jpeg, device="cpu", output_type=types.RGB, random_area=[0.08, 1.0],
                                          random_aspect_ratio=[3 / 4, 4 / 3])
    image = fn.resize(image, size=[224, 224], interp_type=types.INTERP_LINEAR, antialias=True)
    return finish(image, is_float), label


@pipeline_def(**THREADS)
def window(is_float):
    pixels, label = fn.readers.webdataset(paths=[str(FOLDER / "raw256.tar")], ext=["raw", "cls"],
                                          random_shuffle=True, initial_fill=256, dont_use_mmap=False)
    image = fn.reinterpret(pixels, shape=[256, 256, 3], layout="HWC")
    place = {axis: fn.random.uniform(range=(0.0, 1.0)) for axis in ("crop_pos_x", "crop_pos_y")}
    return finish(image, is_float, crop=(224, 224), **place), label


def case(name, info, make):
    def start():
        pipeline = make()
        pipeline.build()
        while True:
            yield pipeline.run()
    measure(name, info, start, lambda batch: len(batch[0]))


def main():
    versions(DALI=nvidia.dali.__version__)
    case("decode_small", "DALI", lambda: decode("small", batch_size=128))
    case("decode_large", "DALI", lambda: decode("large", batch_size=10))
    crop = "DALI, image_random_crop"
    case("rrc_small_u8", crop, lambda: random_resized_crop("small", False, batch_size=128))
    case("rrc_small_f32", crop, lambda: random_resized_crop("small", True, batch_size=128))
    case("rrc_large_f32", crop, lambda: random_resized_crop("large", True, batch_size=10))
    case("raw_u8", "DALI, tar of raw pixels", lambda: window(False, batch_size=128))
    case("raw_f32", "DALI, tar of raw pixels", lambda: window(True, batch_size=128))


if __name__ == "__main__":
    main()
