# SPDX-License-Identifier: Apache-2.0
"""perf of the series (kernel/perf/): built from the source package for the guests, static, with what needs no library;
what it records there, and what is asserted of that."""
import os
import re
import shutil
import time

from base import CACHE, CROSS, JOBS, compiler_version, held, key_of, need, note, run
from cross import libraries
from fetch import sysroot, unpacked
from kernels import PERF_SERIES, apply, pristine_source, source_version

OPTIONS = ["NO_LIBELF=1", "NO_DWARF=1", "NO_ZLIB=1", "NO_LZMA=1", "NO_LIBZSTD=1", "NO_LIBCRYPTO=1", "NO_LIBCAP=1",
           "NO_LIBNUMA=1", "NO_SLANG=1", "NO_LIBPYTHON=1", "NO_LIBPERL=1", "NO_LIBTRACEEVENT=1", "NO_LIBBPF=1",
           "BUILD_BPF_SKEL=0", "NO_JVMTI=1", "NO_LIBDEBUGINFOD=1", "NO_LIBUNWIND=1", "NO_CAPSTONE=1",
           "NO_LIBBABELTRACE=1", "NO_SHELLCHECK=1", "NO_JEVENTS=1", "NO_AUXTRACE=1", "LDFLAGS=-static"]
WINDOW = 300
TLS_SIZE = 64
TESTS = ("Sample parsing", "Test event parsing", "Parsing of all PMU events from sysfs",
         "Parsing of terms (event modifiers)")


def perf_tree():
    """-> a directory with perf for arm64, and with tests/attr.py and tests/attr/ of its source"""
    made = CACHE / f"perf-tree-{key_of(source_version(), compiler_version(), *OPTIONS, *PERF_SERIES)}"
    with held("perf"):
        if not made.exists():
            start, work = time.monotonic(), CACHE / "work-perf"
            shutil.rmtree(work, ignore_errors=True)
            (work / "obj").mkdir(parents=True)
            run(["cp", "-al", str(pristine_source()), str(work / "src")])
            apply(work, PERF_SERIES)
            run(["make", "-C", str(work / "src/tools/perf"), f"O={work / 'obj'}", f"-j{JOBS}", "ARCH=arm64",
                 f"CROSS_COMPILE={CROSS}", f"CC=ccache {CROSS}gcc", "WERROR=1", *OPTIONS, str(work / "obj/perf")],
                env={"CCACHE_DIR": str(CACHE / "ccache"), "CCACHE_MAXSIZE": "1G"})
            (work / "made").mkdir()
            run([CROSS + "strip", "-g", "-o", str(work / "made/perf"), str(work / "obj/perf")])
            run(["cp", "-a", str(work / "src/tools/perf/tests/attr"), str(work / "src/tools/perf/tests/attr.py"),
                 str(work / "made")])
            os.replace(work / "made", made)
            shutil.rmtree(work)
            note(f"perf for arm64 took {time.monotonic() - start:.0f} s")
    return made


def python():
    """-> {path in a guest: file}: Python, with as much of its library as attr.py needs"""
    root = sysroot(["python3-minimal"])
    program = (root / "usr/bin/python3").resolve()
    shutil_py = unpacked(f"lib{program.name}-stdlib") / f"usr/lib/{program.name}/shutil.py"
    library = [f for f in (root / "usr/lib" / program.name).rglob("*.py") if f.is_file()]
    return {"bin/python3": program, f"usr/lib/{program.name}/shutil.py": shutil_py,
            **{str(f.relative_to(root)): f.resolve() for f in library},
            **{f"lib/{name}": f for name, f in libraries([program], root).items()}}


def files(rows):
    """-> {path in a guest: file}: perf, and what else these rows need"""
    tree = perf_tree()
    found = {"bin/perf": tree / "perf"}
    if ATTR in rows:
        # Those of registers run a program that shows its auxiliary vector, which a static one doesn't.
        tests = [f for f in (tree / "attr").iterdir() if "user-regs" not in f.name]
        found |= {f"attr/{f.name}": f for f in tests} | {"attr.py": tree / "attr.py"} | python()
    return found


# Some lines for each row: perf records, and says what it reads of that; then reticle reads it, too.
RECORDING = """\
%(before)s { perf record -o %(name)s.data %(options)s -- %(program)s; echo "status $?" >&2; } 2>%(name)s.log >&2
[ ! -e %(name)s.data ] || {
	perf script -i %(name)s.data -F tid,ip,period%(fields)s >%(name)s.txt 2>&1
	carry %(name)s.data %(name)s.txt
}
carry %(name)s.log
"""
DUMPED = RECORDING + "perf report -D -i %(name)s.data >%(name)s.raw 2>&1; carry %(name)s.raw\n"
# perf top shows the windows' events, and ends, when keys say so. What is typed before it waits for keys it drops, and
# when nothing more can be typed it goes round for ever: so keys are repeated until they have had their effect, and
# whatever has piled up by then is the answer to the first question. The program begins when perf waits, for on this
# one CPU it would keep perf from that. With its first sample of the kernel perf reads all of kallsyms, before it looks
# at any other.
TOP = """\
(for i in $(seq 30); do grep -q Available %(name)s.log && break; printf E; pause 100; done; %(program)s; pause 1000
printf '\\nE1\\n'; while pause 50; do printf q; done) |
	perf top %(options)s >%(name)s.txt 2>%(name)s.log
echo "
status $?" >>%(name)s.log
carry %(name)s.txt %(name)s.log
"""
# What perf asks the kernel for, as its files say it should, and whether the kernel takes that.
# Periods of 100 and 123 cycles are among them, of the kernel too, which is shorter than what a sample takes: only
# throttling lets anything else go on.
ATTR_TESTS = """\
rate 10000
python3 /attr.py -d /attr -p /bin/perf -v %(options)s >%(name)s.log 2>&1; echo "status $?" >>%(name)s.log
rate 10000000
carry %(name)s.log
"""
ATTR = "perf-attr"
TEMPLATES = {"perf-top": TOP, "perf-tls": DUMPED, "perf-tls-defer": DUMPED, ATTR: ATTR_TESTS}
# perf's own tests of what the series changes there.
TESTING = "".join(f"perf test -F '{name}' >>perf-tests.log 2>&1\n" for name in TESTS) + "carry perf-tests.log\n"


def group_of(records):
    """-> of samples that read a group (thread, cycles, instructions, period)"""
    samples = [r for r in records if r["kind"] == "SAMPLE" and "read" in r]
    need(samples, "no sample reads a group")
    return [(r["tid"], *(v["value"] for v in r["read"]["values"]), r["period"]) for r in samples]


def windows_of(samples):
    """Of one thread -> its short windows: (cycles, instructions, period, counts that were left of it); how often long
    and short ones are not in turn; and of how many.

    What a period is late by is taken from the next one, unless that is shorter. Windows are left out that have an odd
    number of counts left: QEMU counts cycles in pairs, and while two counters do so (cycles:P is the other one) it
    misses all overflows that fall between two, so that these are not short."""
    found, odd, late = [], 0, 0
    for a, b in zip(samples, samples[1:]):
        cycles, period, short = b[0] - a[0], b[2], b[2] <= 1.5 * WINDOW
        left = period - late if late < period else period
        late = cycles - left
        odd += (a[2] <= 1.5 * WINDOW) == short
        if short and left % 2 == 0:
            found.append((cycles, b[1] - a[1], period, left))
    return found, odd, len(samples) - 1


def is_windows(least, threads=1):
    """Short and long periods in turn, in each thread, and short ones as long as each says of itself, from half to one
    and a half times their usual length; a tick that adjusts the frequency in the middle of one may make an exception.
    Cycles are twice the instructions, in windows as everywhere."""
    def check(r):
        by_thread = {}
        for tid, *values in group_of(r.records()):
            by_thread.setdefault(tid, []).append(values)
        found = [windows_of(samples) for samples in by_thread.values()]
        windows = [w for of_thread, _, _ in found for w in of_thread]
        odd, pairs = (sum(f[i] for f in found) for i in (1, 2))
        wrong = [w for w in windows if abs(w[0] - 2 * w[1]) > 2]
        exact = sum(abs(cycles - left) <= 2 for cycles, _, _, left in windows)
        need(len(windows) >= least and not wrong, f"{len(windows)} windows, wrong: {wrong[:3]}")
        low, high = min(w[2] for w in windows), max(w[2] for w in windows)
        need(WINDOW / 2 <= low < 0.75 * WINDOW and 1.25 * WINDOW < high, f"periods from {low} to {high}")
        need(exact >= 0.95 * len(windows) and odd <= 0.05 * pairs,
             f"{len(windows)} windows, {exact} exact; {odd} of {pairs} periods not in turn")
        need(sum(len(of_thread) >= least // threads for of_thread, _, _ in found) >= threads,
             f"of threads: {[len(f[0]) for f in found]}")
        kept = re.search(r"^# Windows: (\d+) of (\d+) kept", r.report(), re.M)
        need(kept and int(kept.group(1)) >= 0.8 * len(windows),
             f"reticle report: {kept and kept.group(0)} of {len(windows)}")
        return (f"{len(windows)} windows of {low} to {high} cycles, {exact} exact, {odd} not in turn, {threads} "
                f"threads; reticle report keeps {kept.group(1)}")
    return check


def is_plain(r):
    """The kernel has no bursts: one event, no word of it."""
    records = r.records()
    need(not any("read" in x for x in records if x["kind"] == "SAMPLE"), "samples read a group")
    need("status 0" in r.log and "burst" not in r.log and "alt-period" not in r.log, r.log.strip())
    return f"{sum(x['kind'] == 'SAMPLE' for x in records)} samples of cycles alone, without a word"


def is_top(r):
    """Without -e perf top has the group of windows. Each of its samples is one of both members: their sums have one
    ratio."""
    need("status 0" in r.log, r.log.strip())
    events = re.findall(r"^\t\d (\S+)$", r.log.rpartition("Available events:")[2], re.M)
    need(events[1:] == [f"cycles/alt-period={WINDOW}/u", "instructions:u"], f"events: {events}")
    shown = r.text.rpartition("PerfTop:")[2]
    need(f"cycles/alt-period={WINDOW}/u]" in shown.splitlines()[0].replace(" ", ""),
         "the last table is of " + shown.splitlines()[0])
    row = re.search(r"(\d+) +(\d+) +(\d+) +(\d+) +rivals", shown)
    need(row, f"no row of rivals: {shown[:300]}")
    samples, again, cycles, instructions = map(int, row.groups())
    need(samples == again > 20 and abs(cycles / instructions - 2) < 0.01, row.group(0))
    return f"{', '.join(events)}: {samples} samples, {cycles} cycles, {instructions} instructions"


def is_attr(r):
    """attr.py stops at the first test that fails. What the PMU or the machine has not is left out by it."""
    ran, unsupported = (set(re.findall(pattern, r.log, re.M))
                        for pattern in (r"^running '/attr/(\S+)'", r"^unsupp  '/attr/(\S+)'"))
    skipped = set(re.findall(r"^skipped \[.*\] '/attr/(\S+)'", r.log, re.M))
    need("status 0" in r.log and "FAILED" not in r.log, r.log[-300:])
    passed = ran - unsupported - skipped
    need("test-record-burst" in passed and len(passed) >= 15,
         f"{len(passed)} of {len(ran)} tests passed: {sorted(passed)}")
    return (f"{len(passed)} tests of attr.py pass, test-record-burst among them; unsupported here: "
            f"{len(unsupported)}, of others: {len(skipped)}")


def same_tls(r):
    """What perf script says of each sample is what reticle's says, and they have something to say."""
    ours = re.findall(r"^ *(\d+) +(?:\d+) +([0-9a-f]+) .*tls:([0-9a-f]*)",
                      r.reticle("script", "-F", "tid,ip,period,tls"), re.M)
    theirs = re.findall(r"^ *(\d+) +(?:\d+) +([0-9a-f]+) .*tls:([0-9a-f]*)", r.text, re.M)
    need(len(theirs) > 20 and ours == theirs,
         f"perf script has {len(theirs)} samples with data, reticle {len(ours)}, or others")
    whole = sum(len(data) == 2 * TLS_SIZE for _, _, data in theirs)
    need(whole > 20, f"{whole} of {len(theirs)} samples have {TLS_SIZE} bytes")
    return f"perf script and reticle script show the same bytes of {len(theirs)} samples; {same_dump(r)}"


def same_dump(r):
    """What perf report -D has of the samples, and of what came later, is what reticle has."""
    raw, records = (r.path.parent / f"{r.path.stem}.raw").read_text(errors="replace"), r.records()
    samples = [(x["tls_user"], x.get("tls_cookie", 0)) for x in records if x["kind"] == "SAMPLE"]
    later = [(x["tls_user"], x["cookie"]) for x in records if x["kind"] == "TLS_USER"]
    lines = re.findall(r"^\.\.\. tls: size \d+ of \d+(?:, cookie (0x[0-9a-f]+|0))?:((?: [0-9a-f]+)*)$", raw, re.M)
    dumped = [(data.replace(" ", ""), int(cookie or "0", 16)) for cookie, data in lines]
    lines = re.findall(r"PERF_RECORD_TLS_USER cookie: (0x[0-9a-f]+) size: \d+:((?: [0-9a-f]+)*)$", raw, re.M)
    joined = [(data.replace(" ", ""), int(cookie, 16)) for cookie, data in lines]
    need(sorted(dumped) == sorted(samples),
         f"report -D has {len(dumped)} samples with data, reticle {len(samples)}, or others")
    need(sorted(joined) == sorted(later),
         f"report -D has {len(joined)} records that came later, reticle {len(later)}, or others")
    return f"report -D the same of {len(dumped)} samples and {len(joined)} records"


def same_later(r):
    said, cookies = same_dump(r), [x["cookie"] for x in r.records() if x["kind"] == "TLS_USER"]
    need(len(cookies) > 10, f"{len(cookies)} records came later")
    return said


ROWS = {
    "burst": [("perf-record", "", "rivals 1 1 200000000", is_windows(60)),
              ("perf-threads", "", "rivals 1 4 120000000", is_windows(120, 4)),
              ("perf-tls", "-e cycles/period=20000,tls-size=%d,tls-offset=$(tagged data)/u" % TLS_SIZE,
               "tagged 5 30", same_tls),
              ("perf-tls-defer", "-e cycles/period=20000,tls-size=%d,tls-offset=$(tagged data),tls-defer/" % TLS_SIZE,
               "tagged 5 30", same_later),
              ("perf-top", "--stdio -d 1 -n --show-total-period --sort comm", "rivals 1 1 100000000", is_top),
              (ATTR, "-t 'test-record-*'", "", is_attr)],
    "debian-6.12": [("perf-record-plain", "", "rivals 1 1 30000000", is_plain)],
}


def tests_passed(log):
    """perf's own tests, as they went in the guest"""
    for name in TESTS:
        need(re.search(rf": {re.escape(name)} *: Ok", log), f"{name}: {log[-200:]}")
    return f"{len(TESTS)} tests of perf pass: " + ", ".join(TESTS)
