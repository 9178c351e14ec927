#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of function metrics as a script for perf: what bench/truth-windows compares the speed with.

    perf script -i FILE -s bench/function-metrics.py [-- --short N]
    perf script -i FILE -F ip,sym,event,period | bench/function-metrics.py --pipe [--short N]

perf shows each member of a group that counted anything in a window, the leader first. A window belongs to a function
when the sample before was in it, too; otherwise its counts are dropped. Windows of more than N leader counts (default:
none are) are the long ones between. Printed are, per function, windows, kept ones and sums.
"""
import sys


class Table:
    def __init__(self, short):
        self.short, self.names, self.functions = short, {}, {}
        self.leader = self.last = self.sums = None
        self.first = True

    def add(self, event, count, symbol):
        index = self.names.setdefault(event, len(self.names))
        if index == 0:
            self.sums = None
            if not self.first and count <= self.short:
                entry = self.functions.get(symbol)
                if entry is None:
                    entry = self.functions[symbol] = [0, 0, {}]
                entry[0] += 1
                if symbol == self.last:
                    entry[1] += 1
                    self.sums = entry[2]
            self.last, self.first = symbol, False
        if self.sums is not None:
            self.sums[index] = self.sums.get(index, 0) + count

    def show(self):
        print("\t".join(["windows", "kept", *self.names, "symbol"]))
        for symbol, (windows, kept, counts) in sorted(self.functions.items(), key=lambda f: -f[1][0]):
            sums = [str(counts.get(i, 0)) for i in range(len(self.names))]
            print("\t".join([str(windows), str(kept), *sums, symbol]))


table = Table(float(sys.argv[sys.argv.index("--short") + 1]) if "--short" in sys.argv else float("inf"))


def process_event(event):
    """Called by perf for each member of each sample."""
    table.add(event["ev_name"], event["sample"]["period"], event.get("symbol", "[unknown]"))


def trace_end():
    """Called by perf at the end."""
    table.show()


if "--pipe" in sys.argv:
    for line in sys.stdin:
        words = line.split(None, 3)
        table.add(words[1][:-1], int(words[0]), words[3].rstrip() if len(words) > 3 else "[unknown]")
    table.show()
