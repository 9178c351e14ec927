# SPDX-License-Identifier: Apache-2.0
"""What all parts of the lab use: its cache, commands, hashes, files that appear whole or not at all."""
import contextlib
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

LAB = pathlib.Path(__file__).resolve().parent
ROOT = LAB.parent
RETICLE = ROOT / "build/reticle"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "reticle-lab"
JOBS = len(os.sched_getaffinity(0))
CROSS = "aarch64-linux-gnu-"


class LabError(Exception):
    pass


class Failed(Exception):
    """What a row of the table is about is not so."""


def need(condition, text):
    if not condition:
        raise Failed(text)


def note(text):
    print(f"lab: {text}", file=sys.stderr, flush=True)


def run(cmd, cwd=None, env=None, errors=subprocess.STDOUT):
    """-> its output; LabError with the end of that when it fails. errors: where its standard error goes."""
    p = subprocess.run(cmd, cwd=cwd, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace")
    if p.returncode:
        tail = "\n".join(p.stdout.splitlines()[-30:])
        raise LabError(f"{' '.join(map(str, cmd))}: exit status {p.returncode}\n{tail}")
    return p.stdout


def key_of(*parts):
    """A hash of texts and of files' contents."""
    h = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, pathlib.Path) else part.encode()
        h.update(len(data).to_bytes(8, "little") + data)
    return h.hexdigest()[:16]


def compiler_version(cross=CROSS):
    return run([cross + "gcc", "--version"])


@contextlib.contextmanager
def scratch():
    """A directory in the cache, for files that are renamed to their place there when they are whole."""
    with tempfile.TemporaryDirectory(dir=CACHE) as tmp:
        yield pathlib.Path(tmp)


@contextlib.contextmanager
def held(name):
    """Only one lab at a time does what is under this name."""
    (CACHE / "locks").mkdir(parents=True, exist_ok=True)
    with open(CACHE / "locks" / name, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def made_tree(place, make):
    """-> the directory `place`; make(directory) fills it when it is not there yet."""
    with held(place.name):
        if not place.exists():
            part = place.with_name(place.name + ".part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            make(part)
            part.rename(place)
    return place
