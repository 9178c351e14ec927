# SPDX-License-Identifier: Apache-2.0
"""Readers of Parquet (DuckDB, hyparquet), pprof and OTLP that are not ours, which tests/readers/install has
installed."""
import json
import os
import pathlib
import shutil
import subprocess

from lib.machine import need

PLACE = pathlib.Path(os.environ["SRCDIR"], "build-readers")


def need_readers():
    need(None if shutil.which("node") else "node is not installed")
    need(None if (PLACE / "installed").exists() else "the readers are not installed (tests/readers/install)")


def ask(*asked, script="read.js"):
    """Each one {"file": PATH} or {"sql": TEXT}. -> for each, its rows as lists; whole numbers are texts"""
    r = subprocess.run(["node", "--preserve-symlinks", "--preserve-symlinks-main", PLACE / script],
                       input=json.dumps(asked), capture_output=True, text=True)
    assert r.returncode == 0, r.stderr
    answers = [json.loads(line) for line in r.stdout.splitlines()]
    assert len(answers) == len(asked)
    return answers


def as_answer(rows):
    """Rows as lib.parquet reads them, in the form of an answer"""
    return [[str(v) if isinstance(v, int) and not isinstance(v, bool) else v for v in row] for row in rows]
