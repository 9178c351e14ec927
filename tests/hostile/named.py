# SPDX-License-Identifier: Apache-2.0
"""Files that a recording names, or that a profiled process leaves, and formats that a recording contains, made to take
time or memory, or to make the reader wait. Each row of KINDS writes what it is about into the current directory and
returns the recipe of a recording that leads there. Those of SPECIAL lead to a FIFO or a device, which must not be
opened."""
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
        rows.append(struct.pack("<IIQQQQIIQQ", at, kind, flags, address, start + len(body), len(data), link, 0,
                                1, entsize))
        body += data
    head = b"\x7fELF\2\1\1" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, BASE + CODE, 64, start + len(body), 0, 64, 56, 1, 64, len(rows),
                        len(rows) - 1)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, BASE, BASE, start + len(body), 0x100000, 0x1000)
    pathlib.Path(path).write_bytes(head + segment + body + b"".join(rows))


def symbols(path, names, address=lambda i: BASE + CODE):
    """An ELF file with these functions of 64 bytes."""
    texts, table = b"\0", bytes(24)
    for i, name in enumerate(names):
        table += struct.pack("<IBBHQQ", len(texts), 0x12, 0, 1, address(i), 64)
        texts += name + b"\0"
    elf(path, [(".text", SHT_PROGBITS, SHF_CODE, BASE + CODE, bytes(4096), 0, 0),
               (".symtab", SHT_SYMTAB, 0, 0, table, 3, 24), (".strtab", SHT_STRTAB, 0, 0, texts, 0, 0)])


def digit(n):
    """The n-th part of a mangled name that may be referred to."""
    return b"S_" if not n else b"S%c_" % b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[n - 1]


def referring(depth):
    """f(pair<int, int>, pair<the first, the first>, ...): each part refers to the one before twice, so what it stands
    for doubles."""
    return b"_Z1fSt4pairIiiE" + b"".join(b"S_I" + digit(n) * 2 + b"E" for n in range(1, depth))


def many_aliases():
    """One address has very many names that have to be made readable to be compared."""
    symbols("program", [b"_ZN%d%s3barIiEEvT_" % (len(n), n) for n in (b"name%06d" % i for i in range(20000))])
    return recording(mapped("program"), samples(*range(BASE + CODE, BASE + CODE + 64)))


def long_names():
    """Names that stand for much more text."""
    symbols("program", [referring(8 + i % 12) for i in range(5000)], lambda i: BASE + CODE + 16 * i)
    return recording(mapped("program"), samples(*range(BASE + CODE, BASE + CODE + 4096, 16)))


def shared_endings():
    """The names of 15,000 functions are the endings of one text: together they have 4 GB."""
    text, table = b"\0" + b"n" * 600000 + b"\0", bytes(24)
    for i in range(15000):
        table += struct.pack("<IBBHQQ", 1 + 16 * i, 0x12, 0, 1, BASE + CODE + 4 * i, 4)
    elf("program", [(".text", SHT_PROGBITS, SHF_CODE, BASE + CODE, bytes(4 * 15000), 0, 0),
                    (".symtab", SHT_SYMTAB, 0, 0, table, 3, 24), (".strtab", SHT_STRTAB, 0, 0, text, 0, 0)])
    return branches([(i, i + 8) for i in range(BASE + CODE, BASE + CODE + 4 * 14990, 4)])


def function_in_hole():
    """Functions of 4 MB that are holes, and passages from one end to the other."""
    sizes = [(b"hole%03d" % i, BASE + CODE + (i << 22), 1 << 22) for i in range(7)]
    text, table = b"\0", bytes(24)
    for name, start, size in sizes:
        table += struct.pack("<IBBHQQ", len(text), 0x12, 0, 1, start, size)
        text += name + b"\0"
    at = 7 << 22  # what is not code lies behind the hole
    names = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    rows = [bytes(64), struct.pack("<IIQQQQIIQQ", 1, SHT_PROGBITS, SHF_CODE, BASE + CODE, CODE, at - CODE, 0, 0, 1, 0),
            struct.pack("<IIQQQQIIQQ", 7, SHT_SYMTAB, 0, 0, at, len(table), 3, 0, 1, 24),
            struct.pack("<IIQQQQIIQQ", 15, SHT_STRTAB, 0, 0, at + len(table), len(text), 0, 0, 1, 0),
            struct.pack("<IIQQQQIIQQ", 23, SHT_STRTAB, 0, 0, at + len(table) + len(text), len(names), 0, 0, 1, 0)]
    head = b"\x7fELF\2\1\1" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, BASE + CODE, 64, at + len(table) + len(text) + len(names), 0, 64,
                        56, 1, 64, 5, 4)
    with open("program", "wb") as f:
        f.write(head + struct.pack("<IIQQQQQQ", 1, 5, 0, BASE, BASE, at, at, 0x1000))
        f.seek(at)
        f.write(table + text + names + b"".join(rows))
    places = [BASE + CODE + (i % 6 << 22) for i in range(300)]
    return branches([(at + (1 << 22) - 64, then + 16 + i // 6)
                     for i, (at, then) in enumerate(zip(places, places[1:]))], 8 << 22)


def many_blocks():
    """A function of 250,000 blocks, and 10,000 passages through nearly all of them."""
    n = 250000
    elf("program", [(".text", SHT_PROGBITS, SHF_CODE, BASE + CODE, b"\x74\0" * n + bytes(8192), 0, 0),
                    (".symtab", SHT_SYMTAB, 0, 0,
                     bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, BASE + CODE, 2 * n), 3, 24),
                    (".strtab", SHT_STRTAB, 0, 0, b"\0long\0", 0, 0)])
    return branches([(BASE + CODE + 2 * n - 100 - 2 * (i % 150), BASE + CODE + 2 * (i // 150)) for i in range(10000)])


def branches(pairs, size=0x1000000):
    """-> a recipe: these (from, to) were taken one after the other, 30 in a sample."""
    lines = [f'event "cycles:u" type=hardware config=0 period=1000 sample=IP|TID|TIME|BRANCH_STACK branch=ANY|USER '
             "ids=7\n",
             f'comm pid={PID} time=1 exec "program"\n', mapped("program", BASE, size)]
    for i in range(0, len(pairs), 30):
        entries = ",".join(f"{a:#x},{z:#x},0x2" for a, z in reversed(pairs[i:i + 30]))
        lines.append(f"sample pid={PID} time=3 ip={pairs[i][0]:#x} branches={entries}\n")
    return "".join(lines)


def long_name_everywhere():
    """A function with a name of 600,000 letters, of which each instruction was hit."""
    elf("program", [(".text", SHT_PROGBITS, SHF_CODE, BASE + CODE, bytes(1 << 16), 0, 0),
                    (".symtab", SHT_SYMTAB, 0, 0,
                     bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, BASE + CODE, 1 << 16), 3, 24),
                    (".strtab", SHT_STRTAB, 0, 0, b"\0" + b"n" * 600000 + b"\0", 0, 0)])
    return recording(mapped("program"), samples(*range(BASE + CODE, BASE + CODE + 10000)))


def spellings():
    """One file under thousands of names."""
    shutil.copy(os.path.realpath("/proc/self/exe"), "program")
    lines = []
    for i in range(6000):
        at = BASE + i * 0x100000
        lines.append(mapped("/." * (i % 50) + "/" + "./" * (i // 50) + "program", at) + samples(at + CODE))
    return recording(*lines)


def perf_map(text, size=None):
    path = f"/tmp/perf-{PID}.map"
    pathlib.Path(path).write_bytes(text)
    if size:
        os.truncate(path, size)
    return recording(f'mmap2 pid={PID} time=2 start={BASE:#x} len=0x100000 prot=r|x flags=2 "//anon"\n',
                     samples(BASE + CODE))


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


def print_formats():
    """Tracepoints of which the printed form has an index from the record, a giant count, a giant width, and an end too
    soon."""
    formats = (b'"%d", REC->list[REC->value]', b'"%s", __print_hex(REC->list, REC->value)',
               b'"%s", __print_hex(REC->list, 2000000000)',
               b'"%100000000lld", REC->value', b'"%d", sizeof(' + b"(" * 700, b'"%d", sizeof(')
    fields = (("unsigned short common_type", 0, 2), ("unsigned char common_flags", 2, 1),
              ("unsigned char common_preempt_count", 3, 1),
              ("int common_pid", 4, 4), ("unsigned int value", 8, 4), ("unsigned int list[2]", 12, 8))
    data = b"\x17\x08\x44tracing0.6\0\0\x08" + struct.pack("<I", 4096)
    data += b"header_page\0" + bytes(8) + b"header_event\0" + bytes(8) + struct.pack("<II", 0, 1) + b"hostile\0"
    data += struct.pack("<I", len(formats))
    lines = []
    for i, text in enumerate(formats):
        form = f"name: event{i}\nID: {400 + i}\nformat:\n"
        form += "".join(f"\tfield:{name};\toffset:{at};\tsize:{size};\tsigned:0;\n" for name, at, size in fields)
        form = form.encode() + b"\nprint fmt: " + text + b"\n"
        data += struct.pack("<Q", len(form)) + form
        lines.append(f'event "hostile:event{i}" type=tracepoint config={400 + i} period=1 '
                     f'sample=TID|TIME|RAW|IDENTIFIER ids={7 + i}\n')
    data += struct.pack("<IIQ", 0, 0, 0)
    lines.append(f'comm pid={PID} time=1 "program"\n')
    lines.append(f"record type=66 data={(struct.pack('<I', len(data)) + data + bytes(-len(data) % 8)).hex()}\n")
    for i in range(len(formats)):
        raw = struct.pack("<HBBiIII", 400 + i, 0, 0, 7, 0x7ffffff0, 1, 2)
        lines.append(f"sample pid={PID} time={3 + i} event={i} raw={raw.hex()}\n")
    return "mode=file\nevent_desc=off\n" + "".join(lines)


def fifo(path):
    if not os.path.exists(path):
        os.mkfifo(path)


def split_dwarf(version, name):
    """A unit of which the rest is said to be in a file that is a FIFO. name: the attribute that says so."""
    fifo("rest.dwo")
    names = b"rest.dwo\0" + os.getcwd().encode() + b"\0"
    tag = 0x4a if version == 5 else 0x11
    entries = ((name, 0x08), (0x1b, 0x08), (0x11, 0x01), (0x12, 0x06)) + (((0x2131, 0x07),) if version == 4 else ())
    abbrev = b"\1" + bytes([tag, 0]) + b"".join(uleb(n) + uleb(form) for n, form in entries) + b"\0\0\0"
    unit = b"\1" + names + struct.pack("<QI", BASE + CODE, 0x1000) + (struct.pack("<Q", 1) if version == 4 else b"")
    unit = (struct.pack("<HIB", 4, 0, 8) if version == 4 else struct.pack("<HBBIQ", 5, 4, 8, 0, 1)) + unit
    elf("program", [(".text", SHT_PROGBITS, SHF_CODE, BASE + CODE, bytes(4096), 0, 0),
                    (".debug_abbrev", SHT_PROGBITS, 0, 0, abbrev, 0, 0),
                    (".debug_info", SHT_PROGBITS, 0, 0, struct.pack("<I", len(unit)) + unit, 0, 0)])
    return recording(mapped("program"), samples(BASE + CODE, BASE + CODE + 64))


def uleb(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + uleb(n >> 7)


def split_gnu():
    """DW_AT_GNU_dwo_name leads to a FIFO."""
    return split_dwarf(4, 0x2130)


def split_five():
    """DW_AT_dwo_name leads to a FIFO."""
    return split_dwarf(5, 0x76)


def alternate():
    """.gnu_debugaltlink leads to a FIFO."""
    fifo("shared.debug")
    abbrev = b"\1\x11\1\x11\1\x12\6\0\0" + b"\2\x2e\0\x03" + uleb(0x1f21) + b"\0\0\0"  # the name: DW_FORM_GNU_strp_alt
    unit = (struct.pack("<HIB", 4, 0, 8) + b"\1" + struct.pack("<QI", BASE + CODE, 0x1000) + b"\2" +
            struct.pack("<I", 0) + b"\0")
    link = os.getcwd().encode() + b"/shared.debug\0" + bytes(20)
    elf("program", [(".text", SHT_PROGBITS, SHF_CODE, BASE + CODE, bytes(4096), 0, 0),
                    (".debug_abbrev", SHT_PROGBITS, 0, 0, abbrev, 0, 0),
                    (".debug_info", SHT_PROGBITS, 0, 0, struct.pack("<I", len(unit)) + unit, 0, 0),
                    (".gnu_debugaltlink", SHT_PROGBITS, 0, 0, link, 0, 0)])
    return recording(mapped("program"), samples(BASE + CODE))


def debug_link():
    """.gnu_debuglink leads to a FIFO."""
    fifo("program.debug")
    elf("program", [(".text", SHT_PROGBITS, SHF_CODE, BASE + CODE, bytes(4096), 0, 0),
                    (".gnu_debuglink", SHT_PROGBITS, 0, 0, b"program.debug\0\0\0" + bytes(4), 0, 0)])
    return recording(mapped("program"), samples(BASE + CODE))


def program_is_fifo():
    """The mapped file is a FIFO now."""
    fifo("fifo")
    return recording(mapped("fifo"), samples(BASE + CODE))


def jitdump_is_device():
    """A jitdump that links to a device, and a perf map that is a FIFO."""
    name = f"jit-{PID}.dump"
    if not os.path.lexists(name):
        os.symlink("/dev/zero", name)
    fifo(f"/tmp/perf-{PID}.map")
    return recording(mapped(name, size=0x1000),
                     f'mmap2 pid={PID} time=2 start=0x700000 len=0x1000 prot=r|x flags=2 "//anon"\n',
                     samples(BASE + 8, 0x700008))


SPECIAL = (split_gnu, split_five, alternate, debug_link, program_is_fifo, jitdump_is_device)
CODE_READ = (shared_endings, function_in_hole, many_blocks)
KINDS = {f.__name__: f for f in (print_formats, many_aliases, long_names, long_name_everywhere, spellings,
                                 map_with_hole, map_of_one_name, unpacked, *CODE_READ, *SPECIAL)}
# What leads there.
LINES, NAMES, PRINTED = (("report", "--sort", "symbol,srcline"), ("report", "--sort", "dso,sym"),
                         ("script", "-F", "+trace,+srcline"))


FOR_BOLT, FOR_CLANG = (("export", "--to", to, "-o", "profile") for to in ("fdata", "autofdo"))


def commands(kind):
    if kind == "print_formats":
        return ("script", "-F", "comm,event,trace"), ("report", "--sort", "trace")
    return (LINES, NAMES, PRINTED, FOR_BOLT, FOR_CLANG) if KINDS.get(kind) in CODE_READ else (LINES, NAMES, PRINTED)


def clean_up():
    pathlib.Path(f"/tmp/perf-{PID}.map").unlink(missing_ok=True)
