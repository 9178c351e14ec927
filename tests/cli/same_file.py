#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A file that a recording spells in two ways is read once; two files are two, whatever their inodes and sizes."""
import os
import pathlib
import subprocess
import sys

RETICLE = os.environ["RETICLE"]
RECIPE = pathlib.Path(RETICLE).parent / "tests/recipe/recipe"
SIZE = 1 << 24


def program(name):
    """-> address, file offset and size of its code, and where its function stands, which has its name"""
    pathlib.Path(name + ".c").write_text(f"int {name}(void) {{ return 1; }}\nint main(void) {{ return {name}(); }}\n")
    subprocess.run(["cc", "-O0", "-no-pie", "-Wl,-z,separate-code", "-o", name, name + ".c"], check=True)
    lines = subprocess.run(["readelf", "-lW", name], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    code = next(line.split() for line in lines if line.strip().startswith("LOAD") and " R E " in line)
    symbols = subprocess.run(["nm", name], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return int(code[2], 16), int(code[1], 16), next(int(s.split()[0], 16) for s in symbols if s.endswith(" " + name))


def events(pid, path, code):
    address, offset, function = code
    return (f'comm pid={pid} time={pid} exec "p{pid}"\n'
            f'mmap2 pid={pid} time={pid} start={address:#x} len=0x1000 pgoff={offset:#x} prot=r|x flags=2 "{path}"\n'
            f"sample pid={pid} time={100 + pid} ip={function:#x}\n")


first, second = program("first"), program("second")
os.truncate("first", SIZE)
# What is the same of both: inode ^ size.
os.truncate("second", SIZE ^ os.stat("first").st_ino ^ os.stat("second").st_ino)
pathlib.Path("two.recipe").write_text(
    'event "cycles" type=hardware period=1000 sample=IP|TID|TIME|PERIOD|IDENTIFIER ids=7\n' +
    events(1, os.path.abspath("first"), first) + events(2, os.path.abspath("second"), second) +
    events(3, os.path.abspath("./first").replace("/first", "/./first"), first))
subprocess.run([RECIPE, "two.recipe", "two.data"], check=True)
lines = subprocess.run([RETICLE, "script", "-i", "two.data", "-F", "pid,ip,sym"], stdout=subprocess.PIPE,
                       text=True).stdout.split("\n")
found = [line.split()[::2] for line in lines if line.strip()]
if found != [["1", "first"], ["2", "second"], ["3", "first"]]:
    sys.exit(f"symbols of the samples: {found}")
