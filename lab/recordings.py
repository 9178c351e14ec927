# SPDX-License-Identifier: Apache-2.0
"""reticle itself in a guest: it records there with the emulated PMU, and its recordings are read here.

One row of SCENARIOS is a recording. All of a kernel are made in one boot; what is asserted is read from the perf.data that came out.
The guest has one processor: QEMU's instruction count is one for all, so with two each PMU would count the other's work, too.
"""
import collections
import fnmatch
import json
import os
import pathlib
import re
import resource
import shutil
import struct
import subprocess
import time

from base import CACHE, CROSS, Failed, LAB, LabError, ROOT, compiler_version, held, key_of, need, run, scratch
from cross import programs
from fetch import unpacked
from guest import boot, cpio
from kernels import STOCK, kernel, module
import perftools

RETICLE = ROOT / "build/reticle"
CYCLES = "-e '{cycles,instructions}:uS'"
GROUPS = "-e '{" + ",".join(["cycles,instructions"] * 4) + "}:uS'"
FLOOR = 5  # windows at least, where it is not said how many
SCRIPT = """\
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
k=/proc/sys/kernel
# Samples per second before an event is throttled. The kernel lets it be set while it limits the time that sampling takes.
rate() { echo 25 >$k/perf_cpu_time_max_percent; echo $1 >$k/perf_event_max_sample_rate; echo 0 >$k/perf_cpu_time_max_percent; }
# Sampling is slowed down for a while when the program has run for some time.
dip() { until pidof rivals >/dev/null; do pause 5; done; pause 20; rate 1000; pause 100; rate 10000000; }
for m in /*.ko; do [ ! -e $m ] || insmod $m; done
# The recorder is stopped for a while when the program has run for some time.
halt() { until pidof rivals >/dev/null; do pause 1; done; pause 10; kill -STOP $(pidof reticle); pause 20; kill -CONT $(pidof reticle); }
echo -1 >$k/perf_event_paranoid
rate 10000000
# What the driver that stands in for SPE has written: from now on, and told.
spe=/sys/module/lab_spe/parameters
fresh() { [ ! -d $spe ] || for f in records truncated collisions areas hash; do echo 0 >$spe/$f; done; }
written() { [ ! -d $spe ] || { for f in $spe/*; do echo "${f##*/} $(cat $f)"; done >$1.spe; carry $1.spe; }; }
cd /tmp
reticle check >check.log 2>&1
cat /proc/kallsyms >kallsyms
carry check.log kallsyms
rm kallsyms
%(recordings)s
echo "lab: end"
poweroff -f
"""
RECORDING = """\
fresh
%(before)s { reticle record -o %(output)s %(options)s -- %(program)s; echo "status $?" >&2; } 2>%(name)s.log %(stdout)s
written %(name)s
n=0; for f in %(name)s.data.2*; do [ ! -e $f ] || { mv $f %(name)s.data.$n; carry %(name)s.data.$n; n=$((n + 1)); }; done
[ ! -e %(name)s.data ] || { reticle report -i %(name)s.data >%(name)s.txt 2>&1; carry %(name)s.data %(name)s.txt; }
carry %(name)s.log
"""


# ---- what came out of the guest

class Recording:
    """A perf.data, what reticle said when it was made, and a directory with the programs that it is of."""

    def __init__(self, directory, name, root):
        self.path, self.root = directory / f"{name}.data", root
        self.log = read(directory / f"{name}.log")
        self.text = read(directory / f"{name}.txt")
        # What the driver of spe/lab_spe.c says it wrote meanwhile.
        self.written = dict(line.split() for line in read(directory / f"{name}.spe").splitlines())

    def whole(self):
        need(self.path.exists() or "status" in self.log, "the guest did not come so far")
        return self

    def reticle(self, *args):
        return run([str(RETICLE), args[0], "-i", str(self.path), *args[1:]])

    def report(self, *args):
        return self.reticle("report", "--symfs", str(self.root), "--kallsyms", str(self.path.parent / "kallsyms"), *args)

    def operations(self, *args):
        """One line per operation, as script has them."""
        return self.reticle("script", "--symfs", str(self.root), "--itrace=i1i", *args)

    def records(self):
        need(self.path.exists(), f"no recording: {self.log.strip()[-100:]}")
        return [json.loads(line) for line in self.reticle("dump", "--json").splitlines()]


def read(path):
    return path.read_text(errors="replace") if path.exists() else ""


def samples_of(records, cpus=False):
    """-> per set of counters (thread, unless they are a CPU's, and first id) its samples: (place of the event in its group, the leader's
    value, period, number of the record)"""
    places = collections.defaultdict(list)
    for i, r in enumerate(records):
        if r["kind"] == "SAMPLE" and "read" in r:
            values = r["read"]["values"]
            place = [v["id"] for v in values].index(r["id"]) if r["id"] in [v["id"] for v in values] else 0
            places[not cpus and r["tid"], values[0]["id"]].append((place, values[0]["value"], r.get("period", 0), i))
    return places


def twin_lengths(samples, since=0):
    """From the first leader's sample to the second's. Twins that have lost their distance come at once, in any order: such a pair is of no
    length, and no window leads to it. since: only windows that end behind this record"""
    lengths, pairs = [], list(zip(samples, samples[1:]))
    together = [a[0] != b[0] and a[1] == b[1] for a, b in pairs] + [False]
    for i, (a, b) in enumerate(pairs):
        apart = (a[0], b[0]) == (0, 1) and not together[i - 1] and not together[i + 1]
        if (together[i] or apart) and b[3] > since:
            lengths.append(b[1] - a[1])
    return lengths


def twin_windows(records, cpus=False, since=0):
    """-> per set of counters its windows' lengths"""
    return {key: twin_lengths(samples, since) for key, samples in samples_of(records, cpus).items()}


def one_length(windows, length):
    """All windows that have a length have the same, in each set of counters. -> how many"""
    seen = collections.Counter(n for lengths in windows.values() for n in lengths)
    need(set(seen) <= {length}, f"windows of {dict(seen.most_common(4))} cycles instead of {length}")
    return seen[length]


def excluded(recording):
    """-> {why: windows} as report's head says"""
    found = collections.Counter()
    for line in re.findall(r"^# Of .* excluded: (.*)$", recording.report("--header"), re.M):
        for why, n in re.findall(r"([^,]+) \((\d+)\)", line):
            found[why.strip()] += int(n)
    return found


# ---- what is asserted of each

def counted(n, windows, length=300):
    return f"{n} windows of {length} cycles, all exact, in {sum(map(bool, windows.values()))} sets of counters"


def is_default(r):
    windows = twin_windows(r.records())
    need("user space only" in r.log and "windows: twin (this kernel has no alternating periods)" in r.log, r.log.strip())
    n = one_length(windows, 300)
    need(n >= FLOOR, f"{n} windows")
    return "native refused by its probe; user space; " + counted(n, windows)


def is_twin(least, sets, cpus=False, length=300):
    def check(r):
        windows = twin_windows(r.records(), cpus)
        n = one_length(windows, length)
        need(n >= least and sum(map(bool, windows.values())) >= sets, counted(n, windows, length))
        need("multiplexed" not in excluded(r) or excluded(r)["multiplexed"] * 20 < n, f"{excluded(r)}")
        return counted(n, windows, length)
    return check


def is_throttled_twin(r):
    """While it is throttled windows have no length, and none another one; afterwards they are armed anew."""
    records = r.records()
    throttled = [i for i, x in enumerate(records) if x["kind"] == "THROTTLE"]
    need(throttled, "never throttled")
    windows = twin_windows(records)
    empty = sum(lengths.count(0) for lengths in windows.values())
    n, after = (one_length({key: [x for x in lengths if x] for key, lengths in which.items()}, 300)
                for which in (windows, twin_windows(records, since=throttled[-1])))
    why = excluded(r)
    need(after > 100, f"{after} windows after the last throttling")
    need(empty <= why["of twins with no distance between them"] + why["throttled"], f"{empty} of no length, and excluded are {dict(why)}")
    return f"throttled {len(throttled)} times; {n} windows exact, {after} of them afterwards; excluded: {sum(why.values())}"


def is_burst(batch):
    def check(r):
        windows = {key: [b[1] - a[1] for a, b in zip(samples, samples[1:])] for key, samples in samples_of(r.records()).items()}
        n = one_length(windows, 300)
        need(n >= FLOOR * batch, f"{n} windows")
        return counted(n, windows)
    return check


def is_throttled_burst(r):
    throttled = sum(x["kind"] == "THROTTLE" for x in r.records())
    need(throttled, "never throttled")
    why = excluded(r)
    need(why["throttled"], f"none excluded for it: {dict(why)}")
    return f"throttled {throttled} times; {is_burst(4)(r)}; excluded: {why['throttled']} throttled"


def is_refused(r):
    need("status 1" in r.log and "mode=native: this kernel has no alternating periods" in r.log, r.log.strip())
    return "mode=native is an error that says why"


def is_native(period_long, batch, jitter=0, sets=1, cpus=False):
    """Each window as long as its sample states, and the periods in turn."""
    def check(r):
        need("windows: native (" in r.log, r.log.strip())
        n = longs = 0
        for samples in samples_of(r.records(), cpus).values():
            at, total = None, samples[0][2]
            start = samples[0][1] - total - total % 2
            for n_of_set, (_, value, period, _) in enumerate(samples[1:]):
                short = period < period_long / 2
                want = 300 if short else period_long
                total += period
                # QEMU's cycles come in pairs: where all periods so far add up to an odd number, the sample is one late, and
                # the next one comes when it is due all the same.
                need(value - start == total + total % 2, f"sample {n_of_set} at {value - start}, and the periods so far are {total}")
                need(abs(period - want) <= (min(jitter, 300) if short else jitter) / 2, f"window {n} is {period} long")
                at = 0 if not short else None if at is None else at + 1
                need(at is None or at <= batch, f"{at} short ones in a row")
                n, longs = n + 1, longs + (not short)
        need(n - longs >= FLOOR and abs((n - longs) - longs * batch) <= batch * (sets + 1), f"{longs} long and {n - longs} short ones")
        return f"{longs} long and {n - longs} short windows, each as its sample states"
    return check


def is_piped(check):
    def both(r):
        size = struct.unpack_from("<Q", r.path.read_bytes(), 8)[0] if r.path.exists() else 0
        need(size == 16, f"a header of {size} bytes instead of the 16 for a pipe")
        return check(r)
    return both


def is_of_cgroups(numbers, check):
    """Counters of cgroups have samples of so many threads each, which others have none of, and went on where they had stopped when these
    threads took turns with the others."""
    def all_of(r):
        said, records, threads = check(r), r.records(), collections.defaultdict(set)
        for x in records:
            if x["kind"] == "SAMPLE":
                threads[x["read"]["values"][0]["id"]].add(x["tid"])
        of = sorted(threads.values(), key=len)
        need([len(t) for t in of] == sorted(numbers) and len(set().union(*of)) == sum(numbers), f"threads of the cgroups: {of}")
        pairs = [(x["sample_id"]["tid"], x["next_prev_tid"]) for x in records if x["kind"] == "SWITCH_CPU_WIDE"]
        turns = [sum(a in t and b and b not in t for a, b in pairs) // 2 for t in of]
        need(min(turns) >= 2 and "multiplexed" not in excluded(r), f"turns: {turns}, excluded: {dict(excluded(r))}")
        return f"{said}; {' and '.join(map(str, turns))} turns with threads of others"
    return all_of


PAUSE = 20  # milliseconds that the program has worked at least when its events are enabled


def is_enabled_late(check):
    """No sample before the program has worked that long: it begins with exec, and who enables the events waits for it."""
    def both(r):
        said, records = check(r), r.records()
        begin = [x["sample_id"]["time"] for x in records if x["kind"] == "COMM" and x["exec"]]
        first = min(x["time"] for x in records if x["kind"] == "SAMPLE")
        need(len(begin) == 1, f"{len(begin)} programs")
        late = (first - begin[0]) / 1e6
        need(late >= PAUSE, f"the first sample came {late:.1f} ms after exec")
        return f"{said}; first sample {late:.1f} ms after exec"
    return both


def is_given_up(r):
    """The kernel alternates periods, but not such short ones of a timer."""
    need("windows: twin (its PMU cannot count a period as short as that)" in r.log and "status 0" in r.log, r.log.strip())
    return "cpu-clock with windows of 5 us: native refused, twins instead"


def is_refused_leader(r):
    need("status 1" in r.log and "mode=native: cpu-clock" in r.log and "as short as that" in r.log, r.log.strip())
    return "cpu-clock with windows of 5 us: mode=native is an error that says why"


TAGS, ROUNDS = 8, 30  # words of each thread, and how often it writes them (programs/tagged.c)


def tag_round(tid, words, before):
    """-> the round of the thread's words, which are all of one; where it was just writing them the last ones are of the round before."""
    rounds = [(word - (tid << 32)) >> 8 for word in words]
    new = rounds.count(rounds[0])
    need([word & 0xff for word in words] == list(range(TAGS)) and before <= rounds[0] <= ROUNDS and
         rounds == [rounds[0]] * new + [rounds[0] - 1] * (TAGS - new),
         f"thread {tid} had {[f'{word:x}' for word in words]}, in round {before}")
    return rounds[0]


def is_tagged(threads):
    """Each thread's samples have its own words, round after round; none at all, or zeros, before it has written any."""
    def check(r):
        rounds, seen, blank, early = collections.Counter(), set(), 0, 0
        for x in r.records():
            if x["kind"] != "SAMPLE":
                continue
            data, tid = bytes.fromhex(x["tls_user"]), x["tid"]
            if not rounds[tid] and not any(data[:8]):
                blank, early = blank + (not data), early + bool(data)
                continue
            need(len(data) == 8 * TAGS, f"{len(data)} bytes in thread {tid}")
            rounds[tid] = tag_round(tid, struct.unpack(f"<{TAGS}Q", data), rounds[tid])
            seen.add((tid, rounds[tid]))
        need(len(rounds) == threads and len(seen) == threads * ROUNDS, f"{len(seen)} rounds seen of {len(rounds)} threads")
        return f"{len(seen)} rounds of {threads} threads, each sample with its own thread's words; before the first {early + blank} without"
    return check


def is_deferred(r):
    """What samples in the kernel lack comes later, and script joins it by the cookie."""
    records = r.records()
    samples = [x for x in records if x["kind"] == "SAMPLE"]
    later = {x["cookie"]: x["tls_user"] for x in records if x["kind"] == "TLS_USER"}
    shown = [json.loads(line)["tls"] for line in r.reticle("script", "--json", "-F", "tid,tls").splitlines()]
    cookies = [x["tls_cookie"] for x in samples]
    joined = sum(cookie in later and len(later[cookie]) == 16 * TAGS for cookie in cookies)
    need(joined > 20, f"{len(samples)} samples, {len(set(cookies)) - 1} cookies, {len(later)} records")
    want = [max(x["tls_user"], later.get(x["tls_cookie"], ""), key=len) for x in samples]
    need(shown == want, "script shows other bytes")
    return f"{len(samples)} samples, {joined} of them with bytes that came later, in {len(later)} records"


def is_metrics(r):
    """The table in the guest and here; what perf sees."""
    text = r.report()
    need(r.text.strip() == text.strip(), "the guest's own report differs from this one")
    rows = re.findall(r"^ +[\d.]+% +\d+ +~?(2\.00)(?:±0\.00)? .*\] \w+$", text, re.M)
    need(len(rows) >= 5, f"CPI is 2.00 in {len(rows)} rows")
    figures = f"CPI 2.00 in {len(rows)} functions, guest's report equal"
    if shutil.which("perf"):
        perf = run(["perf", "script", "-i", str(r.path), "-F", "tid,ip,period", "--symfs", str(r.root)])
        ours = r.reticle("script", "-F", "tid,ip,period", "--symfs", str(r.root))
        mine, theirs = (re.findall(r"^ *(\d+) +(\d+) +([0-9a-f]+)", lines, re.M) for lines in (ours, perf))
        need(mine and theirs == mine, f"perf reads {len(theirs)} samples, reticle {len(mine)}, or others")
        figures += f", perf reads the same {len(mine)} samples"
    return figures


def seconds(*command):
    """-> the least user and system time of five runs"""
    def once():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)  # in microseconds; os.times() has ticks
        run([str(part) for part in command])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return min(once() for _ in range(5))


def is_effect(r):
    """The program as in effect-windows, with the short period all the time."""
    windows = Recording(r.path.parent, "effect-windows", r.root)
    need(windows.path.exists(), "no recording of effect-windows")
    sizes = [x.path.stat().st_size for x in (r, windows)]
    times = [seconds(RETICLE, "report", "--threads", "1", "-i", x.path, "--symfs", r.root) for x in (r, windows)]
    samples = [sum(map(len, samples_of(x.records()).values())) for x in (r, windows)]
    need(sizes[0] > 62 * sizes[1], f"{sizes} bytes")
    return (f"period 300 all the time against 999700/300: {sizes[0] / 1e6:.2f} MB, {sizes[1] / 1e6:.3f} MB, {sizes[0] / sizes[1]:.0f} times; "
            f"{samples[0]}, {samples[1]} samples; report {times[0] * 1e3:.0f} ms, {times[1] * 1e3:.0f} ms, {times[0] / times[1]:.1f} times")


def says(what):
    def check(log):
        found = re.search(r"^windows: native +(\w+)", log, re.M)
        need(found and found.group(1) == what, f"check says of native: {found and found.group(1)}")
        return f"windows: native {what}"
    return check


# ---- Arm SPE, written by spe/lab_spe.c

SPE_RECORD = 64  # bytes


def aux_data(path):
    """-> [(record of AUXTRACE as a tuple size, offset, reference, idx, tid, cpu; its payload)], as the file has them"""
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
    """-> {event: {what the key says: samples}}, as the report with one sample per operation has them"""
    events, event = {}, None
    for line in r.report("--itrace=i1i", "-F", "sample," + key, "-t", ",").splitlines():
        head = re.match(r"# Samples: .* of event '(.*)'$", line)
        row = re.match(r"(\d+),(.*)$", line)
        if head:
            event = events.setdefault(head.group(1), {})
        elif row:
            event[row.group(2).strip()] = int(row.group(1))
    return events


def is_spe(least, truncated=False, more=None):
    """The driver's records, whole and as it wrote them; what it could not write is told. more(recording, number of records) says
    what else is to be true."""
    def check(r):
        n = len(same_as_written(r)) // SPE_RECORD
        cut = sum(x["kind"] == "AUX" and x["aux_flags"] & 1 for x in r.records())
        need(n >= least, f"{n} operations")
        need(cut == int(r.written["truncated"]) and (cut > 0) == truncated, f"{cut} AUX records truncated, and written {r.written}")
        need(f"the AUX area was full {cut} times" in r.log if cut else "area was full" not in r.log, r.log.strip())
        need(("AUX records truncated" in r.text) == truncated, "the report's head: " + r.text[:200])
        told = re.search(r", (\d+) sampled operations", r.text)
        need(told and int(told.group(1)) == n, "the report's head: " + r.text[:200])
        return f"{n} operations, each as it was written" + (f", truncated {cut} times" if cut else "") + (more(r, n) if more else "")
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
    """By SPE and by the PMU, which both sample by time, the functions have the same shares; perf sees the same operations."""
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
        need(r.written["name"] == name and events[0].startswith("arm_spe_*/") and "load_filter=1" in events[0], f"{events}, {r.written}")
        return f", by {name}"
    return check


def of_level(mark):
    """Kernel or user, as asked for, and named."""
    def check(r, n):
        functions = samples_by(r, "sym")["instructions"]
        named = {f for f in functions if re.fullmatch(re.escape(mark) + r" \w+(\.\w+)*", f)}
        need(sum(functions.values()) == n and all(f.startswith(mark) for f in functions) and named, f"{functions}")
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
    return ours, sum(bool(re.match(r" *[\d.]+: +instructions:", line)) for line in perf_lines(path, "-F", "time,event"))


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
        need(len(data) == int(r.written["records"]) * SPE_RECORD and fnv(data) == int(r.written["hash"]), "other bytes than were written")
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

TWIN, REFRESH = f"--window=mode=twin -c 100000 {CYCLES}", f"--window=mode=refresh,burst=4 -c 100000 {CYCLES}"
WITHOUT_SERIES = [
    # name, options, program, what to check[, before it]
    ("default", "", "rivals 1 1 30000000", is_default),
    ("refused", f"--window=mode=native {CYCLES}", "rivals 1 1 300000", is_refused),
    # Whatever is left over a round of the loop that arms a command.
    *((f"twin-{n}", f"--window=mode=twin,short={n} -c 100000 {CYCLES}", "rivals 1 1 5000000", is_twin(40, 1, length=n))
      for n in (302, 304, 306, 1000)),
    ("twin-switches", TWIN, "rivals 4 1 120000000", is_twin(600, 4)),
    ("twin-threads", TWIN, "rivals 1 4 120000000", is_twin(600, 4)),
    ("twin-groups", f"--window=mode=twin -c 100000 {GROUPS}", "rivals 2 2 120000000", is_twin(600, 8)),
    ("twin-cpu", f"-a {TWIN}", "rivals 2 2 20000000", is_twin(500, 1, True)),
    ("twin-throttling", TWIN, "rivals 2 2 150000000", is_throttled_twin, "dip &"),
    ("twin-metrics", f"--window=mode=twin -c 10000 {CYCLES}", "classes 0 1 50", is_metrics),
    ("refresh", REFRESH, "rivals 1 1 60000000", is_burst(4)),
    ("refresh-threads", REFRESH, "rivals 2 2 30000000", is_burst(4)),
    ("refresh-groups", f"--window=mode=refresh,burst=4 -c 100000 {GROUPS}", "rivals 2 2 40000000", is_burst(4)),
    ("refresh-throttling", REFRESH, "rivals 2 2 150000000", is_throttled_burst, "dip &"),
]
NATIVE = "{cycles/period=99700,alt-period=300/,instructions}:uS"
CLOCK = "{cpu-clock/period=1000000,alt-period=5000/,page-faults}:S"
CGROUPS = "/sys/fs/cgroup"


def entering(cgroup, program):
    return f"sh -c 'echo $$ >{CGROUPS}/{cgroup}/cgroup.procs; exec {program}'"


WITH_SERIES = [
    ("native", "-e '{cycles/period=999700,alt-period=300/,instructions}:uS'", "rivals 1 1 60000000", is_native(999700, 1)),
    ("native-burst", f"--window=burst=4 -c 98800 {CYCLES}", "rivals 1 1 30000000", is_native(98800, 4)),
    ("native-jitter", f"--window=jitter=200 -c 99700 {CYCLES}", "rivals 1 1 30000000", is_native(99700, 1, 200)),
    ("native-threads", f"-e '{NATIVE}'", "rivals 1 4 30000000", is_native(99700, 1, 0, 4)),
    ("native-processes", f"-e '{NATIVE}'", "rivals 4 1 30000000", is_native(99700, 1, 0, 4)),
    ("native-pipe", f"-e '{NATIVE}'", "rivals 1 4 30000000", is_piped(is_native(99700, 1, 0, 4))),
    ("native-control", f"-D -1 --control=fifo:switch -e '{NATIVE}'", "rivals 1 1 120000000", is_enabled_late(is_native(99700, 1)),
     f"mkfifo switch; (until pidof rivals >/dev/null; do pause 1; done; pause {PAUSE}; echo enable >switch) &"),
    # Two cgroups take turns on one CPU, with each other and with a thread in neither (version 2 would be refused here).
    ("native-cgroups", f"-a -G one,two --switch-events -e '{NATIVE}'", entering("one", "rivals 2 1 30000000"),
     is_of_cgroups((1, 2), is_native(99700, 1, 0, 2, True)),
     f"mount -t cgroup -o perf_event cgroup {CGROUPS}; mkdir {CGROUPS}/one {CGROUPS}/two; " +
     "".join(f"(until grep -q . {CGROUPS}/one/cgroup.procs; do pause 1; done; exec {program}) & "
             for program in (entering("two", "rivals 1 1 30000000"), "rivals 1 1 30000000"))),
    ("native-given-up", f"-e '{CLOCK}'", "rivals 1 1 30000000", is_given_up),
    ("native-leader", f"--window=mode=native -e '{CLOCK}'", "rivals 1 1 300000", is_refused_leader),
    ("effect-windows", "-e '{cycles/period=999700,alt-period=300/,instructions}:uS'", "classes 0 1 50", is_native(999700, 1)),
    ("effect", f"--no-window -c 300 {CYCLES}", "classes 0 1 50", is_effect),
    ("record-tls", "--no-window -e cycles/period=20000,tls-size=64,tls-offset=$(tagged data)/u", f"tagged 5 {ROUNDS}", is_tagged(5)),
    ("record-tls-pointer", "--no-window -e cycles/period=20000,tls-size=64,tls-offset=$(tagged pointer),tls-pointer/u", f"tagged 5 {ROUNDS}",
     is_tagged(5)),
    ("record-tls-defer", "--no-window -e cycles/period=20000,tls-size=64,tls-offset=$(tagged data),tls-defer/", f"tagged 5 {ROUNDS}",
     is_deferred),
    ("native-metrics", f"--window -c 9700 {CYCLES}", "classes 0 1 50", is_metrics),
]


SPE = "-e arm_spe_0/ts_enable=1/u"
SIGNALS = "(until pidof rivals >/dev/null; do pause 1; done; for i in 1 2; do pause 20; kill -USR2 $(pidof reticle); done) &"
WITH_SPE = [
    ("spe", "-e arm_spe_0/ts_enable=1,jitter=1/u -c 20000", "classes 0 1 20", is_spe(500)),
    ("spe-pmu", f"{SPE} -e cycles:u -c 20000", "classes 0 1 300", is_spe(2000, more=same_functions)),
    ("spe-wraps", f"-m ,16 {SPE} -c 20000", "classes 0 1 900", is_spe(500, more=wraps)),
    # The recorder is stopped for a while, which is longer than the area has room.
    ("spe-truncated", f"-m ,2 {SPE} -c 20000", "rivals 1 1 60000000", is_spe(500, True, goes_on), "halt &"),
    ("spe-threads", f"{SPE} -c 20000", "rivals 2 2 3000000", is_spe(500, more=of_threads(4))),
    ("spe-switches", f"{SPE} -c 20000", "rivals 2 2 3000000", is_spe(500, more=of_threads(4)), "echo 0 >$spe/context;"),
    # Operations have times without the term as well: by these their threads are found.
    ("spe-default", "-e arm_spe_0//u -c 20000", "rivals 2 2 3000000", is_spe(500, more=of_threads(4)), "echo 0 >$spe/context;"),
    ("spe-thread", f"--per-thread {SPE} -c 20000", "rivals 1 1 30000000", is_spe(500, more=of_threads(1))),
    ("spe-kernel", "-e arm_spe_0/ts_enable=1/k -c 20000", "classes 0 1 20", is_spe(50, more=of_level("[k]"))),
    ("spe-cpus", f"-a {SPE} -c 20000", "rivals 2 2 3000000", is_spe(500, more=of_level("[.]"))),
    ("spe-control", f"-D -1 --control=fifo:switch -m ,8 {SPE} -c 20000", "rivals 1 1 120000000", is_spe(200, more=within(10, 30)),
     "mkfifo switch; (until pidof rivals >/dev/null; do pause 1; done; pause 5; echo enable >switch; pause 20; echo disable >switch) &"),
    # Switched off with all others, and on by its name, it goes on when its area was full.
    ("spe-control-name", f"-D -1 --control=fifo:names -m ,2 {SPE} -c 20000", "rivals 1 1 120000000", is_spe(500, True, goes_on),
     f"mkfifo names; (until pidof rivals >/dev/null; do pause 1; done; echo disable >names; echo 'enable {SPE[3:]}' >names; halt) &"),
    # A flight recorder: of everything that fits, of the last 16 KiB of what went four times around the area, and never asked.
    ("spe-snapshot", f"--snapshot=e {SPE} -c 20000", "rivals 1 1 120000000", is_spe(500, more=snapshots(3)), SIGNALS),
    ("spe-snapshot-last", f"-Se16K -m ,8 {SPE} -c 20000", "rivals 1 1 120000000", is_last(16384, 3), SIGNALS),
    ("spe-snapshot-control", f"-S16K -m ,8 --control=fifo:asked {SPE} -c 20000", "rivals 1 1 120000000", is_taken_by_command,
     "mkfifo asked; (until pidof rivals >/dev/null; do pause 1; done; pause 20; echo snapshot >asked) &"),
    ("spe-snapshot-none", f"-S {SPE} -c 20000", "rivals 1 1 3000000", is_untaken),
    ("spe-switch-output", f"--switch-output {SPE} -c 20000", "rivals 1 1 120000000", is_switched(2), SIGNALS),
    ("spe-aux-sample", "-e '{arm_spe_0//u,cycles/aux-sample-size=4096/u}' -c 20000", "rivals 1 1 300000", is_no_sampling),
    ("spe-pipe", f"{SPE} -c 20000", "rivals 2 2 3000000", is_piped(is_spe(500, more=of_threads(4)))),
    # mem record finds the PMU whatever its number.
    ("spe-mem", "-c 20000", "classes 0 1 300", is_spe(500, more=is_of_pmu("arm_spe_1")),
     "rmmod lab_spe; insmod /driver.ko name=arm_spe_1; reticle() { if [ $1 = record ]; then command reticle mem \"$@\"; "
     "else command reticle \"$@\"; fi; };"),
]


WITH_SERIES += perftools.ROWS["burst"]
SCENARIOS = {"plain": WITHOUT_SERIES[:2] + perftools.ROWS["plain"], "burst": WITH_SERIES, **{name: WITHOUT_SERIES for name in STOCK}, "spe": WITH_SPE}
# Not run unless rows are named: the patched one and Debian's do. (perf itself is the exception: Debian's is another one.)
NAMED_ONLY = ("plain",)


def chosen(name, patterns):
    """-> the kernel's rows whose names match one of the patterns; without these, all, but for those that must be named"""
    rows = SCENARIOS.get(name, [])
    if patterns:
        return [row for row in rows if any(fnmatch.fnmatch(row[0], p) for p in patterns)]
    return [row for row in rows if (name not in NAMED_ONLY or is_perf(row)) and row[0] not in NAMED_ONLY]


def is_perf(row):
    """Is it perf that records? Then it runs its own tests, too."""
    return row[0].startswith("perf-")


# ---- the guest

def helpers():
    """-> {path in a guest: file}: the programs of lab/programs"""
    sources = sorted((LAB / "programs").glob("*.c"))
    place = CACHE / f"programs-{key_of(compiler_version(), *sources)}"
    with held("programs"):
        if not place.exists():
            with scratch() as tmp:
                (tmp / "bin").mkdir()
                for source in sources:
                    run([CROSS + "gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-pthread", "-o",
                         str(tmp / "bin" / source.stem), str(source)])
                os.rename(tmp / "bin", place)
    return {f"bin/{f.name}": f for f in sorted(place.iterdir())}


def initramfs(files, script):
    directories = {str(p) for path in files for p in pathlib.PurePosixPath(path).parents if str(p) != "."} | {"tmp", "proc", "sys", "dev"}
    members = [cpio(d, b"", 0o040755, 1) for d in sorted(directories)]
    members += [cpio(path, f.read_bytes(), 0o100755, 2 + i) for i, (path, f) in enumerate(files.items())]
    return b"".join(members) + cpio("init", script.encode(), 0o100755, 1000) + cpio("TRAILER!!!", b"", 0, 0)


def unpack(files, root):
    for path, f in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(f, root / path)


def streams(name):
    """-> where a row's recording and its messages go: through a pipe where its name says so"""
    if name.endswith("-pipe"):
        return {"output": "-", "stdout": f"| cat >{name}.data"}
    return {"output": f"{name}.data", "stdout": ">&2"}


def recordings(name, wanted=None, keep=None):
    """Boots the kernel and makes its recordings -> [(scenario, "ok" or "FAIL", figures)], the console's text. keep: a directory
    that the recordings are copied to."""
    rows = chosen(name, wanted)
    files = {**programs(), **helpers(), "bin/busybox": unpacked("busybox-static") / "bin/busybox"}
    perf = any(map(is_perf, rows))
    if perf:
        files |= perftools.files({row[0] for row in rows})
    text = "".join((perftools.TEMPLATES.get(row[0], perftools.RECORDING) if is_perf(row) else RECORDING) %
                   {"name": row[0], "options": row[1], "program": row[2], "before": row[4] if len(row) > 4 else "", **streams(row[0]),
                    "fields": ",tls" if "tls" in row[0] else ""} for row in rows)
    text += perftools.TESTING if perf else ""
    driver = module(name)
    if driver:
        files["driver.ko"] = driver
    results = []
    with scratch() as tmp:
        (tmp / "initrd").write_bytes(initramfs(files, SCRIPT % {"recordings": text}))
        (tmp / "out").mkdir()
        unpack(files, tmp / "root")
        console = boot(kernel(name), tmp / "initrd", f"kernel={name}", cpus=1, outside=tmp / "out")
        if keep:
            shutil.copytree(tmp / "out", pathlib.Path(keep) / name, dirs_exist_ok=True)
        checks = [("check", lambda: says("ok" if SCENARIOS[name] is WITH_SERIES else "no")(read(tmp / "out/check.log")))]
        checks += [(row[0], lambda row=row: row[3](Recording(tmp / "out", row[0], tmp / "root").whole())) for row in rows]
        if perf:
            checks.append(("perf-tests", lambda: perftools.tests_passed(read(tmp / "out/perf-tests.log"))))
        for scenario, check in checks:
            try:
                results.append((scenario, "ok", check()))
            except (Failed, LabError, KeyError, ValueError) as e:
                results.append((scenario, "FAIL", " ".join(str(e).split())[-300:]))
    if "lab: end" not in console:
        results.append(("boot", "FAIL", "the guest did not come to its end; its last lines are above"))
    return results, console
