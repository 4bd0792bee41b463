#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records what a third-party gRPC server (grpcio, with the messages of Google's tpu-info) sends for the metrics of
a v3 with two chips: the bytes from server to client, one connection each, which the test's server then
replays. Requires grpcio, protobuf, tpu-info and curl with HTTP/2.

    python3 tests/golden/tpu_metrics/record.py"""
import concurrent.futures
import os
import socket
import struct
import subprocess
import threading

import grpc
from tpu_info.proto import tpu_metric_service_pb2 as pb
from tpu_info.proto import tpu_metric_service_pb2_grpc as rpc

GIB = 1 << 30
HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = {"usage": "tpu.runtime.hbm.memory.usage.bytes",
         "total": "tpu.runtime.hbm.memory.total.bytes",
         "duty": "tpu.runtime.tensorcore.dutycycle.percent",
         "unknown": "tpu.runtime.no.such.metric"}


class Service(rpc.RuntimeMetricServiceServicer):
    def GetRuntimeMetric(self, request, context):
        answer = pb.MetricResponse()
        answer.metric.name = request.metric_name

        def add(device, **gauge):
            metric = answer.metric.metrics.add()
            metric.attribute.key = "device-id"
            metric.attribute.value.int_attr = device
            metric.timestamp.GetCurrentTime()
            for name, value in gauge.items():
                setattr(metric.gauge, name, value)

        if request.metric_name == NAMES["usage"]:
            for device in (3, 1, 0, 2):  # in no order
                add(device, as_int=(device + 1) * GIB + device)
        elif request.metric_name == NAMES["total"]:
            for device in range(4):
                add(device, as_int=16 * GIB)
        elif request.metric_name == NAMES["duty"]:
            add(0, as_double=12.5)
            add(1, as_double=87.25)
        else:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no such metric")
        return answer


def pump(source, target, kept):
    while data := source.recv(65536):
        if kept is not None:
            kept.append(data)
        target.sendall(data)
    target.shutdown(socket.SHUT_WR)


def record(port, name):
    """The bytes that the server sends for one metric, through a relay."""
    kept = []
    relay = socket.create_server(("127.0.0.1", 0))

    def serve():
        client, _ = relay.accept()
        server = socket.create_connection(("127.0.0.1", port))
        threading.Thread(target=pump, args=(client, server, None), daemon=True).start()
        pump(server, client, kept)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    body = pb.MetricRequest(metric_name=name).SerializeToString()
    frame = b"\0" + struct.pack(">I", len(body)) + body
    url = (f"http://127.0.0.1:{relay.getsockname()[1]}/tpu.monitoring.runtime.RuntimeMetricService/"
           "GetRuntimeMetric")
    subprocess.run(["curl", "-s", "-o", "/dev/null", "--noproxy", "*", "--http2-prior-knowledge", "-H",
                    "Content-Type: application/grpc", "-H", "TE: trailers", "--data-binary", "@-", url],
                   input=frame, check=True)
    thread.join()
    return b"".join(kept)


def main():
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
    rpc.add_RuntimeMetricServiceServicer_to_server(Service(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    for file, name in NAMES.items():
        with open(os.path.join(HERE, file + ".bin"), "wb") as out:
            out.write(record(port, name))
    server.stop(None)


main()
