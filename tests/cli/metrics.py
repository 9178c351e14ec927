#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Function metrics: the same numbers in text, CSV and JSON; what is refused; and, with the virtual PMU, sums of
windows that are those of its own account of each window, to the last count."""
import collections
import csv
import fcntl
import io
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios

from lib.machine import need_sim

reticle, source = os.environ["RETICLE"], pathlib.Path(os.environ["SRCDIR"])
build = pathlib.Path(reticle).parent
subprocess.run([build / "tests/recipe/recipe", source / "tests/recipe/windows.recipe", "w.data"], check=True)


def run(*args, status=0):
    """Of the recipe's windows alone, which add up to known sums, by function, unless something else is asked for."""
    if "w.data" in args and args[0] == "report" and not {"--attribution", "--no-metrics", "--metrics=no"} & {*args}:
        args = [*args, "--attribution", "discard"]
        if not {"--sort", "--fields"} & {*args}:  # its thread without a name would have rows of its own
            args += ["--sort", "symbol"]
    p = subprocess.run([reticle, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
    if p.returncode != status:
        sys.exit(f"{args}: exit status {p.returncode}, not {status}: {p.stderr}")
    return p.stderr if status else p.stdout


def check(what, true):
    if not true:
        sys.exit(what)


# The recipe says what was counted.
event = json.loads(run("report", "-i", "w.data", "--json", "-g"))["events"]
check("one table for the group", len(event) == 1)
event = event[0]
rows = {r["symbol"]: r for r in event["rows"]}
a, b = rows["bpf_prog_a"], rows["bpf_prog_b"]
check("sums of a", list(a["sums"].values()) == [20, 20, 1])
check("sums of b", list(b["sums"].values()) == [20, 40, 0])
check("counts of b", [b["windows"][k] for k in ("short", "kept", "discarded")] == [5, 2, 1])
check("reasons", b["windows"]["excluded"]["throttled"] == 1 and b["windows"]["excluded"]["lost"] == 1
      and a["windows"]["excluded"]["multiplexed"] == 1 and a["windows"]["excluded"]["other_thread"] == 1
      and a["windows"]["excluded"]["first"] == 1)
cpi = a["metrics"]["CPI"]
check("ratio", cpi["value"] == 1 and cpi["numerator"] == 20 and cpi["denominator"] == 20)
check("interval", abs(cpi["high"] - 1 - 12.7062 * cpi["variance"] ** 0.5) < 1e-6 and cpi["variance"] == 0.25)
check("paths add up", sum(p["windows"]["kept"] for p in a["paths"]) == a["windows"]["kept"])
check("the whole", list(event["sums"].values()) == [40, 60, 1])

# Names and call paths, where they are asked for.
for more in (["--sort", "comm,dso,symbol"], ["--fields", "+comm,dso"]):
    named = json.loads(run("report", "-i", "w.data", "--json", "-g", *more))["events"][0]
    check(f"{more}: names", all(r["comm"] and r["dso"] and r["symbol"] for r in named["rows"]))
    check(f"{more}: sums", list(named["sums"].values()) == [40, 60, 1])
    check(f"{more}: paths", all(sum(p["windows"]["kept"] for p in r["paths"]) == r["windows"]["kept"]
                                for r in named["rows"])
          and any(p["frames"] for r in named["rows"] for p in r["paths"]))
    text = run("report", "-i", "w.data", "--stdio", "-g", *more)
    check(f"{more}: text", all(re.search(rf" {h}\b", text) for h in ("Command", "Shared Object", "Symbol", "CPI")))
for keys, rule in (("symbol", "both ends lie in one function"), ("dso", "both ends lie in one object"),
                   ("comm", "rows do not separate code")):
    check(f"--sort {keys}: {rule}", rule in run("report", "-i", "w.data", "--stdio", "--sort", keys, "--header"))

# By more than one metric: both functions keep two windows, so that the next one decides.
def order(keys):
    return [r["symbol"]
            for r in json.loads(run("report", "-i", "w.data", "--json", "--sort",
                                    f"symbol,{keys}"))["events"][0]["rows"]]


check("by CPI", order("kept,CPI") == order("CPI") == ["bpf_prog_a", "bpf_prog_b"])
check("by IPC", order("kept,IPC") == order("IPC,CPI,symbol") == ["bpf_prog_b", "bpf_prog_a"])

# A range is named above the table, and in JSON.
args = ["report", "-i", "w.data", "--address-range", "0xffffffffc0001000-0xffffffffc0001100"]
within = "within addresses 0xffffffffc0001000-0xffffffffc0001100 of any file"
check("a range", f"# Of 9 windows 5 can be judged; of these 2 are kept when both ends lie in one function, {within}, "
                 "and 3 (60.0%)" in run(*args, "--header"))
check("a range, in one line", f"# Windows: 2 of 5 kept, 60.0% discarded, of 10.0 cycles, {within}; " in run(*args))
check("a range, all kept",
      f"# Of 9 windows 5 can be judged; of these 2 are kept when both ends lie {within}, and 3" in run(
          *args, "--header", "--attribution", "keep"))
ranged = json.loads(run(*args, "--json"))["events"][0]
check("a range in JSON", ranged["group"]["range"] == within and "range" not in event["group"])

# What filters leave is one scope: the rows, their sum, and the counts above.
only = json.loads(run("report", "-i", "w.data", "--json", "-S", "bpf_prog_b"))["events"][0]
check("sums of the only row", only["sums"] == only["rows"][0]["sums"] == b["sums"] and only["windows"] == b["windows"])
check("metrics of the only row", only["metrics"] == only["rows"][0]["metrics"] == b["metrics"])
text = run("report", "-i", "w.data", "-S", "bpf_prog_b")
lines = [l.split() for l in text.splitlines() if l.startswith("  ")]
check("text of the only row", lines[0][:8] == lines[1][:8] and "# Windows: 2 of 3 kept" in text)

# CSV has what JSON has: of each row, and of all.
table = list(csv.DictReader(io.StringIO(run("report", "-i", "w.data", "--csv"))))
check("lines of CSV", [row["symbol"] for row in table] == ["bpf_prog_b", "bpf_prog_a", "(all)"])
check("all of it in CSV", (table[-1]["self"], table[-1]["self_percent"]) == ("8090", "100.0000"))
for row in table:
    whole = rows.get(row["symbol"], event)
    check(f"sums of {row['symbol']}", all(float(row[f"sum:{name}"]) == n for name, n in whole["sums"].items()))
    check(f"counts of {row['symbol']}",
          [float(row[k]) for k in ("windows", "kept", "discarded", "clusters", "excluded")] ==
          [whole["windows"][k] for k in ("short", "kept", "discarded", "clusters")] +
          [sum(whole["windows"]["excluded"].values())])
    for name, metric in whole["metrics"].items():
        for part, key in ("", "value"), ("_low", "low"), ("_variance", "variance"), ("_numerator", "numerator"), \
                         ("_denominator", "denominator"):
            text = row[name + part]
            check(f"{name}{part}: {text} is not {metric[key]}",
                  metric[key] is None if text == "" else float(text) == metric[key])
header = run("report", "-i", "w.data", "--csv", "--columns", "%I,CPI,kept").splitlines()[0]
check(f"columns of CSV: {header}", re.findall(r"[^,]*_low", header) == ["%I_low", "CPI_low"])

def on_terminal(width, *args):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    p = subprocess.Popen([reticle, "report", "-i", "w.data", "--attribution", "discard", "--sort", "symbol", *args],
                         stdout=theirs, stdin=subprocess.DEVNULL, env={**os.environ, "NO_COLOR": "1"})
    os.close(theirs)
    text = b""
    try:
        while piece := os.read(ours, 65536):
            text += piece
    except OSError:  # the other side has closed it
        pass
    os.close(ours)
    check(f"{args} on a terminal", p.wait() == 0)
    return text.decode().replace("\r", "")


# Terminals get what they have room for, and are told what is missing.
wide, narrow, chosen = on_terminal(200), on_terminal(60), on_terminal(60, "--columns", "CPI,%CY,%I,BM/KI,kept")
check("all in a wide one", "No room" not in wide and wide == run("report", "-i", "w.data"))
check("no room for shares", "# No room for %CY, %I, %BM" in narrow and "CPI" in narrow)
check("rows of 60", all(len(l) <= 62 for l in narrow.splitlines() if "bpf_prog" in l))
check("columns that were asked for stay", "# No room for some intervals" in chosen and "%I" in chosen and
      "±" not in chosen[-200:])
check("any size", all("bpf_prog_a" in on_terminal(n) for n in (1, 2, 40)))

# Without metrics each member has its table, as in perf.
plain = json.loads(run("report", "-i", "w.data", "--json", "--no-metrics"))["events"]
check("three tables", [e["name"] for e in plain][1:] == ["instructions", "branch-misses"])
check("no metrics", "group" not in plain[0] and "metrics" not in plain[0]["rows"][0])
check("same weights", plain[0]["weight"] == event["weight"])

for args, said in (
        (["--metrics", "nothing"], "not one of basic"),
        (["--metric", "x=cycles/nothing"], "is not an event of the group"),
        (["--metric", "x=cycles/"], "not understood"),
        (["--metric", "x"], "not NAME=FORMULA"),
        (["--columns", "DTLB%"], "no metric 'DTLB%'"),
        (["--sort", "DTLB%"], "no metric 'DTLB%'"),
        (["--sort", "calls"], "no event of the recording counts calls"),
        (["--columns", "disc"], "did you mean 'disc%'"),
        (["--columns", "PerCall"], "no event of the recording counts calls"),
        (["--sort", "CPI,nothing"], "'nothing' is not one of comm"),
        (["--sort", "CPI,IPC,BM/KI,%CY,%I,%BM,windows,kept,discarded"], "more than 8 metrics"),
        (["--attribution", "guess"], "not one of estimate, discard"),
        (["--attribution", "returns"], "'returns' was removed: windows in which nothing returned are not like"),
        (["--address-range", "5-4"], "not START-END"),
        (["--address-range", ":4-5"], "not START-END or FILE:START-END"),
        (["--address-range", "1-2"], "no window begins or ends within addresses 0x1-0x2 of any file"),
        (["--address-range", "nothing:0xffffffffc0001000-0xffffffffc0001100"], "nor in any other part of it"),
        (["--source-line", "a.c"], "not FILE:LINE"),
        (["--source-line", "a.c:3"], "within lines 3-3 of a.c: no source line is known for that file")):
    check(f"{args} says so", said in run("report", "-i", "w.data", *args, status=2))
subprocess.run([build / "tests/recipe/recipe", source / "tests/recipe/report-views.recipe", "n.data"], check=True)
warned = subprocess.run([reticle, "report", "-i", "w.data", "--metrics", "basic,topdown"], capture_output=True,
                        text=True)
check("a set without events", warned.returncode == 0 and "that 'topdown' needs" in warned.stderr and
      "basic" not in warned.stderr)
for args in ["--metrics", "basic"], ["--attribution", "keep"], ["--address-range", "1-2"]:
    check(f"no windows for {args}", "no windows" in run("report", "-i", "n.data", *args, status=2))
# What goes without metrics says so, and names both options.
for option, name in ((["--group"], "--group"), (["--hierarchy"], "--hierarchy"), (["-F", "overhead,sym"], "--fields"),
                     (["-p", "x"], "--parent"), (["--no-metrics"], "--no-metrics"),
                     (["--ignore-callees", "x"], "--ignore-callees")):
    for args, asks in ((["--columns", "IPC"], "--columns"), (["--metric", "x=cycles"], "--metric"),
                       (["--metrics", "all"], "--metrics"), (["--sort", "IPC"], "--sort by a metric"),
                       (["--attribution", "keep"], "--attribution"), (["--source-line", "w.c:3"], "--source-line"),
                       (["--address-range", "1-2"], "--address-range")):
        if name == "--no-metrics" and asks in ("--metrics", "--attribution", "--source-line", "--address-range"):
            continue
        said = run("report", "-i", "w.data", *option, *args, status=2)
        check(f"{option} {args}: {said}", f"{name} and {asks} exclude each other" in said)
for options, left_out in ((["--group"], "--group"), (["--hierarchy"], "--hierarchy"), (["-p", "x"], "--parent"),
                          (["--no-metrics"], None), ([], None)):
    lines = [line for line in run("report", "-i", "w.data", *options, "--attribution", "estimate").splitlines()
             if "left out: " in line]
    check(f"{options}: the head says what is left out: {lines}",
          lines == ([f"# Metrics of functions are left out: {left_out}"] if left_out else []))
# Why a tree has none: of a thread's windows, more are kept for the thread than for its functions.
kept = collections.Counter()
for keys in "comm", "comm,symbol":
    for row in csv.DictReader(io.StringIO(run("report", "-i", "w.data", "--sort", keys, "--csv"))):
        kept[keys] += int(row["kept"]) if row["comm"] == "app" else 0
check(f"windows are kept by key: {kept}", kept["comm"] > kept["comm,symbol"] > 0)
check("nothing is left out where nothing is",
      "left out" not in run("report", "-i", "n.data", "--hierarchy"))

# What a check needs has to be there: stacks.
recipe = (source / "tests/recipe/windows.recipe").read_text().split("\nexpect")[0]


def recording(name, text):
    pathlib.Path(name + ".recipe").write_text(text)
    subprocess.run([build / "tests/recipe/recipe", name + ".recipe", name], check=True)


recording("flat.data", re.sub(r"chain=\S+ ", "", recipe.replace("|CALLCHAIN", "")))
check("no stacks",
      "have no stacks; record with -g" in run("report", "-i", "flat.data", "--attribution", "callchain", status=2))
check("no stacks to end", run("report", "-i", "flat.data") == run("report", "-i", "flat.data", "--ignore-callees",
                                                                  "prog_a") and
      "exclude" in run("report", "-i", "flat.data", "--ignore-callees", "a", "--sort", "event", "--columns",
                       "IPC", status=2))
check("stacks", "same stack" in run("report", "--header", "-i", "w.data", "--attribution", "callchain"))

# The virtual PMU accounts for each window: what began and ended in one function must be what the row has.
need_sim()
turns = source / "build/bench/turns"  # the plain tree's: one with AddressSanitizer takes all memory under QEMU
record = [reticle, "record", "--pmu=sim", "--truth", "truth.json", "-o", "t.data", "-e",
          "{cycles/period=4970,alt-period=300,burst=2/,instructions,branch-misses}:uS", "-e", "re/period=1/u", "--",
          turns, "40000"]
p = subprocess.run(record, capture_output=True, text=True)
check(f"record --pmu=sim --truth: exit status {p.returncode}: {p.stderr}", not p.returncode)
sums = collections.defaultdict(collections.Counter)
truth = json.load(open("truth.json"))
exact = {f["symbol"]: f["counts"] for f in truth["functions"]}
for window in truth["windows"]:
    counts, begin, end = window["counts"], window["start"], window["end"]
    if window["id"] != 1 or counts.get("cycles", 0) > 1400:
        continue
    here = sums[end["dso"], end["symbol"]]
    here["short"] += 1
    if (begin["dso"], begin["symbol"]) == (end["dso"], end["symbol"]):
        here["kept"] += 1
        here.update({k: counts.get(k, 0) for k in ("cycles", "instructions", "branch-misses")})
table = json.loads(run("report", "-i", "t.data", "--json", "--sort", "symbol"))["events"][0]["rows"]
checked = 0
for row in table:
    if row["symbol"] not in ("guesses", "divides", "adds"):
        continue
    here = next(v for (dso, symbol), v in sums.items() if symbol == row["symbol"])
    check(f"{row['symbol']}: {row['windows']}, {row['sums']} is not {here}",
          [row["windows"]["short"], row["windows"]["kept"], *row["sums"].values()] ==
          [here[k] for k in ("short", "kept", "cycles", "instructions", "branch-misses")])
    # Shares, and what a call takes, come near what was counted: of two in three windows nothing is left.
    counts, of = exact[row["symbol"]], row["metrics"]
    share = 100 * counts["cycles"] / truth["totals"]["cycles"]
    check(f"{row['symbol']}: {of['%CY']} is not {share}", abs(of["%CY"]["value"] - share) < 3)
    check(f"{row['symbol']}: calls", of["PerCall"]["denominator"] == counts["returns"] == 40000)
    check(f"{row['symbol']}: {of['PerCall']} is not {counts['cycles'] / 40000}",
          abs(of["PerCall"]["value"] / (counts["cycles"] / 40000) - 1) < 0.15)
    checked += here["kept"] > 100
check(f"{checked} functions with enough windows", checked == 3)

calls = [r["symbol"]
         for r in json.loads(run("report", "-i", "t.data", "--json", "--sort", "calls,CPI"))["events"][0]["rows"]]
check(f"by calls, then by CPI: {calls[:4]}", calls[:3] == ["divides", "guesses", "adds"])

# Addresses are of one object where it is named; lines of a file are said where others of it were seen.
def kept(*args):
    return json.loads(run("report", "-i", "t.data", "--json", *args))["events"][0]["windows"]["kept"]


here = kept("--address-range", "turns:0x1-0x1000000")
there = sum(v["kept"] for (dso, _), v in sums.items() if pathlib.Path(dso).name == "turns")
check(f"a named object: {here} is not {there}", here == there)
check("any object", kept("--address-range", "0x1-0x1000000") >= here)
check("other lines",
      re.search(r"only in lines from \d+ to \d+",
                run("report", "-i", "t.data", "--source-line", "turns.c:9000", status=2)))
check("lines", kept("--source-line", "turns.c:1-100") > 0.9 * here)

# Of samples that were lost it is known how many windows went with them, and what is left is as without losses.
for term in ("alt-period=300,period-jitter=0", "alt-period=300,burst=2,period-jitter=0",
             "alt-period=300,burst=3,period-jitter=9000,alt-period-jitter=100", "nr=1000000"):
    def made(lose):
        subprocess.run([reticle, "record", "-q", f"--pmu=sim{lose}", "-o", "l.data", "-e",
                        f"{{cycles/period=9700,{term}/,instructions}}:uS", "--", turns, "4000"], check=True,
                       capture_output=True)
        e = json.loads(run("report", "-i", "l.data", "--json"))["events"][0]
        return e["windows"], e["group"], run("report", "--header", "-i", "l.data")

    whole, lengths, _ = made("")
    for lose, share in (",lose=1/7", 1 / 7), (",lose=3/10", 3 / 10):
        left, group, text = made(lose)
        lost = left["excluded"]["lost"]
        at = f"{term}{lose}: {left}, {group} for {whole}, {lengths}"
        check(f"all of them: {at}", 0 <= whole["short"] - left["short"] <= 4)
        check(f"lost: {at}", lost == left["short"] - left["kept"] - left["discarded"] and
              lost >= share * whole["short"])
        check(f"left: {at}", left["kept"] + left["discarded"] > (1 - 2 * share) * whole["short"] - 4)
        check(f"in the head: {at}", f"with records lost ({lost})" in text)
        for key in "short_mean", "long_mean":
            # Some hundred windows, off by skid; long ones by jitter.
            within = 0.02 if key == "short_mean" else 0.04
            check(f"{key}: {at}", lengths[key] is None and group[key] is None or
                  abs(group[key] / lengths[key] - 1) < within)

# Forty short windows, and in each long one a LOST record: where no sample of the group is missing, no windows went.
# name, read format, words behind each value, flags -> the windows that there are, those that are lost.
for name, read, word, flags, made, went in (
        ("cycles/period=1000,alt-period=10/", "", "", "", 40, 0), ("cycles/alt-period=10/", "", "", "|freq", 40, 0),
        ("cycles/alt-period=10/", "|LOST", ",0", "|freq", 40, 0), ("cycles", "|LOST", ",0", "|freq", 80, 40)):
    lines = [f'event "{n}" type=hardware config={i} period={4000 if flags else 1010} '
             "sample=IP|TID|TIME|CPU|READ|IDENTIFIER "
             f"read=GROUP|ID|ENABLED|RUNNING{read} ids={7 + i} flags=sample_id_all{flags}" + (" leader=0" if i else "")
             for i, n in enumerate((name, "instructions"))]
    lines.append('comm pid=5 time=1 exec "app"')
    at = 1000
    for i in range(81):
        lines.append(f"sample id=7 pid=5 time={at} misc=user ip=0x1000 enabled={at} running={at} "
                     f"values={at},7{word},{2 * at},8{word}")
        if i % 2 == 0:
            lines.append(f"lost id=7 lost=3 pid=5 time={at}")
        at += 10 if i % 2 else 1000
    pathlib.Path("o.recipe").write_text("\n".join(lines) + "\n")
    subprocess.run([build / "tests/recipe/recipe", "o.recipe", "o.data"], check=True)
    windows = json.loads(run("report", "-i", "o.data", "--json"))["events"][0]["windows"]
    check(f"{name}{read}: {windows}", windows["short"] == made and windows["excluded"]["lost"] == went)
