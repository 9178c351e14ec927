#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""export --to pprof and otlp, as independent readers decode them: every stack, its place in files, lines of inlined
calls, values, threads, processes, activities, and what both formats ask for. The recordings are recipes, so that all
is known."""
import json
import os
import pathlib
import pty
import re
import struct
import subprocess

from lib.profiles import Otlp, Pprof
from lib.readers import need_readers

RETICLE = os.environ["RETICLE"]
RECIPE = pathlib.Path(RETICLE).parent / "tests/recipe/recipe"
SPAN, TRACE = bytes.fromhex("0102030405060708"), bytes(range(16, 32))
# What a program may call its attributes: the second and the third read alike, two are called as what is said of all,
# one is not.
KEYS = b"http.route", b"odd " + bytes((0xff,)), b"odd " + bytes((0xfe,)), b"thread.id", b"tid", b""

PROGRAM = """\
static volatile int x;
static inline __attribute__((always_inline)) void inner(int n)
{
	x += n;
}
__attribute__((noinline)) static void outer(int n)
{
	inner(n);
	x *= 3;
}
int main(int argc, char **argv)
{
	(void)argv;
	outer(argc);
	return x;
}
"""


def export(form, name, *args, status=0):
    """-> what it said"""
    r = subprocess.run([RETICLE, "export", "-i", name + ".data", "--no-cache", "--to", form, "-o",
                        f"{name}.{form}", *args],
                       capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert r.returncode == status, (form, name, args, r.returncode, r.stderr)
    return r.stderr


def recording(name, text):
    pathlib.Path(name + ".recipe").write_text(text)
    subprocess.run([RECIPE, name + ".recipe", name + ".data"], check=True)


def message(*fields):
    """Protocol buffers: (number, bytes) each"""
    return b"".join(bytes((n << 3 | 2, len(body))) + body for n, body in fields)


def pair(key, value):
    return message((1, key), (2, value))


def says_process(service, *keys):
    """Raw data of a record: what its process publishes"""
    names = message((5, b"".join(message((1, message((1, key)))) for key in keys)))
    body = message((1, message((1, pair(b"service.name", message((1, service)))))),
                   (2, pair(b"threadlocal.attribute_key_map", names)))
    return (struct.pack("<BBBBIQQ", 2, 2, 0, 0, len(body), 0, 0) + body).hex()


def says_thread(trace, span, *attributes):
    data = b"".join(bytes((key, len(value))) + value for key, value in attributes)
    body = trace + span + struct.pack("<BBH", 1, 0, len(data)) + data
    return (struct.pack("<BBBBIQQ", 2, 1, 1, 0, len(body), 0, 0) + body).hex()


def places():
    """-> (build id, {what: (address, offset in the file)}) of a program with an inlined call"""
    pathlib.Path("work.c").write_text(PROGRAM)
    subprocess.run(["cc", "-g", "-O1", "-no-pie", "-fcf-protection=none", "-Wl,--build-id", "-o", "work", "work.c"],
                   check=True)
    notes = subprocess.check_output(["readelf", "-n", "work"], text=True)
    segments = [line.split() for line in subprocess.check_output(["readelf", "-lW", "work"], text=True).splitlines()]
    offset, start, size = next((int(w[1], 16), int(w[2], 16), int(w[4], 16)) for w in segments
                               if w[:1] == ["LOAD"] and "E" in w[6:-1])
    symbols = dict((w[2], int(w[0], 16))
                   for w in map(str.split, subprocess.check_output(["nm", "work"], text=True).splitlines())
                   if len(w) == 3)
    # The first instruction of outer is the first of what was inlined there.
    asked = subprocess.check_output(["addr2line", "-ife", "work", hex(symbols["outer"])], text=True).split()
    assert asked[0] == "inner" and asked[2] == "outer", asked
    return re.search(r"Build ID: (\w+)", notes)[1], start, offset, size, symbols


def known():
    build_id, start, offset, size, symbols = places()
    leaf, caller = symbols["outer"], symbols["main"] + 12
    path = os.path.abspath("work")
    at = f"start={start:#x} len={(size + 4095) // 4096 * 4096:#x} pgoff={offset:#x} prot=r|x flags=2"
    chain = f"chain=user,{leaf:#x},{caller:#x}"
    attributes = (0, b"/cart"), (1, b"v" + bytes((0xfe,))), (2, b"2"), (3, b"3"), (4, b"4"), (5, b"5")
    recording("known", f"""feature build_id id={build_id} misc=user "{path}"
event "cpu-clock" config=0 period=1000000 sample=IP|TID|TIME|CALLCHAIN|IDENTIFIER ids=7
event "cache-misses" type=hardware config=3 period=500 sample=IP|TID|TIME|CALLCHAIN|IDENTIFIER ids=8
event "activity" config=10 period=1 sample=IP|TID|TIME|RAW|IDENTIFIER ids=9
comm pid=4194301 time=1 exec "app"
comm pid=4194301 tid=4194302 time=1 "worker"
comm pid=4194303 time=1 exec "b;\\xffd"
mmap2 pid=4194301 time=2 {at} "{path}"
mmap2 pid=4194303 time=2 {at} "{path}"
sample pid=4194301 time=10 ip={leaf:#x} {chain}
sample event=2 pid=4194301 time=11 ip=0x1 raw={says_process(b"shop", *KEYS)}
sample event=2 pid=4194301 time=12 ip=0x1 raw={says_thread(TRACE, SPAN, *attributes)}
sample pid=4194301 time=20 ip={leaf:#x} {chain}
sample pid=4194301 time=21 ip={leaf:#x} {chain}
sample event=1 pid=4194301 time=22 ip={leaf:#x} {chain}
sample pid=4194301 tid=4194302 time=23 ip={leaf:#x} {chain}
sample pid=4194303 time=1000 ip=0x10 chain=user,0x10
""")
    for form in "pprof", "otlp":
        export(form, "known")
    check_pprof(Pprof("known.pprof"), path, build_id, leaf - start + offset, symbols)
    check_otlp(Otlp("known.otlp"), path, build_id)
    export("pprof", "known", "--no-inline")
    [frame] = {s.stack[0] for s in Pprof("known.pprof").samples if len(s.stack) > 1}
    assert [line[0] for line in frame.lines] == ["outer"], frame


def check_pprof(p, path, build_id, offset, symbols):
    assert p.types == [("samples", "count"), ("cpu", "nanoseconds"), ("cache-misses", "count")], p.types
    assert p.period == ("cpu", "nanoseconds", 1000000) and p.default == "cpu", (p.period, p.default)
    assert p.totals() == dict(zip(p.types, (6, 5000000, 500))), p.totals()
    assert p.duration == 990 and p.time > 10**18, (p.time, p.duration)
    assert p.flags[path] == [True] * 4, p.flags
    leaf, caller = next(s.stack for s in p.samples if len(s.stack) > 1)
    assert (leaf.file, leaf.build_id, leaf.offset) == (path, build_id, offset), leaf
    assert [line[0] for line in leaf.lines] == ["inner", "outer"], leaf
    assert ([os.path.basename(line[1]) for line in leaf.lines] == ["work.c"] * 2 and
            [n[2] for n in leaf.lines] == [4, 8]), leaf
    assert ([line[0] for line in caller.lines] == ["main"] and
            caller.offset == offset + symbols["main"] + 11 - symbols["outer"]), caller
    # An address in no mapping is one, and has no name.
    [stray] = [s for s in p.samples if s.labels["pid"] == 4194303]
    assert stray.stack[0].file is None and stray.stack[0].offset == 0x10 and not stray.stack[0].lines, stray
    assert stray.labels["comm"] == "b;\ufffdd" and "trace_id" not in stray.labels, stray
    ids = {"trace_id": TRACE.hex(), "span_id": SPAN.hex(), "service": "shop", "http.route": "/cart",
           "odd \ufffd": "v\ufffd", "thread.id": "3"}
    thread = {"pid": 4194301, "tid": 4194301, "comm": "app"}
    found = sorted((sorted(map(str, s.labels.items())), s.values) for s in p.samples if len(s.stack) > 1)
    wanted = sorted((sorted(map(str, labels.items())), values) for labels, values in
                    ((thread, [1, 1000000, 0]), ({**thread, **ids}, [2, 2000000, 0]), ({**thread, **ids}, [1, 0, 500]),
                     ({**thread, "tid": 4194302, "comm": "worker"}, [1, 1000000, 0])))
    assert found == wanted, (found, wanted)


def check_otlp(o, path, build_id):
    """The stacks are those of pprof, which were looked at."""
    assert o.totals() == {("cpu", "samples", "count"): 5, ("cpu", "cpu", "nanoseconds"): 5000000,
                          ("cache-misses", "samples", "count"): 1,
                          ("cache-misses", "cache-misses", "count"): 500}, o.totals()
    services = {p.resource["process.pid"]: p.resource for p in o.profiles}
    assert (services[4194301]["service.name"] == "shop" and
            services[4194301]["process.executable.name"] == "app"), services
    assert services[4194303]["service.name"] == "unknown_service:b;\ufffdd", services
    assert len(o.profiles) == 6 and o.frame_types == {"native": 3}, (len(o.profiles), o.frame_types)
    linked = [(s.values, s.labels) for p in o.profiles for s in p.samples if s.link == (TRACE.hex(), SPAN.hex())]
    labels = {"thread.id": 4194301, "thread.name": "app", "http.route": "/cart", "odd \ufffd": "v\ufffd", "tid": "4"}
    assert linked == [([n], labels) for n in (2, 2000000, 1, 500)], linked
    assert all(s.link in (None, (TRACE.hex(), SPAN.hex())) for p in o.profiles for s in p.samples)
    for p in o.profiles:
        assert (p.duration == 990 and p.time > 10**18 and
                p.period[2] == {"cpu": 1000000, "cache-misses": 500}[p.period[0]])
    stacks = {s.stack for p in o.profiles for s in p.samples}
    assert (stacks == {s.stack for s in Pprof("known.pprof").samples} and
            any(f.build_id == build_id for s in stacks for f in s))
    assert path in {f.file for s in stacks for f in s}


def same_places():
    """What is the same by all that a profile says of it is one element of its tables: memory at one address in two
    processes, and one file that processes have mapped below two roots. Their samples stay apart."""
    event = 'event "cpu-clock" config=0 period=1000 sample=IP|TID|TIME|CALLCHAIN|IDENTIFIER ids=7\n'
    at = 'start=0x10000 len=0x4000 prot=r|w flags=0x22 "//anon"'
    recording("anon", event + f"""
mmap2 pid=4194301 time=2 {at}
mmap2 pid=4194303 time=2 {at}
sample pid=4194301 time=10 ip=0x12000 chain=user,0x12000,0x13000
sample pid=4194303 time=11 ip=0x12000 chain=user,0x12000,0x11000
""")
    one_place("anon", "//anon", 3, 2)
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        print("no mount namespaces here: one root only")
        return
    build_id, start, offset, size, symbols = places()
    path = os.path.abspath("work")
    at = f'start={start:#x} len={(size + 4095) // 4096 * 4096:#x} pgoff={offset:#x} prot=r|x flags=2 "{path}"'
    lives = [subprocess.Popen([*words, "sh", "-c", "echo; exec sleep infinity"], stdout=subprocess.PIPE)
             for words in ([], ["unshare", "-m"])]
    try:
        for p in lives:
            p.stdout.readline()
        recording("roots", f'feature build_id id={build_id} misc=user "{path}"\n' + event + "".join(f"""
mmap2 pid={p.pid} time=2 {at}
sample pid={p.pid} time=10 ip={symbols["outer"]:#x} chain=user,{symbols["outer"]:#x},{symbols["main"] + 12:#x}
""" for p in lives))
        one_place("roots", path, 2, 2)
    finally:
        for p in lives:
            p.kill()
            p.wait()


def one_place(name, path, locations, samples):
    for form, reader in (("pprof", Pprof), ("otlp", Otlp)):
        export(form, name)
        found = reader(f"{name}.{form}")
        assert found.nr_mappings[path] == 1, (form, found.nr_mappings)
        assert found.nr_locations == locations, (form, found.nr_locations)
        assert (found.totals()["cpu", "nanoseconds"] == 1000 * samples if form == "pprof"
                else found.totals()["cpu", "samples", "count"] == samples)
        pids = ({s.labels["pid"] for s in found.samples} if form == "pprof"
                else {p.resource["process.pid"] for p in found.profiles})
        assert len(pids) == 2, pids


def lost():
    """How many samples were lost is said where some were."""
    for name, count in (("lost-samples", 4394), ("lost-twice", 12), ("old-attr", 0)):
        subprocess.run([RECIPE, pathlib.Path(os.environ["SRCDIR"]) / f"tests/recipe/{name}.recipe", name + ".data"],
                       check=True)
        for form in "pprof", "otlp":
            export(form, name)
        assert Pprof(name + ".pprof").comments == ([f"{count} samples were lost"] if count else []), name
        found = [p.labels for p in Otlp(name + ".otlp").profiles]
        assert (found and all(labels == ({"reticle.lost_samples": count} if count else {})
                              for labels in found)), (name, found)


def ids():
    """Where no time is known, profiles of equal numbers have ids of their own: two services of a process, an event
    that is called as what counts its samples, functions of other names, and other numbers of lost samples. The same
    recording has the same ids again."""
    def text(place):
        return f"""event "samples" type=hardware config=0 period=1 sample=IP|TID|CALLCHAIN|IDENTIFIER ids=7
event "activity" config=10 period=1 sample=IP|TID|RAW|IDENTIFIER ids=9
sample event=1 pid=4194301 ip=0x1 raw={says_process(b"shop", *KEYS)}
sample event=1 pid=4194301 ip=0x1 raw={says_thread(TRACE, SPAN)}
sample pid=4194301 ip={place} chain=user,{place}
sample event=1 pid=4194301 ip=0x1 raw={says_process(b"mall", *KEYS)}
sample event=1 pid=4194301 ip=0x1 raw={says_thread(TRACE, SPAN)}
sample pid=4194301 ip={place} chain=user,{place}
"""
    seen = {}
    for place in "0x1000", "0x2000":
        for name in "first", "again":
            recording(name, text(place))
            export("otlp", name)
            profiles = Otlp(name + ".otlp").profiles
            assert profiles and all(p.time == 0 for p in profiles), [p.time for p in profiles]
            seen[place, name] = [p.id for p in profiles]
        assert seen[place, "first"] == seen[place, "again"]
    assert not set(seen["0x1000", "first"]) & set(seen["0x2000", "first"]), seen


def empty():
    """A recording without samples is an empty profile, and options that would do nothing are refused."""
    recording("none", 'event "cycles" type=hardware period=10 sample=IP|TID|TIME ids=7\n')
    for form, reader in (("pprof", Pprof), ("otlp", Otlp)):
        export(form, "none")
        assert not sum(reader("none." + form).totals().values())
        for option in "--event", "--title":
            assert option in export(form, "none", option, "cycles", status=2)


N = 40000  # samples; with the records of two blocks and more, which several threads read


def large():
    """Larger than what is written to a file at a time: many stacks, of a thread each."""
    recording("large", 'event "cpu-clock" config=0 period=1000 sample=IP|TID|TIME|CALLCHAIN ids=7\n' + "".join(
        f"sample pid=4194301 tid={4190000 + i % 7} time={i + 1} ip={0x1000 + i:#x} chain=user,{0x1000 + i:#x}\n"
        for i in range(N)))
    for form, reader in (("pprof", Pprof), ("otlp", Otlp)):
        export(form, "large")
        found = reader("large." + form)
        assert set(found.totals().values()) == {N, 1000 * N}, found.totals()
        one = pathlib.Path("large." + form).read_bytes()
        assert os.path.getsize("large.data") > 2 << 20
        for threads in "1", "2", "4":
            export(form, "large", "--threads", threads)
            assert one == pathlib.Path("large." + form).read_bytes(), (form, threads)
    assert os.path.getsize("large.otlp") > 300000


def terminal():
    """Bytes that are no text do not go to a terminal."""
    ours, theirs = pty.openpty()
    for form in "pprof", "otlp", "parquet":
        r = subprocess.run([RETICLE, "export", "-i", "known.data", "--no-cache", "--to", form],
                           stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE, text=True)
        assert r.returncode == 2 and "-o" in r.stderr, (form, r)
    os.close(theirs)
    os.close(ours)


def example(path):
    """Totals are those of report --json, with the number of samples and events that a real recording has."""
    subprocess.run([RECIPE, path, "example.data"], check=True)
    out = subprocess.check_output([RETICLE, "report", "-i", "example.data", "--no-cache", "--json"], text=True,
                                  stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    events = {e["name"]: e for e in json.loads(out)["events"]}
    for form, reader in (("pprof", Pprof), ("otlp", Otlp)):
        export(form, "example")
        found = reader("example." + form).totals()
        print(form, found)
        clocks = [name for name in events if re.match("(cpu|task)-clock", name)]
        names = {name: "cpu" if [name] == clocks else name for name in events}
        if form == "pprof":
            assert found["samples", "count"] == sum(e["samples"] for e in events.values()), (found, events)
        for name, e in events.items():
            unit = "nanoseconds" if name in clocks else "count"
            if form == "pprof":
                assert found[names[name], unit] == e["weight"], (name, found, e)
            else:
                assert found[names[name], "samples", "count"] == e["samples"], (name, found, e)
                assert found[names[name], names[name], unit] == e["weight"], (name, found, e)
    assert events


need_readers()
known()
same_places()
lost()
ids()
empty()
large()
terminal()
for name in "report-group", "old-attr", "no-sample-id-all", "diff-old":
    example(pathlib.Path(os.environ["SRCDIR"]) / f"tests/recipe/{name}.recipe")
