#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""One filter for all commands: each takes the same options, keeps the same samples, and says in the same words that a
list has no names and that nothing is left. The recordings are recipes, so what has to be kept is known."""
import collections
import csv
import itertools
import json
import os
import pathlib
import re
import struct
import subprocess
import sys

from lib.sanitized import SANITIZED
from lib.spe_file import two_cpus

RETICLE = os.environ["RETICLE"]
RECIPE = pathlib.Path(RETICLE).parent / "tests/recipe/recipe"
PLACES = "dsos", "symbols", "symbol-filter", "hide-unresolved"
# Values that no sample of the recordings has, or none for an option that takes none.
NOTHING = {"comms": "nobody", "pid": "4000000", "tid": "4000000", "cpu": "4000", "time": "4000,5000",
           "dsos": "nothing", "symbols": "nothing", "symbol-filter": "nothing"}
LISTS = "comms", "dsos", "symbols", "symbol-filter"
# A line per sample: thread, CPU, time in seconds, place, and what is around it.
APP, LIB, ONE, TWO, NOWHERE = 0x400100, 0x7f0000000100, 0xffffffffc0001010, 0xffffffffc0002010, 0x1234
SAMPLES = [(1, 1, 0, 1, APP), (1, 1, 0, 2, LIB), (1, 3, 1, 3, ONE), (1, 3, 1, 4, TWO), (2, 2, 2, 5, ONE),
           (2, 2, 2, 6, NOWHERE)]
TURNS = itertools.count()
failed = 0


def expect(what, found, wanted):
    global failed
    if found != wanted:
        failed = 1
        print(f"{what}:\nfound  {found}\nwanted {wanted}")


def some(these):
    """All; under sanitizers, where each start takes long, every third, beginning with another one each time."""
    return list(these)[next(TURNS) % 3::3] if SANITIZED else these


def run(*words, status=0):
    """-> (standard output, standard error)"""
    p = subprocess.run([RETICLE, *words], capture_output=True, stdin=subprocess.DEVNULL)
    said = p.stderr.decode(errors="replace")
    expect(f"exit status of {words}, which says {said}", p.returncode, status)
    return p.stdout, said


def recording(name, text):
    pathlib.Path(name + ".recipe").write_text(text)
    subprocess.run([RECIPE, name + ".recipe", name], check=True)


def side_band(time):
    """Names and mappings, before all samples."""
    text = "".join(f'comm pid={pid} tid={tid} time={time} "{name}"\n'
                   for pid, tid, name in ((1, 1, "one"), (1, 3, "one"), (2, 2, "two")))
    for pid in 1, 2:
        for start, path in ((0x400000, "/opt/app"), (0x7f0000000000, "/opt/lib.so")):
            text += f'mmap2 pid={pid} time={time} start={start:#x} len=0x10000 prot=r|x flags=2 "{path}"\n'
    for place, name in ((ONE, "one"), (TWO, "two")):
        text += f'ksymbol addr={place & ~0xfff:#x} len=0x100 type=1 time={time} "bpf_prog_{name}"\n'
    return text


def mode_of(place):
    return "kernel" if place >> 63 else "user"


def samples(event=""):
    for i, (pid, tid, cpu, time, place) in enumerate(SAMPLES):
        chain = f"{mode_of(place)},{place:#x}" + ("" if place == NOWHERE else f",user,{APP + 0x800:#x}")
        # Loads, and stores where the two processes use a line.
        access = 0x68100142 if i % 2 else 0x68100144
        yield (f"sample {event} pid={pid} tid={tid} cpu={cpu} time={time}000000000 misc={1 if place >> 63 else 2} "
               f"ip={place:#x} addr=0x5000 data_src={access:#x} weight={10 + i} period=1000 chain={chain}\n")


def span(number):
    """Raw data of a record: its thread works for this span from then on."""
    body = bytes(15) + b"\1" + bytes([number]) * 8 + bytes(4)
    return (struct.pack("<BBBBIQQ", 2, 1, 1, 0, len(body), 0, 0) + body).hex()


FIELDS = "sample=IP|TID|TIME|CPU|PERIOD|ADDR|DATA_SRC|WEIGHT|CALLCHAIN|IDENTIFIER"
recording("plain", f'event "cycles" type=hardware config=0 period=1000 {FIELDS} ids=7\n' + side_band(1) +
          "".join(samples()))
recording("activity", 'event "cpu-clock" config=0 period=1000 sample=IP|TID|TIME|CPU|IDENTIFIER ids=7\n'
          'event "activity" config=10 period=1 sample=IP|TID|TIME|CPU|RAW|IDENTIFIER ids=8\n' + side_band(1) +
          "".join(f"sample event=1 pid={pid} tid={tid} cpu={cpu} time={time}000000000 misc=2 ip={APP:#x} "
                  f"raw={span(pid)}\n"
                  f"sample pid={pid} tid={tid} cpu={cpu} time={time}000000001 misc={1 if place >> 63 else 2} "
                  f"ip={place:#x}\n"
                  for pid, tid, cpu, time, place in SAMPLES))
recording("branches", 'event "cycles" type=hardware period=1000 sample=IP|TID|TIME|CPU|BRANCH_STACK|IDENTIFIER '
                      'branch=ANY|USER ids=7\n' +
          side_band(1) + f"sample pid=1 time=1000000000 ip={APP:#x} branches={APP - 8:#x},{APP:#x},2\n")
two_cpus("spe")

# What a command writes, by its words.
ROWS = {
    "report": ("report plain", "report plain --no-children -g none", "report plain --json", "report plain --csv",
               "report plain --group", "report plain --hierarchy", "mem report plain"),
    "others": ("script plain", "script plain --json", "c2c report plain", "c2c report plain --json",
               "activity activity --by span_id", "activity activity --json", "spe spe", "spe spe --csv"),
    "export": [f"export plain --to {form}" for form in ("folded", "svg", "csv", "json", "pprof", "otlp", "parquet",
                                                        "csv --rows samples", "csv --rows memory",
                                                        "parquet --rows memory")],
}
COMMANDS = [command for part in ROWS.values() for command in part]
# These have no file if nothing is left.
STATUS = {"export plain --to svg": 1, "export plain --to folded": 1}


def nothing_is_left():
    for command in COMMANDS:
        for option, value in some(NOTHING.items()):
            said = run(*command.split(), f"--{option}", value, status=STATUS.get(command, 0))[1]
            wanted = f"nothing is left of N samples by --{option} {value}"
            expect(f"{command} --{option}", wanted in re.sub("of [0-9]+ ", "of N ", said) or said, True)
    # An operation of SPE is a sample of several events, with a row for each, and one sample.
    for option in "comms", "symbols":
        numbers = [re.findall("nothing is left of ([0-9]+) ", run(*command.split(), f"--{option}", "nobody")[1])
                   for command in ("report spe", "export spe --to csv --rows samples", "script spe")]
        expect(f"operations --{option}", len(numbers[0]) == 1 and numbers[0] == numbers[1] == numbers[2] or numbers,
               True)
    for command in (f"export branches --to {form}" for form in ("bolt", "fdata", "autofdo", "branches")):
        for option in "comms", "pid", "tid", "cpu", "time":
            said = run(*command.split(), f"--{option}", NOTHING[option], status=1)[1]
            expect(f"{command} --{option}", f"nothing is left of 1 sample by --{option} {NOTHING[option]}\n" in said or
                   said, True)
        for option in PLACES:
            said = run(*command.split(), f"--{option}", *[NOTHING[option] for _ in "1" if option in NOTHING],
                       status=2)[1]
            expect(f"{command} --{option}",
                   f"option --{option} does not work with --to {command.split()[-1]}: " in said or said, True)


def lists_have_names():
    for command in COMMANDS + ["diff plain plain", "top", "export branches --to bolt"]:
        for option in some(LISTS):
            if option in PLACES and "bolt" in command:
                continue
            said = run(*command.split(), f"--{option}=", status=2)[1]
            expect(f"{command} --{option}", f"option --{option}: there is no name in ''" in said or said, True)


# Which of SAMPLES stay, by their order.
CHOICES = {
    "--comms one": (0, 1, 2, 3),
    "--pid 2": (4, 5),
    "--tid 3": (2, 3),
    "--cpu 0,2": (0, 1, 4, 5),
    "--time 2.5,5.5": (2, 3, 4),
    "--dsos app,lib.so": (0, 1),
    "--dsos /opt/lib.so": (1,),
    "--symbols bpf_prog_one": (2, 4),
    "--symbol-filter prog": (2, 3, 4),
    "--hide-unresolved": (2, 3, 4),
    "--hide-unresolved --comms two": (4,),
    "--symbols bpf_prog_one --pid 1": (2,),
    # Code without a symbol goes by what report shows for it.
    "--symbols [app+0x100]": (0,),
    "--symbol-filter +0x1": (0, 1, 5),
}
SYMBOLS = {ONE: "bpf_prog_one", TWO: "bpf_prog_two"}


def symbols_of(kept):
    return collections.Counter(SYMBOLS.get(SAMPLES[i][4], "") for i in kept)


def of_script(words):
    lines = run("script", "plain", "--json", "-F", "time,ip", *words)[0].splitlines()
    return [round(json.loads(line)["time"]) // 10**9 - 1 for line in lines]


def of_rows(words, *table):
    rows = csv.DictReader(run("export", "plain", "--to", "csv", "--rows", *table, *words)[0].decode().splitlines())
    return [int(row["time"]) // 10**9 - 1 for row in rows]


def leaf(stack):
    """Of a folded stack."""
    name = stack.rpartition(" ")[0].rpartition(";")[2]
    return name if name.startswith("bpf") else ""


def of_folded(words):
    stacks = run("export", "plain", "--to", "folded", "--samples", *words)[0].decode().splitlines()
    found = collections.Counter()
    for stack in stacks:
        found[leaf(stack)] += int(stack.rpartition(" ")[2])
    return found


def of_svg(words):
    """The number of samples in the box of the whole."""
    text = run("export", "plain", "--to", "svg", "--samples", *words)[0].decode()
    return int((re.findall(r"<title>all \(([0-9]+) samples", text) or [0])[0])


def of_report(command, words):
    rows = csv.DictReader(run(*command.split(), "plain", "--csv", "-n", "-s", "sym", *words)[0].decode().splitlines())
    found = collections.Counter()
    for row in rows:
        name = [text for text in row.values() if "bpf_prog" in text]
        found[name[0].split()[-1] if name else ""] += int(row["samples"])
    return found


def of_cpus(words):
    """Rows that do not say which code they are of count the same samples."""
    rows = csv.DictReader(run("report", "plain", "--csv", "-n", "-s", "cpu", *words)[0].decode().splitlines())
    return {int(row["cpu"]): int(row["samples"]) for row in rows if int(row["samples"])}


def of_lines(words):
    """Loads and stores in the cache lines of c2c."""
    found = json.loads(run("c2c", "report", "plain", "--json", "--show-all", *words)[0])
    return sum(use["loads"] + use["stores"] for line in found["lines"] for use in line["uses"])


def of_activities(words):
    found = json.loads(run("activity", "activity", "--json", "--by", "span_id", *words)[0])
    return sum(a["samples"] for e in found["events"] for a in e["activities"])


# (what, how it is asked, what is wanted of those that are kept)
CONSUMERS = [
    ("script", of_script, list),
    ("samples", lambda words: of_rows(words, "samples"), list),
    ("memory", lambda words: of_rows(words, "memory"), list),
    ("report", lambda words: of_report("report --no-children", words), symbols_of),
    ("report -s cpu", of_cpus, lambda kept: collections.Counter(SAMPLES[i][2] for i in kept)),
    ("c2c", of_lines, len),
    ("folded", of_folded, symbols_of),
    ("svg", of_svg, len),
    ("activity", of_activities, len),
]


def what_is_kept():
    for words, kept in CHOICES.items():
        words = words.split()
        for what, ask, wanted in some(CONSUMERS):
            expect(f"{what} {words}", ask(words), wanted(kept))


def inlined_calls():
    """A sample in an inlined call is one of the function around it, in every command."""
    pathlib.Path("program.c").write_text("""
static inline __attribute__((always_inline)) int inner(volatile int *p) { return *p * *p + *p / 3 - *p * 7; }
__attribute__((noinline)) int outer(volatile int *p) { return *p + inner(p) - *p; }
int main(void) { volatile int x = 1; return outer(&x); }
""")
    subprocess.run(["cc", "-O1", "-g", "-no-pie", "-o", "program", "program.c"], check=True)
    for line in subprocess.check_output(["nm", "-S", "program"], text=True).splitlines():
        if line.endswith(" outer"):
            start, size = (int(word, 16) for word in line.split()[:2])
    for line in subprocess.check_output(["readelf", "-lW", "program"], text=True).splitlines():
        words = line.split()
        if words[:1] == ["LOAD"] and "E" in words[6:-1]:
            code = f"start={int(words[2], 16):#x} len={int(words[5], 16):#x} pgoff={int(words[1], 16):#x}"
    recording("inlined", f"""
event "cycles" type=hardware config=0 period=1000 sample=IP|TID|TIME|CALLCHAIN|IDENTIFIER ids=7
comm pid=1 time=1 exec "program"
mmap2 pid=1 time=2 {code} prot=r|x flags=2 "{os.path.abspath('program')}"
""" + "".join(f"sample pid=1 time={10 + i} ip={start + i:#x} chain=user,{start + i:#x}\n" for i in range(size)))
    for option, kept in (("--symbols=outer", size), ("--symbols=inner", 0), ("--symbol-filter=oute", size),
                         ("--dsos=program", size)):
        stacks = run("export", "inlined", "--no-cache", "--to", "folded", "--samples", option,
                     status=not kept)[0].decode().splitlines()
        expect(f"folded {option}", sum(int(stack.rpartition(" ")[2]) for stack in stacks), kept)
        expect(f"inlined calls {option}", any(stack.split(";")[-1].startswith("inner ") for stack in stacks), kept > 0)
        rows = list(csv.DictReader(run("report", "inlined", "--no-cache", "--csv", "-n", "-s", "sym", "--no-children",
                                       option)[0].decode().splitlines()))
        expect(f"report {option}", sum(int(row["samples"]) for row in rows), kept)
        expect(f"script {option}", len(run("script", "inlined", "--no-cache", "-G", option)[0].splitlines()), kept)


nothing_is_left()
what_is_kept()
inlined_calls()
lists_have_names()
sys.exit(failed)
