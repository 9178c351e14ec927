#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: alone
"""record --activity: labels of goroutines (runtime/pprof). Programs in Go, with and without debug information and C
code, say by the functions that they run in which labels each sample must have: no sample has others."""
import os
import pathlib
import platform
import shutil
import subprocess
import sys

from lib.activity_truth import run
from lib.go_labels import IN_C, TRACE, TRUTH, check, write_sources
from lib.machine import need, need_bpf

reticle = os.environ["RETICLE"]
GO = os.environ.get("RETICLE_GO") or shutil.which("go")
RECORD = [reticle, "record", "-q", "--activity", "-F", "2000", "-o", "perf.data"]


def build(name, folder, *options, cgo=False):
    settings = {"GOCACHE": os.path.abspath("cache"), "GOFLAGS": "-buildvcs=false", "GOTOOLCHAIN": "local",
                "CGO_ENABLED": "1" if cgo else "0"}
    run(GO, "build", *options, "-o", f"../{name}", ".", cwd=folder, env=os.environ | settings)


def attach(program):
    with subprocess.Popen([f"./{program}", "600"], stdout=subprocess.PIPE, text=True) as target:
        try:
            if target.stdout.readline() != "ready\n":
                sys.exit(f"{program} did not begin")
            run(*RECORD, "-p", str(target.pid), "--", "sleep", "3")
            if target.poll() is not None:
                sys.exit(f"{program} ended while it was recorded")
        finally:
            target.kill()


need_bpf()
need(None if platform.machine() == "x86_64" else "labels of Go programs are read on x86_64 only")
need(None if GO else "there is no go (Debian's golang-go)")
print(run(GO, "version"))
write_sources("plain", False)
write_sources("with_c", True)
build("program", "plain")
run(*RECORD, "--", "./program", "2")
check("a program", reticle, "program", TRUTH)

# As rows, as a table, and in the head.
text = run(reticle, "report", "-i", "perf.data", "--sort", "http.route,step,sym")
for part in ("/login", "hash", "main.cart", "# Activities: ", "/traced"):
    if part not in text:
        sys.exit(f"report does not show {part}: {text}")
for key, value in {"trace_id": TRACE, "span_id": f"{5:016x}", "root_span_id": f"{7:016x}"}.items():
    if value not in run(reticle, "report", "-i", "perf.data", "--csv", "--sort", key):
        sys.exit(f"report --sort {key} does not show {value}")
if "/cart" not in run(reticle, "activity", "-i", "perf.data"):
    sys.exit("activity does not show routes")
run(reticle, "export", "-i", "perf.data", "-o", "profile.pb.gz")

attach("program")
check("a program that runs already", reticle, "program", TRUTH)
run("strip", "-o", "stripped", "program")
run(*RECORD, "--", "./stripped", "2")
check("a program without symbols", reticle, "program", TRUTH)
attach("stripped")
check("one that runs already", reticle, "program", TRUTH)

if shutil.which("gcc"):
    no_pie = "-extldflags=-no-pie"
    for name, flags in {"dynamic": no_pie, "static": no_pie + " -static"}.items():
        build(name, "with_c", "-ldflags", f"-linkmode=external '{flags}'", cgo=True)
        run(*RECORD, "--", f"./{name}", "2")
        check(f"a program with C code, {name}", reticle, name, TRUTH | IN_C)

# A version that nobody knows yet: said, and counted apart.
version = run(GO, "env", "GOVERSION").strip().encode()
newer = pathlib.Path("program").read_bytes().replace(version, b"go1.99.00000"[:len(version)])
pathlib.Path("newer").write_bytes(newer)
os.chmod("newer", 0o755)
said = subprocess.run([reticle, "record", "--activity", "--", "./newer", "0.5"], capture_output=True, text=True,
                      check=True).stderr
if "Go 1.99 has built it" not in said:
    sys.exit(f"record does not say that it does not know this version: {said}")
if "that the recorder could not look at" not in run(reticle, "report"):
    sys.exit("its samples are not counted apart")
