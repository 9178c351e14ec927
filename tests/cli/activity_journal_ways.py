#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: alone
"""record --activity=journal: attached to a program that runs already, in a directory in which other things lie; by a
user who may not use BPF, and asks for activities without saying how; across fork, exec and the ends of threads; in all
files of --switch-output; and with the module for Python. What it cannot do it says."""
import collections
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from lib.activity_programs import read_times
from lib.activity_switcher import PROGRAM, build, include, library, read_truth, sources
from lib.activity_truth import check_times, run, samples
from lib.machine import need_recording

reticle = os.environ["RETICLE"]
JOURNAL = "RETICLE_ACTIVITY_JOURNAL"

# Its functions say in which span they are; the last one is of another program in the same process.
FAMILY = r"""
#define _GNU_SOURCE
#include <reticle/activity.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORK(name)                                                                       \
	__attribute__((noinline)) static void name(void)                                 \
	{                                                                                \
		struct timespec t;                                                       \
		double until = 0, now;                                                   \
		do {                                                                     \
			for (volatile int i = 0; i < 30000; i++)                         \
				;                                                        \
			clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);                     \
			now = (double)t.tv_sec + (double)t.tv_nsec / 1e9;                \
			until = until ? until : now + seconds;                           \
		} while (now < until);                                                   \
	}
static double seconds = 0.2;
WORK(in_parent)
WORK(in_child)
WORK(in_thread)
WORK(in_other_program)
WORK(for_long)

static void set(uint8_t n)
{
	activity_set(&(struct activity_ids){ .trace = { n }, .span = { n } });
}

static void *thread(void *arg)
{
	(void)arg;
	set(3);
	in_thread();
	return NULL;
}

static void family(char *self)
{
	pthread_t t;
	pid_t pid;

	set(1);
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	pid = fork();
	if (!pid) {
		in_parent(); /* still in its parent's span */
		set(2);
		in_child();
		execl(self, self, "other", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	in_parent();
	for (int i = 0; i < 300; i++) { /* threads' numbers are not reused so soon, but their journals are */
		pthread_create(&t, NULL, thread, NULL);
		seconds = 0.0005;
		pthread_join(t, NULL);
	}
}

int main(int argc, char **argv)
{
	if (!strcmp(argv[1], "other")) {
		in_other_program();
	} else if (!strcmp(argv[1], "long")) {
		set(4);
		seconds = 2.5;
		for_long();
	} else {
		family(argv[0]);
	}
	return argc < 2;
}
"""
SPANS = {"in_parent": 1, "in_child": 2, "in_thread": 3, "for_long": 4}


def ids(n):
    return f"{n:02x}".ljust(32, "0") + "/" + f"{n:02x}".ljust(16, "0")


def refused(text, *words):
    p = subprocess.run([reticle, "record", "-q", "-o", "refused.data", *words], capture_output=True, text=True)
    if not p.returncode or text not in p.stderr:
        sys.exit(f"record {' '.join(words)}: exit status {p.returncode}: {p.stderr}")


def attached():
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        for name, make in (("0.ring", os.mkfifo), ("1.ring", os.mkdir),
                           ("2.ring", lambda path: os.symlink("/dev/zero", path)),
                           ("3.ring", lambda path: pathlib.Path(path).write_bytes(bytes(10000)))):
            make(f"{folder}/{name}")
        with subprocess.Popen(["./program", "2", "100000", "3", "truth"],
                              env={**os.environ, JOURNAL: folder}) as program:
            while not any(path.name.endswith(".ring") and path.stat().st_size > 100000
                          for path in pathlib.Path(folder).iterdir()):
                if program.poll() is not None:
                    sys.exit(f"attached: the program keeps no journal, and has ended ({program.returncode})")
                time.sleep(0.01)
            run(reticle, "record", "-q", f"--activity=journal:{folder}", "-F", "4000", "-o", "perf.data", "-p",
                str(program.pid), "--", "sleep", "1")
        check_times("attached", reticle, read_truth())


def family():
    run(reticle, "record", "-q", "--activity=journal", "-F", "2000", "-o", "perf.data", "--", "./family", "all")
    right, wrong = collections.Counter(), []
    for sample in samples(reticle, "ip,sym,activity"):
        function, said = sample.get("sym"), sample["activity"]
        if function == "in_other_program" and "/" not in said or function in SPANS and said == ids(SPANS[function]):
            right[function] += 1
        elif function == "in_other_program" or function in SPANS:
            wrong.append((function, said))
    print(f"family: {dict(right)}, wrong or missed: {wrong[:5]}")
    if wrong or len(right) != 4 or min(right.values()) < 50:
        sys.exit("family: not all functions are in their spans")


def files():
    """Each has what holds when it begins."""
    run(reticle, "record", "-q", "--activity=journal", "-F", "2000", "-o", "perf.data", "--switch-output=1s", "--",
        "./family", "long")
    parts = sorted(pathlib.Path(".").glob("perf.data.2*"))
    for part in parts:
        part.rename("perf.data")
        said = collections.Counter(sample["activity"] for sample in samples(reticle, "ip,sym,activity")
                                   if sample.get("sym") == "for_long")
        print(f"files: {part.name}: {dict(said)}")
        if set(said) - {ids(4)}:
            sys.exit("files: not all samples are in the span")
    if len(parts) < 3:
        sys.exit(f"files: {parts}")


def python():
    build("libreticle-activity.so", "-shared", "-fPIC", "-ftls-model=initial-exec", *sources, include)
    tasks = run(reticle, "record", "-q", "--activity=journal", "-F", "2000", "-o", "perf.data", "--", sys.executable,
                os.environ["SRCDIR"] + "/examples/activity/tasks.py",
                env={**os.environ, "RETICLE_ACTIVITY_LIBRARY": os.path.abspath("libreticle-activity.so"),
                     "PYTHONPATH": str(library / "python"), "PYTHONDONTWRITEBYTECODE": "1"})
    check_times("Python", reticle, read_times("Python", tasks), early_ones=True)


def without_rights():
    """As root: as another user, who may load no BPF program. Who is no root may do that neither."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        os.chmod(folder, 0o777)
        for name in "program", reticle:
            shutil.copy(name, folder)
        os.makedirs(f"{folder}/journals", 0o700)
        nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        if nobody:
            os.chown(f"{folder}/journals", 65534, 65534)
        words = [f"{folder}/{os.path.basename(reticle)}", "record", "--activity", "-e", "cpu-clock:u", "-F", "4000",
                 "-o", f"{folder}/perf.data", "--", f"{folder}/program", "2", "100000", "1", f"{folder}/truth"]
        plain = subprocess.run(words, cwd=folder, capture_output=True, text=True, **nobody)
        if not plain.returncode or "--activity=journal" not in plain.stderr:
            sys.exit(f"without rights: exit status {plain.returncode}: {plain.stderr}")
        plain = subprocess.run(words, cwd=folder, capture_output=True, text=True,
                               env={**os.environ, JOURNAL: f"{folder}/journals"}, **nobody)
        print(plain.stderr)
        if plain.returncode or "activities are those that programs write into journals in" not in plain.stderr:
            sys.exit(f"without rights: exit status {plain.returncode}: {plain.stderr}")
        for name in "perf.data", "truth":
            shutil.copy(f"{folder}/{name}", name)
    check_times("without rights", reticle, read_truth())


def refusals():
    refused("needs -k monotonic", "--activity=journal", "-k", "boottime", "--", "./program")
    refused("with RETICLE_ACTIVITY_JOURNAL=DIR in their environment", "--activity=journal", "-p", str(os.getpid()))
    refused("/nowhere/at/all", "--activity=journal:/nowhere/at/all", "--", "./program")
    refused("'paper' is none of bpf, journal, journal:DIR", "--activity=paper", "--", "./program")


need_recording()
pathlib.Path("program.c").write_text(PROGRAM)
build("program", "program.c", *sources, include)
pathlib.Path("family.c").write_text(FAMILY)
build("family", "-fno-ipa-icf", "family.c", *sources, include)
os.environ.pop(JOURNAL, None)
refusals()
attached()
family()
files()
python()
if int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text()) <= 2:
    without_rights()
else:
    print("without rights: not tried, as kernel.perf_event_paranoid lets users without rights record nothing")
