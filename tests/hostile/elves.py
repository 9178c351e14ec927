# SPDX-License-Identifier: Apache-2.0
"""ELF files that are made to take memory or time."""
import os
import struct
import zlib

SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHF_COMPRESSED = 1, 2, 3, 0x800


def elf(path, sections, data, size=None):
    """sections: (name, type, flags, offset, size, link, entsize); their names, and the headers, stand behind data.
    size: of the file, by a hole at its end."""
    names, at = b"\0", []
    for section in (*sections, (".shstrtab",)):
        at.append(len(names))
        names += section[0].encode() + b"\0"
    start = 64 + 56
    where = start + len(data)
    headers = where + len(names)
    rows = [struct.pack("<IIQQQQIIQQ", *[0] * 10)]
    for name, (_, kind, flags, offset, length, link, entsize) in zip(at, sections):
        rows.append(struct.pack("<IIQQQQIIQQ", name, kind, flags, 0, start + offset, length, link, 0, 1, entsize))
    rows.append(struct.pack("<IIQQQQIIQQ", at[-1], SHT_STRTAB, 0, 0, where, len(names), 0, 0, 1, 0))
    head = b"\x7fELF\2\1\1" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, headers, 0, 64, 56, 1, 64, len(rows), len(rows) - 1)
    # All of it is code, where it lies in the file.
    head += struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, 1 << 20, 1 << 20, 1)
    with open(path, "wb") as f:
        f.write(head + data + names + b"".join(rows))
    if size:
        os.truncate(path, size)


GIB = 1 << 30
DEBUG = (".debug_info", ".debug_abbrev", ".debug_str", ".debug_line", ".debug_ranges", ".debug_aranges", ".debug_loc",
         ".debug_types", ".debug_line_str", ".debug_rnglists", ".debug_loclists", ".debug_addr", ".debug_str_offsets",
         ".debug_macro", ".debug_names")
NAMES = ("shared", "bomb", "older", "sparse", "holes", "same", "ranges", "aliases")


def make():
    """Those of NAMES, and "good", in the current directory."""
    # One that is as it should be, to be seen beside each of the others: "f" at 0x100.
    info = b"\1" + struct.pack("<QI", 0x100, 0x100) + b"\2f\0" + struct.pack("<QI", 0x100, 0x100) + b"\0"
    info = struct.pack("<HIB", 4, 0, 8) + info
    info = struct.pack("<I", len(info)) + info
    abbrev = b"\1\x11\1\x11\1\x12\6\0\0" + b"\2\x2e\0\3\x08\x11\1\x12\6\0\0" + b"\0"
    elf("good", [(".debug_info", SHT_PROGBITS, 0, 0, len(info), 0, 0),
                 (".debug_abbrev", SHT_PROGBITS, 0, len(info), len(abbrev), 0, 0)],
        info + abbrev)
    # Sections of debug information that share compressed bytes; one, of zeros; one of the older kind.
    zeros = zlib.compress(bytes(256 << 20), 9)
    bomb = struct.pack("<IIQQ", 1, 0, 256 << 20, 1) + zeros
    elf("shared", [(name, SHT_PROGBITS, SHF_COMPRESSED, 0, len(bomb), 0, 0) for name in DEBUG], bomb)
    elf("bomb", [(".debug_info", SHT_PROGBITS, SHF_COMPRESSED, 0, len(bomb), 0, 0)], bomb)
    older = b"ZLIB" + struct.pack(">Q", 256 << 20) + zeros
    elf("older", [(".zdebug_info", SHT_PROGBITS, 0, 0, len(older), 0, 0)], older)
    # A symbol table, names and debug information in a hole.
    elf("sparse",
        [(".symtab", SHT_SYMTAB, 0, 4096, 4 * GIB, 2, 24), (".strtab", SHT_STRTAB, 0, 4096 + 4 * GIB, 4 * GIB, 0, 0)],
        bytes(64), 10 * GIB)
    elf("holes", [(name, SHT_PROGBITS, 0, 4096, 4 * GIB, 0, 0) for name in DEBUG], bytes(64), 6 * GIB)
    # Sections that are all the same bytes.
    elf("same",
        [(".symtab", SHT_SYMTAB, 0, 0, 24 << 20, 2, 24)] + [(".strtab", SHT_STRTAB, 0, 0, 24 << 20, 0, 0)] * 50,
        bytes(24 << 20))

    # 8,000 functions that share a list of 8,000 ranges each, as one unit.
    info = b"\1" + struct.pack("<I", 0) + (b"\2" + struct.pack("<I", 0)) * 8000 + b"\0"
    info = struct.pack("<HIB", 4, 0, 8) + info
    info = struct.pack("<I", len(info)) + info
    abbrev = b"\1\x11\1\x55\x17\0\0" + b"\2\x2e\0\x55\x17\0\0" + b"\0"
    ranges = b"".join(struct.pack("<QQ", 0x100 + i * 4, 0x102 + i * 4) for i in range(8000)) + bytes(16)
    elf("ranges", [(".debug_info", SHT_PROGBITS, 0, 0, len(info), 0, 0),
                   (".debug_abbrev", SHT_PROGBITS, 0, len(info), len(abbrev), 0, 0),
                   (".debug_ranges", SHT_PROGBITS, 0, len(info) + len(abbrev), len(ranges), 0, 0)],
        info + abbrev + ranges)

    # 40,000 names of one address that stand for much, in turns.
    doubled = b"_Z1fI1AIiiE" + b"".join(b"S0_IS%c_S%c_E" % (digit, digit) for digit in b"123456789ABCDEF")
    strings = b"\0" + doubled + b"Evv\0" + doubled + b"Evi\0"
    symbols = (bytes(24) + b"".join(struct.pack("<IBBHQQ", 1 if i % 2 else len(doubled) + 5, 0x12, 0, 1, 0x100, 16)
                                    for i in range(40000)))
    elf("aliases", [(".text", SHT_PROGBITS, 6, 0, 0x1000, 0, 0), (".symtab", SHT_SYMTAB, 0, 0, len(symbols), 3, 24),
                    (".strtab", SHT_STRTAB, 0, len(symbols), len(strings), 0, 0)], symbols + strings)


def recording(name):
    """-> a recipe: samples in the file of this name, and in the one that is as it should be."""
    return f'''event "cycles:u" type=hardware config=0 period=1000 sample=IP|TID|TIME ids=7
comm pid=7 time=1 exec "program"
mmap2 pid=7 time=2 start=0x400000 len=0x10000 prot=r|x flags=2 "{os.getcwd()}/{name}"
mmap2 pid=7 time=2 start=0x500000 len=0x10000 prot=r|x flags=2 "{os.getcwd()}/good"
sample pid=7 time=3 ip=0x500123
sample pid=7 time=3 ip=0x400123
sample pid=7 time=4 ip=0x400200
'''
