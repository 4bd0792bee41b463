# SPDX-License-Identifier: Apache-2.0
"""check_mlflow.py PROGRAM WORK: trains with the logger mlflow and MLflow's tracking server, kills the run and
resumes it, and reads it with MLflow's client. Then without a server, and with one that hangs."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

PROGRAM, WORK = sys.argv[1:3]
os.environ.update(MLFLOW_DISABLE_TELEMETRY="true", DO_NOT_TRACK="true", USER="somebody")
for name in ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME", "MLFLOW_RUN_NAME"):
    os.environ.pop(name, None)

# MLflow's server as its command starts it, in one process: the command's own needs its user interface.
SERVE = """import os, sys
os.environ.update(_MLFLOW_SERVER_FILE_STORE="sqlite:///" + sys.argv[1], _MLFLOW_SERVER_ARTIFACT_ROOT=sys.argv[2])
from mlflow.server import app
from werkzeug.serving import run_simple
run_simple("127.0.0.1", int(sys.argv[3]), app, threaded=True)"""


FITS = []  # processes, to be killed at the end


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_server(port):
    log = open(os.path.join(WORK, "server.log"), "a", encoding="utf-8")
    process = subprocess.Popen([sys.executable, "-c", SERVE, os.path.join(WORK, "mlflow.db"),
                                os.path.join(WORK, "artifacts"), str(port)], stdout=log, stderr=log)
    for _ in range(6000):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10).close()
            return process
        except OSError:
            assert process.poll() is None, open(os.path.join(WORK, "server.log"), encoding="utf-8").read()
            time.sleep(0.05)
    raise AssertionError("MLflow's server did not start")


def fit(run, uri, *more):
    return [PROGRAM, "fit", "examples/digits_mlp.yaml", "--trainer.accelerator=cpu", "--trainer.log_every=25",
            f"--trainer.loggers=csv,jsonl,mlflow(uri={uri},experiment=digits ä)",
            f"--trainer.run_dir={os.path.join(WORK, run)}", *more]


def lines(run):
    try:
        with open(os.path.join(WORK, run, "metrics.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []


def run_until(command, run, step):
    """Starts a fit and waits until it has logged a step."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    FITS.append(process)
    while process.poll() is None and (not lines(run) or lines(run)[-1]["step"] < step):
        time.sleep(0.01)
    assert process.poll() is None, process.stderr.read()
    return process


def expected(run):
    values = {}
    for line in lines(run):
        for name, value in line.items():
            if name not in ("step", "epoch") and value is not None:
                values.setdefault(name, []).append((line["step"], value))
        if "lr" in line:
            values.setdefault("epoch", []).append((line["step"], line["epoch"]))
    return values


def check_run(client, run, state):
    """All values of the run are on the server, once."""
    with open(os.path.join(WORK, run, "mlflow.json"), encoding="utf-8") as file:
        run_id = json.load(file)["run_id"]
    found = client.get_run(run_id)
    assert found.info.status == state and found.info.run_name == run, found.info
    assert found.data.params["optimizer.lr"] == "0.003" and found.data.params["model.hidden"] == "[128, 64]", found.data
    assert found.data.tags["mlflow.user"] == "somebody" and "hidden: [128, 64]" in found.data.tags["mlflow.note.content"]
    values = expected(run)
    assert sorted(found.data.metrics) == sorted(values), (found.data.metrics, sorted(values))
    for name, wanted in values.items():
        got = sorted(client.get_metric_history(run_id, name), key=lambda m: m.step)
        assert [m.step for m in got] == [step for step, _ in wanted], (name, [m.step for m in got], wanted)
        assert all(abs(m.value - value) <= 1e-6 * abs(value) for m, (_, value) in zip(got, wanted)), (name, got, wanted)
        assert all(abs(m.timestamp / 1000 - time.time()) < 3600 for m in got)
    return run_id, sum(map(len, values.values()))


def wait_for_values(client):
    """Until the server has answered its first request with values, which takes it long. If the process is killed
    before, the server adds them while the run is resumed, which sends them again."""
    for _ in range(6000):
        experiment = client.get_experiment_by_name("digits ä")
        runs = client.search_runs([experiment.experiment_id]) if experiment else []
        if runs and runs[0].data.metrics:
            return
        time.sleep(0.05)
    raise AssertionError("no values arrived")


def main():
    from mlflow import MlflowClient
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    port = free_port()
    uri = f"http://127.0.0.1:{port}"
    # no server: the fit continues, and reports it
    alone = subprocess.run(fit("alone", uri, "--trainer.max_epochs=2"), capture_output=True, text=True, check=True)
    assert re.search(r"logger 'mlflow' failed: http://127.0.0.1:\d+/\S+: .*; training continues", alone.stderr), alone.stderr
    server = start_server(port)
    try:
        client = MlflowClient(uri)
        # killed and resumed
        process = run_until(fit("killed", uri, "--trainer.max_epochs=100000"), "killed", 300)
        wait_for_values(client)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        epochs = lines("killed")[-1]["epoch"] + 3
        subprocess.run(fit("killed", uri, f"--trainer.max_epochs={epochs}", "--resume"), capture_output=True, check=True)
        run_id, count = check_run(client, "killed", "FINISHED")
        experiment = client.get_experiment_by_name("digits ä")
        assert [run.info.run_id for run in client.search_runs([experiment.experiment_id])] == [run_id]
        # interrupted by the user
        process = run_until(fit("stopped", uri, "--trainer.max_epochs=100000"), "stopped", 50)
        process.send_signal(signal.SIGINT)
        process.communicate()
        check_run(client, "stopped", "KILLED")
        # the server hangs during the fit, and comes back before its end
        process = run_until(fit("hanging", uri, "--trainer.max_epochs=100000"), "hanging", 50)
        server.send_signal(signal.SIGSTOP)
        before = lines("hanging")[-1]["step"]
        while process.poll() is None and lines("hanging")[-1]["step"] < before + 500:
            time.sleep(0.01)
        server.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGINT)
        process.communicate()
        check_run(client, "hanging", "KILLED")
    finally:
        for process in [server, *FITS]:  # fits that have not ended would go on for hours
            process.kill()
            process.wait()
    print(f"{count} values")


main()
