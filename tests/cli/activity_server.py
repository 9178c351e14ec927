#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: alone, plain
"""examples/activity/sqlite_server.c, which answers from a database: the samples of each route are as many as the
server's own clocks say of its CPU time, within what chance does to samples."""
import concurrent.futures
import http.client
import json
import math
import os
import pathlib
import subprocess
import sys

from lib.activity_truth import run
from lib.machine import need, need_bpf

reticle = os.environ["RETICLE"]
server = pathlib.Path(reticle).parent / "examples/activity/sqlite_server"
ROUTES = {"/items": 600, "/cart": 400, "/search": 500}  # and how many requests each of the clients sends
CLIENTS = 3


def ask(port):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    # In turns: what is not seen at the beginning, before the recorder has found the process, is missing from all
    # alike.
    for n in range(max(ROUTES.values())):
        for route in (route for route, count in ROUTES.items() if n < count):
            connection.request("GET", f"{route}?n={n}")
            answer = connection.getresponse()
            if answer.status != 200 or not answer.read():
                sys.exit(f"{route}: status {answer.status}")


need_bpf()
need(None if server.exists() else "sqlite_server was not built: sqlite3.h is not there (libsqlite3-dev)")
with subprocess.Popen([reticle, "record", "-q", "--activity", "-e", "cpu-clock", "-F", "4000", "-o", "perf.data", "--",
                       server, "database"],
                      stdout=subprocess.PIPE, text=True) as record:
    try:
        port = int(record.stdout.readline().removeprefix("port "))
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(ask, [port] * CLIENTS))
    finally:
        record.terminate()  # passed on to the server
    said = {route: (int(n), int(ns)) for route, n, ns in (line.split() for line in record.stdout)}
if {route: n for route, (n, _) in said.items()} != {route: CLIENTS * count for route, count in ROUTES.items()}:
    sys.exit(f"not all requests were answered: {said}")
events = json.loads(run(reticle, "activity", "--json", "--by", "http.route", "-i", "perf.data"))["events"]
found = {row["activity"]: row["samples"] for row in events[0]["activities"] if row["activity"] in ROUTES}
samples, cpu = sum(found.values()), sum(ns for _, ns in said.values())
if samples < 300:
    sys.exit(f"too few samples: {found}, {said}")
for route, (_, ns) in said.items():
    share, is_share = ns / cpu, found[route] / samples
    print(f"{route}: {100 * share:.1f} % by the server's clocks, {100 * is_share:.1f} % of {samples} samples")
    if abs(is_share - share) > 5 * math.sqrt(share * (1 - share) / samples) + 0.01:
        sys.exit(f"{route}: too far apart")
