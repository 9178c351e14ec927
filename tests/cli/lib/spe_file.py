# SPDX-License-Identifier: Apache-2.0
"""Recordings of Arm SPE, written from operations whose every field is known."""
import struct

IP, TID, TIME, ADDR, CPU, DATA_SRC, IDENTIFIER = 1, 2, 4, 8, 1 << 7, 1 << 15, 1 << 16
SAMPLE_ID_ALL = 1 << 18
COMM, EXIT, MMAP2, AUX, SWITCH_CPU_WIDE = 3, 4, 10, 11, 15
AUXTRACE_INFO, AUXTRACE, TIME_CONV = 70, 71, 79
SPE_ID, DUMMY_ID, PMU = 101, 102, 8
BASE, LENGTH = 0x400000, 0x100000
KIND_SPE, CPUID = 4, 9


def record(kind, body, misc=2):
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def trailer(pid, tid, time, cpu, ident=DUMMY_ID):
    return struct.pack("<IIQIIQ", pid, tid, time, cpu, 0, ident)


class Operation:
    """One sampled operation: fields as the hardware knows them; bytes() is its record."""
    LOAD, STORE, BRANCH, OTHER = range(4)

    def __init__(self, kind, pc, time, **more):
        self.kind, self.pc, self.time = kind, pc, time
        self.kernel = pc >> 63
        self.events, self.operation = 2, {self.LOAD: 0, self.STORE: 1}.get(kind, 0)
        self.address = self.physical = self.source = self.context = None
        self.latency = (10, 3, 1)  # total, issue, translation
        self.target = pc + 8
        self.end = False  # closed without a timestamp
        self.__dict__.update(more)

    def bytes(self):
        mask = (1 << 56) - 1
        top = (0xA0 if self.kernel else 0x80) << 56
        out = b"\xb0" + struct.pack("<Q", self.pc & mask | top)
        if self.context is not None:
            out += b"\x64" + struct.pack("<I", self.context)
        out += b"\x99" + struct.pack("<H", self.latency[1]) + b"\x98" + struct.pack("<H", self.latency[0])
        out += (b"\x52" + struct.pack("<H", self.events)) if self.events < 65536 else (b"\x62" + struct.pack("<I", self.events))
        out += bytes([{self.BRANCH: 0x4A, self.OTHER: 0x48}.get(self.kind, 0x49), self.operation])
        if self.kind == self.BRANCH:
            out += b"\xb1" + struct.pack("<Q", self.target & mask | top)
        if self.address is not None:
            out += b"\xb2" + struct.pack("<Q", self.address & mask) + b"\x9a" + struct.pack("<H", self.latency[2])
        if self.physical is not None:
            out += b"\xb3" + struct.pack("<Q", self.physical | 0x80 << 56)
        if self.source is not None:
            out += bytes([0x43, self.source])
        out += b"\0" * ((-len(out) - 9) % 4)
        return out + (b"\x01" if self.end else b"\x71" + struct.pack("<Q", self.time))


class Recording:
    """Threads on CPUs, and buffers of operations. Ticks are nanoseconds."""

    def __init__(self, midrs=None, kind=KIND_SPE, converts=True, cpuid=None):
        priv = [0, 1] if midrs is None else [1, 32, PMU, len(midrs)]
        for cpu, midr in enumerate(midrs or []):
            priv += [0x1010101010101010, cpu, 3, midr, PMU, 256]
        if midrs is None:
            priv = [PMU, 1]
        self.data = b""
        if converts:
            self.data += record(TIME_CONV, struct.pack("<QQQQQBBxxxxxx", 0, 1, 0, 0, 2**64 - 1, 1, 0), 0)
        self.data += record(AUXTRACE_INFO, struct.pack(f"<II{len(priv)}Q", kind, 0, *priv), 0)
        self.last, self.cpuid = 0, cpuid

    def thread(self, pid, tid, name, time=1):
        self.data += record(COMM, struct.pack("<II", pid, tid) + name.encode().ljust(16, b"\0") + trailer(pid, tid, time, 0))
        if pid == tid:
            where = struct.pack("<IIQQQIIQQII", pid, tid, BASE, LENGTH, 0, 8, 1, 99, 0, 5, 2)
            self.data += record(MMAP2, where + b"/nowhere/program\0".ljust(24, b"\0") + trailer(pid, tid, time + 1, 0))

    def switch(self, cpu, before, after, time):
        """From one process to another."""
        out = 1 << 13
        self.data += record(SWITCH_CPU_WIDE, struct.pack("<II", after, after) + trailer(before, before, time, cpu), out)
        self.data += record(SWITCH_CPU_WIDE, struct.pack("<II", before, before) + trailer(after, after, time, cpu), 0)

    def buffer(self, cpu, tid, payload, offset=0, flags=0):
        payload += b"\0" * (-len(payload) % 8)
        self.last += 1
        self.data += record(AUX, struct.pack("<QQQ", offset, len(payload), flags) + trailer(0, 0, self.last, cpu, SPE_ID), 0)
        self.data += record(AUXTRACE, struct.pack("<QQQIIII", len(payload), offset, 0, cpu, tid & 0xFFFFFFFF, cpu, 0), 0) + payload

    def write(self, path):
        fields = IP | TID | TIME | ADDR | CPU | DATA_SRC | IDENTIFIER
        attrs = [struct.pack("<IIQQQQQ", kind, 112, config, 1, fields, 0, SAMPLE_ID_ALL).ljust(112, b"\0")
                 for kind, config in ((PMU, 1), (1, 9))]
        ids = struct.pack("<QQ", SPE_ID, DUMMY_ID)
        at_ids, at_attrs = 104, 120
        at_data = at_attrs + 2 * 128
        end = record(EXIT, struct.pack("<IIIIQ", 1, 1, 1, 1, 2**62) + trailer(1, 1, 2**62, 0)) + record(68, b"", 0)
        with open(path, "wb") as f:
            f.write(b"PERFILE2" + struct.pack("<QQQQQQQQ", 104, 128, at_attrs, 256, at_data, len(self.data + end), 0, 0))
            f.write(struct.pack("<QQQQ", 1 << CPUID if self.cpuid else 0, 0, 0, 0) + ids)
            for i, a in enumerate(attrs):
                f.write(a + struct.pack("<QQ", at_ids + 8 * i, 8))
            f.write(self.data + end)
            if self.cpuid:
                text = self.cpuid.encode() + b"\0"
                text = struct.pack("<I", len(text)) + text
                f.write(struct.pack("<QQ", f.tell() + 16, len(text)) + text)
