# SPDX-License-Identifier: Apache-2.0
"""Files that a recording names, or that a profiled process leaves, made to take time or memory. Each row of KINDS writes what
it is about into the current directory and returns the recipe of a recording that leads there."""
import os
import pathlib
import shutil
import struct

PID = (1 << 30) + os.getpid()  # no process has it, and two runs do not share it
HEAD = 'event "cycles:u" type=hardware config=0 period=1000 sample=IP|TID|TIME ids=7\n'
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHF_CODE = 1, 2, 3, 6
BASE, CODE = 0x400000, 0x1000


def mapped(name, start=BASE, size=0x100000):
    return f'mmap2 pid={PID} time=2 start={start:#x} len={size:#x} prot=r|x flags=2 "{os.getcwd()}/{name}"\n'


def samples(*addresses):
    return "".join(f"sample pid={PID} time=3 ip={a:#x}\n" for a in addresses)


def recording(*lines):
    return HEAD + f'comm pid={PID} time=1 exec "program"\n' + "".join(lines)


def elf(path, sections):
    """sections: (name, type, flags, address, bytes, link, entsize). One segment has the code at CODE."""
    names, rows, body = b"\0", [bytes(64)], b""
    start = 64 + 56
    for name, kind, flags, address, data, link, entsize in (*sections, (".shstrtab", SHT_STRTAB, 0, 0, b"", 0, 0)):
        at = len(names)
        names += name.encode() + b"\0"
        if name == ".shstrtab":
            data = names
        rows.append(struct.pack("<IIQQQQIIQQ", at, kind, flags, address, start + len(body), len(data), link, 0, 1, entsize))
        body += data
    head = b"\x7fELF\2\1\1" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, BASE + CODE, 64, start + len(body), 0, 64, 56, 1, 64, len(rows), len(rows) - 1)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, BASE, BASE, start + len(body), 0x100000, 0x1000)
    pathlib.Path(path).write_bytes(head + segment + body + b"".join(rows))


def symbols(path, names, address=lambda i: BASE + CODE):
    """An ELF file with these functions of 64 bytes."""
    texts, table = b"\0", bytes(24)
    for i, name in enumerate(names):
        table += struct.pack("<IBBHQQ", len(texts), 0x12, 0, 1, address(i), 64)
        texts += name + b"\0"
    elf(path, [(".text", SHT_PROGBITS, SHF_CODE, BASE + CODE, bytes(4096), 0, 0), (".symtab", SHT_SYMTAB, 0, 0, table, 3, 24),
               (".strtab", SHT_STRTAB, 0, 0, texts, 0, 0)])


def digit(n):
    """The n-th part of a mangled name that may be referred to."""
    return b"S_" if not n else b"S%c_" % b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[n - 1]


def referring(depth):
    """f(pair<int, int>, pair<the first, the first>, ...): each part refers to the one before twice, so what it stands for
    doubles."""
    return b"_Z1fSt4pairIiiE" + b"".join(b"S_I" + digit(n) * 2 + b"E" for n in range(1, depth))


def aliases():
    """One address has very many names that have to be made readable to be compared."""
    symbols("program", [b"_ZN%d%s3barIiEEvT_" % (len(n), n) for n in (b"name%06d" % i for i in range(20000))])
    return recording(mapped("program"), samples(*range(BASE + CODE, BASE + CODE + 64)))


def long_names():
    """Names that stand for much more text."""
    symbols("program", [referring(8 + i % 12) for i in range(5000)], lambda i: BASE + CODE + 16 * i)
    return recording(mapped("program"), samples(*range(BASE + CODE, BASE + CODE + 4096, 16)))


def spellings():
    """One file under thousands of names."""
    shutil.copy(os.path.realpath("/proc/self/exe"), "program")
    lines = []
    for i in range(2000):
        at = BASE + i * 0x100000
        lines.append(mapped("/." * (i % 50) + "/" + "./" * (i // 50) + "program", at) + samples(at + CODE))
    return recording(*lines)


def perf_map(text, size=None):
    path = f"/tmp/perf-{PID}.map"
    pathlib.Path(path).write_bytes(text)
    if size:
        os.truncate(path, size)
    return recording(f'mmap2 pid={PID} time=2 start={BASE:#x} len=0x100000 prot=r|x flags=2 "//anon"\n', samples(BASE + CODE))


def map_with_hole():
    """A perf map whose only name goes on in a hole."""
    return perf_map(b"401000 100 name", 1 << 40)


def map_of_one_name():
    """A perf map whose only name is most of it."""
    return perf_map(b"401000 100 " + b"n" * (900 << 10) + b"\n")


def unpacked():
    """A compressed recording of blocks that say one byte each."""
    frame = b"\x28\xb5\x2f\xfd\x00\x58" + struct.pack("<I", (128 << 10) << 3 | 2)[:3] + b"\x08"
    frame += (struct.pack("<I", (128 << 10) << 3 | 2)[:3] + b"\x08") * 4000
    return recording(f"record type=81 misc=0 data={frame.hex()}\n").replace(HEAD, "mode=pipe\n" + HEAD)


KINDS = {f.__name__: f for f in (aliases, long_names, spellings, map_with_hole, map_of_one_name, unpacked)}


def clean_up():
    pathlib.Path(f"/tmp/perf-{PID}.map").unlink(missing_ok=True)
