#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""record --activity: more processes come and go than the BPF program can remember, and the server that begins after
them is looked at all the same."""
import json
import os
import pathlib
import re
import struct
import sys

from lib.activity_truth import run
from lib.machine import need_bpf

reticle = os.environ["RETICLE"]
library = pathlib.Path(os.environ["SRCDIR"]) / "activity"

PROGRAM = r"""
#include <reticle/activity.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* A page that is touched for the first time is a sample. */
static void touch(void)
{
	volatile char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*page = 1;
	munmap((void *)page, 4096);
}

int main(void)
{
	for (int i = 0; i < 18500; i++) {
		if (!fork()) {
			touch();
			_exit(0);
		}
		wait(NULL);
	}
	if (!fork()) {
		struct activity_ids ids = { .trace = { 1 }, .span = { 1 } };

		activity_publish(&(struct activity_process){ .service = "server" });
		activity_push(&ids);
		for (int i = 0; i < 2000; i++) {
			touch();
			usleep(1000);
		}
		_exit(0);
	}
	wait(NULL);
	return 0;
}
"""


FINISHED_ROUND = 68


def rounds(path):
    """How many passes over the rings the recording is made of."""
    data = pathlib.Path(path).read_bytes()
    at, size = struct.unpack_from("QQ", data, 40)
    end, n = at + size, 0
    while at < end:
        kind, _, size = struct.unpack_from("IHH", data, at)
        n += kind == FINISHED_ROUND
        at += size
    return n


need_bpf()
pathlib.Path("fleet.c").write_text(PROGRAM)
run("gcc", "-O1", "-o", "fleet", "fleet.c", *(str(part) for part in (library / "src").glob("*.c")),
    f"-I{library}/include", "-pthread", "-static")
run(reticle, "record", "-q", "--activity", "-e", "page-faults:u", "-c", "1", "--", "./fleet")
said = next(line for line in run(reticle, "report").splitlines() if line.startswith("# Activities: "))
rows = {r["activity"]: r["samples"]
        for r in json.loads(run(reticle, "activity", "--json", "--by", "service"))["events"][0]["activities"]}
print(said, rows)
# Samples of the first milliseconds of the server were not looked at yet.
if rows.get("server", 0) < 1500 or int(re.search(r"(\d+) samples", said)[1]) < 1500:
    sys.exit("the server has no activity")
if "nothing is known" in said:
    sys.exit("samples count for nothing, or for those who had their thread's number before")
# 18,500 asks, which are no reason to write what little is in the rings.
passes = rounds("perf.data")
print(passes, "rounds")
if passes > 3000:
    sys.exit("each ask makes a round")
