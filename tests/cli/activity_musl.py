#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: alone, plain
"""The library of activities with musl: its own tests, with both models of thread-local storage; and programs that are
recorded, by journals and, where that may be used, with BPF: static ones, and with a library that is loaded late."""
import os
import pathlib
import platform
import shutil
import subprocess
import sys

from lib.activity_switcher import PROGRAM, include, library, read_truth, sources
from lib.activity_truth import check_times, run
from lib.machine import need, no_bpf, no_recording

reticle = os.environ["RETICLE"]
# Those in C: C++, Python and Node are the system's, and so are of another C library.
TESTS = ["calls", "calls, shared", "journal", "context", "each instruction", "each instruction, journal"]


def build(name, *options):
    subprocess.run(["musl-gcc", "-O2", "-o", name, *options], check=True)


def own_tests(model, tests):
    folder = f"build-{model}"
    run("meson", "setup", f"-Dtls_model={model}", folder, library, env=os.environ | {"CC": "musl-gcc", "CXX": "false"})
    needed = subprocess.run(["meson", "test", "-C", folder, *tests], capture_output=True, text=True)
    print(needed.stdout)
    if needed.returncode:
        sys.exit(f"{model}: {needed.stderr}{(pathlib.Path(folder) / 'meson-logs/testlog.txt').read_text()}")
    needs = run("readelf", "-d", f"{folder}/libreticle-activity.so")
    if "libc.so]" not in needs or "libc.so.6" in needs:
        sys.exit(f"not of musl: {needs}")


def record(name, how, program, *more):
    run(reticle, "record", "-q", f"--activity={how}", "-k", "monotonic", "-F", "4000", "-o", "perf.data", "--",
        f"./{program}", "2", "100000", "1", "truth", *more)
    check_times(f"{name}, {how}", reticle, read_truth())


need(None if shutil.which("musl-gcc") else "there is no musl-gcc (Debian's musl-tools)")
own_tests("initial-exec", TESTS)
# musl's dlopen refuses initial-exec.
own_tests("tlsdesc", TESTS + ["unload"])

why = no_recording()
ways = [] if why else ["journal"]
if not why:
    why = no_bpf()
    ways += [] if why else ["bpf"]
if why:
    print(f"recorded by {ways}: {why}")
os.environ["RETICLE_ACTIVITY_JOURNAL_ENTRIES"] = "65536"
descriptors = ["-mtls-dialect=gnu2"] if platform.machine() == "x86_64" else []
pathlib.Path("program.c").write_text(PROGRAM)
build("static", "-static", "program.c", *sources, include)
build("joined", "program.c", *sources, include, "-Wl,--export-dynamic-symbol=otel_thread_ctx_v1")
build("libloaded.so", "-shared", "-fPIC", *descriptors, *sources, include)
build("loader", "-DLOADED", "program.c", include)
for way in ways:
    record("a static program", way, "static")
    record("a program", way, "joined")
    record("a library that is loaded late", way, "loader", "./libloaded.so")
