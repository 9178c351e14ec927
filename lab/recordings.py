# SPDX-License-Identifier: Apache-2.0
"""reticle itself in a guest: it records there with the emulated PMU, and its recordings are read here.

One row of SCENARIOS is a recording. All of a kernel are made in one boot; what is asserted is read from the perf.data
that came out. The guest has one processor: QEMU's instruction count is one for all, so with two each PMU would count
the other's work, too.
"""
import collections
import fnmatch
import functools
import inspect
import itertools
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import time

from base import (CACHE, CROSS, Failed, LAB, LabError, RETICLE, ROOT, compiler_version, key_of, made_tree, need, run,
                  scratch)
from cross import programs
from fetch import unpacked
from guest import boot, cpio
from kernels import STOCK, kernel, module
import activities
import operations
import perftools

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
# Samples per second before an event is throttled. The kernel lets it be set while it limits the time that sampling
# takes.
rate() {
	echo 25 >$k/perf_cpu_time_max_percent
	echo $1 >$k/perf_event_max_sample_rate
	echo 0 >$k/perf_cpu_time_max_percent
}
# Sampling is slowed down for a while when the program has run for some time.
dip() { until pidof rivals >/dev/null; do pause 5; done; pause 20; rate 1000; pause 100; rate 10000000; }
for m in /*.ko; do [ ! -e $m ] || insmod $m; done
# The recorder is stopped for a while when the program has run for some time.
halt() {
	until pidof rivals >/dev/null; do pause 1; done
	pause 10
	kill -STOP $(pidof reticle)
	pause 20
	kill -CONT $(pidof reticle)
}
# Cgroups one and two, in a hierarchy of that version. A controller that comes back from version 1 is attached to
# version 2's cgroups; perf_event, which nobody can enable there, is not attached to them before, where no other
# controller ever was enabled.
groups=%(groups)s
told() { for i in $(seq 200); do ! grep -q "^perf_event.$1." /proc/cgroups || break; pause 5; done; }
cleared() {
	for i in $(seq 200); do
		rmdir $groups/one $groups/two
		[ -d $groups/one -o -d $groups/two ] || break
		pause 5
	done
}
unmounted() { cleared; told '[0-9]*.1'; umount $groups; told 0; } 2>/dev/null
cgroups() {
	unmounted
	mount -t cgroup -o perf_event cgroup $groups
	[ $1 = 1 ] || { unmounted; mount -t cgroup2 cgroup $groups; }
	mkdir $groups/one $groups/two
}
echo -1 >$k/perf_event_paranoid
rate 10000000
# What the driver that stands in for SPE has written: from now on, and told.
spe=/sys/module/lab_spe/parameters
fresh() { [ ! -d $spe ] || for f in records truncated collisions areas hash; do echo 0 >$spe/$f; done; }
written() { [ ! -d $spe ] || { for f in $spe/*; do echo "${f##*/} $(cat $f)"; done >$1.spe; carry $1.spe; }; }
cd /tmp
reticle check >check.log 2>&1
cat /proc/kallsyms >kallsyms
carry check.log kallsyms '[vdso]'
rm kallsyms
%(recordings)s
echo "lab: end"
poweroff -f
"""
RECORDING = """\
fresh
%(before)s { reticle record -o %(output)s %(options)s -- %(program)s; echo "status $?" >&2; } 2>%(name)s.log %(stdout)s
written %(name)s
n=0
for f in %(name)s.data.2*; do
	[ ! -e $f ] || { mv $f %(name)s.data.$n; carry %(name)s.data.$n; n=$((n + 1)); }
done
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

    @functools.cached_property
    def build_ids(self):
        """-> a cache of build ids, as perf makes it, with the guest's vDSO: no file of the guest has that"""
        cache = self.path.parent / "debug"
        need((self.path.parent / "vdso").exists(), "the guest's vDSO was not brought out")
        for build_id in re.findall(r"^(\w+) \[vdso\]$", self.reticle("buildid-list"), re.M):
            entry = cache / ".build-id" / build_id[:2] / build_id[2:]
            entry.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.path.parent / "vdso", entry)
        return cache

    def report(self, *args):
        return self.reticle("report", "--symfs", str(self.root), "--kallsyms", str(self.path.parent / "kallsyms"),
                            "--buildid-dir", str(self.build_ids), *args)

    def operations(self, *args):
        """One line per operation, as script has them."""
        return self.reticle("script", "--symfs", str(self.root), "--itrace=i1i", *args)

    def records(self):
        need(self.path.exists(), f"no recording: {self.log.strip()[-100:]}")
        return [json.loads(line) for line in self.reticle("dump", "--json").splitlines()]


def read(path):
    return path.read_text(errors="replace") if path.exists() else ""


def samples_of(records, cpus=False):
    """-> per set of counters (thread, unless they are a CPU's, and first id) its samples: (place of the event in its
    group, the leader's value, period, number of the record)"""
    places = collections.defaultdict(list)
    for i, r in enumerate(records):
        if r["kind"] == "SAMPLE" and "read" in r:
            values = r["read"]["values"]
            place = [v["id"] for v in values].index(r["id"]) if r["id"] in [v["id"] for v in values] else 0
            places[not cpus and r["tid"], values[0]["id"]].append((place, values[0]["value"], r.get("period", 0), i))
    return places


def twin_lengths(samples, since=0):
    """From the first leader's sample to the second's. Twins that have lost their distance come at once, in any order:
    such a pair is of no length, and no window leads to it. since: only windows that end behind this record"""
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
    need("user space only" in r.log and "windows: twin (this kernel has no alternating periods)" in r.log,
         r.log.strip())
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
    need(empty <= why["of twins with no distance between them"] + why["throttled"],
         f"{empty} of no length, and excluded are {dict(why)}")
    return (f"throttled {len(throttled)} times; {n} windows exact, {after} of them afterwards; excluded: "
            f"{sum(why.values())}")


def is_burst(batch):
    def check(r):
        windows = {key: [b[1] - a[1] for a, b in zip(samples, samples[1:])]
                   for key, samples in samples_of(r.records()).items()}
        n = one_length(windows, 300)
        need(n >= FLOOR * batch, f"{n} windows")
        return counted(n, windows)
    return check


def is_varied_burst(batch):
    """All periods of a burst have the length that was drawn for it."""
    def check(r):
        lengths = [period for samples in samples_of(r.records()).values() for _, _, period, _ in samples]
        bursts = [lengths[i:i + batch + 1] for i in range(0, len(lengths), batch + 1)]
        drawn = {burst[0] for burst in bursts}
        need(len(bursts) >= FLOOR and all(len(set(burst)) == 1 for burst in bursts), f"{bursts[:4]}, ...")
        need(150 <= min(drawn) < 200 and 400 < max(drawn) <= 450, f"{min(drawn)} to {max(drawn)}")
        return f"{len(bursts)} bursts of periods of {min(drawn)} to {max(drawn)}, of {len(drawn)} lengths"
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
            at, total, drawn = None, samples[0][2], []
            start = samples[0][1] - total - total % 2
            for n_of_set, (_, value, period, _) in enumerate(samples[1:]):
                short = period < period_long / 2
                want = 300 if short else period_long
                total += period
                # QEMU's cycles come in pairs: where all periods so far add up to an odd number, the sample is one
                # late, and the next one comes when it is due all the same.
                need(value - start == total + total % 2,
                     f"sample {n_of_set} at {value - start}, and the periods so far are {total}")
                need(abs(period - want) <= (min(jitter, 300) if short else jitter) / 2, f"window {n} is {period} long")
                at = 0 if not short else None if at is None else at + 1
                need(at is None or at <= batch, f"{at} short ones in a row")
                n, longs = n + 1, longs + (not short)
                drawn += [] if short else [period]
            need(max(drawn) - min(drawn) >= 3 * jitter / 4, f"long ones of {min(drawn)} to {max(drawn)}")
        need(n - longs >= FLOOR and abs((n - longs) - longs * batch) <= batch * (sets + 1),
             f"{longs} long and {n - longs} short ones")
        return f"{longs} long and {n - longs} short windows, each as its sample states"
    return check


def is_unvaried(r):
    """A PMU that keeps the lengths that are asked for, and would refuse those that jitter makes of them: windows
    without jitter are better than none."""
    need("windows: native (" in r.log and "periods do not vary" in r.log and "status 0" in r.log, r.log.strip())
    periods = {period for samples in samples_of(r.records()).values() for _, _, period, _ in samples}
    need(periods == {1000000, 15000}, f"periods of {sorted(periods)}")
    return "cpu-clock with windows of 15 us, without jitter, which its PMU would refuse"


def is_piped(check):
    def both(r):
        size = struct.unpack_from("<Q", r.path.read_bytes(), 8)[0] if r.path.exists() else 0
        need(size == 16, f"a header of {size} bytes instead of the 16 for a pipe")
        return check(r)
    return both


def is_default_native(least, sets=1, cpus=False):
    """Without -e the kernel makes windows of the default group: each as long as its sample states, from half to one
    and a half of 300 cycles, while the long periods follow a frequency."""
    def check(r):
        need("user space only" in r.log and "windows: native (the kernel alternates periods)" in r.log, r.log.strip())
        off, odd, drawn = collections.Counter(), 0, set()
        groups = samples_of(r.records(), cpus).values()
        for samples in groups:
            pairs = list(zip(samples, samples[1:]))
            off.update(abs(b[1] - a[1] - b[2]) for a, b in pairs if b[2] <= 450)
            odd += sum((a[2] <= 450) == (b[2] <= 450) for a, b in pairs)
            drawn.update(b[2] for b in samples if b[2] <= 450)
        n = off.total()
        # Cycles come in pairs, and a tick that adjusts the frequency in the middle of a window ends it without a
        # sample.
        exact = off[0] + off[1] + off[2]
        need(len(groups) >= sets and n >= least, f"{n} windows in {len(groups)} sets of counters")
        need(exact >= 0.95 * n and odd <= 0.1 * n,
             f"{n} windows, {exact} exact, {odd} not in turn: {dict(off.most_common(5))}")
        need(150 <= min(drawn) < 220 and 380 < max(drawn), f"from {min(drawn)} to {max(drawn)}")
        return (f"{exact} of {n} windows exact, of {min(drawn)} to {max(drawn)}, in {len(groups)} sets of counters, "
                f"{odd} not in turn")
    return check


def is_of_cgroups(numbers, check):
    """Counters of cgroups have samples of so many threads each, which others have none of, and went on where they had
    stopped when these threads took turns with the others."""
    def all_of(r):
        said, records, threads = check(r), r.records(), collections.defaultdict(set)
        for x in records:
            if x["kind"] == "SAMPLE":
                threads[x["read"]["values"][0]["id"]].add(x["tid"])
        of = sorted(threads.values(), key=len)
        need([len(t) for t in of] == sorted(numbers) and len(set().union(*of)) == sum(numbers),
             f"threads of the cgroups: {of}")
        pairs = [(x["sample_id"]["tid"], x["next_prev_tid"]) for x in records if x["kind"] == "SWITCH_CPU_WIDE"]
        turns = [sum(a in t and b and b not in t for a, b in pairs) // 2 for t in of]
        need(min(turns) >= 2 and "multiplexed" not in excluded(r), f"turns: {turns}, excluded: {dict(excluded(r))}")
        return f"{said}; {' and '.join(map(str, turns))} turns with threads of others"
    return all_of


PAUSE = 20  # milliseconds that the program has worked at least when its events are enabled


def is_enabled_late(check):
    """No sample before the program has worked that long: it begins with exec, and who enables the events waits for
    it."""
    def both(r):
        said, records = check(r), r.records()
        begin = [x["sample_id"]["time"] for x in records if x["kind"] == "COMM" and x["exec"]]
        first = min(x["time"] for x in records if x["kind"] == "SAMPLE")
        need(len(begin) == 1, f"{len(begin)} programs")
        late = (first - begin[0]) / 1e6
        need(late >= PAUSE, f"the first sample came {late:.1f} ms after exec")
        return f"{said}; first sample {late:.1f} ms after exec"
    return both


def is_without_branches(r):
    need("windows: native (" in r.log and
         ("branch records: armv8_pmuv3 has none" in r.log or
          "branch records: Arm's processors keep no call stacks in them" in r.log), r.log.strip())
    return "windows are native, and the machine's PMU has no branch records"


def is_late(r):
    need("status 1" in r.log and "its cgroup has no perf_event controller" in r.log, r.log.strip())
    return "version 2 before any controller was enabled: an error that says what is missing"


def is_given_up(r):
    """The kernel alternates periods, but not such short ones of a timer."""
    need("windows: twin (its PMU cannot count a period as short as that)" in r.log and "status 0" in r.log,
         r.log.strip())
    return "cpu-clock with windows of 5 us: native refused, twins instead"


def is_refused_leader(r):
    need("status 1" in r.log and "mode=native: cpu-clock" in r.log and "as short as that" in r.log, r.log.strip())
    return "cpu-clock with windows of 5 us: mode=native is an error that says why"


TAGS, ROUNDS = 8, 30  # words of each thread, and how often it writes them (programs/tagged.c)


def tag_round(tid, words, before):
    """-> the round of the thread's words, which are all of one; where it was just writing them the last ones are of
    the round before."""
    rounds = [(word - (tid << 32)) >> 8 for word in words]
    new = rounds.count(rounds[0])
    need([word & 0xff for word in words] == list(range(TAGS)) and before <= rounds[0] <= ROUNDS and
         rounds == [rounds[0]] * new + [rounds[0] - 1] * (TAGS - new),
         f"thread {tid} had {[f'{word:x}' for word in words]}, in round {before}")
    return rounds[0]


def is_tagged(threads):
    """Each thread's samples have its own words, round after round; none at all, or zeros, before it has written
    any."""
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
        need(len(rounds) == threads and len(seen) == threads * ROUNDS,
             f"{len(seen)} rounds seen of {len(rounds)} threads")
        return (f"{len(seen)} rounds of {threads} threads, each sample with its own thread's words; before the first "
                f"{early + blank} without")
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


def same_report(there, here):
    for a, b in itertools.zip_longest(there.strip().splitlines(), here.strip().splitlines(), fillvalue="nothing"):
        need(a == b, f"the guest's own report says {a.strip()!r}, and this one {b.strip()!r}")


def is_metrics(r):
    """The table in the guest and here; what perf sees."""
    text = r.report()
    same_report(r.text, text)
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
        p = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(p.pid, 0)  # of this one alone: other threads have children, too
        p.returncode = os.waitstatus_to_exitcode(status)
        need(not p.returncode, f"{command}: exit status {p.returncode}")
        return used.ru_utime + used.ru_stime

    return min(once() for _ in range(5))


def is_effect(r):
    """The program as in effect-windows, with the short period all the time."""
    windows = Recording(r.path.parent, "effect-windows", r.root)
    need(windows.path.exists(), "no recording of effect-windows")
    sizes = [x.path.stat().st_size for x in (r, windows)]
    times = [seconds(RETICLE, "report", "--threads", "1", "-i", x.path, "--symfs", r.root) for x in (r, windows)]
    samples = [sum(map(len, samples_of(x.records()).values())) for x in (r, windows)]
    need(sizes[0] > 62 * sizes[1], f"{sizes} bytes")
    return (f"period 300 all the time against 999700/300: {sizes[0] / 1e6:.2f} MB, {sizes[1] / 1e6:.3f} MB, "
            f"{sizes[0] / sizes[1]:.0f} times; {samples[0]}, {samples[1]} samples; report {times[0] * 1e3:.0f} ms, "
            f"{times[1] * 1e3:.0f} ms, {times[0] / times[1]:.1f} times")


def has_both_phases(both):
    """bench/workloads/resonance.c has two phases of the same length, one behind the other: are samples of both there?
    """
    def check(r):
        lines = r.reticle("script", "-F", "ip,sym", "--symfs", str(r.root)).splitlines()
        places = sorted(int(line.split()[0], 16) for line in lines if line.endswith(" phases"))
        need(len(places) > 1000, f"{len(places)} samples")
        far = places[-1] - places[0]  # the loop of a phase is at most 12 bytes long
        share = sum(p - places[0] < far / 2 for p in places) / len(places)
        need(far >= 16 and 0.45 < share < 0.55 if both else far < 16 or not 0.1 < share < 0.9,
             f"{share:.1%} of {len(places)} samples, {far} bytes apart")
        return f"{share:.1%} of {len(places)} samples are in one half of the time"
    return check


def says(what):
    def check(log):
        found = re.search(r"^windows: native +(\w+)", log, re.M)
        need(found and found.group(1) == what, f"check says of native: {found and found.group(1)}")
        return f"windows: native {what}"
    return check


def is_of_cpu_left(r):
    """What a CPU did until it went offline is there, and what the other did from the beginning to the end; of the rest
    the recorder says why it is missing."""
    need("status 0" in r.log, r.log.strip())
    need(len(re.findall(r"CPU 1 went offline: nothing more is recorded of it", r.log)) == 1, r.log.strip())
    times = collections.defaultdict(list)
    for line in r.reticle("script", "-F", "cpu,time", "--ns").splitlines():
        cpu, time = re.match(r"\s*\[(\d+)\]\s+([\d.]+):", line).groups()
        times[int(cpu)].append(float(time))
    need(sorted(times) == [0, 1], f"samples of CPUs {sorted(times)}")
    began, end = times[0][0], times[0][-1]
    need(len(times[1]) > 20 and times[1][-1] < began + (end - began) / 2,
         f"CPU 1: {len(times[1])} samples, until {times[1][-1] - began:.3f} s of {end - began:.3f} s")
    return (f"{len(times[0])} samples of CPU 0 in {end - began:.1f} s, {len(times[1])} of CPU 1 until it went offline "
            f"after {times[1][-1] - began:.1f} s, which record says")


# ---- the recordings

PERIOD = 100000
TWIN = f"--window=mode=twin -c {PERIOD} {CYCLES}"
REFRESH = f"--window=mode=refresh,burst=4,jitter=0 -c {PERIOD} {CYCLES}"
WITHOUT_SERIES = [
    # name, options, program, what to check[, before it]
    ("default", "", "rivals 1 1 30000000", is_default),
    ("refused", f"--window=mode=native {CYCLES}", "rivals 1 1 300000", is_refused),
    # Whatever is left over a round of the loop that arms a command.
    *((f"twin-{n}", f"--window=mode=twin,short={n} -c {PERIOD} {CYCLES}", "rivals 1 1 5000000",
       is_twin(40, 1, length=n)) for n in (302, 304, 306, 1000)),
    ("twin-switches", TWIN, "rivals 4 1 120000000", is_twin(600, 4)),
    ("twin-threads", TWIN, "rivals 1 4 120000000", is_twin(600, 4)),
    ("twin-groups", f"--window=mode=twin -c {PERIOD} {GROUPS}", "rivals 2 2 120000000", is_twin(600, 8)),
    ("twin-cpu", f"-a {TWIN}", "rivals 2 2 20000000", is_twin(500, 1, True)),
    ("twin-throttling", TWIN, "rivals 2 2 150000000", is_throttled_twin, "dip &"),
    ("twin-metrics", f"--window=mode=twin -c 10000 {CYCLES}", "classes 0 1 150", is_metrics),
    ("refresh", REFRESH, "rivals 1 1 60000000", is_burst(4)),
    ("refresh-threads", REFRESH, "rivals 2 2 30000000", is_burst(4)),
    ("refresh-groups", f"--window=mode=refresh,burst=4,jitter=0 -c {PERIOD} {GROUPS}", "rivals 2 2 40000000",
     is_burst(4)),
    ("refresh-jitter", f"--window=mode=refresh,burst=4 -c {PERIOD} {CYCLES}", "rivals 1 1 60000000",
     is_varied_burst(4)),
    ("refresh-throttling", REFRESH, "rivals 2 2 150000000", is_throttled_burst, "dip &"),
]
# The second CPU is taken away while all are recorded, and comes back.
ONLINE = "/sys/devices/system/cpu/cpu1/online"
TAKEN = f"sh -c 'pause 1500; echo 0 >{ONLINE}; pause 2500; echo 1 >{ONLINE}; pause 1500'"
WITH_TWO_CPUS = ("cpu-offline",)
OF_CPUS = [("cpu-offline", "-a -e cpu-clock -F 100 -N", TAKEN, is_of_cpu_left)]
NATIVE = "{cycles/period=99700,alt-period=300,period-jitter=0/,instructions}:uS"
CLOCK = "{cpu-clock/period=1000000,alt-period=5000/,page-faults}:S"
CGROUPS = "/sys/fs/cgroup"


def entering(cgroup, program):
    return f"sh -c 'echo $$ >{CGROUPS}/{cgroup}/cgroup.procs; exec {program}'"


RIVALS = entering("one", "rivals 2 1 30000000")
OTHERS = "".join(f"(until grep -q . {CGROUPS}/one/cgroup.procs; do pause 1; done; exec {program}) & "
                 for program in (entering("two", "rivals 1 1 30000000"), "rivals 1 1 30000000"))
WITH_SERIES = [
    ("native", "-e '{cycles/period=999700,alt-period=300,period-jitter=0/,instructions}:uS'", "rivals 1 1 60000000",
     is_native(999700, 1)),
    ("native-burst", f"--window=burst=4,jitter=0 -c 98800 {CYCLES}", "rivals 1 1 30000000", is_native(98800, 4)),
    ("native-jitter", f"--window=jitter=200 -c 99700 {CYCLES}", "rivals 1 1 30000000", is_native(99700, 1, 200)),
    ("native-jitter-full", f"--window -c 99700 {CYCLES}", "rivals 1 1 30000000", is_native(99700, 1, 99700)),
    # A round of the loop is 20,000 instructions of two cycles each: three rounds are as long as both periods.
    ("resonance", f"--window -c 119700 {CYCLES}", "resonance 3000", has_both_phases(True)),
    ("resonance-kept", f"--window=jitter=0 -c 119700 {CYCLES}", "resonance 3000", has_both_phases(False)),
    ("native-threads", f"-e '{NATIVE}'", "rivals 1 4 30000000", is_native(99700, 1, 0, 4)),
    ("native-processes", f"-e '{NATIVE}'", "rivals 4 1 30000000", is_native(99700, 1, 0, 4)),
    ("native-pipe", f"-e '{NATIVE}'", "rivals 1 4 30000000", is_piped(is_native(99700, 1, 0, 4))),
    ("native-control", f"-D -1 --control=fifo:switch -e '{NATIVE}'", "rivals 1 1 120000000",
     is_enabled_late(is_native(99700, 1)),
     f"mkfifo switch; (until pidof rivals >/dev/null; do pause 1; done; pause {PAUSE}; echo enable >switch) &"),
    # Of the machine's PMU, which has no branch records. That is what it says: not that windows were in their way.
    ("native-branches", f"-b --window {CYCLES}", "rivals 1 1 300000", is_without_branches),
    ("native-lbr", f"--call-graph lbr --window {CYCLES}", "rivals 1 1 300000", is_without_branches),
    ("cgroups-late", f"-G one {CYCLES}", "rivals 1 1 300000", is_late,
     "mount -t cgroup2 cgroup $groups; mkdir $groups/one;"),
    # Two cgroups take turns on one CPU, with each other and with a thread in neither.
    ("native-cgroups", f"-G one,two --switch-events -e '{NATIVE}'", RIVALS,
     is_of_cgroups((1, 2), is_native(99700, 1, 0, 2, True)), "cgroups 1; " + OTHERS),
    ("native-cgroups-2", f"-G one,two --switch-events -e '{NATIVE}'", RIVALS,
     is_of_cgroups((1, 2), is_native(99700, 1, 0, 2, True)), "cgroups 2; " + OTHERS),
    ("default-cgroups", "-G one,two --switch-events", RIVALS, is_of_cgroups((1, 2), is_default_native(20, 2, True)),
     "cgroups 2; " + OTHERS),
    ("default", "", "rivals 1 1 60000000", is_default_native(20)),
    ("default-pipe", "", "rivals 1 4 60000000", is_piped(is_default_native(80, 4))),
    ("native-unvaried", "-e '{cpu-clock/period=1000000,alt-period=15000/,page-faults}:S'", "rivals 1 1 3000000",
     is_unvaried),
    ("native-given-up", f"-e '{CLOCK}'", "rivals 1 1 30000000", is_given_up),
    ("native-leader", f"--window=mode=native -e '{CLOCK}'", "rivals 1 1 300000", is_refused_leader),
    ("effect-windows", "-e '{cycles/period=999700,alt-period=300,period-jitter=0/,instructions}:uS'",
     "classes 0 1 50", is_native(999700, 1)),
    ("effect", f"--no-window -c 300 {CYCLES}", "classes 0 1 50", is_effect),
    ("record-tls", "--no-window -e cycles/period=20000,tls-size=64,tls-offset=$(tagged data)/u", f"tagged 5 {ROUNDS}",
     is_tagged(5)),
    ("record-tls-pointer", "--no-window -e cycles/period=20000,tls-size=64,tls-offset=$(tagged pointer),tls-pointer/u",
     f"tagged 5 {ROUNDS}", is_tagged(5)),
    ("record-tls-defer", "--no-window -e cycles/period=20000,tls-size=64,tls-offset=$(tagged data),tls-defer/",
     f"tagged 5 {ROUNDS}", is_deferred),
    ("native-metrics", f"--window -c 9700 {CYCLES}", "classes 0 1 150", is_metrics),
]


WITH_SPE = [("spe-pipe", f"{operations.SPE} -c 20000", "rivals 2 2 3000000",
             is_piped(operations.is_spe(500, more=operations.of_threads(4)))),
            *operations.ROWS]
WITH_SERIES += perftools.ROWS["burst"]
SCENARIOS = {"burst": WITH_SERIES, **{name: WITHOUT_SERIES + OF_CPUS + activities.ROWS + perftools.ROWS.get(name, [])
                                     for name in STOCK},
             "spe": WITH_SPE}


def chosen(name, patterns):
    """-> the kernel's rows whose names match one of the patterns; without these, all"""
    return [row for row in SCENARIOS.get(name, []) if any(fnmatch.fnmatch(row[0], p) for p in patterns or ["*"])]


def is_perf(row):
    """Is it perf that records? Then it runs its own tests, too."""
    return row[0].startswith("perf-")


# ---- the guest

def helpers():
    """-> {path in a guest: file}: the programs of lab/programs. served has the library of activities within itself,
    and as served-tlsdesc in a shared library whose thread data it asks a function for."""
    sources, library = sorted((LAB / "programs").glob("*.c")), sorted((ROOT / "activity/src").glob("*.c"))
    compiler = [CROSS + "gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread",
                f"-I{ROOT / 'activity/include'}"]
    shared = "libreticle-activity.so.0"

    def make(directory):
        for folder in ("bin", "lib"):
            (directory / folder).mkdir()
        for source in sources:
            parts = library if source.stem == "served" else []
            run([*compiler, "-static", "-o", directory / "bin" / source.stem, source, *parts])
        run([*compiler, "-shared", "-fPIC", f"-Wl,-soname,{shared},-z,nodelete", "-o", directory / "lib" / shared,
             *library])
        run([*compiler, "-o", directory / "bin/served-tlsdesc", LAB / "programs/served.c", directory / "lib" / shared])

    read_by = [*sources, LAB / "programs/threads.h", *library, ROOT / "activity/src/journal.h",
               ROOT / "activity/include/reticle/activity.h"]
    place = made_tree(CACHE / f"programs-{key_of(compiler_version(), inspect.getsource(helpers), *read_by)}", make)
    return {str(f.relative_to(place)): f for f in sorted(place.rglob("*")) if f.is_file()}


def initramfs(files, script):
    directories = ({str(p) for path in files for p in pathlib.PurePosixPath(path).parents if str(p) != "."} |
                   {"tmp", "proc", "sys", "dev"})
    members = [cpio(d, b"", 0o040755, 1) for d in sorted(directories)]
    members += [cpio(path, f.read_bytes(), 0o100755, 2 + i) for i, (path, f) in enumerate(files.items())]
    return b"".join(members) + cpio("init", script.encode(), 0o100755, 1000) + cpio("TRAILER!!!", b"", 0, 0)


def unpack(files, root):
    for path, f in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(f, root / path)


def shortened(text, most=600):
    """The beginning says what is wrong, and the end of a command's output why it failed."""
    return text if len(text) <= most else f"{text[:most // 2]} ... {text[-most // 2:]}"


def streams(name):
    """-> where a row's recording and its messages go: through a pipe where its name says so"""
    if name.endswith("-pipe"):
        return {"output": "-", "stdout": f"| cat >{name}.data"}
    return {"output": f"{name}.data", "stdout": ">&2"}


def recordings(name, wanted=None, keep=None):
    """Boots the kernel and makes its recordings -> [(scenario, "ok" or "FAIL", figures)], the console's text. keep: a
    directory that the recordings are copied to."""
    results, consoles = [], []
    for cpus in (1, 2):
        rows = [row for row in chosen(name, wanted) if (2 if row[0] in WITH_TWO_CPUS else 1) == cpus]
        if rows:
            results_of_boot, console = recordings_of_boot(name, rows, cpus, keep)
            results += results_of_boot
            consoles.append(console)
    return results, "\n".join(consoles)


def recordings_of_boot(name, rows, cpus, keep):
    """The same of rows that one boot makes."""
    files = {**programs(), **helpers(), "bin/busybox": unpacked("busybox-static") / "bin/busybox"}
    perf = any(map(is_perf, rows))
    if perf:
        files |= perftools.files({row[0] for row in rows})
    text = "".join((perftools.TEMPLATES.get(row[0], perftools.RECORDING) if is_perf(row) else RECORDING) %
                   {"name": row[0], "options": row[1], "program": row[2], "before": row[4] if len(row) > 4 else "",
                    **streams(row[0]), "fields": ",tls" if "tls" in row[0] else ""} for row in rows)
    text += perftools.TESTING if perf else ""
    driver = module(name)
    if driver:
        files["driver.ko"] = driver
    results = []
    with scratch() as tmp:
        (tmp / "initrd").write_bytes(initramfs(files, SCRIPT % {"recordings": text, "groups": CGROUPS}))
        (tmp / "out").mkdir()
        unpack(files, tmp / "root")
        console = boot(kernel(name), tmp / "initrd", f"kernel={name}", cpus=cpus, outside=tmp / "out")
        if keep:
            shutil.copytree(tmp / "out", pathlib.Path(keep) / name, dirs_exist_ok=True)
        checks = []
        if cpus == 1:
            answer = "ok" if SCENARIOS[name] is WITH_SERIES else "no"
            checks.append(("check", lambda: says(answer)(read(tmp / "out/check.log"))))
        checks += [(row[0], lambda row=row: row[3](Recording(tmp / "out", row[0], tmp / "root").whole()))
                   for row in rows]
        if perf:
            checks.append(("perf-tests", lambda: perftools.tests_passed(read(tmp / "out/perf-tests.log"))))
        for scenario, check in checks:
            try:
                results.append((scenario, "ok", check()))
            except (Failed, LabError, KeyError, ValueError) as e:
                results.append((scenario, "FAIL", shortened(" ".join(str(e).split()))))
    if "lab: end" not in console:
        results.append(("boot", "FAIL", "the guest did not come to its end; its last lines are above"))
    return results, console
