# SPDX-License-Identifier: Apache-2.0
"""reticle itself, and programs for it to record, built for the lab's guests; with the libraries that they need
there."""
import os
import re
import shutil
import time

from base import CACHE, CROSS, JOBS, LAB, ROOT, compiler_version, held, key_of, note, run
from fetch import sysroot

LIBRARIES = ["libc6-dev", "libelf-dev", "libdw-dev", "libdeflate-dev", "libzstd-dev", "liblzma-dev", "libcmocka-dev"]
TARGETS = ["reticle", "bench/classes", "bench/resonance"]
OPTIONS = ["--optimization=2", "-Ddebug=false", "-Dvpmu=disabled", "-Dpfm=disabled", "-Ddebuginfod=disabled",
           "-Dcurses=disabled", "-Ddemangle=disabled"]
MACHINE = """\
[constants]
root = '%(sysroot)s'
[binaries]
c = ['ccache', '%(cross)sgcc', '--sysroot=' + root]
ar = '%(cross)sar'
strip = '%(cross)sstrip'
pkgconfig = 'pkg-config'
[properties]
sys_root = root
pkg_config_libdir = root / 'usr/lib/aarch64-linux-gnu/pkgconfig'
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'cortex-a57'
endian = 'little'
"""


def sources():
    """-> the files that the build reads: those of its folders, as meson.build names them, and activity/, which they
    include."""
    folders = re.findall(r"^\s*subdir\('([^/']+)", (ROOT / "meson.build").read_text(), re.M)
    names = run(["git", "ls-files", "-co", "--exclude-standard", "--", "meson.build", "meson_options.txt",
                 "activity", *folders],
                cwd=ROOT).splitlines()
    return [n for n in names if (ROOT / n).is_file()]


def copy_changed(names, tree):
    """Makes `tree` hold just these files; those that did not change keep their times, so that little is built anew."""
    for old in [p for p in tree.rglob("*") if p.is_file() and str(p.relative_to(tree)) not in set(names)]:
        old.unlink()
    for name in names:
        new, data = tree / name, (ROOT / name).read_bytes()
        if not new.exists() or new.read_bytes() != data:
            new.parent.mkdir(parents=True, exist_ok=True)
            new.write_bytes(data)
            shutil.copymode(ROOT / name, new)


def build(work, root):
    machine, objects = work / "machine.ini", work / f"obj-{root.name}"
    machine.write_text(MACHINE % {"sysroot": root, "cross": CROSS})
    env = {"CCACHE_DIR": str(CACHE / "ccache"), "CCACHE_MAXSIZE": "1G"}
    if not (objects / "build.ninja").exists():
        shutil.rmtree(objects, ignore_errors=True)
        run(["meson", "setup", "--cross-file", str(machine), *OPTIONS, str(objects), str(work / "src")], env=env)
    run(["ninja", "-C", str(objects), f"-j{JOBS}", *TARGETS], env=env)
    return [objects / t for t in TARGETS]


def needed(program):
    return re.findall(r"\(NEEDED\)\s+Shared library: \[(.+?)\]", run([CROSS + "readelf", "-d", str(program)]))


def libraries(programs, root):
    """-> {name: file} of all that the programs are linked with."""
    places = [root / "lib/aarch64-linux-gnu", root / "usr/lib/aarch64-linux-gnu", root / "lib"]
    found, todo = {}, [n for p in programs for n in needed(p)] + ["ld-linux-aarch64.so.1"]
    while todo:
        name = todo.pop()
        if name in found:
            continue
        found[name] = next(p / name for p in places if (p / name).exists()).resolve()
        todo += needed(found[name])
    return found


def programs():
    """-> {path in a guest: file}: reticle, what it records, libraries."""
    names, root = sources(), sysroot(LIBRARIES)
    made = (CACHE /
            f"reticle-{key_of(compiler_version(), root.name, MACHINE, *OPTIONS, *names, *(ROOT / n for n in names))}")
    with held("reticle"):
        if not made.exists():
            start, work = time.monotonic(), CACHE / "work-reticle"
            copy_changed(names, work / "src")
            built = build(work, root)
            shutil.rmtree(part := made.with_suffix(".part"), ignore_errors=True)
            (part / "bin").mkdir(parents=True)
            (part / "lib").mkdir()
            for f in built:
                run([CROSS + "strip", "-g", "-o", str(part / "bin" / f.name), str(f)])
            for name, f in libraries(built, root).items():
                shutil.copy(f, part / "lib" / name)
            os.replace(part, made)
            note(f"reticle for arm64 took {time.monotonic() - start:.0f} s")
    return {str(f.relative_to(made)): f for f in sorted(made.rglob("*")) if f.is_file()}
