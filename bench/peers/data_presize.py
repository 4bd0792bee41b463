"""Pillow and OpenCV, two processes: JPEG files to a short side of 256 pixels and JPEG of quality 90 in memory.

usage: data_presize.py FOLDER SECONDS [CASE...]     requires: pillow opencv-python-headless
"""
import io
import itertools
import multiprocessing

import cv2
import PIL
from PIL import Image

from data_common import files, measure, versions

SHORT = 256


def scaled(width, height):
    factor = SHORT / min(width, height)
    return round(width * factor), round(height * factor)


def with_pillow(path):
    """Decodes at a fraction of the size where that is enough (draft)."""
    out = io.BytesIO()
    with Image.open(path) as image:
        size = scaled(*image.size)
        image.draft("RGB", size)
        image.convert("RGB").resize(size, Image.BILINEAR).save(out, "JPEG", quality=90, subsampling="4:2:0")
    return len(out.getvalue())


def with_opencv(path, flags=cv2.IMREAD_COLOR):
    image = cv2.imread(path, flags)
    image = cv2.resize(image, scaled(image.shape[1], image.shape[0]), interpolation=cv2.INTER_AREA)
    return len(cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 90])[1])


def with_opencv_reduced(path):
    return with_opencv(path, cv2.IMREAD_REDUCED_COLOR_4)


def case(name, info, kind, work):
    """Each task has several images, so that passing them to the processes takes no time."""
    def start():
        endless = itertools.cycle(files(kind))
        pending = [pool.apply_async(run, (work, list(itertools.islice(endless, GROUP[kind])))) for _ in range(6)]
        while True:
            done = pending.pop(0).get()
            pending.append(pool.apply_async(run, (work, list(itertools.islice(endless, GROUP[kind])))))
            yield done
    with multiprocessing.Pool(2, cv2.setNumThreads, (1,)) as pool:
        measure(name, info, start, lambda count: count)


GROUP = {"small": 32, "large": 4}


def run(work, paths):
    for path in paths:
        work(path)
    return len(paths)


def main():
    versions(Pillow=PIL.__version__, OpenCV=cv2.__version__)
    for kind in GROUP:
        case(f"presize_{kind}", "Pillow, draft", kind, with_pillow)
        case(f"presize_{kind}", "OpenCV", kind, with_opencv)
    case("presize_large", "OpenCV, reduced to 1/4", "large", with_opencv_reduced)


if __name__ == "__main__":
    main()
