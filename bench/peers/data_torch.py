"""torchvision: decoding and random resized crops of JPEG files, in a DataLoader with two processes.

usage: data_torch.py FOLDER SECONDS [CASE...]     requires: torch torchvision
"""
import torch
import torchvision
from torch.utils.data import DataLoader, Dataset, RandomSampler
from torchvision.transforms import v2

from data_common import MEAN, STD, files, measure, versions

CROP = [v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip()]
NORMALIZE = [v2.ToDtype(torch.float32), v2.Normalize(MEAN, STD)]


class Files(Dataset):
    def __init__(self, kind, then):
        self.paths, self.then = files(kind), then

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        data = torchvision.io.read_file(self.paths[index])
        return self.then(torchvision.io.decode_jpeg(data, mode=torchvision.io.ImageReadMode.RGB))


def height(image):
    return image.shape[1]


def case(name, kind, batch_size, then):
    data = Files(kind, then)
    sampler = RandomSampler(data, replacement=True, num_samples=10 ** 6)  # an epoch that does not end
    measure(name, "torchvision.io, DataLoader", lambda: iter(DataLoader(
        data, batch_size, sampler=sampler, num_workers=2, prefetch_factor=4)), len)


def main():
    torch.set_num_threads(1)
    versions(torch=torch.__version__, torchvision=torchvision.__version__)
    case("decode_small", "small", 128, height)
    case("decode_large", "large", 10, height)
    case("rrc_small_u8", "small", 128, v2.Compose(CROP))
    case("rrc_small_f32", "small", 128, v2.Compose(CROP + NORMALIZE))
    case("rrc_large_f32", "large", 10, v2.Compose(CROP + NORMALIZE))


if __name__ == "__main__":
    main()
