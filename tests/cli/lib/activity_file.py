# SPDX-License-Identifier: Apache-2.0
"""Recordings of record --activity --waits, written record by record, in which everything is known."""
import struct

IP, TID, TIME, CPU, RAW, IDENTIFIER = 1, 2, 4, 1 << 7, 1 << 10, 1 << 16
SAMPLE_ID_ALL = 1 << 18
LOST, COMM, SAMPLE, LOST_SAMPLES, FINISHED_ROUND = 2, 3, 9, 13, 68
TRACING_DATA, NRCPUS, EVENT_DESC = 1, 7, 12
SOFTWARE, TRACEPOINT = 1, 2
CPU_CLOCK, BPF_OUTPUT = 0, 10
SWITCH, WAKING = 314, 315  # numbers of tracepoints
RUNS, SLEEPS, BLOCKED, ENDS, PREEMPTED = 0, 1, 2, 0x10, 0x100  # prev_state
HARDIRQ, SOFTIRQ = 0x08, 0x10  # common_flags
NONE, KNOWN, NO_RECORD, NOT_YET = 0, 1, 4, 5  # how a thread was read
NR_CPUS = 2


def record(kind, body, misc=2):
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def text(words):
    return struct.pack("<I", len(words) + 1) + words + b"\0"


def tracing_data():
    common = [("unsigned short common_type", 0, 2), ("unsigned char common_flags", 2, 1),
              ("unsigned char common_preempt_count", 3, 1), ("int common_pid", 4, 4)]
    events = {
        "sched_switch": (SWITCH, [("char prev_comm[16]", 8, 16), ("pid_t prev_pid", 24, 4), ("int prev_prio", 28, 4),
                                  ("long prev_state", 32, 8), ("char next_comm[16]", 40, 16),
                                  ("pid_t next_pid", 56, 4), ("int next_prio", 60, 4)]),
        "sched_waking": (WAKING, [("char comm[16]", 8, 16), ("pid_t pid", 24, 4), ("int prio", 28, 4),
                                  ("int target_cpu", 32, 4)]),
    }
    out = b"\x17\x08\x44tracing" + b"0.6\0" + struct.pack("<BBI", 0, 8, 4096)
    out += b"header_page\0" + struct.pack("<Q", 0) + b"header_event\0" + struct.pack("<QI", 0, 0)
    out += struct.pack("<I", 1) + b"sched\0" + struct.pack("<I", len(events))
    for name, (number, fields) in events.items():
        lines = "".join(f"\tfield:{what};\toffset:{at};\tsize:{size};\tsigned:1;\n"
                        for what, at, size in common + fields)
        form = f'name: {name}\nID: {number}\nformat:\n{lines}\nprint fmt: "%d", REC->common_pid\n'.encode()
        out += struct.pack("<Q", len(form)) + form
    return out + struct.pack("<IIQ", 0, 0, 0)


class Recording:
    """Records are written in the order of the calls, so those of one CPU have to be in the order of time. Each thread
    is a process."""
    EVENTS = [  # kind, config, period, name
        (SOFTWARE, CPU_CLOCK, 1000, b"cpu-clock"),
        (TRACEPOINT, SWITCH, 1, b"sched:sched_switch"),
        (TRACEPOINT, WAKING, 1, b"sched:sched_waking"),
        (SOFTWARE, BPF_OUTPUT, 1, b"activity"),
    ]

    def __init__(self):
        self.data = b""

    @staticmethod
    def id(event, cpu):
        return 100 + NR_CPUS * event + cpu

    def sample(self, event, tid, time, cpu, raw=b"", ip=0x1000):
        raw += b"\0" * (-(len(raw) + 4) % 8)
        fields = struct.pack("<QQIIQIII", self.id(event, cpu), ip, tid, tid, time, cpu, 0, len(raw))
        self.data += record(SAMPLE, fields + raw)

    def clock(self, tid, time, cpu=0, ip=0x1000):
        self.sample(0, tid, time, cpu, ip=ip)

    def switch(self, before, state, after, time, cpu=0):
        raw = struct.pack("<HBBI16sIIQ16sII", SWITCH, 0, 0, before, b"", before, 0, state, b"", after, 0)
        self.sample(1, before, time, cpu, raw)

    def waking(self, by, tid, time, cpu=0, flags=0):
        self.sample(2, by, time, cpu, struct.pack("<HBBI16sIII", WAKING, flags, 0, by, b"", tid, 0, cpu))

    def works_for(self, tid, trace, time, status=KNOWN, cpu=0, span=b"span"):
        """From then on; trace: bytes, or b"" for none."""
        body = trace.ljust(16, b"\0") + span.ljust(12, b"\0") if status == KNOWN else b""
        self.sample(3, tid, time, cpu, struct.pack("<BBBBIQQ", 2, 1, status, 0, len(body), 0, 0) + body)

    def trailer(self, tid, time, cpu, event):
        return struct.pack("<IIQIIQ", tid, tid, time, cpu, 0, self.id(event, cpu))

    def comm(self, tid, name, time=1):
        self.data += record(COMM, struct.pack("<II", tid, tid) + name.encode().ljust(16, b"\0") +
                            self.trailer(tid, time, 0, 0))

    def lost(self, number, time, cpu):
        """As the kernel says it, with the next record for which there is room."""
        self.data += record(LOST, struct.pack("<QQ", self.id(1, cpu), number) + self.trailer(0, time, cpu, 1))

    def counted_lost(self, number, cpu):
        """As a recorder says it at the end, when it has read the counters."""
        self.data += record(LOST_SAMPLES, struct.pack("<Q", number) + self.trailer(0, 0, cpu, 1))

    def round(self):
        self.data += record(FINISHED_ROUND, b"", 0)

    def write(self, path):
        fields = IP | TID | TIME | CPU | RAW | IDENTIFIER
        attrs = [struct.pack("<IIQQQQQ", kind, 112, config, period, fields, 0, SAMPLE_ID_ALL).ljust(112, b"\0")
                 for kind, config, period, _ in self.EVENTS]
        ids = [struct.pack(f"<{NR_CPUS}Q", *(self.id(i, cpu) for cpu in range(NR_CPUS))) for i in range(len(attrs))]
        features = {
            TRACING_DATA: tracing_data(),
            NRCPUS: struct.pack("<II", NR_CPUS, NR_CPUS),
            EVENT_DESC: struct.pack("<II", len(attrs), 112) + b"".join(
                a + struct.pack("<I", NR_CPUS) + text(event[3]) + i for a, event, i in zip(attrs, self.EVENTS, ids)),
        }
        at_attrs = 104 + sum(map(len, ids))
        at_data = at_attrs + len(attrs) * 128
        with open(path, "wb") as f:
            f.write(b"PERFILE2" + struct.pack("<QQQQQQQQ", 104, 128, at_attrs, len(attrs) * 128, at_data,
                                              len(self.data), 0, 0))
            f.write(struct.pack("<QQQQ", sum(1 << bit for bit in features), 0, 0, 0) + b"".join(ids))
            for i, a in enumerate(attrs):
                f.write(a + struct.pack("<QQ", 104 + i * 8 * NR_CPUS, 8 * NR_CPUS))
            f.write(self.data)
            at = f.tell() + 16 * len(features)
            for bit in sorted(features):
                f.write(struct.pack("<QQ", at, len(features[bit])))
                at += len(features[bit])
            f.write(b"".join(features[bit] for bit in sorted(features)))
