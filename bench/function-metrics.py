#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of function metrics as a script on perf's output: what bench/truth-windows compares the speed with.

    perf script -F ip,sym,event,period -i FILE | bench/function-metrics.py [--short N]

perf makes one line of each member of a group that counted anything in a window, the leader first. A window belongs to a
function when the sample before was in it, too; otherwise its counts are dropped. Windows of more than N leader counts
(default: none are) are the long ones between. Printed are, per function, windows, kept ones and sums.
"""
import sys


def main():
    short = float(sys.argv[2]) if sys.argv[1:2] == ["--short"] else float("inf")
    names, functions = {}, {}
    last = leader = sums = None
    first = True
    for line in sys.stdin:
        words = line.split(None, 3)
        if len(words) < 3:
            continue
        event = words[1]
        if leader is None:
            leader = event
        index = names.setdefault(event, len(names))
        if event == leader:
            symbol = words[3].rstrip() if len(words) > 3 else "[unknown]"
            sums = None
            length = int(words[0])
            if not first and length <= short:
                entry = functions.get(symbol)
                if entry is None:
                    entry = functions[symbol] = [0, 0, {}]
                entry[0] += 1
                if symbol == last:
                    entry[1] += 1
                    sums = entry[2]
            last, first = symbol, False
        if sums is not None:
            sums[index] = sums.get(index, 0) + int(words[0])
    print("\t".join(["windows", "kept", *(n.rstrip(":") for n in names), "symbol"]))
    for symbol, (windows, kept, counts) in sorted(functions.items(), key=lambda f: -f[1][0]):
        print("\t".join([str(windows), str(kept), *(str(counts.get(i, 0)) for i in range(len(names))), symbol]))


main()
