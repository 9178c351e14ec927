#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""record --activity looks at the files that are mapped, whatever their paths lead to: programs and libraries that were
deleted or replaced have activities, and nobody can have another file taken for a library that others use, too."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from lib.machine import need, need_bpf

reticle = os.environ["RETICLE"]
library = pathlib.Path(os.environ["SRCDIR"]) / "activity"

# Waits for so many milliseconds, and then works for one activity until it is killed.
PROGRAM = r"""
#include <reticle/activity.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct activity_ids ids = { .trace = { 1 }, .span = { 1 } };

	activity_publish(&(struct activity_process){ .service = argv[argc - 1] });
	activity_push(&ids);
	puts("ready");
	fflush(stdout);
	getchar();
	usleep(1000u * (unsigned)atoi(argv[1]));
	for (volatile int i = 0;; i++)
		;
}
"""


def build(*words):
    subprocess.run(["gcc", "-O1", f"-I{library}/include", "-pthread", *words], check=True)


def begin(*words):
    p = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if p.stdout.readline() != b"ready\n":
        sys.exit(f"{words} does not run")
    return p


def record(programs):
    """Records all of them at work, and says how many samples of each service have a trace."""
    pids = ",".join(str(p.pid) for p in programs)
    recorder = subprocess.Popen([reticle, "record", "-q", "--activity", "-e", "cpu-clock", "-F", "1000", "-p", pids])
    time.sleep(0.5)
    for p in programs:
        p.stdin.write(b"\n")
        p.stdin.close()
    time.sleep(2)
    recorder.terminate()
    recorder.wait()
    for p in programs:
        p.kill()
        p.wait()
    lines = subprocess.run([reticle, "report", "--csv", "--sort", "pid,trace_id"], capture_output=True, text=True,
                           check=True).stdout
    print(lines)
    return [len(re.findall(rf"\b{p.pid}\b.*01000000000000000000000000000000", lines)) for p in programs]


need_bpf()
sources = [str(part) for part in (library / "src").glob("*.c")]
pathlib.Path("server.c").write_text(PROGRAM)
build("-o", "whole", "server.c", *sources)
build("-shared", "-fPIC", "-o", "libactivity.so", *sources)
build("-o", "server", "server.c", "-L.", "-lactivity", "-Wl,-rpath," + os.getcwd())
build("-shared", "-fPIC", "-o", "other.so", "-x", "c", os.devnull)

# The paths lead to nothing, or to other files.
deleted, replaced = begin("./whole", "0", "deleted"), begin("./server", "0", "replaced")
shutil.copy("libactivity.so", "kept.so")
for path in ("whole", "libactivity.so"):
    os.unlink(path)
shutil.copy("other.so", "libactivity.so")
if record([deleted, replaced]) != [1, 1]:
    sys.exit("a deleted program or a replaced library has no activities")

os.rename("kept.so", "libactivity.so")
if os.geteuid() or not shutil.which("unshare"):
    need("only root may mount")
# To the one that comes first the library's path is another file.
liar = begin("unshare", "-m", "--propagation", "private", "./server", "0", "liar")
subprocess.run(["nsenter", "-t", str(liar.pid), "-m", "--wd=" + os.getcwd(), "mount", "--bind", "other.so",
                os.getcwd() + "/libactivity.so"],
               check=True)
honest = begin("./server", "500", "honest")
if record([liar, honest])[1] != 1:
    sys.exit("a process can hide the activities of others")

# Who may load the program, but not look at processes of others.
if not shutil.which("setpriv"):
    need("no setpriv")
stranger = begin("./server", "0", "stranger")
stranger.stdin.close()
os.chmod(".", 0o777)
caps = "+bpf,+perfmon"
recorder = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps", caps,
                           "--ambient-caps", caps, reticle, "record", "--activity", "-e", "cpu-clock", "-o",
                           "strange.data", "-a", "sleep", "1"], stderr=subprocess.PIPE, text=True)
stranger.kill()
print(recorder.stderr)
if recorder.stderr.count("cannot be looked at") != 1 or "CAP_SYS_PTRACE" not in recorder.stderr:
    sys.exit("nobody says that processes cannot be looked at")
said = next(line for line in subprocess.run([reticle, "report", "--pid", str(stranger.pid), "-i", "strange.data"],
                                            capture_output=True, text=True, check=True).stdout.splitlines()
            if line.startswith("# Activities: "))
print(said)
if "that the recorder could not look at" not in said:
    sys.exit("samples of processes that cannot be looked at count as such of processes that work for nothing")
