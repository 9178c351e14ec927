#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""export writes what its options choose and nothing else, in every format, and refuses options that would do nothing.
The recordings are recipes, so each row that has to be there is known."""
import csv
import os
import pathlib
import struct
import subprocess

RETICLE = os.environ["RETICLE"]
RECIPE = pathlib.Path(RETICLE).parent / "tests/recipe/recipe"


def recording(name, text):
    pathlib.Path(name + ".recipe").write_text(text)
    subprocess.run([RECIPE, name + ".recipe", name + ".data"], check=True)


def export(name, *args, status=0):
    """-> (standard output, standard error)"""
    r = subprocess.run([RETICLE, "export", "-i", name + ".data", "--no-cache", *args], capture_output=True, text=True,
                       errors="replace", stdin=subprocess.DEVNULL)
    assert r.returncode == status, (args, r.returncode, r.stderr)
    return r.stdout, r.stderr


def rows(name, *args):
    """-> (rows as {column: text}, standard error)"""
    out, said = export(name, "--to", "csv", *args)
    return list(csv.DictReader(out.splitlines())), said


def says_activity(span):
    """Raw data of a record: its thread works for this span from then on."""
    body = bytes(15) + b"\1" + span + bytes(4)
    return (struct.pack("<BBBBIQQ", 2, 1, 1, 0, len(body), 0, 0) + body).hex()


def activities():
    one, two = b"\1" * 8, b"\2" * 8
    recording("activity", f"""
event "cpu-clock" config=0 period=1000 sample=IP|TID|TIME|IDENTIFIER ids=7
event "activity" config=10 period=1 sample=IP|TID|TIME|RAW|IDENTIFIER ids=8
comm pid=4194301 time=1 exec "app"
sample event=1 pid=4194301 time=10 ip=0x400000 raw={says_activity(one)}
sample pid=4194301 time=20 ip=0x400020
sample event=1 pid=4194301 time=30 ip=0x400000 raw={says_activity(two)}
sample pid=4194301 time=40 ip=0x400040
sample pid=4194301 tid=4194302 time=50 ip=0x400050
""")
    times = [r["time"] for r in rows("activity", "--rows", "samples")[0]]
    assert times == ["20", "40", "50"], times
    times = [r["time"] for r in rows("activity", "--rows", "samples", "--activity", "span_id=" + two.hex())[0]]
    assert times == ["40"], times


def code_of(binary):
    """(address, offset, size) of the segment that holds the program's code"""
    for line in subprocess.check_output(["readelf", "-lW", binary], text=True).splitlines():
        words = line.split()
        if words[:1] == ["LOAD"] and "E" in words[6:-1]:
            return int(words[2], 16), int(words[1], 16), int(words[5], 16)
    raise AssertionError("no code")


def branches():
    pathlib.Path("program.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["cc", "-g", "-no-pie", "-o", "program", "program.c"], check=True)
    start, offset, size = code_of("program")
    path = os.path.abspath("program")
    recording("branches", f"""
event "cycles" type=hardware period=1000 sample=IP|TID|TIME|BRANCH_STACK|IDENTIFIER branch=ANY|USER ids=7
comm pid=4194301 time=1 exec "program"
mmap2 pid=4194301 time=2 start={start:#x} len={size:#x} pgoff={offset:#x} prot=r|x flags=2 "{path}"
sample pid=4194301 time=1000000000 ip={start + 4:#x} branches={start + 1:#x},{start + 4:#x},2
sample pid=4194301 time=2000000000 ip={start + 6:#x} branches={start + 2:#x},{start + 6:#x},2
""")
    first, second = (f"B {start + a:x} {start + b:x} 1 0\n" for a, b in ((1, 4), (2, 6)))
    assert export("branches", "--to", "bolt")[0].splitlines(True) == [first, second]
    lines = export("branches", "--to", "branches")[0].splitlines()
    names = lines[0].split(",")
    found = [dict(zip(names, line.split(","))) for line in lines[1:]]
    assert [(b["address"], b["taken"], b["not_taken"], b["taken_percent"]) for b in found] == \
        [(f"{start + a:#x}", "1", "0", "100.00") for a in (1, 2)], lines
    out, said = export("branches", "--to", "bolt", "--time", ",1.5")
    assert out == first and "of 1 samples" in said, (out, said)
    for form in "bolt", "fdata", "autofdo", "branches":
        said = export("branches", "--to", form, "--time", "never", status=2)[1]
        assert "never" in said, said
        said = export("branches", "--to", form, "--activity", "span_id=1", status=2)[1]
        assert f"--to {form}" in said, said


def accesses():
    """PERF_MEM_NA, as the kernel writes it for samples that are no accesses, is none; what is not available is
    missing."""
    def source(op, lvl=1, snoop=1, lock=1, tlb=1, number=15, remote=0, block=1):
        return op | lvl << 5 | snoop << 19 | lock << 24 | tlb << 26 | number << 33 | remote << 37 | block << 40

    event = 'event "cpu-clock" config=0 period=1000 sample=IP|TID|TIME|ADDR|DATA_SRC|IDENTIFIER ids=7\n'
    recording("no-accesses", event + f"sample pid=4194301 time=1 ip=0x400000 data_src={source(1)}\n")
    found, said = rows("no-accesses", "--rows", "memory")
    assert not found and "no sample says what it loaded" in said, (found, said)
    assert len(rows("no-accesses", "--rows", "samples")[0]) == 1
    sources = [source(1), source(2), source(4, lock=2, number=1, lvl=10, snoop=2, tlb=10), source(2, remote=1),
               source(3, number=13), 0]
    recording("accesses", event + "".join(f"sample pid=4194301 time={i} ip=0x400000 addr=0x1000 data_src={s}\n"
                                          for i, s in enumerate(sources)))
    columns = "time", "op", "data_source", "snoop", "tlb", "blocked", "locked"
    found = [[r[c] for c in columns] for r in rows("accesses", "--rows", "memory")[0]]
    wanted = [["1", "LOAD", "", "", "", "", ""], ["2", "STORE", "L1 or L1 hit", "None", "L1 hit", "", "true"],
              ["3", "LOAD", "Remote", "", "", "", ""], ["4", "LOAD", "RAM", "", "", "", ""]]
    assert found == wanted, found


def options():
    """Options are for some formats: the others refuse them."""
    stacks, rows_too = {"svg", "folded"}, {"parquet", "csv --rows samples"}
    recording("plain", 'event "cpu-clock" config=0 period=1000 sample=IP|TID|TIME ids=7\nsample pid=4194301 time=1 '
                       'ip=0x400000\n')
    uses = {"--event cpu-clock": stacks, "--by-pid": stacks, "--by-tid": stacks, "--samples": stacks,
            "--annotate-kernel": {"folded"}, "--title x": {"svg"}, "--width 1200": {"svg"}, "--min-width 0.1": {"svg"},
            "--inverted": {"svg"}, "--colors hot": {"svg"}, "--stacks s": rows_too,
            "--csv-formulas": {"csv --rows samples"}}
    for option, formats in uses.items():
        for form in ("svg", "folded", "csv", "json", "bolt", "fdata", "autofdo", "branches", "pprof", "otlp",
                     *rows_too):
            args = "--to", *form.split(), *option.split()
            if form in formats:
                export("plain", *args)
            else:
                said = export("plain", *args, status=2)[1]
                assert option.split()[0] + " works only with --to " in said, (args, said)


def windows():
    """Two groups of 26 counters each are more than a table has room for, which is said."""
    fields = "sample=IP|TID|TIME|READ|IDENTIFIER read=GROUP|ID|ENABLED|RUNNING"
    ids = [range(100, 126), range(200, 226)]
    text = "".join(f'event "{f"lead{group[0]}/period=1000,alt-period=10/" if i == group[0] else f"counter{i}"}" '
                   f'type=raw config={i} '
                   f"{'period=1000 ' if i == group[0] else ''}{fields} ids={i} leader={first}\n"
                   for first, group in zip((0, 26), ids) for i in group)
    for group, event in zip(ids, (0, 26)):
        for n, value in enumerate((1000, 1010, 2010, 2020, 3020, 3030)):
            values = ",".join(f"{value},{i}" for i in group)
            text += (f"sample event={event} pid=4194301 time={group[0] + n} ip=0x400000 enabled={n + 1} "
                     f"running={n + 1} values={values}\n")
    recording("windows", text)
    found, said = rows("windows", "--rows", "samples")
    columns = [c for c in found[0] if c.startswith("window_")]
    assert len(columns) == 47 and "5 counters of windows are left out" in said, (columns, said)
    assert {r["window_counter101"] for r in found} == {"", "10", "1000"}, found


activities()
branches()
accesses()
options()
windows()
