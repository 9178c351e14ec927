#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""export writes what its options choose and nothing else, in every format, and refuses options that would do nothing. The
recordings are recipes, so each row that has to be there is known."""
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
                       stdin=subprocess.DEVNULL)
    assert r.returncode == status, (args, r.returncode, r.stderr)
    return r.stdout, r.stderr


def rows(name, *args):
    """-> (rows as {column: text}, standard error)"""
    out, said = export(name, "--to", "csv", *args)
    return list(csv.DictReader(out.splitlines())), said


def says_activity(span):
    """Raw data of a record: its thread works for this span from then on."""
    body = bytes(15) + b"\1" + span + bytes(4)
    return (struct.pack("<BBBBIQ", 1, 1, 1, 0, len(body), 0) + body).hex()


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


activities()
