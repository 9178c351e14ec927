# SPDX-License-Identifier: Apache-2.0
"""Recordings of Arm SPE, written from operations whose every field is known."""
import random
import struct

IP, TID, TIME, ADDR, CPU, DATA_SRC, IDENTIFIER = 1, 2, 4, 8, 1 << 7, 1 << 15, 1 << 16
SAMPLE_ID_ALL = 1 << 18
COMM, EXIT, MMAP2, AUX, SWITCH_CPU_WIDE = 3, 4, 10, 11, 15
AUXTRACE_INFO, AUXTRACE, TIME_CONV = 70, 71, 79
SPE_ID, DUMMY_ID, ACTIVITY_ID, PMU = 101, 102, 103, 8
RAW, BPF_OUTPUT, EVENT_DESC = 1 << 10, 10, 12
BASE, LENGTH = 0x400000, 0x100000
MAPPED_BUILD, BUILD = 1 << 14, bytes(range(1, 21))
KIND_SPE, CPUID = 4, 9
N1 = 0x413FD0C1
L1_ACCESS, L1_REFILL, TLB_ACCESS, TLB_WALK, NOT_TAKEN, MISPREDICTED, LLC_ACCESS, LLC_REFILL, REMOTE = (
    1 << bit for bit in range(2, 11))


def record(kind, body, misc=2):
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def text(words):
    return struct.pack("<I", len(words) + 1) + words + b"\0"


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
        out += ((b"\x52" + struct.pack("<H", self.events)) if self.events < 65536
                else (b"\x62" + struct.pack("<I", self.events)))
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
            self.data += record(TIME_CONV, struct.pack("<QQQQQBB6x", 0, 1, 0, 0, 2**64 - 1, 1, 0), 0)
        self.data += record(AUXTRACE_INFO, struct.pack(f"<II{len(priv)}Q", kind, 0, *priv), 0)
        self.last, self.cpuid, self.activities = 0, cpuid, False

    def thread(self, pid, tid, name, time=1):
        self.data += record(COMM, struct.pack("<II", pid, tid) + name.encode().ljust(16, b"\0") +
                            trailer(pid, tid, time, 0))
        if pid == tid:
            where = struct.pack("<IIQQQB3x20sII", pid, tid, BASE, LENGTH, 0, len(BUILD), BUILD, 5, 2)
            self.data += record(MMAP2, where + b"/nowhere/program\0".ljust(24, b"\0") + trailer(pid, tid, time + 1, 0),
                                2 | MAPPED_BUILD)

    def switch(self, cpu, before, after, time):
        """From one process to another."""
        out = 1 << 13
        self.data += record(SWITCH_CPU_WIDE, struct.pack("<II", after, after) + trailer(before, before, time, cpu),
                            out)
        self.data += record(SWITCH_CPU_WIDE, struct.pack("<II", before, before) + trailer(after, after, time, cpu), 0)

    def buffer(self, cpu, tid, payload, offset=0, flags=0):
        payload += b"\0" * (-len(payload) % 8)
        self.last += 1
        self.data += record(AUX, struct.pack("<QQQ", offset, len(payload), flags) +
                            trailer(0, 0, self.last, cpu, SPE_ID), 0)
        self.data += (record(AUXTRACE, struct.pack("<QQQIIII", len(payload), offset, 0, cpu, tid & 0xFFFFFFFF, cpu, 0),
                             0) + payload)

    def works_for(self, tid, span, time):
        """Of reticle record --activity: the thread works for this span from then on."""
        self.activities = True
        raw = struct.pack("<BBBBIQQ", 2, 1, 1, 0, 28, 0, 0) + bytes(16) + span + bytes(4)
        self.data += record(9, struct.pack("<QQIIQIII", ACTIVITY_ID, BASE, tid, tid, time, 0, 0, len(raw)) + raw)

    def write(self, path):
        fields = IP | TID | TIME | ADDR | CPU | DATA_SRC | IDENTIFIER
        events = [(PMU, 1, fields, SPE_ID, b"spe"), (1, 9, fields, DUMMY_ID, b"dummy")]
        if self.activities:
            events.append((1, BPF_OUTPUT, IP | TID | TIME | CPU | RAW | IDENTIFIER, ACTIVITY_ID, b"activity"))
        attrs = [struct.pack("<IIQQQQQ", kind, 112, config, 1, of, 0, SAMPLE_ID_ALL).ljust(112, b"\0")
                 for kind, config, of, _, _ in events]
        ids = struct.pack(f"<{len(events)}Q", *(e[3] for e in events))
        at_ids, at_attrs = 104, 104 + len(ids)
        at_data = at_attrs + len(events) * 128
        end = record(EXIT, struct.pack("<IIIIQ", 1, 1, 1, 1, 2**62) + trailer(1, 1, 2**62, 0)) + record(68, b"", 0)
        with open(path, "wb") as f:
            f.write(b"PERFILE2" + struct.pack("<QQQQQQQQ", 104, 128, at_attrs, len(events) * 128, at_data,
                                              len(self.data + end), 0, 0))
            f.write(struct.pack("<QQQQ", (1 << CPUID if self.cpuid else 0) | self.activities << EVENT_DESC, 0, 0, 0) +
                    ids)
            for i, a in enumerate(attrs):
                f.write(a + struct.pack("<QQ", at_ids + 8 * i, 8))
            f.write(self.data + end)
            features = []
            if self.cpuid:
                features.append(text(self.cpuid.encode()))
            if self.activities:
                features.append(struct.pack("<II", len(events), 112) + b"".join(
                    a + struct.pack("<I", 1) + text(e[4]) + struct.pack("<Q", e[3]) for a, e in zip(attrs, events)))
            at = f.tell() + 16 * len(features)
            for feature in features:
                f.write(struct.pack("<QQ", at, len(feature)))
                at += len(feature)
            f.write(b"".join(features))


def operations(rng, count, time, **more):
    out = []
    for _ in range(count):
        time += 2 * rng.randrange(1, 1500)
        pc = BASE + 4 * rng.randrange(4000) if rng.random() < 0.8 else 0xFFFF800010000000 + 4 * rng.randrange(1000)
        latency = rng.randrange(500), rng.randrange(50), rng.randrange(20)
        kind = rng.choice([Operation.LOAD] * 5 + [Operation.STORE] * 2 + [Operation.BRANCH] * 2 + [Operation.OTHER])
        o = Operation(kind, pc, time, latency=latency, **more)
        if kind in (Operation.LOAD, Operation.STORE):
            o.operation |= rng.choice([0, 4, 0x10, 0x16, 0x0A])
            o.events |= rng.choice([0, L1_ACCESS, L1_ACCESS | L1_REFILL, L1_ACCESS | L1_REFILL | LLC_ACCESS,
                                    L1_ACCESS | L1_REFILL | LLC_ACCESS | LLC_REFILL | REMOTE])
            o.events |= rng.choice([0, TLB_ACCESS, TLB_ACCESS | TLB_WALK])
            o.address = rng.choice([0x7F0000000000 + 8 * rng.randrange(1 << 20),
                                    0xFFFF000070D00000 + rng.randrange(1 << 16)])
            o.physical = rng.choice([None, rng.randrange(1 << 40)])
            o.source = rng.choice([None, 0, 8, 9, 10, 11, 12, 13, 14]) if kind == Operation.LOAD else None
        elif kind == Operation.BRANCH:
            o.events |= rng.choice([0, NOT_TAKEN, MISPREDICTED, NOT_TAKEN | MISPREDICTED])
            o.operation = rng.choice([0, 1, 2])
        out.append(o)
    return out


def payload(ops):
    return b"".join(o.bytes() for o in ops)


def two_cpus(path, cpuid=None):
    """Operations of two CPUs, and when the second one goes from process 20 to 10.

    One CPU's times are even and the other's odd: for equal times perf's order is that of a heap, which nobody
    promises.
    """
    rng = random.Random(11)
    cpus = [operations(rng, 4000, 1000), operations(rng, 4000, 501)]
    r = Recording(cpuid=cpuid)
    for pid in (10, 20):
        r.thread(pid, pid, f"p{pid}")
    middle = cpus[1][2000].time
    r.switch(0, 0, 10, 100)
    r.switch(1, 0, 20, 100)
    r.switch(1, 20, 10, middle)
    for cpu, ops in enumerate(cpus):  # in two buffers each
        r.buffer(cpu, -1, payload(ops[:2500]))
        r.buffer(cpu, -1, payload(ops[2500:]), 1 << 20)
    r.write(path)
    return cpus, middle
