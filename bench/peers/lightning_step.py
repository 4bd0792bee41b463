"""A model of torch_step.py, trained with Lightning's Trainer and a data loader with shuffling; without logger,
checkpoints and progress bar. Prints one JSON object.

usage: lightning_step.py MODEL PRECISION STEPS     requires: torch lightning
MODEL: mlp or lenet
PRECISION: f32, or bf16 (precision="bf16-mixed")
"""
import logging
import sys
import time
import warnings

warnings.filterwarnings("ignore")
import lightning
import torch
from step_timer import THREADS, report, since_start
from torch_step import MODELS

PRECISIONS = {"f32": "32-true", "bf16": "bf16-mixed"}
SAMPLES = 12800


class Task(lightning.LightningModule):
    def __init__(self, name):
        super().__init__()
        self.name, self.net, self.ends, self.start_s = name, MODELS[name][0](), [], None

    def training_step(self, batch, index):
        x, y = batch
        return torch.nn.functional.cross_entropy(self.net(x), y)

    def on_train_batch_end(self, *_):
        self.ends.append(time.perf_counter())
        self.start_s = self.start_s or since_start()

    def configure_optimizers(self):
        return MODELS[self.name][5](self.parameters())


def main():
    name, precision, steps = *sys.argv[1:3], int(sys.argv[3])
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.set_num_threads(THREADS)
    _, shape, batch, classes, *_ = MODELS[name]
    data = torch.utils.data.TensorDataset(torch.randn(SAMPLES, *shape), torch.arange(SAMPLES) * 7 % classes)
    task = Task(name)
    trainer = lightning.Trainer(accelerator="cpu", max_steps=steps + 1, max_epochs=-1, logger=False,
                                precision=PRECISIONS[precision], enable_checkpointing=False,
                                enable_model_summary=False, enable_progress_bar=False)
    trainer.fit(task, torch.utils.data.DataLoader(data, batch, shuffle=True))
    times = [end - begin for begin, end in zip(task.ends, task.ends[1:])]
    report(times, task.start_s, sum(p.numel() for p in task.parameters()), "torch", "lightning")


main()
