"""A 784-512-512-10 MLP, batch size 128, Adam, f32, 60,000 samples in memory, trained with Lightning's Trainer and
a data loader. Prints one JSON object.

usage: lightning_mlp.py EPOCHS [bar]     requires: torch lightning
bar: with the progress bar, and the loss logged to it in each step
"""
import time

BEGIN = time.clock_gettime(time.CLOCK_BOOTTIME)
import json
import logging
import os
import resource
import statistics
import sys
import warnings

warnings.filterwarnings("ignore")
import lightning
import torch
from torch import nn


BAR = sys.argv[2:] == ["bar"]


class Mlp(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                                 nn.Linear(512, 10))
        self.times = []

    def training_step(self, batch, index):
        self.times.append(time.perf_counter())
        if len(self.times) == 2:
            fields = open("/proc/self/stat").read().rsplit(")", 1)[1].split()
            self.first = time.clock_gettime(time.CLOCK_BOOTTIME) - float(fields[19]) / 100
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        if BAR:
            self.log("loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3, fused=True)


def main():
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.set_num_threads(os.cpu_count())
    data = torch.utils.data.TensorDataset(torch.randn(60000, 784), torch.arange(60000) % 10)
    loader = torch.utils.data.DataLoader(data, 128, shuffle=True)
    model = Mlp()
    trainer = lightning.Trainer(accelerator="cpu", max_epochs=int(sys.argv[1]), logger=False,
                                enable_checkpointing=False, enable_model_summary=False,
                                enable_progress_bar=BAR)
    trainer.fit(model, loader)
    gaps = [b - a for a, b in zip(model.times[100:], model.times[101:])]
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"step_ms": statistics.median(gaps) * 1e3, "first_s": model.first,
                      "rss_mb": rss}))


main()
