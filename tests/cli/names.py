#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables fit the terminal, or 120 columns: long names are cut in their middle, and whole where that is asked for."""
import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios

RETICLE, SRCDIR = os.environ["RETICLE"], os.environ["SRCDIR"]
LONG = "/opt/begin_" + "x" * 150 + "ü" * 40 + "_end.so"
failed = 0


def check(good, what):
    global failed
    if not good:
        failed += 1
        print("FAIL", what)


def record(name):
    text = (pathlib.Path(SRCDIR) / "tests/recipe/file.recipe").read_text().replace("/opt/demo/libx.so", LONG)
    pathlib.Path(name + ".recipe").write_text(text)
    subprocess.run([str(pathlib.Path(RETICLE).parent / "tests/recipe/recipe"), name + ".recipe", name], check=True)


def run(*words):
    return subprocess.run([RETICLE, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          check=True).stdout.decode()


def on_terminal(columns, *words):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    child = subprocess.Popen([RETICLE, *words], stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    got = b""
    try:
        while more := os.read(ours, 65536):
            got += more
    except OSError:  # the other end is closed
        pass
    child.wait()
    return re.sub("\033\\[[0-9;]*m", "", got.decode().replace("\r", ""))


def widest(text):
    """Of the table: sentences of the head are as long as what they say."""
    return max(len(line) for line in text.splitlines() if not line.startswith(("# /", "# Stacks: ")))


record("a")
record("b")
for words in (["report", "a", "-g", "none"], ["report", "a", "-g", "none", "--sort", "dso"], ["diff", "a", "b"],
              ["report", "a", "-g", "none", "--hierarchy"]):
    text = run(*words)
    check(widest(text) <= 120, f"{words}: {widest(text)} columns without a terminal")
    check(re.search(r"begin_x+…[xü]*_end", text), f"{words}: {text}")
    for columns in (60, 100, 200):
        text = on_terminal(columns, *words)
        room = max(columns, 85)  # two columns of 24 beside the others
        check(widest(text) <= room, f"{words}: {widest(text)} columns in a terminal of {columns}:\n{text}")
        check("…" in text, f"{words}: nothing is cut in {columns} columns")
# Names in call graphs fit a terminal, too; without one, and folded, they are whole.
for graph in ("graph", "fractal", "flat", "caller,address"):
    words = ["report", "a", "-q", "--no-children", "-g", graph]
    for columns in (60, 100, 200):
        below = [line for line in on_terminal(columns, *words).splitlines() if line.startswith(" " * 11)]
        check(below and max(map(len, below)) <= columns, f"-g {graph} in {columns} columns: {below}")
        check(columns > 100 or any("…" in line for line in below),
              f"-g {graph} in {columns} columns is whole: {below}")
    for text in (run(*words), on_terminal(80, *words, "-w", "0")):
        below = [line for line in text.splitlines() if line.startswith(" " * 11)]
        check(below and not any("…" in line for line in below), f"-g {graph}: a name is cut: {below}")
text = on_terminal(80, "report", "a", "-q", "-g", "folded", "--sort", "comm")
check(os.path.basename(LONG) in text, f"-g folded cuts names: {text}")
for more in (["-w", "0"], ["-t", ";"]):
    text = run("report", "a", "-g", "none", *more)
    check(os.path.basename(LONG) in text and "…" not in text, f"{more}: {text}")
check(os.path.basename(LONG) in run("diff", "a", "b", "-t", ";"), "diff -t cuts")
# Widths that were asked for cut as perf's do.
check("begin_xx\n" in run("report", "a", "-q", "-g", "none", "--sort", "dso", "-w", "0,0,8") + "\n", "-w 0,0,8")
sys.exit(failed > 0)
