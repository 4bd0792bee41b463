# SPDX-License-Identifier: Apache-2.0
"""check_tensorboard.py PROGRAM WORK: trains with the logger tensorboard, kills the run and resumes it, and
reads the event files with TensorBoard's own reader and with its server."""
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
import urllib.parse
import urllib.request

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

PROGRAM, WORK = sys.argv[1:3]
RUN = os.path.join(WORK, "runs", "digits")
FIT = [PROGRAM, "fit", "examples/digits_mlp.yaml", "--trainer.accelerator=cpu", "--trainer.log_every=5",
       "--data.image=[8, 8, 1]", "--trainer.callbacks=[host_stats, log_images: {count: 9}]",
       "--trainer.loggers=[csv, jsonl, tensorboard: {histograms: true}]", f"--trainer.run_dir={RUN}"]
PARAMETERS = ["fc1.bias", "fc1.weight", "fc2.bias", "fc2.weight", "fc3.bias", "fc3.weight"]


def f32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def lines():
    """The lines of metrics.jsonl that are complete."""
    try:
        with open(os.path.join(RUN, "metrics.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []


def train():
    """A run that is killed after its first checkpoint, and continued."""
    run = subprocess.Popen(FIT + ["--trainer.max_epochs=1000"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    last = os.path.join(RUN, "checkpoints", "last")
    while run.poll() is None and (not lines() or lines()[-1]["step"] < 100 or not os.path.exists(last)):
        time.sleep(0.01)
    assert run.poll() is None, run.stderr.read().decode()
    run.send_signal(signal.SIGKILL)
    run.wait()
    killed = lines()[-1]
    subprocess.run(FIT + ["--trainer.max_epochs=%d" % (killed["epoch"] + 3), "--resume"], check=True,
                   stdout=subprocess.DEVNULL)


def tag_of(name):
    return re.sub("^(train|val)_", r"\1/", name)


def expected():
    """Each logged value by tag: (step, value)."""
    values = {}
    for line in lines():
        for name, value in line.items():
            if name not in ("step", "epoch") and value is not None:
                values.setdefault(tag_of(name), []).append((line["step"], f32(value)))
        if "lr" in line:
            values.setdefault("epoch", []).append((line["step"], f32(line["epoch"])))
    return values


def close(got, wanted):
    """The same steps, and the same values up to the digits in the file."""
    return [step for step, _ in got] == [step for step, _ in wanted] and all(
        abs(a - b) <= 1e-6 * abs(b) for (_, a), (_, b) in zip(got, wanted))


def check_reader(values):
    files = EventAccumulator(RUN, size_guidance={"scalars": 0, "tensors": 0, "images": 0, "histograms": 0}).Reload()
    tags = files.Tags()
    assert sorted(tags["scalars"]) == sorted(values), (tags["scalars"], sorted(values))
    for tag, wanted in values.items():
        got = files.Scalars(tag)
        assert close([(event.step, event.value) for event in got], wanted), (tag, got, wanted)
        times = [event.wall_time for event in got]
        assert times == sorted(times) and abs(times[-1] - time.time()) < 3600, times
    text = files.Tensors("config")[0].tensor_proto.string_val[0].decode()
    with open(os.path.join(RUN, "config.yaml"), encoding="utf-8") as file:
        assert "      hidden: [128, 64]\n" in text, text
        assert len(file.read().splitlines()) == len(text.splitlines()), text


def check_items():
    """The model, the images of the data, and the weights at each checkpoint."""
    files = EventAccumulator(RUN, size_guidance={"tensors": 0, "images": 0, "histograms": 0}).Reload()
    tags = files.Tags()
    model = files.Tensors("model")[0].tensor_proto.string_val[0].decode()
    assert re.search(r"\n    total +\d{4,}\n", model), model
    nodes = {node.name: node for node in files.Graph().node}
    assert len(nodes) == len(files.Graph().node) and all(name.replace(".", "/") in nodes for name in PARAMETERS), nodes
    assert all(source in nodes for node in nodes.values() for source in node.input)
    assert [dim.size for dim in nodes["fc1/bias"].attr["_output_shapes"].list.shape[0].dim] == [128]
    image = files.Images("train/samples")[0]
    assert image.encoded_image_string[:4] == b"\x89PNG" and image.width == image.height == 3 * 8 + 2 * 2, image
    assert sorted(tags["histograms"]) == ["weights/" + name for name in PARAMETERS], tags
    saves = files.Histograms("weights/fc1.bias")
    steps = [event.step for event in saves]
    assert len(steps) >= 2 and steps == sorted(set(steps)), steps
    for event in saves:
        value = event.histogram_value
        assert value.num == 128 and sum(value.bucket) == 128 and value.bucket_limit[-1] == value.max, value
        assert value.min <= value.sum / value.num <= value.max and value.sum_squares > 0, value


class Server:
    """TensorBoard's server on a free port of this machine."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tensorboard.main", "--logdir", os.path.join(WORK, "runs"), "--host", "127.0.0.1",
             "--port", "0"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.root = None
        for line in self.process.stderr:
            found = re.search(r"at (http://\S+?)/? ", line)
            if found:
                self.root = found.group(1)
                break
        assert self.root, "TensorBoard did not start"

    def get(self, path, **query):
        with urllib.request.urlopen(f"{self.root}/data/{path}?{urllib.parse.urlencode(query)}", timeout=30) as answer:
            return json.load(answer)

    def wait_for(self, path, wanted):
        """Until the data are loaded, for at most a minute."""
        for _ in range(600):
            answer = self.get(path)
            if wanted(answer):
                return answer
            time.sleep(0.1)
        raise AssertionError(f"{path}: {answer}")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.terminate()
        self.process.communicate()


def check_server(values):
    with Server() as server:
        tags = server.wait_for("plugin/scalars/tags", lambda tags: len(tags.get("digits", {})) >= len(values))
        assert sorted(tags["digits"]) == sorted(values), tags
        for tag, wanted in values.items():
            got = server.get("plugin/scalars/scalars", run="digits", tag=tag)
            assert close([(step, value) for _, step, value in got], wanted), (tag, got)
        assert sorted(server.get("plugin/text/tags")["digits"]) == ["config", "model"]
        assert list(server.get("plugin/images/tags")["digits"]) == ["train/samples"]
        found = sorted(server.get("plugin/histograms/tags")["digits"])
        assert found == ["weights/" + name for name in PARAMETERS], found
        assert server.get("plugin/graphs/info")["digits"]["run_graph"]
        check_settings(server)
        shown = server.get("plugin/text/text", run="digits", tag="config")
        assert "hidden: [128, 64]" in shown[0]["text"], shown


def check_settings(server):
    """The settings of the run and how it ended, as the tab HPARAMS shows them."""
    query = json.dumps({"experimentName": "", "allowedStatuses": ["STATUS_SUCCESS"], "startIndex": 0, "sliceSize": 10,
                        "colParams": [{"hparam": "optimizer.lr"}, {"hparam": "model.hidden"}]}).encode()
    request = urllib.request.Request(f"{server.root}/data/plugin/hparams/session_groups", data=query,
                                     headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        group = json.load(answer)["sessionGroups"][0]
    assert group["hparams"]["optimizer.lr"] == 0.003 and group["hparams"]["model.hidden"] == "[128, 64]", group


def main():
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    train()
    values = expected()
    assert len(values["train/loss"]) > 20 and len(values["val/loss"]) >= 4 and "host_cpu_percent" in values, sorted(values)
    check_reader(values)
    check_items()
    check_server(values)
    print(f"{len(values)} tags, {sum(map(len, values.values()))} values")


main()
