# SPDX-License-Identifier: Apache-2.0
"""Operations that perf script prints, as a table in CSV: what bench/memory compares reticle export with.

    perf script -i FILE --itrace=M -F comm,tid,cpu,time,ip,sym,addr,phys_addr,data_src,weight |
        python3 accesses.py >FILE.csv
"""
import csv
import re
import sys

LINE = re.compile(r"^ *(.*?) +(\d+) +\[(\d+)\] +([\d.]+): +([0-9a-f]+) +([0-9a-f]+) (\|.*?) +(\d+) +([0-9a-f]+) (.*?)"
                  r" +([0-9a-f]+) *$")
PART = re.compile(r"\|(OP|LVL|SNP|TLB|LCK|BLK) +([^|]*)")

rows = csv.writer(sys.stdout)
rows.writerow(("comm", "tid", "cpu", "time", "vaddr", "op", "level", "snoop", "tlb", "locked", "blocked", "weight",
               "pc", "symbol", "paddr"))
unknown = 0
for line in sys.stdin:
    found = LINE.match(line)
    if not found:
        unknown += 1
        continue
    comm, tid, cpu, time, addr, _, source, weight, ip, symbol, physical = found.groups()
    parts = {name: value.strip() for name, value in PART.findall(source)}
    rows.writerow((comm, tid, int(cpu), time, int(addr, 16), parts.get("OP"), parts.get("LVL"), parts.get("SNP"),
                   parts.get("TLB"), parts.get("LCK"), parts.get("BLK"), weight, int(ip, 16), symbol,
                   int(physical, 16)))
if unknown:
    sys.exit(f"{unknown} lines were not understood")
