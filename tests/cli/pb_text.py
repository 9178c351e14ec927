#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""What an independent reader made of a recording is what we make of it.

NAME.pb_text beside a recording NAME is the decode by google/perf_data_converter as protobuf text. Every field in it is
compared with `reticle dump --json`, `evlist --json`, `buildid-list --json` and `dump --header-only`, or stands in
IGNORED with the reason. A field that is in neither fails the test, so nothing is left out silently.
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

IGNORED = {
    # Hashes that the reader adds, of the field beside them, for publishing decodes with the names left out.
    r"_md5_prefix$": "derived",
    r"^mmap_event\.root_path$": "derived from the filename by the reader",
    # The reader's own bookkeeping: when the sample was taken, repeated; counts it made by replaying the file.
    r"^timestamp$": "copy of sample_info",
    # The reader's struct is older than the file and it writes the size of its own.
    r"^attr\.size$": "the reader's size, not the file's",
    # Bytes behind AUXTRACE: their number is compared, dump does not print them.
    r"^auxtrace_event\.trace_data$": "compared by length",
}

# Top-level fields: those compared below, and the reader's bookkeeping.
COMPARED = {"file_attrs", "events", "stats", "build_ids", "uint32_metadata", "uint64_metadata", "event_types",
            "cpu_topology", "string_metadata", "pmu_mappings", "group_desc", "hybrid_topology"}
BOOKKEEPING = {"timestamp_sec", "metadata_mask"}  # file time; which features this reader understood
# Records that the reader drops: CPU_MAP and EVENT_UPDATE.
DROPPED = {74, 78}

KINDS = {1: "mmap_event", 10: "mmap_event", 3: "comm_event", 7: "fork_event", 4: "exit_event", 9: "sample_event",
         11: "aux_event", 12: "itrace_start_event", 13: "lost_samples_event", 14: "context_switch_event",
         15: "context_switch_event", 16: "namespaces_event", 70: "auxtrace_info_event", 71: "auxtrace_event",
         73: "thread_map_event", 79: "time_conv_event"}


def data_dir():
    given = os.environ.get("RETICLE_TEST_DATA")
    beside = pathlib.Path(os.environ["SRCDIR"]).parent / "shared" / "data"
    return pathlib.Path(given) if given else beside


# ---- the text format

def unquote(text):
    body = text[1:-1].encode("latin-1", "surrogateescape")
    escapes = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}

    def one(m):
        code = m.group(1)
        return bytes([int(code, 8)]) if code[:1].isdigit() else escapes.get(code, code)
    return re.sub(rb"\\([0-7]{1,3}|.)", one, body)


def value(text):
    if text[0] == '"':
        return unquote(text)
    return {"true": True, "false": False}.get(text) if text in ("true", "false") else int(text)


def parse(path):
    """A message is a dict from field name to the list of its values; fields without a message above them at the
    top."""
    top = collections.defaultdict(list)
    stack = [top]
    with open(path, encoding="latin-1", newline="\n") as lines:
        for line in lines:
            line = line.strip()
            if line.endswith("{"):
                message = collections.defaultdict(list)
                stack[-1][line[:-1].strip()].append(message)
                stack.append(message)
            elif line == "}":
                stack.pop()
            elif line:
                key, text = line.split(":", 1)
                stack[-1][key].append(value(text.strip()))
    return top


# ---- their records and ours, as flat tuples of (path, value)

def is_ignored(path):
    return any(re.search(pattern, path) for pattern in IGNORED)


def flatten(message, prefix=""):
    for key, values in message.items():
        for i, v in enumerate(values):
            path = f"{prefix}{key}"
            if is_ignored(path):
                continue
            if isinstance(v, dict):
                yield from flatten(v, f"{path}.{i}." if len(values) > 1 or key in REPEATED else f"{path}.")
            else:
                yield (f"{path}.{i}" if len(values) > 1 or key in REPEATED else path), v


REPEATED = {"branch_stack", "link_info", "entries", "unparsed_binary_blob_priv_data"}
U32 = (1 << 32) - 1


def sample_info(o, out, event):
    names = {"pid": "pid", "tid": "tid", "time": "sample_time_ns", "id": "id", "cpu": "cpu", "stream_id": "stream_id"}
    for k, v in o.get("sample_id", {}).items():
        out[f"{event}.sample_info.{names[k]}"] = v & U32 if k in ("pid", "tid", "cpu") else v


def mmap(o, out):
    fields = ["start", "len", "pgoff"]
    if o["type"] == 10:
        fields += ["maj", "min", "ino", "ino_generation", "prot", "flags"]
    for f in fields:
        out[f"mmap_event.{f}"] = o[f]
    out["mmap_event.pid"] = o["pid"] & U32
    out["mmap_event.tid"] = o["tid"] & U32
    out["mmap_event.filename"] = o["filename"].encode()


def comm(o, out):
    out["comm_event.pid"] = o["pid"] & U32
    out["comm_event.tid"] = o["tid"] & U32
    out["comm_event.comm"] = o["comm"].encode()


def task(o, out):
    event = KINDS[o["type"]]
    for f in ("pid", "ppid", "tid", "ptid"):
        out[f"{event}.{f}"] = o[f] & U32
    out[f"{event}.fork_time_ns"] = o["time"]


def sample(o, out):
    names = {"ip": "ip", "pid": "pid", "tid": "tid", "time": "sample_time_ns", "period": "period", "id": "id",
             "cpu": "cpu", "addr": "addr", "stream_id": "stream_id"}
    for ours, theirs in names.items():
        if ours in o:
            out[f"sample_event.{theirs}"] = o[ours] & U32 if ours in ("pid", "tid", "cpu") else o[ours]
    for i, b in enumerate(o.get("branches", [])):
        path, flags = f"sample_event.branch_stack.{i}", b["flags"]
        out[f"{path}.from_ip"] = b["from"]
        out[f"{path}.to_ip"] = b["to"]
        out[f"{path}.mispredicted"] = bool(flags & 1)
        out[f"{path}.predicted"] = bool(flags & 2)
        out[f"{path}.in_transaction"] = bool(flags & 4)
        out[f"{path}.abort"] = bool(flags & 8)
        out[f"{path}.cycles"] = flags >> 4 & 0xffff
        out[f"{path}.type"] = flags >> 20 & 15
        out[f"{path}.spec"] = flags >> 24 & 3
    if "branches" in o:
        # The reader writes these two with every branch stack, and an index of 0 where there is none.
        out["sample_event.no_hw_idx"] = "hw_idx" not in o
        out["sample_event.branch_stack_hw_idx"] = o.get("hw_idx", 0) & (1 << 64) - 1


def aux(o, out):
    out["aux_event.aux_offset"] = o["aux_offset"]
    out["aux_event.aux_size"] = o["aux_size"]
    for bit, name in enumerate(("truncated", "overwrite", "partial")):
        out[f"aux_event.is_{name}"] = bool(o["aux_flags"] >> bit & 1)


def itrace_start(o, out):
    out["itrace_start_event.pid"] = o["pid"]
    out["itrace_start_event.tid"] = o["tid"]


def lost_samples(o, out):
    out["lost_samples_event.num_lost"] = o["lost"]


def context_switch(o, out):
    out["context_switch_event.is_out"] = bool(o["misc"] & 1 << 13)
    if o["type"] == 15:
        out["context_switch_event.next_prev_pid"] = o["next_prev_pid"] & U32
        out["context_switch_event.next_prev_tid"] = o["next_prev_tid"] & U32


def namespaces(o, out):
    out["namespaces_event.pid"] = o["pid"]
    out["namespaces_event.tid"] = o["tid"]
    for i, n in enumerate(o["namespaces"]):
        out[f"namespaces_event.link_info.{i}.dev"] = n["dev"]
        out[f"namespaces_event.link_info.{i}.ino"] = n["inode"]


def auxtrace_info(o, out):
    out["auxtrace_info_event.type"] = o["auxtrace_type"]
    for i, v in enumerate(o["priv"]):
        out[f"auxtrace_info_event.unparsed_binary_blob_priv_data.{i}"] = v


def auxtrace(o, out):
    for theirs, ours in (("size", "bytes"), ("offset", "aux_offset"), ("reference", "reference"), ("idx", "idx")):
        out[f"auxtrace_event.{theirs}"] = o[ours]
    out["auxtrace_event.tid"] = o["tid"] & U32
    out["auxtrace_event.cpu"] = o["cpu"] & U32


def thread_map(o, out):
    for i, t in enumerate(o["threads"]):
        out[f"thread_map_event.entries.{i}.pid"] = t["pid"] & (1 << 64) - 1
        out[f"thread_map_event.entries.{i}.comm"] = t["comm"].encode()


def time_conv(o, out):
    out["time_conv_event.time_shift"] = o["time_shift"]
    out["time_conv_event.time_mult"] = o["time_mult"]
    out["time_conv_event.time_zero"] = o["time_zero"]
    if o["size"] > 32:  # the record grew with Linux 5.10
        out["time_conv_event.time_cycles"] = o["time_cycles"]
        out["time_conv_event.time_mask"] = o["time_mask"]
        out["time_conv_event.cap_user_time_zero"] = o["cap_user_time_zero"]
        out["time_conv_event.cap_user_time_short"] = o["cap_user_time_short"]


OURS = {"mmap_event": mmap, "comm_event": comm, "fork_event": task, "exit_event": task, "sample_event": sample,
        "aux_event": aux, "itrace_start_event": itrace_start, "lost_samples_event": lost_samples,
        "context_switch_event": context_switch, "namespaces_event": namespaces,
        "auxtrace_info_event": auxtrace_info, "auxtrace_event": auxtrace, "thread_map_event": thread_map,
        "time_conv_event": time_conv}


def our_record(o):
    out = {f"header.{k}": o[k] for k in ("type", "misc", "size")}
    event = KINDS.get(o["type"])
    if event:
        OURS[event](o, out)
        sample_info(o, out, event)
    return tuple(sorted(out.items()))


def reticle(*args):
    run = subprocess.run([os.environ["RETICLE"], *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if run.returncode:
        raise SystemExit(f"reticle {' '.join(args)}: status {run.returncode}: {run.stderr.decode()}")
    return run.stdout


def our_json(*args):
    return [json.loads(line) for line in reticle(*args, "--json").splitlines()]


# ---- comparisons: each returns a list of complaints

def compare_records(theirs, path):
    want = collections.Counter(tuple(sorted(flatten(e))) for e in theirs["events"])
    have = collections.Counter(our_record(o) for o in our_json("dump", "-i", path) if o["type"] not in DROPPED)
    bad = []
    # The reader sorts by time; so both sides are bags, not lists.
    for side, only in (("only the other reader has", want - have), ("only we have", have - want)):
        bad += [f"{side} ({n} times): {dict(record)}" for record, n in list(only.items())[:3]]
        if len(only) > 3:
            bad.append(f"... and {len(only) - 3} more that {side}")
    if theirs["events"] and not bad:
        stats = theirs["stats"][0]
        counted = collections.Counter(o["type"] for o in our_json("dump", "-i", path))
        for name, types in (("sample", [9]), ("mmap", [1, 10]), ("fork", [7]), ("exit", [4])):
            if stats[f"num_{name}_events"][0] != sum(counted[t] for t in types):
                bad.append(f"stats: {name} records: {stats[f'num_{name}_events'][0]} and {counted}")
    return bad


def compare_events(theirs, path):
    ours = our_json("evlist", "-i", path)
    bad = []
    if len(ours) != len(theirs["file_attrs"]):
        return [f"{len(theirs['file_attrs'])} events and {len(ours)}"]
    for i, (t, o) in enumerate(zip(theirs["file_attrs"], ours)):
        for field, values in t["attr"][0].items():
            if not is_ignored(f"attr.{field}") and int(values[0]) != o["attr"].get(field, 0):
                bad.append(f"event {i}: attr.{field}: {values[0]} and {o['attr'].get(field, 0)}")
        if sorted(t["ids"]) != sorted(o["ids"]):
            bad.append(f"event {i}: ids: {t['ids']} and {o['ids']}")
    for i, (t, o) in enumerate(zip(theirs["event_types"], ours)):
        if t["name"][0] != o["name"].encode():
            bad.append(f"event {i}: name: {t['name'][0]} and {o['name']}")
    for group in theirs["group_desc"]:
        leader, n = group["leader_idx"][0], group["num_members"][0]
        if [o["leader"] for o in ours[leader:leader + n]] != [leader] * n:
            bad.append(f"group of {n} led by event {leader}: {ours}")
    return bad


def compare_build_ids(theirs, path):
    want = [(t["build_id_hash"][0][:20].hex(), t["filename"][0]) for t in theirs["build_ids"]]
    have = [(o["build_id"], o["file"].encode()) for o in our_json("buildid-list", "-i", path)]
    return [] if sorted(want) == sorted(have) else [f"build ids: {set(want) ^ set(have)}"]


def compare_header(theirs, path):
    lines = reticle("dump", "--header-only", "-v", "-i", path).decode().splitlines()
    strings = theirs["string_metadata"][0]
    want = []
    for field, label in (("hostname", "hostname"), ("kernel_version", "os release"), ("perf_version", "perf version"),
                         ("architecture", "arch"), ("cpu_description", "cpudesc"), ("cpu_id", "cpuid")):
        want += [f"# {label} : {v['value'][0].decode()}" for v in strings[field]]
    # The other reader escapes nothing; perf and we put a backslash before a quote.
    words = [v["value"][0].decode().replace("'", "\\'") for v in strings["perf_command_line_token"]]
    want.append(f"# cmdline : {' '.join(words)} ")
    for t in theirs["cpu_topology"]:
        want += [f"# sibling sockets : {v.decode()}" for v in t["core_siblings"]]
        want += [f"# sibling threads : {v.decode()}" for v in t["thread_siblings"]]
        for i, cpu in enumerate(t["available_cpus"]):
            want.append(re.compile(f"# CPU {i}: Core ID {cpu['core_id'][0]}, (Die ID .*, )?"
                                   f"Socket ID {cpu['socket_id'][0]}$"))
    for h in theirs["hybrid_topology"]:
        want.append(f"# {h['pmu_name'][0].decode()} cpu list : {h['cpus'][0].decode()}")
    for m in theirs["uint32_metadata"]:
        if m["type"][0] == 7:  # NRCPUS: how many there are, how many were on line
            want += [f"# nrcpus avail : {m['data'][0]}", f"# nrcpus online : {m['data'][1]}"]
    for m in theirs["uint64_metadata"]:
        if m["type"][0] == 10:
            want.append(f"# total memory : {m['data'][0]} kB")
    if theirs["pmu_mappings"]:
        pmus = [f"{p['name'][0].decode()} = {p['type'][0]}" for p in theirs["pmu_mappings"]]
        want.append(f"# pmu mappings: {', '.join(pmus)}")
    return [f"header: no line {w}" for w in want
            if not (w in lines if isinstance(w, str) else any(w.match(line) for line in lines))]


def main():
    data = data_dir()
    decodes = sorted(data.glob("**/*.pb_text"))
    if not decodes:
        print(f"no *.pb_text under {data} (set RETICLE_TEST_DATA)")
        return 77
    failed = 0
    for decode in decodes:
        path = str(decode)[:-len(".pb_text")]
        theirs = parse(decode)
        bad = [f"field {name} is compared with nothing" for name in theirs if name not in COMPARED | BOOKKEEPING]
        for compare in (compare_records, compare_events, compare_build_ids, compare_header):
            bad += compare(theirs, path)
        for line in bad[:8]:
            print(f"{decode.name}: {line}"[:600])
        failed += bool(bad)
    print(f"{len(decodes)} decodes compared, {failed} differ")
    return failed > 0


sys.exit(main())
