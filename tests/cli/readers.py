#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: no binary, plain
"""Random tables in Parquet are the same for DuckDB, hyparquet and our own reader (which tests/cli/parquet.py compares
with what was written)."""
import os
import pathlib
import subprocess

from lib import parquet
from lib.readers import as_answer, ask, need_readers

TOOL = pathlib.Path(os.environ["RETICLE"]).parent / "tests/tables/random_table"
need_readers()

names = []
for seed, rows in [(s, s * 37 % 900) for s in range(200, 224)] + [(239, 0), (240, 70000)]:
    names.append(f"{seed}.parquet")
    subprocess.run([TOOL, str(seed), str(rows), names[-1]], stdout=subprocess.DEVNULL, check=True)
answers = ask(*({"file": n} for n in names), *({"sql": f"SELECT * FROM '{n}'"} for n in names))
for i, name in enumerate(names):
    ours = as_answer(parquet.read(name)[1])
    assert answers[i] == ours, f"hyparquet: {name}"
    assert answers[len(names) + i] == ours, f"DuckDB: {name}"
