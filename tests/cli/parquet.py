#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: no binary
"""Random tables that codec/parquet.h writes are what an independent reader reads: all kinds, shapes and sizes of
columns, texts that are no UTF-8, any size of groups."""
import codecs
import json
import os
import pathlib
import re
import subprocess

from lib import parquet

TOOL = pathlib.Path(os.environ["RETICLE"]).parent / "tests/tables/random_table"
TEXT_MAX = 65536
CONTROLS = re.compile("[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
codecs.register_error("each", lambda e: ("\ufffd", e.start + 1))  # one for each byte


def shown(text):
    data = bytes.fromhex(text)
    if len(data) > TEXT_MAX:
        end = TEXT_MAX
        while TEXT_MAX - end < 3 and data[end] & 0xC0 == 0x80:
            end -= 1
        data = data[:end]
    return CONTROLS.sub("?", data.decode("utf-8", "each"))


def check(seed, rows):
    name = f"{seed}.parquet"
    r = subprocess.run([TOOL, str(seed), str(rows), name], capture_output=True, text=True, check=True)
    _, read, about = parquet.read(name)
    wanted = [tuple(shown(v) if isinstance(v, str) else v for v in json.loads(line)) for line in r.stdout.splitlines()]
    assert len(wanted) == rows and read == wanted, seed
    os.unlink(name)
    return about


groups = [len(check(seed, rows)["groups"]) for seed in range(60) for rows in (seed % 4 * 7, 1000)]
assert max(groups) > 10 and min(groups) == 0, groups
for seed in range(100, 102):
    check(seed, 140000)
