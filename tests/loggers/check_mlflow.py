# SPDX-License-Identifier: Apache-2.0
"""check_mlflow.py PROGRAM WORK: trains with the logger mlflow and MLflow's tracking server, kills the run and
resumes it, and reads it with MLflow's client. Also without a server, with one that starts late, and with one that
hangs."""
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

# MLflow's server as its command starts it, in one process: the command's own needs its user interface. It listens on
# a socket that the test has held from the beginning, so that no other program gets the port before it starts.
SERVE = """import os, sys
os.environ.update(_MLFLOW_SERVER_FILE_STORE="sqlite:///" + sys.argv[1], _MLFLOW_SERVER_ARTIFACT_ROOT=sys.argv[2])
from mlflow.server import app
from werkzeug.serving import make_server
server = make_server("127.0.0.1", 0, app, threaded=True, fd=int(sys.argv[3]))
server.socket.listen()
server.serve_forever()"""


FITS = []  # processes, to be killed at the end


def start_server(bound, uri):
    log = open(os.path.join(WORK, "server.log"), "a", encoding="utf-8")
    process = subprocess.Popen([sys.executable, "-c", SERVE, os.path.join(WORK, "mlflow.db"),
                                os.path.join(WORK, "artifacts"), str(bound.fileno())],
                               stdout=log, stderr=log, pass_fds=[bound.fileno()])
    for _ in range(6000):
        try:
            urllib.request.urlopen(f"{uri}/health", timeout=10).close()
            return process
        except OSError:
            assert process.poll() is None, open(os.path.join(WORK, "server.log"), encoding="utf-8").read()
            time.sleep(0.05)
    raise AssertionError("MLflow's server did not start")


def fit(run, uri, *more):
    """With a large model: a small one logs more values while a server starts slowly than the logger keeps."""
    return [PROGRAM, "fit", "examples/digits_mlp.yaml", "--trainer.accelerator=cpu", "--trainer.log_every=25",
            "--model.hidden=[1024, 512]",
            f"--trainer.loggers=[csv, jsonl, mlflow: {{uri: {uri}, experiment: digits ä}}]",
            f"--trainer.run_dir={os.path.join(WORK, run)}", *more]


def lines(run):
    try:
        with open(os.path.join(WORK, run, "metrics.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []


def messages(run):
    with open(os.path.join(WORK, run + ".err"), encoding="utf-8") as file:
        return file.read()[-4000:]


def run_until(run, uri, step):
    """Starts a fit and waits until it has logged a step and saved a checkpoint."""
    last = os.path.join(WORK, run, "checkpoints", "last")
    with open(os.path.join(WORK, run + ".err"), "w", encoding="utf-8") as log:
        process = subprocess.Popen(fit(run, uri, "--trainer.max_epochs=100000"), stdout=subprocess.DEVNULL, stderr=log)
    FITS.append(process)
    while process.poll() is None and (not lines(run) or lines(run)[-1]["step"] < step or not os.path.exists(last)):
        time.sleep(0.01)
    assert process.poll() is None, messages(run)
    return process


def end(process, number):
    process.send_signal(number)
    process.wait()


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
    params, tags = found.data.params, found.data.tags
    assert params["optimizer.lr"] == "0.003" and params["model.hidden"] == "[1024, 512]", params
    assert tags["mlflow.user"] == "somebody" and "hidden: [1024, 512]" in tags["mlflow.note.content"], tags
    values = expected(run)
    assert sorted(found.data.metrics) == sorted(values), (found.data.metrics, sorted(values))
    for name, wanted in values.items():
        got = sorted(client.get_metric_history(run_id, name), key=lambda m: m.step)
        assert [m.step for m in got] == [step for step, _ in wanted], (name, [m.step for m in got], wanted)
        assert all(abs(m.value - value) <= 1e-6 * abs(value) for m, (_, value) in zip(got, wanted)), (name, got, wanted)
        assert all(abs(m.timestamp / 1000 - time.time()) < 3600 for m in got)
    return run_id, sum(map(len, values.values()))


def wait_for_values(client, process, run):
    """Until the server has answered its first request with values. If the process is killed before, the server adds
    them while the run is resumed, which sends them again."""
    for _ in range(1200):
        experiment = client.get_experiment_by_name("digits ä")
        runs = client.search_runs([experiment.experiment_id]) if experiment else []
        if any(found.info.run_name == run and found.data.metrics for found in runs):
            return
        assert process.poll() is None, messages(run)
        time.sleep(0.25)
    raise AssertionError("no values arrived; the program said: " + messages(run))


def kill_and_resume(client, uri):
    process = run_until("killed", uri, 300)
    wait_for_values(client, process, "killed")
    end(process, signal.SIGKILL)
    epochs = lines("killed")[-1]["epoch"] + 3
    subprocess.run(fit("killed", uri, f"--trainer.max_epochs={epochs}", "--resume"), capture_output=True, check=True)
    run_id, count = check_run(client, "killed", "FINISHED")
    experiment = client.get_experiment_by_name("digits ä")
    found = client.search_runs([experiment.experiment_id], "attributes.run_name = 'killed'")
    assert [run.info.run_id for run in found] == [run_id]
    return count


def hang(client, server, uri):
    """The server hangs during the fit, and comes back before its end."""
    process = run_until("hanging", uri, 50)
    server.send_signal(signal.SIGSTOP)
    before = lines("hanging")[-1]["step"]
    while process.poll() is None and lines("hanging")[-1]["step"] < before + 500:
        time.sleep(0.01)
    server.send_signal(signal.SIGCONT)
    end(process, signal.SIGINT)
    check_run(client, "hanging", "KILLED")


def main():
    from mlflow import MlflowClient
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(WORK)
    bound = socket.socket()  # connections are refused until the server listens
    bound.bind(("127.0.0.1", 0))
    uri = f"http://127.0.0.1:{bound.getsockname()[1]}"
    server = None
    try:
        # no server: the fit continues, and reports it
        alone = subprocess.run(fit("alone", uri, "--trainer.max_epochs=2"), capture_output=True, text=True, check=True)
        assert re.search(r"logger 'mlflow': http://127.0.0.1:\d+/\S+: .*; training continues, and values are kept",
                         alone.stderr), alone.stderr
        assert re.search(r"\d+ values could not be sent to http", alone.stderr), alone.stderr
        late = run_until("late", uri, 50)
        server = start_server(bound, uri)
        client = MlflowClient(uri)
        client.search_experiments()  # the first request, for which it creates its database
        end(late, signal.SIGINT)
        check_run(client, "late", "KILLED")
        # the values that were not sent
        subprocess.run(fit("alone", uri, "--trainer.max_epochs=3", "--resume"), capture_output=True, check=True)
        check_run(client, "alone", "FINISHED")
        count = kill_and_resume(client, uri)
        end(run_until("stopped", uri, 50), signal.SIGINT)
        check_run(client, "stopped", "KILLED")
        hang(client, server, uri)
    finally:
        for process in [server, *FITS]:  # fits that have not ended would go on for hours
            if process:
                process.kill()
                process.wait()
    print(f"{count} values")


main()
