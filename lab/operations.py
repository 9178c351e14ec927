# SPDX-License-Identifier: Apache-2.0
"""Recordings of Arm's SPE, which spe/lab_spe.c stands in for: what is asserted of them."""
import collections
import re
import shutil
import struct
import subprocess

from base import RETICLE, need, run

SPE_RECORD = 64  # bytes


def aux_data(path):
    """-> [(record of AUXTRACE as a tuple size, offset, reference, idx, tid, cpu; its payload)], as the file has
    them"""
    data, found = path.read_bytes(), []
    at, size = struct.unpack_from("<QQ", data, 40)
    end = at + size
    if struct.unpack_from("<Q", data, 8)[0] == 16:  # for a pipe
        at, end = 16, len(data)
    while at < end:
        kind, _, length = struct.unpack_from("<IHH", data, at)
        at += length
        if kind == 71:
            head = struct.unpack_from("<QQQIiI", data, at - length + 8)
            found.append((head, data[at:at + head[0]]))
            at += head[0]
    return found


def fnv(data):
    h = 0xcbf29ce484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return h


def same_as_written(r):
    """Each byte that the driver wrote is in the recording, in order. -> the pieces' payloads together"""
    need(r.path.exists(), f"no recording: {r.log.strip()[-100:]}")
    pieces = aux_data(r.path)
    data = b"".join(payload for _, payload in pieces)
    written = int(r.written["records"])
    need(written and len(data) == written * SPE_RECORD, f"{len(data)} bytes, and written were {written} records")
    need(fnv(data) == int(r.written["hash"]), "other bytes than those that were written")
    offsets = [(head[1], head[1] + head[0]) for head, _ in pieces]
    need(all(a[1] == b[0] for a, b in zip(offsets, offsets[1:])), f"pieces at {offsets[:5]}")
    return data


def samples_by(r, key):
    """-> {event: {what the key says: samples}}, as the report with one sample per operation has them. Rows that say
    the same are added up: a kernel has several static functions of one name."""
    events, event = {}, None
    for line in r.report("--itrace=i1i", "-F", "sample," + key, "-t", ",").splitlines():
        head = re.match(r"# Samples: .* of event '(.*)'$", line)
        row = re.match(r"(\d+),(.*)$", line)
        if head:
            event = events.setdefault(head.group(1), collections.Counter())
        elif row:
            event[row.group(2).strip()] += int(row.group(1))
    return events


def is_spe(least, truncated=False, more=None):
    """The driver's records, whole and as it wrote them; what it could not write is told. more(recording, number of
    records) says what else is to be true."""
    def check(r):
        n = len(same_as_written(r)) // SPE_RECORD
        cut = sum(x["kind"] == "AUX" and x["aux_flags"] & 1 for x in r.records())
        need(n >= least, f"{n} operations")
        need(cut == int(r.written["truncated"]) and (cut > 0) == truncated,
             f"{cut} AUX records truncated, and written {r.written}")
        need(f"the AUX area was full {cut} times" in r.log if cut else "area was full" not in r.log, r.log.strip())
        need(("AUX records truncated" in r.text) == truncated, "the report's head: " + r.text[:200])
        told = re.search(r", (\d+) sampled operations", r.text)
        need(told and int(told.group(1)) == n, "the report's head: " + r.text[:200])
        return (f"{n} operations, each as it was written" + (f", truncated {cut} times" if cut else "") +
                (more(r, n) if more else ""))
    return check


def wraps(r, _):
    times = int(r.written["areas"])
    need(times >= 4, f"it began {times} times at the area's start")
    return f", {times} times around the area"


def goes_on(r, _):
    """When the area has room again, the event is switched on again."""
    records = [x for x in r.records() if x["kind"] == "AUX"]
    cut = [i for i, x in enumerate(records) if x["aux_flags"] & 1]
    behind = sum(x["aux_size"] for x in records[cut[0] + 1:]) // SPE_RECORD
    need(behind > 100, f"{behind} operations behind the first truncation")
    return f", {behind} of them behind the first time"


def same_functions(r, n):
    """By SPE and by the PMU, which both sample by time, the functions have the same shares; perf sees the same
    operations."""
    events = samples_by(r, "sym")
    spe, pmu = events["instructions"], events["cycles:u"]
    m, far = sum(pmu.values()), []
    need(sum(spe.values()) == n, f"{sum(spe.values())} samples of {n} operations")
    large = [f for f in pmu if pmu[f] > m / 50 and re.fullmatch(r"\[\.\] \w+", f)]
    for f in large:
        a, b, p = spe.get(f, 0) / n, pmu[f] / m, (spe.get(f, 0) + pmu[f]) / (n + m)
        far += [f] if abs(a - b) > 5 * (p * (1 - p) * (1 / n + 1 / m)) ** 0.5 + 0.01 else []
    need(len(large) >= 4 and not far, f"shares differ of {far} of {large}")
    figures = f"; shares of {len(large)} functions as by the PMU's {m} samples"
    if shutil.which("perf"):
        lines = perf_lines(r.path, "-F", "event,ip", "--symfs", str(r.root))
        theirs = sum(bool(re.match(r" *instructions: ", line)) for line in lines)
        need(theirs == n, f"perf sees {theirs} operations")
        figures += ", perf sees the same number"
    return figures


def of_threads(number):
    def check(r, n):
        threads = samples_by(r, "tid")["instructions"]
        need(len(threads) == number and sum(threads.values()) == n, f"{threads}")
        need(all(v > n / number / 2 for v in threads.values()), f"{threads}")
        return f", of {number} threads"
    return check


def within(least, most):
    """Only between two commands was anything sampled; what the area's room has to do with it stays within, too."""
    def check(r, _):
        times = [float(t) for t in re.findall(r"^ *([\d.]+):", r.operations("-F", "time"), re.M)]
        took = (max(times) - min(times)) * 1000
        need(least <= took <= most, f"from the first operation to the last {took:.1f} ms")
        return f", within {took:.1f} ms"
    return check


def is_of_pmu(name):
    """mem record has chosen the PMU that there is."""
    def check(r, _):
        events = r.reticle("evlist").split()
        need(r.written["name"] == name and events[0].startswith("arm_spe_*/") and "load_filter=1" in events[0],
             f"{events}, {r.written}")
        return f", by {name}"
    return check


def of_level(mark):
    """Kernel or user, as asked for, and named."""
    def check(r, n):
        functions = samples_by(r, "sym")["instructions"]
        named = {f for f in functions if re.fullmatch(re.escape(mark) + r" \w+(\.\w+)*", f)}
        others = {f: k for f, k in functions.items() if not f.startswith(mark)}
        need(sum(functions.values()) == n and not others and named,
             f"{sum(functions.values())} samples of {n} operations in {len(named)} functions, and in others: {others}")
        return f", in {len(named)} functions with names"
    return check


def perf_lines(path, *args):
    """Of perf script. Its warnings would stand in the middle of a line."""
    return run(["perf", "script", "-i", str(path), "--itrace=i1i", *args], errors=subprocess.DEVNULL).splitlines()


def operations_seen(r, path):
    """How many each sees in a recording: reticle, perf"""
    ours = len(run([str(RETICLE), "script", "-i", str(path), "--itrace=i1i", "-F", "time"]).splitlines())
    if not shutil.which("perf"):
        return ours, ours
    return (ours,
            sum(bool(re.match(r" *[\d.]+: +instructions:", line)) for line in perf_lines(path, "-F", "time,event")))


def seen_by_both(r, path, n):
    ours, theirs = operations_seen(r, path)
    need(ours == theirs == n, f"{n} operations in {path.name}, reticle sees {ours} and perf {theirs}")


def snapshots(number):
    """So many pieces have everything that was written, each byte once, and perf reads them."""
    def check(r, n):
        pieces = aux_data(r.path)
        need(len(pieces) == number and f" in {number} snapshots" in r.log, f"{len(pieces)} pieces: {r.log.strip()}")
        need(all(head[0] > 50 * SPE_RECORD for head, _ in pieces), f"{[head[0] for head, _ in pieces]} bytes")
        seen_by_both(r, r.path, n)
        return f", in {number} snapshots"
    return check


def is_last(size, number):
    """Each snapshot has the newest operations, so many bytes, and the last one those that were written last."""
    def check(r):
        need(r.path.exists(), f"no recording: {r.log.strip()[-100:]}")
        pieces, written = aux_data(r.path), int(r.written["records"]) * SPE_RECORD
        need(len(pieces) == number and f" in {number} snapshots" in r.log, f"{len(pieces)} pieces: {r.log.strip()}")
        need(all(head[0] == size for head, _ in pieces), f"{[head[0] for head, _ in pieces]} bytes")
        ends = [head[1] + head[0] for head, _ in pieces]
        need(ends == sorted(ends) and ends[-1] == written, f"they end at {ends} of {written} bytes")
        need(int(r.written["areas"]) >= 3, f"it began {r.written['areas']} times at the area's start")
        times = [float(t) for t in re.findall(r"^ *([\d.]+):", r.operations("-F", "time"), re.M)]
        need(times == sorted(times), "operations are not in order")
        seen_by_both(r, r.path, number * size // SPE_RECORD)
        return f"{number} snapshots of the last {size // SPE_RECORD} of {written // SPE_RECORD} operations"
    return check


def is_taken_by_command(r):
    pieces = aux_data(r.path)
    need(len(pieces) == 1 and pieces[0][0][0] == 16384, f"{[head[0] for head, _ in pieces]} bytes: {r.log.strip()}")
    seen_by_both(r, r.path, 16384 // SPE_RECORD)
    return f"the last {16384 // SPE_RECORD} operations at the command"


def is_untaken(r):
    need(r.path.exists() and not aux_data(r.path), "there are AUX data, or no recording")
    need("no snapshot was taken" in r.log and "status 0" in r.log, r.log.strip())
    return "nothing is kept without a signal, and record says so"


def is_switched(number):
    """Files one after the other: together they have each byte once, each is one for reticle and perf."""
    def check(r):
        files = sorted(r.path.parent.glob(r.path.name + ".*"))
        need(len(files) >= number, f"{len(files)} files: {r.log.strip()}")
        pieces = [aux_data(f) for f in files]
        data = b"".join(payload for piece in pieces for _, payload in piece)
        need(len(data) == int(r.written["records"]) * SPE_RECORD and fnv(data) == int(r.written["hash"]),
             "other bytes than were written")
        counts = [sum(head[0] for head, _ in piece) // SPE_RECORD for piece in pieces]
        need(all(counts[:number]), f"{counts} operations")
        for f, n in zip(files, counts):
            seen_by_both(r, f, n)
        return f"{len(files)} files of {counts} operations, each once"
    return check


def is_no_sampling(r):
    need("status 1" in r.log and "copies an AUX area into samples only where" in r.log, r.log.strip())
    return "the kernel refuses to copy the area into samples, and record says so"


# ---- the recordings

SPE = "-e arm_spe_0/ts_enable=1/u"
SIGNALS = ("(until pidof rivals >/dev/null; do pause 1; done; for i in 1 2; do pause 20; kill -USR2 $(pidof reticle); "
           "done) &")
ROWS = [
    ("spe", "-e arm_spe_0/ts_enable=1,jitter=1/u -c 20000", "classes 0 1 20", is_spe(500)),
    ("spe-pmu", f"{SPE} -e cycles:u -c 20000", "classes 0 1 300", is_spe(2000, more=same_functions)),
    ("spe-wraps", f"-m ,16 {SPE} -c 20000", "classes 0 1 900", is_spe(500, more=wraps)),
    # The recorder is stopped for a while, which is longer than the area has room.
    ("spe-truncated", f"-m ,2 {SPE} -c 20000", "rivals 1 1 60000000", is_spe(500, True, goes_on), "halt &"),
    ("spe-threads", f"{SPE} -c 20000", "rivals 2 2 3000000", is_spe(500, more=of_threads(4))),
    ("spe-switches", f"{SPE} -c 20000", "rivals 2 2 3000000", is_spe(500, more=of_threads(4)),
     "echo 0 >$spe/context;"),
    # Operations have times without the term as well: by these their threads are found.
    ("spe-default", "-e arm_spe_0//u -c 20000", "rivals 2 2 3000000", is_spe(500, more=of_threads(4)),
     "echo 0 >$spe/context;"),
    ("spe-thread", f"--per-thread {SPE} -c 20000", "rivals 1 1 30000000", is_spe(500, more=of_threads(1))),
    ("spe-kernel", "-e arm_spe_0/ts_enable=1/k -c 20000", "classes 0 1 20", is_spe(50, more=of_level("[k]"))),
    ("spe-cpus", f"-a {SPE} -c 20000", "rivals 2 2 3000000", is_spe(500, more=of_level("[.]"))),
    ("spe-control", f"-D -1 --control=fifo:switch -m ,8 {SPE} -c 20000", "rivals 1 1 120000000",
     is_spe(200, more=within(10, 30)),
     "mkfifo switch; (until pidof rivals >/dev/null; do pause 1; done; pause 5; echo enable >switch; pause 20; echo "
     "disable >switch) &"),
    # Switched off with all others, and on by its name, it goes on when its area was full.
    ("spe-control-name", f"-D -1 --control=fifo:names -m ,2 {SPE} -c 20000", "rivals 1 1 120000000",
     is_spe(500, True, goes_on),
     f"mkfifo names; (until pidof rivals >/dev/null; do pause 1; done; echo disable >names; echo 'enable {SPE[3:]}' "
     ">names; halt) &"),
    # A flight recorder: of everything that fits, of the last 16 KiB of what went four times around the area, and never
    # asked.
    ("spe-snapshot", f"--snapshot=e {SPE} -c 20000", "rivals 1 1 120000000", is_spe(500, more=snapshots(3)), SIGNALS),
    ("spe-snapshot-last", f"-Se16K -m ,8 {SPE} -c 20000", "rivals 1 1 120000000", is_last(16384, 3), SIGNALS),
    ("spe-snapshot-control", f"-S16K -m ,8 --control=fifo:asked {SPE} -c 20000", "rivals 1 1 120000000",
     is_taken_by_command,
     "mkfifo asked; (until pidof rivals >/dev/null; do pause 1; done; pause 20; echo snapshot >asked) &"),
    ("spe-snapshot-none", f"-S {SPE} -c 20000", "rivals 1 1 3000000", is_untaken),
    ("spe-switch-output", f"--switch-output {SPE} -c 20000", "rivals 1 1 120000000", is_switched(2), SIGNALS),
    ("spe-aux-sample", "-e '{arm_spe_0//u,cycles/aux-sample-size=4096/u}' -c 20000", "rivals 1 1 300000",
     is_no_sampling),
    # mem record finds the PMU whatever its number.
    ("spe-mem", "-c 20000", "classes 0 1 300", is_spe(500, more=is_of_pmu("arm_spe_1")),
     "rmmod lab_spe; insmod /driver.ko name=arm_spe_1; reticle() { if [ $1 = record ]; then command reticle mem "
     "\"$@\"; else command reticle \"$@\"; fi; };"),
]
