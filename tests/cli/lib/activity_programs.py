# SPDX-License-Identifier: Apache-2.0
"""Example programs of examples/activity that say when each of their threads worked for which span: recording them, and
asking those that are HTTP servers."""
import collections
import concurrent.futures
import http.client
import os
import subprocess
import sys

reticle = os.environ["RETICLE"]


def read_times(name, output):
    """-> {thread: [(begin, end, what reticle has to say), ...]}"""
    truth = collections.defaultdict(list)
    for line in output.splitlines():
        tid, begin, end, span, route = line.split()
        truth[int(tid)].append((int(begin), int(end),
                                "none" if span == "-" else span + (f" http.route={route}" if route != "-" else "")))
    said = {what for spans in truth.values() for _, _, what in spans}
    if len(truth) < 2 or len(said) < 20:
        sys.exit(f"{name}: there is not enough to compare: {truth}")
    return truth


RECORD_TIMES = (reticle, "record", "-q", "--activity", "-k", "CLOCK_MONOTONIC", "-F", "2000", "-o", "perf.data", "--")
RECORD_JOURNALS = tuple("--activity=journal" if word == "--activity" else word for word in RECORD_TIMES)
REQUESTS = 120


def ask(request):
    """Asks the server at a port for the nth thing, in a trace of its own."""
    port, n = request
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", ("/items", "/cart", "/search")[n % 3],
                       headers={"traceparent": f"00-{n + 1:032x}-{1:016x}-01"})
    return connection.getresponse().read() == b"ok\n"


def serve(name, *program, record=RECORD_TIMES, **options):
    """Records the program so, which takes the number of requests. -> what it says of its spans; each request is to be
    in its client's trace"""
    with subprocess.Popen([*record, *program, str(REQUESTS)], stdout=subprocess.PIPE, text=True,
                          **options) as server:
        said = server.stdout.readline()
        if not said.startswith("port "):
            sys.exit(f"{name}: exit status {server.wait()}, its first line is {said!r}")
        port = int(said.removeprefix("port "))
        try:
            with concurrent.futures.ThreadPoolExecutor(4) as clients:
                good = list(clients.map(ask, [(port, n) for n in range(REQUESTS)]))
        except BaseException:
            # The recorder passes it on to the server, which waits for the requests that are missing.
            server.terminate()
            raise
        output = server.stdout.read()
    traces = sorted({line.split()[3].split("/")[0] for line in output.splitlines()} - {"-"})
    if server.returncode or not all(good) or traces != [f"{n + 1:032x}" for n in range(REQUESTS)]:
        sys.exit(f"{name}: exit status {server.returncode}, {good.count(False)} bad answers, traces {traces}")
    return output
